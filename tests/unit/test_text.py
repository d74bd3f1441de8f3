"""What a person is shown of foreign text: on a terminal nothing of it can act, to a program it goes as it is."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import text
from sot_tui.comm.text import INDENT, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOREIGN = "a\x1b[2Jb\n\tc\n"


@pytest.mark.parametrize(
    "code",
    [
        0x00,
        0x1B,
        0x7F,
        0x80,
        0x9B,
        0x9F,
        0x061C,
        0x200E,
        0x202A,
        0x202E,
        0x2028,
        0x2066,
        0x2069,
        0xFEFF,
        0xFFF9,
        0xFFFB,
        0xE0000,
        0xE007F,
        0xD800,
        0xDFFF,
    ],
    ids=hex,
)
def test_visible_when_a_sign_can_act_or_hide_then_another_one_is_shown_in_its_place(code: int) -> None:
    shown = visible(f"a{chr(code)}b")
    assert len(shown) == 3
    assert shown[1].isprintable() or shown[1] == "\ufffd"
    assert shown[1] != chr(code)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Let one of the two streams be a terminal, and the other one a pipe."""
    opened = [*os.openpty(), *os.pipe()]
    terminal, pipe = os.fdopen(opened[1], "w"), os.fdopen(opened[3], "w")

    def choose(name: str) -> None:
        for one in ("stdout", "stderr"):
            monkeypatch.setattr(sys, one, terminal if one == name else pipe)

    yield choose
    monkeypatch.undo()
    for file in (terminal, pipe):
        file.close()
    for descriptor in (opened[0], opened[2]):
        os.close(descriptor)


def test_stdout_when_it_is_a_terminal_then_nothing_acts_on_it_and_stderr_goes_by_its_own(
    only: Callable[[str], None],
) -> None:
    only("stdout")
    assert text.printable(FOREIGN) == "a␛[2Jb\n c\n"
    assert text.printable_line(FOREIGN) == "a␛[2Jb␊ c␊"
    assert text.printable_entry(FOREIGN) == f"a␛[2Jb\n{INDENT} c\n"
    assert text.printable_error(FOREIGN) == FOREIGN


def test_stderr_when_it_is_a_terminal_then_nothing_acts_on_it_and_stdout_goes_by_its_own(
    only: Callable[[str], None],
) -> None:
    only("stderr")
    assert text.printable_error(FOREIGN) == "a␛[2Jb\n c\n"
    for shown in (text.printable, text.printable_line, text.printable_entry):
        assert shown(FOREIGN) == FOREIGN


@pytest.mark.parametrize(
    ("environ", "speaks"),
    [
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, False),
        ({"LC_ALL": "de_DE.utf8"}, True),
        ({"LC_CTYPE": "C", "LANG": "en_US.UTF-8"}, bool(sys.flags.utf8_mode)),
        ({"LC_CTYPE": "C.UTF-8"}, not sys.flags.utf8_mode),
        ({"LANG": "en_US.UTF-8"}, True),
        ({}, False),
    ],
)
def test_locale_when_variables_name_it_then_the_first_that_counts_decides(
    environ: dict[str, str], speaks: bool
) -> None:
    assert text.speaks_utf8(environ) is speaks
