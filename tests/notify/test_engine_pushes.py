"""The notifier inside the engine: who serves the hooks, what the engine pushes by itself, and what a restart keeps."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sot_tui.comm import frames, inbox
from sot_tui.comm.clock import stamp
from sot_tui.comm.fleet import Fleet, LockPhase, LockState, Mail, MailCount, Stance
from sot_tui.comm.home import Home
from sot_tui.engine import pushing, service
from sot_tui.engine.client import ReadEvents, What
from sot_tui.engine.pushing import Pusher
from sot_tui.engine.service import Engine
from sot_tui.notify import decided as decisions, decision_log, event as events, held, own, server, settings
from sot_tui.notify.decide import Notice
from tests.e2e.box import COMMAND
from tests.notify.pieces import PI_TURN, fields, line
from tests.notify.running import ACCEPTED, DUPLICATE, Notifyd
from tests.notify.test_quiet import around_now, settings as set_up
from tests.screens.real import put

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pytest

    from tests.notify.ntfy import Ntfy

SOTD = str(Path(sys.executable).with_name("sotd"))
DEADLINE_SECS = 30.0
OPERATOR = "operator-box"


def environ(topic: Ntfy | None, **more: str) -> dict[str, str]:
    url = {} if topic is None else {"STEWARD_NTFY_URL": topic.url}
    return {**os.environ, "SOT_SELF_HOST": "box", "SOT_COMM_TEST_HOST": "box", "STEWARD_HELPER_BIN": "", **url, **more}


def engine(home: Home, topic: Ntfy | None) -> Engine:
    return Engine(home, environ(topic), tick_s=0.1)


async def until(fact: Callable[[], object], what: str) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + DEADLINE_SECS
    while not fact():
        assert loop.time() < end, f"it never came: {what}"
        await asyncio.sleep(0.02)


async def said(one: Engine, words: str) -> bool:
    """Tell whether a line about pushes, or about who takes them, says so."""
    lines = (await one.do(ReadEvents())).lines
    return any(words in each.text for each in lines if each.what in {What.PUSH, What.ENGINE})


async def until_said(one: Engine, words: str) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + DEADLINE_SECS
    while not await said(one, words):
        assert loop.time() < end, f"it was never said: {words}"
        await asyncio.sleep(0.02)


def path() -> str:
    return settings.socket_path(os.environ)


def dials() -> bool:
    with socket.socket(socket.AF_UNIX) as peer:
        return peer.connect_ex(path()) == 0


def answer(data: bytes) -> bytes:
    """Return the answer to a frame, without waiting for what becomes of it."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(DEADLINE_SECS)
        peer.connect(path())
        peer.sendall(data)
        heard = b""
        while not heard.endswith(b"\n") and (part := peer.recv(4096)):
            heard += part
        return heard


async def asked(data: bytes) -> bytes:
    return await asyncio.to_thread(answer, data)


def mail(home: Home, text: str, to: str = OPERATOR) -> None:
    one = frames.frame("anna", to, "r", text, stamp(home.clock.now()))
    assert isinstance(inbox.file_line(home, OPERATOR, one), inbox.Filed)


def book(home: Home) -> dict[str, Any]:
    """Return what is kept of our own pushes; nothing while there is none."""
    kept = Path(os.environ["XDG_STATE_HOME"], "sot", "tui", pushing.BOOK)
    if not kept.exists():
        return {}
    found: dict[str, Any] = json.loads(kept.read_text())[home.disk.real_path(home.path)]
    return found


def is_begun(home: Home) -> bool:
    """Tell whether the operator's inbox was looked at once: from then on its mail is news."""
    there = book(home).get("mail")
    return isinstance(there, dict) and OPERATOR in there


def log() -> list[Mapping[str, str]]:
    kept = Path(settings.state_base(os.environ), decision_log.NAME)
    return [json.loads(each) for each in kept.read_text().splitlines()] if kept.exists() else []


def open_files() -> set[str]:
    """Return the files that this process holds open."""
    return {os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")}


# -- who serves -------------------------------------------------------------------------------------------------------


async def test_engine_when_no_sender_is_configured_then_it_listens_nowhere(comm_home: Path) -> None:
    """An `accepted` must never swallow an event."""
    async with engine(put(comm_home), None) as one:
        await until(lambda: OPERATOR in one.fleet.agents, "the join")
        await until(one.serving.is_set, "the control socket, whose duty began before")
        assert not os.path.exists(path())
        assert not dials()


async def test_hook_when_the_engine_serves_then_it_is_sent_once_and_not_by_the_hook(
    comm_home: Path, topic: Ntfy
) -> None:
    async with engine(put(comm_home), topic) as one:
        await until_said(one, "the hooks' pushes are taken at")
        payload = {"session_id": "s", "hook_event_name": "Stop", "last_assistant_message": "built", "cwd": "/work/a"}
        hook = await asyncio.create_subprocess_exec(
            COMMAND, "notify", "--harness", "claude-code", stdin=subprocess.PIPE, env=environ(topic)
        )
        await hook.communicate(json.dumps(payload).encode())
        await until(log, "the decision")
        assert topic.bodies == ["built"]
        assert len(log()) == 1
        record = server.holder(Home(str(comm_home)), path())
        assert record == server.Holder(os.getpid(), "dashboard")
    assert not os.path.exists(path())
    assert server.holder(Home(str(comm_home)), path()) is None


async def test_decisions_when_a_hook_makes_them_then_each_is_a_line_and_what_stood_there_is_none(
    comm_home: Path,
) -> None:
    """Product, Notifications: the events screen shows the same decisions."""
    home, base = put(comm_home), settings.state_base(os.environ)
    event = events.Event(
        1, "claude-code", "s", events.IGNORED, "Stop", "", "c", "", "", "", "", "", "", goal_active=False
    )

    def decided(outcome: str, reason: str, title: str = "") -> None:
        assert decision_log.append(home, base, event, decision_log.Entry(outcome, reason, title=title))

    decided("send", "long ago", "old")
    async with engine(home, None) as one:
        await until(one.decisions.is_set, "the first look at the log")
        decided("silent", "continuation")
        decided("send", "root completion", "Api\x1b[2J")
        decided("send", "root completion (send failed)", "Docs")
        await until_said(one, "“Docs” was not delivered (root completion)")
        lines = [each for each in (await one.do(ReadEvents())).lines if each.what in {What.PUSH, What.UNPUSHED}]
        # At the moment of the decision, by which it is the same line in the log of every engine.
        moments = [decisions.moment(each["time"]) for each in log()[1:]]
        assert [each.at for each in lines] == moments
        kept = os.path.realpath(f"{base}/{decision_log.NAME}")
        assert kept in open_files()
        assert [(each.what, each.good, each.text) for each in lines] == [
            (What.UNPUSHED, True, "claude-code Stop: no push (continuation)"),
            (What.PUSH, True, "“Api␛[2J” was sent (root completion)"),
            (What.PUSH, False, "“Docs” was not delivered (root completion)"),
        ]
    assert kept not in open_files()


async def test_engine_when_a_notifyd_runs_then_says_so_and_takes_over_when_that_ends(
    comm_home: Path, topic: Ntfy
) -> None:
    daemon = await asyncio.to_thread(Notifyd, topic.url)
    try:
        async with engine(put(comm_home), topic) as one:
            await until_said(one, "another notifyd is running: this engine serves no hooks until it ends")
            assert not one.fleet.faults
            assert server.holder(Home(str(comm_home)), path()) == server.Holder(daemon.process.pid, "notifyd")
            assert await asked(line(fields(PI_TURN))) == ACCEPTED
            assert await asyncio.to_thread(daemon.end) == 0
            await until_said(one, "the hooks' pushes are taken at")
            assert await asked(line(fields(PI_TURN._replace(completion_id="c2")))) == ACCEPTED
            assert await asked(line(fields(PI_TURN._replace(completion_id="c2")))) == DUPLICATE
            await until(lambda: len(log()) > 1, "both decisions")
            assert len(topic.got) == 2
    finally:
        daemon.kill()


async def test_engine_when_it_ends_then_what_it_accepted_is_delivered_and_a_notifyd_can_begin(
    comm_home: Path, topic: Ntfy
) -> None:
    async with engine(put(comm_home), topic) as one:
        await until_said(one, "the hooks' pushes are taken at")
        topic.lock.acquire()  # the topic answers nobody
        for number in range(20):
            assert await asked(line(fields(PI_TURN._replace(completion_id=f"c{number}")))) == ACCEPTED
        asyncio.get_running_loop().call_later(0.3, topic.lock.release)
    assert len(topic.got) == 20
    assert len(log()) == 20
    daemon = await asyncio.to_thread(Notifyd, topic.url)
    assert await asyncio.to_thread(daemon.end) == 0


async def test_duty_when_its_folder_is_open_to_all_then_a_fault_that_heals(comm_home: Path, topic: Ntfy) -> None:
    folder = Path(path()).parent
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    async with engine(put(comm_home), topic) as one:
        await until(lambda: [each for each in one.fleet.faults if each.duty == "notify"], "the fault")
        (fault,) = one.fleet.faults
        assert "is no private folder" in fault.sentence
        folder.chmod(0o700)
        await until(dials, "it serves")
        await until(lambda: not one.fleet.faults, "it is mended")


async def test_socket_when_it_is_removed_then_it_is_made_anew(
    comm_home: Path, topic: Ntfy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushing, "STANDS_SECS", 0.05)
    async with engine(put(comm_home), topic) as one:
        await until_said(one, "the hooks' pushes are taken at")
        os.unlink(path())
        await until(dials, "it listens again")


async def test_sender_when_it_is_configured_later_then_the_hooks_are_served(
    comm_home: Path, topic: Ntfy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "SENDER_SECS", 0.05)
    secret = comm_home.parent / "topic"
    home = put(comm_home)
    async with Engine(home, environ(None, STEWARD_NTFY_URL_FILE=str(secret)), tick_s=0.1) as one:
        await until(one.serving.is_set, "the control socket, whose duty began before")
        assert not dials()
        secret.write_text(f"{topic.url}\n")
        await until(dials, "it serves")
        assert await asked(line(fields(PI_TURN))) == ACCEPTED
        await until(lambda: topic.bodies == ["assistant"], "the push")


# -- mail -------------------------------------------------------------------------------------------------------------


async def test_mail_when_it_comes_then_one_push_and_none_for_what_was_there_before_or_after_a_restart(
    comm_home: Path, topic: Ntfy
) -> None:
    home = put(comm_home)
    async with engine(home, None) as one:
        await until(lambda: OPERATOR in one.fleet.agents, "the join")
        for number in range(20):
            mail(home, f"old {number}")
    async with engine(home, topic):
        await until(lambda: is_begun(home), "the first look")
        mail(home, "please look")
        await until(lambda: topic.got, "the push")
        await until(lambda: book(home)["waiting"] == [], "it is settled")
    assert topic.bodies == ["please look"]
    assert topic.got[0].headers["title"].startswith("mail from @anna · ")
    assert topic.got[0].headers["priority"] == "3"
    mail(home, "while nobody was there")
    mail(home, "to all", to="")
    async with engine(home, topic):
        await until(lambda: len(topic.got) > 1, "the push of what came meanwhile")
        await until(lambda: book(home)["waiting"] == [], "it is settled")
    async with engine(home, topic) as one:
        await until(lambda: one.fleet.mail_of(OPERATOR).trust is MailCount.COUNTED, "a look")
        mail(home, "the last")
        await until(lambda: len(topic.got) > 2, "the last push")
    assert topic.bodies == ["please look", "while nobody was there", "the last"]
    assert [(each["harness"], each["event"], each["reason"]) for each in log()] == [
        ("sot-tui", "Mail", "mail to the operator")
    ] * 3


async def test_mail_when_the_engine_is_killed_while_it_sends_then_it_is_not_sent_twice(
    comm_home: Path, topic: Ntfy
) -> None:
    home = put(comm_home)
    async with engine(home, topic):
        await until(lambda: is_begun(home), "the first look")
    topic.lock.acquire()
    daemon = await asyncio.create_subprocess_exec(SOTD, "run", env=environ(topic), stderr=subprocess.DEVNULL)
    try:
        mail(home, "please look")
        await until(lambda: [one for one in book(home)["waiting"] if one["begun"]], "it is being sent")
    finally:
        daemon.send_signal(signal.SIGKILL)
        await daemon.wait()
        topic.lock.release()
    async with engine(home, topic) as one:
        await until_said(one, "1 of our own pushes were under way when the engine ended; none is sent twice")
        mail(home, "another")
        await until(lambda: "another" in topic.bodies, "the next push")
    assert topic.bodies.count("please look") <= 1


async def test_mail_when_the_topic_fails_then_the_push_waits_and_survives_a_restart(
    comm_home: Path, topic: Ntfy, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = put(comm_home)
    topic.script = [403]
    async with engine(home, topic) as one:
        await until(lambda: is_begun(home), "the first look")
        mail(home, "please look")
        await until_said(one, "was not delivered (mail to the operator); it is tried again")
    (waits,) = book(home)["waiting"]
    assert (waits["tries"], waits["begun"]) == (1, False)
    monkeypatch.setattr(own, "due", lambda book, _now: next(iter(book.waiting), None))  # its pause is over
    async with engine(home, topic):
        await until(lambda: book(home)["waiting"] == [], "it is sent")
    assert topic.bodies == ["please look"] * 2
    assert [each["reason"] for each in log()] == ["mail to the operator (send failed)", "mail to the operator"]


async def test_mail_when_the_topic_asked_a_hooks_push_for_patience_then_it_waits_too(
    comm_home: Path, topic: Ntfy
) -> None:
    """Contract facts, 9.2: a 429 fails at once, and its Retry-After holds the next different send."""
    home = put(comm_home)
    topic.script, topic.headers = [429], {"Retry-After": "3600"}
    async with engine(home, topic) as one:
        await until(lambda: is_begun(home), "the first look")
        await until_said(one, "the hooks' pushes are taken at")
        assert await asked(line(fields(PI_TURN))) == ACCEPTED
        await until(log, "the hook's push has failed")
        mail(home, "please look")
        await until_said(one, "was not delivered (mail to the operator); it is tried again")
    assert topic.bodies == ["assistant"]
    assert [each["tries"] for each in book(home)["waiting"]] == [1]


async def test_mail_when_the_inbox_is_another_one_then_all_of_it_is_looked_at(comm_home: Path, topic: Ntfy) -> None:
    home = put(comm_home)
    async with engine(home, topic) as one:
        await until(lambda: OPERATOR in one.fleet.agents, "the join")
        for number in range(40):
            mail(home, f"old {number}")
        await until(lambda: one.fleet.mail_of(OPERATOR).total == 40, "all are counted")
        await until(lambda: book(home)["mail"][OPERATOR][-1:] and book(home)["mail"][OPERATOR][-1][0] == 40, "a look")
        await until(lambda: book(home)["waiting"] == [], "all are settled")
    told = len(topic.got)
    os.unlink(home.inbox(OPERATOR))
    for number in range(45):
        mail(home, f"new {number}")
    async with engine(home, topic):
        await until(lambda: len(topic.got) > told, "the push")
    assert topic.got[-1].headers["title"].startswith("45 messages · ")


async def test_book_when_it_cannot_be_used_then_a_fault_nothing_is_sent_and_it_stays(
    comm_home: Path, topic: Ntfy
) -> None:
    home = put(comm_home)
    kept = Path(os.environ["XDG_STATE_HOME"], "sot", "tui", pushing.BOOK)
    kept.parent.mkdir(parents=True, mode=0o700)
    kept.write_text("{")
    async with engine(home, topic) as one:
        await until(lambda: [each for each in one.fleet.faults if each.duty == "push"], "the fault")
        assert "move it aside" in one.fleet.faults[0].sentence
        await until(lambda: OPERATOR in one.fleet.agents, "the join")
        mail(home, "please look")
        await until(lambda: one.fleet.mail_of(OPERATOR).unread, "it is counted")
        assert kept.read_text() == "{"
    assert topic.got == []


async def test_mail_when_it_comes_in_quiet_hours_then_one_digest_after_them(comm_home: Path, topic: Ntfy) -> None:
    home = put(comm_home)
    set_up(f'quiet_hours = "{around_now(quiet_now=True)}"\n')
    async with engine(home, topic) as one:
        await until(lambda: is_begun(home), "the first look")
        await until_said(one, "the hooks' pushes are taken at")
        mail(home, "please look")
        assert await asked(line(fields(PI_TURN))) == ACCEPTED
        await until(lambda: held.gate_of(home, os.environ, settings.state_base(os.environ)).count() == 2, "both held")
        await until(lambda: book(home)["waiting"] == [], "it is settled")
    assert topic.got == []
    set_up("")
    async with engine(home, topic) as one:
        await until(lambda: topic.got, "the digest")
        await until_said(one, "“2 pushes held back in quiet hours · ")
    (digest,) = topic.got
    assert digest.headers["title"].startswith("2 pushes held back in quiet hours · ")
    assert "please look" in digest.body
    assert log()[-1]["reason"] == "quiet hours are over"


async def test_quiet_hours_when_the_settings_change_then_they_count_without_a_restart(
    comm_home: Path, topic: Ntfy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "RELEASE_SECS", 0.05)
    home = put(comm_home)
    async with engine(home, topic) as one:
        await until_said(one, "the hooks' pushes are taken at")
        set_up(f'quiet_hours = "{around_now(quiet_now=True)}"\n')
        assert await asked(line(fields(PI_TURN))) == ACCEPTED
        await until_said(one, "is held back until the quiet hours are over")
        set_up("quiet_hours = ")  # half of a file says nothing of the hours
        assert await asked(line(fields(PI_TURN._replace(completion_id="c2")))) == ACCEPTED
        await until(lambda: len(log()) > 1, "the second decision")
        assert log()[-1]["reason"].endswith("(held back: quiet hours)")
        assert topic.got == []
        set_up("")
        await until(lambda: topic.got, "the digest")
        await until_said(one, "was sent (quiet hours are over)")
    assert [each.headers["title"].partition(" · ")[0] for each in topic.got] == ["2 pushes held back in quiet hours"]


async def test_pushes_when_the_decision_log_cannot_be_written_then_said_and_sent_all_the_same(
    comm_home: Path, topic: Ntfy
) -> None:
    home = put(comm_home)
    Path(settings.state_base(os.environ), decision_log.NAME).mkdir(parents=True)
    async with engine(home, topic) as one:
        await until(lambda: is_begun(home), "the first look")
        mail(home, "please look")
        await until(lambda: topic.bodies == ["please look"], "the push")
        await until_said(one, "mail to the operator: the decision log could not be written")


async def test_decisions_when_the_engine_only_looks_then_they_are_told_there_too(comm_home: Path) -> None:
    """A window that may not write is one that a person reads, too; the log is a file of this box."""
    home, base = put(comm_home), settings.state_base(os.environ)
    async with Engine(home, environ(None), only_look="it may not", tick_s=0.1) as one:
        await until(one.decisions.is_set, "the first look at the log")
        assert one.fleet.stance is not Stance.HOST
        notice = Notice("T", "b", "info")
        assert decision_log.append_own(home, base, own.MAIL, notice)
        await until_said(one, "“T” was sent (mail to the operator)")


async def test_engine_when_it_hands_over_to_a_daemon_then_that_serves_and_tells_nothing_twice(
    comm_home: Path, topic: Ntfy
) -> None:
    home = put(comm_home)
    async with engine(home, topic):
        await until(lambda: is_begun(home), "the first look")
        mail(home, "first")
        await until(lambda: topic.got, "the push")
        daemon = await asyncio.create_subprocess_exec(SOTD, "run", env=environ(topic), stderr=subprocess.DEVNULL)
    try:
        mail(home, "second")
        await until(lambda: server.holder(home, path()) == server.Holder(daemon.pid, "daemon"), "the daemon serves")
        await until(lambda: len(topic.got) > 1, "the second push")
        assert await asked(line(fields(PI_TURN))) == ACCEPTED
        await until(lambda: len(topic.got) > 2, "the turn's push")
    finally:
        daemon.send_signal(signal.SIGTERM)
        assert await daemon.wait() == 0
    assert sorted(topic.bodies) == ["assistant", "first", "second"]
    assert not os.path.exists(path())


async def test_duty_when_it_ends_while_it_binds_then_the_socket_is_not_left(
    comm_home: Path, topic: Ntfy, monkeypatch: pytest.MonkeyPatch
) -> None:
    binds, listen = threading.Event(), server.listen

    def slow(*given: Any) -> server.Listening:
        bound = listen(*given)
        binds.set()
        loop.call_soon_threadsafe(duty.cancel)
        time.sleep(0.1)  # the end comes while this thread has not told anybody
        return bound

    monkeypatch.setattr(server, "listen", slow)
    home, loop = put(comm_home), asyncio.get_running_loop()
    pusher = _pusher(home, topic, Fleet())
    duty = asyncio.create_task(pusher.serve(lambda: None))
    await asyncio.wait({duty})
    assert binds.is_set()
    assert duty.cancelled()
    assert not os.path.exists(path())
    assert server.holder(home, path()) is None
    await pusher.close(1.0)


# -- the registry lock ------------------------------------------------------------------------------------------------


def _pusher(home: Home, topic: Ntfy, fleet: Fleet) -> Pusher:
    return Pusher(
        home,
        environ(topic),
        settings.Target(topic.url, ""),
        what="daemon",
        fleet=lambda: fleet,
        told=lambda *_: None,
        stands=lambda _: None,
    )


async def two_rounds(home: Home, topic: Ntfy, fleet: Fleet) -> None:
    """Have a notifier look at a fleet twice, as between a start and an end of the engine."""
    pusher = _pusher(home, topic, fleet)
    changed, rounds = asyncio.Event(), 0

    def well() -> None:
        nonlocal rounds
        rounds += 1

    duty = asyncio.create_task(pusher.push(changed, well))
    await until(lambda: rounds, "a round")
    changed.set()
    await until(lambda: rounds > 1, "another round")
    duty.cancel()
    await asyncio.wait({duty})
    await pusher.close(1.0)


async def test_lock_when_nobody_clears_it_then_one_push_over_a_restart(comm_home: Path, topic: Ntfy) -> None:
    home = put(comm_home)
    now = home.clock.now()
    wedged = LockState(LockPhase.HELD, "r", "lab pid 7 start 9", 200, verdict="not here", looks=3, looked_at=now)
    fleet = Fleet(home=home.path, host="box", lock=wedged, mail={OPERATOR: Mail(MailCount.COUNTED)})
    for _ in range(2):
        await two_rounds(home, topic, fleet)
    assert [one.body for one in topic.got] == ["Held by lab pid 7 start 9 for 3m: not here"]
