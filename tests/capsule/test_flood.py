"""A flood in one row: its memory stays flat, its lag is told, and whoever types or looks is served all the same."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.engine.rows.child import READ_BYTES
from sot_tui.engine.rows.emulation import LAG_LIMIT
from tests.capsule.process import until

if TYPE_CHECKING:
    from tests.capsule.process import CapsuleRow

pytestmark = [pytest.mark.e2e, pytest.mark.stress]

RANDOM = """\
import os, random, sys
mixer = random.Random(7)
pieces = [bytes([mixer.randrange(256)]) * mixer.randrange(1, 50) for _ in range(100)]
pieces += [b'\\x1b[%d;%dH' % (mixer.randrange(30), mixer.randrange(90)) for _ in range(50)]
pieces += [b'\\x1b[38;2;%d;%d;%dm' % tuple(mixer.randrange(256) for _ in range(3)) for _ in range(50)]
pieces += [b'\\x1b]0;' + b't' * 300, b'\\x1bP' + b'd' * 300, '漢字 ❤️ e\\u0301'.encode()]
pieces += [b'\\x1b[?1049h', b'\\x1b[?1049l', b'\\x1b[?2026h', b'\\x1b[3J', b'\\x1bc']
os.write(1, b'up')
while True:
    os.write(1, os.urandom(200) + b''.join(mixer.choice(pieces) for _ in range(100)))
"""
UNENDED = """\
import os
os.write(1, b'\\x1b]0;')
while True:
    os.write(1, b'a title without an end ' * 1000)
"""
FLOODS = {
    "yes": ("yes", "a line without an end to its kind"),
    "random": (sys.executable, "-I", "-c", RANDOM),
    "unended": (sys.executable, "-I", "-c", UNENDED),
}
SECS = 4.0


def resident(pid: int) -> int:
    """Return a process's resident KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_flood_when_it_goes_on_then_memory_stays_flat_and_the_lag_is_told(
    row: CapsuleRow, flood: tuple[str, ...]
) -> None:
    """Product, Rows: a flood grows no memory, blocks its agent never for good, and is reported as lag."""
    wire = row.up(*flood)
    pid = row.pids[0]
    until(lambda: wire.status()["lag"] > 0, "it lags")
    until(lambda: resident(pid) and wire.status()["phase"] == "ready", "it is under way")
    warm = time.monotonic() + SECS
    while time.monotonic() < warm:  # the history fills, and with it what it may hold
        wire.status()
    before, most, lags = resident(pid), 0, []
    end = time.monotonic() + SECS
    while time.monotonic() < end:
        lags.append(wire.status()["lag"])
        most = max(most, resident(pid))
    assert most - before < 4096, f"{before} KiB became {most} KiB"
    assert max(lags) <= LAG_LIMIT + READ_BYTES
    assert len(lags) > 20, "whoever asks is answered all the while"
    assert max(lags) > 0
    assert wire.ask("keys", keys=[["c", "c"]])["accepted"] is True
    ended = row.ended()
    assert 2 in {ended.signal, ended.exit, (ended.exit or 0) - 128}, "Ctrl+C ends it at once"


def test_flood_when_it_is_over_then_the_screen_comes_to_rest_at_its_end(row: CapsuleRow) -> None:
    """Nothing is skipped: the agent waits for the model instead, and never for good."""
    wire = row.up("sh", "-c", "seq 1 200000; echo the end; exec cat")
    until(lambda: wire.status()["lag"] > 0, "it lags")
    shown = wire.shows("the end", 30)
    assert "200000" in shown
    assert wire.status()["lag"] == 0
    history = wire.ask("history", start=0, count=1)
    assert history["total"] > 199_000


def test_flood_when_it_is_in_one_row_then_another_is_served_at_once(row: CapsuleRow, comm_home: Path) -> None:
    from tests.capsule.process import CapsuleRow as Row

    quiet = Row(comm_home.parent, "ws-2")
    try:
        flooded = row.up("yes")
        wire = quiet.up("sh", "-c", "stty -echo; echo up; exec cat")
        wire.shows("up")
        until(lambda: flooded.status()["lag"] > 0, "the one is flooded")
        for number in range(30):
            wire.type(f"typed {number}\n")
            wire.shows(f"typed {number}", 5)
            assert flooded.ask("snapshot", since=-1)["lag"] >= 0
    finally:
        quiet.clean()


def test_agent_when_nobody_looks_for_a_while_then_it_is_never_held_up(row: CapsuleRow) -> None:
    """The pump needs no viewer: the agent writes as much as it likes and ends by itself."""
    row.start("sh", "-c", "seq 1 50000; exit 3")
    assert row.ended().exit == 3
