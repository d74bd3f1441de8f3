"""The registry: read so that unreadable is never absent, and written whole or not at all.

Contract, registry.json, "One writer, one reader", "Unreadable is never absent": a read that fails or is empty is tried
anew, up to three times in about 200 ms; a missing file is told at the open. Every write is made under the registry
lock, from a fresh read, through a flushed temp file and a rename. Nothing here ever creates, truncates or repairs a
registry, and nothing else renames one.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sot_tui.comm.clock import is_stamp_shape, seconds_said, stamp
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.reach import reach
from sot_tui.comm.registry_lock import Held, NotTaken, Wait, release, still_held, take
from sot_tui.comm.registry_text import Agents, Registry, data_of, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sot_tui.comm.home import Home

__all__ = [
    "LIVE_SECS",
    "Agents",
    "NotWritten",
    "Registry",
    "Unread",
    "Wait",
    "Written",
    "clear_done",
    "is_live",
    "is_live_stamp",
    "live_secs",
    "parse",
    "read",
    "registry_bytes",
    "replace",
    "replace_locked",
    "touch",
]

REREAD_PAUSES_S = (0.0, 0.1, 0.1)
"""Seconds before each further read of a registry that could not be read: three of them, in about 200 ms (contract)."""
REGISTRY_LIMIT = 256 << 20
"""Bytes of a registry that are read; one of a thousand sessions has a thousandth of it."""
LIVE_SECS = 600
"""Seconds for which a `last_seen` stamp makes a handle live (contract, Liveness); `COMM_LIVE_SECS` sets another."""

NOT_WRITTEN = "FAILED: the registry could not be read or updated, so nothing was written"
"""What a writer says when the registry, or its temp file, fails it (contract, One writer, one reader)."""


class Unread(NamedTuple):
    """There is no good read of the registry, which says nothing about who is in it."""

    missing: bool
    """Whether there is no such file, which only an open can tell."""
    why: str
    """The reason, for a person."""
    errno: int = 0
    """What the kernel said; 0 when there were bytes, and they are no registry."""


class Written(NamedTuple):
    """The change stands on the disk, or there was nothing to change."""

    registry: Registry
    """What stands there now."""


class NotWritten(NamedTuple):
    """Nothing was written."""

    sentence: str
    """The whole FAILED or ERROR line."""


def registry_bytes(home: Home) -> bytes | Unread:
    """Return the registry's bytes, reading again after a failed or an empty read.

    Another host's rename can make a read fail after its open succeeded (ESTALE); the bytes of a failed read are
    discarded, its folder is looked at afresh, and the file is opened by its path again.
    """
    found = _bytes_once(home)
    for pause in REREAD_PAUSES_S:
        if isinstance(found, bytes) or found.missing:
            break
        if pause:
            home.clock.sleep(pause)
        with suppress(OSError):  # the open says what there is to say
            home.disk.revalidate(home.path)
        found = _bytes_once(home)
    return found


def read(home: Home) -> Registry | Unread:
    """Return the registry as it stands; bytes that do not parse are never read again."""
    data = registry_bytes(home)
    if isinstance(data, Unread):
        return data
    return parse(data) or Unread(missing=False, why="it is not one JSON document with an object .agents")


def replace(home: Home, change: Callable[[Registry], bool], wait: Wait) -> Written | NotWritten:
    """Change the registry under its lock.

    `change` is given what stands there now and changes it in place; False says that there is nothing to write. Raises
    Misuse when the bound's variable makes no sense.
    """
    held = take(home, wait)
    if isinstance(held, NotTaken):
        return NotWritten(f"ERROR: {held.sentence}")
    try:
        return replace_locked(home, held, change)
    finally:
        release(home, held)


def replace_locked(home: Home, held: Held, change: Callable[[Registry], bool]) -> Written | NotWritten:
    """Change the registry as `replace` does, for a caller that holds the lock already."""
    registry = read(home)
    if isinstance(registry, Unread):
        return NotWritten(NOT_WRITTEN)
    reach("registry.read")
    if not change(registry):
        return Written(registry)
    try:
        data = data_of(registry)
    except (ValueError, RecursionError):  # something that cannot be written as JSON stands in it
        return NotWritten(NOT_WRITTEN)
    sentence = _put(home, held, data)
    return NotWritten(sentence) if sentence else Written(registry)


def live_secs() -> float:
    """Return the seconds a stamp makes a handle live: `COMM_LIVE_SECS`, else ten minutes; raises Misuse."""
    return seconds_said(os.environ, "COMM_LIVE_SECS", LIVE_SECS)


def is_live(entry: object, now: float, secs: float | None = None) -> bool:
    """Tell whether a registry entry is live, by its `last_seen`."""
    seen = entry.get("last_seen") if isinstance(entry, dict) else None
    return is_live_stamp(seen, now, live_secs() if secs is None else secs)


def is_live_stamp(seen: object, now: float, secs: float) -> bool:
    """Tell whether a `last_seen` makes its handle live: the one rule of liveness.

    It has the stamp's shape and is later than the stamp of `secs` ago, as text. A date that no calendar has compares
    like any other; the daemon and the scripts do the same.
    """
    return isinstance(seen, str) and is_stamp_shape(seen) and seen > stamp(now - secs)


def touch(home: Home, handle: str, wait: Wait = Wait.TOUCH) -> Written | NotWritten:
    """Stamp a handle's `last_seen`, if it has an entry; a stamp is missed without harm, so a verb says nothing."""

    def change(registry: Registry) -> bool:
        entry = registry.entry(handle)
        if entry is None:
            return False
        entry["last_seen"] = stamp(home.clock.now())
        return True

    return replace(home, change, wait)


def clear_done(home: Home, handle: str, own_host: str) -> Written | NotWritten | None:
    """Clear the `done` of a handle that a person has viewed; None says that there was nothing to clear.

    Only an entry of this box's own host. `done` goes, a state `done` becomes `idle`, and nothing else is touched. The
    lock is taken only when an unlocked look says that there is something to clear.
    """
    found: list[bool] = []

    def change(registry: Registry) -> bool:
        entry = _finished_here(registry, handle, own_host)
        found.append(entry is not None)
        if entry is None:
            return False
        del entry["done"]
        if entry.get("state") == "done":
            entry["state"] = "idle"
        return True

    seen = read(home)
    if isinstance(seen, Unread) or _finished_here(seen, handle, own_host) is None:
        return None
    written = replace(home, change, Wait.TOUCH)
    return None if found == [False] else written


def is_of_host(entry: Mapping[str, Any], host: str) -> bool:
    """Tell whether an entry is of the box `host`; one that names none is of none."""
    said = entry.get("host")
    return isinstance(said, str) and said.lower() == host.lower()


def forget_row(registry: Registry, row: str, handle: str, own_host: str) -> bool:
    """Remove what the registry says of a row that is gone; tell whether there was anything (daemon wire 3.9).

    Entries of this box's own host that name the row, and the one of `handle`, unless that names another row.
    """
    gone = [
        name
        for name, entry in registry.agents.items()
        if isinstance(entry, dict) and _is_of(entry, name, row, handle) and is_of_host(entry, own_host)
    ]
    for name in gone:
        del registry.agents[name]
    return bool(gone)


def _is_of(entry: dict[str, Any], name: str, row: str, handle: str) -> bool:
    return entry.get("workspace_id") == row or (name == handle and not entry.get("workspace_id"))


def _finished_here(registry: Registry, handle: str, own_host: str) -> dict[str, Any] | None:
    """Return the handle's entry if it is this host's and done."""
    entry = registry.entry(handle)
    if entry is None or "done" not in entry:
        return None
    return entry if is_of_host(entry, own_host) else None


def _bytes_once(home: Home) -> bytes | Unread:
    disk = home.disk
    try:
        descriptor = disk.open(home.registry, os.O_RDONLY)
    except FileNotFoundError:
        return Unread(missing=True, why="there is no registry.json")
    except OSError as error:
        return _unread(error)
    try:
        try:
            data = disk.read_all(descriptor, REGISTRY_LIMIT)
        finally:
            disk.close(descriptor)
    except OSError as error:
        return _unread(error)
    return data or Unread(missing=False, why="it is empty")


def _unread(error: OSError) -> Unread:
    return Unread(missing=False, why=_fault(error), errno=error.errno or 0)


def _put(home: Home, held: Held, data: bytes) -> str:
    """Put `data` in the registry's place; return the FAILED line, or "" when it stands there.

    A writer that was frozen, and whose lock a person removed by hand meanwhile, must not put its old picture over what
    the next holder wrote.
    """
    disk, temp = home.disk, f"{home.registry}.tmp"
    try:
        descriptor = _open_anew(home, temp)
    except OSError:
        return NOT_WRITTEN
    sentence = NOT_WRITTEN
    try:
        try:
            disk.write(descriptor, data)
            sentence = "FAILED: the registry update could not be flushed ({}), so nothing was written"
            disk.flush(descriptor)
        finally:
            disk.close(descriptor)
        reach("registry.flushed")
        sentence = "FAILED: the registry update could not be renamed into place ({}), so nothing was written"
        if not still_held(home, held):
            _unlink_quietly(home, temp)
            return NOT_WRITTEN
        disk.rename(temp, home.registry)
    except OSError as error:
        if _stands(home, data):
            return ""
        _unlink_quietly(home, temp)
        return sentence.format(_fault(error))
    reach("registry.renamed")
    return ""


def _open_anew(home: Home, temp: str) -> int:
    """Make the temp file new, 0600 and not anybody's link; what a dead writer left under its name goes."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        return home.disk.open(temp, flags)
    except FileExistsError:
        home.disk.unlink(temp)
        return home.disk.open(temp, flags)


def _stands(home: Home, data: bytes) -> bool:
    """Tell whether the registry is `data`: a server can answer an error to its own second try of a rename."""
    found = _bytes_once(home)
    return isinstance(found, bytes) and found == data


def _unlink_quietly(home: Home, path: str) -> None:
    with suppress(OSError):  # the next writer makes it new
        home.disk.unlink(path)


def _fault(error: OSError) -> str:
    return error.strerror or str(error)
