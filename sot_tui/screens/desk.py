"""What all screens of one dashboard share: the engine's client, the drafts, and the last thing that was said.

The desk outlives a screen: a draft stays on it until its message is filed, and an outcome that arrives after its screen
was closed is still told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sot_tui.comm.fleet import State
from sot_tui.engine.client import Outcome
from sot_tui.screens.drafts import DraftBox

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.comm.fleet import Agent, Fleet
    from sot_tui.engine.client import Client
    from sot_tui.screens.spawn import Form

SAID_FOR_SECS = 8.0
"""Seconds that an outcome stays on the message line: read twice over, and gone before it is taken for news."""


_STEPS = {
    "watch": "the list is still true, up to two seconds late",
    "look": "what is shown may be old; sot-tui doctor says what is wrong with the comm home",
    "mail": "the numbers of mail may be old; sot-tui doctor says what is wrong",
    "home": "sot-tui doctor says what is wrong with the comm home",
    "log": "events are kept here, not in the file; sot-tui info names its path",
    "operator": "no message can be sent to you or from here until then",
    "socket": "further windows only look until then",
}
"""What a fault of a duty means for the person, and what can be done, by the duty's name."""


@dataclass(slots=True)
class Desk:
    """The things that the screens share."""

    client: Client
    editor: str = "vi"
    """The command of the person's editor."""
    said: Outcome | None = None
    said_at: float = 0.0
    on_said: Callable[[], None] | None = None
    drafts: DraftBox = field(init=False)
    answered: dict[str, tuple[object, float]] = field(default_factory=dict)
    """Which blocked handles the person has answered: what each said then, and when."""
    form: Form | None = None
    """The form of a new row as it was left, until its row is started."""

    def __post_init__(self) -> None:
        self.drafts = DraftBox(self.client, self.say, self.have_answered)

    @property
    def fleet(self) -> Fleet:
        """Return the newest fleet."""
        return self.client.fleet

    def now(self) -> float:
        """Return the moment that ages are taken against."""
        return self.client.now()

    def have_answered(self, handle: str) -> None:
        """Take note that a blocked handle was answered just now; one that is not blocked asked nothing."""
        one = self.fleet.agents.get(handle)
        if one is not None and one.state is State.BLOCKED:
            self.answered[handle] = (_asked(one), self.now())

    def answered_at(self, handle: str) -> float | None:
        """Return when the person answered a handle, as long as it says what it said then; else None."""
        said, one = self.answered.get(handle), self.fleet.agents.get(handle)
        return said[1] if said is not None and one is not None and said[0] == _asked(one) else None

    def say(self, outcome: Outcome) -> None:
        """Tell an outcome on the message line of whatever screen is open."""
        if outcome.sentence:
            self.said, self.said_at = outcome, self.now()
            if self.on_said is not None:
                self.on_said()

    def refuse(self, reason: str) -> None:
        """Say why an action did nothing."""
        self.say(Outcome(good=False, sentence=reason))

    def standing(self) -> Outcome | None:
        """Return what the message line says now: an outcome of a moment ago, else a fault of the engine."""
        if self.said is not None and 0 <= self.now() - self.said_at < SAID_FOR_SECS:
            return self.said
        if self.fleet.faults:
            *others, fault = self.fleet.faults
            more = f" · {len(others)} more: e lists them" if others else ""
            step = _STEPS.get(fault.duty, "")
            return Outcome(good=False, sentence=f"{fault.duty}: {fault.sentence}{f' · {step}' if step else ''}{more}")
        return None


def _asked(one: Agent) -> tuple[object, ...]:
    return (one.state, one.status_at, one.summary, one.fact)
