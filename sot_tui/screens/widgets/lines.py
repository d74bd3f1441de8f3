"""A list of any length, one line each, that is painted only where it is seen and where it changed.

Every line has a key. The selection is a key and not a number: when the order changes, it goes with its line. A click, a
second click and a double click are three things a person may mean, so a click is told apart from a move by keys, and a
double click opens what its first click hit, even when the line has moved away meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, NamedTuple, overload

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sot_tui.screens import actions
from sot_tui.screens.show import width as cells

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.style import Style
    from textual import events
    from textual.binding import BindingType


MOVED_SECS = 0.4
"""Seconds for which a click may be meant for the line that stood there before: a hand takes as long to hold back."""
_MOST_PAINTED = 1000
"""Lines that are remembered as they were painted; no screen shows as many at once."""


class Piece(NamedTuple):
    """A part of a line: text that is fit to be shown, and the name of its part in the style sheet."""

    text: str
    part: str = ""


class Numbered(Sequence[str]):
    """The keys `1` to the number of lines, of which none is made before it is asked for."""

    def __init__(self, count: int) -> None:
        self._all = range(1, count + 1)

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        return str(self._all[at]) if isinstance(at, int) else [str(number) for number in self._all[at]]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbered):
            return self._all == other._all
        return isinstance(other, Sequence) and len(other) == len(self) and all(map(str.__eq__, self, other))

    def __hash__(self) -> int:
        return hash(self._all)


class _Ranks(Mapping[str, int]):
    """Which line a number is on."""

    def __init__(self, keys: Numbered) -> None:
        self._keys = keys

    def __getitem__(self, key: str) -> int:
        if not key.isdecimal() or not 0 < int(key) <= len(self._keys):
            raise KeyError(key)
        return int(key) - 1

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)


class _Stands(NamedTuple):
    """Which line stands on which row of the screen."""

    top: int
    """The screen's row of the first line in sight."""
    first: int
    """The first line in sight."""
    keys: Sequence[str]

    def at(self, row: int) -> str | None:
        """Return the key of the line on a row of the screen; None where none was, so that none was aimed at."""
        line = row - self.top + self.first
        return self.keys[line] if row >= self.top and line < len(self.keys) else None


class _Painted(NamedTuple):
    pieces: tuple[Piece, ...]
    base: str
    width: int


class Lines(ScrollView, can_focus=True):
    """The list. `paint` is asked for the pieces of a line: its key, the width, whether it is selected."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [*actions.bindings(actions.Where.LINES)]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lines--cursor",
        "lines--cursor-blurred",
        "lines--hover",
        "lines--bar",
        "lines--strong",
        "lines--dim",
        "lines--count",
        "lines--warn",
        "lines--blocked",
        "lines--done",
        "lines--working",
        "lines--waiting",
        "lines--idle",
        "lines--silent",
        "lines--you",
        "lines--ended",
        "lines--stale",
    }
    DEFAULT_CSS = """
    Lines { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; background: transparent; }
    Lines > .lines--cursor { background: $primary 22%; }
    Lines > .lines--cursor-blurred { background: $foreground 9%; }
    Lines > .lines--hover { background: $foreground 6%; }
    Lines:ansi > .lines--cursor { background: transparent; text-style: reverse; }
    Lines:ansi > .lines--cursor-blurred { background: transparent; text-style: underline; }
    Lines:ansi > .lines--hover { background: transparent; text-style: underline; }
    Lines > .lines--bar { color: $primary; text-style: bold; }
    Lines > .lines--strong { text-style: bold; }
    Lines > .lines--dim { color: $foreground 55%; }
    Lines > .lines--count { color: $accent; text-style: bold; }
    Lines > .lines--warn { color: $error; text-style: bold; }
    Lines > .lines--blocked { color: $state-blocked; text-style: bold; }
    Lines > .lines--done { color: $state-done; text-style: bold; }
    Lines > .lines--working { color: $state-working; }
    Lines > .lines--waiting { color: $state-waiting; }
    Lines > .lines--idle { color: $state-idle; }
    Lines > .lines--silent { color: $state-silent; }
    Lines > .lines--you { color: $state-you; }
    Lines > .lines--ended { color: $state-ended; }
    Lines > .lines--stale { color: $state-stale; }
    Lines:ansi > .lines--dim { color: $foreground; text-style: dim; }
    Lines:ansi > .lines--silent { text-style: dim; }
    Lines:ansi > .lines--ended { text-style: dim; }
    Lines:ansi > .lines--stale { text-style: dim; }
    """

    class Moved(Message):
        """The selection is on another line; nobody clicked it."""

        def __init__(self, lines: Lines, key: str) -> None:
            super().__init__()
            self.lines = lines
            self.key = key

        @property
        def control(self) -> Lines:
            """The list."""
            return self.lines

    class Clicked(Moved):
        """A line was clicked: a person looks at it. Sent for the first click as for any other."""

    class Opened(Moved):
        """A line was clicked twice in a row."""

    class Missed(Message):
        """A click came just after another line than before had come under the pointer: it did nothing."""

    def __init__(
        self,
        paint: Callable[[str, int, bool], tuple[Piece, ...]],
        *,
        id: str | None = None,  # noqa: A002  (Textual's own name)
    ) -> None:
        super().__init__(id=id)
        self._paint = paint
        self._keys: Sequence[str] = ()
        self._rank: Mapping[str, int] = {}
        self._selected: str | None = None
        self._hover: str | None = None
        self._first_hit: str | None = None
        self._painted: dict[int, _Painted] = {}
        self._stands = _Stands(0, 0, ())
        self._stood: list[tuple[float, _Stands]] = []
        """How the lines stood on the screen before they moved by themselves, and until when."""

    # -- what it shows --------------------------------------------------------------------------------------------

    @property
    def selected(self) -> str | None:
        """Return the key of the selected line; None only while there is no line."""
        return self._selected

    @property
    def keys(self) -> Sequence[str]:
        """Return the keys, in the order of the lines."""
        return self._keys

    def show(self, keys: Sequence[str], first: str = "") -> None:
        """Show the lines of these keys in this order; the selection goes with its line, or begins with `first`."""
        wanted = keys if isinstance(keys, Numbered) else tuple(keys)
        if wanted != self._keys:
            was = self._stands
            before = self._rank.get(self._selected, 0) if self._selected is not None else 0
            self._keys = wanted
            self._rank = (
                _Ranks(wanted) if isinstance(wanted, Numbered) else {key: rank for rank, key in enumerate(wanted)}
            )
            self.virtual_size = Size(self.size.width, len(self._keys))
            if self._hover is not None and self._hover not in self._rank:
                self._hover = None
            if self._selected is None or self._selected not in self._rank:
                near = self._keys[min(before, len(self._keys) - 1)] if self._keys else None
                self._select(first if first in self._rank else near)
            self._keep_in_sight()
            self._have_moved(was)
        self.repaint()

    def select(self, key: str) -> None:
        """Select the line of a key, and bring it into sight; a key that is not there is left alone."""
        if key in self._rank and key != self._selected:
            self._select(key)
        self._keep_in_sight()

    def repaint(self) -> None:
        """Paint again what is in sight and says something else than it did."""
        top = self.scroll_offset.y
        for y in range(top, top + self.size.height):
            if self._painted.get(y) != self._line(y):
                self.refresh_line(y)

    def render_line(self, y: int) -> Strip:
        """Return one line of what is in sight."""
        line = y + self.scroll_offset.y
        painted = self._line(line)
        if len(self._painted) > _MOST_PAINTED:
            self._painted.clear()
        self._painted[line] = painted
        segments = [Segment(piece.text, self._style(painted.base, piece.part)) for piece in painted.pieces]
        used = sum(cells(piece.text) for piece in painted.pieces)
        return Strip(segments, used).adjust_cell_length(painted.width, self._style(painted.base, ""))

    def _line(self, line: int) -> _Painted:
        width = self.size.width
        if not 0 <= line < len(self._keys):
            return _Painted((), "", width)
        key = self._keys[line]
        chosen = key == self._selected
        base = ""
        if chosen:
            base = "lines--cursor" if self.has_focus else "lines--cursor-blurred"
        elif key == self._hover:
            base = "lines--hover"
        return _Painted(self._paint(key, width, chosen), base, width)

    def _style(self, base: str, part: str) -> Style:
        if base and self.get_component_styles(base).text_style.reverse:
            # The terminal's own colours, reversed: with its part's colour each piece would stand on another ground.
            bold = part and self.get_component_styles(f"lines--{part}").text_style.bold
            return self.get_visual_style(base).rich_style + RichStyle(reverse=True, bold=bool(bold))
        # As one visual style, so that a colour that lets the background through is mixed with the line's own.
        names = [base] if base else []
        if part:
            names.append(f"lines--{part}")
        return self.get_visual_style(*names).rich_style

    # -- the selection --------------------------------------------------------------------------------------------

    def _select(self, key: str | None) -> None:
        self._selected = key
        if key is not None:
            self.post_message(self.Moved(self, key))

    def _keep_in_sight(self) -> None:
        if self._selected is None or not self.size.height:
            return
        line, top, height = self._rank[self._selected], self.scroll_offset.y, self.size.height
        # By force: when a list has grown only now, its scrollbar is not there yet.
        if line < top:
            self.scroll_to(y=line, animate=False, immediate=True, force=True)
        elif line >= top + height:
            self.scroll_to(y=line - height + 1, animate=False, immediate=True, force=True)

    def _step(self, by: int) -> None:
        if not self._keys:
            return
        at = self._rank.get(self._selected or "", 0)
        self.select(self._keys[max(0, min(len(self._keys) - 1, at + by))])
        self.repaint()

    def action_up(self) -> None:
        """Select the line above."""
        self._step(-1)

    def action_down(self) -> None:
        """Select the line below."""
        self._step(1)

    def action_page_up(self) -> None:
        """Select the line one page above."""
        self._step(-max(1, self.size.height - 1))

    def action_page_down(self) -> None:
        """Select the line one page below."""
        self._step(max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Select the first line."""
        self._step(-len(self._keys))

    def action_last(self) -> None:
        """Select the last line."""
        self._step(len(self._keys))

    # -- what happens to it -----------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Paint everything for the new width."""
        was = self._stands
        self.virtual_size = Size(self.size.width, len(self._keys))
        self._painted.clear()
        self._keep_in_sight()
        self._have_moved(was)
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take note of where the lines are: whoever scrolls aims anew."""
        super().watch_scroll_y(old_value, new_value)
        self._stands = self._stand()

    def _stand(self) -> _Stands:
        # What was not laid out yet, nobody has seen.
        return _Stands(self.region.y, self.scroll_offset.y, self._keys if self.region.height else ())

    def _have_moved(self, was: _Stands) -> None:
        """Keep how the lines stood, for as long as a click may still be meant for that."""
        now = self._stands = self._stand()
        if was.keys and was != now:
            at = monotonic()
            self._stood = [one for one in self._stood if at - one[0] < MOVED_SECS] + [(at, was)]

    @property
    def is_still(self) -> bool:
        """Tell whether a click is meant for the line that it hits."""
        return not self._stood or monotonic() - self._stood[-1][0] >= MOVED_SECS

    def _has_just_come(self, y: int, key: str) -> bool:
        """Tell whether another line stood here a moment ago."""
        row, at = self.region.y + y, monotonic()
        return any(at - until < MOVED_SECS and was.at(row) not in {key, None} for until, was in self._stood)

    def on_focus(self) -> None:
        """Show that keys arrive here."""
        self.repaint()

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self.repaint()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show which line a click would hit."""
        self._hover = self._at(event.y)
        self.repaint()

    def on_leave(self) -> None:
        """Show that no click would hit a line."""
        self._hover = None
        self.repaint()

    def on_click(self, event: events.Click) -> None:
        """Select what was clicked, and say so; a double click opens what its first click hit."""
        if event.button != 1:
            return
        if event.chain > 1:
            if event.chain == 2 and self._first_hit is not None:
                self.post_message(self.Opened(self, self._first_hit))
            return
        key = self._at(event.y)
        if key is not None and self._has_just_come(event.y, key):
            self._first_hit = None
            self.post_message(self.Missed())
            return
        self._first_hit = key
        if key is None:
            return
        self.select(key)
        self.repaint()
        self.post_message(self.Clicked(self, key))

    def _at(self, y: int) -> str | None:
        line = y + self.scroll_offset.y
        return self._keys[line] if 0 <= line < len(self._keys) else None
