"""A comm home for the tests of mail: on the real disk, on a mount and a machine that every box can show alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm import mounts
from sot_tui.comm.clock import Clock, SystemClock
from sot_tui.comm.home import Home
from sot_tui.comm.proof import UNREAD, SystemProcs
from tests.seams import MountedDisk

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.disk import Disk

TS = "2026-01-02T03:04:05Z"


class Machine(SystemProcs):
    """This machine under another id, so that a box without one runs the same tests."""

    def __init__(self, machine_id: str = "m1") -> None:
        self._machine_id = machine_id

    def machine_id(self) -> str:
        return self._machine_id


NAMELESS = Machine(UNREAD)
"""A machine that has no id."""


def mail_home(
    path: Path, *, disk: Disk | None = None, clock: Clock | None = None, procs: SystemProcs | None = None
) -> Home:
    """Return a comm home with its folders and the record under which a process here may append."""
    home = Home(str(path), disk or MountedDisk(), clock or SystemClock(), procs or Machine())
    for folder in (path, path / "inbox", path / "read", path / "self"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if procs is not NAMELESS:
        record = path / "inbox-lock-manager"
        record.write_text(f"{mounts.lock_identity(home)}\nm1\n")
        record.chmod(0o600)
    return home
