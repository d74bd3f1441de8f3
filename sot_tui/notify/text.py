"""The words of a notification: how much is kept, which end, and what of their markup goes.

Contract, Framing: user and assistant text "share an 8192-byte UTF-8 budget with 4096-byte reservations that donate
unused space to the other side; truncation keeps rune-safe tails", and an input message "is normalized plain text of at
most 160 bytes". Limits count UTF-8 bytes, and no cut ever falls inside a character. Every rule here ends on every
input, and what `plain` returns is its own plain text: it is repeated until nothing changes.
"""

from __future__ import annotations

import re
import unicodedata

from sot_tui.comm import jsonline
from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BUDGET_BYTES = 8192
"""User and assistant text together (contract, Framing)."""
RESERVED_BYTES = 4096
"""What each of the two may use whatever the other does (contract, Framing)."""
MESSAGE_BYTES = 160
"""An input message, and the body of a completion that nobody composed (contract, Framing)."""
COMPOSED_BYTES = 200
"""A composed body."""
ELLIPSIS = "…"

WHITE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
"""Unicode's White_Space; `str.strip` would take U+001C to U+001F for it too."""

_READ_BYTES = 8192
"""Bytes of one text whose markup is looked at: far more than is ever shown, and little enough to be done at once."""
_OPENS_AFTER = "([{>\"'"
_CLOSES_AFTER = ".,;:!?)]}\"'"
_MARKERS = ("**", "__", "~~", "*", "_")
_LEADING = re.compile(rf"(?:(?:>|#{{1,6}}(?=[ \t\n\v\f\r])|[-*+](?=[{WHITE}])|[0-9]+[.)](?=[{WHITE}]))[{WHITE}]*)*")
_HALF = re.compile("[\ud800-\udfff]")
_WHITE_RUN = re.compile(rf"[{WHITE}]+")
_CONTROLS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")


def size(text: str) -> int:
    """Return how many bytes `text` is in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def clean(text: str) -> str:
    """Return `text` with each half of a surrogate pair, which is no character, as U+FFFD."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def has_control(text: str) -> bool:
    """Tell whether there is a control character (Unicode category Cc) in `text`."""
    return any(char < " " or "\x7f" <= char < "\xa0" for char in text)


def kept_tail(text: str, limit: int) -> str:
    """Return the last `limit` bytes of `text`; a character that the cut falls into is dropped."""
    data = text.encode("utf-8")
    return text if len(data) <= limit else data[len(data) - limit :].decode("utf-8", "ignore") if limit else ""


def kept_head(text: str, limit: int) -> str:
    """Return the first `limit` bytes of `text`; a character that the cut falls into is dropped."""
    data = text.encode("utf-8")
    return text if len(data) <= limit else data[:limit].decode("utf-8", "ignore")


def shared(user: str, assistant: str) -> tuple[str, str]:
    """Return the tails of both that fit into the common budget; what one leaves unused the other may take."""
    for_user = BUDGET_BYTES - min(size(assistant), RESERVED_BYTES)
    for_assistant = BUDGET_BYTES - min(size(user), RESERVED_BYTES)
    return kept_tail(user, for_user), kept_tail(assistant, for_assistant)


def head(text: str, limit: int) -> str:
    """Return the beginning of `text` within `limit` bytes, cut at a word and ended by an ellipsis when it is longer."""
    return _shortened(text, limit, _words_first)


def tail(text: str, limit: int) -> str:
    """Return the end of `text` within `limit` bytes, cut at a word and begun by an ellipsis when it is longer."""
    return _shortened(text, limit, _words_last)


def _shortened(text: str, limit: int, cut: Callable[[str, int], str]) -> str:
    if size(text) <= limit:
        return text
    room = limit - size(ELLIPSIS)
    return cut(text, room) if room >= 1 else ELLIPSIS


def _words_first(text: str, room: int) -> str:
    cut = kept_head(text, room)
    space = cut.rfind(" ")
    return (cut[:space] if space > 0 else cut).rstrip(" ") + ELLIPSIS


def _words_last(text: str, room: int) -> str:
    cut = kept_tail(text, room)
    space = cut.find(" ")
    return ELLIPSIS + (cut[space + 1 :] if 0 <= space < len(cut) - 1 else cut).lstrip(" ")


def message(text: str) -> str:
    """Return an input's message: plain text of at most 160 bytes, which would be returned again as it is."""
    text = _readable(text)
    while True:
        once = head(_plain_once(text), MESSAGE_BYTES)
        if once == text:
            return once
        text = once


def is_message(text: str) -> bool:
    """Tell whether `text` is what `message` returns for some text."""
    return size(text) <= MESSAGE_BYTES and head(_plain_once(text), MESSAGE_BYTES) == text


def plain(text: str) -> str:
    """Return `text` as one line without markup; markup that only shows once other markup is gone goes too.

    Each round that changes something leaves fewer characters, or fewer that are neither a letter nor a blank.
    """
    text = _readable(text)
    while True:
        once = _plain_once(text)
        if once == text:
            return once
        text = once


def _readable(text: str) -> str:
    text = text.encode("utf-8", "ignore").decode("utf-8")
    if size(text) <= _READ_BYTES:
        return text
    return "" if _is_json(text) else kept_head(text, _READ_BYTES)


def _plain_once(text: str) -> str:
    if _is_json(text):
        return ""
    line = _WHITE_RUN.sub(" ", " ".join(_plain_lines(text)))
    return "" if _is_json(line) else line


def _plain_lines(text: str) -> Iterator[str]:
    for raw in text.split("\n"):
        line = raw.strip(WHITE)
        if not line or line.startswith(("```", "~~~")):
            continue  # a fence goes, what it holds stays
        leading = _LEADING.match(line)
        line = _without_links(line[leading.end() if leading else 0 :].strip(WHITE)).replace("`", "")
        for marker in _MARKERS:
            if marker in line:
                line = _without_pairs(line, marker)
        line = line.translate(_CONTROLS).strip(WHITE)
        if line:
            yield line


def _is_json(text: str) -> bool:
    """Tell whether the whole text is an object or an array: data, which is nothing to read."""
    text = text.strip(WHITE)
    if len(text) < 2 or text[0] not in "{[":
        return False
    try:
        jsonline.decode(text.encode("utf-8"))
    except jsonline.NotStrict:
        return False
    return True


def _without_links(line: str) -> str:
    parts: list[str] = []
    at = 0
    while True:
        opened = line.find("[", at)
        middle = line.find("](", opened + 1) if opened >= 0 else -1
        closed = line.find(")", middle + 2) if middle >= 0 else -1
        if closed < 0:
            return "".join((*parts, line[at:]))
        is_image = opened > at and line[opened - 1] == "!"
        parts += (line[at : opened - is_image], line[opened + 1 : middle])
        at = closed + 1


def _without_pairs(line: str, marker: str) -> str:
    """Return the line without the pairs of one marker that stand around words.

    A marker that opens and is never closed leaves the line as it is: so a text of openers alone comes to an end.
    """
    marks = "".join(char for char in set(line) if unicodedata.category(char).startswith("P"))
    closer = re.compile(rf"(?<=[^{WHITE}]){re.escape(marker)}(?=\Z|[{WHITE}{re.escape(marks)}])")
    at = line.find(marker)
    while at >= 0:
        after = at + len(marker)
        if not _opens(line, at, after) or _is_technical(line, at, marker):
            at = line.find(marker, at + 1)
            continue
        closed = closer.search(line, after)
        if closed is None:
            return line
        line = line[:at] + line[after : closed.start()] + line[closed.end() :]
        at = line.find(marker, at)
    return line


def _opens(line: str, at: int, after: int) -> bool:
    followed = after < len(line) and line[after] not in WHITE
    return followed and (at == 0 or line[at - 1] in WHITE or line[at - 1] in _OPENS_AFTER)


def _is_technical(line: str, at: int, marker: str) -> bool:
    """Tell whether the marker belongs to a name, a path or a pattern (`__init__.py`, `**/*.ts`)."""
    first = at
    while first > 0 and line[first - 1] not in WHITE:
        first -= 1
    end = _WHITE_RUN.search(line, at)
    token = line[first : end.start() if end else len(line)].rstrip(_CLOSES_AFTER)
    if len(token) > 2 * len(marker) and token.startswith(marker) and token.endswith(marker):
        return not any(char.isalnum() for char in token[len(marker) : -len(marker)])
    return any(sign in token for sign in "/\\.")
