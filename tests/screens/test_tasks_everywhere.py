"""What a person can do on any screen, by keys and by mouse: help, palette, colours, the end; and looking only."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from textual.command import CommandPalette

from sot_tui.comm.home import Home
from sot_tui.engine.service import Engine, LocalClient
from sot_tui.screens.app import SotApp
from sot_tui.screens.events import EventsScreen
from sot_tui.screens.help import HelpScreen
from sot_tui.screens.locks import LocksScreen
from sot_tui.screens.mail import MailScreen
from tests.screens.mailing import STALE, index, mail_to, until_on
from tests.screens.real import HOST, Opened, dashboard, entry, joined, put, put_row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DONE: dict[str, object] = {"state": "done", "done": True, "note": "built", "summary": "built"}
BLOCKED: dict[str, object] = {"state": "blocked", "dialog": "Allow Bash?", "summary": "Allow Bash?"}
ROOMY = (240, 60)
"""Where every key has its place in the key line."""
WAYS = pytest.mark.parametrize("way", ["keys", "mouse"])
SCREENS = [
    pytest.param(None, None, "Keys in the nav", id="nav"),
    pytest.param("m", MailScreen, "Keys in the mail", id="mail"),
    pytest.param("l", LocksScreen, "Keys among the locks", id="locks"),
    pytest.param("e", EventsScreen, "Keys in the event log", id="events"),
]
ONLY_LOOKS = "this dashboard was opened read-only (--readonly)"


async def act(opened: Opened, way: str, key: str, label: str) -> None:
    """Press a key, or click it in the key line."""
    await (opened.pilot.press(key) if way == "keys" else opened.click_key(label))


async def refused(opened: Opened, key: str, label: str) -> None:
    """Press the key of what cannot be done now: it is not offered to a mouse, and the key says why."""
    await opened.until(lambda: f" {label}  " not in f"{opened.says('#keys')}  ", "it is not offered")
    await opened.pilot.press(key)


async def choose(opened: Opened, way: str, words: str) -> None:
    """Choose what the palette lists by some words: by typing them, or by a click where they stand."""
    await opened.until(lambda: isinstance(opened.app.screen, CommandPalette), "the palette")
    if way == "keys":
        await opened.pilot.press(*words)
        await opened.until(lambda: words in opened.screen_text().split("\n", 5)[-1], words)
        await opened.pilot.press("down", "enter")
    else:
        await opened.until(lambda: words in opened.screen_text(), words)
        rows = opened.screen_text().split("\n")
        y = next(at for at, row in enumerate(rows) if words in row)
        await opened.pilot.click(offset=(rows[y].index(words) + 1, y))


@WAYS
@pytest.mark.parametrize(("key", "kind", "title"), SCREENS)
async def test_help_when_opened_then_is_of_this_screen_and_closes_again(
    comm_home: Path, way: str, key: str | None, kind: type | None, title: str
) -> None:
    home = put(comm_home, ready=DONE)
    async with joined(comm_home, ROOMY) as opened:
        if key is not None and kind is not None:
            await opened.pilot.press("g", key)
            await until_on(opened, kind)
        below = opened.app.screen
        # What is clicked: the words in the frame that say how it is closed, and then beside the frame.
        for close in ("escape", "enter"):
            before = entry(home, "ready")
            await act(opened, way, "question_mark", "help")
            await until_on(opened, HelpScreen)
            assert title in opened.screen_text()
            frame = opened.app.screen.query_one("#help").region
            if way == "keys":
                await opened.pilot.press("j", "k", close)
            else:
                await opened.pilot.click(offset=(frame.x + 6, frame.y + 3))
                assert isinstance(opened.app.screen, HelpScreen), "a click on its text leaves it open"
                await opened.pilot.click(offset=(frame.right - 6, frame.bottom - (1 if close == "escape" else -1)))
            await opened.until(lambda: opened.app.screen is below)
            assert entry(home, "ready") == before, "the click was no view of what lies below"


@WAYS
async def test_palette_when_a_handle_is_chosen_then_it_is_selected_in_the_nav(comm_home: Path, way: str) -> None:
    home = put(comm_home, aa=DONE, bb=DONE)
    async with joined(comm_home, ROOMY) as opened:
        opened.lines.select("aa")
        await opened.pilot.press("l")
        await until_on(opened, LocksScreen)
        await act(opened, way, "ctrl+p", "palette")
        await choose(opened, way, "@bb")
        await opened.until(lambda: opened.app.screen is opened.nav)
        await opened.until(lambda: opened.lines.selected == "bb")
        assert entry(home, "bb")["done"] is True, "to go there is no view"


@WAYS
async def test_palette_when_left_then_nothing_is_done(comm_home: Path, way: str) -> None:
    home = put(comm_home, aa=DONE)
    async with joined(comm_home, ROOMY) as opened:
        before = entry(home, "aa")
        await act(opened, way, "ctrl+p", "palette")
        await opened.until(lambda: isinstance(opened.app.screen, CommandPalette))
        await (opened.pilot.press("escape") if way == "keys" else opened.pilot.click(offset=(2, 55)))
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert entry(home, "aa") == before


@WAYS
async def test_colours_when_another_theme_is_chosen_then_they_change_and_nothing_is_written(
    comm_home: Path, way: str
) -> None:
    put(comm_home, aa=DONE)
    async with joined(comm_home, ROOMY) as opened:
        assert opened.app.theme == "sot-dark"
        if way == "keys":
            await opened.pilot.press("T")
        else:
            await opened.click_key("palette")
            await opened.pilot.press(*"change th")
            await choose(opened, way, "change theme")
            await opened.until(lambda: "sot-light" in opened.screen_text())
        await choose(opened, way, "sot-light")
        await opened.until(lambda: opened.app.theme == "sot-light")
        assert opened.app.screen is opened.nav
        assert not list((comm_home.parent / "config").rglob("*")), "until the dashboard is closed"


@WAYS
async def test_end_when_asked_for_then_the_app_ends_well(comm_home: Path, way: str) -> None:
    put(comm_home, aa=DONE)
    async with joined(comm_home, ROOMY) as opened:
        await act(opened, way, "q", "quit")
        await opened.until(lambda: opened.app._exit)
        assert opened.app.return_code == 0


# -- a dashboard that only looks --------------------------------------------------------------------------------------


@asynccontextmanager
async def looking(path: Path) -> AsyncIterator[Opened]:
    """Open a dashboard that was opened read-only."""
    async with Engine(Home(str(path)), {**os.environ, "SOT_SELF_HOST": HOST}, only_look=ONLY_LOOKS) as engine:
        app = SotApp(LocalClient(engine))
        async with app.run_test(size=ROOMY) as pilot:
            opened = Opened(Home(str(path)), engine, app, pilot)
            await opened.until(lambda: "ready" in opened.lines.keys, "a first look")
            yield opened


WRITING = [
    ("r", "write"),
    ("c", "compose"),
    ("b", "to all"),
    ("d", "clear done"),
    ("z", "aside"),
    ("x", "end"),
    ("n", "new"),
]


async def test_writing_when_only_looking_then_every_key_is_refused_with_its_reason_and_no_byte_changes(
    comm_home: Path,
) -> None:
    put(comm_home, asks=BLOCKED, gone=STALE, ready=DONE)
    before = (comm_home / "registry.json").read_bytes()
    async with looking(comm_home) as opened:
        for key, label in WRITING:
            opened.lines.select({"d": "ready", "x": "gone"}.get(key, "asks"))
            opened.app.desk.said = None
            await opened.pilot.pause()
            await refused(opened, key, label)
            await opened.until(lambda: opened.says("#message") == ONLY_LOOKS)
            assert opened.app.screen is opened.nav
        assert (comm_home / "registry.json").read_bytes() == before
        assert not (comm_home.parent / "state" / "sot" / "tui").exists()


@WAYS
async def test_mail_when_only_looking_then_is_a_look_and_its_writing_keys_are_refused(
    comm_home: Path, way: str
) -> None:
    home = put(comm_home, asks=BLOCKED, ready=DONE)
    mail_to(home, "ready", "hello", sender="asks")
    async with looking(comm_home) as opened:
        if way == "keys":
            opened.lines.select("ready")
            await opened.pilot.press("enter")
        else:
            await opened.click_line("ready", times=2)
        await until_on(opened, MailScreen)
        await opened.until(lambda: len(index(opened).keys) == 1)
        assert "you only look" in opened.says("#mail-title")
        for key, label in (("r", "reply"), ("c", "compose"), ("b", "to all"), ("o", "editor")):
            opened.app.desk.said = None
            await refused(opened, key, label)
            await opened.until(lambda: opened.says("#message") == ONLY_LOOKS)
            assert isinstance(opened.app.screen, MailScreen)
        assert not list((comm_home / "read").iterdir())
        assert entry(home, "ready")["done"] is True


async def test_own_mail_when_the_person_has_no_handle_here_then_says_so(comm_home: Path) -> None:
    put(comm_home, operator_box={"workspace_id": "ws-1"})
    put_row(comm_home, "ws-1", "operator-box")
    async with dashboard(comm_home) as opened:
        await opened.until(lambda: "is held by a row" in opened.says("#message"))
        await opened.pilot.click("#yours")
        await opened.until(lambda: opened.says("#message") == "you have no handle here yet, so no mail")
        assert opened.app.screen is opened.nav
