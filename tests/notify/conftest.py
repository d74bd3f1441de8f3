"""A topic for each test that sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.notify import ntfy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def topic() -> Iterator[ntfy.Ntfy]:
    with ntfy.serving() as served:
        yield served


@pytest.fixture
def room(_away_from_home: Path) -> Path:
    """Return a folder of this test's own, short enough for a socket; its environment lies in it."""
    return _away_from_home
