"""The one tree of exceptions: each carries the sentence that is shown, and says it as text too."""

from __future__ import annotations

import pytest

from sot_tui.comm.errors import Misuse, Refused, SotError, Unheard, Unreadable


@pytest.mark.parametrize("kind", [SotError, Unreadable, Refused, Misuse, Unheard])
def test_exception_when_made_then_its_sentence_is_what_is_shown(kind: type[SotError]) -> None:
    error = kind("It is so.")
    assert (error.sentence, str(error)) == ("It is so.", "It is so.")


def test_unheard_when_the_reader_went_by_itself_then_nobody_needs_to_be_told() -> None:
    assert not Unheard("x").quiet
    assert Unheard("x", quiet=True).quiet
