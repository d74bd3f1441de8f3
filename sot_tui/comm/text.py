"""Foreign text made fit to be shown.

Any file, socket, screen or variable can hold control bytes, direction overrides and ten thousand characters. Whatever
a person is shown passes through here first: nothing in it can act on a terminal, and its length has a bound. What is
written to a pipe or to a file is the contract's bytes and does not pass through here.
"""

from __future__ import annotations

import sys

from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIGNS: dict[int, int] = {code: 0x2400 + code for code in range(0x20)}
_SIGNS[0x7F] = 0x2421
_SIGNS.update(dict.fromkeys(range(0x80, 0xA0), 0xFFFD))
# Direction marks, embeddings, overrides and isolates, and the separators that some terminals take for a line end.
_SIGNS.update(
    dict.fromkeys(
        (0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF), 0xFFFD
    )
)
# Tag characters and interlinear marks are drawn by nobody and can hide text.
_SIGNS.update(dict.fromkeys((*range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080)), 0xFFFD))
_SIGNS.update(dict.fromkeys(range(0xD800, 0xE000), 0xFFFD))

_LINES = dict(_SIGNS)
del _LINES[0x0A]
_LINES[0x09] = 0x20
_LINE = {**_SIGNS, 0x09: 0x20}

INDENT = "    "
"""What stands before each further line of an entry on a terminal; an entry's first line has none."""

ACTING = frozenset(_SIGNS)
"""The code points that may act on a terminal, or hide or turn text: none of them is ever shown as it is."""
LINE_LIMIT = 2000
"""Characters of one foreign line that are ever shown; no screen is wider and no summary needs more."""


def visible(text: str, limit: int = LINE_LIMIT) -> str:
    """Return `text` as one line in which every control, surrogate and direction override is a visible, inert sign.

    Newlines and tabs become signs too. More than `limit` characters are cut and end in an ellipsis.
    """
    cut = text if len(text) <= limit else text[: max(0, limit - 1)] + "…"
    return cut.translate(_SIGNS)


def visible_lines(text: str, limit: int = LINE_LIMIT) -> str:
    """Return `text` with its line breaks kept, tabs as blanks, and every line as `visible` would show it."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(visible(line.replace("\t", "    "), limit) for line in lines)


def speaks_utf8(environ: Mapping[str, str]) -> bool:
    """Tell whether the locale that the variables name is UTF-8, so that a terminal shows more signs than ASCII's.

    An interpreter that finds no locale but C reads UTF-8 all the same, and puts that into LC_CTYPE itself: what stands
    there then is not what the terminal was told.
    """
    own = bool(sys.flags.utf8_mode)
    said = environ.get("LC_ALL") or ("" if own else environ.get("LC_CTYPE")) or environ.get("LANG", "")
    return "utf8" in said.lower().replace("-", "")


def printable(text: str) -> str:
    """Return what a command writes to stdout: `text` as it is for a pipe, made visible for a terminal.

    The contract's bytes go to programs; a person's terminal never gets a foreign control byte.
    """
    return _unbounded(text) if _is_terminal(1) else text


def printable_line(text: str) -> str:
    """Return one line of stdout by the rule of `printable`; on a terminal it stays one, whatever the text holds."""
    return text.translate(_LINE) if _is_terminal(1) else text


def printable_entry(text: str) -> str:
    """Return one entry of stdout, with its newline, by the rule of `printable`.

    On a terminal its further lines are indented: none of them can be taken for the head of another entry.
    """
    if not _is_terminal(1):
        return text
    return _unbounded(text.removesuffix("\n")).replace("\n", f"\n{INDENT}") + "\n"


def printable_error(text: str) -> str:
    """Return what a command writes to stderr, by the rule of `printable`."""
    return _unbounded(text) if _is_terminal(2) else text


def _unbounded(text: str) -> str:
    return text.translate(_LINES)


def _is_terminal(descriptor: int) -> bool:
    stream = sys.stdout if descriptor == 1 else sys.stderr
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError):
        return False
