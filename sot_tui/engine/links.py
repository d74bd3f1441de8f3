"""This box's link to its hub: one ssh that stands, over which the hub offers what is for sessions here.

Contract, Delivery: a box with a comm folder of its own holds its own link; whether it does is decided once, at the
start. Each offer is filed as it comes, in a task of its own, so one held inbox lock delays no other answer; nothing is
offered or forwarded again. A link that is lost is tried again, after a pause that grows; why it was lost is said in
ssh's own last words. The bridge ends with the engine, and whatever ssh started with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from sot_tui.comm import links, topology, wire
from sot_tui.comm.links import LinkStanding
from sot_tui.comm.text import visible
from sot_tui.engine.connection import PENDING_LIMIT, Connection, Dropped
from sot_tui.engine.executors import Pool
from sot_tui.engine.filer import Filer
from sot_tui.engine.ops import mail
from sot_tui.engine.ops.asked import BadPayload

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping

    from sot_tui.comm.endpoints import Remote
    from sot_tui.comm.home import Home
    from sot_tui.comm.wire import Frame

GREETING_SECS = 30.0
"""Seconds in which ssh has to reach the hub, and the hub to answer the hello."""
PING_SECS = 30.0
"""Seconds between two pings; one that is not answered before the next ends the link. The hub waits for three."""
LAST_WORDS_SECS = 1.0
"""Seconds for which a bridge that has ended is listened to for why."""
LEAVE_SECS = 3.0
"""Seconds that offers under way are given when the engine ends; a filing takes no longer than its lock wait."""
END_SECS = 1.0
"""Seconds that ssh is given to end by itself, then to end when it is told to, then when it is made to."""
WORDS_BYTES = 4096
"""Bytes of ssh's words that are kept: the last ones."""
_HELLO = 1
"""The number of the hello; the pings have the next ones."""


class Link:
    """The link of one daemon, or that it holds none."""

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        host: str,
        told: Callable[[str, bool], None],
        failed: Callable[[str], None],
    ) -> None:
        """`told` logs a line, and whether all is well; `failed` is told why the link does not stand."""
        self._home, self._environ, self._host = home, environ, host
        self._told, self._failed = told, failed
        self._pool = Pool("link", PENDING_LIMIT)
        self._filer = Filer(home, environ, host, self._pool.run, told)
        self._where: Remote | None = None
        self._decided = False
        self._up, self._why = False, ""
        self._since = self._next_try = home.clock.monotonic()
        self._filing: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(PENDING_LIMIT)

    def standing(self) -> LinkStanding:
        """Return how the link stands now."""
        if self._where is None:
            return LinkStanding()
        now = self._home.clock.monotonic()
        left = 0 if self._up else max(0, round(self._next_try - now))
        return LinkStanding(self._where.target, self._up, int(now - self._since), self._why, left)

    async def keep(self, well: Callable[[], None]) -> None:
        """Hold the link for ever, where this box holds one; `well` is called whenever it stands."""
        if not self._decided:
            found = await self._pool.run(lambda: topology.read(self._environ, self._home.disk))
            self._where, self._decided = links.to_hub(found, self._host), True
        if self._where is None:
            await asyncio.Event().wait()
        pause = 0.0
        while True:
            why = await self._held(well)
            lasted = self._home.clock.monotonic() - self._since if self._up else 0.0
            pause = links.next_pause(pause, lasted)
            self._lost(why, pause)
            await asyncio.sleep(pause)

    def close(self) -> None:
        """Let the threads go once they have done what they are at."""
        self._pool.close()

    def _lost(self, why: str, pause: float) -> None:
        now = self._home.clock.monotonic()
        if self._up or not self._why:
            self._since = now
        self._up, self._why = False, visible(why, links.WHY_LIMIT)
        self._next_try = now + pause
        hub = self._where.target if self._where is not None else ""
        self._failed(f"the link to {hub} failed: {self._why}")

    def _stands(self, well: Callable[[], None]) -> None:
        self._up, self._why = True, ""
        self._since = self._home.clock.monotonic()
        hub = self._where.target if self._where is not None else ""
        well()
        self._told(f"the link to {hub} stands", True)

    # -- one connection ----------------------------------------------------------------------------------------------

    async def _held(self, well: Callable[[], None]) -> str:
        """Hold the link once, until it is lost; return why it was."""
        assert self._where is not None  # noqa: S101  (for the type checker: who holds none does not come here)
        try:
            process = await asyncio.create_subprocess_exec(
                *wire.bridge_command(self._where, shared=wire.OWN_CONNECTION),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=wire.FRAME_LIMIT,
                env=dict(self._environ),
                cwd="/",
                start_new_session=True,  # no terminal to ask on, and a group of its own to be ended
            )
        except OSError as error:
            return f"ssh could not be started: {error.strerror or error}"
        words = _LastWords(process.stderr)
        try:
            why = await self._spoken(process, well)
            return why or await words.heard() or "it ended without a word"
        finally:
            words.stop()
            try:
                await _ended(process)
            finally:
                if process.returncode is None:  # the engine ends while a lost bridge is still given its time
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                # Its pipes are open while something unread is in them, or while what it started lives on; nothing
                # public closes them, and one that outlives the loop ends in a traceback.
                process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001

    async def _spoken(self, process: Process, well: Callable[[], None]) -> str:
        """Speak to the hub until one side ends; return why, "" when the bridge just ended."""
        if process.stdin is None or process.stdout is None:
            return "ssh has no pipes"
        connection = Connection(process.stdout, process.stdin, process.pid)
        pings = _Pings(connection)
        serving = asyncio.create_task(self._serve(connection, pings, well), name="sot-link")
        pinging = asyncio.create_task(pings.send(), name="sot-link-pings")
        writing = asyncio.create_task(connection.write(), name="sot-link-out")
        try:
            await asyncio.wait([serving, pinging, writing], return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                return serving.result()
            return pinging.result() if pinging.done() else connection.why
        except asyncio.CancelledError:
            serving.cancel()
            await self._answered(connection)
            raise
        finally:
            for task in (serving, pinging, writing):
                task.cancel()
            await asyncio.gather(serving, pinging, writing, return_exceptions=True)
            connection.drop("")

    async def _answered(self, connection: Connection) -> None:
        """Let the offers under way be filed and answered, for a while: the engine ends."""
        if self._filing:
            await asyncio.wait(self._filing, timeout=LEAVE_SECS)
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECS):
                await connection.flushed()

    async def _serve(self, connection: Connection, pings: _Pings, well: Callable[[], None]) -> str:
        """Say hello, and serve what the hub asks, until it ends; return why it does, "" for an end without a word."""
        hello = wire.hello(
            wire.Caller(self._host, f"sotd-{self._host}", "link"), f"sotd-hub-link-{self._home.procs.pid()}"
        )
        connection.tell(hello)
        try:
            async with asyncio.timeout(GREETING_SECS):
                refused = await _greeted(connection)
            if refused is not None:
                return refused
            self._stands(well)
            pings.begin()
            while (frame := await connection.frame()) is not None:
                await connection.skip(frame.blob_bytes)
                if frame.kind == "res":
                    pings.heard(frame)
                elif frame.kind == "req":
                    await self._begin(connection, frame)
        except TimeoutError:
            return f"the hub did not answer within {GREETING_SECS:g} s"
        except Dropped as dropped:
            return str(dropped)
        return ""

    async def _begin(self, connection: Connection, frame: Frame) -> None:
        """Begin to answer a request; while too many are under way, none is read."""
        await self._turns.acquire()
        task = asyncio.create_task(self._answer(connection, frame), name="sot-link-offer")
        self._filing.add(task)
        task.add_done_callback(self._filing.discard)

    async def _answer(self, connection: Connection, frame: Frame) -> None:
        try:
            payload = await self._reply(frame)
            await connection.answer(wire.encode(frame.number, "res", frame.op, payload))
        finally:
            self._turns.release()

    async def _reply(self, frame: Frame) -> Mapping[str, object]:
        if frame.op == "ping":
            return {"ok": True}
        if frame.op != "comm.file":
            return {"error": f"unknown op: {frame.op}"}
        try:
            request = mail.request_in(frame.payload)
            # However it is marked: what comes over the link goes no further.
            outcome = await self._filer.file(request._replace(forwarded=True, offered=True))
        except BadPayload as error:
            words = str(error)
        except Exception as fault:  # noqa: BLE001  (the top of a request: whatever it is, its asker is told)
            words = f"{type(fault).__name__}: {fault}"
            self._told(f"an offer of the hub failed: {words}", False)
        else:
            return mail.replied(outcome).payload
        return {"error": f"{frame.op} payload: {words}", "code": "handler_error"}


async def _greeted(connection: Connection) -> str | None:
    """Wait for the answer to the hello; return why there is no link then, None when there is one."""
    while True:
        frame = await connection.frame(greeting=True)
        if frame is None:
            return ""
        await connection.skip(frame.blob_bytes)
        if (frame.kind, frame.op, frame.number) != ("res", "hello", _HELLO):
            continue
        if not isinstance(frame.payload, dict):
            return "the hub's answer to the hello is no object"
        error = wire.Answer(frame.payload).error
        return f"hello refused: {error}" if error else None


class _Pings:
    """The pings of one connection, by which each side knows that the other is still there."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._began = asyncio.Event()
        self._sent = self._answered = _HELLO

    def begin(self) -> None:
        """Begin to ping: the hub has let this box in."""
        self._began.set()

    def heard(self, frame: Frame) -> None:
        """Take an answer; one that is to no ping of ours is passed over."""
        if frame.op == "ping" and frame.number == self._sent:
            self._answered = self._sent

    async def send(self) -> str:
        """Ping for ever; return why no more, once the hub answers none."""
        await self._began.wait()
        while True:
            self._sent += 1
            self._connection.tell(wire.encode(self._sent, "req", "ping", {}))
            await asyncio.sleep(PING_SECS)
            if self._answered != self._sent:
                return f"the hub answered no ping within {PING_SECS:g} s"


class _LastWords:
    """What a program says on its standard error: the last of it."""

    def __init__(self, stream: asyncio.StreamReader | None) -> None:
        self._kept = b""
        self._reading = asyncio.create_task(self._read(stream), name="sot-link-words")

    async def _read(self, stream: asyncio.StreamReader | None) -> None:
        while stream is not None and (part := await stream.read(WORDS_BYTES)):
            self._kept = (self._kept + part)[-WORDS_BYTES:]

    async def heard(self) -> str:
        """Return the last line that is not empty, once the program has said all, or a moment later."""
        await asyncio.wait([self._reading], timeout=LAST_WORDS_SECS)
        lines = self._kept.decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def stop(self) -> None:
        """Listen no more."""
        self._reading.cancel()


async def _ended(process: Process) -> None:
    """End a bridge and what it started, which is a group of its own.

    Its input has ended, by which it ends itself once it has carried what was said; then it is told to, then made to.
    """
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        if number is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECS):
                await process.wait()
