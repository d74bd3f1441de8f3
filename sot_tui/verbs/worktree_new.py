"""`sot-tui worktree-new`: a second working folder of this repository, for a second session (contract, Naming).

It lies at `<repo-parent>/worktrees/<repo>-wt-<shortname>` on branch `wt/<shortname>`. A process that may have no
identity is refused before any git write. Nothing that is there already is ever written over or taken up.
"""

from __future__ import annotations

import os

from sot_tui.comm import endpoints, identity, names, spawning, worktrees
from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.worktrees import Mark
from sot_tui.verbs import _git
from sot_tui.verbs._session import answer, ask, misused, named, tell, who_am_i
from sot_tui.verbs.spawn import told

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context

USAGE = """\
Examples:
  sot-tui worktree-new rotation                          from the branch of the main folder
  sot-tui worktree-new rotation --base v2                from another branch
  sot-tui worktree-new rotation --task 'turn the axes'   its row is told what to do

Usage: sot-tui worktree-new SHORTNAME [--base BRANCH] [--agent claude|codex|none] [--task TEXT] [--no-row]

SHORTNAME names the worktree, never the task: the folder is <repo>-wt-SHORTNAME, the branch wt/SHORTNAME, and its
session @<repo>-wt-SHORTNAME-<host>. Where this box has a daemon, that is asked for a row there, as `sot-tui spawn`
asks, unless --no-row says not to. `sot-tui worktree-clean` removes a worktree once its base has all that is in it.
"""
_SAYS = "comm-worktree-new.sh:"
_NO_ROW = "--no-row"


def main(argv: list[str]) -> int:
    """Make the worktree, and say where it lies; the exit code is 0, 1 (nothing was made) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    values, words, wrong = named([word for word in argv if word != _NO_ROW], ("--base", "--agent", "--task"))
    if wrong or len(words) != 1:
        return misused(USAGE, f"{_SAYS} {wrong or 'say one short name'}")
    if not worktrees.is_shortname(words[0]):
        return misused(USAGE, f"{_SAYS} a short name has letters, digits, '.', '_' and '-', 40 at most")
    if values.get("--agent", "none") not in spawning.AGENTS:
        return misused(USAGE, f"{_SAYS} no such agent: {values['--agent']}")
    home = home_here()
    here = who_am_i(home)
    if here.refusal:
        tell(f"{_SAYS} {here.refusal}")
        return Exit.FAILED
    try:
        path = _made(words[0], values.get("--base", ""))
    except SotError as error:
        tell(f"{_SAYS} {error.sentence}")
        return Exit.FAILED
    if not path:
        return Exit.FAILED
    if _NO_ROW not in argv and here.name and endpoints.of_this_box(home, os.environ).endpoint:
        return _row(home, here, path, values)
    handle = names.derived(os.path.realpath(path), here.handle_host, 1)
    answer(f"  its session is @{handle}: start an agent there, and it joins by itself")
    return Exit.OK


def _row(home: Home, here: Context, path: str, values: dict[str, str]) -> Exit:
    """Ask the daemon for a row in the worktree; one that does not come leaves the worktree as it is."""
    wish = spawning.Wish(path, agent=values.get("--agent", "claude"), task=values.get("--task", ""))
    code = told(spawning.spawn(home, os.environ, here, wish))
    if code != Exit.OK:
        tell(f"{_SAYS} the worktree stands; sot-tui spawn {path} asks again")
    return code


def _made(shortname: str, said: str) -> str:
    """Make the worktree, and return where it lies; empty when nothing was made, which has been said."""
    repo = _git.repository(identity.working_folder())
    path, branch = worktrees.place(repo.main.path, shortname), worktrees.branch(shortname)
    base = said or repo.main.branch or repo.main.head
    start = _git.run(repo.main.path, "rev-parse", "--verify", "--quiet", f"{_git.as_ref(base)}^{{commit}}")
    if not start.ok:
        tell(f"{_SAYS} there is no branch {base} to start from; nothing was made")
        return ""
    commit = start.out.decode("ascii").strip()
    if os.path.lexists(path):
        tell(f"{_SAYS} {path} is there already; nothing was made")
        return ""
    if _git.run(repo.main.path, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}").ok:
        tell(f"{_SAYS} there is a branch {branch} already, which may hold work; nothing was made")
        return ""
    made = _git.run(
        repo.main.path, "worktree", "add", "--quiet", "--no-track", "-b", branch, path, commit, bound=_git.WRITE_S
    )
    if not made.ok:
        tell(f"{_SAYS} {made.why}")
        return ""
    if not _marked(path, Mark("" if base == commit else base, commit)):
        tell(f"{_SAYS} the worktree could not be marked as ours, so worktree-clean will leave it to you")
    answer(f"made {path} on {branch}, from {base}")
    return path


def _marked(path: str, mark: Mark) -> bool:
    folder = _git.git_folder(path)
    try:
        with open(f"{folder}/{worktrees.MARK}", "x", encoding="utf-8") as file:
            file.write(worktrees.mark_text(mark))
    except OSError:
        return False
    return bool(folder)
