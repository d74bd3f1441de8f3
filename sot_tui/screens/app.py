"""The app: it holds the desk, hands notices on to the screens, and ends cleanly.

`main` is the one place where this room meets the engine itself: the dashboard hosts it. Ctrl+Z is not offered, because
stopping the dashboard would stop the engine with it, and a stopped lock holder is a held lock. SIGTERM and SIGHUP give
the terminal back and end the app.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand
from textual.message import Message
from textual.worker import Worker, WorkerState

from sot_tui.comm.home import home_here
from sot_tui.engine.service import LocalClient, engine_here
from sot_tui.screens import actions, themes
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.desk import Desk
from sot_tui.screens.help import HelpScreen
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.place import Place, fault_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.binding import BindingType
    from textual.screen import Screen

    from sot_tui.engine.client import Client

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class FleetChanged(Message):
    """The engine holds a newer fleet; it is read when convenient."""

    def can_replace(self, message: Message) -> bool:
        """A newer notice says the same as an older one that was not handled yet."""
        return isinstance(message, FleetChanged)


class SotApp(App[None]):
    """The dashboard, on top of one client."""

    TITLE = "sot"
    CSS_PATH = [f"{name}.tcss" for name in ("app", "nav", "mail", "compose", "recover", "help")]  # noqa: RUF012  (as Textual declares it)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.EVERYWHERE)]
    COMMAND_PALETTE_BINDING = "ctrl+p"

    def __init__(self, client: Client, *, theme: str = themes.DEFAULT) -> None:
        super().__init__()
        self.desk = Desk(client, on_said=self._said)
        for ours in themes.OURS:
            self.register_theme(ours)
        self.theme = theme if theme in self.available_themes else themes.DEFAULT
        if self.theme != theme:
            self.desk.refuse(f"the theme {theme!r} is not known; {themes.DEFAULT} is used")
        self._unlisten: Callable[[], None] | None = None

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the colours of the states for themes that know none."""
        return dict(themes.STATE_DEFAULTS)

    def get_default_screen(self) -> Screen[None]:
        """Return the nav: the first screen, and the one that is always there."""
        return NavScreen(self.desk)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer what works on the screen below, the theme, and the end."""
        if isinstance(screen, Place):
            for action in (*actions.of(screen.WHERE), *actions.of(Where.EVERYWHERE)):
                scope = "app" if action.where is Where.EVERYWHERE else "screen"
                yield SystemCommand(action.label or action.name, action.help, self._runner(f"{scope}.{action.name}"))
        yield SystemCommand("theme", "Change the colours.", self.action_change_theme)

    def _runner(self, action: str) -> Callable[[], None]:
        def run() -> None:
            self.run_worker(self.run_action(action), exit_on_error=False)

        return run

    # -- notices -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Listen to the engine, to the clock, and to those who want this process to end."""
        self._unlisten = self.desk.client.listen(self._changed)
        self.set_interval(1.0, self._time_passed)
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number in _SIGNALS:
                loop.add_signal_handler(number, self.exit)

    def on_unmount(self) -> None:
        """Listen no more."""
        if self._unlisten is not None:
            self._unlisten()

    def _changed(self) -> None:
        self.post_message(FleetChanged())

    def on_fleet_changed(self) -> None:
        """Have every open screen show the newest fleet; what lies below a dialog is seen too."""
        for place in self._places():
            place.fleet_changed()
            place.said()

    def _time_passed(self) -> None:
        for place in self._places():
            place.time_passed()
            place.said()

    def _said(self) -> None:
        for place in self._places():
            place.said()

    def _places(self) -> list[Place[object]]:
        return [screen for screen in self.screen_stack if isinstance(screen, Place) and screen.is_mounted]

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Tell a fault of work that outlived its screen; it ends nothing else."""
        if event.state is WorkerState.ERROR:
            self.desk.refuse(fault_words(event.worker))

    # -- what works everywhere ----------------------------------------------------------------------------------------

    def action_keys(self) -> None:
        """Show the keys that work here."""
        screen = self.screen
        if isinstance(screen, Place) and not isinstance(screen, HelpScreen):
            self.push_screen(HelpScreen(self.desk, screen.WHERE))


def main(*, readonly: bool = False) -> int:
    """Open the dashboard on this environment's comm home, with the engine in this process; return the exit code."""
    for name in ("COLUMNS", "LINES"):
        # A shell that exports its own size says it once and never again; the terminal always knows.
        os.environ.pop(name, None)
    return asyncio.run(_dashboard(readonly=readonly))


async def _dashboard(*, readonly: bool) -> int:
    async with engine_here(home_here(), os.environ, readonly=readonly) as engine:
        app = SotApp(LocalClient(engine), theme=engine.config.of("theme"))
        await app.run_async()
    return app.return_code or 0
