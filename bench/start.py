"""The dashboard from exec to its first frame on a terminal, beside a Textual app that shows one word."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from bench.fleets import Fleet
from bench.measure import Figure
from bench.pane import Pane

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BARE = """\
from textual.app import App
from textual.widgets import Static


class Bare(App):
    def compose(self):
        yield Static("ready")


Bare().run()
"""
"""The least that Textual can show."""
_HANDLES = 1000


def figures(folder: Path) -> Iterator[Figure]:
    """Yield two figures: until anything stands there, and until the handles do."""
    fleet = Fleet(folder, _HANDLES)
    script = folder / "bare.py"
    script.write_text(BARE)
    bare = partial(_until_shown, fleet, [sys.executable, str(script)], "ready")
    ours = partial(_until_shown, fleet, None)
    name = f"exec to the first frame, {_HANDLES} handles"
    yield Figure(name, partial(ours, " sot "), bare, 1, "<= 1.4")
    yield Figure(f"exec to the {_HANDLES} handles in the nav", partial(ours, "Project-"), bare, 1, "<= 2")


def _until_shown(fleet: Fleet, command: list[str] | None, text: str) -> float:
    """Return the seconds from the start of a program to the read that brought `text`."""
    with Pane(command, fleet.environ, str(fleet.folder)) if command else fleet.dashboard() as pane:
        return pane.until(text) - pane.began
