#!/usr/bin/env python3
"""Eight sessions and three rows at work, and the dashboard on them: `make demo`.

    tools/demo.py                           open the dashboard on eight sessions that join, work, ask, finish and mail
    tools/demo.py --headless 60             the same for so many seconds without the dashboard
    tools/demo.py --lock-after 5            when one of them dies holding the registry lock (20 seconds)

Everything lies in one temporary folder: comm home, state root, runtime folder, settings, HOME and the projects. Nothing
of the person's own is read or written, and at the end, whatever ends it, the processes are gone and so is the folder.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from sot_tui.comm import mounts, paths, registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.proof import own_record
from sot_tui.engine import operator
from sot_tui.engine.client import CreateRow
from sot_tui.engine.rows.lane import Lane, LaneForeign, LaneGone
from sot_tui.engine.service import Engine

SESSIONS = ("MyRepo", "Docs", "Analysis-wt-rot", "Backend", "Frontend", "Notes", "Paper", "Importer")
ROWS = ("Parser", "Deploy", "Builder")
"""Those that run in rows: the second one asks for a permission, the third joins nobody."""
MORTAL = "Importer"
"""The one that dies with the lock, and is started anew when that is cleared."""
ELSEWHERE = {"Paper": "laptop"}
"""Sessions that say they run on another box."""
BOX = "box"
BASES = ("/tmp", "/dev/shm")  # noqa: S108  (a folder of its own is made below one of them)
"""Where the folder may lie: the first on which this box proves a death, else the first."""
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
LOOK_SECS = 0.2
ROW_SECS = 10.0
"""How long the demo's own engine may take until it runs rows; it takes a fraction of that."""
GENTLE_SECS = 3.0
"""How long a process is given to end by itself before it is told to, and then before it is killed."""
_ANOTHERS = ("SOT_", "COMM_", "CLAUDE", "CODEX", "XDG_")
"""What would make a session of the demo behave as the one it was started from, or use the person's folders."""


class Demo:
    """One run: its folder and its processes."""

    def __init__(self, die_after: float) -> None:
        self.told: list[int] = []
        """The signals that asked for the end."""
        self._die_after = die_after
        self._sessions: dict[str, subprocess.Popen[bytes]] = {}
        self._dashboard: subprocess.Popen[bytes] | None = None
        self._alive = -1
        """The file whose lock tells the rows that the demo goes on; the system lets it go with this process."""
        for number in SIGNALS:
            signal.signal(number, lambda told, _: self.told.append(told))
        self.folder = _own_folder()
        self.home = Home(f"{self.folder}/comm")

    # -- the stage ---------------------------------------------------------------------------------------------------

    def set_up(self) -> str:
        """Make the folders and the environment, and return why there can be no demo, or nothing."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_ANOTHERS)}
        os.environ.clear()
        os.environ.update(kept, SOT_COMM_HOME=self.home.path, SOT_SELF_HOST=BOX, SOT_COMM_TEST_HOST=BOX)
        for name, below in _FOLDERS.items():
            path = self.folder / below
            path.mkdir(mode=0o700)
            os.environ[name] = str(path)
        for name in ("self", "src", *(f"src/{session}" for session in (*SESSIONS, *ROWS))):
            (self.folder / name).mkdir()
        (self.folder / "turn").touch()
        self._alive = os.open(self.folder / "alive", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._alive, fcntl.LOCK_EX)
        # The rows end with the demo, so nobody has to go on with them.
        settings = self.folder / _FOLDERS["XDG_CONFIG_HOME"] / "sot"
        settings.mkdir()
        (settings / "tui.toml").write_text('on_leave = "never"\n', encoding="utf-8")
        os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
        ensure_home(self.home)
        fault = mounts.record_lock_manager(self.home, named_hub=True).fault
        if not fault:
            registry.replace(self.home, self._with_an_old_entry, registry.Wait.RULED)
        return fault

    def _with_an_old_entry(self, book: registry.Registry) -> bool:
        """Add what a session leaves behind that ended without saying so."""
        seen = stamp(self.home.clock.now() - 7200)
        old = {"host": "laptop", "workspace_id": "", "repo": "Old", "root": "/home/you/Old", "expertise": []}
        book.agents["Old-laptop"] = old | {"status": "idle", "joined": seen, "last_seen": seen}
        return True

    def proves_deaths(self) -> bool:
        """Tell whether a dead holder's lock can be cleared here; where it cannot, nobody dies."""
        return own_record(self.home.procs, fresh_reads=mounts.proves_fresh_reads(self.home)).proves

    # -- the processes -----------------------------------------------------------------------------------------------

    def start_sessions(self) -> None:
        """Start all of them; without a proof of death the mortal one lives on."""
        for name in SESSIONS:
            self._start(name)

    def _start(self, name: str) -> None:
        die_after = self._die_after if self.proves_deaths() else 1e9
        host = ELSEWHERE.get(name, BOX)
        private = {"SOT_COMM_SELF_FILE": f"{self.folder}/self/{name}.txt", "PWD": f"{self.folder}/src/{name}"}
        self._sessions[name] = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("demo_session.py")), name, str(self.folder), str(die_after)],
            cwd=self.folder / "src" / name,
            env=os.environ | private | {"SOT_SELF_HOST": host, "SOT_COMM_TEST_HOST": host},
            stdin=subprocess.PIPE,  # it ends when this end is closed, be it by the death of this process
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    async def start_rows(self) -> str:
        """Start the rows by an engine of our own, which the dashboard's takes them over from; return why not."""
        async with Engine(self.home, os.environ, window=False) as engine:
            until = time.monotonic() + ROW_SECS
            while engine.rows is None and time.monotonic() < until:  # noqa: ASYNC110  (a fact of another task)
                await asyncio.sleep(LOOK_SECS / 10)
            for name in ROWS:
                words = (sys.executable, str(Path(__file__).with_name("demo_session.py")), name, str(self.folder), "0")
                done = await engine.do(CreateRow("", str(self.folder / "src" / name), "none", command=words))
                if not done.good:
                    return done.sentence
        return ""

    async def _end_rows(self) -> None:
        """End every row there is, also one that the person has started."""
        folder = os.path.dirname(paths.row_folder(os.environ, "any"))
        with suppress(FileNotFoundError):
            names = self.home.disk.listdir(folder)
            await asyncio.gather(*(_end_row(paths.lane_socket(f"{folder}/{name}")) for name in names))

    def start_dashboard(self) -> subprocess.Popen[bytes]:
        """Open the dashboard on this terminal, as a person would."""
        self._dashboard = subprocess.Popen([sys.executable, "-m", "sot_tui"], cwd=self.folder / "home")
        return self._dashboard

    def look_after(self) -> None:
        """Start the mortal session anew, once the lock that it died with is another's or nobody's."""
        dead = self._sessions[MORTAL]
        if dead.poll() is None:
            return
        try:
            stands = (self.folder / "fallen").read_bytes() == Path(self.home.lock).read_bytes()
        except OSError:
            stands = False
        if not stands:
            self._start(MORTAL)

    def end(self) -> None:
        """End every process, and remove everything."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for process in self._sessions.values():
            if process.stdin is not None:
                process.stdin.close()
        if self._dashboard is not None and self._dashboard.poll() is None:
            self._dashboard.terminate()
        if self._alive >= 0:
            os.close(self._alive)
        asyncio.run(self._end_rows())
        processes = [*self._sessions.values(), *([self._dashboard] if self._dashboard else [])]
        for ask_again in (subprocess.Popen.terminate, subprocess.Popen.kill, None):
            until = time.monotonic() + GENTLE_SECS
            while time.monotonic() < until and any(process.poll() is None for process in processes):
                time.sleep(LOOK_SECS / 10)
            for process in processes:
                if process.poll() is None and ask_again is not None:
                    ask_again(process)
        shutil.rmtree(self.folder, ignore_errors=True)


async def _end_row(lane_socket: str) -> None:
    with suppress(LaneGone, LaneForeign):
        lane = await Lane.open(lane_socket)
        capsule = (await lane.status()).pid
        try:
            await lane.end("the demo is over")
            async with asyncio.timeout(GENTLE_SECS):
                await lane.closed.wait()
        except TimeoutError:
            os.kill(capsule, signal.SIGKILL)
        finally:
            await lane.close()


_FOLDERS = {
    "HOME": "home",
    "XDG_CONFIG_HOME": "config",
    "XDG_STATE_HOME": "state",
    "XDG_RUNTIME_DIR": "run",
    "XDG_CACHE_HOME": "cache",
    "XDG_DATA_HOME": "data",
    "TMPDIR": "tmp",
}


def _own_folder() -> Path:
    """Make the folder, where a death can be proved if that is anywhere."""
    bases = [base for base in BASES if os.access(base, os.W_OK)] or [tempfile.gettempdir()]
    proved = [base for base in bases if mounts.proves_fresh_reads(Home(base))]
    return Path(os.path.realpath(tempfile.mkdtemp(prefix="sot-demo-", dir=(proved or bases)[0])))


def _play(demo: Demo, headless: float | None) -> int:
    fault = demo.set_up()
    if fault:
        print(f"there can be no demo here: {fault}", file=sys.stderr)
        return 1
    fault = asyncio.run(demo.start_rows())
    if fault:
        print(f"the demo goes on without its rows: {fault}", file=sys.stderr)
    demo.start_sessions()
    if headless is None:
        dashboard = demo.start_dashboard()
        while dashboard.poll() is None and not demo.told:
            time.sleep(LOOK_SECS)
            demo.look_after()
        return dashboard.returncode or 0
    person = operator.operator_of(demo.home, os.environ, "")
    print(f"comm home: {demo.home.path}", flush=True)
    operator.join(demo.home, os.environ, person)
    until = time.monotonic() + headless
    while time.monotonic() < until and not demo.told:
        time.sleep(LOOK_SECS)
        demo.look_after()
    return 0


def main() -> int:
    """Run the demo; the exit code is the dashboard's, or that of a process ended by the signal that ended this."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--headless", type=float, metavar="SECONDS", help="open no dashboard, and end after so long")
    parser.add_argument("--lock-after", type=float, default=20.0, metavar="SECONDS", help="when one dies with the lock")
    options = parser.parse_args()
    if options.headless is None and not (os.isatty(0) and os.isatty(1)):
        print("the demo needs a terminal; --headless SECONDS runs it without one", file=sys.stderr)
        return 2
    demo = Demo(options.lock_after)
    try:
        code = _play(demo, options.headless)
    finally:
        demo.end()
    with suppress(OSError):  # a terminal that was closed takes no word any more
        print("the demo is over; everything it made is gone", flush=True)
    return 128 + demo.told[0] if demo.told else code


if __name__ == "__main__":
    sys.exit(main())
