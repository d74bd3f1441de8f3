"""How the notifier stands on this box, for whoever asks: is anybody configured, who serves, is it quiet, did it work.

It looks only: no socket is dialled and no lock is taken. Who serves says so in the lock's record, and is believed while
that process lives; the last result is that of the decision log. Neither address nor token, nor what was written in a
push, is any of it.
"""

from __future__ import annotations

import os

from sot_tui.comm import jsonline
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import decide, decision_log, delivery, held, quiet, server, settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.config import Config
    from sot_tui.comm.home import Home

LOG_BYTES = 1 << 16
"""Bytes of the decision log that are looked at, from its end: some two hundred decisions."""
SENT, FAILED, HELD_BACK = "sent", "not delivered", "held back"


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
        found = _of_line(line)
        if found is not None:
            return found
    return None


def _of_line(line: bytes) -> Last | None:
    """Return the result in one line; none for a silent event, a rehearsal, or what is only the end of a line."""
    try:
        said = jsonline.decode_object(line)
    except jsonline.NotStrict:
        return None
    reason, at = said.get("reason"), said.get("time")
    if said.get("outcome") != decide.SEND or not (isinstance(reason, str) and isinstance(at, str)):
        return None
    if said.get("composition_error") == delivery.DRY_RUN:
        return None
    for suffix, result in ((delivery.NOT_SENT, FAILED), (delivery.HELD_BACK, HELD_BACK)):
        if reason.endswith(suffix):
            return Last(at, result, reason.removesuffix(suffix))
    return Last(at, SENT, reason)
