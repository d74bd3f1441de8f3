"""What a selection of attributes (SGR) makes of a look: a pure function of the two.

Semicolons and colons both part a colour's numbers, and only colons the kind of an underline. What is unknown or out of
range is passed over with its own numbers and nothing else; a colour that lacks its numbers ends the selection.
"""

from __future__ import annotations

from sot_tui.wake.cells import COLORS, NAMED, PLAIN, Look

FG, BG, BOLD, DIM, ITALIC, UNDERLINE, UNDERLINE_COLOR, BLINK, REVERSE, HIDDEN, STRIKE, OVERLINE = range(12)
"""The places of a look."""

_SET: dict[int, tuple[tuple[int, str | bool | int], ...]] = {
    1: ((BOLD, True),),
    2: ((DIM, True),),
    3: ((ITALIC, True),),
    4: ((UNDERLINE, 1),),
    5: ((BLINK, True),),
    6: ((BLINK, True),),
    7: ((REVERSE, True),),
    8: ((HIDDEN, True),),
    9: ((STRIKE, True),),
    21: ((UNDERLINE, 2),),
    22: ((BOLD, False), (DIM, False)),
    23: ((ITALIC, False),),
    24: ((UNDERLINE, 0),),
    25: ((BLINK, False),),
    27: ((REVERSE, False),),
    28: ((HIDDEN, False),),
    29: ((STRIKE, False),),
    39: ((FG, "default"),),
    49: ((BG, "default"),),
    53: ((OVERLINE, True),),
    55: ((OVERLINE, False),),
    59: ((UNDERLINE_COLOR, "default"),),
    **{30 + number: ((FG, NAMED[number]),) for number in range(8)},
    **{40 + number: ((BG, NAMED[number]),) for number in range(8)},
    **{90 + number: ((FG, NAMED[8 + number]),) for number in range(8)},
    **{100 + number: ((BG, NAMED[8 + number]),) for number in range(8)},
}
"""What each number sets, where it needs no other."""
_COLORED = {38: FG, 48: BG, 58: UNDERLINE_COLOR}
"""What is coloured by the numbers that follow."""
_UNDERLINES = 5
"""The last kind of underline."""


def turned(look: Look, params: str) -> Look:
    """Return a look after a selection of attributes."""
    fields: list[str | bool | int] = list(look)
    parts = iter(params.split(";"))
    for part in parts:
        if ":" in part:
            _set_by_colons(fields, part.split(":"))
            continue
        number = _number(part)
        if number == 0:
            fields = list(PLAIN)
        elif number in _COLORED:
            kind = _number(next(parts, ""))
            if kind == 5:
                color = _indexed(next(parts, "-"))
            elif kind == 2:
                color = _mixed([next(parts, "-") for _ in range(3)])
            else:
                break  # how many of the numbers belong to it cannot be known
            if color:
                fields[_COLORED[number]] = color
        else:
            for place, value in _SET.get(number, ()):
                fields[place] = value
    return tuple(fields)  # type: ignore[return-value]  # each place keeps its type


def _set_by_colons(fields: list[str | bool | int], parts: list[str]) -> None:
    number = _number(parts[0])
    if number == 4 and len(parts) == 2 and _number(parts[1]) <= _UNDERLINES:
        fields[UNDERLINE] = _number(parts[1])
    elif number in _COLORED:
        kind = _number(parts[1])
        color = ""
        if kind == 5 and len(parts) > 2:
            color = _indexed(parts[2])
        elif kind == 2 and len(parts) >= 5:
            # With six parts the third names a colour space.
            color = _mixed(parts[3:6] if len(parts) > 5 else parts[2:5])
        if color:
            fields[_COLORED[number]] = color


def _number(part: str) -> int:
    """Return a parameter's number: 0 for none."""
    return int(part) if part.isdecimal() else 0


def _indexed(part: str) -> str:
    """Return the colour of a number, or nothing."""
    if part == "-":
        return ""
    number = _number(part)
    return COLORS[number] if number < len(COLORS) else ""


def _mixed(parts: list[str]) -> str:
    """Return the colour of red, green and blue, or nothing."""
    if "-" in parts:
        return ""
    levels = [_number(part) for part in parts]
    return "".join([f"{level:02x}" for level in levels]) if max(levels) < 256 else ""
