"""An older version's waiter beside our lock (contract, Older peers)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.registry_lock import Held, LockIs, NotTaken, Wait, look, release, take


def test_older_waiter_when_our_lock_stands_then_its_mkdir_fails_and_ours_stays(tmp_path: Path) -> None:
    """ "An older waiter's mkdir fails on the file and waits as before."."""
    home = Home(str(tmp_path))
    ensure_home(home)
    held = take(home, Wait.HEARTBEAT)
    assert isinstance(held, Held)
    record = Path(home.lock).read_bytes()
    with pytest.raises(FileExistsError):
        os.mkdir(home.lock)
    assert Path(home.lock).read_bytes() == record
    release(home, held)
    os.mkdir(home.lock)
    assert look(home).state is LockIs.OLDER_VERSION
    assert isinstance(take(home, Wait.HEARTBEAT), NotTaken)
    assert os.path.isdir(home.lock)
