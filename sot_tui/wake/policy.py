"""Whether a row may be typed into now, and whether its mail asks for it: every condition and every veto, with reasons.

Contract, Waking: a free prompt, the screen down to the box's lower rule still for a second and a half, no `stop_at`
under a minute old, only a Claude row. That is necessary and not enough: a turn that streams can hold the picture of a
free prompt for 19 s. So evidence of work is a veto on top, chosen by measuring both errors on every recording
(docs/wake.md). A veto only makes the wake stricter, and what may stay for good in an idle row holds for a time only.
Pure: the moment is an argument, and who looks brings what there is to see.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.wake import dialog, prompt
from sot_tui.wake.prompt import Prompt, Verdict

if TYPE_CHECKING:
    from sot_tui.wake.prompt import Box
    from sot_tui.wake.terminal import Screen

STILL_SECS = 1.5
"""Seconds that the screen must hold still before anything is typed (contract, Waking)."""
STOP_SECS = 60.0
"""Seconds in which a `stop_at` says that the Stop hook runs (contract, Waking: under a minute old)."""
STOP_AHEAD_SECS = 1.0
"""Seconds that a `stop_at` may lie ahead of our clock and still count."""
REMIND_SECS = 600.0
"""Seconds after which unread mail is told once more (contract, Waking: ten minutes later)."""
PERSON_SECS = 2.5
"""Seconds after a person's last key in which nothing is typed into that row."""
WEAK_SECS = 25.0
"""Seconds of rest after which title and status report are no longer believed: longer than any turn was seen to rest
(19 s), and an agent whose last word was `working` is not deaf for good."""
STRONG_SECS = 180.0
"""The same for what is drawn in and below the box: another version may draw it while it is idle."""
AGENTS_STILL_SECS = 3.0
"""Seconds of rest that are asked for where title or status say `working` and background agents may be the reason."""
ENTER_AGAIN_SECS = 10.0
"""Seconds between two Enters for one line."""
FLOOR_SECS = 20.0
"""Seconds in which the floor, with its last heartbeat, says that a turn runs; one that Esc ended keeps it for good."""

_IDLE_COLOR = "default"
_INTERRUPT = "esc to interrupt"
_HINT_ROWS = 3
"""Rows below the box in which the interrupt hint may stand, a status line of the user's before it."""
_BUSY_TITLES = "◐◑◒◓"
_BRAILLE = ("\u2800", "\u28ff")
_QUEUED_HINT = "edit queued messages"


class Act(Enum):
    """What may be done; the value is the word that `sot-tui screen` prints."""

    TYPE = "type"
    ENTER = "enter"
    NO = "no"


class Judged(NamedTuple):
    """What may be done to a row at one moment, and why not more."""

    act: Act
    reason: str = ""
    prompt: Prompt = Prompt(Verdict.REFUSED)
    waits: bool = False
    """Only time is missing: the very same picture is enough a little later."""


class Sight(NamedTuple):
    """A row's terminal at one moment."""

    screen: Screen
    lag: int = 0
    """Bytes of the agent's that are not on the screen yet."""
    synchronizing: bool = False
    """The agent is in the middle of a frame."""
    queued: int = 0
    """Bytes of input that the agent has not read yet."""
    person_s: float | None = None
    """Seconds since a person last typed into the row; None when none ever did."""


class RowFacts(NamedTuple):
    """What else is known of a row."""

    agent: str = "claude"
    vim: bool = False
    """Vim mode was seen on the row, or stands in its agent's settings."""
    stop_age: float | None = None
    """Seconds since `stop_at`; None without one."""
    floor_age: float | None = None
    """Seconds since the last stamp of a turn that runs; None when none does."""
    dialog: bool = False
    """The registry says that a dialog or a question waits on a person."""


class Stretch(NamedTuple):
    """For how long the watched part of a screen has been as it is."""

    part: object = None
    since: float = 0.0

    def watched(self, screen: Screen, now: float) -> Stretch:
        """Return the stretch after one more look."""
        part = watched_part(screen)
        return self if part == self.part else Stretch(part, now)


UNSEEN = Stretch()
"""Of a screen that was never looked at."""
DIALOG_OPEN = "dialog open"
MOVING = "screen moving"
LAGS = "its screen lags behind"
UNREAD_KEYS = "its agent has not read its keys"
PERSON = "a person is typing"
STOP_HOOK = "stop hook running"
VIM = "vim mode: never typed into"
WORKING = "a turn is at work"


def watched_part(screen: Screen) -> object:
    """Return what must hold still: cursor and rows down to the box's lower rule, all rows where there is no box."""
    lower = prompt.lower_rule(screen)
    rows = screen.rows if lower is None else screen.rows[: lower + 1]
    return (screen.columns, screen.cursor_x, screen.cursor_y, rows)


def row_refused(row: RowFacts) -> str:
    """Return why a row is not typed into whatever its screen shows; empty when nothing forbids it."""
    if row.agent != "claude":
        return f"{row.agent}: never typed into"
    if row.vim:
        return VIM
    if row.stop_age is not None and -STOP_AHEAD_SECS <= row.stop_age < STOP_SECS:
        return STOP_HOOK
    return ""


def work_seen(sight: Sight, row: RowFacts, seen: Prompt, rest_s: float) -> str:
    """Return the evidence that a turn is at work though the prompt looks free, "" when there is none."""
    screen, box = sight.screen, seen.box
    if box is None:
        return ""
    if rest_s < STRONG_SECS:
        drawn = _work_drawn(screen, box)
        if drawn:
            return drawn
    state = state_of(screen.status)
    if state == "blocked":
        return "status report: blocked"
    if row.floor_age is not None and row.floor_age < FLOOR_SECS:
        return "fresh heartbeat"
    enough = AGENTS_STILL_SECS if has_background_agents(screen, seen) else WEAK_SECS
    if rest_s >= enough:
        return ""  # title and status stay at work while background agents do, and the prompt is free
    if screen.title.startswith(tuple(_BUSY_TITLES)) or _BRAILLE[0] <= screen.title[:1] <= _BRAILLE[1]:
        return "title"
    return "status report: working" if state == "working" else ""


def _work_drawn(screen: Screen, box: Box) -> str:
    """Return what in and below the box says that a turn is at work."""
    glyph = screen.rows[box.upper + 1][box.glyph]
    if glyph.fg != _IDLE_COLOR or glyph.dim:
        return "colour of the prompt"
    lines = prompt.text_of(screen)
    below = [line for line in lines[box.lower + 1 :] if line][:_HINT_ROWS]
    if any(_INTERRUPT in line for line in below):
        return "interrupt hint"
    return "messages are queued" if _QUEUED_HINT in lines[box.upper + 1] else ""


def has_background_agents(screen: Screen, seen: Prompt) -> bool:
    """Tell whether the panel of background agents stands below the box, with main's view open."""
    if seen.box is None:
        return False
    return any(line.startswith("  ● main") for line in prompt.text_of(screen)[seen.box.lower + 1 :])


def evidence(screen: Screen) -> str:
    """Return what a screen says of its row in words, "" when it says nothing: for a person, no fact is made of it."""
    waiting = dialog.read(screen)
    if waiting is not None:
        return f"a dialog: {waiting.line}"
    seen = prompt.read(screen)
    work = work_seen(Sight(screen), RowFacts(), seen, 0.0)
    if work:
        return f"a turn at work ({work})"
    if seen.verdict is Verdict.FREE:
        return "a free prompt"
    state = state_of(screen.status)
    return f"a report: {state}" if state else ""


def state_of(status: str) -> str:
    """Return the state that a program status report names, "" when it names none."""
    return next((part.removeprefix("state=") for part in status.split(":") if part.startswith("state=")), "")


def judge(sight: Sight, row: RowFacts, still_s: float, rest_s: float = 0.0) -> Judged:
    """Return what may be done to a row with unread mail, whose screen has held still for so long.

    `rest_s` is the same by looks that lie seconds apart: enough to no longer believe evidence of work, never to type.
    """
    seen = prompt.read(sight.screen)

    def no(reason: str, *, waits: bool = False) -> Judged:
        return Judged(Act.NO, reason, seen, waits)

    refused = row_refused(row)
    if refused:
        return no(refused)
    if seen.vim:
        return no(VIM)
    if sight.lag or sight.synchronizing:
        return no(LAGS, waits=True)
    if seen.verdict is Verdict.REFUSED:
        is_open = seen.box is None and (row.dialog or dialog.read(sight.screen) is not None)
        return no(DIALOG_OPEN if is_open else seen.reason)
    work = work_seen(sight, row, seen, max(still_s, rest_s))
    if work:
        return no(f"{WORKING} ({work})", waits=has_background_agents(sight.screen, seen))
    if sight.queued:
        return no(UNREAD_KEYS, waits=True)
    if sight.person_s is not None and sight.person_s < PERSON_SECS:
        return no(PERSON, waits=True)
    if still_s < STILL_SECS:
        return no(MOVING, waits=True)
    return Judged(Act.TYPE if seen.verdict is Verdict.FREE else Act.ENTER, "", seen)


# -- the mail -------------------------------------------------------------------------------------------------------


class Rung(NamedTuple):
    """What this daemon remembers of a handle that it has woken; a restart forgets it."""

    newest: int
    """The line of the inbox, from 1, that was the newest counted one when the line was typed."""
    at: float
    """The monotonic moment when it was typed."""
    owed: bool = False
    """The line was typed, and was not sent."""
    not_before: float = 0.0
    """The monotonic moment before which Enter is not tried again: an agent that hangs still has the last one."""


class Due(Enum):
    """What the mail of a handle asks for."""

    NOTHING = "nothing"
    FORGET = "forget"
    """All is read: what was remembered is of no use."""
    WAKE = "wake"
    """A line is due, or Enter where the box holds it."""
    COMPLETE = "complete"
    """Enter alone is due, once the box holds exactly the line."""


def due(unread: int, newest: int, rung: Rung | None, now: float) -> Due:
    """Return what is due for a handle with so much unread mail, its newest counted line being `newest`.

    An owed Enter comes before all else, "whether or not the mail has been read by then"; within its ten minutes the
    line is never typed again, though new mail came.
    """
    if rung is not None and rung.owed and now - rung.at < REMIND_SECS:
        return Due.COMPLETE if now >= rung.not_before else Due.NOTHING
    if not unread:
        return Due.FORGET if rung is not None else Due.NOTHING
    if rung is None or newest > rung.newest or now - rung.at >= REMIND_SECS:
        return Due.WAKE
    return Due.NOTHING
