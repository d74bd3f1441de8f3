"""How often a session's heartbeat looks at the registry: not again within ten seconds of its last look.

A hook runs after every tool of every session, so this is asked before anything else is loaded or read. The tick file
`state/hb-<key>.tick` carries no text, only its time.
"""

from __future__ import annotations

from sot_tui.comm import scratch
from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

TICK_S = 10.0
"""Seconds in which a heartbeat does not look again (golden `hook-heartbeat`)."""


def is_due(home: Home, session: str) -> bool:
    """Tell whether the heartbeat of `session` has to look; one without a key always does."""
    age = scratch.age_s(home, _tick(session)) if session else None
    return age is None or not 0 <= age < TICK_S


def looked(home: Home, session: str) -> None:
    """Note that the heartbeat of `session` looks now."""
    if session:
        scratch.write(home, _tick(session))


def _tick(session: str) -> str:
    return f"hb-{session}.tick"
