"""The row's screen over a terminal in memory: what is painted again, what is asked for, and who may type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from sot_tui.comm.fleet import Stance
from sot_tui.engine.client import Key, Mouse, NotLive
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.row import RowScreen
from sot_tui.screens.show import Words
from sot_tui.screens.widgets.terminal_view import TerminalView
from tests.screens.fleets import FakeClient, with_rows
from tests.screens.pictures import opened
from tests.screens.viewers import FakeViewer

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from textual.pilot import Pilot
    from textual.strip import Strip

ROW = "ws-myrepo-9f31"
TO_IT = ("down", "down", "down")


def showing(viewer: FakeViewer | NotLive) -> Callable[[FakeClient], None]:
    def lay_out(client: FakeClient) -> None:
        client.viewers[ROW] = viewer

    return lay_out


def screen_of(pilot: Pilot[None]) -> RowScreen:
    screen = pilot.app.screen
    assert isinstance(screen, RowScreen), screen
    return screen


async def drawn(pilot: Pilot[None], viewer: FakeViewer, data: bytes) -> None:
    """Have the agent draw something, and wait until it is painted."""
    viewer.terminal.feed(data, 0.0)
    viewer.change()
    await pilot.pause(0.3)


async def test_rows_when_one_changed_then_no_other_is_painted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = FakeViewer(b"".join(b"line %d\r\n" % at for at in range(10)) + b"\x1b[?25l")
    async with opened((80, 24), with_rows(), *TO_IT, "enter", laid_out=showing(viewer)) as pilot:
        await pilot.pause(0.3)
        painted: list[int] = []
        before = TerminalView.render_line

        def told(view: TerminalView, y: int) -> Strip:
            painted.append(y)
            return before(view, y)

        monkeypatch.setattr(TerminalView, "render_line", told)
        await drawn(pilot, viewer, b"\x1b[4;1Hanother")
        assert painted == [3]
        assert "another" in screen_of(pilot).view.text


async def test_screen_when_nothing_changes_then_it_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = FakeViewer(b"still")
    async with opened((80, 24), with_rows(), *TO_IT, "v", laid_out=showing(viewer)) as pilot:
        await pilot.pause(0.3)

        async def never() -> None:
            raise AssertionError("a screen was asked for")

        monkeypatch.setattr(viewer, "snapshot", never)
        await pilot.pause(0.5)
        assert screen_of(pilot).view.text == "still"


async def test_row_when_the_dashboard_may_only_look_then_nothing_is_typed_and_no_size_changed() -> None:
    """Product: `--readonly` hosts nothing, joins nobody, writes nothing."""
    viewer = FakeViewer(b"prompt", (120, 40))
    fleet = with_rows(stance=Stance.READ_ONLY, stance_why="it was opened to look")
    async with opened((80, 24), fleet, *TO_IT, "enter", laid_out=showing(viewer)) as pilot:
        await pilot.press("i", "x", "enter")
        await pilot.pause(0.2)
        assert not screen_of(pilot).takes_keys
        assert viewer.typed == []
        assert viewer.terminal.snapshot(0.0).columns == 120
        assert "it was opened to look" in str(screen_of(pilot).query_one("#message", Words).content)
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, NavScreen)


async def test_typed_when_many_keys_come_then_they_are_given_in_order_and_pastes_between_them() -> None:
    viewer = FakeViewer(b"")
    async with opened((80, 24), with_rows(), *TO_IT, "enter", laid_out=showing(viewer)) as pilot:
        await pilot.press("a", "shift+tab")
        pilot.app.post_message(events.Paste("two\nlines"))
        await pilot.pause(0.1)
        await pilot.press("ctrl+w", "b", "ctrl+right_square_bracket")
        assert isinstance(pilot.app.screen, NavScreen)
        assert viewer.typed == [
            Key("a"), Key("tab", shift=True), "two\nlines", Key("w", ctrl=True), Key("b"),
        ]  # fmt: skip


async def test_wheel_when_the_alternate_screen_is_shown_then_it_is_the_agents_and_else_of_the_panel() -> None:
    viewer = FakeViewer(b"x\r\n" * 60)
    async with opened((80, 24), with_rows(), *TO_IT, "enter", laid_out=showing(viewer)) as pilot:
        view = screen_of(pilot).view
        wheel = (view, 4, 3, 0, 0, 0, False, False, False)
        view.post_message(events.MouseScrollUp(*wheel))
        await pilot.pause(0.2)
        assert (view.looks_back, viewer.typed) == (3, [])
        view.post_message(events.MouseScrollDown(*wheel))
        await pilot.pause(0.2)
        assert view.looks_back == 0
        await drawn(pilot, viewer, b"\x1b[?1049h")
        view.post_message(events.MouseScrollUp(*wheel))
        await pilot.pause(0.2)
        assert (view.looks_back, viewer.typed) == (0, [Mouse("press", 4, 3, "up")])


async def test_cells_when_an_agent_draws_anything_then_no_control_of_it_is_painted() -> None:
    hostile = "\x1b]0;title \u202e\x07a\u202eb\u2066c\x9b31md\u200be\ufeff\x1b[8;1Hz\u0301\u0301\u0301\u0301\u0301"
    viewer = FakeViewer(hostile.encode())
    async with opened((80, 24), with_rows(), *TO_IT, "enter", laid_out=showing(viewer)) as pilot:
        await pilot.pause(0.2)
        whole = "".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
        assert not set(whole) & {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))}
        assert not set(whole) & set("\u202e\u2066\u200b\ufeff")
        assert whole.count("\u0301") == 2


LONG = " ".join(str(number) for number in range(60))
"""A line of 169 characters: a terminal of 80 columns wraps it twice, the first time behind a blank."""


async def test_marked_when_the_terminal_wrapped_a_line_then_one_line_is_copied() -> None:
    """Product, Rows: what is copied is what the agent wrote: a line that the terminal wrapped is one line."""
    viewer = FakeViewer(f"first\r\n{LONG}\r\nlast".encode(), steady=True)
    async with opened((80, 24), with_rows(), *TO_IT, "v", laid_out=showing(viewer)) as pilot:
        await pilot.pause(0.3)
        view = screen_of(pilot).view
        await pilot.mouse_down(view, offset=(0, 0))
        await pilot.hover(view, offset=(3, 4))
        await pilot.mouse_up(view, offset=(3, 4))
        await pilot.pause(0.1)
        assert pilot.app.clipboard == f"first\n{LONG}\nlast"
        await pilot.mouse_down(view, offset=(76, 1))
        await pilot.hover(view, offset=(1, 2))
        await pilot.mouse_up(view, offset=(1, 2))
        await pilot.pause(0.1)
        assert pilot.app.clipboard == LONG[76:82]
        assert view.text.split("\n")[1] == LONG[:80].rstrip()


async def test_copy_when_nothing_is_marked_then_wrapped_lines_are_whole_also_where_one_looks_back() -> None:
    viewer = FakeViewer(f"first\r\n{LONG}\r\n".encode() + b"more\r\n" * 40, steady=True)
    async with opened((80, 24), with_rows(), *TO_IT, "v", laid_out=showing(viewer)) as pilot:
        await pilot.pause(0.3)
        await pilot.press("home")
        await pilot.pause(0.3)
        await pilot.press("y")
        assert pilot.app.clipboard.startswith(f"first\n{LONG}\nmore\nmore\n")
        viewer.terminal.resize(100, 24)
        viewer.change()
        await pilot.pause(0.6)
        await pilot.press("home")
        await pilot.pause(0.5)
        await pilot.press("y")
        assert pilot.app.clipboard.startswith(f"first\n{LONG}\nmore\nmore\n")


async def test_enter_when_no_row_runs_here_then_it_opens_the_mail() -> None:
    """Product: Enter opens the row's screen, or its mail where no row runs here."""
    async with opened((80, 24), with_rows(), "down", "enter") as pilot:
        assert type(pilot.app.screen).__name__ == "MailScreen"


def keys_shown(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one("#keys", Words).content)


async def test_key_line_when_a_row_has_ended_then_it_names_what_can_be_done_with_it() -> None:
    """A row whose run is over is run again or removed from its own screen too."""
    gone = NotLive("it exited with 3", None, 1.0)
    fleet = with_rows()
    over = fleet.rows[ROW]._replace(phase="ended_no_respawn", ended="it exited with 3")
    fleet = fleet._replace(rows={**fleet.rows, ROW: over})
    async with opened((80, 24), fleet, *TO_IT, "enter", laid_out=showing(gone)) as pilot:
        assert keys_shown(pilot).startswith("a again  x end  ")
        assert "type" not in keys_shown(pilot)
        assert "ended_no_respawn" not in str(pilot.app.screen.query_one("#row-head", Words).content)
        await pilot.press("x")
        await pilot.pause(0.2)
        assert "Remove row 'MyRepo'?" in str(pilot.app.screen.query_one("#confirm-question", Words).content)
        await pilot.press("escape")
        assert screen_of(pilot).key == "MyRepo-box"


async def test_key_line_when_the_terminal_is_searched_then_it_names_the_searchs_keys_and_each_is_clicked() -> None:
    data = b"".join(b"line %d\r\n" % at for at in range(200))
    async with opened((80, 24), with_rows(), *TO_IT, "v", laid_out=showing(FakeViewer(data, steady=True))) as pilot:
        await pilot.pause(0.3)
        assert keys_shown(pilot).startswith("enter type  x end  / search")
        await pilot.press("slash", *"line 12")
        await pilot.pause(0.3)
        view, said = screen_of(pilot).view, keys_shown(pilot)
        assert said == "↑ up  ↓ down  esc close  ^p palette"
        assert view.found == (11, 11)
        await pilot.press("enter", "up")
        await pilot.pause(0.2)
        assert view.found == (9, 11)
        await pilot.press("down")
        await pilot.pause(0.2)
        assert view.found == (10, 11)
        line = pilot.app.screen.query_one("#keys", Words)
        for word, found in (("up", (9, 11)), ("down", (10, 11)), ("close", (0, 0))):
            await pilot.click(line, offset=(1 + said.index(word), 0))
            await pilot.pause(0.2)
            assert view.found == found
        assert keys_shown(pilot).startswith("enter type  x end  / search")


async def test_key_line_when_a_person_types_then_it_names_what_they_type_to() -> None:
    for agent, whom in (("claude", "agent"), ("none", "shell"), ("make", "command")):
        fleet = with_rows()
        fleet = fleet._replace(rows={**fleet.rows, ROW: fleet.rows[ROW]._replace(agent=agent)})
        async with opened((80, 24), fleet, *TO_IT, "enter", laid_out=showing(FakeViewer(b"prompt"))) as pilot:
            said = str(pilot.app.screen.query_one("#typing-keys", Words).content)
            assert said == f"^] leave  every other key goes to the {whom}"


async def test_key_line_when_a_person_types_then_it_names_the_one_key_that_leaves_and_a_click_leaves() -> None:
    viewer = FakeViewer(b"prompt")
    async with opened((80, 24), with_rows(), *TO_IT, "enter", laid_out=showing(viewer)) as pilot:
        line = pilot.app.screen.query_one("#typing-keys", Words)
        assert "^] leave" in str(line.content)
        await pilot.click(line, offset=(3, 0))
        await pilot.pause()
        assert isinstance(pilot.app.screen, NavScreen)
