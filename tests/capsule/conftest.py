"""Rows of real capsules, in folders of the test's own; every process of theirs is gone afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.capsule.process import CapsuleRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def row(comm_home: Path) -> Iterator[CapsuleRow]:
    """Return a row that has never run."""
    one = CapsuleRow(comm_home.parent)
    yield one
    one.clean()
