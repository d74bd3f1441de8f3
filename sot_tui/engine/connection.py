"""One connection to the control socket: its frames in, its frames out, and nothing that grows without a bound.

Daemon wire 2: a line that is no envelope, or is too long, ends the connection, for nothing behind it can be trusted;
the raw bytes that follow a frame are read and dropped; a peer that does not take one frame within its time is dropped.
An answer waits until the one before it is taken, so only events can pile up, and they have a bound. Both ends use it: a
daemon for its clients, and a box for its link to the hub.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import wire
from sot_tui.comm.fleet import Fleet
from sot_tui.engine.admission import Hello, Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sot_tui.comm.wire import Frame

WRITE_SECS = 10.0
"""Seconds in which a peer has to take one frame (daemon wire 2)."""
EVENTS_BYTES = 4 << 20
"""Bytes of events that may wait for a peer; one with more is dropped."""
PENDING_LIMIT = 64
"""Requests of one connection that may be under way; while there are more, none is read."""
_CHUNK = 1 << 16
_NOBODY = Hello(client_id="", protocol=0, role=Role.CLI)


class Dropped(Exception):
    """The connection is over; the words say why, empty when its peer just went."""


class _Out(NamedTuple):
    data: bytes
    taken: asyncio.Future[bool] | None
    """Done when the peer has taken it, or is gone: whether any of it was sent. None for an event."""


class Connection:
    """One peer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pid: int) -> None:
        self.pid = pid
        self.hello = _NOBODY
        """Who it is, from its admission on."""
        self.under_way: set[asyncio.Task[None]] = set()
        """Its requests that are not answered yet."""
        self.active = False
        self.sessions: Sequence[Mapping[str, str]] = ()
        self.wants_changes = False
        self.window = False
        self.given = Fleet()
        self.parts: dict[int, str] = {}
        self.rests = 0
        self.pending = asyncio.Semaphore(PENDING_LIMIT)
        self.why = ""
        """Why it was dropped."""
        self._reader, self._writer = reader, writer
        self._out: deque[_Out] = deque()
        self._waiting_bytes = 0
        self._more = asyncio.Event()
        self._closed = False
        # A frame counts as taken once the kernel has the whole of it.
        writer.transport.set_write_buffer_limits(high=0)

    # -- in ----------------------------------------------------------------------------------------------------------

    async def frame(self, *, greeting: bool = False) -> Frame | None:
        """Return the next frame, None at the end; raises Dropped for what is no frame.

        `greeting` passes over lines that are none, as a login's words before the first one.
        """
        while True:
            found = await self._next()
            if found is None:
                return None
            frame = wire.decode(found)
            if frame is not None and frame.number >= 0 and frame.kind in {"req", "res", "evt"}:
                return frame
            if not greeting:
                raise Dropped("a line is no envelope")

    async def _next(self) -> bytes | None:
        """Return the next line without its end, None when there is no more."""
        try:
            return (await self._reader.readuntil(b"\n"))[:-1]
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise Dropped("it ended within a frame") from error
            return None
        except asyncio.LimitOverrunError as error:
            raise Dropped(f"a line is longer than {wire.FRAME_LIMIT} bytes") from error
        except OSError as error:
            raise Dropped("") from error

    async def skip(self, count: int) -> None:
        """Read and drop the raw bytes that follow a frame."""
        while count:
            try:
                part = await self._reader.read(min(count, _CHUNK))
            except OSError as error:
                raise Dropped("") from error
            if not part:
                raise Dropped("it ended within a blob")
            count -= len(part)

    # -- out ---------------------------------------------------------------------------------------------------------

    async def answer(self, data: bytes) -> None:
        """Send an answer, and wait until the peer has taken it."""
        await self.send(data)

    def send(self, data: bytes) -> asyncio.Future[bool]:
        """Send a frame; the result, once the peer has taken it or is gone, is whether any of it was sent."""
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self._closed:
            taken.set_result(False)
        else:
            self._out.append(_Out(data, taken))
            self._more.set()
        return taken

    def withdraw(self, taken: asyncio.Future[bool]) -> bool:
        """Send a frame no more, since nobody waits for what comes of it; False when it is on its way already."""
        left = deque(out for out in self._out if out.taken is not taken)
        withdrawn, self._out = len(left) < len(self._out), left
        taken.cancel()
        return withdrawn

    def tell(self, data: bytes) -> None:
        """Send an event; a peer with too many that it has not taken is dropped."""
        if self._closed:
            return
        if self._waiting_bytes + len(data) > EVENTS_BYTES:
            self.drop("it does not take its events")
            return
        self._waiting_bytes += len(data)
        self._out.append(_Out(data, None))
        self._more.set()

    async def write(self) -> None:
        """Write what there is to write, one frame at a time, until the connection is over."""
        while not self._closed:
            await self._more.wait()
            self._more.clear()
            while self._out and not self._closed:
                await self._write_one(self._out.popleft())

    async def _write_one(self, out: _Out) -> None:
        try:
            self._writer.write(out.data)
            async with asyncio.timeout(WRITE_SECS):
                await self._writer.drain()
        except TimeoutError:
            self.drop(f"it did not take a frame within {WRITE_SECS:g} s")
        except OSError:
            self.drop("")
        finally:
            if out.taken is None:
                self._waiting_bytes -= len(out.data)
            elif not out.taken.done():
                out.taken.set_result(True)

    async def flushed(self) -> None:
        """Wait until everything there is to write was taken."""
        await self.answer(b"")

    def drop(self, why: str) -> None:
        """End the connection at once; whoever waits for an answer to be taken waits no more."""
        if self._closed:
            return
        self._closed, self.why = True, why
        if not self._writer.transport.is_closing():  # a pipe that has ended by itself cannot be ended again
            self._writer.transport.abort()
        self._let_go()
        self._more.set()

    def _let_go(self) -> None:
        """Let nobody wait for what will not be sent any more."""
        while self._out:
            out = self._out.popleft()
            if out.taken is not None and not out.taken.done():
                out.taken.set_result(False)

    async def close(self) -> None:
        """End the connection once what was written is on its way."""
        if not self._closed:
            self._closed = True
            self._let_go()
            self._more.set()
            self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(1):
                await self._writer.wait_closed()
        self._writer.transport.abort()
