"""Real processes that take, hold and reclaim the registry lock at a test's word, and stop at a named point.

    with Actor(home) as one:
        one.tells(do="take", wait="HEARTBEAT", stop="lock.settled")
        assert one.hears() == {"at": "lock.settled"}     # it waits there, until it hears "go" or is killed

The file is both: the class, and the program that the process runs. A test waits for what the process says, with a
deadline, and never for a time to pass.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest

from sot_tui.comm import registry_lock
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.mounts import proves_fresh_reads
from sot_tui.comm.reach import listen
from sot_tui.comm.registry import Registry, Wait, Written, replace
from sot_tui.comm.registry_lock import Held, clear, release, take

DEADLINE_S = 20
"""Seconds within which a process must say something; it only ends a hang."""
NAMESPACE = ("unshare", "-Urpf", "--mount-proc")
"""Puts a process into a pid namespace of its own."""


class Actor:
    """A process that acts on one comm home."""

    def __init__(self, home: Home, before: tuple[str, ...] = (), **environ: str) -> None:
        self.process = subprocess.Popen(
            [*before, sys.executable, "-P", __file__, home.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **environ},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    @property
    def pid(self) -> int:
        return self.process.pid

    def tells(self, **words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(words).encode() + b"\n")
        self.process.stdin.flush()

    def hears(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], DEADLINE_S)[0]:
            raise AssertionError(f"process {self.pid} said nothing for {DEADLINE_S} s")
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            raise AssertionError(f"process {self.pid} ended: {self.process.stderr.read().decode()}")
        said: dict[str, Any] = json.loads(line)
        return said

    def asks(self, **words: object) -> dict[str, Any]:
        self.tells(**words)
        return self.hears()

    def kill(self) -> None:
        """Kill it and wait until its pid is free: only then is it gone."""
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        """Stop it; it is stopped when this returns."""
        os.kill(self.pid, signal.SIGSTOP)
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)


def proving_home(folder: Path) -> Home:
    """Return a new comm home on a disk on which this machine proves deaths; skips where it has none."""
    for path in (folder, Path("/dev/shm") / f"sot-{os.getpid()}-{folder.name}"):
        home = Home(str(path / "comm"))
        if path.parent.exists():
            ensure_home(home)
            if proves_fresh_reads(home):
                return home
    pytest.skip("no folder of this machine lies on a mount that proves fresh reads")


def _say(**words: object) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _hear() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    said: dict[str, Any] = json.loads(line)
    return said


def _adds(name: str) -> Any:
    def change(found: Registry) -> bool:
        found.agents[name] = {"pid": os.getpid()}
        return True

    return change


def _main() -> None:
    home = Home(sys.argv[1])
    held: Held | None = None
    while True:
        said = _hear()
        stopped: list[str] = []

        def at(
            point: str, stop: str = said.get("stop", ""), die: str = said.get("die", ""), stopped: list[str] = stopped
        ) -> None:
            if point == die:
                os.kill(os.getpid(), signal.SIGKILL)
            if point == stop and point not in stopped:
                stopped.append(point)
                _say(at=point)
                _hear()

        listen(at)
        match said["do"]:
            case "take":
                outcome = take(home, Wait[said["wait"]])
                held = outcome if isinstance(outcome, Held) else None
                _say(taken=held is not None, said=getattr(outcome, "sentence", ""))
            case "release":
                assert held is not None
                release(home, held)
                _say(released=True)
            case "forget":
                held = None
                registry_lock._new_turn()
                _say(forgotten=True)
            case "write":
                written = replace(home, _adds(said["name"]), Wait[said["wait"]])
                _say(written=isinstance(written, Written), said=getattr(written, "sentence", ""))
            case "clear":
                cleared = clear(home)
                _say(cleared=type(cleared).__name__, said=cleared.sentence)
        listen(None)


if __name__ == "__main__":
    _main()
