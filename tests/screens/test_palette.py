"""The palette, the help and the key line: made of one table, so each knows what the others know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual.command import CommandPalette
from textual.widgets import Input, OptionList

from sot_tui.comm import registry
from sot_tui.screens import actions
from sot_tui.screens.actions import TABLE, Where
from sot_tui.screens.app import SotApp
from sot_tui.screens.compose import ComposeScreen
from sot_tui.screens.confirm import Confirm
from sot_tui.screens.events import EventsScreen
from sot_tui.screens.far import FarPlace
from sot_tui.screens.help import HelpScreen
from sot_tui.screens.locks import LocksScreen
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.recover import RecoverDialog
from sot_tui.screens.unsent import UnsentScreen
from tests.screens.real import Opened, dashboard, joined, put

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.screens.place import Place

WORKING: dict[str, object] = {"state": "working", "floor": "user", "note": "n", "summary": "n"}
SCREENS: dict[Where, type[Place[Any]]] = {
    Where.NAV: NavScreen,
    Where.MAIL: MailScreen,
    Where.COMPOSE: ComposeScreen,
    Where.UNSENT: UnsentScreen,
    Where.CONFIRM: Confirm,
    Where.RECOVER: RecoverDialog,
    Where.LOCKS: LocksScreen,
    Where.EVENTS: EventsScreen,
    Where.FAR: FarPlace,
    Where.HELP: HelpScreen,
}


def is_open(opened: Opened) -> bool:
    return isinstance(opened.app.screen, CommandPalette)


async def open_palette(opened: Opened, query: str = "") -> list[str]:
    """Open the palette, type, and return what it lists."""
    await opened.pilot.press("ctrl+p")
    await opened.until(lambda: is_open(opened), "the palette")
    if query:
        opened.app.screen.query_one(Input).value = query
    return await listed(opened, query)


async def listed(opened: Opened, query: str) -> list[str]:
    found = opened.app.screen.query_one(OptionList)

    def names() -> list[str]:
        return [str(found.get_option_at_index(at).prompt) for at in range(found.option_count)]

    await opened.until(lambda: any(query.split("-", maxsplit=1)[0] in name for name in names()), query)
    return names()


async def choose(opened: Opened) -> None:
    await opened.pilot.press("down", "enter")
    await opened.until(lambda: not is_open(opened), "it is closed")


async def test_palette_when_opened_then_lists_every_action_that_works_here_and_every_handle(comm_home: Path) -> None:
    put(comm_home, anna=WORKING, bob=WORKING)
    async with joined(comm_home, (120, 60)) as opened:
        names = "\n".join(await open_palette(opened))
        for action in (*actions.of(Where.NAV), *actions.of(Where.EVERYWHERE)):
            if not action.each:
                assert (action.label or action.name.replace("_", " ")) in names
        for handle in ("@anna", "@bob", "@operator-box"):
            assert handle in names


async def test_palette_when_a_handle_is_chosen_then_goes_there_whatever_the_filter_says(comm_home: Path) -> None:
    put(comm_home, anna=WORKING, bob=WORKING)
    async with joined(comm_home) as opened:
        await opened.pilot.press("slash", *"anna", "enter")
        await opened.until(lambda: list(opened.lines.keys) == ["anna"])
        await opened.pilot.press("l")
        await open_palette(opened, "@bob")
        await choose(opened)
        await opened.until(lambda: opened.app.screen is opened.nav, "back in the nav")
        await opened.until(lambda: opened.lines.selected == "bob")


async def test_palette_when_an_action_is_chosen_then_it_is_done(comm_home: Path) -> None:
    put(comm_home, anna=WORKING)
    async with joined(comm_home) as opened:
        await open_palette(opened, "locks")
        await choose(opened)
        await opened.until(lambda: isinstance(opened.app.screen, LocksScreen))


async def test_palette_when_an_action_can_do_nothing_then_it_says_why_before_and_after(comm_home: Path) -> None:
    put(comm_home, anna=WORKING)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.pause()
        names = await open_palette(opened, "clear done")
        assert "not now: @anna has no done to clear" in names[0]
        await choose(opened)
        await opened.until(lambda: opened.says("#message") == "@anna has no done to clear")


async def test_palette_when_a_summary_is_hostile_then_shows_it_inert(comm_home: Path) -> None:
    hostile = "[/]\x1b]2;x\x07[@click=app.quit]"
    home = put(comm_home, anna={"state": "waiting", "waiting": "x", "summary": hostile})

    def change(book: registry.Registry) -> bool:
        book.agents["bob" + hostile] = dict(book.entry("anna") or {})
        return True

    registry.replace(home, change, registry.Wait.RULED)
    async with dashboard(comm_home) as opened:
        await opened.until(lambda: len(opened.lines.keys) == 3, "the join")
        for query in ("@anna", "@bob", "app.quit", ""):
            names = "\n".join(await open_palette(opened, query))
            assert "[/]␛]2;x␇[@click=app.quit]" in names, query
            await opened.pilot.press("escape")
            await opened.until(lambda: not is_open(opened))


# -- the one table ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action", [action for action in TABLE if action.where in SCREENS], ids=lambda a: f"{a.where.name}-{a.name}"
)
def test_action_when_it_is_in_the_table_then_its_screen_can_do_it(action: actions.Action) -> None:
    assert callable(getattr(SCREENS[action.where], f"action_{action.name}"))
    assert SCREENS[action.where].WHERE is action.where


@pytest.mark.parametrize("action", actions.of(Where.EVERYWHERE), ids=lambda action: action.name)
def test_action_when_it_works_everywhere_then_the_app_can_do_it(action: actions.Action) -> None:
    assert callable(getattr(SotApp, f"action_{action.name}"))


def test_key_when_it_means_something_then_it_means_the_same_everywhere() -> None:
    """Product: a key means one thing everywhere; what a screen calls it may differ, what it does may not."""
    meanings: dict[str, set[str]] = {}
    for action in TABLE:
        # Any key that a person might press closes the help; Enter in a list of locks goes into the first of them.
        keys = {"escape"} if action.where is Where.HELP else set(action.keys)
        if (action.where, action.name) == (Where.LOCKS, "recover"):
            keys.discard("enter")
        for key in keys:
            meanings.setdefault(key, set()).add(_meaning(action))
    assert {key: names for key, names in meanings.items() if len(names) > 1} == {}


def _meaning(action: actions.Action) -> str:
    """Return what an action is about, as a person would say it of its key."""
    about = {
        "open_mail": "go in", "open_letter": "go in", "open_draft": "go in", "lock": "locks", "search": "narrow",
        "filter": "narrow", "keys": "help", "reload": "again", "known_up": "up", "known_down": "down",
        "pane_left": "beside", "pane_right": "beside", "other": "beside", "other_next": "beside",
        "further_up": "up", "further_down": "down", "start": "send", "keep": "go in", "open": "go in", "type": "go in",
    }  # fmt: skip
    return about.get(action.name, action.name)


@pytest.mark.parametrize("where", [Where.NAV, Where.LOCKS, Where.EVENTS])
async def test_help_when_asked_then_shows_the_keys_of_this_screen_alone(comm_home: Path, where: Where) -> None:
    put(comm_home, anna=WORKING)
    async with joined(comm_home, (120, 60)) as opened:
        if where is not Where.NAV:
            await opened.pilot.press("l" if where is Where.LOCKS else "e")
        await opened.pilot.press("question_mark")
        await opened.until(lambda: isinstance(opened.app.screen, HelpScreen))
        text = " ".join(opened.screen_text().replace("│", " ").split())
        assert f"Keys {where.value}" in text
        for action in (*actions.of(where), *actions.of(Where.EVERYWHERE)):
            assert action.help in text
        for other in TABLE:
            if other.where in SCREENS and other.where not in {where, Where.HELP}:
                mine = {action.help for action in (*actions.of(where), *actions.of(Where.LINES))}
                assert other.help in mine or other.help not in text, other


@pytest.mark.parametrize("width", [50, 80, 120, 200])
async def test_key_line_when_there_is_little_room_then_leaves_out_what_is_wanted_least(
    comm_home: Path, width: int
) -> None:
    put(comm_home, anna=WORKING)
    async with joined(comm_home, (width, 30)) as opened:
        told = opened.says("#keys").split("  ")
        await opened.pilot.pause()
        can = [action for action in actions.of(Where.NAV) if action.label and not opened.nav.why_not(action.name)]
        named = [f"{actions.spoken(action.keys[0])} {action.label}" for action in can]
        general = [f"{actions.spoken(a.keys[0])} {a.label}" for a in actions.of(Where.EVERYWHERE) if a.label]
        assert told[-len(general) :] == general
        shown = told[: -len(general)]
        assert shown == named[: len(shown)]
        assert shown
        assert len("  ".join(told)) <= width - 2
