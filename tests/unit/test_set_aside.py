"""What the person set aside: kept whole and private, for each comm home; what cannot be read is not written over."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import paths, set_aside
from sot_tui.comm.fleet import Aside
from sot_tui.comm.home import Home
from tests.seams import MountedDisk

if TYPE_CHECKING:
    from pathlib import Path

MARK = Aside("blocked", "2026-05-29T18:04:00Z", 2, "2026-05-29T18:00:00Z")


@pytest.fixture
def home(comm_home: Path) -> Home:
    return Home(str(comm_home))


def test_marks_when_written_then_are_read_back_after_a_restart_and_are_private(home: Home) -> None:
    assert set_aside.write(home, os.environ, {"MyRepo-box": MARK}) == ""
    assert set_aside.read(home, os.environ) == ({"MyRepo-box": MARK}, "")
    path = paths.set_aside_file(os.environ)
    assert os.stat(path).st_mode & 0o777 == 0o600
    for folder in (paths.state_root(os.environ), paths.own_state(os.environ)):
        assert os.stat(folder).st_mode & 0o777 == 0o700
    assert os.listdir(paths.own_state(os.environ)) == ["aside.json"]


def test_marks_when_there_is_no_file_then_nothing_is_aside_and_nothing_is_made(home: Home) -> None:
    assert set_aside.read(home, os.environ) == ({}, "")
    assert not os.path.exists(paths.state_root(os.environ))


def test_marks_of_another_comm_home_when_written_then_both_stand(home: Home) -> None:
    other = home._replace(path="/elsewhere")
    set_aside.write(home, os.environ, {"a": MARK})
    set_aside.write(other, os.environ, {"b": MARK})
    assert (dict(set_aside.read(home, os.environ).by_handle), dict(set_aside.read(other, os.environ).by_handle)) == (
        {"a": MARK},
        {"b": MARK},
    )
    set_aside.write(other, os.environ, {})
    assert set_aside.read(other, os.environ) == ({}, "")
    assert dict(set_aside.read(home, os.environ).by_handle) == {"a": MARK}


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff", b'{"x": NaN}'], ids=["torn", "no-object", "no-text", "nan"])
def test_file_when_it_cannot_be_read_then_nothing_is_hidden_and_it_is_left_alone(home: Home, data: bytes) -> None:
    set_aside.write(home, os.environ, {"a": MARK})
    path = paths.set_aside_file(os.environ)
    with open(path, "wb") as file:
        file.write(data)
    seen = set_aside.read(home, os.environ)
    assert dict(seen.by_handle) == {}
    assert seen.fault.startswith(f"{path} could not be read: ")
    assert set_aside.write(home, os.environ, {"b": MARK}) == seen.fault
    with open(path, "rb") as file:
        assert file.read() == data


@pytest.mark.parametrize("said", ['{"state": 1}', '{"unread": true}', '{"oldest": []}', "7", "null"])
def test_mark_when_it_is_of_another_shape_then_it_alone_counts_as_none(home: Home, said: str) -> None:
    set_aside.write(home, os.environ, {})
    paths.make_own_state(home.disk, os.environ)
    with open(paths.set_aside_file(os.environ), "w", encoding="utf-8") as file:
        file.write(f'{{"{home.path}": {{"a": {said}, "b": {{"state": "done"}}}}}}')
    assert dict(set_aside.read(home, os.environ).by_handle) == {"b": Aside("done")}


@pytest.mark.parametrize("step", ["open", "write", "flush", "rename", "mkdir"])
def test_write_when_a_step_fails_then_is_said_and_what_stood_stands(home: Home, step: str) -> None:
    class Failing(MountedDisk):
        def __getattribute__(self, name: str) -> object:
            if name == step:
                return self.fail
            return super().__getattribute__(name)

        def fail(self, *words: object) -> None:
            if step != "open" or ".tmp." in str(words[0]):
                raise OSError(28, "No space left on device")
            raise FileNotFoundError(2, "No such file or directory")

    broken = home._replace(disk=Failing())
    if step != "mkdir":
        set_aside.write(home, os.environ, {"a": MARK})
    before = set_aside.read(home, os.environ)
    assert set_aside.write(broken, os.environ, {"b": MARK}).endswith("could not be written: No space left on device")
    assert set_aside.read(home, os.environ) == before
    if step != "mkdir":
        assert os.listdir(paths.own_state(os.environ)) == ["aside.json"]
