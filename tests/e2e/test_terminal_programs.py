"""Real programs in a pseudo-terminal that our emulator owns: at every look, the screen is tmux's for the same bytes."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self

import pytest
from ptyprocess import PtyProcess

from sot_tui.wake.terminal import Terminal
from tests.oracles import AFRESH, Seen, Tmux, seen, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is what ours is held against"),
]

_COLUMNS, _LINES = 80, 24
_DEADLINE_S = 20.0

_TEXTUAL = """
from textual.app import App
from textual.widgets import Button, DataTable, Footer, Header, Input

class Fleet(App):
    CSS = "DataTable { height: 9 }"
    BINDINGS = [("q", "quit", "Quit")]
    def compose(self):
        yield Header()
        yield DataTable()
        yield Input(placeholder="a dim placeholder")
        yield Button("Send 日本 🚀")
        yield Footer()
    def on_mount(self):
        table = self.query_one(DataTable)
        table.add_columns("row", "state", "words")
        table.add_rows([(f"r{n}", "working", "é ❯ ─" * 3) for n in range(40)])
        table.focus()

Fleet().run()
"""


_CONF = """
set -g assume-paste-time 0
set -g default-command 'PS1="pane $(tmux list-panes | wc -l) > " exec bash --norc'
"""
"""tmux for the test: what is typed comes at once, and is no paste; each pane's prompt says which it is."""


class _Case(NamedTuple):
    argv: list[str]
    steps: list[tuple[str, str]]
    """What is typed, and what must then be on the screen; `gone` waits for the end."""


_CASES = {
    "bash": _Case(
        ["bash", "--norc", "--noprofile", "-i"],
        [
            ("PS1='\\[\\e[1;32m\\]demo\\[\\e[0m\\] > '\r", "demo >"),
            ("ls -la --color=always /usr | head -30; echo li''sted\r", "listed"),
            ("printf '\\033[2mdim\\033[m %s\\n' 日本 ⚠️ 👩‍💻 é; echo dr''awn\r", "drawn"),
            ("echo " + "long words that wrap " * 6 + "\x01\x05\x7f\x7f\x7f\x02\x02x" + "; echo wr''apped\r", "wrapped"),
            ("seq 1 100; echo co''unted\r", "counted"),
            ("exit\r", "gone"),
        ],
    ),
    "vim": _Case(
        ["vim", "-u", "NONE", "-N", "-i", "NONE", "{file}"],
        [
            ("", "line 5 "),
            (":syntax on | set number hlsearch cursorline\r/line 1\\d\r", "line 12"),
            ("\x06\x06\x02jjddyyppO日本 inserted\x1b", "日本 inserted"),
            (":split\r:set wrap\rG\x15\x15zt", "line 60"),
            (":vsplit\r\x17\x17gg100ix\x1b", "xxxx"),
            (":qa!\r", "gone"),
        ],
    ),
    "less": _Case(
        ["less", "-R", "{file}"],
        [
            ("", "line 5 "),
            (" jjjkk", "line 26"),
            ("/line 55\r", "line 55"),
            ("G", "line 60"),
            ("-S\rgg", "line 1 "),
            ("q", "gone"),
        ],
    ),
    "htop": _Case(
        ["htop", "-d", "2"], [("", "PID"), ("\x1b[B\x1b[B", "PID"), ("\x1bOS", "Filter"), ("\r", "PID"), ("q", "gone")]
    ),
    "tmux": _Case(
        ["tmux", "-S", "{inner}", "-f", "{conf}", "new-session"],
        [
            ("", "pane 1 >"),
            ("\x02%", "pane 2 >"),
            ("seq 1 50; echo co''unted\r", "counted"),
            ('\x02"', "pane 3 >"),
            ("echo lo''wer\r", "lower"),
            ("exit\r", "pane 2 >"),
            ("\x02[\x15\x15", "/"),
            ("q", "pane 2 >"),
            ("\x02d", "gone"),
        ],
    ),
    "textual": _Case(
        [sys.executable, "-c", _TEXTUAL],
        [
            ("", "placeholder"),
            ("\x1b[B\x1b[B\x1b[B", "r3"),
            ("\t", "Send"),
            ("draft 日本", "draft 日本"),
            ("\t\x11", "gone"),
        ],
    ),
}


class _Program:
    """A program in a pseudo-terminal, as a row runs it: what it asks is answered."""

    def __init__(self, argv: list[str]) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        environment.pop("TMUX", None)
        self._process = PtyProcess.spawn(argv, env=environment, dimensions=(_LINES, _COLUMNS))
        self._terminal = Terminal(_COLUMNS, _LINES)
        self.written = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close(force=True)

    def press(self, keys: str) -> None:
        os.write(self._process.fd, keys.encode())

    def until(self, words: str) -> None:
        """Read until the screen has these words and nothing more comes at once, or until the program is gone."""
        deadline = time.monotonic() + _DEADLINE_S
        while self._read(deadline):
            screen = self._terminal.snapshot(now=time.monotonic())
            if any(words in "".join([cell.data for cell in row]) for row in screen.rows) and not self._is_ready(0.05):
                return
        assert words == "gone", f"ended before {words!r} was shown"

    def _is_ready(self, seconds: float) -> bool:
        return bool(select.select([self._process.fd], [], [], seconds)[0])

    def _read(self, deadline: float) -> bool:
        if not self._is_ready(max(0.0, deadline - time.monotonic())):
            shown = text(_shown(self.written))
            raise AssertionError("\n".join(shown))
        try:
            data = os.read(self._process.fd, 65536)
        except OSError:  # Linux says the end so
            return False
        self.written += data
        self._terminal.feed(data, now=time.monotonic())
        if replies := self._terminal.replies():
            os.write(self._process.fd, replies)
        return bool(data)


def _shown(written: bytes) -> Seen:
    terminal = Terminal(_COLUMNS, _LINES)
    terminal.feed(AFRESH + written, now=0.0)
    screen = terminal.snapshot(now=9.0)
    return seen(screen.rows, screen.cursor_x, screen.cursor_y)


@contextmanager
def _no_server_left(socket: Path) -> Iterator[None]:
    """End the server that a tmux of the test has started."""
    try:
        yield
    finally:
        if socket.exists():
            subprocess.run(["tmux", "-S", str(socket), "kill-server"], check=False)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", _CASES)
def test_program_when_it_runs_in_a_terminal_of_ours_then_the_screen_is_as_tmux_shows_it(
    name: str, tmp_path: Path
) -> None:
    case = _CASES[name]
    if not shutil.which(case.argv[0]):
        pytest.skip(f"{name} is not installed")
    file = tmp_path / "file.txt"
    lines = [f"line {number} " + "words é 日本 ─ and more " * (number % 7) for number in range(1, 61)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "conf").write_text(_CONF, encoding="utf-8")
    words = {"{file}": str(file), "{conf}": str(tmp_path / "conf"), "{inner}": str(tmp_path / "inner")}
    argv = [words.get(word, word) for word in case.argv]
    with Tmux(tmp_path, _COLUMNS, _LINES) as tmux, _Program(argv) as program, _no_server_left(tmp_path / "inner"):
        for keys, awaited in case.steps:
            program.press(keys)
            program.until(awaited)
            ours, shown = _shown(program.written), tmux.show([AFRESH + program.written])[0]
            assert text(ours) == text(shown)
            assert ours == shown
