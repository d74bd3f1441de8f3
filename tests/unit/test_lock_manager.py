"""The inbox lock's manager: what each mount's identity is, who appends where, and what a hub does with the record."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import mounts
from sot_tui.comm.disk import Disk
from sot_tui.comm.home import Home
from sot_tui.comm.mounts import LockRecord, Recorded
from tests.mailbox import NAMELESS, Machine

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.proof import SystemProcs

ROOT = b"1 0 8:1 / / rw,relatime - ext4 /dev/root rw\n"


class MountedDisk(Disk):
    """A disk whose mounts are a text; it fails a link or a rename when told to."""

    def __init__(self, mountinfo: bytes, own_disk: bool = False) -> None:
        self.mountinfo = mountinfo
        self.own_disk = own_disk
        self.winner = ""
        self.flushed = False
        self.fault: OSError | None = None

    def mount_table(self) -> bytes:
        return self.mountinfo

    def link(self, source: str, target: str) -> None:
        assert self.flushed
        if self.winner:
            with open(target, "w") as file:
                file.write(self.winner)
        if self.fault is not None:
            raise self.fault
        super().link(source, target)

    def flush(self, descriptor: int) -> None:
        super().flush(descriptor)
        self.flushed = True

    def rename(self, source: str, target: str) -> None:
        assert self.flushed
        super().rename(source, target)

    def is_on_local_mount(self, path: str) -> bool:
        return self.own_disk and bool(path)


def home_on(path: Path, kind: str, options: str = "rw", *, procs: SystemProcs | None = None) -> Home:
    (path / "inbox").mkdir(parents=True, exist_ok=True)
    line = f"2 1 0:9 / {path} rw,relatime - {kind} server:/export {options}\n".encode()
    return Home(str(path), MountedDisk(ROOT + line), procs=procs or Machine())


@pytest.mark.parametrize(
    ("kind", "options", "identity"),
    [
        ("nfs4", "rw,vers=4.2,local_lock=none,addr=1.2.3.4", "nfs4 server:/export"),
        ("nfs4", "rw,vers=4,local_lock=none", "nfs4 server:/export"),
        ("nfs4", "rw,vers=4.2,local_lock=flock", "none@m1"),
        ("nfs4", "rw,local_lock=none", "none@m1"),
        ("nfs", "rw,vers=3,local_lock=none", "none@m1"),
        ("nfs", "rw,vers=4.2,local_lock=none", "none@m1"),
        *[(kind, "rw", "local m1") for kind in ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs")],
        ("tmpfs", "rw", "none@m1"),
        ("overlay", "rw", "none@m1"),
        ("fuse.sshfs", "rw", "none@m1"),
    ],
)
def test_lock_identity_when_each_mount_then_as_the_daemon_names_it(
    comm_home: Path, kind: str, options: str, identity: str
) -> None:
    assert mounts.lock_identity(home_on(comm_home, kind, options)) == identity


@pytest.mark.parametrize(("kind", "identity"), [("ext4", "none"), ("tmpfs", "none")])
def test_lock_identity_when_the_machine_has_no_id_then_bare_none(comm_home: Path, kind: str, identity: str) -> None:
    assert mounts.lock_identity(home_on(comm_home, kind, procs=NAMELESS)) == identity
    nfs = home_on(comm_home, "nfs4", "vers=4.2,local_lock=none", procs=NAMELESS)
    assert mounts.lock_identity(nfs) == "nfs4 server:/export"


def test_lock_identity_when_the_inbox_folder_is_a_mount_of_its_own_then_that_one_counts(comm_home: Path) -> None:
    home = home_on(comm_home, "ext4")
    assert isinstance(home.disk, MountedDisk)
    home.disk.mountinfo += f"3 2 0:10 / {comm_home}/inbox rw - tmpfs tmpfs rw\n".encode()
    assert mounts.lock_identity(home) == "none@m1"


def test_lock_identity_when_mounts_or_folder_become_others_then_it_is_asked_anew(comm_home: Path) -> None:
    """What was found for a folder counts while its mounts and the folder itself are the same, and no longer."""
    near, far = comm_home.parent / "near", comm_home.parent / "far"
    for place in (near, far):
        (place / "inbox").mkdir(parents=True)
    comm_home.symlink_to(near)
    nfs = b"2 1 0:9 / %s rw - nfs4 nas:/home rw,vers=4.2,local_lock=none\n" % os.fsencode(far)
    disk = MountedDisk(ROOT + nfs)
    home = Home(str(comm_home), disk=disk, procs=Machine("m1"))
    assert [mounts.lock_identity(home) for _ in "ab"] == ["local m1", "local m1"]
    comm_home.unlink()
    comm_home.symlink_to(far)
    assert [mounts.lock_identity(home) for _ in "ab"] == ["nfs4 nas:/home", "nfs4 nas:/home"]
    disk.mountinfo = ROOT + nfs.replace(b"nas:/home", b"nas:/other")
    assert mounts.lock_identity(home) == "nfs4 nas:/other"


def test_lock_identity_when_the_mounts_cannot_be_told_then_none_of_a_mount(comm_home: Path) -> None:
    assert mounts.lock_identity(Home(str(comm_home), MountedDisk(b"garbage"), procs=Machine())) == "none@m1"


@pytest.mark.parametrize(
    ("record", "appends"),
    [
        ("local m1\nm1\n", "local m1"),
        ("local m1\nm2\n", "local m1"),
        ("local m1", "local m1"),
        ("local m1 \nm1\n", None),
        ("local m2\nm1\n", None),
        ("none@m1\nm1\n", None),
        ("none\n", None),
        ("\nlocal m1\n", None),
        ("", None),
        (None, None),
    ],
)
def test_appends_here_when_each_record_then_line_1_alone_decides(
    comm_home: Path, record: str | None, appends: str | None
) -> None:
    """Contract: "Every route compares line 1 only"."""
    home = home_on(comm_home, "ext4")
    if record is not None:
        (comm_home / "inbox-lock-manager").write_text(record)
    assert mounts.appends_here(home) == appends


def test_appends_here_when_both_are_bare_none_then_never(comm_home: Path) -> None:
    """Contract: "bare none, with no machine id, never matches"."""
    home = home_on(comm_home, "tmpfs", procs=NAMELESS)
    (comm_home / "inbox-lock-manager").write_text("none\n")
    assert mounts.appends_here(home) is None


def test_appends_here_when_the_record_cannot_be_read_then_not(comm_home: Path) -> None:
    home = home_on(comm_home, "ext4")
    (comm_home / "inbox-lock-manager").mkdir()
    assert mounts.appends_here(home) is None


def test_appends_here_when_not_on_linux_then_the_daemon_alone(comm_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contract: "A script adds the line itself only when ... the box is Linux"; a non-Linux daemon is `none@<id>`."""
    home = home_on(comm_home, "ext4")
    (comm_home / "inbox-lock-manager").write_text("none@m1\n")
    monkeypatch.setattr("sys.platform", "darwin")
    assert mounts.lock_identity(home) == "none@m1"
    assert mounts.appends_here(home) is None
    assert mounts.appends_here(home, daemon=True) == "none@m1"


# -- the hub's record


def record_of(path: Path) -> str | None:
    found = path / "inbox-lock-manager"
    return found.read_text() if found.exists() else None


def drafts(path: Path) -> list[str]:
    return [name for name in os.listdir(path) if name.startswith(".inbox-lock-manager")]


@pytest.mark.parametrize("named_hub", [True, False])
def test_record_when_absent_then_a_hub_on_its_own_disk_makes_it(comm_home: Path, *, named_hub: bool) -> None:
    home = home_on(comm_home, "ext4")
    assert mounts.record_lock_manager(home, named_hub=named_hub) == Recorded("local m1", "")
    assert record_of(comm_home) == "local m1\nm1\n"
    assert stat.S_IMODE((comm_home / "inbox-lock-manager").stat().st_mode) == 0o600
    assert drafts(comm_home) == []
    assert mounts.appends_here(home) == "local m1"


@pytest.mark.parametrize("before", [None, "nfs4 server:/old\nm1\n"])
def test_record_when_a_guest_then_it_never_writes(comm_home: Path, before: str | None) -> None:
    home = home_on(comm_home, "nfs4", "vers=4.2,local_lock=none")
    if before is not None:
        (comm_home / "inbox-lock-manager").write_text(before)
    assert mounts.record_lock_manager(home, named_hub=False) == Recorded("nfs4 server:/export", "")
    assert record_of(comm_home) == before


def test_record_when_the_mac_counts_the_disk_as_its_own_then_a_hub(comm_home: Path) -> None:
    home = home_on(comm_home, "overlay")
    assert isinstance(home.disk, MountedDisk)
    home.disk.own_disk = True
    assert mounts.record_lock_manager(home, named_hub=False) == Recorded("none@m1", "")
    assert record_of(comm_home) == "none@m1\nm1\n"


@pytest.mark.parametrize("writer", ["m1", "m2", ""])
def test_record_when_line_1_is_its_own_then_left_alone(comm_home: Path, writer: str) -> None:
    home = home_on(comm_home, "ext4")
    path = comm_home / "inbox-lock-manager"
    path.write_text(f"local m1\n{writer}")
    before = path.stat().st_ino
    assert mounts.record_lock_manager(home, named_hub=True) == Recorded("local m1", "")
    assert (path.stat().st_ino, path.read_text()) == (before, f"local m1\n{writer}")


def test_record_when_its_own_machine_wrote_another_then_replaced_after_the_remount(comm_home: Path) -> None:
    home = home_on(comm_home, "ext4")
    (comm_home / "inbox-lock-manager").write_text("nfs4 server:/export\nm1\n")
    assert mounts.record_lock_manager(home, named_hub=True) == Recorded("local m1", "")
    assert record_of(comm_home) == "local m1\nm1\n"
    assert drafts(comm_home) == []


@pytest.mark.parametrize(
    ("before", "writer"),
    [("local m2\nm2\n", "machine m2"), ("local m2\n", "an unknown machine"), ("x", "an unknown machine")],
)
def test_record_when_another_machine_wrote_it_then_untouched_and_an_error(
    comm_home: Path, before: str, writer: str
) -> None:
    home = home_on(comm_home, "ext4")
    (comm_home / "inbox-lock-manager").write_text(before)
    named = before.split("\n", 1)[0]
    assert mounts.record_lock_manager(home, named_hub=True).fault == (
        f"the inbox lock record names {named}, written by {writer}, a different lock manager from this hub's local m1: "
        f"stop every daemon on this comm folder, delete {comm_home}/inbox-lock-manager, then start the hub"
    )
    assert record_of(comm_home) == before


@pytest.mark.parametrize("before", [None, "none\n", "local m1\nm1\n"])
def test_record_when_the_hub_has_no_machine_id_then_nothing_and_the_recovery(
    comm_home: Path, before: str | None
) -> None:
    home = home_on(comm_home, "ext4", procs=NAMELESS)
    if before is not None:
        (comm_home / "inbox-lock-manager").write_text(before)
    found = mounts.record_lock_manager(home, named_hub=True)
    assert found == Recorded(
        "none",
        f"this hub has no machine id, so it cannot own the inbox lock record at {comm_home}/inbox-lock-manager: "
        "give this machine a machine id (/etc/machine-id on Linux), then restart the daemon",
    )
    assert record_of(comm_home) == before


@pytest.mark.parametrize(("winner", "fault"), [("local m1\nm1\n", False), ("local m2\nm2\n", True)])
def test_record_when_another_daemon_is_first_then_its_record_is_read_again(
    comm_home: Path, winner: str, *, fault: bool
) -> None:
    """Contract: "of two daemons starting at once only one writes it; the other reads the winner's"."""
    home = home_on(comm_home, "ext4")
    assert isinstance(home.disk, MountedDisk)
    home.disk.winner = winner
    assert bool(mounts.record_lock_manager(home, named_hub=True).fault) is fault
    assert record_of(comm_home) == winner
    assert drafts(comm_home) == []


def test_record_when_it_cannot_be_written_then_said_and_no_draft_left(comm_home: Path) -> None:
    home = home_on(comm_home, "ext4")
    assert isinstance(home.disk, MountedDisk)
    home.disk.fault = OSError(1, "Operation not permitted")
    assert mounts.record_lock_manager(home, named_hub=True).fault == (
        f"the inbox lock record at {comm_home}/inbox-lock-manager could not be written: Operation not permitted"
    )
    assert drafts(comm_home) == []


def test_record_when_the_mac_cannot_tell_whose_disk_it_is_then_a_guest(comm_home: Path) -> None:
    """Contract: "anything else, or an error: not own disk"."""

    class Untold(MountedDisk):
        def is_on_local_mount(self, path: str) -> bool:
            raise OSError(5, "Input/output error", path)

    home = home_on(comm_home, "overlay")
    home = home._replace(disk=Untold(ROOT.replace(b"ext4", b"overlay")))
    assert mounts.record_lock_manager(home, named_hub=False) == Recorded("none@m1", "")
    assert record_of(comm_home) is None


def test_record_when_an_nfs_hub_has_no_machine_id_then_an_unknown_writer(comm_home: Path) -> None:
    home = home_on(comm_home, "nfs4", "vers=4.2,local_lock=none", procs=NAMELESS)
    assert mounts.record_lock_manager(home, named_hub=True) == Recorded("nfs4 server:/export", "")
    assert record_of(comm_home) == "nfs4 server:/export\n"
    (comm_home / "inbox-lock-manager").write_text("local m1\n-\n")
    assert "written by machine -" in mounts.record_lock_manager(home, named_hub=True).fault
    assert record_of(comm_home) == "local m1\n-\n"
    (comm_home / "inbox-lock-manager").write_text("local m1\n")
    assert "written by an unknown machine" in mounts.record_lock_manager(home, named_hub=True).fault
    assert record_of(comm_home) == "local m1\n"


def test_lock_record_when_there_is_one_then_both_lines(comm_home: Path) -> None:
    home = home_on(comm_home, "ext4")
    assert mounts.lock_record(home) is None
    (comm_home / "inbox-lock-manager").write_text("local m1\nm2\nmore\n")
    assert mounts.lock_record(home) == LockRecord("local m1", "m2")
