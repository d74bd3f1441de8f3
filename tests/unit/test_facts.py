"""Work state: the contract's table, and what each verb does, where the golden table does not reach."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from sot_tui.comm import facts
from sot_tui.comm.clock import Stamp
from sot_tui.comm.facts import State, Verb

NOW = Stamp("2026-01-02T03:04:05Z")
ALL = {"floor": "user", "dialog": "D", "question": "Q", "waiting": "W", "done": True, "note": "N"}
COMBINATIONS = [
    {name: ALL[name] for name in chosen} for size in range(7) for chosen in itertools.combinations(ALL, size)
]


def told(entry: dict[str, Any], verb: Verb, text: str | None = None, origin: str = "") -> dict[str, Any]:
    return facts.apply(entry, verb, text, origin, NOW)


@pytest.mark.parametrize(
    ("entry", "state"),
    [
        ({"dialog": "D", "floor": "user", "question": "Q", "note": "N"}, State("blocked", "D")),
        ({"question": "Q", "waiting": "W", "done": True, "note": "N"}, State("blocked", "Q")),
        ({"question": "Q", "floor": "machine", "note": "N"}, State("working", "N")),
        ({"floor": "user", "waiting": "W", "done": True}, State("working", "")),
        ({"waiting": "W", "done": True, "note": "N"}, State("waiting", "W")),
        ({"done": True, "note": "N"}, State("done", "N")),
        ({"note": "N"}, State("idle", "N")),
        ({}, State("idle", "")),
    ],
)
def test_state_when_derived_then_the_first_row_of_the_contracts_table_that_fits(
    entry: dict[str, Any], state: State
) -> None:
    assert facts.derive(entry) == state


@pytest.mark.parametrize(
    ("entry", "state"),
    [
        ({"question": ""}, State("blocked", "")),
        ({"dialog": None, "question": None, "floor": None, "waiting": False, "done": False}, State("idle", "")),
        ({"note": 7}, State("idle", "")),
        ({"waiting": ["a"], "note": "N"}, State("waiting", "")),
        ({"done": "yes"}, State("done", "")),
    ],
)
def test_state_when_a_fact_is_of_another_kind_then_it_is_read_without_a_fault(
    entry: dict[str, Any], state: State
) -> None:
    assert facts.derive(entry) == state


@pytest.mark.parametrize("entry", COMBINATIONS, ids=lambda entry: "+".join(entry) or "none")
def test_dialog_when_set_then_it_reads_blocked_over_anything_and_keeps_the_rest(entry: dict[str, Any]) -> None:
    after = told(entry, Verb.DIALOG, "Allow Bash?")
    assert facts.derive(after) == State("blocked", "Allow Bash?")
    assert {name: after[name] for name in entry if name != "dialog"} == {
        name: entry[name] for name in entry if name != "dialog"
    }


@pytest.mark.parametrize("entry", COMBINATIONS, ids=lambda entry: "+".join(entry) or "none")
def test_dialog_when_resumed_then_the_state_is_that_of_the_other_facts(entry: dict[str, Any]) -> None:
    """Contract: resumed clears dialog, "as prompt and stop also do"."""
    rest = {name: value for name, value in entry.items() if name != "dialog"}
    after = told(entry, Verb.RESUMED)
    assert {name: after[name] for name in facts.FACTS if name in after} == rest
    assert (after["state"], after["summary"]) == facts.derive(rest)
    assert "dialog" not in told(entry, Verb.PROMPT)
    assert "dialog" not in told(entry, Verb.STOP)


def test_stop_when_said_then_it_deletes_the_hooks_mark() -> None:
    assert "stop_at" not in told({"stop_at": NOW, "floor": "user"}, Verb.STOP)
    assert "stop_at" in told({"stop_at": NOW, "floor": "user"}, Verb.WORKING)


def test_join_when_said_then_only_what_a_gone_process_showed_is_cleared() -> None:
    entry = {**ALL, "stop_at": NOW}
    after = told(entry, Verb.JOIN)
    assert [name for name in entry if name not in after] == ["dialog", "stop_at"]


@pytest.mark.parametrize("verb", Verb)
def test_entry_when_a_verb_is_said_then_it_is_not_changed_itself_and_foreign_keys_stay(verb: Verb) -> None:
    entry = {**ALL, "extra": {"k": [1]}, "host": "box"}
    before = dict(entry)
    after = told(entry, verb, "T")
    assert entry == before
    assert (after["extra"], after["host"]) == ({"k": [1]}, "box")
    assert after["status_at"] == after["last_seen"] == NOW


@pytest.mark.parametrize(("verb", "fact"), [(Verb.BLOCKED, "question"), (Verb.WAITING, "waiting")])
def test_question_when_said_without_a_text_then_the_last_word_stands_for_it(verb: Verb, fact: str) -> None:
    assert told({fact: "old", "note": "N"}, verb)[fact] == "old"
    assert told({"note": "N"}, verb)[fact] == "N"
    assert told({}, verb)[fact] == ""


@pytest.mark.parametrize(("origin", "floor"), [("user", facts.USER), ("wake", facts.MACHINE), ("", facts.MACHINE)])
def test_prompt_when_somebody_starts_a_turn_then_only_a_person_answers_what_was_asked(origin: str, floor: str) -> None:
    after = told({**ALL, "floor": "x"}, Verb.PROMPT, origin=origin)
    assert after["floor"] == floor
    kept = [fact for fact in ("question", "done") if fact in after]
    assert kept == ([] if origin == "user" else ["question", "done"])


@pytest.mark.parametrize(
    ("entry", "done"),
    [
        ({"floor": "user"}, True),
        ({"floor": "user", "question": "Q"}, False),
        ({"floor": "user", "waiting": "W"}, False),
        ({"floor": "machine"}, False),
        ({}, False),
    ],
)
def test_stop_when_a_persons_turn_ends_with_nothing_pending_then_it_is_done(
    entry: dict[str, Any], *, done: bool
) -> None:
    assert ("done" in told(entry, Verb.STOP)) is done


@pytest.mark.parametrize(("verb", "fact"), [(Verb.BLOCKED, "question"), (Verb.WAITING, "waiting")])
def test_question_when_said_with_a_text_then_that_stands_for_the_note(verb: Verb, fact: str) -> None:
    after = told({"note": "N", fact: "old"}, verb, "new")
    assert (after[fact], "note" in after) == ("new", False)
