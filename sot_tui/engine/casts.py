"""`sot-tui screen`: replay a recording through the very code that watches a live row, and say what it makes of it.

For whoever adds a recording of a screen, or asks why a row was woken or not. It reads one file and writes nothing. It
stands beside the verbs because it loads the terminal model, which no verb of a session may.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.text import visible
from sot_tui.wake import prompt, replay

if TYPE_CHECKING:
    from sot_tui.wake.replay import Event, Moment

USAGE = """\
Examples:
  sot-tui screen FILE.cast               what the screen shows at the end, and what the wake does there
  sot-tui screen FILE.cast --at 4.2      the same 4.2 seconds into the recording
  sot-tui screen FILE.cast --json        the same for a program (docs/json.md)
  sot-tui screen FILE.cast --every       one JSON line for each event, and one for the end

Usage: sot-tui screen FILE.cast [--json] [--at SECONDS | --every]
"""

_SIZES = range(1, 1001)


class NoCast(SotError):
    """The file is no recording."""


def main(argv: list[str]) -> int:
    """Replay a recording; the exit code is 0, 1 (no readable recording) or 2 (usage)."""
    if {"-h", "--help"} & set(argv):
        sys.stdout.write(USAGE)
        return Exit.OK
    words = list(argv)
    as_json, every = _taken(words, "--json"), _taken(words, "--every")
    at: float | None = None
    try:
        if "--at" in words:
            place = words.index("--at")
            at = float(words[place + 1])
            del words[place : place + 2]
    except (IndexError, ValueError):
        return _misused("--at wants a number of seconds")
    if len(words) != 1 or words[0].startswith("-"):
        return _misused("one recording is needed" if len(words) != 1 else f"unknown option {words[0]}")
    if every and at is not None:
        return _misused("--at and --every exclude each other")
    columns, lines, events = read(words[0])
    if every:
        last = None
        for last in replay.moments(columns, lines, events):
            _print_json(last)
        if last is not None:
            _print_json(last)
        return Exit.OK
    moment = moment_at(columns, lines, events, at)
    if as_json:
        _print_json(moment)
    else:
        sys.stdout.write(_for_a_person(moment))
    return Exit.OK


def read(path: str) -> tuple[int, int, list[Event]]:
    """Return the size and the events of a recording; raise NoCast for what is none."""
    try:
        with open(path, encoding="utf-8") as file:
            head = json.loads(file.readline())
            events = [_event(json.loads(line)) for line in file if line.strip()]
        columns, lines = int(head["width"]), int(head["height"])
    except OSError as error:
        raise NoCast(f"{path}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError) as error:
        raise NoCast(f"{path} is no recording: {error}") from error
    if columns not in _SIZES or lines not in _SIZES:
        raise NoCast(f"{path} is no recording: a size of {columns}x{lines}")
    return columns, lines, events


def moment_at(columns: int, lines: int, events: list[Event], at: float | None) -> Moment:
    """Return a moment of a recording, its last one where none is named."""
    told = replay.Replay(columns, lines)
    end = 0.0
    for event in events:
        if at is not None and event[0] > at:
            break
        told.take(event)
        end = event[0]
    return told.look(end if at is None else at)


def _event(said: object) -> Event:
    if not isinstance(said, list) or len(said) < 3:
        raise ValueError("an event is no list of seconds, kind and data")
    return float(said[0]), str(said[1]), str(said[2])


def _taken(words: list[str], option: str) -> bool:
    """Tell whether an option stands among the words, and take it out."""
    there = option in words
    while option in words:
        words.remove(option)
    return there


def _misused(why: str) -> int:
    sys.stderr.write(f"sot-tui screen: {why}\n{USAGE}")
    return Exit.USAGE


def _print_json(moment: Moment) -> None:
    sys.stdout.write(json.dumps(replay.told(moment), ensure_ascii=False) + "\n")


def _for_a_person(moment: Moment) -> str:
    told = replay.told(moment)
    dialog = f"{told['dialog']}: {told['dialog_line']}" if told["dialog"] else "none"
    rows = {
        "at": f"{moment.at:g} s",
        "prompt": told["prompt"],
        "reason": told["reason"] or "nothing is against it",
        "dialog": dialog,
        "wake": told["wake"],
        "cursor": f"row {moment.screen.cursor_y}, column {moment.screen.cursor_x}",
    }
    lines = [f"{name:<7} {visible(str(said))}" for name, said in rows.items()]
    shown = [f"{row:>4} │{visible(line)}" for row, line in enumerate(prompt.text_of(moment.screen))]
    return "\n".join([*lines, "", *shown]) + "\n"
