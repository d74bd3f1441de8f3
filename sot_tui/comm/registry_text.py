"""The registry's document: from bytes to values and back, an entry at a time.

Contract, One writer, one reader: a registry is exactly one JSON document with an object `.agents`; anything else is
unreadable. Whatever a writer does not touch is written back letter for letter: unknown keys, foreign entries, their
order, numbers that no float holds, halves of surrogate pairs. So a writer can neither lose nor reword what another
program put there, and pays only for the entry it changes. What is nested deeper than the daemon's own reader goes is
unreadable here too, so whatever was read can be written again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping
from json import JSONDecoder
from json.encoder import encode_basestring

from sot_tui.comm.jsonline import DEPTH_LIMIT, is_deeper
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, NoReturn

_INTEGER_DIGITS = 4300
"""The longest integer that Python reads; jq and others know no limit."""

_START = re.compile(r"[ \t\n\r]*\{[ \t\n\r]*")
_PLAIN_KEY = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_NEXT = re.compile(r"[ \t\n\r]*(?:(,)[ \t\n\r]*|\})")
_BETWEEN = ",\n    "
"""What stands between two entries that were written here."""
_END = re.compile(r"[ \t\n\r]*\Z")
_HALF = re.compile("[\ud800-\udfff]")


class Number(float):
    """A number that keeps how it was written, for what no float or int holds: `1e1000`, thirty decimals."""

    __slots__ = ("literal",)
    literal: str

    @classmethod
    def read(cls, literal: str) -> Number:
        """Return the number that a JSON literal names."""
        number = cls(literal)
        number.literal = literal
        return number


if TYPE_CHECKING:
    _Entries = MutableMapping[str, Any]
else:
    _Entries = MutableMapping


class Agents(_Entries):
    """The entries of a registry by handle, each opened when it is asked for.

    What is handed out may be changed in place and is written anew; the rest is written as it was read.
    """

    __slots__ = ("_members", "_opened", "_read")

    def __init__(self, members: Mapping[str, str] | None = None, read: dict[str, Any] | None = None) -> None:
        self._members: dict[str, str | None] = dict(members or {})
        self._read = read or {}
        self._opened: dict[str, Any] = {}

    def __getitem__(self, handle: str) -> Any:
        member = self._members[handle]
        if handle in self._opened:
            return self._opened[handle]
        # An entry that was set has been found above: what has no text is always opened.
        value = self._read.pop(handle) if handle in self._read else _entry_of(member or "")
        self._opened[handle] = value
        return value

    def __setitem__(self, handle: str, entry: Any) -> None:
        self._members.setdefault(handle, None)
        self._opened[handle] = entry

    def __delitem__(self, handle: str) -> None:
        del self._members[handle]
        self._opened.pop(handle, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, handle: object) -> bool:
        return handle in self._members

    def __repr__(self) -> str:
        return f"Agents({dict(self)!r})"

    def as_read(self) -> dict[str, str]:
        """Return the text of each entry that was read and not opened since, `"handle": {...}`, by handle."""
        opened = self._opened
        return {name: text for name, text in self._members.items() if text is not None and name not in opened}

    def members(self) -> dict[str, str]:
        """Return each entry as it is to be written, `"handle": {...}`, by handle."""
        members: dict[str, Any] = self._members.copy()  # what has no text is opened, and gets it here
        for handle, entry in self._opened.items():
            members[handle] = _member(handle, entry)
        return members


class Registry(NamedTuple):
    """A registry as it was read; what is changed in `document` is what `registry.replace` writes."""

    document: dict[str, Any]
    """Every key of the document; `agents` is a mapping from handle to entry."""

    @property
    def agents(self) -> MutableMapping[str, Any]:
        """The entries by handle, in the file's order; an entry that another program wrote may be no object."""
        agents: MutableMapping[str, Any] = self.document["agents"]
        return agents

    @property
    def version(self) -> object:
        """What the document says its protocol version is, whatever that may be; None when it says nothing."""
        return self.document.get("protocol_version")

    def as_read(self) -> dict[str, str]:
        """Return the text of each entry that was read and not opened since: the same text is the same entry."""
        agents = self.agents
        return agents.as_read() if isinstance(agents, Agents) else {}

    def entry(self, handle: str) -> dict[str, Any] | None:
        """Return a handle's entry, or None when there is none or it is no object."""
        found = self.agents.get(handle)
        return found if isinstance(found, dict) else None


class _Split(NamedTuple):
    """A registry's bytes and where its parts are; none of it is ever changed."""

    data: bytes
    top: dict[str, str]
    plain: dict[str, Any]
    """Those values of the top that nobody can change: numbers, texts, true, false and null."""
    members: dict[str, str]


_last = _Split(b"", {}, {}, {})
"""The registry last read or written: the next read finds the same bytes more often than not."""


def parse(data: bytes) -> Registry | None:
    """Return the registry that `data` is, or None unless it is exactly one JSON document with an object `.agents`."""
    global _last  # noqa: PLW0603  (one value, replaced whole; a thread sees the old or the new one)
    known, values = _last, None
    if known.data != data or not data:
        try:
            known, values = _split(data, known.members)
        except (ValueError, RecursionError):
            return None
        _last = known
    document: dict[str, Any] = {}
    for key, text in known.top.items():
        if key == "agents":
            document[key] = Agents(known.members, values)
        else:
            document[key] = known.plain[key] if key in known.plain else _DECODER.decode(text)
    return Registry(document)


def data_of(registry: Registry) -> bytes:
    """Return the bytes of a registry: one line for each key and each entry, closed by a newline.

    Raises TypeError or ValueError for a document that is no registry: a writer's mistake, before anything is written.
    """
    global _last  # noqa: PLW0603  (as above)
    members: dict[str, str] = {}
    top: dict[str, str] = {}
    lines = []
    for key, value in registry.document.items():
        if key == "agents":
            if not isinstance(value, Mapping):
                raise TypeError("a registry's agents are an object")
            members = (
                value.members() if isinstance(value, Agents) else {name: _member(name, value[name]) for name in value}
            )
            text = "{\n    " + _BETWEEN.join(members.values()) + "\n  }" if members else "{}"
            top[key] = ""
            lines.append(f'"agents": {text}')
        else:
            top[key] = _escaped(_json(value))
            lines.append(f"{_escaped(_json(key))}: {top[key]}")
    if "agents" not in top:
        raise TypeError("a registry has agents")
    data = ("{\n  " + ",\n  ".join(lines) + "\n}\n").encode()
    _last = _Split(data, top, _plain(registry.document), members)
    return data


def _split(data: bytes, known: Mapping[str, str]) -> tuple[_Split, dict[str, Any]]:
    """Return the parts of a registry and the values of the entries that are not `known`; raises ValueError."""
    text = data.decode("utf-8", "strict")
    members: dict[str, str] = {}
    values: dict[str, Any] = {}
    top: dict[str, str] = {}
    others: dict[str, Any] = {}
    at = _found(_START.match(text)).end()
    while not text.startswith("}", at):
        key, start = _key(text, at)
        agents = _START.match(text, start) if key == "agents" else None
        if agents:
            members, values, end = _members(text, agents.end(), known)
        else:
            others[key], end = _value(text, start, DEPTH_LIMIT - 1)
        top[key] = "" if agents else text[start:end]
        after = _found(_NEXT.match(text, end))
        if not after[1]:
            at = after.end() - 1
            break
        at = after.end()
        if text.startswith("}", at):
            raise ValueError("a comma before the end")
    if not text.startswith("}", at) or not _END.match(text, at + 1) or top.get("agents") != "":
        raise ValueError("not one document with an object .agents")
    return _Split(data, top, _plain(others), members), values


def _plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a document that can be handed out again and again, as nobody can change them."""
    return {key: value for key, value in document.items() if isinstance(value, str | int | float | None)}


def _members(text: str, at: int, known: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any], int]:
    """Return the members of an object by key, as text and as values, and where it ends; `at` is past its brace.

    A member that stands letter for letter as it stood before is not parsed again, and its value is left out. That holds
    for what ends in a sign of its own; a number could go on.
    """
    members: dict[str, str] = {}
    values: dict[str, Any] = {}
    if text.startswith("}", at):
        return members, values, at + 1
    before = iter(known.items())
    guess, member = next(before, ("", ""))
    while True:
        if member and member[-1] in '"}]' and text.startswith(member, at):
            end = at + len(member)
            members[guess] = member
            if values:
                values.pop(guess, None)
            guess, member = next(before, ("", ""))
        else:
            key, start = _key(text, at)
            values[key], end = _value(text, start, DEPTH_LIMIT - 2)
            members[key] = text[at:end]  # a key that stands twice: the last one counts, as for jq
            if key == guess:
                guess, member = next(before, ("", ""))
        if text.startswith(_BETWEEN, end):
            at = end + len(_BETWEEN)
            continue
        after = _NEXT.match(text, end)
        if after is None:
            raise ValueError("the next member, or the end, was to come")
        at = after.end()
        if not after[1]:
            return members, values, at


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """Return the value at `at` and where it ends; raises ValueError for one that is nested deeper than `depth`."""
    value, end = _DECODER.raw_decode(text, at)
    if text.count("[", at, end) + text.count("{", at, end) > depth and is_deeper(value, depth):
        raise ValueError("nested too deep")
    return value, end


def _key(text: str, at: int) -> tuple[str, int]:
    """Return the key at `at` and where its value begins."""
    plain = _PLAIN_KEY.match(text, at)
    if plain:
        return plain[1], plain.end()
    if not text.startswith('"', at):
        raise ValueError("a key was to come")
    key, end = _DECODER.raw_decode(text, at)
    return key, _found(_COLON.match(text, end)).end()


def _entry_of(member: str) -> Any:
    """Return the value of a member as text, `"handle": {...}`."""
    return _DECODER.raw_decode(member, _key(member, 0)[1])[0]


def _found(match: re.Match[str] | None) -> re.Match[str]:
    if match is None:
        raise ValueError("another sign was to come")
    return match


def _member(handle: str, entry: Any) -> str:
    return _escaped(f"{_json(handle)}: {_json(entry)}")


def _json(value: Any) -> str:
    """Return a value as JSON on one line; raises TypeError or ValueError for what JSON cannot say."""
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Number):
        return value.literal
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if value - value != 0:  # an infinity, or no number at all
            raise ValueError("JSON has no such number")
        return float.__repr__(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join([_json(one) for one in value]) + "]"
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return "{" + ", ".join([f"{encode_basestring(key)}: {_json(one)}" for key, one in value.items()]) + "}"
    raise TypeError(f"JSON has no {type(value).__name__}")


def _escaped(text: str) -> str:
    """Return JSON text in which each half of a surrogate pair, which UTF-8 cannot hold, is written as its escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    return text


def _integer(literal: str) -> int | Number:
    return int(literal) if len(literal) <= _INTEGER_DIGITS else Number.read(literal)


def _refuse(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is no JSON")


_DECODER = JSONDecoder(parse_float=Number.read, parse_int=_integer, parse_constant=_refuse)
