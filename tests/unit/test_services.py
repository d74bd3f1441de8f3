"""The service file of the daemon: what is in it, whose it is, and what the doctor makes of one."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sot_tui.comm import doctor, services
from sot_tui.comm.disk import Disk
from sot_tui.comm.doctor import Level
from sot_tui.comm.errors import Refused, Unreadable
from sot_tui.comm.home import Home
from sot_tui.comm.services import Manager, Service, Stand

SOTD = '/opt/a b/50%/$x/"q"/sotd'


def environ(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    return {**kept, "PATH": "/a:/b c:/50%", "SHELL": "/bin/zsh", "SOT_COMM_HOME": 'x"y\\z', "SECRET": "s", **more}


@pytest.fixture
def home() -> Home:
    return Home("/nowhere")


@pytest.fixture(params=["linux", "darwin"])
def one(request: pytest.FixtureRequest) -> Service:
    return services.service(environ(), SOTD, str(request.param))


def test_unit_when_written_then_names_the_daemon_as_it_is_and_no_row_ends_with_it() -> None:
    one = services.service(environ(), SOTD, "linux")
    assert one.path == f"{os.environ['XDG_CONFIG_HOME']}/systemd/user/sotd.service"
    lines = one.text.splitlines()
    assert 'ExecStart="/opt/a b/50%%/$x/\\"q\\"/sotd" run' in lines
    assert 'Environment="PATH=/a:/b c:/50%%"' in lines
    assert 'Environment="SOT_COMM_HOME=x\\"y\\\\z"' in lines
    assert {"Type=notify", "KillMode=process", "OOMPolicy=continue", "WatchdogSec=60"} <= set(lines)
    assert "SECRET" not in one.text
    nowhere = services.service(environ(XDG_CONFIG_HOME="not/absolute"), SOTD, "linux")
    assert nowhere.path == f"{os.environ['HOME']}/.config/systemd/user/sotd.service"


def test_unit_when_systemd_reads_it_then_it_finds_no_fault(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        return  # a box without systemd has nobody to ask
    command = tmp_path / "a b 50% $x" / "sotd"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    path = tmp_path / "sotd.service"
    path.write_text(services.service(environ(), str(command), "linux").text)
    ran = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )
    assert (ran.returncode, [line for line in ran.stderr.splitlines() if "sotd" in line]) == (0, []), ran.stderr


def test_launch_agent_when_written_then_is_a_plist_and_no_row_ends_with_it() -> None:
    one = services.service(environ(SHELL="/a&b<c>"), SOTD, "darwin")
    assert one.path == f"{os.environ['HOME']}/Library/LaunchAgents/sot-tui.sotd.plist"
    said = plistlib.loads(one.text.encode())
    assert said["ProgramArguments"] == [SOTD, "run"]
    assert (said["AbandonProcessGroup"], said["RunAtLoad"], said["KeepAlive"]) == (
        True,
        True,
        {"SuccessfulExit": False},
    )
    assert said["EnvironmentVariables"] == {
        "PATH": "/a:/b c:/50%",
        "SHELL": "/a&b<c>",
        "SOT_COMM_HOME": 'x"y\\z',
        "XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"],
        "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"],
    }
    assert services.lacks(Disk(), one, one.text) == ()
    assert services.lacks(Disk(), one, one.text.replace("AbandonProcessGroup", "Else")) == ("AbandonProcessGroup",)


def test_service_when_pushes_are_configured_then_where_the_secrets_lie_and_never_a_secret(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "50% topic").write_text("https://SECRET\n")
    more = {"STEWARD_NTFY_URL": "https://SECRET", "STEWARD_NTFY_TOKEN": "SECRET"}
    for platform in ("linux", "darwin"):
        bare = services.service(environ(**more), SOTD, platform)
        assert "SECRET" not in bare.text
        assert services.sender(home.disk, bare, bare.text) is services.Sender.NONE
        one = services.service(environ(**more, STEWARD_NTFY_URL_FILE="50% topic"), SOTD, platform)
        assert "SECRET" not in one.text
        assert str(tmp_path / "50% topic").replace("%", "%%" if platform == "linux" else "%") in one.text
        assert services.sender(home.disk, one, one.text) is services.Sender.HAS
        off = services.service(environ(STEWARD_NTFY_URL_FILE="50% topic", STEWARD_NTFY_DISABLED="true"), SOTD, platform)
        assert services.sender(home.disk, off, off.text) is services.Sender.OFF
        gone = services.service(environ(STEWARD_NTFY_URL_FILE="gone"), SOTD, platform)
        assert services.sender(home.disk, gone, gone.text) is services.Sender.UNREADABLE


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("EnvironmentFile=/x/y", services.Sender.PERHAPS),
        ("EnvironmentFile=/x/y\nEnvironmentFile=", services.Sender.NONE),
        ("Environment=A=b STEWARD_NTFY_URL=https://x 'C=d e'", services.Sender.HAS),
        ("Environment=STEWARD_NTFY_URL=https://x\nEnvironment=", services.Sender.NONE),
        ("Environment=STEWARD_NTFY_URL_FILE=%h/topic", services.Sender.HAS),
        ('Environment="STEWARD_NTFY_URL=https://x', services.Sender.NONE),
        ("", services.Sender.NONE),
    ],
)
def test_sender_when_a_drop_in_names_one_then_it_counts(home: Home, said: str, found: services.Sender) -> None:
    one = services.service(environ(), SOTD, "linux")
    folder = Path(f"{one.path}.d")
    folder.mkdir(parents=True)
    (folder / "more.conf").write_text(f"[Service]\n{said}\n")
    assert services.sender(home.disk, one, one.text) is found


@pytest.mark.parametrize("text", ["", "<plist>", "<plist><array/></plist>"])
def test_sender_when_a_launch_agent_is_none_then_it_names_none(home: Home, text: str) -> None:
    one = services.service(environ(), SOTD, "darwin")
    assert services.sender(home.disk, one, text) is services.Sender.NONE


def test_secrets_when_they_are_there_by_value_alone_then_said_with_what_to_do() -> None:
    url, token = {"STEWARD_NTFY_URL": "https://SECRET"}, {"STEWARD_NTFY_TOKEN": "SECRET"}
    files = {"STEWARD_NTFY_URL_FILE": "/t", "STEWARD_NTFY_TOKEN_FILE": "/k"}
    assert services.left_out({}) == services.left_out(files) == services.left_out({**url, **token, **files}) == ()
    assert services.said_of(services.left_out({**url, "STEWARD_NTFY_TOKEN_FILE": "/k"})) == (
        "$STEWARD_NTFY_URL is secret, so no service file holds it and the daemon pushes nothing: "
        "put it into a file of yours alone (0600), name it by STEWARD_NTFY_URL_FILE"
    )
    both = services.said_of(services.left_out({**url, **token}))
    assert both.startswith("$STEWARD_NTFY_URL and $STEWARD_NTFY_TOKEN are secret, ")
    assert both.endswith(
        "put each into a file of yours alone (0600), name it by STEWARD_NTFY_URL_FILE and STEWARD_NTFY_TOKEN_FILE"
    )
    only = services.said_of(services.left_out({**token, "STEWARD_NTFY_URL_FILE": "/t"}))
    assert "and the daemon sends without it: put it into" in only


def test_service_when_a_value_cannot_be_written_down_then_refused() -> None:
    for more in ({"PATH": "/a\n[Service]\nExecStart=/evil"}, {"SOT_COMM_HOME": "/a\udcff"}):
        with pytest.raises(Refused, match="holds what no service file can"):
            services.service(environ(**more), SOTD, "linux")
    with pytest.raises(Refused, match="sotd holds"):
        services.service(environ(), "/a\tb", "linux")


def test_install_when_nothing_stands_then_written_once_and_uninstall_leaves_nothing_of_it(
    home: Home, one: Service
) -> None:
    assert services.look(home.disk, one).stand is Stand.MISSING
    assert services.uninstall(home, one) is False
    assert services.install(home, one) is True
    assert services.look(home.disk, one).stand is Stand.INSTALLED
    assert Path(one.path).stat().st_mode & 0o777 == 0o600
    inode = Path(one.path).stat().st_ino
    assert services.install(home, one) is False
    assert Path(one.path).stat().st_ino == inode
    assert services.uninstall(home, one) is True
    assert list(Path(one.path).parent.iterdir()) == []


def test_install_when_an_install_of_another_environment_stands_then_put_in_its_place(home: Home, one: Service) -> None:
    platform = "darwin" if one.manager is Manager.LAUNCHD else "linux"
    older = services.service(environ(SHELL="/bin/sh"), "/elsewhere/sotd", platform)
    services.install(home, older)
    assert services.look(home.disk, one).stand is Stand.OLDER
    assert services.install(home, one) is True
    services.install(home, older)
    assert services.uninstall(home, one) is True


@pytest.mark.parametrize("how", ["foreign", "changed"])
def test_file_when_another_hand_wrote_or_changed_it_then_neither_written_over_nor_removed(
    home: Home, one: Service, how: str
) -> None:
    path = Path(one.path)
    path.parent.mkdir(parents=True)
    text = one.text.replace("15", "16") if how == "changed" else "[Service]\nExecStart=/usr/bin/other\n"
    path.write_text(text)
    stand = Stand.CHANGED if how == "changed" else Stand.FOREIGN
    assert services.look(home.disk, one).stand is stand
    with pytest.raises(Refused, match=f"is {stand.value}, and nothing was written; --force writes over it"):
        services.install(home, one)
    with pytest.raises(Refused, match=f"is {stand.value}, and stays"):
        services.uninstall(home, one)
    assert path.read_text() == text
    assert services.install(home, one, force=True) is True
    assert path.read_text() == one.text


def test_uninstall_when_it_is_enabled_then_refused_with_the_command_that_stops_it(home: Home) -> None:
    one = services.service(environ(), SOTD, "linux")
    services.install(home, one)
    wants = Path(one.path).parent / "default.target.wants"
    wants.mkdir()
    (wants / "sotd.service").symlink_to(one.path)
    assert services.look(home.disk, one).enabled
    with pytest.raises(Refused, match=r"first: systemctl --user disable --now sotd\.service"):
        services.uninstall(home, one)
    (wants / "sotd.service").unlink()
    assert services.uninstall(home, one)


def test_file_when_it_cannot_be_read_or_written_then_said_and_not_taken_for_missing(home: Home, one: Service) -> None:
    Path(one.path).mkdir(parents=True)
    with pytest.raises(Unreadable, match="could not be read: Is a directory"):
        services.install(home, one)
    Path(one.path).rmdir()
    folder = Path(one.path).parent
    folder.rmdir()
    folder.write_text("in the way")
    with pytest.raises(Unreadable, match="could not be "):
        services.install(home, one)


@pytest.mark.parametrize(
    ("text", "drop", "lacking"),
    [
        ("[Service]\nKillMode=process\nOOMPolicy=continue\n", "", ()),
        ("[Service]\nKillMode=mixed\n", "", ("KillMode=process", "OOMPolicy=continue")),
        ("[Service]\n# KillMode=process\nOOMPolicy = continue\n", "", ("KillMode=process",)),
        ("KillMode=process\nOOMPolicy=continue\n", "KillMode=control-group\n", ("KillMode=process",)),
        ("OOMPolicy=stop\n", "KillMode=process\nOOMPolicy=continue", ()),
    ],
)
def test_unit_when_it_is_looked_at_then_what_it_lacks_is_named_with_its_drop_ins(
    text: str, drop: str, lacking: tuple[str, ...]
) -> None:
    one = services.service(environ(), SOTD, "linux")
    if drop:
        Path(f"{one.path}.d").mkdir(parents=True)
        Path(f"{one.path}.d", "x.conf").write_text(drop)
    assert services.lacks(Disk(), one, text) == lacking


def test_linger_when_asked_then_by_the_name_of_the_account(tmp_path: Path) -> None:
    import pwd

    folder = tmp_path / "there" / "linger"
    assert services.lingers(Disk(), str(folder)) is None
    folder.parent.mkdir()
    assert services.lingers(Disk(), str(folder)) is False
    folder.mkdir()
    assert services.lingers(Disk(), str(folder)) is False
    (folder / pwd.getpwuid(os.geteuid()).pw_name).touch()
    assert services.lingers(Disk(), str(folder)) is True


def test_doctor_when_no_row_would_outlive_the_daemon_then_a_fault_with_the_very_next_step() -> None:
    def said(**more: Any) -> list[tuple[Level, str, str]]:
        found = doctor.Service("/u/sotd.service", Stand.INSTALLED)._replace(**more)
        return [(one.level, one.fact, one.step) for one in doctor.of_service(found)]

    assert said() == [(Level.OK, "/u/sotd.service", "")]
    assert said(stand=Stand.MISSING, lingers=False)[0][0] is Level.OK
    assert said(lacks=("KillMode=process", "OOMPolicy=continue"), stand=Stand.FOREIGN) == [
        (
            Level.FAULT,
            "/u/sotd.service does not say KillMode=process: to stop or restart the daemon ends every row",
            "sot-tui service install --force",
        ),
        (
            Level.WARN,
            "/u/sotd.service does not say OOMPolicy=continue: a row that takes too much memory ends the daemon, too",
            "sot-tui service install --force",
        ),
    ]
    assert said(stand=Stand.OLDER)[0][2] == "sot-tui service install"
    assert said(enabled=True, lingers=False)[1] == (
        Level.WARN,
        "off, so the daemon, and what it started, ends with your last logout",
        "loginctl enable-linger",
    )
    assert said(lingers=True)[1][0] is Level.OK
    assert said(fault="it could not be read")[0][0] is Level.WARN


def test_commands_when_said_for_each_manager_then_they_are_its_own() -> None:
    systemd, launchd = (services.service(environ(), SOTD, name) for name in ("linux", "darwin"))
    assert (
        services.start_command(systemd)
        == "systemctl --user daemon-reload && systemctl --user enable --now sotd.service"
    )
    assert services.forget_command(systemd) == "systemctl --user daemon-reload"
    assert services.start_command(launchd).startswith(f"launchctl bootstrap gui/{os.getuid()} ")
    assert services.forget_command(launchd) == services.stop_command(launchd)
    assert services.stop_command(launchd).startswith(f"launchctl bootout gui/{os.getuid()}/")


def test_daemon_command_when_none_lies_beside_then_the_first_of_the_search_path_that_is_no_folder_of_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service file must name a place that is the same from wherever the manager starts it."""
    for name in ("here", "there", "beside"):
        (tmp_path / name).mkdir()
    for name in ("here", "there"):
        (tmp_path / name / "sotd").write_text("#!/bin/sh\n")
        (tmp_path / name / "sotd").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "beside" / "python"))
    monkeypatch.setenv("PATH", f"here::{tmp_path}/none:{tmp_path}/there")
    assert services.daemon_command() == f"{tmp_path}/there/sotd"
    (tmp_path / "there" / "sotd").chmod(0o644)
    assert services.daemon_command() == ""
    (tmp_path / "beside" / "sotd").symlink_to(tmp_path / "here" / "sotd")
    assert services.daemon_command() == f"{tmp_path}/beside/sotd"


def test_doctor_when_a_secret_cannot_stand_in_the_service_file_then_that_is_a_line_of_its_own() -> None:
    found = doctor.Service("/u/sotd.service", Stand.INSTALLED, left_out="the token is not in it")
    said = doctor.Finding(Level.WARN, "service", "the token is not in it", "sot-tui service install")
    assert doctor.of_service(found)[1:] == (said,)
