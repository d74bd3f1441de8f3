"""The dialogs of Claude rows: read from the screen every five seconds, and stamped as `dialog` and `resumed`.

Contract, registry.json: "A Claude Code session sends no event when a dialog shows, so the daemon reads the screen of
each working Claude row every 5 seconds and sends both". What it sends is written as the facts' own rules have it, with
no process (decision 0017). Two equal reads come before a change; a dialog that somebody else has written is left alone
while the screen shows one. It reads screens and writes two facts, and types nothing.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import facts, registry, stamping
from sot_tui.comm.facts import Verb
from sot_tui.comm.registry_lock import Wait
from sot_tui.comm.registry_text import Registry
from sot_tui.comm.stamping import Said
from sot_tui.comm.text import LINE_LIMIT
from sot_tui.engine.rows.row import LATCHED, Phase, Refused
from sot_tui.wake import dialog, policy
from sot_tui.wake.dialog import Looks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.engine.executors import InThread
    from sot_tui.engine.rows.row import Row
    from sot_tui.engine.rows.supervisor import Rows
    from sot_tui.wake.dialog import Waiting

READ_SECS = 5.0
"""Seconds between two reads of a working row (contract, registry.json)."""
AGAIN_SECS = 0.5
"""Seconds until the second read, where the first one shows a change."""


class _Entry(NamedTuple):
    """What of a registry entry says whether a row's screen is read."""

    works: bool
    dialog: str | None
    """The dialog that stands there; None when none does."""
    is_silent: bool = False
    """No hook and no session has ever said anything."""


class DialogDuty:
    """The dialog reader of one daemon's rows."""

    def __init__(
        self,
        home: Home,
        rows: Rows,
        *,
        blocking: InThread,
        may_write: Callable[[], Awaitable[object]],
        seen: Callable[[Mapping[str, str]], None],
        told: Callable[[str, bool], None],
    ) -> None:
        """`blocking` runs work on the disk, `may_write` returns when the registry may be written to.

        `seen` hears what the screens say of rows whose entries say nothing.
        """
        self._seen = seen
        self._evidence: dict[str, str] = {}
        self._home, self._rows = home, rows
        self._blocking, self._may_write, self._told = blocking, may_write, told
        self._looks: dict[str, Looks] = {}
        """What was seen of each run."""

    async def run(self, well: Callable[[], None]) -> None:
        """Read for ever."""
        while True:
            await self.tick()
            well()
            await asyncio.sleep(READ_SECS)

    async def tick(self) -> None:
        """Read every working row once; where one changed, once more, and write what both reads say."""
        entries = await self._blocking(self._entries)
        if entries is None:
            return  # an unreadable registry is not empty: nothing is known of any row
        read = [(row, handle) for row, handle in self._watched() if _is_read(entries.get(handle))]
        runs = {row.run for row, _ in read}
        self._looks = {run: looks for run, looks in self._looks.items() if run in runs}
        await asyncio.gather(*(self._row(row, handle) for row, handle in read))
        silent = [(row, handle) for row, handle in self._claimed() if _is_silent(entries.get(handle))]
        shown = await asyncio.gather(*(self._shown(row) for row, _ in silent))
        evidence = {handle: words for (_, handle), words in zip(silent, shown, strict=True) if words}
        if evidence != self._evidence:
            self._evidence = evidence
            self._seen(evidence)

    async def _shown(self, row: Row) -> str:
        """Return what the screen of a row says; its program's own report too, whatever the agent is."""
        seen = await self._rows.screen(row.id)
        return "" if isinstance(seen, Refused) else policy.evidence(seen.screen)

    def _watched(self) -> list[tuple[Row, str]]:
        """Return the Claude rows among them."""
        return [(row, handle) for row, handle in self._claimed() if row.agent == "claude"]

    def _claimed(self) -> list[tuple[Row, str]]:
        """Return the rows that run, with the handle that each alone claims."""
        claims = [(row, self._rows.handle_of(row)) for row in self._rows.listed() if row.phase not in LATCHED]
        handles = [handle for _, handle in claims]
        return [
            (row, handle)
            for row, handle in claims
            if handle and handles.count(handle) == 1 and row.phase is Phase.READY
        ]

    async def _row(self, row: Row, handle: str) -> None:
        before = self._looks.get(row.run, Looks())
        seen = await self._read(row)
        if isinstance(seen, str):
            return
        looks = before.after(seen)
        if looks.last != looks.settled or row.run not in self._looks:
            await asyncio.sleep(AGAIN_SECS)
            seen = await self._read(row)
            if isinstance(seen, str):
                return
            looks = looks.after(seen)
        self._looks[row.run] = looks
        if looks.last == looks.settled:
            await self._write(row, handle, looks.settled)

    async def _read(self, row: Row) -> Waiting | str | None:
        """Return the dialog on a row's screen; a sentence where the screen does not say."""
        seen = await self._rows.screen(row.id)
        if isinstance(seen, Refused):
            return seen.sentence
        if seen.lag or seen.synchronizing:
            return "its screen lags behind"
        return dialog.read(seen.screen)

    async def _write(self, row: Row, handle: str, waiting: Waiting | None) -> None:
        """Bring the entry's `dialog` to what the screen shows, if it is not that already."""
        entries = await self._blocking(self._entries)
        entry = entries.get(handle) if entries else None
        if entry is None or not _is_read(entry):
            return
        line = None if waiting is None else waiting.line[:LINE_LIMIT]
        if (line is None) == (entry.dialog is None):
            return
        said = Said(Verb.RESUMED) if line is None else Said(Verb.DIALOG, line)
        await self._may_write()
        written = await self._blocking(partial(stamping.say, self._home, handle, None, [said], Wait.TOUCH))
        if isinstance(written, registry.NotWritten):
            self._told(f"row '{row.slug}': its dialog was not stamped: {written.sentence}", False)
        elif isinstance(written, stamping.Stamped):
            words = "its dialog is gone" if line is None else f"a dialog waits on you: {line}"
            self._told(f"row '{row.slug}': {words}", True)

    def _entries(self) -> dict[str, _Entry] | None:
        book = registry.read(self._home)
        if not isinstance(book, Registry):
            return None
        found = {}
        for handle in book.agents:
            entry = book.entry(handle)
            if entry is not None:
                said = entry.get("dialog")
                is_set = said is not None and said is not False
                silent = not entry.get("state") and not any(entry.get(fact) for fact in facts.FACTS)
                found[handle] = _Entry(bool(entry.get("floor")), str(said) if is_set else None, silent)
        return found


def _is_silent(entry: _Entry | None) -> bool:
    return entry is not None and entry.is_silent


def _is_read(entry: _Entry | None) -> bool:
    """Tell whether a row's screen is read: while it works, and until the dialog that was stamped is gone."""
    return entry is not None and (entry.works or entry.dialog is not None)
