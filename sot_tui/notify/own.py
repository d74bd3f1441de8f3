"""The engine's own pushes: mail to the person, and a registry lock that nobody clears. None of them is ever a frame.

The contract's frames come from hooks alone, and so do `blocked` and `done`: one need, one push. What is decided here is
which line of the inbox is new, and in which words it is told; each has a key, and the book of what was told is kept, so
that a restart or a hand-over tells nothing twice. Mail that was there before the first start is nobody's news. All of
it is pure.
"""

from __future__ import annotations

from sot_tui.comm import frames, jsonline
from sot_tui.comm.clock import age_text
from sot_tui.comm.fleet import LockPhase
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import event as events, text
from sot_tui.notify.decide import INFO, Notice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from sot_tui.comm.fleet import LockState
    from sot_tui.notify.event import Event

WEDGED_SECS = 90.0
"""Seconds after which a held lock is worth a push: every engine writes each minute, and that clears a dead holder's."""
MARKS = 32
"""Lines of an inbox whose marks are remembered, the newest: they show where an inbox that was cut back went on."""
APART = 3
"""Messages of one look that are a push each; more of them are one push together."""
WAITING = 100
"""Pushes that wait to be sent at most; the oldest go first."""
FIRST_PAUSE, LONGEST_PAUSE = 30.0, 900.0
"""Seconds before a push that failed is tried again; they double each time."""
LIFE_SECS = 86400.0
"""A push that could not be sent for a day is no news any more."""

MAIL, LOCK, DIGEST, TEST = "Mail", "WedgedLock", "Digest", "Test"
"""What a push is about, as the decision log names it."""
REASONS = {
    MAIL: "mail to the operator",
    LOCK: "wedged registry lock",
    DIGEST: "quiet hours are over",
    TEST: "asked for as a test",
}
TRIED_AGAIN = frozenset({MAIL, LOCK, DIGEST})
"""What is sent again when the topic did not take it; a person who asks for a test is told, and asks again."""
HARNESS = "sot-tui"
"""Whose events these are, as the decision log names it."""

_HELD = frozenset({LockPhase.HELD, LockPhase.OLDER_VERSION, LockPhase.UNPARSABLE, LockPhase.UNREADABLE})


class Mark(NamedTuple):
    """One line of an inbox, so that it is known again: its number alone may be another line's by now."""

    line: int
    mark: str
    """`<crc>-<len>` of its bytes."""


class Found(NamedTuple):
    """One line of the person's inbox, as a look found it."""

    at: Mark
    line: bytes
    read: bool
    """Whether the person's cursor has passed it."""


class Push(NamedTuple):
    """A finished notification that waits to be sent."""

    key: str
    about: str
    title: str
    body: str
    made: float
    """Seconds since the epoch."""
    tries: int = 0
    begun: bool = False
    """Whether it is being sent: one that an engine's end cut short may have come, so it is not sent again."""
    after: float = 0.0
    """Seconds since the epoch before which it is not tried again."""

    @property
    def notice(self) -> Notice:
        """The words, as a sender takes them. None is `blocked` or `done`: those are the hooks' alone."""
        return Notice(self.title, self.body, INFO)


class Book(NamedTuple):
    """What was told, and what is to be."""

    mail: Mapping[str, tuple[Mark, ...]] = {}
    """By handle, the newest lines that were looked at; a handle that is not there was never looked at."""
    lock: str = ""
    """The wedged lock that was told of, while it stands."""
    waiting: tuple[Push, ...] = ()


def unseen(seen: Sequence[Mark], found: Sequence[Found]) -> list[Found] | None:
    """Return the lines after the newest one that was seen before; None when none of those stands there any more."""
    there = {one.at for one in found}
    last = max((mark.line for mark in seen if mark in there), default=0)
    if seen and not last:
        return None
    return [one for one in found if one.at.line > last]


def with_mail(book: Book, handle: str, new: Sequence[Found], marks: Sequence[Mark], host: str, now: float) -> Book:
    """Return the book once the lines of a look were taken in; the first look at an inbox makes no push."""
    mail = {**book.mail, handle: tuple(marks[-MARKS:])}
    if handle not in book.mail:
        return book._replace(mail=mail)
    to_tell = [one for one in new if not one.read and frames.counts(one.line, handle)]
    known = {push.key for push in book.waiting}
    pushes = [push for push in _mail_pushes(handle, to_tell, host, now) if push.key not in known]
    return book._replace(mail=mail, waiting=_bounded((*book.waiting, *pushes)))


def with_lock(book: Book, lock: LockState, host: str, now: float, wedged_s: float = WEDGED_SECS) -> Book:
    """Return the book after a look at the registry lock: one push for each lock that stands too long."""
    if lock.phase is LockPhase.FREE:
        return book._replace(lock="")
    key = f"{lock.phase.name}:{lock.record}"
    held = lock.held_s(now)
    if lock.phase not in _HELD or not lock.wedged or held < wedged_s or key == book.lock:
        return book
    who = f"by {lock.holder} " if lock.holder else ""
    body = f"{lock.grip.capitalize()} {who}for {age_text(held)}: {lock.verdict or 'its holder is not known'}"
    push = Push(
        f"{LOCK}:{key}", LOCK, f"registry lock wedged · {host}", text.head(text.plain(body), text.COMPOSED_BYTES), now
    )
    return book._replace(lock=key, waiting=_bounded((*book.waiting, push)))


def due(book: Book, now: float) -> Push | None:
    """Return the push that is to be sent next."""
    return next((push for push in book.waiting if not push.begun and push.after <= now), None)


def begun(book: Book, push: Push) -> Book:
    """Return the book while a push is sent."""
    return _changed(book, push.key, push._replace(begun=True))


def settled(book: Book, push: Push) -> Book:
    """Return the book once a push was delivered, held back, or given up."""
    return _changed(book, push.key, None)


def failed(book: Book, push: Push, now: float) -> Book:
    """Return the book after a failed try; what is too old is given up."""
    if now - push.made >= LIFE_SECS:
        return settled(book, push)
    after = now + pause(push.tries)
    return _changed(book, push.key, push._replace(begun=False, tries=push.tries + 1, after=after))


def pause(tries: int) -> float:
    """Return the seconds to wait after a try that failed, and so many before it."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * float(1 << min(tries, 10)))


def cut_short(book: Book) -> tuple[Book, int]:
    """Return the book without the pushes that were being sent when an engine ended, and how many these are."""
    left = tuple(push for push in book.waiting if not push.begun)
    return book._replace(waiting=left), len(book.waiting) - len(left)


def as_event(about: str, key: str) -> Event:
    """Return what the decision log holds of one of our own; it is an entry's source and never a frame."""
    return events.Event(1, HARNESS, "", events.IGNORED, about, "", key, "", "", "", "", "", "", goal_active=False)


# -- on disk ----------------------------------------------------------------------------------------------------------


def encode(book: Book) -> dict[str, Any]:
    """Return a book as it is kept."""
    mail = {handle: [list(mark) for mark in marks] for handle, marks in book.mail.items()}
    return {"mail": mail, "lock": book.lock, "waiting": [push._asdict() for push in book.waiting]}


def decode(said: Any) -> Book:
    """Return a book as it was kept; raise NotStrict for what is none: whether something was told is then not known."""
    try:
        mail = {str(handle): tuple(Mark(*mark) for mark in marks) for handle, marks in said["mail"].items()}
        book = Book(mail, said["lock"], tuple(Push(**push) for push in said["waiting"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise jsonline.NotStrict("it is no book of pushes") from error
    marks = (mark for marks in mail.values() for mark in marks)
    if not (_are(marks, (int, str)) and _are(book.waiting, _PUSH) and isinstance(book.lock, str)):
        raise jsonline.NotStrict("it is no book of pushes")
    return book


_PUSH: tuple[type | tuple[type, ...], ...] = (str, str, str, str, (int, float), int, bool, (int, float))


def _are(rows: Iterable[Sequence[Any]], kinds: Sequence[type | tuple[type, ...]]) -> bool:
    return all(isinstance(value, kind) for row in rows for value, kind in zip(row, kinds, strict=True))


# -- words ------------------------------------------------------------------------------------------------------------


def _mail_pushes(handle: str, found: Sequence[Found], host: str, now: float) -> list[Push]:
    if len(found) <= APART:
        return [_mail_push(handle, one, host, now) for one in found]
    senders = list(dict.fromkeys(f"@{_sender(one)}" for one in found))
    body = text.head(text.plain(f"From {', '.join(senders)}"), text.COMPOSED_BYTES)
    last = found[-1].at
    return [Push(f"{MAIL}:{handle}:{last.line}:{last.mark}", MAIL, f"{len(found)} messages · {host}", body, now)]


def _mail_push(handle: str, one: Found, host: str, now: float) -> Push:
    shown = frames.parse_line(one.line)
    body = text.head(text.plain(shown.msg if shown else ""), text.COMPOSED_BYTES) or "a message without a text"
    return Push(f"{MAIL}:{handle}:{one.at.line}:{one.at.mark}", MAIL, f"mail from @{_sender(one)} · {host}", body, now)


def _sender(one: Found) -> str:
    shown = frames.parse_line(one.line)
    return text.head(text.plain(shown.sender if shown else ""), 64) or "?"


def _changed(book: Book, key: str, to: Push | None) -> Book:
    kept = (to if push.key == key else push for push in book.waiting)
    return book._replace(waiting=tuple(push for push in kept if push is not None))


def _bounded(waiting: tuple[Push, ...]) -> tuple[Push, ...]:
    return waiting[-WAITING:]
