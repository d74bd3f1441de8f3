r"""The line a client sends and the line that answers it.

Contract, Framing: "A request is exactly one UTF-8 JSON object followed by \n." and "Unknown, duplicate, conflicting,
or case-aliased keys are rejected." Whatever is wrong, the refusal is one fixed sentence, with nothing of the bytes.
`encode` writes only what `decode` takes back as the same value.
"""

from __future__ import annotations

import json

from sot_tui.comm import jsonline
from sot_tui.comm.errors import Refused
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import event as events
from sot_tui.notify.event import Event

if TYPE_CHECKING:
    from typing import Any

LINE_BYTES = 65536
"""A request with its newline (contract, Framing)."""
ACK_BYTES = 256
"""An acknowledgement with its newline (contract, Acknowledgements)."""
ACCEPTED = "accepted"
DUPLICATE = "duplicate"
REJECTED = "rejected"

_STATUSES = (ACCEPTED, DUPLICATE, REJECTED)
_EVENT_KEYS = frozenset(Event._fields)
_KEYS = frozenset({"event", "workspace"})
_DRY_RUN = "dry_run"


class InvalidFrame(Refused):
    """The bytes are no request."""

    def __init__(self) -> None:
        super().__init__("notify: invalid frame")


class InvalidAck(Refused):
    """The bytes are no acknowledgement."""

    def __init__(self) -> None:
        super().__init__("notify: invalid ack")


class Frame(NamedTuple):
    """One request."""

    event: Event
    """What happened."""
    workspace: str
    """The terminal's session and window in which it happened, `earth:3`; empty when there is none."""
    dry_run: bool = False
    """Whether it is a rehearsal, which sends and claims nothing."""


def decode(line: bytes) -> Frame:
    """Return the request that a whole line is, its newline included; raise InvalidFrame for anything else."""
    fields = _object(line, LINE_BYTES)
    if fields is None or not (_KEYS <= fields.keys() <= _KEYS | {_DRY_RUN}):
        raise InvalidFrame
    said = fields["event"]
    if not isinstance(said, dict) or said.keys() != _EVENT_KEYS:
        raise InvalidFrame
    return _checked(Frame(Event(**said), fields["workspace"], fields.get(_DRY_RUN, False)))


def encode(frame: Frame) -> bytes:
    """Return the line of a request; raise InvalidFrame for one that no daemon would take."""
    _checked(frame)
    fields: dict[str, object] = {"event": frame.event._asdict(), "workspace": frame.workspace}
    if frame.dry_run:
        fields[_DRY_RUN] = True
    line = _compact(fields)
    if len(line) > LINE_BYTES:
        raise InvalidFrame
    return line


def encode_ack(status: str) -> bytes:
    """Return the line that answers a request."""
    return _compact({"version": events.VERSION, "status": status})


def decode_ack(line: bytes) -> str:
    """Return the status that a whole line says, its newline included; raise InvalidAck for anything else."""
    fields = _object(line, ACK_BYTES)
    if fields is None or fields.keys() != {"version", "status"}:
        raise InvalidAck
    version, status = fields["version"], fields["status"]
    if type(version) is not int or version != events.VERSION or status not in _STATUSES:
        raise InvalidAck
    return str(status)


def _object(line: bytes, limit: int) -> dict[str, Any] | None:
    if len(line) > limit or line.find(b"\n") != len(line) - 1:
        return None
    try:
        return jsonline.decode_object(line, unique_keys=True)
    except jsonline.NotStrict:
        return None


def _checked(frame: Frame) -> Frame:
    if not events.is_metadata(frame.workspace, events.ID_BYTES) or type(frame.dry_run) is not bool:
        raise InvalidFrame
    try:
        events.check(frame.event)
    except events.InvalidEvent as error:
        raise InvalidFrame from error
    return frame


def _compact(fields: dict[str, object]) -> bytes:
    # Control characters are escaped, nothing else: the longest legal request stays below the limit of a line.
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
