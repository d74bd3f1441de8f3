"""Stamps: written, read back, and told from what only looks like one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from sot_tui.comm import clock
from sot_tui.comm.errors import Misuse

NEWEST = 253_402_300_799
"""The last second of the year 9999: what four digits can say."""


@given(st.floats(0, NEWEST))
def test_stamp_when_read_back_then_is_the_whole_second_before(seconds: float) -> None:
    assert clock.seconds_of(clock.stamp(seconds)) == math.floor(seconds)


def test_stamp_when_a_moment_is_before_the_epoch_then_the_fraction_is_cut_downwards() -> None:
    assert clock.stamp(-0.5) == "1969-12-31T23:59:59Z"


SHAPES = [
    ("2026-05-29T18:04:00Z", True, True),
    ("2026-99-29T18:04:00Z", True, False),
    ("0000-01-01T00:00:00Z", True, False),
    ("0001-01-01T00:00:00Z", True, True),
    ("2026-12-31T23:59:60Z", True, True),  # a leap second
    ("2026-05-29T18:04:61Z", True, False),
    ("2026-05-29T18:60:00Z", True, False),
    ("2026-05-29T24:00:00Z", True, False),
    ("2026-05-29T18:04:00", False, False),
    ("2026-05-29 18:04:00Z", False, False),
    ("2026-05-29T18:04:0٣Z", False, False),
    ("2026-05-29T18:04:00Z ", False, False),
    ("", False, False),
]


@pytest.mark.parametrize(("text", "shaped", "dated"), SHAPES)
def test_text_when_looked_at_then_shape_and_date_are_told_apart(text: str, *, shaped: bool, dated: bool) -> None:
    for _ in range(2):  # what is kept of the first look says the same at the second
        assert clock.is_stamp_shape(text) is shaped
        assert (clock.seconds_of(text) is not None) is dated


@pytest.mark.parametrize("odd", [None, 20, ["2026-05-29T18:04:00Z"], {}, b"2026-05-29T18:04:00Z"])
def test_anything_else_when_looked_at_then_is_no_stamp(odd: object) -> None:
    assert not clock.is_stamp_shape(odd)
    assert clock.seconds_of(odd) is None


def test_long_text_when_looked_at_then_nothing_of_it_is_kept() -> None:
    """A registry may hold anything; what is kept of it is bounded in bytes too."""
    before = clock._moment_of.cache_info().currsize, clock._has_stamp_shape.cache_info().currsize
    assert clock.seconds_of("2" * 10_000_000) is None
    assert not clock.is_stamp_shape("2" * 10_000_000)
    assert before == (clock._moment_of.cache_info().currsize, clock._has_stamp_shape.cache_info().currsize)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-9, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (3600, "1h"), (86_399, "23h"), (86_400, "1d")],
)
def test_age_when_it_reaches_a_unit_then_is_told_in_it(seconds: float, text: str) -> None:
    assert clock.age_text(seconds) == text


def test_seconds_when_a_variable_says_a_day_then_they_count_and_one_more_is_misuse() -> None:
    assert clock.seconds_said({"X": "86400"}, "X", 1.0) == clock.SETTING_LIMIT_SECS
    with pytest.raises(Misuse, match="X is not a number of seconds from 0 to 86400"):
        clock.seconds_said({"X": "86400.1"}, "X", 1.0)


def test_sleep_when_asked_for_then_so_much_time_has_passed() -> None:
    ours = clock.SystemClock()
    began = ours.monotonic()
    ours.sleep(0.02)
    assert ours.monotonic() - began >= 0.02
