"""Looking into an inbox without moving anything: its newest lines, older ones page by page, and a search backwards.

Contract, Message frame: the cursor is the number of lines shown, and only newline-terminated lines are ever counted; so
each line is given with its number and with whether the reader's cursor has passed it. No lock is taken, because nothing
is decided here: a line that a failed append then cuts back is gone at the next look. An inbox may hold a hundred
thousand lines and a line ten million bytes: no look holds more than a bounded part of it.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sot_tui.comm import cursor, inbox
from sot_tui.comm.inbox import Failed
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.comm.home import Home

MOST_BYTES = 1 << 25
"""Bytes of lines that one peek returns, besides a single line that is longer; who wants more asks for the lines before
those that came."""

_BLOCK = 1 << 16
"""Bytes of one look backwards for a newline; most lines are shorter."""
_CHUNK = 1 << 20
"""Bytes of one look when newlines are only counted."""


class PeekedLine(NamedTuple):
    """One line of somebody's inbox."""

    number: int
    """Its number in the inbox, from 1."""
    line: bytes
    """Its bytes, without the newline."""
    read: bool
    """Whether the reader's cursor has passed it."""


class Peek(NamedTuple):
    """Lines of an inbox, the newest last."""

    lines: list[PeekedLine]
    total: int
    """Whole lines in the inbox."""


class Stretch(NamedTuple):
    """What a look backwards over a part of an inbox has found."""

    lines: list[PeekedLine]
    """The wanted lines of it, the newest last."""
    start: int
    """Where the part begins, in bytes; the next look ends there, and at 0 nothing is left."""


def peek(home: Home, handle: str, newest: int, before: int = 0, most_bytes: int = MOST_BYTES) -> Peek | Failed:
    """Return the newest lines, or the newest of those before line `before`, without moving the cursor.

    They may be fewer than asked, when so many would be more than `most_bytes`. Only the end of a big inbox is looked at
    closely; of the rest the newlines are counted.
    """
    disk = home.disk
    said = inbox.cursor_bytes(home, handle)  # before the inbox, so that it never points past it
    try:
        descriptor = disk.open(home.inbox(handle), os.O_RDONLY)
    except FileNotFoundError:
        return Peek([], 0)
    except OSError as error:
        return Failed(f"{error.strerror}")
    try:
        if before:
            start, end, total = _place(home, descriptor, before - newest, before)
            start, part = _end_of(home, descriptor, start, end, most_bytes)
        else:
            start, part = _tail(home, descriptor, newest, most_bytes)
            total = -1
        ahead = _count_newlines(home, descriptor, start)
        whole = disk.read(home.inbox(handle)) if cursor.is_moment(said) else b""
    except OSError as error:
        return Failed(f"{error.strerror}")
    finally:
        with suppress(OSError):
            disk.close(descriptor)
    lines = part.split(b"\n")[:-1]
    total = ahead + len(lines) if total < 0 else total
    read = _read_up_to(said, whole, ahead, part, total - ahead - len(lines))
    kept = lines[max(0, len(lines) - newest) :]
    first = ahead + len(lines) - len(kept) + 1
    return Peek([PeekedLine(number, line, number <= read) for number, line in enumerate(kept, first)], total)


def look_back(
    home: Home, handle: str, end: int | None, most_bytes: int, wanted: Callable[[bytes], bool]
) -> Stretch | Failed:
    """Look through the whole lines that end at byte `end` (None: at the end of the inbox), over about `most_bytes`.

    A line that is longer than that is looked through whole, so that every look comes nearer to the start.
    """
    disk = home.disk
    said = inbox.cursor_bytes(home, handle)
    try:
        descriptor = disk.open(home.inbox(handle), os.O_RDONLY)
    except FileNotFoundError:
        return Stretch([], 0)
    except OSError as error:
        return Failed(f"{error.strerror}")
    try:
        size = disk.size(descriptor)
        start, part = _end_of(home, descriptor, 0, size if end is None else min(end, size), most_bytes)
        lines = part.split(b"\n")[:-1]
        found = [place for place, line in enumerate(lines) if wanted(line)]
        if not found:
            return Stretch([], start)
        ahead = _count_newlines(home, descriptor, start)
        total = _count_newlines(home, descriptor, size)
        whole = disk.read(home.inbox(handle)) if cursor.is_moment(said) else b""
    except OSError as error:
        return Failed(f"{error.strerror}")
    finally:
        with suppress(OSError):
            disk.close(descriptor)
    read = _read_up_to(said, whole, ahead, part, total - ahead - len(lines))
    return Stretch([PeekedLine(ahead + at + 1, lines[at], ahead + at + 1 <= read) for at in found], start)


def _read_up_to(said: bytes, whole: bytes, ahead: int, part: bytes, behind: int) -> int:
    """Return up to which line the cursor has passed, for the lines of a part.

    An old cursor, a moment, is compared to every line of the whole inbox; any other to one line of the part, or to
    none, so blank lines stand for those that are ahead of the part and behind it.
    """
    return cursor.offset(said, whole or b"\n" * ahead + part + b"\n" * behind).lines


def _tail(home: Home, descriptor: int, newest: int, most_bytes: int) -> tuple[int, bytes]:
    """Return where at least the `newest` last lines begin, or fewer that are `most_bytes`, and the bytes from there."""
    end = home.disk.size(descriptor)
    blocks: list[bytes] = []
    found = taken = 0
    while end and found <= newest and (taken < most_bytes or found < 2):
        start = max(0, end - _BLOCK)
        blocks.append(home.disk.read_at(descriptor, end - start, start))
        found += blocks[-1].count(b"\n")
        taken += end - start
        end = start
    return _whole_lines(end, b"".join(reversed(blocks)))


def _end_of(home: Home, descriptor: int, start: int, end: int, most_bytes: int) -> tuple[int, bytes]:
    """Return the last whole lines between two places, at least one of them, and where they begin."""
    blocks: list[bytes] = []
    at, newlines = end, 0
    while at > start and (end - at < most_bytes or newlines < 2):
        low = max(start, at - _BLOCK)
        blocks.append(home.disk.read_at(descriptor, at - low, low))
        newlines += blocks[-1].count(b"\n")
        at = low
    part = b"".join(reversed(blocks))
    return (at, part) if at == start else _whole_lines(at, part)


def _whole_lines(start: int, part: bytes) -> tuple[int, bytes]:
    """Return a part without what is the end of a line that began before it."""
    if not start:
        return 0, part
    whole = part.index(b"\n") + 1
    return start + whole, part[whole:]


def _place(home: Home, descriptor: int, first: int, before: int) -> tuple[int, int, int]:
    """Return where line `first` begins, where line `before` does (else the end), and how many whole lines there are."""
    start, end = (0 if first <= 1 else -1), -1
    counted, size = 0, home.disk.size(descriptor)
    for at in range(0, size, _CHUNK):
        chunk = home.disk.read_at(descriptor, min(_CHUNK, size - at), at)
        here = chunk.count(b"\n")
        if start < 0 and counted + here >= first - 1:
            start = at + cursor.line_start(chunk, first - 1 - counted, here)
        if end < 0 and counted + here >= before - 1:
            end = at + cursor.line_start(chunk, before - 1 - counted, here)
        counted += here
    end = size if end < 0 else end
    return (end if start < 0 else start), end, counted


def _count_newlines(home: Home, descriptor: int, end: int) -> int:
    return sum(
        home.disk.read_at(descriptor, min(_CHUNK, end - start), start).count(b"\n") for start in range(0, end, _CHUNK)
    )
