"""What a list shows of a message: what its sender says, and not what it quotes."""

from __future__ import annotations

import pytest

from sot_tui.screens.letters import _first_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\ntwo", "one"),
        ("\n\n  \none", "one"),
        ("@Api-vm wrote at 2026-12-01T05:25:55Z:\n> which branch?\n\nmain, please", "main, please"),
        ("@a wrote:\n> […]\n>\nyes\nno", "yes"),
        ("first\n\n@a wrote:\n> q", "first"),
        ("a list:\n* of things", "a list:"),
        ("@a wrote:\n> nothing is answered", "@a wrote:"),
        ("> only a quote", "> only a quote"),
        ("", ""),
        ("\n \n", ""),
    ],
)
def test_first_line_when_a_message_quotes_then_what_is_said(text: str, shown: str) -> None:
    assert _first_line(text) == shown
