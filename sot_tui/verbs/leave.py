"""`sot-tui leave`: give this session's handle back, or remove an orphan's entry (contract, leave)."""

from __future__ import annotations

from sot_tui.comm import joining
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.verbs._session import answer, ask, misused, named, tell, who_am_i

USAGE = """\
Examples:
  sot-tui leave                  give this session's handle back; its inbox stays
  sot-tui leave --name Old-box   remove the entry of a session that is gone

Usage: sot-tui leave [--name HANDLE]
"""


def main(argv: list[str]) -> int:
    """Leave; the exit code is 0, 1 (nothing was removed) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    values, words, wrong = named(argv, ("--name",))
    if wrong or words or values.get("--name") == "":
        return misused(USAGE, f"comm-leave.sh: {wrong or 'a handle is given with --name'}")
    home = home_here()
    here = who_am_i(home)
    if here.refusal:
        tell(f"comm-leave.sh: {here.refusal}")
        return Exit.FAILED
    outcome = joining.leave(home, here) if not values else joining.remove(home, here, values["--name"])
    tell(*outcome.notes)
    if isinstance(outcome, joining.NotLeft):
        tell(outcome.sentence)
        return Exit.FAILED
    answer(outcome.sentence)
    return Exit.OK
