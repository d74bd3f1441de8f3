"""ASCII signs in the place of drawn ones: the same width, every state a shape of its own, where it is wanted."""

from __future__ import annotations

import subprocess
import sys

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from sot_tui.screens import show
from sot_tui.screens.glyphs import AsciiSigns, plain

SHOWN = "▌ ◆ ✓ ● ◌ ○ ? ◇ ╌ ◐ └ · … – — ≥ → ↑ ↓ ←→ “x” ──┼──│╭╮ ▇▇ ▏ 🔎"


@pytest.mark.parametrize("every_sign", [True, False])
def test_signs_when_drawn_in_ascii_then_each_keeps_its_width(every_sign: bool) -> None:
    told = plain(SHOWN, every_sign)
    assert told.isascii()
    assert cell_len(told) == cell_len(SHOWN)


def test_shapes_when_drawn_in_ascii_then_every_state_can_still_be_told_from_every_other() -> None:
    shapes = [plain(shape, every_sign=False) for shape in show.SHAPES.values()]
    assert len(set(shapes)) == len(shapes)


@pytest.mark.parametrize(("every_sign", "said"), [(True, "?? caf? > ??"), (False, "漢 café > 👍")])
def test_foreign_text_when_the_terminal_speaks_utf8_then_stays_as_it_is(every_sign: bool, said: str) -> None:
    assert plain("漢 café → 👍", every_sign) == said
    assert cell_len(said) == cell_len("漢 café → 👍")


def test_line_when_filtered_then_keeps_its_styles_and_leaves_ascii_alone() -> None:
    bold = Style(bold=True)
    line = [Segment("abc", bold), Segment("● x", bold)]
    drawn = AsciiSigns(every_sign=False).apply(line, Color(0, 0, 0))
    assert drawn[0] is line[0]
    assert drawn[1] == Segment("* x", bold)


_ASK = "import os; from sot_tui.comm.text import speaks_utf8; print(speaks_utf8(os.environ))"


@pytest.mark.parametrize(
    ("said", "utf8"),
    [
        ({}, False),
        ({"LANG": "C"}, False),
        ({"LC_ALL": "C"}, False),
        ({"LC_ALL": "POSIX", "LANG": "C.UTF-8"}, False),
        ({"LANG": "C.UTF-8"}, True),
        ({"LC_CTYPE": "C.UTF-8"}, True),
        ({"LC_ALL": "C.utf8"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "xx_YY.UTF-8"}, True),
        ({"LANG": "xx_YY.ISO-8859-1"}, False),
        ({"LANG": "C.UTF-8", "PYTHONUTF8": "1"}, True),
        ({"LANG": "C", "PYTHONUTF8": "1"}, False),
    ],
    ids=str,
)
def test_locale_when_asked_in_a_fresh_interpreter_then_is_what_the_terminal_was_told(
    said: dict[str, str], utf8: bool
) -> None:
    """Python reads UTF-8 under the C locale, and says so in LC_CTYPE; the terminal knows nothing of that."""
    ran = subprocess.run([sys.executable, "-c", _ASK], env=said, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(utf8)
