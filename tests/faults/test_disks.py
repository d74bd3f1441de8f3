"""The disks that fail: what they say they do, they do."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.disk import Disk
from tests.faults.disks import STEPS, Counting, Dying, Failing, dies, steps_of

if TYPE_CHECKING:
    from pathlib import Path


def _put(disk: Disk, path: str) -> None:
    descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        disk.write(descriptor, b"abc")
    finally:
        disk.close(descriptor)


def test_steps_when_the_seam_gains_a_method_then_it_is_a_step_too() -> None:
    methods = {name for name in vars(Disk) if not name.startswith("_") and callable(getattr(Disk, name))}
    made_of_steps = {"read", "read_up_to", "put", "replace", "exists"}
    assert methods - made_of_steps - {"mount_table"} == set(STEPS)


def test_counting_when_a_file_is_written_then_notes_each_step_in_order(tmp_path: Path) -> None:
    steps = steps_of(lambda disk: _put(disk, f"{tmp_path}/a"))
    assert [step.name for step in steps] == ["open", "write", "close"]
    assert [step.changes for step in steps] == [True, True, False]


def test_read_when_counted_then_is_made_of_its_steps(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert [step.name for step in steps_of(lambda disk: disk.read(f"{tmp_path}/a"))] == ["open", "read_all", "close"]


def test_failing_when_a_step_fails_then_it_was_not_done_and_the_rest_is(tmp_path: Path) -> None:
    disk = Failing(2, errno.EIO)
    with pytest.raises(OSError, match="Input/output") as caught:
        _put(disk, f"{tmp_path}/a")
    assert caught.value.errno == errno.EIO
    assert (tmp_path / "a").read_bytes() == b""
    assert [step.name for step in disk.steps] == ["open", "write", "close"]


def test_failing_when_it_lies_then_the_step_was_done_and_no_descriptor_is_left(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    with pytest.raises(OSError, match="Stale"):
        _put(Failing(1, errno.ESTALE, lie=True), f"{tmp_path}/a")
    assert (tmp_path / "a").exists()
    assert not before or set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(("disk", "left"), [(Dying(2), b"abc"), (Dying(2, after=False), b""), (Dying(2, part=1), b"a")])
def test_dying_when_it_dies_at_a_write_then_so_much_is_there(tmp_path: Path, disk: Dying, left: bytes) -> None:
    assert dies(lambda: _put(disk, f"{tmp_path}/a"))
    assert (tmp_path / "a").read_bytes() == left
    assert [step.name for step in disk.steps] == ["open", "write"]


def test_dying_when_dead_then_does_nothing_more(tmp_path: Path) -> None:
    disk = Dying(1)
    assert dies(lambda: _put(disk, f"{tmp_path}/a"))
    assert dies(lambda: disk.unlink(f"{tmp_path}/a"))
    assert (tmp_path / "a").exists()


def test_counting_when_buried_then_its_descriptors_are_closed(tmp_path: Path) -> None:
    disk = Counting()
    descriptor = disk.open(f"{tmp_path}/a", os.O_WRONLY | os.O_CREAT)
    disk.bury()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(descriptor)
