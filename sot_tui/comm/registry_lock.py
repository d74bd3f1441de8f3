"""The registry lock: take, release, the reclaim of a dead holder's lock, and the sentences when it is not to be had.

Contract, The registry lock: the lock is a regular file whose one line names its holder; it is taken by a hard link, so
it never exists without its holder and nothing is ever replaced. A holder is removed only when this box proves it dead,
through a marker, a second of settling and a fresh read. No timeout forces anything. Every way out says, in the
contract's own words, who holds the lock, why, and what a person can do; nobody else words these sentences.
"""

from __future__ import annotations

import errno
import os
from _thread import allocate_lock, get_ident
from contextlib import suppress
from enum import Enum

from sot_tui.comm.clock import seconds_said
from sot_tui.comm.disk import NotRegular
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.mounts import proves_fresh_reads
from sot_tui.comm.proof import Proof, Record, Verdict, is_own, judge, own_record, parse_record
from sot_tui.comm.reach import reach
from sot_tui.comm.text import visible

if TYPE_CHECKING:
    from sot_tui.comm.home import Home


class Wait(Enum):
    """How long a caller waits for the lock at most: the one table of bounds, in seconds (contract, Bounds)."""

    RULED = 10.0
    """join, leave, status, spawn, despawn, a row's end: `SOT_LOCK_WAIT_SECS` sets another bound."""
    TOUCH = 1.0
    """The best-effort stamps of send, poll and spawn, and the unread clear."""
    HEARTBEAT = 0.0
    """The heartbeat: one try, which still reclaims a dead holder."""

    @property
    def seconds(self) -> float:
        """The bound in seconds; raises Misuse when `SOT_LOCK_WAIT_SECS` is no number of seconds."""
        if self is Wait.RULED:
            return seconds_said(os.environ, "SOT_LOCK_WAIT_SECS", self.value)
        return float(self.value)


POLL_S = 0.05
"""Seconds between two tries (contract, Bounds)."""
SETTLE_S = 1.0
"""Seconds between a marker and the second read: what a dead holder still had under way may land (contract, Reclaim).
Nothing shortens it."""
TURN_S = 15.0
"""Seconds that `clear`, which has no deadline, waits for a thread of this process that is inside; none is so long."""
OVERTAKEN_S = SETTLE_S + 1.0
"""Seconds that `clear` gives a live process that is reclaiming the same lock to finish."""

NEVER = float("inf")
"""The deadline of a call that has none."""

MARKER_PREFIX = ".registry.lock.reclaim."
"""How the name of a reclaim marker begins in the comm home; the dead one's record follows (contract, Reclaim)."""
RECORD_BYTES = 4096
"""What is read of a lock or marker; a record is a tenth of it, so what fills it is none."""
SHOWN_CHARACTERS = 200
"""What is shown of a record that does not parse."""
FRESH_FOR_S = 1.0
"""Seconds for which the comm home's mount counts as looked at."""
FRESH_HOMES = 8
"""Comm homes whose mount is kept in mind; a process has one."""
VANISHED_TRIES = 3
"""How often a walk tries a marker anew that was removed between two looks."""
TEMP_TRIES = 1000
"""Temp names tried: only what dead processes of the same pid left can be in the way."""

_PASSING = frozenset({errno.EIO, errno.ESTALE, errno.EINTR, errno.EAGAIN, errno.ETIMEDOUT, errno.EBUSY})
"""Faults that a later try may not meet; with any other one a wait would be in vain."""

_OLDER = "held by an older version that records no holder"
_RELEASED = "it was released just then"


class Held(NamedTuple):
    """The lock is this caller's, and so is this process's turn, until `release`."""

    record: Record
    """What the lock says."""
    identity: tuple[int, int, int] | None
    """Device, inode and time of the lock's file, by which release knows it; None when they could not be read."""


class NotTaken(NamedTuple):
    """The lock was not to be had."""

    sentence: str
    """Why, and what to do (contract, FAILED); without a prefix."""
    holder: Record | None = None
    """Who held it when it was last read."""


class Cleared(NamedTuple):
    """A dead holder's lock is gone."""

    sentence: str
    """What was cleared, for a person."""
    by_another: bool = False
    """Whether another process was first."""


class Free(NamedTuple):
    """There was no lock."""

    sentence: str
    """That, for a person."""


class NotCleared(NamedTuple):
    """The lock stands: its holder is not proved dead, or no reclaim can clear it."""

    sentence: str
    """Why, and the recovery that the FAILED line names."""


class LockIs(Enum):
    """What stands at the lock's path."""

    FREE = "free"
    """Nothing."""
    HELD = "held"
    """A record."""
    OLDER_VERSION = "held by an older version"
    """A folder, which names nobody and is never reclaimed."""
    UNPARSABLE = "held by an unknown holder"
    """A file whose record was read whole and does not parse, or a thing that is no file; never reclaimed."""
    UNREADABLE = "not readable"
    """Something that could not be read; never reclaimed."""


class LockLook(NamedTuple):
    """What a look found; it took nothing and wrote nothing, and may be outdated already."""

    state: LockIs
    record: Record | None = None
    """The holder, where one is named."""
    age_s: float = 0.0
    """Seconds since the lock was taken, by the file's own time; never negative."""
    verdict: str = ""
    """The proof in plain words; empty for a free lock."""
    provable: bool = False
    """Whether this box proves the holder dead, so that `clear` may remove the lock."""
    recovery: str = ""
    """What a person can do: the last sentence of the FAILED line."""
    sentence: str = ""
    """The whole FAILED line, without a prefix."""


class Marker(NamedTuple):
    """One reclaim marker: a process said that it clears the lock of a dead one."""

    path: str
    of: Record
    """Whose death it marks."""
    state: LockIs
    """What stands there."""
    by: Record | None = None
    """Who made it, where that is named."""
    verdict: str = ""
    """What this box can say about its maker, in words."""


class Markers(NamedTuple):
    """The reclaim markers of a comm home."""

    chain: tuple[Marker, ...] = ()
    """Those of the lock as it stands: its holder's, the one of that one's maker, and so on."""
    others: int | None = 0
    """How many more there are, kept for good (contract, Reclaim); None when the folder could not be listed."""


class _At(NamedTuple):
    """What was read at the path of a lock or a marker."""

    state: LockIs
    record: Record | None = None
    text: str = ""
    """What stands there instead of a record, or why it could not be read."""


class _Link(NamedTuple):
    """What came of writing a record to a temp file and linking it."""

    made: bool = False
    identity: tuple[int, int, int] | None = None
    exists: bool = False
    """Whether the name is another's."""
    fault: str = ""
    lasting: bool = False
    """Whether a later try would meet the same fault."""


class _End(Enum):
    """How a try ended without the lock: which of the contract's sentences it is."""

    HELD = "is held by"
    UNPASSABLE = "still held"
    NOT_TAKEN = "was not taken by the deadline"
    FAULT = "was not taken"


class _Blocked(NamedTuple):
    """Why a try ended without the lock."""

    end: _End
    why: str
    holder: Record | None = None
    blocker: Record | None = None
    """Whose death would open the way: the holder's, or a reclaimer's."""
    proof: Proof | None = None
    """What this box says about the blocker; None when it did not judge it."""


class _Removed(NamedTuple):
    """The reclaim removed a dead holder's lock."""

    holder: Record


_turn = allocate_lock()
"""Whose turn it is in this process. One for every comm home: two spellings of one home must never be two turns, as a
lock that names this process is taken for one that a thread has left."""


_RECLAIMED_KEPT = 16
"""How many reclaims are kept for whoever asks; a process that asks never has more than a few."""
_reclaimed: list[tuple[int, Record]] = []
"""The thread and the dead holder of each take that reclaimed, until it is asked for; added to by whose turn it is."""


def _new_turn() -> None:
    global _turn  # noqa: PLW0603  (the thread that had the turn is not in the child)
    _turn = allocate_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_turn)


def take(home: Home, wait: Wait) -> Held | NotTaken:
    """Take the lock, reclaiming it from a dead holder, or say why not once the bound is over.

    There is always one try and its reclaim. Raises Misuse when the bound's variable makes no sense.
    """
    deadline = home.clock.monotonic() + wait.seconds
    if not _take_turn(home, deadline):
        return NotTaken(
            f"registry lock {home.lock} was not tried: another thread of this daemon held its turn past the bound"
        )
    outcome: Held | NotTaken | None = None
    try:
        outcome = _Waiter(home, deadline).take()
    finally:
        if not isinstance(outcome, Held):
            _turn.release()
    return outcome


def reclaimed(thread: int = 0) -> list[Record]:
    """Return, once, whose locks the takes of one thread of this process have cleared, or those of all threads.

    Each writer clears a dead holder's lock by itself, so a person has to be told when it was one of ours.
    """
    found = [one for one in tuple(_reclaimed) if thread in {0, one[0]}]
    for one in found:
        with suppress(ValueError):  # another thread has asked for it meanwhile
            _reclaimed.remove(one)
    return [holder for _, holder in found]


def release(home: Home, held: Held) -> None:
    """Remove the lock, and give the turn to the next thread.

    A lock that a person removed by hand, and another process took since, is not ours any more and stays. A removal
    that fails is not told: the lock then names this process, whose next take, or whose death, clears it.
    """
    try:
        if still_held(home, held):
            _unlink_quietly(home, home.lock)
    finally:
        _turn.release()
    reach("lock.released")


def still_held(home: Home, held: Held) -> bool:
    """Tell whether the lock is still the one that was taken; what cannot be read is taken to be.

    An inode is soon given to another file, so its time counts too; where they differ, the record decides.
    """
    try:
        found = home.disk.stat(home.lock)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    if held.identity == (found.st_dev, found.st_ino, found.st_mtime_ns):
        return True
    at = _read(home, home.lock)
    return at.state is LockIs.UNREADABLE or at.record == held.record


def clear(home: Home) -> Cleared | Free | NotCleared:
    """Clear the lock of a holder that this box proves dead, by the reclaim path, at once and with no deadline."""
    if not _take_turn(home, home.clock.monotonic() + TURN_S):
        return NotCleared(
            f"NOT cleared: registry lock {home.lock} was not tried: another thread of this daemon held its turn "
            "past the bound"
        )
    try:
        return _cleared(home)
    finally:
        _turn.release()


def look(home: Home) -> LockLook:
    """Look at the lock: its holder, its age and what this box can say about it. Nothing is taken or written."""
    at = _read(home, home.lock)
    if at.state is LockIs.FREE:
        return LockLook(LockIs.FREE)
    age = _age(home)
    if age is None:
        return LockLook(LockIs.FREE)
    waiter = _Waiter(home, NEVER)
    if at.record is None:
        blocked = waiter.blocked_by(at)
        verdict = {
            LockIs.OLDER_VERSION: "cannot be proved anywhere: an older version's lock names no holder",
            LockIs.UNPARSABLE: "cannot be proved anywhere: the record names no holder",
        }.get(at.state, "cannot be proved: the record could not be read")
        return LockLook(at.state, None, age, verdict, False, _recovery(home, blocked), _said(home, blocked, age))
    judged = waiter.judged(at.record)
    blocked = _Blocked(_End.HELD, judged.why, at.record, at.record, judged.proof)
    left = is_own(at.record, waiter.me) and not _turn.locked()
    return LockLook(
        LockIs.HELD,
        at.record,
        age,
        "left by a thread of this process" if left else judged.words,
        judged.dead or left,
        _recovery(home, blocked),
        _said(home, blocked, age),
    )


def markers(home: Home, holder: Record | None) -> Markers:
    """Look at the reclaim markers that stand between a taker and the lock of `holder`. Nothing is taken or written."""
    waiter = _Waiter(home, NEVER)
    passed, chain = [], []
    while holder is not None and holder not in passed:
        passed.append(holder)
        path = _marker(home, holder)
        at = _read(home, path)
        if at.state is LockIs.FREE:
            break
        verdict = waiter.judged(at.record).words if at.record else _marker_of_nobody(at)
        chain.append(Marker(path, holder, at.state, at.record, verdict))
        holder = at.record
    try:
        marked = [name for name in home.disk.listdir(home.path) if name.startswith(MARKER_PREFIX)]
    except OSError:
        return Markers(tuple(chain), None)
    known = {os.path.basename(marker.path) for marker in chain}
    return Markers(tuple(chain), len([name for name in marked if name not in known]))


class _Waiter:
    """One call's way to the lock: who it is, until when it may try."""

    def __init__(self, home: Home, deadline: float) -> None:
        self.home = home
        self.deadline = deadline
        self.own = _self(home)
        self.me = self.own.record

    def take(self) -> Held | NotTaken:
        """Try until the lock is taken or the deadline is over."""
        blocked: _Blocked | None = None
        while True:
            link = _link(self.home, self.own, self.home.lock)
            if link.made:
                reach("lock.taken")
                return Held(self.me, link.identity)
            reach("lock.failed")
            if blocked is None or not self._is_late():
                if link.exists:
                    got = self._reclaimed()
                    if isinstance(got, Held):
                        return got
                    blocked = got
                else:
                    blocked = _Blocked(_End.FAULT, link.fault)
                    if link.lasting:
                        break
            if self._is_late():
                break
            self.home.clock.sleep(min(POLL_S, self.deadline - self.home.clock.monotonic()))
            if self._is_late():
                break
        return self._not_taken(blocked)

    def _reclaimed(self) -> Held | _Blocked:
        """Run the reclaim step, and retake a lock that it removed at once, as part of the same try."""
        done = self.reclaim()
        if isinstance(done, _Blocked):
            return done
        reach("lock.removed")
        _reclaimed.append((get_ident(), done.holder))
        del _reclaimed[:-_RECLAIMED_KEPT]
        link = _link(self.home, self.own, self.home.lock)
        if link.made:
            reach("lock.taken")
            return Held(self.me, link.identity)
        if link.exists:
            return self._taken_meanwhile(_read(self.home, self.home.lock))
        return _Blocked(_End.FAULT, link.fault)

    def reclaim(self) -> _Removed | _Blocked:
        """Remove the lock if its holder is proved dead, or is this process: one walk from marker to marker."""
        at = _read(self.home, self.home.lock)
        holder = at.record
        if holder is None:
            return self.blocked_by(at)
        own = is_own(holder, self.me)
        if not own:
            judged = self.judged(holder)
            if not judged.dead:
                return _Blocked(_End.HELD, judged.why, holder, holder, judged.proof)
        reach("lock.judged")
        walked = self._walk(holder, "a thread of this process left it" if own else "it is dead")
        if isinstance(walked, _Blocked):
            return walked
        reach("lock.marked")
        self.home.clock.sleep(SETTLE_S)
        reach("lock.settled")
        at = _read(self.home, self.home.lock)
        if at.record == holder:
            reach("lock.reread")
            try:
                self.home.disk.unlink(self.home.lock)
            except FileNotFoundError:
                pass  # a server may answer so to its own second try; a link replaces nothing, so going on is safe
            except OSError as error:
                why = f"{walked.dead}, but the lock could not be removed ({_fault(error)})"
                return _Blocked(_End.HELD, why, holder, holder, None)
        elif at.state is not LockIs.FREE:
            return self._taken_meanwhile(at)
        if walked.records == [self.me]:
            # contract, Reclaim: of all markers this one goes, and before the retake, since a holder that dies with a
            # marker naming itself wedges the lock.
            _unlink_quietly(self.home, _marker(self.home, self.me))
        if at.state is LockIs.FREE:
            return _Blocked(_End.NOT_TAKEN, _RELEASED)
        return _Removed(holder)

    def _walk(self, holder: Record, dead: str) -> _Walked | _Blocked:
        """Take the marker of the dead holder, or of the dead reclaimer that took it, and so on.

        A marker that names this process, left by an earlier try, is adopted: its authority is this process's own.
        """
        passed, vanished = [holder], 0
        while True:
            marker = _marker(self.home, passed[-1])
            link = _link(self.home, self.own, marker)
            if link.made:
                return _Walked(passed, dead)
            if not link.exists:
                return _Blocked(_End.HELD, f"{dead}, but its reclaim marker could not be taken ({link.fault})", holder)
            at = _read(self.home, marker)
            if at.state is LockIs.FREE and vanished < VANISHED_TRIES:
                vanished += 1  # its creator, which is alive, has removed it: the name is free again
                continue
            if at.record is None:
                return _stopped(at, marker, holder, dead)
            if is_own(at.record, self.me):
                return _Walked(passed, dead)
            if at.record in passed:
                named = at.record.line.rstrip("\n")
                why = f"its reclaim marker {marker} names {named}, which its reclaim chain already holds, so no reclaim"
                return _Blocked(_End.UNPASSABLE, f"{why} can pass it", holder)
            judged = self.judged(at.record)
            if not judged.dead:
                who = f"{at.record.name} pid {at.record.pid}"
                why = f"{dead}, but its reclaim by {who} did not finish: {judged.why}"
                return _Blocked(_End.HELD, why, holder, at.record, judged.proof)
            passed.append(at.record)
            if self._is_late():
                why = f"{dead}, but its reclaim chain was still being walked at the deadline"
                return _Blocked(_End.HELD, why, holder, at.record, judged.proof)

    def judged(self, record: Record) -> Verdict:
        """Judge whether the process that a record names is dead."""
        return judge(record, self.me, self.home.procs.start_of)

    def blocked_by(self, at: _At) -> _Blocked:
        """Return why a lock without a readable record ends the try."""
        if at.state is LockIs.FREE:
            return _Blocked(_End.NOT_TAKEN, _RELEASED)
        if at.state is LockIs.UNREADABLE:
            return _Blocked(_End.NOT_TAKEN, f"its record could not be read ({at.text})")
        return _Blocked(_End.UNPASSABLE, _OLDER if at.state is LockIs.OLDER_VERSION else _names_nobody(at))

    def _taken_meanwhile(self, at: _At) -> _Blocked:
        if at.record is None:
            return self.blocked_by(at)
        return _Blocked(_End.HELD, "it took the lock during the reclaim", at.record, at.record, None)

    def _is_late(self) -> bool:
        return self.home.clock.monotonic() >= self.deadline

    def _not_taken(self, blocked: _Blocked) -> NotTaken:
        """Say why the lock was not taken, from the last try and one more look: it may have changed hands since."""
        home = self.home
        if blocked.end is _End.FAULT:
            return NotTaken(f"registry lock {home.lock} was not taken: {blocked.why}")
        at = _read(home, home.lock)
        age = _age(home)
        if at.state is LockIs.FREE or age is None:
            return NotTaken(_said(home, blocked, None), blocked.holder)
        if at.record is not None and at.record != blocked.holder:
            blocked = _Blocked(_End.HELD, "it took the lock just then", at.record, at.record, None)
        elif at.record is None and blocked.holder is not None:
            blocked = self.blocked_by(at)
        return NotTaken(_said(home, blocked, age), blocked.holder)


class _Walked(NamedTuple):
    """A walk that may act: its last marker names this process."""

    records: list[Record]
    """The holder, and each dead reclaimer that the walk passed."""
    dead: str


def _take_turn(home: Home, deadline: float) -> bool:
    while not _turn.acquire(blocking=False):
        left = deadline - home.clock.monotonic()
        if left <= 0:
            return False
        home.clock.sleep(min(POLL_S, left))
    return True


def _cleared(home: Home) -> Cleared | Free | NotCleared:
    waiter = _Waiter(home, NEVER)
    until = home.clock.monotonic() + OVERTAKEN_S
    first = _read(home, home.lock)
    if first.state is LockIs.FREE:
        return Free(f"registry lock {home.lock} is free")
    while True:
        done = waiter.reclaim()
        if isinstance(done, _Removed):
            return Cleared(f"cleared registry lock {home.lock}, held by {done.holder.name} pid {done.holder.pid}")
        another = done.proof is Proof.RUNNING and done.blocker != done.holder
        if not another or home.clock.monotonic() >= until:
            break
        home.clock.sleep(POLL_S)  # another process is at it; it needs its second of settling too
    released = done.end is _End.NOT_TAKEN and done.why == _RELEASED
    if first.record is not None and (released or done.holder != first.record) and _was_reclaimed(home, first.record):
        now = "" if released or not done.holder else f"; {done.holder.name} pid {done.holder.pid} holds it now"
        return Cleared(f"registry lock {home.lock} was cleared by another writer{now}", by_another=True)
    if released:
        return Free(f"registry lock {home.lock} is free")
    return NotCleared(f"NOT cleared: registry lock {home.lock}: {done.why}. {_clear_recovery(home, done)}")


def _was_reclaimed(home: Home, record: Record) -> bool:
    """Tell whether somebody proved this holder dead: its marker is kept for ever."""
    return _identity(home, _marker(home, record)) is not None


def _clear_recovery(home: Home, blocked: _Blocked) -> str:
    if blocked.end is _End.UNPASSABLE:
        return "No reclaim can clear it: if its holder is dead, remove the lock by hand."
    return _recovery(home, blocked)


def _said(home: Home, blocked: _Blocked, age: float | None) -> str:
    """Return the FAILED line of a try, without a prefix; an `age` of None means that the lock is gone since."""
    holder, lock = blocked.holder, f"registry lock {home.lock}"
    if blocked.end is _End.HELD and holder is not None:
        who = f"{holder.name} pid {holder.pid} start {holder.start}"
        if age is None:
            return f"{lock} was held by {who} when last read ({blocked.why}); it may have been released since. Retry."
        return f"{lock} is held by {who} ({_age_text(age)} old): {blocked.why}. {_recovery(home, blocked)}"
    if blocked.end is _End.UNPASSABLE and age is not None:
        return f"{lock} still held ({_age_text(age)} old): {blocked.why}. {_recovery(home, blocked)}"
    why = _RELEASED if blocked.end is _End.UNPASSABLE else blocked.why
    return f"{lock} was not taken by the deadline: {why}. Retry."


def _recovery(home: Home, blocked: _Blocked) -> str:
    """Return the last sentence of the FAILED line: what a person can do (contract, FAILED)."""
    blocker = blocked.blocker or blocked.holder
    if blocked.end is _End.UNPASSABLE:
        return f"If its holder is dead, remove {home.lock} by hand and retry."
    if blocked.end is not _End.HELD or blocker is None:
        return "Retry."
    host = blocker.name
    if blocker.proves_nothing:
        return (
            f"No box can prove {host} pid {blocker.pid} dead (its record has no proof fields): "
            f"if it is, remove {home.lock} by hand."
        )
    if blocked.proof is Proof.NAMESPACE:
        where, ended = f"{host} in its pid namespace", "nothing will run there again"
    elif blocked.proof in {Proof.ELSEWHERE, Proof.UNABLE}:
        where, ended = host, f"{host} will not run again"
    else:
        return f"If it is dead, run any comm command on {host}."
    return (
        f"If it is dead: run any comm command on {where}, or, if {ended} or a comm command there says it cannot "
        f"prove a death, remove {home.lock} by hand."
    )


def _marker_of_nobody(at: _At) -> str:
    """Return what can be said about a marker without a readable record."""
    if at.state is LockIs.UNREADABLE:
        return f"cannot be proved: the marker could not be read ({at.text})"
    return "cannot be proved anywhere: the marker names nobody, so no reclaim can pass it"


def _stopped(at: _At, marker: str, holder: Record, dead: str) -> _Blocked:
    """Return why a marker without a readable record ends the walk."""
    if at.state is LockIs.FREE:
        return _Blocked(_End.HELD, f"{dead}, and its reclaim marker was removed just then", holder)
    if at.state is LockIs.UNREADABLE:
        return _Blocked(_End.HELD, f"{dead}, but its reclaim marker {marker} could not be read ({at.text})", holder)
    nobody = "is a folder" if at.state is LockIs.OLDER_VERSION else f"names no holder ({at.text})"
    return _Blocked(_End.UNPASSABLE, f"its reclaim marker {marker} {nobody}, so no reclaim can pass it", holder)


def _names_nobody(at: _At) -> str:
    return f"its record names no holder ({at.text})"


def _link(home: Home, own: _Self, target: str) -> _Link:
    """Write this process's record to a fresh temp file, link it to `target`, and remove the temp file.

    A failed link after which the fresh temp file is the target was made: a server answers "exists" to its own second
    try (contract, Take).
    """
    disk = home.disk
    temp = ""
    try:
        temp, descriptor = _open_temp(home, own)
        try:
            disk.write(descriptor, own.line)
        finally:
            disk.close(descriptor)
    except OSError as error:
        if temp:
            _unlink_quietly(home, temp)
        why = f"its record could not be written in {home.path}: {_fault(error)}"
        return _Link(fault=why, lasting=error.errno not in _PASSING)
    reach("lock.recorded")
    try:
        disk.link(temp, target)
        return _Link(True, _identity(home, temp), False, "", False)
    except OSError as error:
        return _unlinked(home, temp, target, error)
    finally:
        _unlink_quietly(home, temp)


def _unlinked(home: Home, temp: str, target: str, error: OSError) -> _Link:
    """Return what a link that was answered with an error came to."""
    ours, theirs = _identity(home, temp), _identity(home, target)
    if ours is not None and theirs is not None and ours[:2] == theirs[:2]:
        return _Link(made=True, identity=ours)
    if isinstance(error, FileExistsError):
        return _Link(exists=True)
    # A temp file that somebody swept away is written anew by the next try.
    passing = error.errno in _PASSING or isinstance(error, FileNotFoundError)
    return _Link(fault=f"cannot hard-link in {home.path}: {_fault(error)}", lasting=not passing)


def _open_temp(home: Home, own: _Self) -> tuple[str, int]:
    """Make a temp file that nobody else has: two takers of one file would each find it to be the lock."""
    taken: FileExistsError | None = None
    for _ in range(TEMP_TRIES):
        temp = f"{own.temp}{home.procs.serial()}"
        try:
            return temp, home.disk.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError as error:
            taken = error
    raise taken or AssertionError


def _read(home: Home, path: str) -> _At:
    """Read a lock or a marker afresh: open its folder, then open it (contract, Reclaim)."""
    disk = home.disk
    try:
        disk.revalidate(home.path)
        descriptor = disk.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            data = disk.read_at(descriptor, RECORD_BYTES, 0)
        finally:
            disk.close(descriptor)
    except FileNotFoundError:
        return _At(LockIs.FREE)
    except IsADirectoryError:
        return _At(LockIs.OLDER_VERSION)
    except NotRegular as error:  # it was seen whole, and no later read will find a holder in it
        return _At(LockIs.UNPARSABLE, text=f"{error.strerror}")
    except OSError as error:
        return _At(LockIs.UNREADABLE, text=_fault(error))
    record = parse_record(data)
    if record is not None:
        return _At(LockIs.HELD, record)
    text = data.decode("utf-8", "replace").removesuffix("\n")
    return _At(LockIs.UNPARSABLE, text=visible(text, SHOWN_CHARACTERS) or "it is empty")


def _age(home: Home) -> float | None:
    """Return the seconds since the lock was taken, by its file's own time, or None when it is gone."""
    try:
        return max(0.0, home.clock.now() - home.disk.stat(home.lock).st_mtime)
    except FileNotFoundError:
        return None
    except OSError:
        return 0.0


def _age_text(age: float) -> str:
    """Return an age in whole seconds, a begun second counted: a lock that sat out a wait of 10 s is more than that."""
    return f"{-int(-age // 1)}s"


def _identity(home: Home, path: str) -> tuple[int, int, int] | None:
    try:
        found = home.disk.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_mtime_ns)


def _marker(home: Home, record: Record) -> str:
    return f"{home.path}/{MARKER_PREFIX}{record.id}"


def _unlink_quietly(home: Home, path: str) -> None:
    try:
        home.disk.unlink(path)
    except OSError:
        return  # nobody waits for the file, and its name is never used again


class _Self(NamedTuple):
    """Who this process is on a comm home, and what follows from that."""

    until: float
    """Until when the mount counts as looked at."""
    record: Record
    line: bytes
    """The record as a lock holds it."""
    temp: str
    """How the paths of this process's temp files begin."""


_selves: dict[Home, _Self] = {}
"""What was found at the last look, by comm home."""


def _self(home: Home) -> _Self:
    """Return who this process is on this comm home, looking at itself and at the mount once a second at most."""
    now = home.clock.monotonic()
    known = _selves.get(home)
    if known is not None and now < known.until and known.record.pid == str(home.procs.pid()):
        return known
    record = own_record(home.procs, fresh_reads=proves_fresh_reads(home))
    if len(_selves) >= FRESH_HOMES:
        _selves.clear()
    found = _Self(now + FRESH_FOR_S, record, record.line.encode(), f"{home.lock}.tmp.{record.id}.")
    _selves[home] = found
    return found


def _fault(error: OSError) -> str:
    """Return an error as its name and what it means, `EIO (Input/output error)`."""
    number = error.errno
    if number is None:
        return str(error)
    return f"{errno.errorcode.get(number, number)} ({os.strerror(number)})"
