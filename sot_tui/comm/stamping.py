"""Writing to the own registry entry under the lock: facts, and the marks that hooks leave there.

Contract, registry.json: every script write goes through one writer, merge-only; a process stamps only the entry that is
its own. Whether it still is gets decided under the lock, from the registry as it stands there: an entry that is gone,
or that another row has taken meanwhile, is not written.
"""

from __future__ import annotations

from sot_tui.comm import facts, identity, registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.identity import Binding
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.registry import NotWritten, Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sot_tui.comm.clock import Stamp
    from sot_tui.comm.facts import Verb
    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context
    from sot_tui.comm.registry_lock import Wait

    Edit = Callable[[dict[str, Any], Stamp], dict[str, Any] | None]
    """Returns an entry as it is to stand, given what stands there and the time; None leaves it alone."""


class Stamped(NamedTuple):
    """The entry stands as it was to be."""


class Discarded(NamedTuple):
    """There is no entry of this process's own; nothing was written."""

    why: str


class Said(NamedTuple):
    """One status verb with its text, and for a prompt who started the turn."""

    verb: Verb
    text: str | None = None
    origin: str = ""


def entry_of(here: Context) -> dict[str, Any] | None:
    """Return the registry entry that this session may act as, None when it is no joined agent."""
    return here.book.entry(here.name) if here.name and isinstance(here.book, Registry) else None


def say(home: Home, handle: str, row: str | None, said: Sequence[Said], wait: Wait) -> Stamped | Discarded | NotWritten:
    """Apply status verbs to the entry of `handle`, all of them in one write.

    `row` is the row this process is proved to run in, empty outside any; None is a daemon's word about a row.
    """

    def edit(entry: dict[str, Any], now: Stamp) -> dict[str, Any]:
        for verb, text, origin in said:
            entry = facts.apply(entry, verb, text, origin, now)
        return entry

    return write(home, handle, row, edit, wait)


def write(home: Home, handle: str, row: str | None, edit: Edit, wait: Wait) -> Stamped | Discarded | NotWritten:
    """Edit the entry of `handle` under the lock; `row` is as for `say`."""
    discarded = ""

    def change(book: Registry) -> bool:
        nonlocal discarded
        entry = book.entry(handle)
        if entry is None:
            discarded = f"no registry row for @{handle}; stamp discarded"
            return False
        if row is not None:
            binding, other = identity.row_binding(book, handle, row)
            if binding is Binding.OTHER:
                discarded = f"@{handle} belongs to row {other}; stamp discarded"
                return False
        after = edit(entry, stamp(home.clock.now()))
        if after is None:
            return False
        book.agents[handle] = after
        return True

    written = registry.replace(home, change, wait)
    if isinstance(written, NotWritten):
        return written
    return Discarded(discarded) if discarded else Stamped()
