"""How the notifier stands on this box, for whoever asks: is anybody configured, who serves, is it quiet, did it work.

It looks only: no socket is dialled and no lock is taken. Who serves says so in the lock's record, and is believed while
that process lives; the last result is that of the decision log. Neither address nor token, nor what was written in a
push, is any of it.
"""

from __future__ import annotations

import os

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import decided, decision_log, held, quiet, server, serving, settings
from sot_tui.notify.decided import Came

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.config import Config
    from sot_tui.comm.home import Home

LOG_BYTES = 1 << 16
"""Bytes of the decision log that are looked at, from its end: some two hundred decisions."""
_PUSHES = frozenset({Came.SENT, Came.FAILED, Came.HELD_BACK})
"""What came of an event that was a push; a rehearsal is none, and neither is a decision to push nothing."""


class Last(NamedTuple):
    """What came of the last push that was decided."""

    at: str
    """When, as the log says it. Foreign text, as the reason is."""
    result: str
    """`sent`, `not delivered` or `held back`."""
    reason: str


class Standing(NamedTuple):
    """How the notifier stands."""

    sender: bool
    """Whether somebody is configured to send to."""
    disabled: bool
    """Whether pushes are switched off by $STEWARD_NTFY_DISABLED."""
    socket: str
    server: server.Holder | None
    quiet_hours: str
    """Empty when there are none."""
    quiet_now: bool
    held: int | None
    """Pushes that wait for the end of the quiet hours; None when that cannot be read."""
    last: Last | None
    serving: tuple[serving.Serves, ...]
    """Who pushes, or would, and whether to the same as this environment says."""
    doubts: tuple[str, ...] = ()
    """What of this environment cannot be used, a sentence each."""


def standing(home: Home, environ: Mapping[str, str], config: Config) -> Standing:
    """Look how the notifier stands."""
    base, path, hours = settings.state_base(environ), settings.socket_path(environ), quiet.hours_of(config)
    return Standing(
        settings.target(home, environ) is not None,
        environ.get("STEWARD_NTFY_DISABLED") == "true",
        path,
        server.holder(home, path),
        quiet.said(hours) if hours else "",
        hours is not None and quiet.is_quiet(hours, quiet.minute_of(home.clock.now())),
        held.Gate(home, base, hours).count(),
        _last(home, f"{base}/{decision_log.NAME}"),
        serving.all_here(home, environ),
        settings.doubts(home, environ),
    )


def _last(home: Home, path: str) -> Last | None:
    try:
        descriptor = home.disk.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        data = home.disk.read_at(descriptor, LOG_BYTES, max(0, home.disk.size(descriptor) - LOG_BYTES))
    except OSError:
        return None
    finally:
        home.disk.close(descriptor)
    for line in reversed(data.split(b"\n")):
        found = decided.of_line(line)
        if found is not None and found.came in _PUSHES and found.at:
            return Last(found.at, found.came.value, found.reason)
    return None
