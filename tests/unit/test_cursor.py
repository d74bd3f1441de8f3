"""The cursor: every form, the worked example, and the hash."""

from __future__ import annotations

import pytest

from sot_tui.comm.cursor import Offset, count_in, line_hash, line_start, offset, posix_cksum, text
from sot_tui.comm.frames import counts

WORKED = (
    b'{"from":"api-boxa","to":"web-boxb","repo":"api","msg":"one","ts":"2026-02-03T10:00:00Z"}',
    b'{"from":"api-boxa","to":"web-boxb","repo":"api","msg":"two","ts":"2026-02-03T10:00:00Z"}',
    b'{"from":"web-boxb","to":"web-boxb","repo":"web","msg":"note","ts":"2026-02-03T10:05:00Z"}',
    b'{"from":"api-boxa","to":"","repo":"api","msg":"all","ts":"2026-02-03T10:06:00Z"}',
)
INBOX = b"".join(line + b"\n" for line in WORKED)


def read(lines: int) -> tuple[int, bool]:
    return lines, False


def cut(lines: int) -> tuple[int, bool]:
    return lines, True


@pytest.mark.parametrize(
    ("line", "hashed"),
    zip(WORKED, ("1146297069-88", "1780864533-88", "3347125749-89", "2750562323-80"), strict=True),
)
def test_line_hash_when_of_the_worked_example_then_as_listed(line: bytes, hashed: str) -> None:
    assert line_hash(line) == hashed


@pytest.mark.parametrize(
    ("cursor", "where", "unread"),
    [
        (b"", read(0), 2),
        (b"\n\n", read(0), 2),
        (b"0", read(0), 2),
        (b"0 1-1", read(0), 2),
        (b"1 1146297069-88", read(1), 1),
        (b"1 1146297069-88\n", read(1), 1),
        (b"01 1146297069-88", read(1), 1),
        (b"2 1780864533-88", read(2), 0),
        (b"2 999-1", cut(1), 1),
        (b"2", read(2), 0),
        (b"3 ", read(3), 0),
        (b"3 3347125749-89 more", cut(2), 0),
        (b"4 2750562323-80", read(4), 0),
        (b"4 2750562323-81", cut(3), 0),
        (b"5 77-8", cut(4), 0),
        (b"5 ", read(0), 2),
        (b"5", read(0), 2),
        (b"6 77-8", read(0), 2),
        (b"9 77-8", read(0), 2),
        (b"9" * 9000 + b" 77-8", read(0), 2),
        (b"-1 77-8", read(0), 2),
        (b"2026-02-03T09:59:59Z", read(0), 2),
        (b"2026-02-03T10:00:00Z", read(2), 0),
        (b"2026-02-04T00:00:00Z", read(4), 0),
        (b"oops", read(4), 0),
        (b" 4 2750562323-80", read(0), 2),
        (b"\xff\xfe", read(4), 0),
        (b"\0\0\0\0", read(0), 2),
        (b"\x002 1780864533-88", read(2), 0),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_offset_when_each_form_then_as_the_shell_reads_it(cursor: bytes, where: tuple[int, bool], unread: int) -> None:
    found = offset(cursor, INBOX)
    assert (found.lines, found.stepped_back, found.total) == (*where, 4)
    assert sum(counts(line, "web-boxb") for line in WORKED[found.lines :]) == unread


@pytest.mark.parametrize(
    ("cursor", "inbox", "where"),
    [
        (b"2026-02-04T00:00:00Z", INBOX + b'{"ts":', read(0)),  # five segments are above four lines
        (b"2026-02-03T10:00:00Z", INBOX + b'{"ts":', read(2)),
        (b"2026-02-04T00:00:00Z", b"\n\n" + INBOX, read(4)),  # blank segments do not count, and are shown again
        (b"1", b"no newline", read(0)),
        (b"1 5-5", b"no newline", cut(0)),
        (b"0", b"", read(0)),
        (b"x", b"", read(0)),
        (b"2 4294967295-0", b"x\n\n", read(2)),
        (b"1 1102457470-23", b'{"from":"x","msg":"a\0b"}\n', read(1)),
    ],
)
def test_offset_when_the_inbox_is_odd_then_only_whole_lines_count(
    cursor: bytes, inbox: bytes, where: tuple[int, bool]
) -> None:
    assert offset(cursor, inbox) == Offset(where[0], inbox.count(b"\n"), where[1])


@pytest.mark.parametrize(
    ("ts", "later"),
    [
        (b'"m"', False),
        (b'"ma"', True),
        (b'"n"', True),
        (b'""', False),
        (b"null", False),
        (b"false", False),
        (b"true", False),
        (b"9e99", False),
        (b"[]", True),
        (b"{}", True),
    ],
)
def test_offset_when_a_timestamp_cursor_then_ts_is_compared_in_jqs_order(ts: bytes, *, later: bool) -> None:
    assert offset(b"m", b'{"ts":' + ts + b"}\n").lines == (0 if later else 1)


def test_text_when_lines_were_shown_then_count_and_hash_which_offset_takes() -> None:
    cursor = text(4, WORKED[3] + b"\n")
    assert cursor == "4 2750562323-80"
    assert offset(cursor.encode(), INBOX) == Offset(4, 4)


def test_posix_cksum_when_known_then_as_the_command_prints() -> None:
    assert posix_cksum(b"") == 4294967295
    assert posix_cksum(b"hello") == 3287646509
    assert posix_cksum(b"x" * 70_000) == 4215398528


def test_line_start_when_every_line_then_just_after_its_newline() -> None:
    inbox = b"\nab\n\n\ncdefghij\nk"
    assert [line_start(inbox, lines, 5) for lines in range(6)] == [0, 1, 4, 5, 6, 15]


@pytest.mark.parametrize("tail", [b"", b"torn"])
def test_line_start_when_there_are_many_lines_then_the_same_from_either_end(tail: bytes) -> None:
    lines = [b"x" * (number % 7) + b"\n" for number in range(1000)]
    inbox = b"".join(lines) + tail
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    assert [line_start(inbox, number, 1000) for number in range(1001)] == starts


def test_count_when_it_has_more_digits_than_any_inbox_has_lines_then_is_past_the_end_of_all() -> None:
    assert count_in(b"0" * 30 + b"9" * 18) == 10**18 - 1
    assert count_in(b"9" * 19) == count_in(b"9" * 9000) == 10**18
