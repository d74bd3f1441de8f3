"""Terminals that others wrote, to hold ours against: tmux, and Ghostty's where its binding is installed.

Each is given bytes and says what it shows, as rows of `Cell` and a cursor. tmux runs as a server of its own with one
client in control mode; bytes are written straight to the panes' terminals, and an end mark in the title tells when they
have been taken.
"""

from __future__ import annotations

import os
import re
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from sot_tui.wake.cells import BLANK, COLORS, NAMED, Cell

if TYPE_CHECKING:
    from pathlib import Path

AFRESH = b"\x18\x1b\\\x1b[?1049l\x1bc\x1b[?1049h\x1b[?1049l\x1b[2J\x1b[H\x1b7"
"""Puts every terminal into one state: out of any string, on the main screen, blank, the saved cursors at home."""

_DEADLINE_S = 10.0
_GRAPHICS = dict(zip("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))
_SEQUENCE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\]8;[^\x1b]*\x1b\\|([\x0e\x0f])|([^\x1b\x0e\x0f])", re.DOTALL)


class Seen(NamedTuple):
    """What a terminal shows."""

    rows: tuple[tuple[Cell, ...], ...]
    """One for each code point, without the blanks behind each row's end: tmux does not tell those it erased."""
    cursor: tuple[int, int]
    """Column and row; a column behind the last is the last."""


def text(shown: Seen) -> list[str]:
    """Return the rows' text, without the blanks behind it and without the rows behind the last that has any."""
    rows = ["".join([cell.data for cell in row]).rstrip(" ") for row in shown.rows]
    while rows and not rows[-1]:
        rows.pop()
    return rows


def seen(rows: tuple[tuple[Cell, ...], ...], x: int, y: int) -> Seen:
    """Return a screen of ours in the same form."""
    parted = ([cell._replace(data=char) for cell in row for char in cell.data] for row in rows)
    return Seen(tuple(map(_trimmed, parted)), (x, y))


def _trimmed(cells: list[Cell]) -> tuple[Cell, ...]:
    while cells and cells[-1]._replace(bg="default") == BLANK:
        cells.pop()
    return tuple(cells)


class Tmux:
    """A tmux server with some panes of one size, and its control client."""

    def __init__(self, folder: Path, columns: int, lines: int, panes: int = 1) -> None:
        self._columns, self._lines = columns, lines
        socket = str(folder / "tmux")
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        environment.pop("TMUX", None)
        keep = "stty raw -echo; exec sleep 86400"
        size = ["-x", str(columns), "-y", str(lines)]
        self._client = subprocess.Popen(
            ["tmux", "-S", socket, "-f", "/dev/null", "-C", "new-session", "-f", "no-output", *size, keep],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._answer()
        for _ in range(panes - 1):
            self.ask(f"new-window -d '{keep}'")
        for option in ("status off", "window-size manual", "history-limit 500"):
            self.ask(f"set-option -g {option}")
        self.ask("set-option -g remain-on-exit on")
        self.windows = self.ask("list-windows -F '#{window_id}'")
        for window in self.windows:
            self.ask(f"resize-window -t {window} -x {columns} -y {lines}")
        self._ttys = [self.ask(f"display-message -p -t {window} '#{{pane_tty}}'")[0] for window in self.windows]
        self._files = [os.open(tty, os.O_WRONLY | os.O_NOCTTY) for tty in self._ttys]
        for file in self._files:
            _wait_until_raw(file)
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            os.close(file)
        self._client.stdin and self._client.stdin.write(b"kill-server\n")
        self._client.communicate()

    def show(self, programs: list[bytes]) -> list[Seen]:
        """Return what each program shows, written whole to a pane of its own."""
        for place in range(len(programs)):
            self.write(place, programs[place])
        return [self.look(place) for place in range(len(programs))]

    def write(self, place: int, program: bytes) -> None:
        """Write bytes to a pane, and wait until tmux has taken them."""
        file = self._files[place]
        termios.tcflush(file, termios.TCIFLUSH)  # tmux's answers to queries
        self._count += 1
        mark = f"mark {self._count}"
        _write_all(file, program + f"\x1b\\\x1b]2;{mark}\x07".encode())
        deadline = time.monotonic() + _DEADLINE_S
        while (title := self.ask(f"display-message -p -t {self.windows[place]} '#{{pane_title}}'")) != [mark]:
            assert time.monotonic() < deadline, f"tmux says {title} where {mark} was written"

    def resize(self, place: int, columns: int, lines: int) -> None:
        """Change a pane's size."""
        self.ask(f"resize-window -t {self.windows[place]} -x {columns} -y {lines}")

    def look(self, place: int) -> Seen:
        """Return what a pane shows."""
        window = self.windows[place]
        said = self.ask(f"display-message -p -t {window} '#{{cursor_x}} #{{cursor_y}} #{{pane_width}}'")[0]
        x, y, columns = map(int, said.split())
        lines = self.ask(f"capture-pane -p -e -N -t {window}")
        return Seen(tuple(_trimmed(row) for row in _parsed(lines)), (min(x, columns - 1), y))

    def ask(self, command: str) -> list[str]:
        """Run a tmux command and return its lines."""
        assert self._client.stdin
        self._client.stdin.write(command.encode() + b"\n")
        self._client.stdin.flush()
        return self._answer()

    def _answer(self) -> list[str]:
        assert self._client.stdout
        lines: list[str] | None = None
        for raw in self._client.stdout:
            line = raw.decode().rstrip("\n")
            if line.startswith("%begin "):
                lines = []
            elif line.startswith(("%end ", "%error ")):
                assert line.startswith("%end "), lines
                return lines or []
            elif lines is not None:
                lines.append(line)
        raise AssertionError("tmux is gone")


def _wait_until_raw(file: int) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while termios.tcgetattr(file)[1] & termios.OPOST:
        assert time.monotonic() < deadline, "the pane's terminal never became raw"
        time.sleep(0.01)


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


_FLAGS = {1: "bold", 2: "dim", 3: "italic", 5: "blink", 7: "reverse", 8: "hidden", 9: "strike", 53: "overline"}
_PLACED = {38: "fg", 48: "bg", 58: "underline_color"}


def _parsed(lines: list[str]) -> list[list[Cell]]:
    """Read what `capture-pane -e` writes. Attributes go on from one row to the next."""
    rows = []
    style: dict[str, Any] = {}
    graphics = False
    for line in lines:
        row = []
        for found in _SEQUENCE.finditer(line):
            params, shift, char = found.groups()
            if params is not None:
                _turn(style, [part.split(":") for part in params.split(";")])
            elif shift:
                graphics = shift == "\x0e"
            elif char:
                row.append(Cell(_GRAPHICS.get(char, char) if graphics else char, **style))
        rows.append(row)
    return rows


def _turn(style: dict[str, Any], numbers: list[list[str]]) -> None:
    """Take one selection of attributes, as tmux writes them."""
    while numbers:
        parts = numbers.pop(0)
        number = int(parts[0] or 0)
        if number == 0:
            style.clear()
        elif number == 5 and len(parts) > 1:
            style["overline"] = True  # tmux 3.3 writes 53 so
        elif number == 4:
            style["underline"] = int(parts[1]) if len(parts) > 1 else 1
        elif number in _FLAGS:
            style[_FLAGS[number]] = True
        elif number in _PLACED:
            if len(parts) == 1:
                kind = numbers.pop(0)[0]
                rest = [numbers.pop(0)[0] for _ in range(1 if kind == "5" else 3)]
            else:
                kind, *rest = [part for part in parts[1:] if part]
            mixed = "".join([f"{int(level):02x}" for level in rest[-3:]])
            style[_PLACED[number]] = COLORS[int(rest[0])] if kind == "5" else mixed
        else:
            place = "fg" if number // 10 in {3, 9} else "bg"
            bright = 8 if number >= 90 else 0
            style[place] = "default" if number % 10 == 9 else NAMED[number % 10 + bright]


class Ghostty:
    """Ghostty's terminal, of one size."""

    def __init__(self, columns: int, lines: int) -> None:
        import pyghostty  # type: ignore[import-not-found]

        self._terminal: Any = pyghostty.Terminal(cols=columns, rows=lines, scrollback=0)
        self._columns = columns

    def show(self, program: bytes) -> tuple[list[str], tuple[int, int]]:
        """Return the text of the rows, as `text` does, and the cursor after a program."""
        self._terminal.feed(program)
        rows = [row.rstrip(" ") for row in self._terminal.text().split("\n")]
        while rows and not rows[-1]:
            rows.pop()
        return rows, self._terminal.cursor
