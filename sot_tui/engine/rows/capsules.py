"""Starting a capsule, and asking whether one holds its row: the engine's side of the process, without its lane.

A capsule is started by a whole new program, never by a fork of this one: the dashboard and the daemon have threads. It
checks what it was told, leaves its parent behind, and says in one line that it is up, or why not. Its argv[0] is
`sot-capsule` beside the interpreter, and its row's folder an argument of its own: by that, every session inside finds
which row it is in (contract, Cases: the walk).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sot_tui.comm import paths
from sot_tui.comm.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.disk import Disk

START_SECS = 15.0
"""Seconds in which a capsule is up or has said why not."""
HELD_STATUS = 70
"""Exit status of a capsule whose row another one holds (daemon wire 4.1)."""
_SAID_LIMIT = 500
"""Characters of what a capsule says that are kept."""
_EXCLUSIVE_AT_ONCE = 2 | 4
"""flock(2)'s operation, the same on Linux and macOS."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a capsule is told."""

    folder: str
    """The row's folder."""
    run: str
    root: str
    words: tuple[str, ...]
    """The agent's command line."""
    environ: Mapping[str, str]
    columns: int
    lines: int
    resumes: bool


@dataclass(frozen=True, slots=True)
class Started:
    """The capsule is up, and its agent runs."""

    pid: int


@dataclass(frozen=True, slots=True)
class NotStarted:
    """No capsule was started."""

    why: str
    held: bool = False
    """Another capsule holds the row."""
    final: bool = False


def start(disk: Disk, order: Order) -> Started | NotStarted:
    """Start a capsule and wait until it is up; blocks for at most `START_SECS`."""
    program = f"{os.path.dirname(os.path.abspath(sys.executable))}/sot-capsule"
    flags = ["--run", order.run, "--cols", str(order.columns), "--lines", str(order.lines)]
    flags += ["--resume"] if order.resumes else []
    # Nothing of the project and nothing of the agent's environment tells the capsule's Python what to load.
    argv = [program, "-E", "-P", "-m", "sot_tui.engine.rows.capsule", order.folder, *flags, "--", *order.words]
    try:
        paths.make_folder(disk, order.folder)
        # In the project's folder from the start: a child that fails to go there would go on as a copy of its parent.
        started = subprocess.Popen(
            argv,
            executable=sys.executable,
            cwd=order.root,
            env=dict(order.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return NotStarted(f"{error.strerror}: {error.filename}")
    except ValueError as error:
        return NotStarted(str(error))
    try:
        said, wrong = started.communicate(timeout=START_SECS)
    except subprocess.TimeoutExpired:
        started.kill()
        started.communicate()
        return NotStarted(f"its capsule was not up within {START_SECS:g} s")
    return _told(said, wrong, started.returncode)


def _told(said: bytes, wrong: bytes, status: int) -> Started | NotStarted:
    line = said.decode(errors="replace").partition("\n")[0]
    with suppress(ValueError):
        told = json.loads(line)
        if status == 0 and isinstance(told, dict) and isinstance(told.get("pid"), int):
            return Started(told["pid"])
    last = wrong.decode(errors="replace").strip().rpartition("\n")[2]
    why = line.removeprefix("refused: ") or last or f"its capsule ended with {status}"
    return NotStarted(visible(why)[:_SAID_LIMIT], held=status == HELD_STATUS)


def is_held(disk: Disk, folder: str) -> bool:
    """Tell whether a capsule lives that holds this row; raises OSError when that cannot be told.

    A capsule holds its row's lock for its whole life, and the kernel lets go of it with the process.
    """
    try:
        descriptor = disk.open(f"{folder}/supervisor.lock", os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        disk.lock(descriptor, _EXCLUSIVE_AT_ONCE)
    except BlockingIOError:
        return True
    finally:
        disk.close(descriptor)
    return False


def unmake(disk: Disk, folder: str) -> None:
    """Remove the folder of a row that never ran: nothing but what a start makes is taken away."""
    for name in ("supervisor.lock",):
        with suppress(FileNotFoundError):
            disk.unlink(f"{folder}/{name}")
    disk.rmdir(folder)
