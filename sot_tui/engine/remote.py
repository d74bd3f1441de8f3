"""The engine in another process of this box, as a screen knows it: over its control socket, by our own ops.

It holds the newest fleet, whole, and the very one that the engine has: it is fetched once, and then what changed, after
each notice and never twice at a time. A command crosses with the types of `engine.client`, and what comes back is read
strictly by the type of its outcome. A connection that is lost is told in the fleet's stance; what was asked by then and
not answered may be done or not, and is never asked twice (contract, The one result).
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from sot_tui.comm import about, names, peers, wire
from sot_tui.comm.errors import Refused, SotError
from sot_tui.comm.fleet import Fleet, Stance
from sot_tui.comm.text import visible
from sot_tui.engine.client import (
    Broadcast,
    BroadcastDone,
    Found,
    OpenMail,
    Page,
    Recover,
    Recovered,
    Recovery,
    Search,
    Send,
)
from sot_tui.engine.hosting import refusal
from sot_tui.engine.mailroom import ALL
from sot_tui.engine.ops import deltas, values
from sot_tui.engine.rows.viewing import viewer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.engine.client import Command, NotLive, Viewer
    from sot_tui.engine.executors import InThread

T = TypeVar("T")

GREET_SECS = 3.0
"""Seconds in which an engine lets a window in and gives it the fleet; it takes a tenth of one."""
ANSWER_SECS = 60.0
"""Seconds for an answer; the longest wait for a lock that a person can set is a part of it."""
FETCH_PAUSE_SECS = 0.05
"""Between two fetches of the fleet: an eye sees no more, and a busy registry costs no more."""
FETCH_SECS = 2.0
"""Between two fetches without a notice: when something was last looked at is no news, and is shown all the same."""
IN_THREAD_CHARS = 1 << 15
"""Characters of changes past which they are read in a thread, so that no key waits for that."""


class Unserved(NamedTuple):
    """No engine lets this window in."""

    why: str
    yet: bool = False
    """Nobody listens: one may be about to."""


class _Silent(Exception):
    """There is no answer; the words say why."""

    def __init__(self, why: str, *, unsent: bool = False) -> None:
        super().__init__(why)
        self.unsent = unsent


async def connect(home: Home, environ: Mapping[str, str], path: str, blocking: InThread) -> SocketClient | Unserved:
    """Return a client of the engine that listens at `path`, with its fleet; or why there is none."""
    try:
        async with asyncio.timeout(GREET_SECS):
            host = await blocking(lambda: names.declared_host(environ, home.procs))
            reader, writer = await asyncio.open_unix_connection(path, limit=wire.FRAME_LIMIT + 1)
            client = SocketClient(home, environ, reader, writer, blocking)
            try:
                why = await client.greet(host)
            except BaseException:
                await client.close()
                raise
            if why:
                await client.close()
                return Unserved(visible(why))
            return client
    except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
        return Unserved(f"nobody answers at {path}", yet=True)
    except TimeoutError:
        return Unserved(f"it does not answer within {GREET_SECS:g} s")
    except (_Silent, values.BadValue, ValueError) as silent:
        return Unserved(visible(f"what it says is not understood: {silent}"))
    except OSError as error:
        return Unserved(f"{path}: {error.strerror or error}")
    except SotError as error:
        return Unserved(error.sentence)


class SocketClient:
    """One connection to the engine that hosts; it is made by `connect`."""

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        blocking: InThread,
    ) -> None:
        self._home, self._environ, self._blocking = home, environ, blocking
        self._reader, self._writer = reader, writer
        self._number = 0
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: list[Callable[[], None]] = []
        self._newer = asyncio.Event()
        self._fleet = Fleet()
        self._why = ""
        self.lost = asyncio.Event()
        """Set once the connection is over."""
        self._tasks = [asyncio.create_task(self._read(), name="sot-remote-in")]

    # -- the client --------------------------------------------------------------------------------------------------

    @property
    def fleet(self) -> Fleet:
        """Return the newest fleet."""
        return self._fleet

    def now(self) -> float:
        """Return the moment that ages are taken against: the engine is on this box."""
        return self._home.clock.now()

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called after each visible change; return what ends that."""
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    async def do(self, command: Command[T]) -> T:
        """Have the engine carry out a command, and return its outcome."""
        kind: Any = type(command)
        said = {"command": values.name_of(kind), "json": _json(values.encoded(command))}
        try:
            outcome = json.loads(await self._text(await self._ask("tui.do", said)))
            return cast("T", values.decoded(values.outcome_of(kind), outcome))
        except _Silent as silent:
            why = str(silent)
            refused = refusal(command, why) if silent.unsent else None
            return cast("T", unanswered(command, why) if refused is None else refused)
        except (values.BadValue, ValueError) as error:
            return cast("T", unanswered(command, f"the answer is not understood: {error}"))

    async def viewer(self, row: str) -> Viewer | NotLive:
        """Open the live terminal of a row of this box: its capsule's own lane, as the engine itself does."""
        return await viewer_of(self._home.disk, self._environ, row, self._blocking)

    async def close(self) -> None:
        """End the connection."""
        self._lose("it was closed here")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(1):
                await self._writer.wait_closed()

    # -- the connection ----------------------------------------------------------------------------------------------

    async def greet(self, host: str) -> str:
        """Say hello, be let in as a person's window, and bring the fleet; return why that is refused."""
        if not peers.is_own(self._writer.get_extra_info("socket")):
            return "another account listens there"
        hello = {
            "client_id": "sot-tui",
            "instance": str(self._home.procs.pid()),
            "last_seen_revision": 0,
            "protocol": wire.PROTOCOL,
            "app_version": about.version(),
            "host": host,
            "os_user": f"uid:{os.geteuid()}",
            "role": "fe",
            "name": about.window_name(self._home.procs.pid()),
            "comm_home": self._home.path,
        }
        said = await self._ask("hello", hello)
        why = wire.Answer(said).error or self._unlike(said)
        if why:
            return why
        why = wire.Answer(await self._ask("tui.window", {})).error
        if why:
            return why
        await self._fetch()
        self._tasks.append(asyncio.create_task(self._follow(), name="sot-remote-fleet"))
        return ""

    def _unlike(self, said: dict[str, Any]) -> str:
        """Return what keeps an engine from serving this window, by its answer to the hello."""
        theirs, version = said.get("comm_home"), said.get("app_version")
        if not isinstance(theirs, str):
            return "it is another daemon, which serves no window"
        if theirs != self._home.path:
            return f"it serves the comm home {theirs}"
        if version != about.version():
            return f"it is version {version}, and this is {about.version()}: end the older one"
        return ""

    async def _ask(self, op: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer's payload; raises _Silent when there is none."""
        if self.lost.is_set():
            raise _Silent(self._why, unsent=True)
        self._number += 1
        number = self._number
        data = wire.encode(number, "req", op, payload)
        if len(data) - 1 > wire.FRAME_LIMIT:
            words = f"frame envelope is {len(data) - 1} bytes; cap is {wire.FRAME_LIMIT}"
            raise _Silent(words, unsent=True)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(ANSWER_SECS):
                self._writer.write(data)
                await self._writer.drain()
                said: dict[str, Any] = await answer
                return said
        except TimeoutError as error:
            raise _Silent(f"the engine did not answer within {ANSWER_SECS:g} s") from error
        except OSError as error:
            raise _Silent(self._why or "the engine is gone") from error
        finally:
            self._asked.pop(number, None)

    async def _text(self, said: dict[str, Any]) -> str:
        """Return the text of an answer, with all of its parts; raises _Silent for a refusal."""
        parts: list[str] = []
        while True:
            why, part = wire.Answer(said).error, said.get("json")
            if why or not isinstance(part, str):
                raise _Silent(why or "the answer holds no text")
            parts.append(part)
            if "more" not in said:
                return "".join(parts)
            said = await self._ask("tui.more", {"ticket": said["more"]})

    async def _read(self) -> None:
        """Take what comes, until the connection is over."""
        try:
            while True:
                frame = wire.decode((await self._reader.readuntil(b"\n"))[:-1])
                if frame is None:
                    self._lose("what it says is no frame")
                    return
                answer = self._asked.get(frame.number) if frame.kind == "res" else None
                if answer is not None and not answer.done():
                    answer.set_result(frame.payload if isinstance(frame.payload, dict) else {})
                elif frame.kind == "evt" and frame.op == "tui.changed":
                    self._newer.set()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            self._lose("the engine is gone")

    async def _follow(self) -> None:
        """Fetch what changed after each notice, or after a while; notices that come meanwhile are one."""
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(FETCH_SECS):
                        await self._newer.wait()
                self._newer.clear()
                was = self._fleet.revision
                await self._fetch()
                if self._fleet.revision != was:
                    self._tell()
                await asyncio.sleep(FETCH_PAUSE_SECS)
        except (_Silent, values.BadValue, ValueError) as error:
            self._lose(f"its fleet is not understood: {error}" if not self.lost.is_set() else self._why)

    async def _fetch(self) -> None:
        text = await self._text(await self._ask("tui.state", {}))
        was = self._fleet
        if len(text) > IN_THREAD_CHARS:
            self._fleet = await self._blocking(lambda: deltas.applied(was, json.loads(text)))
        else:
            self._fleet = deltas.applied(was, json.loads(text))

    def _lose(self, why: str) -> None:
        """End it: whoever waits for an answer gets none, and the fleet says that nothing is written from here."""
        if self.lost.is_set():
            return
        self._why = why
        self.lost.set()
        self._writer.transport.abort()
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(_Silent(why))
        words = f"{why}; this dashboard takes over, or joins the one that does"
        self._fleet = self._fleet._replace(
            stance=Stance.VIEWER, stance_why=visible(words), revision=self._fleet.revision + 1
        )
        self._tell()

    def _tell(self) -> None:
        for changed in tuple(self._listeners):
            changed()


def unanswered(command: Command[Any], why: str) -> object:
    """Return the outcome of a command that was asked for and never answered; raises Refused where none can say so."""
    asked: Any = type(command)
    kind = values.outcome_of(asked)
    match command:
        case Send(to):
            return kind(good=False, sentence=f"FAILED -> @{to}: {why}")
        case Broadcast(_, only):
            return BroadcastDone(good=False, sentence=f"FAILED -> {ALL}: {why}", left=only)
        case OpenMail(handle):
            return Page(handle, fault=why)
        case Recover():
            return Recovered(Recovery.REFUSED, why)
        case Search():
            return Found(notes=(why,))
    known = values.hints(kind)
    if "good" in known:
        return kind(good=False, sentence=why)
    if "fault" in known or "faults" in known:
        return kind(fault=why) if "fault" in known else kind(faults=(why,))
    raise Refused(why)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
