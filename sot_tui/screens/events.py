"""The event log: everything the engine did and decided, newest last, with a filter of its own.

The lines are the engine's; this screen brings those it does not have yet. While the newest line is selected the list
goes with the log; on any other line it stays where the person reads.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.content import Content

from sot_tui.comm import fleet as rules
from sot_tui.engine.client import Outcome
from sot_tui.screens import show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.eventlog import EventLog
from sot_tui.screens.place import MEDIUM_FROM, Place
from sot_tui.screens.widgets.bars import KeyLine, LockBanner, MessageLine
from sot_tui.screens.widgets.filter import FilterLine
from sot_tui.screens.widgets.lines import Lines, Piece

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.engine.client import Happening
    from sot_tui.screens.desk import Desk

_TIME_CELLS, _DAY_CELLS, _KIND_CELLS = 8, 6, 9
_DETAIL_LINES = 3
_FIELDS = frozenset({"kind"})


class EventsScreen(Place[None]):
    """The log of one engine."""

    WHERE = Where.EVENTS
    OFFERS = True
    AUTO_FOCUS = "#events"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.EVENTS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._all: dict[str, Happening] = {}
        self._read_log = EventLog(desk.client)
        self._count = 0
        self._file = ""

    def compose(self) -> ComposeResult:
        """Lay out the title, the filter, the list, the whole of the selected line, and the two lines at the foot."""
        yield show.Words(id="events-title")
        yield LockBanner(self.desk)
        yield FilterLine("events", id="filter")
        yield Lines(self._paint, id="events")
        yield show.Words(id="events-detail")
        yield MessageLine(self.desk)
        yield KeyLine(Where.EVENTS)

    # -- showing -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Bring the whole log."""
        self._show()
        self._read()

    def on_resize(self) -> None:
        """Lay it out for the new width."""
        self._show()

    def fleet_changed(self) -> None:
        """Bring what is new."""
        if self.is_open and self.desk.fleet.events != self._count:
            self._read()

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        self._count = self.desk.fleet.events
        part = await self._read_log.new()
        if not self.is_open:
            return
        self._file = part.file
        if part.anew:
            self._all.clear()  # another engine than before has a log of its own; the file has both
        for line in part.lines:
            self._all[str(line.number)] = line
        for key in list(self._all)[: max(0, len(self._all) - LINES_LIMIT)]:
            del self._all[key]
        self._show()

    def _show(self) -> None:
        lines, at_end = self.piece("events", Lines), self._is_at_end()
        wanted = rules.terms(self._filter.text, _FIELDS)
        shown = tuple(key for key, line in self._all.items() if all(_fits(line, term) for term in wanted))
        lines.show(shown)
        if at_end and shown:
            lines.select(shown[-1])
            lines.repaint()
        wrong = rules.no_fields(self._filter.text, _FIELDS)
        count = Content.styled(f"{len(shown)} of {len(self._all)} · esc: all", "$foreground 70%")
        self._filter.say(show.words(wrong, "b $state-blocked") if wrong else count)
        where = f"also in {self._file}" if self._file else "kept in memory only: this dashboard writes nothing"
        told = f"{len(self._all)} line{'' if len(self._all) == 1 else 's'} · {where}"
        title = show.ours(" [b]events[/]  [$foreground 60%]$told[/]", told=told)
        self.piece("events-title", show.Words).say(title)
        self._show_detail()

    def _show_detail(self) -> None:
        line = self._line()
        nothing = "the filter fits no line; its words: kind:mail, any text, !word; esc shows all"
        if line is None and self._all and self._filter.text:
            self.piece("events-detail", show.Words).say(show.hang("  ", nothing, self.size.width - 1, 2, _DETAIL_LINES))
            return
        said = Content("") if line is None else show.hang("  ", line.text, self.size.width - 1, 2, _DETAIL_LINES)
        self.piece("events-detail", show.Words).say(said)

    def _line(self) -> Happening | None:
        selected = self.piece("events", Lines).selected
        return self._all.get(selected) if selected is not None else None

    def _is_at_end(self) -> bool:
        lines = self.piece("events", Lines)
        return lines.selected is None or lines.selected == (lines.keys[-1] if lines.keys else None)

    def tells_push(self, words: str, *, good: bool) -> bool:
        """Say it below the list where it is not the selected line of it: a toast would hide what is read here."""
        if not self._is_at_end() or self._filter.text:
            self.desk.say(Outcome(good, words))
        return True

    def _paint(self, key: str, width: int, chosen: bool) -> tuple[Piece, ...]:
        line = self._all.get(key)
        if line is None:
            return ()
        today = time.strftime("%F", time.localtime(self.desk.now())) == time.strftime("%F", time.localtime(line.at))
        at = time.strftime("%H:%M:%S" if today else "%b %d", time.localtime(line.at))
        kind = _KIND_CELLS if width >= MEDIUM_FROM else 0
        pieces = [
            Piece("▌ " if chosen else "  ", "bar"),
            Piece("  " if line.good else "! ", "warn"),
            Piece(show.fit(at, _TIME_CELLS) + "  ", "dim"),
        ]
        if kind:
            pieces.append(Piece(show.fit(line.what.value, kind) + " ", "count" if not line.good else "dim"))
        room = max(0, width - 4 - _TIME_CELLS - 2 - (kind + 1 if kind else 0) - 1)
        pieces.append(Piece(show.fit(show.plain(line.text), room), "" if line.good else "strong"))
        return tuple(pieces)

    # -- what a person does --------------------------------------------------------------------------------------------

    @property
    def _filter(self) -> FilterLine:
        return self.piece("filter", FilterLine)

    @on(Lines.Moved, "#events")
    def _selection_moved(self) -> None:
        self._show_detail()

    @on(FilterLine.Changed)
    def _filter_changed(self) -> None:
        self._show()

    def why_not(self, name: str) -> str:
        """Return why an action can do nothing now."""
        nothing = name == "copy" and self._line() is None
        if name == "recover":
            return self.why_no_recover()
        return super().why_not(name) or ("no line is selected" if nothing else "")

    def action_filter(self) -> None:
        """Take the words of a filter."""
        self._filter.open()
        self._show()

    def action_copy(self) -> None:
        """Copy the selected line."""
        line = self._line()
        if line is not None:
            self.app.copy_to_clipboard(show.plain(line.text))
            self.desk.say(Outcome(good=True, sentence=show.copied("the line")))

    def signs(self) -> tuple[tuple[str, str], ...]:
        """Return what the sign before a line means."""
        return (("!", "this did not go well"),)

    def action_back(self) -> None:
        """Show every line again; when they are, go back."""
        if self._filter.display:
            self._filter.clear()
        else:
            self.dismiss()


LINES_LIMIT = 2000
"""Lines that are shown at most; the engine keeps as many (product, Events)."""


def _fits(line: Happening, term: rules.Term) -> bool:
    if term.field == "kind":
        found = line.what.value.startswith(term.text)
    else:
        found = term.text in line.text.casefold() or term.text in line.what.value
    return found is not term.negated
