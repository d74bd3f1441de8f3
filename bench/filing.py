"""Durable filings against the least that keeps a line: flock, append, fdatasync; one writer, and eight on one inbox.

A waiter of ours blocks in a thread that it starts, because its wait is bounded (contract, Delivery); the bare loop just
blocks. Where a flush takes a tenth of a millisecond that thread is most of what eight writers wait for; where it takes
four, as on most disks, nothing of it is left.
"""

from __future__ import annotations

import fcntl
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from bench.measure import Figure, together
from sot_tui.comm import frames, inbox, mounts
from sot_tui.comm.home import Home, ensure_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FILINGS = 200
_WRITERS = 8
_WRITER = """
import sys, time
from bench import filing
from sot_tui.comm import frames
from sot_tui.comm.home import Home
kind, comm = sys.argv[1:]
line = frames.frame("writer", "reader", "writer", "x" * 200, "2026-05-29T18:04:00Z")
print("ready", flush=True)
sys.stdin.readline()
began = time.monotonic()
if kind == "ours":
    filing._file(Home(comm), line, 60.0)
else:
    filing._append(comm + "/bare.lock", comm + "/bare.jsonl", line)
print(began, time.monotonic())
"""


def figures(folder: Path) -> Iterator[Figure]:
    """Yield both figures: as a route does it, which asks for the lock's manager anew at each filing."""
    folder.mkdir()
    home = Home(str(folder / "comm"))
    ensure_home(home)
    mounts.record_lock_manager(home, named_hub=True)
    line = frames.frame("writer", "reader", "writer", "x" * 200, "2026-05-29T18:04:00Z")
    bare = partial(_append, str(folder / "bare.lock"), str(folder / "bare.jsonl"), line)
    yield Figure("durable filings in a row", partial(_file, home, line), bare, _FILINGS, ">= 0.9")
    eight = partial(_eight, "ours", home.path)
    yield Figure(
        f"durable filings, {_WRITERS} writers at once",
        eight,
        partial(_eight, "bare", home.path),
        _FILINGS * _WRITERS,
        ">= 1.0",
        rounds=5,
    )


def _eight(kind: str, comm: str) -> float:
    """Let eight processes file into one inbox; return the seconds from the first one's begin to the last one's end."""
    outs = together(_WRITERS, [sys.executable, "-c", _WRITER, kind, comm])
    said = [tuple(map(float, out.split())) for out in outs]
    return max(end for _, end in said) - min(begin for begin, _ in said)


def _file(home: Home, line: bytes, wait_s: float | None = None) -> None:
    for _ in range(_FILINGS):
        manager = mounts.appends_here(home)
        filed = inbox.file_line(home, "reader", line, manager, wait_s)
        assert isinstance(filed, inbox.Filed), filed


def _append(lock: str, path: str, line: bytes, count: int = _FILINGS) -> None:
    for _ in range(count):
        held = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line)
        os.fdatasync(file)
        os.close(file)
        os.close(held)
