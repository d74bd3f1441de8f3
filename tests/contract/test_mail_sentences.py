"""The contract's clauses about frames, cursors, filing, waiting, reading and the one result, word for word."""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import cursor, frames, inbox, inbox_lock, mounts, routes
from sot_tui.comm.clock import SystemClock, stamp
from sot_tui.comm.disk import Disk
from sot_tui.comm.inbox import Batch, Busy, Count, Filed, NotFiled
from tests.mailbox import TS, Machine, mail_home
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sot_tui.comm.home import Home

LINE = frames.frame("b", "h", "beta", "hello", TS)
NFS = "nfs4 server:/export"


@pytest.fixture
def home(comm_home: Path) -> Home:
    """Return a comm home where @h is listed and live, and a process here may append."""
    made = mail_home(comm_home)
    seen = stamp(SystemClock().now())
    entries = {"h": {"host": "box", "last_seen": seen}, "other": {"host": "box", "last_seen": seen}}
    (comm_home / "registry.json").write_text(json.dumps({"protocol_version": 1, "agents": entries}))
    return made


@pytest.fixture
def held(home: Home) -> Iterator[int]:
    """Hold the inbox lock of @h as another writer would."""
    descriptor = os.open(home.inbox_lock("h"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield descriptor
    os.close(descriptor)


def put(home: Home, data: bytes, said: str | None = None) -> None:
    with open(home.inbox("h"), "wb") as file:
        file.write(data)
    if said is not None:
        with open(home.cursor("h"), "w") as file:
            file.write(said)


def content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


# -- Message frame


def test_frame_when_written_then_the_five_keys_in_order_on_one_line() -> None:
    """ "Message frame (inbox JSONL, one object per line)": `{"from", "to", "repo", "msg", "ts"}`."""
    line = frames.frame("a", "b", "r", "one\ntwo", TS)
    assert list(json.loads(line)) == ["from", "to", "repo", "msg", "ts"]
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")


def test_cursor_when_two_frames_are_of_one_second_then_neither_is_lost(home: Home) -> None:
    """ "the cursor is the NUMBER of inbox lines already shown, which cannot lose a frame filed in the same second"."""
    put(home, LINE)
    first = inbox.read_batch(home, "h")
    assert isinstance(first, Batch)
    inbox.write_cursor(home, "h", first)
    inbox.file_line(home, "h", LINE)
    assert inbox.read_batch(home, "h") == Batch([LINE[:-1]], start=1, total=2)


def test_cursor_when_a_legacy_timestamp_then_lines_before_the_first_later_one(home: Home) -> None:
    """ "a legacy timestamp cursor is read as the number of lines before the first line whose ts is later than it;
    nothing is written until the next poll that shows a line"."""
    lines = [frames.frame("b", "h", "r", "x", f"2026-01-0{day}T00:00:00Z") for day in (1, 2, 3)]
    put(home, b"".join(lines[:2]), "2026-01-02T00:00:00Z")
    batch = inbox.read_batch(home, "h")
    assert isinstance(batch, Batch)
    assert batch.lines == []
    inbox.write_cursor(home, "h", batch)
    assert content(home.cursor("h")) == b"2026-01-02T00:00:00Z"
    inbox.file_line(home, "h", lines[2])
    batch = inbox.read_batch(home, "h")
    assert isinstance(batch, Batch)
    assert batch.lines == [lines[2][:-1]]
    inbox.write_cursor(home, "h", batch)
    assert content(home.cursor("h")).decode() == cursor.text(3, lines[2])


def test_cursor_when_written_then_count_crc_and_len_of_the_last_line_without_nul_bytes(home: Home) -> None:
    """ "<count> <crc>-<len>: the count, then the cksum of line <count> without its newline and NUL bytes"."""
    put(home, b'x\n{"from":"x","msg":"a\0b"}\n')
    batch = inbox.read_batch(home, "h")
    assert isinstance(batch, Batch)
    inbox.write_cursor(home, "h", batch)
    assert content(home.cursor("h")) == b"2 1102457470-23"


def test_cursor_when_its_line_no_longer_hashes_so_then_one_line_back_and_said(home: Home) -> None:
    """ "If that line no longer hashes so, a cut-back removed it, and the reader steps back one line and says so.\""""
    put(home, LINE * 2 + frames.frame("c", "h", "r", "new", TS), "3 1-1")
    batch = inbox.read_batch(home, "h")
    assert isinstance(batch, Batch)
    assert batch.start == 2
    assert batch.note == "note: the last line read from @h's inbox was cut back; reading from the line before it"


def test_cursor_when_count_only_then_it_still_works(home: Home) -> None:
    """ "A count-only cursor still works.\""""
    put(home, LINE * 3, "2")
    assert inbox.read_batch(home, "h") == Batch([LINE[:-1]], start=2, total=3)


def test_count_when_the_last_line_is_unterminated_then_it_does_not_count(home: Home) -> None:
    """ "Only newline-terminated lines are ever counted.\""""
    put(home, LINE + LINE[:-1])
    assert inbox.unread(home, "h") == Count(1, 1, TS, newest=1)
    assert inbox.read_batch(home, "h") == Batch([LINE[:-1]], total=1)


@pytest.mark.parametrize(
    ("line", "unread"),
    [
        (b'{"from":"b","to":"h"}', 1),
        (b'{"from":"b","to":""}', 0),
        (b'{"from":"b"}', 0),
        (b'{"from":"b","to":7}', 0),
        (b'{"from":"b","to":"other"}', 0),
        (b'{"from":"h","to":"h"}', 0),
    ],
)
def test_count_when_each_kind_of_line_then_directed_mail_alone_and_all_are_shown(
    home: Home, line: bytes, unread: int
) -> None:
    """ "to equal to the handle is directed mail and counts as unread; "" is a broadcast copy, filed and read at the
    next poll, never counted as unread. A line whose to is missing, not a string or another handle's, or whose from is
    this handle, is shown at the next poll and never counted.\""""
    put(home, line + b"\n")
    found = inbox.unread(home, "h")
    assert isinstance(found, Count)
    assert found.unread == unread
    assert frames.shown(line) is not None
    assert inbox.read_batch(home, "h") == Batch([line], total=1)


@pytest.mark.parametrize(
    "line",
    [
        b'{"to":"h","n":"\xff"}',
        b'\xef\xbb\xbf{"to":"h"}',
        b'{"to":"h","n":NaN}',
        b'{"to":"h","n":1e999}',
        b'{"to":"h","n":' + b"[" * 127 + b"]" * 127 + b"}",
    ],
    ids=["invalid UTF-8", "a byte-order mark", "NaN", "a number out of range", "nesting past 127"],
)
def test_count_when_a_line_is_not_strict_json_then_not_counted_and_shown(home: Home, line: bytes) -> None:
    """ "a line that is not strict JSON (invalid UTF-8, a byte-order mark, NaN, a number out of range, nesting past 127)
    may be counted by the shell and not by the wake" - here it never is; poll shows it."""
    put(home, line + b"\n")
    assert inbox.unread(home, "h") == Count(0, 1)
    assert frames.shown(line) is not None


# -- Delivery: filing


def test_filing_when_it_appends_then_under_flock_on_the_inboxs_own_lock_file(home: Home, held: int) -> None:
    """ "the line goes in under the inbox lock - the kernel's file lock (flock) on inbox/<handle>.lock"."""
    assert isinstance(inbox.file_line(home, "h", LINE, wait_s=0), NotFiled)
    assert isinstance(inbox.file_line(home, "other", LINE, wait_s=0), Filed)
    fcntl.flock(held, fcntl.LOCK_UN)
    assert isinstance(inbox.file_line(home, "h", LINE, wait_s=0), Filed)


def test_filing_when_answered_then_the_line_was_flushed_before(comm_home: Path) -> None:
    """ "Filed" means kept: the line is flushed to disk before the answer"."""

    class UnflushedDisk(Disk):
        def flush(self, descriptor: int) -> None:
            del descriptor
            raise OSError(5, "Input/output error")

    home = mail_home(comm_home, disk=UnflushedDisk())
    put(home, LINE)
    assert inbox.file_line(home, "h", LINE) == NotFiled("the append failed: Input/output error")
    assert content(home.inbox("h")) == LINE


def test_filing_when_a_dead_writer_left_a_partial_then_cut_back_first_and_logged(home: Home) -> None:
    """ "an unterminated last line (a dead writer's partial) is cut back to the last newline first, and logged, so the
    new one stays whole"."""
    put(home, LINE + b'{"from":"y","to":')
    outcome = inbox.file_line(home, "h", LINE)
    assert content(home.inbox("h")) == LINE * 2
    assert inbox.cut_note("h", outcome) == (
        "note: cut 17 bytes of an unterminated line a dead writer left in @h's inbox"
    )


def test_filing_when_another_machine_wrote_the_record_then_the_hub_says_how_to_go_on(home: Home) -> None:
    """ "A record another machine wrote names a different lock manager: the hub leaves it untouched and logs it as an
    error, and only an explicit reset with no other daemon running replaces it.\""""
    with open(home.lock_manager, "w") as file:
        file.write("local m9\nm9\n")
    own = mounts.lock_identity(home)
    assert mounts.record_lock_manager(home, named_hub=True).fault == (
        f"the inbox lock record names local m9, written by machine m9, a different lock manager from this hub's {own}: "
        f"stop every daemon on this comm folder, delete {home.lock_manager}, then start the hub"
    )
    assert content(home.lock_manager) == b"local m9\nm9\n"


def test_filing_when_the_hub_has_no_machine_id_then_it_says_what_to_give(home: Home) -> None:
    """ "A hub with no machine id (bare none) never creates or replaces the record and refuses every filing, saying so:
    give the machine a machine id (/etc/machine-id on Linux), then restart the daemon.\""""
    nameless = home._replace(procs=Machine("-"))
    os.unlink(home.lock_manager)
    assert mounts.record_lock_manager(nameless, named_hub=True).fault.endswith(
        "give this machine a machine id (/etc/machine-id on Linux), then restart the daemon"
    )
    assert not os.path.exists(home.lock_manager)
    assert isinstance(routes.send(nameless, "a", "r", "h", "x"), routes.Failed)


# -- Delivery: the wait


def test_wait_when_no_bound_is_set_then_2_seconds_for_a_writer_and_3_for_a_reader(home: Home, held: int) -> None:
    """ "bounded at 2 s (SOT_INBOX_LOCK_WAIT_SECS) on both paths"; "SOT_INBOX_READ_WAIT_SECS (default 3)"."""
    del held
    put(home, LINE)
    clock = JumpingClock()
    there = home._replace(clock=clock)
    began = clock.monotonic()
    assert inbox.file_line(there, "h", LINE, NFS) == NotFiled(
        "the inbox lock for @h was held for 2s — nothing was appended"
    )
    assert clock.monotonic() - began == pytest.approx(2)
    began = clock.monotonic()
    assert isinstance(inbox.read_batch(there, "h", NFS), Busy)
    assert clock.monotonic() - began == pytest.approx(3)


def test_wait_when_nfs4_then_tries_between_15_and_25_ms_apart_for_writers_and_readers(home: Home, held: int) -> None:
    """ "Under nfs4 ... try the lock without blocking every 15-25 ms (jittered) until the bound ... The reader's shared
    lock takes the same choice for its 3 s bound.\""""
    del held
    put(home, LINE)
    for look in (lambda home: inbox.file_line(home, "h", LINE, NFS), lambda home: inbox.unread(home, "h", NFS)):
        clock = JumpingClock()
        look(home._replace(clock=clock))
        assert len(clock.slept) > 50
        assert all(0.015 <= pause <= 0.025 for pause in clock.slept[:-1])


@pytest.mark.parametrize("manager", ["local m1", "none@m1"])
def test_wait_when_local_or_none_then_it_blocks_and_never_sleeps(home: Home, held: int, manager: str) -> None:
    """ "under local ... or none@... (NLM on v3, one machine's own kernel lock) a blocked waiter is woken on release, so
    they block, bounded"."""
    del held
    clock = JumpingClock()
    assert isinstance(inbox.file_line(home._replace(clock=clock), "h", LINE, manager, wait_s=0.05), NotFiled)
    assert clock.slept == []


# -- Delivery: readers


def test_reader_when_a_writer_holds_the_lock_then_try_again_and_never_a_skip(home: Home, held: int) -> None:
    """ "A timeout means try again, never a skip: comm-poll.sh says the inbox is being written, leaves the cursor"."""
    del held
    put(home, LINE * 2, "1")
    assert inbox.read_batch(home, "h", wait_s=0) == Busy("the inbox for @h is being written; try again")
    assert content(home.cursor("h")) == b"1"


def test_reader_when_the_lock_cannot_be_opened_then_named_and_read_unlocked(home: Home) -> None:
    """ "Only a held lock is "try again": any other lock fault, a lock file that cannot be opened or any flock error, is
    named (flock's code and its own error text) ... and the read runs unlocked, covered by the hashed cursor"."""
    put(home, LINE)
    os.mkdir(home.inbox_lock("h"))
    assert inbox.read_batch(home, "h") == Batch(
        [LINE[:-1]],
        total=1,
        warning=(
            "WARNING: the inbox lock for @h failed (cannot open its lock file) — "
            "reading without it; a line may show twice, none is lost"
        ),
    )


def test_reader_when_flock_itself_fails_then_its_code_and_its_text(comm_home: Path) -> None:
    """As above: "flock's code and its own error text"."""

    class NoLocks(Disk):
        def lock(self, descriptor: int, operation: int) -> None:
            del descriptor, operation
            raise OSError(37, "No locks available")

    home = mail_home(comm_home, disk=NoLocks())
    put(home, LINE)
    batch = inbox.read_batch(home, "h")
    assert isinstance(batch, Batch)
    assert batch.warning == (
        "WARNING: the inbox lock for @h failed (flock 37: No locks available) — "
        "reading without it; a line may show twice, none is lost"
    )


def test_reader_when_the_count_fails_then_named_like_a_lock_fault_and_never_0(home: Home) -> None:
    """ "WARNING: the unread count for @h failed (...) - run comm-poll.sh to read your mail), never read as 0"."""
    os.mkdir(home.inbox("h"))
    failed = inbox.unread(home, "h")
    assert isinstance(failed, inbox.Failed)
    assert inbox.count_failed("h", failed) == (
        "WARNING: the unread count for @h failed (Is a directory) — run comm-poll.sh to read your mail"
    )


@pytest.mark.parametrize(("now", "start"), [(LINE, 1), (LINE * 2, 1)])
def test_reader_when_a_cut_back_removed_the_last_line_read_then_one_line_back(
    home: Home, now: bytes, start: int
) -> None:
    """ "On every host the hashed cursor steps back one line when a cut-back removed the last line read.\""""
    put(home, now, cursor.text(2, b"the line that was cut back"))
    batch = inbox.read_batch(home, "h")
    assert isinstance(batch, Batch)
    assert batch.start == start
    assert batch.note


# -- Delivery: the one result


def test_result_when_filed_then_filed_and_the_handle(home: Home) -> None:
    """ "filed -> @h"."""
    assert routes.send(home, "a", "r", "h", "x") == routes.Filed("filed -> @h")


def test_result_when_no_live_session_holds_it_then_failed_and_nothing_added(home: Home, comm_home: Path) -> None:
    """ "Every route checks liveness before it appends"; "no live session holds @h"; "A refusal means nothing was
    added"."""
    old = stamp(SystemClock().now() - 601)
    (comm_home / "registry.json").write_text(json.dumps({"agents": {"h": {"host": "box", "last_seen": old}}}))
    assert routes.send(home, "a", "r", "h", "x") == routes.Failed("FAILED -> @h: no live session holds @h")
    assert not os.path.exists(home.inbox("h"))


def test_result_when_the_lock_was_held_then_the_bound_is_named(
    home: Home, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "FAILED -> @<h>: the inbox lock for @<h> was held for 2s - nothing was appended"."""
    del held
    monkeypatch.setenv(inbox_lock.WRITE_WAIT, "0.01")
    assert routes.send(home, "a", "r", "h", "x") == routes.Failed(
        "FAILED -> @h: the inbox lock for @h was held for 0.01s — nothing was appended"
    )


def test_result_when_no_handle_then_failed_and_the_text_in_quotes(home: Home) -> None:
    """ "not a handle: ..."."""
    assert routes.send(home, "a", "r", "a/b", "x") == routes.Failed('FAILED -> @a/b: not a handle: "a/b"')


def test_result_when_the_box_does_not_list_it_then_no_daemon_was_found(home: Home) -> None:
    """ "With no daemon found at all a wire send prints FAILED -> @h: no sotd daemon found; ...\""""
    assert routes.send(home, "a", "r", "nobody", "x") == routes.Failed(
        "FAILED -> @nobody: no sotd daemon found; `sotd topology relay-endpoint` gave no endpoint for this box, "
        "or no sotd is installed"
    )


def test_result_when_this_box_may_not_append_then_it_does_not_and_tries_no_second_route(home: Home) -> None:
    """ "Every route compares line 1 only"; "Nothing is queued anywhere, and a failed send is not retried by another
    route.\""""
    with open(home.lock_manager, "w") as file:
        file.write("nfs4 server:/export\nm1\n")
    before = sorted(os.listdir(home.path))
    assert routes.send(home, "a", "r", "h", "x") == routes.Failed(
        "FAILED -> @h: this box cannot take the inbox lock itself, and no daemon is reachable to file it"
    )
    assert sorted(os.listdir(home.path)) == before
    assert os.listdir(home.inboxes) == []


def test_result_when_the_registry_is_unreadable_then_nothing_is_sent(home: Home, comm_home: Path) -> None:
    """ "A send on an unreadable registry prints FAILED -> @<to>: the registry could not be read, so identity @<me> is
    unverified; nothing was sent."""
    (comm_home / "registry.json").write_bytes(b"not json")
    assert routes.send(home, "me", "r", "h", "x") == routes.Failed(
        "FAILED -> @h: the registry could not be read, so identity @me is unverified; nothing was sent"
    )
