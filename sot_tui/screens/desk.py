"""What all screens of one dashboard share: the engine's client, the drafts, and the last thing that was said.

The desk outlives a screen: a draft stays on it until its message is filed, and an outcome that arrives after its screen
was closed is still told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sot_tui.engine.client import Outcome
from sot_tui.screens.drafts import DraftBox

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.comm.fleet import Fleet
    from sot_tui.engine.client import Client
    from sot_tui.screens.spawn import Form

SAID_FOR_SECS = 8.0
"""Seconds that an outcome stays on the message line: read twice over, and gone before it is taken for news."""


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
    form: Form | None = None
    """The form of a new row as it was left, until its row is started."""

    def __post_init__(self) -> None:
        self.drafts = DraftBox(self.client, self.say)

    @property
    def fleet(self) -> Fleet:
        """Return the newest fleet."""
        return self.client.fleet

    def now(self) -> float:
        """Return the moment that ages are taken against."""
        return self.client.now()

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
            return Outcome(good=False, sentence=f"{fault.duty}: {fault.sentence}{more}")
        return None
