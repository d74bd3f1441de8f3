"""A look after a look: what stands as it stood is not taken apart again, and nothing is shown that is no more so."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from sot_tui.comm import config, frames, look, registry
from sot_tui.comm.fleet import WEDGED_SECS, Fleet, LockPhase
from tests.mailbox import TS, mail_home
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
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


# -- one look at the whole --------------------------------------------------------------------------------------------


def seen(home: Home) -> Fleet:
    found = look.fleet(home, os.environ, config.read(os.environ))
    assert isinstance(found, Fleet)
    return found


@pytest.fixture
def home(comm_home: Path) -> Home:
    return mail_home(comm_home, clock=JumpingClock())


def test_fleet_when_there_is_no_registry_then_it_is_no_fleet(home: Home) -> None:
    found = look.fleet(home, os.environ, config.read(os.environ))
    assert isinstance(found, registry.Unread)
    assert found.missing


def test_fleet_when_read_then_each_agent_is_named_and_mail_counted_of_those_that_can_have_an_inbox(home: Home) -> None:
    Path(home.registry).write_text(json.dumps({"protocol_version": 1, "agents": {"a": {}, "b": {}, "../x": {}}}))
    Path(home.inbox("a")).write_bytes(frames.frame("b", "a", "beta", "hello", TS) * 2)
    found = seen(home)
    assert list(found.agents) == ["../x", "a", "b"]
    assert {handle: mail.unread for handle, mail in found.mail.items()} == {"a": 2, "b": 0}


@pytest.mark.parametrize(
    ("age_s", "looks"), [(None, 1), (0.0, 1), (WEDGED_SECS - 0.5, 1), (WEDGED_SECS, 2), (600.0, 2)]
)
def test_fleet_when_the_lock_has_been_held_for_long_then_it_is_looked_at_twice_and_else_once(
    home: Home, age_s: float | None, looks: int
) -> None:
    """One look alone may meet a write of a moment on a file server whose clock is another."""
    clock = home.clock
    assert isinstance(clock, JumpingClock)
    Path(home.registry).write_text('{"agents": {}}')
    if age_s is not None:
        Path(home.lock).write_text("box:m9:b9:1:4242:77\n")
        os.utime(home.lock, (clock.now() - age_s, clock.now() - age_s))
    found = seen(home)
    assert clock.slept == [look.SECOND_LOOK_SECS] * (looks - 1)
    assert (found.lock.phase is LockPhase.FREE) is (age_s is None)
