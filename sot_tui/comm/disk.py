"""The disk, as one object that is passed in.

Every step that another process could see, or that a crash could cut, is one method of `Disk`: a test fails or crashes
after any single one of them. Nothing here decides anything; each method raises the `OSError` the kernel gave. Files are
made 0600 and folders 0700 by every writer (contract, Layout). Descriptors are close-on-exec (Python's default). What
lies at a path may be anybody's doing, so no open and no read here waits for another process or goes on for ever.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress

FILE_MODE = 0o600
"""Mode of every file of the comm home (contract, Layout)."""
FOLDER_MODE = 0o700
"""Mode of every folder of the comm home (contract, Layout)."""

MOUNTINFO = "/proc/self/mountinfo"
"""Linux: the mounts this process sees, one a line (proc_pid_mountinfo(5))."""

_CHUNK = 1 << 20


class NotRegular(OSError):
    """There is something at the path, and it is no regular file: a pipe, a socket, a device.

    It is caught where any OSError is, as what could not be read; it is never an absent file.
    """

    def __init__(self, path: str) -> None:
        super().__init__(errno.ENXIO, "it is no regular file", path)


class Disk:
    """The real disk. A subclass in the tests counts, fails or crashes a step."""

    # -- reading: no step changes anything ------------------------------------------------------------------------

    def read(self, path: str) -> bytes:
        """Return all bytes of the file at `path`."""
        descriptor = self.open(path, os.O_RDONLY)
        try:
            return self.read_all(descriptor)
        finally:
            self.close(descriptor)

    def read_up_to(self, path: str, limit: int) -> bytes:
        """Return all bytes of the file at `path`; one of more than `limit` could not be read (EFBIG)."""
        descriptor = self.open(path, os.O_RDONLY)
        try:
            return self.read_all(descriptor, limit)
        finally:
            self.close(descriptor)

    def open(self, path: str, flags: int) -> int:
        """Open the regular file at `path`; one that `O_CREAT` makes is 0600 whatever the umask adds.

        Never blocks: a pipe, a socket or a device is NotRegular, a folder IsADirectoryError. A link that leads to a
        regular file is as good as one, unless the flags refuse links; then it is NotRegular too.
        """
        try:
            descriptor = self._open_at_once(path, flags | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError as error:
            # A socket; a pipe that nobody reads; a link that must not be followed.
            if error.errno == errno.ENXIO or (error.errno == errno.ELOOP and flags & os.O_NOFOLLOW):
                raise NotRegular(path) from error
            raise
        if not flags & os.O_EXCL:  # what was made just now is a file
            try:
                mode = os.fstat(descriptor).st_mode
                if not stat.S_ISREG(mode):
                    is_folder = stat.S_ISDIR(mode)
                    raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), path) if is_folder else NotRegular(path)
            except OSError:
                os.close(descriptor)
                raise
        return descriptor

    def _open_at_once(self, path: str, flags: int) -> int:
        try:
            return os.open(path, flags | os.O_NONBLOCK, FILE_MODE)
        except BlockingIOError:
            # A lease, as a file server holds one for each client with a delegation: the kernel calls it back, which it
            # bounds (/proc/sys/fs/lease-break-time), and only an open that waits gets the file.
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise
            return os.open(path, flags, FILE_MODE)

    def read_all(self, descriptor: int, limit: int | None = None) -> bytes:
        """Return the bytes from the descriptor's position to the end; more than `limit` of them are an EFBIG."""
        parts: list[bytes] = []
        left = _CHUNK if limit is None else limit + 1
        while part := os.read(descriptor, min(left, _CHUNK)):
            parts.append(part)
            if limit is not None:
                left -= len(part)
                if left <= 0:
                    raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_at(self, descriptor: int, count: int, offset: int) -> bytes:
        """Return up to `count` bytes at `offset`."""
        return os.pread(descriptor, count, offset)

    def size(self, descriptor: int) -> int:
        """Return the file's length by a seek to its end, never from a cached size (contract, Delivery)."""
        return os.lseek(descriptor, 0, os.SEEK_END)

    def stat(self, path: str) -> os.stat_result:
        """Return the status of `path`, not following a link."""
        return os.lstat(path)

    def target_stat(self, path: str) -> os.stat_result:
        """Return the status of what `path` leads to, following links."""
        return os.stat(path)

    def exists(self, path: str) -> bool:
        """Tell whether there is something at `path`, following links."""
        try:
            self.target_stat(path)
        except FileNotFoundError:
            return False
        return True

    def real_path(self, path: str) -> str:
        """Return `path` without links; what does not exist stays as written."""
        return os.path.realpath(path)

    def is_on_local_mount(self, path: str) -> bool:
        """Tell whether macOS counts the mount of `path` as the machine's own disk; False on other systems."""
        if sys.platform == "darwin":
            from sot_tui.comm import darwin  # noqa: PLC0415  (brings ctypes, which no other system needs)

            return darwin.is_on_local_mount(path)
        return False

    def space(self, path: str) -> os.statvfs_result:
        """Return how much room there is on the file system of `path`."""
        return os.statvfs(path)

    def mount_table(self) -> bytes:
        """Return Linux's list of mounts, as it stands now; its bytes are read again only after a change."""
        changes = _MountWatch.changes()
        known = self._mount_table
        if known is None or known[0] != changes:
            known = self._mount_table = (changes, self.read(MOUNTINFO))
        return known[1]

    _mount_table: tuple[int, bytes] | None = None

    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder, in no order."""
        return os.listdir(path)

    def revalidate(self, folder: str) -> None:
        """Open and close a folder, which makes a network file system look at it afresh."""
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def close(self, descriptor: int) -> None:
        """Close a descriptor."""
        os.close(descriptor)

    # -- writing: each step may be the last one --------------------------------------------------------------------

    def write(self, descriptor: int, data: bytes) -> None:
        """Write all of `data`."""
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def flush(self, descriptor: int) -> None:
        """Flush data and what is needed to find it to the device (on macOS past the drive's cache too)."""
        if sys.platform == "darwin":
            import fcntl  # noqa: PLC0415  (elsewhere the inbox lock alone needs it)

            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(descriptor)

    def flush_folder(self, path: str) -> None:
        """Flush a folder, so that the name of a file that was made in it is kept."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def put(self, draft: str, data: bytes) -> None:
        """Write a whole new file and flush it, so that what is then renamed or linked into place is never in part.

        A draft bears its writer's number: one that lies there already is of a dead process that had the same.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            descriptor = self.open(draft, flags)
        except FileExistsError:
            self.unlink(draft)
            descriptor = self.open(draft, flags)
        try:
            self.write(descriptor, data)
            self.flush(descriptor)
        finally:
            self.close(descriptor)

    def replace(self, draft: str, path: str, data: bytes, mode: int | None = None) -> None:
        """Put a whole, flushed file in the place of another by way of `draft`: a reader finds the one or the other."""
        try:
            self.put(draft, data)
            if mode is not None:
                self.chmod(draft, mode)
            self.rename(draft, path)
        except OSError:
            with suppress(OSError):  # litter that nobody reads
                self.unlink(draft)
            raise

    def truncate(self, descriptor: int, length: int) -> None:
        """Cut the file to `length` bytes."""
        os.ftruncate(descriptor, length)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name; fails on an existing name and never replaces one."""
        os.link(source, target, follow_symlinks=False)

    def rename(self, source: str, target: str) -> None:
        """Put `source` in the place of `target` in one step."""
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        """Remove a name."""
        os.unlink(path)

    def mkdir(self, path: str) -> None:
        """Make a folder, 0700."""
        os.mkdir(path, FOLDER_MODE)

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        os.rmdir(path)

    def chmod(self, path: str, mode: int) -> None:
        """Set the mode of a file or folder."""
        os.chmod(path, mode)

    def open_stat(self, descriptor: int) -> os.stat_result:
        """Return the status of an open file, wherever its name is by now."""
        return os.fstat(descriptor)

    def lock(self, descriptor: int, operation: int) -> None:
        """Apply flock(2) to a descriptor; `operation` as in the module fcntl."""
        import fcntl  # noqa: PLC0415  (only what touches an inbox needs it)

        fcntl.flock(descriptor, operation)


class _MountWatch:
    """How often the mounts of this process have changed since it first asked.

    An open mountinfo polls as "priority" once after each change. To ask costs a hundredth of reading it, which every
    filing of a daemon would pay for anew. A fork shares the descriptor, so a child opens its own.
    """

    _pid = 0
    _descriptor = -1
    _count = 0

    @classmethod
    def changes(cls) -> int:
        """Return a number that is another one after each change; raises OSError where there is no such file."""
        if cls._pid != os.getpid():
            cls._descriptor = os.open(MOUNTINFO, os.O_RDONLY | os.O_CLOEXEC)
            cls._pid = os.getpid()
            cls._count += 1
            return cls._count
        import select  # noqa: PLC0415  (a verb asks once)

        poll = select.poll()
        poll.register(cls._descriptor, select.POLLPRI)
        if poll.poll(0):
            cls._count += 1
        return cls._count
