"""What has changed from one fleet to the next, as a window in another process is told of it.

A fleet of a thousand handles takes half a megabyte, and a change of it is one line of that: so each window is told what
is another than in the fleet it was last given, the first time against an empty one. Nothing is lost on the way:
`applied(was, changes(was, newer)) == newer`, the order of every mapping included. What is not understood is refused.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from sot_tui.comm.fleet import Fleet
from sot_tui.engine.ops import values
from sot_tui.engine.ops.values import BadValue


def changes(was: Fleet, newer: Fleet) -> dict[str, Any]:
    """Return what makes the newer fleet of an older one; empty when they are equal."""
    found: dict[str, Any] = {}
    for name, before, after in zip(Fleet._fields, was, newer, strict=True):
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            said = _mapping_changes(before, after)
            if said:
                found[name] = said
        elif before is not after and before != after:
            found[name] = values.encoded(after)
    return found


def _mapping_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    if before is after:
        return {}
    put = {key: one for key, one in after.items() if key not in before or _differs(before[key], one)}
    gone = [key for key in before if key not in after]
    said: dict[str, Any] = {}
    if put:
        said["put"] = {key: values.encoded(one) for key, one in put.items()}
    if gone:
        said["gone"] = gone
    order = list(after)
    if [*(key for key in before if key in after), *(key for key in put if key not in before)] != order:
        said["order"] = order
    return said


def _differs(one: object, other: object) -> bool:
    return one is not other and one != other


def applied(was: Fleet, said: Any) -> Fleet:
    """Return the fleet that these changes make of an older one; raises BadValue for what is no change of a fleet."""
    if not isinstance(said, dict) or not said.keys() <= set(Fleet._fields):
        raise BadValue("it is no change of a fleet")
    kinds = values.hints(Fleet)
    new: dict[str, Any] = {}
    for name, change in said.items():
        before = getattr(was, name)
        if isinstance(before, Mapping):
            new[name] = _mapping_applied(kinds[name], before, change)
        else:
            new[name] = values.decoded(kinds[name], change)
    return was._replace(**new)


def _mapping_applied(kind: Any, before: Mapping[str, Any], said: Any) -> Mapping[str, Any]:
    if not isinstance(said, dict) or not said.keys() <= {"put", "gone", "order"}:
        raise BadValue("it is no change of a mapping")
    gone = frozenset(values.decoded(tuple[str, ...], said.get("gone", [])))
    found = {key: one for key, one in before.items() if key not in gone}
    found.update(values.decoded(kind, said.get("put", {})))
    if "order" in said:
        order = values.decoded(tuple[str, ...], said["order"])
        if found.keys() != set(order) or len(found) != len(order):
            raise BadValue("its order names other keys than it has")
        found = {key: found[key] for key in order}
    return types.MappingProxyType(found)
