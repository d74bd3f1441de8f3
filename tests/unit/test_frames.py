"""The message frame: its bytes, its display, and the counting rule."""

from __future__ import annotations

import json

import pytest

from sot_tui.comm.frames import Frame, counts, frame, parse_line, shown

TS = "2026-01-02T03:04:05Z"


def test_frame_when_written_then_compact_in_the_contracts_order_with_a_newline() -> None:
    assert (
        frame("a", "b", "r", "hi", TS) == b'{"from":"a","to":"b","repo":"r","msg":"hi","ts":"2026-01-02T03:04:05Z"}\n'
    )


@pytest.mark.parametrize(
    ("msg", "written"),
    [
        ("né — 项目 🚢", "né — 项目 🚢".encode()),
        ('quote " and \\ back', b'quote \\" and \\\\ back'),
        ("tab\t nl\n cr\r bs\b ff\f", b"tab\\t nl\\n cr\\r bs\\b ff\\f"),
        ("\0\x01\x1b[31m\x07\x0b\x1f", b"\\u0000\\u0001\\u001b[31m\\u0007\\u000b\\u001f"),
        ("del\x7f", b"del\\u007f"),
        ("/slash \u2028 \u0085", "/slash \u2028 \u0085".encode()),
        ("bad\udcffbyte", "bad\ufffdbyte".encode()),
        ("\ud800 \\u007f", "\ufffd \\\\u007f".encode()),
        ("", b""),
    ],
)
def test_frame_when_the_body_is_special_then_as_jq_writes_it(msg: str, written: bytes) -> None:
    line = frame("a", "", "r", msg, TS)
    assert line == b'{"from":"a","to":"","repo":"r","msg":"' + written + b'","ts":"2026-01-02T03:04:05Z"}\n'


def test_frame_when_any_field_holds_a_newline_then_still_one_line() -> None:
    assert frame("a\n", "b\n", "r\r\n", "m\n", "t\n").count(b"\n") == 1


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (frame("b", "a", "beta", "first", TS), b"[2026-01-02T03:04:05Z] [b:beta] first\n"),
        (b'{"from":"x","msg":"line one\\nline two\\n"}', b"[] [x:] line one\nline two\n"),
        (b'{"from":"x","msg":"ends\\n\\n\\n"}', b"[] [x:] ends\n"),
        (b'{"from":"x","msg":"cr\\r\\nlf"}', b"[] [x:] cr\r\nlf\n"),
        (b'{"from":"x","msg":"a\\u0000b"}', b"[] [x:] ab\n"),
        (b'{"from":"x","msg":"a\0b"}', b"[] [x:] ab\n"),
        (b"{}", b"[] [:] \n"),
        (b'{"from":null,"repo":false,"msg":7,"ts":{"a":[true]}}', b'[{"a":[true]}] [:] 7\n'),
        (b'{"msg":"a\xffb"}', "[] [:] a\ufffdb\n".encode()),
        (b'{"msg":"\\ud800"}', "[] [:] \ufffd\n".encode()),
        (b'\xef\xbb\xbf{"msg":NaN}', b"[] [:] NaN\n"),
    ],
)
def test_shown_when_a_json_object_then_one_entry(line: bytes, text: bytes) -> None:
    assert shown(line) == text


@pytest.mark.parametrize("line", [b"", b"\n", b"garbage", b"[1,2]", b'"text"', b"null", b"7", b'{"from":"b"', b"{}{}"])
def test_shown_when_not_one_json_object_then_skipped(line: bytes) -> None:
    assert shown(line) is None
    assert parse_line(line) is None
    assert not counts(line, "a")


def test_parse_line_when_to_is_a_text_or_not_then_a_broadcast_is_told_from_a_line_to_nobody() -> None:
    assert parse_line(frame("b", "", "r", "m", TS)) == Frame("b", "", "r", "m", TS)
    assert parse_line(b'{"from":"b","to":7}') == Frame("b", None, "", "", "")


@pytest.mark.parametrize(("depth", "is_shown"), [(255, True), (256, False), (985, False), (100_000, False)])
def test_shown_when_a_line_is_nested_then_its_depth_decides_and_no_stack(depth: int, *, is_shown: bool) -> None:
    """jq's own reader takes 256 levels. What Python's stack takes is another number in each caller."""
    line = b'{"msg":' + b"[" * depth + b"]" * depth + b"}"

    def deeper(left: int) -> bytes | None:
        return shown(line) if not left else deeper(left - 1)

    for below in (0, 300):
        assert (deeper(below) is not None) is is_shown


@pytest.mark.parametrize(
    ("fields", "unread"),
    [
        ({"from": "b", "to": "a"}, True),
        ({"to": "a"}, True),
        ({"from": None, "to": "a"}, True),
        ({"from": ["a"], "to": "a"}, True),
        ({"from": "b", "to": ""}, False),
        ({"from": "a", "to": "a"}, False),
        ({"from": "b", "to": "A"}, False),
        ({"from": "b", "to": "ab"}, False),
        ({"from": "b", "to": ["a"]}, False),
        ({"from": "b", "to": {"a": "a"}}, False),
        ({"from": "b", "msg": "a"}, False),
    ],
)
def test_counts_when_directed_by_another_then_only_then(fields: dict[str, object], *, unread: bool) -> None:
    assert counts(json.dumps(fields).encode(), "a") is unread


@pytest.mark.parametrize(
    ("line", "unread"),
    [
        (b'{"\\u0074o":"\\u0061"}', True),
        (b'{"to":"","msg":"a broadcast copy that names the handle"}', False),
        (b'{"to":"b","to":"a"}', True),
        (b'{"to":"a","to":"b"}', False),
        (b'  {"to":"a"}  \r', True),
        (b'{"to":"a"} {"to":"a"}', False),
        (b'{"to":"a","n":NaN}', False),
        (b'{"to":"a","n":"\xff"}', False),
        (b'{"to":"a","n":' + b"[" * 126 + b"]" * 126 + b"}", True),
        (b'{"to":"a","n":' + b"[" * 127 + b"]" * 127 + b"}", False),
    ],
)
def test_counts_when_odd_json_then_strict_json_alone_counts(line: bytes, *, unread: bool) -> None:
    assert counts(line, "a") is unread
