"""The inbox lock: the kernel's file lock on `inbox/<handle>.lock`, and the wait for it.

Contract, Delivery: the wait is chosen by lock kind, and bounded. Under `nfs4 ...` the lock is tried without blocking
every 15-25 ms, since the NFSv4 client sleeps past a free lock; under `local ...` or `none@...` a blocked waiter is
woken on release, so a waiter blocks, in a thread of its own that is left behind at the deadline and lets a late grant
go at once. Every descriptor is opened read-write, for the NFS client refuses a shared lock on one without read access.
A lock file is never unlinked.
"""

from __future__ import annotations

import os
from contextlib import suppress
from enum import Enum

from sot_tui.comm.clock import seconds_said
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.mounts import NFS_MANAGER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import ClassVar

    from sot_tui.comm.home import Home

WRITE_WAIT = "SOT_INBOX_LOCK_WAIT_SECS"
"""The variable that bounds a writer's wait, in seconds (contract, Delivery)."""
READ_WAIT = "SOT_INBOX_READ_WAIT_SECS"
"""The variable that bounds a reader's wait, in seconds (contract, Delivery)."""
DEFAULT_WAITS = {WRITE_WAIT: 2.0, READ_WAIT: 3.0}
"""Seconds (contract, Delivery: "bounded at 2 s", "default 3")."""

_TRY_SHORTEST_S, _TRY_SPREAD_S = 0.015, 0.010
"""Between two tries under nfs4: 15-25 ms, jittered (contract, Delivery)."""

_LEFT_BEHIND_LIMIT = 16
"""Threads of this process that may wait for locks nobody waits for any more; past it a waiter only tries."""

_EXCLUSIVE, _SHARED, _AT_ONCE, _UNLOCK = 2, 1, 4, 8
"""flock(2)'s operations, the same on Linux and macOS; the module fcntl is loaded by the seam."""


class Grip(Enum):
    """Which lock: a writer's, or one that readers share."""

    WRITER = _EXCLUSIVE
    READER = _SHARED


class Held(NamedTuple):
    """The lock is held until `release`."""

    descriptor: int


class Busy(NamedTuple):
    """Another process held the lock past the bound."""

    waited_s: float
    """The bound, in seconds."""


class Fault(NamedTuple):
    """The lock could not be taken for another reason than its holder."""

    why: str
    """What failed, without the name of the handle."""


def wait_bound(name: str, environ: Mapping[str, str] = os.environ) -> float:
    """Return the bound in seconds that the variable `name` sets, or its default; raise Misuse for a bad value."""
    return seconds_said(environ, name, DEFAULT_WAITS[name])


def take(home: Home, handle: str, grip: Grip, manager: str, wait_s: float) -> Held | Busy | Fault:
    """Take the inbox lock of `handle` within `wait_s` seconds; there is always one try.

    `manager` is the lock manager's identity, which chooses how to wait. A free lock, the common case, starts no thread.
    """
    deadline = home.clock.monotonic() + wait_s
    must_try = manager.startswith(NFS_MANAGER) or len(_Waiter.left_behind) >= _LEFT_BEHIND_LIMIT
    try:
        held = _take_by_trying(home, handle, grip, deadline if must_try else None)
        if held is None and wait_s > 0 and not must_try:
            held = _Waiter(home, handle, grip).take_by(deadline)
    except _CannotOpenError:
        return Fault("cannot open its lock file")
    except OSError as error:
        return Fault(f"flock {error.errno}: {error.strerror}")
    return held or Busy(wait_s)


def release(home: Home, held: Held) -> None:
    """Let the lock go.

    Unlocked first: a child that is just being started shares the descriptor for a moment, and the lock with it.
    """
    with suppress(OSError):  # the close lets it go too
        home.disk.lock(held.descriptor, _UNLOCK)
    with suppress(OSError):  # a descriptor is gone after its close, whatever the close said
        home.disk.close(held.descriptor)


class _CannotOpenError(Exception):
    """The lock file could not be opened."""


def _open(home: Home, handle: str) -> int:
    try:
        return home.disk.open(home.inbox_lock(handle), os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise _CannotOpenError from error


def _take_by_trying(home: Home, handle: str, grip: Grip, deadline: float | None) -> Held | None:
    """Try without blocking, once, or again and again until `deadline`; raise OSError for any other fault."""
    descriptor = _open(home, handle)
    taken = False
    try:
        while True:
            try:
                home.disk.lock(descriptor, grip.value | _AT_ONCE)
            except BlockingIOError:
                left = 0.0 if deadline is None else deadline - home.clock.monotonic()
                if left <= 0:
                    return None
            else:
                taken = True
                return Held(descriptor)
            home.clock.sleep(min(left, _TRY_SHORTEST_S + _TRY_SPREAD_S * os.urandom(1)[0] / 255))
    finally:
        if not taken:
            home.disk.close(descriptor)


class _Waiter:
    """A thread that blocks for the lock on a descriptor of its own, and lets a grant go that comes too late."""

    left_behind: ClassVar[set[_Waiter]] = set()
    """Waiters of this process that still block though their deadline has passed."""

    def __init__(self, home: Home, handle: str, grip: Grip) -> None:
        import threading  # noqa: PLC0415  (a free lock needs no thread)

        self._home, self._handle, self._grip = home, handle, grip
        self._ended = threading.Event()
        self._turn = threading.Lock()
        self._given_up = False
        self._held: Held | None = None
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._block, name=f"inbox-lock-{handle}", daemon=True)

    def take_by(self, deadline: float) -> Held | None:
        """Return the lock, or None when it is not granted by `deadline`; raise what the thread met."""
        self._thread.start()
        try:
            self._ended.wait(max(0.0, deadline - self._home.clock.monotonic()))
            held = self._give_up()
        except BaseException:  # a signal's handler: nobody will use the lock, granted or not
            unused = self._give_up()
            if unused is not None:
                release(self._home, unused)
            raise
        if held is None and self._fault is not None:
            raise self._fault
        return held

    def _give_up(self) -> Held | None:
        """Wait no more: whatever was granted until now is the caller's, whatever comes later nobody's."""
        with self._turn:
            if not self._ended.is_set():
                self._given_up = True
                _Waiter.left_behind.add(self)
            return self._held

    def _block(self) -> None:
        held: Held | None = None
        fault: Exception | None = None
        try:
            held = _take_by_blocking(self._home, self._handle, self._grip)
        except (_CannotOpenError, OSError) as error:
            fault = error
        with self._turn:
            self._held, self._fault = held, fault
            self._ended.set()
            if not self._given_up:
                return
            _Waiter.left_behind.discard(self)
        if held is not None:
            release(self._home, held)


def _take_by_blocking(home: Home, handle: str, grip: Grip) -> Held:
    descriptor = _open(home, handle)
    try:
        home.disk.lock(descriptor, grip.value)
    except OSError:
        home.disk.close(descriptor)
        raise
    return Held(descriptor)
