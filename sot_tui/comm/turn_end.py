"""The end-of-turn check: hold the turn while new mail waits, else stamp its end from its report marker.

Contract, Waking and Delivery: the hook marks `stop_at` as it starts, and reads the inbox before anything else. A busy
inbox is said and holds nothing; any other fault of its lock, or a count that failed, is named in every block, and holds
one turn end by itself. A batch of mail holds one turn end of a session. The turn end that passes is stamped from the
last marker anywhere in the turn, and its stop deletes the mark. Nothing here prints: what holds the turn is remembered
only once it was said (`told`), so a hook that dies in between says it again.
"""

from __future__ import annotations

from sot_tui.comm import inbox, notices, report, scratch, stamping, turns
from sot_tui.comm.facts import Verb
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.registry import NotWritten
from sot_tui.comm.registry_lock import Wait
from sot_tui.comm.stamping import Said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sot_tui.comm.clock import Stamp
    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context
    from sot_tui.comm.scratch import Draft

CAP = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
"""The variable by which a person sets how often in a row Claude Code lets a hook hold a turn."""
CAP_DEFAULT = 8
"""How often it does so otherwise (Claude Code's manual); one hold more, and it ends the turn by itself, unstamped."""


class TurnEnd(NamedTuple):
    """What the agent says about the turn that is about to end."""

    session: str
    """The session's key; empty when the agent gives none, and then nothing can be remembered."""
    held_before: bool
    """Whether a hook held this turn already (`stop_hook_active`)."""
    transcript: str
    """Path of the session's transcript, empty when there is none."""
    last_message: str
    cap: int = CAP_DEFAULT
    """Holds in a row that the agent allows; 0 or less for no bound."""


class Hold(NamedTuple):
    """The turn is to go on."""

    reason: str
    """What the session is told."""
    drafts: tuple[Draft, ...]
    """What is remembered once it was told."""
    notes: tuple[str, ...] = ()
    """Lines for stderr."""


class Ended(NamedTuple):
    """The turn may end; its end is stamped, or `notes` say why it is not."""

    notes: tuple[str, ...] = ()


class _Mail(NamedTuple):
    """What the look at the inbox brought."""

    reason: str
    """What the session is to be told; empty when nothing is new."""
    memory: tuple[tuple[str, str], ...] = ()
    """Scratch files and their text, by which the same thing holds no further turn."""
    note: str = ""


def cap_said(environ: Mapping[str, str]) -> int:
    """Return the agent's bound on held turn ends, as Claude Code reads its variable."""
    said = environ.get(CAP, "")
    try:
        return int(said) if said else CAP_DEFAULT
    except ValueError:
        return CAP_DEFAULT


def check(home: Home, here: Context, end: TurnEnd) -> Hold | Ended:
    """Check the end of a turn of the joined session `here`."""
    _mark(home, here)
    mail = _mail(home, here.name, end.session)
    notes = (mail.note,) if mail.note else ()
    told_before = _told_in_this_turn(home, end)
    if mail.reason and not 0 < end.cap <= len(told_before):
        hold = _hold(home, end, mail)
        if hold is not None:
            return hold._replace(notes=notes)
    return Ended((*notes, *_pass(home, here, end, told_before)))


def told(home: Home, hold: Hold) -> None:
    """Remember a hold that the session was told of."""
    for made in hold.drafts:
        scratch.settle(home, made)


def untold(home: Home, hold: Hold) -> None:
    """Forget a hold that could not be told."""
    for made in hold.drafts:
        scratch.drop(home, made)


def _mark(home: Home, here: Context) -> None:
    """Stamp `stop_at`, so that no daemon types into the row meanwhile; one that cannot be stamped is missed."""

    def edit(entry: dict[str, Any], now: Stamp) -> dict[str, Any]:
        return {**entry, "stop_at": now}

    stamping.write(home, here.name, here.row, edit, Wait.TOUCH)


def _mail(home: Home, handle: str, session: str) -> _Mail:
    """Look into the inbox: what is new to this session, and what is wrong with it."""
    fault_file, mail_file = f"lock-fault-{handle}.{session}.tick", f"mail-{session}.tick"
    count = inbox.unread(home, handle, most=1)  # one line holds the turn as well as a thousand
    if isinstance(count, inbox.Busy):
        return _Mail(
            "",
            note=f"comm-status-idle: the inbox for @{handle} is being written; "
            "it will be checked again at the next turn end",
        )
    if isinstance(count, inbox.Failed):
        # Not known is not 0: the warning tells the session to look for itself.
        warning, unread, total = inbox.count_failed(handle, count), 0, ""
    else:
        warning, unread, total = count.warning, count.unread, str(count.total)
    reasons: list[str] = []
    memory: list[tuple[str, str]] = []
    if not warning:
        scratch.remove(home, fault_file)  # an episode is over; the next one is told anew
    elif scratch.read(home, fault_file) != warning:
        reasons.append(warning)
        memory.append((fault_file, warning))
    if unread and scratch.read(home, mail_file) != total:
        if warning and not reasons:
            reasons.append(warning)
        reasons.append(f"New sot-comm mail for @{handle} — run comm-poll.sh now, act on it, then end the turn.")
        memory.append((mail_file, total))
    return _Mail("\n".join(reasons), tuple(memory))


def _hold(home: Home, end: TurnEnd, mail: _Mail) -> Hold | None:
    """Return the hold, None when it could not be remembered and the turn was held before: it would be held for ever."""
    drafts = [scratch.draft(home, name, text) for name, text in mail.memory] if end.session else []
    kept = tuple(made for made in drafts if made is not None)
    if end.held_before and len(kept) < len(mail.memory):
        for made in kept:
            scratch.drop(home, made)
        return None
    if end.session and end.transcript:
        # Before it is told: the transcript's reader knows by it that the notice starts no turn.
        notices.tell(home, end.session, mail.reason)
    return Hold(mail.reason, kept)


def _pass(home: Home, here: Context, end: TurnEnd, told_before: list[str]) -> tuple[str, ...]:
    """Stamp the end of the turn, in one write; return what stderr is told."""
    turn = turns.running(home, here.self_file, end.session)
    since = turn.since if turn else ""
    marker = report.marker_of_turn(home, end.transcript, end.last_message, since, told_before)
    said = [Said(marker.verb, marker.text)] if marker else []
    stamped = stamping.say(home, here.name, here.row, [*said, Said(Verb.STOP)], Wait.RULED)
    turns.end(home, here.self_file)
    notices.forget(home, end.session)
    return (stamped.sentence,) if isinstance(stamped, NotWritten) else ()


def _told_in_this_turn(home: Home, end: TurnEnd) -> list[str]:
    """Return why this turn was held so far; what an earlier turn left, which no stop ended, is forgotten."""
    if not end.held_before:
        notices.forget(home, end.session)
        return []
    return notices.told(home, end.session)
