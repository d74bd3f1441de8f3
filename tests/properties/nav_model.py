"""What the nav must show, said once more and otherwise: from the contract and the design, with no rule of the product.

Only the standard library is used here. A world is a few plain values: entries, mailboxes, a lock, a clock. What the
design leaves to the product (the words beside an old sighting, the width of a column) is left out, or asked for by its
beginning. All texts in it are one cell a sign, so a width is a length.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

LIVE_SECS = 600
"""Contract: a handle is live when its `last_seen` is a stamp under 600 seconds old."""
DOUBT_SECS = 300
"""Design: a `working` whose `status_at` is old reads `working?`; the settings' default."""
WEDGED_SECS = 2
"""Design: a lock held past two seconds raises a banner."""
SHAPES = {
    "blocked": "◆",
    "done": "✓",
    "working": "●",
    "waiting": "◌",
    "idle": "○",
    "no signal": "?",
    "you": "◇",
    "stale": "╌",
}
RANKS = ("blocked", "working", "waiting", "done", "idle", "no signal", "you", "stale")
"""The order of those who need nobody. The design names working, waiting, idle, stale; the others stand between."""
UNLISTED = "FAILED: the registry could not be read; nothing was listed"
"""The contract's sentence."""
COMMANDS = ("sot-tui join", "sot-tui status", "sot-tui send")
"""Design: an empty folder shows the three commands that fill it."""

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def stamp(at: float) -> str:
    return datetime.fromtimestamp(math.floor(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: object) -> float | None:
    if not isinstance(text, str) or not _STAMP.fullmatch(text):
        return None
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


def age(since: float | None, now: float) -> str:
    """Return an age in one unit, the largest that fits."""
    if since is None:
        return "–"
    left = max(0, int(now - since))
    sizes = ((86400, "d"), (3600, "h"), (60, "m"))
    return next((f"{left // size}{unit}" for size, unit in sizes if left >= size), f"{left}s")


def cut(text: str, cells: int) -> str:
    """Return a text as a column of so many cells shows it."""
    return text if len(text) <= cells else text[: cells - 1].rstrip() + "…"


def by_the_table(entry: dict[str, Any]) -> tuple[str, str]:
    """Return state and summary by the contract's table, first match first."""

    def text(name: str) -> str:
        value = entry.get(name)
        return value if isinstance(value, str) else ""

    have = {name for name in ("dialog", "question", "floor", "waiting", "done") if entry.get(name) not in (None, False)}
    if "dialog" in have:
        return "blocked", text("dialog")
    if "question" in have and "floor" not in have:
        return "blocked", text("question")
    if "floor" in have:
        return "working", text("note")
    if "waiting" in have:
        return "waiting", text("waiting")
    return ("done" if "done" in have else "idle"), text("note")


def cksum(data: bytes) -> int:
    """Return the checksum of the POSIX tool of this name: bit by bit, with the length behind the data."""
    length = len(data)
    tail = b""
    while length:
        tail += bytes([length & 0xFF])
        length >>= 8
    crc = 0
    for byte in data + tail:
        crc ^= byte << 24
        for _ in range(8):
            crc = ((crc << 1) ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return crc ^ 0xFFFFFFFF


@dataclass
class Mailbox:
    """One inbox and its cursor."""

    lines: list[bytes] = field(default_factory=list)
    """Whole lines, without their newlines."""
    torn: bytes = b""
    """What a dead writer left behind them."""
    shown: int = 0
    """Lines that the cursor has passed."""
    broken: bool = False
    """Something that is no file lies in its place."""
    waits: list[str] = field(default_factory=list)
    """The stamps of the messages that the person was listed and has not opened; a session has none."""

    def list_all(self, handle: str) -> None:
        """List every line to the person: the cursor passes them, and what is to the handle waits to be opened."""
        self.waits += self._to(handle)
        self.shown = len(self.lines)

    def unread(self, handle: str) -> tuple[int, str]:
        """Return how many lines count, and the stamp of the oldest: to the handle, from another, and not seen."""
        told = [*self.waits, *self._to(handle)]
        return len(told), told[0] if told else ""

    def _to(self, handle: str) -> list[str]:
        """Return the stamps of what lies past the cursor, to the handle, from another."""
        told: list[str] = []
        for line in self.lines[self.shown :]:
            try:
                frame = json.loads(line)
            except ValueError:
                continue
            if isinstance(frame, dict) and frame.get("to") == handle and frame.get("from") != handle:
                told.append(str(frame.get("ts", "")))
        return told

    def cursor(self, form: str) -> bytes:
        """Return the cursor in one of its forms."""
        if form == "count" or not self.shown:
            return b"%d\n" % self.shown
        line = self.lines[self.shown - 1].replace(b"\0", b"")
        return b"%d %d-%d\n" % (self.shown, cksum(line), len(line))


class Lock(NamedTuple):
    """The registry lock."""

    record: str
    taken_at: float
    """By the wall clock of the file."""
    taken_mono: float
    dead: bool = False
    """This box can prove its holder dead."""


class Line(NamedTuple):
    """What one line must say."""

    handle: str
    state: str
    word: str
    summary: str | None
    """None where the design does not say it."""
    only_begins: bool
    """More may stand behind the summary."""
    mail: str
    age: str
    host: str


@dataclass
class World:
    """Everything there is to show."""

    now: float
    mono: float
    host: str
    operator: str
    entries: dict[str, Any] = field(default_factory=dict)
    """Of the last registry that could be read."""
    readable: bool = True
    boxes: dict[str, Mailbox] = field(default_factory=dict)
    counted: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The last good counts of those who are listed."""
    lock: Lock | None = None
    aside: dict[str, tuple[object, ...]] = field(default_factory=dict)
    selected: str | None = None

    def box(self, handle: str) -> Mailbox:
        return self.boxes.setdefault(handle, Mailbox())

    def count(self) -> None:
        """Count every inbox that can be read; who is not listed has no count."""
        self.counted = {handle: self._count(handle) for handle in self.entries}

    def _count(self, handle: str) -> tuple[int, str]:
        box = self.box(handle)
        return self.counted.get(handle, (0, "")) if box.broken else box.unread(handle)

    # -- one handle --------------------------------------------------------------------------------------------------

    def said(self, handle: str) -> tuple[str, str]:
        """Return the state and summary that an entry says; `no signal` for one that says nothing."""
        entry = self.entries[handle]
        if not isinstance(entry, dict):
            return "no signal", ""
        if entry.get("state") in ("blocked", "done", "working", "waiting", "idle"):
            summary = entry.get("summary")
            return entry["state"], summary if isinstance(summary, str) else ""
        facts = ("floor", "dialog", "question", "waiting", "done")
        if all(entry.get(name) in (None, False) for name in facts):
            return "no signal", ""
        return by_the_table(entry)

    def value(self, handle: str, name: str) -> object:
        entry = self.entries[handle]
        return entry.get(name) if isinstance(entry, dict) else None

    def since(self, handle: str, name: str) -> float | None:
        return moment(self.value(handle, name))

    def is_live(self, handle: str) -> bool:
        seen = self.since(handle, "last_seen")
        return seen is not None and math.floor(self.now) - seen < LIVE_SECS

    def is_here(self, handle: str) -> bool:
        host = self.value(handle, "host")
        return isinstance(host, str) and host.lower() == self.host.lower()

    def is_done(self, handle: str) -> bool:
        """Tell whether the fact `done` is set: what a view of it here clears."""
        return self.value(handle, "done") not in (None, False)

    def line(self, handle: str) -> Line:
        unread, oldest = self.counted.get(handle, (0, ""))
        mail = "!" if self.box(handle).broken else str(unread) if unread else "·"
        host = self.value(handle, "host")
        host = host if isinstance(host, str) and host else "–"
        state, summary = self.said(handle)

        def shown(state: str, word: str, summary: str | None, since: float | None, *, begins: bool = False) -> Line:
            return Line(handle, state, word, summary, begins, mail, age(since, self.now), host)

        if handle == self.operator:
            words = f"{unread} message{'s' if unread > 1 else ''} for you" if unread else None
            return shown("you", "you", words, moment(oldest))
        if not isinstance(self.entries[handle], dict):
            return shown("no signal", "no signal", None, None)
        if not self.is_live(handle):
            seen = self.since(handle, "last_seen")
            words = "never seen" if seen is None else f"last seen {age(seen, self.now)} ago"
            words = f"{unread} unread, x removes it · {words}" if unread else words
            return shown("stale", "stale", words, seen, begins=True)
        since = self.since(handle, "status_at")
        if state == "no signal":
            return shown(state, state, None, self.since(handle, "joined"))
        if state == "working" and (since is None or self.now - since >= DOUBT_SECS):
            return shown(state, "working?", summary, since)
        if state == "done" and not self.is_here(handle):
            return shown(state, state, "done, its box clears it", since, begins=True)
        return shown(state, state, summary, since)

    # -- who needs the person ----------------------------------------------------------------------------------------

    def facts_of_need(self, handle: str) -> tuple[object, ...]:
        """Return what a need is set aside by: it is one again when any of it is another."""
        state = self.said(handle)[0]
        at = self.value(handle, "status_at")
        recorded = "" if state == "no signal" else state
        return (recorded, at if isinstance(at, str) else "", *self.counted.get(handle, (0, "")))

    def is_aside(self, handle: str) -> bool:
        """Tell whether the person set aside what a handle says now."""
        return self.aside.get(handle) == self.facts_of_need(handle)

    def need_of(self, handle: str) -> tuple[float, str] | None:
        """Return since when a handle needs the person, whatever was set aside, with the handle; else None."""
        state, _ = self.said(handle)
        unread, oldest = self.counted.get(handle, (0, ""))
        since: float | None
        if handle == self.operator:
            if not unread:
                return None
            since = moment(oldest)
        elif state == "blocked" or (state == "done" and self.is_done(handle) and self.is_here(handle)):
            since = self.since(handle, "status_at")
        elif unread and not self.is_live(handle):
            since = self.since(handle, "last_seen")
        else:
            return None
        return (since or 0.0, handle)

    def needs(self) -> list[str]:
        """Return who needs the person, oldest first; an unknown age may be any."""
        found = []
        for handle in self.entries:
            needed = self.need_of(handle)
            if needed is not None and not self.is_aside(handle):
                found.append(needed)
        return [handle for _, handle in sorted(found)]

    def order(self) -> list[str]:
        needs = self.needs()
        rest = [handle for handle in self.entries if handle not in needs]
        rest.sort(key=lambda handle: (RANKS.index(self.line(handle).state), handle.lower(), handle))
        return needs + rest

    def by_state(self) -> dict[str, int]:
        states = [self.line(handle).state for handle in self.entries]
        return {state: states.count(state) for state in RANKS}

    # -- the lock ----------------------------------------------------------------------------------------------------

    def held_s(self) -> float:
        """Return for how long the lock is held, by its file or by the clock that never steps."""
        if self.lock is None:
            return 0.0
        return max(0.0, self.now - self.lock.taken_at, self.mono - self.lock.taken_mono)

    def is_wedged(self) -> bool:
        return self.lock is not None and self.held_s() >= WEDGED_SECS

    def needs_told(self) -> int:
        """Return the number of the header: everybody who needs the person, and a wedged lock."""
        return len(self.needs()) + self.is_wedged()
