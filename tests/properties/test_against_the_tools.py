"""Frames, hashes and counts beside the commands `jq` and `cksum`: two implementations of one rule, pinned together."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from hypothesis import given, settings, strategies as st

from sot_tui.comm import cursor, frames

jq = pytest.mark.skipif(shutil.which("jq") is None, reason="no jq on this machine")
cksum = pytest.mark.skipif(shutil.which("cksum") is None, reason="no cksum on this machine")

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
BATCH = 200
"""Inputs for one start of a tool; a start takes longer than all of them."""


def _run(argv: list[str], data: bytes) -> bytes:
    return subprocess.run(argv, input=data, capture_output=True, check=True).stdout


@cksum
@settings(max_examples=60)
@given(st.binary(max_size=70_000) | st.binary(max_size=300))
def test_posix_cksum_when_any_bytes_then_as_the_command(data: bytes) -> None:
    crc, length = _run(["cksum"], data).split()
    assert f"{cursor.posix_cksum(data)}-{len(data)}" == f"{crc.decode()}-{length.decode()}"


@jq
@settings(max_examples=15)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS, TEXTS, TEXTS), min_size=1, max_size=BATCH))
def test_frame_when_any_texts_then_the_bytes_jq_writes(fields: list[tuple[str, str, str, str, str]]) -> None:
    ours = b"".join(frames.frame(*words) for words in fields)
    said = "\n".join(json.dumps(dict(zip(("from", "to", "repo", "msg", "ts"), words, strict=True))) for words in fields)
    assert ours == _run(["jq", "-c", "."], said.encode())


@jq
@settings(max_examples=15)
@given(st.lists(st.dictionaries(st.sampled_from(["from", "to", "repo", "msg", "ts"]), VALUES), min_size=1, max_size=50))
def test_shown_when_any_object_then_what_jq_interpolates(objects: list[dict[str, object]]) -> None:
    program = r'"[\(.ts // "")] [\(.from // ""):\(.repo // "")] \(.msg // "")" | sub("\n+$"; "")'
    lines = [json.dumps(fields).encode() for fields in objects]
    expected = _run(["jq", "-r", program], b"\n".join(lines))
    assert b"".join(frames.shown(line) or b"" for line in lines) == expected


@jq
@settings(max_examples=15)
@given(st.lists(st.dictionaries(st.sampled_from(["from", "to", "n"]), st.sampled_from(["a", "b", "", None, 7, ["a"]]))))
def test_counts_when_any_object_then_the_shells_rule(objects: list[dict[str, object]]) -> None:
    lines = [json.dumps(fields).encode() for fields in objects]
    expected = _run(["jq", "-c", 'select(.to == "a" and .from != "a")'], b"\n".join(lines)).count(b"\n")
    assert sum(frames.counts(line, "a") for line in lines) == expected


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b""))), st.binary(max_size=5), st.data())
def test_offset_when_the_cursor_was_written_from_a_shown_line_then_it_stands_just_after_it(
    lines: list[bytes], tail: bytes, data: st.DataObject
) -> None:
    """Whatever is filed behind it, a cursor that poll wrote neither skips nor repeats a line."""
    inbox = b"".join(line + b"\n" for line in lines) + tail.replace(b"\n", b"")
    shown = data.draw(st.integers(0, len(lines)))
    said = cursor.text(shown, lines[shown - 1]) if shown else "0"
    assert cursor.offset(said.encode(), inbox) == cursor.Offset(shown, len(lines))
    assert inbox[cursor.line_start(inbox, shown, len(lines)) :] == b"\n".join(
        [*lines[shown:], tail.replace(b"\n", b"")]
    )


@given(st.binary(max_size=30), st.binary(max_size=60))
def test_offset_when_any_bytes_then_a_number_of_whole_lines(said: bytes, inbox: bytes) -> None:
    found = cursor.offset(said, inbox)
    assert 0 <= found.lines <= inbox.count(b"\n")


@given(st.binary(max_size=80))
def test_shown_when_any_bytes_then_an_entry_or_nothing_and_what_counts_is_shown(line: bytes) -> None:
    shown = frames.shown(line)
    assert shown is None or (shown.endswith(b"\n") and shown.decode("utf-8"))
    if frames.counts(line, "a"):
        assert shown is not None
