"""`sot-tui poll`: show the mail past the read cursor, then move the cursor (contract, Message frame and Delivery).

The batch is read once under the shared lock; it is shown after the lock is let go, and the cursor is written from the
bytes that were read, and only when all of them were shown.
"""

from __future__ import annotations

from sot_tui.comm import frames, inbox, registry
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.registry import Unread
from sot_tui.comm.text import printable_entry
from sot_tui.verbs._session import answer, ask, misused, say, tell, who_am_i

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

USAGE = """\
Examples:
  sot-tui poll                  show what is new; 75 means the inbox is being written, so poll again

Usage: sot-tui poll
"""


def main(argv: list[str]) -> int:
    """Show new mail; the exit code is 0, 1 (nothing was read) or 75 (the inbox is being written, try again)."""
    if ask(argv, USAGE):
        return Exit.OK
    if argv:
        return misused(USAGE, f"comm-poll: unknown argument {argv[0]}")
    home = home_here()
    here = who_am_i(home)
    if here.refusal:
        tell(f"comm-poll: {here.refusal}")
        return Exit.FAILED
    if not here.name:
        tell("comm-poll: this session is not joined, so it has no inbox; nothing was read. Join first: sot-tui join")
        return Exit.FAILED
    if isinstance(here.book, Unread):
        tell("FAILED: the registry could not be read; nothing was read")
        return Exit.FAILED
    batch = inbox.read_batch(home, here.name)
    if isinstance(batch, inbox.Busy):
        answer(batch.sentence)
        return Exit.BUSY
    if isinstance(batch, inbox.Failed):
        tell(inbox.read_failed(here.name, batch))
        return Exit.FAILED
    code = _show(home, here.name, batch)
    registry.touch(home, here.name)
    return code


def _show(home: Home, handle: str, batch: inbox.Batch) -> Exit:
    """Show a batch; the cursor moves only behind what stdout has taken whole."""
    if batch.note:
        tell(batch.note)
    if batch.warning:
        say(batch.warning + "\n")
    if not batch.lines:
        say("No messages.\n" if batch.missing else "No new messages.\n")
        return Exit.OK
    entries = (shown.decode() for line in batch.lines if (shown := frames.shown(line)) is not None)
    say("".join(map(printable_entry, entries)))
    moved = inbox.write_cursor(home, handle, batch)
    if isinstance(moved, inbox.CursorStays):
        tell(moved.sentence)
        return Exit.FAILED
    return Exit.OK
