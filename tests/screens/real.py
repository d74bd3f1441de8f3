"""A real comm home, a real engine, and facts to wait for: what the behaviour of the screens is tested on."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.registry import NotWritten, Wait
from sot_tui.engine.rows.row import Row
from sot_tui.engine.rows.store import Store
from sot_tui.engine.service import STAMP_SECS, TICK_SECS, Engine, LocalClient
from sot_tui.screens.app import SotApp
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.show import Words
from sot_tui.screens.widgets.lines import Lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

    from textual.pilot import Pilot

    from sot_tui.comm.fleet import Fleet

HOST = "box"
DEADLINE_SECS = 20.0
"""How long a fact is waited for; it comes in a fraction of that."""
_HOLDER = (
    "import sys, time; from sot_tui.comm import registry_lock; from sot_tui.comm.home import Home; "
    "held = registry_lock.take(Home(sys.argv[1]), registry_lock.Wait.RULED); "
    "print(type(held).__name__, flush=True); time.sleep(600)"
)


class Opened(NamedTuple):
    """A dashboard on a real comm home."""

    home: Home
    engine: Engine
    app: SotApp
    pilot: Pilot[None]

    @property
    def fleet(self) -> Fleet:
        return self.engine.fleet

    @property
    def nav(self) -> NavScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, NavScreen)
        return screen

    @property
    def lines(self) -> Lines:
        return self.nav.query_one("#fleet", Lines)

    def says(self, selector: str) -> str:
        """Return what a piece of the screen says; empty when it is not displayed."""
        words = self.app.screen.query_one(selector, Words)
        return str(words.content) if words.display else ""

    def screen_text(self) -> str:
        """Return the whole screen as text."""
        return "\n".join(line.text for line in self.app.screen._compositor.render_strips())

    def line_of(self, handle: str) -> str:
        """Return the line of a handle as it is painted."""
        y = self.lines.keys.index(handle) - self.lines.scroll_offset.y
        return self.lines.render_line(y).text

    async def until(self, fact: Callable[[], object], what: str = "") -> None:
        """Wait until a fact holds; say what the screen shows when it never does."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DEADLINE_SECS
        while not fact():
            if loop.time() > deadline:
                raise AssertionError(f"it never came: {what or fact}\n{self.screen_text()}\n{self.fleet}")
            await self.pilot.pause(0.02)
        await self.pilot.pause()

    async def click_line(self, handle: str, times: int = 1) -> None:
        """Click the line of a handle in the nav."""
        await self.click_in(self.lines, handle, times=times)

    async def click_in(self, lines: Lines, key: str, x: int = 10, times: int = 1) -> None:
        """Click a line, once it has stood where it stands for as long as a hand needs."""
        await self.until(lambda: lines.is_still, "the lines rest")
        await self.pilot.click(lines, offset=(x, lines.keys.index(key) - lines.scroll_offset.y), times=times)

    async def click_key(self, label: str) -> None:
        """Click a key of the key line, by its label."""
        line = self.app.screen.query_one("#keys", Words)
        at = f"{line.content}  ".index(f" {label}  ")
        await self.pilot.click(line, offset=(at + 2, 0))


@asynccontextmanager
async def dashboard(
    path: Path, size: tuple[int, int] = (100, 30), *, tick_s: float = TICK_SECS, stamp_s: float = STAMP_SECS
) -> AsyncIterator[Opened]:
    """Open a dashboard on the comm home at `path`."""
    home = Home(str(path))
    async with Engine(home, {**os.environ, "SOT_SELF_HOST": HOST}, tick_s=tick_s, stamp_s=stamp_s) as engine:
        app = SotApp(LocalClient(engine))
        async with app.run_test(size=size, notifications=True) as pilot:
            opened = Opened(home, engine, app, pilot)
            await opened.until(lambda: engine.fleet.registry.reading.value != "not read yet", "a first look")
            yield opened


@asynccontextmanager
async def joined(
    path: Path, size: tuple[int, int] = (100, 30), *, tick_s: float = TICK_SECS, stamp_s: float = STAMP_SECS
) -> AsyncIterator[Opened]:
    """Open a dashboard, and wait until its operator has joined and every inbox is counted."""
    async with dashboard(path, size, tick_s=tick_s, stamp_s=stamp_s) as opened:
        await opened.until(lambda: opened.fleet.operator in opened.fleet.agents and opened.fleet.operator, "the join")
        await opened.until(lambda: set(opened.fleet.mail) == set(opened.fleet.agents), "the counts")
        yield opened


def put_row(path: Path, row_id: str, handle: str) -> None:
    """Put the file of a row that never ran, and that holds a handle all the same (daemon wire 3.4)."""
    row = Row(row_id, "row", "row", str(path.parent), 1, agent_handle=handle)
    Store(Home(str(path)), os.environ, HOST).save(row)


def put(path: Path, **entries: Mapping[str, object] | None) -> Home:
    """Put live entries of this box into the registry; a `_` stands for `-`, and None takes an entry out."""
    home = Home(str(path))
    ensure_home(home)
    now = stamp(home.clock.now())

    def change(book: registry.Registry) -> bool:
        for name, said in entries.items():
            handle = name.replace("_", "-")
            if said is None:
                book.agents.pop(handle, None)
            else:
                plain: dict[str, object] = {"host": HOST, "workspace_id": "", "last_seen": now, "status_at": now}
                book.agents[handle] = plain | dict(said)
        return True

    written = registry.replace(home, change, Wait.RULED)
    assert not isinstance(written, NotWritten), written
    return home


def entry(home: Home, handle: str) -> dict[str, object]:
    """Return an entry as it stands on the disk."""
    book = registry.read(home)
    assert not isinstance(book, registry.Unread), book
    found = book.entry(handle)
    assert found is not None, handle
    return found


def hold_lock(home: Home) -> subprocess.Popen[str]:
    """Start a process that takes the registry lock and keeps it."""
    holder = subprocess.Popen([sys.executable, "-c", _HOLDER, home.path], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "Held"
    return holder


def kill(holder: subprocess.Popen[str]) -> None:
    """Kill a process as a crash would, and see it gone."""
    holder.kill()
    holder.wait()
    if holder.stdout is not None:
        holder.stdout.close()
