"""The rules of worktrees: names, places, what git prints, and the table of what is never removed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import registry, worktrees
from sot_tui.comm.worktrees import Changes, Mark, State, Tree, counted, is_shortname, parsed, why_kept

if TYPE_CHECKING:
    from pathlib import Path

FREE = State(
    Tree("/p/worktrees/repo-wt-x", "wt/x", "b" * 40), "x", Mark("main", "a" * 40), "main", Changes(), 0, 2, "", (), ()
)
"""A worktree of which nothing would be lost."""


@pytest.mark.parametrize("name", ["rotation", "a", "v2.1", "A_b-c", "x" * 40])
def test_shortname_when_of_a_handles_letters_then_taken(name: str) -> None:
    assert is_shortname(name)


@pytest.mark.parametrize(
    "name", ["", ".x", "-x", "_x", "a..b", "a.", "a.lock", "a/b", "a b", "ä", "a\n", "x" * 41, "@{", "a~1", "a:b"]
)
def test_shortname_when_it_could_name_no_branch_or_no_file_then_refused(name: str) -> None:
    assert not is_shortname(name)


def test_worktree_when_named_then_lies_beside_its_repository_on_its_branch() -> None:
    """ "at <repo-parent>/worktrees/<repo>-wt-<shortname> on branch wt/<shortname>"."""
    assert worktrees.place("/srv/MyAnalysis", "rotation") == "/srv/worktrees/MyAnalysis-wt-rotation"
    assert worktrees.branch("rotation") == "wt/rotation"


@pytest.mark.parametrize(
    ("path", "branch", "name"),
    [
        ("/srv/worktrees/My-wt-x", "wt/x", "x"),
        ("/srv/worktrees/My-wt-x", "wt/y", ""),
        ("/srv/worktrees/My-wt-x", "x", ""),
        ("/srv/worktrees/My-wt-x", "", ""),
        ("/srv/My-wt-x", "wt/x", ""),
    ],
)
def test_shortname_when_place_or_branch_is_another_then_it_has_none(path: str, branch: str, name: str) -> None:
    assert worktrees.shortname_of("/srv/My", Tree(path, branch)) == name


def test_listing_when_read_then_says_of_each_what_git_said() -> None:
    listing = (
        b"worktree /p/r\0HEAD 1\0branch refs/heads/main\0\0"
        b"worktree /p/w a\n\xff\0HEAD 2\0detached\0locked\0\0"
        b"worktree /p/gone\0HEAD 3\0branch refs/heads/wt/g\0prunable gitdir file points to non-existent location\0\0"
        b"worktree /p/bare\0bare\0\0"
    )
    assert parsed(listing) == [
        Tree("/p/r", "main", "1"),
        Tree(os.fsdecode(b"/p/w a\n\xff"), "", "2", locked=True),
        Tree("/p/gone", "wt/g", "3", missing=True),
        Tree("/p/bare", bare=True),
    ]
    assert parsed(b"") == []


def test_status_when_counted_then_each_path_counts_once_and_an_old_name_never() -> None:
    text = b" M a\0R  new\0?? old\0!! built/\0?? b\0UU c\0A  d\0"
    assert counted(text) == Changes(changed=4, untracked=1, ignored=1)
    assert counted(b"") == Changes()


@pytest.mark.parametrize(
    "text", ["", "base=main\n", "start=1\n", "base=main\nstart=\n", "base=main\nstart=abc", "junk"]
)
def test_mark_when_torn_then_it_is_none(text: str) -> None:
    assert worktrees.mark_in(text) is None


@pytest.mark.parametrize("mark", [Mark("main", "abc"), Mark("", "abc"), Mark("a=b", "1")])
def test_mark_when_written_then_is_read_as_it_was(mark: Mark) -> None:
    assert worktrees.mark_in(worktrees.mark_text(mark)) == mark


def test_worktree_when_nothing_would_be_lost_then_it_may_go() -> None:
    assert why_kept(FREE, "/p/repo", named=False, ignored=False) == ""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"mark": None}, "it was not made by worktree-new"),
        ({"shortname": ""}, "it is not on the branch it was made with (wt/x)"),
        ({"tree": FREE.tree._replace(locked=True)}, "git has it locked"),
        ({"tree": FREE.tree._replace(missing=True)}, "its folder is gone; `git worktree prune` tidies that up"),
        ({"fault": "no answer"}, "it could not be looked at whole: no answer"),
        ({"changes": None}, "it could not be looked at whole: git did not say"),
        ({"ahead": None}, "it could not be looked at whole: git did not say"),
        ({"live": ("h",)}, "@h is live there"),
        ({"busy": "a rebase"}, "a rebase goes on there"),
        ({"changes": Changes(changed=1)}, "it holds what no commit holds: 1 changed, 0 untracked"),
        ({"changes": Changes(untracked=2)}, "it holds what no commit holds: 0 changed, 2 untracked"),
        ({"ahead": 1}, "1 commit of it is not in main"),
        ({"ahead": 2}, "2 commits of it are not in main"),
        ({"changes": Changes(ignored=1)}, "git ignores 1 of its paths, which would go too; --ignored lets them"),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_worktree_when_something_could_be_lost_then_it_stays(change: dict[str, object], why: str, named: bool) -> None:
    assert why_kept(FREE._replace(**change), "/p/repo", named=named, ignored=False) == why  # type: ignore[arg-type]


def test_worktree_when_nothing_was_done_in_it_yet_then_it_goes_only_by_name() -> None:
    fresh = FREE._replace(tree=FREE.tree._replace(head="a" * 40))
    assert "nothing was done in it yet" in why_kept(fresh, "/p/repo", named=False, ignored=False)
    assert why_kept(fresh, "/p/repo", named=True, ignored=False) == ""


def test_worktree_when_only_ignored_files_are_left_then_a_word_lets_them_go() -> None:
    assert why_kept(FREE._replace(changes=Changes(ignored=3)), "/p/repo", named=False, ignored=True) == ""


@pytest.mark.parametrize("cwd", ["/p/worktrees/repo-wt-x", "/p/worktrees/repo-wt-x/deep/er"])
def test_worktree_when_this_session_stands_in_it_then_it_stays(cwd: str) -> None:
    assert why_kept(FREE, cwd, named=True, ignored=True) == "this session stands in it"
    assert why_kept(FREE, "/p/worktrees/repo-wt-xy", named=True, ignored=True) == ""


@pytest.mark.parametrize(("ahead", "merged"), [(None, None), (0, True), (1, False)])
def test_merged_when_git_did_not_say_then_it_is_not_known(ahead: int | None, merged: bool | None) -> None:
    assert FREE._replace(ahead=ahead).merged is merged


@pytest.mark.parametrize(
    ("names", "what"),
    [([], ""), (["HEAD", "index"], ""), (["HEAD", "MERGE_HEAD"], "a merge"), (["rebase-merge"], "a rebase")],
)
def test_busy_when_git_has_left_a_file_of_it_then_that_goes_on(names: list[str], what: str) -> None:
    assert worktrees.busy_with(names) == what


def test_joined_when_entries_name_folders_then_those_of_this_very_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    entries = {
        "a": {"root": str(tmp_path)},
        "b": {"root": f"{tmp_path}/x"},
        "c": {},
        "d": [],
        "e": {"root": str(tmp_path)},
    }
    book = registry.parse(json.dumps({"agents": entries}).encode())
    assert book is not None
    assert worktrees.joined_from(book, str(tmp_path)) == ("a", "e")
    assert worktrees.joined_from(book, str(tmp_path / "link")) == ("a", "e")
