"""Which lines of a screen are a dialog that waits on a person, and which number keys answer it.

The reference's rules are not observed (daemon wire 5), so these are its safe choices: no main input box is on the
screen, and there is a menu whose focused option reads `❯ 1. …`, with at least one more numbered option below it. What
is not clearly such a menu is none. One look proves nothing: whoever acts on it looks twice and compares. Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sot_tui.wake.cells import Cell

MOST_LINES = 24
"""Lines above the focused option that may belong to its dialog; those of a taller one are of no use to a person."""
_EDGES = " │┃║|"
_BORDER = re.compile(r"[─━═╭╮╰╯┌┐└┘╔╗╚╝┏┓┗┛+\-]{3,}")
_FOCUSED = re.compile(r"❯ (?P<number>[1-9])\. \S")
_OPTION = re.compile(r"(?:❯ )?(?P<number>[1-9])\. \S")
_INPUT_GLYPH = "❯\u00a0"
"""What the main input box begins with; menus put an ASCII blank there (daemon wire 6.1)."""
_RULE = re.compile(r"─+(?: .* ─+)?")


class Dialog(NamedTuple):
    """A dialog as a screen shows it."""

    lines: tuple[str, ...]
    """Its lines without the box around them; none at either end is empty."""
    keys: tuple[str, ...]
    """The numbers of its options, from the top."""
    focused: str
    """The number of the option that Enter would take."""

    @property
    def title(self) -> str:
        """Return its first line, by which it is told from another one."""
        return self.lines[0]


def lines_of(rows: Sequence[Sequence[Cell]]) -> tuple[str, ...]:
    """Return the text of a screen's rows, without the blanks behind it."""
    return tuple("".join(cell.data for cell in row).rstrip(" ") for row in rows)


def found(screen: Sequence[str]) -> Dialog | None:
    """Return the dialog that the lines of a screen show, None when it is not clear that there is one."""
    if has_input_box(screen):
        return None
    bare = [line.strip(_EDGES) for line in screen]
    at = next((at for at in range(len(bare) - 1, -1, -1) if _FOCUSED.match(bare[at])), None)
    if at is None:
        return None
    top = _top(bare, at)
    end = _end(bare, at)
    options = {line: match["number"] for line in range(top, end) if (match := _OPTION.match(bare[line]))}
    first = max((line for line, number in options.items() if number == "1" and line <= at), default=end)
    keys = tuple(number for line, number in options.items() if line >= first)
    if keys != tuple(map(str, range(1, len(keys) + 1))) or options[at] not in keys[:-1]:
        return None  # no option below the focused one, or numbers that are no menu's
    lines = [line.rstrip() for line in _without_edges(screen[top:end])]
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return Dialog(tuple(lines), keys, options[at])


def has_input_box(screen: Sequence[str]) -> bool:
    """Tell whether the main input box of an agent is on a screen: then nothing else waits on a person."""
    return any(
        line.strip(_EDGES).startswith(_INPUT_GLYPH)
        and _RULE.fullmatch(screen[at - 1].strip())
        and _RULE.fullmatch(screen[at + 1].strip())
        for at, line in enumerate(screen[1:-1], 1)
    )


def _top(bare: Sequence[str], at: int) -> int:
    """Return the first line of the dialog: the one below the nearest border above, within a bound."""
    top = at
    while top > max(0, at - MOST_LINES) and not _BORDER.fullmatch(bare[top - 1]):
        top -= 1
    return top


def _end(bare: Sequence[str], at: int) -> int:
    """Return the line behind the dialog: the border below it, or the first gap after its last option."""
    end, last = at, at
    while end < len(bare) and not _BORDER.fullmatch(bare[end]):
        if _OPTION.match(bare[end]):
            last = end
        elif not bare[end] and end > last + 1:
            break
        end += 1
    return end


def _without_edges(lines: Sequence[str]) -> list[str]:
    """Return lines without the sides of a box, and without the margin that all of them have."""
    inner = [re.sub(r"^ *[│┃║|]|[│┃║|] *$", "", line) for line in lines]
    margin = min((len(line) - len(line.lstrip(" ")) for line in inner if line.strip()), default=0)
    return [line[margin:] for line in inner]
