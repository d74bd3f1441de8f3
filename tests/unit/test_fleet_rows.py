"""Rows in the fleet, as tables: which of them have a line of their own, what it says, what stays with a dead one."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest

from sot_tui.comm import fleet_json
from sot_tui.comm.clock import stamp
from sot_tui.comm.fleet import (
    Fleet,
    LockPhase,
    LockState,
    Mail,
    MailCount,
    RowSeen,
    State,
    agent,
    called,
    counts,
    derive,
    end_of,
    explain,
    filtered,
    joined_as,
    line_of,
    lines,
    needs_you,
    order,
    program_of,
    row_key,
    row_of,
)

NOW = 1_780_000_000.0
API = RowSeen("ws-api-1", "api", "Api", "/src/api", "none", "ready")
OVER = RowSeen("ws-web-2", "web", "Web", "/src/web", "claude", "ended_no_respawn", "web-box", ended="exit 3")


def entry(seen: float = 8, host: str = "box", **said: object) -> dict[str, object]:
    return {"host": host, "last_seen": stamp(NOW - seen), "status_at": stamp(NOW - 8), **said}


def fleet_of(*rows: RowSeen, **entries: dict[str, object]) -> Fleet:
    agents = {handle.replace("_", "-"): agent(handle.replace("_", "-"), said) for handle, said in entries.items()}
    seen = MappingProxyType({row.id: row for row in rows})
    return Fleet(host="box", operator="me", agents=MappingProxyType(agents), rows=seen)


@pytest.mark.parametrize(
    ("row", "said", "alone"),
    [
        pytest.param(API, {}, True, id="no entry at all"),
        pytest.param(API, {"api": entry()}, True, id="an entry of its label's name"),
        pytest.param(API, {"api_box": entry(workspace_id="ws-api-1")}, False, id="an entry that names it"),
        pytest.param(API, {"api_box": entry(host="mac", workspace_id="ws-api-1")}, True, id="one of another box"),
        pytest.param(API._replace(handle="api-box"), {"api_box": entry()}, False, id="an unbound one with its handle"),
        pytest.param(
            API._replace(handle="api-box"), {"api_box": entry(workspace_id="ws-old-9")}, True, id="one of another row"
        ),
        pytest.param(API._replace(handle="api-box"), {"api_box": entry(host="mac")}, True, id="its handle elsewhere"),
    ],
)
def test_row_when_an_entry_stands_for_it_then_has_no_line_of_its_own(
    row: RowSeen, said: dict[str, dict[str, object]], alone: bool
) -> None:
    fleet = fleet_of(row, **said)
    keys = [one.handle for one in lines(fleet)]
    assert (row_key(row.id) in keys) is alone
    assert (line_of(fleet, row_key(row.id)) is not None) is alone
    assert sorted(order(fleet, NOW)) == sorted(keys)
    assert sum(counts(fleet, NOW).by_state.values()) == len(keys)


@pytest.mark.parametrize(
    ("row", "state", "summary"),
    [
        (API, State.SILENT, "no session has joined"),
        (API._replace(phase="starting"), State.SILENT, "starting · no session has joined"),
        (API._replace(phase="unreachable"), State.SILENT, "unreachable · no session has joined"),
        (API._replace(phase="stopped"), State.ENDED, "it is not running"),
        (API._replace(phase="ended_no_respawn", ended="exit 3"), State.ENDED, "its run has ended: exit 3"),
        (API._replace(phase="terminal", error="crashed"), State.ENDED, "it was given up: crashed"),
    ],
    ids=lambda one: one.phase if isinstance(one, RowSeen) else "",
)
def test_line_when_no_session_has_joined_then_is_never_idle(row: RowSeen, state: State, summary: str) -> None:
    """Product, The nav: a state without evidence is never shown as idle: it says what is missing."""
    fleet = fleet_of(row)
    one = line_of(fleet, row_key(row.id))
    assert one is not None
    shown = derive(fleet, one, NOW)
    assert (called(one), shown.state, shown.summary, shown.doubtful) == ("Api", state, summary, True)
    assert needs_you(fleet, NOW) == ()
    said = dict(explain(fleet, one, NOW))
    over = "no session has joined in it"  # its line says how it ended
    assert said["why"] == (over if state is State.ENDED else "no session has joined in it: what it does is not known")
    assert said["row"].startswith("ws-api-1 · 'Api' · shell")
    assert "live" not in said


def test_line_when_its_rows_run_is_over_then_says_so_before_what_it_said() -> None:
    fleet = fleet_of(OVER, web_box=entry(workspace_id=OVER.id, state="working", summary="at it", floor="user"))
    shown = derive(fleet, fleet.agents["web-box"], NOW)
    assert (shown.state, shown.summary, shown.doubtful) == (State.WORKING, "its run has ended: exit 3 · at it", True)
    old = fleet_of(OVER, web_box=entry(7200, workspace_id=OVER.id, state="idle", summary=""))
    assert derive(old, old.agents["web-box"], NOW).summary == "its run has ended: exit 3 · last seen 2h ago"
    assert [need.handle for need in needs_you(old, NOW)] == []


def test_order_when_rows_have_no_entry_then_they_stand_among_the_others_by_state_and_name() -> None:
    silent, ended = API, OVER._replace(handle="")
    fleet = fleet_of(silent, ended, zeta=entry(), anna=entry(state="idle"), gone=entry(7200))
    assert order(fleet, NOW) == ("anna", row_key(silent.id), "zeta", row_key(ended.id), "gone")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("api", [row_key(API.id)]),
        ("state:ended", [row_key(OVER.id)]),
        ("joined", [row_key(API.id)]),
        ("host:box !state:ended", ["anna", row_key(API.id)]),
        ("!api", ["anna", row_key(OVER.id)]),
    ],
)
def test_filter_when_rows_have_no_entry_then_finds_them_by_the_same_words(text: str, found: list[str]) -> None:
    fleet = fleet_of(API, OVER._replace(handle=""), anna=entry(state="idle"))
    assert list(filtered(fleet, order(fleet, NOW), text, NOW)) == found


@pytest.mark.parametrize(
    ("said", "handle"),
    [
        ({}, ""),
        ({"api_box": entry(workspace_id="ws-api-1", status="idle")}, "api-box"),
        ({"api_box": entry(workspace_id="ws-api-1", status="spawning")}, ""),
        ({"api_box": entry(7200, workspace_id="ws-api-1", status="idle")}, ""),
        ({"api_box": entry(host="mac", workspace_id="ws-api-1", status="idle")}, ""),
        ({"api_box": entry(workspace_id="ws-web-2", status="idle")}, ""),
    ],
    ids=["nobody", "joined", "announced", "stale", "another box", "another row"],
)
def test_joined_when_a_live_session_of_the_row_has_said_so_then_is_its_handle(
    said: dict[str, dict[str, object]], handle: str
) -> None:
    assert joined_as(fleet_of(API, **said), API.id, NOW) == handle


def test_row_of_when_asked_of_an_entry_then_is_the_row_of_this_box_alone() -> None:
    bound = entry(workspace_id="ws-api-1")
    fleet = fleet_of(API, OVER, a=bound, b=entry(host="mac", workspace_id="ws-api-1"), c=entry(), web_box=entry())
    assert [row_of(fleet, fleet.agents[handle]) for handle in ("a", "b", "c", "web-box")] == [API, None, None, OVER]
    assert [program_of(row) for row in (API, OVER, None)] == ["shell", "claude", ""]
    assert [end_of(row) for row in (API, None)] == ["", ""]


def test_json_when_a_row_has_no_entry_then_is_a_line_without_a_handle() -> None:
    fleet = fleet_of(API, anna=entry(state="idle"))
    said = json.loads(json.dumps(fleet_json.fleet_object(fleet, NOW)))
    anna, row = said["agents"]
    assert (anna["handle"], anna["run"]) == ("anna", None)
    assert (row["handle"], row["row"], row["state"], row["needs_you"]) == (None, "ws-api-1", "no signal", None)
    assert row["run"] == {"label": "Api", "program": "shell", "phase": "ready", "ended": None, "error": None}
    assert (said["counts"]["no signal"], said["counts"]["ended"]) == (1, 0)


def test_line_when_its_key_is_no_row_then_is_nothing() -> None:
    fleet = fleet_of(API)
    assert line_of(fleet, "row:ws-none-1") is None
    assert line_of(fleet, "ws-api-1") is None


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (1, 1),
        ((1 << 53) - 1, (1 << 53) - 1),
        (1 << 53, None),
        (1 - (1 << 53), 1 - (1 << 53)),
        (-(1 << 53), None),
        (True, None),
        ("1", None),
        (None, None),
    ],
)
def test_json_when_a_version_is_no_number_that_every_reader_holds_then_is_null(version: object, told: object) -> None:
    fleet = fleet_of()
    fleet = fleet._replace(registry=fleet.registry._replace(version=version))
    assert fleet_json.fleet_object(fleet, NOW)["protocol_version"] == told


def test_json_when_mail_was_not_counted_then_is_null_and_says_why_and_never_0() -> None:
    mail = {"me": Mail(MailCount.FAULT, words="no such disk"), "anna": Mail(MailCount.COUNTED, 3)}
    fleet = fleet_of(anna=entry(state="idle"), me=entry())
    told = fleet_json.fleet_object(fleet._replace(mail=MappingProxyType(mail)), NOW)
    by_handle = {one["handle"]: one["mail"] for one in told["agents"]}
    assert told["counts"]["mail"] is None
    shown = {name: (one["counted"], one["unread"], one["words"]) for name, one in by_handle.items()}
    assert shown == {"me": (False, None, "no such disk"), "anna": (True, 3, None)}
    mail["me"] = Mail(MailCount.COUNTED, 2)
    assert fleet_json.fleet_object(fleet._replace(mail=MappingProxyType(mail)), NOW)["counts"]["mail"] == 2


def test_json_when_the_registry_lock_is_free_then_it_has_no_age() -> None:
    fleet = fleet_of()
    for phase, age in ((LockPhase.FREE, None), (LockPhase.HELD, 42)):
        lock = LockState(phase, age_s=30.0, looked_at=NOW - 12)
        assert fleet_json.fleet_object(fleet._replace(lock=lock), NOW)["registry_lock"]["age_s"] == age
