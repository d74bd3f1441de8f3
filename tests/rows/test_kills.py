"""Daemon, capsule and agent killed by `kill -9`, in every order and at every phase: what should live lives.

One daemon, real rows, real signals. After the last kill a new daemon starts, and each row must stand as its run's
record on disk says: over when that says how the agent ended, resumed in a new run when it says nothing, and the very
same run where neither capsule nor agent was touched.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home, ensure_home
from tests.caller import hello, request
from tests.rows.supervised import capsules_below, end_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEADLINE_S = 40.0
ORDERS = [order for count in (1, 2, 3) for order in itertools.permutations(("daemon", "capsule", "agent"), count)]
"""Every order in which one, two or all three of them are killed."""
AGENT = """\
#!/bin/sh
case $SOT_WORKSPACE in
  silent*) ;;
  stubborn*) trap '' HUP TERM; echo up ;;
  *) echo up ;;
esac
while :; do sleep 1; done
"""


class Daemon:
    """`sotd run`, killed and started again at will, and what it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "run/sot/sessions/sot.sock"
        self.rows = folder / "state/sot/workspaces"
        agent = folder / "agent"
        agent.write_text(AGENT)
        agent.chmod(0o755)
        self.env = {**os.environ, "SOT_SELF_HOST": "box", "SHELL": str(agent)}
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        sotd = str(Path(sys.executable).with_name("sotd"))
        process = subprocess.Popen([sotd, "run"], env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"sotd: serving ")
        return process

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def start(self) -> None:
        self.process = self._started()

    def ask(self, op: str, **payload: Any) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(DEADLINE_S)
            one.connect(str(self.socket))
            one.sendall(hello(host="box") + request(op, payload))
            with one.makefile("rb") as lines:
                for line in lines:
                    if f'"op":"{op}"'.encode() in line:
                        found: dict[str, Any] = json.loads(line)["payload"]
                        return found
        raise AssertionError("it ended without an answer")

    def make(self, label: str) -> str:
        root = self.folder / "src" / label
        root.mkdir(parents=True)
        said = self.ask("workspace.create", label=label, project_root=str(root), agent="none", agent_name=label)
        return str(said["workspace_id"])

    def phases(self) -> dict[str, str]:
        return {row["workspace_id"]: row["phase"] for row in self.ask("workspace.list")["workspaces"]}

    def run_of(self, row: str) -> str:
        return (self.rows / row / "drawer.voyage").read_text().strip()

    def end_of(self, row: str, run: str) -> object:
        """Return when a run ended, as its record says; None while it does not."""
        return json.loads((self.rows / row / "voyages" / run / "run.json").read_text())["ended"]

    def capsules(self, row: str) -> list[int]:
        return capsules_below(f"{self.rows}/{row}")


@pytest.fixture
def daemon(comm_home: Path) -> Iterator[Daemon]:
    ensure_home(Home(str(comm_home)))
    found = Daemon(comm_home.parent)
    yield found
    found.process.terminate()
    found.process.communicate(timeout=DEADLINE_S)
    end_below(f"{found.rows}/")


def until(fact: Callable[[], object], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not fact():
        assert time.monotonic() < end, f"it never came: {what}"
        time.sleep(0.05)


def child_of(capsule: int) -> int:
    return int(Path(f"/proc/{capsule}/task/{capsule}/children").read_text().split()[0])


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def zombies_of(pid: int) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state == "Z" and int(parent) == pid:
                    found.append(entry.name)
    return found


def check(daemon: Daemon, before: dict[str, str], untouched: set[str]) -> None:
    """Hold every row to what its record on disk says, and to the one capsule it may have."""

    def settled() -> bool:
        phases = daemon.phases()
        assert phases.keys() == before.keys(), "a row was lost"
        for row, run in before.items():
            over = daemon.end_of(row, run) is not None
            if phases[row] != ("ended_no_respawn" if over else "ready"):
                return False
            if not over and row not in untouched and daemon.run_of(row) == run:
                return False
        return True

    until(settled, "every row stands as its record says")
    for row, run in before.items():
        living = daemon.capsules(row)
        over = daemon.end_of(row, run) is not None
        assert len(living) == (0 if over else 1), (row, living)
        assert (row not in untouched) or daemon.run_of(row) == run
    assert zombies_of(daemon.process.pid) == []
    files = {path.stem for path in (daemon.folder / "config/sot/workspaces-box").glob("*.toml")}
    assert len(files) == len(before)


@pytest.mark.stress
@pytest.mark.timeout(180)
def test_row_when_daemon_capsule_and_agent_are_killed_in_every_order_then_what_should_live_lives(
    daemon: Daemon, comm_home: Path
) -> None:
    entry = {"host": "box", "last_seen": stamp(time.time()), "root": "/x", "repo": "x"}
    (comm_home / "registry.json").write_text(json.dumps({"protocol_version": 1, "agents": {"post-box": entry}}))
    assert daemon.ask("comm.file", **{"from": "a", "to": "post-box", "text": "before", "broadcast": False}) == {
        "ok": True
    }
    filed = (comm_home / "inbox/post-box.jsonl").read_bytes()
    rows = {order: daemon.make("-".join(order)) for order in ORDERS}
    until(lambda: set(daemon.phases().values()) == {"ready"}, "every row is ready")
    before = {row: daemon.run_of(row) for row in rows.values()}
    pids = {row: (capsule, child_of(capsule)) for row in before for capsule in daemon.capsules(row)}

    def kill_all(when: Callable[[tuple[str, ...]], tuple[str, ...]]) -> None:
        for order, row in rows.items():
            for victim in when(order):
                kill(pids[row][victim == "agent"])

    kill_all(lambda order: order[: order.index("daemon")] if "daemon" in order else order)
    daemon.kill()
    kill_all(lambda order: order[order.index("daemon") + 1 :] if "daemon" in order else ())
    daemon.start()
    check(daemon, before, {rows[("daemon",)]})
    assert daemon.capsules(rows[("daemon",)]) == [pids[rows[("daemon",)]][0]]
    gone = [pids[row][1] for order, row in rows.items() if order != ("daemon",)]
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in gone), "no agent outlives its capsule")
    assert (comm_home / "inbox/post-box.jsonl").read_bytes() == filed


@pytest.mark.stress
@pytest.mark.timeout(180)
def test_row_when_killed_while_it_starts_or_ends_then_stands_as_its_record_says(daemon: Daemon) -> None:
    starting = [daemon.make(f"silent-{victim}") for victim in ("capsule", "agent")]
    for row, at in zip(starting, (0, 1), strict=True):
        (capsule,) = daemon.capsules(row)
        assert daemon.phases()[row] == "starting"
        kill((capsule, child_of(capsule))[at])
    ending = [daemon.make(f"stubborn-{victim}") for victim in ("daemon", "capsule", "agent")]
    until(lambda: all(daemon.phases()[row] == "ready" for row in ending), "the others are ready")
    before = {row: daemon.run_of(row) for row in starting + ending}
    pids = {row: (capsule, child_of(capsule)) for row in ending for capsule in daemon.capsules(row)}
    asked = [threading.Thread(target=_destroyed, args=(daemon, row), daemon=True) for row in ending]
    for one in asked:
        one.start()
    until(lambda: all(daemon.phases()[row] == "ending" for row in ending), "they are ending")
    daemon.kill()
    for row, victim in zip(ending[1:], (0, 1), strict=True):
        kill(pids[row][victim])
    for one in asked:
        one.join()
    daemon.start()
    check(daemon, before, set())


def _destroyed(daemon: Daemon, row: str) -> None:
    with suppress(OSError, AssertionError):  # the daemon dies under it
        daemon.ask("workspace.destroy", workspace_id=row)
