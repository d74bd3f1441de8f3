"""Sending: which route a message takes, and the one result it has.

Contract, Delivery: a handle that the sender's own comm folder lists is filed here, under the inbox lock, when this box
shares its lock manager with the folder's hub; otherwise the line is handed to the daemon that owns the folder. A handle
the folder does not list goes to the hub. Every route checks liveness before it appends. The one result is `filed -> @h`
or `FAILED -> @h: <reason>`; nothing is queued, and a failed send takes no second route. `filed` is never said for a
line that is not flushed, nor for a handle that no live session holds.
"""

from __future__ import annotations

import os

from sot_tui.comm import frames, inbox, inbox_lock, mounts, names, registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.endpoints import Found
    from sot_tui.comm.home import Home

NO_DAEMON = (
    "no sotd daemon found; `sotd topology relay-endpoint` gave no endpoint for this box, or no sotd is installed"
)
"""Why a handle that this box does not list gets nothing."""
NO_LOCK_HERE = "this box cannot take the inbox lock itself, and no daemon is reachable to file it"
"""Why a listed handle gets nothing where the lock manager's record is not this box's own."""

ANSWER_SECS = 3.0
"""Seconds past the lock wait in which an answer is read: who waited the lock out and then filed is still heard
(contract, The one result)."""


class Filed(NamedTuple):
    """The message is kept."""

    sentence: str
    """`filed -> @h`."""
    note: str = ""
    """What stderr is told besides: a dead writer's partial was cut, or an endpoint was passed over."""
    by_daemon: bool = False
    """Whether a daemon filed it; a script's own append is printed indented."""


class Failed(NamedTuple):
    """Nothing was added."""

    sentence: str
    """`FAILED -> @h: <reason>`, complete."""
    note: str = ""
    """As in Filed."""


class _Message(NamedTuple):
    """One message, to be filed by whichever route."""

    sender: str
    to: str
    text: str
    broadcast: bool


def send(
    home: Home,
    sender: str,
    repo: str,
    to: str,
    msg: str,
    *,
    broadcast: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> Filed | Failed:
    """Send `msg` from the verified handle `sender` to `to`, as a broadcast copy if so; return the one result.

    Raises Misuse when a variable that bounds the wait, or the liveness, makes no sense.
    """
    if not names.is_file_safe(to):
        return _failed(to, names.not_a_handle(to))
    book = registry.read(home)
    if isinstance(book, registry.Unread):
        return _failed(to, f"the registry could not be read, so identity @{sender} is unverified; nothing was sent")
    entry = book.entry(to)
    host = entry.get("host") if entry is not None else None
    message = _Message(sender, to, msg, broadcast)
    if not isinstance(host, str) or not host:
        return _by_the_hub(home, environ, message)
    if not registry.is_live(entry, home.clock.now()):
        return _failed(to, f"no live session holds @{to}")
    manager = mounts.appends_here(home)
    if manager is None:
        return _by_the_owner(home, environ, message)
    line = frames.frame(sender, "" if broadcast else to, repo, msg, stamp(home.clock.now()))
    outcome = inbox.file_line(home, to, line, manager)
    note = inbox.cut_note(to, outcome)
    if isinstance(outcome, inbox.NotFiled):
        return _failed(to, outcome.reason, note)
    return Filed(f"filed -> @{to}", note)


def _by_the_hub(home: Home, environ: Mapping[str, str], message: _Message) -> Filed | Failed:
    """Ask the hub to file for a handle that this folder does not list."""
    from sot_tui.comm import endpoints  # noqa: PLC0415  (most messages need no daemon)

    host = names.declared_host(environ, home.procs)
    return _asked(home, environ, endpoints.of_the_hub(home, environ, host), message, NO_DAEMON)


def _by_the_owner(home: Home, environ: Mapping[str, str], message: _Message) -> Filed | Failed:
    """Hand the message to the daemon that owns the comm folder: this box's own, else the hub."""
    from sot_tui.comm import endpoints  # noqa: PLC0415  (as above)

    host = names.declared_host(environ, home.procs)
    return _asked(home, environ, endpoints.of_this_box_else_the_hub(home, environ, host), message, NO_LOCK_HERE)


def _asked(home: Home, environ: Mapping[str, str], found: Found, message: _Message, nobody: str) -> Filed | Failed:
    """Make the one request, and say what its one answer was; `nobody` is why, where there is nobody to ask."""
    from sot_tui.comm import wire  # noqa: PLC0415  (as above)

    note = "\n".join(found.notes)
    if not found.endpoint:
        return _failed(message.to, nobody, note)
    asker = wire.caller(environ, names.declared_host(environ, home.procs), message.sender, home.path)
    request = {"from": message.sender, "to": message.to, "text": message.text, "broadcast": message.broadcast}
    seconds = inbox_lock.wait_bound(inbox_lock.WRITE_WAIT, environ) + ANSWER_SECS
    answer = wire.ask(home.clock, found.endpoint, asker, "comm.file", request, seconds)
    if isinstance(answer, wire.NoAnswer):
        return _failed(message.to, answer.why, note)
    if answer.error:
        return _failed(message.to, answer.error, note)
    if answer.payload.get("ok") is not True:
        return _failed(message.to, f"the daemon answered neither ok nor a refusal: {wire.shown(answer.payload)}", note)
    return Filed(f"filed -> @{message.to}", note, by_daemon=True)


def _failed(to: str, reason: str, note: str = "") -> Failed:
    return Failed(f"FAILED -> @{to}: {reason}", note)
