"""The capsule's end of its lane: a socket for this account alone, and the viewers that speak over it.

Daemon wire 2.1 and 2: a peer of another account is dropped before a byte is read, and one that does not take what it
is sent is dropped after ten seconds. Nothing more is read of a viewer that has not taken its answer, so each holds one
answer at most, and none of them ever makes the pump wait. What a line asks is decided elsewhere.
"""

from __future__ import annotations

import os
import selectors
import socket
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import paths, peers
from sot_tui.engine.rows import lane_wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sot_tui.comm.disk import Disk

VIEWERS_LIMIT = 32
"""Viewers at once; the next one is dropped."""
STALL_SECS = 10.0
"""How long a viewer may take nothing of what it is sent (daemon wire 2)."""
FAREWELL_SECS = 1.0
"""How long the last words may take."""

_BACKLOG = 128
_TURN_LINES = 64
"""Lines of one viewer that are answered in one turn."""
_READ_BYTES = 1 << 16
_FULL_PAUSE_SECS = 1.0
"""How long nobody is accepted after the system had no descriptor left."""
_UMASK = 0o177


class NoSocket(NamedTuple):
    """No lane can be opened there."""

    why: str


def listen(disk: Disk, row: str) -> tuple[socket.socket, str] | NoSocket:
    """Return a socket that listens for a row, and its path; the row's lock is held.

    A socket that lies there already is of a capsule that is gone, for its lock is free.
    """
    path = paths.lane_socket(row)
    folder = os.path.dirname(path)
    try:
        if folder == paths.short_lanes():
            paths.make_folder(disk, folder)
            for each in (os.path.dirname(folder), folder):
                found = disk.stat(each)
                if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
                    return NoSocket(f"{each} is not private, so no socket is opened there")
        with suppress(FileNotFoundError):
            if not stat.S_ISSOCK(disk.stat(path).st_mode):
                return NoSocket(f"{path} is there, and is no socket")
            disk.unlink(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(_UMASK)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
        listener.setblocking(False)
        listener.listen(_BACKLOG)
    except OSError as error:
        return NoSocket(f"{path}: {error.strerror or error}")
    return listener, path


class Viewer:
    """One connection, and what is known of who reads at its other end."""

    __slots__ = ("connection", "greeted", "incoming", "outgoing", "seen", "stalled_at", "waits", "watches")

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.incoming = bytearray()
        self.outgoing = bytearray()
        self.greeted = False
        """It has said that it speaks this version."""
        self.watches = False
        """It is told when the screen has changed."""
        self.waits = False
        """It has asked for a screen, or for news, since it was last told."""
        self.seen = -1
        """The revision it has seen last."""
        self.stalled_at: float | None = None
        """When it will have taken nothing for too long."""


class LaneServer:
    """The listener and its viewers, in a selector that is the owner's."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        listener: socket.socket,
        answer: Callable[[Viewer, bytes], Iterable[bytes] | None],
        monotonic: Callable[[], float],
    ) -> None:
        """`answer` returns the lines that answer a line, or None when its viewer is to be dropped."""
        self._selector = selector
        self._listener = listener
        self._answer = answer
        self._monotonic = monotonic
        self._viewers: dict[int, Viewer] = {}
        self._accepts_at: float | None = None
        self._is_open = False
        self._open()

    @property
    def wanted(self) -> bool:
        """Tell whether a viewer waits for the screen to change."""
        return any(viewer.waits for viewer in self._viewers.values())

    @property
    def busy(self) -> bool:
        """Tell whether lines that came are not answered yet, and could be."""
        return any(not viewer.outgoing and b"\n" in viewer.incoming for viewer in self._viewers.values())

    def due(self) -> float | None:
        """Return the moment at which `turn` has something to do, None when it has not."""
        stalls = [viewer.stalled_at for viewer in self._viewers.values() if viewer.stalled_at is not None]
        return min([*stalls, *([] if self._accepts_at is None else [self._accepts_at])], default=None)

    def turn(self, now: float) -> None:
        """Do what is due, and answer what came before and was not yet answered."""
        if self._accepts_at is not None and now >= self._accepts_at:
            self._open()
        for viewer in list(self._viewers.values()):
            if viewer.stalled_at is not None and now >= viewer.stalled_at:
                self._drop(viewer)
            elif not viewer.outgoing and b"\n" in viewer.incoming:
                self._work(viewer)

    def tell_changed(self, revision: int) -> None:
        """Tell those who wait that there is another screen; each once until it asks again."""
        event = lane_wire.line({"event": "changed", "revision": revision})
        for viewer in list(self._viewers.values()):
            if viewer.waits and viewer.seen != revision:
                viewer.waits = False
                self._send(viewer, [event])

    def farewell(self, event: dict[str, object]) -> None:
        """Tell everyone the last thing there is, give them a moment to take it, and close."""
        self._close()
        self._listener.close()
        for viewer in list(self._viewers.values()):
            self._send(viewer, [lane_wire.line(event)])
            if not viewer.outgoing:
                self._drop(viewer)
        deadline = self._monotonic() + FAREWELL_SECS
        while self._viewers and (left := deadline - self._monotonic()) > 0:
            for key, _ in self._selector.select(left):
                waiting = self._viewers.get(key.fd)
                if waiting is None:
                    self._selector.unregister(key.fileobj)  # the owner's; nothing but the farewell is left to do
                    continue
                self._flush(waiting)
                if not waiting.outgoing:
                    self._drop(waiting)
        for viewer in list(self._viewers.values()):
            self._drop(viewer)

    # -- one viewer --------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self._accepts_at = None
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._is_open = True

    def _close(self) -> None:
        if self._is_open:
            self._selector.unregister(self._listener)
            self._is_open = False

    def _accept(self, _events: int) -> None:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError:  # no descriptor left, or no memory: the connection stays where it is, and so must we
            self._close()
            self._accepts_at = self._monotonic() + _FULL_PAUSE_SECS
            return
        try:
            is_own = peers.is_own(connection)
        except OSError:
            is_own = False
        if not is_own or len(self._viewers) >= VIEWERS_LIMIT:
            connection.close()
            return
        connection.setblocking(False)
        viewer = self._viewers[connection.fileno()] = Viewer(connection)
        self._selector.register(connection, selectors.EVENT_READ, lambda events: self._serve(viewer, events))

    def _serve(self, viewer: Viewer, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._flush(viewer)
        if events & selectors.EVENT_READ and viewer.connection.fileno() in self._viewers:
            self._read(viewer)

    def _read(self, viewer: Viewer) -> None:
        try:
            data = viewer.connection.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(viewer)
            return
        viewer.incoming += data
        self._work(viewer)

    def _work(self, viewer: Viewer) -> None:
        """Answer the lines that are there, until an answer is not taken at once or the turn is over."""
        for _ in range(_TURN_LINES):
            end = viewer.incoming.find(b"\n", 0, lane_wire.LINE_LIMIT + 1)
            if end < 0:
                if len(viewer.incoming) > lane_wire.LINE_LIMIT:
                    self._drop(viewer)
                break
            line = bytes(viewer.incoming[:end])
            del viewer.incoming[: end + 1]
            answers = self._answer(viewer, line)
            if answers is None:
                self._drop(viewer)
                return
            self._send(viewer, answers)
            if viewer.outgoing:
                break

    def _send(self, viewer: Viewer, lines: Iterable[bytes]) -> None:
        for line in lines:
            viewer.outgoing += line
        self._flush(viewer)

    def _flush(self, viewer: Viewer) -> None:
        """Send what is there for a viewer, as far as it goes; watch for what comes next."""
        had = len(viewer.outgoing)
        try:
            while viewer.outgoing:
                del viewer.outgoing[: viewer.connection.send(viewer.outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(viewer)
            return
        if viewer.outgoing:
            if viewer.stalled_at is None or len(viewer.outgoing) < had:
                viewer.stalled_at = self._monotonic() + STALL_SECS
            self._watch(viewer, selectors.EVENT_WRITE)
        else:
            viewer.stalled_at = None
            self._watch(viewer, selectors.EVENT_READ)

    def _watch(self, viewer: Viewer, events: int) -> None:
        with suppress(KeyError):  # it was dropped meanwhile
            key = self._selector.get_key(viewer.connection)
            if key.events != events:
                self._selector.modify(viewer.connection, events, key.data)

    def _drop(self, viewer: Viewer) -> None:
        descriptor = viewer.connection.fileno()
        if self._viewers.pop(descriptor, None) is not None:
            self._selector.unregister(viewer.connection)
            viewer.connection.close()
