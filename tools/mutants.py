"""Weaken every guard of the rooms that must not fail, one at a time, in a copy, and see which test notices.

`python -m tools.mutants [PATH ...]` takes each file of `ROOMS`, or those named: it drops a call, negates a condition,
shifts a bound, and runs the quick tests that pass through that line, the shortest first, until one fails. What no test
notices has survived; a survivor that is accepted stands with its reason in `docs/mutants.toml`. With `--write` the
whole list goes to `docs/mutants.md`. The tree itself is not touched.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import coverage

from tools import mutations

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
ROOMS = ("sot_tui/comm", "sot_tui/wake", "sot_tui/notify/claims.py")
QUICK = ("tests/unit", "tests/contract", "tests/faults", "tests/properties", "tests/notify/test_claims.py")
"""The tests that may notice: those that run in the process of pytest, so that it is known which lines each runs."""
ENOUGH_SECS = 20.0
"""What the tests that are tried on one mutant take together, at most: as many of the shortest as that."""
SECONDS = 240.0
"""After which the tests of one mutant count as hanging, which is noticed, too."""
PROCESS = {
    "sot_tui/comm/bridge.py": ("tests/e2e/test_wire_process.py", "tests/e2e/test_sotd.py"),
    "sot_tui/comm/doctor.py": ("tests/e2e/test_json.py", "tests/e2e/test_verbs_process.py"),
    "sot_tui/comm/look.py": ("tests/e2e/test_verbs_process.py", "tests/e2e/test_json.py"),
    "sot_tui/comm/disk.py": ("tests/unit/test_mount_watch.py", "tests/e2e/test_flushes.py"),
    "sot_tui/comm/endpoints.py": ("tests/unit/test_endpoints.py",),
    # What is run when the module is read passes in no test.
    "sot_tui/comm/registry_lock.py": (
        "tests/unit/test_registry_lock.py::test_turn_when_forked_inside_then_the_child_has_its_own",
    ),
    "sot_tui/comm/text.py": ("tests/unit/test_text.py",),
}
"""What notices the guards of a file in processes of its own, and is tried on what the quick tests have not noticed."""
ACCEPTED = ROOT / "docs" / "mutants.toml"
LISTED = ROOT / "docs" / "mutants.md"

_BOUNDS = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
_IGNORED = shutil.ignore_patterns(".venv", ".git", "__pycache__", "snapshots", ".*cache")


class Mutant(NamedTuple):
    """One weakened guard."""

    file: str
    line: int
    kind: str
    """What was done: `dropped`, `negated`, `shifted`."""
    was: str
    """The guard as it stands, on one line."""
    start: int
    """Where in the file's bytes the changed text begins."""
    end: int
    now: str
    """What stands there instead."""
    where: str
    """The function it is in."""

    @property
    def key(self) -> str:
        """What names it in the list of the accepted: its place without a line number."""
        return f"{self.file}:{self.where}:{self.kind}:{self.was}"


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return each guard of a file, weakened."""
    reader = _Reader(file, source.encode())
    reader.visit(ast.parse(source))
    return reader.found


class _Reader(ast.NodeVisitor):
    """Finds the guards of one file, in their order."""

    def __init__(self, file: str, data: bytes) -> None:
        self.file, self.data, self.where = file, data, ""
        self.found: list[Mutant] = []
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def visit(self, node: ast.AST) -> None:
        """Take down what of a node is a guard, then what lies in it."""
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        around = self.where
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.where = f"{around}.{node.name}".lstrip(".")
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
            self._add(node, "dropped", self._place(node), "pass")
        for test in _tests(node):
            start, end = self._place(test)
            self._add(test, "negated", (start, end), f"(not ({self.data[start:end].decode()}))")
        if isinstance(node, ast.Compare):
            self._shift(node)
        self.generic_visit(node)
        self.where = around

    def _shift(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for number, operator in enumerate(node.ops):
            if type(operator) in _BOUNDS:
                start, end = self._place(sides[number])[1], self._place(sides[number + 1])[0]
                was, now = _BOUNDS[type(operator)]
                self._add(node, "shifted", (start, end), self.data[start:end].decode().replace(was, now, 1))

    def _place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        last, column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[last - 1] + column

    def _add(self, node: ast.expr | ast.stmt, kind: str, at: tuple[int, int], now: str) -> None:
        start, end = self._place(node)
        was = " ".join(self.data[start:end].decode().split())
        was = was if len(was) <= 90 else f"{was[:89]}…"
        self.found.append(Mutant(self.file, node.lineno, kind, was, *at, now, self.where))


def _tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    return node.ifs if isinstance(node, ast.comprehension) else []


# -- which test runs which line ----------------------------------------------------------------------------------------

_LISTENER = """
import json, time
import coverage, pytest
_took = {}
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    coverage.Coverage.current().switch_context(item.nodeid)
    began = time.monotonic()
    yield
    _took[item.nodeid] = time.monotonic() - began
    coverage.Coverage.current().switch_context("")
def pytest_sessionfinish():
    with open("took.json", "w") as file:
        json.dump(_took, file)
"""


class Passing(NamedTuple):
    """Which tests pass through which line, and how long each took."""

    lines: dict[str, dict[int, list[str]]]
    took: dict[str, float]

    def through(self, mutant: Mutant) -> list[str]:
        """Return the tests that run a mutant's line, the shortest first."""
        found = self.lines.get(mutant.file, {}).get(mutant.line, [])
        if not found:  # a line that is run at import alone, or a condition over several lines
            near = self.lines.get(mutant.file, {})
            found = next((near[line] for line in range(mutant.line, mutant.line + 4) if near.get(line)), [])
        chosen: list[str] = []
        left = ENOUGH_SECS
        for test in sorted(found, key=lambda test: self.took.get(test, 9.0)):
            left -= self.took.get(test, 9.0)
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen


def passing(copy: Path) -> Passing:
    """Run the quick tests once in a copy, and take down where each passes."""
    (copy / "listener.py").write_text(_LISTENER, encoding="utf-8")
    settings = "[run]\nsource = sot_tui\ndata_file = lines.db\n"
    (copy / "coverage.ini").write_text(settings, encoding="utf-8")
    words = ["-m", "coverage", "run", "--rcfile=coverage.ini", "-m", "pytest", "-q", "-p", "listener", "-p",
             "no:cacheprovider", "-p", "no:randomly", "--timeout=600", *QUICK]  # fmt: skip
    ran = subprocess.run(
        [sys.executable, *words], cwd=copy, env=_environ(copy), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(f"the quick tests do not pass as they are:\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}")
    data = coverage.CoverageData(str(copy / "lines.db"))
    data.read()
    lines = {
        str(Path(file).relative_to(copy)): {
            line: [test for test in tests if test] for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    return Passing(lines, json.loads((copy / "took.json").read_text(encoding="utf-8")))


def _environ(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy), "CI": "true"}


# -- one mutant --------------------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """What became of a mutant."""

    mutant: Mutant
    test: str
    """The test that noticed it; "" when none did."""
    tried: int
    """How many tests passed through its line."""


class Copy:
    """A copy of the tree in which one mutant at a time lives, and the process that tries the tests on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT, folder, ignore=_IGNORED, dirs_exist_ok=True)
        self._moment = int(time.time()) - 10_000_000
        words = [sys.executable, "-c", _TRIER]
        (asks, asked), (told, tells) = os.pipe(), os.pipe()
        self._asked, self._told = os.fdopen(asked, "w"), os.fdopen(told)
        self._trier = subprocess.Popen(words, cwd=folder, env=_environ(folder), stdin=asks, stdout=tells)
        os.close(asks)
        os.close(tells)

    def verdict(self, mutant: Mutant, tests: Sequence[str]) -> Verdict:
        """Let the mutant live while its tests run."""
        path = self.folder / mutant.file
        whole = path.read_bytes()
        try:
            self._write(path, whole[: mutant.start] + mutant.now.encode() + whole[mutant.end :])
            slow = [test for test in PROCESS.get(mutant.file, ()) if (ROOT / test.partition("::")[0]).exists()]
            failed = self.first_failed(tests) or self.first_failed(slow)
            return Verdict(mutant, failed, len(tests) + len(slow))
        finally:
            self._write(path, whole)

    def first_failed(self, tests: Sequence[str]) -> str:
        """Run tests until one fails; return its name, or "" when none did."""
        if not tests:
            return ""
        self._asked.write(json.dumps([SECONDS, list(tests)]) + "\n")
        self._asked.flush()
        return self._told.readline().strip()

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file, its time another one each time: what is compiled of it must never be taken for the next."""
        path.write_bytes(data)
        self._moment += 10
        os.utime(path, (self._moment, self._moment))

    def close(self) -> None:
        """End the process."""
        self._asked.close()
        self._trier.wait(timeout=10)
        self._told.close()


_TRIER = r"""
import json, os, select, signal, sys, time
import hypothesis, pytest, _pytest.assertion.rewrite
class First:
    def __init__(self): self.failed = ""
    def pytest_runtest_logreport(self, report):
        if report.failed and not self.failed: self.failed = report.nodeid
    def pytest_collectreport(self, report):
        if report.failed and not self.failed: self.failed = report.nodeid
ours = os.fdopen(os.dup(1), "w", buffering=1)
for line in sys.stdin:
    seconds, tests = json.loads(line)
    said, told = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2): os.dup2(null, number)
        first = First()
        words = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"]
        words += ["-W", "ignore::pytest.PytestAssertRewriteWarning", *tests]
        code = 1
        try: code = pytest.main(words, plugins=[first])
        except BaseException as fault: first.failed = first.failed or type(fault).__name__
        word = first.failed or (f"pytest ended with {int(code)}" if code else "")
        os.write(told, word.encode()); os._exit(0)
    os.close(told)
    ready = select.select([said], [], [], seconds)[0]
    word = os.read(said, 65536).decode() if ready else "it hangs"
    if ready and not word:
        word = "" if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 else "the interpreter died"
        child = 0
    os.close(said)
    if child:
        try: os.killpg(child, signal.SIGKILL)
        except OSError: pass
        os.waitpid(child, 0)
    print(" ".join(word.split()), file=ours)
"""


# -- the list ----------------------------------------------------------------------------------------------------------


def main(words: list[str]) -> int:
    """Try the mutants; return 1 when one survived that is not accepted."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("paths", nargs="*", metavar="PATH", help="a file or folder instead of all rooms")
    reader.add_argument("--write", action="store_true", help=f"write {LISTED.relative_to(ROOT)}")
    reader.add_argument("--line", type=int, help="only the mutants of this line")
    reader.add_argument("--again", metavar="FILE", help="only those that an earlier run has printed into this file")
    asked = reader.parse_args(words)
    files = sorted(file for path in asked.paths or ROOMS for file in _files(path))
    mutants = [one for file in files for one in mutants_of(file, (ROOT / file).read_text(encoding="utf-8"))]
    mutants = [one for one in mutants if asked.line in (None, one.line)]
    if asked.again:
        printed = Path(asked.again).read_text(encoding="utf-8")
        mutants = [one for one in mutants if _unplaced(one) in _without_lines(printed)]
    accepted = _accepted()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = [Copy(Path(folder, str(number))) for number in range(os.cpu_count() or 1)]
        through = passing(copies[0].folder).through
        free = list(copies)

        def tried(mutant: Mutant) -> Verdict:
            copy = free.pop()
            try:
                return copy.verdict(mutant, through(mutant))
            finally:
                free.append(copy)

        verdicts = []
        for mutant in {
            one.file: one for one in mutants
        }.values():  # a test that fails by itself would notice everything
            if failed := copies[-1].first_failed(through(mutant)):
                raise SystemExit(f"without any mutant: {failed}")
        with ThreadPoolExecutor(len(copies)) as pool:
            for verdict in pool.map(tried, mutants):
                verdicts.append(verdict)
                if not verdict.test:
                    reason = accepted.get(verdict.mutant.key)
                    word = f"accepted: {reason}" if reason else f"SURVIVED {verdict.tried} tests"
                    sys.stdout.write(f"{_shown(verdict.mutant)}: {word}\n")
                    sys.stdout.flush()
        for copy in copies:
            copy.close()
    by_hand = [] if asked.paths or asked.again or asked.line else mutations.tried()
    left = [one for one in verdicts if not one.test and one.mutant.key not in accepted]
    caught = sum(bool(one.test) for one in verdicts)
    known = len(verdicts) - caught - len(left)
    sys.stdout.write(f"{len(verdicts)} mutants: {caught} caught, {known} accepted, {len(left)} survived\n")
    if asked.write:
        LISTED.write_text(_listed(verdicts, accepted) + _listed_by_hand(by_hand), encoding="utf-8")
    return 1 if left or not all(noticed for _, noticed in by_hand) else 0


def _files(path: str) -> list[str]:
    full = ROOT / path
    found = sorted(full.glob("*.py")) if full.is_dir() else [full]
    return [str(one.relative_to(ROOT)) for one in found]


def _accepted() -> dict[str, str]:
    """Return the survivors that are accepted, each with its reason."""
    if not ACCEPTED.exists():
        return {}
    said = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))
    return {key: reason for reason, keys in said.items() for key in keys}


def _unplaced(mutant: Mutant) -> str:
    return f"{mutant.file} {mutant.where} {mutant.kind} `{mutant.was}`"


def _without_lines(printed: str) -> str:
    """Return an earlier run's lines without their numbers, for a file that was edited since."""
    return re.sub(r"^(\S+?):\d+ ", r"\1 ", printed, flags=re.MULTILINE)


def _shown(mutant: Mutant) -> str:
    return f"{mutant.file}:{mutant.line} {mutant.where} {mutant.kind} `{mutant.was}`"


def _listed(verdicts: Sequence[Verdict], accepted: dict[str, str]) -> str:
    """Return the whole list as the document shows it."""
    lines = ["# Mutants", "", "Written by `make mutants`; do not edit.", ""]
    by_file: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_file.setdefault(verdict.mutant.file, []).append(verdict)
    lines += ["| file | mutants | caught | accepted | survived |", "| --- | ---: | ---: | ---: | ---: |"]
    for file, some in by_file.items():
        caught = sum(bool(one.test) for one in some)
        known = sum(not one.test and one.mutant.key in accepted for one in some)
        lines.append(f"| `{file}` | {len(some)} | {caught} | {known} | {len(some) - caught - known} |")
    for file, some in by_file.items():
        lines += ["", f"## {file}", ""]
        for one in some:
            reason = accepted.get(one.mutant.key, "")
            told = f"caught by {_test(one.test)}" if one.test else f"accepted: {reason}" if reason else "**survived**"
            guard = one.mutant.was.replace("`", "'")
            lines.append(f"* {one.mutant.line} `{one.mutant.where}` {one.mutant.kind} `{guard}`: {told}")
    return "\n".join(lines) + "\n"


def _listed_by_hand(tried: Sequence[tuple[mutations.Mutation, bool]]) -> str:
    lines = ["", "## Chosen by hand", ""]
    for one, noticed in tried:
        lines.append(f"* `{one.file}` {one.what}: {f'caught by {one.test}' if noticed else '**survived**'}")
    return "\n".join(lines) + "\n"


def _test(name: str) -> str:
    file, _, test = name.partition("::")
    return f"{Path(file).stem} {re.sub(r'[^A-Za-z0-9_]+.*', '', test)}" if test else name


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    raise SystemExit(main(sys.argv[1:]))
