"""What the light modules use of `typing`, without importing it.

That import takes a third of a whole bare interpreter, and each named tuple it makes takes as long as ten of these; a
verb is started by every hook of every session and pays for both. A type checker sees `typing` itself. At run time a
record behaves as a named tuple: the same fields, order, equality, `_replace`, pattern and pickle. Only `comm` and
`verbs` need it.
"""

from __future__ import annotations

__all__ = ["TYPE_CHECKING", "NamedTuple", "NewType", "Protocol"]

TYPE_CHECKING = False
"""False when the program runs; every type checker takes a name like this one for true."""

if TYPE_CHECKING:
    from typing import NamedTuple, NewType, Protocol
else:
    # What reads a field by its place, as `collections.namedtuple` has it too; it is faster than a property.
    try:
        from _collections import _tuplegetter as _field
    except ImportError:  # not CPython
        from operator import itemgetter

        def _field(place: int, doc: str) -> property:
            return property(itemgetter(place), doc=doc)

    class _RecordMaker(type):
        """Makes a tuple with named fields of each class that names `NamedTuple` as its base."""

        def __new__(mcs, name, bases, namespace):
            if not bases:
                return super().__new__(mcs, name, bases, namespace)
            if bases != (NamedTuple,):
                raise TypeError("a record has no other base")
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = {field: namespace.pop(field) for field in fields if field in namespace}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError("a field without a default stands behind one that has one")
            for place, field in enumerate(fields):
                namespace[field] = _field(place, field)
            namespace.update(_METHODS)
            namespace.update(__slots__=(), __match_args__=fields, _fields=fields, _field_defaults=defaults)
            return type(name, (tuple,), namespace)

    class NamedTuple(metaclass=_RecordMaker):
        """Base of the records of this room."""

    def _new(cls, /, *args, **named):
        fields = cls._fields
        if named or len(args) != len(fields):
            args = _filled(cls, args, named)
        return tuple.__new__(cls, args)

    def _filled(cls, args, named):
        """Return the values of all fields, or say which one is missing, unknown or given twice."""
        left = cls._fields[len(args) :]
        values = {**cls._field_defaults, **named}
        if len(args) <= len(cls._fields) and named.keys() <= set(left):
            try:
                return (*args, *[values[field] for field in left])
            except KeyError:
                pass  # said below
        missing = [field for field in left if field not in values]
        unknown = [field for field in named if field not in left]
        wrong = ", ".join(repr(field) for field in missing + unknown) or "too many values"
        raise TypeError(f"{cls.__name__}() was given {len(args)} values by place; wrong or missing: {wrong}")

    def _make(cls, values):
        return cls(*values)

    def _replace(self, /, **named):
        unknown = [field for field in named if field not in self._fields]
        if unknown:
            raise ValueError(f"Got unexpected field names: {unknown!r}")
        return tuple.__new__(type(self), (named.get(field, own) for field, own in zip(self._fields, self, strict=True)))

    def _asdict(self):
        return dict(zip(self._fields, self, strict=True))

    def _repr(self):
        said = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({said})"

    def _newargs(self):
        return tuple(self)

    _METHODS = {
        "__new__": _new,
        "_make": classmethod(_make),
        "_replace": _replace,
        "_asdict": _asdict,
        "__repr__": _repr,
        "__getnewargs__": _newargs,
    }

    class Protocol:
        """Says what a seam offers; nothing is checked at run time."""

    def NewType(name, of):  # noqa: N802, ARG001  (typing's own name and words)
        """Return the type itself: the new one is for the checker alone."""
        return of
