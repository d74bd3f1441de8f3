"""The mail of one handle: an index and the message itself.

The operator's own inbox is polled: the whole batch is listed, and then the cursor is written from the batch's own bytes
(contract, Delivery). Any other inbox is a peek that moves no cursor, and the title says which of the two it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Container, VerticalScroll
from textual.content import Content

from sot_tui.comm.clock import seconds_of
from sot_tui.comm.names import is_handle
from sot_tui.engine.client import Kind, Listed, OpenMail, Page
from sot_tui.screens import show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.compose import ComposeScreen
from sot_tui.screens.place import MEDIUM_FROM, Place
from sot_tui.screens.widgets.bars import KeyLine, MessageLine
from sot_tui.screens.widgets.lines import Lines, Piece

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.engine.client import Letter
    from sot_tui.screens.desk import Desk

_AGE_CELLS = 5
_SENDER_CELLS = 20
_QUOTE_CHARS = 200
AGAIN_SECS = 2.0
"""Seconds until a busy inbox is read again; the engine's tick has the same length."""


class MailScreen(Place[None]):
    """One inbox, newest message last."""

    WHERE = Where.MAIL
    AUTO_FOCUS = "#index"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.MAIL)]

    def __init__(self, desk: Desk, handle: str) -> None:
        super().__init__(desk)
        self.handle = handle
        self._page = Page(handle)
        self._letters: dict[str, Letter] = {}
        self._fresh: set[int] = set()
        self._read_for: object = None
        self._opened = False

    @property
    def own(self) -> bool:
        """Tell whether this is the operator's own inbox."""
        return self.handle == self.desk.fleet.operator

    def compose(self) -> ComposeResult:
        """Lay out the title, the index beside or above the message, and the two lines at the foot."""
        yield show.Words(id="mail-title")
        with Container(id="mail"):
            yield Lines(self._paint, id="index")
            with VerticalScroll(id="letter"):
                yield show.Words(id="letter-head")
                yield show.Words(id="letter-text")
        yield MessageLine(self.desk)
        yield KeyLine(Where.MAIL)

    # -- reading -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Read the inbox."""
        self._show_title()
        self._read()

    def fleet_changed(self) -> None:
        """Read again when the count of this inbox is another one."""
        if self.is_open and self._read_for != self.desk.fleet.mail_of(self.handle):
            self._read()

    def time_passed(self) -> None:
        """Show the ages of now."""
        if self.is_open:
            self.piece("index", Lines).repaint()

    def action_reload(self) -> None:
        """Read the inbox again."""
        self._read()

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        self._read_for = self.desk.fleet.mail_of(self.handle)
        page = await self.desk.client.do(OpenMail(self.handle, poll=self.own))
        if page.busy:
            # Held is "try again", never a skip: what is shown stays, and so does the cursor.
            self.desk.refuse(" ".join(page.notes) or "the inbox is being written; it is read again in a moment")
            self.set_timer(AGAIN_SECS, self._read)
            return
        self._show_page(page)
        for note in page.notes:
            self.desk.refuse(note)
        if page.batch:
            self.call_after_refresh(self._listed, page.batch)

    @work(group="listed", exit_on_error=False)
    async def _listed(self, batch: int) -> None:
        """The whole batch stands on the screen: only now the cursor may pass it."""
        self.desk.say(await self.desk.client.do(Listed(batch)))

    # -- showing -----------------------------------------------------------------------------------------------------

    def _show_page(self, page: Page) -> None:
        self._page = page
        self._letters = {str(letter.line): letter for letter in page.letters}
        self._fresh |= {letter.line for letter in page.letters if not letter.read}
        index = self.piece("index", Lines)
        index.show(tuple(self._letters))
        if not self._opened and page.letters:
            self._opened = True
            unread = next((letter for letter in page.letters if not letter.read), page.letters[-1])
            index.select(str(unread.line))
            index.repaint()
        self._show_title()
        self._show_letter()

    def _show_title(self) -> None:
        page, how = self._page, "your mail" if self.own else "a look, no cursor moves"
        shown = f"{len(page.letters)} newest of {page.total}" if page.total > len(page.letters) else f"{page.total}"
        title = show.ours(
            " [b]mail of $handle[/]  [$foreground 60%]$how · $shown message$s[/]",
            handle=self.handle,
            how=how,
            shown=shown,
            s="" if page.total == 1 else "s",
        )
        self.piece("mail-title", show.Words).say(title)

    def _letter(self) -> Letter | None:
        selected = self.piece("index", Lines).selected
        return self._letters.get(selected) if selected is not None else None

    def _show_letter(self) -> None:
        head, text = self.piece("letter-head", show.Words), self.piece("letter-text", show.Words)
        letter = self._letter()
        if letter is None:
            head.say(Content(""))
            text.say(show.words(self._page.fault or "no mail", "$foreground 60%"))
            return
        told = [
            ("from", letter.sender or "not said"),
            ("to", "all (a broadcast, never counted)" if letter.kind is Kind.BROADCAST else letter.to or "not said"),
            ("repo", letter.repo or "not said"),
            ("sent", letter.at or "not said"),
        ]
        if letter.kind in {Kind.OTHER, Kind.UNPARSED}:
            told.append(("note", _NOT_COUNTED[letter.kind]))
        lines = [Content.assemble((show.fit(label, 6), "$foreground 50%"), show.words(said)) for label, said in told]
        head.say(Content("\n").join(lines))
        text.say(show.body(letter.text))

    def _paint(self, key: str, width: int, chosen: bool) -> tuple[Piece, ...]:
        letter = self._letters.get(key)
        if letter is None:
            return ()
        fresh = letter.line in self._fresh
        sender = min(_SENDER_CELLS, max(8, width // 3))
        rest = max(0, width - 4 - sender - 2 - _AGE_CELLS - 1)
        first = letter.text.split("\n", 1)[0]
        return (
            Piece("▌ " if chosen else "  ", "bar"),
            Piece("● " if fresh else "  ", "count"),
            Piece(show.fit(show.plain(letter.sender or "?"), sender), "strong" if fresh else ""),
            Piece("  " + show.fit(show.plain(first), rest), "" if letter.kind is Kind.DIRECTED else "dim"),
            Piece(show.fit_right(show.age(seconds_of(letter.at), self.desk.now()), _AGE_CELLS), "dim"),
            Piece(" "),
        )

    # -- what a person does --------------------------------------------------------------------------------------------

    @on(Lines.Moved, "#index")
    def _moved(self) -> None:
        self._show_letter()
        self.piece("letter", VerticalScroll).scroll_home(animate=False)

    @on(Lines.Opened, "#index")
    def _opened_letter(self) -> None:
        self.action_focus_body()

    def action_focus_body(self) -> None:
        """Give the keys to the message, so that it scrolls."""
        self.piece("letter", VerticalScroll).focus()

    def action_reply(self) -> None:
        """Reply to the selected message."""
        letter = self._letter()
        if letter is None:
            self.desk.refuse("there is no message to reply to")
        elif not is_handle(letter.sender):
            self.desk.refuse("the sender of this message is no handle, so nothing can be sent to it")
        elif letter.sender == self.desk.fleet.operator:
            self.desk.refuse("this message is your own")
        else:
            first = letter.text.split("\n", 1)[0]
            self.app.push_screen(ComposeScreen(self.desk, letter.sender, about=first[:_QUOTE_CHARS]))

    def action_compose(self) -> None:
        """Write to anybody."""
        self.app.push_screen(ComposeScreen(self.desk, ""))

    def action_back(self) -> None:
        """Give the keys back to the index, or leave."""
        index = self.piece("index", Lines)
        if index.has_focus or self.size.width < MEDIUM_FROM:
            self.dismiss()
        else:
            index.focus()


_NOT_COUNTED = {
    Kind.OTHER: "not addressed to this handle, or its own: shown, never counted as unread",
    Kind.UNPARSED: "this line of the inbox is no message: shown as it stands",
}
