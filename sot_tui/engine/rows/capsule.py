"""The process of one row, which owns its agent's terminal and outlives window and daemon.

`sot-capsule -P -m sot_tui.engine.rows.capsule ROW --run ID --cols N --lines N [--resume] -- AGENT...`, started in the
project's folder with the agent's environment. The process that was started checks what it was told, takes the row's
lock, and forks once; what is left goes on alone, and the first one says in one line of JSON that the row is up, or
`refused: ` and why. Exit 0: up. 69: refused, nothing runs. 70: another capsule holds the row. It loads nothing of the
screens or the daemon, and never makes a file or socket that another account could open.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from contextlib import suppress
from typing import NamedTuple

from sot_tui.comm import paths
from sot_tui.comm.clock import SystemClock
from sot_tui.comm.disk import Disk
from sot_tui.comm.proof import UNREAD, SystemProcs
from sot_tui.engine.rows import lane_server, lane_wire, voyage
from sot_tui.engine.rows.answers import Place
from sot_tui.engine.rows.child import Child, program_path
from sot_tui.engine.rows.emulation import Emulation
from sot_tui.engine.rows.orphans import end_orphan
from sot_tui.engine.rows.run import Loop, Run
from sot_tui.engine.rows.voyage import Record, Voyage

REFUSED, HELD = 69, 70
"""Exit codes (daemon wire 4.1)."""
HELD_TRIES, HELD_PAUSE_SECS = 10, 0.05
"""How often, and how far apart, the row's lock is tried: whoever only looks whether it is held has it for a moment."""

_EXCLUSIVE_AT_ONCE = 2 | 4
"""flock(2)'s operation, the same on Linux and macOS; the module fcntl is loaded by the seam."""
_ENVIRON = "/proc/self/environ"
_OPTIONS = re.compile(r"--(?P<name>run|cols|lines)|(?P<flag>--resume)")
_REPORT_LIMIT = 1 << 16


class Order(NamedTuple):
    """What it was told to run."""

    row: str
    """The row's folder, absolute."""
    run: str
    columns: int
    lines: int
    resumed: bool
    argv: tuple[str, ...]


class Report(NamedTuple):
    """How the start went: the exit code of the process that was started, and its line."""

    code: int
    line: str


def refused(why: str) -> Report:
    """Return the report of a start that is refused."""
    return Report(REFUSED, f"refused: {' '.join(why.split())}")


def order(words: list[str]) -> Order | Report:
    """Return what the words of the command line order."""
    if "--" not in words or not words[0].startswith("/"):
        return refused("the words are ROW --run ID --cols N --lines N [--resume] -- AGENT..., and ROW is absolute")
    split = words.index("--")
    said: dict[str, str] = {}
    left = words[1:split]
    while left:
        found = _OPTIONS.fullmatch(left.pop(0))
        if found is None or (found["name"] and not left):
            return refused("there is no such option")
        said[found["name"] or "resume"] = left.pop(0) if found["name"] else "yes"
    if not voyage.RUN_ID.fullmatch(said.get("run", "")):
        return refused("--run names no run")
    columns, lines = (_size(said.get(name, ""), *limits) for name, limits in _SIZES)
    if not columns or not lines:
        return refused("--cols and --lines are no size of a terminal")
    if not words[split + 1 :]:
        return refused("there is nothing to run")
    return Order(os.path.normpath(words[0]), said["run"], columns, lines, "resume" in said, tuple(words[split + 1 :]))


_SIZES = (("cols", lane_wire.COLUMNS), ("lines", lane_wire.LINES))


def _size(text: str, low: int, high: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 and low <= int(text) <= high else 0


def given_environment(disk: Disk) -> dict[str, str]:
    """Return the environment as this process was given it: Python adds a variable of its own to some (PEP 538)."""
    try:
        data = disk.read(_ENVIRON)
    except OSError:
        return dict(os.environ)
    pairs = (os.fsdecode(pair).partition("=") for pair in data.split(b"\0") if b"=" in pair)
    return {name: value for name, _, value in pairs if name}


def main() -> None:
    """Start a row, say how that went, and in the process that is left run it to its end."""
    told = order(sys.argv[1:])
    if isinstance(told, Report):
        _leave(told)
    else:
        _leave(start(told))


def start(told: Order) -> Report:
    """Take the row and fork; return how it went, in the process that was started only."""
    disk = Disk()
    environ = given_environment(disk)
    try:
        root = os.getcwd()
    except OSError as error:
        return refused(f"the project folder is gone: {error.strerror}")
    program = program_path(told.argv[0], environ.get("PATH", os.defpath))
    if program is None:
        return refused(f"{told.argv[0]} is no program that can be run")
    try:
        paths.make_folder(disk, told.row)
        lock = disk.open(f"{told.row}/supervisor.lock", os.O_RDWR | os.O_CREAT)
        if not _locked(disk, lock):
            return Report(HELD, "refused: another capsule holds this row")
    except OSError as error:
        return refused(f"{told.row} cannot be used: {error.strerror}")
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        os.close(lock)
        return _heard(reader)
    os.close(reader)
    _go_alone()
    _run(disk, told, [program, *told.argv[1:]], environ, root, writer)
    os._exit(0)


def _leave(report: Report) -> None:
    with suppress(OSError):
        os.write(1, f"{report.line}\n".encode("utf-8", "replace"))
    os._exit(report.code)


def _locked(disk: Disk, descriptor: int) -> bool:
    for left in reversed(range(HELD_TRIES)):
        try:
            disk.lock(descriptor, _EXCLUSIVE_AT_ONCE)
        except BlockingIOError:
            if left:
                SystemClock().sleep(HELD_PAUSE_SECS)
        else:
            return True
    return False


def _heard(reader: int) -> Report:
    """Return what the process that is left says of the start."""
    said = b""
    with suppress(OSError):
        while len(said) < _REPORT_LIMIT and (data := os.read(reader, _REPORT_LIMIT)):
            said += data
    code, _, line = said.decode("utf-8", "replace").partition(" ")
    return Report(int(code), line) if code.isdecimal() else refused("the capsule ended before its agent ran")


def _go_alone() -> None:
    """Let go of everything of whoever started us: its session, its pipes, its signals."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)


def _run(disk: Disk, told: Order, argv: list[str], environ: dict[str, str], root: str, writer: int) -> None:
    """Start the agent, report, and serve it to its end."""
    loop, socket_path, report = _begun(disk, told, argv, environ, root)
    with suppress(OSError):  # whoever wanted to know may be gone; the row runs all the same
        os.write(writer, f"{report.code} {report.line}".encode("utf-8", "replace"))
    os.close(writer)
    if loop is not None:
        os.chdir("/")
        loop.go()
    if socket_path:
        with suppress(OSError):
            disk.unlink(socket_path)


def _begun(
    disk: Disk, told: Order, argv: list[str], environ: dict[str, str], root: str
) -> tuple[Loop | None, str, Report]:
    """Start the agent; return what serves it, the socket that was made, and how it went.

    The record comes first, so that no agent runs of which nothing is known; it then says which process that is. The
    pointer comes last, so that it never names a run that was none.
    """
    clock, procs, kept = SystemClock(), SystemProcs(), Voyage(disk, told.row, told.run)
    if still_there := end_orphan(disk, clock, procs, told.row):
        return None, "", Report(HELD, f"refused: {still_there}")
    said = Record(told.run, tuple(_shown(word) for word in told.argv), _shown(root), clock.now(), told.resumed)
    try:
        if kept.open() is not None:
            return None, "", Report(HELD, "refused: another process writes this run")
        kept.write(said)
    except OSError as error:
        return None, "", refused(f"the run cannot be recorded in {told.row}: {error.strerror}")
    opened = lane_server.listen(disk, told.row)
    if isinstance(opened, lane_server.NoSocket):
        kept.unmake()
        return None, "", refused(opened.why)
    listener, socket_path = opened
    try:
        child = Child(argv, environ, told.columns, told.lines)
    except OSError as error:
        kept.unmake()
        why = os.strerror(error.errno) if error.errno else str(error)
        return None, socket_path, refused(f"{argv[0]} cannot be run: {why}")
    said = said._replace(agent=child.pid, agent_start=procs.start_of(child.pid) or UNREAD, boot=procs.boot_id())
    try:
        kept.write(said)
        kept.point()
    except OSError as error:
        os.killpg(child.pid, signal.SIGKILL)
        kept.unmake()
        return None, socket_path, refused(f"the run cannot be recorded in {told.row}: {error.strerror}")
    kept.prune()
    size = (told.columns, told.lines)
    me = os.getpid()
    place = Place(told.row, me, procs.start_of(me) or UNREAD)
    run = Run(clock, child, Emulation(*size), kept.recording(clock, *size), kept, said, size)
    line = json.dumps({"pid": place.pid, "start": place.start, "run": told.run})
    return Loop(run, listener, place), socket_path, Report(0, line)


def _shown(word: str) -> str:
    return word.encode("utf-8", "replace").decode()


if __name__ == "__main__":
    main()
