"""The unread mail of two hundred handles, in inboxes of a hundred thousand lines each, by the one rule.

The least that could do it is to read the bytes and count the newlines: a cursor is a number of lines, so no rule can do
with less. All inboxes are one file with two hundred names: what is read is as much, and the disk is spared.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from bench.measure import Figure
from sot_tui.comm import cursor, frames, inbox, mounts
from sot_tui.comm.home import Home, ensure_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HANDLES, _LINES, _UNREAD = 200, 100_000, 3
_BLOCK = 1 << 20


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the one figure; each inbox has three unread messages at its end."""
    folder.mkdir()
    home = Home(str(folder / "comm"))
    ensure_home(home)
    mounts.record_lock_manager(home, named_hub=True)
    line = frames.frame("writer", "reader", "writer", "x" * 60, "2026-05-29T18:04:00Z")
    handles = [f"reader{number}" for number in range(_HANDLES)]
    first = home.inbox(handles[0])
    with open(first, "wb") as file:
        file.write(line * _LINES)
    for handle in handles:
        if handle != handles[0]:
            os.link(first, home.inbox(handle))
        with open(home.cursor(handle), "w", encoding="ascii") as file:
            file.write(cursor.text(_LINES - _UNREAD, line))
    megabytes = _HANDLES * _LINES * len(line) / 1e6
    name = f"unread of {_HANDLES} inboxes of {_LINES:,} lines, {megabytes:,.0f} MB"
    yield Figure(name, partial(_counted, home, handles), partial(_newlines, home, handles), 1, "<= 2", rounds=3)


def _counted(home: Home, handles: list[str]) -> None:
    for handle in handles:
        count = inbox.unread(home, handle)
        assert isinstance(count, inbox.Count), count


def _newlines(home: Home, handles: list[str]) -> None:
    for handle in handles:
        with open(home.inbox(handle), "rb", buffering=0) as file:
            while block := file.read(_BLOCK):
                block.count(b"\n")
