"""The inbox lock: chosen by lock kind, bounded, and never left behind."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import inbox_lock
from sot_tui.comm.clock import SystemClock
from sot_tui.comm.disk import Disk
from sot_tui.comm.errors import Misuse
from sot_tui.comm.inbox_lock import Busy, Fault, Grip, Held, release, take, wait_bound
from tests.mailbox import mail_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCAL, NFS = "local m1", "nfs4 server:/export"


class JumpingClock(SystemClock):
    """A clock whose sleep takes no time; it remembers how long each one was."""

    def __init__(self) -> None:
        self.moment = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += seconds


class LockDisk(Disk):
    """A disk that notes how descriptors were opened and locked, and can refuse a lock."""

    def __init__(self, refusal: OSError | None = None) -> None:
        self.flags: list[int] = []
        self.operations: list[int] = []
        self.refusal = refusal

    def open(self, path: str, flags: int) -> int:
        self.flags.append(flags)
        return super().open(path, flags)

    def lock(self, descriptor: int, operation: int) -> None:
        self.operations.append(operation)
        if self.refusal is not None:
            raise self.refusal
        super().lock(descriptor, operation)


@contextmanager
def other_holder(path: Path, operation: int = fcntl.LOCK_EX) -> Iterator[int]:
    """Hold the lock on a descriptor of another opening, as another process would."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, operation)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_free(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def descriptors_on(path: Path) -> list[int]:
    """Return this process's descriptors on a file, found by trying: not every system lists them."""
    wanted = (path.stat().st_dev, path.stat().st_ino)
    found = []
    for descriptor in range(256):
        with suppress(OSError):
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) == wanted:
                found.append(descriptor)
    return found


def wait_until(fact: object) -> None:
    assert callable(fact)
    deadline = time.monotonic() + 20
    while not fact():
        assert time.monotonic() < deadline, "did not come true"
        os.sched_yield()


@pytest.fixture
def lock_file(comm_home: Path) -> Path:
    return comm_home / "inbox" / "a.lock"


@pytest.mark.parametrize("manager", [LOCAL, NFS])
@pytest.mark.parametrize("grip", list(Grip))
def test_take_when_free_then_held_until_release_and_no_thread_started(
    comm_home: Path, lock_file: Path, manager: str, grip: Grip
) -> None:
    home = mail_home(comm_home)
    before = threading.active_count()
    held = take(home, "a", grip, manager, 2.0)
    assert isinstance(held, Held)
    assert threading.active_count() == before
    assert not is_free(lock_file)
    release(home, held)
    assert is_free(lock_file)
    assert stat.S_IMODE(lock_file.stat().st_mode) == 0o600
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(held.descriptor)


@pytest.mark.parametrize("grip", list(Grip))
@pytest.mark.parametrize("manager", [LOCAL, NFS])
def test_take_when_any_grip_then_every_descriptor_is_opened_read_write(
    comm_home: Path, lock_file: Path, manager: str, grip: Grip
) -> None:
    """Contract: "Every inbox lock descriptor, a reader's or a writer's, is opened read-write"."""
    disk = LockDisk()
    home = mail_home(comm_home, disk=disk)
    disk.flags.clear()
    with other_holder(lock_file):
        assert take(home, "a", grip, manager, 0.02) == Busy(0.02)
    assert disk.flags
    assert all(flags & os.O_ACCMODE == os.O_RDWR for flags in disk.flags)


@pytest.mark.parametrize("manager", [LOCAL, NFS])
def test_take_when_readers_share_then_readers_pass_and_writers_do_not(
    comm_home: Path, lock_file: Path, manager: str
) -> None:
    home = mail_home(comm_home)
    with other_holder(lock_file, fcntl.LOCK_SH):
        held = take(home, "a", Grip.READER, manager, 0)
        assert isinstance(held, Held)
        release(home, held)
        assert take(home, "a", Grip.WRITER, manager, 0) == Busy(0)


def test_take_when_nfs4_then_tries_every_15_to_25_ms_until_the_bound(comm_home: Path, lock_file: Path) -> None:
    """Contract: "try the lock without blocking every 15-25 ms (jittered) until the bound"."""
    clock, disk = JumpingClock(), LockDisk()
    home = mail_home(comm_home, clock=clock, disk=disk)
    with other_holder(lock_file):
        assert take(home, "a", Grip.WRITER, NFS, 2.0) == Busy(2.0)
    assert all(operation & fcntl.LOCK_NB for operation in disk.operations)
    assert len(disk.operations) == len(clock.slept) + 1
    assert sum(clock.slept) == pytest.approx(2.0)
    assert all(0.015 <= pause <= 0.025 for pause in clock.slept[:-1])
    assert len({round(pause, 4) for pause in clock.slept}) > 20


@pytest.mark.parametrize("manager", [LOCAL, "none@m1"])
def test_take_when_the_holder_lets_go_then_a_blocked_waiter_is_woken(
    comm_home: Path, lock_file: Path, manager: str
) -> None:
    disk = LockDisk()
    home = mail_home(comm_home, disk=disk)
    with other_holder(lock_file) as holder:
        outcome: list[object] = []
        waiting = threading.Thread(target=lambda: outcome.append(take(home, "a", Grip.WRITER, manager, 30)))
        waiting.start()
        wait_until(lambda: fcntl.LOCK_EX in disk.operations)  # the blocking call, after the one that does not block
        fcntl.flock(holder, fcntl.LOCK_UN)
        waiting.join(20)
    (held,) = outcome
    assert isinstance(held, Held)
    assert disk.operations == [fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_EX]
    assert not is_free(lock_file)
    release(home, held)
    assert is_free(lock_file)


def test_take_when_granted_too_late_then_the_lock_is_let_go_at_once(comm_home: Path, lock_file: Path) -> None:
    """A waiter that gave up is woken by the kernel all the same; it must not sit on the lock."""
    home = mail_home(comm_home)
    with other_holder(lock_file):
        assert take(home, "a", Grip.WRITER, LOCAL, 0.05) == Busy(0.05)
        assert inbox_lock._Waiter.left_behind
    wait_until(lambda: not inbox_lock._Waiter.left_behind)
    wait_until(lambda: is_free(lock_file))


def test_take_when_many_waiters_were_left_behind_then_no_more_threads_are_started(
    comm_home: Path, lock_file: Path
) -> None:
    home = mail_home(comm_home)
    with other_holder(lock_file):
        for _ in range(inbox_lock._LEFT_BEHIND_LIMIT + 3):
            assert take(home, "a", Grip.READER, LOCAL, 0.01) == Busy(0.01)
        assert len(inbox_lock._Waiter.left_behind) == inbox_lock._LEFT_BEHIND_LIMIT
    wait_until(lambda: not inbox_lock._Waiter.left_behind)


def test_take_when_no_wait_is_allowed_then_one_try_and_no_thread(comm_home: Path, lock_file: Path) -> None:
    disk = LockDisk()
    home = mail_home(comm_home, disk=disk)
    with other_holder(lock_file):
        assert take(home, "a", Grip.READER, LOCAL, 0) == Busy(0)
        assert not inbox_lock._Waiter.left_behind
    assert disk.operations == [fcntl.LOCK_SH | fcntl.LOCK_NB]


@pytest.mark.parametrize("manager", [LOCAL, NFS])
def test_take_when_the_lock_file_cannot_be_opened_then_a_fault_that_says_so(
    comm_home: Path, lock_file: Path, manager: str
) -> None:
    home = mail_home(comm_home)
    lock_file.mkdir()
    assert take(home, "a", Grip.READER, manager, 1.0) == Fault("cannot open its lock file")


@pytest.mark.parametrize("manager", [LOCAL, NFS])
def test_take_when_flock_fails_then_its_code_and_its_own_text(comm_home: Path, manager: str) -> None:
    """Contract: a flock error is named, "flock's code and its own error text"."""
    disk = LockDisk(OSError(37, "No locks available"))
    home = mail_home(comm_home, disk=disk)
    assert take(home, "a", Grip.READER, manager, 1.0) == Fault("flock 37: No locks available")


def test_take_when_a_signal_interrupts_the_wait_then_nothing_is_held_afterwards(
    comm_home: Path, lock_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = mail_home(comm_home)

    def interrupted(_timeout: float) -> bool:
        raise KeyboardInterrupt

    with other_holder(lock_file):
        waiter = inbox_lock._Waiter(home, "a", Grip.WRITER)
        monkeypatch.setattr(waiter._ended, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            waiter.take_by(home.clock.monotonic() + 30)
        assert inbox_lock._Waiter.left_behind
    wait_until(lambda: not inbox_lock._Waiter.left_behind)
    wait_until(lambda: is_free(lock_file))


def test_take_when_a_signal_comes_with_the_grant_then_the_lock_is_let_go(
    comm_home: Path, lock_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = mail_home(comm_home)
    waiter = inbox_lock._Waiter(home, "a", Grip.WRITER)
    wait = waiter._ended.wait

    def interrupted(_timeout: float) -> bool:
        wait(20)
        raise KeyboardInterrupt

    monkeypatch.setattr(waiter._ended, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        waiter.take_by(home.clock.monotonic() + 30)
    assert is_free(lock_file)


def test_take_when_the_blocking_call_fails_then_its_code_and_text_and_no_descriptor_stays(
    comm_home: Path, lock_file: Path
) -> None:
    class BrokenDisk(Disk):
        def lock(self, descriptor: int, operation: int) -> None:
            if not operation & fcntl.LOCK_NB:
                raise OSError(4, "Interrupted system call")
            super().lock(descriptor, operation)

    home = mail_home(comm_home, disk=BrokenDisk())
    with other_holder(lock_file):
        assert take(home, "a", Grip.WRITER, LOCAL, 30) == Fault("flock 4: Interrupted system call")
    assert not descriptors_on(lock_file)


def test_take_when_busy_then_no_descriptor_stays(comm_home: Path, lock_file: Path) -> None:
    home = mail_home(comm_home)
    with other_holder(lock_file):
        assert take(home, "a", Grip.WRITER, NFS, 0.02) == Busy(0.02)
    assert not descriptors_on(lock_file)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [(None, 2.0), ("", 2.0), ("0", 0.0), ("1", 1.0), ("0.25", 0.25), ("10", 10.0)],
)
def test_wait_bound_when_a_number_then_that_many_seconds(said: str | None, seconds: float) -> None:
    environ = {} if said is None else {"SOT_INBOX_LOCK_WAIT_SECS": said}
    assert wait_bound(inbox_lock.WRITE_WAIT, environ) == seconds


def test_wait_bound_when_unset_then_the_contracts_default() -> None:
    assert (wait_bound(inbox_lock.WRITE_WAIT, {}), wait_bound(inbox_lock.READ_WAIT, {})) == (2.0, 3.0)


@pytest.mark.parametrize("said", ["abc", "-1", "1s", " 1", "1e3", "nan", "inf", "9" * 400, ".", "１"])
def test_wait_bound_when_no_number_of_seconds_then_misuse_that_names_the_variable(said: str) -> None:
    with pytest.raises(Misuse, match=r"^SOT_INBOX_READ_WAIT_SECS is not a number of seconds from 0 to [0-9]+: "):
        wait_bound(inbox_lock.READ_WAIT, {"SOT_INBOX_READ_WAIT_SECS": said})
