"""What is said to be kept was flushed first: the calls of a real process, as the kernel was asked for them.

At the seam every step is failed and crashed; whether the real disk really flushes is seen here alone (contract,
Delivery: "Filed" means kept, the line is flushed to disk before the answer).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.box import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.box import Box

pytestmark = pytest.mark.e2e
_CALLS = "trace=openat,write,fsync,fdatasync,rename,renameat,renameat2,link,linkat,close"


def calls(box: Box, tmp_path: Path, *words: str) -> list[str]:
    """Run a command, and return what it asked of the kernel, its descriptors shown as paths."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    told = [strace, "-f", "-y", "-s", "60", "-e", _CALLS, "-o", str(trace), COMMAND, *words]
    ran = subprocess.run(told, cwd=box.work, env=box.env, capture_output=True, text=True, check=False)
    if "ptrace" in ran.stderr:
        pytest.skip(f"nothing may be traced here: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr
    return trace.read_text(encoding="utf-8", errors="replace").splitlines()


def at(lines: list[str], pattern: str, after: int = 0) -> int:
    """Return where a call is, from a place on."""
    found = next((number for number in range(after, len(lines)) if re.search(pattern, lines[number])), None)
    assert found is not None, f"{pattern} is not there:\n" + "\n".join(lines[-60:])
    return found


def test_send_when_filed_then_the_line_and_its_files_name_were_flushed_before_the_word(
    joined: Box, tmp_path: Path
) -> None:
    lines = calls(joined, tmp_path, "send", "@beta-box", "keep this")
    written = at(lines, r"write\(\d+<[^>]*inbox/beta-box\.jsonl>.*")
    flushed = at(lines, r"f(data)?sync\(\d+<[^>]*inbox/beta-box\.jsonl>\) += 0", written)
    named = at(lines, r"fsync\(\d+<[^>]*/inbox>\) += 0", flushed)  # its first line: the file is new
    at(lines, r"write\(1<.*filed -> @beta-box", named)
    again = calls(joined, tmp_path, "send", "@beta-box", "and this")
    flushed = at(
        again, r"f(data)?sync\(\d+<[^>]*inbox/beta-box\.jsonl>\) += 0", at(again, r"write\(.*beta-box\.jsonl>")
    )
    at(again, r"write\(1<.*filed -> @beta-box", flushed)


def test_status_when_written_then_the_registry_was_flushed_before_it_took_its_place(
    joined: Box, tmp_path: Path
) -> None:
    lines = calls(joined, tmp_path, "status", "working", "a note")
    written = at(lines, r"write\(\d+<[^>]*registry\.json\.tmp>")
    flushed = at(lines, r"f(data)?sync\(\d+<[^>]*registry\.json\.tmp>\) += 0", written)
    at(lines, r'rename(at2?)?\(.*registry\.json\.tmp".*registry\.json"', flushed)


def test_poll_when_it_moves_the_cursor_then_that_was_flushed_before_it_took_its_place(
    joined: Box, tmp_path: Path
) -> None:
    joined.mail(b'{"from":"beta-box","to":"alpha-box","repo":"r","msg":"m","ts":"2026-05-29T18:04:00Z"}\n')
    lines = calls(joined, tmp_path, "poll")
    draft = r"read/\.alpha-box\.cursor\.\d+\.\d+"
    flushed = at(lines, rf"f(data)?sync\(\d+<[^>]*{draft}>\) += 0", at(lines, rf"write\(\d+<[^>]*{draft}>"))
    at(lines, rf'rename(at2?)?\(.*{draft}".*alpha-box\.cursor"', flushed)


def test_any_verb_when_it_is_over_then_it_has_closed_what_it_opened(joined: Box, tmp_path: Path) -> None:
    """A daemon does the same thousands of times a day."""
    for words in (("send", "@beta-box", "x"), ("status", "idle"), ("list",), ("poll",)):
        open_now: dict[str, str] = {}
        for line in calls(joined, tmp_path, *words):
            if found := re.search(r"openat\(.*\) = (\d+)<([^>]*)>", line):
                open_now[found[1]] = found[2]
            elif found := re.search(r"close\((\d+)<", line):
                open_now.pop(found[1], None)
        comm = str(joined.comm)
        assert not [path for path in open_now.values() if path.startswith(comm)], words
