"""The dashboard in a real terminal: it opens on nothing, ends cleanly, and lets no foreign byte through."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from tests.e2e.terminal import Terminal
from tests.screens.real import put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.box import Box

pytestmark = pytest.mark.e2e


def test_dashboard_when_there_is_no_comm_home_then_makes_one_and_says_what_fills_it(
    comm_home: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    terminal = open_dashboard()
    assert terminal.says("sot-tui join")
    assert comm_home.stat().st_mode & 0o777 == 0o700
    terminal.press("q")
    terminal.until(lambda: terminal.says("ended with 0"), "q quits")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_dashboard_when_it_is_told_to_end_then_gives_the_terminal_back(
    number: signal.Signals, open_dashboard: Callable[[], Terminal]
) -> None:
    terminal = open_dashboard()
    assert (terminal.flag("alternate_on"), terminal.flag("mouse_any_flag")) == ("1", "1")
    os.kill(terminal.dashboard(), number)
    terminal.until(lambda: terminal.says("ended with 0"), "a clean end")
    assert (terminal.flag("alternate_on"), terminal.flag("mouse_any_flag")) == ("0", "0")


def test_dashboard_when_ctrl_z_is_pressed_then_goes_on(open_dashboard: Callable[[], Terminal]) -> None:
    """Stopping it would stop the engine in it, and a stopped lock holder is a held lock."""
    terminal = open_dashboard()
    terminal.press("C-z", "?")
    terminal.until(lambda: terminal.says("Keys in the nav"), "it still answers")


def test_size_when_the_environment_says_another_then_the_terminals_own_counts(
    comm_home: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    put(comm_home, aa={"state": "idle"})
    terminal = open_dashboard()
    terminal.until(lambda: terminal.says("SINCE AGENT HOST"), "the wide layout")


def test_foreign_text_when_it_is_hostile_then_acts_on_nothing_and_shifts_nothing(
    comm_home: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    """ESC retitles a naive terminal; emoji with selectors, joiners and flags are counted in different ways."""
    texts = {
        "aa": "\x1b]2;pwned\x07\x1b[2J\x9b31m",
        "bb": "❤️ 👨‍👩‍👧 👍🏽 🇩🇪 x",
        "cc": "漢字 かな 한글 x",
        "dd": "e\u0301\u0301 \u202eevil\u2066",
        "ee": "[/] [@click=app.quit]x[/]",
    }
    put(comm_home, **{name: {"state": "waiting", "summary": text} for name, text in texts.items()})
    terminal = open_dashboard()
    terminal.until(lambda: len(waiting(terminal)) == len(texts), "every line, whole")
    assert len({cell_len(line[: line.rindex(" box")]) for line in waiting(terminal)}) == 1, "one column of hosts"
    assert "pwned" not in terminal.flag("pane_title")


def test_notice_when_sent_to_all_then_the_host_and_every_other_window_show_it_and_are_named(
    joined: Box, open_dashboard: Callable[[], Terminal]
) -> None:
    """Contract, The one result: `agent.send` is "published to every connection"; the window that hosts has none."""
    host = open_dashboard()
    one = f"dashboard-{host.dashboard()}"

    def sent(*names: str) -> bool:
        code, said, _ = joined.run("relay", "send", "--all", "the build\x1b[2J is green")
        return (code, said.decode()) == (0, f"sent -> {', '.join(names)}\n")

    host.until(lambda: sent(one), "the host is who sees it")
    host.until(lambda: host.says("the build␛[2J is green"), "the notice")
    other = open_dashboard()
    two = f"dashboard-{other.dashboard()}"
    host.until(lambda: sent(one, two), "both see it")
    other.until(lambda: other.says("alpha-box: the build␛[2J is green"), "the notice, in the window beside it")


@pytest.mark.parametrize(("option", "words"), [("external", "so it drops what is copied"), ("on", "passes on what")])
def test_doctor_when_it_runs_in_a_tmux_then_says_whether_that_lets_a_copy_out(
    comm_home: Path, option: str, words: str
) -> None:
    gate = comm_home.parent / "gate"
    os.mkfifo(gate)
    terminal = Terminal(comm_home.parent, 160, 90, f"-c 'open(\"{gate}\").read()'; {sys.executable} -m sot_tui doctor")
    try:
        terminal.tmux("set", "-s", "set-clipboard", option)
        gate.write_text("go")
        terminal.until(lambda: terminal.says("ended with"), "its end")
        assert terminal.says(words)
    finally:
        terminal.close()


def waiting(terminal: Terminal) -> list[str]:
    """Return the lines of who waits that are painted to their end."""
    return [line for line in terminal.text().split("\n") if "◌ waiting" in line and line.endswith(" box")]
