"""An inbox under any order of writers, deaths in mid-write, cut-backs and polls, beside a plain model of it.

The rules act on a real file through the product. The model knows only what was answered: a line answered `filed` may
not be lost or doubled, what a dead writer left torn may never be shown, and the cursor skips no line that was not
shown. A foreign writer files without our lock and cuts back a line that a reader may have seen: then, and only then,
the reader steps back.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sot_tui.comm import cursor, frames, inbox, peeks
from sot_tui.comm.home import Home
from tests.faults.disks import Crash, Dying, Failing
from tests.mailbox import TS, Machine, mail_home

if TYPE_CHECKING:
    from sot_tui.comm.disk import Disk

SENDERS = st.sampled_from(["b", "a"])
BODIES = st.text(max_size=20)


class InboxMachine(RuleBasedStateMachine):
    """One inbox, `a`, in a comm home of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="model-"))
        self.home = mail_home(self.folder)
        self.kept: list[bytes] = []
        """Whole lines that must be in the inbox, in order: those answered `filed`, and those a death left whole."""
        self.shown_up_to = 0
        """How many of them a poll has shown and marked as read."""
        self.serial = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def path(self) -> Path:
        return self.folder / "inbox" / "a.jsonl"

    def line(self, sender: str, body: str) -> bytes:
        self.serial += 1
        return frames.frame(sender, "a", "r", f"{self.serial} {body}", TS)

    def on(self, disk: Disk) -> Home:
        return Home(str(self.folder), disk, procs=Machine())

    # -- writers

    @rule(sender=SENDERS, body=BODIES)
    def a_writer_files(self, sender: str, body: str) -> None:
        line = self.line(sender, body)
        assert isinstance(inbox.file_line(self.home, "a", line, wait_s=0), inbox.Filed)
        self.kept.append(line)

    @rule(body=BODIES, at=st.integers(1, 16), after=st.booleans(), part=st.none() | st.integers(0, 60))
    def a_writer_dies(self, body: str, at: int, *, after: bool, part: int | None) -> None:
        line = self.line("b", body)
        try:
            filed = inbox.file_line(self.on(Dying(at, after=after, part=part)), "a", line, wait_s=0)
        except Crash:
            # It was not answered; the model looks whether the death left it whole.
            if line in self.path.read_bytes() if self.path.exists() else False:
                self.kept.append(line)
        else:
            assert isinstance(filed, inbox.Filed)
            self.kept.append(line)

    @rule(body=BODIES, at=st.integers(1, 16), error=st.sampled_from([5, 28, 116]))
    def a_writer_meets_a_fault(self, body: str, at: int, error: int) -> None:
        line = self.line("b", body)
        disk = Failing(at, error)
        if isinstance(inbox.file_line(self.on(disk), "a", line, wait_s=0), inbox.Filed):
            self.kept.append(line)
        disk.bury()

    @rule(torn=st.binary(min_size=1, max_size=30).map(lambda data: data.replace(b"\n", b" ")))
    def another_program_dies_in_mid_write(self, torn: bytes) -> None:
        if self.path.exists():
            with self.path.open("ab") as file:
                file.write(torn)

    @rule(line=st.sampled_from([b"\n", b"garbage\n", b"[1]\n", b'{"to":"a","msg":"x\0y"}\n', b'{"to":"a"} {}\n']))
    def another_program_files_an_odd_line(self, line: bytes) -> None:
        if self.path.exists() and self.path.read_bytes()[-1:] in (b"", b"\n"):
            with self.path.open("ab") as file:
                file.write(line)
            self.kept.append(line)

    # -- readers

    @rule()
    def a_reader_polls(self) -> None:
        batch = inbox.read_batch(self.home, "a", wait_s=0)
        assert isinstance(batch, inbox.Batch)
        assert [line + b"\n" for line in batch.lines] == self.kept[self.shown_up_to :]
        assert batch.start == self.shown_up_to
        assert not batch.note
        assert isinstance(inbox.write_cursor(self.home, "a", batch), inbox.CursorMoved)
        self.shown_up_to = len(self.kept)

    @rule(at=st.integers(1, 20), after=st.booleans())
    def a_reader_dies(self, at: int, *, after: bool) -> None:
        home = self.on(Dying(at, after=after))
        before = self.shown_up_to
        try:
            batch = inbox.read_batch(home, "a", wait_s=0)
            if not isinstance(batch, inbox.Batch):
                return
            shown = [line + b"\n" for line in batch.lines]
            # An unreadable cursor or a broken lock may show a line again; it never leaves one out.
            assert shown[len(shown) - len(self.kept[before:]) :] == self.kept[before:]
            inbox.write_cursor(home, "a", batch)
        except Crash:
            pass
        said = self.folder / "read" / "a.cursor"
        if said.exists():
            self.shown_up_to = cursor.offset(said.read_bytes(), b"".join(self.kept)).lines
        assert self.shown_up_to in (before, len(self.kept))

    @rule(body=BODIES)
    def a_reader_without_our_lock_sees_a_line_that_is_then_cut_back(self, body: str) -> None:
        """The contract's residual: a reader on a mismatched host shows a line whose sender was told FAILED."""
        self.a_reader_polls()
        if not self.path.exists():
            return
        whole = b"".join(self.kept)
        lost = self.line("b", body)
        with self.path.open("wb") as file:
            file.write(whole + lost)
        batch = inbox.read_batch(self.home, "a", wait_s=0)
        assert isinstance(batch, inbox.Batch)
        assert batch.lines == [lost[:-1]]
        inbox.write_cursor(self.home, "a", batch)
        with self.path.open("wb") as file:
            file.write(whole)
        again = inbox.read_batch(self.home, "a", wait_s=0)
        assert isinstance(again, inbox.Batch)
        assert (again.lines, bool(again.note)) == ([], True)
        # The next line takes the lost one's place: it is shown, with the note, and no line is left out.
        new = self.line("b", body)
        assert isinstance(inbox.file_line(self.home, "a", new, wait_s=0), inbox.Filed)
        self.kept.append(new)
        found = inbox.read_batch(self.home, "a", wait_s=0)
        assert isinstance(found, inbox.Batch)
        assert (found.lines, bool(found.note)) == ([new[:-1]], True)
        inbox.write_cursor(self.home, "a", found)
        self.shown_up_to = len(self.kept)

    # -- what holds at every moment

    @initialize(lines=st.integers(0, 3))
    def an_inbox_of_some_lines(self, lines: int) -> None:
        for _ in range(lines):
            self.a_writer_files("b", "first")

    @invariant()
    def every_kept_line_is_there_once_and_whole(self) -> None:
        data = self.path.read_bytes() if self.path.exists() else b""
        assert data[: data.rfind(b"\n") + 1] == b"".join(self.kept)

    @invariant()
    def the_count_is_that_of_the_kept_lines(self) -> None:
        found = inbox.unread(self.home, "a", wait_s=0)
        assert isinstance(found, inbox.Count)
        assert found.total == len(self.kept)
        assert found.unread == sum(frames.counts(line, "a") for line in self.kept[self.shown_up_to :])

    @invariant()
    def a_peek_marks_what_was_read(self) -> None:
        found = peeks.peek(self.home, "a", 3)
        assert isinstance(found, peeks.Peek)
        assert [line.line + b"\n" for line in found.lines] == self.kept[-3:]
        assert [line.read for line in found.lines] == [line.number <= self.shown_up_to for line in found.lines]


TestInbox = InboxMachine.TestCase
TestInbox.settings = settings(max_examples=60, stateful_step_count=30)
