"""The keys that work here, made of the table of actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Spacing

from sot_tui.comm.fleet import State
from sot_tui.screens import actions, show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.place import Dialog

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import Click

    from sot_tui.screens.desk import Desk

_KEY_CELLS = 14
_MOST_CELLS, _FRAME_CELLS = 84, 6
"""Cells of the frame at most, as its style sheet has it, and those that border, padding and scrollbar take of it."""
_MOST_LINES = 4
_BORDER = Spacing.all(1)
_MEANING = {
    State.BLOCKED: "it waits on you: a dialog or a question is open",
    State.DONE: "its turn has ended and nobody has viewed it yet",
    State.WORKING: "a turn runs; working? when nothing was heard for minutes",
    State.WAITING: "it waits for something that is not you",
    State.IDLE: "nothing is going on",
    State.SILENT: "no hook has spoken: its state is not known",
    State.YOU: "your own handle",
    State.ENDED: "a row's run is over; the row stays, and can run again",
    State.STALE: "not seen for ten minutes: a message to it is refused",
}


class HelpScreen(Dialog[None]):
    """What can be done on the screen below."""

    WHERE = Where.HELP
    AUTO_FOCUS = "#help"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.HELP)]

    def __init__(
        self, desk: Desk, below: Where, signs: tuple[tuple[str, str], ...] = (), *, states: bool = True
    ) -> None:
        """`signs` are those of the screen below, each with what it means; `states` are the shapes of handles."""
        super().__init__(desk)
        self._below = below
        self._signs, self._states = signs, states

    def compose(self) -> ComposeResult:
        """Lay out the keys, the keys of every list, and what the shapes mean."""
        with VerticalScroll(id="help"):
            yield show.Words(id="help-text")

    def on_mount(self) -> None:
        """Say how it is closed."""
        frame = self.query_one("#help", VerticalScroll)
        frame.border_title = Content("help")
        frame.border_subtitle = Content("esc closes")
        self.on_resize()

    def on_resize(self) -> None:
        """Lay it out for the new width."""
        self.piece("help-text", show.Words).say(self._text())

    def on_click(self, event: Click) -> None:
        """Close at a click beside the text, as on the words in the frame that say how it is closed."""
        if not self.query_one("#help", VerticalScroll).region.shrink(_BORDER).contains_point(event.screen_offset):
            self.dismiss()

    def _text(self) -> Content:
        lines = [Content.styled(f"Keys {self._below.value}", "b")]
        lines += [self._key_line(action) for action in actions.of(self._below)]
        lines += [self._key_line(action) for action in actions.of(Where.EVERYWHERE)]
        lines += [Content(""), Content.styled("Keys in a list", "b")]
        lines += [self._key_line(action) for action in actions.of(Where.LINES)]
        if self._signs:
            lines += [Content(""), Content.styled("Signs here", "b")]
            lines += [self._line(sign, meaning, "b $foreground") for sign, meaning in self._signs]
        if self._states:
            lines += [Content(""), Content.styled("Shapes of handles", "b")]
            lines.append(self._line("z◆ aside", "z set its need aside, until something changes", "$foreground 60%"))
        for state, meaning in _MEANING.items() if self._states else ():
            lines.append(self._line(f"{show.SHAPES[state]} {state.value}", meaning, f"$state-{show.PARTS[state]}"))
        return Content("\n").join(lines)

    def _key_line(self, action: actions.Action) -> Content:
        return self._line(actions.spoken_keys(action), action.help, "b $accent")

    def _line(self, label: str, text: str, style: str) -> Content:
        room = min(_MOST_CELLS, self.app.size.width * 9 // 10) - _FRAME_CELLS
        return show.hang(f"  {label}", text, room, _KEY_CELLS + 2, _MOST_LINES, style)

    def action_back(self) -> None:
        """Close the help."""
        self.dismiss()
