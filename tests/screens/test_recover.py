"""The recover dialog on a real lock: a real process holds it, and is killed or is not."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Button

from sot_tui.comm import registry, registry_lock
from sot_tui.screens.recover import RecoverDialog
from tests.screens.real import Opened, hold_lock, joined, kill, put

if TYPE_CHECKING:
    from pathlib import Path

IDLE: dict[str, object] = {"state": "idle"}


async def open_dialog(opened: Opened) -> RecoverDialog:
    await opened.until(lambda: opened.says("#lock-banner"), "the banner")
    await opened.pilot.press("ctrl+r")
    await opened.until(lambda: isinstance(opened.app.screen, RecoverDialog), "the dialog")
    screen = opened.app.screen
    assert isinstance(screen, RecoverDialog)
    return screen


def flat(opened: Opened) -> str:
    return " ".join(opened.screen_text().replace("│", " ").split())


async def test_lock_of_a_dead_holder_when_recovered_then_the_next_write_goes_through(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        holder = hold_lock(home)
        kill(holder)
        dialog = await open_dialog(opened)
        await opened.until(lambda: dialog.query_one("#recover-go", Button).display)
        assert f"pid {holder.pid}" in flat(opened)
        assert "dead" in flat(opened)
        assert opened.app.focused is dialog.query_one("#recover-cancel", Button), "Cancel is the default"
        await opened.pilot.press("ctrl+r")
        await opened.until(lambda: opened.app.screen is opened.nav, "it was cleared")
        assert f"cleared registry lock {home.lock}, held by" in opened.says("#message")
        assert not (comm_home / ".registry.lock").exists()
        put(comm_home, bob=IDLE)
        await opened.until(lambda: "bob" in opened.lines.keys)
        await opened.until(lambda: not opened.says("#lock-banner"))


async def test_dialog_when_cancelled_then_nothing_is_changed(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        kill(hold_lock(home))
        record = (comm_home / ".registry.lock").read_bytes()
        await open_dialog(opened)
        await opened.pilot.press("enter")
        assert opened.app.screen is opened.nav
        assert (comm_home / ".registry.lock").read_bytes() == record
        assert not list(comm_home.glob(".registry.lock.reclaim.*"))


async def test_lock_of_a_live_holder_when_looked_at_then_no_key_clears_it(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        holder = hold_lock(home)
        try:
            record = (comm_home / ".registry.lock").read_bytes()
            dialog = await open_dialog(opened)
            await opened.until(lambda: "It cannot be cleared from here" in flat(opened))
            name = record.split(b":")[0].decode()
            assert f"If it is dead, run any comm command on {name}." in flat(opened)
            assert not dialog.query_one("#recover-go", Button).display
            await opened.pilot.press("ctrl+r", "r", "y", "space", "tab", "tab")
            await opened.pilot.pause()
            dialog.action_recover()
            await opened.pilot.pause()
            assert (comm_home / ".registry.lock").read_bytes() == record
            assert not list(comm_home.glob(".registry.lock.reclaim.*"))
        finally:
            kill(holder)


UNPROVABLE = [
    pytest.param(
        "far:0123:4567:89:4242:77\n",
        "run any comm command on far, or, if far will not run again or a comm command there says it cannot prove a "
        "death, remove {lock} by hand.",
        id="another-machine",
    ),
    pytest.param(
        "box:-:-:-:4242:-\n",
        "No box can prove box pid 4242 dead (its record has no proof fields): if it is, remove {lock} by hand.",
        id="no-proof-fields",
    ),
    pytest.param("what is this\n", "If its holder is dead, remove {lock} by hand and retry.", id="unparsable"),
    pytest.param(None, "If its holder is dead, remove {lock} by hand and retry.", id="older-version"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "words"), UNPROVABLE)
async def test_lock_that_nobody_can_prove_when_looked_at_then_the_failed_lines_own_next_step_is_given(
    comm_home: Path, record: str | None, words: str
) -> None:
    home = put(comm_home, anna=IDLE)
    lock = comm_home / ".registry.lock"
    async with joined(comm_home) as opened:
        if record is None:
            lock.mkdir()
        else:
            lock.write_text(record)
        dialog = await open_dialog(opened)
        # Long paths are broken anywhere when they are shown, so blanks do not count.
        wanted = words.format(lock=home.lock).replace(" ", "")
        await opened.until(lambda: wanted in flat(opened).replace(" ", ""))
        await opened.pilot.press("ctrl+r")
        dialog.action_recover()
        await opened.pilot.pause()
        assert lock.exists()


async def test_dialog_when_another_writer_is_first_then_says_so(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        kill(hold_lock(home))
        dialog = await open_dialog(opened)
        await opened.until(lambda: dialog.query_one("#recover-go", Button).display)
        await asyncio.to_thread(registry.touch, home, "anna", registry.Wait.HEARTBEAT)
        await opened.until(lambda: "another writer cleared it: the registry lock is free" in flat(opened))
        assert not dialog.query_one("#recover-go", Button).display
        await opened.pilot.press("enter")
        assert opened.app.screen is opened.nav


async def test_dialog_when_another_process_holds_the_lock_meanwhile_then_says_so(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        kill(hold_lock(home))
        dialog = await open_dialog(opened)
        await opened.until(lambda: dialog.query_one("#recover-go", Button).display)
        holder = await asyncio.to_thread(hold_lock, home)
        try:
            await opened.until(lambda: "another writer cleared it: it is held by" in flat(opened))
            assert f"pid {holder.pid}" in flat(opened)
            await opened.pilot.press("ctrl+r")
            assert (comm_home / ".registry.lock").exists()
        finally:
            kill(holder)


async def test_recover_when_another_writer_is_first_at_the_key_press_then_says_so(comm_home: Path) -> None:
    """Both begin at once; whoever is second finds the marker, and waits for the first."""
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        kill(hold_lock(home))
        dialog = await open_dialog(opened)
        await opened.until(lambda: dialog.query_one("#recover-go", Button).display)
        other = await asyncio.create_subprocess_exec(
            sys.executable, "-c",
            "import sys; from sot_tui.comm import registry; from sot_tui.comm.home import Home;"
            "registry.touch(Home(sys.argv[1]), 'anna', registry.Wait.HEARTBEAT)",
            home.path,
        )  # fmt: skip
        await opened.until(lambda: list(comm_home.glob(".registry.lock.reclaim.*")), "its marker")
        await opened.pilot.press("ctrl+r")
        await opened.until(lambda: "another writer cleared it" in flat(opened))
        assert await other.wait() == 0


async def test_own_writes_when_a_dialog_is_open_then_rest(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        kill(hold_lock(home))
        await open_dialog(opened)
        await opened.until(lambda: not opened.engine._may_write.is_set(), "the writes rest")
        await opened.pilot.press("escape")
        await opened.until(opened.engine._may_write.is_set, "the writes go on")


async def test_lock_when_free_then_there_is_nothing_to_recover(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        await opened.until(lambda: opened.fleet.lock.phase.value == "free")
        await opened.pilot.press("ctrl+r")
        await opened.until(lambda: "the registry lock is free" in opened.says("#message"))


async def test_banner_when_clicked_then_opens_the_dialog(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        kill(hold_lock(home))
        await opened.until(lambda: opened.says("#lock-banner"))
        await opened.pilot.click("#lock-banner")
        await opened.until(lambda: isinstance(opened.app.screen, RecoverDialog))


def test_write_of_a_moment_when_looked_at_twice_then_is_no_wedge(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    held = registry_lock.take(home, registry_lock.Wait.RULED)
    assert isinstance(held, registry_lock.Held)
    try:
        assert registry_lock.look(home).age_s < 2
    finally:
        registry_lock.release(home, held)
