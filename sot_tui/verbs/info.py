"""`sot-tui info`: where everything is, and which value each setting has (product, The habits people bring).

Every path whether or not something is there, every key of the settings with where its value comes from, every variable
that sets a time, the mount and the lock manager. It looks only: nothing is made, locked, stamped or written.
"""

from __future__ import annotations

import os
import sys

from sot_tui.comm import config, doctor, endpoints, look, mounts, paths, scripts, topology
from sot_tui.comm.clock import age_text, seconds_said
from sot_tui.comm.config import Source
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import PROTOCOL_VERSION, home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.text import visible
from sot_tui.verbs import _setup
from sot_tui.verbs._session import ask, misused, say, say_json, tell

if TYPE_CHECKING:
    from typing import Any

    from sot_tui.comm.config import Config
    from sot_tui.comm.home import Home

USAGE = """\
Examples:
  sot-tui info                  every path, and every setting with where its value comes from
  sot-tui info --json           the same for a program (docs/json.md)

Usage: sot-tui info [--json]

It looks and changes nothing; `sot-tui doctor` says whether what it finds is well.
"""


def main(argv: list[str]) -> int:
    """Print it all; the exit code is 0, or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    unknown = [word for word in argv if word != "--json"]
    if unknown:
        return misused(USAGE, f"sot-tui info: unknown argument {unknown[0]}")
    home = home_here()
    settings = config.read(os.environ, home.disk)
    tell(*(f"note: {warning}" for warning in settings.warnings))
    facts = _facts(home, settings)
    if argv:
        say_json(facts)
    else:
        say("".join(visible(line) + "\n" for line in _lines(facts)))
    return Exit.OK


def _facts(home: Home, settings: Config) -> dict[str, Any]:
    host, fault = _setup.host_of(home)
    return {
        "versions": _versions(),
        "host": host or None,
        "host_fault": fault or None,
        "operator": (look.operator(host, settings) or None) if host else None,
        "paths": _paths(home, settings),
        "settings": [
            {"key": key.name, "value": settings.values[key.name], "source": settings.sources[key.name].value}
            for key in config.KEYS
        ],
        "variables": [_variable(variable) for variable in _setup.VARIABLES],
        "topology": _topology(home, host),
        "endpoints": _endpoints(home, host),
        "links": _links(home, host),
        "scripts": _scripts(home),
        "notifier": _notifier(home, settings),
        "mount": _mount(home),
        "lock_manager": _lock_manager(home),
    }


def _versions() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  (it brings much, for two numbers)

    found: dict[str, Any] = {}
    for name in ("sot-tui", "textual"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    found["python"] = ".".join(map(str, sys.version_info[:3]))
    found["protocol"] = PROTOCOL_VERSION
    return found


def _paths(home: Home, settings: Config) -> list[dict[str, Any]]:
    named = {
        "comm home": home.path,
        "registry": home.registry,
        "registry lock": home.lock,
        "inboxes": home.inboxes,
        "cursors": home.cursors,
        "self files": home.selves,
        "lock manager": home.lock_manager,
        "settings": settings.path,
        "topology": paths.topology_file(os.environ),
        "state root": paths.state_root(os.environ),
        "daemon lock": paths.daemon_lock(os.environ),
        "own state": paths.own_state(os.environ),
        "events": paths.events_log(os.environ),
        "set aside": paths.set_aside_file(os.environ),
    }
    found = []
    for name, path in named.items():
        entry = _setup.entry_at(home, path)
        there = None if entry.fault else entry.mode is not None
        found.append({"name": name, "path": path, "there": there})
    return found


def _variable(variable: _setup.Variable) -> dict[str, Any]:
    fault = _setup.fault_of(variable)
    source = Source.ENVIRONMENT if os.environ.get(variable.name) else Source.DEFAULT
    return {
        "name": variable.name,
        "value": None if fault else seconds_said(os.environ, variable.name, variable.default),
        "source": source.value,
        "help": variable.help,
        "fault": fault or None,
    }


def _topology(home: Home, host: str) -> dict[str, Any]:
    found = topology.read(os.environ, home.disk)
    listed = found if isinstance(found, topology.Topology) else None
    return {
        "role": doctor.role(host, found) or None,
        "hub": listed.hub if listed else None,
        "boxes": list(listed.boxes) if listed else [],
        "fault": found.why if isinstance(found, topology.Unlisted) else None,
    }


def _endpoints(home: Home, host: str) -> dict[str, Any]:
    own = endpoints.of_this_box(home, os.environ)
    hub = endpoints.of_the_hub(home, os.environ, host)
    return {
        "socket": endpoints.own_socket(home, os.environ) or None,
        "daemon": own.endpoint or None,
        "relay": hub.endpoint or None,
        "notes": list(dict.fromkeys((*own.notes, *hub.notes))),
    }


def _links(home: Home, host: str) -> dict[str, Any] | None:
    found = _setup.links_of(home, host)
    if found is None:
        return None
    stands = found.standing._asdict() if found.standing is not None else None
    return {
        "to": found.concern.hub or None,
        "from": list(found.concern.others),
        "standing": stands,
        "fault": found.fault or None,
    }


def _scripts(home: Home) -> dict[str, Any]:
    found = scripts.standing(home, _setup.release())
    return {
        "folder": found.folder,
        "state": found.stand.value,
        "version": found.version or None,
        "names": list(found.names),
        "fault": found.fault or None,
    }


def _notifier(home: Home, settings: Config) -> dict[str, Any]:
    from sot_tui.notify.standing import standing  # noqa: PLC0415  (what serves is heavy, and a usage error needs none)

    found = standing(home, os.environ, settings)
    serves, last = found.server, found.last
    return {
        "sender": found.sender,
        "disabled": found.disabled,
        "socket": found.socket,
        "served_by": {"pid": serves.pid, "what": serves.what} if serves else None,
        "quiet_hours": found.quiet_hours or None,
        "quiet_now": found.quiet_now,
        "held": found.held,
        "last": last._asdict() if last else None,
        "serving": [
            {"pid": one.pid, "what": one.what, "sends": one.sends.value, "settings": one.settings or None}
            for one in found.serving
        ],
    }


def _mount(home: Home) -> dict[str, Any]:
    mount = mounts.home_mount(home)
    return {
        "point": mount.point if mount else None,
        "kind": mount.kind if mount else None,
        "source": mount.source if mount else None,
        "fresh_reads": mounts.proves_fresh_reads(home),
    }


def _lock_manager(home: Home) -> dict[str, Any]:
    fault = None
    try:
        record = mounts.lock_record(home)
    except OSError as error:
        record, fault = None, error.strerror or str(error)
    return {
        "here": mounts.lock_identity(home),
        "recorded": record.manager if record else None,
        "writer": (record.writer or None) if record else None,
        "files_here": mounts.appends_here(home) is not None,
        "fault": fault,
    }


# -- in words ---------------------------------------------------------------------------------------------------------

_WIDE = 26
"""Cells of the first column: the longest name of a variable, and two."""


def _lines(facts: dict[str, Any]) -> list[str]:
    versions, mount, manager = facts["versions"], facts["mount"], facts["lock_manager"]
    told = [f"{name} {version}" for name, version in versions.items() if name in {"python", "textual"} and version]
    lines = [
        _line("version", f"sot-tui {versions['sot-tui'] or '(not installed)'}, sot-comm protocol v{PROTOCOL_VERSION}"),
        _line("", ", ".join(told)),
        _line("host", facts["host"] or f"none: {facts['host_fault']}"),
        _line("operator", f"@{facts['operator']}" if facts["operator"] else "none"),
        "",
    ]
    lines += [_line(one["name"], one["path"] + _THERE[one["there"]]) for one in facts["paths"]]
    lines.append("")
    lines += [_line(one["key"], f"{_value(one['value'])}  ({one['source']})") for one in facts["settings"]]
    lines.append("")
    for one in facts["variables"]:
        said = one["fault"] or f"{one['value']:g} s  ({one['source']}; {one['help']})"
        lines.append(_line(one["name"], said))
    on = f"{mount['kind']}, {mount['source']} mounted on {mount['point']}" if mount["kind"] else "not known"
    fresh = "reads are fresh" if mount["fresh_reads"] else "reads are not known to be fresh"
    record = manager["recorded"] or (f"could not be read: {manager['fault']}" if manager["fault"] else "none")
    files = "a session here files mail by itself" if manager["files_here"] else "a session here files no mail by itself"
    boxes, ways, stubs = facts["topology"], facts["endpoints"], facts["scripts"]
    state = f"{stubs['state']}{': ' + stubs['fault'] if stubs['fault'] else ''}"
    lines += [
        "",
        _line("role", boxes["role"] or f"not known: {boxes['fault'] or 'this box is not listed'}"),
        _line("daemon socket", ways["socket"] or "none"),
        _line("daemon", ways["daemon"] or "none listens"),
        _line("relay", ways["relay"] or "none"),
        *(_line("", note) for note in ways["notes"]),
        *_link_lines(facts["links"]),
        _line("scripts", f"{state}{', ' + stubs['version'] if stubs['version'] else ''}, in {stubs['folder']}"),
        *(_line("", name) for name in stubs["names"] if stubs["state"] != scripts.Stand.MISSING.value),
    ]
    lines += ["", *_notifier_lines(facts["notifier"])]
    lines += [
        "",
        _line("mount", f"{on}; {fresh}"),
        _line("lock manager here", manager["here"]),
        _line("lock manager recorded", record + (f", by {manager['writer']}" if manager["writer"] else "")),
        _line("", files),
    ]
    return lines


def _link_lines(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    stands, hub = found["standing"], found["to"]
    if stands is None:
        return [_line("link" if hub else "links", found["fault"] or "no daemon runs here that keeps any")]
    if not hub:
        missing = f"; not linked: {', '.join(stands['missing'])}" if stands["missing"] else ""
        return [_line("links", f"linked: {', '.join(stands['linked']) or 'nobody'}{missing}")]
    age = age_text(stands["since_s"])
    if stands["up"]:
        return [_line("link", f"to {stands['hub']}, which stands for {age}")]
    if not stands["hub"]:
        return [_line("link", f"none: the daemon started before the list of boxes had one to {hub}")]
    again = f"next try in {stands['next_try_s']} s" if stands["next_try_s"] else "it is being tried"
    why = f"{stands['why']}; " if stands["why"] else ""
    return [_line("link", f"to {stands['hub']}, which does not stand for {age}: {why}{again}")]


def _notifier_lines(found: dict[str, Any]) -> list[str]:
    serves, last, held = found["served_by"], found["last"], found["held"]
    sender = "switched off ($STEWARD_NTFY_DISABLED)" if found["disabled"] else "none is configured"
    hours = f"{found['quiet_hours']}{', now' if found['quiet_now'] else ''}" if found["quiet_hours"] else "none"
    kept = "what is held back cannot be read" if held is None else f"{held} held back" if held else ""
    return [
        _line("push sender", "configured" if found["sender"] else sender),
        _line("hooks' socket", found["socket"]),
        _line("served by", f"the {serves['what']} of pid {serves['pid']}" if serves else "none of ours"),
        *(
            _line("" if at else "pushes", f"the {one['what']} of pid {one['pid']} {_SENDS[one['sends']]}{_reads(one)}")
            for at, one in enumerate(found["serving"])
        ),
        _line("quiet hours", f"{hours}; {kept}" if kept else hours),
        _line("last push", f"{last['result']} at {last['at']} ({last['reason']})" if last else "none"),
    ]


_SENDS = {
    "as here": "sends as this environment says",
    "nowhere": "has no sender: its environment names none",
    "elsewhere": "sends to another topic, or with another token, than this environment names",
    "somewhere": "has a sender of its own environment",
}
"""What is said of a process that pushes, by how it stands to this environment."""


def _reads(one: dict[str, Any]) -> str:
    return f"; its settings are {one['settings']}" if one["settings"] else ""


_THERE = {True: "", False: "  (not there)", None: "  (cannot be looked at)"}


def _line(name: str, said: str) -> str:
    return f"{name:<{_WIDE}}{said}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"
