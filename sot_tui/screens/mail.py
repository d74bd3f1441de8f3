"""The mail of one handle: its whole inbox as an index, and the message itself.

The operator's own inbox is polled: the whole batch is listed, and then the cursor is written from the batch's own bytes
(contract, Delivery). Any other inbox is a peek that moves no cursor, and the title says which of the two it is. Every
line of the inbox has its place in the index from the start; its newest lines are read at once, older ones when they
come into sight, so that a hundred thousand of them open like ten.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events, on, work

from sot_tui.comm.fleet import Stance
from sot_tui.engine.client import Kind, Listed, OpenMail, Page
from sot_tui.screens import show
from sot_tui.screens.beside import Beside
from sot_tui.screens.letters import LettersScreen
from sot_tui.screens.place import MEDIUM_FROM, WIDE_FROM
from sot_tui.screens.widgets.lines import Lines, Numbered

if TYPE_CHECKING:
    from sot_tui.engine.client import Letter
    from sot_tui.screens.desk import Desk

AGAIN_SECS = 2.0
"""Seconds until a busy inbox is read again; the engine's tick has the same length."""
PAGE_LETTERS = 256
"""Messages that are read at once: some screens full."""
KEPT_LETTERS = 20_000
"""Messages of one inbox that are held; those far from the selected one are read again when they are wanted."""


class MailScreen(LettersScreen):
    """One inbox, newest message last."""

    def __init__(self, desk: Desk, handle: str, *, at: int = 0) -> None:
        super().__init__(desk)
        self.handle = handle
        self._beside = Beside(desk, handle)
        self._passing = False
        """Whether the person only goes along the handles beside it, by keys: that polls and opens nothing."""
        self._forget(at)

    def _forget(self, at: int = 0) -> None:
        """Know nothing of the inbox yet."""
        self._at = at
        """The line that is to be selected first; 0 lets the mail say."""
        self._looked = False
        handle = self.handle
        self._page = Page(handle)
        self._letters: dict[int, Letter] = {}
        self._missing: set[int] = set()
        self._fetching = False
        self._gone: set[int] = set()
        """Lines that were asked for and not there; another look at the inbox asks anew."""
        self._listed_up_to = 0
        self._read_for: object = None

    @property
    def own(self) -> bool:
        """Tell whether this is the operator's own inbox."""
        return self.handle == self.desk.fleet.operator

    @property
    def _polls(self) -> bool:
        """Tell whether reading this inbox moves its cursor."""
        return self.own and not self._passing and self.desk.fleet.stance is Stance.HOST

    def owner(self) -> str:
        """Return whose mail this is."""
        return self.handle

    # -- the handles beside it -----------------------------------------------------------------------------------------

    def beside(self) -> Beside:
        """Return the handles, which a wide screen shows beside the mail."""
        return self._beside

    @property
    def is_read(self) -> bool:
        """Tell whether who looks at a message means it; who moves along the handles only passes by."""
        return not self._passing

    @on(Beside.Turned)
    def _turned(self, event: Beside.Turned) -> None:
        if event.handle != self.handle:
            self.handle, self._passing = event.handle, True
            self._forget()
            self.piece("index", Lines).show(())
            self.say_title()
            self.show_letter()
            self._read()
        if event.meant:
            self._enter()

    @on(Beside.Entered)
    def _entered(self) -> None:
        self.out_of_letter()

    @on(events.DescendantFocus)
    def _gone_into(self, event: events.DescendantFocus) -> None:
        """Who goes into the mail means it."""
        if event.widget is not self._beside.lines:
            self._enter()

    def _enter(self) -> None:
        if self._passing:
            self._passing = False
            self.say_title()
            if self._polls:
                self._read()

    def signs(self) -> tuple[tuple[str, str], ...]:
        """Return what the signs of this mail mean: in one's own it is what is new, elsewhere what is read."""
        yours, others = super().signs()[:2], super().signs()[2:]
        return yours if self.own else others

    def shows_handles(self) -> bool:
        """Tell whether the handles are beside it."""
        return self._beside.display

    def on_resize(self) -> None:
        """Lay it out anew; the handles, when they are hidden now, keep no keys."""
        self._beside.fleet_changed()
        if self.size.width < WIDE_FROM and self.focused in {None, self._beside.lines}:
            self.out_of_letter()

    def time_passed(self) -> None:
        """Show the ages of now."""
        super().time_passed()
        if self.is_open:
            self._beside.fleet_changed()

    def why_not(self, name: str) -> str:
        """Return why an action can do nothing now."""
        if name == "next_need":
            return "" if self._new_for_you() else "there is no message to you here that you have not opened"
        if self._beside.lines.has_focus:
            if name in {"open_letter", "pane_right"}:
                return ""
        elif name == "pane_left" and self._beside.display:
            return ""
        return super().why_not(name)

    def action_pane_left(self) -> None:
        """Go from the message to the list, and from the list to the handles."""
        if self.piece("index", Lines).has_focus:
            self._beside.lines.focus()
        else:
            super().action_pane_left()

    def action_pane_right(self) -> None:
        """Go from the handles to the list, and from the list into the message."""
        if self._beside.lines.has_focus:
            self.out_of_letter()
        else:
            super().action_pane_right()

    def action_open_letter(self) -> None:
        """Open the selected message; from the handles beside it, open the mail."""
        if self._beside.lines.has_focus:
            self._beside.view(asked=False)
            self.out_of_letter()
        else:
            super().action_open_letter()

    # -- reading -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Read the inbox."""
        self.say_title()
        self.watch(self.piece("index", Lines), "scroll_y", self.say_title, init=False)
        # Only an index that has its size can begin at its end.
        self.call_after_refresh(self._read)

    def fleet_changed(self) -> None:
        """Read again when the count of this inbox is another one."""
        if self.is_open:
            self._beside.fleet_changed()
        if self.is_open and self._read_for not in {None, self.desk.fleet.mail_of(self.handle)}:
            self._read()

    def action_reload(self) -> None:
        """Read the inbox again."""
        self._read()

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        self._read_for = self.desk.fleet.mail_of(self.handle)
        page = await self.desk.client.do(OpenMail(self.handle, PAGE_LETTERS, self._polls))
        if page.busy:
            # Held is "try again", never a skip: what is shown stays, and so does the cursor.
            self.desk.refuse(" ".join(page.notes) or "the inbox is being written; it is read again in a moment")
            self.set_timer(AGAIN_SECS, self._read)
            return
        if page.fault and self._page.total:
            self.desk.refuse(page.fault)  # what is shown stays: what could not be read is not empty
            return
        self._show_page(page)
        for note in page.notes:
            self.desk.refuse(note)
        if page.batch:
            self.call_after_refresh(self._listed, page)

    @work(group="listed", exit_on_error=False)
    async def _listed(self, page: Page) -> None:
        """The whole batch stands in the index: only now the cursor may pass it."""
        outcome = await self.desk.client.do(Listed(page.batch))
        self.desk.say(outcome)
        if outcome.good and page.handle == self.handle:
            self._listed_up_to = page.total
            self.show_letter()

    # -- the index -----------------------------------------------------------------------------------------------------

    def _show_page(self, page: Page) -> None:
        if not self.is_open:
            return
        self._gone.clear()
        known = self._letters
        if page.total < self._page.total or any(
            letter.line in known and known[letter.line].mark != letter.mark for letter in page.letters
        ):
            known.clear()  # it was cut back, or it is another inbox
            self._listed_up_to = 0
        self._page, self._looked = page, True
        self._hold(page)
        index = self.piece("index", Lines)
        index.show(Numbered(page.total), first=str(self._first_to_select(page)))
        self.say_title()
        self.show_letter()

    def _first_to_select(self, page: Page) -> int:
        if self._at:
            return min(self._at, page.total)
        new = [letter for letter in page.letters if not (letter.opened if self.own else letter.read)]
        if len(new) == len(page.letters) < page.total:
            return page.total  # when all that was read at once is new, its beginning is no better place than its end
        to_you = self._new_for_you()
        if to_you:
            return to_you[0]  # what goes to many must not stand before what goes to the person alone
        return new[0].line if new else page.total

    def _new_for_you(self) -> list[int]:
        """Return the lines of the messages to the person that they have not opened, as far as they are known."""
        if not self.own:
            return []
        known = self._letters
        listed = {line for line in self._page.waiting if line not in known}
        held = {line for line, letter in known.items() if letter.kind is Kind.DIRECTED and not letter.opened}
        return sorted(listed | held)

    def _out_of_sight(self) -> str:
        """Return how many of them are above and below what is in sight, in words; "" when none is."""
        index = self.piece("index", Lines)
        top = index.scroll_offset.y
        lines = self._new_for_you() if self._looked else []
        above = sum(line <= top for line in lines)
        below = sum(line > top + index.size.height for line in lines)
        told = [f"{above} new for you above"] if above else []
        told += [f"{below} {'' if told else 'new for you '}below"] if below else []
        return ", ".join(told)

    def action_next_need(self) -> None:
        """Select the next message to the person that they have not opened, from the selected one on."""
        index, lines = self.piece("index", Lines), self._new_for_you()
        at = int(index.selected or 0)
        index.select(str(next((line for line in lines if line > at), lines[0])))
        self.out_of_letter()
        index.repaint()
        self.say_title()

    def _hold(self, page: Page) -> None:
        self._letters |= {letter.line: letter for letter in page.letters}
        if len(self._letters) > KEPT_LETTERS:
            selected = int(self.piece("index", Lines).selected or 0)
            near = sorted(self._letters, key=lambda line: abs(line - selected))[: KEPT_LETTERS // 2]
            self._letters = {line: self._letters[line] for line in near}

    def letter_of(self, key: str) -> Letter | None:
        """Return the message of a line; one that is not read yet is asked for."""
        line = int(key)
        letter = self._letters.get(line)
        if letter is None and line not in self._gone:
            if not self._missing:
                self.call_later(self._fetch)
            self._missing.add(line)
        return letter

    @work(group="older", exit_on_error=False)
    async def _fetch(self) -> None:
        """Read the lines that are in sight, one page at a time, the newest of them first."""
        if self._fetching or not self.is_open:
            return
        await self._fetch_in_sight()

    async def _fetch_in_sight(self) -> None:
        index = self.piece("index", Lines)
        top = index.scroll_offset.y
        # Who scrolls fast has left behind most of what was painted on the way.
        self._missing.intersection_update(range(top + 1, top + index.size.height + 1))
        if not self._missing:
            return
        self._fetching = True
        try:
            last = max(self._missing)
            before = min(self._page.total, last + PAGE_LETTERS // 4) + 1
            page = await self.desk.client.do(OpenMail(self.handle, PAGE_LETTERS, before=before))
        finally:
            self._fetching = False
        if not self.is_open or page.handle != self.handle:
            return
        self._hold(page)
        if page.fault:
            self.desk.refuse(page.fault)
        if last not in self._letters:
            self._gone.add(last)
        self._missing.clear()
        index.repaint()  # which asks for what is still missing
        self.show_letter()

    # -- showing -------------------------------------------------------------------------------------------------------

    def say_title(self) -> None:
        """Say whose mail it is, how it is looked at, and how much there is."""
        total = self._page.total
        count = f"{total:,} message{'' if total == 1 else 's'}"
        wide = self.size.width >= MEDIUM_FROM
        look = "you only look: to its reader they stay as they are" if wide else "a look"
        title = show.ours(
            " [b]mail of $handle[/]  [$foreground 60%]$how · $count[/]",
            handle=self.handle,
            how="your mail" if self._polls else look,
            count="it could not be read" if self._page.fault else count if self._looked else "reading …",
        )
        away = self._out_of_sight()
        if away:
            here = show.ours(" [b $accent]● $away[/]  [$foreground 60%]space[/]", away=away)
            title = here if title.cell_length + here.cell_length > self.size.width else title.append(here)
        self.piece("mail-title", show.Words).say(title)

    def empty_words(self) -> str:
        """Say why there is no message."""
        if self._page.total and self.piece("index", Lines).selected is not None:
            return "this message is being read …"
        if self._page.fault:
            return f"{self._page.fault} · R reads it again; sot-tui doctor says what is wrong"
        return "no mail" if self._looked else ""

    def opened(self, letter: Letter) -> None:
        """Keep that a message was opened."""
        known = self._letters.get(letter.line)
        if letter.inbox == self.handle and known is not None and known.mark == letter.mark:
            self._letters[letter.line] = letter
            self.say_title()

    def letter(self) -> Letter | None:
        """Return the selected message, read as far as it is known."""
        found = super().letter()
        if found is not None and not found.read and self.own and found.line <= self._listed_up_to:
            return replace(found, read=True)
        return found
