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
from sot_tui.wake.policy import UNSEEN, Act, Stretch
from sot_tui.wake.prompt import Verdict

if TYPE_CHECKING:
    from sot_tui.wake.policy import RowFacts, Sight

HOLD_SECS = 4.0
"""Seconds after which an attempt at a screen that does not come to rest is left to the next tick."""
CONFIRM_SECS = 3.0
"""Seconds in which the typed line must stand in the box (daemon wire 6)."""
SENT_SECS = 1.5
"""Seconds in which Enter must have taken the line out of the box; else it is owed again, to a later tick."""


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

    def __init__(self, goal: Goal, row: RowFacts, now: float, rest: Stretch = UNSEEN) -> None:
        """`rest` is for how long earlier attempts saw the screen as it is."""
        self._goal, self._row = goal, row
        self.rest = rest
        """For how long the screen has been as it is, by all looks at it."""
        self._stage = _Stage.LOOKS
        self._began = now
        self._stretch = Stretch()
        self._typed_at: float | None = None
        self._sent_at = 0.0
        self.owes_enter = False
        """The line stands in the box, as far as is known, and has not been sent."""
        self.found_free = False
        """There was nothing to complete: the box was free and at rest."""

    def step(self, sight: Sight, now: float) -> Step:
        """Return what to do after one look; a Type or Enter counts as done unless `missed` says otherwise."""
        if self._stage is _Stage.SENT:
            return self._after_enter(sight, now)
        if self._stage is _Stage.TYPED and self._typed_at is not None:
            return self._after_typing(sight, now, self._typed_at)
        self._stretch = self._stretch.watched(sight.screen, now)
        self.rest = self.rest.watched(sight.screen, now)
        judged = policy.judge(sight, self._row, now - self._stretch.since, now - self.rest.since)
        match judged.act:
            case Act.NO if judged.waits and now - self._began < HOLD_SECS:
                return Wait(judged.reason)
            case Act.NO:
                return Stop(judged.reason)
            case Act.ENTER:
                self._stage, self._sent_at = _Stage.SENT, now
                return Enter(sight.screen.revision)
            case Act.TYPE if self._goal is Goal.COMPLETE:
                self.found_free = True
                return Stop("the box does not hold the wake line")
            case Act.TYPE:
                self._stage, self._typed_at, self.owes_enter = _Stage.TYPED, now, True
                return Type(sight.screen.revision)

    def _after_typing(self, sight: Sight, now: float, typed_at: float) -> Step:
        seen = prompt.read(sight.screen)
        whole = not (sight.lag or sight.synchronizing or sight.queued)
        # A person whose key came after the line is writing behind it, though it is not on the screen yet.
        alone = sight.person_s is None or sight.person_s > now - typed_at
        if seen.verdict is Verdict.HOLDS and whole and alone and not seen.vim:
            self._stage, self._sent_at, self.owes_enter = _Stage.SENT, now, False
            return Enter(sight.screen.revision)
        if now - typed_at < CONFIRM_SECS:
            return Wait("the line is not in the box yet")
        return Stop("the line was typed and is not alone in the box; Enter is owed")

    def _after_enter(self, sight: Sight, now: float) -> Step:
        if prompt.read(sight.screen).verdict is not Verdict.HOLDS:
            return Stop("")
        if now - self._sent_at < SENT_SECS:
            return Wait("the line is still in the box")
        self.owes_enter = True
        return Stop("Enter did not send the line; it is owed")

    def missed(self) -> None:
        """Note that the last step was not carried out: the screen was another one by then."""
        if self._stage is _Stage.TYPED:
            self._stage, self._typed_at, self.owes_enter = _Stage.LOOKS, None, False
        elif self._stage is _Stage.SENT:
            self._stage = _Stage.LOOKS if self._typed_at is None else _Stage.TYPED
            self.owes_enter = self._typed_at is not None
