"""What quiet hours hold back, in one file that every sender of this state folder shares, so that a restart loses none.

A hook that delivers by itself, `notifyd` and the engine all keep here and none of them tells alone: whoever finds the
hours over sends the one digest, under a lock, and removes what it told only when the topic has taken it. A push that
cannot be kept is sent at once: louder than asked is better than lost.
"""

from __future__ import annotations

import json
import os

from sot_tui.comm import config, jsonline, paths
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import decision_log, quiet
from sot_tui.notify.decide import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.notify.quiet import Hours

NAME = "held-pushes.jsonl"
"""The file's name in the state folder; one JSON object a line."""
FILE_BYTES = 1 << 22
"""Bytes that are kept; further pushes are sent. A night of a big fleet has a hundredth of it."""
WAIT_SECS = 2.0
"""Who keeps a push waits this long for who tells of the others."""
RELEASE_SECS = 15.0
"""Between two looks at whether the hours are over, by whoever serves."""

_WAIT_POLL_SECS = 0.05
_EXCLUSIVE_AT_ONCE = 2 | 4
"""flock(2)'s operation; the module fcntl is loaded by the seam."""


class Released(NamedTuple):
    """What became of a digest."""

    told: int
    """How many pushes it told of."""
    notice: Notice
    delivered: bool


class Gate:
    """The quiet hours of one process; safe to call from any thread."""

    def __init__(self, home: Home, base: str, hours: Hours | None) -> None:
        self._home, self._base, self._hours = home, base, hours
        self.path = f"{base}/{NAME}"

    def hours(self) -> Hours | None:
        """Return the quiet hours as they are now."""
        return self._hours

    def is_quiet(self) -> bool:
        """Tell whether the hours are quiet now."""
        return quiet.is_quiet(self.hours(), quiet.minute_of(self._home.clock.now()))

    def keep(self, notice: Notice) -> bool:
        """Keep a push back if it comes within the quiet hours, and tell whether it was."""
        hours = self.hours()
        if hours is None:
            return False
        if not quiet.holds(hours, notice.urgency, quiet.minute_of(self._home.clock.now())):
            return False
        line = json.dumps(notice._asdict(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        try:
            paths.make_folder(self._home.disk, self._base)
            lock = self._locked(WAIT_SECS)
            if lock is None:
                return False
            try:
                return self._append(line)
            finally:
                self._home.disk.close(lock)
        except OSError:
            return False

    def count(self) -> int | None:
        """Return how many pushes are held back; None when that cannot be read."""
        try:
            return len(self._read())
        except OSError:
            return None

    def release(self, host: str, send: Callable[[Notice], bool]) -> Released | None:
        """Send one digest of what was held back, if the quiet hours are over; None when there is nothing to tell.

        Raises the OSError of a file that cannot be read: what is in it is not known to be nothing.
        """
        if not self._home.disk.exists(self.path) or self.is_quiet():
            return None
        lock = self._locked(0.0)
        if lock is None:
            return None  # another one tells of them now
        try:
            notices = self._read()
            if not notices:
                return None
            told = quiet.digest(notices, host)
            delivered = send(told)
            if delivered:
                self._home.disk.unlink(self.path)
            from sot_tui.notify import own  # noqa: PLC0415  (most hooks that deliver by themselves tell of nothing)

            came = "" if delivered else decision_log.NOT_SENT
            decision_log.append_own(self._home, self._base, own.DIGEST, told, came)
            return Released(len(notices), told, delivered)
        finally:
            self._home.disk.close(lock)

    def _locked(self, wait_secs: float) -> int | None:
        """Return the descriptor of the lock, or None when somebody else has it for longer than that."""
        disk, clock = self._home.disk, self._home.clock
        descriptor = disk.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        end = clock.monotonic() + wait_secs
        try:
            while True:
                try:
                    disk.lock(descriptor, _EXCLUSIVE_AT_ONCE)
                except BlockingIOError:
                    if clock.monotonic() >= end:
                        disk.close(descriptor)
                        return None
                    clock.sleep(_WAIT_POLL_SECS)
                else:
                    return descriptor
        except OSError:
            disk.close(descriptor)
            raise

    def _append(self, line: bytes) -> bool:
        disk = self._home.disk
        descriptor = disk.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            size = disk.size(descriptor)
            if size + len(line) >= FILE_BYTES:
                return False
            torn = size and disk.read_at(descriptor, 1, size - 1) != b"\n"
            disk.write(descriptor, (b"\n" if torn else b"") + line + b"\n")
            disk.flush(descriptor)
        finally:
            disk.close(descriptor)
        return True

    def _read(self) -> list[Notice]:
        try:
            data = self._home.disk.read_up_to(self.path, FILE_BYTES)
        except FileNotFoundError:
            return []
        return [one for line in data.split(b"\n") if (one := _notice(line)) is not None]


class _Settings(Gate):
    """The quiet hours that the person's settings name: a change of them counts at once, in whatever process."""

    def __init__(self, home: Home, environ: Mapping[str, str], base: str) -> None:
        super().__init__(home, base, None)
        self._environ = environ

    def hours(self) -> Hours | None:
        found = config.read(self._environ, self._home.disk)
        # A file that cannot be read, or is half written, names no other hours: those that were known go on.
        if not found.unread:
            self._hours = quiet.hours_of(found)
        return self._hours


def gate_of(home: Home, environ: Mapping[str, str], base: str) -> Gate:
    """Return the quiet hours of the person's settings, which are read anew whenever somebody asks for them."""
    return _Settings(home, environ, base)


def _notice(line: bytes) -> Notice | None:
    """Return a push as it was kept; a line that a dead writer left unfinished is none."""
    try:
        said = jsonline.decode_object(line)
    except jsonline.NotStrict:
        return None
    values = [said.get(name) for name in Notice._fields]
    return Notice(*map(str, values)) if all(isinstance(value, str) for value in values) else None
