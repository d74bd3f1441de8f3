"""Which box holds a link to the hub, and which boxes should: by the list of boxes alone (daemon wire 1.7)."""

from __future__ import annotations

import pytest

from sot_tui.comm import links
from sot_tui.comm.endpoints import Remote
from sot_tui.comm.topology import Box, Topology, Unlisted

BOXES = Topology(
    "hub",
    {
        "hub": Box(daemon=True, frontend=True),
        "lab": Box(daemon=True, frontend=True),
        "wing": Box(daemon=True),
        "desk": Box(frontend=True),
    },
)


@pytest.mark.parametrize(
    ("host", "where"),
    [("lab", Remote("hub", "")), ("desk", Remote("hub", "")), ("hub", None), ("wing", None), ("moon", None)],
)
def test_to_hub_when_each_box_asks_then_only_a_frontend_other_than_the_hub_holds_a_link(
    host: str, where: Remote | None
) -> None:
    assert links.to_hub(BOXES, host) == where


def test_to_hub_when_the_list_cannot_be_used_or_is_not_there_then_none() -> None:
    assert links.to_hub(None, "lab") is None
    assert links.to_hub(Unlisted("it names no hub"), "lab") is None


@pytest.mark.parametrize(
    ("linked", "missing"),
    [((), ("lab", "desk")), (("LAB",), ("desk",)), (("desk", "lab", "moon"), ()), (("wing",), ("lab", "desk"))],
)
def test_not_linked_when_some_are_then_the_other_frontends_in_the_order_of_the_list(
    linked: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    """Contract, Sending: "a box that should hold a link to the hub (a frontend box other than the hub, by
    hosts.toml)"."""
    assert links.not_linked(BOXES, "hub", linked) == missing


def test_not_linked_when_this_daemon_is_not_the_list_s_hub_then_nobody_should() -> None:
    assert links.not_linked(BOXES, "lab", ()) == ()
    assert links.not_linked(None, "hub", ()) == ()
    assert links.not_linked(Unlisted("it names no hub"), "hub", ()) == ()


def test_combined_when_a_link_s_name_holds_control_bytes_then_none_of_them_is_in_the_sentence() -> None:
    said = links.combined("h", [links.Silent("lab\n\x1b[2J" + "x" * 1000)], 2.5, ())
    assert isinstance(said, links.Refusal)
    assert said.sentence.isprintable()
    assert said.sentence.endswith("… did not answer within 2.5s; @h may still be filed")


@pytest.mark.parametrize(
    ("before", "lasted_s", "pause"),
    [(0.0, 0.0, 1.0), (1.0, 0.0, 2.0), (8.0, 59.9, 16.0), (8.0, 60.0, 1.0), (16.0, 0.0, 30.0), (30.0, 1.0, 30.0)],
)
def test_next_pause_when_a_link_was_lost_then_it_doubles_unless_the_link_had_lasted_a_minute(
    before: float, lasted_s: float, pause: float
) -> None:
    """Daemon wire 3.3: from 1 s, doubling up to 30 s, and anew after 60 s."""
    assert links.next_pause(before, lasted_s) == pause


def test_answer_when_a_box_says_no_in_a_whole_frame_of_words_then_its_first_words_are_passed_on() -> None:
    """They end on a terminal, or in what an agent reads."""
    found = links.read({"error": "no " * 300_000, "code": "file_failed"})
    assert isinstance(found, links.Refusal)
    assert found.sentence == ("no " * 300_000)[: links.WORDS_LIMIT]
