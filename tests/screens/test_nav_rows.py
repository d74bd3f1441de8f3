"""Rows in the nav: ended, removed, run again and answered, by keys and by clicks, on real rows and on made ones."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import fleet as rules
from sot_tui.engine.client import AnswerDialog, CreateRow, EndRow, Line, ReadDialog, ResumeLine, ResumeRow, RowDialog
from sot_tui.screens import nav as nav_module
from sot_tui.screens.app import SotApp
from sot_tui.screens.confirm import Confirm
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.show import Words
from sot_tui.screens.widgets.lines import Lines
from tests.rows.supervised import capsules_below
from tests.screens.fleets import DIALOG, FakeClient, with_rows
from tests.screens.pictures import PatientPilot
from tests.screens.real import Opened, joined

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOMY = (120, 40)
WAYS = pytest.mark.parametrize("way", ["keys", "mouse"])
SHELL = ("/bin/sh", "-c", "echo up; read x")
ASKING = r"""
sot-tui join
sot-tui status dialog "Allow Bash?"
clear
stty -icanon -echo min 1
printf 'Allow Bash?\n\n  rm -r build\n\n❯ 1. Yes\n  2. No\n'
key=$(dd bs=1 count=1 2>/dev/null)
clear
echo "chosen $key"
sot-tui status resumed
read x
"""


@pytest.fixture(autouse=True)
def ended_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have every row ended that a test starts."""
    monkeypatch.setenv("SOT_COMM_TEST_HOST", "box")
    yield
    for pid in capsules_below(f"{os.environ['XDG_STATE_HOME']}/sot/workspaces/"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def started(opened: Opened, comm_home: Path, command: tuple[str, ...] = SHELL) -> str:
    folder = comm_home.parent / "src" / "Api"
    folder.mkdir(parents=True)
    await opened.until(lambda: opened.engine.rows is not None)
    done = await opened.engine.do(CreateRow("", str(folder), "none", command=command))
    assert done.good, done
    await opened.until(lambda: opened.fleet.rows[done.row].phase == "ready")
    await opened.until(lambda: any(one.workspace_id == done.row for one in rules.lines(opened.fleet)))
    return done.row


async def ask(opened: Opened, way: str, key: str, label: str) -> None:
    await (opened.pilot.press(key) if way == "keys" else opened.click_key(label))
    await opened.until(lambda: isinstance(opened.app.screen, Confirm), "the question")


def asked(app: SotApp) -> str:
    return " ".join(str(words.content) for words in app.screen.query(Words))


@WAYS
async def test_row_when_ended_run_again_and_removed_then_each_is_asked_and_done(comm_home: Path, way: str) -> None:
    async with joined(comm_home, (200, 40)) as opened:
        row = await started(opened, comm_home)
        key = rules.row_key(row)
        opened.lines.select(key)
        await opened.pilot.pause()
        await ask(opened, way, "x", "end")
        said = asked(opened.app)
        assert "End row 'Api'?" in said
        assert f"sh in {comm_home.parent}/src/Api, and what runs in its terminal" in " ".join(said.split())
        assert "the recording of its run" in said
        await opened.pilot.press("enter")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert opened.fleet.rows[row].phase == "ready", "cancel has the focus"
        await ask(opened, way, "x", "end")
        await (opened.pilot.press("right", "enter") if way == "keys" else opened.pilot.click("#confirm-yes"))
        await opened.until(lambda: opened.fleet.rows[row].phase == "ended_no_respawn", "its end")
        await opened.until(lambda: "ended" in opened.line_of(key) and "its run has ended" in opened.line_of(key))
        await ask(opened, way, "a", "run again")
        assert "/bin/sh -c 'echo up; read x'" in asked(opened.app)
        await (opened.pilot.press("right", "enter") if way == "keys" else opened.pilot.click("#confirm-yes"))
        await opened.until(lambda: opened.fleet.rows[row].phase == "ready", "it runs again")
        await ask(opened, way, "x", "end")
        await (opened.pilot.press("left", "enter") if way == "keys" else opened.pilot.click("#confirm-other"))
        await opened.until(lambda: not opened.fleet.rows and key not in opened.lines.keys, "it is removed")
        assert opened.says("#message") == "row 'Api' is removed"


@WAYS
async def test_dialog_when_answered_from_the_nav_then_its_row_goes_on(comm_home: Path, way: str) -> None:
    async with joined(comm_home, ROOMY) as opened:
        row = await started(opened, comm_home, ("/bin/sh", "-c", ASKING))
        await opened.until(lambda: "Api-box" in opened.lines.keys, "the join")
        opened.lines.select("Api-box")
        await opened.until(lambda: "rm -r build" in opened.says("#detail-body"), "the dialog")
        detail = opened.says("#detail-body")
        assert "❯ 1. Yes" in detail
        if way == "keys":
            await opened.pilot.press("2")
        else:
            line = detail.splitlines().index(next(one for one in detail.splitlines() if "answer" in one))
            at = detail.splitlines()[line].index(" 2 ")
            await opened.pilot.click("#detail-body", offset=(at + 1, line))
        said = "typed 2 for you into row 'Api': Allow Bash?"
        await opened.until(lambda: opened.says("#message") == said, "the answer")
        await opened.until(lambda: opened.fleet.agents["Api-box"].state is not rules.State.BLOCKED, "it goes on")
        await opened.until(lambda: "rm -r build" not in opened.says("#detail-body"))
        assert opened.engine.rows is not None
        shown = await opened.engine.rows.screen(row)
        assert "chosen 2" in "".join(cell.data for cell in shown.screen.rows[0])  # type: ignore[union-attr]
        log = comm_home.parent / "state/sot/tui/events.log"
        await opened.until(lambda: f" row {said}\n" in log.read_text(), "the log")


# -- on a made fleet --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "pressed", "words"),
    [
        ("Notes-box", "1", "@Notes-box has no row on this box"),
        ("row:ws-notes-41", "1", "row 'Notes' is not blocked, so there is nothing to answer"),
        ("Notes-box", "a", "@Notes-box has no row on this box"),
        ("MyRepo-box", "a", "row 'MyRepo' is not over (phase: ready)"),
        ("row:ws-notes-41", "m", "no session has joined in row 'Notes', so it has no handle and no mail"),
        ("row:ws-notes-41", "r", "no session has joined in row 'Notes', so it has no handle and no mail"),
        ("row:ws-notes-41", "y", "no session has joined in row 'Notes', so it has no handle and no mail"),
        ("row:ws-notes-41", "d", "row 'Notes' has no done to clear"),
        ("row:ws-notes-41", "z", "row 'Notes' does not need you, so there is nothing to set aside"),
        ("Notes-box", "x", "@Notes-box is live: its own session gives it back (sot-tui leave)"),
    ],
)
async def test_action_when_a_line_has_not_what_it_needs_then_says_why(key: str, pressed: str, words: str) -> None:
    client = FakeClient(with_rows())
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        await pilot.pause()
        app.screen.query_one("#fleet", Lines).select(key)
        await pilot.press(pressed)
        assert app.desk.said is not None
        assert app.desk.said.sentence == words
        assert isinstance(app.screen, NavScreen)
        assert not client.asked_for(AnswerDialog)


async def test_dialog_when_none_is_read_then_its_reason_is_told_and_nothing_is_typed() -> None:
    client = FakeClient(with_rows())
    client.answers[ReadDialog] = RowDialog(fault="its screen shows no dialog")
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        await pilot.pause()
        app.screen.query_one("#fleet", Lines).select("MyRepo-box")
        await pilot.press("1")
        assert app.desk.said is not None
        assert app.desk.said.sentence == "row 'MyRepo': its screen shows no dialog"
        assert not client.asked_for(AnswerDialog)


async def test_dialog_when_another_took_its_place_then_a_key_waits_until_it_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = FakeClient(with_rows())
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        await pilot.pause()
        app.screen.query_one("#fleet", Lines).select("MyRepo-box")
        await pilot.pause()
        client.answers[ReadDialog] = replace(DIALOG, lines=("Push?", "❯ 1. Yes", "  2. No"), keys=("1", "2"))
        client.show(client.fleet)
        await pilot.pause()
        await pilot.press("1")
        assert app.desk.said is not None
        assert app.desk.said.sentence == "row 'MyRepo' asks something else now; read it first"
        monkeypatch.setattr(nav_module, "_REPLACED_SECS", 0.0)
        await asyncio.sleep(0)
        await pilot.press("1")
        assert client.asked_for(AnswerDialog) == [AnswerDialog("ws-myrepo-9f31", "1", ("Push?", "❯ 1. Yes", "  2. No"))]


async def test_end_when_the_run_is_over_then_only_removes() -> None:
    client = FakeClient(with_rows())
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        await pilot.pause()
        app.screen.query_one("#fleet", Lines).select("row:ws-paper-52")
        await pilot.press("x")
        assert not app.screen.query("#confirm-other")
        await pilot.press("right", "enter")
        assert client.asked_for(EndRow) == [EndRow("ws-paper-52", remove=True)]


async def test_run_again_when_its_command_is_not_there_then_says_so_and_asks_nothing() -> None:
    client = FakeClient(with_rows())
    client.answers[ResumeLine] = Line("", "codex not found (searched: /bin)")
    app = SotApp(client)
    async with app.run_test(size=(80, 24)):
        pilot = PatientPilot(app)
        await pilot.pause()
        app.screen.query_one("#fleet", Lines).select("row:ws-paper-52")
        await pilot.press("a")
        assert app.desk.said is not None
        assert app.desk.said.sentence == "row 'Paper': codex not found (searched: /bin)"
        assert isinstance(app.screen, NavScreen)
        assert not client.asked_for(ResumeRow)
