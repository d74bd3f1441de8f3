"""What a capsule answers over its lane: one function for each thing that may be asked.

The lane is private and versioned (lane_wire). A peer that speaks another version is told so, and may still ask how the
row stands: that much every version says. What a line must hold is checked here; a line that is none drops its viewer.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, NamedTuple

from sot_tui.engine.rows import keys, lane_wire
from sot_tui.engine.rows.emulation import modes_of
from sot_tui.engine.rows.lane_wire import Malformed
from sot_tui.engine.rows.last_screen import said_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sot_tui.engine.rows.lane_server import Viewer
    from sot_tui.engine.rows.run import Run

    Op = Callable[[Viewer, dict[str, Any]], Iterable[dict[str, object]]]

PASTE_SECS = 10.0
"""Seconds after which a paste of which no more comes is taken for one that was given up."""

_REASON_LIMIT = 500
"""Characters of the reason for an end."""


class Place(NamedTuple):
    """Which capsule this is."""

    row: str
    """The row's folder."""
    pid: int
    start: str
    """When its process started, as a proof has it."""


class NotDone(Exception):
    """The request was understood and is refused; nothing was changed."""

    def __init__(self, code: str, sentence: str, **more: object) -> None:
        super().__init__(sentence)
        self.code, self.sentence, self.more = code, sentence, more


class _Pasting(NamedTuple):
    """A paste that comes in parts: nothing else is typed until it has come."""

    viewer: Viewer
    end: bytes
    """What must stand behind it, whatever the program asks for meanwhile."""
    until: float
    """When it counts as given up."""


class Answers:
    """Answers lines for one run."""

    def __init__(self, run: Run, place: Place) -> None:
        self._run = run
        self._place = place
        self._pasting: _Pasting | None = None
        self._owed = b""
        """What ends a paste that was given up; it is sent before anything else is."""
        self._ops: dict[str, Op] = {
            "hello": self._hello,
            "status": self._status,
            "watch": self._watch,
            "snapshot": self._snapshot,
            "history": self._history,
            "keys": self._keys,
            "mouse": self._mouse,
            "paste": self._paste,
            "type": self._type,
            "resize": self._resize,
            "end": self._end,
        }

    def answer(self, viewer: Viewer, line: bytes) -> Iterable[bytes] | None:
        """Return the lines that answer a line; None for a peer that does not speak this language at all."""
        try:
            message = lane_wire.parsed(line)
            number = lane_wire.number_of(message)
            op = lane_wire.text(message, "op")
        except Malformed:
            return None
        try:
            work = self._work(viewer, op)
            return [lane_wire.line({"id": number, "ok": True, **part}) for part in work(viewer, message)]
        except NotDone as refused:
            said = {"id": number, "error": refused.sentence, "code": refused.code, **refused.more}
        except Malformed as error:
            said = {"id": number, "error": error.sentence, "code": "bad_request"}
        except Exception as error:  # noqa: BLE001  (a fault of ours costs an answer, and never the agent)
            said = {"id": number, "error": f"{type(error).__name__}: {error}", "code": "internal"}
        return [lane_wire.line(said)]

    def _work(self, viewer: Viewer, op: str) -> Op:
        work = self._ops.get(op)
        if work is None:
            raise NotDone("unknown_op", "there is no such request")
        if not viewer.greeted and op not in {"hello", "status"}:
            raise NotDone("hello_first", "a hello comes first")
        return work

    # -- how it stands -----------------------------------------------------------------------------------------------

    def _hello(self, viewer: Viewer, message: dict[str, Any]) -> Iterator[dict[str, object]]:
        if message.get("lane") != lane_wire.LANE:
            raise NotDone(
                "lane_version", f"this capsule speaks version {lane_wire.LANE} of its lane", lane=lane_wire.LANE
            )
        viewer.greeted = True
        yield self._who()

    def _who(self) -> dict[str, object]:
        columns, lines = self._run.size
        return {
            "lane": lane_wire.LANE,
            "pid": self._place.pid,
            "start": self._place.start,
            "row": self._place.row,
            "run": self._run.record.run,
            "cols": columns,
            "lines": lines,
        }

    def _status(self, _viewer: Viewer, _message: dict[str, Any]) -> Iterator[dict[str, object]]:
        run = self._run
        screen = run.screen()
        ended = run.child.ended
        yield {
            **self._who(),
            "phase": run.phase,
            "agent": run.child.pid,
            "exit": ended.exit if ended else None,
            "signal": ended.signal if ended else None,
            "reason": run.record.reason,
            "revision": screen.revision,
            "lag": run.emulation.lag,
            "synchronizing": run.synchronizing(),
            "queued": len(run.child.waiting),
            "title": screen.title,
            "status": screen.status,
            "began": run.record.began,
            "sized_by": run.sized_by,
            "lost": run.recording.lost,
            "faults": run.emulation.faults,
            "fault": run.unwritten or run.fault or run.emulation.fault,
        }

    def _watch(self, viewer: Viewer, _message: dict[str, Any]) -> Iterator[dict[str, object]]:
        viewer.watches = viewer.waits = True
        yield {}

    # -- what it shows -----------------------------------------------------------------------------------------------

    def _snapshot(self, viewer: Viewer, message: dict[str, Any]) -> Iterator[dict[str, object]]:
        since = lane_wire.integer(message, "since", -1, 1 << 53, -1)
        run = self._run
        screen = run.screen()
        viewer.seen, viewer.waits = screen.revision, viewer.watches
        told: dict[str, object] = {
            **said_of(screen),
            "phase": run.phase,
            "lag": run.emulation.lag,
            "synchronizing": run.synchronizing(),
            "queued": len(run.child.waiting),
            "inputs": run.inputs,
            "person_s": run.person_s,
        }
        yield from _in_parts(told, run.emulation.changed(screen, since))

    def _history(self, _viewer: Viewer, message: dict[str, Any]) -> Iterator[dict[str, object]]:
        start = lane_wire.integer(message, "start", 0, 1 << 53)
        count = lane_wire.integer(message, "count", 0, lane_wire.HISTORY_ROWS)
        first, total, rows, wrapped = self._run.emulation.history(start, count)
        begin = max(start, first)
        told: dict[str, object] = {
            "first": first,
            "total": total,
            "cols": self._run.screen().columns,
            **lane_wire.of_wrapped(enumerate(wrapped, begin)),
        }
        yield from _in_parts(told, list(enumerate(rows, begin)))

    # -- what is done to it ------------------------------------------------------------------------------------------

    def _keys(self, _viewer: Viewer, message: dict[str, Any]) -> Iterator[dict[str, object]]:
        pressed = lane_wire.keys_of(message)
        modes = modes_of(self._run.screen())
        data = [keys.key_bytes(key, modes) for key in pressed]
        if None in data:
            raise Malformed("there is no such key")
        yield self._offered(b"".join(part for part in data if part))

    def _mouse(self, _viewer: Viewer, message: dict[str, Any]) -> Iterator[dict[str, object]]:
        mouse = lane_wire.mouse_of(message)
        yield self._offered(keys.mouse_bytes(mouse, modes_of(self._run.screen())), by_person=mouse.what == "press")

    def _paste(self, viewer: Viewer, message: dict[str, Any]) -> Iterator[dict[str, object]]:
        part, text = lane_wire.text(message, "part", "whole"), lane_wire.text(message, "text")
        if part not in lane_wire.PASTE_PARTS:
            raise Malformed("a paste is whole, or the first, the next or the last part of one, or dropped")
        modes = modes_of(self._run.screen())
        if part == "whole":
            yield self._offered(keys.paste_bytes(text, modes))
        elif part == "first":
            begin, end = keys.paste_marks(modes)
            told = self._offered(begin + keys.pasted(text))
            self._pasting = _Pasting(viewer, end, self._run.clock.monotonic() + PASTE_SECS)
            yield told
        else:
            yield self._going_on(viewer, part, text)

    def _going_on(self, viewer: Viewer, part: str, text: str) -> dict[str, object]:
        """Take another part of a paste, or its end."""
        pasting = self._pasting
        if pasting is None or pasting.viewer is not viewer:
            raise NotDone("no_paste", "this paste was given up; no more of it was typed")
        self._pasting = None
        if part == "drop":
            self._owed += pasting.end
            return {"accepted": True, "queued": len(self._run.child.waiting)}
        try:
            told = self._offered(keys.pasted(text) + (pasting.end if part == "last" else b""))
        except NotDone:
            self._pasting = pasting
            raise
        if part == "next":
            self._pasting = pasting._replace(until=self._run.clock.monotonic() + PASTE_SECS)
        return told

    def _type(self, _viewer: Viewer, message: dict[str, Any]) -> Iterator[dict[str, object]]:
        try:
            data = base64.b64decode(lane_wire.text(message, "data_b64"), validate=True)
        except (binascii.Error, ValueError) as error:
            raise Malformed("data_b64 is no base64") from error
        if "revision" not in message:
            yield self._offered(data)
            return
        # The wake: it types on what it saw, or not at all.
        revision, inputs = (lane_wire.integer(message, name, 0, 1 << 53) for name in ("revision", "inputs"))
        if self._pasting is not None or self._owed or not self._run.is_as_seen(revision, inputs):
            raise NotDone("moved", "its screen is another one now; nothing was typed")
        yield self._offered(data, by_person=False)

    def _offered(self, data: bytes, *, by_person: bool = True) -> dict[str, object]:
        run = self._run
        if run.child.ended is not None:
            raise NotDone("ended", "its agent has ended; nothing was typed", accepted=False, queued=0)
        pasting = self._pasting
        if pasting is not None:
            if pasting.viewer.connection.fileno() >= 0 and run.clock.monotonic() < pasting.until:
                raise NotDone("pasting", "somebody is pasting; nothing was typed", accepted=False)
            self._pasting, self._owed = None, self._owed + pasting.end
        if run.child.offer(self._owed + data):
            self._owed = b""
            if by_person and data:
                run.typed_into()
        else:
            why = "its agent does not read what is typed; nothing was typed"
            if len(data) > lane_wire.QUEUE_LIMIT:
                why = f"more than {lane_wire.QUEUE_LIMIT} bytes at once; nothing was typed"
            raise NotDone("input_refused", why, accepted=False, queued=len(run.child.waiting))
        return {"accepted": True, "queued": len(run.child.waiting)}

    def _resize(self, _viewer: Viewer, message: dict[str, Any]) -> Iterator[dict[str, object]]:
        columns = lane_wire.integer(message, "cols", *lane_wire.COLUMNS)
        lines = lane_wire.integer(message, "lines", *lane_wire.LINES)
        self._run.resize(columns, lines, lane_wire.text(message, "who", "")[:_REASON_LIMIT])
        yield {"cols": columns, "lines": lines}

    def _end(self, _viewer: Viewer, message: dict[str, Any]) -> Iterator[dict[str, object]]:
        self._run.end(lane_wire.text(message, "reason", "")[:_REASON_LIMIT])
        yield {"phase": self._run.phase}


def _in_parts(told: dict[str, object], rows: list[tuple[int, lane_wire.Row]]) -> Iterator[dict[str, object]]:
    """Yield an answer with its rows, in as many lines as it takes; each but the last says that there is more."""
    parts = list(lane_wire.parts(rows))
    for place, part in enumerate(parts, 1):
        yield {**(told if place == 1 else {}), **part, "more": place < len(parts)}
