"""A real terminal: the dashboard as a person runs it, in a tmux server of the test's own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from rich.cells import cell_len

from sot_tui.comm import daemon_lock
from sot_tui.comm.home import Home
from sot_tui.comm.proof import SystemProcs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEADLINE_SECS = 20.0
"""How long a fact is waited for; it comes in a fraction of that."""
LOOK_SECS = 0.05
_WRONG_SIZE = {"COLUMNS": "40", "LINES": "10"}
"""What some shells export, and what is not the terminal's size for long."""


class Terminal:
    """A tmux pane with the dashboard in it; what comes after it says how it ended."""

    def __init__(
        self,
        folder: Path,
        width: int = 100,
        height: int = 30,
        program: str = "-m sot_tui",
        *,
        name: str = "tmux",
        env: str = "",
        inside: str = "",
    ) -> None:
        """`inside` is the command that runs another one in another place than this machine's own."""
        self._socket = str(folder / name)
        self._tmux = shutil.which("tmux") or "tmux"
        command = f"{inside} {f'env {env} ' if env else ''}{sys.executable} {program}; echo ended with $?; cat"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), command)

    def tmux(self, *words: str) -> str:
        """Run one tmux command."""
        environ = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "SOT_SELF_HOST": "box", **_WRONG_SIZE}
        done = subprocess.run(
            [self._tmux, "-S", self._socket, *words], capture_output=True, text=True, check=True, env=environ
        )
        return done.stdout

    def text(self) -> str:
        """Return what the terminal shows."""
        return self.tmux("capture-pane", "-p")

    def colours(self) -> set[str]:
        """Return every SGR parameter that the terminal shows something with."""
        return set(re.findall(r"\x1b\[([\d;:]+)m", self.tmux("capture-pane", "-p", "-e")))

    def says(self, words: str) -> bool:
        """Tell whether the terminal shows these words, wherever its lines are broken."""
        flat = self.text().translate(dict.fromkeys(map(ord, "│█╭╮╰╯"), " "))
        return " ".join(words.split()) in " ".join(flat.split())

    def press(self, *keys: str) -> None:
        """Press keys, by the names that tmux has for them."""
        self.tmux("send-keys", *keys)

    def click(self, words: str, *, beside: str = "", times: int = 1) -> None:
        """Click where these words stand, as a terminal reports it: SGR bytes for the press and for the release.

        With `beside` they are those in whose row that stands too.
        """
        assert (self.flag("mouse_any_flag"), self.flag("mouse_sgr_flag")) == ("1", "1"), "it was not asked for clicks"
        rows = self.text().split("\n")
        y = next((at for at, row in enumerate(rows) if words in row and beside in row), None)
        assert y is not None, f"{words!r} is not to be seen\n{self.text()}"
        x = cell_len(rows[y][: rows[y].index(words)]) + cell_len(words) // 2
        report = "".join(f"\x1b[<0;{x + 1};{y + 1}{end}" for end in "Mm")
        for _ in range(times):
            self.tmux("send-keys", "-H", *(f"{byte:x}" for byte in report.encode()))

    def type(self, words: str) -> None:
        """Type words, letter by letter."""
        self.tmux("send-keys", "-l", words)

    def flag(self, name: str) -> str:
        """Return a fact that tmux knows of the terminal."""
        return self.tmux("display-message", "-p", f"#{{{name}}}").strip()

    def dashboard(self) -> int:
        """Return the dashboard's process id."""
        shell = self.flag("pane_pid")
        return int(subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True, check=True).stdout.split()[0])

    def is_open(self) -> bool:
        """Tell whether the dashboard in it still runs."""
        return bool(self._dashboards())

    def until(self, fact: Callable[[], object], what: str, secs: float = DEADLINE_SECS) -> None:
        """Wait until a fact holds; print the terminal when it never does."""
        deadline = time.monotonic() + secs
        while not fact():
            if time.monotonic() > deadline:
                raise AssertionError(f"it never came within {secs:g} s: {what}\n{self.text()}")
            time.sleep(LOOK_SECS)

    def until_gone(self, pid: int, secs: float = DEADLINE_SECS) -> None:
        """Wait until a process has ended."""
        deadline = time.monotonic() + secs
        while SystemProcs().start_of(pid) is not None:
            assert time.monotonic() < deadline, f"pid {pid} goes on"
            time.sleep(LOOK_SECS)

    def close(self) -> None:
        """End the server, and everything in it; also a daemon that a dashboard leaves behind while rows run."""
        dashboards = self._dashboards()
        subprocess.run([self._tmux, "-S", self._socket, "kill-server"], capture_output=True, check=False)
        for pid in dashboards:
            self._wait_for(pid)
        left = daemon_lock.last_holder(Home("/"), os.environ)
        if left.what == "daemon" and SystemProcs().start_of(int(left.pid)) is not None:
            parent = subprocess.run(["ps", "-o", "ppid=", "-p", left.pid], capture_output=True, text=True, check=False)
            if parent.stdout.strip() != str(os.getpid()):  # one that a test has started is that test's
                os.kill(int(left.pid), signal.SIGTERM)

    def _dashboards(self) -> list[int]:
        """Return the processes in the terminal that are no shell's; none when it is gone already."""
        listed = [self._tmux, "-S", self._socket, "list-panes", "-F", "#{pane_pid}"]
        shell = subprocess.run(listed, capture_output=True, text=True, check=False).stdout.strip()
        if not shell:
            return []
        found = subprocess.run(["pgrep", "-P", shell, "python"], capture_output=True, text=True, check=False)
        return [int(pid) for pid in found.stdout.split()]

    @staticmethod
    def _wait_for(pid: int) -> None:
        deadline = time.monotonic() + DEADLINE_SECS
        while SystemProcs().start_of(pid) is not None and time.monotonic() < deadline:
            time.sleep(LOOK_SECS)
