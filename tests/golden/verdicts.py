"""The golden cases that the contract does not bear out, what decides them here, and in what ours then differs.

`verdicts.txt` has one line for each case whose verdict, or that of a step of it, is `differs` or `silent`, and for one
that is said to agree and cannot: its id, the clauses or decision records that decide it, and the outputs in which ours
is not what was observed. So no such case is passed over in silence, and none comes to differ in more than it should.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

TABLE = Path(__file__).with_name("verdicts.txt")


class Verdict(NamedTuple):
    """One line of the table."""

    decided_by: tuple[str, ...]
    """Ids of clauses, or numbers of decision records."""
    differs_in: tuple[str, ...]
    """`2:stdout` for an output of a step, `after` for what the comm home is like afterwards."""


def table() -> dict[str, Verdict]:
    """Return the table by case."""
    found: dict[str, Verdict] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, decided, differs = (part.strip() for part in line.split("|"))
            assert name not in found, f"{name} stands twice"
            found[name] = Verdict(tuple(decided.split()), tuple(differs.split()))
    return found


def is_undecided(case: dict[str, Any]) -> bool:
    """Tell whether the contract speaks against a case, or a step of it, or says nothing."""
    parts = [case, *case.get("steps", [])]
    return any(part.get("contract", {}).get("verdict") in {"differs", "silent"} for part in parts)


def differences(notes: list[str]) -> tuple[str, ...]:
    """Return in what a case differed, from the runner's notes on it."""
    found = dict.fromkeys(_difference(note) for note in notes)
    return tuple(sorted(one for one in found if one))


def _difference(note: str) -> str:
    step = re.match(r"step (\d+) \(.*?\): (exit|stdout|stderr)", note, re.DOTALL)
    if step:
        return f"{step[1]}:{step[2]}"
    return "after" if note.startswith("after: ") else ""
