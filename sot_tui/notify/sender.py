"""One push to a topic by HTTP, bounded in everything: attempts, time, and what is said of a failure.

Contract, Failure semantics: "Sender retains its existing bounded HTTP retry behavior." A transport error or a server's
own fault is tried once more; any other refusal fails at once. No redirect is followed, so a token goes to no one else.
The answer is a fixed word: neither the address nor an error's text, which may hold it, ever leaves this module.
"""

from __future__ import annotations

import http.client
from base64 import b64encode
from contextlib import suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from sot_tui.comm.clock import SystemClock
from sot_tui.notify.decide import BLOCKED, DONE

if TYPE_CHECKING:
    from sot_tui.comm.clock import Clock
    from sot_tui.notify.decide import Notice
    from sot_tui.notify.settings import Target

ATTEMPT_SECS = 5.0
"""One attempt as a whole, from the look-up of the name to the status line."""
RETRY_SECS = 1.0
"""Before the one further attempt."""
TOTAL_SECS = 11.0
"""All of a delivery."""
HOLD_LIMIT_SECS = 3600.0
"""The longest that a server's Retry-After is believed."""

_PRIORITIES = {BLOCKED: "5", DONE: "4"}
_TAGS = {BLOCKED: "question"}
_OTHER_PRIORITY = "3"
_OTHER_TAG = "white_check_mark"
_SUCCESS_BELOW = 300
_TOO_MANY = 429
_FAULT_FROM = 500


class Sent(NamedTuple):
    """The outcome of one delivery."""

    delivered: bool
    status: int = 0
    """What the server answered last; 0 when nothing was heard."""
    held: bool = False
    """Whether nothing was tried, because the server had asked for patience."""


class Sender:
    """Sends to one topic; safe to call from any thread."""

    def __init__(self, target: Target, host: str, clock: Clock | None = None) -> None:
        self._target = target
        self._host = host
        self._clock = clock or SystemClock()
        self._lock = Lock()
        self._not_before = 0.0

    def send(self, notice: Notice) -> Sent:
        """Send one push and return what came of it; it never raises and takes at most 11 seconds."""
        deadline = self._clock.monotonic() + TOTAL_SECS
        if not self._wait_for_patience(deadline):
            return Sent(delivered=False, status=_TOO_MANY, held=True)
        status = self._attempt(notice, deadline)
        if status == 0 or status >= _FAULT_FROM:
            self._clock.sleep(min(RETRY_SECS, max(0.0, deadline - self._clock.monotonic())))
            status = self._attempt(notice, deadline)
        return Sent(0 < status < _SUCCESS_BELOW, status)

    def delivers(self, notice: Notice) -> bool:
        """Send one push and tell whether the topic took it."""
        return self.send(notice).delivered

    def _wait_for_patience(self, deadline: float) -> bool:
        with self._lock:
            not_before = self._not_before
        if not_before > deadline:
            return False
        if (left := not_before - self._clock.monotonic()) > 0:
            self._clock.sleep(left)
        return True

    def _attempt(self, notice: Notice, deadline: float) -> int:
        """Return the status of one attempt, 0 when there was none within its time."""
        attempt = _Attempt(self._target, notice, self._host)
        attempt.start()
        attempt.join(min(ATTEMPT_SECS, max(0.0, deadline - self._clock.monotonic())))
        attempt.give_up()
        if attempt.status == _TOO_MANY:
            with self._lock:
                self._not_before = self._clock.monotonic() + _patience(attempt.retry_after, self._clock.now())
        return attempt.status


class _Attempt(Thread):
    """One request in a thread of its own: nothing else bounds the look-up of a name, or a server that drips."""

    def __init__(self, target: Target, notice: Notice, host: str) -> None:
        super().__init__(name="ntfy", daemon=True)
        self._target, self._notice, self._host = target, notice, host
        self._connection: http.client.HTTPConnection | None = None
        self._given_up = False
        self.status = 0
        self.retry_after = ""

    def give_up(self) -> None:
        """Send nothing any more, and hear nothing."""
        self._given_up = True
        connection = self._connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(2)

    def run(self) -> None:
        """Make the request; whatever goes wrong leaves the status at 0."""
        try:
            self._request()
        except (OSError, ValueError, http.client.HTTPException):
            return  # the text of an error may hold the address
        finally:
            if self._connection is not None:
                self._connection.close()

    def _request(self) -> None:
        parts = urlsplit(self._target.url)
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        if parts.scheme not in kinds or not parts.hostname:
            return
        connection = self._connection = kinds[parts.scheme](parts.hostname, parts.port, timeout=ATTEMPT_SECS)
        connection.connect()
        body = self._notice.body.encode("utf-8")
        connection.putrequest("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        connection.putheader("Content-Length", str(len(body)))
        for name, value in _headers(self._target, self._notice, self._host):
            # As bytes: a string would be written in Latin-1.
            connection.putheader(name, value.encode("utf-8"))
        if self._given_up:
            return
        connection.endheaders(body)
        answer = connection.getresponse()
        if not self._given_up:
            self.retry_after = answer.getheader("Retry-After") or ""
            self.status = answer.status


def _headers(target: Target, notice: Notice, host: str) -> list[tuple[str, str]]:
    tag = _TAGS.get(notice.urgency, _OTHER_TAG)
    found = [
        ("Title", notice.title),
        ("Priority", _PRIORITIES.get(notice.urgency, _OTHER_PRIORITY)),
        ("Tags", f"{tag},{host}" if host else tag),
    ]
    parts = urlsplit(target.url)
    if target.token:
        found.append(("Authorization", f"Bearer {target.token}"))
    elif parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        found.append(("Authorization", f"Basic {b64encode(pair.encode()).decode()}"))
    return found


def _patience(said: str, now: float) -> float:
    """Return for how many seconds a server asks to be left alone; it says so in seconds or as a date."""
    if said.isascii() and said.isdigit():
        return min(float(said[:9]), HOLD_LIMIT_SECS)
    from email.utils import parsedate_to_datetime  # noqa: PLC0415  (a server rarely says a date)

    try:
        return min(max(0.0, parsedate_to_datetime(said).timestamp() - now), HOLD_LIMIT_SECS)
    except (ValueError, OverflowError):
        return 0.0
