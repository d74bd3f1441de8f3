"""`sot-tui session-start`: join as a session that starts, and say who it is (contract, Cases)."""

from __future__ import annotations

import os

from sot_tui.comm import identity, joining, session_start
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.verbs._session import answer, ask, tell

USAGE = """\
Examples:
  sot-tui session-start                        join, and say in one line whether that went well
  SOT_COMM_NAME=Docs-box sot-tui session-start under a handle of your own choice

Usage: sot-tui session-start

The last line is BOOTSTRAP-ARM handle=H identity=ok|MISMATCH|FAIL. MISMATCH: another live handle may be this session's
own, and a line above says how to take it back. FAIL: nothing was joined, and a line says why.
"""


def main(argv: list[str]) -> int:
    """Start; the exit code is 0 whatever came of it, as nothing must keep a session from starting, or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    if argv:
        tell("usage: comm-session-start.sh")
        return Exit.USAGE
    expertise = joining.expertise_in(os.environ.get("SOT_COMM_EXPERTISE", ""))
    started = session_start.start(home_here(), os.environ, identity.working_folder(), expertise)
    tell(*started.notes)
    for line in started.lines:
        answer(line)
    return Exit.OK
