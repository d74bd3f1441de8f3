"""Forty writers, some killed at any moment, into eight inboxes that are polled all the while.

What was answered `filed` is there once and whole; what was refused is not; nothing torn is ever shown, no line is shown
twice or left out; and the next filing cuts a dead writer's partial. Two detectors that share no code with the product
judge it: one reads the inbox files, the other what the polls have shown.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).parents[2]
PROCESS = Path(__file__).with_name("filing_process.py")
BOXES = [f"box{number}" for number in range(8)]
WRITERS = 40
KILLS = 60

HEAD = re.compile(rb"<<(w\d+-\d+) ([0-9a-f]{64}) (\d+) ")
SHOWN = re.compile(rb"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\] \[(w\d+):stress\] ")


class Writer(NamedTuple):
    """One of the forty: a name, its journal, and the process that acts for it now."""

    name: str
    journal: Path
    process: subprocess.Popen[bytes]


def environ() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(CHECKOUT),
        # Forty waiters on two cores may wait for one another longer than one session ever does.
        "SOT_INBOX_LOCK_WAIT_SECS": "60",
        "SOT_INBOX_READ_WAIT_SECS": "60",
    }


def start(words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(PROCESS), *words], env=environ(), stderr=subprocess.PIPE)


def ask(*words: str) -> str:
    ran = subprocess.run([sys.executable, str(PROCESS), *words], env=environ(), capture_output=True, check=True)
    return ran.stdout.decode()


def start_writer(home: Path, name: str, first: int, last: int) -> Writer:
    journal = home.parent / f"{name}.journal"
    return Writer(name, journal, start(["writer", str(home), str(journal), name, str(first), str(last)]))


def journal_of(writer: Writer) -> list[list[str]]:
    return [line.split() for line in writer.journal.read_text().splitlines()] if writer.journal.exists() else []


def next_number(writer: Writer) -> int:
    return max((int(words[1]) for words in journal_of(writer) if words[0] == "try"), default=-1) + 1


def lay(home: Path) -> None:
    """Make the comm home: eight handles that are live all day, and the record of this box's lock manager."""
    for name in ("inbox", "read"):
        (home / name).mkdir(parents=True, mode=0o700)
    seen = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_000))
    agents = {handle: {"host": "box", "last_seen": seen} for handle in BOXES}
    (home / "registry.json").write_text(json.dumps({"protocol_version": 1, "agents": agents}))
    ask("record", str(home))


def run_writers(home: Path, messages: int, kills: int) -> list[Writer]:
    """Run all writers to their end, killing one at random each time the journals have grown; a dead one is replaced."""
    writers = [start_writer(home, f"w{number}", 0, messages) for number in range(WRITERS)]
    ended: list[Writer] = []
    killed, deadline = 0, time.monotonic() + 50 + messages / 5
    while writers:
        assert time.monotonic() < deadline, [(writer.name, next_number(writer)) for writer in writers]
        time.sleep(0.01)  # between two looks; nothing depends on its length
        done = sum(path.stat().st_size for path in home.parent.glob("*.journal"))
        if done > (killed + 1) * (WRITERS * messages * 25) // (kills + 2) and killed < kills:
            random.choice(writers).process.kill()
            killed += 1
        for place, writer in enumerate(writers):
            code = writer.process.poll()
            if code is None:
                continue
            assert code in (0, -9), writer.process.stderr.read().decode() if writer.process.stderr else ""
            if writer.process.stderr:
                writer.process.stderr.close()
            first = next_number(writer)
            if first < messages:
                writers[place] = start_writer(home, writer.name, first, messages)
            else:
                ended.append(writers.pop(place))
                break
    assert killed >= kills // 2, "the writers were faster than their killer"
    return ended


# -- the checker: files and journals in, no product code


def key_of(body: bytes) -> str:
    """Return the key of a message that is whole; anything else fails the test."""
    head = HEAD.match(body)
    assert head, body[:100]
    said = body[head.end() :]
    assert said[-2:] == b">>", body[-100:]
    assert len(said) - 2 == int(head[3])
    assert hashlib.sha256(said[:-2]).hexdigest().encode() == head[2]
    return head[1].decode()


def keys_in_file(path: Path, handle: str) -> list[str]:
    data = path.read_bytes()
    assert data.endswith(b"\n")
    keys = []
    for line in data.split(b"\n")[:-1]:
        message = json.loads(line.decode("utf-8"))
        key = key_of(message["msg"].encode())
        assert list(message) == ["from", "to", "repo", "msg", "ts"]
        assert (message["from"], message["to"], message["repo"]) == (key.split("-")[0], handle, "stress")
        keys.append(key)
    return keys


def keys_shown(path: Path) -> list[str]:
    data, keys = path.read_bytes(), []
    place = 0
    while place < len(data):
        begin = SHOWN.match(data, place)
        assert begin, data[place : place + 100]
        head = HEAD.match(data, begin.end())
        assert head, data[place : place + 100]
        end = head.end() + int(head[3]) + 2
        keys.append(key_of(data[begin.end() : end]))
        assert keys[-1].split("-")[0].encode() == begin[1]
        assert data[end : end + 1] == b"\n"
        place = end + 1
    return keys


def file_behind_a_partial(home: Path, handle: str, number: int) -> str:
    """Leave a dead writer's partial in an inbox and file one more message; return its key."""
    inbox = home / "inbox" / f"{handle}.jsonl"
    with inbox.open("ab") as file:
        file.write(b'{"from":"w99","to":')
    # One of the killed writers may have left a partial of its own before ours.
    torn = len(inbox.read_bytes().rpartition(b"\n")[2])
    body = f"<<w99-{number} {hashlib.sha256(b'last').hexdigest()} 4 last>>"
    assert ask("one", str(home), handle, body) == (
        f"filed -> @{handle}|note: cut {torn} bytes of an unterminated line a dead writer left in @{handle}'s inbox"
    )
    return f"w99-{number}"


@pytest.mark.parametrize(
    ("messages", "kills"),
    [
        pytest.param(250, KILLS, marks=[pytest.mark.stress, pytest.mark.timeout(150)], id="250 each"),
        pytest.param(2500, 10 * KILLS, marks=[pytest.mark.torture, pytest.mark.timeout(1500)], id="2500 each"),
    ],
)
def test_filing_when_writers_are_killed_then_what_was_filed_is_there_once_and_whole(
    comm_home: Path, messages: int, kills: int
) -> None:
    lay(comm_home)
    shown, stop = comm_home.parent / "shown", comm_home.parent / "stop"
    pollers = [start(["poller", str(comm_home), str(shown), str(stop), *BOXES[half::2]]) for half in (0, 1)]
    try:
        writers = run_writers(comm_home, messages, kills)
        lasts = {handle: file_behind_a_partial(comm_home, handle, number) for number, handle in enumerate(BOXES)}
        stop.touch()
        for poller in pollers:
            _, err = poller.communicate(timeout=60)
            assert poller.returncode == 0, err
    finally:
        for poller in pollers:
            poller.kill()
            poller.communicate()

    answers = [words for writer in writers for words in journal_of(writer) if words[0] != "try"]
    filed = {key: handle for answer, key, handle, _ in answers if answer == "filed"}
    refused = {key for answer, key, *_ in answers if answer == "failed"}
    assert sum(1 for *_, cut in answers if cut == "cut") > 0, "no writer died in the middle of a write"
    assert len(filed) > WRITERS * messages * 9 // 10
    found = {handle: keys_in_file(comm_home / "inbox" / f"{handle}.jsonl", handle) for handle in BOXES}
    everywhere = Counter(key for keys in found.values() for key in keys)
    assert max(everywhere.values()) == 1, everywhere.most_common(3)
    assert {key: handle for handle, keys in found.items() for key in keys if key in filed} == filed
    assert not refused & everywhere.keys()
    for handle, keys in found.items():
        assert keys[-1] == lasts[handle]
        assert keys_shown(Path(f"{shown}.{handle}")) == keys
        for name in {key.split("-")[0] for key in keys}:  # nobody overtakes himself
            numbers = [int(key.split("-")[1]) for key in keys if key.split("-")[0] == name]
            assert numbers == sorted(numbers)
