"""Which process counts as the agent of a row's last run, and what is done about one that does not end."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.disk import Disk
from sot_tui.comm.proof import SystemProcs
from sot_tui.engine.rows import orphans, voyage
from sot_tui.engine.rows.orphans import end_for_good, end_orphan
from sot_tui.engine.rows.voyage import Record, Voyage
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN = "0190aaaa-0000-7000-8000-000000000001"


class Told(SystemProcs):
    """The machine, but for what it is told to say of a boot and a start."""

    def __init__(self, boot: str, start: str | None) -> None:
        self._boot, self._start = boot, start

    def boot_id(self) -> str:
        return self._boot

    def start_of(self, pid: int) -> str | None:  # noqa: ARG002  (there is one process here)
        return self._start


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Return a process that leads a group of its own."""
    with subprocess.Popen(
        [sys.executable, "-IS", "-c", "input()"],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as one:
        yield one
        one.kill()


def recorded(folder: Path, pid: int, boot: str, start: str) -> str:
    """Return a row whose last run has such an agent, and no end."""
    kept = Voyage(Disk(), str(folder), RUN)
    assert kept.open() is None
    kept.write(Record(RUN, ("sh",), "/", 1.0, agent=pid, agent_start=start, boot=boot))
    kept.point()
    kept.close()
    return str(folder)


@pytest.mark.parametrize(
    ("boot", "start"),
    [("-", "7"), ("b1", "-"), ("b2", "7"), ("b1", "8"), ("b1", None)],
    ids=["no boot", "no start", "another boot", "another start", "gone"],
)
def test_process_when_it_may_be_another_then_it_is_left_alone(
    tmp_path: Path, process: subprocess.Popen[bytes], boot: str, start: str | None
) -> None:
    """What cannot be read equals nothing, itself included: as in every proof of the contract."""
    said_boot, said_start = ("-" if boot == "-" else "b1"), ("-" if start == "-" else "7")
    row = recorded(tmp_path, process.pid, said_boot, said_start)
    assert end_orphan(Disk(), JumpingClock(), Told(boot, start), row) == ""
    assert process.poll() is None


@pytest.mark.parametrize("pid", [0, 1, -1])
def test_record_when_it_names_no_agent_then_no_group_is_signalled(tmp_path: Path, pid: int) -> None:
    row = recorded(tmp_path, pid, "b1", "7")
    assert end_orphan(Disk(), JumpingClock(), Told("b1", "7"), row) == ""


def test_agent_when_it_is_the_very_process_then_it_is_ended(tmp_path: Path, process: subprocess.Popen[bytes]) -> None:
    row = recorded(tmp_path, process.pid, "b1", "7")
    assert end_orphan(Disk(), RealTime(), Told("b1", "7"), row) == ""
    assert process.wait() < 0


class RealTime(JumpingClock):
    """Waits for real: the process has to have the time to end."""

    def sleep(self, seconds: float) -> None:
        import time

        time.sleep(seconds)


def test_agent_when_it_does_not_end_then_the_start_is_told_why_and_not_for_ever(tmp_path: Path) -> None:
    """A process that no signal reaches (it waits for a disk) keeps its row; the wait has a bound."""
    row = recorded(tmp_path, 2**22 + 5, "b1", "7")
    clock = JumpingClock()
    began = clock.monotonic()
    assert (
        end_orphan(Disk(), clock, Told("b1", "7"), row) == f"the agent of its last run (pid {2**22 + 5}) does not end"
    )
    assert clock.monotonic() - began <= 2 * orphans.PATIENCE_SECS + 0.1


def test_row_when_it_has_never_run_or_cannot_be_read_then_there_is_no_orphan(tmp_path: Path) -> None:
    assert end_orphan(Disk(), JumpingClock(), SystemProcs(), str(tmp_path)) == ""
    (tmp_path / "drawer.voyage").write_text("nonsense")
    assert end_orphan(Disk(), JumpingClock(), SystemProcs(), str(tmp_path)) == ""


@pytest.mark.parametrize(
    ("boot", "start", "over"),
    [
        ("b1", None, True),
        ("b2", "7", True),
        ("b1", "8", True),
        ("b2", "-", True),
        ("-", "7", False),
        ("b1", "-", False),
    ],
    ids=["gone", "another boot", "another start", "another boot alone", "no boot", "no start"],
)
def test_end_when_the_agent_cannot_be_known_then_only_a_proof_of_its_end_counts(
    tmp_path: Path, process: subprocess.Popen[bytes], boot: str, start: str | None, *, over: bool
) -> None:
    """Not proved dead is alive."""
    row = recorded(tmp_path, process.pid, "b1", "7")
    said = end_for_good(Disk(), JumpingClock(), Told(boot, start), row, "for the test")
    record = voyage.record(Disk(), row, RUN)
    assert record is not None
    assert process.poll() is None
    if over:
        assert said == ""
        assert (record.reason, record.words) == ("for the test", "it has ended (for the test)")
    else:
        assert said == f"whether the agent of its last run (pid {process.pid}) lives cannot be told"
        assert record.ended is None


def test_end_when_nothing_tells_of_the_run_then_it_is_not_claimed(tmp_path: Path) -> None:
    row = str(tmp_path)
    clock, procs = JumpingClock(), Told("b1", None)
    assert end_for_good(Disk(), clock, procs, row, "") == "", "it has never run"
    (tmp_path / "drawer.voyage").write_text(RUN)
    assert end_for_good(Disk(), clock, procs, row, "") == "its run belongs to another implementation"
    (tmp_path / "drawer.voyage").write_text("nonsense")
    assert end_for_good(Disk(), clock, procs, row, "") == f"{row}/drawer.voyage names no run"


def test_end_when_it_cannot_be_written_then_it_is_not_claimed(tmp_path: Path) -> None:
    row = recorded(tmp_path, 2**22 + 5, "b1", "7")
    draft = tmp_path / "voyages" / RUN / "run.json.draft"
    draft.mkdir()
    clock, procs = JumpingClock(), Told("b1", None)
    assert end_for_good(Disk(), clock, procs, row, "") == "its end is not on disk yet: Is a directory"
    draft.rmdir()
    held = Voyage(Disk(), row, RUN)
    assert held.open() is None
    assert end_for_good(Disk(), clock, procs, row, "") == "another process writes its run"
    held.close()
    assert end_for_good(Disk(), clock, procs, row, "") == ""
