"""The notifier inside the engine: it serves the hooks' socket, pushes the engine's own events, and ends quiet hours.

Contract, Acknowledgements: "Only accepted and duplicate transfer responsibility to the daemon", so nothing is listened
on unless a sender is configured, and never beside a `notifyd`. What the engine itself has to say is decided by
`notify.own` and sent as a finished notification, never as a frame: the claim is on disk before the push goes out. One
sender serves all, so a topic that asked for patience gets it from each. Everything that waits runs in a thread.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from sot_tui.comm import cursor, inbox, jsonline, paths, peeks
from sot_tui.comm.errors import Unreadable
from sot_tui.comm.fleet import MailCount
from sot_tui.engine.executors import Executor
from sot_tui.notify import decision_log, delivery, held, own, sender, server, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sot_tui.comm.fleet import Fleet
    from sot_tui.comm.home import Home
    from sot_tui.notify.own import Book, Found
    from sot_tui.notify.server import Listening

DRAIN_SECS = 6.0
"""The end waits this long for what was accepted: one attempt of each push (5 s) is over by then, and who takes over
waits 10 s for all of the engine to end."""
TAKE_OVER_SECS = 1.0
"""Between two tries to serve the hooks while a `notifyd` does."""
STANDS_SECS = 5.0
"""Between two looks at whether the socket is still the one that was bound."""
TICK_SECS = 5.0
"""Between two rounds when nothing changes: a held lock grows old by itself."""
MOST_LINES = 2000
"""Lines of the person's inbox that one look goes back at most."""
BOOK = "pushes.json"
"""The book of what was told, in the folder of what the dashboard keeps; by the real path of a comm home."""
BOOK_BYTES = 1 << 22

_TOLD = ("notify handler failed", "notify frame rejected", "notify ack failed", "decision log append failed")
"""What of the server's narration is an event of the engine; the other lines are the decision log's."""


class Pusher:
    """The pushes of one engine that hosts; its duties are `serve` and `push`. Without a sender there is none.

    What came of a push is told by the decision log, which every engine follows; here, where that cannot be written.
    """

    def __init__(  # noqa: PLR0913  (what it looks at, and what a test sets)
        self,
        home: Home,
        environ: Mapping[str, str],
        target: settings.Target,
        *,
        what: str,
        fleet: Callable[[], Fleet],
        told: Callable[[str, bool], None],
        stands: Callable[[str], None],
        tick_s: float = TICK_SECS,
        wedged_s: float = own.WEDGED_SECS,
    ) -> None:
        """`what` serves, a `dashboard` or a `daemon`; `told` makes a line about a push, `stands` about the engine."""
        self._home, self._environ, self._what = home, environ, what
        self._fleet, self._told, self._stands = fleet, told, stands
        self._tick_s, self._wedged_s = tick_s, wedged_s
        self._host, self._base = settings.host(home), settings.state_base(environ)
        self._path = settings.socket_path(environ)
        self._gate = held.gate_of(home, environ, self._base)
        self._sender = sender.Sender(target, self._host, home.clock)
        self._listens, self._works, self._disk = Executor("notify"), Executor("push"), Executor("notify-disk")
        self._book: Book | None = None
        self._seen: object = None
        self._release_at = 0.0
        self._refused = 0
        self._over = False
        self._standing = ""

    async def close(self, within: float) -> None:
        """Let the threads go; what is under way in them has had its time."""
        await asyncio.gather(*(one.close(within) for one in (self._listens, self._works, self._disk)))

    # -- the hooks' socket -------------------------------------------------------------------------------------------

    async def serve(self, well: Callable[[], None]) -> None:
        """Serve the hooks while no `notifyd` does."""
        listening = await self._listening(well)
        loop = asyncio.get_running_loop()

        def log(line: str) -> None:
            if any(word in line for word in _TOLD):
                with suppress(RuntimeError):  # the loop has ended, and with it whoever would read it
                    loop.call_soon_threadsafe(self._told, line, False)

        def nothing(_line: str) -> None:
            """Say nothing: what a rehearsal prints, and a log that could not be written, is nobody's here."""

        served = delivery.served(
            self._home, self._environ, self._base, self._host, self._sender.delivers, self._gate, say=nothing, warn=log
        )
        serving = server.Server(served.channel, log, cancel=served.cancel, drain_secs=DRAIN_SECS)
        work = asyncio.ensure_future(self._listens.run(partial(serving.serve, listening.listener)))
        try:
            self._stand(f"the hooks' pushes are taken at {self._path}")
            fault = await self._until_over(work, listening, well)
        finally:
            serving.stop()
            await asyncio.wait({work}, timeout=DRAIN_SECS + 1)
            await self._disk.run(partial(server.close, self._home, listening))
        raise Unreadable(fault or f"the socket {self._path} was taken away")

    async def _until_over(self, work: asyncio.Future[str], listening: Listening, well: Callable[[], None]) -> str:
        """Wait until it serves no more, or serves where nobody finds it; return why, if it says so."""
        while not work.done():
            if not await self._disk.run(partial(server.stands, self._home, listening)):
                return ""
            well()
            await asyncio.wait({work}, timeout=STANDS_SECS)
        return work.result()

    async def _listening(self, well: Callable[[], None]) -> Listening:
        """Return the socket, once no other daemon has it; who has it is said once."""
        while True:
            # Nothing is inherited: what the service manager passes on is for the control socket.
            bind = partial(server.listen, self._home, {}, self._path, self._what)
            binding = asyncio.ensure_future(self._disk.run(bind))
            try:
                return await asyncio.shield(binding)
            except asyncio.CancelledError:
                with suppress(server.CannotListen):  # the engine ends while it is bound: nobody would close it
                    await self._disk.run(partial(server.close, self._home, await binding))
                raise
            except server.Taken as taken:
                self._stand(f"{taken.sentence}: this engine serves no hooks until it ends ({self._path})")
            well()
            await asyncio.sleep(TAKE_OVER_SECS)

    def _stand(self, words: str) -> None:
        if words != self._standing:
            self._standing = words
            self._stands(words)

    # -- our own events, and the end of quiet hours --------------------------------------------------------------------

    async def push(self, changed: asyncio.Event, well: Callable[[], None]) -> None:
        """Push what is new in the fleet, and the digest after quiet hours; `changed` says when to look."""
        while True:
            changed.clear()
            for words in await self._works.run(self._open):
                self._told(words, False)
            await self._works.run(partial(self._take_in, self._fleet()))
            while (said := await self._under_way(self._push_one)) is not None:
                if said:
                    self._told(said, False)
            if self._home.clock.monotonic() >= self._release_at:
                self._release_at = self._home.clock.monotonic() + held.RELEASE_SECS
                await self._under_way(self._release)
            well()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._tick_s):
                    await changed.wait()

    async def _under_way(self, work: Callable[[], str | None]) -> str | None:
        """Send something; a push that is under way when the engine ends has its first attempt."""
        sending = asyncio.ensure_future(self._works.run(work))
        try:
            return await asyncio.shield(sending)
        except asyncio.CancelledError:
            await asyncio.wait({sending}, timeout=DRAIN_SECS)
            if sending.done():
                sending.exception()  # nobody is left to tell
            self._over = True  # the book is another engine's from now on
            raise

    def _open(self) -> list[str]:
        """Read the book, once; return what is to be said of it."""
        if self._book is not None:
            return []
        said = self._whole().get(self._key())
        try:
            self._book, lost = own.cut_short(own.decode(said) if said is not None else own.Book())
        except jsonline.NotStrict as error:
            raise Unreadable(f"{self._book_path()} cannot be used ({error.sentence}); move it aside") from error
        return [f"{lost} of our own pushes were under way when the engine ended; none is sent twice"] if lost else []

    def _take_in(self, fleet: Fleet) -> None:
        """Claim what is new: it is in the book before any of it is sent."""
        book, now = self._opened(), self._home.clock.now()
        handle, mail = fleet.operator, fleet.mail_of(fleet.operator)
        counted = bool(handle) and mail.trust is MailCount.COUNTED
        if counted and (handle, mail) != self._seen:
            new, marks = self._new_lines(book, handle, mail.total)
            book = own.with_mail(book, handle, new, marks, self._host, now)
        book = own.with_lock(book, fleet.lock, self._host, now, self._wedged_s)
        if book != self._book:
            self._keep(book)
        if counted:
            self._seen = (handle, mail)

    def _new_lines(self, book: Book, handle: str, total: int) -> tuple[list[Found], list[own.Mark]]:
        """Return the lines that no look has seen, and the marks to remember; `total` are whole and counted."""
        seen = book.mail.get(handle, ())
        first = seen[0].line if seen else 0
        back = total - first + 1 if first <= total else total
        found = self._lines(handle, total, back if handle in book.mail else own.MARKS)
        new = own.unseen(seen, found)
        if new is None:  # it was cut back, or is another one
            found = new = self._lines(handle, total, total)
        return new, [one.at for one in found]

    def _lines(self, handle: str, total: int, newest: int) -> list[Found]:
        newest = min(newest, MOST_LINES)
        if not total or newest <= 0:
            return []
        peeked = peeks.peek(self._home, handle, newest, total + 1)
        if isinstance(peeked, inbox.Failed):
            raise Unreadable(f"the inbox of @{handle} could not be read: {peeked.why}")
        return [own.Found(own.Mark(one.number, cursor.line_hash(one.line)), one.line, one.read) for one in peeked.lines]

    def _push_one(self) -> str | None:
        """Send the next push of our own, and return what is to be said of its record; None when none is due."""
        book = self._opened()
        push = own.due(book, self._home.clock.now())
        if push is None or self._over:
            return None
        self._keep(own.begun(book, push))
        came = decision_log.HELD_BACK
        if not self._gate.keep(push.notice):
            came = "" if self._sender.delivers(push.notice) else decision_log.NOT_SENT
        if came == decision_log.NOT_SENT:
            after = own.failed(self._opened(), push, self._home.clock.now())
        else:
            after = own.settled(self._opened(), push)
        logged = decision_log.append_own(self._home, self._base, push.about, push.notice, came, push.key)
        self._book = after  # in any case: what was sent is not sent again while the disk fails
        if not self._over:
            self._keep(after)
        return "" if logged else f"{own.REASONS[push.about]}{came}: the decision log could not be written"

    def _release(self) -> None:
        try:
            released = self._gate.release(self._host, self._sender.delivers)
        except OSError as error:
            raise Unreadable(f"{self._gate.path} could not be read: {error.strerror}") from error
        if released is not None and not released.delivered:
            self._release_at = self._home.clock.monotonic() + own.pause(self._refused)
        self._refused = self._refused + 1 if released is not None and not released.delivered else 0

    # -- the book ----------------------------------------------------------------------------------------------------

    def _opened(self) -> Book:
        if self._book is None:
            raise Unreadable("the book of pushes is not read yet")
        return self._book

    def _book_path(self) -> str:
        return f"{paths.own_state(self._environ)}/{BOOK}"

    def _key(self) -> str:
        return self._home.disk.real_path(self._home.path)

    def _whole(self) -> dict[str, object]:
        path = self._book_path()
        try:
            return jsonline.decode_object(self._home.disk.read_up_to(path, BOOK_BYTES))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise Unreadable(f"{path} could not be read: {error.strerror}") from error
        except jsonline.NotStrict as error:
            raise Unreadable(f"{path} cannot be used ({error.sentence}); move it aside") from error

    def _keep(self, book: Book) -> None:
        """Write the book, and go by it once it is written; a home's own part is all that changes."""
        path, whole = self._book_path(), self._whole()
        whole[self._key()] = own.encode(book)
        draft = f"{path}.tmp.{self._home.procs.pid()}.{self._home.procs.serial()}"
        try:
            paths.make_own_state(self._home.disk, self._environ)
            self._home.disk.replace(draft, path, jsonline.encode(whole).encode())
        except OSError as error:
            raise Unreadable(f"{path} could not be written: {error.strerror}") from error
        self._book = book
