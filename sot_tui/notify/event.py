"""One prepared event: what a hook's words become once, and what daemon and fallback work from alike.

Contract, Framing: "Source adapters prepare this value once", and "Metadata rejects control characters." The rules of
the shape stand here alone; the frame's decoder, its encoder and the adapters call them. An event that passed `check` is
never changed, and says of itself no more than its fourteen fields: no environment, no path of a transcript, no hook.
"""

from __future__ import annotations

from sot_tui.comm.errors import Refused
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import text

if TYPE_CHECKING:
    from typing import Final

VERSION = 1
"""`event.version`, which versions the request (contract, Framing)."""
CLAUDE: Final = "claude-code"
PI: Final = "pi"
COMPLETION: Final = "completion"
INPUT: Final = "input"
CLEANUP: Final = "cleanup"
IGNORED: Final = "ignored"
STOP: Final = "Stop"
TURN_COMPLETE: Final = "TurnComplete"
NOTIFICATION: Final = "Notification"
SESSION_END: Final = "SessionEnd"
PERMISSION: Final = "permission_prompt"
ELICITATIONS = frozenset({"elicitation_dialog", "elicitation_url_dialog"})
NEEDS_INPUT: Final = "agent_needs_input"
ASKING = ELICITATIONS | {PERMISSION, NEEDS_INPUT}
"""The notification types with which an agent asks for a person."""

ID_BYTES = 256
"""Session, completion and agent identifiers, and the workspace (contract, Framing)."""
CWD_BYTES = 4096
"""The working folder (contract, Framing)."""
WORD_BYTES = 128
"""Source event and notification type (contract, Framing)."""


class InvalidEvent(Refused):
    """The fields make no event; the sentence is fixed and holds nothing of them."""

    def __init__(self) -> None:
        super().__init__("notify: invalid prepared event")


class Event(NamedTuple):
    """What happened in an agent's session, in the order of the wire."""

    version: int
    harness: str
    session_id: str
    kind: str
    source_event: str
    cwd: str
    completion_id: str
    user: str
    assistant: str
    notification_type: str
    message: str
    agent_id: str
    agent_type: str
    goal_active: bool


def kind_of(harness: str, source_event: str, notification_type: str) -> str:
    """Return the kind that a harness's own event is of."""
    if harness == PI:
        return COMPLETION if source_event == TURN_COMPLETE else IGNORED
    if source_event == STOP:
        return COMPLETION
    if source_event == NOTIFICATION and notification_type in ASKING:
        return INPUT
    return CLEANUP if source_event == SESSION_END else IGNORED


def is_identifier(value: str) -> bool:
    """Tell whether `value` can name a session or a completion: 1 to 256 bytes, no control character."""
    return bool(value) and is_metadata(value, ID_BYTES)


def is_metadata(value: object, limit: int) -> bool:
    """Tell whether `value` is text of at most `limit` bytes, without a control character or half a surrogate pair."""
    return isinstance(value, str) and _is_text(value) and text.size(value) <= limit and not text.has_control(value)


def check(event: Event) -> Event:
    """Return the event, whose every field has its type, its limit and its place in the shape; else InvalidEvent."""
    if not (_has_fields(event) and _has_shape(event)):
        raise InvalidEvent
    return event


def _has_fields(event: Event) -> bool:
    limits = (
        (event.harness, WORD_BYTES),
        (event.kind, WORD_BYTES),
        (event.source_event, WORD_BYTES),
        (event.notification_type, WORD_BYTES),
        (event.session_id, ID_BYTES),
        (event.completion_id, ID_BYTES),
        (event.agent_id, ID_BYTES),
        (event.agent_type, ID_BYTES),
        (event.cwd, CWD_BYTES),
    )
    return (
        _is_exactly(event.version, VERSION)
        and (_is_exactly(event.goal_active, True) or _is_exactly(event.goal_active, False))
        and all(is_metadata(value, limit) for value, limit in limits)
        and _is_text(event.user)
        and _is_text(event.assistant)
        and text.size(event.user) + text.size(event.assistant) <= text.BUDGET_BYTES
        and _is_text(event.message)
        and text.is_message(event.message)
    )


def _has_shape(event: Event) -> bool:
    if event.harness not in {CLAUDE, PI} or not event.source_event:
        return False
    # The event itself says what kind it is; a label that says otherwise is no event.
    if event.kind != kind_of(event.harness, event.source_event, event.notification_type):
        return False
    if event.kind == COMPLETION:
        is_bare = not event.notification_type and not event.message
        return is_bare and not (event.harness == PI and event.goal_active)
    if event.completion_id or event.user or event.assistant or event.goal_active:
        return False
    return event.kind != CLEANUP or not (event.notification_type or event.message)


def _is_exactly(value: object, wanted: object) -> bool:
    return type(value) is type(wanted) and value == wanted  # True is 1, and so is 1.0


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
