"""What one hook of a session leaves for its next: small files in `state/` (contract, Layout).

Per-session scratch, bounded, and swept by nobody. Nothing depends on it but how often a session is told the same thing:
a file that is missing or cannot be read counts as never written, and one that cannot be written is told to the caller,
who then must not ask for the same thing without end. No mail and no fact lies here.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home

SESSION_ID = "CLAUDE_CODE_SESSION_ID"
"""The variable by which Claude Code tells its hooks and commands which session they belong to."""

_KEY_LIMIT = 100
"""Characters of an id in a file's name; agents' ids have 36."""
_READ_LIMIT = 1 << 18
"""Bytes of a scratch file that are read; a real one has one line, or one for each held turn end."""
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def key(text: str) -> str:
    """Return an agent's id as a part of a file's name: every odd sign is an underscore."""
    return "".join(char if char in _LETTERS else "_" for char in text[:_KEY_LIMIT])


def session_key(environ: Mapping[str, str], said: str = "") -> str:
    """Return the key of the session: what the agent's variable says, else what its input `said`; may be empty."""
    return key(environ.get(SESSION_ID, "") or said)


def asking(tool_use_id: str) -> str:
    """Return the name of the mark of a question that is open, by the id of the tool call that asked it."""
    return f"askq-{key(tool_use_id)}.marker"


def read(home: Home, name: str) -> str:
    """Return what a scratch file holds, nothing when there is none or it cannot be read."""
    try:
        descriptor = home.disk.open(f"{home.scratch}/{name}", os.O_RDONLY)
        try:
            return home.disk.read_at(descriptor, _READ_LIMIT, 0).decode("utf-8", "replace")
        finally:
            home.disk.close(descriptor)
    except OSError:
        return ""


def exists(home: Home, name: str) -> bool:
    """Tell whether there is a scratch file of this name."""
    try:
        home.disk.stat(f"{home.scratch}/{name}")
    except OSError:
        return False
    return True


def age_s(home: Home, name: str) -> float | None:
    """Return the seconds since a scratch file was written, None when that is not known."""
    try:
        return home.clock.now() - home.disk.stat(f"{home.scratch}/{name}").st_mtime
    except OSError:
        return None


def write(home: Home, name: str, text: str = "") -> bool:
    """Write a scratch file anew and tell whether it stands; a torn one counts for its readers as none."""
    return _put(home, f"{home.scratch}/{name}", os.O_TRUNC, text)


def append(home: Home, name: str, line: str) -> bool:
    """Add a line to a scratch file and tell whether it stands."""
    return _put(home, f"{home.scratch}/{name}", os.O_APPEND, line + "\n")


def remove(home: Home, name: str) -> None:
    """Remove a scratch file, if there is one."""
    with suppress(OSError):  # it is gone, or stays as litter
        home.disk.unlink(f"{home.scratch}/{name}")


class Draft(NamedTuple):
    """A scratch file that is written and not yet in its place."""

    path: str
    place: str


def draft(home: Home, name: str, text: str) -> Draft | None:
    """Write a file that `settle` can put in its place at once; None when there is no room for it."""
    place = f"{home.scratch}/{name}"
    made = Draft(f"{home.scratch}/.{name}.{home.procs.pid()}.{home.procs.serial()}", place)
    if _put(home, made.path, os.O_TRUNC, text):
        return made
    drop(home, made)
    return None


def settle(home: Home, made: Draft) -> None:
    """Put a draft in its place."""
    try:
        home.disk.rename(made.path, made.place)
    except OSError:
        drop(home, made)


def drop(home: Home, made: Draft) -> None:
    """Remove a draft."""
    with suppress(OSError):  # as above
        home.disk.unlink(made.path)


def _put(home: Home, path: str, flag: int, text: str) -> bool:
    disk = home.disk
    try:
        try:
            descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT | flag)
        except FileNotFoundError:
            with suppress(FileExistsError):  # another hook was first
                disk.mkdir(home.scratch)
            descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT | flag)
        try:
            disk.write(descriptor, text.encode("utf-8", "replace"))
        finally:
            disk.close(descriptor)
    except OSError:
        return False
    return True
