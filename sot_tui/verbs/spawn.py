"""`sot-tui spawn`: a row for a project, by its daemon (contract, Naming; daemon wire 3.8)."""

from __future__ import annotations

import os

from sot_tui.comm import names, spawning
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.verbs._session import answer, ask, misused, named, tell, who_am_i

USAGE = """\
Examples:
  sot-tui spawn                            a row with Claude Code for the project in this folder
  sot-tui spawn ~/src/Docs --agent codex   for another one, with Codex
  sot-tui spawn ~/src/Docs --task 'the API pages'

Usage: sot-tui spawn [FOLDER] [--agent claude|codex|none] [--task TEXT] [--label LABEL] [--name HANDLE]
                     [--account NAME] [--endpoint ENDPOINT]

A row is named after its repository, never after its task. A second session on one repository works in a worktree:
sot-tui worktree-new. It waits until the row is ready, $SOT_COMM_SPAWN_CAPSULE_WAIT seconds (90).
"""
_OPTIONS = ("--agent", "--task", "--label", "--name", "--account", "--endpoint")


def main(argv: list[str]) -> int:
    """Spawn, and say which row came of it; the exit code is 0, 1 (failed) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    values, words, wrong = named(argv, _OPTIONS)
    said = {option.removeprefix("--"): value for option, value in values.items()}
    if wrong or len(words) > 1:
        return misused(USAGE, f"comm-spawn.sh: {wrong or 'one folder only'}")
    if said.get("agent", "none") not in spawning.AGENTS:
        return misused(USAGE, f"comm-spawn.sh: no such agent: {said['agent']}")
    if "name" in said and not names.is_file_safe(said["name"].removeprefix("@")):
        return misused(USAGE, f"comm-spawn.sh: {names.not_a_handle(said['name'])}")
    said["name"] = said.get("name", "").removeprefix("@")
    home = home_here()
    wish = spawning.Wish(words[0] if words else ".", **said)
    return told(spawning.spawn(home, os.environ, who_am_i(home), wish))


def told(outcome: spawning.Done | spawning.Failed) -> Exit:
    """Say what came of it; what went wrong is narration, what was done is the answer."""
    tell(*outcome.notes)
    if isinstance(outcome, spawning.Failed):
        tell(outcome.sentence)
        return Exit.FAILED
    answer(outcome.sentence)
    return Exit.OK
