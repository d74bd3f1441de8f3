"""Messages from many inboxes: search, sent, threads; what is known of each is said, and nothing is moved."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from sot_tui.engine.client import Body, Found, Kind, Known, OpenMail, Page, ReadLetter, Search, Spot
from sot_tui.screens import letters
from sot_tui.screens.app import SotApp
from sot_tui.screens.compose import ComposeScreen
from sot_tui.screens.found import HITS_LIMIT, SearchScreen, SentScreen, ThreadScreen, ThreadsScreen
from sot_tui.screens.letters import COPY_BYTES, known
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.widgets.lines import Lines
from sot_tui.screens.widgets.reader import Reader
from tests.screens.fleets import FakeClient, fleet, letter
from tests.screens.mailing import IDLE, ME, body, index, lines_of, listed, mail_to, open_mail, read_by, until_on
from tests.screens.real import joined, put

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.home import Home
    from tests.screens.real import Opened


def talk(path: Path) -> Home:
    """Put some talk into the inboxes of three."""
    home = put(path, anna=IDLE, bob=IDLE)
    mail_to(home, ME, "the schema is on main", age=400)
    mail_to(home, "anna", "which schema?", sender=ME, age=300)
    mail_to(home, "anna", "not for you", sender="bob", age=200)
    mail_to(home, ME, "schema v3\n\nof course", age=100)
    mail_to(home, "bob", "all: schema day", sender=ME, to="", age=50)
    mail_to(home, "ghost", "a schema for one who left", sender="carl", age=20)
    return home


async def search(opened: Opened, words: str) -> SearchScreen:
    await open_mail(opened, "anna")
    await opened.pilot.press("slash")
    await until_on(opened, SearchScreen)
    screen = opened.app.screen
    assert isinstance(screen, SearchScreen)
    field = screen.query_one("#search-words", Input)
    assert field.has_focus
    field.value = words
    await opened.until(lambda: index(opened).keys or "nothing was found" in opened.screen_text())
    return screen


async def test_search_when_words_are_typed_then_hits_of_every_inbox_the_newest_first(comm_home: Path) -> None:
    """From whom to whom, how it begins, its age; the words stand out in the message."""
    talk(comm_home)
    async with joined(comm_home, size=(140, 30)) as opened:
        await search(opened, "schema")
        await opened.until(lambda: len(index(opened).keys) == 5)
        assert [line[4:].split("  ")[0] for line in listed(opened)] == [
            "carl → ghost", f"{ME} → bob", f"anna → {ME}", f"{ME} → anna", f"anna → {ME}"
        ]  # fmt: skip
        assert "5 found" in opened.says("#mail-title")
        reader = opened.app.screen.query_one("#letter-text", Reader)
        assert reader._words == ("schema",)
        styled = [segment for segment in reader.render_line(0) if segment.text == "schema"]
        assert styled
        assert styled[0].style is not None
        assert styled[0].style.bold
        assert not list((comm_home / "read").iterdir()), "nothing was moved"


async def test_search_when_a_hit_is_opened_then_in_the_inbox_where_it_lies(comm_home: Path) -> None:
    home = talk(comm_home)
    mail_to(home, "anna", *(f"later {at}" for at in range(300)), sender="bob")
    async with joined(comm_home) as opened:
        found = await search(opened, "which from:operator to:anna")
        await opened.until(lambda: len(index(opened).keys) == 1)
        await opened.pilot.press("enter", "enter")
        await until_on(opened, MailScreen)
        await opened.until(lambda: body(opened) == "which schema?")
        assert "mail of anna" in opened.says("#mail-title")
        assert index(opened).selected == "1"
        await opened.pilot.press("escape")
        assert opened.app.screen is found
        assert index(opened).keys
        await opened.pilot.press("slash")
        assert found.query_one("#search-words", Input).has_focus
        await opened.pilot.press("escape")
        await until_on(opened, MailScreen)


async def test_search_when_the_words_change_then_the_old_search_ends(comm_home: Path) -> None:
    talk(comm_home)
    async with joined(comm_home) as opened:
        await search(opened, "schema")
        field = opened.app.screen.query_one("#search-words", Input)
        field.value = "nobody wrote this"
        await opened.until(lambda: "nothing was found" in opened.screen_text())
        field.value = ""
        await opened.until(lambda: "Every word you type" in opened.screen_text())
        field.value = "course"
        await opened.until(lambda: len(index(opened).keys) == 1)


async def test_search_when_the_words_change_while_it_goes_on_then_only_the_new_hits_are_shown() -> None:
    client = FakeClient(fleet())

    async def found(command: Search) -> Found:
        await asyncio.sleep(0.005)
        asked = len(client.asked)
        if command.words == ("old",):
            return Found((letter(asked, "Docs-box", "old", 9, inbox="Docs-box"),), Spot(("Docs-box",), asked))
        return Found((letter(1, "Docs-box", "new", 9, inbox="Notes-box"),))

    client.answers[Search] = found
    app = SotApp(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("m", "slash", *"old")
        lines = app.screen.query_one("#index", Lines)
        while len(lines.keys) < 2:
            await pilot.pause(0.01)
        app.screen.query_one("#search-words", Input).value = "new"
        while list(lines.keys) != ["Notes-box/1/1-3"]:
            await pilot.pause(0.01)
        asked = len(client.asked)
        await pilot.pause(0.1)
        assert list(lines.keys) == ["Notes-box/1/1-3"]
        assert len(client.asked) == asked


async def test_search_when_it_goes_on_in_parts_then_hits_come_in_and_leaving_ends_it() -> None:
    client = FakeClient(fleet())
    parts = [0]

    async def more(_: Search) -> Found:
        await asyncio.sleep(0.01)
        parts[0] += 1
        one = letter(parts[0], "Docs-box", f"hit {parts[0]}", 100 - parts[0], inbox="Docs-box")
        return Found((one,), Spot(("Docs-box", "Notes-box"), 5, seen=parts[0]))

    client.answers[Search] = more
    app = SotApp(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("m", "slash", "x")
        lines = None
        for _ in range(200):
            await pilot.pause(0.02)
            if isinstance(app.screen, SearchScreen):
                lines = app.screen.query_one("#index", Lines)
                if len(lines.keys) > 3:
                    break
        assert lines is not None
        assert len(lines.keys) > 3
        assert "inboxes …" in str(app.screen.query_one("#mail-title").render())
        first, second = client.asked_for(Search)[:2]
        assert first == Search(("x",))
        assert second == Search(("x",), spot=Spot(("Docs-box", "Notes-box"), 5, seen=1))
        await pilot.press("escape", "escape")
        await pilot.pause()
        asked = parts[0]
        await pilot.pause(0.1)
        assert parts[0] <= asked + 1


async def test_search_when_too_much_is_found_then_it_stops_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert HITS_LIMIT >= 1000
    monkeypatch.setattr("sot_tui.screens.found.HITS_LIMIT", 3)
    client = FakeClient(fleet())
    many = tuple(letter(at, "Docs-box", "hit", at, inbox="Docs-box") for at in range(1, 5))
    client.answers[Search] = Found(many, Spot(("Docs-box",), 5), ("@x: only the newest 500 are shown",))
    app = SotApp(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("m", "slash", "x")
        for _ in range(100):
            await pilot.pause(0.02)
            if client.asked_for(Search):
                break
        await pilot.pause()
        assert len(client.asked_for(Search)) == 1
        assert "stopped at 3: more words find less" in str(app.screen.query_one("#mail-title").render())
        assert app.desk.said is not None
        assert app.desk.said.sentence == "@x: only the newest 500 are shown"


# -- sent


async def test_sent_when_opened_then_what_was_sent_and_whether_it_was_read(comm_home: Path) -> None:
    """A circle: not read yet; a tick: the reader's cursor has passed it. The message says by whom."""
    home = talk(comm_home)
    async with joined(comm_home, size=(140, 30)) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 2)
        await opened.pilot.press("s")
        await until_on(opened, SentScreen)
        await opened.until(lambda: len(index(opened).keys) == 2)
        await opened.until(
            lambda: [line[2:].split("  ")[0] for line in listed(opened)] == ["○ → bob (all)", "○ → anna"]
        )
        assert "2 messages · 2 not read yet" in opened.says("#mail-title")
        await opened.pilot.press("j")
        await opened.until(lambda: "filed · not read by @anna yet" in opened.says("#letter-head"))
        read_by(home, "anna")
        await opened.until(lambda: "filed · read by @anna" in opened.says("#letter-head"))
        assert listed(opened)[1][2] == "✓"
        assert index(opened).selected == index(opened).keys[1], "the selection stays with its message"
        await opened.pilot.press("s")
        await until_on(opened, MailScreen)


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (letter(1, "a", "x", 1, inbox="b"), "filed · not read by @b yet"),
        (letter(1, "a", "x", 1, inbox="b", read=True), "filed · read by @b"),
        (letter(1, "a", "x", 1, inbox="me", read=True), "filed · read"),
        (replace(letter(1, "a", "x", 1, inbox="b"), rung=Known.YES), "filed · rung · not read by @b yet"),
        (replace(letter(1, "a", "x", 1, inbox="b"), rung=Known.NO), "filed · not rung · not read by @b yet"),
        (letter(1, "", "x", 1, inbox="b", kind=Kind.UNPARSED), "it lies in the inbox"),
    ],
)
def test_known_when_a_fact_is_not_known_then_it_is_not_said(one: object, words: str) -> None:
    from sot_tui.engine.client import Letter

    assert isinstance(one, Letter)
    assert known(one, "me") == words


# -- threads


async def test_threads_when_opened_then_peers_and_a_thread_has_both_ways(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line for each peer, who wrote last first, how many are new and how many there are; then the talk itself."""
    monkeypatch.setattr(letters, "OPENED_SECS", float("inf"))  # however slowly this machine shows it
    talk(comm_home)
    async with joined(comm_home) as opened:
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 2)
        await opened.pilot.press("t")
        await until_on(opened, ThreadsScreen)
        await opened.until(lambda: list(index(opened).keys) == ["bob", "anna"])
        assert "2 peers" in opened.says("#mail-title")
        await opened.until(lambda: listed(opened)[1].split()[:3] == ["●", "anna", "3"])
        await opened.pilot.press("j", "enter")
        await until_on(opened, ThreadScreen)
        await opened.until(lambda: len(index(opened).keys) == 3)
        await opened.until(
            lambda: [line[2:].split("  ")[0].strip() for line in listed(opened)] == ["● anna", "○ → anna", "● anna"]
        )
        assert body(opened) == "schema v3\n\nof course", "it begins at the newest"
        mail_to(opened.home, ME, "one more")
        await opened.until(lambda: len(index(opened).keys) == 4)
        await opened.pilot.press("k", "r")
        await opened.until(lambda: opened.says("#message") == "this message is your own")
        await opened.pilot.press("G", "r")
        await until_on(opened, ComposeScreen)
        assert "in reply to: one more" in opened.screen_text()
        await opened.pilot.press("escape", "t")
        await until_on(opened, ThreadsScreen)
        await opened.pilot.press("t")
        await until_on(opened, MailScreen)


async def test_threads_when_of_somebody_elses_inbox_then_its_own_and_nothing_is_moved(comm_home: Path) -> None:
    talk(comm_home)
    async with joined(comm_home) as opened:
        await open_mail(opened, "anna")
        await opened.pilot.press("t")
        await until_on(opened, ThreadsScreen)
        await opened.until(lambda: set(index(opened).keys) == {"bob", ME})
        assert "threads of anna" in opened.says("#mail-title")
        assert not list((comm_home / "read").iterdir())


async def test_thread_when_clicked_twice_then_it_opens(comm_home: Path) -> None:
    talk(comm_home)
    async with joined(comm_home) as opened:
        await open_mail(opened, ME)
        await opened.pilot.press("t")
        await until_on(opened, ThreadsScreen)
        await opened.until(lambda: len(index(opened).keys) == 2)
        await opened.pilot.click(index(opened), offset=(8, 1), times=2)
        await until_on(opened, ThreadScreen)
        await opened.until(lambda: "operator-box ↔ anna" in opened.says("#mail-title"))


# -- copying


async def test_copy_when_a_message_is_copied_then_whole_and_inert(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "one\x1b[2J\ntwo\ttabs")
    async with joined(comm_home) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 1)
        await opened.pilot.press("y")
        await opened.until(lambda: opened.app.clipboard == "one␛[2J\ntwo    tabs")
        assert opened.says("#message") == "copied 19 characters, if the terminal lets programs copy (OSC 52)"


async def test_copy_when_the_message_is_long_then_a_bounded_part_and_says_so(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE, bob=IDLE)
    mail_to(home, "bob", "é" * 90_000)
    async with joined(comm_home) as opened:
        await open_mail(opened, "bob")
        await opened.until(lambda: len(index(opened).keys) == 1)
        await opened.pilot.press("y")
        await opened.until(lambda: opened.app.clipboard == "é" * (COPY_BYTES // 2))
        assert len(base64.b64encode(opened.app.clipboard.encode())) < 100_000
        assert opened.says("#message").startswith("copied the first 35,000 of 90,000 characters")


async def test_key_when_there_is_no_message_then_says_so(comm_home: Path) -> None:
    put(comm_home, anna=IDLE, bob=IDLE)
    async with joined(comm_home) as opened:
        await open_mail(opened, "bob")
        for key in ("enter", "r", "y", "o"):
            opened.app.desk.said = None
            await opened.pilot.press(key)
            await opened.until(lambda: opened.says("#message") == "there is no message here")


# -- the pieces


async def test_reader_when_a_text_is_long_then_is_wrapped_between_two_turns_of_the_loop() -> None:
    client = FakeClient(fleet())
    long = replace(letter(1, "Docs-box", "word " * 800, 5), chars=100_000)
    client.answers[OpenMail] = Page(ME, (long,), 1)
    client.answers[ReadLetter] = Body("word " * 20_000, 100_000)
    app = SotApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("m")
        await pilot.pause()
        reader = app.screen.query_one("#letter-text", Reader)
        for _ in range(100):
            await pilot.pause(0.01)
            if len(reader.shown.split()) == 20_000:
                break
        assert len(reader.shown.split()) == 20_000
        assert max(map(len, reader.shown.split("\n"))) <= reader.room
        # Another width wraps it anew, and what was begun for the old one is dropped.
        before = reader.room
        await pilot.resize_terminal(50, 20)
        for _ in range(100):
            await pilot.pause(0.01)
            if reader.room < before and len(reader.shown.split()) == 20_000:
                break
        assert max(map(len, reader.shown.split("\n"))) <= reader.room


# -- by the mouse alone


async def test_mouse_when_nothing_else_is_used_then_a_message_is_found_answered_and_sent(comm_home: Path) -> None:
    """The key line can be clicked: search, the hit, the reply, and Send; only the words themselves are typed."""
    talk(comm_home)
    async with joined(comm_home, size=(120, 30)) as opened:
        await opened.pilot.click("#yours")
        await until_on(opened, MailScreen)
        await opened.until(lambda: len(index(opened).keys) == 2)
        await opened.click_key("search")
        await until_on(opened, SearchScreen)
        await opened.pilot.press(*"course")
        await opened.until(lambda: len(index(opened).keys) == 1)
        await opened.pilot.click(index(opened), offset=(8, 0), times=2)
        await until_on(opened, MailScreen)
        await opened.until(lambda: "of course" in body(opened))
        await opened.click_key("reply")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press("o", "k")
        await opened.pilot.click("#compose-send")
        await until_on(opened, MailScreen)
        await opened.until(lambda: opened.says("#message") == "filed -> @anna")
        assert str(lines_of(comm_home, "anna")[-1]["msg"]).endswith("> of course\n\nok")
        await opened.click_key("compose")
        await until_on(opened, ComposeScreen)
        await opened.pilot.click("#compose-close")
        await until_on(opened, MailScreen)
