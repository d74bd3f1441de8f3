"""What `info` prints and `doctor` judges: variables of the environment, files and folders at their paths, and links.

Both only look: nothing is made, locked, stamped or written. This box's own daemon is asked how its links stand, once,
where the list of boxes says that there have to be any; nobody else is asked anything.
"""

from __future__ import annotations

import os

from sot_tui.comm import endpoints, links, names, registry, topology
from sot_tui.comm.clock import seconds_said
from sot_tui.comm.doctor import Entry
from sot_tui.comm.endpoints import Local
from sot_tui.comm.errors import SotError
from sot_tui.comm.inbox_lock import DEFAULT_WAITS, READ_WAIT, WRITE_WAIT
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.registry_lock import Wait

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.comm.links import Concern, LinkStanding


DAEMON_SECS = 2.0
"""Seconds in which this box's own daemon says how its links stand; one that is alive takes milliseconds."""


class Links(NamedTuple):
    """The links of this box: what it has to do with any, and how they stand."""

    concern: Concern
    standing: LinkStanding | None
    fault: str = ""
    """Why it is not known how they stand; empty, without a standing, where no daemon runs."""


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


def links_of(home: Home, host: str) -> Links | None:
    """Return how the links of this box stand, as its own daemon says it; None where it has to do with none."""
    concern = links.concern(topology.read(os.environ, home.disk), host)
    if concern is None:
        return None
    endpoint = endpoints.of_this_box(home, os.environ).endpoint
    if not endpoint:
        return Links(concern, None)
    if not isinstance(endpoints.parsed(endpoint), Local):
        return Links(concern, None, f"{endpoint} is asked in the place of this box's own daemon")
    from sot_tui.comm import wire  # noqa: PLC0415  (most boxes have no links)

    asker = wire.caller(os.environ, host, "", home.path)
    answer = wire.ask(home.clock, endpoint, asker, "version.query", {}, DAEMON_SECS)
    if isinstance(answer, wire.NoAnswer):
        return Links(concern, None, answer.why)
    standing = links.standing_in(answer.payload.get("links"))
    fault = answer.error or ("" if standing is not None else f"the daemon at {endpoint} does not say it")
    return Links(concern, None if fault else standing, fault)


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
