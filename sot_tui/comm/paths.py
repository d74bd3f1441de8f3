"""Where our own files are: the folders that are no part of the comm home.

Daemon wire 1.6: the config folder is `$XDG_CONFIG_HOME/sot`, else `~/.config/sot`; the state root is
`$XDG_STATE_HOME/sot`, else `~/.local/state/sot`. What is ours alone lies in `tui/` below the state root; nothing of
ours enters the comm home but what the contract lists. A variable that is no absolute path counts as unset (XDG Base
Directory Specification). Nothing here makes a folder.
"""

from __future__ import annotations

import os

from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def config_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the person's settings and of the topology file."""
    return _below(environ, "XDG_CONFIG_HOME", ".config")


def settings_file(environ: Mapping[str, str]) -> str:
    """Return the path of the person's settings."""
    return f"{config_folder(environ)}/tui.toml"


def topology_file(environ: Mapping[str, str]) -> str:
    """Return the path of the file that lists the boxes: `$SOT_HOSTS`, else `hosts.toml` beside the settings."""
    return environ.get("SOT_HOSTS") or f"{config_folder(environ)}/hosts.toml"


def state_root(environ: Mapping[str, str]) -> str:
    """Return the folder of what a daemon keeps on this box."""
    return _below(environ, "XDG_STATE_HOME", ".local/state")


def own_state(environ: Mapping[str, str]) -> str:
    """Return the folder of what the dashboard keeps for the person: drafts, marks, what was not sent."""
    return f"{state_root(environ)}/tui"


def home_folder(environ: Mapping[str, str]) -> str:
    """Return the person's home folder: `$HOME`, else what the system's list of accounts says."""
    return environ.get("HOME") or os.path.expanduser("~")


def _below(environ: Mapping[str, str], name: str, otherwise: str) -> str:
    said = environ.get(name, "")
    base = said.rstrip("/") or "/" if said.startswith("/") else f"{home_folder(environ).rstrip('/')}/{otherwise}"
    return f"{base.rstrip('/')}/sot"
