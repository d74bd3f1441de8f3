"""What is written while the terminal is lent to an editor: nothing, and nobody waits for anybody to take it."""

from __future__ import annotations

import io

from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from sot_tui.screens.terminal import TerminalDriver


def test_write_when_nobody_takes_what_is_written_then_it_is_dropped_and_does_not_wait() -> None:
    """The queue of Textual's writer is short, and whoever fills it waits: the whole loop would stand still."""
    driver = TerminalDriver.__new__(TerminalDriver)
    out = io.StringIO()
    driver._writer_thread = WriterThread(out)
    driver._writer_thread.start()
    driver.write("while it is ours")
    driver._writer_thread.stop()
    for _ in range(2 * MAX_QUEUED_WRITES):
        driver.write("while it is lent")
    assert out.getvalue() == "while it is ours"
    driver._writer_thread = None
    driver.write("before it is ours")
