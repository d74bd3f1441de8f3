"""The one place where text becomes something on the screen.

Foreign text (summaries, mail, host names, records, sentences that quote them) can hold anything. Here it loses every
control byte, is never parsed as markup, and gets a width on which all terminals agree, so that columns stay columns.
No other module of this room hands a string to a widget: it hands over a `Content` made here.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from rich.cells import cell_len, get_character_cell_size, set_cell_size
from textual.content import Content
from textual.widgets import Static

from sot_tui.comm.clock import age_text
from sot_tui.comm.fleet import State
from sot_tui.comm.text import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.visual import VisualType

SHAPES = {
    State.BLOCKED: "◆",
    State.DONE: "✓",
    State.WORKING: "●",
    State.WAITING: "◌",
    State.IDLE: "○",
    State.SILENT: "?",
    State.YOU: "◇",
    State.ENDED: "□",
    State.STALE: "╌",
}
"""The shape of each state: it can be told without its colour and without its word."""

PARTS = {state: state.name.lower() for state in State}
"""The name of each state in the style sheet."""

NEW, UNREAD, READ, FAILED = "●", "○", "✓", "✗"
"""The signs before a message: not opened by the person, not read by its reader, read by it, refused."""

ELLIPSIS = "…"

_MARKS_IN_A_ROW = 2
_REGIONAL_A = 0x1F1E6
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
_LOOSE_JAMO = range(0x1160, 0x1200)


def plain(text: str) -> str:
    """Return foreign text as one line that can act on nothing and has one width everywhere."""
    return _even(visible(text))


def paragraph(text: str) -> str:
    """Return one line of a foreign message, of any length, as `plain` would show it, its tabs as blanks."""
    return _even(visible_lines(text, 4 * len(text) + 1))  # a tab becomes four blanks


def written(text: str) -> str:
    """Return a text that a person goes on writing: its tabs are meant, whatever else could act becomes a sign."""
    return "\t".join(visible_lines(part, len(part) + 1) for part in text.split("\t"))


def _even(text: str) -> str:
    """Return a visible text without the signs whose width is a matter of opinion.

    Terminals count emoji with a variation selector, joined emoji, skin tones and flags in different ways, and know
    different versions of Unicode; each of these becomes something that all of them count alike.
    """
    if text.isascii():
        return text
    shown: list[str] = []
    marks = 0
    for char in unicodedata.normalize("NFC", text):
        category = unicodedata.category(char)
        code = ord(char)
        if category in {"Mn", "Me", "Mc"}:
            marks += 1
            # A mark with nothing before it would join the column to its left.
            if shown and marks <= _MARKS_IN_A_ROW and not 0xFE00 <= code <= 0xFE0F:
                shown.append(char)
            continue
        marks = 0
        if category in {"Cn", "Co", "Cs"} or code in _LOOSE_JAMO:
            shown.append("\ufffd")
        elif char in _FILLERS:
            shown.append(" ")
        elif 0 <= code - _REGIONAL_A < 26:
            shown.append(chr(ord("A") + code - _REGIONAL_A))
        elif category != "Cf" and code not in _SKIN_TONES:
            shown.append(char)
    return "".join(shown)


def fit(text: str, cells: int) -> str:
    """Return `text`, which is fit to be shown, in exactly `cells` cells: padded, or cut with an ellipsis."""
    if cells <= 0:
        return ""
    if cell_len(text) <= cells:
        return set_cell_size(text, cells)
    return set_cell_size(set_cell_size(text, cells - 1).rstrip() + ELLIPSIS, cells)


def fit_right(text: str, cells: int) -> str:
    """Return `text` at the right end of exactly `cells` cells."""
    if cells <= 0:
        return ""
    missing = cells - cell_len(text)
    return " " * missing + text if missing >= 0 else fit(text, cells)


def hang(
    label: str, text: str, cells: int, label_cells: int, lines: int = 1, style: str = "$foreground 50%"
) -> Content:
    """Return a label and a foreign text beside it, wrapped under itself, in at most `lines` lines of `cells` cells."""
    room = max(1, cells - label_cells)
    told: list[Content] = []
    for number, line in enumerate(_wrapped(plain(text), room, lines)):
        before = fit(label, label_cells) if not number else " " * label_cells
        told.append(Content.assemble((before, style), line))
    return Content("\n").join(told)


def copied(what: str) -> str:
    """Return how a copy is told: the terminal is asked to keep it, answers nothing, and may be told not to (tmux)."""
    return f"copied {what}, if the terminal lets programs copy (OSC 52)"


def _wrapped(text: str, room: int, lines: int) -> list[str]:
    """Return a text in lines of at most `room` cells, broken at blanks where there are some; the last one is cut."""
    told: list[str] = []
    while len(told) < lines - 1 and cell_len(text) > room:
        head = set_cell_size(text, room).rstrip()
        blank = head.rfind(" ")
        at = blank if blank > 0 and len(text) > len(head) and text[len(head)] != " " else len(head)
        told.append(text[:at])
        text = text[at:].lstrip()
    return [*told, fit(text, room).rstrip() if cell_len(text) > room else text]


def folded(text: str, room: int) -> Iterator[str]:
    """Yield a text that is fit to be shown in lines of at most `room` cells, broken at a blank where there is one."""
    room = max(2, room)  # a wide sign takes two
    if not text.isascii():
        yield from _folded_by_cells(text, room)
        return
    at = 0
    while len(text) - at > room:
        blank = text.rfind(" ", at + 1, at + room + 1)
        end = blank if blank > 0 else at + room
        yield text[at:end]
        at = end + (blank > 0)
    yield text[at:]


def _folded_by_cells(text: str, room: int) -> Iterator[str]:
    """Look at each sign once: a message may be one line of a hundred thousand of them."""
    start, blank, used, since_blank = 0, -1, 0, 0
    for at, char in enumerate(text):
        cells = get_character_cell_size(char)
        if used + cells > room:
            if char == " ":
                yield text[start:at]
                start, blank, used, since_blank = at + 1, -1, 0, 0
                continue
            end = blank if blank > start else at
            yield text[start:end]
            start = end + (end == blank)
            used = since_blank if end == blank else 0
            blank, since_blank = -1, 0
        used += cells
        if char == " ":
            blank, since_blank = at, 0
        else:
            since_blank += cells
    yield text[start:]


def width(text: str) -> int:
    """Return how many cells a text takes that is fit to be shown."""
    return cell_len(text)


def words(text: str, style: str = "") -> Content:
    """Return foreign text of one line as content, never as markup."""
    return Content.styled(plain(text), style) if style else Content(plain(text))


def ours(markup: str, **values: str) -> Content:
    """Return content of our own markup; every `$name` in it is foreign text, made visible and never parsed."""
    return Content.from_markup(markup, **{name: plain(value) for name, value in values.items()})


def age(since: float | None, now: float) -> str:
    """Return the age of a moment, or `–` when it is not known."""
    return "–" if since is None else age_text(now - since)


class Words(Static):
    """A piece of the screen that shows content; it takes no string, so nothing foreign slips into it."""

    def __init__(self, content: Content | None = None, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  (Textual's own name)
        super().__init__(content if content is not None else Content(""), id=id, classes=classes, markup=False)
        self._said: Content | None = content

    def say(self, content: Content) -> None:
        """Show `content`; the same again costs nothing."""
        if self._said is None or not content.is_same(self._said):
            self._said = content
            # A piece of fixed size moves nothing around it, so nothing has to be laid out again.
            self.update(content, layout=self.styles.auto_dimensions)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        """Show content. A string is a mistake of ours, so it is refused here once more."""
        if not isinstance(content, Content):
            raise TypeError("only a Content may be shown")
        super().update(content, layout=layout)
