"""The golden cases, run against the installed command by the case runner that lies beside them.

One test for each group of cases, so that they share the cores, and none is left out. Where the contract does not bear a
case out, `verdicts.txt` says which clause or decision does, and in what ours then differs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.golden import verdicts
from tests.golden.tables import CASES

RUNNER = CASES.parent / "run.py"
COMMAND = Path(sys.executable).with_name("sot-tui")
DOCS = Path(__file__).parents[2] / "docs"

NOT_OF_THIS_CLIENT = {
    "the client runs no such tool (--tools: it does)",  # README: "hold only for a client that runs that tool"
    "not run (function table)",  # a rule that no command shows; it has its unit test
}
"""Reasons for a skip that say nothing about this machine."""

_SHOWN = 8
"""How many differences of one case are printed; the runner's own `-v` shows all."""


def _groups() -> dict[str, list[str]]:
    """Return the ids of the cases by group."""
    groups: dict[str, list[str]] = {}
    for path in sorted(CASES.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
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
    decided = verdicts.table()
    wrong = [case for case in results if case["result"] == "failed" and case["id"] not in decided]
    failed = {case["id"]: case["problems"] for case in wrong}
    if failed:
        shown = [f"  {name}: {problem}" for name, problems in failed.items() for problem in problems[:_SHOWN]]
        pytest.fail("\n".join([f"{len(failed)} of {len(ids)}: {' '.join(failed)}", *shown]), pytrace=False)
    lacking = {
        case["id"]: case["notes"][0]
        for case in results
        if case["result"] == "skipped" and case["notes"][0] not in NOT_OF_THIS_CLIENT
    }
    for case in results:
        if case["id"] in decided and case["result"] != "skipped":
            differs_in = verdicts.differences([*case["notes"], *case["problems"]])
            assert differs_in == tuple(sorted(decided[case["id"]].differs_in)), case["id"]
    if lacking:
        pytest.skip(f"the others of {group} passed; the machine lacks what these need: {lacking}")


def test_verdicts_when_read_then_each_case_the_contract_does_not_bear_out_is_decided_by_name() -> None:
    """A case that is not followed gets the contract's answer, and here is said which clause or decision that is."""
    cases = [json.loads(path.read_text(encoding="utf-8")) for path in CASES.glob("*.json")]
    undecided = {case["id"] for case in cases if verdicts.is_undecided(case)}
    assert undecided <= set(verdicts.table()) <= {case["id"] for case in cases}
    clauses = re.findall(r"^\| ([A-Z0-9]+-\d+) \|", (DOCS / "contract" / "clauses.md").read_text("utf-8"), re.MULTILINE)
    records = [path.name[:4] for path in (DOCS / "decisions").glob("*.md")]
    for name, verdict in verdicts.table().items():
        assert verdict.decided_by, name
        assert set(verdict.decided_by) <= {*clauses, *records}, name
        if name not in undecided:  # it is said to agree, and cannot be right
            (record,) = (DOCS / "decisions").glob(f"{verdict.decided_by[0]}-*.md")
            assert f"`{name}`" in record.read_text(encoding="utf-8")
