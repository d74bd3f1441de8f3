"""How far one comm folder goes: a simulation of many boxes and handles on one registry lock, by a virtual clock.

`python -m tools.scale --write` writes `docs/scale.md`. Nothing here opens a socket or waits: what is measured is how
long one write of a registry of so many handles holds the lock on this machine, and in how many steps; what is taken
from the product is every bound and pause of the lock and how often who writes. The rest is counted, event by event,
with the same chances each time.
"""

from __future__ import annotations

import heapq
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.registry import fill
from sot_tui.comm.disk import Disk
from sot_tui.comm.heartbeat import TICK_S
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.hooks import BEAT_S
from sot_tui.comm.registry import LIVE_SECS, Registry, Written, replace
from sot_tui.comm.registry_lock import POLL_S, Wait
from sot_tui.engine.liveness import PASS_SECS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "scale.md"
SIMULATED_S = 600.0
"""Virtual seconds of one run; the first tenth is not counted."""
HANDLES_PER_BOX = 25
"""Sessions of one box: 200 boxes have 5,000."""
SIZES = (25, 100, 250, 500, 1000, 2000, 5000)
"""Handles on one folder."""
LOOK_S = 2.0
"""Seconds between two reads of the registry by the engine of each box (`watch`'s tick)."""


class Place(NamedTuple):
    """Where the folder lies."""

    name: str
    trip: float = 0.0
    """Seconds of one round trip to the file system's server."""
    commit: float = 0.0
    """Seconds in which the server has a file on its disk."""
    wire: float = 0.0
    """Bytes a second that come from the server; 0: there is no wire."""


PLACES = (
    Place("own disk"),
    Place("NFS, 0.2 ms away, 1 Gbit/s", 0.2e-3, 2e-3, 110e6),
    Place("NFS, 1 ms away, 1 Gbit/s", 1e-3, 2e-3, 110e6),
)


class Habits(NamedTuple):
    """How a session lives; seconds between two of each, on average."""

    turn: float = 300.0
    """Turns: a prompt and an end are one write each."""
    mail: float = 600.0
    """Messages that it sends, and as many that it polls: one touch each."""
    working: float = 0.5
    """The share of its time in which a turn runs: a write of the heartbeat each minute of it."""


class Hold(NamedTuple):
    """What one write costs while the lock is held."""

    fixed: float
    """Seconds, whatever the registry holds."""
    per_handle: float
    """Seconds for each handle in it."""
    steps: int
    """Steps on the file system, each one round trip where that is a server's."""

    def seconds(self, handles: int, place: Place) -> float:
        """Return how long the lock is held."""
        return self.fixed + self.per_handle * handles + self.steps * place.trip + place.commit


class Counts(NamedTuple):
    """What a run came to."""

    writes: float
    """Writes asked for in a second."""
    busy: float
    """The share of the time in which the lock was held."""
    wait_p99: float
    missed: float
    """The share of the ruled writes (status, joins, stamps of the daemon) that were not to be had within the bound."""
    skipped: float
    """The share of the writes that may be missed (touches, heartbeats) that were."""

    def scales(self, reads: float, place: Place) -> bool:
        """Tell whether nobody notices: no ruled write lost, 99 of 100 through in a second, half the wire free."""
        return not self.missed and self.wait_p99 <= 1.0 and (not place.wire or reads <= place.wire / 2)


def boxes_of(handles: int) -> int:
    """Return how many boxes have so many handles."""
    return max(1, round(handles / HANDLES_PER_BOX))


def read_bytes(handles: int, size: float, habits: Habits) -> float:
    """Return how many bytes of the registry are read in a second: it is another one each time, so no cache helps.

    Each engine reads it on its tick, each session at work on its heartbeat's.
    """
    return size * (boxes_of(handles) / LOOK_S + habits.working * handles / TICK_S)


# -- the writers -------------------------------------------------------------------------------------------------------


def asked(handles: int, habits: Habits, seed: int = 1) -> Iterator[tuple[float, Wait]]:
    """Return when somebody wants to write, and how long it waits, in order."""
    chance = random.Random(seed)  # noqa: S311  (nothing is kept secret by it)
    rates = (
        (2 * handles / habits.turn, Wait.RULED),
        (2 * handles / habits.mail, Wait.TOUCH),
        (habits.working * handles / BEAT_S, Wait.HEARTBEAT),
    )
    coming: list[tuple[float, int, float, Wait]] = []
    order = count()
    for rate, wait in rates:
        heapq.heappush(coming, (chance.expovariate(rate), next(order), rate, wait))
    for _ in range(boxes_of(handles)):  # a daemon stamps all its handles in one write, each minute
        heapq.heappush(coming, (chance.uniform(0, PASS_SECS), next(order), 0.0, Wait.RULED))
    while True:
        at, number, rate, wait = heapq.heappop(coming)
        yield at, wait
        heapq.heappush(coming, (at + (chance.expovariate(rate) if rate else PASS_SECS), number, rate, wait))


def run(hold: float, wanted: Iterator[tuple[float, Wait]], seconds: float = SIMULATED_S) -> Counts:
    """Let them all at one lock that each write holds for `hold` seconds; a waiter looks again each `POLL_S`."""
    free_at, busy = 0.0, 0.0
    trying: list[tuple[float, int, float, Wait]] = []
    waits: list[float] = []
    ruled, missed, loose, skipped, order = 0, 0, 0, 0, count()
    begin = seconds / 10
    coming = next(wanted)
    while True:
        if not trying or coming[0] <= trying[0][0]:
            now, since, wait = coming[0], coming[0], coming[1]
            if now > seconds:
                break
            coming = next(wanted)
        else:
            now, _, since, wait = heapq.heappop(trying)
        counts = since >= begin
        if now >= free_at:
            free_at = now + hold
            busy += hold if counts else 0.0
        elif now + POLL_S <= since + wait.value:
            heapq.heappush(trying, (now + POLL_S, next(order), since, wait))
            continue
        elif counts:
            missed, skipped = missed + (wait is Wait.RULED), skipped + (wait is not Wait.RULED)
        if counts:
            waits.append(now - since)
            ruled, loose = ruled + (wait is Wait.RULED), loose + (wait is not Wait.RULED)
    counted = seconds - begin
    p99 = statistics.quantiles(waits, n=100, method="inclusive")[98] if len(waits) > 1 else 0.0
    return Counts(
        len(waits) / counted,
        busy / counted,
        p99,
        missed / max(ruled, 1),
        skipped / max(loose, 1),
    )


# -- what one write costs ----------------------------------------------------------------------------------------------


class _Counting(Disk):
    """The real disk; it takes down the name of each step."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if callable(found) and not name.startswith("_"):
            super().__getattribute__("steps").append(name)
        return found


def measured(folder: Path) -> tuple[Hold, dict[int, int]]:
    """Return what a write costs here, and the bytes of a registry of so many handles.

    Two homes in turn, as when another process has written between any two writes of this one.
    """
    took, sizes, steps = {}, {}, 0
    for handles in (100, 1000, 5000):
        disk = _Counting()
        homes = [Home(str(folder / f"{handles}-{name}"), disk=disk) for name in "ab"]
        for home in homes:
            ensure_home(home)
            _written(home, partial(fill, handles))
        samples = []
        for number in range(20):
            disk.steps.clear()
            began = time.perf_counter()
            _written(homes[number % 2], partial(_stamp, number))
            samples.append(time.perf_counter() - began)
        took[handles], sizes[handles] = statistics.median(samples), os.stat(homes[0].registry).st_size
        steps = len(disk.steps)
    per_handle = (took[5000] - took[100]) / 4900
    return Hold(max(took[100] - 100 * per_handle, 0.0), per_handle, steps), sizes


def _written(home: Home, change: Callable[[Registry], bool]) -> None:
    outcome = replace(home, change, Wait.RULED)
    if not isinstance(outcome, Written):
        raise SystemExit(f"the registry could not be written: {outcome}")


def _stamp(number: int, book: Registry) -> bool:
    book.agents["project-7-box"]["last_seen"] = f"2026-05-29T18:{number:02}:00Z"
    return True


# -- the document ------------------------------------------------------------------------------------------------------


def document(hold: Hold, sizes: dict[int, int], habits: Habits) -> str:
    """Return the whole document."""
    each = (sizes[5000] - sizes[1000]) / 4000
    head = sizes[1000] - 1000 * each
    mails = SIZES[-1] / habits.mail
    small, large = (f"{sizes[number] / 1024:,.0f}" for number in (1000, 5000))
    text = f"""# How far one comm folder goes

Written by `python -m tools.scale --write`; do not edit. A simulation by a virtual clock, no sockets: the bounds and
pauses are the product's own, what one write costs was measured here, the same chances come each time.

* Machine: {platform.system()} {platform.release()}, {os.cpu_count()} cores, Python {platform.python_version()}.
* A write of the registry holds its lock for {hold.fixed * 1e3:.1f} ms and {hold.per_handle * 1e6:.1f} µs for each
  handle in it, in {hold.steps} steps on the file system, each of them one round trip where that is a server's.
* A registry of 1,000 handles has {small} KiB, one of 5,000 {large}: {each:.0f} bytes a handle.
* A session: a turn each {habits.turn:.0f} s (two writes), a message sent and one polled each {habits.mail:.0f} s (a
  touch each), at work {habits.working:.0%} of its time (a heartbeat each {BEAT_S:.0f} s, a look for it each
  {TICK_S:.0f} s).
* A box has {HANDLES_PER_BOX} of them. Its engine stamps them each {PASS_SECS:.0f} s in one write, and reads the
  registry each {LOOK_S:.0f} s.
* Who waits for the lock looks each {POLL_S * 1e3:.0f} ms: a status, a join or an engine's stamp for
  {Wait.RULED.value:.0f} s, a touch for {Wait.TOUCH.value:.0f} s, a heartbeat not at all. Nothing is lost when one of
  the last two is skipped: the next one does it. A stamp is good for {LIVE_SECS} s, so ten in a row may be missed.
"""
    knees = []
    for place in PLACES:
        text += f"\n## One folder, {place.name}\n\n{_ROW.format(*_TITLES)}\n{_ROW.format(*['---:'] * len(_TITLES))}\n"
        knee = 0
        for size in SIZES:
            one = run(hold.seconds(size, place), asked(size, habits))
            reads = read_bytes(size, head + each * size, habits)
            knee = size if one.scales(reads, place) else knee
            text += _ROW.format(
                boxes_of(size), size, f"{one.writes:.1f}", f"{one.busy:.0%}", f"{one.wait_p99:.2f} s",
                f"{one.missed:.1%}", f"{one.skipped:.0%}", f"{reads / 1e6:.1f} MB",
            ) + "\n"  # fmt: skip
        knees.append(f"* {place.name}: **{knee:,} handles** on {boxes_of(knee)} boxes.\n")
    text += f"""
## Where it ends, and what follows

The largest of these sizes at which no ruled write is missed, 99 of 100 are through in a second, and half of the wire is
free:

{"".join(knees)}
* The one lock ends it, and the one file: each write parses and writes the whole registry, each look reads it, so both
  grow with the square of the handles. Nothing else grows so; each inbox is a file with a lock of its own.
* **Let boxes share a folder only up to that size.** A box with many sessions gets a folder of its own and a link to the
  hub (`frontend = true` in hosts.toml): its status writes, stamps and looks then never leave it; mail alone crosses.
* 200 boxes with a folder each and {HANDLES_PER_BOX} sessions on it: each folder is the first line of the first table. A
  message to a handle that the hub does not list is offered to every link at once: were all {mails:.1f} messages a
  second for other boxes, the hub would write {mails * (boxes_of(SIZES[-1]) - 1):,.0f} small frames a second. So let
  those that write to each other share a hub, and give the hub's folder to those that are written to most.
* A folder on a box's own disk is that box's alone; the first table is there to show what the lock costs without a wire.
* On a shared home keep the server near: a round trip is paid for each step while the lock is held.
"""
    return text


_TITLES = ("boxes", "handles", "writes/s", "lock held", "wait, p99", "missed", "skipped", "read/s")
_ROW = "| {} | {} | {} | {} | {} | {} | {} | {} |"


def main(words: list[str]) -> int:
    """Measure, simulate, and print or write the document."""
    habits = Habits()
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        hold, sizes = measured(Path(folder))
    text = document(hold, sizes, habits)
    if "--write" in words:
        DOCUMENT.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
