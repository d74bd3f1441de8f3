"""One question to a daemon, and its one answer (daemon wire 2).

A frame is one line of compact JSON, its fields in the order `v,id,kind,op,payload`, at most a mebibyte. Hello and
request leave in one burst, both with id 1, and the answer is the first response that names the request's op: "the
answer decides, whatever the transport's exit status or stderr say" (contract, The one result). Before a byte is sent,
the account that listens is known to be our own. Nothing is asked twice here, and nobody is waited for past the window.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from sot_tui.comm import endpoints, frames, jsonline, peers
from sot_tui.comm.clock import seconds_said
from sot_tui.comm.endpoints import Remote
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Iterator, Mapping
    from subprocess import Popen
    from typing import Any

    from sot_tui.comm.clock import Clock

PROTOCOL = 3
"""The number of the protocol that both sides have to name (daemon wire 2.1)."""
FRAME_LIMIT = 1 << 20
"""Bytes of one frame, its newline not counted (daemon wire 2)."""
WINDOW_SECS = 10.0
"""Seconds in which an answer is read; `$SOT_SEND_TIMEOUT`, else `$SEND_TIMEOUT`, sets others (daemon wire 2.4)."""

_CHUNK = 1 << 16
_NUMBER_LIMIT = (1 << 64) - 1
"""The highest id of a request: what the widest of the usual whole numbers holds."""
_BUSY_PAUSE_S = 0.02
"""Between two tries at a socket whose queue is full."""
_QUOTED_LIMIT = 200
"""Characters of a payload that a sentence quotes."""
_STDERR_LIMIT = 4096
"""Bytes of what a transport says when no answer came."""

_SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3")
OWN_CONNECTION = ("-o", "ControlMaster=no", "-o", "ControlPath=none")
"""What keeps a connection from being another one's, whatever the person's own settings say: each ends by itself."""
_PRELUDE = 'PATH="$HOME/.local/share/sot/bin:$HOME/.cargo/bin:$HOME/.local/bin:$PATH"'


class Caller(NamedTuple):
    """Who asks, as the hello says it."""

    host: str
    """The declared host."""
    name: str
    """The session's handle; empty when it has none."""
    role: str
    """`agent` in a row, else `cli`."""
    comm_home: str = ""
    """The comm home, so that a daemon of this box that serves another one refuses; empty: it is not said."""


def caller(environ: Mapping[str, str], host: str, name: str, comm_home: str = "") -> Caller:
    """Return who this process is to a daemon."""
    return Caller(host, name, "agent" if environ.get("SOT_WORKSPACE") else "cli", comm_home)


class Answer(NamedTuple):
    """The daemon answered; what it said."""

    payload: dict[str, Any]

    @property
    def error(self) -> str:
        """The daemon's own sentence when it refuses, else nothing."""
        said = self.payload.get("error")
        if said is None:
            return ""
        return said if isinstance(said, str) and said else shown(said)

    @property
    def code(self) -> str:
        """The code of a refusal, when it has one."""
        said = self.payload.get("code")
        return said if isinstance(said, str) else ""


class NoAnswer(NamedTuple):
    """There is no answer, and nothing is known of what was asked, unless `unsent` says that it never left."""

    why: str
    """The reason, as the one result words it."""
    unsent: bool = False


class Frame(NamedTuple):
    """One frame as it was read."""

    kind: str
    op: str
    payload: Any
    number: int = -1
    """The request's id; -1 where the frame has none that is a whole number."""

    @property
    def blob_bytes(self) -> int:
        """How many raw bytes follow the frame's line."""
        blob = self.payload.get("blob") if isinstance(self.payload, dict) else None
        size = blob.get("len") if isinstance(blob, dict) else None
        return max(size, 0) if isinstance(size, int) and not isinstance(size, bool) else 0


class _Transport(Protocol):
    """A way to a daemon that is open."""

    def send(self, data: bytes, seconds: float) -> None:
        """Send all of it, or raise OSError."""

    def receive(self, seconds: float) -> bytes:
        """Return what came, "" at the end; raise OSError, TimeoutError when nothing came in time."""

    def close(self) -> str:
        """End it, and return what it has to say when no answer came."""


def encode(number: int, kind: str, op: str, payload: Mapping[str, Any], rev: int | None = None) -> bytes:
    """Return one frame with its newline; what is no text becomes U+FFFD, as in an inbox line."""
    revision = {} if rev is None else {"rev": rev}
    text = _compact({"v": 1, "id": number, "kind": kind, "op": op, **revision, "payload": payload})
    return frames.utf8(text) + b"\n"


def decode(line: bytes) -> Frame | None:
    """Return the frame in a line, or None when it is no envelope of this version."""
    try:
        found = jsonline.decode_object(line)
    except jsonline.NotStrict:
        return None
    kind, op = found.get("kind"), found.get("op")
    if found.get("v") != 1 or not isinstance(kind, str) or not isinstance(op, str) or "payload" not in found:
        return None
    number = found.get("id")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _NUMBER_LIMIT:
        number = -1
    return Frame(kind, op, found["payload"], number)


def window(environ: Mapping[str, str]) -> float:
    """Return the seconds in which most answers are read; raises Misuse when a variable makes no sense."""
    name = "SOT_SEND_TIMEOUT" if environ.get("SOT_SEND_TIMEOUT") else "SEND_TIMEOUT"
    return seconds_said(environ, name, WINDOW_SECS)


def ask(
    clock: Clock,
    endpoint: str,
    asker: Caller,
    op: str,
    payload: Mapping[str, Any],
    seconds: float,
    *,
    who: str = "the daemon",
) -> Answer | NoAnswer:
    """Ask the daemon at `endpoint` once, over a connection of its own, and return its answer; `who` names it."""
    request = encode(1, "req", op, payload)
    if len(request) - 1 > FRAME_LIMIT:
        return NoAnswer(f"frame envelope is {len(request) - 1} bytes; cap is {FRAME_LIMIT}", unsent=True)
    silent = f"{who} did not answer at {endpoint}"
    deadline = clock.monotonic() + seconds
    opened = _open(clock, endpoint, deadline)
    if isinstance(opened, str):
        return NoAnswer(f"{silent}: {opened}" if opened else silent, unsent=True)
    why, found = "", None
    try:
        opened.send(_hello(asker, endpoint) + request, max(0.0, deadline - clock.monotonic()))
    except OSError as error:
        why = _said(error)  # a daemon that refuses may close before it has read all: its word may be there
    try:
        found = _answer_in(_frames(clock, opened, deadline), op)
    except OSError as error:  # the window passed, or the way broke
        why = why or _said(error)
    finally:
        why = opened.close() or why
    if found is None:
        return NoAnswer(f"{silent}: {why}" if why else silent)
    return found


def _hello(asker: Caller, endpoint: str) -> bytes:
    # Another box's daemon has another comm home, by another path or by the same.
    comm_home = asker.comm_home if endpoint.startswith("unix:") else ""
    return hello(asker._replace(comm_home=comm_home))


def hello(asker: Caller, client_id: str = "sot-comm") -> bytes:
    """Return the first frame of a connection; `client_id` names the client in logs."""
    said = {
        "client_id": client_id,
        "last_seen_revision": 0,
        "protocol": PROTOCOL,
        "app_version": "comm",
        "host": asker.host,
        "os_user": f"uid:{os.geteuid()}",
        "role": asker.role,
        "name": asker.name,
        **({"comm_home": asker.comm_home} if asker.comm_home else {}),
    }
    return encode(1, "req", "hello", said)


def _answer_in(frames: Iterator[Frame], op: str) -> Answer | NoAnswer | None:
    """Return the answer to `op`, the refusal that stands in its place, or None when the daemon ended without either.

    An older daemon refuses a hello for the protocol and answers all the same, so that refusal waits for the answer.
    """
    refused: NoAnswer | None = None
    try:
        for frame in frames:
            if frame.kind != "res" or not isinstance(frame.payload, dict):
                continue
            answer = Answer(frame.payload)
            if frame.op == op:
                return answer
            if frame.op == "hello" and answer.error:
                refused = NoAnswer(f"hello refused: {answer.error}")
                if answer.code != "protocol_mismatch":
                    break
    except OSError:
        if refused is None:
            raise
    return refused


def _frames(clock: Clock, opened: _Transport, deadline: float) -> Iterator[Frame]:
    """Yield the frames that come until the deadline; raises OSError, TimeoutError when it has passed.

    A line that is no frame is passed over, as a login's greeting before the first one; after one that has no end within
    the limit nothing can be read any more.
    """
    held, skip = b"", 0
    while True:
        left = deadline - clock.monotonic()
        if left <= 0:
            raise TimeoutError
        part = opened.receive(left)
        if not part:
            return
        held += part
        while True:
            gone = min(skip, len(held))
            held, skip = held[gone:], skip - gone
            line, newline, rest = held.partition(b"\n")
            if len(line) > FRAME_LIMIT:
                return
            if not newline:
                break
            held = rest
            frame = decode(line)
            if frame is not None:
                skip = frame.blob_bytes
                yield frame


def shown(payload: object) -> str:
    """Return a payload as a sentence quotes it: compact, one line, and not without end."""
    text = _compact(payload)
    return text if len(text) <= _QUOTED_LIMIT else text[:_QUOTED_LIMIT] + "…"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _said(error: OSError) -> str:
    return "" if isinstance(error, TimeoutError) else error.strerror or str(error)


# -- the ways -----------------------------------------------------------------------------------------------------


def _open(clock: Clock, endpoint: str, deadline: float) -> _Transport | str:
    """Open the way to an endpoint, or say why it cannot be."""
    where = endpoints.parsed(endpoint)
    if where is None:
        return "this version cannot dial it"
    if isinstance(where, Remote):
        try:
            return _Bridge(clock, where)
        except OSError as error:
            return f"ssh could not be started: {_said(error)}"
    connection = connected(clock, where.path, deadline)
    return connection if isinstance(connection, str) else _Socket(connection)


class _Socket:
    """A socket on this box."""

    def __init__(self, connection: socket) -> None:
        self._connection = connection

    def send(self, data: bytes, seconds: float) -> None:
        self._connection.settimeout(max(seconds, 0.001))
        self._connection.sendall(data)

    def receive(self, seconds: float) -> bytes:
        self._connection.settimeout(seconds)
        return self._connection.recv(_CHUNK)

    def close(self) -> str:
        self._connection.close()
        return ""


def connected(clock: Clock, path: str, deadline: float) -> socket | str:
    """Return a connection to this account's listener at `path`, or why there is none; nothing was sent."""
    # The module `socket` makes enums of hundreds of constants first, which takes half as long as a bare interpreter.
    import _socket  # noqa: PLC0415  (most verbs ask nobody)

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        while True:
            left = deadline - clock.monotonic()
            connection.settimeout(max(left, 0.001))
            try:
                connection.connect(path)
                break
            except BlockingIOError:  # its queue is full, and the kernel does not wait for us
                if left <= 0:
                    raise
                clock.sleep(_BUSY_PAUSE_S)
        if not peers.is_own(connection):
            connection.close()
            return f"{path}: not connecting: another OS account listens on this socket"
    except (OSError, ValueError) as error:
        connection.close()
        said = _said(error) if isinstance(error, OSError) else str(error)
        return f"{path}: {said}" if said else ""
    return connection


class _Bridge:
    """The far end's own bridge, over ssh; its standard input stays open until the answer is there."""

    def __init__(self, clock: Clock, where: Remote) -> None:
        import subprocess  # noqa: PLC0415  (only another box is reached by a program)
        import tempfile  # noqa: PLC0415  (as above)

        # A file: a connection that ssh keeps for later would hold a pipe open.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the bridge)
        try:
            self._bridge: Popen[bytes] = subprocess.Popen(
                bridge_command(where, shared=_shared_connection()),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
            )
        except OSError:
            self._stderr.close()
            raise
        self._clock = clock

    def send(self, data: bytes, seconds: float) -> None:
        end = self._clock.monotonic() + seconds
        left, target = memoryview(data), self._pipe(0)
        os.set_blocking(target, False)
        while left:
            self._wait(target, end - self._clock.monotonic(), writing=True)
            with suppress(BlockingIOError):
                left = left[os.write(target, left) :]

    def receive(self, seconds: float) -> bytes:
        self._wait(self._pipe(1), seconds, writing=False)
        return os.read(self._pipe(1), _CHUNK)

    def close(self) -> str:
        self._bridge.kill()
        for pipe in (self._bridge.stdin, self._bridge.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._bridge.wait()
        with self._stderr as file:
            file.seek(0)
            said = file.read(_STDERR_LIMIT).decode("utf-8", "replace")
        return " ".join(said.split())

    def _pipe(self, which: int) -> int:
        pipe = self._bridge.stdin if which == 0 else self._bridge.stdout
        return -1 if pipe is None else pipe.fileno()

    @staticmethod
    def _wait(descriptor: int, seconds: float, *, writing: bool) -> None:
        import select  # noqa: PLC0415  (only a bridge waits on descriptors)

        watched = ([], [descriptor]) if writing else ([descriptor], [])
        readable, writable, _ = select.select(*watched, [], max(0.0, seconds))
        if not readable and not writable:
            raise TimeoutError


def bridge_command(where: Remote, *, shared: tuple[str, ...]) -> list[str]:
    """Return the command that runs another box's bridge; `shared` says how its connection is to others.

    The target stands behind `--`, so that no name of a box is ever read as an option.
    """
    bridge = "sotd stdio-bridge" + (f" --host {where.host}" if where.host else "")
    return [*_SSH, *shared, "--", where.target, f"{_PRELUDE}; {bridge}"]


def _shared_connection() -> tuple[str, ...]:
    """Return the options by which later questions go over the same connection, where there is a folder for it."""
    import subprocess  # noqa: PLC0415  (as in the bridge)

    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    if not folder:
        return ()
    options = ("ControlMaster=auto", f"ControlPath={folder}/sot-comm-ssh-%C", "ControlPersist=600")
    words = tuple(word for option in options for word in ("-o", option))
    tried = subprocess.run(["ssh", "-G", *words, "localhost"], capture_output=True, check=False)
    return words if tried.returncode == 0 else ()
