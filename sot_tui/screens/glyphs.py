"""The signs of a terminal that shows ASCII alone, or of a person who wants nothing else.

Shapes, bars, lines and borders are drawn with signs of Unicode everywhere in this room; here each becomes an ASCII sign
of the same width, at the last step before the terminal, so that no screen has to know of it. Where the locale is not
UTF-8 the terminal could show no other sign either, so foreign text loses what is not ASCII as well.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.filter import LineFilter

if TYPE_CHECKING:
    from textual.color import Color

_SIGNS = {
    "◆": "!", "✓": "+", "●": "*", "◌": "~", "○": "o", "◇": "@", "□": "=", "╌": "-", "◐": "%",
    "▌": ">", "·": ".", "…": ">", "–": "-", "—": "-", "≥": ">", "└": "`",
    "→": ">", "←": "<", "↑": "^", "↓": "v", "“": '"', "”": '"', "‘": "'", "’": "'", "•": "*", "🔎": "/ ",
    "▔": "-", "▁": "_", "▀": "-", "▄": "_", "▏": "|", "▎": "|", "▍": "|", "▊": "|", "▕": "|", "▐": "|",
}  # fmt: skip
"""Each sign that is drawn here, and what stands for it; every state keeps a shape of its own."""
_LINES, _BLOCKS = range(0x2500, 0x2580), range(0x2580, 0x25A0)
_HORIZONTAL, _VERTICAL = frozenset("─━┄┅┈┉╌╍═╴╶╸╺╼╾"), frozenset("│┃┆┇┊┋╎╏║╵╷╹╻╽╿")


class AsciiSigns(LineFilter):
    """Draws with ASCII signs alone; `every_sign` says whether foreign text is held to them too."""

    def __init__(self, *, every_sign: bool) -> None:
        super().__init__()
        self._every_sign = every_sign

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments of a line in ASCII; each keeps its width."""
        del background
        return [
            segment if segment.text.isascii() else Segment(plain(segment.text, self._every_sign), segment.style, None)
            for segment in segments
        ]


@lru_cache(4096)
def plain(text: str, every_sign: bool) -> str:
    """Return a text in ASCII signs of the same width."""
    return "".join(char if char.isascii() else _sign(char, every_sign) for char in text)


def _sign(char: str, every_sign: bool) -> str:
    known = _SIGNS.get(char)
    if known is not None:
        return known
    code = ord(char)
    if code in _LINES:
        return "-" if char in _HORIZONTAL else "|" if char in _VERTICAL else "+"
    if code in _BLOCKS:
        return "#"
    return "?" * cell_len(char) if every_sign else char
