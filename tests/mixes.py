"""Random programs for a terminal, drawn from every kind of thing that stock pyte was seen to get wrong.

Each kind is a row of those tables, or a thing they all lean on (text, moves, erasing). A piece of a kind leaves no
string or sequence open, so that what follows it is read as what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

COLUMNS, LINES = 20, 6

_WORDS = ("a", "ok", "hello ", "Do you want", "x" * 19, "0123456789" * 3, "- ", "wörter ", "❯\u00a0", "│ ─ ┐")
_WIDE = ("日", "日本", "한국어 ", "🚀", "中x文y")


def text(random: Random) -> str:
    """Return some words."""
    return "".join(random.choice(_WORDS) for _ in range(random.randint(1, 3)))


def _one(*choices: str) -> Callable[[Random], str]:
    return lambda random: random.choice(choices)


def _between(*choices: str) -> Callable[[Random], str]:
    """Return what writes a word, one of these, and a word."""
    return lambda random: random.choice(_WORDS) + random.choice(choices) + random.choice(_WORDS)


def _place(random: Random) -> str:
    return f"\x1b[{random.randint(1, LINES)};{random.randint(1, COLUMNS)}H"


def _at_place(*choices: str) -> Callable[[Random], str]:
    return lambda random: _place(random) + random.choice(choices) + random.choice(("", "X", "日"))


def _counted(final: str, most: int = 4) -> Callable[[Random], str]:
    def piece(random: Random) -> str:
        count = random.choice(("", *range(1, most + 1), 99))
        return random.choice(("", _place(random))) + f"\x1b[{count}{final}" + random.choice(("", "Y"))

    return piece


def _region(random: Random) -> str:
    top = random.randint(1, LINES - 1)
    return f"\x1b[{top};{random.randint(top + 1, LINES)}r"


def _lines_in_region(random: Random) -> str:
    top = random.randint(1, LINES - 1)
    bottom = random.randint(top + 1, LINES)
    place = f"\x1b[{random.randint(top, bottom)};{random.randint(1, COLUMNS)}H"
    return f"\x1b[{top};{bottom}r{place}\x1b[{random.choice(('', 1, 2, 9))}{random.choice('LM')}Y\x1b[r"


def _half(random: Random) -> str:
    there = f"\x1b[{random.randint(1, LINES)};{random.randint(2, COLUMNS - 6)}H"
    return f"{there}日本語{there}" + random.choice(("X", "\x1b[CX", "\x1b[2CX", "\x1b[C中", "\x1b[3CX")) + "y"


def _inserted(random: Random) -> str:
    there = f"\x1b[{random.randint(1, LINES)}H"
    return f"{there}\x1b[2Ktail{there}\x1b[4h" + random.choice(("a", "Do ", *_WIDE)) + "\x1b[4l"


def _in_region(*choices: str) -> Callable[[Random], str]:
    def piece(random: Random) -> str:
        back = random.choice(("\x1b[r", "\x1b[r" + _place(random), ""))
        return _region(random) + _place(random) + "".join(random.choices(choices, k=3)) + back

    return piece


def _at_edge(*choices: str) -> Callable[[Random], str]:
    """Return what fills a row to its last column, so that the wrap waits, and goes on with one of these."""
    return lambda random: f"\x1b[{random.randint(1, LINES)};1H" + "e" * COLUMNS + random.choice(choices)


def _alternate(*modes: int) -> Callable[[Random], str]:
    def piece(random: Random) -> str:
        mode = random.choice(modes)
        inside = text(random) + random.choice(("", "\x1b[2J\x1b[H", "\r\n")) + text(random)
        return text(random) + f"\x1b[?{mode}h" + inside + f"\x1b[?{mode}l" + random.choice(("", "Z"))

    return piece


def _odd(random: Random) -> str:
    final = random.choice("ABCDGHJKmnrqtuy")
    return random.choice(_WORDS) + f"\x1b[{random.choice('<=>?')}{random.choice(('', '1', '4;2'))}{final}" + "b"


KINDS: dict[str, Callable[[Random], str]] = {
    # what everything stands on
    "words": text,
    "wide characters": lambda random: "".join(random.choices(_WIDE, k=2)),
    "line ends": _one("\r\n", "\n", "\r", "\r\n\r\n"),
    "moves": _place,
    "relative moves": lambda random: f"\x1b[{random.randint(1, 5)}{random.choice('ABCDEFGd')}",
    "erasing": lambda random: f"\x1b[{random.choice(('', '0', '1', '2'))}{random.choice('JK')}",
    "styles": lambda random: (
        f"\x1b[{random.choice(('', '0', '1', '3', '4', '7', '9', '31', '44', '92', '1;7', '38;5;200', '48;2;9;8;7'))}m"
    ),
    # 1
    "dim": _between("\x1b[2m", "\x1b[22m", "\x1b[1;2m", "\x1b[0;2m", "\x1b[2;7m"),
    # 2
    "zero-width characters": _between(
        "⚠\ufe0f", "e\u0301", "a\u200b", "x\u2060", "क\u0947", "o\u0308\u0323", "z\u200c"
    ),
    "stray controls": _between("\x01", "\x05", "\x7f", "\x00", "\x1c"),
    "C1 as characters": _between("\u0085", "\u009b", "\u009d", "\u0090"),
    # 3
    "private queries": _between("\x1b[?6n", "\x1b[?996n", "\x1b[?4m", "\x1b[?1A", "\x1b[1;2;3H", "\x1b[0;0c"),
    "erasing with odd numbers": _between("\x1b[5J", "\x1b[5K", "\x1b[9K"),
    "half a wide character": _half,
    # 4
    "kitty keys popped": _between("\x1b[<u", "\x1b[<1u"),
    "kitty keys set": _between("\x1b[=1;1u", "\x1b[>7u", "\x1b[?u"),
    "third attributes": _between("\x1b[=c", "\x1b[>c"),
    "colours by colons": _between(
        "\x1b[38:2::1:2:3m", "\x1b[38:5:9m", "\x1b[48:2:7:8:9m", "\x1b[48:5:100m", "\x1b[38:2::1:2:3;1m"
    ),
    "underlines by colons": _between("\x1b[4:3m", "\x1b[4:2m", "\x1b[4:4m", "\x1b[4:5m", "\x1b[4:0m", "\x1b[4:1m"),
    "soft reset": _between("\x1b[m\x1b[r\x1b[!p", "\x1b[m\x1b[r\x1b[3;3H\x1b[!p"),
    "unknown intermediates": _between("\x1b[#{", "\x1b[1$z", "\x1b[ @", "\x1b[1'z", "\x1b[&w"),
    "sequences cut short": _between("\x1b[3\x1b[1m", "\x1b[3\x18", "\x1b[3\x1a", "\x1b\x1b[4m", "\x1b[1;\x1b[7m"),
    "controls inside sequences": _between("\x1b[3\r1m", "\x1b[\x001m", "\x1b[3\n1m", "\x1b[1\x7f;4m"),
    # 5
    "DCS": _between("\x1bPtext\x1b\\", "\x1bP1$r0m\x1b\\", "\x1bP=1s\x1b\\"),
    "termcap queries": _between("\x1bP+q544e\x1b\\", "\x1bP$qm\x1b\\"),
    "APC": _between("\x1b_Gtext\x1b\\", "\x1b_\x1b\\"),
    "PM and SOS": _between("\x1b^text\x1b\\", "\x1bXtext\x1b\\"),
    "escapes with intermediates": _between("\x1b F", "\x1b-A", "\x1b*0", "\x1b%G", "\x1b#3"),
    "strings cancelled": _between("\x1b]0;t\x18", "\x1b]0;t\x1b[1m", "\x1b_q\x18", "\x1b_q\x1b[4m", "\x1b]P0\x1b\\"),
    # 6
    "prefixed SGR": _between("\x1b[>4;2m", "\x1b[>4;1m", "\x1b[>4;0m", "\x1b[>4m", "\x1b[<1m", "\x1b[=4m"),
    "prefixed others": _odd,
    # 7
    "alternate screen 1049": _alternate(1049),
    "alternate screen 47": _alternate(47, 1047),
    # 9
    "SU and SD": lambda random: text(random) + _counted(random.choice("ST"))(random),
    "REP": lambda random: (
        random.choice(("ab", "x", "hello ")) + f"\x1b[{random.randint(1, 30)}b" + random.choice(("", "c"))
    ),
    "CBT": _between("\tdef\x1b[Z", "\t\t\x1b[2Z", "\x1b[Z", "\x1b[9Z"),
    "SCP and RCP": lambda random: "\x1b[s" + text(random) + "\x1b[u" + random.choice(("X", "日")),
    "HPA": lambda random: f"\x1b[{random.randint(1, 25)}`" + random.choice(_WORDS),
    "NEL": _between("\x1bE"),
    "LF below the region": lambda random: f"\x1b[1;3r\x1b[{random.randint(4, 6)};1H" + "a\r\nb" * 2 + "\x1b[r",
    "ED 3": _between("\x1b[3J"),
    "wide at the edge": lambda random: f"\x1b[{random.randint(1, 6)};{random.randint(17, 20)}H" + random.choice(_WIDE),
    "pending wrap, then up": _at_edge("\x1b[AY", "\x1b[BY", "\x1b[DY", "\x1b[CY", "\bY", "\x1b[20GY", "\nY", "\x1bMY"),
    "pending wrap, then tab": _at_edge("\tY", "\x1b[ZY"),
    "pending wrap, then erasing": _at_edge(
        "\x1b[KY", "\x1b[1KY", "\x1b[JY", "\x1b[XY", "\x1b[PY", "\x1b[@Y", "\x1b[1mY"
    ),
    "no wrap": lambda random: (
        f"\x1b[?7l\x1b[{random.randint(1, 6)};{random.randint(1, 20)}H" + text(random) + "\x1b[?7h"
    ),
    "underline colour": _between("\x1b[58;5;9m", "\x1b[58:5:9m", "\x1b[58;2;1;2;3m", "\x1b[59m", "\x1b[4;58:2::1:2:3m"),
    "hidden, double, overline": _between(
        "\x1b[8m", "\x1b[21m", "\x1b[53m", "\x1b[28m", "\x1b[24m", "\x1b[55m", "\x1b[5m"
    ),
    "line drawing": _between("\x1b(0lqk\x1b(B", "\x1b)0\x0emqj\x0f", "\x1b(0x\x1b(B", "\x1b(0`a~\x1b(B"),
    "DECCOLM": _between("\x1b[?3h", "\x1b[?3l"),
    "IND and RI": _in_region("\x1bD", "\x1bM", "a"),
    "regions": _in_region("\r\n", "a\r\nb", "\x1b[A", "\x1b[9B", "\x1b[S"),
    "IL and DL": lambda random: text(random) + "\x1b[r" + _counted(random.choice("LM"))(random),
    "IL and DL in a region": _lines_in_region,
    "ICH": lambda random: text(random) + _place(random) + "\x1b[6G" + f"\x1b[{random.randint(1, 4)}@" + "Y",
    "DCH": lambda random: text(random) + _counted("P", 8)(random),
    "ECH": lambda random: text(random) + _counted("X", 8)(random),
    "DECSC and DECRC": lambda random: "\x1b7" + text(random) + _place(random) + "\x1b8" + random.choice(("X", "")),
    "tab stops": _between("\t", "\x1bH\r\t", "\x1b[g\r\t\t", "\x1b[3g\t", "\t\t\t"),
    "bracketed paste": _between("\x1b[?2004h", "\x1b[?2004l"),
    "insert mode": _inserted,
    "origin mode": lambda random: _region(random) + "\x1b[?6h" + _place(random) + text(random) + "\x1b[?6l\x1b[r",
    "backspaces": _between("\b", "\b\b\b", "\r\b", "\b" * 30),
    "alignment": _one("\x1b#8"),
    "full reset": _one("\x1bc"),
    # 10
    "colour queries": _between(
        "\x1b]10;?\x1b\\", "\x1b]11;?\x07", "\x1b]104\x07", "\x1b]133;A\x07", "\x1b]4;1;?\x1b\\"
    ),
    "titles": _between("\x1b]0;title\x07", "\x1b]2;title\x1b\\", "\x1b]22;pointer\x1b\\", "\x1bkname\x1b\\"),
    "program status": _between("\x1b]7501;?\x07", "\x1b]7501;state=idle\x1b\\"),
    "links": _between("\x1b]8;;http://a.b\x1b\\link\x1b]8;;\x1b\\"),
    # 11
    "synchronized output": lambda random: "\x1b[?2026h" + text(random) + "\x1b[?2026l" + random.choice(("", "s")),
    # 12
    "flags": _between("🇨🇦", "🇨🇦🇩🇪", "🇨"),
    "joined emoji": _between("👩\u200d💻", "👍🏽", "1\ufe0f\u20e3", "❤\ufe0f", "👩\u200d🚀"),
}
"""What each kind writes."""


def mix(random: Random, kinds: list[str]) -> tuple[list[str], bytes]:
    """Return the kinds of a program, drawn evenly, and the program."""
    drawn = [random.choice(kinds) for _ in range(random.randint(2, 6))]
    return drawn, "".join([KINDS[kind](random) for kind in drawn]).encode()


MEANT: dict[str, tuple[str, list[str]]] = {
    "tmux repeats ASCII only": ("é\x1b[2b", ["ééé"]),
    "tmux inserts and deletes rows to the screen's end when the cursor is outside the region": (
        "a\x1b[3;5r\x1b[1;1H\x1b[L",
        ["a"],
    ),
    "tmux ends a DCS at nothing but ST": ("\x1bPq\x18a", ["a"]),
    "tmux knows no DECSTR": (
        "\x1b[?7l\x1b[2;3r\x1b[!p" + "\x1b[6;20Hab",
        ["", "", "", "", "                   a", "b"],
    ),
    "tmux leaves half a wide character in the first column": ("日\x1b[1;2HX", [" X"]),
    "tmux leaves the other half of a wide character when one is erased": ("日b\x1b[1;1H\x1b[X", ["  b"]),
    "tmux moves too few when it inserts, and leaves what it did not move": (
        "abcdefgh" * 2 + "ijkl\x1b[1;13H\x1b[6@",
        ["abcdefghabcd      ef"],
    ),
    "tmux keeps 21 bytes of a cell": ("👨\u200d👩\u200d👧\u200d👦|", ["👨\u200d👩\u200d👧\u200d👦|"]),
    "tmux loses a joiner behind ASCII": ("a\u200dw", ["a\u200dw"]),
    "tmux has a row go on in the next one also after a line feed ended it": (
        "x" * 25 + "\x1b[1;1H\r\n\bQ",
        ["x" * 20, "Qxxxx"],
    ),
    "tmux has the row go on no more that it moved, not only the one before it": (
        "x" * 65 + "\x1b[2;1H\x1b[L\x1b[4;1H\bR",
        ["x" * 20, "", "x" * 19 + "R", "x" * 20, "xxxxx"],
    ),
    "tmux does not save the cursor for mode 1048": ("ab\x1b[?1048hcd\x1b[?1048lX", ["abXd"]),
}
"""Where ours is meant to differ from tmux 3.3: why, a program, and the rows that ours shows."""
