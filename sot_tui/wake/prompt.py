"""Is this screen a free prompt, and does its input box hold exactly the wake line: one frame, and the reason of a no.

Contract, Waking: the cursor at the start of the input line that the glyph and a no-break space mark, between the input
box's two rules; what is drawn dim is no draft, a draft is one wherever its cursor sits. Whatever is not clearly free is
refused with its reason (docs/wake.md has the open points, each decided that way). One frame proves no rest: a turn that
streams shows this very picture for seconds, so `policy` asks for more. Pure: it reads cells and keeps nothing.
"""

from __future__ import annotations

import re
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sot_tui.wake.cells import Cell
    from sot_tui.wake.terminal import Screen

WAKE_LINE = "[sot-comm] you have mail: run comm-poll.sh"
"""The one line that is ever typed (contract, Waking)."""
GLYPH = "❯"
"""What marks Claude Code's input line, U+276F."""
NO_BREAK = "\u00a0"
"""What follows it there; a menu's marker is followed by a plain space."""
CODEX_GLYPH = "›"
"""What marks Codex's composer, U+203A; a plain space follows it."""
SHELL_MARK = "!"
"""What stands in the place of the glyph while Claude Code takes a shell command."""
MOST_ROWS = 3
"""Rows that the wake line may take in its box: a smaller box may scroll, and then not all of it can be read."""
_WRAP_SLACK = 6
"""Columns of the box's width that a wrapped line may leave unused beside its next word: margin, cursor, and some."""

_RULE = "─"
_LABEL = re.compile(r"─+ (?P<label>\S(?:.*\S)?) ─+")
_MORE = re.compile(r"[↑↓] \d+ more")
_PANEL_MARKS = ("●", "◯")
_PANEL_MAIN = "  ● main"
_VIM = re.compile(r"-- (?:INSERT|NORMAL|VISUAL|REPLACE)\b")
_PLACEHOLDER = re.compile(r"\[(?:Pasted text|Image|Attachment|File|\.\.\.Truncated text)[^\]]*\]")
"""What Claude Code shows in the place of what was pasted; it is a draft however it is drawn."""
_OTHER_AGENT = re.compile(r"Message @\S")
"""How the hint in another agent's input begins."""


class Verdict(Enum):
    """What one frame shows; the value is the word that `sot-tui screen` prints."""

    FREE = "free"
    HOLDS = "holds-wake-line"
    REFUSED = "refused"


class Box(NamedTuple):
    """Where the input box lies, by rows of the screen."""

    upper: int
    """The row of its upper rule."""
    lower: int
    glyph: int
    """The column of the glyph."""


class Prompt(NamedTuple):
    """What one frame says of the prompt."""

    verdict: Verdict
    reason: str = ""
    """Why it is not free; empty when it is."""
    box: Box | None = None
    """The main input box, where there is one."""
    vim: bool = False
    """Whether the frame names a vim mode."""


NO_BOX = "no input box under the cursor"
SHELL_MODE = "the box is in shell mode"
DRAFT = "draft in the box"
PASTED = "something pasted is in the box"
CURSOR_ELSEWHERE = "the cursor is not at the start of the box"
NOT_AT_THE_END = "the wake line is in the box, its cursor is not behind it"
ANOTHER_AGENT = "another agent's view may be open"
TOO_NARROW = "pane too narrow"
SCROLLED = "the box is scrolled"
VIM_MODE = "vim mode is on"
NO_GLYPH = "no prompt glyph under the cursor"


def read(screen: Screen) -> Prompt:
    """Return what a frame of Claude Code says of its prompt."""
    lines = text_of(screen)
    box = _box(screen, lines)
    if box is None:
        return Prompt(Verdict.REFUSED, _why_no_box(screen, lines))
    vim = any(_VIM.search(line) for line in lines[box.lower + 1 :])
    refused = _around(screen, lines, box) or (VIM_MODE if vim else "")
    if refused:
        return Prompt(Verdict.REFUSED, refused, box, vim)
    held = _held(screen, box)
    if held == WAKE_LINE:
        if not _is_cursor_behind(screen, box):
            return Prompt(Verdict.REFUSED, NOT_AT_THE_END, box)
        return Prompt(Verdict.HOLDS, f"it holds {WAKE_LINE}", box)
    shown = "".join(cell.data for cell in screen.rows[box.upper + 1])
    if _PLACEHOLDER.search(shown):
        return Prompt(Verdict.REFUSED, PASTED, box)
    if _OTHER_AGENT.search(shown):
        return Prompt(Verdict.REFUSED, ANOTHER_AGENT, box)
    if held:  # a box of several rows never joins to nothing: an empty first row is no free prompt
        return Prompt(Verdict.REFUSED, DRAFT, box)
    if not box.glyph + 1 <= screen.cursor_x <= box.glyph + 2:
        return Prompt(Verdict.REFUSED, CURSOR_ELSEWHERE, box)
    return Prompt(Verdict.FREE, "", box)


def read_codex(screen: Screen) -> Prompt:
    """Return what a frame of Codex says of its composer: for a person to read; nothing is ever typed there."""
    lines = text_of(screen)
    at = screen.cursor_y
    line = lines[at]
    if not line.startswith(f"{CODEX_GLYPH} ") and line != CODEX_GLYPH:
        return Prompt(Verdict.REFUSED, NO_GLYPH)
    held = undimmed(screen.rows[at][2:]).rstrip(" ")
    if held == WAKE_LINE and screen.cursor_x == 2 + len(WAKE_LINE):
        return Prompt(Verdict.HOLDS, f"it holds {WAKE_LINE}")
    below = screen.rows[at + 1] if at + 1 < screen.lines else ()
    if held or undimmed(below).strip(" "):
        return Prompt(Verdict.REFUSED, DRAFT)
    if screen.cursor_x != 2 or not screen.cursor_visible:
        return Prompt(Verdict.REFUSED, CURSOR_ELSEWHERE)
    return Prompt(Verdict.FREE)


def text_of(screen: Screen) -> tuple[str, ...]:
    """Return the rows' text, cut behind by plain spaces alone: Python takes the no-break space for a blank too."""
    return tuple("".join(cell.data for cell in row).rstrip(" ") for row in screen.rows)


def undimmed(cells: Sequence[Cell]) -> str:
    """Return the text of cells, where what is drawn dim reads as spaces."""
    return "".join(" " * len(cell.data) if cell.dim else cell.data for cell in cells)


def is_rule(line: str, columns: int) -> bool:
    """Tell whether a row is a rule over the whole width, plain or with one label that spaces pad."""
    if len(line) != columns or not line.startswith(_RULE) or not line.endswith(_RULE):
        return False
    return not line.strip(_RULE) or _LABEL.fullmatch(line) is not None


def lower_rule(screen: Screen) -> int | None:
    """Return the row of the main box's lower rule, wherever its cursor is in it; None without such a box."""
    box = _box(screen, text_of(screen))
    return None if box is None else box.lower


def room(width: int) -> int:
    """Return how many rows the wake line takes in a box so wide, by Claude Code's own wrapping at words."""
    rows, used = 1, 0
    for word in WAKE_LINE.split(" "):
        if used and used + 1 + len(word) > width:
            rows, used = rows + 1, len(word)
        else:
            used += len(word) + bool(used)
        if len(word) > width:
            return MOST_ROWS + 1
    return rows


def _box(screen: Screen, lines: Sequence[str]) -> Box | None:
    """Return the box that the cursor is in: the nearest rules above and below it, the glyph on the first row."""
    at = screen.cursor_y
    upper = next((row for row in range(at - 1, -1, -1) if is_rule(lines[row], screen.columns)), None)
    lower = next((row for row in range(at + 1, len(lines)) if is_rule(lines[row], screen.columns)), None)
    if upper is None or lower is None or is_rule(lines[at], screen.columns):
        return None
    first = lines[upper + 1]
    glyph = len(first) - len(first.lstrip(" "))
    if not first[glyph:].startswith(GLYPH + NO_BREAK):
        return None
    return Box(upper, lower, glyph)


def _why_no_box(screen: Screen, lines: Sequence[str]) -> str:
    at, columns = screen.cursor_y, screen.columns
    if 0 < at < len(lines) - 1 and is_rule(lines[at - 1], columns) and is_rule(lines[at + 1], columns):
        return SHELL_MODE if lines[at].startswith(SHELL_MARK + NO_BREAK) else NO_GLYPH
    if at > 0 and any(is_rule(line, columns) and _MORE.search(line) for line in lines):
        return DRAFT  # a box that is scrolled shows no glyph; only a draft is so long
    return NO_BOX


def _around(screen: Screen, lines: Sequence[str], box: Box) -> str:
    """Return what around the box forbids to type into it."""
    if any(_MORE.search(lines[row]) for row in (box.upper, box.lower)):
        return SCROLLED
    if room(screen.columns - box.glyph - 4) > MOST_ROWS:
        return TOO_NARROW
    marked = [line for line in lines[box.lower + 1 :] if any(mark in line for mark in _PANEL_MARKS)]
    dotted = [line for line in marked if "●" in line]
    if marked and not (all(line.startswith("  ") for line in marked) and dotted == [_PANEL_MAIN]):
        return ANOTHER_AGENT
    return ""


def _held(screen: Screen, box: Box) -> str:
    """Return what the box holds, its rows joined as Claude Code wraps a line at its words."""
    parts = []
    for row in range(box.upper + 1, box.lower):
        cells = list(screen.rows[row])
        start = box.glyph + 2
        if row == screen.cursor_y:
            cells = _without_own_cursor(cells, screen.cursor_x)
        if row != box.upper + 1 and undimmed(cells[:start]).strip(" "):
            return DRAFT  # a row that does not hang below the first one's text is no wrapped line's
        parts.append(undimmed(cells[start:]).rstrip(" "))
    width = screen.columns - box.glyph - 2 - _WRAP_SLACK
    for part, following in pairwise(parts):
        if len(part) + 1 + len(following.partition(" ")[0]) <= width:
            return DRAFT  # the next word had room: somebody began a new line there
    return " ".join(parts)


def _without_own_cursor(cells: list[Cell], at: int) -> list[Cell]:
    """Return a row without the block cursor that Claude Code draws itself.

    A suggestion's first letter is reverse and not dim; so is a draft's whose cursor is at its start. Only where the
    cell right after it is dim is it a suggestion's. A blank under the cursor is blank either way.
    """
    after = cells[at + 1] if at + 1 < len(cells) else None
    if cells[at].reverse and after is not None and after.dim:
        cells[at] = cells[at]._replace(data=" ", reverse=False)
    return cells


def _is_cursor_behind(screen: Screen, box: Box) -> bool:
    row = screen.rows[box.lower - 1]
    last = len("".join(cell.data for cell in row).rstrip(" "))
    return screen.cursor_y == box.lower - 1 and screen.cursor_x == last
