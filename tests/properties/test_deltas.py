"""A fleet that crosses to another process is the very same there, whole or by what changed, whatever stands in it."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from sot_tui.comm.fleet import (
    Agent,
    Aside,
    Fault,
    Fleet,
    LockPhase,
    LockState,
    Mail,
    MailCount,
    Reading,
    RegistryState,
    RowSeen,
    Stance,
    State,
    Unwoken,
)
from sot_tui.engine.ops import deltas, values

if TYPE_CHECKING:
    from collections.abc import Mapping

# Any text at all, halves of surrogate pairs and the bytes of a path that is no UTF-8 included.
TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(0, 1 << 40)
JSON = st.none() | st.booleans() | st.integers() | TEXT | st.lists(st.integers(), max_size=2)

AGENT = st.builds(
    Agent,
    TEXT,
    host=TEXT,
    expertise=st.tuples(TEXT, TEXT),
    state=st.none() | st.sampled_from(State),
    done=st.booleans(),
)
MAIL = st.builds(Mail, st.sampled_from(MailCount), COUNT, TEXT, TEXT, COUNT)
ASIDE = st.builds(Aside, TEXT, TEXT, COUNT, TEXT)
ROW = st.builds(RowSeen, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, handle=TEXT)
UNWOKEN = st.builds(Unwoken, TEXT, NUMBER)
LOCK = st.builds(
    LockState, st.sampled_from(LockPhase), TEXT, TEXT, NUMBER, st.booleans(), TEXT, TEXT, COUNT, NUMBER, NUMBER
)
REGISTRY = st.builds(RegistryState, st.sampled_from(Reading), st.none() | NUMBER, st.booleans(), TEXT, JSON)


def mapping(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Mapping[str, Any]]:
    return st.dictionaries(TEXT, of, max_size=4).map(MappingProxyType)


FLEET = st.builds(
    Fleet,
    home=TEXT,
    host=TEXT,
    operator=TEXT,
    revision=COUNT,
    agents=mapping(AGENT),
    mail=mapping(MAIL),
    registry=REGISTRY,
    lock=LOCK,
    faults=st.lists(st.builds(Fault, TEXT, TEXT, NUMBER), max_size=2).map(tuple),
    live_secs=NUMBER,
    doubt_secs=NUMBER,
    aside=mapping(ASIDE),
    stance=st.sampled_from(Stance),
    stance_why=TEXT,
    events=COUNT,
    rows=mapping(ROW),
    unwoken=mapping(UNWOKEN),
    evidence=mapping(TEXT),
)


def crossed(was: Fleet, newer: Fleet) -> Fleet:
    return deltas.applied(was, json.loads(json.dumps(deltas.changes(was, newer))))


def orders(fleet: Fleet) -> list[list[str]]:
    return [list(fleet.agents), list(fleet.mail), list(fleet.aside), list(fleet.rows), list(fleet.unwoken)]


def test_fleet_when_a_field_is_new_then_it_is_drawn_here_too() -> None:
    drawn = {"home", "host", "operator", "revision", "agents", "mail", "registry", "lock", "faults", "live_secs"}
    drawn |= {"doubt_secs", "aside", "stance", "stance_why", "events", "rows", "unwoken", "evidence"}
    assert set(Fleet._fields) == drawn


@given(FLEET, FLEET)
def test_fleet_when_it_crosses_then_is_the_very_same_in_the_same_order(first: Fleet, second: Fleet) -> None:
    whole = crossed(Fleet(), first)
    assert whole == first
    assert orders(whole) == orders(first)
    then = crossed(whole, second)
    assert then == second
    assert orders(then) == orders(second)
    assert deltas.changes(then, second) == {}
    assert values.decoded(Fleet, json.loads(json.dumps(values.encoded(first)))) == first


@given(FLEET)
def test_fleet_when_one_handle_changes_then_nothing_else_crosses(fleet: Fleet) -> None:
    agents = dict(fleet.agents) | {"one": Agent("one", summary="a")}
    was = fleet._replace(agents=MappingProxyType(agents))
    newer = was._replace(agents=MappingProxyType(agents | {"one": Agent("one", summary="b")}))
    said = deltas.changes(was, newer)
    assert list(said) == ["agents"]
    assert list(said["agents"]) == ["put"]
    assert list(said["agents"]["put"]) == ["one"]


@pytest.mark.parametrize(
    "said",
    [
        [],
        {"colour": "red"},
        {"agents": []},
        {"agents": {"put": {"a": {"handle": "a", "age": 3}}}},
        {"agents": {"put": {"a": 3}}},
        {"agents": {"put": []}},
        {"agents": {"gone": "a"}},
        {"agents": {"order": ["a"]}},
        {"agents": {"else": 1}},
        {"mail": {"put": {"a": {"trust": "certain"}}}},
        {"stance": "hosts"},
        {"faults": [{"duty": "x"}]},
        {"revision": True},
        {"home": None},
    ],
)
def test_changes_when_one_is_not_understood_then_all_are_refused(said: object) -> None:
    with pytest.raises(values.BadValue):
        deltas.applied(Fleet(), said)


def test_tuple_when_it_has_other_parts_than_its_type_then_refused() -> None:
    assert values.decoded(tuple[int, str], [1, "a"]) == (1, "a")
    for said in ([1], [1, "a", "b"], ["a", 1], "ab"):
        with pytest.raises(values.BadValue):
            values.decoded(tuple[int, str], said)
