"""Our terminal beside others on random programs, drawn evenly from all that stock pyte was seen to get wrong."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.wake.terminal import Terminal
from tests.mixes import COLUMNS, KINDS, LINES, MEANT, mix
from tests.oracles import AFRESH, Ghostty, Seen, Tmux, seen, text
from tests.unit.test_terminal_recordings import CUT_BY_TMUX, FOLDER, INDEX

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is what ours is held against")

_PANES = 4
_LEAST = 0.98
"""The share of a kind's programs that must come out equal, cell by cell."""


def _ours(program: bytes) -> Seen:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(AFRESH + program + b"\x1b\\", now=0.0)
    screen = terminal.snapshot(now=0.0)
    return seen(screen.rows, screen.cursor_x, screen.cursor_y)


def _without_c1(shown: Seen) -> Seen:
    """Leave out C1 controls: tmux keeps them in the cell before, ours lets none through to another terminal."""
    return shown._replace(
        rows=tuple(tuple(cell for cell in row if not "\x7f" <= cell.data <= "\x9f") for row in shown.rows)
    )


class _Tally:
    """How often ours was equal, by kind."""

    def __init__(self) -> None:
        self.drawn: Counter[str] = Counter()
        self.as_tmux: Counter[str] = Counter()
        self.as_ghostty: Counter[str] = Counter()
        self.odd: list[tuple[bytes, list[str], list[str], list[str] | None]] = []

    def run(self, folder: Path, programs: int, seed: int) -> None:
        random = Random(seed)
        kinds = list(KINDS)
        second = Ghostty(COLUMNS, LINES) if importlib.util.find_spec("pyghostty") else None
        with Tmux(folder, COLUMNS, LINES, _PANES) as tmux:
            for _ in range(programs // _PANES):
                mixes = [mix(random, kinds) for _ in range(_PANES)]
                for (drawn, program), shown in zip(
                    mixes, tmux.show([AFRESH + program for _, program in mixes]), strict=True
                ):
                    self._hold(drawn, program, _without_c1(shown), second)

    def _hold(self, drawn: list[str], program: bytes, shown: Seen, second: Ghostty | None) -> None:
        ours = _ours(program)
        other = second.show(AFRESH + program + b"\x1b\\") if second else None
        is_equal = ours == shown
        for kind in set(drawn):
            self.drawn[kind] += 1
            self.as_tmux[kind] += is_equal
            self.as_ghostty[kind] += other == (text(ours), ours.cursor)
        if not is_equal:
            self.odd.append((program, text(ours), text(shown), other and other[0]))

    def report(self) -> str:
        """Return the agreement by kind, and every program where no other terminal sides with ours."""
        beside = importlib.util.find_spec("pyghostty") is not None
        lines = [f"{len(self.odd)} differ from tmux in a cell or the cursor"]
        lines.append(f"{'kind':35}{'drawn':>7}{'as tmux':>10}{'text as Ghostty':>18}")
        for kind, share in sorted(self.agreement().items(), key=lambda pair: pair[1]):
            ghostty = f"{self.as_ghostty[kind] / self.drawn[kind]:.2%}" if beside else "not installed"
            lines.append(f"{kind:35}{self.drawn[kind]:>7}{share:>10.2%}{ghostty:>18}")
        alone = [odd for odd in self.odd if odd[1] != odd[3]]
        lines.append(f"of those that differ, Ghostty does not side with ours in {len(alone)}:")
        for program, *shown in alone:
            lines += [ascii(program.decode()), *(f"    {rows}" for rows in shown)]
        return "\n".join(lines) + "\n"

    def agreement(self) -> dict[str, float]:
        return {kind: self.as_tmux[kind] / self.drawn[kind] for kind in KINDS if self.drawn[kind]}


def test_terminal_when_given_random_programs_then_it_shows_what_tmux_shows(tmp_path: Path) -> None:
    tally = _Tally()
    tally.run(tmp_path, 400, seed=2026)
    assert len(tally.odd) / 400 < 1 - _LEAST, tally.odd


@pytest.mark.torture
@pytest.mark.timeout(1200)
def test_terminal_when_given_twenty_thousand_programs_then_no_kind_comes_out_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed, programs = 20_261, 20_000
    tally = _Tally()
    tally.run(tmp_path, programs, seed)
    with capsys.disabled():
        sys.stdout.write(f"\n{programs} programs, seed {seed}: {tally.report()}")
    assert not {kind: share for kind, share in tally.agreement().items() if share < _LEAST}


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: entry["file"])
def test_recording_when_tmux_is_given_the_same_bytes_then_every_cell_has_the_same_text_and_look(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    """At the same sizes, resized at the same places; what is painted of a row are these cells (see test_cells)."""
    with (FOLDER / entry["file"]).open(encoding="utf-8") as file:
        head, *events = map(json.loads, file)
    terminal = Terminal(head["width"], head["height"])
    now, waiting = 0.0, AFRESH
    with Tmux(tmp_path, head["width"], head["height"]) as tmux:
        for now, kind, data in events:
            if kind == "o":
                terminal.feed(data.encode(), now)
                waiting += data.encode()
            elif kind == "r":
                tmux.write(0, waiting)
                waiting = b""
                columns, lines = map(int, data.split("x"))
                terminal.resize(columns, lines)
                tmux.resize(0, columns, lines)
        tmux.write(0, waiting)
        shown = tmux.look(0)
    screen = terminal.snapshot(now)
    ours = seen(screen.rows, screen.cursor_x, screen.cursor_y)
    assert ours.cursor == shown.cursor
    for row, there in zip(ours.rows, shown.rows, strict=True):
        if CUT_BY_TMUX.get(entry["file"], ("\0", ""))[0] not in "".join(cell.data for cell in row):
            assert row == there


@pytest.mark.parametrize(("program", "rows"), MEANT.values(), ids=MEANT.keys())
def test_terminal_when_it_means_to_differ_from_tmux_then_it_shows_this(program: str, rows: list[str]) -> None:
    assert text(_ours(program.encode())) == rows


def test_differences_when_they_are_meant_then_tmux_still_has_them(tmp_path: Path) -> None:
    with Tmux(tmp_path, COLUMNS, LINES) as tmux:
        same = [
            why
            for why, (program, _) in MEANT.items()
            if tmux.show([AFRESH + program.encode()]) == [_ours(program.encode())]
        ]
    assert not same


_WRAPPED = {
    "words": "first\r\n" + " ".join(str(number) for number in range(60)) + "\r\nlast",
    "a blank at the edge": "x" * (COLUMNS - 1) + " behind it\r\nlast",
    "many rows": "ab " * (COLUMNS * LINES) + "\r\nlast",
    "exactly full": "x" * COLUMNS + "\r\nlast",
    "coloured": "\x1b[31m" + "red " * COLUMNS + "\x1b[m\r\nlast",
    "wide": "漢" * COLUMNS + "\r\nlast",
    "written over": "y" * (COLUMNS + 5) + "\x1b[2;1Hz\r\nlast",
    "its second row blanked": "y" * (COLUMNS + 5) + "\x1b[2K\r\nlast",
    "a row put between": "y" * (COLUMNS + 5) + "\x1b[L\r\nlast",
    "without wrap": "\x1b[?7l" + "y" * (COLUMNS + 5) + "\r\nlast",
    "the alternate screen": "\x1b[?1049h\x1b[H" + "y" * (COLUMNS + 5) + "\r\nlast",
}


def _joined(program: bytes) -> list[str]:
    """Return the lines of our screen and its history, those that were wrapped as one."""
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed(AFRESH + program, now=0.0)
    screen, kept = terminal.snapshot(now=9.0), terminal.history_length
    rows = [*([] if screen.alternate else terminal.history_rows(0, kept)), *screen.rows]
    wrapped = [*([] if screen.alternate else terminal.history_wrapped(0, kept)), *screen.wrapped]
    lines = [""]
    for row, goes_on in zip(rows, wrapped, strict=True):
        lines[-1] += "".join(cell.data for cell in row[: goes_on or None])
        if not goes_on:
            lines.append("")
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize("program", _WRAPPED.values(), ids=_WRAPPED.keys())
def test_wrapped_when_tmux_joins_the_same_rows_then_the_same_lines_come_out(program: str, tmp_path: Path) -> None:
    """What is copied of a line that the terminal wrapped is what `capture-pane -J` returns of it."""
    with Tmux(tmp_path, COLUMNS, LINES) as tmux:
        tmux.show([AFRESH + program.encode()])
        start = "" if "1049" in program else "-S -"
        joined = [line.rstrip() for line in tmux.ask(f"capture-pane -p -J {start} -t {tmux.windows[0]}")]
    ours = _joined(program.encode())
    assert "\n".join(ours).strip("\n") == "\n".join(joined).strip("\n")
