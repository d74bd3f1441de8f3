"""Stamps: written, read back, and told from what only looks like one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from sot_tui.comm import clock

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
