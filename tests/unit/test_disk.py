"""The disk's opens and reads, whatever lies at a path: none of them waits for anybody or goes on for ever."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.disk import Disk, NotRegular

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DISK = Disk()


def pipe(path: str) -> None:
    os.mkfifo(path)


def listener(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path)


def device(path: str) -> None:
    os.symlink(os.devnull, path)


THINGS = pytest.mark.parametrize("thing", [pipe, listener, device])


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "flags",
    [os.O_RDONLY, os.O_RDWR | os.O_APPEND | os.O_CREAT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC],
    ids=["read", "append", "write"],
)
@THINGS
def test_open_when_it_is_no_regular_file_then_says_so_at_once(
    tmp_path: Path, thing: Callable[[str], None], flags: int
) -> None:
    """A pipe at the place of an inbox once kept every hook, and so the agent's turn, waiting for a writer; a device
    once filled the memory."""
    path = str(tmp_path / "x")
    thing(path)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(NotRegular) as caught:
        DISK.open(path, flags)
    assert (caught.value.strerror, caught.value.filename) == ("it is no regular file", path)
    assert not isinstance(caught.value, FileNotFoundError)
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.timeout(20)
def test_open_when_a_pipe_has_another_end_then_it_is_no_regular_file_all_the_same(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    end = os.open(tmp_path / "x", os.O_RDWR)
    with pytest.raises(NotRegular):
        DISK.open(f"{tmp_path}/x", os.O_WRONLY)
    with pytest.raises(NotRegular):
        DISK.read(f"{tmp_path}/x")
    os.close(end)


def test_open_when_it_is_a_folder_then_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        DISK.open(str(tmp_path), os.O_RDONLY)


def test_open_when_a_link_leads_to_a_file_then_it_is_as_good_as_one_unless_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert DISK.read(f"{tmp_path}/link") == b"x"
    with pytest.raises(NotRegular):
        DISK.open(f"{tmp_path}/link", os.O_RDONLY | os.O_NOFOLLOW)
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(OSError, match="symbolic links") as caught:
        DISK.read(f"{tmp_path}/circle")
    assert caught.value.errno == errno.ELOOP


@pytest.mark.parametrize(
    ("size", "limit", "whole"), [(0, 0, True), (5, 5, True), (6, 5, False), (1 << 30, 4096, False)]
)
def test_read_up_to_when_there_is_more_then_it_could_not_be_read(
    tmp_path: Path, size: int, limit: int, *, whole: bool
) -> None:
    path = str(tmp_path / "x")
    with open(path, "wb") as file:
        file.truncate(size)
    if whole:
        assert DISK.read_up_to(path, limit) == bytes(size)
        return
    with pytest.raises(OSError, match="File too large") as caught:
        DISK.read_up_to(path, limit)
    assert caught.value.errno == errno.EFBIG


@pytest.mark.timeout(60)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has leases")
def test_open_when_a_lease_is_on_the_file_then_waits_until_it_is_given_back(tmp_path: Path) -> None:
    """A file server leases a file to each client with a delegation. An open that never waits is refused then, which
    would be mail that is not filed on a good day."""
    path = str(tmp_path / "x")
    descriptor = os.open(path, os.O_RDONLY | os.O_CREAT)
    called: list[int] = []

    def give_back(number: int, _: object) -> None:
        called.append(number)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)

    before = signal.signal(signal.SIGIO, give_back)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        opened = DISK.open(path, os.O_RDWR | os.O_APPEND)
        DISK.write(opened, b"kept")
        DISK.close(opened)
    finally:
        signal.signal(signal.SIGIO, before)
        os.close(descriptor)
    assert called
    assert DISK.read(path) == b"kept"


def test_close_when_done_then_the_descriptor_is_no_more(tmp_path: Path) -> None:
    descriptor = DISK.open(f"{tmp_path}/x", os.O_RDWR | os.O_CREAT)
    DISK.close(descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_flush_when_the_kernel_refuses_it_then_it_is_not_said_to_be_kept() -> None:
    reader, writer = os.pipe()
    with pytest.raises(OSError, match="Invalid argument"):
        DISK.flush(writer)
    os.close(reader)
    os.close(writer)


@pytest.mark.skipif(sys.platform != "linux", reason="a folder of /proc alone cannot be flushed")
def test_flush_folder_when_the_kernel_refuses_it_then_it_is_not_said_to_be_kept() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        DISK.flush_folder("/proc/self")


def test_revalidate_when_the_folder_is_gone_or_none_then_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    DISK.revalidate(str(tmp_path))
    with pytest.raises(NotADirectoryError):
        DISK.revalidate(f"{tmp_path}/file")
    with pytest.raises(FileNotFoundError):
        DISK.revalidate(f"{tmp_path}/none")


@pytest.mark.skipif(sys.platform != "linux", reason="what stands for a Mac here is this system")
def test_mac_when_it_is_one_then_it_is_asked_for_the_mount_and_for_the_drives_own_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere neither is asked for: a mount that is not there is no fault."""
    missing = f"{tmp_path}/none"
    assert DISK.is_on_local_mount(missing) is False
    asked: list[int] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda _descriptor, command: asked.append(command))
    reader, writer = os.pipe()
    monkeypatch.setattr("sys.platform", "darwin")
    DISK.flush(writer)
    assert asked == [51]
    with pytest.raises(FileNotFoundError):
        DISK.is_on_local_mount(missing)
    os.close(reader)
    os.close(writer)
