"""What a function opened it has closed, whatever came of it: a daemon does the same thousands of times a day."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import (
    daemon_lock,
    frames,
    hook_settings,
    identity,
    inbox,
    peeks,
    registry,
    report,
    scratch,
    scripts,
    set_aside,
)
from sot_tui.comm.disk import Disk
from sot_tui.comm.fleet import Aside
from sot_tui.comm.inbox import Batch, Count, Failed, Filed
from tests.mailbox import TS, mail_home
from tests.seams import MountedDisk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sot_tui.comm.home import Home

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux names what is open")

LINE = frames.frame("b", "a", "beta", "hello", TS)


def open_below(folder: Path) -> list[str]:
    """Return what this process has open below a folder."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the one that lists them
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(path for path in found if path.startswith(str(folder)))


class Torn(MountedDisk):
    """A disk from which no inbox can be read, though each can be opened."""

    def read_at(self, descriptor: int, count: int, offset: int) -> bytes:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".jsonl"):
            raise OSError(errno.EIO, "Input/output error")
        return super().read_at(descriptor, count, offset)


class TornLater(Torn):
    """One from which an inbox can be read once, which finds the places, and then no more."""

    reads = 0

    def read_at(self, descriptor: int, count: int, offset: int) -> bytes:
        self.reads += 1
        return (
            super().read_at(descriptor, count, offset)
            if self.reads > 1
            else Disk.read_at(self, descriptor, count, offset)
        )


class Lockless(MountedDisk):
    """A disk without locks."""

    def lock(self, descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, f"No locks available for {descriptor} {operation}")


def filed(home: Home) -> None:
    assert inbox.file_line(home, "a", LINE) == Filed(0)


def polled(home: Home) -> None:
    batch = inbox.read_batch(home, "a")
    assert isinstance(batch, Batch)
    inbox.write_cursor(home, "a", Batch([LINE[:-1]]))


def counted(home: Home) -> None:
    assert isinstance(inbox.unread(home, "a"), Count)
    assert isinstance(inbox.unread(home, "a", most=1), Count)
    assert inbox.unread(home, "nobody") == Count(0)


def not_read(home: Home) -> None:
    torn = home._replace(disk=Torn())
    assert inbox.read_batch(torn, "a") == Failed("Input/output error")
    assert inbox.unread(torn, "a") == Failed("Input/output error")
    assert inbox.unread(home._replace(disk=TornLater()), "a") == Failed("Input/output error")


def engine(home: Home) -> None:
    held = daemon_lock.take(home, os.environ)
    assert isinstance(held, daemon_lock.Held)
    assert isinstance(daemon_lock.take(home, os.environ), daemon_lock.HeldBy)
    assert daemon_lock.last_holder(home, os.environ).pid
    daemon_lock.release(home, held)
    refused = daemon_lock.take(home._replace(disk=Lockless()), os.environ)
    assert isinstance(refused, daemon_lock.NotHere)


def slot(home: Home) -> None:
    path = f"{home.selves}/x.txt"
    identity.write_self_file(home, path, "h", identity.make_project("/p"))
    assert identity.handle_in_slot(home, path) == "h"


def settings(home: Home) -> None:
    path = f"{home.path}/settings.json"
    home.disk.put(path, b'{"a":1}')
    assert isinstance(hook_settings.change(home, path, lambda said: {**said, "b": 2}), hook_settings.Changed)
    home.disk.unlink(path)


def looked_into(home: Home) -> None:
    assert isinstance(peeks.peek(home, "a", 1), peeks.Peek)
    assert isinstance(peeks.peek(home, "a", 1, 2), peeks.Peek)
    assert isinstance(peeks.look_back(home, "a", None, 10, bool), peeks.Stretch)
    torn = home._replace(disk=Torn())
    assert peeks.peek(torn, "a", 1) == Failed("Input/output error")
    assert peeks.look_back(torn, "a", None, 10, bool) == Failed("Input/output error")


def stamped(home: Home) -> None:
    home.disk.put(home.registry, b'{"agents": {"h": {}}}')
    assert isinstance(registry.touch(home, "h"), registry.Written)
    home.disk.unlink(home.registry)


def small_files(home: Home) -> None:
    assert scratch.write(home, "x", "1")
    assert scratch.read(home, "x") == "1"
    assert set_aside.write(home, os.environ, {"h": Aside("done")}) == ""
    assert set_aside.read(home, os.environ).by_handle
    scripts.install(home, "1")
    scripts.install(home, "1")


def transcript(home: Home) -> None:
    path = f"{home.path}/transcript"
    home.disk.put(path, b'{"type":"assistant","message":{"role":"assistant","content":"SITREP: x"}}\n' * 2)
    assert report.marker_of_turn(home, path, "", "", ()) is not None


def whole_files(home: Home) -> None:
    path = f"{home.path}/x"
    home.disk.put(path, b"12345")
    assert home.disk.read(path) == home.disk.read_up_to(path, 5) == b"12345"
    with pytest.raises(OSError, match="File too large"):
        home.disk.read_up_to(path, 4)
    home.disk.unlink(path)


def folders(home: Home) -> None:
    home.disk.flush_folder(home.path)
    home.disk.revalidate(home.path)
    with pytest.raises(IsADirectoryError):
        home.disk.open(home.path, os.O_RDONLY)


@pytest.mark.parametrize(
    "act",
    [
        filed,
        polled,
        counted,
        not_read,
        engine,
        slot,
        settings,
        looked_into,
        stamped,
        small_files,
        transcript,
        whole_files,
        folders,
    ],
    ids=lambda act: act.__name__,
)
def test_descriptors_when_it_is_done_then_none_of_its_own_stays_open(
    comm_home: Path, act: Callable[[Home], None]
) -> None:
    home = mail_home(comm_home)
    (comm_home / "inbox" / "a.jsonl").write_bytes(LINE * 3)
    before = open_below(comm_home.parent)
    act(home)
    assert open_below(comm_home.parent) == before
