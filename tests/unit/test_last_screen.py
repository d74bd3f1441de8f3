"""The last screen of a run on disk: what was written is read, and what is no screen is unreadable, never absent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.disk import Disk
from sot_tui.comm.errors import Unreadable
from sot_tui.engine.rows import last_screen
from sot_tui.wake.terminal import Screen, Terminal

if TYPE_CHECKING:
    from pathlib import Path


def drawn(data: bytes, columns: int = 20, lines: int = 4) -> Screen:
    terminal = Terminal(columns, lines)
    terminal.feed(data, 0.0)
    return terminal.snapshot(0.0)


def test_screen_when_kept_then_every_cell_and_mode_is_read_back(tmp_path: Path) -> None:
    screen = drawn(
        b"\x1b]2;a title\x07one line that is wrapped\r\n\x1b[1;38;2;1;2;3mbold\x1b[0m \x1b[4:3mcurl\r\n"
        b"\xe6\xbc\xa2e\xcc\x81\x1b[?25l\x1b[?2004h"
    )
    (tmp_path / last_screen.FILE).write_text(last_screen.text_of(screen))
    assert last_screen.read(Disk(), str(tmp_path)) == screen
    assert (tmp_path / last_screen.FILE).read_bytes().isascii(), "nothing in the file acts on who looks into it"


def test_screen_when_there_is_no_file_then_it_is_absent(tmp_path: Path) -> None:
    assert last_screen.read(Disk(), str(tmp_path)) is None


def test_screen_when_it_is_larger_than_any_persons_then_it_is_not_kept() -> None:
    cells = "".join(f"\x1b[38;2;{at % 256};{at // 256 % 256};7mx" for at in range(1000 * 200))
    assert last_screen.text_of(drawn(cells.encode(), 1000, 200)) == ""


@pytest.mark.parametrize(
    "change",
    [
        {"lane": 2},
        {"cols": 21},
        {"cols": 100_000},
        {"lines": True},
        {"parts": []},
        {"parts": [{"looks": [], "rows": {"0": [[0, 20]]}}]},
        {"cursor": [20, 0]},
        {"cursor": "ab"},
        {"modes": None},
    ],
)
def test_screen_when_it_is_damaged_then_it_is_unreadable_and_not_absent(
    tmp_path: Path, change: dict[str, object]
) -> None:
    said = json.loads(last_screen.text_of(drawn(b"words")))
    (tmp_path / last_screen.FILE).write_text(json.dumps(said | change))
    with pytest.raises(Unreadable, match="damaged"):
        last_screen.read(Disk(), str(tmp_path))
