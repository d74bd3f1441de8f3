"""A message to the person is not lost among broadcasts: it stays a need until it was opened, whatever was listed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sot_tui.comm import config, fleet as rules, fleet_json, look
from sot_tui.screens import letters
from tests.screens.mailing import IDLE, ME, body, index, mail_to, open_mail
from tests.screens.real import HOST, joined, put

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from sot_tui.comm.home import Home

SMALL = (80, 24)


def broadcasts(home: Home, count: int) -> None:
    mail_to(home, ME, *(f"to all {at}" for at in range(count)), to="")


async def test_own_mail_when_a_direct_message_lies_below_broadcasts_then_it_is_selected_and_shown(
    comm_home: Path,
) -> None:
    home = put(comm_home, anna=IDLE)
    broadcasts(home, 20)
    mail_to(home, ME, "for you alone")
    broadcasts(home, 20)
    async with joined(comm_home, SMALL) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: body(opened) == "for you alone")
        assert index(opened).selected == "21"


async def test_own_mail_when_left_before_a_direct_message_was_opened_then_it_stays_a_need(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cursor passes the batch; header, line, title, jump key and `--json` go on counting what was not opened."""
    monkeypatch.setattr(letters, "OPENED_SECS", 1e9)
    home = put(comm_home, anna=IDLE)
    mail_to(home, ME, "first", "second")
    async with joined(comm_home, SMALL) as opened:
        await open_mail(opened, ME)
        cursor = comm_home / "read" / f"{ME}.cursor"
        await opened.until(lambda: cursor.exists() and cursor.read_text().startswith("2 "))
        await opened.until(lambda: opened.fleet.mail_of(ME).waiting == 2)
        assert opened.fleet.mail_of(ME).unread == 0
        assert "filed · read" in opened.says("#letter-head"), "what a sender is told follows the cursor"
        await opened.pilot.press("escape")
        assert "mail 2" in opened.says("#yours")
        assert "1 needs you" in opened.says("#counts")
        assert "2 messages for you" in opened.line_of(ME)
        assert "1 needs you" in rules.title(opened.fleet, opened.app.desk.now())
        await opened.pilot.press("g", "j", "space")
        assert opened.lines.selected == ME
        # What `sot-tui list --json` prints is made of this look.
        environ = {**os.environ, "SOT_SELF_HOST": HOST}
        seen = look.fleet(home, environ, config.read(environ))
        assert isinstance(seen, rules.Fleet)
        said = fleet_json.fleet_object(seen, home.clock.now())
        assert said["counts"]["mail"] == 2
        mine = next(one for one in said["agents"] if one["handle"] == said["operator"])
        assert (mine["mail"]["unread"], mine["mail"]["waiting"], mine["needs_you"]) == (0, 2, "mail")
    # It is kept: the next dashboard counts it, and a message that is opened is counted no more.
    async with joined(comm_home, SMALL) as opened:
        assert "mail 2" in opened.says("#yours")
        await open_mail(opened, ME)
        await opened.until(lambda: body(opened) == "first")
        await opened.pilot.press("enter")
        await opened.until(lambda: opened.fleet.mail_of(ME).waiting == 1)
        await opened.pilot.press("escape", "space")
        await opened.until(lambda: body(opened) == "second")
        await opened.pilot.press("enter")
        await opened.until(lambda: opened.fleet.mail_of(ME).waiting == 0)
        await opened.pilot.press("escape", "escape")
        assert "mail 0" in opened.says("#yours")
        assert "nobody needs you" in opened.says("#counts")


async def test_own_mail_when_a_direct_message_comes_out_of_sight_then_it_is_told_and_a_key_or_a_click_goes_there(
    comm_home: Path,
) -> None:
    home = put(comm_home, anna=IDLE)
    broadcasts(home, 40)
    async with joined(comm_home, SMALL) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 40)
        await opened.pilot.press("g")
        for key, text in (("space", "one"), ("", "two")):
            mail_to(home, ME, text)
            await opened.until(lambda: "1 new for you below" in opened.says("#mail-title"))
            assert body(opened) != text
            if key:
                await opened.pilot.press(key)
            else:
                await opened.pilot.click("#mail-title")
            await opened.until(lambda text=text: body(opened) == text)  # type: ignore[misc]  # its default binds it
            await opened.until(lambda: opened.fleet.mail_of(ME).for_person == 0, "it was shown for a second")
            assert "new for you" not in opened.says("#mail-title")
            await opened.pilot.press("g")
        await opened.pilot.press("space")
        assert "no message to you here" in opened.says("#message")


async def test_own_mail_when_an_older_direct_message_is_out_of_what_is_read_at_once_then_it_is_selected(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letters, "OPENED_SECS", 1e9)
    home = put(comm_home, anna=IDLE)
    mail_to(home, ME, "for you alone")
    async with joined(comm_home, SMALL) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: opened.fleet.mail_of(ME).waiting == 1)
        await opened.pilot.press("escape")
        broadcasts(home, 400)
        await opened.until(lambda: opened.fleet.mail_of(ME).total == 401)
        screen = await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 401)
        assert len(screen._letters) < 401
    async with joined(comm_home, SMALL) as opened:
        await open_mail(opened, ME)
        await opened.pilot.press("G")
        await opened.until(lambda: "1 new for you above" in opened.says("#mail-title"))
        await opened.pilot.press("space")
        await opened.until(lambda: body(opened) == "for you alone")


async def test_waiting_when_the_inbox_is_a_new_one_then_nothing_waits(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an inbox holds no more can never be opened, so it must not be a need for good."""
    monkeypatch.setattr(letters, "OPENED_SECS", 1e9)
    home = put(comm_home, anna=IDLE)
    mail_to(home, ME, "first", "second", "third")
    async with joined(comm_home, SMALL) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: opened.fleet.mail_of(ME).waiting == 3)
        path = comm_home / "inbox" / f"{ME}.jsonl"
        fresh = path.with_name("fresh")
        fresh.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))
        fresh.rename(path)
        await opened.until(lambda: opened.fleet.mail_of(ME).waiting == 1)
