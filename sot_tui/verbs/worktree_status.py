"""`sot-tui worktree-status`: every worktree of this repository, what is in it that its base has not, and who is there.

It only looks: nothing is locked, stamped, fetched or written, so it needs no identity.
"""

from __future__ import annotations

from sot_tui.comm import identity, registry, worktrees
from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.registry import Unread
from sot_tui.verbs import _git
from sot_tui.verbs._session import ask, misused, say, say_json, tell

if TYPE_CHECKING:
    from typing import Any

    from sot_tui.comm.worktrees import State

USAGE = """\
Examples:
  sot-tui worktree-status             each worktree, and what is in it that its base has not
  sot-tui worktree-status --json      the same for a program (docs/json.md)

Usage: sot-tui worktree-status [--json]
"""
_SAYS = "comm-worktree-status.sh:"


def main(argv: list[str]) -> int:
    """Print the worktrees; the exit code is 0, or 1 when there is no repository or something could not be read."""
    if ask(argv, USAGE):
        return Exit.OK
    unknown = [word for word in argv if word != "--json"]
    if unknown:
        return misused(USAGE, f"{_SAYS} unknown argument {unknown[0]}")
    cwd = identity.working_folder()
    try:
        repo = _git.repository(cwd)
    except SotError as error:
        tell(f"{_SAYS} {error.sentence}")
        return Exit.FAILED
    home = home_here()
    book = registry.read(home)
    known = None if isinstance(book, Unread) else book
    states = [_git.state_of(repo, tree, known, home.clock.now()) for tree in repo.linked]
    if argv:
        shown = [_as_json(state, cwd) for state in states]
        say_json({"main": repo.main.path, "base": repo.main.branch or repo.main.head, "worktrees": shown})
    else:
        say("".join(_lines(state) for state in states) or f"{repo.main.path} has no worktree but itself\n")
    return Exit.FAILED if any(state.fault for state in states) else Exit.OK


def _lines(state: State) -> str:
    tree = state.tree
    where = f"{tree.path}  {tree.branch or 'no branch'}"
    who = "".join(f"  @{handle}{'' if handle in state.live else ' (stale)'}" for handle in state.handles)
    return f"{where}{who}\n    {', '.join(_facts(state))}\n"


def _facts(state: State) -> list[str]:
    found = []
    if state.changes is not None:
        changed, untracked, ignored = state.changes
        found += [] if changed or untracked else ["clean"]
        found += [f"{changed} changed"] * bool(changed) + [f"{untracked} untracked"] * bool(untracked)
        found += [f"{ignored} ignored"] * bool(ignored)
    if state.ahead is not None and state.behind is not None:
        found += [f"{state.ahead} ahead of {state.base}"] if state.ahead else [f"merged into {state.base}"]
        found += [f"{state.behind} behind"] if state.behind else []
    found += [f"{state.busy} goes on"] if state.busy else []
    found += ["locked"] if state.tree.locked else []
    found += [] if state.mark else ["not made by worktree-new"]
    return found + ([f"not known: {state.fault}"] if state.fault else [])


def _as_json(state: State, cwd: str) -> dict[str, Any]:
    changed, untracked, ignored = state.changes or (None, None, None)
    return {
        "path": state.tree.path,
        "shortname": state.shortname or None,
        "branch": state.tree.branch or None,
        "made_here": state.mark is not None,
        "base": state.base,
        "changed": changed,
        "untracked": untracked,
        "ignored": ignored,
        "ahead": state.ahead,
        "behind": state.behind,
        "merged": state.merged,
        "busy": state.busy or None,
        "locked": state.tree.locked,
        "handles": list(state.handles),
        "live": list(state.live),
        "stays": worktrees.why_kept(state, cwd, named=True, ignored=False) or None,
        "fault": state.fault or None,
    }
