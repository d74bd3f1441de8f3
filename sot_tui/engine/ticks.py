"""The wake: every two seconds, and at once when mail lands, each row with unread mail is looked at and maybe woken.

Contract, Waking. What may be typed, and when, is decided by `wake.policy` and `wake.typist`, which are pure; here their
looks are brought and their steps carried out, each on the very screen that it was judged on. Mail is counted under the
shared inbox lock, and again at the moment of typing; a busy inbox waits for the next tick. What is remembered of a
handle lives in this process alone: a restart forgets it, looks once at each row, and sends at most Enter. This is the
only thing that types by itself, and it types one fixed line and Enter, never any other key.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import inbox, registry, wakes
from sot_tui.comm.clock import seconds_of
from sot_tui.comm.fleet import Unwoken
from sot_tui.comm.registry_text import Registry
from sot_tui.engine.client import Kind, Known
from sot_tui.engine.rows import agents
from sot_tui.engine.rows.row import LATCHED, Phase, Refused
from sot_tui.wake import policy, prompt
from sot_tui.wake.policy import UNSEEN, Due, RowFacts, Rung, Sight
from sot_tui.wake.prompt import WAKE_LINE
from sot_tui.wake.typist import Enter, Goal, Stop, Type, Typist, Wait

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.comm.inbox import Count
    from sot_tui.engine.client import Letter
    from sot_tui.engine.executors import InThread
    from sot_tui.engine.rows.row import Row
    from sot_tui.engine.rows.supervisor import Rows
    from sot_tui.engine.rows.values import Snapshot
    from sot_tui.wake.policy import Stretch

TICK_SECS = 2.0
"""Seconds between two looks at every row (contract, Waking)."""
LOOK_SECS = 0.1
"""Seconds between two looks of one attempt."""
AT_ONCE = 16
"""Rows that are being woken at the same time."""
FIRST_SECS = 10.0
"""Seconds that a daemon's one look at a row may take: an agent that draws, or a dialog, may stand in its way."""
TOLD_SECS = 60.0
"""Seconds of one refusal after which the log says so."""
_SETS_VIM = re.compile(rb'"editorMode"\s*:\s*"vim"|"vimMode"\s*:\s*true')
SETTINGS_LIMIT = 1 << 24
"""Bytes of an agent's settings that are read."""

BUSY = "its inbox is being written"
SEVERAL = "two rows claim this handle"
NO_ENTRY = "the registry lists no such handle"
NOT_READY = "its row is not ready"
READ_MEANWHILE = "its mail was read meanwhile"
OWED = "the line is typed, Enter is owed"


class Span(NamedTuple):
    """The lines of an inbox for which one wake was typed."""

    first: int
    last: int


class Wakes:
    """The wake of one daemon's rows."""

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        rows: Rows,
        *,
        blocking: InThread,
        told: Callable[[str, bool], None],
        seen: Callable[[Mapping[str, Unwoken]], None],
    ) -> None:
        """`blocking` runs work on the disk in threads, `told` logs a line, `seen` hears why rows are not woken."""
        self._home, self._environ, self._rows = home, environ, rows
        self._blocking, self._told, self._seen = blocking, told, seen
        self._rung: dict[str, Rung] = {}
        self._spans: dict[str, list[Span]] = {}
        self._rest: dict[str, Stretch] = {}
        self._first: dict[str, float] = {}
        """Until when each run counts as not looked at yet by this daemon."""
        self._vim: set[str] = set()
        """The runs whose screen named a vim mode."""
        self._why: dict[str, Unwoken] = {}
        self._empty: dict[str, tuple[object, ...]] = {}
        """How the inboxes and cursors stood in which nothing was unread: they are counted again once they changed."""
        self._logged: set[str] = set()
        self._kept: tuple[dict[str, Unwoken], float] = ({}, float("-inf"))
        self._settings: dict[str, tuple[object, bool]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._gate = asyncio.Semaphore(AT_ONCE)

    # -- life --------------------------------------------------------------------------------------------------------

    async def run(self, hint: asyncio.Event, well: Callable[[], None]) -> None:
        """Tick for ever; `hint` is set when mail may have landed."""
        try:
            while True:
                self.tick()
                await self._keep()
                well()
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK_SECS):
                        await hint.wait()
                hint.clear()
        finally:
            await self.close()

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def tick(self) -> None:
        """Begin a look at every row that has none under way."""
        claimed: dict[str, list[Row]] = {}
        for row in self._rows.listed():
            handle = self._rows.handle_of(row)
            if handle and row.phase not in LATCHED:
                claimed.setdefault(handle, []).append(row)
        for gone in self._why.keys() - claimed.keys():
            self._say(gone, "")
        for handle, claimants in claimed.items():
            under_way = self._tasks.get(handle)
            if under_way is None or under_way.done():
                self._tasks[handle] = asyncio.create_task(self._guarded(handle, claimants), name=f"sot-wake-{handle}")
        for gone in self._tasks.keys() - claimed.keys():
            if self._tasks[gone].done():
                del self._tasks[gone]

    def rung(self, letter: Letter) -> Known:
        """Tell whether a wake was typed for a message; what an earlier daemon did is not known."""
        if any(span.first <= letter.line <= span.last for span in self._spans.get(letter.inbox, ())):
            return Known.YES
        waits = letter.kind is Kind.DIRECTED and not letter.read and letter.inbox in self._why
        return Known.NO if waits else Known.UNKNOWN

    # -- one row -----------------------------------------------------------------------------------------------------

    async def _guarded(self, handle: str, claimants: list[Row]) -> None:
        try:
            await self._row(handle, claimants)
        except Exception as fault:  # noqa: BLE001  (whatever it is, it costs this row one tick and is told)
            words = fault.strerror if isinstance(fault, OSError) else f"{type(fault).__name__}: {fault}"
            self._say(handle, f"its wake failed: {words}")

    async def _row(self, handle: str, claimants: list[Row]) -> None:
        row = claimants[0]
        is_first = self._mono() < self._first.setdefault(row.run, self._mono() + FIRST_SECS)
        # The stamp first: a line that comes in between is counted at the next tick.
        mark = await self._blocking(partial(inbox.mailbox_stamp, self._home, handle))
        if mark == self._empty.get(handle) and handle not in self._rung and not is_first:
            self._say(handle, "")
            return
        counted = await self._blocking(partial(inbox.unread, self._home, handle))
        if not isinstance(counted, inbox.Count):
            self._say(handle, BUSY if isinstance(counted, inbox.Busy) else f"its mail is not counted: {counted.why}")
            return
        self._empty.pop(handle, None)
        if not counted.unread:
            self._empty[handle] = mark
        refused = self._refused(claimants) if counted.unread else ""
        if refused or row.phase is not Phase.READY or len(claimants) > 1 or row.agent != "claude":
            self._say(handle, refused)
            return
        due = policy.due(counted.unread, counted.newest, self._rung.get(handle), self._mono())
        if due is Due.FORGET:
            self._rung.pop(handle, None)
        if due in {Due.NOTHING, Due.FORGET} and not is_first:
            rung = self._rung.get(handle)
            self._say(handle, OWED if counted.unread and rung is not None and rung.owed else "")
            return
        goal = Goal.WAKE if due is Due.WAKE else Goal.COMPLETE
        async with self._gate:
            why = await self._attempt(row, handle, counted, goal)
        if not why:
            self._first[row.run] = self._mono()
        self._say(handle, why if counted.unread else "")

    def _refused(self, claimants: list[Row]) -> str:
        """Return why a handle with unread mail is not even looked at."""
        if len(claimants) > 1:
            return SEVERAL
        row = claimants[0]
        if row.agent != "claude":
            return policy.row_refused(RowFacts("shell" if row.agent == "none" else row.agent))
        return "" if row.phase is Phase.READY else f"{NOT_READY} ({row.phase.value})"

    async def _attempt(self, row: Row, handle: str, counted: Count, goal: Goal) -> str:
        """Look, hold, type, look, Enter; return why nothing more was sent, "" when all was."""
        facts = await self._blocking(partial(self._facts, row, handle))
        if isinstance(facts, str):
            return facts
        typist = Typist(goal, facts, self._mono(), self._rest.get(handle, UNSEEN))
        typed: Span | None = None
        while True:
            seen = await self._rows.screen(row.id)
            if isinstance(seen, Refused):
                return self._after(handle, typist, seen.sentence)
            if prompt.read(seen.screen).vim:
                self._vim.add(row.run)
            match typist.step(_sight(seen), self._mono()):
                case Wait():
                    await asyncio.sleep(LOOK_SECS)
                case Type():
                    typed = await self._typed(row, handle, typist, seen, counted)
                    if typed is None:
                        return READ_MEANWHILE
                case Enter():
                    await self._entered(row, handle, typist, seen, counted)
                case Stop(why):
                    return self._after(handle, typist, why)

    async def _typed(self, row: Row, handle: str, typist: Typist, seen: Snapshot, counted: Count) -> Span | None:
        """Type the line, if its mail is still unread; None when it is not."""
        again = await self._blocking(partial(inbox.unread, self._home, handle))
        facts = await self._blocking(partial(self._facts, row, handle))
        if not isinstance(again, inbox.Count) or not again.unread or isinstance(facts, str):
            return None
        if policy.row_refused(facts):
            return None
        span = Span(again.newest - again.unread + 1, max(again.newest, counted.newest))
        # Remembered before it is typed: whatever happens meanwhile, the line is not typed a second time.
        was = self._rung.get(handle)
        self._rung[handle] = Rung(span.last, self._mono(), owed=True)
        said = await self._rows.type_on(row.id, WAKE_LINE.encode(), seen)
        if said:
            typist.missed()
            if was is None:
                del self._rung[handle]
            else:
                self._rung[handle] = was
        else:
            self._spans.setdefault(handle, []).append(span)
        return span

    async def _entered(self, row: Row, handle: str, typist: Typist, seen: Snapshot, counted: Count) -> None:
        said = await self._rows.type_on(row.id, b"\r", seen)
        if said:
            typist.missed()
            return
        now = self._mono()
        was = self._rung.get(handle)
        if was is not None:
            self._rung[handle] = was._replace(owed=False, not_before=now + policy.ENTER_AGAIN_SECS)
        elif counted.unread:
            self._rung[handle] = Rung(counted.newest, now, not_before=now + policy.ENTER_AGAIN_SECS)
        self._told(f"row '{row.slug}': woke @{handle}, {counted.unread} unread", True)

    def _after(self, handle: str, typist: Typist, why: str) -> str:
        """Note what an attempt has left; return why it is over."""
        self._rest[handle] = typist.rest
        rung = self._rung.get(handle)
        if rung is not None and typist.owes_enter and not rung.owed:
            self._rung[handle] = rung._replace(owed=True)
        elif rung is not None and typist.found_free:
            # The line is gone from the box, so nothing is owed; the same mail is told again after its ten minutes only.
            self._rung[handle] = rung._replace(owed=False)
        return why

    # -- what is known of a row --------------------------------------------------------------------------------------

    def _facts(self, row: Row, handle: str) -> RowFacts | str:
        """Return what the registry and the agent's settings say; a sentence where that is not known."""
        book = registry.read(self._home)
        if not isinstance(book, Registry):
            return "the registry could not be read"
        entry = book.entry(handle)
        if entry is None:
            return NO_ENTRY
        now = self._home.clock.now()
        stop_at, status_at = seconds_of(entry.get("stop_at")), seconds_of(entry.get("status_at"))
        floor = entry.get("floor") and status_at is not None
        return RowFacts(
            agent=row.agent,
            vim=row.run in self._vim or self._is_set_to_vim(row),
            stop_age=None if stop_at is None else now - stop_at,
            floor_age=now - status_at if floor and status_at is not None else None,
            dialog=bool(entry.get("dialog") or entry.get("question")),
        )

    def _is_set_to_vim(self, row: Row) -> bool:
        """Tell whether vim mode stands in any settings that the row's agent reads."""
        home = self._environ.get("HOME", "")
        said = agents.account_folder(self._environ, row.account) if row.account else ""
        said = said or self._environ.get("CLAUDE_CONFIG_DIR", "")
        own = said or f"{home}/.claude"
        of_all = f"{said or home}/.claude.json"
        project = f"{row.root}/.claude"
        names = (of_all, f"{own}/settings.json", f"{project}/settings.json", f"{project}/settings.local.json")
        return any(self._names_vim(name) for name in names)

    def _names_vim(self, path: str) -> bool:
        disk = self._home.disk
        try:
            found = disk.target_stat(path)
        except OSError:
            return False
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        known = self._settings.get(path)
        if known is None or known[0] != stamp:
            known = self._settings[path] = (stamp, self._says_vim(path))
        return known[1]

    def _says_vim(self, path: str) -> bool:
        """Tell whether a file sets vim mode; where it cannot be read, the look between line and Enter is the guard."""
        try:
            return _SETS_VIM.search(self._home.disk.read_up_to(path, SETTINGS_LIMIT)) is not None
        except OSError:
            return False

    # -- what is told ------------------------------------------------------------------------------------------------

    def _say(self, handle: str, why: str) -> None:
        """Take note of why a handle is not woken; what has stood for a minute is logged, once."""
        was = self._why.get(handle)
        now = self._home.clock.now()
        if not why:
            self._logged.discard(handle)
            if was is not None:
                del self._why[handle]
                self._seen(dict(self._why))
            return
        if was is None or was.reason != why:
            self._why[handle] = Unwoken(why, now)
            self._logged.discard(handle)
            self._seen(dict(self._why))
        elif now - was.since >= TOLD_SECS and handle not in self._logged:
            self._logged.add(handle)
            self._told(f"@{handle} has unread mail and was not woken for {TOLD_SECS:g} s: {why}", False)

    async def _keep(self) -> None:
        """Write the reasons down for whoever asks without this daemon."""
        now = self._mono()
        if self._why == self._kept[0] and now - self._kept[1] < wakes.KEEP_SECS:
            return
        self._kept = (dict(self._why), now)
        fault = await self._blocking(partial(wakes.write, self._home, self._environ, self._kept[0]))
        if fault:
            self._told(fault, False)

    def _mono(self) -> float:
        return self._home.clock.monotonic()


def _sight(seen: Snapshot) -> Sight:
    return Sight(seen.screen, seen.lag, seen.synchronizing, seen.queued, seen.person_s)
