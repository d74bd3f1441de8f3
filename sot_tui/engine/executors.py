"""Named, private threads for work that blocks: locks, flushes, reads.

The event loop touches no disk. Python's own executors are small, shared, and waited for at exit however long a lock
takes; these are named for what they do, one thread each or as many as there is work, so that a wait for one lock holds
up nothing else. Work in a thread cannot be cancelled: who awaits it may go, the work goes on to its own deadline.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class InThread(Protocol):
    """Runs work that blocks in a thread, and returns what it returns."""

    async def __call__(self, function: Callable[[], T]) -> T:
        """Return what `function` returns, or raise what it raises."""


class Executor:
    """One thread with a queue: what is handed to it is done one at a time, in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        # A daemon thread: a wait for a held lock does not keep a closed dashboard from ending.
        self._thread = threading.Thread(target=self._run, name=f"sot-{name}", daemon=True)
        self._thread.start()

    async def run(self, function: Callable[[], T]) -> T:
        """Return what `function` returns, or raise what it raises, once the thread has come to it."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            try:
                value = function()
            except BaseException as fault:  # noqa: BLE001  (it is raised where the work was asked for)
                _post(loop, _fail, answer, fault)
            else:
                _post(loop, _give, answer, value)

        self._work.put(work)
        return await answer

    async def close(self, within: float) -> bool:
        """Let what was handed over be done, for at most `within` seconds; tell whether it was."""
        try:
            await asyncio.wait_for(self.run(_nothing), within)
        except TimeoutError:
            return False
        finally:
            self._work.put(None)
        return True

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()


class Pool:
    """Threads of one name, as many as there is work at a time: what one of them waits for delays no other.

    Past the limit work waits its turn, first come, first served. A thread that was made stays.
    """

    def __init__(self, name: str, limit: int) -> None:
        self.name, self._limit = name, limit
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._made = 0
        self._under_way = 0

    async def run(self, function: Callable[[], T]) -> T:
        """Return what `function` returns, or raise what it raises, once a thread has come to it."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            try:
                value = function()
            except BaseException as fault:  # noqa: BLE001  (it is raised where the work was asked for)
                _post(loop, self._end, _fail, answer, fault)
            else:
                _post(loop, self._end, _give, answer, value)

        self._under_way += 1
        if self._under_way > self._made and self._made < self._limit:
            name = f"sot-{self.name}-{self._made + 1}"
            try:
                threading.Thread(target=self._run, name=name, daemon=True).start()
            except RuntimeError:  # the system has no thread left: those that were made do the work
                if not self._made:
                    self._under_way -= 1
                    raise
            else:
                self._made += 1
        self._work.put(work)
        return await answer

    def close(self) -> None:
        """Let every thread end once it has done what it is at; what is handed over after that has one of its own."""
        made, self._made = self._made, 0
        for _ in range(made):
            self._work.put(None)

    def _end(self, told: Callable[..., None], answer: asyncio.Future[T], outcome: object) -> None:
        self._under_way -= 1
        told(answer, outcome)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()


def _nothing() -> None:
    """Do nothing: when the thread has come to it, all that was handed over before is done."""


def _give(answer: asyncio.Future[T], value: T) -> None:
    if not answer.done():
        answer.set_result(value)


def _fail(answer: asyncio.Future[T], fault: BaseException) -> None:
    if not answer.done():
        answer.set_exception(fault)


def _post(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *args: object) -> None:
    try:
        loop.call_soon_threadsafe(function, *args)
    except RuntimeError:
        return  # the loop has ended, and with it whoever asked
