"""The list of mounts is read again when it changes, and only then."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sot_tui.comm.disk import MOUNTINFO, Disk

pytestmark = pytest.mark.skipif(not os.path.exists(MOUNTINFO), reason="Linux alone has a mountinfo")

IN_A_NAMESPACE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x20000) or libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None):
    print("refused:", os.strerror(ctypes.get_errno()))
    sys.exit()
from sot_tui.comm.disk import Disk
folder = sys.argv[1]
disk, other = Disk(), Disk()
seen = [folder.encode() in one.mount_table() for one in (disk, other)]
for act in (lambda: libc.mount(b"t", folder.encode(), b"tmpfs", 0, None), lambda: libc.umount2(folder.encode(), 2)):
    assert act() == 0, os.strerror(ctypes.get_errno())
    seen += [folder.encode() in one.mount_table() for one in (disk, other)]
child = os.fork()
if not child:
    libc.mount(b"t", folder.encode(), b"tmpfs", 0, None)
    os._exit(0 if folder.encode() in disk.mount_table() else 1)
print(*seen, os.waitpid(child, 0)[1], folder.encode() in disk.mount_table())
"""


class CountingDisk(Disk):
    reads = 0

    def read(self, path: str) -> bytes:
        self.reads += 1
        return super().read(path)


def test_mount_table_when_asked_again_then_the_kernels_bytes_and_no_second_read() -> None:
    disk = CountingDisk()
    with open(MOUNTINFO, "rb") as file:
        assert disk.mount_table() == file.read()
    for _ in range(5):
        disk.mount_table()
    assert disk.reads == 1


def test_mount_table_when_something_is_mounted_then_every_disk_and_a_forked_child_sees_it(tmp_path: object) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IN_A_NAMESPACE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    if ran.stdout.startswith("refused"):
        pytest.skip(f"this kernel gives no mount namespace: {ran.stdout}")
    assert ran.stdout.split() == ["False", "False", "True", "True", "False", "False", "0", "True"]
