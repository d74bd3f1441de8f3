"""The boxes, as `hosts.toml` lists them: which is the hub, and how this box reaches it.

Daemon wire 1.7. A file that breaks one rule says nothing at all: an unreadable topology names no hub (contract,
Delivery) and gives no way to it, which is not the same as no file. A key that is not known in a box's own section is
one warning. What a TOML file may hold beyond strings, switches and whole numbers is refused, as every reader of the
protocol refuses it. Nothing here writes, and no box is asked.
"""

from __future__ import annotations

import os
import re

from sot_tui.comm import paths
from sot_tui.comm.config import read_toml
from sot_tui.comm.disk import Disk
from sot_tui.comm.errors import Refused
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,252}", re.ASCII)
"""What the name of a box, and the target of an endpoint, is made of (daemon wire 1.1); no host's is longer."""
_QUOTED_CHARS = 80
"""What a sentence quotes of a name that is none."""

_SECTIONS = frozenset({"host", "monitor"})
_SWITCHES = ("daemon", "frontend")


class Box(NamedTuple):
    """One box of the list."""

    daemon: bool = False
    """Whether a daemon runs there."""
    frontend: bool = False
    """Whether a person sits there; it has a comm folder of its own and reaches the hub over ssh."""


class Topology(NamedTuple):
    """The boxes there are."""

    hub: str
    boxes: Mapping[str, Box]
    warnings: tuple[str, ...] = ()


class Unlisted(NamedTuple):
    """There is no topology to go by: the file cannot be used, or does not list this box."""

    why: str


def read(environ: Mapping[str, str], disk: Disk | None = None) -> Topology | Unlisted | None:
    """Return the topology, None when there is no such file."""
    path = paths.topology_file(environ)
    said, wrong = read_toml(path, disk or Disk())
    if said is None:
        return Unlisted(f"{path}: {wrong}") if wrong else None
    found = _checked(said)
    return Unlisted(f"{path}: {found}") if isinstance(found, str) else found


def names_hub(environ: Mapping[str, str], host: str, disk: Disk | None = None) -> bool:
    """Tell whether there is no topology file, or it names `host` its hub; an unreadable one names nobody."""
    found = read(environ, disk)
    return found is None or (isinstance(found, Topology) and found.hub == host)


def way_to_hub(found: Topology, host: str, base: str) -> str | Unlisted:
    """Return the relay endpoint of the box `host`, "" when it is the hub itself; `base` is its runtime folder."""
    if host not in found.boxes:
        return Unlisted(f"`{host}` is not a listed host")
    if host == found.hub:
        return ""
    return f"ssh:{found.hub}" if found.boxes[host].frontend else f"unix:{base}/sot-relay.sock"


def plan(found: Topology, host: str, base: str, own: str) -> tuple[str, ...]:
    """Return the lines by which a box is told of the others (daemon wire 1.5); `own` is its own daemon's endpoint.

    A box that sits behind its own link reaches another one through the hub; the hub by the socket of that box's link.
    Raises Refused for a box that is not listed.
    """
    way = way_to_hub(found, host, base)
    if isinstance(way, Unlisted):
        raise Refused(way.why)
    lines = (f"self {host}", f"hub {found.hub}", f"relay-endpoint {way or own}")
    ways = ((name, way_to(found, host, name, base)) for name in found.boxes if name != host)
    return (*lines, *(f"dial {name} {way}" for name, way in ways if isinstance(way, str)))


def way_to(found: Topology, host: str, name: str, base: str) -> str | Unlisted:
    """Return the endpoint by which the box `host` reaches the daemon of another one, `name` (daemon wire 1.5)."""
    way = way_to_hub(found, host, base)
    box = found.boxes.get(name)
    if isinstance(way, Unlisted) or box is None:
        return way if isinstance(way, Unlisted) else Unlisted(f"`{name}` is not a listed host")
    if not box.daemon:
        return Unlisted(f"no daemon runs on `{name}`")
    if name == found.hub:
        return way
    if not way:
        return f"unix:{link_socket(base, name)}" if box.frontend else f"ssh:{name}"
    if found.boxes[host].frontend:
        return f"ssh:{found.hub}/{name}"
    return Unlisted(f"`{host}` has a way to its hub alone")


def link_socket(base: str, host: str) -> str:
    """Return where, on the hub, the link of the box `host` is reached (daemon wire 1.5)."""
    return f"{base}/sot-host-{host}.sock"


def runtime_base() -> str:
    """Return the folder in which a box's link to its hub lies, whatever `$XDG_RUNTIME_DIR` says."""
    return f"/run/user/{os.geteuid()}"


def _checked(said: dict[str, Any]) -> Topology | str:
    """Return the topology a file describes, or the first rule it breaks."""
    for key, value in said.items():
        if key not in {"hub", *_SECTIONS} or (key in _SECTIONS) is not isinstance(value, dict):
            return f"{_quoted(key)} is not known there"
    hub, hosts = said.get("hub"), said.get("host", {})
    if not isinstance(hub, str) or not hub:
        return "it names no hub"
    boxes: dict[str, Box] = {}
    warnings: list[str] = []
    for name, section in hosts.items():
        if not PLAIN_NAME.fullmatch(name) or not isinstance(section, dict):
            return f"{_quoted(name)} is not a plain host name"
        odd = next((key for key, value in section.items() if not _is_plain(key, value)), None)
        if odd is not None:
            return f"[host.{name}]: {_quoted(odd)} has a value that is not allowed"
        boxes[name] = Box(*(section.get(switch, False) for switch in _SWITCHES))
        warnings += [f"[host.{name}]: the key {_quoted(key)} is not known" for key in section if key not in _SWITCHES]
    if any(not _is_plain("", value) for value in said.get("monitor", {}).values()):
        return "[monitor] has a value that is not allowed"
    if hub not in boxes:
        return f"the hub {_quoted(hub)} is not listed"
    if not boxes[hub].daemon:
        return f"the hub {_quoted(hub)} has no daemon = true"
    return Topology(hub, boxes, tuple(warnings))


def _quoted(name: str) -> str:
    return repr(name if len(name) <= _QUOTED_CHARS else f"{name[:_QUOTED_CHARS]}…")


def _is_plain(key: str, value: object) -> bool:
    """Tell whether a value is of the accepted subset; a switch is true or false."""
    return isinstance(value, bool) if key in _SWITCHES else isinstance(value, str | int)
