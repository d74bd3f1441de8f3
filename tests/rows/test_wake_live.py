"""Rows of real capsules whose agents draw what the recordings show: woken in time, and never where a person is at work.

Each round files one message and, at a random moment, does what a person or an agent may do. What the agent was sent is
in its log, so that a line that joined a draft, a dialog that was answered and a line that came twice would be seen.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import random
import statistics
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import frames, inbox, mounts, registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home
from sot_tui.comm.registry_lock import Wait
from sot_tui.engine import ticks
from sot_tui.engine.dialogs import DialogDuty
from sot_tui.engine.executors import Pool
from sot_tui.engine.rows.row import Phase, Row, Wanted
from sot_tui.engine.rows.values import Key
from sot_tui.engine.ticks import Wakes
from sot_tui.wake.prompt import WAKE_LINE
from tests.rows.supervised import scripted, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from sot_tui.comm.fleet import Unwoken
    from sot_tui.comm.registry_text import Registry
    from sot_tui.engine.rows.supervisor import Rows
    from tests.rows.supervised import Supervised

pytestmark = pytest.mark.e2e
IDLE_SECS = 1.0
"""Seconds between two rounds of a row, in which the turn that a wake began comes to its end."""
SETTLED_SECS = 9.0
"""Seconds in which a round is over: a refused tick, the hold, the look, and some for a busy machine."""


class Awake:
    """Some rows with scripted agents, and the wake that watches them."""

    def __init__(self, home: Home, rows: Rows, base: Path) -> None:
        self.home, self.rows, self.base = home, rows, base
        self.hint = asyncio.Event()
        self.why: Mapping[str, Unwoken] = {}
        self.told: list[str] = []
        self.pool = Pool("wake", 4)
        self.filed: dict[str, int] = {}
        self.wakes = self.daemon()
        self.running: asyncio.Task[None] | None = None

    def daemon(self) -> Wakes:
        """Return the wake of a daemon that has just begun."""

        def seen(why: Mapping[str, Unwoken]) -> None:
            self.why = why

        return Wakes(
            self.home,
            dict(os.environ),
            self.rows,
            blocking=self.pool.run,
            told=lambda words, _good: self.told.append(words),
            seen=seen,
        )

    def begin(self) -> None:
        self.running = asyncio.create_task(self.wakes.run(self.hint, lambda: None))

    async def end(self) -> None:
        if self.running is not None:
            self.running.cancel()
            await asyncio.gather(self.running, return_exceptions=True)

    async def restart(self) -> None:
        """Begin anew, as a daemon does: all that was remembered is forgotten."""
        await self.end()
        self.wakes = self.daemon()
        self.begin()

    async def row(self, name: str, agent: str = "claude") -> Row:
        """Make a row, and its registry entry."""
        folder = self.base / name
        folder.mkdir()
        os.mkfifo(folder / "orders")
        made = await self.rows.create(Wanted(name, str(folder), agent=agent, agent_name=name))
        assert isinstance(made, Row), made
        self.edit(name, host="box", workspace_id=made.id, last_seen=stamp(time.time()), status="idle")
        await until(lambda: (now := self.rows.find(name)) is not None and now.phase is Phase.READY)
        await self.draws(made)
        found = self.rows.find(name)
        assert found is not None
        return found

    async def draws(self, row: Row) -> None:
        async with asyncio.timeout(20):
            while "❯" not in await self.text(row):  # noqa: ASYNC110  (asked of another process)
                await asyncio.sleep(0.05)

    async def text(self, row: Row) -> str:
        shown = await self.rows.screen(row.id)
        rows: Any = getattr(shown, "screen", None)
        return "\n".join("".join(cell.data for cell in line) for line in rows.rows) if rows else ""

    def edit(self, handle: str, **entry: object) -> None:
        def change(book: Registry) -> bool:
            kept = {**(book.entry(handle) or {}), **entry}
            book.agents[handle] = {name: value for name, value in kept.items() if value is not None}
            return True

        assert not isinstance(registry.replace(self.home, change, Wait.RULED), registry.NotWritten)

    def entry(self, handle: str) -> dict[str, Any]:
        book = registry.read(self.home)
        return getattr(book, "entry")(handle) or {}  # noqa: B009  (an unreadable registry fails here)

    def mail(self, handle: str, *, hint: bool = True) -> float:
        """File a message; return when."""
        line = frames.frame("peer", handle, "r", "hello", stamp(time.time()))
        assert isinstance(inbox.file_line(self.home, handle, line), inbox.Filed)
        self.filed[handle] = self.filed.get(handle, 0) + 1
        if hint:
            self.hint.set()
        return time.monotonic()

    def unread(self, handle: str) -> int:
        counted = inbox.unread(self.home, handle)
        assert isinstance(counted, inbox.Count)
        return counted.unread

    def log(self, row: Row) -> list[dict[str, Any]]:
        path = Path(row.root) / "agent.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def submitted(self, row: Row) -> list[str]:
        return [said["submitted"] for said in self.log(row) if "submitted" in said]

    def order(self, row: Row, words: str) -> None:
        (Path(row.root) / "orders").write_text(words + "\n")

    async def press(self, row: Row, text: str) -> None:
        lane = self.rows.lane(row.id)
        assert lane is not None
        for char in text:
            assert not await lane.keys([Key("u", ctrl=True) if char == "\x15" else Key(char)])


@pytest.fixture
async def awake(supervised: Supervised, comm_home: Path, tmp_path: Path) -> AsyncIterator[Awake]:
    """Return what makes rows with scripted agents and wakes them."""
    async with _awake(supervised, comm_home, tmp_path) as made:
        yield made


@asynccontextmanager
async def _awake(supervised: Supervised, comm_home: Path, tmp_path: Path) -> AsyncIterator[Awake]:
    programs = scripted(tmp_path / "bin")
    base = tmp_path / "projects"
    base.mkdir()
    async with supervised(environ={"PATH": f"{programs}:{os.environ['PATH']}"}) as rows:
        home = Home(str(comm_home))
        mounts.record_lock_manager(home, named_hub=False)
        made = Awake(home, rows, base)
        try:
            yield made
        finally:
            await made.end()
            made.pool.close()


async def _woken(awake: Awake, row: Row, handle: str) -> None:
    await until(lambda: awake.unread(handle) == 0, SETTLED_SECS)
    assert awake.submitted(row)[-1] == WAKE_LINE


async def test_mail_when_a_row_is_idle_then_it_is_woken_once_and_by_line_and_enter_apart(awake: Awake) -> None:
    """Contract, Waking: "One line per new batch of mail"; Enter is a write of its own."""
    row = await awake.row("alpha")
    awake.begin()
    awake.mail("alpha")
    await _woken(awake, row, "alpha")
    got = [said["got"] for said in awake.log(row) if "got" in said]
    assert got == [WAKE_LINE, "\r"]
    awake.mail("alpha")
    await _woken(awake, row, "alpha")
    assert awake.submitted(row) == [WAKE_LINE] * 2


async def test_row_when_no_claude_row_then_it_is_never_typed_into_and_says_why(awake: Awake) -> None:
    """Contract, Cases: "Only a Claude Code row is typed into"."""
    row = await awake.row("alpha", agent="codex")
    awake.begin()
    awake.mail("alpha")
    await until(lambda: awake.why.get("alpha"))
    assert awake.why["alpha"].reason == "codex: never typed into"
    assert not [said for said in awake.log(row) if "got" in said]


async def test_draft_when_in_the_box_then_it_is_left_and_the_row_is_woken_once_it_is_gone(awake: Awake) -> None:
    row = await awake.row("alpha")
    await awake.press(row, "half a thought")
    awake.begin()
    awake.mail("alpha")
    await until(lambda: awake.why.get("alpha") and awake.why["alpha"].reason == "draft in the box")
    assert awake.unread("alpha") == 1
    await awake.press(row, "\x15")
    await _woken(awake, row, "alpha")
    assert awake.submitted(row) == [WAKE_LINE]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("{home}/.claude.json", '{"editorMode": "vim"}'),
        ("{home}/.claude/settings.json", '{"editorMode":"vim"}'),
        ("{project}/.claude/settings.local.json", '{ "editorMode" : "vim" }'),
    ],
)
async def test_vim_when_it_stands_in_the_agent_s_settings_then_nothing_is_typed(
    awake: Awake, file: str, said: str
) -> None:
    """NORMAL mode shows the very picture of a free prompt, and takes letters for commands."""
    row = await awake.row("alpha")
    path = Path(file.format(home=os.environ["HOME"], project=row.root))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(said)
    awake.begin()
    awake.mail("alpha")
    await until(lambda: awake.why.get("alpha"))
    assert awake.why["alpha"].reason == "vim mode: never typed into"
    assert not [one for one in awake.log(row) if "got" in one]
    path.write_text(said.replace("vim", "normal"))
    await _woken(awake, row, "alpha")


async def test_stop_hook_when_it_runs_then_nothing_is_typed_until_the_mark_is_gone(awake: Awake) -> None:
    """Contract, Waking: "A row whose registry entry carries a stop_at under a minute old"."""
    row = await awake.row("alpha")
    awake.edit("alpha", stop_at=stamp(time.time()))
    awake.begin()
    awake.mail("alpha")
    await until(lambda: awake.why.get("alpha"))
    assert awake.why["alpha"].reason == "stop hook running"
    awake.edit("alpha", stop_at=None)
    await _woken(awake, row, "alpha")


async def test_daemon_when_it_restarts_then_a_box_that_holds_the_line_gets_enter_alone(awake: Awake) -> None:
    """Contract, Waking: "sends Enter alone if main's input box holds exactly the wake line"."""
    row = await awake.row("alpha")
    await awake.press(row, WAKE_LINE)
    awake.begin()
    await until(lambda: awake.submitted(row) == [WAKE_LINE], SETTLED_SECS)
    other = await awake.row("beta")
    await awake.press(other, WAKE_LINE + "!")
    await awake.restart()
    awake.mail("beta")
    await until(lambda: awake.why.get("beta"), SETTLED_SECS)
    assert awake.why["beta"].reason == "draft in the box"
    assert awake.submitted(other) == []


async def test_rows_when_two_claim_one_handle_then_neither_is_typed_into(awake: Awake) -> None:
    first = await awake.row("alpha")
    second = await awake.row("beta")
    slot = Path(awake.home.path) / "self" / f"box__{second.id}.txt"
    slot.write_text("alpha\n")
    await awake.rows.live_handles()
    assert awake.rows.handle_of(second) == "alpha"
    awake.begin()
    awake.mail("alpha")
    await until(lambda: awake.why.get("alpha"))
    assert awake.why["alpha"].reason == "two rows claim this handle"
    assert not [said for row in (first, second) for said in awake.log(row) if "got" in said]


async def test_dialog_when_it_shows_and_goes_then_it_is_stamped_and_resumed_and_never_answered(awake: Awake) -> None:
    """Contract, registry.json: dialog "reads red over the running turn"; resumed clears it."""
    row = await awake.row("alpha")
    open_door = asyncio.Event()
    open_door.set()
    said: dict[str, str] = {}
    duty = DialogDuty(
        awake.home,
        awake.rows,
        blocking=awake.pool.run,
        may_write=open_door.wait,
        seen=said.update,
        told=lambda words, _good: awake.told.append(words),
    )
    await duty.tick()
    assert said == {"alpha": "a free prompt"}
    awake.edit("alpha", floor="user", status_at=stamp(time.time()))
    await duty.tick()
    assert "dialog" not in awake.entry("alpha")
    awake.begin()
    awake.order(row, "dialog")
    async with asyncio.timeout(10):
        while "Do you want" not in await awake.text(row):  # noqa: ASYNC110  (asked of another process)
            await asyncio.sleep(0.05)
    awake.mail("alpha")
    await duty.tick()
    assert (awake.entry("alpha")["dialog"], awake.entry("alpha")["state"]) == ("Bash command", "blocked")
    await duty.tick()
    await until(lambda: awake.why.get("alpha") and awake.why["alpha"].reason == "dialog open")
    assert awake.told.count("row 'alpha': a dialog waits on you: Bash command") == 1
    awake.order(row, "gone")
    async with asyncio.timeout(10):
        while "Do you want" in await awake.text(row):  # noqa: ASYNC110  (asked of another process)
            await asyncio.sleep(0.05)
    await duty.tick()
    assert "dialog" not in awake.entry("alpha")
    assert not [said for said in awake.log(row) if "answered" in said]


async def test_row_when_nothing_hints_then_it_is_looked_at_every_two_seconds(awake: Awake) -> None:
    """Contract, Waking: "Every two seconds each daemon looks at every row it runs"."""
    row = await awake.row("alpha")
    awake.begin()
    await asyncio.sleep(0.1)
    awake.mail("alpha", hint=False)
    await _woken(awake, row, "alpha")
    assert ticks.TICK_SECS == 2.0


async def test_inbox_when_it_is_being_written_then_the_wake_checks_again_at_its_next_tick(awake: Awake) -> None:
    """Contract, Delivery: "a wake reader checks again on its next tick"."""
    row = await awake.row("alpha")
    awake.mail("alpha")
    with (Path(awake.home.path) / "inbox" / "alpha.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        awake.begin()
        await until(lambda: awake.why.get("alpha"))
        assert awake.why["alpha"].reason == "its inbox is being written"
        assert not awake.log(row)
    await _woken(awake, row, "alpha")


@pytest.mark.parametrize("cursor", [b"1", b"1 0-0", b"2020-01-02T03:04:05Z"])
async def test_cursor_when_of_any_form_then_the_wake_counts_by_it_and_never_writes_it(
    awake: Awake, cursor: bytes
) -> None:
    """Contract, frames: "The daemon's wake reads every form exactly as sot_cursor_offset does and never writes"."""
    await awake.row("alpha")
    awake.mail("alpha")
    awake.mail("alpha")
    path = Path(awake.home.path) / "read" / "alpha.cursor"
    path.write_bytes(cursor)
    awake.edit("alpha", stop_at=stamp(time.time()))
    awake.begin()
    await until(lambda: awake.why.get("alpha"))
    assert awake.why["alpha"].reason == "stop hook running"
    assert path.read_bytes() == cursor


async def test_daemon_when_it_restarts_then_read_mail_wakes_nobody_and_new_mail_does(awake: Awake) -> None:
    """Contract, Cases: "the handle stays with the row and the count is a file"."""
    row = await awake.row("alpha")
    awake.begin()
    awake.mail("alpha")
    await _woken(awake, row, "alpha")
    await awake.restart()
    awake.mail("alpha")
    await _woken(awake, row, "alpha")
    assert [said["got"] for said in awake.log(row) if "got" in said] == [WAKE_LINE, "\r"] * 2


# -- rounds --------------------------------------------------------------------------------------------------------


async def _disturb(awake: Awake, row: Row, what: str) -> None:
    lane = awake.rows.lane(row.id)
    assert lane is not None
    match what:
        case "draft":
            await awake.press(row, "a half typed")
        case "menu":
            await awake.press(row, "/")
        case "paste":
            assert not await lane.paste("two lines\nof it")
        case "resize":
            assert not await lane.resize(random.choice((60, 80, 120)), random.choice((16, 24, 40)), "a test")
        case "dialog":
            awake.order(row, "dialog")


async def _undo(awake: Awake, row: Row, what: str) -> None:
    if what == "dialog":
        awake.order(row, "gone")
    elif what in {"draft", "menu", "paste"}:
        await awake.press(row, "\x15")


async def _round(awake: Awake, row: Row, what: str, seed: float) -> float | None:
    """File a message and disturb the row meanwhile; return how long the wake took where nobody disturbed it."""
    handle = row.agent_name
    await asyncio.sleep(IDLE_SECS)
    before = len(awake.submitted(row))
    filed = awake.mail(handle)
    if what:
        await asyncio.sleep(seed)
        await _disturb(awake, row, what)
        await asyncio.sleep(1.0)
        if what in {"draft", "menu", "paste"} and len(awake.submitted(row)) == before:
            assert awake.unread(handle)
        await _undo(awake, row, what)
    deadline = time.monotonic() + SETTLED_SECS
    while awake.unread(handle) and time.monotonic() < deadline:  # noqa: ASYNC110  (asked of another process)
        await asyncio.sleep(0.05)
    done = [said["at"] for said in awake.log(row) if said.get("submitted") == WAKE_LINE][before:]
    return done[0] - filed if done and not what else None


def _hold_invariants(awake: Awake, row: Row) -> None:
    log = awake.log(row)
    said = [one["submitted"] for one in log if "submitted" in one]
    assert set(said) <= {WAKE_LINE}, "a draft was joined"
    assert not [one for one in log if "answered" in one], "a dialog was answered"
    typed = sum(one["got"].count(WAKE_LINE) for one in log if "got" in one)
    assert typed <= awake.filed[row.agent_name], "a line was typed twice"
    assert len(said) <= typed, "a line was sent twice"


DISTURBANCES = ("", "", "", "draft", "menu", "paste", "resize", "dialog")


async def _rounds(awake: Awake, rows: int, rounds: int, disturbances: tuple[str, ...] = DISTURBANCES) -> list[float]:
    made = [await awake.row(f"row{number}") for number in range(rows)]
    awake.begin()
    seeds = random.Random(7)
    took: list[float] = []

    async def run(row: Row, many: int) -> None:
        for _ in range(many):
            seconds = await _round(awake, row, seeds.choice(disturbances), seeds.uniform(0.0, 2.2))
            if seconds is not None:
                took.append(seconds)
            _hold_invariants(awake, row)

    await asyncio.gather(*(run(row, rounds // rows) for row in made))
    return took


@pytest.mark.timeout(200)
async def test_rounds_when_people_and_dialogs_come_between_then_no_line_goes_astray(awake: Awake) -> None:
    took = await _rounds(awake, rows=4, rounds=32)
    assert took
    assert statistics.median(took) < SETTLED_SECS


@pytest.mark.torture
@pytest.mark.timeout(3000)
async def test_rounds_when_a_thousand_then_no_line_goes_astray(awake: Awake) -> None:
    took = sorted(await _rounds(awake, rows=16, rounds=1000))
    p99 = took[int(len(took) * 0.99)]
    sys.stderr.write(f"{len(took)} undisturbed wakes: median {statistics.median(took):.2f} s, p99 {p99:.2f} s\n")


@pytest.mark.torture
@pytest.mark.timeout(900)
async def test_wakes_when_four_rows_get_mail_at_once_then_the_figures_are_told(awake: Awake) -> None:
    """Product: at most 4 s in 99 of 100, and 2 s in the middle, with at most four rows at once."""
    took = sorted(await _rounds(awake, rows=4, rounds=200, disturbances=("",)))
    p99 = took[int(len(took) * 0.99)]
    sys.stderr.write(f"{len(took)} wakes of four rows: median {statistics.median(took):.2f} s, p99 {p99:.2f} s\n")
    assert len(took) == 200
