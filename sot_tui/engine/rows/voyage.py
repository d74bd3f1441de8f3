"""One run of a row on disk: what ran, how it ended, and what it wrote.

Daemon wire 4.4: `drawer.voyage` names the row's current run, `voyages/<uuid>/` holds each. `run.json` is written so
that it stands after a power cut, for a capsule ends by it; the recording is best effort and never holds the agent up.
What is recorded is what the agent wrote and how large its terminal was, never what was typed; at the end its last
screen is left beside that. A run keeps the newest 16 MiB at most, and a row five runs; of older ones exactly the files
that were made here are removed, and nothing else.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import jsonline
from sot_tui.comm.errors import Unreadable
from sot_tui.comm.paths import make_folder
from sot_tui.comm.proof import UNREAD
from sot_tui.engine.rows import last_screen

if TYPE_CHECKING:
    from sot_tui.comm.clock import Clock
    from sot_tui.comm.disk import Disk
    from sot_tui.wake.terminal import Screen

RUN_LIMIT_BYTES = 16 << 20
"""Bytes of one run's recording at most (product, Rows)."""
RUNS_KEPT = 5
"""Runs of one row that are kept, the current one counted (product, Rows)."""
RUN_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A run's id: a UUID, of version 7, so that names sort by age."""
PAUSE_SECS = 10.0
"""How long nothing is recorded after the disk refused it."""

_SEGMENT_BYTES = RUN_LIMIT_BYTES // 2 - (1 << 19)
"""A file that is longer takes no more; one event of a whole read, all of it escaped, is shorter than what is left."""
_NOW, _BEFORE, _RECORD, _LOCK, _TOLD = "run.cast", "run.before.cast", "run.json", "writer.lock", "told"
_POINTER = "drawer.voyage"
_DRAFT = ".draft"
_WHOLE = (_RECORD, last_screen.FILE, _TOLD)
"""What is written anew as a whole, by way of a draft."""
_MADE_HERE = frozenset({_NOW, _BEFORE, _LOCK, *_WHOLE, *(name + _DRAFT for name in _WHOLE)})
_RECORD_LIMIT = 1 << 20
_POINTER_LIMIT = 256
_EXCLUSIVE_AT_ONCE = 2 | 4
"""flock(2)'s operation, the same on Linux and macOS; the module fcntl is loaded by the seam."""


class Record(NamedTuple):
    """What `run.json` says of a run."""

    run: str
    argv: tuple[str, ...]
    """As it is shown to a person; bytes that are no UTF-8 are lost."""
    root: str
    """The project folder."""
    began: float
    """Seconds since the epoch."""
    resumed: bool = False
    """It took up where an earlier run had fallen silent."""
    ended: float | None = None
    """None while it runs, and for good when its capsule was killed."""
    exit: int | None = None
    """The agent's exit status."""
    signal: int | None = None
    """The signal that ended it."""
    reason: str = ""
    """Why it was asked to end; empty when nobody asked."""
    agent: int = 0
    """The agent's process; 0 before it runs."""
    agent_start: str = UNREAD
    """When that process began, as a proof has it."""
    boot: str = UNREAD
    """The boot it runs in, as a proof has it."""

    @property
    def words(self) -> str:
        """How it ended, for a person; empty while it runs."""
        if self.ended is None:
            return ""
        how = f"it was ended by signal {self.signal}" if self.signal else f"it exited with {self.exit}"
        if self.signal is None and self.exit is None:
            how = "it has ended"  # its capsule was killed, so nobody could ask how
        return f"{how} ({self.reason})" if self.reason else how


def folder(row: str, run: str) -> str:
    """Return the folder of a run."""
    return f"{row}/voyages/{run}"


def cast_file(row: str, run: str) -> str:
    """Return the path of the newest part of a run's recording."""
    return f"{folder(row, run)}/{_NOW}"


def pointer(disk: Disk, row: str) -> str:
    """Return the id of a row's current run, nothing when it has never run; raise Unreadable for anything else."""
    path = f"{row}/{_POINTER}"
    try:
        text = disk.read_up_to(path, _POINTER_LIMIT).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Unreadable(f"{path} could not be read: {error.strerror}") from error
    if not RUN_ID.fullmatch(text):
        raise Unreadable(f"{path} names no run")
    return text


def record(disk: Disk, row: str, run: str) -> Record | None:
    """Return what is known of a run, or None when nothing was written; raise Unreadable for anything else."""
    path = f"{folder(row, run)}/{_RECORD}"
    try:
        said = jsonline.decode_object(disk.read_up_to(path, _RECORD_LIMIT))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(f"{path} could not be read: {error.strerror}") from error
    except jsonline.NotStrict as error:
        raise Unreadable(f"{path} is damaged: {error.sentence}") from error
    argv = said.get("argv")
    if not (isinstance(argv, list) and all(isinstance(word, str) for word in argv)):
        raise Unreadable(f"{path} is damaged: it names no program")
    known = {name: said[name] for name in Record._fields if name in said}
    if any(not _fits(name, value) for name, value in known.items()) or not {"run", "root", "began"} <= known.keys():
        raise Unreadable(f"{path} is damaged: it is not what a capsule writes")
    return Record(**{**known, "argv": tuple(argv)})


def is_news(disk: Disk, row: str, ended: Record) -> bool:
    """Tell whether nobody was told yet that a run has ended, and note that somebody is told now.

    An engine that starts finds the end of each run anew. What cannot be noted is told once more, never not at all.
    """
    path, said = f"{folder(row, ended.run)}/{_TOLD}", f"{ended.ended}\n"
    with suppress(OSError):
        if disk.read_up_to(path, _POINTER_LIMIT) == said.encode():
            return False
    with suppress(OSError):
        _replace(disk, path, said)
    return True


def _fits(name: str, value: object) -> bool:
    match name:
        case "run" | "root" | "reason" | "agent_start" | "boot":
            return isinstance(value, str)
        case "resumed":
            return isinstance(value, bool)
        case "argv":
            return True
        case "began":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "agent":
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


class Busy(NamedTuple):
    """Another process writes this run."""


class Voyage:
    """One run's folder, held by the process that writes it."""

    def __init__(self, disk: Disk, row: str, run: str) -> None:
        self._disk = disk
        self._row = row
        self._run = run
        self._lock = -1

    def open(self) -> Busy | None:
        """Make the folder and take its lock; raises the OSError of the step that failed."""
        path = folder(self._row, self._run)
        make_folder(self._disk, path)
        self._lock = self._disk.open(f"{path}/{_LOCK}", os.O_RDWR | os.O_CREAT)
        try:
            self._disk.lock(self._lock, _EXCLUSIVE_AT_ONCE)
        except BlockingIOError:
            self.close()
            return Busy()
        self._disk.flush_folder(os.path.dirname(path))
        return None

    def close(self) -> None:
        """Let go of its lock, which the process that runs it holds to its end."""
        if self._lock >= 0:
            self._disk.close(self._lock)
            self._lock = -1

    def write(self, said: Record) -> None:
        """Write `run.json` so that it stands; raises the OSError of the step that failed."""
        path = folder(self._row, self._run)
        _replace(self._disk, f"{path}/{_RECORD}", json.dumps({**said._asdict(), "argv": list(said.argv)}) + "\n")
        self._disk.flush_folder(path)

    def keep_screen(self, screen: Screen) -> None:
        """Write the last screen so that it stands, unless it is too large; raises the failed step's OSError."""
        text = last_screen.text_of(screen)
        if text:
            path = folder(self._row, self._run)
            _replace(self._disk, f"{path}/{last_screen.FILE}", text)
            self._disk.flush_folder(path)

    def point(self) -> None:
        """Make this the row's current run; raises the OSError of the step that failed."""
        _replace(self._disk, f"{self._row}/{_POINTER}", self._run + "\n")
        self._disk.flush_folder(self._row)

    def unmake(self) -> None:
        """Take the folder of a run away whose agent never ran."""
        with suppress(OSError):
            self._remove_files(folder(self._row, self._run))

    def recording(self, clock: Clock, columns: int, lines: int) -> Recording:
        """Return what the agent's output is given to."""
        return Recording(self._disk, clock, folder(self._row, self._run), columns, lines)

    def prune(self) -> None:
        """Remove what was made here of all runs but the newest; what cannot be removed stays, and is tried again."""
        with suppress(OSError):
            runs = sorted(filter(RUN_ID.fullmatch, self._disk.listdir(f"{self._row}/voyages")), reverse=True)
            for run in [run for run in runs if run != self._run][RUNS_KEPT - 1 :]:
                with suppress(OSError):
                    self._remove(folder(self._row, run))

    def _remove(self, path: str) -> None:
        """Remove the folder of a run that nobody writes and that holds nothing but what is made here."""
        disk = self._disk
        found = disk.stat(path)
        names = set(disk.listdir(path)) if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() else {""}
        if not names <= _MADE_HERE or any(not stat.S_ISREG(disk.stat(f"{path}/{name}").st_mode) for name in names):
            return
        # Without its lock it is no run that was begun here, or one that a removal was cut short in.
        lock = disk.open(f"{path}/{_LOCK}", os.O_RDWR) if _LOCK in names else -1
        try:
            if lock >= 0:
                disk.lock(lock, _EXCLUSIVE_AT_ONCE)
            self._remove_files(path)
        finally:
            if lock >= 0:
                disk.close(lock)

    def _remove_files(self, path: str) -> None:
        for name in sorted(self._disk.listdir(path), key=_LOCK.__eq__):  # the lock last: until then it is seen held
            if name in _MADE_HERE:
                self._disk.unlink(f"{path}/{name}")
        self._disk.rmdir(path)


def _replace(disk: Disk, path: str, text: str) -> None:
    disk.replace(path + _DRAFT, path, text.encode("utf-8", "replace"))


class Recording:
    """What a run's agent writes, as asciicast version 2: the newest 8 to 16 MiB of it.

    A file that is full becomes the one before, and what was that is gone; each file begins with a header of its own. A
    disk that refuses a line stops the recording for ten seconds, and the file then says how much is missing.
    """

    def __init__(self, disk: Disk, clock: Clock, path: str, columns: int, lines: int) -> None:
        self._disk, self._clock, self._path = disk, clock, path
        self._columns, self._lines = columns, lines
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._descriptor = -1
        self._length = 0
        self._began = 0.0
        self._resume_at = 0.0
        self.lost = 0
        """Characters that the disk has refused since it last took any."""

    def output(self, data: bytes) -> None:
        """Record what the agent wrote; a character that a read has cut comes with the next."""
        text = self._decode(data)
        if text:
            self._event("o", text)

    def resized(self, columns: int, lines: int) -> None:
        """Record that the terminal has another size."""
        self._columns, self._lines = columns, lines
        self._event("r", f"{columns}x{lines}")

    def close(self) -> None:
        """Stop recording."""
        if self._descriptor >= 0:
            with suppress(OSError):
                self._disk.close(self._descriptor)
            self._descriptor = -1

    def _event(self, kind: str, text: str) -> None:
        now = self._clock.monotonic()
        if now < self._resume_at:
            self.lost += len(text)
            return
        try:
            if not 0 < self._length < _SEGMENT_BYTES:
                self._begin_file(now)
            if self.lost:
                self._write(now, "m", f"{self.lost} characters could not be recorded here")
                self.lost = 0
            self._write(now, kind, text)
        except OSError:
            self.lost += len(text)
            self._resume_at = now + PAUSE_SECS
            if self._descriptor >= 0:
                with suppress(OSError):  # half a line stays then; readers of recordings pass over it
                    self._disk.truncate(self._descriptor, self._length)

    def _begin_file(self, now: float) -> None:
        path = f"{self._path}/{_NOW}"
        if self._length:
            self._disk.rename(path, f"{self._path}/{_BEFORE}")
            self._length = 0
        self.close()
        self._descriptor = self._disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC)
        self._began = now
        header = {"version": 2, "width": self._columns, "height": self._lines, "timestamp": int(self._clock.now())}
        self._put(json.dumps(header) + "\n")

    def _write(self, now: float, kind: str, text: str) -> None:
        # Escaped down to ASCII, so that nothing in the file acts in the terminal of whoever looks into it.
        self._put(f'[{now - self._began:.3f}, "{kind}", {json.dumps(text)}]\n')

    def _put(self, line: str) -> None:
        data = line.encode()
        self._disk.write(self._descriptor, data)
        self._length += len(data)
