"""The cells of an emulated screen: what one shows, how it looks, and how many columns a character takes.

The free-prompt rule and the dialog check read these cells, so each holds what they ask for, dim before all. A cell is a
frozen value and is shared by every place that shows the same: a palette makes each one once, and forgets what it made
before that grows without bound. Nothing here may raise on any text a program prints.
"""

from __future__ import annotations

from typing import NamedTuple

from wcwidth import wcwidth


class Cell(NamedTuple):
    """One column of one row, as a reader sees it."""

    data: str
    """The character, with what joins it; empty in the right half of a wide one."""
    fg: str = "default"
    """`default`, one of the sixteen names (`red`, `brightred`), or six hexadecimal digits."""
    bg: str = "default"
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: int = 0
    """0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed."""
    underline_color: str = "default"
    blink: bool = False
    reverse: bool = False
    hidden: bool = False
    strike: bool = False
    overline: bool = False


Look = tuple[str, str, bool, bool, bool, int, str, bool, bool, bool, bool, bool]
"""All of a cell but its character, in the order of the fields."""

BLANK = Cell(" ")
"""What was never written."""
PLAIN: Look = BLANK[1:]
"""How it looks where nothing was asked for."""

_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
NAMED = (*_NAMES, *(f"bright{name}" for name in _NAMES))
"""The sixteen colours that a theme may choose, by their number."""


def _cube() -> tuple[str, ...]:
    steps = (0x00, 0x5F, 0x87, 0xAF, 0xD7, 0xFF)
    cube = [f"{red:02x}{green:02x}{blue:02x}" for red in steps for green in steps for blue in steps]
    grays = [f"{level:02x}" * 3 for level in range(8, 248, 10)]
    return (*NAMED, *cube, *grays)


COLORS = _cube()
"""The 256 colours by their number, as xterm has them."""

_FRESH_CELLS = 4096
"""How many cells a palette makes before it forgets which it made: about 1 MiB of them."""
_KNOWN_WIDTHS = 8192
"""How many characters' widths are remembered."""
_REGIONAL = ("\U0001f1e6", "\U0001f1ff")
"""The first and last letter of a flag."""


class Style(dict[str, Cell]):
    """The cells of one look, by their character; one that is missing is made."""

    __slots__ = ("_palette", "erased", "look", "turns")

    def __init__(self, look: Look, erased: Cell, palette: Palette) -> None:
        self.look = look
        self.erased = erased
        """What an erase leaves under this style: its background and nothing else of it."""
        self.turns: dict[str, Style] = {}
        """Which style each selection of attributes leads to from here."""
        self._palette = palette

    def __missing__(self, data: str) -> Cell:
        self._palette.count(self)
        cell = self[data] = Cell._make((data, *self.look))
        return cell


class Palette:
    """Makes every cell of a terminal once."""

    def __init__(self) -> None:
        self.made = 0
        """How many cells were made so far; grows for good. It tells how many a stretch of history can hold alive."""
        self._fresh = 0
        self._styles: dict[Look, Style] = {}
        self._filled: dict[int, Style] = {}
        """The styles that hold something, by their identity: a forgotten one may still be in use."""
        self._erased: dict[str, Cell] = {}
        self.plain = self._style(PLAIN)

    def turn(self, style: Style, params: str, look: Look) -> Style:
        """Return the style of a look, and remember that these parameters lead to it from a style."""
        self.count(style)
        turned = style.turns[params] = self._style(look)
        return turned

    def count(self, style: Style) -> None:
        """Count one thing made for a style, and forget what was made before when it is too much."""
        self.made += 1
        self._fresh += 1
        if self._fresh > _FRESH_CELLS:
            self._fresh = 0
            for filled in self._filled.values():
                filled.clear()
                filled.turns.clear()
            # Whoever uses a style goes on with it; what is made of it later are new objects with equal values.
            self._filled.clear()
            self._erased.clear()
            self._styles = {PLAIN: self.plain}
        self._filled[id(style)] = style

    def _style(self, look: Look) -> Style:
        found = self._styles.get(look)
        if found is None:
            found = self._styles[look] = Style(look, self._blank(look[1]), self)
        return found

    def _blank(self, bg: str) -> Cell:
        if bg == BLANK.bg:
            return BLANK
        found = self._erased.get(bg)
        if found is None:
            found = self._erased[bg] = BLANK._replace(bg=bg)
        return found


class _Widths(dict[str, int]):
    """How many columns a character takes: 0, 1 or 2; less than 0 for one that is not shown."""

    def __missing__(self, char: str) -> int:
        if len(self) >= _KNOWN_WIDTHS:
            self.clear()
        # A flag is two letters of one column each, so that the pair takes two as agents and tmux count it.
        found = self[char] = 1 if _REGIONAL[0] <= char <= _REGIONAL[1] else wcwidth(char)
        return found


WIDTHS = _Widths()
"""How many columns each character takes."""
