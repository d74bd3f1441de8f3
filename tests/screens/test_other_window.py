"""A dashboard whose engine is in another process: no screen knows, until that engine is gone."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sot_tui.comm.fleet import Stance
from sot_tui.engine.executors import Pool
from sot_tui.engine.seat import Seat
from sot_tui.screens.app import SotApp
from sot_tui.screens.recover import RecoverDialog
from tests.screens.real import Opened, entry, hold_lock, kill, put
from tests.unit.test_clients import DONE, engine_at, environ, served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

BLOCKED: dict[str, object] = {"state": "blocked", "dialog": "Allow Bash?", "summary": "Allow Bash?"}


@asynccontextmanager
async def other_window(path: Path) -> AsyncIterator[Opened]:
    """Open a dashboard on a client of an engine that nothing but the socket leads to."""
    home, pool = put(path), Pool("test", 4)
    async with engine_at(home, window=False) as engine:
        client = await served(home, engine, pool)
        app = SotApp(client)
        try:
            async with app.run_test(size=(120, 30)) as pilot:
                opened = Opened(home, engine, app, pilot)
                await opened.until(lambda: "operator-box" in client.fleet.agents, "the join")
                yield opened
        finally:
            await client.close()
            pool.close()


async def test_window_when_its_engine_is_elsewhere_then_clears_writes_reads_and_recovers(comm_home: Path) -> None:
    home = put(comm_home, asks=BLOCKED, ready=DONE)
    async with other_window(comm_home) as opened:
        await opened.until(lambda: "ready" in opened.lines.keys, "the fleet")
        assert not opened.says("#stance-banner")
        await opened.click_line("ready")
        await opened.until(lambda: "done" not in entry(home, "ready"), "a click clears a done")
        opened.lines.select("asks")
        await opened.pilot.press("r")
        await opened.until(lambda: opened.app.screen is not opened.nav, "a letter")
        await opened.pilot.press(*"yes", "ctrl+s")
        inbox = comm_home / "inbox" / "asks.jsonl"
        await opened.until(lambda: inbox.exists() and b'yes"' in inbox.read_bytes(), "it is filed")
        await opened.until(lambda: opened.app.screen is opened.nav, "it is closed")
        await opened.pilot.press("e")
        await opened.until(lambda: "filed -> @asks" in opened.screen_text(), "the engine's own log")
        await opened.pilot.press("escape")
        await opened.until(lambda: opened.app.screen is opened.nav, "back")
        kill(hold_lock(home))
        await opened.until(lambda: "Ctrl" in opened.says("#lock-banner") or opened.fleet.lock.wedged, "the banner")
        await opened.pilot.press("ctrl+r")
        await opened.until(lambda: isinstance(opened.app.screen, RecoverDialog), "the proof")


async def test_window_when_its_engine_ends_then_says_so_and_hosts_and_goes_on(comm_home: Path) -> None:
    home = put(comm_home, ready=DONE)
    first = Seat(home, environ(), no_person=lambda _home, _pid: "")
    async with first:
        second = Seat(home, environ(), no_person=lambda _home, _pid: "")
        async with second:
            app = SotApp(second)
            async with app.run_test(size=(120, 30)) as pilot:
                opened = Opened(home, engine_at(home), app, pilot)
                await opened.until(lambda: "ready" in opened.lines.keys, "the fleet")
                first._ended.set()
                await opened.until(lambda: "the engine is gone" in opened.says("#stance-banner"), "it says so")
                await opened.until(lambda: not opened.says("#stance-banner"), "it hosts")
                assert second.fleet.stance is Stance.HOST
                await opened.click_line("ready")
                await opened.until(lambda: "done" not in entry(home, "ready"), "and writes")
