"""What every test stands on: a home of its own, Hypothesis as wanted here, and a Textual that always looks the same.

No test may touch the person's own folders, so the environment is turned away from them before each test, and cleared of
every word that would make a test behave as the session it was started from.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# Textual reads these when it is imported, which is after this file.
os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ.pop("TEXTUAL_THEME", None)

# A flush takes as long as the disk needs, so no example has a deadline. In CI the same examples come each time.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# Who starts the tests in the background may have them ignore these, and every program below them would do so too.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

_SAID_BY_A_SESSION = ("SOT_", "COMM_", "CLAUDE", "CODEX", "STEWARD_")


@pytest.fixture(autouse=True)
def _away_from_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the test folders of its own, on a path short enough for a socket (107 bytes at most)."""
    for name in list(os.environ):
        if name.startswith(_SAID_BY_A_SESSION):
            monkeypatch.delenv(name)
    # As after `make install`: a command that is shown names this one.
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="sot-", dir="/tmp")))
    monkeypatch.setenv("SOT_COMM_HOME", str(folder / "comm"))
    for name, below in (
        ("HOME", "home"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_RUNTIME_DIR", "run"),
    ):
        (folder / below).mkdir(mode=0o700)
        monkeypatch.setenv(name, str(folder / below))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def comm_home(_away_from_home: Path) -> Path:
    """Return where the comm home of this test is; nothing is there until something makes it."""
    return _away_from_home / "comm"
