"""The program of the stress test of writers: one process that writes the registry so many times.

    python writers.py HOME NAME WRITES

Each write adds one to this process's own entry and one to a counter that all share. Beside the counters, a file says
who is inside; whoever finds there another process that lives has seen two holders at once. Each write is told on
stdout.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from sot_tui.comm.home import Home
from sot_tui.comm.reach import listen
from sot_tui.comm.registry import Registry, Wait, Written, replace


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def main() -> None:
    home, name, writes = Home(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    inside = f"{home.path}/inside"

    def at(point: str) -> None:
        if point == "lock.taken":
            with suppress(FileNotFoundError), open(inside, encoding="ascii") as file:
                found = file.read()
                if found and is_alive(int(found)):
                    sys.exit(f"two inside: {found} and {os.getpid()}")
            with open(inside, "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
        elif point == "registry.renamed":
            os.unlink(inside)

    def change(found: Registry) -> bool:
        for key in (name, "all"):
            entry = found.agents.setdefault(key, {"n": 0})
            entry["n"] += 1
        return True

    listen(at)
    for number in range(1, writes + 1):
        written = replace(home, change, Wait.RULED)
        if not isinstance(written, Written):
            sys.exit(written.sentence)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
