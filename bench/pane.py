"""A program in a terminal of its own, and the bytes it sends there: what a person would see is what is timed.

The reader is this process, so a sample is taken with the clock of who waits. Text is looked for with its colours and
cursor moves taken out; what the program has sent before `forget` does not count.
"""

from __future__ import annotations

import os
import re
import select
import time
from typing import TYPE_CHECKING, Self

from ptyprocess import PtyProcess

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

ROWS, COLUMNS = 40, 120
DEADLINE_SECS = 60.0
"""How long a text is waited for; what never comes is a fault of the bench."""
_CHUNK = 1 << 16
_TOLD = 4000
"""Characters of what came instead that a fault tells."""
_CONTROL = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]|[\x00-\x1f]")


class Pane:
    """One program and its terminal; both end with the context."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], cwd: str) -> None:
        self.began = time.perf_counter()
        self._process = PtyProcess.spawn(list(command), cwd=cwd, env=dict(environ), dimensions=(ROWS, COLUMNS))
        self._sent = b""

    def __enter__(self) -> Self:
        """Return the pane."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the program."""
        self._process.close(force=True)

    @property
    def pid(self) -> int:
        """Return the program's process id."""
        return self._process.pid

    def press(self, keys: bytes) -> None:
        """Send keys, as a terminal does."""
        os.write(self._process.fd, keys)

    def forget(self) -> None:
        """Let nothing that was sent so far count."""
        self._sent = b""

    def shown(self) -> str:
        """Return what was sent since, as text."""
        return _CONTROL.sub(b"", self._sent).decode("utf-8", "replace")

    def until(self, pattern: str) -> float:
        """Read until what was sent fits `pattern`, a regular expression; return when the read ended that brought it."""
        deadline = time.perf_counter() + DEADLINE_SECS
        wanted = re.compile(pattern)
        while not wanted.search(self.shown()):
            if not self._read(deadline - time.perf_counter()):
                raise AssertionError(f"it never came: {pattern!r}\n{self.shown()[-_TOLD:]}")
        return self._read_at

    def drain(self, secs: float) -> None:
        """Read for so long."""
        until = time.perf_counter() + secs
        while (left := until - time.perf_counter()) > 0:
            self._read(left)

    def _read(self, secs: float) -> bool:
        if not select.select([self._process.fd], [], [], max(0.0, secs))[0]:
            return False
        try:
            part = os.read(self._process.fd, _CHUNK)
        except OSError as ended:  # as Linux says that nobody is left on the other side
            raise AssertionError(f"the program has ended\n{self.shown()[-_TOLD:]}") from ended
        self._read_at = time.perf_counter()
        self._sent += part
        return True

    _read_at = 0.0
