"""Why rows are not woken, as the daemon keeps it for others: read while it is fresh, and made of nothing else."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import paths, wakes
from sot_tui.comm.disk import Disk
from sot_tui.comm.fleet import Unwoken
from sot_tui.comm.home import Home
from tests.seams import EPOCH, JumpingClock

if TYPE_CHECKING:
    from pathlib import Path

WHY = Unwoken("a person is typing in the row", EPOCH - 5)


@pytest.fixture
def home(comm_home: Path) -> Home:
    return Home(str(comm_home), clock=JumpingClock())


def put(text: str) -> None:
    paths.make_own_state(Disk(), os.environ)
    with open(paths.wakes_file(os.environ), "w", encoding="utf-8") as file:
        file.write(text)


def test_reasons_when_written_then_whoever_asks_soon_reads_them_of_its_own_comm_home(home: Home) -> None:
    assert wakes.read(home, os.environ) == {}
    assert wakes.write(home, os.environ, {"h": WHY}) == ""
    assert wakes.read(home, os.environ) == {"h": WHY}
    assert wakes.read(home._replace(path="/elsewhere"), os.environ) == {}
    assert wakes.write(home, os.environ, {}) == ""
    assert wakes.read(home, os.environ) == {}


def test_reasons_when_nobody_keeps_them_any_more_then_they_say_nothing(home: Home) -> None:
    clock = home.clock
    assert isinstance(clock, JumpingClock)
    wakes.write(home, os.environ, {"h": WHY})
    clock.pass_(wakes.FRESH_SECS)
    assert wakes.read(home, os.environ) == {"h": WHY}
    clock.pass_(0.001)
    assert wakes.read(home, os.environ) == {}


def test_reasons_when_the_file_holds_something_else_then_only_what_is_one_counts(home: Home) -> None:
    odd = {"a": "x", "b": {}, "c": {"reason": 1, "since": 1}, "d": {"reason": "x", "since": "1"}, "h": WHY._asdict()}
    put(json.dumps({"at": EPOCH, home.path: odd}))
    assert wakes.read(home, os.environ) == {"h": WHY}
    others: list[object] = [{"at": EPOCH, home.path: []}, {"at": "x", home.path: odd}, {home.path: odd}, []]
    for whole in others:
        put(json.dumps(whole))
        assert wakes.read(home, os.environ) == {}


def test_write_when_the_disk_fails_then_it_is_said_and_what_stood_stands(home: Home) -> None:
    class Full(Disk):
        def write(self, descriptor: int, data: bytes) -> None:
            raise OSError(28, "No space left on device", f"{descriptor} {len(data)}")

    wakes.write(home, os.environ, {"h": WHY})
    said = wakes.write(home._replace(disk=Full()), os.environ, {})
    assert said == f"{paths.wakes_file(os.environ)} could not be written: No space left on device"
    assert wakes.read(home, os.environ) == {"h": WHY}
