"""The handles beside the mail of a wide screen: the nav's own lines; keys only look, a click or going in is meant."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from sot_tui.engine.client import Command, OpenMail, Page
from sot_tui.screens import letters
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.recover import RecoverDialog
from sot_tui.screens.widgets.lines import Lines
from sot_tui.screens.widgets.reader import Reader
from tests.screens.fleets import DEAD, FakeClient, fleet, letter
from tests.screens.mailing import IDLE, ME, body, index, listed, mail_to, open_mail
from tests.screens.pictures import opened as shown_fleet
from tests.screens.real import Opened, entry, joined, put

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

WIDE = (120, 30)
DONE: dict[str, object] = {"state": "done", "done": True, "note": "built", "summary": "built"}


def beside(opened: Opened) -> Lines:
    return opened.app.screen.query_one("#beside-lines", Lines)


def is_beside(opened: Opened) -> bool:
    return opened.app.screen.query_one("#beside").display


async def turn_to(opened: Opened, handle: str) -> None:
    """Move to a handle by keys."""
    lines = beside(opened)
    assert lines.has_focus
    while lines.selected != handle:
        at = lines.keys.index(lines.selected or "")
        await opened.pilot.press("j" if lines.keys.index(handle) > at else "k")


async def test_mail_when_the_screen_is_wide_then_every_handle_stands_beside_it(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob={"state": "blocked", "dialog": "Allow?"})
    mail_to(home, "anna", "hello")
    async with joined(comm_home, WIDE) as opened:
        await open_mail(opened, "anna")
        await opened.until(lambda: body(opened) == "hello")
        assert is_beside(opened)
        assert list(beside(opened).keys) == list(opened.lines.keys)
        assert beside(opened).selected == "anna"
        assert index(opened).has_focus
        text = opened.screen_text()
        assert "◆ bob" in text
        assert "1 needs you" in text
        # What happens meanwhile is seen there.
        put(comm_home, carl={"state": "blocked", "dialog": "Allow?"})
        await opened.until(lambda: "◆ carl" in opened.screen_text())
        await opened.until(lambda: "2 need you" in opened.screen_text())


async def test_keys_when_they_move_along_the_handles_then_each_mail_is_looked_at_and_nothing_is_cleared(
    comm_home: Path,
) -> None:
    home = put(comm_home, anna=IDLE, ready=DONE)
    mail_to(home, "anna", "for anna")
    mail_to(home, "ready", "for ready")
    async with joined(comm_home, WIDE) as opened:
        await open_mail(opened, "anna")
        await opened.pilot.press("left")
        await turn_to(opened, "ready")
        await opened.until(lambda: body(opened) == "for ready")
        assert "mail of ready" in opened.screen_text()
        assert opened.lines.selected == "ready"
        assert entry(home, "ready")["done"] is True
        # Going in is what opening it from the nav is.
        await opened.pilot.press("enter")
        assert index(opened).has_focus
        await opened.until(lambda: "done" not in entry(home, "ready"), "who goes in has viewed it")
        await opened.pilot.press("right")
        assert opened.app.screen.query_one("#letter-text", Reader).has_focus
        await opened.pilot.press("left", "left")
        assert beside(opened).has_focus
        await opened.pilot.press("left")
        assert "nothing further to the left" in opened.says("#message")
        await opened.pilot.press("escape")
        assert opened.app.screen is opened.nav
        assert opened.lines.selected == "ready"


async def test_own_mail_when_keys_only_pass_by_then_it_is_not_polled_until_a_person_goes_in(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moving by keys clears nothing, and a message that was passed by is as new as before."""
    home = put(comm_home, anna=IDLE)
    mail_to(home, "anna", "for anna")
    mail_to(home, ME, "for you")
    monkeypatch.setattr(letters, "OPENED_SECS", 0.0)
    async with joined(comm_home, WIDE) as opened:
        await opened.until(lambda: opened.fleet.mail_of(ME).unread == 1)
        await open_mail(opened, "anna")
        await opened.pilot.press("left")
        await turn_to(opened, ME)
        await opened.until(lambda: body(opened) == "for you")
        assert "you only look" in opened.says("#mail-title")
        opened.app.screen.time_passed()  # type: ignore[attr-defined]  # the mail
        await opened.pilot.pause()
        assert "●" in listed(opened)[0]
        assert opened.fleet.mail_of(ME).unread == 1
        await opened.pilot.press("right")
        await opened.until(lambda: opened.fleet.mail_of(ME).unread == 0)
        assert "your mail" in opened.says("#mail-title")


async def test_click_when_on_a_handle_beside_then_its_mail_is_shown_and_its_done_cleared(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, ready=DONE)
    mail_to(home, "ready", "for ready")
    mail_to(home, ME, "for you")
    async with joined(comm_home, WIDE) as opened:
        await open_mail(opened, "anna")
        await opened.click_in(beside(opened), "ready", 6)
        await opened.until(lambda: body(opened) == "for ready")
        await opened.until(lambda: "done" not in entry(home, "ready"), "a click is a view")
        await opened.click_in(beside(opened), ME, 6)
        await opened.until(lambda: opened.fleet.mail_of(ME).unread == 0, "a click is meant, so it polls")
        await opened.click_in(beside(opened), "ready", 6, times=2)
        await opened.until(lambda: index(opened).has_focus and body(opened) == "for ready")


async def test_screen_when_it_gets_narrower_then_the_mail_stays_and_has_the_keys(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    mail_to(home, "anna", "one", "two")
    async with joined(comm_home, WIDE) as opened:
        await open_mail(opened, "anna")
        await opened.until(lambda: len(index(opened).keys) == 2)
        await opened.pilot.press("left")
        await opened.pilot.resize_terminal(99, 30)
        await opened.until(lambda: not is_beside(opened) and index(opened).has_focus)
        await opened.pilot.press("g")
        assert body(opened) == "one"
        await opened.pilot.press("left")
        assert "nothing further to the left" in opened.says("#message")
        await opened.pilot.resize_terminal(120, 30)
        await opened.until(lambda: is_beside(opened))


async def test_handles_when_the_filter_hides_the_one_that_is_open_then_it_is_listed_all_the_same(
    comm_home: Path,
) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE, carl=IDLE)
    mail_to(home, "bob", "for bob")
    async with joined(comm_home, WIDE) as opened:
        await open_mail(opened, "bob")
        opened.nav._filter.display = True
        opened.nav._filter.query_one("#filter-text").value = "anna"  # type: ignore[attr-defined]  # its input
        await opened.until(lambda: list(beside(opened).keys) == ["bob", "anna"])
        # Nor is it let go of when it leaves the registry: its inbox is still there.
        put(comm_home, bob=None)
        await opened.until(lambda: "bob" not in opened.fleet.agents)
        assert list(beside(opened).keys) == ["bob", "anna"]
        assert body(opened) == "for bob"
        assert beside(opened).render_line(0).text.strip() == "▌   bob"


async def test_lock_when_it_is_wedged_then_it_is_said_beside_the_mail_and_a_click_looks_at_it() -> None:
    """It counts among the needs above the handles, so it is told where they are."""
    async with shown_fleet((120, 40), fleet(lock=DEAD), "m") as pilot:
        await pilot.click("#beside-lock")
        await pilot.pause()
        assert isinstance(pilot.app.screen, RecoverDialog)
        await pilot.press("escape")
        client = pilot.app.desk.client  # type: ignore[attr-defined]  # the app of this test
        client.show(fleet())
        await pilot.pause()
        assert not pilot.app.screen.query_one("#beside-lock").display


async def test_answer_when_it_comes_after_a_person_has_turned_to_another_handle_then_it_is_not_shown() -> None:
    """A stranger's mail never stands under a handle's name."""
    held = asyncio.Event()

    async def answer(command: Command[object]) -> Page:
        asked = cast("OpenMail", command)
        if asked.handle == "Docs-box" and asked.before:
            await held.wait()
        if asked.handle == "Docs-box":
            # Of its 600 lines none is known yet but the last one.
            lines = [letter(600 if not asked.before else 500, "a", f"docs {asked.before}", 60, inbox="Docs-box")]
            return Page("Docs-box", tuple(lines), 600)
        return Page(asked.handle, tuple(replace(letter(1, "b", "notes", 60), inbox=asked.handle) for _ in "1"), 1)

    def slow(client: FakeClient) -> None:
        client.answers[OpenMail] = answer

    async with shown_fleet((120, 40), fleet(), laid_out=slow) as pilot:
        pilot.app.screen.query_one("#fleet", Lines).select("Docs-box")
        await pilot.press("m")
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, MailScreen)
        screen.query_one("#index", Lines).select("500")
        await pilot.press("left")
        screen.query_one("#beside-lines", Lines).select("Notes-box")
        for _ in range(100):
            await pilot.pause(0.01)
            if set(screen._letters) == {1}:
                break
        held.set()
        await pilot.pause(0.05)
        assert screen.handle == "Notes-box"
        assert set(screen._letters) == {1}
        assert screen.query_one("#letter-text", Reader).shown == "notes"
