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
from contextlib import suppress
from threading import Lock, Thread, current_thread
from typing import TYPE_CHECKING, NamedTuple

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
WRITE_SECS = 5.0
"""An acknowledgement may take this long."""
DRAIN_SECS = 20.0
"""The end waits this long for what was accepted (contract, Failure semantics: "only a bounded interval")."""
CONNECTIONS = 256
"""Connections that are served at a time; further ones wait in the kernel, whose queue is as long again."""

_ACTIVATED = 3
"""The first descriptor that is passed on by socket activation (sd_listen_fds(3))."""
_EXCLUSIVE_AT_ONCE = 2 | 4
"""flock(2)'s operation; the module fcntl is loaded by the seam."""
_CHUNK = 65536


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


def listen(home: Home, environ: Mapping[str, str], path: str) -> Listening:
    """Return the inherited socket if there is one, else a socket of our own at `path`; raise CannotListen."""
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
        lock = _take_lock(home, f"{path}.lock")
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
        home.disk.close(listening.lock)


def _is_activated(home: Home, environ: Mapping[str, str]) -> bool:
    count, pid = environ.get("LISTEN_FDS", ""), environ.get("LISTEN_PID", "")
    if not (count.isascii() and count.isdigit() and int(count) >= 1):
        return False
    return not pid or pid == str(home.procs.pid())


def _check_private(home: Home, folder: str) -> None:
    found = home.disk.stat(folder)
    if not stat.S_ISDIR(found.st_mode) or stat.S_IMODE(found.st_mode) != 0o700 or found.st_uid != os.getuid():
        raise CannotListen(f"{folder} is no private folder (it must be yours, and 0700)")


def _take_lock(home: Home, path: str) -> int:
    descriptor = home.disk.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    try:
        home.disk.lock(descriptor, _EXCLUSIVE_AT_ONCE)
    except BlockingIOError as error:
        home.disk.close(descriptor)
        raise CannotListen("another notifyd is running") from error
    except OSError:
        home.disk.close(descriptor)
        raise
    return descriptor


def _bind(home: Home, path: str, lock: int) -> Listening:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        # A daemon of another kind takes no lock; if it answers, its socket is its own.
        with suppress(FileNotFoundError, ConnectionRefusedError):
            probe.connect(path)
            raise CannotListen("another notifyd listens there")
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


class Server:
    """Serves one listening socket until it is told to stop; its claims begin empty each time."""

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
        self._lock = Lock()
        self._handlers: set[Thread] = set()
        self._stopping = False
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake):
            end.setblocking(False)

    def stop(self) -> None:
        """Accept nothing any more; safe to call from a signal's handler and from any thread."""
        self._stopping = True
        self._rouse()

    def serve(self, listener: socket.socket) -> str:
        """Serve until `stop`, then drain; return an empty string, or why no more could be accepted."""
        fault = ""
        try:
            while not self._stopping:
                self._wait(listener)
                if not self._may_accept():
                    continue
                try:
                    peer, _ = listener.accept()
                except (BlockingIOError, ConnectionAbortedError):
                    continue
                self._start(peer)
        except OSError as error:
            fault = f"accept failed: {error.strerror}"
        self._drain()
        self._woken.close()
        self._wake.close()
        return fault

    def _wait(self, listener: socket.socket) -> None:
        waiting = [self._woken] if self._is_full() else [self._woken, listener]
        poll = select.poll()
        for each in waiting:
            poll.register(each, select.POLLIN)
        poll.poll()
        with suppress(BlockingIOError):
            self._woken.recv(4096)

    def _may_accept(self) -> bool:
        return not self._stopping and not self._is_full()

    def _is_full(self) -> bool:
        with self._lock:
            return len(self._handlers) >= CONNECTIONS

    def _rouse(self) -> None:
        with suppress(OSError):  # full: it wakes anyway; closed: all is over
            self._wake.send(b"x")

    def _start(self, peer: socket.socket) -> None:
        deadline = self._clock.monotonic() + self._read_secs
        handler = Thread(target=self._handle, args=(peer, deadline), daemon=True, name="notify")
        with self._lock:
            self._handlers.add(handler)
        try:
            handler.start()
        except RuntimeError:  # no more threads: the client hears nothing and delivers by itself
            peer.close()
            with self._lock:
                self._handlers.discard(handler)

    def _drain(self) -> None:
        """Wait for what was accepted, composition cancelled, as long as the bound says and no longer."""
        if self._cancel is not None:
            self._cancel()
        end = self._clock.monotonic() + self._drain_secs
        with self._lock:
            left = list(self._handlers)
        for handler in left:
            handler.join(max(0.0, end - self._clock.monotonic()))

    def _handle(self, peer: socket.socket, deadline: float) -> None:
        try:
            with peer:
                self._serve_one(peer, deadline)
        except Exception as error:  # noqa: BLE001  (the top of a thread; an error's text may hold what was sent)
            self._log(f'msg="notify handler failed" kind={type(error).__name__}')
        finally:
            with self._lock:
                self._handlers.discard(current_thread())
            self._rouse()

    def _serve_one(self, peer: socket.socket, deadline: float) -> None:
        try:
            frame = frames.decode(self._line(peer, deadline))
        except frames.InvalidFrame:
            late = self._clock.monotonic() >= deadline
            self._log(f'msg="notify frame rejected" reason={"read_deadline" if late else "invalid_frame"}')
            self._answer(peer, frames.REJECTED)
            return
        key, token = self._claim(frame)
        if key is not None and token is None:
            self._log(_told("notify frame duplicate", frame))
            self._answer(peer, frames.DUPLICATE)
            return
        settled = False
        try:
            self._log(_told("notify frame accepted", frame))
            self._answer(peer, frames.ACCEPTED)
            settled = delivery.deliver(self._channel, frame)
        finally:
            if not settled:
                self._log(_told("notify send failed", frame))
                if key is not None and token is not None:
                    self._claims.release(key, token)

    def _claim(self, frame: Frame) -> tuple[Key | None, int | None]:
        is_dry = frame.dry_run or self._channel.send is None
        if is_dry or not decide.is_claimable(frame.event):
            return None, None
        key = all_claims.key_of(frame.event)
        return key, self._claims.claim(key)

    def _line(self, peer: socket.socket, deadline: float) -> bytes:
        """Return the bytes up to the first newline; what did not come in time, or is too long, is none."""
        parts: list[bytes] = []
        held = 0
        try:
            while held < frames.LINE_BYTES and (left := deadline - self._clock.monotonic()) > 0:
                peer.settimeout(left)
                part = peer.recv(min(_CHUNK, frames.LINE_BYTES - held))
                if not part:
                    break
                end = part.find(b"\n")
                if end >= 0:
                    return b"".join((*parts, part[: end + 1]))
                parts.append(part)
                held += len(part)
        except OSError:
            pass  # too late, or gone: there is no line
        return b""

    def _answer(self, peer: socket.socket, status: str) -> None:
        try:
            peer.settimeout(WRITE_SECS)
            peer.sendall(frames.encode_ack(status))
        except OSError as error:
            reason = "write_deadline" if isinstance(error, TimeoutError) else "write"
            self._log(f'msg="notify ack failed" reason={reason}')


def _told(what: str, frame: Frame) -> str:
    event = frame.event
    is_degraded = event.kind == events.COMPLETION and not (event.session_id and event.completion_id)
    if is_degraded and what == "notify frame accepted":
        what += " degraded"
    names = ("harness", "session_id", "kind", "completion_id", "source_event")
    # Quoted as JSON: what a session named itself is never taken for a word of the log.
    return " ".join([f'msg="{what}"', *(f"{name}={json.dumps(getattr(event, name))}" for name in names)])
