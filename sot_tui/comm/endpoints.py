"""Where a daemon is reached: this box's own, and the hub's.

Daemon wire 1.1 to 1.4. An endpoint is a text, as variables and messages have it, and is taken apart only to be dialled.
Names come from variables, from the folder a daemon listens in, and from the topology; no program is started to ask. A
value that names something this version cannot dial is said once and never dialled; where a person gave it, nothing
else is dialled in its place. The search for the hub never falls back to this box's own daemon.
"""

from __future__ import annotations

import os
import stat
import sys

from sot_tui.comm import names, topology
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.topology import PLAIN_NAME, Unlisted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home

DEFAULT_LABEL = "sot"
"""The label of a daemon that was given none (daemon wire 1.2)."""
PATH_LIMIT = 103 if sys.platform == "darwin" else 107
"""Bytes of a socket's path, its closing NUL not counted (sockaddr_un)."""


class Local(NamedTuple):
    """A socket on this box."""

    path: str


class Remote(NamedTuple):
    """A daemon on another box, by way of ssh."""

    target: str
    host: str
    """The box whose link at the target is meant; empty: the target's own daemon."""


class Found(NamedTuple):
    """What a search for a daemon came to."""

    endpoint: str
    """Empty when there is none."""
    notes: tuple[str, ...] = ()
    """Lines for stderr."""


def parsed(endpoint: str) -> Local | Remote | None:
    """Return what an endpoint names, or None when this version cannot dial it."""
    scheme, _, rest = endpoint.partition(":")
    if scheme == "unix" and rest.startswith("/") and "\0" not in rest:
        return Local(rest)
    if scheme != "ssh":
        return None
    target, slash, host = rest.partition("/")
    if not PLAIN_NAME.fullmatch(target) or (slash and not PLAIN_NAME.fullmatch(host)):
        return None
    return Remote(target, host)


def of_this_box(home: Home, environ: Mapping[str, str], explicit: str = "") -> Found:
    """Return the endpoint of this box's own daemon; an explicit one that cannot be dialled is never replaced."""
    said = explicit or environ.get("SOT_SPAWN_ENDPOINT", "")
    if said:
        return Found(said) if parsed(said) else Found("", (_discarding(said),))
    path = own_socket(home, environ)
    # What a row is told is taken at its word; by the label alone, there is a daemon only where a socket is.
    is_there = path and (environ.get("SOT_SOCKET") or _is_socket(home, path))
    return Found(f"unix:{path}" if is_there else "")


def of_the_hub(home: Home, environ: Mapping[str, str], host: str) -> Found:
    """Return the endpoint by which the box `host` reaches its hub."""
    notes: list[str] = []
    for name in ("SOT_RELAY_ENDPOINT", "SOT_SPAWN_ENDPOINT"):
        said = environ.get(name, "")
        if said and parsed(said):
            return Found(said, tuple(notes))
        if said:
            notes.append(_discarding(said))
    way = way_to_hub(home, environ, host)
    if isinstance(way, Unlisted):
        return Found("", (*notes, f"comm-lib: the topology gives no way to the hub: {way.why}"))
    # The hub reaches itself, and so does a box of which no file speaks.
    return Found(way or of_this_box(home, {**environ, "SOT_SPAWN_ENDPOINT": ""}).endpoint, tuple(notes))


def way_to_hub(home: Home, environ: Mapping[str, str], host: str) -> str | Unlisted:
    """Return the endpoint that the topology gives the box `host` for its hub, "" where that is its own daemon."""
    boxes = topology.read(environ, home.disk)
    if isinstance(boxes, topology.Topology):
        return topology.way_to_hub(boxes, host, topology.runtime_base())
    return boxes if boxes is not None else ""


def way_to_box(home: Home, environ: Mapping[str, str], host: str, name: str) -> str | Unlisted:
    """Return the endpoint by which the box `host` reaches the daemon of the box `name`, as its list of boxes has it."""
    boxes = topology.read(environ, home.disk)
    if isinstance(boxes, topology.Topology):
        return topology.way_to(boxes, host, name.lower(), topology.runtime_base())
    return boxes or Unlisted("there is no list of boxes that says how to reach it")


def of_this_box_else_the_hub(home: Home, environ: Mapping[str, str], host: str) -> Found:
    """Return who owns the comm folder as far as this box can tell: its own daemon, else the hub."""
    own = of_this_box(home, environ)
    return own if own.endpoint or own.notes else of_the_hub(home, environ, host)


def session_socket(home: Home, environ: Mapping[str, str], label: str) -> str:
    """Return the path at which a daemon of this label listens; one that no socket can have is given a short name."""
    name = names.slug(label)
    short = f"/tmp/sot-{os.geteuid()}/sessions"  # noqa: S108  (where the daemons look, too)
    path = f"{short}/{name}.sock"
    for base in _bases(environ):
        if is_private(home, base):
            path = f"{base}/sot/sessions/{name}.sock"
            break
    if len(os.fsencode(path)) <= PATH_LIMIT:
        return path
    import hashlib  # noqa: PLC0415  (hardly a folder is so deep)

    return f"{short}/{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}.sock"


def own_socket(home: Home, environ: Mapping[str, str]) -> str:
    """Return where this box's daemon listens, or would: what a row is told, else by its label; "" for no such path."""
    told = environ.get("SOT_SOCKET", "")
    if told:
        return told if parsed(f"unix:{told}") else ""
    return session_socket(home, environ, environ.get("SOT_BACKEND_LABEL") or DEFAULT_LABEL)


def _bases(environ: Mapping[str, str]) -> tuple[str, ...]:
    said = environ.get("XDG_RUNTIME_DIR", "")
    return (*([said.rstrip("/")] if said.startswith("/") else []), topology.runtime_base())


def is_private(home: Home, folder: str) -> bool:
    """Tell whether a folder is a real one, of this account, and closed to every other."""
    try:
        found = home.disk.stat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077


def _is_socket(home: Home, path: str) -> bool:
    try:
        return stat.S_ISSOCK(home.disk.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _discarding(value: str) -> str:
    return f"comm-lib: discarding an endpoint this version cannot dial: {value}"
