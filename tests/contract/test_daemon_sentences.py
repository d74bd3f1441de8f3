"""What a daemon answers: every op and every refusal, in the wire's own bytes and words, over a real socket.

Contract, Delivery and Cases; daemon wire 2 and 3.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from sot_tui.comm import inbox_lock, mounts
from sot_tui.comm.clock import SystemClock, stamp
from sot_tui.comm.inbox_lock import Grip, Held
from sot_tui.engine import admission
from sot_tui.engine.filer import Filed, Filer, NotFiled, Request
from sot_tui.engine.rows.row import Phase, Refused
from tests.caller import Caller, burst, hello, request
from tests.daemons import Daemon, daemon
from tests.mailbox import NAMELESS, Machine, mail_home
from tests.peer import Peer
from tests.seams import STALE_MOUNT, JumpingClock, MountedDisk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sot_tui.comm.disk import Disk
    from sot_tui.comm.home import Home
    from sot_tui.comm.proof import SystemProcs

T = TypeVar("T")

MAIL = {"from": "web-desk", "to": "h", "text": "build is green", "broadcast": False}
TWO_BOXES = """\
hub = "hub"
[host.hub]
daemon = true
[host.atlas]
daemon = true
"""


def home_at(path: Path, *, disk: Disk | None = None, procs: SystemProcs | None = None, **agents: object) -> Home:
    home = mail_home(path, disk=disk, procs=procs)
    (path / "registry.json").write_text(json.dumps({"protocol_version": 1, "agents": agents}))
    return home


def live(**more: object) -> dict[str, object]:
    return {"host": "atlas", "last_seen": stamp(SystemClock().now() - 60), **more}


def boxes(text: str) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"], "sot", "hosts.toml")
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)


class Late(SystemClock):
    """A clock by which, in a thread that asks, all that is waited for comes `at` seconds after it began to ask.

    It looks twice for that: whether it is too late to ask, and when it asked.
    """

    def __init__(self, at: float) -> None:
        self.at = at
        self.looks: Counter[int] = Counter()

    def monotonic(self) -> float:
        thread = threading.get_ident()
        if thread == threading.main_thread().ident:
            return super().monotonic()
        self.looks[thread] += 1
        return 0.0 if self.looks[thread] <= 2 else self.at


@pytest.fixture
async def one(comm_home: Path) -> AsyncIterator[Daemon]:
    async with daemon(home_at(comm_home, h=live())) as found:
        yield found


async def file(one: Daemon, **more: object) -> Any:
    return await burst(one.path, "comm.file", {**MAIL, **more})


# -- admission --------------------------------------------------------------------------------------------------------


async def denied(one: Daemon, first: bytes) -> Any:
    """Return the one refusal; nothing else is served and the connection ends."""
    async with Caller(one.path) as caller:
        caller.say(first + request("ping", {}))
        found = json.loads(await caller.line())
        assert (found["kind"], found["op"]) == ("res", "hello")
        assert await caller.ends() == b""
    return found["payload"]


async def test_hello_when_it_speaks_another_protocol_then_refused_with_both_versions(one: Daemon) -> None:
    """Daemon wire 2.1: "protocol mismatch: backend <v> (protocol 3) vs frontend <v or <pre-versioning>> (protocol
    <n>) — update the older side"."""
    assert await denied(one, hello(protocol=2, app_version="0.6.1")) == {
        "error": "protocol mismatch: backend 9.9 (protocol 3) vs frontend 0.6.1 (protocol 2) — update the older side",
        "code": "protocol_mismatch",
        "backend_protocol": 3,
        "frontend_protocol": 2,
        "backend_version": "9.9",
        "frontend_version": "0.6.1",
    }
    older = await denied(one, hello(protocol=None, app_version=None, host=""))
    assert older["error"] == (
        "protocol mismatch: backend 9.9 (protocol 3) vs frontend <pre-versioning> (protocol 0) — update the older side"
    )


@pytest.mark.parametrize("missing", ["host", "os_user"])
@pytest.mark.parametrize("value", [None, ""])
async def test_hello_when_it_does_not_say_who_is_there_then_refused(
    one: Daemon, missing: str, value: str | None
) -> None:
    said = await denied(one, hello(**{missing: value}))  # type: ignore[arg-type]  # that is what is tested
    assert said == {"error": f"this hello does not say its {missing}", "code": "identity_missing"}


async def test_hello_when_a_host_has_said_two_accounts_then_both_are_refused_until_restart_and_open_ones_stay(
    one: Daemon,
) -> None:
    """Contract, The one result: "this host has said hello as two OS accounts"."""
    async with Caller(one.path) as early:
        await early.greet(os_user="uid:1000")
        for user in ("uid:1001", "uid:1000", "uid:1002"):
            said = await denied(one, hello(os_user=user))
            assert said == {
                "error": f"{admission.TWO_ACCOUNTS} (atlas: uid:1000 and uid:1001); restart this daemon to clear it",
                "code": "os_user_conflict",
            }
        assert await early.ask("ping", {}) == {"ok": True}
    assert await burst(one.path, "ping", {}, host="desk", os_user="uid:1001") == {"ok": True}


@pytest.mark.parametrize(
    "first",
    [
        request("ping", {}),
        hello().replace(b'"kind":"req"', b'"kind":"evt"'),
        hello(client_id=None),
        hello(role="nobody"),
        hello(protocol="3"),
        hello(blob={"len": 3}),
        hello(name="x" * 2000),
        request("hello", "me"),
    ],
)
async def test_first_frame_when_it_is_no_hello_then_unauthenticated(one: Daemon, first: bytes) -> None:
    """Daemon wire 2.1: "first frame is not a parsable hello, or declares a blob"."""
    assert (await denied(one, first))["code"] == "unauthenticated"


async def test_hello_when_on_another_comm_home_then_told_which_one_is_served_and_how_to_part_them(one: Daemon) -> None:
    said = await denied(one, hello(comm_home="/elsewhere"))
    assert said == {
        "error": f"this daemon serves the comm home {one.home.path}, and you are on /elsewhere: set SOT_COMM_HOME to "
        "the same folder on both sides, or give the other one a daemon of its own (its own XDG_STATE_HOME and "
        "XDG_RUNTIME_DIR)",
        "code": "comm_home_mismatch",
        "comm_home": one.home.path,
    }
    assert await burst(one.path, "ping", {}, comm_home=one.home.path) == {"ok": True}
    # Another box has a comm home of its own.
    assert await burst(one.path, "ping", {}, host="desk", comm_home="/elsewhere") == {"ok": True}


# -- comm.file --------------------------------------------------------------------------------------------------------


async def test_file_when_a_session_holds_the_handle_then_ok_once_the_line_is_in_the_inbox(one: Daemon) -> None:
    """Contract, Sending: "when its comm folder lists the handle and a session holds it, it adds the line under the same
    inbox lock and answers ok"; daemon wire 7.2 fixes the line."""
    before = stamp(SystemClock().now())
    assert await file(one, text="grün\n\t😀 \x00") == {"ok": True}
    line = Path(one.home.inbox("h")).read_bytes()
    found = json.loads(line)
    assert list(found) == ["from", "to", "repo", "msg", "ts"]
    assert (found["from"], found["to"], found["repo"], found["msg"]) == ("web-desk", "h", "daemon", "grün\n\t😀 \x00")
    assert before <= found["ts"] <= stamp(SystemClock().now())
    assert b'"msg":"gr\xc3\xbcn' in line
    assert line.endswith(b"\n")
    assert os.stat(one.home.inbox("h")).st_mode & 0o777 == 0o600
    assert await file(one, broadcast=True) == {"ok": True}
    assert json.loads(Path(one.home.inbox("h")).read_bytes().split(b"\n")[1])["to"] == ""


@pytest.mark.parametrize("to", ["", "a b", "../h", ".", "x" * 65, 'say "hi"\n'])
async def test_file_when_the_receiver_is_no_handle_then_refused_with_it_quoted(one: Daemon, to: str) -> None:
    """Contract, The one result: "not a handle: …"; daemon wire 3.2: quoted and escaped like a string literal."""
    said = await file(one, to=to)
    assert said == {"error": f"not a handle: {json.dumps(to)}", "code": "bad_handle"}


async def test_file_when_no_box_knows_the_handle_then_not_here(one: Daemon) -> None:
    """Contract, Sending: "no box knows that handle: <h>"."""
    said = {"error": "no box knows that handle: nobody", "code": "not_here"}
    assert await file(one, to="nobody") == said
    Path(one.home.registry).write_text('{"agents":{"nobody":{"host":""}}}')
    assert await file(one, to="nobody") == said
    Path(one.home.registry).unlink()
    assert await file(one, to="nobody") == said


async def test_file_when_the_links_are_asked_then_their_verdict_is_passed_on_and_a_forwarded_one_asks_nobody(
    comm_home: Path,
) -> None:
    """Contract, Sending: "A request that arrived forwarded is not offered."."""
    asked: list[Request] = []

    async def offers(request: Request) -> Filed | NotFiled:
        asked.append(request)
        return NotFiled("no_live_session", "no live session holds @far") if len(asked) > 1 else Filed()

    async with daemon(home_at(comm_home), offers=offers) as one:
        assert await file(one, to="far") == {"ok": True}
        assert await file(one, to="far") == {"error": "no live session holds @far", "code": "no_live_session"}
        assert await file(one, to="far", forwarded=True) == {
            "error": "no box knows that handle: far",
            "code": "not_here",
        }
    assert asked == [Request("web-desk", "far", "build is green")] * 2


@pytest.mark.parametrize(
    "seen",
    [stamp(SystemClock().now() - 601), "2026-01-01", None, "9999-01-01T00:00:00+00:00", 12],
    ids=["old", "a day", "none", "of another shape", "a number"],
)
async def test_file_when_no_live_session_holds_the_handle_then_refused_and_nothing_added(
    comm_home: Path, seen: object
) -> None:
    """Contract, Sending: "the daemon's filer refuses it the same way, so filed is never printed for a handle no live
    session holds"."""
    async with daemon(home_at(comm_home, h={"host": "atlas", "last_seen": seen})) as one:
        assert await file(one) == {"error": "no live session holds @h", "code": "no_live_session"}
        assert not Path(one.home.inbox("h")).exists()
        assert not Path(one.home.inbox_lock("h")).exists()


async def test_file_when_the_registry_cannot_be_read_then_unverified_and_nothing_filed(one: Daemon) -> None:
    """Daemon wire 7.1, step 5."""
    Path(one.home.registry).write_text("{")
    said = {"error": "the registry could not be read, so @h is unverified; nothing was filed", "code": "file_failed"}
    assert await file(one) == said
    assert (f"mail to @h was not filed: {said['error']}", False) in one.log


async def test_file_when_the_inbox_is_held_then_refused_in_two_seconds_words_and_nobody_else_waits(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract, The one result: "the inbox lock for @h was held for 2s — nothing was appended"; daemon wire 3.3: "a
    held inbox lock delays no other answer"."""
    monkeypatch.setenv("SOT_INBOX_LOCK_WAIT_SECS", "0.2")
    home = home_at(comm_home, h=live(), other=live())
    held = inbox_lock.take(home, "h", Grip.WRITER, "none@m1", 0)
    assert isinstance(held, Held)
    async with daemon(home) as one, Caller(one.path) as caller:
        await caller.greet()
        for number in range(20):
            caller.say(request("comm.file", MAIL, number))
        assert (await burst(one.path, "comm.file", {**MAIL, "to": "other"})) == {"ok": True}
        assert await caller.ask("ping", {}) == {"ok": True}
        assert len(caller.lines) == 2, "one of the held ones was answered first"
        said = {"error": "the inbox lock for @h was held for 0.2s — nothing was appended", "code": "file_failed"}
        assert [(await caller.frame("comm.file"))["payload"] for _ in range(20)] == [said] * 20
    inbox_lock.release(home, held)
    assert not Path(home.inbox("h")).exists()


async def test_file_when_its_turn_comes_too_late_for_its_sender_then_nothing_is_appended(comm_home: Path) -> None:
    """Contract, The one result: "No answer within 5 seconds is FAILED"; what is filed behind that would come twice."""
    home = home_at(comm_home, h=live())._replace(clock=JumpingClock(SystemClock().now()))
    waits: list[float] = []

    async def busy(function: Callable[[], T]) -> T:
        home.clock.sleep(waits.pop())
        return function()

    filer = Filer(home, os.environ, "atlas", busy, lambda _words, _good: None)
    waits.append(2.6)
    late = NotFiled("file_failed", "this daemon was busy for 2.5s — nothing was appended")
    assert await filer.file(Request("a", "h", "x")) == late
    assert not Path(home.inbox("h")).exists()
    waits.append(2.4)
    assert await filer.file(Request("a", "h", "x")) == Filed()


@pytest.mark.parametrize("offered", [False, True])
async def test_file_when_what_another_daemon_passed_on_comes_to_its_turn_after_a_second_then_nothing_is_appended(
    comm_home: Path, *, offered: bool
) -> None:
    """Contract, The one result: a forward and an offer are given "the lock wait plus 1 second", so they begin within
    it."""
    home = home_at(comm_home, h=live())._replace(clock=JumpingClock(SystemClock().now()))
    waits: list[float] = []

    async def busy(function: Callable[[], T]) -> T:
        home.clock.sleep(waits.pop())
        return function()

    filer = Filer(home, os.environ, "atlas", busy, lambda _words, _good: None)
    passed_on = Request("a", "h", "x", forwarded=True, offered=offered)
    waits.append(1.1)
    assert await filer.file(passed_on) == NotFiled("file_failed", "this daemon was busy for 1s — nothing was appended")
    assert not Path(home.inbox("h")).exists()
    waits.append(0.9)
    assert await filer.file(passed_on) == Filed()


@pytest.mark.parametrize("guest", [False, True])
async def test_file_when_it_is_too_late_to_pass_a_message_on_then_no_other_daemon_is_asked(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch, *, guest: bool
) -> None:
    """What is offered or forwarded now would be filed behind its sender's five seconds."""
    monkeypatch.setattr("sot_tui.comm.topology.runtime_base", lambda: str(comm_home.parent))
    home = home_at(comm_home)
    if guest:
        boxes(TWO_BOXES)
        home = home_at(comm_home, disk=MountedDisk(STALE_MOUNT), procs=Machine("m9"), h=live())
        (comm_home / "inbox-lock-manager").write_text("nfs4 server:/export\nm2\n")
    home = home._replace(clock=JumpingClock(SystemClock().now()))
    asked: list[Request] = []

    async def offers(request: Request) -> Filed:
        asked.append(request)
        return Filed()

    async def busy(function: Callable[[], T]) -> T:
        home.clock.sleep(1.1)
        return function()

    filer = Filer(home, os.environ, "atlas", busy, lambda _words, _good: None, offers)
    with Peer(comm_home.parent / "sot-relay.sock", {"comm.file": {"ok": True}}) as hub:
        said = await filer.file(Request("a", "h" if guest else "far", "x"))
    assert said == NotFiled("file_failed", "this daemon was busy for 1s — nothing was appended")
    assert not asked
    assert not hub.asked


async def test_file_when_a_dead_writer_left_a_partial_then_cut_back_and_logged(one: Daemon) -> None:
    """Daemon wire 7.2: "cut <n> bytes of an unterminated line a dead writer left in <path>"."""
    inbox = Path(one.home.inbox("h"))
    inbox.write_bytes(b'{"to":"h"}\n{"to":')
    assert await file(one) == {"ok": True}
    assert [json.loads(line)["to"] for line in inbox.read_bytes().splitlines()] == ["h", "h"]
    assert one.log == [(f"cut 6 bytes of an unterminated line a dead writer left in {inbox}", True)]


async def test_file_when_the_append_fails_then_the_system_s_own_reason(one: Daemon) -> None:
    """Daemon wire 7.2: "the append failed: <os error>"."""
    Path(one.home.inbox("h")).mkdir()
    said = await file(one)
    assert said == {"error": "the append failed: Is a directory", "code": "file_failed"}


# -- who may append: the lock manager's record ------------------------------------------------------------------------


async def test_file_when_the_hub_has_no_machine_id_then_it_says_how_to_give_it_one(comm_home: Path) -> None:
    """Contract, Sending: "give the machine a machine id (/etc/machine-id on Linux), then restart the daemon"."""
    home = home_at(comm_home, procs=NAMELESS, h=live())
    record = comm_home / "inbox-lock-manager"
    for text in ("", "none\n", "none@m1\n"):
        record.write_text(text)
        async with daemon(home) as one:
            assert await file(one) == {
                "error": f"this hub has no machine id, so it cannot own the inbox lock record at {record}: give this "
                "machine a machine id (/etc/machine-id on Linux), then restart the daemon",
                "code": "file_failed",
            }


async def test_file_when_the_record_is_not_the_hub_s_then_its_recovery_is_named(comm_home: Path) -> None:
    """Contract, Sending: "restart the hub when its own machine wrote the record (a remount), else stop every daemon on
    the folder, delete the record and start the hub"."""
    home = home_at(comm_home, disk=MountedDisk(STALE_MOUNT), h=live())
    record = comm_home / "inbox-lock-manager"
    another = (
        f"a different lock manager from this hub's none@m1: stop every daemon on this comm folder, delete {record}, "
    )
    sentences = {
        "local m1\nm1\n": "this hub's inbox lock is now none@m1 but its record says local m1: restart this daemon to "
        "re-record it after the remount",
        "local m2\nm2\n": f"the inbox lock record names local m2, written by machine m2, {another}then start the hub",
        "local m2\n": "the inbox lock record names local m2, written by an unknown machine, "
        f"{another}then start the hub",
        None: f"no inbox lock record at {record}: restart this daemon to write it",
    }
    async with daemon(home) as one:
        for text, sentence in sentences.items():
            record.unlink() if text is None else record.write_text(text)
            assert await file(one) == {"error": sentence, "code": "file_failed"}
            assert (f"mail to @h was not filed: {sentence}", False) in one.log
        record.write_text("none@m1\n")
        assert await file(one) == {"ok": True}, "every route compares line 1 only, at each filing"


async def test_file_when_a_guest_may_not_append_then_it_forwards_once_and_passes_the_hub_s_verdict_on(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract, Sending: "a guest forwards anything else to the hub, once, marked forwarded, and answers with the hub's
    own verdict"."""
    monkeypatch.setattr("sot_tui.comm.topology.runtime_base", lambda: str(comm_home.parent))
    monkeypatch.setenv("SOT_INBOX_LOCK_WAIT_SECS", "0")
    boxes(TWO_BOXES)
    home = home_at(comm_home, disk=MountedDisk(STALE_MOUNT), procs=Machine("m9"), h=live())
    (comm_home / "inbox-lock-manager").write_text("nfs4 server:/export\nm2\n")
    path = comm_home.parent / "sot-relay.sock"
    async with daemon(home) as one:
        unheard = await file(one)
        assert unheard["code"] == "file_failed"
        assert unheard["error"] == f"the hub did not answer at unix:{path}: {path}: No such file or directory"
        with Peer(path, {"comm.file": {"ok": True}}) as hub:
            assert await file(one) == {"ok": True}
            assert hub.asked == [("comm.file", {**MAIL, "forwarded": True})]
            for said in (
                {"error": "no live session holds @h", "code": "no_live_session"},
                {"error": "no box knows that handle: h", "code": "not_here"},
            ):
                hub.answers["comm.file"] = said
                assert await file(one) == said
            hub.answers["comm.file"] = {"ok": 1}
            assert (await file(one))["error"] == 'the hub answered neither ok nor a refusal: {"ok":1}'
            asked = len(hub.asked)
            assert await file(one, forwarded=True) == {
                "error": "a forwarded frame reached a daemon that is not its folder's hub (atlas)",
                "code": "file_failed",
            }
            assert len(hub.asked) == asked
    assert not Path(home.inbox("h")).exists()


async def test_file_when_the_folder_is_on_its_own_disk_then_a_hub_whatever_the_list_of_boxes_says(
    comm_home: Path,
) -> None:
    """Contract, Sending: the hub is "a daemon whose comm folder is on its own disk"."""
    boxes(TWO_BOXES)
    home = home_at(comm_home, h=live())
    (comm_home / "inbox-lock-manager").unlink()
    async with daemon(home) as one:
        assert await file(one) == {
            "error": f"no inbox lock record at {home.lock_manager}: restart this daemon to write it",
            "code": "file_failed",
        }


async def test_file_when_an_nfs_3_hub_recorded_itself_then_it_serves_other_boxes_over_the_wire(
    comm_home: Path,
) -> None:
    """Contract, Sending: "A v3 hub writes none@<its machine> and serves other hosts over the wire."."""
    boxes(TWO_BOXES.replace('hub = "hub"', 'hub = "atlas"'))
    nfs3 = b"27 1 0:40 / / rw,relatime - nfs server:/export rw,vers=3,local_lock=none\n"
    home = home_at(comm_home, disk=MountedDisk(nfs3), h=live(host="hub"))
    record = comm_home / "inbox-lock-manager"
    record.unlink()
    assert mounts.record_lock_manager(home, named_hub=True).fault == ""
    assert record.read_text() == "none@m1\nm1\n"
    async with daemon(home) as one:
        assert await burst(one.path, "comm.file", {**MAIL, "forwarded": True}, host="hub") == {"ok": True}
    assert len(Path(home.inbox("h")).read_bytes().splitlines()) == 1


@pytest.mark.parametrize(("at", "heard"), [(2.9, True), (3.1, False)])
async def test_file_when_the_hub_takes_its_time_then_a_guest_waits_for_the_lock_wait_and_a_second(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch, at: float, *, heard: bool
) -> None:
    """Contract, The one result: "a daemon gives a guest's forward ... the lock wait plus 1 second"."""
    monkeypatch.setattr("sot_tui.comm.topology.runtime_base", lambda: str(comm_home.parent))
    boxes(TWO_BOXES)
    home = home_at(comm_home, disk=MountedDisk(STALE_MOUNT), procs=Machine("m9"), h=live())
    (comm_home / "inbox-lock-manager").write_text("nfs4 server:/export\nm2\n")
    path = comm_home.parent / "sot-relay.sock"
    async with daemon(home._replace(clock=Late(at))) as one:
        with Peer(path, {"comm.file": {"ok": True}}):
            said = await file(one)
    assert said == (
        {"ok": True} if heard else {"error": f"the hub did not answer at unix:{path}", "code": "file_failed"}
    )


async def test_file_when_the_list_of_boxes_cannot_be_read_then_it_names_no_hub(comm_home: Path) -> None:
    """Contract, Sending: "an unreadable hosts.toml names no hub"."""
    boxes("hub = 3\n")
    home = home_at(comm_home, disk=MountedDisk(STALE_MOUNT), procs=Machine("m9"), h=live())
    (comm_home / "inbox-lock-manager").write_text("nfs4 server:/export\nm2\n")
    async with daemon(home) as one:
        said = await file(one)
        assert said["error"].startswith("this box's hosts.toml cannot be read, so it names no hub: ")
        assert said["code"] == "file_failed"
        (comm_home / "inbox-lock-manager").write_text("none@m9\n")
        assert await file(one) == {"ok": True}, "a guest appends where line 1 is its own"


# -- agent.send -------------------------------------------------------------------------------------------------------


async def test_agent_send_when_it_names_nobody_then_published_to_all_and_says_who_is_connected(one: Daemon) -> None:
    """Contract, The one result: agent.send goes "with an empty to, published to every connection as agent.message"."""
    async with Caller(one.path) as front, Caller(one.path) as sender:
        await front.greet(role="fe", name="fe@desk")
        await sender.greet(name="web-atlas")
        said = await sender.ask("agent.send", {"from": "web-atlas", "to": "", "text": "hi", "id": "n1"})
        assert said == {"ok": True, "receivers": ["fe@desk"], "id": "n1"}
        event = await front.event("agent.message")
        assert {**event, "ts": ""} == {"from": "web-atlas", "to": "", "text": "hi", "ts": "", "id": "n1"}
        assert len(event["ts"]) == 20
        assert any(b"agent.message" in line for line in sender.lines), "the sender's connection is told, too"


async def test_agent_send_when_it_names_a_handle_then_refused_and_nothing_is_published(one: Daemon) -> None:
    """Contract, The one result: "one that names a handle is refused (mail_requires_comm_file) and nothing is
    published"."""
    async with Caller(one.path) as front:
        await front.greet(role="fe", name="fe@desk")
        said = await burst(one.path, "agent.send", {"from": "a", "to": "h", "text": "hi"})
        assert said["code"] == "mail_requires_comm_file"
        assert "error" in said
        assert await front.ask("ping", {}) == {"ok": True}
        assert len(front.lines) == 2
    assert not Path(one.home.inbox("h")).exists()


# -- rows -------------------------------------------------------------------------------------------------------------


async def test_join_when_a_row_declares_then_it_alone_has_the_handle_and_all_are_told(one: Daemon) -> None:
    """Contract, Words: the daemon "gives each handle to one row only, and a newer declaration moves it"."""
    old, new = one.rows.add("old", agent_handle="web"), one.rows.add("new")
    async with Caller(one.path) as caller:
        await caller.greet(role="agent", name="web")
        assert await caller.ask("agent.join", {"workspace_id": new.id, "handle": "web"}) == {"ok": True}
        assert caller.lines[1].count(b'"action":"agent_joined"') == 1
    assert (one.rows.rows[old.id].agent_handle, one.rows.rows[new.id].agent_handle) == ("", "web")
    said = await burst(one.path, "agent.join", {"workspace_id": "ws-x", "handle": "web"})
    assert said == {"error": 'unknown workspace: "ws-x"', "code": "unknown_workspace"}
    said = await burst(one.path, "agent.join", {"workspace_id": new.id, "handle": "a b"})
    assert said == {"error": 'invalid handle: "a b"', "code": "bad_handle"}
    one.rows.refuses = Refused("persist_failed", "No space left on device")
    said = await burst(one.path, "agent.join", {"workspace_id": new.id, "handle": "web"})
    assert said == {"error": "No space left on device", "code": "persist_failed"}


@pytest.mark.parametrize("phase", list(Phase))
async def test_clearance_when_a_row_has_the_handle_then_held_unless_it_was_seen_to_end(
    one: Daemon, phase: Phase
) -> None:
    """Contract, Cases: "it writes nothing and answers held_by_row for any row it has not seen end (a row loaded from
    disk and not yet probed, Stopped, Unreachable, Foreign and Ending ones too; only a latched Terminal or
    EndedNoRespawn row, or none, frees a handle), else ok"."""
    row = one.rows.add("web", agent_handle="web-atlas", phase=phase)
    said = await burst(one.path, "agent.join", {"workspace_id": "", "handle": "web-atlas"})
    held = {"error": "@web-atlas is held by a row", "code": "held_by_row", "held_by_row": row.id, "row": row.id}
    assert said == ({"ok": True} if phase in {Phase.TERMINAL, Phase.ENDED} else held)
    assert await burst(one.path, "agent.join", {"workspace_id": "", "handle": "free"}) == {"ok": True}
    said = await burst(one.path, "agent.join", {"workspace_id": "", "handle": "../x"})
    assert said == {"error": 'invalid handle: "../x"', "code": "bad_handle"}
    assert one.rows.rows == {row.id: row}


async def test_list_when_asked_then_each_row_with_what_the_registry_says_of_its_handle(one: Daemon) -> None:
    """Contract, registry.json: "the daemon joins state, summary and status_at onto workspace.list as agent_state /
    agent_summary / agent_status_at, keyed by the row's handle"."""
    said = {"state": "working", "summary": "at it", "status_at": "2026-01-01T00:00:00Z"}
    agents = {"web": live(**said, host="ATLAS"), "far": live(**said, host="desk")}
    Path(one.home.registry).write_text(json.dumps({"agents": agents}))
    row = one.rows.add("web", agent_name="stored", agent_handle="web", agent="claude", task="build")
    one.rows.add("b", agent_name="far", phase=Phase.TERMINAL, activation_error="claude not found")
    answer = await burst(one.path, "workspace.list", {})
    first, second = answer["workspaces"]
    assert first["slug"] == "b"
    assert (first["agent_state"], first["agent_summary"], first["agent_status_at"]) == ("", "", "")
    assert (first["phase"], first["activation_error"]) == ("terminal", "claude not found")
    assert second == {
        "workspace_id": row.id,
        "slug": "web",
        "label": "web",
        "project_root": "/src/web",
        "session_name": "sot-be-web",
        "kernel_running": False,
        "is_default": False,
        "autostart_claude": True,
        "agent": "claude",
        "agent_name": "web",
        "agent_handle": "web",
        "task": "build",
        "agent_state": "working",
        "agent_summary": "at it",
        "agent_status_at": "2026-01-01T00:00:00Z",
        "repl_state": "not_started",
        "runtime": "capsule",
        "state_dir": f"{os.environ['XDG_STATE_HOME']}/sot/workspaces/{row.id}",
        "phase": "ready",
        "account": "",
    }


async def test_create_when_made_then_its_id_and_slug_at_the_top_and_all_are_told(one: Daemon, tmp_path: Path) -> None:
    """Daemon wire 3.8."""
    wanted = {
        "label": "My.Repo",
        "project_root": str(tmp_path),
        "autostart_claude": True,
        "agent": "claude",
        "agent_name": "api-atlas",
        "task": "",
        "boot": True,
    }
    async with Caller(one.path) as caller:
        await caller.greet()
        caller.say(request("workspace.create", wanted, 5))
        found = await caller.frame("workspace.create")
        assert found["rev"] == 1
        assert found["payload"] == {
            "workspace_id": "ws-my_repo-1",
            "slug": "my_repo",
            "label": "My.Repo",
            "project_root": str(tmp_path),
            "session_name": "sot-be-my_repo",
        }
        assert b'"action":"created"' in caller.lines[1]
    assert one.rows.listed()[0].agent == "claude"


async def test_create_when_refused_then_no_id_at_the_top(one: Daemon) -> None:
    """Daemon wire, the short list: "Never put a top-level workspace_id in a create/destroy refusal."."""
    wanted = {"label": "a", "project_root": "/nowhere", "autostart_claude": False, "agent": "none"}
    said = await burst(one.path, "workspace.create", wanted)
    assert said == {"error": "project_root does not exist: /nowhere", "code": "no_such_path"}
    existing = {"workspace_id": "ws-a-1", "slug": "a", "label": "a"}
    one.rows.refuses = Refused("duplicate_root", "project_root is already registered", (("existing", existing),))
    said = await burst(one.path, "workspace.create", wanted)
    assert said == {"error": "project_root is already registered", "code": "duplicate_root", "existing": existing}


@pytest.mark.parametrize("key", ["ws-web-1", "web"])
async def test_destroy_when_done_then_its_id_and_what_was_removed(one: Daemon, key: str) -> None:
    """Daemon wire 3.9."""
    one.rows.add("web")
    assert await burst(one.path, "workspace.destroy", {"workspace_id": key}) == {
        "workspace_id": "ws-web-1",
        "slug": "web",
        "label": "web",
        "tmux_killed": False,
        "toml_removed": True,
    }
    said = await burst(one.path, "workspace.destroy", {"workspace_id": key})
    assert said == {"error": f"unknown workspace: {key}", "code": "unknown_workspace"}


async def test_destroy_when_the_run_is_not_proved_ended_then_the_row_stays(one: Daemon) -> None:
    words = "capsule workspace could not be safely deleted: its capsule is there, and does not end"
    one.rows.add("web")
    one.rows.refuses = Refused("capsule_end_not_reached", words)
    said = await burst(one.path, "workspace.destroy", {"workspace_id": "web"})
    assert said == {"error": words, "code": "capsule_end_not_reached"}
    assert one.rows.find("web")


async def test_activate_when_a_person_moves_there_then_viewed_and_else_not(one: Daemon) -> None:
    """Daemon wire 3.10: `read:true` "is the only trigger of the unread clear"."""
    row = one.rows.add("web")
    for asked, answer in (
        ({"workspace_id": "web", "read": False}, {"workspace_id": row.id}),
        ({"workspace_id": row.id}, {"workspace_id": row.id}),
        ({"workspace_id": None, "read": True}, {}),
        ({"workspace_id": "other", "read": True}, {}),
    ):
        assert await burst(one.path, "workspace.activate", asked) == answer
    assert not one.rows.seen
    assert await burst(one.path, "workspace.activate", {"workspace_id": "web", "read": True}) == {
        "workspace_id": row.id
    }
    assert one.rows.seen == [row.id]


def typing(key: str, text: bytes, **more: object) -> dict[str, object]:
    return {"workspace_id": key, "data_b64": base64.b64encode(text).decode(), **more}


async def test_input_when_typed_then_its_bytes_and_what_became_of_enter(one: Daemon) -> None:
    """Daemon wire 3.11."""
    row = one.rows.add("web")
    said = await burst(one.path, "pty.input", typing("web", b"echo \xff", enter=True, origin="probe"))
    assert said == {"ok": True, "runtime": "capsule", "bytes": 6, "enter": "sent"}
    said = await burst(one.path, "pty.input", typing(row.id, b"ls"))
    assert said == {"ok": True, "runtime": "capsule", "bytes": 2, "enter": "not_sent"}
    assert one.rows.typed == [(row.id, b"echo \xff", False), (row.id, b"\r", True), (row.id, b"ls", False)]


async def test_input_when_two_texts_are_for_one_row_then_never_into_each_other(one: Daemon) -> None:
    row = one.rows.add("web")
    one.rows.hold = asyncio.Event()
    async with Caller(one.path) as first, Caller(one.path) as second:
        for caller, text in ((first, b"one"), (second, b"two")):
            await caller.greet()
            caller.say(request("pty.input", typing(row.id, text, enter=True)))
            await caller.ask("ping", {})
        one.rows.hold.set()
        for caller in (first, second):
            await caller.frame("pty.input")
    assert [data for _, data, _ in one.rows.typed] == [b"one", b"\r", b"two", b"\r"]


async def test_input_when_refused_then_each_reason_has_its_code(one: Daemon) -> None:
    """Daemon wire 3.11."""
    row = one.rows.add("web", phase=Phase.ENDING)
    said = await burst(one.path, "pty.input", typing("other", b"x"))
    assert said == {"error": "unknown workspace: other", "code": "unknown_workspace"}
    for bad in ("a", "a b=", "é", "YQ==\n"):
        said = await burst(one.path, "pty.input", {"workspace_id": "web", "data_b64": bad})
        assert said["code"] == "bad_request"
    assert (await burst(one.path, "pty.input", typing("web", b"x", origin="é" * 65)))["code"] == "bad_origin"
    said = await burst(one.path, "pty.input", typing(row.id, b"x", origin="o" * 128))
    assert said == {
        "error": "capsule row not ready (phase: ending)",
        "code": "capsule_not_ready",
        "phase": "ending",
    }
    said = await burst(one.path, "pty.input", typing("web", b""))
    assert said == {"ok": True, "runtime": "capsule", "bytes": 0, "enter": "not_sent"}


@pytest.mark.parametrize("phase", [Phase.STOPPED, Phase.ENDED, Phase.TERMINAL])
async def test_input_when_the_row_does_not_run_then_a_stopped_one_is_started_and_an_ended_one_is_not(
    one: Daemon, phase: Phase
) -> None:
    """Daemon wire 3.11: "A row with no live supervisor is first resumed in place."; what ended is not brought back."""
    one.rows.add("web", phase=phase)
    said = await burst(one.path, "pty.input", typing("web", b"x"))
    assert said.get("ok", False) is (phase is Phase.STOPPED)
    assert said.get("code", "capsule_not_ready") == "capsule_not_ready"


async def test_input_when_the_row_was_not_looked_at_yet_then_waited_for_and_nothing_is_started(one: Daemon) -> None:
    """A daemon that has just started says `stopped` of a row whose capsule lives (daemon wire 4.3)."""
    row = one.rows.add("web", phase=Phase.STOPPED)
    one.rows.began, one.rows.refuses = False, Refused("capsule_not_ready", "its capsule lives")
    async with Caller(one.path) as caller:
        await caller.greet()
        caller.say(request("pty.input", typing("web", b"x"), 2))
        assert await caller.ask("ping", {}, 3) == {"ok": True}
        one.rows.rows[row.id] = replace(row, phase=Phase.READY)
        one.rows.began = True
        assert (await caller.frame("pty.input"))["payload"]["ok"] is True


async def test_screen_when_read_then_its_rows_without_the_blanks_at_their_ends(one: Daemon) -> None:
    """Daemon wire 3.11."""
    one.rows.add("web")
    assert await burst(one.path, "pty.screen", {"workspace_id": "web"}) == {
        "runtime": "capsule",
        "cols": 6,
        "rows": 2,
        "lines": ["❯ hi", "日"],
        "cursor": {"row": 1, "col": 2},
    }
    said = await burst(one.path, "pty.screen", {"workspace_id": "other"})
    assert said == {"error": "unknown workspace: other", "code": "unknown_workspace"}


# -- about the daemon, and the frontends ------------------------------------------------------------------------------


async def test_version_when_asked_then_the_daemon_and_who_is_connected(one: Daemon) -> None:
    """Daemon wire 3.12."""
    async with Caller(one.path) as front:
        await front.greet(role="fe", name="fe@desk", instance="i1", client_id="fe-1")
        one_session = {"handle": "h", "state": "working", "summary": "s", "status_at": ""}
        assert await front.ask("fe.sessions", {"sessions": [{**one_session, "more": 1}]}) == {"ok": True}
        assert await front.ask("fe.presence", {}) == {"ok": True}
        said = await burst(one.path, "version.query", {})
    assert {**said["daemon"], "uptime_s": 0} == {
        "app_version": "9.9",
        "protocol": 3,
        "lane_build": "9.9",
        "lane_proto": 1,
        "host": "atlas",
        "hosts_toml_hash": "",
        "uptime_s": 0,
        "comm_home": one.home.path,
        "program": "sot-tui",
    }
    assert said["clients"][0] == {
        "client_id": "fe-1",
        "app_version": "comm",
        "protocol": 3,
        "host": "atlas",
        "role": "fe",
        "instance": "i1",
        "name": "fe@desk",
        "active": True,
        "sessions": [one_session],
    }
    assert said["disconnected"] == []


@pytest.mark.parametrize("sessions", [None, {}, [1], [{"handle": 1}], [{}] * 1001])
async def test_sessions_when_they_are_none_then_a_handler_error(one: Daemon, sessions: object) -> None:
    assert (await burst(one.path, "fe.sessions", {"sessions": sessions}))["code"] == "handler_error"


async def test_accounts_when_listed_then_the_default_first_and_who_is_logged_in(one: Daemon) -> None:
    """Daemon wire 3.12."""
    home = Path(os.environ["HOME"])
    for folder, logged_in in ((".claude", False), (".claude-auth/work", True), (".claude-auth/b c", True)):
        (home / folder).mkdir(parents=True)
        if logged_in:
            (home / folder / ".credentials.json").write_text("{}")
    assert await burst(one.path, "accounts.list", {}) == {
        "accounts": [
            {"name": "default", "kinds": ["claude"], "logged_in": {"claude": False}},
            {"name": "work", "kinds": ["claude"], "logged_in": {"claude": True}},
        ]
    }


async def test_command_when_for_the_frontends_then_published_and_counted(one: Daemon) -> None:
    """Daemon wire 3.12 and 2.3."""
    asked = {"cmd": "open-url", "args": {"url": "x"}}
    assert await burst(one.path, "fe.command.send", asked) == {"ok": True, "delivered_to": 0}
    async with Caller(one.path) as front, Caller(one.path) as other:
        await front.greet(role="fe", name="fe@desk")
        await other.greet(role="fe", name="fe@lap")
        assert await burst(one.path, "fe.command.send", asked) == {"ok": True, "delivered_to": 2}
        assert await front.event("fe.command") == {"v": 1, **asked}
        said = await burst(one.path, "fe.command.send", {**asked, "target": "fe@lap"})
        assert said == {"ok": True, "resolved_target": "fe@lap", "delivered_to": 1}
        assert await front.event("fe.command") == {"v": 1, **asked, "target": "fe@lap"}
        said = await burst(one.path, "fe.command.send", {**asked, "target": "fe@gone"})
        assert said == {"ok": True, "delivered_to": 0}


async def test_list_of_boxes_when_it_changes_then_all_are_told(one: Daemon) -> None:
    """Daemon wire 2.3."""
    async with Caller(one.path) as caller:
        await caller.greet()
        boxes(TWO_BOXES)
        said = await caller.event("topology.changed")
        assert (await caller.ask("version.query", {}))["daemon"]["hosts_toml_hash"] == said["hash"] != ""


# -- another account --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="another account can only be acted by root")
async def test_another_account_when_it_tries_then_it_can_connect_to_read_and_write_nothing(one: Daemon) -> None:
    """Daemon wire 2.1: "Unix peers whose effective uid is not the daemon's are dropped before a byte is read"."""
    for folder in (Path(one.path).parent, Path(one.path).parent.parent, Path(os.environ["XDG_RUNTIME_DIR"])):
        # Opened for the other account, so that the kernel's word on the peer is what turns it away.
        assert folder.stat().st_mode & 0o077 == 0
    tried = await asyncio.to_thread(_as_another_account, one.path)
    assert tried == "PermissionError"
    for opened in (one.path, *map(str, Path(one.path).parents[:4])):
        os.chmod(opened, 0o777)
    assert await asyncio.to_thread(_as_another_account, one.path) == "b''"
    assert ("a process of another account was turned away from the control socket", False) in one.log


def _as_another_account(path: str) -> str:
    """Connect as nobody in a process of its own; return what came of it."""
    import subprocess
    import sys

    program = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "one = socket.socket(socket.AF_UNIX); one.settimeout(10)\n"
        "try:\n"
        "    one.connect(sys.argv[1]); one.sendall(sys.argv[2].encode()); print(one.recv(100))\n"
        "except (ConnectionResetError, BrokenPipeError): print(b'')\n"
        "except OSError as error: print(type(error).__name__)\n"
    )
    words = [sys.executable, "-I", "-c", program, path, (hello() + request("ping", {})).decode()]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    assert not ran.stderr
    return ran.stdout.strip()
