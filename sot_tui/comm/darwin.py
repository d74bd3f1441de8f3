"""What macOS knows and Python does not say: a mount's flags, the machine's and the boot's id, a process's start.

Contract, The registry lock: on macOS a holder is known by "the host UUID, the boot session UUID, darwin, the pid and
its start in whole seconds since the epoch", and a death is proved only on the Mac's own disk (MNT_LOCAL). The system
calls stand in one place, each beside a decoder of plain bytes. What a call refuses is unread, never a guess.
"""

from __future__ import annotations

import errno
import os
import struct

from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

MNT_LOCAL = 0x1000
"""Flag of a mount that is stored on the machine itself (sys/mount.h)."""

_STATFS_BYTES = 4096
"""Room for a struct statfs (2168 bytes with 64-bit inodes)."""
_STATFS_FLAGS_AT = 64
"""Offset of f_flags in a struct statfs with 64-bit inodes (sys/mount.h)."""
_KINFO_BYTES = 4096
"""Room for a struct kinfo_proc (648 bytes)."""
_CTL_KERN, _KERN_PROC, _KERN_PROC_PID = 1, 14, 1
"""The name of one process in the kernel's tables (sys/sysctl.h)."""


def is_on_local_mount(path: str) -> bool:
    """Tell whether `path` lies on a mount with MNT_LOCAL; raises OSError when that cannot be asked."""
    import ctypes  # noqa: PLC0415  (this module is imported on macOS alone, and not by every command)

    library = ctypes.CDLL(None, use_errno=True)
    # Where two forms exist (x86-64) the plain name has 32-bit inodes and another layout.
    statfs = getattr(library, "statfs$INODE64", None) or library.statfs
    room = ctypes.create_string_buffer(_STATFS_BYTES)
    if statfs(os.fsencode(path), room) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return bool(flags_of_statfs(room.raw) & MNT_LOCAL)


def flags_of_statfs(data: bytes) -> int:
    """Return f_flags of a struct statfs."""
    (flags,) = struct.unpack_from("=I", data, _STATFS_FLAGS_AT)
    return int(flags)


def host_uuid() -> str:
    """Return the machine's UUID in the form that `ioreg` prints; raises OSError when it cannot be read."""
    import ctypes  # noqa: PLC0415  (as above)

    room = ctypes.create_string_buffer(16)
    wait = (ctypes.c_long * 2)(1, 0)  # a struct timespec: at most a second
    if ctypes.CDLL(None, use_errno=True).gethostuuid(room, ctypes.byref(wait)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return uuid_text(room.raw)


def uuid_text(data: bytes) -> str:
    """Return sixteen bytes as a UUID in capitals."""
    digits = data.hex().upper()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def boot_session() -> str:
    """Return the UUID of the running boot; raises OSError when it cannot be read."""
    return _sysctl(b"kern.bootsessionuuid").split(b"\0", 1)[0].decode("ascii", "replace")


def start_of(pid: int) -> str | None:
    """Return a process's start in whole seconds since the epoch, None when there is no such process.

    Raises OSError when it cannot be read.
    """
    import ctypes  # noqa: PLC0415  (as above)

    name = (ctypes.c_int * 4)(_CTL_KERN, _KERN_PROC, _KERN_PROC_PID, pid)
    room = ctypes.create_string_buffer(_KINFO_BYTES)
    size = ctypes.c_size_t(_KINFO_BYTES)
    library = ctypes.CDLL(None, use_errno=True)
    if library.sysctl(name, 4, room, ctypes.byref(size), None, ctypes.c_size_t(0)) != 0:
        if ctypes.get_errno() == errno.ESRCH:
            return None
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return start_of_kinfo(room.raw[: size.value])


def start_of_kinfo(data: bytes) -> str | None:
    """Return the start in a struct kinfo_proc, whose first field is a timeval; no bytes are no process."""
    if not data:
        return None
    (seconds,) = struct.unpack_from("=q", data, 0)
    return str(seconds)


def _sysctl(name: bytes) -> bytes:
    import ctypes  # noqa: PLC0415  (as above)

    library: Any = ctypes.CDLL(None, use_errno=True)
    room = ctypes.create_string_buffer(256)
    size = ctypes.c_size_t(256)
    if library.sysctlbyname(name, room, ctypes.byref(size), None, ctypes.c_size_t(0)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return room.raw[: size.value]
