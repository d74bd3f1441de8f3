"""Pictures of the row's screen: typed into, looked at, searched, ended, not here, at three sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sot_tui.engine.client import Line, NotLive, ResumeLine
from sot_tui.wake.terminal import Screen, Terminal
from tests.screens.fleets import NOW, FakeClient, with_rows
from tests.screens.pictures import SIZES, THEMES, Size, check, opened
from tests.screens.viewers import FakeViewer, recorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from syrupy.assertion import SnapshotAssertion

    from sot_tui.engine.client import Viewer

pytestmark = pytest.mark.usefixtures("one_time_zone")
ROW = "ws-myrepo-9f31"
TO_IT = ("down", "down", "down")
"""The keys that select the line of the row."""
PERMISSION = recorded("claude-2.1.332-permission-bash-80x24")
LOOKS = (
    "\x1b[31mred \x1b[32mgreen \x1b[94mblue \x1b[33myellow\x1b[0m  \x1b[38;5;208m256 \x1b[48;5;17mground\x1b[0m\r\n"
    "\x1b[38;2;255;120;200mtrue colour\x1b[0m \x1b[1mbold\x1b[0m \x1b[2mdim\x1b[0m \x1b[3mitalic\x1b[0m "
    "\x1b[7mreverse\x1b[0m \x1b[9mstrike\x1b[0m\r\n"
    "\x1b[4msingle\x1b[0m \x1b[4:2mdouble\x1b[0m \x1b[4:3mcurly\x1b[0m \x1b[4:4mdotted\x1b[0m\r\n"
    "漢字 ✓ é 👩‍💻 ─│┌┐ end\r\n\x1b]2;a title \x1b[0m\r\n"
).encode()
LINES = "".join(f"\x1b[3{at % 7 + 1}mline {at}\x1b[0m of what was printed\r\n" for at in range(1, 201)).encode()


def laid_out(viewer: Viewer | NotLive, row: str = ROW) -> Callable[[FakeClient], None]:
    def lay_out(client: FakeClient) -> None:
        client.viewers[row] = viewer
        client.answers[ResumeLine] = Line(
            "/home/me/.local/bin/claude --permission-mode auto --continue /sot-session-start"
        )

    return lay_out


def ended() -> Screen:
    terminal = Terminal(80, 24)
    terminal.feed(PERMISSION, 0.0)
    return terminal.snapshot(0.0)


@SIZES
@THEMES
async def test_typing(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    viewer = FakeViewer(PERMISSION)
    async with opened(size, with_rows(), *TO_IT, "enter", theme=theme, laid_out=laid_out(viewer)) as pilot:
        await pilot.pause(0.2)
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_looks(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    async with opened(size, with_rows(), *TO_IT, "enter", theme=theme, laid_out=laid_out(FakeViewer(LOOKS))) as pilot:
        await pilot.pause(0.2)
        check(pilot, svg, txt)


@SIZES
async def test_looking_in_part(size: Size, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    viewer = FakeViewer(PERMISSION, (120, 40), lag=30_000, sized_by="operator-box (window 77)")
    async with opened(size, with_rows(), *TO_IT, "v", laid_out=laid_out(viewer)) as pilot:
        await pilot.pause(0.2)
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_searched(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    keys = (*TO_IT, "v", "slash", *"line 12")
    async with opened(size, with_rows(), *keys, theme=theme, laid_out=laid_out(FakeViewer(LINES))) as pilot:
        await pilot.pause(0.2)
        await pilot.press("enter", "enter")
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_ended(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    gone = NotLive("it exited with 3", ended(), NOW - 200)
    async with opened(size, with_rows(), *TO_IT, "enter", theme=theme, laid_out=laid_out(gone)) as pilot:
        check(pilot, svg, txt)


@SIZES
async def test_nothing_kept(size: Size, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    gone = NotLive("its capsule is gone, and has not said how its run ended; no screen was kept")
    async with opened(size, with_rows(), *TO_IT, "enter", laid_out=laid_out(gone)) as pilot:
        check(pilot, svg, txt)


async def test_row_of_another_box(svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    async with opened((120, 40), with_rows(), *TO_IT, "v", laid_out=laid_out(FakeViewer(PERMISSION))) as pilot:
        await pilot.press("left", *["down"] * 4)
        check(pilot, svg, txt)
