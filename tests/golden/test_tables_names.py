"""The golden tables about names, work state and ancestries, row by row through the functions."""

from __future__ import annotations

from typing import Any

import pytest

from sot_tui.comm import ancestry, facts, names
from sot_tui.comm.ancestry import Process, Walk
from sot_tui.comm.clock import Stamp
from tests.golden.tables import rows


@pytest.mark.parametrize("row", rows("host-piece"), ids=lambda row: repr(row["host"]))
def test_host_piece_when_made_then_as_observed(row: dict[str, Any]) -> None:
    assert names.host_piece(row["host"]) == row["piece"]


@pytest.mark.parametrize("row", rows("name-reduction"), ids=lambda row: f"{row['name'][:30]!r}-{row['max']}")
def test_name_when_reduced_then_as_observed(row: dict[str, Any]) -> None:
    assert names.reduced(row["name"], row["max"]) == row["reduced"]


@pytest.mark.parametrize("row", rows("slug"), ids=lambda row: repr(row["label"]))
def test_slug_when_made_of_a_label_then_as_observed(row: dict[str, Any]) -> None:
    assert names.slug(row["label"]) == row["slug"]


def test_status_verbs_when_said_on_every_combination_of_facts_then_as_observed() -> None:
    now = Stamp("2026-01-02T03:04:05Z")
    wrong = []
    for number, row in enumerate(rows("status"), 1):
        after = facts.apply(row["before"], facts.Verb(row["verb"]), row.get("text"), row.get("origin", ""), now)
        got = ({name: after[name] for name in facts.FACTS if name in after}, after["state"], after["summary"])
        if got != (row["after"], row["state"], row["summary"]):
            wrong.append((number, row, got))
    assert not wrong


@pytest.mark.parametrize("row", rows("agent-layers"), ids=lambda row: row["what"])
def test_ancestry_when_judged_then_as_observed(row: dict[str, Any]) -> None:
    chain = tuple(Process(tuple(args)) for args in row["chain"])
    judgement = ancestry.judge(Walk(chain, complete=row["walk_ends"] == "top"), row["row"])
    assert (list(judgement.agents), judgement.verdict.value) == (row["agents"], row["verdict"])
