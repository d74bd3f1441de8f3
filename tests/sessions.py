"""A session outside or inside a row, made up for a test: its comm home, its project, and the processes above it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sot_tui.comm import identity, joining
from sot_tui.comm.clock import stamp
from sot_tui.comm.disk import Disk
from sot_tui.comm.home import Home
from sot_tui.comm.proof import SystemProcs

if TYPE_CHECKING:
    from sot_tui.comm.identity import Context, Pin

NOW = 1_767_323_045.0
"""2026-01-02T03:04:05Z, the time of every made-up session."""


class Above(Disk):
    """The real disk, but for the processes above the session: their argument lists, nearest first."""

    def __init__(self, *above: list[str]) -> None:
        self.above = above

    def read(self, path: str) -> bytes:
        _, top, number, name, *_ = [*path.split("/"), "", "", ""]
        if top != "proc" or not number.isdecimal():
            return super().read(path)
        place = int(number) - Machine.PID
        if name == "cmdline":
            return b"".join(word.encode() + b"\0" for word in self.above[place - 1])
        parent = int(number) + 1 if place < len(self.above) else 0
        return b"%s (x) S %d %s 1 0\n" % (number.encode(), parent, b" ".join([b"0"] * 17))


class Machine(SystemProcs):
    """A machine called Box-A, and a process with a number of its own."""

    PID = 70_000

    def __init__(self, name: str = "Box-A") -> None:
        self.name = name

    def host_name(self) -> str:
        return self.name

    def pid(self) -> int:
        return self.PID

    def start_of(self, pid: int) -> str | None:
        return "77" if pid == self.PID else None


class Still:
    """A clock that stands."""

    def now(self) -> float:
        return NOW

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        assert seconds <= 0.1, "nothing here waits for a lock"


class Session:
    """One process that may act as a handle."""

    def __init__(self, folder: Path, project: str = "work/alpha") -> None:
        self.folder = folder
        self.cwd = folder / project
        self.cwd.mkdir(parents=True, exist_ok=True)
        self.environ: dict[str, str] = {}
        self.home = Home(str(folder / "comm"), disk=Above(), clock=Still(), procs=Machine())

    def under(self, *above: list[str]) -> Session:
        """Put it below these processes, nearest first."""
        self.home = self.home._replace(disk=Above(*above))
        return self

    def in_row(self, row: str) -> Session:
        """Put it inside a row."""
        self.environ["SOT_WORKSPACE_ID"] = row
        return self.under(["bash"], ["/opt/sot-capsule", "run", f"/s/workspaces/{row}"])

    @property
    def slot(self) -> Path:
        """Its self file, when none is pinned."""
        return Path(self.home.selves) / f"box-a__{self.environ.get('SOT_WORKSPACE_ID') or 'nopane'}.txt"

    def claims(self, text: str, path: Path | None = None) -> Session:
        """Put `text` into its self file, `{root}` being its project."""
        path = path or self.slot
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(root=self.cwd), encoding="utf-8")
        return self

    def book(self, agents: dict[str, Any], version: object = 1) -> Session:
        """Write a registry with these entries; None for an entry means one as a join writes it."""
        whole = {handle: entry if entry is not None else self.entry() for handle, entry in agents.items()}
        return self.registry(json.dumps({"protocol_version": version, "agents": whole}))

    def registry(self, text: str) -> Session:
        """Write a registry of any text."""
        path = Path(self.home.registry)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return self

    def entry(self, **more: object) -> dict[str, Any]:
        """Return an entry of this project, as a join writes it."""
        return {
            "host": "box-a",
            "workspace_id": "",
            "repo": self.cwd.name,
            "root": str(self.cwd),
            "expertise": [],
            "status": "idle",
            "joined": stamp(NOW),
            "last_seen": stamp(NOW),
            **more,
        }

    def agents(self) -> dict[str, Any]:
        """Return the entries that stand in the registry now."""
        found: dict[str, Any] = json.loads(Path(self.home.registry).read_text(encoding="utf-8"))["agents"]
        return found

    def who_am_i(self, pin: Pin | None = None) -> Context:
        """Return what it knows of itself."""
        return identity.who_am_i(self.home, self.environ, str(self.cwd), pin)

    def join(
        self, name: str = "", *, repin: bool = False, pin: Pin | None = None
    ) -> joining.Joined | joining.NotJoined:
        """Join."""
        return joining.join(self.home, self.environ, str(self.cwd), joining.Wish(name, (), repin), pin)

    def joined(self, name: str = "", *, repin: bool = False, pin: Pin | None = None) -> joining.Joined:
        """Join, which must not fail."""
        outcome = self.join(name, repin=repin, pin=pin)
        assert isinstance(outcome, joining.Joined), outcome
        return outcome

    def refused(self, name: str = "", *, repin: bool = False) -> joining.NotJoined:
        """Join, which must fail and leave the registry as it was."""
        before = Path(self.home.registry).read_bytes() if Path(self.home.registry).exists() else None
        outcome = self.join(name, repin=repin)
        assert isinstance(outcome, joining.NotJoined), outcome
        if before is not None:
            assert Path(self.home.registry).read_bytes() == before
        return outcome
