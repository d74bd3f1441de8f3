"""The one table of what may run in a row: how each agent is found, started and resumed, and in which environment.

Daemon wire 4.2. An agent inherits the person's environment less what is not meant for it: what marks the shell as the
inside of another agent or another terminal, the sockets and secrets of a service, and this program's own variables. A
program that is not there is a refusal with the folders that were searched, never a shell that says so later.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sot_tui.comm import names, paths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sot_tui.engine.rows.row import Row

DEFAULT_ACCOUNT = "default"
"""How the account is called that Claude Code uses by itself."""
KINDS = ("claude", "codex", "none")
"""The kinds of agent a row may have (daemon wire 3.8); `none` is a shell, or a command of the person's."""

_NEVER_INHERITED = frozenset(
    {
        # Marks of being inside a Claude Code session (daemon wire 4.2).
        "CLAUDE_CODE_FORK_SUBAGENT",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_TEAMMATE_MODE",
        "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS",
        "CLAUDECODE",
        "AI_AGENT",
        "CLAUDE_CODE_SESSION_ID",
        "NO_COLOR",
        # What a service manager hands to the daemon alone.
        "NOTIFY_SOCKET",
        "WATCHDOG_USEC",
        "WATCHDOG_PID",
        "MAINPID",
        "INVOCATION_ID",
        "JOURNAL_STREAM",
        "SYSTEMD_EXEC_PID",
        # What names another terminal than the row's: an agent would speak to it in its own tongue.
        "TERM_PROGRAM",
        "TERM_PROGRAM_VERSION",
        "TERM_SESSION_ID",
        "TMUX",
        "TMUX_PANE",
        "STY",
        "WINDOW",
        "WINDOWID",
        "VTE_VERSION",
        "WT_SESSION",
        "COLORFGBG",
        "COLUMNS",
        "LINES",
        # Where this program's own Python is.
        "VIRTUAL_ENV",
        "VIRTUAL_ENV_PROMPT",
        "PYTHONHOME",
        "PYTHONPATH",
    }
)
_NEVER_INHERITED_PREFIXES = ("STEWARD_", "LISTEN_", "TEXTUAL", "KITTY_", "ITERM_", "WEZTERM_", "GHOSTTY_", "ALACRITTY_")
_SHARED = frozenset(
    {
        "SOT_SELF_HOST",
        "SOT_HOSTS",
        "SOT_RELAY_ENDPOINT",
        "SOT_BACKEND_LABEL",
        "SOT_LOCK_WAIT_SECS",
        "SOT_INBOX_LOCK_WAIT_SECS",
        "SOT_INBOX_READ_WAIT_SECS",
        "SOT_SEND_TIMEOUT",
        "SOT_COMM_TEST_HOST",
        "SOT_COMM_HOOKS",
        "SOT_TUI_BIN",
    }
)
"""Our own variables that mean the same for every session of this box; every other `SOT_*` names one process."""
_PLAIN_CLAUDE = {"CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY": "1", "CLAUDE_CODE_DISABLE_AGENT_VIEW": "1"}
"""Keeps what is no prompt, and could pass for a dialog, off the screen of a Claude Code row (daemon wire 4.2)."""
_TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
"""What a capsule emulates."""
_WHOLE_NAME = 200
"""Characters of a folder's name up to which Claude Code 2.1 keeps it whole."""
_ONE_UNIT = 0xFFFF
"""The last character that is one unit of UTF-16, by which it counts."""
_OF_ONE_ROW = ("-c", "features.daemon_auto_start=false")
"""Keeps what a Codex runs below its capsule: one server for all of them would run its hooks and tools in no row."""
_JOIN_FIRST = 'bin=$1 name=$2; shift 2; "$bin" join --name "$name"; exec "$@"'
"""A Codex row takes its handle by `--name` before its agent runs (contract, Naming); `exec` leaves no shell between."""


class NotFound(Exception):
    """The program of an agent is not on this box; the sentence names what was searched."""


@dataclass(frozen=True, slots=True)
class Place:
    """What every row of one daemon is told of it."""

    home: str
    """The comm home."""
    host: str
    """The declared host."""
    socket: str
    """The control socket; empty when there is none."""
    program: str
    """Folder of our own commands: `sotd` and `sot-tui`."""


def place(home: str, host: str, socket: str) -> Place:
    """Return what a row is told of the daemon in this process."""
    return Place(home, host, socket, os.path.dirname(os.path.abspath(sys.executable)))


def argv(row: Row, environ: Mapping[str, str], here: Place, *, resumes: bool) -> tuple[str, ...]:
    """Return the command line of a row's agent, with an absolute program; raises NotFound.

    `resumes` asks for the conversation that is there already; a first run has none to go on with, and neither has one
    that follows a run which ended before a word was said.
    """
    match row.agent:
        case "claude":
            program = _found("claude", environ, "~/.local/bin", "~/.claude/local")
            first = ("--permission-mode", "auto", *(["--continue"] if resumes and _may_continue(row, environ) else []))
            return (program, *first, "/sot-session-start")
        case "codex":
            program = _found("codex", environ, "~/.local/bin")
            name = row.agent_name or codex_handle(row.root, here.host)
            return (
                "/bin/sh",
                "-c",
                _JOIN_FIRST,
                "sh",
                f"{here.program}/sot-tui",
                name,
                program,
                *_OF_ONE_ROW,
                *(["resume", "--last"] if resumes else []),
            )
        case _ if row.command:
            return (_found(row.command[0], environ, "~/.local/bin"), *row.command[1:])
        case _:
            shell = environ.get("SHELL", "")
            return (shell if _is_program(shell) else "/bin/sh",)


def codex_handle(root: str, host: str) -> str:
    """Return the handle of a Codex row that was given none: `<repo>-cx-<host>` (contract, Naming)."""
    return f"{names.reduced(os.path.basename(root), names.BASE_LIMIT)}-cx-{names.host_piece(host)}"


def environment(row: Row, environ: Mapping[str, str], here: Place) -> dict[str, str]:
    """Return the whole environment of a row's agent (daemon wire 4.2)."""
    kept = {name: value for name, value in environ.items() if _is_inherited(name)}
    told = {
        "SOT_SESSION": "1",
        "SOT_WORKSPACE": row.slug,
        "SOT_WORKSPACE_ID": row.id,
        "SOT_WORKSPACE_ROOT": row.root,
        "SOT_COMM_HOME": here.home,
        "SOT_COMM_SELF_FILE": self_file(here, row.id),
        "SOTD_BIN": f"{here.program}/sotd",
        **({"SOT_SOCKET": here.socket} if here.socket else {}),
        **({"SOT_COMM_NAME": row.agent_name} if row.agent_name else {}),
        **_PLAIN_CLAUDE,
        **_TERMINAL,
    }
    if row.account and row.agent == "claude":
        told["CLAUDE_CONFIG_DIR"] = account_folder(environ, row.account)
    local = f"{paths.home_folder(environ)}/.local/bin"
    searched = kept.get("PATH", os.defpath)
    # Our own commands come last: a row that has no other `sot-tui` finds this one.
    ours = [here.program] if here.program not in searched.split(":") else []
    first = [local] if local not in searched.split(":") else []
    return kept | told | {"PATH": ":".join([*first, searched, *ours]), "PWD": row.root}


def self_file(here: Place, row_id: str) -> str:
    """Return the path of a row's own identity slot (daemon wire 3.7)."""
    return f"{here.home}/self/{here.host}__{row_id}.txt"


def account_folder(environ: Mapping[str, str], account: str) -> str:
    """Return the folder that holds the login of one account of Claude Code (daemon wire 4.2)."""
    return f"{paths.home_folder(environ)}/.claude-auth/{account}"


def default_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the account that Claude Code uses by itself."""
    return environ.get("CLAUDE_CONFIG_DIR") or f"{paths.home_folder(environ)}/.claude"


def accounts(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the accounts of Claude Code on this box and the folder of each, the default one first."""
    folder = account_folder(environ, "")
    try:
        found = sorted(name for name in os.listdir(folder) if names.is_file_safe(name))
    except OSError:
        found = []  # nobody has made another one, or this process may not know of it
    found = [name for name in found if name != DEFAULT_ACCOUNT and os.path.isdir(account_folder(environ, name))]
    return [(DEFAULT_ACCOUNT, default_folder(environ)), *((name, account_folder(environ, name)) for name in found)]


def _may_continue(row: Row, environ: Mapping[str, str]) -> bool:
    """Tell whether Claude Code may have a conversation in a row's folder: on none, `--continue` ends it at once.

    It keeps those of a folder below one that is named for it. What cannot be read is not absent, and neither is what
    stands below a name so long that it is cut.
    """
    config = account_folder(environ, row.account) if row.account else default_folder(environ)
    for root in {row.root, os.path.realpath(row.root)}:
        name = re.sub(r"[^a-zA-Z0-9]", lambda one: "--" if ord(one[0]) > _ONE_UNIT else "-", root)
        try:
            kept = len(name) > _WHOLE_NAME or any(
                entry.endswith(".jsonl") for entry in os.listdir(f"{config}/projects/{name}")
            )
        except FileNotFoundError:
            kept = False
        except OSError:
            kept = True
        if kept:
            return True
    return False


def _is_inherited(name: str) -> bool:
    if name.startswith("SOT_"):
        return name in _SHARED
    return name not in _NEVER_INHERITED and not name.startswith(_NEVER_INHERITED_PREFIXES)


def _found(program: str, environ: Mapping[str, str], *more: str) -> str:
    if "/" in program:
        path = os.path.expanduser(program)
        if not _is_program(path):
            raise NotFound(f"{program} is no program")
        return path
    folders = [folder for folder in environ.get("PATH", os.defpath).split(":") if folder.startswith("/")]
    folders += [paths.home_folder(environ) + folder.removeprefix("~") for folder in more]
    for folder in folders:
        if _is_program(f"{folder}/{program}"):
            return f"{folder}/{program}"
    raise NotFound(f"{program} not found (searched: {', '.join(dict.fromkeys(folders))})")


def _is_program(path: str, allowed: Callable[[str, int], bool] = os.access) -> bool:
    """Tell whether a path is an absolute one of a regular file that this account may run."""
    try:
        return path.startswith("/") and stat.S_ISREG(os.stat(path).st_mode) and allowed(path, os.X_OK)
    except (OSError, ValueError):
        return False
