"""A box's link to its hub: the real duty and a real process in the place of ssh; the hub is the test.

Contract, Delivery: "A linked daemon answers not_here unless its own folder lists the handle under its own box; only
then does it file the offer by the rules of route 1, and it never offers or forwards it again."
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from sot_tui.comm import inbox_lock
from sot_tui.comm.inbox_lock import Grip, Held
from sot_tui.comm.links import LinkStanding
from sot_tui.engine import links
from sot_tui.engine.links import Link
from tests.caller import burst
from tests.contract.test_daemon_sentences import boxes, home_at, live
from tests.daemons import daemon
from tests.mailbox import Machine
from tests.seams import STALE_MOUNT, MountedDisk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sot_tui.comm.home import Home

DEADLINE_S = 10.0
HUB = """\
hub = "hub"
[host.hub]
daemon = true
[host.atlas]
daemon = true
frontend = true
"""
SSH = f"""#!{sys.executable} -I
import os, select, socket, subprocess, sys
with open(os.environ["SAID"], "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
child = subprocess.Popen(["sleep", "600"], stdout=2)
with open(os.environ["SAID"] + ".pids", "a") as file:
    file.write(f"{{os.getpid()}} {{child.pid}}\\n")
far = socket.socket(socket.AF_UNIX)
far.connect(os.environ["PEER"])
while True:
    for one in select.select([0, far], [], [])[0]:
        data = os.read(0, 65536) if one == 0 else far.recv(65536)
        if not data:
            child.kill()
            sys.exit(0)
        far.sendall(data) if one == 0 else os.write(1, data)
"""
"""What stands in the place of ssh: it carries bytes to the test's own socket, and has a child."""
WELCOME = {"session_id": "6f0c", "revision": 12, "host": "hub", "protocol": 3}
NOT_HERE = {"error": "no box knows that handle: far", "code": "not_here"}
MAIL = {"from": "web-hub", "to": "h", "text": "build is green", "broadcast": False, "forwarded": True}


class Hub:
    """The hub, as the link sees it: one connection after the other, and what the test says on each."""

    def __init__(self) -> None:
        self.connections: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        self.welcome: object = WELCOME
        self.greeting = b""
        self.writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self.path = f"{os.environ['XDG_RUNTIME_DIR']}/hub.sock"
        self.server = await asyncio.start_unix_server(self._came, self.path, limit=4 << 20)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        await self.connections.put((reader, writer))

    async def meet(self) -> dict[str, Any]:
        """Take the next connection, answer its hello, and return it."""
        async with asyncio.timeout(DEADLINE_S):
            self.reader, self.writer = await self.connections.get()
        hello = await self.frame()
        self.writer.write(self.greeting)
        if self.welcome is not None:
            self.say("res", "hello", self.welcome, 1)
        return hello

    def say(self, kind: str, op: str, payload: object, number: int) -> None:
        body = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        self.writer.write(f'{{"v":1,"id":{number},"kind":"{kind}","op":"{op}","payload":{body}}}\n'.encode())

    async def frame(self) -> dict[str, Any]:
        async with asyncio.timeout(DEADLINE_S):
            found: dict[str, Any] = json.loads(await self.reader.readline())
        return found

    async def answer(self) -> dict[str, Any]:
        """Return the next answer; the pings between are answered."""
        while (found := await self.frame())["kind"] == "req":
            self.say("res", found["op"], {"ok": True}, found["id"])
        return found

    async def offer(self, **more: object) -> Any:
        self.say("req", "comm.file", {**MAIL, **more}, 41)
        found = await self.answer()
        assert (found["id"], found["op"]) == (41, "comm.file")
        return found["payload"]


class Kept:
    """A link that is kept, and what it has told."""

    def __init__(self, home: Home, host: str = "atlas") -> None:
        self.log: list[tuple[str, bool]] = []
        self.faults: list[str] = []
        self.well = 0
        self.link = Link(
            home, dict(os.environ), host, lambda words, good: self.log.append((words, good)), self.faults.append
        )

    def count(self) -> None:
        self.well += 1

    async def until(self, fact: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not fact():  # noqa: ASYNC110  (of a duty that tells nobody)
                await asyncio.sleep(0.01)


@asynccontextmanager
async def kept(home: Home, host: str = "atlas") -> AsyncIterator[Kept]:
    found = Kept(home, host)
    task = asyncio.create_task(found.link.keep(found.count))
    try:
        yield found
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        found.link.close()


def put_in_the_place_of_ssh(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what a link starts be the script above, and a lost link be tried again soon."""
    folder.mkdir()
    (folder / "ssh").write_text(SSH)
    (folder / "ssh").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("SAID", str(folder / "said"))
    monkeypatch.setattr("sot_tui.comm.links.FIRST_PAUSE_SECS", 0.01)


@pytest.fixture
async def hub(comm_home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hub]:
    boxes(HUB)
    put_in_the_place_of_ssh(comm_home.parent / "bin", monkeypatch)
    async with Hub() as found:
        monkeypatch.setenv("PEER", found.path)
        yield found


def ssh_is(hub: Hub, script: str) -> None:
    del hub
    Path(os.environ["SAID"]).with_name("ssh").write_text(f"#!/bin/sh\n{script}\n")


def is_gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or while it was read
        return True


# -- the connection ---------------------------------------------------------------------------------------------------


async def test_link_when_this_box_is_a_frontend_then_it_says_who_it_is_over_one_ssh_of_its_own(
    comm_home: Path, hub: Hub
) -> None:
    """Daemon wire 1.5 and 3.3: "run the ssh bridge of 1.5 to the hub, hello with client_id:"sotd-hub-link-<pid>",
    name:"sotd-<host>", role link"."""
    async with kept(home_at(comm_home)) as one:
        said = (await hub.meet())["payload"]
        assert said["client_id"] == f"sotd-hub-link-{os.getpid()}"
        assert (said["name"], said["role"], said["host"], said["protocol"]) == ("sotd-atlas", "link", "atlas", 3)
        assert said["os_user"] == f"uid:{os.geteuid()}"
        await one.until(lambda: one.link.standing().up)
        words = Path(os.environ["SAID"]).read_text().splitlines()
        assert len(words) == 1
        assert "-o BatchMode=yes" in words[0]
        assert "-o ControlMaster=no -o ControlPath=none -- hub PATH=" in words[0]
        assert words[0].endswith("; sotd stdio-bridge")
        assert one.link.standing() == LinkStanding("hub", up=True)
        assert one.log == [("the link to hub stands", True)]
        assert (one.well, one.faults) == (1, [])


@pytest.mark.parametrize(
    ("text", "host"),
    [("", "atlas"), (HUB, "hub"), (HUB, "moon"), (HUB.replace("frontend = true", ""), "atlas"), ("hub =", "atlas")],
    ids=["no list", "the hub", "not listed", "no frontend", "unreadable"],
)
async def test_link_when_this_box_is_none_that_holds_one_then_no_ssh_is_started(
    comm_home: Path, hub: Hub, text: str, host: str
) -> None:
    """Daemon wire 1.7: "its box is listed, is not the hub, and its relay endpoint is ssh: ...; decided once at
    start"."""
    file = Path(os.environ["XDG_CONFIG_HOME"], "sot", "hosts.toml")
    file.unlink()
    if text:
        boxes(text)
    async with kept(home_at(comm_home), host) as one:
        await one.until(lambda: one.link._decided)
        boxes(HUB)
        await asyncio.sleep(0.1)
        assert one.link.standing() == LinkStanding()
    assert hub.connections.empty()
    assert not Path(os.environ["SAID"]).exists()


async def test_link_when_its_duty_is_started_again_then_what_was_decided_at_the_start_counts(
    comm_home: Path, hub: Hub
) -> None:
    async with kept(home_at(comm_home)) as one:
        await hub.meet()
        boxes("hub =")
        again = asyncio.create_task(one.link.keep(one.count))
        try:
            await hub.meet()
        finally:
            again.cancel()
            await asyncio.gather(again, return_exceptions=True)


async def test_link_when_a_login_greets_before_the_hub_then_its_words_are_passed_over(
    comm_home: Path, hub: Hub
) -> None:
    hub.greeting = b"Welcome to hub!\n\n\xff\xfe{\n"
    async with kept(home_at(comm_home, h=live())) as one:
        await hub.meet()
        hub.say("evt", "workspace.changed", {}, 0)
        assert await hub.offer() == {"ok": True}
        assert one.link.standing().up


async def test_link_when_the_hub_refuses_the_hello_then_its_words_are_why(comm_home: Path, hub: Hub) -> None:
    """Daemon wire 3.3: "a reply with error counts as a failed connection"."""
    hub.welcome = {"error": "this host has said hello as two OS accounts", "code": "os_user_conflict"}
    async with kept(home_at(comm_home)) as one:
        await hub.meet()
        words = "hello refused: this host has said hello as two OS accounts"
        await one.until(lambda: one.faults)
        assert one.faults[0] == f"the link to hub failed: {words}"
        assert one.link.standing()._replace(since_s=0, next_try_s=0) == LinkStanding("hub", why=words)
        assert not one.well
        hub.welcome = WELCOME
        await hub.meet()
        await one.until(lambda: one.link.standing().up)
        assert one.link.standing().why == ""


async def test_link_when_ssh_fails_then_its_last_words_are_why_and_none_of_them_acts_on_a_terminal(
    comm_home: Path, hub: Hub
) -> None:
    ssh_is(hub, "echo a warning >&2; printf 'me@hub: Permission \\033[31mdenied (publickey).\\r\\n\\n' >&2; exit 255")
    async with kept(home_at(comm_home)) as one:
        await one.until(lambda: len(one.faults) > 1)
        assert set(one.faults) == {"the link to hub failed: me@hub: Permission ␛[31mdenied (publickey)."}
        ssh_is(hub, "printf '%0300000d' 0 >&2; exit 255")
        await one.until(lambda: one.faults[-1].endswith("0…"))
        assert len(one.link.standing().why) == 300
        ssh_is(hub, "exit 0")
        await one.until(lambda: one.faults[-1].endswith(": it ended without a word"))


async def test_link_when_there_is_no_ssh_then_it_says_so(
    comm_home: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(comm_home.parent / "home"))
    async with kept(home_at(comm_home)) as one:
        await one.until(lambda: one.faults)
        assert one.faults[0] == "the link to hub failed: ssh could not be started: No such file or directory"
    assert hub.connections.empty()


async def test_link_when_the_hub_says_nothing_then_it_is_given_up_and_tried_again(
    comm_home: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "GREETING_SECS", 0.2)
    hub.welcome = None
    async with kept(home_at(comm_home)) as one:
        await hub.meet()
        await one.until(lambda: one.faults)
        assert one.faults[0] == "the link to hub failed: the hub did not answer within 0.2 s"
        await hub.meet()


async def test_link_when_a_line_of_the_hub_is_no_frame_then_it_ends_and_is_tried_again(
    comm_home: Path, hub: Hub
) -> None:
    async with kept(home_at(comm_home)) as one:
        await hub.meet()
        await one.until(lambda: one.link.standing().up)
        hub.writer.write(b"what?\n")
        await one.until(lambda: one.faults)
        assert one.faults == ["the link to hub failed: a line is no envelope"]
        await hub.meet()
        await one.until(lambda: one.link.standing().up)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00\xff\n",
        b'{"v":1,"id":-1,"kind":"req","op":"ping","payload":{}}\n',
        b'{"v":1,"id":1e999,"kind":"req","op":"comm.file","payload":{}}\n',
        b'{"v":1,"id":4,"kind":"req","op":"comm.file","payload":' + b"[" * 5000 + b"\n",
        b'{"v":1,"id":4,"kind":"evt","op":"x","payload":{"blob":{"len":5}}}\nab',
        b"x" * ((1 << 20) + 1) + b"\n",
        b'{"v":1,"id":4,"kind":"req","op":"comm.fi',
    ],
    ids=["bytes", "a negative number", "no number", "depth", "half a blob", "length", "half a line"],
)
async def test_link_when_the_hub_sends_what_is_no_frame_and_ends_then_it_is_tried_again_and_nothing_is_filed(
    comm_home: Path, hub: Hub, garbage: bytes
) -> None:
    home = home_at(comm_home, h=live())
    async with kept(home) as one:
        await hub.meet()
        await one.until(lambda: one.link.standing().up)
        hub.writer.write(garbage)
        hub.writer.write_eof()
        await one.until(lambda: one.faults)
        await hub.meet()
        assert not Path(home.inbox("h")).exists()
        assert await hub.offer() == {"ok": True}


@pytest.mark.parametrize(
    "frame",
    [
        ("res", "hello", {"error": "no"}, 1),
        ("res", "comm.file", {"ok": True}, 41),
        ("res", "ping", None, 2),
        ("evt", "agent.message", {"from": "a", "to": "", "text": "x"}, 0),
        ("req", "hello", {"client_id": "hub"}, 3),
        ("req", "tui.do", {"command": "send"}, 3),
        ("req", "comm.file", {"from": 1, "to": [], "text": None}, 3),
    ],
    ids=lambda frame: f"{frame[0]} {frame[1]}",
)
async def test_link_when_the_hub_sends_a_frame_that_means_nothing_there_then_the_link_stands(
    comm_home: Path, hub: Hub, frame: tuple[str, str, object, int]
) -> None:
    home = home_at(comm_home, h=live())
    async with kept(home) as one:
        await hub.meet()
        hub.say(*frame)
        if frame[0] == "req":
            found = await hub.answer()
            assert (found["id"], found["op"]) == (3, frame[1])
            assert found["payload"]["error"]
        assert await hub.offer() == {"ok": True}
        assert not one.faults


async def test_link_when_the_hub_answers_no_ping_then_it_is_tried_again(
    comm_home: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "PING_SECS", 0.2)
    async with kept(home_at(comm_home)) as one:
        await hub.meet()
        for _ in range(3):
            asked = await hub.frame()
            assert (asked["kind"], asked["op"]) == ("req", "ping")
            hub.say("res", "ping", {"ok": True}, asked["id"])
        assert not one.faults
        hub.say("res", "ping", {"ok": True}, (await hub.frame())["id"] + 1)  # of a ping that was not sent
        await one.until(lambda: one.faults)
        assert one.faults == ["the link to hub failed: the hub answered no ping within 0.2 s"]
        async with asyncio.timeout(DEADLINE_S):
            assert await hub.reader.read() == b"", "it went on after a ping that was not answered"
        await hub.meet()


async def test_link_when_the_duty_ends_then_nothing_that_ssh_started_is_left(comm_home: Path, hub: Hub) -> None:
    async with kept(home_at(comm_home)) as one:
        await hub.meet()
        await one.until(lambda: one.link.standing().up)
        pids = [int(word) for word in Path(f"{os.environ['SAID']}.pids").read_text().split()]
        assert len(pids) == 2
        assert not any(is_gone(pid) for pid in pids)
    await one.until(lambda: all(is_gone(pid) for pid in pids))


async def test_link_when_ssh_will_not_end_then_it_is_made_to(comm_home: Path, hub: Hub) -> None:
    ssh_is(hub, "trap '' TERM; echo $$ >\"$SAID\"; while :; do sleep 1; done")
    said = Path(os.environ["SAID"])
    async with kept(home_at(comm_home)) as one:
        await one.until(lambda: said.exists() and said.read_text().strip())
    await one.until(lambda: is_gone(int(said.read_text())))


async def test_link_when_more_comes_than_is_read_then_its_pipes_are_closed_with_it(comm_home: Path, hub: Hub) -> None:
    """A pipe that outlived the loop ended the daemon with a traceback; until then each try left three behind."""
    ssh_is(hub, "while :; do printf '%0100000d' 0; printf '%01000d' 0 >&2; done")
    gc.collect()
    gc.disable()
    try:
        before = pipes()
        async with kept(home_at(comm_home)) as one:
            await one.until(lambda: len(one.faults) >= 3)
        await one.until(lambda: pipes() <= before)
    finally:
        gc.enable()


async def test_link_when_the_duty_ends_while_a_lost_ssh_is_given_its_time_then_nothing_is_left(
    comm_home: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever ends the duty cancels that patience, too: the ssh went on without anybody who knew of it."""
    monkeypatch.setattr(links, "END_SECS", 20.0)
    ssh_is(
        hub,
        'trap \'\' TERM; echo $$ >"$SAID"; exec 3<&0; (cat <&3 >/dev/null; echo eof >>"$SAID") & '
        "printf '%01200000d' 0; while :; do sleep 1; done",
    )
    said = Path(os.environ["SAID"])
    async with kept(home_at(comm_home)) as one:
        await one.until(lambda: said.exists() and "eof" in said.read_text())
        assert not is_gone(int(said.read_text().split()[0]))
    await one.until(lambda: is_gone(int(said.read_text().split()[0])))


def pipes() -> set[str]:
    """Return the pipes that this process has open."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found.add(os.readlink(f"/proc/self/fd/{name}"))
    return {name for name in found if name.startswith(("pipe:", "socket:"))}


# -- offers -----------------------------------------------------------------------------------------------------------


async def test_offer_when_the_handle_is_of_this_box_then_filed_once(comm_home: Path, hub: Hub) -> None:
    home = home_at(comm_home, h=live(host="Atlas"))
    async with kept(home):
        await hub.meet()
        assert await hub.offer(text="grün\n😀") == {"ok": True}
    lines = Path(home.inbox("h")).read_bytes().splitlines()
    assert [json.loads(line)["msg"] for line in lines] == ["grün\n😀"]
    assert json.loads(lines[0])["from"] == "web-hub"


@pytest.mark.parametrize("entry", [live(host="moon"), live(host=""), None], ids=["another box's", "no box's", "none"])
async def test_offer_when_the_folder_does_not_list_the_handle_under_this_box_then_not_here(
    comm_home: Path, hub: Hub, entry: dict[str, object] | None
) -> None:
    agents: Any = {"far": entry} if entry else {}
    home = home_at(comm_home, **agents)
    async with kept(home):
        await hub.meet()
        assert await hub.offer(to="far") == NOT_HERE
        Path(home.registry).unlink()
        assert await hub.offer(to="far") == NOT_HERE
    assert not Path(home.inbox("far")).exists()


async def test_offer_when_another_box_of_the_folder_has_the_handle_then_only_a_guest_s_forward_is_filed(
    comm_home: Path, hub: Hub
) -> None:
    """An offer has a mark of its own: a guest's forward is for any handle of the folder."""
    home = home_at(comm_home, far=live(host="moon"))
    async with kept(home):
        await hub.meet()
        assert await hub.offer(to="far") == NOT_HERE
    async with daemon(home) as served:
        assert await burst(served.path, "comm.file", {**MAIL, "to": "far"}) == {"ok": True}


async def test_offer_when_its_folder_refuses_then_in_the_words_of_route_1(comm_home: Path, hub: Hub) -> None:
    home = home_at(comm_home, h=live(), stale=live(last_seen="2026-01-01T00:00:00Z"))
    async with kept(home):
        await hub.meet()
        assert await hub.offer(to="stale") == {
            "error": "no live session holds @stale",
            "code": "no_live_session",
        }
        assert (await hub.offer(to="../h"))["code"] == "bad_handle"
        Path(home.registry).write_text("{")
        words = "the registry could not be read, so @far is unverified; nothing was filed"
        assert await hub.offer(to="far") == {"error": words, "code": "file_failed"}


async def test_offer_when_this_daemon_may_not_append_then_refused_and_never_forwarded_again(
    comm_home: Path, hub: Hub
) -> None:
    """ "and it never offers or forwards it again" """
    home = home_at(comm_home, disk=MountedDisk(STALE_MOUNT), procs=Machine("m9"), h=live())
    (comm_home / "inbox-lock-manager").write_text("nfs4 server:/export\nm2\n")
    async with kept(home):
        await hub.meet()
        for marked in (True, False):
            assert await hub.offer(forwarded=marked) == {
                "error": "a forwarded frame reached a daemon that is not its folder's hub (atlas)",
                "code": "file_failed",
            }
    assert len(Path(os.environ["SAID"]).read_text().splitlines()) == 1
    assert not Path(home.inbox("h")).exists()


async def test_offer_when_an_inbox_is_held_then_no_other_answer_waits(
    comm_home: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "It files each offer as it comes, so one held lock delays no other answer." """
    monkeypatch.setenv("SOT_INBOX_LOCK_WAIT_SECS", "2")
    home = home_at(comm_home, h=live(), other=live())
    held = inbox_lock.take(home, "h", Grip.WRITER, "none@m1", 0)
    assert isinstance(held, Held)
    async with kept(home):
        await hub.meet()
        for number in range(20):
            hub.say("req", "comm.file", MAIL, 100 + number)
        hub.say("req", "comm.file", {**MAIL, "to": "other"}, 7)
        first = await hub.answer()
        assert (first["id"], first["payload"]) == (7, {"ok": True})
        answers = [await hub.answer() for _ in range(20)]
        said = {"error": "the inbox lock for @h was held for 2s — nothing was appended", "code": "file_failed"}
        assert [one["payload"] for one in answers] == [said] * 20
        assert sorted(one["id"] for one in answers) == list(range(100, 120))
    inbox_lock.release(home, held)
    assert not Path(home.inbox("h")).exists()


async def test_request_when_it_is_none_that_a_link_serves_then_refused_and_the_link_stands(
    comm_home: Path, hub: Hub
) -> None:
    async with kept(home_at(comm_home, h=live())) as one:
        await hub.meet()
        for op, payload, said in (
            ("ping", {}, {"ok": True}),
            ("workspace.list", {}, {"error": "unknown op: workspace.list"}),
            ("comm.file", [], {"error": "comm.file payload: it is no object", "code": "handler_error"}),
            ("comm.file", {}, {"error": "comm.file payload: missing field `from`", "code": "handler_error"}),
        ):
            hub.say("req", op, payload, 5)
            found = await hub.answer()
            assert (found["id"], found["op"], found["payload"]) == (5, op, said)
        assert one.link.standing().up


async def test_duty_when_it_ends_with_an_offer_under_way_then_it_is_answered_first(comm_home: Path, hub: Hub) -> None:
    home = home_at(comm_home, h=live())
    held = inbox_lock.take(home, "h", Grip.WRITER, "none@m1", 0)
    assert isinstance(held, Held)
    async with kept(home) as one:
        await hub.meet()
        hub.say("req", "comm.file", MAIL, 9)
        await one.until(lambda: one.link._filing)
        ending = asyncio.get_running_loop().call_later(0.2, inbox_lock.release, home, held)
    assert ending.when()
    found = await hub.answer()
    assert (found["id"], found["payload"]) == (9, {"ok": True})
    assert len(Path(home.inbox("h")).read_bytes().splitlines()) == 1
