"""What foreign text becomes: nothing acts, nothing is markup, every column has exactly its cells."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len
from wcwidth import wcswidth, wcwidth

from sot_tui.screens import show

HOSTILE = (
    "closed [/] bracket",
    "[@click=app.quit]x[/]",
    "$name [b]",
    "\x1b]0;pwned\x07\x1b[2J",
    "\x9b31m\x85",
    "\u202eevil\u2066x\u2069",
    "❤️ VS16 ☎️",
    "👨‍👩‍👧 👍🏽 🇩🇪",
    "漢字かな 한글",
    "e\u0301\u0301\u0301\u0301 \u0301start",
    "क्षि ﷽ \u00ad\u200b\u2060",
    "\ue000\U0010ffff\ud800",
    "\ta\nb\rc\0d\x7f",
    "ㅤᅠ\u115f각\u1161",
    "x" * 10_240,
    "漢" * 10_240,
    "",
)
"""Strings that crash, retitle or shift something somewhere; the screens' own tests take them too."""


def per_sign(text: str) -> int:
    """Return the cells of a text as a terminal counts that knows no graphemes."""
    return sum(max(0, wcwidth(char)) for char in text)


def assert_inert(text: str) -> None:
    for char in text:
        assert unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}, f"{char!r} in {text!r}"


@pytest.mark.parametrize("text", HOSTILE)
def test_text_when_plain_then_is_one_inert_line_of_one_width(text: str) -> None:
    shown = show.plain(text)
    assert_inert(shown)
    assert cell_len(shown) == per_sign(shown) == max(0, wcswidth(shown))


def test_marks_when_they_have_no_letter_or_are_many_then_are_left_out() -> None:
    """A mark at the start of a column would join the column before it."""
    assert show.plain("\u0301x") == "x"
    assert show.plain("q" + "\u0323" * 9) == "q\u0323\u0323"


@given(st.text(max_size=60), st.integers(0, 50))
def test_text_when_fitted_then_has_exactly_its_cells_for_everybody_who_counts(text: str, cells: int) -> None:
    for fitted in (show.fit(show.plain(text), cells), show.fit_right(show.plain(text), cells)):
        assert_inert(fitted)
        assert cell_len(fitted) == per_sign(fitted) == cells


@given(st.lists(st.sampled_from(HOSTILE), max_size=4).map("".join), st.integers(0, 40))
def test_hostile_text_when_fitted_then_has_exactly_its_cells(text: str, cells: int) -> None:
    assert cell_len(show.fit(show.plain(text), cells)) == cells


@given(st.text(max_size=200), st.integers(14, 60), st.integers(1, 4))
def test_text_when_hung_beside_its_label_then_stays_within_its_cells(text: str, cells: int, lines: int) -> None:
    told = str(show.hang("why", text, cells, 12, lines)).split("\n")
    assert len(told) <= lines
    assert all(cell_len(line) <= cells for line in told)


def test_long_text_when_hung_then_is_broken_at_blanks_and_cut_with_an_ellipsis() -> None:
    told = str(show.hang("why", "one two three four five six", 12, 4, 2)).split("\n")
    assert told == ["why one two", "    three f…"]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_when_made_content_then_no_markup_is_read(text: str) -> None:
    for content in (show.words(text), show.words(text, "b $error"), show.ours("[b]$x[/] is", x=text)):
        assert "@click" not in str(content.spans)
    assert str(show.words(text)) == show.plain(text)


def test_paragraph_when_it_is_long_then_is_not_cut_and_nothing_in_it_acts() -> None:
    assert show.paragraph("a\tb\x1b[2J\r") == "a    b␛[2J␍"
    assert len(show.paragraph("x" * 50_000)) == 50_000


@given(st.text("ab é漢\u0301", max_size=200), st.integers(1, 30))
def test_text_when_folded_then_each_line_fits_and_nothing_but_blanks_is_lost(text: str, room: int) -> None:
    shown = show.plain(text)
    lines = list(show.folded(shown, room))
    assert all(cell_len(line) <= max(2, room) for line in lines)
    assert "".join(lines).replace(" ", "") == shown.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one two three", ["one two", "three"]),
        ("one two  three", ["one two ", "three"]),
        ("abcdefghij", ["abcdefgh", "ij"]),
        ("a bcdefghijk", ["a", "bcdefghi", "jk"]),
        ("    indented", ["   ", "indented"]),
        ("漢字 漢字漢字", ["漢字", "漢字漢字"]),
        ("漢字漢字漢", ["漢字漢字", "漢"]),
        ("é two three", ["é two", "three"]),
        ("eight888 x é", ["eight888", "x é"]),
    ],
)
def test_text_when_folded_then_breaks_at_blanks_where_there_are_some(text: str, lines: list[str]) -> None:
    assert list(show.folded(text, 8)) == lines


def test_words_when_given_a_string_then_refuse_it() -> None:
    with pytest.raises(TypeError):
        show.Words().update("[/]")


@pytest.mark.parametrize(("since", "text"), [(None, "–"), (100.0, "0s"), (88.0, "12s"), (-7100.0, "2h"), (200.0, "0s")])
def test_age_when_shown_then_is_one_unit(since: float | None, text: str) -> None:
    assert show.age(since, 100.0) == text
