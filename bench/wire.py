"""The daemon at its control socket: one exchange as a script has it, a filing, the fleet, and what it takes at rest.

Each exchange is a connection of its own, hello and request in one burst; the bare one is an echo over the same kind of
socket. The filing ends with a flush, so it is set beside the least that keeps a line.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.filing import _append
from bench.fleets import Fleet
from bench.idle import _taken_ns
from bench.measure import Figure
from sot_tui.comm import frames

if TYPE_CHECKING:
    from collections.abc import Iterator

SOTD = os.path.join(os.path.dirname(sys.executable), "sotd")
_EXCHANGES = 50
_HANDLES = 1000
_WINDOW_SECS = 5.0
_HELLO = {
    "client_id": "sot-comm",
    "protocol": 3,
    "host": "box",
    "os_user": f"uid:{os.geteuid()}",
    "role": "cli",
}


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the figures of one daemon on a big fleet."""
    fleet = Fleet(folder, _HANDLES)
    with _daemon(fleet) as (pid, path), _echo(str(folder / "run" / "echo")) as echo:
        ping = partial(_exchanges, path, _burst("ping", {}), b'"op":"ping"')
        bare = partial(_exchanges, echo, _burst("ping", {}), b"\n")
        yield Figure("an exchange at the control socket", ping, bare, _EXCHANGES, "<= 20")
        said = {"from": "a", "to": fleet.handles[0], "text": "x" * 200}
        line = frames.frame("writer", "reader", "writer", "x" * 200, "2026-05-29T18:04:00Z")
        kept = partial(_kept, folder, line)
        file = partial(_exchanges, path, _burst("comm.file", said), b'"ok":true')
        yield Figure(f"comm.file, {_HANDLES} handles", file, kept, _EXCHANGES, "<= 20 ms")
        whole = partial(_exchanges, path, _burst("tui.fleet", {}), b'"op":"tui.fleet"', 5)
        yield Figure(f"tui.fleet, {_HANDLES} handles", whole, None, 5, "<= 200 ms")
        yield Figure("sotd at rest, of a core", partial(_share, pid), None, 1, "<= 2 %", rounds=5)
        yield Figure("sotd, resident", partial(_resident_mb, pid), None, 1, "<= 80 MB", rounds=3)


def _burst(op: str, payload: object) -> bytes:
    lines = [
        {"v": 1, "id": 1, "kind": "req", "op": name, "payload": said}
        for name, said in (("hello", _HELLO), (op, payload))
    ]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def _exchanges(path: str, burst: bytes, answer: bytes, count: int = _EXCHANGES) -> None:
    for _ in range(count):
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(path)
            one.sendall(burst)
            data = b""
            while answer not in data or not data.endswith(b"\n"):
                part = one.recv(1 << 18)
                assert part, data
                data += part


def _kept(folder: Path, line: bytes) -> None:
    for _ in range(_EXCHANGES):
        _append(str(folder / "bare.lock"), str(folder / "bare.jsonl"), line, 1)


@contextmanager
def _daemon(fleet: Fleet) -> Iterator[tuple[int, str]]:
    with subprocess.Popen([SOTD, "run"], env=fleet.environ, stderr=subprocess.PIPE) as one:
        assert one.stderr is not None
        select.select([one.stderr], [], [], 20)
        said = one.stderr.readline().decode()
        try:
            yield one.pid, said.split(" ")[2]
        finally:
            one.terminate()


@contextmanager
def _echo(path: str) -> Iterator[str]:
    """Answer each connection with what it said, from a process of its own."""
    program = (
        "import socket, sys\n"
        "one = socket.socket(socket.AF_UNIX); one.bind(sys.argv[1]); one.listen(128); print('up', flush=True)\n"
        "while True:\n"
        "    took, _ = one.accept(); took.sendall(took.recv(65536)); took.close()\n"
    )
    with subprocess.Popen([sys.executable, "-I", "-c", program, path], stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        one.stdout.readline()
        try:
            yield path
        finally:
            one.kill()


def _share(pid: int) -> float:
    before, began = _taken_ns(pid), time.perf_counter()
    threading.Event().wait(_WINDOW_SECS)
    return (_taken_ns(pid) - before) / 1e9 / (time.perf_counter() - began)


def _resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
