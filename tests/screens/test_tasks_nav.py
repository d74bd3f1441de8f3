"""What a person does in the nav, each task by keys and by mouse: state on the disk first, then what is said."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest
from textual.command import CommandPalette
from textual.widgets import Button, Input

from sot_tui.comm import fleet as rules, registry, set_aside
from sot_tui.screens.compose import ComposeScreen
from sot_tui.screens.confirm import Confirm
from sot_tui.screens.events import EventsScreen
from sot_tui.screens.locks import LocksScreen
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.unsent import UnsentScreen
from tests.screens.mailing import STALE, until_on
from tests.screens.real import entry, joined, put

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.home import Home
    from tests.screens.real import Opened

DONE: dict[str, object] = {"state": "done", "done": True, "note": "built", "summary": "built"}
WORKING: dict[str, object] = {"state": "working", "floor": "user", "note": "n", "summary": "n"}
BLOCKED: dict[str, object] = {"state": "blocked", "dialog": "Allow Bash?", "summary": "Allow Bash?"}
ROOMY = (200, 40)
"""Where every key has its place in the key line."""
WAYS = pytest.mark.parametrize("way", ["keys", "mouse"])
SIZES = pytest.mark.parametrize("size", [(50, 20), (80, 24), (120, 40)], ids=["narrow", "medium", "wide"])


async def choose(opened: Opened, handle: str) -> None:
    """Select a handle without a click, which would count as a view."""
    opened.lines.select(handle)
    await opened.pilot.pause()


async def act(opened: Opened, way: str, key: str, label: str) -> None:
    """Press a key, or click it in the key line."""
    await (opened.pilot.press(key) if way == "keys" else opened.click_key(label))


async def refused(opened: Opened, key: str, label: str) -> None:
    """Press the key of what cannot be done now: it is not offered to a mouse, and the key says why."""
    await opened.until(lambda: f" {label}  " not in f"{opened.says('#keys')}  ", "it is not offered")
    await opened.pilot.press(key)


def ageless(said: str) -> str:
    """Return words in one line, without the ages that pass between two looks."""
    return re.sub(r"\d+[smhd]", "", " ".join(said.split()))


def is_listed(home: Home, handle: str) -> bool:
    book = registry.read(home)
    assert not isinstance(book, registry.Unread)
    return book.entry(handle) is not None


# -- looking ----------------------------------------------------------------------------------------------------------


async def test_detail_when_a_handle_is_selected_then_says_why_as_explain_does(comm_home: Path) -> None:
    """Product: `why` is on every row, the same answer as `sot-tui explain @handle` gives."""
    put(comm_home, asks=BLOCKED, ready=DONE, busy=WORKING, gone=STALE, plain={})
    async with joined(comm_home, ROOMY) as opened:
        for handle in opened.lines.keys:
            await opened.click_line(handle) if handle != "ready" else await choose(opened, handle)
            assert opened.lines.selected == handle
            why = dict(rules.explain(opened.fleet, opened.fleet.agents[handle], opened.engine.now()))["why"]
            assert f"why {ageless(why)}" in ageless(opened.says("#detail-body")), handle


@pytest.mark.parametrize(
    "moves",
    [
        (("j", 1), ("down", 2), ("k", 1), ("up", 0), ("up", 0)),
        (("pagedown", "a page"), ("pageup", 0)),
        (("end", -1), ("home", 0)),
        (("G", -1), ("down", -1), ("g", 0)),
    ],
    ids=["line", "page", "ends", "ends-by-letters"],
)
async def test_selection_when_moved_by_keys_then_is_in_sight_and_nothing_is_viewed(
    comm_home: Path, moves: tuple[tuple[str, int | str], ...]
) -> None:
    home = put(comm_home, **{f"h{number:02}": DONE for number in range(40)})
    async with joined(comm_home) as opened:
        await opened.pilot.press("g")
        lines = opened.lines
        for key, wanted in moves:
            await opened.pilot.press(key)
            at = range(len(lines.keys))[wanted if isinstance(wanted, int) else lines.size.height - 1]
            assert lines.selected == lines.keys[at], key
            assert 0 <= at - lines.scroll_offset.y < lines.size.height
        assert all(entry(home, f"h{number:02}").get("done") for number in range(40))


# -- viewing ----------------------------------------------------------------------------------------------------------


@SIZES
async def test_click_when_the_screen_has_this_width_then_clears_done_and_shows_the_detail(
    comm_home: Path, size: tuple[int, int]
) -> None:
    home = put(comm_home, aa=DONE, bb={**DONE, "summary": "the other one"})
    async with joined(comm_home, size) as opened:
        await opened.click_line("bb")
        await opened.until(lambda: "done" not in entry(home, "bb"), "it is viewed")
        assert opened.says("#message") == "cleared the done of @bb"
        assert "the other one" in opened.says("#detail-body")
        assert entry(home, "aa")["done"] is True


@WAYS
async def test_done_when_cleared_by_its_key_then_only_there_and_where_there_is_none_says_why(
    comm_home: Path, way: str
) -> None:
    home = put(comm_home, aa=DONE, bb=DONE, busy=WORKING)
    async with joined(comm_home, ROOMY) as opened:
        await choose(opened, "bb")
        await act(opened, way, "d", "clear done")
        await opened.until(lambda: "done" not in entry(home, "bb"))
        assert opened.says("#message") == "cleared the done of @bb"
        assert entry(home, "aa")["done"] is True
        await choose(opened, "busy")
        await refused(opened, "d", "clear done")
        await opened.until(lambda: opened.says("#message") == "@busy has no done to clear")


@pytest.mark.parametrize("how", ["enter", "m", "the key line", "a double click"])
async def test_mail_when_opened_then_its_done_is_viewed_and_another_boxs_is_not(comm_home: Path, how: str) -> None:
    home = put(comm_home, aa=DONE, far={"host": "laptop", **DONE})
    async with joined(comm_home, ROOMY) as opened:
        far = entry(home, "far")
        for handle in ("aa", "far"):
            await choose(opened, handle)
            if how == "a double click":
                await opened.click_line(handle, times=2)
            else:
                await act(opened, "mouse" if how == "the key line" else "keys", how, "mail")
            await until_on(opened, MailScreen)
            screen = opened.app.screen
            assert isinstance(screen, MailScreen)
            assert screen.handle == handle
            await opened.pilot.press("escape")
            await opened.until(lambda: opened.app.screen is opened.nav)
        await opened.until(lambda: "done" not in entry(home, "aa"))
        assert entry(home, "far") == far
        assert not list((comm_home / "read").glob("*.cursor")), "a look moves no cursor"


@WAYS
async def test_next_when_asked_then_goes_round_who_needs_a_person_and_views_nobody(comm_home: Path, way: str) -> None:
    home = put(comm_home, asks=BLOCKED, ready=DONE, busy=WORKING)
    async with joined(comm_home, ROOMY) as opened:
        await choose(opened, "busy")
        needed = list(opened.lines.keys[:2])
        seen = []
        for _ in range(3):
            await act(opened, way, "space", "next")
            await opened.pilot.pause()
            seen.append(opened.lines.selected)
        assert set(needed) == {"asks", "ready"}
        assert seen == [*needed, needed[0]]
        assert entry(home, "ready")["done"] is True
        put(comm_home, asks=WORKING, ready=WORKING)
        await opened.until(lambda: "nobody needs you" in opened.says("#counts"))
        await refused(opened, "space", "next")
        await opened.until(lambda: opened.says("#message") == "nobody needs you")


@WAYS
async def test_aside_when_asked_then_is_kept_and_taken_back_and_says_why_not(comm_home: Path, way: str) -> None:
    home = put(comm_home, asks=BLOCKED, busy=WORKING)
    async with joined(comm_home, ROOMY) as opened:
        await choose(opened, "asks")
        await act(opened, way, "z", "aside")
        await opened.until(lambda: list(set_aside.read(home, os.environ).by_handle) == ["asks"])
        await opened.until(lambda: "nobody needs you" in opened.says("#counts"))
        assert opened.says("#message") == "set @asks aside until something changes"
        await act(opened, way, "z", "aside")
        await opened.until(lambda: not set_aside.read(home, os.environ).by_handle)
        await opened.until(lambda: "1 needs you" in opened.says("#counts"))
        await choose(opened, "busy")
        await refused(opened, "z", "aside")
        why = "@busy does not need you, so there is nothing to set aside"
        await opened.until(lambda: opened.says("#message") == why)


# -- the filter -------------------------------------------------------------------------------------------------------


async def test_filter_when_opened_and_ended_by_the_mouse_then_as_by_keys(comm_home: Path) -> None:
    """Only the words are typed; a click on a line leaves the filter standing, one on its count shows all again."""
    put(comm_home, asks=BLOCKED, ready=DONE, busy=WORKING)
    async with joined(comm_home, ROOMY) as opened:
        everyone = list(opened.lines.keys)
        await opened.click_key("filter")
        assert isinstance(opened.app.focused, Input)
        await opened.pilot.press(*"state:working")
        await opened.until(lambda: list(opened.lines.keys) == ["busy"])
        await opened.click_line("busy")
        await opened.until(lambda: opened.app.focused is opened.lines, "the list has the keys")
        assert list(opened.lines.keys) == ["busy"], "the filter stays"
        await opened.pilot.click("#filter-count")
        await opened.until(lambda: list(opened.lines.keys) == everyone, "everyone again")
        assert not opened.app.screen.query_one("#filter").display


# -- removing ---------------------------------------------------------------------------------------------------------


@WAYS
async def test_remove_when_answered_then_no_leaves_all_and_yes_takes_the_entry_alone(comm_home: Path, way: str) -> None:
    home = put(comm_home, gone=STALE, busy=WORKING)
    inbox = comm_home / "inbox" / "gone.jsonl"
    inbox.write_text("x\n")
    async with joined(comm_home, ROOMY) as opened:
        await choose(opened, "gone")
        before = (comm_home / "registry.json").read_bytes()
        for no in ("escape", "enter") if way == "keys" else ("#confirm-no",):
            await act(opened, way, "x", "end")
            await until_on(opened, Confirm)
            assert opened.app.focused is opened.app.screen.query_one("#confirm-no", Button)
            await (opened.pilot.press(no) if way == "keys" else opened.pilot.click(no))
            await opened.until(lambda: opened.app.screen is opened.nav)
            assert (comm_home / "registry.json").read_bytes() == before
        await act(opened, way, "x", "end")
        await until_on(opened, Confirm)
        await (opened.pilot.press("right", "enter") if way == "keys" else opened.pilot.click("#confirm-yes"))
        await opened.until(lambda: not is_listed(home, "gone"))
        await opened.until(lambda: "gone" not in opened.lines.keys)
        assert opened.says("#message").startswith("Removed @gone from the registry")
        assert is_listed(home, "busy")
        assert inbox.read_text() == "x\n"
        await choose(opened, "busy")
        await refused(opened, "x", "end")
        why = "@busy is live: its own session gives it back (sot-tui leave)"
        await opened.until(lambda: opened.says("#message") == why)


# -- what leads elsewhere ---------------------------------------------------------------------------------------------


@WAYS
async def test_copy_when_asked_then_the_handle_goes_to_the_clipboard_and_it_is_said(comm_home: Path, way: str) -> None:
    put(comm_home, busy=WORKING)
    async with joined(comm_home, ROOMY) as opened:
        await choose(opened, "busy")
        await act(opened, way, "y", "copy")
        said = "copied busy, if the terminal lets programs copy (OSC 52)"
        await opened.until(lambda: opened.says("#message") == said)
        assert opened.app.clipboard == "busy"


LEADING = [
    pytest.param("r", "write", ComposeScreen, "write to @busy", id="write"),
    pytest.param("c", "compose", ComposeScreen, "tab takes the marked handle", id="compose"),
    pytest.param("b", "to all", ComposeScreen, "to every other handle: 1, all live", id="to-all"),
    pytest.param("l", "locks", LocksScreen, "no inbox lock is held", id="locks"),
    pytest.param("e", "events", EventsScreen, "joined as @operator-box", id="events"),
    pytest.param("u", "not sent", UnsentScreen, "everything is sent", id="not-sent"),
]


@WAYS
@pytest.mark.parametrize(("key", "label", "kind", "words"), LEADING)
async def test_screen_when_it_is_opened_then_shows_what_it_is_for_and_leads_back(
    comm_home: Path, way: str, key: str, label: str, kind: type, words: str
) -> None:
    put(comm_home, busy=WORKING)
    async with joined(comm_home, ROOMY) as opened:
        await choose(opened, "busy")
        await act(opened, way, key, label)
        await until_on(opened, kind)
        await opened.until(lambda: words in opened.screen_text(), words)
        if way == "mouse" and kind is ComposeScreen:
            await opened.pilot.click("#compose-close")
        else:
            await act(opened, way, "escape", "back")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert opened.lines.selected == "busy"
        assert opened.app.desk.drafts.unsent() == [], "nothing was written, so nothing is kept"


async def test_palette_when_used_by_the_mouse_alone_then_does_what_is_clicked(comm_home: Path) -> None:
    home = put(comm_home, asks=BLOCKED, ready=DONE)
    async with joined(comm_home, ROOMY) as opened:
        await choose(opened, "ready")
        await opened.click_key("palette")
        await opened.until(lambda: isinstance(opened.app.screen, CommandPalette))
        await opened.until(lambda: "clear done  (d)" in opened.screen_text())
        rows = opened.screen_text().split("\n")
        y = next(at for at, row in enumerate(rows) if "clear done  (d)" in row)
        await opened.pilot.click(offset=(rows[y].index("clear done") + 2, y))
        await opened.until(lambda: opened.app.screen is opened.nav, "it is closed")
        await opened.until(lambda: "done" not in entry(home, "ready"), "it was done")
