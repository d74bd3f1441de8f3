"""A row's terminal as values: what it shows, what a person does at it, and the modes that say what of that is sent.

Product, architecture: keys and mouse travel as values, a paste as its text, and all are encoded in the capsule, which
alone knows the terminal's modes. The capsule loads this module, so it stands on the standard library and imports no
dataclass; the screens load it too, so it loads no terminal model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sot_tui.wake.cells import Cell
    from sot_tui.wake.terminal import Screen


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


class Snapshot(NamedTuple):
    """What a row's terminal shows, and how far the reader may go by it."""

    screen: Screen
    phase: str
    """`starting`, `ready`, `ending` or `ended`."""
    lag: int
    """Bytes that the agent wrote and that are not on the screen yet; a screen that lags is never still."""
    synchronizing: bool
    """The agent is in the middle of a frame, of which the screen shows nothing yet."""
    queued: int = 0
    """Bytes of input that the agent has not read."""
    inputs: int = 0
    """How many times somebody has typed into the row, the wake not counted."""
    person_s: float | None = None
    """Seconds since the last of them; None when there was none."""


class History(NamedTuple):
    """Rows that were scrolled off a terminal."""

    first: int
    """Place of the oldest row that is kept, counted from the start of the run."""
    total: int
    """The place behind the newest."""
    start: int
    """Place of the first row here."""
    rows: tuple[tuple[Cell, ...], ...]
    wrapped: tuple[int, ...] = ()
    """For each row what `Screen.wrapped` says of one of the screen; empty where nothing is known of any."""
