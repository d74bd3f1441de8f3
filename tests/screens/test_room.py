"""Room: a low window keeps the list and the keys in sight, and a closed screen gives back what was painted for it."""

from __future__ import annotations

import gc

import pytest
from textual.strip import Strip

from sot_tui.comm.fleet import Reading, RegistryState
from sot_tui.screens.app import SotApp
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import ALIEN, NOW, FakeClient, fleet


@pytest.mark.parametrize("size", [(45, 16), (60, 16), (80, 16), (99, 20), (140, 16)])
async def test_nav_when_the_window_is_low_then_its_list_and_its_keys_are_in_sight(size: tuple[int, int]) -> None:
    """A handle at least, and no scrollbar that takes from the columns, whatever banners there are."""
    unread = RegistryState(Reading.UNREADABLE, NOW - 40, why="it is not one JSON document with an object .agents")
    app = SotApp(FakeClient(fleet(registry=unread, lock=ALIEN)))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        nav = app.screen
        assert isinstance(nav, NavScreen)
        lines = nav.query_one("#fleet", Lines)
        assert nav.size.width == size[0]
        assert lines.size.height >= 1
        assert lines.region.bottom <= size[1]
        assert nav.query_one("#keys").region.bottom == size[1]


def painted() -> int:
    gc.collect()
    return sum(isinstance(one, Strip) for one in gc.get_objects())


async def test_screen_when_closed_then_what_was_painted_for_it_is_given_back() -> None:
    """Textual keeps each widget's cache of painted lines in a memo of its own, long after the widget has gone."""
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=(100, 30)) as pilot:
        found = []
        for _ in range(4):
            await pilot.press("enter")
            await pilot.pause()
            assert isinstance(app.screen, MailScreen)
            await pilot.press("escape")
            await pilot.pause()
            assert isinstance(app.screen, NavScreen)
            found.append(painted())
        assert found[-1] < found[0] * 1.1, found
