"""The wire's frames under all inputs: what is written is read back, however it is cut; no bytes break the reader."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given, strategies as st

from sot_tui.comm import wire
from sot_tui.comm.clock import SystemClock
from sot_tui.comm.wire import Frame

if TYPE_CHECKING:
    from collections.abc import Iterator

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
payloads = st.dictionaries(texts.filter(lambda key: key != "blob"), values, max_size=4)


class Parts:
    """A way by which these parts come, one after another, and then the end."""

    def __init__(self, parts: list[bytes]) -> None:
        self.parts: Iterator[bytes] = iter([part for part in parts if part])

    def send(self, data: bytes, seconds: float) -> None:
        raise NotImplementedError

    def receive(self, seconds: float) -> bytes:
        assert seconds > 0
        return next(self.parts, b"")

    def close(self) -> str:
        return ""


def read(parts: list[bytes]) -> list[Frame]:
    clock = SystemClock()
    return list(wire._frames(clock, Parts(parts), clock.monotonic() + 60))


def cut(data: bytes, places: list[int]) -> list[bytes]:
    at = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(at)]


@given(payloads, st.text(max_size=10), st.integers(0, 2**53))
def test_frame_when_written_then_one_line_of_compact_json_in_the_wires_order(
    payload: dict[str, object], op: str, number: int
) -> None:
    line = wire.encode(number, "req", op, payload)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    found = json.loads(line)
    assert list(found) == ["v", "id", "kind", "op", "payload"]
    assert found["payload"] == payload
    assert line.startswith(b'{"v":1,"id":%d,"kind":"req","op":"' % number)


@given(
    st.lists(st.tuples(payloads, st.none() | st.binary(max_size=40)), max_size=6),
    st.lists(st.integers(min_value=0), max_size=8),
)
def test_frames_when_cut_anywhere_then_the_same_ones_are_read_and_no_blob_is_taken_for_one(
    wanted: list[tuple[dict[str, object], bytes | None]], places: list[int]
) -> None:
    data, expected = b"", []
    for number, (payload, blob) in enumerate(wanted):
        said = payload if blob is None else {**payload, "blob": {"len": len(blob)}}
        data += wire.encode(number, "evt", f"op{number}", said) + (blob or b"")
        expected.append(Frame("evt", f"op{number}", said, number))
    assert read(cut(data, places)) == expected


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_frames_when_the_bytes_are_anything_then_the_reader_ends(parts: list[bytes]) -> None:
    answer = wire.encode(1, "res", "ping", {"ok": True})
    assert [frame for frame in read([*parts, b"\n", answer]) if frame.op == "ping"] == [
        Frame("res", "ping", {"ok": True}, 1)
    ]
