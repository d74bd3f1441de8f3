"""The cells of a row's terminal as they are painted: what our terminal then shows are those cells, and nothing else."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from textual.color import Color

from sot_tui.screens.widgets.cells import Look, Span, UnderlineKinds, shown, strip_of
from sot_tui.wake.cells import BLANK, Cell
from sot_tui.wake.terminal import Screen, Terminal
from tests.unit.test_terminal_recordings import FOLDER, INDEX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

CONSOLE = Console(color_system="truecolor", force_terminal=True)
KINDS = UnderlineKinds(lambda: CONSOLE, colours=True)
BARE = Look(Style())
DRAWN_ELSE = {
    "⚠\ufe0f": "⚠",
    "ℹ\ufe0f": "ℹ",
    "❤\ufe0f": "❤",
    "1\ufe0f\u20e3": "1\u20e3",
    "👩\u200d💻": "👩",
    "👨\u200d👩\u200d👧\u200d👦": "👨",
    "🏽": " ",
    "🇨": "C",
    "🇦": "A",
    "🇯": "J",
    "🇵": "P",
}
"""What the recordings hold that terminals disagree about, and what is drawn in its place."""


def bytes_of(strip: Strip) -> str:
    """Return what our terminal is sent for a strip."""
    return strip.apply_filter(KINDS, Color(0, 0, 0)).render(CONSOLE)


def seen(rows: Sequence[tuple[Cell, ...]], columns: int, look: Look = BARE) -> tuple[tuple[Cell, ...], ...]:
    """Return the cells of a terminal that is sent some rows as they are painted."""
    terminal = Terminal(columns, len(rows))
    for y, row in enumerate(rows):
        terminal.feed(f"\x1b[{y + 1}H{bytes_of(strip_of(row, 0, columns, look))}".encode(), 0.0)
    return terminal.snapshot(0.0).rows


def end_of(entry: dict[str, Any]) -> list[Screen]:
    with (FOLDER / entry["file"]).open(encoding="utf-8") as file:
        head, *events = map(json.loads, file)
    terminal = Terminal(head["width"], head["height"])
    screens = []
    for at, (now, kind, data) in enumerate(events):
        if kind == "o":
            terminal.feed(data.encode(), now)
        elif kind == "r":
            terminal.resize(*map(int, data.split("x")))
        if at % 50 == 0 or at == len(events) - 1:
            screens.append(terminal.snapshot(now))
    return screens


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: str(entry["file"]).removesuffix(".cast"))
def test_recording_when_painted_then_text_and_attributes_are_those_of_the_model(entry: dict[str, Any]) -> None:
    """What is painted is sent to a terminal once more, and is there what it was; tests elsewhere hold that to tmux."""
    for screen in end_of(entry):
        wanted = [
            tuple(cell._replace(data=DRAWN_ELSE.get(cell.data, cell.data)) for cell in row) for row in screen.rows
        ]
        for y, (row, painted) in enumerate(zip(wanted, seen(screen.rows, screen.columns), strict=True)):
            for x, (cell, found) in enumerate(zip(row, painted, strict=True)):
                same = found._replace(data=cell.data) if not cell.data.strip() and not found.data.strip() else found
                assert same == cell, (y, x)


@pytest.mark.parametrize("entry", INDEX[:12], ids=lambda entry: str(entry["file"]).removesuffix(".cast"))
def test_recording_when_cut_anywhere_then_each_cell_stays_in_its_column(entry: dict[str, Any]) -> None:
    screen = end_of(entry)[-1]
    for start in (0, 1, 7, 33):
        for columns in (1, 20, 120):
            for row in screen.rows:
                strip = strip_of(row, start, columns, BARE)
                assert sum(cell_len(segment.text) for segment in strip) == columns == strip.cell_length


LOOKS = st.builds(
    lambda codes: f"\x1b[{';'.join(codes)}m",
    st.lists(
        st.sampled_from(
            ["0", "1", "2", "3", "4", "4:3", "4:4", "4:5", "21", "5", "7", "8", "9", "53", "31", "93", "44", "102",
             "38;5;33", "48;5;255", "38;2;250;202;222", "48;2;1;2;3", "58;5;3", "58;5;12", "58;2;9;8;7"]
        ),
        min_size=1,
        max_size=4,
    ),
)  # fmt: skip
TEXTS = st.lists(st.sampled_from([*"ab 漢字❯─│█é한", "e\u0301"]), min_size=1, max_size=6).map("".join)


@given(st.lists(st.tuples(LOOKS, TEXTS), max_size=8))
def test_cells_when_they_look_in_any_way_then_they_are_drawn_so(parts: list[tuple[str, str]]) -> None:
    terminal = Terminal(30, 4)
    terminal.feed("".join(look + text for look, text in parts).encode(), 0.0)
    rows = [
        tuple(cell if cell.underline else cell._replace(underline_color="default") for cell in row)
        for row in terminal.snapshot(0.0).rows
    ]
    assert list(seen(rows, 30)) == rows


@given(st.lists(st.characters(), min_size=1, max_size=4).map("".join), st.sampled_from([1, 2]))
def test_cell_when_its_text_is_any_then_it_takes_its_columns_and_acts_on_nothing(data: str, columns: int) -> None:
    text = shown(data, columns)
    assert cell_len(text) == columns
    for char in text:
        assert unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert sum(unicodedata.combining(char) > 0 for char in text) <= 2


@given(
    st.lists(st.builds(Cell, st.text(max_size=3), bg=st.text(max_size=7)), min_size=1, max_size=12),
    st.integers(0, 8),
    st.integers(1, 15),
)
def test_row_when_its_cells_are_hostile_then_the_line_is_as_wide_as_it_was_said(
    row: list[Cell], start: int, columns: int
) -> None:
    strip = strip_of(row, start, columns, BARE, [Span(2, 4, Style(reverse=True))])
    assert sum(cell_len(segment.text) for segment in strip) == columns
    assert not set(bytes_of(strip).replace("\x1b[", "")) & {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))}


def test_wide_sign_when_the_edge_cuts_it_then_no_half_of_it_is_drawn() -> None:
    row = (Cell("a"), Cell("漢"), Cell(""), Cell("b"))
    assert strip_of(row, 0, 2, BARE).text == "a "
    assert strip_of(row, 2, 2, BARE).text == " b"
    assert strip_of(row, 0, 4, BARE).text == "a漢b"
    assert strip_of((), 0, 3, BARE).text == "   "
    assert strip_of((BLANK,), 5, 3, BARE).text == "   "


def test_span_when_it_begins_in_a_wide_sign_then_the_whole_sign_is_marked() -> None:
    row = (Cell("漢"), Cell(""), Cell("b"))
    strip = strip_of(row, 0, 3, BARE, [Span(1, 2, Style(reverse=True))])
    assert [(segment.text, bool(segment.style and segment.style.reverse)) for segment in strip] == [
        ("漢", True), ("b", False),
    ]  # fmt: skip


def test_underline_when_its_kind_is_not_known_to_the_terminal_then_a_plain_one_was_asked_for_before() -> None:
    strip = strip_of((Cell("x", fg="red", underline=3, underline_color="0000ff"),), 0, 1, BARE)
    assert bytes_of(strip) == "\x1b[4;31m\x1b[4:3m\x1b[58:2::0:0:255mx\x1b[0m"
