"""The one function that makes the next fleet: what each event changes, and what it never does."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from sot_tui.comm.fleet import (
    Agent,
    Fleet,
    LockPhase,
    LockState,
    Mail,
    MailCount,
    Reading,
    RegistryState,
    RowSeen,
    State,
)
from sot_tui.engine.fold import (
    Event,
    Faulted,
    LockLooked,
    MailCounted,
    Mended,
    OperatorStands,
    RegistryRead,
    RegistryUnread,
    RowsAre,
    fold,
)

ANNA, BEA = Agent("anna", state=State.IDLE), Agent("bea", state=State.WORKING)
HELD = LockState(LockPhase.HELD, record="box:m:b:n:1:2", holder="box pid 1 start 2", age_s=0.1)


def folded(*events: Event, start: Fleet | None = None) -> Fleet:
    fleet = start or Fleet()
    for event in events:
        fleet = fold(fleet, event)
    return fleet


def read(*agents: Agent, at: float = 10.0) -> RegistryRead:
    return RegistryRead(MappingProxyType({one.handle: one for one in agents}), 1, at)


def test_registry_when_read_then_its_agents_stand_in_the_order_of_their_handles() -> None:
    fleet = folded(read(BEA, ANNA))
    assert list(fleet.agents) == ["anna", "bea"]
    assert fleet.registry == RegistryState(Reading.PRESENT, 10.0, version=1)
    assert fleet.revision == 1


def test_registry_when_unreadable_then_the_last_good_agents_stay_with_their_age() -> None:
    """Contract: "Unreadable is never absent"."""
    fleet = folded(read(ANNA), RegistryUnread(missing=False, why="it is empty"))
    assert list(fleet.agents) == ["anna"]
    assert fleet.registry == RegistryState(Reading.UNREADABLE, 10.0, missing=False, why="it is empty", version=1)
    again = folded(read(ANNA, at=20.0), start=fleet)
    assert again.registry.reading is Reading.PRESENT
    assert again.revision == fleet.revision + 1


def test_registry_when_unreadable_from_the_start_then_there_is_no_good_picture() -> None:
    fleet = folded(RegistryUnread(missing=True, why="it is missing"))
    assert (fleet.registry.read_at, fleet.registry.missing, dict(fleet.agents)) == (None, True, {})


def test_registry_when_read_again_unchanged_then_nobody_is_told_and_its_age_is_new() -> None:
    first = folded(read(ANNA))
    second = folded(read(ANNA, at=12.0), start=first)
    assert second.revision == first.revision
    assert second.registry.read_at == 12.0


def test_mail_when_counted_then_stands_beside_the_handle_and_goes_with_it() -> None:
    fleet = folded(read(ANNA, BEA), MailCounted({"anna": Mail(MailCount.COUNTED, 2), "nobody": Mail()}))
    assert dict(fleet.mail) == {"anna": Mail(MailCount.COUNTED, 2)}
    assert dict(folded(read(BEA), start=fleet).mail) == {}


@pytest.mark.parametrize("trust", [MailCount.BUSY, MailCount.FAULT])
def test_mail_when_it_cannot_be_counted_then_the_last_good_number_stays(trust: MailCount) -> None:
    fleet = folded(
        read(ANNA),
        MailCounted({"anna": Mail(MailCount.COUNTED, 2, "o")}),
        MailCounted({"anna": Mail(trust, words="w")}),
    )
    assert fleet.mail["anna"] == Mail(trust, 2, "o", "w")


def test_lock_when_the_same_record_is_seen_again_then_looks_and_age_grow() -> None:
    fleet = folded(LockLooked(HELD, 100.0), LockLooked(HELD, 102.5))
    assert (fleet.lock.looks, fleet.lock.age_s, fleet.lock.wedged) == (2, 2.5, True)


def test_lock_when_another_holder_has_it_then_counting_starts_again() -> None:
    fleet = folded(LockLooked(HELD, 100.0), LockLooked(HELD._replace(record="other"), 103.0))
    assert (fleet.lock.looks, fleet.lock.wedged) == (1, False)


def test_lock_when_old_by_its_file_then_one_look_does_not_raise_a_banner() -> None:
    """A clock of the file server that is far behind makes every lock look old."""
    fleet = folded(LockLooked(HELD._replace(age_s=3600.0), 100.0))
    assert not fleet.lock.wedged


def test_lock_when_free_again_then_nothing_of_the_holder_stays() -> None:
    free = LockState(LockPhase.FREE)
    assert folded(LockLooked(HELD, 1.0), LockLooked(HELD, 9.0), LockLooked(free, 9.5)).lock == free


def test_lock_when_only_its_age_differs_then_nobody_is_told() -> None:
    fleet = folded(LockLooked(HELD, 100.0), LockLooked(HELD, 103.0))
    assert folded(LockLooked(HELD._replace(age_s=5.0), 105.0), start=fleet).revision == fleet.revision


def test_lock_when_one_look_meets_a_write_of_a_moment_then_nobody_is_told() -> None:
    """Fifty writes a second would otherwise be a hundred repaints."""
    free = folded(LockLooked(LockState(LockPhase.FREE), 100.0))
    met = folded(LockLooked(HELD, 101.0), start=free)
    another = folded(LockLooked(HELD._replace(record="other"), 101.1), start=met)
    again = folded(LockLooked(LockState(LockPhase.FREE), 101.2), start=another)
    assert {free.revision} == {fleet.revision for fleet in (met, another, again)}
    assert folded(LockLooked(HELD, 101.5), start=met).revision > met.revision


def test_fault_when_it_lasts_then_keeps_its_first_moment_and_goes_when_mended() -> None:
    fleet = folded(Faulted("watch", "a", 1.0), Faulted("mail", "b", 2.0), Faulted("watch", "c", 3.0))
    assert [(fault.duty, fault.sentence, fault.since) for fault in fleet.faults] == [
        ("mail", "b", 2.0),
        ("watch", "c", 1.0),
    ]
    assert folded(Mended("watch"), Mended("mail"), start=fleet).faults == ()


def test_duty_that_works_when_it_says_so_again_then_nobody_is_told() -> None:
    fleet = folded(read(ANNA))
    assert folded(Mended("watch"), start=fleet) == fleet


def test_operator_when_known_then_stands_in_the_fleet() -> None:
    assert folded(OperatorStands("me")).operator == "me"


def test_rows_when_one_is_another_than_before_then_a_person_sees_it() -> None:
    row = RowSeen("ws-a-1", "a", "a", "/a", "claude", "starting", "a-box")
    fleet = folded(RowsAre((row,)))
    assert dict(fleet.rows) == {"ws-a-1": row}
    again = folded(RowsAre((row,)), start=fleet)
    assert again.revision == fleet.revision
    after = folded(RowsAre((row._replace(phase="ready"),)), start=fleet)
    assert after.revision == fleet.revision + 1
    assert dict(folded(RowsAre(()), start=after).rows) == {}
