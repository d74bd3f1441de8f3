"""How a picture of a screen is taken: a fleet made in code, keys, a size, a theme; nothing in it moves by itself.

Textual's own pauses look at how busy this process is, which says nothing on a machine that others keep busy. Here a
picture is taken when the app has nothing left to do: a fact, which a busy machine only delays.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from sot_tui.screens.app import SotApp
from tests.screens.fleets import FakeClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from syrupy.assertion import SnapshotAssertion
    from textual.screen import Screen

    from sot_tui.comm.fleet import Fleet
    from sot_tui.screens.glyphs import AsciiSigns

MOST_ROUNDS = 10_000
"""Rounds of the loop after which an app that still has something to do is taken for one that never rests."""
Size = tuple[int, int]
SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (50, 20)], ids=["80x24", "120x40", "50x20"])
THEMES = pytest.mark.parametrize("theme", ["sot-dark", "sot-mono"], ids=["colour", "mono"])


@asynccontextmanager
async def opened(
    size: Size,
    shown: Fleet,
    *keys: str,
    theme: str = "sot-dark",
    signs: AsciiSigns | None = None,
    laid_out: Callable[[FakeClient], None] | None = None,
) -> AsyncIterator[Pilot[None]]:
    """Open the dashboard on a fleet and press keys; `laid_out` prepares what the client answers."""
    client = FakeClient(shown)
    if laid_out is not None:
        laid_out(client)
    app = SotApp(client, theme=theme, signs=signs)
    async with app.run_test(size=size) as pilot:
        patient = PatientPilot(pilot.app)
        await patient.pause()
        await patient.press(*keys)
        yield patient


class PatientPilot(Pilot[None]):
    """A pilot that goes on when the app has nothing left to do, and everything is painted."""

    async def press(self, *keys: str) -> None:
        """Press keys as a person does who sees what each of them did."""
        for key in keys:
            await super().press(key)
            await self._settle()

    async def pause(self, delay: float | None = None) -> None:
        """Wait for so long, and then for the app."""
        await asyncio.sleep(delay or 0)
        await self._settle()

    async def _settle(self) -> None:
        app = self.app
        for _ in range(MOST_ROUNDS):
            await _until_none_can_run()
            seen = [*app._background_screens, app.screen]  # what lies below a dialog is in the picture too
            behind = [screen for screen in seen if _is_behind(screen)]
            if not behind:
                return
            for screen in behind:
                screen._on_timer_update()  # what it does of itself sixty times a second
        raise AssertionError("the screen is painted over and over")


def _is_behind(screen: Screen[object]) -> bool:
    """Tell whether a screen still has something to lay out or to paint."""
    if screen._layout_required or screen._scroll_required or screen._dirty_widgets or screen._callbacks:
        return True
    # One below a dialog asks for this anew whenever it was painted.
    return screen._repaint_required and screen is screen.app.screen


async def _until_none_can_run() -> None:
    """Wait until all others in this loop wait for a person, a timer or an answer that does not come."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # there is no other way to ask
    for _ in range(MOST_ROUNDS):
        await asyncio.sleep(0)
        if not ready:
            return
    raise AssertionError("the app never rests")


def check(pilot: Pilot[None], svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Compare the screen with its picture, as text and as SVG."""
    for blinking in pilot.app.screen.query("Input, TextArea"):
        assert isinstance(blinking, (Input, TextArea))
        blinking.cursor_blink = False
        if isinstance(blinking, TextArea):
            blinking._line_cache.clear()  # it takes a line that was painted without the cursor for one that needs none
    lines = (strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips())
    assert "\n".join(lines) + "\n" == txt
    assert pilot.app.export_screenshot(simplify=True) == svg
