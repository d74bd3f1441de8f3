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
  sot-tui install --steward     with one named steward, for hooks and units that call the notifier by that name

Usage: sot-tui install [--force] [--steward | --no-steward]

Each script runs the sot-tui of the box it is run on, or what $SOT_TUI_BIN names. Add bin/ to the search path of your
sessions, so that they find comm-poll.sh when they are told to run it. What another install put there is never removed.
steward is put there only when it is asked for, stays until --no-steward, and never takes another program's place.
"""

_OPTIONS = ("--force", "--steward", "--no-steward")


def main(argv: list[str]) -> int:
    """Install, and say what was written; the exit code is 0, 1 (another install stands there, or a fault) or 2."""
    if ask(argv, USAGE):
        return Exit.OK
    unknown = [word for word in argv if word not in _OPTIONS]
    if unknown:
        return misused(USAGE, f"sot-tui install: unknown argument {unknown[0]}")
    if {"--steward", "--no-steward"} <= set(argv):
        return misused(USAGE, "sot-tui install: --steward and --no-steward are one too many")
    steward = "--steward" in argv or (False if "--no-steward" in argv else None)
    home = home_here()
    if steward and (other := _other_steward(f"{home.path}/bin")):
        tell(f"sot-tui install: {other} is another program of that name, and nothing was written; it stays the one")
        return Exit.FAILED
    try:
        done = scripts.install(home, _setup.release(), force="--force" in argv, steward=steward)
    except SotError as error:
        tell(f"sot-tui install: {error.sentence}")
        return Exit.FAILED
    if done.written:
        answer(f"{len(done.written)} of {done.total} scripts were written into {done.folder}")
    else:
        answer(f"all {done.total} scripts stand in {done.folder} already")
    if done.removed:
        answer(f"removed, as they are no longer of this install: {', '.join(done.removed)}")
    if done.folder not in os.environ.get("PATH", "").split(os.pathsep):
        tell(f'  sessions find them once it is on their search path: export PATH="{done.folder}:$PATH"')
    name, found = program.of_the_scripts(os.environ)
    if not found:
        tell(f"  they run {name}, which this search path does not have: {program.to_link(os.environ)}")
    return Exit.OK


def _other_steward(folder: str) -> str:
    """Return the `steward` that a shell would run here but for ours, which must not stand before it; empty for none."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    others = os.pathsep.join(each for each in path if os.path.realpath(each) != os.path.realpath(folder))
    return program.on_path(scripts.STEWARD, {"PATH": others})
