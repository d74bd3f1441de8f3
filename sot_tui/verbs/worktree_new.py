"""`sot-tui worktree-new`: a second working folder of this repository, for a second session (contract, Naming).

It lies at `<repo-parent>/worktrees/<repo>-wt-<shortname>` on branch `wt/<shortname>`. A process that may have no
identity is refused before any git write. Nothing that is there already is ever written over or taken up.
"""

from __future__ import annotations

import os

from sot_tui.comm import identity, names, worktrees
from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.worktrees import Mark
from sot_tui.verbs import _git
from sot_tui.verbs._session import answer, ask, misused, named, tell, who_am_i

if TYPE_CHECKING:
    from sot_tui.comm.identity import Context

USAGE = """\
Examples:
  sot-tui worktree-new rotation               from the branch of the main folder
  sot-tui worktree-new rotation --base v2     from another branch

Usage: sot-tui worktree-new SHORTNAME [--base BRANCH]

SHORTNAME names the worktree, never the task: the folder is <repo>-wt-SHORTNAME, the branch wt/SHORTNAME, and its
session @<repo>-wt-SHORTNAME-<host>. `sot-tui worktree-clean` removes it once the base has all that is in it.
"""
_SAYS = "comm-worktree-new.sh:"


def main(argv: list[str]) -> int:
    """Make the worktree, and say where it lies; the exit code is 0, 1 (nothing was made) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    values, words, wrong = named(argv, ("--base",))
    if wrong or len(words) != 1:
        return misused(USAGE, f"{_SAYS} {wrong or 'say one short name'}")
    if not worktrees.is_shortname(words[0]):
        return misused(USAGE, f"{_SAYS} a short name has letters, digits, '.', '_' and '-', 40 at most")
    here = who_am_i(home_here())
    if here.refusal:
        tell(f"{_SAYS} {here.refusal}")
        return Exit.FAILED
    try:
        return _make(here, words[0], values.get("--base", ""))
    except SotError as error:
        tell(f"{_SAYS} {error.sentence}")
        return Exit.FAILED


def _make(here: Context, shortname: str, said: str) -> Exit:
    repo = _git.repository(identity.working_folder())
    path, branch = worktrees.place(repo.main.path, shortname), worktrees.branch(shortname)
    base = said or repo.main.branch or repo.main.head
    start = _git.run(repo.main.path, "rev-parse", "--verify", "--quiet", f"{_git.as_ref(base)}^{{commit}}")
    if not start.ok:
        tell(f"{_SAYS} there is no branch {base} to start from; nothing was made")
        return Exit.FAILED
    commit = start.out.decode("ascii").strip()
    if os.path.lexists(path):
        tell(f"{_SAYS} {path} is there already; nothing was made")
        return Exit.FAILED
    if _git.run(repo.main.path, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}").ok:
        tell(f"{_SAYS} there is a branch {branch} already, which may hold work; nothing was made")
        return Exit.FAILED
    made = _git.run(
        repo.main.path, "worktree", "add", "--quiet", "--no-track", "-b", branch, path, commit, bound=_git.WRITE_S
    )
    if not made.ok:
        tell(f"{_SAYS} {made.why}")
        return Exit.FAILED
    if not _marked(path, Mark("" if base == commit else base, commit)):
        tell(f"{_SAYS} the worktree could not be marked as ours, so worktree-clean will leave it to you")
    handle = names.derived(path, here.handle_host, 1)
    answer(f"made {path} on {branch}, from {base}")
    answer(f"  its session is @{handle}: start an agent there, and it joins by itself")
    return Exit.OK


def _marked(path: str, mark: Mark) -> bool:
    folder = _git.git_folder(path)
    try:
        with open(f"{folder}/{worktrees.MARK}", "x", encoding="utf-8") as file:
            file.write(worktrees.mark_text(mark))
    except OSError:
        return False
    return bool(folder)
