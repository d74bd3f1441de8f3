"""Every recording comes out as tmux showed it: text, cursor, dim cells, alternate screen, title and status."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.wake.terminal import Screen, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sot_tui.wake.cells import Cell

FOLDER = Path(__file__).parent.parent / "data" / "recordings"
INDEX: list[dict[str, Any]] = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))["recordings"]

_ATTRIBUTES: dict[str, Callable[[Cell], object]] = {
    "dim": lambda cell: cell.dim,
    "reverse": lambda cell: cell.reverse,
    "bold": lambda cell: cell.bold,
    "italic": lambda cell: cell.italic,
    "underline": lambda cell: cell.underline,
}
CUT_BY_TMUX = {"claude-2.1.332-free-glyphs-80x24.cast": ("👨\u200d👩\u200d👧\u200d👦", "👨\u200d👩\u200d👧\u200d")}
"""tmux keeps 21 bytes of a cell; ours loses no text."""


def replayed(entry: dict[str, Any], moments: list[float]) -> Iterator[Screen]:
    """Return the screen at some moments of a recording, and at its end."""
    with (FOLDER / entry["file"]).open(encoding="utf-8") as file:
        head, *events = map(json.loads, file)
    terminal = Terminal(head["width"], head["height"])
    moments = list(moments)
    now = 0.0
    for now, kind, data in events:
        while moments and moments[0] < now:
            yield terminal.snapshot(moments.pop(0))
        if kind == "o":
            terminal.feed(data.encode(), now)
        elif kind == "r":
            terminal.resize(*map(int, data.split("x")))
    yield terminal.snapshot(now)


def _text(screen: Screen) -> list[str]:
    return ["".join([cell.data for cell in row]).rstrip(" ") for row in screen.rows]


def _spans(row: tuple[Cell, ...], has: Callable[[Cell], object]) -> list[list[int]]:
    """Return the spans of columns whose cells have something."""
    spans: list[list[int]] = []
    for column, cell in enumerate(row):
        if has(cell):
            if spans and spans[-1][1] == column:
                spans[-1][1] += 1
            else:
                spans.append([column, column + 1])
    return spans


def _hold(screen: Screen, shown: dict[str, Any], cut: tuple[str, str] | None) -> None:
    rows = _text(screen)
    if cut:
        rows = [row.replace(*cut) for row in rows]
    assert list(map(_composed, rows)) == list(map(_composed, shown["screen"]))
    cursor = shown["cursor"]
    column = min(cursor["col"], screen.columns - 1)
    assert (screen.cursor_y, screen.cursor_x, screen.cursor_visible) == (cursor["row"], column, cursor["visible"])


def _composed(row: str) -> str:
    return unicodedata.normalize("NFC", row)


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: str(entry["file"]).removesuffix(".cast"))
def test_recording_when_replayed_then_the_screen_is_what_tmux_showed(entry: dict[str, Any]) -> None:
    checkpoints = sorted(entry.get("checkpoints", []), key=lambda checkpoint: float(checkpoint["at"]))
    *between, end = replayed(entry, [checkpoint["at"] for checkpoint in checkpoints])
    cut = CUT_BY_TMUX.get(entry["file"])
    for screen, checkpoint in zip(between, checkpoints, strict=True):
        _hold(screen, checkpoint, cut)
    _hold(end, entry, cut)
    found = {name: spans for name, has in _ATTRIBUTES.items() if (spans := _spans(end.rows[end.cursor_y], has))}
    assert found == entry["cursor_row_attrs"]
    assert (end.columns, end.lines, end.alternate) == (entry["cols"], entry["rows"], entry["alternate_screen"])
    assert (end.title, end.status) == (entry.get("title") or "", entry.get("status") or "")


def test_recordings_when_counted_then_none_is_left_out() -> None:
    assert {entry["file"] for entry in INDEX} == {path.name for path in FOLDER.glob("*.cast")}
    assert len(INDEX) == 60
