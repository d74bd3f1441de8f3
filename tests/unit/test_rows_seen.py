"""The rows of this box's daemon, as an engine that only looks asks for them: what is not said is not none."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from sot_tui.comm.home import Home
from sot_tui.engine import observe
from sot_tui.engine.observe import Observer

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_rows_when_no_daemon_is_there_then_there_are_none(comm_home: Path) -> None:
    assert Observer(Home(str(comm_home))).rows(os.environ, "box") == ()


def test_rows_when_the_daemon_does_not_answer_then_they_are_not_known(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe, "ROWS_SECS", 0.1)
    path = str(comm_home.parent / "mute.sock")
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(path)
        mute.listen()
        assert Observer(Home(str(comm_home))).rows({**os.environ, "SOT_SOCKET": path}, "box") is None
