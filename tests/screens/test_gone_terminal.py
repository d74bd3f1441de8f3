"""A terminal that is gone: whoever writes to it goes on, and nobody waits for a thread that died of it."""

from __future__ import annotations

import os
import pty
import threading

import pytest
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from sot_tui.screens.terminal import Forgiving


@pytest.mark.parametrize("lines", [1, 3 * MAX_QUEUED_WRITES])
def test_write_when_the_terminal_is_gone_then_goes_on(lines: int) -> None:
    """A dashboard whose window was closed once waited for ever, with the engine in it, and no signal ended it."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as file:
        terminal = Forgiving(file)
        assert terminal.isatty()
        assert terminal.fileno() == theirs
        thread = WriterThread(terminal)  # type: ignore[arg-type]  # it needs no more of a file
        thread.start()
        os.close(ours)

        def write_all() -> None:
            for _ in range(lines):
                thread.write("something\n")
            thread.stop()

        writer = threading.Thread(target=write_all, daemon=True)
        writer.start()
        writer.join(20)
        assert not writer.is_alive(), "it waits for a thread that is dead"
        assert terminal.write("x") == 1
        terminal.flush()
        # What is left in the file's own buffer would be written, in vain, when it is closed.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, theirs)
        os.close(nowhere)
