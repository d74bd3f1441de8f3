"""The app: it holds the desk, hands notices on to the screens, and ends cleanly.

`main` is the one place where this room meets the engine itself: the dashboard takes its seat there. What the first
frame does not show is loaded behind it: the engine, and every screen but the nav. SIGTERM, SIGHUP and SIGINT give the
terminal back and end the app, from before the terminal is touched on.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.command import CommandPalette
from textual.message import Message
from textual.worker import Worker, WorkerState

from sot_tui.comm import config as settings, fleet as rules
from sot_tui.comm.config import Source
from sot_tui.comm.fleet import Fleet
from sot_tui.comm.home import home_here
from sot_tui.comm.text import speaks_utf8, visible
from sot_tui.engine.client import Outcome
from sot_tui.screens import alerts, themes
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.coming import ComingClient
from sot_tui.screens.desk import Desk
from sot_tui.screens.eventlog import EventLog
from sot_tui.screens.glyphs import AsciiSigns
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.palette import Everything
from sot_tui.screens.place import Place, fault_words
from sot_tui.screens.terminal import TerminalDriver
from sot_tui.screens.widgets.cells import UnderlineKinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.binding import BindingType
    from textual.screen import Screen

    from sot_tui.comm.config import Config
    from sot_tui.comm.fleet import Stance
    from sot_tui.comm.home import Home
    from sot_tui.engine.client import Client

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""What ends the dashboard; Ctrl+C is a key like any other while it runs."""
_FIRST_SHEETS = ("app", "nav")
_FURTHER_SHEETS = ("mail", "compose", "row", "confirm", "spawn", "recover", "help", "locks", "events", "far")
_FURTHER_SCREENS = (*_FURTHER_SHEETS, "found", "unsent")
"""What is loaded behind the first frame, and not when it is opened: what a dashboard shows is of one version."""
_FURTHER_AFTER_SECS = 0.5
"""Seconds after the engine has come; by then the handles are drawn."""
_TOAST_SECS = 6.0
_KEEP_TITLE, _GIVE_TITLE_BACK = "\x1b[22;2t", "\x1b]2;\x07\x1b[23;2t"
"""Ask the terminal to remember the title of its window, and to put it back; one that cannot shows an empty one."""


class FleetChanged(Message):
    """The engine holds a newer fleet; it is read when convenient."""

    def can_replace(self, message: Message) -> bool:
        """A newer notice says the same as an older one that was not handled yet."""
        return isinstance(message, FleetChanged)


class SotApp(App[None]):
    """The dashboard, on top of one client."""

    TITLE = "sot"
    CSS_PATH = [f"{name}.tcss" for name in _FIRST_SHEETS]  # noqa: RUF012  (as Textual declares it)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.EVERYWHERE)]
    COMMANDS = {Everything}  # noqa: RUF012  (as Textual declares it)
    COMMAND_PALETTE_BINDING = "ctrl+p"

    def __init__(
        self,
        client: Client,
        *,
        theme: str = themes.DEFAULT,
        editor: str = "vi",
        signs: AsciiSigns | None = None,
        osc: str = alerts.OFF,
        bell: bool = False,
    ) -> None:
        """`osc` and `bell` are how the terminal is told of a new need, as the settings of these names say."""
        # Without colours the terminal's own are left alone, so that not even a grey is sent to it.
        no_colour = "NO_COLOR" in os.environ
        # A page is drawn by the driver that the environment names (`sot-tui web`).
        driver = None if os.environ.get("TEXTUAL_DRIVER") else TerminalDriver
        super().__init__(driver_class=driver, ansi_color=True if no_colour else None)
        if signs is not None:
            self._filters.append(signs)
        theme = themes.MONO if no_colour else theme
        self._filters.append(UnderlineKinds(lambda: self.console, colours=not no_colour))
        self.desk = Desk(client, editor, on_said=self._said)
        self._loaded_as: Stance | None = None
        """How this dashboard stood when it took up the drafts."""
        for ours in themes.OURS:
            self.register_theme(ours)
        self._begin_in(theme if theme in self.available_themes else themes.DEFAULT)
        if self.theme != theme:
            self.desk.refuse(f"the theme {theme!r} is not known; {themes.DEFAULT} is used")
        self._unlisten: Callable[[], None] | None = None
        self._entitled = ""
        self._osc, self._bell = osc, bell
        self._needs = alerts.Needs()
        self._pushes = alerts.Pushes(self.desk.now())
        self._read_log = EventLog(client)
        self._logged = 0
        """How many lines the event log had at the last look for pushes."""
        self.shown = asyncio.Event()
        """Set when the first frame stands."""

    def _begin_in(self, theme: str) -> None:
        """Take a theme while nothing is drawn yet; what Textual does at a change has every style sheet read again."""
        self.set_reactive(App.theme, theme)
        dark = self.current_theme.dark
        self.set_class(dark, "-dark-mode", update=False)
        self.set_class(not dark, "-light-mode", update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the colours of the states for themes that know none."""
        return dict(themes.STATE_DEFAULTS)

    def get_default_screen(self) -> Screen[None]:
        """Return the nav: the first screen, and the one that is always there."""
        return NavScreen(self.desk)

    def suit_terminal(self) -> None:
        """Take the theme of 16 colours where the terminal has no more, and the person has chosen none."""
        if self.console.color_system == "standard" and not self.no_color:
            self._begin_in(themes.ANSI)

    # -- notices -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Listen to the engine and to the clock."""
        self._unlisten = self.desk.client.listen(self._changed)
        self.set_interval(1.0, self._time_passed)
        self._to_terminal(_KEEP_TITLE)
        self._entitle()
        self._load_drafts()

    def on_ready(self) -> None:
        """Let what was waiting for the first frame be loaded."""
        here = Path(__file__).parent
        self.stylesheet.read_all([here / f"{name}.tcss" for name in _FURTHER_SHEETS])
        self.shown.set()

    async def on_unmount(self) -> None:
        """Listen no more, and keep what was written."""
        self.shown.set()  # what is kept is kept by the engine, however early the end comes
        if self._unlisten is not None:
            self._unlisten()
        await self.desk.drafts.settle()
        self._to_terminal(_GIVE_TITLE_BACK)

    def _load_drafts(self) -> None:
        """Take up the drafts: at the start, and when this dashboard takes another one's place."""
        if self.desk.fleet.stance is not self._loaded_as:
            self._loaded_as = self.desk.fleet.stance
            self.run_worker(self.desk.drafts.load(), group="drafts", exit_on_error=False)

    def _send_first_tasks(self) -> None:
        """Send what waits for a session to join in its row."""
        if self.desk.drafts.waiting():
            self.run_worker(self.desk.drafts.send_first_tasks(), group="tasks", exit_on_error=False)

    def _changed(self) -> None:
        self.post_message(FleetChanged())

    def on_fleet_changed(self) -> None:
        """Have every open screen show the newest fleet; what lies below a dialog is seen too."""
        self._load_drafts()
        self._send_first_tasks()
        self._entitle()
        self._alert()
        self._look_for_pushes()
        for place in self._places():
            place.fleet_changed()
            place.said()

    def _time_passed(self) -> None:
        self._entitle()
        self._alert()
        for place in self._places():
            place.time_passed()
            place.said()

    def _entitle(self) -> None:
        """Give the window the counts for a title, when they are others than it has."""
        words = visible(rules.title(self.desk.fleet, self.desk.now()))
        if words != self._entitled:
            self._entitled = self.title = words
            self._to_terminal(f"\x1b]2;{words}\x07")

    def _alert(self) -> None:
        """Have the terminal tell of new needs, in the way the person asked for; a page in a browser has none."""
        if not isinstance(self._driver, TerminalDriver) or (self._osc == alerts.OFF and not self._bell):
            return
        now = self.desk.now()
        new = self._needs.new(self.desk.fleet, now)
        for need in new:
            self._to_terminal(alerts.sequence(self._osc, alerts.notice(self.desk.fleet, need, now), os.environ))
        if new and self._bell:
            self._to_terminal(alerts.BELL)

    def _look_for_pushes(self) -> None:
        """Look for pushes among what is new in the event log, whichever engine's it is."""
        if self.desk.fleet.events != self._logged:
            self._logged = self.desk.fleet.events
            self.run_worker(self._toast_pushes(), group="toasts", exclusive=True, exit_on_error=False)

    async def _toast_pushes(self) -> None:
        for words, good in alerts.toasts(self._pushes.new((await self._read_log.new()).lines)):
            if isinstance(self.screen, Place) and self.screen.tells_push(words, good=good):
                continue
            self.notify(words, severity="information" if good else "error", timeout=_TOAST_SECS, markup=False)

    def _to_terminal(self, sequence: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

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

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave every key to the agent that a person types to."""
        if isinstance(self.screen, Place) and self.screen.takes_keys:
            return False
        return super().check_action(action, parameters)

    def action_command_palette(self) -> None:
        """Open the palette, and say what it finds."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder="an action, or a handle …", id="--command-palette"))

    def action_help_quit(self) -> None:
        """Answer Ctrl+C, which ends other programs: name the key that ends this one."""
        self.desk.say(Outcome(good=True, sentence="q closes the dashboard (while you type: esc first)"))

    def action_keys(self) -> None:
        """Show the keys that work here."""
        from sot_tui.screens.help import HelpScreen

        screen = self.screen
        if isinstance(screen, Place) and not isinstance(screen, HelpScreen):
            self.push_screen(HelpScreen(self.desk, screen.WHERE, screen.signs(), states=screen.shows_handles()))


def main(*, readonly: bool = False) -> int:
    """Open the dashboard on this environment's comm home, with the engine in this process; return the exit code."""
    for name in () if os.environ.get("TEXTUAL_DRIVER") else ("COLUMNS", "LINES"):
        # A shell that exports its own size says it once and never again; the terminal always knows.
        os.environ.pop(name, None)
    return asyncio.run(_dashboard(readonly=readonly))


async def _dashboard(*, readonly: bool) -> int:
    home, config = home_here(), settings.read(os.environ)
    client = ComingClient(Fleet(home=home.path), home.clock)
    app = SotApp(
        client,
        theme=config.of("theme"),
        editor=config.of("editor"),
        signs=_signs(config),
        osc=config.of("osc"),
        bell=config.switch("bell"),
    )
    for number in _SIGNALS:
        # Until here nothing was touched that would have to be given back; an app that has not begun begins no more.
        asyncio.get_running_loop().add_signal_handler(number, app.exit)
    if config.sources["theme"] is Source.DEFAULT:
        app.suit_terminal()
    ended = asyncio.Event()
    hosting = asyncio.create_task(_host(home, app, client, ended, readonly=readonly))
    # An engine that cannot begin ends the dashboard; why, is told when the terminal is given back.
    hosting.add_done_callback(lambda _: None if ended.is_set() else app.exit())
    try:
        await app.run_async(mouse=config.switch("mouse"))
    finally:
        app.shown.set()
        ended.set()
        told = await hosting
    if told:
        with suppress(OSError):  # the terminal may be gone
            print(f"sot-tui: {visible(told)}", file=sys.stderr)  # noqa: T201  (the one line a person reads)
    return app.return_code or 0


async def _host(home: Home, app: SotApp, client: ComingClient, ended: asyncio.Event, *, readonly: bool) -> str:
    """Load the engine when the first frame stands, and sit at it until the app has ended; return what is to be told."""
    await app.shown.wait()
    try:
        from sot_tui.engine.seat import seat_here

        seat = seat_here(home, os.environ, readonly=readonly)
        async with seat:
            client.come(seat)
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), _FURTHER_AFTER_SECS)
            for name in () if ended.is_set() else _FURTHER_SCREENS:
                import_module(f"sot_tui.screens.{name}")
                await asyncio.sleep(0)
            # What is loaded stays; to look through it again and again would hold up a key now and then.
            gc.freeze()
            gc.enable()
            await ended.wait()
        return seat.leaving.sentence
    except BaseException as fault:
        client.fail(fault)
        raise


def _signs(config: Config) -> AsciiSigns | None:
    """Return what draws in ASCII: where the person asks for it, or the locale knows nothing else; else nothing."""
    utf8 = speaks_utf8(os.environ)
    asked = config.switch("ascii")
    if asked or (not utf8 and config.sources["ascii"] is Source.DEFAULT):
        return AsciiSigns(every_sign=not utf8)
    return None
