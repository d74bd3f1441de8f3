"""No bytes, cut anywhere, raise out of the terminal, break its screen, or make it grow without bound."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, strategies as st

from sot_tui.wake.terminal import Screen, Terminal
from tests.mixes import KINDS

FOLDER = Path(__file__).parent.parent / "data" / "recordings"

_PIECES = [
    kind.encode() for kind in ("\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x07", "\x18", "\x1b", "?", ">", ";", ":", "1049")
]
_PIECES += [
    kind.encode() for kind in ("h", "l", "m", "38;2;", "99999999999", "日", "\u0301", "\u200d", "👩", "\r\n", "\x0e")
]
_PIECES += [
    b"\xff",
    b"\xe6\x97",
    b"\xf0\x9f",
    b"\xc2\x9b",
    b"2026",
    b" q",
    b"!p",
    b"7501;?",
    b"\x1bc",
    b"\x1b[r",
    b"\x1b[3;5r",
]


def _check(screen: Screen) -> None:
    """Hold a screen against what every reader relies on."""
    assert len(screen.rows) == screen.lines
    assert 0 <= screen.cursor_x < screen.columns
    assert 0 <= screen.cursor_y < screen.lines
    for row in screen.rows:
        assert len(row) == screen.columns
        assert row[0].data
        before = ""
        for cell in row:
            assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in cell.data)
            assert cell.data or before
            before = cell.data


def _noise(random: Random, size: int) -> bytes:
    """Return bytes of all sorts: random ones, broken sequences, programs of every kind, and stretches of recordings."""
    kinds = list(KINDS.values())
    recordings = sorted(FOLDER.glob("*.cast"))
    noise = bytearray()
    while len(noise) < size:
        sort = random.randrange(5)
        if sort == 0:
            noise += random.randbytes(random.randint(1, 200))
        elif sort == 1:
            noise += b"".join(random.choices(_PIECES, k=random.randint(1, 20)))
        elif sort == 2:
            noise += random.choice(kinds)(random).encode()[random.randint(0, 3) :]
        elif sort == 3:
            with random.choice(recordings).open(encoding="utf-8") as file:
                events = [json.loads(line) for line in list(file)[1:]]
            output = "".join([data for _, kind, data in events if kind == "o"]).encode()
            start = random.randrange(len(output))
            noise += output[start : start + 500]
        else:
            noise += bytes([random.randrange(128)]) * random.randint(1, 300)
    return bytes(noise[:size])


def _feed_cut(noise: bytes, random: Random, largest: int, check_every: int) -> Terminal:
    terminal = Terminal(80, 24)
    at, now, reads = 0, 0.0, 0
    while at < len(noise):
        size = random.choice((1, 1, 2, 3, random.randint(1, largest)))
        now += random.choice((0.0, 0.01, 0.6))
        terminal.feed(noise[at : at + size], now)
        at += size
        reads += 1
        if random.random() < 0.001:
            terminal.resize(random.randint(1, 120), random.randint(1, 50))
        if reads % check_every == 0:
            _check(terminal.snapshot(now))
            assert len(terminal.replies()) <= 4096
    _check(terminal.snapshot(now + 2))
    return terminal


def test_terminal_when_given_noise_cut_anywhere_then_its_screen_stays_whole() -> None:
    random = Random(5)
    _feed_cut(_noise(random, 60_000), random, largest=200, check_every=20)


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_terminal_when_given_two_million_bytes_of_noise_then_its_memory_is_bounded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    random = Random(2_000_000)
    tracemalloc.start()
    try:
        for size in (1_000_000, 2_000_000):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            noise = _noise(random, size)
            terminal = _feed_cut(noise, random, largest=4096, check_every=200)
            held, peak = (figure - before - len(noise) for figure in tracemalloc.get_traced_memory())
            with capsys.disabled():
                os.write(1, f"\n{size} bytes of noise: {held >> 10} KiB held, {peak >> 10} KiB at most\n".encode())
            assert held < 16 << 20
            assert terminal.history_length <= 2000
    finally:
        tracemalloc.stop()


@example([b" ", "\u200d".encode(), b"\x80"], 0)  # what follows a joiner, in a read of its own
@given(st.lists(st.one_of(st.binary(max_size=12), st.sampled_from(_PIECES)), max_size=30), st.integers(0, 1 << 32))
def test_terminal_when_the_same_bytes_come_cut_otherwise_then_it_shows_the_same(pieces: list[bytes], seed: int) -> None:
    program = b"".join(pieces)
    whole, cut = Terminal(20, 6), Terminal(20, 6)
    whole.feed(program, now=0.0)
    at, random = 0, Random(seed)
    while at < len(program):
        size = random.randint(1, 5)
        cut.feed(program[at : at + size], now=0.0)
        at += size
    screen = whole.snapshot(now=9.0)
    _check(screen)
    assert cut.snapshot(now=9.0)._replace(revision=0) == screen._replace(revision=0)
    assert cut.replies() == whole.replies()


def test_recordings_when_read_a_byte_at_a_time_then_they_end_the_same() -> None:
    for path in sorted(FOLDER.glob("*.cast"))[::7]:
        with path.open(encoding="utf-8") as file:
            head, *events = map(json.loads, file)
        output = "".join([data for _, kind, data in events if kind == "o"]).encode()
        whole, cut = (Terminal(head["width"], head["height"]) for _ in range(2))
        whole.feed(output, now=0.0)
        for byte in output:
            cut.feed(bytes([byte]), now=0.0)
        assert cut.snapshot(now=9.0)._replace(revision=0) == whole.snapshot(now=9.0)._replace(revision=0)
