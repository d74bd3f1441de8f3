"""The ops about rows: listed, made, removed, viewed, typed into, read; and which handle is a row's.

Daemon wire 3.4 and 3.6 to 3.11. What may be done is decided by the rows themselves; here their answers become the
wire's. Two texts for one row are typed one after the other, never into each other.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from sot_tui.comm import names, paths, registry
from sot_tui.engine.ops.asked import Asked, Control, Reply, refusal, refused
from sot_tui.engine.rows.row import Phase, Refused, Row, Wanted

if TYPE_CHECKING:
    from sot_tui.comm.registry import Registry

ORIGIN_BYTES = 128
"""Bytes of the word by which a typed text is attributed (daemon wire 3.11)."""
READY_SECS = 5.0
"""Seconds in which a row that was stopped has to be ready to be typed into (daemon wire 3.11)."""
READY_POLL_SECS = 0.05


async def join(control: Control, asked: Asked) -> Reply:
    """Give a handle to a row; or, for a process outside any row, say whether a row holds it (daemon wire 3.4)."""
    row, handle = asked.text("workspace_id", ""), asked.text("handle")
    if row:
        said = await control.rows.declare(row, handle)
        return refusal(said) if said is not None else Reply({"ok": True})
    if not names.is_file_safe(handle):
        return refused("bad_handle", f'invalid handle: "{handle}"')
    holder = control.rows.holder_of(handle)
    if not holder:
        return Reply({"ok": True})
    return refused("held_by_row", f"@{handle} is held by a row", held_by_row=holder, row=holder)


async def listed(control: Control, asked: Asked) -> Reply:
    """Return every row, with what the registry says of its handle (daemon wire 3.6)."""
    del asked
    book = await control.in_thread(lambda: registry.read(control.home))
    known = None if isinstance(book, registry.Unread) else book
    return Reply({"workspaces": [_object(control, row, known) for row in control.rows.listed()]})


async def create(control: Control, asked: Asked) -> Reply:
    """Make a row and start its agent (daemon wire 3.8)."""
    wanted = Wanted(
        label=asked.text("label"),
        root=asked.text("project_root"),
        agent=asked.text("agent", ""),
        autostart_claude=asked.switch("autostart_claude"),
        agent_name=asked.text("agent_name", ""),
        task=asked.text("task", ""),
        account="" if asked.text("account", "") == "default" else asked.text("account", ""),
        runtime=asked.text("runtime", ""),
    )
    row = await control.rows.create(wanted)
    if isinstance(row, Refused):
        return refusal(row)
    made = {"workspace_id": row.id, "slug": row.slug, "label": row.label, "project_root": row.root}
    return Reply({**made, "session_name": row.session_name}, control.roster.revision)


async def destroy(control: Control, asked: Asked) -> Reply:
    """End a row's run, prove it, and remove the row (daemon wire 3.9)."""
    key = asked.text("workspace_id")
    row = control.rows.find(key)
    if row is None:
        return _unknown(key)
    said = await control.rows.destroy(row.id)
    if isinstance(said, Refused):
        return refusal(said)
    gone = {"workspace_id": row.id, "slug": row.slug, "label": row.label}
    return Reply({**gone, "tmux_killed": False, "toml_removed": True}, control.roster.revision)


async def activate(control: Control, asked: Asked) -> Reply:
    """Note that a person looks at a row; only a move of the view there clears its `done` (daemon wire 3.10)."""
    key, read = asked.text("workspace_id", ""), asked.switch("read")
    row = control.rows.find(key) if key else None
    if row is None:
        return Reply({})
    if read:
        await control.rows.viewed(row.id)
    return Reply({"workspace_id": row.id})


class Typing:
    """The op that types into a row; it keeps two texts for one row apart."""

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __call__(self, control: Control, asked: Asked) -> Reply:
        """Type bytes into a row, and Enter if that is asked for (daemon wire 3.11)."""
        key, enter = asked.text("workspace_id"), asked.switch("enter")
        row = control.rows.find(key)
        if row is None:
            return _unknown(key)
        try:
            data = base64.b64decode(asked.text("data_b64"), validate=True)
        except (binascii.Error, ValueError):
            return refused("bad_request", "data_b64 is no standard base64")
        if len(asked.text("origin", "").encode()) > ORIGIN_BYTES:
            return refused("bad_origin", f"origin is longer than {ORIGIN_BYTES} bytes")
        if not data and not enter:
            return Reply({"ok": True, "runtime": "capsule", "bytes": 0, "enter": "not_sent"})
        turn = self._turns.setdefault(row.id, asyncio.Lock())
        async with turn:
            return await self._typed(control, row, data, enter=enter)

    @staticmethod
    async def _typed(control: Control, row: Row, data: bytes, *, enter: bool) -> Reply:
        if await _is_stopped(control, row.id):
            resumed = await control.rows.resume(row.id)
            if isinstance(resumed, Refused):
                return refused("capsule_not_ready", resumed.sentence, phase=row.phase.value)
            await _until_ready(control, row.id)
        said = await control.rows.type(row.id, data, enter=enter)
        if isinstance(said, Refused):
            return refusal(said)
        return Reply({"ok": True, "runtime": "capsule", "bytes": said.count, "enter": said.enter})


async def screen(control: Control, asked: Asked) -> Reply:
    """Return what a row's terminal shows (daemon wire 3.11)."""
    shown = await control.rows.screen(asked.text("workspace_id"))
    if isinstance(shown, Refused):
        return refusal(shown)
    seen = shown.screen
    lines = ["".join(cell.data for cell in row).rstrip(" ") for row in seen.rows]
    cursor = {"row": seen.cursor_y, "col": seen.cursor_x}
    return Reply({"runtime": "capsule", "cols": seen.columns, "rows": seen.lines, "lines": lines, "cursor": cursor})


def changed(action: str, row: Row) -> dict[str, object]:
    """Return the event of a row's change (daemon wire 2.3)."""
    return {"action": action, "slug": row.slug, "workspace_id": row.id}


async def _is_stopped(control: Control, row_id: str) -> bool:
    """Tell whether a row does not run; one that was not looked at yet is waited for, as long as a step may take."""
    deadline = control.home.clock.monotonic() + READY_SECS
    while True:
        row = control.rows.find(row_id)
        if row is None or row.phase is not Phase.STOPPED:
            return False
        if control.rows.began:
            return True
        if control.home.clock.monotonic() >= deadline:
            return False
        await asyncio.sleep(READY_POLL_SECS)


async def _until_ready(control: Control, row_id: str) -> None:
    """Wait until a row is ready, at most as long as a step may take; the next step says how it stands."""
    deadline = control.home.clock.monotonic() + READY_SECS
    while control.home.clock.monotonic() < deadline:
        row = control.rows.find(row_id)
        if row is None or row.phase is not Phase.STARTING:
            return
        await asyncio.sleep(READY_POLL_SECS)


def _unknown(key: str) -> Reply:
    return refused("unknown_workspace", f"unknown workspace: {key}")


def _object(control: Control, row: Row, book: Registry | None) -> dict[str, object]:
    handle = control.rows.handle_of(row)
    entry = (book.entry(handle) if book is not None and handle else None) or {}
    if not registry.is_of_host(entry, control.host):
        entry = {}
    return {
        "workspace_id": row.id,
        "slug": row.slug,
        "label": row.label,
        "project_root": row.root,
        "session_name": row.session_name,
        "kernel_running": False,
        "is_default": False,
        "autostart_claude": row.agent == "claude",
        "agent": row.agent,
        "agent_name": handle or row.agent_name,
        "agent_handle": row.agent_handle,
        "task": row.task,
        "agent_state": _text(entry, "state"),
        "agent_summary": _text(entry, "summary"),
        "agent_status_at": _text(entry, "status_at"),
        "repl_state": "not_started",
        "runtime": "capsule",
        "state_dir": paths.row_folder(control.environ, row.id),
        "phase": row.phase.value,
        **({"activation_error": row.activation_error} if row.activation_error else {}),
        "account": row.account,
    }


def _text(entry: dict[str, object], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""
