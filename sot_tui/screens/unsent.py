"""What is not sent: messages that were refused, each with its sentence, and drafts that were only begun.

Nothing here is lost but by a person's own word: sending again files it, deleting asks first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.content import Content

from sot_tui.comm.clock import seconds_of
from sot_tui.screens import compose, show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.confirm import Confirm
from sot_tui.screens.place import Place
from sot_tui.screens.widgets.bars import KeyLine, LockBanner, MessageLine
from sot_tui.screens.widgets.lines import Lines, Piece
from sot_tui.screens.widgets.reader import Reader
from sot_tui.screens.widgets.split import Split

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.screens.desk import Desk
    from sot_tui.screens.drafts import Draft

_WHO_CELLS = 20
_AGE_CELLS = 5


class UnsentScreen(Place[None]):
    """The list of drafts, and the selected one."""

    WHERE = Where.UNSENT
    OFFERS = True
    AUTO_FOCUS = "#index"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.UNSENT)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._drafts: dict[str, Draft] = {}

    def compose(self) -> ComposeResult:
        """Lay out the title, the list beside or above the text, and the two lines at the foot."""
        yield show.Words(id="mail-title")
        yield LockBanner(self.desk)
        with Split(id="mail"):
            yield Lines(self._paint, id="index")
            with Vertical(id="letter"):
                yield show.Words(id="letter-head")
                yield Reader(id="letter-text")
        yield MessageLine(self.desk)
        yield KeyLine(Where.UNSENT)

    # -- showing -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Show what there is."""
        self._show()

    def on_screen_resume(self) -> None:
        """Show what there is after one was written on."""
        self._show()

    def said(self) -> None:
        """Show what came of a try."""
        super().said()
        self._show()

    def time_passed(self) -> None:
        """Show the ages of now."""
        if self.is_open:
            self.piece("index", Lines).repaint()

    def _show(self) -> None:
        if not self.is_open:
            return
        self._drafts = {f"s{draft.slot}": draft for draft in self.desk.drafts.unsent()}
        count = len(self._drafts)
        refused = sum(bool(draft.refused) for draft in self._drafts.values())
        title = show.ours(
            " [b]not sent[/]  [$foreground 60%]$refused refused · $begun only begun[/]",
            refused=f"{refused}",
            begun=f"{count - refused}",
        )
        self.piece("mail-title", show.Words).say(title)
        index = self.piece("index", Lines)
        index.show(tuple(self._drafts))
        index.repaint()
        self._show_draft()
        self.show_keys()

    def _draft(self) -> Draft | None:
        return self._drafts.get(self.piece("index", Lines).selected or "")

    def _show_draft(self) -> None:
        head, text = self.piece("letter-head", show.Words), self.piece("letter-text", Reader)
        draft = self._draft()
        if draft is None:
            head.say(show.words("everything is sent", "$foreground 60%"))
            text.read("")
            return
        state = "sending …" if draft.sending else "" if draft.refused else "not tried yet"
        lines = [show.words(f"to {receiver_of(draft)}", "b")]
        lines += [show.words(line, "b $error") for line in draft.refused.split("\n") if line]
        lines += [show.words(state, "$foreground 60%")] if state else []
        lines += [show.words(f"in reply to: {draft.about}", "$foreground 60%")] if draft.about else []
        head.say(Content("\n").join(lines))
        text.read(draft.text)

    def _paint(self, key: str, width: int, chosen: bool) -> tuple[Piece, ...]:
        draft = self._drafts.get(key)
        if draft is None:
            return ()
        who = min(_WHO_CELLS, max(8, width // 3))
        rest = max(0, width - 4 - who - 2 - _AGE_CELLS - 1)
        first = next((line for line in draft.text.split("\n") if line.strip() and not line.startswith(">")), "")
        return (
            Piece("▌ " if chosen else "  ", "bar"),
            Piece(show.fit(show.FAILED if draft.refused else "", 2), "warn"),
            Piece(show.fit(show.plain(receiver_of(draft)), who), "strong" if draft.refused else ""),
            Piece("  " + show.fit(show.plain(first), rest), "" if draft.refused else "dim"),
            Piece(show.fit_right(show.age(seconds_of(draft.at), self.desk.now()), _AGE_CELLS), "dim"),
            Piece(" "),
        )

    # -- what a person does --------------------------------------------------------------------------------------------

    @on(Lines.Moved, "#index")
    def _moved(self) -> None:
        self._show_draft()

    @on(Lines.Opened, "#index")
    def _twice_clicked(self) -> None:
        if self.may("open_draft"):
            self.action_open_draft()

    def why_not(self, name: str) -> str:
        """Return why an action can do nothing now."""
        why = super().why_not(name)
        if name == "recover":
            return self.why_no_recover()
        if why or name == "back":
            return why
        draft = self._draft()
        if draft is None:
            return "there is nothing that is not sent"
        if name == "send" and not draft.refused:
            return "it was not tried yet: open it, and send it from there"
        return "it is being sent" if draft.sending else ""

    def action_open_draft(self) -> None:
        """Take the selected draft up again."""
        draft = self._draft()
        if draft is not None:
            self.app.push_screen(compose.ComposeScreen(self.desk, draft))

    def action_send(self) -> None:
        """Send the selected draft as it is; what cannot be sent as it is, is taken up again."""
        draft = self._draft()
        if draft is None:
            return
        if draft.to_all or compose.fault_of(draft):
            self.action_open_draft()
        else:
            # A worker of the app: the answer takes its time, and closing this screen must not lose it.
            self.app.run_worker(self.desk.drafts.send(draft), group="send", exit_on_error=False)
            self._show_draft()

    def action_delete(self) -> None:
        """Delete the selected draft, if the person says so."""
        draft = self._draft()
        if draft is not None:
            self._delete(draft)

    @work(group="delete", exit_on_error=False)
    async def _delete(self, draft: Draft) -> None:
        first = next((line for line in draft.text.split("\n") if line.strip()), "")
        lines = (
            ("to", receiver_of(draft)),
            ("text", f"“{first}”"),
            ("goes", f"its {len(draft.text):,} characters, for good"),
        )
        question = Confirm(self.desk, "Delete this message, which is not sent?", lines, "Delete")
        if await self.app.push_screen_wait(question):
            await self.desk.drafts.drop(draft)
            self._show()

    def signs(self) -> tuple[tuple[str, str], ...]:
        """Return what the sign before a message means."""
        return ((show.FAILED, "it was refused; without the sign it was not tried yet"),)

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()


def receiver_of(draft: Draft) -> str:
    """Return to whom a draft goes, in words."""
    if draft.to_all:
        return f"all ({len(draft.left)} left)" if draft.left else "all"
    return f"@{draft.to}" if draft.to else "nobody yet"
