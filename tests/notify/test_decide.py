"""Reference, section 5: the table of decisions, and the words of a push."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sot_tui.notify.decide import Notice, decide, is_claimable, notice, project
from tests.notify.pieces import ASKED, ENDED, IDLE, PI_TURN, STOP

if TYPE_CHECKING:
    from sot_tui.notify.event import Event


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (STOP._replace(agent_id="a"), ("silent", "", "agent context")),
        (STOP._replace(agent_type="a"), ("silent", "", "agent context")),
        (ENDED._replace(agent_type="a"), ("silent", "", "agent context")),
        (ASKED._replace(notification_type="elicitation_dialog", agent_type="a"), ("silent", "", "agent context")),
        (ENDED, ("silent", "", "session end")),
        (STOP._replace(goal_active=True), ("silent", "", "goal active: deferring to built-in /goal")),
        (STOP, ("send", "done", "root completion")),
        (PI_TURN, ("send", "done", "root completion")),
        (ASKED, ("send", "blocked", "permission prompt")),
        (ASKED._replace(notification_type="elicitation_dialog"), ("send", "blocked", "elicitation dialog")),
        (ASKED._replace(notification_type="elicitation_url_dialog"), ("send", "blocked", "elicitation dialog")),
        (ASKED._replace(notification_type="agent_needs_input"), ("send", "blocked", "background session needs input")),
        (IDLE, ("silent", "", "unhandled notification type: idle_prompt")),
        (IDLE._replace(source_event="SubagentStop"), ("silent", "", "unhandled event: SubagentStop")),
    ],
)
def test_b57_decide_when_any_row_of_the_table_then_its_outcome_and_exact_reason(
    event: Event, said: tuple[str, str, str]
) -> None:
    assert decide(event) == said


@pytest.mark.parametrize("said", ["", "still working…", "approve this?", "ERROR"])
def test_b58_decide_when_the_text_differs_then_nothing_else_does(said: str) -> None:
    assert decide(PI_TURN._replace(assistant=said, user=said)) == ("send", "done", "root completion")


@pytest.mark.parametrize(
    "event",
    [
        IDLE._replace(harness="pi", source_event="Stop"),
        IDLE._replace(harness="pi", notification_type="permission_prompt"),
    ],
)
def test_d5_decide_when_ignored_then_silent_whatever_its_source(event: Event) -> None:
    assert decide(event).outcome == "silent"
    assert not is_claimable(event)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("permission_prompt", "needs permission"),
        ("elicitation_dialog", "needs input"),
        ("elicitation_url_dialog", "needs input"),
        ("agent_needs_input", "needs input"),
    ],
)
def test_b59_notice_when_an_input_says_nothing_then_what_it_needs(kind: str, body: str) -> None:
    event = ASKED._replace(notification_type=kind, message="")
    assert notice(event, "blocked", "earth:3", "earth").body == body


def test_b61_notice_when_a_completion_then_project_and_workspace_name_it() -> None:
    event = PI_TURN._replace(cwd="/home/user/project")
    assert notice(event, "done", "earth:3", "earth") == Notice("project · earth:3", "assistant", "done")
    assert notice(event, "done", "", "earth").title == "project · earth"
    assert notice(event, "done", "", "earth", label="Fix the parser").title == "Fix the parser · earth"
    needs = ASKED._replace(notification_type="agent_needs_input")
    assert notice(needs, "blocked", "earth:3", "earth").title == "project · earth"


@pytest.mark.parametrize(
    ("cwd", "name"), [("/home/user/project/", "project"), ("", "."), ("/", "/"), ("//", "/"), ("x", "x")]
)
def test_project_when_any_folder_then_its_last_element(cwd: str, name: str) -> None:
    assert project(cwd) == name


@pytest.mark.parametrize("said", ["", "```\n```", '{"a":1}', " \n "])
def test_notice_when_the_assistant_said_nothing_readable_then_turn_complete(said: str) -> None:
    assert notice(PI_TURN._replace(assistant=said), "done", "", "earth").body == "turn complete"


@pytest.mark.parametrize(
    ("event", "is_one"),
    [
        (PI_TURN, True),
        (STOP, True),
        (PI_TURN._replace(completion_id=""), False),
        (PI_TURN._replace(session_id=""), False),
        (PI_TURN._replace(agent_id="a"), False),
        (STOP._replace(goal_active=True), False),
        (ASKED, False),
        (ENDED, False),
    ],
)
def test_is_claimable_when_any_event_then_only_named_completions_that_are_sent(event: Event, is_one: bool) -> None:
    """Contract, claims: "Only non-dry, structurally eligible completions with non-empty reliable identity"."""
    assert is_claimable(event) is is_one
