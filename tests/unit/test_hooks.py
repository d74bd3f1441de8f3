"""What the hooks before the end of a turn stamp, and what they leave alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sot_tui.comm import facts, greeting, heartbeat, hooks, joining, scratch, turns
from sot_tui.comm.clock import Stamp
from sot_tui.comm.joining import Wish
from tests.joined import KEY, MAIL, JoinedSession
from tests.sessions import NOW, Session


@pytest.fixture
def session(comm_home: Path) -> JoinedSession:
    return JoinedSession(comm_home.parent)


# -- a prompt ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt",
    [
        "[sot-comm] you have mail: run comm-poll.sh",
        "[relay] from x",
        "text <task-notification> x",
        "[SYSTEM NOTIFICATION] x",
        "[peer:team] hello",
        "Another Claude session sent a message: x",
        "Stop hook feedback:\nx",
    ],
)
def test_prompt_when_no_person_typed_it_then_the_turn_is_a_machines(session: JoinedSession, prompt: str) -> None:
    session.facts(question="q?", done=True)
    assert session.prompt(prompt) == ""
    assert (session.h["floor"], session.h["question"], session.h["done"]) == ("machine", "q?", True)


@pytest.mark.parametrize(
    "prompt", ["", "go", "[note] hello", "you have mail: run comm-poll.sh", " [sot-comm] x", "a Stop hook feedback: b"]
)
def test_prompt_when_it_may_be_a_persons_then_the_turn_is_theirs(session: JoinedSession, prompt: str) -> None:
    session.facts(question="q?", done=True)
    assert session.prompt(prompt) == ""
    assert session.h["floor"] == "user"
    assert not {"question", "done"} & set(session.h)


@pytest.mark.parametrize("notice", [f"Stop hook feedback:\n- {MAIL}", MAIL])
def test_prompt_when_it_is_the_notice_of_a_hold_then_the_turn_that_runs_goes_on(
    session: JoinedSession, notice: str
) -> None:
    """Contract, Waking: "the check's own held-turn notices do not start a new turn"."""
    session.facts(floor="user", note="n")
    session.says()
    session.mail("peer")
    session.held()
    before = session.h
    assert session.prompt(notice) == ""
    assert session.h == before
    assert session.scratch(f"stop-feedback-{KEY}.jsonl")


def test_prompt_when_the_session_is_no_agent_yet_then_its_join_finds_the_turn_running(
    comm_home: Path, session: JoinedSession
) -> None:
    """Contract, Layout: `turn-<self slot>` is kept "while a turn runs"; the prompt that makes a session join comes
    before its entry.
    """
    del comm_home
    session.slot.unlink()
    assert session.prompt("/sot-session-start") == ""
    session.environ[scratch.SESSION_ID] = KEY
    joined = session.joined()
    entry = session.agents()[joined.handle]
    assert (entry["floor"], entry["state"]) == ("user", "working")


@pytest.mark.parametrize("key", ["other", ""])
def test_join_when_the_turn_that_runs_is_another_sessions_then_it_says_nothing(
    session: JoinedSession, key: str
) -> None:
    session.slot.unlink()
    session.prompt("go")
    session.environ[scratch.SESSION_ID] = key
    handle = session.joined().handle
    assert "floor" not in session.agents()[handle]


def test_turn_when_its_note_is_torn_then_there_is_none(session: JoinedSession) -> None:
    slot = session.who_am_i().self_file
    for text in ("", "user", f"user when {KEY}", "user 2026-01-02T03:04:05Z", "\0\0"):
        scratch.write(session.home, "turn-box-a__nopane", text)
        assert turns.running(session.home, slot, KEY) is None


# -- a question -------------------------------------------------------------------------------------------------------


def ask(session: JoinedSession, tool_input: object, **more: object) -> str:
    return hooks.ask(session.home, session.who_am_i(), session.event(tool_input=tool_input, **more))


@pytest.mark.parametrize(
    ("tool_input", "question"),
    [
        ({"questions": [{"question": "Which branch?"}]}, "Which branch?"),
        ({"questions": [{"question": "a?"}, {"question": "b?"}, {"question": ""}]}, "a? (and 1 more)"),
        ({"questions": "x"}, "a question is open"),
        (None, "a question is open"),
    ],
)
def test_question_when_asked_then_it_stands_and_the_turn_rests(
    session: JoinedSession, tool_input: object, question: str
) -> None:
    session.facts(floor="user")
    assert ask(session, tool_input, tool_use_id="toolu_1") == ""
    assert (session.h["state"], session.h["summary"]) == ("blocked", question)
    assert not {"floor", "done"} & set(session.h)


def test_answer_when_it_is_to_the_question_then_the_turn_goes_on_as_the_users(session: JoinedSession) -> None:
    session.facts(floor="machine")
    ask(session, {"questions": [{"question": "q?"}]}, tool_use_id="toolu/1 x")
    assert session.scratch("askq-toolu_1_x.marker") == ""
    before = session.h
    assert hooks.answer(session.home, session.who_am_i(), session.event(tool_use_id="toolu_2")) == ""
    assert hooks.answer(session.home, session.who_am_i(), session.event()) == ""
    assert session.h == before
    assert hooks.answer(session.home, session.who_am_i(), session.event(tool_use_id="toolu/1 x")) == ""
    assert (session.h["floor"], session.h["state"]) == ("user", "working")
    assert "question" not in session.h
    assert session.scratch("askq-toolu_1_x.marker") is None


def test_answer_when_it_cannot_be_stamped_then_its_mark_stays(
    session: JoinedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOT_LOCK_WAIT_SECS", "0")
    ask(session, {}, tool_use_id="t")
    here = session.who_am_i()
    Path(session.home.registry).write_text("broken")
    assert hooks.answer(session.home, here, session.event(tool_use_id="t")).startswith("FAILED")
    assert session.scratch("askq-t.marker") == ""


# -- a dialog ---------------------------------------------------------------------------------------------------------


def test_dialog_when_codex_asks_for_a_permission_then_it_reads_red_until_a_tool_ran(session: JoinedSession) -> None:
    """Contract, registry.json: "A Codex session's PermissionRequest hook sends dialog and the heartbeat sends
    resumed."
    """
    session.facts(floor="user", note="n")
    here = session.who_am_i()
    assert hooks.show_dialog(session.home, here, session.event(tool_name="Bash")) == ""
    assert (session.h["state"], session.h["summary"]) == ("blocked", "Allow Bash?")
    hooks.beat(session.home, session.who_am_i(), KEY, resumes=False)
    assert session.h["dialog"] == "Allow Bash?"
    hooks.beat(session.home, session.who_am_i(), KEY, resumes=True)
    assert (session.h["state"], session.h["summary"]) == ("working", "n")
    assert "dialog" not in session.h


# -- a heartbeat ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "stamped"),
    [
        ({"floor": "user", "age": 60}, True),
        ({"floor": "machine", "age": 3600}, True),
        ({"floor": "user", "age": 59}, False),
        ({"floor": "user", "age": -100}, False),
        ({"floor": None, "age": 3600}, False),
        ({"age": 3600}, False),
        ({"floor": "user", "status_at": "yesterday"}, True),
        ({"floor": "user", "status_at": 7}, True),
    ],
)
def test_heartbeat_when_a_turn_runs_then_its_stamp_is_renewed_after_a_minute(
    session: JoinedSession, entry: dict[str, Any], stamped: bool
) -> None:
    age = entry.pop("age", None)
    old = entry.pop("status_at", None) if age is None else session.ago(age)
    session.book({"h": session.entry(last_seen=session.ago(3600), note="n", **entry) | {"status_at": old}})
    before = session.h
    hooks.beat(session.home, session.who_am_i(), KEY, resumes=False)
    now = {"last_seen": session.ago(0), "status_at": session.ago(0), "state": "working", "summary": "n"}
    assert session.h == ({**before, **now} if stamped else before)


def test_heartbeat_when_it_looked_just_then_then_it_is_not_due(session: JoinedSession) -> None:
    assert heartbeat.is_due(session.home, KEY)
    hooks.beat(session.home, session.who_am_i(), KEY, resumes=False)
    tick = Path(session.home.scratch, f"hb-{KEY}.tick")
    for age, due in ((0, False), (9.9, False), (10, True), (-5, True)):
        os.utime(tick, (NOW - age, NOW - age))
        assert heartbeat.is_due(session.home, KEY) is due
    assert heartbeat.is_due(session.home, "")


def test_heartbeat_when_it_looks_again_then_its_tick_is_new(session: JoinedSession) -> None:
    tick = Path(session.home.scratch, f"hb-{KEY}.tick")
    heartbeat.looked(session.home, KEY)
    os.utime(tick, (1, 1))
    heartbeat.looked(session.home, KEY)
    assert tick.stat().st_mtime > 1


def test_heartbeat_when_the_lock_is_held_then_it_makes_one_try_and_is_silent(session: JoinedSession) -> None:
    """Contract, Bounds: "0 for the heartbeat"; One writer: it is made "under the same lock with one try, and stays
    silent".
    """
    session.facts(floor="user")
    Path(session.home.lock).write_text("box-b:m:b:1:1:1\n")
    before = session.h
    hooks.beat(session.home, session.who_am_i(), KEY, resumes=True)
    assert session.h == before


# -- who is no agent --------------------------------------------------------------------------------------------------


def test_hooks_when_the_session_is_no_agent_then_they_stamp_nothing_and_leave_nothing(
    session: JoinedSession,
) -> None:
    session.slot.unlink()
    here, before = session.who_am_i(), session.agents()
    hooks.ask(session.home, here, session.event(tool_use_id="t"))
    hooks.answer(session.home, here, session.event(tool_use_id="t"))
    hooks.show_dialog(session.home, here, session.event(tool_name="Bash"))
    hooks.beat(session.home, here, KEY, resumes=True)
    assert session.agents() == before
    assert not Path(session.home.scratch).exists()


# -- a start ----------------------------------------------------------------------------------------------------------


def greet(session: Session, source: str) -> str:
    return greeting.greet(session.home, session.who_am_i(), session.environ, str(session.cwd), source)


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", ""])
def test_start_when_joined_outside_a_row_then_the_session_is_told_who_it_is(
    session: JoinedSession, source: str
) -> None:
    session.facts(dialog="d", stop_at=session.ago(0), note="n")
    assert greet(session, source).startswith("You are @h on sot-comm")
    gone = source not in {"clear", "compact"}
    assert ({"dialog", "stop_at"} & set(session.h) == set()) is gone
    assert session.h["note"] == "n"


def test_start_when_outside_a_row_and_no_agent_then_nothing_is_said_or_joined(session: JoinedSession) -> None:
    session.slot.unlink()
    before = session.agents()
    assert greet(session, "startup") == ""
    assert session.agents() == before


@pytest.mark.parametrize("source", ["startup", "compact"])
def test_start_when_in_a_row_then_it_joins(comm_home: Path, source: str) -> None:
    session = Session(comm_home.parent).in_row("ws-1")
    text = greet(session, source)
    assert "BOOTSTRAP-ARM handle=alpha-Box-A identity=ok WAKE: daemon\nYou are @alpha-Box-A on sot-comm" in text
    assert session.agents()["alpha-Box-A"]["workspace_id"] == "ws-1"


def test_start_when_a_row_may_not_join_then_it_is_told_why(comm_home: Path) -> None:
    session = Session(comm_home.parent).in_row("ws-1").claims("x\nrepo=other\nroot=/elsewhere\n")
    text = greet(session, "startup")
    assert text.startswith("BOOTSTRAP-ARM handle=none identity=FAIL WAKE: n/a\n")
    assert "REFUSED: " in text


def test_start_when_a_process_before_it_died_in_a_turn_then_no_turn_runs(session: JoinedSession) -> None:
    session.prompt("go")
    session.environ[scratch.SESSION_ID] = KEY
    greet(session, "resume")
    assert turns.running(session.home, session.who_am_i().self_file, KEY) is None
    assert "floor" not in joined_anew(session)


def joined_anew(session: Session) -> dict[str, Any]:
    outcome = joining.join(session.home, session.environ, str(session.cwd), Wish())
    assert isinstance(outcome, joining.Joined)
    entry: dict[str, Any] = session.agents()[outcome.handle]
    return entry


def test_stamps_when_renewed_then_state_and_summary_follow_the_facts() -> None:
    entry = {"floor": "user", "note": "n", "state": "odd", "summary": "odd"}
    after = facts.restamped(entry, Stamp("2026-01-02T03:04:05Z"))
    assert (after["state"], after["summary"]) == ("working", "n")
    assert after["last_seen"] == after["status_at"] == "2026-01-02T03:04:05Z"
    assert entry["state"] == "odd"
