"""The mount a folder lies on, and what it promises: a fresh read, and one lock manager.

Contract, Proof of death: a box proves a death only where the comm home's mount, the one on top where mounts are
stacked, makes a read fresh. One parser of /proc/self/mountinfo serves that question and the inbox lock's. What cannot
be read, or is not listed, promises nothing: no rule here is true by default.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

MOUNTINFO = "/proc/self/mountinfo"
"""Linux: the mounts this process sees, one a line (proc_pid_mountinfo(5))."""

FRESH_KINDS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs"})
"""File systems on which a read is always fresh (contract, Proof of death)."""
NFS_KINDS = frozenset({"nfs", "nfs4"})
"""File systems on which a read is fresh unless the mount has `nocto` (contract, Proof of death)."""

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


def parse_mountinfo(text: bytes) -> list[Mount]:
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
                _text(fields[0]), _text(fields[1]), _text(fields[4]), _text(rest[0]), _text(rest[1]), frozenset(options)
            )
        )
    return mounts


def mount_of(path: str, mounts: list[Mount]) -> Mount | None:
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
    try:
        return mount_of(home.disk.real_path(home.path), parse_mountinfo(home.disk.read(MOUNTINFO)))
    except OSError:
        return None


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


def _holds(point: str, path: str) -> bool:
    return point in {"/", path} or path.startswith(point + "/")


def _text(field: bytes) -> str:
    """Return a field with its octal escapes (blank, tab, newline, backslash) decoded."""
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8) & 0xFF]), field))
