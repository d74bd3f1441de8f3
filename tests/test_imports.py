"""What each room may load, seen in a fresh interpreter: what really happens, beside what the import contracts say.

A verb is started by every hook of every session, so one careless import on the way doubles what a turn pays. Modules
are found by looking, so a new one is weighed from its first day.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import sot_tui

PACKAGE = Path(sot_tui.__file__).parent

SCREEN = frozenset({"textual", "rich"})
"""What only the screens may load."""
HEAVY = SCREEN | {"asyncio", "watchfiles", "pyte", "pexpect", "ptyprocess", "logging", "urllib.request"}
HEAVY |= {"dataclasses", "tomllib"}
"""What nothing light may load, not even while it works."""
DEAR = frozenset({"inspect", "pathlib", "subprocess"})
"""What costs a verb more than it gives; a function that cannot do without one imports it there."""


class Weight(NamedTuple):
    """What the modules of a room may not load, and which rooms they may reach."""

    never: frozenset[str]
    reaches: frozenset[str]
    standard_library_only: bool = False


ROOMS = {
    "comm": Weight(HEAVY | DEAR, frozenset({"comm"}), standard_library_only=True),
    "verbs": Weight(HEAVY | DEAR, frozenset({"comm", "notify", "verbs"}), standard_library_only=True),
    "wake": Weight(SCREEN | {"asyncio", "socket"}, frozenset({"comm", "wake"})),
    "notify": Weight(SCREEN, frozenset({"comm", "notify"})),
    "engine": Weight(SCREEN, frozenset({"comm", "wake", "notify", "engine"})),
}
"""The rooms that are held to a weight. The screens are not: they draw."""
CAPSULE = Weight(SCREEN | {"asyncio", "watchfiles", "logging", "dataclasses"}, frozenset({"comm", "wake", "engine"}))
"""The process that every row has: what it loads, each of sixty pays for."""
NOT_IN_A_CAPSULE = frozenset({"sot_tui.engine.service", "sot_tui.engine.client", "sot_tui.engine.rows.lane"})
"""The engine's own parts, which have no place in a row's process."""


def _modules() -> list[tuple[str, str]]:
    found = []
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            found.append((room, ".".join(parts).removesuffix(".__init__")))
    return found


def _verbs() -> list[str]:
    paths = sorted((PACKAGE / "verbs").glob("*.py"))
    return [path.stem.replace("_", "-") for path in paths if not path.stem.startswith("_")]


def _check(loaded: list[str], weight: Weight) -> None:
    assert not [name for name in loaded if any((name + ".").startswith(heavy + ".") for heavy in weight.never)]
    assert {name.split(".")[1] for name in loaded if name.startswith("sot_tui.")} - {"cli"} <= weight.reaches
    if weight.standard_library_only:
        assert {name.partition(".")[0] for name in loaded} <= sys.stdlib_module_names | {"sot_tui"}


@pytest.mark.parametrize(("room", "module"), _modules(), ids=lambda word: word)
def test_module_when_imported_alone_then_it_loads_nothing_its_room_may_not(room: str, module: str) -> None:
    code = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]); "
        "__import__(sys.argv[2]); print(*sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code, str(PACKAGE.parent), module], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    _check(ran.stdout.split(), ROOMS[room])


def test_capsule_when_loaded_then_it_holds_nothing_of_the_engine_or_the_screens() -> None:
    """Product, architecture: the capsule loads no textual, rich, watchfiles, asyncio, screens, notify or service."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import sot_tui.engine.rows.capsule; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code, str(PACKAGE.parent)], capture_output=True, text=True, check=True
    )
    _check(ran.stdout.split(), CAPSULE)
    assert not NOT_IN_A_CAPSULE & set(ran.stdout.split())


@pytest.mark.parametrize("verb", _verbs())
def test_verb_when_run_through_the_door_then_the_whole_run_stays_light(verb: str, comm_home: Path) -> None:
    """The door, the verb, and what both import while they work; without arguments, which is how most are called."""
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from sot_tui.cli import main; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", "-c", code, str(PACKAGE.parent), verb],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        cwd=comm_home.parent,
    )
    assert "Traceback" not in ran.stderr
    names = [line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")]
    ours = names[names.index("sot_tui") :]  # what stands before it, the interpreter loads for itself
    assert f"sot_tui.verbs.{verb.replace('-', '_')}" in ours
    _check(ours, ROOMS["verbs"]._replace(never=HEAVY))


def test_package_files_when_read_then_they_hold_a_docstring_and_nothing_else() -> None:
    """Importing any module runs the `__init__` files above it, so they may cost nothing."""
    for path in PACKAGE.rglob("__init__.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert len(body) == 1, path
        assert isinstance(body[0], ast.Expr), path
        assert isinstance(body[0].value, ast.Constant), path
