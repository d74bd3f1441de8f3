"""Real programs in a real row: what the capsule shows equals what tmux shows for the very same bytes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sot_tui.comm.disk import Disk
from sot_tui.engine.rows import lane_wire, voyage
from tests.capsule.process import until
from tests.oracles import AFRESH, Tmux, seen

if TYPE_CHECKING:
    from tests.capsule.process import CapsuleRow, Wire

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

TEXTUAL = """\
from textual.app import App
from textual.widgets import DataTable, Footer, Header, Input


class Real(App):
    def compose(self):
        yield Header()
        yield Input(placeholder="a dim word")
        yield DataTable()
        yield Footer()

    def on_mount(self):
        table = self.query_one(DataTable)
        table.add_columns("handle", "state", "漢字")
        table.add_rows([f"row {number}", "works", "❤️"] for number in range(50))


Real().run()
"""


class Program(NamedTuple):
    """What is run, and what is pressed in it once its screen shows some words."""

    argv: tuple[str, ...]
    first: str
    steps: tuple[tuple[str, str], ...]
    """Bytes to type, and the words that come of them; the screens are compared after each."""


PROGRAMS = {
    "bash": Program(
        ("bash", "--norc", "-i"),
        "bash-",
        (
            ("ls -la / | head -15\r", "root"),
            ("for i in $(seq 40); do printf '\\033[3%dm%d \\033[0m漢字\\n' $((i % 8)) $i; done\r", "40 "),
            ("echo a long line that is edited", "edited"),
            ("\x01\x1bf\x1bd\x1b[C\x05\x7f\x7f!", "edit!"),
            ("\x03clear; printf '\\033[2mdim\\033[22m \\033[4:3mcurly\\033[0m\\n'\r", "curly"),
        ),
    ),
    "vim": Program(
        ("vim", "-u", "NONE", "-N", "-i", "NONE", "text.txt"),
        "line 1",
        (
            (":syntax on | set number hlsearch ruler laststatus=2\r", "1 line 1"),
            ("/7\r", "line 7"),
            ("ddp10GOnew 漢字 text\x1b", "new 漢字 text"),
            (":split\r\x04", "text.txt"),
            ("gg:3,9d\r", "fewer lines"),
            ("u", "more lines"),
        ),
    ),
    "less": Program(
        ("less", "text.txt"),
        "line 1",
        ((" ", "line 40"), ("b", "line 1"), ("/99\r", "line 99"), ("G", "line 300"), ("kkk", "line 29")),
    ),
    "htop": Program(("htop", "-d", "100"), "PID", (("\x1b[B\x1b[B", "PID"), ("\x1bOP", "htop"), ("q", "PID"))),
    "tmux": Program(
        ("tmux", "-S", "inner", "-f", "/dev/null", "new-session", "bash --norc"),
        "bash-",
        (
            ("seq 1 50\r", "50"),
            ('\x02"', "bash-"),
            ("echo below\r", "below"),
            ("\x02%", "bash-"),
            ("\x02[", "[0/"),
            ("\x1b[5~", "["),
            ("q", "below"),
            ("\x02:", ":"),
            ("rename-window 漢字\r", "漢字"),
        ),
    ),
    "textual": Program(
        (sys.executable, "app.py"),
        "works",
        (("typed", "typed"), ("\t\x1b[B\x1b[B\x1b[6~", "row 2"), ("\x1b[F", "row 4")),
    ),
}


def output(row: CapsuleRow) -> bytes:
    """Return every byte that the agent wrote, by its recording."""
    folder = Path(voyage.folder(str(row.folder), voyage.pointer(Disk(), str(row.folder))))
    events = [json.loads(line) for line in (folder / "run.cast").read_text().splitlines()[1:]]
    return "".join(event[2] for event in events if event[1] == "o").encode()


def still(row: CapsuleRow, wire: Wire) -> bytes:
    """Wait until the program writes nothing more for a while, and its screen has all of it; return what it wrote."""
    last = b""

    def rests() -> bool:
        nonlocal last
        before, last = last, output(row)
        status = wire.status()
        return last == before and status["lag"] == 0 and not status["synchronizing"]

    for _ in range(4):
        until(rests, "it comes to rest")
    return last


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_when_it_runs_in_a_row_then_its_screen_is_the_one_tmux_shows(
    row: CapsuleRow, comm_home: Path, name: str
) -> None:
    """Product, Rows: bash, vim, less, htop, tmux, a Textual program; the very same bytes, cell by cell."""
    program = PROGRAMS[name]
    if shutil.which(program.argv[0]) is None:
        pytest.skip(f"{program.argv[0]} is not here")
    (row.root / "text.txt").write_text("".join(f"line {number}\n" for number in range(1, 301)))
    (row.root / "app.py").write_text(TEXTUAL)
    wire = row.up(*program.argv, size=(100, 30))
    try:
        with Tmux(comm_home.parent, 100, 30) as tmux:
            wire.shows(program.first)
            compared = 0
            for typed, words in (("", program.first), *program.steps):
                if typed:
                    wire.type(typed)
                wire.shows(words)
                written = still(row, wire)
                said = wire.ask("snapshot", since=-1)
                if output(row) != written:  # it draws by itself, as htop does: what was compared must be one moment
                    continue
                rows = lane_wire.rows_of(said, said["cols"])
                ours = seen(tuple(rows[place] for place in range(said["lines"])), *said["cursor"])
                tmux.write(0, AFRESH + written)
                theirs = tmux.look(0)
                assert ours == theirs, f"after {typed!r}"
                compared += 1
            assert compared >= len(program.steps) - 1
    finally:
        if name == "tmux":  # its server has left the row's terminal behind, and goes on without it
            subprocess.run(["tmux", "-S", str(row.root / "inner"), "kill-server"], check=False)
