"""What a newcomer asks of a screen: what its signs mean, what is aside, what is doubted, what was answered."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import fleet as rules
from sot_tui.comm.fleet import Fault, State
from sot_tui.engine.client import Broadcast, BroadcastDone, Outcome, Send
from sot_tui.screens.app import SotApp
from sot_tui.screens.compose import ComposeScreen
from sot_tui.screens.show import Words
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import ENTRIES, NOW, FakeClient, agents, counted, entry, fleet
from tests.screens.mailing import IDLE, body, index, listed, mail_to
from tests.screens.real import joined, put

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

SIZE = (120, 40)


def line_of(pilot: Pilot[None], handle: str) -> str:
    lines = pilot.app.screen.query_one("#fleet", Lines)
    return lines.render_line(lines.keys.index(handle)).text


def says(pilot: Pilot[None], selector: str) -> str:
    return str(pilot.app.screen.query_one(selector, Words).content)


@pytest.mark.parametrize(
    ("keys", "told", "untold"),
    [
        ((), "it waits on you", "has read it"),
        (("m",), "its reader has not read it yet", "it waits on you"),
        (("m", "s"), "its receiver has read it", "it waits on you"),
        (("m", "slash", "down"), "that you have not opened", "it waits on you"),
        (("u",), "it was refused", "it waits on you"),
        (("l",), "held for too long", "it waits on you"),
    ],
)
async def test_help_when_asked_then_explains_the_signs_of_this_screen(
    keys: tuple[str, ...], told: str, untold: str
) -> None:
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=(80, 60)) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        await pilot.press("question_mark")
        await pilot.pause()
        text = says(pilot, "#help-text")
        assert told in " ".join(text.split())
        assert untold not in " ".join(text.split())


async def test_search_when_a_broadcast_lies_in_many_inboxes_then_it_is_one_line(comm_home: Path) -> None:
    names = [f"h{number}" for number in range(9)]
    home = put(comm_home, **dict.fromkeys(names, IDLE))
    for name in names:
        mail_to(home, name, "numbers please", to="")
    mail_to(home, "h1", "numbers please, you alone")
    async with joined(comm_home, (120, 40)) as opened:
        await opened.pilot.press("m", "slash", *"numbers")
        await opened.until(lambda: "2 found" in opened.says("#mail-title"))
        assert len(index(opened).keys) == 2
        assert sum("all (9 inboxes)" in line for line in listed(opened)) == 1
        await opened.pilot.press("enter", "g", "j")
        await opened.until(lambda: "numbers please" in body(opened))


@pytest.mark.parametrize("width", [120, 50])
async def test_need_when_set_aside_then_its_line_looks_another(width: int) -> None:
    shown = fleet()
    one = shown.agents["MyRepo-box"]
    aside = shown._replace(aside=MappingProxyType({"MyRepo-box": rules.aside_of(shown, one)}))
    app = SotApp(FakeClient(aside))
    async with app.run_test(size=(width, 40)) as pilot:
        await pilot.pause()
        line = line_of(pilot, "MyRepo-box")
        assert "z◆" in line
        if width > 60:
            assert "◆ aside " in line
            assert "blocked" not in line


async def test_stale_when_it_has_unread_mail_then_its_line_says_what_to_do() -> None:
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert "3 unread, x removes it" in line_of(pilot, "Old-laptop")


async def test_header_when_nothing_was_heard_of_working_ones_then_they_are_counted_apart() -> None:
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.pause()
        assert "1 working · 1 working?" in says(pilot, "#counts")
        assert "1 working, 1 working?" in app.title
    assert rules.counts(fleet(), NOW).by_state[State.WORKING] == 2


async def test_selection_when_the_first_sessions_come_after_the_person_then_the_first_need_is_selected() -> None:
    alone = {"operator-box": ENTRIES["operator-box"]}
    client = FakeClient(fleet(agents=agents(alone), mail=MappingProxyType({"operator-box": counted(0)})))
    app = SotApp(client)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        client.show(fleet())
        await pilot.pause()
        lines = app.screen.query_one("#fleet", Lines)
        assert lines.selected == lines.keys[0] == rules.needs_you(fleet(), NOW)[0].handle


async def test_broadcast_when_it_reached_some_then_it_is_no_failure_and_names_the_way_to_the_others() -> None:
    client = FakeClient(fleet())
    client.answers[Broadcast] = BroadcastDone(
        good=False, sentence="Broadcast to 8 of 9 agent(s).", failed=("FAILED -> @x: no",), left=("x",), reached=8
    )
    app = SotApp(client)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("b", *"hello", "ctrl+s")
        await pilot.pause()
        await pilot.click("#confirm-yes")
        while app.desk.said is None:
            await pilot.pause(0.02)
        said = app.desk.said
        assert said is not None
        assert said.good
        assert said.sentence == "Broadcast to 8 of 9 agent(s). Press u for those it did not reach."


async def test_ctrl_c_when_pressed_then_names_the_key_that_closes() -> None:
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert says(pilot, "#message").startswith("q closes the dashboard")


async def test_palette_when_open_then_its_emoji_is_not_shown() -> None:
    app = SotApp(FakeClient(fleet()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert not app.screen.query_one("SearchIcon").display


async def test_fault_when_a_duty_fails_then_says_whether_the_list_is_still_true() -> None:
    fault = Fault("watch", "No such file or directory (/c/inbox); next try in 1 s", NOW)
    app = SotApp(FakeClient(fleet(faults=(fault,))))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert "the list is still true" in says(pilot, "#message")
        assert "/c/inbox" in says(pilot, "#message")


async def test_blocked_when_answered_then_quotes_the_question_and_says_that_it_was_answered() -> None:
    client = FakeClient(fleet())
    client.answers[Send] = Outcome(good=True, sentence="Sent to @MyRepo-box (filed)")
    app = SotApp(client)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.screen.query_one("#fleet", Lines).select("MyRepo-box")
        await pilot.press("r")
        await pilot.pause()
        assert isinstance(app.screen, ComposeScreen)
        text = app.screen.query_one("#compose-text")
        assert "> Allow Bash?" in text.text  # type: ignore[attr-defined]  # it is the text area
        await pilot.press(*"yes", "ctrl+s")
        await pilot.pause()
        await pilot.pause()
        assert "you answered 0s ago · Allow Bash?" in line_of(pilot, "MyRepo-box")
        changed = {**ENTRIES, "MyRepo-box": entry(at=3, state="blocked", summary="And now?", dialog="And now?")}
        client.show(client.fleet._replace(agents=agents(changed)))
        await pilot.pause()
        assert "you answered" not in line_of(pilot, "MyRepo-box")
