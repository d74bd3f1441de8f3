"""Messages to the person that a poll has listed and nobody has opened yet, kept under the state root.

The contract's cursor passes a whole batch once it is listed, so the cursor cannot tell whether the person has seen one
of its messages. This list does: one JSON object, the real path of a comm home, below it handles, below each the lines.
It is the dashboard's own and no part of the comm home; a file that cannot be read keeps nobody from their mail.
"""

from __future__ import annotations

from sot_tui.comm import jsonline, paths
from sot_tui.comm.fleet import MailCount
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sot_tui.comm.fleet import Mail
    from sot_tui.comm.home import Home

FILE = "waiting.json"
"""Its name in the folder of what the dashboard keeps (`paths.own_state`)."""
FILE_LIMIT = 1 << 22
"""Bytes of the file that are read; a message has about fifty."""
MOST = 5000
"""Messages that are kept for one handle, the newest ones."""


class Waits(NamedTuple):
    """One message that was listed and not opened."""

    line: int
    mark: str
    """`<crc>-<len>` of its line: the same number in a new or cut-back inbox is another message."""
    at: str
    """The stamp that its sender wrote."""


def read(home: Home, own_state: str) -> dict[str, tuple[Waits, ...]]:
    """Return what waits for the person in this comm home, by handle, each list in the order of its lines."""
    said = _whole(home, own_state).get(home.disk.real_path(home.path))
    if not isinstance(said, dict):
        return {}
    return {
        handle: tuple(one for row in rows if (one := _waits(row)) is not None)
        for handle, rows in said.items()
        if isinstance(rows, list)
    }


def write(home: Home, own_state: str, by_handle: Mapping[str, Sequence[Waits]]) -> str:
    """Keep what waits in this comm home, whatever the file holds for another; return what went wrong, or ""."""
    path, whole = f"{own_state}/{FILE}", _whole(home, own_state)
    kept = {handle: [list(one) for one in rows[-MOST:]] for handle, rows in by_handle.items() if rows}
    whole[home.disk.real_path(home.path)] = kept
    whole = {of: rows for of, rows in whole.items() if rows}
    try:
        paths.make_folder(home.disk, own_state)
        draft = f"{path}.tmp.{home.procs.pid()}.{home.procs.serial()}"
        home.disk.replace(draft, path, jsonline.encode(whole).encode())
    except OSError as error:
        return f"{path} could not be written: {error.strerror}"
    return ""


def counted(mail: Mail, rows: Sequence[Waits]) -> Mail:
    """Return a count of mail with what waits to be opened; a line that an inbox has no more waits for nobody."""
    there = [one for one in rows if mail.trust is not MailCount.COUNTED or one.line <= mail.total]
    return mail._replace(waiting=len(there), waiting_since=there[0].at if there else "")


def _whole(home: Home, own_state: str) -> dict[str, Any]:
    try:
        return jsonline.decode_object(home.disk.read_up_to(f"{own_state}/{FILE}", FILE_LIMIT))
    except (OSError, jsonline.NotStrict):
        return {}


def _waits(said: Any) -> Waits | None:
    if not isinstance(said, list) or len(said) != len(Waits._fields):
        return None
    line, mark, at = said
    good = type(line) is int and line > 0 and isinstance(mark, str) and isinstance(at, str)
    return Waits(line, mark, at) if good else None
