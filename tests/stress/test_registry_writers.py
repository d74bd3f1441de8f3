"""Many real processes that write one registry at once, some of them killed: nothing is lost, nobody meets another."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from sot_tui.comm.home import Home, ensure_home
from tests.actors import Actor, proving_home

pytestmark = [pytest.mark.stress, pytest.mark.timeout(120)]

PROGRAM = Path(__file__).with_name("writers.py")
# On two cores forty writers wait for one another for longer than the bound of one.
PATIENT = {"SOT_LOCK_WAIT_SECS": "60"}


def book(home: Home) -> dict[str, dict[str, int]]:
    agents: dict[str, dict[str, int]] = json.loads(Path(home.registry).read_text(encoding="utf-8"))["agents"]
    return agents


def test_writers_when_forty_add_an_entry_at_once_then_forty_entries_stand(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "comm"))
    ensure_home(home)
    with ExitStack() as stack:
        actors = [stack.enter_context(Actor(home, (), **PATIENT)) for _ in range(40)]
        for number, actor in enumerate(actors):
            actor.tells(do="write", wait="RULED", name=f"p{number}")
        assert all(actor.hears()["written"] for actor in actors)
    assert set(book(home)) == {f"p{number}" for number in range(40)}
    assert sorted(os.listdir(home.path)) == ["inbox", "read", "registry.json", "self"]


def test_writers_when_some_are_killed_at_any_moment_then_no_write_is_lost_and_no_two_are_inside(tmp_path: Path) -> None:
    home = proving_home(tmp_path)
    chance = random.Random(7)
    writes, killed_after = 60, [chance.randrange(1, 50) if number < 6 else 0 for number in range(14)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-P", str(PROGRAM), home.path, f"p{number}", str(writes)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **PATIENT},
        )
        for number in range(len(killed_after))
    ]
    told, killed = [0] * len(writers), 0
    for number, (writer, limit) in enumerate(zip(writers, killed_after, strict=True)):
        assert writer.stdout is not None
        assert writer.stderr is not None
        if limit:
            for _ in range(limit):
                writer.stdout.readline()
            writer.kill()
        told[number] = limit + len(writer.stdout.readlines())
        err = writer.stderr.read().decode()
        writer.stdout.close()
        writer.stderr.close()
        killed += writer.wait() < 0
        assert writer.returncode == 0 or limit, err
        assert "two inside" not in err
    assert killed
    found = book(home)
    assert found["all"]["n"] == sum(entry["n"] for name, entry in found.items() if name != "all")
    for number, count in enumerate(told):
        # A killed one may have written once more than it could tell.
        assert found[f"p{number}"]["n"] - count in ({0, 1} if killed_after[number] else {0})
