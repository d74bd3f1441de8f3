"""Clients that file through a daemon which is killed again and again: what was answered ok is there, and there once."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home, ensure_home
from tests.caller import hello, request

pytestmark = [pytest.mark.stress, pytest.mark.timeout(90)]

SOTD = str(Path(sys.executable).with_name("sotd"))
CLIENTS, HANDLES, DEATHS = 8, 3, 4
FILED_EACH = 60
"""Messages that are filed between two deaths, and some more each time."""
DEADLINE_S = 20.0


class Filing(threading.Thread):
    """One client: it files one message after another, each over a connection of its own, and notes what was ok."""

    def __init__(self, number: int, path: str, over: threading.Event) -> None:
        super().__init__(name=f"client-{number}", daemon=True)
        self.number, self.path, self.over = number, path, over
        self.filed: list[str] = []
        self.tried = 0
        self.refused: list[str] = []

    def run(self) -> None:
        while not self.over.is_set():
            self.tried += 1
            text = f"{self.number}:{self.tried}"
            said = {"from": f"c{self.number}", "to": f"h{self.tried % HANDLES}", "text": text}
            try:
                with socket.socket(socket.AF_UNIX) as one:
                    one.settimeout(10)
                    one.connect(self.path)
                    one.sendall(hello(host="box") + request("comm.file", said))
                    with one.makefile("rb") as lines:
                        answer = next((line for line in lines if b'"op":"comm.file"' in line), b"")
            except OSError:
                time.sleep(0.02)  # no daemon is there just now
                continue
            if answer.endswith(b"\n"):
                self._note(text, json.loads(answer)["payload"])

    def _note(self, text: str, payload: dict[str, object]) -> None:
        if payload.get("ok") is True:
            self.filed.append(text)
        else:
            self.refused.append(str(payload.get("error")))


def until_filed(clients: list[Filing], more: int) -> None:
    """Wait until so many more messages were answered ok."""
    wanted = sum(len(client.filed) for client in clients) + more
    end = time.monotonic() + DEADLINE_S
    while sum(len(client.filed) for client in clients) < wanted:
        assert time.monotonic() < end, [(client.tried, len(client.filed)) for client in clients]
        time.sleep(0.002)


def start(environ: dict[str, str]) -> subprocess.Popen[bytes]:
    one = subprocess.Popen([SOTD, "run"], env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert one.stderr is not None
    said = one.stderr.readline()
    assert said.startswith(b"sotd: serving "), said
    return one


def test_filed_when_the_daemon_is_killed_at_any_moment_then_every_ok_is_kept_once(comm_home: Path) -> None:
    home = Home(str(comm_home))
    ensure_home(home)
    seen = stamp(time.time() + 3600)
    agents = {f"h{number}": {"host": "box", "last_seen": seen} for number in range(HANDLES)}
    Path(home.registry).write_text(json.dumps({"protocol_version": 1, "agents": agents}))
    environ = {**os.environ, "SOT_SELF_HOST": "box"}
    daemon = start(environ)
    over = threading.Event()
    path = f"{os.environ['XDG_RUNTIME_DIR']}/sot/sessions/sot.sock"
    clients = [Filing(number, path, over) for number in range(CLIENTS)]
    try:
        for client in clients:
            client.start()
        for death in range(DEATHS):
            until_filed(clients, FILED_EACH + 7 * death)
            daemon.send_signal(signal.SIGKILL)
            daemon.wait()
            assert daemon.stderr is not None
            daemon.stderr.close()
            daemon = start(environ)
        until_filed(clients, FILED_EACH)
    finally:
        over.set()
        for client in clients:
            client.join(20)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(20) == 0
        assert daemon.stderr is not None
        daemon.stderr.close()
    there: Counter[str] = Counter()
    for number in range(HANDLES):
        lines = Path(home.inbox(f"h{number}")).read_bytes().split(b"\n")
        there.update(json.loads(line)["msg"] for line in lines[:-1])
    filed = [text for client in clients for text in client.filed]
    assert not [text for text in filed if there[text] != 1], "answered ok, and not there once"
    assert not [text for text, count in there.items() if count > 1]
    assert not [words for client in clients for words in client.refused]
