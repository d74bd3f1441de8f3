"""Records: they behave as the named tuples that a type checker takes them for."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from sot_tui.comm import light


class Light(light.NamedTuple):
    """A record of three."""

    one: int
    two: str = "b"
    three: object = None

    @property
    def both(self) -> str:
        return f"{self.one}{self.two}"

    def louder(self) -> Light:
        return self._replace(two=self.two.upper())


class Heavy(typing.NamedTuple):
    """The same, by the standard library."""

    one: int
    two: str = "b"
    three: object = None


GIVEN: list[tuple[tuple[object, ...], dict[str, object]]] = [
    ((1,), {}),
    ((1, "x"), {}),
    ((1, "x", 3.0), {}),
    ((), {"one": 1}),
    ((1,), {"three": 3}),
    ((), {"three": 3, "two": "x", "one": 1}),
]
WRONG: list[tuple[tuple[object, ...], dict[str, object]]] = [
    ((), {}),
    ((), {"two": "x"}),
    ((1, 2, 3, 4), {}),
    ((1,), {"one": 1}),
    ((1,), {"four": 4}),
    ((1, 2, 3), {"three": 3}),
]


@pytest.mark.parametrize(("args", "named"), GIVEN)
def test_record_when_made_then_as_a_named_tuple(args: tuple[typing.Any, ...], named: dict[str, typing.Any]) -> None:
    ours, theirs = Light(*args, **named), Heavy(*args, **named)
    assert tuple(ours) == tuple(theirs)
    assert (ours.one, ours.two, ours.three) == (theirs.one, theirs.two, theirs.three)
    assert repr(ours) == repr(theirs).replace("Heavy", "Light")
    assert ours._asdict() == theirs._asdict()
    assert hash(ours) == hash(theirs)
    assert ours == Light._make(theirs)
    assert pickle.loads(pickle.dumps(ours)) == copy.deepcopy(ours) == ours
    assert type(pickle.loads(pickle.dumps(ours))) is Light


@pytest.mark.parametrize(("args", "named"), WRONG)
@pytest.mark.parametrize("kind", [Light, Heavy])
def test_record_when_made_of_wrong_fields_then_it_is_refused(
    kind: typing.Any, args: tuple[object, ...], named: dict[str, object]
) -> None:
    with pytest.raises(TypeError):
        kind(*args, **named)


@pytest.mark.parametrize("kind", [Light, Heavy])
def test_record_when_replaced_in_then_only_known_fields(kind: typing.Any) -> None:
    assert kind(1)._replace(three=3, one=2) == (2, "b", 3)
    assert type(kind(1)._replace()) is kind
    with pytest.raises((ValueError, TypeError)):
        kind(1)._replace(four=4)


@pytest.mark.parametrize("kind", [Light, Heavy])
def test_record_when_set_then_it_is_frozen(kind: typing.Any) -> None:
    record = kind(1)
    with pytest.raises(AttributeError):
        record.one = 2
    with pytest.raises(AttributeError):
        record.four = 4


def test_record_when_it_has_methods_and_words_then_they_stay() -> None:
    assert Light(1).both == "1b"
    assert Light(1).louder() == Light(1, "B")
    assert Light.__doc__ == "A record of three."
    assert Light._fields == Heavy._fields
    assert Light._field_defaults == Heavy._field_defaults
    match Light(1, "x"):
        case Light(one, two):
            assert (one, two) == (1, "x")


def test_record_when_its_fields_are_out_of_order_or_its_bases_many_then_it_is_refused() -> None:
    maker: typing.Any = type(light.NamedTuple)
    with pytest.raises(TypeError, match="without a default"):
        maker("Bad", (light.NamedTuple,), {"__annotations__": {"a": "int", "b": "int"}, "a": 1})
    with pytest.raises(TypeError, match="no other base"):
        maker("Bad", (light.NamedTuple, Path), {})


def test_ground_floor_when_imported_then_typing_is_not() -> None:
    """It costs a verb a sixth of its time."""
    rooms = [f"sot_tui.{room}.{path.stem}" for room in ("comm", "verbs") for path in _modules(room)]
    code = f"import sys; [__import__(name) for name in {rooms!r}]; print('typing' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def _modules(room: str) -> list[Path]:
    import sot_tui

    return sorted((Path(sot_tui.__file__).parent / room).glob("[a-z_]*.py"))
