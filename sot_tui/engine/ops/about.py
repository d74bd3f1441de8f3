"""The ops about the daemon itself, the frontends and the logins (daemon wire 3.12)."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from sot_tui.comm import paths
from sot_tui.comm.wire import PROTOCOL
from sot_tui.engine.admission import Role
from sot_tui.engine.ops.asked import Asked, BadPayload, Control, Reply
from sot_tui.engine.rows import agents
from sot_tui.engine.rows.lane_wire import LANE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sot_tui.comm.home import Home
    from sot_tui.engine.ops.asked import Peer

TOPOLOGY_BYTES = 1 << 20
"""Bytes of hosts.toml that are hashed."""
SESSIONS_LIMIT = 1000
"""Sessions that a frontend may list."""
_LOGIN = ".credentials.json"
"""The file by which Claude Code is logged in."""
_SESSION_KEYS = ("handle", "state", "summary", "status_at")


async def ping(control: Control, asked: Asked) -> Reply:
    """Say that the daemon is there."""
    del control, asked
    return Reply({"ok": True})


async def version(control: Control, asked: Asked) -> Reply:
    """Say what runs here, and who is connected."""
    del asked
    now = control.home.clock.monotonic()
    about = {
        "app_version": control.version,
        "protocol": PROTOCOL,
        "lane_build": control.version,
        "lane_proto": LANE,
        "host": control.host,
        "hosts_toml_hash": await control.in_thread(lambda: topology_hash(control.home, control.environ)),
        "uptime_s": int(now - control.begun),
        "comm_home": control.home.path,
        "program": "sot-tui",
    }
    gone = [{"identity": identity, "since_s": int(seconds)} for identity, seconds in control.roster.gone()]
    return Reply(
        {
            "daemon": about,
            "clients": [_client(peer) for peer in control.roster.peers()],
            "disconnected": gone,
            "links": (await control.roster.links())._asdict(),
        }
    )


def _client(peer: Peer) -> dict[str, object]:
    hello = peer.hello
    return {
        "client_id": hello.client_id,
        "app_version": hello.app_version,
        "protocol": hello.protocol,
        "host": hello.host,
        "role": hello.role.value,
        "instance": hello.instance,
        "name": hello.name,
        "active": peer.active,
        **({"sessions": peer.sessions} if peer.sessions else {}),
    }


def topology_hash(home: Home, environ: Mapping[str, str]) -> str:
    """Return what tells one hosts.toml from another; "" where there is none, or it cannot be read."""
    try:
        return hashlib.sha256(home.disk.read_up_to(paths.topology_file(environ), TOPOLOGY_BYTES)).hexdigest()
    except OSError:
        return ""


async def accounts(control: Control, asked: Asked) -> Reply:
    """List the logins of this box, the default one first."""
    del asked
    return Reply({"accounts": await control.in_thread(lambda: _accounts(control.environ))})


def _accounts(environ: Mapping[str, str]) -> list[dict[str, object]]:
    return [
        {"name": name, "kinds": ["claude"], "logged_in": {"claude": os.path.isfile(f"{place}/{_LOGIN}")}}
        for name, place in agents.accounts(environ)
    ]


async def command(control: Control, asked: Asked) -> Reply:
    """Publish a command for the frontends, and say how many of them it is for."""
    said = asked.record()
    target = asked.text("target", "")
    fronts = [peer for peer in control.roster.peers() if peer.hello.role is Role.FE]
    meant = [peer for peer in fronts if target in {"", peer.hello.name, peer.hello.instance}]
    its = {"target": target} if target else {}
    control.roster.publish("fe.command", {"v": 1, "cmd": asked.text("cmd"), "args": said.get("args"), **its})
    resolved = {"resolved_target": meant[0].hello.name} if target and meant else {}
    return Reply({"ok": True, **resolved, "delivered_to": len(meant)})


async def presence(control: Control, asked: Asked) -> Reply:
    """Note that a person is at a frontend."""
    del control
    asked.peer.active = True
    return Reply({"ok": True})


async def sessions(control: Control, asked: Asked) -> Reply:
    """Note which sessions a frontend shows."""
    del control
    asked.peer.sessions = _sessions(asked.record().get("sessions"))
    return Reply({"ok": True})


def _sessions(said: object) -> Sequence[Mapping[str, str]]:
    if not isinstance(said, list) or len(said) > SESSIONS_LIMIT:
        raise BadPayload(f"`sessions` is no list of up to {SESSIONS_LIMIT}")
    found = []
    for one in said:
        if not isinstance(one, dict) or not all(isinstance(one.get(key, ""), str) for key in _SESSION_KEYS):
            raise BadPayload("`sessions` holds what is no session")
        found.append({key: one.get(key, "") for key in _SESSION_KEYS})
    return found
