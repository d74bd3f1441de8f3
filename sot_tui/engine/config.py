"""The person's own settings, `$XDG_CONFIG_HOME/sot/tui.toml`, and what the topology file says of this box.

Every key stands in one table with its default. A file that cannot be read, a key that is not known, a value of another
type: each is one warning and the default, never the end of the dashboard. Nothing here writes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Key(NamedTuple):
    """One key of the file."""

    name: str
    default: str
    help: str


KEYS = (
    Key("operator", "", "your own handle; operator-<host> when it is not set"),
    Key("theme", "sot-dark", "the colours: sot-dark, sot-light, or a theme of Textual's (ansi-dark, nord, ...)"),
)
"""Every key there is."""


class Config(NamedTuple):
    """The settings, and what was wrong with the file."""

    path: str
    values: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    def of(self, name: str) -> str:
        """Return a setting, or its default."""
        return self.values[name]


def folder(environ: Mapping[str, str]) -> str:
    """Return the config folder, `$XDG_CONFIG_HOME/sot`, else `~/.config/sot` (daemon wire, small shared rules)."""
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(base, "sot")


def read(environ: Mapping[str, str]) -> Config:
    """Return the person's settings."""
    path = os.path.join(folder(environ), "tui.toml")
    said, wrong = _read_toml(path)
    values = {key.name: key.default for key in KEYS}
    warnings = [f"{path} is not used: {wrong}"] if wrong else []
    for name, value in said.items():
        if name not in values:
            warnings.append(f"{path}: the key {name!r} is not known")
        elif not isinstance(value, str):
            warnings.append(f"{path}: {name!r} is not a text")
        else:
            values[name] = value
    return Config(path, values, tuple(warnings))


def names_hub(environ: Mapping[str, str], host: str) -> bool:
    """Tell whether there is no topology file, or it names `host` its hub; an unreadable one names nobody."""
    path = environ.get("SOT_HOSTS") or os.path.join(folder(environ), "hosts.toml")
    said, wrong = _read_toml(path)
    if wrong:
        return False
    return said.get("hub") == host if said else not os.path.exists(path)


def _read_toml(path: str) -> tuple[dict[str, Any], str]:
    """Return what a file says, and why it says nothing; a missing file says nothing and nothing is wrong."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, error.strerror or "it cannot be read"
    import tomllib  # noqa: PLC0415  (most people have no such file)

    try:
        return tomllib.loads(data.decode("utf-8-sig")), ""
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return {}, str(error)
