"""What the tests of rows share; the rows themselves are in `supervised`, which other rooms use too."""

from __future__ import annotations

from tests.rows.supervised import supervised

__all__ = ["supervised"]
