"""What the verbs share: how they speak, what they are asked, and the comm home and identity they act by.

stdout is data and stderr is narration (contract, the one result). Both are written straight to their descriptors; a
pipe gets the bytes as they are, a terminal gets foreign text made visible. A verb decides nothing that a rule decides:
it prints the sentence that the rule gave.
"""

from __future__ import annotations

import os

from sot_tui.comm import identity
from sot_tui.comm.errors import Exit, Unheard
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.text import printable, printable_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context

OUT, ERR = 1, 2
_BREAK = "\u240a"
"""What stands for a line break inside a sentence."""


def say(text: str | bytes) -> None:
    """Write data to stdout; raises Unheard when it cannot all be written."""
    told = text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")
    try:
        _write(OUT, printable(told))
    except OSError as error:
        gone = isinstance(error, BrokenPipeError)
        raise Unheard(f"the output could not be written: {error.strerror}", quiet=gone) from error


def answer(line: str) -> None:
    """Write the line that says how an action ended; the action stands whether or not anybody reads it."""
    try:
        say(line + "\n")
    except Unheard:
        return


def say_json(value: object) -> None:
    """Write a value to stdout as one strict JSON document; raises Unheard when it cannot all be written."""
    from sot_tui.comm.jsonline import encode  # noqa: PLC0415  (only what was asked for as JSON needs it)

    say(encode(value))


def tell(*lines: str) -> None:
    """Write lines to stderr; where there is none, nobody wants to know.

    Each stays one line whatever foreign text is in it, so that none can be taken for another sentence of this program.
    """
    try:
        for line in lines:
            _write(ERR, printable_error(line).replace("\n", _BREAK) + "\n")
    except OSError:
        return


def ask(argv: list[str], usage: str) -> bool:
    """Print `usage` when the words ask for it."""
    if argv[:1] in (["-h"], ["--help"]):
        say(usage)
        return True
    return False


def misused(usage: str, why: str) -> Exit:
    """Say what is wrong with the words, and which words would do."""
    tell(why, *usage.rstrip("\n").split("\n"))
    return Exit.USAGE


def who_am_i(home: Home, *, rebind: bool = False) -> Context:
    """Return this process's identity, having said what was found out on the way."""
    here = identity.who_am_i(home, os.environ, identity.working_folder(), rebind=rebind)
    tell(*here.notes)
    return here


def named(argv: list[str], options: Iterable[str]) -> tuple[dict[str, str], list[str], str]:
    """Return the values of `--option value` and `--option=value`, the words that are no option, and what is wrong."""
    values: dict[str, str] = {}
    words: list[str] = []
    left = list(argv)
    while left:
        word = left.pop(0)
        option, sign, value = word.partition("=")
        if option in options:
            if not sign and not left:
                return values, words, f"{option} needs a value"
            values[option] = value if sign else left.pop(0)
        elif word.startswith("-") and word != "-":
            return values, words, f"unknown option {option}"
        else:
            words.append(word)
    return values, words, ""


def _write(descriptor: int, text: str) -> None:
    left = memoryview(_bytes_of(text))
    while left:
        left = left[os.write(descriptor, left) :]


def _bytes_of(text: str) -> bytes:
    """Return the bytes a text was read from; what stands for no byte (half a pair from JSON) is replaced."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        halves = dict.fromkeys((*range(0xD800, 0xDC80), *range(0xDD00, 0xE000)), 0xFFFD)
        return text.translate(halves).encode("utf-8", "surrogateescape")
