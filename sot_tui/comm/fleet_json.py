"""The fleet as JSON names its parts (docs/json.md): what `--json` prints, and what a daemon answers.

State, need and reasons are `comm.fleet`'s, which the nav asks too; nothing is decided here. A key is never left out:
what is not known is null, and a number that could not be counted is null as well, never 0.
"""

from __future__ import annotations

from sot_tui.comm import fleet as rules
from sot_tui.comm.clock import stamp
from sot_tui.comm.fleet import LockPhase, MailCount
from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from sot_tui.comm.fleet import Agent, Fleet, LockState, Mail, Need, RowSeen

_VERSION_LIMIT = 1 << 53
"""What is above it, no reader of JSON need hold exactly; no protocol has such a version."""


def fleet_object(fleet: Fleet, now: float) -> dict[str, Any]:
    """Return a fleet as JSON has it: who needs the person first, every line in the nav's order."""
    counted = rules.counts(fleet, now)
    version = fleet.registry.version
    known = isinstance(version, int) and not isinstance(version, bool) and abs(version) < _VERSION_LIMIT
    return {
        "home": fleet.home,
        "host": fleet.host,
        "operator": fleet.operator or None,
        "at": stamp(now),
        "protocol_version": version if known else None,
        "counts": {
            "needs_you": counted.needs,
            "mail": counted.mail if fleet.mail_of(fleet.operator).trust is MailCount.COUNTED else None,
            **{state.value: number for state, number in counted.by_state.items()},
            "working?": counted.doubted,
        },
        "needs_you": [need_object(wanted) for wanted in rules.needs_you(fleet, now)],
        "registry_lock": _lock_object(fleet.lock, now),
        "agents": [
            agent_object(fleet, one, now) for key in rules.order(fleet, now) if (one := rules.line_of(fleet, key))
        ],
    }


def agent_object(fleet: Fleet, one: Agent, now: float) -> dict[str, Any]:
    """Return one line of the nav as JSON has it; a row without an entry has no handle."""
    row = rules.row_of(fleet, one)
    shown = rules.derive(fleet, one, now)
    wanted = rules.need(fleet, one, now)
    return {
        "handle": None if one.label else one.handle,
        "host": one.host or None,
        "here": rules.is_here(fleet, one),
        "state": shown.state.value,
        "word": shown.word,
        "summary": shown.summary,
        "doubtful": shown.doubtful,
        "since": _moment(shown.since),
        "age_s": _age(shown.since, now),
        "needs_you": wanted.why.name.lower() if wanted else None,
        "set_aside": rules.is_set_aside(fleet, one),
        "live": rules.is_live(fleet, one, now),
        "last_seen": one.last_seen or None,
        "done": one.done,
        "fact": one.fact or None,
        "turn_by": one.by or None,
        "mail": _mail_object(fleet.mail_of(one.handle)),
        "row": one.workspace_id or (row.id if row else None),
        "run": _run_object(row),
        "repo": one.repo or None,
        "root": one.root or None,
        "expertise": list(one.expertise),
    }


def _run_object(row: RowSeen | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        "label": row.label,
        "program": rules.program_of(row),
        "phase": row.phase,
        "ended": row.ended or None,
        "error": row.error or None,
    }


def need_object(wanted: Need) -> dict[str, Any]:
    """Return one thing that needs the person as JSON has it."""
    return {
        "kind": wanted.why.name.lower(),
        "handle": wanted.handle or None,
        "words": wanted.why.value,
        "since": _moment(wanted.since),
    }


def _mail_object(mail: Mail) -> dict[str, Any]:
    return {
        "counted": mail.trust is MailCount.COUNTED,
        "unread": _number(mail),
        "waiting": mail.waiting,
        "oldest": mail.oldest or None,
        "words": mail.words or (None if mail.trust is MailCount.COUNTED else mail.trust.value),
    }


def _lock_object(lock: LockState, now: float) -> dict[str, Any]:
    held = lock.phase is not LockPhase.FREE
    return {
        "state": lock.phase.value,
        "record": lock.record or None,
        "holder": lock.holder or None,
        "age_s": int(lock.held_s(now)) if held else None,
        "dead": lock.dead,
        "verdict": lock.verdict or None,
        "recovery": lock.recovery or None,
    }


def _number(mail: Mail) -> int | None:
    return mail.unread if mail.trust is MailCount.COUNTED else None


def _moment(at: float | None) -> str | None:
    return None if at is None else stamp(at)


def _age(since: float | None, now: float) -> int | None:
    return None if since is None else max(0, int(now - since))
