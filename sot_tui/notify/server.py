"""The daemon: takes events on a private socket, answers at once, and brings each to its end.

Contract, Acknowledgements: "The daemon validates the complete request and atomically claims an eligible completion
before replying", and the reply is written "before model composition or ntfy delivery". Everything is bounded: how long
a line may take to come, how many connections there are, how long the end waits for what was accepted. One daemon has a
socket: a second one finds the lock held, or the socket answered, and refuses; nobody's socket is ever taken away.
"""

from __future__ import annotations

import json
import os
import select
import socket
import stat
from collections import deque
from contextlib import suppress
from itertools import islice, takewhile
from threading import Lock, Thread, current_thread
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sot_tui.comm import paths
from sot_tui.comm.errors import Refused
from sot_tui.notify import claims as all_claims, decide, delivery, event as events, frame as frames

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.notify.claims import Key
    from sot_tui.notify.delivery import Channel
    from sot_tui.notify.frame import Frame

READ_SECS = 5.0
"""A whole line may take this long from the moment it is accepted (contract, Framing: "the daemon read deadline")."""
DRAIN_SECS = 20.0
"""The end waits this long for what was accepted (contract, Failure semantics: "only a bounded interval")."""
CONNECTIONS = 256
"""Connections that are served at a time; further ones wait in the kernel, whose queue is as long again."""

_ACTIVATED = 3
"""The first descriptor that is passed on by socket activation (sd_listen_fds(3))."""
_EXCLUSIVE_AT_ONCE = 2 | 4
"""flock(2)'s operation; the module fcntl is loaded by the seam."""
_CHUNK = 65536
_RECORD_BYTES = 256
_QUIET_SECS = 0.005
"""Nothing has come for this long before the first push of many is begun."""
_HELD_BACK_SECS = 0.05
"""A push is not held back longer than this for others' answers."""

_T = TypeVar("_T")


class Listening(NamedTuple):
    """A listening socket, and what goes with it at the end."""

    listener: socket.socket
    path: str
    """The path to remove; empty for a socket that somebody else made."""
    inode: int
    lock: int
    """The descriptor of the single-instance lock, -1 when there is none."""


class CannotListen(Refused):
    """There is no socket to be had; the sentence says why."""


class Taken(CannotListen):
    """Another daemon has the socket, and keeps it."""


class Holder(NamedTuple):
    """Who has the single-instance lock, by its own word."""

    pid: int
    what: str
    """`notifyd`, or what hosts the server: `dashboard`, `daemon`. Foreign text."""


def listen(home: Home, environ: Mapping[str, str], path: str, what: str = "notifyd") -> Listening:
    """Return the inherited socket if there is one, else a socket of our own at `path`; raise CannotListen.

    `what` this process is, for whoever asks who serves.
    """
    if _is_activated(home, environ):
        try:
            inherited = socket.socket(fileno=_ACTIVATED)
            if not inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                raise CannotListen("the inherited socket does not listen")
        except OSError as error:
            raise CannotListen(f"the inherited socket cannot be used: {error.strerror}") from error
        inherited.setblocking(False)
        return Listening(inherited, "", 0, -1)
    folder = os.path.dirname(path)
    try:
        paths.make_folder(home.disk, folder)
        _check_private(home, folder)
        lock = _take_lock(home, f"{path}.lock", what)
    except OSError as error:
        raise CannotListen(f"{folder}: {error.strerror}") from error
    try:
        return _bind(home, path, lock)
    except OSError as error:
        home.disk.close(lock)
        raise CannotListen(f"{path}: {error.strerror or error}") from error
    except CannotListen:
        home.disk.close(lock)
        raise


def close(home: Home, listening: Listening) -> None:
    """Take the socket away, if it is still the one that was bound, and let the lock go."""
    listening.listener.close()
    with suppress(OSError):
        if listening.path and home.disk.stat(listening.path).st_ino == listening.inode:
            home.disk.unlink(listening.path)
    if listening.lock >= 0:
        with suppress(OSError):
            home.disk.truncate(listening.lock, 0)
        home.disk.close(listening.lock)


def stands(home: Home, listening: Listening) -> bool:
    """Tell whether the socket is still the one that was bound; what cannot be looked at is not known to be gone."""
    try:
        return not listening.path or home.disk.stat(listening.path).st_ino == listening.inode
    except FileNotFoundError:
        return False
    except OSError:
        return True


def holder(home: Home, path: str) -> Holder | None:
    """Return who serves the socket at `path` by its record; None when nobody does whose record says so and is alive.

    It looks only: a daemon of another kind, which writes no record, is not found.
    """
    try:
        words = home.disk.read_up_to(f"{path}.lock", _RECORD_BYTES).decode("utf-8", "replace").split()
    except (OSError, ValueError):
        return None
    if len(words) != len(Holder._fields) + 1 or not words[0].isdecimal():
        return None
    pid = int(words[0])
    return Holder(pid, words[2]) if home.procs.start_of(pid) == words[1] else None


def _is_activated(home: Home, environ: Mapping[str, str]) -> bool:
    count, pid = environ.get("LISTEN_FDS", ""), environ.get("LISTEN_PID", "")
    if not (count.isascii() and count.isdigit() and int(count) >= 1):
        return False
    return not pid or pid == str(home.procs.pid())


def _check_private(home: Home, folder: str) -> None:
    found = home.disk.stat(folder)
    if not stat.S_ISDIR(found.st_mode) or stat.S_IMODE(found.st_mode) != 0o700 or found.st_uid != os.getuid():
        raise CannotListen(f"{folder} is no private folder (it must be yours, and 0700)")


def _take_lock(home: Home, path: str, what: str) -> int:
    descriptor = home.disk.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    try:
        home.disk.lock(descriptor, _EXCLUSIVE_AT_ONCE)
    except BlockingIOError as error:
        home.disk.close(descriptor)
        raise Taken("another notifyd is running") from error
    except OSError:
        home.disk.close(descriptor)
        raise
    pid = home.procs.pid()
    with suppress(OSError):  # the lock counts, whatever the file says
        home.disk.truncate(descriptor, 0)
        home.disk.write(descriptor, f"{pid} {home.procs.start_of(pid)} {what}\n".encode())
    return descriptor


def _bind(home: Home, path: str, lock: int) -> Listening:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        # A daemon of another kind takes no lock; if it answers, its socket is its own.
        with suppress(FileNotFoundError, ConnectionRefusedError):
            probe.connect(path)
            raise Taken("another notifyd listens there")
    with suppress(FileNotFoundError):
        home.disk.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        listener.bind(path)
        home.disk.chmod(path, 0o600)
        listener.listen(CONNECTIONS)
        return Listening(listener, path, home.disk.stat(path).st_ino, lock)
    except OSError:
        listener.close()
        raise


class _Reading:
    """A connection whose line is not whole yet."""

    __slots__ = ("_held", "deadline", "peer")

    def __init__(self, peer: socket.socket, deadline: float) -> None:
        self.peer, self.deadline = peer, deadline
        self._held = bytearray()

    def line(self) -> bytes | None:
        """Return the bytes up to the first newline, None while there is none yet, empty when there will be none."""
        looked = len(self._held)
        try:
            part = self.peer.recv(min(_CHUNK, frames.LINE_BYTES - looked))
        except BlockingIOError:
            return None
        except OSError:
            return b""  # gone
        self._held += part
        if end := self._held.find(b"\n", looked) + 1:
            return bytes(self._held[:end])
        return None if part and len(self._held) < frames.LINE_BYTES else b""


class _Admitted(NamedTuple):
    """An event that was accepted and has to be brought to its end, with its connection and its claim."""

    since: float
    peer: socket.socket
    frame: Frame
    key: Key | None
    token: int | None


class Server:
    """Serves one listening socket until it is told to stop; its claims begin empty each time.

    One thread reads every line and answers it, so that two hundred clients at once wait for one another's few
    microseconds and not for each other's pushes. Each event that was accepted has a thread of its own to its end.
    """

    def __init__(
        self,
        channel: Channel,
        log: Callable[[str], None],
        *,
        cancel: Callable[[], None] | None = None,
        read_secs: float = READ_SECS,
        drain_secs: float = DRAIN_SECS,
    ) -> None:
        self._channel = channel
        self._clock = channel.home.clock
        self._log = log
        self._cancel = cancel
        self._read_secs, self._drain_secs = read_secs, drain_secs
        self._claims = all_claims.Claims(self._clock)
        self._poll = select.poll()
        self._reading: dict[int, _Reading] = {}
        """By descriptor; in the order in which they were accepted, which is that of their deadlines."""
        self._taken: deque[_Admitted] = deque()
        self._lock = Lock()
        self._handlers: set[Thread] = set()
        self._is_listening = self._is_quiet = False
        self._stopping = False
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake):
            end.setblocking(False)
        self._poll.register(self._woken, select.POLLIN)

    def stop(self) -> None:
        """Accept nothing any more; safe to call from a signal's handler and from any thread."""
        self._stopping = True
        self._rouse()

    def serve(self, listener: socket.socket) -> str:
        """Serve until `stop`, then drain; return an empty string, or why no more could be accepted."""
        fault = ""
        try:
            while not self._stopping:
                self._listen_if_room(listener)
                if listener.fileno() in self._turn():
                    self._accept(listener)
        except OSError as error:
            fault = f"accept failed: {error.strerror}"
        if self._is_listening:
            self._poll.unregister(listener)
        self._drain()
        self._woken.close()
        self._wake.close()
        return fault

    def _turn(self, end: float | None = None) -> set[int]:
        """Wait for something to happen, until `end` at most; answer what has come, and return what there was to read.

        What was accepted is started once nothing more is to be answered: an answer has 250 ms, a push has seconds.
        """
        ready = {number for number, _ in self._poll.poll(self._patience_ms(end))}
        if self._woken.fileno() in ready:
            with suppress(BlockingIOError):
                self._woken.recv(4096)
        for number in ready & self._reading.keys():
            self._guard(self._hear, self._reading[number])
        self._reject_the_late()
        self._is_quiet = not ready
        while self._taken and (self._stopping or self._clock.monotonic() - self._taken[0].since >= _HELD_BACK_SECS):
            self._start(self._taken.popleft())
        if self._is_quiet and self._taken:
            self._start(self._taken.popleft())
        return ready

    def _patience_ms(self, end: float | None) -> float | None:
        ends = [] if end is None else [end]
        ends += [reading.deadline for reading in islice(self._reading.values(), 1)]
        if self._taken:
            ends.append(self._clock.monotonic() + (0.0 if self._is_quiet else _QUIET_SECS))
        return max(0.0, min(ends) - self._clock.monotonic()) * 1000 if ends else None

    def _listen_if_room(self, listener: socket.socket) -> None:
        has_room = self._has_room()
        if has_room and not self._is_listening:
            self._poll.register(listener, select.POLLIN)
        elif self._is_listening and not has_room:
            self._poll.unregister(listener)
        self._is_listening = has_room

    def _has_room(self) -> bool:
        with self._lock:
            return len(self._handlers) + len(self._reading) + len(self._taken) < CONNECTIONS

    def _accept(self, listener: socket.socket) -> None:
        while not self._stopping and self._has_room():
            try:
                peer, _ = listener.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            peer.setblocking(False)
            reading = _Reading(peer, self._clock.monotonic() + self._read_secs)
            self._reading[peer.fileno()] = reading
            self._poll.register(peer, select.POLLIN)
            self._guard(self._hear, reading)

    def _rouse(self) -> None:
        with suppress(OSError):  # full: it wakes anyway; closed: all is over
            self._wake.send(b"x")

    def _drain(self) -> None:
        """Wait for what was accepted, composition cancelled, as long as the bound says and no longer."""
        self._stopping = True
        if self._cancel is not None:
            self._cancel()
        end = self._clock.monotonic() + self._drain_secs
        while self._reading and self._clock.monotonic() < end:
            self._turn(end)
        for reading in self._reading.values():
            reading.peer.close()  # it hears nothing, and delivers by itself
        while self._taken:
            self._start(self._taken.popleft())
        with self._lock:
            left = list(self._handlers)
        for handler in left:
            handler.join(max(0.0, end - self._clock.monotonic()))

    def _hear(self, reading: _Reading) -> None:
        if reading.deadline <= self._clock.monotonic():
            return  # whatever has come since
        line = reading.line()
        if line is None:
            return
        self._forget(reading)
        try:
            frame = frames.decode(line)
        except frames.InvalidFrame:
            self._reject(reading.peer, "invalid_frame")
            return
        key, token = self._claim(frame)
        if key is not None and token is None:
            self._answer(reading.peer, frames.DUPLICATE)
            self._log(_told("notify frame duplicate", frame))
            reading.peer.close()
            return
        self._taken.append(_Admitted(self._clock.monotonic(), reading.peer, frame, key, token))
        self._answer(reading.peer, frames.ACCEPTED)
        self._log(_told("notify frame accepted", frame))

    def _reject_the_late(self) -> None:
        if not self._reading:
            return
        now = self._clock.monotonic()
        for reading in [*takewhile(lambda each: each.deadline <= now, self._reading.values())]:
            self._forget(reading)
            self._reject(reading.peer, "read_deadline")

    def _forget(self, reading: _Reading) -> None:
        number = reading.peer.fileno()
        self._poll.unregister(number)
        del self._reading[number]

    def _reject(self, peer: socket.socket, reason: str) -> None:
        with peer:
            self._answer(peer, frames.REJECTED)
            self._log(f'msg="notify frame rejected" reason={reason}')

    def _claim(self, frame: Frame) -> tuple[Key | None, int | None]:
        is_dry = frame.dry_run or self._channel.send is None
        if is_dry or not decide.is_claimable(frame.event):
            return None, None
        key = all_claims.key_of(frame.event)
        return key, self._claims.claim(key)

    def _answer(self, peer: socket.socket, status: str) -> None:
        """Write an answer, which never waits: the buffer of a connection that heard nothing yet has room for it."""
        try:
            peer.sendall(frames.encode_ack(status))
        except OSError:
            self._log('msg="notify ack failed" reason=write')

    def _start(self, taken: _Admitted) -> None:
        handler = Thread(target=self._handle, args=(taken,), daemon=True, name="notify")
        with self._lock:
            self._handlers.add(handler)
        try:
            handler.start()
        except RuntimeError:  # no more threads: it was accepted, so it is done here, and others wait
            with self._lock:
                self._handlers.discard(handler)
            self._guard(self._bring_to_its_end, taken)

    def _handle(self, taken: _Admitted) -> None:
        try:
            self._guard(self._bring_to_its_end, taken)
        finally:
            with self._lock:
                self._handlers.discard(current_thread())
            self._rouse()

    def _bring_to_its_end(self, taken: _Admitted) -> None:
        settled = False
        # The connection ends with the event: that tells whoever waits for it.
        with taken.peer:
            try:
                settled = delivery.deliver(self._channel, taken.frame)
            finally:
                if not settled:
                    self._log(_told("notify send failed", taken.frame))
                    if taken.key is not None and taken.token is not None:
                        self._claims.release(taken.key, taken.token)

    def _guard(self, work: Callable[[_T], None], its: _T) -> None:
        """Keep a fault to the one connection whose it is; an error's text may hold what was sent."""
        try:
            work(its)
        except Exception as error:  # noqa: BLE001  (the top of a thread, and of each connection)
            self._log(f'msg="notify handler failed" kind={type(error).__name__}')


def _told(what: str, frame: Frame) -> str:
    event = frame.event
    is_degraded = event.kind == events.COMPLETION and not (event.session_id and event.completion_id)
    if is_degraded and what == "notify frame accepted":
        what += " degraded"
    names = ("harness", "session_id", "kind", "completion_id", "source_event")
    # Quoted as JSON: what a session named itself is never taken for a word of the log.
    return " ".join([f'msg="{what}"', *(f"{name}={json.dumps(getattr(event, name))}" for name in names)])
