"""The read cursor: how many lines of an inbox were shown, in every form it was ever written.

Contract, Message frame: the cursor is `<count> <crc>-<len>`, the count, then the cksum of line <count> without its
newline and NUL bytes. If that line no longer hashes so, a cut-back removed it, and the reader steps back one line and
says so. A count-only cursor still works; a legacy timestamp cursor is read as the number of lines before the first line
whose ts is later. Only newline-terminated lines are ever counted. Pure: nothing here opens a file. A count never skips
a line that was not shown.
"""

from __future__ import annotations

import zlib

from sot_tui.comm.jsonline import decode_like_jq
from sot_tui.comm.light import NamedTuple

_MIRROR = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))

_FEW_LINES = 100
"""So many newlines are found one by one sooner than by halving."""
_COUNT_DIGITS = 18
"""A count of more digits than this is past the end of any inbox."""


class Offset(NamedTuple):
    """Where reading goes on."""

    lines: int
    """Lines that were shown; the next one is the first unread."""
    total: int
    """Whole lines in the inbox."""
    stepped_back: bool = False
    """A cut-back removed the last line that was shown; the reader says so."""


def offset(cursor: bytes, inbox: bytes) -> Offset:
    """Return how many lines of `inbox` the cursor's bytes say were shown; the last, unterminated line is none."""
    total = inbox.count(b"\n")
    if is_moment(cursor):
        before = _segments_up_to(_words(cursor).partition(b" ")[0], inbox)
        return Offset(before if before <= total else 0, total)
    count = count_in(cursor)
    return placed(cursor, total, _line(inbox, count, total) if 0 < count <= total else b"")


def count_in(cursor: bytes) -> int:
    """Return the count that a cursor says, which may be past the end of any inbox; 0 for none and for a moment."""
    said = _words(cursor).partition(b" ")[0]
    digits = said.lstrip(b"0")
    if not digits.isdigit():
        return 0
    return int(digits) if len(digits) <= _COUNT_DIGITS else 10**_COUNT_DIGITS


def placed(cursor: bytes, total: int, line: bytes) -> Offset:
    """Return how many lines a cursor that is no moment says were shown, of `total`.

    `line` is the last of them, without its newline; it does not matter where the count is 0 or past the end.
    """
    count = count_in(cursor)
    hashed = _words(cursor).partition(b" ")[2]
    if count <= total:
        if not hashed or not count or line_hash(line) == hashed.decode("latin-1"):
            return Offset(count, total)
        return Offset(count - 1, total, stepped_back=True)
    if count == total + 1 and hashed:
        return Offset(total, total, stepped_back=True)
    return Offset(0, total)  # past the end: this inbox is another one


def is_moment(cursor: bytes) -> bool:
    """Tell whether a cursor is of the old form, a timestamp, to which every line of the inbox has to be compared."""
    words = _words(cursor)
    return bool(words) and not words.partition(b" ")[0].isdigit()


def _words(cursor: bytes) -> bytes:
    return cursor.replace(b"\0", b"").rstrip(b"\n")


def text(count: int, line: bytes) -> str:
    """Return the cursor that says `count` lines were shown, the last of them `line`."""
    return f"{count} {line_hash(line)}"


def line_hash(line: bytes) -> str:
    """Return `<crc>-<len>` of a line, without its newline and NUL bytes."""
    kept = line.removesuffix(b"\n").replace(b"\0", b"")
    return f"{posix_cksum(kept)}-{len(kept)}"


def posix_cksum(data: bytes) -> int:
    """Return the CRC that the command `cksum` prints for `data`.

    POSIX takes each byte's highest bit first and appends the length; zlib takes the lowest bit first. Mirrored bits
    make one into the other, at C speed.
    """
    length = len(data).to_bytes((len(data).bit_length() + 7) // 8, "little")
    crc = zlib.crc32((data + length).translate(_MIRROR), 0xFFFFFFFF)
    return int(f"{crc:032b}"[::-1], 2)


def line_start(inbox: bytes, lines: int, total: int) -> int:
    """Return where the line after the first `lines` lines begins; `inbox` has `total` of them.

    A place near the end, the common one, is found backwards; any other by halving, where `bytes.count` looks at every
    byte about once, whatever the number of lines.
    """
    if total - lines < _FEW_LINES:
        end = len(inbox)
        for _ in range(total - lines + 1):
            end = inbox.rfind(b"\n", 0, end)
        return end + 1
    low, high = 0, len(inbox)
    left = lines
    while left:
        middle = (low + high) // 2
        before = inbox.count(b"\n", low, middle)
        if before >= left:
            high = middle
        elif high - low > 1:
            low, left = middle, left - before
        else:
            return high
    return low


def _line(inbox: bytes, number: int, total: int) -> bytes:
    """Return the bytes of line `number`, counted from 1, without its newline."""
    start = line_start(inbox, number - 1, total)
    return inbox[start : inbox.index(b"\n", start)]


def _segments_up_to(moment: bytes, inbox: bytes) -> int:
    """Return the number of non-empty segments before the first whose ts sorts after `moment`."""
    segments = [segment for segment in inbox.split(b"\n") if segment]
    return next((place for place, line in enumerate(segments) if _is_later(line, moment)), len(segments))


def _is_later(segment: bytes, moment: bytes) -> bool:
    """Tell whether a segment's ts sorts after `moment` in jq's order: arrays and objects are above every text."""
    found = decode_like_jq(segment)
    if not isinstance(found, dict):
        return False
    ts = found.get("ts")
    if isinstance(ts, str):
        return ts.encode("utf-8", "surrogatepass") > moment
    return isinstance(ts, (dict, list))
