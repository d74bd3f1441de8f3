"""A row's screen in a real terminal: opened, typed into, resized, left; the agent gets what the terminal sends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.home import Home
from sot_tui.engine.rows.row import Row, Wanted
from sot_tui.engine.service import Engine
from tests.rows.supervised import capsules_below, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]
LOG = """
import os, sys, tty
tty.setraw(0)
os.write(1, sys.argv[1].encode().decode('unicode_escape').encode('latin-1') + b'up\\r\\n')
while data := os.read(0, 65536):
    os.write(1, repr(data).encode() + b'\\r\\n')
"""
"""An agent in raw mode that shows every byte it reads."""
TEXTUAL = """
from textual.app import App
from textual.widgets import Button, Input, Static


class Asks(App):
    def compose(self):
        yield Input()
        yield Button("push me")
        yield Static("nothing yet", id="said")

    def on_button_pressed(self):
        self.query_one("#said").update("pushed with " + self.query_one(Input).value)


Asks().run()
"""
"""A Textual program that takes keys and clicks."""
LOOKS = r"\x1b[2J\x1b[H\x1b[31mred\x1b[38;2;1;2;3mtrue\x1b[0;2mdim\x1b[0;4:3mcurly\x1b[0;9mstrike\x1b[0m漢ok\r\n"


@pytest.fixture
def with_row(comm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Return what makes a row that runs a command, before any dashboard is open."""
    monkeypatch.setenv("SOT_SELF_HOST", "box")
    project = comm_home.parent / "api"
    project.mkdir()
    config = comm_home.parent / "config" / "sot"
    config.mkdir()
    (config / "tui.toml").write_text('on_leave = "never"\n')  # a daemon that is left behind would outlive the test

    async def make(command: tuple[str, ...]) -> None:
        async with Engine(Home(str(comm_home)), {**os.environ, "PS1": "$ "}) as engine:
            await until(lambda: engine.rows is not None)
            assert engine.rows is not None
            row = await engine.rows.create(Wanted("api", str(project), command=command))
            assert isinstance(row, Row), row
            await until(lambda: engine.fleet.rows[row.id].phase == "ready")

    yield lambda *command: asyncio.run(make(command))
    for pid in capsules_below(f"{os.environ['XDG_STATE_HOME']}/sot/workspaces/"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def logger(folder: Path, begin: str) -> tuple[str, ...]:
    script = folder / "log.py"
    script.write_text(LOG)
    return (sys.executable, "-I", str(script), begin)


def opened(open_dashboard: Callable[[], Terminal]) -> Terminal:
    """Open a dashboard and the row's screen in it, by the keyboard."""
    terminal = open_dashboard()
    terminal.until(lambda: terminal.says("api"), "the row has a line")
    for _ in range(2):
        terminal.press("Enter")
        with suppress(AssertionError):
            terminal.until(lambda: terminal.says("^] leave"), "the row's screen", 3.0)
            return terminal
        terminal.press("Escape", "Up")
    raise AssertionError(terminal.text())


def test_row_when_opened_then_typed_resized_and_left_by_one_visible_key(
    with_row: Callable[..., None], open_dashboard: Callable[[], Terminal]
) -> None:
    """Product, Rows: Enter opens the row's live screen; the person's keys go to the agent, a visible detach key."""
    with_row("/bin/bash", "--norc", "--noprofile", "-i")
    terminal = opened(open_dashboard)
    terminal.type("echo a-/?q'b'")
    terminal.press("Enter")
    terminal.until(lambda: terminal.says("a-/?qb"), "the echo")
    terminal.until(lambda: terminal.flag("cursor_flag") == "1", "the cursor is the terminal's own")
    terminal.tmux("resize-window", "-x", "70", "-y", "20")
    terminal.until(lambda: terminal.says("70x16"), "the size follows the panel")
    terminal.press("C-l")
    terminal.type("stty size")
    terminal.press("Enter")
    terminal.until(lambda: terminal.says("16 70"), "the agent has it")
    terminal.press("C-]")
    terminal.until(lambda: terminal.says("enter view"), "the nav")
    terminal.until(lambda: terminal.flag("cursor_flag") == "0", "the cursor is hidden again")
    terminal.press("q")
    terminal.until(lambda: terminal.says("ended with 0"), "q quits there")


def test_keys_when_the_terminal_sends_them_then_the_agent_gets_their_bytes(
    with_row: Callable[..., None], open_dashboard: Callable[[], Terminal], comm_home: Path
) -> None:
    with_row(*logger(comm_home.parent, ""))
    terminal = opened(open_dashboard)
    for name, said in {
        "Escape": r"b'\x1b'", "M-Enter": r"b'\x1b\r'", "M-f": r"b'\x1bf'", "C-p": r"b'\x10'", "C-q": r"b'\x11'",
        "F1": r"b'\x1bOP'", "C-Up": r"b'\x1b[1;5A'", "M-BSpace": r"b'\x1b\x7f'",
        "C-c": r"b'\x03'", "C-z": r"b'\x1a'", "BTab": r"b'\x1b[Z'", "PPage": r"b'\x1b[5~'", "C-Space": r"b'\x00'",
        "M-.": r"b'\x1b.'", "é": r"b'\xc3\xa9'",
    }.items():  # fmt: skip
        terminal.press(name)
        terminal.until(lambda said=said: said in terminal.text(), f"{name} as {said}")  # type: ignore[misc]
    terminal.tmux("send-keys", "-H", *(f"{byte:x}" for byte in b"\x1b[25~"))
    terminal.until(lambda: r"b'\x1b[25~'" in terminal.text(), "F13")


def test_screen_when_the_agent_draws_it_then_the_terminal_shows_its_cells_and_their_looks(
    with_row: Callable[..., None],
    open_dashboard: Callable[[], Terminal],
    comm_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_row(*logger(comm_home.parent, LOOKS))
    monkeypatch.setenv("COLORTERM", "truecolor")
    terminal = opened(open_dashboard)
    terminal.until(lambda: "redtruedimcurlystrike漢ok" in terminal.text(), "its text")
    line = next(line for line in terminal.tmux("capture-pane", "-p", "-e").split("\n") if "curly" in line)
    for words in ("38;2;1;2;3", "4:3", "9m"):
        assert words in line, line


def test_vim_when_it_runs_in_a_row_then_it_is_typed_into_and_writes_its_file(
    with_row: Callable[..., None], open_dashboard: Callable[[], Terminal], comm_home: Path
) -> None:
    file = comm_home.parent / "text"
    with_row("vim", "-u", "NONE", "-N", "-i", "NONE", str(file))
    terminal = opened(open_dashboard)
    terminal.press("i")
    terminal.type("hello from vim")
    terminal.until(lambda: terminal.says("hello from vim"), "the text")
    terminal.press("Escape")
    terminal.type(":w")
    terminal.press("Enter")
    terminal.until(lambda: terminal.says("written"), "what vim says")
    assert file.read_text() == "hello from vim\n"
    terminal.press("C-]")
    terminal.until(lambda: terminal.says("enter view"), "the nav; vim had its Escape")


def test_less_when_it_runs_in_a_row_then_it_pages_searches_and_its_end_is_told(
    with_row: Callable[..., None], open_dashboard: Callable[[], Terminal], comm_home: Path
) -> None:
    file = comm_home.parent / "text"
    file.write_text("".join(f"line {number} of it\n" for number in range(1, 301)))
    with_row("less", str(file))
    terminal = opened(open_dashboard)
    terminal.until(lambda: terminal.says("line 1 of it"), "its first page")
    terminal.press("G")
    terminal.until(lambda: terminal.says("line 300 of it"), "its last page")
    terminal.type("?line 42 of")
    terminal.press("Enter")
    terminal.until(lambda: terminal.says("line 42 of it") and not terminal.says("line 300 of it"), "what was found")
    terminal.press("q")
    terminal.until(lambda: terminal.says("it exited with 0"), "its end")


def test_textual_program_when_it_runs_in_a_row_then_it_has_the_keys_and_the_mouse(
    with_row: Callable[..., None], open_dashboard: Callable[[], Terminal], comm_home: Path
) -> None:
    script = comm_home.parent / "asks.py"
    script.write_text(TEXTUAL)
    with_row(sys.executable, str(script))
    terminal = opened(open_dashboard)
    terminal.until(lambda: terminal.says("push me"), "its button")
    terminal.type("some words")
    terminal.until(lambda: terminal.says("some words"), "what was typed")
    terminal.click("push me")
    terminal.until(lambda: terminal.says("pushed with some words"), "the click arrived in its own cells")


def test_paste_when_it_is_of_a_megabyte_then_it_arrives_whole_in_one_bracket(
    with_row: Callable[..., None], open_dashboard: Callable[[], Terminal], comm_home: Path
) -> None:
    into = comm_home.parent / "read.bin"
    script = comm_home.parent / "save.py"
    script.write_text(
        "import os, sys, tty\ntty.setraw(0)\nos.write(1, b'\\x1b[?2004hup\\r\\n')\n"
        "with open(sys.argv[1], 'ab', buffering=0) as file:\n"
        "    while data := os.read(0, 65536):\n        file.write(data)\n"
    )
    with_row(sys.executable, "-I", str(script), str(into))
    terminal = opened(open_dashboard)
    text = "".join(f"line {number}\n" for number in range(95_000))
    assert len(text) > 1_000_000
    (comm_home.parent / "text").write_text(text)
    terminal.tmux("load-buffer", str(comm_home.parent / "text"))
    terminal.tmux("paste-buffer", "-p")
    wanted = b"\x1b[200~" + text.replace("\n", "\r").encode() + b"\x1b[201~"
    terminal.until(lambda: into.stat().st_size >= len(wanted), "the whole paste", 60)
    assert into.read_bytes() == wanted
