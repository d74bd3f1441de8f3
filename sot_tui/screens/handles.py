"""How handles are drawn: one line each, in columns that a width has room for, and the counts above them.

The nav draws them, and so does whatever is open beside it. Every column has its exact number of cells, whatever foreign
text is in it; what is drawn is what `comm.fleet` answers, and nothing is decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from sot_tui.comm import fleet as rules
from sot_tui.comm.clock import age_text
from sot_tui.comm.fleet import Agent, LockPhase, MailCount, Reading, State
from sot_tui.screens import show
from sot_tui.screens.place import MEDIUM_FROM, WIDE_FROM
from sot_tui.screens.widgets.lines import Piece

if TYPE_CHECKING:
    from sot_tui.comm.fleet import Fleet, Shown

_STATE_CELLS = 11
_MAIL_CELLS = 4
_AGE_CELLS = 6
_AGENT_CELLS = 7
_NARROW_CELLS = 4 + _MAIL_CELLS + _AGE_CELLS + 1
"""What the narrow columns take beside the handle."""


class Columns(NamedTuple):
    """How many cells each column of the nav has; 0 leaves it out."""

    handle: int
    state: int
    summary: int
    mail: int
    agent: int
    host: int


def columns(fleet: Fleet, width: int) -> Columns:
    """Return the columns for a width: shape, handle and age alone when narrow, everything when wide."""
    if width < MEDIUM_FROM:
        return Columns(max(8, width - _NARROW_CELLS), 0, 0, _MAIL_CELLS, 0, 0)
    most, host = (30, 14) if width >= WIDE_FROM else (22, 0)
    handle = max(12, min(most, longest(fleet)))
    agent = _AGENT_CELLS if host else 0
    used = 4 + _STATE_CELLS + handle + 2 + _MAIL_CELLS + _AGE_CELLS + sum(cells + 2 for cells in (agent, host) if cells)
    return Columns(handle, _STATE_CELLS, max(0, width - used - 1), _MAIL_CELLS, agent, host)


def narrow_width(fleet: Fleet, most: int) -> int:
    """Return the width, up to `most`, at which the narrow columns show every handle whole."""
    return min(most, _NARROW_CELLS + longest(fleet))


def longest(fleet: Fleet) -> int:
    """Return the cells of the longest name of a line."""
    return max((show.width(show.plain(rules.called(one))) for one in rules.lines(fleet)), default=0)


_COUNTED = (  # who is blocked needs the person, and stands in that number already
    (State.WORKING, "working"),
    (State.DONE, "done"),
    (State.STALE, "stale"),
    (State.WAITING, "waiting"),
    (State.IDLE, "idle"),
    (State.SILENT, "no signal"),
    (State.ENDED, "ended"),
)


def counts_words(found: rules.Counts, room: int) -> Content:
    """Return the counts, as many as fit in words, the rest as shapes, the least telling left out first."""
    needs = found.needs
    words = f"{needs} need{'s' if needs == 1 else ''} you" if needs else "nobody needs you"
    first = Content.styled(words, "b $state-blocked" if needs else "$state-done")
    there = [(state, word) for state, word in _COUNTED if found.by_state[state]]
    spelled = [_told(found, state, word) for state, word in there]
    shapes = [
        Content.styled(f"{show.SHAPES[state]} {found.by_state[state]}", _state_style(state)) for state, _ in there
    ]
    for words_told in range(len(there), -1, -1):
        told = _DOT.join([first, *spelled[:words_told], *shapes[words_told:]])
        if told.cell_length <= room:
            return told
    while shapes and _DOT.join([first, *shapes]).cell_length > room:
        shapes.pop()
    return _DOT.join([first, *shapes])


def _told(found: rules.Counts, state: State, word: str) -> Content:
    """Return a count in words; those of whom nothing was heard for long are counted apart."""
    count, doubted = found.by_state[state], found.doubted if state is State.WORKING else 0
    told = [Content.styled(f"{count - doubted} {word}", _state_style(state))] if count > doubted else []
    told += [Content.styled(f"{doubted} {word}?", "$foreground 60%")] if doubted else []
    return _DOT.join(told)


_DOT = Content.styled(" · ", "$foreground 40%")


def _state_style(state: State) -> str:
    return f"$state-{show.PARTS[state]}"


def lock_words(fleet: Fleet, now: float, *, short: bool) -> Content:
    """Return the state of the registry lock in two or three words."""
    lock = fleet.lock
    name = "" if short else "registry "
    if lock.phase is LockPhase.UNKNOWN:
        return Content.styled(f"{name}· …   ", "$foreground 60%")
    if not lock.wedged:
        # A write of a moment holds it for a moment: one look that meets it is nothing to tell.
        free = lock.phase is LockPhase.FREE or lock.looks < 2
        shape, style = ("● free", "$state-done") if free else (f"◐ {lock.grip}", "$state-working")
        return Content.assemble((name, "$foreground 60%"), (shape, style))
    return Content.styled(f"{name}◆ {lock.grip} {age_text(lock.held_s(now))}", "b $state-blocked")


def said(shown: Shown) -> str:
    """Return what a handle says, in one phrase: its state, and its summary if it has one."""
    return f"{shown.word}: {shown.summary}" if shown.summary else shown.word


def heads(cells: Columns) -> str:
    """Return the names of the columns."""
    if not cells.state:
        return (
            "    " + show.fit("HANDLE", cells.handle) + show.fit_right("MAIL", cells.mail) + show.fit_right("SINCE", 6)
        )
    summary = show.fit("SUMMARY", cells.summary)
    head = "    " + show.fit("STATE", cells.state) + show.fit("HANDLE", cells.handle) + "  " + summary
    head += show.fit_right("MAIL", cells.mail) + show.fit_right("SINCE", _AGE_CELLS)
    if not cells.host:
        return head
    return head + "  " + show.fit("AGENT", cells.agent) + "  " + show.fit("HOST", cells.host)


def line(
    fleet: Fleet, key: str, cells: Columns, now: float, *, chosen: bool, answered: float | None = None
) -> tuple[Piece, ...]:
    """Return the line of a handle, or of a row without one; nothing when it is gone."""
    one = rules.line_of(fleet, key)
    if one is None:
        return ()
    old = fleet.registry.reading is Reading.UNREADABLE
    needed = rules.need(fleet, one, now) is not None
    shown = rules.derive(fleet, one, now)
    if answered is not None:
        shown = shown._replace(summary=f"you answered {age_text(now - answered)} ago · {shown.summary}")
    return tuple(_pieces(fleet, one, shown, cells, _Manner(chosen, needed, old, now)))


class _Manner(NamedTuple):
    chosen: bool
    needed: bool
    old: bool
    now: float


def _pieces(fleet: Fleet, one: Agent, shown: Shown, cells: Columns, manner: _Manner) -> list[Piece]:
    """Return the pieces of one line; every column has its exact number of cells, whatever is in it."""
    part = show.PARTS[shown.state]
    weak = "dim" if manner.old or shown.doubtful else ""
    state_part = "dim" if manner.old or (shown.doubtful and shown.state is State.WORKING) else part
    handle_part = "dim" if manner.old else "strong" if manner.needed else weak
    aside = rules.is_set_aside(fleet, one)
    if aside:
        state_part = handle_part = weak = "dim"
    pieces = [
        Piece("▌" if manner.chosen else " ", "bar"),
        # The key that set it aside stands before the shape, so that it is told where there is no word.
        Piece("z" if aside else " ", "dim"),
        Piece(f"{show.SHAPES[shown.state]} ", state_part),
    ]
    if cells.state:
        pieces.append(Piece(show.fit("aside" if aside else shown.word, cells.state), state_part))
    pieces.append(Piece(show.fit(show.plain(rules.called(one)), cells.handle), handle_part))
    if cells.state:
        pieces.append(Piece("  " + show.fit(show.plain(shown.summary), cells.summary), weak))
    mail = fleet.mail_of(one.handle)
    pieces.append(
        Piece(show.fit_right(_mail_sign(mail.trust, mail.for_person), cells.mail), _mail_part(mail, manner.old))
    )
    pieces.append(Piece(show.fit_right(show.age(shown.since, manner.now), _AGE_CELLS), "dim"))
    if cells.host:
        program = show.plain(rules.program_of(rules.row_of(fleet, one))) or "–"
        pieces.append(Piece("  " + show.fit(program, cells.agent), "dim"))
        pieces.append(Piece("  " + show.fit(show.plain(one.host) or "–", cells.host), "dim"))
    return pieces


def _mail_sign(trust: MailCount, unread: int) -> str:
    if trust is MailCount.COUNTED:
        return str(unread) if unread else "·"
    if trust is MailCount.BUSY:
        return f"{unread}?"
    return "!" if trust is MailCount.FAULT else ""


def _mail_part(mail: rules.Mail, old: bool) -> str:
    if old:
        return "dim"
    if mail.trust is MailCount.FAULT:
        return "warn"
    return "count" if mail.for_person else "dim"
