"""A dashboard's place at the engine: it hosts it when none runs, is a client of the one that does, or only looks.

A kernel lock decides who hosts, so no duty is ever done twice (architecture, Processes). A client that loses its engine
races for the lock at once; whoever loses that race is a client of the winner, and what a person asks for meanwhile
waits. One that is not let in (another comm home, another version, a daemon that is not ours) looks by itself and says
why, and asks again. Only who hosts hands the duties over when it leaves.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Self, TypeVar

from sot_tui.comm import ancestry
from sot_tui.comm.errors import Refused
from sot_tui.comm.fleet import Fleet, Stance
from sot_tui.engine import remote
from sot_tui.engine.executors import Pool
from sot_tui.engine.hosting import Hosting, why_only_look
from sot_tui.engine.leaving import Leaving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from sot_tui.comm.home import Home
    from sot_tui.engine.client import Client, Command, NotLive, Viewer
    from sot_tui.engine.service import Engine

T = TypeVar("T")

SETTLE_SECS = 2.0
"""Seconds in which an engine that has the lock has to be reached before this one looks by itself."""
RACE_SECS = 0.1
"""Seconds between two tries of who has no engine; who loses one has it within three (product)."""
AGAIN_SECS = 1.0
"""Seconds between two tries of who looks by itself."""
WAIT_SECS = 5.0
"""Seconds for which a command waits while there is no engine."""
THREADS = 4


class Seat:
    """The client of a dashboard, whoever hosts; an asynchronous context that is alive while it is entered."""

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        *,
        only_look: str = "",
        no_person: Callable[[Home, int], str] = ancestry.not_a_person,
    ) -> None:
        """`only_look` is why this dashboard may neither host nor be a client; empty when it may."""
        self._home, self._environ, self._no_person = home, environ, no_person
        self._hosting = Hosting(home, environ, only_look)
        self._pool = Pool("seat", THREADS)
        self._group = asyncio.TaskGroup()
        self._client: Client | None = None
        self._unlisten: Callable[[], None] | None = None
        self._listeners: list[Callable[[], None]] = []
        self._seated, self._ended = asyncio.Event(), asyncio.Event()
        self.leaving = Leaving(home, environ, self._pool.run)
        """What becomes of the duties when this dashboard ends."""

    # -- life --------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Take a place: as the host, as a client, or as one who looks."""
        await self._group.__aenter__()
        self._group.create_task(self._keep(), name="sot-seat")
        try:
            await self._seated.wait()
        except asyncio.CancelledError as fault:
            # Whoever waits is cancelled also when the keeping failed: what it failed with is told, not that.
            await self.__aexit__(type(fault), fault, fault.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the place up, and see the duties go on where they are to."""
        self._ended.set()
        try:
            await self._group.__aexit__(kind, fault, trace)
        finally:
            self._pool.close()

    async def _keep(self) -> None:
        """Sit where there is a place, until the end."""
        clock = self._home.clock
        try:
            deadline = clock.monotonic() + SETTLE_SECS
            while not self._ended.is_set():
                stands = await self._pool.run(self._hosting.settle)
                if stands.stance is not Stance.VIEWER:
                    await self._run_engine()
                    return
                found: remote.SocketClient | remote.Unserved | None = await self._reached()
                if isinstance(found, remote.Unserved):
                    if found.yet and not self._hosting.is_served_by_another and clock.monotonic() < deadline:
                        await self._pause(RACE_SECS)
                        continue
                    found = await self._look(found.why)
                if isinstance(found, remote.SocketClient):
                    await self._be_served(found)
                    deadline = clock.monotonic() + SETTLE_SECS
        finally:
            self._hosting.release()

    async def _reached(self) -> remote.SocketClient | remote.Unserved:
        return await remote.connect(self._home, self._environ, self._hosting.path, self._pool.run)

    async def _run_engine(self) -> None:
        """Run the engine here until the end: with the duties, or without them where none can run."""
        from sot_tui.engine.service import LocalClient  # noqa: PLC0415  (a client needs none of it)

        async with self._engine() as engine:
            self._sit(LocalClient(engine))
            await self._stay(engine)
        await self.leaving.settle()

    def _engine(self) -> Engine:
        from sot_tui.engine.service import Engine  # noqa: PLC0415  (as above)

        return Engine(self._home, self._environ, hosting=self._hosting, no_person=self._no_person)

    async def _stay(self, engine: Engine) -> None:
        """Wait for the end, and let a daemon come for the duties if no other window is there to take them over."""
        await self._ended.wait()
        if engine.fleet.stance is Stance.HOST and not engine.windows:
            await self.leaving.begin(engine.fleet, engine.config.of("on_leave"))

    async def _be_served(self, client: remote.SocketClient) -> None:
        """Be a client until the engine is gone, or the end."""
        self._hosting.unserved = ""
        self._sit(client)
        try:
            waits = [asyncio.create_task(event.wait()) for event in (client.lost, self._ended)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
        finally:
            if not self._ended.is_set():
                self._seated.clear()
            await client.close()

    async def _look(self, why: str) -> remote.SocketClient | None:
        """Look by itself, and say why, until an engine lets this window in; None when it was the end, or hosted."""
        from sot_tui.engine.service import LocalClient  # noqa: PLC0415  (as above)

        self._hosting.unserved = why
        async with self._engine() as engine:
            self._sit(LocalClient(engine))
            while _only_looks(engine) and not self._ended.is_set():
                await self._pause(AGAIN_SECS)
                found = await self._reached()
                if isinstance(found, remote.Unserved):
                    self._hosting.unserved = found.why
                elif _only_looks(engine) and not self._ended.is_set():
                    self._sit(found)
                    return found
                else:
                    await found.close()
            await self._stay(engine)
        await self.leaving.settle()
        return None

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()

    # -- the client --------------------------------------------------------------------------------------------------

    def _sit(self, client: Client) -> None:
        if self._unlisten is not None:
            self._unlisten()
        self._client, self._unlisten = client, client.listen(self._changed)
        self._seated.set()
        self._changed()

    def _changed(self) -> None:
        for changed in tuple(self._listeners):
            changed()

    @property
    def fleet(self) -> Fleet:
        """Return the newest fleet."""
        return Fleet(home=self._home.path) if self._client is None else self._client.fleet

    def now(self) -> float:
        """Return the moment that ages are taken against."""
        return self._home.clock.now()

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called after each visible change; return what ends that."""
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    async def do(self, command: Command[T]) -> T:
        """Carry out a command and return its outcome; while there is no engine it waits for the next one."""
        return await (await self._served_by()).do(command)

    async def viewer(self, row: str) -> Viewer | NotLive:
        """Open the live terminal of a row of this box, by the row's id."""
        return await (await self._served_by()).viewer(row)

    async def _served_by(self) -> Client:
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECS):
                await self._seated.wait()
        if self._client is None:
            raise Refused("there is no engine")
        return self._client


def _only_looks(engine: Engine) -> bool:
    return engine.fleet.stance is Stance.VIEWER


def seat_here(home: Home, environ: Mapping[str, str], *, readonly: bool) -> Seat:
    """Return the seat of a dashboard in this process; it only looks when that is asked for, or below an agent."""
    return Seat(home, environ, only_look=why_only_look(home, asked=readonly))
