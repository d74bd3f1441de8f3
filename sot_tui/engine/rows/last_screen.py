"""A screen without its rows as it travels and lies on disk, and the file in which a run leaves its last one.

Product, Rows: a row whose agent ended keeps its last screen. The capsule writes it into the run's folder before it goes
(`screen.json`, as the lane says a screen); one that is larger than any person's is not kept, and none at all is left
by a capsule that was killed. What is read there is checked like anything that comes over a lane.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sot_tui.comm.errors import Unreadable
from sot_tui.engine.rows import lane_wire
from sot_tui.engine.rows.lane_wire import LANE, Malformed
from sot_tui.wake.terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.disk import Disk

FILE = "screen.json"
"""The file's name in the folder of a run."""
LIMIT = 1 << 21
"""Bytes of it at most: far beyond a terminal of 300 columns and 100 lines whose every cell has a look of its own."""


def said_of(screen: Screen) -> dict[str, object]:
    """Return all of a screen but its rows, as a message says it."""
    return {
        "revision": screen.revision,
        "cols": screen.columns,
        "lines": screen.lines,
        "cursor": [screen.cursor_x, screen.cursor_y],
        "visible": screen.cursor_visible,
        "shape": screen.cursor_shape,
        "title": screen.title,
        "icon": screen.icon,
        "status": screen.status,
        "alternate": screen.alternate,
        "modes": sorted(screen.modes),
        **lane_wire.of_wrapped(enumerate(screen.wrapped)),
    }


def size_of(said: Mapping[str, Any]) -> tuple[int, int]:
    """Return the columns and lines of a screen that was said; raise Malformed for no size."""
    columns = lane_wire.integer(said, "cols", *lane_wire.COLUMNS)
    return columns, lane_wire.integer(said, "lines", *lane_wire.LINES)


def screen_of(said: Mapping[str, Any], rows: tuple[lane_wire.Row, ...]) -> Screen:
    """Return the screen of a message and its rows; raise LookupError, TypeError, ValueError or Malformed for none."""
    columns, lines = size_of(said)
    if len(rows) != lines or any(len(row) != columns for row in rows):
        raise Malformed("rows are missing")
    cursor_x, cursor_y = (int(at) for at in said["cursor"])
    if not (0 <= cursor_x < columns and 0 <= cursor_y < lines):
        raise Malformed("the cursor is off the screen")
    return Screen(
        columns,
        lines,
        rows,
        cursor_x,
        cursor_y,
        bool(said["visible"]),
        int(said["shape"]),
        str(said["title"]),
        str(said["icon"]),
        str(said["status"]),
        bool(said["alternate"]),
        frozenset(int(mode) for mode in said["modes"]),
        lane_wire.wrapped_of(said, range(lines), columns),
        int(said["revision"]),
    )


def text_of(screen: Screen) -> str:
    """Return a screen as its file holds it; empty for one that is too large to be kept."""
    parts = list(lane_wire.parts(enumerate(screen.rows)))
    text = json.dumps({"lane": LANE, **said_of(screen), "parts": parts}, ensure_ascii=True, separators=(",", ":"))
    return text + "\n" if len(text) < LIMIT else ""


def read(disk: Disk, folder: str) -> Screen | None:
    """Return the last screen of the run in a folder, None when it left none; raise Unreadable for anything else."""
    path = f"{folder}/{FILE}"
    try:
        said = lane_wire.parsed(disk.read_up_to(path, LIMIT))
        lane_wire.integer(said, "lane", LANE, LANE)
        columns, _ = size_of(said)
        rows: dict[int, lane_wire.Row] = {}
        for part in said["parts"]:
            rows |= lane_wire.rows_of(part, columns)
        return screen_of(said, tuple(rows[place] for place in range(len(rows))))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(f"{path} could not be read: {error.strerror}") from error
    except (LookupError, TypeError, ValueError, Malformed) as error:
        raise Unreadable(f"{path} is damaged: {error}") from error
