"""Fleets made in code, and a client that serves one of them without an engine: the same picture every time."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar, cast

from sot_tui.comm.clock import stamp
from sot_tui.comm.fleet import (
    Agent,
    Fleet,
    LockPhase,
    LockState,
    Mail,
    MailCount,
    Reading,
    RegistryState,
    RowSeen,
    State,
    agent,
)
from sot_tui.comm.proc_locks import Hold, InboxLocks, Process
from sot_tui.comm.proof import Record
from sot_tui.comm.registry_lock import LockIs, Marker, Markers
from sot_tui.engine.client import (
    Broadcast,
    BroadcastDone,
    Command,
    CreateRow,
    Drafts,
    Events,
    Folders,
    Found,
    Happening,
    Kind,
    Letter,
    Line,
    ListFolders,
    LoadDrafts,
    Locks,
    LookAtLock,
    LookAtLocks,
    NotLive,
    OpenMail,
    Outcome,
    Page,
    ReadDialog,
    ReadEvents,
    Recover,
    Recovered,
    Recovery,
    ResumeLine,
    RowDialog,
    RowDone,
    Search,
    Send,
    Viewer,
    What,
)

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
NOW = 1_780_000_000.0
"""The moment of every picture."""
FREE = LockState(LockPhase.FREE)
DEAD = LockState(
    LockPhase.HELD,
    record="box:2f1c9d0e4b7a4c0f:5b1c7a52-9a51-4d0e-8a43-7d5a7c7f0a11:4026531836:4121:88231",
    holder="box pid 4121 start 88231",
    age_s=12.0,
    dead=True,
    verdict="dead: same boot, pid 4121 is gone",
    recovery="If it is dead, run any comm command on box.",
    looks=3,
    looked_at=NOW,
)
ALIEN = DEAD._replace(
    record="laptop:77aa:0c0c:4026531836:90:12",
    holder="laptop pid 90 start 12",
    dead=False,
    verdict="cannot be proved from here: another machine",
    recovery="If it is dead: run any comm command on laptop, or, if laptop will not run again or a comm command there "
    "says it cannot prove a death, remove /home/me/.sot-comm/.registry.lock by hand.",
)


def entry(host: str = "box", seen: float = 8, at: float | None = 8, **facts: object) -> dict[str, object]:
    """Return a registry entry that was seen `seen` seconds ago and changed `at` seconds ago."""
    said: dict[str, object] = {"host": host, "workspace_id": "", "repo": "r", "status": "idle"}
    said |= {"joined": stamp(NOW - 90_000), "last_seen": stamp(NOW - seen)}
    if at is not None:
        said["status_at"] = stamp(NOW - at)
    return said | facts


def agents(entries: dict[str, dict[str, object]]) -> MappingProxyType[str, Agent]:
    """Return the agents of entries."""
    return MappingProxyType({handle: agent(handle, said) for handle, said in sorted(entries.items())})


def counted(unread: int, oldest: float = 300) -> Mail:
    """Return a count of unread mail."""
    return Mail(MailCount.COUNTED, unread, stamp(NOW - oldest) if unread else "")


ENTRIES: dict[str, dict[str, object]] = {
    "MyRepo-box": entry(
        at=12,
        state="blocked",
        summary="Allow Bash?",
        dialog="Allow Bash?",
        workspace_id="ws-myrepo-9f31",
        root="/home/me/src/MyRepo",
        repo="MyRepo",
    ),
    "Docs-box": entry(
        at=190,
        state="done",
        done=True,
        summary="rebuilt the reference pages",
        note="rebuilt the reference pages",
        root="/home/me/src/Docs",
    ),
    "Analysis-wt-rot-box": entry(
        state="working", summary="fitting rotation model · 4/9", floor="user", note="fitting rotation model · 4/9"
    ),
    "Slow-box": entry(at=840, state="working", summary="compiling everything twice", floor="machine"),
    "Backend-box": entry(at=1270, state="waiting", summary="for CI", waiting="for CI"),
    "Notes-box": entry(at=4000, state="idle", summary=""),
    "Fresh-box": entry(at=None),
    "Paper-laptop": entry(host="laptop", at=400, state="done", done=True, summary="figures are in"),
    "Old-laptop": entry(host="laptop", seen=7300, at=7300, state="working", summary="long gone", floor="user"),
    "operator-box": entry(at=None, root="/home/me/.sot-comm"),
}


def fleet(**changes: object) -> Fleet:
    """Return the fleet of the pictures, with changes."""
    plain = Fleet(
        home="/home/me/.sot-comm",
        host="box",
        operator="operator-box",
        revision=1,
        agents=agents(ENTRIES),
        mail=MappingProxyType(
            dict.fromkeys(ENTRIES, counted(0))
            | {
                "MyRepo-box": counted(2),
                "Analysis-wt-rot-box": counted(1),
                "Old-laptop": counted(3),
                "operator-box": counted(2, 240),
            }
        ),
        registry=RegistryState(Reading.PRESENT, NOW, version=1),
        lock=FREE,
    )
    return plain._replace(**changes)  # type: ignore[arg-type]  # a test names fields


ROWS = {
    row.id: row
    for row in (
        RowSeen("ws-myrepo-9f31", "myrepo", "MyRepo", "/home/me/src/MyRepo", "claude", "ready", "MyRepo-box"),
        RowSeen("ws-notes-41", "notes", "Notes", "/home/me/src/Notes", "none", "ready"),
        RowSeen("ws-paper-52", "paper", "Paper", "/home/me/src/Paper", "codex", "ended_no_respawn", ended="exit 3"),
        RowSeen("ws-fit-63", "fit", "fit", "/home/me/src/fit", "make", "starting"),
    )
}
"""A blocked one with a handle, a shell that nobody has joined from, one whose run is over, one that begins."""
DIALOG = RowDialog(
    (
        "Bash command",
        "",
        "  rm -rf build && make all",
        "  Remove the build folder and build anew",
        "",
        "Do you want to proceed?",
        "❯ 1. Yes",
        "  2. Yes, and don't ask again for rm in this project",
        "  3. No, and tell it what to do differently (esc)",
    ),
    ("1", "2", "3"),
)
RECENT = ("/home/me/src/Docs", "/home/me/src/MyRepo", "/home/me/work/analysis/fit-of-the-rotation-model")


def with_rows(**changes: object) -> Fleet:
    """Return the fleet of the pictures, with rows."""
    return fleet(rows=MappingProxyType(ROWS), **changes)


def letters() -> tuple[Letter, ...]:
    """Return the mail of the pictures."""
    schema = (
        "schema v3 is on main\n\nPlease look at the migration before noon: it drops the column `legacy_id`,\n"
        "and two readers still use it.\n\n> which readers?\n\n- Analysis\n- Paper"
    )
    return (
        letter(1, "Docs-box", "numbers please", 5000, read=True, opened=True),
        letter(2, "Backend-box", "going down for CI", 900, kind=Kind.BROADCAST, read=True, opened=True),
        letter(3, "Backend-box", schema, 240),
        letter(4, "", "{not json", None, kind=Kind.UNPARSED),
    )


def letter(
    line: int,
    sender: str,
    text: str,
    age: float | None,
    *,
    inbox: str = "operator-box",
    kind: Kind = Kind.DIRECTED,
    read: bool = False,
    opened: bool = False,
) -> Letter:
    """Return a letter that was sent `age` seconds ago."""
    at = "" if age is None else stamp(NOW - age)
    to = inbox if kind is Kind.DIRECTED else ""
    repo = sender.partition("-")[0]
    mark = f"{line}-{len(text)}"
    return Letter(line, kind, sender, to, repo, text, at, read, inbox, mark, len(text), opened)


MARKERS = Markers(
    (
        Marker(
            "/home/me/.sot-comm/.registry.lock.reclaim.box.2f1c.5b1c.4026531836.4121.88231",
            Record("box", "2f1c", "5b1c", "4026531836", "4121", "88231"),
            LockIs.HELD,
            Record("box", "2f1c", "5b1c", "4026531836", "4390", "90155"),
            "dead: same boot, pid 4390 is gone",
        ),
    ),
    3,
)
"""The reclaim of a dead holder's lock, which died too."""
INBOXES = InboxLocks(
    (
        Hold("Backend-box", (Process(812, writes=True, start="5512", name="python3"),), (), 97.0),
        Hold(
            "Docs-box",
            (Process(4402, writes=False, start="90411", name="sot-tui"),),
            (Process(4410, writes=True, start="90500", name="sot-tui"),),
            99.6,
        ),
    ),
    mono=100.0,
)
"""One inbox that is written for three seconds, one that is read while a writer waits."""
EVENTS_FILE = "/home/me/.local/state/sot/tui/events.log"
HAPPENINGS = (
    Happening(1, NOW - 90_000, What.ENGINE, "it runs here, for /home/me/.sot-comm"),
    Happening(2, NOW - 3_600, What.OPERATOR, "joined as @operator-box"),
    Happening(3, NOW - 1_800, What.MAIL, "filed -> @Docs-box"),
    Happening(4, NOW - 1_200, What.MAIL, "FAILED -> @Old-laptop: no live session holds @Old-laptop", good=False),
    Happening(5, NOW - 900, What.DONE, "cleared the done of @Docs-box"),
    Happening(6, NOW - 300, What.DUTY, "watch: No such file or directory; next try in 0.5 s", good=False),
    Happening(7, NOW - 299, What.DUTY, "watch: it works again"),
    Happening(
        8,
        NOW - 60,
        What.LOCK,
        "the registry lock is held for 2s by box pid 4121 start 88231: dead: same boot, pid 4121 is gone",
        good=False,
    ),
    Happening(9, NOW - 40, What.LOCK, "cleared registry lock /home/me/.sot-comm/.registry.lock, held by box pid 4121"),
)


class FakeClient:
    """A client over a value: commands are kept, and answered with what the test laid out."""

    def __init__(self, shown: Fleet) -> None:
        self.fleet = shown
        self.moment = NOW
        self.asked: list[Command[object]] = []
        self.answers: dict[type, object] = {
            OpenMail: Page("operator-box", letters(), 4),
            Send: Outcome(good=True, sentence="filed -> @Docs-box"),
            Recover: Recovered(Recovery.CLEARED, "cleared registry lock, held by box pid 4121"),
            LoadDrafts: Drafts(),
            Search: Found(tuple(reversed(letters()))),
            ListFolders: Folders(RECENT, RECENT, ("default", "work")),
            ReadDialog: DIALOG,
            ResumeLine: Line("/home/me/.local/bin/claude --permission-mode auto --continue /sot-session-start"),
            CreateRow: RowDone(good=True, sentence="started row 'Api' in /home/me/src/Api", row="ws-api-77"),
            Broadcast: BroadcastDone(good=True, sentence="Broadcast to 9 agent(s)."),
        }
        self.viewers: dict[str, Viewer | NotLive] = {}
        self.locks = Locks(shown.lock, MARKERS, INBOXES)
        self._listeners: list[Callable[[], None]] = []

    def now(self) -> float:
        return self.moment

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    async def do(self, command: Command[T]) -> T:
        self.asked.append(cast("Command[object]", command))
        if isinstance(command, LookAtLock):
            return cast("T", self.fleet.lock)
        if isinstance(command, LookAtLocks):
            return cast("T", replace(self.locks, registry=self.fleet.lock))
        if isinstance(command, ReadEvents):
            return cast("T", Events(tuple(line for line in HAPPENINGS if line.number > command.after), EVENTS_FILE))
        answer = self.answers.get(type(command), Outcome(good=True))
        if callable(answer):
            return cast("T", await answer(command))
        if isinstance(command, OpenMail) and isinstance(answer, Page):
            there = [one for one in answer.letters if not command.before or one.line < command.before]
            newest = tuple(replace(one, inbox=command.handle) for one in there[-command.newest :])
            return cast("T", replace(answer, handle=command.handle, letters=newest, batch=7 if command.poll else 0))
        return cast("T", answer)

    async def viewer(self, row: str) -> Viewer | NotLive:
        return self.viewers.get(row) or NotLive("it has never run")

    def show(self, shown: Fleet) -> None:
        """Serve another fleet, and tell the listeners."""
        self.fleet = shown._replace(revision=self.fleet.revision + 1)
        for changed in tuple(self._listeners):
            changed()

    def asked_for(self, kind: type) -> list[Command[object]]:
        return [command for command in self.asked if isinstance(command, kind)]


__all__ = [
    "ALIEN",
    "DEAD",
    "ENTRIES",
    "FREE",
    "NOW",
    "FakeClient",
    "State",
    "agents",
    "counted",
    "entry",
    "fleet",
    "letter",
    "letters",
]
