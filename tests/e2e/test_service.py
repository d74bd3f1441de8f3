"""`sot-tui service`, as a person runs it: it writes one file, removes that one, and says the next command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.box import Box

pytestmark = pytest.mark.e2e


def unit(box: Box) -> Path:
    if sys.platform == "darwin":
        return Path(box.env["HOME"], "Library", "LaunchAgents", "sot-tui.sotd.plist")
    return Path(box.env["XDG_CONFIG_HOME"], "systemd", "user", "sotd.service")


def test_service_when_installed_and_uninstalled_then_each_step_says_what_comes_next(box: Box) -> None:
    path = unit(box)
    code, out, _ = box.run("service", "status")
    assert (code, out.decode().splitlines()[0]) == (1, f"{path}: not installed")
    code, out, _ = box.run("service", "install")
    assert (code, out.decode().splitlines()[0]) == (0, f"{path} was written")
    assert out.decode().splitlines()[1].startswith("  next: ")
    assert str(Path(sys.executable).with_name("sotd")) in path.read_text()
    assert f"SOT_COMM_HOME={box.comm}" in path.read_text().replace("</key><string>", "=")
    code, out, _ = box.run("service", "status")
    assert (code, out.decode().splitlines()) == (
        0,
        [
            f"{path}: installed",
            "  its daemon has no sender: the file names no topic",
            "  nobody does the duties now: a dashboard or `sotd run` takes them",
        ],
    )
    assert f"ok    service: {path}" in box.run("doctor")[1].decode()
    code, out, _ = box.run("service", "uninstall")
    assert (code, path.exists(), out.decode().splitlines()[0]) == (0, False, f"{path} was removed")
    assert box.run("service", "uninstall")[0] == 0


def test_service_when_pushes_are_configured_by_value_then_what_the_daemon_lacks_is_said_and_mended(
    box: Box, tmp_path: Path
) -> None:
    def said(more: dict[str, str], *words: str) -> str:
        return box.run(*words, env=box.env | more)[1].decode()

    secret = {"STEWARD_NTFY_URL": "https://ntfy.example/SECRET"}
    line = "$STEWARD_NTFY_URL is secret, so no service file holds it and the daemon pushes nothing: "
    out = said(secret, "service", "install")
    assert line in out
    assert "name it by STEWARD_NTFY_URL_FILE, and install again\n" in out
    assert "SECRET" not in unit(box).read_text() + out
    out = said(secret, "service", "status")
    assert "  its daemon has no sender: the file names no topic\n" in out
    assert line in out
    assert f"warn  service: {line}" in said(secret, "doctor")
    (tmp_path / "topic").write_text(secret["STEWARD_NTFY_URL"])
    mended = {"STEWARD_NTFY_URL_FILE": str(tmp_path / "topic")}
    assert "installed, from another place or environment" in said(mended, "service", "status")
    assert line not in said(mended, "service", "install")
    assert "  its daemon has a sender\n" in said(mended, "service", "status")
    assert "; its daemon has a sender" in said(mended, "doctor")


def test_service_when_the_file_is_another_s_then_refused_and_left_as_it_is(box: Box) -> None:
    path = unit(box)
    path.parent.mkdir(parents=True)
    path.write_text("[Service]\nExecStart=/usr/bin/other\n")
    for words in (("install",), ("uninstall",)):
        code, out, err = box.run("service", *words)
        assert (code, out) == (1, b"")
        assert err.startswith(b"sot-tui service: ")
    assert path.read_text() == "[Service]\nExecStart=/usr/bin/other\n"
    assert b"does not say" in box.run("doctor")[1]
    assert box.run("service", "install", "--force")[0] == 0


@pytest.mark.parametrize("words", [(), ("start",), ("install", "now"), ("uninstall", "--force"), ("status", "--force")])
def test_service_when_the_words_are_none_of_its_own_then_the_usage(box: Box, words: tuple[str, ...]) -> None:
    assert box.run("service", *words)[0] == 2
