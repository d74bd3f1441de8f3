"""The lane's encoding: what goes in comes out, and what is no message is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st

from sot_tui.engine.rows import lane_wire
from sot_tui.engine.rows.lane_wire import Malformed
from sot_tui.engine.rows.values import Key, Mouse
from sot_tui.wake.cells import Cell
from sot_tui.wake.terminal import Terminal

BOOLS = [st.booleans()] * 3
COLOURS = st.sampled_from(["default", "red", "brightcyan", "0f1a2b"])
CELLS = st.builds(
    Cell,
    st.sampled_from(["", " ", "a", "漢", "e\u0301", "👩‍💻", '"', "\\", "\u2028", "❤️"]) | st.characters(codec="utf-8"),
    COLOURS,
    COLOURS,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 5),
    COLOURS,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


def _through(rows: list[tuple[int, tuple[Cell, ...]]], columns: int) -> dict[int, tuple[Cell, ...]]:
    """Return rows as they come out of the lines they went into."""
    found = {}
    for part in lane_wire.parts(rows):
        line = lane_wire.line({"id": 1, **part})
        assert len(line) <= lane_wire.LINE_LIMIT
        assert line.count(b"\n") == 1
        found.update(lane_wire.rows_of(lane_wire.parsed(line[:-1]), columns))
    return found


@settings(max_examples=200)
@given(st.integers(1, 12).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), max_size=6)))
def test_rows_when_they_cross_then_they_come_out_as_they_went_in(cells: list[list[Cell]]) -> None:
    rows = [(place, tuple(row)) for place, row in enumerate(cells)]
    assert _through(rows, len(cells[0]) if cells else 1) == dict(rows)


def test_screen_when_a_program_drew_it_then_it_comes_out_equal_cell_for_cell() -> None:
    terminal = Terminal(40, 6)
    terminal.feed("plain \x1b[2mdim\x1b[0m \x1b[4:3;58:2::255:0:0mcurly\x1b[0m 漢字 ❤️ e\u0301\r\n".encode() * 5, 0)
    rows = terminal.snapshot(0).rows
    assert any(cell.dim for row in rows for cell in row)
    assert any(not cell.data for row in rows for cell in row)
    assert _through(list(enumerate(rows)), 40) == dict(enumerate(rows))


def test_wrapped_when_it_crosses_then_it_comes_out_as_it_went_in_and_absent_is_none() -> None:
    said = lane_wire.of_wrapped(enumerate((0, 40, 39, 0)))
    assert lane_wire.parsed(lane_wire.line(said)[:-1]) == {"wrapped": {"1": 40, "2": 39}}
    assert lane_wire.wrapped_of(said, range(4), 40) == (0, 40, 39, 0)
    assert lane_wire.of_wrapped(enumerate((0, 0))) == {}
    assert lane_wire.wrapped_of({}, range(2), 40) == (0, 0)  # an older capsule


@pytest.mark.parametrize("said", [[1], "1", {"1": 41}, {"1": -1}, {"1": True}, {"1": "4"}])
def test_wrapped_when_it_is_none_then_it_is_malformed(said: object) -> None:
    with pytest.raises(lane_wire.Malformed):
        lane_wire.wrapped_of({"wrapped": said}, range(4), 40)


def test_rows_when_every_cell_looks_different_then_no_line_is_too_long() -> None:
    colours = [f"{number:06x}" for number in range(20_000)]
    wide = "👩‍💻" * 10
    rows = [
        (line, tuple(Cell(wide, fg=colours[line * 500 + column], bold=True) for column in range(500)))
        for line in range(40)
    ]
    assert len(list(lane_wire.parts(rows))) > 10
    assert _through(rows, 500) == dict(rows)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{",
        b'{"id":1,"id":2}',
        b'{"id":NaN}',
        b"\xff",
        b"[" * 2000,
        b'{"a":"\\ud800"}',
    ],
)
def test_line_when_it_is_no_message_then_it_is_malformed(line: bytes) -> None:
    with pytest.raises(Malformed):
        lane_wire.parsed(line)


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"looks": [], "rows": {"0": [[0, "ab"]]}},
        {"looks": [["d", "d", 0, "d", 0]], "rows": {"0": [[0, "abc"]]}},
        {"looks": [["d", "d", 0, "d", 0]], "rows": {"0": [[0, 3]]}},
        {"looks": [["d", "d", 0, "d", 0]], "rows": {"0": [[0, -1]]}},
        {"looks": [["d", "d", 0, "d", 0]], "rows": {"0": [[0, 10**12]]}},
        {"looks": [["d", "d", 0, "d", 0]], "rows": {"x": [[0, 2]]}},
        {"looks": [["d", "d", 0, "d", 0]], "rows": {"0": [[0, [1, 2]]]}},
        {"looks": [["d", 1, 0, "d", 0]], "rows": {}},
        {"looks": [["d", "d", "0", "d", 0]], "rows": {}},
        {"looks": 1, "rows": {}},
        {"looks": [], "rows": []},
    ],
)
def test_part_when_it_is_none_then_it_is_malformed(part: dict[str, object]) -> None:
    with pytest.raises(Malformed):
        lane_wire.rows_of(part, 2)


@given(st.text(), st.booleans(), st.booleans(), st.booleans())
def test_key_when_it_crosses_then_it_comes_out_as_it_went_in(name: str, ctrl: bool, alt: bool, shift: bool) -> None:
    key = Key(name, ctrl, alt, shift)
    line = lane_wire.line({"id": 1, "keys": [lane_wire.of_key(key)]})
    back = lane_wire.keys_of(lane_wire.parsed(line[:-1]))[0]
    assert back == key._replace(name=name.encode("utf-8", "replace").decode())


def test_mouse_when_it_crosses_then_it_comes_out_as_it_went_in() -> None:
    mouse = Mouse("move", 999, 499, "none", ctrl=True, shift=True)
    assert lane_wire.mouse_of(json.loads(lane_wire.line(lane_wire.of_mouse(mouse)))) == mouse


@pytest.mark.parametrize(
    "message",
    [
        {"keys": "a"},
        {"keys": ["a"]},
        {"keys": [["a"]]},
        {"keys": [["a", "x"]]},
        {"keys": [["a", 1]]},
        {"keys": [[1, ""]]},
        {"keys": [["a", ""]] * (lane_wire.KEYS_LIMIT + 1)},
    ],
)
def test_keys_when_they_are_none_then_they_are_malformed(message: dict[str, object]) -> None:
    with pytest.raises(Malformed):
        lane_wire.keys_of(message)


@pytest.mark.parametrize(
    "change", [{"what": "lick"}, {"button": "fourth"}, {"column": -1}, {"line": 500}, {"with": "z"}, {"column": True}]
)
def test_mouse_when_it_is_none_then_it_is_malformed(change: dict[str, object]) -> None:
    with pytest.raises(Malformed):
        lane_wire.mouse_of({**lane_wire.of_mouse(Mouse("press", 0, 0)), **change})
