"""Writing a message as the operator.

The result is the contract's one line, `filed -> @h` or `FAILED -> @h: <reason>`, word for word. The draft is kept on
the desk until its message is filed, so neither a refusal nor a closed window loses what a person has written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Paste
from textual.widgets import Button, Input, TextArea

from sot_tui.comm import fleet as rules
from sot_tui.comm.names import is_handle
from sot_tui.comm.text import visible_lines
from sot_tui.engine.client import Send
from sot_tui.screens import show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.desk import Draft
from sot_tui.screens.place import Dialog
from sot_tui.screens.widgets.bars import KeyLine

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.screens.desk import Desk

PASTE_LIMIT = 100_000
"""Characters of one paste; a message is read by a session, which has better ways to get a file."""


class Writing(TextArea):
    """The text of a message. What is pasted is foreign, so it loses its control signs on the way in."""

    async def _on_paste(self, event: Paste) -> None:
        clean = visible_lines(event.text.replace("\r", "\n") if "\n" not in event.text else event.text, PASTE_LIMIT)
        await super()._on_paste(Paste(clean[:PASTE_LIMIT]))
        event.stop()
        event.prevent_default()


class ComposeScreen(Dialog[None]):
    """A message to one handle."""

    WHERE = Where.COMPOSE
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.COMPOSE)]

    def __init__(self, desk: Desk, to: str, *, about: str = "") -> None:
        super().__init__(desk)
        self._draft = desk.drafts.setdefault(to, Draft(to))
        if about:
            self._draft.about = about
        self._slot = to

    def compose(self) -> ComposeResult:
        """Lay out the receiver, what is answered, the text, the result, and the buttons."""
        with Vertical(id="compose"):
            yield show.Words(id="compose-title")
            yield Input(value=self._draft.to, id="compose-to", restrict=r"[@A-Za-z0-9._-]*", max_length=65)
            yield show.Words(id="compose-live")
            yield show.Words(id="compose-about")
            yield Writing(self._draft.text, id="compose-text", show_line_numbers=False)
            yield show.Words(id="compose-result")
            with Horizontal(id="compose-buttons"):
                yield Button(Content("Send"), id="compose-send", variant="primary", compact=True)
                yield Button(Content("Close, keep the draft"), id="compose-close", compact=True)
            yield KeyLine(Where.COMPOSE)

    def on_mount(self) -> None:
        """Show the draft as it was left, and give the keys to what is still missing."""
        receiver = self.piece("compose-to", Input)
        receiver.border_title = Content("to")
        writing = self.piece("compose-text", Writing)
        writing.border_title = Content("message")
        title = show.ours("[b]write to @$to[/]", to=self._slot) if self._slot else Content.styled("write", "b")
        self.piece("compose-title", show.Words).say(title)
        about = self.piece("compose-about", show.Words)
        about.display = bool(self._draft.about)
        about.say(show.words(f"in reply to: {self._draft.about}", "$foreground 60%"))
        writing.move_cursor(writing.document.end)
        (writing if self._slot else receiver).focus()
        self.fleet_changed()
        self._show_result()

    def fleet_changed(self) -> None:
        """Say at once when the receiver is not live: a message to it will be refused."""
        if self.is_open:
            self.piece("compose-live", show.Words).say(self._live_words())

    def time_passed(self) -> None:
        """A receiver may have gone stale while a person writes."""
        self.fleet_changed()

    def _live_words(self) -> Content:
        to = _handle(self.piece("compose-to", Input).value)
        fleet = self.desk.fleet
        if not to:
            return Content(" ")
        one = fleet.agents.get(to)
        if one is None:
            return show.words(f"@{to} is not in this registry", "$warning")
        if not rules.is_live(fleet, one, self.desk.now()):
            return show.words(f"@{to} is not live: a message to it will be refused", "$warning")
        return show.words(f"@{to} is live", "$state-done")

    def _show_result(self) -> None:
        result = self.piece("compose-result", show.Words)
        result.display = self._draft.sending or bool(self._draft.refused)
        if self._draft.sending:
            result.say(Content.styled("sending …", "$foreground 60%"))
        else:
            result.say(show.words(self._draft.refused, "b $error"))

    @on(Input.Changed, "#compose-to")
    def _receiver_changed(self, event: Input.Changed) -> None:
        self._draft.to = _handle(event.value)
        self.fleet_changed()

    @on(Input.Submitted, "#compose-to")
    def _receiver_said(self) -> None:
        self.piece("compose-text", Writing).focus()

    @on(TextArea.Changed, "#compose-text")
    def _text_changed(self, event: TextArea.Changed) -> None:
        self._draft.text = event.text_area.text

    @on(Button.Pressed, "#compose-send")
    def _send_pressed(self) -> None:
        self.action_send()

    @on(Button.Pressed, "#compose-close")
    def _close_pressed(self) -> None:
        self.action_back()

    def action_back(self) -> None:
        """Close; an empty draft is not worth keeping."""
        if not self._draft.text.strip() and not self._draft.sending:
            self.desk.drafts.pop(self._slot, None)
        self.dismiss()

    def action_send(self) -> None:
        """Send the message, once."""
        draft = self._draft
        if draft.sending:
            return
        if not is_handle(draft.to):
            draft.refused = "not sent: say first to whom"
        elif not draft.text.strip():
            draft.refused = "not sent: the message is empty"
        else:
            draft.sending, draft.refused = True, ""
            # A worker of the app: the answer takes its time, and closing this window must not lose it.
            self.app.run_worker(self._send(), group="send", exit_on_error=False)
        self._show_result()

    async def _send(self) -> None:
        draft, sent = self._draft, self._draft.text
        try:
            outcome = await self.desk.client.do(Send(draft.to, sent))
        finally:
            draft.sending = False
        if outcome.good:
            if draft.text == sent:
                self.desk.drafts.pop(self._slot, None)
                if self.is_current:
                    self.dismiss()
        else:
            draft.refused = outcome.sentence
        self.desk.say(outcome)
        if self.is_open:
            self._show_result()


def _handle(said: str) -> str:
    """Return the handle in what a person typed: with or without its `@`."""
    return said.strip().removeprefix("@")
