"""What a person does with mail that is there, each task by keys and by mouse: read, look, search, copy, go back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.events import MouseScrollDown
from textual.widgets import Input

from sot_tui.comm import inbox
from sot_tui.engine.client import OpenMail
from sot_tui.screens import letters
from sot_tui.screens.app import SotApp
from sot_tui.screens.compose import ComposeScreen
from sot_tui.screens.confirm import Confirm
from sot_tui.screens.found import SearchScreen, SentScreen, ThreadScreen, ThreadsScreen
from sot_tui.screens.unsent import UnsentScreen
from sot_tui.screens.widgets.lines import Lines
from sot_tui.screens.widgets.reader import Reader
from tests.screens.fleets import FakeClient, fleet
from tests.screens.mailing import (
    IDLE,
    ME,
    MailScreen,
    body,
    index,
    lines_of,
    listed,
    mail_to,
    open_mail,
    read_by,
    until_on,
)
from tests.screens.real import joined, put

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.home import Home
    from tests.screens.real import Opened

ROOMY = (240, 40)
"""Where every key has its place in the key line."""
WAYS = pytest.mark.parametrize("way", ["keys", "mouse"])


async def act(opened: Opened, way: str, key: str, label: str) -> None:
    """Press a key, or click it in the key line."""
    await (opened.pilot.press(key) if way == "keys" else opened.click_key(label))


async def click_row(opened: Opened, row: int, times: int = 1) -> None:
    """Click a line of the index."""
    await opened.pilot.click(index(opened), offset=(8, row), times=times)


def cursor_of(home: Home, handle: str) -> int:
    """Return how many lines the cursor of a handle has passed."""
    batch = inbox.read_batch(home, handle)
    assert isinstance(batch, inbox.Batch)
    return batch.start


# -- reading ----------------------------------------------------------------------------------------------------------


@WAYS
async def test_own_mail_when_opened_then_the_whole_batch_is_listed_before_the_cursor_passes_it(
    comm_home: Path, way: str
) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        mail_to(home, ME, "one", "two", "three")
        await opened.until(lambda: opened.fleet.mail_of(ME).unread == 3)
        if way == "keys":
            opened.lines.select(ME)
            await opened.pilot.press("m")
        else:
            await opened.pilot.click("#yours")
        await until_on(opened, MailScreen)
        await opened.until(lambda: len(index(opened).keys) == 3)
        await opened.until(lambda: cursor_of(home, ME) == 3)
        assert "your mail" in opened.says("#mail-title")
        await opened.until(lambda: opened.fleet.mail_of(ME).unread == 0)


@WAYS
async def test_other_mail_when_looked_at_then_each_message_is_shown_and_no_cursor_moves(
    comm_home: Path, way: str
) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "one", "two\n\nwith more", "three")
    async with joined(comm_home, ROOMY) as opened:
        if way == "keys":
            opened.lines.select("bob")
            await opened.pilot.press("enter")
        else:
            await opened.click_line("bob", times=2)
        await until_on(opened, MailScreen)
        await opened.until(lambda: len(index(opened).keys) == 3)
        assert "you only look" in opened.says("#mail-title")
        for row, key, text in ((2, "G", "three"), (1, "k", "two\n\nwith more"), (0, "g", "one")):
            await (opened.pilot.press(key) if way == "keys" else click_row(opened, row))
            await opened.until(lambda text=text: body(opened) == text)  # type: ignore[misc]
            assert "filed · not read by @bob yet" in opened.says("#letter-head")
        assert not list((comm_home / "read").iterdir())
        read_by(home, "bob")
        await opened.until(lambda: "filed · read by @bob" in opened.says("#letter-head"), "its own session has read it")


@WAYS
async def test_message_when_gone_into_then_scrolls_and_one_step_back_is_the_index(comm_home: Path, way: str) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "\n".join(f"line {at}" for at in range(200)))
    async with joined(comm_home, ROOMY) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 1)
        reader = opened.app.screen.query_one("#letter-text", Reader)
        await (opened.pilot.press("enter") if way == "keys" else click_row(opened, 0, times=2))
        await opened.until(lambda: reader.has_focus)
        if way == "keys":
            await opened.pilot.press("pagedown")
        else:
            await opened.pilot._post_mouse_events([MouseScrollDown], "#letter-text", offset=(3, 3))
        await opened.until(lambda: reader.scroll_offset.y > 0)
        await act(opened, way, "escape", "back")
        await opened.until(lambda: index(opened).has_focus)
        assert isinstance(opened.app.screen, MailScreen)
        await act(opened, way, "escape", "back")
        await opened.until(lambda: opened.app.screen is opened.nav)


async def test_wheel_when_turned_over_the_index_then_the_index_alone_scrolls_and_nothing_is_selected(
    comm_home: Path,
) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", *(f"number {at}" for at in range(60)))
    read_by(home, "bob")
    async with joined(comm_home) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 60)
        await opened.pilot.press("g")
        await opened.until(lambda: body(opened) == "number 0")
        nav_at = opened.lines.scroll_offset.y
        await opened.pilot._post_mouse_events([MouseScrollDown], "#index", offset=(5, 3))
        await opened.until(lambda: index(opened).scroll_offset.y > 0)
        assert (index(opened).selected, body(opened)) == ("1", "number 0")
        assert opened.app.screen.query_one("#letter-text", Reader).scroll_offset.y == 0
        assert opened.lines.scroll_offset.y == nav_at


# -- what leads on ----------------------------------------------------------------------------------------------------


@WAYS
async def test_reply_when_sent_then_quotes_what_is_answered_and_is_filed(comm_home: Path, way: str) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        mail_to(opened.home, ME, "which branch?")
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 1)
        await act(opened, way, "r", "reply")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press(*"main")
        await (opened.pilot.press("ctrl+s") if way == "keys" else opened.pilot.click("#compose-send"))
        await until_on(opened, MailScreen)
        assert opened.says("#message") == "filed -> @anna"
        (line,) = lines_of(comm_home, "anna")
        assert str(line["msg"]).endswith("> which branch?\n\nmain")


@WAYS
async def test_search_when_a_hit_is_opened_then_in_its_inbox_and_nothing_is_moved(comm_home: Path, way: str) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "anna", "schema v3", sender="bob")
    mail_to(home, "bob", "schema v4", "numbers")
    async with joined(comm_home, ROOMY) as opened:
        await open_mail(opened, "bob")
        await act(opened, way, "slash", "search")
        await until_on(opened, SearchScreen)
        await opened.pilot.press(*"schema from:bob")
        await opened.until(lambda: len(index(opened).keys) == 1 and "1 found" in opened.says("#mail-title"))
        if way == "keys":
            await opened.pilot.press("enter", "enter")
        else:
            await click_row(opened, 0, times=2)
        await until_on(opened, MailScreen)
        await opened.until(lambda: body(opened) == "schema v3")
        assert "mail of anna" in opened.says("#mail-title")
        await act(opened, way, "escape", "back")
        await until_on(opened, SearchScreen)
        assert opened.app.screen.query_one("#search-words", Input).value == "schema from:bob"
        await act(opened, way, "escape", "back")
        await until_on(opened, MailScreen)
        assert not list((comm_home / "read").iterdir())


@WAYS
async def test_threads_when_one_is_opened_then_both_ways_are_there_and_it_leads_back(
    comm_home: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letters, "OPENED_SECS", float("inf"))  # however slowly this machine shows it
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, ME, "from anna", sender="anna", age=30)
    mail_to(home, "anna", "to anna", sender=ME, age=20)
    mail_to(home, ME, "from bob", sender="bob", age=10)
    async with joined(comm_home, ROOMY) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 2)
        await act(opened, way, "t", "threads")
        await until_on(opened, ThreadsScreen)
        await opened.until(lambda: list(index(opened).keys) == ["bob", "anna"])
        await (opened.pilot.press("G", "enter") if way == "keys" else click_row(opened, 1, times=2))
        await until_on(opened, ThreadScreen)
        await opened.until(lambda: len(index(opened).keys) == 2)

        def heads() -> list[str]:
            return [line[2:].split("  ")[0].strip() for line in listed(opened)]

        await opened.until(lambda: heads() == ["● anna", "○ → anna"])
        await act(opened, way, "escape", "back")
        await until_on(opened, ThreadsScreen)
        await act(opened, way, "t", "threads")
        await until_on(opened, MailScreen)


@WAYS
async def test_sent_when_opened_then_each_message_says_whether_its_reader_has_read_it(
    comm_home: Path, way: str
) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "anna", "to anna", sender=ME, age=20)
    mail_to(home, "bob", "to bob", sender=ME, age=10)
    read_by(home, "anna")
    async with joined(comm_home, ROOMY) as opened:
        await open_mail(opened, ME)
        await act(opened, way, "s", "sent")
        await until_on(opened, SentScreen)
        await opened.until(lambda: len(index(opened).keys) == 2)
        assert [line[2] for line in listed(opened)] == ["○", "✓"]
        await (opened.pilot.press("G") if way == "keys" else click_row(opened, 1))
        await opened.until(lambda: "filed · read by @anna" in opened.says("#letter-head"))
        assert body(opened) == "to anna"
        await (opened.pilot.press("g") if way == "keys" else click_row(opened, 0))
        await opened.until(lambda: "filed · not read by @bob yet" in opened.says("#letter-head"))
        await act(opened, way, "s", "sent")
        await until_on(opened, MailScreen)


@WAYS
async def test_broadcast_when_begun_in_the_mail_then_asks_and_files_a_copy_for_each(comm_home: Path, way: str) -> None:
    put(comm_home, anna=IDLE, bob=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        await open_mail(opened, "anna")
        await act(opened, way, "b", "to all")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press(*"green")
        await (opened.pilot.press("ctrl+s") if way == "keys" else opened.pilot.click("#compose-send"))
        await until_on(opened, Confirm)
        await (opened.pilot.press("right", "enter") if way == "keys" else opened.pilot.click("#confirm-yes"))
        await until_on(opened, MailScreen)
        assert opened.says("#message") == "Broadcast to 2 agent(s)."
        assert [line["msg"] for handle in ("anna", "bob") for line in lines_of(comm_home, handle)] == ["green"] * 2


@WAYS
async def test_compose_when_begun_in_the_mail_then_a_new_message_and_back(comm_home: Path, way: str) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        await open_mail(opened, "anna")
        await act(opened, way, "c", "compose")
        await until_on(opened, ComposeScreen)
        assert opened.app.screen.query_one("#compose-to", Input).value == ""
        await (opened.pilot.press("escape") if way == "keys" else opened.pilot.click("#compose-close"))
        await until_on(opened, MailScreen)
        await act(opened, way, "u", "not sent")
        await until_on(opened, UnsentScreen)
        await opened.until(lambda: "everything is sent" in opened.screen_text())
        await act(opened, way, "escape", "back")
        await until_on(opened, MailScreen)


# -- copying and the editor -------------------------------------------------------------------------------------------


@WAYS
async def test_copy_when_asked_then_the_message_goes_to_the_clipboard_inert(comm_home: Path, way: str) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "one\x1b[2J\ntwo")
    async with joined(comm_home, ROOMY) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 1)
        await act(opened, way, "y", "copy")
        await opened.until(lambda: opened.app.clipboard == "one␛[2J\ntwo")
        assert opened.says("#message").startswith("copied 11 characters")


async def test_copy_when_a_part_is_marked_with_the_mouse_then_that_part(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "first line\nsecond line")
    async with joined(comm_home, ROOMY) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: "second line" in body(opened))
        await opened.pilot.mouse_down("#letter-text", offset=(0, 1))
        await opened.pilot.hover("#letter-text", offset=(5, 1))
        await opened.pilot.mouse_up("#letter-text", offset=(5, 1))
        await opened.pilot.press("ctrl+c")
        await opened.until(lambda: opened.app.clipboard == "second")


@WAYS
async def test_editor_when_the_terminal_cannot_be_lent_then_says_so_and_leaves_no_file(
    comm_home: Path, way: str
) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "one")
    async with joined(comm_home, ROOMY) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 1)
        await act(opened, way, "o", "editor")
        await opened.until(lambda: opened.says("#message") == "an editor needs a terminal, and this one cannot be lent")
        assert list((comm_home.parent / "state").rglob("message.txt")) == []


@WAYS
async def test_reload_when_asked_then_the_inbox_is_read_again(way: str) -> None:
    client = FakeClient(fleet())
    app = SotApp(client)
    async with app.run_test(size=ROOMY) as pilot:
        app.screen.query_one("#fleet", Lines).select("Docs-box")
        await pilot.press("m")
        await pilot.pause()
        await pilot.pause()
        before = len([command for command in client.asked if isinstance(command, OpenMail) and command.newest > 2])
        if way == "keys":
            await pilot.press("R")
        else:
            line = app.screen.query_one("#keys")
            await pilot.click(line, offset=(str(line.render()).index(" read again") + 2, 0))
        await pilot.pause()
        after = [command for command in client.asked if isinstance(command, OpenMail) and command.newest > 2]
        assert len(after) == before + 1


async def test_key_when_there_is_no_message_then_is_not_offered_and_says_so(comm_home: Path) -> None:
    put(comm_home, anna=IDLE, bob=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        await open_mail(opened, "bob")
        for key, label in (("enter", "open"), ("r", "reply"), ("y", "copy"), ("o", "editor")):
            opened.app.desk.said = None
            assert f" {label}  " not in opened.says("#keys")
            await opened.pilot.press(key)
            await opened.until(lambda: opened.says("#message") == "there is no message here")
            assert isinstance(opened.app.screen, MailScreen)
