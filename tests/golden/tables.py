"""The rows of the golden tables, for unit tests: `rows("live")` are the rows of `*-table-live.json`, in their order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES = Path(__file__).parents[1] / "data" / "golden" / "client"
"""Every golden case, one file each."""


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of one table; its `description` in the file names the columns."""
    (path,) = CASES.glob(f"*-table-{name}.json")
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return found
