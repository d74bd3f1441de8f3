"""What the tests of living agents stand on: the rows, as their own tests have them."""

from __future__ import annotations

from tests.rows.supervised import supervised

__all__ = ["supervised"]
