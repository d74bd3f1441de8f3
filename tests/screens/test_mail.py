"""An inbox on a real comm home: a peek moves nothing, a poll moves the cursor, and a person's own mark stays theirs."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

import pytest
from textual.events import MouseScrollDown

from sot_tui.comm import frames, inbox
from sot_tui.engine.client import ReadLetter
from sot_tui.screens import letters
from sot_tui.screens.mail import KEPT_LETTERS, PAGE_LETTERS
from sot_tui.screens.widgets.reader import Reader
from tests.mailbox import TS
from tests.screens.mailing import IDLE, ME, MailScreen, body, index, listed, mail_to, open_mail
from tests.screens.real import joined, put

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.home import Home


def fill(home: Home, handle: str, count: int) -> None:
    """Put many lines into an inbox at once."""
    with open(home.inbox(handle), "ab") as file:
        file.write(b"".join(frames.frame("anna", handle, "r", f"number {at}.", TS) for at in range(1, count + 1)))


async def test_mail_of_another_handle_when_opened_then_no_cursor_moves(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "first", "second\n\nwith more")
    async with joined(comm_home) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 2)
        text = opened.screen_text()
        assert "you only look" in text
        assert "first" in text
        assert "not read by @bob yet" in text
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
        mail_to(opened.home, ME, *(f"number {at}" for at in range(30)))
        mail_to(opened.home, ME, "to all", to="")
        await opened.until(lambda: opened.fleet.mail_of(ME).unread == 30)
        assert "mail 30" in opened.says("#yours")
        await opened.pilot.click("#yours")
        await opened.until(lambda: isinstance(opened.app.screen, MailScreen))
        await opened.until(lambda: len(index(opened).keys) == 31)
        cursor = comm_home / "read" / f"{ME}.cursor"
        await opened.until(cursor.exists)
        batch = inbox.read_batch(opened.home, ME)
        assert isinstance(batch, inbox.Batch)
        assert (batch.start, batch.lines) == (31, [])
        await opened.until(lambda: opened.fleet.mail_of(ME).unread == 0)
        await opened.until(lambda: "filed · read" in opened.says("#letter-head"))
        # What comes while it is open is listed too, a broadcast as well, which nobody counts.
        mail_to(opened.home, ME, "one more")
        await opened.until(lambda: len(index(opened).keys) == 32)
        mail_to(opened.home, ME, "to all again", to="")
        await opened.until(lambda: len(index(opened).keys) == 33)
        await opened.until(lambda: cursor.read_text().startswith("33 "))


async def test_own_mail_when_only_what_nobody_counts_came_then_it_is_read_too(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    mail_to(home, ME, "to all", to="")
    async with joined(comm_home) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: "filed · read" in opened.says("#letter-head"))


async def test_own_mail_when_a_writer_holds_the_inbox_then_nothing_is_skipped(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract: a timeout means try again, never a skip."""
    put(comm_home, anna=IDLE)
    monkeypatch.setenv("SOT_INBOX_READ_WAIT_SECS", "0")
    async with joined(comm_home) as opened:
        mail_to(opened.home, ME, "hello")
        await opened.until(lambda: opened.fleet.mail_of(ME).unread == 1)
        descriptor = os.open(comm_home / "inbox" / f"{ME}.lock", os.O_RDWR)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            await open_mail(opened, ME)
            await opened.until(lambda: "is being written" in opened.says("#message"))
            assert index(opened).keys == ()
            assert not (comm_home / "read" / f"{ME}.cursor").exists()
        finally:
            os.close(descriptor)
        await opened.until(lambda: len(index(opened).keys) == 1, "read again")
        await opened.until((comm_home / "read" / f"{ME}.cursor").exists)


# -- which message was opened


async def test_mark_when_a_message_was_looked_at_then_it_is_opened_and_stays_so_when_the_dashboard_opens_again(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dot and bold say "new"; what was passed by is still new, what was stayed on, entered or clicked is not."""
    home = put(comm_home, anna=IDLE)
    mail_to(home, ME, "first", "second", "third", "fourth")
    monkeypatch.setattr(letters, "OPENED_SECS", 1e9)
    async with joined(comm_home) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 4)
        assert [line[2] for line in listed(opened)] == ["●"] * 4
        await opened.pilot.press("j", "j", "enter")
        await opened.until(lambda: "●" not in listed(opened)[2])
        await opened.pilot.press("escape")
        await opened.pilot.click(index(opened), offset=(8, 3))
        await opened.until(lambda: "●" not in listed(opened)[3])
        assert [line[2] for line in listed(opened)[:2]] == ["●", "●"]
        monkeypatch.setattr(letters, "OPENED_SECS", 1.0)
        await opened.pilot.press("g")
        await opened.until(lambda: "●" not in listed(opened)[0], "who stays on a message has opened it")
        assert listed(opened)[1][2] == "●"
    async with joined(comm_home) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 4)
        assert [line[2] for line in listed(opened)] == [" ", "●", " ", " "]
        assert "second" in body(opened), "the first new message is the one that is shown"
    # It is the person's own: no session sees it, and only the person can read it.
    assert {path.name for path in comm_home.iterdir()} <= {
        "inbox", "read", "self", "registry.json", "inbox-lock-manager"
    }  # fmt: skip


async def test_mark_when_the_inbox_was_cut_back_or_is_a_new_one_then_no_stranger_is_marked(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letters, "OPENED_SECS", float("inf"))  # however slowly this machine shows it
    home = put(comm_home, anna=IDLE)
    mail_to(home, ME, "first", "second")
    async with joined(comm_home) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 2)
        await opened.pilot.press("G", "enter")
        await opened.until(lambda: "●" not in listed(opened)[1])
        await opened.pilot.press("escape")  # what is open when it changes is read, and marked for that
        path = comm_home / "inbox" / f"{ME}.jsonl"
        first = path.read_bytes().split(b"\n")[0] + b"\n"
        other = frames.frame("anna", ME, "r", "another second", TS)
        fresh = path.with_name("fresh")
        fresh.write_bytes(first + other)
        fresh.rename(path)
        await opened.pilot.press("R")
        await opened.until(lambda: "another second" in "".join(listed(opened)))
        assert "●" in listed(opened)[1]


# -- big ones


async def test_inbox_when_it_is_big_then_opens_at_its_tail_and_older_lines_come_when_they_are_looked_at(
    comm_home: Path,
) -> None:
    count = 3000
    home = put(comm_home, anna=IDLE, bob=IDLE)
    fill(home, "bob", count)
    async with joined(comm_home) as opened:
        screen = await open_mail(opened, "bob")
        await opened.until(lambda: f"number {count}." in "".join(listed(opened)))
        assert "3,000 messages" in opened.says("#mail-title")
        assert len(index(opened).keys) == count, "every line has its place from the start"
        assert len(screen._letters) == PAGE_LETTERS
        await opened.pilot.press("g")
        await opened.until(lambda: "number 1." in "".join(listed(opened)))
        assert body(opened) == "number 1."
        index(opened).select("1500")
        await opened.until(lambda: "number 1500." in "".join(listed(opened)))
        assert len(screen._letters) <= 3 * PAGE_LETTERS
        for _ in range(20):
            await opened.pilot.press("pageup")
        await opened.until(lambda: "…" not in "".join(listed(opened)))
        await opened.pilot.press("G")
        await opened.until(lambda: body(opened) == f"number {count}.")
        assert not (comm_home / "read" / "bob.cursor").exists()


async def test_own_inbox_when_a_big_batch_is_new_then_opens_at_its_tail_and_the_cursor_passes_all_of_it(
    comm_home: Path,
) -> None:
    home = put(comm_home, anna=IDLE)
    fill(home, ME, 2000)
    async with joined(comm_home) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: "number 2000." in "".join(listed(opened)))
        assert len(index(opened).keys) == 2000
        cursor = comm_home / "read" / f"{ME}.cursor"
        await opened.until(cursor.exists)
        assert cursor.read_text().startswith("2000 ")


async def test_inbox_when_it_is_replaced_or_shrinks_then_its_new_lines_are_shown(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    fill(home, "bob", 600)
    async with joined(comm_home) as opened:
        screen = await open_mail(opened, "bob")
        await opened.until(lambda: "number 600." in "".join(listed(opened)))
        await opened.pilot.press("g")
        await opened.until(lambda: body(opened) == "number 1.")
        (comm_home / "inbox" / "bob.jsonl").write_bytes(frames.frame("anna", "bob", "r", "all that is left", TS))
        await opened.until(lambda: len(index(opened).keys) == 1)
        await opened.until(lambda: body(opened) == "all that is left")
        assert set(screen._letters) == {1}


async def test_inbox_when_more_is_looked_at_than_is_held_then_the_rest_is_read_again(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert KEPT_LETTERS > 50 * PAGE_LETTERS
    monkeypatch.setattr("sot_tui.screens.mail.KEPT_LETTERS", 600)
    home = put(comm_home, anna=IDLE, bob=IDLE)
    fill(home, "bob", 3000)
    async with joined(comm_home) as opened:
        screen = await open_mail(opened, "bob")
        await opened.until(lambda: "number 3000." in "".join(listed(opened)))
        for line in (2500, 2000, 1500, 1000, 500, 1, 3000):
            index(opened).select(f"{line}")
            await opened.until(lambda line=line: body(opened) == f"number {line}.")  # type: ignore[misc]
            assert len(screen._letters) <= 600


async def test_inbox_when_it_cannot_be_read_any_more_then_what_was_listed_stays_and_the_reason_is_said(
    comm_home: Path,
) -> None:
    """Unreadable is never empty."""
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "first", "second")
    async with joined(comm_home) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 2)
        path = comm_home / "inbox" / "bob.jsonl"
        path.rename(path.with_name("elsewhere"))
        path.mkdir()
        await opened.pilot.press("R")
        await opened.until(
            lambda: opened.says("#message") == "the inbox of @bob could not be read: Is a directory", "the reason"
        )
        assert len(index(opened).keys) == 2
        assert "first" in opened.screen_text()


# -- long ones


@pytest.mark.parametrize("text", ["word " * 60_000, "é" * 300_000], ids=["words", "one word"])
async def test_message_when_it_is_long_then_its_beginning_is_shown_at_once_and_where_the_rest_is_is_said(
    comm_home: Path, text: str
) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", text)
    async with joined(comm_home) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: "and 200,000 more characters: o opens the whole of it" in body(opened))
        shown = body(opened).split("… and 200,000")[0]
        assert "".join(shown.split()) == "".join(text[:100_000].split())
        await opened.pilot.press("enter", "G")
        await opened.until(lambda: "more characters" in opened.screen_text())


async def test_message_when_it_is_gone_before_the_rest_of_it_was_read_then_says_so(comm_home: Path) -> None:
    """A stranger's text is never shown under its head."""
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "x" * 5000)
    async with joined(comm_home) as opened:
        screen = await open_mail(opened, "bob")
        await opened.until(lambda: body(opened) == "x" * 5000 or len(body(opened)) > 5000)
        letter = screen.letter()
        assert letter is not None
        path = comm_home / "inbox" / "bob.jsonl"
        for left in (frames.frame("anna", "bob", "r", "y" * 5000, TS), b""):
            path.write_bytes(left)
            gone = await opened.engine.do(ReadLetter(letter))
            assert gone.text == ""
            assert gone.fault == "it is no longer there: the inbox of @bob was cut back, or is another one"
            screen._say_body(letter, gone)
        assert "it is no longer there" in body(opened)


# -- the mouse, and narrow screens


async def test_wheel_when_it_turns_over_a_panel_then_that_panel_alone_scrolls(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    fill(home, "bob", 100)
    mail_to(home, "bob", "\n".join(f"line {at}" for at in range(100)))
    async with joined(comm_home) as opened:
        await open_mail(opened, "bob")
        reader = opened.app.screen.query_one("#letter-text", Reader)
        await opened.until(lambda: len(index(opened).keys) == 101)
        await opened.pilot.press("G")
        await opened.until(lambda: "line 99" in body(opened))
        top = index(opened).scroll_offset.y
        reader.post_message(MouseScrollDown(reader, 5, 5, 0, 0, 0, shift=False, meta=False, ctrl=False))
        await opened.until(lambda: reader.scroll_offset.y > 0)
        assert index(opened).scroll_offset.y == top


async def test_double_click_when_on_a_message_then_the_message_gets_the_keys(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "first", "\n".join(f"line {at}" for at in range(100)))
    async with joined(comm_home) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 2)
        await opened.pilot.click(index(opened), offset=(8, 1), times=2)
        reader = opened.app.screen.query_one("#letter-text", Reader)
        await opened.until(lambda: reader.has_focus)
        await opened.pilot.press("j", "j", "pagedown")
        assert reader.scroll_offset.y > 2
        await opened.pilot.press("g")
        assert reader.scroll_offset.y == 0
        await opened.pilot.press("escape")
        assert index(opened).has_focus
        await opened.pilot.press("escape")
        assert opened.app.screen is opened.nav


async def test_message_when_opened_on_a_narrow_screen_then_takes_all_of_it(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "first", "second")
    async with joined(comm_home, size=(50, 20)) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 2)
        await opened.pilot.press("enter")
        await opened.until(lambda: not index(opened).display)
        assert "first" in opened.screen_text()
        await opened.pilot.press("escape")
        await opened.until(lambda: index(opened).display and index(opened).has_focus)
        await opened.pilot.press("j")
        assert body(opened) == "second"


async def test_detail_when_a_handle_is_selected_then_shows_its_last_mail(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("bob")
        mail_to(home, "bob", "schema v3 is on main")
        await opened.until(lambda: "anna → “schema v3 is on main”" in opened.says("#detail-body"))
        assert not (comm_home / "read" / "bob.cursor").exists()
