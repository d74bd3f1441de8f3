"""Big mail in a terminal: an inbox of 100,000 messages is opened, jumped through and searched; one has ten megabytes.

What is timed is a key until the terminal shows what it asked for; the screen answers other keys meanwhile.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from bench.fleets import Fleet
from bench.measure import Figure
from sot_tui.comm import frames
from sot_tui.comm.clock import stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.pane import Pane

_LINES = 100_000
_HUGE_BYTES = 10_000_000
_BODY = "the schema is on main; please rebase and run the numbers again, then tell me what the third column says. " * 2
_ROUNDS = 10
_PAUSE_SECS = 0.5


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the figures, each of them in one dashboard that stays open."""
    fleet = Fleet(folder, 3)
    _, big, huge = fleet.handles
    now = stamp(time.time())
    lines = [frames.frame("writer", big, "w", f"number {at}. {_BODY}", now) for at in range(1, _LINES + 1)]
    with open(fleet.home.inbox(big), "wb") as file:
        file.write(b"".join(lines))
    with open(fleet.home.inbox(huge), "wb") as file:
        file.write(frames.frame("writer", huge, "w", "a short one", now))
        file.write(frames.frame("writer", huge, "w", "a huge one " + "x" * _HUGE_BYTES, now))
    with fleet.dashboard() as pane:
        pane.until("▌ ● working")
        pane.drain(5.0)
        newest, first = rf"number {_LINES}\.", r"number 1\."
        back = partial(_press, pane, b"\x1b")
        yield _figure(f"open {_LINES:,} messages", partial(_until, pane, b"m", newest), "<= 500 ms", back)
        _until(pane, b"m", newest)
        to_end = partial(_press, pane, b"G")
        yield _figure("  to the first of them", partial(_until, pane, b"g", first), "<= 200 ms", to_end)
        _press(pane, b"/")
        forget = partial(_press, pane, b"\x15")  # the words of the last round
        word = f"number {_LINES // 3}.".encode()
        found = rf"{word.decode()}.*{word.decode()}"
        yield _figure("  one of them found by a word", partial(_until, pane, word, found), "<= 2000 ms", forget)
        for key in (b"\x1b", b"\x1b", b"j", b"j"):
            _press(pane, key)
        _until(pane, b"m", "a short one")
        to_first = partial(_press, pane, b"g")
        yield _figure("select a message of 10 MB", partial(_until, pane, b"G", "xxxxx"), "<= 300 ms", to_first)


def _figure(name: str, ours: partial[float], target: str, before: partial[None]) -> Figure:
    return Figure(name, ours, None, 1, target, before, _ROUNDS)


def _until(pane: Pane, keys: bytes, shown: str) -> float:
    pane.forget()
    began = time.perf_counter()
    pane.press(keys)
    return pane.until(shown) - began


def _press(pane: Pane, key: bytes) -> None:
    pane.press(key)
    pane.drain(_PAUSE_SECS)
