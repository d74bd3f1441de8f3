"""Many sessions that join one comm home at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("sot-tui"))
SESSIONS = 40

pytestmark = [pytest.mark.stress, pytest.mark.timeout(120)]


def start(folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(parents=True)
    # Forty writers may have to wait for one another for longer than one writer's usual bound on two cores.
    environ = {**os.environ, "SOT_LOCK_WAIT_SECS": "60", "SOT_COMM_SELF_FILE": f"{folder}/self.txt"}
    return subprocess.Popen([COMMAND, "join"], cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def joined_as(process: subprocess.Popen[bytes]) -> str:
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    return out.decode().split()[3].removeprefix("@")


def test_joins_when_forty_start_at_once_then_forty_entries_stand(comm_home: Path) -> None:
    processes = [start(comm_home.parent / "work" / f"p{number}") for number in range(SESSIONS)]
    handles = [joined_as(process) for process in processes]
    book = json.loads((comm_home / "registry.json").read_text(encoding="utf-8"))
    assert sorted(book["agents"]) == sorted(handles)
    assert len(set(handles)) == SESSIONS
    assert sorted(path.name for path in comm_home.iterdir()) == ["inbox", "read", "registry.json", "self"]


def test_joins_when_all_projects_have_one_name_then_no_two_take_one_handle(comm_home: Path) -> None:
    """The choice is made under the lock, so none is overwritten by another project's join."""
    processes = [start(comm_home.parent / f"group{number % 4}" / f"x{number}" / "same") for number in range(12)]
    handles = [joined_as(process) for process in processes]
    book = json.loads((comm_home / "registry.json").read_text(encoding="utf-8"))["agents"]
    assert len(set(handles)) == len(book) == len(processes)
    assert len({entry["root"] for entry in book.values()}) == len(processes)
