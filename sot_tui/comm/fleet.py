"""The fleet: one frozen value of everything the registry, the inboxes and the registry lock say, and what follows.

`derive`, `needs_you` and `explain` are the only answers to "what state is it in, does it need me, and why": nav,
header, jump key, detail, title and every `--json` call them; `filtered` is the one answer to a person's filter. All of
it is pure: the moment is an argument. Contract, registry.json: work state comes from an entry's facts, liveness from
`last_seen` alone. Nothing here ever falls through to idle: an entry that says nothing is `no signal`, and a handle that
is not live is `stale` whatever it last said.
"""

from __future__ import annotations

import time
from enum import Enum
from types import MappingProxyType

from sot_tui.comm import facts
from sot_tui.comm.clock import CLOCK_SLACK_SECS, age_text, seconds_of
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.registry import LIVE_SECS, is_live_stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

DOUBT_SECS = 300
"""Seconds after which a `working` is doubted when the settings name no others; a running turn's heartbeat stamps about
once a minute."""
WEDGED_SECS = 2.0
"""Seconds past which a held registry lock is worth a person's glance (product, Locks)."""

UNLISTED = "FAILED: the registry could not be read; nothing was listed"
"""What an unreadable registry is answered with (contract, "Unreadable is never absent")."""
MADE_ANEW = "nothing is to be done by hand: the next join makes it anew"
"""What helps against a registry that is not there."""
BY_HAND = "fixed by hand: move {path} aside; the next comm command creates an empty one"
"""The contract's way out of a registry that stays unreadable; nothing repairs it."""
OTHER_BOX = "done, its box clears it"
"""What a finished handle of another box says here (product, The nav)."""

_TIMES = "%H:%M:%S"
_FILTER_FIELDS = frozenset({"state", "host"})


class State(Enum):
    """What a line of the nav says; the value is the word shown."""

    BLOCKED = "blocked"
    """A dialog or a question waits on a person."""
    DONE = "done"
    """A turn that a user started has ended, and nobody has viewed it."""
    WORKING = "working"
    """A turn runs."""
    WAITING = "waiting"
    """The session waits on something that is no person."""
    IDLE = "idle"
    """The session said, or its facts say, that nothing is going on."""
    SILENT = "no signal"
    """The entry holds no evidence of any state."""
    YOU = "you"
    """The person's own handle: no session, no work state."""
    ENDED = "ended"
    """The run of a row that no session has joined from is over; the row stays."""
    STALE = "stale"
    """No stamp within the ten minutes: whoever sends to it is refused."""


_RECORDED = {state.value: state for state in (State.BLOCKED, State.DONE, State.WORKING, State.WAITING, State.IDLE)}
_RANK = {
    State.BLOCKED: 1,
    State.WORKING: 2,
    State.WAITING: 3,
    State.DONE: 4,
    State.IDLE: 5,
    State.SILENT: 6,
    State.YOU: 7,
    State.ENDED: 8,
    State.STALE: 9,
}
_OVER = {"stopped": "it is not running", "ended_no_respawn": "its run has ended", "terminal": "it was given up"}
"""The phases of a row that does not run, and the words for them."""
_ROW_KEY = "row:"
"""What the key of a line begins with that is no handle's: no handle holds a colon."""


_TITLED = (State.WORKING, State.DONE, State.STALE)
"""What the title of a window counts beside the needs."""


class Agent(NamedTuple):
    """One entry of the registry, as far as a person is shown it. Every text in it is foreign."""

    handle: str
    host: str = ""
    """The declared host of the box it runs on; empty when the entry names none."""
    workspace_id: str = ""
    """The row that holds it; empty outside any row."""
    repo: str = ""
    root: str = ""
    expertise: tuple[str, ...] = ()
    """What it says it can be asked about."""
    status: str = ""
    """The lifecycle word, `idle` or `spawning`."""
    state: State | None = None
    """The recorded work state, else what the facts derive to; None when the entry holds neither."""
    summary: str = ""
    fact: str = ""
    """Which fact made the state: `dialog`, `question`, `floor`, `waiting`, `done`, or empty."""
    by: str = ""
    """Who started the running turn, `user` or `machine`; empty when none runs."""
    done: bool = False
    """Whether the fact `done` is set, whatever the state says."""
    joined: str = ""
    last_seen: str = ""
    status_at: str = ""
    malformed: bool = False
    """The registry holds something under this handle that is no object."""
    label: str = ""
    """The label of a row that no entry stands for; empty for a handle."""


class RowSeen(NamedTuple):
    """One row that the daemon of this box runs, as far as a person is shown it."""

    id: str
    slug: str
    label: str
    root: str
    agent: str
    """`claude`, `codex`, `none`, or the name of the command it runs."""
    phase: str
    """The wire's word for where its run stands (daemon wire 4.3)."""
    handle: str = ""
    """The handle it has; empty when it has none."""
    ended: str = ""
    """How its last run ended; empty while it runs."""
    error: str = ""
    """Why its last start failed."""


class MailCount(Enum):
    """How far a count of unread mail can be trusted."""

    UNKNOWN = "not counted yet"
    COUNTED = "counted"
    BUSY = "the inbox is being written"
    FAULT = "could not be counted"


class Mail(NamedTuple):
    """What one inbox holds for its handle."""

    trust: MailCount = MailCount.UNKNOWN
    unread: int = 0
    """Lines past the cursor that are addressed to the handle by someone else; the last good number when not COUNTED."""
    oldest: str = ""
    """The stamp of the oldest unread line, as its sender wrote it; empty when none or unknown."""
    words: str = ""
    """Why it could not be counted; empty otherwise."""
    total: int = 0
    """Whole lines in the inbox, whomever they are to; the last good number when not COUNTED."""
    waiting: int = 0
    """Messages to the person that a poll has listed and nobody has opened; 0 for every other handle."""
    waiting_since: str = ""
    """The stamp of the oldest of them."""

    @property
    def for_person(self) -> int:
        """Return how many messages its owner has not seen: a listed one counts until it is opened."""
        return self.unread + self.waiting

    @property
    def first(self) -> str:
        """Return the stamp of the oldest of them: what was listed lies before what was not."""
        return self.waiting_since or self.oldest


class Reading(Enum):
    """What came of the last look at the registry."""

    NOT_YET = "not read yet"
    PRESENT = "read"
    UNREADABLE = "unreadable"


class RegistryState(NamedTuple):
    """How the registry itself is."""

    reading: Reading = Reading.NOT_YET
    read_at: float | None = None
    """When it was last read well; the agents of the fleet are of that moment."""
    missing: bool = False
    why: str = ""
    """What was wrong with it; empty while it is read."""
    version: object = None
    """The protocol_version it names; None when it names none."""
    no_home: bool = False
    """Whether there is no comm home at all."""


class LockPhase(Enum):
    """What stands at the registry lock's path."""

    UNKNOWN = "not looked at yet"
    FREE = "free"
    HELD = "held"
    """A record that names a holder."""
    OLDER_VERSION = "held by an older version"
    UNPARSABLE = "a record that names no holder"
    UNREADABLE = "could not be read"


class LockState(NamedTuple):
    """The registry lock as the last look found it; a look takes nothing and writes nothing."""

    phase: LockPhase = LockPhase.UNKNOWN
    record: str = ""
    """The record as it stands in the file, one line."""
    holder: str = ""
    """`<host> pid <pid> start <tick>`; empty when no record names one."""
    age_s: float = 0.0
    """Seconds it had been held at `looked_at`, by its file or by our own looks, whichever says more."""
    dead: bool = False
    """Whether this box proves the holder dead: the only lock that Recover is offered for."""
    verdict: str = ""
    """The proof in words."""
    recovery: str = ""
    """The next step, word for word as the FAILED line gives it; empty when the lock is free."""
    looks: int = 0
    """In how many looks, one after the other, this very record was found."""
    first_mono: float = 0.0
    """The monotonic moment of the first of them."""
    looked_at: float = 0.0

    def held_s(self, now: float) -> float:
        """Return for how many seconds it is held at `now`."""
        return max(self.age_s, self.age_s + now - self.looked_at)

    @property
    def grip(self) -> str:
        """Say in a word how it stands: what could not be looked at is not known to be held."""
        return "unreadable" if self.phase is LockPhase.UNREADABLE else "held"

    @property
    def wedged(self) -> bool:
        """Tell whether it is held past two seconds, seen by two looks: one alone may meet a write of a moment."""
        return self.phase not in {LockPhase.UNKNOWN, LockPhase.FREE} and self.looks > 1 and self.age_s >= WEDGED_SECS


def looked(was: LockState, seen: LockState, mono: float) -> LockState:
    """Return the lock after one more look, at the monotonic moment `mono`, that found `seen`."""
    if seen.phase is LockPhase.FREE:
        return seen
    if (seen.phase, seen.record) != (was.phase, was.record):
        return seen._replace(looks=1, first_mono=mono)
    # A file's age is by the file server's clock; that we have seen it for so long is by our own.
    age = max(seen.age_s, mono - was.first_mono)
    return seen._replace(looks=was.looks + 1, first_mono=was.first_mono, age_s=age)


class Fault(NamedTuple):
    """A duty of the engine that does not do its work now."""

    duty: str
    sentence: str
    since: float


class Aside(NamedTuple):
    """What a need was when the person set it aside; while all of it is still so, it needs nobody."""

    state: str = ""
    """The recorded work state; empty when the entry names none."""
    status_at: str = ""
    unread: int = 0
    oldest: str = ""
    """The stamp of the oldest unread message: as many new ones are not the same need."""


class Unwoken(NamedTuple):
    """Why a handle's row is not woken, and since when."""

    reason: str
    since: float
    """Seconds since the epoch."""


class Stance(Enum):
    """Whether the engine behind a fleet writes."""

    HOST = "host"
    """It runs the duties: it stamps the operator, polls, files, clears."""
    VIEWER = "viewer"
    """Another dashboard runs the duties; this one only looks, and takes them over when that one ends."""
    READ_ONLY = "read-only"
    """It only looks, and goes on doing so."""


class Fleet(NamedTuple):
    """Everything the screens show, at one revision. Nobody changes one: `engine.fold` makes the next."""

    home: str = ""
    """Path of the comm home."""
    host: str = ""
    """The declared host of this box."""
    operator: str = ""
    """The person's own handle; empty when they have none."""
    revision: int = 0
    agents: Mapping[str, Agent] = MappingProxyType({})
    """Every entry of the last registry that was read well, in the order of their handles."""
    mail: Mapping[str, Mail] = MappingProxyType({})
    registry: RegistryState = RegistryState()
    lock: LockState = LockState()
    faults: tuple[Fault, ...] = ()
    live_secs: float = LIVE_SECS
    doubt_secs: float = DOUBT_SECS
    aside: Mapping[str, Aside] = MappingProxyType({})
    """What the person set aside, by handle; a mark counts only while the handle's facts are still the same."""
    stance: Stance = Stance.HOST
    stance_why: str = ""
    """Why nothing is written from here, in one sentence; empty for the host."""
    events: int = 0
    """How many lines the event log has had."""
    rows: Mapping[str, RowSeen] = MappingProxyType({})
    """The rows that the daemon of this box runs, by their ids, in the order of their slugs."""
    unwoken: Mapping[str, Unwoken] = MappingProxyType({})
    """Why the rows with unread mail are not woken, by handle."""
    evidence: Mapping[str, str] = MappingProxyType({})
    """What the screens say of rows whose entries say nothing, by handle; no fact is made of it."""

    def mail_of(self, handle: str) -> Mail:
        """Return what is known of a handle's mail."""
        return self.mail.get(handle, _NO_MAIL)


_NO_MAIL = Mail()


class Shown(NamedTuple):
    """What one line of the nav says."""

    state: State
    word: str
    summary: str
    since: float | None
    """The moment its age counts from; None when the entry names none."""
    doubtful: bool = False
    """Shown dimmed: what was said is old."""


class Why(Enum):
    """What makes a line, or the fleet, need a person."""

    BLOCKED = "it waits on a person"
    DONE = "it is done and nobody has viewed it"
    MAIL = "there is mail for you"
    DEAF = "it is stale and has unread mail"
    WEDGED = "the registry lock is held"
    UNREADABLE = "the registry lock could not be read"


class Need(NamedTuple):
    """One thing that needs the person."""

    handle: str
    """Empty for the registry lock."""
    why: Why
    since: float | None


class Counts(NamedTuple):
    """The numbers of the header."""

    needs: int
    by_state: Mapping[State, int]
    mail: int
    """Mail for the operator that they have not opened."""
    doubted: int = 0
    """How many of the working ones are doubted: nothing was heard of them for long."""


class Reason(NamedTuple):
    """One line of the detail: a label, and what is known under it."""

    label: str
    text: str


def agent(handle: str, entry: object) -> Agent:
    """Return the agent that a registry entry describes; what has the wrong type in it counts as not said."""
    if not isinstance(entry, dict):
        return Agent(handle, malformed=True)
    recorded = _RECORDED.get(_text(entry, "state"))
    told = [name for name in facts.FACTS if name != "note" and entry.get(name) is not None and entry[name] is not False]
    summary = _text(entry, "summary")
    if recorded is None and told:
        derived = facts.derive(entry)
        recorded, summary = _RECORDED[derived.state], derived.summary
    return Agent(
        handle,
        host=_text(entry, "host"),
        workspace_id=_text(entry, "workspace_id"),
        repo=_text(entry, "repo"),
        root=_text(entry, "root"),
        expertise=_texts(entry, "expertise"),
        status=_text(entry, "status"),
        state=recorded,
        summary=summary,
        fact=_fact(recorded, told),
        by=_text(entry, "floor"),
        done="done" in told,
        joined=_text(entry, "joined"),
        last_seen=_text(entry, "last_seen"),
        status_at=_text(entry, "status_at"),
    )


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _texts(entry: dict[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _fact(state: State | None, told: list[str]) -> str:
    made_by = {
        State.BLOCKED: ("dialog", "question"),
        State.WORKING: ("floor",),
        State.WAITING: ("waiting",),
        State.DONE: ("done",),
    }
    return next((name for name in made_by.get(state, ()) if name in told), "") if state else ""


def called(one: Agent) -> str:
    """Return the name that a line shows: the handle, else the label of its row."""
    return one.label or one.handle


def row_of(fleet: Fleet, one: Agent) -> RowSeen | None:
    """Return the row of this box that a line stands for; None when it has none here.

    An entry's `workspace_id` says which; one that names none is a row's when it bears the row's handle.
    """
    if not is_here(fleet, one):
        return None
    if one.workspace_id:
        return fleet.rows.get(one.workspace_id)
    return next((row for row in fleet.rows.values() if row.handle == one.handle), None) if one.handle else None


def line_of(fleet: Fleet, key: str) -> Agent | None:
    """Return what a line of the nav stands for, by its key: an entry, or a row that has none; None when it is gone."""
    one = fleet.agents.get(key)
    if one is not None or not key.startswith(_ROW_KEY):
        return one
    row = fleet.rows.get(key.removeprefix(_ROW_KEY))
    return None if row is None or _has_entry(fleet, row, _bound_rows(fleet)) else _row_line(fleet, row)


def lines(fleet: Fleet) -> tuple[Agent, ...]:
    """Return everything that has a line in the nav: each handle of the registry, each row of this box without one."""
    bound = _bound_rows(fleet) if fleet.rows else set()
    rows = (row for row in fleet.rows.values() if not _has_entry(fleet, row, bound))
    return (*fleet.agents.values(), *(_row_line(fleet, row) for row in rows))


def row_key(row: str) -> str:
    """Return the key of the line of a row that has no entry."""
    return f"{_ROW_KEY}{row}"


def joined_as(fleet: Fleet, row: str, now: float) -> str:
    """Return the handle as which a session has joined in a row and is live; "" while none has.

    An entry that is only announced (`spawning`) is no session yet, however often its daemon stamps it.
    """
    for one in fleet.agents.values():
        if one.workspace_id == row and one.status != "spawning" and is_here(fleet, one) and is_live(fleet, one, now):
            return one.handle
    return ""


def _bound_rows(fleet: Fleet) -> set[str]:
    """Return the rows that an entry of this box names."""
    return {one.workspace_id for one in fleet.agents.values() if one.workspace_id and is_here(fleet, one)}


def _has_entry(fleet: Fleet, row: RowSeen, bound: set[str]) -> bool:
    """Tell whether an entry stands for a row: one that names it, or an unbound one that bears its handle."""
    own = fleet.agents.get(row.handle) if row.handle else None
    return row.id in bound or (own is not None and is_here(fleet, own) and not own.workspace_id)


def _row_line(fleet: Fleet, row: RowSeen) -> Agent:
    return Agent(row_key(row.id), fleet.host, row.id, root=row.root, label=row.label or row.slug)


def program_of(row: RowSeen | None) -> str:
    """Return what runs in a row, for a person: `claude`, `codex`, `shell`, or the name of its command."""
    return "" if row is None else "shell" if row.agent == "none" else row.agent


def kind_of(row: RowSeen | None) -> str:
    """Return what kind of thing runs in a row: an agent, a shell, or a command of the person's."""
    program = program_of(row)
    return "shell" if program == "shell" else "agent" if program in {"", "claude", "codex"} else "command"


def end_of(row: RowSeen | None) -> str:
    """Return how a row's run came to its end, "" when it is not known to have."""
    if row is None or row.phase not in _OVER:
        return ""
    why = row.error or row.ended
    return f"{_OVER[row.phase]}: {why}" if why else _OVER[row.phase]


def is_live(fleet: Fleet, one: Agent, now: float) -> bool:
    """Tell whether a handle is live at `now`, by the contract's one rule."""
    return is_live_stamp(one.last_seen, now, fleet.live_secs)


def is_here(fleet: Fleet, one: Agent) -> bool:
    """Tell whether it runs on this box, so that a view of it here clears its `done`."""
    return one.host.lower() == fleet.host.lower()


def is_row_elsewhere(fleet: Fleet, one: Agent) -> bool:
    """Tell whether a handle is of a row that another box runs, which can be asked what it shows."""
    return bool(one.workspace_id) and not is_here(fleet, one)


def clears_elsewhere(fleet: Fleet, handle: str) -> bool:
    """Tell whether the `done` of a handle is for another box to clear."""
    one = fleet.agents.get(handle)
    return one is not None and one.done and not is_here(fleet, one)


def state_of(fleet: Fleet, one: Agent, now: float) -> State:
    """Return the state of an agent at `now`, which its line, the counts and the order go by."""
    if one.handle == fleet.operator:
        return State.YOU
    if one.malformed:
        return State.SILENT
    if one.label:
        return State.ENDED if end_of(row_of(fleet, one)) else State.SILENT
    if not is_live(fleet, one, now):
        return State.STALE
    return one.state or State.SILENT


def derive(fleet: Fleet, one: Agent, now: float) -> Shown:
    """Return what the line of an agent says at `now`; that its row's run is over stands before all it said."""
    shown = _derived(fleet, one, now)
    end = end_of(row_of(fleet, one))
    if not end or one.label:
        return shown
    return shown._replace(summary=f"{end} · {shown.summary}" if shown.summary else end, doubtful=True)


def _derived(fleet: Fleet, one: Agent, now: float) -> Shown:
    state = state_of(fleet, one, now)
    if state is State.YOU:
        return _your_line(fleet, one)
    if one.malformed:
        return Shown(State.SILENT, State.SILENT.value, "its registry entry is no object", None, doubtful=True)
    if one.label:
        return _unjoined(row_of(fleet, one), state)
    if state is State.STALE:
        return _stale(fleet, one, now)
    since = seconds_of(one.status_at)
    if one.state is None:
        said = "spawning" if one.status == "spawning" else "no hook has spoken since it joined"
        return Shown(State.SILENT, State.SILENT.value, said, seconds_of(one.joined), doubtful=True)
    if one.state is State.WORKING and _is_doubted(fleet, one, now):
        return Shown(one.state, "working?", one.summary, since, doubtful=True)
    if one.state is State.DONE and not is_here(fleet, one):
        said = f"{OTHER_BOX} · {one.summary}" if one.summary else OTHER_BOX
        return Shown(one.state, one.state.value, said, since, doubtful=True)
    return Shown(one.state, one.state.value, one.summary, since)


def _is_doubted(fleet: Fleet, one: Agent, now: float) -> bool:
    """Tell whether what a working one said is too old to be trusted."""
    at = seconds_of(one.status_at)
    return at is None or now - at >= fleet.doubt_secs


def _unjoined(row: RowSeen | None, state: State) -> Shown:
    """Return the line of a row without an entry: what it does is not known, so it is not shown as idle."""
    if state is State.ENDED:
        return Shown(state, state.value, end_of(row), None, doubtful=True)
    said = ["no session has joined"]
    if row is not None and row.phase != "ready":
        said = [row.phase, *([row.error] if row.error else []), *said]
    return Shown(state, state.value, " · ".join(said), None, doubtful=True)


def _your_line(fleet: Fleet, one: Agent) -> Shown:
    mail = fleet.mail_of(one.handle)
    if mail.for_person:
        said = f"{mail.for_person} message{'s' if mail.for_person > 1 else ''} for you"
        return Shown(State.YOU, State.YOU.value, said, seconds_of(mail.first))
    return Shown(State.YOU, State.YOU.value, "no new mail", None, doubtful=True)


def _stale(fleet: Fleet, one: Agent, now: float) -> Shown:
    seen = seconds_of(one.last_seen)
    words = [f"last seen {age_text(now - seen)} ago" if seen is not None else "never seen"]
    unread = fleet.mail_of(one.handle).unread
    if unread:
        words.insert(0, f"{unread} unread, x removes it")
    if one.state not in {None, State.IDLE}:
        words.append(f"was {_state_word(one)}{': ' + one.summary if one.summary else ''}")
    return Shown(State.STALE, State.STALE.value, " · ".join(words), seen, doubtful=True)


def _state_word(one: Agent) -> str:
    return one.state.value if one.state else State.SILENT.value


def need(fleet: Fleet, one: Agent, now: float) -> Need | None:
    """Return what makes one agent need the person at `now`, or None; what the person set aside is no need."""
    wanted = _unless_aside(fleet, one, now)
    return None if wanted is None or is_set_aside(fleet, one) else wanted


def aside_of(fleet: Fleet, one: Agent) -> Aside:
    """Return what setting this agent's need aside now would go by."""
    mail = fleet.mail_of(one.handle)
    return Aside(one.state.value if one.state else "", one.status_at, mail.for_person, mail.first)


def is_set_aside(fleet: Fleet, one: Agent) -> bool:
    """Tell whether the person set aside what this agent says now; any change of it ends that."""
    return fleet.aside.get(one.handle) == aside_of(fleet, one)


def _unless_aside(fleet: Fleet, one: Agent, now: float) -> Need | None:
    mail = fleet.mail_of(one.handle)
    if one.handle == fleet.operator:
        return Need(one.handle, Why.MAIL, seconds_of(mail.first)) if mail.for_person else None
    if one.state is State.BLOCKED:
        return Need(one.handle, Why.BLOCKED, seconds_of(one.status_at))
    if one.state is State.DONE and one.done and is_here(fleet, one):
        return Need(one.handle, Why.DONE, seconds_of(one.status_at))
    if mail.unread and not is_live(fleet, one, now):
        return Need(one.handle, Why.DEAF, seconds_of(one.last_seen))
    return None


def needs_you(fleet: Fleet, now: float) -> tuple[Need, ...]:
    """Return everything that needs the person at `now`, the registry lock first, then the oldest first."""
    found = [wanted for one in fleet.agents.values() if (wanted := need(fleet, one, now))]
    found.sort(key=_oldest_first)
    if fleet.lock.wedged:
        why = Why.UNREADABLE if fleet.lock.phase is LockPhase.UNREADABLE else Why.WEDGED
        found.insert(0, Need("", why, now - fleet.lock.held_s(now)))
    return tuple(found)


def _oldest_first(wanted: Need) -> tuple[float, str]:
    # An age that is not known may be any age, so it is not put behind the known ones.
    return (wanted.since if wanted.since is not None else 0.0, wanted.handle)


def order(fleet: Fleet, now: float) -> tuple[str, ...]:
    """Return the keys of the lines in the nav's order: what needs the person, oldest first, then by state and name."""
    needed = [wanted.handle for wanted in needs_you(fleet, now) if wanted.handle]
    there = set(needed)
    rest = [one for one in lines(fleet) if one.handle not in there]
    rest.sort(key=lambda one: (_RANK[state_of(fleet, one, now)], called(one).lower(), called(one), one.handle))
    return (*needed, *(one.handle for one in rest))


def counts(fleet: Fleet, now: float) -> Counts:
    """Return the numbers of the header at `now`."""
    by_state = dict.fromkeys(State, 0)
    doubted = 0
    for one in lines(fleet):
        state = state_of(fleet, one, now)
        by_state[state] += 1
        doubted += state is State.WORKING and _is_doubted(fleet, one, now)
    mail = fleet.mail_of(fleet.operator).for_person
    return Counts(len(needs_you(fleet, now)), MappingProxyType(by_state), mail, doubted)


def title(fleet: Fleet, now: float) -> str:
    """Return the counts for the title of a window: what a person sees of it among others."""
    name = f"sot {fleet.host}".rstrip()
    if fleet.registry.reading is Reading.NOT_YET:
        return name
    if fleet.registry.reading is Reading.UNREADABLE:
        return f"{name}: the registry cannot be read"
    found = counts(fleet, now)
    told = [f"{found.needs} need{'s' if found.needs == 1 else ''} you"] if found.needs else []
    for state in _TITLED:
        doubted = found.doubted if state is State.WORKING else 0
        sure = found.by_state[state] - doubted
        told += [f"{sure} {state.value}"] if sure else []
        told += [f"{doubted} {state.value}?"] if doubted else []
    return f"{name}: {', '.join(told) or 'nobody needs you'}"


class Term(NamedTuple):
    """One word of a filter."""

    field: str
    """`state`, `host`, or empty for a text that may stand anywhere."""
    text: str
    negated: bool = False


def terms(text: str, fields: frozenset[str] = _FILTER_FIELDS) -> tuple[Term, ...]:
    """Return the words of a filter: `state:blocked`, `host:box`, a plain text, and any of them behind a `!`."""
    found = []
    for word in text.casefold().split():
        bare = word.removeprefix("!")
        field, sign, value = bare.partition(":")
        known = bool(sign) and field in fields
        # A word that is still being typed (`!`, `state:`) hides nobody.
        if value if known else bare:
            found.append(Term(field if known else "", value if known else bare, word != bare))
    return tuple(found)


def no_fields(text: str, fields: frozenset[str] = _FILTER_FIELDS) -> str:
    """Return what a filter names as a field though it is none, in words that name the fields; "" for none.

    Such a word stands for itself, so whoever mistypes a field sees nobody and is not told why.
    """
    named = [word.removeprefix("!").partition(":") for word in text.casefold().split()]
    wrong = [f"{field}:" for field, sign, _ in named if sign and field.isalpha() and field not in fields]
    known = ", ".join(f"{field}:" for field in sorted(fields, reverse=True))
    return f"{wrong[0]} is no field; there is {known}" if wrong else ""


def filtered(fleet: Fleet, keys: Iterable[str], text: str, now: float) -> tuple[str, ...]:
    """Return those lines that every word of a filter lets through, in the order given."""
    wanted = terms(text)
    return tuple(
        key
        for key in keys
        if (one := line_of(fleet, key)) is not None
        and (not wanted or _lets_through(wanted, one, derive(fleet, one, now)))
    )


def _lets_through(wanted: tuple[Term, ...], one: Agent, shown: Shown) -> bool:
    return all(_fits(term, one, shown) is not term.negated for term in wanted)


def _fits(term: Term, one: Agent, shown: Shown) -> bool:
    if term.field == "host":
        return one.host.casefold().startswith(term.text)
    if term.field == "state":
        return any(word.startswith(term.text) for word in (shown.state.value, shown.word))
    return any(term.text in text.casefold() for text in (called(one), shown.word, shown.summary, one.host, one.repo))


def explain(fleet: Fleet, one: Agent, now: float) -> tuple[Reason, ...]:
    """Return why a line says what it says: which fact, from where, since when, and what else is known."""
    reasons = [Reason("why", _why(fleet, one, now))]
    wanted = _unless_aside(fleet, one, now)
    if wanted is not None and is_set_aside(fleet, one):
        reasons.append(Reason("set aside", f"by you, until something changes: {wanted.why.value}"))
    elif wanted is not None:
        reasons.append(Reason("needs you", wanted.why.value))
    if not one.label:
        reasons.append(Reason("live", _live(fleet, one, now)))
        reasons.append(Reason("mail", _mail(fleet.mail_of(one.handle))))
    if one.handle in fleet.unwoken:
        reasons.append(Reason("wake", _wake(fleet.unwoken[one.handle], now)))
    if one.workspace_id or row_of(fleet, one) is not None:
        reasons.append(Reason("row", _row(fleet, one)))
    reasons.append(Reason("root", one.root or "not said"))
    return tuple(reasons)


def _wake(why: Unwoken, now: float) -> str:
    return f"not woken: {why.reason}, for {age_text(max(0.0, now - why.since))}"


def _why(fleet: Fleet, one: Agent, now: float) -> str:
    if one.malformed:
        return "the registry holds something under this handle that is no object"
    if one.handle == fleet.operator:
        return "this is you: a handle without a session"
    if one.label:
        over = bool(end_of(row_of(fleet, one)))  # how it came to its end is what it says
        return "no session has joined in it" + ("" if over else ": what it does is not known")
    if one.state is None:
        shown = f"; its screen shows {fleet.evidence[one.handle]}" if one.handle in fleet.evidence else ""
        return f"no signal: its hooks are not installed, or no turn has run since it joined{shown}"
    said = {
        "dialog": "its agent shows a dialog",
        "question": "it asked a question",
        "floor": "a person started this turn" if one.by == facts.USER else "a machine started this turn",
        "waiting": "it said what it waits for",
        "done": "its turn ended with nothing pending",
    }.get(one.fact, f"its entry says {one.state.value}")
    at = seconds_of(one.status_at)
    when = f"{age_text(now - at)} ago (registry, {_clock(at)})" if at is not None else "at a time it does not name"
    if not is_live(fleet, one, now):
        return f"it was not seen for ten minutes or more; before that: {said}"
    tail = ""
    if one.state is State.WORKING and _is_doubted(fleet, one, now):
        tail = "; no heartbeat since, so it may have stopped"
    if one.state is State.DONE and not is_here(fleet, one):
        tail = f"; {OTHER_BOX}"
    return f"{said}, {when}{tail}"


def _row(fleet: Fleet, one: Agent) -> str:
    row = row_of(fleet, one)
    if row is None:
        return one.workspace_id
    handle = f"@{row.handle} is its handle" if one.label and row.handle else ""
    stands = () if end_of(row) else (row.phase, row.ended, row.error)  # of one that is over its line says it
    told = (row.id, f"'{row.label or row.slug}'", program_of(row), *stands, handle)
    return " · ".join(part for part in told if part)


def _clock(at: float) -> str:
    return time.strftime(_TIMES, time.localtime(at))


def _live(fleet: Fleet, one: Agent, now: float) -> str:
    seen = seconds_of(one.last_seen)
    if seen is None:
        return "no: it has no last_seen stamp, so a send to it fails"
    if seen - now > CLOCK_SLACK_SECS:
        by = age_text(seen - now)
        return f"yes, by a stamp {by} in the future: its clock or this one is wrong, so it seems live {by} too long"
    ago = f"{age_text(now - seen)} ago"
    if is_live(fleet, one, now):
        return f"yes, seen {ago}"
    return f"no: last seen {ago}, so a send to it fails"


def _mail(mail: Mail) -> str:
    if mail.trust is MailCount.COUNTED:
        told = f"{mail.unread} unread" if mail.unread else "nothing unread"
        return f"{told} · {mail.waiting} listed, not opened yet" if mail.waiting else told
    if mail.trust is MailCount.FAULT:
        return f"could not be counted: {mail.words}"
    return str(mail.trust.value)
