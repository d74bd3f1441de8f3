"""Keys, mouse and pastes as bytes: a table of what xterm sends."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from sot_tui.engine.rows.keys import BUTTONS, NAMED, TEXT_LIMIT, key_bytes, mouse_bytes, paste_bytes
from sot_tui.engine.rows.values import Key, Modes, Mouse

PLAIN = Modes()
APPLICATION = Modes(application_cursor=True)


@pytest.mark.parametrize(
    ("key", "modes", "sent"),
    [
        (Key("a"), PLAIN, b"a"),
        (Key("A"), PLAIN, b"A"),
        (Key("é"), PLAIN, "é".encode()),
        (Key("👩‍💻"), PLAIN, None),  # the joiner is not printable by itself, so such a sign is pasted
        (Key("a", alt=True), PLAIN, b"\x1ba"),
        (Key("c", ctrl=True), PLAIN, b"\x03"),
        (Key("C", ctrl=True), PLAIN, b"\x03"),
        (Key("@", ctrl=True), PLAIN, b"\0"),
        (Key("space", ctrl=True), PLAIN, b"\0"),
        (Key("[", ctrl=True), PLAIN, b"\x1b"),
        (Key("_", ctrl=True), PLAIN, b"\x1f"),
        (Key("/", ctrl=True), PLAIN, b"\x1f"),
        (Key("?", ctrl=True), PLAIN, b"\x7f"),
        (Key("8", ctrl=True), PLAIN, b"\x7f"),
        (Key("3", ctrl=True), PLAIN, b"\x1b"),
        (Key("é", ctrl=True), PLAIN, "é".encode()),
        (Key("x", ctrl=True, alt=True), PLAIN, b"\x1b\x18"),
        (Key("space"), PLAIN, b" "),
        (Key("enter"), PLAIN, b"\r"),
        (Key("enter"), Modes(newline=True), b"\r\n"),
        (Key("enter", shift=True), PLAIN, b"\x1b\r"),
        (Key("enter", alt=True), PLAIN, b"\x1b\r"),
        (Key("enter", alt=True, shift=True), PLAIN, b"\x1b\r"),
        (Key("enter", ctrl=True), PLAIN, b"\r"),
        (Key("tab"), PLAIN, b"\t"),
        (Key("tab", shift=True), PLAIN, b"\x1b[Z"),
        (Key("escape"), PLAIN, b"\x1b"),
        (Key("escape", alt=True), PLAIN, b"\x1b\x1b"),
        (Key("backspace"), PLAIN, b"\x7f"),
        (Key("backspace", ctrl=True), PLAIN, b"\x08"),
        (Key("backspace", alt=True), PLAIN, b"\x1b\x7f"),
        (Key("up"), PLAIN, b"\x1b[A"),
        (Key("up"), APPLICATION, b"\x1bOA"),
        (Key("up", ctrl=True), APPLICATION, b"\x1b[1;5A"),
        (Key("left", shift=True), PLAIN, b"\x1b[1;2D"),
        (Key("right", alt=True), PLAIN, b"\x1b[1;3C"),
        (Key("home"), PLAIN, b"\x1b[H"),
        (Key("end"), APPLICATION, b"\x1bOF"),
        (Key("insert"), PLAIN, b"\x1b[2~"),
        (Key("delete", ctrl=True, shift=True), PLAIN, b"\x1b[3;6~"),
        (Key("pageup"), PLAIN, b"\x1b[5~"),
        (Key("pagedown"), APPLICATION, b"\x1b[6~"),
        (Key("f1"), PLAIN, b"\x1bOP"),
        (Key("f1", shift=True), PLAIN, b"\x1b[1;2P"),
        (Key("f4"), PLAIN, b"\x1bOS"),
        (Key("f5"), PLAIN, b"\x1b[15~"),
        (Key("f12", ctrl=True), PLAIN, b"\x1b[24;5~"),
        (Key("f20"), PLAIN, b"\x1b[34~"),
        (Key(""), PLAIN, None),
        (Key("\x03"), PLAIN, None),
        (Key("a\x1b[A"), PLAIN, None),
        (Key("x" * (TEXT_LIMIT + 1)), PLAIN, None),
    ],
)
def test_key_when_pressed_then_it_sends_what_xterm_sends(key: Key, modes: Modes, sent: bytes | None) -> None:
    assert key_bytes(key, modes) == sent


@given(st.text(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_key_when_it_is_any_text_then_it_never_sends_a_control_but_its_own(
    name: str, ctrl: bool, alt: bool, shift: bool, application: bool
) -> None:
    sent = key_bytes(Key(name, ctrl, alt, shift), Modes(application_cursor=application))
    if sent is not None and not ctrl and name not in NAMED:
        assert sent == (b"\x1b" if alt else b"") + name.encode()
        assert name.isprintable()


CLICKS, DRAGS, MOVES, PRESSES = (Modes(mouse=mode, mouse_format=1006) for mode in (1000, 1002, 1003, 9))


@pytest.mark.parametrize(
    ("mouse", "modes", "sent"),
    [
        (Mouse("press", 0, 0), CLICKS, b"\x1b[<0;1;1M"),
        (Mouse("release", 0, 0), CLICKS, b"\x1b[<0;1;1m"),
        (Mouse("press", 299, 99, "right"), CLICKS, b"\x1b[<2;300;100M"),
        (Mouse("press", 4, 2, "up"), CLICKS, b"\x1b[<64;5;3M"),
        (Mouse("press", 4, 2, "down", ctrl=True), CLICKS, b"\x1b[<81;5;3M"),
        (Mouse("press", 4, 2, "middle", alt=True, shift=True), CLICKS, b"\x1b[<13;5;3M"),
        (Mouse("release", 4, 2, "up"), CLICKS, b""),
        (Mouse("move", 4, 2, "left"), CLICKS, b""),
        (Mouse("move", 4, 2, "left"), DRAGS, b"\x1b[<32;5;3M"),
        (Mouse("move", 4, 2, "none"), DRAGS, b""),
        (Mouse("move", 4, 2, "none"), MOVES, b"\x1b[<35;5;3M"),
        (Mouse("press", 4, 2, ctrl=True), PRESSES, b"\x1b[<0;5;3M"),
        (Mouse("release", 4, 2), PRESSES, b""),
        (Mouse("press", 4, 2), Modes(mouse=1000), b"\x1b[M \x25\x23"),
        (Mouse("release", 4, 2), Modes(mouse=1000), b"\x1b[M#\x25\x23"),
        (Mouse("press", 222, 0), Modes(mouse=1000), b"\x1b[M \xff!"),
        (Mouse("press", 223, 0), Modes(mouse=1000), b""),
        (Mouse("press", 223, 0), Modes(mouse=1000, mouse_format=1005), "\x1b[M \u0100!".encode()),
        (Mouse("press", 2015, 0), Modes(mouse=1000, mouse_format=1005), b""),
        (Mouse("press", 4, 2), Modes(mouse=1000, mouse_format=1015), b"\x1b[32;5;3M"),
        (Mouse("press", 4, 2), PLAIN, b""),
        (Mouse("press", 4, 2, "up"), PLAIN, b""),
        (Mouse("press", 4, 2, "up"), Modes(alternate=True), b"\x1b[A" * 3),
        (Mouse("press", 4, 2, "down"), Modes(alternate=True, application_cursor=True), b"\x1bOB" * 3),
        (Mouse("press", 4, 2, "left"), Modes(alternate=True), b""),
    ],
)
def test_mouse_when_used_then_it_sends_what_was_asked_for(mouse: Mouse, modes: Modes, sent: bytes) -> None:
    assert mouse_bytes(mouse, modes) == sent


BRACKETED = Modes(bracketed_paste=True)


@pytest.mark.parametrize(
    ("text", "modes", "sent"),
    [
        ("two\nlines", PLAIN, b"two\rlines"),
        ("two\r\nlines\tand a tab", BRACKETED, b"\x1b[200~two\rlines\tand a tab\x1b[201~"),
        ("out\x1b[201~rm -rf", BRACKETED, b"\x1b[200~outrm -rf\x1b[201~"),
        ("out\x1b[20\x1b[201~1~rm", BRACKETED, b"\x1b[200~outrm\x1b[201~"),
        ("out\x9b201~rm", BRACKETED, b"\x1b[200~outrm\x1b[201~"),
        ("a\x03b\x1b[Ac\x7fd\x9be", PLAIN, b"ab[Acde"),
        ("", PLAIN, b""),
        ("e\u0301 👩‍💻 \ud800", PLAIN, "e\u0301 👩‍💻 ?".encode()),
    ],
)
def test_paste_when_it_comes_then_it_is_text_alone(text: str, modes: Modes, sent: bytes) -> None:
    assert paste_bytes(text, modes) == sent


@given(st.text(alphabet="\x1b[]201~\x9b\n\ra") | st.text())
def test_paste_when_it_is_any_text_then_it_holds_one_end_and_no_key(text: str) -> None:
    sent = paste_bytes(text, BRACKETED)
    assert sent.startswith(b"\x1b[200~")
    assert sent.endswith(b"\x1b[201~")
    within = sent[6:-6].decode()
    assert not set(within) & {chr(code) for code in (*range(9), *range(10, 13), *range(14, 32), *range(127, 160))}


@given(
    st.sampled_from(sorted(BUTTONS)),
    st.sampled_from(["press", "release", "move"]),
    st.integers(0, 3000),
    st.integers(0, 3000),
    st.sampled_from([0, 9, 1000, 1002, 1003]),
    st.sampled_from([0, 1005, 1006, 1015]),
)
def test_mouse_when_it_is_anywhere_then_it_sends_one_report_or_none(
    button: str, what: str, column: int, line: int, mode: int, form: int
) -> None:
    sent = mouse_bytes(Mouse(what, column, line, button), Modes(mouse=mode, mouse_format=form))
    assert sent.count(b"\x1b") <= 1
