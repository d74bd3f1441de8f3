"""Looking at the registry and at its lock: what the tick sees, as events, and the recover that a person asks for.

A look takes nothing and writes nothing. A recover proves the death again at the moment it is asked for, and then takes
the contract's reclaim path, which is `registry_lock.clear`'s.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from sot_tui.comm import endpoints, look as looks, proc_locks, registry as book_of, registry_lock, rows, wire
from sot_tui.comm.fleet import RowSeen
from sot_tui.comm.registry_lock import LockIs
from sot_tui.engine.client import ANOTHER_WRITER, Locks, Recovered, Recovery
from sot_tui.engine.fold import LockLooked, RegistryRead, RegistryUnread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home


ROWS_SECS = 2.0
"""Seconds in which this box's daemon lists its rows; one that is alive takes milliseconds."""


class Observer:
    """The eyes of one comm home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._last_read: tuple[bytes, RegistryRead] | None = None
        self._named = looks.Named()
        self._inboxes = proc_locks.InboxLocks()

    def registry(self) -> RegistryRead | RegistryUnread:
        """Read the registry; the same bytes as last time are not taken apart again."""
        now = self._home.clock.now()
        data = book_of.registry_bytes(self._home)
        if isinstance(data, book_of.Unread):
            no_home = self._no_home()
            return RegistryUnread(data.missing, no_home or data.why, bool(no_home))
        if self._last_read is not None and self._last_read[0] == data:
            return RegistryRead(self._last_read[1].agents, self._last_read[1].version, now)
        book = book_of.parse(data)
        if book is None:
            return RegistryUnread(missing=False, why="it is not one JSON document with an object .agents")
        self._named = looks.agents_in(book, self._named)
        event = RegistryRead(self._named.agents, book.version, now)
        self._last_read = (data, event)
        return event

    def _no_home(self) -> str:
        """Return that there is no comm home at all, or nothing when there is a folder at its place."""
        try:
            mode = self._home.disk.target_stat(self._home.path).st_mode
        except FileNotFoundError:
            return f"there is no comm home at {self._home.path}"
        except OSError:
            return ""  # the registry's own reason says it
        return "" if stat.S_ISDIR(mode) else f"{self._home.path} is no folder, and has to be moved aside first"

    def rows(self, environ: Mapping[str, str], host: str) -> tuple[RowSeen, ...] | None:
        """Ask this box's daemon for its rows; None when it did not say them, which is not that it has none."""
        found = endpoints.of_this_box(self._home, environ)
        if not found.endpoint:
            return ()
        asker = wire.caller(environ, host, "", self._home.path)
        listed = rows.listed(rows.Daemon(self._home, found.endpoint, asker, ROWS_SECS))
        if isinstance(listed, rows.NotDone):
            return None
        return tuple(RowSeen(row.id, row.slug, row.label, row.root, row.agent, row.phase, row.handle) for row in listed)

    def locks(self) -> Locks:
        """Look at every lock: the registry's with its markers, and the inboxes'."""
        found = registry_lock.look(self._home)
        self._inboxes = proc_locks.since(self._inboxes, proc_locks.look(self._home))
        markers = registry_lock.markers(self._home, found.record)
        return Locks(looks.lock_state(self._home, found), markers, self._inboxes)

    def lock(self) -> LockLooked:
        """Look at the registry lock."""
        return LockLooked(looks.lock(self._home), self._home.clock.monotonic())

    def recover(self, record: str) -> Recovered:
        """Clear the lock if it still names `record` and this box still proves its holder dead."""
        look = registry_lock.look(self._home)
        if look.state is LockIs.FREE:
            return Recovered(Recovery.ANOTHER, f"{ANOTHER_WRITER}: the registry lock is free")
        state = looks.lock_state(self._home, look)
        if state.record != record:
            holder = state.holder or "someone else"
            return Recovered(Recovery.ANOTHER, f"{ANOTHER_WRITER}: it is held by {holder} now")
        if not look.provable:
            return Recovered(Recovery.REFUSED, look.sentence)
        outcome = registry_lock.clear(self._home)
        if isinstance(outcome, registry_lock.NotCleared):
            return Recovered(Recovery.REFUSED, outcome.sentence)
        if isinstance(outcome, registry_lock.Free) or outcome.by_another:
            return Recovered(Recovery.ANOTHER, f"{ANOTHER_WRITER}: {outcome.sentence}")
        return Recovered(Recovery.CLEARED, outcome.sentence)
