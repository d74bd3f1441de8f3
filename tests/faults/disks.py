"""Disks that count, fail, lie or die at a step: what "after every single step" stands on.

A run on a `Counting` disk says how many steps there are; then a run each fails, lies or dies at step 1, 2, 3 ... A step
is one call of the seam, reading or writing. `Crash` is no Exception, so nothing in the product can catch it, and a disk
that has died does nothing more: not even what a `finally` asks for, as with a real death.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from sot_tui.comm.disk import Disk
from tests.seams import FRESH_MOUNT

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = (
    "open", "read_all", "read_at", "size", "stat", "target_stat", "real_path", "is_on_local_mount", "listdir", "space",
    "revalidate", "close", "write", "flush", "flush_folder", "truncate", "link", "rename", "unlink", "mkdir", "rmdir",
    "chmod", "open_stat", "lock",
)  # fmt: skip
"""Every method of the seam but the whole reads, which are made of these, save that of the mounts."""

CHANGES = frozenset(
    {"write", "flush", "flush_folder", "truncate", "link", "rename", "unlink", "mkdir", "rmdir", "chmod"}
)
"""The steps that change something; so does an `open` that makes a file."""


class Crash(BaseException):
    """The process died here."""


class Step(NamedTuple):
    """One call of the seam."""

    name: str
    args: tuple[Any, ...]

    @property
    def changes(self) -> bool:
        """Whether the step changes what another process could see."""
        return self.name in CHANGES or (self.name == "open" and bool(self.args[1] & os.O_CREAT))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(one)[-60:] for one in self.args)})"


class Counting(Disk):
    """The real disk, every step noted. Its descriptors can be closed at once, as a death closes them."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._opened: set[int] = set()

    def step(self, step: Step, act: Callable[[], Any]) -> Any:
        """Do a step; a subclass decides otherwise."""
        self.steps.append(step)
        return self.done(step, act())

    def done(self, step: Step, found: Any) -> Any:
        """Note what a step that was done means for the descriptors."""
        if step.name == "open":
            self._opened.add(found)
        elif step.name == "close":
            self._opened.discard(step.args[0])
        return found

    def mount_table(self) -> bytes:
        """Say, in one step, that reads are fresh here."""
        told: bytes = self.step(Step("mount_table", ()), lambda: FRESH_MOUNT)
        return told

    def bury(self) -> None:
        """Close what is open, as the kernel does for the dead."""
        for descriptor in self._opened:
            with suppress(OSError):
                os.close(descriptor)
        self._opened.clear()


class Failing(Counting):
    """A disk on which steps from `at` to before `until` fail with an errno, counted from 1.

    With `lie` the step is done all the same and then answered with the error, as by a server whose first answer was
    lost.
    """

    def __init__(self, at: int, error: int, *, until: int | None = None, lie: bool = False) -> None:
        super().__init__()
        self._from, self._until, self._error, self._lie = at, until or at + 1, error, lie

    def step(self, step: Step, act: Callable[[], Any]) -> Any:
        self.steps.append(step)
        if not self._from <= len(self.steps) < self._until:
            return self.done(step, act())
        if self._lie:
            found = self.done(step, act())
            if step.name == "open":  # nobody will close what nobody was given
                os.close(found)
                self._opened.discard(found)
        elif step.name == "close":  # a close that fails has closed
            self.done(step, act())
        path = next((one for one in step.args if isinstance(one, str)), None)
        raise OSError(self._error, os.strerror(self._error), path)


class Dying(Counting):
    """A disk whose process dies at a step, counted from 1: after it, before it, or after `part` bytes of a write."""

    def __init__(self, at: int, *, after: bool = True, part: int | None = None) -> None:
        super().__init__()
        self._at, self._after, self._part, self.dead = at, after, part, False

    def step(self, step: Step, act: Callable[[], Any]) -> Any:
        if self.dead:
            raise Crash
        self.steps.append(step)
        if len(self.steps) < self._at:
            return self.done(step, act())
        self.dead = True
        if self._part is not None and step.name == "write":
            os.write(step.args[0], step.args[1][: self._part])
        elif self._after:
            with suppress(OSError):  # a step that cannot be done is no less the last one
                self.done(step, act())
        self.bury()
        raise Crash


def _stepped(name: str) -> Callable[..., Any]:
    real = getattr(Disk, name)

    def method(self: Counting, *args: Any) -> Any:
        return self.step(Step(name, args), lambda: real(self, *args))

    return method


for _name in STEPS:
    setattr(Counting, _name, _stepped(_name))


def steps_of(run: Callable[[Counting], object]) -> list[Step]:
    """Return the steps of a run that meets no fault."""
    disk = Counting()
    run(disk)
    disk.bury()
    return disk.steps


def dies(run: Callable[[], object]) -> bool:
    """Run something on a dying disk; tell whether it died."""
    try:
        run()
    except Crash:
        return True
    return False
