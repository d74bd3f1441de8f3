"""The supervisor of the engine's duties.

Everything the engine runs is a named duty in one task group. A duty that raises, or that ends though it should go on,
is started again after a pause that grows, and what went wrong stands in the fleet until the duty works again: never a
silent task, never the end of the dashboard.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sot_tui.comm.errors import SotError
from sot_tui.engine.fold import Faulted, Mended

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sot_tui.comm.clock import Clock
    from sot_tui.engine.fold import Event

FIRST_PAUSE = 0.5
"""Seconds before a duty is started again the first time; each fault in a row doubles them."""
LONGEST_PAUSE = 30.0
"""Seconds that the pause grows to."""


class Duties:
    """The running duties of one engine, which owns the task group they are in."""

    def __init__(self, group: asyncio.TaskGroup, clock: Clock, tell: Callable[[Event], None]) -> None:
        self._group = group
        self._clock = clock
        self._tell = tell
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, duty: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        """Run `duty` for ever. It is given a function to call whenever a round of its work has gone well."""
        self._tasks.append(self._group.create_task(self._keep(name, duty), name=f"sot-{name}"))

    def stop(self) -> None:
        """End every duty."""
        for task in self._tasks:
            task.cancel()

    async def _keep(self, name: str, duty: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
        pause = FIRST_PAUSE

        def well() -> None:
            nonlocal pause
            pause = FIRST_PAUSE
            self._tell(Mended(name))

        while True:
            try:
                await duty(well)
                words = "it ended"
            except SotError as fault:
                words = fault.sentence
            except Exception as fault:  # noqa: BLE001  (the supervisor: whatever it is, a person is told)
                words = _words(fault)
            self._tell(Faulted(name, f"{words}; next try in {pause:g} s", self._clock.now()))
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)


def _words(fault: Exception) -> str:
    """Return what went wrong, as the system says it where it was the system."""
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.strerror} ({fault.filename})" if fault.filename else fault.strerror
    return f"{type(fault).__name__}: {fault}"
