"""The registry lock, step by step: one process at a time on a real disk, a clock that jumps, a table of processes."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import threading
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import registry_lock
from sot_tui.comm.errors import Misuse
from sot_tui.comm.home import Home
from sot_tui.comm.proof import Record
from sot_tui.comm.reach import listen
from sot_tui.comm.registry_lock import (
    Cleared,
    Free,
    Held,
    LockIs,
    NotCleared,
    NotTaken,
    Wait,
    clear,
    look,
    markers,
    release,
    take,
)
from tests.faults.disks import Counting, Step
from tests.seams import STALE_MOUNT, JumpingClock, Machine, MountedDisk, Process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sot_tui.comm.disk import Disk

ELSEWHERE = Record("otherbox", "m2", "b2", "1", "4242", "77")


class World:
    """One comm home, one clock, one machine; a process of it is a `Home`."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock, self.machine = str(path), JumpingClock(), Machine()
        self.lock = f"{path}/.registry.lock"

    def process(self, disk: Disk | None = None, pid: int | None = None) -> Home:
        return Home(self.path, disk or MountedDisk(), self.clock, self.machine.start(pid))

    def record(self, home: Home) -> Record:
        assert isinstance(home.procs, Process)
        return home.procs.record()

    def dead(self) -> Record:
        home = self.process()
        record = self.record(home)
        self.machine.end(home.procs.pid())
        return record

    def hold(self, record: Record | bytes, path: str = "") -> None:
        with open(path or self.lock, "wb") as file:
            file.write(record.line.encode() if isinstance(record, Record) else record)

    def marker(self, record: Record) -> str:
        return f"{self.lock}.reclaim.{record.id}"

    def holder(self, path: str = "") -> str:
        with open(path or self.lock, encoding="ascii") as file:
            return file.read()

    def files(self) -> list[str]:
        return sorted(os.listdir(self.path))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    registry_lock.reclaimed()
    yield World(tmp_path)
    registry_lock._new_turn()  # a test that ends inside leaves nobody waiting


@pytest.fixture
def points() -> Iterator[list[str]]:
    found: list[str] = []
    listen(found.append)
    yield found
    listen(None)


def taken(outcome: Held | NotTaken) -> Held:
    assert isinstance(outcome, Held), outcome
    return outcome


def refused(outcome: Held | NotTaken) -> str:
    assert isinstance(outcome, NotTaken), outcome
    return outcome.sentence


class Acting(MountedDisk):
    """A disk on which something happens elsewhere right before a step."""

    def __init__(self, name: str, path: str, act: Callable[[], None], *, times: int = 1) -> None:
        super().__init__()
        self.name, self.target, self.act, self.times = name, path, act, times

    def _at(self, name: str, path: str) -> None:
        if self.times and name == self.name and path == self.target:
            self.times -= 1
            self.act()

    def link(self, source: str, target: str) -> None:
        self._at("link", target)
        super().link(source, target)

    def open(self, path: str, flags: int) -> int:
        self._at("open", path)
        return super().open(path, flags)

    def unlink(self, path: str) -> None:
        self._at("unlink", path)
        super().unlink(path)


class Refusing(MountedDisk):
    """A disk that answers some steps on a path with an error, done or not."""

    def __init__(self, name: str, path: str, error: int, *, times: int = 99, done: bool = False) -> None:
        super().__init__()
        self.name, self.target, self.error, self.times, self.lies = name, path, error, times, done

    def _refuse(self, name: str, path: str, act: Callable[[], Any]) -> Any:
        if name != self.name or path != self.target or not self.times:
            return act()
        self.times -= 1
        if self.lies:
            act()
        raise OSError(self.error, os.strerror(self.error), path)

    def link(self, source: str, target: str) -> None:
        self._refuse("link", target, lambda: super(Refusing, self).link(source, target))

    def open(self, path: str, flags: int) -> int:
        found: int = self._refuse("open", path, lambda: super(Refusing, self).open(path, flags))
        return found

    def stat(self, path: str) -> os.stat_result:
        found: os.stat_result = self._refuse("stat", path, lambda: super(Refusing, self).stat(path))
        return found

    def unlink(self, path: str) -> None:
        self._refuse("unlink", path, lambda: super(Refusing, self).unlink(path))


# -- take and release -------------------------------------------------------------------------------------------------


def test_take_when_free_then_the_lock_names_its_holder_and_no_temp_file_is_left(world: World) -> None:
    home = world.process()
    held = taken(take(home, Wait.RULED))
    assert world.holder() == "box:m1:b1:4026531836:1001:101\n"
    assert held.record == world.record(home)
    assert world.files() == [".registry.lock"]
    assert stat.S_IMODE(os.stat(world.lock).st_mode) == 0o600
    assert os.stat(world.lock).st_nlink == 1
    release(home, held)
    assert world.files() == []
    assert world.clock.slept == []


def test_take_when_free_then_its_steps_are_few(world: World) -> None:
    disk = Counting()
    home = world.process(disk)
    release(home, taken(take(home, Wait.RULED)))
    steps = [step.name for step in disk.steps if step.name not in {"mount_table", "real_path", "target_stat"}]
    assert steps == ["open", "write", "close", "link", "stat", "unlink", "stat", "unlink"]


@pytest.mark.parametrize("error", [errno.EEXIST, errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EPERM])
def test_take_when_the_link_is_answered_with_an_error_but_was_made_then_it_is_taken(world: World, error: int) -> None:
    """ "A failed link after which the caller's fresh temp file is the lock was taken" """
    home = world.process(Refusing("link", world.lock, error, times=1, done=True))
    held = taken(take(home, Wait.HEARTBEAT))
    assert world.holder() == held.record.line
    assert world.files() == [".registry.lock"]
    assert world.clock.slept == []


def test_take_when_the_lock_is_anothers_then_a_failed_link_is_no_take(world: World) -> None:
    world.hold(world.record(world.process()))
    assert "is held by box pid 1001 start 101" in refused(take(world.process(), Wait.HEARTBEAT))
    assert world.files() == [".registry.lock"]


def test_take_when_a_temp_file_has_its_name_then_it_is_neither_used_nor_touched(world: World) -> None:
    """Two takers of one temp file would each find it to be the lock."""
    home = world.process()
    left = f"{world.lock}.tmp.{world.record(home).id}.1"
    world.hold(b"left\n", left)
    os.link(left, world.lock)
    world.hold(ELSEWHERE)  # the same file under both names
    assert "is held by otherbox pid 4242" in refused(take(home, Wait.HEARTBEAT))
    assert world.holder() == world.holder(left) == ELSEWHERE.line


def test_take_when_two_machines_share_a_name_and_a_pid_then_they_are_two_takers(world: World) -> None:
    """Without proof fields two records can be one text; the temp files still are two."""
    disk = MountedDisk(STALE_MOUNT)
    one = Home(world.path, disk, world.clock, Machine(machine="m1").start(7))
    two = Home(world.path, disk, world.clock, Machine(machine="m2").start(7))
    held = taken(take(one, Wait.HEARTBEAT))
    registry_lock._turn.release()  # the other one is another process
    assert "No box can prove box pid 7 dead" in refused(take(two, Wait.HEARTBEAT))
    registry_lock._turn.acquire()
    release(one, held)


def test_release_when_the_lock_was_removed_by_hand_and_taken_by_another_then_it_stays(world: World) -> None:
    home = world.process()
    held = taken(take(home, Wait.RULED))
    os.unlink(world.lock)
    world.hold(ELSEWHERE)
    os.utime(world.lock, (1, 1))  # a moment of its own, as it may have the inode of the other
    release(home, held)
    assert world.holder() == ELSEWHERE.line
    assert not registry_lock._turn.locked()


def test_release_when_the_lock_is_gone_or_its_status_cannot_be_read_then_the_turn_is_given_back(world: World) -> None:
    home = world.process()
    held = taken(take(home, Wait.RULED))
    os.unlink(world.lock)
    release(home, held)
    held = taken(take(home, Wait.RULED))
    release(home._replace(disk=Refusing("stat", world.lock, errno.EIO)), held)
    assert world.files() == []
    assert not registry_lock._turn.locked()


# -- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wait", "tries", "bound"), [(Wait.RULED, 200, 10.0), (Wait.TOUCH, 20, 1.0)])
def test_take_when_a_live_process_holds_it_then_is_tried_each_50_ms_until_the_bound(
    world: World, wait: Wait, tries: int, bound: float
) -> None:
    """ "Bounds are deadlines, polled every 50 ms" """
    world.hold(world.record(world.process()))
    disk = Counting()
    refused(take(world.process(disk), wait))
    assert sum(world.clock.slept) == pytest.approx(bound)
    assert all(slept == pytest.approx(0.05) for slept in world.clock.slept)
    links = [step for step in disk.steps if step.name == "link"]
    assert len(links) == pytest.approx(tries, abs=1)  # the last one falls on the deadline, as floats have it
    assert {step.args[1] for step in links} == {world.lock}


def test_take_when_it_is_the_heartbeat_then_one_try_is_made_and_no_sleep(world: World) -> None:
    world.hold(world.record(world.process()))
    disk = Counting()
    refused(take(world.process(disk), Wait.HEARTBEAT))
    assert world.clock.slept == []
    assert len([step for step in disk.steps if step.name == "link"]) == 1


def test_take_when_the_variable_sets_a_bound_then_it_is_the_ruled_ones(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.hold(world.record(world.process()))
    monkeypatch.setenv("SOT_LOCK_WAIT_SECS", "0.3")
    refused(take(world.process(), Wait.RULED))
    assert sum(world.clock.slept) == pytest.approx(0.3)
    refused(take(world.process(), Wait.TOUCH))
    assert sum(world.clock.slept) == pytest.approx(1.3)
    monkeypatch.setenv("SOT_LOCK_WAIT_SECS", "0")
    refused(take(world.process(), Wait.RULED))
    assert sum(world.clock.slept) == pytest.approx(1.3)


@pytest.mark.parametrize("wrong", ["soon", "-1", "1e3", "inf", "86401"])
def test_take_when_the_variable_makes_no_sense_then_it_is_a_misuse_and_nothing_is_taken(
    world: World, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("SOT_LOCK_WAIT_SECS", wrong)
    with pytest.raises(Misuse) as caught:
        take(world.process(), Wait.RULED)
    assert caught.value.sentence == f"SOT_LOCK_WAIT_SECS is not a number of seconds from 0 to 86400: {wrong!r}"
    assert world.files() == []
    taken(take(world.process(), Wait.TOUCH))


def test_take_when_the_holder_releases_within_the_bound_then_it_is_taken_at_the_next_try(world: World) -> None:
    world.hold(world.record(world.process()))

    def released(_: float) -> None:
        if sum(world.clock.slept) > 2.999 and os.path.exists(world.lock):
            os.unlink(world.lock)

    world.clock.on_sleep = released
    taken(take(world.process(), Wait.RULED))
    assert sum(world.clock.slept) == pytest.approx(3.0)


def test_take_when_the_lock_is_freed_at_the_deadline_then_no_try_starts_after_it(world: World) -> None:
    """ "no try starts after it" """
    world.hold(world.record(world.process()))

    def released(_: float) -> None:
        if sum(world.clock.slept) > 0.999:
            os.unlink(world.lock)

    world.clock.on_sleep = released
    sentence = refused(take(world.process(), Wait.TOUCH))
    assert sentence.endswith(
        "was held by box pid 1001 start 101 when last read (it is running); it may have been released since. Retry."
    )
    assert world.files() == []


@pytest.mark.parametrize("error", [errno.EPERM, errno.EOPNOTSUPP, errno.EACCES, errno.EROFS, errno.EMLINK])
def test_take_when_links_cannot_be_made_then_says_so_at_once(world: World, error: int) -> None:
    sentence = refused(take(world.process(Refusing("link", world.lock, error)), Wait.RULED))
    assert sentence == (
        f"registry lock {world.lock} was not taken: cannot hard-link in {world.path}: "
        f"{errno.errorcode[error]} ({os.strerror(error)})"
    )
    assert world.clock.slept == []
    assert world.files() == []


def test_take_when_a_later_link_comes_back_past_the_deadline_then_no_reclaim_starts(world: World) -> None:
    """ "after the first failed take the deadline is checked after every failed take" """
    dead = world.dead()
    world.hold(world.record(world.process()))
    links = []

    def slow() -> None:
        links.append(1)
        if len(links) == 2:
            world.hold(dead)
            world.clock.pass_(60)

    sentence = refused(take(world.process(Acting("link", world.lock, slow, times=9)), Wait.RULED))
    assert len(links) == 2
    assert world.files() == [".registry.lock"]
    assert sentence.endswith(": it took the lock just then. If it is dead, run any comm command on box.")


def test_take_when_its_record_cannot_be_written_then_no_temp_file_is_left(world: World) -> None:
    class Full(MountedDisk):
        def write(self, descriptor: int, data: bytes) -> None:
            os.write(descriptor, data[:9])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sentence = refused(take(world.process(Full()), Wait.RULED))
    assert f"its record could not be written in {world.path}: ENOSPC (No space left on device)" in sentence
    assert world.files() == []


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE, errno.ENOENT])
def test_take_when_a_fault_may_pass_then_is_tried_again(world: World, error: int) -> None:
    taken(take(world.process(Refusing("link", world.lock, error, times=3)), Wait.RULED))
    assert sum(world.clock.slept) == pytest.approx(0.15)


def test_take_when_the_home_is_missing_then_says_what_could_not_be_written(world: World) -> None:
    home = world.process()._replace(path=f"{world.path}/none")
    sentence = refused(take(home, Wait.RULED))
    assert sentence == (
        f"registry lock {home.lock} was not taken: its record could not be written in {home.path}: "
        "ENOENT (No such file or directory)"
    )
    assert world.clock.slept == []


# -- reclaim ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wait", list(Wait))
def test_take_when_the_holder_is_dead_then_it_is_reclaimed_on_the_first_try_even_past_the_deadline(
    world: World, wait: Wait
) -> None:
    """ "It runs on the FIRST failed take, before any sleep"; "A removed lock is retaken at once, as part of the try
    that removed it, even past the deadline" """
    dead = world.dead()
    world.hold(dead)
    home = world.process()
    held = taken(take(home, wait))
    assert world.clock.slept == [1.0]
    assert world.holder() == held.record.line
    assert world.files() == [".registry.lock", os.path.basename(world.marker(dead))]
    assert world.holder(world.marker(dead)) == held.record.line
    assert stat.S_IMODE(os.stat(world.marker(dead)).st_mode) == 0o600
    release(home, held)
    assert world.files() == [os.path.basename(world.marker(dead))]
    assert registry_lock.reclaimed(threading.get_ident()) == [dead]
    assert registry_lock.reclaimed() == []  # it is told once


def test_reclaimed_when_another_thread_has_cleared_a_lock_then_it_is_that_threads_to_tell(world: World) -> None:
    dead = world.dead()
    world.hold(dead)
    home = world.process()
    writer = threading.Thread(target=lambda: release(home, taken(take(home, Wait.RULED))))
    writer.start()
    writer.join()
    assert registry_lock.reclaimed(threading.get_ident()) == []
    assert registry_lock.reclaimed() == [dead]


def test_take_when_it_reclaims_then_its_steps_come_in_the_contracts_order(world: World, points: list[str]) -> None:
    """ "takes the marker ..., settles 1 s, reads the lock again fresh (open its folder, then open the record), and
    removes it only if it still names D" """
    dead = world.dead()
    world.hold(dead)
    disk = Counting()
    taken(take(world.process(disk), Wait.RULED))
    names = [
        (step.name, os.path.basename(str(step.args[-1] if step.name == "link" else step.args[0])))
        for step in disk.steps
        if step.name in {"revalidate", "link", "unlink", "open"} and ".tmp." not in str(step.args[-1])
        if ".tmp." not in str(step.args[0]) or step.name == "link"
    ]
    lock, marker, folder = ".registry.lock", os.path.basename(world.marker(dead)), os.path.basename(world.path)
    assert names == [
        ("link", lock),
        ("revalidate", folder),
        ("open", lock),
        ("link", marker),
        ("revalidate", folder),
        ("open", lock),
        ("unlink", lock),
        ("link", lock),
    ]
    assert points == [
        "lock.recorded",
        "lock.failed",
        "lock.judged",
        "lock.recorded",
        "lock.marked",
        "lock.settled",
        "lock.reread",
        "lock.removed",
        "lock.recorded",
        "lock.taken",
    ]


def test_take_when_the_pid_was_given_to_another_process_then_the_holder_is_reclaimed(world: World) -> None:
    dead = world.dead()
    world.hold(dead)
    world.machine.start(int(dead.pid))
    taken(take(world.process(), Wait.HEARTBEAT))


def test_take_when_the_machine_was_rebooted_then_the_holder_is_reclaimed(world: World) -> None:
    world.hold(world.record(world.process()))
    world.machine.reboot()
    taken(take(world.process(), Wait.HEARTBEAT))


def unprovable(world: World) -> list[Record]:
    live = world.record(world.process())
    return [
        live,
        live._replace(start="-"),
        live._replace(namespace="4026532999"),
        live._replace(pid="99999", namespace="-"),
        live._replace(machine="m2", boot="b0"),
        live._replace(name="clone", boot="b0"),
        live._replace(machine="-", boot="-", namespace="-", start="-", pid="99999"),
        ELSEWHERE,
    ]


@pytest.mark.parametrize("kind", range(8))
def test_take_when_the_holder_cannot_be_proved_dead_then_it_is_never_forced(world: World, kind: int) -> None:
    """ "No timeout proves anything, so a frozen holder, one on another machine, or any unprovable one, is never
    forced." """
    holder = unprovable(world)[kind]
    world.hold(holder)
    world.clock.wall += 1_000_000
    for wait in Wait:
        refused(take(world.process(), wait))
    assert isinstance(clear(world.process()), NotCleared)
    assert world.files() == [".registry.lock"]
    assert world.holder() == holder.line


def test_take_when_the_mount_proves_no_fresh_read_then_nothing_is_reclaimed_and_no_proof_is_written(
    world: World,
) -> None:
    """ "on any other (overlayfs, a Mac's network home) its records have no proof fields" """
    world.hold(world.dead())
    sentence = refused(take(world.process(MountedDisk(STALE_MOUNT)), Wait.RULED))
    assert (
        ": this box cannot prove a death in this comm home. If it is dead: run any comm command on box, or, if "
        in sentence
    )
    assert world.files() == [".registry.lock"]
    os.unlink(world.lock)
    held = taken(take(world.process(MountedDisk(STALE_MOUNT)), Wait.RULED))
    assert world.holder() == held.record.line == f"box:-:-:-:{held.record.pid}:-\n"


def test_take_when_another_took_the_lock_during_the_settle_then_it_is_not_removed(world: World) -> None:
    world.hold(world.dead())
    other = world.record(world.process())

    def settle(seconds: float) -> None:
        if seconds == 1.0:
            os.unlink(world.lock)
            world.hold(other)

    world.clock.on_sleep = settle
    sentence = refused(take(world.process(), Wait.HEARTBEAT))
    assert world.holder() == other.line
    assert f"is held by box pid {other.pid} start {other.start} (" in sentence
    assert sentence.endswith(": it took the lock during the reclaim. If it is dead, run any comm command on box.")


def test_take_when_the_lock_is_gone_after_the_settle_then_it_is_taken_by_the_next_try(world: World) -> None:
    def settle(seconds: float) -> None:
        if seconds == 1.0:
            os.unlink(world.lock)

    world.hold(world.dead())
    world.clock.on_sleep = settle
    taken(take(world.process(), Wait.RULED))
    assert world.clock.slept == [1.0, pytest.approx(0.05)]


def test_take_when_the_lock_is_gone_after_the_settle_and_the_deadline_over_then_says_so(world: World) -> None:
    world.hold(world.dead())
    world.clock.on_sleep = lambda _: os.unlink(world.lock)
    sentence = refused(take(world.process(), Wait.HEARTBEAT))
    assert sentence == f"registry lock {world.lock} was not taken by the deadline: it was released just then. Retry."


def test_take_when_another_retakes_first_then_the_retake_fails_and_nobody_is_removed(world: World) -> None:
    other = world.record(world.process())
    world.hold(world.dead())
    done: list[str] = []

    def at(point: str) -> None:
        if point == "lock.removed":
            done.append(point)
            world.hold(other)

    listen(at)
    try:
        sentence = refused(take(world.process(), Wait.HEARTBEAT))
    finally:
        listen(None)
    assert done == ["lock.removed"]
    assert world.holder() == other.line
    assert ": it took the lock during the reclaim. If it is dead," in sentence


def test_take_when_the_reread_fails_then_the_lock_stays_and_the_next_try_adopts_the_marker(world: World) -> None:
    dead = world.dead()
    world.hold(dead)
    disk = Refusing("open", world.lock, errno.EIO, times=0)
    seen: list[int] = []

    def once(seconds: float) -> None:
        if seconds == 1.0 and not seen:
            seen.append(1)
            disk.times = 1

    world.clock.on_sleep = once
    home = world.process(disk)
    held = taken(take(home, Wait.RULED))
    assert world.clock.slept == [1.0, pytest.approx(0.05), 1.0]  # a second try, which settles anew
    assert world.holder(world.marker(dead)) == held.record.line


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE, errno.EACCES])
def test_take_when_the_dead_lock_cannot_be_removed_then_it_is_not_taken(world: World, error: int) -> None:
    dead = world.dead()
    world.hold(dead)
    sentence = refused(take(world.process(Refusing("unlink", world.lock, error)), Wait.HEARTBEAT))
    assert world.holder() == dead.line
    assert f": it is dead, but the lock could not be removed ({errno.errorcode[error]} (" in sentence


def test_take_when_the_removal_says_gone_though_it_was_made_then_the_lock_is_retaken(world: World) -> None:
    world.hold(world.dead())
    taken(take(world.process(Refusing("unlink", world.lock, errno.ENOENT, times=1, done=True)), Wait.HEARTBEAT))


# -- markers ----------------------------------------------------------------------------------------------------------


def test_walk_when_the_reclaimer_died_too_then_its_marker_is_passed(world: World) -> None:
    """ "if the creator died too, the next waiter proves that and takes reclaim.<creator>, which carries the same
    authority" """
    chain = [world.dead() for _ in range(5)]
    world.hold(chain[0])
    for one, other in itertools.pairwise(chain):
        world.hold(other, world.marker(one))
    held = taken(take(world.process(), Wait.RULED))
    assert world.clock.slept == [1.0]
    assert world.holder(world.marker(chain[-1])) == held.record.line
    assert len(world.files()) == 6  # every marker is kept


def test_walk_when_the_deadline_is_over_then_it_goes_no_further_than_its_first_marker(world: World) -> None:
    """ "the deadline is checked after ... every marker a step walks past its first, so no reclaim chains past the
    deadline" """
    one, two, three = world.dead(), world.dead(), world.dead()
    world.hold(one)
    world.hold(two, world.marker(one))
    sentence = refused(take(world.process(), Wait.HEARTBEAT))
    assert ": it is dead, but its reclaim chain was still being walked at the deadline. If it is dead, run" in sentence
    assert not os.path.exists(world.marker(two))
    assert world.clock.slept == []
    # A clock that passes the deadline within the walk is seen at the next marker.
    world.hold(three, world.marker(two))
    slow = Acting("open", world.marker(two), lambda: world.clock.pass_(60))
    assert "was still being walked at the deadline" in refused(take(world.process(slow), Wait.RULED))
    assert not os.path.exists(world.marker(three))


@pytest.mark.parametrize("wait", list(Wait))
def test_walk_when_the_reclaimer_lives_then_only_it_acts(world: World, wait: Wait) -> None:
    """ "Only the marker's creator acts" """
    dead, live = world.dead(), world.record(world.process())
    world.hold(dead)
    world.hold(live, world.marker(dead))
    sentence = refused(take(world.process(), wait))
    assert f"is held by box pid {dead.pid} start {dead.start} (" in sentence
    assert (
        f": it is dead, but its reclaim by box pid {live.pid} did not finish: it is running. "
        "If it is dead, run any comm command on box."
    ) in sentence
    assert world.holder() == dead.line


def test_walk_when_a_marker_names_a_record_it_has_passed_then_nobody_can_pass_it(world: World) -> None:
    """ "A marker naming a record the walk has already passed, other than the waiter's own, ends it" """
    one, two = world.dead(), world.dead()
    world.hold(one)
    world.hold(two, world.marker(one))
    world.hold(one, world.marker(two))
    sentence = refused(take(world.process(), Wait.RULED))
    assert sentence.endswith(
        f": its reclaim marker {world.marker(two)} names {one.line.strip()}, which its reclaim chain already holds, "
        f"so no reclaim can pass it. If its holder is dead, remove {world.lock} by hand and retry."
    )
    assert f"registry lock {world.lock} still held (" in sentence
    assert world.holder() == one.line


def test_walk_when_a_marker_names_this_process_then_it_is_adopted(world: World) -> None:
    home = world.process()
    dead = world.dead()
    world.hold(dead)
    world.hold(world.record(home), world.marker(dead))
    taken(take(home, Wait.HEARTBEAT))
    assert world.clock.slept == [1.0]
    assert os.path.exists(world.marker(dead))  # it is kept: what the walk passed was another's


def test_walk_when_this_process_has_no_machine_id_then_it_adopts_no_marker(world: World) -> None:
    """ "a daemon or script with none never adopts a marker or reclaims a lock as its own" """
    world.machine.machine = "-"
    home = world.process()
    dead = world.dead()
    world.hold(dead)
    world.hold(world.record(home), world.marker(dead))
    assert "did not finish: it is running" in refused(take(home, Wait.HEARTBEAT))
    os.unlink(world.marker(dead))
    world.hold(world.record(home))
    assert "it is running" in refused(take(home, Wait.HEARTBEAT))
    assert world.files() == [".registry.lock"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"what is this\n", "names no holder (what is this), so no reclaim can pass it"),
        (b"", "names no holder (it is empty), so no reclaim can pass it"),
        (None, "is a folder, so no reclaim can pass it"),
    ],
)
def test_walk_when_a_marker_does_not_parse_then_nobody_can_pass_it(
    world: World, content: bytes | None, why: str
) -> None:
    dead = world.dead()
    world.hold(dead)
    if content is None:
        os.mkdir(world.marker(dead))
    else:
        world.hold(content, world.marker(dead))
    sentence = refused(take(world.process(), Wait.RULED))
    assert (
        f": its reclaim marker {world.marker(dead)} {why}. If its holder is dead, remove {world.lock} by hand"
        in sentence
    )


def test_walk_when_a_marker_cannot_be_read_then_the_lock_stays(world: World) -> None:
    dead = world.dead()
    world.hold(dead)
    world.hold(world.dead(), world.marker(dead))
    disk = Refusing("open", world.marker(dead), errno.EACCES)
    sentence = refused(take(world.process(disk), Wait.HEARTBEAT))
    assert (
        f": it is dead, but its reclaim marker {world.marker(dead)} could not be read (EACCES (Permission" in sentence
    )
    assert world.holder() == dead.line


def test_walk_when_the_marker_cannot_be_taken_then_the_lock_stays(world: World) -> None:
    dead = world.dead()
    world.hold(dead)
    disk = Refusing("link", world.marker(dead), errno.ENOSPC)
    sentence = refused(take(world.process(disk), Wait.HEARTBEAT))
    assert (
        f": it is dead, but its reclaim marker could not be taken (cannot hard-link in {world.path}: ENOSPC" in sentence
    )
    assert world.files() == [".registry.lock"]


@pytest.mark.parametrize("error", [errno.EEXIST, errno.EIO])
def test_walk_when_the_markers_link_lies_then_the_marker_was_taken(world: World, error: int) -> None:
    dead = world.dead()
    world.hold(dead)
    taken(take(world.process(Refusing("link", world.marker(dead), error, times=1, done=True)), Wait.HEARTBEAT))


def test_walk_when_a_marker_is_removed_just_then_then_its_name_is_tried_again(world: World) -> None:
    dead = world.dead()
    world.hold(dead)
    world.hold(world.record(world.process()), world.marker(dead))
    disk = Acting("open", world.marker(dead), lambda: os.unlink(world.marker(dead)))
    taken(take(world.process(disk), Wait.HEARTBEAT))


def test_walk_when_a_marker_vanishes_again_and_again_then_its_name_is_tried_four_times_and_no_more(
    world: World,
) -> None:
    """A server can say "exists" of a name that nobody finds: the walk must end, and the lock stays."""
    dead = world.dead()
    world.hold(dead)
    disk = Refusing("link", world.marker(dead), errno.EEXIST)
    sentence = refused(take(world.process(disk), Wait.HEARTBEAT))
    assert "its reclaim marker was removed just then" in sentence
    assert 99 - disk.times == registry_lock.VANISHED_TRIES + 1
    assert world.holder() == dead.line


# -- a lock that a thread of this process left ------------------------------------------------------------------------


def test_take_when_a_thread_left_the_lock_then_it_is_reclaimed_through_a_marker_naming_this_process(
    world: World, points: list[str]
) -> None:
    """ "A lock naming the daemon itself ... was left by one of its threads, and is reclaimed like a dead holder's,
    through a marker naming the daemon. Markers are kept forever, but for that one" """
    disk = Counting()
    home = world.process(disk)
    me = world.record(home)
    world.hold(me)
    held = taken(take(home, Wait.HEARTBEAT))
    assert world.clock.slept == [1.0]
    assert world.files() == [".registry.lock"]
    changes = [
        Step(step.name, (step.args[-1] if step.name == "link" else step.args[0],))
        for step in disk.steps
        if step.name in {"link", "unlink"}
    ]
    order = [
        changes.index(Step("link", (world.marker(me),))),
        changes.index(Step("unlink", (world.lock,))),
        changes.index(Step("unlink", (world.marker(me),))),
        len(changes) - changes[::-1].index(Step("link", (world.lock,))),
    ]
    assert order == sorted(order)  # a holder that dies with a marker naming itself wedges the lock
    assert "lock.marked" in points
    release(home, held)


def test_take_when_a_release_failed_then_the_next_take_of_this_process_clears_it(world: World) -> None:
    disk = Refusing("unlink", world.lock, errno.EIO, times=1)
    home = world.process(disk)
    release(home, taken(take(home, Wait.RULED)))
    assert world.files() == [".registry.lock"]
    assert "it is running" in refused(take(world.process(), Wait.HEARTBEAT))
    release(home, taken(take(home, Wait.HEARTBEAT)))
    assert world.files() == []


def test_take_when_the_left_lock_is_gone_after_the_settle_then_the_marker_goes_too(world: World) -> None:
    home = world.process()
    world.hold(world.record(home))
    world.clock.on_sleep = lambda _: os.unlink(world.lock)
    refused(take(home, Wait.HEARTBEAT))
    assert world.files() == []


def test_take_when_the_left_locks_reread_fails_then_the_marker_stays_until_it_is_adopted(world: World) -> None:
    disk = Refusing("open", world.lock, errno.EIO, times=0)
    home = world.process(disk)
    me = world.record(home)
    world.hold(me)
    world.clock.on_sleep = lambda _: setattr(disk, "times", 1)
    sentence = refused(take(home, Wait.HEARTBEAT))
    assert world.files() == [".registry.lock", os.path.basename(world.marker(me))]
    assert "its record could not be read (EIO" in sentence or "is held by" in sentence
    world.clock.on_sleep = None
    disk.times = 0
    release(home, taken(take(home, Wait.HEARTBEAT)))
    assert world.files() == []


def test_take_when_the_walk_from_a_left_lock_passed_another_then_no_marker_is_removed(world: World) -> None:
    """ "and every record its walk passed is its own" """
    home = world.process()
    me, dead = world.record(home), world.dead()
    world.hold(me)
    world.hold(dead, world.marker(me))
    taken(take(home, Wait.RULED))
    assert os.path.exists(world.marker(me))
    assert os.path.exists(world.marker(dead))


def test_take_when_the_own_marker_cannot_be_removed_then_the_lock_is_taken_all_the_same(world: World) -> None:
    home = world.process()
    me = world.record(home)
    world.hold(me)
    taken(take(home._replace(disk=Refusing("unlink", world.marker(me), errno.EIO)), Wait.HEARTBEAT))
    assert os.path.exists(world.marker(me))


# -- one thread at a time ---------------------------------------------------------------------------------------------


def test_turn_when_another_thread_is_inside_then_the_wait_for_it_is_bounded(world: World) -> None:
    """ "a daemon thread that never got its turn says registry lock <path> was not tried: another thread of this daemon
    held its turn past the bound" """
    home = world.process()
    held = taken(take(home, Wait.RULED))
    disk = Counting()
    for wait, bound in ((Wait.HEARTBEAT, 0.0), (Wait.TOUCH, 1.0), (Wait.RULED, 10.0)):
        began = world.clock.mono
        assert refused(take(home._replace(disk=disk), wait)) == (
            f"registry lock {world.lock} was not tried: another thread of this daemon held its turn past the bound"
        )
        assert world.clock.mono - began == pytest.approx(bound)
    assert disk.steps == []
    release(home, held)


def test_turn_when_it_comes_late_then_it_counts_inside_the_same_deadline(world: World) -> None:
    """ "its wait for that turn counts inside the same deadline" """
    home = world.process()
    held = taken(take(home, Wait.RULED))
    other = world.record(world.process())

    def leaves(_: float) -> None:
        if sum(world.clock.slept) > 5.999 and world.holder() != other.line:
            release(home, held)
            world.hold(other)

    world.clock.on_sleep = leaves
    began = world.clock.mono
    assert f"is held by box pid {other.pid}" in refused(take(home, Wait.RULED))
    assert world.clock.mono - began == pytest.approx(10.0)


def test_turn_when_it_comes_past_the_bound_then_a_try_is_still_made(world: World) -> None:
    """ "There is always one try, and with a clock its reclaim step (in the daemon, once the thread has its turn)" """
    home = world.process()
    held = taken(take(home, Wait.RULED))
    world.clock.on_sleep = lambda _: release(home, held) if world.files() else None
    taken(take(home, Wait.TOUCH))


def test_turn_when_many_threads_write_then_they_go_in_one_by_one(tmp_path: Path) -> None:
    home = Home(str(tmp_path), MountedDisk())
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(5):
            held = taken(take(home, Wait.RULED))
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            inside[0] -= 1
            release(home, held)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert os.listdir(tmp_path) == []


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_turn_when_forked_inside_then_the_child_has_its_own(world: World) -> None:
    home = world.process()
    held = taken(take(home, Wait.RULED))
    child = os.fork()
    if child == 0:
        os._exit(7 if registry_lock._turn.acquire(blocking=False) else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    release(home, held)


# -- who this process is, on which mount -------------------------------------------------------------------------------


class Mounted(MountedDisk):
    """A disk that counts how often its mounts are looked at."""

    looks = 0

    def mount_table(self) -> bytes:
        self.looks += 1
        return super().mount_table()


def test_self_when_locks_are_taken_then_the_mount_is_looked_at_once_a_second(world: World) -> None:
    """A mount that has changed must be seen soon; a look for each take would cost more than the take."""
    registry_lock._selves.clear()  # or others' homes may push this one's out
    disk = Mounted()
    home, other = world.process(disk), world.process(disk)
    for passed, looks in ((0.0, 2), (0.5, 2), (0.499, 2), (0.001, 4), (0.9, 4)):
        world.clock.pass_(passed)
        for one in (home, other):
            release(one, taken(take(one, Wait.RULED)))
        assert disk.looks == looks


def test_self_when_one_process_works_on_many_homes_then_few_are_kept_in_mind(tmp_path: Path) -> None:
    registry_lock._selves.clear()
    kept = []
    for number in range(3 * registry_lock.FRESH_HOMES):
        folder = tmp_path / str(number)
        folder.mkdir()
        home = World(folder).process()
        release(home, taken(take(home, Wait.RULED)))
        kept.append(len(registry_lock._selves))
    assert max(kept) == registry_lock.FRESH_HOMES


# -- what lies at the lock's path -------------------------------------------------------------------------------------


def test_lock_when_it_is_a_pipe_or_a_link_then_nobody_hangs_and_nothing_is_followed(world: World) -> None:
    os.mkfifo(world.lock)
    assert "its record names no holder (it is no regular file)" in refused(take(world.process(), Wait.HEARTBEAT))
    os.unlink(world.lock)
    dead = world.dead()
    world.hold(dead, f"{world.path}/elsewhere")
    os.symlink(f"{world.path}/elsewhere", world.lock)
    assert "its record names no holder (it is no regular file)" in refused(take(world.process(), Wait.HEARTBEAT))
    assert look(world.process()).state is LockIs.UNPARSABLE
    assert world.files() == [".registry.lock", "elsewhere"]


def test_lock_when_its_record_is_long_or_strange_then_the_sentence_stays_one_plain_line(world: World) -> None:
    world.hold(b"\x1b[31m" + b"x" * 9000 + b"\nmore\n")
    sentence = refused(take(world.process(), Wait.HEARTBEAT))
    assert len(sentence) < 700
    assert sentence.isprintable()


def test_lock_when_a_field_would_lead_out_of_the_home_then_no_marker_is_made_of_it(world: World) -> None:
    world.hold(b"../../../tmp/x:m1:b1:4026531836:99999:1\n")
    assert "its record names no holder (../../../tmp/x:m1:b1:4026531836:99999:1)" in refused(
        take(world.process(), Wait.HEARTBEAT)
    )


# -- clear ------------------------------------------------------------------------------------------------------------


def test_clear_when_free_then_says_so(world: World) -> None:
    assert clear(world.process()) == Free(f"registry lock {world.lock} is free")
    home = world.process()._replace(path=f"{world.path}/none")
    assert clear(home) == Free(f"registry lock {home.lock} is free")
    assert not os.path.exists(home.path)


def test_clear_when_the_holder_is_dead_then_clears_it_and_does_not_take_it(world: World) -> None:
    dead = world.dead()
    world.hold(dead)
    assert clear(world.process()) == Cleared(f"cleared registry lock {world.lock}, held by box pid {dead.pid}")
    assert world.clock.slept == [1.0]
    assert world.files() == [os.path.basename(world.marker(dead))]
    assert not registry_lock._turn.locked()


def test_clear_when_the_chain_is_long_then_no_deadline_ends_it(world: World) -> None:
    chain = [world.dead() for _ in range(4)]
    world.hold(chain[0])
    for one, other in itertools.pairwise(chain):
        world.hold(other, world.marker(one))
    slow = Acting("open", world.marker(chain[1]), lambda: world.clock.pass_(600))
    assert isinstance(clear(world.process(slow)), Cleared)


def test_clear_when_a_thread_of_this_process_left_it_then_clears_it(world: World) -> None:
    home = world.process()
    world.hold(world.record(home))
    assert isinstance(clear(home), Cleared)
    assert world.files() == []


def test_clear_when_another_is_reclaiming_then_it_is_given_time_and_told_of(world: World) -> None:
    dead, other = world.dead(), world.process()
    world.hold(dead)
    world.hold(world.record(other), world.marker(dead))

    def finishes(_: float) -> None:
        if sum(world.clock.slept) > 0.699 and os.path.exists(world.lock):
            os.unlink(world.lock)

    world.clock.on_sleep = finishes
    sentence = f"registry lock {world.lock} was cleared by another writer"
    assert clear(world.process()) == Cleared(sentence, by_another=True)
    assert sum(world.clock.slept) == pytest.approx(0.7)


def test_clear_when_another_reclaimed_and_took_it_then_says_who_has_it_now(world: World) -> None:
    dead, other = world.dead(), world.record(world.process())
    world.hold(dead)
    world.hold(other, world.marker(dead))

    def retakes(_: float) -> None:
        if sum(world.clock.slept) > 0.699:
            world.hold(other)

    world.clock.on_sleep = retakes
    assert clear(world.process()) == Cleared(
        f"registry lock {world.lock} was cleared by another writer; box pid {other.pid} holds it now", by_another=True
    )
    assert world.holder() == other.line


def test_clear_when_the_reclaimer_does_not_finish_then_refuses_after_two_seconds(world: World) -> None:
    dead, other = world.dead(), world.record(world.process())
    world.hold(dead)
    world.hold(other, world.marker(dead))
    outcome = clear(world.process())
    assert isinstance(outcome, NotCleared)
    assert sum(world.clock.slept) == pytest.approx(2.0)
    assert world.holder() == dead.line


def test_clear_when_the_reclaimer_dies_meanwhile_then_its_marker_is_passed(world: World) -> None:
    dead, other = world.dead(), world.process()
    world.hold(dead)
    world.hold(world.record(other), world.marker(dead))
    world.clock.on_sleep = lambda _: world.machine.end(other.procs.pid())
    assert isinstance(clear(world.process()), Cleared)


def test_clear_when_the_holder_itself_releases_then_it_is_free(world: World) -> None:
    live = world.process()
    world.hold(world.record(live))
    opens = []

    def gone() -> None:
        opens.append(1)
        if len(opens) == 2:
            os.unlink(world.lock)

    assert clear(world.process(Acting("open", world.lock, gone, times=2))) == Free(
        f"registry lock {world.lock} is free"
    )


def test_clear_when_another_thread_is_inside_then_waits_and_then_says_so(world: World) -> None:
    home = world.process()
    held = taken(take(home, Wait.RULED))
    outcome = clear(home)
    assert outcome == NotCleared(
        f"NOT cleared: registry lock {world.lock} was not tried: another thread of this daemon held its turn "
        "past the bound"
    )
    release(home, held)


# -- look -------------------------------------------------------------------------------------------------------------


def test_look_when_anything_lies_there_then_nothing_is_written_or_taken(world: World) -> None:
    home = world.process(disk := Counting())
    looks = [look(home)]
    for content in (world.dead(), ELSEWHERE, world.record(home), b"what is this\n"):
        world.hold(content)
        looks.append(look(home))
    os.unlink(world.lock)
    os.mkdir(world.lock)
    looks.append(look(home))
    assert [one.state for one in looks] == [
        LockIs.FREE,
        LockIs.HELD,
        LockIs.HELD,
        LockIs.HELD,
        LockIs.UNPARSABLE,
        LockIs.OLDER_VERSION,
    ]
    assert [one.provable for one in looks] == [False, True, False, True, False, False]
    assert [step for step in disk.steps if step.changes] == []
    assert world.clock.slept == []


def test_look_when_the_holder_is_dead_then_gives_record_age_and_proof_in_words(world: World) -> None:
    dead = world.dead()
    world.hold(dead)
    os.utime(world.lock, (world.clock.wall - 12.5, world.clock.wall - 12.5))
    found = look(world.process())
    assert found.record == dead
    assert found.age_s == pytest.approx(12.5)
    assert found.verdict == f"dead: same boot, pid {dead.pid} is gone"
    assert found.provable
    assert found.sentence.startswith(
        f"registry lock {world.lock} is held by box pid {dead.pid} start {dead.start} (13s old)"
    )
    assert found.sentence.endswith(found.recovery)


def test_look_when_the_holder_cannot_be_proved_then_gives_the_failed_lines_own_recovery(world: World) -> None:
    world.hold(ELSEWHERE)
    home = world.process()
    found = look(home)
    assert found.verdict == "cannot be proved from here: another machine"
    assert not found.provable
    assert refused(take(home, Wait.HEARTBEAT)).endswith(found.recovery)


def test_look_when_this_process_is_inside_then_its_own_lock_is_not_called_left(world: World) -> None:
    home = world.process()
    held = taken(take(home, Wait.RULED))
    found = look(home)
    assert found.verdict == f"alive: pid {held.record.pid} runs on this machine"
    assert not found.provable
    release(home, held)
    world.hold(held.record)
    assert look(home).verdict == "left by a thread of this process"
    assert look(home).provable


def test_look_when_the_clock_stepped_back_then_the_age_is_not_negative(world: World) -> None:
    world.hold(ELSEWHERE)
    os.utime(world.lock, (world.clock.wall + 500, world.clock.wall + 500))
    found = look(world.process())
    assert found.age_s == 0.0
    assert "(0s old)" in found.sentence


# -- a look at the markers ---------------------------------------------------------------------------------------------


def test_markers_when_looked_at_then_the_locks_own_chain_is_told_and_the_others_are_counted(world: World) -> None:
    holder, one = world.dead(), world.dead()
    live = world.process()
    world.hold(holder)
    world.hold(one, world.marker(holder))
    world.hold(world.record(live), world.marker(one))
    world.hold(one, world.marker(world.dead()))
    before = world.files()
    seen = markers(world.process(), holder)
    assert [(marker.path, marker.of, marker.by) for marker in seen.chain] == [
        (world.marker(holder), holder, one),
        (world.marker(one), one, world.record(live)),
    ]
    assert [marker.verdict for marker in seen.chain] == [
        f"dead: same boot, pid {one.pid} is gone",
        f"alive: pid {world.record(live).pid} runs on this machine",
    ]
    assert seen.others == 1
    assert world.files() == before


def test_markers_when_one_names_a_record_before_it_then_the_chain_ends(world: World) -> None:
    one, two = world.dead(), world.dead()
    world.hold(two, world.marker(one))
    world.hold(one, world.marker(two))
    assert [marker.by for marker in markers(world.process(), one).chain] == [two, one]


@pytest.mark.parametrize(
    ("data", "state", "verdict"),
    [
        pytest.param(
            b"who\n", LockIs.UNPARSABLE, "cannot be proved anywhere: the marker names nobody, so no reclaim can ",
            id="unparsable",
        ),
        pytest.param(
            None,
            LockIs.UNPARSABLE,
            "cannot be proved anywhere: the marker names nobody, so no reclaim can ",
            id="a-link",
        ),
    ],
)  # fmt: skip
def test_marker_when_it_names_nobody_then_ends_the_chain_and_says_so(
    world: World, data: bytes | None, state: LockIs, verdict: str
) -> None:
    holder = world.dead()
    if data is None:
        os.symlink("nowhere", world.marker(holder))
    else:
        world.hold(data, world.marker(holder))
    (marker,) = markers(world.process(), holder).chain
    assert (marker.state, marker.by) == (state, None)
    assert marker.verdict.startswith(verdict)


def test_markers_when_the_lock_is_free_then_only_their_number_is_told(world: World) -> None:
    world.hold(ELSEWHERE, world.marker(world.dead()))
    assert markers(world.process(), None) == ((), 1)


def test_markers_when_the_folder_cannot_be_listed_then_their_number_is_not_known(world: World) -> None:
    class Unlisted(MountedDisk):
        def listdir(self, path: str) -> list[str]:
            raise PermissionError(errno.EACCES, path)

    assert markers(world.process(Unlisted()), None).others is None
