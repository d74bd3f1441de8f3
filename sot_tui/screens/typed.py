"""The keys of a person as values for a row's agent: from what their terminal sends, or from Textual's name for it.

Textual names keys for its own bindings, and some of them get lost on that way: Alt+Enter is Enter to it, Alt+F is
Ctrl+Right. A row is to get the key that was pressed, so what a terminal sends for it is read here once more, by the
tables of xterm; what is not known here, as the newer keyboard protocol, goes by Textual's name. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from textual.keys import KEY_NAME_REPLACEMENTS, key_to_character

from sot_tui.engine.client import Key

_LETTERS = {
    "A": "up", "B": "down", "C": "right", "D": "left", "F": "end", "H": "home",
    "P": "f1", "Q": "f2", "R": "f3", "S": "f4",
}  # fmt: skip
_NUMBERS = {
    1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end",
    **{number: f"f{at}" for at, number in enumerate(
        (11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34), 1
    )},
}  # fmt: skip
_CONTROLS = {
    "\r": Key("enter"), "\t": Key("tab"), "\x1b": Key("escape"), "\x7f": Key("backspace"), " ": Key("space"),
    "\x00": Key("space", ctrl=True), "\b": Key("backspace", ctrl=True),
}  # fmt: skip
"""What a single character is that is no text; any other control is Ctrl and its letter."""
_NAMED = frozenset({*_LETTERS.values(), *_NUMBERS.values(), *(key.name for key in _CONTROLS.values())})
_FULL_NAMES = {short: full for full, short in KEY_NAME_REPLACEMENTS.items()}
"""The whole name that Unicode has for a sign, for each that Textual gives a shorter one."""
_KEY = re.compile(
    r"\x1b(?:\[1;(?P<of_letter>\d+)|\[|O(?P<of_function>\d)?)(?P<letter>[ABCDFHPQRS])"
    r"|\x1b\[(?P<number>\d+)(?:;(?P<of_number>\d+))?~"
    r"|\x1b\[27;(?P<of_code>\d+);(?P<code>\d+)~"
    r"|\x1b\[\[(?P<console>[A-E])"
)
_SHIFT, _ALT, _CTRL = 1, 2, 4
_TOLD = _SHIFT | _ALT | _CTRL
_LOCKS = 64 | 128
"""Caps lock and num lock, which change no key."""


def key_of(sequence: str, *, whole: bool = False) -> Key | None:
    """Return the key for which a terminal sends a sequence, None when that is not known here.

    `whole` says that nothing more comes: then Alt and the first sign of longer sequences is a key too.
    """
    if len(sequence) == 1:
        return _single(sequence)
    if len(sequence) == 2 and sequence[0] == "\x1b" and (whole or sequence[1] not in "[O"):
        key = _single(sequence[1])
        return None if key is None else key._replace(alt=True)
    if sequence == "\x1b[Z":
        return Key("tab", shift=True)
    found = _KEY.fullmatch(sequence)
    if found is None:
        return None
    parts = found.groupdict()
    modifiers = next((parts[name] for name in ("of_letter", "of_function", "of_number", "of_code") if parts[name]), "1")
    if parts["letter"]:
        name = _LETTERS[parts["letter"]]
    elif parts["console"]:
        name = f"f{ord(parts['console']) - ord('A') + 1}"
    elif parts["code"]:
        key = _single(chr(min(int(parts["code"]), 0x10FFFF)))
        return None if key is None else _with(key, int(modifiers))
    else:
        name = _NUMBERS.get(int(parts["number"]), "")
    return _with(Key(name), int(modifiers)) if name else None


def _single(char: str) -> Key | None:
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char < " ":
        return Key(chr(ord(char) + 0x40).lower(), ctrl=True)
    return Key(char) if char.isprintable() else None


def _with(key: Key, said: int) -> Key | None:
    """Return a key with the modifiers of a sequence; None for those that no agent can be told of."""
    bits = (max(1, said) - 1) & ~_LOCKS
    if bits & ~_TOLD:
        return None
    return _plain(Key(key.name, key.ctrl or bool(bits & _CTRL), key.alt or bool(bits & _ALT), bool(bits & _SHIFT)))


def _plain(key: Key) -> Key:
    """Return a key whose Shift is in its text, where it is one."""
    if key.name in _NAMED or not key.shift:
        return key
    upper = key.name.upper()
    return key._replace(name=upper if len(upper) == 1 else key.name, shift=False)


def name_of(key: Key) -> str:
    """Return the name by which a key goes through Textual; `named` makes the key of it again."""
    modifiers = (("alt", key.alt), ("ctrl", key.ctrl), ("shift", key.shift))
    return "+".join([*(name for name, is_held in modifiers if is_held), key.name])


@lru_cache(1024)
def named(name: str, character: str | None) -> Key | None:
    """Return the key that Textual names so; None for one that no agent can be told of."""
    head, sign = (name[:-2], "+") if name.endswith("++") or name == "+" else ("", "")
    if not sign:
        head, _, sign = name.rpartition("+")
    held = frozenset(head.split("+")) if head else frozenset()
    if not held <= {"alt", "ctrl", "shift"}:
        return None
    if sign == "backspace" and character == "\b":
        return _CONTROLS["\b"]
    if not held and character is not None and character.isprintable() and character != " ":
        return Key(character)
    if sign not in _NAMED:
        sign = sign if len(sign) == 1 else key_to_character(_FULL_NAMES.get(sign, sign)) or ""
        if not sign.isprintable() or not sign:
            return None
    return _plain(Key(sign, "ctrl" in held, "alt" in held, "shift" in held))
