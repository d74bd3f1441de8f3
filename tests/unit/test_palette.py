"""The cells of a terminal and its colours: made once, forgotten before they are too many, none of a wrong number."""

from __future__ import annotations

import pytest

from sot_tui.wake import cells
from sot_tui.wake.attributes import BG, FG, UNDERLINE, UNDERLINE_COLOR, turned
from sot_tui.wake.cells import PLAIN, Palette

MOST = 4096
"""How many cells a palette makes before it forgets."""


def test_palette_when_more_is_made_than_is_kept_then_all_that_was_made_before_is_forgotten() -> None:
    """A program that prints every sign in every colour must not fill the memory of who watches it."""
    palette = Palette()
    red = turned(PLAIN, "31;44")
    colored = palette.turn(palette.plain, "31;44", red)
    made = [colored[chr(0x4E00 + number)] for number in range(MOST - 1)]
    assert made[0][1:] == red
    assert (palette.made, len(colored), len(palette.plain.turns)) == (MOST, MOST - 1, 1)
    cell = palette.plain["a"]
    assert (cell.data, cell[1:]) == ("a", PLAIN)
    assert (palette.made, len(colored), len(palette.plain), len(palette.plain.turns)) == (MOST + 1, 0, 1, 0)
    assert (len(palette._filled), len(palette._erased)) == (1, 0)
    assert colored["b"][1:] == red  # whoever uses a style goes on with it
    assert palette.turn(palette.plain, "31;44", red)["b"] == colored["b"]


def test_palette_when_few_are_made_then_each_is_made_once() -> None:
    palette = Palette()
    first = palette.plain["a"]
    assert [palette.plain[sign].data for sign in "bcd"] == ["b", "c", "d"]
    assert palette.plain["a"] is first
    assert palette.made == 4
    assert palette.turn(palette.plain, "1", turned(PLAIN, "1")) is palette.turn(palette.plain, "1", turned(PLAIN, "1"))
    assert palette.made == 6


def test_widths_when_too_many_are_remembered_then_they_are_forgotten_and_found_again() -> None:
    widths = cells._Widths()
    kept = []
    for number in range(3 * cells._KNOWN_WIDTHS):
        assert widths[chr(0x4E00 + number % 20_000)] == 2
        kept.append(len(widths))
    assert max(kept) == cells._KNOWN_WIDTHS


@pytest.mark.parametrize(("sign", "width"), [("\U0001f1e6", 1), ("\U0001f1ff", 1), ("項", 2), ("a", 1), ("\u0301", 0)])
def test_width_when_of_each_kind_then_as_agents_count_it_and_half_a_flag_is_one(sign: str, width: int) -> None:
    assert cells._Widths()[sign] == width


@pytest.mark.parametrize("place", [38, 48, 58])
@pytest.mark.parametrize(
    ("params", "color"),
    [
        ("5;255", "eeeeee"),
        ("5;9", "brightred"),
        ("5;256", None),
        ("5;", "black"),
        ("5", None),
        ("2;255;0;16", "ff0010"),
        ("2;256;0;0", None),
        ("2;0;0;256", None),
        ("2;1;2", None),
        (":5:255", "eeeeee"),
        (":5:256", None),
        (":5", None),
        (":2:255:0:16", "ff0010"),
        (":2::255:0:16", "ff0010"),
        (":2:255:0", None),
        (":7:1", None),
    ],
)
def test_color_when_its_numbers_are_given_then_it_is_that_and_out_of_range_none(
    place: int, params: str, color: str | None
) -> None:
    said = f"{place}{params}" if params.startswith(":") else f"{place};{params}"
    at = {38: FG, 48: BG, 58: UNDERLINE_COLOR}[place]
    look = turned(PLAIN, said)
    assert look[at] == ("default" if color is None else color)
    assert [one for number, one in enumerate(look) if number != at] == [
        one for number, one in enumerate(PLAIN) if number != at
    ]


@pytest.mark.parametrize(("params", "kind"), [("4:0", 0), ("4:3", 3), ("4:5", 5), ("4:6", 0), ("4:", 0), ("4:1:2", 0)])
def test_underline_when_its_kind_is_given_then_it_is_that_and_out_of_range_none(params: str, kind: int) -> None:
    assert turned(PLAIN, params)[UNDERLINE] == kind
