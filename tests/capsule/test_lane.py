"""The lane: who may speak, what is answered, and that no viewer, however it behaves, costs the agent anything."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.engine.rows import lane_server, lane_wire
from sot_tui.engine.rows.lane import Lane, LaneForeign, LaneGone
from sot_tui.engine.rows.values import Key, Mouse
from tests.capsule.process import Wire, alive, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.capsule.process import CapsuleRow

pytestmark = pytest.mark.e2e

NOBODY = 65534


def shell(row: CapsuleRow) -> Wire:
    """Return a lane to an agent that echoes its lines."""
    wire = row.up("sh", "-c", "stty -echo; echo up; exec cat")
    wire.shows("up")
    return wire


# -- who may speak, and of what ----------------------------------------------------------------------------------------


def test_hello_when_the_version_is_another_then_it_is_told_and_the_status_is_still_answered(row: CapsuleRow) -> None:
    shell(row)
    wire = row.wire(greet=False)
    for version in (2, 0, "1", None, 1.5):
        said = wire.ask("hello", lane=version)
        assert (said["code"], said["lane"]) == ("lane_version", 1)
    assert wire.ask("snapshot", since=-1)["code"] == "hello_first"
    assert wire.ask("type", data_b64="")["code"] == "hello_first"
    assert wire.status()["lane"] == 1


def test_request_when_it_is_unknown_then_it_is_refused_and_the_lane_goes_on(row: CapsuleRow) -> None:
    wire = shell(row)
    assert wire.ask("dance")["code"] == "unknown_op"
    assert wire.ask("snapshot", since="x")["code"] == "bad_request"
    assert wire.ask("history", start=-1, count=1)["code"] == "bad_request"
    assert wire.ask("end", reason=["x"])["code"] == "bad_request"
    assert wire.status()["phase"] == "ready"


@pytest.mark.parametrize(
    "line",
    [
        b"\n", b"{}\n", b"null\n", b'{"id":1}\n', b'{"id":"1","op":"status"}\n', b'{"id":-1,"op":"status"}\n',
        b'{"id":true,"op":"status"}\n', b'{"id":1,"op":["status"]}\n', b'{"id":1,"id":2,"op":"status"}\n',
        b"\xff\xfe\n", b"\xef\xbb\xbf{}\n", b"[" * 5000 + b"\n", b'{"id":1e999,"op":"status"}\n', b"\0\n",
        b"x" * (lane_wire.LINE_LIMIT + 2), b"x" * (lane_wire.LINE_LIMIT + 2) + b"\n",
    ],
    ids=lambda line: repr(line[:24]),
)  # fmt: skip
def test_line_when_it_is_no_request_then_its_viewer_is_dropped_alone(row: CapsuleRow, line: bytes) -> None:
    wire = shell(row)
    other = row.wire()
    with contextlib.suppress(ConnectionError):
        other.socket.sendall(line)
    with contextlib.suppress(ConnectionError):
        assert other.next() is None
    assert wire.status()["phase"] == "ready"


def test_viewers_when_they_send_anything_at_all_then_the_agent_never_notices(row: CapsuleRow) -> None:
    """Hostile bytes: cut, mixed, huge, binary, half requests, a connection that is gone before it is answered."""
    wire = shell(row)
    mixer = random.Random(20)
    whole = lane_wire.line({"id": 1, "op": "hello", "lane": 1})
    pieces = [
        whole, whole[:-3], b"\n", b"{", b'"', b"\0\xff", lane_wire.line({"id": 2, "op": "snapshot"}),
        lane_wire.line({"id": 3, "op": "resize", "cols": 10**9}), lane_wire.line({"id": 4, "op": "history"}),
        b'{"id":5,"op":"keys","keys":[["a",""]' + b',["a",""]' * 3 + b"]}\n", b"x" * 70_000,
    ]  # fmt: skip
    for _ in range(300):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(row.lane)
        with contextlib.suppress(ConnectionError):
            for _ in range(mixer.randrange(5)):
                piece = mixer.choice([*pieces, mixer.randbytes(mixer.randrange(200))])
                connection.sendall(piece[: mixer.randrange(len(piece) + 1)] if mixer.random() < 0.3 else piece)
        connection.close()
    assert wire.status()["phase"] == "ready"
    wire.type("still here\n")
    wire.shows("still here")
    assert until(lambda: descriptors(row.pids[0]) < 20, "no connection is left over")


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def as_nobody(work: Callable[[], bytes]) -> bytes:
    """Run something as another account, in a process of its own; return what it says."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        said = b"it failed"
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            said = work()
        except OSError as error:
            said = str(error.errno).encode()
        finally:
            os.write(writer, said)
            os._exit(0)
    os.close(writer)
    said = os.read(reader, 4096)
    os.close(reader)
    os.waitpid(child, 0)
    return said


def spoken(path: str) -> bytes:
    """Say hello at a path; return what comes back."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        connection.connect(path)
        with contextlib.suppress(BrokenPipeError):
            connection.sendall(lane_wire.line({"id": 1, "op": "status"}))
        with contextlib.suppress(ConnectionResetError):
            return b"said: " + connection.recv(4096)
        return b"said: "


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")
def test_account_when_it_is_another_then_it_cannot_connect_nor_read_or_write_anything(row: CapsuleRow) -> None:
    shell(row)
    assert as_nobody(lambda: spoken(row.lane)) == b"13"
    run = row.record()
    assert run is not None
    for name in ("drawer.voyage", "supervisor.lock", f"voyages/{run.run}/run.cast", f"voyages/{run.run}/run.json"):
        path = row.folder / name
        assert as_nobody(path.read_bytes) == b"13", name


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")
def test_account_when_it_is_another_and_the_socket_lies_open_then_it_is_dropped_unheard(
    row: CapsuleRow, comm_home: Path
) -> None:
    """Should a mode ever be wrong, the kernel still says who is there (daemon wire 2.1)."""
    wire = shell(row)
    for folder in (comm_home.parent, *list(row.folder.parents)[:2], row.folder):
        folder.chmod(0o755)
    os.chmod(row.lane, 0o777)
    assert as_nobody(lambda: spoken(row.lane)) == b"said: "
    assert spoken(row.lane).startswith(b'said: {"id":1,"ok":true')
    assert wire.status()["phase"] == "ready"


# -- many viewers, and bad ones ----------------------------------------------------------------------------------------


def test_viewers_when_ten_watch_then_each_is_told_once_and_sees_the_same(row: CapsuleRow) -> None:
    typist = shell(row)
    viewers = [row.wire() for _ in range(10)]
    for viewer in viewers:
        viewer.ask("watch")
        viewer.text()
    typist.type("hello, all of you\n")
    for viewer in viewers:
        assert viewer.next()["event"] == "changed"  # type: ignore[index]
        viewer.shows("hello, all of you")
    screens = {json.dumps(viewer.ask("snapshot", since=-1)["rows"]) for viewer in viewers}
    assert len(screens) == 1


def test_viewer_when_it_does_not_ask_again_then_it_is_told_no_more(row: CapsuleRow) -> None:
    """Change notices coalesce: at most one until the reader asks again, so a slow reader costs nothing."""
    typist = shell(row)
    viewer = row.wire()
    viewer.ask("watch")
    viewer.text()
    for number in range(50):
        typist.type(f"line {number}\n")
    typist.shows("line 49")
    viewer.shows("line 49")
    told = [event for event in viewer.events if event["event"] == "changed"]
    assert 1 <= len(told) <= 3
    viewer.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        viewer.next()


def test_viewers_when_there_are_too_many_then_the_next_is_dropped_and_the_others_go_on(row: CapsuleRow) -> None:
    wire = shell(row)
    for _ in range(lane_server.VIEWERS_LIMIT - 1):
        row.wire()
    extra = Wire(row.lane)
    row.wires.append(extra)
    with contextlib.suppress(ConnectionError):
        assert extra.next() is None
    row.wires.pop(1).close()
    until(lambda: is_taken(row), "there is room again")
    assert wire.status()["phase"] == "ready"


def is_taken(row: CapsuleRow) -> bool:
    """Tell whether one more viewer is let in."""
    try:
        return bool(row.wire().status()["phase"] == "ready")
    except (AssertionError, ConnectionError):
        return False


def test_viewer_when_it_does_not_read_then_it_is_dropped_and_never_makes_anyone_wait(row: CapsuleRow) -> None:
    wire = row.up("sh", "-c", r"stty -echo; printf '\033[41m%039999d\033[0m\n' 1; exec cat", size=(400, 100))
    until(lambda: wire.status()["lag"] == 0 and wire.status()["revision"] > 1, "it has drawn")
    bad = row.wire()
    bad.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    requests = b"".join(lane_wire.line({"id": n, "op": "snapshot", "since": -1}) for n in range(100, 2000))
    bad.socket.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        bad.socket.sendall(requests)
    before = resident(row.pids[0])
    for number in range(20):
        wire.type(f"{number} is typed\n")
        wire.shows(f"{number} is typed", 2)
    assert resident(row.pids[0]) - before < 4096
    bad.socket.settimeout(lane_server.STALL_SECS + 10)
    read = 0
    with contextlib.suppress(ConnectionError):
        until(lambda: descriptors(row.pids[0]) < 13, "it was dropped", lane_server.STALL_SECS + 10)
        while data := bad.socket.recv(65536):
            read += len(data)
    assert read < 2_000_000
    assert wire.status()["phase"] == "ready"


def resident(pid: int) -> int:
    """Return a process's resident KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no such process")


def test_viewer_when_it_vanishes_amid_everything_then_nothing_is_left_of_it(row: CapsuleRow) -> None:
    wire = shell(row)
    before = descriptors(row.pids[0])
    for _ in range(200):
        viewer = Wire(row.lane)
        viewer.post("hello", lane=1)
        viewer.post("watch")
        viewer.post("snapshot")
        viewer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        viewer.close()
    until(lambda: descriptors(row.pids[0]) <= before, "their connections are closed")
    assert wire.status()["phase"] == "ready"


# -- the engine's client -----------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def lane_to(row: CapsuleRow) -> AsyncIterator[Lane]:
    lane = await Lane.open(row.lane)
    try:
        yield lane
    finally:
        await lane.close()


def shown(snapshot: Any) -> str:
    return "\n".join("".join(cell.data for cell in line).rstrip() for line in snapshot.screen.rows).rstrip("\n")


async def see(lane: Lane, words: str) -> Any:
    """Wait until a row shows some words, by its notices of changes alone."""
    changed = asyncio.Event()
    lane.on_changed(changed.set)
    async with asyncio.timeout(20):
        while words not in shown(snapshot := await lane.snapshot()):
            await changed.wait()
            changed.clear()
    return snapshot


async def test_client_when_the_agent_draws_then_its_screen_is_the_capsules_whole_one(row: CapsuleRow) -> None:
    """The client merges changed rows; what it has then equals what a viewer who asks for everything is sent."""
    wire = row.up(sys.executable, "-I", "-c", DRAWER, size=(60, 12))
    async with lane_to(row) as lane:
        snapshot = await lane.snapshot()
        for number in range(40):
            await lane.keys([Key("enter")])
            snapshot = await see(lane, f"step {number + 1}.")
            whole = wire.ask("snapshot", since=-1)
            if whole["revision"] == snapshot.screen.revision:
                rows = lane_wire.rows_of(whole, whole["cols"])
                assert snapshot.screen.rows == tuple(rows[place] for place in range(whole["lines"]))
            if number % 10 == 5:
                assert await lane.resize(50 + number, 10 + number % 7, "the test") == ""
        assert any(cell.dim for line in snapshot.screen.rows for cell in line)


DRAWER = r"""
import random
mixer = random.Random(4)
step = 0
while True:
    row, column = mixer.randrange(1, 9), mixer.randrange(1, 40)
    print(f"\x1b[{row};{column}H\x1b[2;3{mixer.randrange(8)}m漢字 ❤️ e\u0301 x\x1b[0m", end="")
    print(f"\x1b[9;1Hstep {step}.", end="", flush=True)
    input()
    step += 1
"""


async def test_client_when_it_types_then_it_is_told_what_was_taken(row: CapsuleRow) -> None:
    shell(row)
    async with lane_to(row) as lane:
        assert await lane.type(b"typed\n") == ""
        await see(lane, "typed")
        assert await lane.paste("pasted\n") == ""
        await see(lane, "pasted")
        assert await lane.mouse(Mouse("press", 0, 0)) == ""
        assert (await lane.keys([Key("\x1b")])) == "there is no such key"
        assert "more than 65536 bytes" in await lane.type(b"x" * 65537)
        status = await lane.status()
        assert (status.pid, status.phase, status.row) == (row.pids[0], "ready", str(row.folder))
        history = await lane.history(0, 10)
        assert history == (0, 0, 0, (), ())


async def test_client_when_rows_have_gone_up_then_history_brings_them(row: CapsuleRow) -> None:
    row.up("sh", "-c", "seq 1 1200; exec cat")
    async with lane_to(row) as lane:
        await see(lane, "1200")
        history = await lane.history(100, 9999)
        assert (history.first, history.start, len(history.rows)) == (0, 100, lane_wire.HISTORY_ROWS)
        assert "".join(cell.data for cell in history.rows[0]).rstrip() == "101"


async def test_client_when_the_terminal_wraps_a_line_then_its_rows_are_told_on_the_screen_and_in_history(
    row: CapsuleRow,
) -> None:
    row.up("sh", "-c", "stty -echo; seq -s ' ' 1 500; seq 1 40; seq -s ' ' 1 50; exec cat")
    async with lane_to(row) as lane:
        await see(lane, "49 50")
        history = await lane.history(0, 100)
        columns = len(history.rows[0])
        long = history.wrapped.index(0) + 1
        written = "".join(cell.data for place in range(long) for cell in history.rows[place]).rstrip()
        assert written == " ".join(str(number) for number in range(1, 501))
        assert set(history.wrapped[: long - 1]) == {columns}
        assert not any(history.wrapped[long:])
        screen = (await lane.snapshot()).screen
        assert [place for place, cells in enumerate(screen.wrapped) if cells] == [
            place for place, cells in enumerate(screen.rows) if "".join(cell.data for cell in cells).startswith("1 2 3")
        ]


async def test_client_when_the_run_ends_then_it_is_told(row: CapsuleRow) -> None:
    shell(row)
    async with lane_to(row) as lane:
        poked = asyncio.Event()
        lane.on_closed(poked.set)
        assert await lane.end("enough") == ""
        async with asyncio.timeout(20):
            await lane.closed.wait()
        assert lane.has_ended
        assert poked.is_set()
        with pytest.raises(LaneGone):
            await lane.status()


async def test_client_when_the_capsule_is_killed_then_it_is_gone_and_has_not_ended(row: CapsuleRow) -> None:
    shell(row)
    async with lane_to(row) as lane:
        os.kill(row.pids[0], 9)
        async with asyncio.timeout(20):
            await lane.closed.wait()
        assert not lane.has_ended
        with pytest.raises(LaneGone):
            await lane.snapshot()
    until(lambda: not alive(row.pids[0]), "it is gone")
    with pytest.raises(LaneGone):
        await Lane.open(row.lane)


@contextlib.asynccontextmanager
async def impostor(path: str, *answers: bytes) -> AsyncIterator[None]:
    """Listen as a capsule would, and answer each line with the next of these; then with silence."""

    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        for answer in answers:
            await reader.readline()
            writer.write(answer)

    server = await asyncio.start_unix_server(serve, path)
    async with server:
        yield
        for writer in writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def test_client_when_the_version_is_another_then_it_is_foreign(comm_home: Path) -> None:
    path = str(comm_home.parent / "lane.sock")
    answer = lane_wire.line({"id": 1, "error": "another", "code": "lane_version", "lane": 7})
    async with impostor(path, answer):
        with pytest.raises(LaneForeign) as caught:
            await Lane.open(path)
        assert caught.value.version == 7


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no lane\n",
        b"\xff\n",
        b'{"id":1}\n{"id":1}\n[]\n',
        b"x" * (lane_wire.LINE_LIMIT + 10),
    ],
    ids=lambda answer: repr(answer[:20]),
)
async def test_client_when_no_capsule_answers_then_it_is_gone_within_its_time(comm_home: Path, answer: bytes) -> None:
    path = str(comm_home.parent / "lane.sock")
    async with impostor(path, answer):
        with pytest.raises(LaneGone):
            await opened_and_asked(path)


async def opened_and_asked(path: str) -> None:
    """Open a lane with little patience, and ask how it stands."""
    lane = await Lane.open(path, 0.3)
    try:
        await lane.status()
    finally:
        await lane.close()


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"revision": 1, "cols": 2, "lines": 1, "cursor": [0, 0], "looks": [], "rows": {}},
        {"revision": 1, "cols": "2", "lines": 1},
        {"revision": 1, "cols": 2, "lines": 10**9},
    ],
)
async def test_client_when_a_screen_cannot_be_read_then_the_lane_is_gone(
    comm_home: Path, said: dict[str, object]
) -> None:
    path = str(comm_home.parent / "lane.sock")
    async with impostor(path, lane_wire.line({"id": 1, "ok": True}), lane_wire.line({"id": 2, "ok": True, **said})):
        lane = await Lane.open(path, 2)
        with pytest.raises(LaneGone):
            await lane.snapshot()
        assert lane.closed.is_set()
        await lane.close()
