"""Hooks from start to exit against an interpreter that does nothing: they run at each event of each session's turns."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

from bench.measure import Figure
from bench.verbs import COMMAND, prepare, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SESSION = "bench"
_HOOKS: tuple[tuple[str, dict[str, object]], ...] = (
    ("prompt", {"prompt": "numbers please"}),
    ("heartbeat", {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "x" * 10_000}),
    ("blocked", {"tool_use_id": "t", "tool_input": {"questions": [{"question": "which?"}]}}),
    ("subagent", {"tool_name": "Bash", "agent_id": "a", "tool_input": {"command": "comm-poll.sh"}}),
    ("stop", {"stop_hook_active": False, "last_assistant_message": "SITREP: done"}),
)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield one figure for each hook that a turn runs, in a comm home with two sessions of this box."""
    environ = {**prepare(folder), "CLAUDE_CODE_SESSION_ID": _SESSION}
    here = folder / "project"
    run(environ, here, "join")
    transcript = folder / "transcript.jsonl"
    _write(transcript)
    bare = partial(_run, [sys.executable, "-I", "-c", "pass"], environ, here, b"")
    tick = folder / "comm" / "state" / f"hb-{_SESSION}.tick"
    for event, fields in _HOOKS:
        given = json.dumps({**fields, "transcript_path": str(transcript)}).encode()
        ours = partial(_run, [COMMAND, "hook", event], environ, here, given)
        before = partial(tick.unlink, missing_ok=True) if event == "heartbeat" else None
        yield Figure(f"hook {event}, start to exit", ours, bare, 1, "<= 3", before, rounds=25)
        if event == "heartbeat":
            yield Figure("hook heartbeat within ten seconds", ours, bare, 1, "<= 3", rounds=25)


def _write(transcript: Path) -> None:
    """Write the transcript of a turn with a hundred tools."""
    user = {"type": "user", "message": {"role": "user", "content": "go"}}
    result = {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "x" * 5000}]}}
    text = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "on with it"}]}}
    transcript.write_text("".join(json.dumps(line) + "\n" for line in (user, *[text, result] * 100)))


def _run(command: list[str], environ: dict[str, str], cwd: Path, given: bytes) -> None:
    subprocess.run(command, env=environ, cwd=cwd, input=given, stdout=subprocess.DEVNULL, check=True)
