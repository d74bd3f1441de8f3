"""From a message in the inbox of a quiet row to the line that wakes it, typed and entered, under a real daemon.

The rows' agents draw what recordings of Claude Code show and obey their keys (tests/rows/scripted_agent.py). Four rows
get mail in turn, each at a moment of its own; what counts is the agent's own word on when the line came to it whole.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import Figure
from bench.rows import Box
from sot_tui.comm import frames, inbox, mounts, registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home
from sot_tui.comm.registry_lock import Wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sot_tui.comm.registry_text import Registry

_AGENT = Path(__file__).parent.parent / "tests" / "rows" / "scripted_agent.py"
_CLAUDE = """#!/bin/sh
name=$(basename "$PWD")
export AGENT_LOG="$PWD/agent.log" AGENT_ORDERS="$PWD/orders"
export AGENT_INBOX="$SOT_COMM_HOME/inbox/$name.jsonl" AGENT_CURSOR="$SOT_COMM_HOME/read/$name.cursor"
exec {python} -I -S {agent}
"""
_ROWS, _WAKES = 4, 60
_REST_SECS = 2.5
"""Before a row gets its next message: its turn is over by then, and the moment is any one of the daemon's ticks."""
_LATEST_SECS = 20.0


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the middle, and one of a hundred."""
    folder.mkdir()
    programs = folder / "bin"
    programs.mkdir()
    (programs / "claude").write_text(_CLAUDE.format(python=sys.executable, agent=_AGENT))
    (programs / "claude").chmod(0o755)
    box = Box(folder, path=str(programs))
    try:
        home = Home(box.environ["SOT_COMM_HOME"])
        handles = [f"row{number}" for number in range(_ROWS)]
        for handle in handles:
            _make(box, home, handle)
        box.until_ready()
        time.sleep(_REST_SECS)
        for name, target in (("mail filed → line entered", "<= 2000 ms"), ("  99 of 100", "p99 <= 4000 ms")):
            yield Figure(name, partial(_woken, box, home, cycle(handles)), None, 1, target, rounds=_WAKES)
    finally:
        box.close()


def _make(box: Box, home: Home, handle: str) -> None:
    root = box.folder / "src" / handle
    root.mkdir(parents=True)
    os.mkfifo(root / "orders")
    said = box.ask(
        "workspace.create",
        {"label": handle, "project_root": str(root), "agent": "claude", "agent_name": handle, "autostart_claude": True},
    )

    def joins(book: Registry) -> bool:
        entry = {"host": "box", "workspace_id": said["workspace_id"], "last_seen": stamp(time.time()), "status": "idle"}
        book.agents[handle] = entry
        return True

    written = registry.replace(home, joins, Wait.RULED)
    assert isinstance(written, registry.Written), written


def _woken(box: Box, home: Home, handles: Iterator[str]) -> float:
    handle = next(handles)
    log = box.folder / "src" / handle / "agent.log"
    time.sleep(_REST_SECS / _ROWS + random.uniform(0, 1))  # any moment of the daemon's ticks
    before = _entered(log)
    line = frames.frame("peer", handle, "r", "hello", stamp(time.time()))
    filed = inbox.file_line(home, handle, line, mounts.appends_here(home))
    assert isinstance(filed, inbox.Filed), filed
    began = time.monotonic()
    while len(_entered(log)) == len(before):
        assert time.monotonic() - began < _LATEST_SECS, f"{handle} is not woken"
        time.sleep(0.02)
    return _entered(log)[-1] - began


def _entered(log: Path) -> list[float]:
    """Return when the agent was given a line, by the clock of this machine."""
    if not log.exists():
        return []
    said = (json.loads(line) for line in log.read_text().splitlines())
    return [float(one["at"]) for one in said if "submitted" in one]
