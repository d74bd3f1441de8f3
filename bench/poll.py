"""A poll of one mebibyte of unread mail, from start to exit: what a session that was away for a day waits for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bench.measure import Figure
from bench.verbs import prepare, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_UNREAD_BYTES = 1 << 20
_BODY = "the schema is on main; please rebase and run the numbers again, then tell me what the third column says. " * 3


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the one figure; every round reads the same inbox from its start."""
    environ = prepare(folder)
    run(environ, folder / "project", "join", "--name", "reader")
    frame = {"from": "writer", "to": "reader", "repo": "writer", "msg": _BODY, "ts": "2026-05-29T18:04:00Z"}
    line = json.dumps(frame, separators=(",", ":")) + "\n"
    inbox = folder / "comm" / "inbox" / "reader.jsonl"
    inbox.write_text(line * (_UNREAD_BYTES // len(line) + 1))
    inbox.chmod(0o600)
    cursor = folder / "comm" / "read" / "reader.cursor"
    yield Figure(
        f"poll of {inbox.stat().st_size / 1024:.0f} KiB unread, start to exit",
        lambda: run(environ, folder / "project", "poll"),
        None,
        1,
        "<= 200 ms",
        before=lambda: cursor.unlink(missing_ok=True),
    )
