"""Reference, section 6, in its own worked numbers: budgets, plain text, and cuts with an ellipsis."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from sot_tui.notify import text


@pytest.mark.parametrize(
    ("user", "assistant", "kept"),
    [
        ("u" * 6000, "a" * 6000, (4096, 4096)),
        ("u" * 4096, "a" * 4096, (4096, 4096)),
        ("u" * 5000, "a" * 3192, (5000, 3192)),
        ("u" * 5000, "a" * 3193, (4999, 3193)),
        ("€" * 2000, "a" * 4000, (4191, 4000)),
        ("😀" * 3000, "", (8192, 0)),
        ("ab" + "😀" * 2100, "a", (8188, 1)),
        ("", "a" * 9000, (0, 8192)),
        ("é" * 5000, "界" * 3000, (4096, 4095)),
        ("u" * 100, "a" * 9000, (100, 8092)),
        ("u" * 9000, "a" * 100, (8092, 100)),
    ],
)
def test_b56_shared_when_texts_are_long_then_each_keeps_the_tail_of_its_budget(
    user: str, assistant: str, kept: tuple[int, int]
) -> None:
    """Contract, Framing: "4096-byte reservations that donate unused space to the other side"."""
    got = text.shared(user, assistant)
    assert (text.size(got[0]), text.size(got[1])) == kept
    assert user.endswith(got[0])
    assert assistant.endswith(got[1])


@given(st.text(), st.text(), st.integers(0, 40))
def test_shared_and_tail_when_any_text_then_characters_stay_whole(user: str, assistant: str, limit: int) -> None:
    """Contract, Framing: "truncation keeps rune-safe tails"."""
    kept = text.shared(user * 200, assistant * 300)
    assert text.size(kept[0]) + text.size(kept[1]) <= 8192
    assert text.size(text.kept_tail(user, limit)) <= limit
    assert user.endswith(text.kept_tail(user, limit))
    assert user.startswith(text.kept_head(user, limit))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("# **Allow** [the command](https://invalid)?", "Allow the command?"),
        ("> - ## 1. Deep *nest*", "Deep nest"),
        ("```\nrm -rf build\n```\nRun it?", "rm -rf build Run it?"),
        ("use `git_status` in src/my_file_name.py now", "use git_status in src/my_file_name.py now"),
        ("__init__.py and __all__", "__init__.py and all"),
        ("_path/to/file_ stays", "path/to/file stays"),
        ("*.go and **/*.ts", "*.go and **/*.ts"),
        ("snake_case_name and 2*3*4", "snake_case_name and 2*3*4"),
        ("~~gone~~ *a* _b_ ***c***", "gone a b c"),
        ('(*aside*) "_q_"', '(aside) "q"'),
        ("**bold**text **two words**, ok", "bold**text **two words, ok"),
        ("**a**b", "*a*b"),
        ("![shot](a.png) see [x] [y](u)", "shot see x] [y"),
        ("a\tb\x07c\x85d", "a b c d"),
        ("[1, 2, 3]", ""),
        ('{"a":1}', ""),
        ('```\n{"a":1}\n```', ""),
        ("{not json}", "{not json}"),
        ("- [ ] todo item", "[ ] todo item"),
        ("#tag", "#tag"),
        ("#", "#"),
        ("####### seven", "####### seven"),
        ("a\x1cb", "a b"),
    ],
)
def test_plain_when_text_has_markup_then_only_words_stay(said: str, shown: str) -> None:
    assert text.plain(said) == shown


@pytest.mark.parametrize(("said", "shown"), [("*a *", "*a *"), ("**a **", "*a *"), ("_x _", "_x _")])
def test_d2_plain_when_the_only_closers_follow_a_blank_then_it_ends(said: str, shown: str) -> None:
    assert text.plain(said) == shown


@pytest.mark.parametrize(("said", "shown"), [("**# Title**", "Title"), ("1.\nfoo", "foo"), ("`- x`", "x")])
def test_d3_message_when_markup_shows_after_other_markup_then_it_goes_too(said: str, shown: str) -> None:
    assert text.message(said) == shown
    assert text.is_message(shown)


MARKED = st.text(st.sampled_from('ab*_~`#>[](){}!-+1. \n\t\x07\x85…é😀"/\\'), max_size=400)


@given(st.one_of(MARKED, st.text(max_size=400)))
def test_message_when_any_text_then_it_is_its_own_message_within_its_limit(said: str) -> None:
    """Contract, Framing: "An input message is normalized plain text of at most 160 bytes."."""
    got = text.message(said)
    assert text.message(got) == got
    assert text.is_message(got)
    assert text.size(got) <= 160
    assert not text.has_control(got)
    assert text.plain(text.plain(said)) == text.plain(said)


@pytest.mark.parametrize("piece", ["*a", "(*", "*a*", "[x](", "`- ", "> ", "**_~~", "1. ", "_a _", "[["])
def test_plain_when_a_hostile_text_repeats_then_it_ends_within_its_bound(piece: str) -> None:
    assert text.size(text.plain(piece * (40_000 // len(piece)))) <= 8192


@pytest.mark.parametrize(
    ("said", "limit", "shown"),
    [
        ("a" * 160, 160, "a" * 160),
        ("a" * 161, 160, "a" * 157 + "…"),
        (" ".join(["word"] * 40), 160, " ".join(["word"] * 31) + "…"),
        ("é" * 100, 160, "é" * 78 + "…"),
        ("界" * 60, 160, "界" * 52 + "…"),
        ("a" + "界" * 60, 160, "a" + "界" * 52 + "…"),
        ("😀" * 41, 160, "😀" * 39 + "…"),
        ("a" * 156 + " bbbb", 160, "a" * 156 + "…"),
        ("run the criteria sweep then review", 20, "run the criteria…"),
        ("aaa bbb ccc", 10, "aaa…"),
        ("héllo wörld hére wé gö ãgain", 12, "héllo…"),
        ("abcdef", 2, "…"),
        ("abcdef", 3, "…"),
        ("abcdef", 4, "a…"),
        ("😀" * 60, 200, "😀" * 49 + "…"),
        ("月" * 180, 200, "月" * 65 + "…"),
    ],
)
def test_head_when_text_is_too_long_then_its_beginning_and_an_ellipsis(said: str, limit: int, shown: str) -> None:
    assert text.head(said, limit) == shown


@pytest.mark.parametrize(
    ("said", "limit", "shown"),
    [
        ("a" * 161, 160, "…" + "a" * 157),
        (" ".join(["word"] * 40), 160, "…" + " ".join(["word"] * 31)),
        ("界" * 60, 160, "…" + "界" * 52),
        ("the meaningful ask is at the end", 16, "…at the end"),
        ("aaaa bbb ccc", 10, "…ccc"),
        ("wörld" * 5, 10, "…dwörld"),
        ("abcdef", 2, "…"),
    ],
)
def test_tail_when_text_is_too_long_then_an_ellipsis_and_its_end(said: str, limit: int, shown: str) -> None:
    assert text.tail(said, limit) == shown


def test_b64_head_when_a_composed_body_is_long_then_it_fits_and_ends_in_an_ellipsis() -> None:
    got = text.head("完" * 100, text.COMPOSED_BYTES)
    assert text.size(got) <= 200
    assert got.endswith("…")
