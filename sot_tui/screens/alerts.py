"""What tells a person who looks elsewhere: a toast for each push, and the terminal's own notice for each new need.

A need is new when it was not there at the last whole look; what stood there when the dashboard opened, what is set
aside, and what a look that failed hides is none. So each need is told once, however often the fleet changes. The text
of a notice is foreign: it goes out on one line, without any control byte, and short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm import fleet as rules
from sot_tui.comm.fleet import Reading, Why
from sot_tui.comm.text import visible
from sot_tui.engine.client import What

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sot_tui.comm.fleet import Fleet, Need
    from sot_tui.engine.client import Happening

TOASTS_AT_ONCE = 3
"""More pushes than these at one look are one toast: a storm hides the fleet."""
NOTICE_CHARS = 160
"""Characters of a terminal's notice."""
BELL = "\a"
OFF = "off"


class Needs:
    """The needs that were there at the last look."""

    def __init__(self) -> None:
        self._known: frozenset[tuple[str, Why]] | None = None

    def new(self, fleet: Fleet, now: float) -> tuple[Need, ...]:
        """Return the needs that have come since the last look; the first whole look only takes them down."""
        whole = fleet.registry.reading is Reading.PRESENT and fleet.mail.keys() >= fleet.agents.keys()
        if not whole:
            return ()
        found, known = rules.needs_you(fleet, now), self._known
        self._known = frozenset((one.handle, one.why) for one in found)
        return () if known is None else tuple(one for one in found if (one.handle, one.why) not in known)


def notice(fleet: Fleet, need: Need, now: float) -> str:
    """Return what a terminal is told of a need: who, why, and what it says."""
    one = fleet.agents.get(need.handle)
    says = rules.derive(fleet, one, now).summary if one is not None and need.why in {Why.BLOCKED, Why.DONE} else ""
    who = f"@{need.handle}: " if need.handle else ""
    return visible(f"{who}{need.why.value}{f' · {says}' if says else ''}", NOTICE_CHARS)


def sequence(osc: str, words: str, environ: Mapping[str, str]) -> str:
    """Return the bytes that have a terminal show a notice: OSC 9 or 777, through tmux where that is between."""
    if osc == OFF:
        return ""
    said = f"\x1b]9;{words}\x1b\\" if osc == "9" else f"\x1b]777;notify;sot;{words}\x1b\\"
    if environ.get("TMUX"):
        return "\x1bPtmux;" + said.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return said


def toasts(lines: Iterable[Happening]) -> list[tuple[str, bool]]:
    """Return what new lines of the event log are worth as toasts: the pushes, and whether all went well."""
    pushes = [(visible(line.text), line.good) for line in lines if line.what is What.PUSH]
    if len(pushes) <= TOASTS_AT_ONCE:
        return pushes
    failed = sum(not good for _, good in pushes)
    return [(f"{len(pushes)} pushes" + (f", {failed} of them failed" if failed else "") + "; e shows them", not failed)]
