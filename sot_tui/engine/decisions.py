"""The notifier's decisions on the event log: those of this engine, of a `notifyd`, and of every hook that had neither.

All of them write one log, what the engine pushes by itself too, so following that is following all. Every engine does,
whether it hosts or only looks: the log is a file of this box, and a person reads the window that is open.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sot_tui.notify import settings
from sot_tui.notify.following import Following

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.engine.executors import InThread
    from sot_tui.notify.following import News

LOOK_SECS = 2.0
"""Between two looks at what was decided."""


async def follow(
    home: Home, environ: Mapping[str, str], in_thread: InThread, told: Callable[[News], None], well: Callable[[], None]
) -> None:
    """Tell what is decided from now on, as the log of it grows."""
    following = Following(home, settings.state_base(environ))
    try:
        while True:
            for one in await in_thread(following.news):
                told(one)
            well()
            await asyncio.sleep(LOOK_SECS)
    finally:
        following.close()
