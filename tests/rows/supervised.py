"""Rows of real capsules and real agents, in folders of the test's own; every process of theirs is gone afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from sot_tui.comm.home import Home, ensure_home
from sot_tui.engine.executors import Executor
from sot_tui.engine.rows import agents
from sot_tui.engine.rows.supervisor import Rows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager

DEADLINE_S = 20.0
AGENT = Path(__file__).with_name("scripted_agent.py")


class Supervised(Protocol):
    """Makes the rows of a box, as a daemon does when it starts."""

    def __call__(self, **more: Any) -> AbstractAsyncContextManager[Rows]: ...


@pytest.fixture
def supervised(comm_home: Path) -> Iterator[Supervised]:
    """Return what starts a daemon's rows; what it told is in `rows.said`."""
    home = Home(str(comm_home))
    ensure_home(home)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}

    @asynccontextmanager
    async def make(**more: Any) -> AsyncIterator[Rows]:
        disk, starts, begins = Executor("rows"), Executor("start"), more.pop("begins", True)
        said: list[str] = []
        rows = Rows(
            home,
            environ | more.pop("environ", {}),
            agents.place(home.path, "box", ""),
            blocking=disk.run,
            starting=starts.run,
            told=lambda words, _good: said.append(words),
            **more,
        )
        rows.said = said  # type: ignore[attr-defined]  # for the tests to read
        if begins:
            await rows.begin()
        try:
            yield rows
        finally:
            await rows.close()
            await disk.close(5)
            await starts.close(5)

    yield make
    end_below(f"{os.environ['XDG_STATE_HOME']}/sot/workspaces/")


def end_below(folder: str) -> None:
    """End the capsules of the rows below a folder, and what was started in their terminals, whatever it ignores."""
    for capsule in capsules_below(folder):
        for pid in (capsule, *_sessions_of(capsule)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)


def _sessions_of(capsule: int) -> list[int]:
    """Return what runs in the session of a capsule's agent."""
    with suppress(OSError):
        agents = {int(word) for word in Path(f"/proc/{capsule}/task/{capsule}/children").read_text().split()}
        return [pid for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if _session(pid) in agents]
    return []


def _session(pid: int) -> int:
    with suppress(OSError):
        return os.getsid(pid)
    return 0


def capsules_below(folder: str) -> list[int]:
    """Return the capsules of the rows below a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if words[0].endswith(b"/sot-capsule") and any(word.startswith(folder.encode()) for word in words):
                    found.append(int(entry.name))
    return found


async def until(fact: Callable[[], object], seconds: float = DEADLINE_S) -> None:
    """Wait until something is so; fail when it does not come to be."""
    async with asyncio.timeout(seconds):
        while not fact():  # noqa: ASYNC110  (a fact of another process)
            await asyncio.sleep(0.02)


def scripted(folder: Path) -> Path:
    """Make a folder of programs whose `claude` and `codex` are scripted agents."""
    folder.mkdir()
    for name in ("claude", "codex"):
        program = folder / name
        program.write_text(
            "#!/bin/sh\n"
            'export AGENT_LOG="$PWD/agent.log" AGENT_ORDERS="$PWD/orders"\n'
            'export AGENT_INBOX="$SOT_COMM_HOME/inbox/$SOT_COMM_NAME.jsonl"\n'
            'export AGENT_CURSOR="$SOT_COMM_HOME/read/$SOT_COMM_NAME.cursor"\n'
            f"exec {sys.executable} -I -S {AGENT}\n"
        )
        program.chmod(0o755)
    return folder
