"""The engine that hosts wakes its rows: mail that is sent rings, and why a row is not woken is told everywhere."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui import cli
from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home
from sot_tui.engine.client import Known, OpenMail, Send
from sot_tui.engine.rows.row import Row, Wanted
from sot_tui.engine.rows.values import Key
from sot_tui.engine.service import Engine
from sot_tui.wake.prompt import WAKE_LINE
from tests.rows.supervised import scripted, until

if TYPE_CHECKING:
    from tests.rows.supervised import Supervised

pytestmark = pytest.mark.e2e


def _submitted(row: Row) -> list[str]:
    log = Path(row.root) / "agent.log"
    said: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [one["submitted"] for one in said if "submitted" in one]


async def test_engine_when_mail_is_sent_to_a_row_then_it_is_woken_and_the_message_says_rung(
    supervised: Supervised,
    comm_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Contract, Waking: the daemon wakes; product: a row with unread mail and no wake says why in nav and `explain`."""
    del supervised  # it ends what this test starts
    monkeypatch.setenv("SOT_SELF_HOST", "box")
    monkeypatch.setenv("PATH", f"{scripted(tmp_path / 'bin')}:{os.environ['PATH']}")
    project = tmp_path / "api"
    project.mkdir()
    os.mkfifo(project / "orders")
    async with Engine(Home(str(comm_home)), os.environ) as engine:
        await until(lambda: engine.rows is not None and engine.fleet.operator in engine.fleet.agents)
        assert engine.rows is not None
        row = await engine.rows.create(Wanted("api", str(project), agent="claude", agent_name="api-box"))
        assert isinstance(row, Row), row
        path = comm_home / "registry.json"
        book = json.loads(path.read_text())
        book["agents"]["api-box"] = {"host": "box", "workspace_id": row.id, "last_seen": stamp(time.time())}
        path.write_text(json.dumps(book))
        await until(lambda: "api-box" in engine.fleet.agents and engine.fleet.rows[row.id].phase == "ready")

        sent = await engine.do(Send("api-box", "hello"))
        assert sent.good, sent.sentence
        await until(lambda: _submitted(row) == [WAKE_LINE])
        page = await engine.do(OpenMail("api-box", poll=False))
        assert [letter.rung for letter in page.letters] == [Known.YES]

        lane = engine.rows.lane(row.id)
        assert lane is not None
        await until(lambda: engine.fleet.mail_of("api-box").unread == 0)
        assert not await lane.keys([Key("x")])
        assert (await engine.do(Send("api-box", "again"))).good
        await until(lambda: engine.fleet.unwoken.get("api-box"))
        await until(lambda: engine.fleet.unwoken["api-box"].reason == "draft in the box")
        page = await engine.do(OpenMail("api-box", poll=False))
        assert [letter.rung for letter in page.letters] == [Known.YES, Known.NO]

        def explained() -> str:
            assert cli.main(["explain", "@api-box"]) == 0
            return capfd.readouterr().out

        await until(lambda: "wake" in (said := explained()) and "not woken: draft in the box" in said)
        assert not await lane.keys([Key("u", ctrl=True)])
        await until(lambda: _submitted(row) == [WAKE_LINE] * 2)
        await until(lambda: not engine.fleet.unwoken)
