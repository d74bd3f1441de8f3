"""Which completions were taken on already, so that each is told once.

Contract, In-memory completion claims: the key "is exactly harness, session ID, kind, and completion ID"; claims expire
24 hours after the first, at most 10,000 are kept, "Duplicate observations do not refresh TTL or ordering", and a final
failure of the sender "releases only that job's ownership token". Nothing is ever written: a restart starts empty.
"""

from __future__ import annotations

from threading import Lock

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sot_tui.comm.clock import Clock
    from sot_tui.notify.event import Event

LIFE_SECS = 24 * 3600.0
"""From the first claim on (contract, In-memory completion claims)."""
CAPACITY = 10_000
"""Claims that are kept (contract, In-memory completion claims)."""


class Key(NamedTuple):
    """One completion."""

    harness: str
    session_id: str
    kind: str
    completion_id: str


class _Claim(NamedTuple):
    since: float
    token: int


def key_of(event: Event) -> Key:
    """Return the key of an event."""
    return Key(event.harness, event.session_id, event.kind, event.completion_id)


class Claims:
    """The claims of one serving daemon; every method is safe to call from any thread."""

    def __init__(self, clock: Clock, capacity: int = CAPACITY) -> None:
        self._clock = clock
        self._capacity = capacity
        self._lock = Lock()
        self._tokens = 0
        # A dict keeps the order of insertion, which is that of the first claims: map and order are one.
        self._held: dict[Key, _Claim] = {}

    def __len__(self) -> int:
        with self._lock:
            return len(self._held)

    def claim(self, key: Key) -> int | None:
        """Return a token when the completion was claimed by this call, or None when it is claimed already."""
        with self._lock:
            now = self._clock.monotonic()
            for old in _expired(self._held, now):
                del self._held[old]
            if key in self._held:
                return None
            if len(self._held) >= self._capacity:
                del self._held[next(iter(self._held))]
            self._tokens += 1
            self._held[key] = _Claim(now, self._tokens)
            return self._tokens

    def release(self, key: Key, token: int) -> None:
        """Give a claim back, so that a later event may try again; a claim of another token stays."""
        with self._lock:
            claim = self._held.get(key)
            if claim is not None and claim.token == token:
                del self._held[key]


def _expired(held: dict[Key, _Claim], now: float) -> list[Key]:
    """Return the keys that have expired, from the old end; the first that has not ends the look."""
    found = []
    for key, claim in held.items():
        if now - claim.since < LIFE_SECS:
            break
        found.append(key)
    return found
