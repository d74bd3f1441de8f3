"""What a person asks of the rows of this box: to start, end and resume them, to answer their dialogs, to find a folder.

Each command becomes one call of what rules it (`rows.making`, the supervisor, `rows.dialogs`), and what that says is
its outcome, word for word. Nothing is decided here, and no row is touched but by its key.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sot_tui.comm import spawning
from sot_tui.engine.client import (
    AnswerDialog,
    CreateRow,
    EndRow,
    Folders,
    Line,
    ListFolders,
    Outcome,
    ReadDialog,
    ResumeLine,
    ResumeRow,
    RowDone,
)
from sot_tui.engine.hosting import row_refusal
from sot_tui.engine.rows import making
from sot_tui.engine.rows.dialogs import Dialogs
from sot_tui.engine.rows.row import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sot_tui.comm.fleet import Fleet
    from sot_tui.comm.home import Home
    from sot_tui.engine.executors import InThread
    from sot_tui.engine.rows.supervisor import Rows


class RowCommands:
    """Carries out what is asked of the rows; the disk is touched by `in_thread`, `noted` hears of what went amiss."""

    def __init__(
        self, home: Home, environ: Mapping[str, str], in_thread: InThread, noted: Callable[[str], None]
    ) -> None:
        self._home, self._environ = home, environ
        self._in_thread, self._noted = in_thread, noted
        self._dialogs = Dialogs(home.clock)

    async def carry_out(self, command: object, rows: Rows | None, fleet: Fleet) -> object:
        """Return the outcome of a command; without rows it is refused in its own form."""
        if isinstance(command, ListFolders):
            return await self._folders(fleet, command.prefix)
        if rows is None:
            return row_refusal(command, fleet.stance_why or "the rows of this box are not known yet")
        match command:
            case CreateRow():
                return await self._made(rows, command)
            case EndRow(row, remove):
                return await self._ended(rows, row, remove=remove)
            case ResumeRow(row):
                resumed = await rows.resume(row)
                if isinstance(resumed, Refused):
                    return Outcome(good=False, sentence=resumed.sentence)
                return Outcome(good=True, sentence=f"row '{resumed.label}' runs again")
            case ResumeLine(row):
                said = rows.resume_line(row)
                return Line(said.text, said.fault)
            case ReadDialog(row):
                return await self._dialogs.read(rows, row)
            case AnswerDialog():
                return await self._dialogs.answer(rows, command)
            case _:
                raise TypeError(f"no such command: {command!r}")

    async def _made(self, rows: Rows, asked: CreateRow) -> RowDone:
        planned = await self._in_thread(lambda: making.plan(self._home, self._environ, asked))
        if isinstance(planned, Refused):
            return RowDone(good=False, sentence=planned.sentence, code=planned.code)
        made = await rows.create(making.wanted(planned, asked))
        if isinstance(made, Refused):
            return RowDone(good=False, sentence=made.sentence, code=made.code)
        for note in await self._in_thread(lambda: spawning.announce(self._home, planned, made.id, made.agent)):
            self._noted(note)
        whose = f" of @{planned.handle}" if planned.handle else ""
        return RowDone(good=True, sentence=f"started row '{made.label}'{whose} in {made.root}", row=made.id)

    async def _ended(self, rows: Rows, key: str, *, remove: bool) -> Outcome:
        row = rows.find(key)
        if row is None:
            return Outcome(good=False, sentence=f"there is no row {key}; nothing was ended")
        ended = await (rows.destroy(row.id) if remove else rows.end(row.id, "ended at the dashboard"))
        if isinstance(ended, Refused):
            return Outcome(good=False, sentence=ended.sentence)
        words = "is removed" if remove else "has ended; it stays in the list"
        return Outcome(good=True, sentence=f"row '{row.label}' {words}")

    async def _folders(self, fleet: Fleet, prefix: str) -> Folders:
        try:
            async with asyncio.timeout(making.LIST_SECS):
                return await self._in_thread(lambda: making.folders(self._environ, fleet, prefix))
        except TimeoutError:
            return Folders(fault=f"{prefix}: it could not be listed within {making.LIST_SECS:g} s")
