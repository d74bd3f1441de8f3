"""The notifier: two hundred hooks that dial at once, and one hook's command from start to exit with a daemon there.

The daemon is a process of its own and pushes each event to a topic that is another. What is judged of the two hundred
is the 99th percentile from a client's dial to its answer, each round anew; the bare one is an echo over the same kind
of socket. The command is set beside an interpreter that does nothing, and hands over another completion each time.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import socket
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from bench.hooks import _run, _write
from bench.measure import Figure
from bench.verbs import COMMAND
from bench.wire import _echo
from sot_tui.notify import frame as frames
from sot_tui.notify.event import Event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CLIENTS = 200
_TOPIC = """\
import socketserver, http.server

class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass

class Topic(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256

one = Topic(("127.0.0.1", 0), Answer)
print(one.server_address[1], flush=True)
one.serve_forever()
"""
_TURN = Event(
    version=1,
    harness="pi",
    session_id="bench",
    kind="completion",
    source_event="TurnComplete",
    cwd="/home/u/project",
    completion_id="",
    user="numbers please " * 100,
    assistant="here they are " * 100,
    notification_type="",
    message="",
    agent_id="",
    agent_type="",
    goal_active=False,
)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the figures of one daemon with a topic to push to."""
    for name in ("home", "run", "state", "project"):
        (folder / name).mkdir(parents=True, mode=0o700)
    with _topic() as url, _echo(str(folder / "run" / "echo")) as echo:
        environ = {
            "PATH": os.defpath,
            "HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "XDG_STATE_HOME": str(folder / "state"),
            "STEWARD_NTFY_URL": url,
        }
        with _daemon(environ) as path:
            numbers = itertools.count()
            ours = partial(_at_once, path, numbers)
            bare = partial(_at_once, echo, numbers)
            yield Figure(f"{_CLIENTS} clients at once, dial to answer, p99", ours, bare, 1, "<= 50 ms")
            yield _command(folder, environ)


def _command(folder: Path, environ: dict[str, str]) -> Figure:
    transcript = folder / "transcript.jsonl"
    names = itertools.count()

    def another() -> None:
        _write(transcript)
        said = {"uuid": f"u{next(names)}", "message": {"role": "assistant", "content": [{"type": "text", "text": "x"}]}}
        with transcript.open("a") as file:
            file.write(json.dumps(said) + "\n")

    fields = {
        "hook_event_name": "Stop",
        "session_id": "bench",
        "cwd": "/home/u/project",
        "transcript_path": str(transcript),
        "last_assistant_message": "x",
    }
    here = folder / "project"
    ours = partial(_run, [COMMAND, "notify", "--harness", "claude-code"], environ, here, json.dumps(fields).encode())
    bare = partial(_run, [sys.executable, "-I", "-c", "pass"], environ, here, b"")
    return Figure("notify to a daemon, start to exit", ours, bare, 1, "<= 3.5", another, rounds=25)


def _at_once(path: str, numbers: Iterator[int]) -> float:
    """Let all clients dial before one of them hears, and return the 99th percentile of their waits."""
    lines = [frames.encode(frames.Frame(_TURN._replace(completion_id=str(next(numbers))), "")) for _ in range(_CLIENTS)]
    began: dict[int, float] = {}
    peers: dict[int, socket.socket] = {}
    poll = select.poll()
    for line in lines:
        peer = socket.socket(socket.AF_UNIX)
        began[peer.fileno()], peers[peer.fileno()] = time.perf_counter(), peer
        peer.connect(path)
        peer.sendall(line)
        poll.register(peer, select.POLLIN)
    waits: list[float] = []
    while len(waits) < _CLIENTS:
        for number, _ in poll.poll():
            waits.append(time.perf_counter() - began[number])
            assert b"\n" in peers[number].recv(65536)
            poll.unregister(number)
    # What was accepted is brought to its end first: the next round finds a daemon at rest.
    for peer in peers.values():
        while peer.recv(65536):
            pass
        peer.close()
    return statistics.quantiles(waits, n=100)[98]


@contextmanager
def _daemon(environ: dict[str, str]) -> Iterator[str]:
    path = f"{environ['XDG_RUNTIME_DIR']}/steward/notifyd.sock"
    with subprocess.Popen([COMMAND, "notifyd"], env=environ, stderr=subprocess.DEVNULL) as one:
        try:
            while one.poll() is None:
                with socket.socket(socket.AF_UNIX) as peer:
                    if peer.connect_ex(path) == 0:
                        break
            yield path
        finally:
            one.terminate()


@contextmanager
def _topic() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-I", "-c", _TOPIC], stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        port = int(one.stdout.readline())
        try:
            yield f"http://127.0.0.1:{port}/bench"
        finally:
            one.kill()
