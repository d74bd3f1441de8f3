"""Where the lines past a cursor lie: found in blocks of any size, it is what the whole inbox at once would say."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from sot_tui.comm import cursor, frames, inbox
from sot_tui.comm.disk import Disk
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.inbox import Batch, Count, Filed, NotFiled
from tests.mailbox import mail_home
from tests.seams import MountedDisk

BIG = 24 << 20
"""Bytes of an inbox that would be noticed if it were held whole."""
HELD = 6 << 20
"""Bytes that a look may hold: a few blocks."""


class Dribbling(Disk):
    """A disk that gives a few bytes at a time, as a server may."""

    def __init__(self, most: int) -> None:
        self.most = most

    def read_at(self, descriptor: int, count: int, offset: int) -> bytes:
        return super().read_at(descriptor, min(count, self.most), offset)


MINE = frames.frame("b", "h", "r", "x", "2026-01-02T03:04:05Z")
LINES = st.lists(
    st.sampled_from(
        [MINE, frames.frame("b", "", "r", "all", "2026-01-02T03:04:06Z"), b"\n", b"junk\0\n", b"x" * 40 + b"\n"]
    ),
    max_size=8,
)


def cursors(lines: list[bytes]) -> st.SearchStrategy[bytes]:
    """Return cursors of every form for an inbox: true ones, ones whose line has gone, counts past the end, moments."""
    counts = st.integers(0, len(lines) + 3)
    hashes = st.sampled_from([cursor.line_hash(line) for line in lines] or ["1-1"])
    return st.one_of(
        st.just(b""),
        counts.map(lambda count: b"%d" % count),
        st.tuples(counts, hashes).map(lambda pair: f"{pair[0]} {pair[1]}\n".encode()),
        counts.filter(lambda count: 0 < count <= len(lines)).map(lambda n: cursor.text(n, lines[n - 1]).encode())
        if lines
        else st.just(b"0"),
        st.sampled_from([b"2026-01-02T03:04:05Z", b"9" * 30, b"junk"]),
    )


@given(data=st.data(), lines=LINES, tail=st.sampled_from([b"", b"par"]), most=st.integers(1, 60))
def test_lines_when_found_in_blocks_then_they_are_those_of_the_whole_inbox(
    comm_home_once: Path, data: st.DataObject, lines: list[bytes], tail: bytes, most: int
) -> None:
    home = Home(str(comm_home_once), disk=Dribbling(most))
    whole = b"".join(lines) + tail
    said = data.draw(cursors(lines))
    Path(home.inbox("h")).write_bytes(whole)
    Path(home.cursor("h")).write_bytes(said)
    at = cursor.offset(said, whole)
    past = whole[cursor.line_start(whole, at.lines, at.total) :].split(b"\n")[:-1]
    batch = inbox.read_batch(home, "h", manager="")
    assert isinstance(batch, Batch)
    assert (batch.lines, batch.start, batch.total, bool(batch.note)) == (past, at.lines, at.total, at.stepped_back)
    count = inbox.unread(home, "h", manager="")
    wanted = [line for line in past if frames.counts(line, "h")]
    assert isinstance(count, Count)
    assert (count.unread, count.total) == (len(wanted), at.total)
    assert count.oldest == ("2026-01-02T03:04:05Z" if wanted else "")
    one = inbox.unread(home, "h", manager="", most=1)
    assert isinstance(one, Count)
    assert (one.unread, one.total) == (min(1, len(wanted)), at.total)


@pytest.mark.parametrize("read", [True, False], ids=["all of it shown", "none of it shown"])
def test_count_when_the_inbox_is_big_then_only_a_block_of_it_is_held(comm_home: Path, read: bool) -> None:
    home = Home(str(comm_home))
    ensure_home(home)
    line = frames.frame("b", "h", "r", "x" * 2000, "2026-01-02T03:04:05Z")
    lines = BIG // len(line)
    Path(home.inbox("h")).write_bytes(line * lines)
    if read:
        Path(home.cursor("h")).write_text(cursor.text(lines, line))
    tracemalloc.start()
    try:
        count = inbox.unread(home, "h", manager="")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(count, Count)
    assert (count.unread, count.total) == (0 if read else lines, lines)
    assert peak < HELD


def test_batch_when_a_big_inbox_was_shown_but_for_one_line_then_only_that_is_held(comm_home: Path) -> None:
    home = Home(str(comm_home))
    ensure_home(home)
    line = frames.frame("b", "h", "r", "x" * 2000, "2026-01-02T03:04:05Z")
    lines = BIG // len(line)
    Path(home.inbox("h")).write_bytes(line * lines)
    Path(home.cursor("h")).write_text(cursor.text(lines - 1, line))
    tracemalloc.start()
    try:
        batch = inbox.read_batch(home, "h", manager="")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(batch, Batch)
    assert (batch.lines, batch.start, batch.total) == ([line[:-1]], lines - 1, lines)
    assert peak < HELD


def test_count_when_a_writer_comes_while_lines_are_parsed_then_it_files_at_once_and_the_count_is_of_before(
    comm_home: Path,
) -> None:
    """The lines that are parsed after the lock was let go are whole and flushed (docs/decisions/0020)."""
    home = mail_home(comm_home)
    filed: list[object] = []

    class Meanwhile(MountedDisk):
        """A disk on which somebody else wants to file at each read: first under the lock, then after it."""

        def read_at(self, descriptor: int, count: int, offset: int) -> bytes:
            if len(filed) < 2:
                filed.append(inbox.file_line(home, "h", MINE, wait_s=0))
            return super().read_at(descriptor, count, offset)

    assert isinstance(inbox.file_line(home, "h", MINE), Filed)
    assert inbox.unread(home._replace(disk=Meanwhile()), "h") == Count(1, 1, "2026-01-02T03:04:05Z", newest=1)
    assert isinstance(filed[0], NotFiled)
    assert "was held for 0s" in filed[0].reason
    assert isinstance(filed[1], Filed)
    after = inbox.unread(home, "h")
    assert isinstance(after, Count)
    assert after.unread == 2


@pytest.fixture(scope="module")
def comm_home_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one comm home for every example."""
    folder = tmp_path_factory.mktemp("once") / "comm"
    ensure_home(Home(str(folder)))
    return folder
