"""Git as a process: what is made of one that is missing, hangs, complains or is told to look elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.errors import Refused
from sot_tui.verbs import _git

if TYPE_CHECKING:
    from pathlib import Path


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let `git` be this shell script."""
    path = folder / "git"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_git_when_it_hangs_then_it_is_ended_and_may_take_its_locks_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "index.lock"
    lock.touch()
    hang = f"trap 'rm {lock}; exit 1' TERM; echo $$ >{tmp_path}/pid; while :; do sleep 0.05; done"
    stand_in(tmp_path, monkeypatch, hang)
    ran = _git.run(str(tmp_path), "status", bound=1)
    assert ran == _git.Ran(ok=False, out=b"", why="git status gave no answer within 1 s")
    assert not lock.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_git_when_it_heeds_no_end_then_it_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_git, "ENDING_S", 0.2)
    stand_in(tmp_path, monkeypatch, f"trap '' TERM; echo $$ >{tmp_path}/pid; exec <&- >&- 2>&-; while :; do :; done")
    assert not _git.run(str(tmp_path), "status", bound=1).ok
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_git_when_there_is_none_then_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _git.run(str(tmp_path), "status").why == "git could not be run: No such file or directory"
    with pytest.raises(Refused, match="there is no repository to look at here: git could not be run"):
        _git.repository(str(tmp_path))


def test_git_when_it_complains_then_its_own_word_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "echo 'hint: x' >&2; echo 'fatal: no room' >&2; echo 'hint: y' >&2; exit 128")
    assert _git.run(str(tmp_path), "worktree").why == "fatal: no room"
    stand_in(tmp_path, monkeypatch, "exit 3")
    assert _git.run(str(tmp_path), "worktree").why == "git worktree ended with 3"


def test_git_when_it_only_looks_then_it_takes_no_lock_and_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, 'echo "$GIT_OPTIONAL_LOCKS $GIT_TERMINAL_PROMPT $LC_ALL [$GIT_DIR]"; cat')
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    assert _git.run(str(tmp_path), "status").out == b"0 0 C []\n"
    assert _git.run(str(tmp_path), "merge", bound=_git.WRITE_S).out == b" 0 C []\n"


def test_repository_when_it_is_bare_then_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, r"printf 'worktree /p/r.git\0bare\0\0'")
    with pytest.raises(Refused, match=r"/p/r\.git is a bare repository"):
        _git.repository(str(tmp_path))
