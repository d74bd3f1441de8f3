"""What goes wrong inside and around a capsule, and what it costs: never the agent."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.disk import Disk
from sot_tui.engine.rows import capsules, voyage
from sot_tui.engine.rows.capsule import HELD
from tests.capsule.process import Wire, alive, new_run, until

if TYPE_CHECKING:
    from tests.capsule.process import CapsuleRow

pytestmark = pytest.mark.e2e

BROKEN_MODEL = """\
import os, signal, sys, time
from sot_tui.comm.clock import SystemClock
from sot_tui.comm.disk import Disk
from sot_tui.engine.rows.child import Child
from sot_tui.engine.rows.emulation import Emulation
from sot_tui.engine.rows.run import Run
from sot_tui.engine.rows.voyage import Record, Voyage
from sot_tui.wake.terminal import Terminal

class Broken(Terminal):
    def feed(self, data, now):
        if b"BOOM" in data:
            raise ZeroDivisionError("a hole")
        super().feed(data, now)

row, run_id = sys.argv[1:]
os.mkdir(row, 0o700)
agent = "trap 'echo drawn anew' WINCH; echo BOOM; while :; do sleep 0.02; done"
child = Child(["/bin/sh", "-c", agent], dict(os.environ), 80, 24)
kept = Voyage(Disk(), row, run_id)
kept.open()
record = Record(run_id, ("sh",), "/", time.time())
emulation = Emulation(80, 24, Broken)
run = Run(SystemClock(), child, emulation, kept.recording(SystemClock(), 80, 24), kept, record, (80, 24))
deadline = time.monotonic() + 10
while time.monotonic() < deadline:
    run.pump()
    run.turn()
    rows = ["".join(cell.data for cell in row).rstrip() for row in run.screen().rows]
    if "drawn anew" in rows:
        break
    time.sleep(0.01)
print(emulation.faults, run.phase, [row for row in rows if row])
os.killpg(child.pid, signal.SIGKILL)
"""


def test_model_when_it_fails_then_the_agent_goes_on_and_is_asked_to_draw_anew(row: CapsuleRow) -> None:
    """Product, architecture: a fault in the model resets the model and never stops the pump."""
    row.folder.parent.mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", BROKEN_MODEL, str(row.folder), new_run()], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1 ready ['drawn anew']\n"


def test_project_when_it_holds_modules_of_our_names_then_none_of_them_is_loaded(row: CapsuleRow) -> None:
    """The capsule starts in a folder that anybody may have written; its Python must not look there."""
    for name in ("json.py", "selectors.py", "pyte.py"):
        (row.root / name).write_text("open('loaded', 'w'); raise SystemExit('loaded')\n")
    (row.root / "sot_tui").mkdir()
    (row.root / "sot_tui" / "__init__.py").write_text("raise SystemExit('loaded')\n")
    assert row.up("sh", "-c", "echo up; exec cat").shows("up")
    assert not (row.root / "loaded").exists()


def test_environment_when_it_is_meant_for_another_python_then_only_the_agent_goes_by_it(row: CapsuleRow) -> None:
    """A project's PYTHONPATH may hold modules of our names, and its PYTHONWARNINGS may end whoever warns."""
    (row.root / "json.py").write_text("raise SystemExit('loaded')\n")
    given = {**os.environ, "PYTHONPATH": str(row.root), "PYTHONWARNINGS": "error", "PYTHONHOME": "/nowhere"}
    wire = row.up("sh", "-c", 'echo "$PYTHONPATH $PYTHONWARNINGS $PYTHONHOME"; exec cat', environ=given)
    assert f"{row.root} error /nowhere" in wire.shows("/nowhere")


LOOP = """\
import os, sys, time
from sot_tui.comm.clock import SystemClock
from sot_tui.comm.disk import Disk
from sot_tui.engine.rows import lane_server
from sot_tui.engine.rows.answers import Place
from sot_tui.engine.rows.child import Child
from sot_tui.engine.rows.emulation import Emulation
from sot_tui.engine.rows.run import Loop, Run
from sot_tui.engine.rows.voyage import Record, Voyage

class Faulty(Run):
    def pump(self):
        if not self.fault:
            raise KeyError("not foreseen")
        super().pump()

row, run_id = sys.argv[1:]
os.mkdir(row, 0o700)
kept = Voyage(Disk(), row, run_id)
kept.open()
listener, path = lane_server.listen(Disk(), row)
child = Child(["/bin/sh", "-c", "echo up; sleep 0.3; echo more; exit 9"], dict(os.environ), 80, 24)
record = Record(run_id, ("sh",), "/", time.time())
recording = kept.recording(SystemClock(), 80, 24)
run = Faulty(SystemClock(), child, Emulation(80, 24), recording, kept, record, (80, 24))
Loop(run, listener, Place(row, os.getpid(), "0")).go()
print(run.fault, run.record.exit, "more" in open(f"{row}/voyages/{run_id}/run.cast").read())
"""


def test_fault_when_it_was_not_foreseen_then_it_is_told_and_the_run_goes_on_to_its_end(row: CapsuleRow) -> None:
    row.folder.parent.mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", LOOP, str(row.folder), new_run()], capture_output=True, text=True, check=True
    )
    assert done.stdout == "KeyError: 'not foreseen' 9 True\n"


def test_capsule_when_it_has_no_descriptor_left_then_it_waits_and_serves_those_it_has(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", "stty -echo; echo up; exec cat")
    wire.shows("up")
    pid = row.pids[0]
    used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(set(range(100)) - used), before[1]))
    waiting = []
    for _ in range(3):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(row.lane)
        waiting.append(connection)
    taken = _jiffies(pid)
    for number in range(10):
        wire.type(f"typed {number}\n")
        wire.shows(f"typed {number}")
    time.sleep(1.5)  # long enough for a loop that spins to show
    assert _jiffies(pid) - taken < 30
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    for connection in waiting:
        connection.close()
    assert until(lambda: row.wire().status()["phase"] == "ready", "it accepts again")


def _jiffies(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_capsule_when_the_agent_does_not_read_then_it_takes_no_core_for_what_waits(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", "stty raw -echo; echo up; exec sleep 1000")
    wire.shows("up")
    while wire.type(b"x" * 4000).get("accepted"):
        pass
    taken = _jiffies(row.pids[0])
    time.sleep(1)  # as above
    assert _jiffies(row.pids[0]) - taken < 10


def test_folder_when_it_is_removed_under_a_run_then_the_capsule_still_ends_with_its_agent(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", "read line; exit 0")
    shutil.rmtree(row.folder)
    wire.type("\n")
    until(lambda: not alive(row.pids[0]), "it has ended")
    assert not row.folder.exists()


def test_lock_when_somebody_only_looks_whether_it_is_held_then_a_start_is_not_refused(row: CapsuleRow) -> None:
    """A look has the lock for a moment; a capsule that starts just then tries again."""
    row.folder.mkdir(parents=True, mode=0o700)
    looker = subprocess.Popen(
        [sys.executable, "-c", LOOKER, str(row.folder)], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    try:
        assert looker.stdout
        assert looker.stdout.readline() == b"looking\n"
        assert row.up("sh", "-c", "echo up; exec cat").shows("up")
    finally:
        looker.communicate()


LOOKER = """\
import fcntl, os, sys, time
lock = os.open(sys.argv[1] + "/supervisor.lock", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
print("looking", flush=True)
time.sleep(0.4)
"""


def orphaned(row: CapsuleRow) -> int:
    """Return an agent that ignores whatever can be ignored, and whose capsule was killed."""
    wire = row.up("sh", "-c", "trap '' HUP TERM; echo up; while :; do sleep 0.1; done")
    wire.shows("up")
    agent = wire.agent()
    os.kill(row.pids[0], signal.SIGKILL)
    until(lambda: not alive(row.pids[0]), "the capsule is gone")
    assert alive(agent)
    assert not capsules.is_held(Disk(), str(row.folder)), "the agent holds nothing of the row's"
    return agent


def test_agent_when_it_outlives_its_capsule_then_the_next_one_ends_it_first(row: CapsuleRow) -> None:
    """Two agents in one project and one conversation is what a row never is."""
    agent = orphaned(row)
    look = f"grep State /proc/{agent}/status; echo up; exec cat"
    up = row.start("sh", "-c", look, options=("--resume",))
    assert up.code == 0, up
    assert "sleeping" not in row.wire().shows("up"), "it had ended before the next one began"
    assert not alive(agent)


@pytest.mark.parametrize("change", [{"agent_start": "1"}, {"boot": "another"}, {"agent_start": "-"}, {"ended": 1.0}])
def test_process_when_it_is_not_known_for_the_agent_then_it_is_left_alone(
    row: CapsuleRow, change: dict[str, object]
) -> None:
    """A process id comes again: only the very process that the record names may be ended."""
    agent = orphaned(row)
    try:
        record = row.record()
        assert record is not None
        path = Path(voyage.folder(str(row.folder), record.run), "run.json")
        path.write_text(json.dumps({**record._asdict(), **change}))
        assert row.up("sh", "-c", "echo up; exec cat").shows("up")
        assert alive(agent)
    finally:
        os.killpg(agent, signal.SIGKILL)


@pytest.mark.stress
@pytest.mark.timeout(180)
def test_capsule_when_it_is_killed_at_any_moment_then_nothing_is_left_and_the_row_can_start(row: CapsuleRow) -> None:
    """`kill -9` while it starts, runs or ends: no agent without a capsule, no damaged file, no row that is stuck."""
    mixer = random.Random(5)
    phases = set()
    for number in range(40):
        run = new_run()
        words = ["--run", run, "--cols", "80", "--lines", "24", "--", "sh", "-c", "echo up; sleep 0.1; exit 3"]
        program = f"{os.path.dirname(sys.executable)}/sot-capsule"
        started = subprocess.Popen(
            [program, "-E", "-P", "-m", "sot_tui.engine.rows.capsule", str(row.folder), *words],
            executable=sys.executable,
            cwd=row.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        until_moment(mixer.uniform(0, 0.6))
        killed = row.processes()
        for pid in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        started.wait()
        until(lambda: not row.processes(), f"round {number}: nothing of it is left")
        until(lambda: not agents_of(row), f"round {number}: no agent is left")
        until(lambda: not capsules.is_held(Disk(), str(row.folder)), f"round {number}: nobody holds the row")
        pointer = voyage.pointer(Disk(), str(row.folder))
        record = voyage.record(Disk(), str(row.folder), run)
        assert pointer != run or record is not None, "a pointer names no run that is not there"
        phases.add((pointer == run, record is not None, record is not None and record.ended is not None))
    assert {(False, False, False), (True, True, False), (True, True, True)} <= phases, "no moment was missed"
    up = row.start("sh", "-c", "echo up; exec cat")
    assert up.code != HELD
    assert row.wire().shows("up")
    assert len(list((row.folder / "voyages").iterdir())) <= voyage.RUNS_KEPT


def until_moment(secs: float) -> None:
    """Let some time pass: the moment is the test's parameter, not a wait for anything."""
    time.sleep(secs)


def agents_of(row: CapsuleRow) -> list[int]:
    """Return every process that stands in the row's project."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and os.readlink(entry / "cwd") == str(row.root):
                found.append(int(entry.name))
    return [pid for pid in found if alive(pid)]


def test_wire_when_the_capsule_is_stopped_then_a_client_is_not_left_waiting(row: CapsuleRow) -> None:
    """A stopped capsule answers nothing: whoever asks must bound the wait; once it goes on, it answers."""
    row.up("cat")
    os.kill(row.pids[0], signal.SIGSTOP)
    wire = Wire(row.lane)
    row.wires.append(wire)
    wire.socket.settimeout(0.2)
    wire.post("status")
    with pytest.raises(TimeoutError):
        wire.socket.recv(1)
    os.kill(row.pids[0], signal.SIGCONT)
    wire.socket.settimeout(10)
    assert wire.socket.recv(1) == b"{"
