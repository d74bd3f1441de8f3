"""The values that cross `engine.client` as JSON, by their own names (docs/wire.md): commands, outcomes, the fleet.

What goes out is encoded as it is: records by their fields, an enum by its name in lower case. What comes in is read
strictly by the types of its fields: a key that is not known, a field that is missing, a value of another type is
refused, so that nothing half understood is ever done, or shown.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, ForwardRef, Union, get_args, get_origin, get_type_hints

from sot_tui.comm.proc_locks import InboxLocks
from sot_tui.comm.registry_lock import Markers
from sot_tui.engine import client
from sot_tui.engine.client import Command

_NAMES = {"Mapping": Mapping, "InboxLocks": InboxLocks, "Markers": Markers}
"""What the fields of the values are said to be, where their modules name it for type checkers alone."""


_AS_IT_IS = frozenset({str, int, float, bool, type(None)})


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


@cache
def outcome_of(command: Any) -> Any:
    """Return the type of the outcome that a command has."""
    bases: tuple[Any, ...] = vars(command)["__orig_bases__"]
    (base,) = (base for base in bases if get_origin(base) is Command)
    (found,) = get_args(base)
    return vars(client)[found.__forward_arg__] if isinstance(found, ForwardRef) else found


def encoded(value: Any) -> Any:
    """Return a value as JSON has it."""
    if type(value) in _AS_IT_IS:
        return value
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
    if kind in {str, int, float, bool}:
        return _plain(kind, said)
    if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields")):
        return _record(kind, said)
    if isinstance(kind, type) and issubclass(kind, Enum):
        found = [one for one in kind if one.name.lower() == said]
        if not found:
            raise BadValue(f"{said!r} is no {kind.__name__}")
        return found[0]
    if kind is object:
        return said
    origin, args = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return _either(args, said)
    if origin is tuple:
        return _several(args, said)
    if origin is Mapping and args[0] is str:
        return _mapping(args[1], said)
    raise BadValue(f"{said!r} is no {getattr(kind, '__name__', kind)}")


def _plain(kind: Any, said: Any) -> Any:
    if kind is float and isinstance(said, int) and not isinstance(said, bool):
        return float(said)
    if isinstance(said, kind) and (kind is bool or not isinstance(said, bool)):
        return said
    raise BadValue(f"{said!r} is no {kind.__name__}")


def _several(kinds: tuple[Any, ...], said: Any) -> tuple[Any, ...]:
    if not isinstance(said, list):
        raise BadValue("it is no list")
    if kinds[1:] == (...,):
        return tuple(decoded(kinds[0], one) for one in said)
    if len(said) != len(kinds):
        raise BadValue(f"it has not {len(kinds)} parts")
    return tuple(decoded(kind, one) for kind, one in zip(kinds, said, strict=True))


def _mapping(kind: Any, said: Any) -> Mapping[str, Any]:
    if not isinstance(said, dict):
        raise BadValue("it is no object")
    return types.MappingProxyType({key: decoded(kind, one) for key, one in said.items()})


def _either(kinds: tuple[Any, ...], said: Any) -> Any:
    if said is None and type(None) in kinds:
        return None
    others = [kind for kind in kinds if kind is not type(None)]
    if len(others) != 1:
        raise BadValue("it cannot be told which type is meant")
    return decoded(others[0], said)


@cache
def hints(kind: Any) -> dict[str, Any]:
    """Return the types of a record's fields."""
    return get_type_hints(kind, localns=_NAMES)


@cache
def _needed(kind: Any) -> dict[str, bool]:
    """Return the fields of a record, and whether each has to be there."""
    if is_dataclass(kind):
        return {one.name: one.default is MISSING and one.default_factory is MISSING for one in fields(kind)}
    return {name: name not in kind._field_defaults for name in kind._fields}


def _record(kind: Any, said: Any) -> Any:
    if not isinstance(said, dict):
        raise BadValue(f"it is no object for {kind.__name__}")
    known, of = _needed(kind), hints(kind)
    unknown = said.keys() - known
    if unknown:
        raise BadValue(f"{kind.__name__} has no field {min(unknown)!r}")
    values = {}
    for name, needed in known.items():
        if name in said:
            try:
                values[name] = decoded(of[name], said[name])
            except BadValue as error:
                raise BadValue(f"{name}: {error}") from None
        elif needed:
            raise BadValue(f"{kind.__name__} needs {name!r}")
    return kind(**values)
