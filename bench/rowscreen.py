"""A key into a row until its echo is painted, through capsule, lane and screen; a flood beside it; a long paste.

The agent says for each key how many it has had, so that an echo is never taken for another one. What is timed is what a
person sees: bytes that the dashboard sends to a terminal of 120 columns. Beside it the same agent in that terminal
alone.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fleets import COMMAND, Fleet
from bench.measure import Figure
from bench.pane import Pane
from bench.rows import WORKING, Box
from sot_tui.engine.rows.row import Row, Wanted
from sot_tui.engine.service import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNTS = """
import os, sys, tty
tty.setraw(0)
os.write(1, b"ready")
number = 0
while data := os.read(0, 4096):
    number += len(data)
    os.write(1, b"\\r\\x1b[Kkey %d." % number)
"""
FLOODS = "import sys\nfor at in iter(int, 1):\n    print('\\x1b[3%dmline' % (at % 8), id(at), 'x' * 60)\n"
SAVES = """
import os, sys, tty
tty.setraw(0)
os.write(1, b"\\x1b[?2004hready")
with open(sys.argv[1], "ab", buffering=0) as file:
    while data := os.read(0, 65536):
        file.write(data)
"""
PASTE_BYTES = 1 << 20
_LEAVE = b"\x1d"
_ROUNDS, _LEAVES, _PASTES = 200, 60, 5
_GONE_SECS = 10.0
_CALM_SECS = 5.0
"""Seconds after sixty rows are shown for the first time."""
_PAUSE_SECS = (0.02, 0.08)
_random = random.Random(0)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the echo alone and among sixty rows at work, the way out of a flood, and a paste."""
    folder.mkdir()
    for name, text in (("counts", COUNTS), ("floods", FLOODS), ("saves", SAVES)):
        (folder / name).write_text(text)
    yield from _echoes(folder)
    yield from _echoes_among_many(folder)
    yield from _floods(folder)
    yield from _pastes(folder)


def _echoes(folder: Path) -> Iterator[Figure]:
    command = (sys.executable, "-I", str(folder / "counts"))
    with _Rowed(folder / "echo", *command) as pane, Pane(command, {"TERM": "xterm"}, str(folder)) as bare:
        bare.until("ready")
        ours, theirs = partial(_echo, pane, count(1)), partial(_echo, bare, count(1))
        name = "key to its echo painted, one row"
        yield Figure(name, ours, theirs, 1, "p99 <= 60 ms", partial(_pause, pane), _ROUNDS)


def _echoes_among_many(folder: Path) -> Iterator[Figure]:
    """Yield the echo among rows at work, of a daemon's client and of a dashboard that runs the rows itself."""
    (folder / "many").mkdir()
    box = Box(folder / "many", {"echo": str(folder / "counts")})
    try:
        for number in range(WORKING):
            box.make(f"work-{number}")
        box.make("echo")
        _stay(Path(box.environ["XDG_CONFIG_HOME"]))
        box.until_ready()
        numbers = count(1)
        for who in ("by a daemon", "by the dashboard"):
            if who == "by the dashboard":
                box.leave()
            with Pane([COMMAND], box.environ, str(folder)) as pane:
                pane.until("work-1")
                _open(pane, "echo", r"ready|key \d+\.")
                pane.drain(_CALM_SECS)
                name = f"key to its echo painted, {WORKING} more run {who}"
                yield Figure(
                    name, partial(_echo, pane, numbers), None, 1, "p99 <= 120 ms", partial(_pause, pane), _ROUNDS
                )
    finally:
        box.close()


def _echo(pane: Pane, numbers: Iterator[int]) -> float:
    pane.forget()
    began = time.perf_counter()
    pane.press(b"x")
    return pane.until(rf"key {next(numbers)}\.") - began


def _floods(folder: Path) -> Iterator[Figure]:
    with _Rowed(folder / "flood", sys.executable, "-I", str(folder / "floods"), sign="line") as pane:
        _out(pane)
        before = partial(_into, pane)
        yield Figure("from a flooding row to the nav", partial(_out, pane), None, 1, "p99 <= 100 ms", before, _LEAVES)


def _into(pane: Pane) -> None:
    pane.forget()
    pane.press(b"\r")
    pane.until("every other key")
    pane.drain(0.4 + _random.uniform(*_PAUSE_SECS))


def _out(pane: Pane) -> float:
    pane.forget()
    began = time.perf_counter()
    pane.press(_LEAVE)
    found = pane.until("esc: all")
    pane.drain(0.2)
    return found - began


def _pastes(folder: Path) -> Iterator[Figure]:
    into = folder / "pasted"
    text = "".join(f"line {number}\r" for number in range(PASTE_BYTES // 11)).encode()
    text = text.ljust(PASTE_BYTES, b"x")
    with _Rowed(folder / "paste", sys.executable, "-I", str(folder / "saves"), str(into)) as pane:

        def paste() -> float:
            had, wanted = into.stat().st_size, len(text) + 12
            began = time.perf_counter()
            for at in range(0, len(text), 1 << 12):
                part = text[at : at + (1 << 12)]
                pane.press((b"\x1b[200~" if not at else b"") + part)
                pane.drain(0.0)
            pane.press(b"\x1b[201~")
            while into.stat().st_size < had + wanted:
                pane.drain(0.01)
            took = time.perf_counter() - began
            assert into.read_bytes()[had:] == b"\x1b[200~" + text + b"\x1b[201~", "it did not arrive whole"
            return took

        yield Figure("a paste of 1 MiB until the agent has it", paste, None, 1, "<= 5000 ms", None, _PASTES)


class _Rowed:
    """A dashboard on a row that runs a command, with its screen open."""

    def __init__(self, folder: Path, *command: str, sign: str = "ready") -> None:
        folder.mkdir()
        self._fleet = Fleet(folder, 1)
        _stay(folder / "config")
        self._command, self._sign = command, sign
        self._pane: Pane | None = None

    def __enter__(self) -> Pane:
        asyncio.run(self._make())
        pane = self._pane = self._fleet.dashboard().__enter__()
        pane.until("the-row")
        _open(pane, "the-row", self._sign)
        return pane

    def __exit__(self, *fault: object) -> None:
        if self._pane is not None:
            self._pane.__exit__(None, None, None)
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with suppress(OSError):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    mine = any(word.startswith(str(self._fleet.folder).encode()) for word in words)
                    if mine and words[0].endswith(b"/sot-capsule"):
                        os.kill(int(entry.name), signal.SIGKILL)
                        self._gone(entry)

    @staticmethod
    def _gone(entry: Path) -> None:
        """Wait until a process writes nothing any more."""
        deadline = time.monotonic() + _GONE_SECS
        while entry.exists() and "Z" not in (entry / "stat").read_text().rpartition(")")[2]:
            assert time.monotonic() < deadline, f"{entry} goes on"
            time.sleep(0.02)

    async def _make(self) -> None:
        root = self._fleet.folder / "src"
        root.mkdir()
        async with Engine(self._fleet.home, self._fleet.environ) as engine:
            while engine.rows is None:  # noqa: ASYNC110  (as tests wait for it)
                await asyncio.sleep(0.05)
            row = await engine.rows.create(Wanted("the-row", str(root), command=self._command))
            assert isinstance(row, Row), row
            while engine.fleet.rows[row.id].phase != "ready":  # noqa: ASYNC110  (as above)
                await asyncio.sleep(0.05)


def _stay(config: Path) -> None:
    """Say in a configuration folder that nothing stays behind a dashboard: that would start the row again."""
    (config / "sot").mkdir(exist_ok=True)
    (config / "sot" / "tui.toml").write_text('on_leave = "never"\n')


def _open(pane: Pane, label: str, sign: str) -> None:
    """Open a row's screen, as a person does who looks for it by its name."""
    pane.drain(3.0)
    pane.press(f"/{label}\r".encode())
    pane.drain(0.5)
    pane.forget()
    pane.press(b"\r")
    pane.until(sign)
    pane.drain(1.0)


def _pause(pane: Pane) -> None:
    pane.drain(_random.uniform(*_PAUSE_SECS))
