"""Sixty rows at work and two that are busier, under one daemon: how soon a screen is answered, and what it all takes.

The rows are real capsules whose agent redraws as a working one does, 2.4 kB a second, and two at 20 kB a second. What
each process took of a core is the kernel's own count. The same rows then draw nothing, and all of it is counted.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.measure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AGENT = r"""#!{python} -IS
import os, sys, time
program = {programs!r}.get(os.environ["SOT_WORKSPACE"])
if program:
    os.execv({python!r}, [{python!r}, "-I", program])
pause = {{"busy": 0.02, "work": 0.17}}.get(os.environ["SOT_WORKSPACE"][:4])
step = 0
while pause and not os.path.exists({quiet!r}):
    star, rule, row, put = '·✢✳✶✻✽'[step % 6], '─' * 80, 5 + step % 12, sys.stdout.write
    put(f"\x1b[?2026h\x1b[20;1H\x1b[2K\x1b[38;5;174m{{star}} Working\x1b[0m \x1b[2m({{step}}s · esc)\x1b[0m")
    put(f"\x1b[22;1H\x1b[2m{{rule}}\x1b[0m\x1b[{{row}};1Hline {{step}} of what it does\x1b[23;3H\x1b[?2026l")
    sys.stdout.flush()
    step += 1
    time.sleep(pause)
time.sleep(9999)
"""
"""Draws until it is told to be quiet, at the rate that its row is named for; or is the program of that name."""
WORKING, BUSY = 60, 2
_UP_SECS = 120.0
_SETTLE_SECS = 5.0
_WINDOW_SECS = 5.0
_ROUNDS = 8
_LOOKS = 200


class Box:
    """A daemon and its rows, in folders of their own."""

    def __init__(self, folder: Path, programs: Mapping[str, str] | None = None, path: str = "") -> None:
        """`programs` are the Python files that rows of these names run, in place of the agent that draws.

        `path` is a folder in which agents are found before all others.
        """
        self.folder = folder
        self.quiet = folder / "quiet"
        agent = folder / "agent"
        said = {"python": sys.executable, "quiet": str(self.quiet), "programs": dict(programs or {})}
        agent.write_text(AGENT.format(**said))
        agent.chmod(0o755)
        named = {"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run"}
        for below in named.values():
            (folder / below).mkdir(mode=0o700)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("SOT_", "COMM_"))}
        environ |= {name: str(folder / below) for name, below in named.items()}
        environ |= {"SOT_COMM_HOME": str(folder / "comm"), "SOT_SELF_HOST": "box", "SHELL": str(agent)}
        environ["PATH"] = f"{path}:{environ['PATH']}" if path else environ["PATH"]
        self.environ = environ
        self.daemon = subprocess.Popen(
            [str(Path(sys.executable).with_name("sotd")), "run"],
            env=environ,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert self.daemon.stderr is not None
        self.daemon.stderr.readline()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(folder / "run/sot/sessions/sot.sock"))
        self._lines = self._socket.makefile("rb")
        who = {"host": "box", "os_user": f"uid:{os.geteuid()}", "role": "cli", "name": ""}
        self.ask("hello", {"client_id": "bench", "last_seen_revision": 0, "protocol": 3, **who})

    def ask(self, op: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Ask the daemon, and return its answer."""
        frame = {"v": 1, "id": 1, "kind": "req", "op": op, "payload": payload}
        self._socket.sendall(json.dumps(frame, separators=(",", ":")).encode() + b"\n")
        while True:
            said: dict[str, Any] = json.loads(self._lines.readline())
            if said["kind"] == "res":
                answer: dict[str, Any] = said["payload"]
                return answer

    def make(self, label: str) -> str:
        """Make a row, and return its id."""
        root = self.folder / "src" / label
        root.mkdir(parents=True)
        said = self.ask("workspace.create", {"label": label, "project_root": str(root), "agent": "none"})
        return str(said["workspace_id"])

    def until_ready(self) -> None:
        """Wait until every row is ready."""
        end = time.monotonic() + _UP_SECS
        while any(row["phase"] != "ready" for row in self.ask("workspace.list", {})["workspaces"]):
            if time.monotonic() > end:
                raise TimeoutError("the rows are not ready")
            time.sleep(0.5)

    def capsules(self) -> list[int]:
        """Return the capsules of this box."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with suppress(OSError):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    mine = any(word.startswith(str(self.folder).encode()) for word in words)
                    if mine and words[0].endswith(b"/sot-capsule"):
                        found.append(int(entry.name))
        return found

    def leave(self) -> None:
        """End the daemon; its rows go on."""
        self._lines.close()
        self._socket.close()
        self.daemon.terminate()
        self.daemon.wait(30)
        assert self.daemon.stderr is not None
        self.daemon.stderr.close()

    def close(self) -> None:
        """End the daemon and every row."""
        self.leave()
        for pid in self.capsules():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield how soon a screen comes, and what daemon and capsules take; none where the kernel does not count."""
    if not Path("/proc/self/schedstat").exists():
        print("rows: this system does not say what a thread takes; not taken")
        return
    folder.mkdir()
    box = Box(folder)
    try:
        rows = [box.make(f"work-{number}") for number in range(WORKING)]
        rows += [box.make(f"busy-{number}") for number in range(BUSY)]
        box.until_ready()
        time.sleep(_SETTLE_SECS)
        capsules = box.capsules()
        name = f"{WORKING}+{BUSY} rows at work"
        look = partial(_looked, box, cycle(rows))
        yield Figure(f"{name}: a screen, asked of the daemon", look, None, 1, "p99 <= 100 ms", rounds=_LOOKS)
        daemon, all_of_them = partial(_share, [box.daemon.pid]), partial(_share, capsules)
        yield Figure(f"{name}: the daemon, of a core", daemon, None, 1, "<= 25 %", rounds=_ROUNDS)
        yield Figure(f"{name}: the capsules, of a core", all_of_them, None, 1, "<= 100 %", rounds=_ROUNDS)
        box.quiet.touch()
        time.sleep(_SETTLE_SECS)
        everything = partial(_share, [box.daemon.pid, *capsules])
        yield Figure(f"{WORKING + BUSY} rows idle: all of it, of a core", everything, None, 1, "<= 2 %", rounds=_ROUNDS)
    finally:
        box.close()


def _looked(box: Box, rows: Iterator[str]) -> float:
    """Return the seconds until a row's screen came."""
    time.sleep(0.02)
    row = next(rows)
    began = time.perf_counter()
    said = box.ask("pty.screen", {"workspace_id": row})
    taken = time.perf_counter() - began
    if "lines" not in said:
        raise ValueError(f"no screen came: {said}")
    return taken


def _share(pids: list[int]) -> float:
    """Return the share of a core that some processes took over a while."""
    before, began = _taken_ns(pids), time.perf_counter()
    time.sleep(_WINDOW_SECS)
    return (_taken_ns(pids) - before) / 1e9 / (time.perf_counter() - began)


def _taken_ns(pids: list[int]) -> int:
    """Return what every thread of some processes has taken of a core."""
    taken = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                taken += int((task / "schedstat").read_text().split()[0])
    return taken
