"""What state, does it need me, and why: the one answer, as tables."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from sot_tui.comm.clock import stamp
from sot_tui.comm.fleet import (
    Agent,
    Counts,
    Fleet,
    LockPhase,
    LockState,
    Mail,
    MailCount,
    Need,
    Reading,
    RegistryState,
    RowSeen,
    State,
    Unwoken,
    Why,
    agent,
    aside_of,
    counts,
    derive,
    explain,
    filtered,
    is_live,
    is_set_aside,
    need,
    needs_you,
    no_fields,
    order,
    title,
)

NOW = 1_780_000_000.0


def entry(seen: float = 8, at: float | None = 8, host: str = "box", **said: object) -> dict[str, object]:
    told: dict[str, object] = {"host": host, "last_seen": stamp(NOW - seen), "joined": stamp(NOW - 9000)}
    if at is not None:
        told["status_at"] = stamp(NOW - at)
    return told | said


def fleet_of(entries: dict[str, object], mail: dict[str, int] | None = None, **changes: object) -> Fleet:
    agents = {handle: agent(handle, said) for handle, said in entries.items()}
    counted = {
        handle: Mail(MailCount.COUNTED, number, stamp(NOW - 60) if number else "")
        for handle, number in (mail or {}).items()
    }
    plain = Fleet(host="box", operator="me", agents=MappingProxyType(agents), mail=MappingProxyType(counted))
    return plain._replace(**changes)  # type: ignore[arg-type]  # a test names fields


BLOCKED = entry(state="blocked", summary="Allow Bash?", dialog="Allow Bash?")
DONE = entry(state="done", summary="built", done=True)
WORKING = entry(state="working", summary="n", floor="user")
WAITING = entry(state="waiting", summary="for CI", waiting="for CI")
IDLE = entry(state="idle", summary="")


@pytest.mark.parametrize(
    ("said", "state", "word", "summary", "doubtful"),
    [
        pytest.param(BLOCKED, State.BLOCKED, "blocked", "Allow Bash?", False, id="blocked"),
        pytest.param(DONE, State.DONE, "done", "built", False, id="done"),
        pytest.param(WORKING, State.WORKING, "working", "n", False, id="working"),
        pytest.param(WAITING, State.WAITING, "waiting", "for CI", False, id="waiting"),
        pytest.param(IDLE, State.IDLE, "idle", "", False, id="idle"),
        pytest.param(WORKING | {"status_at": stamp(NOW - 300)}, State.WORKING, "working?", "n", True, id="old-working"),
        pytest.param(WORKING | {"status_at": stamp(NOW - 299)}, State.WORKING, "working", "n", False, id="almost-old"),
        pytest.param(WORKING | {"status_at": "x"}, State.WORKING, "working?", "n", True, id="working-without-a-stamp"),
        pytest.param(
            DONE | {"host": "far"}, State.DONE, "done", "done, its box clears it · built", True, id="done-elsewhere"
        ),
        pytest.param(
            entry(at=None), State.SILENT, "no signal", "no hook has spoken since it joined", True, id="no-evidence"
        ),
        pytest.param(
            entry(at=None, status="spawning"), State.SILENT, "no signal", "spawning", True, id="spawning"
        ),
        pytest.param(
            entry(state="x"), State.SILENT, "no signal", "no hook has spoken since it joined", True, id="unknown-word"
        ),
        pytest.param(entry(state=7, floor=[]), State.WORKING, "working", "", False, id="facts-alone-still-tell"),
        pytest.param([1], State.SILENT, "no signal", "its registry entry is no object", True, id="no-object"),
        pytest.param(
            WORKING | {"last_seen": stamp(NOW - 600)}, State.STALE, "stale", "last seen 10m ago · was working: n", True,
            id="stale-at-the-edge",
        ),
        pytest.param(WORKING | {"last_seen": stamp(NOW - 599)}, State.WORKING, "working", "n", False, id="live-edge"),
        pytest.param(IDLE | {"last_seen": 5}, State.STALE, "stale", "never seen", True, id="no-stamp"),
        pytest.param(IDLE | {"last_seen": "now"}, State.STALE, "stale", "never seen", True, id="stamp-of-no-shape"),
    ],
)  # fmt: skip
def test_line_when_derived_then_says_what_the_entry_says(
    said: object, state: State, word: str, summary: str, doubtful: bool
) -> None:
    fleet = fleet_of({"a": said})
    shown = derive(fleet, fleet.agents["a"], NOW)
    assert (shown.state, shown.word, shown.summary, shown.doubtful) == (state, word, summary, doubtful)


def test_line_of_the_operator_when_derived_then_says_you_and_the_mail() -> None:
    fleet = fleet_of({"me": entry(at=None)}, {"me": 2})
    shown = derive(fleet, fleet.agents["me"], NOW)
    assert (shown.state, shown.summary, shown.since) == (State.YOU, "2 messages for you", NOW - 60)
    assert derive(fleet_of({"me": entry()}), fleet.agents["me"], NOW).summary == "no new mail"


@pytest.mark.parametrize(
    ("said", "unread", "why"),
    [
        pytest.param(BLOCKED, 0, Why.BLOCKED, id="blocked"),
        pytest.param(BLOCKED | {"last_seen": stamp(NOW - 9999)}, 0, Why.BLOCKED, id="blocked-and-stale-still-waits"),
        pytest.param(DONE, 0, Why.DONE, id="done-not-viewed"),
        pytest.param(DONE | {"host": "far"}, 0, None, id="done-of-another-box"),
        pytest.param(entry(state="done", summary=""), 0, None, id="done-already-cleared-of-its-fact"),
        pytest.param(WORKING | {"done": True}, 0, None, id="works-again"),
        pytest.param(WORKING, 5, None, id="live-with-mail"),
        pytest.param(IDLE | {"last_seen": stamp(NOW - 601)}, 1, Why.DEAF, id="stale-with-mail"),
        pytest.param(IDLE | {"last_seen": stamp(NOW - 601)}, 0, None, id="stale-without-mail"),
        pytest.param(WAITING, 0, None, id="waiting"),
        pytest.param([], 0, None, id="no-object-and-no-mail"),
    ],
)
def test_need_when_asked_then_is_the_one_predicate(said: object, unread: int, why: Why | None) -> None:
    fleet = fleet_of({"a": said}, {"a": unread})
    found = need(fleet, fleet.agents["a"], NOW)
    assert (found.why if found else None) is why


def test_need_of_the_operator_when_mail_is_there_then_is_mail() -> None:
    fleet = fleet_of({"me": entry(at=None)}, {"me": 1})
    assert need(fleet, fleet.agents["me"], NOW) == Need("me", Why.MAIL, NOW - 60)


def test_needs_when_listed_then_the_lock_comes_first_and_then_the_oldest() -> None:
    lock = LockState(LockPhase.HELD, age_s=4, looks=2, looked_at=NOW)
    entries: dict[str, object] = {
        "new": BLOCKED | {"status_at": stamp(NOW - 5)},
        "old": DONE | {"status_at": stamp(NOW - 500)},
        "ageless": BLOCKED | {"status_at": None},
        "fine": WORKING,
    }
    fleet = fleet_of(entries, lock=lock)
    assert [(wanted.handle, wanted.why) for wanted in needs_you(fleet, NOW)] == [
        ("", Why.WEDGED),
        ("ageless", Why.BLOCKED),
        ("old", Why.DONE),
        ("new", Why.BLOCKED),
    ]


def test_order_when_nothing_is_needed_then_goes_by_state_and_name() -> None:
    entries: dict[str, object] = {
        "z-idle": IDLE, "me": entry(at=None), "stale": IDLE | {"last_seen": ""}, "b-works": WORKING, "A-works": WORKING,
        "waits": WAITING, "silent": entry(at=None), "blocked": BLOCKED, "far": DONE | {"host": "far"},
    }  # fmt: skip
    fleet = fleet_of(entries)
    assert order(fleet, NOW) == (
        "blocked", "A-works", "b-works", "waits", "far", "z-idle", "silent", "me", "stale",
    )  # fmt: skip


def test_counts_when_taken_then_name_every_state_and_the_operators_mail() -> None:
    fleet = fleet_of({"a": BLOCKED, "b": WORKING, "c": WORKING, "me": entry()}, {"me": 3})
    found = counts(fleet, NOW)
    assert isinstance(found, Counts)
    assert (found.needs, found.mail, found.by_state[State.WORKING], found.by_state[State.IDLE]) == (2, 3, 2, 0)
    assert set(found.by_state) == set(State)


@pytest.mark.parametrize(
    ("lock", "wedged"),
    [
        pytest.param(LockState(LockPhase.HELD, age_s=2.0, looks=2), True, id="two-seconds-seen-twice"),
        pytest.param(LockState(LockPhase.HELD, age_s=1.9, looks=9), False, id="not-yet"),
        pytest.param(LockState(LockPhase.HELD, age_s=3600, looks=1), False, id="old-by-its-file-but-seen-once"),
        pytest.param(LockState(LockPhase.FREE, age_s=9, looks=9), False, id="free"),
        pytest.param(LockState(LockPhase.OLDER_VERSION, age_s=9, looks=2), True, id="older-version"),
        pytest.param(LockState(LockPhase.UNPARSABLE, age_s=9, looks=2), True, id="unparsable"),
        pytest.param(LockState(LockPhase.UNREADABLE, age_s=9, looks=2), True, id="unreadable"),
        pytest.param(LockState(), False, id="not-looked-at"),
    ],
)
def test_lock_when_held_past_two_seconds_then_is_wedged(lock: LockState, wedged: bool) -> None:
    assert lock.wedged is wedged


@pytest.mark.parametrize(
    ("ahead", "told"),
    [
        (5, "yes, seen 0s ago"),
        (6, "yes, by a stamp 6s in the future: its clock or this one is wrong, so it seems live 6s too long"),
        (180, "yes, by a stamp 3m in the future: its clock or this one is wrong, so it seems live 3m too long"),
    ],
)
def test_explanation_when_another_boxs_clock_is_ahead_then_says_so(ahead: int, told: str) -> None:
    fleet = fleet_of({"far": DONE | {"host": "far", "last_seen": stamp(NOW + ahead)}})
    assert dict(explain(fleet, fleet.agents["far"], NOW))["live"] == told


def test_explanation_when_asked_then_says_which_fact_and_since_when() -> None:
    fleet = fleet_of({"a": BLOCKED, "far": DONE | {"host": "far"}}, {"a": 2})
    told = dict(explain(fleet, fleet.agents["a"], NOW))
    assert told["why"].startswith("its agent shows a dialog, 8s ago (registry, ")
    assert told["needs you"] == "it waits on a person"
    assert told["live"] == "yes, seen 8s ago"
    assert told["mail"] == "2 unread"
    assert dict(explain(fleet, fleet.agents["far"], NOW))["why"].endswith("; done, its box clears it")
    assert "needs you" not in dict(explain(fleet, fleet.agents["far"], NOW))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (WORKING | {"floor": "machine"}, "a machine started this turn, 8s ago"),
        (WORKING | {"status_at": stamp(NOW - 840)}, "no heartbeat since, so it may have stopped"),
        (entry(at=None), "no signal: its hooks are not installed, or no turn has run since it joined"),
        (IDLE, "its entry says idle, 8s ago"),
        (IDLE | {"status_at": 3}, "its entry says idle, at a time it does not name"),
        (
            WORKING | {"last_seen": ""},
            "it was not seen for ten minutes or more; before that: a person started this turn",
        ),
        (["x"], "the registry holds something under this handle that is no object"),
    ],
)
def test_why_when_told_then_names_the_evidence(said: object, words: str) -> None:
    fleet = fleet_of({"a": said})
    assert words in dict(explain(fleet, fleet.agents["a"], NOW))["why"]


def test_entry_when_its_fields_have_wrong_types_then_they_count_as_not_said() -> None:
    odd: dict[str, object] = {
        "host": 1,
        "repo": None,
        "root": [],
        "state": {},
        "summary": 2.5,
        "joined": True,
        "last_seen": {},
        "note": 3,
    }
    assert agent("a", odd) == Agent("a")


def test_liveness_when_the_bound_is_another_then_follows_it() -> None:
    fleet = fleet_of({"a": IDLE | {"last_seen": stamp(NOW - 60)}}, live_secs=30)
    assert not is_live(fleet, fleet.agents["a"], NOW)
    assert is_live(fleet._replace(live_secs=61), fleet.agents["a"], NOW)


def test_mail_that_could_not_be_counted_when_explained_then_is_not_zero() -> None:
    fleet = fleet_of({"a": IDLE})._replace(
        mail=MappingProxyType({"a": Mail(MailCount.FAULT, words="Permission denied")})
    )
    assert dict(explain(fleet, fleet.agents["a"], NOW))["mail"] == "could not be counted: Permission denied"


def aside(fleet: Fleet, *handles: str) -> Fleet:
    return fleet._replace(aside=MappingProxyType({name: aside_of(fleet, fleet.agents[name]) for name in handles}))


def test_need_when_set_aside_then_is_none_anywhere_and_the_detail_says_so() -> None:
    fleet = aside(fleet_of({"a": BLOCKED, "b": WORKING, "z": DONE}, {"me": 0}), "a")
    assert [wanted.handle for wanted in needs_you(fleet, NOW)] == ["z"]
    assert counts(fleet, NOW).needs == 1
    assert order(fleet, NOW) == ("z", "a", "b")
    told = dict(explain(fleet, fleet.agents["a"], NOW))
    assert told["set aside"] == "by you, until something changes: it waits on a person"
    assert "needs you" not in told
    assert is_set_aside(fleet, fleet.agents["a"])


@pytest.mark.parametrize(
    ("said", "unread", "again"),
    [
        pytest.param(BLOCKED, 1, False, id="unchanged"),
        pytest.param(BLOCKED | {"last_seen": stamp(NOW)}, 1, False, id="a-heartbeat-is-no-change"),
        pytest.param(BLOCKED | {"status_at": stamp(NOW)}, 1, True, id="another-dialog"),
        pytest.param(DONE, 1, True, id="another-state"),
        pytest.param(BLOCKED, 2, True, id="more-mail"),
        pytest.param(BLOCKED, 0, True, id="its-mail-was-read"),
    ],
)
def test_need_that_was_set_aside_when_something_changes_then_needs_the_person_again(
    said: dict[str, object], unread: int, again: bool
) -> None:
    before = aside(fleet_of({"a": BLOCKED}, {"a": 1}), "a")
    after = fleet_of({"a": said}, {"a": unread})._replace(aside=before.aside)
    assert (need(after, after.agents["a"], NOW) is not None) is again


def test_mail_that_was_set_aside_when_as_much_new_mail_came_then_needs_the_person_again() -> None:
    before = aside(fleet_of({"me": entry(at=None)}, {"me": 2}), "me")
    assert needs_you(before, NOW) == ()
    newer = MappingProxyType({"me": Mail(MailCount.COUNTED, 2, stamp(NOW - 1))})
    assert len(needs_you(before._replace(mail=newer), NOW)) == 1


ALL: dict[str, object] = {
    "MyRepo-box": BLOCKED | {"repo": "MyRepo"},
    "Docs-box": DONE,
    "Work-box": WORKING | {"status_at": stamp(NOW - 900)},
    "Far-laptop": IDLE | {"host": "laptop"},
    "Mute-box": entry(at=None, host="boxer"),
    "me": entry(at=None),
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("", ["MyRepo-box", "Docs-box", "Work-box", "Far-laptop", "Mute-box", "me"], id="empty"),
        pytest.param("  ", ["MyRepo-box", "Docs-box", "Work-box", "Far-laptop", "Mute-box", "me"], id="blank"),
        pytest.param("state:blocked", ["MyRepo-box"], id="state"),
        pytest.param("state:BLO", ["MyRepo-box"], id="state-begun-in-any-case"),
        pytest.param("state:working", ["Work-box"], id="a-doubted-state-too"),
        pytest.param("state:working?", ["Work-box"], id="the-word-as-shown"),
        pytest.param("state:no", ["Mute-box"], id="no-signal"),
        pytest.param("state:you", ["me"], id="the-person"),
        pytest.param("host:lap", ["Far-laptop"], id="host"),
        pytest.param("!host:box", ["Far-laptop"], id="not-host"),
        pytest.param("docs", ["Docs-box"], id="text-in-the-handle"),
        pytest.param("bash?", ["MyRepo-box"], id="text-in-the-summary"),
        pytest.param("BUILT", ["Docs-box"], id="text-in-any-case"),
        pytest.param("-box !state:done !state:no", ["MyRepo-box", "Work-box"], id="several-words"),
        pytest.param("!-box", ["Far-laptop", "me"], id="not-text"),
        pytest.param("!", ["MyRepo-box", "Docs-box", "Work-box", "Far-laptop", "Mute-box", "me"], id="a-word-begun"),
        pytest.param("state:", ["MyRepo-box", "Docs-box", "Work-box", "Far-laptop", "Mute-box", "me"], id="begun"),
        pytest.param("!state:", ["MyRepo-box", "Docs-box", "Work-box", "Far-laptop", "Mute-box", "me"], id="both"),
        pytest.param("repo:x", [], id="an-unknown-field-is-text"),
        pytest.param("state:nothing", [], id="nobody"),
    ],
)  # fmt: skip
def test_filter_when_given_then_every_word_must_fit(text: str, names: list[str]) -> None:
    fleet = fleet_of(ALL)
    assert filtered(fleet, tuple(ALL), text, NOW) == tuple(names)


def test_filter_when_a_handle_is_gone_then_it_is_left_out() -> None:
    assert filtered(fleet_of({"a": IDLE}), ("b", "a"), "", NOW) == ("a",)


@pytest.mark.parametrize(
    ("fleet", "words"),
    [
        pytest.param(fleet_of(ALL), "sot box: 2 need you, 1 working?, 1 done", id="counts"),
        pytest.param(fleet_of({"a": BLOCKED}), "sot box: 1 needs you", id="one"),
        pytest.param(fleet_of({"a": IDLE}), "sot box: nobody needs you", id="nobody"),
        pytest.param(fleet_of({}, host=""), "sot: nobody needs you", id="no-host"),
    ],
)
def test_title_when_made_then_holds_the_headers_counts(fleet: Fleet, words: str) -> None:
    read = fleet._replace(registry=RegistryState(Reading.PRESENT, NOW))
    assert title(read, NOW) == words
    assert title(read._replace(registry=RegistryState(Reading.UNREADABLE)), NOW).endswith("the registry cannot be read")
    assert title(read._replace(registry=RegistryState()), NOW) in {"sot box", "sot"}


def test_explain_when_the_row_is_of_this_box_then_says_where_its_run_stands() -> None:
    row = RowSeen("ws-a-1", "a", "a", "/a", "none", "ended_no_respawn", "a", ended="exit 3")
    fleet = fleet_of({"a": entry(workspace_id="ws-a-1")}, rows=MappingProxyType({row.id: row}))
    said = dict(explain(fleet, fleet.agents["a"], NOW))
    assert said["row"] == "ws-a-1 · 'a' · shell"
    elsewhere = fleet_of({"a": entry(workspace_id="ws-a-1", host="mac")}, rows=MappingProxyType({row.id: row}))
    assert dict(explain(elsewhere, elsewhere.agents["a"], NOW))["row"] == "ws-a-1"


def test_explain_when_nobody_woke_it_then_says_why_and_since_when_and_always_its_root() -> None:
    fleet = fleet_of({"a": IDLE | {"root": "/src/a"}, "b": IDLE})
    fleet = fleet._replace(unwoken=MappingProxyType({"a": Unwoken("it types", NOW - 120)}))
    told = {reason.label: reason.text for reason in explain(fleet, fleet.agents["a"], NOW)}
    assert (told["wake"], told["root"]) == ("not woken: it types, for 2m", "/src/a")
    told = {reason.label: reason.text for reason in explain(fleet, fleet.agents["b"], NOW)}
    assert ("wake" in told, told["root"]) == (False, "not said")


def test_line_when_a_stale_one_has_mail_then_says_how_much_first() -> None:
    fleet = fleet_of({"a": IDLE | {"last_seen": stamp(NOW - 600)}}, {"a": 2})
    assert derive(fleet, fleet.agents["a"], NOW).summary.startswith("2 unread, x removes it · last seen 10m ago")


def test_expertise_when_it_holds_other_things_than_texts_then_they_are_left_out() -> None:
    assert agent("a", entry(expertise=["x", 7, None, ["y"], "z"])).expertise == ("x", "z")
    assert agent("a", entry(expertise="x")).expertise == ()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", ""),
        ("plain state:blocked !host:box", ""),
        ("12:30 : :x /a:b", ""),
        ("x stat:blocked hots:y", "stat:"),
        ("!hots:y", "hots:"),
    ],
)
def test_filter_when_a_word_names_no_field_then_the_first_is_told(text: str, wrong: str) -> None:
    assert no_fields(text) == (f"{wrong} is no field; there is state:, host:" if wrong else "")
