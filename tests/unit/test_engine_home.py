"""The engine and the folder under it."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from typing import TYPE_CHECKING

from sot_tui.comm.home import Home, ensure_home
from sot_tui.engine.service import Engine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


async def until(fact: Callable[[], bool], what: str, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, f"never: {what}"
        await asyncio.sleep(0.01)


async def test_home_when_it_is_removed_and_made_anew_then_it_gets_the_record_again(comm_home: Path) -> None:
    """Without the record nobody could send until the dashboard was opened again."""
    record = comm_home / "inbox-lock-manager"
    async with Engine(Home(str(comm_home)), {**os.environ, "SOT_SELF_HOST": "box"}, tick_s=0.05) as engine:
        await until(record.exists, "the record at the start")
        await until(lambda: engine.fleet.operator in engine.fleet.agents, "the operator's join")
        shutil.rmtree(comm_home)
        await until(lambda: engine.fleet.registry.missing, "a look at the missing home")
        assert not comm_home.exists(), "a home that a person removed is not put back"
        ensure_home(Home(str(comm_home)))
        await until(record.exists, "the record in the new home")
