"""Who this process is, and whether another one is proved dead.

Contract, The registry lock: a holder's record is `name:machine:boot:pidns:pid:start`. A field that cannot be read is
`-`, which never equals anything. A death is proved only from the holder's own machine: the same boot and pid namespace,
with the pid gone or its start changed; or the same machine and host name with another boot. No timeout proves
anything, so a frozen holder and whatever cannot be judged from here count as alive.
"""

from __future__ import annotations

import os
import re
import sys
from enum import Enum
from functools import lru_cache
from itertools import count

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

UNREAD = "-"
"""A field that could not be read; it equals nothing, itself included."""

_FIELD = r"[^:/\s\x00-\x1f\x7f]+"
_RECORD = re.compile(rf"({_FIELD}):({_FIELD}):({_FIELD}):({_FIELD}):((?!0+:)[0-9]{{1,19}}):({_FIELD})\n")
_UNFIT = re.compile(r"[:/\s\x00-\x1f\x7f]")
_PLACEHOLDER_ID = "uninitialized"
"""What stands in /etc/machine-id before a first boot is over, on every such machine (machine-id(5))."""


class Procs(Protocol):
    """What the product asks of the machine about processes; a test passes a table."""

    def host_name(self) -> str:
        """Return the machine's host name as the kernel has it."""

    def machine_id(self) -> str:
        """Return the machine's id (Linux /etc/machine-id, macOS the host UUID), or `-`."""

    def boot_id(self) -> str:
        """Return the id of the running boot, or `-`."""

    def pid_namespace(self) -> str:
        """Return the pid namespace's inode number (macOS: `darwin`), or `-`."""

    def pid(self) -> int:
        """Return this process's id."""

    def start_of(self, pid: int) -> str | None:
        """Return a process's start (Linux: the tick of field 22), `-` when it cannot be read, None when it is gone."""

    def serial(self) -> int:
        """Return a number that this process has not given before, for names of temp files."""

    def listing(self) -> str | None:
        """Return what `ps` prints of every process where there is no /proc (macOS), None where /proc says it."""


class SystemProcs:
    """The machine itself. What cannot change while a process lives is read once in it."""

    _serial = count(1)
    _read: tuple[int, dict[str, str]] = (0, {})

    def host_name(self) -> str:
        """Return the machine's host name as the kernel has it."""
        return os.uname().nodename

    def machine_id(self) -> str:
        """Return the machine's id, or `-`."""
        return self._once("machine", _machine_id)

    def boot_id(self) -> str:
        """Return the id of the running boot, or `-`."""
        return self._once("boot", _boot_id)

    def pid_namespace(self) -> str:
        """Return the pid namespace's inode number, or `-`."""
        return self._once("namespace", _pid_namespace)

    def pid(self) -> int:
        """Return this process's id."""
        return os.getpid()

    def start_of(self, pid: int) -> str | None:
        """Return a process's start, `-` when it cannot be read, None when it is gone."""
        if pid == os.getpid():
            return self._once("start", lambda: _start_of(pid) or UNREAD)
        return _start_of(pid)

    def serial(self) -> int:
        """Return a number that this process has not given before."""
        return next(SystemProcs._serial)

    def listing(self) -> str | None:
        """Return what macOS `ps` prints of every process, nothing when it fails; None on any other system."""
        return _printed_by_ps() if sys.platform == "darwin" else None

    def _once(self, fact: str, read: Callable[[], str]) -> str:
        pid, facts = SystemProcs._read
        if pid != os.getpid():  # a fork has a pid and a start of its own
            facts = {}
            SystemProcs._read = (os.getpid(), facts)
        if fact not in facts:
            facts[fact] = read()
        return facts[fact]


class Record(NamedTuple):
    """A holder as its lock, or the creator of a marker as the marker, names it."""

    name: str
    """The host name: the kernel's, up to the first dot, in lower case."""
    machine: str
    """The machine's id."""
    boot: str
    """The id of the boot."""
    namespace: str
    """The pid namespace."""
    pid: str
    """The process id, as digits."""
    start: str
    """The process's start."""

    @property
    def line(self) -> str:
        """The record as a lock or marker holds it, with its newline."""
        return ":".join(self) + "\n"

    @property
    def id(self) -> str:
        """The record in file names: ':' is written '.' (contract)."""
        return ".".join(self)

    @property
    def proves(self) -> bool:
        """Whether every proof field is there, so that the record can be known for a process's own."""
        return UNREAD not in {self.machine, self.boot, self.namespace, self.start}

    @property
    def proves_nothing(self) -> bool:
        """Whether no proof field is there, so that no box can prove its process dead."""
        return {self.machine, self.boot, self.namespace, self.start} == {UNREAD}


class Proof(Enum):
    """What a box can say about another process; only the first three are a death."""

    GONE = "gone"
    """Dead: its pid is gone from its own boot and pid namespace."""
    REUSED = "reused"
    """Dead: its pid has another start, so it belongs to another process now."""
    REBOOTED = "rebooted"
    """Dead: its machine has started anew since."""
    RUNNING = "running"
    """Alive, as far as anything shows: its pid runs here."""
    NAMESPACE = "namespace"
    """Not provable from here: it is in another pid namespace of this machine."""
    ELSEWHERE = "elsewhere"
    """Not provable from here: it is on another machine, or this box cannot say that it is not."""
    UNABLE = "unable"
    """Not provable from here: this box proves no deaths on this comm home."""
    NO_FIELDS = "no fields"
    """Not provable anywhere: its record has no proof fields."""


class Verdict(NamedTuple):
    """A judgement with its reason, once for the FAILED line and once for the dialog."""

    proof: Proof
    why: str
    """The reason in the FAILED line (contract: `<why>`)."""
    words: str
    """The verdict in plain words (product, Locks)."""

    @property
    def dead(self) -> bool:
        """Whether the death is proved."""
        return self.proof in {Proof.GONE, Proof.REUSED, Proof.REBOOTED}


def own_record(procs: Procs, *, fresh_reads: bool) -> Record:
    """Return this process's record; without fresh reads on the comm home it has no proof fields (contract)."""
    name, pid = procs.host_name(), procs.pid()
    if not fresh_reads:
        return _record(name, UNREAD, UNREAD, UNREAD, pid, UNREAD)
    return _record(name, procs.machine_id(), procs.boot_id(), procs.pid_namespace(), pid, procs.start_of(pid) or UNREAD)


@lru_cache(maxsize=8)
def _record(name: str, machine: str, boot: str, namespace: str, pid: int, start: str) -> Record:
    label = name.split(".", 1)[0].strip().lower()
    return Record(_fit(label), _fit(machine), _fit(boot), _fit(namespace), str(pid), _fit(start))


def parse_record(data: bytes) -> Record | None:
    """Return the record that a lock's or marker's bytes are, or None.

    It is one whole line: without its newline it could be the first part of another record, whose start then would
    seem to have changed. A field with a slash would lead out of the comm home in a marker's name. No process has the
    pid 0: asked about it, the kernel answers for this process's own group.
    """
    found = _RECORD.fullmatch(data.decode("utf-8", "replace"))
    return Record(*found.groups()) if found and "\ufffd" not in found[0] else None


def is_own(record: Record, me: Record) -> bool:
    """Tell whether a record is this process's: all fields equal, and none of them `-`, which equals nothing."""
    return record == me and me.proves


def judge(record: Record, me: Record, start_now: Callable[[int], str | None]) -> Verdict:
    """Judge the process a record names, from the process `me`.

    `start_now` is asked only for a pid of the very boot and pid namespace that `me` is in.
    """
    machines_differ = UNREAD not in {record.machine, me.machine} and record.machine != me.machine
    if not machines_differ and _equal(record.boot, me.boot):
        if not _equal(record.namespace, me.namespace):
            return Verdict(
                Proof.NAMESPACE,
                "it is in another pid namespace",
                "cannot be proved from here: another pid namespace of this machine",
            )
        return _judge_pid(record, start_now(int(record.pid)))
    if record.proves_nothing:
        return Verdict(
            Proof.NO_FIELDS, "it is on another machine", "cannot be proved anywhere: the record has no proof fields"
        )
    if UNREAD in {me.machine, me.boot, me.namespace}:
        return Verdict(
            Proof.UNABLE,
            "this box cannot prove a death in this comm home",
            "cannot be proved from here: this box proves no deaths in this comm home",
        )
    if _equal(record.machine, me.machine) and _equal(record.name, me.name) and record.boot != UNREAD:
        return Verdict(Proof.REBOOTED, "its machine was restarted", "dead: this machine has been restarted since")
    return Verdict(Proof.ELSEWHERE, "it is on another machine", "cannot be proved from here: another machine")


def _judge_pid(record: Record, start_now: str | None) -> Verdict:
    if start_now is None:
        return Verdict(Proof.GONE, f"pid {record.pid} is gone", f"dead: same boot, pid {record.pid} is gone")
    if UNREAD in {start_now, record.start}:
        return Verdict(
            Proof.RUNNING, "it is running", f"cannot be proved: pid {record.pid} runs, and a start could not be read"
        )
    if start_now != record.start:
        return Verdict(
            Proof.REUSED,
            f"pid {record.pid} is another process now",
            f"dead: same boot, pid {record.pid} is another process now",
        )
    return Verdict(Proof.RUNNING, "it is running", f"alive: pid {record.pid} runs on this machine")


def _equal(one: str, other: str) -> bool:
    return one == other != UNREAD


def _fit(field: str) -> str:
    """Return a field as a record can hold it; one with a separator in it, or none, counts as unread."""
    return field if field and not _UNFIT.search(field) else UNREAD


def _machine_id(path: str = "/etc/machine-id") -> str:
    if sys.platform == "darwin":
        return _of_macos("host_uuid")
    said = _first_line(path) if sys.platform == "linux" else UNREAD
    return said if said != _PLACEHOLDER_ID else UNREAD


def _boot_id() -> str:
    if sys.platform == "darwin":
        return _of_macos("boot_session")
    return _first_line("/proc/sys/kernel/random/boot_id") if sys.platform == "linux" else UNREAD


def _pid_namespace() -> str:
    if sys.platform == "darwin":
        return "darwin"
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino) if _proc_is_ours("/proc") else UNREAD
    except OSError:
        return UNREAD


def _start_of(pid: int, proc: str = "/proc") -> str | None:
    if sys.platform == "darwin":
        from sot_tui.comm import darwin  # noqa: PLC0415  (brings ctypes, which no other system needs)

        try:
            start = darwin.start_of(pid)
        except OSError:
            return UNREAD
        return None if start is None and _is_gone(pid) else start or UNREAD
    if sys.platform != "linux" or not _proc_is_ours(proc):
        return UNREAD
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            status = file.read()
    except (FileNotFoundError, ProcessLookupError):
        # /proc can hide other people's processes (hidepid); the kernel itself says who is there.
        return None if _is_gone(pid) else UNREAD
    except OSError:
        return UNREAD
    fields = status[status.rfind(b")") + 1 :].split()
    return fields[19].decode("ascii", "replace") if len(fields) > 19 else UNREAD


def _is_gone(pid: int) -> bool:
    """Tell whether there is no process `pid` in this process's own pid namespace; signal 0 is never delivered."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _proc_is_ours(proc: str) -> bool:
    """Tell whether /proc shows this process's pid namespace; in a new one it may still show the pids of the old."""
    try:
        return os.readlink(f"{proc}/self") == str(os.getpid())
    except OSError:
        return False


def _of_macos(fact: str) -> str:
    from sot_tui.comm import darwin  # noqa: PLC0415  (as above)

    try:
        return str(getattr(darwin, fact)())
    except OSError:
        return UNREAD


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readline().strip() or UNREAD
    except OSError:
        return UNREAD


def _printed_by_ps() -> str:
    import subprocess  # noqa: PLC0415  (macOS has no /proc; no other system needs it)

    command = ["/bin/ps", "-axww", "-o", "pid=", "-o", "ppid=", "-o", "args="]
    try:
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.decode("utf-8", "surrogateescape") if ran.returncode == 0 else ""
