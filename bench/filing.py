"""Durable filings in a row against the least that keeps a line: flock, append, fdatasync."""

from __future__ import annotations

import fcntl
import os
from functools import partial
from typing import TYPE_CHECKING

from bench.measure import Figure
from sot_tui.comm import frames, inbox, mounts
from sot_tui.comm.home import Home, ensure_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FILINGS = 200


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the one figure: as a route does it, which asks for the lock's manager anew at each filing."""
    folder.mkdir()
    home = Home(str(folder / "comm"))
    ensure_home(home)
    mounts.record_lock_manager(home, named_hub=True)
    line = frames.frame("writer", "reader", "writer", "x" * 200, "2026-05-29T18:04:00Z")
    bare = partial(_append, str(folder / "bare.lock"), str(folder / "bare.jsonl"), line)
    yield Figure("durable filings in a row", partial(_file, home, line), bare, _FILINGS, ">= 0.9")


def _file(home: Home, line: bytes) -> None:
    for _ in range(_FILINGS):
        manager = mounts.appends_here(home)
        filed = inbox.file_line(home, "reader", line, manager)
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
