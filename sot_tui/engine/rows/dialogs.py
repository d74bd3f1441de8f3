"""A row's dialog, read for a person and answered by one: a number key goes only to the dialog that the person saw.

A screen is read twice before it is believed, and read again before the key is pressed; what is not the very same is
refused with the reason (product, Rows). Answers to one row are given one after the other, and the next one waits until
the dialog is gone, so that a key pressed twice never answers what comes after it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from sot_tui.engine.client import AnswerDialog, Outcome, RowDialog
from sot_tui.engine.rows.row import Phase, Refused
from sot_tui.wake import dialog

if TYPE_CHECKING:
    from sot_tui.comm.clock import Clock
    from sot_tui.engine.rows.row import Row
    from sot_tui.engine.rows.values import Snapshot
    from sot_tui.wake.dialog import Dialog

AGAIN_SECS = 0.15
"""Seconds between the two reads that must be identical (daemon wire 5): several frames of any agent."""
GONE_SECS = 1.5
"""Seconds that an answered dialog has to go away, in which no other answer is taken for its row."""
NONE_SHOWN = "its screen shows no dialog that a number key answers; open the row to see it"
"""Why a row that is blocked cannot be answered from here."""
CHANGED = "its screen no longer shows that dialog; nothing was typed"
"""Why an answer was not given."""


class Screens(Protocol):
    """The rows, as far as a dialog needs them."""

    def find(self, key: str) -> Row | None:
        """Return the row that an id or a slug names."""

    async def screen(self, key: str) -> Snapshot | Refused:
        """Return what a row's terminal shows."""

    async def type(self, key: str, data: bytes, *, enter: bool) -> object:
        """Type bytes into a row."""


class Dialogs:
    """The dialogs of one daemon's rows."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def read(self, rows: Screens, key: str) -> RowDialog:
        """Return the dialog that a row shows, read twice."""
        seen = await self._twice(rows, key)
        return RowDialog(fault=seen) if isinstance(seen, str) else RowDialog(seen.lines, seen.keys)

    async def answer(self, rows: Screens, asked: AnswerDialog) -> Outcome:
        """Press a number key in a row, if it still shows the dialog that the person saw."""
        row = rows.find(asked.row)
        if row is None:
            return Outcome(good=False, sentence=f"there is no row {asked.row}; nothing was typed")
        turn = self._turns.setdefault(row.id, asyncio.Lock())
        async with turn:
            seen = await self._twice(rows, row.id)
            refused = _refusal(seen, asked)
            if refused:
                return Outcome(good=False, sentence=f"row '{row.label}': {refused}")
            typed = await rows.type(row.id, asked.key.encode(), enter=False)
            if isinstance(typed, Refused):
                return Outcome(good=False, sentence=f"row '{row.label}': {typed.sentence}")
            await self._until_gone(rows, row.id, asked.seen)
        return Outcome(good=True, sentence=f"typed {asked.key} for you into row '{row.label}': {asked.seen[0].strip()}")

    async def _twice(self, rows: Screens, key: str) -> Dialog | str:
        """Return the dialog that two reads show alike, or why there is none that could be answered."""
        row = rows.find(key)
        if row is not None and row.phase is not Phase.READY:
            return f"its run is not ready yet (phase: {row.phase.value})"
        first = await _once(rows, key)
        if isinstance(first, str):
            return first
        await asyncio.sleep(AGAIN_SECS)
        again = await _once(rows, key)
        if isinstance(again, str):
            return again
        return again if again == first else "its screen is being drawn; look again"

    async def _until_gone(self, rows: Screens, key: str, lines: tuple[str, ...]) -> None:
        deadline = self._clock.monotonic() + GONE_SECS
        while self._clock.monotonic() < deadline:
            now = await _once(rows, key)
            if isinstance(now, str) or now.lines != lines:
                return
            await asyncio.sleep(AGAIN_SECS / 3)


async def _once(rows: Screens, key: str) -> Dialog | str:
    shown = await rows.screen(key)
    if isinstance(shown, Refused):
        return shown.sentence
    if shown.lag or shown.synchronizing:
        return "its screen is being drawn; look again"
    return dialog.found(dialog.lines_of(shown.screen.rows)) or NONE_SHOWN


def _refusal(seen: Dialog | str, asked: AnswerDialog) -> str:
    if isinstance(seen, str):
        return f"{CHANGED} ({seen})"
    if seen.lines != asked.seen:
        return CHANGED
    return "" if asked.key in seen.keys else f"its dialog has no option {asked.key}; nothing was typed"
