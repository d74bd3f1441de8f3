"""Whether an event is worth a push, how urgent it is, and in which words.

A table, first match wins, decided by the event's kind alone: what a session wrote never makes it more or less urgent,
and what is `ignored` never notifies. An agent within an agent, and a turn that a goal will follow up, stay silent: a
person away from the screen gets one push for a finished turn, never one per sub-agent.
"""

from __future__ import annotations

import os

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import event as events, text

if TYPE_CHECKING:
    from sot_tui.notify.event import Event

SEND = "send"
SILENT = "silent"
BLOCKED = "blocked"
"""A person is asked for something."""
DONE = "done"
"""A turn is over."""
INFO = "info"
"""Neither; nothing that a hook says is."""

NOTHING_SAID = "turn complete"
"""The body of a completion whose assistant said nothing that can be shown."""


class Decision(NamedTuple):
    """What becomes of an event, and why."""

    outcome: str
    urgency: str
    """Empty when nothing is sent."""
    reason: str


class Notice(NamedTuple):
    """One push, ready to be sent."""

    title: str
    body: str
    urgency: str


def decide(event: Event) -> Decision:
    """Return what becomes of an event."""
    if event.agent_id or event.agent_type:
        return _silent("agent context")
    if event.source_event == events.SESSION_END:
        return _silent("session end")
    if event.kind == events.COMPLETION:
        if event.goal_active:
            return _silent("goal active: deferring to built-in /goal")
        return Decision(SEND, DONE, "root completion")
    if event.kind == events.INPUT:
        return Decision(SEND, BLOCKED, _asked(event.notification_type))
    if event.source_event == events.NOTIFICATION:
        return _silent(f"unhandled notification type: {event.notification_type}")
    return _silent(f"unhandled event: {event.source_event}")


def is_claimable(event: Event) -> bool:
    """Tell whether the event is a completion that will be sent and that its pair of identifiers names for good."""
    is_named = bool(event.session_id and event.completion_id)
    return is_named and event.kind == events.COMPLETION and decide(event).outcome == SEND


def notice(event: Event, urgency: str, workspace: str, host: str, label: str = "", composed: str = "") -> Notice:
    """Return the push for an event that is sent; `label` names the session, `composed` is a body made for it."""
    where = host if event.notification_type == events.NEEDS_INPUT else workspace or host
    return Notice(f"{label or project(event.cwd)} · {where}", _body(event, composed), urgency)


def project(cwd: str) -> str:
    """Return the name of the folder a session works in."""
    bare = cwd.rstrip("/")
    if not bare:
        return "/" if cwd else "."
    return os.path.basename(bare)


def _asked(notification_type: str) -> str:
    if notification_type == events.PERMISSION:
        return "permission prompt"
    return "background session needs input" if notification_type == events.NEEDS_INPUT else "elicitation dialog"


def _body(event: Event, composed: str) -> str:
    if event.kind == events.INPUT:
        asks = "needs permission" if event.notification_type == events.PERMISSION else "needs input"
        return event.message or asks
    if composed:
        return text.head(composed, text.COMPOSED_BYTES)
    return text.tail(text.plain(event.assistant), text.MESSAGE_BYTES) or NOTHING_SAID


def _silent(reason: str) -> Decision:
    return Decision(SILENT, "", reason)
