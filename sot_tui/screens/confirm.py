"""A question before something that cannot be taken back: what will happen, and Cancel first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button

from sot_tui.screens import show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.place import Dialog
from sot_tui.screens.widgets.bars import KeyLine

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.screens.desk import Desk


class Confirm(Dialog[bool]):
    """Asks, and is dismissed with the answer; leaving it is a no."""

    WHERE = Where.CONFIRM
    AUTO_FOCUS = "#confirm-no"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.CONFIRM)]

    def __init__(self, desk: Desk, question: str, lines: tuple[str, ...], verb: str) -> None:
        super().__init__(desk)
        self._question, self._lines, self._verb = question, lines, verb

    def compose(self) -> ComposeResult:
        """Lay out the question, what will happen, and the buttons, Cancel first."""
        with Vertical(id="confirm"):
            yield show.Words(show.words(self._question, "b"), id="confirm-question")
            yield show.Words(Content("\n").join([show.words(line) for line in self._lines]), id="confirm-lines")
            with Horizontal(id="confirm-buttons"):
                yield Button(Content("Cancel"), id="confirm-no", compact=True)
                yield Button(Content(self._verb), id="confirm-yes", variant="error", compact=True)
            yield KeyLine(Where.CONFIRM)

    @on(Button.Pressed, "#confirm-no")
    def action_back(self) -> None:
        """Answer no."""
        self.dismiss(False)

    @on(Button.Pressed, "#confirm-yes")
    def _yes(self) -> None:
        self.dismiss(True)

    def action_other(self) -> None:
        """Give the keys to the other button."""
        self.focus_next("Button")
