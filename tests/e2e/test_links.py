"""`make install`: the commands on the person's search path, and nothing of anybody else's touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

LINKS = str(Path(__file__).resolve().parents[2] / "tools" / "links.py")


def links(*words: str) -> tuple[int, str, str]:
    ran = subprocess.run([sys.executable, LINKS, *words], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout, ran.stderr


def folder() -> Path:
    return Path(os.environ["HOME"], ".local", "bin")


def test_install_when_done_then_both_commands_are_found_by_their_names(tmp_path: Path) -> None:
    code, out, err = links("install")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].endswith('export PATH="$HOME/.local/bin:$PATH"')
    environ = {**os.environ, "PATH": f"{folder()}:/usr/bin:/bin"}
    for name, words in (("sot-tui", ["--version"]), ("sotd", ["--help"])):
        ran = subprocess.run([name, *words], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert name in ran.stdout
    doctor = subprocess.run(["sot-tui", "doctor"], env=environ, capture_output=True, text=True, check=False)
    assert f"ok    command: sot-tui is {folder()}/sot-tui\n" in doctor.stdout
    assert "next: sot-tui join\n" in doctor.stdout  # the name holds: it is this very command
    assert links("install")[0] == 0  # again: they stand


def test_install_when_another_file_has_a_name_then_nothing_is_linked_and_it_stays(tmp_path: Path) -> None:
    (tmp_path / "sotd").write_text("another's")
    code, out, err = links("install", str(tmp_path))
    assert (code, out) == (1, "")
    assert err == f"{tmp_path}/sotd is not ours, so nothing was linked; move it away first\n"
    assert [path.name for path in tmp_path.iterdir()] == ["sotd"]
    assert (tmp_path / "sotd").read_text() == "another's"


def test_install_when_a_link_leads_nowhere_then_it_is_anothers() -> None:
    folder().mkdir(parents=True)
    (folder() / "sot-tui").symlink_to("/nowhere/sot-tui")
    assert links("install")[0] == 1
    assert (folder() / "sot-tui").readlink() == Path("/nowhere/sot-tui")


def test_uninstall_when_done_then_exactly_ours_are_gone(tmp_path: Path) -> None:
    assert links("install", str(tmp_path))[0] == 0
    (tmp_path / "sotd").unlink()
    (tmp_path / "sotd").symlink_to("/opt/another/sotd")
    code, out, err = links("uninstall", str(tmp_path))
    assert (code, out, err) == (0, f"removed {tmp_path}/sot-tui\n", f"{tmp_path}/sotd is not ours, and stays\n")
    assert [path.name for path in tmp_path.iterdir()] == ["sotd"]
    assert links("uninstall", str(tmp_path / "none")) == (0, "", "")


def test_words_when_wrong_then_exit_2() -> None:
    assert links("link")[0] == 2
