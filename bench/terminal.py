"""The terminal on every recording, from the first byte to a screen read after every event, and what it takes of memory.

Beside it stock pyte, read in two ways: a copy of all its cells, as a snapshot holds them, and its own `display`. Where
Ghostty's binding is installed, the distance to that is printed too. `python -m bench.terminal` prints the profile.
"""

from __future__ import annotations

import cProfile
import importlib.util
import json
import pstats
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyte

from bench.measure import Figure
from sot_tui.wake.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RECORDINGS = Path(__file__).parent.parent / "tests" / "data" / "recordings"
_WEIGHT = """
import re, sys
{use}
text = open("/proc/self/smaps_rollup").read()
print(*(sum(map(int, re.findall(rf"^{{name}}: *(\\d+)", text, re.M))) for name in ("Rss", "Private_(?:Clean|Dirty)")))
"""
_OURS = """
from sot_tui.wake.terminal import Terminal
terminal = Terminal(80, 24)
for number in range(3000):
    terminal.feed(b"\\x1b[3%dmline %d of a build log\\x1b[m\\r\\n" % (number % 8, number), 0.0)
terminal.snapshot(0.0)
"""


class _Recording(NamedTuple):
    columns: int
    lines: int
    events: list[tuple[float, bytes | tuple[int, int]]]


def figures(_: Path) -> Iterator[Figure]:
    """Yield the speeds, and the memory where the kernel tells it."""
    recordings = _recordings()
    events = sum(len(recording.events) for recording in recordings)
    ours = partial(_ours, recordings)
    for name, read in (("all cells copied", _cells), ("display read", _display)):
        yield Figure(
            f"{events} reads, beside pyte, {name}", ours, partial(_stock, recordings, read), events, ">= 4", rounds=5
        )
    if importlib.util.find_spec("pyghostty"):
        for name, is_read in (("text read", True), ("both fed alone", False)):
            here = partial(_ours, recordings, is_read=is_read)
            other = partial(_ghostty, recordings, is_read=is_read)
            yield Figure(f"{events} reads, beside Ghostty's, {name}", here, other, events, ">= 0", rounds=5)
    if Path("/proc/self/smaps_rollup").exists():
        for place, (name, most) in enumerate((("resident", 24), ("private", 20))):
            weigh = partial(_weighed, place)
            yield Figure(
                f"80x24 with full history, {name}, beside pyte's import",
                partial(weigh, _OURS),
                partial(weigh, "import pyte"),
                1,
                f"<= {most} MB",
                rounds=3,
            )


def _recordings() -> list[_Recording]:
    found = []
    for path in sorted(_RECORDINGS.glob("*.cast")):
        with path.open(encoding="utf-8") as file:
            head, *events = map(json.loads, file)
        kept: list[tuple[float, bytes | tuple[int, int]]] = []
        for at, kind, data in events:
            if kind == "o":
                kept.append((at, data.encode()))
            elif kind == "r":
                columns, _, lines = data.partition("x")
                kept.append((at, (int(columns), int(lines))))
        found.append(_Recording(head["width"], head["height"], kept))
    return found


def _ours(recordings: list[_Recording], *, is_read: bool = True) -> None:
    for columns, lines, events in recordings:
        terminal = Terminal(columns, lines)
        for at, data in events:
            if isinstance(data, bytes):
                terminal.feed(data, at)
            else:
                terminal.resize(*data)
            if is_read:
                terminal.snapshot(at)


def _stock(recordings: list[_Recording], read: Callable[[pyte.Screen], object]) -> None:
    for columns, lines, events in recordings:
        screen = pyte.Screen(columns, lines)
        stream = pyte.ByteStream(screen)
        for _, data in events:
            if isinstance(data, bytes):
                _feed(stream, data)
            else:
                screen.resize(data[1], data[0])
            read(screen)


def _feed(stream: pyte.ByteStream, data: bytes) -> None:
    try:
        stream.feed(data)
    except TypeError:
        return  # a query that stock pyte cannot read: the rest of this read is lost


def _cells(screen: pyte.Screen) -> object:
    buffer = screen.buffer
    return [[buffer[y][x] for x in range(screen.columns)] for y in range(screen.lines)]


def _display(screen: pyte.Screen) -> object:
    try:
        return screen.display
    except IndexError:
        return None  # half of a wide character was written over


def _ghostty(recordings: list[_Recording], *, is_read: bool) -> None:
    import pyghostty  # type: ignore[import-not-found]  # noqa: PLC0415

    for columns, lines, events in recordings:
        terminal: Any = pyghostty.Terminal(cols=columns, rows=lines)
        for _, data in events:
            if isinstance(data, bytes):
                terminal.feed(data)
            else:
                terminal.resize(*data)
            if is_read:
                terminal.text()


def _weighed(place: int, use: str) -> float:
    """Return the megabytes of a fresh process that has done something: resident, or private."""
    code = _WEIGHT.format(use=use)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return int(re.findall(r"\d+", said)[place]) / 1024


def main() -> None:
    """Print where the time goes."""
    recordings = _recordings()
    profile = cProfile.Profile()
    profile.runcall(_ours, recordings)
    pstats.Stats(profile).strip_dirs().sort_stats("tottime").print_stats(16)


if __name__ == "__main__":
    main()
