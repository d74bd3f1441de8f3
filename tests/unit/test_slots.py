"""The audit of the identity slots: which of them names the project that its key names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sot_tui import cli
from sot_tui.comm import slots
from sot_tui.comm.home import Home
from sot_tui.comm.slots import Finding

SLOTS = {
    "box__ws-alpha-1.txt": ("alpha", "/w/alpha", Finding.AGREES),
    "box__ws-My-Repo-12.txt": ("My Repo", "/w/My Repo", Finding.DIFFERS),
    "box__ws-my-repo-12.txt": ("My Repo", "/w/My Repo", Finding.AGREES),
    "box__ws-alpha-2-9.txt": ("alpha", "/w/alpha", Finding.SUFFIXED),
    "box__ws-work-alpha-3.txt": ("alpha", "/home/work/alpha", Finding.BY_PATH),
    "box__ws-beta-4.txt": ("alpha", "/w/alpha", Finding.DIFFERS),
    "box__ws-alphabet-5.txt": ("alpha", "/w/alpha", Finding.DIFFERS),
    "box__ws-old-6.txt": ("", "", Finding.NO_REPO),
    "box__nopane.txt": ("alpha", "/w/alpha", Finding.NOT_KEYED),
    "mine.txt": ("alpha", "/w/alpha", Finding.NOT_KEYED),
}
"""Files with what they say, and what the audit finds."""


@pytest.fixture
def home(comm_home: Path) -> Home:
    comm_home.joinpath("self").mkdir(parents=True)
    for file, (repo, root, _) in SLOTS.items():
        lines = [f"h-{file}", *([f"repo={repo}", f"root={root}"] if repo else [])]
        comm_home.joinpath("self", file).write_text("\n".join(lines) + "\n")
    comm_home.joinpath("self", "box__ws-x-1.txt.tmp.1.1").write_text("a draft is no slot")
    return Home(str(comm_home))


def test_slot_when_audited_then_its_key_is_compared_with_the_repo_it_carries(home: Home) -> None:
    """Contract, audit slots: "compares each workspace-keyed slot's key against the repo= it carries; ... passes a
    suffixed or path-disambiguated name"."""
    found = {slot.handle.removeprefix("h-"): slot.finding for slot in slots.audit(home)}
    assert found == {file: finding for file, (_, _, finding) in SLOTS.items()}


def test_audit_when_slots_name_a_different_project_then_they_are_reported_with_exit_1(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    """Contract, audit slots: "reports the ones naming a different project (exit 1)"."""
    assert cli.main(["self-audit"]) == 1
    shown = capfd.readouterr().out.splitlines()
    wrong = [file for file, (_, _, finding) in SLOTS.items() if finding is Finding.DIFFERS]
    assert sorted(line.split("@h-")[1].split()[0] for line in shown[:-1]) == sorted(wrong)
    assert all(line.startswith("DIFFERS") for line in shown[:-1])
    for file in wrong:
        Path(home.selves, file).unlink()
    assert cli.main(["self-audit"]) == 0
    assert capfd.readouterr().out.count("\n") == 1


def test_audit_when_nobody_has_joined_then_there_is_nothing_and_no_folder_is_made(
    comm_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["self-audit"]) == 0
    assert capfd.readouterr().err == ""
    assert not comm_home.exists()
