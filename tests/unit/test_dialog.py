"""Which lines of a screen are a dialog, by the safe choices of daemon wire 5."""

from __future__ import annotations

import pytest

from sot_tui.wake import dialog

PLAIN = ("Allow Bash?", "", "  rm -r build", "", "❯ 1. Yes", "  2. No")
BOXED = (
    "● Bash(rm -r build)",
    "",
    "╭──────────────────────────────╮",
    "│ Bash command                 │",
    "│                              │",
    "│   rm -r build                │",
    "│                              │",
    "│ Do you want to proceed?      │",
    "│ ❯ 1. Yes                     │",
    "│   2. Yes, and don't ask again│",
    "│   3. No (esc)                │",
    "╰──────────────────────────────╯",
)
RULED = (
    "some words of before",
    "────────────────────────────────",
    " Bash command",
    "",
    "   git push",
    "",
    " Do you want to proceed?",
    "   1. Yes",
    " ❯ 2. No",
    "   3. Never",
    "",
    " Esc to cancel · Tab to amend",
    "",
)
BOX = ("────────────", "❯\u00a0", "────────────")


def test_dialog_when_it_stands_alone_then_all_of_it_is_found() -> None:
    found = dialog.found(PLAIN)
    assert found is not None
    assert (found.lines, found.keys, found.focused, found.title) == (PLAIN, ("1", "2"), "1", "Allow Bash?")


def test_dialog_when_it_has_a_box_then_it_is_found_without_the_box() -> None:
    found = dialog.found(BOXED)
    assert found is not None
    assert found.lines == (
        "Bash command",
        "",
        "  rm -r build",
        "",
        "Do you want to proceed?",
        "❯ 1. Yes",
        "  2. Yes, and don't ask again",
        "  3. No (esc)",
    )
    assert found.keys == ("1", "2", "3")


def test_dialog_when_it_stands_below_a_rule_then_what_is_above_is_no_part_of_it() -> None:
    found = dialog.found(RULED)
    assert found is not None
    assert found.lines[0] == "Bash command"
    assert found.lines[-1] == "Esc to cancel · Tab to amend"
    assert (found.keys, found.focused) == (("1", "2", "3"), "2")


def test_dialog_when_the_text_above_is_numbered_too_then_the_menu_alone_gives_the_keys() -> None:
    found = dialog.found(("1. read the file", "2. change it", "3. test it", "", *PLAIN))
    assert found is not None
    assert found.keys == ("1", "2")


@pytest.mark.parametrize(
    "screen",
    [
        pytest.param((), id="nothing"),
        pytest.param(("$ ls", "a  b"), id="a shell"),
        pytest.param(("❯ 1. Yes",), id="one option"),
        pytest.param(("  1. Yes", "❯ 2. No"), id="no option below the focused one"),
        pytest.param(("❯\u00a01. Yes", "  2. No"), id="no ASCII blank behind the glyph"),
        pytest.param(("> 1. Yes", "  2. No"), id="another glyph"),
        pytest.param(("❯ 1. Yes", "  3. No"), id="a number is missing"),
        pytest.param(("❯ 2. Yes", "  3. No"), id="it does not begin with one"),
        pytest.param((*PLAIN, *BOX), id="the main input box below"),
        pytest.param((*BOX, "", *PLAIN), id="the main input box above"),
        pytest.param((*PLAIN, "── done ──", "❯\u00a0write", "────"), id="the main input box with words"),
    ],
)
def test_dialog_when_it_is_not_clear_then_there_is_none(screen: tuple[str, ...]) -> None:
    assert dialog.found(screen) is None


def test_dialog_when_the_screen_is_of_many_lines_then_those_far_above_are_left_out() -> None:
    found = dialog.found([f"line {number}" for number in range(200)] + list(PLAIN))
    assert found is not None
    assert len(found.lines) == dialog.MOST_LINES + 2
