"""What a hook takes for its input, and what it refuses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import hook_input
from sot_tui.comm.clock import SystemClock
from sot_tui.comm.hook_input import Input, Unfit
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not json",
        b"[]",
        b'"text"',
        b'{"a":1}{"a":1}',
        b'{"a":NaN}',
        b'{"a":"\xff"}',
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":1,"a":2}',
        b"{" * 200,
        b"\0" * 1000,
        b'{"a":' + b"[" * 200 + b"]" * 200 + b"}",
    ],
)
def test_input_when_it_is_not_one_strict_object_then_it_is_refused_with_a_reason(data: bytes) -> None:
    found = hook_input.read(data)
    assert isinstance(found, Unfit)
    assert found.why


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (rb"cut \ud83d", "cut \ufffd"),
        (rb"\udc00 lone", "\ufffd lone"),
        (rb"\uD83D\uDE00 whole", "\U0001f600 whole"),
        (rb"\\ud83d no escape", "\\ud83d no escape"),
        (rb"\\\ud83d after a backslash", "\\\ufffd after a backslash"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
    ],
)
def test_input_when_an_agent_cut_a_sign_in_half_then_the_half_is_replaced(escaped: bytes, text: str) -> None:
    found = hook_input.read(b'{"prompt":"' + escaped + b'"}')
    assert isinstance(found, Input)
    assert found.text("prompt") == text


def test_fields_when_of_another_kind_then_they_count_as_missing() -> None:
    found = Input({"text": 7, "flag": "true", "below": [], "list": {"a": 1}, "mixed": [1, {"a": "b"}, None]})
    assert (found.text("text"), found.has_text("text"), found.is_true("flag")) == ("", False, False)
    assert found.below("below").text("x") == ""
    assert found.objects("list") == []
    assert [one.text("a") for one in found.objects("mixed")] == ["b"]
    assert Input({"text": ""}).has_text("text")


def _piped(data: bytes) -> int:
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    return reader


def test_input_when_the_pipe_ends_then_all_of_it_came() -> None:
    assert hook_input.receive(_piped(b'{"a":1}'), SystemClock()) == b'{"a":1}'


def test_input_when_nothing_comes_or_it_cannot_be_read_then_it_is_refused() -> None:
    assert isinstance(hook_input.receive(_piped(b""), SystemClock()), Unfit)
    closed = _piped(b"x")
    os.close(closed)
    assert isinstance(hook_input.receive(closed, SystemClock()), Unfit)


class _Late(JumpingClock):
    """A clock on which each look takes a second."""

    def monotonic(self) -> float:
        self.pass_(1)
        return super().monotonic()


def test_input_when_the_pipe_is_never_closed_then_what_came_by_the_deadline_counts() -> None:
    reader, writer = os.pipe()
    os.write(writer, b'{"a":1}')
    assert hook_input.receive(reader, _Late()) == b'{"a":1}'
    os.close(writer)
    os.close(reader)


def test_input_when_it_is_too_long_then_it_is_refused_and_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hook_input, "INPUT_LIMIT", 10)
    reader = _piped(b"x" * 50_000)
    assert isinstance(hook_input.receive(reader, SystemClock()), Unfit)
    assert os.read(reader, 1) == b""


@pytest.mark.parametrize(("size", "whole"), [(9, True), (10, True), (11, False)])
def test_input_when_just_as_long_as_it_may_be_then_it_is_taken(
    monkeypatch: pytest.MonkeyPatch, size: int, *, whole: bool
) -> None:
    monkeypatch.setattr(hook_input, "INPUT_LIMIT", 10)
    reader = _piped(b"x" * size)
    found = hook_input.receive(reader, SystemClock())
    os.close(reader)
    assert (found == b"x" * size) is whole
    assert isinstance(found, Unfit) is not whole


def test_input_when_the_deadline_is_just_there_then_nothing_more_is_taken(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * hook_input._PART * 9)
    reader = os.open(tmp_path / "x", os.O_RDONLY)
    assert hook_input.receive(reader, _Late()) == b"x" * hook_input._PART * 2
    os.close(reader)
