"""The door: from the words of the command line to the verb, or to the dashboard when there are none.

Nothing is imported before it is called: a verb is started by every hook of every session, and pays for what stands
here. Every fault that a verb lets through ends here as one sentence and an exit code, never as a traceback.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

VERBS = {
    "join": "take a handle for this project",
    "send": "send a message to a handle, or to all",
    "poll": "show the mail past the read cursor, then move it",
    "list": "show every handle, live or stale, and what it does",
    "explain": "say why a handle is shown as it is",
    "status": "say what this session does",
    "leave": "give the handle back, or remove an orphan's entry",
    "relay": "send by way of the hub",
    "spawn": "start a row for a project, by its daemon",
    "despawn": "end a row, and remove its entry",
    "probe": "start a row with a bare shell to try something in",
    "session-start": "join as a session that starts",
    "hook": "what an agent runs at its events",
    "hooks": "let the agents run the hooks, or no longer",
    "context": "show who this process is to the others",
    "self-audit": "compare each row's identity slot with the project it names",
    "lock-clear": "clear the registry lock of a holder that is proved dead",
    "worktree-new": "make a second working folder of this repository",
    "worktree-clean": "remove the worktrees whose work is in their base",
    "worktree-status": "show what each worktree holds, and who is there",
    "worktree-sync": "remind the sessions whose worktree is behind, or merge",
    "install": "put the script names (comm-poll.sh, ...) into the comm home",
    "service": "let systemd or launchd run the daemon, or no longer",
    "notify": "tell a person who is away what an agent's hook says",
    "notifyd": "take what the hooks say, and push each once",
    "session-metadata": "say which name a session was given with its pushes",
    "doctor": "check that everything is set up, and say the next step",
    "info": "show every path and every setting",
    "web": "serve the dashboard to a browser of this machine",
    "screen": "replay a recording of a screen, and say what the wake makes of it",
    "record": "make a recording of a row's screen, or of a program's",
}
"""The verbs, each a module of the same name in `verbs/` unless it is one of `ELSEWHERE`, and what each is for."""

ELSEWHERE = {"screen": "sot_tui.engine.casts", "record": "sot_tui.engine.recording", "web": "sot_tui.web"}
"""The verbs that no session calls, and that load what no session's may."""

READ_ONLY = "--readonly"
"""What opens a dashboard that only looks."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""
PIPE_CLOSED = 141
"""Exit code when the reader of the output went away, as shells have it."""

_NO_WINDOWS = "sot-tui: Windows is not supported; it runs on Linux and macOS, and in WSL on this machine"
"""What is said at start where nothing here can work: no flock, no hard links' rules, no process tree that is read."""

_HELP = """\
Run many coding-agent sessions, and see at a glance who needs you.

Examples:
  sot-tui                                  open the dashboard on the comm home
  sot-tui --readonly                       look at it only: join nobody, write nothing
  sot-tui join                             take a handle for the project in this folder
  sot-tui send @Docs-box 'ready to merge'  send a message
  sot-tui poll                             read the mail of this session
  sot-tui list                             who is there, and what they do
  sot-tui notify test                      push to your phone (sot-tui notify --help says how)

Usage: sot-tui [--readonly | VERB [WORDS...]]

Verbs (sot-tui VERB --help says more):
{verbs}

Options:
  --readonly     open a dashboard that writes nothing
  -h, --help     show this and exit
  --version      show the version and exit

The comm home is $SOT_COMM_HOME, else ~/.sot-comm.
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code; `argv` are its words.

    By default they are those of the process, which a verb then ends at once: nothing is left to be written by then, and
    taking the interpreter down in good order costs a fifth of a whole verb. For the same reason a verb collects no
    garbage while it runs.
    """
    if argv is not None:
        return _answered(argv)
    words = [*_called_as(sys.argv[0]), *sys.argv[1:]]
    if not words or words == [READ_ONLY]:
        return _answered(words)  # the dashboard runs long, and ends its threads itself
    gc.disable()
    code = _answered(words)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or gone
            stream.flush()
    os._exit(code)


def _called_as(program: str) -> list[str]:
    """Return the verb that the name stands for under which this program was called: `comm-poll.sh` is `poll`."""
    if not os.path.basename(program).startswith("comm-"):
        return []
    from sot_tui.comm.scripts import verb_of

    verb = verb_of(program)
    return [verb] if verb else []


def _answered(argv: list[str]) -> int:
    """Run the command and turn whatever it lets through into a sentence and a code."""
    if os.name == "nt":
        print(_NO_WINDOWS, file=sys.stderr)
        return 1
    _reserve_standard_descriptors()
    try:
        return _run(_as_utf8(argv))
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  (the top of the process: a fault is one sentence, never a traceback)
        return _fault(error)


def _run(words: list[str]) -> int:
    if not words or words == [READ_ONLY]:
        return _dashboard(readonly=bool(words))
    verb = words[0]
    if verb in VERBS:
        # Called by name, so that nothing but the one verb is loaded.
        module = __import__(ELSEWHERE.get(verb, f"sot_tui.verbs.{verb.replace('-', '_')}"), fromlist=["main"])
        return int(module.main(words[1:]))
    from sot_tui.verbs._session import say, tell

    if verb in {"-h", "--help", "help"}:
        say(_HELP.format(verbs="\n".join(f"  {name:<16} {what}" for name, what in VERBS.items())))
        return 0
    if verb == "--version":
        say(_version() + "\n")
        return 0
    if verb == READ_ONLY:
        tell(f"sot-tui: {READ_ONLY} opens the dashboard, and stands alone")
    else:
        tell(f"sot-tui: there is no verb '{verb}'{_meant(verb)}; sot-tui --help lists them")
    return 2


def _dashboard(*, readonly: bool) -> int:
    if not (os.isatty(0) and os.isatty(1)) and not os.environ.get("TEXTUAL_DRIVER"):
        from sot_tui.verbs._session import tell

        tell("sot-tui: the dashboard needs a terminal; `sot-tui list` prints the handles, `sot-tui --help` says more")
        return 2
    gc.disable()  # until the first frame stands; what is loaded before it is no garbage
    from sot_tui.screens.app import main as open_dashboard

    return int(open_dashboard(readonly=readonly) or 0)


def _fault(error: Exception) -> int:
    from sot_tui.comm.errors import Misuse, SotError, Unheard
    from sot_tui.verbs._session import tell

    if isinstance(error, Unheard) and error.quiet:
        return PIPE_CLOSED
    if isinstance(error, SotError):
        tell(f"sot-tui: {error.sentence}")
        return 2 if isinstance(error, Misuse) else 1
    if isinstance(error, OSError) and error.strerror:
        tell(f"sot-tui: {error.strerror}{f': {error.filename}' if error.filename else ''}")
        return 1
    if os.environ.get("SOT_TRACEBACK"):
        raise error
    tell(f"sot-tui: a fault in this program: {type(error).__name__}: {error} (SOT_TRACEBACK=1 shows where)")
    return 1


def _reserve_standard_descriptors() -> None:
    """Let no file that is opened later become stdin, stdout or stderr in the place of one that was closed.

    Each is filled by something that cannot be written (stdin: that is empty), so that a closed stdout stays one.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free descriptor is taken, which is this one, as those below it are filled.
            os.open(os.devnull, os.O_RDONLY)
            os.set_inheritable(descriptor, True)


def _as_utf8(words: list[str]) -> list[str]:
    """Return the words as the UTF-8 text that their bytes are, whatever the locale took them for."""
    if sys.getfilesystemencoding() == "utf-8":
        return words
    return [os.fsencode(word).decode("utf-8", "surrogateescape") for word in words]


def _meant(word: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, VERBS, n=1)
    return f", perhaps '{close[0]}'" if close else ""


def _version() -> str:
    from sot_tui.comm.about import version
    from sot_tui.comm.home import PROTOCOL_VERSION

    return f"sot-tui {version()}, sot-comm protocol v{PROTOCOL_VERSION}"
