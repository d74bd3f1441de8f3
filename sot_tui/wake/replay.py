"""What the wake and the dialog check make of a recording, at each of its moments and by its own clock.

A recording is an asciicast of version 2 whose events are what a program wrote (`o`), what was sent to it (`i`), its
sizes (`r`) and marks (`m`). It goes through the same terminal, prompt, dialog and policy as a live row; mail is taken
to be unread all the time, and a key that was sent is a person's. Pure: whoever calls brings the events.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.wake import dialog, policy, prompt
from sot_tui.wake.policy import RowFacts, Sight, Stretch
from sot_tui.wake.prompt import Verdict
from sot_tui.wake.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sot_tui.wake.dialog import Waiting
    from sot_tui.wake.policy import Judged
    from sot_tui.wake.prompt import Prompt
    from sot_tui.wake.terminal import Screen

Event = tuple[float, str, str]
"""Seconds, kind, data."""

_ANSWER = re.compile(r"(?:\x1b\[[?>]?[\d;]*[cnRuy$]+|\x1b[\]P_][^\x07\x1b]*(?:\x07|\x1b\\))+")
"""What a terminal answers by itself, which is no key of a person's."""


class Moment(NamedTuple):
    """One moment of a recording."""

    at: float
    screen: Screen
    prompt: Prompt
    """One frame, by the rules of the agent whose screen it is."""
    waiting: Waiting | None
    judged: Judged
    """What the policy does with mail unread."""


class Replay:
    """A recording on its way: feed its events, look at any moment between."""

    def __init__(self, columns: int, lines: int) -> None:
        self._terminal = Terminal(columns, lines)
        self._stretch = Stretch()
        self._person: float | None = None
        self._is_codex = False

    def take(self, event: Event) -> None:
        """Take the next event."""
        at, kind, data = event
        if kind == "o":
            self._terminal.feed(data.encode(), at)
        elif kind == "r":
            columns, _, lines = data.partition("x")
            self._terminal.resize(int(columns), int(lines))
        elif kind == "i" and not _ANSWER.fullmatch(data):
            self._person = at
        self._stretch = self._stretch.watched(self._terminal.snapshot(at), at)

    def look(self, at: float) -> Moment:
        """Return what there is to see, and to do, at a moment."""
        screen = self._terminal.snapshot(at)
        self._stretch = self._stretch.watched(screen, at)
        if "app=codex" in screen.status:
            self._is_codex = True
        person = None if self._person is None else at - self._person
        sight = Sight(screen, synchronizing=self._terminal.synchronizing(at), person_s=person)
        agent = "codex" if self._is_codex else "claude"
        judged = policy.judge(sight, RowFacts(agent), at - self._stretch.since)
        shown = prompt.read_codex(screen) if self._is_codex else judged.prompt
        return Moment(at, screen, shown, dialog.read(screen), judged)


def moments(columns: int, lines: int, events: Iterable[Event]) -> Iterator[Moment]:
    """Yield the moment after each event."""
    replay = Replay(columns, lines)
    for event in events:
        replay.take(event)
        yield replay.look(event[0])


def told(moment: Moment) -> dict[str, object]:
    """Return a moment as `sot-tui screen` prints it."""
    screen = moment.screen
    waiting = moment.waiting
    reason = moment.prompt.reason if moment.prompt.verdict is Verdict.REFUSED else moment.judged.reason
    return {
        "at": round(moment.at, 6),
        "prompt": moment.prompt.verdict.value,
        "reason": reason,
        "dialog": None if waiting is None else waiting.kind.value,
        "dialog_line": None if waiting is None else waiting.line,
        "wake": moment.judged.act.value,
        "cursor": {"row": screen.cursor_y, "col": screen.cursor_x, "visible": screen.cursor_visible},
        "lines": list(prompt.text_of(screen)),
        "dim": _spans(screen),
        "alternate_screen": screen.alternate,
    }


def _spans(screen: Screen) -> list[list[int]]:
    """Return the columns of the cursor's row that are dim, as spans `[from, to)`."""
    spans: list[list[int]] = []
    for column, cell in enumerate(screen.rows[screen.cursor_y]):
        if cell.dim:
            if spans and spans[-1][1] == column:
                spans[-1][1] += 1
            else:
                spans.append([column, column + 1])
    return spans
