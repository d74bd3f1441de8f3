"""The parts of the engine alone: operator, executors, duties, the watch's filter, the recover."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import identity, registry_lock
from sot_tui.comm.clock import SystemClock
from sot_tui.comm.errors import Refused
from sot_tui.comm.home import Home, ensure_home
from sot_tui.engine import operator
from sot_tui.engine.client import ANOTHER_WRITER, Recovery
from sot_tui.engine.duties import FIRST_PAUSE, Duties
from sot_tui.engine.executors import Executor, Pool
from sot_tui.engine.fold import Event, Faulted, Mended
from sot_tui.engine.observe import Observer
from sot_tui.engine.watch import says_something

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("wanted", "host", "handle", "file"),
    [
        ("", "box", "operator-box", "operator-box.txt"),
        ("anna", "box", "anna", "operator-box.txt"),
        ("@anna", "box", "anna", "operator-box.txt"),
        ("", "a-very-long-host-name", "operator-a-very-long--31cb14", "operator-a-very-long--31cb14.txt"),
    ],
)
def test_operator_when_asked_then_has_a_handle_and_a_self_file_that_names_no_row(
    wanted: str, host: str, handle: str, file: str, comm_home: Path
) -> None:
    found = operator.operator_of(Home(str(comm_home)), {"SOT_SELF_HOST": host}, wanted)
    if host == "box":
        assert (found.handle, found.pin.self_file) == (handle, f"{comm_home}/self/{file}")
    assert "__" not in os.path.basename(found.pin.self_file)
    assert found.handle.startswith(("operator-", "anna"))
    assert found.pin.project.root == str(comm_home)


def test_operator_when_the_settings_name_no_handle_then_is_refused(comm_home: Path) -> None:
    with pytest.raises(Refused, match="no handle"):
        operator.operator_of(Home(str(comm_home)), {"SOT_SELF_HOST": "box"}, "no handle")


# -- executors and duties -------------------------------------------------------------------------------------------


async def test_work_when_handed_over_then_runs_in_the_named_thread_and_its_fault_comes_back() -> None:
    executor = Executor("test")
    assert await executor.run(lambda: threading.current_thread().name) == "sot-test"
    with pytest.raises(ZeroDivisionError):
        await executor.run(lambda: 1 // 0)
    assert await executor.close(1.0)


@pytest.mark.parametrize("busy", [0, 1, 3])
async def test_pool_when_it_is_used_after_its_close_then_the_work_is_done_and_nobody_waits_for_ever(busy: int) -> None:
    """An engine whose socket's duty ended while it stopped listening waited for its pool, and never ended."""
    pool, free = Pool("test", 3), threading.Event()
    at_work = [asyncio.ensure_future(pool.run(free.wait)) for _ in range(busy)]
    if not busy:
        assert await pool.run(lambda: 1) == 1
    await asyncio.sleep(0)
    pool.close()
    late = [asyncio.ensure_future(pool.run(lambda: 2))]
    free.set()
    done, waiting = await asyncio.wait([*at_work, *late], timeout=20)
    assert not waiting
    assert len(done) == busy + 1
    pool.close()


async def test_pool_when_the_system_has_no_thread_left_then_nothing_waits_for_one_that_was_never_made() -> None:
    """A box full of processes: what could not be begun says so, and everything goes on as soon as there is room."""
    pool = Pool("test", 2)
    was = threading.stack_size(1 << 46)  # more than any address space holds, so no thread can be made
    try:
        for _ in range(3):
            with pytest.raises(RuntimeError, match="can't start new thread"):
                await pool.run(lambda: 1)
    finally:
        threading.stack_size(was)
    async with asyncio.timeout(10):
        done = await asyncio.gather(pool.run(lambda: 1), pool.run(lambda: 2), pool.run(lambda: 3))
    assert list(done) == [1, 2, 3]
    pool.close()


async def test_work_when_nobody_waits_for_it_any_more_then_is_done_all_the_same() -> None:
    executor = Executor("test")
    may_go, done = threading.Event(), threading.Event()

    def work() -> None:
        may_go.wait(10)
        done.set()

    waiting = asyncio.ensure_future(executor.run(work))
    await asyncio.sleep(0)
    waiting.cancel()
    assert not await executor.close(0.01), "it is not waited for past the bound"
    may_go.set()
    assert await asyncio.to_thread(done.wait, 10)


async def test_duty_when_it_raises_or_ends_then_is_told_and_started_again() -> None:
    told: list[Event] = []
    rounds = asyncio.Event()
    tries = 0

    async def duty(well: Callable[[], None]) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise Refused("no way")
        if tries == 2:
            well()
            raise OSError("disk gone")
        if tries == 3:
            return
        rounds.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        duties = Duties(group, SystemClock(), told.append)
        duties.start("watch", duty)
        async with asyncio.timeout(20):
            await rounds.wait()
        duties.stop()
    sentences = [event.sentence for event in told if isinstance(event, Faulted)]
    assert sentences == [
        f"no way; next try in {FIRST_PAUSE:g} s",
        f"OSError: disk gone; next try in {FIRST_PAUSE:g} s",
        f"it ended; next try in {FIRST_PAUSE * 2:g} s",
    ]
    assert Mended("watch") in told


# -- the watch ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("registry.json", True),
        (".registry.lock", True),
        ("registry.json.tmp", False),
        (".registry.lock.tmp.x.1", False),
        (".registry.lock.reclaim.x", False),
        ("inbox/a.jsonl", True),
        ("inbox/a.lock", False),
        ("read/a.cursor", True),
        ("read/.a.cursor.1.2", False),
        ("state/a.tick", False),
        ("inbox", False),
    ],
)
def test_change_when_it_can_change_the_fleet_then_is_a_hint(path: str, says: bool, comm_home: Path) -> None:
    assert says_something(Home(str(comm_home)), f"{comm_home}/{path}") is says


# -- the recover ----------------------------------------------------------------------------------------------------


def test_recover_when_the_lock_is_free_or_anothers_then_leaves_it_alone(comm_home: Path) -> None:
    home = Home(str(comm_home))
    ensure_home(home)
    observer = Observer(home)
    assert observer.recover("box:m:b:n:1:2").what is Recovery.ANOTHER
    lock = comm_home / ".registry.lock"
    lock.write_text("far:m:b:1:1:2\n")
    found = observer.recover("box:m:b:n:1:2")
    assert (found.what, found.sentence) == (
        Recovery.ANOTHER,
        f"{ANOTHER_WRITER}: it is held by far pid 1 start 2 now",
    )
    assert lock.exists()


def test_recover_when_the_proof_does_not_hold_then_gives_the_failed_line(comm_home: Path) -> None:
    """The proof is run again at the key press: what the dialog once showed proves nothing."""
    home = Home(str(comm_home))
    ensure_home(home)
    held = registry_lock.take(home, registry_lock.Wait.RULED)
    assert isinstance(held, registry_lock.Held)
    try:
        found = Observer(home).recover(held.record.line.rstrip("\n"))
        assert found.what is Recovery.REFUSED
        assert found.sentence.startswith(f"registry lock {home.lock} is held by ")
        assert (comm_home / ".registry.lock").exists()
    finally:
        registry_lock.release(home, held)


def test_registry_when_its_bytes_are_the_same_then_is_not_taken_apart_again(comm_home: Path) -> None:
    home = Home(str(comm_home))
    ensure_home(home)
    observer = Observer(home)
    first, second = observer.registry(), observer.registry()
    assert first.agents is second.agents  # type: ignore[union-attr]  # both were read well


def test_operator_when_the_home_is_reached_otherwise_or_was_moved_then_is_the_same_person(
    comm_home: Path,
) -> None:
    """A link to the comm home, or a new place for it, once left the person unable to send for good."""
    environ = {"SOT_SELF_HOST": "box", "HOME": str(comm_home.parent)}
    linked, moved = comm_home.parent / "linked", comm_home.parent / "moved"

    def sender(path: Path) -> str | None:
        home = Home(str(path))
        person = operator.operator_of(home, environ, "")
        assert operator.join(home, environ, person) == "operator-box"
        return identity.sender_fault(operator.verified(home, environ, person))

    comm_home.parent.mkdir(exist_ok=True)
    assert sender(comm_home) is None
    linked.symlink_to(comm_home)
    assert sender(linked) is None
    linked.unlink()
    comm_home.rename(moved)
    assert sender(moved) is None
