"""`sot-tui probe`: a row with a bare shell to try something in (contract, Layout: `probe/<handle>/`)."""

from __future__ import annotations

import os

from sot_tui.comm import probing
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.verbs._session import ask, misused, named, tell, who_am_i
from sot_tui.verbs.spawn import told

USAGE = """\
Examples:
  sot-tui probe net                      a row with a shell, in a folder of its own
  sot-tui probe net 'ping -c 1 atlas'    and a line typed into it

Usage: sot-tui probe NAME [--endpoint ENDPOINT] [LINE...]

The same NAME is the same row again, and Enter on its line in the dashboard shows it. `sot-tui despawn
@probe-NAME-<host>` ends it; its folder stays.
"""


def main(argv: list[str]) -> int:
    """Probe, and say which row it is; the exit code is 0, 1 (failed) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    values, words, wrong = named(argv, ("--endpoint",))
    if wrong or not words or not words[0]:
        return misused(USAGE, f"comm-probe.sh: {wrong or 'a probe has a name'}")
    home = home_here()
    line = " ".join(words[1:])
    code = told(probing.probe(home, os.environ, who_am_i(home), words[0], line, values.get("--endpoint", "")))
    if code is Exit.OK:
        tell("  to see it: Enter on its line in the dashboard, sot-tui")
    return code
