"""An agent's settings file: read strictly, kept as it was beside it, and replaced whole or not at all.

The file is the person's. What is not one strict JSON object is never touched; the mode stays; a link stays, and what it
leads to is replaced; a file that changed while the new one was made is read anew. Before the first byte is written, the
old text lies beside it under a name of its own.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress

from sot_tui.comm.clock import stamp
from sot_tui.comm.errors import Refused, Unreadable
from sot_tui.comm.jsonline import NotStrict, decode_object
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.paths import home_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sot_tui.comm.home import Home

_TRIES = 5
"""How often a file that keeps changing is read anew."""
_BACKUPS = 100
"""Backups of one second that are told apart."""


class Read(NamedTuple):
    """What stands in a settings file."""

    settings: dict[str, Any]
    data: bytes | None
    """The bytes; None when there is no file."""


class Changed(NamedTuple):
    """The file stands as it was to be."""

    backup: str
    """Where the old text lies; empty when there was no file."""


class Unchanged(NamedTuple):
    """It stood so already."""


def place(environ: Mapping[str, str], agent: str) -> str:
    """Return the path of an agent's settings of the person, for every project."""
    home = home_folder(environ)
    if agent == "codex":
        return f"{environ.get('CODEX_HOME') or f'{home}/.codex'}/hooks.json"
    return f"{environ.get('CLAUDE_CONFIG_DIR') or f'{home}/.claude'}/settings.json"


def read(home: Home, path: str) -> Read:
    """Return what stands in the file; one that is missing says nothing. Raises Unreadable and Refused."""
    try:
        if not stat.S_ISREG(home.disk.target_stat(path).st_mode):
            raise Refused(f"{path} is left alone: it is no file")
        data = home.disk.read(path)
    except FileNotFoundError:
        return Read({}, None)
    except OSError as error:
        raise Unreadable(f"{path} could not be read: {error.strerror}") from error
    try:
        return Read(decode_object(data, unique_keys=True), data)
    except NotStrict as error:
        raise Refused(f"{path} is left alone: {error.sentence}") from error


def change(
    home: Home, path: str, edit: Callable[[dict[str, Any]], dict[str, Any]], *, make: bool = True
) -> Changed | Unchanged:
    """Replace the settings by what `edit` makes of them; without `make` a file that is missing stays so.

    Raises Refused for settings that `edit` or the reader refuses, Unreadable when a step on the disk failed; the file
    then stands as before.
    """
    for _ in range(_TRIES):
        was = read(home, path)
        try:
            after = edit(was.settings)
        except Refused as error:
            raise Refused(f"{path} is left alone: {error.sentence}") from error
        if after == was.settings or (was.data is None and not make):
            return Unchanged()
        try:
            backup = _replace(home, home.disk.real_path(path), was.data, text_of(after, was.data))
        except OSError as error:
            raise Unreadable(f"{path} could not be written, and stands as before: {error.strerror}") from error
        if backup is not None:
            return Changed(backup)
    raise Unreadable(f"{path} is left alone: another program keeps changing it")


def text_of(settings: dict[str, Any], like: bytes | None) -> bytes:
    """Return settings as text, indented as the text `like` is, with a newline at its end unless that has none."""
    lines = like.split(b"\n") if like else []
    indented = [line for line in lines[1:] if line.strip()]
    first = indented[0] if indented else b"  "
    indent = first[: len(first) - len(first.lstrip(b" \t"))].decode("ascii") or "  "
    end = "" if like and not like.endswith(b"\n") else "\n"
    return (json.dumps(settings, ensure_ascii=False, indent=indent) + end).encode()


def _replace(home: Home, path: str, was: bytes | None, data: bytes) -> str | None:
    """Put `data` in the place of a file that holds `was`; return where `was` lies, None when the file has changed."""
    disk = home.disk
    folder = os.path.dirname(path)
    if was is None:
        with suppress(FileExistsError):
            disk.mkdir(folder)
    draft = f"{path}.{home.procs.pid()}.{home.procs.serial()}.tmp"
    backup = ""
    try:
        disk.put(draft, data)
        if was is not None:
            mode = stat.S_IMODE(disk.stat(path).st_mode)
            backup = _back_up(home, path, was, mode)
            disk.chmod(draft, mode)
        if _bytes_of(home, path) != was:
            _drop(home, backup)
            _drop(home, draft)
            return None
        disk.rename(draft, path)
    except OSError:
        # A server can answer an error to its own second try of a rename that it made.
        if not _stands(home, path, data):
            _drop(home, draft)
            _drop(home, backup)
            raise
    with suppress(OSError):  # it stands; a crash right now may bring the old text back
        disk.flush_folder(folder)
    return backup


def _back_up(home: Home, path: str, was: bytes, mode: int) -> str:
    """Write the old text beside the file, over nothing that lies there, and return where."""
    disk = home.disk
    base = f"{path}.{stamp(home.clock.now()).replace(':', '')}"
    for number in range(_BACKUPS):
        backup = f"{base}.bak" if not number else f"{base}-{number}.bak"
        try:
            descriptor = disk.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            continue
        try:
            try:
                disk.write(descriptor, was)
                disk.flush(descriptor)
            finally:
                disk.close(descriptor)
            disk.chmod(backup, mode)
        except OSError:
            _drop(home, backup)
            raise
        return backup
    raise FileExistsError(0, "its backups could not be told apart", base)


def _bytes_of(home: Home, path: str) -> bytes | None:
    try:
        return home.disk.read(path)
    except FileNotFoundError:
        return None


def _stands(home: Home, path: str, data: bytes) -> bool:
    try:
        return home.disk.read(path) == data
    except OSError:
        return False


def _drop(home: Home, path: str) -> None:
    if path:
        with suppress(OSError):  # it lies beside the file and does nothing
            home.disk.unlink(path)
