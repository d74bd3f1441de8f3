"""The terminal that a row's agent writes to: bytes in, an immutable screen out.

The free-prompt rule, the dialog check and the pane read this screen, so it shows what a person would see: dim cells,
the alternate screen, joined characters, and never half of a frame that the agent has marked as one (mode 2026). It
answers what agents ask of a terminal, and not the kitty keyboard query: that would change how keys must be sent. It
never raises and never loses what follows a sequence it does not know; title, status and history are bounded.

It is fed by the process that owns the row's pseudo-terminal; it opens nothing, knows no clock, and is told the time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.wake.attributes import turned
from sot_tui.wake.cells import BLANK, Cell
from sot_tui.wake.grid import CURSOR, INSERT, NEWLINE, ORIGIN, WRAP, Grid
from sot_tui.wake.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Cell", "Screen", "Terminal"]

CURSOR_KEYS = 1
"""Mode: the arrow keys send their application form (DECCKM)."""
KEYPAD = 66
"""Mode: so does the keypad (DECKPAM)."""
MOUSE_CLICKS, MOUSE_DRAGS, MOUSE_MOVES = 1000, 1002, 1003
"""Modes: what of the mouse is reported; at most one of them is set, or the older 9 and 1001."""
FOCUS = 1004
"""Mode: the program wants to know when the person looks at it."""
MOUSE_SGR = 1006
"""Mode: mouse reports are SGR sequences."""
PASTE = 2004
"""Mode: a paste is bracketed."""
SYNCHRONIZED = 2026
"""Mode: what follows is not complete until it is reset."""

_MOUSE = frozenset({9, 1000, 1001, 1002, 1003})
_FLAGS = frozenset({CURSOR_KEYS, 5, 12, KEYPAD, FOCUS, 1005, MOUSE_SGR, 1007, 1015, PASTE, WRAP, CURSOR})
"""The private modes that do no more than be set, for a reader to see."""
_OFFERED = (_FLAGS | _MOUSE | {ORIGIN}) - {5, 12, 1001, 1005, 1007, 1015}
"""The modes that DECRQM is told we know: not those that ask for input in a form which nobody here would send."""
_ALTERNATE = frozenset({47, 1047, 1049})
_SYNCHRONIZED_S = 1.0
"""Seconds an unfinished frame is waited for, as tmux and the terminals wait."""

_ATTRIBUTES = "\x1b[?62;22c"
"""What we are (DA1): a VT220 with colours, the answer under which the recordings were made."""
_FOREGROUND, _BACKGROUND = "rgb:d0d0/d0d0/d0d0", "rgb:1010/1010/1414"
"""The colours that OSC 10 and 11 are told: light on dark, as the recordings were made."""
_MOST_REPLIES = 4096
"""Bytes of answers that wait; what is asked beyond them is not answered."""
_ASKED_COLORS = {"10": _FOREGROUND, "11": _BACKGROUND}
_NAMES = frozenset({"0", "1", "2"})
"""The system commands that name the window (2), its icon (1), or both."""
_LONGEST_TITLE = 1024
"""Characters of a title."""
_TITLES = 10
"""How many titles are put aside (XTWINOPS 22)."""
_PLANS = 2048
"""How many different control sequences are remembered."""
_LARGEST = 99_999
"""What a larger parameter counts as."""
_SHAPES = 6
"""The last shape of the cursor."""
_ANSI = frozenset({INSERT, NEWLINE})
"""The ANSI modes that are known."""
_CONTROL = re.compile(r"\x1b\[([<=>?]?)([0-9;:]*)([ -/]*[@-~])")
"""A control sequence: its prefix, its parameters, and what names it."""


class Screen(NamedTuple):
    """What a reader sees: the last complete screen."""

    columns: int
    lines: int
    rows: tuple[tuple[Cell, ...], ...]
    """A row that is unchanged since the last snapshot is the same object."""
    cursor_x: int
    """Always inside: a cursor that waits behind the last column is on it."""
    cursor_y: int
    cursor_visible: bool
    cursor_shape: int
    """The last DECSCUSR, 0 to 6: 0 and 1 blinking block, 2 block, 3 and 4 underline, 5 and 6 bar."""
    title: str
    icon: str
    status: str
    """The last program status report (OSC 7501) of the program itself; empty where it sent none."""
    alternate: bool
    modes: frozenset[int]
    """DEC private modes by their number, ANSI ones by their negative number."""
    wrapped: tuple[int, ...]
    """For each row how many of its cells are of a line that goes on in the next row, because the terminal wrapped it;
    0 where none does. What stands behind them was never written."""
    revision: int
    """Differs where anything else here does."""


class Terminal:
    """An emulated terminal of one program."""

    def __init__(self, columns: int, lines: int, history: int = 2000) -> None:
        self._grid = Grid(columns, lines, history)
        self._tokens = Tokens(self)
        self._replies: list[str] = []
        self._replies_length = 0
        self._title = self._icon = self._status = ""
        self._titles: list[str] = []
        self._last = ""
        """The last character written, where nothing has come since: what REP repeats."""
        self._now = 0.0
        self._held_since: float | None = None
        """When the frame began that is not complete yet."""
        self._is_touched = False
        self._shown = Screen(0, 0, (), 0, 0, True, 0, "", "", "", False, frozenset(), (), 0)
        self._plans: dict[str, tuple[Callable[..., None], tuple[object, ...]]] = {}
        self._make_tables()
        self._show()

    # -- what the owner of the pseudo-terminal calls ------------------------------------------------------------------

    def feed(self, data: bytes, now: float) -> None:
        """Take what the program wrote, cut anywhere."""
        self._now = now
        self._give_up(now)
        self._is_touched = True
        self._tokens.feed(data)

    def replies(self) -> bytes:
        """Return, once, what must be written back to the program."""
        if not self._replies:
            return b""
        waiting = "".join(self._replies).encode()
        self._replies.clear()
        self._replies_length = 0
        return waiting

    def resize(self, columns: int, lines: int) -> None:
        """Take a new size. A frame that was not complete is shown as it is: the program draws anew."""
        self._grid.resize(lines, columns)
        self._held_since = None
        self._is_touched = True

    # -- what a reader calls ------------------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """A number that has grown when anything a reader could see has changed."""
        if self._is_touched and self._held_since is None:
            self._show()
        return self._shown.revision

    def synchronizing(self, now: float) -> bool:
        """Return whether a frame has begun, is not complete, and is still waited for."""
        return self._held_since is not None and now - self._held_since < _SYNCHRONIZED_S

    def snapshot(self, now: float) -> Screen:
        """Return the last complete screen."""
        self._give_up(now)
        if self._is_touched and self._held_since is None:
            self._show()
        return self._shown

    @property
    def history_length(self) -> int:
        """How many rows that were scrolled off are kept."""
        return len(self._grid.history)

    @property
    def history_total(self) -> int:
        """How many rows were scrolled off, kept or not: a row's place that does not move when older ones go."""
        return self._grid.history_total

    def history_rows(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        """Return some of the kept rows, the oldest being 0, in the width of the screen."""
        grid = self._grid
        columns = grid.columns
        found = []
        for place in range(max(0, start), min(stop, len(grid.history))):
            cells = grid.history[place][1]
            if len(cells) > columns:
                whole = cells[columns].data
                cells = cells[:columns] if whole else (*cells[: columns - 1], BLANK)
            found.append((*cells, *[BLANK] * (columns - len(cells))))
        return found

    def history_wrapped(self, start: int, stop: int) -> list[int]:
        """Return for each of some kept rows how many of its cells are of a line that goes on in the next row."""
        history, columns = self._grid.history, self._grid.columns
        joined = [history[place][2] for place in range(max(0, start), min(stop, len(history)))]
        return [count if count <= columns else 0 for count in joined]

    def _give_up(self, now: float) -> None:
        if self._held_since is not None and now - self._held_since >= _SYNCHRONIZED_S:
            self._held_since = None

    def _show(self) -> None:
        """Make what a reader sees of what is there now."""
        self._is_touched = False
        grid, shown = self._grid, self._shown
        seen = (
            grid.columns,
            grid.lines,
            grid.frozen(shown.rows),
            min(grid.cursor.x, grid.columns - 1),
            grid.cursor.y,
            CURSOR in grid.modes,
            grid.cursor_shape,
            self._title,
            self._icon,
            self._status,
            grid.parked is not None,
            shown.modes if shown.modes == grid.modes else frozenset(grid.modes),
            tuple([row.joined for row in grid.rows]),
        )
        if seen != shown[:-1]:
            self._shown = Screen(*seen, shown.revision + 1)

    # -- what the tokenizer calls -------------------------------------------------------------------------------------

    def text(self, text: str) -> None:
        """Take printable text."""
        self._grid.draw(text)
        self._last = text[-1]

    def control(self, char: str) -> None:
        """Take one C0 control."""
        self._last = ""
        handler = self._controls.get(char)
        if handler:
            handler()

    def escape(self, sequence: str) -> None:
        """Take an escape sequence: its intermediates and its final character."""
        self._last = ""
        handler = self._escapes.get(sequence)
        if handler:
            handler()
        elif len(sequence) == 2 and sequence[0] in "()":
            self._grid.choose_set(*sequence)

    def sequence(self, sequence: str) -> None:
        """Take a whole control sequence, with its `ESC [`."""
        handler, arguments = self._plans.get(sequence) or self._plan(sequence)
        handler(*arguments)
        self._last = ""

    def command(self, payload: str, end: str) -> None:
        """Take a system command and what ended it."""
        self._last = ""
        number, _, text = payload.partition(";")
        if number in _NAMES:
            self._name(number, text)
        elif number == "7501":
            self._report(text, end)
        elif number in _ASKED_COLORS and text == "?":
            self._reply(f"\x1b]{number};{_ASKED_COLORS[number]}{_ended(end)}")

    # -- what the sequences do ----------------------------------------------------------------------------------------

    def _make_tables(self) -> None:
        grid = self._grid
        self._controls: dict[str, Callable[[], None]] = {
            "\b": grid.backspace,
            "\t": grid.tab,
            "\n": grid.linefeed,
            "\v": grid.linefeed,
            "\f": grid.linefeed,
            "\r": grid.carriage_return,
            "\x0e": grid.shift_out,
            "\x0f": grid.shift_in,
        }
        self._escapes: dict[str, Callable[[], None]] = {
            "7": grid.save_cursor,
            "8": grid.restore_cursor,
            "=": lambda: grid.modes.add(KEYPAD),
            ">": lambda: grid.modes.discard(KEYPAD),
            "D": grid.index,
            "E": grid.next_line,
            "H": grid.set_tab_stop,
            "M": grid.reverse_index,
            "Z": self._say_attributes,
            "c": self._reset,
            "#8": grid.alignment_display,
        }
        self._counted: dict[str, Callable[[int], None]] = {
            "@": grid.insert_characters,
            "A": grid.cursor_up,
            "B": grid.cursor_down,
            "C": grid.cursor_forward,
            "D": grid.cursor_back,
            "E": grid.cursor_down1,
            "F": grid.cursor_up1,
            "G": grid.cursor_to_column,
            "I": self._tab,
            "L": grid.insert_lines,
            "M": grid.delete_lines,
            "P": grid.delete_characters,
            "S": grid.scroll_up,
            "T": grid.scroll_down,
            "X": grid.erase_characters,
            "Z": grid.tab_back,
            "`": grid.cursor_to_column,
            "a": grid.cursor_forward,
            "b": self._repeat,
            "d": grid.cursor_to_line,
            "e": grid.cursor_down,
        }
        """What takes one count, 1 where there is none."""
        self._chosen: dict[str, Callable[[int], None]] = {
            "J": grid.erase_in_display,
            "K": grid.erase_in_line,
            "c": self._say_attributes,
            "g": self._clear_tab_stop,
            "n": self._say_status,
            " q": self._shape,
        }
        """What takes one choice, 0 where there is none."""
        self._listed: dict[str, Callable[..., None]] = {
            "H": grid.cursor_position,
            "f": grid.cursor_position,
            "r": grid.set_margins,
        }
        """What takes two numbers, or as many as there are."""
        self._several: dict[str, Callable[[list[int]], None]] = {
            "h": self._set_ansi,
            "l": self._reset_ansi,
            "?h": self._set_private,
            "?l": self._reset_private,
            "?$p": self._say_mode,
            "t": self._title_stack,
        }

    def _plan(self, sequence: str) -> tuple[Callable[..., None], tuple[object, ...]]:
        """Find out what a control sequence means, and remember it. Prefix, intermediates and final decide together."""
        found = _CONTROL.fullmatch(sequence)
        plan: tuple[Callable[..., None], tuple[object, ...]] = (_nothing, ())
        if found:
            prefix, params, rest = found.groups()
            if prefix + rest == "m":
                plan = (self._select, (params,))
            elif ":" not in params:
                plan = self._meaning(prefix + rest, [min(int(each or 0), _LARGEST) for each in params.split(";")])
        if len(self._plans) >= _PLANS:
            self._plans.clear()
        self._plans[sequence] = plan
        return plan

    def _meaning(self, name: str, numbers: list[int]) -> tuple[Callable[..., None], tuple[object, ...]]:
        if name in self._counted:
            return self._counted[name], (max(1, numbers[0]),)
        if name in self._chosen:
            return self._chosen[name], (numbers[0],)
        if name in self._listed:
            return self._listed[name], tuple(numbers[:2])
        if name in self._several:
            return self._several[name], (numbers,)
        if name in {"s", "u"} and numbers == [0]:
            return (self._grid.save_cursor if name == "s" else self._grid.restore_cursor), ()
        if name == "!p":
            return self._grid.soft_reset, ()
        return _nothing, ()

    def _select(self, params: str) -> None:
        grid = self._grid
        style = grid.style
        grid.style = style.turns.get(params) or grid.palette.turn(style, params, turned(style.look, params))

    def _tab(self, count: int) -> None:
        for _ in range(min(count, self._grid.columns)):
            self._grid.tab()

    def _repeat(self, count: int) -> None:
        if self._last:
            self._grid.repeat(self._last, count)

    def _clear_tab_stop(self, how: int) -> None:
        if how == 0:
            self._grid.tabstops.discard(self._grid.cursor.x)
        elif how == 3:
            self._grid.tabstops.clear()

    def _shape(self, shape: int) -> None:
        if shape <= _SHAPES:
            self._grid.cursor_shape = shape

    def _reset(self) -> None:
        self._grid.reset()
        self._held_since = None

    # -- modes --------------------------------------------------------------------------------------------------------

    def _set_ansi(self, numbers: list[int]) -> None:
        self._grid.modes |= {-number for number in numbers} & _ANSI

    def _reset_ansi(self, numbers: list[int]) -> None:
        self._grid.modes -= {-number for number in numbers}

    def _set_private(self, numbers: list[int]) -> None:
        for number in numbers:
            self._switch(number, is_on=True)

    def _reset_private(self, numbers: list[int]) -> None:
        for number in numbers:
            self._switch(number, is_on=False)

    def _switch(self, number: int, *, is_on: bool) -> None:
        grid = self._grid
        if number in _FLAGS:
            (grid.modes.add if is_on else grid.modes.discard)(number)
        elif number == SYNCHRONIZED:
            self._synchronize(is_on=is_on)
        elif number in _MOUSE:
            grid.modes -= _MOUSE
            if is_on:
                grid.modes.add(number)
        elif number in _ALTERNATE:
            grid.switch_screen(to_alternate=is_on, with_cursor=number == 1049)
        elif number == 1048:
            (grid.save_cursor if is_on else grid.restore_cursor)()
        elif number == ORIGIN:
            (grid.modes.add if is_on else grid.modes.discard)(number)
            grid.cursor_position()
        elif number == 3:
            grid.clear_and_home()

    def _synchronize(self, *, is_on: bool) -> None:
        if not is_on:
            self._held_since = None
        elif self._held_since is None:
            # What stands now is the last complete screen. What is said again while one is held does not prolong it.
            self._show()
            self._is_touched = True  # by what follows
            self._held_since = self._now

    def _is_set(self, number: int) -> int:
        """Return what DECRQM is told of a mode: 1 set, 2 reset, 0 unknown."""
        if number == SYNCHRONIZED:
            return 2 if self._held_since is None else 1
        if number in _ALTERNATE:
            return 2 if self._grid.parked is None else 1
        if number in _OFFERED:
            return 1 if number in self._grid.modes else 2
        return 0

    # -- names, reports and answers -----------------------------------------------------------------------------------

    def _name(self, number: str, text: str) -> None:
        name = "".join([char for char in text[:_LONGEST_TITLE] if char >= " " and not "\x7f" <= char <= "\x9f"])
        if number != "1":
            self._title = name
        if number != "2":
            self._icon = name

    def _title_stack(self, numbers: list[int]) -> None:
        what, which = (*numbers, 0)[:2]
        if which == 1:
            return
        if what == 22 and len(self._titles) < _TITLES:
            self._titles.append(self._title)
        elif what == 23 and self._titles:
            self._title = self._titles.pop()

    def _report(self, text: str, end: str) -> None:
        if text == "?":
            # The answer is the query itself: who is answered reports from then on.
            self._reply(f"\x1b]7501;?{_ended(end)}")
        elif not any(field.startswith("id=") for field in text.split(":")):
            self._status = text

    def _say_attributes(self, which: int = 0) -> None:
        if which == 0:
            self._reply(_ATTRIBUTES)

    def _say_status(self, which: int) -> None:
        if which == 5:
            self._reply("\x1b[0n")
        elif which == 6:
            grid = self._grid
            self._reply(f"\x1b[{grid.cursor.y + 1};{min(grid.cursor.x + 1, grid.columns)}R")

    def _say_mode(self, numbers: list[int]) -> None:
        self._reply(f"\x1b[?{numbers[0]};{self._is_set(numbers[0])}$y")

    def _reply(self, text: str) -> None:
        if self._replies_length + len(text) <= _MOST_REPLIES:
            self._replies.append(text)
            self._replies_length += len(text)


def _nothing() -> None:
    """Do nothing: the sequence is unknown, and dropped whole."""


def _ended(end: str) -> str:
    """Return what an answer ends with: as its question did."""
    return end if end == "\x07" else "\x1b\\"
