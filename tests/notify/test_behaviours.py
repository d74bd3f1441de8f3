"""Every behaviour of the notifier's reference, section 12, is a test named after it; none is lost by renaming."""

from __future__ import annotations

import ast
import re
from pathlib import Path

COUNT = 80
"""Behaviours B01 to B80."""


def test_behaviours_when_counted_then_each_of_them_names_a_test() -> None:
    named = {
        number
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        for number in re.findall(r"_b(\d\d)(?=_)", node.name)
    }
    assert named == {f"{number:02}" for number in range(1, COUNT + 1)}
