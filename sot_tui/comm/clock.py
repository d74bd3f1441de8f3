"""Time, as one object that is passed in, and the contract's stamps.

A stamp is `YYYY-MM-DDTHH:MM:SSZ`, UTC, whole seconds. Ages are taken against the reader's clock (contract,
registry.json); waits are taken against a clock that no person can set. Nothing here sleeps by itself.
"""

from __future__ import annotations

import time
from functools import lru_cache

from sot_tui.comm.errors import Misuse
from sot_tui.comm.light import TYPE_CHECKING, NewType, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTING_LIMIT_SECS = 86400.0
"""The longest wait, or life, that a variable may set: a day. What is longer is a slip of the keys."""

CLOCK_SLACK_SECS = 5
"""Seconds that a stamp may lie in the future: two boxes that keep time by the network differ by less than one."""

_STAMP_CHARS = len("YYYY-MM-DDTHH:MM:SSZ")

Stamp = NewType("Stamp", str)
"""A moment as the contract writes it, `2026-05-29T18:04:00Z`."""


class Clock(Protocol):
    """What the product asks of time; a test passes one that jumps."""

    def now(self) -> float:
        """Return the wall clock in seconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never steps; only differences mean something."""

    def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> float:
        """Return the wall clock in seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds on a clock that never steps."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""
        time.sleep(seconds)


def stamp(seconds: float) -> Stamp:
    """Return the stamp of a moment given in seconds since the epoch; the fraction is cut."""
    return _stamp_of(int(seconds // 1))


def seconds_of(text: object) -> float | None:
    """Return the moment a stamp names in seconds since the epoch, or None when `text` is no stamp of a real date."""
    return _moment_of(text) if isinstance(text, str) and len(text) == _STAMP_CHARS else None


def is_stamp_shape(text: object) -> bool:
    """Tell whether `text` is a string of exactly the 20-byte shape `YYYY-MM-DDTHH:MM:SSZ`, whatever its digits say."""
    return isinstance(text, str) and len(text) == _STAMP_CHARS and _has_stamp_shape(text)


# Each look at a fleet asks for the same few thousand stamps again, once for each line and each rule.


@lru_cache(maxsize=16)
def _stamp_of(seconds: int) -> Stamp:
    return Stamp(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)))


@lru_cache(maxsize=8192)
def _moment_of(text: str) -> float | None:
    if not _has_stamp_shape(text):
        return None
    # A shape can hold a date that no calendar has (month 99): such a stamp has no moment.
    import calendar  # noqa: PLC0415  (only ages need it: list and the dashboard)

    year, month, day = int(text[0:4]), int(text[5:7]), int(text[8:10])
    hour, minute, second = int(text[11:13]), int(text[14:16]), int(text[17:19])
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 61 and year >= 1):
        return None
    return float(calendar.timegm((year, month, day, hour, minute, second, 0, 1, 0)))


@lru_cache(maxsize=8192)
def _has_stamp_shape(text: str) -> bool:
    if not text.isascii():
        return False
    for sign, place in (("-", 4), ("-", 7), ("T", 10), (":", 13), (":", 16), ("Z", 19)):
        if text[place] != sign:
            return False
    return all(char.isdigit() for place, char in enumerate(text) if place not in {4, 7, 10, 13, 16, 19})


def age_text(seconds: float) -> str:
    """Return an age for a person in one unit, `12s`, `3m`, `2h`, `4d`; a moment in the future is `0s`."""
    whole = max(0, int(seconds))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def seconds_said(environ: Mapping[str, str], name: str, default: float) -> float:
    """Return the seconds that a variable of the environment sets, or `default` when it is unset or empty.

    Raises Misuse for anything but a plain number from 0 to a day: a wait that nobody meant is worse than no command.
    """
    said = environ.get(name, "")
    if not said:
        return default
    whole, _, part = said.partition(".")
    if said.isascii() and whole.isdigit() and (part.isdigit() or "." not in said):
        seconds = float(said)
        if seconds <= SETTING_LIMIT_SECS:
            return seconds
    raise Misuse(f"{name} is not a number of seconds from 0 to {SETTING_LIMIT_SECS:.0f}: {said!r}")
