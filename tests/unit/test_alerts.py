"""Which needs are new, and what a terminal and a toast say of them."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import pytest

from sot_tui.comm.fleet import Need, Reading, Why
from sot_tui.engine.client import Events, Happening, What
from sot_tui.screens import alerts
from sot_tui.screens.eventlog import EventLog
from tests.screens.fleets import NOW, agents, counted, entry, fleet

if TYPE_CHECKING:
    from sot_tui.comm.fleet import Fleet
    from sot_tui.engine.client import Client, ReadEvents


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


def test_needs_when_there_was_no_registry_at_first_then_the_first_one_is_new_and_told_once() -> None:
    needs, there = alerts.Needs(), of(a="blocked")
    absent = there.registry._replace(reading=Reading.UNREADABLE, missing=True)
    none = there._replace(registry=absent, agents=MappingProxyType({}), mail=MappingProxyType({}))
    assert needs.new(none, NOW) == ()
    assert names(needs.new(there, NOW)) == ["a"]
    assert needs.new(none, NOW) == ()
    assert needs.new(there, NOW) == ()  # it was away for a while, as while a mount is


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


def line(text: str, what: What = What.PUSH, *, good: bool = True, at: float = 0.0, number: int = 1) -> Happening:
    return Happening(number, at, what, text, good)


def test_toasts_when_pushes_are_few_then_each_is_one() -> None:
    assert alerts.toasts([line("a"), line("c\x1b", good=False)]) == [("a", True), ("c␛", False)]


def test_pushes_when_lines_are_none_or_were_decided_before_the_window_opened_then_are_not_shown() -> None:
    pushes = alerts.Pushes(10.0)
    others = [line("b", What.UNPUSHED, at=11), line("d", What.MAIL, at=11), line("of before", at=9.9)]
    assert pushes.new([line("a", at=10), *others]) == [line("a", at=10)]


def test_pushes_when_they_come_again_then_are_shown_once_and_the_same_words_of_another_moment_are_news() -> None:
    pushes = alerts.Pushes(0.0)
    assert len(pushes.new([line("a", at=1), line("a", at=2), line("a", at=2, number=7)])) == 2
    assert pushes.new([line("a", at=1), line("a", at=2)]) == []
    assert len(pushes.new([line("a", at=3)])) == 1


def test_pushes_when_there_were_very_many_then_the_newest_are_remembered() -> None:
    pushes = alerts.Pushes(0.0)
    pushes.new(line("a", at=at) for at in range(3 * alerts.SHOWN_LIMIT))
    assert len(pushes._shown) == alerts.SHOWN_LIMIT
    assert pushes.new([line("a", at=3 * alerts.SHOWN_LIMIT - 1)]) == []


class Logs:
    """A client whose engine, and with it the log, may be another one."""

    def __init__(self) -> None:
        self.lines: tuple[Happening, ...] = ()

    async def do(self, command: ReadEvents) -> Events:
        return Events(tuple(one for one in self.lines if one.number > command.after), "f")


async def test_log_when_it_grows_then_each_line_once() -> None:
    logs = Logs()
    log = EventLog(cast("Client", logs))
    first, second, third = (line(str(number), number=number) for number in (1, 2, 3))
    assert (await log.new()).lines == ()
    logs.lines = (first,)
    assert await log.new() == ((first,), "f", False)
    assert await log.new() == ((), "f", False)
    logs.lines = (first, second, third)
    assert await log.new() == ((second, third), "f", False)
    logs.lines = (line("9", number=9),)  # more has come than an engine remembers
    assert await log.new() == (logs.lines, "f", True)


@pytest.mark.parametrize("count", [0, 1, 3, 9])
async def test_log_when_it_is_another_engines_then_all_of_it_and_no_push_is_shown_again(count: int) -> None:
    logs, pushes = Logs(), alerts.Pushes(0.0)
    log = EventLog(cast("Client", logs))
    logs.lines = tuple(line(f"a{number}", at=float(number), number=number) for number in (1, 2, 3))
    assert len(pushes.new((await log.new()).lines)) == 3
    # The other one knows the pushes of the first by other numbers, and one of its own.
    old = tuple(one for one in logs.lines for _ in range(3))[:count]
    logs.lines = tuple(replace(one, number=number) for number, one in enumerate((*old, line("new", at=20.0)), 1))
    part = await log.new()
    assert (part.lines, part.anew) == (logs.lines, True)
    assert [one.text for one in pushes.new(part.lines)] == ["new"]
    assert (await log.new()).lines == ()


def test_toasts_when_pushes_are_many_then_they_are_one() -> None:
    lines = [*(line(str(number)) for number in range(5)), line("x", good=False)]
    assert alerts.toasts(lines) == [("6 pushes, 1 of them failed; e shows them", False)]
