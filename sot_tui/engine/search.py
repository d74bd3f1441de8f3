"""A search over all inboxes, in parts: the newest lines of each inbox first, a bounded number of bytes at a time.

A part says where the next one goes on, so nothing of a search is held here, results show as they come, and whoever asks
no further has ended it. It takes no lock and moves no cursor. What it finds are the lines that the inboxes hold, and
nothing is ever left out in silence: an inbox that could not be read, or that holds more hits than are shown, is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm import frames, names, peeks
from sot_tui.comm.inbox import Failed
from sot_tui.engine.client import Found, Search, Spot
from sot_tui.engine.letters import letter_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.comm.home import Home
    from sot_tui.engine.client import Letter
    from sot_tui.engine.desk_store import DeskStore

PART_BYTES = 1 << 20
"""Bytes that one part looks through, about; some milliseconds of a core, some tens when every line is a hit."""
PART_INBOXES = 64
"""Inboxes that one part looks into at most."""
HITS_OF_ONE = 500
"""Hits in one inbox that are shown; a search with more of them wants more words."""
_ENDING = ".jsonl"


def look(home: Home, store: DeskStore, command: Search) -> Found:
    """Look through the next part."""
    spot = command.spot
    if spot is None:
        try:
            spot = Spot(tuple(inboxes(home, command.owner)))
        except OSError as error:
            return Found(notes=(f"the folder of the inboxes could not be read: {error.strerror}",))
    found: list[Letter] = []
    notes: list[str] = []
    bytes_left, inboxes_left = PART_BYTES, PART_INBOXES
    while spot.left and bytes_left > 0 and inboxes_left:
        handle, rest = spot.left[0], Spot(spot.left[1:], seen=spot.seen + 1)
        got = peeks.look_back(home, handle, spot.end, bytes_left, _wanted(command, handle))
        if isinstance(got, Failed):
            notes.append(f"the inbox of @{handle} could not be read: {got.why}")
            spot, inboxes_left = rest, inboxes_left - 1
            continue
        lines = got.lines[max(0, len(got.lines) - (HITS_OF_ONE - spot.hits)) :]
        found += [letter_of(store, handle, line.number, line.line, read=line.read) for line in reversed(lines)]
        if spot.hits + len(got.lines) >= HITS_OF_ONE and (got.start or len(lines) < len(got.lines)):
            notes.append(f"@{handle}: only the newest {HITS_OF_ONE} are shown")
            spot, inboxes_left = rest, inboxes_left - 1
        elif got.start:
            spot, bytes_left = Spot(spot.left, got.start, spot.seen, spot.hits + len(lines)), 0
        else:
            spot, inboxes_left = rest, inboxes_left - 1
            bytes_left -= _size(home, handle) if spot.left else 0
    return Found(tuple(found), spot if spot.left else None, tuple(notes))


def inboxes(home: Home, first: str) -> list[str]:
    """Return the handles that have an inbox: `first`, then where something came in last."""
    handles = [name.removesuffix(_ENDING) for name in home.disk.listdir(home.inboxes) if name.endswith(_ENDING)]
    return sorted(
        filter(names.is_file_safe, handles), key=lambda handle: (handle != first, -_moment(home, handle), handle)
    )


def _wanted(command: Search, inbox: str) -> Callable[[bytes], bool]:
    """Return what tells whether a line of an inbox is a hit."""
    words = [word.lower() for word in command.words]
    sender = command.sender or (command.owner if command.owner != inbox else "")
    needles = [word.encode() for word in words if _stands_as_it_is(word)]

    def wanted(line: bytes) -> bool:
        # Most lines end here, before the parser; an escape may spell any sign, and a NUL byte stands for none.
        if b"\\u" not in line and b"\0" not in line:
            lowered = line.lower()
            if any(needle not in lowered for needle in needles) or (sender and sender.encode() not in line):
                return False
        frame = frames.parse_line(line)
        if frame is None:
            return not sender and all(word in line.decode("utf-8", "replace").lower() for word in words)
        if sender and frame.sender != sender:
            return False
        text = "\n".join((frame.sender, frame.to or inbox, frame.repo, frame.msg)).lower()
        return all(_matches(word, frame, inbox, text) for word in words)

    return wanted


def _matches(word: str, frame: frames.Frame, inbox: str, text: str) -> bool:
    if word.startswith("from:"):
        return word[5:].removeprefix("@") in frame.sender.lower()
    if word.startswith("to:"):
        return word[3:].removeprefix("@") in (frame.to or inbox).lower()
    return word in text


def _stands_as_it_is(word: str) -> bool:
    """Tell whether a line that is a hit holds the bytes of the word, whatever its writer escapes."""
    return word.isalnum() and word.isascii()


def _moment(home: Home, handle: str) -> float:
    try:
        return home.disk.stat(home.inbox(handle)).st_mtime
    except OSError:
        return 0.0  # it comes last, and is named when it cannot be read


def _size(home: Home, handle: str) -> int:
    try:
        return home.disk.stat(home.inbox(handle)).st_size
    except OSError:
        return 0
