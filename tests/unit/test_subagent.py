"""Which commands of a subagent are denied, and that a session's own never are."""

from __future__ import annotations

from pathlib import Path

import pytest

from sot_tui import cli
from sot_tui.comm import subagent
from sot_tui.comm.ancestry import Process, Walk, judge
from sot_tui.comm.hook_entries import ENTRIES
from sot_tui.comm.hook_input import Input


def event(command: object, **more: object) -> Input:
    return Input({"tool_name": "Bash", "tool_input": {"command": command}, **more})


@pytest.mark.parametrize(
    "command",
    [
        "comm-poll.sh",
        "~/.sot-comm/bin/comm-send.sh @h hi",
        "cd x && bash comm-join.sh --name y",
        "$(comm-list.sh)",
        "X='comm-relay.sh'; $X send @h",
        "sot-tui send @h hi",
        "/x/.venv/bin/sot-tui  poll",
        "'sot-tui' status working x",
        "sot-tui \\\n  leave",
        "python -m sot_tui poll",
        "sot-tui worktree-new x",
        "sot-tui session-start",
    ],
)
def test_command_when_it_uses_mail_then_a_subagent_is_denied_it_and_a_session_is_not(command: str) -> None:
    why = subagent.denial(event(command, agent_id="a1"))
    assert why is not None
    assert why.startswith("A subagent uses no mail: `")
    assert "\n" not in why
    assert subagent.denial(event(command)) is None
    assert subagent.denial(event(command, agent_id="")) is None
    assert subagent.denial(event(command, agent_id=None)) is None


@pytest.mark.parametrize("agent_id", [7, ["a"], {"a": 1}, "a", True])
def test_subagent_when_its_id_is_of_another_kind_then_it_is_one_all_the_same(agent_id: object) -> None:
    assert subagent.denial(event("comm-poll.sh", agent_id=agent_id))


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "git log --oneline",
        "mycomm-poll.sh",
        "my-comm-poll.sh",
        "comm-poll.shell",
        "comm -12 a b",
        "sot-tui --help",
        "sot-tui",
        "ls sot-tui/sends",
        "sot-tui sending",
        "sot-tuition send",
        "pytest tests -k sot_tui",
        "",
        7,
        None,
    ],
)
def test_command_when_it_uses_no_mail_then_a_subagent_may_run_it(command: object) -> None:
    assert subagent.denial(event(command, agent_id="a1")) is None


def test_verbs_when_one_is_new_then_it_is_known_whether_a_subagent_may_use_it() -> None:
    """A verb that is named nowhere here would be open to subagents by forgetting."""
    of_a_person = {"explain", "doctor", "info", "hook", "hooks", "install", "service", *cli.ELSEWHERE}
    of_a_person |= {"notify", "notifyd", "session-metadata"}
    named = {verb for verb in cli.VERBS if verb.startswith(subagent.SESSION_VERBS)}
    assert set(cli.VERBS) - of_a_person <= named | of_a_person
    assert not named & of_a_person


def test_subagent_when_its_shell_runs_a_verb_then_the_walk_takes_it_for_its_session() -> None:
    """Contract: "a subagent's shell has its session's ancestry, so the check takes it for the session. ... enforced for
    Claude Code by the hook above ...; Codex has no such hook, so there the rule is an instruction only."."""
    chain = (Process(("/bin/zsh", "-c", "comm-poll.sh")), Process(("claude",)), Process(("-zsh",)))
    assert judge(Walk(chain, complete=True), "").refusal("") is None
    guarded = {agent for agent, entries in ENTRIES.items() if any(entry.words == "subagent" for entry in entries)}
    assert guarded == {"claude"}
    root = Path(__file__).parents[2]
    skill = root / "sot_tui/skills/sot-comm/SKILL.md"
    told = " ".join(skill.read_text(encoding="utf-8").split())
    assert (
        "A subagent, and an agent that you start inside your session, has no handle: it neither sends nor reads" in told
    )
