"""A row of another box on the screen: what it shows, how old that is, and why there is nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from sot_tui.engine.client import FarScreen, LookElsewhere
from sot_tui.screens import far
from tests.screens.fleets import FakeClient, with_rows
from tests.screens.pictures import SIZES, THEMES, Size, check, opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from syrupy.assertion import SnapshotAssertion

    from sot_tui.comm.fleet import Fleet

pytestmark = pytest.mark.usefixtures("one_time_zone")
TO_IT = ("end", "up", "up", "up", "up", "up")
SHOWN = FarScreen(("$ make test", "412 passed in 31.2s", "\x1b[31mnot red\x1b[0m [b]not bold[/b]", "", "$ "))
SILENT = FarScreen(fault="the daemon on laptop did not answer at ssh:laptop: Connection timed out")


def laid_out(*answers: FarScreen) -> Callable[[FakeClient], None]:
    """Answer one after the other; the last one again and again."""
    left = list(answers)

    async def answer(asked: LookElsewhere) -> FarScreen:
        assert asked.handle == "Paper-laptop"
        if not left:
            await asyncio.Event().wait()
        return left.pop(0)

    def lay_out(client: FakeClient) -> None:
        client.answers[LookElsewhere] = answer

    return lay_out


def over_there() -> Fleet:
    """Return a fleet in which a handle of another box is a row's."""
    shown = with_rows()
    one = shown.agents["Paper-laptop"]._replace(workspace_id="ws-paper-1")
    return shown._replace(agents={**shown.agents, "Paper-laptop": one})


@SIZES
@THEMES
async def test_shown(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    async with opened(size, over_there(), *TO_IT, "enter", theme=theme, laid_out=laid_out(SHOWN)) as pilot:
        check(pilot, svg, txt)


@SIZES
async def test_silent(size: Size, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    async with opened(size, over_there(), *TO_IT, "v", laid_out=laid_out(SILENT)) as pilot:
        check(pilot, svg, txt)


async def test_silent_after_a_while(
    svg: SnapshotAssertion, txt: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last picture stays, and is said to be old."""
    monkeypatch.setattr(far, "AGAIN_SECS", 0.0)
    async with opened((80, 24), over_there(), *TO_IT, "enter", laid_out=laid_out(SHOWN, SILENT)) as pilot:
        check(pilot, svg, txt)


async def test_asked(svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    async with opened((80, 24), over_there(), *TO_IT, "enter", laid_out=laid_out()) as pilot:
        check(pilot, svg, txt)
