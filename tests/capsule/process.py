"""A capsule as the engine starts it, and a plain socket to its lane: what the tests of that process stand on."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sot_tui.comm import paths
from sot_tui.comm.disk import Disk
from sot_tui.engine.rows import lane_wire, voyage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEADLINE_S = 20.0
LOOK_S = 0.02


def until(fact: Callable[[], Any], what: str, secs: float = DEADLINE_S) -> Any:
    """Wait until a fact holds; return it."""
    deadline = time.monotonic() + secs
    while not (found := fact()):
        assert time.monotonic() < deadline, f"it never came within {secs:g} s: {what}"
        time.sleep(LOOK_S)
    return found


def alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def new_run() -> str:
    """Return a run id that sorts behind all earlier ones, as a UUIDv7 does."""
    moment = f"{time.time_ns() // 1000:016x}"
    return str(uuid.UUID(moment[:12] + "7" + moment[12:15] + "8" + uuid.uuid4().hex[:15]))


class Up(NamedTuple):
    """What a capsule's start came to."""

    code: int
    line: str
    run: str
    wrong: str

    @property
    def pid(self) -> int:
        return int(json.loads(self.line)["pid"])


class CapsuleRow:
    """One row's folder and project, and the capsules that were started for it."""

    def __init__(self, base: Path, name: str = "ws-1") -> None:
        self.folder = base / "state" / "workspaces" / name
        self.root = base / "project"
        self.root.mkdir(exist_ok=True)
        self.pids: list[int] = []
        self.wires: list[Wire] = []

    @property
    def lane(self) -> str:
        return paths.lane_socket(str(self.folder))

    def start(
        self,
        *argv: str,
        size: tuple[int, int] = (80, 24),
        environ: Mapping[str, str] | None = None,
        run: str = "",
        options: tuple[str, ...] = (),
    ) -> Up:
        """Start a capsule and return what it said."""
        run = run or new_run()
        program = f"{os.path.dirname(sys.executable)}/sot-capsule"
        words = [str(self.folder), "--run", run, "--cols", str(size[0]), "--lines", str(size[1]), *options]
        done = subprocess.run(
            [program, "-E", "-P", "-m", "sot_tui.engine.rows.capsule", *words, "--", *argv],
            executable=sys.executable,
            cwd=self.root,
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"} if environ is None else dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            start_new_session=True,
            check=False,
            timeout=DEADLINE_S,
        )
        up = Up(done.returncode, done.stdout.decode().rstrip("\n"), run, done.stderr.decode())
        if up.code == 0:
            self.pids.append(up.pid)
        return up

    def up(self, *argv: str, **more: Any) -> Wire:
        """Start a capsule that comes up, and return a lane to it that has said hello."""
        up = self.start(*argv, **more)
        assert up.code == 0, up
        return self.wire()

    def wire(self, *, greet: bool = True) -> Wire:
        """Return another connection to the lane."""
        wire = Wire(self.lane)
        self.wires.append(wire)
        if greet:
            assert wire.ask("hello", lane=1)["ok"] is True
        return wire

    def record(self, run: str = "") -> voyage.Record | None:
        """Return what is on disk of a run, the current one."""
        run = run or voyage.pointer(Disk(), str(self.folder))
        return voyage.record(Disk(), str(self.folder), run)

    def ended(self) -> voyage.Record:
        """Wait until the run's end is on disk and its capsule is gone; return its record."""
        until(lambda: not any(map(alive, self.pids)), "the capsule has ended")
        found = self.record()
        assert found is not None
        assert found.ended is not None
        return found

    def processes(self) -> list[int]:
        """Return every process whose command line names the row."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdecimal() and os.fsencode(self.folder) in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return [pid for pid in found if pid != os.getpid() and alive(pid)]

    def clean(self) -> None:
        """End whatever is left: capsules, agents, and what these have left behind in the project."""
        for wire in self.wires:
            wire.close()
        for pid in {*self.pids, *self.processes()}:
            agents = _children(pid) if alive(pid) else []
            for one in (pid, *agents):
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
        while left := self.left_behind():
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def left_behind(self) -> list[int]:
        """Return every process that stands in the row's project."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdecimal() and os.readlink(entry / "cwd") == str(self.root):
                    found.append(int(entry.name))
        return [pid for pid in found if pid != os.getpid() and alive(pid)]


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


class Wire:
    """A blocking connection to a lane."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)  # waits for its turn, which one with a deadline does not
        self.socket.settimeout(DEADLINE_S)
        self._lines = self.socket.makefile("rb")
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        """Let go of the connection."""
        self._lines.close()
        self.socket.close()

    def post(self, op: str, **more: Any) -> int:
        """Ask without waiting."""
        self._number += 1
        self.socket.sendall(lane_wire.line({"id": self._number, "op": op, **more}))
        return self._number

    def next(self) -> dict[str, Any] | None:
        """Return the next line, None at the end."""
        line = self._lines.readline()
        return json.loads(line) if line else None

    def ask(self, op: str, **more: Any) -> dict[str, Any]:
        """Ask, and return the answer, its parts put together."""
        number = self.post(op, **more)
        whole: dict[str, Any] = {}
        while True:
            said = self.next()
            assert said is not None, f"the lane closed before the answer to {op}"
            if said.get("id") != number:
                self.events.append(said)
                continue
            assert not ("looks" in said and "looks" in whole and said["looks"] != whole["looks"])
            whole = {**whole, **said, "rows": {**whole.get("rows", {}), **said.get("rows", {})}}
            if not said.get("more"):
                return whole

    def type(self, text: str | bytes) -> dict[str, Any]:
        """Send bytes as they are."""
        data = text.encode() if isinstance(text, str) else text
        return self.ask("type", data_b64=base64.b64encode(data).decode())

    def rows(self) -> list[str]:
        """Return the screen's rows as text, blanks at their ends cut."""
        said = self.ask("snapshot", since=-1)
        rows = lane_wire.rows_of(said, said["cols"])
        return ["".join(cell.data for cell in rows[place]).rstrip() for place in range(said["lines"])]

    def text(self) -> str:
        """Return the screen as text."""
        return "\n".join(self.rows()).rstrip("\n")

    def shows(self, words: str, secs: float = DEADLINE_S) -> str:
        """Wait until the screen shows some words; return it."""
        seen = ""

        def look() -> bool:
            nonlocal seen
            seen = self.text()
            return words in seen

        try:
            until(look, words, secs)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{seen}") from None
        return seen

    def status(self) -> dict[str, Any]:
        """Return how the row stands."""
        return self.ask("status")

    def agent(self) -> int:
        """Return the agent's process."""
        return int(self.status()["agent"])
