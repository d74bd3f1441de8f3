"""The key line offers what can be done now, and nothing that would be refused; a filter says what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from sot_tui.comm.fleet import LockState, Stance
from sot_tui.engine.client import Drafts, KeptDraft, LoadDrafts
from sot_tui.screens.app import SotApp
from sot_tui.screens.show import Words
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import ALIEN, DEAD, FakeClient, fleet

if TYPE_CHECKING:
    from textual.pilot import Pilot

SIZE = (200, 40)


def offered(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one("#keys", Words).content)


def says(pilot: Pilot[None], selector: str) -> str:
    return str(pilot.app.screen.query_one(selector, Words).content)


@pytest.mark.parametrize("stance", [Stance.READ_ONLY, Stance.VIEWER])
async def test_keys_when_nothing_may_be_written_then_no_key_that_writes_is_shown(stance: Stance) -> None:
    app = SotApp(FakeClient(fleet(stance=stance, stance_why="it only looks")))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert "view" in offered(pilot)
        for word in (" write", " compose", " clear done", " new", " to all"):
            assert word not in offered(pilot)
        await pilot.press("m")
        await pilot.pause()
        for word in (" reply", " compose", " editor"):
            assert word not in offered(pilot)


async def test_keys_when_another_line_is_selected_then_they_are_those_of_the_line() -> None:
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        lines = app.screen.query_one("#fleet", Lines)
        for handle, can in (("Docs-box", True), ("Notes-box", False)):
            lines.select(handle)
            await pilot.pause()
            assert (" clear done" in offered(pilot)) is can, handle


@pytest.mark.parametrize(("lock", "can"), [(DEAD, True), (ALIEN, False)])
async def test_locks_when_no_death_is_proved_then_recover_is_not_offered(lock: LockState, can: bool) -> None:
    app = SotApp(FakeClient(fleet(lock=lock)))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("l")
        await pilot.pause()
        await pilot.pause()
        assert (" recover" in offered(pilot)) is can


@pytest.mark.parametrize(("refused", "can"), [("FAILED -> @anna: no", True), ("", False)])
async def test_not_sent_when_it_was_never_tried_then_it_is_not_offered_to_be_sent_again(
    refused: str, can: bool
) -> None:
    client = FakeClient(fleet())
    client.answers[LoadDrafts] = Drafts((KeptDraft("to:anna", "anna", "hello", "", refused),))
    app = SotApp(client)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("u")
        await pilot.pause()
        assert (" send again" in offered(pilot)) is can
        assert " open" in offered(pilot)


@pytest.mark.parametrize("way", ["keys", "mouse"])
async def test_filter_while_it_is_typed_then_only_the_keys_that_work_there_are_shown(way: str) -> None:
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("slash", "d")
        await pilot.pause()
        assert offered(pilot) == "enter keep it  esc show all  ^p palette"
        if way == "keys":
            await pilot.press("enter")
        else:
            await pilot.click("#keys", offset=(offered(pilot).index("keep") + 1, 0))
        await pilot.pause()
        assert isinstance(app.focused, Lines)
        assert "? help" in offered(pilot)
        await pilot.press("slash")
        await pilot.pause()
        if way == "keys":
            await pilot.press("escape")
        else:
            await pilot.click("#keys", offset=(offered(pilot).index("show all") + 1, 0))
        await pilot.pause()
        assert not app.screen.query_one("#filter").display


@pytest.mark.parametrize("way", ["keys", "mouse"])
async def test_search_while_it_is_typed_then_only_the_keys_that_work_there_are_shown(way: str) -> None:
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("m", "slash", "d")
        await pilot.pause()
        assert offered(pilot) == "enter to the list  esc back  ^p palette"
        if way == "keys":
            await pilot.press("enter")
        else:
            await pilot.click("#keys", offset=(offered(pilot).index("list") + 1, 0))
        await pilot.pause()
        assert not isinstance(app.focused, Input)
        assert "? help" in offered(pilot)


@pytest.mark.parametrize("where", ["nav", "events"])
async def test_filter_when_it_names_no_field_then_says_so_and_names_the_fields(where: str) -> None:
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press(*([] if where == "nav" else ["e"]), "slash", *"foo:bar")
        await pilot.pause()
        told = says(pilot, "#filter-count")
        assert told.startswith("foo: is no field; there is ")
        assert ("state:, host:" if where == "nav" else "kind:") in told


async def test_filter_when_it_fits_nobody_then_says_so_and_what_it_takes() -> None:
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"zzz")
        await pilot.pause()
        empty = app.screen.query_one("#empty", Words)
        assert empty.display
        assert "fits nobody" in str(empty.content)
        assert "state:blocked" in str(empty.content)
        await pilot.press("escape")
        await pilot.pause()
        assert not empty.display
