"""`sot-tui install`: put the script names into the comm home's `bin/` (contract, Layout and Upgrading).

The wake line and the habits of sessions name `comm-poll.sh` and its like; each of them runs the verb of this client.
"""

from __future__ import annotations

import os

from sot_tui.comm import program, scripts
from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.home import home_here
from sot_tui.verbs import _setup
from sot_tui.verbs._session import answer, ask, misused, tell

USAGE = """\
Examples:
  sot-tui install               put comm-join.sh, comm-poll.sh and the others into the comm home's bin/
  sot-tui install --force       also over the scripts of another install

Usage: sot-tui install [--force]

Each script runs the sot-tui of the box it is run on, or what $SOT_TUI_BIN names. Add bin/ to the search path of your
sessions, so that they find comm-poll.sh when they are told to run it. What another install put there is never removed.
"""


def main(argv: list[str]) -> int:
    """Install, and say what was written; the exit code is 0, 1 (another install stands there, or a fault) or 2."""
    if ask(argv, USAGE):
        return Exit.OK
    unknown = [word for word in argv if word != "--force"]
    if unknown:
        return misused(USAGE, f"sot-tui install: unknown argument {unknown[0]}")
    try:
        done = scripts.install(home_here(), _setup.release(), force=bool(argv))
    except SotError as error:
        tell(f"sot-tui install: {error.sentence}")
        return Exit.FAILED
    if done.written:
        answer(f"{len(done.written)} of {len(scripts.SCRIPTS)} scripts were written into {done.folder}")
    else:
        answer(f"all {len(scripts.SCRIPTS)} scripts stand in {done.folder} already")
    if done.removed:
        answer(f"removed, as this release has them no longer: {', '.join(done.removed)}")
    if done.folder not in os.environ.get("PATH", "").split(os.pathsep):
        tell(f'  sessions find them once it is on their search path: export PATH="{done.folder}:$PATH"')
    name, found = program.of_the_scripts(os.environ)
    if not found:
        tell(f"  they run {name}, which this search path does not have: {program.to_link(os.environ)}")
    return Exit.OK
