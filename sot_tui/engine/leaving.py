"""What becomes of the duties when the dashboard that hosts them is closed: a background daemon goes on with them.

Rows run on by themselves, but nothing files their mail, wakes them or keeps their handles live without an engine. The
daemon is started detached, before the lock is let go, and waits for that by itself; whether it has come is seen, and
said in one line. Nothing here ends a row, and a dashboard that cannot start a daemon ends all the same.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import TYPE_CHECKING

from sot_tui.comm import daemon_lock, paths, services
from sot_tui.engine.rows.row import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.fleet import Fleet
    from sot_tui.comm.home import Home
    from sot_tui.engine.executors import InThread

COME_SECS = 3.0
"""Seconds in which the daemon has to have the duties; it takes one."""
POLL_SECS = 0.05
GOES_ON = frozenset(phase.value for phase in (Phase.STARTING, Phase.READY, Phase.ENDING, Phase.UNREACHABLE))
"""The phases of a row that has, or may have, an agent."""


class Leaving:
    """The hand-over of one dashboard's duties."""

    def __init__(self, home: Home, environ: Mapping[str, str], blocking: InThread) -> None:
        self._home, self._environ, self._blocking = home, environ, blocking
        self._daemon: subprocess.Popen[bytes] | None = None
        self._rows = ""
        self.sentence = ""
        """What a person is told when the terminal is given back; empty when there is nothing to tell."""

    async def begin(self, fleet: Fleet, on_leave: str) -> None:
        """Start the daemon if one is to go on: by the setting `rows`, when a row runs."""
        running = sum(row.phase in GOES_ON for row in fleet.rows.values())
        self._rows = f"{running} rows run on" if running > 1 else "1 row runs on" if running else "no row runs"
        if on_leave == "never" or (on_leave == "rows" and not running):
            if running:
                self.sentence = f"{self._rows} with no engine: nothing wakes them or files for them until one runs"
            return
        await self._blocking(self._start)

    def _start(self) -> None:
        command, log = services.daemon_command(), paths.daemon_log(self._environ)
        if not command:
            self.sentence = f"{self._rows} with no engine: there is no `sotd` beside this program or on the search path"
            return
        try:
            paths.make_state_root(self._home.disk, self._environ)
            said = self._home.disk.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                self._daemon = subprocess.Popen(
                    [command, "run"],
                    env=dict(self._environ),
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    start_new_session=True,
                )
            finally:
                self._home.disk.close(said)
        except OSError as error:
            self.sentence = f"{self._rows} with no engine: sotd run could not be started: {error.strerror or error}"

    async def settle(self) -> None:
        """See whether the daemon has come, once the lock is let go."""
        daemon, log = self._daemon, paths.daemon_log(self._environ)
        if daemon is None:
            return
        deadline = self._home.clock.monotonic() + COME_SECS
        while not (came := await self._blocking(lambda: self._holds(daemon.pid))):
            if daemon.poll() is not None or self._home.clock.monotonic() >= deadline:
                break
            await asyncio.sleep(POLL_SECS)
        if came:
            self.sentence = f"{self._rows}; sotd, pid {daemon.pid}, does the duties now (its log: {log})"
        elif daemon.returncode is not None:
            self.sentence = f"{self._rows} with no engine: sotd run ended with {daemon.returncode}; why: {log}"
        else:
            self.sentence = f"{self._rows}; sotd, pid {daemon.pid}, has not taken the duties over yet (its log: {log})"
        if daemon.returncode is None:
            daemon.returncode = 0  # it goes on without us: nobody here waits for its end

    def _holds(self, pid: int) -> bool:
        return daemon_lock.last_holder(self._home, self._environ).pid == str(pid)
