"""One JSON value from bytes, read strictly or as jq reads it.

Contract, Message frame: a line that is not strict JSON (invalid UTF-8, a byte-order mark, NaN, a number out of range,
nesting past 127) may be counted by the shell and not by the wake. `decode` is the strict reader, the one that counts;
`decode_like_jq` is the one that shows, so that no line the shell would show stays unseen. No JSON library refuses a
duplicate key, and the standard one takes a byte-order mark, NaN and lone surrogates, so the strict reader is built
here. It must never take bytes that a second reader could read otherwise, nor raise anything but `NotStrict`.
"""

from __future__ import annotations

import json
import math

from sot_tui.comm.errors import Refused
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.text import ACTING

if TYPE_CHECKING:
    from typing import Any, NoReturn

DEPTH_LIMIT = 127
"""Arrays and objects within one another, at most (contract, Message frame: "nesting past 127")."""

SHOWN_DEPTH_LIMIT = 256
"""The same of a line that is shown; jq reads so many, and a reader that counted on its stack would take another number
each time."""

_DIGITS_IN_RANGE = 308
"""An integer of no more digits than this is below the largest double, so it needs no look."""


class NotStrict(Refused):
    """The bytes are not one strict JSON value; the sentence says what is wrong with them."""


def decode(data: bytes, *, unique_keys: bool = False) -> Any:
    """Return the one value in `data`, a line without its newline; raise NotStrict for what is not strict JSON.

    With `unique_keys` an object that names a key twice is refused too; without, the last one wins, as in every reader
    of an inbox.
    """
    try:
        # Decoded to a str first, so that a byte-order mark or UTF-16 is an error.
        value = (_STRICT_UNIQUE if unique_keys else _STRICT).decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise NotStrict("not UTF-8") from error
    except json.JSONDecodeError as error:
        raise NotStrict(f"not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise NotStrict(_TOO_DEEP) from error
    if data.count(b"[") + data.count(b"{") > DEPTH_LIMIT and is_deeper(value, DEPTH_LIMIT):
        raise NotStrict(_TOO_DEEP)
    if b"\\u" in data:
        _refuse_lone_surrogate(value)
    return value


def decode_object(data: bytes, *, unique_keys: bool = False) -> dict[str, Any]:
    """Return the one object in `data` by the rules of `decode`; any other value is refused."""
    value = decode(data, unique_keys=unique_keys)
    if not isinstance(value, dict):
        raise NotStrict("not an object")
    return value


def decode_like_jq(data: bytes) -> Any:
    """Return the one value in `data` as leniently as jq reads it, or None where jq would read nothing.

    Invalid UTF-8 becomes U+FFFD, a byte-order mark is passed over, NaN and numbers out of range are taken. A JSON null
    is None too: neither is anything that could be shown. Nor is what is nested deeper than can be written again.
    """
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        value = _LIKE_JQ.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    if data.count(b"[") + data.count(b"{") > SHOWN_DEPTH_LIMIT and is_deeper(value, SHOWN_DEPTH_LIMIT):
        return None
    return value


def is_deeper(value: object, limit: int) -> bool:
    """Tell whether arrays and objects stand within one another more than `limit` times; it never recurses."""
    level = [value]
    for _ in range(limit + 1):
        below: list[object] = []
        flat = True
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
                flat = False
            elif isinstance(item, list):
                below.extend(item)
                flat = False
        if flat:
            return False
        level = below
    return True


def encode(value: object) -> str:
    """Return a value as one strict JSON document for a person or a program, with a newline at its end.

    What a terminal could act on is written as an escape, which a reader takes for the very same character. What stands
    for no character (a byte that is no UTF-8, half of a surrogate pair) becomes U+FFFD: no strict reader takes it.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    if text.isascii() and "\x7f" not in text:
        return text + "\n"
    escapes: dict[int, str] = {code: _escape(code) for code in ACTING if code >= 0x7F}
    return text.translate(escapes) + "\n"


def _escape(code: int) -> str:
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + ((code - 0x10000) >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


_TOO_DEEP = f"nested deeper than {DEPTH_LIMIT}"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotStrict("a key stands twice in one object")
    return found


def _refuse_constant(word: str) -> NoReturn:
    raise NotStrict(f"{word} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NotStrict("a number is out of range")
    return number


def _in_range(text: str) -> int:
    if len(text) > _DIGITS_IN_RANGE:
        # Also keeps the text from int(), which refuses thousands of digits with an error of its own.
        _finite(text)
    return int(text)


def _any_size(text: str) -> float:
    return int(text) if len(text) <= _DIGITS_IN_RANGE else float(text)


# Made once: a decoder takes longer to make than a line to read.
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, parse_int=_in_range)
_STRICT_UNIQUE = json.JSONDecoder(
    object_pairs_hook=_once, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_in_range
)
_LIKE_JQ = json.JSONDecoder(parse_int=_any_size)


def _refuse_lone_surrogate(value: object) -> None:
    # Bytes in UTF-8 hold no surrogate, so only an escape can have brought one; the encoder finds it at C speed.
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise NotStrict("a surrogate stands alone") from error
    except RecursionError as error:
        raise NotStrict(_TOO_DEEP) from error
