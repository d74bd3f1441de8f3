"""Comm homes of any size for the figures about the screen, and the dashboard on one of them in a terminal."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from bench.pane import Pane
from sot_tui.comm import cursor, frames, mounts, registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home, ensure_home

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from sot_tui.comm.disk import Disk

COMMAND = os.path.join(os.path.dirname(sys.executable), "sot-tui")
LINES_EACH = 3
"""Lines in each inbox; in every fifth they are unread."""
BLOCKED = {"state": "blocked", "question": "which?"}
IDLE = {"state": "idle", "question": None, "floor": None, "waiting": None, "summary": ""}
_LIFE_SECS = 86400
"""How far the stamps of life lie ahead: nobody goes stale while the figures are taken."""
_STATES = ("idle", "working", "idle", "waiting", "idle")


class Fleet:
    """A comm home with so many live sessions of this box, and an environment that names it."""

    def __init__(self, folder: Path, handles: int, disk: Disk | None = None) -> None:
        self.folder = folder
        for name in ("home", "config", "state", "run"):
            (folder / name).mkdir(parents=True, mode=0o700)
        self.home = Home(str(folder / "comm"), disk) if disk else Home(str(folder / "comm"))
        self.handles = [f"Project-{number:04}-box" for number in range(handles)]
        ensure_home(self.home)
        mounts.record_lock_manager(self.home, named_hub=True)
        written = registry.replace(self.home, self._join_all, registry.Wait.RULED)
        assert isinstance(written, registry.Written), written
        for number, handle in enumerate(self.handles):
            self._mail(handle, read=number % 5 != 0)

    @property
    def environ(self) -> dict[str, str]:
        """Return an environment in which nothing but this fleet is touched."""
        said = {"PATH": f"{os.path.dirname(sys.executable)}:{os.defpath}", "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        said |= {"COLORTERM": "truecolor", "SOT_COMM_HOME": self.home.path, "SOT_SELF_HOST": "box"}
        said |= {"HOME": str(self.folder / "home"), "XDG_CONFIG_HOME": str(self.folder / "config")}
        return said | {"XDG_STATE_HOME": str(self.folder / "state"), "XDG_RUNTIME_DIR": str(self.folder / "run")}

    def dashboard(self) -> Pane:
        """Open the dashboard, as a person does."""
        return Pane([COMMAND], self.environ, str(self.folder / "home"))

    def change(self, said: dict[str, dict[str, Any]]) -> None:
        """Change some entries in one write; a None takes a key out."""

        def change(book: registry.Registry) -> bool:
            for handle, facts in said.items():
                entry = book.agents[handle] | facts
                book.agents[handle] = {key: value for key, value in entry.items() if value is not None}
            return True

        written = registry.replace(self.home, change, registry.Wait.RULED)
        assert isinstance(written, registry.Written), written

    def _join_all(self, book: registry.Registry) -> bool:
        now = time.time()
        for number, handle in enumerate(self.handles):
            state = _STATES[number % len(_STATES)]
            facts = {"working": {"floor": "user"}, "waiting": {"waiting": "for CI"}}.get(state, {})
            book.agents[handle] = {
                "host": "box",
                "workspace_id": f"ws-{number:08x}",
                "repo": f"Project-{number:04}",
                "root": f"/home/person/src/Project-{number:04}",
                "expertise": ["files", "rust-backend"],
                "status": "idle",
                "joined": stamp(now - 90_000),
                "last_seen": stamp(now + _LIFE_SECS),
                "state": state,
                "summary": "rebuilding backend and its suite",
                "status_at": stamp(now - 5 - 20 * number),
                "note": "rebuilding backend and its suite",
            } | facts
        return True

    def _mail(self, handle: str, *, read: bool) -> None:
        line = frames.frame("writer", handle, "writer", "numbers please", stamp(time.time()))
        _put(self.home.inbox(handle), line * LINES_EACH)
        if read:
            _put(self.home.cursor(handle), cursor.text(LINES_EACH, line[:-1]).encode("ascii"))


def _put(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, data)
    os.close(descriptor)
