"""An agent in a pseudo-terminal: started, read, written to, resized, ended.

Started from a process of one thread that stands in the project's folder already: a child that fails to go there would
go on as a copy of its parent. The agent gets the environment as it was given, no descriptor but its terminal, and every
signal as a fresh login has it; Python's own habit of ignoring a broken pipe is no agent's (dependencies, PTY). Nothing
here waits: what an agent does not read is kept up to a bound and refused beyond it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import struct
import termios
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ptyprocess import PtyProcess

from sot_tui.engine.rows.lane_wire import QUEUE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

READ_BYTES = 1 << 16
"""Bytes that are read at once, at most; a terminal gives four thousand of them in one call."""
HANGUP_SECS, TERM_SECS, KILL_SECS = 0.0, 5.0, 10.0
"""After an end was asked for: when the agent is sent SIGHUP, SIGTERM and SIGKILL, as long as it has not ended."""
_STEPS = ((HANGUP_SECS, signal.SIGHUP), (TERM_SECS, signal.SIGTERM), (KILL_SECS, signal.SIGKILL))

_REPLIES_LIMIT = 1 << 12
"""The terminal's own answers are dropped when so much input waits: an agent that asks and never reads fills nothing."""
_IUTF8 = 0x4000
"""Linux and macOS: an erase takes a whole character (termios(3)); the module does not name it."""


class Ended(NamedTuple):
    """How an agent ended."""

    exit: int | None
    signal: int | None


def program_path(program: str, searched: str) -> str | None:
    """Return the path of the program that these words start in this folder, or None when there is none."""
    folders = [""] if "/" in program else [folder for folder in searched.split(":") if folder.startswith("/")]
    for folder in folders:
        path = f"{folder}/{program}" if folder else os.path.abspath(program)
        with suppress(OSError, ValueError):
            if program and stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK):
                return path
    return None


class Child:
    """One agent and the owner's end of its terminal."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], columns: int, lines: int) -> None:
        """Start it; raises the OSError of a program that cannot be run."""
        self._process = PtyProcess.spawn(
            list(argv), env=dict(environ), preexec_fn=_as_at_login, dimensions=(lines, columns)
        )
        self.pid = self._process.pid
        self.fd = self._process.fd
        self.ended: Ended | None = None
        self.waiting = bytearray()
        """Input that the agent has not read."""
        self._signals = list(_STEPS)
        os.set_blocking(self.fd, False)
        with suppress(termios.error):
            modes = termios.tcgetattr(self.fd)
            modes[0] |= _IUTF8
            termios.tcsetattr(self.fd, termios.TCSANOW, modes)

    def read(self) -> bytes | None:
        """Return what it wrote, nothing when there is nothing now, None when nobody has its terminal open."""
        parts: list[bytes] = []
        left = READ_BYTES
        try:
            while left > 0:
                part = os.read(self.fd, left)
                if not part:  # a system that has no EIO here ends the file
                    return b"".join(parts) or None
                parts.append(part)
                left -= len(part)
        except BlockingIOError:
            pass
        except OSError:  # EIO on Linux; what came before it counts, and the next read says it again
            return b"".join(parts) or None
        return b"".join(parts)

    def offer(self, data: bytes) -> bool:
        """Send input, all of it or, when too much waits already, nothing; tell which."""
        if self.ended is not None or len(self.waiting) + len(data) > QUEUE_LIMIT:
            return False
        self.waiting += data
        self.flush()
        return True

    def answer(self, data: bytes) -> None:
        """Send what the terminal itself says to a question."""
        if data and len(self.waiting) < _REPLIES_LIMIT:
            self.offer(data)

    def flush(self) -> None:
        """Write what waits, as far as the agent's terminal takes it."""
        try:
            while self.waiting:
                del self.waiting[: os.write(self.fd, self.waiting)]
        except BlockingIOError:
            return
        except OSError:
            self.waiting.clear()  # nobody is there to read it

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size; the kernel tells the programs in it."""
        with suppress(OSError):  # it is gone, and its end is noticed elsewhere
            fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def ask_to_redraw(self) -> None:
        """Tell the programs in the terminal that its size may have changed, which makes them draw everything."""
        with suppress(OSError):
            os.killpg(os.tcgetpgrp(self.fd), signal.SIGWINCH)

    def reap(self) -> Ended | None:
        """Return how it ended, None while it runs."""
        if self.ended is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # reaped by nobody we know: it is gone, and nothing says how
                pid, status = self.pid, -1
            if pid:
                code = os.waitstatus_to_exitcode(status) if status >= 0 else None
                is_signal = code is not None and code < 0
                self.ended = Ended(None if is_signal else code, -code if code is not None and is_signal else None)
                self.waiting.clear()
        return self.ended

    def press_to_end(self, since: float) -> float | None:
        """Send what is due so long after the end was asked for; return when the next is, None when there is none."""
        while self._signals and self.ended is None and since >= self._signals[0][0]:
            number = self._signals.pop(0)[1]
            # Its own group; a shell's jobs are told by the shell, and by the kernel when the terminal goes.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
                os.killpg(self.pid, signal.SIGCONT)
        return self._signals[0][0] if self._signals and self.ended is None else None

    def close(self) -> None:
        """Let go of the terminal: what still runs in it is told that it is gone."""
        with suppress(OSError):
            self._process.fileobj.close()
        self._process.closed = True  # its own close would wait, and end what is not ours to end


def _as_at_login() -> None:
    """Give every signal its default, and block none."""
    for number in signal.valid_signals():
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            with suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
