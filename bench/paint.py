"""A change on disk until the nav shows it on a terminal, beside a loop that watches one folder and prints one file.

The clock starts just before the rename that brings a new registry, or the append that files a message, and stops with
the read that brought the changed text. A p99 is asked for, because a person waits for the slow ones.
"""

from __future__ import annotations

import os
import random
import sys
import time
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from bench.fleets import BLOCKED, IDLE, Fleet
from bench.measure import Figure
from bench.pane import Pane
from sot_tui.comm import frames, inbox
from sot_tui.comm.clock import stamp
from sot_tui.comm.disk import Disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BARE = """\
import sys
from watchfiles import watch

print("ready", flush=True)
for _ in watch(sys.argv[1], step=20, debounce=50, recursive=False):
    with open(sys.argv[1] + "/said") as file:
        print(file.read(), flush=True)
"""
"""The least that tells a change: the same watcher, one read, one write."""

_TARGETS_MS = {10: 80, 100: 100, 1000: 300}
_ROUNDS = 120
_SETTLE_SECS = (0.08, 0.16)
"""Pause before each round, at random, so that no round falls in step with a tick or a step of the watcher."""
_FIRST_COUNT = 100
"""Unread messages there are before the first round: a number that nothing else on the screen is."""
_random = random.Random(0)


class _Timed(Disk):
    """The disk, and when a registry was last renamed into place or a line was written."""

    at = 0.0

    def rename(self, source: str, target: str) -> None:
        self.at = time.perf_counter()
        super().rename(source, target)

    def write(self, descriptor: int, data: bytes) -> None:
        self.at = time.perf_counter()
        super().write(descriptor, data)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield two figures for each size: a session that needs a person now, and a message more in an inbox."""
    folder.mkdir()
    with _bare(folder) as watcher:
        watcher.until("ready")
        bare = partial(_bare_round, folder, watcher, count())
        for handles, target in _TARGETS_MS.items():
            disk = _Timed()
            fleet = Fleet(folder / str(handles), handles, disk)
            with fleet.dashboard() as pane:
                pane.until("Project-")
                pane.drain(3.0)
                said = f"p99 <= {target} ms"
                settle = partial(_settle, pane)
                state = partial(_state_round, fleet, disk, pane, count(1))
                yield Figure(f"state on disk to nav, {handles} handles", state, bare, 1, said, settle, _ROUNDS)
                mail = partial(_mail_round, fleet, disk, pane, _with_mail(fleet))
                yield Figure(f"mail on disk to nav, {handles} handles", mail, None, 1, said, settle, _ROUNDS)


def _settle(pane: Pane) -> None:
    pane.drain(_random.uniform(*_SETTLE_SECS))
    pane.forget()


def _state_round(fleet: Fleet, disk: _Timed, pane: Pane, numbers: Iterator[int]) -> float:
    """Have one session ask, and the one before it go on: the new one comes to the top."""
    number = next(numbers)
    asks, goes_on = (fleet.handles[at % len(fleet.handles)] for at in (number * 7, (number - 1) * 7))
    fleet.change({goes_on: IDLE, asks: BLOCKED | {"summary": f"asks-{number:05}", "status_at": stamp(time.time())}})
    renamed = disk.at
    return pane.until(f"{asks}  asks-{number:05}") - renamed


def _with_mail(fleet: Fleet) -> Iterator[int]:
    """Bring the last session to the top, and give it its first messages; return the counts to come."""
    fleet.change(dict.fromkeys(fleet.handles, IDLE))
    fleet.change({fleet.handles[-1]: BLOCKED | {"summary": "which?", "status_at": stamp(time.time())}})
    for _ in range(_FIRST_COUNT):
        _file(fleet)
    found = inbox.unread(fleet.home, fleet.handles[-1])
    assert isinstance(found, inbox.Count)
    return count(found.unread + 1)


def _file(fleet: Fleet) -> None:
    handle = fleet.handles[-1]
    line = frames.frame("writer", handle, "writer", "numbers please", stamp(time.time()))
    filed = inbox.file_line(fleet.home, handle, line)
    assert isinstance(filed, inbox.Filed), filed


def _mail_round(fleet: Fleet, disk: _Timed, pane: Pane, counts: Iterator[int]) -> float:
    number = next(counts)
    _file(fleet)
    written = disk.at
    return pane.until(f"{fleet.handles[-1]}  which\\? +{number} ") - written


def _bare(folder: Path) -> Pane:
    script = folder / "bare.py"
    script.write_text(BARE)
    (folder / "bare").mkdir()
    return Pane([sys.executable, str(script), str(folder / "bare")], os.environ, str(folder))


def _bare_round(folder: Path, watcher: Pane, numbers: Iterator[int]) -> float:
    _settle(watcher)
    number = next(numbers)
    temp = folder / "said"
    temp.write_text(f"said-{number:05}")
    began = time.perf_counter()
    temp.rename(folder / "bare" / "said")
    return watcher.until(f"said-{number:05}") - began
