"""Sending: which route a message takes, and the one result it has.

Contract, Delivery: a handle that the sender's own comm folder lists is filed here, under the inbox lock, when this box
shares its lock manager with the folder's hub; every route checks liveness before it appends. The one result is
`filed -> @h` or `FAILED -> @h: <reason>`; nothing is queued, and a failed send takes no second route. `filed` is never
said for a line that is not flushed, nor for a handle that no live session holds.
"""

from __future__ import annotations

from sot_tui.comm import frames, inbox, mounts, names, registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

NO_DAEMON = (
    "no sotd daemon found; `sotd topology relay-endpoint` gave no endpoint for this box, or no sotd is installed"
)
"""Why a handle that this box does not list gets nothing."""
NO_LOCK_HERE = "this box cannot take the inbox lock itself, and no daemon is reachable to file it"
"""Why a listed handle gets nothing where the lock manager's record is not this box's own."""


class Filed(NamedTuple):
    """The message is kept."""

    sentence: str
    """`filed -> @h`; a command prints it indented."""
    note: str = ""
    """What stderr is told besides: a dead writer's partial was cut."""


class Failed(NamedTuple):
    """Nothing was added."""

    sentence: str
    """`FAILED -> @h: <reason>`, complete."""
    note: str = ""
    """As in Filed."""


def send(home: Home, sender: str, repo: str, to: str, msg: str, *, broadcast: bool = False) -> Filed | Failed:
    """Send `msg` from the verified handle `sender` to `to`, as a broadcast copy if so; return the one result.

    Raises Misuse when a variable that bounds the wait, or the liveness, makes no sense.
    """
    reason = _refusal(home, sender, to)
    if reason:
        return _failed(to, reason)
    manager = mounts.appends_here(home)
    if manager is None:
        return _failed(to, NO_LOCK_HERE)
    line = frames.frame(sender, "" if broadcast else to, repo, msg, stamp(home.clock.now()))
    outcome = inbox.file_line(home, to, line, manager)
    note = inbox.cut_note(to, outcome)
    if isinstance(outcome, inbox.NotFiled):
        return _failed(to, outcome.reason, note)
    return Filed(f"filed -> @{to}", note)


def _refusal(home: Home, sender: str, to: str) -> str:
    """Return why nothing may be filed for `to`, or ""."""
    if not names.is_file_safe(to):
        return names.not_a_handle(to)
    book = registry.read(home)
    if isinstance(book, registry.Unread):
        return f"the registry could not be read, so identity @{sender} is unverified; nothing was sent"
    entry = book.entry(to)
    host = entry.get("host") if entry is not None else None
    if not isinstance(host, str) or not host:
        return NO_DAEMON  # not listed here: the hub may know it
    if not registry.is_live(entry, home.clock.now()):
        return f"no live session holds @{to}"
    return ""


def _failed(to: str, reason: str, note: str = "") -> Failed:
    return Failed(f"FAILED -> @{to}: {reason}", note)
