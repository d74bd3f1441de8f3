"""What a real terminal is sent: colours or none, ASCII or not, mouse or not, a title, a copied handle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.terminal import Terminal
from tests.screens.real import put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e

FLEET: dict[str, dict[str, object]] = {
    "asks": {"state": "blocked", "dialog": "Allow Bash?", "summary": "Allow Bash?"},
    "ready": {"state": "done", "done": True, "summary": "built café 漢"},
    "busy": {"state": "working", "summary": "n"},
}
_COLOUR = re.compile(r"(?:^|;)(?:3[0-8]|4[0-8]|9\d|10\d)(?:;|$)")
"""A parameter that sets a colour; 39 and 49 give the terminal's own back."""


@pytest.fixture
def terminal_with(comm_home: Path) -> Iterator[Callable[..., Terminal]]:
    """Return what opens the dashboard with an environment, and waits until the fleet is shown."""
    opened: list[Terminal] = []

    def start(env: str = "", settings: str = "") -> Terminal:
        put(comm_home, **FLEET)
        if settings:
            folder = comm_home.parent / "config" / "sot"
            folder.mkdir()
            (folder / "tui.toml").write_text(settings)
        terminal = Terminal(comm_home.parent, 110, env=env)
        opened.append(terminal)
        terminal.until(lambda: terminal.says("operator-box"), "the join")
        terminal.until(lambda: terminal.says("free"), "the lock is looked at")
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


def test_colours_when_nothing_is_asked_then_are_the_themes(terminal_with: Callable[..., Terminal]) -> None:
    terminal = terminal_with()
    assert any(parameter.startswith("38") or ";38" in parameter for parameter in terminal.colours())


def test_no_color_when_it_is_asked_then_not_one_colour_is_sent_and_all_can_be_told(
    terminal_with: Callable[..., Terminal],
) -> None:
    """no-color.org; shapes, words, bold and reverse say the same."""
    terminal = terminal_with("NO_COLOR=1")
    for key in ("?", "Escape", "l", "Escape", "c", "Escape", "C-p", "Escape"):
        terminal.press(key)
        assert [parameter for parameter in terminal.colours() if _COLOUR.search(parameter)] == []
    assert terminal.says("◆ blocked")
    assert any("7" in parameter.split(";") for parameter in terminal.colours()), "the selected line is reversed"


def test_colours_when_the_terminal_has_sixteen_then_only_those_are_sent(terminal_with: Callable[..., Terminal]) -> None:
    terminal = terminal_with("-u COLORTERM TERM=xterm-16color")
    parameters = ";".join(terminal.colours())
    assert "38;" not in parameters
    assert "48;" not in parameters
    assert re.search(r"(?:^|;)3[1-6](?:;|$)", parameters)


def test_colours_when_the_person_has_chosen_then_count(terminal_with: Callable[..., Terminal]) -> None:
    terminal = terminal_with("-u COLORTERM TERM=xterm-16color", 'theme = "sot-mono"\n')
    assert [parameter for parameter in terminal.colours() if _COLOUR.search(parameter)] == []


def test_signs_when_the_locale_is_not_utf8_then_are_ascii_alone(terminal_with: Callable[..., Terminal]) -> None:
    terminal = terminal_with("LC_ALL=C")
    for key in ("?", "Escape", "l", "Escape", "e", "Escape", "C-p"):
        assert terminal.text().isascii(), terminal.text()
        terminal.press(key)
    terminal.press("Escape")
    terminal.until(lambda: terminal.says("! blocked asks"), "its own shape")
    assert terminal.says("built caf? ??")


def test_signs_when_ascii_is_asked_then_foreign_text_stays(terminal_with: Callable[..., Terminal]) -> None:
    terminal = terminal_with(settings="ascii = true\n")
    terminal.until(lambda: terminal.says("! blocked asks"), "its own shape")
    assert terminal.says("built café 漢")
    assert not set("◆✓●─▌·") & set(terminal.text())


def test_signs_when_the_person_wants_them_then_come_whatever_the_locale(
    terminal_with: Callable[..., Terminal],
) -> None:
    terminal = terminal_with("LC_ALL=C", "ascii = false\n")
    assert terminal.says("◆ blocked asks")


def test_mouse_when_it_is_switched_off_then_stays_the_terminals(terminal_with: Callable[..., Terminal]) -> None:
    terminal = terminal_with(settings="mouse = false\n")
    assert terminal.flag("mouse_any_flag") == "0"
    terminal.press("?")
    terminal.until(lambda: terminal.says("Keys in the nav"), "the keys do everything")


def test_title_when_the_counts_change_then_says_them_and_is_given_back_at_the_end(
    comm_home: Path, terminal_with: Callable[..., Terminal]
) -> None:
    """Product: the window title carries the counts."""
    terminal = terminal_with()
    terminal.until(lambda: terminal.flag("pane_title") == "sot box: 2 need you, 1 working, 1 done", "the counts")
    put(comm_home, asks=None)
    terminal.until(lambda: terminal.flag("pane_title") == "sot box: 1 needs you, 1 working, 1 done", "the new counts")
    terminal.press("q")
    terminal.until(lambda: terminal.says("ended with 0"), "the end")
    terminal.until(lambda: "sot box" not in terminal.flag("pane_title"), "the old title")
    assert terminal.flag("pane_title")


def test_copy_when_asked_then_the_terminal_is_told_to_by_osc_52(terminal_with: Callable[..., Terminal]) -> None:
    terminal = terminal_with()
    terminal.tmux("set-option", "-g", "set-clipboard", "on")
    terminal.press("/")
    terminal.press("-l", "busy")
    terminal.press("Enter", "y")
    terminal.until(lambda: terminal.says("copied busy"), "the answer")
    terminal.until(lambda: terminal.tmux("list-buffers").strip(), "the terminal took it")
    assert terminal.tmux("show-buffer") == "busy"
