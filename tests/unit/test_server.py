"""The control socket's frames, connections and bounds, spoken to in hand-written bytes over a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.errors import Refused
from sot_tui.comm.home import Home
from sot_tui.engine import connection, listener, server
from sot_tui.engine.rows.row import Phase
from tests.caller import DEADLINE_S, Caller, burst, hello, request
from tests.daemons import Daemon, daemon
from tests.mailbox import mail_home
from tests.seams import MountedDisk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

MIB = 1 << 20


@pytest.fixture
def home(comm_home: Path) -> Home:
    found = mail_home(comm_home)
    (comm_home / "registry.json").write_text('{"protocol_version":1,"agents":{}}')
    return found


@pytest.fixture
async def one(home: Home) -> AsyncIterator[Daemon]:
    async with daemon(home) as found:
        yield found


async def until(fact: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not fact():  # noqa: ASYNC110  (nobody tells)
            await asyncio.sleep(0.005)


# -- frames -----------------------------------------------------------------------------------------------------------


async def test_burst_when_hello_and_request_have_one_id_then_both_are_answered_compact_and_in_order(
    one: Daemon,
) -> None:
    async with Caller(one.path) as caller:
        caller.say(hello() + request("ping", {}))
        first, second = await caller.line(), await caller.line()
    assert first.startswith(b'{"v":1,"id":1,"kind":"res","op":"hello","rev":0,"payload":{"session_id":"')
    assert second == b'{"v":1,"id":1,"kind":"res","op":"ping","payload":{"ok":true}}\n'
    assert json.loads(first)["payload"] == {
        "session_id": json.loads(first)["payload"]["session_id"],
        "revision": 0,
        "snapshot_pending": False,
        "host": "atlas",
        "project_root": os.environ["HOME"],
        "label": "sot",
        "clients_connected": 1,
        "protocol": 3,
        "app_version": "9.9",
        "proxy": False,
        "comm_home": one.home.path,
    }


async def test_frames_when_they_come_byte_by_byte_then_each_is_answered(one: Daemon) -> None:
    async with Caller(one.path) as caller:
        for byte in hello() + request("ping", {}, 3):
            caller.say(bytes([byte]))
            await caller.writer.drain()
        assert (await caller.frame("ping"))["id"] == 3


async def test_ids_when_the_widest_number_then_it_is_echoed(one: Daemon) -> None:
    async with Caller(one.path) as caller:
        await caller.greet()
        assert await caller.ask("ping", {}, (1 << 64) - 1) == {"ok": True}


async def test_answers_when_one_is_slow_then_the_others_do_not_wait(one: Daemon) -> None:
    row = one.rows.add("web")
    one.rows.hold = asyncio.Event()
    async with Caller(one.path) as caller:
        await caller.greet()
        caller.say(request("pty.input", {"workspace_id": row.id, "data_b64": "aGk="}, 2))
        assert await caller.ask("ping", {}, 3) == {"ok": True}
        one.rows.hold.set()
        assert (await caller.frame("pty.input"))["id"] == 2


async def test_blob_when_a_frame_has_one_then_its_bytes_are_skipped(one: Daemon) -> None:
    async with Caller(one.path) as caller:
        await caller.greet()
        caller.say(request("ping", {"blob": {"len": 300_000}}, 2) + b"\n{" * 150_000 + request("ping", {}, 3))
        assert [(await caller.frame("ping"))["id"] for _ in range(2)] == [2, 3]


async def test_line_when_it_is_a_mebibyte_then_served_and_one_byte_more_ends_the_connection(one: Daemon) -> None:
    room = MIB - len(request("ping", {"text": ""}, 2)) + 1
    async with Caller(one.path) as caller:
        await caller.greet()
        assert await caller.ask("ping", {"text": "x" * room}, 2) == {"ok": True}
        caller.say(request("ping", {"text": "x" * (room + 1)}, 2))
        assert await caller.ends() == b""


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"v":2,"id":2,"kind":"req","op":"ping","payload":{}}',
        b'{"v":1,"id":-2,"kind":"req","op":"ping","payload":{}}',
        b'{"v":1,"id":true,"kind":"req","op":"ping","payload":{}}',
        b'{"v":1,"id":"2","kind":"req","op":"ping","payload":{}}',
        b'{"v":1,"kind":"req","op":"ping","payload":{}}',
        b'{"v":1,"id":2,"kind":"ask","op":"ping","payload":{}}',
        b'{"v":1,"id":2,"kind":"req","op":"ping"}',
        b'{"v":1,"id":2,"kind":"req","op":"ping","payload":NaN}',
        b'{"v":1,"id":2,"kind":"req","op":"ping","payload":' + b"[" * 200 + b"]" * 200 + b"}",
    ],
)
async def test_line_when_it_is_no_envelope_then_the_connection_ends_and_the_daemon_does_not(
    one: Daemon, line: bytes
) -> None:
    async with Caller(one.path) as caller:
        await caller.greet()
        caller.say(line + b"\n" + request("ping", {}))
        assert await caller.ends() == b""
    assert await burst(one.path, "ping", {}) == {"ok": True}


async def test_answer_when_it_is_too_large_then_a_refusal_in_its_place(one: Daemon) -> None:
    for number in range(6):
        one.rows.add(f"row{number}", task="x" * 200_000)
    answer = await burst(one.path, "workspace.list", {})
    size = int(answer["error"].split()[3])
    assert answer == {"error": f"frame envelope is {size} bytes; cap is 1048576", "code": "envelope_too_large"}
    assert size > MIB


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ([], "it is no object"),
        ({}, "missing field `label`"),
        ({"label": 1}, "`label` is not a text"),
        ({"label": "a", "project_root": "/a", "autostart_claude": 1}, "`autostart_claude` is not true or false"),
    ],
)
async def test_payload_when_it_does_not_parse_then_a_handler_error_and_the_connection_stays(
    one: Daemon, payload: object, words: str
) -> None:
    async with Caller(one.path) as caller:
        await caller.greet()
        answer = await caller.ask("workspace.create", payload)
        assert answer == {"error": f"workspace.create payload: {words}", "code": "handler_error"}
        assert await caller.ask("ping", {}) == {"ok": True}


async def test_op_when_unknown_then_its_name_and_no_code(one: Daemon) -> None:
    assert await burst(one.path, "workspace.reauth", {}) == {"error": "unknown op: workspace.reauth"}


async def test_frames_when_they_are_no_requests_then_they_are_passed_over(one: Daemon) -> None:
    async with Caller(one.path) as caller:
        await caller.greet()
        for kind in ("evt", "res"):
            caller.say(request("ping", {}, 2).replace(b'"kind":"req"', f'"kind":"{kind}"'.encode()))
        assert await caller.ask("ping", {}, 3) == {"ok": True}
        assert len(caller.lines) == 2


async def test_requests_when_many_at_once_then_every_one_is_answered_once(one: Daemon) -> None:
    many = 10 * connection.PENDING_LIMIT
    async with Caller(one.path) as caller:
        caller.say(hello() + b"".join(request("ping", {}, number) for number in range(many)))
        found = [(await caller.frame("ping"))["id"] for _ in range(many)]
    assert sorted(found) == list(range(many))


async def test_requests_when_too_many_are_under_way_then_the_next_one_waits_for_an_answer(one: Daemon) -> None:
    one.rows.hold = asyncio.Event()
    rows = [one.rows.add(f"r{number}") for number in range(connection.PENDING_LIMIT + 5)]
    async with Caller(one.path) as many, Caller(one.path) as other:
        await other.greet()
        asked = [request("pty.input", {"workspace_id": row.id, "data_b64": "aGk="}, 2) for row in rows]
        many.say(hello() + b"".join(asked))
        await until(lambda: len(one.rows.typed) == connection.PENDING_LIMIT)
        assert await other.ask("ping", {}) == {"ok": True}
        assert len(one.rows.typed) == connection.PENDING_LIMIT
        one.rows.hold.set()
        for _ in rows:
            await many.frame("pty.input")
    assert len(one.rows.typed) == len(rows)


async def test_client_when_it_has_said_all_it_has_to_say_then_its_answer_still_comes(one: Daemon) -> None:
    async with Caller(one.path) as caller:
        caller.say(hello() + request("version.query", {}))
        caller.writer.write_eof()
        assert (await caller.frame("version.query"))["payload"]["daemon"]["host"] == "atlas"
        assert await caller.ends() == b""


# -- connections ------------------------------------------------------------------------------------------------------


async def test_clients_when_two_hundred_ask_at_once_then_each_has_its_answer(one: Daemon) -> None:
    answers = await asyncio.gather(*(burst(one.path, "ping", {}) for _ in range(200)))
    assert answers == [{"ok": True}] * 200
    await until(lambda: not one.server.peers())


async def test_clients_when_there_are_too_many_then_one_more_is_closed_at_once(
    one: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CONNECTIONS_LIMIT", 2)
    async with Caller(one.path) as first, Caller(one.path) as second, Caller(one.path) as third:
        await first.greet()
        await second.greet()
        assert await third.ends() == b""
        async with Caller(one.path) as fourth:
            assert await fourth.ends() == b""
        assert await first.ask("ping", {}) == {"ok": True}
    assert one.log == [("there are 2 connections; one more was turned away", False)], "told once a minute"


async def test_clients_when_too_many_come_in_one_burst_then_no_more_are_let_in(
    one: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Docs, wire: 512 connections. They wait in the listener's queue, and are accepted one after another."""
    monkeypatch.setattr(server, "CONNECTIONS_LIMIT", 2)
    with ExitStack() as stack:
        knocking = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(6)]
        for each in knocking:
            each.connect(one.path)  # blocking: the loop accepts none of them meanwhile

        def shut() -> int:
            return sum(_is_shut(each) for each in knocking)

        await until(lambda: shut() >= 4)
        assert shut() == 4
        async with Caller(one.path) as late:
            assert await late.ends() == b""
    await until(lambda: not one.server._kept_by)
    async with Caller(one.path) as late:
        await late.greet()


def _is_shut(one: socket.socket) -> bool:
    try:
        return one.recv(1, socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False


async def test_reader_when_it_takes_no_event_then_it_is_dropped_and_nobody_else_waits(one: Daemon) -> None:
    text = "x" * 500_000
    async with Caller(one.path) as slow, Caller(one.path) as other:
        await slow.greet(role="fe", name="fe@desk")
        slow.reader._transport.pause_reading()  # type: ignore[attr-defined]  # its kernel buffer fills, and stays full
        await other.greet()
        for _ in range(2 * connection.EVENTS_BYTES // len(text)):
            assert (await other.ask("agent.send", {"from": "a", "to": "", "text": text}))["ok"] is True
        await until(lambda: len(one.server.peers()) == 1)
        assert ("the connection of fe@desk was dropped: it does not take its events", False) in one.log
        assert await other.ask("ping", {}) == {"ok": True}


async def test_reader_when_it_takes_no_answer_in_its_time_then_it_is_dropped(
    one: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "WRITE_SECS", 0.1)
    one.rows.add("web", task="x" * 900_000)
    async with Caller(one.path) as slow:
        await slow.greet(role="fe", name="fe@desk")
        slow.reader._transport.pause_reading()  # type: ignore[attr-defined]  # as above
        for number in range(4):
            slow.say(request("workspace.list", {}, number))
        await until(lambda: not one.server.peers())
    assert one.log == [("the connection of fe@desk was dropped: it did not take a frame within 0.1 s", False)]


async def test_frontend_when_it_pings_and_falls_silent_then_it_is_gone_and_one_that_never_pinged_stays(
    one: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SILENCE_SECS", 0.05)
    async with Caller(one.path) as pings, Caller(one.path) as quiet, Caller(one.path) as script:
        await quiet.greet(role="fe", name="fe@quiet")
        await script.greet()
        await script.ask("ping", {})
        await pings.greet(role="fe", name="fe@pings")
        await pings.ask("ping", {})
        assert await pings.ends() == b""
        said = await script.ask("version.query", {})
        assert [client["name"] for client in said["clients"]] == ["fe@quiet", ""]
        assert [gone["identity"] for gone in said["disconnected"]] == ["fe@pings"]


async def test_connection_when_it_ends_then_a_frontend_is_remembered_with_the_reason_and_a_script_is_not(
    one: Daemon,
) -> None:
    async with Caller(one.path) as front, Caller(one.path) as script:
        await front.greet(role="fe", name="fe@desk")
        await script.greet(name="web")
        for caller in (front, script):
            caller.say(request("ping", {})[:-5])
            caller.writer.write_eof()
            assert await caller.ends() == b""
    said = await burst(one.path, "version.query", {})
    assert [gone["identity"] for gone in said["disconnected"]] == ["fe@desk"]
    assert one.log == [("the connection of fe@desk was dropped: it ended within a frame", False)]


async def test_hello_when_said_twice_then_the_connection_ends_unanswered(one: Daemon) -> None:
    async with Caller(one.path) as caller:
        await caller.greet()
        caller.say(hello())
        assert await caller.ends() == b""


async def test_first_frame_when_it_does_not_come_then_closed_with_nothing_sent(
    one: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HELLO_SECS", 0.05)
    async with Caller(one.path) as caller:
        caller.say(hello()[:-1])
        assert await caller.ends() == b""


async def test_handoff_when_it_asks_for_what_is_not_served_then_answered_and_closed(one: Daemon) -> None:
    for op, answer in (
        ("lane.connect", {"error": "unknown op: lane.connect"}),
        ("ping", {"error": "a handoff connection cannot ask for ping", "code": "bad_request"}),
    ):
        async with Caller(one.path) as caller:
            await caller.greet(role="handoff")
            assert await caller.ask(op, {}) == answer
            assert await caller.ends() == b""


# -- events -----------------------------------------------------------------------------------------------------------


async def test_events_when_a_row_changes_then_every_connection_is_told(one: Daemon) -> None:
    async with Caller(one.path) as first, Caller(one.path) as second:
        await first.greet()
        await second.greet(role="agent")
        row = one.rows.add("web")
        one.rows.say("created", row)
        one.rows.say("run_changed", row)
        one.rows.say("destroyed", row)
        for caller in (first, second):
            for action in ("created", "destroyed"):
                assert await caller.event("workspace.changed") == {
                    "action": action,
                    "slug": "web",
                    "workspace_id": "ws-web-1",
                }
        assert first.lines[1].startswith(b'{"v":1,"id":0,"kind":"evt","op":"workspace.changed","rev":1,"payload":{')


async def test_resume_when_the_ring_holds_what_was_missed_then_told_again_and_nothing_twice(one: Daemon) -> None:
    async with Caller(one.path) as first:
        session = (await first.greet())["payload"]["session_id"]
    for slug in "abc":
        one.rows.say("created", one.rows.add(slug))
    async with Caller(one.path) as again:
        answer = await again.greet(session_id=session, last_seen_revision=1)
        assert (answer["rev"], answer["payload"]["snapshot_pending"]) == (3, False)
        assert [(await again.event("workspace.changed"))["slug"] for _ in range(2)] == ["b", "c"]
        assert await again.ask("ping", {}) == {"ok": True}


@pytest.mark.parametrize(("session", "seen"), [("another", 0), ("", 9), (None, 0)])
async def test_resume_when_it_cannot_be_told_again_then_a_snapshot_is_due(
    one: Daemon, session: str | None, seen: int
) -> None:
    async with Caller(one.path) as first:
        known = (await first.greet())["payload"]["session_id"]
    for _ in range(server.RING + 1):
        one.rows.say("created", one.rows.add("a"))
    async with Caller(one.path) as again:
        session = known if session is None else session
        answer = await again.greet(session_id=session or None, last_seen_revision=seen)
        assert answer["payload"]["snapshot_pending"] is bool(session)
        assert await again.ask("ping", {}) == {"ok": True}
        assert len(again.lines) == 2


class Counting(MountedDisk):
    """A disk that counts the looks at the registry."""

    looks = 0

    def read_up_to(self, path: str, limit: int) -> bytes:
        found = super().read_up_to(path, limit)
        self.looks += path.endswith("registry.json")
        return found


async def test_registry_when_what_others_show_changes_then_one_event_and_a_stamp_is_none(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Daemon wire 2.3: "projects state, summary, status_at and host of every agent (not last_seen)"."""
    monkeypatch.setattr(server, "POLL_SECS", 0.01)
    disk = Counting()
    home = mail_home(comm_home, disk=disk)
    file = Path(home.registry)

    async def put(text: str) -> None:
        draft = file.with_suffix(".tmp")
        draft.write_text(text)
        draft.rename(file)
        seen = disk.looks
        await until(lambda: disk.looks >= seen + 2)

    def entry(**said: object) -> str:
        return json.dumps({"agents": {"h": {"host": "atlas", **said}}})

    file.write_text(entry(state="idle", last_seen="a"))
    async with daemon(home) as one, Caller(one.path) as caller:
        await caller.greet()
        for text, told in (
            (entry(state="idle", last_seen="b"), 0),
            ("no registry", 0),
            (entry(state="idle", last_seen="c"), 0),
            (entry(state="working", last_seen="c"), 1),
            (entry(state="working", summary="at it", last_seen="c"), 1),
        ):
            await put(text)
            before = len(caller.lines)
            assert await caller.ask("ping", {}) == {"ok": True}
            events = [line for line in caller.lines[before:] if b'"kind":"evt"' in line]
            assert len(events) == told, text
            for line in events:
                said = json.loads(line)["payload"]
                assert said == {"action": "agent_state", "slug": "", "workspace_id": ""}


async def test_registry_when_nobody_is_connected_then_is_not_looked_at_and_who_comes_is_told_once(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle daemon costs nothing: its looks rest with the last connection and begin anew with the next."""
    monkeypatch.setattr(server, "POLL_SECS", 0.01)
    disk = Counting()
    home = mail_home(comm_home, disk=disk)
    file = Path(home.registry)
    file.write_text('{"agents": {"h": {"host": "atlas", "state": "idle"}}}')
    async with daemon(home) as one:
        async with Caller(one.path) as caller:
            await caller.greet()
            seen = disk.looks
            await until(lambda: disk.looks >= seen + 2)
        await until(lambda: not one.server.peers())
        await asyncio.sleep(0.1)  # what was under way is over
        seen = disk.looks
        file.write_text('{"agents": {"h": {"host": "atlas", "state": "working"}}}')
        await asyncio.sleep(0.3)
        assert disk.looks == seen
        async with Caller(one.path) as caller:
            await caller.greet()
            assert (await caller.event("workspace.changed"))["action"] == "agent_state"
            seen = disk.looks
            await until(lambda: disk.looks >= seen + 2)
            assert len([line for line in caller.lines if b'"kind":"evt"' in line]) == 1


# -- the socket -------------------------------------------------------------------------------------------------------


async def test_socket_when_served_then_it_and_its_folders_are_this_account_s_alone(one: Daemon) -> None:
    path = Path(one.path)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, path.parent.parent)] == [
        0o600,
        0o700,
        0o700,
    ]


class Late(MountedDisk):
    """A disk on which a mode is never changed afterwards, as when another process looks first."""

    def chmod(self, path: str, mode: int) -> None:
        del path, mode


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a socket has its mode from its folder alone")
def test_socket_when_the_umask_hides_nothing_then_closed_from_its_first_moment(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir(mode=0o700)
    was = os.umask(0)
    try:
        made = listener.listen(Home(str(tmp_path), Late()), str(folder / "s"))
    finally:
        os.umask(was)
    assert stat.S_IMODE(os.stat(made.path).st_mode) == 0o600
    listener.close(Home(str(tmp_path)), made)


async def test_socket_when_a_daemon_lives_on_it_then_never_taken(one: Daemon, home: Home) -> None:
    with pytest.raises(Refused) as refused:
        async with daemon(home):
            raise AssertionError
    assert refused.value.sentence == (
        f"another daemon is already listening on {one.path}; refusing to start on its socket (stop that daemon first, "
        "or pass a different --socket)"
    )
    assert await burst(one.path, "ping", {}) == {"ok": True}


async def test_socket_when_its_daemon_s_queue_is_full_then_it_counts_as_live(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir(mode=0o700)
    path = str(folder / "s")
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
        busy.bind(path)
        busy.listen(0)
        waiting.connect(path)
        assert listener.look(home, path) is listener.Found.LIVE
    assert listener.look(home, path) is listener.Found.STALE


async def test_socket_when_its_daemon_is_dead_then_it_is_made_anew(home: Home, comm_home: Path) -> None:
    folder = comm_home.parent / "run" / "sot" / "sessions"
    folder.mkdir(mode=0o700, parents=True)
    folder.parent.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "sot.sock"))
    async with daemon(home) as one:
        assert await burst(one.path, "ping", {}) == {"ok": True}
    assert not (folder / "sot.sock").exists()


@pytest.mark.parametrize("what", ["open folder", "link", "file at the socket's place"])
async def test_socket_when_its_place_is_not_this_account_s_alone_then_nothing_starts(
    home: Home, comm_home: Path, what: str
) -> None:
    sot = comm_home.parent / "run" / "sot"
    (comm_home.parent / "elsewhere").mkdir(mode=0o700)
    if what == "link":
        sot.symlink_to(comm_home.parent / "elsewhere")
    else:
        sot.mkdir(mode=0o755 if what == "open folder" else 0o700)
    if what.startswith("file"):
        (sot / "sessions").mkdir(mode=0o700)
        (sot / "sessions" / "sot.sock").write_text("mine")
    with pytest.raises(Refused):
        async with daemon(home):
            raise AssertionError
    if what.startswith("file"):
        assert (sot / "sessions" / "sot.sock").read_text() == "mine"


async def test_socket_when_its_file_is_removed_then_the_daemon_says_so_and_takes_no_other_one_s(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PATH_SECS", 0.01)
    async with daemon(home) as one:
        os.unlink(one.path)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(one.path)
            await until(lambda: not one.server.ready.is_set())
            assert os.path.exists(one.path)


async def test_drain_when_a_request_is_under_way_then_it_is_answered_and_no_other_one_begins(one: Daemon) -> None:
    row = one.rows.add("web", phase=Phase.READY)
    one.rows.hold = asyncio.Event()
    async with Caller(one.path) as caller:
        await caller.greet()
        caller.say(request("pty.input", {"workspace_id": row.id, "data_b64": "aGk="}, 2))
        await until(lambda: one.rows.typed)
        draining = asyncio.create_task(one.server.drain())
        await until(lambda: not os.path.exists(one.path))
        caller.say(request("ping", {}, 3))
        one.rows.hold.set()
        await draining
        came = await caller.ends()
    assert b'"id":2,"kind":"res","op":"pty.input","payload":{"ok":true' in came
    assert b'"id":3' not in came


async def test_drain_when_a_request_never_ends_then_it_is_not_waited_for(one: Daemon) -> None:
    row = one.rows.add("web", phase=Phase.READY)
    one.rows.hold = asyncio.Event()
    async with Caller(one.path) as caller:
        await caller.greet()
        caller.say(request("pty.input", {"workspace_id": row.id, "data_b64": "aGk="}, 2))
        await until(lambda: one.rows.typed)
        await one.server.drain(0.05)
        assert await caller.ends() == b""
