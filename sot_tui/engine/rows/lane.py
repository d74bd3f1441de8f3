"""The engine's end of a capsule's lane.

Private and versioned (lane_wire); the other end must be of this account. A capsule that does not answer in time, or
that says what no capsule says, is gone as far as this lane goes: nothing is known of it, and a new lane may be opened.
A screen comes as the rows that have changed since the last one. No answer is never taken for a yes.
"""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from sot_tui.comm import peers
from sot_tui.comm.errors import SotError
from sot_tui.engine.rows import lane_wire, last_screen
from sot_tui.engine.rows.lane_wire import LANE, Malformed
from sot_tui.engine.rows.values import History, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sot_tui.engine.rows.values import Key, Mouse
    from sot_tui.wake.terminal import Screen

ANSWER_SECS = 2.0
"""Seconds in which a capsule answers, where a caller names no others: it never waits for anything itself."""

PASTE_CHARS = 1 << 13
"""Characters of one part of a paste: four bytes each are half of what may wait for an agent."""
PASTE_WAIT_SECS = 5.0
"""How long an agent may read nothing of a paste before the rest is given up: less than a capsule waits for more."""
PASTE_PAUSE_SECS = 0.01

_OUTGOING_LIMIT = 1 << 22


class LaneGone(SotError):
    """The capsule does not answer over this lane; open another one, or look whether it lives."""


class LaneForeign(SotError):
    """The capsule speaks another version of the lane: it is left alone."""

    def __init__(self, sentence: str, version: int) -> None:
        super().__init__(sentence)
        self.version = version

    def __reduce__(self) -> tuple[type[LaneForeign], tuple[str, int]]:
        return LaneForeign, (self.sentence, self.version)


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """How a capsule says that its row stands. Texts of the agent's are foreign."""

    pid: int
    """The capsule's process."""
    start: str
    """When that process began, as a proof has it."""
    row: str
    """The row's folder."""
    run: str
    phase: str
    """`starting`, `ready`, `ending` or `ended`."""
    agent: int
    """The agent's process."""
    exit: int | None
    signal: int | None
    reason: str
    """Why the agent was asked to end."""
    revision: int
    lag: int
    synchronizing: bool
    queued: int
    """Bytes of input that the agent has not read."""
    title: str
    status: str
    began: float
    cols: int
    lines: int
    sized_by: str
    lost: int
    """Characters that could not be recorded since the disk last took any."""
    faults: int
    """How often the terminal model has failed."""
    fault: str
    """What went wrong last; empty when nothing did."""


@dataclass(slots=True)
class _Asked:
    """A request that waits for its answer."""

    answered: asyncio.Future[list[dict[str, Any]]]
    parts: list[dict[str, Any]]


class Lane:
    """One open lane. Make it with `open`; after `closed` is set it answers nothing more."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_s: float) -> None:
        self._reader, self._writer = reader, writer
        self._timeout_s = timeout_s
        self._number = 0
        self._asked: dict[int, _Asked] = {}
        self._changed: list[Callable[[], None]] = []
        self._on_closed: list[Callable[[], None]] = []
        self._rows: tuple[lane_wire.Row, ...] = ()
        self._revision = -1
        self.closed = asyncio.Event()
        """Set when nothing more comes over this lane."""
        self.why_closed = ""
        """Why, in one sentence."""
        self.has_ended = False
        """The capsule said that its run is over, and on disk."""
        self._listening = asyncio.create_task(self._listen(), name="lane")

    @classmethod
    async def open(cls, path: str, timeout_s: float = ANSWER_SECS) -> Self:
        """Open the lane at a path; raise LaneGone when nobody answers there, LaneForeign for another version."""
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_unix_connection(path, limit=lane_wire.LINE_LIMIT + 1)
        except (OSError, TimeoutError, ValueError) as error:
            raise LaneGone(f"no capsule answers at {path}: {str(error) or 'it does not accept'}") from error
        if not peers.is_own(writer.get_extra_info("socket")):
            writer.close()
            raise LaneGone(f"{path}: not connecting: another OS account listens on this socket")
        lane = cls(reader, writer, timeout_s)
        try:
            await lane._greet()
        except BaseException:
            await lane.close()
            raise
        return lane

    async def _greet(self) -> None:
        said = (await self._ask("hello", lane=LANE))[0]
        if "error" in said:
            version = said.get("lane")
            raise LaneForeign(str(said["error"]), version if isinstance(version, int) else 0)

    # -- how it stands -----------------------------------------------------------------------------------------------

    async def status(self) -> LaneStatus:
        """Return how the row stands."""
        said = await self._answer("status")
        try:
            return LaneStatus(**{name: said[name] for name in LaneStatus.__slots__})
        except LookupError as error:
            raise self._broken(f"a status without {error}") from error

    async def snapshot(self) -> Snapshot:
        """Return what the row's terminal shows."""
        parts = await self._parts("snapshot", since=self._revision)
        first = parts[0]
        try:
            screen = self._merged(first, parts)
            person = first.get("person_s")
            return Snapshot(
                screen,
                str(first["phase"]),
                int(first["lag"]),
                bool(first["synchronizing"]),
                queued=int(first.get("queued", 0)),
                inputs=int(first.get("inputs", 0)),
                person_s=None if person is None else float(person),
            )
        except (LookupError, TypeError, ValueError, Malformed) as error:
            raise self._broken(f"a screen that cannot be read: {error}") from error

    async def history(self, start: int, count: int) -> History:
        """Return rows that were scrolled off, from a place on, as far as they are kept and one answer holds."""
        parts = await self._parts("history", start=start, count=min(count, lane_wire.HISTORY_ROWS))
        try:
            columns, first, total = (int(parts[0][name]) for name in ("cols", "first", "total"))
            rows: dict[int, lane_wire.Row] = {}
            for part in parts:
                rows |= lane_wire.rows_of(part, columns)
            places = sorted(rows)
            wrapped = lane_wire.wrapped_of(parts[0], places, columns)
            begin = min(places, default=max(start, first))
            return History(first, total, begin, tuple(rows[at] for at in places), wrapped)
        except (LookupError, TypeError, ValueError, Malformed) as error:
            raise self._broken(f"history that cannot be read: {error}") from error

    def on_changed(self, changed: Callable[[], None]) -> None:
        """Have `changed` called when there is another screen than the last that was asked for; once until it is."""
        self._changed.append(changed)
        if len(self._changed) == 1:
            self._post("watch")

    def on_closed(self, closed: Callable[[], None]) -> None:
        """Have `closed` called when nothing more comes."""
        if self.closed.is_set():
            closed()
        else:
            self._on_closed.append(closed)

    # -- what is done to it ------------------------------------------------------------------------------------------

    async def keys(self, pressed: Iterable[Key]) -> str:
        """Press keys; return why not, nothing when the agent's terminal took them."""
        return await self._told("keys", keys=[lane_wire.of_key(key) for key in pressed])

    async def mouse(self, mouse: Mouse) -> str:
        """Do what a mouse does; return why not."""
        return await self._told("mouse", **lane_wire.of_mouse(mouse))

    async def paste(self, text: str) -> str:
        """Paste a text of any length, as fast as the agent reads it; return why not, or how much of it went."""
        if len(text) <= PASTE_CHARS:
            return await self._told("paste", text=text)
        part, at = "first", 0
        while at < len(text):
            end = min(at + PASTE_CHARS, len(text))
            end += text[end - 1 : end + 1] == "\r\n"  # one line break, and not two
            refused = await self._pasted("last" if end == len(text) else part, text[at:end])
            if refused:
                if at:
                    await self._told("paste", part="drop", text="")
                    refused = f"{at} of {len(text)} characters were pasted, and then: {refused}"
                return refused
            part, at = "next", end
        return ""

    async def _pasted(self, part: str, text: str) -> str:
        """Paste a part as soon as there is room for it; return why not, when the agent reads nothing for too long."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + PASTE_WAIT_SECS
        while True:
            said = (await self._ask("paste", part=part, text=text))[0]
            if said.get("code") != "input_refused" or clock() > deadline:
                return str(said.get("error", ""))
            await asyncio.sleep(PASTE_PAUSE_SECS)

    async def type(self, data: bytes) -> str:
        """Send bytes as they are; return why not."""
        return _too_much(len(data)) or await self._told("type", data_b64=base64.b64encode(data).decode())

    async def type_on(self, data: bytes, seen: Snapshot) -> str:
        """Send bytes if the screen is still the one that was seen and nobody typed since; return why not.

        The capsule compares at the moment of typing, so that nothing which it knows of lies between look and key.
        """
        encoded = base64.b64encode(data).decode()
        return await self._told("type", data_b64=encoded, revision=seen.screen.revision, inputs=seen.inputs)

    async def resize(self, columns: int, lines: int, who: str = "") -> str:
        """Give the terminal a size; return why not."""
        return await self._told("resize", cols=columns, lines=lines, who=who)

    async def end(self, reason: str) -> str:
        """Have the agent ended; return why not. It has ended when the lane closes and `has_ended` is true."""
        return await self._told("end", reason=reason)

    async def close(self) -> None:
        """Let go of the lane; the capsule goes on."""
        self._listening.cancel()
        with suppress(asyncio.CancelledError):
            await self._listening
        self._end("it was closed here")
        with suppress(OSError):
            await self._writer.wait_closed()

    # -- requests and answers ----------------------------------------------------------------------------------------

    async def _told(self, op: str, **more: object) -> str:
        return str((await self._ask(op, **more))[0].get("error", ""))

    async def _answer(self, op: str, **more: object) -> dict[str, Any]:
        return (await self._parts(op, **more))[0]

    async def _parts(self, op: str, **more: object) -> list[dict[str, Any]]:
        """Ask what no capsule refuses, and return the parts of the answer."""
        parts = await self._ask(op, **more)
        if "error" in parts[0]:
            raise self._broken(str(parts[0]["error"]))
        return parts

    async def _ask(self, op: str, **more: object) -> list[dict[str, Any]]:
        asked = _Asked(asyncio.get_running_loop().create_future(), [])
        number = self._post(op, **more)
        self._asked[number] = asked
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asked.answered
        except TimeoutError as error:
            raise self._broken(f"no answer to {op} within {self._timeout_s:g} s") from error
        finally:
            self._asked.pop(number, None)

    def _post(self, op: str, **more: object) -> int:
        if self.closed.is_set():
            raise LaneGone(f"the capsule is gone: {self.why_closed}")
        self._number += 1
        line = lane_wire.line({"id": self._number, "op": op, **more})
        if len(line) > lane_wire.LINE_LIMIT or self._writer.transport.get_write_buffer_size() > _OUTGOING_LIMIT:
            raise LaneGone("more than a lane takes at once; nothing was asked")
        self._writer.write(line)
        return self._number

    def _broken(self, why: str) -> LaneGone:
        """Close the lane and return the reason, to be raised."""
        self._listening.cancel()
        self._end(why)
        return LaneGone(f"the capsule is gone: {why}")

    def _merged(self, first: dict[str, Any], parts: list[dict[str, Any]]) -> Screen:
        columns, lines = last_screen.size_of(first)
        rows: list[lane_wire.Row | None] = [*self._rows[:lines], *[None] * (lines - len(self._rows))]
        for part in parts:
            for place, row in lane_wire.rows_of(part, columns).items():
                rows[place] = row
        whole = tuple(row for row in rows if row is not None and len(row) == columns)
        screen = last_screen.screen_of(first, whole)
        self._rows, self._revision = whole, screen.revision
        return screen

    # -- what comes --------------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        why = "it has closed the lane"
        try:
            while line := await self._reader.readline():
                if not line.endswith(b"\n"):
                    break
                self._take(lane_wire.parsed(line[:-1]))
        except (OSError, ValueError, Malformed) as error:
            why = f"what came over the lane cannot be read: {error}"
        self._end(why)

    def _take(self, message: dict[str, Any]) -> None:
        match message.get("event"):
            case "changed":
                for changed in tuple(self._changed):
                    changed()
                return
            case "ended":
                self.has_ended = True
                return
            case None:
                pass
            case _:
                return  # of a later build of the same version
        asked = self._asked.get(lane_wire.number_of(message))
        if asked is None or asked.answered.done():
            return
        asked.parts.append(message)
        if message.get("more") is not True:
            asked.answered.set_result(asked.parts)

    def _end(self, why: str) -> None:
        if self.closed.is_set():
            return
        self.why_closed = why
        self.closed.set()
        self._writer.close()
        for asked in self._asked.values():
            if not asked.answered.done():
                asked.answered.set_exception(LaneGone(f"the capsule is gone: {why}"))
                asked.answered.exception()  # whoever asked may have left
        for closed in self._on_closed:
            closed()


def _too_much(length: int) -> str:
    limit = lane_wire.QUEUE_LIMIT
    return f"more than {limit} bytes at once; nothing was typed" if length > limit else ""
