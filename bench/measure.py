"""How a figure is taken: ours and the bare loop in turn, in one run, so that a busy moment of the machine hits both.

What is judged is the median of the rounds' ratios; the middle half of them is printed beside it, for a figure without
its spread says little. Nothing here fails: a person reads the table.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Figure(NamedTuple):
    """One line of the table."""

    name: str
    """What is measured, in a few words."""
    ours: Callable[[], None]
    """One round of the product's own code."""
    bare: Callable[[], None] | None
    """One round of the least that could do the job; None where the time itself is judged."""
    units: int
    """How many units one round holds."""
    target: str
    """What is asked for: `>= 0.7` and `<= 3` of the ratio, `<= 200 ms` of one unit."""
    before: Callable[[], None] | None = None
    """What puts the start state back before each round of ours, outside the measured time."""
    rounds: int = 15


class Taken(NamedTuple):
    """A figure with its samples, in seconds for one unit."""

    figure: Figure
    ours: list[float]
    bare: list[float]


def take(figure: Figure) -> Taken:
    """Take a figure: one round of each to warm up, then the rounds, in turn."""
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(figure.rounds + 1):
        if figure.bare:
            bare.append(_seconds(figure.bare) / figure.units)
        if figure.before:
            figure.before()
        ours.append(_seconds(figure.ours) / figure.units)
    return Taken(figure, ours[1:], bare[1:])


def _seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def judged(taken: Taken) -> tuple[list[float], str, bool]:
    """Return the judged values (quartile, median, quartile), their unit, and whether the target is met.

    A target of `>=` is about rates (ours in the time of one bare), one of `<=` about times.
    """
    sign, number, *unit = taken.figure.target.split()
    if unit:
        values = [seconds * 1000 for seconds in taken.ours]
    elif sign == ">=":
        values = [bare / ours for ours, bare in zip(taken.ours, taken.bare, strict=True)]
    else:
        values = [ours / bare for ours, bare in zip(taken.ours, taken.bare, strict=True)]
    low, middle, high = statistics.quantiles(values, n=4)
    met = middle >= float(number) if sign == ">=" else middle <= float(number)
    return [low, middle, high], " ms" if unit else "×", met
