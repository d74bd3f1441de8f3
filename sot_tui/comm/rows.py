"""Rows, as the daemon that runs them lists, makes and ends them (daemon wire 3.6 to 3.12).

Each function is one request and its one answer. A refusal is told in the daemon's own words. Where no answer came to a
request that changes something, nothing is known to have happened, and nothing is said to have. Who may ask is decided
by the caller.
"""

from __future__ import annotations

from sot_tui.comm import endpoints, wire
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context
    from sot_tui.comm.wire import Caller

READY = "ready"
"""The one phase in which a row may be typed into (daemon wire 4.3)."""
OVER = frozenset({"ending", "ended_no_respawn", "terminal", "foreign"})
"""The phases from which no row becomes ready by waiting."""
INPUT_SECS = 20.0
"""Seconds in which the answer to a typed line is read: the daemon may take 18 (daemon wire 2.4, 3.11)."""
NO_DAEMON = "no sotd daemon found (`sotd run` is one, and so is an open dashboard)"
POLL_SECS = 1.0
"""Between two looks at a row that starts (daemon wire 3.1)."""


class Daemon(NamedTuple):
    """A daemon that can be asked."""

    home: Home
    endpoint: str
    asker: Caller
    seconds: float
    """How long its answers are waited for."""
    notes: tuple[str, ...] = ()
    """Lines for stderr."""


class Row(NamedTuple):
    """One row of the list."""

    id: str
    slug: str
    label: str
    root: str
    phase: str
    handle: str
    """The handle it declared, else the one it was made with; empty when it has none."""
    agent: str = ""
    """What runs in it, as its daemon names it."""


class NotDone(NamedTuple):
    """It was not done, or is not known to be."""

    why: str
    unknown: bool = False
    """Whether the request may have been carried out all the same."""


def daemon_of(home: Home, environ: Mapping[str, str], here: Context, explicit: str = "") -> Daemon | NotDone:
    """Return this box's daemon, or the one at an explicit endpoint."""
    found = endpoints.of_this_box(home, environ, explicit)
    if not found.endpoint:
        return NotDone("; ".join((*found.notes, NO_DAEMON)))
    asker = wire.caller(environ, here.host, here.name, home.path)
    return Daemon(home, found.endpoint, asker, wire.window(environ), found.notes)


def host_of(daemon: Daemon) -> str | NotDone:
    """Return the declared host of the daemon's box."""
    said = _asked(daemon, "version.query", {})
    if isinstance(said, NotDone):
        return said
    about = said.get("daemon")
    host = about.get("host") if isinstance(about, dict) else None
    return host if isinstance(host, str) and host else NotDone("the daemon does not say which box it runs on")


def listed(daemon: Daemon) -> list[Row] | NotDone:
    """Return every row the daemon has."""
    said = _asked(daemon, "workspace.list", {})
    if isinstance(said, NotDone):
        return said
    rows = said.get("workspaces")
    if not isinstance(rows, list) or not all(isinstance(row, dict) and _text(row, "workspace_id") for row in rows):
        return NotDone("the daemon's list of rows could not be read")
    return [
        Row(
            _text(row, "workspace_id"),
            _text(row, "slug"),
            _text(row, "label"),
            _text(row, "project_root"),
            _text(row, "phase"),
            _text(row, "agent_handle") or _text(row, "agent_name"),
            _text(row, "agent"),
        )
        for row in rows
    ]


def create(daemon: Daemon, wanted: Mapping[str, Any]) -> str | NotDone:
    """Make a row and return its id."""
    return _changed(daemon, "workspace.create", wanted)


def destroy(daemon: Daemon, row: str) -> str | NotDone:
    """End a row's run and remove the row; return its id."""
    return _changed(daemon, "workspace.destroy", {"workspace_id": row})


def until_ready(daemon: Daemon, row: str, seconds: float) -> NotDone | None:
    """Wait until a row is ready; return why it is not, None when it is."""
    clock = daemon.home.clock
    deadline = clock.monotonic() + seconds
    while True:
        rows = listed(daemon)
        if isinstance(rows, NotDone):
            return rows
        phase = next((one.phase for one in rows if one.id == row), None)
        if phase == READY:
            return None
        if phase is None:
            return NotDone("the daemon does not list it any more")
        if phase in OVER:
            return NotDone(f"it will not become ready (phase: {phase})")
        left = deadline - clock.monotonic()
        if left <= 0:
            return NotDone(f"it was not ready within {seconds:g}s (phase: {phase or 'not said'})")
        clock.sleep(min(POLL_SECS, left))


def type_line(daemon: Daemon, row: str, line: str, origin: str) -> str | NotDone:
    """Type a line into a row and press Enter; return whether Enter was sent, as the daemon says it."""
    import base64  # noqa: PLC0415  (only what types needs it)

    data = base64.b64encode(line.encode("utf-8", "replace")).decode()
    request = {"workspace_id": row, "data_b64": data, "enter": True, "origin": origin}
    said = _asked(daemon._replace(seconds=max(daemon.seconds, INPUT_SECS)), "pty.input", request)
    if isinstance(said, NotDone):
        return said
    return _text(said, "enter") if said.get("ok") is True else NotDone(_odd(said), unknown=True)


def _changed(daemon: Daemon, op: str, request: Mapping[str, Any]) -> str | NotDone:
    """Make a request whose success is told by the row's id alone."""
    said = _asked(daemon, op, request)
    if isinstance(said, NotDone):
        return said
    return _text(said, "workspace_id") or NotDone(_odd(said), unknown=True)


def _asked(daemon: Daemon, op: str, request: Mapping[str, Any]) -> dict[str, Any] | NotDone:
    answer = wire.ask(daemon.home.clock, daemon.endpoint, daemon.asker, op, request, daemon.seconds)
    if isinstance(answer, wire.NoAnswer):
        return NotDone(answer.why, unknown=not answer.unsent)
    return NotDone(answer.error) if answer.error else answer.payload


def _odd(said: dict[str, Any]) -> str:
    return f"the daemon answered neither ok nor a refusal: {wire.shown(said)}"


def _text(said: Mapping[str, Any], key: str) -> str:
    value = said.get(key)
    return value if isinstance(value, str) else ""
