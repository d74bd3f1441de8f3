"""`sot-tui lock-clear`: clear the registry lock of a holder that this box proves dead (contract, The registry lock).

It takes the reclaim path, never a bare removal, and never clears a holder that may be alive.
"""

from __future__ import annotations

from sot_tui.comm import registry_lock
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.verbs._session import answer, ask, misused, tell

USAGE = """\
Examples:
  sot-tui lock-clear            clear the lock if its holder is proved dead, else say what a person can do

Usage: sot-tui lock-clear
"""


def main(argv: list[str]) -> int:
    """Clear the lock; the exit code is 0 (cleared, or free already) or 1."""
    if ask(argv, USAGE):
        return Exit.OK
    if argv:
        return misused(USAGE, f"comm-registry-lock-clear.sh: unknown argument {argv[0]}")
    outcome = registry_lock.clear(home_here())
    if isinstance(outcome, registry_lock.NotCleared):
        tell(outcome.sentence)
        return Exit.FAILED
    answer(outcome.sentence)
    return Exit.OK
