"""The watch: a hint that something in the comm home changed. The tick is the truth, so a missed hint costs two seconds.

The folders are watched, not the files, because a file that is replaced is soon watched no more; and not what lies below
them, because a comm home holds project trees and litter. Lock temps and markers come and go with every write and say
nothing. A folder that was removed and made again is silent for ever, so the watch ends when one is another than before.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.comm.home import Home
    from sot_tui.engine.executors import Executor

STEP_MS = 30
"""Milliseconds without a further change after which a hint is given."""
DEBOUNCE_MS = 50
"""Milliseconds after which a hint is given while changes go on."""
CHECK_MS = 2000
"""Milliseconds between two looks at whether the folders are still the same."""

_NAMES = frozenset({"registry.json", ".registry.lock"})
_ENDINGS = {"inbox": ".jsonl", "read": ".cursor"}


def says_something(home: Home, path: str) -> bool:
    """Tell whether a change of this path can change the fleet."""
    folder, name = os.path.split(path)
    if folder == home.path:
        return name in _NAMES
    return name.endswith(_ENDINGS.get(os.path.basename(folder), "/"))


async def watch(home: Home, disk: Executor, changed: Callable[[], None], well: Callable[[], None]) -> None:
    """Call `changed` after each change, until a folder is another one or the watcher ends; then it is started anew."""
    from watchfiles import awatch  # noqa: PLC0415  (it costs as much as the first frame, which need not wait for it)

    folders = (home.path, home.inboxes, home.cursors)
    were = await disk.run(lambda: _which(folders))
    async for changes in awatch(
        *folders,
        watch_filter=lambda _, path: says_something(home, path),
        step=STEP_MS,
        debounce=DEBOUNCE_MS,
        rust_timeout=CHECK_MS,
        yield_on_timeout=True,
        recursive=False,
    ):
        if changes:
            changed()
        if await disk.run(lambda: _which(folders)) != were:
            changed()
            return
        well()


def _which(folders: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return which folders these are; raises FileNotFoundError when one is gone."""
    return [(found.st_dev, found.st_ino) for found in map(os.stat, folders)]
