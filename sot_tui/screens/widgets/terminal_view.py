"""A row's terminal on the screen: what it shows, what was scrolled off it, and the hands of a person at it.

While a person types, every key but one goes to the agent, as a value and in order; what they type is never drawn here
before the agent has drawn it. Only rows that changed are painted again: an unchanged one is the same object in the next
snapshot. Looking back, marking and searching are of this widget alone and tell the agent nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.style import Style
from textual.geometry import Offset, Region
from textual.message import Message
from textual.widget import Widget

from sot_tui.comm.errors import SotError
from sot_tui.engine.client import Key, Mouse
from sot_tui.screens import actions, typed
from sot_tui.screens.terminal import TerminalDriver
from sot_tui.screens.widgets import cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual import events
    from textual.binding import BindingType
    from textual.strip import Strip

    from sot_tui.engine.client import Cell, Snapshot, Viewer
    from sot_tui.wake.terminal import Screen

LEAVE = Key("]", ctrl=True)
"""The one key that never goes to the agent."""
TYPED_SECS, LOOKED_SECS, PREVIEW_SECS = 1 / 60, 1 / 20, 1 / 10
"""Between two screens that are asked for, at least: of what answers a key, of what a person looks at, of a preview."""
ANSWER_SECS = 0.5
"""How long after a key what comes is taken for its answer."""
BACK_SECS = 0.25
"""Between two looks at what was scrolled off, while a person looks back and more comes."""
HISTORY_AT_ONCE = 500
"""Rows of history in one answer."""
HISTORY_KEPT = 4000
"""Rows of history that are held here at most."""
WHEEL_LINES = 3

_PLAIN = {"selected": Style(reverse=True), "hit": Style(underline=True), "here": Style(reverse=True, bold=True)}
"""How what lies over the cells is drawn where there are no colours of ours."""
_MOUSE_MODES = frozenset({9, 1000, 1001, 1002, 1003})
_BUTTONS = {1: "left", 2: "middle", 3: "right"}
_SHOW, _HIDE = "\x1b[?25h", "\x1b[?25l\x1b[0 q"
_BEHIND_EVERY_HISTORY = 1 << 52
Row = tuple["Cell", ...]


class Spot(NamedTuple):
    """A cell of what is shown: its line in the widget, and its column in the row."""

    line: int
    column: int


class Hit(NamedTuple):
    """Where what was searched for stands."""

    place: int
    start: int
    end: int


class TerminalView(Widget, can_focus=True):
    """The terminal. `attach` shows a live one, `show` what one showed last."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [*actions.bindings(actions.Where.LINES)]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"terminal--selected", "terminal--hit", "terminal--here"}
    DEFAULT_CSS = f"""
    TerminalView {{ height: 1fr; width: 1fr; background: {cells.BACKGROUND}; color: {cells.FOREGROUND}; }}
    TerminalView > .terminal--selected {{ background: #3b5b85; }}
    TerminalView > .terminal--hit {{ background: #6a5a1c; }}
    TerminalView > .terminal--here {{ background: #c79a1e; color: #101014; }}
    TerminalView:ansi {{ background: transparent; color: $foreground; }}
    """

    class Changed(Message):
        """It shows something else; what was not handled yet is the same news."""

        def can_replace(self, message: Message) -> bool:
            """A newer notice says the same as an older one that was not handled yet."""
            return isinstance(message, TerminalView.Changed)

    class Closed(Message):
        """Nothing more comes from the terminal that was attached."""

        def __init__(self, viewer: Viewer) -> None:
            super().__init__()
            self.viewer = viewer

    class Left(Message):
        """The person pressed the key that leaves."""

    class Refused(Message):
        """Something that the person did was not taken."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    class Marked(Message):
        """The person has marked a text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Typed(Message):
        """The person has typed something to the agent."""

        def can_replace(self, message: Message) -> bool:
            """One notice is enough for what is typed in one go."""
            return isinstance(message, TerminalView.Typed)

    class Resized(Message):
        """It has another size."""

        def can_replace(self, message: Message) -> bool:
            """The last size is the one that counts."""
            return isinstance(message, TerminalView.Resized)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (Textual's own name)
        super().__init__(id=id)
        self.snapshot: Snapshot | None = None
        """The last one that came; of a live terminal alone."""
        self._viewer: Viewer | None = None
        self._following: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._screen: Screen | None = None
        self._newest: Screen | None = None
        """What came while a person marks something, and is shown when they have."""
        self._is_typing = False
        self._pending: deque[Key | Mouse | str] = deque()
        self._is_sending = False
        self._typed_at = 0.0
        self._back: int | None = None
        """The place of the first row that is shown, while the person looks back."""
        self._kept: dict[int, Row] = {}
        self._wrapped: dict[int, int] = {}
        """How far those that are kept go on in the row behind them, as `Screen.wrapped` says it."""
        self._first = self._total = 0
        self._steps = 0
        self._is_stepping = False
        self._hits: tuple[Hit, ...] = ()
        self._hits_at: dict[int, list[int]] = {}
        self._hit = -1
        self._marks: tuple[Spot, Spot] | None = None
        self._marking = False
        self._from = Spot(0, 0)
        """Where the mark begins."""
        self._held = ""
        """The button that the agent was told is held."""
        self._painted: list[tuple[object, ...]] = []
        self._cursor_told: tuple[Offset, int] | None = None

    # -- what it shows -----------------------------------------------------------------------------------------------

    def attach(self, viewer: Viewer) -> None:
        """Show a live terminal."""
        self.detach()
        self._viewer = viewer
        viewer.on_changed(self._news.set)
        viewer.on_closed(self._news.set)
        self._news.set()
        self._following = asyncio.create_task(self._follow(viewer), name="terminal")

    def detach(self) -> None:
        """Look no longer at what was attached; it is left as it is."""
        viewer, self._viewer = self._viewer, None
        if self._following is not None:
            self._following.cancel()
            self._following = None
        if viewer is not None:
            self.run_worker(viewer.close(), exit_on_error=False)
        self._pending.clear()
        self.snapshot = None
        self._held = ""

    def show(self, screen: Screen | None) -> None:
        """Show a screen, or nothing, of which no more comes."""
        self.detach()
        self._forget()
        self._screen = screen
        self.repaint()

    def _forget(self) -> None:
        self._back, self._marks, self._marking, self._newest = None, None, False, None
        self._forget_kept()
        self._first = self._total = 0
        self._find(())

    def _forget_kept(self) -> None:
        self._kept.clear()
        self._wrapped.clear()

    @property
    def screen_shown(self) -> Screen | None:
        """Return the screen that is shown, or was before the person looked back."""
        return self._screen

    @property
    def looks_back(self) -> int:
        """Return how many rows further up than the screen the person looks; 0 for the screen itself."""
        return 0 if self._back is None else max(0, self._bottom - self._back)

    @property
    def found(self) -> tuple[int, int]:
        """Return which of the places that were found is shown, from 1, and how many there are."""
        return self._hit + 1, len(self._hits)

    @property
    def typing(self) -> bool:
        """Tell whether keys go to the agent."""
        return self._is_typing

    @typing.setter
    def typing(self, typing: bool) -> None:
        self._is_typing = typing
        if typing:
            self._to_end()
        self._tell_driver()
        self.repaint()

    async def _follow(self, viewer: Viewer) -> None:
        """Ask for the newest screen whenever there is one, never faster than it is looked at."""
        clock = asyncio.get_running_loop().time
        try:
            while not viewer.why_closed:
                await self._news.wait()
                self._news.clear()
                asked = clock()
                self._take(await viewer.snapshot())
                if self._back is not None:
                    await self._learn(viewer)
                    self.repaint()
                await asyncio.sleep(max(0.0, asked + self._pause() - clock()))
        except SotError:
            pass
        self.post_message(self.Closed(viewer))

    def _pause(self) -> float:
        if self._back is not None:
            return BACK_SECS
        if asyncio.get_running_loop().time() - self._typed_at < ANSWER_SECS:
            return TYPED_SECS
        return LOOKED_SECS if self._is_typing or self.has_focus else PREVIEW_SECS

    def _take(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        if self._marking:
            self._newest = snapshot.screen
        else:
            self._put(snapshot.screen)
        self.post_message(self.Changed())

    def _put(self, screen: Screen) -> None:
        before, self._screen = self._screen, screen
        if before is None or before.columns != screen.columns:
            self._forget_kept()  # what was scrolled off comes in the width of the screen
        if self._marks and self._back is None and before is not None and before.rows is not screen.rows:
            self._marks = None
        self.repaint()

    # -- painting ----------------------------------------------------------------------------------------------------

    @property
    def _bottom(self) -> int:
        """The place of the first row that is shown when nobody looks back."""
        return self._total + self._above

    @property
    def _above(self) -> int:
        """Rows at the top of the screen for which there is no room: as few as leave what is drawn last in sight."""
        screen, height = self._screen, self.size.height
        if screen is None or screen.lines <= height:
            return 0
        last = screen.cursor_y
        for place in range(screen.lines - 1, last, -1):
            if any(cell.data not in {" ", ""} or cell.bg != "default" for cell in screen.rows[place]):
                last = place
                break
        return max(0, min(last - height + 1, screen.cursor_y))

    @property
    def _aside(self) -> int:
        """Columns for which there is no room, at the left: as many as bring the cursor into sight."""
        screen = self._screen
        if screen is None or screen.columns <= self.size.width or self._back is not None or not screen.cursor_visible:
            return 0
        return max(0, screen.cursor_x - self.size.width + 1)

    def _row(self, line: int) -> Row | None:
        """Return the row of a line of the widget, None where there is none."""
        screen = self._screen
        if screen is None:
            return None
        at = line + self._above if self._back is None else self._back + line - self._total
        if at >= 0:
            return screen.rows[at] if at < screen.lines else None
        return self._kept.get(at + self._total)

    def _goes_on(self, line: int) -> int:
        """Return how many cells of a line of the widget are of one that the terminal wrapped there; 0 for no such."""
        screen = self._screen
        if screen is None:
            return 0
        at = line + self._above if self._back is None else self._back + line - self._total
        if at >= 0:
            return screen.wrapped[at] if at < len(screen.wrapped) else 0
        return self._wrapped.get(at + self._total, 0)

    def _cursor(self) -> Spot | None:
        """Return where the cursor is, in the widget; None where it is not to be seen."""
        screen = self._screen
        if screen is None or self._back is not None or not screen.cursor_visible or self._viewer is None:
            return None
        spot = Spot(screen.cursor_y - self._above, screen.cursor_x)
        return spot if 0 <= spot.line < self.size.height else None

    def _spans(self, line: int, row: Row | None) -> tuple[tuple[int, int, str], ...]:
        found: list[tuple[int, int, str]] = []
        if self._hits and row is not None:
            place = line + (self._bottom if self._back is None else self._back)
            hits = ((at, self._hits[at]) for at in self._hits_at.get(place, ()))
            found += [(hit.start, hit.end, "here" if at == self._hit else "hit") for at, hit in hits]
        if self._marks:
            begin, end = sorted(self._marks)
            if begin.line <= line <= end.line:
                start = begin.column if line == begin.line else 0
                found.append((start, end.column + 1 if line == end.line else 1 << 16, "selected"))
        cursor = self._cursor()
        if cursor is not None and cursor.line == line and not self._has_own_cursor:
            found.append((cursor.column, cursor.column + 1, "cursor"))
        return tuple(found)

    def _wanted(self, line: int) -> tuple[object, ...]:
        row = self._row(line)
        return (row, self._spans(line, row), self._aside, self.size.width)

    def repaint(self) -> None:
        """Paint the lines that show something else than they did."""
        height = self.size.height
        if len(self._painted) != height:
            self._painted = [()] * height
        for line in range(height):
            wanted, painted = self._wanted(line), self._painted[line]
            if not painted or wanted[0] is not painted[0] or wanted[1:] != painted[1:]:
                self.refresh(Region(0, line, self.size.width, 1))
        self._place_cursor()

    def render_line(self, y: int) -> Strip:
        """Return one line, each cell in its own column."""
        wanted = self._wanted(y)
        if y < len(self._painted):
            self._painted[y] = wanted
        row = self._row(y)
        look = self._look()
        over = [cells.Span(start, end, self._style_of(name)) for start, end, name in self._spans(y, row)]
        return cells.strip_of(row or (), self._aside, self.size.width, look, over)

    def _look(self) -> cells.Look:
        # The terminal's own two colours where those are all there is; else what agents are told that they draw on.
        return cells.Look(Style() if self.app.native_ansi_color else cells.GROUND)

    def _style_of(self, part: str) -> Style:
        if self.app.native_ansi_color and part in _PLAIN:
            return _PLAIN[part]
        if part != "cursor":
            return self.get_component_rich_style(f"terminal--{part}", partial=True)
        shape = self._screen.cursor_shape if self._screen else 0
        return Style(underline=True, bold=True) if shape in {3, 4} else Style(reverse=True)

    def notify_style_update(self) -> None:
        """Paint everything in the colours of another theme."""
        super().notify_style_update()
        self._painted = []

    # -- the cursor --------------------------------------------------------------------------------------------------

    @property
    def _has_own_cursor(self) -> bool:
        """Tell whether the terminal's own cursor stands for the agent's: in its shape, and for an input method."""
        return self._is_typing and self.has_focus and not self.app.is_headless

    def _place_cursor(self) -> None:
        """Put the terminal's own cursor where the agent's is, or hide it."""
        cursor = self._cursor() if self._has_own_cursor and self.app.screen is self.screen else None
        column = -1 if cursor is None else cursor.column - self._aside
        told = None
        if cursor is not None and self._screen is not None and 0 <= column < self.size.width:
            told = (self.content_region.offset + Offset(column, cursor.line), self._screen.cursor_shape)
        if told == self._cursor_told:
            return
        before, self._cursor_told = self._cursor_told, told
        if told is None:
            self._to_terminal(_HIDE)
            return
        self.app.cursor_position = told[0]
        if before is None or before[1] != told[1]:
            self._to_terminal(f"{_SHOW}\x1b[{told[1]} q")
        # It is put there with whatever is painted next, so something has to be.
        self.refresh(Region(0, cursor.line if cursor else 0, self.size.width, 1))

    def _to_terminal(self, sequence: str) -> None:
        driver = self.app._driver  # noqa: SLF001  (there is no other way to the terminal)
        if driver is not None and not self.app.is_headless:
            driver.write(sequence)

    def _tell_driver(self) -> None:
        driver = self.app._driver  # noqa: SLF001  (as above)
        if isinstance(driver, TerminalDriver):
            driver.exact = self._is_typing and self.has_focus

    # -- what happens to it ------------------------------------------------------------------------------------------

    def on_focus(self) -> None:
        """Take the keys."""
        self._tell_driver()
        self.repaint()

    def on_blur(self) -> None:
        """Keys go elsewhere."""
        self._tell_driver()
        self.repaint()

    def on_resize(self) -> None:
        """Paint for another size, and say that it is another one."""
        self._painted = []
        self._marks = None
        self.refresh()
        self._place_cursor()
        self.post_message(self.Resized())

    def on_unmount(self) -> None:
        """Give the terminal its cursor back, and let go of the row."""
        self._is_typing = False
        self._tell_driver()
        if self._cursor_told is not None:
            self._cursor_told = None
            self._to_terminal(_HIDE)
        viewer, self._viewer = self._viewer, None
        if self._following is not None:
            self._following.cancel()
        if viewer is not None:
            self.app.run_worker(viewer.close(), exit_on_error=False)

    def on_key(self, event: events.Key) -> None:
        """Give a key to the agent, all but the one that leaves."""
        if not self._is_typing:
            return
        event.stop()
        event.prevent_default()
        key = typed.named(event.key, event.character)
        if key == LEAVE:
            self.post_message(self.Left())
        elif key is not None:
            self.type(key)

    def on_paste(self, event: events.Paste) -> None:
        """Give a paste to the agent, as one."""
        if self._is_typing:
            event.stop()
            self.type(event.text)

    def type(self, what: Key | Mouse | str) -> None:
        """Give a key, the mouse or a paste to the agent, behind whatever it has not got yet."""
        if self._viewer is None:
            self.post_message(self.Refused("nothing runs here that could be typed to"))
            return
        if not isinstance(what, Mouse):
            self._to_end()
            self.post_message(self.Typed())
        self._typed_at = asyncio.get_running_loop().time()
        self._pending.append(what)
        if not self._is_sending:
            self._is_sending = True
            self.run_worker(self._send(self._viewer), exit_on_error=False)

    async def _send(self, viewer: Viewer) -> None:
        try:
            while self._pending and viewer is self._viewer:
                refused = await self._sent(viewer)
                if refused:
                    self.post_message(self.Refused(refused))
        except SotError as gone:
            self._pending.clear()
            self.post_message(self.Refused(gone.sentence))
        finally:
            self._is_sending = False

    async def _sent(self, viewer: Viewer) -> str:
        what = self._pending.popleft()
        if isinstance(what, Mouse):
            return await viewer.mouse(what)
        if isinstance(what, str):
            return await viewer.paste(what)
        pressed = [what]
        while self._pending and isinstance(self._pending[0], Key) and len(pressed) < HISTORY_AT_ONCE:
            key = self._pending.popleft()
            if isinstance(key, Key):
                pressed.append(key)
        return await viewer.keys(pressed)

    # -- the mouse ---------------------------------------------------------------------------------------------------

    def _asks_for_mouse(self) -> bool:
        """Tell whether the agent takes the mouse: only while a person types, for who looks changes nothing."""
        screen = self._screen
        return (self._is_typing and self._viewer is not None and self._back is None and screen is not None) and bool(
            screen.modes & _MOUSE_MODES
        )

    def _told(self, what: str, event: events.MouseEvent, button: str) -> bool:
        """Tell the agent what the mouse did, if it asked and it was on its screen."""
        screen = self._screen
        column, line = event.x + self._aside, event.y + self._above
        if screen is None or not (0 <= column < screen.columns and 0 <= line < screen.lines):
            return False
        self.type(Mouse(what, column, line, button, event.ctrl, event.meta, event.shift))
        return True

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Give a press to the agent, or begin to mark."""
        button = _BUTTONS.get(event.button, "")
        if not button:
            return
        if self._asks_for_mouse():
            if self._told("press", event, button):
                self._held = button
                self.capture_mouse()
        elif button == "left":
            self._marking = True
            self._marks = None
            spot = self._spot(event)
            self._from = spot
            self.capture_mouse()
            self.repaint()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Give a move to the agent, or mark on."""
        if self._marking:
            spot = self._spot(event)
            if self._marks is not None or spot != self._from:
                self._marks = (self._from, spot)
                self.repaint()
            return
        screen = self._screen
        if screen is not None and self._asks_for_mouse():
            wanted = 1003 in screen.modes or (1002 in screen.modes and self._held)
            last = self._pending[-1] if self._pending else None
            if isinstance(last, Mouse) and last.what == "move":
                self._pending.pop()  # where it is now is all that counts
            if wanted:
                self._told("move", event, self._held or "none")

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Give a release to the agent, or copy what was marked."""
        self.release_mouse()
        if self._marking:
            self._marking = False
            if self._newest is not None:
                newest, self._newest = self._newest, None
                text = self.marked
                if self._back is not None or self._marks is None:
                    self._put(newest)
                else:
                    self._screen, marks = newest, self._marks
                    self._marks = marks if text == self.marked else None
                    self.repaint()
            else:
                text = self.marked
            if text:
                self.post_message(self.Marked(text))
        elif self._held:
            self._told("release", event, self._held)
            self._held = ""

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Look further up, or let the agent."""
        self._wheel(event, "up", -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Look further down, or let the agent."""
        self._wheel(event, "down", 1)

    def _wheel(self, event: events.MouseEvent, button: str, way: int) -> None:
        event.stop()
        screen = self._screen
        if self._back is None and self._is_typing and screen and (screen.alternate or self._asks_for_mouse()):
            self._told("press", event, button)
        else:
            self.step(way * WHEEL_LINES)

    def _spot(self, event: events.MouseEvent) -> Spot:
        """Return the cell under the mouse, or the nearest one."""
        line = max(0, min(event.y, self.size.height - 1))
        return Spot(line, max(0, min(event.x, self.size.width - 1)) + self._aside)

    @property
    def marked(self) -> str:
        """Return the text that is marked."""
        if self._marks is None:
            return ""
        begin, end = sorted(self._marks)
        return self._written(begin, end)

    @property
    def written(self) -> str:
        """Return the text of what is shown, as its program wrote it."""
        return self._written(Spot(0, 0), Spot(max(0, self.size.height - 1), 1 << 16)).rstrip("\n")

    def _written(self, begin: Spot, end: Spot) -> str:
        """Return the text from one cell to another: a line that the terminal wrapped is one line, blanks and all."""
        found = []
        for line in range(begin.line, end.line + 1):
            row = self._row(line) or ()
            start = begin.column if line == begin.line else 0
            stop = end.column + 1 if line == end.line else len(row)
            goes_on = self._goes_on(line) if line < end.line else 0
            whole = "".join(cell.data for cell in row[start:goes_on])
            found.append(whole + "".join(cell.data for cell in row[max(start, goes_on) : stop]).rstrip())
            if not goes_on:
                found[-1] = found[-1].rstrip()
                found.append("\n")
        return "".join(found).removesuffix("\n")

    @property
    def text(self) -> str:
        """Return the text of what is shown, row by row."""
        rows = [self._row(line) or () for line in range(self.size.height)]
        return "\n".join("".join(cell.data for cell in row).rstrip() for row in rows).rstrip("\n")

    # -- looking back ------------------------------------------------------------------------------------------------

    def action_up(self) -> None:
        """Look one line further up."""
        self.step(-1)

    def action_down(self) -> None:
        """Look one line further down."""
        self.step(1)

    def action_page_up(self) -> None:
        """Look one page further up."""
        self.step(-max(1, self.size.height - 1))

    def action_page_down(self) -> None:
        """Look one page further down."""
        self.step(max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Look at the first line that is kept."""
        self.step(-_BEHIND_EVERY_HISTORY)

    def action_last(self) -> None:
        """Look at the screen."""
        self._to_end()
        self.repaint()
        self.post_message(self.Changed())

    def _to_end(self) -> None:
        self._steps = 0
        if self._back is not None:
            self._back = self._marks = None

    def step(self, lines: int) -> None:
        """Look so many lines further down, or up."""
        if self._screen is None or (self._back is None and lines > 0):
            return
        self._steps += lines
        if not self._is_stepping:
            self._is_stepping = True
            self.run_worker(self._walk(), exit_on_error=False)

    async def _walk(self) -> None:
        try:
            while self._steps:
                steps, self._steps = self._steps, 0
                await self._look_at((self._bottom if self._back is None else self._back) + steps, by_step=True)
        except SotError:
            self._to_end()  # it is gone; what that means is told elsewhere
        finally:
            self._is_stepping = False

    async def _look_at(self, place: int, *, by_step: bool = False) -> None:
        """Look at what begins with a place, as far as it is kept; at the screen when that is what it comes to."""
        viewer = self._viewer
        if self._back is None and viewer is not None:
            before = self._bottom
            await self._learn(viewer)
            place += self._bottom - before if by_step else 0
        self._marks = None
        if place >= self._bottom:
            self._to_end()
        else:
            self._back = max(place, self._first)
            if viewer is not None:
                await self._learn(viewer)
        self.repaint()
        self.post_message(self.Changed())

    async def _learn(self, viewer: Viewer) -> None:
        """Learn how much was scrolled off, and bring the rows of it that are to be seen and not here yet."""
        seen = range(0) if self._back is None else range(self._back, self._back + self.size.height)
        missing = next((place for place in seen if place not in self._kept), _BEHIND_EVERY_HISTORY)
        said = await viewer.history(missing, self.size.height)
        self._first, self._total = said.first, said.total
        if len(self._kept) > HISTORY_KEPT:
            self._forget_kept()
        self._kept |= dict(enumerate(said.rows, said.start))
        self._wrapped |= dict(enumerate(said.wrapped, said.start))
        if self._back is not None:
            self._back = max(self._back, self._first)

    # -- searching ---------------------------------------------------------------------------------------------------

    async def search(self, words: str) -> None:
        """Find words in all that is kept, and look at the last place they stand at."""
        self._find(())
        wanted = words.lower()
        if wanted and self._screen is not None:
            rows = await self._all_rows()
            self._find([hit for place, row in rows for hit in _hits(place, row, wanted)])
        if self._hits:
            await self._show_hit(len(self._hits) - 1)
        else:
            self.repaint()
            self.post_message(self.Changed())

    async def next_hit(self, by: int) -> None:
        """Look at another of the places that were found; behind the last one comes the first."""
        if self._hits:
            await self._show_hit((self._hit + by) % len(self._hits))

    def end_search(self) -> None:
        """Mark what was found no longer."""
        self._find(())
        self.repaint()

    def _find(self, hits: Sequence[Hit]) -> None:
        self._hits, self._hit = tuple(hits), -1
        self._hits_at = {}
        for at, hit in enumerate(self._hits):
            self._hits_at.setdefault(hit.place, []).append(at)

    async def _all_rows(self) -> list[tuple[int, Row]]:
        viewer = self._viewer
        found: list[tuple[int, Row]] = []
        if viewer is not None:
            at, total = 0, 1
            while at < total:
                said = await viewer.history(at, HISTORY_AT_ONCE)
                self._first, self._total = said.first, said.total
                total = said.total
                found += enumerate(said.rows, said.start)
                at = said.start + len(said.rows)
                if not said.rows:
                    break
        screen = self._screen
        return [*found, *(enumerate(screen.rows, self._total) if screen else ())]

    async def _show_hit(self, at: int) -> None:
        self._hit = at
        place = self._hits[at].place
        top = self._bottom if self._back is None else self._back
        if not top <= place < top + self.size.height:
            await self._look_at(place - self.size.height // 2)
        else:
            self.repaint()
            self.post_message(self.Changed())


def _hits(place: int, row: Row, wanted: str) -> Iterable[Hit]:
    text, columns = cells.text_of(row)
    lowered = text.lower()
    if len(lowered) != len(text):  # a sign whose lower case is two signs; the columns would not be its own
        lowered = text
    at = lowered.find(wanted)
    while at >= 0:
        yield Hit(place, columns[at], columns[at + len(wanted) - 1] + 1)
        at = lowered.find(wanted, at + len(wanted))
