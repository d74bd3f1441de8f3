"""A control socket in the test's own loop: the real server, a real comm home, and rows that are kept in memory."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from sot_tui.comm import ancestry
from sot_tui.comm.fleet import Fleet
from sot_tui.engine.client import NotLive
from sot_tui.engine.server import Server, Site
from tests.caller import DEADLINE_S
from tests.rowbook import RowBook

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.engine.client import Command
    from sot_tui.engine.filer import Offers
    from sot_tui.engine.ops.asked import Rows


class Desk:
    """An engine as the ops see one: a fleet, and commands that are taken down."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.fleet = Fleet(home=home.path, host="atlas", doubt_secs=300)
        self.done: list[object] = []
        self.outcome: object = None
        self.listeners: list[Callable[[], None]] = []
        self.at_now: Callable[[], None] | None = None
        """What happens once, when it is asked for the moment."""

    def now(self) -> float:
        happens, self.at_now = self.at_now, None
        if happens is not None:
            happens()
        return self.home.clock.now()

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(changed)
        return lambda: self.listeners.remove(changed)

    async def do(self, command: Command[Any]) -> Any:
        self.done.append(command)
        return self.outcome

    async def viewer(self, row: str) -> NotLive:
        return NotLive(f"no capsule answers for {row}")

    def change(self) -> None:
        self.fleet = self.fleet._replace(revision=self.fleet.revision + 1)
        for changed in tuple(self.listeners):
            changed()


class Daemon(NamedTuple):
    """A daemon that serves."""

    home: Home
    server: Server
    rows: RowBook
    desk: Desk
    log: list[tuple[str, bool]]

    @property
    def path(self) -> str:
        return self.server.site.path


@asynccontextmanager
async def daemon(
    home: Home,
    *,
    rows: RowBook | None = None,
    environ: Mapping[str, str] | None = None,
    offers: Offers | None = None,
    no_person: Callable[[Home, int], str] = ancestry.not_a_person,
    path: str = "",
) -> AsyncIterator[Daemon]:
    """Serve until the block ends."""
    path = path or f"{os.environ['XDG_RUNTIME_DIR']}/sot/sessions/sot.sock"
    desk, log = Desk(home), []
    book = rows or RowBook()
    its: Rows = book
    site = Site(home, environ or dict(os.environ), "atlas", path, "9.9")
    server = Server(site, its, desk, lambda words, good: log.append((words, good)), offers=offers, no_person=no_person)
    serving = asyncio.create_task(server.serve(lambda: None))
    ready = asyncio.create_task(server.ready.wait())
    await asyncio.wait([serving, ready], timeout=DEADLINE_S, return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    if serving.done():
        serving.result()
    try:
        yield Daemon(home, server, book, desk, log)
    finally:
        if not serving.done():
            serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        server.close()
