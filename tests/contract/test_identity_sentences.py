"""The contract's sentences about identity, joining and leaving, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from sot_tui.comm import identity, joining, names
from sot_tui.comm.errors import Exit
from tests.sessions import Session


@pytest.fixture
def session(comm_home: Path) -> Session:
    return Session(comm_home.parent)


def only(outcome: joining.Joined | joining.NotJoined) -> str:
    """Return the one line that a join said on stderr."""
    (note,) = outcome.notes
    return note


def held(session: Session, row: str = "ws-9", **more: object) -> dict[str, object]:
    return session.entry(workspace_id=row, **more)


def test_process_under_two_agents_when_it_joins_then_it_is_told_why_it_may_not(session: Session) -> None:
    """Contract: "A process acts as a handle only if at most one agent (claude or codex) lies between it and its row's
    capsule, or the top of its process tree outside a row."
    """
    outcome = session.under(["codex", "exec"], ["bash"], ["claude"]).refused()
    assert only(outcome) == (
        "comm-join.sh: REFUSING to bind: this process runs under codex, started inside claude's session, so it has no "
        "comm identity — nothing was read, sent or stamped; do not retry or join: an agent that needs its own handle "
        "is started as its own row"
    )


@pytest.mark.parametrize(
    "above",
    [
        (["bash"],),
        (["bash"], ["sot-capsule", "/s/workspaces/ws-2"]),
        (["sot-capsule"],),
    ],
    ids=["top", "another row's capsule", "a capsule that names no row"],
)
def test_process_that_names_a_row_when_not_shown_inside_it_then_it_is_refused(
    session: Session, above: tuple[list[str], ...]
) -> None:
    """Contract: "A process whose identity names a row acts as that row's handle only if that row's capsule is one of
    its ancestors."
    """
    session.under(*above).environ["SOT_WORKSPACE_ID"] = "ws-1"
    assert only(session.refused()) == (
        "comm-join.sh: REFUSING to bind: this process names row ws-1 but is not shown to run inside that row's "
        "capsule, so it has no comm identity; nothing was read, sent or stamped; start it inside the row, or as its "
        "own row"
    )
    assert not Path(session.home.path).exists()


def test_handle_of_a_row_when_read_from_outside_then_it_is_discarded(session: Session) -> None:
    """Contract: "comm-context.sh discards the handle, with @<h> belongs to row <id>; this process carries <its id or no
    row id>, so it is not this row's inbox".
    """
    session.claims("h\nrepo=alpha\nroot={root}\n").book({"h": held(session)})
    here = session.who_am_i()
    assert (here.name, here.held_by) == ("", "ws-9")
    assert here.notes == (
        "comm-context: @h belongs to row ws-9; this process carries no row id, so it is not this row's inbox",
    )


def test_handle_of_a_row_when_read_from_another_row_then_it_is_discarded(session: Session) -> None:
    """The same clause, "when the entry binds another row"."""
    session.in_row("ws-1").claims("h\nrepo=alpha\nroot={root}\n").book({"h": held(session)})
    here = session.who_am_i()
    assert (here.name, here.held_by) == ("", "ws-9")
    assert here.notes == (
        "comm-context: @h belongs to row ws-9; this process carries ws-1, so it is not this row's inbox",
    )


def test_handle_of_a_row_when_asked_for_by_name_from_outside_then_the_join_is_refused(session: Session) -> None:
    """Contract: "An explicit --name or $SOT_COMM_NAME is refused, comm-join.sh: REFUSING to join: @<h> is held by a row
    (row <id>); a session outside any row cannot join as it."
    """
    session.book({"h": held(session, "ws-h-1")})
    outcome = session.refused("h")
    assert only(outcome) == (
        "comm-join.sh: REFUSING to join: @h is held by a row (row ws-h-1); a session outside any row cannot join as it"
    )
    assert outcome.code is Exit.FAILED
    assert not session.slot.exists()


def test_handle_of_a_row_when_its_entry_is_of_another_computer_then_it_is_held_too(session: Session) -> None:
    """Contract: "An entry bound to a row on another computer of the shared home (its host is not this one) is held"."""
    session.book({"h": held(session, host="other")})
    assert "is held by a row (row ws-9)" in session.refused("h").notes[0]


def test_handle_of_a_row_when_only_the_self_file_named_it_then_the_join_steps_past_it(session: Session) -> None:
    """Contract: "A name only the self file gave is not a pin: the join steps past a held one to the session's own
    derived handle (comm: @<h> (named by this session's self file) is held by a row; ...), and the self file then
    names that handle".
    """
    session.claims("h\nrepo=alpha\nroot={root}\n").book({"h": held(session)})
    outcome = session.joined()
    assert outcome.handle == "alpha-Box-A"
    assert only(outcome) == (
        "comm: @h (named by this session's self file) is held by a row; a session outside any row joins as @alpha-Box-A"
    )
    assert session.slot.read_text().startswith("alpha-Box-A\n")
    assert session.agents()["h"] == held(session)


def test_derived_handle_when_a_row_holds_it_then_the_join_steps_past_it_with_one_line(session: Session) -> None:
    """Contract: "A derived join ... steps past a held tier to the session's own, with one line, comm: @<tier 1> is held
    by a row; a session outside any row joins as @<tier 2>, no stranding warning and no MISMATCH."
    """
    session.book({"alpha-Box-A": held(session)})
    outcome = session.joined()
    assert outcome.handle == "alpha-work-Box-A"
    assert only(outcome) == (
        "comm: @alpha-Box-A is held by a row; a session outside any row joins as @alpha-work-Box-A"
    )


def test_derived_handles_when_rows_hold_them_all_then_the_join_is_refused(session: Session) -> None:
    """The same clause: a held handle is never taken from outside."""
    tiers = [names.derived(str(session.cwd), "Box-A", tier) for tier in (1, 2, 3)]
    session.book({tier: held(session) for tier in tiers})
    assert only(session.refused()) == (
        f"comm-join.sh: REFUSING to join: @{tiers[2]} is held by a row (row ws-9); "
        "a session outside any row cannot join as it"
    )


def test_registry_when_unreadable_then_no_handle_is_derived(session: Session) -> None:
    """Contract: "a join prints the writer's FAILED line or the registry could not be read, so no handle was derived;
    nothing was written".
    """
    assert only(session.registry("{}").refused()) == (
        "comm: the registry could not be read, so no handle was derived; nothing was written"
    )
    assert session.refused("h").notes == ("FAILED: the registry could not be read or updated, so nothing was written",)
    assert not session.slot.exists()


def test_slot_when_claimed_for_a_different_project_then_the_join_is_refused_with_exit_3(session: Session) -> None:
    """Contract: "Refuses (exit 3) when the self-file slot is already claimed for a DIFFERENT project ... --repin is the
    deliberate override".
    """
    session.in_row("ws-1").claims("o\nrepo=other\nroot=/elsewhere/other\n").book({})
    outcome = session.refused()
    assert outcome.code is Exit.REFUSED
    assert outcome.notes[-2:] == (
        f"the identity slot '{session.slot}' already names @o, claimed for root='/elsewhere/other'",
        (
            "comm-join.sh: REFUSING to put a 'alpha' identity in that slot — it is keyed by this shell's "
            "$SOT_WORKSPACE_ID ('ws-1'), and a row that comes to name another project's session reads that session's "
            "mail. Either run this from inside the row it belongs to, or, if this row really is 'alpha' now, re-run "
            "with --repin."
        ),
    )
    assert session.slot.read_text().startswith("o\n")
    assert session.refused("named").code is Exit.REFUSED
    assert session.joined(repin=True).handle == "alpha-Box-A"


def test_private_self_file_when_claimed_for_a_different_project_then_the_refusal_names_its_variable(
    session: Session,
) -> None:
    """The same clause, for a slot that is pinned and not keyed by a row."""
    mine = session.folder / "mine.txt"
    session.environ["SOT_COMM_SELF_FILE"] = str(mine)
    session.claims("o\nrepo=other\n", mine).book({})
    outcome = session.refused()
    assert outcome.code is Exit.REFUSED
    assert outcome.notes[-2] == (
        f"the identity slot '{mine}' already names @o, claimed for repo='other' (legacy slot, no root=)"
    )
    assert "it is the one this shell's $SOT_COMM_SELF_FILE names" in outcome.notes[-1]


def test_shared_slot_when_claimed_for_a_different_project_then_a_join_takes_it_over(session: Session) -> None:
    """The slot of every process outside a row is keyed by no row, so nothing is taken from anybody."""
    session.claims("o\nrepo=other\nroot=/elsewhere/other\n").book({})
    outcome = session.joined()
    assert only(outcome) == (
        "comm-context: self-file identity 'o' has root='/elsewhere/other' which doesn't match this project "
        f"('{session.cwd}') — stale; discarding (forces fresh derivation)"
    )


def test_protocol_version_when_another_then_the_warning_is_loud(session: Session) -> None:
    """Contract: "A mismatch warns loudly (no quiet degradation) and means a machine needs ShipTools.update_comm()."""
    session.book({}, version=7)
    assert only(session.joined()) == (
        "WARNING: registry protocol v7 != client v1 — run ShipTools.update_comm() on all machines"
    )


def test_row_when_joined_with_no_daemon_then_a_warning_says_what_it_does_not_learn(session: Session) -> None:
    """A row's session declares its handle to its daemon; without one the join stands and says so."""
    assert only(session.in_row("ws-1").joined()) == (
        "comm-join.sh: WARNING — this shell's identity names row 'ws-1' but no daemon endpoint could be resolved; "
        "the daemon won't learn '@alpha-Box-A' until the next comm-session-start."
    )


def test_sender_when_its_entry_is_gone_then_it_is_told_how_to_reclaim_it(session: Session) -> None:
    """Contract: "each session's next send says reclaim it with comm-join.sh --name <handle>"."""
    session.claims("h\nrepo=alpha\nroot={root}\n").book({})
    fault = identity.sender_fault(session.who_am_i())
    assert fault is not None
    assert fault.endswith("reclaim it with comm-join.sh --name h")


def test_sender_when_its_handle_has_come_to_another_project_then_it_may_not_send(session: Session) -> None:
    """A reply would go to another session's inbox."""
    session.claims("h\nrepo=alpha\nroot={root}\n").book({"h": session.entry(root="/elsewhere")})
    fault = identity.sender_fault(session.who_am_i())
    assert fault is not None
    assert fault.startswith("@h is held by /elsewhere, not by this project")


def test_join_when_nobody_is_there_then_its_inbox_is_made_and_nobody_else_is_named(session: Session) -> None:
    """Contract, join: "Joined sot-comm as @H", with its inbox and the others registered."""
    joined = session.joined()
    assert Path(joined.inbox).read_bytes() == b""
    assert joined.lines() == (
        "Joined sot-comm as @alpha-Box-A  (alpha on box-a).",
        f"  inbox: {session.home.inbox('alpha-Box-A')}",
        "Others registered: none",
    )
    session.book({"x": None, "alpha-Box-A": None, "b": None})
    assert session.joined().lines()[-1] == "Others registered: x,b"


def test_join_and_leave_when_an_older_version_named_the_self_file_then_none_of_the_two_stays(session: Session) -> None:
    """A second file would name this session once more, under the handle it had then."""
    raw = Path(session.home.selves, "Box-A__nopane.txt")
    session.claims("h\nrepo=alpha\nroot={root}\n", raw).book({"h": None})
    assert session.joined().handle == "h"
    assert session.slot.read_text().startswith("h\n")
    assert not raw.exists()
    session.slot.unlink()
    session.claims("h\nrepo=alpha\nroot={root}\n", raw)
    assert isinstance(joining.leave(session.home, session.who_am_i()), joining.Left)
    assert not raw.exists()


# -- leaving ----------------------------------------------------------------------------------------------------------


def test_leave_when_joined_then_the_entry_and_the_self_file_go(session: Session) -> None:
    """Contract: "removes self from registry"."""
    session.joined()
    outcome = joining.leave(session.home, session.who_am_i())
    assert outcome == joining.Left("Left sot-comm (@alpha-Box-A removed).")
    assert session.agents() == {}
    assert not session.slot.exists()
    assert joining.leave(session.home, session.who_am_i()) == joining.Left("Not joined — nothing to do.")


@pytest.mark.parametrize("holder", [{"root": "/elsewhere"}, {"workspace_id": "ws-9"}], ids=["project", "row"])
def test_leave_when_the_entry_has_come_to_another_meanwhile_then_it_stays(
    session: Session, holder: dict[str, str]
) -> None:
    """It is another session's entry by then, and a leave removes self."""
    session.joined()
    here = session.who_am_i()
    session.book({"alpha-Box-A": session.entry(**holder)})
    joining.leave(session.home, here)
    assert "alpha-Box-A" in session.agents()
    assert not session.slot.exists()


def test_leave_when_the_registry_is_unreadable_then_nothing_is_removed(session: Session) -> None:
    """Contract: "leave ... FAILED: the registry could not be read; nothing was removed"."""
    failed = joining.NotLeft("FAILED: the registry could not be read; nothing was removed")
    session.claims("h\nrepo=alpha\nroot={root}\n").registry("broken")
    assert joining.leave(session.home, session.who_am_i()) == failed
    assert joining.remove(session.home, session.who_am_i(), "x") == failed
    assert session.slot.exists()
    assert Path(session.home.registry).read_text() == "broken"


def test_leave_by_name_when_a_row_holds_it_then_it_is_refused(session: Session) -> None:
    """Contract: "refused where a join would be (REFUSING to remove @H ...): ... with no daemon answering a bound entry
    stays".
    """
    session.book({"h": held(session)})
    for here in (session.who_am_i(), session.in_row("ws-1").who_am_i()):
        outcome = joining.remove(session.home, here, "h")
        assert outcome == joining.NotLeft("comm-leave.sh: REFUSING to remove @h: it is held by a row (row ws-9)")
    assert "h" in session.agents()


def test_leave_by_name_when_unbound_or_the_own_rows_then_only_the_entry_goes(session: Session) -> None:
    """Contract: "--name <handle> removes an orphan row (registry only ...)"."""
    session.in_row("ws-1").book({"h": None, "mine": held(session, "ws-1")})
    done = "Removed @{} from the registry (row only; comm-despawn.sh does full teardown)."
    for handle in ("h", "mine"):
        assert joining.remove(session.home, session.who_am_i(), handle) == joining.Left(done.format(handle))
    assert session.agents() == {}
    nothing = joining.Left("@h not in registry — nothing to do.")
    assert joining.remove(session.home, session.who_am_i(), "h") == nothing
