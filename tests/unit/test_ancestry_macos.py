"""The macOS reader: every ancestry case through the text that `ps` prints there, and what that text cannot show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sot_tui.comm import ancestry, identity, joining, session_start
from sot_tui.comm.ancestry import Judgement, Verdict
from sot_tui.comm.proof import SystemProcs
from tests.golden.tables import rows
from tests.sessions import Machine, Session

LISTING = Path(__file__).parents[1].joinpath("data", "macos", "ps.txt").read_text(encoding="utf-8")
"""What one Mac's `ps` prints, with the trees of all cases in it."""
ALPHA, BETA, GAMMA, DELTA, EPS = "ws-alpha-1", "ws-beta-2", "ws-gamma-3", "ws-delta-4", "ws-eps-5"


def judged(pid: int, row: str = "") -> Judgement:
    return ancestry.judge(ancestry.walk_in_listing(LISTING, pid), row)


OK, UNREAD, OTHER, TOP = Verdict.OK, Verdict.UNREAD, Verdict.OTHER_CAPSULE, Verdict.TOP
CASES: dict[str, tuple[int, str, tuple[str, ...], Verdict]] = {
    "one agent": (732, "", ("claude",), OK),
    "no agent, and an editor on its notes": (760, "", (), OK),
    "an application whose path has a space above": (657, "", (), OK),
    "a node host and its native child, same arguments": (802, "", ("codex",), OK),
    "a node host and its native child, other arguments": (812, "", ("codex", "codex"), OK),
    "a node host in its npm package, below it a node that hosts none": (832, "", ("claude",), OK),
    "an agent inside an agent": (843, "", ("codex", "claude"), OK),
    "a row's process": (913, ALPHA, ("claude",), OK),
    "an agent inside a row's agent": (915, ALPHA, ("claude", "claude"), OK),
    "another row's capsule": (913, BETA, ("claude",), OTHER),
    "a row named from outside": (732, ALPHA, ("claude",), TOP),
    "a path behind the dashes": (922, BETA, ("claude",), OTHER),
    "reparented, naming no row": (990, "", (), OK),
    "reparented away from its row": (990, ALPHA, (), TOP),
    "a parent that has ended": (991, "", (), UNREAD),
    "a process that is not listed": (4711, "", (), UNREAD),
    "64 ancestors": (1060, "", (), OK),
    "65 ancestors": (1061, "", (), UNREAD),
    "a native agent without arguments, alone": (975, "", ("claude",), OK),
    "a native agent without arguments, below its host": (972, "", ("codex", "codex"), OK),
    "a node without arguments": (978, "", (), UNREAD),
    "a capsule without arguments": (982, ALPHA, ("claude",), OTHER),
    "a line break in an argument": (1101, "", ("codex", "claude"), OK),
}


@pytest.mark.parametrize(("pid", "row", "agents", "verdict"), CASES.values(), ids=CASES)
def test_listing_when_it_holds_a_case_of_the_contract_then_it_is_judged_as_on_linux(
    pid: int, row: str, agents: tuple[str, ...], verdict: Verdict
) -> None:
    """Contract, Cases: on macOS "an unreadable command line is recorded as the program name with arguments unknown,
    which equals nothing: a native agent so recorded never counts once with its node host, though a standalone one is
    one layer, and a node so recorded is refused"."""
    walk = ancestry.walk_in_listing(LISTING, pid)
    assert len(walk.chain) <= ancestry.WALK_LIMIT
    assert ancestry.judge(walk, row) == Judgement(agents, verdict)


def printed(chain: list[list[str]], ends: str) -> str:
    """Return a chain as `ps` prints it, nearest first; a walk that ends short has a process that is not listed."""
    last = len(chain)
    return "".join(
        f"{place + 100:5d} {place + 101 if place < last or ends != 'top' else 0:5d} {' '.join(args)}\n"
        for place, args in enumerate([["sot-tui"], *chain])
    )


@pytest.mark.parametrize("row", rows("agent-layers"), ids=lambda row: row["what"])
def test_golden_ancestry_when_as_ps_prints_it_then_judged_as_observed(row: dict[str, Any]) -> None:
    walk = ancestry.walk_in_listing(printed(row["chain"], row["walk_ends"]), 100)
    judgement = ancestry.judge(walk, row["row"])
    assert (list(judgement.agents), judgement.verdict.value) == (row["agents"], row["verdict"])


# -- what the check does not see --------------------------------------------------------------------------------------


def test_listing_when_an_argument_differs_only_in_blanks_then_host_and_child_are_one_agent() -> None:
    """Contract: "the walk reads ps, which folds runs of white space, so a native agent started directly by its node
    host with arguments that differ only in white space counts as one layer with it"."""
    assert judged(822).agents == ("codex",)


def test_listing_when_a_path_holds_a_space_then_its_agent_is_not_seen_and_its_capsule_refuses() -> None:
    """Contract: not seen is "a macOS agent whose argv[0] contains a space"; "a capsule binary installed under a path
    that holds a space is not recognized (ps splits its argv[0]), and a state path holding a standalone -- word ends the
    argument scan early; either way a process naming its row is refused there"."""
    assert judged(963) == Judgement(("codex",), OK)
    assert judged(932, GAMMA).verdict is TOP
    assert judged(942, DELTA).verdict is OTHER
    for pid, row in ((932, GAMMA), (942, DELTA)):
        assert "is not shown to run inside that row's capsule" in (judged(pid, row).refusal(row) or "")


def test_listing_when_a_state_root_lies_in_another_rows_voyages_then_it_matches_that_row_too() -> None:
    """Contract: "An argument whose state root itself lies inside another row's voyages folder ... matches that row
    too." """
    assert judged(952, EPS).verdict is OK
    assert judged(952, ALPHA).verdict is OK


def test_listing_when_an_agent_goes_by_another_name_then_it_is_not_seen() -> None:
    """Contract: not seen are "an agent whose name is not in the list" and, "on macOS, an agent whose arguments ps
    cannot read and whose program file is not named after it"; "a shim that starts node under the agent's own name ...
    may be refused instead"."""
    assert judged(995).agents == ("claude",)
    assert judged(987).agents == ("codex",)
    assert judged(998).agents == ("codex", "codex")


# -- what is no listing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "listing",
    [
        "",
        "junk\n100\n\n",
        "  100   101 sh",
        "  100   101 sh\n  101     1 ba",
        "  100   100 sh\n",
        "  100   101 sh\n  101   100 sh\n",
        f"  100   {'9' * 5000} sh\n",
        "  100    -1 sh\n",
    ],
    ids=[
        "empty",
        "junk",
        "its end is cut off",
        "cut off in a line",
        "own parent",
        "a ring",
        "a number of 5000",
        "signed",
    ],
)
def test_listing_when_it_is_cut_off_or_makes_no_sense_then_refused(listing: str) -> None:
    assert ancestry.judge(ancestry.walk_in_listing(listing, 100), "").verdict is UNREAD


@pytest.mark.parametrize("separator", ["\n", "\r", "\x0b", "\x1c", "\x85", "\u2028"])
def test_listing_when_an_argument_forges_a_line_then_it_hides_no_agent(separator: str) -> None:
    """An ancestry that is not certain is refused, never trusted."""
    real = "    1     0 /sbin/launchd\n   90     1 claude\n  100    91 sh\n"
    forged = f"   91    90 codex exec x{separator}  100     1 zsh{separator}   91     1 zsh\n"
    for listing in (real + forged, forged + real):
        judgement = ancestry.judge(ancestry.walk_in_listing(listing, 100), "")
        assert judgement.refusal("") is not None
        assert (judgement.agents == ("codex", "claude")) is (separator != "\n")


def test_system_when_it_is_no_mac_then_proc_is_read_and_no_listing() -> None:
    assert SystemProcs().listing() is None


# -- the verbs --------------------------------------------------------------------------------------------------------


class Mac(Machine):
    """A Mac on which everything runs that the listing holds, the session being one of it."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._pid = pid

    def pid(self) -> int:
        return self._pid

    def start_of(self, pid: int) -> str | None:
        return "1767323045" if pid == self._pid else None

    def listing(self) -> str | None:
        return LISTING


def on_mac(folder: Path, pid: int, row: str = "") -> Session:
    session = Session(folder)
    session.home = session.home._replace(procs=Mac(pid))
    if row:
        session.environ["SOT_WORKSPACE_ID"] = row
    return session


@pytest.mark.parametrize(
    ("pid", "row", "said"),
    [
        (843, "", "this process runs under codex, started inside claude's session"),
        (915, ALPHA, "this process runs under claude, started inside claude's session"),
        (978, "", "this process's ancestors cannot be read in full"),
        (732, ALPHA, f"this process names row {ALPHA} but is not shown to run inside that row's capsule"),
        (913, BETA, f"this process names row {BETA} but is not shown to run inside that row's capsule"),
    ],
)
def test_verbs_when_the_listing_refuses_a_process_then_nothing_is_made(
    comm_home: Path, pid: int, row: str, said: str
) -> None:
    session = on_mac(comm_home.parent, pid, row)
    assert said in (session.who_am_i().refusal or "")
    assert said in session.refused().notes[-1]
    started = session_start.start(session.home, session.environ, str(session.cwd))
    assert (started.handle, said in started.notes[-1]) == ("", True)
    assert not comm_home.exists()


def test_verbs_when_the_listing_proves_a_row_then_it_joins_reads_and_leaves_as_its_handle(comm_home: Path) -> None:
    session = on_mac(comm_home.parent, 913, ALPHA)
    assert session.joined().handle == "alpha-Box-A"
    assert session.agents()["alpha-Box-A"]["workspace_id"] == ALPHA
    assert session.who_am_i().name == "alpha-Box-A"
    stray = on_mac(comm_home.parent, 732)
    stray.claims("alpha-Box-A\nrepo=alpha\nroot={root}\n")
    assert identity.sender_fault(stray.who_am_i()) is not None
    assert isinstance(joining.leave(session.home, session.who_am_i()), joining.Left)


def test_parent_when_the_listing_names_a_daemon_then_it_may_send_a_rows_event(comm_home: Path) -> None:
    """Contract: SOT_COMM_ROW_HANDLE is taken "only from a process whose parent is sotd"."""
    assert ancestry.parent_name(on_mac(comm_home.parent, 916).home, 916) == "sotd"
    assert ancestry.parent_name(on_mac(comm_home.parent, 732).home, 732) == "zsh"


def test_lineage_when_a_process_is_listed_twice_or_not_at_all_then_it_is_not_whole(comm_home: Path) -> None:
    home = on_mac(comm_home.parent, 732).home
    walk = ancestry.lineage(home, 732)
    assert (walk.chain[0].args[0], walk.complete) == ("/bin/sh", True)

    class Forged(Mac):
        def listing(self) -> str | None:
            return f"{LISTING}  732     1 zsh\n"

    for listed, pid in ((Forged(732), 732), (Mac(732), 4711)):
        assert not ancestry.lineage(home._replace(procs=listed), pid).complete


@pytest.mark.parametrize(("digits", "known"), [(10, True), (11, False)])
def test_listing_when_a_number_is_longer_than_any_process_has_then_it_names_none(digits: int, *, known: bool) -> None:
    parent = "9" * digits
    walk = ancestry.walk_in_listing(f"  100 {parent} sh\n{parent} 0 claude\n", 100)
    assert walk.complete is known
