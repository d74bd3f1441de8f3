"""Mail, as the engine handles it for a person: counts for everybody, peeks, the operator's own poll, and sends.

Every rule is `comm`'s; here they are put together for a screen. All of it blocks, so all of it runs in named threads. A
poll and a send are done as the operator, whose identity is verified afresh each time, as it is for anybody.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from sot_tui.comm import cursor, identity, inbox, look, names, peeks, registry, routes, waiting
from sot_tui.comm.fleet import Mail, MailCount
from sot_tui.engine import operator
from sot_tui.engine.client import BODY_CHARS, Body, BroadcastDone, OpenMail, Outcome, Page, Sheet
from sot_tui.engine.letters import for_an_editor, letter_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context
    from sot_tui.comm.waiting import Waits
    from sot_tui.engine.client import Broadcast, Letter
    from sot_tui.engine.desk_store import DeskStore

ALL = "--broadcast"
"""The target of a broadcast, as a FAILED line names it."""


class Mailroom:
    """The inboxes of one comm home."""

    def __init__(self, home: Home, environ: Mapping[str, str], store: DeskStore) -> None:
        self._home = home
        self._environ = environ
        self._store = store
        self.person: operator.Operator | None = None
        """The operator, once joined."""
        self.only_looks = False
        """Whether nothing may be made, not even a lock file."""
        self._stamps: dict[str, tuple[object, ...]] = {}
        self._batches: dict[int, tuple[str, inbox.Batch]] = {}
        # From somewhere else in each engine: a window that had another one before must not move a cursor by a number.
        self._last_batch = secrets.randbits(40)

    def counted(self, handles: list[str]) -> dict[str, Mail]:
        """Return the counts of those handles whose inbox or cursor is another than at the last look."""
        counted: dict[str, Mail] = {}
        for handle in handles:
            # The stamp first: a line that comes in between is seen by the next look.
            waits = self._store.waiting(handle)
            stamp = (*inbox.mailbox_stamp(self._home, handle), waits)
            if self._stamps.get(handle) == stamp:
                continue
            counted[handle] = waiting.counted(look.mail(self._home, handle, locked=not self.only_looks), waits)
            self._stamps.pop(handle, None)
            if counted[handle].trust is MailCount.COUNTED:
                self._stamps[handle] = stamp
        for gone in self._stamps.keys() - set(handles):
            del self._stamps[gone]
        return counted

    def send(self, to: str, text: str) -> Outcome:
        """Send as the operator; the sentence is the one result line."""
        if not names.is_file_safe(to):
            return Outcome(good=False, sentence=f"FAILED -> @{to}: {names.not_a_handle(to)}")
        here = self._sender(f"@{to}")
        if isinstance(here, str):
            return Outcome(good=False, sentence=here)
        outcome = routes.send(self._home, here.name, here.project.repo, to, text, environ=self._environ)
        return Outcome(good=isinstance(outcome, routes.Filed), sentence=outcome.sentence)

    def broadcast(self, command: Broadcast) -> BroadcastDone:
        """Send a copy to every other handle as the operator, or to those that an earlier try did not reach."""
        here = self._sender(ALL)
        if isinstance(here, str) or isinstance(here.book, registry.Unread):
            return BroadcastDone(good=False, sentence=str(here), left=command.only)
        wanted = command.only or tuple(sorted(handle for handle in here.book.agents if handle != here.name))
        failed: dict[str, str] = {}
        for handle in wanted:
            if not names.is_file_safe(handle):
                failed[handle] = f"FAILED -> @{handle}: {names.not_a_handle(handle)}"
                continue
            outcome = routes.send(
                self._home, here.name, here.project.repo, handle, command.text, broadcast=True, environ=self._environ
            )
            if isinstance(outcome, routes.Failed):
                failed[handle] = outcome.sentence
        reached = len(wanted) - len(failed)
        count = f"{reached} of {len(wanted)}" if failed else f"{reached}"
        words = f"Broadcast to {count} agent(s)."
        return BroadcastDone(not failed, words, tuple(failed.values()), tuple(failed), reached)

    def _sender(self, target: str) -> Context | str:
        """Return who a message is sent as, verified afresh, or the FAILED line that says why nobody."""
        if self.person is None:
            return f"FAILED -> {target}: you are not joined; nothing was sent"
        here = operator.verified(self._home, self._environ, self.person)
        fault = identity.sender_fault(here)
        return f"FAILED -> {target}: {fault}" if fault else here

    def opened(self, command: OpenMail) -> Page:
        """Return what an inbox holds: by a poll, or by a peek that moves no cursor."""
        return self._polled(command) if command.poll else self._peeked(command)

    def _peeked(self, command: OpenMail) -> Page:
        if not names.is_file_safe(command.handle):
            return Page(command.handle, fault=names.not_a_handle(command.handle))
        found = peeks.peek(self._home, command.handle, command.newest, command.before)
        if isinstance(found, inbox.Failed):
            return Page(command.handle, fault=f"the inbox of @{command.handle} could not be read: {found.why}")
        letters = self._letters(command.handle, found)
        return Page(command.handle, letters, found.total, waiting=self._waiting_lines(command.handle))

    def _waiting_lines(self, handle: str) -> tuple[int, ...]:
        return tuple(one.line for one in self._store.waiting(handle))

    def _letters(self, handle: str, found: peeks.Peek) -> tuple[Letter, ...]:
        return tuple(letter_of(self._store, handle, line.number, line.line, read=line.read) for line in found.lines)

    def _polled(self, command: OpenMail) -> Page:
        """Read the operator's own inbox: what was shown before, and the whole batch that is new."""
        handle = command.handle
        why_not = self._may_not_poll(handle)
        if why_not:
            return Page(handle, fault=why_not)
        batch = inbox.read_batch(self._home, handle)
        if isinstance(batch, inbox.Busy):
            return Page(handle, busy=True, notes=(batch.sentence,))
        if isinstance(batch, inbox.Failed):
            return Page(handle, fault=f"your inbox could not be read: {batch.why}")
        newest = batch.lines[max(0, len(batch.lines) - command.newest) :]
        first = batch.start + len(batch.lines) - len(newest) + 1
        fresh = [letter_of(self._store, handle, at, line, read=False) for at, line in enumerate(newest, first)]
        old: tuple[Letter, ...] = ()
        if batch.start and len(newest) < command.newest:
            before = peeks.peek(self._home, handle, command.newest - len(newest), batch.start + 1)
            old = () if isinstance(before, inbox.Failed) else self._letters(handle, before)
        number = 0
        if batch.lines:
            number = self._last_batch = self._last_batch + 1
            self._batches = {number: (handle, batch)}
        notes = tuple(note for note in (batch.warning, batch.note) if note)
        gone = _gone(self._store.waiting(handle), (*old, *fresh), batch.total)
        if gone:
            self._store.let_wait_no_more(handle, gone)
        return Page(handle, (*old, *fresh), batch.total, number, notes, waiting=self._waiting_lines(handle))

    def _may_not_poll(self, handle: str) -> str:
        if self.person is None:
            return "you are not joined, so you have no inbox; nothing was read"
        here = operator.verified(self._home, self._environ, self.person)
        if here.refusal:
            return here.refusal
        if isinstance(here.book, registry.Unread):
            return "FAILED: the registry could not be read; nothing was read"
        return "" if here.name == handle else f"@{handle} is not yours here; nothing was read"

    def listed(self, batch: int) -> Outcome:
        """Write the cursor past a batch that stands on the screen; it moves once.

        What of it is to the person waits to be opened, and is kept as waiting before the cursor passes it.
        """
        handle, read = self._batches.pop(batch, ("", inbox.Batch([])))
        before = self._store.waiting(handle)
        numbered = enumerate(read.lines, read.start + 1)
        fault = self._store.let_wait(
            handle, [letter_of(self._store, handle, at, line, read=True) for at, line in numbered]
        )
        moved = inbox.write_cursor(self._home, handle, read)
        if isinstance(moved, inbox.CursorStays):
            # They are unread still, and not to be counted twice.
            self._store.let_wait_no_more(handle, [one for one in self._store.waiting(handle) if one not in before])
            return Outcome(good=False, sentence=moved.sentence)
        return Outcome(not fault, fault)

    def body(self, letter: Letter) -> Body:
        """Return the text of a message, as much of it as a screen shows."""
        text = self._text(letter)
        return Body(text[:BODY_CHARS], len(text)) if isinstance(text, str) else text

    def sheet(self, letter: Letter) -> Sheet:
        """Lay the whole of a message out for an editor."""
        text = self._text(letter)
        if isinstance(text, Body):
            return Sheet(fault=text.fault)
        return self._store.lay_out(for_an_editor(letter, text).encode("utf-8", "replace"))

    def _text(self, letter: Letter) -> str | Body:
        """Return the whole text of a message, or why there is none."""
        found = peeks.peek(self._home, letter.inbox, 1, letter.line + 1)
        if isinstance(found, inbox.Failed):
            return Body(fault=f"the inbox of @{letter.inbox} could not be read: {found.why}")
        if not found.lines or cursor.line_hash(found.lines[0].line) != letter.mark:
            return Body(fault=f"it is no longer there: the inbox of @{letter.inbox} was cut back, or is another one")
        return text_of(found.lines[0].line)


def _gone(waits: Sequence[Waits], letters: Sequence[Letter], total: int) -> list[Waits]:
    """Return what waits no more: the inbox was cut back, or another message stands in its line."""
    marks = {letter.line: letter.mark for letter in letters}
    return [one for one in waits if one.line > total or marks.get(one.line, one.mark) != one.mark]
