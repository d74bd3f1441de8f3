"""The registry's document: what counts as one, and that writing loses and rewords nothing."""

from __future__ import annotations

import json

import pytest

from sot_tui.comm import registry_text
from sot_tui.comm.registry_text import Agents, Registry, data_of, parse

PLAIN = b'{"protocol_version":1,"agents":{"a-box":{"host":"box","last_seen":"x"},"b-box":{"host":"box"}}}\n'


def read(data: bytes) -> Registry:
    registry = parse(data)
    assert registry is not None
    return registry


def value(data: bytes) -> object:
    return json.loads(data)


@pytest.fixture(autouse=True)
def _nothing_seen_before() -> None:
    parse(b'{"agents":{}}')


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        b"not json\n",
        b"[]\n",
        b"{}",
        b'{"agents":[]}\n',
        b'{"agents":null}',
        b'{"agents":"{}"}',
        b'{"agents":{}}\n{"agents":{}}\n',
        b'{"agents":{}}x',
        b'{"agents":{}} ,',
        b'{"agents":{},}',
        b'{,"agents":{}}',
        b'{"agents":{"a":{},}}',
        b'{"agents":{"a":{}} "b":1}',
        b'{"agents":{"a" {}}}',
        b'{"agents":{"a":}}',
        b'{"agents":{a:{}}}',
        b'{"agents":{"a":{}}',
        b'{"agents":{"a":{',
        b'{"agents":{"a":{"n":NaN}}}',
        b'{"agents":{"a":{"n":-Infinity}}}',
        b'{"agents":{"a":01}}',
        b'{"agents":{"a":"\n"}}',
        b'{"agents":{"a\n":1}}',
        b'{"agents":{"a":"\xff"}}',
        b'\xef\xbb\xbf{"agents":{}}',
        '{"agents":{}}'.encode("utf-16"),
        b'{"agents":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        b'{"agents":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b'{"agents":{"a":1},"agents":[]}',
        b"{'agents':{}}",
        b"// no\n" + PLAIN,
        PLAIN + b"\0",
    ],
)
def test_parse_when_it_is_not_one_document_with_agents_then_is_none(data: bytes) -> None:
    """ "not JSON, not exactly one document, or no object .agents" """
    assert parse(data) is None


@pytest.mark.parametrize(
    "data",
    [
        PLAIN,
        b'{"agents":{}}',
        b' \r\n\t{ "agents" : { } } \n\n',
        b'{"agents":{"a":{}},"z":[1,{"y":"agents"}]}',
        b'{"agents":[1],"agents":{"a":{"b":1}}}',
        b'{"agents":{"a":1,"a":{"b":2}}}',
        b'{"\\u0061gents":{"\\u0061":{}}}',
        b'{"agents":{"":{},"\\"":{}, "\xc3\xa9":{}}}',
        b'{"agents":{"a":{"agents":{"deep":[[],{}]}},"n":null,"t":true,"s":"x","l":[]}}',
        json.dumps(json.loads(PLAIN), indent=2).encode(),
    ],
)
def test_parse_when_it_is_one_document_then_says_what_any_reader_says(data: bytes) -> None:
    registry, expected = read(data), json.loads(data)
    assert dict(registry.agents) == expected["agents"]
    assert list(registry.agents) == list(expected["agents"])
    assert {key: found for key, found in registry.document.items() if key != "agents"} == {
        key: found for key, found in expected.items() if key != "agents"
    }
    again = read(data)  # from what was kept of the first look
    assert dict(again.agents) == expected["agents"]
    assert value(data_of(read(data))) == expected


def test_write_when_one_entry_changes_then_all_else_stays_letter_for_letter() -> None:
    foreign = '{"n": 1e1000, "f": 0.10, "i": 12345678901234567890123, "e": 1E2, "s": "\\ud800\\/é", "dup": 1, "dup": 2}'
    data = f'{{"zz": {{"kept":  1}}, "agents": {{"other": {foreign},"me":{{"a":1}},"odd": [1, 2 ]}}, "version": 1}}'
    registry = read(data.encode())
    registry.agents["me"]["a"] = 2
    written = data_of(registry).decode()
    assert f'"other": {foreign},' in written
    assert '"odd": [1, 2 ]' in written
    order = [written.index(f'"{key}"') for key in ("zz", "other", "me", "odd", "version")]
    assert order == sorted(order)
    assert read(written.encode()).entry("me") == {"a": 2}
    assert read(written.encode()).document["zz"] == {"kept": 1}


def test_write_when_an_entry_with_odd_numbers_changes_then_they_stay_as_they_were_written() -> None:
    odd = b'"big": 1e1000, "long": 0.1234567890123456789012345, "int": 12345678901234567890123'
    registry = read(b'{"agents": {"me": {' + odd + b', "a": 1}}}')
    registry.agents["me"]["a"] = 2
    assert b'"me": {' + odd + b', "a": 2}' in data_of(registry)


def test_write_when_an_integer_is_longer_than_python_reads_then_it_is_kept() -> None:
    digits = "9" * 5000
    registry = read(f'{{"agents": {{"me": {{"n": {digits}, "l": [{digits}], "a": 1}}}}}}'.encode())
    registry.agents["me"]["a"] = 2
    assert f'"n": {digits}, "l": [{digits}], "a": 2'.encode() in data_of(registry)


def test_write_when_text_holds_half_a_surrogate_pair_then_it_is_escaped_and_comes_back() -> None:
    registry = read(b'{"agents": {"me": {"s": "x\\ud800y"}}}')
    registry.agents["me"]["t"] = "\udcff é"  # as argv holds bytes that are no UTF-8
    registry.document["top\udc80"] = "\ud83d"
    written = data_of(registry)
    assert '"s": "x\\ud800y", "t": "\\udcff é"'.encode() in written
    again = read(written)
    assert again.entry("me") == {"s": "x\ud800y", "t": "\udcff é"}
    assert again.document["top\udc80"] == "\ud83d"


def test_write_when_done_then_one_entry_stands_on_each_line() -> None:
    registry = read(PLAIN)
    registry.agents["c-box"] = {"expertise": ["x", "y"], "done": True, "none": None, "f": 1.5, "q": 'a"b\\\n'}
    del registry.agents["b-box"]
    assert data_of(registry).decode() == (
        "{\n"
        '  "protocol_version": 1,\n'
        '  "agents": {\n'
        '    "a-box":{"host":"box","last_seen":"x"},\n'
        '    "c-box": {"expertise": ["x", "y"], "done": true, "none": null, "f": 1.5, "q": "a\\"b\\\\\\n"}\n'
        "  }\n"
        "}\n"
    )
    assert data_of(read(b'{"agents":{}}')) == b'{\n  "agents": {}\n}\n'


def test_write_when_agents_were_replaced_by_a_plain_mapping_then_it_is_written() -> None:
    registry = Registry({"protocol_version": 1, "agents": {"a": {"x": 1}}})
    assert value(data_of(registry)) == {"protocol_version": 1, "agents": {"a": {"x": 1}}}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"agents": []},
        {"agents": {"a": float("nan")}},
        {"agents": {"a": float("inf")}},
        {"agents": {"a": b"bytes"}},
        {"agents": {"a": {1: 2}}},
        {"agents": {}, "x": {1, 2}},
    ],
)
def test_write_when_the_document_is_no_registry_then_raises_before_anything_is_written(document: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        data_of(Registry(document))  # type: ignore[arg-type]


def test_agents_when_changed_in_every_way_then_behave_like_a_dict() -> None:
    agents = read(PLAIN).agents
    plain = json.loads(PLAIN)["agents"]
    for book in (agents, plain):
        book["c"] = {"n": 1}
        book["a-box"]["last_seen"] = "y"
        book.setdefault("d", {})["k"] = [1]
        assert book.pop("b-box") == {"host": "box"}
        assert book.pop("b-box", "gone") == "gone"
        with pytest.raises(KeyError):
            book["b-box"]
        with pytest.raises(KeyError):
            del book["b-box"]
        assert "c" in book
        assert "b-box" not in book
        assert len(book) == 3
        del book["c"]
        book["c"] = 5
        book["a-box"] = {"whole": "new"}
    assert dict(agents) == plain
    assert list(agents) == list(plain)
    assert repr(agents) == f"Agents({plain!r})"
    assert value(data_of(Registry({"agents": agents}))) == {"agents": plain}


def test_registry_when_it_holds_what_is_no_entry_then_says_none() -> None:
    registry = read(b'{"protocol_version":"2","agents":{"a":5,"b":{}}}')
    assert registry.entry("a") is None
    assert registry.entry("b") == {}
    assert registry.entry("c") is None
    assert registry.version == "2"
    assert read(PLAIN).version == 1
    assert read(b'{"agents":{}}').version is None


def test_parse_when_two_readers_hold_one_registry_then_neither_sees_the_others_changes() -> None:
    one, other = read(PLAIN), read(PLAIN)
    one.agents["a-box"]["host"] = "changed"
    one.agents["new"] = {}
    one.document["more"] = 1
    assert other.agents["a-box"] == {"host": "box", "last_seen": "x"}
    assert dict(read(PLAIN).agents) == json.loads(PLAIN)["agents"]
    assert "more" not in read(PLAIN).document


@pytest.mark.parametrize(
    "now",
    [
        b'{"agents": {"a": 1, "b": 22, "c": 3}}',
        b'{"agents": {"a": 12, "b": 2, "c": 3}}',
        b'{"agents": {"a": 1.5, "b": 2, "c": 3}}',
        b'{"agents": {"b": 2, "a": 1, "c": 3}}',
        b'{"agents": {"c": 3}}',
        b'{"agents": {"0": 0, "a": 1, "b": 2, "c": 3, "d": 4}}',
        b'{"agents": {"a": 1, "a": 9, "b": 2, "c": 3}}',
        b'{"agents": {"a": 9, "a": 1, "b": 2, "c": 3}}',
        b'{"agents": {"a": 1, "b": 2, "c": 3, "a": 9}}',
        b'{"agents": {}}',
        b'{"agents": {"a":1,"b":2,"c":3}}',
        b'{"agents": {"a": 1\n,\n"b": 2 , "c": 3\t}}',
    ],
)
def test_parse_when_it_was_seen_before_in_part_then_reads_what_stands_there_now(now: bytes) -> None:
    read(b'{"agents": {"a": 1, "b": 2, "c": 3}}')
    assert dict(read(now).agents) == json.loads(now)["agents"]
    assert value(data_of(read(now))) == json.loads(now)


def test_parse_when_a_key_stands_twice_and_the_last_one_was_seen_before_then_the_last_one_counts() -> None:
    read(b'{"agents": {"a": {"n": 1}, "b": {"n": 2}}}')
    now = b'{"agents": {"b": {"n": 9}, "a": {"n": 1}, "b": {"n": 2}}}'
    assert dict(read(now).agents) == json.loads(now)["agents"]


@pytest.mark.parametrize(
    "now",
    [
        b'{"agents": {"a": 1, "b": 2, "c": 3',
        b'{"agents": {"a": 1 "b": 2, "c": 3}}',
        b'{"agents": {"a": 1x, "b": 2, "c": 3}}',
        b'{"agents": {"a": 1, "b": 2, "c": 3,}}',
        b'{"agents": {"a": 1, "b": 2, "c": 3}',
        b'{"agents": {"a": 1.}}',
    ],
)
def test_parse_when_it_was_seen_before_in_part_then_still_refuses_what_is_broken(now: bytes) -> None:
    read(b'{"agents": {"a": 1, "b": 2, "c": 3}}')
    assert parse(now) is None


def test_parse_when_only_one_entry_is_new_then_parses_that_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a replace costs follows from what changed, not from how many agents there are."""
    agents = {f"p{number}-box": {"host": "box", "n": number} for number in range(100)}
    first = data_of(Registry({"agents": agents}))
    parsed = []
    decoder = registry_text._DECODER

    class Watched:
        def raw_decode(self, text: str, at: int) -> object:
            parsed.append(text[at : at + 20])
            return decoder.raw_decode(text, at)

    monkeypatch.setattr(registry_text, "_DECODER", Watched())
    assert len(read(first.replace(b'"n": 7}', b'"n": 7000}')).agents) == 100
    assert len(parsed) == 1


def test_agents_when_made_of_nothing_then_are_empty() -> None:
    assert dict(Agents()) == {}


@pytest.mark.parametrize("depth", [125, 126, 900, 5000, 100_000])
@pytest.mark.parametrize("where", ["top", "entry"])
def test_parse_when_nested_past_what_the_daemon_reads_then_is_none_and_what_was_read_can_be_written(
    where: str, depth: int
) -> None:
    """The decoder takes more levels than can be written again: a send once filed its mail and then failed."""
    value = "[" * depth + "]" * depth
    top, entry = (value, "0") if where == "top" else ("0", value)
    book = parse(f'{{"x":{top},"agents":{{"a":{entry}}}}}'.encode())
    assert (book is not None) is (depth <= (126 if where == "top" else 125))
    if book is not None:
        assert book.agents["a"] is not None
        assert value in data_of(book).decode()


def test_parse_when_an_integer_is_as_long_as_python_reads_then_it_is_one_and_counts_exactly() -> None:
    assert read(b'{"agents":{"a":' + b"9" * 4300 + b"}}").agents["a"] == int("9" * 4300)


def test_parse_when_a_plain_value_stands_beside_the_agents_then_it_is_read() -> None:
    book = read(b'{"protocol_version":7,"name":"x","none":null,"agents":{}}')
    assert book.version == 7


def test_parse_when_a_reader_changes_what_stands_beside_the_agents_then_no_other_reader_sees_it() -> None:
    data = b'{"x":[1],"y":{},"agents":{}}'
    for _ in range(3):
        book = read(data)
        assert (book.document["x"], book.document["y"]) == ([1], {})
        book.document["x"].append(2)
        book.document["y"]["z"] = 3
