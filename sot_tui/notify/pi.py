"""A Pi turn as one prepared event.

Contract, Framing: "Source adapters prepare this value once." Pi names its completions itself and sends the texts along,
so nothing is read here; a path of a transcript, should one be there, is never opened.
"""

from __future__ import annotations

from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.notify import event as events, text
from sot_tui.notify.event import Event

if TYPE_CHECKING:
    from sot_tui.notify.hook import Payload


def prepare(payload: Payload) -> Event:
    """Return the event of a payload, unchecked."""
    user, assistant = text.shared(payload.message, payload.last_assistant_message)
    return Event(
        version=events.VERSION,
        harness=events.PI,
        session_id=payload.session_id,
        kind=events.COMPLETION,
        source_event=payload.hook_event_name,
        cwd=payload.cwd,
        completion_id=payload.completion_id,
        user=user,
        assistant=assistant,
        notification_type="",
        message="",
        agent_id=payload.agent_id,
        agent_type=payload.agent_type,
        goal_active=False,
    )
