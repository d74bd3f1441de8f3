"""The terminal of a row as both clients open it: live from its capsule, or what its last run left on disk."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from sot_tui.comm import paths
from sot_tui.comm.disk import Disk
from sot_tui.engine.client import NotLive
from sot_tui.engine.rows import last_screen, voyage
from sot_tui.engine.rows.lane import PASTE_CHARS, Lane
from sot_tui.engine.rows.viewing import viewer_of
from tests.capsule.process import CapsuleRow, alive, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
READER = """
import os, sys, tty
tty.setraw(0)
os.write(1, b'\\x1b[?2004hup\\r\\n')
with open(sys.argv[1], 'ab', buffering=0) as file:
    while data := os.read(0, 65536):
        file.write(data)
"""
"""An agent in raw mode that writes down every byte it reads."""


@pytest.fixture
def row(comm_home: Path) -> Iterator[CapsuleRow]:
    """Return a row that has never run, where the engine looks for rows."""
    one = CapsuleRow(comm_home.parent)
    one.folder = Path(paths.row_folder(os.environ, "ws-1"))
    yield one
    one.clean()


async def in_thread(function: Callable[[], T]) -> T:
    return await asyncio.to_thread(function)


async def looked() -> Lane | NotLive:
    return await viewer_of(Disk(), os.environ, "ws-1", in_thread)


async def live() -> Lane:
    found = await looked()
    assert isinstance(found, Lane), found
    return found


async def test_viewer_when_the_row_runs_then_it_is_its_capsules_own_terminal(row: CapsuleRow) -> None:
    row.up("sh", "-c", "echo up; exec cat").shows("up")
    lane = await live()
    assert (await lane.status()).row == str(row.folder)
    assert "".join(cell.data for cell in (await lane.snapshot()).screen.rows[0]).startswith("up")
    await lane.close()


@pytest.mark.parametrize("row_id", ["ws-2", "../ws-1", "", "a/b"])
async def test_viewer_when_there_is_no_such_row_then_it_is_refused(row: CapsuleRow, row_id: str) -> None:
    row.up("cat")
    found = await viewer_of(Disk(), os.environ, row_id, in_thread)
    assert isinstance(found, NotLive)
    assert found.sentence in {"it has never run", f"unknown workspace: {row_id}"}


async def test_viewer_when_the_agent_has_ended_then_its_last_screen_and_its_end_are_told(row: CapsuleRow) -> None:
    """Product, Rows: a row whose agent ended stays in the nav with its last screen and exit."""
    assert row.start("sh", "-c", "echo the last words; exit 3").code == 0  # and no lane: it may be over by then
    row.ended()
    found = await looked()
    assert isinstance(found, NotLive)
    assert found.sentence == "it exited with 3"
    assert found.screen is not None
    assert "".join(cell.data for cell in found.screen.rows[0]).rstrip() == "the last words"


async def test_viewer_when_the_last_screen_cannot_be_read_then_that_is_said_and_no_other_one_shown(
    row: CapsuleRow,
) -> None:
    run = row.start("sh", "-c", "echo words").run
    row.ended()
    file = Path(voyage.folder(str(row.folder), run), last_screen.FILE)
    file.write_text(file.read_text()[:-20])
    found = await looked()
    assert isinstance(found, NotLive)
    assert "is damaged" in found.sentence
    assert found.screen is None
    file.unlink()
    assert await looked() == NotLive("it exited with 0; no screen was kept", None, row.ended().ended)


async def test_viewer_when_the_capsule_was_killed_then_its_end_is_not_made_up(row: CapsuleRow) -> None:
    row.up("cat")
    os.kill(row.pids[0], signal.SIGKILL)
    until(lambda: not alive(row.pids[0]), "it is gone")
    found = await looked()
    assert found == NotLive("its capsule is gone, and has not said how its run ended; no screen was kept")


async def test_viewer_when_the_capsule_is_there_and_silent_then_it_is_not_taken_for_ended(row: CapsuleRow) -> None:
    row.up("cat")
    os.kill(row.pids[0], signal.SIGSTOP)
    try:
        found = await looked()
    finally:
        os.kill(row.pids[0], signal.SIGCONT)
    assert isinstance(found, NotLive)
    assert found.sentence.startswith("the capsule is gone: no answer") or "no capsule answers" in found.sentence
    assert found.screen is None


async def test_paste_when_it_is_longer_than_a_lane_takes_then_it_arrives_whole(row: CapsuleRow) -> None:
    script, file = row.root / "reader.py", row.root / "read.bin"
    script.write_text(READER)
    row.up(sys.executable, "-I", str(script), str(file)).shows("up")
    lane = await live()
    text = "".join(f"line {at} é\r\n" for at in range(80_000))
    assert len(text) > 1_000_000
    assert any(text[at - 1 : at + 1] == "\r\n" for at in range(PASTE_CHARS, len(text), PASTE_CHARS)), "a cut between"
    assert await lane.paste(text) == ""
    wanted = b"\x1b[200~" + text.replace("\r\n", "\r").encode() + b"\x1b[201~"
    async with asyncio.timeout(20):
        while file.stat().st_size < len(wanted):  # noqa: ASYNC110  (a file of another process)
            await asyncio.sleep(0.01)
    assert file.read_bytes() == wanted
    await lane.close()


async def test_paste_when_the_agent_stops_reading_then_how_much_went_is_said(
    row: CapsuleRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sot_tui.engine.rows.lane.PASTE_WAIT_SECS", 0.3)
    row.up("sh", "-c", "stty raw -echo; echo up; exec sleep 1000").shows("up")
    lane = await live()
    said = await lane.paste("x" * 1_000_000)
    assert said.endswith("of 1000000 characters were pasted, and then: its agent does not read what is typed; "
                         "nothing was typed")  # fmt: skip
    await lane.close()
