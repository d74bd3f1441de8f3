"""A comm home with two sessions, and the real commands that one of them runs."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home
from sot_tui.comm.mounts import lock_identity

COMMAND = str(Path(sys.executable).with_name("sot-tui"))


class Box:
    """A comm home with two sessions, alpha and beta, and the commands that alpha's runs."""

    def __init__(self, folder: Path) -> None:
        self.comm = folder / "comm"
        self.work = folder / "work" / "alpha"
        self.work.mkdir(parents=True)
        self.env = {**os.environ, "SOT_COMM_TEST_HOST": "box", "SOT_SELF_HOST": "box", "PWD": str(self.work)}

    def start(self, *words: str | bytes, **more: Any) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([COMMAND, *words], **{"cwd": self.work, "env": self.env, **pipes, **more})

    def run(self, *words: str | bytes, body: bytes | None = None, **more: Any) -> tuple[int, bytes, bytes]:
        process = self.start(*words, **({"stdin": subprocess.PIPE} if body is not None else {}), **more)
        out, err = process.communicate(body, timeout=50)
        for stream in (out, err):
            assert b"Traceback" not in (stream or b""), stream
        return process.returncode, out, err

    def on_terminal(self, *words: str) -> tuple[int, bytes]:
        """Run with a terminal for stdout and stderr, and return what it was sent."""
        ours, theirs = pty.openpty()
        process = self.start(*words, stdout=theirs, stderr=theirs)
        os.close(theirs)
        seen = b""
        end = time.monotonic() + 50
        while time.monotonic() < end and select.select([ours], [], [], 1) is not None:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the last process on it has ended
                break
            if not part:
                break
            seen += part
        os.close(ours)
        return process.wait(timeout=10), seen

    def join(self) -> None:
        assert self.run("join")[0] == 0
        book = self.book()
        now = stamp(time.time())
        book["agents"]["beta-box"] = {**book["agents"]["alpha-box"], "root": "/elsewhere", "last_seen": now}
        self.comm.joinpath("registry.json").write_text(json.dumps(book), encoding="utf-8")
        home = Home(str(self.comm))
        record = f"{lock_identity(home)}\n{home.procs.machine_id()}\n"
        self.comm.joinpath("inbox-lock-manager").write_text(record, encoding="ascii")
        self.comm.joinpath("inbox-lock-manager").chmod(0o600)

    def book(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.comm.joinpath("registry.json").read_text(encoding="utf-8"))
        return found

    def mail(self, data: bytes) -> None:
        self.comm.joinpath("inbox", "alpha-box.jsonl").write_bytes(data)

    @property
    def sent(self) -> bytes:
        return self.comm.joinpath("inbox", "beta-box.jsonl").read_bytes()

    @property
    def cursor(self) -> Path:
        return self.comm / "read" / "alpha-box.cursor"
