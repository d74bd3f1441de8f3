"""The terminal that the dashboard is drawn on: Textual's own driver, but that no byte, signal or end of it stops us.

A Latin-1 keyboard, a binary paste, or a sequence cut short by a slow line sends bytes that are no UTF-8. Textual's
input thread decodes strictly and dies of them, and the dashboard, its drafts and the engine it hosts with it. Here such
a byte is one U+FFFD, and a sequence that Textual's parser fails at is no key. Ctrl+Z is not offered, and SIGTSTP is not
heard: stopping the dashboard would stop the engine with it, and a stopped lock holder is a held lock. Textual is
pinned, because this stands in the place of its own methods.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import sys
from codecs import getincrementaldecoder
from contextlib import suppress
from queue import Full
from typing import IO, TYPE_CHECKING

from textual import events
from textual._time import get_time
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from sot_tui.screens import typed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import App
    from textual.message import Message

_AT_ONCE_BYTES = 4096
"""What one read takes; a paste comes in several."""
_IDLE_S = 0.1
"""Seconds after which a lone ESC is the key and not the start of a sequence."""
_ESCAPE_S = 0.02
"""The same while keys are meant for a row: its agent is to hear of the key at once, and a terminal sends a sequence in
one piece."""


class Forgiving:
    """A terminal to write to, that may be gone: what nobody sees any more is no fault.

    A window that is closed takes its terminal with it. Textual's writing thread would die of the first write after
    that, and whoever then fills its short queue, the loop itself, waits for ever: a dashboard without a window that no
    signal ends, and that hosts the engine still.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, if there is something to write to."""
        with suppress(OSError):
            return self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, if there is something to flush to."""
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""
        return self._file.isatty()


class KeyParser(XTermParser):
    """Textual's parser; while keys are meant for a row, each is the very key that was pressed."""

    exact = False

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if self.exact and (alt or len(sequence) > 1):
            key = typed.key_of("\x1b" + sequence if alt else sequence, whole=alt)
            if key is not None:
                return [events.Key(typed.name_of(key), None)]
        return super()._sequence_to_key_events(sequence, alt)

    def hasten(self) -> None:
        """Wait for less time than otherwise for what may follow a lone ESC."""
        if self._timeout_time is not None:
            self._timeout_time = min(self._timeout_time, get_time() + _ESCAPE_S)

    @property
    def patience(self) -> float:
        """Return for how long to wait for more input before the parser has to be asked again."""
        if not self.exact or self._timeout_time is None:
            return _IDLE_S
        return min(_IDLE_S, max(0.0, self._timeout_time - get_time()))


def pressed(message: Message) -> Message:
    """Return a message as it is meant while keys are for a row: Shift+F3 and a cursor's place are the same bytes."""
    if isinstance(message, events.CursorPosition) and message.y == 0 and message.x > 0:
        key = typed.key_of(f"\x1b[1;{message.x + 1}R")
        if key is not None:
            return events.Key(typed.name_of(key), None)
    return message


class TerminalDriver(LinuxDriver):
    """Reads keys, mouse and pastes, whatever bytes they come in, and writes whether or not the terminal is there."""

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        # Textual draws on stderr alone, which a person may have sent into a file: nothing was seen then.
        if (self._file is None or not self._file.isatty()) and sys.__stdout__ is not None:
            self._file = sys.__stdout__
        if self._file is not None:
            self._file = Forgiving(self._file)  # type: ignore[assignment]  # the writing thread needs no more of it
        self._loop = asyncio.get_running_loop()
        self.exact = False
        """Whether keys are meant for a row just now."""

    def _sigtstp_application(self, *_: object) -> None:
        """Go on; a handler and not SIG_IGN, which an editor would inherit."""

    def _sigcont_application(self, *_: object) -> None:
        """Take the terminal anew: who was stopped by SIGSTOP finds it as a shell likes it.

        Not here: a signal comes between any two steps, also of what is to be done.
        """
        self._loop.call_soon_threadsafe(self._take_anew)

    def _take_anew(self) -> None:
        # While it is lent to an editor it is the editor's, and once the app has ended it has been given back.
        if self._auto_restart and self._app.is_running:
            self.suspend_application_mode()
            self.resume_application_mode()
            self._app.refresh(layout=True)

    def run_input_thread(self) -> None:
        """Turn what comes from the terminal into messages, until the app ends."""
        parser = KeyParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(parser.patience):
                    parser.exact = self.exact
                    data = os.read(self.fileno, _AT_ONCE_BYTES)
                    if not data:
                        return  # the terminal is gone; the signal that says so ends the app
                    # The first byte of a letter is none yet, and to the parser no text is the end of all text.
                    if text := decode(data):
                        parser = self._take(parser, parser.feed(text))
                        if parser.exact and text[-1] == "\x1b":
                            parser.hasten()
                parser = self._take(parser, parser.tick())

    def _take(self, parser: KeyParser, messages: Iterable[Message]) -> KeyParser:
        """Hand messages on, and return the parser to go on with: one that failed at a sequence has stopped within it.

        A key beyond Unicode, or one with the event that some terminals add to it, is such a sequence.
        """
        coming = iter(messages)
        while True:
            try:
                message = next(coming, None)
            except Exception:  # noqa: BLE001  (another's parser, and any bytes: whatever it raises, they were no key)
                return KeyParser(self._debug)
            if message is None:
                return parser
            self.process_message(pressed(message) if parser.exact else message)

    def write(self, data: str) -> None:
        """Write to the terminal, if there is anybody who does: it may be lent to an editor, or gone."""
        self._hand_over(data)

    def close(self) -> None:
        """End the thread that writes."""
        if self._writer_thread is not None:
            self._hand_over(None)
            self._writer_thread.join()

    def _hand_over(self, data: str | None) -> None:
        """Put something into the writer's queue, which is short: a writer that has died would be waited for for ever.

        It dies of the first thing that it writes to a terminal that is gone.
        """
        thread = self._writer_thread
        while thread is not None and thread.is_alive():
            try:
                thread._queue.put(data, timeout=_IDLE_S)  # noqa: SLF001  (as above: Textual is pinned)
            except Full:
                continue
            return
