"""The daemon's stamps: every minute the handles of the rows that run are live (contract, Liveness; daemon wire 8.3).

A row's session may be idle for hours and stays live while it runs. Only an entry that is there is stamped, and only
`last_seen`: no entry is made, no work-state fact is touched, no other box's entry is. "A daemon that cannot take the
registry lock, or read or write the registry, stamps nothing": it warns each minute instead, with the handles and the
lock's own line, because ten minutes after the last stamp a send to such a row fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm import registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.registry_lock import Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sot_tui.comm.home import Home
    from sot_tui.comm.registry_text import Registry

TICK_SECS = 2.0
"""Seconds between two looks at which rows run (daemon wire 8.3)."""
PASS_SECS = 60.0
"""Seconds after which the same handles are stamped again (contract: every minute)."""
FAILED = (
    "row liveness stamp failed: the comm registry could not be locked, read or written; once a row's last stamp is ten "
    "minutes old, sends to it fail as no live session"
)
"""The warning, word for word the reference daemon's (daemon wire 8.3)."""


class Passes:
    """When a pass is due: the handles are others than at the last one, or a minute has gone by; none for no handle."""

    def __init__(self) -> None:
        self._handles: tuple[str, ...] = ()
        self._at = float("-inf")

    def is_due(self, handles: tuple[str, ...], mono: float) -> bool:
        """Tell whether these handles are to be stamped now."""
        if not handles and not self._handles:
            return False
        return handles != self._handles or mono - self._at >= PASS_SECS

    def done(self, handles: tuple[str, ...], mono: float) -> None:
        """Note a pass; one that failed counts too, and is tried again when the next is due."""
        self._handles, self._at = handles, mono


def stamp_rows(home: Home, handles: Sequence[str], host: str) -> str:
    """Stamp the entries of these handles that are of this box; return the warning, "" when all went well."""

    def change(book: Registry) -> bool:
        now = stamp(home.clock.now())
        found = False
        for handle in handles:
            entry = book.entry(handle)
            if entry is not None and registry.is_of_host(entry, host):
                book.agents[handle] = {**entry, "last_seen": now}
                found = True
        return found

    if not handles:
        return ""
    written = registry.replace(home, change, Wait.TOUCH)
    if not isinstance(written, registry.NotWritten):
        return ""
    return f"{FAILED} (handles: {', '.join(handles)}). {written.sentence}"
