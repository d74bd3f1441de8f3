"""A session starts: it joins, or is told why it may not, in one line that says which.

Contract, Cases: a row that was displaced says `@<h> moved to row <id>` and rejoins; a session outside any row steps
past a held handle with no MISMATCH. A slot that names another project is never joined over without a pinned name. The
line `BOOTSTRAP-ARM` closes every start, whatever came of it, and nothing has to be armed: the daemon wakes the row.
"""

from __future__ import annotations

from sot_tui.comm import identity, joining
from sot_tui.comm.errors import SotError
from sot_tui.comm.joining import Wish
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context


class Started(NamedTuple):
    """What came of a start."""

    handle: str
    """The handle that was joined; empty when none was."""
    lines: tuple[str, ...]
    """Lines for stdout, which the session reads; the last one is the BOOTSTRAP-ARM line."""
    notes: tuple[str, ...]
    """Lines for stderr."""


def start(home: Home, environ: Mapping[str, str], cwd: str, expertise: Sequence[str] = ()) -> Started:
    """Join as a session that starts; nothing that is wrong keeps it from starting."""
    try:
        return _start(home, environ, cwd, expertise)
    except SotError as error:
        return _failed((f"comm-session-start: {error.sentence}",))


def _start(home: Home, environ: Mapping[str, str], cwd: str, expertise: Sequence[str]) -> Started:
    here = identity.who_am_i(home, environ, cwd)
    pinned = environ.get("SOT_COMM_NAME", "")
    if here.refusal:
        return _failed((*here.notes, f"comm-session-start: {here.refusal}"))
    if not pinned and _is_taken(here):
        return _failed((*here.notes, _refusal(here)))
    moved = here.held_by if here.row else ""
    said = [f"@{here.self_file.handle} moved to row {moved}; joining again"] if moved else []
    outcome = joining.join(home, environ, cwd, Wish(pinned, expertise))
    if isinstance(outcome, joining.NotJoined):
        return _failed(here.notes, (*said, *outcome.notes))
    lines = (*said, *outcome.notes, *outcome.lines())
    return Started(outcome.handle, (*lines, _arm(outcome.handle, stranded=outcome.stranded)), here.notes)


def _is_taken(here: Context) -> bool:
    """Tell whether the slot names an identity that is not this project's; one that a row holds has its own rules."""
    return bool(here.self_file.handle) and not here.name and not here.held_by


def _refusal(here: Context) -> str:
    return (
        f"REFUSED: {here.self_file.path} already names a different, validated identity (see the diagnostic line above) "
        "and no SOT_COMM_NAME pin was given — refusing to join over it. The session's launcher pins a distinct "
        "SOT_COMM_NAME and, outside a row, a private SOT_COMM_SELF_FILE of its own; nothing started inside a session "
        "joins. See this skill's Identity line and references/reclaim-handle.md."
    )


def _arm(handle: str, *, stranded: bool) -> str:
    return f"BOOTSTRAP-ARM handle={handle} identity={'MISMATCH' if stranded else 'ok'} WAKE: daemon"


def _failed(notes: tuple[str, ...], lines: tuple[str, ...] = ()) -> Started:
    return Started("", (*lines, "BOOTSTRAP-ARM handle=none identity=FAIL WAKE: n/a"), notes)
