"""The comm home's layout and its private making, on real folders."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.disk import Disk
from sot_tui.comm.home import Home, ensure_home, home_path

if TYPE_CHECKING:
    from pathlib import Path


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(params=[0o022, 0o000, 0o077], ids=["umask-022", "umask-000", "umask-077"])
def any_umask(request: pytest.FixtureRequest) -> object:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("any_umask")
def test_home_when_missing_then_is_made_private_whatever_the_umask(tmp_path: Path) -> None:
    """ "Every entry above ... is 0700 (a folder) or 0600 (a file), created so by every writer"."""
    home = Home(str(tmp_path / "comm"))
    ensure_home(home)
    for folder in ("", "inbox", "read", "self"):
        assert mode_of(tmp_path / "comm" / folder) == 0o700
    assert mode_of(tmp_path / "comm" / "registry.json") == 0o600
    assert json.loads((tmp_path / "comm" / "registry.json").read_bytes()) == {"protocol_version": 1, "agents": {}}
    assert sorted(os.listdir(home.path)) == ["inbox", "read", "registry.json", "self"]


def test_home_when_open_then_its_own_entries_are_closed_and_foreign_ones_keep_their_mode(tmp_path: Path) -> None:
    """ "ensure_home closes an older folder's entries at the next join. Anything else in the folder keeps its mode"."""
    ours = [
        "inbox/a.jsonl",
        "inbox/a.lock",
        "read/a.cursor",
        "self/box__nopane.txt",
        "state/mail-1.tick",
        "registry.json",
    ]
    ours += [
        "registry.json.tmp",
        ".registry.lock.reclaim.x",
        ".registry.lock.tmp.y",
        "inbox-lock-manager",
        ".registry.lock",
    ]
    foreign = ["VERSION", "bin/comm-send.sh", "notes.txt", "backup/old.json"]
    for name in (*ours, *foreign):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
        path.chmod(0o644)
        path.parent.chmod(0o755)
    (tmp_path / "probe" / "h").mkdir(parents=True)
    (tmp_path / "probe" / "h").chmod(0o755)
    tmp_path.chmod(0o755)
    ensure_home(Home(str(tmp_path)))
    assert {name: oct(mode_of(tmp_path / name)) for name in ours} == dict.fromkeys(ours, oct(0o600))
    for folder in ("", "inbox", "read", "self", "state", "probe", "probe/h"):
        assert mode_of(tmp_path / folder) == 0o700
    assert {name: oct(mode_of(tmp_path / name)) for name in foreign} == dict.fromkeys(foreign, oct(0o644))
    assert mode_of(tmp_path / "bin") == mode_of(tmp_path / "backup") == 0o755


def test_home_when_closing_it_is_cut_then_the_next_call_closes_the_rest(tmp_path: Path) -> None:
    """A home that is 0700 counts as closed beneath it, so it may become so only after everything beneath it is."""

    class Cut(Disk):
        def chmod(self, path: str, mode: int) -> None:
            if path.endswith("registry.json"):
                raise OSError(5, "cut here")
            super().chmod(path, mode)

    (tmp_path / "registry.json").write_text('{"protocol_version":1,"agents":{}}\n')
    (tmp_path / "registry.json").chmod(0o644)
    tmp_path.chmod(0o755)
    with pytest.raises(OSError, match="cut here"):
        ensure_home(Home(str(tmp_path), Cut()))
    ensure_home(Home(str(tmp_path)))
    assert mode_of(tmp_path / "registry.json") == 0o600


def test_home_when_an_entry_is_a_link_then_what_it_names_keeps_its_mode(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    outside.chmod(0o644)
    home = tmp_path / "comm"
    (home / "inbox").mkdir(parents=True)
    (home / "inbox" / "a.jsonl").symlink_to(outside)
    home.chmod(0o755)
    ensure_home(Home(str(home)))
    assert mode_of(outside) == 0o644


@pytest.mark.parametrize("content", [b"", b"not json", b"[]", b'{"agents":{}}\n{"agents":{}}\n'])
def test_registry_when_it_exists_then_is_never_replaced_truncated_or_repaired(tmp_path: Path, content: bytes) -> None:
    """ "it never replaces, truncates or repairs a registry"."""
    (tmp_path / "registry.json").write_bytes(content)
    ensure_home(Home(str(tmp_path)))
    assert (tmp_path / "registry.json").read_bytes() == content


def test_path_when_the_variable_says_so_then_is_the_comm_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ "$SOT_COMM_HOME, default ~/.sot-comm"."""
    monkeypatch.chdir(tmp_path)
    assert home_path({"SOT_COMM_HOME": "/srv/comm", "HOME": "/h"}) == "/srv/comm"
    assert home_path({"SOT_COMM_HOME": "rel", "HOME": "/h"}) == f"{tmp_path}/rel"
    assert home_path({"SOT_COMM_HOME": "", "HOME": "/h"}) == "/h/.sot-comm"
    assert home_path({"HOME": "/h"}) == "/h/.sot-comm"


def test_home_when_a_umask_takes_even_the_owners_right_then_its_folders_are_whole_all_the_same(tmp_path: Path) -> None:
    """What could not be written to would keep its own account out."""
    before = os.umask(0o200)
    try:
        ensure_home(Home(str(tmp_path / "above" / "comm")))
    finally:
        os.umask(before)
    for folder in ("", "inbox", "read", "self"):
        assert mode_of(tmp_path / "above" / "comm" / folder) == 0o700
