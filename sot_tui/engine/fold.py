"""Events, and the one function that makes the next fleet of them.

Duties look at the world and say what they saw; `fold` is pure, and nobody else changes a fleet. The revision counts
what a person could see: an event that changes nothing visible keeps it, and then nobody is told. A registry that cannot
be read never empties the fleet: the last good agents stay, with the moment they are of (contract, "Unreadable is never
absent").
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, assert_never

from sot_tui.comm.fleet import (
    Agent,
    Aside,
    Fault,
    Fleet,
    LockPhase,
    LockState,
    Mail,
    MailCount,
    Reading,
    RegistryState,
    RowSeen,
    Stance,
    Unwoken,
    looked,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.engine.client import What


@dataclass(frozen=True, slots=True)
class RegistryRead:
    """The registry was read whole and parsed."""

    agents: Mapping[str, Agent]
    version: object
    at: float


@dataclass(frozen=True, slots=True)
class RegistryUnread:
    """The registry gave no good read."""

    missing: bool
    why: str
    no_home: bool = False


@dataclass(frozen=True, slots=True)
class MailCounted:
    """The inboxes of these handles were looked at; a handle that is not named has not changed."""

    mail: Mapping[str, Mail]


@dataclass(frozen=True, slots=True)
class LockLooked:
    """The registry lock was looked at; `seen.looks` and `seen.first_mono` are counted here."""

    seen: LockState
    mono: float


@dataclass(frozen=True, slots=True)
class OperatorStands:
    """The person's handle is known; an empty one says that they have none."""

    handle: str


@dataclass(frozen=True, slots=True)
class Faulted:
    """A duty does not do its work now."""

    duty: str
    sentence: str
    at: float


@dataclass(frozen=True, slots=True)
class Mended:
    """A duty does its work again."""

    duty: str


@dataclass(frozen=True, slots=True)
class Happened:
    """The engine did or decided something; it changes nothing but the event log."""

    what: What
    text: str
    good: bool = True
    at: float | None = None
    """When, in seconds since the epoch; None is now."""


@dataclass(frozen=True, slots=True)
class Logged:
    """The event log has so many lines now."""

    lines: int


@dataclass(frozen=True, slots=True)
class StanceIs:
    """Whether this engine writes is known, or is another than before."""

    stance: Stance
    why: str = ""


@dataclass(frozen=True, slots=True)
class AsideIs:
    """What the person set aside is known, or is another than before."""

    by_handle: Mapping[str, Aside]


@dataclass(frozen=True, slots=True)
class WakesAre:
    """Why rows with unread mail are not woken, or another is than before."""

    unwoken: Mapping[str, Unwoken]


@dataclass(frozen=True, slots=True)
class ScreensSay:
    """What the screens say of rows whose entries say nothing, or another is than before."""

    evidence: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RowsAre:
    """The rows of this box are known, or one of them is another than before."""

    rows: tuple[RowSeen, ...]


Event: TypeAlias = (
    RegistryRead
    | RegistryUnread
    | MailCounted
    | LockLooked
    | OperatorStands
    | Faulted
    | Mended
    | Happened
    | Logged
    | StanceIs
    | AsideIs
    | RowsAre
    | WakesAre
    | ScreensSay
)


def fold(fleet: Fleet, event: Event) -> Fleet:
    """Return the fleet after an event; its revision is one higher when a person could see the difference."""
    match event:
        case RegistryRead():
            after = _read(fleet, event)
        case RegistryUnread(missing, why, no_home):
            state = fleet.registry._replace(reading=Reading.UNREADABLE, missing=missing, why=why, no_home=no_home)
            after = fleet._replace(registry=state)
        case MailCounted(mail):
            after = _counted(fleet, mail)
        case LockLooked(seen, mono):
            after = fleet._replace(lock=looked(fleet.lock, seen, mono))
        case Faulted(duty, sentence, at):
            after = _faulted(fleet, duty, sentence, at)
        case Mended(duty):
            after = fleet._replace(faults=tuple(fault for fault in fleet.faults if fault.duty != duty))
        case Happened():
            after = fleet
        case OperatorStands() | Logged() | StanceIs() | AsideIs() | RowsAre() | WakesAre() | ScreensSay():
            after = _taken_over(fleet, event)
        case _:
            assert_never(event)
    return after._replace(revision=fleet.revision + 1) if _differs(fleet, after) else after


def _read(fleet: Fleet, event: RegistryRead) -> Fleet:
    state = RegistryState(Reading.PRESENT, event.at, version=event.version)
    if event.agents == fleet.agents:
        return fleet._replace(registry=state)
    agents = MappingProxyType({handle: event.agents[handle] for handle in sorted(event.agents)})
    mail = MappingProxyType({handle: mail for handle, mail in fleet.mail.items() if handle in agents})
    return fleet._replace(agents=agents, mail=mail, registry=state)


def _taken_over(
    fleet: Fleet, event: OperatorStands | Logged | StanceIs | AsideIs | RowsAre | WakesAre | ScreensSay
) -> Fleet:
    """Return the fleet with what an event brings in the place of what was there."""
    match event:
        case OperatorStands(handle):
            return fleet._replace(operator=handle)
        case Logged(lines):
            return fleet._replace(events=lines)
        case StanceIs(stance, why):
            return fleet._replace(stance=stance, stance_why=why)
        case AsideIs(by_handle):
            return fleet._replace(aside=MappingProxyType(dict(by_handle)))
        case RowsAre(rows):
            return fleet._replace(rows=MappingProxyType({row.id: row for row in rows}))
        case WakesAre(unwoken):
            return fleet._replace(unwoken=MappingProxyType(dict(unwoken)))
        case ScreensSay(evidence):
            return fleet._replace(evidence=MappingProxyType(dict(evidence)))


def _counted(fleet: Fleet, counted: Mapping[str, Mail]) -> Fleet:
    mail = dict(fleet.mail)
    for handle, now in counted.items():
        if handle not in fleet.agents:
            continue
        was = fleet.mail_of(handle)
        # What could not be counted is not 0: the last good number stays, and says that it is not of now.
        good = now.trust is MailCount.COUNTED
        mail[handle] = now if good else now._replace(unread=was.unread, oldest=was.oldest, total=was.total)
    return fleet._replace(mail=MappingProxyType(mail))


def _faulted(fleet: Fleet, duty: str, sentence: str, at: float) -> Fleet:
    was = next((fault for fault in fleet.faults if fault.duty == duty), None)
    fault = Fault(duty, sentence, was.since if was else at)
    return fleet._replace(faults=(*(other for other in fleet.faults if other.duty != duty), fault))


def _differs(before: Fleet, after: Fleet) -> bool:
    """Tell whether a person could see a difference; when something was last looked at is none."""
    return _seen(before) != _seen(after)


def _seen(fleet: Fleet) -> tuple[object, ...]:
    return (
        fleet.operator,
        fleet.registry._replace(read_at=None),
        _told(fleet.lock),
        fleet.faults,
        fleet.agents,
        fleet.mail,
        fleet.aside,
        fleet.rows,
        (fleet.unwoken, fleet.evidence),
        (fleet.stance, fleet.stance_why, fleet.events),
    )


def _told(lock: LockState) -> tuple[object, ...]:
    """Return what is seen of the registry lock: what one look alone has found is a write of a moment, and no news."""
    if lock.looks == 1:
        return _told(_FREE)
    return (lock.phase, lock.record, lock.dead, lock.verdict, lock.recovery, lock.wedged)


_FREE = LockState(LockPhase.FREE)
