"""How a figure is taken: ours and the bare loop in turn, in one run, so that a busy moment of the machine hits both.

What is judged is the median of the rounds, or the quantile that the target names; the middle half of them is printed
beside it, for a figure without its spread says little. Nothing here fails: a person reads the table.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Figure(NamedTuple):
    """One line of the table."""

    name: str
    """What is measured, in a few words."""
    ours: Callable[[], float | None]
    """One round of the product's own code. A round that times itself returns its seconds, or its share."""
    bare: Callable[[], float | None] | None
    """One round of the least that could do the job; None where the time itself is judged."""
    units: int
    """How many units one round holds."""
    target: str
    """What is asked for: `>= 0.7` and `<= 3` of the ratio, `<= 200 ms` of one unit, `<= 1 %` of a core, `<= 0 forks` of
    a count; with `p99` before it, of the 99th percentile of the rounds in place of their median."""
    before: Callable[[], None] | None = None
    """What puts the start state back before each round of ours, outside the measured time."""
    rounds: int = 15


class Taken(NamedTuple):
    """A figure with its samples: seconds for one unit, or what the target counts."""

    figure: Figure
    ours: list[float]
    bare: list[float]


class Judged(NamedTuple):
    """What the target is held against, and the middle half of the same."""

    low: float
    judged: float
    high: float
    unit: str
    met: bool


def take(figure: Figure) -> Taken:
    """Take a figure: one round of each to warm up, then the rounds, in turn."""
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(figure.rounds + 1):
        if figure.bare:
            bare.append(_measured(figure.bare) / figure.units)
        if figure.before:
            figure.before()
        ours.append(_measured(figure.ours) / figure.units)
    return Taken(figure, ours[1:], bare[1:])


def _measured(work: Callable[[], float | None]) -> float:
    began = time.perf_counter()
    said = work()
    return time.perf_counter() - began if said is None else said


_TOGETHER_SECS = 300
"""Seconds after which what was begun together counts as hanging."""
SCALES = {"ms": 1000.0, "%": 100.0}
"""What a sample is multiplied by to be of a target's unit; any other unit is a count."""


def judged(taken: Taken) -> Judged:
    """Return what is judged, with its unit and whether the target is met.

    A target of `>=` is about rates (ours in the time of one bare), one of `<=` about times.
    """
    quantile, (sign, number, *unit) = _said(taken.figure.target)
    if unit:
        values = [sample * SCALES.get(unit[0], 1.0) for sample in taken.ours]
    elif sign == ">=":
        values = [bare / ours for ours, bare in zip(taken.ours, taken.bare, strict=True)]
    else:
        values = [ours / bare for ours, bare in zip(taken.ours, taken.bare, strict=True)]
    low, middle, high = statistics.quantiles(values, n=4)
    held = statistics.quantiles(values, n=100, method="inclusive")[quantile - 1] if quantile else middle
    met = held >= float(number) if sign == ">=" else held <= float(number)
    return Judged(low, held, high, f" {unit[0]}" if unit else "×", met)


def _said(target: str) -> tuple[int, list[str]]:
    first, _, rest = target.partition(" ")
    return (int(first[1:]), rest.split()) if first.startswith("p") else (0, target.split())


def together(count: int, words: list[str]) -> list[str]:
    """Start a command so many times, let all of them begin at once, and return what each has said.

    Each says a line when it is ready, and begins when it is told one.
    """
    begun = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    for one in begun:
        assert one.stdout is not None
        one.stdout.readline()
    for one in begun:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    return [one.communicate(timeout=_TOGETHER_SECS)[0] for one in begun]
