"""Events and frames as the tests of the notifier build them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from sot_tui.notify.composer import Model
from sot_tui.notify.event import Event

if TYPE_CHECKING:
    from pathlib import Path

PI_TURN = Event(
    version=1,
    harness="pi",
    session_id="session-1",
    kind="completion",
    source_event="TurnComplete",
    cwd="/home/u/project",
    completion_id="completion-1",
    user="user",
    assistant="assistant",
    notification_type="",
    message="",
    agent_id="",
    agent_type="",
    goal_active=False,
)
STOP = PI_TURN._replace(harness="claude-code", source_event="Stop")
ASKED = PI_TURN._replace(
    harness="claude-code",
    kind="input",
    source_event="Notification",
    notification_type="permission_prompt",
    message="Allow it?",
    completion_id="",
    user="",
    assistant="",
)
ENDED = ASKED._replace(kind="cleanup", source_event="SessionEnd", notification_type="", message="")
IDLE = ASKED._replace(kind="ignored", notification_type="idle_prompt")


def fields(event: Event = PI_TURN, workspace: object = "earth:3", **top: object) -> dict[str, Any]:
    """Return a request's fields, to be spoiled."""
    return {"event": event._asdict(), "workspace": workspace, **top}


def line(said: object) -> bytes:
    """Return a value as one line, lone surrogates as escapes."""
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


def program(folder: Path, code: str) -> Model:
    """Return a program that runs `code`, as one that composes."""
    path = folder / "composer"
    path.write_text(f"#!{sys.executable} -IS\nimport os, sys\n{code}\n")
    path.chmod(0o755)
    return Model(str(path), "p", "m", "low")
