"""Why a row with unread mail is not woken, kept under the state root for whoever asks without the daemon.

The daemon that runs the rows writes one JSON object: the path of its comm home, below it handles, below each the reason
and since when. `explain` reads it. A file that is older than a few of the daemon's ticks says nothing: nobody keeps it.
It is this program's own, no part of the comm home, and nothing that is done depends on it.
"""

from __future__ import annotations

from sot_tui.comm import jsonline, paths
from sot_tui.comm.fleet import Unwoken
from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sot_tui.comm.home import Home

FILE_LIMIT = 1 << 20
"""Bytes of the file that are read; a reason has a hundred."""
FRESH_SECS = 30.0
"""Seconds after which what it says is of no use: the daemon writes it at each change, and every ten seconds."""
KEEP_SECS = 10.0
"""Seconds between two writes where nothing has changed."""


def read(home: Home, environ: Mapping[str, str]) -> dict[str, Unwoken]:
    """Return what the daemon of this box says of the rows of this comm home, nothing where none speaks."""
    try:
        whole = jsonline.decode_object(home.disk.read_up_to(paths.wakes_file(environ), FILE_LIMIT))
    except (OSError, jsonline.NotStrict):
        return {}
    said, at = whole.get(home.path), whole.get("at")
    if not isinstance(said, dict) or not isinstance(at, (int, float)) or home.clock.now() - at > FRESH_SECS:
        return {}
    return {handle: found for handle, one in said.items() if (found := _unwoken(one)) is not None}


def write(home: Home, environ: Mapping[str, str], by_handle: Mapping[str, Unwoken]) -> str:
    """Keep the reasons; return what went wrong, or ""."""
    path = paths.wakes_file(environ)
    whole = {"at": home.clock.now(), home.path: {handle: one._asdict() for handle, one in by_handle.items()}}
    try:
        paths.make_own_state(home.disk, environ)
        draft = f"{path}.tmp.{home.procs.pid()}.{home.procs.serial()}"
        home.disk.replace(draft, path, jsonline.encode(whole).encode())
    except OSError as error:
        return f"{path} could not be written: {error.strerror}"
    return ""


def _unwoken(said: Any) -> Unwoken | None:
    if not isinstance(said, dict):
        return None
    reason, since = said.get("reason"), said.get("since")
    return Unwoken(reason, since) if isinstance(reason, str) and isinstance(since, (int, float)) else None
