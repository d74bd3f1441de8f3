"""Pictures of every screen and state that is worth a person's glance, at three sizes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.fleet import Fleet, Reading, RegistryState
from tests.screens.fleets import ALIEN, DEAD, ENTRIES, NOW, agents, counted, fleet
from tests.screens.pictures import SIZES, THEMES, Size, check, opened

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

pytestmark = pytest.mark.usefixtures("one_time_zone")


@SIZES
@THEMES
async def test_nav(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Four that need me on top, bold, oldest first; then who works, waits, is done elsewhere, idle, silent."""
    async with opened(size, fleet(), theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
async def test_nav_in_light(size: Size, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The same on a light ground; every state can still be told from every other."""
    async with opened(size, fleet(), "j", "j", "j", theme="sot-light") as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_with_a_dead_lock(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """A banner says who holds the lock, that it is dead, and which key recovers it."""
    async with opened(size, fleet(lock=DEAD), theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_empty(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """No empty table: the three commands that fill it, and where the comm home is."""
    mine = {"operator-box": ENTRIES["operator-box"]}
    empty = fleet(agents=agents(mine), mail=MappingProxyType({"operator-box": counted(0)}))
    async with opened(size, empty, theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_unreadable(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The contract's sentence and the way out; below it the last good lines, dimmed."""
    unreadable = RegistryState(Reading.UNREADABLE, NOW - 14, why="it is not one JSON document with an object .agents")
    async with opened(size, fleet(registry=unreadable), theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_before_the_first_look(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """It says that it is reading, not that there is nobody."""
    async with opened(size, Fleet(home="/home/me/.sot-comm", host="box"), theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_recover(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The record, the proof in words, what will happen; Cancel has the focus."""
    async with opened(size, fleet(lock=DEAD), "ctrl+r", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_recover_refused(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Nothing to press but Close, and the FAILED line's own next step."""
    async with opened(size, fleet(lock=ALIEN), "ctrl+r", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_recover_too_late(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Another writer was first, and the dialog says so."""
    async with opened(size, fleet(lock=DEAD), "ctrl+r", theme=theme) as pilot:
        client = pilot.app.desk.client  # type: ignore[attr-defined]  # the app of this test
        client.show(fleet())
        await pilot.pause()
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_help(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The keys that work in the nav, and what each shape means."""
    async with opened(size, fleet(), "question_mark", theme=theme) as pilot:
        check(pilot, svg, txt)
