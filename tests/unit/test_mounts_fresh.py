"""Which mount a path lies on, and whether it makes a read fresh (contract, Proof of death)."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sot_tui.comm import darwin, mounts
from sot_tui.comm.disk import MOUNTINFO, Disk
from sot_tui.comm.home import Home
from sot_tui.comm.mounts import home_mount, is_fresh, mount_of, parse_mountinfo, proves_fresh_reads
from sot_tui.comm.proof import _start_of

ROOT = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard"


def _line(number: int, parent: int, point: str, kind: str = "xfs", options: str = "rw") -> str:
    return (
        f"{number} {parent} 0:{number} / {point} rw,relatime shared:{number} master:3 - {kind} /dev/x{number} {options}"
    )


def _id(path: str, *lines: str) -> str | None:
    mount = mount_of(path, parse_mountinfo("\n".join(lines).encode() + b"\n"))
    return mount and mount.id


def test_parse_when_given_optional_fields_and_escapes_then_reads_what_the_kernel_meant() -> None:
    text = rb"36 35 98:0 /mnt1 /a\040b\011c\012d\134e rw,noatime master:1 shared:2 - nfs4 srv:/ex\040port rw,vers=4.2"
    (mount,) = parse_mountinfo(text + b"\n")
    assert (mount.id, mount.parent, mount.kind) == ("36", "35", "nfs4")
    assert mount.point == "/a b\tc\nd\\e"
    assert mount.source == "srv:/ex port"
    assert mount.options == {"rw", "noatime", "vers=4.2"}


def test_parse_when_a_line_has_another_shape_then_it_is_left_out() -> None:
    text = b"\nnonsense\n1 2 3\n36 35 98:0 / /a rw no dash ext4\n36 35 98:0 / /a rw - ext4\n" + ROOT.encode()
    assert [mount.id for mount in parse_mountinfo(text)] == ["27"]


@pytest.mark.parametrize(
    ("path", "lines", "expected"),
    [
        pytest.param("/home/u/.sot-comm", [ROOT], "27", id="the root alone"),
        pytest.param("/home/u", [ROOT, _line(30, 27, "/home")], "30", id="the deepest"),
        pytest.param("/homestead", [ROOT, _line(30, 27, "/home")], "27", id="not half a name"),
        pytest.param("/home", [ROOT, _line(30, 27, "/home")], "30", id="the mount point itself"),
        pytest.param("/home/u", [ROOT, _line(30, 27, "/home"), _line(31, 30, "/home")], "31", id="stacked: on top"),
        pytest.param("/home/u", [ROOT, _line(31, 30, "/home"), _line(30, 27, "/home")], "31", id="whatever the order"),
        pytest.param("/home/u", [ROOT, _line(30, 27, "/home"), _line(31, 27, "/home")], "31", id="equals: the last"),
        pytest.param("/a/b/c", [ROOT, _line(30, 27, "/a/b"), _line(31, 27, "/a")], "31", id="hidden by a later one"),
        pytest.param("/a/b/c", [ROOT, _line(31, 27, "/a"), _line(30, 31, "/a/b")], "30", id="made on the later one"),
        pytest.param("/x", ["19 19 0:1 / / rw - rootfs rootfs rw", _line(27, 19, "/")], "27", id="a root on a root"),
        pytest.param("/x", [_line(30, 27, "/x")], None, id="no root is listed"),
        pytest.param("/x", [], None, id="nothing is listed"),
        pytest.param("/x", [ROOT, _line(30, 31, "/x"), _line(31, 30, "/x")], "27", id="a circle beside the root"),
    ],
)
def test_mount_of_when_mounts_nest_then_takes_the_one_the_kernel_takes(
    path: str, lines: list[str], expected: str | None
) -> None:
    assert _id(path, *lines) == expected


@pytest.mark.parametrize(
    ("kind", "options", "fresh"),
    [
        *[(kind, "rw", True) for kind in ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs")],
        ("nfs", "rw,vers=3,local_lock=none", True),
        ("nfs4", "rw,vers=4.2", True),
        ("nfs", "rw,nocto", False),
        ("nfs4", "rw,vers=4.2,nocto", False),
        ("nfs4", "rw,noctoo", True),
        *[(kind, "rw", False) for kind in ("overlay", "fuse.sshfs", "cifs", "vfat", "9p", "ramfs", "nfsd", "ext", "")],
    ],
)
def test_fresh_when_a_mount_is_listed_then_only_the_contracts_kinds_count(
    kind: str, options: str, *, fresh: bool
) -> None:
    """ "ext2, ext3, ext4, xfs, btrfs, zfs, f2fs or tmpfs, or nfs or nfs4 without nocto" """
    (mount,) = parse_mountinfo(_line(30, 27, "/x", kind or "-", options).encode())
    assert is_fresh(mount) is fresh


class Told(Disk):
    """A disk whose mountinfo is a given text, or cannot be read."""

    def __init__(self, text: bytes | None) -> None:
        self.text = text

    def mount_table(self) -> bytes:
        if self.text is None:
            raise PermissionError(13, "no")
        return self.text


def test_home_when_it_lies_behind_a_link_then_the_mount_behind_it_counts(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    text = "\n".join([ROOT, _line(40, 27, str(real), "overlay")]).encode()
    mount = home_mount(Home(str(tmp_path / "link"), Told(text)))
    assert mount is not None
    assert mount.kind == "overlay"


@pytest.mark.parametrize(
    ("text", "proves"),
    [(ROOT.encode(), True), (ROOT.replace("ext4", "overlay").encode(), False), (b"", False), (None, False)],
)
def test_home_when_its_mount_is_told_or_not_then_proves_only_what_is_known(
    tmp_path: Path, text: bytes | None, *, proves: bool
) -> None:
    assert proves_fresh_reads(Home(str(tmp_path), Told(text))) is proves


def test_home_when_on_a_real_mount_then_agrees_with_the_device_the_kernel_names(tmp_path: Path) -> None:
    """The mount found here carries the device number of the folder itself (field 3 of mountinfo)."""
    for path in (str(tmp_path), "/dev/shm", "/proc", "/"):
        if os.path.isdir(path):
            mount = home_mount(Home(path))
            assert mount is not None
            lines = Path(MOUNTINFO).read_text(encoding="utf-8").splitlines()
            (device,) = [line.split()[2] for line in lines if line.split()[0] == mount.id]
            found = os.stat(path).st_dev
            assert device == f"{os.major(found)}:{os.minor(found)}" or mount.kind == "btrfs"


def test_macos_when_its_structures_are_read_then_the_fields_stand_where_the_headers_say() -> None:
    """No Mac is here: the layouts of sys/mount.h and sys/sysctl.h, written out by hand."""
    statfs = struct.pack("=IiQQQQQ2iIIII16s", 4096, 1, 1, 1, 1, 1, 1, 1, 2, 501, 3, 0x1000 | 0x4000, 0, b"apfs")
    assert darwin.flags_of_statfs(statfs) & darwin.MNT_LOCAL
    remote = struct.pack("=IiQQQQQ2iIIII16s", 4096, 1, 1, 1, 1, 1, 1, 1, 2, 501, 3, 0x4000, 0, b"nfs")
    assert not darwin.flags_of_statfs(remote) & darwin.MNT_LOCAL
    assert darwin.start_of_kinfo(struct.pack("=qi", 1_780_000_000, 999_999) + bytes(632)) == "1780000000"
    assert darwin.start_of_kinfo(b"") is None
    assert darwin.uuid_text(bytes(range(16))) == "00010203-0405-0607-0809-0A0B0C0D0E0F"


class MacLibrary:
    """What a Mac's own calls would answer: a code, what they fill in, and the error they leave."""

    def __init__(self, code: int = 0, error: int = 0, data: bytes = b"") -> None:
        self.code, self.error, self.data = code, error, data

    def _answer(self, room: Any, size: Any) -> int:
        ctypes.set_errno(self.error)
        ctypes.memmove(room, self.data, len(self.data))
        if size is not None:
            size._obj.value = len(self.data)
        return self.code

    def gethostuuid(self, room: Any, _wait: Any) -> int:
        return self._answer(room, None)

    def sysctl(self, name: Any, _count: int, room: Any, size: Any, *_new: Any) -> int:
        assert list(name)[:3] == [1, 14, 1]
        return self._answer(room, size)

    def sysctlbyname(self, name: bytes, room: Any, size: Any, *_new: Any) -> int:
        assert name == b"kern.bootsessionuuid"
        return self._answer(room, size)


def test_macos_when_a_call_answers_or_refuses_then_it_is_read_or_unread_and_never_a_guess(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No Mac is here, so something stands for its library; the calls' names and places are all that is proved."""

    def answers(code: int = 0, error: int = 0, data: bytes = b"") -> None:
        monkeypatch.setattr(ctypes, "CDLL", lambda *_name, **_words: MacLibrary(code, error, data))

    answers(data=bytes(range(16)))
    assert darwin.host_uuid() == "00010203-0405-0607-0809-0A0B0C0D0E0F"
    answers(data=b"B-1\0")
    assert darwin.boot_session() == "B-1"
    answers(data=struct.pack("=qi", 1_780_000_000, 9) + bytes(632))
    assert darwin.start_of(7) == "1780000000"
    answers()
    assert darwin.start_of(7) is None
    answers(-1, errno.ESRCH)
    assert darwin.start_of(7) is None
    answers(-1, errno.EPERM, bytes(16))
    with pytest.raises(PermissionError):
        darwin.host_uuid()
    with pytest.raises(PermissionError):
        darwin.boot_session()
    with pytest.raises(PermissionError):
        darwin.start_of(7)


def test_macos_when_there_is_nothing_at_a_path_then_its_mount_cannot_be_asked(tmp_path: Path) -> None:
    """The one call that every system here has, whatever lies in what it fills in."""
    assert darwin.is_on_local_mount(str(tmp_path)) in {True, False}
    with pytest.raises(FileNotFoundError):
        darwin.is_on_local_mount(f"{tmp_path}/none")


def test_macos_when_it_names_no_start_then_a_process_is_gone_only_if_the_kernel_has_no_such_pid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_name, **_words: MacLibrary())
    assert _start_of(os.getpid()) == "-"
    assert _start_of(ended.pid) is None


def test_home_when_many_are_asked_about_then_few_are_kept_in_mind_and_each_answer_is_its_own(tmp_path: Path) -> None:
    disk = Told(f"{ROOT}\n".encode())
    mounts._known.clear()
    kept = []
    for number in range(3 * mounts._KNOWN_LIMIT):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = mounts.mount_under(Home(str(folder), disk=disk), str(folder))
        assert found is not None
        assert found.kind == "ext4"
        kept.append(len(mounts._known))
    assert max(kept) == mounts._KNOWN_LIMIT
