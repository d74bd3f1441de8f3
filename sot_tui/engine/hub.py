"""The boxes linked to this daemon, and what is offered to them (contract, Sending, route 2).

A message for a handle that the hub's own folder does not list goes to every link at once, marked forwarded, and the
answers make the one result. Each answer counts once, from the link that was asked, while it is waited for; whatever
else comes is passed over. A link that goes away is waited for no more. Nothing is kept, and nothing is offered twice.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from sot_tui.comm import inbox_lock, links, topology, wire
from sot_tui.comm.links import Ok, Refusal, Silent
from sot_tui.comm.text import visible
from sot_tui.engine.filer import Filed, NotFiled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sot_tui.comm.home import Home
    from sot_tui.comm.wire import Frame
    from sot_tui.engine.connection import Connection
    from sot_tui.engine.executors import InThread
    from sot_tui.engine.filer import Request

OFFERS_LIMIT = 64
"""Offers to one link that may be under way; one more waits its turn, as long as it is waited for itself."""
OP = "comm.file"
_ANY_NUMBER = (1 << 53) - 1
"""As long as any number that an offer will have."""


@dataclass(eq=False, slots=True)
class _Link:
    """One box that holds a link to this daemon."""

    connection: Connection
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(OFFERS_LIMIT))

    @property
    def host(self) -> str:
        return self.connection.hello.host


@dataclass(eq=False, slots=True)
class _Waited:
    """One offer to one link that is not answered yet."""

    link: _Link
    answer: asyncio.Future[Ok | Refusal | None]
    """None: its link is gone."""


class Hub:
    """The links to one daemon; it is what the filer offers to."""

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        host: str,
        in_thread: InThread,
        told: Callable[[str, bool], None],
    ) -> None:
        """`host` is the declared host; `told` logs a line, and whether all is well."""
        self._home, self._environ, self._host = home, environ, host
        self._in_thread, self._told = in_thread, told
        self._links: dict[str, _Link] = {}
        self._waited: dict[int, _Waited] = {}
        self._numbers = count(1)

    # -- who is linked -----------------------------------------------------------------------------------------------

    def joined(self, connection: Connection) -> None:
        """Count a connection among the links; of two links of one box the newer counts, and the older is dropped."""
        link = _Link(connection)
        older, self._links[link.host.lower()] = self._links.get(link.host.lower()), link
        if older is not None:
            self._give_up(older)
            older.connection.drop("a newer link of its box took its place")
        self._told(f"{_shown(link)} is linked", True)

    def left(self, connection: Connection) -> None:
        """Count a connection no more, and wait for none of its answers."""
        host = connection.hello.host.lower()
        link = self._links.get(host)
        if link is None or link.connection is not connection:
            return
        del self._links[host]
        self._give_up(link)
        self._told(f"{_shown(link)} is not linked any more", False)

    def _give_up(self, link: _Link) -> None:
        for waited in self._waited.values():
            if waited.link is link and not waited.answer.done():
                waited.answer.set_result(None)

    def linked(self) -> tuple[str, ...]:
        """Return the boxes that hold a link, the oldest first."""
        return tuple(link.host for link in self._links.values())

    async def missing(self, linked: Sequence[str]) -> tuple[str, ...]:
        """Return the boxes that should hold a link to this one and are not among those that do."""
        found = await self._in_thread(lambda: topology.read(self._environ, self._home.disk))
        return links.not_linked(found, self._host, linked)

    # -- offers ------------------------------------------------------------------------------------------------------

    async def __call__(self, request: Request) -> Filed | NotFiled:
        """Offer a message to every link at once; return what the answers come to, as soon as one of them is ok."""
        seconds = inbox_lock.wait_bound(inbox_lock.WRITE_WAIT, self._environ) + links.PASSED_ON_SECS
        payload = {
            "from": request.sender,
            "to": request.to,
            "text": request.text,
            "broadcast": request.broadcast,
            "forwarded": True,
        }
        size = len(wire.encode(_ANY_NUMBER, "req", OP, payload)) - 1 if self._links else 0
        if size > wire.FRAME_LIMIT:
            return NotFiled("file_failed", f"frame envelope is {size} bytes; cap is {wire.FRAME_LIMIT}")
        asked = [
            asyncio.create_task(self._asked(link, payload, seconds), name="sot-offer") for link in self._links.values()
        ]
        answers: list[Ok | Refusal | Silent] = []
        heard: list[str] = []
        try:
            for coming in asyncio.as_completed(asked):
                host, answer = await coming
                if answer is None:
                    continue
                if isinstance(answer, Ok):
                    return Filed()
                answers.append(answer)
                heard.append(host)
        finally:
            for task in asked:
                task.cancel()
        result = links.combined(request.to, answers, seconds, await self.missing(heard))
        return Filed() if isinstance(result, Ok) else NotFiled(result.code, result.sentence)

    async def _asked(
        self, link: _Link, payload: Mapping[str, object], seconds: float
    ) -> tuple[str, Ok | Refusal | Silent | None]:
        """Offer to one link; return its box and what it said, None when it was gone before any of the offer was sent.

        A link that goes away with an offer may have filed it: no answer will come in time, and none of it is known.
        """
        number = next(self._numbers)
        loop = asyncio.get_running_loop()
        waited = self._waited[number] = _Waited(link, loop.create_future())
        sent: asyncio.Future[bool] | None = None
        unsent = True
        try:
            async with asyncio.timeout(seconds), link.turns:
                if not waited.answer.done():
                    sent = link.connection.send(wire.encode(number, "req", OP, payload))
                answer: Ok | Refusal | Silent | None = await waited.answer
        except TimeoutError:
            return link.host, Silent(link.host)
        finally:
            del self._waited[number]
            if sent is not None:
                unsent = not sent.result() if sent.done() else link.connection.withdraw(sent)
        if answer is None and not unsent:
            answer = Silent(link.host)
        return link.host, answer

    def heard(self, connection: Connection, frame: Frame) -> None:
        """Take an answer of a link; one that is late, another's, or no answer at all is passed over."""
        waited = self._waited.get(frame.number)
        if waited is None or waited.link.connection is not connection or frame.op != OP or waited.answer.done():
            return
        answer = links.read(frame.payload)
        if answer is not None:
            waited.answer.set_result(answer)


def _shown(link: _Link) -> str:
    return f"the box {visible(link.host, links.WHY_LIMIT)}"
