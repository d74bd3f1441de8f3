"""The _installed agents themselves, in real rows, against a stand-in for their API: `make live`.

Claude Code is woken and takes the line as one message; Codex is never typed into. Each test says why it is skipped
where its agent is not _installed; nothing here reaches beyond this machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm.home import Home
from sot_tui.engine.client import Send
from sot_tui.engine.rows.row import Refused, Row, Wanted
from sot_tui.engine.service import Engine
from sot_tui.wake import dialog, prompt
from sot_tui.wake.prompt import WAKE_LINE
from tests.live.stand_in import REPLY, StandIn
from tests.rows.supervised import until

if TYPE_CHECKING:
    from tests.rows.supervised import Supervised

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]
READY_SECS = 60.0


def _installed(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not _installed here, so it was not driven")
    return found


def _project(folder: Path) -> Path:
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def _texts(asked: list[dict[str, Any]]) -> str:
    return json.dumps([one.get("messages", one.get("input")) for one in asked])


async def _entry(engine: Engine, home: Path, row: Row, handle: str) -> None:
    book = json.loads((home / "registry.json").read_text())
    book["agents"][handle] = {"host": "box", "workspace_id": row.id, "last_seen": "2020-01-01T00:00:00Z"}
    (home / "registry.json").write_text(json.dumps(book))
    await until(lambda: handle in engine.fleet.agents and engine.fleet.rows[row.id].phase == "ready", READY_SECS)


KEY = "sk-ant-stand-in-not-a-real-key-000000"


def _claude_settings(project: Path, api: StandIn, monkeypatch: pytest.MonkeyPatch, *, trusted: bool) -> None:
    """Set Claude Code up as a person has it who has used it before."""
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(project): {"hasTrustDialogAccepted": trusted}},
    }
    (Path(os.environ["HOME"]) / ".claude.json").write_text(json.dumps(settings))
    monkeypatch.setenv("SOT_SELF_HOST", "box")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("DISABLE_AUTOUPDATER", "1")
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")


def _codex_settings(project: Path, api: StandIn, more: str = "") -> None:
    """Set Codex up for the stand-in, in a folder that it trusts."""
    folder = Path(os.environ["HOME"]) / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'model = "stand-in"\nmodel_provider = "here"\n{more}'
        f'[model_providers.here]\nname = "here"\nbase_url = "{api.url}/v1"\nwire_api = "responses"\n'
        f'[projects."{project}"]\ntrust_level = "trusted"\n'
    )


async def test_claude_when_it_asks_whether_to_trust_the_folder_then_nothing_is_typed_and_it_says_why(
    supervised: Supervised, comm_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del supervised
    _installed("claude")
    project = _project(tmp_path / "api")
    with StandIn() as api:
        _claude_settings(project, api, monkeypatch, trusted=False)
        async with Engine(Home(str(comm_home)), os.environ) as engine:
            await until(lambda: engine.rows is not None and engine.fleet.operator in engine.fleet.agents)
            assert engine.rows is not None
            row = await engine.rows.create(Wanted("api", str(project), agent="claude", agent_name="api-box"))
            assert isinstance(row, Row), row
            await _entry(engine, comm_home, row, "api-box")
            assert (await engine.do(Send("api-box", "hello"))).good

            def is_refused() -> bool:
                why = engine.fleet.unwoken.get("api-box")
                return why is not None and why.reason == "dialog open"

            await until(is_refused, READY_SECS)
            shown = await engine.rows.screen(row.id)
            assert not isinstance(shown, Refused)
            waiting = dialog.read(shown.screen)
            assert waiting is not None
            assert waiting.kind is dialog.Kind.TRUST
            assert not api.asked


async def test_claude_when_idle_with_unread_mail_then_it_gets_the_line_as_one_message(
    supervised: Supervised, comm_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract, Waking: "the daemon types one fixed line", and Enter."""
    del supervised  # it ends what this test starts
    _installed("claude")
    project = _project(tmp_path / "api")
    with StandIn() as api:
        _claude_settings(project, api, monkeypatch, trusted=True)
        async with Engine(Home(str(comm_home)), os.environ) as engine:
            await until(lambda: engine.rows is not None and engine.fleet.operator in engine.fleet.agents)
            assert engine.rows is not None
            row = await engine.rows.create(Wanted("api", str(project), agent="claude", agent_name="api-box"))
            assert isinstance(row, Row), row
            await _entry(engine, comm_home, row, "api-box")
            assert (await engine.do(Send("api-box", "hello"))).good
            try:
                await until(lambda: WAKE_LINE in _texts(api.asked), READY_SECS)
            except TimeoutError:
                shown = await engine.rows.screen(row.id)
                lines = prompt.text_of(shown.screen) if not hasattr(shown, "code") else ()
                pytest.fail("\n".join([f"not woken: {engine.fleet.unwoken}", *lines]))


async def test_claude_when_an_answer_comes_slowly_then_nothing_is_typed_into_the_turn(
    supervised: Supervised, comm_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract, Waking: "so a working session is not typed into while its screen is still changing"."""
    del supervised
    _installed("claude")
    project = _project(tmp_path / "api")
    with StandIn(pause_s=2.5) as api:
        _claude_settings(project, api, monkeypatch, trusted=True)
        async with Engine(Home(str(comm_home)), os.environ) as engine:
            await until(lambda: engine.rows is not None and engine.fleet.operator in engine.fleet.agents)
            assert engine.rows is not None
            row = await engine.rows.create(Wanted("api", str(project), agent="claude", agent_name="api-box"))
            assert isinstance(row, Row), row
            await _entry(engine, comm_home, row, "api-box")
            assert (await engine.do(Send("api-box", "hello"))).good
            await until(api.streaming.is_set, READY_SECS)
            assert (await engine.do(Send("api-box", "and again"))).good
            reasons: set[str] = set()
            is_drawn = False
            while api.streaming.is_set():
                shown = await engine.rows.screen(row.id)
                assert not isinstance(shown, Refused)
                holds = prompt.read(shown.screen).verdict is prompt.Verdict.HOLDS
                is_drawn |= not holds  # the first line is in the box until the agent has drawn that it was sent
                assert not (is_drawn and holds)
                assert "Queued" not in "".join(prompt.text_of(shown.screen))
                why = engine.fleet.unwoken.get("api-box")
                reasons |= {why.reason} if why else set()
                await asyncio.sleep(0.05)
            assert any(reason.startswith("a turn is at work") for reason in reasons), reasons
            await until(lambda: json.dumps(api.asked[-1].get("messages")).count(WAKE_LINE) == 2, READY_SECS)


async def test_codex_when_idle_with_unread_mail_then_nothing_is_typed_into_it(
    supervised: Supervised, comm_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract, Cases: "A Codex row is never typed into"."""
    del supervised
    _installed("codex")
    project = _project(tmp_path / "api")
    with StandIn() as api:
        _codex_settings(project, api)
        monkeypatch.setenv("SOT_SELF_HOST", "box")
        async with Engine(Home(str(comm_home)), os.environ) as engine:
            await until(lambda: engine.rows is not None and engine.fleet.operator in engine.fleet.agents)
            assert engine.rows is not None
            row = await engine.rows.create(Wanted("api", str(project), agent="codex", agent_name="api-box"))
            assert isinstance(row, Row), row
            await _entry(engine, comm_home, row, "api-box")
            assert (await engine.do(Send("api-box", "hello"))).good
            await until(lambda: engine.fleet.unwoken.get("api-box"), READY_SECS)
            assert engine.fleet.unwoken["api-box"].reason == "codex: never typed into"
            assert WAKE_LINE not in _texts(api.asked)
            assert REPLY not in _texts(api.asked)
