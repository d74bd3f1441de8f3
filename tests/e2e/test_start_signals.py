"""Signals that come while the dashboard starts: the terminal is as it was, the end is clean, and nothing is left.

Each instant of the start is one dashboard of its own: some before the terminal is touched, some while it is changed,
some before the first frame, some before the engine has come.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import termios
import time
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

from sot_tui.comm import daemon_lock, registry
from tests.screens.real import entry, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sot_tui.comm.home import Home

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

DEADLINE_SECS = 20.0
"""How long a fact is waited for; it comes in a fraction of that."""
CHANGED = b"\x1b[?1049h"
"""The first thing that a dashboard says to its terminal: give me your other screen."""
AFTER_SECS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8)
"""Instants after the terminal was touched; the first frame and the engine come among them."""
BEFORE_SECS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
"""Instants after the program was started; at most of them nothing has been said to the terminal."""
TIMES = 10
"""How often it is woken; more than the threads that a start may still begin after its first frame."""
AT_REST = {"1049": "l", "1000": "l", "1003": "l", "1006": "l", "2004": "l", "1004": "l", "25": "h", "7": "h"}
"""How a terminal's private modes stand when nothing runs on it."""


class Start:
    """A dashboard that starts on a terminal, whose bytes and modes are looked at."""

    def __init__(self) -> None:
        self.child = pexpect.spawn(sys.executable, ["-m", "sot_tui"], dimensions=(30, 100), timeout=DEADLINE_SECS)
        self._log = self.child.logfile_read = io.BytesIO()
        assert self.child.pid is not None
        self.pid: int = self.child.pid
        self.modes = self.modes_now()

    def modes_now(self) -> list[Any]:
        return termios.tcgetattr(self.child.child_fd)

    @property
    def said(self) -> bytes:
        """Return all that it has said to its terminal and that was read."""
        return self._log.getvalue()

    def until_said(self, words: bytes) -> None:
        self.child.expect_exact(words)

    def end(self) -> None:
        """Read what it says until it has ended."""
        self.child.expect(pexpect.EOF)
        self.child.wait()

    def left(self) -> dict[str, str]:
        """Return the private modes that it left in another state than it found them in."""
        last = dict(re.findall(r"\x1b\[\?(\d+)([hl])", self.said.decode("utf-8", "replace")))
        left = {mode: to for mode, to in last.items() if AT_REST.get(mode, to) != to}
        if self.said.count(b"\x1b[>") != self.said.count(b"\x1b[<u"):
            left["keys"] = "pushed"
        return left


@pytest.fixture
def home(comm_home: Path) -> Home:
    return put(comm_home, anna={"state": "working", "floor": "user", "summary": "n"})


@pytest.fixture
def start() -> Iterator[type[Start]]:
    made: list[Start] = []

    class Kept(Start):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    yield Kept
    for one in made:
        one.child.close(force=True)


def is_unharmed(home: Home, before: dict[str, object]) -> None:
    """See that the others' entries are as they were, and that neither lock is held by anybody."""
    assert entry(home, "anna") == before
    assert not isinstance(registry.read(home), registry.Unread)
    assert not os.path.lexists(home.lock)
    held = daemon_lock.take(home, os.environ)
    assert isinstance(held, daemon_lock.Held)
    daemon_lock.release(home, held)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_start_when_told_to_end_at_any_instant_then_the_terminal_is_as_it_was_and_nothing_is_left(
    home: Home, start: type[Start], number: signal.Signals
) -> None:
    before = entry(home, "anna")
    for touched, instants in ((False, BEFORE_SECS), (True, AFTER_SECS)):
        for instant in instants:
            one = start()
            if touched:
                one.until_said(CHANGED)
            time.sleep(instant)  # the instant itself, and no wait for anything
            one.child.kill(number)
            one.end()
            if touched or CHANGED in one.said:
                assert one.child.exitstatus == 0, (touched, instant, one.child.signalstatus, one.said[-400:])
                assert b"Traceback" not in one.said
            assert one.left() == {}, (touched, instant, one.said[-400:])
            assert one.modes_now() == one.modes, (touched, instant)
            is_unharmed(home, before)


def test_start_when_told_to_stop_at_any_instant_then_goes_on(home: Home, start: type[Start]) -> None:
    """A stopped dashboard would be a stopped engine, and a terminal in a state that no shell expects."""
    before = entry(home, "anna")
    for instant in AFTER_SECS:
        one = start()
        one.until_said(CHANGED)
        time.sleep(instant)  # the instant itself, and no wait for anything
        one.child.kill(signal.SIGTSTP)
        one.child.send("?")
        one.until_said(b"Keys in")
        one.child.kill(signal.SIGTERM)
        one.end()
        assert (one.child.exitstatus, one.left()) == (0, {}), (instant, one.said[-400:])
        assert one.modes_now() == one.modes, instant
        is_unharmed(home, before)


def test_dashboard_when_it_was_stopped_all_the_same_then_goes_on_and_gives_the_terminal_back(
    home: Home, start: type[Start]
) -> None:
    """SIGSTOP is heard by nobody; whoever wakes it may have set the terminal to their own liking meanwhile."""
    before = entry(home, "anna")
    one = start()
    one.until_said(b"anna")
    modes, threads = one.modes_now(), threads_of(one.pid)
    one.child.kill(signal.SIGSTOP)
    until(lambda: is_stopped(one.pid), "it is stopped")
    termios.tcsetattr(one.child.child_fd, termios.TCSANOW, one.modes)  # as a shell does
    one.child.kill(signal.SIGCONT)
    one.until_said(CHANGED)
    one.until_said(b"anna")
    until(lambda: one.modes_now() == modes, "keys come one by one again")
    # One thread alone reads what is typed: two would take the bytes of a mouse report from each other.
    for _ in range(TIMES):
        one.child.kill(signal.SIGCONT)
        one.until_said(CHANGED)
    assert threads_of(one.pid) < threads + TIMES
    one.child.send("?")
    one.until_said(b"Keys in")
    one.child.kill(signal.SIGTERM)
    one.end()
    assert (one.child.exitstatus, one.left()) == (0, {}), one.said[-400:]
    assert one.modes_now() == one.modes
    is_unharmed(home, before)


def is_stopped(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(") ")[2].startswith("T")


def threads_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


def until(fact: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECS
    while not fact():
        assert time.monotonic() < deadline, f"it never came: {what}"
        time.sleep(0.01)
