"""A real HTTP server that plays the topic's, with a script of answers, and remembers what it was sent."""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Got(NamedTuple):
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: str


class Ntfy:
    """The topic: answers from its script, then 200; `0` closes the connection without an answer, `-1` stays mute."""

    def __init__(self) -> None:
        self.script: list[int] = []
        self.headers: dict[str, str] = {}
        self.got: list[Got] = []
        self.lock = Lock()
        self.go = Event()
        """Cleared, it holds every answer back until it is set."""
        self.go.set()
        self.over = Event()
        self.url = ""

    @property
    def bodies(self) -> list[str]:
        return [got.body for got in self.got]


@contextmanager
def serving() -> Iterator[Ntfy]:
    """Serve a topic on a port of this machine."""
    topic = Ntfy()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            headers = {name.lower(): value.encode("latin-1").decode() for name, value in self.headers.items()}
            with topic.lock:
                topic.got.append(Got(self.path, headers, body))
                status = topic.script.pop(0) if topic.script else 200
            topic.go.wait(20)
            if status == -1:
                topic.over.wait(20)
            if status <= 0:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in topic.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base's own name)
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256  # fifty at once must not wait for the kernel to try again

    server = Server(("127.0.0.1", 0), Handler)
    topic.url = f"http://127.0.0.1:{server.server_address[1]}/topic"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield topic
    finally:
        topic.go.set()
        topic.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
