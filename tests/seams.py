"""Time, mounts and processes as a test holds them: a clock that jumps, a mount of choice, a machine that is a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm.disk import Disk
from sot_tui.comm.proof import Record, own_record

if TYPE_CHECKING:
    from collections.abc import Callable

FRESH_MOUNT = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
"""A mountinfo that proves fresh reads everywhere, so that a test runs alike in a container."""
STALE_MOUNT = b"27 1 0:40 / / rw,relatime - overlay overlay rw\n"
"""A mountinfo that proves none."""

EPOCH = 1_780_000_000.0
"""Where every fake wall clock starts."""


class JumpingClock:
    """A clock whose sleeps take no time and move both clocks; it remembers each of them."""

    def __init__(self, now: float = EPOCH) -> None:
        self.wall = now
        self.mono = 1000.0
        self.slept: list[float] = []
        self.on_sleep: Callable[[float], None] | None = None
        """What happens elsewhere while this process sleeps."""

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.mono

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_(seconds)
        if self.on_sleep is not None:
            self.on_sleep(seconds)

    def pass_(self, seconds: float) -> None:
        # Whole microseconds, so that twenty times 0.05 are 1.
        self.wall = round(self.wall + seconds, 6)
        self.mono = round(self.mono + seconds, 6)


class MountedDisk(Disk):
    """The real disk, lying on a mount of one's choice."""

    def __init__(self, mountinfo: bytes = FRESH_MOUNT) -> None:
        self.mountinfo = mountinfo

    def mount_table(self) -> bytes:
        return self.mountinfo

    def is_on_local_mount(self, path: str) -> bool:
        del path
        return self.mountinfo == FRESH_MOUNT


class Machine:
    """One machine, for all the processes on it: who runs on it is a table of pids and starts."""

    def __init__(self, name: str = "box", machine: str = "m1", boot: str = "b1", namespace: str = "4026531836") -> None:
        self.name, self.machine, self.boot, self.namespace = name, machine, boot, namespace
        self.running: dict[int, str] = {}
        self.ticks = 100
        self.pids = 1000

    def start(self, pid: int | None = None) -> Process:
        """Start a process, under a pid of one's choice if that is free."""
        self.pids += 1
        self.ticks += 1
        pid = pid or self.pids
        assert pid not in self.running
        self.running[pid] = str(self.ticks)
        return Process(self, pid)

    def end(self, pid: int) -> None:
        self.running.pop(pid, None)

    def reboot(self) -> None:
        self.running.clear()
        self.boot = f"{self.boot}+"
        self.ticks = 100


class Process:
    """One process of a machine: what it can ask of the machine about itself and the others."""

    def __init__(self, machine: Machine, pid: int) -> None:
        self.machine, self._pid, self._serial = machine, pid, 0

    def host_name(self) -> str:
        return self.machine.name

    def machine_id(self) -> str:
        return self.machine.machine

    def boot_id(self) -> str:
        return self.machine.boot

    def pid_namespace(self) -> str:
        return self.machine.namespace

    def pid(self) -> int:
        return self._pid

    def start_of(self, pid: int) -> str | None:
        return self.machine.running.get(pid)

    def listing(self) -> str | None:
        return None

    def serial(self) -> int:
        self._serial += 1
        return self._serial

    def record(self) -> Record:
        return own_record(self, fresh_reads=True)
