"""`sot-tui relay send`: a message by way of the hub (contract, Delivery, route 2).

A handle that this box's registry names is filed here, as `send` does; either verb reaches either kind of peer.
"""

from __future__ import annotations

from sot_tui.comm import routes
from sot_tui.comm.errors import Exit
from sot_tui.verbs._session import ask, tell
from sot_tui.verbs.send import deliver

USAGE = """\
Examples:
  sot-tui relay send @Docs-laptop 'the schema is on main'

Usage: sot-tui relay send @HANDLE MESSAGE...
"""
_SHORT = 'usage: comm-relay.sh send @to "msg" | --all "msg"'


def main(argv: list[str]) -> int:
    """Send by way of the hub; the exit code is 0 or 1."""
    if ask(argv, USAGE):
        return Exit.OK
    target, words = (argv[1] if len(argv) > 1 else ""), argv[2:]
    if argv[:1] != ["send"] or target == "--all":
        # Both are events for screens, which only a daemon can publish.
        tell(f"ERROR: {routes.NO_DAEMON}")
        return Exit.FAILED
    if not target.startswith("@"):
        tell(f"{_SHORT}  (no recipient)")
        return Exit.FAILED
    if not any(words):
        tell(f"{_SHORT}  (empty message)")
        return Exit.FAILED
    return deliver(target, " ".join(words))
