"""Boxes for the tests that need more than one; where the kernel makes none, each such test is skipped in its words."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.boxes import rig as rigs

if TYPE_CHECKING:
    from collections.abc import Iterator

refusal = cache(rigs.refusal)


@pytest.fixture
def rig() -> Iterator[rigs.Rig]:
    """Return a rig with no box yet."""
    if refusal():
        pytest.skip(f"no boxes can be made here: {refusal()}")
    folder = Path(tempfile.mkdtemp(prefix="sot-", dir="/tmp"))
    rig = rigs.Rig(folder)
    yield rig
    rig.end()
    shutil.rmtree(folder, ignore_errors=True)
