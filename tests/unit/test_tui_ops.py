"""Our own ops: the newest fleet, the notice that there is a newer one, and what a person asks for (docs/wire.md)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import ancestry, fleet_json
from sot_tui.comm.disk import Disk
from sot_tui.comm.fleet import Agent, Stance
from sot_tui.comm.home import Home
from sot_tui.engine.client import (
    Broadcast,
    BroadcastDone,
    ClearDone,
    Drafts,
    KeepDraft,
    KeptDraft,
    Kind,
    LayOut,
    Letter,
    OpenMail,
    Outcome,
    Page,
    ReadLetter,
    Recover,
    Recovered,
    Recovery,
    RestWrites,
    Search,
    Send,
    Spot,
)
from sot_tui.engine.ops import values
from sot_tui.engine.service import Engine
from tests.caller import DEADLINE_S, Caller, burst, hello, request
from tests.daemons import Daemon, daemon
from tests.mailbox import mail_home
from tests.screens.real import hold_lock, kill

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LETTER = Letter(3, Kind.DIRECTED, "a", "h", "r", "hi", "2026-01-01T00:00:00Z", read=False, inbox="h", mark="1-2")


@pytest.fixture
def home(comm_home: Path) -> Home:
    found = mail_home(comm_home)
    (comm_home / "registry.json").write_text('{"protocol_version":1,"agents":{}}')
    return found


@pytest.fixture
async def one(home: Home) -> AsyncIterator[Daemon]:
    # The test itself may run below an agent; who is a person is tested by processes of its own.
    async with daemon(home, no_person=lambda _home, _pid: "") as found:
        yield found


async def do(one: Daemon, command: str, **fields: object) -> Any:
    return await burst(one.path, "tui.do", {"command": command, "fields": fields})


# -- the fleet --------------------------------------------------------------------------------------------------------


async def test_fleet_when_asked_then_as_list_json_has_it_with_its_revision(one: Daemon) -> None:
    agents = {"web": Agent("web", host="atlas")}
    one.desk.fleet = one.desk.fleet._replace(agents=agents, revision=41)
    said = await burst(one.path, "tui.fleet", {})
    assert said["revision"] == 41
    expected = fleet_json.fleet_object(one.desk.fleet, one.desk.now())
    assert {**said, "at": ""} == {"revision": 41, **expected, "at": ""}
    assert said["agents"][0]["handle"] == "web"


async def test_changed_when_the_fleet_changes_often_then_one_notice_until_it_is_asked_for_again(one: Daemon) -> None:
    async with Caller(one.path) as looks, Caller(one.path) as other:
        await looks.greet(role="fe")
        await other.greet()
        one.desk.change()
        for _ in range(2):
            await looks.ask("tui.fleet", {})
            for _ in range(50):
                one.desk.change()
            assert await looks.event("tui.changed") == {}
            assert await looks.ask("ping", {}) == {"ok": True}
        assert sum(b"tui.changed" in line for line in looks.lines) == 2
        assert looks.lines[2] == b'{"v":1,"id":0,"kind":"evt","op":"tui.changed","payload":{}}\n'
        assert await other.ask("ping", {}) == {"ok": True}
        assert len(other.lines) == 2


async def test_changed_when_the_fleet_changes_while_it_is_answered_then_told_behind_the_answer(one: Daemon) -> None:
    one.desk.at_now = one.desk.change
    async with Caller(one.path) as looks:
        await looks.greet()
        assert (await looks.ask("tui.fleet", {}))["revision"] == 0
        assert await looks.event("tui.changed") == {}
    assert [b"tui.changed" in line for line in looks.lines] == [False, False, True]


# -- commands ---------------------------------------------------------------------------------------------------------


async def test_do_when_a_person_asks_then_done_and_its_outcome_is_the_answer(one: Daemon) -> None:
    one.desk.outcome = Outcome(good=True, sentence="filed -> @h")
    assert await do(one, "send", to="h", text="hi") == {
        "ok": True,
        "outcome": {"good": True, "sentence": "filed -> @h"},
    }
    one.desk.outcome = Recovered(Recovery.ANOTHER, "it is free")
    said = await do(one, "recover", record="a:b:c:d:1:2")
    assert said["outcome"] == {"what": "another", "sentence": "it is free"}
    one.desk.outcome = Page("h", (LETTER,), total=3)
    said = await do(one, "open_mail", handle="h", newest=10)
    assert said["outcome"]["letters"][0]["kind"] == "directed"
    assert one.desk.done == [Send("h", "hi"), Recover("a:b:c:d:1:2"), OpenMail("h", 10)]


@pytest.mark.parametrize(
    ("command", "fields", "words"),
    [
        ("send", {"to": "h"}, "Send needs 'text'"),
        ("send", {"to": "h", "text": "x", "more": 1}, "Send has no field 'more'"),
        ("send", {"to": 1, "text": "x"}, "to: 1 is no str"),
        ("send", [], "Send needs 'to'"),
        ("send", [1], "it is no object for Send"),
        ("set_aside", {"handle": "h", "aside": 1}, "aside: 1 is no bool"),
        ("listed", {"batch": True}, "batch: True is no int"),
        ("broadcast", {"text": "x", "only": "h"}, "only: it is no list"),
        ("read_letter", {"letter": {"line": 1}}, "letter: Letter needs 'kind'"),
        ("read_letter", {"letter": {"line": 1, "kind": "NONE"}}, "letter: kind: 'NONE' is no Kind"),
    ],
)
async def test_do_when_the_command_makes_no_sense_then_refused_and_nothing_is_done(
    one: Daemon, command: str, fields: object, words: str
) -> None:
    said = await burst(one.path, "tui.do", {"command": command, "fields": fields})
    assert said == {"error": f"{command}: {words}", "code": "bad_command"}
    assert not one.desk.done


async def test_do_when_there_is_no_such_command_then_refused(one: Daemon) -> None:
    for name in ("Send", "command", "", "__init__"):
        said = await do(one, name)
        assert said == {"error": f"there is no command {name!r}", "code": "unknown_command"}
    assert (await burst(one.path, "tui.do", {}))["code"] == "handler_error"


def test_commands_when_listed_then_each_can_be_named_and_read_back() -> None:
    assert {"send", "clear_done", "open_mail", "recover", "keep_draft", "read_events"} <= values.commands().keys()
    for command in (
        Send("h", "hi"),
        ClearDone("h"),
        OpenMail("h", poll=True),
        ReadLetter(LETTER),
        Search(("a",), spot=Spot(("h", "i"), None, 1, 2)),
        Broadcast("x", ("a", "b")),
        KeepDraft(KeptDraft("s", "h", "text", left=("a",))),
        LayOut("x", LETTER),
        LayOut("x"),
    ):
        kind = values.commands()[values.name_of(type(command))]
        said = json.loads(json.dumps(values.encoded(command)))
        assert values.decoded(kind, said) == command


async def test_rest_when_its_window_is_gone_then_the_engine_s_own_writes_go_on(one: Daemon) -> None:
    """A recover dialog lets them rest; a window that dies with one open must not stop them for good."""
    one.desk.outcome = Outcome(good=True)
    async with Caller(one.path) as window:
        await window.greet(role="fe")
        for rest in (True, True, False):
            await window.ask("tui.do", {"command": "rest_writes", "fields": {"rest": rest}})
        rests = [RestWrites(rest=True), RestWrites(rest=True), RestWrites(rest=False)]
        assert one.desk.done == rests
        window.writer.transport.abort()
        async with asyncio.timeout(DEADLINE_S):
            while len(one.desk.done) == len(rests):  # noqa: ASYNC110  (nobody tells)
                await asyncio.sleep(0.005)
        assert one.desk.done == [*rests, RestWrites(rest=False)]


@dataclass(frozen=True)
class _Odd:
    either: int | str


def test_value_when_its_type_is_not_certain_then_refused() -> None:
    with pytest.raises(values.BadValue):
        values.decoded(_Odd, {"either": 1})
    with pytest.raises(values.BadValue):
        values.decoded(dict, {})
    assert values.decoded(float, 1) == 1.0
    assert values.encoded(Drafts((KeptDraft("s", "h", "x"),), ("f",)))["faults"] == ["f"]
    assert values.encoded({"a": {1}, "b": BroadcastDone(good=True, sentence="")})["b"]["left"] == []


# -- who is a person --------------------------------------------------------------------------------------------------

ASK = """\
import socket, sys
one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[1]); one.sendall(sys.argv[2].encode())
for line in one.makefile("rb"):
    if b'"op":"tui.do"' in line:
        print(line.decode(), end="")
        break
"""


def asking(path: str, above: str) -> dict[str, Any]:
    """Ask from a process of its own, below a program of this name, or as one; return the answer's payload."""
    said = (hello() + request("tui.do", {"command": "send", "fields": {"to": "h", "text": "x"}})).decode()
    words = [sys.executable, "-I", "-c", ASK, path, said]
    if above:
        # A program of that name that waits for the one that asks.
        run = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
        words = [above, "-I", "-c", run, *words]
    ran = subprocess.run(words, executable=sys.executable, capture_output=True, text=True, check=False, timeout=30)
    assert not ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)["payload"]
    return found


def above_us(home: Home) -> str:
    """Return what keeps this very test from passing for a person, if anything does."""
    return ancestry.not_a_person(home, os.getpid())


async def test_do_when_an_agent_or_a_capsule_is_above_then_refused_and_a_person_is_served(home: Home) -> None:
    """Contract, Cases: "agents are named, not launchers"; "an ancestry it cannot read in full ... is refused, not
    trusted"."""
    async with daemon(home) as one:
        one.desk.outcome = Outcome(good=True)
        folder = os.path.dirname(sys.executable)
        for above, why in (
            ("claude", "it runs below claude, an agent"),
            ("codex", "it runs below codex, an agent"),
            (f"{folder}/sot-capsule", "it runs inside a row"),
        ):
            said = await asyncio.to_thread(asking, one.path, above)
            assert said["code"] == "not_a_person"
            assert said["error"].startswith("send is not done for process ")
            assert said["error"].endswith(f": {why}; only a person's own process may ask for it")
        assert not one.desk.done
        if not above_us(home):
            assert await asyncio.to_thread(asking, one.path, "") == {
                "ok": True,
                "outcome": {"good": True, "sentence": ""},
            }
            assert one.desk.done == [Send("h", "x")]


def test_person_when_a_process_is_itself_an_agent_or_cannot_be_read_then_it_is_none(home: Home) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    words = ["codex", "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(words, executable=sys.executable, **pipes) as agent:  # type: ignore[call-overload]  # two pipes
        try:
            assert agent.stdout.readline() == b"up\n"
            assert ancestry.not_a_person(home, agent.pid) == "it runs below codex, an agent"
        finally:
            agent.kill()
    assert ancestry.not_a_person(home, agent.pid) == "its ancestors cannot be read in full"


class Blank(Disk):
    """A disk on which this process is just becoming another program."""

    def read(self, path: str) -> bytes:
        return b"" if path == f"/proc/{os.getpid()}/cmdline" else super().read(path)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process is listed by ps")
def test_person_when_a_process_has_no_command_line_then_it_is_none(comm_home: Path) -> None:
    blank = Home(str(comm_home), Blank())
    why = ancestry.not_a_person(blank, os.getpid())
    assert why == ancestry.not_a_person(Home(str(comm_home)), os.getpid()) or why.startswith("its ancestors cannot")
    assert why


# -- the engine behind it ---------------------------------------------------------------------------------------------


async def test_engine_when_it_hosts_then_it_is_asked_for_its_fleet_and_tells_of_its_changes(home: Home) -> None:
    environ = {**os.environ, "SOT_SELF_HOST": "box"}
    async with Engine(home, environ, tick_s=0.1) as engine:
        async with asyncio.timeout(DEADLINE_S):
            await engine.serving.wait()
        assert engine.server is not None
        async with Caller(engine.server.site.path) as caller:
            await caller.greet(host="box")
            said: Any = {}
            async with asyncio.timeout(DEADLINE_S):
                while "operator-box" not in [agent["handle"] for agent in said.get("agents", [])]:
                    said = await caller.ask("tui.fleet", {})
                    if "operator-box" not in [agent["handle"] for agent in said["agents"]]:
                        await caller.event("tui.changed")
            assert said["revision"] <= engine.fleet.revision
            assert (said["home"], said["host"], said["operator"]) == (home.path, "box", "operator-box")
            assert engine.fleet.stance is Stance.HOST
        path = engine.server.site.path
    assert not os.path.exists(path)


async def test_engine_when_it_has_no_window_then_it_serves_and_nobody_is_the_operator(home: Home) -> None:
    environ = {**os.environ, "SOT_SELF_HOST": "box"}
    async with Engine(home, environ, window=False, tick_s=0.05) as engine:
        async with asyncio.timeout(DEADLINE_S):
            await engine.serving.wait()
        assert engine.server is not None
        said = await burst(engine.server.site.path, "version.query", {}, host="box")
        assert said["daemon"]["program"] == "sot-tui"
        assert engine.fleet.operator == "operator-box"
    assert json.loads(Path(home.registry).read_text())["agents"] == {}


async def test_rows_when_one_waits_for_the_registry_lock_then_no_other_request_does(
    home: Home, comm_home: Path
) -> None:
    """Lock order: the row's lock, then the registry's; what waits there delays nothing else."""
    done = {"host": "box", "done": True, "state": "done", "last_seen": "2026-01-01T00:00:00Z"}
    Path(home.registry).write_text(json.dumps({"protocol_version": 1, "agents": {"docs": done}}))
    environ = {**os.environ, "SOT_SELF_HOST": "box", "SHELL": "/bin/sh"}
    async with Engine(home, environ, window=False) as engine:
        async with asyncio.timeout(DEADLINE_S):
            await engine.serving.wait()
        assert engine.server is not None
        path = engine.server.site.path
        rows = []
        for name in ("docs", "web"):
            (comm_home.parent / name).mkdir()
            wanted = {"label": name, "project_root": str(comm_home.parent / name), "agent_name": name}
            made = await burst(path, "workspace.create", wanted, host="box")
            rows.append(made["workspace_id"])
        holder = hold_lock(home)
        try:
            async with Caller(path) as caller:
                await caller.greet(host="box")
                caller.say(request("workspace.activate", {"workspace_id": "docs", "read": True}, 2))
                for row, handle in zip(rows, ("a", "b"), strict=True):
                    assert await caller.ask("agent.join", {"workspace_id": row, "handle": handle}) == {"ok": True}
                assert not any(b"workspace.activate" in line for line in caller.lines)
                assert (await caller.frame("workspace.activate"))["payload"] == {"workspace_id": rows[0]}
        finally:
            kill(holder)
            os.unlink(home.lock)  # its holder is of another machine than this test's, and would be waited for
        for row in rows:
            assert "error" not in await burst(path, "workspace.destroy", {"workspace_id": row}, host="box")
