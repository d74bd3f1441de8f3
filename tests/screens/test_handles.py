"""What a person does to the handles of the nav, by keys and by mouse: filter, set aside, remove, copy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from textual.events import MouseScrollDown, Paste
from textual.widgets import Button, Input

from sot_tui.comm import registry, set_aside
from sot_tui.screens.confirm import Confirm
from tests.screens.real import dashboard, entry, joined, put

if TYPE_CHECKING:
    from pathlib import Path

    from tests.screens.real import Opened

DONE: dict[str, object] = {"state": "done", "done": True, "note": "built", "summary": "built"}
WORKING: dict[str, object] = {"state": "working", "floor": "user", "note": "n", "summary": "n"}
BLOCKED: dict[str, object] = {"state": "blocked", "dialog": "Allow Bash?", "summary": "Allow Bash?"}
STALE: dict[str, object] = {"last_seen": "2001-01-01T00:00:00Z", "state": "idle"}


def handles(opened: Opened) -> list[str]:
    return list(opened.lines.keys)


# -- the filter -------------------------------------------------------------------------------------------------------


async def test_filter_when_typed_then_shows_what_fits_and_says_so_and_esc_shows_all(comm_home: Path) -> None:
    """Product: `/` filters (`state:blocked`, `host:box`, `!text`), shown in a line; Esc clears."""
    put(comm_home, asks=BLOCKED, ready=DONE, busy=WORKING, far={"host": "laptop", **WORKING})
    async with joined(comm_home) as opened:
        everyone = handles(opened)
        await opened.pilot.press("slash", *"state:work")
        await opened.until(lambda: handles(opened) == ["busy", "far"], "only who works")
        assert "2 of 5, 2 in need hidden · esc: all" in opened.screen_text()
        await opened.pilot.press("space", *"!host:lap")
        await opened.until(lambda: handles(opened) == ["busy"], "both words count")
        await opened.pilot.press("enter")
        assert opened.app.focused is opened.lines, "the list has the keys"
        assert "filter state:work !host:lap" in opened.screen_text(), "the filter stays in sight"
        await opened.pilot.press("escape")
        await opened.until(lambda: handles(opened) == everyone, "everyone again")
        assert "filter" not in opened.says("#columns")
        assert not opened.app.screen.query_one("#filter").display


async def test_filter_when_typed_ahead_then_every_key_counts_where_it_was_meant(comm_home: Path) -> None:
    """Keys come faster than a screen is painted: none of `/busy`, Enter, `y` may be taken for another one's."""
    put(comm_home, asks=BLOCKED, busy=WORKING)
    async with joined(comm_home) as opened:
        for key in ("slash", *"busy", "enter", "y"):
            opened.app.simulate_key(key)
        await opened.until(lambda: opened.app.clipboard == "busy", "the last key went to the list")
        assert opened.app.screen is opened.nav
        assert opened.nav.query_one("#filter-text", Input).value == "busy"


async def test_filter_when_a_slash_is_typed_into_it_then_it_is_a_sign(comm_home: Path) -> None:
    put(comm_home, aa={**WORKING, "summary": "a/b"}, bb=WORKING)
    async with joined(comm_home) as opened:
        await opened.pilot.press("slash", "a", "slash", "b")
        await opened.until(lambda: handles(opened) == ["aa"])


async def test_filter_when_it_counts_then_new_handles_come_and_go_by_it(comm_home: Path) -> None:
    put(comm_home, aa=WORKING)
    async with joined(comm_home) as opened:
        await opened.pilot.press("slash", *"!state:you built", "down")
        await opened.until(lambda: handles(opened) == [], "nobody fits")
        assert opened.app.focused is opened.lines
        assert "No session has joined" not in opened.screen_text()
        put(comm_home, bb=DONE)
        await opened.until(lambda: handles(opened) == ["bb"], "who fits appears")
        put(comm_home, bb=WORKING)
        await opened.until(lambda: handles(opened) == [], "and goes")


async def test_filter_when_it_hides_all_who_need_a_person_then_space_says_so(comm_home: Path) -> None:
    put(comm_home, asks=BLOCKED, busy=WORKING)
    async with joined(comm_home) as opened:
        await opened.pilot.press("slash", *"busy", "enter", "space")
        await opened.until(lambda: opened.says("#message") == "the filter hides the 1 who need you")
        assert opened.lines.selected == "busy"


async def test_space_when_a_filter_hides_some_who_need_a_person_then_goes_round_the_others(comm_home: Path) -> None:
    put(comm_home, aa=BLOCKED, bb=DONE, busy=WORKING)
    async with joined(comm_home) as opened:
        await opened.pilot.press("slash", *"!aa", "enter")
        for start in ("busy", "bb"):
            opened.lines.select(start)
            await opened.pilot.press("space")
            assert opened.lines.selected == "bb"


async def test_filter_when_empty_words_are_entered_then_there_is_none(comm_home: Path) -> None:
    put(comm_home, busy=WORKING)
    async with joined(comm_home) as opened:
        await opened.pilot.press("slash", "enter")
        assert not opened.app.screen.query_one("#filter").display
        assert opened.app.focused is opened.lines


async def test_filter_when_hostile_text_is_pasted_then_none_of_it_is_taken(comm_home: Path) -> None:
    put(comm_home, busy=WORKING)
    async with joined(comm_home) as opened:
        await opened.pilot.press("slash")
        box = opened.app.screen.query_one("#filter-text", Input)
        for text in ("\x1b]2;pwned\x07", "a\u202eb", "x\x9by"):
            box.post_message(Paste(text))
            await opened.pilot.pause()
        assert box.value == ""
        box.post_message(Paste("busy"))
        await opened.until(lambda: handles(opened) == ["busy"])


# -- space ------------------------------------------------------------------------------------------------------------


async def test_space_when_pressed_then_goes_round_all_who_need_a_person(comm_home: Path) -> None:
    put(comm_home, asks=BLOCKED, busy=WORKING, ready=DONE)
    async with joined(comm_home) as opened:
        opened.lines.select("busy")
        needed = handles(opened)[:2]
        seen = []
        for _ in range(3):
            await opened.pilot.press("space")
            seen.append(opened.lines.selected)
        assert seen == [needed[0], needed[1], needed[0]]
        assert set(needed) == {"asks", "ready"}
        assert entry(opened.home, "ready")["done"] is True, "moving clears nothing"


# -- aside ------------------------------------------------------------------------------------------------------------


async def test_need_when_set_aside_then_is_out_of_the_way_until_something_changes(comm_home: Path) -> None:
    put(comm_home, asks=BLOCKED, busy=WORKING)
    async with joined(comm_home) as opened:
        opened.lines.select("asks")
        await opened.until(lambda: "1 needs you" in opened.says("#counts"))
        await opened.pilot.press("z")
        await opened.until(lambda: "nobody needs you" in opened.says("#counts"), "the header counts it no more")
        assert opened.says("#message") == "set @asks aside until something changes"
        assert "set aside  by you, until something changes: it waits on a person" in opened.says("#detail-body")
        assert list(set_aside.read(opened.home, os.environ).by_handle) == ["asks"]
        await opened.pilot.press("space")
        await opened.until(lambda: opened.says("#message") == "nobody needs you")
        put(comm_home, asks={**BLOCKED, "status_at": "2002-02-02T02:02:02Z"})
        await opened.until(lambda: "1 needs you" in opened.says("#counts"), "another dialog")


async def test_need_when_z_is_pressed_again_then_needs_the_person_again(comm_home: Path) -> None:
    put(comm_home, asks=BLOCKED)
    async with joined(comm_home) as opened:
        opened.lines.select("asks")
        await opened.pilot.press("z")
        await opened.until(lambda: "nobody needs you" in opened.says("#counts"))
        await opened.pilot.press("z")
        await opened.until(lambda: "1 needs you" in opened.says("#counts"))
        assert opened.says("#message") == "@asks needs you again"


async def test_need_when_there_is_none_then_z_says_why(comm_home: Path) -> None:
    put(comm_home, busy=WORKING)
    async with joined(comm_home) as opened:
        opened.lines.select("busy")
        await opened.pilot.press("z")
        why = "@busy does not need you, so there is nothing to set aside"
        await opened.until(lambda: opened.says("#message") == why)


# -- remove -----------------------------------------------------------------------------------------------------------


async def ask(opened: Opened, handle: str) -> None:
    opened.lines.select(handle)
    await opened.pilot.pause()
    await opened.pilot.press("x")
    await opened.until(lambda: isinstance(opened.app.screen, Confirm), "the question")


async def test_remove_when_confirmed_then_the_entry_goes_and_the_mail_stays(comm_home: Path) -> None:
    """Product: on a stale handle `x` offers leave, with a confirm that names what goes and what stays."""
    put(comm_home, gone=STALE, busy=WORKING)
    inbox = comm_home / "inbox" / "gone.jsonl"
    inbox.write_text("x\n")
    async with joined(comm_home) as opened:
        await ask(opened, "gone")
        text = opened.screen_text()
        assert "Remove @gone here?" in text
        assert "goes   its entry in the registry" in text
        assert "stays  its inbox" in text
        assert opened.app.focused is opened.app.screen.query_one("#confirm-no", Button), "Cancel is the default"
        await opened.pilot.click("#confirm-yes")
        await opened.until(lambda: "gone" not in handles(opened), "it left the nav")
        assert opened.says("#message").startswith("Removed @gone from the registry")
        assert inbox.read_text() == "x\n"
        book = registry.read(opened.home)
        assert not isinstance(book, registry.Unread)
        assert book.entry("busy") is not None


async def test_remove_when_cancelled_then_nothing_is_changed(comm_home: Path) -> None:
    put(comm_home, gone=STALE)
    async with joined(comm_home) as opened:
        await ask(opened, "gone")
        before = (comm_home / "registry.json").read_bytes()
        await opened.pilot.press("enter")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert (comm_home / "registry.json").read_bytes() == before


@pytest.mark.parametrize(
    ("handle", "why"),
    [
        ("busy", "@busy is live: its own session gives it back (sot-tui leave)"),
        ("operator-box", "this is you: your handle is stale when no dashboard is open"),
    ],
)
async def test_remove_when_the_handle_is_live_then_says_why_not(comm_home: Path, handle: str, why: str) -> None:
    put(comm_home, busy=WORKING)
    async with joined(comm_home) as opened:
        opened.lines.select(handle)
        await opened.pilot.press("x")
        await opened.until(lambda: opened.says("#message") == why)
        assert opened.app.screen is opened.nav


# -- copy -------------------------------------------------------------------------------------------------------------


async def test_copy_when_asked_then_the_handle_goes_to_the_clipboard(comm_home: Path) -> None:
    put(comm_home, busy=WORKING)
    async with joined(comm_home) as opened:
        opened.lines.select("busy")
        await opened.pilot.press("y")
        await opened.until(lambda: "copied busy" in opened.says("#message"))
        assert opened.app.clipboard == "busy"


async def test_copy_when_the_name_is_no_handle_then_says_why(comm_home: Path) -> None:
    """What stands in a registry is foreign: pasted into a shell it could be a command."""
    home = put(comm_home)

    def change(book: registry.Registry) -> bool:
        book.agents["x; rm -rf ~"] = {"host": "box", "last_seen": "2030-01-01T00:00:00Z", "state": "idle"}
        return True

    registry.replace(home, change, registry.Wait.RULED)
    async with dashboard(comm_home) as opened:
        await opened.until(lambda: len(handles(opened)) == 2, "the join")
        opened.lines.select("x; rm -rf ~")
        await opened.pilot.press("y")
        await opened.until(lambda: opened.says("#message") == "what stands there is no handle, so it is not copied")
        assert opened.app.clipboard == ""


# -- the wheel -----------------------------------------------------------------------------------------------------


async def test_wheel_when_turned_over_the_list_then_scrolls_the_list_alone(comm_home: Path) -> None:
    """Product: the wheel stays in its panel."""
    put(comm_home, **{f"h{number:02}": WORKING for number in range(40)})
    async with joined(comm_home) as opened:
        selected = opened.lines.selected
        await opened.pilot._post_mouse_events([MouseScrollDown], "#fleet", offset=(5, 3))
        await opened.until(lambda: opened.lines.scroll_offset.y > 0, "it scrolled")
        assert opened.lines.selected == selected
        at = opened.lines.scroll_offset.y
        await opened.pilot._post_mouse_events([MouseScrollDown], "#detail", offset=(5, 1))
        await opened.pilot.pause()
        assert opened.lines.scroll_offset.y == at
        assert opened.nav.scroll_offset.y == 0
