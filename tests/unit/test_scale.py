"""The simulation of one lock among many boxes keeps the lock's own rules; what it says in numbers, no test holds."""

from __future__ import annotations

from itertools import chain, repeat

import pytest

from sot_tui.comm.registry_lock import POLL_S, Wait
from tools import scale

NEVER = repeat((1e9, Wait.RULED))


def test_run_when_writes_never_meet_then_nobody_waits() -> None:
    counts = scale.run(0.01, chain([(100.0 + n, Wait.HEARTBEAT) for n in range(50)], NEVER))
    assert counts.wait_p99 == 0
    assert counts.skipped == counts.missed == 0
    assert counts.busy == pytest.approx(50 * 0.01 / 540)
    assert counts.writes == pytest.approx(50 / 540)


def test_run_when_two_meet_then_the_second_looks_again_after_the_pause() -> None:
    counts = scale.run(0.01, chain([(100.0, Wait.RULED), (100.001, Wait.RULED)], NEVER))
    assert 0 < counts.wait_p99 <= POLL_S
    assert counts.missed == 0


@pytest.mark.parametrize(
    ("wait", "missed", "skipped"),
    [(Wait.RULED, 0.5, 0.0), (Wait.TOUCH, 0.0, 1.0), (Wait.HEARTBEAT, 0.0, 1.0)],
)
def test_run_when_the_lock_is_held_past_the_bound_then_who_waits_goes_without(
    wait: Wait, missed: float, skipped: float
) -> None:
    counts = scale.run(20.0, chain([(100.0, Wait.RULED), (100.001, wait)], NEVER))
    assert (counts.missed, counts.skipped) == (missed, skipped)


def test_asked_when_the_same_seed_then_the_same_writers_in_order() -> None:
    first, again = (list(zip(range(500), scale.asked(250, scale.Habits()), strict=False)) for _ in "ab")
    assert first == again
    times = [at for _, (at, _) in first]
    assert times == sorted(times)
    assert {wait for _, (_, wait) in first} == set(Wait)


def test_read_bytes_when_twice_the_handles_then_four_times_as_many() -> None:
    habits = scale.Habits()
    assert scale.read_bytes(2000, 2000 * 444, habits) == 4 * scale.read_bytes(1000, 1000 * 444, habits)
