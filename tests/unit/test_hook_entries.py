"""The hook entries: merged into settings of any kind, taken out again, and nothing else touched."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from sot_tui.comm import hook_entries
from sot_tui.comm.errors import Refused

AGENTS = tuple(hook_entries.ENTRIES)


def hook(command: str, **more: object) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


def commands(settings: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (event, group.get("matcher", ""), one.get("command", ""))
        for event, groups in settings.get("hooks", {}).items()
        for group in groups
        for one in group.get("hooks", [])
        if isinstance(one, dict)
    ]


OTHERS: list[dict[str, Any]] = [
    {},
    {"model": "opus", "permissions": {"allow": ["Bash(ls)"]}},
    {"hooks": {"Notification": []}},
    {"hooks": {"Stop": [{"hooks": []}]}},
    {"hooks": {"Stop": [{"hooks": [hook("~/bin/my-stop")]}], "Notification": [{"hooks": [hook("bell")]}]}, "z": [1]},
    {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook("guard", timeout=3), {"type": "prompt"}]}]}},
    {"hooks": {"Stop": [{"matcher": "x", "odd": 1, "hooks": [hook("nice sot-tui hook stop")]}]}},
    {"hooks": {"Stop": [{"hooks": [hook("sot-tui hooks install"), hook("my-sot-tui hook stop")]}]}},
    {"hooks": {"Stop": [{"hooks": [hook("echo sot-tui hook stop"), hook("sot-tui hook stop | tee log"), 7, None]}]}},
]  # fmt: skip


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("settings", OTHERS, ids=[str(number) for number in range(len(OTHERS))])
def test_entries_when_installed_and_taken_out_then_the_settings_are_as_before(
    settings: dict[str, Any], agent: str
) -> None:
    before = copy.deepcopy(settings)
    there = hook_entries.installed(settings, agent, "sot-tui")
    again = hook_entries.installed(there, agent, "sot-tui")
    assert settings == before
    assert json.dumps(again) == json.dumps(there)
    assert hook_entries.missing(there, agent, "sot-tui") == []
    assert hook_entries.missing(settings, agent, "sot-tui") == list(hook_entries.ENTRIES[agent])
    assert len(commands(there)) == len(commands(before)) + len(hook_entries.ENTRIES[agent])
    assert set(commands(before)) <= set(commands(there))
    back = hook_entries.uninstalled(there)
    assert back == before
    assert json.dumps(back) == json.dumps(before)


@pytest.mark.parametrize("settings", [{"hooks": {}}, {"hooks": {"Stop": []}}])
def test_entries_when_taken_out_of_what_was_an_empty_table_then_that_goes_too(settings: dict[str, Any]) -> None:
    """It says nothing, and whether it stood there before is not known any more."""
    assert hook_entries.uninstalled(settings) == settings
    assert hook_entries.uninstalled(hook_entries.installed(settings, "claude", "sot-tui")) == {}


@pytest.mark.parametrize("agent", AGENTS)
def test_entries_when_of_another_place_or_version_then_an_install_puts_the_right_ones_in_their_stead(
    agent: str,
) -> None:
    older = hook_entries.installed({}, agent, "'/old place/bin/sot-tui'")
    older["hooks"].setdefault("SubagentStop", []).append({"hooks": [hook("/old/sot-tui hook retired-event")]})
    older["hooks"]["Stop"][0]["hooks"].append(hook("mine"))
    older["hooks"]["Stop"].append({"hooks": [hook("sot-tui hook stop", timeout=999)]})
    there = hook_entries.installed(older, agent, "sot-tui")
    assert sorted(commands(there)) == sorted(
        [*commands(hook_entries.installed({}, agent, "sot-tui")), ("Stop", "", "mine")]
    )
    assert commands(hook_entries.uninstalled(older)) == [("Stop", "", "mine")]


def test_entries_when_doubled_then_an_install_leaves_one() -> None:
    there = hook_entries.installed({}, "claude", "sot-tui")
    doubled = copy.deepcopy(there)
    doubled["hooks"]["Stop"] *= 2
    assert hook_entries.installed(doubled, "claude", "sot-tui") == there


@pytest.mark.parametrize(
    "settings",
    [{"hooks": []}, {"hooks": "x"}, {"hooks": None}, {"hooks": {"Stop": {}}}, {"hooks": {"Stop": ["x"]}},
     {"hooks": {"Other": [{"hooks": {}}]}}],
)  # fmt: skip
def test_settings_when_of_another_shape_then_they_are_refused_and_not_repaired(settings: dict[str, Any]) -> None:
    for act in (
        lambda: hook_entries.installed(settings, "claude", "sot-tui"),
        lambda: hook_entries.uninstalled(settings),
        lambda: hook_entries.missing(settings, "claude", "sot-tui"),
    ):
        with pytest.raises(Refused):
            act()


def test_claudes_entries_when_listed_then_they_are_the_contracts_and_the_subagents_guard() -> None:
    """Contract, registry.json: "The hooks Claude Code runs are UserPromptSubmit (prompt), PreToolUse on AskUserQuestion
    (blocked), Stop (stop) and a PostToolUse heartbeat"; Cases: a PreToolUse hook on Bash for subagents.
    """
    assert commands(hook_entries.installed({}, "claude", "sot-tui")) == [
        ("SessionStart", "", "sot-tui hook session-start"),
        ("UserPromptSubmit", "", "sot-tui hook prompt"),
        ("PreToolUse", "AskUserQuestion", "sot-tui hook blocked"),
        ("PreToolUse", "Bash", "sot-tui hook subagent"),
        ("PostToolUse", "", "sot-tui hook heartbeat"),
        ("Stop", "", "sot-tui hook stop"),
    ]


def test_codexs_entries_when_listed_then_they_are_the_contracts_and_nothing_stands_beside_them() -> None:
    """Contract, registry.json: "A Codex session's PermissionRequest hook sends dialog and the heartbeat sends resumed".
    Codex refuses a file with anything but `hooks` at its top.
    """
    there = hook_entries.installed({}, "codex", "sot-tui")
    assert list(there) == ["hooks"]
    assert commands(there) == [
        ("UserPromptSubmit", "", "sot-tui hook prompt --agent codex"),
        ("PermissionRequest", "", "sot-tui hook permission --agent codex"),
        ("PostToolUse", "", "sot-tui hook heartbeat --agent codex"),
        ("Stop", "", "sot-tui hook stop --agent codex"),
    ]


# -- the notifier's ---------------------------------------------------------------------------------------------------

TYPES = "permission_prompt|agent_needs_input|elicitation_dialog|elicitation_url_dialog"
PUSHES = [
    ("Stop", "", "sot-tui hook stop --notify"),
    ("Notification", TYPES, "sot-tui notify --harness claude-code"),
    ("SessionEnd", "", "sot-tui notify --harness claude-code"),
]


def pushes(settings: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [one for one in commands(settings) if "notify" in one[2]]


BARE = [entry for entry in hook_entries.ENTRIES["claude"] if entry.event != "Stop"]


def test_notifiers_entries_when_asked_for_then_claude_has_three_and_codex_none() -> None:
    """Contract, Framing: "harness is claude-code or pi"; a push for a turn that is over or a need, never for a
    sub-agent: none is at SubagentStop. A turn's end has one entry for both, as one that is held is not over.
    """
    assert pushes(hook_entries.installed({}, "claude", "sot-tui", notify=True)) == PUSHES
    stops = [one for one in commands(hook_entries.installed({}, "claude", "sot-tui", notify=True)) if one[0] == "Stop"]
    assert stops == PUSHES[:1]
    assert pushes(hook_entries.installed({}, "codex", "sot-tui", notify=True)) == []
    assert pushes(hook_entries.installed({}, "claude", "sot-tui")) == []
    there = hook_entries.installed({}, "claude", "sot-tui", notify=True)
    waits = [one["timeout"] for groups in there["hooks"].values() for group in groups for one in group["hooks"]
             if "notify" in one["command"]]  # fmt: skip
    assert sorted(waits) == [15, 90, 90]


@pytest.mark.parametrize("settings", [one for one in OTHERS if one != {"hooks": {"Notification": []}}])
def test_notifiers_entries_when_installed_and_taken_out_then_the_settings_are_as_before(
    settings: dict[str, Any],
) -> None:
    before = copy.deepcopy(settings)
    there = hook_entries.installed(settings, "claude", "sot-tui", notify=True)
    assert settings == before
    assert hook_entries.installed(there, "claude", "sot-tui", notify=True) == there
    assert hook_entries.missing(there, "claude", "sot-tui", notify=True) == []
    wanted = [*BARE, *hook_entries.NOTIFIER["claude"]]
    assert hook_entries.missing(settings, "claude", "sot-tui", notify=True) == wanted
    assert set(commands(before)) <= set(commands(there))
    assert json.dumps(hook_entries.uninstalled(there)) == json.dumps(before)
    bare = hook_entries.uninstalled(there, only_notify=True)
    assert hook_entries.missing(bare, "claude", "sot-tui") == []
    assert hook_entries.installed(bare, "claude", "sot-tui") == bare
    assert pushes(bare) == []
    assert hook_entries.uninstalled(bare, only_notify=True) == bare
    plain = hook_entries.installed(settings, "claude", "sot-tui")
    assert hook_entries.uninstalled(plain, only_notify=True) == plain


def test_notifiers_entries_when_they_stand_and_nobody_asks_then_an_install_keeps_and_renews_them() -> None:
    older = hook_entries.installed({}, "claude", "/old/sot-tui", notify=True)
    assert pushes(hook_entries.installed(older, "claude", "sot-tui")) == PUSHES
    assert len(hook_entries.missing(older, "claude", "sot-tui")) == 8
    del older["hooks"]["Notification"]
    assert pushes(hook_entries.installed(older, "claude", "sot-tui"))[0] == PUSHES[0]
    assert len(pushes(hook_entries.installed(older, "claude", "sot-tui"))) == 3
    alone = {"hooks": {"Stop": [{"hooks": [hook("sot-tui hook stop --notify", timeout=90)]}]}}
    assert pushes(hook_entries.installed(alone, "claude", "sot-tui")) == PUSHES
    apart = {"hooks": {"Stop": [{"hooks": [hook("sot-tui notify --harness claude-code")]}]}}  # in another version
    assert pushes(hook_entries.installed(apart, "claude", "sot-tui")) == PUSHES


@pytest.mark.parametrize(
    "command",
    [
        "steward notify --harness claude-code",
        "/opt/bin/steward notify --harness claude-code",
        "'/my bin/steward' notify",
        "env STEWARD_NTFY_URL_FILE=/u steward notify --harness claude-code",
        "STEWARD_NTFY_URL=u sot-tui notify --harness claude-code",
        "cd /x; ~/bin/sot-tui notify --harness claude-code || true",
    ],
)
def test_notifiers_entry_when_another_pushes_at_its_event_then_it_stays_away_and_the_others_come(command: str) -> None:
    """Product: one need, one push."""
    settings = {"hooks": {"Stop": [{"hooks": [hook(command)]}]}}
    before = copy.deepcopy(settings)
    there = hook_entries.installed(settings, "claude", "sot-tui", notify=True)
    assert pushes(there) == [("Stop", "", command), *PUSHES[1:]]
    assert ("Stop", "", "sot-tui hook stop") in commands(there)
    assert hook_entries.missing(there, "claude", "sot-tui", notify=True) == []
    assert hook_entries.uninstalled(there) == before
    # Ours goes again where another is added beside it.
    both = hook_entries.installed({}, "claude", "sot-tui", notify=True)
    both["hooks"]["Stop"].append({"hooks": [hook(command)]})
    assert sorted(pushes(hook_entries.installed(both, "claude", "sot-tui"))) == sorted(pushes(there))


@pytest.mark.parametrize(
    "command",
    ["sot-tui hook stop --notify --dry-run",
     "sot-tui notify --harness claude-code --dry-run", "sot-tui notify test", "sot-tui notify", "my-sot-tui notify x",
     "sot-tui notifyd --harness pi", "echo steward notifyd", "notify-send done"],
)  # fmt: skip
def test_entry_when_it_only_looks_like_the_notifiers_then_it_is_the_persons_own(command: str) -> None:
    settings = {"hooks": {"Notification": [{"hooks": [hook(command)]}]}}
    there = hook_entries.installed(settings, "claude", "sot-tui")
    assert ("Notification", "", command) in commands(there)
    assert len(commands(there)) == 1 + len(hook_entries.ENTRIES["claude"])
    assert hook_entries.uninstalled(there) == settings
    if command not in {"sot-tui notify test", "sot-tui notify"}:  # these push
        both = hook_entries.installed(settings, "claude", "sot-tui", notify=True)
        assert set(PUSHES) <= set(commands(both))
