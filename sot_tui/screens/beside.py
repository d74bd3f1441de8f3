"""The handles beside what is open of one of them, on a wide screen: the nav's own lines, in its narrow columns.

It shows what the nav shows, in the nav's order and through its filter, and means what the nav means: moving by keys
looks at a handle and clears nothing, a click is a view. The place that it stands in is told which handle to show, and
the nav's selection goes along, so that going back leads to where a person is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical
from textual.message import Message

from sot_tui.comm import fleet as rules
from sot_tui.screens import handles, show
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.place import WIDE_FROM
from sot_tui.screens.widgets.lines import Lines, Piece

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from sot_tui.screens.desk import Desk

_MOST_PART = 0.3
"""The part of the screen that it takes at most."""
_LEAST_CELLS = 24


class Beside(Vertical):
    """The handles, one of them chosen."""

    DEFAULT_CSS = """
    Beside { display: none; height: 1fr; border-right: solid $foreground 25%; }
    Beside:focus-within { border-right: solid $primary; }
    Beside > #beside-counts { height: 1; padding: 0 1; background: $panel; text-wrap: nowrap; }
    Beside > #beside-lines { height: 1fr; }
    Beside > #beside-lock { height: 1; padding: 0 1; background: $error 18%; display: none; }
    Beside > #beside-lock:hover { background: $error 30%; }
    Beside > #beside-lock:ansi { background: transparent; }
    """

    class Turned(Message):
        """A person has chosen another handle, or has said that they mean the one they see."""

        def __init__(self, handle: str, *, meant: bool) -> None:
            super().__init__()
            self.handle = handle
            self.meant = meant
            """Whether it was clicked; who moves by keys only looks."""

    class Entered(Message):
        """A person wants to go into what is open."""

    def __init__(self, desk: Desk, handle: str, *, rows: bool = False) -> None:
        """`rows` says whether rows without a handle, which have no mail, are of use beside what is open."""
        super().__init__(id="beside")
        self._rows = rows
        self._desk = desk
        self._handle = handle
        self._columns = handles.columns(desk.fleet, _LEAST_CELLS)
        self._columns_for: tuple[object, int] = (None, 0)
        self._cells = _LEAST_CELLS
        self._counts = show.Words(id="beside-counts")
        self.lines = Lines(self._paint, id="beside-lines")
        self._lock = WedgedLock(id="beside-lock")

    def compose(self) -> ComposeResult:
        """Lay out the counts, the handles, and the registry lock when it keeps everybody waiting."""
        yield self._counts
        yield self.lines
        yield self._lock

    def fleet_changed(self) -> None:
        """Show the newest fleet as the nav shows it, and the chosen handle whatever the nav's filter says."""
        self.display = self.app.size.width >= WIDE_FROM
        fleet, now = self._desk.fleet, self._desk.now()
        if self._columns_for[0] is not fleet.agents or self._columns_for[1] != self.app.size.width:
            self._columns_for = (fleet.agents, self.app.size.width)
            self._cells = max(_LEAST_CELLS, handles.narrow_width(fleet, int(self.app.size.width * _MOST_PART)))
            self._columns = handles.columns(fleet, self._cells)
            self.styles.width = self._cells + 1  # and the line on its right
        keys = [key for key in self._nav.shown if self._rows or key in fleet.agents]
        self.lines.show(keys if self._handle in keys else [self._handle, *keys], first=self._handle)
        self._lock.display = fleet.lock.wedged
        self._lock.say(handles.lock_words(fleet, now, short=False))
        self._counts.say(handles.counts_words(rules.counts(fleet, now), self._cells - 2))

    def view(self, *, asked: bool) -> None:
        """Clear the `done` of the chosen handle: a person has viewed it."""
        self._nav.viewed(self._handle, asked=asked)

    def recover(self) -> None:
        """Look at the registry lock, to recover it."""
        if self._nav.may("recover"):
            self._nav.action_recover()

    @property
    def _nav(self) -> NavScreen:
        nav = self.app.screen_stack[0]
        if not isinstance(nav, NavScreen):
            raise TypeError("the first screen is the nav")
        return nav

    def _paint(self, handle: str, width: int, chosen: bool) -> tuple[Piece, ...]:
        line = handles.line(self._desk.fleet, handle, self._columns, self._desk.now(), chosen=chosen)
        if line:
            return line
        return (Piece("▌   " if chosen else "    ", "bar"), Piece(show.fit(show.plain(handle), width - 4), "dim"))

    @on(Lines.Moved, "#beside-lines")
    def _moved(self, event: Lines.Moved) -> None:
        if event.key != self._handle:
            self._handle = event.key
            self._nav.follow(event.key)
            self.post_message(self.Turned(event.key, meant=False))

    @on(Lines.Clicked, "#beside-lines")
    def _clicked(self, event: Lines.Clicked) -> None:
        self.post_message(self.Turned(event.key, meant=True))
        self.view(asked=True)

    @on(Lines.Opened, "#beside-lines")
    def _opened(self) -> None:
        self.post_message(self.Entered())


class WedgedLock(show.Words):
    """That the registry lock is held, and for how long; a click looks at it, as one on the nav's banner does."""

    def on_click(self) -> None:
        """Look at the lock, to recover it."""
        beside = self.parent
        if isinstance(beside, Beside):
            beside.recover()
