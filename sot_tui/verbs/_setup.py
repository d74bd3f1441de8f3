"""What `info` prints and `doctor` judges: variables of the environment, and the files and folders at their paths.

Both only look: nothing is made, locked, stamped or written.
"""

from __future__ import annotations

import os

from sot_tui.comm import names, registry
from sot_tui.comm.clock import seconds_said
from sot_tui.comm.doctor import Entry
from sot_tui.comm.errors import SotError
from sot_tui.comm.inbox_lock import DEFAULT_WAITS, READ_WAIT, WRITE_WAIT
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.registry_lock import Wait

if TYPE_CHECKING:
    from sot_tui.comm.home import Home


class Variable(NamedTuple):
    """A variable of the environment that sets a time."""

    name: str
    default: float
    """Seconds."""
    help: str


VARIABLES = (
    Variable("COMM_LIVE_SECS", registry.LIVE_SECS, "how long after its last stamp a handle is live"),
    Variable("SOT_LOCK_WAIT_SECS", Wait.RULED.value, "how long a command waits for the registry lock"),
    Variable(WRITE_WAIT, DEFAULT_WAITS[WRITE_WAIT], "how long a filing waits for an inbox"),
    Variable(READ_WAIT, DEFAULT_WAITS[READ_WAIT], "how long a poll waits for an inbox"),
)
"""Every one there is."""


def fault_of(variable: Variable) -> str:
    """Return what is wrong with a variable as it is set, or nothing."""
    try:
        seconds_said(os.environ, variable.name, variable.default)
    except SotError as fault:
        return fault.sentence
    return ""


def release() -> str:
    """Return the release of this program, as an install stamps it."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  (dear, and few commands need it)

    try:
        return version("sot-tui")
    except PackageNotFoundError:
        return "unreleased"


def host_of(home: Home) -> tuple[str, str]:
    """Return this box's declared host, or why it has none."""
    try:
        return names.declared_host(os.environ, home.procs), ""
    except SotError as fault:
        return "", fault.sentence


def entry_at(home: Home, path: str) -> Entry:
    """Return what stands at a path, links followed."""
    try:
        found = home.disk.target_stat(path)
    except FileNotFoundError:
        return Entry(dangling=_is_there(home, path))
    except (OSError, ValueError) as error:
        return Entry(fault=getattr(error, "strerror", "") or str(error))
    return Entry(mode=found.st_mode, owner=found.st_uid)


def _is_there(home: Home, path: str) -> bool:
    try:
        home.disk.stat(path)
    except OSError:
        return False
    return True
