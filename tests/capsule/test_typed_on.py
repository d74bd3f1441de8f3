"""What is typed on a screen that was seen is typed on that screen, or not at all."""

from __future__ import annotations

import base64
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.capsule.process import until

if TYPE_CHECKING:
    from tests.capsule.process import CapsuleRow, Wire

pytestmark = pytest.mark.e2e

ECHO = """\
import os, sys, tty
tty.setraw(0)
os.write(1, b'up')
while data := os.read(0, 65536):
    os.write(1, b'<' + data.replace(b'\\x1b', b'E') + b'>')
"""


def _up(row: CapsuleRow) -> Wire:
    script = row.root / "echo.py"
    script.write_text(ECHO)
    wire = row.up(sys.executable, "-I", "-S", str(script))
    wire.shows("up")
    return wire


def _type_on(wire: Wire, text: str, seen: dict[str, Any]) -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    return wire.ask("type", data_b64=data, revision=seen["revision"], inputs=seen["inputs"])


def test_type_when_the_screen_is_as_it_was_seen_then_it_is_typed_and_is_no_person_s(row: CapsuleRow) -> None:
    wire = _up(row)
    seen = wire.ask("snapshot", since=-1)
    assert seen["person_s"] is None
    assert _type_on(wire, "line", seen)["accepted"] is True
    wire.shows("<line>")
    after = wire.ask("snapshot", since=-1)
    assert (after["inputs"], after["person_s"]) == (seen["inputs"], None)


def test_type_when_the_screen_is_another_one_then_nothing_is_typed(row: CapsuleRow) -> None:
    wire = _up(row)
    seen = wire.ask("snapshot", since=-1)
    assert _type_on(wire, "first", seen)["accepted"] is True
    wire.shows("<first>")
    assert _type_on(wire, "second", seen)["code"] == "moved"
    assert "second" not in wire.text()


@pytest.mark.parametrize(
    "typed",
    [
        {"op": "type", "data_b64": base64.b64encode(b"x").decode()},
        {"op": "keys", "keys": [["x", ""]]},
        {"op": "paste", "text": "x"},
        {"op": "paste", "text": "x", "part": "first"},
    ],
)
def test_type_when_a_person_typed_since_the_look_then_nothing_is_typed(row: CapsuleRow, typed: dict[str, Any]) -> None:
    """A key that the agent has not drawn yet changes no screen, so it is the count of inputs that tells."""
    wire = _up(row)
    seen = wire.ask("snapshot", since=-1)
    assert wire.ask(**typed)["accepted"] is True
    revision = until(lambda: "x" in wire.text() and wire.ask("snapshot", since=-1), "the key is drawn")["revision"]
    assert _type_on(wire, "line", {**seen, "revision": revision})["code"] == "moved"
    after = wire.ask("snapshot", since=-1)
    assert after["inputs"] == seen["inputs"] + 1
    assert after["person_s"] >= 0
    assert "line" not in wire.text()
