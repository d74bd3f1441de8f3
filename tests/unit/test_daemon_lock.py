"""One engine per state root and box: a kernel lock decides, and it goes with its process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sot_tui.comm import daemon_lock, paths
from sot_tui.comm.daemon_lock import Held, HeldBy, NotHere
from sot_tui.comm.home import Home
from tests.seams import FRESH_MOUNT, MountedDisk

_HOLDER = (
    "import os, sys; from sot_tui.comm import daemon_lock; from sot_tui.comm.home import home_here; "
    "print(type(daemon_lock.take(home_here(), os.environ)).__name__, flush=True); sys.stdin.read()"
)


@pytest.fixture
def home(comm_home: Path) -> Home:
    return Home(str(comm_home))


def test_lock_when_free_then_is_taken_and_says_who_has_it(home: Home) -> None:
    held = daemon_lock.take(home, os.environ)
    assert isinstance(held, Held)
    path = paths.daemon_lock(os.environ)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(paths.state_root(os.environ)).st_mode & 0o777 == 0o700
    assert daemon_lock.take(home, os.environ) == HeldBy(str(os.getpid()), home.path, "dashboard")
    daemon_lock.release(home, held)
    again = daemon_lock.take(home, os.environ)
    assert isinstance(again, Held)
    daemon_lock.release(home, again)


def test_lock_when_its_process_was_killed_then_is_free_at_once(home: Home) -> None:
    holder = subprocess.Popen([sys.executable, "-c", _HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "Held"
    assert daemon_lock.take(home, os.environ) == HeldBy(str(holder.pid), home.path, "dashboard")
    holder.kill()
    holder.communicate()
    held = daemon_lock.take(home, os.environ)
    assert isinstance(held, Held)
    daemon_lock.release(home, held)


@pytest.mark.parametrize("said", [b"", b"x\ny\n", b"\xff\n", b"12"], ids=["empty", "no-pid", "no-text", "no-home"])
def test_lock_when_its_file_says_something_else_then_the_kernel_still_decides(home: Home, said: bytes) -> None:
    held = daemon_lock.take(home, os.environ)
    assert isinstance(held, Held)
    with open(paths.daemon_lock(os.environ), "wb") as file:
        file.write(said)
    assert daemon_lock.take(home, os.environ) == HeldBy("12" if said == b"12" else "", "")
    daemon_lock.release(home, held)


@pytest.mark.parametrize("kind", ["nfs4", "nfs", "9p", "fuse.sshfs"])
def test_lock_when_the_state_root_is_on_a_network_mount_then_is_refused_with_a_hint(home: Home, kind: str) -> None:
    """Architecture: "`daemon.lock` lies under the state root, never on a network mount"."""
    shared = home._replace(disk=MountedDisk(f"27 1 0:40 / / rw - {kind} srv:/ rw\n".encode()))
    refused = daemon_lock.take(shared, os.environ)
    assert isinstance(refused, NotHere)
    assert refused.why.startswith(f"{paths.state_root(os.environ)} is on {kind}, ")
    assert refused.why.endswith("set XDG_STATE_HOME to a folder on this machine's own disk")
    assert not os.path.exists(paths.state_root(os.environ))


def test_lock_when_the_mac_says_the_mount_is_no_own_disk_then_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert isinstance(daemon_lock.take(home._replace(disk=MountedDisk(b"")), os.environ), NotHere)
    held = daemon_lock.take(home._replace(disk=MountedDisk(FRESH_MOUNT)), os.environ)
    assert isinstance(held, Held)
    daemon_lock.release(home, held)


@pytest.mark.parametrize("step", ["mkdir", "open", "lock"])
def test_lock_when_a_step_fails_then_is_said(home: Home, step: str) -> None:
    class Failing(MountedDisk):
        def __getattribute__(self, name: str) -> object:
            return self.fail if name == step else super().__getattribute__(name)

        def fail(self, *words: object) -> None:
            raise OSError(30, f"Read-only file system {len(words)}")

    refused = daemon_lock.take(home._replace(disk=Failing()), os.environ)
    assert isinstance(refused, NotHere)
    assert "Read-only file system" in refused.why


def test_lock_when_its_file_is_gone_or_another_one_then_it_counts_no_more(comm_home: Path) -> None:
    home = Home(str(comm_home))
    held = daemon_lock.take(home, os.environ, "daemon")
    assert isinstance(held, daemon_lock.Held)
    assert daemon_lock.still_counts(home, os.environ, held)
    said = daemon_lock.last_holder(home, os.environ)
    assert (said.pid, said.home, said.what) == (str(os.getpid()), home.path, "daemon")
    path = Path(paths.daemon_lock(os.environ))
    path.rename(path.with_name("moved"))
    assert not daemon_lock.still_counts(home, os.environ, held)
    path.touch()
    assert not daemon_lock.still_counts(home, os.environ, held)
    assert daemon_lock.last_holder(home, os.environ).pid == ""
    daemon_lock.release(home, held)
    path.unlink()
    assert daemon_lock.last_holder(home, os.environ) == daemon_lock.HeldBy("", "")


def test_lock_when_an_earlier_holder_said_more_then_nothing_of_it_stands(home: Home) -> None:
    path = Path(paths.daemon_lock(os.environ))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text("7\n/a/much/longer/home/than/this/one\n" + "daemon\n" * 99)
    held = daemon_lock.take(home, os.environ)
    assert isinstance(held, Held)
    assert path.read_text() == f"{os.getpid()}\n{home.path}\ndashboard\n"
    daemon_lock.release(home, held)


def test_lock_when_the_state_root_is_not_made_yet_then_the_mac_is_asked_for_the_folder_above(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Asked(MountedDisk):
        def is_on_local_mount(self, path: str) -> bool:
            asked.append(path)
            return False

    asked: list[str] = []
    monkeypatch.setattr("sys.platform", "darwin")
    state = os.environ["XDG_STATE_HOME"]
    monkeypatch.setenv("XDG_STATE_HOME", f"{state}/not/there")
    for folder in (state, "/"):
        assert isinstance(daemon_lock.take(home._replace(disk=Asked()), os.environ), NotHere)
        assert asked.pop() == folder
        monkeypatch.setenv("XDG_STATE_HOME", "/not/there")
