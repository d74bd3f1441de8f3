"""The cells of a row's terminal as what is drawn on ours: each in exactly its own columns, and nothing but cells.

What an agent draws is foreign. A cell shows one sign with at most two marks; whatever could act on our terminal, join
its neighbour, or take another width than its cell has, becomes a sign that cannot. A line is never measured again
after that: terminals differ in what they make of joined signs, and a line that is one column off is off for good.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter
from textual.strip import Strip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console
    from textual.color import Color

    from sot_tui.engine.client import Cell

FOREGROUND, BACKGROUND = "#d0d0d0", "#101014"
"""The two colours that an agent is told its terminal has, and draws for, whatever our theme is."""

GROUND = Style(color=FOREGROUND, bgcolor=BACKGROUND)
"""What a cell looks like for which the agent has said nothing."""

_REPLACED = "\ufffd"
_MARKS = 2
"""Marks on one sign; more is a heap that reaches over its neighbours."""
_NEVER = frozenset({"Cc", "Cf", "Cn", "Cs", "Zl", "Zp"})
"""Categories that act, hide, or are no sign. What is for private use is drawn: prompts are made of it."""
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_REGIONAL_A = 0x1F1E6
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
_LOOSE_JAMO = range(0x1160, 0x1200)
_KINDS = 3
"""The first kind of underline that a rich style has no word for."""
_META = "underline"
_DIGITS = re.compile("[0-9a-f]{6}")
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


class Look(NamedTuple):
    """How the parts of a line are styled that the agent did not style."""

    plain: Style
    """What has no colour of its own, and the ground."""
    cursor: Style = Style(reverse=True)
    selected: Style = Style(reverse=True)
    hit: Style = Style(reverse=True)


class Span(NamedTuple):
    """Columns of a line that something lies over, the end not among them."""

    start: int
    end: int
    style: Style


@lru_cache(8192)
def shown(data: str, columns: int) -> str:
    """Return what a cell's text is drawn as, in exactly so many columns."""
    if data.isascii() and len(data) == 1 and data.isprintable() and columns == 1:
        return data
    sign, marks = data[:1], data[1:]
    code = ord(sign) if sign else 0x20
    if not sign or sign in _FILLERS:
        return " " * columns
    if unicodedata.category(sign) in _NEVER or unicodedata.combining(sign) or code in _LOOSE_JAMO:
        return _REPLACED + " " * (columns - 1)
    if 0 <= code - _REGIONAL_A < 26:  # two of them would be a flag, which terminals disagree about
        sign, marks = chr(ord("A") + code - _REGIONAL_A), ""
    elif code in _SKIN_TONES:
        sign, marks = " ", ""
    kept = [mark for mark in marks if unicodedata.category(mark) in {"Mn", "Me"} and not 0xFE00 <= ord(mark) <= 0xFE0F]
    text = sign + "".join(kept[:_MARKS])
    for drawn in (text, sign):
        width = cell_len(drawn)
        if width <= columns:
            return drawn + " " * (columns - width)
    return _REPLACED + " " * (columns - 1)


def strip_of(row: Sequence[Cell], start: int, columns: int, look: Look, over: Sequence[Span] = ()) -> Strip:
    """Return columns of a row as a strip, with spans over it; what lies behind the row's end is ground."""
    end = min(start + columns, len(row))
    segments: list[Segment] = []
    for (style, alone), found in groupby(_drawn(row, start, end, look, over), key=lambda one: (one[0], one[2])):
        if alone:
            segments += [Segment(text, style) for _, text, _ in found]
        else:
            segments.append(Segment("".join([text for _, text, _ in found]), style))
    if end - start < columns:
        segments.append(Segment(" " * (columns - max(0, end - start)), look.plain))
    return Strip(segments, columns)


def _drawn(
    row: Sequence[Cell], start: int, end: int, look: Look, over: Sequence[Span]
) -> list[tuple[Style, str, bool]]:
    """Return the style and the text of each cell, and whether it has to stand alone, as its neighbour could join it."""
    plain = look.plain
    found: list[tuple[Style, str, bool]] = []
    at = start
    last = len(row)
    before: tuple[object, ...] = ()
    ground = plain
    while at < end:
        cell = row[at]
        data = cell.data
        is_wide = bool(data) and at + 1 < last and not row[at + 1].data
        if cell[1:] != before:
            before = cell[1:]
            ground = _style(before, plain)
        style = ground
        for span in over:
            if span.start < at + 1 + is_wide and at < span.end:
                style += span.style
        if not data or (is_wide and at + 1 >= end):  # half of a wide one, which the other half is not drawn beside
            found.append((style, " ", False))
            at += 1
        else:
            text = shown(data, 1 + is_wide)
            found.append((style, text, not (text.isascii() or (len(text) == 1 and not is_wide))))
            at += 1 + is_wide
    return found


@lru_cache(4096)
def _style(look: tuple[object, ...], plain: Style) -> Style:
    """Return the style of a cell's look, on a ground."""
    fg, bg, bold, dim, italic, underline, underline_color, blink, reverse, hidden, strike, overline = look
    kind = int(str(underline))
    meta = {_META: f"{kind};{underline_color}"} if kind >= _KINDS or (kind and underline_color != "default") else None
    return plain + Style(
        color=_color(str(fg)),
        bgcolor=_color(str(bg)),
        bold=bool(bold) or None,
        dim=bool(dim) or None,
        italic=bool(italic) or None,
        underline=(kind not in {0, 2}) or None,
        underline2=(kind == 2) or None,
        blink=bool(blink) or None,
        reverse=bool(reverse) or None,
        conceal=bool(hidden) or None,
        strike=bool(strike) or None,
        overline=bool(overline) or None,
        meta=meta,
    )


def _color(name: str) -> str | None:
    base = name.removeprefix("bright")
    if base in _NAMES:
        return base if base == name else f"bright_{base}"
    return f"#{name}" if _DIGITS.fullmatch(name) else None


def text_of(row: Sequence[Cell]) -> tuple[str, list[int]]:
    """Return the text of a row, and the column of each of its characters."""
    text: list[str] = []
    columns: list[int] = []
    for column, cell in enumerate(row):
        text.append(cell.data)
        columns += [column] * len(cell.data)
    return "".join(text), columns


class UnderlineKinds(LineFilter):
    """Draws curly, dotted, dashed and coloured underlines, for which a rich style has no word.

    The last step before the terminal: the style gets the sequence that it is to be drawn with. One that knows no kinds
    draws a plain underline, which is asked for before.
    """

    def __init__(self, console: Callable[[], Console], *, colours: bool) -> None:
        super().__init__()
        self._console = console
        self._colours = colours

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments of a line; those without such an underline are the same."""
        del background
        return [
            segment
            if segment.style is None or _META not in segment.style.meta
            else Segment(segment.text, self._with_kind(segment.style), segment.control)
            for segment in segments
        ]

    @lru_cache(256)  # noqa: B019  (one of these lives as long as the app)
    def _with_kind(self, style: Style) -> Style:
        kind, _, color = str(style.meta[_META]).partition(";")
        system = self._console()._color_system  # noqa: SLF001  (as Textual's strips ask for it)
        drawn = style.copy()
        if system is None:
            return drawn
        codes = f"{Strip.render_ansi(style, system)}m\x1b[4:{int(kind)}"
        if self._colours:
            codes += _underline_colour(color)
        drawn._ansi = codes  # noqa: SLF001  (Textual is pinned: a strip draws a style by this)
        return drawn


def _underline_colour(color: str) -> str:
    base = color.removeprefix("bright")
    if base in _NAMES:
        return f"m\x1b[58:5:{_NAMES.index(base) + 8 * (base != color)}"
    if not _DIGITS.fullmatch(color):
        return ""
    return "m\x1b[58:2::" + ":".join(str(int(color[at : at + 2], 16)) for at in (0, 2, 4))
