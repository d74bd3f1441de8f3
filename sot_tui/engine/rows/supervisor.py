"""The rows of this box: made, started, watched, adopted, resumed, ended and removed (daemon wire 3 and 4).

A row's capsule outlives this process, so nothing here is sure of one: it is asked over its lane, every two seconds and
at once when the lane closes. What its run's own record says on disk counts as its end; a capsule that is gone without
one crashed, and is started again, each time a little later, until the budget is spent. A capsule that is there and does
not answer is unreachable and never replaced; a run that is not ours is foreign and left alone. Every change of a row is
made under its own lock, and the registry's lock is only ever taken inside that, never the other way.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sot_tui.comm import identity, names, paths, registry
from sot_tui.comm.clock import age_text
from sot_tui.comm.errors import SotError, Unreadable
from sot_tui.comm.registry_lock import Wait
from sot_tui.comm.registry_text import Registry
from sot_tui.engine.rows import agents, capsules, orphans, voyage, wishes
from sot_tui.engine.rows.lane import Lane, LaneForeign, LaneGone
from sot_tui.engine.rows.row import BOOT_AT_ONCE, LATCHED, RUNS, Phase, Refused, Row, Wanted, run_id
from sot_tui.engine.rows.store import Store, one_holder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.engine.executors import InThread
    from sot_tui.engine.rows.lane import LaneStatus
    from sot_tui.engine.rows.values import Snapshot

OBSERVE_SECS = 2.0
"""Seconds between two looks at a row's capsule (daemon wire 4.3)."""
STEADY_SECS = 6.0
"""The same while the row's capsule has answered and its lane is open: an end or a crash closes the lane at once."""
LANE_SECS = 2.0
"""Seconds in which a capsule answers."""
CRASH_PAUSES = (1.0, 3.0, 7.0, 15.0, 30.0)
"""Seconds before a crashed capsule is started again, the first time, the second, ... (daemon wire 4.3)."""
CRASH_WINDOW_SECS = 60.0
"""Seconds in which there may be so many crashes; with one more the row is given up."""
END_SECS = 20.0
"""Seconds in which an ended run must be on disk: the capsule's own steps to end an agent, and some."""
PRUNE_WAIT = Wait.RULED
STILL_SECS = 0.3
"""How long a screen has not changed before Enter follows a typed text (daemon wire 3.11)."""
STILL_LIMIT_SECS = 3.0
"""How long that is waited for."""
_LONG_AGO_SECS = 60.0
"""From when on an end is told with how long ago it was: no engine ran, or it was not to be seen."""
COLUMNS, LINES = 120, 40
"""The size of a row that nobody looks at yet."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Bytes were typed into a row."""

    count: int
    enter: str
    """`sent`, `not_sent` or `unknown` (daemon wire 3.11)."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A row was removed."""

    row: Row


@dataclass(frozen=True, slots=True)
class ResumeWords:
    """The command line of a resume, as a shell would be told it."""

    text: str
    fault: str = ""
    """Why it cannot be run."""


@dataclass(slots=True)
class _Kept:
    """One row, and what this process knows of its capsule."""

    row: Row
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    lane: Lane | None = None
    status: LaneStatus | None = None
    failures: int = 0
    crashes: deque[float] = field(default_factory=deque)
    poke: asyncio.Event = field(default_factory=asyncio.Event)
    observer: asyncio.Task[None] | None = None
    size: tuple[int, int] = (COLUMNS, LINES)


class Rows:
    """Every row of this box; alive between `begin` and `close`."""

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        here: agents.Place,
        *,
        blocking: InThread,
        starting: InThread,
        told: Callable[[str, bool], None],
        crash_pauses: tuple[float, ...] = CRASH_PAUSES,
    ) -> None:
        """`blocking` runs work on the disk, `starting` the start of a capsule, each in threads; `told` logs a line."""
        self._crash_pauses = crash_pauses
        self.end_secs = END_SECS
        """How long the end of a run is waited for."""
        self._home = home
        self._environ = dict(environ)
        self.here = here
        self._blocking, self._starting, self._told = blocking, starting, told
        self._store = Store(home, environ, here.host)
        self._rows: dict[str, _Kept] = {}
        self._by_slot: dict[str, str] = {}
        self._listeners: list[Callable[[str, Row], None]] = []
        self._makes = asyncio.Lock()
        self._loaded = self._began = False

    # -- life --------------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Load every row; from now on it holds its handle, and nothing is said yet of its run."""
        rows, faults = await self._blocking(self._store.load)
        for fault in faults:
            self._told(fault, False)
        bound = await self._blocking(lambda: self._bound(rows))
        for row in one_holder(rows, bound):
            self._rows[row.id] = _Kept(row)
        await self._read_slots()
        self._loaded = True

    async def begin(self) -> None:
        """Adopt or resume the capsule of every row, a few at a time."""
        if not self._loaded:
            await self.load()
        gate = asyncio.Semaphore(BOOT_AT_ONCE)

        async def boot(kept: _Kept) -> None:
            async with gate:
                await self._boot(kept)

        await asyncio.gather(*(boot(kept) for kept in self._rows.values()))
        for kept in self._rows.values():
            self._watch(kept)
        self._began = True

    async def close(self) -> None:
        """Let go of every capsule; each goes on."""
        observers = [kept.observer for kept in self._rows.values() if kept.observer]
        for observer in observers:
            observer.cancel()
        await asyncio.gather(*observers, return_exceptions=True)
        for kept in self._rows.values():
            await self._let_go(kept)

    def listen(self, changed: Callable[[str, Row], None]) -> Callable[[], None]:
        """Have `changed` called with each action (daemon wire 2.3) and its row; return what ends that."""
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    @property
    def began(self) -> bool:
        """Tell whether every row was looked at once; until then `stopped` may only mean that it was not."""
        return self._began

    # -- looking -----------------------------------------------------------------------------------------------------

    def listed(self) -> tuple[Row, ...]:
        """Return every row, in the order of their slugs."""
        return tuple(sorted((kept.row for kept in self._rows.values()), key=lambda row: row.slug))

    def find(self, key: str) -> Row | None:
        """Return the row that an id or a slug names."""
        kept = self._kept(key)
        return kept.row if kept else None

    def status(self, key: str) -> LaneStatus | None:
        """Return what the row's capsule said last; None when it did not answer."""
        kept = self._kept(key)
        return kept.status if kept else None

    def lane(self, key: str) -> Lane | None:
        """Return the open lane of a row's capsule."""
        kept = self._kept(key)
        return kept.lane if kept else None

    def handle_of(self, row: Row) -> str:
        """Return the handle a row has: declared, else by its own slot, else the one it was made with (wire 3.7)."""
        if row.agent_handle:
            return row.agent_handle
        name = self._by_slot.get(row.id, "") or row.agent_name
        others = (kept.row for kept in self._rows.values() if kept.row.id != row.id)
        return "" if any(other.agent_handle == name for other in others) else name

    def holder_of(self, handle: str) -> str:
        """Return the id of the row that holds a handle, "" when none does (daemon wire 3.4).

        A row that was loaded and not yet looked at holds: nothing says that its session is over.
        """
        for kept in self._rows.values():
            if kept.row.phase not in LATCHED and handle and self.handle_of(kept.row) == handle:
                return kept.row.id
        return ""

    async def live_handles(self) -> tuple[str, ...]:
        """Return the handles of the rows that run, their slots read afresh (daemon wire 8.3)."""
        await self._read_slots()
        running = [kept.row for kept in self._rows.values() if kept.row.phase in RUNS]
        return tuple(sorted({handle for row in running if (handle := self.handle_of(row))}))

    # -- making and ending -------------------------------------------------------------------------------------------

    async def create(self, wanted: Wanted) -> Row | Refused:
        """Make a row and start its agent; a refusal leaves everything as it was (daemon wire 3.8)."""
        async with self._makes:
            present = self.listed()
            checked = await self._blocking(lambda: wishes.check(self._home, self._environ, self.here, present, wanted))
            if isinstance(checked, Refused):
                return checked
            before = self._rows.get(checked.id)
            kept = before or _Kept(checked)
            async with kept.lock:
                was = kept.row
                kept.row = checked
                self._rows[checked.id] = kept
                refused = await self._saved_and_started(kept)
                if refused is not None:
                    await self._roll_back(kept, was if before else None)
                    return refused
        self._watch(kept)
        self._say("created", kept.row)
        return kept.row

    async def destroy(self, key: str) -> Gone | Refused:
        """End a row's run, prove that it has ended, and remove the row (daemon wire 3.9)."""
        kept = self._kept(key)
        if kept is None:
            return _unknown(key)
        async with kept.lock:
            row = kept.row
            not_ended = await self._ended(kept, f"workspace '{row.slug}' deleted")
            if not_ended:
                return Refused("capsule_end_not_reached", f"capsule workspace could not be safely deleted: {not_ended}")
            handle = row.agent_name
            pruned = await self._blocking(lambda: self._prune(row.id, handle))
            if pruned:
                self._told(f"row {row.id}: its registry entry stays: {pruned}", False)
            try:
                await self._blocking(lambda: self._store.remove(row))
            except OSError as error:
                return Refused("persist_failed", f"the file of row '{row.slug}' could not be removed: {error.strerror}")
            self._rows.pop(row.id, None)
            self._by_slot.pop(row.id, None)
        if kept.observer:
            kept.observer.cancel()
        self._say("destroyed", row)
        return Gone(row)

    async def end(self, key: str, reason: str) -> Row | Refused:
        """End a row's run and keep the row."""
        kept = self._kept(key)
        if kept is None:
            return _unknown(key)
        async with kept.lock:
            not_ended = await self._ended(kept, reason)
            if not_ended:
                return Refused("capsule_end_not_reached", f"row '{kept.row.slug}' has not ended: {not_ended}")
        return kept.row

    async def resume(self, key: str) -> Row | Refused:
        """Start a row's agent again, in the conversation it had."""
        kept = self._kept(key)
        if kept is None:
            return _unknown(key)
        async with kept.lock:
            phase = kept.row.phase
            if phase not in LATCHED and phase is not Phase.STOPPED:
                return Refused("capsule_not_ready", f"row '{kept.row.slug}' is not over (phase: {phase.value})")
            kept.crashes.clear()
            refused = await self._start(kept, resumes=bool(kept.row.run))
        return refused or kept.row

    def resume_line(self, key: str) -> ResumeWords:
        """Return the command that a resume would run, for a person, or why there is none."""
        kept = self._kept(key)
        if kept is None:
            return ResumeWords("", _unknown(key).sentence)
        try:
            words = agents.argv(kept.row, self._environ, self.here, resumes=bool(kept.row.run))
        except agents.NotFound as why:
            return ResumeWords("", str(why))
        return ResumeWords(shlex.join(words))

    # -- what sessions and screens ask -------------------------------------------------------------------------------

    async def declare(self, row_id: str, handle: str) -> Refused | None:
        """Give a handle to a row, and to no other (daemon wire 3.4)."""
        if not names.is_file_safe(handle):
            return Refused("bad_handle", f'invalid handle: "{handle}"')
        kept = self._rows.get(row_id)
        if kept is None:
            return Refused("unknown_workspace", f'unknown workspace: "{row_id}"')
        async with kept.lock:
            if kept.row.agent_handle == handle:
                return None
            try:
                await self._rewrite(kept, agent_handle=handle)
                for other in list(self._rows.values()):
                    # The row that loses a handle is told nothing (contract, Delivery); its file is set right.
                    if other is not kept and other.row.agent_handle == handle:
                        await self._rewrite(other, agent_handle="")
            except OSError as error:
                return Refused("persist_failed", error.strerror or "the row could not be saved")
        self._say("agent_joined", kept.row)
        return None

    async def viewed(self, key: str) -> str:
        """Clear the `done` of a row that a person looks at (daemon wire 3.10); return its id, "" when there is none."""
        kept = self._kept(key)
        if kept is None:
            return ""
        handle, host = self.handle_of(kept.row), self.here.host
        if handle:
            await self._blocking(lambda: registry.clear_done(self._home, handle, host))
        return kept.row.id

    async def type(self, key: str, data: bytes, *, enter: bool) -> Typed | Refused:
        """Type bytes into a row, and Enter once its screen has come to rest (daemon wire 3.11)."""
        kept = self._kept(key)
        if kept is None:
            return _unknown(key)
        if kept.row.phase is not Phase.READY or kept.lane is None:
            return _not_ready(kept.row)
        lane = kept.lane
        try:
            if data and (refused := await lane.type(data)):
                return Refused("capsule_input_failed", refused)
        except (LaneGone, LaneForeign) as gone:
            phase = (("phase", kept.row.phase.value), ("submitted", False))
            return Refused("capsule_input_unknown", gone.sentence, phase)
        if not enter:
            return Typed(len(data), "not_sent")
        try:
            await self._still(lane)
            refused = await lane.type(b"\r")
        except (LaneGone, LaneForeign):
            return Typed(len(data), "unknown")
        return Typed(len(data), "not_sent" if refused else "sent")

    async def screen(self, key: str) -> Snapshot | Refused:
        """Return what a row's terminal shows."""
        kept = self._kept(key)
        if kept is None:
            return _unknown(key)
        if kept.lane is None:
            return _not_ready(kept.row)
        try:
            return await kept.lane.snapshot()
        except (LaneGone, LaneForeign) as gone:
            return Refused("capsule_screen_failed", gone.sentence)

    async def type_on(self, key: str, data: bytes, seen: Snapshot) -> str | None:
        """Type bytes into a row whose screen is still the one that was seen; return why not, "" when they are typed.

        None: there was no answer, so they may be typed or not.
        """
        kept = self._kept(key)
        if kept is None or kept.row.phase is not Phase.READY or kept.lane is None:
            return "the row is not ready"
        try:
            return await kept.lane.type_on(data, seen)
        except (LaneGone, LaneForeign):
            return None

    # -- a row's start -----------------------------------------------------------------------------------------------

    async def _saved_and_started(self, kept: _Kept) -> Refused | None:
        row = kept.row
        try:
            await self._blocking(lambda: self._store.save(row))
        except OSError as error:
            return Refused("persist_failed", f"row '{row.slug}' could not be saved: {error.strerror}")
        return await self._start(kept, resumes=False)

    async def _roll_back(self, kept: _Kept, was: Row | None) -> None:
        row = kept.row
        with suppress(OSError):
            if was is None:
                self._rows.pop(row.id, None)
                await self._blocking(lambda: self._store.remove(row))
                await self._blocking(lambda: capsules.unmake(self._home.disk, paths.row_folder(self._environ, row.id)))
            else:
                kept.row = was
                await self._blocking(lambda: self._store.save(was))

    async def _start(self, kept: _Kept, *, resumes: bool) -> Refused | None:
        """Start a capsule for a row; what it says against it is the refusal. The row's lock is held."""
        row = kept.row
        self._set(kept, phase=Phase.STARTING, activation_error="")
        run = run_id(self._home.clock.now(), secrets.token_bytes(10))
        try:
            words = agents.argv(row, self._environ, self.here, resumes=resumes)
            order = capsules.Order(
                folder=paths.row_folder(self._environ, row.id),
                run=run,
                root=row.root,
                words=words,
                environ=agents.environment(row, self._environ, self.here),
                columns=kept.size[0],
                lines=kept.size[1],
                resumes=resumes,
            )
            started = await self._starting(lambda: capsules.start(self._home.disk, order))
        except agents.NotFound as why:
            started = capsules.NotStarted(str(why), final=True)
        if isinstance(started, capsules.NotStarted):
            phase = Phase.UNREACHABLE if started.held else Phase.TERMINAL
            self._set(kept, phase=phase, activation_error=started.why)
            return Refused("capsule_spawn_failed", f"capsule workspace could not be started: {started.why}")
        self._set(kept, run=run, ended="")
        kept.failures = 0
        await self._look(kept)
        kept.poke.set()
        return None

    # -- a row's capsule, watched ------------------------------------------------------------------------------------

    async def _boot(self, kept: _Kept) -> None:
        """Adopt a row's capsule, or resume its run; a run that has ended, or never began, is left."""
        async with kept.lock:
            folder = self._folder(kept)
            if self._rows.get(kept.row.id) is not kept:
                return  # it was removed before its turn came
            try:
                run = await self._blocking(lambda: voyage.pointer(self._home.disk, folder))
            except Unreadable as fault:
                self._set(kept, phase=Phase.UNREACHABLE)
                self._tell_of(kept, fault.sentence)
                return
            if not run:
                return
            self._set(kept, run=run)
            if await self._opened(kept):
                await self._look(kept)
                return
            if await self._settled(kept):
                return
            if kept.lane is None and kept.row.phase is not Phase.FOREIGN:
                self._told(f"row '{kept.row.slug}' fell silent: its run is resumed", True)
                await self._start(kept, resumes=True)

    def _watch(self, kept: _Kept) -> None:
        if kept.observer is None or kept.observer.done():
            kept.observer = asyncio.create_task(self._observe(kept), name=f"sot-row-{kept.row.slug}")

    async def _observe(self, kept: _Kept) -> None:
        """Look at a row's capsule for as long as the row is there; no fault of one look ends it."""
        while True:
            steady = kept.lane is not None and kept.row.phase is Phase.READY
            with suppress(TimeoutError):
                async with asyncio.timeout(STEADY_SECS if steady else OBSERVE_SECS):
                    await kept.poke.wait()
            kept.poke.clear()
            try:
                pause = await self._observed(kept)
                if pause is not None:
                    await asyncio.sleep(pause)
                    await self._restart(kept)
            except SotError as fault:
                self._tell_of(kept, fault.sentence)
            except Exception as fault:  # noqa: BLE001  (the top of a row's task: whatever it is, a person is told)
                said = (fault.strerror if isinstance(fault, OSError) else "") or f"{type(fault).__name__}: {fault}"
                self._tell_of(kept, said)

    def _tell_of(self, kept: _Kept, fault: str) -> None:
        """Tell what is wrong with a row, and keep it; what each look finds again is told once."""
        if kept.row.activation_error != fault:
            self._set(kept, activation_error=fault)
            self._told(f"row '{kept.row.slug}': {fault}", False)

    async def _observed(self, kept: _Kept) -> float | None:
        """Look once; return after how long a crashed capsule is to be started again, None when it is not."""
        async with kept.lock:
            if not kept.row.run or (kept.row.phase in LATCHED and kept.lane is None):
                return None
            if await self._opened(kept) and await self._look(kept):
                return None
            if await self._settled(kept):
                return None
            kept.failures += 1
            if kept.failures < 2:
                kept.poke.set()
                await asyncio.sleep(CLOSED_SECS)
                return None
            folder = self._folder(kept)
            if await self._blocking(lambda: capsules.is_held(self._home.disk, folder)):
                self._set(kept, phase=Phase.UNREACHABLE)
                return None
            return await self._crashed(kept)

    async def _crashed(self, kept: _Kept) -> float | None:
        now = self._home.clock.monotonic()
        while kept.crashes and now - kept.crashes[0] > CRASH_WINDOW_SECS:
            kept.crashes.popleft()
        if len(kept.crashes) >= len(self._crash_pauses):
            # A row that is given up holds its handle no more, so its agent must be gone.
            home, folder = self._home, self._folder(kept)
            left = await self._starting(lambda: orphans.end_orphan(home.disk, home.clock, home.procs, folder))
            if left:
                self._set(kept, phase=Phase.UNREACHABLE)
                self._tell_of(kept, left)
                return None
            why = f"its capsule crashed {len(kept.crashes)} times within {CRASH_WINDOW_SECS:g} s"
            self._set(kept, phase=Phase.TERMINAL, activation_error=why)
            self._told(f"row '{kept.row.slug}' is given up: {why}", False)
            return None
        pause = self._crash_pauses[len(kept.crashes)]
        kept.crashes.append(now)
        self._set(kept, phase=Phase.UNREACHABLE)
        self._told(f"row '{kept.row.slug}': its capsule is gone; it is started again in {pause:g} s", False)
        return pause

    async def _restart(self, kept: _Kept) -> None:
        async with kept.lock:
            if kept.row.phase is Phase.UNREACHABLE and kept.row.id in self._rows and not await self._settled(kept):
                await self._start(kept, resumes=True)

    async def _opened(self, kept: _Kept) -> bool:
        """Open the row's lane if it is not; tell whether it is open. One of another version makes the row foreign."""
        if kept.lane is not None and not kept.lane.closed.is_set():
            return True
        await self._let_go(kept)
        try:
            lane = await Lane.open(paths.lane_socket(self._folder(kept)), LANE_SECS)
        except LaneForeign:
            self._set(kept, phase=Phase.FOREIGN)
            return False
        except LaneGone:
            return False
        kept.lane = lane
        lane.on_closed(kept.poke.set)
        return True

    async def _look(self, kept: _Kept) -> bool:
        """Ask the row's capsule how it stands; tell whether it answered."""
        if not await self._opened(kept) or kept.lane is None:
            return False
        try:
            status = await kept.lane.status()
        except LaneForeign:
            self._set(kept, phase=Phase.FOREIGN)
            await self._let_go(kept)
            return False
        except LaneGone:
            await self._let_go(kept)
            return False
        kept.status, kept.failures = status, 0
        self._set(kept, phase=_PHASES.get(status.phase, Phase.UNREACHABLE), run=status.run)
        return True

    async def _settled(self, kept: _Kept) -> bool:
        """Tell whether the row's run is known to be over, or not ours, by what is on disk."""
        row = kept.row
        folder = paths.row_folder(self._environ, row.id)
        try:
            record = await self._blocking(lambda: voyage.record(self._home.disk, folder, row.run))
        except Unreadable as fault:  # it may have ended, or not: nothing is started, and nothing ended, on a guess
            self._set(kept, phase=Phase.UNREACHABLE)
            self._tell_of(kept, fault.sentence)
            return True
        if record is None:
            self._set(kept, phase=Phase.FOREIGN)
            return True
        if record.ended is None:
            return row.phase is Phase.FOREIGN
        words, ended = record.words, record
        if row.phase is not Phase.ENDED and await self._blocking(
            lambda: voyage.is_news(self._home.disk, folder, ended)
        ):
            ago = self._home.clock.now() - record.ended
            when = f", {age_text(ago)} ago" if ago >= _LONG_AGO_SECS else ""
            self._told(f"row '{row.slug}' has ended: {words}{when}", True)
        self._set(kept, phase=Phase.ENDED, ended=words, activation_error="")
        kept.status = None
        return True

    async def _ended(self, kept: _Kept, reason: str) -> str:
        """End a row's run and prove it; return why that is not proved, "" when it is. The row's lock is held."""
        if not kept.row.run:  # it was not looked at yet, or has never run
            try:
                run = await self._blocking(lambda: voyage.pointer(self._home.disk, self._folder(kept)))
            except Unreadable as unread:
                return unread.sentence
            if not run and kept.row.phase is Phase.STOPPED:
                return ""
            self._set(kept, run=run)
        if kept.row.phase is Phase.FOREIGN:
            return "its run belongs to another implementation"
        clock = self._home.clock
        deadline = clock.monotonic() + self.end_secs
        if await self._opened(kept) and kept.lane is not None:
            self._set(kept, phase=Phase.ENDING)
            with suppress(LaneGone, LaneForeign, TimeoutError):
                await kept.lane.end(reason)
                async with asyncio.timeout(self.end_secs):
                    await kept.lane.closed.wait()
        try:
            while not (over := await self._over(kept)) and clock.monotonic() < deadline:  # noqa: ASYNC110  (a lock file)
                await asyncio.sleep(CLOSED_SECS)
        except OSError as error:
            return f"whether its capsule lives cannot be told: {error.strerror}"
        if not over:
            kept.poke.set()
            fault = kept.status.fault if await self._look(kept) and kept.status is not None else ""
            return f"its capsule is there, and does not end{f': {fault}' if fault else ''}"
        await self._let_go(kept)
        if kept.row.phase is not Phase.ENDED:
            # Its capsule was killed, and wrote nothing down: the agent may have outlived it.
            home, folder = self._home, self._folder(kept)
            left = await self._starting(lambda: orphans.end_for_good(home.disk, home.clock, home.procs, folder, reason))
            if left:
                kept.poke.set()
                return left
            self._set(kept, phase=Phase.ENDED, ended=reason)
        return ""

    async def _over(self, kept: _Kept) -> bool:
        """Tell whether no capsule of the row lives any more: it holds its row's lock for as long as it does."""
        folder = self._folder(kept)
        if await self._blocking(lambda: capsules.is_held(self._home.disk, folder)):
            return False
        await self._settled(kept)
        return True

    async def _let_go(self, kept: _Kept) -> None:
        lane, kept.lane, kept.status = kept.lane, None, None
        if lane is not None:
            await lane.close()

    async def _still(self, lane: Lane) -> None:
        """Wait until the row's screen has been unchanged for a moment, within a bound."""
        clock = self._home.clock
        deadline = clock.monotonic() + STILL_LIMIT_SECS
        revision, since = (await lane.status()).revision, clock.monotonic()
        while clock.monotonic() - since < STILL_SECS and clock.monotonic() < deadline:
            await asyncio.sleep(STILL_SECS / 6)
            now = (await lane.status()).revision
            if now != revision:
                revision, since = now, clock.monotonic()

    # -- what is kept ------------------------------------------------------------------------------------------------

    def _folder(self, kept: _Kept) -> str:
        return paths.row_folder(self._environ, kept.row.id)

    def _kept(self, key: str) -> _Kept | None:
        return self._rows.get(key) or next((kept for kept in self._rows.values() if kept.row.slug == key), None)

    def _set(self, kept: _Kept, **changes: object) -> None:
        """Change what is known of a row; whoever listens hears of it."""
        after = replace(kept.row, **changes)  # type: ignore[arg-type]  # the names are those of a row
        if after != kept.row:
            kept.row = after
            if self._rows.get(after.id) is kept:
                self._say("run_changed", after)

    async def _rewrite(self, kept: _Kept, *, agent_handle: str) -> None:
        """Save a row with another declared handle, and only then count it as such."""
        after = replace(kept.row, agent_handle=agent_handle)
        await self._blocking(lambda: self._store.save(after))
        kept.row = replace(kept.row, agent_handle=agent_handle)

    def _say(self, action: str, row: Row) -> None:
        for changed in tuple(self._listeners):
            changed(action, row)

    async def _read_slots(self) -> None:
        ids = tuple(self._rows)
        self._by_slot = await self._blocking(lambda: self._slots(ids))

    def _slots(self, ids: Iterable[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for row_id in ids:
            with suppress(SotError):
                handle = identity.handle_in_slot(self._home, agents.self_file(self.here, row_id))
                if names.is_file_safe(handle):
                    found[row_id] = handle
        return found

    def _bound(self, rows: Iterable[Row]) -> dict[str, str]:
        """Return which row the registry binds each declared handle of this host to."""
        book = registry.read(self._home)
        if not isinstance(book, Registry):
            return {}
        declared = {row.agent_handle for row in rows if row.agent_handle}
        entries = {handle: book.entry(handle) or {} for handle in declared}
        return {
            handle: str(entry.get("workspace_id", ""))
            for handle, entry in entries.items()
            if registry.is_of_host(entry, self.here.host)
        }

    def _prune(self, row_id: str, handle: str) -> str:
        """Remove a row's entries from the registry; return why that failed."""
        written = registry.replace(
            self._home, lambda book: registry.forget_row(book, row_id, handle, self.here.host), PRUNE_WAIT
        )
        return written.sentence if isinstance(written, registry.NotWritten) else ""


CLOSED_SECS = 0.2
"""Seconds between two looks at a lane that has just closed: the end of a run comes to disk before its capsule goes."""

_PHASES = {"starting": Phase.STARTING, "ready": Phase.READY, "ending": Phase.ENDING, "ended": Phase.ENDING}


def _unknown(key: str) -> Refused:
    return Refused("unknown_workspace", f"unknown workspace: {key}")


def _not_ready(row: Row) -> Refused:
    phase = row.phase.value
    return Refused("capsule_not_ready", f"capsule row not ready (phase: {phase})", (("phase", phase),))
