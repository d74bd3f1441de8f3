"""How a picture of a screen is taken: a fleet made in code, keys, a size, a theme; nothing in it moves by itself."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input, TextArea

from sot_tui.screens.app import SotApp
from tests.screens.fleets import FakeClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from syrupy.assertion import SnapshotAssertion
    from textual.pilot import Pilot

    from sot_tui.comm.fleet import Fleet
    from sot_tui.screens.glyphs import AsciiSigns

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
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        await pilot.pause()
        yield pilot


def check(pilot: Pilot[None], svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Compare the screen with its picture, as text and as SVG."""
    for blinking in pilot.app.screen.query("Input, TextArea"):
        assert isinstance(blinking, (Input, TextArea))
        blinking.cursor_blink = False
    lines = (strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips())
    assert "\n".join(lines) + "\n" == txt
    assert pilot.app.export_screenshot(simplify=True) == svg
