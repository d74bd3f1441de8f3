"""`sot-tui worktree-sync`: remind the sessions of worktrees that are behind their base, or bring the own one up to it.

Contract, registry.json: on an unreadable registry worktree-sync says that "nobody was reminded". A reminder is mail, so
only a session with a verified handle sends one. A merge is only made into a worktree in which no change is, and one
that conflicts is taken back at once.
"""

from __future__ import annotations

import os

from sot_tui.comm import identity, registry, routes
from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.registry import Unread
from sot_tui.verbs import _git
from sot_tui.verbs._session import answer, ask, misused, tell, who_am_i

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context
    from sot_tui.comm.worktrees import State

USAGE = """\
Examples:
  sot-tui worktree-sync            remind each session whose worktree is behind its base
  sot-tui worktree-sync --merge    merge the base into the worktree in this folder

Usage: sot-tui worktree-sync [--merge]

A merge is refused while a change or an operation of git's is open there, and one that conflicts is taken back.
"""
_SAYS = "comm-worktree-sync.sh:"
_UNREAD = "FAILED: the registry could not be read; nobody was reminded"


def main(argv: list[str]) -> int:
    """Remind, or merge; the exit code is 0, 1 (not all of it was done) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    if argv not in ([], ["--merge"]):
        return misused(USAGE, f"{_SAYS} unknown argument {argv[0] if argv[0] != '--merge' else argv[1]}")
    home = home_here()
    here = who_am_i(home)
    if here.refusal:
        tell(f"{_SAYS} {here.refusal}")
        return Exit.FAILED
    try:
        return _merge(home, here) if argv else _remind(home, here)
    except SotError as error:
        tell(f"{_SAYS} {error.sentence}")
        return Exit.FAILED


def _remind(home: Home, here: Context) -> Exit:
    book = registry.read(home)
    if isinstance(book, Unread):
        tell(_UNREAD)
        return Exit.FAILED
    fault = identity.sender_fault(here)
    if fault:
        tell(f"FAILED: {fault}; nobody was reminded")
        return Exit.FAILED
    repo = _git.repository(identity.working_folder())
    code, reminded = Exit.OK, 0
    for tree in repo.linked:
        state = _git.state_of(repo, tree, book, home.clock.now())
        if state.behind is None:
            tell(f"{_SAYS} {tree.path} could not be looked at: {state.fault}")
            code = Exit.FAILED
            continue
        for handle in state.handles if state.behind else ():
            if handle == here.name:
                continue
            if handle not in state.live:
                answer(f"  @{handle} is not live, and {state.behind} behind {state.base}")
                continue
            outcome = routes.send(home, here.name, here.project.repo, handle, _words(state))
            if isinstance(outcome, routes.Failed):
                tell(outcome.sentence)
                code = Exit.FAILED
                continue
            answer(f"  filed -> @{handle}")
            reminded += 1
    answer(f"Reminded {reminded} session(s).")
    registry.touch(home, here.name)
    return code


def _words(state: State) -> str:
    return (
        f"{state.base} moved on: {state.tree.branch or state.tree.path} is {state.behind} commit(s) behind it. At a "
        "good point, and with all you have committed, run comm-worktree-sync.sh --merge there."
    )


def _merge(home: Home, here: Context) -> Exit:
    """Merge the base into the worktree that this process stands in."""
    repo = _git.repository(identity.working_folder())
    folder = os.path.realpath(here.project.folder)
    tree = next((each for each in repo.linked if os.path.realpath(each.path) == folder), None)
    if tree is None:
        tell(f"{_SAYS} this is no worktree; nothing was merged")
        return Exit.FAILED
    book = registry.read(home)
    state = _git.state_of(repo, tree, None if isinstance(book, Unread) else book, home.clock.now())
    why = _unmergeable(state)
    if why:
        tell(f"{_SAYS} {why}; nothing was merged")
        return Exit.FAILED
    if not state.behind:
        answer(f"{tree.branch} has all of {state.base} already")
        return Exit.OK
    merged = _git.run(
        tree.path, "-c", "merge.autoStash=false", "merge", "--no-edit", "--quiet", _git.as_ref(state.base),
        bound=_git.WRITE_S,
    )  # fmt: skip
    if merged.ok:
        answer(f"merged {state.base} into {tree.branch}: {state.behind} commit(s)")
        return Exit.OK
    if _is_merging(tree.path):
        back = _git.run(tree.path, "merge", "--abort", bound=_git.WRITE_S)
        if not back.ok:
            tell(f"{_SAYS} the merge conflicts and could not be taken back: {back.why}; it is open in {tree.path}")
            return Exit.FAILED
        tell(f"{_SAYS} {state.base} conflicts with {tree.branch}, so it stands as before; merge it by hand")
        return Exit.FAILED
    tell(f"{_SAYS} {merged.why}")
    return Exit.FAILED


def _unmergeable(state: State) -> str:
    if state.changes is None or state.behind is None:
        return f"the worktree could not be looked at: {state.fault}"
    if not state.tree.branch:
        return "the worktree is on no branch"
    if state.busy:
        return f"{state.busy} goes on here"
    return "there are changes that no commit holds" if state.changes.changed else ""


def _is_merging(path: str) -> bool:
    return os.path.lexists(f"{_git.git_folder(path)}/MERGE_HEAD")
