"""The rows of a box, with real capsules: made, watched, adopted, resumed, ended; whatever is killed, and when."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import paths
from sot_tui.comm.proof import SystemProcs
from sot_tui.engine.rows.row import LATCHED, Phase, Refused, Row, Wanted
from sot_tui.engine.rows.supervisor import Gone, Rows, Typed
from tests.rows.supervised import capsules_below, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.rows.supervised import Supervised

pytestmark = pytest.mark.e2e
SHELL = ("/bin/sh", "-c", "stty -echo; echo up; while read line; do echo got $line; done")


@pytest.fixture
def project(_away_from_home: Path) -> Path:
    folder = _away_from_home / "src" / "api"
    folder.mkdir(parents=True)
    return folder


async def made(
    rows: Rows, project: Path, label: str = "api", command: tuple[str, ...] = SHELL, name: str = "", task: str = ""
) -> Row:
    row = await rows.create(Wanted(label, str(project), command=command, agent_name=name, task=task))
    assert isinstance(row, Row), row
    await until(lambda: now(rows, label).phase is Phase.READY)
    return now(rows, label)


def folder_of(row: Row) -> str:
    return paths.row_folder(os.environ, row.id)


def capsules(row: Row) -> list[int]:
    return capsules_below(folder_of(row))


async def text(rows: Rows, row: Row) -> str:
    shown = await rows.screen(row.id)
    assert not isinstance(shown, Refused), shown
    return "\n".join("".join(cell.data for cell in line).rstrip(" ") for line in shown.screen.rows)


async def shows(rows: Rows, row: Row, words: str) -> None:
    async with asyncio.timeout(20):
        while words not in await text(rows, row):  # noqa: ASYNC110  (asked of another process)
            await asyncio.sleep(0.05)


def now(rows: Rows, key: str = "api") -> Row:
    row = rows.find(key)
    assert row is not None
    return row


async def runs_anew(rows: Rows, run: str) -> None:
    await until(lambda: now(rows).run != run and now(rows).phase is Phase.READY)


def agent_of(capsule: int) -> int:
    children = Path(f"/proc/{capsule}/task/{capsule}/children").read_text().split()
    assert len(children) == 1
    return int(children[0])


async def test_row_when_created_then_its_agent_runs_in_the_folder_with_the_wires_words(
    supervised: Supervised, project: Path
) -> None:
    async with supervised() as rows:
        row = await made(rows, project, name="api-box", task="say hi")
        assert row.phase is Phase.READY
        assert row.id.startswith("ws-api-")
        assert rows.find("api") == row == rows.find(row.id)
        await shows(rows, row, "up")
        (capsule,) = capsules(row)
        words = Path(f"/proc/{capsule}/cmdline").read_bytes().split(b"\0")
        assert folder_of(row).encode() in words[: words.index(b"--")]
        assert os.path.basename(words[0]) == b"sot-capsule"
        agent = agent_of(capsule)
        environ = dict(one.split(b"=", 1) for one in Path(f"/proc/{agent}/environ").read_bytes().split(b"\0") if one)
        assert environ[b"SOT_WORKSPACE_ID"] == row.id.encode()
        assert environ[b"SOT_COMM_NAME"] == b"api-box"
        assert os.readlink(f"/proc/{agent}/cwd") == str(project)
        assert os.stat(folder_of(row)).st_mode & 0o777 == 0o700
        assert rows.holder_of("api-box") == row.id
        assert await rows.live_handles() == ("api-box",)


async def test_text_when_typed_with_enter_then_the_agent_has_the_line(supervised: Supervised, project: Path) -> None:
    async with supervised() as rows:
        row = await made(rows, project)
        await shows(rows, row, "up")
        assert await rows.type("api", b"hello", enter=True) == Typed(5, "sent")
        await shows(rows, row, "got hello")
        refused = await rows.type("nobody", b"x", enter=False)
        assert refused == Refused("unknown_workspace", "unknown workspace: nobody")


async def test_create_when_something_speaks_against_it_then_nothing_changes(
    supervised: Supervised, project: Path, comm_home: Path
) -> None:
    """Daemon wire 3.8: every refusal, in its words, before any state change."""
    file = project.parent / "file"
    file.write_text("")
    other = project.parent / "other"
    other.mkdir()
    async with supervised() as rows:
        row = await made(rows, project)
        existing = {"workspace_id": row.id, "slug": "api", "label": "api"}
        cases = {
            Wanted("x", str(project) + "/no"): Refused(
                "no_such_path", f"project_root does not exist: {project}/no"
            ),
            Wanted("x", "relative"): Refused("no_such_path", "project_root does not exist: relative"),
            Wanted("x", str(file)): Refused("not_a_directory", f"project_root is not a directory: {file}"),
            Wanted("x", str(project)): Refused(
                "duplicate_root",
                "project_root is already registered as workspace 'api' (slug 'api')",
                (("existing", existing),),
            ),
            Wanted("API", str(other)): Refused(
                "label_in_use",
                "workspace 'api' (slug 'api') is in use (capsule row, phase 'ready'): attach to it, or destroy it "
                "before creating it again",
                (("existing", {**existing, "phase": "ready"}),),
            ),
            Wanted("x", str(other), agent_name="a b"): Refused(
                "bad_agent_name", 'invalid agent_name "a b" (want 1-64 chars of [A-Za-z0-9._-])'
            ),
            Wanted("x", str(other), agent="emacs"): Refused(
                "bad_agent", "unknown agent kind 'emacs' (want claude | codex | none)"
            ),
            Wanted("x", str(other), runtime="tmux"): Refused(
                "bad_runtime", 'unknown runtime "tmux" (want "capsule" or "")'
            ),
            Wanted("x", str(comm_home.parent)): Refused("state_root_inside_project", ""),
            Wanted("x", str(other), account="work"): Refused("unknown_account", ""),
            Wanted("x", str(other), command=("no-such-program",)): Refused("unsupported_agent_on_this_host", ""),
        }  # fmt: skip
        files = sorted(Path(os.environ["XDG_CONFIG_HOME"]).rglob("*"))
        for wanted, refusal in cases.items():
            said = await rows.create(wanted)
            assert isinstance(said, Refused), wanted
            assert said.code == refusal.code
            if refusal.sentence:
                assert said == refusal
            else:
                assert said.sentence
        assert rows.listed() == (row,)
        assert sorted(Path(os.environ["XDG_CONFIG_HOME"]).rglob("*")) == files


async def test_create_when_the_program_cannot_be_run_then_is_rolled_back(supervised: Supervised, project: Path) -> None:
    broken = project / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    async with supervised() as rows:
        said = await rows.create(Wanted("api", str(project), command=(str(broken),)))
        assert isinstance(said, Refused)
        assert said.code == "capsule_spawn_failed"
        assert said.sentence.startswith("capsule workspace could not be started: ")
        assert rows.listed() == ()
        assert list(Path(os.environ["XDG_CONFIG_HOME"]).rglob("*.toml")) == []
        assert capsules_below(f"{paths.state_root(os.environ)}/workspaces/") == []


async def test_row_when_destroyed_then_it_has_ended_and_its_entry_and_file_are_gone(
    supervised: Supervised, project: Path, comm_home: Path
) -> None:
    """Daemon wire 3.9: the entries of this host that name the row, and the one of its stored name."""
    async with supervised() as rows:
        row = await made(rows, project, name="api-box")
        entry = {"host": "BOX", "last_seen": ""}
        agents = {
            "one": {**entry, "workspace_id": row.id},
            "api-box": entry,
            "other": {**entry, "workspace_id": "ws-other"},
            "far": {"host": "mac", "workspace_id": row.id},
        }
        (comm_home / "registry.json").write_text(json.dumps({"protocol_version": 1, "agents": agents}))
        gone = await rows.destroy("api")
        assert isinstance(gone, Gone)
        assert gone.row.id == row.id
        left = json.loads((comm_home / "registry.json").read_text())["agents"]
        assert left == {"other": agents["other"], "far": agents["far"]}
        assert capsules(row) == []
        assert rows.listed() == ()
        assert list(Path(os.environ["XDG_CONFIG_HOME"]).rglob("*.toml")) == []
        assert await rows.destroy("api") == Refused("unknown_workspace", "unknown workspace: api")


async def test_row_when_its_end_cannot_be_written_then_is_not_removed_and_says_why(
    supervised: Supervised, project: Path
) -> None:
    """A capsule ends only when its agent's end is on disk: on a full one its row is not removed, and says why."""
    async with supervised() as rows:
        rows.end_secs = 1.0
        row = await made(rows, project)
        (draft,) = (f"{path}/run.json.draft" for path in Path(folder_of(row), "voyages").iterdir())
        os.mkdir(draft)
        refused = await rows.destroy("api")
        assert isinstance(refused, Refused)
        assert refused.code == "capsule_end_not_reached"
        assert refused.sentence.endswith("does not end: its end is not on disk yet: Is a directory")
        assert now(rows).phase is Phase.ENDING
        os.rmdir(draft)
        await until(lambda: capsules(row) == [])
        assert isinstance(await rows.destroy("api"), Gone)


async def test_row_when_its_lock_cannot_be_looked_at_then_is_not_removed(supervised: Supervised, project: Path) -> None:
    async with supervised() as rows:
        rows.end_secs = 1.0
        row = await made(rows, project)
        lock = Path(folder_of(row), "supervisor.lock")
        lock.unlink()
        lock.mkdir()
        refused = await rows.destroy("api")
        assert isinstance(refused, Refused)
        assert refused.code == "capsule_end_not_reached"
        assert refused.sentence.endswith("whether its capsule lives cannot be told: Is a directory")
        assert rows.find("api") is not None


async def test_row_when_its_agent_ends_then_it_stays_and_says_how(supervised: Supervised, project: Path) -> None:
    async with supervised() as rows:
        row = await made(rows, project, command=("/bin/sh", "-c", "read x; exit $x"), name="api-box")
        await rows.type("api", b"3\r", enter=False)
        await until(lambda: now(rows).phase is Phase.ENDED)
        ended = rows.find("api")
        assert ended is not None
        assert ended.ended == "it exited with 3"
        assert rows.holder_of("api-box") == ""
        assert await rows.live_handles() == ()
        await until(lambda: capsules(row) == [])
        refused = await rows.type("api", b"x", enter=False)
        assert refused == Refused(
            "capsule_not_ready", "capsule row not ready (phase: ended_no_respawn)", (("phase", "ended_no_respawn"),)
        )
        again = await rows.resume("api")
        assert isinstance(again, Row)
        assert again.ended == ""
        await runs_anew(rows, row.run)


async def test_end_when_told_once_then_no_later_engine_tells_it_anew(supervised: Supervised, project: Path) -> None:
    """An end is told once, by the engine that sees it first; one that starts later finds it as it is."""
    told = "row 'api' has ended: it exited with 3"
    async with supervised() as rows:
        row = await made(rows, project, command=("/bin/sh", "-c", "read x; exit $x"))
        await rows.type("api", b"3\r", enter=False)
        await until(lambda: now(rows).phase is Phase.ENDED)
        assert rows.said.count(told) == 1  # type: ignore[attr-defined]  # of the test's
    for _ in range(2):
        async with supervised() as rows:
            await until(lambda: now(rows).phase is Phase.ENDED)
            assert not [words for words in rows.said if "has ended" in words]  # type: ignore[attr-defined]  # as above
    async with supervised() as rows:
        await until(lambda: now(rows).phase is Phase.ENDED)
        assert isinstance(await rows.resume("api"), Row)
        await runs_anew(rows, row.run)
        await rows.type("api", b"3\r", enter=False)
        await until(lambda: now(rows).phase is Phase.ENDED)
        assert rows.said.count(told) == 1, "another run has ended"  # type: ignore[attr-defined]  # as above


async def test_end_when_no_engine_saw_it_then_the_next_one_tells_it_with_its_age(
    supervised: Supervised, project: Path
) -> None:
    async with supervised() as rows:
        row = await made(rows, project, command=("/bin/sh", "-c", "sleep 600"))
    folder = Path(paths.row_folder(os.environ, row.id))
    os.kill(agent_of(capsules(row)[0]), signal.SIGKILL)
    record = folder / "voyages" / row.run / "run.json"
    await until(lambda: json.loads(record.read_text())["ended"] is not None)
    await until(lambda: capsules(row) == [])
    record.write_text(json.dumps(json.loads(record.read_text()) | {"ended": time.time() - 7200}))
    async with supervised() as rows:
        await until(lambda: now(rows).phase is Phase.ENDED)
        assert rows.said == ["row 'api' has ended: it was ended by signal 9, 2h ago"]  # type: ignore[attr-defined]


async def test_agent_when_killed_then_the_row_says_by_what(supervised: Supervised, project: Path) -> None:
    async with supervised() as rows:
        row = await made(rows, project)
        os.kill(agent_of(capsules(row)[0]), signal.SIGKILL)
        await until(lambda: now(rows).phase is Phase.ENDED, 4)
        assert now(rows).ended == "it was ended by signal 9"


async def test_daemon_when_it_ends_and_starts_again_then_finds_the_row_as_it_was(
    supervised: Supervised, project: Path
) -> None:
    async with supervised() as rows:
        row = await made(rows, project)
        await rows.type("api", b"before", enter=True)
        await shows(rows, row, "got before")
        (capsule,) = capsules(row)
    async with supervised() as rows:
        again = rows.find("api")
        assert again is not None
        assert (again.phase, again.run, capsules(row)) == (Phase.READY, row.run, [capsule])
        assert "got before" in await text(rows, again)


async def test_capsule_when_killed_then_its_run_is_resumed(supervised: Supervised, project: Path) -> None:
    async with supervised(crash_pauses=(0.1, 0.1, 0.1, 0.1, 0.1)) as rows:
        row = await made(rows, project)
        (capsule,) = capsules(row)
        agent = agent_of(capsule)
        os.kill(capsule, signal.SIGKILL)
        await runs_anew(rows, row.run)
        await until(lambda: not Path(f"/proc/{agent}").exists())
        assert len(capsules(row)) == 1
        assert any("its capsule is gone" in line for line in rows.said)  # type: ignore[attr-defined]


async def test_restart_when_it_fails_as_nobody_foresaw_then_is_told_and_tried_again(
    supervised: Supervised, project: Path
) -> None:
    """A box that has no thread left, say: the row's watch goes on, and nobody has to find out by its silence."""
    async with supervised(crash_pauses=(0.1, 0.1, 0.1, 0.1, 0.1)) as rows:
        row = await made(rows, project)
        start = rows._starting

        async def fails_once(_work: object) -> None:
            rows._starting = start
            raise RuntimeError("can't start new thread")

        rows._starting = fails_once  # type: ignore[assignment]
        (capsule,) = capsules(row)
        os.kill(capsule, signal.SIGKILL)
        await runs_anew(rows, row.run)
        assert "row 'api': RuntimeError: can't start new thread" in rows.said  # type: ignore[attr-defined]


async def test_capsule_when_killed_while_no_daemon_runs_then_its_run_is_resumed_at_the_start(
    supervised: Supervised, project: Path
) -> None:
    async with supervised() as rows:
        row = await made(rows, project)
    for capsule in capsules(row):
        os.kill(capsule, signal.SIGKILL)
    async with supervised() as rows:
        again = rows.find("api")
        assert again is not None
        assert again.phase is Phase.READY
        assert again.run != row.run


async def test_run_when_it_ended_while_no_daemon_ran_then_is_not_started_again(
    supervised: Supervised, project: Path
) -> None:
    async with supervised() as rows:
        row = await made(rows, project)
    os.kill(agent_of(capsules(row)[0]), signal.SIGTERM)
    await until(lambda: capsules(row) == [])
    async with supervised() as rows:
        again = rows.find("api")
        assert again is not None
        assert (again.phase, again.ended, again.run) == (Phase.ENDED, "it was ended by signal 15", row.run)


async def test_capsule_when_it_crashes_too_often_then_the_row_is_given_up(
    supervised: Supervised, project: Path
) -> None:
    """Daemon wire 4.3: at most 5 in 60 s, then terminal."""
    async with supervised(crash_pauses=(0.05, 0.05)) as rows:
        row = await made(rows, project)
        run = row.run
        for _ in range(2):
            os.kill(capsules(row)[0], signal.SIGKILL)
            await runs_anew(rows, run)
            run = now(rows).run
        os.kill(capsules(row)[0], signal.SIGKILL)
        await until(lambda: now(rows).phase is Phase.TERMINAL)
        assert "crashed 2 times" in now(rows).activation_error
        assert rows.holder_of("api-box") == ""


STUBBORN = ("/bin/sh", "-c", "trap '' HUP TERM; echo up; while :; do sleep 0.1; done")


async def orphaned(rows: Rows, row: Row) -> int:
    """Kill a row's capsule, and return its agent, once that is seen and before the capsule is started again."""
    (capsule,) = capsules(row)
    agent = agent_of(capsule)
    os.kill(capsule, signal.SIGKILL)
    await until(lambda: now(rows).phase is Phase.UNREACHABLE)
    return agent


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("how", ["end", "destroy"])
async def test_end_when_the_agent_has_outlived_its_capsule_then_it_is_over_once_the_agent_is(
    supervised: Supervised, project: Path, how: str
) -> None:
    """Not proved dead is alive: that no capsule holds the row says nothing of an agent that ignores its hangup."""
    async with supervised(crash_pauses=(60.0,)) as rows:
        row = await made(rows, project, command=STUBBORN)
        await shows(rows, row, "up")
        agent = await orphaned(rows, row)
        assert lives(agent)
        said = await (rows.end("api", "for the test") if how == "end" else rows.destroy("api"))
        assert not lives(agent)
        assert not isinstance(said, Refused), said
    async with supervised() as rows:
        assert capsules(row) == []
        if how == "end":
            assert (now(rows).phase, now(rows).ended) == (Phase.ENDED, "it has ended (for the test)")


def outlived_by(row: Row, pid: int) -> str:
    """Make a process the agent of a row's run, kill the capsule, and return what is said of a process that stays."""
    path = Path(folder_of(row), "voyages", row.run, "run.json")
    said = {"agent": pid, "agent_start": SystemProcs().start_of(pid)}
    path.write_text(json.dumps(json.loads(path.read_text()) | said))
    os.kill(capsules(row)[0], signal.SIGKILL)
    return f"the agent of its last run (pid {pid}) does not end"


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Return a process that leads no group: no signal to an agent's group reaches it."""
    with subprocess.Popen(["/bin/sleep", "1000"]) as one:
        yield one
        one.kill()


async def test_end_when_the_agent_that_outlived_its_capsule_does_not_end_then_nobody_claims_it(
    supervised: Supervised, project: Path, other: subprocess.Popen[bytes]
) -> None:
    async with supervised(crash_pauses=(0.1,)) as rows:
        row = await made(rows, project)
        why = outlived_by(row, other.pid)
        for asked, words in (
            (rows.end("api", "for the test"), f"row 'api' has not ended: {why}"),
            (rows.destroy("api"), f"capsule workspace could not be safely deleted: {why}"),
        ):
            assert await asked == Refused("capsule_end_not_reached", words)
            assert now(rows).phase not in LATCHED, "its handle is free, and its agent lives"
        await until(lambda: now(rows).activation_error == why)  # what a start says
        assert now(rows).phase is Phase.UNREACHABLE
        other.kill()
        other.wait()
        assert isinstance(await rows.end("api", "for the test"), Row)
        assert now(rows).phase is Phase.ENDED


async def test_row_when_its_agent_does_not_end_then_it_is_not_given_up(
    supervised: Supervised, project: Path, other: subprocess.Popen[bytes]
) -> None:
    async with supervised(crash_pauses=()) as rows:
        row = await made(rows, project)
        why = outlived_by(row, other.pid)
        await until(lambda: f"row 'api': {why}" in rows.said)  # type: ignore[attr-defined]
        assert now(rows).phase is Phase.UNREACHABLE
        other.kill()
        other.wait()
        await until(lambda: now(rows).phase is Phase.TERMINAL)


async def test_row_when_it_is_given_up_then_no_agent_is_left_of_it(supervised: Supervised, project: Path) -> None:
    """A row that is given up holds its handle no more."""
    async with supervised(crash_pauses=()) as rows:
        row = await made(rows, project, command=STUBBORN)
        await shows(rows, row, "up")
        agent = agent_of(capsules(row)[0])
        os.kill(capsules(row)[0], signal.SIGKILL)
        await until(lambda: now(rows).phase is Phase.TERMINAL)
        assert not lives(agent)


@pytest.mark.parametrize("how", ["end", "destroy"])
async def test_end_when_the_row_was_not_looked_at_yet_then_its_run_is_ended_all_the_same(
    supervised: Supervised, project: Path, how: str
) -> None:
    """A daemon answers as soon as the rows are loaded; many of them are looked at a few at a time."""
    async with supervised() as rows:
        row = await made(rows, project)
    assert capsules(row)
    async with supervised(begins=False) as rows:
        await rows.load()
        assert (now(rows).phase, now(rows).run) == (Phase.STOPPED, "")
        said = await (rows.end("api", "for the test") if how == "end" else rows.destroy("api"))
        assert not isinstance(said, Refused), said
        assert capsules(row) == []
        await rows.begin()
        assert capsules(row) == []


async def test_capsule_when_it_does_not_answer_then_is_unreachable_and_never_replaced(
    supervised: Supervised, project: Path
) -> None:
    async with supervised() as rows:
        row = await made(rows, project)
        (capsule,) = capsules(row)
        os.kill(capsule, signal.SIGSTOP)
        await until(lambda: now(rows).phase is Phase.UNREACHABLE)
        assert capsules(row) == [capsule]
        os.kill(capsule, signal.SIGCONT)
        await until(lambda: now(rows).phase is Phase.READY)
        assert now(rows).run == row.run


async def test_run_when_it_is_not_ours_then_is_foreign_and_left_alone(supervised: Supervised, project: Path) -> None:
    async with supervised() as rows:
        row = await made(rows, project)
        await rows.end("api", "for the test")
    pointer = Path(folder_of(row)) / "drawer.voyage"
    pointer.write_text("01890a5d-ac96-774b-bcce-b302099a8057\n")
    async with supervised() as rows:
        again = rows.find("api")
        assert again is not None
        assert again.phase is Phase.FOREIGN
        assert capsules(row) == []
        refused = await rows.destroy("api")
        assert isinstance(refused, Refused)
        assert refused.code == "capsule_end_not_reached"
        assert rows.find("api") is not None


async def test_pointer_when_it_cannot_be_read_then_nothing_is_started(supervised: Supervised, project: Path) -> None:
    async with supervised() as rows:
        row = await made(rows, project)
        await rows.end("api", "for the test")
    pointer = Path(folder_of(row)) / "drawer.voyage"
    pointer.write_bytes(b"\xff\xff")
    async with supervised() as rows:
        again = rows.find("api")
        assert again is not None
        assert again.phase is Phase.UNREACHABLE
        assert capsules(row) == []


async def test_record_when_it_is_damaged_then_nothing_is_started_and_it_is_told_once(
    supervised: Supervised, project: Path
) -> None:
    async with supervised() as rows:
        row = await made(rows, project)
        await rows.end("api", "for the test")
    (Path(folder_of(row)) / "voyages" / row.run / "run.json").write_bytes(b"{")
    async with supervised() as rows:
        assert now(rows).phase is Phase.UNREACHABLE
        await until(lambda: rows.said)  # type: ignore[attr-defined]
        await asyncio.sleep(2.5)  # one look and more
        assert [line for line in rows.said if "run.json is damaged" in line] == rows.said  # type: ignore[attr-defined]
        assert len(rows.said) == 1  # type: ignore[attr-defined]
        assert "run.json is damaged" in now(rows).activation_error
        assert capsules(row) == []


async def test_handle_when_a_second_row_declares_it_then_the_first_has_it_no_more(
    supervised: Supervised, project: Path
) -> None:
    """Contract, Delivery: "gives each handle to one row only, and a newer declaration moves it"."""
    two = project.parent / "two"
    two.mkdir()
    async with supervised() as rows:
        first, second = await made(rows, project, name="h"), await made(rows, two, label="two")
        assert await rows.declare(first.id, "h") is None
        assert rows.holder_of("h") == first.id
        assert await rows.declare(second.id, "h") is None
        assert rows.holder_of("h") == second.id
        lost = rows.find(first.id)
        assert lost is not None
        assert rows.handle_of(lost) == ""
        assert await rows.declare("ws-no", "h") == Refused("unknown_workspace", 'unknown workspace: "ws-no"')
        assert await rows.declare(first.id, "a/b") == Refused("bad_handle", 'invalid handle: "a/b"')
    async with supervised() as rows:
        assert rows.holder_of("h") == second.id


async def test_row_when_its_label_is_made_again_after_it_never_ran_then_keeps_its_id(
    supervised: Supervised, project: Path
) -> None:
    async with supervised() as rows:
        row = await made(rows, project)
        await rows.end("api", "for the test")
    (Path(folder_of(row)) / "drawer.voyage").unlink()
    async with supervised() as rows:
        assert now(rows).phase is Phase.STOPPED
        again = await made(rows, project, task="new")
        assert (again.id, again.task) == (row.id, "new")
