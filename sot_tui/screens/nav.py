"""The nav, the first screen: one line per handle, and in one glance who needs the person.

It shows what `comm.fleet` answers and decides nothing itself. A click on a line means that a person viewed it, so it
clears `done`; moving by keys clears nothing. An unreadable registry shows the contract's sentence above the last good
lines, dimmed and with their age, and is never shown as an empty fleet.
"""

from __future__ import annotations

import os
from asyncio import get_running_loop
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.content import Content

from sot_tui.comm import fleet as rules
from sot_tui.comm.clock import age_text, seconds_of
from sot_tui.comm.fleet import BY_HAND, MADE_ANEW, UNLISTED, Agent, Reading, Stance, State
from sot_tui.comm.home import PROTOCOL_VERSION
from sot_tui.comm.names import is_handle
from sot_tui.comm.program import own_command
from sot_tui.engine.client import (
    AnswerDialog,
    ClearDone,
    EndRow,
    Kind,
    Leave,
    OpenMail,
    Outcome,
    ReadDialog,
    ResumeLine,
    ResumeRow,
    RowDialog,
    SetAside,
)
from sot_tui.screens import actions, handles, show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.place import MEDIUM_FROM, WIDE_FROM, Place
from sot_tui.screens.widgets.bars import KeyLine, LockBanner, MessageLine
from sot_tui.screens.widgets.filter import FilterLine
from sot_tui.screens.widgets.lines import Lines, Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import AwaitMount

    from sot_tui.comm.fleet import Fleet, RowSeen
    from sot_tui.engine.client import Letter
    from sot_tui.screens.desk import Desk

_LABEL_CELLS = 13
_LINES_OF = {"says": 2, "why": 2}
"""Lines that a label of the detail may take; any other one takes one."""
_NARROW_LINES = 3
"""Lines of the detail where there is room for nothing but what the session says, and why it is shown so."""
_ASKING_PART = 0.55
"""The part of the screen that the detail takes at most while a dialog is shown in it, as its style sheet has it."""
_REPLACED_SECS = 0.6
"""Seconds in which no key answers a dialog that took the place of another: nobody reads one in less."""
_COMMAND_CELLS = 25
"""Cells beside a command of the empty list: what it does, and the gaps."""
_HEADER_GAPS = 8
_LAST_LETTERS = 2


class NavScreen(Place[None]):
    """The first screen."""

    WHERE = Where.NAV
    OFFERS = True
    AUTO_FOCUS = "#fleet"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.NAV)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._columns = handles.columns(desk.fleet, 80)
        self._columns_for: tuple[object, object, int] = (None, None, 0)
        self._last: tuple[str, tuple[Letter, ...]] = ("", ())
        self._looked_for: tuple[object, ...] = ()
        self._dialog: tuple[str, RowDialog] = ("", RowDialog())
        """A row, and the dialog that was read on its screen."""
        self._replaced = 0.0
        """When another dialog took the place of one, by the loop's clock: a key may be meant for the one before."""
        self._row = ""
        """The row of the selected line; when a session joins in it, the selection goes along to the handle."""
        self._settled = False
        """Whether the selection is the person's own."""
        self._unsent: list[bool] = []
        """What the header last told of as not sent: for each, whether it was refused."""

    def compose(self) -> ComposeResult:
        """Lay out the header, the banners, the list, the detail, and the two lines at the foot."""
        with Horizontal(id="header"):
            yield show.Words(id="brand")
            yield show.Words(id="counts")
            yield Unsent(id="unsent")
            yield Yours(id="yours")
            yield LockWord(id="lock")
        with Vertical(id="banners"):
            yield show.Words(id="stance-banner", classes="banner")
            yield show.Words(id="registry-banner", classes="banner")
            yield LockBanner(self.desk)
            yield show.Words(id="version-banner", classes="banner")
        yield FilterLine("fleet", id="filter")
        yield show.Words(id="columns")
        yield Lines(self._paint, id="fleet")
        yield show.Words(id="empty")
        with Vertical(id="detail"):
            yield show.Words(id="detail-title")
            yield show.Words(id="detail-body")
        yield MessageLine(self.desk)
        yield KeyLine(Where.NAV)

    # -- showing -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Show the fleet there is."""
        self.fleet_changed()

    def on_resize(self) -> None:
        """Lay the columns out anew."""
        self.fleet_changed()

    def fleet_changed(self) -> None:
        """Show the newest fleet, by difference."""
        if not self.is_open:
            return
        self.time_passed()
        self._look_for_last_letters()

    def said(self) -> None:
        """Show what was said last; it may be that a message is not sent."""
        super().said()
        if self.is_open and self._unsent != self._not_sent():
            self._show_header(self.desk.fleet, self.desk.now())

    def on_screen_resume(self) -> None:
        """Show what is so after another screen was open."""
        self.time_passed()

    def time_passed(self) -> None:
        """Show what is so at this moment: ages, doubts, and who has gone stale since."""
        if not self.is_open:
            return
        fleet, now = self.desk.fleet, self.desk.now()
        agents, rows, width = self._columns_for
        if agents is not fleet.agents or rows is not fleet.rows or width != self.size.width:
            self._columns_for = (fleet.agents, fleet.rows, self.size.width)
            self._columns = handles.columns(fleet, self.size.width)
        self._show_header(fleet, now)
        self._show_banners(fleet, now)
        self._show_lines(fleet, now)
        self._show_detail(fleet, now)
        self._look_for_dialog()

    def _show_header(self, fleet: Fleet, now: float) -> None:
        width = self.size.width
        found = rules.counts(fleet, now)
        brand = f" sot  {fleet.host}" if width >= WIDE_FROM else " sot" if width >= MEDIUM_FROM else ""
        yours = Content.styled(f"mail {found.mail}", "b $accent" if found.mail else "$foreground 60%")
        lock = handles.lock_words(fleet, now, short=width < WIDE_FROM)
        self.piece("brand", show.Words).say(show.ours("[b]$name[/]", name=brand))
        self.piece("yours", show.Words).say(yours)
        self.piece("lock", show.Words).say(lock)
        unsent = self._unsent_words(short=width < MEDIUM_FROM)
        self.piece("unsent", show.Words).display = bool(unsent.cell_length)
        self.piece("unsent", show.Words).say(unsent)
        taken = yours.cell_length + lock.cell_length + (unsent.cell_length + 2 if unsent.cell_length else 0)
        room = width - show.width(brand) - taken - _HEADER_GAPS
        if fleet.registry.reading is Reading.NOT_YET:
            told = Content.styled("reading the registry …", "$foreground 60%")
        else:
            told = handles.counts_words(found, room)
        if fleet.registry.reading is Reading.UNREADABLE and fleet.registry.read_at is None:
            told = Content.styled("who needs you is not known", "$foreground 60%")
        elif fleet.registry.reading is Reading.UNREADABLE:
            told = Content.styled(told.plain, "$foreground 45%")  # of the last good picture, as all below it
        self.piece("counts", show.Words).say(told)

    def _unsent_words(self, *, short: bool) -> Content:
        """Return how many messages are not sent; nothing when all are."""
        unsent = self._unsent = self._not_sent()
        if not unsent:
            return Content("")
        words = f"{show.FAILED} {len(unsent)}" if short else f"not sent {len(unsent)}"
        return Content.styled(words, "b $error" if any(unsent) else "$foreground 70%")

    def _not_sent(self) -> list[bool]:
        return [bool(draft.refused) for draft in self.desk.drafts.unsent()]

    def _show_banners(self, fleet: Fleet, now: float) -> None:
        stance_banner = self.piece("stance-banner", show.Words)
        stance_banner.display = fleet.stance is not Stance.HOST
        if stance_banner.display:
            stance_banner.say(show.ours("[b]$stance[/] · $why", stance=fleet.stance.value, why=fleet.stance_why))
        registry = fleet.registry
        unreadable = registry.reading is Reading.UNREADABLE
        banner = self.piece("registry-banner", show.Words)
        banner.display = unreadable
        if unreadable:
            of = f"shown: the last good picture, {age_text(now - registry.read_at)} old" if registry.read_at else ""
            lines = [UNLISTED, _way_out(fleet), of]
            banner.say(Content("\n").join([show.words(line) for line in lines if line]))
        self.piece("lock-banner", LockBanner).tell()
        version = registry.version
        version_banner = self.piece("version-banner", show.Words)
        version_banner.display = not unreadable and version is not None and version != PROTOCOL_VERSION
        if version_banner.display:
            version_banner.say(
                show.words(
                    f"the registry is of protocol version {version}, this dashboard speaks {PROTOCOL_VERSION}: "
                    "update the older of the two before you trust what is shown"
                )
            )

    def _show_lines(self, fleet: Fleet, now: float) -> None:
        lines = self.piece("fleet", Lines)
        empty = self.piece("empty", show.Words)
        nobody = not [one for one in rules.lines(fleet) if one.handle != fleet.operator]
        everyone = rules.order(fleet, now)
        order = rules.filtered(fleet, everyone, self._filter.text, now)
        self._go_along(fleet, lines, order)
        self._say_filter(fleet, everyone, order, now)
        if not self._settled and order:
            # The first counts of mail may still bring somebody to the top, and nobody has chosen a line yet.
            lines.select(order[0])
            self._settled = not nobody and fleet.mail.keys() >= fleet.agents.keys()
        hides_all = not order and not nobody
        lines.set_class(nobody or hides_all, "few")
        empty.display = nobody or hides_all
        if nobody:
            empty.say(_nobody_words(fleet, self.size.width))
        elif hides_all:
            empty.say(_FITS_NOBODY)
        heads = self.piece("columns", show.Words)
        heads.display = not nobody
        heads.say(Content.styled(handles.heads(self._columns), "$foreground 50%"))

    def _go_along(self, fleet: Fleet, lines: Lines, order: tuple[str, ...]) -> None:
        """Show the lines; where a session has joined in the selected row, its handle is selected now."""
        selected = lines.selected
        lines.show(order)
        if selected is not None and selected not in order and self._row:
            joined = next((one for one in rules.lines(fleet) if self._row_id(fleet, one) == self._row), None)
            if joined is not None:
                lines.select(joined.handle)
        one = self._one(fleet)
        self._row = self._row_id(fleet, one) if one is not None else ""

    @staticmethod
    def _row_id(fleet: Fleet, one: Agent) -> str:
        row = rules.row_of(fleet, one)
        return row.id if row else ""

    def _show_detail(self, fleet: Fleet, now: float) -> None:
        one = self._one(fleet)
        self.piece("detail", Vertical).set_class(bool(self._dialog_of(fleet, one).lines), "asking")
        title = self.piece("detail-title", show.Words)
        if one is None:
            title.say(Content(""))
            self.piece("detail-body", show.Words).say(Content(""))
            return
        handle = show.plain(f"row {one.label}" if one.label else one.handle)
        rule = "─" * max(0, self.size.width - show.width(handle) - 4)
        title.say(Content.assemble(("── ", "$foreground 30%"), (handle, "b"), (f" {rule}", "$foreground 30%")))
        width = self.size.width
        said = rules.derive(fleet, one, now).summary
        reasons = [*([("says", said)] if said else []), *rules.explain(fleet, one, now)]
        dialog = self._dialog_of(fleet, one)
        if dialog.lines:
            room = int(self.size.height * _ASKING_PART) - 2
            self.piece("detail-body", show.Words).say(_asking_detail(reasons, dialog, width, room))
            return
        if width < MEDIUM_FROM:
            self.piece("detail-body", show.Words).say(_narrow_detail(reasons, width))
            return
        lines = [
            show.hang(f"  {label}", text, width - 1, _LABEL_CELLS, _LINES_OF.get(label, 1)) for label, text in reasons
        ]
        whose, letters = self._last
        if whose == one.handle and letters:
            told = " · ".join(_letter_words(letter, now) for letter in letters)
            lines.append(show.hang("  last", told, width - 1, _LABEL_CELLS))
        self.piece("detail-body", show.Words).say(Content("\n").join(lines))

    def _paint(self, handle: str, width: int, chosen: bool) -> tuple[Piece, ...]:
        del width  # the columns have it
        answered = self.desk.answered_at(handle)
        return handles.line(self.desk.fleet, handle, self._columns, self.desk.now(), chosen=chosen, answered=answered)

    # -- the filter --------------------------------------------------------------------------------------------------

    @property
    def _filter(self) -> FilterLine:
        return self.piece("filter", FilterLine)

    def _say_filter(self, fleet: Fleet, everyone: tuple[str, ...], order: tuple[str, ...], now: float) -> None:
        if self._filter.display:
            hidden = self._hidden_needs(fleet, order, now)
            told = f"{len(order)} of {len(everyone)}" + (f", {hidden} in need hidden" if hidden else "") + " · esc: all"
            if self.size.width < MEDIUM_FROM:
                told = f"{len(order)}/{len(everyone)}" + (
                    f" {show.SHAPES[State.BLOCKED]} {hidden} hidden" if hidden else ""
                )
            wrong = rules.no_fields(self._filter.text)
            if wrong:
                told, hidden = wrong if self.size.width >= MEDIUM_FROM else wrong.partition(";")[0], 1
            self._filter.say(Content.styled(told, "b $state-blocked" if hidden else "$foreground 70%"))

    def _hidden_needs(self, fleet: Fleet, order: tuple[str, ...], now: float) -> int:
        needed = {wanted.handle for wanted in rules.needs_you(fleet, now) if wanted.handle}
        return len(needed - set(order))

    @on(FilterLine.Changed)
    def _filter_changed(self) -> None:
        self.time_passed()

    def action_filter(self) -> None:
        """Take the words of a filter."""
        self._settled = True
        self._filter.open()
        self.time_passed()

    def action_back(self) -> None:
        """Show every handle again."""
        if self._filter.display:
            self._filter.clear()

    def go_to(self, handle: str) -> None:
        """Select a handle, or a row by its key, whatever the filter says."""
        lines = self.piece("fleet", Lines)
        if handle not in lines.keys and rules.line_of(self.desk.fleet, handle) is not None:
            self.action_back()
            self.time_passed()
        self._settled = True
        lines.select(handle)
        lines.repaint()
        lines.focus()

    def shows_handles(self) -> bool:
        """Tell that the handles are what this screen shows."""
        return True

    # -- what is open beside it ----------------------------------------------------------------------------------------

    @property
    def shown(self) -> Sequence[str]:
        """Return the handles that are shown, in their order."""
        return self.piece("fleet", Lines).keys

    def follow(self, handle: str) -> None:
        """Select the handle that another place has turned to."""
        self._settled = True
        self.piece("fleet", Lines).select(handle)

    def viewed(self, handle: str, *, asked: bool = True) -> None:
        """Clear the `done` of a handle that a person has viewed; one who asked for it is told why it cannot be."""
        fleet, one = self.desk.fleet, self.desk.fleet.agents.get(handle)
        if one is not None and one.done and (asked or (fleet.stance is Stance.HOST and rules.is_here(fleet, one))):
            self._clear(handle)

    # -- what a person does ------------------------------------------------------------------------------------------

    def why_not(self, name: str) -> str:
        """Return why an action can do nothing now."""
        why = super().why_not(name)
        if why:
            return why
        fleet, one = self.desk.fleet, self._one(self.desk.fleet)
        if name == "recover":
            return self.why_no_recover()
        if name == "next_need":
            return self._why_no_need()
        if name not in _ABOUT_ONE:
            return ""
        return "no handle is selected" if one is None else self._why_not_this(name, fleet, one)

    def _why_not_this(self, name: str, fleet: Fleet, one: Agent) -> str:
        you = one.handle == fleet.operator
        if name in _ABOUT_ROW:
            return self._why_not_this_row(name, fleet, one)
        if one.label and name in _ABOUT_MAIL:
            return f"no session has joined in row '{one.label}', so it has no handle and no mail"
        if name == "reply" and you:
            return "this is you: choose another handle, or press c to write to anybody"
        if name == "clear_done" and not one.done:
            return f"{_named(one)} has no done to clear"
        if name == "aside" and not rules.is_set_aside(fleet, one) and rules.need(fleet, one, self.desk.now()) is None:
            return f"{_named(one)} does not need you, so there is nothing to set aside"
        if name == "copy" and not is_handle(one.handle):
            return "what stands there is no handle, so it is not copied"
        return ""

    def _why_not_this_row(self, name: str, fleet: Fleet, one: Agent) -> str:
        row = rules.row_of(fleet, one)
        if name == "end" and row is None:
            if one.handle == fleet.operator:
                return "this is you: your handle is stale when no dashboard is open"
            live = rules.is_live(fleet, one, self.desk.now())
            return f"@{one.handle} is live: its own session gives it back (sot-tui leave)" if live else ""
        if row is None:
            if name == "look" and rules.is_row_elsewhere(fleet, one):
                return ""
            return f"{_named(one)} has no row on this box"
        if name == "run_again" and not rules.end_of(row):
            return f"row '{row.label}' is not over (phase: {row.phase})"
        if name == "answer" and one.state is not State.BLOCKED:
            return f"{_named(one)} is not blocked, so there is nothing to answer"
        if name == "answer" and get_running_loop().time() - self._replaced < _REPLACED_SECS:
            return f"row '{row.label}' asks something else now; read it first"
        if name == "answer" and not self._dialog_of(fleet, one).lines:
            return f"row '{row.label}': {self._dialog[1].fault or 'its screen is being read; press the key again'}"
        return ""

    def _why_no_need(self) -> str:
        fleet, now = self.desk.fleet, self.desk.now()
        needed = [wanted.handle for wanted in rules.needs_you(fleet, now) if wanted.handle]
        shown = self.piece("fleet", Lines).keys
        if not needed:
            return "nobody needs you"
        return "" if any(handle in shown for handle in needed) else f"the filter hides the {len(needed)} who need you"

    def on_key(self) -> None:
        """From the first key on, the selection is the person's own."""
        self._settled = True

    @on(Lines.Clicked, "#fleet")
    def _viewed(self, event: Lines.Clicked) -> None:
        """A click is "a person viewed this line" (product, The nav)."""
        self._settled = True
        self.viewed(event.key)

    @on(Lines.Opened, "#fleet")
    def _open_clicked(self, event: Lines.Opened) -> None:
        self._view(event.key)

    @on(Lines.Moved, "#fleet")
    def _selection_moved(self) -> None:
        one = self._one(self.desk.fleet)
        self._row = self._row_id(self.desk.fleet, one) if one is not None else ""
        self._look_for_dialog()
        self._show_detail(self.desk.fleet, self.desk.now())
        self._look_for_last_letters()

    def action_open(self) -> None:
        """Open the terminal of the selected row; where no row runs here, the mail."""
        self._view(self._chosen().handle)

    def action_look(self) -> None:
        """Look at the terminal of the selected row, and type nothing."""
        self._view(self._chosen().handle, types=False)

    def _view(self, key: str, *, types: bool = True) -> None:
        from sot_tui.screens.row import RowScreen

        fleet = self.desk.fleet
        one = rules.line_of(fleet, key)
        if one is not None and rules.is_row_elsewhere(fleet, one):
            from sot_tui.screens.far import FarPlace

            self.app.push_screen(FarPlace(self.desk, key))
            return
        if one is None or rules.row_of(fleet, one) is None:
            self._open(key)
            return
        self.viewed(key, asked=False)  # who opens it has viewed it
        self.app.push_screen(RowScreen(self.desk, key, types=types))

    def action_open_mail(self) -> None:
        """Open the mail of the selected handle."""
        self._open(self._chosen().handle)

    def action_clear_done(self) -> None:
        """Clear the `done` of the selected handle."""
        self._clear(self._chosen().handle)

    def action_reply(self) -> AwaitMount:
        """Write to the selected handle."""
        from sot_tui.screens import compose

        one = self._chosen()
        if one.state is State.BLOCKED and one.summary:
            return self.app.push_screen(compose.answer(self.desk, one.handle, one.summary))
        return self.app.push_screen(compose.write_to(self.desk, one.handle))

    def action_compose(self) -> AwaitMount:
        """Write to anybody."""
        from sot_tui.screens import compose

        return self.app.push_screen(compose.anew(self.desk))

    def action_broadcast(self) -> AwaitMount:
        """Write to everybody."""
        from sot_tui.screens import compose

        return self.app.push_screen(compose.to_all(self.desk))

    def action_unsent(self) -> None:
        """Show what is not sent."""
        from sot_tui.screens.unsent import UnsentScreen

        self.app.push_screen(UnsentScreen(self.desk))

    def action_your_mail(self) -> None:
        """Open the operator's own mail."""
        if self.desk.fleet.operator:
            self._open(self.desk.fleet.operator)
        else:
            self.desk.refuse("you have no handle here yet, so no mail")

    def action_next_need(self) -> None:
        """Select the next handle that needs the person, from the selected one on."""
        lines = self.piece("fleet", Lines)
        found = rules.needs_you(self.desk.fleet, self.desk.now())
        needed = [wanted.handle for wanted in found if wanted.handle in lines.keys]
        at = needed.index(lines.selected) + 1 if lines.selected in needed else 0
        lines.select(needed[at % len(needed)])
        lines.repaint()

    def action_aside(self) -> None:
        """Set the need of the selected handle aside until it changes, or take that back."""
        one = self._chosen()
        self._set_aside(one.handle, aside=not rules.is_set_aside(self.desk.fleet, one))

    @work(group="aside", exit_on_error=False)
    async def _set_aside(self, handle: str, *, aside: bool) -> None:
        self.desk.say(await self.desk.client.do(SetAside(handle, aside)))

    def action_locks(self) -> None:
        """Look at every lock."""
        from sot_tui.screens.locks import LocksScreen

        self.app.push_screen(LocksScreen(self.desk))

    def action_events(self) -> None:
        """Read what the engine did."""
        from sot_tui.screens.events import EventsScreen

        self.app.push_screen(EventsScreen(self.desk))

    def action_copy(self) -> None:
        """Copy the selected handle."""
        handle = self._chosen().handle
        self.app.copy_to_clipboard(handle)
        self.desk.say(Outcome(good=True, sentence=show.copied(handle)))

    def action_new(self) -> None:
        """Start a row."""
        self._ask_for_row()

    @work(group="new", exit_on_error=False)
    async def _ask_for_row(self) -> None:
        from sot_tui.screens.spawn import SpawnScreen

        row = await self.app.push_screen_wait(SpawnScreen(self.desk))
        fleet = self.desk.fleet
        made = next((one for one in rules.lines(fleet) if row and self._row_id(fleet, one) == row), None)
        if made is not None:
            self.go_to(made.handle)

    def action_end(self) -> None:
        """End the selected row, or remove one that has ended, or a stale handle's entry, after a question."""
        one = self._chosen()
        row = rules.row_of(self.desk.fleet, one)
        if row is None:
            self._ask_to_remove(one)
        else:
            self._ask_to_end(one, row)

    @work(group="leave", exit_on_error=False)
    async def _ask_to_end(self, one: Agent, row: RowSeen) -> None:
        from sot_tui.screens.confirm import Confirm

        fleet, over = self.desk.fleet, bool(rules.end_of(row))
        lines = _end_lines(one, row, fleet.mail_of(one.handle).unread, rules.derive(fleet, one, self.desk.now()))
        verbs = ("Remove",) if over else ("End, keep it", "End, remove")
        what = "Remove" if over else "End"
        said = await self.app.push_screen_wait(Confirm(self.desk, f"{what} row '{row.label}'?", lines, *verbs))
        if said:
            self.desk.say(await self.desk.client.do(EndRow(row.id, remove=over or said == 2)))

    def action_run_again(self) -> None:
        """Run the selected row again, after a look at the command."""
        row = rules.row_of(self.desk.fleet, self._chosen())
        if row is not None:
            self._ask_to_run(row)

    @work(group="leave", exit_on_error=False)
    async def _ask_to_run(self, row: RowSeen) -> None:
        from sot_tui.screens.confirm import Confirm

        line = await self.desk.client.do(ResumeLine(row.id))
        if line.fault:
            self.desk.refuse(f"row '{row.label}': {line.fault}")
            return
        lines = (("runs", line.text), ("in", row.root), ("was", rules.end_of(row) or row.phase))
        if await self.app.push_screen_wait(Confirm(self.desk, f"Run row '{row.label}' again?", lines, "Run")):
            self.desk.say(await self.desk.client.do(ResumeRow(row.id)))

    def action_answer(self, key: str) -> None:
        """Give an answer to the dialog of the selected row."""
        row, dialog = self._dialog
        self._answer(row, key, dialog)

    @work(group="answer", exit_on_error=False)
    async def _answer(self, row: str, key: str, dialog: RowDialog) -> None:
        outcome = await self.desk.client.do(AnswerDialog(row, key, dialog.lines))
        self.desk.say(outcome)
        asked = next((one for one in rules.lines(self.desk.fleet) if self._row_id(self.desk.fleet, one) == row), None)
        if outcome.good and asked is not None:
            self.desk.have_answered(asked.handle)
        self._look_for_dialog()

    def _dialog_of(self, fleet: Fleet, one: Agent | None) -> RowDialog:
        """Return the dialog of a line whose handle is blocked, as it was read last; none for any other."""
        row, dialog = self._dialog
        if one is None or one.state is not State.BLOCKED or not row or self._row_id(fleet, one) != row:
            return RowDialog()
        return dialog

    def _look_for_dialog(self) -> None:
        """Read the screen of the selected row while its handle is blocked."""
        one = self._one(self.desk.fleet)
        row = self._row_id(self.desk.fleet, one) if one is not None and one.state is State.BLOCKED else ""
        if not row:
            self._dialog = ("", RowDialog())
        elif self.is_current:
            self._read_dialog(row)

    @work(group="dialog", exclusive=True, exit_on_error=False)
    async def _read_dialog(self, row: str) -> None:
        was, found = self._dialog, (row, await self.desk.client.do(ReadDialog(row)))
        if was[1].lines and found[1].lines and found != was:
            self._replaced = get_running_loop().time()
        self._dialog = found
        if self.is_open:
            self._show_detail(self.desk.fleet, self.desk.now())

    @work(group="leave", exit_on_error=False)
    async def _ask_to_remove(self, one: Agent) -> None:
        from sot_tui.screens.confirm import Confirm

        unread = self.desk.fleet.mail_of(one.handle).unread
        mail = f"its inbox with {unread} unread message{'' if unread == 1 else 's'}" if unread else "its inbox"
        lines = (
            ("goes", "its entry in the registry, with its state and summary"),
            ("stays", f"{mail}, its cursor and its files"),
            ("back", "it is listed again when its session joins again"),
        )
        if await self.app.push_screen_wait(Confirm(self.desk, f"Remove @{one.handle} here?", lines, "Remove")):
            self.desk.say(await self.desk.client.do(Leave(one.handle)))

    def _chosen(self) -> Agent:
        """Return the selected agent, of which `why_not` has said that there is one."""
        one = self._one(self.desk.fleet)
        if one is None:
            raise LookupError("no handle is selected")
        return one

    def _one(self, fleet: Fleet) -> Agent | None:
        selected = self.piece("fleet", Lines).selected
        return rules.line_of(fleet, selected) if selected is not None else None

    def _open(self, handle: str) -> None:
        from sot_tui.screens.mail import MailScreen

        self.viewed(handle, asked=False)  # who opens it has viewed it
        self.app.push_screen(MailScreen(self.desk, handle))

    @work(group="clear", exit_on_error=False)
    async def _clear(self, handle: str) -> None:
        self.desk.say(await self.desk.client.do(ClearDone(handle)))

    def _look_for_last_letters(self) -> None:
        """Read the last letters of the selected handle when it, or its mail, is another than before."""
        one = self._one(self.desk.fleet)
        if one is None or one.label or self.size.width < MEDIUM_FROM:
            return
        wanted = (one.handle, self.desk.fleet.mail_of(one.handle))
        if wanted != self._looked_for:
            self._looked_for = wanted
            self._read_last_letters(one.handle)

    @work(group="last", exclusive=True, exit_on_error=False)
    async def _read_last_letters(self, handle: str) -> None:
        page = await self.desk.client.do(OpenMail(handle, newest=_LAST_LETTERS))
        self._last = (handle, tuple(reversed(page.letters)))
        self._show_detail(self.desk.fleet, self.desk.now())


class Yours(show.Words):
    """The number of the operator's unread messages; a click opens them."""

    def on_click(self) -> None:
        """Open the operator's own mail."""
        screen = self.screen
        if isinstance(screen, NavScreen):
            screen.action_your_mail()


class Unsent(show.Words):
    """The number of messages that are not sent; a click shows them."""

    def on_click(self) -> None:
        """Show what is not sent."""
        screen = self.screen
        if isinstance(screen, NavScreen):
            screen.action_unsent()


class LockWord(show.Words):
    """The state of the registry lock; a click shows every lock."""

    def on_click(self) -> None:
        """Look at the locks."""
        screen = self.screen
        if isinstance(screen, NavScreen):
            screen.action_locks()


_ABOUT_ROW = frozenset({"end", "run_again", "answer", "look"})
"""The actions on the selected line's row."""
_ABOUT_MAIL = frozenset({"open_mail", "reply", "copy"})
"""The actions on its handle as an address."""
_ABOUT_ONE = frozenset({"open", "clear_done", "aside"}) | _ABOUT_ROW | _ABOUT_MAIL
"""The actions on the selected line."""


def _way_out(fleet: Fleet) -> str:
    """Return why the registry could not be read, and what a person can do about it."""
    registry = fleet.registry
    if registry.no_home:
        return f"{registry.why} — sot-tui join, in a session's project folder, makes it"
    if registry.missing:
        return f"{registry.why} — {MADE_ANEW}"
    by_hand = BY_HAND.format(path=f"{fleet.home}/registry.json")
    return f"{registry.why} — {by_hand}" if registry.why else by_hand


_FITS_NOBODY = Content("\n").join(
    [
        Content.styled("The filter fits nobody.", "b"),
        Content("Its words: state:blocked  host:box  any text  !word for what is not to be there."),
        Content("All of them must fit. Esc shows everybody."),
    ]
)


def _nobody_words(fleet: Fleet, width: int) -> Content:
    if fleet.registry.reading is Reading.NOT_YET:
        return Content.styled("reading the registry …", "$foreground 60%")
    if fleet.registry.reading is Reading.UNREADABLE:
        return show.words(
            "there is no good picture to show: the registry has not been readable since this window opened"
        )
    typed = own_command(os.environ)
    commands = (
        (f"{typed} join", "take a handle"),
        (f'{typed} status waiting "…"', "say what it waits for"),
        (f'{typed} send @{fleet.operator or "handle"} "…"', "write to you"),
    )
    longest = max(show.width(command) for command, _ in commands)
    lines = [
        Content.styled("No session has joined yet.", "b"),
        Content("Three commands, run in a session's project folder, fill this list:"),
        Content(""),
    ]
    for command, about in commands:
        what = about if width >= max(MEDIUM_FROM, longest + _COMMAND_CELLS) else ""
        lines.append(
            Content.assemble(
                ("  " + show.fit(show.plain(command), longest), "b $accent"), ("  " + what, "$foreground 70%")
            )
        )
    lines += [Content(""), show.words(f"comm home: {fleet.home}", "$foreground 60%")]
    return Content("\n").join(lines)


def _named(one: Agent) -> str:
    return f"row '{one.label}'" if one.label else f"@{one.handle}"


def _end_lines(one: Agent, row: RowSeen, unread: int, shown: rules.Shown) -> tuple[tuple[str, str], ...]:
    """Return what ends with a row, what goes with it, and what stays."""
    program = rules.program_of(row)
    entry = "" if one.label else f", and @{one.handle} from the registry"
    inbox = ""
    if not one.label:
        mail = f" with {unread} unread message{'' if unread == 1 else 's'}" if unread else ""
        inbox = f", and the inbox of @{one.handle}{mail}"
    removed = ("remove", f"the row goes from the list{entry}")
    stays = ("stays", f"the recording of its run{inbox}")
    if over := rules.end_of(row):
        return (("was", f"{program} in {row.root}; {over}"), removed, stays)
    return (
        ("ends", f"{program} in {row.root}, and what runs in its terminal"),
        *((("now", handles.said(shown)),) if not one.label else ()),
        ("keep", "the row stays in the list with its end, and can run again"),
        removed,
        stays,
    )


def _asking_detail(reasons: list[tuple[str, str]], dialog: RowDialog, width: int, room: int) -> Content:
    """Return why a row is blocked, its dialog, and the keys that answer it, in so many lines."""
    wide = width >= MEDIUM_FROM
    told = [
        show.hang(f"  {label}" if wide else " ", text, width - 1, _LABEL_CELLS if wide else 1)
        for label, text in reasons
        if label == "why"
    ]
    left = max(3, room - len(told) - 1)
    lines = list(dialog.lines)
    if len(lines) > left:  # what is asked, and what can be answered
        lines = [lines[0], show.ELLIPSIS, *lines[len(lines) - left + 2 :]]
    # A line of a dialog keeps the blanks before it: they part what is asked from what it is about.
    told += [Content(show.fit("  " + show.paragraph(line), width - 1).rstrip()) for line in lines]
    # Every word of this markup is ours, and a key is a digit.
    keys = [f"[@click=screen.{actions.call_with(_ANSWER, key)}][b $accent] {key} [/][/]" for key in dialog.keys]
    said = "type the number; the screen is read again before it is sent" if wide else "type the number"
    told.append(Content.from_markup(f"  [$foreground 50%]answer[/] {''.join(keys)} [$foreground 50%]{said}[/]"))
    return Content("\n").join(told)


_ANSWER = actions.named(Where.NAV, "answer")


def _narrow_detail(reasons: list[tuple[str, str]], width: int) -> Content:
    """Return what a session says, and why it is shown so, in the few lines there are."""
    told = show.hang(" ", reasons[0][1], width - 1, 1, _NARROW_LINES - 1)
    left = _NARROW_LINES - 1 - told.plain.count("\n")
    more = [show.hang(" ", text, width - 1, 1, left) for label, text in reasons[1:] if label == "why"]
    return Content("\n").join([told, *more])


def _letter_words(letter: Letter, now: float) -> str:
    at = seconds_of(letter.at)
    first = letter.text.split("\n", 1)[0]
    said = first if len(first) <= 60 else first[:59] + show.ELLIPSIS
    sender = letter.sender if letter.kind is not Kind.UNPARSED else "?"
    return f"{sender} → “{said}” {show.age(at, now)}"
