"""Where our own files are: the folders that are no part of the comm home.

Daemon wire 1.6: the config folder is `$XDG_CONFIG_HOME/sot`, else `~/.config/sot`; the state root is
`$XDG_STATE_HOME/sot`, else `~/.local/state/sot`. What is ours alone lies in `tui/` below the state root; nothing of
ours enters the comm home but what the contract lists. A variable that is no absolute path counts as unset (XDG Base
Directory Specification). Only the functions whose names say so make a folder.
"""

from __future__ import annotations

import os

from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.disk import Disk

SOCKET_PATH_BYTES = 100
"""Bytes of a socket's path at most; the systems take 103 or more (dependencies, Locks, threads, sockets)."""


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


def events_log(environ: Mapping[str, str]) -> str:
    """Return the path of the log of what the engine did and decided."""
    return f"{own_state(environ)}/events.log"


def set_aside_file(environ: Mapping[str, str]) -> str:
    """Return the path of what the person set aside."""
    return f"{own_state(environ)}/aside.json"


def wakes_file(environ: Mapping[str, str]) -> str:
    """Return the path of why rows are not woken."""
    return f"{own_state(environ)}/wakes.json"


def daemon_lock(environ: Mapping[str, str]) -> str:
    """Return the path of the lock that says that an engine runs on this box (daemon wire 1.2)."""
    return f"{state_root(environ)}/daemon.lock"


def daemon_log(environ: Mapping[str, str]) -> str:
    """Return the path of the log of a daemon without a window (daemon wire 1.6)."""
    return f"{state_root(environ)}/sotd.log"


def make_state_root(disk: Disk, environ: Mapping[str, str]) -> None:
    """Make the state root, 0700, with what is missing above it; raises the OSError of the step that failed."""
    make_folder(disk, state_root(environ))


def make_own_state(disk: Disk, environ: Mapping[str, str]) -> None:
    """Make the folder of what the dashboard keeps, 0700, as `make_state_root` does."""
    make_folder(disk, own_state(environ))


def make_folder(disk: Disk, path: str) -> None:
    """Make a folder, 0700, with what is missing above it; raises the OSError of the step that failed."""
    try:
        disk.mkdir(path)
    except FileExistsError:
        return
    except FileNotFoundError:
        make_folder(disk, os.path.dirname(path))
        make_folder(disk, path)


def row_folder(environ: Mapping[str, str], row_id: str) -> str:
    """Return the folder of one row's runs (daemon wire 4.4)."""
    return f"{state_root(environ)}/workspaces/{row_id}"


def lane_socket(row: str) -> str:
    """Return the path of the socket that a row's capsule listens on: in the row's folder, where that is short enough.

    A path that no socket can have (107 bytes on Linux, 103 on macOS) is replaced by one that the folder's own names.
    """
    path = f"{row}/lane.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
        return path
    from hashlib import sha256  # noqa: PLC0415  (only a long path needs it)

    return f"{short_lanes()}/{sha256(os.fsencode(row)).hexdigest()[:16]}.sock"


def short_lanes() -> str:
    """Return the folder of the lanes whose rows lie too deep; one that is not private must not be used."""
    return f"/tmp/sot-{os.geteuid()}/lanes"  # noqa: S108  (as short as the control socket's own, and checked as that is)


def home_folder(environ: Mapping[str, str]) -> str:
    """Return the person's home folder: `$HOME`, else what the system's list of accounts says."""
    return environ.get("HOME") or os.path.expanduser("~")


def _below(environ: Mapping[str, str], name: str, otherwise: str) -> str:
    said = environ.get(name, "")
    base = said.rstrip("/") or "/" if said.startswith("/") else f"{home_folder(environ).rstrip('/')}/{otherwise}"
    return f"{base.rstrip('/')}/sot"
