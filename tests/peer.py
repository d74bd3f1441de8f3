"""A scripted daemon: a real Unix socket, and the wire's own bytes, written here by hand and not by the program's codec.

It answers the hello, then the request, each answer with the op and the id of its request; a script may put anything
between them, send half of it, hold it back, refuse, or say nothing. What it was sent it keeps, byte for byte.
"""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MISMATCH = {
    "error": "protocol mismatch: backend 0.6.1 (protocol 2) vs frontend comm (protocol 3) — update the older side",
    "code": "protocol_mismatch",
}
"""The hello's answer of a daemon that speaks an older protocol."""
TWO_ACCOUNTS = {"error": "this host has said hello as two OS accounts", "code": "os_user_conflict"}
"""The hello's answer of a daemon that knows two accounts of one host."""
WELCOME = {
    "session_id": "6f0c",
    "revision": 12,
    "snapshot_pending": False,
    "host": "atlas",
    "project_root": "/home/u",
    "label": "sot",
    "clients_connected": 1,
    "protocol": 3,
    "app_version": "0.6.6",
    "proxy": False,
}
EVENT = {"action": "agent_state", "slug": "", "workspace_id": ""}
DEADLINE_S = 10.0
"""Seconds after which a step of the peer gives up, so that a test that is broken ends."""


def line(kind: str, op: str, payload: object, number: int = 1, rev: int | None = None) -> bytes:
    """Return one frame as a daemon writes it."""
    frame: dict[str, Any] = {"v": 1, "id": number, "kind": kind, "op": op}
    if rev is not None:
        frame["rev"] = rev
    frame["payload"] = payload
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Peer:
    """A daemon with a script; use it in a `with`."""

    def __init__(self, path: Path, answers: dict[str, object] | None = None) -> None:
        self.path = path
        self.answers = answers or {}
        """What each op is answered with: a payload, a function of the request's payload, or None for no answer."""
        self.hello: object = WELCOME
        """What the hello is answered with; None for nothing."""
        self.first = b""
        """What is written before anything else."""
        self.between = b""
        """What is written between the hello's answer and the other one."""
        self.closes_at_hello = False
        """Whether the connection ends with the hello's answer, the request unread."""
        self.keeps = 1 << 30
        """How many bytes of an answer are sent before the connection ends."""
        self.hold: threading.Event | None = None
        """What an answer waits for."""
        self.burst: list[bytes] = []
        """What each connection sent, byte for byte."""
        self.asked: list[tuple[str, Any]] = []
        """Each request's op and payload, the hellos' left out."""
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def endpoint(self) -> str:
        return f"unix:{self.path}"

    def ops(self) -> list[str]:
        return [op for op, _ in self.asked]

    def __enter__(self) -> Self:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen(16)
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self.hold is not None:
            self.hold.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the accept
        self._listener.close()
        for thread in self._threads:
            thread.join(DEADLINE_S)
            assert not thread.is_alive()

    def _start(self, run: Callable[..., None], *words: object) -> None:
        thread = threading.Thread(target=run, args=words, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(DEADLINE_S)
        with connection, suppress(OSError), connection.makefile("rb") as lines:
            connection.sendall(self.first)
            if self.closes_at_hello:
                # One byte read, so that the rest stays unread when the connection ends.
                connection.recv(1)
                connection.sendall(line("res", "hello", self.hello))
                return
            hello = lines.readline()
            if self.hello is not None:
                connection.sendall(line("res", "hello", self.hello, rev=12))
            connection.sendall(self.between)
            request = lines.readline()
            self.burst.append(hello + request)
            said = json.loads(request)
            self.asked.append((said["op"], said["payload"]))
            answer = self.answers.get(said["op"], {"error": f"unknown op: {said['op']}"})
            if callable(answer):
                answer = answer(said["payload"])
            if self.hold is not None:
                self.hold.wait(DEADLINE_S)
            if answer is not None:
                data = line("res", said["op"], answer, number=said["id"])
                connection.sendall(data[: self.keeps])
                if self.keeps < len(data):
                    return
            lines.read()  # until the client goes
