"""A new row: the form is filled by keys and by clicks, refused in the daemon's words, kept, and its task is mail."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input, TextArea

from sot_tui.comm import fleet as rules
from sot_tui.engine.client import CreateRow, Folders, KeepDraft, ListFolders, Outcome, RowDone, Send
from sot_tui.screens.app import SotApp
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.show import Words
from sot_tui.screens.spawn import Form, SpawnScreen
from sot_tui.screens.widgets.lines import Lines
from sot_tui.screens.widgets.pick import Pick
from tests.rows.supervised import capsules_below
from tests.screens.fleets import ROWS, FakeClient, agents, entry, fleet, with_rows
from tests.screens.pictures import PatientPilot
from tests.screens.real import Opened, joined

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOMY = (120, 40)
SHELL = "/bin/sh -c 'echo up; read x'"


@pytest.fixture(autouse=True)
def ended_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have every row ended that a test starts."""
    monkeypatch.setenv("SOT_COMM_TEST_HOST", "box")
    yield
    for pid in capsules_below(f"{os.environ['XDG_STATE_HOME']}/sot/workspaces/"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def project(comm_home: Path, name: str = "Api") -> Path:
    folder = comm_home.parent / "src" / name
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    return folder


def form(opened: Opened) -> SpawnScreen:
    screen = opened.app.screen
    assert isinstance(screen, SpawnScreen), opened.screen_text()
    return screen


def left(opened: Opened) -> Form | None:
    return opened.app.desk.form


async def until_open(opened: Opened) -> None:
    await opened.until(lambda: isinstance(opened.app.screen, SpawnScreen), "the form")


async def until_started(opened: Opened, label: str = "Api") -> str:
    """Wait until a row is started and selected; return its id."""
    await opened.until(lambda: opened.app.screen is opened.nav and opened.fleet.rows, "a started row")
    row = next(row for row in opened.fleet.rows.values() if row.label == label)
    await opened.until(lambda: selected_row(opened) == row.id, "it is selected")
    return row.id


def selected_row(opened: Opened) -> str:
    one = rules.line_of(opened.fleet, opened.lines.selected or "")
    row = rules.row_of(opened.fleet, one) if one else None
    return row.id if row else ""


# -- with rows of this box --------------------------------------------------------------------------------------------


async def test_new_when_filled_by_keys_then_its_row_runs_and_is_selected(comm_home: Path) -> None:
    folder = project(comm_home)
    project(comm_home, "Web")
    async with joined(comm_home, ROOMY) as opened:
        await opened.pilot.press("n")
        await until_open(opened)
        await opened.pilot.press(*f"{folder.parent}/")
        known = form(opened).query_one("#spawn-known", Lines)
        await opened.until(lambda: list(known.keys) == [str(folder), f"{folder.parent}/Web"], "the folders there are")
        await opened.pilot.press("down", "up", "tab")
        assert form(opened).query_one("#spawn-folder", Input).value == f"{folder}/"
        await opened.pilot.press("enter", "left", "enter", "enter")
        await opened.until(lambda: form(opened).focused is form(opened).query_one("#spawn-command"), "the command")
        await opened.pilot.press(*SHELL, "ctrl+s")
        row = await until_started(opened)
        assert opened.fleet.rows[row].root == str(folder)
        await opened.until(lambda: opened.fleet.rows[row].phase == "ready")
        await opened.until(lambda: "no session has joined" in opened.line_of(f"row:{row}"))
        assert opened.says("#message") == f"started row 'Api' in {folder}"


async def test_new_when_filled_by_clicks_then_its_row_runs(comm_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(comm_home)
    monkeypatch.setenv("SHELL", "/bin/sh")
    async with joined(comm_home, ROOMY) as opened:
        await opened.click_key("new")
        await until_open(opened)
        form(opened).query_one("#spawn-folder", Input).value = f"{folder.parent}/A"
        known = form(opened).query_one("#spawn-known", Lines)
        await opened.until(lambda: list(known.keys) == [str(folder)] and known.region.height, "the folder")
        await opened.pilot.click(known, offset=(4, 0))
        assert form(opened).query_one("#spawn-folder", Input).value == f"{folder}/"
        pick = form(opened).query_one(Pick)
        await opened.pilot.click(pick, offset=(f"{pick.content}".index("shell") + 1, 0))
        await opened.until(lambda: pick.chosen == "none", "the shell")
        await opened.pilot.click("#spawn-start")
        row = await until_started(opened)
        assert opened.fleet.rows[row].agent == "none"


async def test_new_when_refused_then_says_the_daemons_words_and_keeps_the_form(comm_home: Path) -> None:
    folder = project(comm_home)
    async with joined(comm_home, ROOMY) as opened:
        opened.app.desk.form = Form(str(folder), "command", "fix the login", command=SHELL)
        await opened.pilot.press("n")
        await until_open(opened)
        await opened.pilot.press("ctrl+s")
        words = (
            "REFUSING the label 'fix the login': a row is named after its repository ('Api'), never after its task; "
            "say the task as the first task"
        )
        await opened.until(lambda: opened.says("#spawn-result") == words, "the refusal")
        await opened.pilot.press("escape")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert not opened.fleet.rows
        await opened.pilot.press("n")
        await until_open(opened)
        label = form(opened).query_one("#spawn-label Input, Input#spawn-label", Input)
        assert label.value == "fix the login"
        label.value = "api"
        await opened.pilot.press("ctrl+s")
        await until_started(opened, "api")
        assert left(opened) is None
        await opened.pilot.press("n")
        await until_open(opened)
        assert form(opened).query_one("#spawn-folder", Input).value == ""
        form(opened).query_one("#spawn-folder", Input).value = str(folder)
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: "is in use (capsule row, phase '" in opened.says("#spawn-result"), "no second row")


JOINS = "/bin/sh -c 'read go < {gate}; sot-tui join; read x'"


async def test_first_task_when_a_session_joins_then_is_filed_and_until_then_is_not_sent(comm_home: Path) -> None:
    folder = project(comm_home)
    gate = comm_home.parent / "gate"
    os.mkfifo(gate)
    async with joined(comm_home, ROOMY) as opened:
        task = "Look at the login\n\nIt fails for new users."
        opened.app.desk.form = Form(str(folder), "command", command=JOINS.format(gate=gate), task=task)
        await opened.pilot.press("n")
        await until_open(opened)
        await opened.pilot.press("ctrl+s")
        row = await until_started(opened)
        await opened.until(lambda: opened.says("#unsent") == "not sent 1")
        state = comm_home.parent / "state"
        (kept,) = [path for path in state.rglob("*") if path.is_file() and b"fails for new users" in path.read_bytes()]
        inbox = comm_home / "inbox" / "Api-box.jsonl"
        assert not inbox.exists()
        gate.write_text("go\n")
        await opened.until(lambda: inbox.exists() and inbox.read_text(), "the task in the inbox")
        await opened.until(lambda: not opened.app.desk.drafts.unsent(), "nothing unsent")
        (line,) = inbox.read_text().splitlines()
        said = json.loads(line)
        assert (said["from"], said["to"], said["msg"]) == ("operator-box", "Api-box", task)
        await opened.until(lambda: not kept.exists() or b"fails for new users" not in kept.read_bytes())
        await opened.until(lambda: opened.lines.selected == "Api-box", "the selection went along")
        assert selected_row(opened) == row


# -- with what a client answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filled", "words"),
    [
        (Form(), "not started: say first in which folder"),
        (Form("/a", "command"), "not started: say first which command"),
        (Form("/a", "command", command="a 'b"), "not started: the command cannot be taken apart: No closing quotation"),
        (
            Form("/a", "none", task="x"),
            "not started: a shell reads no mail: leave the first task empty, or choose an agent",
        ),
    ],
)
async def test_new_when_nobody_can_be_asked_then_says_what_is_missing(filled: Form, words: str) -> None:
    client = FakeClient(with_rows())
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        app.desk.form = filled
        await pilot.press("n", "ctrl+s")
        assert str(app.screen.query_one("#spawn-result").content) == words  # type: ignore[attr-defined]
        assert not client.asked_for(CreateRow)


@pytest.mark.parametrize(
    ("filled", "field"),
    [
        (Form(), "folder"),
        (Form("/a", "command"), "command"),
        (Form("/a", "command", command="a 'b"), "command"),
        (Form("/a", "none", task="x"), "task"),
    ],
)
async def test_new_when_nobody_can_be_asked_then_the_field_that_it_is_about_has_the_keys(
    filled: Form, field: str
) -> None:
    app = SotApp(FakeClient(with_rows()))
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        app.desk.form = filled
        await pilot.press("n")
        app.screen.query_one("#spawn-label").focus()
        await pilot.press("ctrl+s")
        assert app.focused is app.screen.query_one(f"#spawn-{field}")


@pytest.mark.parametrize(
    ("code", "filled", "field"),
    [
        ("no_such_path", Form("/a"), "folder"),
        ("duplicate_root", Form("/a"), "folder"),
        ("task_named_label", Form("/a"), "label"),
        ("label_in_use", Form("/a"), "label"),
        ("unknown_account", Form("/a", account="wrok"), "account"),
        ("unsupported_agent_on_this_host", Form("/a"), "agent"),
        ("unsupported_agent_on_this_host", Form("/a", "command", command="vmi"), "command"),
        ("persist_failed", Form("/a"), "task"),
    ],
)
async def test_new_when_refused_then_the_field_that_the_refusal_is_about_has_the_keys(
    code: str, filled: Form, field: str
) -> None:
    client = FakeClient(with_rows())
    client.answers[CreateRow] = RowDone(good=False, sentence="no", code=code)
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        app.desk.form = filled
        await pilot.press("n")
        app.screen.query_one("#spawn-task").focus()
        await pilot.press("ctrl+s")
        assert app.focused is app.screen.query_one(f"#spawn-{field}")
        assert "no" in str(app.screen.query_one("#spawn-result", Words).content)


async def test_folder_when_it_is_completed_then_the_next_tab_goes_into_it(comm_home: Path) -> None:
    folder = project(comm_home)
    (folder / "docs").mkdir()
    async with joined(comm_home, ROOMY) as opened:
        await opened.pilot.press("n")
        await until_open(opened)
        field = form(opened).query_one("#spawn-folder", Input)
        # As fast as a person may press them: none of them knows yet what there is.
        await opened.pilot.press(*f"{folder.parent}/A", "tab", "tab")
        await opened.until(lambda: field.value == f"{folder}/docs/", "the folder in it")
        await opened.pilot.press("tab")
        await opened.until(lambda: form(opened).focused is form(opened).query_one(Pick), "nothing lies in that one")


async def test_account_when_there_are_several_then_one_is_chosen_as_a_folder_is(comm_home: Path) -> None:
    folder = project(comm_home)
    for name in ("work", "wife"):
        (comm_home.parent / "home" / ".claude-auth" / name).mkdir(parents=True)
    async with joined(comm_home, ROOMY) as opened:
        await opened.pilot.press("n")
        await until_open(opened)
        account, known = (
            form(opened).query_one("#spawn-account", Input),
            form(opened).query_one("#spawn-accounts", Lines),
        )
        await opened.until(lambda: form(opened).query_one("#spawn-account-line").display, "the accounts are known")
        await opened.pilot.press(*f"{folder}", "enter", "enter", "enter")
        await opened.until(lambda: form(opened).focused is account, "the account")
        await opened.until(lambda: list(known.keys) == ["default", "wife", "work"], "all of them")
        await opened.pilot.press("w")
        await opened.until(lambda: list(known.keys) == ["wife", "work"], "those that begin so")
        await opened.pilot.press("down", "tab")
        assert account.value == "work"
        form_left = left(opened)
        assert form_left is not None
        assert form_left.account == "work"
        assert not form(opened).query_one("#spawn-accounts-line").display
        await opened.pilot.press("tab")
        assert form(opened).focused is form(opened).query_one("#spawn-task")


async def test_account_when_there_is_only_one_then_none_is_asked_for() -> None:
    client = FakeClient(with_rows())
    client.answers[ListFolders] = Folders(accounts=("default",))
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        await pilot.press("n")
        assert not app.screen.query_one("#spawn-account-line").display
        await pilot.press("enter", "enter", "enter")
        assert app.focused is app.screen.query_one("#spawn-task")


@pytest.mark.parametrize(
    ("filled", "wish"),
    [
        (Form("/a/", task="t"), CreateRow("", "/a", "claude", task="t")),
        (Form("/", "codex", " api ", "work"), CreateRow("api", "/", "codex")),
        (Form("~/a", "claude", account="work"), CreateRow("", "~/a", "claude", account="work")),
        (Form("/a", "none", command="vi"), CreateRow("", "/a", "none")),
        (Form("/a", "command", command="vi 'a b'"), CreateRow("", "/a", "none", command=("vi", "a b"))),
    ],
)
def test_form_when_whole_then_asks_for_what_its_agent_has(filled: Form, wish: CreateRow) -> None:
    assert filled.wish() == wish


async def test_new_when_its_folder_cannot_be_listed_then_says_why_and_can_be_started() -> None:
    client = FakeClient(with_rows())
    client.answers[ListFolders] = Folders(fault="/x: Permission denied")
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        await pilot.press("n", "slash", "x")
        assert str(app.screen.query_one("#spawn-result").content) == "/x: Permission denied"  # type: ignore[attr-defined]
        await pilot.press("ctrl+s")
        assert client.asked_for(CreateRow) == [CreateRow("", "/x", "claude")]
        assert isinstance(app.screen, NavScreen)


async def test_first_task_when_the_row_is_over_before_anybody_joined_then_stays_unsent_and_says_so() -> None:
    client = FakeClient(with_rows())
    client.answers[CreateRow] = RowDone(good=True, sentence="started", row="ws-fit-63")
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        app.desk.form = Form("/a", "claude", task="look")
        await pilot.press("n", "ctrl+s")
        assert client.asked_for(KeepDraft)
        over = ROWS["ws-fit-63"]._replace(phase="ended_no_respawn", ended="exit 1")
        client.show(client.fleet._replace(rows=ROWS | {"ws-fit-63": over}))
        await pilot.pause()
        (draft,) = app.desk.drafts.unsent()
        assert draft.refused == "not sent: its row is over, and no session has joined in it"
        assert not client.asked_for(Send)


async def test_first_task_when_its_session_is_only_announced_then_waits_on() -> None:
    client = FakeClient(with_rows())
    client.answers[CreateRow] = RowDone(good=True, sentence="started", row="ws-fit-63")
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        app.desk.form = Form("/a", "claude", task="look")
        await pilot.press("n", "ctrl+s")
        said = {"fit-box": entry(workspace_id="ws-fit-63", status="spawning")}
        client.show(fleet(rows=client.fleet.rows, agents=agents(said)))
        await pilot.pause()
        assert not client.asked_for(Send)
        said = {"fit-box": entry(workspace_id="ws-fit-63", status="idle")}
        client.show(fleet(rows=client.fleet.rows, agents=agents(said)))
        await pilot.pause()
        assert client.asked_for(Send) == [Send("fit-box", "look")]
        client.show(client.fleet)
        await pilot.pause()
        assert len(client.asked_for(Send)) == 1


async def test_first_task_when_it_is_refused_then_is_kept_and_not_tried_again_by_itself() -> None:
    client = FakeClient(with_rows())
    client.answers[CreateRow] = RowDone(good=True, sentence="started", row="ws-fit-63")
    client.answers[Send] = Outcome(good=False, sentence="FAILED -> @fit-box: its inbox is being written")
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        app.desk.form = Form("/a", "claude", task="look")
        await pilot.press("n", "ctrl+s")
        said = {"fit-box": entry(workspace_id="ws-fit-63", status="idle")}
        for _ in range(3):
            client.show(fleet(rows=client.fleet.rows, agents=agents(said)))
            await pilot.pause()
        assert client.asked_for(Send) == [Send("fit-box", "look")]
        (draft,) = app.desk.drafts.unsent()
        assert (draft.to, draft.refused) == ("fit-box", "FAILED -> @fit-box: its inbox is being written")


async def test_task_when_written_then_what_is_pasted_acts_on_nothing() -> None:
    app = SotApp(FakeClient(with_rows()))
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        await pilot.press("n")
        task = app.screen.query_one("#spawn-task", TextArea)
        task.focus()
        await pilot.press(*"hi")
        assert app.desk.form is not None
        assert app.desk.form.task == "hi"
