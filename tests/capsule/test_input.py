"""What is typed reaches the agent as its terminal's modes want it, and never waits for an agent that does not read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.engine.rows import lane_wire, voyage
from tests.capsule.process import until

if TYPE_CHECKING:
    from tests.capsule.process import CapsuleRow, Wire

pytestmark = pytest.mark.e2e

READER = """\
import os, signal, sys, tty
tty.setraw(0)
sys.stdout.write(sys.argv[1].encode().decode('unicode_escape'))
def told(*_):
    size = os.get_terminal_size()
    print('size', size.columns, size.lines, end='\\r\\n', flush=True)
signal.signal(signal.SIGWINCH, told)
with open(sys.argv[2], 'ab', buffering=0) as file:
    print('up', end='\\r\\n', flush=True)
    while data := os.read(0, 65536):
        file.write(data)
"""


class Reader:
    """An agent in raw mode that writes down every byte it reads."""

    def __init__(self, row: CapsuleRow, modes: str = "", size: tuple[int, int] = (80, 24)) -> None:
        self.file = row.root / "read.bin"
        script = row.root / "reader.py"
        script.write_text(READER)
        self.wire = row.up(sys.executable, "-I", str(script), modes, str(self.file), size=size)
        self.wire.shows("up")

    def got(self, data: bytes) -> None:
        """Wait until exactly this has come since the last time, and forget it."""
        try:
            until(lambda: self.file.read_bytes() == data, repr(data))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.file.read_bytes()[:400]!r}") from None
        os.truncate(self.file, 0)


def test_keys_when_pressed_then_the_agent_reads_them_in_order(row: CapsuleRow) -> None:
    reader = Reader(row)
    answer = reader.wire.ask("keys", keys=[["a", ""], ["up", ""], ["c", "c"], ["enter", "s"], ["f5", ""], ["é", "a"]])
    assert answer["accepted"] is True
    reader.got(b"a\x1b[A\x03\x1b\r\x1b[15~\x1b\xc3\xa9")


def test_keys_when_the_agent_has_set_modes_then_they_are_sent_by_them(row: CapsuleRow) -> None:
    """Product, architecture: keys travel as values and are encoded in the capsule, which alone knows the modes."""
    reader = Reader(row, r"\x1b[?1h\x1b[?2004h\x1b[?1002h\x1b[?1006h")
    wire = reader.wire
    wire.ask("keys", keys=[["up", ""]])
    reader.got(b"\x1bOA")
    wire.ask("paste", text="two\nlines\x1b[201~rm")
    reader.got(b"\x1b[200~two\rlinesrm\x1b[201~")
    wire.ask("mouse", **{"what": "press", "column": 3, "line": 4, "button": "left", "with": "c"})
    reader.got(b"\x1b[<16;4;5M")
    wire.ask("mouse", **{"what": "move", "column": 3, "line": 4, "button": "none", "with": ""})
    wire.type(b"\x00\xff raw")
    reader.got(b"\x00\xff raw")


def test_query_when_the_agent_asks_then_its_terminal_answers(row: CapsuleRow) -> None:
    reader = Reader(row, r"\x1b[c\x1b[6n")
    reader.got(b"\x1b[?62;22c\x1b[1;1R")


def test_size_when_it_changes_then_the_agent_is_told_and_the_screen_follows(row: CapsuleRow) -> None:
    wire = Reader(row).wire
    assert wire.ask("resize", cols=100, lines=40, who="pane 1")["cols"] == 100
    wire.shows("size 100 40")
    said = wire.ask("snapshot", since=-1)
    assert (said["cols"], said["lines"], len(said["rows"])) == (100, 40, 40)
    status = wire.status()
    assert (status["cols"], status["lines"], status["sized_by"]) == (100, 40, "pane 1")
    wire.ask("resize", cols=30, lines=5)
    wire.shows("size 30 5")


def test_size_when_it_is_none_then_it_is_refused_and_nothing_changes(row: CapsuleRow) -> None:
    wire = Reader(row).wire
    for cols, lines in ((0, 24), (80, 0), (1001, 24), (80, 501), (True, 24), ("80", 24), (80.0, 24), (None, 24)):
        assert wire.ask("resize", cols=cols, lines=lines)["code"] == "bad_request"
    assert (wire.status()["cols"], wire.status()["lines"]) == (80, 24)


@pytest.mark.parametrize("size", [(1, 1), (lane_wire.COLUMNS[1], lane_wire.LINES[1])])
def test_size_when_it_is_the_smallest_or_the_largest_then_the_screen_is_shown(
    row: CapsuleRow, size: tuple[int, int]
) -> None:
    wire = row.up("sh", "-c", r"printf '\033[7m%0500d\033[0m' 1; exec cat", size=size)
    until(lambda: wire.status()["revision"] > 1, "it has drawn")
    assert len(wire.rows()) == size[1]


def stopped(row: CapsuleRow) -> Wire:
    """Return a lane to an agent that never reads, in a terminal that keeps every byte."""
    wire = row.up("sh", "-c", "stty raw -echo; echo up; exec sleep 1000")
    wire.shows("up")
    return wire


def test_input_when_the_agent_does_not_read_then_it_waits_up_to_a_bound_and_is_refused_beyond(row: CapsuleRow) -> None:
    """Product, Rows: input for an agent that does not read is refused, never waited for."""
    wire = stopped(row)
    piece = b"x" * 1000
    taken = 0
    while (answer := wire.type(piece)).get("accepted"):
        taken += 1
        assert taken < 200
    assert answer["code"] == "input_refused"
    assert answer["accepted"] is False
    assert lane_wire.QUEUE_LIMIT - 1000 < answer["queued"] <= lane_wire.QUEUE_LIMIT
    assert wire.status()["queued"] == answer["queued"]
    assert wire.ask("keys", keys=[["a", ""]] * 2000)["code"] == "input_refused"
    assert wire.status()["queued"] == answer["queued"], "what is refused is refused whole"


def test_input_when_the_agent_reads_again_then_everything_that_was_taken_comes_in_order(row: CapsuleRow) -> None:
    file = row.root / "read.bin"
    wire = row.up("sh", "-c", f"stty raw -echo; echo up; while [ ! -e go ]; do sleep 0.05; done; exec cat >> {file}")
    wire.shows("up")
    sent = b""
    for number in range(10_000):
        piece = b"%05d " % number * 100
        if not wire.type(piece).get("accepted"):
            break
        sent += piece
    Path(row.root, "go").touch()
    until(lambda: file.exists() and file.stat().st_size >= len(sent), "the agent has read it")
    assert file.read_bytes() == sent
    assert wire.status()["queued"] == 0


def test_input_when_it_is_more_than_the_bound_at_once_then_it_is_refused_whole(row: CapsuleRow) -> None:
    reader = Reader(row)
    answer = reader.wire.ask("paste", text="x" * (lane_wire.QUEUE_LIMIT + 1))
    assert answer["code"] == "input_refused"
    reader.wire.type(b"after")
    reader.got(b"after")


def test_answers_of_the_terminal_when_the_agent_never_reads_then_they_leave_room_for_a_person(row: CapsuleRow) -> None:
    """An agent that asks without end and never reads must not use up what is meant for a person's keys."""
    script = r"stty raw -echo; echo up; while [ ! -e stop ]; do printf '\033[c\033[c\033[c\033[c'; done; exec sleep 99"
    wire = row.up("sh", "-c", script)
    wire.shows("up")
    record = row.record()
    assert record is not None
    cast = Path(voyage.folder(str(row.folder), record.run), "run.cast")
    until(lambda: cast.stat().st_size > 500_000, "it has asked tens of thousands of times")
    assert wire.status()["queued"] > 1000
    assert wire.type(b"x" * 32_000)["accepted"] is True
    Path(row.root, "stop").touch()


def test_keys_when_they_are_none_then_they_are_refused_and_nothing_is_typed(row: CapsuleRow) -> None:
    reader = Reader(row)
    for keys in ([["nosuchkey\x1b", ""]], [["a", "z"]], "a", [["a"]], None):
        assert reader.wire.ask("keys", keys=keys)["code"] == "bad_request"
    for more in ({"data_b64": "!"}, {"data_b64": "YQ"}, {"data_b64": 1}, {}):
        assert reader.wire.ask("type", **more)["code"] == "bad_request"
    reader.wire.type(b"after")
    reader.got(b"after")


# -- a paste in parts ------------------------------------------------------------------------------------------------


def test_paste_when_it_comes_in_parts_then_it_is_one_paste_and_nothing_is_typed_into_it(row: CapsuleRow) -> None:
    reader = Reader(row, r"\x1b[?2004h")
    other = row.wire()
    assert reader.wire.ask("paste", part="first", text="one\x1b[20")["ok"] is True
    for op, more in (("keys", {"keys": [["x", ""]]}), ("type", {"data_b64": "eA=="}), ("paste", {"text": "x"})):
        assert other.ask(op, **more)["code"] == "pasting"
    assert other.ask("paste", part="next", text="x")["code"] == "no_paste"
    assert reader.wire.ask("paste", part="next", text="1~ two")["ok"] is True
    assert reader.wire.ask("paste", part="last", text=" three")["ok"] is True
    assert other.ask("keys", keys=[["y", ""]])["ok"] is True
    reader.got(b"\x1b[200~one[201~ two three\x1b[201~y")


@pytest.mark.parametrize("how", ["dropped", "gone"])
def test_paste_when_it_is_given_up_then_it_is_ended_before_anything_else_is_typed(row: CapsuleRow, how: str) -> None:
    reader = Reader(row, r"\x1b[?2004h")
    other = row.wire()
    assert other.ask("paste", part="first", text="half")["ok"] is True
    if how == "dropped":
        assert other.ask("paste", part="drop", text="")["ok"] is True
    else:
        other.close()
    until(lambda: reader.wire.ask("keys", keys=[["y", ""]]).get("ok"), "the other one is gone")
    reader.got(b"\x1b[200~half\x1b[201~y")
    assert reader.wire.ask("paste", part="next", text="x")["code"] == "no_paste"
    assert reader.wire.ask("paste", part="none", text="x")["code"] == "bad_request"
