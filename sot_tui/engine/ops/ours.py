"""Our own ops, under `tui.`: the newest fleet, and a command by its name (docs/wire.md).

A command is what a person asks for at a screen, so it is done only for a process that is shown to be a person's: one
with an agent or a row's capsule above it, or whose ancestors cannot be read in full, is refused (contract, Cases: the
walk). Looking at the fleet is anybody's. What one of our own windows is given comes as a text of ASCII, in parts where
it is long: so a value is the very same at both ends, whatever stands in it and however long it is.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from sot_tui.comm import fleet_json
from sot_tui.engine.client import Outcome, RestWrites
from sot_tui.engine.ops import deltas, values
from sot_tui.engine.ops.asked import Asked, BadPayload, Control, Reply, refused

if TYPE_CHECKING:
    from sot_tui.comm.fleet import Fleet
    from sot_tui.engine.ops.asked import Peer

PART_CHARS = 1 << 18
"""Characters of a text that go into one answer; each takes two bytes there at most, and a frame holds a mebibyte."""
PARTS_LIMIT = 8
"""Answers of one connection that are fetched in parts at a time; the oldest is forgotten for one more."""


async def fleet(control: Control, asked: Asked) -> Reply:
    """Return the newest fleet as `sot-tui list --json` has it; the next change of it is told."""
    newest = control.client.fleet
    said = await control.in_thread(partial(fleet_json.fleet_object, newest, control.client.now()))
    _tell_next(control, asked.peer, newest)
    return Reply({"revision": newest.revision, **said})


def _tell_next(control: Control, peer: Peer, newest: Fleet) -> None:
    """Have the peer told of the next change; one behind the answer at once, or its notice would come before that."""
    peer.wants_changes = True
    if control.client.fleet.revision != newest.revision:
        asyncio.get_running_loop().call_soon(control.roster.fleet_changed)


async def window(control: Control, asked: Asked) -> Reply:
    """Let a person's window in: the person is there as long as this connection is."""
    why = await _not_a_person(control, asked.peer)
    if why:
        return refused("not_a_person", why)
    if not asked.peer.window:
        asked.peer.window = True
        control.roster.windows_changed()
    return Reply({"ok": True})


async def state(control: Control, asked: Asked) -> Reply:
    """Return what has changed since the fleet that this connection was last given, the first time the whole of it."""
    newest, was = control.client.fleet, asked.peer.given
    asked.peer.given = newest
    text = await control.in_thread(lambda: json.dumps(deltas.changes(was, newest), separators=(",", ":")))
    _tell_next(control, asked.peer, newest)
    return Reply({"revision": newest.revision, **_in_parts(asked.peer, text)})


async def do(control: Control, asked: Asked) -> Reply:
    """Carry out a command for a person, and return what came of it; a window says and gets it as a text."""
    name = asked.text("command")
    kind = values.commands().get(name)
    if kind is None:
        return refused("unknown_command", f"there is no command {name!r}")
    text = asked.text("json", "")
    try:
        command = values.decoded(kind, _fields(text) if text else asked.record().get("fields") or {})
    except values.BadValue as error:
        return refused("bad_command", f"{name}: {error}")
    why = await _not_a_person(control, asked.peer)
    if why:
        return refused("not_a_person", f"{name} is not done for {why}")
    outcome: object
    if isinstance(command, RestWrites):
        outcome = await _rested(control, asked.peer, command)
    else:
        outcome = await control.client.do(command)
    if not text:
        return Reply({"ok": True, "outcome": values.encoded(outcome)})
    said = await control.in_thread(lambda: json.dumps(values.encoded(outcome), separators=(",", ":")))
    return Reply({"ok": True, **_in_parts(asked.peer, said)})


async def _rested(control: Control, peer: Peer, command: RestWrites) -> Outcome:
    """Let the engine's writes rest, or go on, for a window: it ends what it began, and nothing of another's."""
    if not command.rest and not peer.rests:
        return Outcome(good=True)
    peer.rests += 1 if command.rest else -1
    return await control.client.do(command)


async def more(control: Control, asked: Asked) -> Reply:
    """Return the next part of an answer."""
    del control
    ticket = asked.record().get("ticket")
    if not isinstance(ticket, int) or ticket not in asked.peer.parts:
        raise BadPayload("there is nothing left of such a ticket")
    return Reply(_in_parts(asked.peer, asked.peer.parts.pop(ticket), ticket))


def _fields(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise values.BadValue(f"its fields are no JSON: {error}") from error


def _in_parts(peer: Peer, text: str, ticket: int = 0) -> dict[str, object]:
    """Return the first part of a text; what is left waits under a ticket, which stays the same to its end."""
    if len(text) <= PART_CHARS:
        return {"json": text}
    ticket = ticket or max(peer.parts, default=0) + 1
    peer.parts[ticket] = text[PART_CHARS:]
    while len(peer.parts) > PARTS_LIMIT:
        del peer.parts[min(peer.parts)]
    return {"json": text[:PART_CHARS], "more": ticket}


async def _not_a_person(control: Control, peer: Peer) -> str:
    """Return who asks, and why that is no person's process; empty when it is one."""
    pid = peer.pid
    why = await control.in_thread(partial(control.no_person, control.home, pid)) if pid else "it is not shown here"
    return f"process {pid}: {why}; only a person's own process may ask for it" if why else ""
