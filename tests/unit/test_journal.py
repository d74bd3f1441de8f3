"""The event log: which events are worth a line, in which words; bounded in memory and on the disk."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import paths
from sot_tui.comm.errors import Unreadable
from sot_tui.comm.fleet import Agent, Fleet, LockPhase, LockState, Mail, MailCount, Stance
from sot_tui.comm.home import Home
from sot_tui.engine import journal
from sot_tui.engine.client import Happening, What
from sot_tui.engine.fold import (
    AsideIs,
    Event,
    Faulted,
    Happened,
    LockLooked,
    Logged,
    MailCounted,
    Mended,
    OperatorStands,
    RegistryRead,
    RegistryUnread,
    StanceIs,
    fold,
)
from sot_tui.engine.journal import Journal, Said
from tests.seams import MountedDisk

if TYPE_CHECKING:
    from pathlib import Path

HELD = LockState(LockPhase.HELD, record="r", holder="box pid 1 start 2", age_s=0.5, verdict="alive: pid 1 runs")
FREE = LockState(LockPhase.FREE)
VIEWS = StanceIs(Stance.VIEWER, "pid 4 runs it")
UNREAD = RegistryUnread(missing=False, why="it is empty")
READ = RegistryRead(MappingProxyType({"a": Agent("a")}), 1, 10.0)


def lines(*events: Event) -> list[Said]:
    """Return what is told while these events come in."""
    fleet, said = Fleet(home="/comm"), []
    for event in events:
        after = fold(fleet, event)
        line = journal.told(fleet, event, after)
        said += [line] if line else []
        fleet = after
    return said


CASES = [
    pytest.param(
        [Happened(What.MAIL, "filed -> @b")], [Said(What.MAIL, "filed -> @b")], id="what-happened-says-itself"
    ),
    pytest.param(
        [Faulted("watch", "gone; next try in 0.5 s", 1.0), Faulted("watch", "gone; next try in 1 s", 2.0)],
        [
            Said(What.DUTY, "watch: gone; next try in 0.5 s", good=False),
            Said(What.DUTY, "watch: gone; next try in 1 s", good=False),
        ],
        id="each-try-of-a-duty",
    ),
    pytest.param(
        [Faulted("watch", "gone", 1.0), Faulted("watch", "gone", 2.0)],
        [Said(What.DUTY, "watch: gone", good=False)],
        id="the-same-fault-once",
    ),
    pytest.param(
        [Faulted("watch", "gone", 1.0), Mended("watch"), Mended("watch")],
        [Said(What.DUTY, "watch: gone", good=False), Said(What.DUTY, "watch: it works again")],
        id="a-duty-that-works-again",
    ),
    pytest.param([Mended("look")], [], id="a-duty-that-works"),
    pytest.param([READ, READ], [], id="a-registry-that-is-read"),
    pytest.param(
        [READ, UNREAD, UNREAD, READ],
        [
            Said(What.REGISTRY, "it could not be read: it is empty", good=False),
            Said(What.REGISTRY, "it can be read again"),
        ],
        id="an-unreadable-spell",
    ),
    pytest.param([LockLooked(HELD, 1.0), LockLooked(FREE, 2.0)], [], id="a-lock-of-a-moment"),
    pytest.param(
        [LockLooked(HELD, 1.0), LockLooked(HELD, 3.5), LockLooked(HELD, 9.0), LockLooked(FREE, 10.0)],
        [
            Said(
                What.LOCK,
                "the registry lock is held for 2s by box pid 1 start 2: alive: pid 1 runs",
                good=False,
            ),
            Said(What.LOCK, "the registry lock that was held by box pid 1 start 2 is free again"),
        ],
        id="a-wedged-lock",
    ),
    pytest.param(
        [LockLooked(HELD, 1.0), LockLooked(HELD, 3.5), LockLooked(HELD._replace(record="s", holder="x pid 3"), 4.0)],
        [
            Said(
                What.LOCK,
                "the registry lock is held for 2s by box pid 1 start 2: alive: pid 1 runs",
                good=False,
            ),
            Said(What.LOCK, "the registry lock that was held by box pid 1 start 2 is held by x pid 3 now"),
        ],
        id="a-lock-that-changes-hands",
    ),
    pytest.param(
        [VIEWS, OperatorStands("me"), VIEWS, StanceIs(Stance.HOST)],
        [Said(What.ENGINE, "pid 4 runs it"), Said(What.ENGINE, "it runs here, for /comm")],
        id="a-viewer-that-takes-over",
    ),
    pytest.param(
        [MailCounted({"a": Mail(MailCount.COUNTED, 3)}), Logged(4), AsideIs({})], [], id="what-the-nav-shows-anyway"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("events", "said"), CASES)
def test_line_when_an_event_comes_then_says_what_was_done_or_decided(events: list[Event], said: list[Said]) -> None:
    assert lines(*events) == said


def test_memory_when_it_is_full_then_holds_the_newest_lines_and_counts_on() -> None:
    book = Journal()
    for number in range(journal.MEMORY_LINES + 5):
        book.add(Said(What.MAIL, f"line {number}"), 1.0)
    assert book.last == journal.MEMORY_LINES + 5
    assert len(book.after(0)) == len(book.unwritten()) == journal.MEMORY_LINES
    assert book.after(book.last - 2) == (
        Happening(book.last - 1, 1.0, What.MAIL, f"line {book.last - 2}"),
        Happening(book.last, 1.0, What.MAIL, f"line {book.last - 1}"),
    )
    book.written(book.last - 1)
    assert [line.number for line in book.unwritten()] == [book.last]
    assert len(book.after(0)) == journal.MEMORY_LINES


@pytest.fixture
def home(comm_home: Path) -> Home:
    return Home(str(comm_home))


def line(text: str) -> Happening:
    return Happening(1, 1_780_000_000.0, What.DUTY, text, good=False)


def read(more: str = "") -> str:
    with open(paths.events_log(os.environ) + more, encoding="utf-8") as file:
        return file.read()


def test_file_when_lines_are_added_then_each_has_time_kind_and_text_and_acts_on_nothing(home: Home) -> None:
    journal.append(home, os.environ, [line("watch: gone")])
    journal.append(home, os.environ, [line("\x1b]2;x\x07 two\nlines")])
    assert read() == "2026-05-28T20:26:40Z duty watch: gone\n2026-05-28T20:26:40Z duty ␛]2;x␇ two␊lines\n"
    assert os.stat(paths.events_log(os.environ)).st_mode & 0o777 == 0o600
    assert not home.path.startswith(paths.state_root(os.environ))


def test_file_when_it_reaches_its_bound_then_is_put_aside_once(home: Home) -> None:
    journal.append(home, os.environ, [line("first")])
    half = line("x" * 1990)
    many = [half] * (journal.FILE_BYTES // 2100)
    for _ in range(3):
        journal.append(home, os.environ, many)
        assert os.path.getsize(paths.events_log(os.environ)) <= journal.FILE_BYTES
    assert sorted(os.listdir(paths.own_state(os.environ))) == ["events.log", "events.log.1"]
    assert "first" not in read() + read(".1")
    assert os.stat(paths.events_log(os.environ) + ".1").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("step", ["open", "write", "rename"])
def test_file_when_a_step_fails_then_is_told(home: Home, step: str) -> None:
    class Failing(MountedDisk):
        def __getattribute__(self, name: str) -> object:
            return self.fail if name == step else super().__getattribute__(name)

        def fail(self, *words: object) -> None:
            raise OSError(28, f"No space left on device {len(words)}")

    if step == "rename":
        journal.append(home, os.environ, [line("x" * 1990)] * (journal.FILE_BYTES // 2100))
    with pytest.raises(Unreadable, match="could not be written: No space left on device"):
        journal.append(home._replace(disk=Failing()), os.environ, [line("x" * 1990)] * (journal.FILE_BYTES // 2100))
