"""The golden tables about mail, row by row through the functions: the hash of a line, and the unread count."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from sot_tui.comm import cursor, frames
from tests.golden.tables import rows

HANDLE = "alpha-boxx"


def _bytes(row: dict[str, Any]) -> bytes:
    if "base64" in row:
        return base64.b64decode(row["base64"])
    return "".join(line + "\n" for line in row["lines"]).encode()


@pytest.mark.parametrize("row", rows("line-hash"), ids=lambda row: row["hash"])
def test_line_hash_when_a_golden_row_then_the_same(row: dict[str, Any]) -> None:
    line = base64.b64decode(row["base64"]) if "base64" in row else row["line"].encode()
    assert cursor.line_hash(line) == row["hash"]


@pytest.mark.parametrize("row", rows("unread"), ids=lambda row: row["what"])
def test_unread_when_a_golden_row_then_the_same_count(row: dict[str, Any]) -> None:
    inbox = _bytes(row)
    at = cursor.offset((row["cursor"] or "").encode(), inbox)
    lines = inbox.split(b"\n")[:-1]
    assert len(lines) == row["total"]
    unread = sum(frames.counts(line, HANDLE) for line in lines[at.lines :])
    # A line that is not strict JSON may be counted by one client and not by another: the contract allows both.
    assert unread == row["unread"] or (not row.get("strict_json", True) and unread == 0)
