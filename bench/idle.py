"""What a dashboard takes of a core while nothing happens, and the processes it starts meanwhile: none.

Beside it a Textual app that shows the time once a second. The kernel's own count of each thread is read, and the system
calls that start a process are counted by strace where there is one, else by what the kernel keeps of children.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fleets import Fleet
from bench.measure import Figure
from bench.pane import Pane

if TYPE_CHECKING:
    from collections.abc import Iterator

BARE = """\
import time
from textual.app import App
from textual.widgets import Static


class Bare(App):
    def compose(self):
        yield Static("ready")

    def on_mount(self):
        self.set_interval(1, lambda: self.query_one(Static).update(time.ctime()))


Bare().run()
"""
"""The least that shows that time passes."""
_HANDLES = 60
_WINDOW_SECS = 5.0
_ROUNDS = 10
_FORK_WINDOW_SECS = 10.0
_FORK_ROUNDS = 2
_SETTLE_SECS = 6.0
_FORKS = "fork,vfork,clone,clone3,execve"


def figures(folder: Path) -> Iterator[Figure]:
    """Yield two figures; none where the kernel says nothing of its threads."""
    if not Path("/proc/self/schedstat").exists():
        print("idle: this system does not say what a thread takes; not taken")
        return
    fleet = Fleet(folder, _HANDLES)
    script = folder / "bare.py"
    script.write_text(BARE)
    with Pane([sys.executable, str(script)], fleet.environ, str(folder)) as bare, fleet.dashboard() as pane:
        bare.until("ready")
        pane.until("Project-")
        pane.drain(_SETTLE_SECS)
        name = f"idle, {_HANDLES} handles"
        yield Figure(f"{name}, of a core", partial(_share, pane), partial(_share, bare), 1, "<= 1 %", rounds=_ROUNDS)
        yield Figure(
            f"{name}, processes started", partial(_forks, pane, folder), None, 1, "<= 0 forks", rounds=_FORK_ROUNDS
        )


def _share(pane: Pane) -> float:
    """Return the share of a core that all threads of a program took over a while."""
    pane.drain(0.1)
    pane.forget()
    before, began = _taken_ns(pane.pid), time.perf_counter()
    pane.drain(_WINDOW_SECS)
    return (_taken_ns(pane.pid) - before) / 1e9 / (time.perf_counter() - began)


def _taken_ns(pid: int) -> int:
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())


def _forks(pane: Pane, folder: Path) -> float:
    """Return how many processes a program started over a while; a thread is none."""
    strace = shutil.which("strace")
    if strace is None:
        before = _children(pane.pid)
        pane.drain(_FORK_WINDOW_SECS)
        return float(_children(pane.pid) - before)
    log = folder / "calls"
    command = [strace, "-f", "-qq", "-e", f"trace={_FORKS}", "-o", str(log), "-p", str(pane.pid)]
    tracer = subprocess.Popen(command)
    pane.drain(_FORK_WINDOW_SECS)
    tracer.terminate()
    tracer.wait()
    calls = log.read_text().splitlines()
    return float(sum(not re.search("CLONE_THREAD|resumed>", call) for call in calls))


def _children(pid: int) -> int:
    """Return a number that grows with every child: page faults of those that ended, and those that run."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    tasks = Path(f"/proc/{pid}/task")
    return int(fields[8]) + sum(len((task / "children").read_text().split()) for task in tasks.iterdir())
