"""The messages that are not filed yet: what a person is writing, and what was refused.

Every one of them is kept under the state root (by the engine) until its message is filed, so neither a refusal, nor a
closed window, nor the end of the dashboard loses what a person has written. There is one for each thing that is
answered, or handle that is written to; a second try takes it up again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sot_tui.comm import fleet as rules
from sot_tui.comm.clock import stamp
from sot_tui.comm.names import is_handle
from sot_tui.engine.client import Broadcast, DropDraft, KeepDraft, KeptDraft, LoadDrafts, Outcome, Send
from sot_tui.screens import show

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.engine.client import Client, Letter

TO_ALL = "all"
"""The slot of the broadcast."""


def slot_of_handle(handle: str) -> str:
    """Return the slot of what is written to a handle; the empty one is of a message whose receiver is still open."""
    return f"to:{handle}" if handle else ""


def slot_of_reply(letter: Letter) -> str:
    """Return the slot of the reply to a message."""
    return f"re:{letter.inbox}:{letter.line}:{letter.mark}"


def slot_of_task(row: str) -> str:
    """Return the slot of the first task of a row."""
    return f"{_TASK}{row}"


_TASK = "task:"


@dataclass(slots=True)
class Draft:
    """A message that is not filed yet."""

    slot: str
    to: str = ""
    text: str = ""
    about: str = ""
    """What it answers, in one line; empty when it answers nothing."""
    refused: str = ""
    """What came of the last try, a line for each receiver it failed for; empty when none was made."""
    to_all: bool = False
    """It goes to everybody."""
    left: tuple[str, ...] = ()
    """Whom a broadcast has not reached; empty before the first try."""
    reached: int = 0
    """How many the last try of a broadcast reached."""
    prefill: str = ""
    """The text it began with; as long as it says nothing else, there is nothing to keep."""
    waits: bool = False
    """It is the first task of a row, and is sent when a session has joined there; this dashboard started the row."""
    sending: bool = False
    writing: bool = False
    """Whether a person has it open: then it is not yet among what is not sent, unless it was refused."""
    at: str = ""
    """When it was last kept, as a stamp."""
    kept: KeptDraft | None = None
    """As it is kept; None while it is not."""

    @property
    def empty(self) -> bool:
        """Tell whether there is nothing in it that a person has written."""
        return not self.text.strip() or (self.text.strip() == self.prefill.strip() and not self.refused)

    def frozen(self) -> KeptDraft:
        """Return it as the engine keeps it."""
        return KeptDraft(self.slot, self.to, self.text, self.about, self.refused, self.to_all, self.left)


class DraftBox:
    """All drafts of one dashboard."""

    def __init__(
        self, client: Client, say: Callable[[Outcome], None], filed: Callable[[str], None] = lambda _: None
    ) -> None:
        """`filed` is told to whom a message was filed."""
        self._client = client
        self._say, self._filed = say, filed
        self._by_slot: dict[str, Draft] = {}

    def get(self, slot: str) -> Draft | None:
        """Return the draft of a slot, if there is one."""
        return self._by_slot.get(slot)

    def open(self, fresh: Draft) -> Draft:
        """Return the draft of a slot as it was left, else the fresh one, which then is the draft of its slot."""
        return self._by_slot.setdefault(fresh.slot, fresh)

    def unsent(self) -> list[Draft]:
        """Return what is not sent: what was refused first, then what was only begun, each with the newest first."""
        found = [one for one in self._by_slot.values() if not one.empty and (one.refused or not one.writing)]
        return sorted(found, key=lambda draft: (bool(draft.refused), draft.at), reverse=True)

    # -- keeping -----------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Take up what was kept when the dashboard was closed; what is open here already is newer."""
        loaded = await self._client.do(LoadDrafts())
        for kept in loaded.drafts:
            if kept.slot not in self._by_slot:
                to = kept.to if is_handle(kept.to) else ""
                text = show.written(kept.text)
                draft = Draft(kept.slot, to, text, kept.about, kept.refused, kept.to_all, kept.left)
                draft.at, draft.kept = kept.at, replace(kept, at="")
                self._by_slot[kept.slot] = draft
        for fault in loaded.faults:
            self._say(Outcome(good=False, sentence=fault))

    async def keep(self, draft: Draft) -> None:
        """Keep a draft as it is now; one that a person wrote nothing into, or that is filed, is not kept."""
        now = draft.frozen()
        if now == draft.kept or draft.empty or self._by_slot.get(draft.slot) is not draft:
            return
        draft.kept, draft.at = now, stamp(self._client.now())
        outcome = await self._client.do(KeepDraft(now))
        if not outcome.good:
            draft.kept = None
            self._say(outcome)

    async def drop(self, draft: Draft) -> None:
        """Remove a draft."""
        if self._by_slot.get(draft.slot) is draft:
            del self._by_slot[draft.slot]
        if draft.kept is not None:
            draft.kept = None
            self._say(await self._client.do(DropDraft(draft.slot)))

    async def settle(self) -> None:
        """Keep what is not kept yet: the dashboard ends."""
        for draft in list(self._by_slot.values()):
            await self.keep(draft)

    # -- sending -----------------------------------------------------------------------------------------------------

    async def send(self, draft: Draft) -> bool:
        """Send a draft, once, and tell whether its message is filed; it is kept until it is."""
        if draft.sending:
            return False
        sent, draft.sending, draft.refused = draft.text, True, ""
        try:
            good, sentence, lines = await (self._send_to_all(draft) if draft.to_all else self._send(draft))
        finally:
            draft.sending = False
        if good and draft.text == sent:
            await self.drop(draft)
        else:
            draft.refused = "\n".join(lines)
            await self.keep(draft)
        # A broadcast that has reached some is no failure; whom it did not reach is kept, and named there.
        some = draft.to_all and not good and draft.reached > 0
        self._say(Outcome(good or some, f"{sentence} Press u for those it did not reach." if some else sentence))
        return good

    def wait_for_session(self, row: str, to: str, text: str) -> Draft:
        """Return the first task of a row, which is to be sent once a session has joined in it."""
        draft = Draft(slot_of_task(row), to, text, waits=True)
        self._by_slot[draft.slot] = draft
        return draft

    def waiting(self) -> bool:
        """Tell whether a first task waits for its session."""
        return any(draft.waits for draft in self._by_slot.values())

    async def send_first_tasks(self) -> None:
        """Send the first task of every row in which a session has joined; one whose row is over waits no more."""
        for draft in [one for one in self._by_slot.values() if one.waits]:
            fleet, row = self._client.fleet, draft.slot.removeprefix(_TASK)
            handle = rules.joined_as(fleet, row, self._client.now())
            if handle:
                draft.to, draft.waits = handle, False
                await self.send(draft)
            elif row not in fleet.rows or rules.end_of(fleet.rows[row]):
                draft.waits, draft.refused = False, "not sent: its row is over, and no session has joined in it"
                await self.keep(draft)
                self._say(Outcome(good=False, sentence=draft.refused))

    async def _send(self, draft: Draft) -> tuple[bool, str, list[str]]:
        outcome = await self._client.do(Send(draft.to, draft.text))
        if outcome.good:
            self._filed(draft.to)
        return outcome.good, outcome.sentence, [] if outcome.good else [outcome.sentence]

    async def _send_to_all(self, draft: Draft) -> tuple[bool, str, list[str]]:
        done = await self._client.do(Broadcast(draft.text, draft.left))
        draft.left, draft.reached = done.left, done.reached
        return done.good, done.sentence, [] if done.good else [done.sentence, *done.failed]
