"""The locks: who holds the registry lock and each inbox lock, since when, who waits, and what proves a holder dead.

Product, Locks: everything is looked at and nothing is tried, so looking keeps nobody waiting; what cannot be seen from
this box is said. Only a registry lock can be left behind by a dead holder, so only from its line Recover is reached;
an inbox lock ends with its holder, by the kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import on, work
from textual.containers import Vertical
from textual.content import Content

from sot_tui.comm import proc_locks
from sot_tui.comm.clock import age_text
from sot_tui.comm.fleet import LockPhase
from sot_tui.engine.client import LookAtLocks
from sot_tui.screens import show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.place import MEDIUM_FROM, WIDE_FROM, Place
from sot_tui.screens.widgets.bars import KeyLine, MessageLine
from sot_tui.screens.widgets.lines import Lines, Piece

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.comm.fleet import LockState
    from sot_tui.comm.proc_locks import Hold, Process
    from sot_tui.comm.registry_lock import Marker
    from sot_tui.engine.client import Locks
    from sot_tui.screens.desk import Desk

_REGISTRY, _MARKER, _INBOX = "registry", "marker", "inbox"
_LABEL_CELLS = 10
_AGE_CELLS = 7
_MOST_LINES = 6
"""Lines that one label of the detail may take: on a narrow screen, those of the longest next step."""
_NO_TRACE = "not known: who waits for this lock leaves no trace"


class Row(NamedTuple):
    """One line of the list, and its detail."""

    shape: str
    part: str
    name: str
    holder: str
    age: str
    waits: str
    detail: tuple[tuple[str, str], ...]


class LocksScreen(Place[None]):
    """Every lock of the comm home, as the last look found it."""

    WHERE = Where.LOCKS
    OFFERS = True
    AUTO_FOCUS = "#locks"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.LOCKS)]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._locks: Locks | None = None
        self._rows: dict[str, Row] = {}

    def compose(self) -> ComposeResult:
        """Lay out the title, the list, what cannot be seen, the detail, and the two lines at the foot."""
        yield show.Words(id="locks-title")
        yield show.Words(id="locks-columns")
        yield Lines(self._paint, id="locks")
        yield show.Words(id="locks-note")
        with Vertical(id="locks-detail"):
            yield show.Words(id="locks-detail-title")
            yield show.Words(id="locks-detail-body")
        yield MessageLine(self.desk)
        yield KeyLine(Where.LOCKS)

    # -- looking -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Look."""
        self._show()
        self._look()

    def on_resize(self) -> None:
        """Lay it out for the new width."""
        self._show()

    def fleet_changed(self) -> None:
        """Look again: the registry lock may be another one."""
        if self.is_open:
            self._look()

    def time_passed(self) -> None:
        """Look again: an inbox lock gives no sign of its own."""
        if self.is_open:
            self._look()

    def action_reload(self) -> None:
        """Look again."""
        self._look()

    @work(group="look", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        locks = await self.desk.client.do(LookAtLocks())
        if self.is_open:
            self._locks = locks
            self._show()

    # -- showing -----------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        fleet = self.desk.fleet
        title = show.ours(" [b]locks[/]  [$foreground 60%]$home[/]", home=fleet.home)
        self.piece("locks-title", show.Words).say(title)
        self.piece("locks-columns", show.Words).say(Content.styled(self._heads(), "$foreground 50%"))
        locks = self._locks
        note = self.piece("locks-note", show.Words)
        if locks is None:
            note.say(Content.styled("  looking …", "$foreground 60%"))
            return
        self._rows = _rows(locks, self.desk.now())
        lines = self.piece("locks", Lines)
        lines.show(tuple(self._rows))
        told = [show.hang("  ", line, self.size.width - 1, 2, _MOST_LINES) for line in _notes(locks)]
        note.say(Content("\n").join(told).stylize_before("$foreground 60%"))
        self._show_detail()
        self.show_keys()

    def _show_detail(self) -> None:
        selected = self.piece("locks", Lines).selected
        row = self._rows.get(selected) if selected is not None else None
        if row is None:
            return
        name = show.plain(row.name)
        rule = "─" * max(0, self.size.width - show.width(name) - 4)
        title = Content.assemble(("── ", "$foreground 30%"), (name, "b"), (f" {rule}", "$foreground 30%"))
        self.piece("locks-detail-title", show.Words).say(title)
        room = self.size.width - 1
        told = [show.hang(f"  {label}", text, room, _LABEL_CELLS + 2, _MOST_LINES) for label, text in row.detail]
        self.piece("locks-detail-body", show.Words).say(Content("\n").join(told))

    def _cells(self) -> tuple[int, int, int]:
        """Return the cells of the name, the holder and the waiters; 0 leaves a column out."""
        width = self.size.width
        if width < MEDIUM_FROM:
            return max(8, width - 4 - _AGE_CELLS - 1), 0, 0
        name = 30 if width >= WIDE_FROM else 22
        waits = 26 if width >= WIDE_FROM else 14
        return name, max(0, width - 4 - name - 2 - _AGE_CELLS - 2 - waits - 1), waits

    def _heads(self) -> str:
        name, holder, waits = self._cells()
        head = "    " + show.fit("LOCK", name)
        if holder:
            head += "  " + show.fit("HELD BY", holder)
        head += show.fit_right("FOR", _AGE_CELLS)
        return head + ("  " + show.fit("WAITING", waits) if waits else "")

    def _paint(self, key: str, width: int, chosen: bool) -> tuple[Piece, ...]:
        row = self._rows.get(key)
        if row is None or not width:
            return ()
        name, holder, waits = self._cells()
        pieces = [
            Piece("▌ " if chosen else "  ", "bar"),
            Piece(f"{row.shape} ", row.part),
            Piece(show.fit(show.plain(row.name), name), "strong" if row.part == "blocked" else ""),
        ]
        if holder:
            pieces.append(Piece("  " + show.fit(show.plain(row.holder), holder)))
        pieces.append(Piece(show.fit_right(row.age, _AGE_CELLS), "dim"))
        if waits:
            pieces.append(Piece("  " + show.fit(show.plain(row.waits), waits), "dim"))
        return tuple(pieces)

    # -- what a person does --------------------------------------------------------------------------------------------

    @on(Lines.Moved, "#locks")
    def _selection_moved(self) -> None:
        self._show_detail()

    @on(Lines.Opened, "#locks")
    def _opened(self) -> None:
        if self.may("recover"):
            self.action_recover()

    def why_not(self, name: str) -> str:
        """Return why an action can do nothing now: only the registry lock is ever recovered."""
        why = super().why_not(name)
        if why or name != "recover":
            return why
        selected = self.piece("locks", Lines).selected or _REGISTRY
        if selected.startswith(_INBOX):
            return "an inbox lock is never cleared: the kernel lets it go when its holder ends"
        return self.why_no_recover()

    def offers(self, name: str) -> bool:
        """Offer to recover only what this box proves dead; for any other lock the dialog says who can."""
        return super().offers(name) and (name != "recover" or self.desk.fleet.lock.dead)

    def signs(self) -> tuple[tuple[str, str], ...]:
        """Return what the signs before a lock mean."""
        return (
            ("●", "the registry lock is free"),
            ("◐", "it is held, as for every write"),
            ("◆", "the registry lock has been held for too long"),
            ("└", "the marker of who reclaims a dead holder's lock"),
        )

    def action_back(self) -> None:
        """Go back."""
        self.dismiss()


def _rows(locks: Locks, now: float) -> dict[str, Row]:
    """Return every line of the list by its key: the registry lock, its markers, the inbox locks that are held."""
    rows = {_REGISTRY: _registry_row(locks.registry, now)}
    for number, marker in enumerate(locks.markers.chain):
        rows[f"{_MARKER} {number}"] = _marker_row(marker)
    for hold in locks.inboxes.held:
        rows[f"{_INBOX} {hold.handle}"] = _inbox_row(hold, locks.inboxes.seen_s(hold))
    return rows


def _registry_row(lock: LockState, now: float) -> Row:
    if lock.phase in {LockPhase.FREE, LockPhase.UNKNOWN}:
        free = lock.phase is LockPhase.FREE
        words = "nobody" if free else lock.phase.value
        return Row(
            "●" if free else "·", "done" if free else "dim", "registry lock", words, "", "", (("holder", words),)
        )
    holder = lock.holder or lock.phase.value
    age = age_text(lock.held_s(now))
    detail = (
        ("holder", holder),
        ("proof", lock.verdict),
        ("next", "^r recovers it" if lock.dead else lock.recovery),
        ("held for" if lock.grip == "held" else "unread for", age),
        ("waiting", _NO_TRACE),
        ("record", lock.record or "none that could be read"),
    )
    part = "blocked" if lock.wedged else "working"
    return Row("◆" if lock.wedged else "◐", part, "registry lock", holder, age, "not known", detail)


def _marker_row(marker: Marker) -> Row:
    by = f"{marker.by.name} pid {marker.by.pid} start {marker.by.start}" if marker.by else marker.state.value
    detail = (
        ("of", f"{marker.of.name} pid {marker.of.pid} start {marker.of.start}, whom it says to be dead"),
        ("made by", by),
        ("proof", marker.verdict),
        ("file", marker.path),
    )
    return Row("└", "dim", "reclaim marker", f"made by {by}", "", "", detail)


def _inbox_row(hold: Hold, seen_s: float) -> Row:
    holders = ", ".join(map(_who, hold.holders)) or "not shown"
    waits = ", ".join(map(_who, hold.waiters))
    detail = (
        ("holder", "; ".join(map(_whole, hold.holders)) or "not shown"),
        ("proof", proc_locks.verdict(hold)),
        ("next", proc_locks.next_step(hold)),
        ("waiting", "; ".join(map(_whole, hold.waiters)) or "nobody"),
        ("held for", f"at least {age_text(seen_s)}, as far as this window has looked"),
    )
    return Row("◐", "working", f"inbox of {hold.handle}", holders, f"≥{age_text(seen_s)}", waits, detail)


def _who(process: Process) -> str:
    return f"{proc_locks.who(process)} {'writes' if process.writes else 'reads'}"


def _whole(process: Process) -> str:
    start = f" start {process.start}" if process.start else ""
    return f"{proc_locks.who(process)}{start}, as a {'writer' if process.writes else 'reader'}"


def _notes(locks: Locks) -> list[str]:
    """Return what is said below the list: what is not held, and what cannot be seen."""
    inboxes, others = locks.inboxes, locks.markers.others
    told = []
    if inboxes.unknown:
        told.append(f"who holds an inbox lock is not known: {inboxes.unknown}")
    elif not inboxes.held:
        told.append("no inbox lock is held" + (", as far as this box can see" if inboxes.unseen else ""))
    if inboxes.unseen:
        told.append(inboxes.unseen)
    if others is None:
        told.append("how many older reclaim markers there are is not known: the folder could not be listed")
    elif others:
        told.append(f"{others} older reclaim marker{'s' if others > 1 else ''}, kept for good (they hold nothing)")
    return told
