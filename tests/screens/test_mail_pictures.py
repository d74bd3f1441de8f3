"""Pictures of the mail: reading, searching, writing, and what is not sent, at three sizes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.clock import stamp
from sot_tui.comm.fleet import Stance
from sot_tui.engine.client import (
    Body,
    Broadcast,
    BroadcastDone,
    Command,
    Drafts,
    Found,
    KeptDraft,
    Kind,
    LoadDrafts,
    OpenMail,
    Outcome,
    Page,
    ReadLetter,
    Search,
    Send,
)
from sot_tui.screens.glyphs import AsciiSigns
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import DEAD, NOW, FakeClient, fleet, letter
from tests.screens.pictures import SIZES, THEMES, Size, check, opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from syrupy.assertion import SnapshotAssertion
    from textual.pilot import Pilot

    from sot_tui.engine.client import Letter

ME = "operator-box"
SCHEMA = (
    "schema v3 is on main\n\nPlease look at the migration before noon: it drops the column `legacy_id`, and two "
    "readers still use it.\n\n> which readers?\n\n- Analysis, in `fit/load.py`\n- Paper, in the figures\n\nI can keep "
    "the column for one more release if you say so."
)
TO_ME = (
    letter(1, "Docs-box", "numbers please", 86_000, read=True, opened=True),
    letter(2, "Analysis-wt-rot-box", "the rotation fit converges, chi² = 1.03", 8000, read=True, opened=True),
    letter(3, "Backend-box", "going down for CI", 900, kind=Kind.BROADCAST, read=True, opened=True),
    letter(4, "Backend-box", SCHEMA, 240, read=True),
    letter(5, "Paper-laptop", "漢字 und 👍🏽: figures are in\x1b]2;pwned\x07", 120, read=True),
    letter(6, "", "{not json", None, kind=Kind.UNPARSED, read=True),
)
TO_OTHERS = (
    letter(3, ME, "please fit again with the new schema", 7000, inbox="Analysis-wt-rot-box", read=True),
    letter(9, ME, "keep it for one release", 200, inbox="Backend-box"),
    letter(4, ME, "freeze at noon: only fixes to the schema", 90, inbox="Docs-box", kind=Kind.BROADCAST),
    letter(2, "Docs-box", "which schema do the docs describe?", 3000, inbox="Backend-box", read=True),
)
REFUSED = "FAILED -> @Old-laptop: no live session holds @Old-laptop"


def draft(slot: str, to: str, text: str, age: float, **more: object) -> KeptDraft:
    return replace(KeptDraft(slot, to, text, at=stamp(NOW - age)), **more)  # type: ignore[arg-type]


UNSENT = Drafts(
    (
        draft("to:Docs-box", "Docs-box", "Can you also", 4000),
        draft("to:Old-laptop", "Old-laptop", "Are you still there?\n\nThe figures are due.", 300, refused=REFUSED),
        draft(
            "all",
            "",
            "The build is green again.",
            60,
            to_all=True,
            left=("Old-laptop",),
            refused=f"Broadcast to 8 of 9 agent(s).\n{REFUSED}",
        ),
    )
)


def mail(client: FakeClient) -> None:
    client.answers[OpenMail] = Page(ME, TO_ME, len(TO_ME))
    client.answers[Search] = found


async def found(command: Search) -> Found:
    """Search as the engine does, in the few letters there are."""

    def wanted(one: Letter) -> bool:
        text = f"{one.sender} {one.inbox} {one.text}".lower()
        if command.sender:
            return one.sender == command.sender
        if command.owner:
            return command.owner in {one.inbox, one.sender}
        return all(word in text for word in command.words)

    return Found(tuple(filter(wanted, (*TO_ME, *TO_OTHERS))))


async def wait_for(pilot: Pilot[None], fact: Callable[[], object]) -> None:
    for _ in range(500):
        if fact():
            break
        await pilot.pause(0.01)
    assert fact()
    await pilot.pause()
    await pilot.pause()


def choose(pilot: Pilot[None], handle: str) -> None:
    """Select a handle in the nav, and have it painted before a dialog lies over it."""
    lines = pilot.app.screen.query_one("#fleet", Lines)
    lines.select(handle)
    lines.repaint()


def mine(pilot: Pilot[None]) -> None:
    pilot.app.screen.query_one("#fleet", Lines).select(ME)


def shown(pilot: Pilot[None]) -> str:
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


# -- reading


@SIZES
@THEMES
async def test_mail(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """My mail, the first new message open: a dot and bold say what is new; who, to whom, when, filed and read."""
    async with opened(size, fleet(), theme=theme, laid_out=mail) as pilot:
        mine(pilot)
        await pilot.press("m")
        await wait_for(pilot, lambda: "schema v3 is on main" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
async def test_mail_in_ascii(size: Size, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The same by ASCII signs alone."""
    async with opened(size, fleet(), laid_out=mail, signs=AsciiSigns(every_sign=True)) as pilot:
        mine(pilot)
        await pilot.press("m")
        await wait_for(pilot, lambda: "schema v3 is on main" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
async def test_mail_in_light(size: Size, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The same on a light ground."""
    async with opened(size, fleet(), theme="sot-light", laid_out=mail) as pilot:
        mine(pilot)
        await pilot.press("m")
        await wait_for(pilot, lambda: "schema v3 is on main" in shown(pilot))
        check(pilot, svg, txt)


@THEMES
async def test_mail_read_on_a_narrow_screen(theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Enter gives the message the whole screen; the title still says whose mail it is."""
    async with opened((50, 20), fleet(), theme=theme, laid_out=mail) as pilot:
        mine(pilot)
        await pilot.press("m", "enter")
        await wait_for(pilot, lambda: "I can keep" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_mail_of_another_handle(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """A peek: the title says that no cursor moves; a circle for what its session has not read, a tick for the rest."""

    def peek(client: FakeClient) -> None:
        letters = (
            letter(1, "Docs-box", "which schema do the docs describe?", 3000, inbox="Backend-box", read=True),
            letter(2, ME, "keep it for one release", 200, inbox="Backend-box", opened=True),
            letter(3, "Analysis-wt-rot-box", "thanks, refitting", 100, inbox="Backend-box"),
        )
        client.answers[OpenMail] = Page("Backend-box", letters, 3)

    async with opened(size, fleet(), laid_out=peek, theme=theme) as pilot:
        pilot.app.screen.query_one("#fleet", Lines).select("Backend-box")
        await pilot.press("m")
        await wait_for(pilot, lambda: "keep it for one release" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_mail_with_a_long_message(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The end of what is shown of a message of ten million characters: how much more there is, and where."""

    def long(client: FakeClient) -> None:
        text = "The log of the night, line by line. " * 3000
        client.answers[OpenMail] = Page(ME, (replace(letter(1, "Docs-box", text[:4000], 60), chars=10_000_000),), 1)
        client.answers[ReadLetter] = Body(text[:100_000], 10_000_000)

    async with opened(size, fleet(), laid_out=long, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m", "enter")
        await wait_for(pilot, lambda: "line by line" in shown(pilot))
        await pilot.pause(0.1)
        await pilot.press("G")
        await wait_for(pilot, lambda: "9,900,000" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_mail_of_nobody(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """An empty inbox says so."""

    def none(client: FakeClient) -> None:
        client.answers[OpenMail] = Page(ME, (), 0)

    async with opened(size, fleet(), laid_out=none, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m")
        await wait_for(pilot, lambda: "no mail" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_mail_that_cannot_be_read(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """It is not shown as empty: the reason stands in its place."""

    def unreadable(client: FakeClient) -> None:
        fault = f"the inbox of @{ME} could not be read: Input/output error"
        client.answers[OpenMail] = Page(ME, fault=fault)

    async with opened(size, fleet(), laid_out=unreadable, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m")
        await wait_for(pilot, lambda: "Input/output error" in shown(pilot))
        check(pilot, svg, txt)


@pytest.mark.parametrize("size", [(100, 30), (120, 40), (160, 45)], ids=["100x30", "120x40", "160x45"])
@THEMES
async def test_mail_when_the_handles_beside_it_have_the_keys(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """Among the handles, narrow on the left, the one whose mail is shown; a look: my own mail is as new as before."""
    async with opened(size, fleet(), theme=theme, laid_out=mail) as pilot:
        pilot.app.screen.query_one("#fleet", Lines).select("Old-laptop")
        await pilot.press("m", "left", "j")
        await wait_for(pilot, lambda: "mail of operator-box" in shown(pilot) and "schema v3 is on main" in shown(pilot))
        check(pilot, svg, txt)


@THEMES
async def test_mail_while_the_registry_lock_is_wedged(
    theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """Below the handles: that the lock is held, and for how long."""
    async with opened((120, 40), fleet(lock=DEAD), theme=theme, laid_out=mail) as pilot:
        mine(pilot)
        await pilot.press("m")
        await wait_for(pilot, lambda: "schema v3 is on main" in shown(pilot))
        check(pilot, svg, txt)


# -- from many inboxes


@SIZES
@THEMES
async def test_search(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The words, how much was found, the hits of every inbox with the newest first, and the words marked."""
    async with opened(size, fleet(), laid_out=mail, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m", "slash", *"schema")
        lines = pilot.app.screen.query_one("#index", Lines)
        await wait_for(pilot, lambda: len(lines.keys) == 4)
        await pilot.press("enter")
        await wait_for(pilot, lambda: lines.has_focus)
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_search_before_anything_is_typed(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """It says what can be typed."""
    async with opened(size, fleet(), laid_out=mail, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m", "slash")
        await wait_for(pilot, lambda: "Every word you type" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_search_that_finds_nothing(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """It says so, in the place of a message."""
    async with opened(size, fleet(), theme=theme, laid_out=mail) as pilot:
        mine(pilot)
        await pilot.press("m", "slash", *"zebra")
        await wait_for(pilot, lambda: "nothing was found" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_sent(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """What I sent, to whom, the newest first: a tick when its reader has read it, a circle when not yet."""
    async with opened(size, fleet(), laid_out=mail, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m", "s")
        await wait_for(pilot, lambda: "2 not read yet" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_threads(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """One line for each peer: what is new, how many messages, how the last one begins."""
    async with opened(size, fleet(), laid_out=mail, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m", "t")
        await wait_for(pilot, lambda: "peers" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_thread(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """What was said with one peer, both ways, the newest last and selected."""
    async with opened(size, fleet(), laid_out=mail, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m", "t")
        await wait_for(pilot, lambda: "peers" in shown(pilot))
        pilot.app.screen.query_one("#index", Lines).select("Backend-box")
        await pilot.press("enter")
        await wait_for(pilot, lambda: "3 messages" in shown(pilot))
        check(pilot, svg, txt)


# -- writing


@SIZES
@THEMES
async def test_compose(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The receiver is typed: below it the live handles that it may be, each with its state, one of them marked."""
    async with opened(size, fleet(), "c", "b", "o", "down", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_compose_to_one_that_is_not_live(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """That it will be refused is said before it is sent."""
    async with opened(size, fleet(), theme=theme) as pilot:
        choose(pilot, "Old-laptop")
        await pilot.press("r")
        await pilot.pause()
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_reply(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The quote, what is answered, and room for the answer below it."""
    async with opened(size, fleet(), laid_out=mail, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m")
        await wait_for(pilot, lambda: "schema v3 is on main" in shown(pilot))
        await pilot.press("r")
        await wait_for(pilot, lambda: "reply to @Backend-box" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_compose_refused(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The one result line in red, word for word, below the draft that is kept."""

    def refuses(client: FakeClient) -> None:
        client.answers[Send] = Outcome(good=False, sentence="FAILED -> @Docs-box: no live session holds @Docs-box")

    async with opened(size, fleet(), laid_out=refuses, theme=theme) as pilot:
        choose(pilot, "Docs-box")
        await pilot.press("r", "h", "i", "ctrl+s")
        await wait_for(pilot, lambda: "no live session" in " ".join(shown(pilot).split()))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_broadcast_asked(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """How many get it, which of them will be refused, and Cancel has the focus."""
    async with opened(size, fleet(), "b", *"green", "ctrl+s", theme=theme) as pilot:
        await wait_for(pilot, lambda: "Send this to 9 handles?" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_broadcast_refused(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """How many it reached, the FAILED line of each that it did not, and that sending again is for those."""

    def some(client: FakeClient) -> None:
        done = BroadcastDone(
            good=False, sentence="Broadcast to 8 of 9 agent(s).", failed=(REFUSED,), left=("Old-laptop",), reached=8
        )
        client.answers[Broadcast] = done

    async with opened(size, fleet(), "b", *"green", "ctrl+s", laid_out=some, theme=theme) as pilot:
        await wait_for(pilot, lambda: "Send this to 9 handles?" in shown(pilot))
        await pilot.click("#confirm-yes")
        # The keys are back in the text only a moment after the question has gone.
        await wait_for(pilot, lambda: "8 of 9" in shown(pilot) and pilot.app.screen.query("#compose-text:focus"))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_compose_while_it_is_sent(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """It says that it is being sent; nothing is shown as filed before it is."""

    async def never(_: Command[Outcome]) -> Outcome:
        await asyncio.Event().wait()
        return Outcome(good=True)

    def slow(client: FakeClient) -> None:
        client.answers[Send] = never

    async with opened(size, fleet(), laid_out=slow, theme=theme) as pilot:
        choose(pilot, "Docs-box")
        await pilot.press("r", "h", "i", "ctrl+s")
        await wait_for(pilot, lambda: "sending …" in shown(pilot))
        check(pilot, svg, txt)


# -- what is not sent


def unsent(client: FakeClient) -> None:
    client.answers[LoadDrafts] = UNSENT


@SIZES
@THEMES
async def test_not_sent(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """What was refused, crossed, with its sentence, before what was only begun."""
    async with opened(size, fleet(), "u", theme=theme, laid_out=unsent) as pilot:
        await wait_for(pilot, lambda: "2 refused" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_not_sent_when_all_is(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """That everything is sent."""
    async with opened(size, fleet(), "u", theme=theme) as pilot:
        await wait_for(pilot, lambda: "everything is sent" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_not_sent_to_be_deleted(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """What will be gone, to whom it was, and Cancel has the focus."""
    async with opened(size, fleet(), "u", "delete", laid_out=unsent, theme=theme) as pilot:
        await wait_for(pilot, lambda: "Delete this message" in shown(pilot))
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_with_messages_that_are_not_sent(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """The header counts them in red, beside the mail."""
    async with opened(size, fleet(), laid_out=unsent, theme=theme) as pilot:
        await wait_for(pilot, pilot.app.desk.drafts.unsent)  # type: ignore[attr-defined]  # the app of this test
        pilot.app.screen.time_passed()  # type: ignore[attr-defined]  # the nav
        await pilot.pause()
        check(pilot, svg, txt)


# -- the rest


@SIZES
@THEMES
async def test_mail_help(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Every key of the mail, each with one sentence."""
    async with opened(size, fleet(), laid_out=mail, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m", "question_mark")
        await wait_for(pilot, lambda: "Keys in the mail" in shown(pilot))
        check(pilot, svg, txt)


@pytest.mark.parametrize("stance", [Stance.READ_ONLY, Stance.VIEWER])
@SIZES
@THEMES
async def test_mail_of_who_only_looks(
    size: Size, theme: str, stance: Stance, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """A reply is refused with the reason, on the message line."""
    looks = fleet(stance=stance, stance_why="this dashboard was opened read-only (--readonly)")
    async with opened(size, looks, laid_out=mail, theme=theme) as pilot:
        mine(pilot)
        await pilot.press("m")
        await wait_for(pilot, lambda: "schema v3 is on main" in shown(pilot))
        await pilot.press("r")
        await wait_for(pilot, lambda: "opened read-only" in shown(pilot))
        check(pilot, svg, txt)
