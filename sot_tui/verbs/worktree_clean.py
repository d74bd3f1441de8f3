"""`sot-tui worktree-clean`: remove the worktrees that `worktree-new` made and whose work is in their base.

Nothing of a person's is ever removed: what holds a change, an untracked file or a commit of its own stays, and so does
what could not be looked at. Git is never told to force anything, so what comes up meanwhile stays as well.
"""

from __future__ import annotations

import os

from sot_tui.comm import identity, registry, worktrees
from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.registry import Unread
from sot_tui.verbs import _git
from sot_tui.verbs._session import answer, ask, misused, tell, who_am_i

if TYPE_CHECKING:
    from sot_tui.comm.worktrees import State
    from sot_tui.verbs._git import Repository

USAGE = """\
Examples:
  sot-tui worktree-clean              remove each worktree whose work is in its base
  sot-tui worktree-clean --dry-run    say which these are, and why the others stay
  sot-tui worktree-clean rotation     that one alone

Usage: sot-tui worktree-clean [--dry-run] [--ignored] [SHORTNAME...]

  --dry-run    remove nothing
  --ignored    remove also those that hold files which git ignores (a build, an .env)

Only what worktree-new made is looked at, and only a branch that its base has whole is removed with it.
"""
_SAYS = "comm-worktree-clean.sh:"
_OPTIONS = ("--dry-run", "--ignored")


def main(argv: list[str]) -> int:
    """Remove them, and say why others stay; the exit code is 0, 1 (one that was named stays, or a fault) or 2."""
    if ask(argv, USAGE):
        return Exit.OK
    wanted = [word for word in argv if word not in _OPTIONS]
    odd = next((word for word in wanted if not worktrees.is_shortname(word)), "")
    if odd:
        return misused(USAGE, f"{_SAYS} {odd} is neither an option nor a short name")
    home = home_here()
    here = who_am_i(home)
    if here.refusal:
        tell(f"{_SAYS} {here.refusal}")
        return Exit.FAILED
    book = registry.read(home)
    if isinstance(book, Unread):
        tell("FAILED: the registry could not be read; nothing was removed")
        return Exit.FAILED
    cwd = identity.working_folder()
    try:
        repo = _git.repository(cwd)
    except SotError as error:
        tell(f"{_SAYS} {error.sentence}")
        return Exit.FAILED
    states = [_git.state_of(repo, tree, book, home.clock.now()) for tree in repo.linked]
    code = Exit.OK
    for missing in sorted(set(wanted) - {state.shortname for state in states}):
        tell(f"{_SAYS} there is no worktree {missing}")
        code = Exit.FAILED
    for state in states:
        if wanted and state.shortname not in wanted:
            continue
        why = worktrees.why_kept(state, cwd, named=bool(wanted), ignored="--ignored" in argv) or _hidden(state)
        if not why and "--dry-run" not in argv:
            why = _removed(repo, state)
        elif not why:
            answer(f"would remove {state.tree.path} and {state.tree.branch}")
        if why:
            answer(f"stays: {state.tree.path}: {why}")
            code = Exit.FAILED if wanted else code
    return code


def _hidden(state: State) -> str:
    """Return why a worktree stays when git was told not to look at some of its files."""
    hidden = _git.hidden_changes(state.tree.path)
    if hidden is None:
        return "git did not say which files it was told not to look at"
    return f"git was told not to look at {hidden} of its files, which may be changed" if hidden else ""


def _removed(repo: Repository, state: State) -> str:
    """Remove a worktree and its branch; return why it stays when git refused."""
    tree = state.tree
    gone = _git.run(repo.main.path, "worktree", "remove", tree.path, bound=_git.WRITE_S)
    if not gone.ok:
        return gone.why
    # Only while it is the commit that was judged: whatever came on top meanwhile stays.
    ref = f"refs/heads/{tree.branch}"
    branch = _git.run(repo.main.path, "update-ref", "-d", ref, tree.head, bound=_git.WRITE_S)
    answer(f"removed {tree.path}" + (f" and {tree.branch}" if branch.ok else f"; {tree.branch} stays: {branch.why}"))
    for handle in state.handles:
        answer(f"  @{handle} is still listed: sot-tui leave --name {handle}")
    if os.path.lexists(tree.path):
        tell(f"{_SAYS} something is left at {tree.path}")
    return ""
