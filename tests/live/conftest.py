"""What the tests of living agents stand on: the rows and the dashboard, as their own tests have them."""

from __future__ import annotations

from tests.e2e.conftest import open_dashboard
from tests.rows.supervised import supervised

__all__ = ["open_dashboard", "supervised"]
