"""Writing on a real comm home: what is said before, the one result line, and a draft that nothing loses."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from textual.events import Key, Paste
from textual.widgets import Button, Input

from sot_tui.comm.fleet import Stance
from sot_tui.engine.client import Broadcast, BroadcastDone, Command, KeepDraft, Outcome, Send
from sot_tui.screens.app import SotApp
from sot_tui.screens.compose import ComposeScreen, completions, quoted
from sot_tui.screens.confirm import Confirm
from sot_tui.screens.drafts import Draft, DraftBox
from sot_tui.screens.found import SearchScreen
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.unsent import UnsentScreen
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import NOW, FakeClient, fleet, letter
from tests.screens.mailing import IDLE, ME, STALE, index, lines_of, mail_to, open_mail, until_on, writing
from tests.screens.real import Opened, dashboard, joined, put

if TYPE_CHECKING:
    from pathlib import Path


def receiver(opened: Opened) -> Input:
    return opened.app.screen.query_one("#compose-to", Input)


def known(opened: Opened) -> Lines:
    return opened.app.screen.query_one("#compose-known", Lines)


def flat(opened: Opened) -> str:
    return " ".join(opened.screen_text().replace("│", " ").split())


# -- reply


async def test_reply_when_sent_then_files_a_line_as_the_operator_and_says_so(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        mail_to(opened.home, ME, "which branch?\n\nmain or wt\x1b?")
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 1)
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        assert "in reply to: which branch?" in opened.screen_text()
        assert "@anna is live" in opened.screen_text()
        head, quote = writing(opened).text.split("\n", 1)
        assert head.startswith("@anna wrote at 2")
        assert quote == "> which branch?\n>\n> main or wt␛?\n\n"
        await opened.pilot.press("m", "a", "i", "n", "ctrl+s")
        await until_on(opened, MailScreen)
        assert opened.says("#message") == "filed -> @anna"
        (line,) = lines_of(comm_home, "anna")
        assert {key: line[key] for key in ("from", "to", "msg")} == {
            "from": ME,
            "to": "anna",
            "msg": f"{head}\n{quote}main",
        }
        assert opened.app.desk.drafts.unsent() == []


async def test_reply_when_nothing_was_written_then_leaves_no_draft(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        mail_to(opened.home, ME, "one", "two")
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 2)
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press("escape")
        assert opened.app.desk.drafts.unsent() == []
        # Two messages of one sender are answered by two drafts.
        for text in ("x", "y"):
            await opened.pilot.press("r", text, "escape")
            await until_on(opened, MailScreen)
            await opened.pilot.press("j")
        assert sorted(draft.text[-1] for draft in opened.app.desk.drafts.unsent()) == ["x", "y"]


@pytest.mark.parametrize(
    ("sender", "reason"),
    [
        ("no handle!", "the sender of this message is no handle, so nothing can be sent to it"),
        (ME, "this message is your own"),
    ],
)
async def test_reply_when_it_can_go_to_nobody_then_says_why(comm_home: Path, sender: str, reason: str) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        mail_to(opened.home, ME, "hello", sender=sender)
        await open_mail(opened, ME)
        await opened.until(lambda: len(index(opened).keys) == 1)
        await opened.pilot.press("r")
        await opened.until(lambda: opened.says("#message") == reason)
        assert isinstance(opened.app.screen, MailScreen)


def test_quote_when_the_message_is_long_then_its_beginning_and_that_there_is_more() -> None:
    text = "\n".join(f"line {at}" for at in range(50))
    quote = quoted(letter(1, "anna", text, 10)).split("\n")
    assert quote[1] == "> line 0"
    assert quote[30:] == ["> line 29", "> […]", "", ""]


# -- before it is sent


async def test_message_when_it_is_refused_then_the_sentence_is_shown_and_the_draft_is_kept(comm_home: Path) -> None:
    put(comm_home, anna=STALE, bea=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await opened.until(lambda: "@anna is not live: a message to it will be refused" in opened.screen_text())
        writing(opened).text = "are you there?"
        await opened.pilot.click("#compose-send")
        await opened.until(lambda: "FAILED -> @anna: no live session holds @anna" in opened.screen_text())
        assert isinstance(opened.app.screen, ComposeScreen)
        await opened.pilot.press("escape", "r")
        await until_on(opened, ComposeScreen)
        assert writing(opened).text == "are you there?"
        assert "FAILED -> @anna" in opened.screen_text()
        put(comm_home, anna=IDLE)
        await opened.until(lambda: "@anna is live" in opened.screen_text())
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert [line["msg"] for line in lines_of(comm_home, "anna")] == ["are you there?"]


async def test_compose_when_the_receiver_is_typed_then_says_whether_it_is_known_and_sends(comm_home: Path) -> None:
    put(comm_home, anna=IDLE, bea=STALE)
    async with joined(comm_home) as opened:
        await opened.pilot.press("c")
        await until_on(opened, ComposeScreen)
        assert receiver(opened).has_focus
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: "not sent: say first to whom" in opened.screen_text())
        for typed, said in (
            ("@nobody", "@nobody is not in this registry"),
            ("bea", "@bea is not live: a message to it will be refused"),
            (ME, "this is you"),
            ("@anna", "@anna is live"),
        ):
            receiver(opened).value = typed
            await opened.until(lambda said=said: said in opened.screen_text())  # type: ignore[misc]
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: "not sent: the message is empty" in opened.screen_text())
        await opened.pilot.press("enter", "h", "i", "q")
        assert writing(opened).text == "hiq"
        await opened.pilot.press("ctrl+s", "ctrl+s")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert [line["msg"] for line in lines_of(comm_home, "anna")] == ["hiq"]


# -- completion


def test_completions_when_typed_then_live_handles_those_that_begin_so_first() -> None:
    assert completions(fleet(), "b", NOW) == [
        "Backend-box",
        "Analysis-wt-rot-box",
        "Docs-box",
        "Fresh-box",
        "MyRepo-box",
        "Notes-box",
        "Slow-box",
    ]
    assert completions(fleet(), "REPO", NOW) == ["MyRepo-box"]
    assert completions(fleet(), "laptop", NOW) == ["Paper-laptop"], "Old-laptop is stale"
    assert "operator-box" not in completions(fleet(), "", NOW)


async def test_completion_when_by_keys_then_the_marked_handle_is_taken(comm_home: Path) -> None:
    """Handles stand under the field, the state beside each; arrows mark one, tab or enter takes it."""
    put(comm_home, anna=IDLE, ann=IDLE, bob=IDLE, annex=STALE)
    async with joined(comm_home) as opened:
        await opened.pilot.press("c")
        await until_on(opened, ComposeScreen)
        await opened.until(lambda: list(known(opened).keys) == ["ann", "anna", "bob"])
        await opened.pilot.press("a", "n")
        await opened.until(lambda: list(known(opened).keys) == ["ann", "anna"])
        assert "tab takes the marked handle" in opened.screen_text()
        await opened.pilot.press("down", "tab")
        assert receiver(opened).value == "anna"
        await opened.until(lambda: "@anna is live" in opened.screen_text())
        assert not known(opened).display
        await opened.pilot.press("tab")
        assert writing(opened).has_focus
        await opened.pilot.press("tab", "up")
        assert opened.app.screen.focused is not None
        receiver(opened).focus()
        receiver(opened).value = "bo"
        await opened.until(lambda: list(known(opened).keys) == ["bob"])
        await opened.pilot.press("enter")
        assert receiver(opened).value == "bob"
        assert writing(opened).has_focus


async def test_completion_when_a_handle_is_clicked_then_it_is_taken(comm_home: Path) -> None:
    put(comm_home, anna=IDLE, bob=IDLE)
    async with joined(comm_home) as opened:
        await opened.pilot.press("c")
        await until_on(opened, ComposeScreen)
        await opened.until(lambda: list(known(opened).keys) == ["anna", "bob"])
        await opened.pilot.click(known(opened), offset=(6, 1))
        await opened.until(lambda: receiver(opened).value == "bob")
        assert not known(opened).display


# -- sending


async def test_message_when_send_is_pressed_twice_then_is_sent_once() -> None:
    client = FakeClient(fleet())
    app = SotApp(client)
    answered = asyncio.Event()
    do = client.do

    async def slow(command: Command[Outcome]) -> Outcome:
        outcome = await do(command)
        if isinstance(command, Send):
            await answered.wait()
        return outcome

    client.do = slow  # type: ignore[assignment, method-assign]  # an answer that takes its time
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one("#fleet", Lines).select("Docs-box")
        await pilot.press("r", "h", "i", "ctrl+s", "ctrl+s")
        assert client.asked_for(Send) == [Send("Docs-box", "hi")]
        # Closing the window loses neither the answer nor, when it is a refusal, the draft.
        await pilot.press("escape")
        answered.set()
        await pilot.pause()
        await pilot.pause()
        assert app.desk.said == Outcome(good=True, sentence="filed -> @Docs-box")
        assert app.desk.drafts.unsent() == []


async def test_message_when_more_was_written_while_it_was_sent_then_that_stays_a_draft() -> None:
    client = FakeClient(fleet())
    app = SotApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one("#fleet", Lines).select("Docs-box")
        await pilot.press("r", "h", "i")
        draft = app.desk.drafts.get("to:Docs-box")
        assert draft is not None
        assert app.desk.drafts.unsent() == [], "what is being written is not yet among what is not sent"
        do = client.do

        async def written_meanwhile(command: Command[Outcome]) -> Outcome:
            if isinstance(command, Send):
                draft.text += " and more"
            return await do(command)

        client.do = written_meanwhile  # type: ignore[assignment, method-assign]
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.desk.said == Outcome(good=True, sentence="filed -> @Docs-box")
        await pilot.press("escape")
        assert [one.text for one in app.desk.drafts.unsent()] == ["hi and more"]


async def test_send_when_the_registry_cannot_be_read_then_nothing_is_sent(comm_home: Path) -> None:
    """Contract: "the registry could not be read, so identity @<me> is unverified; nothing was sent"."""
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        writing(opened).text = "x"
        (comm_home / "registry.json").write_bytes(b"")
        await opened.pilot.press("ctrl+s")
        wanted = (
            "FAILED -> @anna: the registry could not be read, so identity @operator-box is unverified; nothing was sent"
        )
        await opened.until(lambda: wanted in flat(opened))
        assert not (comm_home / "inbox" / "anna.jsonl").exists()


async def test_paste_when_it_holds_control_bytes_then_they_are_made_visible(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        text = writing(opened)
        text.post_message(Paste("one\x1b]0;pwned\x07\ntwo"))
        await opened.until(lambda: text.text)
        assert text.text == "one␛]0;pwned␇\ntwo"


@pytest.mark.parametrize("key", ["r", "c", "b"])
async def test_dashboard_when_it_only_looks_then_refuses_to_write_and_says_why(key: str) -> None:
    looks = fleet(stance=Stance.READ_ONLY, stance_why="this dashboard was opened read-only (--readonly)")
    client = FakeClient(looks)
    app = SotApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one("#fleet", Lines).select("Docs-box")
        await pilot.press(key)
        await pilot.pause()
        assert not isinstance(app.screen, ComposeScreen)
        assert app.desk.said == Outcome(good=False, sentence="this dashboard was opened read-only (--readonly)")
        await pilot.press("m")
        await pilot.pause()
        assert isinstance(app.screen, MailScreen)
        await pilot.press(key)
        await pilot.pause()
        assert isinstance(app.screen, MailScreen)


# -- to all


async def test_broadcast_when_confirmed_then_every_other_handle_has_a_copy(comm_home: Path) -> None:
    """Asked first, with the number of receivers; Cancel has the focus."""
    put(comm_home, anna=IDLE, bob=IDLE)
    async with joined(comm_home) as opened:
        await opened.pilot.press("b")
        await until_on(opened, ComposeScreen)
        assert "to every other handle: 2, all live" in opened.screen_text()
        await opened.pilot.press(*"green", "ctrl+s")
        await until_on(opened, Confirm)
        assert "Send this to 2 handles?" in opened.screen_text()
        assert opened.app.screen.query_one("#confirm-no", Button).has_focus
        await opened.pilot.press("enter")
        await until_on(opened, ComposeScreen)
        assert lines_of(comm_home, "anna") == []
        await opened.pilot.press("ctrl+s")
        await until_on(opened, Confirm)
        await opened.pilot.press("right", "enter")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert opened.says("#message") == "Broadcast to 2 agent(s)."
        for handle in ("anna", "bob"):
            (line,) = lines_of(comm_home, handle)
            assert (line["from"], line["to"], line["msg"]) == (ME, "", "green")
        assert lines_of(comm_home, ME) == []


async def test_broadcast_when_some_are_refused_then_sending_again_is_for_those_alone(comm_home: Path) -> None:
    put(comm_home, anna=IDLE, bob=STALE)
    async with joined(comm_home) as opened:
        await opened.pilot.press("b")
        await until_on(opened, ComposeScreen)
        assert "to every other handle: 2 · 1 is not live, and will be refused" in opened.screen_text()
        writing(opened).text = "green"
        await opened.pilot.press("ctrl+s")
        await until_on(opened, Confirm)
        assert "not live  1: it will be refused (bob)" in opened.screen_text()
        await opened.pilot.click("#confirm-yes")
        await until_on(opened, ComposeScreen)
        await opened.until(lambda: "FAILED -> @bob: no live session holds @bob" in opened.screen_text())
        assert "Broadcast to 1 of 2 agent(s)." in opened.screen_text()
        assert "to all who have no copy yet: 1" in opened.screen_text()
        put(comm_home, bob=IDLE)
        await opened.until(lambda: "to all who have no copy yet: 1, all live" in opened.screen_text())
        await opened.pilot.press("ctrl+s")
        await until_on(opened, Confirm)
        await opened.pilot.click("#confirm-yes")
        await opened.until(lambda: opened.app.screen is opened.nav)
        assert [len(lines_of(comm_home, handle)) for handle in ("anna", "bob")] == [1, 1]


async def test_broadcast_when_it_was_not_even_tried_then_is_for_all_the_next_time() -> None:
    client = FakeClient(fleet())
    refused = "FAILED -> --broadcast: you are not joined; nothing was sent"
    client.answers[Broadcast] = BroadcastDone(good=False, sentence=refused)
    app = SotApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("b", "x", "ctrl+s")
        await pilot.pause()
        await pilot.click("#confirm-yes")
        await pilot.pause()
        assert [draft.refused for draft in app.desk.drafts.unsent()] == [refused]
        await pilot.press("ctrl+s")
        await pilot.pause()
        await pilot.click("#confirm-yes")
        await pilot.pause()
        assert client.asked_for(Broadcast) == [Broadcast("x"), Broadcast("x")]


# -- drafts


async def test_draft_when_the_dashboard_is_closed_while_it_is_written_then_it_is_there_again(comm_home: Path) -> None:
    """The header says how much is not sent; the draft comes back with its receiver, its text and its refusal."""
    put(comm_home, anna=STALE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press(*"half a mess", "ctrl+s")
        await opened.until(lambda: "FAILED -> @anna" in opened.screen_text())
        await opened.pilot.press("a", "g", "e")  # and out, before any pause
    async with joined(comm_home) as opened:
        await opened.until(lambda: opened.says("#unsent") == "not sent 1")
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        assert writing(opened).text == "half a message"
        assert "FAILED -> @anna: no live session holds @anna" in opened.screen_text()
        put(comm_home, anna=IDLE)
        await opened.until(lambda: "@anna is live" in opened.screen_text())
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: opened.app.screen is opened.nav)
        await opened.until(lambda: opened.says("#unsent") == "")
    async with dashboard(comm_home) as opened:
        await opened.until(lambda: opened.app.desk.client is not None)
        assert opened.app.desk.drafts.unsent() == []
    assert [line["msg"] for line in lines_of(comm_home, "anna")] == ["half a message"]


async def test_draft_when_written_on_then_is_kept_soon_without_being_closed(comm_home: Path) -> None:
    """What a crash may cost is half a second."""
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press(*"draft")
        state = comm_home.parent / "state"
        await opened.until(lambda: any('"text": "draft"' in path.read_text() for path in state.rglob("drafts/*.json")))


async def test_drafts_when_the_dashboard_ends_then_each_that_is_not_kept_yet_is() -> None:
    client = FakeClient(fleet())
    box = DraftBox(client, lambda _: None)
    written, begun = box.open(Draft("to:a", "a", "text")), box.open(Draft("to:b", "b", "> quote", prefill="> quote"))
    await box.settle()
    await box.settle()
    assert client.asked == [KeepDraft(written.frozen())]
    written.text = "more"
    await box.settle()
    assert client.asked[1:] == [KeepDraft(written.frozen())]
    assert begun.empty


async def test_draft_when_it_cannot_be_kept_then_says_so_and_tries_again() -> None:
    client = FakeClient(fleet())
    client.answers[KeepDraft] = Outcome(good=False, sentence="this draft could not be kept (No space left on device)")
    said: list[Outcome] = []
    box = DraftBox(client, said.append)
    draft = box.open(Draft("to:a", "a", "text"))
    await box.keep(draft)
    await box.keep(draft)
    assert len(client.asked) == 2
    assert [outcome.sentence for outcome in said] == ["this draft could not be kept (No space left on device)"] * 2


# -- what is not sent


async def test_not_sent_when_a_message_was_refused_then_it_is_listed_and_sent_again_by_a_key(comm_home: Path) -> None:
    """A cross, the receiver, the sentence in red; the header of the nav counts it."""
    put(comm_home, anna=STALE, bob=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press("h", "i", "ctrl+s")
        await opened.until(lambda: "FAILED" in opened.screen_text())
        await opened.pilot.press("escape")
        opened.lines.select("bob")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press("b", "e", "g", "u", "n", "escape")
        await opened.until(lambda: opened.says("#unsent") == "not sent 2")
        await opened.pilot.click("#unsent")
        await until_on(opened, UnsentScreen)
        text = opened.screen_text()
        assert "1 refused · 1 only begun" in text
        assert "FAILED -> @anna: no live session holds @anna" in text
        assert index(opened).keys == ("sto:anna", "sto:bob")
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: opened.says("#message") == "FAILED -> @anna: no live session holds @anna")
        put(comm_home, anna=IDLE)
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: opened.says("#message") == "filed -> @anna")
        await opened.until(lambda: index(opened).keys == ("sto:bob",))
        await opened.pilot.press("enter")
        await until_on(opened, ComposeScreen)
        assert writing(opened).text == "begun"
        await opened.pilot.press("ctrl+s")
        await until_on(opened, UnsentScreen)
        await opened.until(lambda: "everything is sent" in opened.screen_text())
        await opened.pilot.press("ctrl+s")
        await opened.until(lambda: opened.says("#message") == "there is nothing that is not sent")


async def test_not_sent_when_deleted_then_asks_first(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press("x", "y", "escape", "u")
        await until_on(opened, UnsentScreen)
        state = comm_home.parent / "state"
        await opened.until(lambda: len(list(state.rglob("drafts/*.json"))) == 1)
        await opened.pilot.press("delete")
        await until_on(opened, Confirm)
        assert "“xy”" in opened.screen_text()
        await opened.pilot.press("enter")
        await until_on(opened, UnsentScreen)
        assert len(opened.app.desk.drafts.unsent()) == 1
        await opened.pilot.press("D")
        await until_on(opened, Confirm)
        await opened.pilot.click("#confirm-yes")
        await opened.until(lambda: "everything is sent" in opened.screen_text())
        assert list(state.rglob("drafts/*.json")) == []


async def test_editor_when_the_terminal_cannot_be_lent_then_says_so_and_nothing_is_lost(comm_home: Path) -> None:
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        opened.lines.select("anna")
        await opened.pilot.press("r")
        await until_on(opened, ComposeScreen)
        await opened.pilot.press("x", "ctrl+o")
        await opened.until(lambda: "an editor needs a terminal, and this one cannot be lent" in flat(opened))
        assert writing(opened).text == "x"
        assert list((comm_home.parent / "state").rglob("message.txt")) == []


# -- keys that come faster than they are answered


async def test_keys_when_they_come_fast_then_each_reaches_the_field_it_is_meant_for(comm_home: Path) -> None:
    """`c`, two letters, tab twice and the text, all before the first of them is answered."""
    put(comm_home, anna=IDLE)
    async with joined(comm_home) as opened:
        for key in ("c", "a", "n", "tab", "tab", "h", "i"):
            opened.app.post_message(Key(key, key if len(key) == 1 else None))
        await opened.until(lambda: isinstance(opened.app.screen, ComposeScreen) and writing(opened).text == "hi")
        assert receiver(opened).value == "anna"


async def test_keys_when_they_come_fast_after_a_slash_then_they_are_searched_for(comm_home: Path) -> None:
    home = put(comm_home, anna=IDLE)
    mail_to(home, "anna", "first hit", "second hit", sender="bob")
    async with joined(comm_home) as opened:
        await open_mail(opened, "anna")
        await opened.until(lambda: len(index(opened).keys) == 2)
        for key in ("slash", "h", "i", "t", "enter", "j"):
            opened.app.post_message(Key(key, key if len(key) == 1 else "/" if key == "slash" else None))
        await opened.until(lambda: len(index(opened).keys) == 2 and isinstance(opened.app.screen, SearchScreen))
        assert opened.app.screen.query_one("#search-words", Input).value == "hit"
        assert index(opened).has_focus
