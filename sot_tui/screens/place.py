"""What every screen of the dashboard has: the desk, its keys, and a way to show the newest fleet.

A screen is told that something changed and reads the fleet itself; once a second it is told that time has passed. It
changes only what says something else than before.
"""

from __future__ import annotations

import sys
from inspect import isawaitable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on
from textual.css.query import NoMatches
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import Worker, WorkerState

from sot_tui.comm.fleet import LockPhase, Stance
from sot_tui.screens import actions
from sot_tui.screens.actions import Where
from sot_tui.screens.widgets.bars import KeyLine, LockBanner, MessageLine
from sot_tui.screens.widgets.filter import FILTER_WORDS, FilterLine
from sot_tui.screens.widgets.lines import Lines

if TYPE_CHECKING:
    from sot_tui.screens.desk import Desk

T = TypeVar("T")
W = TypeVar("W", bound=Widget)

NARROW, MEDIUM, WIDE = "-narrow", "-medium", "-wide"
MEDIUM_FROM, WIDE_FROM = 60, 100
"""Columns from which the layouts apply (product, The nav: three layouts by width)."""

_LAYOUTS: list[tuple[int, str]] | None = [(0, NARROW), (MEDIUM_FROM, MEDIUM), (WIDE_FROM, WIDE)]
LOW, HIGH = "-low", "-high"
HIGH_FROM = 24
"""Rows below which what stands above and below a list gives way to it: those of the smallest usual terminal."""

_HEIGHTS: list[tuple[int, str]] | None = [(0, LOW), (HIGH_FROM, HIGH)]


class Place(Screen[T]):
    """A screen that shows a part of the fleet."""

    WHERE: ClassVar[Where]
    HORIZONTAL_BREAKPOINTS = _LAYOUTS
    VERTICAL_BREAKPOINTS = _HEIGHTS

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self._pieces: dict[str, Widget] = {}

    def piece(self, name: str, kind: type[W]) -> W:
        """Return the piece of this screen with an id; a notice may come while the screen is being taken apart."""
        found = self._pieces.get(name)
        if found is None:
            found = self._pieces[name] = self.query_one(f"#{name}", kind)
        if not isinstance(found, kind):
            raise TypeError(f"{name} is no {kind.__name__}")
        return found

    @property
    def is_open(self) -> bool:
        """Tell whether it is on the screen, or below a dialog: an answer may come after a screen was closed."""
        return self.is_mounted and self in self.app.screen_stack

    def on_screen_suspend(self) -> None:
        """Drop what was painted when this screen was closed: Textual keeps its caches longer than the widgets."""
        if not self.is_open:
            for widget in self.walk_children(with_self=True):
                if isinstance(widget, Widget):
                    widget.refresh()

    # -- actions -----------------------------------------------------------------------------------------------------

    @property
    def takes_keys(self) -> bool:
        """Tell whether every key is meant for an agent, and none for the dashboard."""
        return False

    def tells_push(self, words: str, *, good: bool) -> bool:
        """Tell of a push in a way of this screen's own, and whether there is one; without, it is a toast."""
        del words, good
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let a key that words follow be a sign like any other where words are typed already."""
        if action == "act" and _takes_text(self.focused):
            return not actions.named(self.WHERE, str(parameters[0])).types
        return super().check_action(action, parameters)

    async def action_act(self, name: str, key: str = "") -> None:
        """Do what the table calls `name`, or say why not; keys, clicks and the palette all come here."""
        if self.may(name):
            done = getattr(self, f"action_{name}")(*([key] if key else []))
            if isawaitable(done):
                await done

    def may(self, name: str) -> bool:
        """Tell whether an action can do something now; when it cannot, say why."""
        why = self.why_not(name)
        if why:
            self.desk.refuse(why)
        return not why

    def why_not(self, name: str) -> str:
        """Return why an action can do nothing now, in one sentence; empty when it can."""
        fleet = self.desk.fleet
        if actions.named(self.WHERE, name).writes and fleet.stance is not Stance.HOST:
            return fleet.stance_why
        return ""

    def why_no_recover(self) -> str:
        """Return why there is no lock to recover; empty when there is one to look at."""
        free = self.desk.fleet.lock.phase in {LockPhase.FREE, LockPhase.UNKNOWN}
        return "the registry lock is free: there is nothing to recover" if free else ""

    def action_recover(self) -> None:
        """Look at the registry lock, to recover it."""
        from sot_tui.screens.recover import RecoverDialog  # noqa: PLC0415  (it is a place itself)

        self.app.push_screen(RecoverDialog(self.desk, self.desk.fleet.lock))

    @on(Lines.Missed)
    def _clicked_what_moved(self) -> None:
        """A click does nothing to a line that only just came under the pointer."""
        self.desk.refuse("the list moved just before the click, so nothing was done: click again")

    # -- the help ------------------------------------------------------------------------------------------------------

    def signs(self) -> tuple[tuple[str, str], ...]:
        """Return the signs that stand in this screen's list, each with what it means."""
        return ()

    def shows_handles(self) -> bool:
        """Tell whether handles stand on this screen, with the shapes of their states."""
        return False

    # -- the key line --------------------------------------------------------------------------------------------------

    OFFERS: ClassVar[bool] = False
    """Whether the key line follows what can be done now; a dialog, and a row's terminal, say it themselves."""

    def typing(self) -> Where | None:
        """Return what is typed, when a field for words has the keys."""
        return Where.FILTER if self.focused is not None and self.focused.id == FILTER_WORDS else None

    def offers(self, name: str) -> bool:
        """Tell whether the key line shows an action: whether it can do something now."""
        return not self.why_not(name)

    def show_keys(self) -> None:
        """Show the keys of what can be done now, and while words are typed those that end that."""
        if not self.OFFERS or not self.is_open:
            return
        typed = self.typing()
        for line in self.query(KeyLine):
            if typed is not None:
                line.while_typing(typed)
            else:
                labelled = (action.name for action in actions.of(self.WHERE) if action.label)
                line.leave_out(frozenset(name for name in labelled if not self.offers(name)))

    def on_descendant_focus(self) -> None:
        """Show what works where the keys are now."""
        self.call_later(self.show_keys)

    @on(Lines.Moved)
    def _another_is_selected(self) -> None:
        self.show_keys()

    def action_typed(self, name: str) -> None:
        """End the typing by a click on the key line."""
        for line in self.query(FilterLine):
            if line.display:
                (line.leave if name == "keep" else line.clear)()

    # -- showing -----------------------------------------------------------------------------------------------------

    def fleet_changed(self) -> None:
        """Show the newest fleet, by difference."""

    def time_passed(self) -> None:
        """Show the ages of now, by difference."""

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Tell a fault of work that was started here; it ends nothing else."""
        if event.state is WorkerState.ERROR:
            self.desk.refuse(fault_words(event.worker))

    def said(self) -> None:
        """Show what was said last, and whether the registry lock is held."""
        for banner in self.query(LockBanner):
            banner.tell()
        self.show_keys()
        try:
            self.query_one(MessageLine).tell()
        except NoMatches:
            return  # a dialog without a message line, or a screen that is not mounted yet


def _takes_text(widget: Widget | None) -> bool:
    """Tell whether keys are text to a widget. A class that was not loaded, for the first frame's sake, has none."""
    areas = sys.modules.get("textual.widgets._text_area")
    return isinstance(widget, Input) or (areas is not None and isinstance(widget, areas.TextArea))


def fault_words(worker: Worker[object]) -> str:
    """Return what went wrong in a worker, in one line."""
    fault = worker.error
    return f"this did not work: {type(fault).__name__}: {fault}"


class Dialog(Place[T], ModalScreen[T]):
    """A place that lies over another one and takes its keys."""
