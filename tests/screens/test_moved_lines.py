"""A click clears only what the person aimed at: lines that moved under the pointer by themselves are not hit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.fleet import LockState
from sot_tui.engine.client import ClearDone
from sot_tui.screens.app import SotApp
from sot_tui.screens.events import EventsScreen
from sot_tui.screens.found import SearchScreen, SentScreen, ThreadsScreen
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.recover import RecoverDialog
from sot_tui.screens.show import Words
from sot_tui.screens.unsent import UnsentScreen
from sot_tui.screens.widgets import lines as the_lines
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import DEAD, ENTRIES, FREE, FakeClient, agents, entry, fleet

if TYPE_CHECKING:
    from textual.pilot import Pilot

DONE = {
    name: entry(at=100 + at, state="done", done=True, summary="ready") for at, name in enumerate(("B-box", "A-box"))
}
WEDGED = LockState(*DEAD)


async def lay_out(pilot: Pilot[None], client: FakeClient, **changes: object) -> None:
    client.show(client.fleet._replace(**changes))  # type: ignore[arg-type]  # a test names fields
    await pilot.pause()
    await pilot.pause()


@pytest.mark.parametrize("how", ["a banner", "the order"])
async def test_click_when_another_line_came_under_the_pointer_then_nothing_is_cleared(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeClient(fleet(agents=agents(ENTRIES | DONE)))
    app = SotApp(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        lines = app.screen.query_one("#fleet", Lines)
        monkeypatch.setattr(the_lines, "MOVED_SECS", 3600.0)  # however slow this machine is
        aimed = lines.region.y + lines.keys.index("A-box" if how == "the order" else "B-box")
        if how == "a banner":
            await lay_out(pilot, client, lock=WEDGED)
        else:
            older = {"C-box": entry(at=9000, state="blocked", summary="?", dialog="?")}
            await lay_out(pilot, client, agents=agents(ENTRIES | DONE | older))
        before = lines.selected
        await pilot.click(offset=(10, aimed))
        assert client.asked_for(ClearDone) == []
        assert lines.selected == before
        assert "click again" in str(app.screen.query_one("#message", Words).content)
        monkeypatch.setattr(the_lines, "MOVED_SECS", 0.0)
        key = lines.keys[aimed - lines.region.y]
        await pilot.click(offset=(10, aimed))
        assert lines.selected == key, "once the lines have stood for a moment, a click is a click"


async def test_click_when_lines_moved_but_not_this_one_then_it_counts() -> None:
    client = FakeClient(fleet(agents=agents(ENTRIES | DONE)))
    app = SotApp(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        lines = app.screen.query_one("#fleet", Lines)
        young = {"Z-box": entry(at=5, state="idle")}
        await lay_out(pilot, client, agents=agents(ENTRIES | DONE | young))
        await pilot.click(offset=(10, lines.region.y + lines.keys.index("B-box")))
        assert client.asked_for(ClearDone) == [ClearDone("B-box")]


@pytest.mark.parametrize("way", ["keys", "mouse"])
@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        (("e",), EventsScreen),
        (("m",), MailScreen),
        (("m", "t"), ThreadsScreen),
        (("m", "s"), SentScreen),
        (("m", "slash"), SearchScreen),
        (("u",), UnsentScreen),
    ],
)
async def test_lock_when_it_is_wedged_then_every_screen_says_so_and_leads_to_recover(
    keys: tuple[str, ...], kind: type[object], way: str
) -> None:
    client = FakeClient(fleet(lock=FREE))
    app = SotApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert isinstance(app.screen, kind)
        banner = app.screen.query_one("#lock-banner", Words)
        assert banner.styles.display == "none"
        await pilot.press("ctrl+r")
        assert "nothing to recover" in str(app.screen.query_one("#message", Words).content)
        await lay_out(pilot, client, lock=WEDGED)
        assert banner.display
        assert "recover it" in str(banner.content)
        await (pilot.press("ctrl+r") if way == "keys" else pilot.click(banner))
        await pilot.pause()
        assert isinstance(app.screen, RecoverDialog)
