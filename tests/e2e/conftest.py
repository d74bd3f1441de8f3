"""What the end-to-end tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.box import Box
from tests.e2e.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def open_dashboard(comm_home: Path) -> Iterator[Callable[[], Terminal]]:
    """Return what opens the dashboard in a terminal; it is open when its operator has joined."""
    opened: list[Terminal] = []

    def start() -> Terminal:
        terminal = Terminal(comm_home.parent)
        opened.append(terminal)
        terminal.until(lambda: terminal.says("operator-box"), "the operator has joined")
        terminal.until(lambda: terminal.says("● free"), "the lock is looked at")
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture
def box(comm_home: Path) -> Box:
    """Return a box with nothing on it yet."""
    return Box(comm_home.parent)


@pytest.fixture
def joined(box: Box) -> Box:
    """Return a box with alpha and beta on it."""
    box.join()
    return box
