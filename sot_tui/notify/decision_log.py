"""What was decided for each event, one JSON line each, so that a person can ask why a push came or did not.

Contract, Failure semantics: "Logs contain fixed status/error categories plus validated source metadata and IDs, never
native payloads, prompt bodies, credentials, or raw errors." What was sent is there; what the user wrote never is. The
log is not waited for: when it cannot be written, delivery goes on.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from sot_tui.comm import paths
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.notify.decide import Notice
    from sot_tui.notify.event import Event

NAME = "notify-decisions.jsonl"
"""The log's name in the state folder."""
ROTATE_BYTES = 5 * 1024 * 1024
"""A log larger than this becomes the older one, of which there is one."""

NOT_SENT = " (send failed)"
"""Ends the reason of a push that the topic did not take."""
HELD_BACK = " (held back: quiet hours)"
"""Ends the reason of a push that waits for the end of the quiet hours, in a digest."""
REHEARSAL = "dry run"
"""Why nobody composed a text that nobody was to get; a completion's category alone, for no other is composed."""
DRY_RUN = "dry_run"
"""The key, named as the frame's is, that each decision of a rehearsal has: it was printed and sent to nobody."""

_EXCLUSIVE_AT_ONCE = 2 | 4
"""flock(2)'s operation, the same on Linux and macOS; the module fcntl is loaded by the seam."""


class Entry(NamedTuple):
    """One decision."""

    outcome: str
    reason: str
    urgency: str = ""
    title: str = ""
    body: str = ""
    composition_outcome: str = ""
    composition_error: str = ""
    dry_run: bool = False


def append(home: Home, base: str, event: Event, entry: Entry) -> bool:
    """Append one decision and tell whether that was possible."""
    line = _line(home, event, entry)
    path = f"{base}/{NAME}"
    try:
        paths.make_folder(home.disk, base)
        _rotate(home, path)
        descriptor = home.disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            home.disk.write(descriptor, line)
        finally:
            home.disk.close(descriptor)
    except OSError:
        return False
    return True


def append_own(home: Home, base: str, about: str, notice: Notice, came: str = "", key: str = "") -> bool:
    """Append what came of a push that no hook asked for, and tell whether that was possible."""
    from sot_tui.notify import decide, own  # noqa: PLC0415  (a hook has none of its own)

    entry = Entry(decide.SEND, own.REASONS[about] + came, notice.urgency or decide.INFO, notice.title, notice.body)
    return append(home, base, own.as_event(about, key), entry)


def _line(home: Home, event: Event, entry: Entry) -> bytes:
    fields = {
        "time": _moment(home.clock.now()),
        "session_id": event.session_id,
        "event": event.source_event,
        "harness": event.harness,
        "outcome": entry.outcome,
        "reason": entry.reason,
    }
    more = {
        "completion_id": event.completion_id,
        "urgency": entry.urgency,
        "title": entry.title,
        "body": entry.body,
        "composition_outcome": entry.composition_outcome,
        "composition_error": entry.composition_error,
    }
    said: dict[str, object] = {**fields, **{name: value for name, value in more.items() if value}}
    if entry.dry_run:
        said[DRY_RUN] = True
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"


def _rotate(home: Home, path: str) -> None:
    """Make a log that is too large the older one; of many writers one does it, and the others go on writing."""
    try:
        if home.disk.stat(path).st_size <= ROTATE_BYTES:
            return
    except FileNotFoundError:
        return
    descriptor = home.disk.open(path, os.O_RDONLY)
    try:
        with suppress(BlockingIOError):
            home.disk.lock(descriptor, _EXCLUSIVE_AT_ONCE)
            # Another may have done it since: then this is no longer the file at the path.
            ours, there = home.disk.open_stat(descriptor), home.disk.stat(path)
            if (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino):
                home.disk.rename(path, f"{path}.1")
    finally:
        home.disk.close(descriptor)


def _moment(seconds: float) -> str:
    import time  # noqa: PLC0415  (only a decision that is written needs it)

    micros = round(seconds * 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(micros // 1_000_000)) + f".{micros % 1_000_000:06d}Z"
