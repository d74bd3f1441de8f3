"""The engine: it starts the duties in order, holds the newest fleet, and carries out commands.

The comm home is looked at by the 2 s tick, which is the truth, and at once after a hint of the watch. Every read and
every write is a function of `comm` in a named thread; the loop touches no disk. An engine that does not host looks and
counts, and writes nothing at all. The engine's own registry writes (the operator's stamp) rest while a recover dialog
is open, because every writer reclaims a dead holder's lock by itself.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Self, TypeVar, cast

from sot_tui.comm import (
    about,
    ancestry,
    config,
    fleet as rules,
    look,
    mounts,
    names,
    paths,
    registry,
    registry_lock,
    set_aside,
    topology,
)
from sot_tui.comm.errors import SotError, Unreadable
from sot_tui.comm.fleet import Fleet, LockPhase, MailCount, Reading, RowSeen, Stance
from sot_tui.comm.home import ensure_home
from sot_tui.comm.links import LinkStanding
from sot_tui.engine import journal, liveness, operator, search
from sot_tui.engine.client import (
    AnswerDialog,
    Broadcast,
    ClearDone,
    Command,
    CreateRow,
    DropDraft,
    EndRow,
    Events,
    KeepDraft,
    LayOut,
    Leave,
    Listed,
    ListFolders,
    LoadDrafts,
    LookAtLock,
    LookAtLocks,
    LookElsewhere,
    MarkOpened,
    OpenMail,
    Outcome,
    ReadDialog,
    ReadEvents,
    ReadLetter,
    Recover,
    RestWrites,
    ResumeLine,
    ResumeRow,
    Search,
    Send,
    SetAside,
    TakeUp,
    What,
)
from sot_tui.engine.desk_store import DeskStore
from sot_tui.engine.duties import Duties
from sot_tui.engine.elsewhere import Elsewhere
from sot_tui.engine.executors import Executor, Pool
from sot_tui.engine.fold import (
    AsideIs,
    Event,
    Faulted,
    Happened,
    LockLooked,
    Logged,
    MailCounted,
    OperatorStands,
    RowsAre,
    ScreensSay,
    WakesAre,
    fold,
)
from sot_tui.engine.hosting import HOST_TRY_SECS, Hosting, refusal
from sot_tui.engine.journal import Journal
from sot_tui.engine.mailroom import Mailroom
from sot_tui.engine.observe import Observer
from sot_tui.engine.rows import agents
from sot_tui.engine.rows.row import BOOT_AT_ONCE
from sot_tui.engine.watch import watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from sot_tui.comm.home import Home
    from sot_tui.comm.proof import Record
    from sot_tui.engine.client import NotLive, Page, Viewer
    from sot_tui.engine.links import Link
    from sot_tui.engine.pushing import Pusher
    from sot_tui.engine.row_commands import RowCommands
    from sot_tui.engine.rows.row import Row
    from sot_tui.engine.rows.supervisor import Rows
    from sot_tui.engine.server import Server
    from sot_tui.engine.ticks import Wakes
    from sot_tui.notify.following import News

T = TypeVar("T")

TICK_SECS = 2.0
"""Seconds between two looks when nothing hints at a change (product, Locks: a banner after two seconds)."""
HELD_TICK_SECS = 0.5
"""The same while the registry lock is held, so that a banner comes soon after the two seconds."""
STAMP_SECS = 60.0
"""Seconds between two stamps of the operator's `last_seen` (contract, Liveness: every minute)."""
HEAD_START_SECS = 0.05
"""Seconds between the first look and whatever else takes the interpreter: what was read is to be drawn first."""
SENDER_SECS = 30.0
"""Seconds between two looks at whether pushes can be sent, while they cannot: a secret's file may come later."""
LEAVE_SECS = 3.0
"""Seconds that the end of the engine waits for a write under way."""
ROW_THREADS = 8
"""Threads for what the rows do on the disk: a wait for the registry lock in one of them delays no other row."""
WAKE_THREADS = 4
"""Threads in which mail is counted for the wake: a busy inbox delays no other row."""
_EXECUTORS = ("registry", "look", "count", "inbox", "send", "search", "desk", "watch", "log")


class Engine:
    """The duties of one comm home, in this process; an asynchronous context that is alive while it is entered."""

    def __init__(  # noqa: PLR0913  (where it runs, and what a test sets)
        self,
        home: Home,
        environ: Mapping[str, str],
        *,
        only_look: str = "",
        hosting: Hosting | None = None,
        window: bool = True,
        tick_s: float = TICK_SECS,
        stamp_s: float = STAMP_SECS,
        no_person: Callable[[Home, int], str] = ancestry.not_a_person,
    ) -> None:
        """`hosting` is a claim on the duties that was made before; without any window nobody is the operator."""
        self._home = home
        self._tick_s, self._stamp_s = tick_s, stamp_s
        self._environ = environ
        self._listeners: list[Callable[[], None]] = []
        self._executors = {name: Executor(name) for name in _EXECUTORS}
        self._starts, self._row_work = Pool("start", BOOT_AT_ONCE), Pool("rows", ROW_THREADS)
        self._far = Elsewhere(home, environ)
        self._sees_rows = False
        self._wake_work, self._wake_hint = Pool("wake", WAKE_THREADS), asyncio.Event()
        self._wakes: Wakes | None = None
        self.rows: Rows | None = None
        """The rows of this box, while their duty runs."""
        self._rows_are = asyncio.Event()
        self._row_commands: RowCommands | None = None
        self._pusher: Pusher | None = None
        self.decisions = asyncio.Event()
        """Set once what the notifier decides is followed: what it decides from then on is told."""
        self.server: Server | None = None
        """The control socket, while its duty runs."""
        self.serving = asyncio.Event()
        """Set while it can be asked there."""
        self._link: Link | None = None
        self._window, self._no_person = window, no_person
        self.windows = 0
        """The windows of persons in other processes."""
        self._attended = asyncio.Event()
        self._group = asyncio.TaskGroup()
        self._duties = Duties(self._group, home.clock, self._tell)
        self._hint, self._mail_hint = asyncio.Event(), asyncio.Event()
        self._made, self._looked = asyncio.Event(), asyncio.Event()
        self._readable, self._unlisted = asyncio.Event(), asyncio.Event()
        self._resting = 0
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._journal, self._log_hint = Journal(), asyncio.Event()
        self._hosting = hosting or Hosting(home, environ, only_look)
        self._observer = Observer(home)
        self._store = DeskStore(home, paths.own_state(environ))
        self._mailroom = Mailroom(home, environ, self._store)
        self.config = config.read(environ)
        doubt_secs = self.config.seconds("doubt_secs")
        begun = Fleet(home=home.path, host=_host(home, environ), doubt_secs=doubt_secs)
        self.fleet = begun._replace(stance=Stance.VIEWER, stance_why="the engine has not begun yet")

    # -- life --------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Start every duty, in the order in which one needs another."""
        await self._group.__aenter__()
        registry_lock.reclaimed()  # what this process cleared before is no news of this engine's
        for number, warning in enumerate(warnings := self.config.warnings, 1):
            # Each is a fault of its own: none of them is mended by another.
            which = "settings" if len(warnings) == 1 else f"settings, {number} of {len(warnings)}"
            self._tell(Faulted(which, warning, self._home.clock.now()))
        marks = await self._in("desk", lambda: set_aside.read(self._home, self._environ))
        self._tell(AsideIs(marks.by_handle))
        if marks.fault:
            self._tell(Faulted("aside", marks.fault, self._home.clock.now()))
        await self._settle_stance()
        if self.fleet.stance is Stance.VIEWER:
            self._duties.start("host", self._wait_to_host)
        self._duties.start("look", self._look)
        self._duties.start("mail", self._count_mail)
        self._duties.start("watch", self._watch)
        self._duties.start("decisions", self._follow)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every duty, and let a write under way come to its end."""
        try:
            if self.server is not None:
                await self.server.drain()
            self._duties.stop()
            await self._group.__aexit__(None, None, None)
            if self.fleet.stance is Stance.HOST:
                self._tell(Happened(What.ENGINE, "it ends here"))
                with suppress(SotError):  # nobody is left to tell
                    await self._write_log()
            await asyncio.gather(*(executor.close(LEAVE_SECS) for executor in self._executors.values()))
            if self._pusher is not None:
                await self._pusher.close(LEAVE_SECS)
            self._starts.close()
            self._row_work.close()
            self._wake_work.close()
            self._far.close()
            if self._link is not None:
                self._link.close()
        finally:
            self._hosting.release()

    def now(self) -> float:
        """Return the wall clock's moment."""
        return self._home.clock.now()

    async def viewer(self, row: str) -> Viewer | NotLive:
        """Open the live terminal of a row: its capsule's own lane, so that nothing of it passes through here."""
        from sot_tui.engine.rows.viewing import viewer_of  # noqa: PLC0415  (behind the first handles on the screen)

        return await viewer_of(self._home.disk, self._environ, row, self._row_work.run)

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called after each visible change; return what ends that."""
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    def _tell(self, event: Event) -> None:
        before, after = self.fleet, fold(self.fleet, event)
        said = journal.told(before, event, after)
        if said is not None:
            at = event.at if isinstance(event, Happened) else None
            self._journal.add(said, self._home.clock.now() if at is None else at)
            after = fold(after, Logged(self._journal.last))
            self._log_hint.set()
        self.fleet = after
        if after.revision != before.revision:
            for changed in tuple(self._listeners):
                changed()

    async def _in(self, executor: str, function: Callable[[], T]) -> T:
        return await self._executors[executor].run(function)

    async def _written(self, write: str, function: Callable[[], T]) -> T:
        """Return what a write of the registry returns; tell it when the write cleared a dead holder's lock."""
        cleared: list[Record] = []

        def work() -> T:
            try:
                return function()
            finally:
                cleared.extend(registry_lock.reclaimed(get_ident()))

        try:
            return await self._in("registry", work)
        finally:
            self._tell_cleared(cleared, write)

    def _tell_cleared(self, holders: list[Record], write: str) -> None:
        for holder in holders:
            words = f"the registry lock of {holder.name} pid {holder.pid} was cleared by {write}"
            self._tell(Happened(What.LOCK, words))

    # -- hosting -----------------------------------------------------------------------------------------------------

    async def _settle_stance(self) -> None:
        """Try to host; start the duties that write, or look without making anything."""
        self._tell(await self._in("registry", self._hosting.settle))
        hosts = self.fleet.stance is Stance.HOST
        self._mailroom.only_looks = self._store.only_looks = not hosts
        if hosts:
            self._duties.start("home", self._make_home)
            self._duties.start("log", self._log)
            self._duties.start("rows", self._keep_rows)
            self._duties.start("wake", self._wake)
            self._duties.start("dialogs", self._read_dialogs)
            self._duties.start("socket", self._serve)
            self._duties.start("link", self._hold_link)
            self._duties.start("notify", self._notify)
            self._duties.start("push", self._push)
        if hosts:
            self._windows_are(0)
            self._duties.start("operator", self._be_operator)
        if not (hosts and self._window):
            self._nobody_is_here()
        if not hosts:
            self._made.set()
        if not hosts and not self._sees_rows:
            self._sees_rows = True
            self._duties.start("rows elsewhere", self._see_rows)

    def _nobody_is_here(self) -> None:
        """Name the person's handle, as that of somebody who is not here."""
        self._tell(OperatorStands(look.operator(self.fleet.host, self.config) if self.fleet.host else ""))

    def _windows_are(self, elsewhere: int) -> None:
        """Take note of the windows in other processes: the person is here as long as any window is open."""
        self.windows = elsewhere
        if self._window or elsewhere:
            self._attended.set()
        else:
            self._attended.clear()

    async def _see_rows(self, well: Callable[[], None]) -> None:
        """Show the rows that this box's daemon runs, where this engine only looks."""
        while not self._hosts():
            found = await self._row_work.run(lambda: self._observer.rows(self._environ, self.fleet.host))
            if found is not None and not self._hosts() and found != tuple(self.fleet.rows.values()):
                self._tell(RowsAre(found))
            well()
            await asyncio.sleep(self._tick_s)
        await asyncio.Event().wait()

    def _hosts(self) -> bool:
        return self.fleet.stance is Stance.HOST

    async def _wait_to_host(self, well: Callable[[], None]) -> None:
        """Take the duties over when the dashboard that hosts them ends."""
        while self.fleet.stance is Stance.VIEWER:
            await asyncio.sleep(HOST_TRY_SECS)
            await self._settle_stance()
            well()
        await asyncio.Event().wait()

    async def _log(self, well: Callable[[], None]) -> None:
        """Write the event log's new lines to its file; those that could not be written wait for the next try."""
        self._log_hint.set()
        while True:
            await self._log_hint.wait()
            self._log_hint.clear()
            await self._write_log()
            well()

    async def _write_log(self) -> None:
        lines = self._journal.unwritten()
        if lines:
            await self._in("log", lambda: journal.append(self._home, self._environ, lines))
            self._journal.written(lines[-1].number)

    # -- duties ------------------------------------------------------------------------------------------------------

    async def _make_home(self, well: Callable[[], None]) -> None:
        """Make what is missing of the comm home, and record the inbox lock's manager: once for each folder it is.

        A home that was removed stays so until a session makes it anew; then it lacks the record, without which nobody
        can file, and this box starts on it as on any other.
        """
        while True:
            try:
                fault = await self._in("registry", self._made_home)
            finally:
                self._made.set()  # what cannot be made can be looked at all the same
                self._hint.set()
            if fault:
                raise Unreadable(fault)
            well()
            made = found = await self._in("look", self._standing)
            while found is None or found == made:
                await asyncio.sleep(self._tick_s)
                found = await self._in("look", self._standing)

    def _standing(self) -> tuple[int, int, bool] | None:
        """Return which folder the comm home is now, and whether it has the record; None when there is none.

        A new folder may be given the old one's number, so the number alone does not tell it.
        """
        disk = self._home.disk
        try:
            found = disk.target_stat(self._home.path)
        except OSError:
            return None
        try:
            disk.stat(self._home.lock_manager)
        except OSError:
            return (found.st_dev, found.st_ino, False)
        return (found.st_dev, found.st_ino, True)

    def _made_home(self) -> str:
        try:
            ensure_home(self._home)
        except OSError as error:
            raise Unreadable(f"the comm home {self._home.path} cannot be used: {error.strerror}") from error
        named_hub = topology.names_hub(self._environ, self.fleet.host)
        return mounts.record_lock_manager(self._home, named_hub=named_hub).fault

    async def _look(self, well: Callable[[], None]) -> None:
        """Read the registry and look at its lock, each tick and after each hint."""
        await self._made.wait()
        live_secs = registry.live_secs()
        self.fleet = self.fleet._replace(live_secs=live_secs)
        while True:
            self._hint.clear()
            self._tell(await self._in("look", self._observer.registry))
            self._tell_cleared(registry_lock.reclaimed(), "a write of our own")
            self._tell(await self._in("look", self._observer.lock))
            if not self._looked.is_set():
                await asyncio.sleep(HEAD_START_SECS)
                self._looked.set()
            self._notice_registry()
            self._mail_hint.set()
            well()
            free = self.fleet.lock.phase is LockPhase.FREE
            await _until(self._hint, self._tick_s if free else HELD_TICK_SECS)

    def _notice_registry(self) -> None:
        if self.fleet.registry.reading is not Reading.PRESENT:
            self._readable.clear()
            return
        self._readable.set()
        if self.fleet.operator and self.fleet.operator not in self.fleet.agents:
            self._unlisted.set()

    async def _count_mail(self, well: Callable[[], None]) -> None:
        """Count the unread mail of every handle whose inbox or cursor is another than it was."""
        while True:
            await self._mail_hint.wait()
            self._mail_hint.clear()
            handles = [handle for handle in self.fleet.agents if names.is_file_safe(handle)]
            counted = await self._in("count", partial(self._mailroom.counted, handles))
            if counted:
                self._tell(MailCounted(counted))
                self._wake_hint.set()
            well()

    async def _watch(self, well: Callable[[], None]) -> None:
        """Give a hint after each change; when a folder is another one, watch that."""
        await self._looked.wait()
        while True:
            if self.fleet.stance is not Stance.HOST:
                await self._wait_for_home(well)
            await watch(self._home, self._executors["watch"], self._hint.set, well)
            self._tell(Happened(What.DUTY, "watch: a watched folder is another one than it was; it is watched anew"))

    async def _wait_for_home(self, well: Callable[[], None]) -> None:
        """Wait until somebody else has made the comm home: where nothing is made, that it is missing is no fault."""
        while not await self._in("watch", lambda: os.path.isdir(self._home.inboxes)):
            well()
            await asyncio.sleep(self._tick_s)

    async def _be_operator(self, well: Callable[[], None]) -> None:
        """Join as the person's own handle, and stamp it each minute; an entry that somebody removed is joined anew."""
        await self._made.wait()
        await _awaited(self._attended, well)
        person = operator.operator_of(self._home, self._environ, self.config.of("operator"))
        while True:
            await _awaited(self._attended, well)
            await self._wait_for_registry()
            await self._may_write.wait()
            join = partial(operator.join, self._home, self._environ, person)
            handle = await self._written("our own write (join)", join)
            self._mailroom.person = person
            self._unlisted.clear()
            self._tell(OperatorStands(handle))
            self._tell(Happened(What.OPERATOR, f"joined as @{handle}"))
            self._hint.set()
            well()
            while not await _until(self._unlisted, self._stamp_s):
                if not self._attended.is_set():
                    self._mailroom.person = None
                    self._nobody_is_here()
                    break
                await self._may_write.wait()
                touch = partial(registry.touch, self._home, person.handle)
                stamped = await self._written("our own write (your stamp)", touch)
                if isinstance(stamped, registry.NotWritten):
                    self._tell(Happened(What.OPERATOR, f"your stamp was missed: {stamped.sentence}", good=False))
                well()

    async def _keep_rows(self, well: Callable[[], None]) -> None:
        """Run the rows of this box, and keep their handles live; the capsules outlive this duty."""
        if not self.fleet.host:
            raise Unreadable("this machine has no host name, so no rows; set SOT_SELF_HOST")
        await self._made.wait()
        await _until(self._looked, self._tick_s)  # the rows wait for the first picture, but not for a look that fails
        from sot_tui.engine.rows.supervisor import Rows  # noqa: PLC0415  (behind the first handles on the screen)

        rows = Rows(
            self._home,
            self._environ,
            agents.place(self._home.path, self.fleet.host, self._hosting.path),
            blocking=self._row_work.run,
            starting=self._starts.run,
            told=lambda words, good: self._tell(Happened(What.ROW, words, good)),
        )
        rows.listen(lambda _action, _row: self._tell(self._rows_seen(rows)))
        try:
            await rows.load()
            self.rows = rows
            self._rows_are.set()
            if self.server is not None:
                self.server.use(rows)
            await rows.begin()
            self._tell(self._rows_seen(rows))
            await self._stamp_rows(rows, well)
        finally:
            self.rows = None
            await rows.close()

    async def _wake(self, well: Callable[[], None]) -> None:
        """Wake the rows with unread mail; say why the others are not (contract, Waking)."""
        await self._rows_are.wait()
        from sot_tui.engine.ticks import Wakes  # noqa: PLC0415  (behind the first handles on the screen)

        if self.rows is None:
            raise Unreadable("the rows are not known yet")
        self._wakes = Wakes(
            self._home,
            self._environ,
            self.rows,
            blocking=self._wake_work.run,
            told=lambda words, good: self._tell(Happened(What.WAKE, words, good)),
            seen=lambda unwoken: self._tell(WakesAre(unwoken)),
        )
        try:
            await self._wakes.run(self._wake_hint, well)
        finally:
            self._wakes = None

    async def _read_dialogs(self, well: Callable[[], None]) -> None:
        """Stamp the dialogs of the rows whose agents do not (contract, registry.json)."""
        await self._rows_are.wait()
        from sot_tui.engine.dialogs import DialogDuty  # noqa: PLC0415  (as above)

        if self.rows is None:
            raise Unreadable("the rows are not known yet")
        duty = DialogDuty(
            self._home,
            self.rows,
            blocking=self._wake_work.run,
            may_write=self._may_write.wait,
            seen=lambda evidence: self._tell(ScreensSay(evidence)),
            told=lambda words, good: self._tell(Happened(What.WAKE, words, good)),
        )
        await duty.run(well)

    def _rung_in(self, page: Page) -> Page:
        """Return a page whose messages say whether a wake was typed for them, where that is known."""
        wakes = self._wakes
        if wakes is None:
            return page
        return replace(page, letters=tuple(replace(one, rung=wakes.rung(one)) for one in page.letters))

    async def _serve(self, well: Callable[[], None]) -> None:
        """Let this daemon be asked, once it knows its rows: from then on it rules on handles."""
        await self._rows_are.wait()
        from sot_tui.engine.server import Server, Site  # noqa: PLC0415  (as above; nobody asks before)

        if self.rows is None:
            raise Unreadable("the rows are not known yet")
        site = Site(self._home, self._environ, self.fleet.host, self._hosting.path, about.version())
        server = Server(
            site,
            self.rows,
            LocalClient(self),
            lambda words, good: self._tell(Happened(What.WIRE, words, good)),
            no_person=self._no_person,
            windows=self._windows_are,
            link=lambda: LinkStanding() if self._link is None else self._link.standing(),
            own_window=about.window_name(self._home.procs.pid()) if self._window else "",
            noticed=lambda words: self._tell(Happened(What.NOTICE, words)),
        )
        self.server = server

        def begun() -> None:
            self.serving.set()
            well()

        try:
            await server.serve(begun)
        finally:
            self._windows_are(0)
            self.serving.clear()
            self.server = None
            server.close()

    async def _hold_link(self, well: Callable[[], None]) -> None:
        """Hold this box's link to its hub, where it has to have one, and file what is offered over it."""
        await self._made.wait()
        await _until(self._looked, self._tick_s)
        from sot_tui.engine.links import Link  # noqa: PLC0415  (behind the first handles on the screen)

        if self._link is None:
            self._link = Link(
                self._home,
                self._environ,
                self.fleet.host,
                lambda words, good: self._tell(Happened(What.WIRE, words, good)),
                lambda words: self._tell(Faulted("link", words, self._home.clock.now())),
            )
        await self._link.keep(well)

    async def _pushes(self) -> Pusher:
        """Return the notifier of this engine, once there is something on the screen and somebody to send to."""
        await self._looked.wait()
        from sot_tui.notify import serving  # noqa: PLC0415  (behind the first handles on the screen)

        what = "dashboard" if self._window else "daemon"
        target = partial(serving.engines_target, self._home, self._environ, what)
        while (found := await self._in("desk", target)) is None:  # noqa: ASYNC110  (of files nobody tells of)
            await asyncio.sleep(SENDER_SECS)
        from sot_tui.engine.pushing import Pusher  # noqa: PLC0415  (most people push nothing)

        if self._pusher is None:
            self._pusher = Pusher(
                self._home,
                self._environ,
                found,
                what=what,
                fleet=lambda: self.fleet,
                told=lambda words, good: self._tell(Happened(What.PUSH, words, good)),
                stands=lambda words: self._tell(Happened(What.ENGINE, words)),
            )
        return self._pusher

    async def _follow(self, well: Callable[[], None]) -> None:
        """Tell each decision of the notifier, whoever made it."""
        await self._looked.wait()
        from sot_tui.engine import decisions  # noqa: PLC0415  (behind the first handles on the screen)

        def told(one: News) -> None:
            # By its own moment it is known again in the log of another engine.
            now = self._home.clock.now()
            at = None if one.at is None or one.at > now else one.at
            self._tell(Happened(What.PUSH if one.pushed else What.UNPUSHED, one.words, one.good, at))

        def looked() -> None:
            self.decisions.set()
            well()

        await decisions.follow(self._home, self._environ, partial(self._in, "log"), told, looked)

    async def _notify(self, well: Callable[[], None]) -> None:
        """Take the hooks' events, where a sender is configured and nobody else takes them."""
        await (await self._pushes()).serve(well)

    async def _push(self, well: Callable[[], None]) -> None:
        """Push what concerns the person and no hook tells of (product, Notifications)."""
        pusher, changed = await self._pushes(), asyncio.Event()
        unheard = self.listen(changed.set)
        try:
            await pusher.push(changed, well)
        finally:
            unheard()

    async def _stamp_rows(self, rows: Rows, well: Callable[[], None]) -> None:
        """Stamp the handles of the rows that run, when that is due, and never while a recover dialog is open."""
        passes, clock = liveness.Passes(), self._home.clock
        while True:
            handles = await rows.live_handles()
            if passes.is_due(handles, clock.monotonic()):
                await self._may_write.wait()
                host = self.fleet.host
                stamps = partial(liveness.stamp_rows, self._home, handles, host)
                warning = await self._written("our own write (the stamps of the rows)", stamps)
                passes.done(handles, clock.monotonic())
                if warning:
                    self._tell(Happened(What.ROW, warning, good=False))
            well()
            await asyncio.sleep(liveness.TICK_SECS)

    def _rows_seen(self, rows: Rows) -> RowsAre:
        return RowsAre(tuple(_row_seen(row, rows.handle_of(row)) for row in rows.listed()))

    async def _wait_for_registry(self) -> None:
        """Wait until the registry is read well: nothing is written to, or in the place of, one that cannot be read."""
        if not await _until(self._readable, TICK_SECS):
            words = "you are not joined while the registry cannot be read"
            self._tell(Faulted("operator", words, self._home.clock.now()))
            await self._readable.wait()

    # -- commands ----------------------------------------------------------------------------------------------------

    async def do(self, command: Command[T]) -> T:
        """Carry out a command and return its outcome; what it changed is looked at at once."""
        try:
            outcome = None
            if self.fleet.stance is not Stance.HOST:
                outcome = refusal(command, self.fleet.stance_why)
            if outcome is None:
                outcome = await self._carried_out(command)
            for said in journal.of_command(command, outcome):
                self._tell(Happened(*said))
            return cast("T", outcome)
        finally:
            if not isinstance(command, _CHANGES_NOTHING):
                self._hint.set()

    async def _carried_out(self, command: object) -> object:
        match command:
            case LookElsewhere(handle, viewed):
                return await self._far.look(self.fleet, handle, viewed=viewed)
            case ClearDone(handle) if rules.clears_elsewhere(self.fleet, handle):
                return await self._far.clear_done(self.fleet, handle)
            case _ if isinstance(command, _ABOUT_ROWS):
                return await self._rowed(command)
            case _:
                return await self._done(command)

    async def _done(self, command: object) -> object:
        match command:
            case ClearDone(handle):
                return await self._written("our own write (clear done)", lambda: self._clear_done(handle))
            case LookAtLock():
                self._tell(await self._in("look", self._observer.lock))
                return self.fleet.lock
            case LookAtLocks():
                found = await self._in("look", self._observer.locks)
                self._tell(LockLooked(found.registry, self._home.clock.monotonic()))
                return replace(found, registry=self.fleet.lock)
            case ReadEvents(after):
                file = paths.events_log(self._environ) if self.fleet.stance is Stance.HOST else ""
                return Events(self._journal.after(after), file)
            case Leave(handle):
                return await self._written("our own write (leave)", lambda: self._left(handle))
            case SetAside(handle, aside):
                return await self._set_aside(handle, aside=aside)
            case RestWrites(rest):
                return self._rest(rest=rest)
            case Recover(record):
                return await self._in("registry", lambda: self._observer.recover(record))
            case _:
                return await self._mailed(command)

    async def _rowed(self, command: object) -> object:
        """Carry out what concerns a row of this box."""
        if self._row_commands is None:
            from sot_tui.engine.row_commands import RowCommands  # noqa: PLC0415  (behind the first handles on the screen)

            def noted(words: str) -> None:
                self._tell(Happened(What.ROW, words, good=False))

            self._row_commands = RowCommands(self._home, self._environ, self._row_work.run, noted)
        return await self._row_commands.carry_out(command, self.rows, self.fleet)

    async def _mailed(self, command: object) -> object:
        """Carry out what concerns mail."""
        match command:
            case Send(to, text):
                return await self._in("send", lambda: self._mailroom.send(to, text))
            case Broadcast():
                return await self._in("send", lambda: self._mailroom.broadcast(command))
            case OpenMail():
                # A cursor moves only where the person's mail is polled: at the one dashboard that hosts.
                asked = command if self.fleet.stance is Stance.HOST else replace(command, poll=False)
                return self._rung_in(await self._in("inbox", lambda: self._mailroom.opened(asked)))
            case ReadLetter(letter):
                return await self._in("inbox", lambda: self._mailroom.body(letter))
            case Search():
                return await self._in("search", lambda: search.look(self._home, self._store, command))
            case Listed(batch):
                return await self._in("inbox", lambda: self._mailroom.listed(batch))
            case _:
                return await self._in("desk", lambda: self._kept(command))

    def _kept(self, command: object) -> object:
        """Carry out what concerns the person's own things, under the state root."""
        match command:
            case MarkOpened(letter):
                return _told(self._store.mark_opened(letter))
            case LoadDrafts():
                return self._store.drafts()
            case KeepDraft(draft):
                return _told(self._store.keep(draft))
            case DropDraft(slot):
                return _told(self._store.drop(slot))
            case LayOut(_, letter) if letter is not None:
                return self._mailroom.sheet(letter)
            case LayOut(text):
                return self._store.lay_out(text.encode("utf-8", "replace"))
            case TakeUp(sheet):
                return self._store.take_up(sheet)
            case _:
                raise TypeError(f"no such command: {command!r}")

    def _rest(self, *, rest: bool) -> Outcome:
        """Let our own registry writes rest while any dialog wants them to."""
        self._resting = max(0, self._resting + (1 if rest else -1))
        if self._resting:
            self._may_write.clear()
        else:
            self._may_write.set()
        return Outcome(good=True)

    def _left(self, handle: str) -> Outcome:
        person = self._mailroom.person
        if person is None:
            return Outcome(good=False, sentence="you are not joined; nothing was removed")
        return operator.remove_stale(self._home, self._environ, person, handle)

    async def _set_aside(self, handle: str, *, aside: bool) -> Outcome:
        fleet = self.fleet
        one = fleet.agents.get(handle)
        if one is None or (aside and rules.need(fleet, one, self.now()) is None):
            return Outcome(good=False, sentence=f"@{handle} does not need you")
        # Marks that something has changed since are of no use to anybody.
        kept = {name: mark for name, mark in fleet.aside.items() if _still_counts(fleet, name)}
        if aside:
            kept[handle] = rules.aside_of(fleet, one)
        else:
            kept.pop(handle, None)
        fault = await self._in("desk", lambda: set_aside.write(self._home, self._environ, kept))
        if fault:
            return Outcome(good=False, sentence=f"@{handle} was not set aside: {fault}")
        self._tell(AsideIs(kept))
        words = f"set @{handle} aside until something changes" if aside else f"@{handle} needs you again"
        return Outcome(good=True, sentence=words)

    def _clear_done(self, handle: str) -> Outcome:
        written = registry.clear_done(self._home, handle, self.fleet.host)
        if isinstance(written, registry.NotWritten):
            return Outcome(good=False, sentence=written.sentence)
        return Outcome(good=True, sentence=f"cleared the done of @{handle}" if written is not None else "")


class LocalClient:
    """The engine in this process, as a screen knows it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def fleet(self) -> Fleet:
        """Return the newest fleet."""
        return self._engine.fleet

    def now(self) -> float:
        """Return the moment that ages are taken against."""
        return self._engine.now()

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called after each visible change; return what ends that."""
        return self._engine.listen(changed)

    async def do(self, command: Command[T]) -> T:
        """Carry out a command and return its outcome."""
        return await self._engine.do(command)

    async def viewer(self, row: str) -> Viewer | NotLive:
        """Open the live terminal of a row of this box, by the row's id."""
        return await self._engine.viewer(row)


def _still_counts(fleet: Fleet, handle: str) -> bool:
    """Tell whether a handle's mark is still of what it says; while its mail is not counted, that is not known."""
    one = fleet.agents.get(handle)
    if one is None:
        return False
    return rules.is_set_aside(fleet, one) or fleet.mail_of(handle).trust is not MailCount.COUNTED


_ABOUT_ROWS = (AnswerDialog, CreateRow, EndRow, ListFolders, ReadDialog, ResumeLine, ResumeRow)
"""Commands that concern the rows of this box."""
_CHANGES_NOTHING = (
    DropDraft,
    KeepDraft,
    LayOut,
    ListFolders,
    LoadDrafts,
    OpenMail,
    ReadDialog,
    ReadEvents,
    ReadLetter,
    ResumeLine,
    Search,
    SetAside,
    TakeUp,
)
"""Commands after which nobody needs to look at the comm home."""


def _told(fault: str) -> Outcome:
    return Outcome(not fault, fault)


def _row_seen(row: Row, handle: str) -> RowSeen:
    agent = os.path.basename(row.command[0]) if row.command else row.agent
    return RowSeen(
        row.id, row.slug, row.label, row.root, agent, row.phase.value, handle, row.ended, row.activation_error
    )


def _host(home: Home, environ: Mapping[str, str]) -> str:
    try:
        return names.declared_host(environ, home.procs)
    except SotError:
        return ""  # the operator's duty says what is wrong with it


async def _awaited(event: asyncio.Event, well: Callable[[], None]) -> None:
    """Wait for an event; that it does not come is well."""
    if not event.is_set():
        well()
    await event.wait()


async def _until(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, at most so long; tell whether it came."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
