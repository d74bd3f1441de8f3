"""The four tasks of the dashboard, end to end in a real terminal, by keys and by mouse.

Whom to look after, by a glance; clear a done; read a mail and answer it; recover the lock of a dead process.

A click is the bytes that a terminal sends for it, through the pseudo-terminal. What counts is what stands on the disk.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import inbox
from sot_tui.screens.widgets.lines import MOVED_SECS
from tests.screens.mailing import ME, lines_of, mail_to
from tests.screens.real import entry, hold_lock, kill, put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sot_tui.comm.home import Home
    from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.e2e

WAYS = pytest.mark.parametrize("way", ["keys", "mouse"])
MOVED_S = MOVED_SECS + 0.3
"""After this a line has stood where it is for long enough to be clicked: what has just moved there is left."""
DONE: dict[str, object] = {"state": "done", "done": True, "note": "built", "summary": "built the pages"}
IDLE: dict[str, object] = {"state": "idle"}


def row_of(terminal: Terminal, words: str) -> int:
    """Return the row that words stand on; -1 where they do not."""
    return next((at for at, row in enumerate(terminal.text().split("\n")) if words in row), -1)


def test_glance_when_opened_then_who_needs_a_person_stands_first_and_each_state_is_told(
    comm_home: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    """Product: in one glance who needs me, who works, who is done, who is deaf."""
    home = put(
        comm_home,
        Asks_box={"state": "blocked", "dialog": "Allow Bash?", "summary": "Allow Bash?"},
        Busy_box={"state": "working", "floor": "user", "note": "fitting", "summary": "fitting"},
        Ready_box=DONE,
        Quiet_box=IDLE,
        Deaf_box={**IDLE, "last_seen": "2001-01-01T00:00:00Z"},
        Far_laptop={"host": "laptop", **DONE},
    )
    mail_to(home, "Deaf-box", "hello", sender="Busy-box")
    terminal = open_dashboard()
    terminal.until(lambda: terminal.says("3 need you"), "the count: blocked, done, and who is deaf with mail")
    for words in (
        "◆ blocked Asks-box Allow Bash?",
        "✓ done Ready-box built the pages",
        "● working Busy-box fitting",
        "○ idle Quiet-box",
        "╌ stale Deaf-box",
        "done, its box clears it",
        "registry ● free",
        "mail 0",
    ):
        terminal.until(lambda words=words: terminal.says(words), words)  # type: ignore[misc]
    needed = [row_of(terminal, handle) for handle in ("Asks-box", "Ready-box", "Deaf-box")]
    others = [row_of(terminal, f" {handle} ") for handle in ("Busy-box", "Quiet-box", "Far-laptop")]
    assert 0 < max(needed) < min(others), "who needs me is on top"


@WAYS
def test_done_when_viewed_then_is_cleared_on_the_disk_and_nothing_else_is(
    comm_home: Path, open_dashboard: Callable[[], Terminal], way: str
) -> None:
    """One click, the first or the second alike; by keys moving views nothing, and `d` clears the selected one."""
    home = put(comm_home, aa=DONE, bb={**DONE, "summary": "built the tables"}, busy={"state": "working"})
    before = {handle: entry(home, handle) for handle in ("aa", "bb", "busy")}
    terminal = open_dashboard()
    terminal.until(lambda: terminal.says("2 need you"), "both")
    if way == "keys":
        terminal.press("g", "j", "j", "k", "g", "j")
        terminal.until(lambda: terminal.says("── bb ──"), "the detail of the second")
        assert entry(home, "aa") == before["aa"]
        assert entry(home, "bb") == before["bb"]
        terminal.press("d")
    else:
        time.sleep(MOVED_S)
        terminal.click("built the tables")
    terminal.until(lambda: terminal.says("cleared the done of @bb"), "what was done")
    terminal.until(lambda: terminal.says("1 needs you"), "the count")
    assert entry(home, "bb") == {key: value for key, value in before["bb"].items() if key != "done"} | {"state": "idle"}
    assert entry(home, "aa") == before["aa"]
    if way == "mouse":
        time.sleep(MOVED_S)
        terminal.click("built the pages")
    else:
        terminal.press("Space", "d")
    terminal.until(lambda: terminal.says("cleared the done of @aa"), "the other one")
    terminal.until(lambda: terminal.says("nobody needs you"), "the count")
    assert entry(home, "busy") == before["busy"]


@WAYS
def test_mail_when_read_and_answered_then_the_cursor_has_passed_it_and_the_answer_is_filed(
    comm_home: Path, open_dashboard: Callable[[], Terminal], way: str
) -> None:
    home = put(comm_home, anna=IDLE)
    terminal = open_dashboard()
    mail_to(home, ME, "which branch?\n\nmain or the worktree?")
    terminal.until(lambda: terminal.says("mail 1"), "the count")
    if way == "keys":
        terminal.press("Space")
        terminal.until(lambda: terminal.says(f"── {ME} ──"), "who needs me is myself: I have mail")
        terminal.press("Enter")
    else:
        terminal.click("mail 1")
    terminal.until(lambda: terminal.says("main or the worktree?"), "the message")
    terminal.until(lambda: cursor_of(home, ME) == 1, "it is read")
    if way == "keys":
        terminal.press("r")
    else:
        terminal.click("r reply")
    terminal.until(lambda: terminal.says("reply to @anna"), "the answer")
    terminal.until(lambda: terminal.says("@anna is live"), "that it will get there")
    terminal.type("the worktree")
    terminal.until(lambda: terminal.says("the worktree"), "what is typed")
    if way == "keys":
        terminal.press("C-s")
    else:
        terminal.click("Send", beside="Close")
    terminal.until(lambda: terminal.says("filed -> @anna"), "the contract's line")
    (line,) = lines_of(comm_home, "anna")
    assert (line["from"], line["to"]) == (ME, "anna")
    assert str(line["msg"]).endswith("> main or the worktree?\n\nthe worktree")
    if way == "keys":
        terminal.press("Escape")
    else:
        terminal.click("esc back")
    terminal.until(lambda: terminal.says("mail 0") and terminal.says("nobody needs you"), "back in the nav")


@WAYS
def test_lock_when_its_holder_died_then_is_recovered_and_the_next_write_goes_through(
    comm_home: Path, open_dashboard: Callable[[], Terminal], way: str
) -> None:
    home = put(comm_home, anna=IDLE)
    terminal = open_dashboard()
    holder = hold_lock(home)
    kill(holder)
    terminal.until(lambda: terminal.says("registry lock held for"), "the banner")
    terminal.until(lambda: terminal.says("or a click here: recover it"), "what to do about it")
    if way == "keys":
        terminal.press("C-r")
    else:
        terminal.click("or a click here: recover it")
    terminal.until(lambda: terminal.says("Recover the registry lock?"), "the dialog")
    terminal.until(lambda: terminal.says(f"pid {holder.pid} is gone"), "the proof")
    if way == "keys":
        terminal.press("Tab", "Enter")
    else:
        terminal.click("Recover", beside="Cancel")
    terminal.until(lambda: terminal.says("cleared registry lock"), "the outcome")
    assert re.search(rf"held by .*pid {holder.pid}", " ".join(terminal.text().split()))
    assert not (comm_home / ".registry.lock").exists()
    put(comm_home, bob=IDLE)
    terminal.until(lambda: terminal.says("○ idle bob"), "the next write")
    assert not terminal.says("registry lock held for")


def cursor_of(home: Home, handle: str) -> int:
    """Return how many lines the cursor of a handle has passed."""
    batch = inbox.read_batch(home, handle)
    return batch.start if isinstance(batch, inbox.Batch) else -1
