#!/usr/bin/env python3
"""Check docs/contract/clauses.md: every sentence of the contract is listed, and every test it names exists.

The tests that docs/proof.md names are looked for, too.

    tools/clauses.py                       check, and count
    tools/clauses.py --missing             list what no test holds yet
    tools/clauses.py --sentences LOCK      print the numbered sentences of a section (all sections without a word)
    tools/clauses.py --hold LOCK-07 tests/contract/test_lock.py::test_x ...   write the standing of one clause

The documents are split by a fixed rule, so that nobody decides what a sentence is: at a full stop, question or
exclamation mark followed by white space; a piece of at most 16 characters ("Take.", "Retry.") belongs to its
neighbour; a line without a letter is none. A section begins at the line that starts with its title.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "contract"
TABLE = FOLDER / "clauses.md"
PROOF = ROOT / "docs" / "proof.md"

_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')]))\s+(?=\S)")
_NAMED = re.compile(r"`(tests/[\w/]+\.py::\w+)")
_SHORT = 16
_QUOTE = re.compile("“`?([^”]+?)`?”")
_ROW_CELLS = 4


class Clause(NamedTuple):
    """One row of the table."""

    id: str
    sentences: list[int]
    what: str
    standing: str
    line: int


class Section(NamedTuple):
    """One section of a document as the table names it, with its clauses."""

    id: str
    title: str
    document: str
    clauses: list[Clause]


def sentences_of(line: str) -> list[str]:
    """Return the sentences of one line of a document."""
    pieces: list[str] = []
    head = ""
    for piece in _END.split(line.strip().removeprefix("• ")):
        if len(piece) > _SHORT:
            pieces.append(f"{head} {piece}".strip())
            head = ""
        elif pieces:
            pieces[-1] += f" {piece}"
        else:
            head = f"{head} {piece}".strip()
    return [*pieces, head] if head else pieces


def split(document: str, titles: list[str]) -> dict[str, list[str]]:
    """Return the sentences of a document by section title; what stands before the first title is under ""."""
    found: dict[str, list[str]] = {"": []}
    waiting = list(titles)
    current = found[""]
    for line in (FOLDER / document).read_text(encoding="utf-8").splitlines():
        if waiting and line.startswith(waiting[0]):
            current = found[waiting.pop(0)] = []
            if line in found:
                continue  # a heading of its own
        if line.strip().startswith("#") and current:
            current[-1] += " " + line.strip()  # a remark that goes on from the line before
        elif re.search(r"[A-Za-z]", line):
            current += sentences_of(line)
    if waiting:
        raise SystemExit(f"{TABLE.name}: no line of {document} starts with {waiting[0]!r} (or not in this order)")
    return found


def numbers(cell: str) -> list[int]:
    """Return what a cell such as `3`, `3-5` or `3, 7-9` names."""
    found: list[int] = []
    for part in filter(None, (part.strip() for part in cell.split(","))):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def read_table() -> list[Section]:
    """Return the sections of the table; `# file.txt` names a document, `## ID · title` a section of it."""
    sections: list[Section] = []
    document = ""
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("# ") and line.endswith(".txt"):
            document = line[2:]
        elif line.startswith("## ") and document:
            name, _, title = line[3:].partition(" · ")
            sections.append(Section(name, title, document, []))
        elif line.startswith("| ") and sections and not line.startswith("| id "):
            cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
            if len(cells) != _ROW_CELLS:
                raise SystemExit(f"{TABLE.name}:{number}: a row has {len(cells)} cells, not {_ROW_CELLS}")
            sections[-1].clauses.append(Clause(cells[0], numbers(cells[1]), cells[2], cells[3], number))
    return sections


def tests_there() -> set[str]:
    """Return every `path::name` that a standing may point to."""
    found: set[str] = set()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        where = path.relative_to(ROOT).as_posix()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(f"{where}::{node.name}")
            elif isinstance(node, ast.ClassDef):
                found |= {f"{where}::{node.name}::{part.name}" for part in node.body if hasattr(part, "name")}
            elif isinstance(node, ast.Assign):  # the test case of a state machine
                found |= {f"{where}::{target.id}" for target in node.targets if isinstance(target, ast.Name)}
    return found


def faults(sections: list[Section]) -> list[str]:
    """Return one sentence for each thing that is wrong."""
    wrong: list[str] = []
    there = tests_there()
    seen: set[str] = set()
    proof = PROOF.read_text(encoding="utf-8") if PROOF.exists() else ""
    wrong += [f"{PROOF.name}: there is no test {name}" for name in _NAMED.findall(proof) if name not in there]
    for document in sorted(path.name for path in FOLDER.glob("*.txt")):
        mine = [section for section in sections if section.document == document]
        said = split(document, [section.title for section in mine])
        wrong += [f"{document}: no section holds the sentence: {text}" for text in said[""]]
        for section in mine:
            wrong += _faults_of(section, said[section.title], there, seen)
    return wrong


def _faults_of(section: Section, said: list[str], there: set[str], seen: set[str]) -> list[str]:
    wrong: list[str] = []
    covered: set[int] = set()
    for clause in section.clauses:
        where = f"{TABLE.name}:{clause.line}: {clause.id}"
        if clause.id in seen or not re.fullmatch(rf"{section.id}-\d\d", clause.id):
            wrong.append(f"{where}: the id stands twice, or is none of the section {section.id}")
        seen.add(clause.id)
        covered |= set(clause.sentences)
        text = " ".join(said[number - 1] for number in clause.sentences if 0 < number <= len(said))
        wrong += [
            f"{where}: not in its sentences: {quote}" for quote in _QUOTE.findall(clause.what) if quote not in text
        ]
        kind, _, rest = clause.standing.partition(": ")
        if kind not in {"held", "out of scope", "missing"} or not rest.strip():
            wrong.append(f"{where}: the standing is none of `held: test`, `out of scope: reason`, `missing: reason`")
        if kind == "held":
            tests = [name.strip(" `") for name in rest.split(",")]
            wrong += [f"{where}: there is no test {name}" for name in tests if name.partition("[")[0] not in there]
    for number, text in enumerate(said, 1):
        if number not in covered:
            wrong.append(f"{TABLE.name}: {section.id} sentence {number} is not listed: {text}")
    wrong += [
        f"{TABLE.name}: {section.id} has no sentence {number}" for number in sorted(covered) if number > len(said)
    ]
    return wrong


def show(wanted: list[Section], sections: list[Section]) -> None:
    """Print the numbered sentences of some sections."""
    for section in wanted:
        said = split(section.document, [other.title for other in sections if other.document == section.document])
        print(f"\n{section.id} · {section.title}")
        print(*(f"  {number:3} {text}" for number, text in enumerate(said[section.title], 1)), sep="\n")


def hold(name: str, tests: list[str]) -> None:
    """Write a clause's standing as held by these tests."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if line.startswith(f"| {name} |"):
            cells = line.strip("| ").split(" | ")
            lines[number] = "| " + " | ".join([*cells[:-1], "held: " + ", ".join(tests)]) + " |"
            TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
            return
    raise SystemExit(f"there is no clause {name}")


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--missing", action="store_true", help="list what no test holds yet")
    parser.add_argument("--sentences", nargs="?", const="", metavar="SECTION", help="print the numbered sentences")
    parser.add_argument("--hold", nargs="+", metavar=("ID", "TEST"), help="write the standing of one clause")
    options = parser.parse_args()
    if options.hold:
        hold(options.hold[0], options.hold[1:])
    sections = read_table()
    if options.sentences is not None:
        for section in sections:
            if options.sentences in {"", section.id}:
                print(f"\n{section.id} · {section.title}")
                said = split(
                    section.document, [other.title for other in sections if other.document == section.document]
                )
                print(*(f"  {number:3} {text}" for number, text in enumerate(said[section.title], 1)), sep="\n")
        return 0
    clauses = [clause for section in sections for clause in section.clauses]
    if options.missing:
        missing = [clause for clause in clauses if clause.standing.startswith("missing")]
        print(*(f"{clause.id}  {clause.standing}  |  {clause.what}" for clause in missing), sep="\n")
        return 0
    wrong = faults(sections)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    kinds = [clause.standing.partition(":")[0] for clause in clauses]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("held", "missing", "out of scope"))
    print(f"{len(clauses)} clauses: {counts}; {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
