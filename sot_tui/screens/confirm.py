"""A question before something that cannot be taken back: what will happen, and Cancel first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button

from sot_tui.screens import show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.place import MEDIUM_FROM, Dialog
from sot_tui.screens.widgets.bars import KeyLine

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.screens.desk import Desk

_MOST_CELLS, _FRAME_CELLS = 72, 4
"""Cells of the frame at most, as its style sheet has it, and those that border and padding take of it."""
_MOST_LINES = 4
"""Lines that one thing that will happen may take."""


class Confirm(Dialog[int]):
    """Asks, and is dismissed with the number of the answer, from 1; leaving it is a no, which is 0."""

    WHERE = Where.CONFIRM
    AUTO_FOCUS = "#confirm-no"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.CONFIRM)]

    def __init__(
        self, desk: Desk, question: str, lines: tuple[tuple[str, str], ...], verb: str, other_verb: str = ""
    ) -> None:
        """`other_verb` is a second thing that may be done instead."""
        super().__init__(desk)
        self._question, self._lines, self._verb, self._other_verb = question, lines, verb, other_verb

    def compose(self) -> ComposeResult:
        """Lay out the question, what will happen, and the buttons, Cancel first."""
        with Vertical(id="confirm"):
            yield show.Words(show.words(self._question, "b"), id="confirm-question")
            yield show.Words(id="confirm-lines")
            with Horizontal(id="confirm-buttons", classes="three" if self._other_verb else ""):
                yield Button(Content("Cancel"), id="confirm-no", compact=True)
                yield Button(Content(self._verb), id="confirm-yes", variant="error", compact=True)
                if self._other_verb:
                    yield Button(Content(self._other_verb), id="confirm-other", variant="error", compact=True)
            yield KeyLine(Where.CONFIRM)

    def on_mount(self) -> None:
        """Say what will happen."""
        self.on_resize()

    def on_resize(self) -> None:
        """Lay out what will happen for the width."""
        width = self.app.size.width
        room = (width if width < MEDIUM_FROM else min(_MOST_CELLS, width * 9 // 10)) - _FRAME_CELLS
        label_cells = max(show.width(label) for label, _ in self._lines) + 2
        told = [show.hang(label, text, room, label_cells, _MOST_LINES) for label, text in self._lines]
        self.piece("confirm-lines", show.Words).say(Content("\n").join(told))

    @on(Button.Pressed, "#confirm-no")
    def action_back(self) -> None:
        """Answer no."""
        self.dismiss(0)

    @on(Button.Pressed, "#confirm-yes")
    def _yes(self) -> None:
        self.dismiss(1)

    @on(Button.Pressed, "#confirm-other")
    def _other_yes(self) -> None:
        self.dismiss(2)

    def action_other(self) -> None:
        """Give the keys to the button on the left."""
        self.focus_previous("Button")

    def action_other_next(self) -> None:
        """Give the keys to the button on the right."""
        self.focus_next("Button")
