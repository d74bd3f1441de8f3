"""The decision log as it grows: what is new is told once, whatever happens to the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.errors import Unreadable
from sot_tui.comm.home import Home
from sot_tui.notify import decision_log, event as events, own
from sot_tui.notify.decide import SEND, SILENT
from sot_tui.notify.following import LOOK_BYTES, LOST, Following, of_line

if TYPE_CHECKING:
    from sot_tui.notify.following import News

EVENT = events.Event(1, "claude-code", "s", events.IGNORED, "Stop", "", "c", "", "", "", "", "", "", goal_active=False)


class Log:
    """A decision log, and somebody who follows it."""

    def __init__(self, room: Path) -> None:
        self.home = Home(str(room / "comm"))
        self.base = str(room / "base")
        self.file = Path(self.base, decision_log.NAME)
        self.following = Following(self.home, self.base)

    def add(self, title: str) -> None:
        assert decision_log.append(self.home, self.base, EVENT, decision_log.Entry(SEND, "why", title=title))

    def news(self) -> list[str]:
        return [one.words for one in self.following.news()]


@pytest.fixture
def log(room: Path) -> Log:
    return Log(room)


def sent(*titles: str) -> list[str]:
    return [f"“{title}” was sent (why)" for title in titles]


def test_news_when_it_grows_then_each_line_once_and_no_history(log: Log) -> None:
    log.add("old")
    assert log.news() == []
    log.add("a")
    log.add("b")
    assert log.news() == sent("a", "b")
    assert log.news() == []


def test_news_when_there_was_no_log_at_first_then_all_of_it_is_new(log: Log) -> None:
    assert log.news() == []
    log.add("first")
    assert log.news() == sent("first")


def test_news_when_it_was_put_aside_then_the_rest_of_it_comes_first(log: Log) -> None:
    log.news()
    log.add("a")
    assert log.news() == sent("a")
    log.add("b")
    log.file.rename(f"{log.file}.1")
    log.add("c")
    assert log.news() == sent("b", "c")
    assert log.news() == []


def put_aside(log: Log) -> None:
    log.file.rename(f"{log.file}.1")


def test_news_when_it_was_put_aside_twice_then_nothing_of_either_is_lost_and_that_more_may_be_is_said(log: Log) -> None:
    log.add("long before")
    put_aside(log)
    log.news()
    log.add("a")
    assert log.news() == sent("a")
    log.add("b")
    put_aside(log)
    log.add("c")
    put_aside(log)
    log.add("d")
    assert log.news() == [*sent("b"), LOST, *sent("c", "d")]
    log.add("e")
    assert log.news() == sent("e")


def test_news_when_it_is_removed_beside_an_older_one_then_that_is_no_news(log: Log) -> None:
    log.add("long before")
    put_aside(log)
    log.add("before")
    log.news()
    log.file.unlink()
    log.add("new")
    assert log.news() == sent("new")


def test_news_when_a_look_fails_half_way_then_the_next_one_tells_all(log: Log) -> None:
    log.news()
    log.add("a")
    log.news()
    log.add("b")
    put_aside(log)
    log.file.mkdir()
    with pytest.raises(Unreadable):
        log.news()
    log.file.rmdir()
    log.add("c")
    assert log.news() == sent("b", "c")


def test_following_when_it_is_closed_then_no_file_is_left_open(log: Log) -> None:
    before = len(os.listdir("/proc/self/fd"))
    log.add("a")
    for _ in range(3):
        log.news()
        log.add("b")
        put_aside(log)
        log.add("c")
        put_aside(log)
        log.add("d")
    log.news()
    log.following.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_news_when_it_was_cut_or_is_another_one_then_it_is_read_from_its_start(log: Log) -> None:
    log.add("long before")
    log.news()
    log.file.write_bytes(b"")
    log.add("x")
    assert log.news() == sent("x")
    log.file.unlink()
    assert log.news() == []
    log.add("y")
    assert log.news() == sent("y")


def test_news_when_half_a_line_stands_there_then_it_waits_for_the_other_half(log: Log) -> None:
    log.news()
    log.add("a")
    whole = log.file.read_bytes()
    log.file.write_bytes(whole[:20])
    assert log.news() == []
    with log.file.open("ab") as file:
        file.write(whole[20:])
    assert log.news() == sent("a")


def test_news_when_it_grows_faster_than_it_is_read_then_the_newest_and_how_much_was_left_out(log: Log) -> None:
    log.news()
    count = 2 * LOOK_BYTES // 100
    for number in range(count):
        log.add(str(number))
    told = log.news()
    assert "bytes of decisions came at once and are not shown" in told[0]
    assert told[-1:] == sent(str(count - 1))
    assert len(told) < count
    assert log.news() == []


def test_news_when_it_may_not_be_read_then_that_is_said_and_nothing_is_lost(log: Log) -> None:
    log.add("old")
    log.news()
    log.add("a")
    aside = log.file.with_suffix(".aside")
    log.file.rename(aside)
    log.file.mkdir()
    with pytest.raises(Unreadable, match="could not be read"):
        log.news()
    log.file.rmdir()
    aside.rename(log.file)
    assert log.news() == sent("a")


def line(**said: object) -> bytes:
    import json

    return json.dumps({"harness": "pi", "event": "stop", "outcome": SILENT, "reason": "r", **said}).encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (line(), ("pi stop: no push (r)", True, False)),
        (line(outcome=SEND, title="T"), ("“T” was sent (r)", True, True)),
        (line(outcome=SEND), ("pi stop was sent (r)", True, True)),
        (line(outcome=SEND, reason="r (send failed)"), ("pi stop was not delivered (r)", False, True)),
        (
            line(outcome=SEND, reason="r (held back: quiet hours)"),
            ("pi stop is held back until the quiet hours are over (r)", True, True),
        ),
        (line(outcome=SEND, title="a\x1b]0;b\x07"), ("“a␛]0;b␇” was sent (r)", True, True)),
        (line(harness=own.HARNESS, event=own.MAIL, outcome=SEND, title="T"), ("“T” was sent (r)", True, True)),
        *(
            (
                line(harness=own.HARNESS, event=event, outcome=SEND, title="T", reason="r (send failed)"),
                ("“T” was not delivered (r); it is tried again", False, True),
            )
            for event in (own.MAIL, own.LOCK, own.DIGEST)
        ),
        (
            line(harness=own.HARNESS, event=own.TEST, outcome=SEND, title="T", reason="r (send failed)"),
            ("“T” was not delivered (r)", False, True),
        ),
        (
            line(outcome=SEND, title="T", composition_error="dry run"),
            ("a rehearsal of “T”: nothing was sent (r)", True, False),
        ),
        (line(outcome=SEND, dry_run=True), ("a rehearsal of pi stop: nothing was sent (r)", True, False)),
        (line(dry_run=True), ("a rehearsal of pi stop: nothing was sent (r)", True, False)),
        (line(outcome=SEND, dry_run="yes"), ("pi stop was sent (r)", True, True)),
        (line(reason=7), None),
        (b"[]", None),
        (b"", None),
        (b"\xff", None),
    ],
)
def test_line_when_it_is_read_then_says_what_came_of_it(data: bytes, words: tuple[object, ...] | None) -> None:
    found: News | None = of_line(data)
    assert (None if found is None else (found.words, found.good, found.pushed)) == words


@pytest.mark.parametrize(
    ("at", "seconds"),
    [
        ("1970-01-01T00:00:01.500000Z", 1.5),
        ("1970-01-01T02:00:01.123456789+02:00", 1.123456),
        ("1970-01-01T00:00:02", 2.0),
        ("yesterday", None),
        (7, None),
    ],
)
def test_line_when_it_says_when_then_that_is_its_moment(at: object, seconds: float | None) -> None:
    found = of_line(line(time=at))
    assert found is not None
    assert found.at == seconds


def test_words_when_they_are_long_then_are_cut() -> None:
    found = of_line(line(outcome=SEND, title="x" * 5000))
    assert found is not None
    assert len(found.words) < 300


def test_log_when_it_is_a_link_then_what_it_leads_to_is_followed(log: Log) -> None:
    os.makedirs(log.base)
    there = Path(log.base, "there")
    there.touch()
    log.file.symlink_to(there)
    assert log.news() == []
    with there.open("ab") as file:
        file.write(line(outcome=SEND, title="a", reason="why") + b"\n")
    assert log.news() == sent("a")
