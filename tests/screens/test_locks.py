"""The locks: holders of real locks by real processes, never tried; what is not known is said; Recover from here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.proc_locks import InboxLocks
from sot_tui.comm.registry_lock import Markers
from sot_tui.engine.client import Locks
from sot_tui.screens.app import SotApp
from sot_tui.screens.locks import LocksScreen
from sot_tui.screens.recover import RecoverDialog
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import FREE, FakeClient, fleet
from tests.screens.real import Opened, hold_lock, joined, kill, put
from tests.unit.test_proc_locks import _READER, _WRITER, Locker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IDLE: dict[str, object] = {"state": "idle"}


@pytest.fixture
def lockers() -> Iterator[list[Locker]]:
    started: list[Locker] = []
    yield started
    for locker in started:
        locker.close()


async def open_locks(opened: Opened) -> Lines:
    await opened.pilot.press("l")
    await opened.until(lambda: isinstance(opened.app.screen, LocksScreen), "the locks")
    lines = opened.app.screen.query_one("#locks", Lines)
    await opened.until(lambda: lines.keys, "the first look")
    return lines


def flat(opened: Opened) -> str:
    return " ".join(opened.screen_text().split())


async def test_locks_when_nothing_is_held_then_says_so(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        lines = await open_locks(opened)
        await opened.until(lambda: "● registry lock nobody" in flat(opened))
        assert list(lines.keys) == ["registry"]
        assert "no inbox lock is held" in flat(opened)
        await opened.pilot.press("enter")
        await opened.until(lambda: "the registry lock is free: there is nothing to recover" in flat(opened))
        await opened.pilot.press("escape")
        await opened.until(lambda: opened.app.screen is opened.nav)


async def test_inbox_lock_when_held_then_its_holder_and_waiter_are_named_while_it_lasts(
    comm_home: Path, lockers: list[Locker]
) -> None:
    """Product, Locks: every inbox lock that is held, its holder, its age, known waiters, the verdict in words."""
    put(comm_home, anna=IDLE)
    path = comm_home / "inbox" / "anna.lock"
    async with joined(comm_home) as opened:
        lockers.append(holder := await asyncio.to_thread(Locker, path, _WRITER))
        assert holder.says() == "held"
        lockers.append(waiter := await asyncio.to_thread(Locker, path, _READER))
        lines = await open_locks(opened)
        await opened.until(lambda: "inbox anna" in lines.keys, "the next look finds it")
        assert f"inbox of anna pid {holder.pid} python" in flat(opened)
        await opened.until(lambda: f"pid {waiter.pid}" in flat(opened), "the waiter")
        await opened.pilot.press("j")
        assert lines.selected == "inbox anna"
        start = opened.home.procs.start_of(holder.pid)
        for words in (
            f"start {start}, as a writer",
            "at least",
            "alive: the kernel lets the lock go by itself when its holder ends",
            f"if it hangs, end it (kill {holder.pid})",
        ):
            assert words in flat(opened), words
        await opened.pilot.press("ctrl+r")
        await opened.until(lambda: "an inbox lock is never cleared" in flat(opened), "nothing here clears it")
        holder.close()
        waiter.close()
        await opened.until(lambda: list(lines.keys) == ["registry"], "it is free, and says so without a key")
        assert lines.selected == "registry"


async def test_registry_lock_when_its_holder_is_dead_then_recover_is_reached_from_here(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        holder = await asyncio.to_thread(hold_lock, home)
        kill(holder)
        await open_locks(opened)
        await opened.until(lambda: f"pid {holder.pid} is gone" in flat(opened))
        for words in ("◆ registry lock", "not known: who waits for this lock leaves no trace", "^r recovers it"):
            await opened.until(lambda words=words: words in flat(opened), words)  # type: ignore[misc]  # mypy/issues/15459
        await opened.pilot.press("ctrl+r")
        await opened.until(lambda: isinstance(opened.app.screen, RecoverDialog), "the dialog")
        await opened.pilot.press("ctrl+r")
        await opened.until(lambda: isinstance(opened.app.screen, LocksScreen), "it was cleared")
        await opened.until(lambda: "● registry lock nobody" in flat(opened))
        assert f"cleared registry lock {home.lock}, held by" in opened.says("#message")
        await opened.until(lambda: "1 older reclaim marker, kept for good" in flat(opened), "its marker stays")


async def test_registry_lock_when_its_reclaim_stands_then_the_marker_is_shown(comm_home: Path) -> None:
    """A marker whose maker cannot be proved dead stands in the way, so it is what a person has to look at."""
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        holder = await asyncio.to_thread(hold_lock, home)
        record = (comm_home / ".registry.lock").read_text().strip()
        kill(holder)
        (comm_home / f".registry.lock.reclaim.{record.replace(':', '.')}").write_text("far:m2:b2:1:4242:77\n")
        lines = await open_locks(opened)
        await opened.until(lambda: "marker 0" in lines.keys)
        assert "└ reclaim marker" in flat(opened)
        assert "made by far pid 4242" in flat(opened)
        await opened.click_in(lines, "marker 0")
        await opened.until(lambda: "cannot be proved from here: another machine" in flat(opened))
        (comm_home / ".registry.lock").unlink()
        await opened.until(lambda: "● registry lock nobody" in flat(opened), "by hand, as the sentence says")


async def test_line_when_double_clicked_then_opens_the_dialog_of_the_registry_lock(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        kill(await asyncio.to_thread(hold_lock, home))
        lines = await open_locks(opened)
        await opened.until(lambda: opened.fleet.lock.dead)
        await opened.click_in(lines, lines.keys[0], times=2)
        await opened.until(lambda: isinstance(opened.app.screen, RecoverDialog))


async def test_header_when_its_lock_is_clicked_then_shows_the_locks(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        await opened.pilot.click("#lock")
        await opened.until(lambda: isinstance(opened.app.screen, LocksScreen))


NOT_KNOWN = [
    pytest.param(
        InboxLocks(unknown="this system does not tell who holds a file lock"),
        0,
        "who holds an inbox lock is not known: this system does not tell who holds a file lock",
        id="another-system",
    ),
    pytest.param(
        InboxLocks(unseen="this folder is on nfs4: a lock that another machine holds is not shown"),
        0,
        "no inbox lock is held, as far as this box can see this folder is on nfs4: a lock that another machine",
        id="another-machine",
    ),
    pytest.param(
        InboxLocks(), None, "how many older reclaim markers there are is not known", id="markers-that-cannot-be-listed"
    ),
]


@pytest.mark.parametrize(("inboxes", "others", "words"), NOT_KNOWN)
async def test_locks_when_something_is_not_known_then_that_is_said(
    inboxes: InboxLocks, others: int | None, words: str
) -> None:
    client = FakeClient(fleet())
    client.locks = Locks(FREE, Markers((), others), inboxes)
    app = SotApp(client)
    async with app.run_test(size=(140, 30)) as pilot:
        await pilot.press("l")
        await pilot.pause()
        await pilot.pause()
        text = " ".join("\n".join(line.text for line in app.screen._compositor.render_strips()).split())
        assert words in text
