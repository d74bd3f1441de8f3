"""Strict JSON: everything two readers could read differently is refused, and refused by one kind of error."""

from __future__ import annotations

import pytest

from sot_tui.comm.errors import Refused
from sot_tui.comm.jsonline import NotStrict, decode, decode_like_jq, decode_object, encode
from sot_tui.comm.text import ACTING


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"{}", {}),
        (b' {"a" : [1, -0.5, 1e3, true, false, null, "x"]}\r', {"a": [1, -0.5, 1000.0, True, False, None, "x"]}),
        ('"né 🚢"'.encode(), "né 🚢"),
        (b'"\\ud83d\\udea2"', "🚢"),
        (b'"\\ufeff"', "\ufeff"),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b"1e-999", 0.0),
        (b"9" * 308, int("9" * 308)),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_decode_when_strict_json_then_its_value(data: bytes, value: object) -> None:
    assert decode(data) == value


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON: Expecting value at character 0"),
        (b"{} {}", "not JSON: Extra data at character 3"),
        (b"{'a':1}", "not JSON: "),
        (b'{"a":1,}', "not JSON: "),
        (b'{"a":01}', "not JSON: "),
        (b'"a\tb"', "not JSON: "),
        (b'"a\0b"', "not JSON: "),
        (b"\xef\xbb\xbf{}", "not JSON: "),
        ("{}".encode("utf-16"), "not UTF-8"),
        ("{}".encode("utf-16-le"), "not JSON: "),
        (b'"\xff"', "not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b'"\xc0\x80"', "not UTF-8"),
        (b"NaN", "NaN is no JSON number"),
        (b'{"a":[Infinity]}', "Infinity is no JSON number"),
        (b"-Infinity", "-Infinity is no JSON number"),
        (b"1e999", "a number is out of range"),
        (b"-1e999", "a number is out of range"),
        (b"9" * 400, "a number is out of range"),
        (b"9" * 5000, "a number is out of range"),
        (b'"\\ud800"', "a surrogate stands alone"),
        (b'{"a":{"\\udc00":1}}', "a surrogate stands alone"),
        (b'"\\udea2\\ud83d"', "a surrogate stands alone"),
        (nested(128), "nested deeper than 127"),
        (b'{"a":' * 128 + b"1" + b"}" * 128, "nested deeper than 127"),
        (nested(100_000), "nested deeper than 127"),
        (b"[" * 100_000, "nested deeper than 127"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_decode_when_not_strict_then_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(NotStrict) as caught:
        decode(data)
    assert caught.value.sentence.startswith(why)
    assert isinstance(caught.value, Refused)


def test_decode_when_nested_127_times_then_taken_and_breadth_does_not_count() -> None:
    assert decode(nested(127)) is not None
    assert decode(b'["[",' + nested(126) + b"]") is not None
    assert decode(b"[" + b"[]," * 500 + b"[]]") == [[]] * 501


@pytest.mark.parametrize("data", [b'{"a":1,"a":1}', b'{"b":{"a":1,"\\u0061":2}}', b'[{"":0,"":0}]'])
def test_decode_when_keys_must_be_unique_then_a_second_one_is_refused(data: bytes) -> None:
    assert decode(data) is not None
    with pytest.raises(NotStrict, match="a key stands twice"):
        decode(data, unique_keys=True)


@pytest.mark.parametrize("data", [b"[]", b"null", b'"x"', b"1", b"true"])
def test_decode_object_when_another_value_then_refused(data: bytes) -> None:
    with pytest.raises(NotStrict, match="not an object"):
        decode_object(data)


def test_decode_object_when_an_object_then_the_object() -> None:
    assert decode_object(b'{"a":{"a":1}}', unique_keys=True) == {"a": {"a": 1}}


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":"x\xffy"}', {"a": "x\ufffdy"}),
        (b"\xef\xbb\xbf{}", {}),
        (b'{"a":1e999}', {"a": float("inf")}),
        (b"9" * 308, int("9" * 308)),
        (b"9" * 309, float("inf")),
        (b"9" * 5000, float("inf")),
        (b'{"a":Infinity}', {"a": float("inf")}),
        (nested(400), decode_like_jq(nested(400))),
        (b"", None),
        (b"null", None),
        (b"{} {}", None),
        (b"garbage", None),
        (b'"a\tb"', None),
        (nested(100_000), None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_decode_like_jq_when_not_strict_then_what_jq_makes_of_it(data: bytes, value: object) -> None:
    assert decode_like_jq(data) == value
    assert (decode_like_jq(data) is None) == (value is None)


# -- what we write ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["plain", "项目 né 🚢", "\x1b]0;x\x07", "a\x7fb\x9bc", "\u202eevil\u2066", "\ufeff\U000e0041\u2028", '"\\'],
    ids=["plain", "wide", "controls", "c1", "bidi", "tags", "quotes"],
)
def test_encode_when_text_is_foreign_then_a_reader_gets_it_and_a_terminal_nothing(text: str) -> None:
    document = encode({"k": [text]})
    assert decode(document.encode()) == {"k": [text]}
    assert not set(map(ord, document)) - {0x0A} & ACTING


@pytest.mark.parametrize("code", [0xDCFF, 0xD800], ids=["no-utf8", "half-a-pair"])
def test_encode_when_text_holds_what_is_no_character_then_it_is_replaced(code: int) -> None:
    assert decode(encode(f"a{chr(code)}b").encode()) == "a\ufffdb"


def test_encode_when_a_number_is_none_then_refuses_to_write_it() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"k": float("inf")})
