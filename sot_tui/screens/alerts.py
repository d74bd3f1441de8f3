"""What tells a person who looks elsewhere: a toast for each push, and the terminal's own notice for each new need.

A need is new when it was not there at the last whole look; what stood there when the dashboard opened, what is set
aside, and what a look that failed hides is none. So each need is told once, however often the fleet changes. A push is
known again by its moment and its words, so a window that changes its engine shows none a second time. The text
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
SHOWN_LIMIT = 2000
"""Pushes that are known again; an engine's log is no longer (product, Events)."""
NOTICE_CHARS = 160
"""Characters of a terminal's notice."""
_TOASTED = frozenset({What.PUSH, What.NOTICE})
"""What a person is shown wherever they are in the dashboard: pushes, and what is said to every window."""
BELL = "\a"
OFF = "off"


class Needs:
    """The needs that were there at the last look."""

    def __init__(self) -> None:
        self._known: frozenset[tuple[str, Why]] | None = None

    def new(self, fleet: Fleet, now: float) -> tuple[Need, ...]:
        """Return the needs that have come since the last look; the first whole look only takes them down."""
        if fleet.registry.missing and self._known is None:
            self._known = frozenset()  # where there is no registry there is no need, and the first one is new
        whole = fleet.registry.reading is Reading.PRESENT and fleet.mail.keys() >= fleet.agents.keys()
        if not whole:
            return ()
        found, known = rules.needs_you(fleet, now), self._known
        self._known = frozenset((one.handle, one.why) for one in found)
        return () if known is None else tuple(one for one in found if (one.handle, one.why) not in known)


class Pushes:
    """The pushes that a window has shown, whichever engine's log they stood in."""

    def __init__(self, begun: float) -> None:
        """`begun` is when the window opened: what was decided before is history."""
        self._begun = begun
        self._shown: dict[tuple[float, str], None] = {}

    def new(self, lines: Iterable[Happening]) -> list[Happening]:
        """Return the pushes among these lines that were not shown yet, and take them down as shown."""
        found = []
        for line in lines:
            key = (line.at, line.text)
            if line.what in _TOASTED and line.at >= self._begun and key not in self._shown:
                self._shown[key] = None
                found.append(line)
        for key in list(self._shown)[: max(0, len(self._shown) - SHOWN_LIMIT)]:
            del self._shown[key]
        return found


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
    """Return the toasts that pushes are worth, and whether all went well."""
    pushes = [(visible(line.text), line.good) for line in lines]
    if len(pushes) <= TOASTS_AT_ONCE:
        return pushes
    failed = sum(not good for _, good in pushes)
    return [(f"{len(pushes)} pushes" + (f", {failed} of them failed" if failed else "") + "; e shows them", not failed)]
