"""`sot-tui list`: every handle of the registry, live or stale, what it does, and which one is this session's."""

from __future__ import annotations

import os

from sot_tui.comm import facts, identity, registry
from sot_tui.comm.clock import seconds_of
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.registry import Registry, Unread
from sot_tui.comm.text import printable_line
from sot_tui.verbs._session import ask, misused, say, say_json, tell

if TYPE_CHECKING:
    from typing import Any

    from sot_tui.comm.home import Home

USAGE = """\
Examples:
  sot-tui list                  who is there, live or stale, and what they do
  sot-tui list --json           the same as the dashboard shows it, for a program (docs/json.md)

Usage: sot-tui list [--json]
"""


def main(argv: list[str]) -> int:
    """Print the address book; the exit code is 0, or 1 when the registry could not be read."""
    if ask(argv, USAGE):
        return Exit.OK
    unknown = [word for word in argv if word != "--json"]
    if unknown:
        return misused(USAGE, f"comm-list.sh: unknown argument {unknown[0]}")
    home = home_here()
    # The address book is everybody's; without an identity only the mark on the own entry is missing.
    here = identity.who_am_i(home, os.environ, identity.working_folder())
    book = registry.read(home) if isinstance(here.book, Unread) else here.book
    if isinstance(book, Unread):
        tell("FAILED: the registry could not be read; nothing was listed")
        return Exit.FAILED
    if argv:
        return _as_json(home, here.name)
    say(_listing(home, book, here.name))
    return Exit.OK


def _as_json(home: Home, me: str) -> Exit:
    """Print the whole fleet as the nav has it, in its order."""
    from sot_tui.comm import fleet_json  # noqa: PLC0415  (the listing in words needs none of it)
    from sot_tui.verbs import _fleet  # noqa: PLC0415  (as above)

    seen = _fleet.read(home)
    if seen is None:
        return Exit.FAILED
    say_json({"me": me or None, **fleet_json.fleet_object(seen, home.clock.now())})
    return Exit.OK


def _listing(home: Home, book: Registry, me: str) -> str:
    now = home.clock.now()
    lines = [f"sot-comm agents  ({home.registry}):"]
    for handle in book.agents:
        entry = book.entry(handle) or {}
        lines.append(_entry_line(handle, entry, now) + ("  <- me" if handle == me else ""))
        lines.append(_state_line(entry, now))
    if not book.agents:
        lines.append("  (none)")
    return "\n".join(map(printable_line, lines)) + "\n\n"


def _entry_line(handle: str, entry: dict[str, Any], now: float) -> str:
    expertise = entry.get("expertise")
    known = "/".join(str(item) for item in expertise) if isinstance(expertise, list) else ""
    return f"  @{handle:<18} {_text(entry, 'host'):<12} {_text(entry, 'repo'):<14} {_live(entry, now):<12} [{known}]"


def _live(entry: dict[str, Any], now: float) -> str:
    if registry.is_live(entry, now):
        return "live"
    seen = seconds_of(entry.get("last_seen"))
    return "stale" if seen is None else f"stale {max(0, int(now - seen))}s"


def _state_line(entry: dict[str, Any], now: float) -> str:
    state, summary = _text(entry, "state"), _text(entry, "summary")
    if not state:
        state, summary = facts.derive(entry)
    since = seconds_of(entry.get("status_at"))
    parts = [f"    [{state}]", *([" " + summary] if summary else [])]
    return "".join(parts) + ("" if since is None else f" · {_ago(now - since)}")


def _ago(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "just now"


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""
