"""The screen of a row as its capsule keeps it: fed lazily, never more behind than a bound, and honest about it.

What was read waits here until it is fed, a little each turn, so that the pump and the lane never wait for the model.
Nothing is skipped: where too much waits, no more is read until the model has caught up, as with any terminal that is
slow. A fault in the model costs the screen, which the agent is then asked to draw anew, and nothing else.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sot_tui.engine.rows.values import Modes
from sot_tui.wake.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.engine.rows.lane_wire import Row
    from sot_tui.wake.terminal import Screen

T = TypeVar("T")

LAG_LIMIT = 1 << 18
"""Bytes that wait for the model before no more is read: about a fifth of a second of its work."""
TURN_BYTES = 1 << 13
"""Bytes fed in one turn: a few milliseconds, in which nothing else is served."""
HISTORY_LINES = 2000
"""Rows of history that are kept."""

_MOUSE_MODES = (1003, 1002, 1000, 9)
_MOUSE_FORMATS = (1006, 1015, 1005)


def modes_of(screen: Screen) -> Modes:
    """Return what of a terminal's modes says how input is sent."""
    told = screen.modes
    return Modes(
        application_cursor=1 in told,
        newline=-20 in told,
        bracketed_paste=2004 in told,
        mouse=next((mode for mode in _MOUSE_MODES if mode in told), 0),
        mouse_format=next((mode for mode in _MOUSE_FORMATS if mode in told), 0),
        alternate=screen.alternate,
    )


class Emulation:
    """A terminal model behind a queue."""

    def __init__(self, columns: int, lines: int, make: Callable[[int, int, int], Terminal] = Terminal) -> None:
        self._make = make
        self._size = (columns, lines)
        self._model = make(columns, lines, HISTORY_LINES)
        self._queue: deque[bytes | tuple[int, int]] = deque()
        self.lag = 0
        """Bytes that were read and are not fed."""
        self.faults = 0
        """How often the model has failed."""
        self.fault = ""
        """What the last failure said."""
        self._base = 0
        """What is added to the model's revision, so that a model that begins anew goes on where the last one was."""
        self._last = 0
        """The model's revision when it was last asked for."""
        self._rows: tuple[Row, ...] = ()
        self._seen_at: list[int] = []
        """For each row the revision at which it was first seen as it is."""

    @property
    def has_room(self) -> bool:
        """Tell whether more may be read."""
        return self.lag < LAG_LIMIT

    def take(self, data: bytes) -> None:
        """Put what was read behind what waits."""
        self._queue.append(data)
        self.lag += len(data)

    def resize(self, columns: int, lines: int) -> None:
        """Take a new size, at the place in the output where it was given."""
        self._queue.append((columns, lines))

    @property
    def waits(self) -> bool:
        """Tell whether there is something to feed."""
        return bool(self._queue)

    def feed(self, now: float) -> bytes:
        """Feed a turn's worth of what waits; return what the terminal answers."""
        left = TURN_BYTES
        answers = b""
        while self._queue and left > 0:
            item = self._queue.popleft()
            if isinstance(item, tuple):
                self._size = item
                self._guarded(partial(self._model.resize, *item), None)
                continue
            if len(item) > left:
                self._queue.appendleft(item[left:])
                item = item[:left]
            left -= len(item)
            self.lag -= len(item)
            answers += self._guarded(partial(self._fed, item, now), b"")
        return answers

    def _fed(self, data: bytes, now: float) -> bytes:
        self._model.feed(data, now)
        return self._model.replies()

    def revision(self) -> int:
        """Return a number that has grown when anything a reader could see has changed."""
        self._last = self._guarded(lambda: self._model.revision, 0)
        return self._base + self._last

    def synchronizing(self, now: float) -> bool:
        """Tell whether the agent is in the middle of a frame."""
        return self._guarded(lambda: self._model.synchronizing(now), False)

    def screen(self, now: float) -> Screen:
        """Return the last complete screen, its revision counted over all models."""
        screen = self._guarded(lambda: self._model.snapshot(now), None)
        if screen is None:  # the model is new now, and has shown nothing that could fail
            screen = self._model.snapshot(now)
        self._last = screen.revision
        screen = screen._replace(revision=self._base + screen.revision)
        rows = self._rows
        if rows is not screen.rows:
            known = len(rows)
            self._seen_at = [
                self._seen_at[place] if place < known and row is rows[place] else screen.revision
                for place, row in enumerate(screen.rows)
            ]
            self._rows = screen.rows
        return screen

    def changed(self, screen: Screen, since: int) -> list[tuple[int, Row]]:
        """Return the rows of a screen, with their numbers, that a reader of a revision has not seen as they are."""
        if not 0 <= since <= screen.revision:
            since = -1
        return [(place, row) for place, row in enumerate(screen.rows) if self._seen_at[place] > since]

    def history(self, start: int, count: int) -> tuple[int, int, list[Row], list[int]]:
        """Return where history begins, how many rows it ever had, some rows from a place on, and how they go on.

        A row's place is its number since the start, so that it stays the same when older ones go.
        """
        nothing: tuple[int, int, list[Row], list[int]] = (0, 0, [], [])
        return self._guarded(partial(self._history, start, count), nothing)

    def _history(self, start: int, count: int) -> tuple[int, int, list[Row], list[int]]:
        model = self._model
        total = model.history_total
        first = total - model.history_length
        begin = max(0, start - first)
        end = min(begin + count, model.history_length)
        return first, total, model.history_rows(begin, end), model.history_wrapped(begin, end)

    def _guarded(self, work: Callable[[], T], otherwise: T) -> T:
        try:
            return work()
        except Exception as error:  # noqa: BLE001  (whatever the model has not foreseen ends here, and not the agent)
            self.faults += 1
            self.fault = f"{type(error).__name__}: {error}"[:200]
            self._base = self._base + self._last + 1
            self._model = self._make(*self._size, HISTORY_LINES)
            return otherwise
