"""What a run leaves on disk: its record, its recording, and what is removed of older runs."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from sot_tui.comm.disk import Disk
from sot_tui.comm.errors import Unreadable
from sot_tui.engine.rows import voyage
from sot_tui.engine.rows.voyage import Busy, Record, Voyage
from tests.faults.disks import Failing, steps_of
from tests.seams import JumpingClock

RUNS = [f"0190aaaa-0000-7000-8000-{number:012x}" for number in range(10)]
SAID = Record(RUNS[0], ("claude", "--continue"), "/srv/MyRepo", 100.5)


@pytest.fixture
def row(tmp_path: Path) -> str:
    folder = tmp_path / "ws-1"
    folder.mkdir()
    return str(folder)


def made(row: str, run: str, disk: Disk | None = None) -> Voyage:
    """Return a run that has begun and points to itself."""
    one = Voyage(disk or Disk(), row, run)
    assert one.open() is None
    one.write(SAID._replace(run=run))
    one.point()
    return one


def events(path: Path) -> list[list[object]]:
    """Return a recording's events; its header is one too many to be one."""
    lines = path.read_text().splitlines()
    assert json.loads(lines[0])["version"] == 2
    return [json.loads(line) for line in lines[1:]]


def test_record_when_written_then_it_is_read_back_whole(row: str) -> None:
    one = made(row, RUNS[0])
    assert voyage.pointer(Disk(), row) == RUNS[0]
    assert voyage.record(Disk(), row, RUNS[0]) == SAID
    ended = SAID._replace(ended=200.25, signal=9, reason="the row was destroyed")
    one.write(ended)
    assert voyage.record(Disk(), row, RUNS[0]) == ended
    assert ended.words == "it was ended by signal 9 (the row was destroyed)"
    assert SAID._replace(ended=1.0, exit=3).words == "it exited with 3"
    assert not SAID.words


def test_record_when_there_is_none_then_it_is_absent_and_not_unreadable(row: str) -> None:
    assert voyage.pointer(Disk(), row) == ""
    assert voyage.record(Disk(), row, RUNS[0]) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"argv":[]}',
        '{"argv":["a"],"run":"x","root":"/","began":true}',
        '{"argv":["a"],"run":"x","root":"/","began":1,"ended":"now"}',
        '{"argv":["a"],"run":"x","root":"/","began":1,"agent":"7"}',
        '{"argv":["a"],"run":"x","root":"/","began":1,"boot":null}',
        '{"argv":[1],"run":"x","root":"/","began":1}',
        '{"argv":["a"],"run":"x","root":1,"began":1}',
    ],
)
def test_record_when_it_is_damaged_then_it_is_unreadable_and_not_absent(row: str, text: str) -> None:
    made(row, RUNS[0])
    Path(voyage.folder(row, RUNS[0]), "run.json").write_text(text)
    with pytest.raises(Unreadable):
        voyage.record(Disk(), row, RUNS[0])


def test_pointer_when_it_names_no_run_then_it_is_unreadable(row: str) -> None:
    Path(row, "drawer.voyage").write_text("../../etc\n")
    with pytest.raises(Unreadable):
        voyage.pointer(Disk(), row)


def test_run_when_another_process_writes_it_then_it_is_busy(row: str) -> None:
    made(row, RUNS[0])
    assert Voyage(Disk(), row, RUNS[0]).open() == Busy()


def test_files_when_made_then_only_their_owner_may_open_them(row: str) -> None:
    one = made(row, RUNS[0])
    one.recording(JumpingClock(), 80, 24).output(b"x")
    for folder, _, names in os.walk(row):
        if folder != row:
            assert os.stat(folder).st_mode & 0o777 == 0o700
        for name in names:
            assert os.stat(f"{folder}/{name}").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_end_when_any_step_fails_then_the_record_is_the_old_or_the_new_one(tmp_path: Path, error: int) -> None:
    """Whatever step fails, the record says that the run goes on, or how it ended: nothing between."""

    def written(disk: Disk, name: str) -> tuple[str, Record]:
        row = str(tmp_path / name)
        os.mkdir(row)
        one = made(row, RUNS[0])
        one._disk = disk
        ended = SAID._replace(ended=5.0, exit=0)
        one.write(ended)
        return row, ended

    count = len(steps_of(lambda disk: written(disk, "counted")))
    for step in range(1, count + 1):
        row = str(tmp_path / f"ws-{step}")
        try:
            written(Failing(step, error), f"ws-{step}")
        except OSError:
            found = voyage.record(Disk(), row, RUNS[0])
            assert found is not None
            assert found.ended in {None, 5.0}
        assert not os.path.exists(f"{voyage.folder(row, RUNS[0])}/run.json.draft") or step == count


# -- the recording ---------------------------------------------------------------------------------------------------


def test_recording_when_read_then_it_is_what_was_written_with_its_times_and_sizes(row: str) -> None:
    clock = JumpingClock()
    one = made(row, RUNS[0]).recording(clock, 80, 24)
    one.output("pr\x1b[2mompt ❯ ".encode())
    clock.pass_(1.25)
    one.output("é".encode()[:1])
    one.output("é".encode()[1:] + b"\xff")
    one.resized(120, 40)
    one.close()
    path = Path(voyage.folder(row, RUNS[0]), "run.cast")
    assert json.loads(path.read_text().splitlines()[0])["width"] == 80
    assert events(path) == [
        [0.0, "o", "pr\x1b[2mompt ❯ "],
        [1.25, "o", "é\ufffd"],
        [1.25, "r", "120x40"],
    ]
    assert path.read_bytes().isascii()


def test_recording_when_an_agent_writes_for_days_then_the_newest_is_kept_and_the_bound_holds(row: str) -> None:
    one = made(row, RUNS[0]).recording(JumpingClock(), 80, 24)
    folder = Path(voyage.folder(row, RUNS[0]))
    most = 0
    for number in range(600):
        one.output(b"%06d" % number + b"\xff" * 65530)
        most = max(most, sum(path.stat().st_size for path in folder.glob("*.cast")))
    assert voyage.RUN_LIMIT_BYTES // 3 < most <= voyage.RUN_LIMIT_BYTES
    before, now = events(folder / "run.before.cast"), events(folder / "run.cast")
    numbers = [int(str(event[2])[:6]) for event in (*before, *now)]
    assert numbers == list(range(numbers[0], 600))


def test_recording_when_the_disk_is_full_for_a_while_then_it_says_what_is_missing(row: str) -> None:
    clock = JumpingClock()

    class Full(Disk):
        full = False

        def write(self, descriptor: int, data: bytes) -> None:
            if self.full:
                super().write(descriptor, data[: len(data) // 2])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            super().write(descriptor, data)

    disk = Full()
    one = made(row, RUNS[0], disk).recording(clock, 80, 24)
    one.output(b"before")
    disk.full = True
    one.output(b"lost")
    disk.full = False
    one.output(b"too soon")
    assert one.lost == 12
    clock.pass_(voyage.PAUSE_SECS)
    one.output(b"after")
    assert one.lost == 0
    said = [event[1:] for event in events(Path(voyage.folder(row, RUNS[0]), "run.cast"))]
    assert said == [["o", "before"], ["m", "12 characters could not be recorded here"], ["o", "after"]]


def test_recording_when_no_file_can_be_made_at_first_then_it_begins_with_a_header_later(row: str) -> None:
    clock = JumpingClock()
    one = made(row, RUNS[0]).recording(clock, 80, 24)
    folder = Path(voyage.folder(row, RUNS[0]))
    (folder / "run.cast").mkdir()
    one.output(b"lost")
    (folder / "run.cast").rmdir()
    clock.pass_(voyage.PAUSE_SECS)
    one.output(b"kept")
    assert [event[1] for event in events(folder / "run.cast")] == ["m", "o"]


# -- older runs --------------------------------------------------------------------------------------------------------


def kept(row: str) -> list[str]:
    """Return the runs that are there."""
    return sorted(os.listdir(f"{row}/voyages"))


def closed(one: Voyage) -> Voyage:
    """Let a run's lock go, as the end of its process does."""
    os.close(one._lock)
    return one


def test_prune_when_there_are_many_runs_then_the_newest_five_stay(row: str) -> None:
    for run in RUNS[:7]:
        closed(made(row, run)).recording(JumpingClock(), 80, 24).output(b"x")
    made(row, RUNS[7]).prune()
    assert kept(row) == RUNS[3:8]


def test_prune_when_a_run_is_older_than_the_current_one_by_name_then_the_current_one_stays(row: str) -> None:
    for run in RUNS[1:8]:
        closed(made(row, run))
    made(row, RUNS[0]).prune()
    assert kept(row) == [RUNS[0], *RUNS[4:8]]


def test_prune_when_a_folder_is_not_ours_then_it_is_left_alone(row: str, tmp_path: Path) -> None:
    for run in RUNS[:7]:
        closed(made(row, run))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "run.json").write_text("precious")
    Path(voyage.folder(row, RUNS[0]), "notes.txt").write_text("a person's")
    os.unlink(f"{voyage.folder(row, RUNS[1])}/run.json")
    os.symlink(elsewhere / "run.json", f"{voyage.folder(row, RUNS[1])}/run.json")
    lock = os.open(f"{voyage.folder(row, RUNS[2])}/writer.lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.symlink(elsewhere, voyage.folder(row, "0180aaaa-0000-7000-8000-000000000000"))
    Path(row, "voyages", "notes").mkdir()
    made(row, RUNS[7]).prune()
    os.close(lock)
    assert kept(row) == ["0180aaaa-0000-7000-8000-000000000000", *RUNS[:8], "notes"]
    assert (elsewhere / "run.json").read_text() == "precious"
    assert sorted(os.listdir(voyage.folder(row, RUNS[0]))) == ["notes.txt", "run.json", "writer.lock"]
