"""What a person asks of a row, carried out by the engine on real capsules: made, ended, run again, answered."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.home import Home
from sot_tui.engine.client import (
    AnswerDialog,
    CreateRow,
    EndRow,
    ListFolders,
    Outcome,
    ReadDialog,
    ReadEvents,
    ResumeLine,
    ResumeRow,
    RowDialog,
    RowDone,
    What,
)
from sot_tui.engine.service import Engine
from tests.rows.supervised import DEADLINE_S, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.rows.supervised import Supervised

pytestmark = pytest.mark.e2e
SHELL = ("/bin/sh", "-c", "echo up; read x")
ASKING = r"""
stty -icanon -echo min 1
printf 'Allow Bash?\n\n  rm -r build\n\n❯ 1. Yes\n  2. No\n'
key=$(dd bs=1 count=1 2>/dev/null)
clear
echo "chosen $key"
read x
"""
ASKS = ("/bin/sh", "-c", ASKING)


@pytest.fixture(autouse=True)
def ended_rows(supervised: Supervised, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every row ended that a test starts."""
    del supervised
    monkeypatch.setenv("SOT_SELF_HOST", "box")
    monkeypatch.setenv("SOT_COMM_TEST_HOST", "box")


@asynccontextmanager
async def engine_on(comm_home: Path) -> AsyncIterator[Engine]:
    async with Engine(Home(str(comm_home)), os.environ) as engine:
        await until(lambda: engine.rows is not None and engine.fleet.operator in engine.fleet.agents)
        yield engine


def project(comm_home: Path, name: str = "api") -> Path:
    folder = comm_home.parent / name
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    return folder


async def started(engine: Engine, folder: Path, command: tuple[str, ...] = SHELL) -> str:
    done = await engine.do(CreateRow("", str(folder), "none", command=command))
    assert done.good, done
    await until(lambda: engine.fleet.rows[done.row].phase == "ready")
    return done.row


async def asked(engine: Engine, row: str) -> RowDialog:
    """Return the dialog of a row, once it is drawn."""
    found = RowDialog()
    for _ in range(100):
        found = await engine.do(ReadDialog(row))
        if found.lines:
            break
    assert found.lines, found
    return found


async def shown(engine: Engine, row: str) -> str:
    assert engine.rows is not None
    seen = await engine.rows.screen(row)
    return "\n".join("".join(cell.data for cell in line).rstrip() for line in seen.screen.rows)  # type: ignore[union-attr]


async def test_create_when_asked_below_a_projects_top_then_the_row_is_the_projects(comm_home: Path) -> None:
    folder = project(comm_home)
    (folder / "src").mkdir()
    async with engine_on(comm_home) as engine:
        done = await engine.do(CreateRow("", str(folder / "src"), "none", command=SHELL))
        assert done == RowDone(good=True, sentence=f"started row 'api' in {folder}", row=done.row)
        assert engine.fleet.rows[done.row].label == "api"
        assert engine.fleet.rows[done.row].handle == ""
        (line,) = [one for one in (await engine.do(ReadEvents())).lines if one.text == done.sentence]
        assert line.what is What.ROW


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        (CreateRow("fix the login", "{api}"), "task_named_label", "never after its task"),
        (CreateRow("", "{api}/nowhere"), "no_such_path", "project_root does not exist: "),
        (CreateRow("", "{api}/file"), "not_a_directory", "project_root is not a directory: "),
        (CreateRow("", "api"), "no_such_path", "project_root does not exist: api"),
        (CreateRow("", "{api}", "vi"), "bad_agent", "unknown agent kind 'vi' (want claude | codex | none)"),
        (CreateRow("", "{api}", "none", "a b"), "bad_agent_name", 'invalid agent_name "a b"'),
        (CreateRow("", "{api}", "none", command=("nope",)), "unsupported_agent_on_this_host", "nope not found"),
        (CreateRow("", "{api}", "none", "peer-box"), "handle_in_use", "@peer-box has a registry row"),
        (CreateRow("", "{api}", "none", account="work"), "unknown_account", "there is no account 'work'"),
    ],
    ids=lambda one: one if isinstance(one, str) and " " not in one else "",
)
async def test_create_when_refused_then_the_daemon_says_why_and_nothing_is_made(
    comm_home: Path, asked: CreateRow, code: str, words: str
) -> None:
    folder = project(comm_home)
    (folder / "file").touch()
    wish = CreateRow(
        asked.label,
        asked.root.replace("{api}", str(folder)),
        asked.agent,
        asked.agent_name,
        asked.task,
        asked.account,
        asked.command,
    )
    async with engine_on(comm_home) as engine:
        book = json.loads((comm_home / "registry.json").read_text())
        book["agents"]["peer-box"] = {"host": "box", "last_seen": "2020-01-01T00:00:00Z"}
        (comm_home / "registry.json").write_text(json.dumps(book))
        done = await engine.do(wish)
        assert (done.good, done.code, done.row) == (False, code, "")
        assert words in done.sentence
        assert not engine.fleet.rows
        last = (await engine.do(ReadEvents())).lines[-1]
        assert (last.what, last.text, last.good) == (What.ROW, done.sentence, False)


async def test_create_when_the_project_has_a_row_then_it_gets_no_second_one(comm_home: Path) -> None:
    folder = project(comm_home)
    async with engine_on(comm_home) as engine:
        row = await started(engine, folder)
        done = await engine.do(CreateRow("", str(folder), "none", command=SHELL))
        assert done.code == "label_in_use"
        assert list(engine.fleet.rows) == [row]


async def test_create_when_an_agent_is_asked_for_then_its_derived_handle_is_announced(
    comm_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract, registry.json: `"status": "idle"`, lifecycle: idle | spawning."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").write_text("#!/bin/sh\necho hello\nread x\n")
    (programs / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    folder = project(comm_home)
    async with engine_on(comm_home) as engine:
        done = await engine.do(CreateRow("API", str(folder), task="look at the login\nand so on"))
        assert done.sentence == f"started row 'API' of @api-box in {folder}"
        entry = json.loads((comm_home / "registry.json").read_text())["agents"]["api-box"]
        assert (entry["status"], entry["workspace_id"], entry["root"]) == ("spawning", done.row, str(folder))
        assert engine.rows is not None
        made = engine.rows.find(done.row)
        assert made is not None
        assert made.task == "look at the login"
        again = await engine.do(CreateRow("", str(project(comm_home, "other")), agent_name="api-box"))
        assert again.code == "handle_in_use"


async def test_end_when_the_row_is_kept_then_it_stays_with_its_end_and_runs_again(comm_home: Path) -> None:
    folder = project(comm_home)
    async with engine_on(comm_home) as engine:
        row = await started(engine, folder)
        ended = await engine.do(EndRow(row, remove=False))
        assert ended == Outcome(good=True, sentence="row 'api' has ended; it stays in the list")
        assert engine.fleet.rows[row].phase == "ended_no_respawn"
        line = await engine.do(ResumeLine(row))
        assert line.text == "/bin/sh -c 'echo up; read x'"
        again = await engine.do(ResumeRow(row))
        assert again == Outcome(good=True, sentence="row 'api' runs again")
        await until(lambda: engine.fleet.rows[row].phase == "ready")
        twice = await engine.do(ResumeRow(row))
        assert twice == Outcome(good=False, sentence="row 'api' is not over (phase: ready)")
        gone = await engine.do(EndRow(row, remove=True))
        assert gone == Outcome(good=True, sentence="row 'api' is removed")
        assert not engine.fleet.rows
        said = [one.text for one in (await engine.do(ReadEvents())).lines if one.what is What.ROW]
        assert [ended.sentence, again.sentence, twice.sentence, gone.sentence] == [
            text for text in said if text in {ended.sentence, again.sentence, twice.sentence, gone.sentence}
        ]


async def test_answer_when_the_very_dialog_stands_then_its_key_is_typed_and_the_log_says_so(comm_home: Path) -> None:
    folder = project(comm_home)
    async with engine_on(comm_home) as engine:
        row = await started(engine, folder, ASKS)
        dialog = await asked(engine, row)
        assert dialog == RowDialog(("Allow Bash?", "", "  rm -r build", "", "❯ 1. Yes", "  2. No"), ("1", "2"))
        other = await engine.do(AnswerDialog(row, "1", ("Allow Edit?", *dialog.lines[1:])))
        assert other == Outcome(
            good=False, sentence="row 'api': its screen no longer shows that dialog; nothing was typed"
        )
        beyond = await engine.do(AnswerDialog(row, "3", dialog.lines))
        assert beyond == Outcome(good=False, sentence="row 'api': its dialog has no option 3; nothing was typed")
        assert "chosen" not in await shown(engine, row)
        done = await engine.do(AnswerDialog(row, "2", dialog.lines))
        assert done == Outcome(good=True, sentence="typed 2 for you into row 'api': Allow Bash?")
        async with asyncio.timeout(DEADLINE_S):
            while "chosen 2" not in await shown(engine, row):  # noqa: ASYNC110  (a fact of another process)
                await asyncio.sleep(0.02)
        late = await engine.do(AnswerDialog(row, "2", dialog.lines))
        assert not late.good
        assert "nothing was typed" in late.sentence
        lines = [(one.text, one.good) for one in (await engine.do(ReadEvents())).lines if one.what is What.ROW]
        assert (done.sentence, True) in lines
        assert (other.sentence, False) in lines


async def test_row_commands_when_nothing_is_hosted_here_then_they_say_why(comm_home: Path) -> None:
    project(comm_home)
    async with Engine(Home(str(comm_home)), os.environ, only_look="it only looks") as engine:
        assert (await engine.do(CreateRow("", "/"))).sentence == "it only looks; nothing was started"
        for command in (EndRow("a", remove=True), ResumeRow("a"), AnswerDialog("a", "1", ())):
            assert (await engine.do(command)).sentence == "it only looks; the row was left as it is"
        assert (await engine.do(ResumeLine("a"))).fault == "it only looks"
        assert (await engine.do(ReadDialog("a"))).fault == "it only looks"


async def test_folders_when_a_path_is_begun_then_those_that_fit_are_brought(comm_home: Path) -> None:
    parent = comm_home.parent / "src"
    for name in ("Api", "api-tools", "web", ".hidden"):
        (parent / name).mkdir(parents=True)
    (parent / "apple").touch()
    async with Engine(Home(str(comm_home)), os.environ, only_look="it only looks") as engine:
        found = await engine.do(ListFolders(f"{parent}/ap"))
        assert found.names == (f"{parent}/Api", f"{parent}/api-tools")
        assert (await engine.do(ListFolders(f"{parent}/"))).names[-1] == f"{parent}/web"
        assert (await engine.do(ListFolders(f"{parent}/."))).names == (f"{parent}/.hidden",)
        assert (await engine.do(ListFolders(f"{parent}/no/x"))).fault.endswith("No such file or directory")
        assert found.accounts == ("default",)
        (Path(os.environ["HOME"]) / "mine").mkdir(parents=True)
        (Path(os.environ["HOME"]) / ".claude-auth" / "work").mkdir(parents=True)
        (Path(os.environ["HOME"]) / ".claude-auth" / "no account").mkdir()
        (Path(os.environ["HOME"]) / ".claude-auth" / "notes").touch()
        assert (await engine.do(ListFolders("~/mi"))).accounts == ("default", "work")
        assert (await engine.do(ListFolders("~/mi"))).names == (f"{os.environ['HOME']}/mine",)
