"""A real NFSv4 mount on loopback, from two clients: each a box with a network of its own, the server on the first.

Where the kernel has no NFS, or none may be exported here, these tests are skipped in its own words; what NFS does to a
file (ESTALE after an open, empty reads, a LINK answered twice) is then held by the seam alone (tests/faults,
tests/unit/test_registry_lock.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import mounts
from tests.boxes.rig import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.boxes.rig import Box, Rig

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

APPENDS = 100
"""By each of two writers on each of two clients; the torture form has 5,000, together 20,000."""
CHANGES = 200
"""Of the registry, by each of two clients."""
PATIENCE_S = "600"
"""Seconds for which a writer waits for a lock; nothing is lost by waiting, and a machine may be slow."""

_EXPORTING = """
set -e
mount -t nfsd nfsd /proc/fs/nfsd
mount -t tmpfs tmpfs /var/lib/nfs
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
mkdir -p /run/rpcbind /run/lock
echo 10 >/proc/fs/nfsd/nfsv4gracetime
rpcbind
rpc.nfsd 4
rpc.mountd
exportfs -o rw,sync,no_root_squash,no_subtree_check,fsid=1,insecure "*:$1"
"""
"""A new server grants no open for its time of grace, in which clients of an earlier one could claim theirs: 10 s is the
shortest."""

_APPENDING = """
import sys
from sot_tui.comm import frames, inbox, mounts
from sot_tui.comm.home import Home
home, name, count, wait = Home(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    manager = mounts.appends_here(home)
    assert manager and manager.startswith("nfs4 "), manager
    line = frames.frame(name, "reader", "r", f"{name} {number}", "2026-05-29T18:04:00Z")
    filed = inbox.file_line(home, "reader", line, manager, wait)
    assert filed == inbox.Filed(0), filed
"""

_READING = """
import sys, time
from sot_tui.comm import inbox, mounts
from sot_tui.comm.home import Home
home, shown, count, wait = Home(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
seen = 0
with open(shown, "wb") as out:
    while seen < count:
        assert mounts.appends_here(home)
        batch = inbox.read_batch(home, "reader", None, wait)
        assert isinstance(batch, inbox.Batch), batch
        assert not batch.note and not batch.warning, batch
        assert batch.start == seen, (batch.start, seen)
        moved = inbox.write_cursor(home, "reader", batch)
        assert moved == inbox.CursorMoved(), moved
        out.writelines(line + b"\\n" for line in batch.lines)
        seen += len(batch.lines)
        time.sleep(0.1)
"""

_CHANGING = """
import sys
from sot_tui.comm import registry
from sot_tui.comm.home import Home
home, name, count = Home(sys.argv[1]), sys.argv[2], int(sys.argv[3])
def change(found):
    entry = found.entry("api-server")
    for key in ("together", name):
        entry[key] = entry.get(key, 0) + 1
    return True
print("ready", flush=True)
sys.stdin.readline()
for _ in range(count):
    written = registry.replace(home, change, registry.Wait.RULED)
    assert isinstance(written, registry.Written), written
"""


@contextmanager
def mounted(rig: Rig, how: str) -> Iterator[tuple[Box, Box]]:
    """Give two boxes that have mounted the first one's export as their comm home; skip where that is refused.

    Both name the server by the same address, so the mount has the same identity on both.
    """
    server, client = rig.make("server", "client")
    on: list[Box] = []
    try:
        (rig.folder / "export").mkdir(mode=0o700)
        code, _, err = server.run("sh", "-c", _EXPORTING, "sh", str(rig.folder / "export"))
        if code:
            pytest.skip(f"nothing can be exported here: {' '.join(err.split())}")
        until(lambda: server.run("cat", "/proc/fs/nfsd/v4_end_grace")[1].strip() == "Y", "the grace is over", 120)
        for box in (server, client):
            box.comm.mkdir(mode=0o700)
            code, _, err = box.run("mount", "-t", "nfs", "-o", f"{how},hard", source(rig), str(box.comm))
            if code:
                pytest.skip(f"no NFS can be mounted here: {' '.join(err.split())}")
            on.append(box)
        yield server, client
    finally:
        # A client whose server is gone waits for it, and so would the end of its box.
        for box in reversed(on):
            box.run("sh", "-c", "kill -9 -1")
            until(lambda box=box: box.run("umount", str(box.comm))[0] == 0, f"{box.name} has it unmounted", 120)  # type: ignore[misc]
        server.run("rpc.nfsd", "0")


def source(rig: Rig) -> str:
    """Return what is mounted: `<server>:<export>`."""
    return f"{rig.boxes[0].address}:{rig.folder}/export"


def options(box: Box) -> frozenset[str]:
    """Return the options of the comm home's mount, as the kernel has them."""
    mount = mounts.mount_of(str(box.comm), mounts.parse_mountinfo(box.run("cat", "/proc/self/mountinfo")[1].encode()))
    assert mount is not None
    return mount.options


def begun(box: Box, script: str, *words: str) -> subprocess.Popen[bytes]:
    """Start a script that waits for the word to go."""
    patience = f"SOT_LOCK_WAIT_SECS={PATIENCE_S}"
    told = (patience, sys.executable, "-c", script, str(box.comm), *words)
    return box.start("env", *told, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def run_together(processes: list[subprocess.Popen[bytes]], seconds: float) -> None:
    """Let them all go at once, and wait until each has done its part."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    for process in processes:
        assert process.wait(timeout=seconds) == 0
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.parametrize(
    "appends", [APPENDS, pytest.param(5000, marks=[pytest.mark.torture, pytest.mark.timeout(7200)])]
)
def test_appends_when_two_clients_write_one_inbox_then_each_line_is_there_once_and_is_read_once(
    rig: Rig, appends: int
) -> None:
    """Line 1 of the record is `nfs4 <server>:<export> (an NFS v4 mount with local_lock=none)`, so both append."""
    with mounted(rig, "vers=4.2") as (server, client):
        server.daemon()
        record = server.path(server.comm / "inbox-lock-manager").read_text(encoding="utf-8").splitlines()[0]
        assert record == f"nfs4 {source(rig)}"
        for box in (server, client):
            assert "local_lock=none" in options(box)
        shown = rig.folder / "shown"
        run_together(
            [
                begun(client, _READING, str(shown), str(4 * appends), PATIENCE_S),
                *(
                    begun(box, _APPENDING, f"{box.name}-{name}", str(appends), PATIENCE_S)
                    for box in (server, client)
                    for name in "ab"
                ),
            ],
            7000,
        )
        lines = (rig.folder / "export/inbox/reader.jsonl").read_bytes()
        found = [json.loads(line)["msg"] for line in lines.splitlines()]
        for name in ("server-a", "server-b", "client-a", "client-b"):
            assert [msg for msg in found if msg.startswith(name)] == [f"{name} {n}" for n in range(appends)]
        assert len(found) == 4 * appends
        assert shown.read_bytes() == lines


def test_registry_when_two_clients_change_it_at_the_same_time_then_no_change_is_lost(rig: Rig) -> None:
    with mounted(rig, "vers=4.2") as (server, client):
        server.join("api")
        run_together([begun(box, _CHANGING, box.name, str(CHANGES)) for box in (server, client)], 800)
        entry = json.loads((rig.folder / "export/registry.json").read_bytes())["agents"]["api-server"]
        assert (entry["server"], entry["client"], entry["together"]) == (CHANGES, CHANGES, 2 * CHANGES)
        assert not (rig.folder / "export/registry.lock").exists()


def test_home_when_two_boxes_share_it_then_each_sends_to_the_other_and_doctor_finds_no_fault(rig: Rig) -> None:
    """One folder can serve every host that shares it; what is sent is a line at rest, and needs no broker."""
    with mounted(rig, "vers=4.2") as (server, client):
        server.daemon()
        server.join("api")
        client.join("shop")  # it has no daemon
        assert client.send("api-server", "over there") == "filed -> @api-server"
        assert server.send("shop-client", "and back") == "filed -> @shop-client"
        for box, words in ((server, "over there"), (client, "and back")):
            assert words in box.run("sot-tui", "poll")[1]
            told = box.run("sot-tui", "doctor")[1]
            assert f"nfs4, {source(rig)} mounted on {box.comm}" in told
            assert "this box proves deaths here" in told
            assert "FAULT" not in told


def test_mount_when_its_locks_are_local_then_it_is_recognised_and_said(rig: Rig) -> None:
    """NFSv3 with `nolock` is what the kernel lists as `local_lock=all`."""
    with mounted(rig, "vers=3,nolock") as (server, _):
        assert "local_lock=all" in options(server)
        server.daemon()
        machine = (server.own / "machine-id").read_text(encoding="ascii").strip()
        record = server.path(server.comm / "inbox-lock-manager").read_text(encoding="utf-8")
        assert record == f"none@{machine}\n{machine}\n"
        assert "its locks exclude no other box (local_lock=all)" in server.run("sot-tui", "doctor")[1]


def test_mount_when_local_locks_were_asked_of_version_4_then_what_the_kernel_made_of_it_counts(rig: Rig) -> None:
    """It drops the option: the locks of NFSv4 are always the server's, so both boxes append."""
    with mounted(rig, "vers=4.2,local_lock=all") as (server, _):
        local = "local_lock=all" in options(server)
        server.daemon()
        record = server.path(server.comm / "inbox-lock-manager").read_text(encoding="utf-8").splitlines()[0]
        assert record.startswith("none@") if local else record == f"nfs4 {source(rig)}"
