"""Which turn runs in a session: `state/turn-<self slot>`, kept from its prompt to its stop (contract, Layout).

A registry entry tells that a turn runs only from the prompt that found it there. A session whose first prompt made it
join was no agent yet when the prompt came; its join finds here that the turn runs, and who started it. The end of the
turn finds here when it began. The file names the agent's session, because a slot outside any row is shared: without a
session's id nothing is kept, and another session's file says nothing.
"""

from __future__ import annotations

import os

from sot_tui.comm import scratch
from sot_tui.comm.clock import is_stamp_shape, stamp
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import SelfFile


class Turn(NamedTuple):
    """A turn that runs."""

    origin: str
    """Who started it: `user` or `machine`."""
    since: str
    """When its prompt came, as a stamp."""


def begin(home: Home, slot: SelfFile, session: str, origin: str) -> None:
    """Note that a turn of `session` starts; without a session's key nothing is noted."""
    if session:
        scratch.write(home, _name(slot), f"{origin} {stamp(home.clock.now())} {session}\n")


def end(home: Home, slot: SelfFile) -> None:
    """Note that no turn runs."""
    scratch.remove(home, _name(slot))


def running(home: Home, slot: SelfFile, session: str) -> Turn | None:
    """Return the turn of `session` that runs, None when there is none or nothing is known of one."""
    if not session:
        return None
    origin, since, whose, *_ = [*scratch.read(home, _name(slot)).split(), "", "", ""]
    return Turn(origin, since) if whose == session and is_stamp_shape(since) else None


def _name(slot: SelfFile) -> str:
    return f"turn-{scratch.key(os.path.basename(slot.path).removesuffix('.txt'))}"
