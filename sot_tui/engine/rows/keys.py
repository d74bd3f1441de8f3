"""Keys, mouse and pastes as the bytes that a terminal sends for them; pure.

What is sent is what xterm sends, by the modes that the program has set (xterm ctlseqs). The terminal model offers no
newer keyboard protocol, so none is spoken: Shift+Enter, which has no bytes of its own, is sent as Alt+Enter, which the
agents take as a line break. A paste can never end its own brackets, nor press a key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sot_tui.engine.rows.values import Key, Modes, Mouse

_LETTERED = {"up": "A", "down": "B", "right": "C", "left": "D", "end": "F", "home": "H"}
"""Keys that are `CSI letter`, and `SS3 letter` in application cursor mode."""
_FUNCTION = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
"""Keys that are `SS3 letter`."""
_NUMBERED = {
    "insert": 2, "delete": 3, "pageup": 5, "pagedown": 6,
    "f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20, "f10": 21, "f11": 23, "f12": 24,
    "f13": 25, "f14": 26, "f15": 28, "f16": 29, "f17": 31, "f18": 32, "f19": 33, "f20": 34,
}  # fmt: skip
"""Keys that are `CSI number ~`."""
_PLAIN = {"enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f", "space": " "}
"""Keys that are one character."""

NAMED = frozenset({*_LETTERED, *_FUNCTION, *_NUMBERED, *_PLAIN})
"""Every key that has a name; any other is the text that it gives."""

TEXT_LIMIT = 64
"""Characters of a key's text: one sign with what joins it."""

_CONTROLS = {chr(code + 0x40): chr(code) for code in range(0x20)}
_CONTROLS |= dict(zip("2345678/ ", "\x00\x1b\x1c\x1d\x1e\x1f\x7f\x1f\x00", strict=True)) | {"?": "\x7f"}
"""What Ctrl makes of a character, by its upper case; of any other it makes nothing."""

_BUTTONS = {
    "left": 0, "middle": 1, "right": 2, "none": 3, "up": 64, "down": 65, "wheel-left": 66, "wheel-right": 67,
}  # fmt: skip
BUTTONS = frozenset(_BUTTONS)
"""What a mouse's button may be called."""
ACTS = frozenset({"press", "release", "move"})
"""What a mouse may do."""

_RELEASED, _MOTION, _WHEEL = 3, 32, 64
_SHIFT, _ALT, _CTRL = 4, 8, 16
_LEGACY_LAST, _UTF8_LAST = 222, 2014
"""The last column and line that one byte, or two of UTF-8, can say, from 0."""
WHEEL_LINES = 3
"""Arrow keys for one step of a wheel on the alternate screen, as in most terminals."""

_PASTE_BEGIN, _PASTE_END = "\x1b[200~", "\x1b[201~"
_ENDS = re.compile("(?:\x1b\\[|\x9b)201~")
_UNTYPED = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\r"}
"""What no paste may hold: a key press in disguise."""


def key_bytes(key: Key, modes: Modes) -> bytes | None:
    """Return what a key sends, or None when there is no such key."""
    if key.name in _LETTERED or key.name in _FUNCTION:
        return _lettered(key, modes).encode()
    if key.name in _NUMBERED:
        modifiers = _modifiers(key)
        return f"\x1b[{_NUMBERED[key.name]}{f';{modifiers}' if modifiers > 1 else ''}~".encode()
    if key.name not in _PLAIN and (not key.name.isprintable() or not 0 < len(key.name) <= TEXT_LIMIT):
        return None
    text = _PLAIN.get(key.name, key.name)
    if key.name == "enter":
        text = "\r\n" if modes.newline else text
    elif key.name == "tab" and key.shift:
        text = "\x1b[Z"
    elif key.name == "backspace" and key.ctrl:
        text = "\b"
    elif key.ctrl:
        text = _CONTROLS.get(text.upper(), text)
    return ("\x1b" if key.alt or (key.name == "enter" and key.shift) else "").encode() + text.encode("utf-8", "replace")


def mouse_bytes(mouse: Mouse, modes: Modes) -> bytes:
    """Return what a mouse sends: nothing, where the program has not asked for that, or cannot be told of the place."""
    if not modes.mouse:
        return _scrolled(mouse, modes)
    if not _is_wanted(mouse, modes.mouse):
        return b""
    code = _BUTTONS[mouse.button]
    if mouse.what == "release" and modes.mouse_format != 1006 and code < _WHEEL:
        code = _RELEASED
    code += _MOTION if mouse.what == "move" else 0
    if modes.mouse != 9:
        code += _SHIFT * mouse.shift + _ALT * mouse.alt + _CTRL * mouse.ctrl
    column, line = mouse.column + 1, mouse.line + 1
    match modes.mouse_format:
        case 1006:
            return f"\x1b[<{code};{column};{line}{'m' if mouse.what == 'release' else 'M'}".encode()
        case 1015:
            return f"\x1b[{code + 32};{column};{line}M".encode()
        case form:
            if max(mouse.column, mouse.line) > (_UTF8_LAST if form == 1005 else _LEGACY_LAST):
                return b""
            text = f"\x1b[M{chr(code + 32)}{chr(column + 32)}{chr(line + 32)}"
            return text.encode("utf-8" if form == 1005 else "latin-1")


def paste_bytes(text: str, modes: Modes) -> bytes:
    """Return what a paste sends: its text, marked at both ends where the program asked for that."""
    begin, end = paste_marks(modes)
    return begin + pasted(text) + end


def paste_marks(modes: Modes) -> tuple[bytes, bytes]:
    """Return what stands before and behind a paste: nothing, where the program did not ask for that."""
    return (_PASTE_BEGIN.encode(), _PASTE_END.encode()) if modes.bracketed_paste else (b"", b"")


def pasted(text: str) -> bytes:
    """Return the text of a paste, or of a part of it, as it is sent.

    A line break is what Enter sends. The mark of the end is taken out of the text until none is left, and with it every
    other control character but tabs: in a paste they would be keys that nobody pressed.
    """
    while _ENDS.search(text):
        text = _ENDS.sub("", text)
    return text.replace("\r\n", "\r").replace("\n", "\r").translate(_UNTYPED).encode("utf-8", "replace")


def _modifiers(key: Key) -> int:
    return 1 + key.shift + 2 * key.alt + 4 * key.ctrl


def _lettered(key: Key, modes: Modes) -> str:
    letter = _LETTERED.get(key.name) or _FUNCTION[key.name]
    modifiers = _modifiers(key)
    if modifiers > 1:
        return f"\x1b[1;{modifiers}{letter}"
    return f"\x1b{'O' if key.name in _FUNCTION or modes.application_cursor else '['}{letter}"


def _is_wanted(mouse: Mouse, mode: int) -> bool:
    if mouse.what == "press":
        return True
    if mouse.what == "release":
        return mode != 9 and _BUTTONS[mouse.button] < _WHEEL
    return mode == 1003 or (mode == 1002 and mouse.button != "none")


def _scrolled(mouse: Mouse, modes: Modes) -> bytes:
    """Return the arrow keys of a wheel that no program takes, where a pager is likely to be."""
    if not modes.alternate or mouse.what != "press" or mouse.button not in {"up", "down"}:
        return b""
    introducer = b"\x1bO" if modes.application_cursor else b"\x1b["
    return (introducer + (b"A" if mouse.button == "up" else b"B")) * WHEEL_LINES
