"""`sot-tui join`: take a handle for this project (contract, Mail and address-book verbs, join)."""

from __future__ import annotations

import os

from sot_tui.comm import identity, joining
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.verbs._session import answer, ask, misused, named, tell

USAGE = """\
Examples:
  sot-tui join                                    as <project>-<host>
  sot-tui join --name Docs-box                    as a handle of your own choice
  sot-tui join --expertise 'files, rust backend'  and say what to ask you about

Usage: sot-tui join [--name HANDLE | HANDLE] [--expertise 'A, B'] [--repin]

  --name HANDLE      the handle to take, over $SOT_COMM_NAME and the self file
  --expertise 'A, B' what this session knows, for others to see (default: $SOT_COMM_EXPERTISE)
  --repin            write over an identity slot that is claimed for a different project
"""


def main(argv: list[str]) -> int:
    """Join, and say as whom; the exit code is 0, 1 (failed), 2 (usage) or 3 (the slot is another project's)."""
    if ask(argv, USAGE):
        return Exit.OK
    repin = "--repin" in argv
    values, words, wrong = named([word for word in argv if word != "--repin"], ("--name", "--expertise"))
    if wrong or len(words) > 1:
        return misused(USAGE, f"comm-join.sh: {wrong or 'one handle only'}")
    name = values.get("--name", words[0] if words else "")
    if not name and ("--name" in values or words):
        return misused(USAGE, "comm-join.sh: a handle cannot be empty")
    expertise = values.get("--expertise", os.environ.get("SOT_COMM_EXPERTISE", ""))
    wish = joining.Wish(
        name or os.environ.get("SOT_COMM_NAME", ""),
        joining.expertise_in(expertise),
        repin,
    )
    outcome = joining.join(home_here(), os.environ, identity.working_folder(), wish)
    if isinstance(outcome, joining.NotJoined):
        tell(*outcome.notes)
        return outcome.code
    for line in outcome.lines():
        answer(line)
    tell(*outcome.notes)
    return Exit.OK
