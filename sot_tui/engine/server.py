"""The control socket: every client of this daemon, what it asks, and what all of them are told.

Daemon wire 1.2 and 2. A peer of another account is dropped before a byte is read; nothing is served before its hello.
Each request is carried out by itself, so a slow one delays no other, and answered with its own op and id. Events are
said to every connection; a reader that is slow costs itself the connection and nobody else anything. The links of other
boxes come in here as well, and what the filer offers goes out by them (`engine.hub`). The socket is never taken from a
live daemon, and its end lets what is under way come to an end, for a while.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sot_tui.comm import ancestry, endpoints, links, paths, peers, registry, wire
from sot_tui.comm.errors import SotError, Unreadable
from sot_tui.comm.links import LinkStanding
from sot_tui.comm.text import visible
from sot_tui.engine import listener as listeners
from sot_tui.engine.admission import Admission, Denied, Hello, Role
from sot_tui.engine.client import RestWrites
from sot_tui.engine.connection import Connection, Dropped
from sot_tui.engine.executors import Pool
from sot_tui.engine.filer import Filer
from sot_tui.engine.hub import Hub
from sot_tui.engine.ops import rows as row_ops
from sot_tui.engine.ops.about import topology_hash
from sot_tui.engine.ops.asked import Asked, BadPayload, Control, Reply
from sot_tui.engine.ops.table import ops

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence

    from sot_tui.comm.home import Home
    from sot_tui.comm.wire import Frame
    from sot_tui.engine.client import Client
    from sot_tui.engine.filer import Offers
    from sot_tui.engine.listener import Listener
    from sot_tui.engine.ops.asked import Peer, Rows
    from sot_tui.engine.rows.row import Row

HELLO_SECS = 10.0
"""Seconds in which a connection has to say hello (daemon wire 2.1)."""
SILENCE_SECS = 90.0
"""Seconds of silence after which a frontend that pings counts as gone (daemon wire 2.1); so does a link that pings."""
POLL_SECS = 1.5
"""Seconds between two looks at the registry for what other clients are told of (daemon wire 2.3)."""
PATH_SECS = 5.0
"""Seconds between two looks at whether the socket file is still there."""
CONNECTIONS_LIMIT = 512
"""Connections at a time; one more is closed at once. A box with a thousand sessions has a few of them."""
THREADS_LIMIT = 64
"""Threads for what may block: so many held inbox locks delay no further filing."""
RING = 256
"""Events that a connection which was lost can have told again."""
RING_BYTES = 2 << 20
"""Bytes of them at most."""
GONE_LIMIT = 32
"""Connections that are over and are still named by `version.query`."""
DRAIN_SECS = 5.0
"""Seconds that requests under way are given when the daemon ends; a filing takes no longer than its lock wait."""
ACCEPT_PAUSE_SECS = 0.1
"""Before another try when there is no descriptor left for a connection."""

TELL_AGAIN_SECS = 60.0
"""Before the log says again that somebody was turned away."""

_HANDED_OFF = frozenset({"proxy.connect", "lane.connect", "fe.lease"})
"""What a `handoff` connection may ask for (daemon wire 2.1); none of it is served here."""
_STAYING = frozenset({Role.FE, Role.BRIDGE, Role.LINK})
"""The roles of which it matters that they are gone; a script comes and goes."""
_WIRE_ACTIONS = frozenset({"created", "destroyed", "agent_joined", "run_ended"})
"""The changes of a row of which other clients are told (daemon wire 2.3)."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where and as what a daemon is reached."""

    home: Home
    environ: Mapping[str, str]
    host: str
    """The declared host."""
    path: str
    """Where it listens."""
    version: str
    label: str = endpoints.DEFAULT_LABEL


class Server:
    """The control socket of one daemon. It is the roster that the ops see."""

    def __init__(  # noqa: PLR0913  (what it serves, and what a test sets)
        self,
        site: Site,
        rows: Rows,
        client: Client,
        told: Callable[[str, bool], None],
        *,
        offers: Offers | None = None,
        no_person: Callable[[Home, int], str] = ancestry.not_a_person,
        windows: Callable[[int], None] = lambda _count: None,
        link: Callable[[], LinkStanding] = LinkStanding,
        own_window: str = "",
        noticed: Callable[[str], None] = lambda _words: None,
    ) -> None:
        """`client` is the engine, as a screen knows it; `told` logs a line, and whether all is well.

        `windows` is told how many persons' windows there are whenever one comes or goes; `link` says how this box's own
        link to its hub stands. `own_window` is the name of the dashboard that this daemon runs in, and `noticed` shows
        a notice there and in every other. A test may give `offers` of its own, in the place of those to the links.
        """
        self.site = site
        self.ready = asyncio.Event()
        """Set while it listens."""
        self.revision = 0
        self._home, self._told, self._windows, self._link = site.home, told, windows, link
        self._rows, self._client = rows, client
        self._session = secrets.token_hex(16)
        self._pool = Pool("wire", THREADS_LIMIT)
        self._admission = Admission(site.version, site.host, site.home.path)
        self._hub = Hub(site.home, site.environ, site.host, self._pool.run, told)
        self._ops = ops()
        self._connections: dict[Connection, None] = {}
        self._kept_by: set[asyncio.Task[None]] = set()
        """One for each connection from the moment it is accepted: many of them can come in one burst."""
        self._admitted: dict[Connection, None] = {}
        self._somebody = asyncio.Event()
        self._gone: deque[tuple[str, float]] = deque(maxlen=GONE_LIMIT)
        self._ring: deque[tuple[int, bytes]] = deque()
        self._ring_bytes = 0
        self._under_way: set[asyncio.Task[None]] = set()
        self._draining = False
        self._last_told: dict[str, float] = {}
        self._listener: Listener | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._group: asyncio.TaskGroup | None = None
        self._unhear_rows: Callable[[], None] = _nothing
        self._control = Control(
            home=site.home,
            environ=site.environ,
            host=site.host,
            version=site.version,
            rows=rows,
            filer=Filer(site.home, site.environ, site.host, self._pool.run, told, offers or self._hub),
            client=client,
            in_thread=self._pool.run,
            roster=self,
            begun=site.home.clock.monotonic(),
            no_person=no_person,
            own_window=own_window,
            noticed=noticed,
        )

    # -- life --------------------------------------------------------------------------------------------------------

    async def serve(self, well: Callable[[], None]) -> None:
        """Listen and serve until it is cancelled or the socket is gone; raises Refused where nobody may listen."""
        self._listener = await self._listened()
        self._unhear_rows = self._rows.listen(self._row_changed)
        unhear_fleet = self._client.listen(self.fleet_changed)
        try:
            async with asyncio.TaskGroup() as self._group:
                accepting = self._accept(self._listener.socket)
                self._accepting = self._group.create_task(accepting, name="sot-accept")
                self._group.create_task(self._poll(await self._pool.run(self._first_look)), name="sot-poll")
                self.ready.set()
                well()
                while await self._pool.run(self._is_there):  # noqa: ASYNC110  (of a file nobody tells)
                    await asyncio.sleep(PATH_SECS)
                raise Unreadable(f"{self.site.path} is not this daemon's socket any more")
        except BaseExceptionGroup as faults:
            found, others = faults.split(SotError)
            if others is not None or found is None:
                raise
            raise _first(found) from None
        finally:
            self.ready.clear()
            self._unhear_rows()
            unhear_fleet()
            for connection in tuple(self._connections):
                connection.drop("")
            self._group = None
            if self._listener is not None:
                listeners.close(self._home, self._listener)
                self._listener = None

    async def _listened(self) -> Listener:
        """Listen; when this is given up meanwhile, no listener is left behind."""
        listening = asyncio.create_task(self._pool.run(lambda: listeners.listen(self._home, self.site.path)))
        try:
            return await asyncio.shield(listening)
        except asyncio.CancelledError:
            with suppress(SotError):
                listeners.close(self._home, await listening)
            raise

    async def drain(self, seconds: float = DRAIN_SECS) -> None:
        """Take no further connection and no further request, and let those under way come to their end."""
        self._draining = True
        await self._stop_listening()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=seconds)
        await asyncio.gather(*(connection.close() for connection in tuple(self._connections)), return_exceptions=True)

    def use(self, rows: Rows) -> None:
        """Go on with other rows: their duty was started again."""
        self._unhear_rows()
        self._rows, self._control = rows, replace(self._control, rows=rows)
        self._unhear_rows = rows.listen(self._row_changed)

    def close(self) -> None:
        """Let the threads go once they have done what they are at."""
        self._pool.close()

    def _is_there(self) -> bool:
        return self._listener is None or listeners.is_there(self._home, self._listener)

    async def _stop_listening(self) -> None:
        """Listen no more. The accept ends first: the loop must not watch a descriptor that is another's by then."""
        listener, self._listener = self._listener, None
        if listener is None:
            return
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait([self._accepting])
        await self._pool.run(lambda: listeners.close(self._home, listener))

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listener)
            except OSError as error:
                self._turned_away(f"a connection could not be accepted: {error.strerror}")
                await asyncio.sleep(ACCEPT_PAUSE_SECS)
                continue
            self._take(accepted)
            await asyncio.sleep(0)  # accepting goes on without a pause while there is somebody to accept

    def _take(self, accepted: socket.socket) -> None:
        """Let an accepted connection in, unless its peer is of another account or there are too many."""
        try:
            own, pid = peers.is_own(accepted), peers.process_of(accepted)
        except OSError:
            accepted.close()
            return
        if not own:
            self._turned_away("a process of another account was turned away from the control socket")
        elif len(self._kept_by) >= CONNECTIONS_LIMIT:
            self._turned_away(f"there are {CONNECTIONS_LIMIT} connections; one more was turned away")
        elif self._group is not None and not self._draining:
            task = self._group.create_task(self._kept(accepted, pid), name="sot-connection")
            self._kept_by.add(task)
            task.add_done_callback(self._kept_by.discard)
            return
        accepted.close()

    def _turned_away(self, words: str) -> None:
        """Tell why somebody was not let in: the same words not more than once a minute, whoever knocks how often."""
        now = self._home.clock.monotonic()
        if now - self._last_told.get(words, -math.inf) >= TELL_AGAIN_SECS:
            self._last_told[words] = now
            self._told(words, False)

    # -- a connection ------------------------------------------------------------------------------------------------

    async def _kept(self, accepted: socket.socket, pid: int) -> None:
        """Serve a connection until it ends; whatever goes wrong with it ends it alone."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=wire.FRAME_LIMIT)
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, accepted)
        except OSError:
            accepted.close()
            return
        connection = Connection(reader, asyncio.StreamWriter(transport, protocol, reader, loop), pid)
        self._connections[connection] = None
        writing = asyncio.create_task(connection.write(), name="sot-connection-out")
        try:
            await self._served(connection)
        except Dropped as dropped:
            connection.drop(str(dropped))
        except TimeoutError:
            connection.drop("it was silent")
        except Exception as fault:  # noqa: BLE001  (the top of a connection: its fault ends it and nothing else)
            self._told(f"a connection ended by a fault: {type(fault).__name__}: {fault}", False)
        finally:
            self._leave(connection)
            while connection.rests:  # its dialog went with it, and nobody else would end that
                connection.rests -= 1
                await self._client.do(RestWrites(rest=False))
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
            await connection.close()

    async def _served(self, connection: Connection) -> None:
        async with asyncio.timeout(HELLO_SECS):
            first = await connection.frame()
        if first is None:
            return
        hello = self._admission.judge(first)
        if isinstance(hello, Denied):
            await connection.answer(wire.encode(first.number, "res", "hello", hello.payload()))
            return
        if hello.role is Role.HANDOFF:
            await self._handed_off(connection, first)
            return
        self._admit(connection, hello, first)
        pings = False
        while True:
            must_speak = pings and hello.role in _STAYING
            async with asyncio.timeout(SILENCE_SECS if must_speak else None):
                frame = await connection.frame()
                if frame is None:
                    break
                await connection.skip(frame.blob_bytes)
            if frame.kind == "res" and hello.role is Role.LINK:
                self._hub.heard(connection, frame)
            if frame.kind != "req":
                continue
            if frame.op == "hello":
                raise Dropped("it said hello twice")
            pings = pings or frame.op == "ping"
            await connection.pending.acquire()
            self._begin(connection, frame)
        # A client that has said all it has to say may still be reading.
        if connection.under_way:
            await asyncio.wait(connection.under_way)
        await connection.flushed()

    def _admit(self, connection: Connection, hello: Hello, first: Frame) -> None:
        """Answer the hello, tell again what the peer has missed, and count it among those that are told."""
        connection.hello = hello
        self._admitted[connection] = None
        self._somebody.set()
        missed = self._missed(hello)
        connection.tell(self._welcome(first, pending=missed is None))
        for data in missed or ():
            connection.tell(data)
        if hello.role is Role.LINK:
            self._hub.joined(connection)

    def _welcome(self, first: Frame, *, pending: bool) -> bytes:
        """Return the answer to a hello; `pending` says that not all that was missed can be told again."""
        payload = {
            "session_id": self._session,
            "revision": self.revision,
            "snapshot_pending": pending,
            "host": self.site.host,
            "project_root": paths.home_folder(self.site.environ),
            "label": self.site.label,
            "clients_connected": len(self._admitted),
            "protocol": wire.PROTOCOL,
            "app_version": self.site.version,
            "proxy": False,
            "comm_home": self._home.path,
        }
        return wire.encode(first.number, "res", "hello", payload, self.revision)

    def _missed(self, hello: Hello) -> list[bytes] | None:
        """Return the events a peer that comes back has missed, None when they cannot all be told again."""
        if not hello.session_id:
            return []
        if hello.session_id != self._session:
            return None
        missed = [data for revision, data in self._ring if revision > hello.last_seen_revision]
        return missed if len(missed) == self.revision - hello.last_seen_revision else None

    async def _handed_off(self, connection: Connection, first: Frame) -> None:
        """Answer a connection that wants to be handed on: none of what it may ask for is served here."""
        await connection.answer(self._welcome(first, pending=False))
        async with asyncio.timeout(HELLO_SECS):
            frame = await connection.frame()
        if frame is None or frame.kind != "req":
            return
        payload: dict[str, object] = {"error": f"unknown op: {frame.op}"}
        if frame.op not in _HANDED_OFF:
            payload = {"error": f"a handoff connection cannot ask for {frame.op}", "code": "bad_request"}
        await connection.answer(wire.encode(frame.number, "res", frame.op, payload))

    def _leave(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        if connection not in self._admitted:
            return
        del self._admitted[connection]
        if not self._admitted:
            self._somebody.clear()
        if connection.window:
            self.windows_changed()
        hello = connection.hello
        if hello.role is Role.LINK:
            self._hub.left(connection)
        if hello.role in _STAYING:
            name = hello.name or hello.client_id
            self._gone.append((name, self._home.clock.monotonic()))
            if connection.why:
                self._told(f"the connection of {name} was dropped: {connection.why}", False)

    # -- a request ---------------------------------------------------------------------------------------------------

    def _begin(self, connection: Connection, frame: Frame) -> None:
        if self._group is None or self._draining:
            connection.pending.release()
            return
        task = self._group.create_task(self._request(connection, frame), name=f"sot-op-{frame.op[:40]}")
        for tasks in (self._under_way, connection.under_way):
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    async def _request(self, connection: Connection, frame: Frame) -> None:
        try:
            reply = await self._reply(connection, frame)
            data = wire.encode(frame.number, "res", frame.op, reply.payload, reply.rev)
            if len(data) - 1 > wire.FRAME_LIMIT:
                words = f"frame envelope is {len(data) - 1} bytes; cap is {wire.FRAME_LIMIT}"
                data = wire.encode(frame.number, "res", frame.op, {"error": words, "code": "envelope_too_large"})
            await connection.answer(data)
        finally:
            connection.pending.release()

    async def _reply(self, peer: Peer, frame: Frame) -> Reply:
        op = self._ops.get(frame.op)
        if op is None:
            return Reply({"error": f"unknown op: {frame.op}"})
        try:
            return await op(self._control, Asked(frame.op, frame.payload, peer))
        except BadPayload as error:
            words = str(error)
        except SotError as fault:
            words = fault.sentence
            self._told(f"{frame.op} failed: {words}", False)
        except Exception as fault:  # noqa: BLE001  (the top of a request: whatever it is, its asker is told)
            words = f"{type(fault).__name__}: {fault}"
            self._told(f"{frame.op} failed: {words}", False)
        return Reply({"error": f"{frame.op} payload: {words}", "code": "handler_error"})

    # -- what all of them are told -----------------------------------------------------------------------------------

    def peers(self) -> Sequence[Peer]:
        """Return every admitted connection, the oldest first."""
        return tuple(self._admitted)

    def gone(self) -> Sequence[tuple[str, float]]:
        """Return who was here, and for how many seconds no more."""
        now = self._home.clock.monotonic()
        return [(name, now - at) for name, at in self._gone]

    def publish(self, op: str, payload: Mapping[str, object]) -> None:
        """Say an event to every connection, and keep it for who comes back."""
        self.revision += 1
        data = wire.encode(0, "evt", op, payload, self.revision)
        self._ring.append((self.revision, data))
        self._ring_bytes += len(data)
        while self._ring and (len(self._ring) > RING or self._ring_bytes > RING_BYTES):
            self._ring_bytes -= len(self._ring.popleft()[1])
        for connection in tuple(self._admitted):
            connection.tell(data)

    def _row_changed(self, action: str, row: Row) -> None:
        if action in _WIRE_ACTIONS:
            self.publish("workspace.changed", row_ops.changed(action, row))

    async def links(self) -> LinkStanding:
        """Return how this box's own link stands, and which boxes are linked to it."""
        linked = self._hub.linked()
        shown = tuple(visible(host, links.WHY_LIMIT) for host in linked)
        return self._link()._replace(linked=shown, missing=await self._hub.missing(linked))

    def windows_changed(self) -> None:
        """Tell how many windows there are now."""
        self._windows(sum(connection.window for connection in self._admitted))

    def fleet_changed(self) -> None:
        """Tell who has asked for the fleet that there is a newer one: once, until it asks again."""
        for connection in tuple(self._admitted):
            if connection.wants_changes:
                connection.wants_changes = False
                connection.tell(wire.encode(0, "evt", "tui.changed", {}))

    def _first_look(self) -> tuple[_RegistryLook, str]:
        """Take down what there is before anybody is connected, so that only what changes is told."""
        look = _RegistryLook(self._home)
        look.changed()
        return look, topology_hash(self._home, self.site.environ)

    async def _poll(self, first: tuple[_RegistryLook, str]) -> None:
        """Look for what other clients show of the registry, and at the list of boxes (daemon wire 2.3).

        While nobody is connected nothing is looked at: who comes then is told what has changed since, within one pause.
        """
        look, boxes = first
        while True:
            await asyncio.sleep(POLL_SECS)
            await self._somebody.wait()
            if await self._pool.run(look.changed):
                self.publish("workspace.changed", {"action": "agent_state", "slug": "", "workspace_id": ""})
            found = await self._pool.run(lambda: topology_hash(self._home, self.site.environ))
            if found != boxes:
                self.publish("topology.changed", {"hash": found})
            boxes = found


class _RegistryLook:
    """What other clients show of the registry, from one look to the next; a look that fails is none."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._data = b""
        self._seen: dict[str, tuple[object, ...]] | None = None

    def changed(self) -> bool:
        """Look, and tell whether it differs; the first look only takes it down."""
        try:
            data = self._home.disk.read_up_to(self._home.registry, registry.REGISTRY_LIMIT)
        except OSError:
            return False
        if data == self._data:
            return False
        book = registry.parse(data)
        if book is None:
            return False
        was, self._data = self._seen, data
        entries = {handle: book.entry(handle) or {} for handle in book.agents}
        self._seen = {handle: tuple(entry.get(key) for key in _SHOWN) for handle, entry in entries.items()}
        return was is not None and was != self._seen


def _nothing() -> None:
    """Do nothing: nobody listens yet."""


_SHOWN = ("state", "summary", "status_at", "host")
"""The keys of an entry that other clients show (daemon wire 2.3)."""


def _first(group: BaseExceptionGroup[SotError]) -> BaseException:
    fault: BaseException = group
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault
