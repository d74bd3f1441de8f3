"""What the agents are told: each command is one, with the words it takes, and each report marker is read as one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sot_tui
from sot_tui.cli import VERBS
from sot_tui.comm import report, skills
from sot_tui.comm.facts import Verb
from sot_tui.comm.home import Home
from sot_tui.comm.scripts import SCRIPTS
from sot_tui.comm.skills import Skill

TEXT = (Path(sot_tui.__file__).parent / "skills" / "sot-comm" / "SKILL.md").read_text(encoding="utf-8")
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


@pytest.fixture
def place(_away_from_home: Path) -> tuple[Home, Path]:
    return Home(str(_away_from_home / "comm")), _away_from_home / "home/.claude/skills/sot-comm/SKILL.md"


def test_skill_when_installed_then_stands_and_when_uninstalled_then_is_gone(place: tuple[Home, Path]) -> None:
    home, path = place
    assert skills.place({"HOME": str(path.parents[3])}, "claude", "sot-comm") == str(path)
    assert skills.install(home, str(path), "sot-comm") is Skill.MISSING
    assert path.read_text().startswith(TEXT)
    assert path.stat().st_mode & 0o777 == 0o644
    assert skills.install(home, str(path), "sot-comm") is Skill.OURS
    assert skills.uninstall(home, str(path), "sot-comm") is Skill.OURS
    assert not path.parent.exists()
    assert skills.uninstall(home, str(path), "sot-comm") is Skill.MISSING


def test_skill_when_an_older_one_of_ours_lies_there_then_is_brought_up_to_date(
    place: tuple[Home, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, path = place
    with monkeypatch.context() as older:
        older.setattr(skills, "text", lambda _name: skills._sealed(b"of an older release\n"))
        skills.install(home, str(path), "sot-comm")
    assert skills.standing(home, str(path), "sot-comm") is Skill.OTHER
    assert skills.install(home, str(path), "sot-comm") is Skill.OTHER
    assert path.read_text().startswith(TEXT)


@pytest.mark.parametrize("what", ["own", "changed", "link", "folder", "empty"])
def test_skill_when_a_person_keeps_their_own_then_is_neither_written_over_nor_removed(
    place: tuple[Home, Path], what: str
) -> None:
    home, path = place
    path.parent.mkdir(parents=True)
    match what:
        case "own":
            path.write_text("mine")
        case "changed":
            path.write_bytes(skills.text("sot-comm").replace(b"poll", b"pull", 1))
        case "link":
            (path.parent / "real.md").write_bytes(skills.text("sot-comm"))
            path.symlink_to("real.md")
        case "folder":
            path.mkdir()
        case _:
            path.write_text("")
    before = sorted((one.name, one.is_file() and one.read_bytes()) for one in path.parent.rglob("*"))
    assert skills.install(home, str(path), "sot-comm") is Skill.FOREIGN
    assert skills.uninstall(home, str(path), "sot-comm") is Skill.FOREIGN
    assert sorted((one.name, one.is_file() and one.read_bytes()) for one in path.parent.rglob("*")) == before


def test_skill_when_a_person_keeps_a_file_beside_it_then_that_stays(place: tuple[Home, Path]) -> None:
    home, path = place
    skills.install(home, str(path), "sot-comm")
    (path.parent / "notes.md").write_text("mine")
    skills.uninstall(home, str(path), "sot-comm")
    assert [one.name for one in path.parent.iterdir()] == ["notes.md"]


def test_skills_when_a_wheel_is_built_then_every_one_is_a_file_of_the_package() -> None:
    for name in skills.SKILLS:
        assert skills.text(name).startswith(f"---\nname: {name}\n".encode())
