"""A real small file system that fills up, and one that turns read-only, under the real commands.

What was answered `filed` stands there once and whole; what was not, is said to have failed and is not there; nothing
that stood is lost, and when there is room again everything goes on by itself. Making one needs root; who may not is
told in the kernel's own words.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.e2e.box import Box

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.stress
SIZE_KIB = 1024


@pytest.fixture
def small(comm_home: Path) -> Iterator[Box]:
    """Return a box whose comm home is a file system of its own, of one mebibyte."""
    comm_home.mkdir(mode=0o700)
    image = comm_home.parent / "image"
    image.write_bytes(bytes(SIZE_KIB << 10))
    own = f"mkfs.ext4 -q -m 0 -O ^has_journal {image} && mount -o loop {image} {comm_home}"
    memory = f"mount -t tmpfs -o size={SIZE_KIB}k,mode=700 tmpfs {comm_home}"
    mounted = subprocess.run(["sh", "-c", f"{own} || {memory}"], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr}")
    comm_home.chmod(0o700)
    box = Box(comm_home.parent)
    box.join()
    yield box
    subprocess.run(["umount", "-l", comm_home], check=True)


def words_of(box: Box) -> list[str]:
    path = box.comm / "inbox" / "beta-box.jsonl"
    data = path.read_bytes() if path.exists() else b""
    assert data.endswith(b"\n") or not data, "no line is torn"
    return [str(json.loads(line)["msg"]) for line in data.splitlines()]


def fill(box: Box, left: int) -> Path:
    """Leave so many bytes free."""
    ballast = box.comm / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
        file.truncate(max(0, file.tell() - left))
    return ballast


def test_send_when_the_disk_fills_up_then_what_is_filed_is_there_and_the_rest_is_refused(small: Box) -> None:
    told: Counter[str] = Counter()
    filed: list[str] = []
    ballast = fill(small, 40_000)
    for number in range(40):
        body = f"{number} " + "x" * 3000
        code, out, err = small.run("send", "@beta-box", body)
        said = (out + err).decode()
        if code == 0:
            assert "filed -> @beta-box" in said
            filed.append(body)
        else:
            assert "FAILED -> @beta-box: the append failed: No space left on device" in said
            told["failed"] += 1
        assert words_of(small) == filed
    assert filed
    assert told["failed"]
    ballast.unlink()
    assert small.run("send", "@beta-box", "there is room again")[0] == 0
    assert words_of(small) == [*filed, "there is room again"]


def test_registry_when_the_disk_is_full_then_it_stands_as_it_was_and_the_lock_is_let_go(small: Box) -> None:
    ballast = fill(small, 0)
    before = small.book()
    failures = 0
    for number in range(10):
        code, out, err = small.run("status", "working", f"note {number} " + "y" * 2000)
        failures += code != 0
        if code:
            assert b"FAILED" in out + err or b"ERROR" in out + err, out + err
            assert {**small.book()["agents"]["alpha-box"], "last_seen": 0} == {
                **before["agents"]["alpha-box"],
                "last_seen": 0,
            }
        else:
            before = small.book()
        assert not (small.comm / ".registry.lock").exists()
    assert failures
    doctor = small.run("doctor")[1].decode()
    assert "is full" in doctor or "KiB are left" in doctor
    ballast.unlink()
    assert small.run("status", "working", "again")[0] == 0
    assert small.book()["agents"]["alpha-box"]["summary"] == "again"


def test_everything_when_the_disk_turns_read_only_then_it_is_said_and_nothing_is_lost(small: Box) -> None:
    assert small.run("send", "@beta-box", "before")[0] == 0
    subprocess.run(["mount", "-o", "remount,ro", small.comm], check=True)
    try:
        code, out, err = small.run("send", "@beta-box", "never")
        assert code == 1
        assert b"FAILED -> @beta-box: " in out + err
        assert b"Read-only file system" in out + err or b"cannot open its lock file" in out + err
        assert small.run("status", "idle")[0] != 0
        assert small.run("list")[0] == 0, "what only looks goes on"
        assert b"read-only" in small.run("doctor")[1]
        code, out, err = small.run("poll")
        assert code in {0, 1}, out + err
    finally:
        subprocess.run(["mount", "-o", "remount,rw", small.comm], check=True)
    assert small.run("send", "@beta-box", "after")[0] == 0
    assert words_of(small) == ["before", "after"]
