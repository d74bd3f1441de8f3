"""The decision log as it grows: what was decided since the last look, in words for a person.

What stood there before the first look is no news. The file that was read is held open, so that it is known again
whatever name it has by then: one that was put aside is read to its end first, then the one that was put aside after it,
and one that was cut is read from its start. What is left out all the same is said: of a file that grew faster than it
is read only the newest part is shown. Half a line waits for its other half.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from sot_tui.comm.errors import Unreadable
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.text import visible
from sot_tui.notify import decided, decision_log, own
from sot_tui.notify.decided import Came

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.notify.decided import Decided

LOOK_BYTES = 1 << 16
"""Bytes that one look reads of a file at most: some two hundred decisions."""
LOST = "the log of decisions was put aside more than once since the last look: some may not be shown"
_WORD_CHARS = 120
"""Characters of each word of a decision; a title has fewer."""


class News(NamedTuple):
    """What one decision came to."""

    words: str
    good: bool
    """False when a push was not delivered."""
    pushed: bool
    """Whether there was something to push; the other decisions are that there was not, and rehearsals."""
    at: float | None = None
    """When it was decided, in seconds since the epoch; None where the log does not say."""


class _Read(NamedTuple):
    """A file that is read, and how far it was."""

    descriptor: int
    file: tuple[int, int]
    at: int


class Following:
    """What is new in a decision log, from one look to the next; whoever follows closes it."""

    def __init__(self, home: Home, base: str) -> None:
        self._home = home
        self._path = f"{base}/{decision_log.NAME}"
        self._read: _Read | None = None
        self._aside: object = None
        """What the log that was put aside is known again by; when it is another one, its turn has come."""
        self._begun = False
        self._found: list[News] = []
        """What was read and not yet told: a look that fails half way loses none of it."""

    def close(self) -> None:
        """Let the file go."""
        self._now_read(None)

    def news(self) -> list[News]:
        """Return what was decided since the last look; raises Unreadable when that cannot be told."""
        try:
            self._look()
        except OSError as error:
            raise Unreadable(f"{self._path} could not be read: {error.strerror or error}") from error
        self._begun = True
        found, self._found = self._found, []
        return found

    def _look(self) -> None:
        was = self._read
        self._take_in()
        there = self._opened(self._path)
        aside = self._mark_aside()
        if not self._begun and was is None:
            self._now_read(there and there._replace(at=self._home.disk.size(there.descriptor)))
        elif was is None or there is None or there.file != was.file:
            # A log that was put aside since, after the one that was read, comes between.
            others = {one.file for one in (was, there) if one is not None}
            if aside is not None and aside != self._aside and aside[:2] not in others:
                self._now_read(self._opened(f"{self._path}.1"))
                self._found.append(News(LOST, good=False, pushed=False))
                self._take_in()
            if there is not None:
                self._now_read(there)
                self._take_in()
        else:
            self._home.disk.close(there.descriptor)
        self._aside = aside

    def _now_read(self, one: _Read | None) -> None:
        was, self._read = self._read, one
        if was is not None:
            with suppress(OSError):
                self._home.disk.close(was.descriptor)

    def _mark_aside(self) -> tuple[int, int, int] | None:
        try:
            found = self._home.disk.target_stat(f"{self._path}.1")
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino, found.st_ctime_ns

    def _opened(self, path: str) -> _Read | None:
        try:
            descriptor = self._home.disk.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would be waited for
        except FileNotFoundError:
            return None
        try:
            return _Read(descriptor, _file(self._home.disk.open_stat(descriptor)), 0)
        except OSError:
            self._home.disk.close(descriptor)
            raise

    def _take_in(self) -> None:
        """Take in what is new in the file that is read."""
        if self._read is None:
            return
        descriptor, _, at = self._read
        size = self._home.disk.size(descriptor)
        at = at if at <= size else 0  # it was cut
        skipped = max(0, size - at - LOOK_BYTES)
        data = self._home.disk.read_at(descriptor, LOOK_BYTES, at + skipped)
        whole = data.rfind(b"\n") + 1
        self._read = self._read._replace(at=at + skipped + whole)
        if skipped:
            words = f"{skipped} bytes of decisions came at once and are not shown: {visible(self._path)}"
            self._found.append(News(words, good=False, pushed=False))
        self._found += [one for line in data[:whole].split(b"\n") if (one := of_line(line))]


def _file(found: os.stat_result) -> tuple[int, int]:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no file")
    return found.st_dev, found.st_ino


def of_line(line: bytes) -> News | None:
    """Return what one line of the log says; None for what is no decision."""
    said = decided.of_line(line)
    if said is None:
        return None
    words, good = _words(said)
    pushed = said.came not in {Came.UNPUSHED, Came.REHEARSED}
    return News(words, good, pushed, decided.moment(said.at))


def _words(said: Decided) -> tuple[str, bool]:
    harness, event, reason, title = (
        visible(word, _WORD_CHARS) for word in (said.harness, said.event, said.reason, said.title)
    )
    what = f"“{title}”" if title else f"{harness} {event}"
    match said.came:
        case Came.UNPUSHED:
            return f"{harness} {event}: no push ({reason})", True
        case Came.REHEARSED:
            return f"a rehearsal of {what}: nothing was sent ({reason})", True
        case Came.FAILED:
            again = "; it is tried again" if said.harness == own.HARNESS and said.event in own.TRIED_AGAIN else ""
            return f"{what} was not delivered ({reason}){again}", False
        case Came.HELD_BACK:
            return f"{what} is held back until the quiet hours are over ({reason})", True
        case Came.SENT:
            return f"{what} was sent ({reason})", True
