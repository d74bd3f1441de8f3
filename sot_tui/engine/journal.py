"""The event log: what the engine did and decided, in the order it happened (product, Events).

Everything that happens passes `Engine._tell` as an event; `told` is the one place that says which of them are worth a
line, and in which words. The newest lines are kept in memory; each line also goes to a file under the state root,
0600, which is put aside at a bound, so that both are bounded for ever. A line is never markup and acts on no terminal.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import paths
from sot_tui.comm.clock import age_text, stamp
from sot_tui.comm.errors import Unreadable
from sot_tui.comm.fleet import LockPhase, Reading
from sot_tui.comm.text import visible
from sot_tui.engine.client import (
    AnswerDialog,
    Broadcast,
    BroadcastDone,
    ClearDone,
    CreateRow,
    EndRow,
    Happening,
    Leave,
    Listed,
    Outcome,
    Recover,
    Recovered,
    Recovery,
    ResumeRow,
    RowDone,
    Send,
    SetAside,
    What,
)
from sot_tui.engine.fold import (
    Event,
    Faulted,
    Happened,
    LockLooked,
    Mended,
    RegistryRead,
    RegistryUnread,
    StanceIs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sot_tui.comm.fleet import Fleet
    from sot_tui.comm.home import Home

MEMORY_LINES = 2000
"""Lines that are kept in memory, and at most so many that wait for a disk that fails."""
FILE_BYTES = 1 << 20
"""Bytes of the file at which it is put aside; with the one put aside before, the log never takes more than two."""


class Said(NamedTuple):
    """A line without its number and moment."""

    what: What
    text: str
    good: bool = True


def told(before: Fleet, event: Event, after: Fleet) -> Said | None:
    """Return the line that an event is worth, seen from the fleets before and after it; None when it is worth none."""
    match event:
        case Happened(what, text, good):
            return Said(what, text, good)
        case Faulted(duty, sentence):
            known = any((fault.duty, fault.sentence) == (duty, sentence) for fault in before.faults)
            return None if known else Said(What.DUTY, f"{duty}: {sentence}", good=False)
        case Mended(duty):
            failed = any(fault.duty == duty for fault in before.faults)
            return Said(What.DUTY, f"{duty}: it works again") if failed else None
        case RegistryUnread(_, why, _):
            known = before.registry.reading is Reading.UNREADABLE and before.registry.why == why
            return None if known else Said(What.REGISTRY, f"it could not be read: {why}", good=False)
        case RegistryRead():
            was = before.registry.reading
            return Said(What.REGISTRY, "it can be read again") if was is Reading.UNREADABLE else None
        case LockLooked():
            return _lock_line(before, after)
        case StanceIs(stance, why) if (stance, why) != (before.stance, before.stance_why):
            return Said(What.ENGINE, why or f"it runs here, for {after.home}")
        case _:
            return None


def _lock_line(before: Fleet, after: Fleet) -> Said | None:
    was, now = before.lock, after.lock
    if now.wedged and (not was.wedged or was.record != now.record):
        who = f" by {now.holder}" if now.holder else ""
        age = age_text(now.held_s(now.looked_at))
        verdict = now.verdict or now.phase.value
        return Said(What.LOCK, f"the registry lock is {now.grip} for {age}{who}: {verdict}", good=False)
    if was.wedged and not now.wedged:
        free = now.phase is LockPhase.FREE
        then = "is free again" if free else f"is held by {now.holder or 'someone else'} now"
        by = f" by {was.holder or 'an unknown holder'}" if was.grip == "held" else ""
        return Said(What.LOCK, f"the registry lock that was {was.grip}{by} {then}")
    return None


def of_command(command: object, outcome: object) -> tuple[Said, ...]:
    """Return the lines that a command and what came of it are worth."""
    match command, outcome:
        case Broadcast(), BroadcastDone(good, sentence, failed):
            return (Said(What.MAIL, sentence, good), *(Said(What.MAIL, line, good=False) for line in failed))
        case Recover(), Recovered(what, sentence):
            return (Said(What.LOCK, sentence, what is not Recovery.REFUSED),)
        case CreateRow(), RowDone(good, sentence):
            return (Said(What.ROW, sentence, good),)
        case _, Outcome(good, sentence) if sentence and type(command) in _ABOUT:
            return (Said(_ABOUT[type(command)], sentence, good),)
        case _:
            return ()


_ABOUT: dict[type, What] = {
    Send: What.MAIL,
    Listed: What.MAIL,
    ClearDone: What.DONE,
    Leave: What.REGISTRY,
    SetAside: What.ASIDE,
    EndRow: What.ROW,
    ResumeRow: What.ROW,
    AnswerDialog: What.ROW,
}
"""The commands whose outcome is worth a line, when it says something."""


class Journal:
    """The lines of one engine: the newest of them, and those that are not in the file yet."""

    def __init__(self) -> None:
        self._lines: deque[Happening] = deque(maxlen=MEMORY_LINES)
        self._unwritten: deque[Happening] = deque(maxlen=MEMORY_LINES)
        self.last = 0
        """The number of the newest line."""

    def add(self, said: Said, at: float) -> None:
        """Add a line."""
        self.last += 1
        line = Happening(self.last, at, said.what, said.text, said.good)
        self._lines.append(line)
        self._unwritten.append(line)

    def after(self, number: int) -> tuple[Happening, ...]:
        """Return the lines behind one of them that are still there."""
        return tuple(line for line in self._lines if line.number > number)

    def unwritten(self) -> tuple[Happening, ...]:
        """Return the lines that are not in the file yet."""
        return tuple(self._unwritten)

    def written(self, number: int) -> None:
        """Note that the lines up to this one are in the file."""
        while self._unwritten and self._unwritten[0].number <= number:
            self._unwritten.popleft()


def append(home: Home, environ: Mapping[str, str], lines: Iterable[Happening]) -> None:
    """Add lines to the log file; raises Unreadable when they do not all stand there."""
    append_to(home, paths.events_log(environ), lines)


def append_to(home: Home, path: str, lines: Iterable[Happening]) -> None:
    """Add lines to a log, as `append` does."""
    data = "".join(f"{stamp(line.at)} {line.what.value} {visible(line.text)}\n" for line in lines).encode()
    disk = home.disk
    try:
        paths.make_folder(disk, os.path.dirname(path))
        descriptor = _opened(home, path, len(data))
        try:
            disk.write(descriptor, data)
        finally:
            disk.close(descriptor)
    except OSError as error:
        raise Unreadable(f"the event log {path} could not be written: {error.strerror}") from error


def _opened(home: Home, path: str, more: int) -> int:
    """Open the log for so many more bytes; one that has no room for them is put aside first."""
    disk = home.disk
    descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        full = disk.size(descriptor) + more > FILE_BYTES
    except OSError:
        full = False
    if not full:
        return descriptor
    disk.close(descriptor)
    disk.rename(path, f"{path}.1")
    return disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
