"""What the engine and a capsule say to each other: the lane, version 1.

Private to this program, and versioned, because a capsule outlives the engine that started it. One JSON object a line,
compact, read strictly, at most 1 MiB. Requests carry a number that the answer repeats; an event carries none. Cells are
encoded so that they come out as they went in, whatever a program drew: a run is `[look, text]` when each cell is one
character, `[look, [cells]]` when not, and `[look, n]` for n spaces. Pure; the capsule loads it, so it stays light.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sot_tui.comm import jsonline
from sot_tui.comm.errors import Refused
from sot_tui.engine.rows import keys
from sot_tui.engine.rows.values import Key, Mouse
from sot_tui.wake.cells import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LANE = 1
"""The version of what stands here."""
LINE_LIMIT = 1 << 20
"""Bytes of one line, its newline not counted."""
PART_BYTES = 1 << 19
"""About where an answer of many rows is cut; the rest comes in lines of their own."""
QUEUE_LIMIT = 1 << 16
"""Bytes of input that may wait for an agent that does not read; more are refused (product, Rows)."""
COLUMNS = (1, 1000)
"""Columns of a terminal, at least and at most."""
LINES = (1, 500)
"""The same of its lines."""
PASTE_PARTS = frozenset({"whole", "first", "next", "last", "drop"})
"""What of a paste a request brings: a long one comes in parts, and ends with its last one or is given up."""
KEYS_LIMIT = 4096
"""Keys of one request."""
HISTORY_ROWS = 500
"""Rows of history in one answer at most."""

_NUMBER_LIMIT = 1 << 53
_BITS = ("bold", "dim", "italic", "blink", "reverse", "hidden", "strike", "overline")


class Malformed(Refused):
    """What came over a lane is not what it may be; the sentence says what is wrong with it."""


Row = tuple[Cell, ...]


# -- lines ---------------------------------------------------------------------------------------------------------


def line(message: Mapping[str, object]) -> bytes:
    """Return a message as its line; what is no character becomes a question mark."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def parsed(data: bytes) -> dict[str, Any]:
    """Return the message in a line without its newline; raise Malformed for what is none."""
    try:
        return jsonline.decode_object(data, unique_keys=True)
    except jsonline.NotStrict as error:
        raise Malformed(error.sentence) from error


def integer(message: Mapping[str, Any], name: str, low: int, high: int, otherwise: int | None = None) -> int:
    """Return a whole number of a message within bounds; raise Malformed for anything else."""
    value = message.get(name, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise Malformed(f"{name} is no whole number from {low} to {high}")
    return value


def number_of(message: Mapping[str, Any]) -> int:
    """Return the number of a request or of its answer."""
    return integer(message, "id", 0, _NUMBER_LIMIT)


def text(message: Mapping[str, Any], name: str, otherwise: str | None = None) -> str:
    """Return a text of a message; raise Malformed for anything else."""
    value = message.get(name, otherwise)
    if not isinstance(value, str):
        raise Malformed(f"{name} is no text")
    return value


# -- screens -------------------------------------------------------------------------------------------------------


class Looks:
    """The table of looks that the runs of one answer refer to."""

    def __init__(self) -> None:
        self.table: list[list[object]] = []
        self._places: dict[tuple[object, ...], int] = {}

    def place(self, cell: Cell) -> int:
        """Return the place of a cell's look in the table, with a new one at its end."""
        look = cell[1:]
        found = self._places.get(look)
        if found is None:
            found = self._places[look] = len(self.table)
            bits = sum(1 << bit for bit, name in enumerate(_BITS) if getattr(cell, name))
            self.table.append([cell.fg, cell.bg, cell.underline, cell.underline_color, bits])
        return found


def runs(row: Sequence[Cell], looks: Looks) -> list[list[object]]:
    """Return a row as runs."""
    found: list[list[object]] = []
    for place, cells in groupby(row, looks.place):
        parts = [cell.data for cell in cells]
        joined = "".join(parts)
        if len(joined) != len(parts) or "" in parts:
            found.append([place, parts])
        else:
            found.append([place, joined if joined.strip(" ") else len(joined)])
    return found


def parts(rows: Iterable[tuple[int, Sequence[Cell]]]) -> Iterator[dict[str, object]]:
    """Yield rows by their number in one part or more, each with its table of looks, and short enough for a line."""
    looks, changed, length = Looks(), {}, 0
    for number, row in rows:
        changed[str(number)] = encoded = runs(row, looks)
        # A look takes 80 bytes at most, a run's brackets, place and quotes 20; a character takes 6 when it is escaped.
        length += sum(20 + 6 * _characters(run[1]) for run in encoded)
        if length + 80 * len(looks.table) > PART_BYTES:
            yield {"looks": looks.table, "rows": changed}
            looks, changed, length = Looks(), {}, 0
    yield {"looks": looks.table, "rows": changed}


def _characters(cells: object) -> int:
    if isinstance(cells, list):
        return sum(len(cell) + 1 for cell in cells)
    return len(cells) if isinstance(cells, str) else 0


def rows_of(message: Mapping[str, Any], columns: int) -> dict[int, Row]:
    """Return the rows of a part, by their number; raise Malformed for what is no part."""
    try:
        looks = [_look(*look) for look in message["looks"]]
        return {int(number): _row(encoded, looks, columns) for number, encoded in message["rows"].items()}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise Malformed(f"rows that cannot be read: {error}") from error


def of_wrapped(rows: Iterable[tuple[int, int]]) -> dict[str, object]:
    """Return which rows go on in the next one, by their number, as a message says it: not at all where none does."""
    found = {str(number): cells for number, cells in rows if cells}
    return {"wrapped": found} if found else {}


def wrapped_of(message: Mapping[str, Any], numbers: Iterable[int], columns: int) -> tuple[int, ...]:
    """Return for each row by its number how far it goes on, 0 where nothing is said; raise Malformed for no number.

    An older capsule says nothing of it at all.
    """
    said = message.get("wrapped", {})
    if not isinstance(said, dict):
        raise Malformed("wrapped is no table of rows")
    return tuple([integer(said, str(number), 0, columns, 0) for number in numbers])


class _Look(dict[str, Cell]):
    """The cells of one look; a cell is made once."""

    def __init__(self, plain: Cell) -> None:
        self._plain = plain

    def __missing__(self, data: str) -> Cell:
        if not isinstance(data, str):
            raise TypeError("a cell is no text")
        cell = self[data] = self._plain._replace(data=data)
        return cell


def _look(fg: object, bg: object, underline: object, underline_color: object, bits: object) -> _Look:
    if not (isinstance(fg, str) and isinstance(bg, str) and isinstance(underline_color, str)):
        raise TypeError("a colour is no text")
    if not (isinstance(underline, int) and isinstance(bits, int)):
        raise TypeError("an attribute is no number")
    attributes = {name: bool(bits >> bit & 1) for bit, name in enumerate(_BITS)}
    return _Look(Cell("", fg, bg, underline=underline, underline_color=underline_color, **attributes))


def _row(encoded: Iterable[tuple[int, Any]], looks: Sequence[_Look], columns: int) -> Row:
    row: list[Cell] = []
    for place, said in encoded:
        look = looks[place]
        if isinstance(said, int):
            if not 0 <= said <= columns:
                raise ValueError("a run is longer than its row")
            row += [look[" "]] * said
        else:
            row += [look[data] for data in said]
    if len(row) != columns:
        raise ValueError("a row of another length")
    return tuple(row)


# -- what a person does ----------------------------------------------------------------------------------------------


def of_key(key: Key) -> list[object]:
    """Return a key as it travels: its name, and the letters of its modifiers."""
    return [key.name, _modifiers(key)]


def keys_of(message: Mapping[str, Any]) -> list[Key]:
    """Return the keys of a request; raise Malformed for what is none."""
    said = message.get("keys")
    if not isinstance(said, list) or len(said) > KEYS_LIMIT:
        raise Malformed(f"keys is no list of at most {KEYS_LIMIT} keys")
    found = []
    for one in said:
        if not (isinstance(one, list) and len(one) == 2 and isinstance(one[0], str)):
            raise Malformed("a key is no name with its modifiers")
        found.append(Key(one[0], *_modifiers_of(one[1])))
    return found


def of_mouse(mouse: Mouse) -> dict[str, object]:
    """Return what a mouse did, as it travels."""
    modifiers = _modifiers(mouse)
    return {
        "what": mouse.what, "column": mouse.column, "line": mouse.line, "button": mouse.button, "with": modifiers,
    }  # fmt: skip


def mouse_of(message: Mapping[str, Any]) -> Mouse:
    """Return the mouse of a request; raise Malformed for what is none."""
    what, button = text(message, "what"), text(message, "button")
    if what not in keys.ACTS or button not in keys.BUTTONS:
        raise Malformed("a mouse that does what none can do")
    column, row = integer(message, "column", 0, COLUMNS[1] - 1), integer(message, "line", 0, LINES[1] - 1)
    return Mouse(what, column, row, button, *_modifiers_of(message.get("with", "")))


def _modifiers(one: Key | Mouse) -> str:
    return ("c" if one.ctrl else "") + ("a" if one.alt else "") + ("s" if one.shift else "")


def _modifiers_of(said: object) -> tuple[bool, bool, bool]:
    if not isinstance(said, str) or not set(said) <= set("cas"):
        raise Malformed("modifiers are the letters c, a and s")
    return "c" in said, "a" in said, "s" in said
