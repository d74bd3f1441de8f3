"""A joined session, made up for the tests of its hooks: it has a handle, mail, a transcript and an agent's id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sot_tui.comm import hooks, mounts, turn_end
from sot_tui.comm.clock import stamp
from sot_tui.comm.hook_input import Input
from tests.sessions import NOW, Machine, Session

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

KEY = "sess-1"
MAIL = "New sot-comm mail for @h — run comm-poll.sh now, act on it, then end the turn."


class NamedMachine(Machine):
    """The same machine with an id, so that a box without one takes inbox locks in a test as well."""

    def machine_id(self) -> str:
        return "m1"


class JoinedSession(Session):
    """A session outside any row that is joined as @h; @peer is there too."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.home = self.home._replace(procs=NamedMachine())
        self.claims("h\nrepo=alpha\nroot={root}\n")
        self.facts()
        self.transcript = folder / "transcript.jsonl"
        for name in ("inbox", "read"):
            Path(self.home.path, name).mkdir(mode=0o700)

    @property
    def h(self) -> dict[str, Any]:
        """Return what the registry says of @h now."""
        found: dict[str, Any] = self.agents()["h"]
        return found

    def facts(self, **facts: object) -> None:
        """Let @h stand in the registry with these facts, and stamps of an hour ago."""
        old = stamp(NOW - 3600)
        self.book({"h": self.entry(last_seen=old, status_at=old, **facts), "peer": self.entry()})

    def ago(self, seconds: float) -> str:
        """Return the stamp of so many seconds ago."""
        return stamp(NOW - seconds)

    def share_locks(self) -> None:
        """Write the record under which this machine takes inbox locks."""
        Path(self.home.lock_manager).write_text(f"{mounts.lock_identity(self.home)}\nm1\n")

    def mail(self, *senders: str, to: object = "h") -> None:
        """Put one line of each sender into the inbox, in place of what was there."""
        lines = [json.dumps({"from": sender, "to": to, "msg": "m"}) for sender in senders]
        Path(self.home.inbox("h")).write_text("".join(line + "\n" for line in lines))

    def says(self, *texts: str, prompt: str = "go") -> None:
        """Write a transcript with one prompt and these answers."""
        messages = [("user", prompt), *(("assistant", text) for text in texts)]
        lines = [json.dumps({"type": role, "message": {"role": role, "content": text}}) for role, text in messages]
        self.transcript.write_text("".join(line + "\n" for line in lines))

    def scratch(self, name: str) -> str | None:
        """Return what a scratch file holds, None when there is none."""
        path = Path(self.home.scratch, name)
        return path.read_text() if path.exists() else None

    def end(self, *, home: Home | None = None, **more: Any) -> turn_end.Hold | turn_end.Ended:
        """Run the end-of-turn check; a hold is told and remembered, as the verb does it."""
        turn = turn_end.TurnEnd(KEY, held_before=False, transcript=str(self.transcript), last_message="")
        outcome = self.check(turn._replace(**more), home)
        if isinstance(outcome, turn_end.Hold):
            turn_end.told(home or self.home, outcome)
        return outcome

    def check(self, turn: turn_end.TurnEnd, home: Home | None = None) -> turn_end.Hold | turn_end.Ended:
        """Run the check alone."""
        return turn_end.check(home or self.home, self.who_am_i(), turn)

    def held(self, **more: Any) -> str:
        """Run the check, which must hold; return the reason."""
        outcome = self.end(**more)
        assert isinstance(outcome, turn_end.Hold), outcome
        return outcome.reason

    def ended(self, **more: Any) -> tuple[str, ...]:
        """Run the check, which must pass; return the lines for stderr."""
        outcome = self.end(**more)
        assert isinstance(outcome, turn_end.Ended), outcome
        return outcome.notes

    def prompt(self, text: str, key: str = KEY) -> str:
        """Let a prompt come in."""
        return hooks.begin_turn(self.home, self.who_am_i(), text, key)

    def event(self, **fields: object) -> Input:
        """Return an input with these fields."""
        return Input(dict(fields))
