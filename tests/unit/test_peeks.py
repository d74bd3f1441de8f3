"""Older pages of an inbox and the search backwards: the right lines with their numbers, a bounded part at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from sot_tui.comm import cursor, frames, peeks
from sot_tui.comm.inbox import Failed
from sot_tui.comm.peeks import PeekedLine, Stretch
from tests.mailbox import TS, mail_home

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.home import Home

COUNT = 40_000
"""Lines of the big inbox: some chunks of a mebibyte."""
LINES = [frames.frame("b", "a", "r", f"n{number}", TS)[:-1] for number in range(1, COUNT + 1)]


def put(path: Path, inbox: bytes, said: bytes = b"") -> Home:
    home = mail_home(path)
    (path / "inbox" / "a.jsonl").write_bytes(inbox)
    (path / "read" / "a.cursor").write_bytes(said)
    return home


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize("before", [1, 2, 300, 20_001, COUNT, COUNT + 1, COUNT + 70])
@pytest.mark.parametrize("shown", [0, 19_900, 20_000, COUNT])
def test_peek_when_older_lines_are_asked_for_then_those_with_their_numbers_and_marks(
    comm_home: Path, before: int, shown: int
) -> None:
    said = cursor.text(shown, LINES[shown - 1]).encode() if shown else b""
    home = put(comm_home, joined(LINES) + b'{"torn', said)
    seen = peeks.peek(home, "a", 256, before)
    assert isinstance(seen, peeks.Peek)
    assert seen.total == COUNT
    wanted = range(max(1, before - 256), min(COUNT + 1, before))
    assert seen.lines == [PeekedLine(at, LINES[at - 1], at <= shown) for at in wanted]


def test_peek_when_a_cut_back_removed_the_last_line_read_then_older_lines_are_marked_by_the_one_rule(
    comm_home: Path,
) -> None:
    home = put(comm_home, joined(LINES[:9]), b"5 1-1")
    seen = peeks.peek(home, "a", 4, 7)
    assert isinstance(seen, peeks.Peek)
    assert [(line.number, line.read) for line in seen.lines] == [(3, True), (4, True), (5, False), (6, False)]


def test_peek_when_the_cursor_is_an_old_timestamp_then_older_lines_are_compared_too(comm_home: Path) -> None:
    stamps = [f"2026-01-{1 + number // 2:02}T00:00:00Z" for number in range(20)]
    home = put(comm_home, b"".join(frames.frame("b", "a", "r", "x", ts) for ts in stamps), b"2026-01-04T00:00:00Z")
    seen = peeks.peek(home, "a", 4, 11)
    assert isinstance(seen, peeks.Peek)
    assert [(line.number, line.read) for line in seen.lines] == [(7, True), (8, True), (9, False), (10, False)]


@pytest.mark.parametrize("before", [0, 5])
def test_peek_when_the_lines_are_huge_then_as_many_as_fit_and_at_least_one(comm_home: Path, before: int) -> None:
    huge = [bytes(f"{number}", "ascii") * 300_000 for number in range(1, 5)]
    home = put(comm_home, joined(huge))
    few = peeks.peek(home, "a", 4, before, most_bytes=700_000)
    assert isinstance(few, peeks.Peek)
    assert [(line.number, len(line.line)) for line in few.lines] == [(3, 300_000), (4, 300_000)]
    one = peeks.peek(home, "a", 4, before, most_bytes=1)
    assert isinstance(one, peeks.Peek)
    assert one.lines == [PeekedLine(4, huge[3], read=False)]


@given(st.lists(st.integers(0, 200), max_size=40), st.integers(1, 45), st.integers(1, 45), st.integers(1, 3000))
def test_peek_when_any_page_of_any_inbox_then_its_last_lines(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], newest: int, before: int, most: int
) -> None:
    lines = [b"%d " % at + b"x" * size for at, size in enumerate(sizes, 1)]
    home = put(tmp_path_factory.mktemp("peek"), joined(lines))
    seen = peeks.peek(home, "a", newest, before, most)
    assert isinstance(seen, peeks.Peek)
    wanted = list(enumerate(lines, 1))[max(0, before - 1 - newest) : before - 1]
    got = [(line.number, line.line) for line in seen.lines]
    assert got == wanted[len(wanted) - len(got) :]
    assert bool(got) == bool(wanted)
    assert seen.total == len(lines)


def looked_through(home: Home, most: int) -> tuple[list[PeekedLine], int]:
    found: list[PeekedLine] = []
    end: int | None = None
    looks = 0
    while end != 0:
        got = peeks.look_back(home, "a", end, most, lambda line: b"7" in line)
        assert isinstance(got, Stretch)
        assert end is None or got.start < end
        found = got.lines + found
        end, looks = got.start, looks + 1
    return found, looks


@pytest.mark.parametrize("most", [1, 70_000, 1 << 20, 1 << 30])
def test_look_back_when_it_goes_on_to_the_start_then_finds_every_wanted_line_once(comm_home: Path, most: int) -> None:
    count = 3000 if most == 1 else COUNT
    home = put(comm_home, joined(LINES[:count]) + b"7 torn", cursor.text(70, LINES[69]).encode())
    found, looks = looked_through(home, most)
    wanted = [at for at in range(1, count + 1) if b"7" in LINES[at - 1]]
    assert found == [PeekedLine(at, LINES[at - 1], at <= 70) for at in wanted]
    assert looks > 1 or most > 1 << 20


def test_look_back_when_a_line_is_longer_than_a_look_then_it_is_looked_through_whole(comm_home: Path) -> None:
    home = put(comm_home, joined([LINES[6], b"x" * 500_000 + b"7", LINES[16]]))
    found, _ = looked_through(home, 1000)
    assert [(line.number, len(line.line)) for line in found] == [
        (1, len(LINES[6])),
        (2, 500_001),
        (3, len(LINES[16])),
    ]


def test_look_back_when_there_is_nothing_to_read_then_nothing_is_left(comm_home: Path) -> None:
    home = put(comm_home, b"")
    assert peeks.look_back(home, "a", None, 10, bool) == Stretch([], 0)
    assert peeks.look_back(home, "nobody", None, 10, bool) == Stretch([], 0)
    (comm_home / "inbox" / "dir.jsonl").mkdir()
    assert peeks.look_back(home, "dir", None, 10, bool) == Failed("Is a directory")


def test_look_back_when_the_inbox_was_cut_back_meanwhile_then_goes_on_at_its_end(comm_home: Path) -> None:
    home = put(comm_home, joined(LINES[:7]))
    got = peeks.look_back(home, "a", 1 << 20, 1 << 20, lambda line: b"n7" in line)
    assert got == Stretch([PeekedLine(7, LINES[6], read=False)], 0)


def test_look_back_when_the_cursor_is_an_old_timestamp_then_lines_are_compared_too(comm_home: Path) -> None:
    stamps = [f"2026-01-{1 + number // 2:02}T00:00:00Z" for number in range(20)]
    lines = [frames.frame("b", "a", "r", "x" * 4000, ts) for ts in stamps]
    home = put(comm_home, b"".join(lines), b"2026-01-04T00:00:00Z")
    found: list[PeekedLine] = []
    end: int | None = None
    for _ in range(2):  # the second look has the stamps that the cursor is compared to behind it
        got = peeks.look_back(home, "a", end, 50_000, bool)
        assert isinstance(got, Stretch)
        found, end = got.lines + found, got.start
    assert [(line.number, line.read) for line in found] == [(at, at <= 8) for at in range(1, 21)]


@pytest.mark.parametrize("before", [0, 1025])
def test_peek_when_whole_blocks_are_as_many_bytes_as_may_be_then_no_further_one_is_read(
    comm_home: Path, before: int
) -> None:
    """ "They may be fewer than asked, when so many would be more than `most_bytes`" """
    lines = [b"%4d " % number + b"x" * 122 for number in range(1, 1025)]
    most = 1 << 16
    home = put(comm_home, joined(lines))
    seen = peeks.peek(home, "a", 1024, before, most)
    assert isinstance(seen, peeks.Peek)
    got = [line.line for line in seen.lines]
    assert got == lines[-len(got) :]
    assert most // 2 < sum(len(line) + 1 for line in got) <= most


@pytest.mark.parametrize("newest", [1, 5])
def test_peek_when_a_page_begins_or_ends_with_a_line_that_two_looks_share_then_it_is_whole(
    comm_home: Path, newest: int
) -> None:
    """The newline before the line is the last one of a mebibyte, which ends in the middle of the line."""
    lines = [b"%5d " % number + b"x" * 999 for number in range(1, 3001)]
    home = put(comm_home, joined(lines))
    shared = (1 << 20) // len(lines[0] + b"\n") + 1
    for before in (shared, shared + newest):
        seen = peeks.peek(home, "a", newest, before)
        assert isinstance(seen, peeks.Peek)
        assert seen.lines == [PeekedLine(at, lines[at - 1], read=False) for at in range(before - newest, before)]
