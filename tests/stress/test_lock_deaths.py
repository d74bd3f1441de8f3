"""Deaths of lock holders, for real: processes killed by `kill -9`, the real settle, comm homes side by side.

Every provably dead holder is reclaimed by the next writer, and nothing that cannot be proved dead is ever touched: a
frozen holder, one in another pid namespace, one on another machine, one whose reclaimer is frozen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm.proof import Record, SystemProcs, own_record
from sot_tui.comm.registry_lock import LockIs, look
from tests.actors import NAMESPACE, Actor, proving_home

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

pytestmark = [pytest.mark.stress, pytest.mark.timeout(120)]

PROGRAM = Path(__file__).with_name("deaths.py")


def run_deaths(folder: Path, deaths: int, seed: int, side_by_side: int) -> list[dict[str, Any]]:
    """Return what became of so many deaths, spread over processes that mostly wait out their settles."""
    home = proving_home(folder)
    root = os.path.dirname(home.path)
    each, more = divmod(deaths, side_by_side)
    processes = [
        subprocess.Popen(
            [sys.executable, "-P", str(PROGRAM), root, str(seed + number), str(each + (number < more))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(side_by_side)
    ]
    found = []
    for process in processes:
        out, err = process.communicate()
        assert process.returncode == 0, err.decode()
        found += [json.loads(line) for line in out.splitlines()]
    assert len(found) == deaths
    return found


def check_deaths(found: list[dict[str, Any]]) -> None:
    for one in found:
        assert one["whole"], one
        assert one["written"], one
        assert one["free"], one
        if one["held"]:
            assert one["verdict"].startswith("dead: "), one
            assert one["took"] >= 1.0, one  # the settle is never skipped
            assert one["markers"] >= 1, one
    print(Counter((one["kind"], "held" if one["held"] else "free") for one in found))  # noqa: T201  (the figures)


def test_deaths_when_forty_holders_die_then_each_one_is_reclaimed_by_the_next_writer(tmp_path: Path) -> None:
    found = run_deaths(tmp_path, 40, seed=1, side_by_side=20)
    check_deaths(found)
    assert len([one for one in found if one["held"]]) >= 15


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_deaths_when_a_thousand_holders_die_then_each_one_is_reclaimed(tmp_path: Path) -> None:
    found = run_deaths(tmp_path, 1000, seed=1000, side_by_side=50)
    check_deaths(found)
    assert len([one for one in found if one["held"]]) >= 400


# -- what is never touched --------------------------------------------------------------------------------------------


def check_untouched(home: Home, why: str) -> None:
    """Nobody takes or clears the lock, whoever asks and however long; the lock is the same file afterwards."""
    before = os.stat(home.lock), home.disk.read(home.lock)
    with Actor(home, SOT_LOCK_WAIT_SECS="1") as writer:
        for wait in ("HEARTBEAT", "RULED"):
            answer = writer.asks(do="write", wait=wait, name="x")
            assert not answer["written"]
            assert f": {why}" in answer["said"]
        refused = writer.asks(do="clear")
        assert refused["cleared"] == "NotCleared"
        assert why in refused["said"]
    assert (os.stat(home.lock), home.disk.read(home.lock)) == before
    assert "x" not in json.loads(home.disk.read(home.registry))["agents"]


def test_holder_when_it_is_frozen_then_it_is_never_forced_and_goes_on(tmp_path: Path) -> None:
    home = proving_home(tmp_path)
    with Actor(home) as holder, Actor(home) as writer:
        assert holder.asks(do="write", wait="HEARTBEAT", name="frozen", stop="registry.flushed") == {
            "at": "registry.flushed"
        }
        holder.freeze()
        check_untouched(home, "it is running")
        holder.thaw()
        assert holder.asks()["written"]
        assert writer.asks(do="write", wait="HEARTBEAT", name="next")["written"]
    assert {"frozen", "next"} <= set(json.loads(home.disk.read(home.registry))["agents"])


def test_holder_when_its_reclaimer_is_frozen_then_nobody_else_acts_for_it(tmp_path: Path) -> None:
    home = proving_home(tmp_path)
    with Actor(home) as holder, Actor(home) as reclaimer:
        assert holder.asks(do="take", wait="HEARTBEAT")["taken"]
        holder.kill()
        assert reclaimer.asks(do="write", wait="HEARTBEAT", name="r", stop="lock.settled") == {"at": "lock.settled"}
        reclaimer.freeze()
        check_untouched(home, "it is dead, but its reclaim by ")
        reclaimer.thaw()
        assert reclaimer.asks()["written"]


def test_holder_when_it_is_in_another_pid_namespace_then_it_is_never_forced_alive_or_dead(tmp_path: Path) -> None:
    """A refusal of the kernel to make the namespace is printed, and counts as one holder not seen."""
    home = proving_home(tmp_path)
    refusal = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    if refusal.returncode:
        print(f"1 holder in another pid namespace not seen: {refusal.stderr.strip()}")  # noqa: T201
        assert refusal.stderr
        return
    with Actor(home, NAMESPACE) as holder:
        assert holder.asks(do="take", wait="HEARTBEAT")["taken"]
        record = look(home).record
        assert record is not None
        assert record.namespace != SystemProcs().pid_namespace()
        check_untouched(home, "it is in another pid namespace")
        holder.kill()
        check_untouched(home, "it is in another pid namespace")


def test_holder_when_it_and_its_reader_are_in_one_namespace_then_its_death_is_proved_there(tmp_path: Path) -> None:
    """Where a comm command in its namespace can prove it, that is what the sentence tells a person to run."""
    home = proving_home(tmp_path)
    refusal = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    if refusal.returncode:
        print(f"1 holder in another pid namespace not seen: {refusal.stderr.strip()}")  # noqa: T201
        assert refusal.stderr
        return
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from tests.stress import deaths; deaths.in_one_namespace(sys.argv[2])"
    )
    ran = subprocess.run(
        [*NAMESPACE, sys.executable, "-c", program, str(Path(__file__).parents[2]), home.path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {"written": True, "verdict": "dead"}


MINE = own_record(SystemProcs(), fresh_reads=True)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        pytest.param(
            Record("otherbox", "f" * 32, "00000000-1111-4222-8333-444444444444", MINE.namespace, "4242", "77"),
            "it is on another machine",
            id="another machine",
        ),
        pytest.param(MINE._replace(machine="e" * 32), "it is on another machine", id="this boot, another machine"),
        pytest.param(Record(MINE.name, "-", "-", "-", "4242", "-"), "it is on another machine", id="no proof fields"),
        pytest.param(MINE._replace(start="-"), "it is running", id="no start, and its pid runs"),
    ],
)
def test_holder_when_it_cannot_be_proved_dead_from_here_then_it_is_never_forced(
    tmp_path: Path, record: Record, why: str
) -> None:
    if record.start == "-" and record.machine != "-":
        record = record._replace(pid=str(os.getpid()))  # this process, wherever the test runs
    home = proving_home(tmp_path)
    with open(home.lock, "w", encoding="ascii") as file:
        file.write(record.line)
    check_untouched(home, why)
    assert look(home).state is LockIs.HELD
