"""Pictures of the screens: `assert app.export_screenshot(simplify=True) == svg` inside `run_test`.

The files lie in the top-level `snapshots/<test module>/`. Of the snapshot plug-in only the file format is used: as a
plug-in it would import Textual before `tests/conftest.py` has set what Textual reads when it is imported.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_textual_snapshot import SVGImageExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syrupy.assertion import SnapshotAssertion
    from syrupy.location import PyTestLocation

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"


@pytest.fixture
def one_time_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A person reads the clock of where they are; a picture is of one place."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


class Picture(SVGImageExtension):
    """A screen as SVG, one file a snapshot."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return the folder of a test module's pictures."""
        return str(SNAPSHOTS / test_location.basename)


class PlainText(SingleFileSnapshotExtension):
    """A screen as the text it shows, which can be read in a diff."""

    _file_extension = "txt"
    _write_mode = WriteMode.TEXT

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return the folder of a test module's texts."""
        return str(SNAPSHOTS / test_location.basename)


@pytest.fixture
def svg(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Return what a screen's picture is compared with."""
    return snapshot.use_extension(Picture)


@pytest.fixture
def txt(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Return what a screen's text is compared with."""
    return snapshot.use_extension(PlainText)
