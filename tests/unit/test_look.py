"""A look after a look: what stands as it stood is not taken apart again, and nothing is shown that is no more so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given, strategies as st

from sot_tui.comm import look, registry

if TYPE_CHECKING:
    from sot_tui.comm.registry import Registry

ENTRIES: st.SearchStrategy[dict[str, object]] = st.dictionaries(
    st.sampled_from(["a", "b", "c", "ä\n"]),
    st.sampled_from(
        [
            {"state": "working", "summary": "x"},
            {"state": "working", "summary": "y"},
            {"done": True, "host": "box"},
            {"summary": "\ud800 half"},
            [],
            None,
            1,
            12,
        ]
    ),
)


def read(entries: dict[str, object], indent: int | None = None) -> Registry:
    book = registry.parse(json.dumps({"protocol_version": 1, "agents": entries}, indent=indent).encode())
    assert book is not None
    return book


@given(st.lists(st.tuples(ENTRIES, st.sampled_from([None, 2])), max_size=6))
def test_agents_when_looked_at_again_and_again_then_are_those_of_a_first_look(
    looks: list[tuple[dict[str, object], int | None]],
) -> None:
    named = look.Named()
    for entries, indent in looks:
        named = look.agents_in(read(entries, indent), named)
        assert list(named.agents.items()) == list(look.agents_in(read(entries)).agents.items())


def test_agents_when_one_entry_changes_then_the_others_are_the_very_same() -> None:
    first = look.agents_in(read({"a": {"summary": "x"}, "b": {"summary": "x"}}))
    after = look.agents_in(read({"a": {"summary": "x"}, "b": {"summary": "y"}}), first)
    assert after.agents["a"] is first.agents["a"]
    assert after.agents["b"].summary == "y"


def test_agents_when_an_entry_was_changed_in_hand_then_its_old_text_says_nothing() -> None:
    book = read({"a": {"summary": "x"}})
    first = look.agents_in(read({"a": {"summary": "x"}}))
    book.agents["a"]["summary"] = "y"
    assert look.agents_in(book, first).agents["a"].summary == "y"
