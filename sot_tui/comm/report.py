"""The report marker: the line by which a session says how its turn ends, found in the turn's text.

Contract, Waking: the row is stamped "from the last marker anywhere in the turn: the check's own held-turn notices do
not start a new turn". A line that opens `SITREP:` says done, `SITREP-QUESTION:` that the user has to answer,
`SITREP-WAITING:` that something else is waited for. The turn is read from the end of the agent's transcript backwards,
in bounded steps; what stands before the turn never counts, and a line that cannot be read is passed over.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from sot_tui.comm.facts import Verb
from sot_tui.comm.jsonline import decode_like_jq
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.notices import is_notice
from sot_tui.comm.text import LINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from sot_tui.comm.home import Home

TRANSCRIPT_LIMIT = 32 << 20
"""Bytes of a transcript that are read, from its end; of a longer turn only the end is looked through."""
_BLOCK = 1 << 18
"""Bytes of the first look backwards; each further one is twice as long."""

_WORD = b"SITREP"
_MARKER = re.compile(r"^[ \t#*_]*SITREP(|-QUESTION|-WAITING):[ \t]*(.*)$", re.MULTILINE)
_VERBS = {"": Verb.DONE, "-QUESTION": Verb.BLOCKED, "-WAITING": Verb.WAITING}
_HALF = re.compile("[\ud800-\udfff]")


class Marker(NamedTuple):
    """What a turn says of its end."""

    verb: Verb
    text: str | None
    """The marker's text; None when it stands alone, with nothing behind it."""


class _Entry(NamedTuple):
    """One message of a transcript."""

    role: str
    text: str
    time: str
    """When it was written, as a stamp; empty when the transcript does not say."""
    starts_turn: bool


def marker_in(text: str) -> Marker | None:
    """Return the last marker in a message.

    A marker may be dressed as a heading or in bold. One that stands alone takes the next line with text.
    """
    last = None
    for last in _MARKER.finditer(text):  # noqa: B007  (the last one is wanted)
        pass
    if last is None:
        return None
    said = last[2].rstrip(" \t\r*")
    if not said:
        said = next((line.strip() for line in text[last.end() :].splitlines() if line.strip()), "")
    said = _HALF.sub("\ufffd", said)
    if len(said) > LINE_LIMIT:
        said = said[: LINE_LIMIT - 1] + "…"
    return Marker(_VERBS[last[1]], said or None)


def marker_of_turn(home: Home, transcript: str, last_message: str, since: str, notices: Sequence[str]) -> Marker | None:
    """Return the last marker of the turn that is about to end.

    `last_message` is what the agent says it said last; the transcript may not have it yet. `since` is when the turn
    began, as a stamp, where that is known. `notices` are the reasons for which this turn was held before.
    """
    found = marker_in(last_message)
    if found is not None or not transcript:
        return found
    for line in _lines_from_the_end(home, transcript):
        if _WORD not in line and not _may_start_a_turn(line):
            continue
        entry = _entry(line, notices)
        if entry is None:
            continue
        if entry.time and since and entry.time < since:
            return None
        if entry.starts_turn:
            return None
        if entry.role == "assistant" and (found := marker_in(entry.text)) is not None:
            return found
    return None


# -- the transcript -------------------------------------------------------------------------------------------------


def _may_start_a_turn(line: bytes) -> bool:
    """Tell, before it is parsed, whether a line may be a prompt; most long ones are what a tool gave back.

    The quotation marks tell keys and whole values from quoted text, where a backslash stands before them.
    """
    return b'"user"' in line and b'"tool_result"' not in line


def _entry(line: bytes, notices: Sequence[str]) -> _Entry | None:
    """Return a line of Claude Code's or Codex's transcript as a message, None for anything else."""
    record = decode_like_jq(line)
    if not isinstance(record, dict) or record.get("isSidechain") is True:
        return None
    message = record.get("message") if record.get("type") in {"user", "assistant"} else record.get("payload")
    if not isinstance(message, dict):
        return None
    role = message.get("role")
    text = _text_of(message.get("content"))
    if role not in {"user", "assistant"} or text is None:
        return None
    time = record.get("timestamp")
    # Claude Code marks what no person typed, and the summary that replaces what a full context held, in mid-turn too.
    aside = record.get("isMeta") is True or record.get("isCompactSummary") is True or is_notice(text, notices)
    return _Entry(role, text, f"{time[:19]}Z" if isinstance(time, str) else "", role == "user" and not aside)


def _text_of(content: Any) -> str | None:
    """Return the text of a message; None when it is what a tool gave back."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = []
    for part in content:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "tool_result":
            return None
        if isinstance(said := part.get("text"), str):
            texts.append(said)
    return "\n".join(texts)


def _lines_from_the_end(home: Home, path: str) -> Iterator[bytes]:
    """Yield the lines of a file, the last one first, as far back as the bound; nothing when it cannot be read."""
    disk = home.disk
    try:
        descriptor = disk.open(path, os.O_RDONLY)
    except (OSError, ValueError):
        return
    try:
        end = disk.size(descriptor)
        bound = max(0, end - TRANSCRIPT_LIMIT)
        block, rest = _BLOCK, b""
        while end > bound:
            start = max(bound, end - block)
            first, *lines = (disk.read_at(descriptor, end - start, start) + rest).split(b"\n")
            yield from reversed(lines)
            end, rest, block = start, first, block * 2
        if not end:
            yield rest
    except OSError:
        return
    finally:
        with suppress(OSError):  # nothing was written
            disk.close(descriptor)
