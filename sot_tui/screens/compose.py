"""Writing a message as the operator, to one handle or to all of them.

The result is the contract's one line, `filed -> @h` or `FAILED -> @h: <reason>`, word for word. That a receiver is not
live, or not listed, is said before anything is sent. The draft is kept until its message is filed (drafts).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Paste
from textual.widgets import Button, Input, TextArea

from sot_tui.comm import fleet as rules
from sot_tui.comm.names import is_handle
from sot_tui.comm.text import visible_lines
from sot_tui.engine.client import LayOut, TakeUp
from sot_tui.screens import editor, handles, show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.confirm import Confirm
from sot_tui.screens.drafts import TO_ALL, Draft, slot_of_handle, slot_of_reply
from sot_tui.screens.place import Dialog
from sot_tui.screens.widgets.bars import KeyLine
from sot_tui.screens.widgets.complete import Completion
from sot_tui.screens.widgets.field import Field
from sot_tui.screens.widgets.lines import Lines, Piece

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

    from sot_tui.comm.fleet import Fleet
    from sot_tui.engine.client import Letter
    from sot_tui.screens.desk import Desk

PASTE_LIMIT = 100_000
"""Characters of one paste; a message is read by a session, which has better ways to get a file."""
KEEP_SECS = 0.5
"""Seconds after the last key until a draft is kept: what a crash of the machine may cost."""
QUOTE_LINES = 30
"""Lines of a message that its reply quotes; whoever wrote it has the rest."""
ABOUT_CHARS = 200
"""Characters of the line that says what is answered."""
_KNOWN_LINES = 5
_HANDLE_CELLS = 30


def write_to(desk: Desk, handle: str) -> ComposeScreen:
    """Return the screen for a message to a handle."""
    return ComposeScreen(desk, desk.drafts.open(Draft(slot_of_handle(handle), handle)))


def answer(desk: Desk, handle: str, question: str) -> ComposeScreen:
    """Return the screen for the answer to what a handle asks, which it quotes."""
    asked = "\n".join(f"> {show.paragraph(line)}".rstrip() for line in question.split("\n"))
    text = f"@{handle} asks:\n{asked}\n\n"
    draft = Draft(slot_of_handle(handle), handle, text, question.split("\n", 1)[0][:ABOUT_CHARS], prefill=text)
    return ComposeScreen(desk, desk.drafts.open(draft))


def anew(desk: Desk) -> ComposeScreen:
    """Return the screen for a message whose receiver is still open."""
    return ComposeScreen(desk, desk.drafts.open(Draft(slot_of_handle(""))))


def reply(desk: Desk, letter: Letter) -> ComposeScreen:
    """Return the screen for the reply to a message, which it quotes."""
    text = quoted(letter)
    about = letter.text.lstrip("\n").split("\n", 1)[0][:ABOUT_CHARS]
    draft = Draft(slot_of_reply(letter), letter.sender, text, about, prefill=text)
    return ComposeScreen(desk, desk.drafts.open(draft))


def to_all(desk: Desk) -> ComposeScreen:
    """Return the screen for a message to all."""
    return ComposeScreen(desk, desk.drafts.open(Draft(TO_ALL, to_all=True)))


def quoted(letter: Letter) -> str:
    """Return the beginning of a reply: who wrote what, each line of it behind a `>`."""
    lines = letter.text.replace("\r\n", "\n").rstrip("\n").split("\n")
    quote = [f"> {show.paragraph(line)}".rstrip() for line in lines[:QUOTE_LINES]]
    if len(lines) > QUOTE_LINES or not letter.whole:
        quote.append("> […]")
    when = f" at {show.plain(letter.at)}" if letter.at else ""
    return "\n".join([f"@{letter.sender} wrote{when}:", *quote, "", ""])


def receivers(fleet: Fleet, draft: Draft) -> list[str]:
    """Return whom a broadcast goes to."""
    return list(draft.left) or [handle for handle in fleet.agents if handle != fleet.operator]


def fault_of(draft: Draft) -> str:
    """Return why a draft cannot be sent at all, or nothing."""
    if not draft.to_all and not is_handle(draft.to):
        return "not sent: say first to whom"
    return "" if draft.text.strip() else "not sent: the message is empty"


class Writing(TextArea):
    """The text of a message. What is pasted is foreign, so it loses its control signs on the way in."""

    async def _on_paste(self, event: Paste) -> None:
        clean = visible_lines(event.text.replace("\r", "\n") if "\n" not in event.text else event.text, PASTE_LIMIT)
        await super()._on_paste(Paste(clean[:PASTE_LIMIT]))
        event.stop()
        event.prevent_default()


class ComposeScreen(Dialog[None]):
    """One draft, until it is filed or closed."""

    WHERE = Where.COMPOSE
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.COMPOSE)]

    def __init__(self, desk: Desk, draft: Draft) -> None:
        super().__init__(desk)
        self._draft = draft
        self._asked_for_receiver = not draft.to
        self._keeping: Timer | None = None
        self._fault = ""
        """Why it could not even be tried; empty when it could."""

    def compose(self) -> ComposeResult:
        """Lay out the receiver, what is answered, the text, the result, and the buttons."""
        with Vertical(id="compose"):
            yield show.Words(id="compose-title")
            yield Field(value=self._draft.to, id="compose-to", restrict=r"[@A-Za-z0-9._-]*", max_length=65)
            yield Lines(self._paint_known, id="compose-known")
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
        draft, receiver = self._draft, self.piece("compose-to", Field)
        draft.writing = True
        receiver.keys, receiver.ending = frozenset({"tab", "enter", "up", "down"}), self._receiver_key
        receiver.border_title = Content("to")
        receiver.display = not draft.to_all
        self._known = Completion(receiver, self.piece("compose-known", Lines), self._taken)
        writing = self.piece("compose-text", Writing)
        writing.border_title = Content("message")
        self.piece("compose-title", show.Words).say(self._title())
        about = self.piece("compose-about", show.Words)
        about.display = bool(draft.about)
        about.say(show.words(f"in reply to: {draft.about}", "$foreground 60%"))
        writing.move_cursor(writing.document.end)
        # At once, and not after what waits: a key that follows in the same moment is meant for it.
        self.set_focus(receiver if self._asked_for_receiver and not draft.to_all else writing)
        self.fleet_changed()
        self._show_result()

    def _title(self) -> Content:
        draft = self._draft
        if draft.to_all:
            return Content.styled("write to all", "b")
        what = "reply to" if draft.about else "write to"
        return show.ours("[b]$what @$to[/]", what=what, to=draft.to) if draft.to else Content.styled("write", "b")

    def on_unmount(self) -> None:
        """Whatever closed it, the draft is kept."""
        self._draft.writing = False
        self.app.run_worker(self.desk.drafts.keep(self._draft), group="keep", exit_on_error=False)

    def fleet_changed(self) -> None:
        """Say at once when the receiver is not live: a message to it will be refused."""
        if self.is_open:
            self._show_known()
            self.piece("compose-live", show.Words).say(self._live_words())

    def time_passed(self) -> None:
        """A receiver may have gone stale while a person writes."""
        self.fleet_changed()

    # -- the receiver --------------------------------------------------------------------------------------------------

    def _live_words(self) -> Content:
        fleet, now = self.desk.fleet, self.desk.now()
        if self._draft.to_all:
            return _all_words(fleet, receivers(fleet, self._draft), now, again=bool(self._draft.left))
        to = _handle(self.piece("compose-to", Input).value)
        if self._known.is_open:
            return show.words("tab takes the marked handle", "$foreground 60%")
        if not to:
            return Content(" ")
        one = fleet.agents.get(to)
        if to == fleet.operator:
            return show.words("this is you", "$warning")
        if one is None:
            return show.words(f"@{to} is not in this registry: the hub will be asked to file it", "$warning")
        if not rules.is_live(fleet, one, now):
            return show.words(f"@{to} is not live: a message to it will be refused", "$warning")
        return show.words(f"@{to} is live", "$state-done")

    def _list_now(self) -> None:
        """List the handles for what stands in the field now, though nobody was told yet that it has changed."""
        self._draft.to = _handle(self.piece("compose-to", Input).value)
        self._show_known()

    def _show_known(self) -> None:
        """List the live handles that the receiver's field may mean, while it is typed in."""
        field = self.piece("compose-to", Input)
        typed = _handle(field.value)
        found = completions(self.desk.fleet, typed, self.desk.now()) if field.has_focus else []
        self._known.show([] if found == [typed] else found, _KNOWN_LINES)

    def _paint_known(self, handle: str, width: int, chosen: bool) -> tuple[Piece, ...]:
        fleet, now = self.desk.fleet, self.desk.now()
        one = fleet.agents.get(handle)
        if one is None:
            return ()
        shown = rules.derive(fleet, one, now)
        name = min(_HANDLE_CELLS, max(8, width // 2))
        return (
            Piece("▌ " if chosen else "  ", "bar"),
            Piece(show.fit(show.plain(handle), name), "strong" if chosen else ""),
            Piece("  " + show.fit(show.plain(handles.said(shown)), max(0, width - name - 5)), "dim"),
            Piece(" "),
        )

    def on_descendant_focus(self) -> None:
        """List the handles while the receiver's field has the keys."""
        self.fleet_changed()

    def _receiver_key(self, key: str) -> bool:
        """Answer a key that ends the typing of the receiver, or marks one of those that are listed."""
        match key:
            case "up":
                self.action_known_up()
            case "down":
                self.action_known_down()
            case "tab":
                self.action_complete()
            case _:
                self._list_now()
                if self._draft.to not in self.desk.fleet.agents:
                    self._known.take()
                self.set_focus(self.piece("compose-text", Writing))
        return True

    def action_known_up(self) -> None:
        """Mark the handle above."""
        self._known.up()

    def action_known_down(self) -> None:
        """Mark the handle below."""
        self._known.down()

    def action_complete(self) -> None:
        """Take the marked handle; where there is none, go to the next field."""
        self._list_now()
        if not self._known.take():
            self.focus_next()

    def _taken(self, handle: str) -> str:
        self._draft.to = handle
        return handle

    @on(Lines.Clicked, "#compose-known")
    def _known_clicked(self) -> None:
        self._known.take_clicked()

    @on(Input.Changed, "#compose-to")
    def _receiver_changed(self, event: Input.Changed) -> None:
        self._draft.to = _handle(event.value)
        self.fleet_changed()
        self._keep_soon()

    # -- the text ------------------------------------------------------------------------------------------------------

    @on(TextArea.Changed, "#compose-text")
    def _text_changed(self, event: TextArea.Changed) -> None:
        self._draft.text = event.text_area.text
        self._keep_soon()

    def _keep_soon(self) -> None:
        if self._keeping is not None:
            self._keeping.stop()
        self._keeping = self.set_timer(KEEP_SECS, self._keep)

    @work(group="keep", exit_on_error=False)
    async def _keep(self) -> None:
        await self.desk.drafts.keep(self._draft)

    @work(group="editor", exclusive=True, exit_on_error=False)
    async def action_open_outside(self) -> None:
        """Write on in the person's own editor; the text that it leaves is the draft."""
        sheet = await self.desk.client.do(LayOut(self._draft.text))
        if sheet.fault:
            self._say_fault(sheet.fault)
            return
        fault = await editor.edit(self.app, self.desk.editor, sheet.path)
        body = await self.desk.client.do(TakeUp(sheet))
        if not body.fault:
            writing = self.piece("compose-text", Writing)
            writing.text = show.written(body.text)
            writing.move_cursor(writing.document.end)
        self._say_fault(fault or body.fault)

    # -- sending -------------------------------------------------------------------------------------------------------

    def _show_result(self) -> None:
        result = self.piece("compose-result", show.Words)
        said = self._fault or self._draft.refused
        result.display = self._draft.sending or bool(said)
        if self._draft.sending:
            result.say(Content.styled("sending …", "$foreground 60%"))
        else:
            result.say(Content("\n").join([show.words(line, "b $error") for line in said.split("\n")]))

    def _say_fault(self, fault: str) -> None:
        self._fault = fault
        if self.is_open:
            self._show_result()

    @on(Button.Pressed, "#compose-send")
    def _send_pressed(self) -> None:
        self.action_send()

    @on(Button.Pressed, "#compose-close")
    def _close_pressed(self) -> None:
        self.action_back()

    def action_back(self) -> None:
        """Close; a draft that nobody wrote anything into is not worth keeping."""
        if self._draft.empty and not self._draft.sending:
            self.app.run_worker(self.desk.drafts.drop(self._draft), group="keep", exit_on_error=False)
        self._draft.writing = False  # now, for the screen below is shown before this one is taken apart
        self.dismiss()

    def action_send(self) -> None:
        """Send the message, once."""
        draft = self._draft
        if draft.sending:
            return
        self._say_fault(fault_of(draft))
        if self._fault:
            return
        if draft.to_all:
            self._ask_and_send()
        else:
            # A worker of the app: the answer takes its time, and closing this window must not lose it.
            self.app.run_worker(self._send(), group="send", exit_on_error=False)

    @work(group="ask", exclusive=True, exit_on_error=False)
    async def _ask_and_send(self) -> None:
        fleet, now = self.desk.fleet, self.desk.now()
        wanted = receivers(fleet, self._draft)
        if not wanted:
            self._say_fault("not sent: there is no other handle")
            return
        question = f"Send this to {len(wanted)} handle{'' if len(wanted) == 1 else 's'}?"
        refused = [handle for handle in wanted if not _is_live(fleet, handle, now)]
        lines = [("live", f"{len(wanted) - len(refused)}: a copy will be filed")]
        if refused:
            lines.append(("not live", f"{len(refused)}: it will be refused ({', '.join(refused)})"))
        if await self.app.push_screen_wait(Confirm(self.desk, question, tuple(lines), "Send to all")):
            self.app.run_worker(self._send(), group="send", exit_on_error=False)

    async def _send(self) -> None:
        sending = self.desk.drafts.send(self._draft)
        self.call_later(self._show_result)
        good = await sending
        if self.is_open:
            self._show_result()
            self.fleet_changed()
        if good and self.is_current and self.desk.drafts.get(self._draft.slot) is not self._draft:
            self.dismiss()


def completions(fleet: Fleet, typed: str, now: float) -> list[str]:
    """Return the live handles that what was typed may mean: those that begin with it first."""
    wanted = typed.lower()
    found = [
        handle
        for handle, one in fleet.agents.items()
        if wanted in handle.lower() and handle != fleet.operator and rules.is_live(fleet, one, now)
    ]
    return sorted(found, key=lambda handle: (not handle.lower().startswith(wanted), handle.lower(), handle))


def _all_words(fleet: Fleet, wanted: list[str], now: float, *, again: bool) -> Content:
    refused = sum(not _is_live(fleet, handle, now) for handle in wanted)
    who = f"to all who have no copy yet: {len(wanted)}" if again else f"to every other handle: {len(wanted)}"
    if not refused:
        return show.words(f"{who}, all live", "$state-done")
    are = "is" if refused == 1 else "are"
    return show.words(f"{who} · {refused} {are} not live, and will be refused", "$warning")


def _is_live(fleet: Fleet, handle: str, now: float) -> bool:
    one = fleet.agents.get(handle)
    return one is not None and rules.is_live(fleet, one, now)


def _handle(said: str) -> str:
    """Return the handle in what a person typed: with or without its `@`."""
    return said.strip().removeprefix("@")
