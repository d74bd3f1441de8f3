"""A push is a toast, whoever sent it; what was decided before the dashboard opened is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual.widgets._toast import Toast

from sot_tui.notify import decision_log, event as events, settings
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
        await opened.until(lambda: opened.app._toasted == opened.fleet.events, "all of them were seen")
        assert sum(int(words.split()[0]) if "pushes" in words else 1 for words in toasts(opened)) == count
        assert len(toasts(opened)) <= 6
