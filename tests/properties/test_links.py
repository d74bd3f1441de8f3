"""What the answers of the linked boxes come to, for any of them in any order; and the pauses of a link that is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, strategies as st

from sot_tui.comm import links
from sot_tui.comm.links import LinkStanding, Ok, Refusal, Silent

if TYPE_CHECKING:
    from collections.abc import Sequence

HOSTS = st.sampled_from(["lab", "desk", "wing"])
REFUSALS = st.builds(
    Refusal, st.sampled_from(["not_here", "file_failed", "no_live_session", ""]), st.text(min_size=1, max_size=20)
)
ANSWERS = st.lists(st.one_of(st.builds(Ok), REFUSALS, st.builds(Silent, HOSTS)), max_size=8)
MISSING = st.lists(HOSTS, unique=True, max_size=3)


@given(ANSWERS, MISSING)
def test_combined_when_any_answers_come_then_the_contract_s_order_decides(
    answers: Sequence[Ok | Refusal | Silent], missing: list[str]
) -> None:
    """Contract, Sending: "the first ok; else the first refusal that is not not_here, that box's own words; else the
    daemon on <host> did not answer within <n>s; @<h> may still be filed for a link that gave no answer in time; else no
    box knows that handle: <h>, or, when a box that should hold a link to the hub ... holds none, no linked box knows
    that handle: <h>; not linked: <boxes>"."""
    said = links.combined("h", answers, 3.0, missing)
    refusals = [one for one in answers if isinstance(one, Refusal) and one.code != "not_here"]
    silent = [one.host for one in answers if isinstance(one, Silent)]
    if any(isinstance(one, Ok) for one in answers):
        expected: Ok | Refusal = Ok()
    elif refusals:
        expected = refusals[0]
    elif silent:
        words = f"the daemon on {silent[0]} did not answer within 3s; @h may still be filed"
        expected = Refusal("file_failed", words)
    elif missing:
        words = f"no linked box knows that handle: h; not linked: {', '.join(missing)}"
        expected = Refusal("not_here", words)
    else:
        expected = Refusal("not_here", "no box knows that handle: h")
    assert said == expected
    assert isinstance(said, type(expected))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ok", "error", "code"]), inner),
    max_leaves=6,
)


@given(JSON)
def test_read_when_any_answer_comes_then_only_a_plain_ok_is_one(payload: object) -> None:
    """Never filed without a box's own ok: whatever stands beside an error, it is a refusal."""
    said = links.read(payload)
    is_ok = isinstance(payload, dict) and payload.get("ok") is True and payload.get("error") is None
    assert isinstance(said, Ok) == is_ok
    if isinstance(said, Refusal):
        assert isinstance(payload, dict)
        assert payload["error"] is not None
        assert said.sentence
        assert said.code


@given(st.lists(st.floats(0, 200), max_size=12))
def test_next_pause_when_connections_stand_for_any_time_then_it_doubles_to_its_longest_and_begins_anew(
    lasted: list[float],
) -> None:
    """Daemon wire 3.3: "Reconnect after 1 s, doubling to 30 s, back to 1 s once a connection lasted 60 s"."""
    pause = 0.0
    for seconds in lasted:
        before, pause = pause, links.next_pause(pause, seconds)
        assert pause == (1.0 if not before or seconds >= 60 else min(30.0, before * 2))


def test_next_pause_when_no_connection_ever_stands_then_one_two_four_up_to_thirty() -> None:
    pauses = [0.0]
    for _ in range(8):
        pauses.append(links.next_pause(pauses[-1], 0.0))
    assert pauses[1:] == [1, 2, 4, 8, 16, 30, 30, 30]


@given(
    st.builds(
        LinkStanding,
        st.text(max_size=5),
        st.booleans(),
        st.integers(0, 99),
        st.text(max_size=5),
        st.integers(0, 30),
        st.lists(st.text(max_size=3), max_size=3).map(tuple),
        st.lists(st.text(max_size=3), max_size=3).map(tuple),
    )
)
def test_standing_when_said_and_read_then_the_same(standing: LinkStanding) -> None:
    said = standing._asdict()
    assert links.standing_in({**said, "linked": list(standing.linked), "more": 1}) == standing


@given(st.dictionaries(st.sampled_from(LinkStanding._fields), JSON) | JSON)
def test_standing_when_anything_is_said_then_it_is_whole_or_none(said: object) -> None:
    found = links.standing_in(said)
    if found is not None:
        assert [type(one) for one in found] == [type(one) for one in LinkStanding()]
