"""A command and its outcome as JSON: the values that cross `engine.client`, by their own names (docs/wire.md).

What goes out is encoded as it is: records by their fields, an enum by its name in lower case. What comes in is read
strictly by the types of the command's fields: a key that is not known, a field that is missing, a value of another type
is refused, so that nothing half understood is ever done.
"""

from __future__ import annotations

import types
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from sot_tui.engine import client
from sot_tui.engine.client import Command


class BadValue(Exception):
    """Something is no value of its type."""


@cache
def commands() -> dict[str, type[Command[Any]]]:
    """Return every command there is, by the name it has on the wire: `ClearDone` is `clear_done`."""
    found = (one for one in vars(client).values() if isinstance(one, type) and issubclass(one, Command))
    return {name_of(one): one for one in found if one is not Command}


def name_of(command: type[Command[Any]]) -> str:
    """Return a command's name on the wire."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in command.__name__).lstrip("_")


def encoded(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Enum):
        return value.name.lower()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encoded(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: encoded(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, list | tuple | set | frozenset):
        return [encoded(part) for part in value]
    if hasattr(value, "items"):
        return {str(key): encoded(part) for key, part in value.items()}
    return value


def decoded(kind: Any, said: Any) -> Any:
    """Return the value of a type that JSON names; raise BadValue for anything else."""
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind, said)
    if isinstance(kind, type) and issubclass(kind, Enum):
        found = [one for one in kind if one.name.lower() == said]
        if not found:
            raise BadValue(f"{said!r} is no {kind.__name__}")
        return found[0]
    if get_origin(kind) in {Union, types.UnionType}:
        return _either(get_args(kind), said)
    if get_origin(kind) is tuple and get_args(kind)[1:] == (...,):
        if not isinstance(said, list):
            raise BadValue("it is no list")
        return tuple(decoded(get_args(kind)[0], one) for one in said)
    if kind is float and isinstance(said, int) and not isinstance(said, bool):
        return float(said)
    if kind in {str, int, float, bool} and isinstance(said, kind) and (kind is bool or not isinstance(said, bool)):
        return said
    raise BadValue(f"{said!r} is no {getattr(kind, '__name__', kind)}")


def _either(kinds: tuple[Any, ...], said: Any) -> Any:
    if said is None and type(None) in kinds:
        return None
    others = [kind for kind in kinds if kind is not type(None)]
    if len(others) != 1:
        raise BadValue("it cannot be told which type is meant")
    return decoded(others[0], said)


def _record(kind: type[Any], said: Any) -> Any:
    if not isinstance(said, dict):
        raise BadValue(f"it is no object for {kind.__name__}")
    hints = get_type_hints(kind)
    known = {field.name: field for field in fields(kind)}
    unknown = said.keys() - known
    if unknown:
        raise BadValue(f"{kind.__name__} has no field {min(unknown)!r}")
    values = {}
    for name, field in known.items():
        if name in said:
            try:
                values[name] = decoded(hints[name], said[name])
            except BadValue as error:
                raise BadValue(f"{name}: {error}") from None
        elif field.default is MISSING and field.default_factory is MISSING:
            raise BadValue(f"{kind.__name__} needs {name!r}")
    return cast("Any", kind)(**values)
