"""The lock that says that an engine runs for this person on this box: one per state root (daemon wire 1.2).

A kernel lock decides, never a process id: it goes with the process that holds it, however that ends. The file also says
who took it, for the sentence a second dashboard shows; nothing else goes by that. On a mount that other machines share
a kernel lock says nothing certain, so there no engine runs at all, and a person is told what to change.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from sot_tui.comm import paths
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.mounts import NETWORK_KINDS, mount_under

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home

_EXCLUSIVE_AT_ONCE = 2 | 4
"""flock(2)'s operation, the same on Linux and macOS; the module fcntl is loaded by the seam."""
_SAID_BYTES = 4096


class Held(NamedTuple):
    """The lock is this process's until `release`, or until it ends."""

    descriptor: int


class HeldBy(NamedTuple):
    """Another process runs the engine."""

    pid: str
    """Its process id, as it wrote it; empty when it is not known."""
    home: str = ""
    """The comm home it works on; empty when it is not known. Foreign text."""
    what: str = ""
    """What it is, `dashboard` or `daemon`; empty when it is not known. Foreign text."""


class NotHere(NamedTuple):
    """No engine can run on this state root."""

    why: str
    """Why, and what a person can do."""


def take(home: Home, environ: Mapping[str, str], what: str = "dashboard") -> Held | HeldBy | NotHere:
    """Take the lock if it is free, as `what`; there is one try, which waits for nobody."""
    path = paths.daemon_lock(environ)
    kind = _network_kind(home, paths.state_root(environ))
    if kind:
        return NotHere(
            f"{paths.state_root(environ)} is on {kind}, where no lock shows whether another dashboard runs; "
            "set XDG_STATE_HOME to a folder on this machine's own disk"
        )
    try:
        paths.make_state_root(home.disk, environ)
        descriptor = home.disk.open(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        return NotHere(f"{path} could not be opened: {error.strerror}")
    try:
        home.disk.lock(descriptor, _EXCLUSIVE_AT_ONCE)
    except BlockingIOError:
        said = _said(home, descriptor)
        _close(home, descriptor)
        return said
    except OSError as error:
        _close(home, descriptor)
        return NotHere(f"{path} could not be locked: {error.strerror}")
    with suppress(OSError):  # the lock counts, whatever the file says
        home.disk.truncate(descriptor, 0)
        home.disk.write(descriptor, os.fsencode(f"{home.procs.pid()}\n{home.path}\n{what}\n"))
    return Held(descriptor)


def release(home: Home, held: Held) -> None:
    """Let the lock go."""
    _close(home, held.descriptor)


def still_counts(home: Home, environ: Mapping[str, str], held: Held) -> bool:
    """Tell whether the lock keeps others out: not when its file is gone, or another one stands at its path."""
    try:
        ours, there = home.disk.open_stat(held.descriptor), home.disk.stat(paths.daemon_lock(environ))
    except FileNotFoundError:
        return False
    except OSError:
        return True  # what cannot be looked at is not known to be gone
    return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)


def last_holder(home: Home, environ: Mapping[str, str]) -> HeldBy:
    """Return who took the lock last, by its own word; whether it still has it is not asked."""
    try:
        descriptor = home.disk.open(paths.daemon_lock(environ), os.O_RDONLY)
    except OSError:
        return HeldBy("", "")
    try:
        return _said(home, descriptor)
    finally:
        _close(home, descriptor)


def _said(home: Home, descriptor: int) -> HeldBy:
    try:
        lines = os.fsdecode(home.disk.read_at(descriptor, _SAID_BYTES, 0)).split("\n")
    except OSError:
        return HeldBy("", "")
    pid = lines[0] if lines[0].isdecimal() else ""
    said = lines[1:3] if pid else []
    return HeldBy(pid, *said)  # a daemon that is not ours writes what it likes


def _close(home: Home, descriptor: int) -> None:
    with suppress(OSError):  # a descriptor is gone after its close, whatever the close said
        home.disk.close(descriptor)


def _network_kind(home: Home, root: str) -> str:
    """Return what the state root lies on when other machines share it, else nothing."""
    if sys.platform == "darwin":
        try:
            return "" if home.disk.is_on_local_mount(_existing(home, root)) else "a network mount"
        except OSError:
            return ""  # what cannot be opened is told by the open
    mount = mount_under(home, root)
    return mount.kind if mount is not None and mount.kind in NETWORK_KINDS else ""


def _existing(home: Home, path: str) -> str:
    """Return the nearest folder upwards that is there."""
    while path != "/":
        try:
            home.disk.target_stat(path)
        except FileNotFoundError:
            path = os.path.dirname(path)
        else:
            break
    return path
