"""The terminal that the dashboard is drawn on: Textual's own driver, but that no input byte can end it.

A Latin-1 keyboard, a binary paste, or a sequence cut short by a slow line sends bytes that are no UTF-8. Textual's
input thread decodes strictly and dies of them, and the dashboard, its drafts and the engine it hosts with it. Here such
a byte is one U+FFFD. Textual is pinned, because this stands in the place of one of its methods.
"""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

_AT_ONCE_BYTES = 4096
"""What one read takes; a paste comes in several."""
_IDLE_S = 0.1
"""Seconds after which a lone ESC is the key and not the start of a sequence."""


class TerminalDriver(LinuxDriver):
    """Reads keys, mouse and pastes, whatever bytes they come in."""

    def run_input_thread(self) -> None:
        """Turn what comes from the terminal into messages, until the app ends."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(_IDLE_S):
                    data = os.read(self.fileno, _AT_ONCE_BYTES)
                    if not data:
                        return  # the terminal is gone; the signal that says so ends the app
                    # The first byte of a letter is none yet, and to the parser no text is the end of all text.
                    if text := decode(data):
                        for message in parser.feed(text):
                            self.process_message(message)
                for message in parser.tick():
                    self.process_message(message)

    def write(self, data: str) -> None:
        """Write to the terminal. While it is lent to an editor nobody takes what is written, and the queue is short."""
        if self._writer_thread is not None and self._writer_thread.is_alive():
            super().write(data)
