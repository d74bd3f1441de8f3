"""One prepared event to its end: decided, worded, sent, logged.

Contract, Framing: "The daemon and inline fallback use the same prepared snapshot". Both call `deliver`, the daemon with
a composer perhaps, the fallback never; so one event has the same words from either, but for what a model made of them.
Silent events are logged too. What the composer says can change a title and a body, never whether or how urgently.
"""

from __future__ import annotations

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import decide, decision_log, event as events
from sot_tui.notify.decision_log import HELD_BACK, NOT_SENT, REHEARSAL, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.notify.decide import Decision, Notice
    from sot_tui.notify.event import Event
    from sot_tui.notify.frame import Frame
    from sot_tui.notify.held import Gate

FALLBACK = "fallback"
"""The body is the captured text."""
COMPOSED = "composed"
"""The body was made for this push."""
NO_IDENTITY = "completion identity unavailable"
NO_COMPOSER = "composer unavailable"
BAD_CONFIGURATION = "invalid configuration"
NO_LABELS = "labels unavailable"

_SKIPPED = frozenset({REHEARSAL, NO_IDENTITY})
_DISABLED = frozenset({NO_COMPOSER, BAD_CONFIGURATION})


class Words(NamedTuple):
    """What was found or made for one event beyond what it says itself."""

    label: str = ""
    """The session's name; empty for none."""
    body: str = ""
    """A composed body; empty when nobody composed one."""
    error: str = ""
    """Why not, as one of the fixed categories."""
    labels_failed: bool = False
    """Whether the store of labels could not be read or written."""


class Channel(NamedTuple):
    """How a process delivers."""

    home: Home
    base: str
    """The state folder, where the decision log lies."""
    host: str
    """This machine's short name."""
    send: Callable[[Notice], bool] | None
    """Sends a push and tells whether it was delivered; None when this process only rehearses."""
    say: Callable[[str], None]
    """Prints one line of a rehearsal."""
    warn: Callable[[str], None]
    """Prints one line of narration."""
    words: Callable[[Event], Words] | None = None
    """Finds the label and composes; None where that is not done."""
    keep: Callable[[Notice], bool] | None = None
    """Keeps a push back within quiet hours and tells whether it did; None where there are none."""


class Served(NamedTuple):
    """How a process that serves the hooks delivers."""

    channel: Channel
    cancel: Callable[[], None] | None
    """Ends what composes; None where nothing does."""


def served(  # noqa: PLR0913  (what differs between those who serve)
    home: Home,
    environ: Mapping[str, str],
    base: str,
    host: str,
    send: Callable[[Notice], bool] | None,
    gate: Gate,
    *,
    say: Callable[[str], None],
    warn: Callable[[str], None],
) -> Served:
    """Return the channel of whoever serves the hooks, `notifyd` or the engine: it composes, and knows the labels."""
    from sot_tui.notify import composer, labels  # noqa: PLC0415  (a hook that delivers by itself has neither)

    model = composer.configured(environ)
    writer = None if model is None else composer.Composer(model, environ, home.clock)
    words = composer.words_by(writer, labels.Labels(home, base))
    channel = Channel(home, base, host, send, say, warn, words, gate.keep)
    return Served(channel, writer.cancel if writer else None)


def deliver(channel: Channel, frame: Frame) -> bool:
    """Bring one event to its end, and tell whether it is settled: silent, rehearsed, held back or delivered."""
    event = frame.event
    decision = decide.decide(event)
    is_dry = frame.dry_run or channel.send is None
    if decision.outcome != decide.SEND:
        _log(channel, event, Entry(decision.outcome, decision.reason, dry_run=is_dry))
        return True
    words = _words(channel, event, is_dry=is_dry)
    notice = decide.notice(event, decision.urgency, frame.workspace, channel.host, words.label, words.body)
    if channel.send is None or is_dry:
        channel.say(f"DRY RUN: [{notice.urgency}] {notice.title} — {notice.body}\n")
        came = ""
    elif channel.keep is not None and channel.keep(notice):
        came = HELD_BACK
    else:
        came = "" if channel.send(notice) else NOT_SENT
    _log(channel, event, _entry(event, decision, notice, words, came)._replace(dry_run=is_dry))
    return came != NOT_SENT


def _words(channel: Channel, event: Event, *, is_dry: bool) -> Words:
    is_completion = event.kind == events.COMPLETION
    if is_dry:
        return Words(error=REHEARSAL)
    if is_completion and not decide.is_claimable(event):
        return Words(error=NO_IDENTITY)
    if channel.words is None:
        return Words(error=NO_COMPOSER)
    return channel.words(event)


def _entry(event: Event, decision: Decision, notice: Notice, words: Words, came: str) -> Entry:
    reason = decision.reason
    outcome = error = ""
    if words.labels_failed:
        reason += f" ({NO_LABELS})"
    if event.kind == events.COMPLETION:
        outcome, error = (COMPOSED, NO_LABELS if words.labels_failed else "") if words.body else (FALLBACK, words.error)
        reason += _suffix(words)
    reason += came
    return Entry(decision.outcome, reason, notice.urgency, notice.title, notice.body, outcome, error)


def _suffix(words: Words) -> str:
    if words.body:
        return " (enriched)"
    how = "skipped" if words.error in _SKIPPED else "disabled" if words.error in _DISABLED else "failed"
    return f" (enrichment {how}: {words.error})"


def _log(channel: Channel, event: Event, entry: Entry) -> None:
    if not decision_log.append(channel.home, channel.base, event, entry):
        channel.warn("steward: decision log append failed")
