"""`sot-tui despawn`: the whole end of a row: its run, its place with the daemon, its entry (daemon wire 3.9)."""

from __future__ import annotations

import os

from sot_tui.comm import spawning
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.verbs._session import ask, misused, named, who_am_i
from sot_tui.verbs.spawn import told

USAGE = """\
Examples:
  sot-tui despawn @Docs-box    end the row of a handle, and remove its entry
  sot-tui despawn ws-docs-9f31 the same, by the row's id, slug or label

Usage: sot-tui despawn @HANDLE|ROW [--endpoint ENDPOINT]

The inbox stays, and so does the project. The entry of a session that has no row any more: sot-tui leave --name HANDLE.
"""


def main(argv: list[str]) -> int:
    """Despawn; the exit code is 0, 1 (failed) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    values, words, wrong = named(argv, ("--endpoint",))
    if wrong or len(words) != 1 or words[0] in {"", "@"}:
        return misused(USAGE, f"comm-despawn.sh: {wrong or 'one handle or row'}")
    home = home_here()
    return told(spawning.despawn(home, os.environ, who_am_i(home), words[0], values.get("--endpoint", "")))
