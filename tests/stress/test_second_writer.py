"""A second, independent writer of the same files beside ours: neither loses, tears, repeats or overtakes anything.

The other side is `second_writer.sh`, written from the contract with the tools that the contract names. What both did is
judged here from the files and from what each noted, by code that is neither's.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import stat
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import frames, inbox, mounts
from sot_tui.comm.clock import stamp
from sot_tui.comm.reach import listen
from sot_tui.comm.registry import Registry, Wait, Written, replace
from tests.actors import proving_home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sot_tui.comm.home import Home

SCRIPT = Path(__file__).with_name("second_writer.sh")
TOOLS = ("bash", "jq", "perl", "flock", "link")
OURS = "ours"
PAUSE_S = 0.03
"""The longest pause between two of our steps; the tools of one of the other's steps take about as long."""

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)), reason="the second writer needs bash, jq, perl, flock and link"
)


class Our:
    """Our side: the same steps with the product."""

    def __init__(self, home: Home, others: list[str], logs: Path, seed: int) -> None:
        self.home, self.others, self.logs = home, others, logs
        self.chance = random.Random(seed)
        self.written = self.filed = self.steps = self.cut = 0
        manager = mounts.appends_here(home, daemon=True)
        assert manager is not None
        self.manager = manager

    def step(self) -> None:
        self.steps += 1
        chosen = self.chance.randrange(20)
        handle = self.chance.choice(self.others)
        if chosen < 8:
            self.write()
        elif chosen < 12:
            self.file(handle)
        elif chosen < 14:
            self.file(OURS)
        elif chosen < 15:
            self.leave_partial(handle)
        elif chosen < 18:
            self.poll()
        else:
            counted = inbox.unread(self.home, handle, self.manager, 60)
            assert isinstance(counted, inbox.Count), counted

    def write(self) -> None:
        def change(found: Registry) -> bool:
            for key in (OURS, "all"):
                found.agents.setdefault(key, {"n": 0})["n"] += 1
            return True

        outcome = replace(self.home, change, Wait.RULED)
        assert isinstance(outcome, Written), outcome
        self.written += 1

    def file(self, to: str) -> None:
        self.filed += 1
        line = frames.frame(OURS, to, "r", f'{OURS}-{self.filed} ü "q"', stamp(self.home.clock.now()))
        outcome = inbox.file_line(self.home, to, line, self.manager, 60)
        assert isinstance(outcome, inbox.Filed), outcome
        self.cut += bool(inbox.cut_note(to, outcome))
        with self.logs.joinpath(f"filed.{OURS}.{to}").open("ab") as file:
            file.write(line)

    def leave_partial(self, to: str) -> None:
        import fcntl

        path = Path(self.home.inbox(to))
        lock = os.open(self.home.inbox_lock(to), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists() and path.read_bytes().endswith(b"\n"):
            with path.open("ab") as file:
                file.write(b'{"from":"ours","msg":"torn')
        os.close(lock)

    def poll(self) -> None:
        batch = inbox.read_batch(self.home, OURS, self.manager, 60)
        assert isinstance(batch, inbox.Batch), batch
        assert not batch.note, batch.note
        assert not batch.warning, batch.warning
        if batch.lines:
            with self.logs.joinpath(f"read.{OURS}").open("ab") as file:
                file.write(b"".join(line.removesuffix(b"\n") + b"\n" for line in batch.lines))
            moved = inbox.write_cursor(self.home, OURS, batch)
            assert isinstance(moved, inbox.CursorMoved), moved

    def watch(self, point: str) -> None:
        """Say who is inside, and look whether somebody was: nobody who lives."""
        inside = Path(self.home.path, "inside")
        if point == "lock.taken":
            with suppress(FileNotFoundError, ProcessLookupError):
                pid = int(inside.read_text() or "0")
                if pid and _state(pid) not in "ZX":
                    pytest.fail(f"two inside: {pid} and ours")
            inside.write_text(str(os.getpid()))
        elif point == "registry.renamed":
            inside.unlink()


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setenv("SOT_LOCK_WAIT_SECS", "60")
    found = proving_home(tmp_path)
    assert mounts.record_lock_manager(found, named_hub=True).manager
    yield found
    listen(None)
    if not found.path.startswith(str(tmp_path)):
        shutil.rmtree(Path(found.path).parent)


def interleave(home: Home, logs: Path, others: list[str], steps: int, seed: int) -> Our:
    """Let the others take half of the steps and ours at least the other half, all at once, and then a last look."""
    logs.mkdir()
    ours = Our(home, others, logs, seed)
    listen(ours.watch)
    each = steps // (2 * len(others))
    processes = []
    for number, name in enumerate(others):
        words = [home.path, name, OURS, str(each), str(seed + number), str(logs)]
        with logs.joinpath(f"err.{name}").open("wb") as err:
            processes.append(subprocess.Popen(["bash", str(SCRIPT), *words], stderr=err))
    while any(process.poll() is None for process in processes):
        ours.step()
        # At any moment of the others' steps, and no faster than leaves them their turn.
        time.sleep(ours.chance.random() * PAUSE_S)
    for name, process in zip(others, processes, strict=True):
        assert process.wait() == 0, logs.joinpath(f"err.{name}").read_text()
    while ours.steps < steps // 2:
        ours.step()
    ours.write()  # a lock that a dead one left is reclaimed by it
    ours.poll()
    return ours


# -- the judge: no code of either side --------------------------------------------------------------------------------


def whole_lines(path: Path) -> list[bytes]:
    data = path.read_bytes() if path.exists() else b""
    return data.split(b"\n")[:-1]


def cksum(data: bytes) -> str:
    crc, length = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout.split()[:2]
    return f"{crc.decode()}-{length.decode()}"


def judge(home: Home, logs: Path, others: list[str], ours: Our) -> None:
    folder = Path(home.path)
    book: dict[str, Any] = json.loads((folder / "registry.json").read_bytes())
    counts = {name: entry["n"] for name, entry in book["agents"].items()}
    told = {name: int(logs.joinpath(f"written.{name}").read_text()) for name in others} | {OURS: ours.written}
    assert counts.pop("all") == sum(told.values())
    assert counts == {name: count for name, count in told.items() if count}
    assert book["protocol_version"] == 1
    for handle in (OURS, *others):
        lines = whole_lines(folder / "inbox" / f"{handle}.jsonl")
        filed = [whole_lines(logs / f"filed.{writer}.{handle}") for writer in (OURS, *others)]
        assert sorted(lines) == sorted(line for one in filed for line in one)
        for one in filed:  # and each writer's in its order
            mine = set(one)
            assert len(mine) == len(one)
            assert [line for line in lines if line in mine] == one
        assert all(isinstance(json.loads(line), dict) for line in lines)
        read = whole_lines(logs / f"read.{handle}")
        assert read == lines[: len(read)]
        cursor = folder / "read" / f"{handle}.cursor"
        if read:
            assert cursor.read_text().split() == [str(len(read)), cksum(read[-1].replace(b"\0", b""))]
    assert whole_lines(logs / f"read.{OURS}") == whole_lines(folder / "inbox" / f"{OURS}.jsonl")
    left = {name for name in os.listdir(folder) if not re.match(r"\.registry\.lock\.reclaim\.", name)}
    assert left == {"inbox", "read", "self", "registry.json", "inbox-lock-manager"}
    for path in folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.stress
@pytest.mark.timeout(120)
def test_second_writer_when_both_take_four_hundred_steps_at_once_then_both_stay_right(
    home: Home, tmp_path: Path
) -> None:
    ours = interleave(home, tmp_path / "logs", ["second"], 400, 5)
    judge(home, tmp_path / "logs", ["second"], ours)
    assert ours.cut, "no partial of a dead writer was ever met"
    assert list(Path(home.path).glob(".registry.lock.reclaim.*")), "no dead holder's lock was ever reclaimed"


@pytest.mark.torture
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("others", [["second"], ["second", "third", "fourth"]], ids=len)
def test_second_writer_when_all_take_ten_thousand_steps_at_once_then_all_stay_right(
    home: Home, tmp_path: Path, others: list[str]
) -> None:
    ours = interleave(home, tmp_path / "logs", others, 10_000, 11)
    judge(home, tmp_path / "logs", others, ours)
