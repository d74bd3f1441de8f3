"""The golden cases, run against the installed command by the case runner that lies beside them.

One test for each group of cases, so that they share the cores; the cases of `later.txt` are left out by name.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.golden.tables import CASES

RUNNER = CASES.parent / "run.py"
COMMAND = Path(sys.executable).with_name("sot-tui")
LATER = Path(__file__).with_name("later.txt")

NOT_OF_THIS_CLIENT = {
    "the client runs no such tool (--tools: it does)",  # README: "hold only for a client that runs that tool"
    "not run (function table)",  # a rule that no command shows; it has its unit test
}
"""Reasons for a skip that say nothing about this machine."""

_SHOWN = 8
"""How many differences of one case are printed; the runner's own `-v` shows all."""


def _later() -> list[str]:
    lines = LATER.read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def _groups() -> dict[str, list[str]]:
    """Return the ids of the cases that must hold now, by group."""
    groups: dict[str, list[str]] = {}
    left_out = set(_later())
    for path in sorted(CASES.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["id"] not in left_out:
            groups.setdefault(case["group"], []).append(case["id"])
    return groups


def _run(ids: list[str]) -> list[dict[str, Any]]:
    only = [f"--only={name}" for name in ids]
    command = [sys.executable, str(RUNNER), f"--client={COMMAND} {{verb}}", "--slow", "--json", *only]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout, f"the runner ended with {ran.returncode}: {ran.stderr}"
    cases: list[dict[str, Any]] = json.loads(ran.stdout)["cases"]
    return cases


@pytest.mark.e2e
@pytest.mark.timeout(240)
@pytest.mark.parametrize(("group", "ids"), [pytest.param(*pair, id=pair[0]) for pair in _groups().items()])
def test_golden_cases_when_run_against_the_command_then_none_fails(group: str, ids: list[str]) -> None:
    results = _run(ids)
    assert [case["id"] for case in results] == ids, f"the runner left out a case of the group {group}"
    failed = {case["id"]: case["problems"] for case in results if case["result"] == "failed"}
    if failed:
        shown = [f"  {name}: {problem}" for name, problems in failed.items() for problem in problems[:_SHOWN]]
        pytest.fail("\n".join([f"{len(failed)} of {len(ids)}: {' '.join(failed)}", *shown]), pytrace=False)
    lacking = {
        case["id"]: case["notes"][0]
        for case in results
        if case["result"] == "skipped" and case["notes"][0] not in NOT_OF_THIS_CLIENT
    }
    if lacking:
        pytest.skip(f"the others of {group} passed; the machine lacks what these need: {lacking}")


def test_later_list_when_read_then_names_each_case_once_and_only_real_ones() -> None:
    ids = [json.loads(path.read_text(encoding="utf-8"))["id"] for path in CASES.glob("*.json")]
    later = _later()
    assert sorted(set(later)) == sorted(later)
    assert set(later) <= set(ids)
