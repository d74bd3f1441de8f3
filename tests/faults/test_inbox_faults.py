"""Filing, polling and the lock manager's record, with every single step of the disk failing, lying or dying.

After any step: what was answered `filed` is there once and whole, what was refused is not there, nothing torn is ever
shown, and the next filing leaves whole lines behind a dead writer's partial.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import cursor, frames, inbox, mounts, peeks
from sot_tui.comm.home import Home
from sot_tui.comm.inbox import Batch, Failed, Filed, NotFiled
from tests.faults.disks import Dying, Failing, dies, steps_of
from tests.mailbox import TS, Machine, mail_home
from tests.seams import MountedDisk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sot_tui.comm.disk import Disk
    from tests.faults.disks import Counting, Step

OLD = frames.frame("x", "a", "beta", "old", TS)
LINE = frames.frame("b", "a", "beta", "hello", TS)
NEXT = frames.frame("c", "a", "beta", "next", TS)

STARTS = {
    "no folder": None,
    "no inbox": None,
    "an empty inbox": b"",
    "whole lines": OLD * 3,
    "a partial": OLD + b'{"from":"y","to":',
    "only a long partial": b"p" * 100_000,
}
"""What the inbox holds when the writer comes."""

MANY = 10_000
"""More steps than any run has."""


def fresh(folder: Path, start: str) -> list[bytes]:
    """Lay a comm home in a state of `STARTS`; return its whole lines."""
    mail_home(folder)
    held = STARTS[start]
    if start == "no folder":
        (folder / "inbox").rmdir()
    if held is None:
        return []
    (folder / "inbox" / "a.jsonl").write_bytes(held)
    return held.splitlines(keepends=True)[: held.count(b"\n")]


def filing(folder: Path, disk: Disk) -> Filed | NotFiled:
    home = mail_home_here(folder, disk)
    return inbox.file_line(home, "a", LINE, wait_s=0)


def mail_home_here(folder: Path, disk: Disk) -> Home:
    return Home(str(folder), disk, procs=Machine())


def lines_of(folder: Path) -> list[bytes]:
    """Return what a poll would take for lines: the whole ones."""
    path = folder / "inbox" / "a.jsonl"
    data = path.read_bytes() if path.exists() else b""
    return data.splitlines(keepends=True)[: data.count(b"\n")]


def next_is_filed(folder: Path, before: list[bytes]) -> None:
    """The next writer files behind whole lines, and a poll shows them all."""
    assert isinstance(inbox.file_line(mail_home_here(folder, MountedDisk()), "a", NEXT, wait_s=0), Filed)
    assert (folder / "inbox" / "a.jsonl").read_bytes() == b"".join(before) + NEXT
    batch = inbox.read_batch(mail_home_here(folder, MountedDisk()), "a", wait_s=0)
    assert isinstance(batch, Batch)
    assert [line + b"\n" for line in batch.lines] == [*before, NEXT]


def runs(tmp_path: Path, start: str) -> Iterator[tuple[int, Step, Path]]:
    """Yield a number for each step of a filing that meets no fault, the step, and a folder for the run that does."""
    fresh(tmp_path / "count", start)
    for number, step in enumerate(steps_of(lambda disk: filing(tmp_path / "count", disk)), 1):
        yield number, step, tmp_path / str(number)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.ESTALE])
def test_file_line_when_any_one_step_fails_then_filed_and_there_or_refused_and_not(
    tmp_path: Path, start: str, error: int
) -> None:
    for number, step, folder in runs(tmp_path, start):
        before = fresh(folder, start)
        disk = Failing(number, error)
        answer = filing(folder, disk)
        disk.bury()
        after = [*before, LINE] if isinstance(answer, Filed) else before
        assert lines_of(folder) == after, f"{step}: {answer}"
        next_is_filed(folder, after)


@pytest.mark.parametrize("start", STARTS)
def test_file_line_when_a_step_is_done_and_answered_with_an_error_then_the_same(tmp_path: Path, start: str) -> None:
    for number, step, folder in runs(tmp_path, start):
        before = fresh(folder, start)
        disk = Failing(number, errno.ESTALE, lie=True)
        answer = filing(folder, disk)
        disk.bury()
        after = [*before, LINE] if isinstance(answer, Filed) else before
        assert lines_of(folder) == after, f"{step}: {answer}"
        next_is_filed(folder, after)


@pytest.mark.parametrize("start", STARTS)
def test_file_line_when_every_step_from_one_on_fails_then_never_filed_without_being_there(
    tmp_path: Path, start: str
) -> None:
    """A disk that is gone cannot be cut back either: the refusal then says so, and the line may be there."""
    for number, step, folder in runs(tmp_path, start):
        before = fresh(folder, start)
        disk = Failing(number, errno.EIO, until=MANY)
        answer = filing(folder, disk)
        disk.bury()
        left = lines_of(folder)
        if isinstance(answer, Filed):
            assert left == [*before, LINE], step
        elif "could not be cut back" in answer.reason:
            assert left in (before, [*before, LINE]), step
        else:
            assert left == before, step
        next_is_filed(folder, left)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    ("after", "part"),
    [(True, None), (False, None), (True, 0), (True, 1), (True, len(LINE) // 2), (True, len(LINE) - 1)],
)
def test_file_line_when_the_writer_dies_at_any_step_then_the_next_one_cuts_its_partial(
    tmp_path: Path, start: str, *, after: bool, part: int | None
) -> None:
    for number, step, folder in runs(tmp_path, start):
        before = fresh(folder, start)
        disk = Dying(number, after=after, part=part)
        assert dies(lambda folder=folder, disk=disk: filing(folder, disk))  # type: ignore[misc]  # bound at once
        left = lines_of(folder)
        assert left in (before, [*before, LINE]), step
        next_is_filed(folder, left)


def test_file_line_when_it_has_answered_then_only_closing_was_left_to_do(tmp_path: Path) -> None:
    """Whatever a death cuts before the flush was never answered: the flush is the last step that changes anything."""
    fresh(tmp_path, "whole lines")
    changes = [step.name for step in steps_of(lambda disk: filing(tmp_path, disk)) if step.changes]
    assert changes[-2:] == ["write", "flush"]


# -- polling


def polled(folder: Path, disk: Disk) -> list[bytes]:
    """Poll as the verb does: show, then move the cursor; return what was shown."""
    home = mail_home_here(folder, disk)
    batch = inbox.read_batch(home, "a", wait_s=0)
    if not isinstance(batch, Batch):
        assert isinstance(batch, Failed)
        return []
    shown = list(batch.lines)
    SHOWN.extend(shown)
    inbox.write_cursor(home, "a", batch)
    return shown


SHOWN: list[bytes] = []
"""What the poll that is under test has shown, also when it dies right after."""


@pytest.mark.parametrize("read", [0, 2])
@pytest.mark.parametrize("torn", [b"", b'{"from":'])
@pytest.mark.parametrize("fault", ["fails", "lies", "dies after", "dies before", "dies in the write"])
def test_poll_when_any_step_fails_or_dies_then_no_line_is_skipped_and_none_is_torn(
    tmp_path: Path, read: int, torn: bytes, fault: str
) -> None:
    lines = [frames.frame("b", "a", "r", f"n{number}", TS) for number in range(5)]

    def lay(folder: Path) -> None:
        mail_home(folder)
        (folder / "inbox" / "a.jsonl").write_bytes(b"".join(lines) + torn)
        if read:
            (folder / "read" / "a.cursor").write_text(cursor.text(read, lines[read - 1]))

    def disk_at(number: int) -> Counting:
        if fault == "fails":
            return Failing(number, errno.EIO)
        if fault == "lies":
            return Failing(number, errno.ESTALE, lie=True)
        return Dying(number, after=fault == "dies after", part=3 if fault == "dies in the write" else None)

    lay(tmp_path / "count")
    steps = steps_of(lambda disk: polled(tmp_path / "count", disk))
    for number, step in enumerate(steps, 1):
        folder = tmp_path / str(number)
        lay(folder)
        SHOWN.clear()
        disk = disk_at(number)
        dies(lambda folder=folder, disk=disk: polled(folder, disk))  # type: ignore[misc]  # bound at once
        disk.bury()
        first = list(SHOWN)
        assert set(first) <= {line[:-1] for line in lines}, step
        again = polled(folder, MountedDisk())
        assert {line[:-1] for line in lines[read:]} <= {*first, *again}, f"{step}: skipped"
        assert polled(folder, MountedDisk()) == [], step
        assert (folder / "read" / "a.cursor").read_text() == cursor.text(5, lines[-1]), step
        assert (folder / "inbox" / "a.jsonl").read_bytes() == b"".join(lines) + torn, step


@pytest.mark.parametrize("torn", [b"", b'{"from":'])
def test_count_and_peek_when_any_step_fails_then_an_answer_or_failed_and_never_less(
    tmp_path: Path, torn: bytes
) -> None:
    """Unreadable is never empty: a count under a fault is the true one or none at all."""
    home = mail_home(tmp_path)
    (tmp_path / "inbox" / "a.jsonl").write_bytes(OLD * 2 + torn)
    (tmp_path / "read" / "a.cursor").write_text(cursor.text(1, OLD))
    for look in (
        lambda disk: inbox.unread(home._replace(disk=disk), "a", wait_s=0),
        lambda disk: peeks.peek(home._replace(disk=disk), "a", 5),
    ):
        for number in range(1, len(steps_of(look)) + 1):
            disk = Failing(number, errno.EIO)
            found = look(disk)
            disk.bury()
            if isinstance(found, inbox.Count):
                assert found.unread in (1, 2)  # 2: the cursor could not be read
            elif isinstance(found, peeks.Peek):
                assert len(found.lines) == 2
            else:
                assert isinstance(found, Failed)


# -- the lock manager's record


@pytest.mark.parametrize("before", [None, "nfs4 server:/old\nm1\n"])
@pytest.mark.parametrize("fault", ["fails", "lies", "dies after", "dies before", "dies in the write"])
def test_record_when_any_step_fails_or_dies_then_whole_or_as_before_and_the_next_start_settles_it(
    tmp_path: Path, before: str | None, fault: str
) -> None:
    def lay(folder: Path) -> None:
        mail_home(folder)
        (folder / "inbox-lock-manager").unlink()
        if before is not None:
            (folder / "inbox-lock-manager").write_text(before)

    def start(folder: Path, disk: Disk) -> mounts.Recorded:
        return mounts.record_lock_manager(mail_home_here(folder, disk), named_hub=True)

    lay(tmp_path / "count")
    own = mounts.lock_identity(mail_home_here(tmp_path / "count", MountedDisk()))
    for number, step in enumerate(steps_of(lambda disk: start(tmp_path / "count", disk)), 1):
        folder = tmp_path / str(number)
        lay(folder)
        disk: Counting
        if fault in {"fails", "lies"}:
            disk = Failing(number, errno.ESTALE, lie=fault == "lies")
        else:
            disk = Dying(number, after=fault == "dies after", part=3 if fault == "dies in the write" else None)
        dies(lambda folder=folder, disk=disk: start(folder, disk))  # type: ignore[misc]  # bound at once
        disk.bury()
        path = folder / "inbox-lock-manager"
        found = path.read_text() if path.exists() else None
        assert found in (before, f"{own}\nm1\n", "none@m1\nm1\n"), step
        assert start(folder, MountedDisk()) == mounts.Recorded(own, ""), step
        assert path.read_text() == f"{own}\nm1\n", step
        if fault == "fails" and step.name != "unlink":
            assert [name for name in os.listdir(folder) if name.startswith(".inbox")] == [], step
