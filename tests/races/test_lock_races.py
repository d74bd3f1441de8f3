"""Two real processes at the registry lock, each stopped at a named point: a race that comes out the same each time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import registry_lock
from sot_tui.comm.proof import SystemProcs, own_record
from sot_tui.comm.registry_lock import LockIs, look
from tests.actors import Actor, proving_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sot_tui.comm.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    yield proving_home(tmp_path)
    registry_lock._new_turn()


def die_inside(home: Home) -> int:
    """Let a process take the lock and die with it; return its pid, which is free again."""
    with Actor(home) as dead:
        assert dead.asks(do="take", wait="HEARTBEAT")["taken"]
        dead.kill()
        return dead.pid


def holder_of(home: Home) -> str:
    record = look(home).record
    return record.pid if record else ""


def markers(home: Home) -> list[str]:
    return sorted(name for name in os.listdir(home.path) if ".reclaim." in name)


def test_reclaim_when_two_prove_the_death_at_once_then_one_acts_and_the_other_waits(home: Home) -> None:
    dead = die_inside(home)
    with Actor(home) as one, Actor(home) as other:
        for actor in (one, other):
            assert actor.asks(do="take", wait="RULED", stop="lock.judged") == {"at": "lock.judged"}
        one.tells()
        other.tells()
        first = one.hears() if holder_waits_for(one, other, home) else other.hears()
        winner, loser = (one, other) if holder_of(home) == str(one.pid) else (other, one)
        assert first["taken"]
        assert len(markers(home)) == 1
        assert f".{dead}." in markers(home)[0]
        assert winner.asks(do="release") == {"released": True}
        assert loser.hears()["taken"]
        assert holder_of(home) == str(loser.pid)


def holder_waits_for(one: Actor, other: Actor, home: Home) -> bool:
    """Wait until the lock names one of the two; tell whether it is the first."""
    while True:
        holder = holder_of(home)
        if holder in {str(one.pid), str(other.pid)}:
            return holder == str(one.pid)


def test_reclaim_when_a_second_comes_during_the_settle_then_it_does_not_touch_the_lock(home: Home) -> None:
    dead = die_inside(home)
    with Actor(home) as one, Actor(home) as other:
        assert one.asks(do="take", wait="RULED", stop="lock.settled") == {"at": "lock.settled"}
        refusal = other.asks(do="take", wait="HEARTBEAT")
        assert (
            f"it is dead, but its reclaim by {look_name(home)} pid {one.pid} did not finish: it is running"
            in refusal["said"]
        )
        assert holder_of(home) == str(dead)
        assert one.asks()["taken"]
        assert holder_of(home) == str(one.pid)


def look_name(home: Home) -> str:
    record = look(home).record
    assert record is not None
    return record.name


@pytest.mark.parametrize("point", ["lock.marked", "lock.settled", "lock.reread"])
def test_reclaim_when_the_reclaimer_is_frozen_and_then_killed_then_the_next_passes_its_marker(
    home: Home, point: str
) -> None:
    die_inside(home)
    with Actor(home) as one, Actor(home) as other:
        assert one.asks(do="take", wait="RULED", stop=point) == {"at": point}
        one.freeze()
        refused = other.asks(do="take", wait="TOUCH")
        assert not refused["taken"]
        assert "did not finish: it is running" in refused["said"]
        one.kill()
        assert other.asks(do="take", wait="RULED")["taken"]
        assert len(markers(home)) == 2


def test_reclaim_when_the_reclaimer_dies_between_removal_and_retake_then_the_lock_is_simply_free(home: Home) -> None:
    die_inside(home)
    with Actor(home) as one, Actor(home) as other:
        assert one.asks(do="take", wait="HEARTBEAT", stop="lock.removed") == {"at": "lock.removed"}
        one.kill()
        assert look(home).state is LockIs.FREE
        assert other.asks(do="take", wait="HEARTBEAT")["taken"]


def test_reclaim_when_another_takes_the_lock_before_the_retake_then_it_keeps_it(home: Home) -> None:
    die_inside(home)
    with Actor(home) as one, Actor(home) as other:
        assert one.asks(do="take", wait="HEARTBEAT", stop="lock.removed") == {"at": "lock.removed"}
        assert other.asks(do="take", wait="HEARTBEAT")["taken"]
        refusal = one.asks()
        assert not refusal["taken"]
        assert "it took the lock during the reclaim" in refusal["said"]
        assert holder_of(home) == str(other.pid)


def test_reclaim_when_a_person_removes_the_lock_during_the_settle_then_the_next_holder_is_spared(home: Home) -> None:
    die_inside(home)
    with Actor(home) as one, Actor(home) as other:
        assert one.asks(do="take", wait="HEARTBEAT", stop="lock.settled") == {"at": "lock.settled"}
        os.unlink(home.lock)
        assert other.asks(do="take", wait="HEARTBEAT")["taken"]
        refusal = one.asks()
        assert not refusal["taken"]
        assert holder_of(home) == str(other.pid)


def test_clear_when_a_writer_is_reclaiming_then_says_that_another_cleared_it(home: Home) -> None:
    die_inside(home)
    with Actor(home) as writer, Actor(home) as person:
        assert writer.asks(do="write", wait="RULED", name="w", stop="lock.marked") == {"at": "lock.marked"}
        person.tells(do="clear")
        writer.tells()
        assert writer.hears()["written"]
        assert person.hears() == {
            "cleared": "Cleared",
            "said": f"registry lock {home.lock} was cleared by another writer",
        }
        assert look(home).state is LockIs.FREE


def test_left_lock_when_a_thread_of_a_process_forgot_it_then_only_that_process_clears_it(home: Home) -> None:
    with Actor(home) as one, Actor(home) as other:
        assert one.asks(do="take", wait="HEARTBEAT")["taken"]
        assert one.asks(do="forget") == {"forgotten": True}
        assert "it is running" in other.asks(do="take", wait="HEARTBEAT")["said"]
        assert one.asks(do="take", wait="HEARTBEAT", stop="lock.settled") == {"at": "lock.settled"}
        assert markers(home) == [f".registry.lock.reclaim.{look_id(home)}"]
        assert one.asks()["taken"]
        assert markers(home) == []
        assert one.asks(do="release") == {"released": True}
        assert other.asks(do="take", wait="HEARTBEAT")["taken"]


def look_id(home: Home) -> str:
    record = look(home).record
    assert record is not None
    return record.id


def test_left_lock_when_its_process_dies_in_its_own_reclaim_then_only_a_person_can_clear_it(home: Home) -> None:
    """The contract's residual: "Every walk then stops at that marker, and the lock is removed by hand." """
    with Actor(home) as one, Actor(home) as other:
        assert one.asks(do="take", wait="HEARTBEAT")["taken"]
        one.asks(do="forget")
        assert one.asks(do="take", wait="HEARTBEAT", stop="lock.settled") == {"at": "lock.settled"}
        one.kill()
        refused = other.asks(do="take", wait="HEARTBEAT")["said"]
        assert (
            "which its reclaim chain already holds, so no reclaim can pass it. If its holder is dead, remove" in refused
        )
        assert other.asks(do="clear")["cleared"] == "NotCleared"
        os.unlink(home.lock)
        assert other.asks(do="take", wait="HEARTBEAT")["taken"]


def test_look_when_this_very_process_is_asked_then_its_record_is_the_actors_machine(home: Home) -> None:
    with Actor(home) as one:
        assert one.asks(do="take", wait="HEARTBEAT")["taken"]
        record = look(home).record
        assert record is not None
        mine = own_record(SystemProcs(), fresh_reads=True)
        assert record._replace(pid=mine.pid, start=mine.start) == mine
