"""An agent that outlived its capsule: found by the record of its run, and ended before another takes its place.

A capsule that is killed takes the terminal with it, and the kernel hangs up on the agent; one that ignores that goes on
in the same project and the same conversation that the row is about to resume. It is known by its process id, its start
and the boot, as a proof has them: what cannot be known for that very process is left alone. The row's lock is held.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from sot_tui.comm.errors import Unreadable
from sot_tui.comm.proof import UNREAD
from sot_tui.engine.rows import voyage

if TYPE_CHECKING:
    from sot_tui.comm.clock import Clock
    from sot_tui.comm.disk import Disk
    from sot_tui.comm.proof import Procs
    from sot_tui.engine.rows.voyage import Record

PATIENCE_SECS = 2.0
"""How long it has after SIGTERM, and again after SIGKILL."""
_LOOK_SECS = 0.02


def end_orphan(disk: Disk, clock: Clock, procs: Procs, row: str) -> str:
    """End the agent of the row's last run, if it lives without a capsule; return why it does not end."""
    try:
        said = voyage.record(disk, row, voyage.pointer(disk, row))
    except Unreadable:
        return ""  # it is not known whether there is one, or which
    if said is None or said.ended is not None or said.agent <= 1 or UNREAD in {said.agent_start, said.boot}:
        return ""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _lives(disk, procs, said):
            return ""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(said.agent, number)
            os.killpg(said.agent, signal.SIGCONT)
        deadline = clock.monotonic() + PATIENCE_SECS
        while _lives(disk, procs, said) and clock.monotonic() < deadline:
            clock.sleep(_LOOK_SECS)
    return f"the agent of its last run (pid {said.agent}) does not end" if _lives(disk, procs, said) else ""


def _lives(disk: Disk, procs: Procs, said: Record) -> bool:
    if procs.boot_id() != said.boot or procs.start_of(said.agent) != said.agent_start:
        return False
    try:
        status = disk.read(f"/proc/{said.agent}/stat")
    except OSError:
        return True
    # One that has ended may be there until somebody asks how; its parent was the capsule, so nobody may.
    return status[status.rfind(b")") + 1 :].split()[:1] not in ([b"Z"], [b"X"])
