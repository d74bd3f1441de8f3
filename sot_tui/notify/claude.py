"""A Claude Code hook as one prepared event.

Contract, Framing: "In particular, a Claude Stop scans its transcript once". A completion is named by the transcript
alone; what the hook itself says of identity is always discarded, for it may be of another answer. Where the transcript
is not reliable the hook's own texts stand in, and the completion has no name.
"""

from __future__ import annotations

from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.notify import event as events, text, transcript
from sot_tui.notify.event import Event

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.notify.hook import Payload


def prepare(home: Home, payload: Payload) -> Event:
    """Return the event of a payload, unchecked."""
    kind = events.kind_of(events.CLAUDE, payload.hook_event_name, payload.notification_type)
    if payload.hook_event_name == events.STOP:
        return _stop(home, payload)
    is_bare = kind == events.CLEANUP
    return _event(
        payload,
        kind,
        notification_type="" if is_bare else payload.notification_type,
        message="" if is_bare else text.message(payload.message),
    )


def _stop(home: Home, payload: Payload) -> Event:
    found = transcript.scan(home, payload.transcript_path)
    said = (found.user, found.assistant) if found.is_reliable else (payload.message, payload.last_assistant_message)
    user, assistant = text.shared(*said)
    return _event(payload, events.COMPLETION)._replace(
        completion_id=found.completion_id, user=user, assistant=assistant, goal_active=found.goal_active
    )


def _event(payload: Payload, kind: str, *, notification_type: str = "", message: str = "") -> Event:
    return Event(
        version=events.VERSION,
        harness=events.CLAUDE,
        session_id=payload.session_id,
        kind=kind,
        source_event=payload.hook_event_name,
        cwd=payload.cwd,
        completion_id="",  # of what is no completion, an identifier of one says nothing
        user="",
        assistant="",
        notification_type=notification_type,
        message=message,
        agent_id=payload.agent_id,
        agent_type=payload.agent_type,
        goal_active=False,
    )
