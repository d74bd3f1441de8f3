"""Rows of other boxes: their own daemons are asked what they show, and told that a person has looked.

Contract, Unread: an entry's own box alone clears its `done`. What another box answers is foreign; one that answers
nothing within a few seconds is said to be silent, and nothing here waits on the loop. Nothing is ever typed there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm import endpoints, wire
from sot_tui.comm.fleet import OTHER_BOX, Stance
from sot_tui.comm.text import visible
from sot_tui.comm.topology import Unlisted
from sot_tui.engine.client import FarScreen, Outcome
from sot_tui.engine.executors import Pool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.fleet import Agent, Fleet
    from sot_tui.comm.home import Home

ASK_SECS = 5.0
"""Seconds in which another box has to answer: a way over ssh is opened in one or two."""
AT_ONCE = 8
"""Boxes that are asked at the same time: one that is dead delays no look at another."""
LINES_LIMIT, LINE_CHARS = 500, 1000
"""What is shown of a screen at most: a row's panel is far smaller."""


class Elsewhere:
    """What the engine of one box asks of the others."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._home, self._environ = home, environ
        self._work = Pool("far", AT_ONCE)

    def close(self) -> None:
        """Let the threads go once they have done what they are at."""
        self._work.close()

    async def look(self, fleet: Fleet, handle: str, *, viewed: bool) -> FarScreen:
        """Return what the terminal of a handle's row shows; `viewed` says that a person has moved the view there."""
        one = fleet.agents.get(handle)
        if one is None:
            return FarScreen(fault=f"@{handle} is not in the registry any more")
        answer = await self._asked(fleet, one, "pty.screen", {})
        if isinstance(answer, str):
            return FarScreen(fault=answer)
        lines = answer.payload.get("lines")
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            return FarScreen(fault=f"{_box(one)} answered what is no screen: {visible(wire.shown(answer.payload))}")
        if viewed and one.done and fleet.stance is Stance.HOST:
            await self.clear_done(fleet, handle)  # what becomes of it, the registry shows
        return FarScreen(tuple(line[:LINE_CHARS] for line in lines[:LINES_LIMIT]))

    async def clear_done(self, fleet: Fleet, handle: str) -> Outcome:
        """Have the box of a handle clear its `done`, by telling it that a person has looked."""
        one = fleet.agents[handle]
        said = await self._asked(fleet, one, "workspace.activate", {"read": True})
        if not isinstance(said, str):
            if said.payload.get("workspace_id"):
                return Outcome(good=True, sentence=f"asked {_box(one)} to clear the done of @{handle}")
            said = f"{_box(one)} runs no such row"
        return Outcome(good=False, sentence=f"@{handle}: {OTHER_BOX}; {said}")

    async def _asked(self, fleet: Fleet, one: Agent, op: str, payload: dict[str, object]) -> wire.Answer | str:
        return await self._work.run(lambda: _ask(self._home, self._environ, fleet.host, one, op, payload))


def _ask(
    home: Home, environ: Mapping[str, str], host: str, one: Agent, op: str, payload: dict[str, object]
) -> wire.Answer | str:
    """Ask the daemon of the box that `one` runs on about its row; return its answer, or in words why there is none."""
    if not one.workspace_id:
        return f"it runs outside any row, so {_box(one)} has nothing to show of it"
    way = endpoints.way_to_box(home, environ, host, one.host)
    if isinstance(way, Unlisted):
        return f"{_box(one)} cannot be reached: {visible(way.why)}"
    asker = wire.Caller(host, f"sotd-{host}", "cli", home.path)
    request = {"workspace_id": one.workspace_id, **payload}
    answer = wire.ask(home.clock, way, asker, op, request, ASK_SECS, who=f"the daemon on {_box(one)}")
    if isinstance(answer, wire.NoAnswer):
        return visible(answer.why)
    return visible(f"{_box(one)}: {answer.error}") if answer.error else answer


def _box(one: Agent) -> str:
    return visible(one.host) or "a box that it does not name"
