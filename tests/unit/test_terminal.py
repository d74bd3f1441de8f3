"""The terminal's own promises, one by one: what the agents' screens showed that stock pyte gets wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sot_tui.wake.cells import BLANK, Cell
from sot_tui.wake.grid import Grid
from sot_tui.wake.terminal import KEYPAD, MOUSE_DRAGS, MOUSE_SGR, PASTE, Screen, Terminal

COLUMNS, LINES = 20, 6


def shown(program: str | bytes, columns: int = COLUMNS, lines: int = LINES) -> Screen:
    """Return what a program shows."""
    terminal = Terminal(columns, lines)
    terminal.feed(program if isinstance(program, bytes) else program.encode(), now=0.0)
    return terminal.snapshot(now=0.0)


def rows(screen: Screen) -> str:
    """Return the rows' text, joined by bars, without the blank ones at the end."""
    return "|".join(["".join([cell.data for cell in row]).rstrip(" ") for row in screen.rows]).rstrip("|")


TABLE = {
    # program: (the rows, the cursor's column and row, or None)
    "a\x1b[<ub": ("ab", (2, 0)),
    "a\x1b[<1ub": ("ab", (2, 0)),
    "a\x1b[=1;1ub": ("ab", (2, 0)),
    "a\x1b[=cb": ("ab", (2, 0)),
    "a\x1b[38:2::1:2:3mb": ("ab", (2, 0)),
    "a\x1b[4:3mb": ("ab", (2, 0)),
    "a\x1b[!pb": ("ab", (2, 0)),
    "a\x1b[#{b": ("ab", (2, 0)),
    "a\x1b[3\x1b[1mb": ("ab", (2, 0)),
    "a\x1b[3\x18b": ("ab", (2, 0)),
    "a\x1b[?6nb\x1b[?996nc\x1b[?4md": ("abcd", (4, 0)),
    "a\x1bPtext\x1b\\b": ("ab", (2, 0)),
    "a\x1bP+q544e\x1b\\b": ("ab", (2, 0)),
    "a\x1b_Gtext\x1b\\b": ("ab", (2, 0)),
    "a\x1b^text\x1b\\b\x1bXtext\x1b\\c": ("abc", (3, 0)),
    "a\x1b Fb\x1b-Ac\x1b*0d": ("abcd", (4, 0)),
    "a\x1b]0;t\x18b": ("ab", (2, 0)),
    "a\x1b]0;t\x1b[1mb": ("ab", (2, 0)),
    "a\x1bPq\x1b[1mb": ("ab", (2, 0)),
    "a\x1b]P0\x1b\\b": ("ab", (2, 0)),
    "⚠\ufe0f Do you want": ("⚠\ufe0f Do you want", (13, 0)),
    "a\x01b\x05c\x85d": ("abcd", (4, 0)),
    "a\x9bb": ("ab", (2, 0)),
    "日本\x1b[1;1HX": ("X 本", (1, 0)),
    "日本\x1b[1;2HX": (" X本", (2, 0)),
    "日本\x1b[1;1H\x1b[X": ("  本", (0, 0)),
    "日本\x1b[1;2H\x1b[P": (" 本", (1, 0)),
    "x" * 19 + "日": ("x" * 19 + "|日", (2, 1)),
    "x" * 20: ("x" * 20, (19, 0)),
    "x" * 20 + "y": ("x" * 20 + "|y", (1, 1)),
    "\r\n" + "x" * 20 + "\x1b[AY": (" " * 19 + "Y|" + "x" * 20, (19, 0)),
    "x" * 20 + "yz\r\bQ": ("x" * 19 + "Q|yz", (19, 0)),
    "x" * 20 + "\r\nyz\r\bQ": ("x" * 20 + "|Qz", (1, 1)),
    "x" * 20 + "yz\r\x1b[2K\bQ": ("x" * 20 + "|Q", (1, 1)),
    "x" * 20 + "yz\r\x1b[L\bQ": ("x" * 20 + "|Q|yz", (1, 1)),
    "x" * 20 + "yz\r\x1b[M\bQ": ("x" * 20 + "|Q", (1, 1)),
    "x" * 20 + "yz\x1b[2;5r\x1b[2;1H\x1bM\bQ": ("x" * 20 + "|Q|yz", (1, 1)),
    "x" * 20 + "\tY": ("x" * 20 + "|Y", (1, 1)),
    "\x1b[?7l" + "x" * 25 + "Y": ("x" * 19 + "Y", (19, 0)),
    "1\r\n2\r\n3\x1b[Sx": ("2|3| x", (2, 2)),
    "ab\x1b[5bc": ("abbbbbbc", (8, 0)),
    "abc\tdef\x1b[ZX": ("abc     Xef", (9, 0)),
    "ab\x1b[scd\x1b[uX": ("abXd", (3, 0)),
    "\x1b[3`a": ("  a", (3, 0)),
    "abc\x1bEX": ("abc|X", (1, 1)),
    "\x1b[1;3r\x1b[6;1Ha\r\nb": ("|||||b", (1, 5)),
    "ab\r\ncd\x1b[3JX": ("ab|cdX", (3, 1)),
    "\x1b(0lqk\x1b(B x": ("┌─┐ x", (5, 0)),
    "\x1b)0\x0eqx\x0fq": ("─│q", (3, 0)),
    "main\x1b[?1049h\x1b[2J\x1b[Halt\x1b[?1049l": ("main", (4, 0)),
    "main\x1b[?47hx\x1b[?47l": ("main", (5, 0)),
    "ab\x1b[?1048hcd\x1b[?1048lX": ("abXd", (3, 0)),
    "abc\x1b[?3hx": ("x", (1, 0)),
    "e\u0301x": ("e\u0301x", (2, 0)),
    "👩\u200d💻x": ("👩\u200d💻x", (3, 0)),
    "🇨🇦x": ("🇨🇦x", (3, 0)),
    "\u0301a": ("a", (1, 0)),
    "\x1b[999999999999B\x1b[99999999999999999999Cz": ("|||||" + " " * 19 + "z", (19, 5)),
    "\x1b[0;0Ha\x1b[;Hb": ("b", (1, 0)),
    "ab\x1b[1;2;3Hc": ("ac", (2, 0)),
    "\x1b[5J\x1b[5Ka": ("a", (1, 0)),
    "a\x1b[" + "1;" * 400 + "mb": ("ab", (2, 0)),
    "a\x1b日b": ("a日b", (4, 0)),
    "a\x1b[1日b": ("a日b", (4, 0)),
    # at the right edge, with and without going on in the next row
    "\x1b[?7l" + "x" * 20 + "\x1b[?7hy": ("x" * 19 + "y", (19, 0)),
    "\x1b[?7l" + "x" * 18 + "日": ("x" * 18 + "日", (19, 0)),
    "\x1b[?7l" + "x" * 18 + "日\x1b[?7hy": ("x" * 18 + " y", (19, 0)),
    "\x1b[?7l" + "x" * 19 + "日y": ("x" * 19 + "y", (19, 0)),
    "x" * 20 + "\x1b[?7l\x1b[4hy": ("x" * 19 + "y", (19, 0)),
    "x" * 18 + "日": ("x" * 18 + "日", (19, 0)),
    # a wide character of which a half is written over
    "日本x\x1b[1;2H語": (" 語 x", (3, 0)),
    "日本x\x1b[1;1H語": ("語本x", (2, 0)),
    "日本x\x1b[1;2Hab": (" ab x", (3, 0)),
    "日本x\x1b[1;2Ha": (" a本x", (2, 0)),
    # characters and rows put in and taken out
    "abc\x1b[1;1H\x1b[4hX": ("Xabc", (1, 0)),
    "a日b\x1b[1;3H\x1b[4hX": ("a X b", (3, 0)),
    "abc\x1b[1;2H\x1b[2@": ("a  bc", (1, 0)),
    "abcd\x1b[1;2H\x1b[2P": ("ad", (1, 0)),
    "abcd\x1b[1;2H\x1b[2X": ("a  d", (1, 0)),
    "a日本b\x1b[1;3H\x1b[2P": ("a  b", (2, 0)),
    "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[2;1H\x1b[L": ("a||b|d", (0, 1)),
    "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\x1b[L": ("a|b||d", (0, 2)),
    "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[1;1H\x1b[L": ("a|b|c|d", (0, 0)),
    "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[4;1H\x1b[L": ("a|b|c|d", (0, 3)),
    "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[2;1H\x1b[M": ("a|c||d", (0, 1)),
    "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\x1b[M": ("a|b||d", (0, 2)),
    "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[1;1H\x1b[M": ("a|b|c|d", (0, 0)),
    "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[4;1H\x1b[M": ("a|b|c|d", (0, 3)),
    "a\r\nb\r\nc\r\nd\x1b[1;2r\x1b[9M": ("||c|d", (0, 0)),
    "a\x1b[Tb": (" b|a", (2, 0)),
    "日b\x1b[1;2H\x1b[@": ("   b", (1, 0)),
    "x" * 18 + "日\x1b[1;1H\x1b[@": (" " + "x" * 18, (0, 0)),
    "a日b\x1b[1;1H\x1b[2P": (" b", (0, 0)),
    # rows erased, in part and whole
    "日x\x1b[1;2H\x1b[K": ("", (1, 0)),
    "abc\x1b[1;2H\x1b[K": ("a", (1, 0)),
    "abc\x1b[1;2H\x1b[1K": ("  c", (1, 0)),
    "abc\x1b[1;2H\x1b[2K": ("", (1, 0)),
    "a\r\nbcd\r\ne\x1b[2;2H\x1b[J": ("a|b", (1, 1)),
    "a\r\nbcd\r\ne\x1b[2;2H\x1b[1J": ("|  d|e", (1, 1)),
    # up and down, and the region
    "a\x1b[20h\nb": ("a|b", (1, 1)),
    "a\nb": ("a| b", (2, 1)),
    "\x1b[3;5r\x1b[2;1H\x1bMx": ("x", (1, 0)),
    "\x1b[3;5ra\x1bMb": ("ab", (2, 0)),
    "a\x1bMb": (" b|a", (2, 0)),
    "\x1b[3;3rx": ("x", (1, 0)),
    "ab\x1b[3;3rx": ("abx", (3, 0)),
    "ab\x1b[3;4rx": ("xb", (1, 0)),
    "\x1b[2;4r\x1b[3;1H\x1b[9Ax": ("|x", (1, 1)),
    "\x1b[2;4r\x1b[2;1H\x1b[9Ax": ("|x", (1, 1)),
    "\x1b[2;4r\x1b[1;1H\x1b[9Ax": ("x", (1, 0)),
    "\x1b[2;4r\x1b[6;1H\x1b[9Ax": ("|x", (1, 1)),
    "\x1b[2;4r\x1b[3;1H\x1b[9Bx": ("|||x", (1, 3)),
    "\x1b[2;4r\x1b[4;1H\x1b[9Bx": ("|||x", (1, 3)),
    "\x1b[2;4r\x1b[5;1H\x1b[9Bx": ("|||||x", (1, 5)),
    "\x1b[2;4r\x1b[?6h\x1b[9;1Hx": ("|||x", (1, 3)),
    "x" * 20 + "\x1b[By": ("x" * 20 + "|" + " " * 19 + "y", (19, 1)),
    "ab\r\ncd\x1b[Fx": ("xb|cd", (1, 0)),
    "ab\x1b[Ex": ("ab|x", (1, 1)),
    "\x1b[?47h" + "x" * 20 + "\x1b[?47ly": (" " * 19 + "y", (19, 0)),
    "ab\x1b[?6hx": ("xb", (1, 0)),
    # tab stops
    "\x1b[2Ix": (" " * 16 + "x", (17, 0)),
    "\x1b[1;17H\x1b[ZX": (" " * 8 + "X", (9, 0)),
    "\x1b[1;17H\tx\x1b[Zy": (" " * 16 + "y  x", (17, 0)),
    "a\x1b[3g\tx": ("a" + " " * 18 + "x", (19, 0)),
    "\x1b[1;4H\x1bH\r\tx\ty": ("   x    y", (9, 0)),
    "\x1b[1;9H\x1b[g\r\tx": (" " * 16 + "x", (17, 0)),
    "a\tb\tc\x1b[2ZX": ("a       X       c", (9, 0)),
    "a\tb\tc\x1b[9ZX": ("X       b       c", (1, 0)),
    # what a soft reset and a cursor that was never kept put back
    "\x1b(0q\x1b[!pq": ("─q", (2, 0)),
    "abc\x1b7\x1b[!p\r\nx\x1b8y": ("ybc|x", (1, 0)),
    "\x1b[1;4Hab\x1b8x": ("x  ab", (1, 0)),
    "\x1b[2;4r\x1b[?6h\x1b7\x1b[?6l\x1b8\x1b[1;1Hx": ("|x", (1, 1)),
    "\x1b7\x1b[2;4r\x1b[?6h\x1b8\x1b[1;1Hx": ("x", (1, 0)),
}


@pytest.mark.parametrize(("program", "wanted"), TABLE.items(), ids=map(ascii, TABLE))
def test_terminal_when_given_a_program_then_it_shows_this(program: str, wanted: tuple[str, tuple[int, int]]) -> None:
    screen = shown(program)
    assert (rows(screen), (screen.cursor_x, screen.cursor_y)) == wanted


@pytest.mark.parametrize("program", TABLE, ids=map(ascii, TABLE))
def test_terminal_when_the_reads_cut_anywhere_then_it_shows_the_same(program: str) -> None:
    terminal = Terminal(COLUMNS, LINES)
    for byte in program.encode():
        terminal.feed(bytes([byte]), now=0.0)
        terminal.snapshot(now=0.0)
    whole = shown(program)
    assert terminal.snapshot(now=0.0)._replace(revision=0) == whole._replace(revision=0)


LOOKS = {
    "\x1b[2mx": Cell("x", dim=True),
    "\x1b[1;2mx": Cell("x", bold=True, dim=True),
    "\x1b[1;2;22mx": Cell("x"),
    "\x1b[2;0mx": Cell("x"),
    "\x1b[2;1mx": Cell("x", bold=True, dim=True),
    "\x1b[>4;2mx": Cell("x"),
    "\x1b[1m\x1b[>4;0mx": Cell("x", bold=True),
    "\x1b[?4mx": Cell("x"),
    "\x1b[38:2::1:2:3mx": Cell("x", fg="010203"),
    "\x1b[38:2:1:2:3mx": Cell("x", fg="010203"),
    "\x1b[48;2;1;2;300mx": Cell("x"),
    "\x1b[38:5:9;1mx": Cell("x", fg="brightred", bold=True),
    "\x1b[38;5;246mx": Cell("x", fg="949494"),
    "\x1b[38;5;999;1mx": Cell("x", bold=True),
    "\x1b[38;5mx": Cell("x"),
    "\x1b[93;104mx": Cell("x", fg="brightyellow", bg="brightblue"),
    "\x1b[31;42;39;49mx": Cell("x"),
    "\x1b[4mx": Cell("x", underline=1),
    "\x1b[21mx": Cell("x", underline=2),
    "\x1b[4:3mx": Cell("x", underline=3),
    "\x1b[4:4mx": Cell("x", underline=4),
    "\x1b[4:5mx": Cell("x", underline=5),
    "\x1b[4:5;4:9mx": Cell("x", underline=5),
    "\x1b[4:3;4:0mx": Cell("x"),
    "\x1b[58;5;9mx": Cell("x", underline_color="brightred"),
    "\x1b[58:2::1:2:3mx": Cell("x", underline_color="010203"),
    "\x1b[58;5;9;59mx": Cell("x"),
    "\x1b[3;5;7;8;9;53mx": Cell("x", italic=True, blink=True, reverse=True, hidden=True, strike=True, overline=True),
    "\x1b[3;5;7;8;9;53;23;25;27;28;29;55mx": Cell("x"),
    "\x1b[3\r1mx": Cell("x", fg="red"),
}


@pytest.mark.parametrize(("program", "cell"), LOOKS.items(), ids=map(ascii, LOOKS))
def test_cell_when_attributes_are_selected_then_it_looks_so(program: str, cell: Cell) -> None:
    assert shown(program).rows[0][0] == cell


def test_erased_cells_when_a_style_is_in_use_then_they_keep_its_background_only() -> None:
    screen = shown("\x1b[1;2;7;44mab\x1b[K")
    assert screen.rows[0][5] == BLANK._replace(bg="blue")


def test_dim_suggestion_when_the_agent_draws_its_own_cursor_then_only_the_cell_under_it_is_reverse() -> None:
    screen = shown("\x1b[?25l❯\u00a0\x1b[7ma\x1b[27m\x1b[2mdd a test\x1b[22m\x1b[1;3H")
    assert [cell.dim for cell in screen.rows[0][:5]] == [False, False, False, True, True]
    assert screen.rows[0][2].reverse
    assert not screen.cursor_visible


# -- frames ------------------------------------------------------------------------------------------------------------


def test_snapshot_when_a_frame_is_not_complete_then_it_is_the_last_complete_one() -> None:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(b"before\x1b[?2026h\x1b[2Jhalf", now=1.0)
    assert rows(terminal.snapshot(now=1.5)) == "before"
    assert terminal.synchronizing(now=1.5)
    revision = terminal.revision
    terminal.feed(b" and whole", now=1.6)
    assert terminal.revision == revision
    terminal.feed(b"\x1b[?2026l", now=1.7)
    assert not terminal.synchronizing(now=1.7)
    assert terminal.revision > revision
    assert rows(terminal.snapshot(now=1.7)) == "      half and whole"


def test_snapshot_when_a_frame_never_ends_then_it_is_given_up_after_a_second() -> None:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(b"before\x1b[?2026h\rafter!", now=1.0)
    terminal.feed(b"\x1b[?2026h", now=1.9)
    assert rows(terminal.snapshot(now=1.99)) == "before"
    assert rows(terminal.snapshot(now=2.0)) == "after!"
    assert not terminal.synchronizing(now=2.0)


def test_snapshot_when_frames_follow_each_other_in_one_read_then_the_last_complete_one_is_shown() -> None:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(b"\x1b[?2026hone\x1b[?2026l\x1b[?2026h\rtwo", now=1.0)
    assert rows(terminal.snapshot(now=1.0)) == "one"


def test_frame_when_the_terminal_is_resized_or_reset_then_it_is_not_waited_for() -> None:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(b"\x1b[?2026hnew", now=1.0)
    terminal.resize(10, 4)
    assert rows(terminal.snapshot(now=1.0)) == "new"
    terminal.feed(b"\x1b[?2026h\x1bcagain", now=1.0)
    assert rows(terminal.snapshot(now=1.0)) == "again"


# -- what a reader finds unchanged ------------------------------------------------------------------------------------


def test_rows_when_nothing_changed_in_them_then_they_are_the_same_objects() -> None:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(b"one\r\ntwo\r\nthree", now=0.0)
    before = terminal.snapshot(now=0.0)
    terminal.feed(b"\x1b[2;1HTWO\x1b[1;1Hone", now=0.0)
    after = terminal.snapshot(now=0.0)
    assert [a is b for a, b in zip(before.rows, after.rows, strict=True)] == [True, False, True, True, True, True]
    assert after.revision == before.revision + 1


def test_revision_when_the_same_is_drawn_again_then_it_stays() -> None:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(b"one\x1b[31mtwo", now=0.0)
    before = terminal.snapshot(now=0.0)
    terminal.feed(b"\x1b[2J\x1b[H\x1b[mone\x1b[31mtwo", now=0.0)
    assert terminal.snapshot(now=0.0) is before
    assert terminal.revision == before.revision


@pytest.mark.parametrize(
    "change",
    [
        *("x", "\x1b[2C", "\x1b[?25l", "\x1b[3 q", "\x1b]2;t\x07", "\x1b]1;t\x07", "\x1b]7501;state=idle\x07"),
        *("\x1b[?1049h", "\x1b[?2004h", "\x1b=", "\x1b[2m \x1b[m"),
    ],
    ids=ascii,
)
def test_revision_when_anything_a_reader_sees_changes_then_it_grows(change: str) -> None:
    terminal = Terminal(COLUMNS, LINES)
    before = terminal.revision
    terminal.feed(change.encode(), now=0.0)
    assert terminal.revision > before


# -- titles, status, answers ------------------------------------------------------------------------------------------


def test_title_when_other_commands_follow_then_it_stays() -> None:
    screen = shown("\x1b]0;✳ Claude\x07\x1b]10;?\x07\x1b]104\x07\x1b]133;A\x07\x1b]22;pointer\x1b\\\x1b]8;;x\x07")
    assert (screen.title, screen.icon) == ("✳ Claude", "✳ Claude")
    screen = shown("\x1b]0;both\x07\x1b]1;icon\x1b\\\x1b]2;window; more\x1b\\")
    assert (screen.title, screen.icon) == ("window; more", "icon")


def test_title_when_put_aside_then_it_comes_back() -> None:
    screen = shown("\x1b]2;shell\x07\x1b[22;0t\x1b]2;editor\x07\x1b[23;0t")
    assert screen.title == "shell"
    assert shown("\x1b[23t\x1b[22t" * 50).title == ""


def test_title_when_it_holds_controls_or_never_ends_then_they_are_left_out_and_it_is_bounded() -> None:
    assert shown("\x1b]2;a\x85\x9bb\x7fc\x07").title == "abc"
    assert len(shown("\x1b]2;" + "t" * 5000 + "\x07").title) == 1024
    screen = shown("\x1b]2;" + "t" * 100_000 + "\x07after")
    assert (screen.title, rows(screen)) == ("", "after")


def test_status_when_reported_then_the_last_of_the_program_itself_is_kept() -> None:
    assert shown("x").status == ""
    screen = shown("\x1b]7501;state=idle:app=codex\x1b\\\x1b]7501;state=working\x07\x1b]7501;state=done:id=7\x07")
    assert screen.status == "state=working"


ANSWERS = {
    "\x1b[c": b"\x1b[?62;22c",
    "\x1b[0c": b"\x1b[?62;22c",
    "\x1bZ": b"\x1b[?62;22c",
    "\x1b[5n": b"\x1b[0n",
    "ab\r\nc\x1b[6n": b"\x1b[2;2R",
    "x" * 20 + "\x1b[6n": b"\x1b[1;20R",
    "\x1b]10;?\x1b\\": b"\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\",
    "\x1b]11;?\x07": b"\x1b]11;rgb:1010/1010/1414\x07",
    "\x1b]7501;?\x07": b"\x1b]7501;?\x07",
    "\x1b]7501;?\x1b\\": b"\x1b]7501;?\x1b\\",
    "\x1b[?2026$p": b"\x1b[?2026;2$y",
    "\x1b[?2026h\x1b[?2026$p": b"\x1b[?2026;1$y",
    "\x1b[?25$p": b"\x1b[?25;1$y",
    "\x1b[?1049$p": b"\x1b[?1049;2$y",
    "\x1b[?9999$p": b"\x1b[?9999;0$y",
    "\x1b[?1016$p": b"\x1b[?1016;0$y",
    "\x1b[?1007h\x1b[?1007$p": b"\x1b[?1007;0$y",
    "\x1b[?1003h\x1b[?1003$p\x1b[?1000$p": b"\x1b[?1003;1$y\x1b[?1000;2$y",
    "\x1b[?u": b"",
    "\x1b[>c": b"",
    "\x1b[=c": b"",
    "\x1b[1c": b"",
    "\x1b[>0q": b"",
    "\x1b[?6n": b"",
    "\x1b[14t": b"",
    "\x1bP+q544e\x1b\\": b"",
    "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\": b"",
    "\x1b]4;1;?\x07": b"",
    "\x1b]52;c;?\x07": b"",
}


@pytest.mark.parametrize(("query", "answer"), ANSWERS.items(), ids=map(ascii, ANSWERS))
def test_query_when_asked_then_it_is_answered_once_or_not_at_all(query: str, answer: bytes) -> None:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(query.encode(), now=0.0)
    assert terminal.replies() == answer
    assert terminal.replies() == b""


def test_answers_when_nobody_takes_them_then_they_are_bounded() -> None:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(b"\x1b[c" * 10_000, now=0.0)
    assert len(terminal.replies()) <= 4096
    terminal.feed(b"\x1b[c", now=0.0)
    assert terminal.replies() == b"\x1b[?62;22c"


# -- modes -------------------------------------------------------------------------------------------------------------


def test_modes_when_set_then_a_writer_of_keys_can_see_them() -> None:
    screen = shown("\x1b[?1;1002;1006;2004h\x1b=\x1b[4h\x1b[5 q")
    assert {1, MOUSE_DRAGS, MOUSE_SGR, PASTE, KEYPAD, -4} <= screen.modes
    assert screen.cursor_shape == 5
    screen = shown("\x1b[?1;1002;1006;2004h\x1b=\x1b[?1;1006;2004l\x1b>\x1b[?1003h")
    assert screen.modes == {7, 25, 1003}
    assert shown("\x1b[?1003h\x1b[?1000l").modes == {7, 25}


def test_modes_when_unknown_then_they_are_not_kept() -> None:
    assert shown("".join(f"\x1b[?{mode}h\x1b[{mode}h" for mode in range(3000, 9000))).modes == {7, 25}


def test_soft_reset_when_asked_for_then_no_text_goes() -> None:
    screen = shown("\x1b[2;3ra\x1b[1m\x1b[?7l\x1b[?25l\x1b[4h\x1b[!pb\x1b[6;20Hcd")
    assert rows(screen) == "||||" + " " * 19 + "c|d"
    assert shown("a\x1b[1m\x1b[!pb").rows[0][:2] == (Cell("a"), Cell("b"))
    assert screen.modes == {7, 25}


def test_full_reset_when_asked_for_then_all_is_as_at_the_start_but_title_and_history() -> None:
    terminal = Terminal(COLUMNS, 2)
    terminal.feed(b"\x1b]2;t\x07a\r\nb\r\nc\x1b[?1049h\x1b[31mx\x1b[2;2r\x1b[?2004h\x1b(0\x1bcq", now=0.0)
    screen = terminal.snapshot(now=0.0)
    assert (rows(screen), screen.title, screen.alternate) == ("q", "t", False)
    assert screen.modes == {7, 25}
    assert terminal.history_length == 1


# -- history and size --------------------------------------------------------------------------------------------------


def test_history_when_rows_scroll_off_the_main_screen_then_the_last_of_them_are_kept() -> None:
    terminal = Terminal(COLUMNS, 3, history=3)
    terminal.feed(b"\r\n".join(b"row %d" % number for number in range(9)), now=0.0)
    assert (terminal.history_length, terminal.history_total) == (3, 6)
    kept = terminal.history_rows(-5, 99)
    assert ["".join([cell.data for cell in row]).rstrip() for row in kept] == ["row 3", "row 4", "row 5"]
    assert {len(row) for row in kept} == {COLUMNS}
    assert terminal.history_rows(1, 2) == [kept[1]]
    terminal.feed(b"\x1b[?1049h" + b"x\r\n" * 9 + b"\x1b[?1049l\x1b[2;3r\x1b[3;1H\n\n", now=0.0)
    assert terminal.history_total == 6
    terminal.feed(b"\x1b[3J", now=0.0)
    assert terminal.history_length == 0


def test_history_when_the_screen_has_another_width_then_its_rows_have_that_too() -> None:
    terminal = Terminal(4, 1)
    terminal.feed("ab日\r\nc\r\n".encode(), now=0.0)
    terminal.resize(3, 1)
    assert ["".join([cell.data for cell in row]) for row in terminal.history_rows(0, 9)] == ["ab ", "c  "]


def test_resize_when_rows_go_then_the_cursor_stays_inside_and_rows_go_into_history() -> None:
    terminal = Terminal(COLUMNS, 6)
    terminal.feed(b"1\r\n2\r\n3\r\n4\r\n5\r\n6", now=0.0)
    terminal.resize(COLUMNS, 3)
    screen = terminal.snapshot(now=0.0)
    assert (rows(screen), screen.cursor_y, screen.lines, len(screen.rows)) == ("4|5|6", 2, 3, 3)
    assert terminal.history_length == 3
    terminal.feed(b"x", now=0.0)
    assert rows(terminal.snapshot(now=0.0)) == "4|5|6x"
    terminal.resize(COLUMNS, 5)
    screen = terminal.snapshot(now=0.0)
    assert (rows(screen), screen.cursor_y) == ("2|3|4|5|6x", 4)


def test_resize_when_columns_go_then_the_cursor_stays_inside_and_no_half_character_is_left() -> None:
    terminal = Terminal(COLUMNS, 3)
    terminal.feed("123456789日\x1b[15C\x1b7".encode(), now=0.0)
    terminal.resize(10, 3)
    screen = terminal.snapshot(now=0.0)
    assert (rows(screen), screen.cursor_x) == ("123456789", 9)
    terminal.feed(b"\x1b[H\x1b8X", now=0.0)
    assert rows(terminal.snapshot(now=0.0)) == "123456789X"


def test_resize_when_columns_come_then_they_have_tab_stops_and_the_region_is_gone() -> None:
    terminal = Terminal(10, 3)
    terminal.feed(b"\x1b[2;3r", now=0.0)
    terminal.resize(40, 4)
    terminal.feed(b"\t\t\tx\x1b[4;1H\n", now=0.0)
    assert rows(terminal.snapshot(now=0.0)) == ""
    assert terminal.history_length == 1


def test_resize_when_on_the_alternate_screen_then_the_main_one_is_resized_too() -> None:
    terminal = Terminal(COLUMNS, 4)
    terminal.feed(b"1\r\n2\r\n3\x1b[?1049hx", now=0.0)
    terminal.resize(2, 2)
    terminal.feed(b"\x1b[?1049l!", now=0.0)
    screen = terminal.snapshot(now=0.0)
    assert (rows(screen), screen.columns, [len(row) for row in screen.rows]) == ("2|3!", 2, [2, 2])


def test_resize_when_the_alternate_screen_kept_no_cursor_then_the_main_one_loses_no_text() -> None:
    terminal = Terminal(COLUMNS, 4)
    terminal.feed(b"1\r\n2\r\n3\r\n4\x1b[?47h\x1b[H", now=0.0)
    terminal.resize(COLUMNS, 2)
    terminal.feed(b"\x1b[?47l", now=0.0)
    assert rows(terminal.snapshot(now=0.0)) == "3|4"


def test_soft_reset_when_on_the_alternate_screen_then_the_main_cursor_comes_back() -> None:
    assert rows(shown("one\r\ntwo\x1b[?1049h\x1b[!p\x1b[?1049l!")) == "one|two!"


@pytest.mark.parametrize(("columns", "lines"), [(0, 0), (1, 1), (-3, 7), (1, 9), (500, 1)])
def test_size_when_it_makes_no_sense_then_nothing_breaks(columns: int, lines: int) -> None:
    terminal = Terminal(columns, lines)
    program = "".join(TABLE).encode()
    terminal.feed(program, now=0.0)
    screen = terminal.snapshot(now=0.0)
    assert {len(row) for row in screen.rows} == {screen.columns}
    terminal.resize(lines, columns)
    terminal.feed(program, now=0.0)
    screen = terminal.snapshot(now=0.0)
    assert (len(screen.rows), {len(row) for row in screen.rows}) == (screen.lines, {screen.columns})


# -- memory ------------------------------------------------------------------------------------------------------------


def test_cell_when_accents_are_heaped_on_it_then_it_is_bounded() -> None:
    screen = shown("e" + "\u0301" * 10_000 + "x")
    assert len(screen.rows[0][0].data) == 32
    assert screen.rows[0][1].data == "x"


def test_history_when_every_cell_is_unlike_all_others_then_old_rows_go_first() -> None:
    terminal = Terminal(80, 24)
    for line in range(400):
        cells = "".join(f"\x1b[38;2;{line % 256};{line // 256};{column}mx" for column in range(80))
        terminal.feed(cells.encode() + b"\r\n", now=0.0)
    assert 50 < terminal.history_length < 300


def test_terminal_when_loaded_alone_then_it_is_light() -> None:
    code = "import sys, sot_tui.wake.terminal; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"socket", "selectors", "asyncio", "subprocess", "dataclasses", "textual", "rich", "logging"} & set(
        loaded
    )


# -- lines that the terminal wrapped -----------------------------------------------------------------------------------


def wrapped(*steps: bytes | tuple[int, int], columns: int = 4, lines: int = 4) -> tuple[tuple[int, ...], list[int]]:
    """Return how far each row of the screen, and of history, goes on in the next one after writes and resizes."""
    terminal = Terminal(columns, lines)
    for step in steps:
        if isinstance(step, bytes):
            terminal.feed(step, now=0.0)
        else:
            terminal.resize(*step)
    return terminal.snapshot(now=0.0).wrapped, terminal.history_wrapped(0, 99)


def test_wrapped_when_text_goes_past_the_edge_then_its_row_goes_on_and_no_other() -> None:
    assert wrapped(b"abcdef\r\nxy\r\nabcd") == ((4, 0, 0, 0), [])
    assert wrapped("abc日本語".encode()) == ((3, 4, 0, 0), [])
    assert wrapped(b"ab  ef") == ((4, 0, 0, 0), [])
    assert wrapped(b"abcdef\x1b[Habcd\x1b[K") == ((4, 0, 0, 0), [])  # nothing is erased behind the edge


def test_wrapped_when_its_rows_scroll_off_then_history_says_it_too() -> None:
    assert wrapped(b"abcdefghij\r\n1\r\n2\r\n3\r\n4", lines=3) == ((0, 0, 0), [4, 4, 0, 0])
    assert wrapped(b"abcdefghijklmn", lines=2) == ((4, 0), [4, 4])


@pytest.mark.parametrize(
    "change",
    [
        b"\x1b[2;1H\x1b[2K",  # what it goes on with is gone
        b"\x1b[1;3H\x1b[K",  # the row is drawn anew
        b"\x1b[H\x1b[L",
        b"\x1b[2;1H\x1b[M",
        b"\x1b[2;1H\x1b[L",
        b"\x1b[2;4r\x1b[S",
        b"\x1b[2;4r\x1b[2;1H\x1bM",
        b"\x1b[H\x1b[2J",
        b"\x1b[H\n",
        b"\x1b#8",
    ],
)
def test_wrapped_when_one_of_the_two_rows_is_gone_or_moved_then_it_is_said_no_more(change: bytes) -> None:
    assert not any(wrapped(b"abcdef" + change)[0][:1])


def test_wrapped_when_the_screen_below_history_is_blanked_then_its_last_row_goes_on_no_more() -> None:
    assert wrapped(b"abcdefghij\x1b[H\x1b[2J", lines=2) == ((0, 0), [0])


def test_wrapped_when_the_screen_is_made_wider_then_it_ends_where_it_was_wrapped() -> None:
    assert wrapped(b"ab  efgh\r\n1\r\n2\r\n3", (6, 3)) == ((0, 0, 0), [4, 0])
    assert wrapped(b"ab  ef", (6, 4)) == ((4, 0, 0, 0), [])


def test_wrapped_when_the_screen_is_made_narrower_then_what_was_cut_joins_nothing() -> None:
    assert wrapped(b"abcdef", (3, 4)) == ((0, 0, 0, 0), [])
    assert wrapped(b"abcdefghij", (4, 1), (3, 1)) == ((0,), [0, 0])
    assert wrapped(b"abcdefghij", (4, 1), (3, 1), (4, 1)) == ((0,), [4, 4])


def test_wrapped_when_rows_come_back_from_history_then_they_still_go_on() -> None:
    assert wrapped(b"abcdefghij", (4, 1), (4, 3)) == ((4, 4, 0), [])
    assert wrapped(b"abcdefghij\x1b[2A", (4, 1), (4, 3)) == ((0, 0, 0), [])


@pytest.mark.parametrize(("columns", "lines"), [(2, 2), (2, 1)])
def test_wide_character_when_it_is_as_wide_as_the_screen_then_it_is_shown(columns: int, lines: int) -> None:
    assert rows(shown("日", columns, lines)) == "日"


def test_cells_when_a_mark_is_heaped_on_one_then_each_counts_as_made() -> None:
    """What is made is what bounds the history: a cell that is not counted is one that may be held for ever."""
    grid = Grid(20, 6, 10)
    grid.draw("e")
    made = grid.palette.made
    grid.draw("\u0301")
    grid.draw("\u0302")
    assert grid.palette.made == made + 2


def test_resize_when_columns_come_then_the_new_ones_alone_have_stops_of_their_own() -> None:
    terminal = Terminal(16, 4)
    terminal.feed(b"\x1b[3g", 0.0)
    terminal.resize(32, 4)
    terminal.feed(b"\tx\ty", 0.0)
    assert rows(terminal.snapshot(0.0)) == " " * 16 + "x" + " " * 7 + "y"


@pytest.mark.parametrize("columns", [5, 6, 7, 20, 80, 81])
def test_history_when_a_row_was_mostly_blank_then_its_text_and_its_looks_come_back_whole(columns: int) -> None:
    terminal = Terminal(columns, 2)
    terminal.feed(b"ab\r\n\x1b[44m\x1b[K\x1b[m\r\n" + b"x" * columns + b"\r\n\r\n", 0.0)
    kept = terminal.history_rows(0, 3)
    assert ["".join(cell.data for cell in row).rstrip() for row in kept] == ["ab", "", "x" * columns]
    assert [cell.bg for cell in kept[1]] == ["blue"] * columns
    assert len(kept[0]) == columns


@pytest.mark.parametrize(
    ("columns", "before", "size", "after", "shows"),
    [
        pytest.param(24, b"", 16, b"\t\tx", " " * 15 + "x", id="a stop at the new edge is none"),
        pytest.param(24, b"x" * 24 + b"\x1bH", 40, b"\r\x1b[3g\tx", "x" * 24 + " " * 15 + "x", id="all are cleared"),
        pytest.param(
            20, b"\x1b[3g" + b"x" * 20 + b"\x1bH", 30, b"\r\tx", "x" * 20 + " " * 4 + "x", id="none behind the edge"
        ),
    ],
)
def test_tab_when_the_screen_had_another_width_then_a_stop_is_inside_it(
    columns: int, before: bytes, size: int, after: bytes, shows: str
) -> None:
    terminal = Terminal(columns, 4)
    terminal.feed(before, 0.0)
    terminal.resize(size, 4)
    terminal.feed(after, 0.0)
    assert rows(terminal.snapshot(0.0)) == shows


# -- edges ------------------------------------------------------------------------------------------------------------


def test_snapshot_when_nothing_was_written_yet_then_it_is_a_blank_screen() -> None:
    screen = Terminal(4, 2).snapshot(0.0)
    assert (screen.columns, screen.lines, screen.rows) == (4, 2, ((BLANK,) * 4,) * 2)


def test_frame_when_a_second_has_passed_then_it_is_waited_for_no_more_and_the_next_one_is_a_frame_of_its_own() -> None:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(b"\x1b[?2026ha", 2.0)
    assert terminal.synchronizing(2.999)
    assert rows(terminal.snapshot(2.999)) == ""
    assert not terminal.synchronizing(3.0)
    assert rows(terminal.snapshot(3.0)) == "a"
    terminal.feed(b"\x1b[?2026hb", 4.0)
    terminal.feed(b"\x1b[?2026hc", 6.0)
    assert rows(terminal.snapshot(6.5)) == "ab"


@pytest.mark.parametrize(("shape", "kept"), [("0", 0), ("6", 6), ("7", 2), ("99", 2)])
def test_cursor_when_its_shape_is_chosen_then_only_a_known_one_counts(shape: str, kept: int) -> None:
    assert shown(f"\x1b[2 q\x1b[{shape} q").cursor_shape == kept


def test_sequences_when_each_is_another_then_few_are_remembered_and_each_does_what_it_says() -> None:
    terminal = Terminal(COLUMNS, LINES)
    kept = []
    for number in range(6000):
        terminal.feed(f"\x1b[1;{number}H".encode(), 0.0)
        assert terminal.snapshot(0.0).cursor_x == min(max(1, number), COLUMNS) - 1
        kept.append(len(terminal._plans))
    assert max(kept) == 2048


def test_titles_when_more_are_put_aside_than_are_kept_then_the_first_ten_come_back() -> None:
    push = "".join(f"\x1b]2;{number}\x07\x1b[22t" for number in range(12))
    titles = [shown(push + "\x1b[23t" * back).title for back in range(1, 12)]
    assert titles == ["9", "8", "7", "6", "5", "4", "3", "2", "1", "0", "0"]


def test_answers_when_they_are_as_many_bytes_as_may_wait_then_the_last_one_is_whole() -> None:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(b"\x1b[5n" * 2000, 0.0)
    assert terminal.replies() == b"\x1b[0n" * 1024
    terminal.feed(b"\x1b[5n", 0.0)
    assert terminal.replies() == b"\x1b[0n"


def test_title_when_it_holds_controls_at_the_ends_of_their_ranges_then_none_of_them_is_kept() -> None:
    assert shown("\x1b]0;a\x7fb\x80c\x9fd\xa0e~\x07").title == "abcd\xa0e~"


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        pytest.param("ab\x1b[" + "0" * 254 + "9Gx", "ab      x", id="as long as a sequence may be"),
        pytest.param("ab\x1b[" + "0" * 255 + "9Gx", "abx", id="a longer one means nothing"),
        pytest.param("\x1b]0;" + "t" * 4094 + "\x07x", "x", id="a command as long as is looked for at once"),
        pytest.param("\x1b]0;" + "t" * 4095 + "\x07x", "x", id="a longer one"),
        pytest.param("ab\x1b(" + "/" * 255 + "0q", "abq", id="an escape that is known to nobody"),
        pytest.param("a\x1b[3\x07;\x7f5Gx", "a x", id="a control within a sequence"),
        pytest.param("a\x1b[1\x80bc", "abc", id="a character that no sequence has"),
        pytest.param("ab\x1b[1;1H\x1b[2@x", "x ab", id="the first final there is"),
        pytest.param("a\x1b[3~b", "ab", id="the last one"),
        pytest.param("a\x1bPx\x07y\x1b\\b", "ab", id="a bell ends no other string"),
        pytest.param("a\x1b]0;t\x1a\x1b[3Gb", "a b", id="a cancelled command"),
    ],
)
def test_sequence_when_it_is_long_or_odd_then_the_reads_make_no_difference(program: str, wanted: str) -> None:
    whole, cut = shown(program), Terminal(COLUMNS, LINES)
    for byte in program.encode():
        cut.feed(bytes([byte]), 0.0)
    assert rows(whole) == rows(cut.snapshot(0.0)) == wanted
    assert whole.title == cut.snapshot(0.0).title


def test_sequence_when_it_has_a_blank_and_a_read_cuts_it_then_the_blank_is_a_part_of_it() -> None:
    terminal = Terminal(COLUMNS, LINES)
    for part in (b"\x1b[4", b" ", b"q"):
        terminal.feed(part, 0.0)
    assert terminal.snapshot(0.0).cursor_shape == 4


@pytest.mark.parametrize(("length", "kept"), [(16384, True), (16385, False)])
def test_command_when_it_is_as_long_as_is_kept_then_it_counts_and_a_longer_one_means_nothing(
    length: int, kept: bool
) -> None:
    payload = "2;title" if kept else "2;"
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(f"\x1b]{payload}{'t' * (length - len(payload))}\x07x".encode(), 0.0)
    assert (terminal.snapshot(0.0).title != "") is kept
    assert rows(terminal.snapshot(0.0)) == "x"
