"""A dashboard's seat: it hosts, is a client, or looks and says why; and takes over when the engine is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import ancestry, daemon_lock, paths
from sot_tui.comm.disk import Disk
from sot_tui.comm.fleet import Fleet, RowSeen, Stance
from sot_tui.comm.home import Home
from sot_tui.engine import fold
from sot_tui.engine.client import ClearDone, Outcome, ReadEvents, SetAside, What
from sot_tui.engine.executors import Pool
from sot_tui.engine.leaving import Leaving
from sot_tui.engine.seat import Seat
from tests.screens.real import DEADLINE_SECS, entry, put
from tests.unit.test_clients import DONE, environ, until

if TYPE_CHECKING:
    from collections.abc import Iterator

TAKEN_OVER_SECS = 3.0
"""Product: another dashboard has the duties within three seconds."""


def seat(home: Home) -> Seat:
    # The test itself may run below an agent; who is a person is tested by processes of their own.
    return Seat(home, environ(), no_person=lambda _home, _pid: "")


async def test_seat_when_it_is_the_first_then_hosts_and_the_second_is_its_client_in_full(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE)
    async with seat(home) as first, seat(home) as second:
        assert (first.fleet.stance, second.fleet.stance) == (Stance.HOST, Stance.HOST)
        await until(lambda: "operator-box" in second.fleet.agents, "the join")
        assert (await second.do(ClearDone("anna"))).good
        assert "done" not in entry(home, "anna")
        await until(lambda: fold._seen(first.fleet) == fold._seen(second.fleet), "the very same fleet")
        lines = (await second.do(ReadEvents())).lines
        assert sum(line.what is What.OPERATOR for line in lines) == 1
        told: list[None] = []
        second.listen(lambda: told.append(None))()
        put(comm_home, bob=DONE)
        await until(lambda: "bob" in second.fleet.agents, "it is live")
        assert (await second.do(SetAside("bob"))).good
        await until(lambda: "bob" in first.fleet.aside, "one engine")
        assert not told


class Broken(Disk):
    """A disk that fails as nobody expects."""

    def open(self, path: str, flags: int) -> int:
        raise LookupError(f"nobody expects this of {os.path.basename(path)}, opened with {flags}")


async def test_seat_when_no_place_can_be_taken_then_the_fault_itself_is_told(comm_home: Path) -> None:
    """Whoever waits for the place is cancelled by that: the bare cancelling told nobody what had happened."""
    before = set(threading.enumerate())
    with pytest.raises(ExceptionGroup) as told:
        async with seat(Home(str(comm_home), disk=Broken())):
            pass
    assert "LookupError('nobody expects this of " in repr(told.value)
    assert {thread for thread in set(threading.enumerate()) - before if thread.name.startswith("seat")} == set()


async def test_seat_when_its_host_leaves_then_takes_over_and_what_was_asked_meanwhile_is_done(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(seat(home))
        async with seat(home) as second, seat(home) as third:
            await until(lambda: "operator-box" in third.fleet.agents, "the join")
            leaving = asyncio.create_task(stack.aclose())
            await until(lambda: Stance.VIEWER in {second.fleet.stance, third.fleet.stance}, "they notice")
            assert (await second.do(ClearDone("anna"))).good
            await leaving
            for one in (second, third):
                await until(lambda one=one: one.fleet.stance is Stance.HOST, "it goes on", TAKEN_OVER_SECS)  # type: ignore[misc]
            await until(lambda: not third.fleet.agents["anna"].done, "one engine for both")
            assert not first.leaving.sentence


async def test_seat_when_the_other_engine_is_not_for_it_then_looks_and_says_why(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE)
    other = put(comm_home.parent / "other", bob=DONE)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(seat(home))
        async with seat(other) as second:
            await until(lambda: second.fleet.stance_why, "its reason")
            assert second.fleet.stance is Stance.VIEWER
            why = second.fleet.stance_why
            assert why.startswith(f"the dashboard of pid {os.getpid()} hosts {home.path} and serves no window here: ")
            assert "XDG_STATE_HOME" in why
            await until(lambda: "bob" in second.fleet.agents, "it looks at its own")
            refused = await second.do(ClearDone("bob"))
            assert refused == Outcome(good=False, sentence=f"{why}; nothing was written")
            await stack.aclose()
            await until(lambda: second.fleet.stance is Stance.HOST, "it takes over", TAKEN_OVER_SECS)
            assert (await second.do(ClearDone("bob"))).good


async def test_seat_when_the_lock_is_held_and_nobody_serves_then_looks_and_is_served_once_somebody_does(
    comm_home: Path,
) -> None:
    home = put(comm_home, anna=DONE)
    held = daemon_lock.take(home, environ(), "daemon")
    assert isinstance(held, daemon_lock.Held)
    async with seat(home) as one:
        await until(lambda: one.fleet.stance_why, "its reason")
        assert f"the daemon of pid {os.getpid()} hosts and serves no window here: nobody answers at " in (
            one.fleet.stance_why
        )
        daemon_lock.release(home, held)
        await until(lambda: one.fleet.stance is Stance.HOST, "it takes over", TAKEN_OVER_SECS)


async def test_seat_when_it_may_only_look_then_asks_for_no_lock_and_no_engine(comm_home: Path) -> None:
    home = put(comm_home, anna=DONE)
    async with Seat(home, environ(), only_look="why") as one:
        assert (one.fleet.stance, one.fleet.stance_why) == (Stance.READ_ONLY, "why")
        assert not os.path.exists(paths.daemon_lock(environ()))


# -- leaving ----------------------------------------------------------------------------------------------------------

ROW = RowSeen("ws-a-1", "a", "a", "/a", "claude", "ready")


@pytest.fixture
def _daemons_end() -> Iterator[None]:
    """End the daemon that a hand-over has started, and see it gone."""
    yield
    said = daemon_lock.last_holder(Home("/"), os.environ)
    assert said.what == "daemon"
    os.kill(int(said.pid), signal.SIGTERM)
    deadline = time.monotonic() + DEADLINE_SECS
    while os.waitpid(int(said.pid), os.WNOHANG) == (0, 0):
        assert time.monotonic() < deadline, f"sotd, pid {said.pid}, goes on"
        time.sleep(0.02)


async def left(home: Home, on_leave: str, rows: int) -> tuple[str, str]:
    """Begin and settle a hand-over with so many rows; return the sentence, and who has the lock."""
    pool = Pool("test", 2)
    leaving = Leaving(home, environ(), pool.run)
    async with seat(home) as one:
        fleet = one.fleet._replace(rows={str(number): ROW for number in range(rows)})
        await leaving.begin(fleet, on_leave)
    await leaving.settle()
    pool.close()
    return leaving.sentence, daemon_lock.last_holder(home, environ()).what


@pytest.mark.usefixtures("_daemons_end")
async def test_leaving_when_rows_run_then_a_daemon_has_the_duties_before_it_is_said(comm_home: Path) -> None:
    home = put(comm_home)
    sentence, what = await left(home, "rows", 2)
    pid = daemon_lock.last_holder(home, environ()).pid
    log = paths.daemon_log(environ())
    assert (sentence, what) == (f"2 rows run on; sotd, pid {pid}, does the duties now (its log: {log})", "daemon")
    assert os.getsid(int(pid)) == int(pid)
    if not ancestry.not_a_person(home, os.getpid()):  # the daemon asks who this test is
        async with seat(home) as again:
            await until(lambda: again.fleet.stance is Stance.HOST, "a window of the daemon's")
            await until(lambda: "operator-box" in again.fleet.agents, "the person is back")


async def test_leaving_when_another_window_is_open_then_that_one_takes_over_and_no_daemon_comes(
    comm_home: Path,
) -> None:
    home = put(comm_home)
    settings = Path(paths.settings_file(os.environ))
    settings.parent.mkdir()
    settings.write_text('on_leave = "always"\n')
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(seat(home))
        second = seat(home)
        async with second:
            await until(lambda: "operator-box" in second.fleet.agents, "the join")
            await stack.aclose()
            assert not first.leaving.sentence
            await until(lambda: second.fleet.stance is Stance.HOST, "it takes over", TAKEN_OVER_SECS)
            assert daemon_lock.last_holder(home, environ()).what == "dashboard"
            second.leaving.begin = _nothing  # type: ignore[assignment]  # its own end is another test's


async def _nothing(*_: object) -> None:
    """Start no daemon."""


@pytest.mark.parametrize(
    ("on_leave", "rows", "said"), [("rows", 0, ""), ("never", 0, ""), ("never", 1, "1 row runs on")]
)
async def test_leaving_when_no_daemon_is_wanted_then_none_is_started(
    comm_home: Path, on_leave: str, rows: int, said: str
) -> None:
    sentence, what = await left(put(comm_home), on_leave, rows)
    assert sentence.startswith(said)
    assert bool(sentence) is bool(said)
    assert what == "dashboard"


async def test_leaving_when_the_daemon_cannot_run_then_says_where_it_says_why(comm_home: Path) -> None:
    home = put(comm_home)
    pool = Pool("test", 2)
    os.makedirs(paths.daemon_lock(environ()))
    leaving = Leaving(home, environ(), pool.run)
    await leaving.begin(Fleet(rows={"a": ROW}), "always")
    await leaving.settle()
    pool.close()
    log = Path(paths.daemon_log(environ()))
    assert leaving.sentence.startswith("1 row runs on with no engine: sotd run ended with 1; why: "), leaving.sentence
    assert "daemon.lock could not be opened: Is a directory" in log.read_text()
