"""A capsule's life: how it comes up, what its agent is given, and the ways in which either of them ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import ancestry, paths
from sot_tui.comm.disk import Disk
from sot_tui.comm.home import Home
from sot_tui.comm.proof import SystemProcs
from sot_tui.engine.rows import last_screen, voyage
from sot_tui.engine.rows.capsule import HELD, REFUSED
from tests.capsule.process import CapsuleRow, alive, new_run, until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e


# -- the start -------------------------------------------------------------------------------------------------------


def test_start_when_all_is_well_then_one_process_is_left_that_says_who_it_is(row: CapsuleRow) -> None:
    up = row.start("sh", "-c", "echo up; exec cat")
    assert up.code == 0, up
    said = json.loads(up.line)
    assert said == {"pid": up.pid, "start": SystemProcs().start_of(up.pid), "run": up.run}
    assert row.processes() == [up.pid]
    status = row.wire().status()
    assert {name: status[name] for name in ("lane", "pid", "start", "run", "row")} == {
        "lane": 1, **said, "row": str(row.folder),
    }  # fmt: skip
    assert voyage.pointer(Home("/").disk, str(row.folder)) == up.run
    record = row.record()
    assert record is not None
    assert (record.argv, record.root, record.ended) == (("sh", "-c", "echo up; exec cat"), str(row.root), None)


def test_process_when_looked_at_then_it_shows_its_row_as_every_session_inside_looks_for_it(row: CapsuleRow) -> None:
    """Daemon wire 0.5: argv[0] is `sot-capsule`, an argument before `--` ends in `/workspaces/<id>`."""
    wire = row.up("sh", "-c", "exec sleep 1000")
    words = Path(f"/proc/{row.pids[0]}/cmdline").read_bytes().split(b"\0")
    assert os.path.basename(words[0]) == b"sot-capsule"
    assert any(word.endswith(b"/workspaces/ws-1") for word in words[: words.index(b"--")])
    home = Home("/")
    walk = ancestry.walk_from(home, wire.agent())
    assert ancestry.judge(walk, "ws-1").verdict is ancestry.Verdict.OK
    assert ancestry.judge(walk, "ws-2").verdict is ancestry.Verdict.OTHER_CAPSULE


def test_process_when_up_then_it_holds_nothing_of_whoever_started_it(row: CapsuleRow) -> None:
    wire = row.up("cat")
    pid = row.pids[0]
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert int(fields[1]) != os.getpid()
    assert int(fields[3]) == pid, "it leads a session of its own"
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert {os.readlink(f"/proc/{pid}/fd/{number}") for number in (0, 1, 2)} == {"/dev/null"}
    held = {os.path.realpath(f"/proc/{pid}/fd/{entry}") for entry in os.listdir(f"/proc/{pid}/fd")}
    assert all(
        path.startswith((str(row.folder), "/dev/null", "/dev/ptmx", "/dev/pts/ptmx", f"/proc/{pid}/fd/"))
        for path in held
    )
    assert wire.status()["phase"] in {"starting", "ready"}


def test_files_when_made_then_no_other_account_may_open_any(row: CapsuleRow) -> None:
    row.up("sh", "-c", "echo up; exec cat").shows("up")
    for folder, _, names in os.walk(row.folder.parent.parent):
        assert os.stat(folder).st_mode & 0o777 == 0o700, folder
        for name in names:
            assert os.stat(f"{folder}/{name}").st_mode & 0o777 == 0o600, name


# -- what the agent is given -----------------------------------------------------------------------------------------


def test_agent_when_started_then_it_has_its_terminal_and_no_other_descriptor(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", "ls -l /proc/self/fd; exec cat")
    agent = wire.agent()
    until(lambda: os.readlink(f"/proc/{agent}/exe").endswith("/cat"), "the agent has become a cat")
    assert sorted(os.listdir(f"/proc/{agent}/fd")) == ["0", "1", "2"]
    assert len({os.readlink(f"/proc/{agent}/fd/{number}") for number in (0, 1, 2)}) == 1


@pytest.mark.parametrize("more", [{}, {"LC_ALL": "C"}, {"LC_ALL": "", "LANG": "C"}, {"BYTES": "\udcff\udcfe"}])
def test_agent_when_started_then_its_environment_is_the_one_that_was_given(
    row: CapsuleRow, more: dict[str, str]
) -> None:
    """Python adds LC_CTYPE to a plain environment (PEP 538); an agent is not to notice in what it was started."""
    given = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "TERM": "xterm-256color", "EMPTY": "", **more}
    wire = row.up("cat", environ=given)
    agent = wire.agent()
    until(lambda: os.readlink(f"/proc/{agent}/exe").endswith("/cat"), "the agent runs")
    data = Path(f"/proc/{agent}/environ").read_bytes()
    pairs = dict(os.fsdecode(pair).split("=", 1) for pair in data.split(b"\0") if pair)
    assert pairs == given


def test_agent_when_started_then_every_signal_is_as_at_a_login(row: CapsuleRow) -> None:
    """Dependencies, PTY: a broken pipe that is ignored makes `yes | head -1` fail in a row."""
    wire = row.up("sh", "-c", "yes | head -1; exec cat")
    wire.shows("y")
    assert "Broken pipe" not in wire.text()
    status = Path(f"/proc/{wire.agent()}/status").read_text()
    masks = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Sig"))
    # The C library keeps signals 32 and 33 to itself, and no program can set them: they are as they were inherited.
    found = {name: int(masks[name], 16) & ~(0b11 << 31) for name in ("SigIgn", "SigBlk", "SigCgt")}
    assert found == {"SigIgn": 0, "SigBlk": 0, "SigCgt": 0}


def test_agent_when_started_then_it_stands_in_the_project_and_leads_its_own_terminal(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", 'pwd; tty; umask; stty -a | grep -o "[-]*iutf8"; stty size; exec cat', size=(91, 17))
    shown = wire.shows("17 91")
    assert str(row.root) in shown
    assert "/dev/pts/" in shown
    assert "-iutf8" not in shown
    assert f"{os.umask(os.umask(0o022)):04o}" in shown or "0022" in shown


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_left(row: CapsuleRow) -> Iterator[CapsuleRow]:
    """Check after the test that no process of the row runs, and that no run is on disk."""
    yield row
    assert until(lambda: not row.processes(), "no process is left")
    assert voyage.pointer(Home("/").disk, str(row.folder)) == ""
    assert not list((row.folder / "voyages").glob("*"))
    assert not os.path.exists(row.lane)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("no-such-program", "refused: no-such-program is no program that can be run"),
        ("./nothing", "refused: ./nothing is no program that can be run"),
        ("./notes.txt", "refused: ./notes.txt is no program that can be run"),
        ("/tmp", "refused: /tmp is no program that can be run"),
        ("", "refused: is no program that can be run"),
    ],
)
def test_start_when_the_program_is_missing_then_it_is_refused_and_nothing_runs(
    nothing_left: CapsuleRow, program: str, why: str
) -> None:
    (nothing_left.root / "notes.txt").write_text("no program")
    up = nothing_left.start(program)
    assert (up.code, up.line, up.wrong) == (REFUSED, why, "")


def test_start_when_the_program_cannot_be_executed_then_it_is_refused_and_nothing_runs(
    nothing_left: CapsuleRow,
) -> None:
    """It looks like a program until the kernel is asked: then the forked child must not go on as a copy of ours."""
    program = nothing_left.root / "broken"
    program.write_bytes(b"\x7fELF and nothing else")
    program.chmod(0o755)
    up = nothing_left.start(str(program))
    assert up.code == REFUSED
    assert up.line == f"refused: {program} cannot be run: Exec format error"


def test_start_when_the_interpreter_of_a_script_is_missing_then_it_is_refused(nothing_left: CapsuleRow) -> None:
    program = nothing_left.root / "script"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    assert nothing_left.start("./script").code == REFUSED


def test_start_when_the_project_folder_is_gone_then_it_is_refused_and_nothing_runs(nothing_left: CapsuleRow) -> None:
    gone = nothing_left.root / "gone"
    gone.mkdir()
    words = ["--run", new_run(), "--cols", "80", "--lines", "24", "--", "cat"]
    code = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, [sys.argv[1], *sys.argv[2:]])"
    done = subprocess.run(
        [
            sys.executable, "-c", code, f"{os.path.dirname(sys.executable)}/sot-capsule", "-P",
            "-m", "sot_tui.engine.rows.capsule", str(nothing_left.folder), *words,
        ],
        cwd=gone, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == REFUSED
    assert done.stdout.startswith(b"refused: the project folder is gone")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--",),
        ("relative", "--run", "RUN", "--cols", "80", "--lines", "24", "--", "cat"),
        ("ROW", "--run", "../../etc", "--cols", "80", "--lines", "24", "--", "cat"),
        ("ROW", "--run", "RUN", "--cols", "0", "--lines", "24", "--", "cat"),
        ("ROW", "--run", "RUN", "--cols", "80", "--lines", "501", "--", "cat"),
        ("ROW", "--run", "RUN", "--cols", "8٠", "--lines", "24", "--", "cat"),
        ("ROW", "--run", "RUN", "--cols", "80", "--lines", "24", "--"),
        ("ROW", "--run", "RUN", "--cols", "80", "--lines"),
        ("ROW", "--run", "RUN", "--what", "80", "--lines", "24", "--", "cat"),
        ("ROW", "--cols", "80", "--lines", "24", "--", "cat"),
    ],
)
def test_start_when_the_words_make_no_sense_then_it_is_refused_in_one_line(
    row: CapsuleRow, words: tuple[str, ...]
) -> None:
    known = {"ROW": str(row.folder), "RUN": new_run()}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sot_tui.engine.rows.capsule", *(known.get(word, word) for word in words)],
        capture_output=True,
        check=False,
    )
    assert done.returncode == REFUSED
    assert done.stdout.startswith(b"refused: ")
    assert done.stdout.count(b"\n") == 1
    assert not row.folder.exists()


def test_start_when_another_capsule_holds_the_row_then_it_says_so_and_the_first_goes_on(row: CapsuleRow) -> None:
    """Daemon wire 4.1: 70, another supervisor holds the row."""
    wire = row.up("sh", "-c", "echo first; exec cat")
    before = row.record()
    second = row.start("sh", "-c", "echo second")
    assert (second.code, second.line) == (HELD, "refused: another capsule holds this row")
    assert row.record() == before
    assert wire.shows("first")
    assert row.processes() == row.pids


def test_start_when_the_rows_folder_is_a_file_then_it_is_refused(row: CapsuleRow) -> None:
    row.folder.parent.mkdir(parents=True)
    row.folder.write_text("")
    up = row.start("cat")
    assert up.code == REFUSED
    assert "cannot be used" in up.line


def test_start_when_something_else_lies_where_the_socket_belongs_then_it_is_refused(row: CapsuleRow) -> None:
    row.folder.mkdir(parents=True)
    Path(row.lane).write_text("a person's")
    up = row.start("cat")
    assert (up.code, up.line) == (REFUSED, f"refused: {row.lane} is there, and is no socket")
    assert Path(row.lane).read_text() == "a person's"
    assert not row.processes()


# -- a path too long for a socket ------------------------------------------------------------------------------------


def test_lane_when_the_rows_path_is_too_long_then_it_lies_in_a_private_short_folder(comm_home: Path) -> None:
    """Dependencies, Locks, threads, sockets: a path of 107 bytes at most, else a hashed name below /tmp/sot-<uid>."""
    base = comm_home.parent / ("long" * 20)
    base.mkdir()
    deep = CapsuleRow(base)
    try:
        assert deep.up("sh", "-c", "echo up; exec cat").shows("up")
        assert deep.lane.startswith(paths.short_lanes() + "/")
        assert len(deep.lane) < paths.SOCKET_PATH_BYTES
        assert os.stat(deep.lane).st_mode & 0o777 == 0o600
        assert os.stat(paths.short_lanes()).st_mode & 0o777 == 0o700
        deep.wire().ask("end", reason="")
        deep.ended()
        assert not os.path.exists(deep.lane)
    finally:
        deep.clean()


# -- the end -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "status"), [("exit 0", 0), ("exit 3", 3)])
def test_agent_when_it_exits_then_its_status_is_on_disk_and_the_capsule_is_gone(
    row: CapsuleRow, command: str, status: int
) -> None:
    assert row.start("sh", "-c", f"echo the last words; {command}").code == 0
    record = row.ended()
    assert (record.exit, record.signal, record.reason) == (status, None, "")
    assert not os.path.exists(row.lane)
    cast = Path(voyage.folder(str(row.folder), record.run), "run.cast").read_text()
    assert "the last words" in cast


def test_agent_when_it_is_killed_then_the_signal_is_on_disk(row: CapsuleRow) -> None:
    wire = row.up("cat")
    os.kill(wire.agent(), signal.SIGKILL)
    record = row.ended()
    assert (record.exit, record.signal) == (None, signal.SIGKILL)


def test_watcher_when_the_agent_ends_then_it_is_told_so_before_the_lane_closes(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", "read line; exit 7")
    wire.type("\n")
    said = wire.next()
    assert said == {"event": "ended", "exit": 7, "signal": None, "reason": ""}
    assert wire.next() is None
    record = row.record()
    assert record is not None
    assert record.exit == 7, "it is on disk by the time it is told"


def test_end_when_it_is_asked_for_then_the_agent_is_hung_up_on(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", "trap 'echo hung up; exit 5' HUP; echo up; while :; do sleep 0.05; done")
    wire.shows("up")
    assert wire.ask("end", reason="the row was destroyed")["phase"] == "ending"
    record = row.ended()
    assert (record.exit, record.reason) == (5, "the row was destroyed")


def test_end_when_the_agent_will_not_then_it_is_terminated_and_then_killed(row: CapsuleRow) -> None:
    """SIGHUP at once, SIGTERM after five seconds, SIGKILL after ten."""
    wire = row.up("sh", "-c", "trap 'echo HUP' HUP; trap 'echo TERM' TERM; echo up; while :; do sleep 0.05; done")
    wire.shows("up")
    wire.ask("end", reason="enough")
    wire.shows("HUP")
    assert wire.status()["phase"] == "ending"
    wire.shows("TERM")
    record = row.ended()
    assert (record.exit, record.signal) == (None, signal.SIGKILL)


def test_end_when_the_agent_is_stopped_then_it_is_woken_to_hear_it(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", "echo up; exec sleep 1000")
    wire.shows("up")
    os.kill(wire.agent(), signal.SIGSTOP)
    wire.ask("end", reason="")
    assert row.ended().signal == signal.SIGHUP


def test_capsule_when_it_is_told_to_stop_then_its_agent_is_ended_and_that_is_on_disk(row: CapsuleRow) -> None:
    wire = row.up("cat")
    wire.status()
    os.kill(row.pids[0], signal.SIGTERM)
    record = row.ended()
    assert (record.signal, record.reason) == (signal.SIGHUP, "its capsule was told to stop (SIGTERM)")


def test_capsule_when_it_is_killed_then_its_agent_is_hung_up_on_and_the_row_can_start_again(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", "echo up; exec sleep 1000")
    wire.shows("up")
    agent, run = wire.agent(), row.record()
    os.kill(row.pids[0], signal.SIGKILL)
    until(lambda: not alive(agent), "the agent has ended")
    assert not row.processes()
    assert run is not None
    assert row.record(run.run) == run, "nobody has written how it ended"
    assert os.path.exists(row.lane), "the dead leave their socket behind"
    again = row.up("sh", "-c", "echo again; exec cat", options=("--resume",))
    again.shows("again")
    record = row.record()
    assert record is not None
    assert (record.resumed, record.run != run.run) == (True, True)


def test_capsule_when_its_agent_leaves_something_behind_then_it_ends_all_the_same(row: CapsuleRow) -> None:
    """A program in the background keeps the terminal open and goes on writing; the agent's end is the end."""
    row.start("sh", "-c", "trap '' HUP; (while :; do echo behind; sleep 0.02; done) & exit 4")
    assert row.ended().exit == 4
    assert row.left_behind(), "it goes on, for it is not ours to end"
    row.clean()
    assert not row.left_behind(), "and nothing of a test's is left"


def test_capsule_when_its_agent_lets_go_of_the_terminal_then_it_waits_for_the_agents_end(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", "echo up; exec sleep 3 </dev/null >/dev/null 2>&1")
    wire.shows("up")
    agent = wire.agent()
    before = time_of(row.pids[0])
    until(lambda: not alive(agent), "the agent has ended")
    assert time_of(row.pids[0]) - before < 20, "it looks now and then, and does not spin"
    assert row.ended().exit == 0


def time_of(pid: int) -> int:
    """Return the hundredths of a second that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_end_when_it_cannot_be_written_then_the_capsule_goes_on_answering_and_tries_again(row: CapsuleRow) -> None:
    """Product, Processes: it lives until its agent has ended *and* that is on disk."""
    wire = row.up("sh", "-c", "read line; exit 6")
    record = row.record()
    assert record is not None
    blocker = Path(voyage.folder(str(row.folder), record.run), "run.json.draft")
    blocker.mkdir()
    wire.type("\n")
    status = until(lambda: (said := wire.status())["phase"] == "ended" and said, "the agent has ended")
    assert status["exit"] == 6
    status = until(lambda: (said := wire.status())["fault"] and said, "it says what keeps it")
    assert status["fault"].startswith("its end is not on disk yet: ")
    assert wire.ask("type", data_b64="")["code"] == "ended"
    assert wire.ask("snapshot", since=-1)["phase"] == "ended"
    assert alive(row.pids[0])
    blocker.rmdir()
    assert row.ended().exit == 6


@pytest.fixture
def small_disk(comm_home: Path) -> Iterator[Path]:
    """Return a folder on a disk of 128 KiB."""
    folder = comm_home.parent / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this account may not mount a disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_disk_when_it_is_full_then_the_agent_goes_on_and_its_end_waits_for_room(small_disk: Path) -> None:
    row = CapsuleRow(small_disk)
    try:
        wire = row.up("sh", "-c", "while read line; do echo got $line; done; exit 2")
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        wire.type("one\n")
        wire.shows("got one")
        for number in range(40):
            wire.type(f"{number}" * 100 + "\n")
        assert until(lambda: wire.status()["lost"], "the recording says what it lost")
        wire.type("\x04")
        until(lambda: wire.status()["fault"], "its end waits for room")
        ballast.unlink()
        assert row.ended().exit == 2
    finally:
        row.clean()


def test_start_when_the_disk_is_full_then_it_is_refused_and_nothing_runs(small_disk: Path) -> None:
    row = CapsuleRow(small_disk)
    row.folder.mkdir(parents=True, mode=0o700)
    with (small_disk / "ballast").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    up = row.start("cat")
    assert up.code == REFUSED, up
    assert "No space left" in up.line
    assert not row.processes()


def test_socket_when_a_dead_one_lies_there_then_it_is_replaced(row: CapsuleRow) -> None:
    row.folder.mkdir(parents=True, mode=0o700)
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(row.lane)
    dead.close()
    assert row.up("sh", "-c", "echo up; exec cat").shows("up")


def test_screen_when_the_agent_has_ended_then_its_last_one_lies_in_the_runs_folder(row: CapsuleRow) -> None:
    """Product, Rows: a row whose agent ended keeps its last screen."""
    wire = row.up("sh", "-c", r"printf '\033[31mthe last words\033[0m'; read line; printf '\r\nand more'", size=(40, 5))
    wire.shows("the last words")
    wire.type("\n")
    record = row.ended()
    screen = last_screen.read(Disk(), voyage.folder(str(row.folder), record.run))
    assert screen is not None
    assert (screen.columns, screen.lines) == (40, 5)
    text = "\n".join("".join(cell.data for cell in line).rstrip() for line in screen.rows)
    assert "the last words" in text
    assert "and more" in text, "what it wrote at the very end is on it"
    assert screen.rows[0][0].fg == "red"
