"""The daemon as a process of its own, its narration read as it comes, and hooks that speak to it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Thread

from sot_tui.notify import frame as frames
from tests.e2e.box import COMMAND

ANSWERS = {frames.encode_ack(word) for word in ("accepted", "duplicate", "rejected")}
ACCEPTED, DUPLICATE, REJECTED = (frames.encode_ack(word) for word in ("accepted", "duplicate", "rejected"))
DEADLINE_SECS = 50
_STRING = rb'"(?:[^"\\]|\\.)*"'
_TOLD = re.compile(
    rb'msg="notify frame rejected" reason=(?:invalid_frame|read_deadline)'
    rb'|msg="notify ack failed" reason=write'
    rb'|msg="notify (?:frame accepted|frame accepted degraded|frame duplicate|send failed)"'
    rb" harness=%(s)b session_id=%(s)b kind=%(s)b completion_id=%(s)b source_event=%(s)b" % {b"s": _STRING}
)


class Notifyd:
    """A daemon that runs; what it says on stderr is looked at line by line and not kept."""

    def __init__(self, url: str, words: tuple[str, ...] = (), **more: str) -> None:
        # No program composes, unless a test names one.
        environ = {**os.environ, "STEWARD_NTFY_URL": url, "STEWARD_HELPER_BIN": "", **more}
        self.path = f"{os.environ['XDG_RUNTIME_DIR']}/steward/notifyd.sock"
        self.lines = 0
        self.strange: list[bytes] = []
        """Lines that are none of the fixed ones."""
        self.secrets: list[bytes] = []
        """Lines with a word that stands in no log."""
        self.process = subprocess.Popen(
            [COMMAND, "notifyd", *words], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self._reader = Thread(target=self._read)
        self._reader.start()
        while self.process.poll() is None:
            with socket.socket(socket.AF_UNIX) as peer:
                if peer.connect_ex(self.path) == 0:
                    say(peer, b"\n")
                    assert heard(peer) == REJECTED
                    break

    def asked(self) -> socket.socket:
        """Return a connection; whoever asks for it closes it."""
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(self.path)  # without a time of its own, which would refuse to wait for a full queue
        except OSError:
            peer.close()
            raise
        peer.settimeout(DEADLINE_SECS)
        return peer

    def answer(self, data: bytes) -> bytes:
        """Return all that it says to some bytes, until it hangs up."""
        with self.asked() as peer:
            say(peer, data)
            return heard(peer)

    def resident_kb(self) -> int:
        """Return how much memory the process holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0])

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, wait for the end, and return the exit status."""
        self.process.send_signal(number)
        try:
            return self.process.wait(DEADLINE_SECS)
        finally:
            self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                self.lines += 1
                if b"SECRET" in line:
                    self.secrets.append(line)
                if not _TOLD.fullmatch(line.rstrip(b"\n")):
                    self.strange.append(line)


def say(peer: socket.socket, data: bytes) -> None:
    """Send bytes to a daemon that may have its line already and be gone: then they are nobody's."""
    with suppress(BrokenPipeError, ConnectionResetError):
        peer.sendall(data)


def heard(peer: socket.socket, until: bytes = b"") -> bytes:
    """Return what a daemon said, up to `until` or its end; that it left bytes unread is told by a reset, at the end."""
    said = b""
    with suppress(ConnectionResetError):
        while not (until and until in said) and (part := peer.recv(4096)):
            said += part
    return said
