"""This program's own command: where it lies, and how it can be typed here.

Product, The habits people bring: each next step is a command that works as it is shown. The hooks that an install puts
into an agent's settings, the doctor's steps and the first commands of an empty dashboard go by this one rule. It only
looks: what has to change so that the name alone is found is a person's to do.
"""

from __future__ import annotations

import os
import sys

from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "sot-tui"
NAMED_BY = "SOT_TUI_BIN"
"""The variable by which the scripts of the comm home are told of another command (contract, Layout: `bin/`)."""
LINKS = ".local/bin"
"""The folder below HOME in which a person's own commands are linked."""


def own_path() -> str:
    """Return the path of this very command; of another one (the daemon's, an interpreter's) what lies beside it."""
    own = os.path.abspath(sys.argv[0])
    if os.path.basename(own) == NAME:
        return own
    return os.path.join(os.path.dirname(os.path.abspath(sys.executable)), NAME)


def own_command(environ: Mapping[str, str]) -> str:
    """Return this command as a shell word: by its name where the search path finds this very one, else by its path."""
    own = own_path()
    found = on_path(NAME, environ)
    return NAME if found and os.path.realpath(found) == os.path.realpath(own) else _word(own)


def as_typed(command: str, environ: Mapping[str, str]) -> str:
    """Return a command line of this program, which begins with its name, as it can be typed here."""
    name, blank, words = command.partition(" ")
    return f"{own_command(environ)}{blank}{words}" if name == NAME else command


def on_path(name: str, environ: Mapping[str, str]) -> str:
    """Return what a shell runs under a name, empty for nothing; a name with a slash is a path."""
    folders = [""] if "/" in name else environ.get("PATH", os.defpath).split(os.pathsep)
    for found in (os.path.join(folder, name) for folder in folders if folder or "/" in name):
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return ""


def of_the_scripts(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return which command the scripts of the comm home name here, and what they run by it, empty for nothing."""
    name = environ.get(NAMED_BY, "") or NAME
    return name, on_path(name, environ)


def to_link(environ: Mapping[str, str]) -> str:
    """Return the command line after which this one is found by its name."""
    links = os.path.join(environ.get("HOME", ""), LINKS)
    line = f"mkdir -p ~/{LINKS} && ln -s {_word(own_path())} ~/{LINKS}/"
    listed = links in environ.get("PATH", os.defpath).split(os.pathsep)
    return line if listed else f'{line} && export PATH="$HOME/{LINKS}:$PATH"'


def _word(text: str) -> str:
    from shlex import quote  # noqa: PLC0415  (only a path needs it)

    return quote(text)
