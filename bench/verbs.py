"""Verbs from start to exit against an interpreter that does nothing: hooks pay this at every turn of every session."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

from bench.measure import Figure
from sot_tui.comm import mounts, registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home, ensure_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND = os.path.join(os.path.dirname(sys.executable), "sot-tui")
_VERBS = (
    ("join",),
    ("send", "@other", "numbers please"),
    ("poll",),
    ("list",),
    ("status", "working", "rebuilding"),
    ("lock-clear",),
    ("leave",),
)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield one figure for each verb, in a comm home with two sessions of this box."""
    environ = prepare(folder)
    here = folder / "project"
    join = partial(run, environ, here, "join")
    join()
    bare = partial(_run, [sys.executable, "-I", "-c", "pass"], environ, here)
    for words in _VERBS:
        again = join if words[0] == "leave" else None
        ours = partial(run, environ, here, *words)
        yield Figure(f"verb {words[0]}, start to exit", ours, bare, 1, "<= 3", again, rounds=25)


def prepare(folder: Path) -> dict[str, str]:
    """Make a project folder and a comm home with one live handle, @other; return an environment that names both."""
    for name in ("project", "home"):
        (folder / name).mkdir(parents=True)
    home = Home(str(folder / "comm"))
    ensure_home(home)
    mounts.record_lock_manager(home, named_hub=True)

    def add_other(found: registry.Registry) -> bool:
        found.agents["other"] = {"host": "box", "workspace_id": "", "last_seen": stamp(home.clock.now())}
        return True

    written = registry.replace(home, add_other, registry.Wait.RULED)
    assert isinstance(written, registry.Written), written
    return {"PATH": os.defpath, "HOME": str(folder / "home"), "SOT_COMM_HOME": home.path, "LANG": "C.UTF-8"}


def run(environ: dict[str, str], cwd: Path, *words: str) -> None:
    """Run one verb; its output is thrown away, and a failure is a fault of the bench."""
    _run([COMMAND, *words], environ, cwd)


def _run(command: list[str], environ: dict[str, str], cwd: Path) -> None:
    quiet = subprocess.DEVNULL
    subprocess.run(command, env=environ, cwd=cwd, stdin=quiet, stdout=quiet, check=True)
