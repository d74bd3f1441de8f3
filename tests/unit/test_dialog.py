"""Which lines of a screen are a dialog, by the safe choices of daemon wire 5."""

from __future__ import annotations

import pytest

from sot_tui.wake import dialog
from sot_tui.wake.terminal import Terminal
from tests.unit.test_terminal_recordings import INDEX

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
APPROVAL = "Press enter to confirm or esc to cancel"
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


@pytest.mark.parametrize("kind", ["approval-command", "question"])
def test_codex_when_it_asks_leave_then_a_number_answers_it_and_in_a_question_none_does(kind: str) -> None:
    """The numbers of its other menus move the mark alone, or are not known to answer."""
    name = f"codex-0.171.0-{kind}-80x24.cast"
    found = dialog.found(next(one["screen"] for one in INDEX if one["file"] == name))
    if kind == "question":
        assert found is None
        return
    assert found is not None
    assert found.title.strip() == "Would you like to run the following command?"
    assert found.lines[-1].strip() == APPROVAL
    assert "  $ python3 -m pytest -q tests" in found.lines
    assert (found.keys, found.focused) == (("1", "2", "3"), "1")


@pytest.mark.parametrize(
    "screen",
    [
        pytest.param(("Do it?", "› 1. Yes", "  2. No"), id="no line that says what confirms it"),
        pytest.param(("› 1. Yes", "  2. No", APPROVAL), id="nothing is asked"),
        pytest.param(("Reason: so?", "› 1. Yes", "  2. No", APPROVAL), id="the agent's own reason"),
        pytest.param(("Do it?", "  1. Yes", "  2. No", APPROVAL), id="nothing is marked"),
        pytest.param(("Do it?", "› 1. Yes", APPROVAL), id="one option"),
        pytest.param(("Hooks need review?", "› 1. Yes", "  2. No", "enter confirm · esc skip"), id="another menu"),
    ],
)
def test_codex_when_it_is_not_clear_then_there_is_none(screen: tuple[str, ...]) -> None:
    assert dialog.found(screen) is None


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


def test_dialog_when_it_is_taller_than_its_text_then_no_empty_line_is_at_its_ends() -> None:
    border = "────────────"
    found = dialog.found((border, "", "  ", *PLAIN, "", border, "later"))
    assert found is not None
    assert found.lines == PLAIN


def test_dialog_when_text_follows_behind_a_gap_then_it_is_no_part_of_it() -> None:
    found = dialog.found((*PLAIN, "", "", "later", "words"))
    assert found is not None
    assert (found.lines, found.keys) == (PLAIN, ("1", "2"))


# -- which one waits, as the wake sees it ------------------------------------------------------------------------------

RULE = "─" * 60
MENU = (RULE, " Bash command", "", "   git push", "", " Do you want to proceed?", " ❯ 1. Yes", "   2. No")
HINT = "   Esc to cancel · Tab to amend"


def read(*lines: str) -> dialog.Waiting | None:
    terminal = Terminal(60, 30)
    terminal.feed("\r\n".join(lines).encode(), 0.0)
    return dialog.read(terminal.snapshot(0.0))


def test_waiting_when_hints_stand_below_its_options_then_as_many_lines_as_hints_have_and_no_more() -> None:
    waits = dialog.Waiting(dialog.Kind.PERMISSION, "Bash command")
    assert read(*MENU, "", HINT) == waits
    assert read(*MENU, "", "", "", "", "", "", HINT) == waits
    assert read(*MENU, "", "a", "b", "c", "Esc to cancel") == waits
    assert read(*MENU, "", "a", "b", "c", "d", "Esc to cancel") is None
    assert read(*MENU, "    a", "    b", "    c", "    d", "    e", "Esc to cancel") == waits
    assert read(*MENU, "   a", "   b", "   c", "   d", "Esc to cancel") is None
    assert read(*MENU) is None


def test_waiting_when_the_menu_has_one_option_then_it_is_no_menu_and_only_some_kinds_need_none() -> None:
    assert read(*MENU[:-1], HINT) is None
    assert read(RULE, " Accessing workspace:", "", " Is it yours?", " ❯ 1. Yes", HINT) == dialog.Waiting(
        dialog.Kind.TRUST, "Accessing workspace:"
    )


def test_waiting_when_words_of_a_kind_stand_far_below_its_heading_then_they_are_its_matter() -> None:
    matter = (" Bash command", "", "   a", "   b", "   c", "   Auto mode", "", " Do you want to proceed?")
    options = (" ❯ 1. Yes", "   2. No", HINT)
    assert read(RULE, *matter, *options) == dialog.Waiting(dialog.Kind.PERMISSION, "Bash command")
    heading = (" Enable auto mode?", "", "   a")
    assert read(RULE, *heading, *options) == dialog.Waiting(dialog.Kind.AUTO_MODE, "Enable auto mode?")


def test_waiting_when_it_is_a_plan_then_its_heading_names_it_and_else_what_it_asks() -> None:
    options = (" ❯ 1. Yes", "   2. No", HINT)
    plan = (RULE, " Ready to code?", "", "   a plan", "", " Would you like to go on?", *options)
    assert read(*plan) == dialog.Waiting(dialog.Kind.PLAN, "Ready to code?")
    other = (RULE, " Fetch", "", "   a page", "", " Do you want to fetch this?", *options)
    assert read(*other) == dialog.Waiting(dialog.Kind.PERMISSION, "Do you want to fetch this?")


def test_waiting_when_codex_asks_leave_then_the_nearest_question_above_that_is_no_reason_names_it() -> None:
    options = ("› 1. Yes", "  2. No", "", APPROVAL)
    approval = dialog.Waiting(dialog.Kind.PERMISSION, "Run this command?")
    assert read("Would it?", "Run this command?", "Reason: may I?", "", *options) == approval
    assert read("words", "", *options) == dialog.Waiting(dialog.Kind.PERMISSION, "approval")
    assert read("words", "  1. Yes", "  2. No", "", APPROVAL) is None
    question = dialog.Waiting(dialog.Kind.QUESTION, "Which one?")
    assert read("Question 1/2", "Which one?", "", *options[:-1], "enter to submit answer") == question
    assert read("") is None


def test_looks_when_two_in_a_row_agree_then_and_only_then_it_has_changed() -> None:
    one, other = (dialog.Waiting(dialog.Kind.PERMISSION, line) for line in ("one", "other"))
    looks = dialog.Looks()
    settled = []
    for seen in (one, one, other, one, other, other, None, other, None, None):
        looks = looks.after(seen)
        settled.append(looks.settled)
    assert settled == [None, one, one, one, one, other, other, other, other, None]


def test_waiting_when_its_options_have_no_numbers_then_their_margin_tells_them() -> None:
    top = (RULE, " Bash command", "", " Do you want to proceed?", " ❯ Yes")
    waits = dialog.Waiting(dialog.Kind.PERMISSION, "Bash command")
    more = "     and so on"
    assert read(*top, "   No", HINT.strip()) == waits
    assert read(*top, more, more, more, "   No", HINT.strip()) == waits
    assert read(*top, more, more, more, more, "   No", HINT.strip()) is None
    assert read(*top, more, HINT.strip()) is None


def test_waiting_when_a_rule_is_the_screen_s_last_line_then_no_dialog_goes_on_below_it() -> None:
    lines = (*MENU, HINT, RULE)
    terminal = Terminal(60, len(lines))
    terminal.feed("\r\n".join(lines).encode(), 0.0)
    assert dialog.read(terminal.snapshot(0.0)) is None
    goes_on = (RULE, " Bash command", "", " Do you want to proceed?", " ❯ 1. Yes", RULE, "   2. No", HINT)
    assert read(*goes_on) == dialog.Waiting(dialog.Kind.PERMISSION, "Bash command")


def test_waiting_when_a_dialog_s_answers_are_keys_then_its_last_line_with_text_says_so() -> None:
    lines = (RULE, " Enable auto mode?", "", "   words of it", "", " Enter to confirm · Esc to cancel")
    assert read(*lines) == dialog.Waiting(dialog.Kind.AUTO_MODE, "Enable auto mode?")
    assert read(*lines, "", "   more") is None
