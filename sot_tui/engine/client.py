"""What a screen knows of the engine: the newest fleet, a notice that it changed, and commands with their outcomes.

Everything that crosses here is a frozen value, so that the same screens can be served by an engine in another process.
A notice carries no payload: whoever cares reads `fleet`, the newest there is. An outcome that can happen on a good day
(a refused send, a busy inbox, a lock that another writer cleared) is a value; its sentence is the contract's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from sot_tui.comm.fleet import LockState

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.comm.fleet import Fleet

T = TypeVar("T")


class Command(Generic[T]):
    """Something a person asked for; the parameter is the outcome it has."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a command, in one sentence; an empty one has nothing to tell."""

    good: bool
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class ClearDone(Command[Outcome]):
    """A person viewed this line: clear its `done`, if it is an entry of this box (daemon wire, viewing)."""

    handle: str


@dataclass(frozen=True, slots=True)
class Send(Command[Outcome]):
    """Send a message as the operator; the sentence is the one result line."""

    to: str
    text: str


class Kind(Enum):
    """How a line of an inbox stands to its handle (contract, Message frame)."""

    DIRECTED = "to you"
    BROADCAST = "to all"
    OTHER = "not counted"
    """To another handle, to nobody, or from the handle itself: shown, never counted."""
    UNPARSED = "no message"
    """A line that is no strict JSON object."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One whole line of an inbox. All of its text is foreign."""

    line: int
    """Its number in the inbox, from 1."""
    kind: Kind
    sender: str
    to: str
    repo: str
    text: str
    at: str
    """The stamp its sender wrote."""
    read: bool
    """Whether the reader's cursor had passed it when it was looked at."""


@dataclass(frozen=True, slots=True)
class Page:
    """The newest lines of one inbox, oldest first."""

    handle: str
    letters: tuple[Letter, ...] = ()
    total: int = 0
    """Whole lines in the inbox."""
    batch: int = 0
    """Names the batch that a poll read, for `Listed`; 0 when this was a peek or there was nothing new."""
    notes: tuple[str, ...] = ()
    """What the reader must be told: a stepped-back cursor, a lock fault."""
    busy: bool = False
    """The inbox is being written: try again, nothing was skipped."""
    fault: str = ""
    """Why nothing could be read; empty when something was."""


@dataclass(frozen=True, slots=True)
class OpenMail(Command[Page]):
    """Read an inbox. A peek moves no cursor; a poll, which only the operator's own inbox gets, names its batch."""

    handle: str
    newest: int = 500
    poll: bool = False


@dataclass(frozen=True, slots=True)
class Listed(Command[Outcome]):
    """The whole batch of a poll stands on the screen: write the cursor, from the batch's own bytes."""

    batch: int


@dataclass(frozen=True, slots=True)
class LookAtLock(Command[LockState]):
    """Look at the registry lock now; takes nothing."""


@dataclass(frozen=True, slots=True)
class RestWrites(Command[Outcome]):
    """Let the engine's own registry writes rest, or go on: a recover dialog is open, or closed.

    Every writer reclaims a dead holder's lock by itself, the engine's stamp included; it should not race the person.
    """

    rest: bool


ANOTHER_WRITER = "another writer cleared it"
"""What a person is told when the lock no longer names the holder that was looked at."""


class Recovery(Enum):
    """What came of a recover."""

    CLEARED = "cleared"
    ANOTHER = ANOTHER_WRITER
    """The lock named someone else, or nobody, by the time the key was pressed or the settle was over."""
    REFUSED = "refused"
    """Not proved dead, or it could not be cleared: the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """The outcome of `Recover`, in one line."""

    what: Recovery
    sentence: str


@dataclass(frozen=True, slots=True)
class Recover(Command[Recovered]):
    """Prove again that the holder is dead, and take the contract's reclaim path."""

    record: str
    """The record that the dialog shows; a lock that names another is left alone."""


class Client(Protocol):
    """One engine, from the side of a screen."""

    @property
    def fleet(self) -> Fleet:
        """Return the newest fleet."""
        ...

    def now(self) -> float:
        """Return the moment that ages are taken against."""
        ...

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called after each visible change; return what ends that."""
        ...

    async def do(self, command: Command[T]) -> T:
        """Carry out a command and return its outcome."""
        ...
