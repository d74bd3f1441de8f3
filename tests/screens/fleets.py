"""Fleets made in code, and a client that serves one of them without an engine: the same picture every time."""

from __future__ import annotations

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
    State,
    agent,
)
from sot_tui.engine.client import (
    Command,
    Kind,
    Letter,
    LookAtLock,
    OpenMail,
    Outcome,
    Page,
    Recover,
    Recovered,
    Recovery,
    Send,
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


def letters() -> tuple[Letter, ...]:
    """Return the mail of the pictures."""
    return (
        Letter(1, Kind.DIRECTED, "Docs-box", "operator-box", "Docs", "numbers please", stamp(NOW - 5000), read=True),
        Letter(2, Kind.BROADCAST, "Backend-box", "", "Backend", "going down for CI", stamp(NOW - 900), read=True),
        Letter(
            3,
            Kind.DIRECTED,
            "Backend-box",
            "operator-box",
            "Backend",
            "schema v3 is on main\n\nPlease look at the migration before noon: it drops the column `legacy_id`,\n"
            "and two readers still use it.\n\n- Analysis\n- Paper",
            stamp(NOW - 240),
            read=False,
        ),
        Letter(4, Kind.UNPARSED, "", "", "", "{not json", "", read=False),
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
        }
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
        answer = self.answers.get(type(command), Outcome(good=True))
        if isinstance(command, OpenMail) and isinstance(answer, Page):
            newest = answer.letters[-command.newest :]
            return cast("T", Page(command.handle, newest, answer.total, batch=7 if command.poll else 0))
        return cast("T", answer)

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
    "letters",
]
