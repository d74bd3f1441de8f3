"""The installed Claude Code runs the notifier's hooks as an install puts them: one turn, one push: `make live`."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.box import COMMAND
from tests.live.stand_in import REPLY, StandIn
from tests.live.test_agents_live import _claude_settings, _installed, _project
from tests.notify import ntfy

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]


def test_claude_when_its_turn_ends_then_one_push_with_its_answer_under_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract, Framing: "a Claude Stop scans its transcript once to capture ... reliable completion identity"."""
    claude = _installed("claude")
    project = _project(tmp_path / "api")
    with StandIn() as api, ntfy.serving() as topic:
        _claude_settings(project, api, monkeypatch, trusted=True)
        monkeypatch.setenv("STEWARD_NTFY_URL", topic.url)
        subprocess.run([COMMAND, "hooks", "install", "--agent", "claude"], check=True, capture_output=True)
        ran = subprocess.run(
            [claude, "-p", "say hello"], cwd=project, capture_output=True, text=True, timeout=150, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert REPLY in ran.stdout, ran
    assert topic.bodies == [REPLY]
    assert topic.got[0].headers["title"].startswith("api · ")
    log = f"{os.environ['XDG_STATE_HOME']}/steward/notify/notify-decisions.jsonl"
    with open(log, encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    assert [(entry["event"], entry["outcome"]) for entry in entries] == [("Stop", "send"), ("SessionEnd", "silent")]
    assert entries[0]["completion_id"]
