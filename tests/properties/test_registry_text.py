"""Any registry, read and written by any sequence of changes, stays what a plain dict would be."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from sot_tui.comm.registry_text import data_of, parse

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["a-box", "b-box", "c-box", "", 'q"', "é\n"]) | st.text(max_size=3)
BOOKS = st.dictionaries(KEYS, VALUES, max_size=5)
TOPS = st.dictionaries(st.text(max_size=3).filter(lambda key: key != "agents"), VALUES, max_size=2)
CHANGES = st.lists(st.tuples(KEYS, VALUES | st.just(...)), max_size=4)


@given(BOOKS, TOPS, st.lists(CHANGES, max_size=4), st.booleans(), st.sampled_from([None, 2]))
def test_registry_when_changed_again_and_again_then_equals_a_plain_dict(
    book: dict[str, Any], top: dict[str, Any], rounds: list[list[tuple[str, Any]]], ascii_only: bool, indent: int | None
) -> None:
    plain: dict[str, Any] = {**top, "agents": dict(book)}
    text = json.dumps(plain, ensure_ascii=ascii_only, indent=indent)
    data = text.encode("utf-8", "surrogatepass" if ascii_only else "replace")
    plain = json.loads(data)
    for changes in rounds:
        registry = parse(data)
        assert registry is not None
        for key, value in changes:
            if value is ...:
                registry.agents.pop(key, None)
                plain["agents"].pop(key, None)
            else:
                registry.agents[key] = value
                plain["agents"][key] = value
        data = data_of(registry)
        assert json.loads(data) == json.loads(json.dumps(plain))
        assert list(json.loads(data)["agents"]) == list(plain["agents"])
        assert data.endswith(b"}\n")


@given(st.binary(max_size=60) | st.text(alphabet='{}[]":, agents1\\u', max_size=60).map(str.encode))
def test_parse_when_given_any_bytes_then_agrees_with_a_strict_reader(data: bytes) -> None:
    def refuse(literal: str) -> None:
        raise ValueError(literal)

    try:
        found = json.loads(data.decode(), parse_constant=refuse)
    except (ValueError, RecursionError):
        found = None
    is_one = isinstance(found, dict) and isinstance(found.get("agents"), dict)
    registry = parse(data)
    assert (registry is not None) == is_one
    if registry is not None:
        assert dict(registry.agents) == found["agents"]
