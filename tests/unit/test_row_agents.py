"""What may run in a row, by which words, and in which environment (daemon wire 4.2)."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from sot_tui.engine.rows import agents
from sot_tui.engine.rows.row import Row, run_id

HERE = agents.Place("/h/.sot-comm", "box", "/run/user/1/sot/sessions/sot.sock", "/opt/sot/bin")
ROW = Row("ws-api-1", "api", "api", "/src/api", 1, agent="claude", agent_name="api-box")


@pytest.fixture
def programs(_away_from_home: Path) -> dict[str, str]:
    """Return an environment whose PATH holds a claude and a codex."""
    folder = _away_from_home / "bin"
    folder.mkdir()
    for name in ("claude", "codex"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"relative:{folder}", "HOME": str(_away_from_home / "home")}


def test_claude_when_first_started_then_has_nothing_to_continue(programs: dict[str, str]) -> None:
    program = f"{programs['PATH'].partition(':')[2]}/claude"
    conversation(f"{programs['HOME']}/.claude", "-src-api")
    first = agents.argv(ROW, programs, HERE, resumes=False)
    assert first == (program, "--permission-mode", "auto", "/sot-session-start")
    again = agents.argv(ROW, programs, HERE, resumes=True)
    assert again == (program, "--permission-mode", "auto", "--continue", "/sot-session-start")


def conversation(config: str, folder: str) -> None:
    """Put a conversation where Claude Code keeps those of a folder."""
    kept = Path(config, "projects", folder)
    kept.mkdir(parents=True)
    (kept / "1.jsonl").touch()


def test_claude_when_its_last_run_ended_before_a_word_was_said_then_it_is_not_told_to_continue(
    programs: dict[str, str], tmp_path: Path
) -> None:
    """Claude Code ends with 1, "No conversation found to continue", where its folder has none."""

    def continues(row: Row, **more: str) -> bool:
        return "--continue" in agents.argv(row, {**programs, **more}, HERE, resumes=True)

    assert not continues(ROW)
    (Path(programs["HOME"]) / ".claude" / "projects" / "-src-api").mkdir(parents=True)
    assert not continues(ROW), "a folder that holds no conversation"
    odd = replace(ROW, root="/src/a b.c_é😀")
    conversation(f"{programs['HOME']}/.claude", "-src-a-b-c----")
    assert continues(odd)
    assert not continues(replace(odd, account="work"))
    conversation(f"{programs['HOME']}/.claude-auth/work", "-src-a-b-c----")
    assert continues(replace(odd, account="work"))
    conversation(f"{tmp_path}/config", "-src-api")
    assert continues(ROW, CLAUDE_CONFIG_DIR=f"{tmp_path}/config")
    (tmp_path / "link").symlink_to("/src")
    assert continues(replace(ROW, root=f"{tmp_path}/link/api"), CLAUDE_CONFIG_DIR=f"{tmp_path}/config")
    assert continues(replace(ROW, root=f"/{'long' * 60}")), "a name that is cut tells nothing"
    (Path(programs["HOME"]) / ".claude" / "projects" / "-src-unread").touch()
    assert continues(replace(ROW, root="/src/unread")), "what cannot be read is not absent"


def test_codex_when_started_then_joins_by_name_first(programs: dict[str, str]) -> None:
    """Contract, Naming: "A Codex row started by ccx defaults to <repo>-cx-<host>"."""
    row = replace(ROW, agent="codex", agent_name="", root="/src/My Repo")
    words = agents.argv(row, programs, HERE, resumes=True)
    assert words[:2] == ("/bin/sh", "-c")
    codex = (f"{programs['PATH'][9:]}/codex", "-c", "features.daemon_auto_start=false")
    assert words[4:] == ("/opt/sot/bin/sot-tui", "My-Repo-cx-box", *codex, "resume", "--last")
    named = agents.argv(replace(row, agent_name="mine"), programs, HERE, resumes=False)
    assert named[5:] == ("mine", *codex)


def test_agent_when_its_program_is_nowhere_then_is_refused_with_what_was_searched(programs: dict[str, str]) -> None:
    (Path(programs["PATH"][9:]) / "claude").chmod(0o644)  # there, but no program
    with pytest.raises(agents.NotFound) as raised:
        agents.argv(ROW, programs, HERE, resumes=False)
    words = str(raised.value)
    assert words.startswith(f"claude not found (searched: {programs['PATH'][9:]}, ")
    assert words.endswith("/.claude/local)")
    assert "relative" not in words


def test_shell_when_the_persons_is_no_program_then_is_sh(programs: dict[str, str]) -> None:
    row = replace(ROW, agent="none")
    assert agents.argv(row, {**programs, "SHELL": "/no/such"}, HERE, resumes=False) == ("/bin/sh",)
    assert agents.argv(row, {**programs, "SHELL": "/bin/sh"}, HERE, resumes=True) == ("/bin/sh",)


def test_command_when_the_person_names_one_then_runs_as_given(programs: dict[str, str]) -> None:
    row = replace(ROW, agent="none", command=("codex", "--model", "x y"))
    assert agents.argv(row, programs, HERE, resumes=False) == (f"{programs['PATH'][9:]}/codex", "--model", "x y")


def test_environment_when_an_agent_starts_then_has_the_wires_variables(programs: dict[str, str]) -> None:
    """Daemon wire 4.2, the table."""
    told = agents.environment(ROW, programs, HERE)
    assert {name: value for name, value in told.items() if name.startswith(("SOT", "CLAUDE"))} == {
        "SOT_SESSION": "1",
        "SOT_SOCKET": "/run/user/1/sot/sessions/sot.sock",
        "SOT_WORKSPACE": "api",
        "SOT_WORKSPACE_ID": "ws-api-1",
        "SOT_WORKSPACE_ROOT": "/src/api",
        "SOT_COMM_NAME": "api-box",
        "SOT_COMM_HOME": "/h/.sot-comm",
        "SOT_COMM_SELF_FILE": "/h/.sot-comm/self/box__ws-api-1.txt",
        "SOTD_BIN": "/opt/sot/bin/sotd",
        "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY": "1",
        "CLAUDE_CODE_DISABLE_AGENT_VIEW": "1",
    }
    assert told["PATH"].split(":") == [f"{programs['HOME']}/.local/bin", *programs["PATH"].split(":"), "/opt/sot/bin"]
    assert told["PWD"] == "/src/api"
    assert "SOT_COMM_NAME" not in agents.environment(replace(ROW, agent_name=""), programs, HERE)
    again = agents.environment(ROW, told, HERE)
    assert again["PATH"] == told["PATH"]


@pytest.mark.parametrize(
    "name",
    [
        "STEWARD_NTFY_TOKEN", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "SOT_TUI_TOKEN", "SOT_COMM_ROW_HANDLE",
        "SOT_SPAWN_ENDPOINT", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "AI_AGENT", "NO_COLOR", "TMUX", "TERM_PROGRAM",
        "COLUMNS", "PYTHONPATH", "VIRTUAL_ENV", "TEXTUAL_DRIVER", "KITTY_WINDOW_ID", "WATCHDOG_USEC",
    ],
)  # fmt: skip
def test_environment_when_a_variable_is_not_for_an_agent_then_is_not_inherited(name: str) -> None:
    told = agents.environment(ROW, {"PATH": "/bin", "HOME": "/h", name: "secret", "LANG": "C.UTF-8"}, HERE)
    assert "secret" not in told.values()
    assert told["LANG"] == "C.UTF-8"


def test_account_when_a_claude_row_has_one_then_its_folder_is_named() -> None:
    told = agents.environment(replace(ROW, account="work"), {"HOME": "/h"}, HERE)
    assert told["CLAUDE_CONFIG_DIR"] == "/h/.claude-auth/work"
    assert "CLAUDE_CONFIG_DIR" not in agents.environment(replace(ROW, account="work", agent="codex"), os.environ, HERE)


def test_run_id_when_made_later_then_sorts_later_and_is_a_uuid_of_version_7() -> None:
    one, two = run_id(1_780_000_000.0, bytes(10)), run_id(1_780_000_000.001, b"\xff" * 10)
    assert one[:13].replace("-", "") == f"{1_780_000_000_000:012x}"
    assert one < two
    assert (two[14], two[19]) == ("7", "b")
    assert len(one) == 36
