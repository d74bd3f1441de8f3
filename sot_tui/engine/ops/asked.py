"""What an op is given, what it may reach, and how it answers.

A refusal is a payload with `error` and `code`; success is told by keys of its own (daemon wire, success and failure are
told apart by keys). A payload that is not what it may be raises `BadPayload`, which the server answers as a
`handler_error`; unknown keys are passed over. No op touches a disk on the event loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sot_tui.comm.fleet import Fleet
    from sot_tui.comm.home import Home
    from sot_tui.comm.links import LinkStanding
    from sot_tui.engine.admission import Hello
    from sot_tui.engine.client import Client
    from sot_tui.engine.executors import InThread
    from sot_tui.engine.filer import Filer
    from sot_tui.engine.rows.row import Refused, Row, Wanted
    from sot_tui.engine.rows.values import Snapshot


class BadPayload(Exception):
    """A request's payload does not say what its op needs."""


class Reply(NamedTuple):
    """The answer to a request."""

    payload: Mapping[str, object]
    rev: int | None = None


def refused(code: str, sentence: str, **more: object) -> Reply:
    """Return a refusal."""
    return Reply({"error": sentence, "code": code, **more})


def refusal(said: Refused) -> Reply:
    """Return the refusal that the rows gave."""
    return refused(said.code, said.sentence, **dict(said.extra))


class Typed(Protocol):
    """Bytes were typed into a row."""

    @property
    def count(self) -> int:
        """Return how many."""

    @property
    def enter(self) -> str:
        """Return what became of Enter: `sent`, `not_sent` or `unknown`."""


class Rows(Protocol):
    """The rows of this box, as the ops need them."""

    @property
    def began(self) -> bool:
        """Tell whether every row was looked at once."""

    def listed(self) -> tuple[Row, ...]:
        """Return every row, in the order of their slugs."""

    def find(self, key: str) -> Row | None:
        """Return the row that an id or a slug names."""

    def handle_of(self, row: Row) -> str:
        """Return the handle a row has (daemon wire 3.7)."""

    def holder_of(self, handle: str) -> str:
        """Return the id of the row that holds a handle, "" when none does."""

    async def create(self, wanted: Wanted) -> Row | Refused:
        """Make a row and start its agent."""

    async def destroy(self, key: str) -> object | Refused:
        """End a row's run and remove the row."""

    async def declare(self, row_id: str, handle: str) -> Refused | None:
        """Give a handle to a row, and to no other."""

    async def viewed(self, key: str) -> str:
        """Clear the `done` of a row that a person looks at; return its id, "" when there is none."""

    async def resume(self, key: str) -> Row | Refused:
        """Start a row's agent again."""

    async def type(self, key: str, data: bytes, *, enter: bool) -> Typed | Refused:
        """Type bytes into a row, and Enter once its screen has come to rest."""

    async def screen(self, key: str) -> Snapshot | Refused:
        """Return what a row's terminal shows."""

    def listen(self, changed: Callable[[str, Row], None]) -> Callable[[], None]:
        """Have `changed` called with each action and its row; return what ends that."""


class Peer(Protocol):
    """One admitted connection."""

    hello: Hello
    pid: int
    """The process that connected, 0 where that is not known."""
    active: bool
    """A frontend has said that a person is at it."""
    sessions: Sequence[Mapping[str, str]]
    """What a frontend has said of its sessions."""
    wants_changes: bool
    """It is told of the next change of the fleet."""
    window: bool
    """It is a person's window: while it is there, so is the person."""
    given: Fleet
    """The fleet that it was last given whole, or made whole by what has changed since."""
    parts: dict[int, str]
    """What is left of answers that are fetched in parts, by their tickets."""
    rests: int
    """How many recover dialogs it has open, for which the engine's own writes rest."""


class Roster(Protocol):
    """Every admitted connection, and what is said to all of them."""

    revision: int
    """How many events there were."""

    def peers(self) -> Sequence[Peer]:
        """Return every admitted connection, the oldest first."""

    def gone(self) -> Sequence[tuple[str, float]]:
        """Return who was here, and for how many seconds no more."""

    def fleet_changed(self) -> None:
        """Tell who has asked for the fleet that there is a newer one."""

    def windows_changed(self) -> None:
        """Tell how many windows there are now."""

    def publish(self, op: str, payload: Mapping[str, object]) -> None:
        """Say an event to every connection."""

    async def links(self) -> LinkStanding:
        """Return how the links of this daemon stand."""


@dataclass(frozen=True, slots=True)
class Control:
    """What the ops of one daemon may reach."""

    home: Home
    environ: Mapping[str, str]
    host: str
    """The declared host."""
    version: str
    rows: Rows
    filer: Filer
    client: Client
    """The engine, as a screen knows it."""
    in_thread: InThread
    """Runs what blocks, each in a thread of its own."""
    roster: Roster
    begun: float
    """When this daemon began, on the clock that never steps."""
    no_person: Callable[[Home, int], str]
    """Returns why a process is not a person's; empty when it is."""
    own_window: str
    """The name of the window that hosts this daemon, which no connection stands for; empty where there is none."""
    noticed: Callable[[str], None]
    """Shows a notice in every window, this daemon's own among them."""


class Asked(NamedTuple):
    """One request."""

    op: str
    payload: Any
    peer: Peer

    def text(self, key: str, otherwise: str | None = None) -> str:
        """Return a text of the payload; without `otherwise` it has to be there."""
        return text_in(self.payload, key, otherwise)

    def switch(self, key: str, *, otherwise: bool = False) -> bool:
        """Return a yes or no of the payload."""
        return switch_in(self.payload, key, otherwise=otherwise)

    def record(self) -> dict[str, Any]:
        """Return the payload, which has to be an object."""
        return record_in(self.payload)


def record_in(payload: object) -> dict[str, Any]:
    """Return a payload, which has to be an object."""
    if not isinstance(payload, dict):
        raise BadPayload("it is no object")
    return payload


def text_in(payload: object, key: str, otherwise: str | None = None) -> str:
    """Return a text of a payload; without `otherwise` it has to be there."""
    return str(_field(payload, key, str, "a text", otherwise))


def switch_in(payload: object, key: str, *, otherwise: bool = False) -> bool:
    """Return a yes or no of a payload."""
    return bool(_field(payload, key, bool, "true or false", otherwise))


def _field(payload: object, key: str, kind: type[Any], what: str, otherwise: object) -> Any:
    value = record_in(payload).get(key)
    if value is None:
        value = otherwise
    if value is None:
        raise BadPayload(f"missing field `{key}`")
    if not isinstance(value, kind):
        raise BadPayload(f"`{key}` is not {what}")
    return value
