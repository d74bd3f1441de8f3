"""The event log on the screen: what happened, live, with a filter and with the file it also stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.engine.client import Send
from sot_tui.screens.events import EventsScreen
from sot_tui.screens.widgets.lines import Lines
from tests.screens.real import Opened, joined, put

if TYPE_CHECKING:
    from pathlib import Path

DONE: dict[str, object] = {"state": "done", "done": True, "note": "built", "summary": "built"}


async def open_events(opened: Opened) -> Lines:
    await opened.pilot.press("e")
    await opened.until(lambda: isinstance(opened.app.screen, EventsScreen), "the events")
    lines = opened.app.screen.query_one("#events", Lines)
    await opened.until(lambda: lines.keys, "its lines")
    return lines


def painted(lines: Lines) -> list[str]:
    return [lines.render_line(y).text.rstrip() for y in range(len(lines.keys))]


async def test_events_when_opened_then_tell_what_was_done_and_where_it_is_kept(comm_home: Path) -> None:
    put(comm_home, anna=DONE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("d")
        await opened.until(lambda: not opened.fleet.agents["anna"].done)
        lines = await open_events(opened)
        told = painted(lines)
        assert [line[13:].strip() for line in told] == [
            f"engine    it runs here, for {comm_home}",
            "operator  joined as @operator-box",
            "done      cleared the done of @anna",
        ]
        file = comm_home.parent / "state" / "sot" / "tui" / "events.log"
        assert f"3 lines · also in {file}" in opened.says("#events-title")
        await opened.until(lambda: "cleared the done of @anna" in file.read_text())
        await opened.pilot.press("escape")
        await opened.until(lambda: opened.app.screen is opened.nav)


async def test_events_when_something_happens_then_it_appears_and_who_reads_higher_up_stays_there(
    comm_home: Path,
) -> None:
    put(comm_home, anna=DONE)
    async with joined(comm_home) as opened:
        lines = await open_events(opened)
        await opened.engine.do(Send("nobody", "x"))
        await opened.until(lambda: len(lines.keys) == 3, "it came by itself")
        assert "! " in painted(lines)[2]
        assert "FAILED -> @nobody" in painted(lines)[2]
        assert lines.selected == "3", "the newest line is followed"
        await opened.pilot.press("k")
        await opened.engine.do(Send("nobody", "x"))
        await opened.until(lambda: len(lines.keys) == 4)
        assert lines.selected == "2"


async def test_duty_when_it_fails_then_each_try_and_the_mending_stand_in_the_events(comm_home: Path) -> None:
    """Product: a fault in a duty shows in the events and restarts with back-off, never a silent task."""
    put(comm_home, anna=DONE)
    async with joined(comm_home, (140, 30)) as opened:
        lines = await open_events(opened)
        (comm_home / "read").rmdir()
        await opened.until(lambda: any("next try in 1 s" in line for line in painted(lines)), "two tries")
        (comm_home / "read").mkdir(mode=0o700)
        await opened.until(lambda: any("watch: it works again" in line for line in painted(lines)), "it is mended")
        told = [line for line in painted(lines) if "watch:" in line]
        assert f"watch: No such file or directory ({comm_home}/read); next try in 0.5 s" in told[0]
        assert "next try in 1 s" in told[1]
        assert "it works again" in told[-1]


async def test_events_when_filtered_then_show_what_fits_and_esc_steps_back_one_at_a_time(comm_home: Path) -> None:
    put(comm_home, anna=DONE)
    async with joined(comm_home) as opened:
        await opened.engine.do(Send("nobody", "x"))
        lines = await open_events(opened)
        await opened.pilot.press("slash", *"kind:mail")
        await opened.until(lambda: list(lines.keys) == ["3"])
        assert "1 of 3 · esc: all" in opened.screen_text()
        await opened.pilot.press("enter", "y")
        assert opened.app.clipboard.startswith("FAILED -> @nobody")
        await opened.pilot.press("escape")
        await opened.until(lambda: len(lines.keys) == 3, "every line again")
        await opened.pilot.press("slash", *"!joined", "space", *"!kind:mail", "enter")
        await opened.until(lambda: list(lines.keys) == ["1"])
        await opened.pilot.press("escape", "escape")
        await opened.until(lambda: opened.app.screen is opened.nav)
