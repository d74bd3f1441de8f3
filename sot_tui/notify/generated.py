"""What a program may have made up for a push: one readable line, be it a body or the name of a session.

Contract, Failure semantics: composition "cannot alter eligibility or urgency", and what it says is believed only as far
as it can be shown: no control character, nothing that turns the text around, no markup that a phone would show raw. A
body and a label differ in their length alone. Values are kept as they came or refused, never repaired.
"""

from __future__ import annotations

import re

from sot_tui.notify import text

BODY_CHARS = 180
"""Code points of a composed body."""
LABEL_BYTES = 60
"""A session's name, in UTF-8."""
LABEL_WORDS = (3, 4)
"""Words of a session's name: fewer say too little, more are a sentence."""

_BLANK = text.WHITE + "\ufeff"
_WORD = re.compile(rf"[^{_BLANK}]+")
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_OPENS, _CLOSES = r"(?:^|(?<=[\s(\[{\"']))", r"(?=$|[\s)\]},.!?;:'\"])"
_MARKUP = tuple(
    re.compile(rule)
    for rule in (
        r"^\s{0,3}(?:```|~~~|>)",
        r"`[^`]+`",
        r"^\s{0,3}(?:#{1,6}(?:[ \t]|$)|[-+*][ \t]|[0-9]+[.)][ \t])",
        *(
            rf"{_OPENS}{mark}[^\s{each}](?:.*[^\s{each}])?{mark}{_CLOSES}"
            for mark, each in ((r"\*{1,3}", r"*"), (r"_{1,3}", "_"), ("~~", "~"))
        ),
        r"\[[^\]]+\]\([^)]+\)",
        r"^ *(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$",
        r"^(?: {4,}|\t)\S",
        r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\s]*>",
        r"<[^<>\s@]+@[^<>\s@]+\.[^<>\s@]+>",
    )
)


def is_body(body: str) -> bool:
    """Tell whether `body` can be the text of a push."""
    return len(body) <= BODY_CHARS and _is_plain(body)


def is_label(label: str) -> bool:
    """Tell whether `label` can be the name of a session."""
    return text.size(label) <= LABEL_BYTES and len(_WORD.findall(label)) in LABEL_WORDS and _is_plain(label)


def _is_plain(line: str) -> bool:
    if not line.strip(_BLANK) or text.has_control(line) or set(line) & _TURNING:
        return False
    return not any(rule.search(line) for rule in _MARKUP)
