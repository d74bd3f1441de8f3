"""A look at one row's terminal: its capsule's own lane while it runs, and what its last run left when it does not.

Both clients come here: they are of the same account and box as the capsule, so neither asks the engine for a screen.
No lane is never taken for an end: what is said of a row without one is what its folder says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm import names, paths
from sot_tui.comm.errors import SotError
from sot_tui.engine.client import NotLive
from sot_tui.engine.rows import capsules, last_screen, voyage
from sot_tui.engine.rows.lane import Lane, LaneForeign, LaneGone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.disk import Disk
    from sot_tui.engine.executors import InThread


async def viewer_of(disk: Disk, environ: Mapping[str, str], row_id: str, blocking: InThread) -> Lane | NotLive:
    """Open the terminal of a row; where no capsule answers, return what is known of its last run."""
    if not names.is_file_safe(row_id):
        return NotLive(f"unknown workspace: {row_id}")
    folder = paths.row_folder(environ, row_id)
    try:
        return await Lane.open(paths.lane_socket(folder))
    except LaneForeign as foreign:
        return NotLive(f"{foreign.sentence}; this dashboard speaks another one")
    except LaneGone as gone:
        why = gone.sentence
    return await blocking(lambda: _left_behind(disk, folder, why))


def _left_behind(disk: Disk, folder: str, why: str) -> NotLive:
    """Return what the last run of a row has left in its folder."""
    try:
        if capsules.is_held(disk, folder):
            return NotLive(why)
        run = voyage.pointer(disk, folder)
        if not run:
            return NotLive("it has never run")
        record = voyage.record(disk, folder, run)
        if record is None or record.ended is None:
            return NotLive("its capsule is gone, and has not said how its run ended; no screen was kept")
        screen = last_screen.read(disk, voyage.folder(folder, run))
    except SotError as unreadable:
        return NotLive(unreadable.sentence)
    except OSError as error:  # its lock could not be looked at
        return NotLive(f"{folder} could not be looked at: {error.strerror}")
    return NotLive(record.words + ("" if screen else "; no screen was kept"), screen, record.ended)
