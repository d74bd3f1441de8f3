"""A key until the nav shows what it did, while sessions write the registry fifty times a second.

Beside it a Textual app that only counts keys, without any writes: what the key line, the terminal and Textual take.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fleets import Fleet
from bench.measure import Figure
from bench.pane import Pane
from sot_tui.comm import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

BARE = """\
from itertools import count
from textual.app import App
from textual.widgets import Static


class Bare(App):
    def compose(self):
        yield Static("ready")

    def on_mount(self):
        self.keys = count(1)

    def on_key(self):
        self.query_one(Static).update(f"key {next(self.keys)}.")


Bare().run()
"""
"""The least that shows that a key came."""
_WRITES_A_SECOND = 50
_FLOOR = 45
"""Writes a second that are enough to speak of fifty: the rest waits for the disk."""
_STEPS = 15
"""Lines that the selection goes down before it goes up again: all of them in sight."""
_ROUNDS = 200
_PAUSE_SECS = (0.02, 0.08)
_random = random.Random(0)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield two figures for each size: the keys, and the writes that there were meanwhile."""
    folder.mkdir()
    script = folder / "bare.py"
    script.write_text(BARE)
    for handles in (100, 1000):
        fleet = Fleet(folder / str(handles), handles)
        command = [sys.executable, str(script)]
        with Pane(command, fleet.environ, str(folder)) as bare, fleet.dashboard() as pane:
            bare.until("ready")
            pane.until("Project-")
            pane.drain(3.0)
            writer = _start_writer(fleet)
            try:
                began, before = time.perf_counter(), _writes(fleet)
                name = f"key to nav, {handles} handles, {_WRITES_A_SECOND} writes/s"
                ours = partial(_key_round, pane, _path(fleet))
                yield Figure(
                    name, ours, partial(_bare_round, bare, count(1)), 1, "p99 <= 50 ms", partial(_pause, pane), _ROUNDS
                )
                rate = (_writes(fleet) - before) / (time.perf_counter() - began)
                yield Figure(
                    "  writes/s there were meanwhile", partial(float, rate), None, 1, f">= {_FLOOR} /s", rounds=2
                )
            finally:
                writer.communicate()


def _path(fleet: Fleet) -> Iterator[tuple[bytes, str]]:
    """Return the keys to press for ever, each with the handle that is selected then: those who work are on top."""
    working = fleet.handles[1::5][: _STEPS + 1]
    down = [(b"j", handle) for handle in working[1:]]
    up = [(b"k", handle) for handle in reversed(working[:-1])]
    return cycle(down + up)


def _key_round(pane: Pane, path: Iterator[tuple[bytes, str]]) -> float:
    key, handle = next(path)
    pane.forget()
    began = time.perf_counter()
    pane.press(key)
    return pane.until(rf"▌ ● working\S* +{handle}") - began


def _bare_round(bare: Pane, numbers: Iterator[int]) -> float:
    _pause(bare)
    bare.forget()
    began = time.perf_counter()
    bare.press(b"j")
    return bare.until(rf"key {next(numbers)}\.") - began


def _pause(pane: Pane) -> None:
    pane.drain(_random.uniform(*_PAUSE_SECS))


def _start_writer(fleet: Fleet) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench.writer", fleet.home.path, str(_WRITES_A_SECOND)],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
    )


def _writes(fleet: Fleet) -> int:
    book = registry.read(fleet.home)
    assert isinstance(book, registry.Registry)
    return int(book.agents[max(book.agents)].get("writes", 0))
