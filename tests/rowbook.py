"""Rows without a process: the same surface as the supervisor's, kept in memory, for tests of what asks it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sot_tui.comm import names
from sot_tui.engine.rows.row import LATCHED, Phase, Refused, Row, Wanted
from sot_tui.engine.rows.values import Snapshot
from sot_tui.wake.terminal import Terminal

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


@dataclass(frozen=True)
class Typed:
    count: int
    enter: str


@dataclass
class RowBook:
    """The rows there are; a row that is made is ready at once."""

    rows: dict[str, Row] = field(default_factory=dict)
    typed: list[tuple[str, bytes, bool]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    """The rows that a person has viewed."""
    began: bool = True
    hold: asyncio.Event | None = None
    """What a typing waits for between its text and its Enter."""
    refuses: Refused | None = None
    """What the next change is refused with."""
    listeners: list[Callable[[str, Row], None]] = field(default_factory=list)

    def add(self, slug: str, **more: object) -> Row:
        row = Row(f"ws-{slug}-1", slug, slug, f"/src/{slug}", 1, phase=Phase.READY)
        row = replace(row, **more)  # type: ignore[arg-type]  # the names are those of a row
        self.rows[row.id] = row
        return row

    def listed(self) -> tuple[Row, ...]:
        return tuple(sorted(self.rows.values(), key=lambda row: row.slug))

    def find(self, key: str) -> Row | None:
        return self.rows.get(key) or next((row for row in self.rows.values() if row.slug == key), None)

    def handle_of(self, row: Row) -> str:
        return row.agent_handle or row.agent_name

    def holder_of(self, handle: str) -> str:
        held = (row.id for row in self.listed() if row.phase not in LATCHED and self.handle_of(row) == handle)
        return next(held, "")

    async def create(self, wanted: Wanted) -> Row | Refused:
        if self.refuses:
            return self.refuses
        if not os.path.isdir(wanted.root):
            return Refused("no_such_path", f"project_root does not exist: {wanted.root}")
        slug = names.slug(wanted.label)
        agent = wanted.agent or ("claude" if wanted.autostart_claude else "none")
        row = self.add(
            slug, label=wanted.label, root=wanted.root, agent=agent, agent_name=wanted.agent_name, task=wanted.task
        )
        self.say("created", row)
        return row

    async def destroy(self, key: str) -> object | Refused:
        if self.refuses:
            return self.refuses
        row = self.rows.pop(key)
        self.say("destroyed", row)
        return row

    async def declare(self, row_id: str, handle: str) -> Refused | None:
        if self.refuses:
            return self.refuses
        if not names.is_file_safe(handle):
            return Refused("bad_handle", f'invalid handle: "{handle}"')
        if row_id not in self.rows:
            return Refused("unknown_workspace", f'unknown workspace: "{row_id}"')
        for other in self.listed():
            if other.agent_handle == handle:
                self.rows[other.id] = replace(other, agent_handle="")
        self.rows[row_id] = replace(self.rows[row_id], agent_handle=handle)
        self.say("agent_joined", self.rows[row_id])
        return None

    async def viewed(self, key: str) -> str:
        self.seen.append(key)
        return key

    async def resume(self, key: str) -> Row | Refused:
        if self.refuses:
            return self.refuses
        self.rows[key] = replace(self.rows[key], phase=Phase.READY)
        return self.rows[key]

    async def type(self, key: str, data: bytes, *, enter: bool) -> Typed | Refused:
        row = self.find(key)
        assert row is not None
        if row.phase is not Phase.READY:
            phase = row.phase.value
            return Refused("capsule_not_ready", f"capsule row not ready (phase: {phase})", (("phase", phase),))
        self.typed.append((row.id, data, False))
        if self.hold is not None:
            await self.hold.wait()
        if enter:
            self.typed.append((row.id, b"\r", True))
        return Typed(len(data), "sent" if enter else "not_sent")

    async def screen(self, key: str) -> Snapshot | Refused:
        row = self.find(key)
        if row is None:
            return Refused("unknown_workspace", f"unknown workspace: {key}")
        terminal = Terminal(6, 2)
        terminal.feed("❯ hi\r\n日\x1b[2;3H".encode(), 0)
        return Snapshot(terminal.snapshot(0), "ready", 0, synchronizing=False)

    def listen(self, changed: Callable[[str, Row], None]) -> Callable[[], None]:
        self.listeners.append(changed)
        return lambda: self.listeners.remove(changed)

    def say(self, action: str, row: Row) -> None:
        for changed in tuple(self.listeners):
            changed(action, row)
