"""A person's keys as values: what a terminal sends for a key comes to a row's agent as that key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from textual import events

from sot_tui.engine.client import Key
from sot_tui.engine.rows import keys
from sot_tui.engine.rows.values import Modes
from sot_tui.screens import typed
from sot_tui.screens.terminal import KeyParser, pressed

if TYPE_CHECKING:
    from textual.message import Message

_MODIFIED = frozenset({*keys._LETTERED, *keys._FUNCTION})
KEYS = st.one_of(
    st.builds(Key, st.sampled_from(sorted(keys.NAMED)), ctrl=st.booleans(), alt=st.booleans(), shift=st.booleans()),
    st.builds(Key, st.characters(codec="utf-8").filter(str.isprintable), alt=st.booleans()),
    st.builds(Key, st.sampled_from("abcdefghijklmnopqrstuvwxyz\\]^_"), ctrl=st.just(True), alt=st.booleans()),
)


def parsed(data: str) -> list[Message]:
    """Return what the terminal's bytes come to while keys are meant for a row, and nothing follows."""
    parser = KeyParser()
    parser.exact = True
    found = [*parser.feed(data)]
    if parser._timeout_time is not None:
        parser._timeout_time = 0.0
    return [pressed(message) for message in (*found, *parser.tick())]


def got(data: str) -> list[Key | None]:
    """Return the keys of the terminal's bytes."""
    return [typed.named(one.key, one.character) for one in parsed(data) if isinstance(one, events.Key)]


@pytest.mark.parametrize("cursor", [False, True])
@given(key=KEYS)
def test_key_when_a_terminal_sends_it_then_the_agent_gets_the_same_bytes(cursor: bool, key: Key) -> None:
    modes = Modes(application_cursor=cursor)
    data = keys.key_bytes(key, modes)
    assert data is not None
    if data in {b"\x1b[", b"\x1bO", b"\x1b\x1b", b"\x1b\x1b[Z"}:
        return  # the first two signs of other keys, and Esc before another key: told apart by time alone
    again = [keys.key_bytes(one, modes) for one in got(data.decode()) if one is not None]
    assert b"".join(part for part in again if part is not None) == data


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ("\x1b\r", Key("enter", alt=True)),
        ("\x1bf", Key("f", alt=True)),
        ("\x1b.", Key(".", alt=True)),
        ("\x1b1", Key("1", alt=True)),
        ("\x1bB", Key("B", alt=True)),
        ("\x1b\x7f", Key("backspace", alt=True)),
        ("\x1b[", Key("[", alt=True)),
        ("\x1bO", Key("O", alt=True)),
        ("\x1b[1;2R", Key("f3", shift=True)),
        ("\x1b[25~", Key("f13")),
        ("\x1b[29~", Key("f16")),
        ("\x1b[13;2u", Key("enter", shift=True)),
        ("\x1b[27;2;13~", Key("enter", shift=True)),
        ("\x1b[27;5;97~", Key("a", ctrl=True)),
        ("\x1b[97;4u", Key("A", alt=True)),
        ("\x1b[27u", Key("escape")),
        ("\x1b", Key("escape")),
        ("\x08", Key("backspace", ctrl=True)),
        ("\x00", Key("@", ctrl=True)),
        ("\x1d", Key("]", ctrl=True)),
        ("\x1b[93;5u", Key("]", ctrl=True)),
        ("+", Key("+")),
        ("\x1b+", Key("+", alt=True)),
        ("é", Key("é")),
        ("\x1bé", Key("é", alt=True)),
        (" ", Key("space")),
        ("\x1b[[C", Key("f3")),
        ("\x1bOM", Key("enter")),
        ("\x1bOp", Key("0")),
    ],
)
def test_key_when_it_is_one_that_others_lose_then_it_is_told(data: str, key: Key) -> None:
    assert got(data) == [key]


@pytest.mark.parametrize("data", ["\x1b[97;9u", "\x1b[1;9A", "\x1b[57358u"])
def test_key_when_no_agent_can_be_told_of_it_then_it_is_none(data: str) -> None:
    assert got(data) == [None]


def test_cursor_position_when_it_is_no_key_then_it_stays_what_it_is() -> None:
    assert isinstance(parsed("\x1b[5;7R")[0], events.CursorPosition)
    assert isinstance(parsed("\x1b[1;40R")[0], events.CursorPosition)


@given(st.text(alphabet=st.sampled_from("\x1b[O0;1~uARZé+a \x01\x7f")))
def test_bytes_when_they_are_any_then_nothing_is_raised(data: str) -> None:
    for key in got(data):
        if key is not None:
            assert keys.key_bytes(key, Modes()) is not None
