"""The message frame: written as `jq -c` writes it, read for display, and counted by the one rule.

Contract, Message frame: one object per line, `{"from","to","repo","msg","ts"}`. `to` equal to the handle is directed
mail and counts as unread; "" is a broadcast copy, never counted. A line whose `to` is missing, not a string or another
handle's, or whose `from` is this handle, is shown at the next poll and never counted. Reading never raises, whatever a
line holds.
"""

from __future__ import annotations

import json
import re

from sot_tui.comm.jsonline import NotStrict, decode_like_jq, decode_object
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


class Frame(NamedTuple):
    """One line of an inbox as it is shown: each field as text, "" where the line has none."""

    sender: str
    """Who sent it (`from`)."""
    to: str | None
    """The handle it was sent to, "" for a broadcast copy, None when the line names none by a string."""
    repo: str
    """The sender's project."""
    msg: str
    """The message; it may hold any character but NUL."""
    ts: str
    """When it was filed, as the line says it."""


def frame(sender: str, to: str, repo: str, msg: str, ts: str) -> bytes:
    """Return one inbox line with its newline; what is no text (a lone surrogate, a byte that was not UTF-8) is U+FFFD.

    An empty `to` makes a broadcast copy.
    """
    return utf8(_compact({"from": sender, "to": to, "repo": repo, "msg": msg, "ts": ts})) + b"\n"


def parse_line(line: bytes) -> Frame | None:
    """Return what a line (its newline does not matter) shows, or None when it is not a JSON object.

    Read as jq reads it, NUL bytes left out: every line that can be counted is shown, and some more. A missing, null or
    false field is ""; a field that is no text is shown as compact JSON.
    """
    found = decode_like_jq(line.replace(b"\0", b""))
    if not isinstance(found, dict):
        return None
    to = found.get("to")
    return Frame(
        _text(found.get("from")),
        _text(to) if isinstance(to, str) else None,
        _text(found.get("repo")),
        _text(found.get("msg")),
        _text(found.get("ts")),
    )


def shown(line: bytes) -> bytes | None:
    """Return what poll prints for a line, with one newline at its end, or None for a line that is skipped."""
    found = parse_line(line)
    if found is None:
        return None
    text = f"[{found.ts}] [{found.sender}:{found.repo}] {found.msg}"
    return utf8(text.rstrip("\n")) + b"\n"


def counts(line: bytes, handle: str) -> bool:
    """Tell whether a line past the cursor is unread mail of `handle`: directed to it, by someone else, strict JSON."""
    if handle.encode() not in line and b"\\u" not in line:
        return False  # most lines of other kinds end here, before the parser
    try:
        found = decode_object(line)
    except NotStrict:
        return False
    return found.get("to") == handle and found.get("from") != handle


def _compact(value: Any) -> str:
    # jq escapes DEL like the other control characters, the standard encoder does not.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("\x7f", "\\u007f")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.replace("\0", "")
    if value is None or value is False:
        return ""
    return _compact(value)


def utf8(text: str) -> bytes:
    """Return a text's bytes; what is no text (a lone surrogate, a byte that was not UTF-8) is U+FFFD."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode("utf-8")
