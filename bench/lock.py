"""The registry lock among eight processes that want it again and again: how soon the next one has it.

Nobody is woken by a release: who waits looks each 50 ms (contract, Bounds), so the next of several comes in a part of
that, and one of them may have to look more than once. Each turn is a sample; a round has some hundred of them.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
from functools import partial
from typing import TYPE_CHECKING

from bench.measure import Figure, together
from sot_tui.comm.home import Home, ensure_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WRITERS = 8
_SECS = 3.0
_HELD_SECS = 0.005
_WRITER = """
import json, random, sys, time
from sot_tui.comm.home import Home
from sot_tui.comm.registry_lock import Held, Wait, release, take
home, held_s, secs = Home(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
end, turns = time.monotonic() + secs, []
while time.monotonic() < end:
    wanted = time.monotonic()
    held = take(home, Wait.RULED)
    assert isinstance(held, Held), held
    began = time.monotonic()
    time.sleep(held_s)
    release(home, held)
    turns.append((began, time.monotonic(), wanted))
    time.sleep(random.uniform(0, 8 * held_s))
print(json.dumps(turns))
"""


def figures(folder: Path) -> Iterator[Figure]:
    """Yield how long the lock lies free between two holders, and how long one of a hundred waits for it."""
    home = Home(str(folder / "comm"))
    folder.mkdir()
    ensure_home(home)
    name = f"registry lock, {_WRITERS} writers"
    yield Figure(f"{name}, free between two", partial(_free, home.path), None, 1, "<= 25 ms", rounds=5)
    yield Figure("  waited for, 99 of 100", partial(_waited, home.path), None, 1, "<= 1000 ms", rounds=5)


def _free(path: str) -> float:
    """Return the middle of the pauses between a release and the next one's take, where somebody waited then."""
    turns = _turns(path)
    return statistics.median(
        began - over for (_, over, _), (began, _, wanted) in itertools.pairwise(turns) if wanted < over
    )


def _waited(path: str) -> float:
    waits = [began - wanted for began, _, wanted in _turns(path)]
    return statistics.quantiles(waits, n=100, method="inclusive")[98]


def _turns(path: str) -> list[tuple[float, float, float]]:
    """Let the writers at it; return each turn, in order: when it began, when it was over, since when it was wanted."""
    outs = together(_WRITERS, [sys.executable, "-c", _WRITER, path, str(_HELD_SECS), str(_SECS)])
    said = [json.loads(out) for out in outs]
    return sorted((began, over, wanted) for turns in said for began, over, wanted in turns)
