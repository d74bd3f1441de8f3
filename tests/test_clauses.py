"""The clause table's checker, on a small tree of its own: a gate that lets everything through would not be noticed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).parents[1] / "tools" / "clauses.py"
DOCUMENT = "Rules\n\n• Take. Write it first. Retry.\nThe answer is <n> lines. Nobody waits for it.\n"
GOOD = """# rules.txt

## RUL · Rules

| id | sentences | what | standing |
|---|---|---|---|
| RUL-01 | 1 | “Write it first.” | held: tests/test_it.py::test_write |
| RUL-02 | 2-3 | “`<n> lines`” | missing: later |
"""


def _check(folder: Path, table: str, *options: str) -> subprocess.CompletedProcess[str]:
    for name in ("tools", "docs/contract", "tests"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(CHECKER, folder / "tools")
    (folder / "tests" / "test_it.py").write_text("def test_write(): ...\n")
    (folder / "docs/contract/rules.txt").write_text(DOCUMENT)
    (folder / "docs/contract/clauses.md").write_text(table)
    command = [sys.executable, "-I", str(folder / "tools" / "clauses.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_check_when_every_sentence_is_listed_then_it_passes(tmp_path: Path) -> None:
    ran = _check(tmp_path, GOOD)
    assert (ran.returncode, ran.stdout) == (0, "2 clauses: 1 held, 1 missing, 0 out of scope; 0 wrong\n")


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("| 2-3 |", "| 2 |", "RUL sentence 3 is not listed: Nobody waits for it."),
        ("| 2-3 |", "| 2-4 |", "RUL has no sentence 4"),
        ("RUL-02", "RUL-01", "RUL-01: the id stands twice"),
        ("::test_write", "::test_other", "there is no test tests/test_it.py::test_other"),
        ("Write it first", "Write it last", "not in its sentences: Write it last."),
        ("missing: later", "missing:", "the standing is none of"),
        ("## RUL · Rules", "## RUL · Ruled", "no line of rules.txt starts with 'Ruled'"),
        ("# rules.txt", "# other.txt", "no section holds the sentence"),
    ],
)
def test_check_when_the_table_is_wrong_then_it_says_what(tmp_path: Path, was: str, now: str, said: str) -> None:
    ran = _check(tmp_path, GOOD.replace(was, now))
    assert ran.returncode == 1
    assert said in ran.stdout + ran.stderr


def test_hold_when_given_a_test_then_the_clause_stands_as_held(tmp_path: Path) -> None:
    ran = _check(tmp_path, GOOD, "--hold", "RUL-02", "tests/test_it.py::test_write")
    assert "2 clauses: 2 held, 0 missing" in ran.stdout
