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
from sot_tui.engine.rows.values import (
    History as History,
    Key as Key,
    Mouse as Mouse,
    Snapshot as Snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sot_tui.comm.fleet import Fleet
    from sot_tui.comm.proc_locks import InboxLocks
    from sot_tui.comm.registry_lock import Markers
    from sot_tui.engine.rows.lane import LaneStatus as RowStatus
    from sot_tui.wake.cells import Cell as Cell
    from sot_tui.wake.terminal import Screen

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


class Known(Enum):
    """A fact about a message that may not be known; what is not known is never shown as a no."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Letter:
    """One whole line of an inbox: it is filed, or it would not be there. All of its text is foreign."""

    line: int
    """Its number in the inbox, from 1."""
    kind: Kind
    sender: str
    to: str
    repo: str
    text: str
    """Its beginning, at most `HEAD_CHARS` of it; `ReadLetter` brings more."""
    at: str
    """The stamp its sender wrote."""
    read: bool
    """Whether the reader's cursor had passed it when it was looked at."""
    inbox: str = ""
    """The handle whose inbox it lies in."""
    mark: str = ""
    """`<crc>-<len>` of its line: the same number in a new or cut-back inbox is another message."""
    chars: int = 0
    """Characters of the whole text."""
    opened: bool = False
    """Whether the person has opened it: a mark of our own, which no session sees."""
    rung: Known = Known.UNKNOWN
    """Whether a wake was typed for it."""

    @property
    def whole(self) -> bool:
        """Tell whether `text` is all of it."""
        return self.chars <= len(self.text)


HEAD_CHARS = 4000
"""Characters of a message that come with a page; most messages are shorter."""
BODY_CHARS = 100_000
"""Characters of a message that are brought to a screen at all; an editor gets it whole."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some lines of one inbox, oldest first."""

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
    waiting: tuple[int, ...] = ()
    """Lines of messages to the person that a poll has listed before and nobody has opened, oldest first."""


@dataclass(frozen=True, slots=True)
class OpenMail(Command[Page]):
    """Read an inbox. A peek moves no cursor; a poll, which only the operator's own inbox gets, names its batch."""

    handle: str
    newest: int = 500
    poll: bool = False
    before: int = 0
    """Peek at the lines before this one, instead of the newest of all."""


@dataclass(frozen=True, slots=True)
class Body:
    """The text of one message."""

    text: str = ""
    """At most `BODY_CHARS` of it."""
    chars: int = 0
    """Characters of the whole."""
    fault: str = ""
    """Why there is no text; empty when there is."""


@dataclass(frozen=True, slots=True)
class ReadLetter(Command[Body]):
    """Bring the text of a message of which only the beginning is known."""

    letter: Letter


@dataclass(frozen=True, slots=True)
class MarkOpened(Command[Outcome]):
    """The person has opened this message: our own mark, under the state root."""

    letter: Letter


@dataclass(frozen=True, slots=True)
class Spot:
    """How far a search has come: the inboxes that are left, the first of them up to a byte."""

    left: tuple[str, ...]
    end: int | None = None
    """Where the next look into the first inbox ends; None is its end."""
    seen: int = 0
    """Inboxes that were looked through."""
    hits: int = 0
    """Messages found in the first inbox so far."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a part of a search has found, newest first inside an inbox."""

    letters: tuple[Letter, ...] = ()
    next: Spot | None = None
    """Where the search goes on; None when every inbox was looked through."""
    notes: tuple[str, ...] = ()
    """Inboxes that could not be read, or that hold more than is shown."""


@dataclass(frozen=True, slots=True)
class Search(Command[Found]):
    """Look through a part of all inboxes; the same again with `Found.next` goes on. It moves nothing."""

    words: tuple[str, ...] = ()
    """Each of them stands somewhere in the message, its sender, receiver or project; case does not matter."""
    sender: str = ""
    """Only messages of this sender."""
    owner: str = ""
    """Only messages that lie in this handle's inbox, or that it sent."""
    spot: Spot | None = None


@dataclass(frozen=True, slots=True)
class Broadcast(Command["BroadcastDone"]):
    """Send a copy to every other handle, as the operator."""

    text: str
    only: tuple[str, ...] = ()
    """Those that an earlier try did not reach; empty means all."""


@dataclass(frozen=True, slots=True)
class BroadcastDone:
    """What came of a broadcast."""

    good: bool
    sentence: str
    """How many it reached, or why it was not tried."""
    failed: tuple[str, ...] = ()
    """The FAILED line of each handle that has no copy."""
    left: tuple[str, ...] = ()
    """Those handles, in the same order; sending again is for them."""
    reached: int = 0
    """How many have a copy now."""


@dataclass(frozen=True, slots=True)
class KeptDraft:
    """A message that is not filed yet, as it is kept under the state root."""

    slot: str
    """What it is the draft of; there is one for each."""
    to: str
    text: str
    about: str = ""
    """What it answers, in one line; empty when it answers nothing."""
    refused: str = ""
    """The result of the last try; empty when none was made."""
    to_all: bool = False
    """It is a broadcast."""
    left: tuple[str, ...] = ()
    """The handles that a broadcast has not reached; empty before the first try."""
    at: str = ""
    """When it was last changed, as a stamp."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """Every draft that is kept, the oldest first."""

    drafts: tuple[KeptDraft, ...] = ()
    faults: tuple[str, ...] = ()
    """What could not be read."""


@dataclass(frozen=True, slots=True)
class LoadDrafts(Command[Drafts]):
    """Bring the drafts that are kept."""


@dataclass(frozen=True, slots=True)
class KeepDraft(Command[Outcome]):
    """Keep a draft, in the place of the one of its slot."""

    draft: KeptDraft


@dataclass(frozen=True, slots=True)
class DropDraft(Command[Outcome]):
    """Remove the draft of a slot."""

    slot: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A private file that an editor is to be opened with."""

    path: str = ""
    fault: str = ""
    """Why there is none; empty when there is."""


@dataclass(frozen=True, slots=True)
class LayOut(Command[Sheet]):
    """Write a text, or the whole of a message, to a private file."""

    text: str = ""
    letter: Letter | None = None


@dataclass(frozen=True, slots=True)
class TakeUp(Command[Body]):
    """Read a sheet as the editor left it, and remove it."""

    sheet: Sheet


@dataclass(frozen=True, slots=True)
class Listed(Command[Outcome]):
    """The whole batch of a poll stands on the screen: write the cursor, from the batch's own bytes."""

    batch: int


@dataclass(frozen=True, slots=True)
class LookAtLock(Command[LockState]):
    """Look at the registry lock now; takes nothing."""


@dataclass(frozen=True, slots=True)
class Locks:
    """Every lock of the comm home, as one look found it."""

    registry: LockState
    markers: Markers
    inboxes: InboxLocks


@dataclass(frozen=True, slots=True)
class LookAtLocks(Command[Locks]):
    """Look at the registry lock, its reclaim markers and the inbox locks now; takes nothing."""


@dataclass(frozen=True, slots=True)
class SetAside(Command[Outcome]):
    """Set the need of a handle aside until something about it changes, or take that back."""

    handle: str
    aside: bool = True


@dataclass(frozen=True, slots=True)
class Leave(Command[Outcome]):
    """Remove the registry entry of a stale handle; the sentence is the leave verb's own."""

    handle: str


@dataclass(frozen=True, slots=True)
class RowDone:
    """What came of a wish for a row."""

    good: bool
    sentence: str
    row: str = ""
    """The id of the row that was made."""
    code: str = ""
    """What kind of refusal it was, as the wire calls it (daemon wire 3.8)."""


@dataclass(frozen=True, slots=True)
class CreateRow(Command[RowDone]):
    """Make a row for the project in a folder, and start its agent."""

    label: str
    """Empty: the repository's name."""
    root: str
    agent: str = "claude"
    """`claude`, `codex` or `none`: a shell, or `command`."""
    agent_name: str = ""
    """A handle to give it; empty: the derived one for an agent, none for what is no agent."""
    task: str = ""
    account: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EndRow(Command[Outcome]):
    """End a row's run, and keep the row or remove it."""

    row: str
    remove: bool


@dataclass(frozen=True, slots=True)
class ResumeRow(Command[Outcome]):
    """Start the agent of a row that is over again, in the conversation it had."""

    row: str


@dataclass(frozen=True, slots=True)
class Line:
    """A command line, for a person to read."""

    text: str
    fault: str = ""
    """Why it cannot be run; empty when it can."""


@dataclass(frozen=True, slots=True)
class ResumeLine(Command[Line]):
    """Bring the command that `ResumeRow` would run."""

    row: str


@dataclass(frozen=True, slots=True)
class Folders:
    """Folders that a person may mean."""

    names: tuple[str, ...] = ()
    """Those that begin with what was typed, whole paths in the order of their names; at most `FOLDERS_LIMIT`."""
    recent: tuple[str, ...] = ()
    """Projects of this box that sessions have joined from, the newest first, without those that have a row."""
    accounts: tuple[str, ...] = ()
    """The logins of this box that a row may have, `default` first."""
    fault: str = ""
    """Why there is no folder; empty when there is."""


@dataclass(frozen=True, slots=True)
class ListFolders(Command[Folders]):
    """Bring the folders whose path begins with what was typed, and the accounts; a `~` is the person's own folder."""

    prefix: str


FOLDERS_LIMIT = 50
"""Folders that are brought at once; who wants another one types on."""


@dataclass(frozen=True, slots=True)
class RowDialog:
    """The dialog that a row's agent shows."""

    lines: tuple[str, ...] = ()
    """What stands on its screen, without the box around it; empty when no dialog is known to be there."""
    keys: tuple[str, ...] = ()
    """The number keys of its options."""
    fault: str = ""
    """Why none is known; empty when there is one."""


@dataclass(frozen=True, slots=True)
class ReadDialog(Command[RowDialog]):
    """Read a row's screen, and bring the dialog on it."""

    row: str


@dataclass(frozen=True, slots=True)
class AnswerDialog(Command[Outcome]):
    """Press a number key in a row, if its screen still shows the very dialog that a person has seen."""

    row: str
    key: str
    """`1` to `9`."""
    seen: tuple[str, ...]
    """`RowDialog.lines` as they stood before the person."""


@dataclass(frozen=True, slots=True)
class FarScreen:
    """What the terminal of a row on another box shows, as that box's daemon says."""

    lines: tuple[str, ...] = ()
    """Its rows, as text. Foreign."""
    fault: str = ""
    """Why nothing is shown; empty when it was answered."""


@dataclass(frozen=True, slots=True)
class LookElsewhere(Command[FarScreen]):
    """Ask another box what the terminal of a handle's row shows."""

    handle: str
    viewed: bool
    """Whether a person has moved the view there, so that its box clears a done."""


class What(Enum):
    """What a line of the event log is about; the value is the word in the line."""

    ENGINE = "engine"
    """The engine itself: it began, it took the duties over, it only looks, it takes the hooks' pushes."""
    OPERATOR = "operator"
    """The person's own handle: joined, a stamp that failed."""
    REGISTRY = "registry"
    """The registry could not be read, or can again; an entry was removed."""
    LOCK = "lock"
    """A lock was seen wedged, came free, was reclaimed."""
    MAIL = "mail"
    """Mail that was filed from here, or was not."""
    DONE = "done"
    """A `done` was cleared, or was not."""
    ASIDE = "aside"
    """A need was set aside, or taken back."""
    ROW = "row"
    """A row was made, adopted, resumed, given up, has ended; its handle's stamp failed."""
    WAKE = "wake"
    """A row was woken, or was not for a minute; a dialog of a row was stamped."""
    WIRE = "wire"
    """The control socket: mail that could not be filed for a client, a client that was turned away or dropped."""
    PUSH = "push"
    """A push was sent, held back or not delivered, for a hook or by the engine itself."""
    UNPUSHED = "unpushed"
    """A hook's event was worth no push."""
    NOTICE = "notice"
    """Words for every window, which somebody had shown and which are nobody's mail (`relay send --all`)."""
    DUTY = "duty"
    """A duty failed, is tried again, works again; the watch began anew."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One line of the event log: something the engine did or decided. Its text may quote foreign text."""

    number: int
    """Its place in the log of this engine, from 1."""
    at: float
    what: What
    text: str
    good: bool = True
    """False when something failed or was refused."""


@dataclass(frozen=True, slots=True)
class Events:
    """A part of the event log, oldest first."""

    lines: tuple[Happening, ...]
    file: str = ""
    """Where each line also stands; empty where nothing is written."""


@dataclass(frozen=True, slots=True)
class ReadEvents(Command[Events]):
    """Bring the lines of the event log behind one of them, as far as they are still in memory; 0 brings all."""

    after: int = 0


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


class Viewer(Protocol):
    """A row's live terminal: what it shows, and what a person does at it. What is asked of one that is gone raises."""

    @property
    def has_ended(self) -> bool:
        """Tell whether the row said that its run is over."""
        ...

    @property
    def why_closed(self) -> str:
        """Return why nothing more comes; empty while something may."""
        ...

    async def status(self) -> RowStatus:
        """Return how the row stands."""
        ...

    async def snapshot(self) -> Snapshot:
        """Return what its terminal shows."""
        ...

    async def history(self, start: int, count: int) -> History:
        """Return rows that were scrolled off."""
        ...

    def on_changed(self, changed: Callable[[], None]) -> None:
        """Have `changed` called when there is another screen than the last one that was asked for."""
        ...

    def on_closed(self, closed: Callable[[], None]) -> None:
        """Have `closed` called when nothing more comes."""
        ...

    async def keys(self, pressed: Iterable[Key]) -> str:
        """Press keys; return why not."""
        ...

    async def mouse(self, mouse: Mouse) -> str:
        """Do what a mouse does; return why not."""
        ...

    async def paste(self, text: str) -> str:
        """Paste a text of any length; return why not."""
        ...

    async def resize(self, columns: int, lines: int, who: str = "") -> str:
        """Give the terminal a size; return why not."""
        ...

    async def close(self) -> None:
        """Look no more; the row goes on."""
        ...


@dataclass(frozen=True, slots=True)
class NotLive:
    """A row has no live terminal here."""

    sentence: str
    """Why, or how its last run ended."""
    screen: Screen | None = None
    """What its terminal showed last, when that was kept."""
    ended: float | None = None
    """When its last run ended; None when that is not known."""


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

    async def viewer(self, row: str) -> Viewer | NotLive:
        """Open the live terminal of a row of this box, by the row's id."""
        ...
