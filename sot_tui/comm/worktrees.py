"""A repository's worktrees: where one lies, what it is called, and when it may be removed.

Contract, Naming: "A worktree is a folder named <repo>-wt-<shortname>", at `<repo-parent>/worktrees/` on branch
`wt/<shortname>`. Everything here is judged from what git and the registry said; what is not known keeps a worktree. A
worktree that this client did not make, or that holds anything no commit of its base holds, is never removed.
"""

from __future__ import annotations

import os
import re

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sot_tui.comm.registry import Registry

MARK = "sot-tui-worktree"
"""The file in a worktree's own git folder that says that `worktree-new` made it, from which base and commit."""
BRANCHES = "wt/"
"""How the branch of a worktree begins (contract, Naming)."""

_SHORTNAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_BETWEEN = "-wt-"
_OPERATIONS = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
"""What git leaves in a worktree's git folder while something goes on there (gitrepository-layout(5))."""


class Tree(NamedTuple):
    """One line of `git worktree list`."""

    path: str
    branch: str = ""
    """Without `refs/heads/`; empty when the head is on no branch."""
    head: str = ""
    bare: bool = False
    locked: bool = False
    missing: bool = False
    """Git says that its folder is gone."""


class Mark(NamedTuple):
    """What `worktree-new` noted of a worktree it made."""

    base: str
    """The branch it started from; empty when that was no branch."""
    start: str
    """The commit it started at."""


class Changes(NamedTuple):
    """How many paths of a worktree no commit holds."""

    changed: int = 0
    untracked: int = 0
    ignored: int = 0


class State(NamedTuple):
    """What is known of one worktree; None is what could not be found out."""

    tree: Tree
    shortname: str
    """Empty when its place or branch is not the contract's."""
    mark: Mark | None
    """None when this client did not make it."""
    base: str
    """What it is compared with."""
    changes: Changes | None
    ahead: int | None
    """Commits that the base has not."""
    behind: int | None
    """Commits of the base that it has not."""
    busy: str
    """What goes on in it, as git leaves it: a merge, a rebase; empty for nothing."""
    handles: tuple[str, ...]
    """Who joined from it, as the registry says."""
    live: tuple[str, ...]
    """Those of them that are live."""
    fault: str = ""
    """Why something is not known."""

    @property
    def merged(self) -> bool | None:
        """Tell whether the base has every commit of it."""
        return None if self.ahead is None else self.ahead == 0


def is_shortname(text: str) -> bool:
    """Tell whether a text can name a worktree, a branch and a part of a handle."""
    return bool(_SHORTNAME.fullmatch(text)) and ".." not in text and not text.endswith((".", ".lock"))


def place(main: str, shortname: str) -> str:
    """Return where the worktree of that name lies, for the repository whose main worktree is at `main`."""
    parent, repo = os.path.split(main)
    return os.path.join(parent, "worktrees", f"{repo}{_BETWEEN}{shortname}")


def branch(shortname: str) -> str:
    """Return the branch of a worktree."""
    return f"{BRANCHES}{shortname}"


def shortname_of(main: str, tree: Tree) -> str:
    """Return the name of a worktree whose place and branch are the contract's, empty for any other."""
    name = tree.branch.removeprefix(BRANCHES) if tree.branch.startswith(BRANCHES) else ""
    return name if is_shortname(name) and os.path.realpath(place(main, name)) == os.path.realpath(tree.path) else ""


def parsed(listing: bytes) -> list[Tree]:
    """Return the worktrees in what `git worktree list --porcelain -z` printed, the main one first."""
    found = []
    for record in listing.split(b"\0\0"):
        facts: dict[str, str] = {}
        for line in record.split(b"\0"):
            key, _, value = os.fsdecode(line).partition(" ")
            facts[key] = value
        if facts.get("worktree"):
            found.append(
                Tree(
                    facts["worktree"],
                    facts.get("branch", "").removeprefix("refs/heads/"),
                    facts.get("HEAD", ""),
                    bare="bare" in facts,
                    locked="locked" in facts,
                    missing="prunable" in facts,
                )
            )
    return found


def counted(status: bytes) -> Changes:
    """Return the counts in what `git status --porcelain=v1 -z --ignored` printed."""
    kinds = {b"??": 0, b"!!": 0, b"": 0}
    entries = iter(status.split(b"\0"))
    for entry in entries:
        if not entry:
            continue
        kinds[entry[:2] if entry[:2] in kinds else b""] += 1
        if b"R" in entry[:2] or b"C" in entry[:2]:
            next(entries, b"")  # the name it had
    return Changes(kinds[b""], kinds[b"??"], kinds[b"!!"])


def busy_with(names: list[str]) -> str:
    """Return what goes on in a worktree in whose git folder these names lie."""
    return next((what for name, what in _OPERATIONS.items() if name in names), "")


def mark_text(mark: Mark) -> str:
    """Return a mark as the text of its file."""
    return f"base={mark.base}\nstart={mark.start}\n"


def mark_in(text: str) -> Mark | None:
    """Return the mark that a file holds; a torn one is none."""
    facts = dict(line.partition("=")[::2] for line in text.splitlines())
    start = facts.get("start", "")
    return Mark(facts["base"], start) if "base" in facts and start and text.endswith("\n") else None


def joined_from(book: Registry, path: str) -> tuple[str, ...]:
    """Return the handles that were joined from a folder."""
    root = os.fsencode(os.path.realpath(path)).decode("utf-8", "replace")
    return tuple(handle for handle in book.agents if (book.entry(handle) or {}).get("root") == root)


def why_kept(state: State, cwd: str, *, named: bool, ignored: bool) -> str:
    """Return why a worktree must not be removed, empty when nothing of anybody's would be lost.

    `named`: the person asked for this very one; `ignored`: files that git ignores may go with it.
    """
    tree = state.tree
    if state.mark is None:
        return "it was not made by worktree-new"
    if not state.shortname:
        return f"it is not on the branch it was made with ({tree.branch or 'no branch'})"
    if tree.locked:
        return "git has it locked"
    if tree.missing:
        return "its folder is gone; `git worktree prune` tidies that up"
    if state.fault or state.changes is None or state.ahead is None:
        return f"it could not be looked at whole: {state.fault or 'git did not say'}"
    if state.live:
        return f"@{state.live[0]} is live there"
    if _lies_in(cwd, tree.path):
        return "this session stands in it"
    if state.busy:
        return f"{state.busy} goes on there"
    return _unsaved(state.changes, state.ahead, state.base, ignored=ignored) or (
        "nothing was done in it yet; name it to remove it" if tree.head == state.mark.start and not named else ""
    )


def _unsaved(changes: Changes, ahead: int, base: str, *, ignored: bool) -> str:
    if changes.changed or changes.untracked:
        return f"it holds what no commit holds: {changes.changed} changed, {changes.untracked} untracked"
    if ahead:
        return f"{ahead} commit{'s' * (ahead > 1)} of it {'are' if ahead > 1 else 'is'} not in {base}"
    if changes.ignored and not ignored:
        return f"git ignores {changes.ignored} of its paths, which would go too; --ignored lets them"
    return ""


def _lies_in(path: str, folder: str) -> bool:
    path, folder = os.path.realpath(path), os.path.realpath(folder)
    return path == folder or path.startswith(folder.rstrip("/") + "/")
