"""What every list of messages is made of: an index on the left, the selected message on the right, and what one does.

Contract, Message frame and Delivery: a message that lies in an inbox is filed; it is read when the reader's cursor has
passed it; whatever else is not known is not said. That a person has opened a message is a mark of our own. Of a long
message the beginning comes with the index and the rest when it is looked at. All of it is foreign text.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.content import Content

from sot_tui.comm.clock import seconds_of
from sot_tui.comm.names import is_handle
from sot_tui.comm.text import visible_lines
from sot_tui.engine.client import Body, Kind, Known, LayOut, MarkOpened, Outcome, ReadLetter, TakeUp
from sot_tui.screens import compose, editor, show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.place import MEDIUM_FROM, Place
from sot_tui.screens.unsent import UnsentScreen
from sot_tui.screens.widgets.bars import KeyLine, LockBanner, MessageLine
from sot_tui.screens.widgets.lines import Lines, Piece
from sot_tui.screens.widgets.reader import Reader
from sot_tui.screens.widgets.split import Split

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import AwaitMount, Widget

    from sot_tui.engine.client import Letter
    from sot_tui.screens.desk import Desk

OPENED_SECS = 1.0
"""Seconds after which a message that is shown counts as opened; who only passes by has not opened it."""
COPY_BYTES = 70_000
"""Bytes that are copied at most: in base64 they are what terminals take in one OSC 52 sequence (xterm: 100 kB)."""

_AGE_CELLS = 5
_LABEL_CELLS = 7
_NOTES = {
    Kind.OTHER: "not addressed to this handle, or its own: shown, never counted as unread",
    Kind.UNPARSED: "this line of the inbox is no message: shown as it stands",
}


class LettersScreen(Place[None]):
    """A list of messages. A subclass says which, in what order, and what it is called."""

    WHERE = Where.MAIL
    OFFERS = True
    AUTO_FOCUS = "#index"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.MAIL)]
    WHO_CELLS: ClassVar[int] = 20
    """Cells for who stands beside a message, where there is room."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._body: tuple[Letter, Body] | None = None
        """The text of the selected message, when more of it than its beginning was brought."""
        self._shown: Letter | None = None
        self._shown_since = 0.0
        self.words: tuple[str, ...] = ()
        """What is marked in the messages: the words of a search."""

    # -- what a subclass knows -----------------------------------------------------------------------------------------

    @abstractmethod
    def letter_of(self, key: str) -> Letter | None:
        """Return the message of a line of the index; None while it is not known."""

    @abstractmethod
    def say_title(self) -> None:
        """Say in the title what is listed."""

    @abstractmethod
    def opened(self, letter: Letter) -> None:
        """Keep in the list that a message was opened."""

    def beside(self) -> Widget | None:
        """Return what stands on the left of all of it."""
        return None

    @property
    def is_read(self) -> bool:
        """Tell whether who looks at a message means it."""
        return True

    def above(self) -> list[Widget]:
        """Return what stands between the title and the index."""
        return []

    def sign(self, letter: Letter) -> str:
        """Return the sign before a message: in one's own mail what is new, elsewhere whether its reader has read it."""
        if letter.inbox == self.desk.fleet.operator:
            return "" if letter.opened else show.NEW
        return show.READ if letter.read else show.UNREAD

    def signs(self) -> tuple[tuple[str, str], ...]:
        """Return what the signs before a message mean."""
        return (
            (show.NEW, "a message in your own mail that you have not opened"),
            ("no sign", "a message in your own mail that you have opened"),
            (show.UNREAD, "in another's mail: its reader has not read it yet"),
            (show.READ, "in another's mail: its reader has read it"),
        )

    def who(self, letter: Letter) -> str:
        """Return who stands beside a message in the index."""
        return letter.sender or "?"

    def empty_words(self) -> str:
        """Return what is said in the place of a message when there is none."""
        return "no mail"

    # -- layout --------------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out the title, the index beside or above the message, and the two lines at the foot."""
        beside = self.beside()
        with Horizontal(id="panes"):
            if beside is not None:
                yield beside
            with Vertical(id="listed"):
                yield MailTitle(id="mail-title")
                yield LockBanner(self.desk)
                yield from self.above()
                with Split(id="mail"):
                    yield Lines(self._paint, id="index")
                    with Vertical(id="letter"):
                        yield show.Words(id="letter-head")
                        yield Reader(id="letter-text")
        yield MessageLine(self.desk)
        yield KeyLine(Where.MAIL)

    def time_passed(self) -> None:
        """Show the ages of now; a message that was looked at long enough counts as opened."""
        if not self.is_open:
            return
        self.piece("index", Lines).repaint()
        letter = self._shown
        if letter is not None:
            self._say_head(letter)
            if self.is_current and self.is_read and self.desk.now() - self._shown_since >= OPENED_SECS:
                self.mark(letter)

    # -- the index -----------------------------------------------------------------------------------------------------

    def letter(self) -> Letter | None:
        """Return the selected message."""
        selected = self.piece("index", Lines).selected
        return self.letter_of(selected) if selected is not None else None

    def _paint(self, key: str, width: int, chosen: bool) -> tuple[Piece, ...]:
        letter = self.letter_of(key)
        bar = Piece("▌ " if chosen else "  ", "bar")
        if letter is None:
            return (bar, Piece(show.fit("  …", width - 2), "dim"))
        return (bar, *self.pieces(letter, width - 2))

    def pieces(self, letter: Letter, width: int) -> tuple[Piece, ...]:
        """Return the line of a message: its sign, who, how it begins, its age."""
        who = min(self.WHO_CELLS, max(8, width * self.WHO_CELLS // (self.WHO_CELLS + 40)))
        rest = max(0, width - 2 - who - 2 - _AGE_CELLS - 1)
        sign = self.sign(letter)
        return (
            Piece(show.fit(sign, 2), "count" if sign == show.NEW else "dim"),
            Piece(show.fit(show.plain(self.who(letter)), who), self._weight(letter)),
            Piece("  " + show.fit(show.plain(_first_line(letter.text)), rest), "dim" if self._weak(letter) else ""),
            Piece(show.fit_right(show.age(seconds_of(letter.at), self.desk.now()), _AGE_CELLS), "dim"),
            Piece(" "),
        )

    def _weight(self, letter: Letter) -> str:
        """Return the part of a name: bold when it is mail for the person that was not opened."""
        if letter.inbox == self.desk.fleet.operator:
            return "" if letter.opened else "strong"
        return "dim" if letter.opened else ""

    def _weak(self, letter: Letter) -> bool:
        return letter.kind is not Kind.DIRECTED or (letter.opened and letter.inbox != self.desk.fleet.operator)

    # -- the message ---------------------------------------------------------------------------------------------------

    def show_letter(self) -> None:
        """Show the selected message, its beginning at once."""
        if not self.is_open:
            return
        letter = self.letter()
        if letter is None:
            self._shown = None
            self.piece("letter-head", show.Words).say(show.words(self.empty_words(), "$foreground 60%"))
            self.piece("letter-text", Reader).read("")
            return
        same = self._shown is not None and _place(self._shown) == _place(letter)
        if not same:
            self._shown_since = self.desk.now()
            self.piece("mail", Split).remove_class("reading")
        self._shown = letter
        self._say_head(letter)
        if letter.whole:
            self.piece("letter-text", Reader).read(letter.text, words=self.words)
        elif self._body is not None and _place(self._body[0]) == _place(letter):
            self._say_body(letter, self._body[1])
        else:
            self.piece("letter-text", Reader).read(letter.text, note="the rest is being read …", words=self.words)
            self._bring(letter)

    @work(group="body", exclusive=True, exit_on_error=False)
    async def _bring(self, letter: Letter) -> None:
        body = await self.desk.client.do(ReadLetter(letter))
        self._body = (letter, body)
        if self._shown is not None and _place(self._shown) == _place(letter) and self.is_open:
            self._say_body(letter, body)

    def _say_body(self, letter: Letter, body: Body) -> None:
        text = body.text or letter.text
        left = body.chars - len(body.text)
        note = body.fault or (f"… and {left:,} more characters: o opens the whole of it in your editor" if left else "")
        self.piece("letter-text", Reader).read(text, note=note, words=self.words)

    def _say_head(self, letter: Letter) -> None:
        me, now = self.desk.fleet.operator, self.desk.now()
        at = seconds_of(letter.at)
        sent = f"{letter.at or 'not said'}{f' · {show.age(at, now)} ago' if at is not None else ''}"
        receiver = "all (a broadcast, never counted)" if letter.kind is Kind.BROADCAST else letter.to or "not said"
        if self.size.width < MEDIUM_FROM:
            told = [("", f"{letter.sender or '?'} → {letter.to or 'all'}"), ("", f"{sent} · {known(letter, me)}")]
        else:
            repo = f" ({letter.repo})" if letter.repo else ""
            told = [
                ("from", f"{letter.sender or 'not said'}{repo}"),
                ("to", receiver),
                ("sent", sent),
                ("known", known(letter, me)),
            ]
        if letter.kind in _NOTES:
            told.append(("note" if told[0][0] else "", _NOTES[letter.kind]))
        room = max(10, self.piece("letter-head", show.Words).size.width)
        lines = [show.hang(label, said, room, _LABEL_CELLS if label else 0, 2) for label, said in told]
        self.piece("letter-head", show.Words).say(Content("\n").join(lines))

    # -- opening -------------------------------------------------------------------------------------------------------

    def mark(self, letter: Letter) -> None:
        """Mark a message as opened."""
        if not letter.opened and letter.mark:
            self._mark(letter)

    @work(group="mark", exit_on_error=False)
    async def _mark(self, letter: Letter) -> None:
        self.desk.say(await self.desk.client.do(MarkOpened(letter)))
        opened = replace(letter, opened=True)
        self.opened(opened)
        if self._shown is not None and _place(self._shown) == _place(letter):
            self._shown = opened
        if self.is_open:
            self.piece("index", Lines).repaint()

    @on(Lines.Moved, "#index")
    def _moved(self) -> None:
        self.show_letter()

    @on(Lines.Clicked, "#index")
    def _clicked(self) -> None:
        letter = self.letter()
        if letter is not None:
            self.mark(letter)

    @on(Lines.Opened, "#index")
    def _twice_clicked(self) -> None:
        if self.may("open_letter"):
            self.action_open_letter()

    # -- what a person does --------------------------------------------------------------------------------------------

    def why_not(self, name: str) -> str:
        """Return why an action can do nothing now."""
        why = super().why_not(name)
        if why:
            return why
        if name == "pane_left" and not self.piece("letter-text", Reader).has_focus:
            return "there is nothing further to the left"
        if name == "pane_right" and self.piece("letter-text", Reader).has_focus:
            return "there is nothing further to the right"
        if name == "recover":
            return self.why_no_recover()
        if name == "next_need":
            return "that is for an inbox: open one"
        if name in {"threads", "sent"}:
            return "" if self.owner() else "you have no handle here yet, so no mail"
        if name not in _ABOUT_ONE:
            return ""
        letter = self.letter()
        if letter is None:
            return "there is no message here"
        return _why_no_reply(letter, self.desk.fleet.operator) if name == "reply" else ""

    def action_open_letter(self) -> None:
        """Open the selected message: it gets the keys, so that they scroll it."""
        self.into_letter()

    def into_letter(self) -> None:
        """Give the selected message the keys."""
        letter = self.letter()
        if letter is not None:
            self.mark(letter)
            self.piece("mail", Split).add_class("reading")
            self.piece("letter-text", Reader).focus()

    def out_of_letter(self) -> None:
        """Give the index the keys."""
        self.piece("mail", Split).remove_class("reading")
        self.piece("index", Lines).focus()

    def action_pane_left(self) -> None:
        """Give the keys to what is on the left."""
        self.out_of_letter()

    def action_pane_right(self) -> None:
        """Give the keys to what is on the right."""
        self.into_letter()

    def action_reply(self) -> AwaitMount | None:
        """Reply to the selected message."""
        letter = self.letter()
        if letter is None:
            return None
        self.mark(letter)
        return self.app.push_screen(compose.reply(self.desk, letter))

    def action_next_need(self) -> None:
        """Go to the next message to the person that they have not opened: an inbox has them."""

    def action_compose(self) -> AwaitMount:
        """Write to anybody."""
        return self.app.push_screen(compose.anew(self.desk))

    def action_broadcast(self) -> AwaitMount:
        """Write to everybody."""
        return self.app.push_screen(compose.to_all(self.desk))

    # The screens below are lists of messages too, so they can be known only when one is opened.

    def action_search(self) -> AwaitMount | None:
        """Search in all inboxes."""
        from sot_tui.screens.found import SearchScreen

        return self.app.push_screen(SearchScreen(self.desk))

    def action_threads(self) -> None:
        """Show what was said with each peer."""
        from sot_tui.screens.found import ThreadsScreen

        self.app.push_screen(ThreadsScreen(self.desk, self.owner()))

    def action_sent(self) -> None:
        """Show what was sent."""
        from sot_tui.screens.found import SentScreen

        self.app.push_screen(SentScreen(self.desk, self.owner()))

    def action_unsent(self) -> None:
        """Show what is not sent."""
        self.app.push_screen(UnsentScreen(self.desk))

    def owner(self) -> str:
        """Return whose mail this is: the person's, unless it is somebody's inbox."""
        return self.desk.fleet.operator

    def action_copy(self) -> None:
        """Copy the selected message."""
        letter = self.letter()
        if letter is not None:
            self.mark(letter)
            self._copy(letter)

    @work(group="copy", exclusive=True, exit_on_error=False)
    async def _copy(self, letter: Letter) -> None:
        body = Body(letter.text, letter.chars) if letter.whole else await self.desk.client.do(ReadLetter(letter))
        if body.fault:
            self.desk.refuse(body.fault)
            return
        # What is pasted into a shell must not act there either.
        whole = visible_lines(body.text, 4 * len(body.text) + 1)
        copied = whole.encode("utf-8", "replace")[:COPY_BYTES].decode("utf-8", "ignore")
        self.app.copy_to_clipboard(copied)
        cut = len(copied) < len(whole) or len(body.text) < body.chars
        what = f"the first {len(copied):,} of {body.chars:,} characters" if cut else f"{len(copied):,} characters"
        self.desk.say(Outcome(good=not cut, sentence=show.copied(what)))

    @work(group="editor", exclusive=True, exit_on_error=False)
    async def action_open_outside(self) -> None:
        """Open the whole of the selected message in the person's editor."""
        letter = self.letter()
        if letter is None:
            return
        self.mark(letter)
        sheet = await self.desk.client.do(LayOut(letter=letter))
        if sheet.fault:
            self.desk.refuse(sheet.fault)
            return
        try:
            fault = await editor.edit(self.app, self.desk.editor, sheet.path)
        finally:
            await self.desk.client.do(TakeUp(sheet))
        if fault:
            self.desk.refuse(fault)

    def action_back(self) -> None:
        """Give the keys back to the index, or leave."""
        if self.piece("letter-text", Reader).has_focus:
            self.out_of_letter()
        else:
            self.dismiss()


class MailTitle(show.Words):
    """What is listed, and what is new for the person out of sight; a click goes to the next of that."""

    def on_click(self) -> None:
        """Go to the next message to the person that they have not opened."""
        screen = self.screen
        if isinstance(screen, LettersScreen) and not screen.why_not("next_need"):
            screen.action_next_need()


_ABOUT_ONE = frozenset({"open_letter", "pane_right", "reply", "copy", "open_outside"})
"""The actions on the selected message."""


def _why_no_reply(letter: Letter, me: str) -> str:
    if not is_handle(letter.sender):
        return "the sender of this message is no handle, so nothing can be sent to it"
    return "this message is your own" if letter.sender == me else ""


def known(letter: Letter, me: str) -> str:
    """Return what is known of a message; what is not known is not said, least of all as a no."""
    if letter.kind is Kind.UNPARSED:
        return "it lies in the inbox"
    facts = ["filed"]
    if letter.rung is not Known.UNKNOWN:
        facts.append("rung" if letter.rung is Known.YES else "not rung")
    by = "" if letter.inbox == me or not letter.inbox else f" by @{letter.inbox}"
    facts.append(f"read{by}" if letter.read else f"not read{by} yet")
    return " · ".join(facts)


def _place(letter: Letter) -> tuple[str, int, str]:
    return (letter.inbox, letter.line, letter.mark)


def _first_line(text: str) -> str:
    """Return what a list shows of a message: its first words that are not a quote, nor who is quoted."""
    lines = [line for line in text.split("\n") if line.strip()]
    said = [
        line
        for line, below in zip(lines, [*lines[1:], ""], strict=False)
        if not line.startswith(">") and not (line.endswith(":") and below.startswith(">"))
    ]
    return (said or lines or [""])[0]
