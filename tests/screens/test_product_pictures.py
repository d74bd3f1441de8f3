"""The pictures that README shows: each is what the product looks like now, and needs nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
NAMES = sorted(path.stem for path in PICTURES.glob("*.svg"))


def take(into: Path, *names: str) -> list[str]:
    """Take pictures in a process of its own, with other words and folders than a person's; return what was made."""
    others = {"TZ": "Asia/Tokyo", "NO_COLOR": "1", "SOT_SELF_HOST": "elsewhere", "COLUMNS": "40", "LANG": "C"}
    command = [sys.executable, "-m", "tools.pictures", "--into", str(into), *names]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | others, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(path.stem for path in into.glob("*.svg"))


@pytest.mark.parametrize("name", NAMES)
def test_picture_when_it_is_taken_anew_then_it_is_the_one_that_lies_here(name: str, tmp_path: Path) -> None:
    """When it is not: `make pictures`, and look at each before it is committed."""
    assert take(tmp_path, name) == [name]
    assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8") == (PICTURES / f"{name}.svg").read_text("utf-8")


def test_picture_when_all_are_taken_then_none_lies_here_besides(tmp_path: Path) -> None:
    assert take(tmp_path) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_picture_when_it_is_looked_at_then_it_fetches_nothing_and_names_no_machine(name: str) -> None:
    text = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    assert set(re.findall(r"\w+://[^\s\"')]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|@font-face|url\((?!#)|href=|/tmp/|sot-pictures", text)


def test_readme_when_it_is_opened_then_each_picture_is_shown_with_words_for_it() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = dict(re.findall(r'<img alt="([^"]{20,})" src="docs/pictures/([\w-]+)\.svg"', readme))
    also = re.findall(r'srcset="docs/pictures/([\w-]+)\.svg"', readme)
    assert sorted([*told.values(), *also]) == NAMES
    assert re.findall(r"docs/pictures/([\w-]+)", "\n".join(readme.splitlines()[:20]))
