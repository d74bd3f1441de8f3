"""A probe: a row that runs a bare shell, in a folder of its own in the comm home, to try something in.

Contract, Layout: `probe/<handle>/` is a probe row's project root. The handle is named after the probe and the box; the
row has no agent, so nothing joins by itself. A probe that is there already is used again, and never made twice.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sot_tui.comm import names, rows, spawning
from sot_tui.comm.clock import seconds_said
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.rows import NotDone
from sot_tui.comm.spawning import Done, Failed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context
    from sot_tui.comm.rows import Daemon

ORIGIN = "comm-probe"
"""Whom the daemon's record names for what is typed (daemon wire 3.11)."""


def probe(
    home: Home, environ: Mapping[str, str], here: Context, name: str, line: str, endpoint: str = ""
) -> Done | Failed:
    """Make or find the probe row of a name, wait until it is ready, and type a line into it when there is one.

    Raises Misuse when a variable that bounds a wait makes no sense.
    """
    seconds = seconds_said(environ, spawning.START_WAIT, spawning.START_SECS)
    refused = spawning.no_identity("comm-probe.sh", here)
    if refused:
        return Failed(refused)
    handle = f"probe-{name}-{names.host_piece(here.handle_host)}"
    if not names.is_file_safe(handle):
        return Failed(f"comm-probe.sh: {names.not_a_handle(handle)}")
    daemon = rows.daemon_of(home, environ, here, endpoint)
    if isinstance(daemon, NotDone):
        return _not_probed(daemon)
    row = _row(home, daemon, handle)
    late = row if isinstance(row, NotDone) else rows.until_ready(daemon, row, seconds)
    if isinstance(row, NotDone) or late is not None:
        return _not_probed(late or NotDone(""), daemon.notes)
    said = f"Probe row {row} (@{handle}) at {folder_of(home, handle)}."
    if not line:
        return Done(said, daemon.notes)
    typed = rows.type_line(daemon, row, line, ORIGIN)
    if isinstance(typed, NotDone):
        return _not_probed(typed, daemon.notes)
    return Done(f"{said} Typed; Enter: {typed or 'unknown'}.", daemon.notes)


def folder_of(home: Home, handle: str) -> str:
    """Return the project root of a probe row."""
    return f"{home.path}/probe/{handle}"


def _row(home: Home, daemon: Daemon, handle: str) -> str | NotDone:
    """Return the id of the probe's row, which is made when there is none."""
    present = rows.listed(daemon)
    if isinstance(present, NotDone):
        return present._replace(unknown=False)
    folder = folder_of(home, handle)
    real = os.path.realpath(folder)
    found = next((row.id for row in present if os.path.realpath(row.root) == real), "")
    if found:
        return found
    try:
        for path in (f"{home.path}/probe", folder):
            with suppress(FileExistsError):
                home.disk.mkdir(path)
    except OSError as error:
        return NotDone(f"{folder} could not be made: {error.strerror}")
    wanted: dict[str, Any] = {
        "label": handle,
        "project_root": folder,
        "autostart_claude": False,
        "agent": "none",
        "agent_name": handle,
        "task": "",
        "boot": True,
    }
    return rows.create(daemon, wanted)


def _not_probed(why: NotDone, notes: tuple[str, ...] = ()) -> Failed:
    known = "what came of it is not known" if why.unknown else "nothing was typed"
    return Failed(f"FAILED: {why.why}; {known}", notes)
