"""One pass over a Claude transcript: goal state, identity of the last answer, and the latest words of both sides.

Contract, Framing: "a Claude Stop scans its transcript once to capture goal state, reliable completion identity, and the
latest user and assistant text". The file is foreign and may be anything: it is read as a stream, a line at a time, in
bounded memory and bounded time, and whatever is not understood makes the identity unreliable, never a guess. Nothing
here is ever read a second time.
"""

from __future__ import annotations

import json
import os
import re

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import event as events, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sot_tui.comm.home import Home

LINE_BYTES = 10 * 1024 * 1024
"""A line of this length ends the scan; no record of a session comes near it."""
ASSISTANT_BYTES = 2000
"""What is kept of the assistant's last text: its end."""
USER_BYTES = 8192
"""What is kept of the user's last text: more than this is never sent."""
SCAN_SECS = 20.0
"""A scan that takes longer is given up: a hook has 90 seconds for everything."""

_CHUNK = 1 << 16
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


class Scanned(NamedTuple):
    """What one pass found."""

    goal_active: bool = False
    """Whether a goal will follow the turn up; what was seen of it counts even when the scan broke off."""
    completion_id: str = ""
    """The name of the last answer; empty when it is not reliable."""
    user: str = ""
    assistant: str = ""

    @property
    def is_reliable(self) -> bool:
        """Tell whether identity and texts can be taken from here."""
        return bool(self.completion_id)


class _Void(Exception):
    """The line is not the record it should be."""


def scan(home: Home, path: str) -> Scanned:
    """Return what the transcript at `path` says; one that is absent or cannot be read says nothing reliable."""
    seen = _Seen()
    if not path or "\0" in path:
        return Scanned()
    deadline = home.clock.monotonic() + SCAN_SECS
    try:
        descriptor = _open(home, path)
        try:
            for line in _lines(home, descriptor):
                if line is None or home.clock.monotonic() > deadline:
                    return Scanned(seen.goal_active)
                seen.take(line)
        finally:
            home.disk.close(descriptor)
    except (OSError, ValueError):
        return Scanned(seen.goal_active)
    if not seen.reliable:
        return Scanned(seen.goal_active)
    return Scanned(seen.goal_active, seen.uuid or seen.message_id, seen.user, seen.assistant)


def _open(home: Home, path: str) -> int:
    """Open the file; a link is followed only to a file of its own folder, and nothing is waited for."""
    try:
        target = os.readlink(path)
    except OSError:
        target = ""  # no link, or nothing at all, which the open tells
    if target and (os.path.isabs(target) or os.path.normpath(target).startswith("..")):
        raise OSError("a link that leaves its folder")
    return home.disk.open(path, os.O_RDONLY)


def _lines(home: Home, descriptor: int) -> Iterator[bytes | None]:
    """Yield each line without its end; None, as the last one, for a line that is too long."""
    parts: list[bytes] = []
    held = offset = 0
    while chunk := home.disk.read_at(descriptor, _CHUNK, offset):
        offset += len(chunk)
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            if held + len(piece) >= LINE_BYTES:
                yield None
                return
            yield b"".join((*parts, piece)).removesuffix(b"\r")
            parts, held = [], 0
        parts.append(rest)
        held += len(rest)
        if held >= LINE_BYTES:
            yield None
            return
    if held:
        yield b"".join(parts).removesuffix(b"\r")


class _Seen:
    """What the lines so far say; the latest word on each thing counts."""

    def __init__(self) -> None:
        self.goal_active = False
        self.reliable = False
        self.uuid = ""
        self.message_id = ""
        self.user = ""
        self.assistant = ""

    def take(self, line: bytes) -> None:
        """Take one line in."""
        if not line.strip():
            return
        said = line.decode("utf-8", "replace")
        is_whole = "\ufffd" not in said or said.encode() == line
        try:
            record = json.loads(said)
            if record is not None:
                self._record(record, is_whole=is_whole)
        except (ValueError, RecursionError, _Void):
            self.reliable = False

    def _record(self, record: Any, *, is_whole: bool) -> None:
        if not isinstance(record, dict):
            raise _Void
        kind = _of_type(record, "type", str, "")
        is_meta = _of_type(record, "isMeta", bool, False)
        message = _of_type(record, "message", dict, {})
        role = _of_type(message, "role", str, "")
        if not is_whole:
            self.reliable = False
        if kind == "attachment":
            self._goal(record.get("attachment"))
        content = message.get("content")
        if role == "assistant":
            self.uuid = _identifier(record.get("uuid")) if is_whole else ""
            self.message_id = _identifier(message.get("id")) if is_whole else ""
            self.reliable = bool(self.uuid or self.message_id)
            self.assistant = text.kept_tail(_texts(content), ASSISTANT_BYTES) or self.assistant
        elif role == "user":
            self.reliable = False
            if not is_meta:
                self.user = _asked(content) or self.user

    def _goal(self, attachment: object) -> None:
        if not isinstance(attachment, dict) or attachment.get("type") != "goal_status":
            return
        sentinel, met, failed = (_of_type(attachment, name, bool, False) for name in ("sentinel", "met", "failed"))
        self.goal_active = not met and (sentinel or not failed)


def _of_type(record: dict[str, Any], name: str, kind: type, otherwise: Any) -> Any:
    """Return a field, or what stands for one that is absent or null; one of another type voids the record."""
    value = record.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, kind):
        raise _Void
    return value


def _identifier(value: object) -> str:
    return value if isinstance(value, str) and events.is_identifier(value) else ""


def _blocks(content: object) -> list[dict[str, Any]]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _texts(content: object) -> str:
    words = (block.get("text") for block in _blocks(content) if block.get("type") == "text")
    return text.clean("".join(word for word in words if isinstance(word, str)))


def _asked(content: object) -> str:
    """Return a person's own words; what a tool answered and what the harness put in are none."""
    if isinstance(content, str):
        said = text.clean(content)
    elif any(block.get("type") == "tool_result" for block in _blocks(content)):
        return ""
    else:
        said = _texts(content)
    said = _REMINDER.sub("", said).strip(text.WHITE)
    return "" if said.startswith("<") else text.kept_tail(said, USER_BYTES)
