"""A handle a row holds, with a daemon that rules: what is taken, stepped past, refused, and told to it.

Contract, Cases: "A handle a row holds is read and taken only from inside that row", against a scripted peer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import joining, names, session_start
from tests.peer import MISMATCH, TWO_ACCOUNTS, Peer
from tests.sessions import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROW = "ws-9"
HELD = {"error": "@h is held by a row", "code": "held_by_row", "held_by_row": "ws-5", "row": "ws-5"}
"""What a daemon answers for a handle that a row of its own holds, whatever the registry says."""
FREE = {"ok": True}
NO_RULING: dict[str, object] = {
    "older": {"error": 'unknown workspace: ""', "code": "unknown_workspace"},
    "older-still": {"error": "unknown op: agent.join"},
    "failed": {"error": "agent.join payload: x", "code": "handler_error"},
    "neither": {"ok": False},
    "silent": None,
}


@pytest.fixture
def session(_away_from_home: Path) -> Session:
    return Session(_away_from_home / "s")


@pytest.fixture
def daemon(session: Session) -> Iterator[Peer]:
    """Let a daemon of this box answer, and rule that every handle is free."""
    with Peer(session.folder / "d.sock", {"agent.join": FREE}) as found:
        session.environ["SOT_SOCKET"] = str(found.path)
        session.environ["SOT_SEND_TIMEOUT"] = "10"
        yield found


def rules(daemon: Peer, answers: dict[str, object], otherwise: object = FREE) -> None:
    """Let the daemon rule so on each handle."""
    daemon.answers["agent.join"] = lambda said: answers.get(said["handle"], otherwise)


def bound(session: Session, row: str = ROW, **more: object) -> dict[str, Any]:
    return session.entry(workspace_id=row, **more)


def asked(daemon: Peer) -> list[str]:
    """Return the handles that were asked about; each question bears an empty row id."""
    assert all(op == "agent.join" and said["workspace_id"] == "" for op, said in daemon.asked)
    return [said["handle"] for _, said in daemon.asked]


def refusal(handle: str, row: str) -> str:
    return (
        f"comm-join.sh: REFUSING to join: @{handle} is held by a row (row {row}); "
        "a session outside any row cannot join as it"
    )


def leave(session: Session, handle: str) -> joining.Left | joining.NotLeft:
    return joining.remove(session.home, session.who_am_i(), handle, session.environ)


# -- taking -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", ["absent", "unbound", "bound"])
def test_join_by_name_when_the_daemon_s_row_holds_it_then_refused_whatever_the_registry_says(
    session: Session, daemon: Peer, known: str
) -> None:
    """ "Whatever the registry file says, when a daemon endpoint resolves the script asks it (agent.join with an empty
    workspace_id, ...): it writes nothing and answers held_by_row for any row it has not seen end ..., else ok"."""
    session.book({} if known == "absent" else {"h": bound(session, ROW if known == "bound" else "")})
    daemon.answers["agent.join"] = HELD
    assert session.refused("h").notes == (refusal("h", "ws-5"),)
    assert asked(daemon) == ["h"]
    assert not session.slot.exists()


@pytest.mark.parametrize(
    ("answer", "row"),
    [
        ({"code": "held_by_row"}, "unknown"),
        ({"error": "x", "code": "held_by_row", "row": "ws-6"}, "ws-6"),
        ({"error": "x", "code": "held_by_row", "workspace_id": "ws-7"}, "ws-7"),
        ({"ok": True, "code": "held_by_row", "held_by_row": 7}, "unknown"),
    ],
)
def test_join_by_name_when_the_refusal_names_its_row_otherwise_then_still_refused(
    session: Session, daemon: Peer, answer: object, row: str
) -> None:
    session.book({})
    daemon.answers["agent.join"] = answer
    assert session.refused("h").notes == (refusal("h", row),)


def test_join_by_name_when_the_daemon_clears_a_bound_entry_then_it_is_taken(session: Session, daemon: Peer) -> None:
    """ "only a latched Terminal or EndedNoRespawn row, or none, frees a handle"."""
    session.book({"h": bound(session, host="BOX-A")})
    assert session.joined("h").handle == "h"
    assert session.agents()["h"]["workspace_id"] == ""
    assert asked(daemon) == ["h"]


def test_join_by_name_when_the_entry_is_bound_on_another_computer_then_no_daemon_here_frees_it(
    session: Session, daemon: Peer
) -> None:
    """ "An entry bound to a row on another computer of the shared home (its host is not this one) is held, since no
    local daemon can rule on it"."""
    session.book({"h": bound(session, host="far")})
    assert session.refused("h").notes == (refusal("h", ROW),)
    assert asked(daemon) == ["h"]


@pytest.mark.parametrize("answer", NO_RULING.values(), ids=NO_RULING)
def test_join_by_name_when_the_daemon_gives_no_ruling_then_the_registry_s_binding_decides(
    session: Session, daemon: Peer, answer: object
) -> None:
    """ "Where the daemon gives no ruling (none answering, an older one, a failed call) the registry's binding refuses:
    a bound entry is held"; "with no daemon answering and the entry unbound or absent, a session outside any row takes
    the handle"."""
    session.environ["SOT_SEND_TIMEOUT"] = "0.2"
    daemon.answers["agent.join"] = answer
    session.book({"h": bound(session), "free": bound(session, "")})
    assert session.refused("h").notes == (refusal("h", ROW),)
    assert session.joined("free").handle == "free"
    assert session.joined("absent").handle == "absent"


def test_join_by_name_when_the_daemon_refuses_the_hello_then_that_is_no_ruling(session: Session, daemon: Peer) -> None:
    daemon.hello = TWO_ACCOUNTS
    session.book({"h": bound(session)})
    assert session.refused("h").notes == (refusal("h", ROW),)


def test_join_by_name_when_an_older_daemon_rules_all_the_same_then_it_decides(session: Session, daemon: Peer) -> None:
    daemon.hello = MISMATCH
    daemon.answers["agent.join"] = HELD
    session.book({})
    assert session.refused("h").notes == (refusal("h", "ws-5"),)


def binds(session: Session, entry: dict[str, Any], handle: str = "h") -> Callable[[Any], object]:
    """Return an answer that clears a handle, and has the registry bind it just after."""

    def answer(said: dict[str, str]) -> object:
        if said["handle"] == handle:
            session.book({handle: entry})
        return FREE

    return answer


@pytest.mark.parametrize("before", ["absent", "unbound", "another row", "the same row"])
def test_join_by_name_when_a_row_binds_it_after_the_answer_then_refused_and_never_overwritten(
    session: Session, daemon: Peer, before: str
) -> None:
    """ "The writes under the lock are held to what was cleared ...: a row that binds the handle between the answer and
    the write is refused, never overwritten"."""
    first = {"absent": None, "unbound": "", "another row": "ws-8", "the same row": ROW}[before]
    later = bound(session, joined="2026-01-02T03:04:06Z")
    session.book({} if first is None else {"h": bound(session, first)})
    daemon.answers["agent.join"] = binds(session, later)
    outcome = session.join("h")
    assert isinstance(outcome, joining.NotJoined)
    assert outcome.notes == (refusal("h", ROW),)
    assert session.agents() == {"h": later}


def test_derived_join_when_the_daemon_s_row_holds_the_first_tier_then_it_steps_past_it_with_one_line(
    session: Session, daemon: Peer
) -> None:
    """ "A derived join asks about its three tier names before the registry lock and steps past a held tier to the
    session's own, with one line, ... no stranding warning and no MISMATCH"."""
    tiers = [names.derived(str(session.cwd), "Box-A", tier) for tier in names.TIERS]
    rules(daemon, {tiers[0]: HELD})
    session.book({tiers[0]: None})
    started = session_start.start(session.home, session.environ, str(session.cwd))
    assert started.lines[0] == f"comm: @{tiers[0]} is held by a row; a session outside any row joins as @{tiers[1]}"
    assert started.lines[-1] == f"BOOTSTRAP-ARM handle={tiers[1]} identity=ok WAKE: daemon"
    assert not any("WARNING" in said for said in (*started.lines, *started.notes))
    assert asked(daemon) == tiers


def test_derived_join_when_the_daemon_s_rows_hold_all_tiers_then_refused(session: Session, daemon: Peer) -> None:
    daemon.answers["agent.join"] = HELD
    session.book({})
    assert session.refused().notes == (refusal(names.derived(str(session.cwd), "Box-A", 3), "ws-5"),)


def test_join_when_only_the_self_file_gave_the_name_then_it_steps_past_a_held_one(
    session: Session, daemon: Peer
) -> None:
    """ "A name only the self file gave is not a pin: the join steps past a held one to the session's own derived handle
    ..., and the self file then names that handle"."""
    rules(daemon, {"mine": HELD})
    session.claims("mine\nrepo=alpha\nroot={root}\n").book({"mine": None})
    outcome = session.joined()
    (said,) = outcome.notes
    assert said == (
        "comm: @mine (named by this session's self file) is held by a row; a session outside any row joins as "
        "@alpha-Box-A"
    )
    assert session.slot.read_text().startswith("alpha-Box-A\n")
    assert session.who_am_i().name == "alpha-Box-A"


def test_join_when_a_row_s_name_is_the_self_file_s_and_the_daemon_frees_it_then_it_is_taken_without_a_word(
    session: Session, daemon: Peer
) -> None:
    """The daemon is asked about it before the derived ones; what was said of the row no longer holds."""
    session.claims("mine\nrepo=alpha\nroot={root}\n").book({"mine": bound(session)})
    assert session.who_am_i().held_by == ROW
    outcome = session.joined()
    assert (outcome.handle, outcome.notes) == ("mine", ())
    assert asked(daemon) == ["mine", *(names.derived(str(session.cwd), "Box-A", tier) for tier in names.TIERS)]


def test_join_when_the_self_file_s_name_and_the_first_tier_are_held_then_it_steps_past_both(
    session: Session, daemon: Peer
) -> None:
    rules(daemon, {"mine": HELD, "alpha-Box-A": HELD})
    session.claims("mine\nrepo=alpha\nroot={root}\n").book({"mine": None})
    assert session.joined().handle == "alpha-work-Box-A"


def test_join_when_one_question_has_no_answer_then_no_other_is_asked(session: Session, daemon: Peer) -> None:
    session.environ["SOT_SEND_TIMEOUT"] = "0.2"
    daemon.answers["agent.join"] = None
    session.book({})
    assert session.joined().handle == "alpha-Box-A"
    assert len(daemon.asked) == 1


def test_join_when_the_given_endpoint_cannot_be_dialled_then_it_is_said_and_nobody_asked(
    session: Session, daemon: Peer
) -> None:
    session.environ["SOT_SPAWN_ENDPOINT"] = "tcp:x"
    session.book({})
    said = "comm-lib: discarding an endpoint this version cannot dial: tcp:x"
    assert session.joined("h").notes == (said,)
    assert not daemon.asked


# -- a row's own join -------------------------------------------------------------------------------------------------


def test_row_when_it_joins_then_it_declares_its_handle_and_asks_for_no_clearance(
    session: Session, daemon: Peer
) -> None:
    """ "A row's session declares its handle to its daemon when it first starts"; "A join carrying a row id is
    unchanged"."""
    outcome = session.in_row("ws-1").book({"alpha-Box-A": bound(session)}).joined()
    assert outcome.notes == ()
    assert daemon.asked == [("agent.join", {"workspace_id": "ws-1", "handle": "alpha-Box-A"})]
    assert session.agents()["alpha-Box-A"]["workspace_id"] == "ws-1"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            {"error": 'unknown workspace: "ws-1"', "code": "unknown_workspace"},
            'the daemon did not take it: unknown workspace: "ws-1"',
        ),
        ({"ok": False}, 'the daemon did not take it: {{"ok":false}}'),
        (None, "the daemon did not answer at unix:{path}"),
    ],
)
def test_row_when_its_daemon_does_not_take_the_handle_then_the_join_stands_and_says_so(
    session: Session, daemon: Peer, answer: object, why: str
) -> None:
    session.environ["SOT_SEND_TIMEOUT"] = "0.2"
    daemon.answers["agent.join"] = answer
    (said,) = session.in_row("ws-1").joined().notes
    assert said == (
        f"comm-join.sh: WARNING — this shell's identity names row 'ws-1' but {why.format(path=daemon.path)}; "
        "the daemon won't learn '@alpha-Box-A' until the next comm-session-start."
    )


# -- leave --name -----------------------------------------------------------------------------------------------------


def test_leave_by_name_when_the_daemon_does_not_hold_it_then_the_orphan_goes(session: Session, daemon: Peer) -> None:
    """ "comm-leave.sh --name H of an entry bound to another row asks the same clearance ...: a destroyed row's orphan,
    which the daemon does not hold, stays removable"."""
    session.book({"h": bound(session)})
    assert isinstance(leave(session, "h"), joining.Left)
    assert session.agents() == {}
    assert asked(daemon) == ["h"]


@pytest.mark.parametrize("inside", [False, True])
def test_leave_by_name_when_the_daemon_s_row_holds_it_then_refused(
    session: Session, daemon: Peer, inside: bool
) -> None:
    """ "refused where a join would be (REFUSING to remove @H"; "leave ... refused for a row's handle the daemon
    holds"."""
    if inside:
        session.in_row("ws-1")
    daemon.answers["agent.join"] = HELD
    session.book({"h": bound(session)})
    assert leave(session, "h") == joining.NotLeft(
        "comm-leave.sh: REFUSING to remove @h: it is held by a row (row ws-5)"
    )
    assert "h" in session.agents()


@pytest.mark.parametrize("answer", NO_RULING.values(), ids=NO_RULING)
def test_leave_by_name_when_the_daemon_gives_no_ruling_then_a_bound_entry_stays(
    session: Session, daemon: Peer, answer: object
) -> None:
    """ "with no daemon answering a bound entry stays"."""
    session.environ["SOT_SEND_TIMEOUT"] = "0.2"
    daemon.answers["agent.join"] = answer
    session.book({"h": bound(session)})
    assert leave(session, "h") == joining.NotLeft(
        f"comm-leave.sh: REFUSING to remove @h: it is held by a row (row {ROW})"
    )


def test_leave_by_name_when_bound_on_another_computer_or_bound_anew_then_it_stays(
    session: Session, daemon: Peer
) -> None:
    session.book({"h": bound(session, host="far")})
    assert isinstance(leave(session, "h"), joining.NotLeft)
    session.book({"h": bound(session)})
    daemon.answers["agent.join"] = binds(session, bound(session, "ws-2"))
    assert isinstance(leave(session, "h"), joining.NotLeft)
    assert session.agents()["h"]["workspace_id"] == "ws-2"


def test_leave_by_name_when_unbound_or_the_own_row_s_then_no_daemon_is_asked(session: Session, daemon: Peer) -> None:
    session.in_row("ws-1").book({"h": bound(session, ""), "mine": bound(session, "ws-1")})
    assert isinstance(leave(session, "h"), joining.Left)
    assert isinstance(leave(session, "mine"), joining.Left)
    assert not daemon.asked


def test_leave_by_name_when_the_given_endpoint_cannot_be_dialled_then_it_is_said(session: Session) -> None:
    session.environ["SOT_SPAWN_ENDPOINT"] = "tcp:x"
    session.book({"h": bound(session)})
    outcome = leave(session, "h")
    assert isinstance(outcome, joining.NotLeft)
    assert outcome.notes == ("comm-lib: discarding an endpoint this version cannot dial: tcp:x",)
