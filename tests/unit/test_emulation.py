"""The screen behind its queue: bounded, in order, honest about its lag, and past any fault of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.engine.rows.emulation import LAG_LIMIT, TURN_BYTES, Emulation, modes_of
from sot_tui.wake.terminal import Terminal

if TYPE_CHECKING:
    from sot_tui.wake.terminal import Screen


def text(screen: Screen) -> list[str]:
    return ["".join(cell.data for cell in row).rstrip() for row in screen.rows]


def fed(emulation: Emulation, now: float = 0.0) -> bytes:
    """Feed everything that waits."""
    answers = b""
    while emulation.waits:
        answers += emulation.feed(now)
    return answers


def test_output_when_it_waits_then_the_lag_says_how_much_and_a_turn_takes_a_bounded_part() -> None:
    emulation = Emulation(80, 24)
    emulation.take(b"x" * (TURN_BYTES + 100))
    emulation.take(b"y" * 50)
    assert emulation.lag == TURN_BYTES + 150
    emulation.feed(0)
    assert emulation.lag == 150
    emulation.feed(0)
    assert emulation.lag == 0
    assert not emulation.waits


def test_output_when_more_waits_than_the_bound_then_no_more_is_read() -> None:
    emulation = Emulation(80, 24)
    while emulation.has_room:
        emulation.take(b"x" * 65536)
    assert LAG_LIMIT <= emulation.lag < LAG_LIMIT + 65536
    emulation.feed(0)
    assert emulation.has_room is (emulation.lag < LAG_LIMIT)


def test_size_when_it_changes_amid_output_then_each_part_is_drawn_in_its_own() -> None:
    """What was written for 80 columns is drawn in 80, however late it is fed."""
    emulation = Emulation(80, 3)
    emulation.take(b"\x1b[1;80Hx\r\n")
    emulation.resize(20, 3)
    emulation.take(b"\x1b[3;80Hy")
    fed(emulation)
    screen = emulation.screen(0)
    assert (screen.columns, screen.lines) == (20, 3)
    assert text(screen)[2] == " " * 19 + "y"
    assert "x" not in "".join(text(screen))


def test_rows_when_a_reader_has_seen_some_then_only_the_changed_ones_are_new() -> None:
    emulation = Emulation(20, 5)
    emulation.take(b"one\r\ntwo\r\nthree")
    fed(emulation)
    first = emulation.screen(0)
    assert [place for place, _ in emulation.changed(first, -1)] == [0, 1, 2, 3, 4]
    assert emulation.changed(first, first.revision) == []
    emulation.take(b"\x1b[2;1HTWO")
    fed(emulation)
    second = emulation.screen(0)
    emulation.take(b"\x1b[5;1HFIVE")
    fed(emulation)
    third = emulation.screen(0)
    assert [place for place, _ in emulation.changed(third, first.revision)] == [1, 4]
    assert [place for place, _ in emulation.changed(third, second.revision)] == [4]
    assert len(emulation.changed(third, third.revision + 5)) == 5, "a revision that never was knows nothing"


def test_query_when_it_is_fed_then_the_answer_comes_with_it() -> None:
    emulation = Emulation(80, 24)
    emulation.take(b"abc\x1b[6n")
    assert fed(emulation) == b"\x1b[1;4R"


class Broken(Terminal):
    """A model that fails at a sign."""

    def feed(self, data: bytes, now: float) -> None:
        if b"BOOM" in data:
            raise IndexError("a hole in the model")
        super().feed(data, now)


def test_model_when_it_fails_then_it_begins_anew_and_the_revisions_go_on() -> None:
    emulation = Emulation(20, 3, Broken)
    emulation.take(b"before")
    fed(emulation)
    seen = emulation.screen(0)
    emulation.resize(30, 4)
    emulation.take(b"BOOM")
    emulation.take(b"after")
    fed(emulation)
    screen = emulation.screen(0)
    assert (emulation.faults, emulation.fault) == (1, "IndexError: a hole in the model")
    assert (screen.columns, screen.lines) == (30, 4)
    assert text(screen) == ["after", "", "", ""]
    assert screen.revision > seen.revision
    assert emulation.revision() == screen.revision
    assert len(emulation.changed(screen, seen.revision)) == 4
    assert emulation.lag == 0


def test_history_when_rows_go_then_places_stay() -> None:
    emulation = Emulation(20, 3)
    emulation.take(b"".join(b"%d\r\n" % number for number in range(3000)))
    fed(emulation)
    first, total, rows, _ = emulation.history(2000, 3)
    assert total == 2998
    assert first == total - 2000
    assert ["".join(cell.data for cell in row).rstrip() for row in rows] == ["2000", "2001", "2002"]
    assert emulation.history(0, 2)[2][0] == emulation.history(first, 1)[2][0]
    assert emulation.history(10**9, 5)[2] == []


def test_modes_when_a_program_asks_then_they_say_how_input_is_sent() -> None:
    emulation = Emulation(80, 24)
    emulation.take(b"\x1b[?1h\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?1049h\x1b[20h")
    fed(emulation)
    modes = modes_of(emulation.screen(0))
    assert modes == (True, True, True, 1002, 1006, True)
