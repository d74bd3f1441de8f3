"""What a row's process takes: memory beside a bare `import pyte`, the time to an echo, and a core's share.

The agent is a small program that draws as a working one does (2.4 kB/s of redraws), or one that echoes. Memory is what
the kernel says of the process: resident, and what nobody else shares.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.measure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKING = r"""
import itertools, sys, time
for step in itertools.count():
    star, rule, row = '·✢✳✶✻✽'[step % 6], '─' * 80, 5 + step % 12
    sys.stdout.write(f"\x1b[?2026h\x1b[20;1H\x1b[2K\x1b[38;5;174m{star} Working\x1b[0m \x1b[2m({step}s · esc)\x1b[0m")
    sys.stdout.write(f"\x1b[22;1H\x1b[2m{rule}\x1b[0m\x1b[{row};1Hline {step} of what it does\x1b[23;3H\x1b[?2026l")
    sys.stdout.flush()
    time.sleep(0.17)
"""
"""Draws about 2.4 kB a second, as a working agent was measured to."""
BARE = """
import pyte, time
pyte.Stream(pyte.Screen(80, 24)).feed("x" * 2000)
print(flush=True)
time.sleep(99)
"""
"""The least that emulates a screen."""
_ROUNDS = 5
_WINDOW_SECS = 3.0
_KIB = 1024.0


class Row:
    """A capsule, and a lane to it."""

    def __init__(self, folder: Path, *argv: str) -> None:
        folder.mkdir(parents=True)
        words = [str(folder), "--run", str(uuid.uuid4()), "--cols", "80", "--lines", "24", "--", *argv]
        done = subprocess.run(
            [f"{os.path.dirname(sys.executable)}/sot-capsule", "-E", "-P", "-m", "sot_tui.engine.rows.capsule", *words],
            executable=sys.executable,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )
        self.pid = int(json.loads(done.stdout)["pid"])
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(f"{folder}/lane.sock")
        self._lines = self._socket.makefile("rb")
        self.ask("hello", lane=1)

    def ask(self, op: str, **more: Any) -> dict[str, Any]:
        """Ask, and return the answer."""
        self._socket.sendall(json.dumps({"id": 1, "op": op, **more}).encode() + b"\n")
        said: dict[str, Any] = json.loads(self._lines.readline())
        return said

    def close(self) -> None:
        """End it."""
        self._lines.close()
        self._socket.close()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@contextmanager
def _row(folder: Path, *argv: str) -> Iterator[Row]:
    row = Row(folder, *argv)
    try:
        yield row
    finally:
        row.close()


def figures(folder: Path) -> Iterator[Figure]:
    """Yield what one row takes; nothing of memory where the kernel does not say what is shared."""
    folder.mkdir(parents=True, exist_ok=True)
    with _row(folder / "workspaces" / "ws-1", sys.executable, "-I", "-c", WORKING) as row:
        bare = subprocess.Popen([sys.executable, "-I", "-c", BARE], stdout=subprocess.PIPE)
        try:
            bare.stdout and bare.stdout.readline()
            time.sleep(1)
            if Path("/proc/self/smaps_rollup").exists():
                for name, fields, target in (
                    ("resident", ("Rss",), "<= 24 MB"),
                    ("private", ("Private_Clean", "Private_Dirty"), "<= 20 MB"),
                ):
                    ours, theirs = partial(_memory, row, None, fields), partial(_memory, None, bare.pid, fields)
                    yield Figure(f"capsule of 80x24, {name}", ours, theirs, 1, target, rounds=_ROUNDS)
        finally:
            bare.kill()
            bare.wait()
        yield Figure("capsule, agent at work, of a core", partial(_share, row), None, 1, "<= 1.6 %", rounds=_ROUNDS)
    with _row(folder / "workspaces" / "ws-2", "sh", "-c", "stty -echo; exec cat") as row:
        time.sleep(1)
        yield Figure("capsule, idle, of a core", partial(_share, row), None, 1, "<= 0.03 %", rounds=_ROUNDS)
        yield Figure("typed until its echo is on a snapshot", partial(_echo, row), None, 1, "p99 <= 20 ms", rounds=100)
    with _row(folder / "workspaces" / "ws-3", "yes") as row:
        time.sleep(1)
        answered = partial(row.ask, "snapshot", since=-1)
        yield Figure("snapshot of a flooded row", lambda: _timed(answered), None, 1, "p99 <= 100 ms", rounds=100)


def _memory(row: Row | None, pid: int | None, fields: tuple[str, ...]) -> float:
    """Return what a process takes, in MB, after a look at its screen."""
    if row is not None:
        row.ask("snapshot", since=-1)
    lines = Path(f"/proc/{row.pid if row else pid}/smaps_rollup").read_text().splitlines()
    kib = sum(int(line.split()[1]) for line in lines if line.partition(":")[0] in fields)
    return kib * _KIB / 1e6


def _share(row: Row) -> float:
    """Return the share of a core that a process took over a while."""
    before, began = _taken_ns(row.pid), time.perf_counter()
    time.sleep(_WINDOW_SECS)
    return (_taken_ns(row.pid) - before) / 1e9 / (time.perf_counter() - began)


def _taken_ns(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


_COUNT = iter(range(10**9))


def _echo(row: Row) -> float:
    """Return the seconds from a line typed to its echo in a snapshot."""
    words = f"typed {next(_COUNT)}."
    began = time.perf_counter()
    row.ask("type", data_b64=base64.b64encode(words.encode() + b"\n").decode())
    while words not in json.dumps(row.ask("snapshot", since=-1)["rows"]):
        pass
    return time.perf_counter() - began


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
