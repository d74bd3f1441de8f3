"""The small files of a session's hooks: their names, and that nothing of a draft stays behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import scratch
from sot_tui.comm.disk import Disk
from sot_tui.comm.home import Home

if TYPE_CHECKING:
    from pathlib import Path


class Full(Disk):
    """A disk on which a file can be made, and nothing be written into it or put in its place."""

    def write(self, descriptor: int, data: bytes) -> None:
        raise OSError(28, f"No space left on device for {descriptor} {len(data)}")

    def rename(self, old: str, new: str) -> None:
        raise OSError(5, f"Input/output error at {old} and {new}")


@pytest.fixture
def home(comm_home: Path) -> Home:
    comm_home.mkdir(exist_ok=True)
    return Home(str(comm_home))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("0b1c-9Z._", "0b1c-9Z._"),
        ("../../etc/x y\n", ".._.._etc_x_y_"),
        ("né", "n_"),
        ("x" * 150, "x" * 100),
        ("", ""),
    ],
)
def test_key_when_an_agent_says_any_id_then_it_is_one_part_of_a_file_s_name(text: str, key: str) -> None:
    assert scratch.key(text) == key


def test_draft_when_settled_then_it_stands_in_its_place_alone(home: Home) -> None:
    made = scratch.draft(home, "a", "one")
    assert made is not None
    assert scratch.read(home, "a") == ""
    scratch.settle(home, made)
    assert scratch.read(home, "a") == "one"
    assert os.listdir(home.scratch) == ["a"]


def test_draft_when_the_disk_takes_it_not_then_nothing_of_it_stays(home: Home) -> None:
    full = home._replace(disk=Full())
    assert scratch.draft(full, "a", "one") is None
    assert os.listdir(home.scratch) == []
    made = scratch.draft(home, "a", "one")
    assert made is not None
    scratch.settle(full, made)
    assert os.listdir(home.scratch) == []
