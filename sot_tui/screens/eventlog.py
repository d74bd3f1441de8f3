"""The event log as one window reads it: what is new in it, and whether it is another engine's than before.

A window changes its engine when the one it sat at ends. The new one has a log of its own, which may be longer or
shorter than the old one, so the number of lines tells nothing: the last line that was read, asked for once more, does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sot_tui.engine.client import ReadEvents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sot_tui.engine.client import Client, Happening


class Part(NamedTuple):
    """What is new in the log."""

    lines: Sequence[Happening]
    file: str
    anew: bool
    """Whether this is all of another log than was read before, or of the same one after more than it remembers."""


class EventLog:
    """How far a window has read."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._last: Happening | None = None

    async def new(self) -> Part:
        """Return what has come since the last time."""
        last = self._last
        events = await self._client.do(ReadEvents(last.number - 1 if last is not None else 0))
        lines, anew = events.lines, last is not None and events.lines[:1] != (last,)
        if anew:
            events = await self._client.do(ReadEvents())
            lines = events.lines
        elif last is not None:
            lines = lines[1:]
        if lines:
            self._last = lines[-1]
        elif anew:
            self._last = None
        return Part(lines, events.file, anew)
