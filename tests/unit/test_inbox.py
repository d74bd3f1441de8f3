"""Inboxes on the real disk: filing, the batch and its cursor, the count, and the peek."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import cursor, frames, inbox, peeks
from sot_tui.comm.disk import Disk
from sot_tui.comm.inbox import Batch, Busy, Count, CursorMoved, CursorStays, Failed, Filed, NotFiled
from sot_tui.comm.peeks import PeekedLine
from tests.mailbox import NAMELESS, TS, mail_home

if TYPE_CHECKING:
    from pathlib import Path

LINE = frames.frame("b", "a", "beta", "hello", TS)
WHOLE = frames.frame("x", "a", "beta", "whole", TS)


class WatchedDisk(Disk):
    """A disk that notes, in order, what was done to the inbox and its lock."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self._names: dict[int, str] = {}

    def open(self, path: str, flags: int) -> int:
        descriptor = super().open(path, flags)
        self._names[descriptor] = os.path.basename(path)
        self.steps.append(f"open {os.path.basename(path)}")
        return descriptor

    def close(self, descriptor: int) -> None:
        self.steps.append(f"close {self._names.get(descriptor, '?')}")
        super().close(descriptor)

    def lock(self, descriptor: int, operation: int) -> None:
        self.steps.append("unlock" if operation == fcntl.LOCK_UN else "lock")
        super().lock(descriptor, operation)

    def write(self, descriptor: int, data: bytes) -> None:
        self.steps.append("write")
        super().write(descriptor, data)

    def flush(self, descriptor: int) -> None:
        self.steps.append("flush")
        super().flush(descriptor)

    def flush_folder(self, path: str) -> None:
        self.steps.append("flush folder")
        super().flush_folder(path)

    def truncate(self, descriptor: int, length: int) -> None:
        self.steps.append(f"cut to {length}")
        super().truncate(descriptor, length)


def put(folder: Path, data: bytes, said: bytes | None = None) -> None:
    (folder / "inbox" / "a.jsonl").write_bytes(data)
    if said is not None:
        (folder / "read" / "a.cursor").write_bytes(said)


def held(folder: Path, operation: int) -> int:
    descriptor = os.open(folder / "inbox" / "a.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, operation)
    return descriptor


# -- filing


def test_file_line_when_there_is_no_inbox_then_it_is_made_private_and_its_name_flushed(comm_home: Path) -> None:
    disk = WatchedDisk()
    home = mail_home(comm_home, disk=disk)
    assert inbox.file_line(home, "a", LINE) == Filed(0)
    assert (comm_home / "inbox" / "a.jsonl").read_bytes() == LINE
    for name in ("a.jsonl", "a.lock"):
        assert stat.S_IMODE((comm_home / "inbox" / name).stat().st_mode) == 0o600
    assert disk.steps[-4:] == ["flush folder", "close a.jsonl", "unlock", "close a.lock"]


def test_file_line_when_the_inbox_has_lines_then_opened_inside_the_lock_and_closed_before_release(
    comm_home: Path,
) -> None:
    """Contract: "The inbox is opened inside the lock and closed before it is released"."""
    disk = WatchedDisk()
    home = mail_home(comm_home, disk=disk)
    put(comm_home, WHOLE)
    assert inbox.file_line(home, "a", LINE, "local m1") == Filed(0)
    assert disk.steps[disk.steps.index("open a.lock") :] == [
        "open a.lock", "lock", "open a.jsonl", "write", "flush", "close a.jsonl", "unlock", "close a.lock",
    ]  # fmt: skip
    assert (comm_home / "inbox" / "a.jsonl").read_bytes() == WHOLE + LINE


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        (WHOLE + b'{"from":"y","to":', WHOLE),
        (b"p" * 5000, b""),
        (b"\npartial", b"\n"),
        (WHOLE + b"q" * 200_000, WHOLE),
        (b"\n\n" + b"\0" * 3, b"\n\n"),
        (WHOLE * 2000 + LINE[:-1], WHOLE * 2000),
        (b"x" * (1 << 16) + b"\n" + b"y" * (1 << 16), b"x" * (1 << 16) + b"\n"),
    ],
    ids=[
        "partial",
        "only a partial",
        "a blank line",
        "a long partial",
        "NULs",
        "all but the newline",
        "on a block's edge",
    ],
)
def test_file_line_when_a_dead_writer_left_a_partial_then_cut_to_the_last_newline(
    comm_home: Path, before: bytes, kept: bytes
) -> None:
    home = mail_home(comm_home)
    put(comm_home, before)
    outcome = inbox.file_line(home, "a", LINE)
    assert outcome == Filed(len(before) - len(kept))
    assert (comm_home / "inbox" / "a.jsonl").read_bytes() == kept + LINE
    assert inbox.cut_note("a", outcome) == (
        f"note: cut {len(before) - len(kept)} bytes of an unterminated line a dead writer left in @a's inbox"
    )


def test_cut_note_when_nothing_was_cut_then_nothing_is_said() -> None:
    assert inbox.cut_note("a", Filed(0)) == ""


@pytest.mark.parametrize(("operation", "said"), [(fcntl.LOCK_EX, "1"), (fcntl.LOCK_SH, "0.05")])
def test_file_line_when_the_lock_is_held_then_nothing_is_appended(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch, operation: int, said: str
) -> None:
    home = mail_home(comm_home)
    monkeypatch.setenv("SOT_INBOX_LOCK_WAIT_SECS", said)
    put(comm_home, WHOLE + b"partial")
    holder = held(comm_home, operation)
    outcome = inbox.file_line(home, "a", LINE)
    os.close(holder)
    assert outcome == NotFiled(f"the inbox lock for @a was held for {said}s — nothing was appended")
    assert (comm_home / "inbox" / "a.jsonl").read_bytes() == WHOLE + b"partial"


def test_file_line_when_the_lock_fails_then_nothing_is_appended(comm_home: Path) -> None:
    home = mail_home(comm_home)
    (comm_home / "inbox" / "a.lock").mkdir()
    assert inbox.file_line(home, "a", LINE) == NotFiled(
        "the inbox lock for @a failed (cannot open its lock file) — nothing was appended"
    )
    assert not (comm_home / "inbox" / "a.jsonl").exists()


def test_file_line_when_the_inbox_cannot_be_opened_then_the_kernels_reason(comm_home: Path) -> None:
    home = mail_home(comm_home)
    (comm_home / "inbox" / "a.jsonl").mkdir()
    assert inbox.file_line(home, "a", LINE) == NotFiled("the append failed: Is a directory")


def test_file_line_when_the_inbox_folder_is_missing_then_it_is_made(comm_home: Path) -> None:
    home = mail_home(comm_home)
    (comm_home / "inbox").rmdir()
    assert inbox.file_line(home, "a", LINE) == Filed(0)
    assert stat.S_IMODE((comm_home / "inbox").stat().st_mode) == 0o700


class FaultyDisk(Disk):
    """A disk on which some steps fail; a write puts down half of its bytes first."""

    def __init__(self, **faults: OSError | None) -> None:
        self.faults = faults

    def _step(self, name: str) -> None:
        fault = self.faults.get(name)
        if fault is not None:
            raise fault

    def write(self, descriptor: int, data: bytes) -> None:
        if self.faults.get("write") is not None:
            super().write(descriptor, data[: len(data) // 2])
        self._step("write")
        super().write(descriptor, data)

    def flush(self, descriptor: int) -> None:
        self._step("flush")
        super().flush(descriptor)

    def flush_folder(self, path: str) -> None:
        self._step("flush_folder")
        super().flush_folder(path)

    def truncate(self, descriptor: int, length: int) -> None:
        self._step("truncate")
        super().truncate(descriptor, length)


FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["write", "flush"])
def test_file_line_when_the_append_fails_then_cut_back_to_the_length_after_the_first_cut(
    comm_home: Path, step: str
) -> None:
    home = mail_home(comm_home, disk=FaultyDisk(**{step: FULL}))
    put(comm_home, WHOLE + b"partial")
    outcome = inbox.file_line(home, "a", LINE)
    assert outcome == NotFiled("the append failed: No space left on device", 7)
    assert (comm_home / "inbox" / "a.jsonl").read_bytes() == WHOLE


def test_file_line_when_the_append_fails_then_the_cut_is_flushed_so_that_no_crash_brings_the_line_back(
    comm_home: Path,
) -> None:
    class FullDisk(WatchedDisk):
        def write(self, descriptor: int, data: bytes) -> None:
            super().write(descriptor, data)
            raise FULL

    disk = FullDisk()
    home = mail_home(comm_home, disk=disk)
    put(comm_home, WHOLE)
    assert isinstance(inbox.file_line(home, "a", LINE), NotFiled)
    assert disk.steps[-6:] == ["write", f"cut to {len(WHOLE)}", "flush", "close a.jsonl", "unlock", "close a.lock"]


def test_file_line_when_the_new_inboxs_name_cannot_be_flushed_then_not_filed(comm_home: Path) -> None:
    home = mail_home(comm_home, disk=FaultyDisk(flush_folder=OSError(5, "Input/output error")))
    assert inbox.file_line(home, "a", LINE) == NotFiled("the append failed: Input/output error")
    assert (comm_home / "inbox" / "a.jsonl").read_bytes() == b""


def test_file_line_when_it_cannot_be_cut_back_either_then_both_are_said(comm_home: Path) -> None:
    home = mail_home(comm_home, disk=FaultyDisk(flush=FULL, truncate=OSError(5, "Input/output error")))
    put(comm_home, WHOLE)
    assert inbox.file_line(home, "a", LINE) == NotFiled(
        "the append failed: No space left on device; and it could not be cut back: Input/output error"
    )


def test_file_line_when_a_signal_interrupts_the_flush_then_cut_back_and_released(comm_home: Path) -> None:
    class InterruptedDisk(Disk):
        calls = 0

        def flush(self, descriptor: int) -> None:
            self.calls += 1
            if self.calls == 1:
                raise KeyboardInterrupt
            super().flush(descriptor)

    home = mail_home(comm_home, disk=InterruptedDisk())
    put(comm_home, WHOLE)
    with pytest.raises(KeyboardInterrupt):
        inbox.file_line(home, "a", LINE)
    assert (comm_home / "inbox" / "a.jsonl").read_bytes() == WHOLE
    assert inbox.file_line(home, "a", LINE, wait_s=0) == Filed(0)


# -- the batch and its cursor


def test_read_batch_when_there_is_no_inbox_then_missing_and_no_lock_file_is_made(comm_home: Path) -> None:
    home = mail_home(comm_home)
    assert inbox.read_batch(home, "a") == Batch([], missing=True)
    assert os.listdir(comm_home / "inbox") == []


def test_read_batch_when_lines_are_new_then_they_and_the_cursor_from_their_bytes(comm_home: Path) -> None:
    home = mail_home(comm_home)
    put(comm_home, WHOLE + LINE + b"garbage\n" + b"torn", cursor.text(1, WHOLE).encode())
    batch = inbox.read_batch(home, "a")
    assert batch == Batch([LINE[:-1], b"garbage"], start=1, total=3)
    assert (comm_home / "read" / "a.cursor").read_bytes() == cursor.text(1, WHOLE).encode()
    (comm_home / "inbox" / "a.jsonl").write_bytes(b"")  # the cursor comes from the batch, never from the file again
    assert inbox.write_cursor(home, "a", batch) == CursorMoved()
    written = comm_home / "read" / "a.cursor"
    assert written.read_text() == cursor.text(3, b"garbage")
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert os.listdir(comm_home / "read") == ["a.cursor"]


def test_write_cursor_when_the_batch_is_empty_then_nothing_is_written(comm_home: Path) -> None:
    home = mail_home(comm_home)
    put(comm_home, WHOLE, b"2 99-9")
    batch = inbox.read_batch(home, "a")
    assert batch == Batch(
        [],
        start=1,
        total=1,
        note="note: the last line read from @a's inbox was cut back; reading from the line before it",
    )
    assert inbox.write_cursor(home, "a", batch) == CursorMoved()
    assert (comm_home / "read" / "a.cursor").read_bytes() == b"2 99-9"


def test_write_cursor_when_the_folder_is_missing_then_it_is_made(comm_home: Path) -> None:
    home = mail_home(comm_home)
    (comm_home / "read").rmdir()
    assert inbox.write_cursor(home, "a", Batch([b"x"])) == CursorMoved()
    assert (comm_home / "read" / "a.cursor").read_text() == cursor.text(1, b"x")
    assert stat.S_IMODE((comm_home / "read").stat().st_mode) == 0o700


def test_write_cursor_when_the_disk_is_full_then_it_stays_and_nothing_is_left(comm_home: Path) -> None:
    home = mail_home(comm_home, disk=FaultyDisk(flush=FULL))
    put(comm_home, WHOLE, b"0")
    stays = inbox.write_cursor(home, "a", Batch([b"x"]))
    assert stays == CursorStays(
        "WARNING: the read cursor for @a could not be written (No space left on device) — "
        "these messages will show again"
    )
    assert (comm_home / "read" / "a.cursor").read_bytes() == b"0"
    assert os.listdir(comm_home / "read") == ["a.cursor"]


def test_read_batch_when_a_writer_holds_the_lock_then_busy_and_nothing_moves(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = mail_home(comm_home)
    monkeypatch.setenv("SOT_INBOX_READ_WAIT_SECS", "0.05")
    put(comm_home, WHOLE)
    holder = held(comm_home, fcntl.LOCK_EX)
    assert inbox.read_batch(home, "a") == Busy("the inbox for @a is being written; try again")
    assert inbox.unread(home, "a", wait_s=0) == Busy("the inbox for @a is being written; try again")
    os.close(holder)
    assert not (comm_home / "read" / "a.cursor").exists()


def test_read_batch_when_another_reader_holds_the_lock_then_read(comm_home: Path) -> None:
    home = mail_home(comm_home)
    put(comm_home, WHOLE)
    holder = held(comm_home, fcntl.LOCK_SH)
    assert inbox.read_batch(home, "a") == Batch([WHOLE[:-1]], total=1)
    os.close(holder)


def test_read_batch_when_it_has_read_then_a_writer_passes_at_once(comm_home: Path) -> None:
    """Contract: poll "reads its batch once under the lock, lets go, shows the batch"."""
    home = mail_home(comm_home)
    put(comm_home, WHOLE)
    assert isinstance(inbox.read_batch(home, "a"), Batch)
    assert inbox.file_line(home, "a", LINE, wait_s=0) == Filed(0)


@pytest.mark.parametrize("record", [None, "none\n", "local somebody-else\nm2\n", "nfs4 server:/export\nm1\n"])
def test_read_batch_when_no_writer_would_append_here_then_no_lock_is_asked_for(
    comm_home: Path, record: str | None
) -> None:
    home = mail_home(comm_home)
    path = comm_home / "inbox-lock-manager"
    path.unlink()
    if record is not None:
        path.write_text(record)
    put(comm_home, WHOLE)
    holder = held(comm_home, fcntl.LOCK_EX)
    assert inbox.read_batch(home, "a") == Batch([WHOLE[:-1]], total=1)
    os.close(holder)


def test_read_batch_when_the_lock_fails_then_a_warning_and_the_read_runs_without_it(comm_home: Path) -> None:
    home = mail_home(comm_home)
    put(comm_home, WHOLE)
    (comm_home / "inbox" / "a.lock").mkdir()
    warning = (
        "WARNING: the inbox lock for @a failed (cannot open its lock file) — "
        "reading without it; a line may show twice, none is lost"
    )
    assert inbox.read_batch(home, "a") == Batch([WHOLE[:-1]], total=1, warning=warning)
    assert inbox.unread(home, "a") == Count(1, 1, TS, warning, 1)


def test_read_batch_when_the_inbox_cannot_be_read_then_failed_and_never_empty(comm_home: Path) -> None:
    home = mail_home(comm_home)
    (comm_home / "inbox" / "a.jsonl").mkdir()
    assert inbox.read_batch(home, "a") == Failed("Is a directory")
    assert inbox.unread(home, "a") == Failed("Is a directory")
    assert isinstance(peeks.peek(home, "a", 5), Failed)
    assert inbox.count_failed("a", Failed("Is a directory")) == (
        "WARNING: the unread count for @a failed (Is a directory) — run comm-poll.sh to read your mail"
    )
    assert inbox.read_failed("a", Failed("Is a directory")) == (
        "FAILED: the inbox for @a could not be read (Is a directory); nothing was shown"
    )


def test_read_batch_when_the_cursor_cannot_be_read_then_everything_shows_again(comm_home: Path) -> None:
    home = mail_home(comm_home)
    put(comm_home, WHOLE)
    (comm_home / "read" / "a.cursor").mkdir()
    assert inbox.read_batch(home, "a") == Batch([WHOLE[:-1]], total=1)


def test_read_batch_when_the_cursor_moves_meanwhile_then_it_is_not_taken_for_a_cut_back(comm_home: Path) -> None:
    """Another poll may show a new line, and write its cursor, while this one reads: an old cursor repeats a line, a
    cursor read after the inbox would point past its end."""

    class RacedDisk(Disk):
        def read_all(self, descriptor: int, limit: int | None = None) -> bytes:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            data = super().read_all(descriptor, limit)
            if path.endswith(("a.jsonl", "a.cursor")) and not self.raced:
                self.raced = True
                put(comm_home, WHOLE + LINE, cursor.text(2, LINE).encode())
            return data

        raced = False

    home = mail_home(comm_home, disk=RacedDisk(), procs=NAMELESS)
    put(comm_home, WHOLE, cursor.text(1, WHOLE).encode())
    assert inbox.read_batch(home, "a") == Batch([LINE[:-1]], start=1, total=2)


# -- the count


def test_unread_when_lines_of_every_kind_then_directed_ones_past_the_cursor(comm_home: Path) -> None:
    home = mail_home(comm_home)
    second = frames.frame("b", "a", "beta", "second", "2026-01-02T09:00:00Z")
    lines = [WHOLE, second, frames.frame("b", "", "r", "all", TS), frames.frame("a", "a", "r", "own", TS), LINE, b"?\n"]
    put(comm_home, b"".join(lines) + LINE[:-1], cursor.text(1, WHOLE).encode())
    assert inbox.unread(home, "a") == Count(2, 6, "2026-01-02T09:00:00Z", newest=5)
    assert (comm_home / "read" / "a.cursor").read_bytes() == cursor.text(1, WHOLE).encode()


def test_unread_when_there_is_no_inbox_then_none(comm_home: Path) -> None:
    assert inbox.unread(mail_home(comm_home), "a") == Count(0)


def test_mailbox_stamp_when_inbox_or_cursor_change_then_another_one(comm_home: Path) -> None:
    home = mail_home(comm_home)
    stamps = [inbox.mailbox_stamp(home, "a")]
    for change in (
        lambda: inbox.file_line(home, "a", LINE),
        lambda: inbox.file_line(home, "a", LINE),
        lambda: inbox.write_cursor(home, "a", Batch([LINE[:-1]])),
        lambda: inbox.write_cursor(home, "a", Batch([LINE[:-1]], start=1)),
    ):
        change()
        stamps.append(inbox.mailbox_stamp(home, "a"))
    assert len(set(stamps)) == 5
    assert inbox.mailbox_stamp(home, "a") == stamps[-1]


# -- the peek


def numbered(count: int) -> list[bytes]:
    return [frames.frame("b", "a", "r", f"n{number}", TS) for number in range(1, count + 1)]


@pytest.mark.parametrize("newest", [1, 2, 700, 5000, 20_000])
@pytest.mark.parametrize("shown", [0, 1, 4998, 5000])
@pytest.mark.parametrize("torn", [b"", b'{"from":'])
def test_peek_when_a_big_inbox_then_the_newest_lines_with_their_numbers_and_marks(
    comm_home: Path, newest: int, shown: int, torn: bytes
) -> None:
    home = mail_home(comm_home)
    lines = numbered(5000)
    put(comm_home, b"".join(lines) + torn, cursor.text(shown, lines[shown - 1]).encode() if shown else b"")
    seen = peeks.peek(home, "a", newest)
    assert isinstance(seen, peeks.Peek)
    assert seen.total == 5000
    first = max(1, 5001 - newest)
    assert seen.lines == [PeekedLine(number, lines[number - 1][:-1], number <= shown) for number in range(first, 5001)]


def test_peek_when_a_block_ends_at_a_line_then_still_as_many_as_asked(comm_home: Path) -> None:
    home = mail_home(comm_home)
    put(comm_home, (b"x" * 63 + b"\n") * 4096)
    seen = peeks.peek(home, "a", 1024)  # exactly one block of 64 KiB
    assert isinstance(seen, peeks.Peek)
    assert (len(seen.lines), seen.lines[0].number, seen.lines[-1].number) == (1024, 3073, 4096)


@pytest.mark.parametrize(("said", "read"), [(b"2", 2), (b"3 1-1", 2), (b"4 1-1", 3), (b"oops", 3), (b"9 1-1", 0)])
def test_peek_when_other_cursors_then_marked_by_the_one_rule(comm_home: Path, said: bytes, read: int) -> None:
    home = mail_home(comm_home)
    lines = numbered(3)
    put(comm_home, b"".join(lines), said)
    seen = peeks.peek(home, "a", 10)
    assert isinstance(seen, peeks.Peek)
    assert [line.read for line in seen.lines] == [True] * read + [False] * (3 - read)


def test_peek_when_the_cursor_is_an_old_timestamp_and_the_inbox_big_then_every_line_is_looked_at(
    comm_home: Path,
) -> None:
    home = mail_home(comm_home)
    stamps = [f"2026-01-{1 + number // 200:02}T00:00:00Z" for number in range(5000)]
    put(comm_home, b"".join(frames.frame("b", "a", "r", "x", ts) for ts in stamps), b"2026-01-20T00:00:00Z")
    seen = peeks.peek(home, "a", 3000)
    assert isinstance(seen, peeks.Peek)
    assert [line.number for line in seen.lines if line.read] == list(range(2001, 4001))


def test_peek_when_taken_then_it_moves_nothing_and_takes_no_lock(comm_home: Path) -> None:
    home = mail_home(comm_home)
    put(comm_home, WHOLE)
    before = {path: path.stat().st_mtime_ns for path in comm_home.rglob("*")}
    holder = held(comm_home, fcntl.LOCK_EX)
    os.unlink(comm_home / "inbox" / "a.lock")
    assert peeks.peek(home, "a", 5) == peeks.Peek([PeekedLine(1, WHOLE[:-1], read=False)], 1)
    os.close(holder)
    after: dict[Any, int] = {path: path.stat().st_mtime_ns for path in comm_home.rglob("*")}
    assert {**after, comm_home / "inbox": 0} == {**before, comm_home / "inbox": 0}


def test_peek_when_there_is_no_inbox_then_nothing(comm_home: Path) -> None:
    assert peeks.peek(mail_home(comm_home), "a", 5) == peeks.Peek([], 0)


def test_file_line_when_read_back_then_the_same_message(comm_home: Path) -> None:
    home = mail_home(comm_home)
    body = "né\n\x1b[31m\x7f\0 🚢"
    assert inbox.file_line(home, "a", frames.frame("b", "a", "r", body, TS)) == Filed(0)
    batch = inbox.read_batch(home, "a")
    assert isinstance(batch, Batch)
    assert json.loads(batch.lines[0])["msg"] == body


def test_read_batch_when_only_the_first_line_of_a_big_inbox_was_shown_then_all_others_come(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "_READ_BLOCK", 100)
    home = mail_home(comm_home)
    lines = numbered(9)
    put(comm_home, b"".join(lines), cursor.text(1, lines[0]).encode())
    batch = inbox.read_batch(home, "a")
    assert isinstance(batch, Batch)
    assert (batch.start, batch.lines, batch.note) == (1, [line[:-1] for line in lines[1:]], "")
