"""Inboxes: file a line so that it is kept, read what is new, count what is unread.

Contract, Delivery: the inbox is opened inside the lock and closed before it is released. "Filed" means kept: the line
is flushed to disk before the answer, a dead writer's partial is cut back to the last newline first, and a failed append
is cut back to the length before it, taken by a seek to the end. A reader takes the shared lock where a writer would
append; a held lock means try again, never a skip; any other lock fault is named, and the read runs unlocked. The cursor
is written from the bytes that were read, never from the file again. No line that was answered `filed` may be lost here,
and none that is torn may be shown.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sot_tui.comm import cursor, frames, inbox_lock, mounts
from sot_tui.comm.inbox_lock import Grip, Held
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sot_tui.comm.cursor import Offset
    from sot_tui.comm.home import Home

_BLOCK = 1 << 16
"""Bytes of one look backwards for a newline; most lines are shorter."""
_READ_BLOCK = 1 << 20
"""Bytes of one step through an inbox that is read."""
_CURSOR_LIMIT = 4096
"""Bytes of a cursor that are read; a real one has a hundredth of it."""


# -- filing -----------------------------------------------------------------------------------------------------------


class Filed(NamedTuple):
    """The line is in the inbox, whole and flushed."""

    cut_bytes: int
    """Bytes of a dead writer's partial that were cut first; 0 when the inbox ended in a whole line."""


class NotFiled(NamedTuple):
    """Nothing was added."""

    reason: str
    """The reason of the FAILED line."""
    cut_bytes: int = 0
    """As in Filed: the cut stands, whatever came after it."""


def file_line(
    home: Home, handle: str, line: bytes, manager: str | None = None, wait_s: float | None = None
) -> Filed | NotFiled:
    """File one line, which ends in its only newline, into the inbox of `handle`.

    `manager` is the identity of this box's lock manager, asked of the mount when it is not given; that it is the one of
    the record is the route's to know. `wait_s` bounds the wait for the lock, `$SOT_INBOX_LOCK_WAIT_SECS` by default.
    """
    bound = inbox_lock.wait_bound(inbox_lock.WRITE_WAIT) if wait_s is None else wait_s
    held = _take_to_write(home, handle, mounts.lock_identity(home) if manager is None else manager, bound)
    if isinstance(held, inbox_lock.Busy):
        return NotFiled(f"the inbox lock for @{handle} was held for {bound:g}s — nothing was appended")
    if isinstance(held, inbox_lock.Fault):
        return NotFiled(f"the inbox lock for @{handle} failed ({held.why}) — nothing was appended")
    try:
        return _append(home, home.inbox(handle), line)
    finally:
        inbox_lock.release(home, held)


def cut_note(handle: str, outcome: Filed | NotFiled) -> str:
    """Return the note about a partial that was cut back, or "" when nothing was cut."""
    if not outcome.cut_bytes:
        return ""
    return f"note: cut {outcome.cut_bytes} bytes of an unterminated line a dead writer left in @{handle}'s inbox"


def _take_to_write(home: Home, handle: str, manager: str, wait_s: float) -> Held | inbox_lock.Busy | inbox_lock.Fault:
    held = inbox_lock.take(home, handle, Grip.WRITER, manager, wait_s)
    if isinstance(held, inbox_lock.Fault) and _make_missing_folder(home, home.inboxes):
        held = inbox_lock.take(home, handle, Grip.WRITER, manager, wait_s)
    return held


def _append(home: Home, path: str, line: bytes) -> Filed | NotFiled:
    """Append under the lock: cut, write, flush; on any fault the file is as long as after the cut."""
    disk = home.disk
    cut = 0
    try:
        descriptor = disk.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    except OSError as error:
        return NotFiled(_append_failed(error))
    try:
        length = disk.size(descriptor)
        if length and disk.read_at(descriptor, 1, length - 1) != b"\n":
            whole = _end_of_whole_lines(home, descriptor, length)
            disk.truncate(descriptor, whole)
            cut, length = length - whole, whole
        fault = _write_kept(home, descriptor, line, length)
    except OSError as error:
        return NotFiled(_append_failed(error), cut)
    finally:
        with suppress(OSError):  # the line is flushed or cut back by now; a close can add nothing to it
            disk.close(descriptor)
    return NotFiled(fault, cut) if fault else Filed(cut)


def _write_kept(home: Home, descriptor: int, line: bytes, length: int) -> str:
    """Write and flush `line` at `length`; on a fault cut back whatever of it was written and return the reason."""
    disk = home.disk
    try:
        disk.write(descriptor, line)
        disk.flush(descriptor)
        if not length:
            # The first line: the file's name has to be kept as well, whoever made the file.
            disk.flush_folder(home.inboxes)
    except OSError as error:
        left = _cut_back(home, descriptor, length)
        return _append_failed(error) + (f"; and it could not be cut back: {left}" if left else "")
    except BaseException:
        _cut_back(home, descriptor, length)  # a signal's handler: without the flush it was not filed
        raise
    return ""


def _cut_back(home: Home, descriptor: int, length: int) -> str:
    """Cut a failed append back to the length before it; return what went wrong, or ""."""
    try:
        home.disk.truncate(descriptor, length)
    except OSError as error:
        return error.strerror or str(error)
    with suppress(OSError):
        home.disk.flush(descriptor)  # so that a crash does not bring the line back
    return ""


def _end_of_whole_lines(home: Home, descriptor: int, length: int) -> int:
    """Return where the last newline before `length` ends, 0 without one."""
    end = length
    while end:
        start = max(0, end - _BLOCK)
        found = home.disk.read_at(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _append_failed(error: OSError) -> str:
    return f"the append failed: {error.strerror or error}"


# -- reading ----------------------------------------------------------------------------------------------------------


class Busy(NamedTuple):
    """A writer holds the inbox: try again; nothing was skipped, the cursor stands where it was."""

    sentence: str
    """The sentence that says so."""


class Failed(NamedTuple):
    """The inbox exists and could not be read: it is not empty, and its count is not 0."""

    why: str
    """What failed, for a sentence in brackets."""


class Batch(NamedTuple):
    """What one read under the lock found past the cursor."""

    lines: list[bytes]
    """The new lines, each without its newline, those that are no messages too."""
    start: int = 0
    """How many lines were shown before them."""
    total: int = 0
    """Whole lines in the inbox."""
    missing: bool = False
    """There is no inbox file at all."""
    note: str = ""
    """What stderr is told: the cursor stepped back."""
    warning: str = ""
    """What the session is told first: the lock failed, and the read ran without it."""


class Count(NamedTuple):
    """How much unread mail an inbox holds for its handle."""

    unread: int
    """Lines past the cursor that are directed to the handle by someone else."""
    total: int = 0
    """Whole lines in the inbox."""
    oldest: str = ""
    """The stamp of the oldest unread line, as its sender wrote it."""
    warning: str = ""
    """As in Batch."""
    newest: int = 0
    """The place of the newest counted line in the inbox, from 1; 0 when none counts."""


def read_batch(
    home: Home, handle: str, manager: str | None = None, wait_s: float | None = None
) -> Batch | Busy | Failed:
    """Read, once and under the shared lock, what is past the cursor; nothing is moved (see `write_cursor`).

    `manager` and `wait_s` are as for `unread`.
    """
    seen = _look(home, handle, manager, wait_s, batch=True)
    if seen is None:
        return Batch([], missing=True)
    if not isinstance(seen, _Seen):
        return seen
    at = seen.place.at
    note = f"note: the last line read from @{handle}'s inbox was cut back; reading from the line before it"
    return Batch(seen.lines, at.lines, at.total, note=note if at.stepped_back else "", warning=seen.warning)


class CursorMoved(NamedTuple):
    """The next poll starts behind the batch."""


class CursorStays(NamedTuple):
    """The cursor could not be written; the batch will be shown again."""

    sentence: str
    """The sentence that says so."""


def write_cursor(home: Home, handle: str, batch: Batch) -> CursorMoved | CursorStays:
    """Say that every line of a batch was shown: the cursor is made of its own bytes; an empty batch moves nothing."""
    if not batch.lines:
        return CursorMoved()
    words = cursor.text(batch.start + len(batch.lines), batch.lines[-1])
    try:
        _replace_cursor(home, handle, words.encode("ascii"))
    except OSError as error:
        return CursorStays(
            f"WARNING: the read cursor for @{handle} could not be written ({error.strerror}) — "
            "these messages will show again"
        )
    return CursorMoved()


def unread(
    home: Home, handle: str, manager: str | None = None, wait_s: float | None = None, most: int | None = None
) -> Count | Busy | Failed:
    """Count the unread mail of `handle` by the one rule, under the shared lock.

    `manager` is the lock manager that a writer here would share, "" where it would not append; asked when not given.
    `wait_s` bounds the wait for the lock, `$SOT_INBOX_READ_WAIT_SECS` by default; with 0 there is one try. No line past
    the `most` that are asked for is looked at.

    Only the places are found under the lock. The lines between them are whole and flushed, so they stand when it is let
    go; no writer waits while they are parsed, and no more of them is held than one (docs/decisions/0020).
    """
    seen = _look(home, handle, manager, wait_s, batch=False)
    if seen is None:
        return Count(0)
    if not isinstance(seen, _Seen):
        return seen
    counted, oldest, newest = 0, b"", 0
    try:
        lines = _lines_between(home, seen.descriptor, seen.place.start, seen.place.end)
        for place, line in enumerate(lines, seen.place.at.lines + 1):
            if frames.counts(line, handle):
                counted, newest = counted + 1, place
                oldest = oldest or line
                if counted == most:
                    break
    except OSError as error:
        return Failed(f"{error.strerror}")
    finally:
        _close(home, seen.descriptor)
    first = frames.parse_line(oldest) if counted else None
    return Count(counted, seen.place.at.total, first.ts if first else "", seen.warning, newest)


def read_failed(handle: str, failed: Failed) -> str:
    """Return the line about an inbox that could not be read."""
    return f"FAILED: the inbox for @{handle} could not be read ({failed.why}); nothing was shown"


def count_failed(handle: str, failed: Failed) -> str:
    """Return the warning about a count that failed, which the end-of-turn hook shows (contract, Delivery)."""
    return f"WARNING: the unread count for @{handle} failed ({failed.why}) — run comm-poll.sh to read your mail"


def cursor_bytes(home: Home, handle: str) -> bytes:
    """Return the cursor's bytes; one that is missing or cannot be read is 0: lines may show again, none is lost."""
    try:
        return home.disk.read_up_to(home.cursor(handle), _CURSOR_LIMIT)
    except OSError:
        return b""


def mailbox_stamp(home: Home, handle: str) -> tuple[object, ...]:
    """Return a value that changes whenever the count of `handle` could have: two looks at the folder, no read."""
    return (*_stamp(home, home.inbox(handle)), *_stamp(home, home.cursor(handle)))


class _Place(NamedTuple):
    """Where the lines past the cursor lie."""

    at: Offset
    start: int
    """Where the first of them begins, in bytes."""
    end: int
    """Where the last whole line ends."""


class _Seen(NamedTuple):
    """What a reader's look brought."""

    place: _Place
    lines: list[bytes]
    """For a batch: the lines past the cursor, without their newlines."""
    descriptor: int
    """Otherwise: the inbox, still open."""
    warning: str


def _look(
    home: Home, handle: str, manager: str | None, wait_s: float | None, *, batch: bool
) -> _Seen | Busy | Failed | None:
    """Look into the inbox under the shared lock, where there is one; None when there is no inbox."""
    bound = inbox_lock.wait_bound(inbox_lock.READ_WAIT) if wait_s is None else wait_s
    path = home.inbox(handle)
    held: Held | None = None
    warning = ""
    try:
        home.disk.close(home.disk.open(path, os.O_RDONLY))  # without an inbox no lock file is made
        shared = (mounts.appends_here(home) or "") if manager is None else manager
        if shared:
            got = inbox_lock.take(home, handle, Grip.READER, shared, bound)
            if isinstance(got, inbox_lock.Busy):
                return Busy(f"the inbox for @{handle} is being written; try again")
            if isinstance(got, Held):
                held = got
            else:
                warning = _without_lock(handle, got)
        # The cursor first: one that another poll moves meanwhile must not point past the bytes that are read here.
        said = cursor_bytes(home, handle)
        descriptor = home.disk.open(path, os.O_RDONLY)  # inside the lock, so that a network home shows it as it is now
        try:
            place = _place(home, descriptor, said)
            lines = list(_lines_between(home, descriptor, place.start, place.end)) if batch else []
        except OSError:
            _close(home, descriptor)
            raise
        if batch:
            _close(home, descriptor)
        return _Seen(place, lines, descriptor, warning)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Failed(f"{error.strerror}")
    finally:
        if held is not None:
            inbox_lock.release(home, held)


def _place(home: Home, descriptor: int, said: bytes) -> _Place:
    """Return where the lines past a cursor lie; what was shown is passed over in blocks, but for its last line."""
    size = home.disk.size(descriptor)
    if cursor.is_moment(said):
        whole = b"".join(_blocks(home, descriptor, 0, size))
        at = cursor.offset(said, whole)
        return _Place(at, cursor.line_start(whole, at.lines, at.total), whole.rfind(b"\n") + 1)
    count = cursor.count_in(said)
    last = -1 if count else 0  # where line `count`, the last one shown, begins
    total = position = end = 0
    for block in _blocks(home, descriptor, 0, size):
        here = block.count(b"\n")
        if last < 0 and total + here >= count - 1:
            last = position + cursor.line_start(block, count - 1 - total, here)
        if here:
            end = position + block.rfind(b"\n") + 1
        total += here
        position += len(block)
    line = next(_lines_between(home, descriptor, last, end), b"") if 0 < count <= total else b""
    at = cursor.placed(said, total, line)
    if not at.lines:
        return _Place(at, 0, end)
    return _Place(at, last + len(line) + 1 if at.lines == count else last, end)


def _lines_between(home: Home, descriptor: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the whole lines between two places, each without its newline; a part of one at the end is none."""
    parts: list[bytes] = []
    for block in _blocks(home, descriptor, start, end):
        first, *more = block.split(b"\n")
        parts.append(first)
        if more:
            yield b"".join(parts)
            yield from more[:-1]
            parts = [more[-1]]


def _blocks(home: Home, descriptor: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes between two places, in blocks; fewer when the file was cut meanwhile."""
    while start < end and (block := home.disk.read_at(descriptor, min(_READ_BLOCK, end - start), start)):
        yield block
        start += len(block)


def _close(home: Home, descriptor: int) -> None:
    with suppress(OSError):  # nothing was written
        home.disk.close(descriptor)


def _without_lock(handle: str, fault: inbox_lock.Fault) -> str:
    return (
        f"WARNING: the inbox lock for @{handle} failed ({fault.why}) — "
        "reading without it; a line may show twice, none is lost"
    )


def _replace_cursor(home: Home, handle: str, words: bytes) -> None:
    draft = f"{home.cursors}/.{handle}.cursor.{home.procs.pid()}.{home.procs.serial()}"
    try:
        home.disk.replace(draft, home.cursor(handle), words)
    except FileNotFoundError:
        if not _make_missing_folder(home, home.cursors):
            raise
        home.disk.replace(draft, home.cursor(handle), words)


def _make_missing_folder(home: Home, path: str) -> bool:
    """Make a folder of an existing comm home that is not there; tell whether this made it."""
    try:
        home.disk.mkdir(path)
    except OSError:
        return False
    return True


def _stamp(home: Home, path: str) -> tuple[int, int, int] | tuple[()]:
    try:
        found = home.disk.stat(path)
    except OSError:
        return ()
    return (found.st_ino, found.st_size, found.st_mtime_ns)
