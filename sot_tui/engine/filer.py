"""Filing a message that a client hands over: `comm.file`, in the order and the words of daemon wire 7.1.

Contract, Sending: every daemon compares its own lock manager with line 1 of the record at each filing; a match appends
(never on bare `none`), a guest forwards anything else to the hub, once, and answers with the hub's own verdict, and the
hub refuses it with the recovery named. What the hub offered over the link is filed only for a handle of this very box,
and goes no further. `ok` means that the line is flushed. Every step that can block runs in a thread of its own, so one
held inbox lock delays no other answer. A filing that comes to its turn too late for its sender to hear of it appends
nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sot_tui.comm import endpoints, frames, inbox, inbox_lock, mounts, names, registry, topology, wire
from sot_tui.comm.clock import stamp
from sot_tui.comm.errors import Misuse
from sot_tui.comm.links import NOT_HERE, PASSED_ON_SECS
from sot_tui.comm.topology import Unlisted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.engine.executors import InThread

REPO = "daemon"
"""What stands as the project of a line that a daemon filed (daemon wire 7.2)."""
LATE_SECS = 2.5
"""Seconds after which no append begins: with the lock wait, its sender would not hear of it."""
LATE_PASSED_ON_SECS = PASSED_ON_SECS
"""The same for what came from another daemon, or is to go to one: that wait is the lock wait and no more than this."""


class Request(NamedTuple):
    """One message to be filed."""

    sender: str
    to: str
    text: str
    broadcast: bool = False
    forwarded: bool = False
    """Another daemon handed it on: it goes no further."""
    offered: bool = False
    """The hub offered it over the link: it is only for a handle of this very box."""


@dataclass(frozen=True, slots=True)
class Filed:
    """The line is in the inbox, flushed."""


@dataclass(frozen=True, slots=True)
class NotFiled:
    """Nothing was added."""

    code: str
    sentence: str


class Offers(Protocol):
    """Asks every box that holds a link to this hub whether it files a message (contract, Sending, route 2)."""

    def __call__(self, request: Request) -> Awaitable[Filed | NotFiled]:
        """Return what the boxes answered together."""


async def no_links(request: Request) -> Filed | NotFiled:
    """Answer for a daemon that no box is linked to."""
    return _not_here(request.to)


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """This folder does not list the handle."""

    may_offer: bool


class Filer:
    """The filing of one daemon."""

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        host: str,
        in_thread: InThread,
        told: Callable[[str, bool], None],
        offers: Offers = no_links,
    ) -> None:
        """`in_thread` runs each filing in a thread of its own; `told` logs a line, and whether all is well."""
        self._home, self._environ, self._host = home, environ, host
        self._in_thread, self._told = in_thread, told
        self.offers = offers

    async def file(self, request: Request) -> Filed | NotFiled:
        """File a message, or say why nothing was added."""
        if not names.is_file_safe(request.to):
            return NotFiled("bad_handle", names.not_a_handle(request.to))
        begun = self._home.clock.monotonic()
        notes: list[str] = []
        outcome = await self._in_thread(partial(self._routed, request, begun, notes))
        for note in notes:
            self._told(note, True)
        if isinstance(outcome, _Elsewhere):
            if not outcome.may_offer or request.forwarded:
                outcome = _not_here(request.to)
            else:
                late = self._late(LATE_PASSED_ON_SECS, begun)
                outcome = late or await self.offers(request)
        if isinstance(outcome, NotFiled) and outcome.code == "file_failed":
            self._told(f"mail to @{request.to} was not filed: {outcome.sentence}", False)
        return outcome

    # -- in a thread -------------------------------------------------------------------------------------------------

    def _routed(self, request: Request, begun: float, notes: list[str]) -> Filed | NotFiled | _Elsewhere:
        """Choose the route, and go it (daemon wire 7.1, steps 2 to 8)."""
        home = self._home
        nowhere = self._nowhere(request)
        if nowhere is not None:
            return nowhere
        try:
            wait_s = inbox_lock.wait_bound(inbox_lock.WRITE_WAIT, self._environ)
        except Misuse as error:
            return _failed(error.sentence)
        own = mounts.lock_identity(home)
        is_hub = topology.names_hub(self._environ, self._host, home.disk) or mounts.is_on_own_disk(home)
        try:
            record = mounts.lock_record(home)
        except OSError as error:
            return _failed(f"the inbox lock record at {home.lock_manager} could not be read: {error.strerror}")
        if record is None or record.manager != own or own == mounts.NO_MANAGER:
            if is_hub:
                return _failed(mounts.not_this_manager(home, record, own))
            return self._late(LATE_PASSED_ON_SECS, begun) or self._forwarded(request, wait_s)
        refused = self._refused_by_registry(request.to)
        if refused == _UNLISTED:
            return _Elsewhere(may_offer=is_hub)
        if isinstance(refused, NotFiled):
            return refused
        late = self._late(LATE_PASSED_ON_SECS if request.forwarded else LATE_SECS, begun)
        return late or self._appended(request, own, wait_s, notes)

    def _nowhere(self, request: Request) -> NotFiled | None:
        """Return why there is nothing to route: no comm home, or an offer of what is not for a session of this box."""
        with suppress(OSError):  # what cannot be looked at is told by the next step
            if not self._home.disk.exists(self._home.path):
                return _not_here(request.to)
        refused = self._refused_by_registry(request.to, own=True) if request.offered else ""
        if refused == _UNLISTED:
            return _not_here(request.to)
        return refused if isinstance(refused, NotFiled) else None

    def _late(self, bound_s: float, begun: float) -> NotFiled | None:
        """Return the refusal of what comes to its turn too late for whoever waits for its answer."""
        if self._home.clock.monotonic() - begun <= bound_s:
            return None
        return _failed(f"this daemon was busy for {bound_s:g}s — nothing was appended")

    def _refused_by_registry(self, to: str, *, own: bool = False) -> NotFiled | str:
        """Return why the registry speaks against a handle; "" when it does not. `own` asks for one of this very box."""
        book = registry.read(self._home)
        if isinstance(book, registry.Unread):
            if book.missing:
                return _not_here(to)
            return _failed(f"the registry could not be read, so @{to} is unverified; nothing was filed")
        entry = book.entry(to)
        host = entry.get("host") if entry is not None else None
        if not isinstance(host, str) or not host or (own and host.lower() != self._host.lower()):
            return _UNLISTED
        if not registry.is_live(entry, self._home.clock.now()):
            return NotFiled("no_live_session", f"no live session holds @{to}")
        return ""

    def _appended(self, request: Request, own: str, wait_s: float, notes: list[str]) -> Filed | NotFiled:
        home = self._home
        to = "" if request.broadcast else request.to
        line = frames.frame(request.sender, to, REPO, request.text, stamp(home.clock.now()))
        outcome = inbox.file_line(home, request.to, line, own, wait_s)
        if outcome.cut_bytes:
            path = home.inbox(request.to)
            notes.append(f"cut {outcome.cut_bytes} bytes of an unterminated line a dead writer left in {path}")
        return _failed(outcome.reason) if isinstance(outcome, inbox.NotFiled) else Filed()

    def _forwarded(self, request: Request, wait_s: float) -> Filed | NotFiled:
        """Hand a message to the hub of this folder, once, and pass its verdict on."""
        if request.forwarded:
            return _failed(f"a forwarded frame reached a daemon that is not its folder's hub ({self._host})")
        endpoint = endpoints.way_to_hub(self._home, self._environ, self._host)
        if isinstance(endpoint, Unlisted):
            return _failed(f"this box's hosts.toml cannot be read, so it names no hub: {endpoint.why}")
        payload = {
            "from": request.sender,
            "to": request.to,
            "text": request.text,
            "broadcast": request.broadcast,
            "forwarded": True,
        }
        asker = wire.Caller(self._host, f"sotd-{self._host}", "cli")
        seconds = wait_s + PASSED_ON_SECS
        answer = wire.ask(self._home.clock, endpoint, asker, "comm.file", payload, seconds, who="the hub")
        if isinstance(answer, wire.NoAnswer):
            return _failed(answer.why)
        if answer.error:
            return NotFiled(answer.code or "file_failed", answer.error)
        if answer.payload.get("ok") is not True:
            return _failed(f"the hub answered neither ok nor a refusal: {wire.shown(answer.payload)}")
        return Filed()


_UNLISTED = "unlisted"


def _not_here(to: str) -> NotFiled:
    return NotFiled(NOT_HERE, f"no box knows that handle: {to}")


def _failed(sentence: str) -> NotFiled:
    return NotFiled("file_failed", sentence)
