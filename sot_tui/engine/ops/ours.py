"""Our own ops, under `tui.`: the newest fleet, and a command by its name (docs/wire.md).

A command is what a person asks for at a screen, so it is done only for a process that is shown to be a person's: one
with an agent or a row's capsule above it, or whose ancestors cannot be read in full, is refused (contract, Cases: the
walk). Looking at the fleet is anybody's.
"""

from __future__ import annotations

import asyncio
from functools import partial

from sot_tui.comm import ancestry, fleet_json
from sot_tui.engine.ops import values
from sot_tui.engine.ops.asked import Asked, Control, Reply, refused


async def fleet(control: Control, asked: Asked) -> Reply:
    """Return the newest fleet as `sot-tui list --json` has it; the next change of it is told."""
    newest = control.client.fleet
    said = await control.in_thread(partial(fleet_json.fleet_object, newest, control.client.now()))
    # Only a change behind the answer is told, or the notice would come before what it makes old.
    asked.peer.wants_changes = True
    if control.client.fleet.revision != newest.revision:
        asyncio.get_running_loop().call_soon(control.roster.fleet_changed)
    return Reply({"revision": newest.revision, **said})


async def do(control: Control, asked: Asked) -> Reply:
    """Carry out a command for a person, and return what came of it."""
    name = asked.text("command")
    kind = values.commands().get(name)
    if kind is None:
        return refused("unknown_command", f"there is no command {name!r}")
    try:
        command = values.decoded(kind, asked.record().get("fields") or {})
    except values.BadValue as error:
        return refused("bad_command", f"{name}: {error}")
    pid = asked.peer.pid
    why = await control.in_thread(partial(ancestry.not_a_person, control.home, pid)) if pid else "it is not shown here"
    if why:
        words = f"{name} is not done for process {pid}: {why}; only a person's own process may ask for it"
        return refused("not_a_person", words)
    return Reply({"ok": True, "outcome": values.encoded(await control.client.do(command))})
