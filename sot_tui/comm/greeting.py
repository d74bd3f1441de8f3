"""What a session is told of sot-comm when it starts.

Contract, Cases: the handle stays with the row, and a row that compacted or cleared re-arms nothing. A row's session
joins when it starts; outside a row only one that is a joined agent already is greeted, so that nobody's plain session
gets a handle it never asked for.
"""

from __future__ import annotations

from sot_tui.comm import session_start, stamping, turns
from sot_tui.comm.facts import Verb
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.registry_lock import Wait
from sot_tui.comm.stamping import Said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context

_SAME_SESSION = frozenset({"compact", "clear"})
"""Sources of a start in which the session's process goes on (Claude Code, SessionStart)."""

_TEXT = """\
You are @{handle} on sot-comm, where other sessions reach you ({repo} on {host}).
- Mail: when you are told that you have some, run comm-poll.sh (sot-tui poll) and act on it. Nothing has to be armed.
- Send: sot-tui send @handle 'text' (or --file PATH). `filed -> @handle` means kept, `FAILED -> @handle: why` not sent.
- Who is there: sot-tui list. What you are at: sot-tui status working 'one line'.
- A turn that closes a piece of work, or waits, ends with one line: `SITREP: headline` (done),
  `SITREP-QUESTION: question` (the user has to answer) or `SITREP-WAITING: for what`.
- Your subagents neither send nor read mail; they report to you.
"""


def greet(home: Home, here: Context, environ: Mapping[str, str], cwd: str, source: str) -> str:
    """Return what the session is told; nothing when it is no agent of sot-comm."""
    joined = stamping.entry_of(here) is not None
    if source in _SAME_SESSION and (joined or not here.row):
        return _text(here, here.name) if joined else ""
    turns.end(home, here.self_file)  # one that a process before this one was in the middle of is gone with it
    if here.row:
        started = session_start.start(home, environ, cwd)
        told = _text(here, started.handle) if started.handle else ""
        return "\n".join((*started.lines, *(() if started.handle else started.notes))) + "\n" + told
    if not joined:
        return ""
    stamping.say(home, here.name, here.row, [Said(Verb.JOIN)], Wait.RULED)
    return _text(here, here.name)


def _text(here: Context, handle: str) -> str:
    return _TEXT.format(handle=handle, repo=here.project.repo, host=here.host)
