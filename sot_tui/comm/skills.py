"""What an agent has to know, as skills that it reads: their texts, and how they are put into its folder and taken out.

A skill that we wrote bears, as its last line, the hash of everything before it: that is the exact record of what is
ours. One that a person wrote, or has changed since, bears none that fits; it is never written over and never removed.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from enum import Enum
from hashlib import sha256

from sot_tui.comm import hook_settings
from sot_tui.comm.errors import Unreadable
from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home

SKILLS = ("sot-comm", "sot-session-start")
"""Every skill there is, by the name of its folder."""

_SEAL = b"<!-- written by sot-tui hooks install; sha256 "
_END = b" -->\n"
_LIMIT = 1 << 20


class Skill(Enum):
    """What lies where a skill of ours belongs; the value says it to a person."""

    MISSING = "is missing"
    OURS = "stands"
    OTHER = "stands, of another version"
    FOREIGN = "is a person's own, and is left alone"


def place(environ: Mapping[str, str], agent: str, name: str) -> str:
    """Return where an agent looks for a skill of this name."""
    return f"{os.path.dirname(hook_settings.place(environ, agent))}/skills/{name}/SKILL.md"


def text(name: str) -> bytes:
    """Return a skill as it is written, its seal included."""
    path = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/skills/{name}/SKILL.md"
    with open(path, "rb") as file:
        return _sealed(file.read())


def standing(home: Home, path: str, name: str) -> Skill:
    """Tell what lies at a skill's place; raises Unreadable when that cannot be told."""
    try:
        if not stat.S_ISREG(home.disk.stat(path).st_mode):
            return Skill.FOREIGN
        data = home.disk.read_up_to(path, _LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        return Skill.MISSING
    except OSError as error:
        raise Unreadable(f"{path} could not be read: {error.strerror}") from error
    ours = text(name)
    if data == ours:
        return Skill.OURS
    body = data[: data.rfind(_SEAL)] if _SEAL in data else data
    return Skill.OTHER if _sealed(body) == data else Skill.FOREIGN


def install(home: Home, path: str, name: str) -> Skill:
    """Put a skill at its place, unless a person's own lies there; return what lay there. Raises Unreadable."""
    found = standing(home, path, name)
    if found in {Skill.MISSING, Skill.OTHER}:
        folder = os.path.dirname(path)
        try:
            os.makedirs(folder, exist_ok=True)
            home.disk.replace(f"{folder}/.{home.procs.pid()}.{home.procs.serial()}.tmp", path, text(name), mode=0o644)
        except OSError as error:
            raise Unreadable(f"{path} could not be written: {error.strerror}") from error
    return found


def uninstall(home: Home, path: str, name: str) -> Skill:
    """Remove a skill that we wrote, and its folder when nothing else is in it; return what lay there."""
    found = standing(home, path, name)
    if found in {Skill.OURS, Skill.OTHER}:
        try:
            home.disk.unlink(path)
        except OSError as error:
            raise Unreadable(f"{path} could not be removed: {error.strerror}") from error
        with suppress(OSError):  # a person keeps something in it
            home.disk.rmdir(os.path.dirname(path))
    return found


def _sealed(body: bytes) -> bytes:
    return body + _SEAL + sha256(body).hexdigest().encode() + _END
