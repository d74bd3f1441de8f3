"""The palette: every action that works on the screen below, and every handle, found by a few letters.

It is made of the table of actions like the key line and the help. An action that can do nothing now is listed all the
same, with the reason beside it, and says the reason when it is chosen. Names and summaries are foreign: nothing of them
is handed over as text, which Textual's palette would parse as markup.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Provider
from textual.content import Content

from sot_tui.comm import fleet as rules
from sot_tui.screens import actions, handles, show
from sot_tui.screens.actions import Where
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.place import Dialog, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import App
    from textual.command import Hits

    from sot_tui.screens.actions import Action

DISCOVERED = 60
"""Handles that are listed before anything is typed; as many sessions a person may run."""


class Everything(Provider):
    """What can be done on the screen below, and where a person can go."""

    async def discover(self) -> Hits:
        """List the actions in the order of the table, then the handles in the order of the nav."""
        # The list is sorted by the text that is not shown, so that this order stands.
        for number, (name, run, about) in enumerate(self._all(DISCOVERED)):
            yield DiscoveryHit(_prompt(show.words(name), about), run, f"{number:05}")

    async def search(self, query: str) -> Hits:
        """List what fits the letters, the best first."""
        matcher = self.matcher(query)
        for name, run, about in self._all(None):
            score, places = matcher.fuzzy_search.match(query, name)
            if score > 0:
                found = show.words(name)
                for place in places:
                    found = found.stylize(self.match_style or "b", place, place + 1)
                yield Hit(score, _prompt(found, about), run, name)

    def _all(self, most: int | None) -> Iterator[tuple[str, Callable[[], None], str]]:
        """Yield names, each with what it does and one sentence about it, all of them fit to be shown."""
        screen = self.screen
        if not isinstance(screen, Place):
            return
        for action in (*actions.of(screen.WHERE), *actions.of(Where.EVERYWHERE)):
            if action.each:
                continue  # which of its keys is meant is not known here
            yield f"{_name(action)}  ({actions.spoken_keys(action)})", self._runner(action), _about(screen, action)
        if not isinstance(screen, Dialog):
            now = screen.desk.now()
            for handle in rules.order(screen.desk.fleet, now)[:most]:
                fleet = screen.desk.fleet
                one = rules.line_of(fleet, handle)
                if one is None:
                    continue
                name = f"row {one.label}" if one.label else f"@{handle}"
                said = handles.said(rules.derive(fleet, one, now))
                yield show.plain(name), partial(_go_to, screen, handle), show.plain(said)

    def _runner(self, action: Action) -> Callable[[], None]:
        scope = "app" if action.where is Where.EVERYWHERE else "screen"
        return partial(_run, self.app, f"{scope}.{actions.call(action)}")


def _prompt(name: Content, about: str) -> Content:
    """Return what the palette lists: as content, because whatever it is given as text it takes for markup."""
    return Content("\n").join([name, show.words(about, "not bold $foreground 60%")])


def _name(action: Action) -> str:
    return action.label or action.name.replace("_", " ")


def _about(screen: Place[object], action: Action) -> str:
    why = screen.why_not(action.name) if action.where is screen.WHERE else ""
    return f"not now: {show.plain(why)}" if why else action.help


def _run(app: App[object], call: str) -> None:
    app.run_worker(app.run_action(call), exit_on_error=False)


def _go_to(screen: Place[object], handle: str) -> None:
    app = screen.app
    while len(app.screen_stack) > 1:
        app.pop_screen()
    nav = app.screen_stack[0]
    if isinstance(nav, NavScreen):
        nav.go_to(handle)
