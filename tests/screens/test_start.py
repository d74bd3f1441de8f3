"""The start: the first frame stands before the engine is loaded, and nothing that is asked for meanwhile is lost."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from sot_tui.comm.clock import SystemClock
from sot_tui.comm.fleet import Fleet, Reading
from sot_tui.engine.client import ClearDone, Outcome
from sot_tui.screens.app import SotApp
from sot_tui.screens.coming import ComingClient
from tests.screens.fleets import FakeClient, fleet

BEHIND = ("sot_tui.engine.service", "sot_tui.screens.mail", "sot_tui.screens.compose", "watchfiles")
"""What no first frame needs."""


def test_app_when_loaded_then_neither_the_engine_nor_another_screen_is() -> None:
    code = f"import sys, sot_tui.screens.app; print(*[name for name in {BEHIND!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.split() == []


@pytest.fixture
def coming() -> ComingClient:
    return ComingClient(Fleet(home="/home/me/.sot-comm"), SystemClock())


async def test_frame_when_no_engine_has_come_then_says_that_it_is_reading(coming: ComingClient) -> None:
    app = SotApp(coming)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert app.shown.is_set()
        assert "reading the registry" in "".join(line.text for line in app.screen._compositor.render_strips())
        coming.come(FakeClient(fleet()))
        await pilot.pause()
        assert "MyRepo-box" in "".join(line.text for line in app.screen._compositor.render_strips())


async def test_command_when_no_engine_has_come_then_waits_for_it(coming: ComingClient) -> None:
    asked = asyncio.create_task(coming.do(ClearDone("anna")))
    await asyncio.sleep(0)
    assert not asked.done()
    engine = FakeClient(fleet())
    coming.come(engine)
    assert await asked == Outcome(good=True)
    assert engine.asked == [ClearDone("anna")]
    assert coming.fleet.registry.reading is Reading.PRESENT
    assert coming.now() == engine.now()


async def test_command_when_the_engine_cannot_begin_then_fails_with_its_reason(coming: ComingClient) -> None:
    asked = asyncio.create_task(coming.do(ClearDone("anna")))
    await asyncio.sleep(0)
    coming.fail(ValueError("no host"))
    with pytest.raises(ValueError, match="no host"):
        await asked


async def test_listener_when_the_engine_comes_and_changes_then_is_called_until_it_ends() -> None:
    coming = ComingClient(Fleet(), SystemClock())
    calls: list[Fleet] = []
    unlisten = coming.listen(lambda: calls.append(coming.fleet))
    engine = FakeClient(fleet())
    coming.come(engine)
    engine.show(fleet(host="other"))
    assert [seen.host for seen in calls] == ["box", "other"]
    unlisten()
    engine.show(fleet())
    assert len(calls) == 2
