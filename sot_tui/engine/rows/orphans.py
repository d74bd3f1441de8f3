"""An agent that outlived its capsule: found by the record of its run, and ended before another takes its place.

A capsule that is killed takes the terminal with it, and the kernel hangs up on the agent; one that ignores that goes on
in the same project and the same conversation that the row is about to resume. It is known by its process id, its start
and the boot, as a proof has them: what cannot be known for that very process is left alone. An end asks for more: a row
is over only once its agent is known to be gone, and that is on disk. The row's lock is held.
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


def end_for_good(disk: Disk, clock: Clock, procs: Procs, row: str, reason: str) -> str:
    """End what a killed capsule left of the row's last run, and write its end down; return why that is not proved.

    What a start leaves alone because it cannot be known keeps an end from being claimed: not proved dead is alive.
    """
    try:
        run = voyage.pointer(disk, row)
        said = voyage.record(disk, row, run) if run else None
    except Unreadable as fault:
        return fault.sentence
    if said is None:
        return "its run belongs to another implementation" if run else ""
    if said.ended is not None:
        return ""
    if still_there := end_orphan(disk, clock, procs, row):
        return still_there
    if not _is_gone(disk, procs, said):
        return f"whether the agent of its last run (pid {said.agent}) lives cannot be told"
    return _written(disk, row, said._replace(ended=clock.now(), reason=reason))


def _is_gone(disk: Disk, procs: Procs, said: Record) -> bool:
    """Tell whether the agent is known to run no more, or never ran."""
    start = procs.start_of(said.agent) if said.agent > 1 else None
    if start is None:
        return True
    boots, starts = (procs.boot_id(), said.boot), (start, said.agent_start)
    if any(UNREAD not in pair and pair[0] != pair[1] for pair in (boots, starts)):
        return True
    return UNREAD not in {*boots, *starts} and not _lives(disk, procs, said)


def _written(disk: Disk, row: str, said: Record) -> str:
    kept = voyage.Voyage(disk, row, said.run)
    try:
        if kept.open() is not None:
            return "another process writes its run"
        kept.write(said)
    except OSError as error:
        return f"its end is not on disk yet: {error.strerror}"
    finally:
        kept.close()
    return ""


def _lives(disk: Disk, procs: Procs, said: Record) -> bool:
    if procs.boot_id() != said.boot or procs.start_of(said.agent) != said.agent_start:
        return False
    try:
        status = disk.read(f"/proc/{said.agent}/stat")
    except OSError:
        return True
    # One that has ended may be there until somebody asks how; its parent was the capsule, so nobody may.
    return status[status.rfind(b")") + 1 :].split()[:1] not in ([b"Z"], [b"X"])
