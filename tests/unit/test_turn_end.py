"""The end-of-turn check: what holds a turn, how often, and what is stamped when it passes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sot_tui.comm import notices, registry, scratch, turn_end, turns
from sot_tui.comm.disk import Disk
from tests.joined import KEY, MAIL, JoinedSession
from tests.sessions import Above


@pytest.fixture
def session(comm_home: Path) -> JoinedSession:
    return JoinedSession(comm_home.parent)


# -- what holds it ----------------------------------------------------------------------------------------------------


def test_turn_when_a_batch_waits_then_it_is_held_once_and_a_new_batch_holds_it_again(session: JoinedSession) -> None:
    session.mail("peer", "peer")
    assert session.held() == MAIL
    assert session.scratch(f"mail-{KEY}.tick") == "2"
    assert session.ended(held_before=True) == ()
    session.mail("peer", "peer", "peer")
    assert session.held() == MAIL
    assert session.ended() == ()


def test_turn_when_the_inbox_is_shorter_than_it_was_then_what_waits_is_new(session: JoinedSession) -> None:
    session.mail("peer", "peer", "peer")
    session.held()
    session.mail("peer")
    assert session.held() == MAIL


def test_turn_when_nothing_remembers_then_a_torn_memory_counts_as_none(session: JoinedSession) -> None:
    session.mail("peer")
    scratch.write(session.home, f"mail-{KEY}.tick", "")
    assert session.held() == MAIL


def test_turn_when_another_session_of_the_handle_ends_one_then_it_is_held_for_itself(session: JoinedSession) -> None:
    session.mail("peer")
    session.held()
    assert session.held(session="other") == MAIL


def test_turn_when_the_agent_gives_no_id_then_it_is_held_but_not_twice_in_a_row(session: JoinedSession) -> None:
    session.mail("peer")
    assert session.held(session="") == MAIL
    assert session.ended(session="", held_before=True) == ()
    assert not Path(session.home.scratch).exists()


@pytest.mark.parametrize("cap", [1, 3, 8])
def test_turn_when_held_as_often_as_the_agent_allows_then_it_ends_stamped(session: JoinedSession, cap: int) -> None:
    """One hold more, and the agent would end the turn by itself: without a stop, so that the row stayed working."""
    session.facts(floor="user")
    session.says("SITREP: all done")
    for count in range(1, cap + 1):
        session.mail(*["peer"] * count)
        session.held(held_before=count > 1, cap=cap)
    session.mail(*["peer"] * (cap + 1))
    assert session.ended(held_before=True, cap=cap) == ()
    assert (session.h["state"], session.h["summary"]) == ("done", "all done")


@pytest.mark.parametrize("cap", [0, -1])
def test_turn_when_the_agent_knows_no_bound_then_every_new_batch_holds_it(session: JoinedSession, cap: int) -> None:
    session.says()
    for count in range(1, 12):
        session.mail(*["peer"] * count)
        session.held(held_before=True, cap=cap)


@pytest.mark.parametrize(
    ("said", "cap"), [("", 8), ("3", 3), ("0", 0), ("-1", -1), ("x", 8), ("9" * 5000, 8), (" 4 ", 4)]
)
def test_cap_when_said_then_it_is_read_as_the_agent_reads_it(said: str, cap: int) -> None:
    assert turn_end.cap_said({turn_end.CAP: said}) == cap
    assert turn_end.cap_said({}) == 8


def test_count_of_holds_when_an_earlier_turn_was_broken_off_then_it_starts_anew(session: JoinedSession) -> None:
    session.says()
    session.mail("peer")
    session.held(cap=1)
    session.mail("peer", "peer")
    assert session.held(held_before=False, cap=1) == MAIL
    session.prompt("go on")
    session.mail("peer", "peer", "peer")
    assert session.held(held_before=True, cap=1) == MAIL


class _Full(Above):
    """A disk on which nothing new can be written below `state/`."""

    def open(self, path: str, flags: int) -> int:
        if "/state/" in path and flags & 3:
            raise OSError(28, "No space left on device", path)
        return super().open(path, flags)


def test_turn_when_nothing_can_be_remembered_then_it_is_held_once_and_not_for_ever(session: JoinedSession) -> None:
    """With a full disk the turn goes on: an agent without a bound of its own would be held without end."""
    session.facts(floor="user")
    session.mail("peer")
    session.home = session.home._replace(disk=_Full())
    assert session.held() == MAIL
    assert session.ended(held_before=True) == ()
    assert session.h["state"] == "done"


class _FullForMail(Above):
    """A disk on which what is remembered of mail cannot be written, and the rest can."""

    def open(self, path: str, flags: int) -> int:
        if "/state/.mail-" in path and flags & 3:
            raise OSError(28, "No space left on device", path)
        return super().open(path, flags)


def test_turn_when_only_a_part_can_be_remembered_then_nothing_of_it_stays_and_the_turn_goes_on(
    session: JoinedSession,
) -> None:
    Path(session.home.inbox_lock("h")).mkdir()
    session.share_locks()
    session.facts()
    session.mail("peer")
    session.home = session.home._replace(disk=_FullForMail())
    assert session.ended(held_before=True) == ()
    assert not [name for name in os.listdir(session.home.scratch) if "tick" in name]


def test_turn_when_an_earlier_one_was_held_and_never_ended_then_its_notices_are_none_of_this_one(
    session: JoinedSession,
) -> None:
    notices.tell(session.home, KEY, "of an earlier turn")
    session.mail("peer")
    assert session.held() == MAIL
    assert notices.told(session.home, KEY) == [MAIL]


def test_running_when_a_turn_was_begun_then_it_is_its_own_session_s_alone_until_it_ends(session: JoinedSession) -> None:
    home, slot = session.home, session.who_am_i().self_file
    turns.begin(home, slot, "", "user")
    assert turns.running(home, slot, "") is None
    turns.begin(home, slot, KEY, "machine")
    assert turns.running(home, slot, KEY) == turns.Turn("machine", session.ago(0))
    assert turns.running(home, slot, "other") is None
    assert turns.running(home, slot, "") is None
    turns.end(home, slot)
    assert turns.running(home, slot, KEY) is None


def test_hold_when_it_could_not_be_told_then_nothing_is_remembered_of_it(session: JoinedSession) -> None:
    session.mail("peer")
    turn = turn_end.TurnEnd(KEY, held_before=False, transcript="", last_message="")
    hold = session.check(turn)
    assert isinstance(hold, turn_end.Hold)
    assert session.scratch(f"mail-{KEY}.tick") is None
    turn_end.untold(session.home, hold)
    assert list(Path(session.home.scratch).iterdir()) == []
    assert session.held() == MAIL


# -- faults of the inbox ----------------------------------------------------------------------------------------------


LOCK = "WARNING: the inbox lock for @h failed (cannot open its lock file) — reading without it; a line may show twice, "
LOCK += "none is lost"


@pytest.fixture
def faulty(session: JoinedSession) -> JoinedSession:
    """Return a session whose inbox lock cannot be opened."""
    Path(session.home.inbox_lock("h")).mkdir()
    session.share_locks()
    session.mail()
    return session


def test_fault_when_it_lasts_then_it_holds_one_turn_and_is_named_in_every_block(faulty: JoinedSession) -> None:
    """Contract, Delivery: any other lock fault "is named ... where the session sees it (..., every block of the
    end-of-turn hook)".
    """
    assert faulty.held() == LOCK
    assert faulty.ended() == ()
    faulty.mail("peer")
    assert faulty.held() == f"{LOCK}\n{MAIL}"
    assert faulty.ended() == ()


def test_fault_when_it_is_over_then_the_next_one_is_told_anew(faulty: JoinedSession) -> None:
    faulty.held()
    lock = Path(faulty.home.inbox_lock("h"))
    lock.rmdir()
    assert faulty.ended() == ()
    assert faulty.scratch(f"lock-fault-h.{KEY}.tick") is None
    lock.unlink()
    lock.mkdir()
    assert faulty.held() == LOCK


def test_count_when_it_fails_then_it_is_named_and_never_read_as_none(session: JoinedSession) -> None:
    """Contract, Delivery: "a count that fails ... is named like a lock fault (WARNING: the unread count for @h failed
    (…) — run comm-poll.sh to read your mail), never read as 0".
    """
    Path(session.home.inbox("h")).mkdir()
    warning = "WARNING: the unread count for @h failed (Is a directory) — run comm-poll.sh to read your mail"
    assert session.held() == warning
    assert session.ended() == ()


# -- what is stamped --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "texts", "state"),
    [
        ({"floor": "user", "note": "n"}, [], ("done", "n")),
        ({"floor": "machine", "note": "n"}, [], ("idle", "n")),
        ({"floor": "machine"}, ["SITREP: it is built"], ("done", "it is built")),
        ({"floor": "user", "note": "n"}, ["SITREP-QUESTION: which?"], ("blocked", "which?")),
        ({"floor": "user", "question": "old", "note": "n"}, ["SITREP-WAITING: CI"], ("blocked", "old")),
        ({"floor": "user"}, ["SITREP: early", "SITREP-WAITING: CI", "bye"], ("waiting", "CI")),
        ({"floor": "user", "question": "q"}, ["SITREP:"], ("done", "")),
        ({"floor": "user", "dialog": "Allow Bash?"}, [], ("done", "")),
    ],
)
def test_turn_when_it_passes_then_its_marker_and_its_stop_are_one_stamp(
    session: JoinedSession, facts: dict[str, str], texts: list[str], state: tuple[str, str]
) -> None:
    session.facts(**facts)
    session.says(*texts)
    assert session.ended() == ()
    assert (session.h["state"], session.h["summary"]) == state
    assert not {"floor", "dialog", "stop_at"} & set(session.h)
    assert ("done" in session.h) is (state[0] == "done")
    assert session.h["last_seen"] == session.h["status_at"] == session.ago(0)


def test_turn_when_it_is_held_then_only_the_mark_is_stamped(session: JoinedSession) -> None:
    """Contract, Waking: "a turn that closes with a report marker is held too, and its row is stamped only at the turn
    end that passes".
    """
    session.facts(floor="user", note="n")
    session.says("SITREP: done")
    session.mail("peer")
    before = session.h
    session.held()
    assert session.h == {**before, "stop_at": session.ago(0)}
    session.ended(held_before=True)
    assert (session.h["state"], session.h["summary"]) == ("done", "done")


def test_turn_when_it_began_after_a_marker_then_the_note_of_its_start_tells(session: JoinedSession) -> None:
    session.facts()
    session.prompt("go")
    said = '"message":{"role":"assistant","content":"SITREP: x"}'
    session.transcript.write_text('{"type":"assistant","timestamp":"2026-01-02T03:00:00.000Z",' + said + "}\n")
    assert session.ended() == ()
    assert session.h["summary"] == ""


def test_turn_when_it_passes_then_what_was_kept_for_it_is_gone(session: JoinedSession) -> None:
    session.facts()
    session.says()
    session.prompt("go")
    slot = session.who_am_i().self_file
    assert turns.running(session.home, slot, KEY)
    session.mail("peer")
    session.held()
    assert session.scratch(f"stop-feedback-{KEY}.jsonl")
    session.ended(held_before=True)
    assert session.scratch(f"stop-feedback-{KEY}.jsonl") is None
    assert turns.running(session.home, slot, KEY) is None


def test_turn_when_another_row_took_the_handle_meanwhile_then_nothing_is_stamped(session: JoinedSession) -> None:
    here = session.who_am_i()
    session.book({"h": session.entry(workspace_id="ws-9", floor="user")})
    before = session.agents()
    outcome = turn_end.check(session.home, here, turn_end.TurnEnd(KEY, False, "", ""))
    assert outcome == turn_end.Ended()
    assert session.agents() == before


def test_turn_when_the_registry_cannot_be_written_then_it_ends_and_says_so(
    session: JoinedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOT_LOCK_WAIT_SECS", "0")
    here = session.who_am_i()
    Path(session.home.registry).write_text("broken")
    outcome = turn_end.check(session.home, here, turn_end.TurnEnd(KEY, False, "", ""))
    assert outcome == turn_end.Ended((registry.NOT_WRITTEN,))


def test_scratch_when_two_write_at_once_then_neither_fails(session: JoinedSession) -> None:
    """The folder is made by the first who needs it, which may be another one just then."""

    class Racing(Disk):
        def mkdir(self, path: str) -> None:
            super().mkdir(path)
            super().mkdir(path)

    home = session.home._replace(disk=Racing())
    assert scratch.write(home, "x.tick", "1")
    assert scratch.read(home, "x.tick") == "1"
