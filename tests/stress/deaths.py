"""The program of the stress test of deaths: one process that goes through comm homes, one death in each.

    python deaths.py FOLDER SEED DEATHS

In each home a child is killed by `kill -9`: at a named point of a write, or after a moment that the seed chooses while
it writes on and on. Some die as the reclaimer of one that died before. Then this process writes, as any writer would,
with the real settle; one JSON line for each death says what it found. It forks, so a death costs no interpreter.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from typing import TYPE_CHECKING

from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.proof import UNREAD, SystemProcs, own_record
from sot_tui.comm.reach import listen
from sot_tui.comm.registry import Registry, Unread, Wait, Written, read, replace
from sot_tui.comm.registry_lock import LockIs, look

if TYPE_CHECKING:
    from collections.abc import Callable

POINTS = (
    "lock.recorded",
    "lock.taken",
    "registry.read",
    "registry.flushed",
    "registry.renamed",
    "lock.released",
)
"""The points of a plain write."""
RECLAIM_POINTS = ("lock.judged", "lock.marked", "lock.settled", "lock.reread", "lock.removed")
"""The points of a reclaim."""


def writes(name: str, number: int) -> Callable[[Registry], bool]:
    def change(found: Registry) -> bool:
        found.agents[name] = {"n": number}
        return True

    return change


def dies_at(home: Home, point: str) -> None:
    """Let a child write and die at a point; it is gone when this returns."""

    def at(reached: str) -> None:
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        listen(at)
        replace(home, writes("child", 1), Wait.RULED)
        os._exit(9)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the child never came to {point}"


def dies_sometime(home: Home, after_s: float) -> None:
    """Let a child write on and on, and kill it after a moment; it is gone when this returns."""
    child = os.fork()
    if child == 0:
        number = 0
        while True:
            number += 1
            replace(home, writes("child", number), Wait.RULED)
    time.sleep(after_s)  # when it dies is chance; nothing waits for it
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def forged(home: Home, kind: str) -> int:
    """Put a lock there that a living process seems to hold; return the process, which lives on."""
    me = own_record(SystemProcs(), fresh_reads=True)
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    start = SystemProcs().start_of(child) or ""
    record = me._replace(pid=str(child), start=start)
    if kind == "another start" or me.machine == UNREAD:
        record = record._replace(start=str(int(start) - 1))
    else:
        record = record._replace(boot="00000000-0000-4000-8000-000000000000")
    with open(home.lock, "w", encoding="ascii") as file:
        file.write(record.line)
    return child


def one_death(home: Home, chance: random.Random) -> dict[str, object]:
    kind = chance.choice(["point", "point", "sometime", "sometime", "reclaimer", "another start", "another boot"])
    detail, child = "", 0
    if kind == "point":
        detail = chance.choice(POINTS)
        dies_at(home, detail)
    elif kind == "sometime":
        delay = chance.random() * 0.02
        detail = f"{delay:.4f}"
        dies_sometime(home, delay)
    elif kind == "reclaimer":
        detail = chance.choice(RECLAIM_POINTS)
        dies_at(home, "registry.flushed")
        dies_at(home, detail)
    else:
        child = forged(home, kind)
    before = look(home)
    whole = not isinstance(read(home), Unread)
    began = time.monotonic()
    written = replace(home, writes("next", 1), Wait.RULED)
    took = time.monotonic() - began
    after = look(home)
    if child:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return {
        "kind": kind,
        "detail": detail,
        "held": before.state is LockIs.HELD,
        "verdict": before.verdict,
        "whole": whole,
        "written": isinstance(written, Written),
        "said": getattr(written, "sentence", ""),
        "took": took,
        "free": after.state is LockIs.FREE,
        "markers": len([name for name in os.listdir(home.path) if ".reclaim." in name]),
    }


def in_one_namespace(path: str) -> None:
    """Let a child die with the lock, and write: both in the pid namespace of this process."""
    home = Home(path)
    dies_at(home, "registry.flushed")
    verdict = look(home).verdict.partition(":")[0]
    written = replace(home, writes("next", 1), Wait.RULED)
    sys.stdout.write(json.dumps({"written": isinstance(written, Written), "verdict": verdict}))


def main() -> None:
    folder, seed, deaths = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    for number in range(deaths):
        home = Home(f"{folder}/{seed}-{number}")
        ensure_home(home)
        sys.stdout.write(json.dumps(one_death(home, chance)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
