"""Mail on a real comm home: a peek moves nothing, the operator's own poll moves the cursor, a reply files a line."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from typing import TYPE_CHECKING

from textual.events import Paste
from textual.widgets import Input, TextArea

from sot_tui.comm import frames, inbox
from sot_tui.comm.clock import stamp
from sot_tui.engine.client import Command, Outcome, Send
from sot_tui.screens.app import SotApp
from sot_tui.screens.compose import ComposeScreen
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import FakeClient, fleet
from tests.screens.real import Opened, joined, put

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from sot_tui.comm.home import Home

IDLE: dict[str, object] = {"state": "idle"}


def mail_to(home: Home, handle: str, *texts: str, sender: str = "anna", to: str | None = None) -> None:
    for text in texts:
        line = frames.frame(sender, handle if to is None else to, "r", text, stamp(home.clock.now()))
        assert isinstance(inbox.file_line(home, handle, line), inbox.Filed)


def lines_of(path: Path, handle: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (path / "inbox" / f"{handle}.jsonl").read_text().splitlines()]


async def open_mail(opened: Opened, handle: str) -> MailScreen:
    opened.lines.select(handle)
    await opened.pilot.press("enter")
    await opened.until(lambda: isinstance(opened.app.screen, MailScreen), "the mail")
    screen = opened.app.screen
    assert isinstance(screen, MailScreen)
    return screen


def index(opened: Opened) -> Lines:
    return opened.app.screen.query_one("#index", Lines)


async def test_mail_of_another_handle_when_opened_then_no_cursor_moves(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "first", "second\n\nwith more")
    async with joined(comm_home) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 2)
        text = opened.screen_text()
        assert "no cursor moves" in text
        assert "first" in text
        await opened.pilot.press("j")
        assert "with more" in opened.screen_text()
        await opened.pilot.press("escape")
        assert opened.app.screen is opened.nav
        assert not (comm_home / "read" / "bob.cursor").exists()
        assert opened.fleet.mail_of("bob").unread == 2


async def test_own_mail_when_opened_then_the_whole_batch_is_listed_and_the_cursor_is_of_its_bytes(
    comm_home: Path,
) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        mail_to(opened.home, "operator-box", *(f"number {at}" for at in range(30)))
        mail_to(opened.home, "operator-box", "to all", to="")
        await opened.until(lambda: opened.fleet.mail_of("operator-box").unread == 30)
        assert "mail 30" in opened.says("#yours")
        await opened.pilot.click("#yours")
        await opened.until(lambda: isinstance(opened.app.screen, MailScreen))
        await opened.until(lambda: len(index(opened).keys) == 31)
        cursor = comm_home / "read" / "operator-box.cursor"
        await opened.until(cursor.exists)
        batch = inbox.read_batch(opened.home, "operator-box")
        assert isinstance(batch, inbox.Batch)
        assert (batch.start, batch.lines) == (31, [])
        await opened.until(lambda: opened.fleet.mail_of("operator-box").unread == 0)
        # What was new stays marked while it is looked at, and one more that comes is listed too.
        mail_to(opened.home, "operator-box", "one more")
        await opened.until(lambda: len(index(opened).keys) == 32)
        await opened.until(lambda: cursor.read_text().startswith("32 "))


async def test_own_mail_when_a_writer_holds_the_inbox_then_nothing_is_skipped(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract: a timeout means try again, never a skip."""
    put(comm_home, anna=IDLE)
    monkeypatch.setenv("SOT_INBOX_READ_WAIT_SECS", "0")
    async with joined(comm_home) as opened:
        mail_to(opened.home, "operator-box", "hello")
        await opened.until(lambda: opened.fleet.mail_of("operator-box").unread == 1)
        descriptor = os.open(comm_home / "inbox" / "operator-box.lock", os.O_RDWR)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            await open_mail(opened, "operator-box")
            await opened.until(lambda: "is being written" in opened.says("#message"))
            assert index(opened).keys == ()
            assert not (comm_home / "read" / "operator-box.cursor").exists()
        finally:
            os.close(descriptor)
        await opened.until(lambda: len(index(opened).keys) == 1, "read again")
        await opened.until((comm_home / "read" / "operator-box.cursor").exists)


async def test_reply_when_sent_then_files_a_line_as_the_operator_and_says_so(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        mail_to(opened.home, "operator-box", "which branch?")
        await open_mail(opened, "operator-box")
        await opened.until(lambda: len(index(opened).keys) == 1)
        await opened.pilot.press("r")
        await opened.until(lambda: isinstance(opened.app.screen, ComposeScreen))
        assert "in reply to: which branch?" in opened.screen_text()
        assert "@anna is live" in opened.screen_text()
        opened.app.screen.query_one("#compose-text", TextArea).text = "main, please\n[/]"
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: isinstance(opened.app.screen, MailScreen), "the answer closed it")
        assert opened.says("#message") == "filed -> @anna"
        (line,) = lines_of(comm_home, "anna")
        assert {key: line[key] for key in ("from", "to", "msg")} == {
            "from": "operator-box",
            "to": "anna",
            "msg": "main, please\n[/]",
        }
        assert opened.app.desk.drafts == {}


async def test_message_when_it_is_refused_then_the_sentence_is_shown_and_the_draft_is_kept(comm_home: Path) -> None:
    put(comm_home, anna={**IDLE, "last_seen": "2001-01-01T00:00:00Z"}, bea=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await opened.until(lambda: "@anna is not live: a message to it will be refused" in opened.screen_text())
        opened.app.screen.query_one("#compose-text", TextArea).text = "are you there?"
        await opened.pilot.click("#compose-send")
        await opened.until(lambda: "FAILED -> @anna: no live session holds @anna" in opened.screen_text())
        assert isinstance(opened.app.screen, ComposeScreen)
        await opened.pilot.press("escape")
        await opened.pilot.press("r")
        assert opened.app.screen.query_one("#compose-text", TextArea).text == "are you there?"
        assert "FAILED -> @anna" in opened.screen_text()
        put(comm_home, anna=IDLE)
        await opened.until(lambda: "@anna is live" in opened.screen_text())
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert [line["msg"] for line in lines_of(comm_home, "anna")] == ["are you there?"]


async def test_compose_when_the_receiver_is_typed_then_says_whether_it_is_known_and_sends(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        await opened.pilot.press("c")
        receiver = opened.app.screen.query_one("#compose-to", Input)
        assert receiver.has_focus
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: "not sent: say first to whom" in opened.screen_text())
        receiver.value = "@nobody"
        await opened.until(lambda: "@nobody is not in this registry" in opened.screen_text())
        receiver.value = "@anna"
        await opened.until(lambda: "@anna is live" in opened.screen_text())
        await opened.pilot.press("enter", "h", "i", "q")
        assert opened.app.screen.query_one("#compose-text", TextArea).text == "hiq"
        await opened.pilot.press("ctrl+s", "ctrl+s")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert [line["msg"] for line in lines_of(comm_home, "anna")] == ["hiq"]


async def test_message_when_send_is_pressed_twice_then_is_sent_once() -> None:
    client = FakeClient(fleet())
    app = SotApp(client)
    answered = asyncio.Event()
    do = client.do

    async def slow(command: Command[Outcome]) -> Outcome:
        outcome = await do(command)
        if isinstance(command, Send):
            await answered.wait()
        return outcome

    client.do = slow  # type: ignore[assignment, method-assign]  # an answer that takes its time
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("j", "j", "r", "h", "i", "ctrl+s", "ctrl+s")
        assert client.asked_for(Send) == [Send("Docs-box", "hi")]
        # Closing the window loses neither the answer nor, when it is a refusal, the draft.
        await pilot.press("escape")
        answered.set()
        await pilot.pause()
        assert app.desk.said == Outcome(good=True, sentence="filed -> @Docs-box")
        assert app.desk.drafts == {}


async def test_send_when_the_registry_cannot_be_read_then_nothing_is_sent(comm_home: Path) -> None:
    """Contract: "the registry could not be read, so identity @<me> is unverified; nothing was sent"."""
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        opened.app.screen.query_one("#compose-text", TextArea).text = "x"
        (comm_home / "registry.json").write_bytes(b"")
        await opened.pilot.press("ctrl+s")
        wanted = (
            "FAILED -> @anna: the registry could not be read, so identity @operator-box is unverified; nothing was sent"
        )
        await opened.until(lambda: wanted in " ".join(opened.screen_text().replace("│", " ").split()))
        assert not (comm_home / "inbox" / "anna.jsonl").exists()


async def test_paste_when_it_holds_control_bytes_then_they_are_made_visible(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await opened.pilot.pause()
        writing = opened.app.screen.query_one("#compose-text", TextArea)
        writing.post_message(Paste("one\x1b]0;pwned\x07\ntwo"))
        await opened.until(lambda: writing.text)
        assert writing.text == "one␛]0;pwned␇\ntwo"


async def test_detail_when_a_handle_is_selected_then_shows_its_last_mail(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("bob")
        mail_to(home, "bob", "schema v3 is on main")
        await opened.until(lambda: "anna → “schema v3 is on main”" in opened.says("#detail-body"))
        assert not (comm_home / "read" / "bob.cursor").exists()
