"""A row's live screen: its agent's terminal, and the facts about it on the frame.

Product, Rows: the person's keys go to the agent, one visible key leaves, and the terminal takes the size of the panel
of whoever types into it; who only looks changes nothing of it. A row whose agent ended shows its last screen, how it
ended and the command that would resume it. On a wide screen, while nobody types, the handles stand beside it, and each
shows its terminal as one passes by.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input

from sot_tui.comm import fleet as rules
from sot_tui.comm.clock import age_text
from sot_tui.comm.errors import SotError
from sot_tui.engine.client import Line, NotLive, Outcome, ResumeLine
from sot_tui.screens import actions, show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.beside import Beside
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.place import WIDE_FROM, Place
from sot_tui.screens.widgets.bars import KeyLine, MessageLine
from sot_tui.screens.widgets.field import Field
from sot_tui.screens.widgets.terminal_view import TerminalView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.comm.fleet import Agent, RowSeen
    from sot_tui.engine.client import Viewer
    from sot_tui.screens.desk import Desk

LEAST_COLUMNS, LEAST_LINES = 20, 5
"""A terminal is made no smaller than this, however small the panel: agents draw nothing of use on less."""
AGAIN_SECS = 0.3
"""Between two looks at a row whose terminal has just closed: its capsule may still be going, or another one coming."""
AGAIN_TIMES = 10
_RUNS = frozenset({"starting", "ready"})
_WHY_LINES = 2


class RowScreen(Place[None]):
    """The terminal of one row."""

    WHERE = Where.ROW
    AUTO_FOCUS = "#terminal"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.ROW)]

    def __init__(self, desk: Desk, key: str, *, types: bool = True) -> None:
        """`key` is that of a line of the nav; `types` says whether keys go to its agent from the start."""
        super().__init__(desk)
        self.key = key
        self._types = types
        self._beside = Beside(desk, key, rows=True)
        self._viewer: Viewer | None = None
        self._not_live: NotLive | None = None
        self._line = Line("")
        """The command that would resume the row."""
        self._tried_for: RowSeen | None = None
        """The row as it was known when its terminal was asked for last."""
        self._agent_size: tuple[int, int] = (0, 0)
        self._sized_by = ""
        self._asked_for: tuple[int, int] = (0, 0)

    def compose(self) -> ComposeResult:
        """Lay out the handles, the frame and the terminal in it, and the lines at the foot."""
        with Horizontal(id="row-panes"):
            yield self._beside
            with Vertical(id="row-side"):
                yield show.Words(id="row-head")
                yield show.Words(id="row-none")
                yield TerminalView(id="terminal")
                with Horizontal(id="row-search"):
                    yield show.Words(Content("search "))
                    yield Field(id="row-words", compact=True, select_on_focus=False, max_length=200)
                    yield show.Words(id="row-found")
                yield show.Words(id="row-why")
        yield MessageLine(self.desk)
        yield KeyLine(Where.ROW)
        yield TypingLine(id="typing-keys")

    # -- what is open ------------------------------------------------------------------------------------------------

    @property
    def view(self) -> TerminalView:
        """Return the terminal."""
        return self.piece("terminal", TerminalView)

    @property
    def takes_keys(self) -> bool:
        """Tell whether every key goes to the agent."""
        return self.is_mounted and self.view.typing

    @property
    def _one(self) -> Agent | None:
        return rules.line_of(self.desk.fleet, self.key)

    @property
    def _row(self) -> RowSeen | None:
        one = self._one
        return None if one is None else rules.row_of(self.desk.fleet, one)

    def on_mount(self) -> None:
        """Open the terminal."""
        words = self.piece("row-words", Field)
        words.keys = frozenset({"escape", "enter", "up", "down"})
        words.ending = self._search_key
        self._open()

    def _open(self) -> None:
        """Show the terminal of the line that is meant now, or say why there is none."""
        self._viewer, self._not_live, self._line = None, None, Line("")
        self._agent_size, self._sized_by, self._asked_for = (0, 0), "", (0, 0)
        row = self._tried_for = self._row
        self.view.show(None)
        self._show_frame()
        self._lay_out()
        if row is not None:
            self._look_at(row.id)

    @work(group="attach", exclusive=True, exit_on_error=False)
    async def _look_at(self, row: str, *, again: int = 0) -> None:
        found = await self.desk.client.viewer(row)
        for _ in range(again):
            if not isinstance(found, NotLive) or found.ended is not None:
                break
            await asyncio.sleep(AGAIN_SECS)
            found = await self.desk.client.viewer(row)
        here = self._row
        if not self.is_open or here is None or here.id != row:
            if not isinstance(found, NotLive):
                await found.close()
            return
        if isinstance(found, NotLive):
            self._viewer, self._not_live = None, found
            self._type(types=False)
            self.view.show(found.screen)
            self._show_frame()
            self._line = await self.desk.client.do(ResumeLine(row))
        else:
            self._viewer, self._not_live = found, None
            self.view.attach(found)
            if self._types:
                self._types = False
                self._begin_to_type()
        self.time_passed()

    def _begin_to_type(self) -> None:
        if self.is_open and not self.why_not("type"):
            self._type(types=True)

    @on(TerminalView.Closed)
    def _terminal_closed(self, event: TerminalView.Closed) -> None:
        """Look what became of a row whose terminal has closed."""
        if event.viewer is self._viewer:
            self._viewer = None
            self._types = self.takes_keys and not event.viewer.has_ended
            row = self._row
            if row is not None:
                self._look_at(row.id, again=AGAIN_TIMES)
            self._show_frame()

    # -- showing -----------------------------------------------------------------------------------------------------

    def fleet_changed(self) -> None:
        """Show the newest facts; a row that runs again is looked at again."""
        if not self.is_open:
            return
        row, tried = self._row, self._tried_for
        if row is not None and row != tried:
            self._tried_for = row
            if tried is None or row.id != tried.id:
                self._open()
            elif self._viewer is None and row.phase in _RUNS:
                self._look_at(row.id, again=AGAIN_TIMES)
        self.time_passed()

    def time_passed(self) -> None:
        """Show the facts of now."""
        if self.is_open:
            self._lay_out()
            self._show_frame()

    def on_resize(self) -> None:
        """Lay it out anew."""
        self.time_passed()

    def _lay_out(self) -> None:
        self._beside.fleet_changed()
        typing = self.takes_keys
        if typing or self.size.width < WIDE_FROM:
            self._beside.display = False
        if not self._beside.display and self.focused in {None, self._beside.lines} and self.is_current:
            self.view.focus()
        keys = self.piece("keys", KeyLine)
        keys.display = not typing
        self.piece("typing-keys", TypingLine).display = typing
        left_out = {"run_again"} if self._viewer is not None or self._row is None else {"type"}
        left_out |= set() if self._beside.display else {"pane_left"}
        left_out |= set() if self._row is not None else {"end"}
        if searched := self.typing():
            keys.while_typing(searched)
        else:
            keys.leave_out(frozenset(left_out))
        self.piece("typing-keys", TypingLine).tell(rules.kind_of(self._row))

    @on(TerminalView.Changed)
    def _changed(self) -> None:
        snapshot = self.view.snapshot
        if snapshot is not None:
            size = (snapshot.screen.columns, snapshot.screen.lines)
            if size != self._agent_size:
                self._agent_size = size
                self._look_whose_size()
        if self.is_open:
            self._show_head()
            self._show_found()

    @work(group="status", exclusive=True, exit_on_error=False)
    async def _look_whose_size(self) -> None:
        viewer = self._viewer
        if viewer is None:
            return
        try:
            status = await viewer.status()
        except SotError:
            return  # it is gone, which is told elsewhere
        self._sized_by = status.sized_by
        self._show_frame()

    def _show_frame(self) -> None:
        if not self.is_open:
            return
        none = self._why_nothing()
        self.piece("row-none", show.Words).display = bool(none)
        self.piece("row-none", show.Words).say(show.words(none))
        self.view.display = not none
        self._show_head()
        self._show_why()
        self._show_found()

    def _show_found(self) -> None:
        here, hits = self.view.found
        found = f"{here} of {hits}" if hits else "not found" if self._searched else ""
        self.piece("row-found", show.Words).say(Content.styled(f" {found}", "$foreground 60%"))

    def _why_nothing(self) -> str:
        """Return why there is no terminal to be seen; empty when there is one."""
        fleet, one = self.desk.fleet, self._one
        if one is None:
            return "this line is not in the list any more"
        if self._row is None:
            if not rules.is_here(fleet, one):
                return f"@{one.handle} runs on {one.host}: its terminal is there"
            return f"no row runs @{one.handle} here; its mail is at m"
        if self._not_live is not None and self._not_live.screen is None:
            return self._not_live.sentence
        return ""

    def _show_head(self) -> None:
        room = self._side_width() - 2
        one, snapshot = self._one, self.view.snapshot
        name = show.plain(rules.called(one) if one is not None else self.key)
        facts = show.plain(" · ".join(self._facts()))
        facts = show.fit_right(facts, min(show.width(facts), max(0, room - show.width(name) - 2)))
        screen = self.view.screen_shown
        title = show.plain((snapshot.screen.title if snapshot else screen.title if screen else "").strip())
        left = max(0, room - show.width(name) - show.width(facts) - 4)
        shown = show.fit(f"  {title}" if title and left > 8 else "", left + 2)
        self.piece("row-head", show.Words).say(
            Content.assemble((name, "b"), (shown, "$foreground 60%"), (f"  {facts}", "$foreground 80%"))
        )

    def _facts(self) -> list[str]:
        snapshot, view = self.view.snapshot, self.view
        if snapshot is None or self._viewer is None:
            row = self._row
            if row is None:
                return []
            if self._not_live is not None and self._not_live.screen:
                return ["its last screen"]
            return ["ended" if rules.end_of(row) else row.phase]
        found = []
        if view.looks_back:
            found.append(f"{view.looks_back} lines back")
        if snapshot.lag:
            found.append(f"{max(1, snapshot.lag >> 10)} KiB behind")
        screen = snapshot.screen
        size = f"{screen.columns}x{screen.lines}"
        if self._sized_by not in {"", self._who}:
            size += f" by {self._sized_by}"
        in_part = screen.columns > view.size.width or screen.lines > view.size.height
        return [*found, snapshot.phase, size + (", in part" if in_part else "")]

    def _show_why(self) -> None:
        fleet, one, now = self.desk.fleet, self._one, self.desk.now()
        if one is None:
            self.piece("row-why", show.Words).say(Content(""))
            return
        told = [("why", rules.explain(fleet, one, now)[0].text)]
        gone = self._not_live
        if gone is not None:
            ago = f", {age_text(now - gone.ended)} ago" if gone.ended else ""
            told = [("end", f"{gone.sentence}{ago}")] if gone.screen else []
            if self._line.fault or self._line.text:
                told.append(("resume", self._line.fault or self._line.text))
        width = self._side_width() - 2
        # One line while it lives: with another height at each change its agent would draw itself anew.
        lines = 1 if gone is None else _WHY_LINES
        label = 5 if gone is None else 8
        self.piece("row-why", show.Words).say(
            Content("\n").join([show.hang(name, text, width, label, lines) for name, text in told])
        )

    def _side_width(self) -> int:
        return self.piece("row-side", Vertical).size.width or self.size.width

    # -- typing ------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave every key to the agent while a person types to it."""
        return False if self.takes_keys else super().check_action(action, parameters)

    def shows_handles(self) -> bool:
        """Tell that handles stand beside the terminal."""
        return True

    def why_not(self, name: str) -> str:
        """Return why an action can do nothing now."""
        why = super().why_not(name)
        if why:
            return why
        if name == "type" and self._viewer is None:
            return self._why_nothing() or (
                self._not_live.sentence if self._not_live else "its terminal is not here yet"
            )
        if name in {"run_again", "end"}:
            self._nav.follow(self.key)
            return self._nav.why_not(name)
        if name == "open_mail" and (self._one is None or self._one.label):
            return "no session has joined in this row, so it has no handle and no mail"
        if name in {"pane_left", "pane_right"} and not self._beside.display:
            return "nothing stands beside the terminal here"
        return ""

    def action_type(self) -> None:
        """Let every key go to the agent."""
        self._type(types=True)

    def _type(self, *, types: bool) -> None:
        if types:
            self._close_search()
            self._beside.view(asked=False)  # who types has viewed it
            self.view.focus()
        self.view.typing = types
        self.set_class(types, "typing")
        self._lay_out()
        if types:
            self.call_after_refresh(self._claim_size)
        self._show_frame()

    @on(TerminalView.Left)
    def _left(self) -> None:
        self.leave()

    def leave(self) -> None:
        """Go back to where the person came from."""
        self.view.typing = False
        self.app.pop_screen()

    @on(TerminalView.Refused)
    def _refused(self, event: TerminalView.Refused) -> None:
        self.desk.refuse(event.why)

    @property
    def _who(self) -> str:
        """Return how this window is called where the size of a terminal is somebody's."""
        return f"{self.desk.fleet.operator or 'a dashboard'} (window {os.getpid()})"

    @on(TerminalView.Resized)
    def _panel_resized(self) -> None:
        self._claim_size()
        self._show_frame()

    @on(TerminalView.Typed)
    def _claim_size(self) -> None:
        """Give the terminal the size of the panel: it is that of who types, or has typed last."""
        view = self.view
        size = (max(LEAST_COLUMNS, view.size.width), max(LEAST_LINES, view.size.height))
        if not self.takes_keys or self._viewer is None or not view.size.area:
            return
        if size != self._agent_size or self._sized_by != self._who:
            if self._asked_for == size and self._agent_size == (0, 0):
                return  # it is on its way
            self._asked_for = size
            self._resize(self._viewer, *size)

    @work(group="resize", exclusive=True, exit_on_error=False)
    async def _resize(self, viewer: Viewer, columns: int, lines: int) -> None:
        try:
            refused = await viewer.resize(columns, lines, self._who)
        except SotError:
            return  # it is gone, which is told elsewhere
        if refused:
            self.desk.refuse(refused)
        else:
            self._sized_by = self._who
            self._show_frame()

    # -- looking -----------------------------------------------------------------------------------------------------

    @on(TerminalView.Marked)
    def _marked(self, event: TerminalView.Marked) -> None:
        self._copy(event.text)

    def action_copy(self) -> None:
        """Copy what is marked, else what is shown."""
        self._copy(self.view.marked or self.view.written)

    def _copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        signs = f"{len(text):,} character{'' if len(text) == 1 else 's'}"
        self.desk.say(Outcome(good=True, sentence=show.copied(signs)))

    def action_run_again(self) -> None:
        """Run the row again, after a look at the command: what the nav does with the selected one."""
        self._nav.action_run_again()

    def action_end(self) -> None:
        """End the row, or remove one that has ended, after a question: what the nav does with the selected one."""
        self._nav.action_end()

    @property
    def _nav(self) -> NavScreen:
        nav = self.app.screen_stack[0]
        if not isinstance(nav, NavScreen):
            raise TypeError("the first screen is the nav")
        return nav

    def action_open_mail(self) -> None:
        """Read the mail of this handle."""
        self.app.push_screen(MailScreen(self.desk, self.key))

    def action_back(self) -> None:
        """Look at the screen again; from there, go back."""
        if self.view.looks_back:
            self.view.action_last()
        else:
            self.leave()

    def action_pane_left(self) -> None:
        """Go to the handles."""
        self._beside.lines.focus()

    def action_pane_right(self) -> None:
        """Go to the terminal."""
        self.view.focus()

    @on(Beside.Turned)
    def _turned(self, event: Beside.Turned) -> None:
        if event.handle != self.key:
            self.key = event.handle
            self._types = False
            self._open()

    @on(Beside.Entered)
    def _entered(self) -> None:
        if self.may("type"):
            self._type(types=True)

    # -- searching ---------------------------------------------------------------------------------------------------

    @property
    def _searched(self) -> str:
        return self.piece("row-words", Field).value

    def typing(self) -> Where | None:
        """Return what is typed, while the words of a search have the keys."""
        return Where.HITS if self.piece("row-words", Field).has_focus else None

    def on_descendant_focus(self) -> None:
        """Show what works where the keys are now."""
        self.call_later(self.time_passed)

    def action_typed(self, name: str) -> None:
        """Do by a click on the key line what a key does while words are searched."""
        self._search_key({"further_up": "enter", "further_down": "down", "back": "escape"}[name])

    def action_search(self) -> None:
        """Take the words to search for."""
        self.piece("row-search", Horizontal).display = True
        self.set_focus(self.piece("row-words", Field))

    def _close_search(self) -> None:
        search = self.piece("row-search", Horizontal)
        if search.display:
            search.display = False
            self.piece("row-words", Field).value = ""
            self.view.end_search()
            self.view.focus()

    def _search_key(self, key: str) -> bool:
        if key == "escape":
            self._close_search()
        else:
            self._go_on(1 if key == "down" else -1)
        return True

    @work(group="search", exit_on_error=False)
    async def _go_on(self, by: int) -> None:
        await self.view.next_hit(by)

    @on(Input.Changed, "#row-words")
    def _words_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._search(event.value)

    @work(group="search", exclusive=True, exit_on_error=False)
    async def _search(self, words: str) -> None:
        try:
            await self.view.search(words)
        except SotError as gone:
            self.desk.refuse(gone.sentence)
        self._show_frame()


class TypingLine(show.Words):
    """What to press to leave, while every other key goes to what runs in the row; a click leaves too."""

    DEFAULT_CSS = """
    TypingLine {
        height: 1; padding: 0 1; background: $panel; display: none;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    def tell(self, whom: str) -> None:
        """Say it."""
        key = actions.spoken("ctrl+right_square_bracket")
        said = "[b $accent]$key[/] leave  [$foreground 60%]every other key goes to the $whom[/]"
        self.say(show.ours(said, key=key, whom=whom))

    def on_click(self) -> None:
        """Leave."""
        screen = self.screen
        if isinstance(screen, RowScreen):
            screen.leave()
