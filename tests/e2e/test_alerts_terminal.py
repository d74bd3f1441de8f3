"""The terminal's own notice of a new need: the very bytes, once for each need, and none that was not asked for."""

from __future__ import annotations

import io
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.screens.real import put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sot_tui.comm.home import Home

pytestmark = pytest.mark.e2e

DEADLINE_SECS = 30.0
ASKS = {"state": "blocked", "dialog": "Allow\x1b]0;evil\x07 Bash?", "summary": "Allow\x1b]0;evil\x07 Bash?"}
ENDED_BY_BEL = re.compile(rb"\x1b\][^\x07\x1b]*\x07")
"""What sets a title or a pointer's shape ends in a BEL that rings nothing; a notice of ours ends otherwise."""


class Watched:
    """A dashboard whose bytes are kept."""

    def __init__(self, settings: str) -> None:
        folder = Path(os.environ["XDG_CONFIG_HOME"], "sot")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tui.toml").write_text(settings)
        self.child = pexpect.spawn(sys.executable, ["-m", "sot_tui"], dimensions=(30, 100), timeout=DEADLINE_SECS)
        self._log = self.child.logfile_read = io.BytesIO()

    @property
    def said(self) -> bytes:
        """Return all but what ends in a BEL."""
        while self.child.expect([r".+", pexpect.TIMEOUT, pexpect.EOF], timeout=0.05) == 0:
            pass
        return ENDED_BY_BEL.sub(b"", self._log.getvalue())

    def until(self, fact: Callable[[bytes], object], what: str) -> bytes:
        end = time.monotonic() + DEADLINE_SECS
        while not fact(said := self.said):
            assert time.monotonic() < end, f"it never came: {what}\n{said[-600:]!r}"
        return said

    def quit(self) -> bytes:
        self.child.send("q")
        self.child.expect(pexpect.EOF)
        return self.said


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Watched]]:
    monkeypatch.delenv("TMUX", raising=False)
    made: list[Watched] = []

    def start(settings: str) -> Watched:
        made.append(Watched(settings))
        return made[-1]

    yield start
    for one in made:
        one.child.close(force=True)


def begun(comm_home: Path) -> Home:
    """Put one session that needs the person already, and one that works."""
    return put(
        comm_home, old={"state": "blocked", "summary": "since before"}, anna={"state": "working", "summary": "n"}
    )


@pytest.mark.parametrize(("osc", "starts"), [("9", b"\x1b]9;"), ("777", b"\x1b]777;notify;sot;")])
def test_need_when_it_is_new_then_the_terminal_is_told_once_and_rung_once(
    comm_home: Path, watched: Callable[[str], Watched], osc: str, starts: bytes
) -> None:
    """Product, Notifications: "when asked for, OSC 9/777 and the bell"."""
    begun(comm_home)
    one = watched(f'osc = "{osc}"\nbell = true\n')
    one.until(lambda said: b"since before" in said and b"operator-" in said, "the fleet and the join")
    time.sleep(2.5)  # a tick and more: what stood there at the start is told of never
    assert starts not in one.said
    assert b"\x07" not in one.said
    put(comm_home, anna=ASKS)
    said = one.until(lambda said: starts in said and b"\x07" in said, "the notice")
    put(comm_home, anna=ASKS | {"status_at": "2026-05-28T20:26:40Z"})
    time.sleep(2.5)  # the same need, seen again by several looks
    said = one.quit()
    assert said.count(starts) == 1
    assert said.count(b"\x07") == 1
    words = said.partition(starts)[2].partition(b"\x1b\\")[0].decode()
    assert words.startswith("@anna: it waits on a person · Allow")
    assert all(character.isprintable() for character in words)


def test_need_when_nothing_is_asked_then_the_terminal_is_told_nothing(
    comm_home: Path, watched: Callable[[str], Watched]
) -> None:
    begun(comm_home)
    one = watched("")
    one.until(lambda said: b"since before" in said and b"operator-" in said, "the fleet and the join")
    put(comm_home, anna=ASKS)
    one.until(lambda said: b"Bash?" in said, "the need")
    said = one.quit()
    assert b"\x1b]9;" not in said
    assert b"\x1b]777" not in said
    assert b"\x07" not in said


def test_need_when_the_dashboard_is_a_page_then_nothing_of_a_terminals_notice_is_drawn_there(comm_home: Path) -> None:
    """A page is no terminal: what would have one tell of a need is bytes that no browser asked for."""
    begun(comm_home)
    folder = Path(os.environ["XDG_CONFIG_HOME"], "sot")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tui.toml").write_text('osc = "9"\nbell = true\n')
    environ = {**os.environ, "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver", "COLUMNS": "100", "ROWS": "30"}
    pipe = subprocess.PIPE
    page = subprocess.Popen([sys.executable, "-m", "sot_tui"], env=environ, stdin=pipe, stdout=pipe)
    said = bytearray()
    assert page.stdout is not None
    out = page.stdout.fileno()

    def until(words: bytes) -> None:
        end = time.monotonic() + DEADLINE_SECS
        while words not in said:
            assert time.monotonic() < end, f"it never came: {words!r}\n{bytes(said[-600:])!r}"
            if select.select([out], [], [], 0.1)[0]:
                said.extend(os.read(out, 65536))

    try:
        until(b"since before")
        until(b"operator-")
        put(comm_home, anna=ASKS)
        until(b"Bash?")
        put(comm_home, anna={"state": "working", "summary": "it goes on"})
        until(b"it goes on")  # several frames later: a notice would have been said by now
    finally:
        page.terminate()
        rest, _ = page.communicate()
    drawn = ENDED_BY_BEL.sub(b"", bytes(said) + rest)
    assert b"\x1b]9;" not in drawn
