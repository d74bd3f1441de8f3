"""An agent's settings file: what is kept, what is refused, and what a fault on the disk leaves."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sot_tui.comm import hook_settings
from sot_tui.comm.disk import Disk
from sot_tui.comm.errors import Refused, SotError, Unreadable
from sot_tui.comm.home import Home
from sot_tui.comm.hook_settings import Changed, Unchanged
from tests.faults.disks import Dying, Failing, dies, steps_of
from tests.seams import JumpingClock, Machine


def home(disk: Disk | None = None) -> Home:
    return Home("/nowhere", disk or Disk(), JumpingClock(), Machine().start())


def add(settings: dict[str, Any]) -> dict[str, Any]:
    return {**settings, "added": True}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a settings file that a person wrote."""
    path = tmp_path / "settings.json"
    path.write_text('{\n    "model": "opus",\n    "é": [1.50, "项目"]\n}')
    path.chmod(0o640)
    return path


def test_file_when_changed_then_layout_and_mode_stay_and_the_old_text_lies_beside_it(file: Path) -> None:
    before = file.read_bytes()
    done = hook_settings.change(home(), str(file), add)
    assert isinstance(done, Changed)
    assert (
        file.read_text()
        == '{\n    "model": "opus",\n    "é": [\n        1.5,\n        "项目"\n    ],\n    "added": true\n}'
    )
    backup = Path(done.backup)
    assert backup.parent == file.parent
    assert (backup.read_bytes(), backup.stat().st_mode & 0o777) == (before, 0o640)
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in file.parent.iterdir()) == sorted([file.name, backup.name])


def test_file_when_nothing_changes_then_it_is_not_written(file: Path) -> None:
    seen = file.stat()
    assert hook_settings.change(home(), str(file), dict) == Unchanged()
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (seen.st_ino, seen.st_mtime_ns)
    assert list(file.parent.iterdir()) == [file]


def test_file_when_there_is_none_then_it_is_made_private_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.json"
    assert hook_settings.change(home(), str(path), add, make=False) == Unchanged()
    assert not path.parent.exists()
    assert hook_settings.change(home(), str(path), add) == Changed("")
    assert path.read_text() == '{\n  "added": true\n}\n'
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("dangling", [False, True])
def test_file_when_it_is_a_link_then_what_it_leads_to_is_written_and_the_link_stays(
    file: Path, tmp_path: Path, dangling: bool
) -> None:
    place = tmp_path / "dotfiles" / "claude.json"
    place.parent.mkdir()
    if not dangling:
        file.rename(place)
    else:
        file.unlink()
    file.symlink_to(os.path.relpath(place, file.parent))
    assert isinstance(hook_settings.change(home(), str(file), add), Changed)
    assert file.is_symlink()
    assert json.loads(place.read_text())["added"] is True


@pytest.mark.parametrize(
    "data",
    [b"", b" \n", b"{", b"[]", b"null", b'{"a":1,"a":2}', b"// c\n{}", b'{"a":1,}', b"\xef\xbb\xbf{}", b'{"a":"\xff"}',
     b'{"a":NaN}'],
)  # fmt: skip
def test_file_when_it_is_not_one_strict_object_then_it_is_left_alone(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    with pytest.raises(Refused, match="is left alone: "):
        hook_settings.change(home(), str(file), add)
    assert file.read_bytes() == data
    assert list(file.parent.iterdir()) == [file]


def test_file_when_it_is_none_then_it_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(Refused, match="it is no file"):
            hook_settings.change(home(), str(path), add)


def test_backups_when_of_one_second_then_none_is_written_over(file: Path) -> None:
    backups = set()
    for number in range(3):
        done = hook_settings.change(home(), str(file), lambda settings, n=number: {**settings, "n": n})  # type: ignore[misc]
        assert isinstance(done, Changed)
        backups.add(done.backup)
    assert len(backups) == 3


class _Busy(Disk):
    """A disk on which another program changes the file after each of its first reads."""

    def __init__(self, path: Path, times: int) -> None:
        self.path, self.times, self.reads = path, times, 0

    def read(self, path: str) -> bytes:
        data = super().read(path)
        if path == str(self.path):
            self.reads += 1
            if self.reads % 2 and self.reads < 2 * self.times:
                self.path.write_text(json.dumps({"theirs": self.reads}))
        return data


def test_file_when_another_program_changes_it_meanwhile_then_both_changes_stand(file: Path) -> None:
    done = hook_settings.change(home(_Busy(file, 2)), str(file), add)
    assert isinstance(done, Changed)
    assert json.loads(file.read_text()) == {"theirs": 3, "added": True}
    assert sorted(path.name for path in file.parent.iterdir()) == sorted([file.name, Path(done.backup).name])


def test_file_when_another_program_never_stops_changing_it_then_it_is_left_alone(file: Path) -> None:
    with pytest.raises(Unreadable, match="another program keeps changing it"):
        hook_settings.change(home(_Busy(file, 99)), str(file), add)
    assert "theirs" in json.loads(file.read_text())
    assert list(file.parent.iterdir()) == [file]


def test_file_when_any_step_on_the_disk_fails_then_it_stands_whole_and_nothing_is_left(file: Path) -> None:
    before = file.read_bytes()
    steps = steps_of(lambda disk: hook_settings.change(home(disk), str(file), add))
    after = file.read_bytes()
    for at, step in enumerate(steps, 1):
        for path in file.parent.iterdir():
            path.unlink()
        file.write_bytes(before)
        file.chmod(0o640)
        disk = Failing(at, errno.ENOSPC)
        try:
            hook_settings.change(home(disk), str(file), add)
        except SotError:
            assert file.read_bytes() == before, str(step)
            assert list(file.parent.iterdir()) == [file], str(step)
        else:
            assert file.read_bytes() == after, str(step)
        assert file.stat().st_mode & 0o777 == 0o640, str(step)
        disk.bury()


def test_file_when_a_rename_was_made_and_answered_with_an_error_then_it_counts_and_the_old_text_is_kept(
    file: Path,
) -> None:
    before = file.read_bytes()
    steps = steps_of(lambda disk: hook_settings.change(home(disk), str(file), add))
    rename = [step.name for step in steps].index("rename") + 1
    for path in file.parent.glob("*.bak"):
        path.unlink()
    file.write_bytes(before)
    done = hook_settings.change(home(Failing(rename, errno.EIO, lie=True)), str(file), add)
    assert isinstance(done, Changed)
    assert Path(done.backup).read_bytes() == before
    assert json.loads(file.read_text())["added"] is True


def test_file_when_the_process_dies_at_any_step_then_it_stands_whole(file: Path) -> None:
    before = file.read_bytes()
    steps = steps_of(lambda disk: hook_settings.change(home(disk), str(file), add))
    after = file.read_bytes()
    for at in range(1, len(steps) + 1):
        for path in file.parent.iterdir():
            path.unlink()
        file.write_bytes(before)
        assert dies(lambda at=at: hook_settings.change(home(Dying(at)), str(file), add))  # type: ignore[misc]
        assert file.read_bytes() in {before, after}


@pytest.mark.parametrize(
    ("agent", "environ", "place"),
    [
        ("claude", {"HOME": "/h"}, "/h/.claude/settings.json"),
        ("claude", {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}, "/c/settings.json"),
        ("codex", {"HOME": "/h"}, "/h/.codex/hooks.json"),
        ("codex", {"HOME": "/h", "CODEX_HOME": "/x"}, "/x/hooks.json"),
    ],
)
def test_place_when_asked_then_it_is_the_agents_own(agent: str, environ: dict[str, str], place: str) -> None:
    assert hook_settings.place(environ, agent) == place


def test_file_when_changed_then_old_and_new_text_are_flushed_before_it_is_replaced_and_the_folder_after(
    file: Path,
) -> None:
    steps = steps_of(lambda disk: hook_settings.change(home(disk), str(file), add))
    told = [step.name for step in steps if step.name in {"write", "flush", "flush_folder", "rename"}]
    assert told == ["write", "flush", "write", "flush", "rename", "flush_folder"]
