"""`sot-tui session-metadata`: say which name a session was given with its pushes (contract, notify control protocol).

For programs that show sessions: one JSON line, whatever is asked. It only looks: nothing is made, touched or read from
stdin, and what cannot be read safely is told as unavailable, never as missing.
"""

from __future__ import annotations

import json
import os

from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.notify import event as events, hook, labels, settings
from sot_tui.verbs._session import ask, say

USAGE = """\
Examples:
  sot-tui session-metadata --harness claude-code --session-id 6f1c   the name that a session was given, as JSON

Usage: sot-tui session-metadata --harness claude-code|pi --session-id ID [--state-base FOLDER]

One line with the keys version, status (known, missing or unavailable), harness, session_id, label, completion_id,
source_generation and label_generation. A request that is none gets {"version":1,"status":"invalid_request"} and exit 2.
"""

_VERSION = 1
_OPTIONS = ("--harness", "--session-id", "--state-base")


def main(argv: list[str]) -> int:
    """Print the line; the exit code is 0, 1 (it could not be printed) or 2 (the request is none)."""
    if ask(argv, USAGE):
        return Exit.OK
    asked = _asked(argv)
    if asked is None:
        _print({"version": _VERSION, "status": "invalid_request"})
        return Exit.USAGE
    harness, session, base = asked
    try:
        record = labels.look(home_here(), base or settings.state_base(os.environ), harness, session)
        status = "missing" if record is None else "known"
    except labels.Unavailable:
        record, status = None, "unavailable"
    _print(
        {
            "version": _VERSION,
            "status": status,
            "harness": harness,
            "session_id": session,
            "label": record.label if record else "",
            "completion_id": record.latest_completion_id if record else "",
            # As text: a reader whose numbers are doubles would round them.
            "source_generation": str(record.source_generation if record else 0),
            "label_generation": str(record.last_successful_refresh_exchange if record else 0),
        }
    )
    return Exit.OK


def _asked(argv: list[str]) -> tuple[str, str, str] | None:
    """Return harness, session and state folder, each named once; None for anything else."""
    values: dict[str, str] = {}
    left = list(argv)
    while left:
        option, sign, value = left.pop(0).partition("=")
        if option not in _OPTIONS or option in values or not (sign or left):
            return None
        values[option] = value if sign else left.pop(0)
    harness, session = values.get("--harness", ""), values.get("--session-id", "")
    if harness not in hook.HARNESSES or not events.is_identifier(session) or "\0" in values.get("--state-base", ""):
        return None
    return harness, session, values.get("--state-base", "")


def _print(fields: dict[str, object]) -> None:
    say(json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n")
