"""The contract's sentences about the hooks and the start of a session; also where a golden case is older than it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import hooks, session_start, stamping
from tests.joined import KEY, MAIL, JoinedSession
from tests.sessions import Session

if TYPE_CHECKING:
    from sot_tui.comm.session_start import Started


@pytest.fixture
def session(comm_home: Path) -> JoinedSession:
    return JoinedSession(comm_home.parent)


# -- the end of a turn ------------------------------------------------------------------------------------------------


def test_turn_when_directed_mail_waits_then_it_may_not_finish(session: JoinedSession) -> None:
    """Contract, Waking: "its end-of-turn check will not let a turn finish while unread mail waits"; the sentence is the
    golden cases' (`hook-stop-mail`, `hook-stop-marker-mail`).
    """
    session.mail("peer")
    assert session.held() == MAIL


@pytest.mark.parametrize(
    ("sender", "to"),
    [("peer", ""), ("h", "h"), ("peer", "someone-else"), ("peer", 7), ("peer", None), ("peer", "H")],
)
def test_turn_when_a_line_is_not_directed_to_the_handle_then_it_holds_nothing(
    session: JoinedSession, sender: str, to: object
) -> None:
    """Contract, Message frame: "A line whose to is missing, not a string or another handle's, or whose from is this
    handle, is shown at the next poll and never counted"; "" is "never counted as unread". The hook counts by the one
    rule, where the client of the golden cases `hook-stop-broadcast` and `hook-stop-other-handle` is older.
    """
    session.mail(sender, to=to)
    assert session.ended() == ()
    assert session.scratch(f"mail-{KEY}.tick") is None


def test_mark_when_the_hook_runs_then_it_is_stamped_first_and_its_stop_deletes_it(session: JoinedSession) -> None:
    """Contract, Waking: "the hook stamps it as it starts, its stop deletes it when the turn ends" (the client of golden
    `hook-stop-plain` leaves it).
    """
    session.facts(floor="user")
    session.mail("peer")
    session.held()
    assert session.h["stop_at"] == session.ago(0)
    session.ended(held_before=True)
    assert "stop_at" not in session.h


def test_inbox_when_it_is_being_written_then_the_hook_says_so_and_does_not_hold_the_turn(
    session: JoinedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract, Delivery: "the end-of-turn hook prints that the inbox was busy and does not block the turn"."""
    import fcntl

    monkeypatch.setenv("SOT_INBOX_READ_WAIT_SECS", "0")
    session.share_locks()
    session.mail("peer")
    with Path(session.home.inbox_lock("h")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        notes = session.ended()
    assert notes == (
        "comm-status-idle: the inbox for @h is being written; it will be checked again at the next turn end",
    )
    assert session.held() == MAIL


def test_turn_when_another_row_holds_the_handle_then_there_is_no_identity_to_hold_it(session: JoinedSession) -> None:
    """Contract, Cases: a stray session "reads, sends and stamps as nobody, and the Stop hook has no identity to block
    on".
    """
    session.book({"h": session.entry(workspace_id="ws-9")})
    session.mail("peer")
    here = session.who_am_i()
    assert stamping.entry_of(here) is None
    assert here.name == ""


# -- the state --------------------------------------------------------------------------------------------------------


def test_wake_line_when_it_comes_in_then_a_machine_started_the_turn(session: JoinedSession) -> None:
    """Contract, Waking: the daemon "types one fixed line, [sot-comm] you have mail: run comm-poll.sh"; registry.json:
    floor is "who started it, user | machine", and only "a user prompt clears question and done".
    """
    session.facts(question="q", done=True)
    session.prompt("[sot-comm] you have mail: run comm-poll.sh")
    assert (session.h["floor"], session.h["question"], session.h["done"]) == ("machine", "q", True)
    session.prompt("and now?")
    assert session.h["floor"] == "user"
    assert not {"question", "done"} & set(session.h)


def test_question_when_asked_by_the_agents_own_tool_then_it_is_blocked_with_its_text(session: JoinedSession) -> None:
    """Contract, registry.json: "PreToolUse on AskUserQuestion (blocked)"."""
    asked = session.event(tool_input={"questions": [{"question": "Which branch?"}]})
    hooks.ask(session.home, session.who_am_i(), asked)
    assert (session.h["state"], session.h["question"]) == ("blocked", "Which branch?")


# -- the start of a session -------------------------------------------------------------------------------------------


def start(session: Session) -> Started:
    return session_start.start(session.home, session.environ, str(session.cwd))


def test_start_when_it_joins_then_its_last_line_says_as_whom(session: JoinedSession) -> None:
    started = start(session)
    assert started.lines[-1] == "BOOTSTRAP-ARM handle=h identity=ok WAKE: daemon"
    assert started.notes == ()


def test_row_when_it_was_displaced_then_its_start_says_so_and_rejoins(comm_home: Path) -> None:
    """Contract, Cases: "the displaced row's comm-session-start.sh says @<h> moved to row <id> and rejoins"."""
    session = Session(comm_home.parent).in_row("ws-1").claims("h\nrepo=alpha\nroot={root}\n")
    session.book({"h": session.entry(workspace_id="ws-2")})
    started = start(session)
    assert started.lines[0].startswith("@h moved to row ws-2")
    assert started.lines[-1] == "BOOTSTRAP-ARM handle=h identity=ok WAKE: daemon"
    assert session.agents()["h"]["workspace_id"] == "ws-1"


def test_start_outside_any_row_when_a_tier_is_held_then_there_is_no_mismatch(comm_home: Path) -> None:
    """Contract, Cases: a derived join "steps past a held tier to the session's own, with one line, comm: @<tier 1> is
    held by a row; a session outside any row joins as @<tier 2>, no stranding warning and no MISMATCH".
    """
    session = Session(comm_home.parent)
    session.book({"alpha-Box-A": session.entry(workspace_id="ws-1")})
    started = start(session)
    assert started.lines[0] == (
        "comm: @alpha-Box-A is held by a row; a session outside any row joins as @alpha-work-Box-A"
    )
    assert started.lines[-1] == "BOOTSTRAP-ARM handle=alpha-work-Box-A identity=ok WAKE: daemon"


def test_start_outside_any_row_when_its_self_file_names_a_rows_handle_then_it_steps_past_it(comm_home: Path) -> None:
    """Contract, Cases: "A name only the self file gave is not a pin: the join steps past a held one"."""
    session = Session(comm_home.parent).claims("h\nrepo=alpha\nroot={root}\n")
    session.book({"h": session.entry(workspace_id="ws-1")})
    started = start(session)
    assert started.lines[0].startswith("comm: @h (named by this session's self file) is held by a row; ")
    assert started.lines[-1] == "BOOTSTRAP-ARM handle=alpha-Box-A identity=ok WAKE: daemon"
    assert "moved to row" not in "\n".join(started.lines)


def test_start_when_pinned_to_a_rows_handle_then_it_is_refused_and_starts_all_the_same(comm_home: Path) -> None:
    """Contract, Cases: "An explicit --name or $SOT_COMM_NAME is refused"."""
    session = Session(comm_home.parent)
    session.book({"h": session.entry(workspace_id="ws-1")})
    session.environ["SOT_COMM_NAME"] = "h"
    assert start(session).lines == (
        "comm-join.sh: REFUSING to join: @h is held by a row (row ws-1); a session outside any row cannot join as it",
        "BOOTSTRAP-ARM handle=none identity=FAIL WAKE: n/a",
    )


def test_start_when_the_slot_names_another_project_then_it_is_refused_unless_a_name_is_pinned(
    comm_home: Path,
) -> None:
    """As the golden case `start-slot-taken` has it, word for word."""
    session = Session(comm_home.parent).claims("x\nrepo=other\nroot=/elsewhere\n").book({})
    started = start(session)
    assert started.lines == ("BOOTSTRAP-ARM handle=none identity=FAIL WAKE: n/a",)
    assert started.notes[1].startswith(f"REFUSED: {session.slot} already names a different, validated identity")
    assert session.agents() == {}
    session.environ["SOT_COMM_NAME"] = "pinned"
    assert start(session).lines[-1] == "BOOTSTRAP-ARM handle=pinned identity=ok WAKE: daemon"


def test_start_when_a_live_handle_of_another_root_is_stepped_past_then_it_is_a_mismatch(comm_home: Path) -> None:
    session = Session(comm_home.parent)
    session.book({"alpha-Box-A": session.entry(root="/elsewhere")})
    started = start(session)
    assert started.lines[-1] == "BOOTSTRAP-ARM handle=alpha-work-Box-A identity=MISMATCH WAKE: daemon"
    assert "comm-join.sh --name alpha-Box-A" in started.lines[1]


def test_start_of_a_refused_process_then_nothing_is_written_and_it_starts(comm_home: Path) -> None:
    session = Session(comm_home.parent).under(["codex", "exec"], ["claude"])
    started = start(session)
    assert started.lines == ("BOOTSTRAP-ARM handle=none identity=FAIL WAKE: n/a",)
    assert "this process runs under codex, started inside claude's session" in started.notes[0]
    assert not comm_home.exists()


@pytest.mark.parametrize("text", ["", "broken", '{"agents":[]}'])
def test_start_when_the_registry_is_unreadable_then_it_says_so_and_starts(comm_home: Path, text: str) -> None:
    session = Session(comm_home.parent).registry(text)
    assert start(session).lines == (
        "comm: the registry could not be read, so no handle was derived; nothing was written",
        "BOOTSTRAP-ARM handle=none identity=FAIL WAKE: n/a",
    )


def test_start_when_a_variable_makes_no_sense_then_it_says_so_and_starts(comm_home: Path) -> None:
    session = Session(comm_home.parent)
    session.environ["SOT_WORKSPACE_ID"] = "a/b"
    started = start(session)
    assert started.lines == ("BOOTSTRAP-ARM handle=none identity=FAIL WAKE: n/a",)
    assert started.notes == ("comm-session-start: SOT_WORKSPACE_ID='a/b' is no row id",)


def test_feedback_when_a_turn_is_held_then_it_stands_as_one_json_text_on_a_line(session: JoinedSession) -> None:
    """Contract, Layout: "the end-of-turn check keeps mail-<key>.tick, ... and stop-feedback-<key>.jsonl here"."""
    session.says()
    session.mail("peer")
    session.held()
    assert session.scratch(f"stop-feedback-{KEY}.jsonl") == json.dumps(MAIL, ensure_ascii=False) + "\n"
