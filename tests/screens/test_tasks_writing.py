"""What a person does to write, and with what is not sent, each task by keys and by mouse; only words are typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.widgets import Button, Input

from sot_tui.screens.confirm import Confirm
from sot_tui.screens.unsent import UnsentScreen
from sot_tui.screens.widgets.lines import Lines
from tests.screens.mailing import IDLE, ME, STALE, ComposeScreen, index, lines_of, until_on, writing
from tests.screens.real import joined, put

if TYPE_CHECKING:
    from pathlib import Path

    from tests.screens.real import Opened

ROOMY = (200, 40)
"""Where every key has its place in the key line."""
WAYS = pytest.mark.parametrize("way", ["keys", "mouse"])


async def act(opened: Opened, way: str, key: str, label: str) -> None:
    """Press a key, or click it in the key line."""
    await (opened.pilot.press(key) if way == "keys" else opened.click_key(label))


def drafts(comm_home: Path) -> list[str]:
    """Return what is kept of what is not sent."""
    return [path.read_text() for path in (comm_home.parent / "state").rglob("drafts/*.json")]


async def refused(opened: Opened, handle: str, text: str) -> None:
    """Have a message to a handle refused, and close it."""
    opened.lines.select(handle)
    await opened.pilot.press("r")
    await until_on(opened, ComposeScreen)
    await opened.pilot.press(*text, "ctrl+s")
    await opened.until(lambda: f"FAILED -> @{handle}" in opened.screen_text())
    await opened.pilot.press("escape")
    await opened.until(lambda: opened.app.screen is opened.nav)


@WAYS
async def test_message_when_written_anew_then_goes_to_who_was_chosen_and_says_the_contracts_line(
    comm_home: Path, way: str
) -> None:
    put(comm_home, anna=IDLE, bob=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        await act(opened, way, "c", "compose")
        await until_on(opened, ComposeScreen)
        known = opened.app.screen.query_one("#compose-known", Lines)
        await opened.until(lambda: list(known.keys) == ["anna", "bob"])
        if way == "keys":
            await opened.pilot.press("down", "tab", "tab", *"hello", "ctrl+s")
        else:
            await opened.pilot.click(known, offset=(6, 1))
            await opened.until(lambda: "@bob is live" in opened.screen_text())
            await opened.pilot.click("#compose-text")
            await opened.pilot.press(*"hello")
            await opened.pilot.click("#compose-send")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert opened.says("#message") == "filed -> @bob"
        assert [(line["from"], line["msg"]) for line in lines_of(comm_home, "bob")] == [(ME, "hello")]
        assert lines_of(comm_home, "anna") == []
        await opened.until(lambda: drafts(comm_home) == [], "nothing is left of the draft")


async def test_message_when_sent_by_the_button_with_keys_alone_then_is_filed(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press(*"hi")
        opened.app.screen.query_one("#compose-to", Input).focus()
        for _ in range(8):
            if isinstance(opened.app.focused, Button):
                break
            await opened.pilot.press("shift+tab")
        assert opened.app.focused is not None
        assert opened.app.focused.id == "compose-close"
        await opened.pilot.press("shift+tab", "enter")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert [line["msg"] for line in lines_of(comm_home, "anna")] == ["hi"]


@WAYS
async def test_message_when_it_cannot_be_sent_then_says_why_and_stays_as_it_is(comm_home: Path, way: str) -> None:
    put(comm_home, anna=STALE, bob=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        await act(opened, way, "c", "compose")
        await until_on(opened, ComposeScreen)
        for typed, said in (
            ("", "not sent: say first to whom"),
            ("bob", "not sent: the message is empty"),
            ("anna", "FAILED -> @anna: no live session holds @anna"),
        ):
            opened.app.screen.query_one("#compose-to", Input).value = typed
            if typed == "anna":
                writing(opened).text = "are you there?"
            # A button that was pressed takes no click while it shows that it was.
            send = opened.app.screen.query_one("#compose-send", Button)
            await opened.until(lambda send=send: not send.has_class("-active"))  # type: ignore[misc]
            await (opened.pilot.press("ctrl+s") if way == "keys" else opened.pilot.click(send))
            await opened.until(lambda said=said: said in opened.screen_text())  # type: ignore[misc]
        assert isinstance(opened.app.screen, ComposeScreen)
        assert writing(opened).text == "are you there?"
        assert not (comm_home / "inbox" / "bob.jsonl").exists()


@WAYS
async def test_draft_when_it_is_closed_then_is_kept_and_counted_and_taken_up_again(comm_home: Path, way: str) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        opened.lines.select("anna")
        await act(opened, way, "r", "write")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press(*"half")
        await (opened.pilot.press("escape") if way == "keys" else opened.pilot.click("#compose-close"))
        await opened.until(lambda: opened.app.screen is opened.nav)
        await opened.until(lambda: opened.says("#unsent") == "not sent 1")
        await opened.until(lambda: ['"text": "half"' in kept for kept in drafts(comm_home)] == [True])
        await (opened.pilot.press("u") if way == "keys" else opened.pilot.click("#unsent"))
        await until_on(opened, UnsentScreen)
        if way == "keys":
            await opened.pilot.press("enter")
        else:
            await opened.pilot.click(index(opened), offset=(8, 0), times=2)
        await until_on(opened, ComposeScreen)
        assert writing(opened).text == "half"
        await opened.pilot.press(*" and half")
        await (opened.pilot.press("ctrl+s") if way == "keys" else opened.pilot.click("#compose-send"))
        await until_on(opened, UnsentScreen)
        await opened.until(lambda: "everything is sent" in opened.screen_text())
        assert [line["msg"] for line in lines_of(comm_home, "anna")] == ["half and half"]
        await act(opened, way, "escape", "back")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert opened.says("#unsent") == ""


@WAYS
async def test_not_sent_when_tried_again_then_is_refused_or_filed_and_only_then_gone(comm_home: Path, way: str) -> None:
    put(comm_home, anna=STALE)
    async with joined(comm_home, ROOMY) as opened:
        await refused(opened, "anna", "hi")
        await (opened.pilot.press("u") if way == "keys" else opened.pilot.click("#unsent"))
        await until_on(opened, UnsentScreen)
        assert "FAILED -> @anna: no live session holds @anna" in opened.says("#letter-head")
        opened.app.desk.said = None
        await act(opened, way, "ctrl+s", "send again")
        await opened.until(lambda: opened.says("#message") == "FAILED -> @anna: no live session holds @anna")
        assert len(index(opened).keys) == 1
        put(comm_home, anna=IDLE)
        await act(opened, way, "ctrl+s", "send again")
        await opened.until(lambda: opened.says("#message") == "filed -> @anna")
        await opened.until(lambda: not index(opened).keys)
        assert [line["msg"] for line in lines_of(comm_home, "anna")] == ["hi"]
        assert "send again" not in opened.says("#keys"), "what can do nothing is not offered"
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: opened.says("#message") == "there is nothing that is not sent")


@WAYS
async def test_not_sent_when_deleted_then_no_keeps_it_and_yes_takes_it_off_the_disk(comm_home: Path, way: str) -> None:
    put(comm_home, anna=STALE)
    async with joined(comm_home, ROOMY) as opened:
        await refused(opened, "anna", "hi")
        await opened.pilot.press("u")
        await until_on(opened, UnsentScreen)
        await opened.until(lambda: len(drafts(comm_home)) == 1)
        await act(opened, way, "D", "delete")
        await until_on(opened, Confirm)
        await (opened.pilot.press("escape") if way == "keys" else opened.pilot.click("#confirm-no"))
        await until_on(opened, UnsentScreen)
        assert len(drafts(comm_home)) == 1
        await act(opened, way, "delete", "delete")
        await until_on(opened, Confirm)
        await (opened.pilot.press("left", "enter") if way == "keys" else opened.pilot.click("#confirm-yes"))
        await opened.until(lambda: not drafts(comm_home))
        await opened.until(lambda: "everything is sent" in opened.screen_text())


@WAYS
async def test_broadcast_when_answered_no_then_nothing_is_filed_and_yes_files_a_copy_for_each(
    comm_home: Path, way: str
) -> None:
    put(comm_home, anna=IDLE, bob=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        await act(opened, way, "b", "to all")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press(*"green")
        for yes in (False, True):
            await (opened.pilot.press("ctrl+s") if way == "keys" else opened.pilot.click("#compose-send"))
            await until_on(opened, Confirm)
            assert "Send this to 2 handles?" in opened.screen_text()
            if way == "keys":
                await opened.pilot.press(*(("right", "enter") if yes else ("enter",)))
            else:
                await opened.pilot.click("#confirm-yes" if yes else "#confirm-no")
            await opened.until(lambda: not isinstance(opened.app.screen, Confirm))
            if not yes:
                assert lines_of(comm_home, "anna") == lines_of(comm_home, "bob") == []
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert opened.says("#message") == "Broadcast to 2 agent(s)."
        assert [line["msg"] for handle in ("anna", "bob") for line in lines_of(comm_home, handle)] == ["green"] * 2
        assert lines_of(comm_home, ME) == []


@WAYS
async def test_editor_when_the_terminal_cannot_be_lent_then_says_so_and_the_text_stays(
    comm_home: Path, way: str
) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home, ROOMY) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press("x")
        await act(opened, way, "ctrl+o", "editor")
        await opened.until(lambda: "an editor needs a terminal" in opened.screen_text())
        assert writing(opened).text == "x"
        assert list((comm_home.parent / "state").rglob("message.txt")) == []
