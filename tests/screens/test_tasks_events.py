"""What a person does with the event log, each task by keys and by mouse: read, narrow, copy, go back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.events import MouseScrollUp
from textual.widgets import Input

from sot_tui.engine.client import Send
from sot_tui.screens.events import EventsScreen
from sot_tui.screens.widgets.lines import Lines
from tests.screens.mailing import IDLE, until_on
from tests.screens.real import joined, put

if TYPE_CHECKING:
    from pathlib import Path

    from tests.screens.real import Opened

WAYS = pytest.mark.parametrize("way", ["keys", "mouse"])
FAILED = "FAILED -> @nobody"


async def act(opened: Opened, way: str, key: str, label: str) -> None:
    """Press a key, or click it in the key line."""
    await (opened.pilot.press(key) if way == "keys" else opened.click_key(label))


async def open_events(opened: Opened) -> Lines:
    """Open the events, of which the last one is a refused message."""
    await opened.engine.do(Send("nobody", "x"))
    await opened.pilot.press("e")
    await until_on(opened, EventsScreen)
    lines = opened.app.screen.query_one("#events", Lines)
    await opened.until(lambda: list(lines.keys) == ["1", "2", "3"])
    return lines


@WAYS
async def test_line_when_selected_then_its_whole_text_is_below_and_can_be_copied(comm_home: Path, way: str) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        lines = await open_events(opened)
        for row, key, words in ((1, "k", "joined as @operator-box"), (0, "g", "it runs here, for"), (2, "G", FAILED)):
            await (opened.pilot.press(key) if way == "keys" else opened.click_in(lines, str(row + 1)))
            await opened.until(lambda words=words: words in opened.says("#events-detail"))  # type: ignore[misc]
            assert lines.selected == str(row + 1)
        await act(opened, way, "y", "copy")
        await opened.until(lambda: opened.app.clipboard.startswith(FAILED))
        assert opened.says("#message") == "copied the line, if the terminal lets programs copy (OSC 52)"


@WAYS
async def test_filter_when_set_and_taken_back_then_the_lines_follow_and_back_leads_to_the_nav(
    comm_home: Path, way: str
) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        lines = await open_events(opened)
        await act(opened, way, "slash", "filter")
        assert isinstance(opened.app.focused, Input)
        await opened.pilot.press(*"kind:mail")
        await opened.until(lambda: list(lines.keys) == ["3"])
        assert "1 of 3" in opened.says("#filter-count")
        if way == "keys":
            await opened.pilot.press("enter", "escape")
        else:
            await opened.click_in(lines, "3")
            assert list(lines.keys) == ["3"], "a click on a line leaves the filter standing"
            await opened.pilot.click("#filter-count")
        await opened.until(lambda: list(lines.keys) == ["1", "2", "3"])
        await act(opened, way, "slash", "filter")
        await opened.pilot.press(*"nothing has this")
        await opened.until(lambda: not lines.keys)
        await opened.pilot.press("enter")
        if way == "keys":  # the key line offers no copy where no line is
            await opened.pilot.press("y")
            await opened.until(lambda: opened.says("#message") == "no line is selected")
        await act(opened, way, "escape", "back")
        await opened.until(lambda: len(lines.keys) == 3, "one step at a time")
        await act(opened, way, "escape", "back")
        await opened.until(lambda: opened.app.screen is opened.nav)


async def test_wheel_when_turned_over_the_log_then_the_log_alone_scrolls(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home, (80, 12)) as opened:
        for _ in range(20):
            await opened.engine.do(Send("nobody", "x"))
        await opened.pilot.press("e")
        await until_on(opened, EventsScreen)
        lines = opened.app.screen.query_one("#events", Lines)
        await opened.until(lambda: len(lines.keys) == 22 and lines.scroll_offset.y > 0)
        selected, at = lines.selected, lines.scroll_offset.y
        await opened.pilot._post_mouse_events([MouseScrollUp], "#events", offset=(5, 2))
        await opened.until(lambda: lines.scroll_offset.y < at)
        assert lines.selected == selected
        assert opened.app.screen.scroll_offset.y == 0
