"""Proof of death: a table of every kind of holder, and this process's own record."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sot_tui.comm.home import Home
from sot_tui.comm.mounts import proves_fresh_reads
from sot_tui.comm.proof import (
    Proof,
    Record,
    SystemProcs,
    _boot_id,
    _machine_id,
    _pid_namespace,
    _printed_by_ps,
    _start_of,
    is_own,
    judge,
    own_record,
    parse_record,
)
from tests.seams import Machine

ME = Record("box", "m1", "b1", "4026531836", "10", "100")
NOBODY = Record("box", "-", "-", "-", "10", "-")
D = Record("box", "m1", "b1", "4026531836", "42", "77")


def never_asked(pid: int) -> str | None:
    raise AssertionError(f"pid {pid} of another namespace, boot or machine says nothing about the holder")


TABLE = [
    # the holder's record, who judges, what its pid's start is now, the proof
    pytest.param(D, ME, None, Proof.GONE, id="same boot, pid gone"),
    pytest.param(D, ME, "78", Proof.REUSED, id="same boot, another start"),
    pytest.param(D, ME, "77", Proof.RUNNING, id="same boot, same start"),
    pytest.param(D, ME, "-", Proof.RUNNING, id="same boot, its start now unreadable"),
    pytest.param(D._replace(start="-"), ME, "77", Proof.RUNNING, id="no start in the record, pid runs"),
    pytest.param(D._replace(start="-"), ME, None, Proof.GONE, id="no start in the record, pid gone"),
    pytest.param(D._replace(start="077"), ME, "77", Proof.REUSED, id="starts are compared as text"),
    pytest.param(D._replace(name="renamed"), ME, None, Proof.GONE, id="same boot, whatever the name"),
    pytest.param(D._replace(machine="-"), ME, None, Proof.GONE, id="same boot, no machine id in the record"),
    pytest.param(D, ME._replace(machine="-"), "77", Proof.RUNNING, id="same boot, no machine id here"),
    pytest.param(D._replace(namespace="4026532200"), ME, ..., Proof.NAMESPACE, id="another pid namespace"),
    pytest.param(D._replace(namespace="-"), ME, ..., Proof.NAMESPACE, id="no pid namespace in the record"),
    pytest.param(D, ME._replace(namespace="-"), ..., Proof.NAMESPACE, id="no pid namespace here"),
    pytest.param(D._replace(boot="b0"), ME, ..., Proof.REBOOTED, id="same machine and name, another boot"),
    pytest.param(D._replace(boot="b0", namespace="1"), ME, ..., Proof.REBOOTED, id="a reboot, whatever the namespace"),
    pytest.param(D._replace(boot="b0", start="-"), ME, ..., Proof.REBOOTED, id="a reboot, whatever the start"),
    pytest.param(D._replace(boot="b0", name="twin"), ME, ..., Proof.ELSEWHERE, id="another boot and name: a clone"),
    pytest.param(D._replace(boot="b0", machine="m2"), ME, ..., Proof.ELSEWHERE, id="another machine of one name"),
    pytest.param(D._replace(machine="m2"), ME, ..., Proof.ELSEWHERE, id="one boot, two machines: a resumed snapshot"),
    pytest.param(D._replace(boot="b0", machine="-"), ME, ..., Proof.ELSEWHERE, id="another boot, no machine id"),
    pytest.param(D._replace(boot="-"), ME, ..., Proof.ELSEWHERE, id="no boot in the record"),
    pytest.param(D._replace(boot="b0"), ME._replace(machine="-"), ..., Proof.UNABLE, id="no machine id here"),
    pytest.param(D._replace(boot="b0"), ME._replace(boot="-"), ..., Proof.UNABLE, id="no boot id here"),
    pytest.param(D, NOBODY, ..., Proof.UNABLE, id="this box has no proof fields here"),
    pytest.param(NOBODY, ME, ..., Proof.NO_FIELDS, id="the record has no proof fields"),
    pytest.param(NOBODY, NOBODY, ..., Proof.NO_FIELDS, id="neither has: - equals nothing, itself included"),
]


@pytest.mark.parametrize(("holder", "me", "start_now", "proof"), TABLE)
def test_judge_when_a_holder_is_of_a_kind_then_says_what_the_contract_says(
    holder: Record, me: Record, start_now: object, proof: Proof
) -> None:
    """ "the same boot and pid namespace, with the pid gone or its start tick changed; or the same machine-id AND the
    same host name with a different boot" """
    asked = []

    def table(pid: int) -> str | None:
        asked.append(pid)
        return start_now if isinstance(start_now, str) else None

    verdict = judge(holder, me, never_asked if start_now is ... else table)
    assert verdict.proof is proof
    assert verdict.dead is (proof in {Proof.GONE, Proof.REUSED, Proof.REBOOTED})
    assert asked == ([] if start_now is ... else [42])


@pytest.mark.parametrize(
    ("holder", "start_now", "words"),
    [
        (D, None, "dead: same boot, pid 42 is gone"),
        (D, "9", "dead: same boot, pid 42 is another process now"),
        (D._replace(boot="b0"), None, "dead: this machine has been restarted since"),
        (D, "77", "alive: pid 42 runs on this machine"),
        (D._replace(machine="m2"), None, "cannot be proved from here: another machine"),
        (D._replace(namespace="1"), None, "cannot be proved from here: another pid namespace of this machine"),
        (NOBODY, None, "cannot be proved anywhere: the record has no proof fields"),
    ],
)
def test_judge_when_asked_for_plain_words_then_a_person_understands_them(
    holder: Record, start_now: str | None, words: str
) -> None:
    assert judge(holder, ME, lambda _: start_now).words == words


def test_judge_when_any_field_is_unread_then_a_death_never_gets_easier_to_prove() -> None:
    """Fail closed: taking a field away from either record never turns a live verdict into a death."""
    for holder in (D, D._replace(boot="b0"), D._replace(machine="m2"), D._replace(namespace="1")):
        for start_now in (None, "77", "78"):
            alive = not judge(holder, ME, lambda _, now=start_now: now).dead  # type: ignore[misc]
            for field in ("name", "machine", "boot", "namespace"):
                for one, other in ((holder._replace(**{field: "-"}), ME), (holder, ME._replace(**{field: "-"}))):
                    judged = judge(one, other, lambda _, now=start_now: now)  # type: ignore[misc]
                    # A record without its machine may still be of this very boot and namespace, which says as much.
                    same_boot = field == "machine" and holder.machine == "m2"
                    assert not (alive and judged.dead) or same_boot


def test_record_when_written_and_read_then_is_the_same() -> None:
    assert D.line == "box:m1:b1:4026531836:42:77\n"
    assert D.id == "box.m1.b1.4026531836.42.77"
    assert parse_record(D.line.encode()) == D
    assert parse_record(NOBODY.line.encode()) == NOBODY


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"what is this\n",
        b"box:m1:b1:4026531836:42:77",  # cut off, perhaps in the start
        b"box:m1:b1:4026531836:42:77\nmore\n",
        b"box:m1:b1:4026531836:42:77\n\n",
        b"box:m1:b1:4026531836:42\n",
        b"box:m1:b1:4026531836:42:77:88\n",
        b"box::b1:4026531836:42:77\n",
        b"box:m1:b1:4026531836:-:77\n",
        b"box:m1:b1:4026531836:-42:77\n",
        b"box:m1:b1:4026531836:0:77\n",  # a signal to pid 0 is one to a whole group: it would seem to run for ever
        b"box:m1:b1:4026531836:000:77\n",
        b"box:m1:b1:4026531836:4x:77\n",
        b"box:m1:b1:4026531836:" + b"9" * 20 + b":77\n",
        "box:m1:b1:4026531836:４２:77\n".encode(),
        b"../../x:m1:b1:4026531836:42:77\n",
        b"box:m1:b 1:4026531836:42:77\n",
        b"box:m1:b1\x00:4026531836:42:77\n",
        b"b\xffx:m1:b1:4026531836:42:77\n",
        b"box:m1:b1:4026531836:42:77\r\n",
    ],
)
def test_record_when_it_is_not_one_whole_line_of_six_fields_then_is_none(data: bytes) -> None:
    assert parse_record(data) is None


def test_own_when_all_fields_are_equal_and_read_then_only_it_is_this_processs() -> None:
    """ "An ID is the process's own only with its proof fields: - never equals anything" """
    assert is_own(ME, ME)
    assert not is_own(NOBODY, NOBODY)
    assert not is_own(ME._replace(start="101"), ME)
    for field in ("machine", "boot", "namespace", "start"):
        partly = ME._replace(**{field: "-"})
        assert not is_own(partly, partly)


def test_own_record_when_reads_are_not_fresh_then_the_last_four_proof_fields_are_unread() -> None:
    """ "where the comm home's mount proves no fresh read (Proof of death), the last four proof fields are -" """
    process = Machine("Box.example.org").start(42)
    assert own_record(process, fresh_reads=True) == Record("box", "m1", "b1", "4026531836", "42", "101")
    assert own_record(process, fresh_reads=False) == Record("box", "-", "-", "-", "42", "-")


@pytest.mark.parametrize("name", ["", "a:b", "a/b", "a b", "\x1b[31m"])
def test_own_record_when_a_field_would_break_the_line_then_it_counts_as_unread(name: str) -> None:
    record = own_record(Machine(name).start(), fresh_reads=True)
    assert record.name == "-"
    assert parse_record(record.line.encode()) == record


# -- the machine itself -----------------------------------------------------------------------------------------------


def start_by_ps(pid: int) -> str:
    """Field 22 as another reader of /proc finds it."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19]


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux_only
def test_system_when_asked_for_itself_then_agrees_with_the_kernel(tmp_path: Path) -> None:
    procs = SystemProcs()
    assert procs.start_of(os.getpid()) == start_by_ps(os.getpid())
    assert procs.boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    assert f"pid:[{procs.pid_namespace()}]" == os.readlink("/proc/self/ns/pid")
    record = own_record(procs, fresh_reads=proves_fresh_reads(Home(str(tmp_path))))
    assert parse_record(record.line.encode()) == record


@linux_only
def test_system_when_a_process_runs_and_ends_then_its_start_is_there_and_then_gone() -> None:
    procs = SystemProcs()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert procs.start_of(child.pid) == start_by_ps(child.pid)
    finally:
        child.kill()
        # Killed and not yet waited for, its pid is still taken: that is no death yet.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert procs.start_of(child.pid) not in {None, "-"}
        child.communicate()
    assert procs.start_of(child.pid) is None


@linux_only
@pytest.mark.parametrize(
    ("content", "start"),
    [
        (b"{pid} (python) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21", "4242"),
        (b"{pid} (a) b (c) 1 2 3) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21", "4242"),
        (b"{pid} (python) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18", "-"),  # cut before its start
        (b"{pid} (cut", "-"),
        (b"", "-"),
        (None, "-"),  # hidden from us (hidepid), but the kernel says that it is there
    ],
)
def test_start_when_a_process_is_called_anything_or_is_hidden_then_it_is_never_taken_for_dead(
    tmp_path: Path, content: bytes | None, start: str
) -> None:
    (tmp_path / "self").symlink_to(str(os.getpid()))
    if content is not None:
        (tmp_path / str(os.getpid())).mkdir()
        (tmp_path / str(os.getpid()) / "stat").write_bytes(content)
    assert _start_of(os.getpid(), str(tmp_path)) == start


@linux_only
def test_start_when_there_is_no_such_process_then_it_is_gone_unless_proc_is_not_ours(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    (tmp_path / "self").symlink_to(str(os.getpid()))
    assert _start_of(child.pid, str(tmp_path)) is None
    assert _start_of(2**63, str(tmp_path)) == "-"
    (tmp_path / "self").unlink()
    assert _start_of(child.pid, str(tmp_path)) == "-"


def test_system_when_it_hands_out_serials_then_none_comes_twice() -> None:
    procs = SystemProcs()
    assert len({procs.serial() for _ in range(100)} | {SystemProcs().serial()}) == 101


def _child_record(connection: multiprocessing.connection.Connection) -> None:
    connection.send(own_record(SystemProcs(), fresh_reads=True))


@linux_only
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_system_when_forked_then_the_child_has_a_record_of_its_own() -> None:
    """What is read once is read once in each process, not once before a fork."""
    mine = own_record(SystemProcs(), fresh_reads=True)
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_child_record, args=(theirs,))
    child.start()
    record = ours.recv()
    child.join()
    assert record.pid == str(child.pid) != mine.pid
    assert record._replace(pid=mine.pid, start=mine.start) == mine
    assert record.start != mine.start


@linux_only
def test_system_when_proc_shows_another_namespace_then_nothing_is_proved() -> None:
    """In a new pid namespace, /proc may still be the old one's: its pids are other processes (`unshare -p` alone)."""
    code = (
        "import os; from sot_tui.comm.proof import *; procs = SystemProcs(); "
        "record = own_record(procs, fresh_reads=True); "
        "print(record.namespace, record.start, procs.start_of(4000000), procs.start_of(1))"
    )
    ran = subprocess.run(["unshare", "-Urpf", sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if ran.returncode:
        assert "unshare" in ran.stderr
    else:
        assert ran.stdout.split() == ["-", "-", "-", "-"]


@linux_only
@pytest.mark.parametrize(
    ("text", "said"),
    [("0123abcd\n", "0123abcd"), ("uninitialized\n", "-"), ("\n", "-"), ("", "-"), (None, "-")],
)
def test_machine_id_when_its_file_says_one_then_that_and_no_placeholder_of_a_first_boot(
    tmp_path: Path, text: str | None, said: str
) -> None:
    """machine-id(5): every machine whose first boot is not over has the very same placeholder."""
    if text is not None:
        (tmp_path / "machine-id").write_text(text)
    assert _machine_id(str(tmp_path / "machine-id")) == said


@linux_only
def test_boot_and_namespace_when_the_kernel_is_asked_then_they_are_read_anew_and_are_its_own() -> None:
    assert _boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    assert f"pid:[{_pid_namespace()}]" == os.readlink("/proc/self/ns/pid")


@pytest.mark.skipif(not os.access("/bin/ps", os.X_OK), reason="prints what /bin/ps prints")
def test_listing_when_ps_prints_it_then_every_process_is_there_with_its_parent() -> None:
    assert [str(os.getpid()), str(os.getppid())] in [line.split()[:2] for line in _printed_by_ps().splitlines()]
