"""The engine without a window: `sotd run`, in the foreground until it is told to stop.

One engine runs for a state root; this one waits a while for one that is just ending, and never beside another, whoever
that is. It tells a service manager when it serves, that it is alive, and that it ends; the rows it started are not told
where that manager listens. A signal lets what is under way come to its end, within a bound, and no row ends with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket as sockets
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from sot_tui.comm import paths
from sot_tui.comm.errors import SotError
from sot_tui.comm.fleet import Stance
from sot_tui.comm.text import visible
from sot_tui.engine import journal, listener
from sot_tui.engine.client import ReadEvents
from sot_tui.engine.executors import Executor
from sot_tui.engine.hosting import Hosting
from sot_tui.engine.service import Engine

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from sot_tui.comm.home import Home

PREDECESSOR_SECS = 10.0
"""Seconds for which an engine that holds the lock is waited for: its drain takes no longer."""
PREDECESSOR_POLL_SECS = 0.25
"""Between two tries (daemon wire 1.2)."""
LOCK_SECS = 5.0
"""Seconds between two looks at whether the lock still keeps others out."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(home: Home, socket: str = "") -> int:
    """Run the daemon of this environment; return its exit code."""
    manager = Manager(os.environ)
    hosting = Hosting(home, os.environ, "", socket, what="daemon")
    why = _waited_for(home, hosting)
    if why:
        print(f"sotd: {visible(why)}", file=sys.stderr)  # noqa: T201  (the one line a person reads)
        return 1
    try:
        why = asyncio.run(_serve(home, hosting, manager))
    finally:
        hosting.release()
    if why:
        print(f"sotd: {visible(why)}", file=sys.stderr)  # noqa: T201  (as above)
    return 1 if why else 0


def _waited_for(home: Home, hosting: Hosting) -> str:
    """Take the lock of the state root, waiting for a predecessor to end; return why it cannot be had."""
    deadline = home.clock.monotonic() + PREDECESSOR_SECS
    while True:
        found = hosting.settle()
        if found.stance is Stance.HOST:
            return ""
        if hosting.is_served_by_another:
            return listener.taken(hosting.path)
        if found.stance is Stance.READ_ONLY:
            return found.why
        if home.clock.monotonic() >= deadline:
            return f"{paths.state_root(os.environ)}: {found.why}"
        home.clock.sleep(PREDECESSOR_POLL_SECS)


async def _serve(home: Home, hosting: Hosting, manager: Manager) -> str:
    """Serve until a signal; return why it could not."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, told.set)
    engine = Engine(home, dict(os.environ), hosting=hosting, window=False)
    log = _Log(home, engine)
    async with engine:
        writing = asyncio.create_task(log.write(), name="sotd-log")
        why = await _until_served(engine, told)
        if not why and not told.is_set():
            words = f"sotd: serving {hosting.path} for the comm home {home.path}"
            print(visible(words), file=sys.stderr, flush=True)  # noqa: T201  (as above)
            manager.say("READY=1")
            watching = asyncio.create_task(_until_lost(hosting, told), name="sotd-lock")
            await manager.keep_alive(told)
            watching.cancel()
            if not hosting.still_hosts():
                why = f"{paths.daemon_lock(os.environ)} is gone, or another's: this daemon ends, before there are two"
        manager.say("STOPPING=1")
    await log.end(writing)
    return why


async def _until_lost(hosting: Hosting, told: asyncio.Event) -> None:
    """Give the word to end when the lock keeps nobody out any more: its folder was removed, and perhaps made anew."""
    disk = Executor("sotd-lock")
    try:
        while await disk.run(hosting.still_hosts):  # noqa: ASYNC110  (of a file nobody tells)
            await asyncio.sleep(LOCK_SECS)
        told.set()
    finally:
        await disk.close(1.0)


async def _until_served(engine: Engine, told: asyncio.Event) -> str:
    """Wait until the socket is listened on; return why it is not, "" also when there was a signal before."""
    changed = asyncio.Event()
    unheard = engine.listen(changed.set)
    try:
        while not told.is_set():
            changed.clear()
            if engine.server is not None and engine.server.ready.is_set():
                return ""
            for fault in engine.fleet.faults:
                if fault.duty == "socket":
                    return fault.sentence.partition("; next try")[0]
            waits = [asyncio.create_task(event.wait()) for event in (changed, told, engine.serving)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
    finally:
        unheard()
    return ""


class Manager:
    """A service manager that wants to be told (sd_notify(3)); without one, nothing is said."""

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        """Take its variables out of the environment: they are for this process alone, and never for a row."""
        address = environ.pop("NOTIFY_SOCKET", "")
        period, pid = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        is_ours = not pid or pid == str(os.getpid())
        self._period_s = int(period) / 1e6 if is_ours and period.isdecimal() else 0.0

    def say(self, word: str) -> None:
        """Tell it one thing; one that does not listen is not waited for."""
        if self._address[:1] not in {"/", "\0"}:
            return
        with suppress(OSError), sockets.socket(sockets.AF_UNIX, sockets.SOCK_DGRAM) as one:
            one.setblocking(False)
            one.sendto(word.encode(), self._address)

    async def keep_alive(self, until: asyncio.Event) -> None:
        """Tell it, twice in each of its periods, that the loop goes round, until the event comes."""
        pause = self._period_s / 2 or None
        while not until.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await until.wait()
            if not until.is_set():
                self.say("WATCHDOG=1")


class _Log:
    """The daemon's log, `sotd.log`: every line of the engine's own log, as it comes."""

    def __init__(self, home: Home, engine: Engine) -> None:
        self._home, self._engine = home, engine
        self._disk = Executor("sotd-log")
        self._changed = asyncio.Event()
        self._written = 0
        engine.listen(self._changed.set)

    async def write(self) -> None:
        while True:
            await self._append()
            await self._changed.wait()
            self._changed.clear()

    async def end(self, writing: asyncio.Task[None]) -> None:
        """Write what is left, and end."""
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
        await self._append()
        await self._disk.close(1.0)

    async def _append(self) -> None:
        lines = (await self._engine.do(ReadEvents(self._written))).lines
        if not lines:
            return
        path = paths.daemon_log(os.environ)
        with suppress(SotError):  # a full disk: the lines come with the next ones
            await self._disk.run(lambda: journal.append_to(self._home, path, lines))
            self._written = lines[-1].number
