"""What stands on a hook's stdin, in either of its two dialects, as one prepared event.

Contract, Framing: "Source adapters prepare this value once." The first JSON value counts and whatever follows does not;
unknown keys are passed over. A refusal says which rule was broken in fixed words and never holds anything of the
payload. Which adapter prepares the event is decided by the harness that speaks, not by the dialect.
"""

from __future__ import annotations

import json

from sot_tui.comm.errors import Refused
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import event as events, text

if TYPE_CHECKING:
    from typing import Any, NoReturn

    from sot_tui.comm.home import Home
    from sot_tui.notify.event import Event

HARNESSES = (events.CLAUDE, events.PI)
SCHEMA_VERSION = 1
"""Of the canonical dialect."""

_STRINGS = (
    "session_id",
    "completion_id",
    "transcript_path",
    "cwd",
    "hook_event_name",
    "notification_type",
    "message",
    "last_assistant_message",
    "agent_id",
    "agent_type",
)
_CANONICAL_EVENTS = {
    events.CLAUDE: frozenset({events.STOP, events.NOTIFICATION, events.SESSION_END}),
    events.PI: frozenset({events.TURN_COMPLETE}),
}


class Unusable(Refused):
    """The payload is none; the sentence names the rule alone."""


class Payload(NamedTuple):
    """What a hook said, checked but for lengths and controls."""

    harness: str
    session_id: str
    completion_id: str
    transcript_path: str
    cwd: str
    hook_event_name: str
    notification_type: str
    message: str
    last_assistant_message: str
    agent_id: str
    agent_type: str


def known_harness(name: str) -> str:
    """Return the harness that was asked for on the command line, if it is one; empty stands for none."""
    if name and name not in HARNESSES:
        raise Unusable("unknown harness")
    return name


def parse(data: bytes, harness: str = "") -> Payload:
    """Return what the bytes of stdin say; raise Unusable for what is no payload of `harness`."""
    said = _first_object(data)
    is_canonical = "schema_version" in said or "harness" in said
    invalid = "invalid canonical payload" if is_canonical else "invalid Claude payload"
    speaks = _canonical_harness(said, harness) if is_canonical else events.CLAUDE
    if not is_canonical and harness == events.PI:
        raise Unusable("Pi payload must be canonical")
    payload = Payload(speaks, *(_string(said, name, invalid) for name in _STRINGS))
    if is_canonical and payload.hook_event_name not in _CANONICAL_EVENTS[speaks]:
        raise Unusable("invalid canonical event")
    if not is_canonical and not (payload.hook_event_name or payload.session_id):
        raise Unusable("unsupported notification type")
    session = payload.session_id
    if not session or session == "." or "/" in session or ".." in session:
        raise Unusable("invalid session_id")
    is_named = events.is_identifier(payload.completion_id)
    if not is_named and (payload.completion_id or speaks == events.PI):
        raise Unusable("invalid completion_id")
    return payload


def prepare(home: Home, payload: Payload) -> Event:
    """Return the event of a payload, its transcript scanned once; raise events.InvalidEvent when it makes none."""
    # Each adapter is loaded only when its harness speaks.
    if payload.harness == events.PI:
        from sot_tui.notify import pi  # noqa: PLC0415

        return events.check(pi.prepare(payload))
    from sot_tui.notify import claude  # noqa: PLC0415

    return events.check(claude.prepare(home, payload))


def _first_object(data: bytes) -> dict[str, Any]:
    try:
        decoded = _leading_text(data).lstrip(" \t\r\n")
        value, _ = json.JSONDecoder(object_pairs_hook=_lenient, parse_constant=_refuse).raw_decode(decoded)
    except (ValueError, RecursionError) as error:
        raise Unusable("not a JSON object") from error
    if not isinstance(value, dict):
        raise Unusable("not a JSON object")
    return value


def _leading_text(data: bytes) -> str:
    """Return the text up to the first byte that is no UTF-8: what comes after the first value does not matter."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        return data[: error.start].decode("utf-8")


def _lenient(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields, an alias in another case as the field itself; the last one wins.

    What says which dialect and whose it is counts only where it is spelled exactly.
    """
    found: dict[str, Any] = {}
    for key, value in pairs:
        plain = key.lower()
        found[plain if plain in _STRINGS else key] = value
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _canonical_harness(said: dict[str, Any], wanted: str) -> str:
    version, speaks = said.get("schema_version"), said.get("harness")
    if type(version) is not int or version != SCHEMA_VERSION or speaks not in HARNESSES:
        raise Unusable("unsupported canonical schema")
    if wanted and wanted != speaks:
        raise Unusable("harness mismatch")
    return str(speaks)


def _string(said: dict[str, Any], name: str, invalid: str) -> str:
    value = said.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Unusable(invalid)
    return text.clean(value)
