"""Replaces of a registry of 100 agents against the least that replaces a file for good: write, fsync, rename."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from bench.measure import Figure
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.registry import Registry, Wait, Written, replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_AGENTS = 100
_REPLACES = 50


def figures(folder: Path) -> Iterator[Figure]:
    """Yield two figures: lock, read, change one stamp, write, flush, rename, release.

    A process keeps the parts of the registry it saw last. With two comm homes in turn that never helps, as when another
    process writes between any two writes of this one.
    """
    homes = [Home(str(folder / name)) for name in ("comm", "other")]
    folder.mkdir()
    for home in homes:
        ensure_home(home)
        written = replace(home, partial(fill, _AGENTS), Wait.RULED)
        assert isinstance(written, Written), written
    bare = partial(_rename, str(folder / "bare.json"), (folder / "comm" / "registry.json").read_bytes())
    name = f"registry replaces, {_AGENTS} agents"
    yield Figure(name, partial(_replace, homes[:1]), bare, _REPLACES, ">= 0.8")
    yield Figure(f"{name}, read anew", partial(_replace, homes), bare, _REPLACES, ">= 0.8")


def fill(agents: int, registry: Registry, box: str = "box") -> bool:
    """Put so many sessions at work into a registry."""
    for number in range(agents):
        registry.agents[f"project-{number}-{box}"] = {
            "host": box,
            "workspace_id": f"ws-{number:08x}",
            "repo": f"project-{number}",
            "root": f"/home/person/src/project-{number}",
            "expertise": ["files", "rust-backend"],
            "status": "idle",
            "joined": "2026-05-29T18:00:00Z",
            "last_seen": "2026-05-29T18:04:00Z",
            "state": "working",
            "summary": "rebuilding backend and its suite",
            "status_at": "2026-05-29T18:04:00Z",
            "floor": "user",
            "note": "rebuilding backend and its suite",
        }
    return True


def _replace(homes: list[Home]) -> None:
    for number in range(_REPLACES):
        written = replace(homes[number % len(homes)], partial(_stamp, number), Wait.RULED)
        assert isinstance(written, Written), written


def _stamp(number: int, registry: Registry) -> bool:
    registry.agents["project-7-box"]["last_seen"] = f"2026-05-29T18:{number:02}:00Z"
    return True


def _rename(path: str, data: bytes) -> None:
    for _ in range(_REPLACES):
        file = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(file, data)
        os.fsync(file)
        os.close(file)
        os.rename(path + ".tmp", path)
