"""One attempt to wake a row: look, hold, type the line, look again, and only then Enter, as a write of its own.

Contract, Waking: the screen holds still for a second and a half before anything is typed; Enter is sent once the box
holds just that line. What happens between is nobody's to see, so each step is judged from a fresh look and names the
revision that it was judged on. It never sends any other key, never the line twice, and gives up rather than guesses.
Pure: the engine's duty brings the looks and carries out the steps.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sot_tui.wake import policy, prompt
from sot_tui.wake.policy import Act, Stretch
from sot_tui.wake.prompt import Verdict

if TYPE_CHECKING:
    from sot_tui.wake.policy import RowFacts, Sight

HOLD_SECS = 4.0
"""Seconds after which an attempt at a screen that does not come to rest is left to the next tick."""
CONFIRM_SECS = 3.0
"""Seconds in which the typed line must stand in the box (daemon wire 6)."""


class Wait(NamedTuple):
    """Look again soon."""

    reason: str


class Type(NamedTuple):
    """Type the wake line, if the screen is still the one that was looked at."""

    revision: int


class Enter(NamedTuple):
    """Send Enter, if the screen is still the one that was looked at."""

    revision: int


class Stop(NamedTuple):
    """The attempt is over."""

    reason: str
    """Why nothing (more) is sent; empty when all was sent."""


Step: TypeAlias = Wait | Type | Enter | Stop


class Goal(Enum):
    """What an attempt may do."""

    WAKE = "wake"
    """Type the line and Enter; Enter alone where the box already holds the line."""
    COMPLETE = "complete"
    """Enter alone."""


class _Stage(Enum):
    LOOKS = 0
    TYPED = 1
    SENT = 2


class Typist:
    """One attempt at one row."""

    def __init__(self, goal: Goal, row: RowFacts, now: float) -> None:
        self._goal, self._row = goal, row
        self._stage = _Stage.LOOKS
        self._began = now
        self._stretch = Stretch()
        self._typed_at = 0.0
        self.owes_enter = False
        """The line was typed and Enter was not sent."""

    def step(self, sight: Sight, now: float) -> Step:
        """Return what to do after one look; a Type or Enter counts as done unless `missed` says otherwise."""
        if self._stage is _Stage.SENT:
            return Stop("")
        if self._stage is _Stage.TYPED:
            return self._after_typing(sight, now)
        self._stretch = self._stretch.watched(sight.screen, now)
        judged = policy.judge(sight, self._row, now - self._stretch.since)
        match judged.act:
            case Act.NO if judged.waits and now - self._began < HOLD_SECS:
                return Wait(judged.reason)
            case Act.NO:
                return Stop(judged.reason)
            case Act.ENTER:
                self._stage = _Stage.SENT
                return Enter(sight.screen.revision)
            case Act.TYPE if self._goal is Goal.COMPLETE:
                return Stop("the box does not hold the wake line")
            case Act.TYPE:
                self._stage, self._typed_at, self.owes_enter = _Stage.TYPED, now, True
                return Type(sight.screen.revision)

    def _after_typing(self, sight: Sight, now: float) -> Step:
        seen = prompt.read(sight.screen)
        whole = not (sight.lag or sight.synchronizing or sight.queued)
        # A person whose key came after the line is writing behind it, though it is not on the screen yet.
        alone = sight.person_s is None or sight.person_s > now - self._typed_at
        if seen.verdict is Verdict.HOLDS and whole and alone and not seen.vim:
            self._stage, self.owes_enter = _Stage.SENT, False
            return Enter(sight.screen.revision)
        if now - self._typed_at < CONFIRM_SECS:
            return Wait("the line is not in the box yet")
        return Stop("the line was typed and is not alone in the box; Enter is owed")

    def missed(self) -> None:
        """Note that the last step was not carried out: the screen was another one by then."""
        if self._stage is _Stage.TYPED:
            self._stage, self.owes_enter = _Stage.LOOKS, False
        elif self._stage is _Stage.SENT:
            self._stage = _Stage.TYPED if self._typed_at else _Stage.LOOKS
            self.owes_enter = self._stage is _Stage.TYPED
