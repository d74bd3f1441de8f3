"""Who holds an inbox lock, and who waits for it, as the kernel lists it in /proc/locks (Linux).

Product, Locks: a holder is read from the kernel's own list and never found by trying a lock, because a try can keep a
writer waiting. The list names a process, a file's device and inode, and who waits behind whom; it tells no time, so an
age is counted from our own looks. What the list cannot show is said: another system, a holder on another machine, a
process of another pid namespace. Nothing here takes a lock, opens a lock file or writes.
"""

from __future__ import annotations

import os
import sys

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.mounts import FRESH_KINDS, NETWORK_KINDS, mount_under
from sot_tui.comm.proof import UNREAD

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.comm.mounts import Mount

PROC_LOCKS = "/proc/locks"
"""The kernel's list of file locks (proc_locks(5))."""
FIRST_PID_NAMESPACE = "4026531836"
"""The inode of the pid namespace that the kernel starts with; a process in it sees every holder of this machine."""

_ENDING = ".lock"
_FIELDS = 7
"""After its number and the mark of a waiter: kind, mode, access, pid, file, and the two ends of what is locked."""
_WAITS = "->"


class Listed(NamedTuple):
    """One line of /proc/locks."""

    kind: str
    """`FLOCK` for flock(2); others are `POSIX`, `OFDLCK`, `LEASE`."""
    writes: bool
    """Whether it keeps everybody else out."""
    pid: int
    """Who took it; -1 for a kind that belongs to no process."""
    device: tuple[int, int]
    """Major and minor number of the device the file lies on."""
    inode: int
    waits: bool
    """Whether it is not held but waited for."""


class Process(NamedTuple):
    """A process that holds or waits."""

    pid: int
    writes: bool
    """Whether it holds, or wants, the lock as a writer does; else as one of several readers."""
    start: str = ""
    """Its start as the proof of death has it; empty when the process is gone or it could not be read."""
    name: str = ""
    """Its program, as the kernel has it. Foreign text."""
    gone: bool = False
    """Whether it has ended: then a process that it started holds the lock on."""


class Hold(NamedTuple):
    """One inbox lock that is held."""

    handle: str
    holders: tuple[Process, ...]
    """One writer, or any number of readers; empty when only a waiter was seen."""
    waiters: tuple[Process, ...] = ()
    first_mono: float = 0.0
    """The monotonic moment at which it was first seen held so; it may have been held for longer."""


class InboxLocks(NamedTuple):
    """What a look at the inbox locks found."""

    held: tuple[Hold, ...] = ()
    """By handle. An inbox that is not named is free, as far as this box can see."""
    unknown: str = ""
    """Why nothing is known at all; empty when the list was read."""
    unseen: str = ""
    """Whose locks this box cannot see; empty when it sees every one."""
    mono: float = 0.0
    """The monotonic moment of the look."""

    def seen_s(self, hold: Hold) -> float:
        """Return for how many seconds a lock has been seen held so."""
        return max(0.0, self.mono - hold.first_mono)


def parse(text: bytes) -> tuple[Listed, ...]:
    """Return the locks that /proc/locks lists, in its order; a line of another shape is left out."""
    found = []
    for line in text.decode("ascii", "replace").split("\n"):
        fields = line.split()[1:]
        waits = fields[:1] == [_WAITS]
        if waits:
            fields = fields[1:]
        if len(fields) < _FIELDS:
            continue
        kind, _, access, pid, file = fields[:5]
        place = _place(file)
        if place is not None and access in {"READ", "WRITE"} and pid.removeprefix("-").isdecimal():
            found.append(Listed(kind, access == "WRITE", int(pid), (place[0], place[1]), place[2], waits))
    return tuple(found)


def _place(file: str) -> tuple[int, int, int] | None:
    """Return the device and inode of `fe:00:1234`; the device is hexadecimal, the inode is not."""
    parts = file.split(":")
    if len(parts) != 3:
        return None  # the kernel says `<none>:0` of a file that it cannot name
    try:
        return int(parts[0], 16), int(parts[1], 16), int(parts[2])
    except ValueError:
        return None


def look(home: Home) -> InboxLocks:
    """Look at who holds the inbox locks of a comm home, and who waits for them."""
    mono = home.clock.monotonic()
    if sys.platform != "linux":
        return InboxLocks(unknown="this system does not tell who holds a file lock", mono=mono)
    try:
        listed = [line for line in parse(home.disk.read(PROC_LOCKS)) if line.kind == "FLOCK"]
        mount = mount_under(home, home.inboxes)
        held = _held(home, listed, mount, mono) if listed else ()
    except OSError as error:
        return InboxLocks(unknown=f"the kernel's list could not be read: {error.strerror}", mono=mono)
    return InboxLocks(held, unseen=_unseen(home, mount), mono=mono)


def since(was: InboxLocks, seen: InboxLocks) -> InboxLocks:
    """Return a look with what an earlier one knew: since when each lock has been seen held by the very same."""
    before = {hold.handle: hold for hold in was.held}
    told = []
    for hold in seen.held:
        same = before.get(hold.handle)
        known = same is not None and same.holders == hold.holders
        told.append(hold._replace(first_mono=same.first_mono) if same is not None and known else hold)
    return seen._replace(held=tuple(told))


def who(process: Process) -> str:
    """Return who a process is, in words."""
    if process.pid <= 0:
        return "a process that the kernel does not name"
    name = f" {process.name}" if process.name else ""
    return f"pid {process.pid}{name}"


def verdict(hold: Hold) -> str:
    """Return what is known about the holders, in words."""
    if not hold.holders:
        return "its holder is not shown; somebody waits for it"
    ended = [str(process.pid) for process in hold.holders if process.gone]
    if ended:
        return f"pid {', '.join(ended)} has ended; a process that it started holds the lock on"
    return "alive: the kernel lets the lock go by itself when its holder ends"


def next_step(hold: Hold) -> str:
    """Return what a person can do about a lock that stays held."""
    pids = " ".join(str(process.pid) for process in hold.holders if process.pid > 0 and not process.gone)
    if not pids:
        return "wait; nothing has to be cleared by hand"
    return f"wait; if it hangs, end it (kill {pids}): nothing has to be cleared by hand"


def _held(home: Home, listed: list[Listed], mount: Mount | None, mono: float) -> tuple[Hold, ...]:
    by_file: dict[tuple[tuple[int, int], int], list[Listed]] = {}
    for line in listed:
        by_file.setdefault((line.device, line.inode), []).append(line)
    found = []
    for name in sorted(_names(home)):
        lines = _of_file(home, f"{home.inboxes}/{name}", mount, by_file)
        if lines:
            holders = tuple(_process(home, line) for line in lines if not line.waits)
            waiters = tuple(_process(home, line) for line in lines if line.waits)
            found.append(Hold(name.removesuffix(_ENDING), holders, waiters, mono))
    return tuple(found)


def _names(home: Home) -> list[str]:
    try:
        return [name for name in home.disk.listdir(home.inboxes) if name.endswith(_ENDING)]
    except FileNotFoundError:
        return []


def _of_file(
    home: Home, path: str, mount: Mount | None, by_file: dict[tuple[tuple[int, int], int], list[Listed]]
) -> list[Listed]:
    try:
        status = home.disk.stat(path)
    except FileNotFoundError:
        return []
    devices = {(os.major(status.st_dev), os.minor(status.st_dev))}
    if mount is not None:
        major, _, minor = mount.device.partition(":")
        if major.isdecimal() and minor.isdecimal():
            devices.add((int(major), int(minor)))
    return [line for device in devices for line in by_file.get((device, status.st_ino), [])]


def _process(home: Home, line: Listed) -> Process:
    if line.pid <= 0:
        return Process(line.pid, line.writes)
    start = home.procs.start_of(line.pid)
    if start is None:
        return Process(line.pid, line.writes, gone=True)
    try:
        name = home.disk.read(f"/proc/{line.pid}/comm").decode("utf-8", "replace").rstrip("\n")
    except OSError:
        name = ""
    return Process(line.pid, line.writes, "" if start == UNREAD else start, name)


def _unseen(home: Home, mount: Mount | None) -> str:
    """Return whose locks are not in this kernel's list, or are not shown to this process."""
    told = []
    if mount is None:
        told.append("whether other machines use this folder is not known, and their locks are not shown")
    elif mount.kind in NETWORK_KINDS:
        told.append(f"this folder is on {mount.kind}: a lock that another machine holds is not shown")
    elif mount.kind not in FRESH_KINDS:
        told.append(f"this folder is on {mount.kind}: a lock that is held from elsewhere is not shown")
    if home.procs.pid_namespace() != FIRST_PID_NAMESPACE:
        told.append("a holder outside this pid namespace (a container) is not shown")
    return "; ".join(told)
