"""The mount a folder lies on, and what it promises: a fresh read, and one lock manager.

Contract, Proof of death: a box proves a death only where the comm home's mount, the one on top where mounts are
stacked, makes a read fresh. Contract, Sending: a lock excludes only writers that share one lock manager, so the hub of
the folder records its own, and every route compares line 1 of that record. One parser of mountinfo serves both
questions. What cannot be read, or is not listed, promises nothing: no rule here is true by default, and a record that
another machine wrote is never replaced.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.proof import UNREAD

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

FRESH_KINDS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs"})
"""File systems on which a read is always fresh (contract, Proof of death)."""
NFS_KINDS = frozenset({"nfs", "nfs4"})
"""File systems on which a read is fresh unless the mount has `nocto` (contract, Proof of death)."""

NETWORK_KINDS = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "lustre", "fuse.sshfs", "virtiofs"})
"""File systems that other machines share; what belongs to one box alone must not lie there."""

NFS_MANAGER = "nfs4 "
"""How the identity of an NFSv4 lock manager begins; the export follows (contract, Sending)."""
NO_MANAGER = "none"
"""The identity of a box without a machine id: it never matches a record (contract, Sending)."""

_RECORD_LIMIT = 4096
"""Bytes of `inbox-lock-manager` that are read; a line of mountinfo, which names an export, has no more."""
_OWN_DISK_KINDS = FRESH_KINDS - {"tmpfs"}

_ESCAPE = re.compile(rb"\\([0-7]{3})")


class Mount(NamedTuple):
    """One line of mountinfo, its escapes decoded."""

    id: str
    """The mount's number."""
    parent: str
    """The number of the mount it lies on; of the root mount, one that is not listed or its own."""
    point: str
    """Where it is mounted."""
    kind: str
    """The file system's type."""
    source: str
    """What is mounted: a device, or `server:/export`."""
    options: frozenset[str]
    """The options of the mount and of its file system together."""
    device: str = ""
    """The device's number as the kernel itself has it, `major:minor`; on some file systems stat tells another one."""


def parse_mountinfo(text: bytes) -> tuple[Mount, ...]:
    """Return the mounts that mountinfo lists, in its order; a line of another shape is left out."""
    mounts = []
    for line in text.split(b"\n"):
        head, found, tail = line.partition(b" - ")
        fields, rest = head.split(b" "), tail.split(b" ")
        if not found or len(fields) < 6 or len(rest) < 3:
            continue
        options = _text(fields[5]).split(",") + _text(rest[2]).split(",")
        mounts.append(
            Mount(
                _text(fields[0]),
                _text(fields[1]),
                _text(fields[4]),
                _text(rest[0]),
                _text(rest[1]),
                frozenset(options),
                _text(fields[2]),
            )
        )
    return tuple(mounts)


def mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """Return the mount that a real, absolute path lies on, or None when that cannot be told.

    The path is walked as the kernel walks it: from the root mount, at each step into what is mounted on the mount one
    stands on. So the one on top wins where mounts are stacked, and a mount hidden beneath a later one is never taken.
    """
    listed = {mount.id for mount in mounts}
    roots = [
        mount for mount in mounts if mount.point == "/" and (mount.parent not in listed or mount.parent == mount.id)
    ]
    if not roots:
        return None
    here, below = roots[-1], [mount for mount in mounts if mount.parent != mount.id and _holds(mount.point, path)]
    for _ in below:  # each step goes one mount up; a circle, which no kernel lists, ends with the steps
        upon = [mount for mount in below if mount.parent == here.id]
        if not upon:
            break
        nearest = min(len(mount.point) for mount in upon)
        here = [mount for mount in upon if len(mount.point) == nearest][-1]
    return here


def home_mount(home: Home) -> Mount | None:
    """Return the mount the comm home lies on (Linux), or None when it cannot be read or told."""
    return mount_under(home, home.path)


def mount_under(home: Home, path: str) -> Mount | None:
    """Return the mount that a path lies on (Linux), or None when it cannot be read or told.

    Every filing asks anew. While the mounts are the same and the path leads to the same folder, so is the answer, and
    the path is not walked again: the folder's file system is the one whose lock and reads are asked about.
    """
    disk = home.disk
    try:
        table = disk.mount_table()
        with suppress(FileNotFoundError):
            folder = disk.target_stat(path)
            known = _known.get(path)
            if known and known[0] is table and known[1:3] == (folder.st_dev, folder.st_ino):
                return known[3]
            mount = mount_of(disk.real_path(path), parse_mountinfo(table))
            if len(_known) >= _KNOWN_LIMIT:
                _known.clear()
            _known[path] = (table, folder.st_dev, folder.st_ino, mount)
            return mount
        return mount_of(disk.real_path(path), parse_mountinfo(table))
    except OSError:
        return None


_KNOWN_LIMIT = 8
"""Folders whose mount is kept in mind; a process asks about two or three."""
_known: dict[str, tuple[bytes, int, int, Mount | None]] = {}


def proves_fresh_reads(home: Home) -> bool:
    """Tell whether the comm home's mount makes a read fresh, so that a death can be proved on it."""
    if sys.platform != "linux":
        try:
            return home.disk.is_on_local_mount(home.path)
        except OSError:
            return False
    mount = home_mount(home)
    return mount is not None and is_fresh(mount)


def is_fresh(mount: Mount) -> bool:
    """Tell whether a mount is of the list on which a read is fresh; nfs and nfs4 only without `nocto`."""
    return mount.kind in FRESH_KINDS or (mount.kind in NFS_KINDS and "nocto" not in mount.options)


class LockRecord(NamedTuple):
    """What `inbox-lock-manager` says."""

    manager: str
    """Line 1: the lock manager of the folder's hub."""
    writer: str
    """Line 2: the id of the machine that wrote it; "" for an unknown writer."""


def lock_identity(home: Home) -> str:
    """Return which lock manager a lock on an inbox is held by: `nfs4 <export>`, `local <id>`, `none@<id>` or `none`."""
    machine = home.procs.machine_id()
    if sys.platform == "linux":
        mount = mount_under(home, home.inboxes)
        if mount is not None and mount.kind == "nfs4" and locks_at_server(mount):
            return NFS_MANAGER + mount.source
        if mount is not None and mount.kind in _OWN_DISK_KINDS and machine != UNREAD:
            return f"local {machine}"
    return NO_MANAGER if machine == UNREAD else f"{NO_MANAGER}@{machine}"


def lock_record(home: Home) -> LockRecord | None:
    """Return the hub's record, or None when there is none; raises OSError when it cannot be read."""
    try:
        lines = os.fsdecode(home.disk.read_up_to(home.lock_manager, _RECORD_LIMIT)).split("\n")
    except FileNotFoundError:
        return None
    return LockRecord(lines[0], lines[1] if len(lines) > 1 else "")


def appends_here(home: Home, *, daemon: bool = False) -> str | None:
    """Return the lock manager under which this process may append to an inbox itself, or None when it may not.

    Contract, Sending: line 1 names the identity of this box's own mount, never bare `none`; a process that is not the
    daemon appends on Linux only. A record that cannot be read matches nothing.
    """
    if not daemon and sys.platform != "linux":
        return None
    try:
        record = lock_record(home)
    except OSError:
        return None
    own = lock_identity(home)
    return own if record is not None and record.manager == own != NO_MANAGER else None


class Recorded(NamedTuple):
    """What came of a hub's look at the record when it started; also the answer of a guest, which only looks."""

    manager: str
    """The identity of this box's own mount."""
    fault: str
    """One sentence for the log and the screen when mail cannot be filed here as things stand; else ""."""


def record_lock_manager(home: Home, *, named_hub: bool) -> Recorded:
    """Write this hub's lock manager into `inbox-lock-manager` where the rule lets it; the engine calls it at its start.

    `named_hub`: there is no topology, or it names this box its hub. A daemon whose comm folder is on its own disk is a
    hub as well. Every other one is a guest and writes nothing (contract, Sending). The inbox folder exists.
    """
    own = lock_identity(home)
    if not (named_hub or is_on_own_disk(home)):
        return Recorded(own, "")
    if own == NO_MANAGER:
        return Recorded(own, no_machine_id(home))
    try:
        return Recorded(own, _settle_record(home, own))
    except OSError as error:
        return Recorded(own, f"the inbox lock record at {home.lock_manager} could not be written: {error.strerror}")


def is_on_own_disk(home: Home) -> bool:
    """Tell whether the comm home lies on this machine's own disk; what cannot be told does not."""
    if lock_identity(home).startswith("local "):
        return True
    try:
        return home.disk.is_on_local_mount(home.path)
    except OSError:
        return False


def no_machine_id(home: Home) -> str:
    """Return why a hub without a machine id files nothing."""
    return (
        f"this hub has no machine id, so it cannot own the inbox lock record at {home.lock_manager}: "
        "give this machine a machine id (/etc/machine-id on Linux), then restart the daemon"
    )


def another_manager(home: Home, record: LockRecord, own: str) -> str:
    """Return why a hub files nothing under a record that another machine wrote."""
    writer = f"machine {record.writer}" if record.writer else "an unknown machine"
    return (
        f"the inbox lock record names {record.manager}, written by {writer}, a different lock manager from this "
        f"hub's {own}: stop every daemon on this comm folder, delete {home.lock_manager}, then start the hub"
    )


def not_this_manager(home: Home, record: LockRecord | None, own: str) -> str:
    """Return why a hub files nothing under the record as it is (daemon wire 7.1, step 4); `own` differs from it."""
    if own == NO_MANAGER:
        return no_machine_id(home)
    if record is None:
        return f"no inbox lock record at {home.lock_manager}: restart this daemon to write it"
    if record.writer and record.writer == _writer(home):
        return (
            f"this hub's inbox lock is now {own} but its record says {record.manager}: restart this daemon to "
            "re-record it after the remount"
        )
    return another_manager(home, record, own)


def _settle_record(home: Home, own: str) -> str:
    """Create, leave or replace the hub's record; return the fault of one that has to be left to a person."""
    for _ in range(2):  # a second look when another daemon made the record between look and link
        record = lock_record(home)
        if record is None:
            if _write_record(home, own, replace=False):
                return ""
        elif record.manager == own:
            return ""
        elif record.writer and record.writer == _writer(home):
            _write_record(home, own, replace=True)  # this hub's own, from before a remount
            return ""
        else:
            return another_manager(home, record, own)
    return f"the inbox lock record at {home.lock_manager} comes and goes; restart this daemon"


def _write_record(home: Home, own: str, *, replace: bool) -> bool:
    """Put the record in its place, flushed; False when `replace` was not asked for and another one was first."""
    disk = home.disk
    draft = f"{home.path}/.inbox-lock-manager.{home.procs.machine_id()}.{home.procs.pid()}.{home.procs.serial()}"
    try:
        disk.put(draft, os.fsencode("".join(f"{line}\n" for line in (own, _writer(home)) if line)))
        if replace:
            disk.rename(draft, home.lock_manager)
            return True
        disk.link(draft, home.lock_manager)
    except FileExistsError:
        return False
    finally:
        with suppress(OSError):  # renamed away, or litter that harms nobody
            disk.unlink(draft)
    return True


def _writer(home: Home) -> str:
    """Return this machine's id for line 2; without one the record has an unknown writer, who equals nobody."""
    machine = home.procs.machine_id()
    return "" if machine == UNREAD else machine


def locks_at_server(mount: Mount) -> bool:
    """Tell whether a lock on this mount excludes other boxes: NFSv4 alone, and only with `local_lock=none`."""
    return "local_lock=none" in mount.options and any(option.startswith("vers=4") for option in mount.options)


def _holds(point: str, path: str) -> bool:
    return point in {"/", path} or path.startswith(point + "/")


def _text(field: bytes) -> str:
    """Return a field with its octal escapes (blank, tab, newline, backslash) decoded."""
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), field))
