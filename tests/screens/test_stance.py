"""A dashboard that only looks, by wish or beside another one: what it shows, what it refuses, and that it says why."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Button

from sot_tui.comm import frames, inbox
from sot_tui.comm.clock import stamp
from sot_tui.comm.fleet import Stance
from sot_tui.comm.home import Home
from sot_tui.engine.service import Engine, LocalClient
from sot_tui.screens.app import SotApp
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.recover import RecoverDialog
from tests.screens.real import HOST, Opened, entry, hold_lock, kill, put

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

WHY = "this dashboard was opened read-only (--readonly)"
DONE: dict[str, object] = {"state": "done", "done": True, "note": "built", "summary": "built"}
BLOCKED: dict[str, object] = {"state": "blocked", "dialog": "Allow Bash?", "summary": "Allow Bash?"}
STALE: dict[str, object] = {"last_seen": "2001-01-01T00:00:00Z", "state": "idle"}


def engine(path: Path, only_look: str = "") -> Engine:
    return Engine(Home(str(path)), {**os.environ, "SOT_SELF_HOST": HOST}, only_look=only_look)


@asynccontextmanager
async def looking(path: Path, only_look: str = "", size: tuple[int, int] = (120, 30)) -> AsyncIterator[Opened]:
    """Open a dashboard that only looks: because it is told to, or because another one hosts."""
    async with engine(path, only_look) as one:
        app = SotApp(LocalClient(one))
        async with app.run_test(size=size) as pilot:
            opened = Opened(Home(str(path)), one, app, pilot)
            await opened.until(lambda: one.fleet.registry.reading.value != "not read yet", "a first look")
            yield opened


async def test_dashboard_when_read_only_then_says_so_and_shows_the_fleet_live(comm_home: Path) -> None:
    put(comm_home, asks=BLOCKED)
    async with looking(comm_home, WHY) as opened:
        assert opened.says("#stance-banner") == f"read-only · {WHY}"
        assert "1 needs you" in opened.says("#counts")
        put(comm_home, ready=DONE)
        await opened.until(lambda: "ready" in opened.lines.keys)
        assert "operator-box" not in opened.lines.keys


REFUSED = ["r", "c", "b", "d", "z", "x"]


@pytest.mark.parametrize("key", REFUSED)
async def test_writing_action_when_read_only_then_is_refused_with_its_reason(comm_home: Path, key: str) -> None:
    home = put(comm_home, asks=BLOCKED, gone=STALE, ready=DONE)
    async with looking(comm_home, WHY) as opened:
        opened.lines.select("gone" if key == "x" else "ready" if key == "d" else "asks")
        await opened.pilot.press(key)
        await opened.until(lambda: opened.says("#message") == WHY)
        assert opened.app.screen is opened.nav
        assert entry(home, "ready")["done"] is True


async def test_click_on_done_when_read_only_then_clears_nothing_and_says_why(comm_home: Path) -> None:
    home = put(comm_home, ready=DONE)
    async with looking(comm_home, WHY) as opened:
        await opened.click_line("ready")
        await opened.until(lambda: opened.says("#message") == f"{WHY}; nothing was written")
        assert entry(home, "ready")["done"] is True
        assert opened.lines.selected == "ready"


async def test_looking_action_when_read_only_then_works(comm_home: Path) -> None:
    put(comm_home, asks=BLOCKED, busy={"state": "working"})
    async with looking(comm_home, WHY) as opened:
        for key in ("l", "e", "m", "question_mark"):
            await opened.pilot.press(key)
            await opened.until(lambda: opened.app.screen is not opened.nav, key)
            await opened.pilot.press("escape")
            await opened.until(lambda: opened.app.screen is opened.nav, key)
        await opened.pilot.press("slash", *"busy", "enter", "y")
        assert opened.app.clipboard == "busy"


async def test_lock_of_a_dead_holder_when_read_only_then_is_shown_and_not_cleared(comm_home: Path) -> None:
    home = put(comm_home, asks=BLOCKED)
    kill(hold_lock(home))
    async with looking(comm_home, WHY) as opened:
        await opened.until(lambda: opened.says("#lock-banner"))
        await opened.pilot.press("ctrl+r")
        await opened.until(lambda: isinstance(opened.app.screen, RecoverDialog))
        await opened.until(lambda: WHY in opened.says("#recover-what"))
        assert not opened.app.screen.query_one("#recover-go", Button).display
        await opened.pilot.press("ctrl+r")
        await opened.pilot.pause()
        assert (comm_home / ".registry.lock").exists()
        assert not list(comm_home.glob(".registry.lock.reclaim.*"))


async def test_comm_home_when_it_is_missing_and_nothing_may_be_made_then_is_said(comm_home: Path) -> None:
    async with looking(comm_home, WHY) as opened:
        await opened.until(lambda: opened.says("#registry-banner"))
        banner = opened.says("#registry-banner")
        assert f"there is no comm home at {comm_home}" in banner
        assert "sot-tui join, in a session's project folder, makes it" in banner
        assert "nobody needs you" not in opened.says("#counts")
        assert not comm_home.exists()
        put(comm_home, asks=BLOCKED)
        await opened.until(lambda: "asks" in opened.lines.keys, "it is there now")
        assert not opened.says("#registry-banner")


async def test_second_dashboard_when_the_first_ends_then_takes_over_before_the_persons_eyes(comm_home: Path) -> None:
    home = put(comm_home, ready=DONE)
    first = engine(comm_home)
    await first.__aenter__()
    ended = False
    try:
        async with looking(comm_home) as opened:
            pid = os.getpid()
            why = f"the dashboard of pid {pid} hosts; this one only looks until it ends"
            assert opened.says("#stance-banner") == f"viewer · {why}"
            await opened.until(lambda: "operator-box" in opened.lines.keys, "what the first one writes is seen")
            opened.lines.select("ready")
            await opened.pilot.press("d")
            await opened.until(lambda: opened.says("#message") == why)
            await first.__aexit__(None, None, None)
            ended = True
            await opened.until(lambda: opened.fleet.stance is Stance.HOST, "it takes over")
            await opened.until(lambda: not opened.says("#stance-banner"), "and says no more that it only looks")
            await opened.pilot.press("d")
            await opened.until(lambda: "done" not in entry(home, "ready"), "it writes")
    finally:
        if not ended:
            await first.__aexit__(None, None, None)


async def test_mail_of_the_person_when_another_dashboard_hosts_then_is_peeked_at(comm_home: Path) -> None:
    """The operator's mail is polled by one dashboard only: by the other one no cursor moves."""
    home = put(comm_home, ready=DONE)
    async with engine(comm_home), looking(comm_home) as opened:
        await opened.until(lambda: "operator-box" in opened.lines.keys)
        line = frames.frame("ready", "operator-box", "r", "hello there", stamp(home.clock.now()))
        assert isinstance(inbox.file_line(home, "operator-box", line), inbox.Filed)
        await opened.until(lambda: opened.fleet.mail_of("operator-box").unread == 1)
        await opened.pilot.click("#yours")
        await opened.until(lambda: isinstance(opened.app.screen, MailScreen))
        await opened.until(lambda: "hello there" in opened.screen_text())
        await opened.pilot.pause()
        assert not (comm_home / "read" / "operator-box.cursor").exists()
