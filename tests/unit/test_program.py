"""The program's own command: found by its name only where the search path finds this very one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import program
from sot_tui.comm.program import NAME

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return this very command, in a folder of its own that no search path names yet."""
    made = command(tmp_path / "own")
    monkeypatch.setattr(sys, "argv", [str(made)])
    return made


def command(folder: Path) -> Path:
    folder.mkdir()
    made = folder / NAME
    made.write_text("#!/bin/sh\n")
    made.chmod(0o755)
    return made


def test_own_command_when_the_search_path_finds_this_one_then_its_name_else_its_path(own: Path, tmp_path: Path) -> None:
    link = tmp_path / "bin"
    link.mkdir()
    (link / NAME).symlink_to(own)
    other = command(tmp_path / "other")
    assert program.own_command({"PATH": f"/nowhere:{own.parent}"}) == NAME
    assert program.own_command({"PATH": str(link)}) == NAME
    assert program.own_command({"PATH": f"{other.parent}:{own.parent}"}) == str(own)
    assert program.own_command({"PATH": "/nowhere"}) == str(own)


def test_as_typed_when_a_line_begins_with_the_name_then_it_can_be_typed_here(own: Path) -> None:
    found, not_found = {"PATH": str(own.parent)}, {"PATH": "/nowhere"}
    assert program.as_typed(f"{NAME} list --json", found) == f"{NAME} list --json"
    assert program.as_typed(f"{NAME} list --json", not_found) == f"{own} list --json"
    assert program.as_typed(NAME, not_found) == str(own)
    assert program.as_typed("systemctl --user stop sotd", not_found) == "systemctl --user stop sotd"


def test_on_path_when_a_shell_would_run_it_then_that_and_never_one_of_the_folder_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = command(tmp_path / "first"), command(tmp_path / "second")
    first.chmod(0o644)
    monkeypatch.chdir(second.parent)
    environ = {"PATH": f"{first.parent}::{second.parent}"}
    assert program.on_path(NAME, environ) == str(second)
    assert program.on_path(NAME, {"PATH": f":{first.parent}"}) == ""
    assert program.on_path(f"./{NAME}", environ) == f"./{NAME}"
    assert program.on_path(str(second), {"PATH": ""}) == str(second)
    assert program.on_path(str(first), environ) == ""
    assert program.on_path(str(tmp_path), environ) == ""


def test_to_link_when_the_folder_of_links_is_listed_already_then_the_search_path_stays(own: Path) -> None:
    linked = f"mkdir -p ~/.local/bin && ln -s {own} ~/.local/bin/"
    assert program.to_link({"HOME": "/h", "PATH": "/bin:/h/.local/bin"}) == linked
    longer = f'{linked} && export PATH="$HOME/.local/bin:$PATH"'
    assert program.to_link({"HOME": "/h", "PATH": "/bin:/h/.local"}) == longer
