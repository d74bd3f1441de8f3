"""Mail, as the engine handles it for a person: counts for everybody, peeks, the operator's own poll, and sends.

Every rule is `comm`'s; here they are put together for a screen. All of it blocks, so all of it runs in named threads. A
poll and a send are done as the operator, whose identity is verified afresh each time, as it is for anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm import frames, identity, inbox, look, names, peeks, registry, routes
from sot_tui.comm.fleet import Mail, MailCount
from sot_tui.engine import operator
from sot_tui.engine.client import Kind, Letter, OpenMail, Outcome, Page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home


class Mailroom:
    """The inboxes of one comm home."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._home = home
        self._environ = environ
        self.person: operator.Operator | None = None
        """The operator, once joined."""
        self._stamps: dict[str, tuple[object, ...]] = {}
        self._batches: dict[int, tuple[str, inbox.Batch]] = {}

    def counted(self, handles: list[str]) -> dict[str, Mail]:
        """Return the counts of those handles whose inbox or cursor is another than at the last look."""
        counted: dict[str, Mail] = {}
        for handle in handles:
            # The stamp first: a line that comes in between is seen by the next look.
            stamp = inbox.mailbox_stamp(self._home, handle)
            if self._stamps.get(handle) == stamp:
                continue
            counted[handle] = look.mail(self._home, handle)
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
        if self.person is None:
            return Outcome(good=False, sentence=f"FAILED -> @{to}: you are not joined; nothing was sent")
        here = operator.verified(self._home, self._environ, self.person)
        fault = identity.sender_fault(here)
        if fault:
            return Outcome(good=False, sentence=f"FAILED -> @{to}: {fault}")
        outcome = routes.send(self._home, here.name, here.project.repo, to, text)
        if isinstance(outcome, routes.Failed):
            return Outcome(good=False, sentence=outcome.sentence)
        return Outcome(good=True, sentence=outcome.sentence)

    def opened(self, command: OpenMail) -> Page:
        """Return what an inbox holds: by a poll, or by a peek that moves no cursor."""
        return self._polled(command) if command.poll else self._peeked(command)

    def _peeked(self, command: OpenMail) -> Page:
        if not names.is_file_safe(command.handle):
            return Page(command.handle, fault=names.not_a_handle(command.handle))
        found = peeks.peek(self._home, command.handle, command.newest)
        if isinstance(found, inbox.Failed):
            return Page(command.handle, fault=f"the inbox of @{command.handle} could not be read: {found.why}")
        letters = tuple(_letter(command.handle, line.number, line.line, read=line.read) for line in found.lines)
        return Page(command.handle, letters, found.total)

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
        before = peeks.peek(self._home, handle, command.newest + len(batch.lines))
        old = [] if isinstance(before, inbox.Failed) else [line for line in before.lines if line.number <= batch.start]
        letters = [_letter(handle, line.number, line.line, read=True) for line in old]
        letters += [_letter(handle, batch.start + at, line, read=False) for at, line in enumerate(batch.lines, 1)]
        number = 0
        if batch.lines:
            number = max(self._batches, default=0) + 1
            self._batches = {number: (handle, batch)}
        notes = tuple(note for note in (batch.warning, batch.note) if note)
        return Page(handle, tuple(letters), batch.total, number, notes)

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
        """Write the cursor past a batch that stands on the screen; it moves once."""
        handle, read = self._batches.pop(batch, ("", inbox.Batch([])))
        moved = inbox.write_cursor(self._home, handle, read)
        return (
            Outcome(good=False, sentence=moved.sentence) if isinstance(moved, inbox.CursorStays) else Outcome(good=True)
        )


def _letter(handle: str, number: int, line: bytes, *, read: bool) -> Letter:
    frame = frames.parse_line(line)
    if frame is None:
        return Letter(number, Kind.UNPARSED, "", "", "", line.decode("utf-8", "replace"), "", read)
    kind = Kind.OTHER
    if frame.to == "":
        kind = Kind.BROADCAST
    elif frame.to == handle and frame.sender != handle:
        kind = Kind.DIRECTED
    return Letter(number, kind, frame.sender, frame.to or "", frame.repo, frame.msg, frame.ts, read)
