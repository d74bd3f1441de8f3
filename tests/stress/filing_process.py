"""One process of the filing stress test: a writer of numbered messages, a poller, the hub's record, one more message.

It uses the product as a session does. What it was answered goes into a journal, a line at a time, so that it outlives a
`kill -9`; the checker in test_filing.py reads journals and files, and shares no code with what is run here.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import time
from pathlib import Path

from sot_tui.comm import frames, inbox, mounts, routes
from sot_tui.comm.disk import Disk
from sot_tui.comm.home import Home
from tests.mailbox import Machine

BOXES = 8
SIGNS = 'abcdefghij klmnop\n\t"\\{}[]é🚢\x1b\x7f'
LARGE_EVERY, DEATH_EVERY = 60, 90
"""About one message in so many is large, and in so many writes the writer dies half way."""


class DyingInWrites(Disk):
    """The real disk, whose process kills itself in the middle of the next write of a message when told to."""

    armed = False

    def write(self, descriptor: int, data: bytes) -> None:
        if self.armed:
            os.write(descriptor, data[: random.randrange(1, len(data))])
            os.kill(os.getpid(), signal.SIGKILL)
        super().write(descriptor, data)


def writer(folder: str, journal: str, name: str, first: int, last: int) -> None:
    """File the messages `first` to before `last`; the journal says each try before it and each answer after it."""
    disk = DyingInWrites()
    home = Home(folder, disk, procs=Machine())
    notes = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for number in range(first, last):
        payload = "".join(random.choices(SIGNS, k=random.randrange(300)))
        if not random.randrange(LARGE_EVERY):
            payload *= 1000
        said = payload.encode()
        handle, key = f"box{random.randrange(BOXES)}", f"{name}-{number}"
        body = f"<<{key} {hashlib.sha256(said).hexdigest()} {len(said)} {payload}>>"
        os.write(notes, f"try {number}\n".encode())
        disk.armed = not random.randrange(DEATH_EVERY)
        sent = routes.send(home, name, "stress", handle, body)
        answer = "filed" if isinstance(sent, routes.Filed) else "failed"
        os.write(notes, f"{answer} {key} {handle} {'cut' if sent.note else '-'}\n".encode())
        if answer == "failed" and "was held for" not in sent.sentence:
            sys.exit(sent.sentence)


def poller(folder: str, shown: str, stop: str, handles: list[str]) -> None:
    """Show what is new in each inbox, then move its cursor, until `stop` exists and a whole round was empty."""
    home = Home(folder, procs=Machine())
    out = {handle: os.open(f"{shown}.{handle}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) for handle in handles}
    while True:
        stopping, quiet = Path(stop).exists(), True
        for handle in handles:
            batch = inbox.read_batch(home, handle)
            if not isinstance(batch, inbox.Batch):
                quiet = False
                continue
            if batch.note or batch.warning:
                sys.exit(batch.note or batch.warning)
            for line in batch.lines:
                text = frames.shown(line)
                os.write(out[handle], text if text is not None else b"(skipped)\n")
                quiet = False
            moved = inbox.write_cursor(home, handle, batch)
            if isinstance(moved, inbox.CursorStays):
                sys.exit(moved.sentence)
        if stopping and quiet:
            return
        if quiet:
            time.sleep(0.005)  # leaves the cores to the writers


if __name__ == "__main__":
    kind, *words = sys.argv[1:]
    if kind == "writer":
        writer(words[0], words[1], words[2], int(words[3]), int(words[4]))
    elif kind == "poller":
        poller(words[0], words[1], words[2], words[3:])
    elif kind == "record":
        mounts.record_lock_manager(Home(words[0], procs=Machine()), named_hub=True)
    else:
        outcome = routes.send(Home(words[0], procs=Machine()), "w99", "stress", words[1], words[2])
        sys.stdout.write(f"{outcome.sentence}|{outcome.note}")
