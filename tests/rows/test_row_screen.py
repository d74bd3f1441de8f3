"""The row's screen on real capsules: opened from the nav, typed into, looked at, left; driven as a person drives it."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest
from textual import events

from sot_tui.comm.fleet import row_key
from sot_tui.engine.client import NotLive
from sot_tui.engine.rows.row import Row, Wanted
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.row import RowScreen
from sot_tui.screens.show import Words
from tests.screens.real import Opened, joined

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.rows.supervised import Supervised

pytestmark = pytest.mark.e2e
BASH = ("/bin/bash", "--norc", "--noprofile", "-i")
LOG = """
import sys, termios, tty, os
tty.setraw(0)
os.write(1, sys.argv[1].encode().decode('unicode_escape').encode('latin-1') + b'up\\r\\n')
while data := os.read(0, 65536):
    os.write(1, repr(data).encode() + b'\\r\\n')
"""
"""An agent in raw mode that shows every byte it reads."""
SMALL = """
from textual.app import App
from textual.widgets import Button, Input, Label

class Small(App):
    def compose(self):
        yield Input(id="in")
        yield Button("press me")
        yield Label("none", id="out")

    def on_button_pressed(self):
        self.query_one("#out").update("pressed " + self.query_one("#in").value)

Small().run()
"""


@pytest.fixture(autouse=True)
def ended_rows(supervised: Supervised, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every row ended that a test starts."""
    del supervised
    monkeypatch.setenv("SOT_SELF_HOST", "box")
    monkeypatch.setenv("PS1", "$ ")


class Rowed(NamedTuple):
    """A dashboard with one row in it."""

    opened: Opened
    row: Row

    @property
    def screen(self) -> RowScreen:
        screen = self.opened.app.screen
        assert isinstance(screen, RowScreen), screen
        return screen

    def shows(self, words: str) -> bool:
        """Tell whether the terminal shows some words."""
        return words in self.screen.view.text

    async def until_shown(self, words: str) -> None:
        await self.opened.until(lambda: self.shows(words), words)

    async def type(self, *keys: str) -> None:
        await self.opened.pilot.press(*keys)

    def says(self, piece: str) -> str:
        return str(self.screen.query_one(f"#{piece}", Words).content)

    @property
    def agent_size(self) -> tuple[int, int]:
        snapshot = self.screen.view.snapshot
        return (snapshot.screen.columns, snapshot.screen.lines) if snapshot else (0, 0)


@asynccontextmanager
async def rowed(
    comm_home: Path, *command: str, size: tuple[int, int] = (90, 30), key: str = "enter"
) -> AsyncIterator[Rowed]:
    """Open a dashboard, make a row, and open its screen with a key."""
    project = comm_home.parent / "api"
    project.mkdir(exist_ok=True)
    async with joined(comm_home, size) as opened:
        await opened.until(lambda: opened.engine.rows is not None, "the rows")
        assert opened.engine.rows is not None
        row = await opened.engine.rows.create(Wanted("api", str(project), command=command))
        assert isinstance(row, Row), row
        await opened.until(lambda: row_key(row.id) in opened.lines.keys, "its line")
        opened.nav.go_to(row_key(row.id))
        await opened.pilot.pause()
        if key:
            await opened.pilot.press(key)
            await opened.until(lambda: isinstance(opened.app.screen, RowScreen), "the row's screen")
            rowed = Rowed(opened, row)
            if key == "enter":
                await opened.until(lambda: rowed.screen.takes_keys, "it takes the keys")
            await opened.until(lambda: rowed.agent_size != (0, 0), "a first screen")
        yield Rowed(opened, row)


def logger(path: Path, modes: str = "") -> tuple[str, ...]:
    """Return the command of an agent that shows every byte it reads."""
    script = path.parent / "log.py"
    script.write_text(LOG)
    return (sys.executable, "-I", str(script), modes)


async def test_row_when_opened_then_what_is_typed_is_echoed_and_its_size_is_that_of_the_panel(comm_home: Path) -> None:
    """Product, Rows: Enter opens the row's live screen: the person's keys go to the agent."""
    async with rowed(comm_home, *BASH) as one:
        view = one.screen.view
        await one.opened.until(lambda: one.agent_size == (view.size.width, view.size.height), "the size of the panel")
        await one.until_shown("$")
        await one.type(*"echo a-", "slash", "b", "q", "question_mark", "enter")
        await one.until_shown("\na-/bq?")
        await one.type(*"stty size", "enter")
        await one.until_shown(f"{view.size.height} {view.size.width}")
        assert one.screen.takes_keys, "no key of the dashboard was answered"
        await one.opened.pilot.resize_terminal(70, 20)
        await one.opened.until(
            lambda: one.agent_size == (view.size.width, view.size.height) != (90, 30), "the new size"
        )
        await one.type("ctrl+right_square_bracket")
        await one.opened.until(lambda: isinstance(one.opened.app.screen, NavScreen), "the nav")


async def test_keys_when_typed_then_each_reaches_the_agent_but_the_one_that_leaves(comm_home: Path) -> None:
    async with rowed(comm_home, *logger(comm_home)) as one:
        await one.until_shown("up")
        for key, said in {
            "escape": r"b'\x1b'", "ctrl+p": r"b'\x10'", "ctrl+q": r"b'\x11'", "ctrl+c": r"b'\x03'", "tab": r"b'\t'",
            "shift+tab": r"b'\x1b[Z'", "f1": r"b'\x1bOP'", "ctrl+f12": r"b'\x1b[24;5~'", "alt+x": r"b'\x1bx'",
            "shift+enter": r"b'\x1b\r'", "ctrl+s": r"b'\x13'", "pageup": r"b'\x1b[5~'", "up": r"b'\x1b[A'",
            "q": "b'q'", "slash": "b'/'", "question_mark": "b'?'", "é": r"b'\xc3\xa9'", "ctrl+r": r"b'\x12'",
        }.items():  # fmt: skip
            await one.type(key)
            await one.until_shown(said)
        assert one.screen.takes_keys


async def test_paste_when_it_comes_then_it_is_one_paste_to_the_agent(comm_home: Path) -> None:
    async with rowed(comm_home, *logger(comm_home, r"\x1b[?2004h")) as one:
        await one.until_shown("up")
        one.opened.app.post_message(events.Paste("two\nlines \x1b[201~rm"))
        await one.until_shown(r"b'\x1b[200~two\rlines rm\x1b[201~'")


async def test_mouse_when_the_agent_asks_for_it_then_it_gets_it_in_its_own_columns(comm_home: Path) -> None:
    async with rowed(comm_home, *logger(comm_home, r"\x1b[?1002h\x1b[?1006h")) as one:
        await one.until_shown("up")
        await one.opened.pilot.click(one.screen.view, offset=(5, 2))
        await one.until_shown(r"b'\x1b[<0;6;3M")
        await one.until_shown(r"\x1b[<0;6;3m'")
        one.screen.view.post_message(events.MouseScrollUp(one.screen.view, 5, 2, 0, 0, 0, False, False, False))
        await one.until_shown(r"b'\x1b[<64;6;3M'")


async def test_wheel_when_the_agent_does_not_ask_then_what_was_scrolled_off_is_looked_at(comm_home: Path) -> None:
    async with rowed(comm_home, "/bin/sh", "-c", "seq -f 'line %g' 300; exec cat") as one:
        view = one.screen.view
        await one.until_shown("line 300")
        for _ in range(20):
            view.post_message(events.MouseScrollUp(view, 5, 2, 0, 0, 0, False, False, False))
        await one.opened.until(lambda: view.looks_back == 60, "sixty lines back")
        await one.until_shown("line 220")
        assert "60 lines back" in one.says("row-head")
        await one.type("x")
        await one.opened.until(lambda: not view.looks_back, "typing leads back to the screen")
        await one.until_shown("line 300")


async def test_search_when_looking_then_the_last_place_is_shown_and_further_ones_by_enter(comm_home: Path) -> None:
    async with rowed(comm_home, "/bin/sh", "-c", "seq -f 'line %g' 900; exec cat", key="v") as one:
        view = one.screen.view
        await one.until_shown("line 900")
        assert not one.screen.takes_keys
        await one.type("slash", *"LINE 1", "2", "3")
        await one.until_shown("line 123")
        assert view.found == (1, 1)
        await one.type("backspace", "backspace")
        await one.opened.until(lambda: view.found == (111, 111), "all of them")
        await one.type("enter")
        await one.opened.until(lambda: view.found == (110, 111), "the one above")
        await one.type("escape")
        await one.opened.until(lambda: view.found == (0, 0), "the search is over")
        await one.type("end")
        await one.until_shown("line 900")
        await one.type("home")
        await one.until_shown("line 1\n")
        await one.type("escape", "escape")
        await one.opened.until(lambda: isinstance(one.opened.app.screen, NavScreen), "the nav")


async def test_mark_when_dragged_then_it_is_copied_without_the_blanks_behind_it(comm_home: Path) -> None:
    async with rowed(comm_home, "/bin/sh", "-c", r"printf 'one 漢 two   \r\nthree four\r\n'; exec cat") as one:
        await one.until_shown("three four")
        pilot, view = one.opened.pilot, one.screen.view
        await pilot.mouse_down(view, offset=(4, 0))
        await pilot.hover(view, offset=(4, 1))
        await pilot.mouse_up(view, offset=(4, 1))
        await one.opened.until(lambda: one.opened.app.clipboard == "漢 two\nthree", "it is copied")
        assert "copied 11 characters" in str(one.screen.query_one("#message", Words).content)


async def test_row_when_its_agent_ends_then_its_last_screen_its_end_and_the_way_back_are_shown(comm_home: Path) -> None:
    """Product, Rows: a row whose agent ended stays, with its last screen, exit and the command that would resume it."""
    async with rowed(comm_home, "/bin/sh", "-c", "echo the last words; read x; exit 3") as one:
        await one.until_shown("the last words")
        await one.type("enter")
        await one.opened.until(lambda: "exited with 3" in one.says("row-why"), "its end")
        await one.until_shown("the last words")
        assert not one.screen.takes_keys
        await one.opened.until(lambda: "read x; exit 3" in one.says("row-why"), "the command")
        assert "its last screen" in one.says("row-head")
        await one.type("i")
        assert "exited with 3" in str(one.screen.query_one("#message", Words).content)
        assert one.opened.engine.rows is not None
        assert isinstance(await one.opened.engine.rows.resume(one.row.id), Row)
        await one.opened.until(lambda: one.screen.view.snapshot is not None, "it lives again")
        await one.type("i")
        assert one.screen.takes_keys


async def test_size_when_two_look_then_it_is_that_of_who_types_and_the_other_is_told_whose(comm_home: Path) -> None:
    async with rowed(comm_home, *BASH) as one:
        await one.opened.until(lambda: one.agent_size[0] == one.screen.view.size.width, "its own size")
        other = await one.opened.engine.viewer(one.row.id)
        assert not isinstance(other, NotLive)
        assert await other.resize(60, 10, "another window") == ""
        await one.opened.until(lambda: one.agent_size == (60, 10), "the size of the other")
        await one.opened.until(lambda: "60x10 by another window" in one.says("row-head"), "whose it is")
        await one.type("x")
        await one.opened.until(lambda: one.agent_size[0] == one.screen.view.size.width, "its own size again")
        assert "another window" not in one.says("row-head")
        assert (await other.status()).sized_by == one.screen._who
        await other.close()


async def test_panel_when_it_is_tiny_then_the_agent_keeps_a_size_it_can_draw_on(comm_home: Path) -> None:
    async with rowed(comm_home, *BASH, size=(18, 8)) as one:
        await one.opened.until(lambda: one.agent_size == (20, 5), "the least size")
        await one.until_shown("$")


async def test_row_when_a_flood_runs_in_it_then_keys_are_answered_and_it_can_be_left(comm_home: Path) -> None:
    async with rowed(comm_home, "/bin/sh", "-c", "while :; do seq 1 1000; done") as one:
        await one.until_shown("99")
        await one.type("ctrl+right_square_bracket")
        await one.opened.until(lambda: isinstance(one.opened.app.screen, NavScreen), "the nav")


async def test_row_when_looked_at_by_one_who_may_only_look_then_no_key_goes_to_it(comm_home: Path) -> None:
    async with rowed(comm_home, *BASH, key="v") as one:
        before = one.agent_size
        await one.type("X", "y")
        assert one.agent_size == before == (120, 40), "who looks changes no size"
        assert "in part" in one.says("row-head")
        assert not one.shows("X")


@pytest.mark.parametrize(
    ("command", "keys", "sign"),
    [
        (("vim", "-u", "NONE", "-N"), (*"ihello there", "escape", *"yyp"), "hello there\nhello there"),
        (("less", "-S", "{file}"), ("G",), "row 500"),
    ],
)
async def test_program_when_it_fills_the_screen_then_it_is_driven_as_in_any_terminal(
    comm_home: Path, command: tuple[str, ...], keys: tuple[str, ...], sign: str
) -> None:
    file = comm_home.parent / "rows.txt"
    file.write_text("".join(f"row {number}\n" for number in range(1, 501)))
    async with rowed(comm_home, *(word.format(file=file) for word in command)) as one:
        view = one.screen.view
        await one.opened.until(lambda: view.snapshot is not None and view.snapshot.screen.alternate, "its screen")
        await one.opened.until(lambda: one.agent_size == (view.size.width, view.size.height), "its size")
        await one.type(*keys)
        await one.until_shown(sign)


async def test_program_when_it_is_a_textual_one_then_its_buttons_are_clicked_and_its_keys_pressed(
    comm_home: Path,
) -> None:
    script = comm_home.parent / "app.py"
    script.write_text(SMALL)
    async with rowed(comm_home, sys.executable, str(script)) as one:
        view = one.screen.view
        await one.until_shown("press me")
        await one.opened.until(lambda: one.agent_size == (view.size.width, view.size.height), "its size")
        await one.type(*"abc")
        await one.until_shown("abc")
        line = next(at for at, text in enumerate(view.text.split("\n")) if "press me" in text)
        column = view.text.split("\n")[line].index("press me")
        await one.opened.pilot.click(view, offset=(column + 2, line))
        await one.until_shown("pressed abc")
