"""The decision log as it grows: what was decided since the last look, in words for a person.

What stood there before the first look is no news. A log that was put aside is read to its end first, one that was cut
is read from its start, and of one that grew faster than it is read only the newest part is. Half a line waits for its
other half. The log is any process's to write, so a line that is none says nothing and every word of it is foreign.
"""

from __future__ import annotations

import os

from sot_tui.comm import jsonline
from sot_tui.comm.errors import Unreadable
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.text import visible
from sot_tui.notify import decide, decision_log, delivery, own

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

LOOK_BYTES = 1 << 16
"""Bytes that one look reads at most: some two hundred decisions."""
_WORD_CHARS = 120
"""Characters of each word of a decision; a title has fewer."""


class News(NamedTuple):
    """What one decision came to."""

    words: str
    good: bool
    """False when a push was not delivered."""
    pushed: bool
    """Whether there was something to push; the other decisions are that there was not."""


class _Place(NamedTuple):
    """How far a file was read."""

    file: tuple[int, int]
    at: int


class Following:
    """What is new in a decision log, from one look to the next."""

    def __init__(self, home: Home, base: str) -> None:
        self._home = home
        self._path = f"{base}/{decision_log.NAME}"
        self._place: _Place | None = None
        self._begun = False

    def news(self) -> list[News]:
        """Return what was decided since the last look; raises Unreadable when that cannot be told."""
        was, begun, self._begun = self._place, self._begun, True
        try:
            if was is not None and self._which(self._path) not in {was.file, None}:
                return [*self._rest(was), *self._part(self._path, None)]
            return self._part(self._path, was, history=not begun)
        except OSError as error:
            self._begun = begun
            raise Unreadable(f"{self._path} could not be read: {error.strerror or error}") from error

    def _rest(self, was: _Place) -> list[News]:
        """Return what a log that was put aside got after it was looked at last."""
        aside = f"{self._path}.1"
        return self._part(aside, was) if self._which(aside) == was.file else []

    def _which(self, path: str) -> tuple[int, int] | None:
        try:
            found = self._home.disk.target_stat(path)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _part(self, path: str, was: _Place | None, *, history: bool = False) -> list[News]:
        try:
            descriptor = self._home.disk.open(path, os.O_RDONLY)
        except FileNotFoundError:
            self._place = None
            return []
        try:
            there = self._home.disk.open_stat(descriptor)
            file, size = (there.st_dev, there.st_ino), there.st_size
            at = was.at if was is not None and was.file == file and was.at <= size else 0
            if history:
                self._place = _Place(file, size)
                return []
            skipped = max(0, size - at - LOOK_BYTES)
            data = self._home.disk.read_at(descriptor, LOOK_BYTES, at + skipped)
        finally:
            self._home.disk.close(descriptor)
        whole = data.rfind(b"\n") + 1
        self._place = _Place(file, at + skipped + whole)
        found = [one for line in data[:whole].split(b"\n") if (one := of_line(line))]
        if skipped:
            words = f"{skipped} bytes of decisions came at once and are not shown: {visible(self._path)}"
            found.insert(0, News(words, good=False, pushed=False))
        return found


def of_line(line: bytes) -> News | None:
    """Return what one line of the log says; None for a rehearsal, one of the engine's own, or what is no decision."""
    try:
        said = jsonline.decode_object(line)
    except jsonline.NotStrict:
        return None
    if said.get("harness") == own.HARNESS or said.get("composition_error") == delivery.DRY_RUN:
        return None
    words = {name: said.get(name) for name in ("harness", "event", "outcome", "reason")}
    if not all(isinstance(word, str) for word in words.values()):
        return None
    harness, event, outcome, reason = (visible(str(word), _WORD_CHARS) for word in words.values())
    if outcome != decide.SEND:
        return News(f"{harness} {event}: no push ({reason})", good=True, pushed=False)
    title = said.get("title")
    what = f"“{visible(title, _WORD_CHARS)}”" if isinstance(title, str) and title else f"{harness} {event}"
    if reason.endswith(delivery.NOT_SENT):
        return News(f"{what} was not delivered ({reason.removesuffix(delivery.NOT_SENT)})", good=False, pushed=True)
    if reason.endswith(delivery.HELD_BACK):
        why = reason.removesuffix(delivery.HELD_BACK)
        return News(f"{what} is held back until the quiet hours are over ({why})", good=True, pushed=True)
    return News(f"{what} was sent ({reason})", good=True, pushed=True)
