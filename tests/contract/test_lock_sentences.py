"""The sentences of a lock that is not to be had, literally as the contract words them (The registry lock, FAILED).

Each clause is quoted in its test. What a command prints before them ("ERROR: ") is observed of the reference client.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import registry_lock
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.proof import Record
from sot_tui.comm.registry import NotWritten, Written, replace
from sot_tui.comm.registry_lock import Cleared, Free, Held, NotCleared, NotTaken, Wait, clear, release, take
from tests.seams import STALE_MOUNT, JumpingClock, Machine, MountedDisk, Process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOLDER = Record("box", "m1", "b1", "4026531836", "500", "77")
NO_FIELDS = Record("otherbox", "-", "-", "-", "4242", "-")
BEYOND = Record("otherbox", "m2", "b2", "1", "4242", "77")


class Here(Home):
    """A process of the machine `box`, with a lock that was taken 3 seconds ago."""

    @property
    def me(self) -> Record:
        assert isinstance(self.procs, Process)
        return self.procs.record()

    def held_by(self, content: Record | bytes | None, path: str = "") -> None:
        at = path or self.lock
        if content is None:
            os.mkdir(at)
        else:
            with open(at, "wb") as file:
                file.write(content.line.encode() if isinstance(content, Record) else content)
        os.utime(at, (self.clock.now() - 3, self.clock.now() - 3))

    def marker(self, record: Record) -> str:
        return f"{self.lock}.reclaim.{record.id}"

    def said(self, wait: Wait = Wait.HEARTBEAT) -> str:
        outcome = take(self, wait)
        assert isinstance(outcome, NotTaken), outcome
        return outcome.sentence

    def refused(self) -> str:
        outcome = clear(self)
        assert isinstance(outcome, NotCleared), outcome
        return outcome.sentence


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    home = Here(str(tmp_path / "comm"), MountedDisk(), JumpingClock(), Machine().start())
    ensure_home(home)
    home.procs.machine.running[500] = "77"  # type: ignore[attr-defined]  # the holder runs
    yield home
    registry_lock._new_turn()


def end_holder(here: Here) -> None:
    assert isinstance(here.procs, Process)
    here.procs.machine.end(500)


def on_sleep(here: Here, act: Callable[[], None]) -> None:
    assert isinstance(here.clock, JumpingClock)
    here.clock.on_sleep = lambda _: act()


# -- the first sentence, and who can prove what -----------------------------------------------------------------------


def test_held_when_the_holder_runs_then_says_the_first_sentence(here: Here) -> None:
    """ "registry lock <path> is held by <host> pid <pid> start <tick> (<age> old): <why>. If it is dead, run any comm
    command on <host>." """
    here.held_by(HOLDER)
    assert here.said() == (
        f"registry lock {here.lock} is held by box pid 500 start 77 (3s old): it is running. "
        "If it is dead, run any comm command on box."
    )


def test_held_when_a_ruled_wait_is_over_then_a_command_prints_it_with_its_age(here: Here) -> None:
    here.held_by(HOLDER)
    assert replace(here, lambda _: True, Wait.RULED) == NotWritten(
        f"ERROR: registry lock {here.lock} is held by box pid 500 start 77 (13s old): it is running. "
        "If it is dead, run any comm command on box."
    )


def test_held_when_the_holder_is_on_another_machine_then_says_who_can_and_what_if_nobody_will(here: Here) -> None:
    """ "Where this box cannot prove it dead, on another machine or in another pid namespace, the last sentence is
    instead If it is dead: run any comm command on <host>, or, if <host> will not run again or a comm command there
    says it cannot prove a death, remove <path> by hand." """
    here.held_by(BEYOND)
    assert here.said() == (
        f"registry lock {here.lock} is held by otherbox pid 4242 start 77 (3s old): it is on another machine. "
        "If it is dead: run any comm command on otherbox, or, if otherbox will not run again or a comm command there "
        f"says it cannot prove a death, remove {here.lock} by hand."
    )


def test_held_when_the_holder_is_in_another_pid_namespace_then_names_the_namespace(here: Here) -> None:
    """ "(in a pid namespace: on <host> in its pid namespace, or, if nothing will run there again or ...)" """
    here.held_by(HOLDER._replace(namespace="4026532999"))
    assert here.said() == (
        f"registry lock {here.lock} is held by box pid 500 start 77 (3s old): it is in another pid namespace. "
        "If it is dead: run any comm command on box in its pid namespace, or, if nothing will run there again or a "
        f"comm command there says it cannot prove a death, remove {here.lock} by hand."
    )


def test_held_when_the_record_has_no_proof_fields_then_says_that_no_box_can(here: Here) -> None:
    """ "When the record that blocks has no proof fields, which no box can prove dead, its last sentence is instead No
    box can prove <host> pid <pid> dead (its record has no proof fields): if it is, remove <path> by hand." """
    here.held_by(NO_FIELDS)
    assert here.said() == (
        f"registry lock {here.lock} is held by otherbox pid 4242 start - (3s old): it is on another machine. "
        f"No box can prove otherbox pid 4242 dead (its record has no proof fields): if it is, remove {here.lock} by "
        "hand."
    )


def test_held_when_this_box_cannot_prove_a_death_then_says_so_in_the_words_the_recovery_names(here: Here) -> None:
    """ "... or a comm command there says it cannot prove a death": so it says that."""
    end_holder(here)
    here.held_by(HOLDER)
    there = Here(here.path, MountedDisk(STALE_MOUNT), here.clock, here.procs)
    assert there.said() == (
        f"registry lock {here.lock} is held by box pid 500 start 77 (3s old): this box cannot prove a death in this "
        "comm home. If it is dead: run any comm command on box, or, if box will not run again or a comm command there "
        f"says it cannot prove a death, remove {here.lock} by hand."
    )


def test_held_when_the_holder_was_not_judged_then_it_gets_the_first_sentence(here: Here) -> None:
    """ "A holder the step did not judge, one that took the lock during the reclaim, gets the first sentence." """
    end_holder(here)
    here.held_by(HOLDER)

    def taken_over() -> None:
        os.unlink(here.lock)
        here.held_by(BEYOND)

    on_sleep(here, taken_over)
    assert here.said() == (
        f"registry lock {here.lock} is held by otherbox pid 4242 start 77 (3s old): it took the lock during the "
        "reclaim. If it is dead, run any comm command on otherbox."
    )


def test_held_when_the_reclaimer_blocks_then_the_recovery_is_the_reclaimers(here: Here) -> None:
    """ "the record that blocks": the marker of a dead holder can be another's."""
    end_holder(here)
    here.held_by(HOLDER)
    start = f"registry lock {here.lock} is held by box pid 500 start 77 (3s old): it is dead, but its reclaim by "
    here.held_by(BEYOND, here.marker(HOLDER))
    assert here.said() == (
        f"{start}otherbox pid 4242 did not finish: it is on another machine. If it is dead: run any comm command on "
        "otherbox, or, if otherbox will not run again or a comm command there says it cannot prove a death, remove "
        f"{here.lock} by hand."
    )
    here.held_by(NO_FIELDS, here.marker(HOLDER))
    assert here.said() == (
        f"{start}otherbox pid 4242 did not finish: it is on another machine. No box can prove otherbox pid 4242 dead "
        f"(its record has no proof fields): if it is, remove {here.lock} by hand."
    )
    here.held_by(here.me._replace(namespace="9"), here.marker(HOLDER))
    assert here.said() == (
        f"{start}box pid {here.me.pid} did not finish: it is in another pid namespace. If it is dead: run any comm "
        "command on box in its pid namespace, or, if nothing will run there again or a comm command there says it "
        f"cannot prove a death, remove {here.lock} by hand."
    )


def test_held_when_the_chain_is_not_walked_to_its_end_then_says_so(here: Here) -> None:
    """ "no reclaim chains past the deadline" """
    end_holder(here)
    here.held_by(HOLDER)
    here.held_by(HOLDER._replace(pid="501"), here.marker(HOLDER))
    assert here.said() == (
        f"registry lock {here.lock} is held by box pid 500 start 77 (3s old): it is dead, but its reclaim chain was "
        "still being walked at the deadline. If it is dead, run any comm command on box."
    )


# -- the other sentences ----------------------------------------------------------------------------------------------


def test_released_when_the_lock_is_gone_since_then_says_that_it_may_be_free(here: Here) -> None:
    """ "A lock found released since the last read says instead registry lock <path> was held by <host> pid <pid> start
    <tick> when last read (<why>); it may have been released since. Retry." """
    here.held_by(HOLDER)

    def gone() -> None:
        if here.clock.monotonic() > 1000.99 and os.path.exists(here.lock):
            os.unlink(here.lock)

    on_sleep(here, gone)
    assert here.said(Wait.TOUCH) == (
        f"registry lock {here.lock} was held by box pid 500 start 77 when last read (it is running); it may have been "
        "released since. Retry."
    )


def test_turn_when_it_never_comes_then_says_that_nothing_was_tried(here: Here) -> None:
    """ "a daemon thread that never got its turn says registry lock <path> was not tried: another thread of this daemon
    held its turn past the bound" """
    held = take(here, Wait.RULED)
    assert isinstance(held, Held)
    assert here.said(Wait.TOUCH) == (
        f"registry lock {here.lock} was not tried: another thread of this daemon held its turn past the bound"
    )
    release(here, held)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"what is this\n", "its record names no holder (what is this)"),
        (b"", "its record names no holder (it is empty)"),
        (None, "held by an older version that records no holder"),
    ],
)
def test_unpassable_when_no_reclaim_can_clear_it_then_says_to_remove_it_by_hand(
    here: Here, content: bytes | None, why: str
) -> None:
    """ "A lock no reclaim can clear (a record read whole that does not parse, an older version's directory, or a marker
    naming a record its walk already passed) says registry lock <path> still held (<age> old): <why>. If its holder is
    dead, remove <path> by hand and retry." """
    here.held_by(content)
    assert here.said() == (
        f"registry lock {here.lock} still held (3s old): {why}. "
        f"If its holder is dead, remove {here.lock} by hand and retry."
    )


@pytest.mark.parametrize("kind", ["pipe", "socket", "link"])
def test_unpassable_when_the_lock_is_no_file_then_says_to_remove_it_by_hand(here: Here, kind: str) -> None:
    """What is no file was seen whole and names nobody: to read it again, as after an I/O error, would never help."""
    here.held_by(HOLDER, f"{here.path}/elsewhere")
    if kind == "pipe":
        os.mkfifo(here.lock)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(here.lock)
    else:
        os.symlink(f"{here.path}/elsewhere", here.lock)
    os.utime(here.lock, (here.clock.now() - 3, here.clock.now() - 3), follow_symlinks=False)
    assert here.said() == (
        f"registry lock {here.lock} still held (3s old): its record names no holder (it is no regular file). "
        f"If its holder is dead, remove {here.lock} by hand and retry."
    )


def test_unpassable_when_a_marker_names_what_the_walk_has_passed_then_names_both(here: Here) -> None:
    end_holder(here)
    here.held_by(HOLDER)
    here.held_by(HOLDER, here.marker(HOLDER))
    assert here.said() == (
        f"registry lock {here.lock} still held (3s old): its reclaim marker "
        f"{here.lock}.reclaim.box.m1.b1.4026531836.500.77 "
        "names box:m1:b1:4026531836:500:77, which its reclaim chain already holds, so no reclaim can pass it. "
        f"If its holder is dead, remove {here.lock} by hand and retry."
    )


def test_not_taken_when_no_holder_was_read_then_says_why_and_to_retry(here: Here) -> None:
    """ "A wait that ends with no holder read, the lock released or taken again just then or its record not read, says
    registry lock <path> was not taken by the deadline: <why>. Retry." """
    here.held_by(HOLDER)

    class Blind(MountedDisk):
        def open(self, path: str, flags: int) -> int:
            if path == here.lock:
                raise PermissionError(errno.EACCES, "no", path)
            return super().open(path, flags)

    assert Here(here.path, Blind(), here.clock, here.procs).said() == (
        f"registry lock {here.lock} was not taken by the deadline: its record could not be read "
        "(EACCES (Permission denied)). Retry."
    )
    end_holder(here)
    on_sleep(here, lambda: os.unlink(here.lock))
    assert here.said() == f"registry lock {here.lock} was not taken by the deadline: it was released just then. Retry."


def test_links_when_the_home_has_none_then_names_the_folder_and_the_error(here: Here) -> None:
    """ "a ruled one FAILs naming "cannot hard-link in <dir>: <errno>" """

    class Fat(MountedDisk):
        def link(self, source: str, target: str) -> None:
            raise PermissionError(errno.EPERM, "no", source, None, target)

    there = Here(here.path, Fat(), here.clock, here.procs)
    assert replace(there, lambda _: True, Wait.RULED) == NotWritten(
        f"ERROR: registry lock {here.lock} was not taken: cannot hard-link in {here.path}: EPERM (Operation not "
        "permitted)"
    )


# -- the verb that clears ---------------------------------------------------------------------------------------------


def test_clear_when_there_is_no_lock_then_says_that_it_is_free(here: Here) -> None:
    """ "With no lock it says the lock is free and exits 0." """
    assert clear(here) == Free(f"registry lock {here.lock} is free")


def test_clear_when_the_holder_is_dead_then_says_whom_it_cleared(here: Here) -> None:
    end_holder(here)
    here.held_by(HOLDER)
    assert clear(here) == Cleared(f"cleared registry lock {here.lock}, held by box pid 500")


@pytest.mark.parametrize("holder", [HOLDER, BEYOND, HOLDER._replace(namespace="4026532999"), NO_FIELDS])
def test_clear_when_the_holder_is_not_proved_dead_then_its_refusal_names_the_failed_lines_recovery(
    here: Here, holder: Record
) -> None:
    """ "Its refusal names the recovery the FAILED line names." """
    here.held_by(holder)
    failed = here.said()
    why_and_recovery = failed.partition("(3s old): ")[2]
    assert why_and_recovery
    assert here.refused() == f"NOT cleared: registry lock {here.lock}: {why_and_recovery}"


def test_clear_when_a_live_reclaimer_is_at_it_then_names_the_recovery_too(here: Here) -> None:
    end_holder(here)
    here.held_by(HOLDER)
    here.held_by(here.me._replace(pid="502", start="1"), here.marker(HOLDER))
    here.procs.machine.running[502] = "1"  # type: ignore[attr-defined]
    assert here.refused() == (
        f"NOT cleared: registry lock {here.lock}: it is dead, but its reclaim by box pid 502 did not finish: it is "
        "running. If it is dead, run any comm command on box."
    )


@pytest.mark.parametrize("content", [b"what is this\n", None])
def test_clear_when_no_reclaim_can_clear_it_then_says_to_remove_it_by_hand(here: Here, content: bytes | None) -> None:
    """ "When no reclaim can clear the lock, its refusal says to remove the lock by hand." """
    here.held_by(content)
    why = "its record names no holder (what is this)" if content else "held by an older version that records no holder"
    assert here.refused() == (
        f"NOT cleared: registry lock {here.lock}: {why}. No reclaim can clear it: if its holder is dead, remove the "
        "lock by hand."
    )


# -- the registry's own sentences -------------------------------------------------------------------------------------


class Failing(MountedDisk):
    """A disk on which one step of the write fails."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def flush(self, descriptor: int) -> None:
        if self.name == "flush":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().flush(descriptor)

    def write(self, descriptor: int, data: bytes) -> None:
        if self.name == "write" and b"agents" in data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(descriptor, data)

    def rename(self, source: str, target: str) -> None:
        if self.name == "rename":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().rename(source, target)


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ("write", "FAILED: the registry could not be read or updated, so nothing was written"),
        (
            "flush",
            "FAILED: the registry update could not be flushed (Input/output error), so nothing was written",
        ),
        (
            "rename",
            "FAILED: the registry update could not be renamed into place (Input/output error), so nothing was written",
        ),
    ],
)
def test_replace_when_a_step_fails_then_says_which_and_nothing_was_written(
    here: Here, step: str, sentence: str
) -> None:
    """ "otherwise nothing is written and the writer prints FAILED: the registry could not be read or updated, so
    nothing was written (or FAILED: the registry update could not be flushed (…), so nothing was written, or … could
    not be renamed into place (…) …)" """
    before = here.disk.read(here.registry)
    assert replace(here._replace(disk=Failing(step)), lambda _: True, Wait.RULED) == NotWritten(sentence)
    assert here.disk.read(here.registry) == before
    assert sorted(os.listdir(here.path)) == ["inbox", "read", "registry.json", "self"]
    assert isinstance(replace(here, lambda _: True, Wait.RULED), Written)
