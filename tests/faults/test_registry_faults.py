"""The registry, with the disk failing, lying or dying at every single step of a replace and of `ensure_home`.

The invariants: the registry is the old one or the new one, whole, never absent or partial; what was answered `Written`
stands there and what was answered "nothing was written" does not; nothing is ever repaired; the next writer gets
through.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import registry, registry_lock
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.registry import NotWritten, Registry, Wait, Written, replace
from tests.faults.disks import Counting, Dying, Failing, Step, dies, steps_of
from tests.seams import JumpingClock, Machine, MountedDisk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OLD = b'{"protocol_version":1,"agents":{"a-box":{"host":"box","n":"old"},"other":{"n": 1e1000}}}\n'
ERRORS = (errno.EIO, errno.ESTALE, errno.ENOSPC, errno.EACCES, errno.EEXIST)
FOREVER = 10**9


class Quick(MountedDisk):
    """A disk for the processes beside the one that is tested: nobody cuts its power."""

    def flush(self, descriptor: int) -> None:
        pass


class Scene:
    """A comm home with a registry, and two processes on one machine."""

    def __init__(self, path: str, disk: Counting, *, made: bool = True) -> None:
        clock, self.machine = JumpingClock(), Machine()
        self.me = Home(f"{path}/comm", disk, clock, self.machine.start())
        self.other = Home(f"{path}/comm", Quick(), clock, self.machine.start())
        self.outcome: Written | NotWritten | None = None
        if made:
            ensure_home(self.other)
            with open(self.me.registry, "wb") as file:
                file.write(OLD)

    def replace(self) -> None:
        self.outcome = replace(self.me, writes("new"), Wait.TOUCH)

    def state(self) -> str:
        found = registry.read(self.other)
        assert isinstance(found, Registry), found
        assert b'"other":{"n": 1e1000}' in self.other.disk.read(self.me.registry)
        return str((found.entry("a-box") or {})["n"])


def writes(text: str) -> Callable[[Registry], bool]:
    def change(found: Registry) -> bool:
        found.agents["a-box"]["n"] = text
        return True

    return change


def _count(run: Callable[[Scene], object], *, made: bool) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        steps = steps_of(lambda disk: run(Scene(folder, disk, made=made)))
    return [f"{number}-{step.name}" for number, step in enumerate(steps, 1)]


def _params(labels: list[str]) -> list[object]:
    return [pytest.param(number, id=label) for number, label in enumerate(labels, 1)]


def _open_home(scene: Scene) -> None:
    """A comm home as an older version left it: open, without some folders, with a registry."""
    os.makedirs(f"{scene.me.path}/inbox", mode=0o755)
    os.makedirs(f"{scene.me.path}/probe/x", mode=0o755)
    for path in ("registry.json", "inbox/a.jsonl", "probe/x/file", "VERSION"):
        with open(f"{scene.me.path}/{path}", "wb") as file:
            file.write(OLD if path == "registry.json" else b"x")
        os.chmod(f"{scene.me.path}/{path}", 0o644)
    ensure_home(scene.me)


def _new_home(scene: Scene) -> None:
    ensure_home(scene.me)


REPLACE = _count(Scene.replace, made=True)
NEW_HOME = _count(_new_home, made=False)
OPEN_HOME = _count(_open_home, made=False)


@pytest.fixture(autouse=True)
def _turn() -> Iterator[None]:
    registry.parse(b'{"agents":{}}')  # nothing is known from an earlier look
    yield
    registry_lock._new_turn()


def test_steps_when_counted_then_every_step_that_matters_is_among_them() -> None:
    names = [label.partition("-")[2] for label in REPLACE]
    assert [name for name in names if name in {"link", "flush", "rename"}] == ["link", "flush", "rename"]
    assert names.index("flush") < names.index("rename")
    assert "link" in {label.partition("-")[2] for label in NEW_HOME}
    assert "chmod" in {label.partition("-")[2] for label in OPEN_HOME}


def next_writers_get_through(scene: Scene) -> None:
    before = scene.state()
    for home in (scene.me._replace(disk=Quick()), scene.other):
        written = replace(home, writes(before + "+"), Wait.RULED)
        assert isinstance(written, Written), written
        assert scene.state() == before + "+"
    left = set(os.listdir(scene.me.path)) - {"inbox", "read", "self", "registry.json"}
    assert all(name.startswith(".registry.lock.tmp.") for name in left), left


@pytest.mark.parametrize("step", _params(REPLACE))
@pytest.mark.parametrize("until", [1, FOREVER], ids=["once", "from here on"])
@pytest.mark.parametrize("lie", [False, True], ids=["not done", "done"])
def test_replace_when_a_step_fails_then_its_answer_is_true(tmp_path: Path, step: int, until: int, *, lie: bool) -> None:
    for error in ERRORS:
        folder = tmp_path / errno.errorcode[error]
        folder.mkdir()
        scene = Scene(str(folder), Failing(step, error, until=step + until, lie=lie))
        scene.replace()
        state = scene.state()
        assert isinstance(scene.outcome, Written | NotWritten)
        if isinstance(scene.outcome, Written):
            assert state == "new"
        else:
            assert scene.outcome.sentence.startswith(("FAILED: the registry ", "ERROR: registry lock "))
            # A disk that answers nothing truly any more cannot be asked whether its rename was made.
            assert state == "old" or (lie and until == FOREVER)
        next_writers_get_through(scene)


@pytest.mark.parametrize("step", _params(REPLACE))
def test_replace_when_the_process_dies_at_a_step_then_the_registry_is_the_old_or_the_new_one(
    tmp_path: Path, step: int
) -> None:
    for mode, after, part in (("before", False, None), ("after", True, None), ("torn", False, 30)):
        folder = tmp_path / mode
        folder.mkdir()
        scene = Scene(str(folder), Dying(step, after=after, part=part))
        assert dies(scene.replace)
        registry_lock._new_turn()
        scene.machine.end(scene.me.procs.pid())
        renamed = REPLACE.index(next(label for label in REPLACE if label.endswith("rename"))) + 1
        assert scene.state() == ("new" if step > renamed or (step == renamed and after) else "old")
        written = replace(scene.other, writes("next"), Wait.RULED)
        assert isinstance(written, Written)
        assert scene.state() == "next"
        assert not os.path.exists(f"{scene.me.registry}.tmp")


@pytest.mark.parametrize("step", _params(REPLACE))
def test_replace_when_the_registry_is_unreadable_and_a_step_fails_then_it_stays_as_it_is(
    tmp_path: Path, step: int
) -> None:
    """ "rewriting an unreadable file is the wipe" """
    for error in ERRORS:
        for number, data in enumerate((b"", b"not json\n", b'{"agents":[]}')):
            folder = tmp_path / f"{error}-{number}"
            folder.mkdir()
            scene = Scene(str(folder), Failing(step, error))
            with open(scene.me.registry, "wb") as file:
                file.write(data)
            scene.replace()
            assert isinstance(scene.outcome, NotWritten)
            assert scene.other.disk.read(scene.me.registry) == data


def check_home(home: Home, *, older: bool) -> None:
    """The home is made whole by the next call; a registry that was there is the same to the byte."""
    good = home._replace(disk=Quick())
    if os.path.exists(home.registry):
        assert good.disk.read(home.registry) in ({OLD} if older else {b'{"protocol_version":1,"agents":{}}\n'})
    elif older:
        raise AssertionError("the registry is gone")
    ensure_home(good)
    assert json.loads(good.disk.read(home.registry))["protocol_version"] == 1
    for name in ("", "inbox", "read", "self"):
        assert stat.S_IMODE(os.stat(f"{home.path}/{name}").st_mode) == 0o700
    assert stat.S_IMODE(os.stat(home.registry).st_mode) == 0o600
    if older:
        assert good.disk.read(home.registry) == OLD
        assert stat.S_IMODE(os.stat(f"{home.path}/inbox/a.jsonl").st_mode) == 0o600
        assert stat.S_IMODE(os.stat(f"{home.path}/VERSION").st_mode) == 0o644
    assert isinstance(registry.read(good), Registry)


@pytest.mark.parametrize(
    ("run", "step"),
    [pytest.param(_new_home, n, id=f"new-{label}") for n, label in enumerate(NEW_HOME, 1)]
    + [pytest.param(_open_home, n, id=f"open-{label}") for n, label in enumerate(OPEN_HOME, 1)],
)
def test_ensure_home_when_a_step_goes_wrong_then_no_registry_is_lost_and_the_next_call_ends_it(
    tmp_path: Path, run: Callable[[Scene], None], step: int
) -> None:
    disks: list[Counting] = [Dying(step), Dying(step, after=False), Dying(step, part=5)]
    disks += [Failing(step, error, lie=lie) for error in ERRORS for lie in (False, True)]
    disks += [Failing(step, error, until=FOREVER) for error in ERRORS]
    for number, disk in enumerate(disks):
        folder = tmp_path / str(number)
        folder.mkdir()
        scene = Scene(str(folder), disk, made=False)
        with suppress(OSError):
            dies(lambda scene=scene: run(scene))  # type: ignore[misc]
        check_home(scene.me, older=run is _open_home)


class Beside(Counting):
    """A disk that lets something happen elsewhere right before a step."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at, self.act = at, list[Callable[[], object]]()

    def step(self, step: Step, act: Callable[[], Any]) -> Any:
        if len(self.steps) + 1 == self.at:
            for one in self.act:
                one()
        return super().step(step, act)


def joins_first(found: Registry) -> bool:
    found.agents["first"] = {}
    return True


@pytest.mark.parametrize("step", _params(NEW_HOME))
def test_ensure_home_when_two_make_it_at_once_then_one_registry_is_published_and_never_replaced(
    tmp_path: Path, step: int
) -> None:
    """A hard link fails on an existing name, so whoever is second changes nothing."""
    disk = Beside(step)
    scene = Scene(str(tmp_path), disk, made=False)
    disk.act += [lambda: ensure_home(scene.other), lambda: replace(scene.other, joins_first, Wait.RULED)]
    ensure_home(scene.me)
    found = registry.read(scene.other)
    assert isinstance(found, Registry)
    assert found.entry("first") == {}
    assert set(os.listdir(scene.me.path)) == {"inbox", "read", "self", "registry.json"}
