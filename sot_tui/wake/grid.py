"""The rows and the cursor of an emulated screen: pyte's screen, made right and fast.

What stock pyte gets wrong is put right here: alternate screens, margins, insert and delete, wide, zero-width and joined
characters, the wrap that waits at the right edge, backgrounds of what is erased, a size that shrinks. Where terminals
differ, tmux is followed. pyte keeps a row as a sparse table of characters; here it is a list of shared cells with a
frozen copy, so that a run of text is one assignment, and a reader finds the rows that did not change by identity.
Every method takes any number: what lies outside the screen is clamped, nothing raises.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from pyte.screens import Cursor, Screen

from sot_tui.wake.cells import BLANK, WIDTHS, Cell, Palette, Style

if TYPE_CHECKING:
    from collections.abc import Iterable

_LINES = dict(zip(range(0x5F, 0x7F), "\u00a0◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))
"""The line drawing set, as the VT100 has it."""
_LONGEST_CELL = 32
"""Code points in one cell. The longest emoji that is in use has ten; more is a heap of accents."""
_HISTORY_CELLS = 8192
"""How many cells history may keep alive that nothing else shows: about 2 MiB, where each is unlike all others."""

_JOINER = "\u200d"
"""What makes one emoji of two."""
_NARROW = {1}
"""The widths of a run that can be written at once."""

ORIGIN = 6
"""DEC private mode: rows count from the top margin."""
WRAP = 7
"""DEC private mode: text goes on in the next row."""
CURSOR = 25
"""DEC private mode: the cursor is shown."""
INSERT = -4
"""ANSI mode: text moves what stands to the right."""
NEWLINE = -20
"""ANSI mode: a line feed returns the carriage too."""


class Row:
    """One row: its cells, and their frozen copy where a reader has seen it and nothing has changed since."""

    __slots__ = ("cells", "frozen", "joined", "wrapped")

    def __init__(self, cells: list[Cell]) -> None:
        self.cells = cells
        self.frozen: tuple[Cell, ...] | None = None
        self.wrapped = False
        """Whether its text goes on in the next row."""
        self.joined = 0
        """How many of its cells are of a line that goes on in the next row; 0 where a reader would not say so."""

    def end(self) -> None:
        """Let its text go on in the next row no more."""
        self.wrapped = False
        self.joined = 0


class _Saved(NamedTuple):
    """What is saved with a cursor."""

    x: int
    y: int
    style: Style
    charsets: tuple[bool, bool]
    shifted: bool
    is_origin: bool


class Grid(Screen):
    """pyte's screen with rows, cells and movements of our own."""

    def __init__(self, columns: int, lines: int, history: int) -> None:
        self.palette = Palette()
        self.history: deque[tuple[int, tuple[Cell, ...], int]] = deque(maxlen=max(0, history))
        """The rows that left the main screen at its top, each behind how many cells had been made by then, and before
        how many of its cells are of a line that goes on."""
        self.history_total = 0
        """How many rows have left, and not come back, since the start."""
        super().__init__(max(1, columns), max(1, lines))

    # -- the whole screen ---------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Start over (RIS). History stays."""
        self.cursor = Cursor(0, 0)
        self.cursor_shape = 0
        """The last DECSCUSR, 0 to 6."""
        self.style = self.palette.plain
        self.rows = self._blank_rows(self.lines, BLANK)
        self.parked: list[Row] | None = None
        """The rows of the main screen while the alternate one is in use."""
        self._parked_cursor: _Saved | None = None
        """The main screen's cursor as mode 1049 has kept it."""
        self._parked_y = 0
        """The row in which the main screen was left."""
        self.modes = {WRAP, CURSOR}
        """The DEC private modes that are set by their number, the ANSI ones by their negative number."""
        self.tabstops = set(range(8, self.columns, 8))
        self.title = self.icon_name = ""
        self._top, self._bottom = 0, self.lines - 1
        self._forget()

    def soft_reset(self) -> None:
        """Put back what a program may have left behind, and no text (DECSTR)."""
        self.style = self.palette.plain
        self.modes -= {ORIGIN, INSERT, NEWLINE, 1, 66}
        self.modes |= {WRAP, CURSOR}
        self._top, self._bottom = 0, self.lines - 1
        self._forget()

    def _forget(self) -> None:
        """Forget the saved cursor and the chosen character sets."""
        self._line_drawing = [False, False]
        self._shifted = False
        self._saved: _Saved | None = None

    def _blank_rows(self, count: int, cell: Cell) -> list[Row]:
        return [Row([cell] * self.columns) for _ in range(count)]

    def frozen(self, earlier: tuple[tuple[Cell, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
        """Return the rows as values: the very objects of an earlier reading where they show the same."""
        return tuple([row.frozen or _frozen(row, earlier, y) for y, row in enumerate(self.rows)])

    @property
    def display(self) -> list[str]:
        """The text of the rows."""
        return ["".join([cell.data for cell in row.cells]) for row in self.rows]

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Take a new size. Rows are cut or filled, never reflowed; the cursor stays inside.

        Where there are too few lines those below the cursor go first, then the top ones, into history; where there are
        more, rows come back from there.
        """
        lines, columns = max(1, lines or self.lines), max(1, columns or self.columns)
        if (lines, columns) == (self.lines, self.columns):
            return
        self.tabstops |= {stop for stop in range(8, columns, 8) if stop >= self.columns}
        self.columns, self.lines = columns, lines
        cursor = self.cursor
        if self.parked is None:
            self.rows, cursor.y = self._fitted(self.rows, cursor.y, is_main=True)
        else:
            self.rows, cursor.y = self._fitted(self.rows, cursor.y, is_main=False)
            self.parked, y = self._fitted(self.parked, self._parked_y, is_main=True)
            if self._parked_cursor:
                self._parked_cursor = self._parked_cursor._replace(y=y)
            self._parked_y = y
        cursor.x = min(cursor.x, columns)  # one that was further right waits behind the last column now
        self._top, self._bottom = 0, lines - 1

    def _fitted(self, rows: list[Row], y: int, *, is_main: bool) -> tuple[list[Row], int]:
        """Return the rows in the new size, and where the row with the cursor is now."""
        y = min(y, len(rows) - 1)
        surplus = len(rows) - self.lines
        if surplus > 0:
            from_below = min(surplus, len(rows) - 1 - y)
            del rows[len(rows) - from_below :]
            if from_below:
                rows[-1].end()
            from_above = surplus - from_below
            if is_main:
                for row in rows[:from_above]:
                    self._put_away(row)
            del rows[:from_above]
            y -= from_above
        else:
            back = min(-surplus, len(self.history)) if is_main else 0
            rows = [_back(*self.history.pop()) for _ in range(back)][::-1] + rows
            self.history_total -= back
            y += back
            rows += [Row([]) for _ in range(self.lines - len(rows))]
        for row in rows:
            _fit(row, self.columns)
        return rows, y

    # -- text ---------------------------------------------------------------------------------------------------------

    def draw(self, data: str) -> None:
        """Write text at the cursor. A run of narrow characters is one assignment for each row."""
        if self._line_drawing[self._shifted]:
            data = data.translate(_LINES)
        modes = self.modes
        is_narrow = data.isascii() or (set(map(WIDTHS.__getitem__, data)) == _NARROW and not self._is_joining())
        if INSERT in modes or not is_narrow:
            self._draw_each(data)
            return
        cursor = self.cursor
        columns = self.columns
        cell_of = self.style.__getitem__
        at, end = 0, len(data)
        while at < end:
            x = cursor.x
            if x >= columns:
                if WRAP in modes:
                    self._wrap()
                    x = 0
                else:
                    x = columns - 1
            room = columns - x
            if end - at <= room:
                stop = end
            elif WRAP in modes:
                stop = at + room
            else:
                # The text sticks at the last column, where its last character stays.
                data, at, stop = data[at : at + room - 1] + data[-1], 0, room
                end = room
            row = self.rows[cursor.y]
            cells = row.cells
            row.frozen = None
            until = x + stop - at
            if not cells[x].data:
                cells[x - 1] = BLANK
            if until < columns and not cells[until].data:
                cells[until] = BLANK
            cells[x:until] = map(cell_of, data[at:stop])
            cursor.x = until if until < columns or WRAP in modes else columns - 1
            at = stop

    def _is_joining(self) -> bool:
        """Return whether the cell before the cursor ends in a joiner, so that what comes first now belongs to it."""
        x = self.cursor.x
        cells = self.rows[self.cursor.y].cells
        return x > 0 and (cells[x - 1].data or cells[x - 2].data)[-1] == _JOINER

    def _draw_each(self, data: str) -> None:
        """Write text whose characters differ in width, or push others aside."""
        for char in data:
            width = WIDTHS[char]
            if width < 0:
                continue
            if (width == 0 or char >= "\x80") and self._join(char, is_needed=width == 0):
                continue
            self._put(char, width)

    def _join(self, char: str, *, is_needed: bool) -> bool:
        """Add a character to the cell before the cursor; say whether it has found its place.

        One without a width of its own belongs there, and so does whatever follows a joiner. With no cell before it
        the former has no place at all.
        """
        x = self.cursor.x - 1
        row = self.rows[self.cursor.y]
        if x > 0 and not row.cells[x].data:
            x -= 1
        if x < 0:
            return is_needed
        last = row.cells[x]
        if not is_needed and last.data[-1] != _JOINER:
            return False
        if len(last.data) >= _LONGEST_CELL:
            return is_needed
        self.palette.count(self.style)
        row.cells[x] = last._replace(data=last.data + char)
        row.frozen = None
        return True

    def _put(self, char: str, width: int) -> None:
        """Write one character of one or two columns."""
        cursor = self.cursor
        columns = self.columns
        if width > columns:
            return
        if WRAP in self.modes:
            if cursor.x > columns - width:
                self._wrap()
        elif cursor.x > columns - width:
            if width > 1:
                return
            cursor.x = columns - 1
        x = cursor.x
        row = self.rows[cursor.y]
        cells = row.cells
        row.frozen = None
        if INSERT in self.modes:
            self._shift_right(cells, x, width, BLANK)
        _part(cells, x)
        _part(cells, x + width)
        cells[x] = self.style[char]
        if width > 1:
            cells[x + 1] = self.style[""]
        cursor.x = x + width
        if cursor.x >= columns and WRAP not in self.modes:
            cursor.x = columns - 1

    def _wrap(self) -> None:
        """Go on at the start of the next row."""
        row = self.rows[self.cursor.y]
        row.wrapped = True
        row.joined = min(self.cursor.x, self.columns)
        self._advance(BLANK)
        self.cursor.x = 0

    def repeat(self, char: str, count: int) -> None:
        """Write a character again (REP), to the end of the row at most."""
        self.draw(char * min(max(1, count), self.columns - self.cursor.x))

    # -- scrolling ----------------------------------------------------------------------------------------------------

    def index(self) -> None:
        """Move down a row (IND), and scroll where the region ends."""
        self.rows[self.cursor.y].end()
        self._advance(self.style.erased)

    def linefeed(self) -> None:
        """Move down a row, and to its start where that mode is set."""
        self.rows[self.cursor.y].end()
        self._advance(self.style.erased)
        if NEWLINE in self.modes:
            self.cursor.x = 0

    def next_line(self) -> None:
        """Move to the start of the next row (NEL)."""
        self.index()
        self.cursor.x = 0

    def _advance(self, cell: Cell) -> None:
        cursor = self.cursor
        if cursor.y == self._bottom:
            self._scroll_up(self._top, self._bottom, 1, cell)
        elif cursor.y < self.lines - 1:
            cursor.y += 1

    def reverse_index(self) -> None:
        """Move up a row (RI), and scroll back where the region begins."""
        cursor = self.cursor
        if cursor.y == self._top:
            self._scroll_down(self._top, self._bottom, 1)
        elif cursor.y > 0:
            cursor.y -= 1

    def scroll_up(self, count: int) -> None:
        """Move the rows of the region up (SU)."""
        self._scroll_up(self._top, self._bottom, count, self.style.erased)

    def scroll_down(self, count: int) -> None:
        """Move the rows of the region down (SD)."""
        self._scroll_down(self._top, self._bottom, count)

    def insert_lines(self, count: int | None = None) -> None:
        """Put blank rows before the cursor's (IL), if that is inside the region."""
        if self._top <= self.cursor.y <= self._bottom:
            self._scroll_down(self.cursor.y, self._bottom, count or 1)

    def delete_lines(self, count: int | None = None) -> None:
        """Take rows out from the cursor's on (DL), if that is inside the region."""
        if self._top <= self.cursor.y <= self._bottom:
            self._end_above(self.cursor.y)
            self._take_out(self.cursor.y, self._bottom, count or 1, self.style.erased)

    def _scroll_up(self, top: int, bottom: int, count: int, cell: Cell) -> None:
        count = min(count, bottom - top + 1)
        if top == 0 and self.parked is None:
            for row in self.rows[:count]:
                self._put_away(row)
        self._take_out(top, bottom, count, cell)

    def _take_out(self, top: int, bottom: int, count: int, cell: Cell) -> None:
        count = min(count, bottom - top + 1)
        rows = self.rows
        if top:
            rows[top - 1].joined = 0
        del rows[top : top + count]
        rows[bottom + 1 - count : bottom + 1 - count] = self._blank_rows(count, cell)

    def _scroll_down(self, top: int, bottom: int, count: int) -> None:
        count = min(count, bottom - top + 1)
        self._end_above(top)
        rows = self.rows
        del rows[bottom + 1 - count : bottom + 1]
        rows[top:top] = self._blank_rows(count, self.style.erased)
        rows[bottom].joined = 0

    def _end_above(self, y: int) -> None:
        """Let the row above go on here no more: what it went on with is gone, or moved."""
        if y:
            self.rows[y - 1].end()
        elif self.parked is None and self.history and self.history[-1][2]:
            self.history[-1] = (*self.history[-1][:2], 0)

    def _put_away(self, row: Row) -> None:
        """Add a row to history, without most blanks behind its text; let the oldest go where they hold too much."""
        cells = row.cells
        length = len(cells)
        step = length // 2
        while step > 2:
            if cells[length - step : length] == [BLANK] * step:
                length -= step
            step //= 2
        made = self.palette.made
        history = self.history
        history.append((made, tuple(cells[:length]), row.joined))
        self.history_total += 1
        while history and made - history[0][0] > _HISTORY_CELLS:
            history.popleft()

    # -- editing ------------------------------------------------------------------------------------------------------

    def insert_characters(self, count: int | None = None) -> None:
        """Put blanks before the cursor (ICH); what leaves at the right is lost."""
        row = self.rows[self.cursor.y]
        if self.cursor.x < self.columns:
            row.frozen = None
            self._shift_right(row.cells, self.cursor.x, count or 1, self.style.erased)

    def _shift_right(self, cells: list[Cell], x: int, count: int, cell: Cell) -> None:
        count = min(count, self.columns - x)
        _part(cells, x)
        _part(cells, self.columns - count)
        del cells[self.columns - count :]
        cells[x:x] = [cell] * count

    def delete_characters(self, count: int | None = None) -> None:
        """Take out characters at the cursor (DCH); the rest moves up to it."""
        x = self.cursor.x
        if x >= self.columns:
            return
        row = self.rows[self.cursor.y]
        row.frozen = None
        cells = row.cells
        count = min(count or 1, self.columns - x)
        _part(cells, x)
        _part(cells, x + count)
        del cells[x : x + count]
        cells += [self.style.erased] * count

    def erase_characters(self, count: int | None = None) -> None:
        """Blank characters from the cursor on (ECH)."""
        x = self.cursor.x
        self._erase(self.cursor.y, x, min(x + (count or 1), self.columns))

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:  # noqa: ARG002  (pyte's own)
        """Blank the row from the cursor on (0), up to the cursor (1), or all of it (2)."""
        cursor = self.cursor
        if how == 0:
            self._erase(cursor.y, cursor.x, self.columns)
        elif how == 1:
            self._erase(cursor.y, 0, min(cursor.x + 1, self.columns))
        elif how == 2:
            self._erase(cursor.y, 0, self.columns)

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002  (pyte's own)
        """Blank the screen from the cursor on (0), up to the cursor (1), all of it (2), or forget the history (3)."""
        y = self.cursor.y
        if how == 0:
            self.erase_in_line(0)
            self._erase_rows(range(y + 1, self.lines))
        elif how == 1:
            self._erase_rows(range(y))
            self.erase_in_line(1)
        elif how == 2:
            self._erase_rows(range(self.lines))
        elif how == 3:
            self.history.clear()

    def _erase(self, y: int, start: int, stop: int) -> None:
        if start >= stop:
            return
        row = self.rows[y]
        row.frozen = None
        cells = row.cells
        _part(cells, start)
        _part(cells, stop)
        cells[start:stop] = [self.style.erased] * (stop - start)
        if stop == self.columns:
            row.joined = 0  # a program that draws a row anew blanks what is left of it
        if stop - start == self.columns:
            row.end()
            self._end_above(y)

    def _erase_rows(self, places: Iterable[int]) -> None:
        for y in places:
            self._erase(y, 0, self.columns)

    def alignment_display(self) -> None:
        """Fill the screen with E (DECALN)."""
        for row in self.rows:
            row.cells = [self.palette.plain["E"]] * self.columns
            row.frozen = None
            row.joined = 0
        self._top, self._bottom = 0, self.lines - 1
        self.cursor.x = self.cursor.y = 0

    # -- the cursor ---------------------------------------------------------------------------------------------------

    def set_margins(self, top: int | None = None, bottom: int | None = None) -> None:
        """Choose the rows that scroll (DECSTBM); the cursor goes home. A region of less than two rows is none."""
        first = min(max(1, top or 1), self.lines) - 1
        last = min(bottom or self.lines, self.lines) - 1
        if first < last:
            self._top, self._bottom = first, last
            self.cursor.x = self.cursor.y = 0

    def cursor_up(self, count: int | None = None) -> None:
        """Move up, no further than the region's top if inside or below it."""
        cursor = self.cursor
        stop = self._top if cursor.y >= self._top else 0
        cursor.y = max(stop, cursor.y - (count or 1))
        self._come_back()

    def cursor_down(self, count: int | None = None) -> None:
        """Move down, no further than the region's bottom if inside or above it."""
        cursor = self.cursor
        stop = self._bottom if cursor.y <= self._bottom else self.lines - 1
        cursor.y = min(stop, cursor.y + (count or 1))
        self._come_back()

    def _come_back(self) -> None:
        """Put a cursor that waits behind the last column onto it."""
        self.cursor.x = min(self.cursor.x, self.columns - 1)

    def cursor_up1(self, count: int | None = None) -> None:
        """Move up to the start of a row (CPL)."""
        self.cursor.x = 0
        self.cursor_up(count)

    def cursor_down1(self, count: int | None = None) -> None:
        """Move down to the start of a row (CNL)."""
        self.cursor.x = 0
        self.cursor_down(count)

    def cursor_forward(self, count: int | None = None) -> None:
        """Move right, to the last column at most."""
        self.cursor.x = min(self.cursor.x + (count or 1), self.columns - 1)

    def cursor_back(self, count: int | None = None) -> None:
        """Move left. One that waits behind the last column counts from there."""
        self.cursor.x = max(0, self.cursor.x - (count or 1))

    def backspace(self) -> None:
        """Move left one column, and from the first one back to the end of a row that was too long."""
        cursor = self.cursor
        if cursor.x:
            cursor.x -= 1
        elif cursor.y and self.rows[cursor.y - 1].wrapped:
            cursor.y -= 1
            cursor.x = self.columns - 1

    def cursor_position(self, line: int | None = None, column: int | None = None) -> None:
        """Move to a place (CUP), counted from 1."""
        self.cursor.x = min(max(1, column or 1), self.columns) - 1
        self.cursor_to_line(line)

    def cursor_to_column(self, column: int | None = None) -> None:
        """Move to a column (CHA, HPA), counted from 1."""
        self.cursor.x = min(max(1, column or 1), self.columns) - 1

    def cursor_to_line(self, line: int | None = None) -> None:
        """Move to a row (VPA), counted from 1; from the region's top where that mode is set."""
        y = max(1, line or 1) - 1
        if ORIGIN in self.modes:
            self.cursor.y = min(self._top + y, self._bottom)
        else:
            self.cursor.y = min(y, self.lines - 1)

    def tab(self) -> None:
        """Move to the next tab stop, or the last column. One that waits behind it goes on waiting."""
        cursor = self.cursor
        if cursor.x < self.columns - 1:
            following = [stop for stop in self.tabstops if cursor.x < stop < self.columns]
            cursor.x = min(following, default=self.columns - 1)

    def tab_back(self, count: int) -> None:
        """Move back over tab stops (CBT)."""
        cursor = self.cursor
        stops = sorted(stop for stop in self.tabstops if stop < min(cursor.x, self.columns - 1))
        cursor.x = stops[-count] if count <= len(stops) else 0

    def set_tab_stop(self) -> None:
        """Put a tab stop at the cursor (HTS)."""
        if self.cursor.x < self.columns:
            self.tabstops.add(self.cursor.x)

    def save_cursor(self) -> None:
        """Keep the cursor, its style and its character sets (DECSC)."""
        self._saved = self._cursor_now()

    def _cursor_now(self) -> _Saved:
        first, second = self._line_drawing
        return _Saved(self.cursor.x, self.cursor.y, self.style, (first, second), self._shifted, ORIGIN in self.modes)

    def restore_cursor(self) -> None:
        """Put the cursor back as it was kept (DECRC): home and plain where it never was."""
        self._restore(self._saved or _Saved(0, 0, self.palette.plain, (False, False), False, False))

    def _restore(self, saved: _Saved) -> None:
        self.cursor.x = min(saved.x, self.columns - 1)
        self.cursor.y = min(saved.y, self.lines - 1)
        self.style = saved.style
        self._line_drawing = list(saved.charsets)
        self._shifted = saved.shifted
        self.modes.discard(ORIGIN)
        if saved.is_origin:
            self.modes.add(ORIGIN)

    # -- modes and sets -----------------------------------------------------------------------------------------------

    def switch_screen(self, *, to_alternate: bool, with_cursor: bool) -> None:
        """Go to the alternate screen, which begins blank, or back to the main one as it was left (47, 1047, 1049)."""
        if to_alternate and self.parked is None:
            if with_cursor:
                self._parked_cursor = self._cursor_now()
            self.parked, self._parked_y = self.rows, self.cursor.y
            self.rows = self._blank_rows(self.lines, BLANK)
        elif not to_alternate:
            if with_cursor and self._parked_cursor:
                self._restore(self._parked_cursor)
            if self.parked is not None:
                self.rows, self.parked = self.parked, None
                self._come_back()

    def clear_and_home(self) -> None:
        """Do what a change of width does, without the change (DECCOLM)."""
        self._erase_rows(range(self.lines))
        self.cursor_position()

    def choose_set(self, place: str, name: str) -> None:
        """Choose the character set in G0 or G1: line drawing, or plain as all others are taken for."""
        self._line_drawing[place == ")"] = name == "0"

    def shift_out(self) -> None:
        """Use G1."""
        self._shifted = True

    def shift_in(self) -> None:
        """Use G0."""
        self._shifted = False


def _part(cells: list[Cell], x: int) -> None:
    """Blank a wide character that stands across the left edge of a column."""
    if 0 < x < len(cells) and not cells[x].data:
        cells[x - 1] = cells[x] = BLANK


def _frozen(row: Row, earlier: tuple[tuple[Cell, ...], ...], y: int) -> tuple[Cell, ...]:
    """Freeze a row: as the very object that an earlier reading had in its place, if that is equal."""
    now = tuple(row.cells)
    if y < len(earlier) and now == earlier[y]:
        now = earlier[y]
    row.frozen = now
    return now


def _fit(row: Row, columns: int) -> None:
    """Cut a row to a width, or fill it."""
    cells = row.cells
    if len(cells) != columns:
        _part(cells, columns)
        del cells[columns:]
        cells += [BLANK] * (columns - len(cells))
        row.frozen = None
    if row.joined > columns:
        row.joined = 0  # what its line went on with at the old edge is lost


def _back(_made: int, cells: tuple[Cell, ...], joined: int) -> Row:
    """Make a row of one that comes back from history."""
    row = Row(list(cells))
    row.wrapped, row.joined = joined > 0, joined
    return row
