"""Recovery in a real terminal: a quiet home, a holder that is killed, a banner, a dialog, one key."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.screens.real import hold_lock, kill, put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sot_tui.comm.home import Home
    from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.e2e

BANNER_SECS = 5.0
"""How soon after the death the banner stands (a lock held past two seconds, looked at twice)."""

_HEARTBEAT = (
    "import sys; from sot_tui.comm import registry; from sot_tui.comm.home import Home; "
    "registry.touch(Home(sys.argv[1]), 'anna', registry.Wait.HEARTBEAT)"
)


def killed_holder(home: Home) -> int:
    holder = hold_lock(home)
    kill(holder)
    return holder.pid


def test_lock_when_its_holder_was_killed_then_one_key_recovers_it(
    comm_home: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    home = put(comm_home, anna={"state": "idle"})
    terminal = open_dashboard()
    pid = killed_holder(home)
    terminal.until(lambda: terminal.says("registry lock held for"), "the banner", BANNER_SECS)
    assert terminal.says(f"pid {pid}")
    terminal.press("C-r")
    terminal.until(lambda: terminal.says("Recover the registry lock?"), "the dialog")
    assert terminal.says("dead")
    assert terminal.says("No data is touched.")
    terminal.press("C-r")
    terminal.until(lambda: terminal.says(f"cleared registry lock {home.lock}, held by"), "the outcome, in one line")
    wrote = subprocess.run(
        [sys.executable, "-m", "sot_tui", "join", "--name", "bob"], capture_output=True, text=True, check=False
    )
    assert wrote.returncode == 0, wrote.stderr
    terminal.until(lambda: terminal.says("bob"), "the next write")
    assert not terminal.says("registry lock held for")


def test_dialog_when_a_heartbeat_wins_the_race_then_says_that_another_writer_cleared_it(
    comm_home: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    """Every writer reclaims by itself, so a person may come second, and is told so."""
    home = put(comm_home, anna={"state": "idle"})
    terminal = open_dashboard()
    killed_holder(home)
    terminal.until(lambda: terminal.says("registry lock held for"), "the banner", BANNER_SECS)
    terminal.press("C-r")
    terminal.until(lambda: terminal.says("Recover the registry lock?"), "the dialog")
    subprocess.run([sys.executable, "-c", _HEARTBEAT, home.path], check=True)
    terminal.until(lambda: terminal.says("another writer cleared it"), "the dialog says who was first")
    assert not terminal.says("^r recover")
    terminal.press("Enter")
    terminal.until(lambda: not terminal.says("another writer cleared it"), "the dialog is closed")


def test_lock_when_its_holder_lives_then_no_key_clears_it(
    comm_home: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    home = put(comm_home, anna={"state": "idle"})
    terminal = open_dashboard()
    holder = hold_lock(home)
    try:
        record = (comm_home / ".registry.lock").read_text()
        terminal.until(lambda: terminal.says("registry lock held for"), "the banner", BANNER_SECS)
        terminal.press("C-r")
        terminal.until(lambda: terminal.says("It cannot be cleared from here:"), "the dialog")
        name = record.split(":")[0]
        assert terminal.says(f"If it is dead, run any comm command on {name}.")
        terminal.press("C-r", "r", "y", "Tab", "Enter")
        terminal.until(lambda: not terminal.says("It cannot be cleared from here:"), "the last key pressed Close")
        assert (comm_home / ".registry.lock").read_text() == record
    finally:
        kill(holder)
