"""What a person does at a row's terminal, as values, and the modes that say what of it is sent.

Product, architecture: they travel as values and are encoded in the capsule, which alone knows the terminal's modes. The
capsule loads this module, so it stands on the standard library and imports no dataclass.
"""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """One key press."""

    name: str
    """A name of `keys.NAMED` (`enter`, `up`, `f5`, `space`), else the text that the key gives (`a`, `A`, `é`)."""
    ctrl: bool = False
    alt: bool = False
    shift: bool = False
    """Only of a named key: that of a text is in the text."""


class Mouse(NamedTuple):
    """One thing that a mouse did."""

    what: str
    """`press`, `release` or `move`."""
    column: int
    """From 0."""
    line: int
    """From 0."""
    button: str = "left"
    """`left`, `middle`, `right`, `none` (of a move alone), or a wheel's `up`, `down`, `wheel-left`, `wheel-right`."""
    ctrl: bool = False
    alt: bool = False
    shift: bool = False


class Paste(NamedTuple):
    """Text from a clipboard."""

    text: str


class Modes(NamedTuple):
    """What a program has asked of its terminal that changes what keys, mouse and pastes are sent as."""

    application_cursor: bool = False
    """DECCKM: the arrow keys are sent as SS3."""
    newline: bool = False
    """LNM: Enter is sent with a line feed."""
    bracketed_paste: bool = False
    """2004: a paste is marked at both ends."""
    mouse: int = 0
    """0 (none), 9 (presses), 1000 (releases too), 1002 (moves with a button held too), 1003 (all moves)."""
    mouse_format: int = 0
    """0 (bytes), 1005 (UTF-8), 1006 (SGR), 1015 (decimal)."""
    alternate: bool = False
    """The alternate screen is shown, where a wheel that no program takes is sent as arrow keys."""
