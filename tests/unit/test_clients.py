"""One protocol, one suite for both clients: whatever a screen asks for, it cannot tell where the engine is."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sot_tui.comm import about, frames, inbox
from sot_tui.comm.clock import stamp
from sot_tui.comm.fleet import LockPhase, Reading, Stance
from sot_tui.comm.home import Home
from sot_tui.engine import fold, remote
from sot_tui.engine.client import (
    Broadcast,
    ClearDone,
    DropDraft,
    KeepDraft,
    KeptDraft,
    LayOut,
    Leave,
    Listed,
    ListFolders,
    LoadDrafts,
    LookAtLock,
    LookAtLocks,
    NotLive,
    OpenMail,
    Outcome,
    ReadEvents,
    ReadLetter,
    Recover,
    Recovery,
    ResumeRow,
    Search,
    Send,
    SetAside,
    TakeUp,
    What,
)
from sot_tui.engine.executors import Pool
from sot_tui.engine.service import Engine, LocalClient
from tests.daemons import daemon
from tests.screens.real import DEADLINE_SECS, entry, hold_lock, kill, put

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from sot_tui.engine.client import Client

DONE: dict[str, object] = {"state": "done", "done": True, "summary": "built"}
STALE: dict[str, object] = {"state": "idle", "last_seen": "2001-01-01T00:00:00Z"}
ODD = 'zwölf \U0001f600 \u202e \x1b[31m \\u0041 "quoted" end'


def environ() -> dict[str, str]:
    return {**os.environ, "SOT_SELF_HOST": "box", "SHELL": "/bin/sh"}


async def until(fact: Callable[[], object], what: str, secs: float = DEADLINE_SECS) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + secs
    while not fact():
        assert loop.time() < deadline, f"it never came: {what}"
        await asyncio.sleep(0.02)


class At(NamedTuple):
    """An engine, and a client of it."""

    home: Home
    engine: Engine
    client: Client


async def served(home: Home, engine: Engine, pool: Pool) -> remote.SocketClient:
    async with asyncio.timeout(DEADLINE_SECS):
        await engine.serving.wait()
    assert engine.server is not None
    found = await remote.connect(home, environ(), engine.server.site.path, pool.run)
    assert isinstance(found, remote.SocketClient), found
    return found


def engine_at(home: Home, *, window: bool = True) -> Engine:
    # The test itself may run below an agent; who is a person is tested by processes of their own.
    return Engine(home, environ(), window=window, tick_s=0.1, no_person=lambda _home, _pid: "")


@pytest.fixture
def pool() -> Pool:
    return Pool("test", 4)


@asynccontextmanager
async def client_of(kind: str, home: Home, pool: Pool) -> AsyncIterator[At]:
    async with engine_at(home) as engine:
        client = LocalClient(engine) if kind == "local" else await served(home, engine, pool)
        await until(lambda: "operator-box" in client.fleet.agents, "the join")
        await until(lambda: set(client.fleet.mail) == set(client.fleet.agents), "the counts")
        try:
            yield At(home, engine, client)
        finally:
            if isinstance(client, remote.SocketClient):
                await client.close()
                pool.close()


@pytest.fixture(params=["local", "socket"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_fleet_when_it_changes_then_it_is_told_and_the_engine_s_very_own(
    comm_home: Path, kind: str, pool: Pool
) -> None:
    home = put(comm_home, anna={"state": "working", "summary": ODD})
    async with client_of(kind, home, pool) as at:
        told: list[int] = []
        unheard = at.client.listen(lambda: told.append(at.client.fleet.revision))
        assert at.client.fleet.registry.reading is Reading.PRESENT
        put(comm_home, bob=DONE, anna=None)
        await until(lambda: "bob" in at.client.fleet.agents, "the newcomer")
        await until(lambda: fold._seen(at.client.fleet) == fold._seen(at.engine.fleet), "the very same")
        assert list(at.client.fleet.agents) == list(at.engine.fleet.agents)
        assert "anna" not in at.client.fleet.agents
        assert told == sorted(told) != []
        unheard()
        count = len(told)
        put(comm_home, carl=DONE)
        await until(lambda: "carl" in at.client.fleet.agents, "another one")
        assert len(told) == count


async def test_commands_when_they_are_done_then_have_the_outcomes_of_their_own_types(
    comm_home: Path, kind: str, pool: Pool
) -> None:
    home = put(comm_home, anna=DONE, gone=STALE)
    async with client_of(kind, home, pool) as at:
        do = at.client.do
        assert await do(Send("anna", ODD)) == Outcome(good=True, sentence="filed -> @anna")
        assert not (await do(Send("nobody", "x"))).good
        broadcast = await do(Broadcast("to all"))
        assert (broadcast.good, broadcast.sentence) == (False, "Broadcast to 1 of 2 agent(s).")
        assert broadcast.left == ("gone",)
        assert await do(ClearDone("anna")) == Outcome(good=True, sentence="cleared the done of @anna")
        assert "done" not in entry(home, "anna")
        assert (await do(Leave("gone"))).good
        assert (await do(LookAtLock())).phase is LockPhase.FREE
        locks = await do(LookAtLocks())
        assert (locks.registry.phase, locks.markers.chain) == (LockPhase.FREE, ())
        assert (await do(Recover("nothing"))).what is Recovery.ANOTHER
        assert not (await do(SetAside("anna"))).good
        assert not (await do(ResumeRow("none"))).good
        assert (await do(ListFolders(f"{comm_home}/in"))).names == (f"{comm_home}/inbox",)
        events = await do(ReadEvents())
        assert {What.ENGINE, What.OPERATOR, What.MAIL, What.DONE} <= {line.what for line in events.lines}
        page = await do(OpenMail("anna"))
        assert [letter.text for letter in page.letters] == [ODD, "to all"]
        assert (await do(ReadLetter(page.letters[0]))).text == ODD
        found = await do(Search(("zwölf",)))
        assert [letter.text for letter in found.letters] == [ODD]
        assert isinstance(await at.client.viewer("ws-none-1"), NotLive)


async def test_mail_of_the_person_when_it_is_polled_and_listed_then_the_cursor_moves(
    comm_home: Path, kind: str, pool: Pool
) -> None:
    home = put(comm_home)
    async with client_of(kind, home, pool) as at:
        line = frames.frame("anna", "operator-box", "r", "hello", stamp(home.clock.now()))
        assert isinstance(inbox.file_line(home, "operator-box", line), inbox.Filed)
        await until(lambda: at.client.fleet.mail_of("operator-box").unread == 1, "the count")
        polled = await at.client.do(OpenMail("operator-box", poll=True))
        assert [letter.text for letter in polled.letters] == ["hello"]
        assert (await at.client.do(Listed(polled.batch))).good
        assert (comm_home / "read" / "operator-box.cursor").exists()
        await until(lambda: at.client.fleet.mail_of("operator-box").unread == 0, "it is read")


async def test_page_when_it_is_larger_than_a_frame_then_comes_whole(comm_home: Path, kind: str, pool: Pool) -> None:
    home = put(comm_home, anna=DONE)
    text = 'ä"\\' * 1300
    line = frames.frame("bob", "anna", "r", text, stamp(home.clock.now()))
    (comm_home / "inbox" / "anna.jsonl").write_bytes(line * 450)
    async with client_of(kind, home, pool) as at:
        page = await at.client.do(OpenMail("anna"))
        assert [letter.text for letter in page.letters] == [text] * 450


async def test_drafts_and_sheets_when_they_are_kept_then_come_back(comm_home: Path, kind: str, pool: Pool) -> None:
    home = put(comm_home)
    async with client_of(kind, home, pool) as at:
        draft = KeptDraft("to:anna", "anna", "two\nlines", left=("a", "b"), to_all=True)
        assert (await at.client.do(KeepDraft(draft))).good
        (kept,) = (await at.client.do(LoadDrafts())).drafts
        assert (kept.text, kept.left, kept.to_all) == (draft.text, draft.left, True)
        assert (await at.client.do(DropDraft("to:anna"))).good
        sheet = await at.client.do(LayOut("text"))
        assert not sheet.fault
        assert (await at.client.do(TakeUp(sheet))).text == "text"


async def test_lock_when_its_holder_dies_then_is_recovered(comm_home: Path, kind: str, pool: Pool) -> None:
    home = put(comm_home)
    async with client_of(kind, home, pool) as at:
        holder = hold_lock(home)
        kill(holder)
        seen = await at.client.do(LookAtLock())
        done = await at.client.do(Recover(seen.record))
        assert done.what in {Recovery.CLEARED, Recovery.REFUSED}
        assert done.sentence


async def test_fleet_when_nothing_changes_then_when_it_was_last_looked_at_is_known_all_the_same(
    comm_home: Path, kind: str, pool: Pool
) -> None:
    home = put(comm_home, anna=DONE)
    async with client_of(kind, home, pool) as at:
        first = at.client.fleet.registry.read_at
        assert first is not None
        await until(lambda: (at.client.fleet.registry.read_at or 0) > first, "a later look")


# -- what only a client in another process meets -----------------------------------------------------------------------


async def test_socket_when_commands_are_asked_at_once_then_each_has_its_own_answer(comm_home: Path, pool: Pool) -> None:
    home = put(comm_home, anna=DONE)
    async with client_of("socket", home, pool) as at:
        handles = [f"nobody-{number}" for number in range(100)]
        done = await asyncio.gather(*(at.client.do(Send(handle, "x")) for handle in handles))
        for handle, outcome in zip(handles, done, strict=True):
            assert outcome.sentence.startswith(f"FAILED -> @{handle}: ")


async def test_socket_when_a_command_is_longer_than_a_frame_then_it_never_leaves(comm_home: Path, pool: Pool) -> None:
    home = put(comm_home, anna=DONE)
    async with client_of("socket", home, pool) as at:
        said = await at.client.do(Send("anna", "x" * (1 << 20)))
        assert not said.good
        assert said.sentence.startswith("FAILED -> @anna: frame envelope is ")
        assert said.sentence.endswith("; cap is 1048576; nothing was sent")
        assert (await at.client.do(Send("anna", "y"))).good


async def test_socket_when_the_engine_ends_then_its_fleet_says_so_and_nothing_is_asked_twice(
    comm_home: Path, pool: Pool
) -> None:
    home = put(comm_home, anna=DONE)
    engine = engine_at(home)
    async with engine:
        client = await served(home, engine, pool)
        assert client.fleet.stance is Stance.HOST
    await until(client.lost.is_set, "it is told")
    assert (client.fleet.stance, "anna" in client.fleet.agents) == (Stance.VIEWER, True)
    assert client.fleet.stance_why == "the engine is gone; this dashboard takes over, or joins the one that does"
    refused = await client.do(Send("anna", "x"))
    assert refused == Outcome(good=False, sentence="FAILED -> @anna: the engine is gone; nothing was sent")
    assert (await client.do(OpenMail("anna"))).fault == "the engine is gone"
    await client.close()
    pool.close()


async def test_operator_when_the_engine_has_no_window_of_its_own_then_is_there_while_another_process_s_is(
    comm_home: Path, pool: Pool
) -> None:
    """Product: the person is live while a dashboard is open, wherever the engine runs."""
    home = put(comm_home)
    async with engine_at(home, window=False) as engine:
        client = await served(home, engine, pool)
        await until(lambda: "operator-box" in client.fleet.agents, "the join")
        assert engine.windows == 1
        other = await served(home, engine, pool)
        assert engine.windows == 2
        for one in (client, other):
            await one.close()
        await until(lambda: engine.windows == 0, "both are gone")
    pool.close()


async def test_window_when_its_process_is_no_person_s_then_is_not_let_in(comm_home: Path, pool: Pool) -> None:
    home = put(comm_home)
    async with Engine(home, environ(), no_person=lambda _home, _pid: "it runs below claude, an agent") as engine:
        async with asyncio.timeout(DEADLINE_SECS):
            await engine.serving.wait()
        assert engine.server is not None
        said = await remote.connect(home, environ(), engine.server.site.path, pool.run)
        assert isinstance(said, remote.Unserved)
        assert "it runs below claude, an agent; only a person's own process may ask for it" in said.why
        assert engine.windows == 0
        other = await remote.connect(Home(f"{comm_home}-other"), environ(), engine.server.site.path, pool.run)
        assert isinstance(other, remote.Unserved)
        assert other.why.startswith(f"this daemon serves the comm home {comm_home}, and you are on {comm_home}-other")
    nobody = await remote.connect(home, environ(), engine._hosting.path, pool.run)
    assert nobody == remote.Unserved(f"nobody answers at {engine._hosting.path}", yet=True)
    pool.close()


async def test_window_when_the_engine_is_of_another_version_or_make_then_is_not_let_in(
    comm_home: Path, pool: Pool
) -> None:
    home = put(comm_home)
    async with daemon(home, no_person=lambda _home, _pid: "") as other:
        said = await remote.connect(home, environ(), other.path, pool.run)
        assert said == remote.Unserved(f"it is version 9.9, and this is {about.version()}: end the older one")
        assert not other.desk.done
    path = f"{os.environ['XDG_RUNTIME_DIR']}/foreign.sock"
    says: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"".join(says))
        await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(answer, path):
        for line, why in (
            (b'{"v":1,"id":1,"kind":"res","op":"hello","payload":{"protocol":3}}\n', "it is another daemon, which"),
            (b'{"v":1,"id":1,"kind":"res","op":"hello","payload":{"error":"no","code":"x"}}\n', "no"),
            (b"login: \n", "what it says is not understood: what it says is no frame"),
        ):
            says[:] = [line]
            said = await remote.connect(home, environ(), path, pool.run)
            assert isinstance(said, remote.Unserved)
            assert said.why.startswith(why), said
            assert not said.yet
    pool.close()
