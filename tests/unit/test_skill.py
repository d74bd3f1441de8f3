"""What the agents are told: each command is one, with the words it takes, and each report marker is read as one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sot_tui.cli import VERBS
from sot_tui.comm import report
from sot_tui.comm.facts import Verb
from sot_tui.comm.scripts import SCRIPTS

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "agents" / "sot-comm" / "SKILL.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"sot-tui ([a-z-]+)((?: +(?:--[a-z]+|'[^']*'|@?[A-Za-z.-]+))*)", TEXT)


def test_skill_when_read_then_it_tells_how_to_send_poll_declare_and_join() -> None:
    assert {"send", "poll", "status", "join", "list", "context", "worktree-new"} <= {verb for verb, _ in COMMANDS}


@pytest.mark.parametrize(("verb", "words"), COMMANDS)
def test_skill_when_it_names_a_command_then_the_verb_and_its_options_are_there(verb: str, words: str) -> None:
    assert verb in VERBS
    usage = __import__(f"sot_tui.verbs.{verb.replace('-', '_')}", fromlist=["USAGE"]).USAGE
    assert all(option in usage for option in re.findall(r"--[a-z]+", words))
    if verb == "status":
        assert words.split(maxsplit=1)[0] in {one.value for one in Verb}


def test_skill_when_it_names_a_script_then_an_install_puts_it_there() -> None:
    assert set(re.findall(r"comm-[a-z-]+\.sh", TEXT)) <= set(SCRIPTS)


def test_skill_when_it_shows_the_report_markers_then_each_is_read_as_it_says() -> None:
    shown = [line.strip() for line in TEXT.splitlines() if line.strip().startswith("SITREP")]
    found = [marker.verb for line in shown if (marker := report.marker_in(line)) is not None]
    assert found == [Verb.DONE, Verb.BLOCKED, Verb.WAITING]


def test_skill_when_read_by_an_agent_then_it_opens_with_a_name_and_what_it_is_for() -> None:
    assert re.match(r"---\nname: sot-comm\ndescription: [^\n]{40,500}\n---\n", TEXT)
