"""Links, by which boxes with comm folders of their own are reached: what their answers come to, how a link stands.

Contract, Delivery, route 2: the hub offers a message for a handle that its folder does not list to every box linked to
it, all at once, and combines what they say: the first ok, else the first refusal that is not `not_here`, else a link
that gave no answer in time, else that nobody knows the handle. Pure: nothing here asks a box or waits. `filed` is never
made of anything but a box's own ok.
"""

from __future__ import annotations

from sot_tui.comm import endpoints, topology, wire
from sot_tui.comm.endpoints import Remote
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from sot_tui.comm.topology import Topology, Unlisted

PASSED_ON_SECS = 1.0
"""Seconds past the lock wait that a guest's forward and an offer are given (contract, The one result)."""
FIRST_PAUSE_SECS, LONGEST_PAUSE_SECS = 1.0, 30.0
"""Before a lost link is tried again: the first pause, and what it doubles up to (daemon wire 3.3)."""
LASTED_SECS = 60.0
"""Seconds after which a connection counts as one that works: the next pause is the first again (daemon wire 3.3)."""
NOT_HERE = "not_here"
"""The code of a box that does not list a handle (daemon wire 3.2)."""
WHY_LIMIT = 300
"""Characters of foreign text that a standing quotes."""
WORDS_LIMIT = 8192
"""Characters of another box's words that are passed on; the longest of ours holds two paths, of 4,096 at most."""


# -- what the boxes answer --------------------------------------------------------------------------------------------


class Ok(NamedTuple):
    """A box has filed the message: its line is flushed."""


class Refusal(NamedTuple):
    """A box, or all of them together, added nothing."""

    code: str
    sentence: str
    """That box's own words."""


class Silent(NamedTuple):
    """A link gave no answer in time, so nothing is known of what its box did."""

    host: str


def read(payload: object) -> Ok | Refusal | None:
    """Return what an answer to an offer says; None for one that says neither, which is no answer."""
    if not isinstance(payload, dict):
        return None
    answer = wire.Answer(payload)
    if answer.error:
        return Refusal(answer.code or "file_failed", answer.error[:WORDS_LIMIT])
    return Ok() if payload.get("ok") is True else None


def combined(to: str, answers: Iterable[Ok | Refusal | Silent], seconds: float, missing: Sequence[str]) -> Ok | Refusal:
    """Return the one result of an offer, in the contract's order; `answers` stand in the order in which they came.

    `missing` are the boxes that should hold a link and hold none.
    """
    refusal: Refusal | None = None
    silent: Silent | None = None
    for one in answers:
        if isinstance(one, Ok):
            return one
        if isinstance(one, Silent):
            silent = silent or one
        elif one.code != NOT_HERE:
            refusal = refusal or one
    if refusal is not None:
        return refusal
    if silent is not None:
        host = visible(silent.host, WHY_LIMIT)
        sentence = f"the daemon on {host} did not answer within {seconds:g}s; @{to} may still be filed"
        return Refusal("file_failed", sentence)
    if missing:
        return Refusal(NOT_HERE, f"no linked box knows that handle: {to}; not linked: {', '.join(missing)}")
    return Refusal(NOT_HERE, f"no box knows that handle: {to}")


# -- who holds a link -------------------------------------------------------------------------------------------------


def to_hub(found: Topology | Unlisted | None, host: str) -> Remote | None:
    """Return how the box `host` holds a link to its hub, None when it holds none (daemon wire 1.7)."""
    if not isinstance(found, topology.Topology):
        return None
    way = topology.way_to_hub(found, host, topology.runtime_base())
    where = endpoints.parsed(way) if isinstance(way, str) and way else None
    return where if isinstance(where, Remote) else None


def not_linked(found: Topology | Unlisted | None, host: str, linked: Iterable[str]) -> tuple[str, ...]:
    """Return the boxes that should hold a link to this one, `host`, and hold none.

    They hold one to the topology's hub: a daemon that is a hub only because its folder is on its own disk misses none.
    """
    if not isinstance(found, topology.Topology) or found.hub != host:
        return ()
    there = {name.lower() for name in linked}
    return tuple(name for name, box in found.boxes.items() if box.frontend and name not in {host, *there})


def next_pause(before: float, lasted_s: float) -> float:
    """Return the seconds before a link is tried again.

    `before` is the pause before this try, 0 for none; `lasted_s` is how long its connection stood, 0 when it never did.
    """
    if not before or lasted_s >= LASTED_SECS:
        return FIRST_PAUSE_SECS
    return min(LONGEST_PAUSE_SECS, before * 2)


class Concern(NamedTuple):
    """What a box has to do with links, by the list of boxes."""

    hub: str = ""
    """The box that its own link leads to; empty when it holds none."""
    others: tuple[str, ...] = ()
    """The boxes that should hold a link to it."""


def concern(found: Topology | Unlisted | None, host: str) -> Concern | None:
    """Return what the box `host` has to do with links, None for nothing."""
    where = to_hub(found, host)
    others = not_linked(found, host, ())
    return Concern(where.target if where is not None else "", others) if where is not None or others else None


# -- how they stand ---------------------------------------------------------------------------------------------------


class LinkStanding(NamedTuple):
    """How the links of a daemon stand, as it says itself: its own one to the hub, and those of others to it."""

    hub: str = ""
    """The box that its own link leads to; empty when it holds none."""
    up: bool = False
    """Whether its own link stands."""
    since_s: int = 0
    """Seconds for which that is so."""
    why: str = ""
    """Why its link does not stand. Foreign text, cleaned and cut."""
    next_try_s: int = 0
    """Seconds until it is tried again; 0 while it is being tried, or stands."""
    linked: tuple[str, ...] = ()
    """The boxes that hold a link to it. Foreign text, cleaned and cut."""
    missing: tuple[str, ...] = ()
    """The boxes that should and do not."""


def standing_in(said: object) -> LinkStanding | None:
    """Return the standing in a daemon's answer, None when it does not say one."""
    if not isinstance(said, dict):
        return None
    found: Mapping[str, Any] = {key: said.get(key, otherwise) for key, otherwise in LinkStanding()._asdict().items()}
    texts, numbers = (found["hub"], found["why"]), (found["since_s"], found["next_try_s"])
    if not all(isinstance(one, str) for one in texts) or not isinstance(found["up"], bool):
        return None
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in numbers):
        return None
    lists = {}
    for key in ("linked", "missing"):
        value = found[key]
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            return None
        lists[key] = tuple(value)
    return LinkStanding(**{**found, **lists})
