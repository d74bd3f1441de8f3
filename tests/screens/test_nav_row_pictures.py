"""Pictures of rows in the nav, of the form that starts one, and of the questions about one; three sizes, two themes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sot_tui.engine.client import CreateRow, RowDone
from sot_tui.screens.app import SotApp
from sot_tui.screens.spawn import Form
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import FakeClient, with_rows
from tests.screens.pictures import SIZES, THEMES, Size, check, opened

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion
    from textual.pilot import Pilot

pytestmark = pytest.mark.usefixtures("one_time_zone")
REFUSAL = (
    "REFUSING the label 'fix the login': a row is named after its repository ('Api'), never after its task; say the "
    "task as the first task"
)


def refused(client: FakeClient) -> None:
    client.answers[CreateRow] = RowDone(good=False, sentence=REFUSAL, code="task_named_label")


async def select(pilot: Pilot[None], key: str) -> None:
    lines = pilot.app.screen.query_one("#fleet", Lines)
    lines.select(key)
    lines.repaint()
    await pilot.pause()


def fill(pilot: Pilot[None], filled: Form) -> None:
    assert isinstance(pilot.app, SotApp)
    pilot.app.desk.form = filled


@SIZES
@THEMES
async def test_nav_with_rows(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Rows that nobody has joined from stand among the handles, none idle; what runs in each where it is wide."""
    async with opened(size, with_rows(), theme=theme) as pilot:
        await select(pilot, "row:ws-notes-41")
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_on_a_dead_row(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Its run is over, how it ended is told, and it stays."""
    async with opened(size, with_rows(), theme=theme) as pilot:
        await select(pilot, "row:ws-paper-52")
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_on_a_dialog(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The dialog as it stands on the row's screen, its options whole, and the keys that answer it."""
    async with opened(size, with_rows(), theme=theme) as pilot:
        await select(pilot, "MyRepo-box")
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_form_when_opened(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Recent projects are listed, the first of them marked; the folder has the keys."""
    async with opened(size, with_rows(), "n", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_form_when_refused(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Why, in the daemon's own words, and all that was filled in."""
    async with opened(size, with_rows(), laid_out=refused, theme=theme) as pilot:
        fill(pilot, Form("/home/me/src/Api", "claude", "fix the login", task="Look at the login.\n\nIt fails."))
        await pilot.press("n", "enter", "ctrl+s")
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_form_of_a_command(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The command in the place of the account; it has the keys."""
    async with opened(size, with_rows(), theme=theme) as pilot:
        fill(pilot, Form("/home/me/src/Api", "command", command="make -k test"))
        await pilot.press("n", "enter", "enter", "enter")
        check(pilot, svg, txt)


@SIZES
@THEMES
@pytest.mark.parametrize(
    ("key", "pressed"),
    [("MyRepo-box", "x"), ("row:ws-paper-52", "x"), ("row:ws-paper-52", "a")],
    ids=["end", "remove", "run again"],
)
async def test_question_about_a_row(
    key: str, pressed: str, size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """What ends and what stays; or the command that will run. Cancel has the focus."""
    async with opened(size, with_rows(), theme=theme) as pilot:
        await select(pilot, key)
        await pilot.press(pressed)
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_help_of_the_form(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The keys of the form alone."""
    async with opened(size, with_rows(), "n", "tab", "tab", "question_mark", theme=theme) as pilot:
        check(pilot, svg, txt)
