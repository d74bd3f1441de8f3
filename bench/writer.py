"""A process that writes a registry at a steady rate, until its stdin ends: `python -m bench.writer PATH A_SECOND`.

Each write is one session's: it says something else, and is stamped. The last entry tells how many writes there were.
"""

from __future__ import annotations

import select
import sys
import time

from sot_tui.comm import registry
from sot_tui.comm.home import Home


def main() -> None:
    """Write until nobody holds the other end of stdin any more."""
    home, pause = Home(sys.argv[1]), 1 / float(sys.argv[2])
    book = registry.read(home)
    assert isinstance(book, registry.Registry)
    handles = sorted(book.agents)
    due, number = time.monotonic(), 0
    while not select.select([0], [], [], max(0.0, due - time.monotonic()))[0]:
        due, number = max(due + pause, time.monotonic() - 1), number + 1

        def change(found: registry.Registry, number: int = number) -> bool:
            found.agents[handles[number % (len(handles) - 1)]]["summary"] = f"step {number}"
            found.agents[handles[-1]]["writes"] = number
            return True

        registry.replace(home, change, registry.Wait.RULED)


if __name__ == "__main__":
    main()
