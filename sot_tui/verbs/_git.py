"""Git, as the worktree verbs run it: a process with a bound, that asks nobody and heeds no hook's variables.

What it is asked about a worktree is read here, once; what follows from that is `comm.worktrees`'. A git that fails, is
missing or gives no answer in time is a value with its own words, and nothing is concluded from it.
"""

from __future__ import annotations

import os

from sot_tui.comm import registry, worktrees
from sot_tui.comm.errors import Refused
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.worktrees import Mark, State, Tree

if TYPE_CHECKING:
    from sot_tui.comm.registry import Registry

READ_S = 60
"""Seconds for a question; a status of a large tree on a slow mount takes many."""
WRITE_S = 900
"""Seconds for what writes files, as a large tree takes minutes; it only ends a hang."""
ENDING_S = 10
"""Seconds that git is given to take its locks away when its time is over."""

_NOT_HANDED_ON = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE")
"""Variables by which a hook of git would turn every question to its own repository."""


class Ran(NamedTuple):
    """How a git ended."""

    ok: bool
    out: bytes
    why: str
    """Its first word of complaint, in one line."""


class Repository(NamedTuple):
    """A repository with its worktrees."""

    main: Tree
    linked: tuple[Tree, ...]


def run(folder: str, *words: str, bound: float = READ_S) -> Ran:
    """Run git in a folder."""
    import subprocess  # noqa: PLC0415  (dear, and only these verbs start a process)

    environ = {name: value for name, value in os.environ.items() if name not in _NOT_HANDED_ON}
    environ |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
    if bound == READ_S:
        environ["GIT_OPTIONAL_LOCKS"] = "0"  # a look is in nobody's way
    command = ["git", "-C", folder, "-c", "core.fsmonitor=false", *words]
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    except OSError as error:
        return Ran(ok=False, out=b"", why=f"git could not be run: {error.strerror}")
    try:
        out, err = process.communicate(timeout=bound)
    except subprocess.TimeoutExpired:
        process.terminate()  # git takes its locks away
        try:
            process.communicate(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return Ran(ok=False, out=b"", why=f"git {words[0]} gave no answer within {bound:g} s")
    lines = [line for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    return Ran(process.returncode == 0, out, fatal[0] if fatal else f"git {words[0]} ended with {process.returncode}")


def repository(cwd: str) -> Repository:
    """Return the repository that a folder lies in; raises Refused when there is none that has worktrees."""
    ran = run(cwd, "worktree", "list", "--porcelain", "-z")
    trees = worktrees.parsed(ran.out)
    if not ran.ok or not trees:
        raise Refused(f"there is no repository to look at here: {ran.why}")
    if trees[0].bare:
        raise Refused(f"{trees[0].path} is a bare repository; its worktrees have no folder to lie beside")
    return Repository(trees[0], tuple(trees[1:]))


def git_folder(path: str) -> str:
    """Return a worktree's own git folder, empty when git does not say."""
    ran = run(path, "rev-parse", "--absolute-git-dir")
    return os.fsdecode(ran.out.removesuffix(b"\n")) if ran.ok else ""


def state_of(repo: Repository, tree: Tree, book: Registry | None, now: float) -> State:
    """Return what is known of a linked worktree; without a registry nobody is known to be there, which is a fault."""
    faults: list[str] = [] if book is not None else ["the registry could not be read"]
    folder = "" if tree.missing else git_folder(tree.path)
    names: list[str] = []
    mark = None
    try:
        names = os.listdir(folder) if folder else []
        mark = _mark(f"{folder}/{worktrees.MARK}") if worktrees.MARK in names else None
    except OSError as error:
        faults.append(f"{folder}: {error.strerror}")
    base = (mark.base if mark else "") or repo.main.branch or repo.main.head
    handles = () if book is None else worktrees.joined_from(book, tree.path)
    live = tuple(handle for handle in handles if book is not None and registry.is_live(book.entry(handle), now))
    state = State(
        tree, worktrees.shortname_of(repo.main.path, tree), mark, base, None, None, None,
        worktrees.busy_with(names), handles, live,
    )  # fmt: skip
    if tree.missing:
        return state._replace(fault="its folder is gone")
    looked = run(tree.path, "status", "--porcelain=v1", "-z", "--ignored", "--untracked-files=normal",
                 "--ignore-submodules=none")  # fmt: skip
    apart = run(tree.path, "rev-list", "--left-right", "--count", f"{as_ref(base)}...HEAD", "--")
    faults += [ran.why for ran in (looked, apart) if not ran.ok]
    if looked.ok:
        state = state._replace(changes=worktrees.counted(looked.out))
    if apart.ok:
        behind, ahead = apart.out.split()
        state = state._replace(ahead=int(ahead), behind=int(behind))
    return state._replace(fault="; ".join(faults))


def hidden_changes(path: str) -> int | None:
    """Return how many files of a worktree git was told not to look at; None when git does not say."""
    ran = run(path, "ls-files", "-v", "-z")
    if not ran.ok:
        return None
    told = [line for line in ran.out.split(b"\0") if line[:1] == b"S" or line[:1].islower()]
    return sum(os.path.lexists(os.path.join(os.fsencode(path), line[2:])) for line in told)


def as_ref(base: str) -> str:
    """Return a base as git is to take it: a branch by its whole name, and a commit as it is."""
    return base if len(base) in {40, 64} and set(base) <= set("0123456789abcdef") else f"refs/heads/{base}"


def _mark(path: str) -> Mark | None:
    with open(path, encoding="utf-8", errors="replace") as file:
        return worktrees.mark_in(file.read())
