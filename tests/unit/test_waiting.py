"""What waits for the person, from one run to the next: kept by comm home, and never made of what is no such list."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sot_tui.comm import waiting
from sot_tui.comm.disk import Disk
from sot_tui.comm.fleet import Mail, MailCount
from sot_tui.comm.home import Home
from sot_tui.comm.waiting import Waits

ONE, TWO = Waits(3, "1-10", "2026-01-02T03:04:05Z"), Waits(7, "2-10", "2026-01-02T03:04:06Z")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    for name in ("comm", "other"):
        (tmp_path / name).mkdir()
    return Home(str(tmp_path / "comm"))


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "tui")


def whole(state: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(Path(state, waiting.FILE).read_bytes())
    return found


def test_waits_when_written_then_they_are_read_back_and_who_has_none_is_not_named(home: Home, state: str) -> None:
    assert waiting.read(home, state) == {}
    assert waiting.write(home, state, {"a": [ONE, TWO], "b": []}) == ""
    assert waiting.read(home, state) == {"a": (ONE, TWO)}
    assert list(whole(state).values()) == [{"a": [list(ONE), list(TWO)]}]
    assert os.stat(state).st_mode & 0o777 == 0o700


def test_waits_of_another_comm_home_when_written_then_both_stand_and_an_empty_one_goes(home: Home, state: str) -> None:
    other = home._replace(path=home.path.replace("comm", "other"))
    waiting.write(home, state, {"a": [ONE]})
    waiting.write(other, state, {"a": [TWO]})
    assert (waiting.read(home, state), waiting.read(other, state)) == ({"a": (ONE,)}, {"a": (TWO,)})
    waiting.write(home, state, {"a": []})
    assert list(whole(state)) == [other.path]


def test_waits_when_the_file_holds_something_else_then_only_what_is_one_counts(home: Home, state: str) -> None:
    os.makedirs(state)
    odd = [[0, "m", "t"], ["1", "m", "t"], [1, 2, "t"], [True, "m", "t"], [1, "m"], "x", list(ONE)]
    for said, found in (({"a": odd, "b": "x", "c": {}}, {"a": (ONE,)}), ([], {}), ("x", {})):
        Path(state, waiting.FILE).write_text(json.dumps({home.path: said}))
        assert waiting.read(home, state) == found
    Path(state, waiting.FILE).write_text("torn")
    assert waiting.read(home, state) == {}


def test_write_when_the_disk_fails_then_it_is_said_and_what_stood_stands(home: Home, state: str) -> None:
    class Full(Disk):
        def write(self, descriptor: int, data: bytes) -> None:
            raise OSError(28, "No space left on device", f"{descriptor} {len(data)}")

    assert waiting.write(home, state, {"a": [ONE]}) == ""
    said = waiting.write(home._replace(disk=Full()), state, {"a": [TWO]})
    assert said == f"{state}/{waiting.FILE} could not be written: No space left on device"
    assert waiting.read(home, state) == {"a": (ONE,)}


def test_counted_when_an_inbox_has_become_shorter_then_a_line_it_has_no_more_waits_for_nobody() -> None:
    mail = Mail(MailCount.COUNTED, total=7)
    assert waiting.counted(mail, (ONE, TWO))[-2:] == (2, ONE.at)
    assert waiting.counted(mail._replace(total=6), (ONE, TWO))[-2:] == (1, ONE.at)
    assert waiting.counted(mail._replace(total=0), (ONE, TWO))[-2:] == (0, "")
    assert waiting.counted(mail._replace(total=0, trust=MailCount.BUSY), (ONE, TWO))[-2:] == (2, ONE.at)
