"""Who holds an inbox lock: the kernel's list parsed, and looked at while real processes hold and wait."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import proc_locks
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.proc_locks import Hold, InboxLocks, Listed, Process
from tests.seams import FRESH_MOUNT, JumpingClock, Machine, MountedDisk

if TYPE_CHECKING:
    from collections.abc import Iterator

LISTING = b"""\
1: FLOCK  ADVISORY  WRITE 4121 fe:00:131339 0 EOF
1: -> FLOCK  ADVISORY  WRITE 4200 fe:00:131339 0 EOF
1:  -> FLOCK  ADVISORY  READ 4201 fe:00:131339 0 EOF
2: POSIX  ADVISORY  READ 77 08:11:9 128 128
3: OFDLCK ADVISORY  WRITE -1 00:2a:9 0 EOF
4: LEASE  ACTIVE    READ  80 08:11:12 0 EOF
5: FLOCK  ADVISORY  WRITE 81 <none>:0 0 EOF
6: FLOCK
seven: FLOCK  ADVISORY  WRITE x 08:11:12 0 EOF
8: FLOCK  ADVISORY  WRITE 82 zz:11:12 0 EOF
9: LEASE  BREAKING  UNLCK 83 08:11:12 0 EOF
10: FLOCK  ADVISORY  WRITE 84 08:11:12 0

"""

_HOLDER = (
    "import fcntl, os, sys, time\n"
    "descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
    "print('ready', flush=True)\n"
    "fcntl.flock(descriptor, int(sys.argv[2]))\n"
    "print('held', flush=True)\n"
    "if sys.argv[3:]:\n"
    "    child = os.fork()\n"
    "    if child:\n"
    "        print(child, flush=True)\n"
    "        os._exit(0)\n"
    "sys.stdin.read()\n"
)
_WRITER, _READER = "2", "1"
DEADLINE_SECS = 20.0


def test_list_when_parsed_then_holders_waiters_and_kinds_are_told_apart() -> None:
    assert proc_locks.parse(LISTING) == (
        Listed("FLOCK", True, 4121, (0xFE, 0), 131339, False),
        Listed("FLOCK", True, 4200, (0xFE, 0), 131339, True),
        Listed("FLOCK", False, 4201, (0xFE, 0), 131339, True),
        Listed("POSIX", False, 77, (8, 0x11), 9, False),
        Listed("OFDLCK", True, -1, (0, 0x2A), 9, False),
        Listed("LEASE", False, 80, (8, 0x11), 12, False),
    )
    assert proc_locks.parse(b"") == ()
    assert proc_locks.parse(b"\xff\x00:\n") == ()


class Locker:
    """A real process that takes a lock, or waits for it."""

    def __init__(self, path: Path, how: str, *more: str) -> None:
        words = [sys.executable, "-c", _HOLDER, str(path), how, *more]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.says() == "ready"

    @property
    def pid(self) -> int:
        return self.process.pid

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def lockers() -> Iterator[list[Locker]]:
    started: list[Locker] = []
    yield started
    for locker in started:
        locker.close()


@pytest.fixture
def home(comm_home: Path) -> Home:
    home = Home(str(comm_home))
    ensure_home(home)
    return home


def inbox_file(home: Home, name: str) -> Path:
    return Path(home.inboxes) / name


def until_waits(home: Home, pid: int) -> InboxLocks:
    """Look until the kernel lists a waiter; it blocks a moment after it said that it would."""
    deadline = time.monotonic() + DEADLINE_SECS
    while time.monotonic() < deadline:
        seen = proc_locks.look(home)
        if any(waiter.pid == pid for hold in seen.held for waiter in hold.waiters):
            return seen
    raise AssertionError(f"{pid} never waited: {proc_locks.look(home)}")


def test_look_when_a_writer_holds_and_another_waits_then_both_are_named(home: Home, lockers: list[Locker]) -> None:
    path = inbox_file(home, "Docs-box.lock")
    lockers.append(holder := Locker(path, _WRITER))
    assert holder.says() == "held"
    lockers.append(waiter := Locker(path, _READER))
    seen = until_waits(home, waiter.pid)
    assert seen.unknown == ""
    (hold,) = seen.held
    assert hold.handle == "Docs-box"
    start = home.procs.start_of(holder.pid)
    assert [(one.pid, one.writes, one.start, one.gone) for one in hold.holders] == [(holder.pid, True, start, False)]
    assert [(one.pid, one.writes) for one in hold.waiters] == [(waiter.pid, False)]
    assert hold.holders[0].name.startswith("python")
    assert proc_locks.verdict(hold).startswith("alive: ")
    assert f"kill {holder.pid}" in proc_locks.next_step(hold)


def test_look_when_readers_share_a_lock_then_each_is_named(home: Home, lockers: list[Locker]) -> None:
    path = inbox_file(home, "Docs-box.lock")
    for _ in range(2):
        lockers.append(Locker(path, _READER))
        assert lockers[-1].says() == "held"
    (hold,) = proc_locks.look(home).held
    assert {one.pid for one in hold.holders} == {one.pid for one in lockers}
    assert not any(one.writes for one in hold.holders)


def test_look_when_the_taker_has_ended_then_its_child_is_said_to_hold_on(home: Home, lockers: list[Locker]) -> None:
    """A flock goes with its open file, which a fork shares; the kernel still names the one that took it."""
    lockers.append(taker := Locker(inbox_file(home, "Docs-box.lock"), _WRITER, "fork"))
    assert taker.says() == "held"
    child = int(taker.says())
    try:
        taker.process.wait()
        (hold,) = proc_locks.look(home).held
        assert [(one.pid, one.gone) for one in hold.holders] == [(taker.pid, True)]
        assert proc_locks.verdict(hold) == f"pid {taker.pid} has ended; a process that it started holds the lock on"
        assert "kill" not in proc_locks.next_step(hold)
    finally:
        os.kill(child, 9)


def test_look_when_another_file_is_locked_or_none_is_then_nothing_is_told(
    home: Home, lockers: list[Locker], tmp_path: Path
) -> None:
    inbox_file(home, "Docs-box.lock").touch()
    lockers.extend(Locker(path, _WRITER) for path in (tmp_path / "other.lock", inbox_file(home, "Docs-box.jsonl")))
    assert [locker.says() for locker in lockers] == ["held", "held"]
    assert proc_locks.look(home).held == ()


def test_look_when_made_then_no_lock_is_taken_and_no_file_is_opened(home: Home, lockers: list[Locker]) -> None:
    """Product, Locks: "from /proc/locks, never by trying one"."""

    class Watching(MountedDisk):
        opened: list[str] = []  # noqa: RUF012  (one test's own)

        def open(self, path: str, flags: int) -> int:
            self.opened.append(path)
            return super().open(path, flags)

        def lock(self, descriptor: int, operation: int) -> None:
            raise AssertionError(f"a lock was tried: {descriptor}, {operation}")

    lockers.append(holder := Locker(inbox_file(home, "a.lock"), _WRITER))
    assert holder.says() == "held"
    disk = Watching()
    assert len(proc_locks.look(home._replace(disk=disk)).held) == 1
    assert [path for path in disk.opened if not path.startswith("/proc/")] == []


class Told(MountedDisk):
    """A disk whose /proc/locks a test writes."""

    def __init__(self, listing: bytes | None, mountinfo: bytes = FRESH_MOUNT) -> None:
        super().__init__(mountinfo)
        self.listing = listing

    def read(self, path: str) -> bytes:
        if path != proc_locks.PROC_LOCKS:
            return super().read(path)
        if self.listing is None:
            raise PermissionError(13, "Permission denied")
        return self.listing


NFS = b"27 1 0:40 / / rw,relatime - nfs4 srv:/home rw,vers=4.2,local_lock=none\n"
OVERLAY = b"27 1 0:40 / / rw,relatime - overlay overlay rw\n"
CONTAINER = "a holder outside this pid namespace (a container) is not shown"
FIRST = "4026531836"
UNSEEN = [
    pytest.param(FRESH_MOUNT, FIRST, "", id="own-disk"),
    pytest.param(NFS, FIRST, "this folder is on nfs4: a lock that another machine holds is not shown", id="nfs"),
    pytest.param(
        OVERLAY, FIRST, "this folder is on overlay: a lock that is held from elsewhere is not shown", id="overlay"
    ),
    pytest.param(
        b"", FIRST, "whether other machines use this folder is not known, and their locks are not shown", id="no-mounts"
    ),
    pytest.param(FRESH_MOUNT, "4026532000", CONTAINER, id="container"),
    pytest.param(FRESH_MOUNT, "-", CONTAINER, id="namespace-unread"),
]


@pytest.mark.parametrize(("mountinfo", "namespace", "words"), UNSEEN)
def test_look_when_some_holders_cannot_be_seen_then_says_whose(
    home: Home, mountinfo: bytes, namespace: str, words: str
) -> None:
    """Unknown is said: an empty list is no proof that nobody holds a lock."""
    procs = Machine(namespace=namespace).start()
    seen = proc_locks.look(home._replace(disk=Told(b"", mountinfo), procs=procs))
    assert (seen.held, seen.unknown, seen.unseen) == ((), "", words)


def test_look_when_the_list_cannot_be_read_then_nothing_is_known(home: Home) -> None:
    seen = proc_locks.look(home._replace(disk=Told(None)))
    assert (seen.held, seen.unknown) == ((), "the kernel's list could not be read: Permission denied")


def test_look_when_the_system_is_another_then_nothing_is_known(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert proc_locks.look(home).unknown == "this system does not tell who holds a file lock"


def test_look_when_the_mount_names_another_device_than_stat_then_both_are_looked_for(home: Home) -> None:
    """On btrfs and on overlays stat tells another device than the kernel's own list does."""
    path = f"{home.inboxes}/Docs-box.lock"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    inode = os.stat(path).st_ino
    listing = (
        f"1: FLOCK  ADVISORY  WRITE 4121 00:63:{inode} 0 EOF\n2: POSIX ADVISORY READ 9 00:63:{inode} 0 9\n".encode()
    )
    mountinfo = b"27 1 0:99 / / rw,relatime - btrfs /dev/vda rw\n"
    machine = Machine()
    machine.start(4121)
    (hold,) = proc_locks.look(home._replace(disk=Told(listing, mountinfo), procs=machine.start())).held
    assert [one.pid for one in hold.holders] == [4121]
    assert proc_locks.look(home._replace(disk=Told(listing), procs=machine.start())).held == ()


def test_hold_when_the_same_is_seen_again_then_its_age_grows_and_a_new_holder_starts_anew() -> None:
    clock = JumpingClock()
    one, other = Process(5, writes=True), Process(6, writes=True)
    first = InboxLocks((Hold("a", (one,), (), 1000.0), Hold("b", (one,), (), 1000.0)), mono=1000.0)
    clock.pass_(7)
    again = InboxLocks((Hold("a", (one,), (other,), 1007.0), Hold("b", (other,), (), 1007.0)), mono=clock.monotonic())
    seen = proc_locks.since(first, again)
    assert [seen.seen_s(hold) for hold in seen.held] == [7.0, 0.0]
    assert [hold.waiters for hold in seen.held] == [(other,), ()]


def test_process_when_the_kernel_does_not_name_it_then_is_said_so() -> None:
    assert proc_locks.who(Process(0, writes=True)) == "a process that the kernel does not name"
    assert proc_locks.who(Process(7, writes=True, name="vi")) == "pid 7 vi"
    assert proc_locks.who(Process(7, writes=True)) == "pid 7"
    hold = Hold("a", (), (Process(7, writes=True),))
    assert proc_locks.verdict(hold) == "its holder is not shown; somebody waits for it"


def test_look_when_the_kernel_names_no_pid_then_no_process_is_asked_about_and_nothing_is_to_be_killed(
    home: Home,
) -> None:
    """Signal and start of pid 0 are those of this process's own group: it must never be taken for a holder's pid."""
    path = f"{home.inboxes}/h.lock"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    status = os.stat(path)
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    machine = Machine()
    machine.start(4121)
    machine.running[0] = "77"
    for pid, known in ((0, Process(0, writes=True)), (4121, Process(4121, writes=True, start="101"))):
        listing = f"1: FLOCK  ADVISORY  WRITE {pid} {place} 0 EOF\n".encode()
        (hold,) = proc_locks.look(home._replace(disk=Told(listing), procs=machine.start())).held
        assert hold.holders[0]._replace(name="") == known
        assert ("kill" in proc_locks.next_step(hold)) is (pid > 0)
