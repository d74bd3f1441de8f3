"""A day of a busy box in little time: rows that are woken, mail, turns that are pushed; and nothing grows.

One real daemon with real capsules, whose agents draw what the recordings show; a real server takes the pushes. Every
message is polled, each wake is one line, each turn is pushed once. Memory, descriptors and threads of the daemon, and
the memory of the capsules, are no more in the last quarter than in the second.
"""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sot_tui.comm import inbox
from sot_tui.comm.home import Home
from sot_tui.wake.prompt import WAKE_LINE
from tests.e2e.box import COMMAND
from tests.e2e.test_many_windows import SOTD, asked, until
from tests.notify.ntfy import serving
from tests.rows.supervised import end_below, scripted
from tests.screens.real import put

if TYPE_CHECKING:
    from tests.notify.ntfy import Ntfy

pytestmark = pytest.mark.stress
MAIL_SECS, TURN_SECS = 0.5, 2.0
"""Between two messages, and between two turns that end; of the day, each row has some hundred of them."""
SAMPLES = 40
BUDGET_SECS = 0.25
"""What a hook waits for the daemon's answer at most (contract); one that ends sooner has had it."""
GROWTH_MB = 6.0
"""What the daemon's memory may vary by: its caches fill for a while, and Python gives little back."""


class Sample(NamedTuple):
    """What the daemon holds at one moment, and its capsules together."""

    resident_mb: float
    files: int
    threads: int
    capsules_mb: float


@pytest.mark.parametrize(
    ("rows", "seconds"),
    [
        pytest.param(4, 30.0, marks=pytest.mark.timeout(200), id="a moment"),
        pytest.param(60, 1800.0, marks=[pytest.mark.torture, pytest.mark.timeout(2600)], id="a day"),
    ],
)
def test_day_when_it_is_lived_then_nothing_is_lost_or_doubled_and_nothing_grows(
    comm_home: Path, tmp_path: Path, rows: int, seconds: float
) -> None:
    programs = scripted(tmp_path / "bin")
    with serving() as topic:
        environ = {
            **os.environ,
            "SOT_SELF_HOST": "box",
            "SHELL": "/bin/sh",
            "PATH": f"{programs}:{os.environ['PATH']}",
            "STEWARD_NTFY_URL": topic.url,
            "STEWARD_HELPER_BIN": "",
        }
        daemon = subprocess.Popen([SOTD, "run"], env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            assert daemon.stderr is not None
            daemon.stderr.readline()
            day = Day(comm_home, tmp_path, daemon.pid, environ, topic)
            day.begin(rows)
            day.live(seconds)
            day.check()
        finally:
            daemon.terminate()
            daemon.communicate()
            end_below(f"{comm_home.parent}/state/sot/workspaces/")


class Day:
    """What happens on a box, and what is seen of it."""

    def __init__(self, comm: Path, folder: Path, daemon: int, environ: dict[str, str], topic: Ntfy) -> None:
        self.comm, self.folder, self.daemon, self.environ, self.topic = comm, folder, daemon, environ, topic
        self.home = Home(str(comm))
        self.socket = str(comm.parent / "run" / "sot" / "sessions" / "sot.sock")
        self.filed: dict[str, int] = {}
        self.turns: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
        """The hooks that run: each turn's process, and when it was begun."""
        self.slow: set[int] = set()
        """The turns whose hook may have had no answer within its budget."""
        self.ended = 0
        self.samples: list[Sample] = []
        self.chance = random.Random(7)

    def begin(self, rows: int) -> None:
        """Start the rows, each with a session that has joined."""
        for number in range(rows):
            handle = f"row{number}-box"
            root = self.folder / "src" / handle
            root.mkdir(parents=True)
            os.mkfifo(root / "orders")
            wanted = {"label": f"row{number}", "project_root": str(root), "agent": "claude", "agent_name": handle}
            made = asked(self.socket, "workspace.create", wanted)
            assert made is not None
            put(self.comm, **{handle: {"state": "idle", "workspace_id": made["workspace_id"]}})
            self.filed[handle] = 0
        until(lambda: self._phases() == {"ready"}, "every row is ready", 120)

    def live(self, seconds: float) -> None:
        """File mail and end turns, and take a sample now and then."""
        began = time.monotonic()
        mail = turn = sample = began
        while (now := time.monotonic()) - began < seconds:
            if now >= mail:
                mail = now + self.chance.uniform(0, 2 * MAIL_SECS)
                self._file(self.chance.choice(list(self.filed)))
            if now >= turn:
                turn = now + self.chance.uniform(0, 2 * TURN_SECS)
                self._end_turn()
            if now >= sample:
                sample = now + seconds / SAMPLES
                self.samples.append(self._sample())
            self._reap()
            time.sleep(0.02)

    def _reap(self) -> bool:
        """Look which hooks have ended, and which of them took long; tell whether one still runs."""
        for turn, (one, began) in list(self.turns.items()):
            if one.poll() is not None:
                assert one.returncode == 0
                del self.turns[turn]
                if time.monotonic() - began > BUDGET_SECS:
                    self.slow.add(turn)
        return bool(self.turns)

    def check(self) -> None:
        """See that all of it came, each thing once, and that nothing grew."""
        until(lambda: not any(self._unread(handle) for handle in self.filed), "all mail is polled", 60)
        for handle, filed in self.filed.items():
            got = "".join(self._said(handle, "got"))
            wakes = got.count(WAKE_LINE)
            assert got == (WAKE_LINE + "\r") * wakes, f"{handle} was typed something else"
            assert wakes <= filed
            lines = (self.comm / "inbox" / f"{handle}.jsonl").read_bytes().splitlines()
            assert sorted(int(json.loads(line)["msg"]) for line in lines) == list(range(filed))
        until(lambda: not self._reap(), "every hook has ended")
        until(lambda: len(self.topic.bodies) >= self.ended, "every turn is pushed", 60)
        told = Counter(int(found) for body in self.topic.bodies for found in re.findall(r"turn (\d+)\b", body))
        assert sorted(told) == list(range(self.ended))
        self._reap()
        # A hook that has no answer within its budget pushes by itself: the one duplicate that the contract names.
        assert {turn for turn, count in told.items() if count > 1} <= self.slow
        assert max(told.values()) <= 2
        quarter = len(self.samples) // 4
        early, late = self.samples[quarter : 2 * quarter], self.samples[-quarter:]
        sys.stderr.write(f"{sum(self.filed.values())} messages, {self.ended} turns; {early[0]} … {late[-1]}\n")
        assert _middle(late, 0) <= _middle(early, 0) + GROWTH_MB
        assert _middle(late, 1) <= _middle(early, 1) + 3
        assert _middle(late, 2) <= _middle(early, 2) + 2
        assert _middle(late, 3) <= _middle(early, 3) * 1.1 + 1.0

    # -- what happens ------------------------------------------------------------------------------------------------

    def _file(self, handle: str) -> None:
        message = {"from": "peer", "to": handle, "text": str(self.filed[handle])}
        assert asked(self.socket, "comm.file", message) == {"ok": True}
        self.filed[handle] += 1

    def _end_turn(self) -> None:
        said = {
            "schema_version": 1,
            "harness": "pi",
            "message": "do it",
            "hook_event_name": "TurnComplete",
            "session_id": f"s{self.ended % 7}",
            "completion_id": f"c{self.ended}",
            "cwd": str(self.folder),
            "last_assistant_message": f"turn {self.ended} is done",
        }
        words = [COMMAND, "notify", "--harness", "pi"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        one = subprocess.Popen(words, env=self.environ, **pipes)  # type: ignore[call-overload]
        one.stdin.write(json.dumps(said).encode())
        one.stdin.close()
        self.turns[self.ended] = (one, time.monotonic())
        self.ended += 1

    # -- what is seen ------------------------------------------------------------------------------------------------

    def _phases(self) -> set[str]:
        found = asked(self.socket, "workspace.list", {})
        assert found is not None
        return {str(row["phase"]) for row in found["workspaces"]}

    def _unread(self, handle: str) -> int:
        count = inbox.unread(self.home, handle)
        return count.unread if isinstance(count, inbox.Count) else 1

    def _said(self, handle: str, word: str) -> list[str]:
        log = self.folder / "src" / handle / "agent.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [found[word] for line in lines if word in (found := json.loads(line))]

    def _sample(self) -> Sample:
        status = Path(f"/proc/{self.daemon}/status").read_text()
        resident, threads = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) for name in ("VmRSS", "Threads"))
        capsules = 0
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes() if entry.name.isdecimal() else b""
                if b"/sot-capsule\0" in words and str(self.comm.parent).encode() in words:
                    capsules += int(re.findall(r"VmRSS:\s+(\d+)", (entry / "status").read_text())[0])
        return Sample(resident / 1024, len(os.listdir(f"/proc/{self.daemon}/fd")), threads, capsules / 1024)


def _middle(samples: list[Sample], field: int) -> float:
    return statistics.median(sample[field] for sample in samples)
