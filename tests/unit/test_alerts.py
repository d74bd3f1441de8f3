"""Which needs are new, and what a terminal and a toast say of them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.fleet import Need, Reading, Why
from sot_tui.engine.client import Happening, What
from sot_tui.screens import alerts
from tests.screens.fleets import NOW, agents, counted, entry, fleet

if TYPE_CHECKING:
    from sot_tui.comm.fleet import Fleet


def of(**states: str) -> Fleet:
    """Return a fleet of these states, its mail counted."""
    there = agents({name: entry(state=state, summary=f"{name} says") for name, state in states.items()})
    return fleet(agents=there, mail=MappingProxyType(dict.fromkeys(there, counted(0))), operator="")


def names(found: tuple[Need, ...]) -> list[str]:
    return [one.handle for one in found]


def test_needs_when_they_stood_there_at_the_first_look_then_none_is_new() -> None:
    needs = alerts.Needs()
    assert needs.new(of(a="blocked"), NOW) == ()
    assert names(needs.new(of(a="blocked", b="blocked"), NOW)) == ["b"]
    assert needs.new(of(a="blocked", b="blocked"), NOW) == ()


def test_needs_when_one_goes_and_comes_again_then_it_is_new_again() -> None:
    needs = alerts.Needs()
    needs.new(of(a="blocked"), NOW)
    assert needs.new(of(a="working"), NOW) == ()
    assert names(needs.new(of(a="blocked"), NOW)) == ["a"]


def test_needs_when_the_registry_cannot_be_read_meanwhile_then_what_stood_there_is_not_new() -> None:
    needs = alerts.Needs()
    whole = of(a="blocked")
    needs.new(whole, NOW)
    state = whole.registry._replace(reading=Reading.UNREADABLE)
    assert needs.new(whole._replace(registry=state, agents=MappingProxyType({})), NOW) == ()
    assert needs.new(whole, NOW) == ()


def test_needs_when_the_mail_is_not_counted_yet_then_no_look_counts() -> None:
    needs = alerts.Needs()
    whole = of(a="blocked")
    assert needs.new(whole._replace(mail=MappingProxyType({})), NOW) == ()
    assert needs.new(whole, NOW) == ()


def test_notice_when_words_are_hostile_or_long_then_are_inert_and_short() -> None:
    there = agents({"a": entry(state="blocked", summary="\x1b]0;x\x07" + "y" * 5000)})
    words = alerts.notice(fleet(agents=there), Need("a", Why.BLOCKED, None), NOW)
    assert words.startswith("@a: it waits on a person · ␛]0;x␇yy")
    assert len(words) == alerts.NOTICE_CHARS
    assert alerts.notice(fleet(), Need("", Why.WEDGED, None), NOW) == "the registry lock is held"


@pytest.mark.parametrize(
    ("osc", "environ", "said"),
    [
        ("off", {}, ""),
        ("9", {}, "\x1b]9;w\x1b\\"),
        ("777", {}, "\x1b]777;notify;sot;w\x1b\\"),
        ("9", {"TMUX": "x"}, "\x1bPtmux;\x1b\x1b]9;w\x1b\x1b\\\x1b\\"),
    ],
)
def test_sequence_when_it_is_asked_for_then_these_bytes(osc: str, environ: dict[str, str], said: str) -> None:
    assert alerts.sequence(osc, "w", environ) == said


def line(text: str, what: What = What.PUSH, *, good: bool = True) -> Happening:
    return Happening(1, 0.0, what, text, good)


def test_toasts_when_pushes_are_few_then_each_is_one_and_other_lines_are_none() -> None:
    lines = [line("a"), line("b", What.UNPUSHED), line("c", good=False), line("d", What.MAIL)]
    assert alerts.toasts(lines) == [("a", True), ("c", False)]


def test_toasts_when_pushes_are_many_then_they_are_one() -> None:
    lines = [*(line(str(number)) for number in range(5)), line("x", good=False)]
    assert alerts.toasts(lines) == [("6 pushes, 1 of them failed; e shows them", False)]
