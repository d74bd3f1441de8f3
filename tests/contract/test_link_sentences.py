"""What a hub makes of its links' answers, in the wire's own bytes: scripted boxes, real sockets, every order.

Contract, Delivery, route 2, and The one result; daemon wire 3.3.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.caller import Caller, burst, request
from tests.contract.test_daemon_sentences import MAIL, boxes, home_at, live
from tests.daemons import Daemon, daemon

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

WITH_A_LAB = """\
hub = "atlas"
[host.atlas]
daemon = true
frontend = true
[host.lab]
daemon = true
frontend = true
[host.wing]
daemon = true
[host.desk]
frontend = true
"""
NOT_HERE = {"error": "no box knows that handle: far", "code": "not_here"}
STALE = {"error": "no live session holds @far", "code": "no_live_session"}
HELD = {"error": "the inbox lock for @far was held for 2s — nothing was appended", "code": "file_failed"}
OK = {"ok": True}
MAY_BE = {"error": "the daemon on lab did not answer within 1.2s; @far may still be filed", "code": "file_failed"}


class Linked(Caller):
    """A box that holds a link: it says what the test has it say."""

    async def offer(self) -> tuple[int, Any]:
        """Return the number and the message of the next offer."""
        found = await self.frame("comm.file", "req")
        return found["id"], found["payload"]

    def answer(self, number: int, payload: object, op: str = "comm.file") -> None:
        body = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        self.say(f'{{"v":1,"id":{number},"kind":"res","op":"{op}","payload":{body}}}\n'.encode())


@asynccontextmanager
async def linked(one: Daemon, *hosts: str) -> AsyncIterator[list[Linked]]:
    async with AsyncExitStack() as stack:
        found = []
        for host in hosts:
            link = await stack.enter_async_context(Linked(one.path))
            await link.greet(role="link", name=f"sotd-{host}", host=host)
            found.append(link)
        yield found


def sending(one: Daemon, **more: object) -> asyncio.Task[Any]:
    return asyncio.create_task(burst(one.path, "comm.file", {**MAIL, "to": "far", **more}))


async def until(fact: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not fact():  # noqa: ASYNC110  (of a server that tells nobody)
            await asyncio.sleep(0.01)


@pytest.fixture
async def one(comm_home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    monkeypatch.setenv("SOT_INBOX_LOCK_WAIT_SECS", "600")  # who waits for that, waits too long for the test
    async with daemon(home_at(comm_home, h=live())) as found:
        yield found


@pytest.fixture
async def brief(comm_home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Daemon]:
    """A hub that waits for an offer for 1.2 s."""
    monkeypatch.setenv("SOT_INBOX_LOCK_WAIT_SECS", "0.2")
    async with daemon(home_at(comm_home, h=live())) as found:
        yield found


# -- the offer --------------------------------------------------------------------------------------------------------


async def test_offer_when_the_hub_does_not_list_the_handle_then_each_link_gets_the_same_request_marked_forwarded(
    one: Daemon,
) -> None:
    """ "A handle its folder does not list (not_here) it offers, as the same comm.file request marked forwarded, to
    every daemon linked to it (a hello of role link), all at once"."""
    async with linked(one, "lab", "desk") as links:
        said = sending(one, text="grün\n😀", broadcast=True)
        offers = [await link.offer() for link in links]  # nobody has answered yet
        for _, payload in offers:
            assert payload == {**MAIL, "to": "far", "text": "grün\n😀", "broadcast": True, "forwarded": True}
        assert offers[0][0] != offers[1][0]
        links[0].answer(offers[0][0], NOT_HERE)
        links[1].answer(offers[1][0], OK)
        assert await said == OK
        assert not [line for link in links for line in link.lines[2:]]


async def test_offer_when_the_hub_lists_the_handle_or_it_came_forwarded_then_nobody_is_asked(one: Daemon) -> None:
    """ "A request that arrived forwarded is not offered." """
    async with linked(one, "lab") as (lab,):
        assert await burst(one.path, "comm.file", MAIL) == OK
        assert await sending(one, forwarded=True) == NOT_HERE
        assert await lab.ask("ping", {}) == OK
        assert len(lab.lines) == 2, "an offer came"


# -- what the answers come to -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_answers_when_one_is_ok_then_filed_in_whatever_order_they_come(
    one: Daemon, order: tuple[int, ...]
) -> None:
    """ "the first ok" """
    async with linked(one, "lab", "desk", "moon") as links:
        said = sending(one)
        numbers = [(await link.offer())[0] for link in links]
        for place in order:
            links[place].answer(numbers[place], (NOT_HERE, STALE, OK)[place])
        assert await said == OK


async def test_answers_when_one_says_ok_then_nobody_else_is_waited_for(one: Daemon) -> None:
    async with linked(one, "lab", "desk") as (lab, desk):
        said = sending(one)
        await lab.offer()
        desk.answer((await desk.offer())[0], OK)
        assert await said == OK


@pytest.mark.parametrize(("first", "second"), [(STALE, HELD), (HELD, STALE), ({"error": "unknown op: x"}, STALE)])
async def test_answers_when_none_is_ok_then_the_first_refusal_that_is_not_not_here_in_its_own_words(
    one: Daemon, first: dict[str, str], second: dict[str, str]
) -> None:
    """ "else the first refusal that is not not_here, that box's own words" """
    async with linked(one, "lab", "desk", "moon") as (lab, desk, moon):
        said = sending(one)
        numbers = [(await link.offer())[0] for link in (lab, desk, moon)]
        lab.answer(numbers[0], NOT_HERE)
        moon.answer(numbers[2], first)
        await moon.ask("ping", {})  # it was heard
        desk.answer(numbers[1], second)
        assert await said == {"code": "file_failed", **first}


async def test_answers_when_a_link_gives_none_in_time_then_it_may_still_be_filed(brief: Daemon) -> None:
    """ "else the daemon on <host> did not answer within <n>s; @<h> may still be filed for a link that gave no answer in
    time"; "a daemon gives ... an offer to a linked daemon the lock wait plus 1 second"."""
    async with linked(brief, "desk", "lab") as (desk, lab):
        said = sending(brief)
        desk.answer((await desk.offer())[0], NOT_HERE)
        await lab.offer()
        assert await said == MAY_BE
        assert (f"mail to @far was not filed: {MAY_BE['error']}", False) in brief.log


async def test_answers_when_a_refusal_came_and_a_link_gives_none_then_the_refusal(brief: Daemon) -> None:
    async with linked(brief, "desk", "lab") as (desk, lab):
        said = sending(brief)
        desk.answer((await desk.offer())[0], STALE)
        await lab.offer()
        assert await said == STALE


async def test_answers_when_no_box_knows_the_handle_then_so_or_who_is_not_linked(one: Daemon) -> None:
    """ "else no box knows that handle: <h>, or, when a box that should hold a link to the hub (a frontend box other
    than the hub, by hosts.toml) holds none, no linked box knows that handle: <h>; not linked: <boxes>"."""
    assert await sending(one) == NOT_HERE
    boxes(WITH_A_LAB)
    nobody = {"error": "no linked box knows that handle: far; not linked: lab, desk", "code": "not_here"}
    assert await sending(one) == nobody
    async with linked(one, "lab") as (lab,):
        said = sending(one)
        lab.answer((await lab.offer())[0], NOT_HERE)
        assert await said == {**nobody, "error": "no linked box knows that handle: far; not linked: desk"}
        async with linked(one, "Desk") as (desk,):
            said = sending(one)
            for link in (lab, desk):
                link.answer((await link.offer())[0], NOT_HERE)
            assert await said == NOT_HERE
    boxes("hub =")
    assert await sending(one) == NOT_HERE


async def test_answers_when_twenty_boxes_are_linked_then_the_one_that_has_it_files(one: Daemon) -> None:
    async with linked(one, *(f"box{number}" for number in range(20))) as links:
        said = sending(one)
        numbers = [(await link.offer())[0] for link in links]
        for link, number in zip(links[:-1], numbers[:-1], strict=True):
            link.answer(number, NOT_HERE)
        links[-1].answer(numbers[-1], OK)
        assert await said == OK
        said = sending(one)
        for link in reversed(links):
            link.answer((await link.offer())[0], NOT_HERE)
        assert await said == NOT_HERE


async def test_answers_when_two_messages_go_to_one_handle_then_each_has_its_own(one: Daemon) -> None:
    async with linked(one, "lab") as (lab,):
        said = {text: sending(one, text=text) for text in ("first", "second")}
        offers = {payload["text"]: number for number, payload in (await lab.offer(), await lab.offer())}
        assert offers["first"] != offers["second"]
        lab.answer(offers["second"], OK)
        assert await said["second"] == OK
        assert not said["first"].done()
        lab.answer(offers["first"], HELD)
        assert await said["first"] == HELD


# -- what is no answer ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("garbage", ["yes", None, [], {}, {"ok": 1}, {"ok": "true"}, {"filed": True}, {"ok": False}])
async def test_answer_when_it_says_neither_then_it_is_none_and_never_filed(brief: Daemon, garbage: object) -> None:
    async with linked(brief, "lab") as (lab,):
        said = sending(brief)
        lab.answer((await lab.offer())[0], garbage)
        assert await said == MAY_BE


async def test_answer_when_it_is_of_another_op_or_number_or_link_then_passed_over(one: Daemon) -> None:
    async with linked(one, "lab", "desk") as (lab, desk):
        said = sending(one)
        numbers = [(await link.offer())[0] for link in (lab, desk)]
        lab.answer(numbers[0], OK, op="ping")
        lab.answer(numbers[1], OK)
        lab.answer(10_000, OK)
        desk.answer(numbers[0], OK)
        async with Caller(one.path) as other:
            await other.greet()
            other.say(f'{{"v":1,"id":{numbers[0]},"kind":"res","op":"comm.file","payload":{{"ok":true}}}}\n'.encode())
            assert await other.ask("ping", {}) == OK
        for link in (lab, desk):
            assert await link.ask("ping", {}) == OK  # what it said before was heard
        assert not said.done()
        desk.answer(numbers[1], NOT_HERE)
        desk.answer(numbers[1], OK)  # it has answered; both come in one burst
        assert await desk.ask("ping", {}) == OK
        lab.answer(numbers[0], NOT_HERE)
        assert await said == NOT_HERE


async def test_answer_when_it_is_late_then_nobody_hears_it_and_the_next_offer_is_its_own(brief: Daemon) -> None:
    async with linked(brief, "lab") as (lab,):
        said = sending(brief)
        late, _ = await lab.offer()
        assert await said == MAY_BE
        said = sending(brief)
        number, _ = await lab.offer()
        lab.answer(late, OK)
        assert await lab.ask("ping", {}) == OK
        assert not said.done()
        lab.answer(number, STALE)
        assert await said == STALE


async def test_link_when_it_goes_away_with_an_offer_then_at_once_it_may_still_be_filed(one: Daemon) -> None:
    async with linked(one, "lab", "desk") as (lab, desk):
        said = sending(one)
        await lab.offer()
        desk.answer((await desk.offer())[0], NOT_HERE)
        lab.writer.transport.abort()
        words = "the daemon on lab did not answer within 601s; @far may still be filed"
        assert await said == {"error": words, "code": "file_failed"}
        await until(lambda: ("the box lab is not linked any more", False) in one.log)
        said = sending(one)
        desk.answer((await desk.offer())[0], NOT_HERE)
        assert await said == NOT_HERE


async def test_link_when_it_says_what_is_no_frame_with_an_offer_then_at_once_it_may_still_be_filed(one: Daemon) -> None:
    async with linked(one, "lab") as (lab,):
        said = sending(one)
        await lab.offer()
        lab.say(b"what?\n")
        assert (await said)["error"].endswith("; @far may still be filed")


async def test_link_when_it_goes_away_before_any_of_an_offer_was_sent_then_it_was_not_linked(one: Daemon) -> None:
    """What never left this box is filed nowhere, and its sender is not told that it may be."""
    boxes(WITH_A_LAB.replace("[host.desk]\nfrontend = true\n", ""))
    async with linked(one, "lab") as (lab,):
        lab.reader._transport.pause_reading()  # type: ignore[attr-defined]  # a box whose daemon stands still
        sent = [sending(one, text="x" * 900_000) for _ in range(3)]
        hub = one.server._hub
        await until(lambda: len(hub._waited) == 3)
        lab.writer.transport.abort()
        said = sorted([(await one_said)["error"] for one_said in sent])
        assert said == [
            "no linked box knows that handle: far; not linked: lab",
            "no linked box knows that handle: far; not linked: lab",
            "the daemon on lab did not answer within 601s; @far may still be filed",
        ]


async def test_link_when_a_newer_one_of_its_box_comes_then_that_alone_is_asked(one: Daemon) -> None:
    async with linked(one, "lab", "desk") as (older, desk):
        said = sending(one)
        await older.offer()
        desk.answer((await desk.offer())[0], NOT_HERE)
        async with linked(one, "LAB") as (newer,):
            assert (await said)["error"].endswith("; @far may still be filed")
            assert await older.ends() == b""
            said = sending(one)
            newer.answer((await newer.offer())[0], OK)
            assert await said == OK
            await until(lambda: [words for words, _ in one.log if "a newer link of its box took its place" in words])
            assert ("the box lab is not linked any more", False) not in one.log


async def test_offer_when_it_would_be_no_frame_any_more_then_refused_and_not_sent(one: Daemon) -> None:
    empty = len(request("comm.file", {**MAIL, "to": "far", "text": ""})) - 1
    text = "x" * ((1 << 20) - empty)
    async with linked(one, "lab") as (lab,):
        said = await sending(one, text=text)
        assert said["code"] == "file_failed"
        assert said["error"].endswith("bytes; cap is 1048576")
        assert await lab.ask("ping", {}) == OK
        assert len(lab.lines) == 2


# -- how the links stand ----------------------------------------------------------------------------------------------


async def test_links_when_asked_for_then_who_is_linked_and_who_should_be(one: Daemon) -> None:
    boxes(WITH_A_LAB)
    assert (await burst(one.path, "version.query", {}))["links"] == {
        "hub": "",
        "up": False,
        "since_s": 0,
        "why": "",
        "next_try_s": 0,
        "linked": [],
        "missing": ["lab", "desk"],
    }
    async with linked(one, "lab", "moon\x1b"):
        said = (await burst(one.path, "version.query", {}))["links"]
        assert (said["linked"], said["missing"]) == (["lab", "moon␛"], ["desk"])
        assert ("the box lab is linked", True) in one.log


async def test_link_when_it_pings_and_then_is_silent_then_it_is_linked_no_more(
    one: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a frontend that pings (daemon wire 2.1); one that never pings is left alone."""
    monkeypatch.setattr("sot_tui.engine.server.SILENCE_SECS", 0.3)
    async with linked(one, "quiet", "lab") as (quiet, lab):
        assert await lab.ask("ping", {}) == OK
        assert await lab.ends() == b""
        await until(lambda: one.server._hub.linked() == ("quiet",))
        assert await quiet.ask("accounts.list", {})
