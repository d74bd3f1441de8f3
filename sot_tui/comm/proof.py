"""Who this process is, and whether another one is proved dead.

Contract, The registry lock: a holder's record is `name:machine:boot:pidns:pid:start`. A field that cannot be read is
`-`, which never equals anything. No timeout proves anything: what is not proved dead is alive.
"""

from __future__ import annotations

import os
import sys
from typing import Protocol

UNREAD = "-"
"""A field that could not be read; it equals nothing, itself included."""


class Procs(Protocol):
    """What the product asks of the machine about processes; a test passes a table."""

    def host_name(self) -> str:
        """Return the machine's host name as the kernel has it."""
        ...

    def machine_id(self) -> str:
        """Return the machine's id (Linux /etc/machine-id, macOS the host UUID), or `-`."""
        ...

    def boot_id(self) -> str:
        """Return the id of the running boot, or `-`."""
        ...

    def pid_namespace(self) -> str:
        """Return the pid namespace's inode number (macOS: `darwin`), or `-`."""
        ...

    def pid(self) -> int:
        """Return this process's id."""
        ...

    def start_of(self, pid: int) -> str | None:
        """Return a process's start (Linux: the tick of field 22), `-` when it cannot be read, None when it is gone."""
        ...

    def serial(self) -> int:
        """Return a number that this process has not given before, for names of temp files."""
        ...


class SystemProcs:
    """The machine itself."""

    _serial = 0

    def host_name(self) -> str:
        """Return the machine's host name as the kernel has it."""
        return os.uname().nodename

    def machine_id(self) -> str:
        """Return the machine's id, or `-`."""
        if sys.platform == "linux":
            return _first_line("/etc/machine-id")
        return UNREAD

    def boot_id(self) -> str:
        """Return the id of the running boot, or `-`."""
        if sys.platform == "linux":
            return _first_line("/proc/sys/kernel/random/boot_id")
        return UNREAD

    def pid_namespace(self) -> str:
        """Return the pid namespace's inode number, or `-`."""
        try:
            return str(os.stat("/proc/self/ns/pid").st_ino)
        except OSError:
            return UNREAD

    def pid(self) -> int:
        """Return this process's id."""
        return os.getpid()

    def start_of(self, pid: int) -> str | None:
        """Return the start tick of a process, `-` when it cannot be read, None when it is gone."""
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                status = file.read()
        except (FileNotFoundError, ProcessLookupError):
            return None
        except OSError:
            return UNREAD
        fields = status[status.rfind(b")") + 1 :].split()
        return fields[19].decode("ascii", "replace") if len(fields) > 19 else UNREAD

    def serial(self) -> int:
        """Return a number that this process has not given before."""
        SystemProcs._serial += 1
        return SystemProcs._serial


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readline().strip() or UNREAD
    except OSError:
        return UNREAD
