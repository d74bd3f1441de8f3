"""The bullet "A handle a row holds is read and taken only from inside that row", for each verb that takes or removes.

`test_row_sentences.py` asks each function in depth; here one table asks `join --name`, `leave --name` and
`session-start` the same questions side by side, against a scripted daemon, so that none of them is left out of a rule.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import identity, joining, names, session_start
from tests.contract.test_row_sentences import FREE, HELD, NO_RULING
from tests.peer import TWO_ACCOUNTS, Peer
from tests.sessions import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Act = Callable[[Session], list[str]]

ROW = "ws-9"
SELF_FILE = "h\nrepo=alpha\nroot={root}\n"


@pytest.fixture
def session(_away_from_home: Path) -> Session:
    return Session(_away_from_home / "s")


@pytest.fixture
def daemon(session: Session) -> Iterator[Peer]:
    """Let a daemon of this box answer, and rule that every handle is free."""
    with Peer(session.folder / "d.sock", {"agent.join": FREE}) as found:
        session.environ.update(SOT_SOCKET=str(found.path), SOT_SEND_TIMEOUT="10")
        yield found


def join(session: Session) -> list[str]:
    return list(session.join("h").notes)


def leave(session: Session) -> list[str]:
    outcome = joining.remove(session.home, session.who_am_i(), "h", session.environ)
    return [outcome.sentence] if isinstance(outcome, joining.NotLeft) else []


def start(session: Session) -> list[str]:
    """Start with a handle that is asked for, and return what it was told; its last line says whether it joined."""
    session.environ["SOT_COMM_NAME"] = "h"
    started = session_start.start(session.home, session.environ, str(session.cwd))
    joined = started.lines[-1] == "BOOTSTRAP-ARM handle=h identity=ok WAKE: daemon"
    assert joined or started.lines[-1] == "BOOTSTRAP-ARM handle=none identity=FAIL WAKE: n/a"
    return [] if joined else [*started.lines[:-1], *started.notes]


ACTS: dict[str, Act] = {"join --name": join, "leave --name": leave, "session-start": start}
each_verb = pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
taking_verb = pytest.mark.parametrize("act", [join, start], ids=["join --name", "session-start"])


def refusal(act: Act, row: str) -> list[str]:
    if act is leave:
        return [f"comm-leave.sh: REFUSING to remove @h: it is held by a row (row {row})"]
    return [
        f"comm-join.sh: REFUSING to join: @h is held by a row (row {row}); a session outside any row cannot join as it"
    ]


def bound(session: Session, row: str = ROW, **more: object) -> dict[str, Any]:
    return session.entry(workspace_id=row, **more)


def refused(session: Session, act: Act, row: str) -> None:
    """Act, which must be refused for that row and change nothing."""
    before = session.agents()
    assert act(session) == refusal(act, row)
    assert session.agents() == before
    assert not session.slot.exists()


def done(session: Session, act: Act) -> None:
    """Act, which must take the handle or remove its entry."""
    assert act(session) == []
    assert session.agents().get("h", {}).get("workspace_id") == (None if act is leave else "")


# -- a daemon that rules ----------------------------------------------------------------------------------------------


@each_verb
def test_verb_when_the_daemon_s_row_holds_a_bound_handle_then_refused(session: Session, daemon: Peer, act: Act) -> None:
    """ "it writes nothing and answers held_by_row for any row it has not seen end"; leave "is refused where a join
    would be (REFUSING to remove @H, ...)"."""
    daemon.answers["agent.join"] = HELD
    session.book({"h": bound(session)})
    refused(session, act, "ws-5")
    assert daemon.asked == [("agent.join", {"workspace_id": "", "handle": "h"})]


@taking_verb
@pytest.mark.parametrize("known", ["absent", "unbound"])
def test_verb_when_only_the_daemon_knows_that_a_row_holds_it_then_refused(
    session: Session, daemon: Peer, act: Act, known: str
) -> None:
    """ "Whatever the registry file says, when a daemon endpoint resolves the script asks it"."""
    daemon.answers["agent.join"] = HELD
    session.book({} if known == "absent" else {"h": None})
    refused(session, act, "ws-5")


@each_verb
def test_verb_when_the_daemon_has_seen_the_row_end_then_its_handle_is_free(
    session: Session, daemon: Peer, act: Act
) -> None:
    """ "only a latched Terminal or EndedNoRespawn row, or none, frees a handle"; "a destroyed row's orphan, which the
    daemon does not hold, stays removable"."""
    session.book({"h": bound(session)})
    done(session, act)
    assert [said["handle"] for _, said in daemon.asked] == ["h"]


@each_verb
def test_verb_when_a_row_binds_it_between_the_answer_and_the_write_then_refused_and_never_overwritten(
    session: Session, daemon: Peer, act: Act
) -> None:
    """ "The writes under the lock are held to what was cleared ...: a row that binds the handle between the answer and
    the write is refused, never overwritten"."""
    later = bound(session, "ws-2")

    def clears_and_binds(said: dict[str, str]) -> object:
        session.book({said["handle"]: later})
        return FREE

    daemon.answers["agent.join"] = clears_and_binds
    session.book({"h": bound(session)})
    assert act(session) == refusal(act, "ws-2")
    assert session.agents() == {"h": later}
    assert not session.slot.exists()


@each_verb
def test_verb_when_the_entry_is_bound_on_another_computer_then_no_daemon_here_frees_it(
    session: Session, daemon: Peer, act: Act
) -> None:
    """ "An entry bound to a row on another computer of the shared home (its host is not this one) is held, since no
    local daemon can rule on it"."""
    session.book({"h": bound(session, host="far")})
    refused(session, act, ROW)
    assert daemon.asked


# -- no ruling --------------------------------------------------------------------------------------------------------


@each_verb
@pytest.mark.parametrize("answer", NO_RULING.values(), ids=NO_RULING)
def test_verb_when_the_daemon_gives_no_ruling_then_a_bound_entry_is_held(
    session: Session, daemon: Peer, act: Act, answer: object
) -> None:
    """ "Where the daemon gives no ruling (none answering, an older one, a failed call) the registry's binding refuses:
    a bound entry is held"."""
    session.environ["SOT_SEND_TIMEOUT"] = "0.2"
    daemon.answers["agent.join"] = answer
    session.book({"h": bound(session)})
    refused(session, act, ROW)


@each_verb
def test_verb_when_the_daemon_refuses_the_hello_or_is_gone_then_a_bound_entry_is_held(
    session: Session, daemon: Peer, act: Act
) -> None:
    daemon.hello = TWO_ACCOUNTS
    session.book({"h": bound(session)})
    refused(session, act, ROW)
    session.environ["SOT_SOCKET"] = str(session.folder / "gone.sock")
    refused(session, act, ROW)
    del session.environ["SOT_SOCKET"]
    refused(session, act, ROW)


@each_verb
@pytest.mark.parametrize("entry", ["unbound", "absent"])
def test_verb_when_no_daemon_answers_and_no_row_is_named_then_it_is_free(
    session: Session, act: Act, entry: str
) -> None:
    """ "Named limit: with no daemon answering and the entry unbound or absent, a session outside any row takes the
    handle"."""
    session.book({"h": None} if entry == "unbound" else {})
    done(session, act)


@each_verb
@pytest.mark.parametrize("ruled", [True, False], ids=["the daemon says ok", "no daemon"])
@pytest.mark.parametrize("text", ["", "broken", '{"agents":[]}'])
def test_verb_when_the_registry_is_unreadable_then_refused_whatever_the_daemon_says(
    session: Session, daemon: Peer, act: Act, ruled: bool, text: str
) -> None:
    """ "an unreadable registry refuses"; leave "FAILED for an unreadable registry"."""
    if not ruled:
        session.environ["SOT_SOCKET"] = f"{daemon.path}.gone"
    session.registry(text)
    removed = "FAILED: the registry could not be read; nothing was removed"
    written = "FAILED: the registry could not be read or updated, so nothing was written"
    assert act(session)[-1] == (removed if act is leave else written)
    with open(session.home.registry, encoding="utf-8") as file:
        assert file.read() == text
    assert not session.slot.exists()


# -- a handle that nobody asked for by name ---------------------------------------------------------------------------


def derived_join(session: Session) -> tuple[str, list[str]]:
    outcome = session.join()
    return (outcome.handle if isinstance(outcome, joining.Joined) else ""), list(outcome.notes)


def derived_start(session: Session) -> tuple[str, list[str]]:
    started = session_start.start(session.home, session.environ, str(session.cwd))
    assert "MISMATCH" not in started.lines[-1]
    assert "WARNING" not in "".join(started.lines)
    assert "moved to row" not in "".join(started.lines)
    return started.handle, [line for line in started.lines if line.startswith("comm")]


derived_verb = pytest.mark.parametrize("act", [derived_join, derived_start], ids=["join", "session-start"])


def tiers(session: Session) -> list[str]:
    return [names.derived(str(session.cwd), "Box-A", tier) for tier in names.TIERS]


def ruled(daemon: Peer, held: set[str]) -> None:
    daemon.answers["agent.join"] = lambda said: HELD if said["handle"] in held else FREE


@derived_verb
@pytest.mark.parametrize("count", [1, 2, 3])
def test_derived_when_the_daemon_s_rows_hold_tiers_then_stepped_past_with_one_line(
    session: Session, daemon: Peer, act: Any, count: int
) -> None:
    """ "A derived join asks about its three tier names before the registry lock and steps past a held tier to the
    session's own, with one line, comm: @<tier 1> is held by a row; a session outside any row joins as @<tier 2>, no
    stranding warning and no MISMATCH."."""
    mine = tiers(session)
    ruled(daemon, set(mine[:count]))
    session.book({mine[0]: None})
    handle, said = act(session)
    assert [one["handle"] for _, one in daemon.asked] == mine
    if count == 3:
        assert (handle, said[-1]) == ("", refusal(join, "ws-5")[0].replace("@h", f"@{mine[2]}"))
        assert session.agents() == {mine[0]: session.entry()}
    else:
        assert handle == mine[count]
        assert said == [f"comm: @{mine[0]} is held by a row; a session outside any row joins as @{mine[count]}"]


@derived_verb
@pytest.mark.parametrize("how", ["another computer", "no ruling", "no daemon"])
def test_derived_when_only_the_registry_s_binding_speaks_then_stepped_past(
    session: Session, daemon: Peer, act: Any, how: str
) -> None:
    mine = tiers(session)
    daemon.answers["agent.join"] = FREE if how == "another computer" else {"error": "unknown op: agent.join"}
    if how == "no daemon":
        del session.environ["SOT_SOCKET"]
    held = bound(session, host="far" if how == "another computer" else "box-a")
    session.book({mine[0]: held})
    handle, said = act(session)
    assert handle == mine[1]
    assert said == [f"comm: @{mine[0]} is held by a row; a session outside any row joins as @{mine[1]}"]
    assert session.agents()[mine[0]] == held


@derived_verb
def test_derived_when_a_row_binds_the_tier_after_the_answer_then_stepped_past_and_never_overwritten(
    session: Session, daemon: Peer, act: Any
) -> None:
    mine = tiers(session)
    later = bound(session, "ws-2")

    def clears_and_binds(said: dict[str, str]) -> object:
        if said["handle"] == mine[2]:  # the last of the questions
            session.book({mine[0]: later})
        return FREE

    daemon.answers["agent.join"] = clears_and_binds
    session.book({})
    assert act(session)[0] == mine[1]
    assert session.agents()[mine[0]] == later


@derived_verb
@pytest.mark.parametrize("known", ["the daemon", "the registry"])
def test_derived_when_the_self_file_names_a_held_handle_then_stepped_past_and_the_self_file_names_the_new_one(
    session: Session, daemon: Peer, act: Any, known: str
) -> None:
    """ "A name only the self file gave is not a pin: the join steps past a held one to the session's own derived handle
    (comm: @<h> (named by this session's self file) is held by a row; ...), and the self file then names that handle, so
    the session reads the held inbox no more."."""
    if known == "the daemon":
        ruled(daemon, {"h"})
    else:
        del session.environ["SOT_SOCKET"]
    session.claims(SELF_FILE).book({"h": None if known == "the daemon" else bound(session)})
    handle, said = act(session)
    assert handle == tiers(session)[0]
    line = (
        f"comm: @h (named by this session's self file) is held by a row; a session outside any row joins as @{handle}"
    )
    assert line in said
    assert session.slot.read_text().startswith(f"{handle}\n")
    assert session.who_am_i().name == handle


# -- inside a row -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [join, start, derived_start], ids=["join --name", "session-start", "its self file"])
def test_row_when_another_row_took_its_handle_then_it_takes_it_back_and_asks_nobody(
    session: Session, daemon: Peer, act: Any
) -> None:
    """ "A join carrying a row id is unchanged: ... so a respawned row, or a row a newer row's join displaced ..., takes
    it back; the displaced row's comm-session-start.sh says @<h> moved to row <id> and rejoins."."""
    session.in_row("ws-1").claims(SELF_FILE).book({"h": bound(session, "ws-2", host="far")})
    if act is derived_start:
        started = session_start.start(session.home, session.environ, str(session.cwd))
        assert started.lines[0] == "@h moved to row ws-2; joining again"
        assert started.lines[-1] == "BOOTSTRAP-ARM handle=h identity=ok WAKE: daemon"
    else:
        assert act(session) == []
    assert session.agents()["h"]["workspace_id"] == "ws-1"
    assert [said["workspace_id"] for _, said in daemon.asked] == ["ws-1"]


@pytest.mark.parametrize("inside", [True, False], ids=["in its row", "outside any row"])
def test_context_when_asked_to_rebind_then_honoured_only_with_a_row_id(session: Session, inside: bool) -> None:
    """ "comm-join.sh alone passes comm-context.sh --rebind, honored only with a row id"."""
    if inside:
        session.in_row("ws-1")
    session.claims(SELF_FILE).book({"h": bound(session, "ws-2")})
    assert session.who_am_i().name == ""
    here = identity.who_am_i(session.home, session.environ, str(session.cwd), rebind=True)
    assert (here.name, here.held_by, len(here.notes)) == (("h", "", 0) if inside else ("", "ws-2", 1))


def test_row_when_it_removes_another_rows_handle_then_it_is_asked_and_held_to_the_same_clearance(
    session: Session, daemon: Peer
) -> None:
    """ "comm-leave.sh --name H of an entry bound to another row asks the same clearance"."""
    session.in_row("ws-1").book({"h": bound(session, "ws-2")})
    daemon.answers["agent.join"] = HELD
    assert leave(session) == refusal(leave, "ws-5")
    daemon.answers["agent.join"] = FREE
    assert leave(session) == []
    assert all(said == {"workspace_id": "", "handle": "h"} for _, said in daemon.asked)


@pytest.mark.parametrize("act", [join, start], ids=["join --name", "session-start"])
def test_verb_when_its_row_is_forged_then_refused_before_anybody_is_asked(
    session: Session, daemon: Peer, act: Act
) -> None:
    """ "A forged id: with no private self file the walk must reach that row's capsule, so a stray that exports a row's
    id is refused; with a private self file that names no row, the exported id is no row id."."""
    session.book({"h": bound(session, "ws-1")})
    before = json.dumps(session.agents())
    session.under(["bash"]).environ["SOT_WORKSPACE_ID"] = "ws-1"
    assert "is not shown to run inside that row's capsule" in act(session)[-1]
    session.environ["SOT_COMM_SELF_FILE"] = str(session.folder / "private.txt")
    daemon.answers["agent.join"] = HELD
    assert act(session) == refusal(act, "ws-5")
    assert json.dumps(session.agents()) == before
