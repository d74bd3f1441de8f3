"""The daemon's stamps: only what runs, only what is of this box, only `last_seen`, and a warning each minute."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm.home import Home, ensure_home
from sot_tui.engine import liveness
from tests.seams import EPOCH, JumpingClock, MountedDisk

if TYPE_CHECKING:
    from pathlib import Path

NOW = "2026-05-28T20:26:40Z"


@pytest.fixture
def home(comm_home: Path) -> Home:
    home = Home(str(comm_home), MountedDisk(), JumpingClock(EPOCH))
    ensure_home(home)
    return home


def put(home: Home, agents: dict[str, Any]) -> None:
    with open(home.registry, "w", encoding="utf-8") as file:
        json.dump({"protocol_version": 1, "agents": agents}, file)


def agents(home: Home) -> dict[str, Any]:
    with open(home.registry, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)["agents"]
        return found


def test_stamp_when_rows_run_then_only_their_last_seen_is_new(home: Home) -> None:
    """Contract, Liveness: the daemon "stamps that row's handle every minute"; daemon wire 8.3: no work-state fact."""
    entry = {"host": "BOX", "last_seen": "2020-01-01T00:00:00Z", "state": "idle", "floor": "user", "x": [1]}
    put(home, {"a-box": entry, "b-box": entry, "c-mac": {**entry, "host": "mac"}})
    assert liveness.stamp_rows(home, ["a-box", "c-mac", "nobody"], "box") == ""
    assert agents(home) == {
        "a-box": {**entry, "last_seen": NOW},
        "b-box": entry,
        "c-mac": {**entry, "host": "mac"},
    }


def test_stamp_when_the_lock_is_held_then_nothing_is_written_and_the_warning_says_whose(home: Home) -> None:
    """Contract, Liveness: "A daemon that cannot take the registry lock ... stamps nothing. Its warning says so"."""
    put(home, {"a-box": {"host": "box", "last_seen": ""}})
    with open(home.lock, "w", encoding="utf-8") as file:
        file.write("no record")
    said = liveness.stamp_rows(home, ["a-box"], "box")
    assert said.startswith(
        "row liveness stamp failed: the comm registry could not be locked, read or written; once a row's last stamp is "
        "ten minutes old, sends to it fail as no live session (handles: a-box). ERROR: "
    )
    assert agents(home)["a-box"]["last_seen"] == ""


def test_stamp_when_the_registry_cannot_be_read_then_it_is_left_and_warned(home: Home) -> None:
    with open(home.registry, "wb") as file:
        file.write(b"{")
    assert liveness.FAILED in liveness.stamp_rows(home, ["a-box"], "box")
    with open(home.registry, "rb") as file:
        assert file.read() == b"{"


def test_stamp_when_no_row_runs_then_takes_no_lock(home: Home) -> None:
    before = os.stat(home.path).st_mtime_ns
    assert liveness.stamp_rows(home, [], "box") == ""
    assert os.stat(home.path).st_mtime_ns == before


def test_pass_when_handles_change_or_a_minute_goes_by_then_is_due() -> None:
    """Daemon wire 8.3: due when the set differs from that of the last pass, or 60 s have passed."""
    passes = liveness.Passes()
    assert not passes.is_due((), 0.0)
    assert passes.is_due(("a",), 0.0)
    passes.done(("a",), 0.0)
    assert not passes.is_due(("a",), 59.9)
    assert passes.is_due(("a",), 60.0)
    assert passes.is_due(("a", "b"), 1.0)
    assert passes.is_due((), 1.0)
    passes.done((), 1.0)
    assert not passes.is_due((), 500.0)
