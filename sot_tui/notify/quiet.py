"""Quiet hours: in which of them a push is held back, and the one push that tells of all of them afterwards.

Contract, Failure semantics: an outage is "bounded and observable"; a push that is held back is not lost, and a person
who sleeps is told once, when the hours are over. What asks for something may pass, if the settings say so. All of this
is pure: the moment is an argument, and what was held back is the caller's.
"""

from __future__ import annotations

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import text
from sot_tui.notify.decide import BLOCKED, DONE, INFO, Notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sot_tui.comm.config import Config

DIGEST_LINES = 12
"""Pushes that a digest tells of one by one, the newest of them; the others are counted."""
LINE_BYTES = 120
"""Bytes that each of them has there: twelve are far below the 4096 that a topic takes."""

_LOUDEST = (BLOCKED, DONE, INFO)


class Hours(NamedTuple):
    """The person's quiet hours, in minutes of the day."""

    start: int
    end: int
    """The first minute that is not quiet any more; before `start`, it is one of the next day."""
    blocked_passes: bool
    """Whether what asks for something is sent all the same."""


def hours_of(settings: Config) -> Hours | None:
    """Return the quiet hours that the settings name; None when they name none."""
    span = settings.hours("quiet_hours")
    return Hours(*span, settings.switch("quiet_blocked")) if span else None


def is_quiet(hours: Hours | None, minute: int) -> bool:
    """Tell whether a minute of the day is quiet; the first minute of the hours is, the one that ends them is not."""
    if hours is None:
        return False
    if hours.start < hours.end:
        return hours.start <= minute < hours.end
    return minute >= hours.start or minute < hours.end


def holds(hours: Hours | None, urgency: str, minute: int) -> bool:
    """Tell whether a push is held back."""
    passes = hours is not None and hours.blocked_passes and urgency == BLOCKED
    return is_quiet(hours, minute) and not passes


def minute_of(seconds: float) -> int:
    """Return the minute of the day that this machine's clock shows at a moment."""
    import time  # noqa: PLC0415  (only who has quiet hours asks)

    shown = time.localtime(seconds)
    return shown.tm_hour * 60 + shown.tm_min


def said(hours: Hours) -> str:
    """Return the hours as a person wrote them."""
    return "-".join(f"{minute // 60:02}:{minute % 60:02}" for minute in (hours.start, hours.end))


def digest(held: Sequence[Notice], host: str) -> Notice:
    """Return the one push that tells of what was held back; it is as urgent as the most urgent of them."""
    lines = [text.head(f"{one.title}: {one.body}", LINE_BYTES) for one in held[-DIGEST_LINES:]]
    more = len(held) - len(lines)
    if more:
        lines.insert(0, f"and {more} before these")
    urgency = next((word for word in _LOUDEST if any(one.urgency == word for one in held)), INFO)
    count = "1 push" if len(held) == 1 else f"{len(held)} pushes"
    return Notice(f"{count} held back in quiet hours · {host}", "\n".join(lines), urgency)
