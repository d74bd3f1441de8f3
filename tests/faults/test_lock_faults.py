"""The registry lock, with the disk failing, lying or dying at every single step of take, release, reclaim and clear.

The steps of a run without faults are counted first; then each of them goes wrong once. Whatever happens: there are
never two holders, nobody alive loses the lock, and the next writers get through. The one exception is the contract's
own (Residual): a process that dies while it reclaims a lock that names itself.
"""

from __future__ import annotations

import errno
import os
import tempfile
from _thread import allocate_lock
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sot_tui.comm import registry_lock
from sot_tui.comm.home import Home
from sot_tui.comm.registry_lock import Held, NotTaken, Wait, clear, release, take
from tests.faults.disks import Counting, Dying, Failing, dies, steps_of
from tests.seams import JumpingClock, Machine, MountedDisk, Process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sot_tui.comm.proof import Record

FOREVER = 10**9


class Scene:
    """A comm home of one machine, and the process `me` whose disk goes wrong."""

    def __init__(self, path: str, disk: Counting) -> None:
        self.path, self.clock, self.machine = path, JumpingClock(), Machine()
        self.lock = f"{path}/.registry.lock"
        self.live = self.home(MountedDisk())
        self.me = self.home(disk)
        self.held: Held | None = None

    def home(self, disk: MountedDisk | Counting | None = None) -> Home:
        return Home(self.path, disk or MountedDisk(), self.clock, self.machine.start())

    def record(self, home: Home) -> Record:
        assert isinstance(home.procs, Process)
        return home.procs.record()

    def dead(self) -> Record:
        home = self.home()
        record = self.record(home)
        self.machine.end(home.procs.pid())
        return record

    def write(self, record: Record, of: Record | None = None) -> None:
        with open(f"{self.lock}.reclaim.{of.id}" if of else self.lock, "w", encoding="ascii") as file:
            file.write(record.line)

    def holder(self) -> str:
        try:
            with open(self.lock, encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def take(self, wait: Wait = Wait.TOUCH) -> None:
        outcome = take(self.me, wait)
        self.held = outcome if isinstance(outcome, Held) else None


def free(scene: Scene) -> None:
    scene.take()


def dead_holder(scene: Scene) -> None:
    scene.write(scene.dead())
    scene.take()


def dead_reclaimers(scene: Scene) -> None:
    chain = [scene.dead() for _ in range(3)]
    scene.write(chain[0])
    scene.write(chain[1], chain[0])
    scene.write(chain[2], chain[1])
    scene.take()


def left_by_a_thread(scene: Scene) -> None:
    scene.write(scene.record(scene.me))
    scene.take()


def live_holder(scene: Scene) -> None:
    scene.write(scene.record(scene.live))
    scene.take(Wait.HEARTBEAT)


def live_reclaimer(scene: Scene) -> None:
    dead = scene.dead()
    scene.write(dead)
    scene.write(scene.record(scene.live), dead)
    scene.take(Wait.HEARTBEAT)


def released(scene: Scene) -> None:
    outcome = take(scene.me._replace(disk=MountedDisk()), Wait.RULED)
    assert isinstance(outcome, Held)
    release(scene.me, outcome)


def cleared(scene: Scene) -> None:
    scene.write(scene.dead())
    clear(scene.me)


SCENES: list[Callable[[Scene], None]] = [
    free,
    dead_holder,
    dead_reclaimers,
    left_by_a_thread,
    live_holder,
    live_reclaimer,
    released,
    cleared,
]
GUARDED = {live_holder, live_reclaimer}
"""Scenes in which the lock may not be removed by anybody."""


class Point(NamedTuple):
    """A step of a scene, counted from 1."""

    scene: Callable[[Scene], None]
    step: int
    label: str


def _points() -> list[Point]:
    """Run each scene once without faults, and return every step it takes."""
    points = []
    for scene in SCENES:
        with tempfile.TemporaryDirectory() as folder:
            steps = steps_of(lambda disk, scene=scene, folder=folder: scene(Scene(folder, disk)))  # type: ignore[misc]
            registry_lock._new_turn()
        points += [
            Point(scene, number, f"{scene.__name__}-{number}-{step.name}") for number, step in enumerate(steps, 1)
        ]
    return points


POINTS = _points()
at_every_step = pytest.mark.parametrize("point", [pytest.param(point, id=point.label) for point in POINTS])


@pytest.fixture(autouse=True)
def _turn() -> Iterator[None]:
    yield
    registry_lock._new_turn()


def test_points_when_counted_then_no_scene_is_empty() -> None:
    assert {point.scene for point in POINTS} == set(SCENES)
    assert len(POINTS) > 120


def gets_through(home: Home, wait: Wait = Wait.RULED) -> None:
    outcome = take(home, wait)
    assert isinstance(outcome, Held), outcome
    release(home, outcome)


def check_alive(scene: Scene, guarded: str, mode: str) -> None:
    """Whatever `me` met, it lives: it holds the lock alone, or nobody's lock was touched; then all get through."""
    holder = scene.holder()
    if scene.held is not None:
        assert holder == scene.held.record.line, mode
        registry_lock._new_turn()  # the other one is another process, whose turn is its own
        refusal = take(scene.home(), Wait.HEARTBEAT)
        assert isinstance(refusal, NotTaken), mode
        registry_lock._turn.acquire()
        release(scene.me._replace(disk=MountedDisk()), scene.held)
    assert not registry_lock._turn.locked(), mode
    if guarded:
        assert holder == guarded, mode
        os.unlink(scene.lock)  # the live one releases, and ends
        scene.machine.end(scene.live.procs.pid())
    gets_through(scene.me._replace(disk=MountedDisk()))
    gets_through(scene.home())


@at_every_step
@pytest.mark.parametrize("until", [1, FOREVER], ids=["once", "from here on"])
def test_lock_when_a_step_fails_then_there_is_one_holder_and_all_get_through(
    tmp_path: Path, point: Point, until: int
) -> None:
    for error in (errno.EIO, errno.ESTALE, errno.ENOSPC, errno.ENOENT, errno.EEXIST):
        for lie in (False, True):
            folder = tmp_path / f"{error}-{lie}"
            folder.mkdir()
            scene = Scene(str(folder), Failing(point.step, error, until=point.step + until, lie=lie))
            guarded = ""
            try:
                point.scene(scene)
            finally:
                scene.me.disk.bury()  # type: ignore[attr-defined]
            if point.scene in GUARDED:
                guarded = scene.holder()
                assert guarded
            check_alive(scene, guarded, f"{point.label} {errno.errorcode[error]} lie={lie}")


@at_every_step
def test_lock_when_the_process_dies_at_a_step_then_the_next_writer_reclaims(tmp_path: Path, point: Point) -> None:
    for mode, after, part in (("before", False, None), ("after", True, None), ("in a write", False, 7)):
        folder = tmp_path / mode
        folder.mkdir()
        disk = Dying(point.step, after=after, part=part)
        scene = Scene(str(folder), disk)
        assert dies(lambda scene=scene: point.scene(scene))  # type: ignore[misc]
        registry_lock._new_turn()
        me = scene.record(scene.me)
        scene.machine.end(scene.me.procs.pid())
        if point.scene in GUARDED:
            assert scene.holder() == scene.record(scene.live).line or point.scene is live_reclaimer
            assert scene.holder(), mode
            os.unlink(scene.lock)
        outcome = take(scene.home(), Wait.RULED)
        if isinstance(outcome, NotTaken):
            # contract, Residual: "leaves reclaim.<S> naming S while the lock names S. Every walk then stops at that
            # marker, and the lock is removed by hand."
            assert point.scene is left_by_a_thread, mode
            assert f"names {me.line.strip()}, which its reclaim chain already holds, so no reclaim can pass it" in (
                outcome.sentence
            )
            continue
        assert scene.holder() == outcome.record.line
        release(scene.home(), outcome)
        gets_through(scene.home())


@at_every_step
def test_lock_when_another_process_acts_at_a_step_then_there_is_never_a_second_holder(
    tmp_path: Path, point: Point
) -> None:
    """At each step of `me`, another process makes one whole try of its own: at most one of the two is inside."""
    held: list[tuple[Home, Held]] = []

    class Between(Counting):
        def step(self, step, act):  # type: ignore[no-untyped-def]  # as Counting has it
            if len(self.steps) + 1 == point.step:
                other = scene.home()
                mine, registry_lock._turn = registry_lock._turn, allocate_lock()
                outcome = take(other, Wait.HEARTBEAT)
                if isinstance(outcome, Held):
                    held.append((other, outcome))
                registry_lock._turn = mine
            return super().step(step, act)

    scene = Scene(str(tmp_path), Between())
    point.scene(scene)
    assert not (held and scene.held), "two holders"
    if held:
        assert scene.holder() == held[0][1].record.line
    elif scene.held:
        assert scene.holder() == scene.held.record.line
