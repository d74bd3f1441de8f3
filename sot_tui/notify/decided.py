"""What one line of the decision log says came of an event: the one rule for everybody who reads that log.

Contract, Failure semantics: "Logs contain fixed status/error categories". A rehearsal went to nobody and is never told
as a push. The log is any process's to write, so what is no decision says nothing, and every word of one is foreign.
"""

from __future__ import annotations

from enum import Enum

from sot_tui.comm import jsonline
from sot_tui.comm.light import NamedTuple
from sot_tui.notify import decide, decision_log


class Came(Enum):
    """What came of an event; the value says it to a person."""

    UNPUSHED = "no push"
    REHEARSED = "rehearsed"
    SENT = "sent"
    FAILED = "not delivered"
    HELD_BACK = "held back"


class Decided(NamedTuple):
    """One decision."""

    came: Came
    at: str
    """When, as the log says it; empty when it does not."""
    harness: str
    event: str
    title: str
    """Empty when nothing was to be pushed."""
    reason: str
    """Why, without what came of it."""


def of_line(line: bytes) -> Decided | None:
    """Return what a line says; None for what is no decision, as the end of a line is whose start was not read."""
    try:
        said = jsonline.decode_object(line)
    except jsonline.NotStrict:
        return None
    words = [said.get(name) for name in ("harness", "event", "outcome", "reason")]
    if not all(isinstance(word, str) for word in words):
        return None
    harness, event, outcome, reason = map(str, words)
    at, title = (value if isinstance(value := said.get(name), str) else "" for name in ("time", "title"))
    came, reason = _came(outcome, reason)
    # Who wrote a completion's line may be the notifier whose place this one takes: it knows the category alone.
    if said.get(decision_log.DRY_RUN) is True or said.get("composition_error") == decision_log.REHEARSAL:
        came = Came.REHEARSED
    return Decided(came, at, harness, event, title if outcome == decide.SEND else "", reason)


def moment(at: str) -> float | None:
    """Return a moment of the log in seconds since the epoch; None for what is none."""
    from datetime import UTC, datetime  # noqa: PLC0415  (only who follows the log asks)

    try:
        found = datetime.fromisoformat(at)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _came(outcome: str, reason: str) -> tuple[Came, str]:
    if outcome != decide.SEND:
        return Came.UNPUSHED, reason
    for ending, came in ((decision_log.NOT_SENT, Came.FAILED), (decision_log.HELD_BACK, Came.HELD_BACK)):
        if reason.endswith(ending):
            return came, reason.removesuffix(ending)
    return Came.SENT, reason
