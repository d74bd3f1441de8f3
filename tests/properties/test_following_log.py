"""Whoever follows the decision log while it is put aside: every line once and in order, or the person hears of it."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hypothesis import given, settings, strategies as st

from sot_tui.comm.home import Home
from sot_tui.notify import decision_log, event as events
from sot_tui.notify.following import LOST, Following

EVENT = events.Event(1, "pi", "s", events.IGNORED, "Stop", "", "c", "", "", "", "", "", "", goal_active=False)
STEPS = st.lists(st.sampled_from(["line", "line", "line", "put aside", "look"]), max_size=40)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_following_when_the_log_is_put_aside_at_any_moment_then_nothing_is_lost_unsaid(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home, file = Home(f"{folder}/comm"), Path(folder, decision_log.NAME)
        following = Following(home, folder)
        following.news()
        written, turns, readable = 0, 0, 1
        due: list[int] = []
        told: list[int] = []

        def look() -> None:
            nonlocal turns, readable
            words = [one.words for one in following.news()]
            found = [int(number[1]) for one in words if (number := re.match("“([0-9]+)”", one))]
            if turns <= readable:  # the one that is held open, and the one put aside last, are still there
                assert found == due
            assert found == sorted(found)
            assert set(due) <= set(found) or LOST in words
            told.extend(found)
            due.clear()
            turns, readable = 0, 1 + file.exists()

        for step in [*steps, "look"]:
            if step == "line":
                assert decision_log.append(home, folder, EVENT, decision_log.Entry("send", "r", title=str(written)))
                due.append(written)
                written += 1
            elif step == "put aside" and file.exists():
                file.rename(f"{file}.1")
                turns += 1
            elif step == "look":
                look()
        following.close()
        assert len(told) == len(set(told))
