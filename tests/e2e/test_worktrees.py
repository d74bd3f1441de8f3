"""Worktrees with real repositories: made where the contract says, and never removed while anything could be lost."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm.clock import stamp
from sot_tui.comm.worktrees import MARK
from tests.e2e.test_json import documented, keys_of
from tests.peer import Peer

if TYPE_CHECKING:
    from tests.e2e.box import Box

pytestmark = pytest.mark.e2e

PERSON = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


class Repository:
    """A box whose alpha is a repository with one commit on main."""

    def __init__(self, box: Box) -> None:
        self.box = box
        box.env |= PERSON
        self.git("init", "--quiet", "--initial-branch=main")
        self.work.joinpath(".gitignore").write_text("*.o\n")
        self.commit("one")

    @property
    def work(self) -> Path:
        return self.box.work

    def tree(self, name: str) -> Path:
        return self.work.parent / "worktrees" / f"alpha-wt-{name}"

    def git(self, *words: str, at: Path | None = None) -> str:
        ran = subprocess.run(["git", *words], cwd=at or self.work, env=self.box.env, capture_output=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.decode()

    def commit(self, name: str, at: Path | None = None) -> None:
        (at or self.work).joinpath(name).write_text(f"{name}\n")
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "-m", name, at=at)

    def run(self, *words: str, at: Path | None = None, code: int = 0, **environ: str) -> tuple[str, str]:
        where = at or self.work
        env = {**self.box.env, "PWD": str(where), **environ}
        got, out, err = self.box.run(*words, cwd=where, env=env)
        assert got == code, (got, out, err)
        return out.decode(), err.decode()

    def new(self, name: str) -> Path:
        self.run("worktree-new", name)
        return self.tree(name)

    def worked(self, name: str) -> Path:
        """Make a worktree, commit in it, and merge that into main."""
        tree = self.new(name)
        self.commit(f"of-{name}", tree)
        self.git("merge", "--quiet", "--no-edit", f"wt/{name}")
        return tree

    def status(self, code: int = 0) -> dict[str, dict[str, Any]]:
        found = json.loads(self.run("worktree-status", "--json", code=code)[0])
        assert keys_of(found) <= documented()
        return {each["shortname"] or each["path"]: each for each in found["worktrees"]}

    def refs(self) -> str:
        return self.git("for-each-ref") + self.git("worktree", "list", "--porcelain")


@pytest.fixture
def repo(joined: Box) -> Repository:
    return Repository(joined)


# -- new --------------------------------------------------------------------------------------------------------------


def test_new_when_asked_then_it_lies_beside_the_repository_on_its_branch_and_its_session_has_its_name(
    repo: Repository,
) -> None:
    """ "create it with the /worktree skill (comm-worktree-new.sh), at <repo-parent>/worktrees/<repo>-wt-<shortname> on
    branch wt/<shortname>"."""
    out, err = repo.run("worktree-new", "rotation")
    tree = repo.tree("rotation")
    assert out == (
        f"made {tree} on wt/rotation, from main\n"
        "  its session is @alpha-wt-rotation-box: start an agent there, and it joins by itself\n"
    )
    assert err == ""
    assert repo.git("branch", "--show-current", at=tree) == "wt/rotation\n"
    assert (tree / "one").read_text() == "one\n"
    joined, _ = repo.run("join", at=tree, SOT_COMM_SELF_FILE=str(repo.box.comm / "self" / "other.txt"))
    assert "alpha-wt-rotation-box" in joined


def test_new_when_asked_from_inside_a_worktree_then_it_lies_beside_the_first_and_starts_from_main(
    repo: Repository,
) -> None:
    first = repo.new("a")
    repo.commit("more", first)
    assert "from main" in repo.run("worktree-new", "b", at=first)[0]
    assert not (repo.tree("b") / "more").exists()
    assert "from wt/a" in repo.run("worktree-new", "c", "--base=wt/a")[0]
    assert (repo.tree("c") / "more").exists()


def test_new_when_the_box_has_a_daemon_then_it_is_asked_for_a_row_there(repo: Repository) -> None:
    def made(said: Any) -> object:
        peer.answers["workspace.list"] = {"workspaces": [{**said, **named, "phase": "ready"}]}
        return {**named, "label": said["label"], "project_root": said["project_root"]}

    named = {"workspace_id": "ws-w-1", "slug": "w"}
    version = {"daemon": {"app_version": "0.6.6", "protocol": 3, "host": "box"}, "clients": [], "disconnected": []}
    answers = {"version.query": version, "workspace.list": {"workspaces": []}, "workspace.create": made}
    with Peer(repo.box.comm.parent / "d.sock", answers) as peer:
        repo.box.env["SOT_SOCKET"] = str(peer.path)
        out, _ = repo.run("worktree-new", "x", "--agent", "codex", "--task", "turn")
        assert out.startswith(f"made {repo.tree('x')} on wt/x, from main\nSpawned @alpha-wt-x-box (row ws-w-1, ")
        asked = [said for op, said in peer.asked if op == "workspace.create"]
        assert [(said["project_root"], said["label"], said["agent"]) for said in asked] == [
            (str(repo.tree("x")), "alpha-wt-x", "codex")
        ]
        assert "start an agent there" in repo.run("worktree-new", "y", "--no-row")[0]
        peer.answers["workspace.create"] = {"error": "no room", "code": "spawn_failed"}
        _, err = repo.run("worktree-new", "z", code=1)
    assert err.endswith(f"the worktree stands; sot-tui spawn {repo.tree('z')} asks again\n")
    assert repo.tree("z").is_dir()


@pytest.mark.parametrize(
    "words", [(), ("a", "b"), ("a/b",), ("a", "--what"), ("--base", "main"), ("a", "--agent", "vim")]
)
def test_new_when_its_words_make_no_sense_then_it_says_which_would_and_nothing_is_made(
    repo: Repository, words: tuple[str, ...]
) -> None:
    before = repo.refs()
    assert "Usage:" in repo.run("worktree-new", *words, code=2)[1]
    assert repo.refs() == before


def test_new_when_branch_folder_or_base_is_in_the_way_then_refused_and_nothing_is_made(repo: Repository) -> None:
    repo.git("branch", "wt/b")
    repo.tree("f").mkdir(parents=True)
    before = repo.refs()
    assert "there is a branch wt/b already" in repo.run("worktree-new", "b", code=1)[1]
    assert "is there already; nothing was made" in repo.run("worktree-new", "f", code=1)[1]
    assert "there is no branch no-such to start from" in repo.run("worktree-new", "n", "--base", "no-such", code=1)[1]
    assert "there is no branch -x to start from" in repo.run("worktree-new", "n", "--base=-x", code=1)[1]
    assert repo.refs() == before
    outside = repo.box.comm.parent / "plain"
    outside.mkdir()
    assert "there is no repository to look at here" in repo.run("worktree-new", "n", at=outside, code=1)[1]


@pytest.mark.parametrize("words", [("worktree-new", "n"), ("worktree-clean", "gone"), ("worktree-sync", "--merge")])
def test_worktree_verb_when_the_process_may_have_no_identity_then_refused_before_any_git_write(
    repo: Repository, words: tuple[str, ...]
) -> None:
    """ "A refused process may neither spawn nor despawn rows ... nor run comm-worktree-new.sh, which refuses it before
    any git write"."""
    repo.worked("gone")
    before = repo.refs()
    _, err = repo.run(*words, code=1, SOT_WORKSPACE_ID="ws-1")  # names a row, and no capsule is above it
    assert "has no comm identity" in err
    assert repo.refs() == before
    assert not repo.tree("n").exists()


def test_new_when_a_hook_of_git_has_set_its_variables_then_it_is_this_folders_repository_all_the_same(
    repo: Repository,
) -> None:
    other = repo.box.comm.parent / "other"
    repo.git("init", "--quiet", str(other))
    repo.run("worktree-new", "x", GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other))
    assert repo.tree("x").is_dir()


# -- clean ------------------------------------------------------------------------------------------------------------


def test_clean_when_the_work_is_in_its_base_then_folder_and_branch_go(repo: Repository) -> None:
    tree = repo.worked("done")
    out, _ = repo.run("worktree-clean", "--dry-run")
    assert out == f"would remove {tree} and wt/done\n"
    assert tree.exists()
    out, _ = repo.run("worktree-clean")
    assert out == f"removed {tree} and wt/done\n"
    assert not tree.exists()
    assert repo.git("branch", "--list", "wt/*") == ""
    assert (repo.work / "of-done").exists()


def test_clean_when_anything_could_be_lost_then_it_stays_whole(repo: Repository) -> None:
    def kept(name: str, why: str) -> None:
        before = {path: path.read_bytes() for path in repo.tree(name).rglob("*") if path.is_file()}
        out, _ = repo.run("worktree-clean", name, code=1)
        assert why in out, out
        assert {path: path.read_bytes() for path in repo.tree(name).rglob("*") if path.is_file()} == before
        repo.run("worktree-clean")
        assert {path: path.read_bytes() for path in repo.tree(name).rglob("*") if path.is_file()} == before

    (repo.worked("changed") / "one").write_text("mine\n")
    (repo.worked("untracked") / "notes").write_text("mine\n")
    (repo.worked("ignored") / "a.o").write_text("mine\n")
    repo.commit("mine", repo.worked("ahead"))
    repo.git("checkout", "--quiet", "--detach", at=repo.worked("detached"))
    repo.git("worktree", "lock", str(repo.worked("locked")))
    hidden = repo.worked("hidden")
    repo.git("update-index", "--assume-unchanged", "one", at=hidden)
    (hidden / "one").write_text("mine\n")
    repo.git("worktree", "add", "--quiet", "-b", "wt/theirs", str(repo.tree("theirs")))
    kept("changed", "1 changed")
    kept("untracked", "1 untracked")
    kept("ignored", "git ignores 1 of its paths")
    kept("ahead", "1 commit of it is not in main")
    kept("locked", "git has it locked")
    kept("hidden", "git was told not to look at 1 of its files")
    kept("theirs", "it was not made by worktree-new")
    assert "it is not on the branch it was made with" in repo.run("worktree-clean")[0]
    assert repo.tree("detached").exists()
    repo.run("worktree-clean", "--ignored", "ignored")
    assert not repo.tree("ignored").exists()


def test_clean_when_a_session_is_live_there_then_it_stays_and_goes_once_it_is_stale(repo: Repository) -> None:
    tree = repo.worked("x")
    repo.run("join", at=tree, SOT_COMM_SELF_FILE=str(repo.box.comm / "self" / "other.txt"))
    assert "@alpha-wt-x-box is live there" in repo.run("worktree-clean", "x", code=1)[0]
    book = repo.box.book()
    book["agents"]["alpha-wt-x-box"]["last_seen"] = stamp(time.time() - 3600)
    repo.box.comm.joinpath("registry.json").write_text(json.dumps(book), encoding="utf-8")
    assert "sot-tui leave --name alpha-wt-x-box" in repo.run("worktree-clean", "x")[0]
    assert not tree.exists()


def test_clean_when_the_registry_cannot_be_read_then_nothing_is_removed(repo: Repository) -> None:
    tree = repo.worked("x")
    repo.box.comm.joinpath("registry.json").write_text("{")
    _, err = repo.run("worktree-clean", "x", code=1)
    assert "FAILED: the registry could not be read; nothing was removed\n" in err
    assert tree.exists()


def test_clean_when_run_inside_it_or_with_an_unknown_name_then_it_stays(repo: Repository) -> None:
    tree = repo.worked("x")
    assert "this session stands in it" in repo.run("worktree-clean", "x", at=tree, code=1)[0]
    assert "there is no worktree nope" in repo.run("worktree-clean", "nope", code=1)[1]
    assert tree.exists()
    repo.new("fresh")
    assert "nothing was done in it yet" in repo.run("worktree-clean", at=tree)[0]
    repo.run("worktree-clean", "fresh")
    assert not repo.tree("fresh").exists()


# -- status -----------------------------------------------------------------------------------------------------------


def test_status_when_asked_then_says_what_each_holds_that_its_base_has_not(repo: Repository) -> None:
    assert repo.run("worktree-status")[0] == f"{repo.work} has no worktree but itself\n"
    tree = repo.new("x")
    repo.commit("mine", tree)
    repo.commit("theirs")
    (tree / "one").write_text("changed\n")
    (tree / "notes").write_text("n\n")
    out, _ = repo.run("worktree-status")
    assert out == f"{tree}  wt/x\n    1 changed, 1 untracked, 1 ahead of main, 1 behind\n"
    found = repo.status()["x"]
    assert (found["changed"], found["untracked"], found["ahead"], found["behind"], found["merged"]) == (
        1,
        1,
        1,
        1,
        False,
    )
    assert (found["made_here"], found["base"], found["branch"], found["live"]) == (True, "main", "wt/x", [])
    assert found["stays"] == "it holds what no commit holds: 1 changed, 1 untracked"


def test_status_when_something_cannot_be_known_then_it_says_so_and_the_code_too(repo: Repository) -> None:
    tree = repo.new("x")
    repo.box.comm.joinpath("registry.json").write_text("{")
    assert repo.status(code=1)["x"]["fault"] == "the registry could not be read"
    Path(repo.git("rev-parse", "--absolute-git-dir", at=tree).strip(), MARK).write_text("torn")
    assert repo.status(code=1)["x"]["made_here"] is False


# -- sync -------------------------------------------------------------------------------------------------------------


def test_sync_when_a_worktree_is_behind_then_its_live_session_is_reminded_once(repo: Repository) -> None:
    tree = repo.new("x")
    repo.run("join", at=tree, SOT_COMM_SELF_FILE=str(repo.box.comm / "self" / "other.txt"))
    assert repo.run("worktree-sync")[0] == "Reminded 0 session(s).\n"
    repo.commit("two")
    assert repo.run("worktree-sync")[0] == "  filed -> @alpha-wt-x-box\nReminded 1 session(s).\n"
    line = json.loads(repo.box.comm.joinpath("inbox", "alpha-wt-x-box.jsonl").read_text())
    assert line["from"] == "alpha-box"
    assert line["msg"].startswith("main moved on: wt/x is 1 commit(s) behind it.")


def test_sync_when_the_registry_cannot_be_read_then_nobody_was_reminded(repo: Repository) -> None:
    """ "status and worktree-sync end the same line with stamp discarded and nobody was reminded"."""
    repo.box.comm.joinpath("registry.json").write_text("{")
    _, err = repo.run("worktree-sync", code=1)
    assert err.endswith("FAILED: the registry could not be read; nobody was reminded\n")


def test_sync_when_told_to_merge_then_only_a_clean_worktree_and_a_conflict_is_taken_back(repo: Repository) -> None:
    tree = repo.new("x")
    repo.commit("two")
    assert "this is no worktree" in repo.run("worktree-sync", "--merge", code=1)[1]
    (tree / "one").write_text("mine\n")
    assert "changes that no commit holds" in repo.run("worktree-sync", "--merge", at=tree, code=1)[1]
    assert not (tree / "two").exists()
    repo.git("checkout", "--quiet", "one", at=tree)
    assert repo.run("worktree-sync", "--merge", at=tree)[0] == "merged main into wt/x: 1 commit(s)\n"
    assert (tree / "two").exists()
    assert "has all of main already" in repo.run("worktree-sync", "--merge", at=tree)[0]
    for at, text in ((tree, "mine"), (repo.work, "theirs")):
        (at / "one").write_text(text)
        repo.git("commit", "--quiet", "-am", text, at=at)
    head = repo.git("rev-parse", "HEAD", at=tree)
    _, err = repo.run("worktree-sync", "--merge", at=tree, code=1)
    assert "main conflicts with wt/x, so it stands as before; merge it by hand" in err
    assert repo.git("rev-parse", "HEAD", at=tree) == head
    assert repo.git("status", "--porcelain", at=tree) == ""
    assert (tree / "one").read_text() == "mine"
