"""A row's terminal over the model alone: what a capsule's lane says, from bytes that the test laid out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sot_tui.engine.client import History, Key, Snapshot
from sot_tui.engine.rows.lane import LaneStatus
from sot_tui.wake.terminal import Terminal
from tests.unit.test_terminal_recordings import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sot_tui.engine.client import Mouse


class FakeViewer:
    """A viewer that nothing happens to but what is done to it."""

    has_ended = False
    why_closed = ""

    def __init__(
        self, data: bytes, size: tuple[int, int] = (80, 24), *, lag: int = 0, sized_by: str = "", steady: bool = False
    ) -> None:
        self.terminal = Terminal(*size)
        self.terminal.feed(data, 0.0)
        self.size, self.lag, self.sized_by = size, lag, sized_by
        self._steady = steady
        """Whether a resize of it does nothing yet, as while the agent has not drawn anew."""
        self.typed: list[object] = []
        self._changed: list[Callable[[], None]] = []

    async def status(self) -> LaneStatus:
        said: dict[str, object] = dict.fromkeys(LaneStatus.__slots__, "")
        return LaneStatus(**{**said, "sized_by": self.sized_by})  # type: ignore[arg-type]  # no other part is read

    async def snapshot(self) -> Snapshot:
        return Snapshot(self.terminal.snapshot(0.0), "ready", self.lag, False)

    async def history(self, start: int, count: int) -> History:
        total = self.terminal.history_total
        first = total - self.terminal.history_length
        begin = max(0, start - first)
        end = min(begin + count, self.terminal.history_length)
        rows, wrapped = self.terminal.history_rows(begin, end), self.terminal.history_wrapped(begin, end)
        return History(first, total, max(start, first), tuple(rows), tuple(wrapped))

    def on_changed(self, changed: Callable[[], None]) -> None:
        self._changed.append(changed)

    def on_closed(self, closed: Callable[[], None]) -> None:
        """Nothing closes it."""

    async def keys(self, pressed: Iterable[Key]) -> str:
        self.typed += pressed
        return ""

    async def mouse(self, mouse: Mouse) -> str:
        self.typed.append(mouse)
        return ""

    async def paste(self, text: str) -> str:
        self.typed.append(text)
        return ""

    async def resize(self, columns: int, lines: int, who: str = "") -> str:
        if not self._steady:
            self.sized_by = who
            self.terminal.resize(columns, lines)
            self.change()
        return ""

    async def close(self) -> None:
        """Nothing is open."""

    def change(self) -> None:
        for changed in self._changed:
            changed()


def recorded(name: str) -> bytes:
    """Return all that an agent wrote in a recording."""
    with (FOLDER / f"{name}.cast").open(encoding="utf-8") as file:
        _, *events = map(json.loads, file)
    return b"".join(text.encode() for _, kind, text in events if kind == "o")
