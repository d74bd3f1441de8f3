"""What an agent tells a hook: one JSON object on stdin, read strictly and within bounds.

An agent that never closes the pipe, sends ten megabytes or something else than JSON must not hold its own turn up: the
read ends at a limit and at a deadline, and what is not one strict object is refused with a reason, so that the hook
does nothing. Halves of surrogate pairs, which stand in agents' JSON where they cut a text in the middle of a sign, are
the one thing taken leniently.
"""

from __future__ import annotations

import os

from sot_tui.comm.jsonline import NotStrict, decode_object
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from sot_tui.comm.clock import Clock

INPUT_LIMIT = 16 << 20
"""Bytes of a hook's input; what a tool gave back is part of it, and agents cut that far below."""
INPUT_DEADLINE_S = 3.0
"""Seconds an agent has to send it; it is ready before the hook starts."""

_PART = 1 << 16
_ESCAPES = rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
"""An escaped backslash, a pair, or a half of one."""


class Unfit(NamedTuple):
    """The input is none that a hook acts on."""

    why: str


class Input(NamedTuple):
    """One event as the agent tells it; a field of another kind than asked for counts as missing."""

    fields: dict[str, Any]

    def text(self, name: str) -> str:
        """Return a field that is a text, else nothing."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    def has_text(self, name: str) -> bool:
        """Tell whether a field is there and a text, be it an empty one."""
        return isinstance(self.fields.get(name), str)

    def is_true(self, name: str) -> bool:
        """Tell whether a field is true."""
        return self.fields.get(name) is True

    def below(self, name: str) -> Input:
        """Return a field that is an object, else an empty one."""
        value = self.fields.get(name)
        return Input(value if isinstance(value, dict) else {})

    def objects(self, name: str) -> list[Input]:
        """Return the objects in a field that is a list."""
        value = self.fields.get(name)
        return [Input(item) for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def receive(descriptor: int, clock: Clock) -> bytes | Unfit:
    """Return what comes from a descriptor until its end, or until the deadline."""
    import select  # noqa: PLC0415  (a pipe that is never closed must not hold the hook)

    deadline = clock.monotonic() + INPUT_DEADLINE_S
    parts: list[bytes] = []
    size = 0
    try:
        while True:
            left = deadline - clock.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                break
            part = os.read(descriptor, _PART)
            if not part:
                break
            size += len(part)
            if size <= INPUT_LIMIT:
                parts.append(part)  # the rest is read and forgotten, so that the agent can send it to its end
    except (OSError, ValueError) as error:
        return Unfit(f"it could not be read: {error}")
    if size > INPUT_LIMIT:
        return Unfit(f"more than {INPUT_LIMIT >> 20} MiB came in")
    return b"".join(parts) if parts else Unfit("nothing came in")


def read(data: bytes) -> Input | Unfit:
    """Return the event in `data`."""
    if b"\\ud" in data or b"\\uD" in data:
        import re  # noqa: PLC0415  (compiled only for an input that has such an escape)

        data = re.sub(_ESCAPES, lambda found: rb"\ufffd" if found[1] else found[0], data)
    try:
        return Input(decode_object(data, unique_keys=True))
    except NotStrict as error:
        return Unfit(error.sentence)
