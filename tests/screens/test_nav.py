"""The nav on a real comm home: glance, click, keys, live changes, the operator's own line."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from sot_tui.comm import frames, inbox
from sot_tui.comm.clock import stamp
from sot_tui.comm.fleet import State
from sot_tui.comm.home import Home, ensure_home
from sot_tui.screens.mail import MailScreen
from tests.screens.real import dashboard, entry, joined, put, put_row

DONE: dict[str, object] = {"state": "done", "done": True, "note": "built", "summary": "built"}
WORKING: dict[str, object] = {"state": "working", "floor": "user", "note": "n", "summary": "n"}


def mail_to(home: Home, handle: str, *texts: str, sender: str = "someone") -> None:
    for text in texts:
        line = frames.frame(sender, handle, "r", text, stamp(home.clock.now()))
        assert isinstance(inbox.file_line(home, handle, line), inbox.Filed)


async def test_glance_when_opened_then_every_handle_has_shape_word_summary_and_mail(comm_home: Path) -> None:
    home = put(
        comm_home,
        asks={"state": "blocked", "dialog": "Allow Bash?", "summary": "Allow Bash?"},
        ready=DONE,
        busy=WORKING,
        far={"host": "laptop", **DONE},
        gone={"last_seen": "2001-01-01T00:00:00Z", "state": "idle"},
    )
    mail_to(home, "busy", "one", "two")
    async with joined(comm_home) as opened:
        await opened.until(lambda: opened.fleet.mail_of("busy").unread == 2)
        lines = {handle: opened.line_of(handle) for handle in ("asks", "ready", "busy", "far", "gone")}
        assert "◆ blocked" in lines["asks"]
        assert "Allow Bash?" in lines["asks"]
        assert "✓ done" in lines["ready"]
        assert "● working" in lines["busy"]
        assert " 2 " in lines["busy"]
        assert "done, its box clears it" in lines["far"]
        assert "╌ stale" in lines["gone"]
        assert "2 need you" in opened.says("#counts")
        assert "free" in opened.says("#lock")
        assert set(opened.lines.keys[:2]) == {"asks", "ready"}


async def test_click_when_it_is_the_first_or_the_second_then_clears_done_and_nothing_else(comm_home: Path) -> None:
    """Product: a click is "a person viewed this row", the first click as well as the second."""
    home = put(comm_home, aa=DONE, bb=DONE, zz=WORKING)
    async with joined(comm_home) as opened:
        opened.lines.select("zz")
        await opened.pilot.pause()
        before = entry(home, "aa")
        await opened.click_line("aa")
        await opened.until(lambda: opened.fleet.agents["aa"].state is State.IDLE, "the click cleared done")
        wanted = {key: value for key, value in before.items() if key != "done"} | {"state": "idle"}
        assert entry(home, "aa") == wanted
        assert opened.lines.selected == "aa"
        assert "cleared the done of @aa" in opened.says("#message")
        # The second one is on a line that is selected already, where a list of Textual's sends another message.
        opened.lines.select("bb")
        await opened.pilot.pause()
        assert opened.fleet.agents["bb"].done
        await opened.click_line("bb")
        await opened.until(lambda: opened.fleet.agents["bb"].state is State.IDLE, "the second click cleared done")


async def test_click_when_the_entry_is_another_boxs_then_writes_nothing_and_says_why(comm_home: Path) -> None:
    home = put(comm_home, far={"host": "laptop", **DONE})
    async with joined(comm_home) as opened:
        before = entry(home, "far")
        await opened.click_line("far")
        await opened.until(lambda: "its box clears it" in opened.says("#message"), "a reason")
        assert entry(home, "far") == before
        assert opened.fleet.agents["far"].done


async def test_keys_when_they_move_then_clear_nothing_and_d_clears_the_selected_one(comm_home: Path) -> None:
    home = put(comm_home, aa=DONE, bb=DONE)
    async with joined(comm_home) as opened:
        await opened.pilot.press("g")
        assert opened.lines.selected == "aa"
        await opened.pilot.press("j", "k", "down")
        assert opened.lines.selected == "bb"
        assert "done" in entry(home, "aa")
        assert "done" in entry(home, "bb")
        await opened.pilot.press("d")
        await opened.until(lambda: not opened.fleet.agents["bb"].done, "d cleared it")
        assert "done" in entry(home, "aa")
        await opened.pilot.press("d")
        await opened.until(lambda: "has no done to clear" in opened.says("#message"), "a refusal says why")


async def test_enter_when_pressed_then_opens_the_mail_and_counts_as_viewed(comm_home: Path) -> None:
    put(comm_home, aa=DONE, bb=DONE)
    async with joined(comm_home) as opened:
        opened.lines.select("aa")
        await opened.pilot.press("enter")
        await opened.until(lambda: isinstance(opened.app.screen, MailScreen))
        await opened.until(lambda: not opened.fleet.agents["aa"].done)
        assert opened.fleet.agents["bb"].done


async def test_palette_when_opened_then_offers_what_works_here(comm_home: Path) -> None:
    put(comm_home, aa=DONE)
    async with joined(comm_home) as opened:
        opened.lines.select("aa")
        await opened.pilot.press("ctrl+p", *"clear")
        await opened.until(lambda: "Clear the done of the selected handle" in opened.screen_text())
        await opened.pilot.press("down", "enter")
        await opened.until(lambda: not opened.fleet.agents["aa"].done)


async def test_home_when_it_cannot_be_made_whole_then_is_shown_all_the_same(comm_home: Path) -> None:
    put(comm_home, aa=WORKING)
    (comm_home / "self").rmdir()
    (comm_home / "self").write_text("in the way")
    async with dashboard(comm_home) as opened:
        await opened.until(lambda: "aa" in opened.lines.keys)
        await opened.until(lambda: opened.says("#message"))


async def test_selection_when_the_order_changes_then_follows_the_handle(comm_home: Path) -> None:
    put(comm_home, aa=WORKING, mm=WORKING, zz=WORKING)
    async with joined(comm_home) as opened:
        opened.lines.select("zz")
        put(comm_home, zz={"state": "blocked", "question": "which?", "summary": "which?"})
        await opened.until(lambda: opened.lines.keys[0] == "zz", "zz went to the top")
        assert opened.lines.selected == "zz"
        put(comm_home, zz=None)
        await opened.until(lambda: "zz" not in opened.lines.keys, "zz left")
        assert opened.lines.selected in opened.lines.keys


async def test_double_click_when_its_line_moved_meanwhile_then_opens_what_was_hit_first(comm_home: Path) -> None:
    """The first click clears done, so the line goes down; the second one must not open whoever came up."""
    put(comm_home, aa=DONE, bb=DONE)
    async with joined(comm_home) as opened:
        await opened.click_line("aa", times=2)
        await opened.until(lambda: isinstance(opened.app.screen, MailScreen), "the mail")
        assert isinstance(opened.app.screen, MailScreen)
        assert opened.app.screen.handle == "aa"
        await opened.until(lambda: not opened.fleet.agents["aa"].done, "and done is cleared")
        assert opened.fleet.agents["bb"].done


NO_TICK_SECS = 3600.0


async def test_change_on_disk_when_it_comes_then_is_shown_by_the_watch_alone(comm_home: Path) -> None:
    home = put(comm_home, aa=WORKING)
    async with joined(comm_home, tick_s=NO_TICK_SECS) as opened:
        put(comm_home, aa={"state": "waiting", "waiting": "for CI", "summary": "for CI"}, new=DONE)
        await opened.until(lambda: "for CI" in opened.screen_text() and "new" in opened.lines.keys)
        mail_to(home, "aa", "hello")
        await opened.until(lambda: opened.fleet.mail_of("aa").unread == 1)


async def test_change_on_disk_when_the_watch_is_broken_then_is_shown_by_the_tick_alone(comm_home: Path) -> None:
    put(comm_home, aa=WORKING)
    async with joined(comm_home) as opened:
        (comm_home / "read").rmdir()
        await opened.until(lambda: [fault for fault in opened.fleet.faults if fault.duty == "watch"])
        put(comm_home, new=DONE)
        await opened.until(lambda: "new" in opened.lines.keys)


async def test_folder_when_it_was_made_again_then_is_watched_again(comm_home: Path) -> None:
    """A watched folder that is removed is silent for ever, even when another one takes its name."""
    home = put(comm_home, aa=WORKING)
    async with joined(comm_home, tick_s=NO_TICK_SECS) as opened:
        (comm_home / "inbox").rename(comm_home / "gone")
        (comm_home / "inbox").mkdir(mode=0o700)
        for number in range(1, 4):
            mail_to(home, "aa", "one more")
            await opened.until(lambda number=number: opened.fleet.mail_of("aa").unread == number)  # type: ignore[misc]


async def test_operator_when_a_dashboard_opens_then_joins_by_the_same_rules(comm_home: Path) -> None:
    async with joined(comm_home) as opened:
        assert opened.fleet.operator == "operator-box"
        said = entry(opened.home, "operator-box")
        assert said["workspace_id"] == ""
        assert said["root"] == str(comm_home)
        assert not {"floor", "dialog", "question", "waiting", "done", "note", "state"} & said.keys()
        own = comm_home / "self" / "operator-box.txt"
        assert own.read_text().splitlines()[0] == "operator-box"
        assert own.stat().st_mode & 0o777 == 0o600
        assert (comm_home / "inbox-lock-manager").exists()
        assert "◇ you" in opened.screen_text()


async def test_operator_when_the_registry_was_made_anew_then_joins_again(comm_home: Path) -> None:
    """Contract: "move registry.json aside; the next script creates an empty one"; nobody is left out for long."""
    async with joined(comm_home) as opened:
        (comm_home / "registry.json").rename(comm_home / "aside.json")
        await opened.until(lambda: opened.says("#registry-banner"))
        ensure_home(opened.home)
        await opened.until(lambda: not opened.says("#registry-banner"))
        await opened.until(lambda: "operator-box" in opened.fleet.agents)


async def test_operator_while_a_dashboard_is_open_then_is_stamped_and_nothing_else_is(comm_home: Path) -> None:
    """Contract, Liveness: stamped while it runs; the entry holds no facts, and a stamp adds none."""
    async with joined(comm_home, stamp_s=0.1) as opened:
        before = entry(opened.home, "operator-box")
        put(comm_home, operator_box={**before, "last_seen": "2001-01-01T00:00:00Z", "status_at": None})
        await opened.until(lambda: str(entry(opened.home, "operator-box")["last_seen"]) > "2002")
        after = entry(opened.home, "operator-box")
        assert {**after, "last_seen": "", "status_at": None} == {**before, "last_seen": "", "status_at": None}


async def test_operator_when_the_settings_name_a_handle_then_it_is_taken(comm_home: Path) -> None:
    config = comm_home.parent / "config" / "sot"
    config.mkdir()
    (config / "tui.toml").write_text('operator = "anna"\nfuture = 1\n')
    async with joined(comm_home) as opened:
        assert opened.fleet.operator == "anna"
        await opened.until(lambda: "the key 'future' is not known" in opened.says("#message"))


async def test_operator_when_the_handle_is_a_rows_then_is_not_taken_and_says_so(comm_home: Path) -> None:
    put(comm_home, operator_box={"workspace_id": "ws-1"})
    put_row(comm_home, "ws-1", "operator-box")
    async with dashboard(comm_home) as opened:
        await opened.until(lambda: "is held by a row" in opened.says("#message"))
        assert opened.fleet.operator == ""
        assert entry(opened.home, "operator-box")["workspace_id"] == "ws-1"


async def test_empty_fleet_when_opened_then_shows_the_three_commands(comm_home: Path) -> None:
    async with joined(comm_home) as opened:
        text = opened.screen_text()
        for command in ("sot-tui join", "sot-tui status", "sot-tui send @operator-box"):
            assert command in text
        put(comm_home, aa=WORKING)
        await opened.until(lambda: "sot-tui join" not in opened.screen_text())


async def test_empty_fleet_when_the_name_is_not_found_then_its_commands_are_shown_with_the_path(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command can be typed as it is shown."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    async with joined(comm_home, size=(160, 40)) as opened:
        own = Path(sys.executable).with_name("sot-tui")
        assert f"{own} join " in opened.screen_text()


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b'{"agents": []}', b"{} {}", b"not json", None],
    ids=["empty", "truncated", "no-object", "two-documents", "garbage", "missing"],
)
async def test_registry_when_it_cannot_be_read_then_says_so_and_keeps_the_last_good_picture(
    comm_home: Path, damage: bytes | None
) -> None:
    """Contract: "FAILED: the registry could not be read; nothing was listed"; it is fixed by hand, never by us."""
    put(comm_home, aa=WORKING)
    path = comm_home / "registry.json"
    async with joined(comm_home) as opened:
        whole = path.read_bytes()
        if damage is None:
            path.unlink()
        else:
            path.write_bytes(damage)
        await opened.until(lambda: opened.says("#registry-banner"))
        banner = opened.says("#registry-banner")
        assert "FAILED: the registry could not be read; nothing was listed" in banner
        # With no file there is nothing to move: the advice would end in an error of `mv`.
        help_is = f"move {path} aside" if damage is not None else "the next join makes it anew"
        assert help_is in banner.replace("\n", " ")
        assert "the last good picture" in banner
        assert "aa" in opened.lines.keys
        assert "No session has joined" not in opened.screen_text()
        await opened.pilot.press("d", "space")
        assert path.exists() is (damage is not None)
        assert damage is None or path.read_bytes() == damage
        path.write_bytes(whole)
        await opened.until(lambda: not opened.says("#registry-banner"))


async def test_home_when_a_file_is_put_in_its_place_then_that_is_said_and_no_lock_is_said_to_be_held(
    comm_home: Path,
) -> None:
    """What cannot be looked at is not known to be held, and moving a registry aside that is not there mends nothing."""
    put(comm_home, aa=WORKING)
    async with joined(comm_home) as opened:
        comm_home.rename(f"{comm_home}.away")
        comm_home.write_text("a file")
        try:
            await opened.until(lambda: "registry lock unreadable for" in opened.says("#lock-banner"))
            banner = opened.says("#registry-banner").replace("\n", " ")
            assert f"{comm_home} is no folder, and has to be moved aside first — sot-tui join, " in banner
            assert "registry.json" not in banner
            assert "◆ unreadable" in opened.screen_text()
            assert "◆ held" not in opened.screen_text()
            await opened.pilot.press("l")
            await opened.until(lambda: "unread for" in opened.screen_text())
            assert "held" not in opened.screen_text().replace("HELD BY", "")
        finally:
            comm_home.unlink()
            Path(f"{comm_home}.away").rename(comm_home)


async def test_registry_when_unreadable_from_the_start_then_nobody_joins_and_nothing_is_written(
    comm_home: Path,
) -> None:
    comm_home.mkdir(mode=0o700)
    path = comm_home / "registry.json"
    path.write_bytes(b"")
    async with dashboard(comm_home) as opened:
        await opened.until(lambda: "FAILED: the registry could not be read" in opened.says("#registry-banner"))
        await opened.until(lambda: "you are not joined" in opened.says("#message"))
        assert "there is no good picture to show" in opened.screen_text()
        assert path.read_bytes() == b""


async def test_protocol_version_when_it_is_another_then_is_said_loudly(comm_home: Path) -> None:
    put(comm_home, aa=WORKING)
    path = comm_home / "registry.json"
    async with joined(comm_home) as opened:
        path.write_text(path.read_text().replace('"protocol_version": 1', '"protocol_version": 2'))
        await opened.until(lambda: "protocol version 2" in opened.says("#version-banner"))


async def test_duty_when_it_fails_then_is_told_and_comes_back(comm_home: Path) -> None:
    put(comm_home, aa=WORKING)
    async with joined(comm_home) as opened:
        (comm_home / "read").rmdir()
        await opened.until(lambda: [fault for fault in opened.fleet.faults if fault.duty == "watch"])
        await opened.until(lambda: "watch:" in opened.says("#message"))
        (comm_home / "read").mkdir()
        await opened.until(lambda: not opened.fleet.faults)


async def test_help_when_asked_then_names_the_keys_that_work_here(comm_home: Path) -> None:
    async with joined(comm_home) as opened:
        await opened.pilot.press("question_mark")
        assert "Clear the done of the selected handle" in opened.screen_text()
        await opened.pilot.press("escape")
        assert opened.app.screen is opened.nav


async def test_quit_when_asked_then_the_app_ends(comm_home: Path) -> None:
    async with joined(comm_home) as opened:
        await opened.pilot.press("q")
        await asyncio.sleep(0)
        assert not opened.app.is_running or opened.app._exit
