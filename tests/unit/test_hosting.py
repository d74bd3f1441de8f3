"""Who hosts the duties that write: the first engine of a state root; every other one only looks until that one ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import about, frames, inbox, paths, registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.fleet import Aside, MailCount, Reading, Stance
from sot_tui.comm.home import Home, ensure_home
from sot_tui.engine import client, hosting
from sot_tui.engine.client import (
    AnswerDialog,
    Broadcast,
    BroadcastDone,
    ClearDone,
    Command,
    CreateRow,
    DropDraft,
    EndRow,
    KeepDraft,
    KeptDraft,
    Kind,
    LayOut,
    Leave,
    Letter,
    Listed,
    ListFolders,
    LoadDrafts,
    LookAtLock,
    LookAtLocks,
    LookElsewhere,
    MarkOpened,
    OpenMail,
    Outcome,
    ReadDialog,
    ReadEvents,
    ReadLetter,
    Recover,
    Recovered,
    Recovery,
    RestWrites,
    ResumeLine,
    ResumeRow,
    Search,
    Send,
    SetAside,
    Sheet,
    TakeUp,
    What,
)
from sot_tui.engine.service import Engine
from tests.peer import Peer
from tests.screens.real import DEADLINE_SECS, hold_lock, kill, put
from tests.seams import MountedDisk

if TYPE_CHECKING:
    from collections.abc import Callable

WHY = "this dashboard was opened read-only (--readonly)"
DONE: dict[str, object] = {"state": "done", "done": True, "summary": "built"}
STALE: dict[str, object] = {"state": "idle", "last_seen": "2001-01-01T00:00:00Z"}


def environ() -> dict[str, str]:
    return {**os.environ, "SOT_SELF_HOST": "box"}


def engine(home: Home, only_look: str = "") -> Engine:
    return Engine(home, environ(), only_look=only_look, tick_s=0.1)


async def until(fact: Callable[[], object], what: str, secs: float = DEADLINE_SECS) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + secs
    while not fact():
        assert loop.time() < deadline, f"it never came: {what}"
        await asyncio.sleep(0.02)


def joined(one: Engine) -> Callable[[], bool]:
    return lambda: "operator-box" in one.fleet.agents


def everything(*folders: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return every file of these folders, with its inode, time and bytes."""
    found: dict[str, tuple[int, int, bytes]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            status = path.stat()
            found[str(path)] = (status.st_ino, status.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
    return found


async def looked(one: Engine) -> None:
    await until(lambda: one.fleet.registry.reading is not Reading.NOT_YET, "a look")
    await until(lambda: set(one.fleet.mail) == set(one.fleet.agents), "the counts")


async def test_engine_when_it_is_the_first_then_hosts_and_its_lock_lies_under_the_state_root(comm_home: Path) -> None:
    home = Home(str(comm_home))
    async with engine(home) as first:
        assert (first.fleet.stance, first.fleet.stance_why) == (Stance.HOST, "")
        await until(joined(first), "the join")
        assert os.path.exists(paths.daemon_lock(environ()))
        assert not (comm_home / "daemon.lock").exists()


async def test_engine_when_another_one_hosts_then_only_looks_and_takes_over_when_that_ends(comm_home: Path) -> None:
    """Product: a second dashboard opens as a live viewer, and has the duties within three seconds."""
    home = put(comm_home, anna=DONE)
    why = f"the dashboard of pid {os.getpid()} hosts; this one only looks until it ends"
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(engine(home))
        await until(joined(first), "the join")
        async with engine(home) as second:
            assert (second.fleet.stance, second.fleet.stance_why) == (Stance.VIEWER, why)
            assert second.fleet.operator == "operator-box"
            put(comm_home, bob={"state": "working"})
            await until(lambda: "bob" in second.fleet.agents, "it is live")
            refused = await second.do(ClearDone("anna"))
            assert refused == Outcome(good=False, sentence=f"{why}; nothing was written")
            await stack.aclose()
            await until(lambda: second.fleet.stance is Stance.HOST, "it takes over", secs=3.0)
            assert (await second.do(ClearDone("anna"))).good
            await until(lambda: not second.fleet.agents["anna"].done, "it writes")
            lines = [line.text for line in (await second.do(ReadEvents())).lines if line.what is What.ENGINE]
            assert lines == [why, f"it runs here, for {comm_home}"]


async def test_engine_when_its_host_was_killed_then_takes_over(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE)
    words = (
        "import os, sys; from sot_tui.comm import daemon_lock; from sot_tui.comm.home import home_here; "
        "print(type(daemon_lock.take(home_here(), os.environ)).__name__, flush=True); sys.stdin.read()"
    )
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", words, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert (await holder.stdout.readline()).strip() == b"Held"
    async with engine(home) as second:
        assert f"pid {holder.pid} hosts" in second.fleet.stance_why
        holder.kill()
        await holder.communicate()
        await until(lambda: second.fleet.stance is Stance.HOST, "it takes over", secs=3.0)
        await until(joined(second), "the join")


async def test_mail_of_the_operator_when_two_dashboards_are_open_then_one_alone_polls_it(comm_home: Path) -> None:
    home = put(comm_home)
    cursor = comm_home / "read" / "operator-box.cursor"
    async with engine(home) as first, engine(home) as second:
        await until(joined(first), "the join")
        await until(joined(second), "the second sees it")
        line = frames.frame("anna", "operator-box", "r", "hello", stamp(home.clock.now()))
        assert isinstance(inbox.file_line(home, "operator-box", line), inbox.Filed)
        seen = await second.do(OpenMail("operator-box", poll=True))
        assert ([letter.text for letter in seen.letters], seen.batch, seen.fault) == (["hello"], 0, "")
        assert not cursor.exists()
        polled = await first.do(OpenMail("operator-box", poll=True))
        assert polled.batch
        await first.do(Listed(polled.batch))
        assert cursor.exists()


async def test_engine_when_read_only_then_changes_no_byte_anywhere(comm_home: Path) -> None:
    """Product: `sot-tui --readonly` hosts nothing, joins nobody, writes nothing."""
    home = put(comm_home, anna=DONE, gone=STALE)
    line = frames.frame("anna", "gone", "r", "hello", stamp(home.clock.now()))
    (comm_home / "inbox" / "gone.jsonl").write_bytes(line)
    root = comm_home.parent
    before = everything(root)
    async with engine(home, WHY) as one:
        await looked(one)
        assert (one.fleet.stance, one.fleet.stance_why) == (Stance.READ_ONLY, WHY)
        assert one.fleet.mail_of("gone").unread == 1
        for command in (ClearDone("anna"), Leave("gone"), SetAside("anna"), Send("anna", "x")):
            assert not (await one.do(command)).good
        await one.do(OpenMail("gone"))
        await one.do(OpenMail("operator-box", poll=True))
        still_open = everything(root)
    assert still_open == before
    assert everything(root) == before


async def test_engine_when_read_only_and_there_is_no_comm_home_then_says_so_and_makes_none(comm_home: Path) -> None:
    async with engine(Home(str(comm_home)), WHY) as one:
        await until(lambda: one.fleet.registry.reading is Reading.UNREADABLE, "a look")
        assert one.fleet.registry.missing
        assert one.fleet.registry.why == f"there is no comm home at {comm_home}"
        assert one.fleet.faults == ()
        assert not comm_home.exists()
        ensure_home(Home(str(comm_home)))
        await until(lambda: one.fleet.registry.reading is Reading.PRESENT, "somebody made one")
    assert os.listdir(comm_home.parent / "state") == []


async def test_engine_when_the_state_root_cannot_be_used_then_only_looks_and_says_what_to_change(
    comm_home: Path,
) -> None:
    home = put(comm_home, anna=DONE)
    (comm_home.parent / "state" / "sot").write_text("in the way")
    async with engine(home) as one:
        assert one.fleet.stance is Stance.READ_ONLY
        path = paths.daemon_lock(environ())
        assert one.fleet.stance_why == f"this dashboard only looks: {path} could not be opened: Not a directory"
        await looked(one)
        assert "operator-box" not in one.fleet.agents


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (Send("anna", "x"), Outcome(good=False, sentence="FAILED -> @anna: why; nothing was sent")),
        (Broadcast("x", ("a",)), BroadcastDone(False, "FAILED -> --broadcast: why; nothing was sent", left=("a",))),
        (ClearDone("anna"), Outcome(good=False, sentence="why; nothing was written")),
        (Leave("anna"), Outcome(good=False, sentence="why; nothing was written")),
        (SetAside("anna"), Outcome(good=False, sentence="why; nothing was written")),
        (KeepDraft(KeptDraft("s", "anna", "x")), Outcome(good=False, sentence="why; nothing was written")),
        (DropDraft("s"), Outcome(good=False, sentence="why; nothing was written")),
        (Recover("r"), Recovered(Recovery.REFUSED, "why; the lock was left as it is")),
        (LayOut("x"), Sheet(fault="why; no file was made")),
        (Listed(1), Outcome(good=True)),
        (OpenMail("anna"), None),
        (ReadEvents(), None),
    ],
)
def test_command_when_nothing_may_be_written_then_is_refused_with_the_reason(command: object, answer: object) -> None:
    assert hosting.refusal(command, "why") == answer


def test_every_command_when_it_is_new_then_is_said_to_write_or_to_look() -> None:
    """A command that nobody thought of must not write where nothing may be written."""
    made = {kind for kind in vars(client).values() if isinstance(kind, type) and issubclass(kind, Command)} - {Command}
    looks = {ListFolders, LoadDrafts, LookAtLock, LookAtLocks, LookElsewhere, OpenMail, ReadDialog, ReadEvents,
             ReadLetter, ResumeLine, Search}  # fmt: skip
    writes = {AnswerDialog, Broadcast, ClearDone, CreateRow, DropDraft, EndRow, KeepDraft, LayOut, Leave, Listed,
              MarkOpened, Recover, RestWrites, ResumeRow, Send, SetAside, TakeUp}  # fmt: skip
    assert made == looks | writes
    assert not looks & writes
    letter = Letter(1, Kind.DIRECTED, "", "", "", "", "", read=False)
    words: dict[type, tuple[object, ...]] = {
        AnswerDialog: ("r", "1", ()), Broadcast: ("x",), CreateRow: ("", "/"), EndRow: ("r", True),
        KeepDraft: (KeptDraft("s", "a", "x"),), LayOut: (), Listed: (1,), MarkOpened: (letter,),
        RestWrites: (True,), Send: ("a", "x"), TakeUp: (Sheet(),),
    }  # fmt: skip
    for kind in writes:
        assert hosting.refusal(kind(*words.get(kind, ("a",))), "why") is not None, kind


# -- below an agent ---------------------------------------------------------------------------------------------------

_BELOW = (
    "import sys; from sot_tui.comm.home import home_here; from sot_tui.engine import hosting; "
    "print(hosting.why_only_look(home_here(), asked=False))"
)


def test_dashboard_when_started_below_an_agent_then_only_looks_and_says_so(tmp_path: Path) -> None:
    """Product: a dashboard started below an agent opens read-only and says so (contract, Cases: the walk)."""
    agent = tmp_path / "claude"
    agent.symlink_to(sys.executable)
    start = f"import subprocess, sys; subprocess.run([{sys.executable!r}, '-c', {_BELOW!r}], check=True)"
    ran = subprocess.run([str(agent), "-c", start], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "this dashboard was started below claude, an agent, so it only looks"


def test_dashboard_when_read_only_is_asked_for_then_says_that() -> None:
    assert hosting.why_only_look(Home("/nowhere"), asked=True) == WHY


def test_dashboard_when_its_ancestors_cannot_be_read_then_only_looks() -> None:
    class Hidden(MountedDisk):
        def read(self, path: str) -> bytes:
            raise PermissionError(13, path)

    words = hosting.why_only_look(Home("/nowhere", disk=Hidden()), asked=False)
    assert words == "this process's ancestors cannot be read in full, so this dashboard only looks"


# -- what a host does and tells ---------------------------------------------------------------------------------------


async def test_events_when_things_happen_then_each_stands_in_memory_and_in_the_file(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE, gone=STALE)
    path = comm_home.parent / "state" / "sot" / "tui" / "events.log"
    async with engine(home) as one:
        await until(joined(one), "the join")
        await one.do(ClearDone("anna"))
        await one.do(Send("anna", "hello"))
        await one.do(Send("nobody", "hello"))
        await until(lambda: one.fleet.mail_of("anna").unread == 1, "the count")
        await one.do(Leave("gone"))
        lines = (await one.do(ReadEvents())).lines
        told = [(line.what, line.text.split(":")[0], line.good) for line in lines]
        assert told[:2] == [
            (What.ENGINE, f"it runs here, for {comm_home}", True),
            (What.OPERATOR, "joined as @operator-box", True),
        ]
        assert told[2:] == [
            (What.DONE, "cleared the done of @anna", True),
            (What.MAIL, "filed -> @anna", True),
            (What.MAIL, "FAILED -> @nobody", False),
            (What.REGISTRY, "Removed @gone from the registry (row only; comm-despawn.sh does full teardown).", True),
        ]
        assert one.fleet.events == lines[-1].number == len(lines)
        assert (await one.do(ReadEvents(lines[-2].number))).lines == lines[-1:]
        await until(lambda: path.exists() and "Removed @gone" in path.read_text(encoding="utf-8"), "the file")
    written = path.read_text(encoding="utf-8").splitlines()
    assert [text.split(" ", 2)[2] for text in written] == [*(line.text for line in lines), "it ends here"]


async def test_stamp_when_the_lock_is_held_then_that_it_was_missed_is_told(comm_home: Path) -> None:
    home = put(comm_home)
    async with Engine(home, environ(), tick_s=0.1, stamp_s=0.1) as one:
        await until(joined(one), "the join")
        holder = hold_lock(home)
        try:
            found: list[str] = []

            async def missed() -> bool:
                found[:] = [line.text for line in (await one.do(ReadEvents())).lines if not line.good]
                return any(text.startswith("your stamp was missed: ERROR: registry lock ") for text in found)

            loop = asyncio.get_running_loop()
            deadline = loop.time() + DEADLINE_SECS
            while not await missed():
                assert loop.time() < deadline, found
                await asyncio.sleep(0.05)
        finally:
            kill(holder)


async def test_watch_when_a_folder_is_another_one_then_that_it_began_anew_is_told(comm_home: Path) -> None:
    home = put(comm_home)
    async with engine(home) as one:
        await until(joined(one), "the join")
        (comm_home / "inbox").rename(comm_home / "aside")
        (comm_home / "inbox").mkdir(mode=0o700)
        wanted = "watch: a watched folder is another one than it was; it is watched anew"
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DEADLINE_SECS
        while wanted not in [line.text for line in (await one.do(ReadEvents())).lines]:
            assert loop.time() < deadline
            await asyncio.sleep(0.05)


async def test_log_when_its_file_cannot_be_written_then_the_lines_wait_and_are_written_later(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE)
    own = comm_home.parent / "state" / "sot" / "tui"
    own.parent.mkdir(mode=0o700)
    own.write_text("in the way")
    async with engine(home) as one:
        await until(lambda: [fault for fault in one.fleet.faults if fault.duty == "log"], "the fault is shown")
        await one.do(ClearDone("anna"))
        own.unlink()
        await until(lambda: not [fault for fault in one.fleet.faults if fault.duty == "log"], "it works again")
        text = (own / "events.log").read_text(encoding="utf-8")
        assert f"it runs here, for {comm_home}" in text
        assert "cleared the done of @anna" in text


# -- set aside, leave --------------------------------------------------------------------------------------------------


async def test_need_when_set_aside_then_stays_so_over_a_restart_until_something_changes(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE, bob=DONE)
    async with engine(home) as one:
        await looked(one)
        outcome = await one.do(SetAside("anna"))
        assert outcome == Outcome(good=True, sentence="set @anna aside until something changes")
        assert dict(one.fleet.aside) == {"anna": Aside("done", one.fleet.agents["anna"].status_at, 0, "")}
        assert await one.do(SetAside("nobody")) == Outcome(good=False, sentence="@nobody does not need you")
        assert await one.do(SetAside("anna")) == Outcome(good=False, sentence="@anna does not need you")
    async with engine(home) as one:
        assert list(one.fleet.aside) == ["anna"]
        await looked(one)
        put(comm_home, anna={"state": "blocked", "dialog": "Bash?"})
        await until(lambda: one.fleet.agents["anna"].fact == "dialog", "the change")
        # A mark of what is no longer so goes with the next one that is set.
        await one.do(SetAside("bob"))
        assert list(one.fleet.aside) == ["bob"]
        assert (await one.do(SetAside("bob", aside=False))).sentence == "@bob needs you again"
        assert dict(one.fleet.aside) == {}
    async with engine(home) as one:
        assert dict(one.fleet.aside) == {}


async def test_need_when_its_file_cannot_be_written_then_is_not_set_aside_and_says_why(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE)
    path = comm_home.parent / "state" / "sot" / "tui" / "aside.json"
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_text("{")
    async with engine(home) as one:
        await looked(one)
        assert [fault.duty for fault in one.fleet.faults] == ["aside"]
        outcome = await one.do(SetAside("anna"))
        assert not outcome.good
        assert outcome.sentence.startswith(f"@anna was not set aside: {path} could not be read: ")
        assert dict(one.fleet.aside) == {}
        assert path.read_text() == "{"


async def test_leave_when_the_handle_is_stale_then_its_entry_goes_and_its_mail_stays(comm_home: Path) -> None:
    home = put(comm_home, gone=STALE, anna=DONE, row={"workspace_id": "ws-1", "host": "desk", **STALE})
    (comm_home / "inbox" / "gone.jsonl").write_text("x\n")
    (comm_home / "read" / "gone.cursor").write_text("0")
    async with engine(home) as one:
        await until(joined(one), "the join")
        outcome = await one.do(Leave("gone"))
        words = "Removed @gone from the registry (row only; comm-despawn.sh does full teardown)."
        assert outcome == Outcome(good=True, sentence=words)
        book = registry.read(home)
        assert not isinstance(book, registry.Unread)
        assert set(book.agents) == {"anna", "row", "operator-box"}
        assert (comm_home / "inbox" / "gone.jsonl").read_text() == "x\n"
        assert (comm_home / "read" / "gone.cursor").exists()
        assert await one.do(Leave("anna")) == Outcome(False, "@anna is live again; nothing was removed")
        assert await one.do(Leave("operator-box")) == Outcome(False, "this is you; nothing was removed")
        assert (await one.do(Leave("row"))).sentence == (
            "comm-leave.sh: REFUSING to remove @row: it is held by a row (row ws-1)"
        )


async def test_count_when_the_engine_only_looks_then_makes_no_lock_file(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE)
    line = frames.frame("bob", "anna", "r", "hello", stamp(home.clock.now()))
    (comm_home / "inbox" / "anna.jsonl").write_bytes(line)
    async with engine(home):  # the hub's record, without which nobody locks an inbox here
        await until((comm_home / "inbox-lock-manager").exists, "the record")
    for lock in (comm_home / "inbox").glob("*.lock"):
        lock.unlink()
    async with engine(home, WHY) as one:
        await looked(one)
        assert one.fleet.mail_of("anna") == one.fleet.mail_of("anna")._replace(trust=MailCount.COUNTED, unread=1)
        assert list((comm_home / "inbox").glob("*.lock")) == []


# -- a daemon that is not ours ----------------------------------------------------------------------------------------


async def test_engine_when_another_daemon_serves_the_socket_then_nothing_is_hosted_until_it_ends(
    comm_home: Path,
) -> None:
    home = put(comm_home)
    path = Path(os.environ["XDG_RUNTIME_DIR"], "sot", "sessions", "sot.sock")
    path.parent.mkdir(mode=0o700, parents=True)
    path.parent.parent.chmod(0o700)
    said = {"daemon": {"app_version": "0.6.6", "protocol": 3, "host": "box"}}
    async with AsyncExitStack() as stack:
        peer = stack.enter_context(Peer(path, {"version.query": said}))
        async with engine(home) as one:
            assert one.fleet.stance is Stance.VIEWER
            words = f"another daemon (sotd 0.6.6) serves {path}; this one only looks until it ends"
            assert one.fleet.stance_why == words
            assert (await one.do(Send("anna", "x"))).sentence == f"FAILED -> @anna: {words}; nothing was sent"
            assert peer.ops() == ["version.query"]
            await stack.aclose()
            path.unlink()
            await until(lambda: one.fleet.stance is Stance.HOST, "the duties are taken over")
            await until(one.serving.is_set, "it is asked at the socket")


async def test_engine_when_one_of_another_state_root_serves_the_socket_then_told_how_to_part_them(
    comm_home: Path, tmp_path: Path
) -> None:
    home = put(comm_home)
    other = put(tmp_path / "other")
    async with engine(other) as first:
        await until(first.serving.is_set, "it is asked at the socket")
        apart = {**environ(), "XDG_STATE_HOME": str(tmp_path)}
        async with Engine(home, apart, tick_s=0.1) as second:
            assert second.fleet.stance is Stance.VIEWER
            assert second.fleet.stance_why == (
                f"another daemon (sot-tui {about.version()}) serves {first.server.site.path if first.server else ''} "
                f"for the comm home {other.path} (to part them, give this one an XDG_STATE_HOME and an XDG_RUNTIME_DIR "
                "of its own); this one only looks until it ends"
            )


@pytest.mark.parametrize("what", ["dashboard", "daemon"])
def test_hosting_when_the_state_root_is_shared_by_machines_then_nobody_hosts_and_the_hint_says_what_to_set(
    comm_home: Path, what: str
) -> None:
    """Architecture: "`daemon.lock` lies under the state root, never on a network mount"."""
    nfs = MountedDisk(b"27 1 0:40 / / rw,relatime - nfs4 server:/export rw\n")
    found = hosting.Hosting(Home(str(comm_home), nfs), environ(), "", what=what).settle()
    assert found.stance is Stance.READ_ONLY
    only = "" if what == "daemon" else "this dashboard only looks: "
    assert found.why == (
        f"{only}{paths.state_root(environ())} is on nfs4, where no lock shows whether another dashboard runs; set "
        "XDG_STATE_HOME to a folder on this machine's own disk"
    )
