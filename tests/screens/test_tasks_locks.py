"""What a person does about locks, each task by keys and by mouse: look, recover, cancel, go back."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Button

from sot_tui.engine.client import LookAtLocks, ReadEvents
from sot_tui.engine.service import LocalClient
from sot_tui.screens.app import SotApp
from sot_tui.screens.locks import LocksScreen
from sot_tui.screens.recover import RecoverDialog
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import FakeClient, fleet
from tests.screens.mailing import IDLE, until_on
from tests.screens.real import hold_lock, joined, kill, put

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.home import Home
    from tests.screens.real import Opened

DONE: dict[str, object] = {"state": "done", "done": True, "note": "built", "summary": "built"}
ROOMY = (160, 40)
"""Where every key has its place in the key line."""
WAYS = pytest.mark.parametrize("way", ["keys", "mouse"])


async def act(opened: Opened, way: str, key: str, label: str) -> None:
    """Press a key, or click it in the key line."""
    await (opened.pilot.press(key) if way == "keys" else opened.click_key(label))


async def die_with_the_lock(opened: Opened, home: Home) -> int:
    """Have a process die with the registry lock, and wait for the banner."""
    holder = await asyncio.to_thread(hold_lock, home)
    kill(holder)
    await opened.until(lambda: "registry lock held for" in opened.says("#lock-banner"), "the banner")
    return holder.pid


async def open_dialog(opened: Opened, way: str) -> RecoverDialog:
    await (opened.pilot.press("ctrl+r") if way == "keys" else opened.pilot.click("#lock-banner"))
    await until_on(opened, RecoverDialog)
    dialog = opened.app.screen
    assert isinstance(dialog, RecoverDialog)
    await opened.until(lambda: dialog.query_one("#recover-go", Button).display, "there is something to recover")
    return dialog


@pytest.mark.parametrize("way", ["the key twice", "the buttons by keys", "the mouse"])
async def test_lock_of_a_dead_holder_when_recovered_then_is_gone_and_the_next_write_goes_through(
    comm_home: Path, way: str
) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        pid = await die_with_the_lock(opened, home)
        dialog = await open_dialog(opened, "mouse" if way == "the mouse" else "keys")
        assert f"pid {pid} is gone" in opened.says("#recover-record").replace("\n", " ")
        assert "The next write by anyone clears it too" in opened.says("#recover-what")
        assert opened.app.focused is dialog.query_one("#recover-cancel", Button), "Cancel is the default"
        if way == "the key twice":
            await opened.pilot.press("ctrl+r")
        elif way == "the mouse":
            await opened.pilot.click("#recover-go")
        else:
            await opened.pilot.press("tab", "enter")
        await opened.until(lambda: opened.app.screen is opened.nav, "it was cleared")
        said = opened.says("#message")
        assert re.match(rf"cleared registry lock {re.escape(home.lock)}, held by .*pid {pid}", said), said
        assert not (comm_home / ".registry.lock").exists()
        put(comm_home, bob=IDLE)
        await opened.until(lambda: "bob" in opened.lines.keys)
        await opened.until(lambda: not opened.says("#lock-banner"))


async def test_lock_of_a_dead_holder_when_a_write_of_ours_clears_it_then_the_events_say_which(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE)
    async with joined(comm_home, ROOMY) as opened:
        pid = await die_with_the_lock(opened, home)
        opened.lines.select("anna")
        await opened.pilot.press("d")
        await opened.until(lambda: not (comm_home / ".registry.lock").exists(), "the write of the view clears it")
        await opened.until(lambda: not opened.says("#lock-banner"))
        events = await LocalClient(opened.engine).do(ReadEvents())
        told = [line.text for line in events.lines if "was cleared by" in line.text]
        assert len(told) == 1
        assert re.fullmatch(rf"the registry lock of \S+ pid {pid} was cleared by our own write \(clear done\)", told[0])


@pytest.mark.parametrize("how", ["escape", "enter", "a click"])
async def test_dialog_when_cancelled_then_the_lock_is_as_it_was(comm_home: Path, how: str) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        await die_with_the_lock(opened, home)
        record = (comm_home / ".registry.lock").read_bytes()
        await open_dialog(opened, "mouse" if how == "a click" else "keys")
        await (opened.pilot.click("#recover-cancel") if how == "a click" else opened.pilot.press(how))
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert (comm_home / ".registry.lock").read_bytes() == record
        assert not list(comm_home.glob(".registry.lock.reclaim.*"))


async def test_lock_of_a_live_holder_when_all_of_the_dialog_is_clicked_then_stays(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        holder = await asyncio.to_thread(hold_lock, home)
        try:
            record = (comm_home / ".registry.lock").read_bytes()
            await opened.until(lambda: "what can be done" in opened.says("#lock-banner"), "the banner promises nothing")
            await opened.pilot.click("#lock-banner")
            await until_on(opened, RecoverDialog)
            await opened.until(lambda: "It cannot be cleared from here" in opened.says("#recover-what"))
            assert not opened.app.screen.query_one("#recover-go", Button).display
            assert "recover" not in opened.says("#keys"), "what can do nothing is not offered"
            frame = opened.app.screen.query_one("#recover").region
            for y in range(frame.y + 1, frame.bottom - 1):
                if isinstance(opened.app.screen, RecoverDialog):
                    await opened.pilot.click(offset=(frame.right - 4, y))
            assert (comm_home / ".registry.lock").read_bytes() == record
            assert not list(comm_home.glob(".registry.lock.reclaim.*"))
        finally:
            kill(holder)


@WAYS
async def test_locks_when_the_dead_holders_is_chosen_then_recover_is_reached_and_its_end_is_seen(
    comm_home: Path, way: str
) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        await die_with_the_lock(opened, home)
        await (opened.pilot.press("l") if way == "keys" else opened.pilot.click("#lock"))
        await until_on(opened, LocksScreen)
        lines = opened.app.screen.query_one("#locks", Lines)
        await opened.until(lambda: "is gone" in opened.screen_text())
        await act(opened, way, "ctrl+r", "recover")
        await until_on(opened, RecoverDialog)
        await (opened.pilot.press("ctrl+r") if way == "keys" else opened.pilot.click("#recover-go"))
        await until_on(opened, LocksScreen)
        await opened.until(lambda: "nobody" in opened.screen_text() and list(lines.keys) == ["registry"])
        assert not (comm_home / ".registry.lock").exists()
        assert "recover" not in opened.says("#keys"), "what can do nothing is not offered"
        await opened.pilot.press("ctrl+r")
        why = "the registry lock is free: there is nothing to recover"
        await opened.until(lambda: opened.says("#message") == why)
        await act(opened, way, "escape", "back")
        await opened.until(lambda: opened.app.screen is opened.nav)


@WAYS
async def test_locks_when_looked_at_again_then_the_disk_is_asked(way: str) -> None:
    client = FakeClient(fleet())
    app = SotApp(client)
    async with app.run_test(size=ROOMY) as pilot:
        await pilot.press("l")
        await pilot.pause()
        await pilot.pause()
        before = len(client.asked_for(LookAtLocks))
        assert before
        if way == "keys":
            await pilot.press("R")
        else:
            line = app.screen.query_one("#keys")
            await pilot.click(line, offset=(str(line.render()).index(" look again") + 2, 0))
        await pilot.pause()
        assert len(client.asked_for(LookAtLocks)) == before + 1
