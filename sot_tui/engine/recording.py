"""`sot-tui record`: make a scrubbed recording of a row's screen, or of a program's, for the tests of the wake.

A row's capsule records what its agent writes anyway; that is taken as it stands, with the moment of asking as its end.
A program runs in a terminal of its own below this one. Names of the person, of the host and of the home folder become
placeholders of the same length, so that columns stay where they are; whoever commits the file reads it first. It
writes one new file, and types nothing into any row.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from sot_tui.comm import names, paths, registry
from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.home import home_here
from sot_tui.comm.registry_text import Registry
from sot_tui.engine import casts
from sot_tui.engine.rows import voyage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.wake.replay import Event

USAGE = """\
Examples:
  sot-tui record @Docs-box FILE.cast          what the row's agent has shown so far, up to now
  sot-tui record FILE.cast -- claude          run a program here, and record it until it ends
  sot-tui record FILE.cast --scrub acme -- claude
                                              replace one more word

Usage: sot-tui record @HANDLE FILE.cast [--scrub WORD]...
       sot-tui record FILE.cast [--scrub WORD]... -- PROGRAM [WORDS...]

Read the file before you share it: it holds all that was on the screen.
"""

_FILLER = "demosample"
"""What a placeholder is made of."""
_SHORTEST = 3
"""Characters of a word that is replaced; a shorter one stands in every other."""
_SECRETS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+|\b(?:sk|ghp|gho|xox[bp])[-_][\w-]{8,}")
"""What is replaced wherever it stands: mail addresses, and the keys of well-known services."""


class NotRecorded(SotError):
    """There is nothing to record, or nowhere to put it."""


class _Cast(NamedTuple):
    """A recording that is to be written."""

    columns: int
    lines: int
    events: list[Event]


def main(argv: list[str]) -> int:
    """Make a recording; the exit code is 0, 1 (nothing was recorded) or 2 (usage)."""
    words, program = list(argv), []
    if "--" in words:
        place = words.index("--")
        words, program = words[:place], words[place + 1 :]
    if {"-h", "--help"} & set(words):
        sys.stdout.write(USAGE)
        return Exit.OK
    more = []
    while "--scrub" in words[:-1]:
        place = words.index("--scrub")
        more.append(words[place + 1])
        del words[place : place + 2]
    of_a_row = not program and len(words) == 2 and words[0].startswith("@")
    if (not of_a_row and not (program and len(words) == 1)) or any(word.startswith("-") for word in words):
        sys.stderr.write(f"sot-tui record: a handle and a file, or a file and a program, are needed\n{USAGE}")
        return Exit.USAGE
    home = home_here()
    file = words[-1]
    if os.path.lexists(file):
        raise NotRecorded(f"{file} is there already; nothing was recorded")
    cast = _of_row(home, words[0][1:]) if of_a_row else _of_program(program)
    write(file, cast.columns, cast.lines, scrubbed(cast.events, [*_own_names(home, os.environ), *more]))
    sys.stderr.write(f"{file}: {len(cast.events)} events. Read it before you share it.\n")
    return Exit.OK


def scrubbed(events: Iterable[Event], words: Iterable[str]) -> list[Event]:
    """Return events in which each word is a placeholder of its length, also where two events share it between them."""
    found = list(events)
    wanted = sorted({word for word in words if len(word) >= _SHORTEST}, key=len, reverse=True)
    pattern = re.compile("|".join([*map(re.escape, wanted), _SECRETS.pattern]), re.IGNORECASE)
    after: dict[int, str] = {}
    for kind in ("o", "i"):
        of_kind = [(place, data) for place, (_, one, data) in enumerate(found) if one == kind]
        text = pattern.sub(lambda match: _placeholder(match[0]), "".join(data for _, data in of_kind))
        start = 0
        for place, data in of_kind:
            after[place] = text[start : start + len(data)]
            start += len(data)
    return [(at, kind, after.get(place, data)) for place, (at, kind, data) in enumerate(found)]


def write(file: str, columns: int, lines: int, events: list[Event]) -> None:
    """Write a recording, with its end marked, into a file that is not there yet."""
    end = events[-1][0] if events else 0.0
    head = {"version": 2, "width": columns, "height": lines, "duration": round(end, 3)}
    whole = [head, *([round(at, 3), kind, data] for at, kind, data in events), [round(end, 3), "m", "end"]]
    try:
        with open(file, "x", encoding="utf-8") as out:
            out.writelines(json.dumps(line, ensure_ascii=True) + "\n" for line in whole)
    except OSError as error:
        raise NotRecorded(f"{file} could not be written: {error.strerror}") from error


def _placeholder(word: str) -> str:
    return (_FILLER * (len(word) // len(_FILLER) + 1))[: len(word)]


def _own_names(home: Home, environ: Mapping[str, str]) -> list[str]:
    """Return the names by which a person or a machine could be known."""
    found = [environ.get("USER", ""), environ.get("LOGNAME", ""), *environ.get("HOME", "").split("/")]
    with suppress(SotError):
        found += [names.declared_host(environ, home.procs), names.raw_host(environ, home.procs)]
    return [word for word in found if word and word not in {"home", "Users", "root", "tmp"}]


def _of_row(home: Home, handle: str) -> _Cast:
    """Return what a row's capsule has recorded of its run."""
    book = registry.read(home)
    entry = book.entry(handle) if isinstance(book, Registry) else None
    row = entry.get("workspace_id") if entry else None
    if not isinstance(row, str) or not names.is_file_safe(row):
        raise NotRecorded(f"no row of this box holds @{handle}; nothing was recorded")
    folder = paths.row_folder(os.environ, row)
    run = voyage.pointer(home.disk, folder)
    if not run:
        raise NotRecorded(f"the row of @{handle} has never run; nothing was recorded")
    columns, lines, events = casts.read(voyage.cast_file(folder, run))
    if events and not any("\x1b[2J" in data or "\x1bc" in data for _, kind, data in events if kind == "o"):
        sys.stderr.write("note: the recording begins in the middle of the run; its first screen may not be whole\n")
    # What the clock of the file says of now is not known; that nothing more came for a moment, is.
    end = events[-1][0] if events else 0.0
    return _Cast(columns, lines, [*events, (end + _quiet_secs(voyage.cast_file(folder, run)), "m", "asked")])


def _quiet_secs(path: str) -> float:
    with suppress(OSError):
        return max(0.0, time.time() - os.stat(path).st_mtime)
    return 0.0


def _of_program(words: list[str]) -> _Cast:
    """Run a program in a terminal as large as this one, pass keys on to it, and return all that went either way."""
    import pexpect  # noqa: PLC0415  (nobody else needs it)

    columns, lines = os.get_terminal_size(1) if os.isatty(1) else (80, 24)
    began = time.monotonic()
    events: list[Event] = []
    decode = {kind: codecs.getincrementaldecoder("utf-8")("replace").decode for kind in ("o", "i")}

    def note(kind: str, data: bytes) -> bytes:
        events.append((time.monotonic() - began, kind, decode[kind](data)))
        return data

    try:
        # Its stubs say str; without an encoding all of it is bytes.
        child: Any = pexpect.spawn(words[0], words[1:], dimensions=(lines, columns), timeout=None)
    except pexpect.ExceptionPexpect as error:
        raise NotRecorded(f"{words[0]} could not be run; nothing was recorded") from error
    if os.isatty(0):
        child.interact(
            escape_character=None,
            output_filter=lambda data: note("o", data),
            input_filter=lambda data: note("i", data),
        )
    else:
        with suppress(pexpect.EOF, KeyboardInterrupt):
            while True:
                note("o", child.read_nonblocking(65536))
    child.close()
    return _Cast(columns, lines, [*events, (time.monotonic() - began, "m", "ended")])
