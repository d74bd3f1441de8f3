"""A push is a toast, whoever sent it; what was decided before the dashboard opened is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual.widgets._toast import Toast

from sot_tui.engine.service import Engine, LocalClient
from sot_tui.notify import decision_log, event as events, settings
from sot_tui.screens.app import SotApp
from tests.screens.real import Opened, joined, put

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.home import Home

IDLE: dict[str, object] = {"state": "idle"}
EVENT = events.Event(1, "claude-code", "s", events.IGNORED, "Stop", "", "c", "", "", "", "", "", "", goal_active=False)


def decided(home: Home, title: str, reason: str = "root completion", outcome: str = "send") -> None:
    entry = decision_log.Entry(outcome, reason, title=title)
    assert decision_log.append(home, settings.state_base(os.environ), EVENT, entry)


def toasts(opened: Opened) -> list[str]:
    return [str(toast._notification.message) for toast in opened.app.screen.query(Toast)]


async def test_push_when_one_is_sent_then_a_toast_says_so_and_no_decision_of_before_is_one(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    decided(home, "of yesterday")
    async with joined(comm_home) as opened:
        await opened.until(opened.engine.decisions.is_set)
        decided(home, "[b]Api\x1b[2J")
        decided(home, "nothing", "continuation", "silent")
        decided(home, "Docs", "root completion (send failed)")
        await opened.until(lambda: len(toasts(opened)) == 2, "the toasts")
        assert toasts(opened) == [
            "“[b]Api␛[2J” was sent (root completion)",
            "“Docs” was not delivered (root completion)",
        ]
        # As it is written, and not as markup.
        await opened.until(lambda: "“[b]Api␛[2J” was sent" in opened.screen_text())


async def test_pushes_when_they_come_in_a_storm_then_one_toast_counts_them(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        await opened.until(opened.engine.decisions.is_set)
        count = 40
        for number in range(count):
            decided(home, str(number))
        await opened.until(lambda: toasts(opened), "a toast")
        told: dict[str, int] = {}

        def all_told() -> bool:
            for toast in opened.app.screen.query(Toast):
                words = str(toast._notification.message)
                told[toast._notification.identity] = int(words.split(maxsplit=1)[0]) if "pushes" in words else 1
            return sum(told.values()) >= count

        await opened.until(all_told, "all of them were told")
        assert sum(told.values()) == count
        assert len(told) <= 6


async def test_push_when_it_is_the_engines_first_line_then_is_a_toast(comm_home: Path) -> None:
    """A window that only looks has a short log: its first line may be a push."""
    home = put(comm_home, anna=IDLE)
    async with Engine(home, dict(os.environ), only_look="it may not", tick_s=0.1) as engine:
        app = SotApp(LocalClient(engine))
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            opened = Opened(home, engine, app, pilot)
            await opened.until(engine.decisions.is_set)
            decided(home, "Api")
            await opened.until(lambda: toasts(opened) == ["“Api” was sent (root completion)"], "the toast")


async def test_push_when_two_windows_are_open_then_each_shows_it(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    only_looks = Engine(home, dict(os.environ), only_look="it may not", tick_s=0.1)
    async with joined(comm_home) as host, only_looks as engine:
        app = SotApp(LocalClient(engine))
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            viewer = Opened(home, engine, app, pilot)
            await viewer.until(lambda: engine.decisions.is_set() and host.engine.decisions.is_set())
            decided(home, "Api")
            await viewer.until(lambda: toasts(viewer) == ["“Api” was sent (root completion)"], "one of the viewer's")
            await host.until(lambda: toasts(host) == ["“Api” was sent (root completion)"], "one of the host's")


async def test_rehearsal_when_there_is_one_then_a_line_and_no_toast(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        await opened.until(opened.engine.decisions.is_set)
        entry = decision_log.Entry("send", "permission prompt", title="Api", dry_run=True)
        assert decision_log.append(home, settings.state_base(os.environ), EVENT, entry)
        decided(home, "Docs")
        await opened.until(lambda: toasts(opened), "the toast")
        assert toasts(opened) == ["“Docs” was sent (root completion)"]
        await opened.pilot.press("e")
        await opened.until(
            lambda: "a rehearsal of “Api”: nothing was sent (permission prompt)" in opened.screen_text(), "the line"
        )


async def test_toast_when_the_events_are_shown_then_hides_none_of_them(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        await opened.until(opened.engine.decisions.is_set)
        decided(home, "Api")
        await opened.until(lambda: toasts(opened), "the toast")
        await opened.pilot.press("e")
        await opened.until(lambda: "“Api” was sent" in opened.says("#events-detail"), "the selected line's text")
        assert not [one for one in opened.app.screen.query(Toast) if one.region]
        decided(home, "Docs")
        await opened.until(lambda: "“Docs” was sent" in opened.says("#events-detail"), "the newest line's")
        assert "Docs" not in opened.says("#message")  # it is read already
        await opened.pilot.press("k")
        decided(home, "Web", "root completion (send failed)")
        await opened.until(lambda: "“Web” was not delivered" in opened.says("#message"), "it is said below the list")
        assert not [one for one in opened.app.screen.query(Toast) if one.region]
        await opened.pilot.press("escape")
        await opened.until(lambda: opened.app.screen is opened.nav)
