"""The client before there is an engine: the first frame stands before the engine is even loaded.

To load and to begin an engine takes as long as a third of a start, and nothing of it is to be seen; a person who sees
the frame knows that the program runs. Until then the fleet is not read yet, and what is asked for waits. An engine that
cannot begin fails whatever waits for it, with its own reason.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.comm.clock import Clock
    from sot_tui.comm.fleet import Fleet
    from sot_tui.engine.client import Client, Command, NotLive, Viewer

T = TypeVar("T")


class ComingClient:
    """The client of an engine that is still to come."""

    def __init__(self, fleet: Fleet, clock: Clock) -> None:
        self._fleet = fleet
        self._clock = clock
        self._client: Client | None = None
        self._settled = asyncio.Event()
        self._fault: BaseException | None = None
        self._listeners: list[Callable[[], None]] = []

    @property
    def fleet(self) -> Fleet:
        """Return the newest fleet."""
        return self._fleet if self._client is None else self._client.fleet

    def now(self) -> float:
        """Return the moment that ages are taken against."""
        return self._clock.now() if self._client is None else self._client.now()

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called after each visible change; return what ends that."""
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    async def do(self, command: Command[T]) -> T:
        """Carry out a command and return its outcome, once there is an engine."""
        await self._settled.wait()
        if self._client is None:
            raise self._fault or RuntimeError("there is no engine")
        return await self._client.do(command)

    async def viewer(self, row: str) -> Viewer | NotLive:
        """Open the live terminal of a row, once there is an engine."""
        await self._settled.wait()
        if self._client is None:
            raise self._fault or RuntimeError("there is no engine")
        return await self._client.viewer(row)

    def come(self, client: Client) -> None:
        """Go on with the engine's own client."""
        self._client = client
        client.listen(self._changed)
        self._settled.set()
        self._changed()

    def fail(self, fault: BaseException) -> None:
        """Say that no engine will come."""
        self._fault = fault
        self._settled.set()

    def _changed(self) -> None:
        for changed in tuple(self._listeners):
            changed()
