"""One run of an agent, from its start until its end is on disk: the loop of a capsule.

Product, Rows: the pump comes first. Each turn reads what the agent wrote, serves those who look, and feeds the screen
within a budget; none of them waits for another. The run is over when its agent has ended *and* `run.json` says so: on a
full disk it goes on answering and tries again. Ending an agent that was asked to end takes ten seconds at most.
"""

from __future__ import annotations

import os
import selectors
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from sot_tui.engine.rows.answers import Answers, Place
from sot_tui.engine.rows.lane_server import LaneServer

if TYPE_CHECKING:
    import socket

    from sot_tui.comm.clock import Clock
    from sot_tui.engine.rows.child import Child, Ended
    from sot_tui.engine.rows.emulation import Emulation
    from sot_tui.engine.rows.voyage import Record, Recording, Voyage
    from sot_tui.wake.terminal import Screen

READY_SECS = 2.0
"""An agent that draws nothing counts as ready after this; any other once it has drawn something."""
DRAIN_SECS = 0.2
"""After an agent's end: how long nothing more comes before what it wrote is taken for complete."""
DRAIN_LIMIT_SECS = 2.0
"""The same in all, where something that it left behind goes on writing."""
RETRY_SECS = 1.0
"""Between two tries to write down how it ended."""
_HUNG_UP_LOOK_SECS = 0.5
"""Between two looks at a terminal that nobody has open while its agent lives: it may open it again."""
_FAULT_PAUSE_SECS = 0.1
"""After a fault, so that one that comes again each turn takes no core."""
_FAULT_CHARS = 200
_FRAME_SECS = 1.0
"""After this an unfinished frame is shown as it is; the model's own bound."""


class Run:
    """The run itself: its agent, its screen, its record."""

    def __init__(
        self,
        clock: Clock,
        child: Child,
        emulation: Emulation,
        recording: Recording,
        voyage: Voyage,
        record: Record,
        size: tuple[int, int],
    ) -> None:  # fmt: skip
        self.clock = clock
        self.child = child
        self.emulation = emulation
        self.recording = recording
        self.record = record
        self.size = size
        """Columns and lines of the agent's terminal; the screen follows when it has read so far."""
        self.sized_by = ""
        """Who gave it that size."""
        self.unwritten = ""
        """Why its end is not on disk yet; empty when nothing keeps it from that."""
        self.fault = ""
        """The last fault of this program's own that was not foreseen."""
        self.inputs = 0
        """How many times somebody has typed into it, the wake not counted."""
        self._typed_at: float | None = None
        self._voyage = voyage
        self._began = clock.monotonic()
        self._is_ready = False
        self._asked_at: float | None = None
        self._ended_at: float | None = None
        self._quiet_since = self._began
        self._hung_up = False
        self._look_at: float | None = None
        self._press_at: float | None = None
        self._is_drained = False
        self._is_pictured = False
        self._is_written = False
        self._write_at: float | None = None

    # -- how it stands -----------------------------------------------------------------------------------------------

    @property
    def phase(self) -> str:
        """Return the wire's word for how it stands."""
        if self.child.ended is not None:
            return "ended"
        if self._asked_at is not None:
            return "ending"
        if self._is_ready or self.clock.monotonic() - self._began >= READY_SECS:
            return "ready"
        return "starting"

    @property
    def is_over(self) -> bool:
        """Tell whether the agent has ended, its output is complete, and its end is on disk."""
        return self._is_written and self._is_pictured

    @property
    def wants_output(self) -> bool:
        """Tell whether the agent's terminal is to be read."""
        return self.emulation.has_room and not self._hung_up and not self._is_drained

    def screen(self) -> Screen:
        """Return the last complete screen."""
        return self.emulation.screen(self.clock.monotonic())

    def synchronizing(self) -> bool:
        """Tell whether the agent is in the middle of a frame."""
        return self.emulation.synchronizing(self.clock.monotonic())

    @property
    def person_s(self) -> float | None:
        """Return the seconds since somebody typed into it; None when nobody did."""
        return None if self._typed_at is None else self.clock.monotonic() - self._typed_at

    # -- what is done to it ------------------------------------------------------------------------------------------

    def typed_into(self) -> None:
        """Note that somebody types into it."""
        self.inputs += 1
        self._typed_at = self.clock.monotonic()

    def is_as_seen(self, revision: int, inputs: int) -> bool:
        """Tell whether its screen is what a reader saw, with all that the agent has written by now, and its input too.

        What the terminal holds and nobody has read yet is taken in first: it may be the echo of a person's key.
        """
        if self.wants_output:
            self.pump()
        if self.emulation.waits:
            self.child.answer(self.emulation.feed(self.clock.monotonic()))
        if self.emulation.waits or self.synchronizing() or self.child.waiting or inputs != self.inputs:
            return False
        return self.screen().revision == revision

    def resize(self, columns: int, lines: int, who: str) -> None:
        """Give its terminal a size."""
        self.sized_by = who
        if (columns, lines) == self.size or self._is_drained:
            return
        self.size = (columns, lines)
        self.child.resize(columns, lines)
        self.recording.resized(columns, lines)
        self.emulation.resize(columns, lines)

    def end(self, reason: str) -> None:
        """Ask the agent to end; it is pressed harder while it does not."""
        if self._asked_at is None and self.child.ended is None:
            self.record = self.record._replace(reason=reason)
            self._asked_at = self.clock.monotonic()
            self._press_at = self._asked_at

    # -- its turns ---------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Take what the agent wrote."""
        data = self.child.read()
        now = self.clock.monotonic()
        if data is None:
            self._hung_up = True
            self._look_at = now + _HUNG_UP_LOOK_SECS
        elif data:
            self._is_ready = True
            self._quiet_since = now
            self.recording.output(data)
            self.emulation.take(data)

    def turn(self) -> None:
        """Do what is due: feed the screen, press an agent that is to end, notice its end and write it down."""
        now = self.clock.monotonic()
        if self.emulation.waits:
            faults = self.emulation.faults
            self.child.answer(self.emulation.feed(now))
            if self.emulation.faults != faults:
                self.child.ask_to_redraw()
        if self._look_at is not None and now >= self._look_at and self.child.ended is None:
            self._hung_up, self._look_at = False, None
            self.pump()
        if self._asked_at is not None and self._press_at is not None and now >= self._press_at:
            following = self.child.press_to_end(now - self._asked_at)
            self._press_at = None if following is None else self._asked_at + following
        ended = self.child.reap()
        if ended is not None:
            self._wind_up(ended, now)

    def _wind_up(self, ended: Ended, now: float) -> None:
        """Write down how the agent ended, take the rest of its output, and let go of its terminal."""
        if self._ended_at is None:
            self._ended_at = self._quiet_since = self._write_at = now
            self._look_at = None
            self.record = self.record._replace(ended=self.clock.now(), exit=ended.exit, signal=ended.signal)
        if not self._is_written and self._write_at is not None and now >= self._write_at:
            try:
                self._voyage.write(self.record)
            except FileNotFoundError:
                # Somebody has removed the run's folder, and with it whatever would be read there.
                self._is_written, self._write_at = True, None
            except OSError as error:
                self.unwritten = f"its end is not on disk yet: {error.strerror}"
                self._write_at = now + RETRY_SECS
            else:
                self._is_written, self._write_at, self.unwritten = True, None, ""
        if not self.emulation.has_room:
            self._quiet_since = now  # it is not read at all
        is_quiet = self._hung_up or now - self._quiet_since >= DRAIN_SECS or now - self._ended_at >= DRAIN_LIMIT_SECS
        if not self._is_drained and is_quiet:
            self._is_drained = True
            self.recording.close()
        if self._is_drained and not self.emulation.waits and not self._is_pictured:
            self._is_pictured = True
            with suppress(OSError):  # it is for a person to look at, and nothing waits for it
                self._voyage.keep_screen(self.screen())

    def due(self) -> float | None:
        """Return the moment of the next turn that has something to do, None when only an event brings one."""
        if self.emulation.waits:
            return self.clock.monotonic()
        moments = [self._press_at, self._write_at, self._look_at]
        if self._ended_at is not None and not self._is_drained:
            moments += [min(self._quiet_since + DRAIN_SECS, self._ended_at + DRAIN_LIMIT_SECS)]
        return min((moment for moment in moments if moment is not None), default=None)


class Loop:
    """Runs a run: everything that may happen to it comes through one selector."""

    def __init__(self, run: Run, listener: socket.socket, place: Place) -> None:
        self._run = run
        self._selector = selectors.DefaultSelector()
        self._server = LaneServer(self._selector, listener, Answers(run, place).answer, run.clock.monotonic)
        self._terminal_events = 0
        self._told_to_end = False
        self._wake, wake = os.pipe()
        for descriptor in (self._wake, wake):
            os.set_blocking(descriptor, False)
        self._selector.register(self._wake, selectors.EVENT_READ, self._woken)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # its byte in the pipe ends a wait; each turn looks
        signal.signal(signal.SIGTERM, self._hear)

    def go(self) -> None:
        """Serve until the run is over and those who look were told so."""
        run = self._run
        run.turn()  # it may have ended before its end could wake us
        while not run.is_over:
            try:
                self._turn()
            except Exception as error:  # noqa: BLE001  (the top of this process: no fault of ours may end an agent)
                run.fault = f"{type(error).__name__}: {error}"[:_FAULT_CHARS]
                run.clock.sleep(_FAULT_PAUSE_SECS)
        self._unwatch_terminal()
        run.child.close()
        ended = run.record
        self._server.farewell({"event": "ended", "exit": ended.exit, "signal": ended.signal, "reason": ended.reason})

    def _turn(self) -> None:
        run = self._run
        self._watch_terminal()
        for key, events in self._selector.select(self._timeout()):
            key.data(events)
        if self._told_to_end:
            run.end("its capsule was told to stop (SIGTERM)")
        run.turn()
        self._server.turn(run.clock.monotonic())
        if self._server.wanted:
            self._server.tell_changed(run.screen().revision)

    def _timeout(self) -> float | None:
        if self._server.busy:
            return 0.0
        moments = [self._run.due(), self._server.due()]
        now = self._run.clock.monotonic()
        if self._server.wanted and self._run.synchronizing():
            moments.append(now + _FRAME_SECS)
        due = min((moment for moment in moments if moment is not None), default=None)
        return None if due is None else max(0.0, due - now)

    def _watch_terminal(self) -> None:
        run = self._run
        events = selectors.EVENT_READ if run.wants_output else 0
        if run.child.waiting:
            events |= selectors.EVENT_WRITE
        if events == self._terminal_events:
            return
        if not self._terminal_events:
            self._selector.register(run.child.fd, events, self._on_terminal)
        elif not events:
            self._selector.unregister(run.child.fd)
        else:
            self._selector.modify(run.child.fd, events, self._on_terminal)
        self._terminal_events = events

    def _unwatch_terminal(self) -> None:
        if self._terminal_events:
            self._selector.unregister(self._run.child.fd)
            self._terminal_events = 0

    def _on_terminal(self, events: int) -> None:
        if events & selectors.EVENT_READ:
            self._run.pump()
        if events & selectors.EVENT_WRITE:
            self._run.child.flush()

    def _woken(self, _events: int) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake, 4096)

    def _hear(self, *_: object) -> None:
        self._told_to_end = True
