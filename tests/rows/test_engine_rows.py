"""The engine that hosts runs the rows: the fleet shows them, their handles stay live, and they outlive it."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.home import Home
from sot_tui.engine.client import RestWrites
from sot_tui.engine.rows.row import Row, Wanted
from sot_tui.engine.service import Engine
from tests.rows.supervised import capsules_below, until

if TYPE_CHECKING:
    from tests.rows.supervised import Supervised

pytestmark = pytest.mark.e2e
SHELL = ("/bin/sh", "-c", "echo up; read x")


def last_seen(home: Path, handle: str) -> str:
    seen = json.loads((home / "registry.json").read_text())["agents"][handle]["last_seen"]
    assert isinstance(seen, str)
    return seen


async def test_engine_when_it_hosts_then_its_rows_are_in_the_fleet_live_and_outlive_it(
    supervised: Supervised, comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract, Liveness: "the daemon that runs a Starting or Ready row stamps that row's handle every minute"."""
    del supervised  # it ends what this test starts
    monkeypatch.setenv("SOT_SELF_HOST", "box")
    project = comm_home.parent / "api"
    project.mkdir()
    home = Home(str(comm_home))
    async with Engine(home, os.environ) as engine:
        await until(lambda: engine.rows is not None)
        assert engine.rows is not None
        row = await engine.rows.create(Wanted("api", str(project), agent_name="api-box", command=SHELL))
        assert isinstance(row, Row)
        await until(lambda: engine.fleet.rows[row.id].phase == "ready")
        seen = engine.fleet.rows[row.id]
        assert (seen.handle, seen.agent, seen.label) == ("api-box", "sh", "api")
        await until(lambda: "operator-box" in json.loads((comm_home / "registry.json").read_text())["agents"])
        agents = {"api-box": {"host": "box", "workspace_id": row.id, "last_seen": "2020-01-01T00:00:00Z"}}
        (comm_home / "registry.json").write_text(json.dumps({"protocol_version": 1, "agents": agents}))
        assert engine.fleet.rows[row.id].error == ""
    (capsule,) = capsules_below(f"{os.environ['XDG_STATE_HOME']}/sot/workspaces/")
    async with Engine(home, os.environ) as engine:
        await until(lambda: engine.fleet.rows and engine.fleet.rows[row.id].phase == "ready")
        await until(lambda: last_seen(comm_home, "api-box") > "2026")
    assert capsules_below(f"{os.environ['XDG_STATE_HOME']}/sot/workspaces/") == [capsule]


async def test_engine_when_a_recover_dialog_is_open_then_no_row_is_stamped(
    supervised: Supervised, comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Duties that write the registry rest while a recover dialog is open: every writer reclaims a dead lock."""
    del supervised
    monkeypatch.setenv("SOT_SELF_HOST", "box")
    monkeypatch.setattr("sot_tui.engine.liveness.TICK_SECS", 0.05)
    project = comm_home.parent / "api"
    project.mkdir()
    async with Engine(Home(str(comm_home)), os.environ) as engine:
        await until(lambda: engine.rows is not None and engine.fleet.operator in engine.fleet.agents)
        assert engine.rows is not None
        await engine.do(RestWrites(rest=True))
        agents = {"api-box": {"host": "box", "last_seen": "2020-01-01T00:00:00Z"}}
        (comm_home / "registry.json").write_text(json.dumps({"protocol_version": 1, "agents": agents}))
        row = await engine.rows.create(Wanted("api", str(project), agent_name="api-box", command=SHELL))
        assert isinstance(row, Row)
        await until(lambda: engine.fleet.rows[row.id].phase == "ready")
        await asyncio.sleep(0.5)
        assert last_seen(comm_home, "api-box") == "2020-01-01T00:00:00Z"
        await engine.do(RestWrites(rest=False))
        await until(lambda: last_seen(comm_home, "api-box") > "2026")


async def test_engine_when_a_stamp_fails_then_the_log_says_so_with_the_handles(
    supervised: Supervised, comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract, Liveness: "Its warning says so each minute"."""
    del supervised
    monkeypatch.setenv("SOT_SELF_HOST", "box")
    project = comm_home.parent / "api"
    project.mkdir()
    (comm_home / ".registry.lock").write_text("nobody's record")
    async with Engine(Home(str(comm_home)), os.environ) as engine:
        await until(lambda: engine.rows is not None)
        assert engine.rows is not None
        row = await engine.rows.create(Wanted("api", str(project), agent_name="api-box", command=SHELL))
        assert isinstance(row, Row)
        log = Path(os.environ["XDG_STATE_HOME"]) / "sot/tui/events.log"
        await until(lambda: log.exists() and "row liveness stamp failed" in log.read_text())
        assert "(handles: api-box)" in log.read_text()
