"""Quiet hours: which pushes they hold back, and the one digest after them, whoever held them back and whoever tells."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from sot_tui.comm.home import Home, home_here
from sot_tui.notify import decision_log, delivery, held, quiet
from sot_tui.notify.decide import BLOCKED, DONE, INFO, Notice
from sot_tui.notify.frame import Frame
from sot_tui.notify.quiet import Hours
from sot_tui.verbs import notifyd
from tests.e2e.box import COMMAND
from tests.notify.pieces import ASKED, PI_TURN, STOP, fields, line
from tests.notify.running import ACCEPTED, Notifyd
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from tests.notify.ntfy import Ntfy

NIGHT = Hours(22 * 60, 7 * 60, blocked_passes=False)
NOON = Hours(12 * 60, 13 * 60, blocked_passes=True)
TURN = Notice("a · box", "built", DONE)
NEED = Notice("b · box", "Allow it?", BLOCKED)
DEADLINE_SECS = 30


def settings(text: str) -> None:
    folder = Path(os.environ["XDG_CONFIG_HOME"], "sot")
    folder.mkdir(exist_ok=True)
    folder.joinpath("tui.toml").write_text(text)


def taking(sent: list[Notice]) -> Callable[[Notice], bool]:
    """Return a topic that takes everything, into a list."""

    def send(notice: Notice) -> bool:
        sent.append(notice)
        return True

    return send


def around_now(*, quiet_now: bool) -> str:
    """Return hours that this moment lies in, or does not, for as long as a test takes."""
    minute = quiet.minute_of(time.time())
    start, end = (minute - 60, minute + 60) if quiet_now else (minute + 60, minute + 120)
    return "-".join(f"{one % 1440 // 60:02}:{one % 60:02}" for one in (start, end))


def base() -> str:
    return f"{os.environ['XDG_STATE_HOME']}/steward/notify"


def until(fact: Callable[[], object], what: str) -> None:
    end = time.monotonic() + DEADLINE_SECS
    while not fact():
        assert time.monotonic() < end, f"it never came: {what}"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("hours", "minute", "is_quiet"),
    [
        (None, 0, False),
        (NIGHT, 21 * 60 + 59, False),
        (NIGHT, 22 * 60, True),
        (NIGHT, 0, True),
        (NIGHT, 6 * 60 + 59, True),
        (NIGHT, 7 * 60, False),
        (NOON, 11 * 60 + 59, False),
        (NOON, 12 * 60, True),
        (NOON, 12 * 60 + 59, True),
        (NOON, 13 * 60, False),
    ],
)
def test_hours_when_asked_of_a_minute_then_quiet_from_their_start_to_before_their_end(
    hours: Hours | None, minute: int, is_quiet: bool
) -> None:
    assert quiet.is_quiet(hours, minute) is is_quiet


def test_blocked_when_the_settings_let_it_pass_then_only_it_does() -> None:
    assert not quiet.holds(NOON, BLOCKED, 12 * 60)
    assert quiet.holds(NOON, DONE, 12 * 60)
    assert quiet.holds(NOON, INFO, 12 * 60)
    assert quiet.holds(NIGHT, BLOCKED, 0)
    assert not quiet.holds(NIGHT, BLOCKED, 12 * 60)


def test_digest_when_many_were_held_then_the_newest_are_told_the_others_counted_and_the_most_urgent_rules() -> None:
    many = [Notice(f"t{number} · box", "xy " * 200, DONE) for number in range(40)]
    told = quiet.digest([*many, NEED], "box")
    assert told.title == "41 pushes held back in quiet hours · box"
    assert told.urgency == BLOCKED
    assert told.body.startswith("and 29 before these\nt29 · box: xy xy")
    assert told.body.endswith("\nb · box: Allow it?")
    assert len(told.body.encode()) < 4096
    assert quiet.digest([TURN], "box") == Notice("1 push held back in quiet hours · box", "a · box: built", DONE)


def test_kept_when_the_hours_end_then_one_digest_tells_all_and_nothing_is_left(room: Path) -> None:
    clock = JumpingClock()
    home = Home(str(room / "comm"), clock=clock)
    minute = quiet.minute_of(clock.now())
    hours = Hours(minute, (minute + 10) % 1440, blocked_passes=False)
    gate = held.Gate(home, str(room / "base"), hours)
    sent: list[Notice] = []
    assert gate.keep(TURN)
    assert gate.keep(NEED)
    assert gate.release("box", taking(sent)) is None
    again = held.Gate(home, str(room / "base"), hours)  # as after a restart
    assert again.count() == 2
    clock.sleep(600)
    assert not again.keep(TURN)
    released = again.release("box", taking(sent))
    assert released is not None
    assert (released.told, released.delivered) == (2, True)
    assert sent == [quiet.digest([TURN, NEED], "box")]
    assert again.release("box", taking(sent)) is None
    assert again.count() == 0


def test_kept_when_the_digest_is_not_delivered_then_it_stays_and_a_torn_line_spoils_nothing(room: Path) -> None:
    home = Home(str(room / "comm"))
    minute = quiet.minute_of(time.time())
    folder = str(room / "base")
    keeping = held.Gate(home, folder, Hours((minute - 60) % 1440, (minute + 60) % 1440, blocked_passes=False))
    assert keeping.keep(TURN)
    with open(keeping.path, "ab") as file:
        file.write(b'{"title":"torn')
    assert keeping.keep(NEED)
    telling = held.Gate(home, folder, None)
    refused = telling.release("box", lambda _notice: False)
    assert refused is not None
    assert not refused.delivered
    assert telling.count() == 2
    told = telling.release("box", lambda _notice: True)
    assert told is not None
    assert told.notice == quiet.digest([TURN, NEED], "box")


def test_digest_when_two_tell_at_once_then_one_does(room: Path) -> None:
    home, folder = Home(str(room / "comm")), str(room / "base")
    minute = quiet.minute_of(time.time())
    assert held.Gate(home, folder, Hours((minute - 60) % 1440, (minute + 60) % 1440, blocked_passes=False)).keep(TURN)
    sending, may_end = threading.Event(), threading.Event()

    def slow(_notice: Notice) -> bool:
        sending.set()
        return may_end.wait(DEADLINE_SECS)

    first = threading.Thread(target=held.Gate(home, folder, None).release, args=("box", slow))
    first.start()
    assert sending.wait(DEADLINE_SECS)
    assert held.Gate(home, folder, None).release("box", lambda _notice: True) is None
    may_end.set()
    first.join()
    assert held.Gate(home, folder, None).count() == 0


def test_push_when_it_cannot_be_kept_then_it_is_sent(room: Path) -> None:
    """Louder than asked is better than lost."""
    home = Home(str(room / "comm"))
    minute = quiet.minute_of(time.time())
    (room / "base").write_text("no folder")
    gate = held.Gate(home, str(room / "base"), Hours((minute - 60) % 1440, (minute + 60) % 1440, blocked_passes=False))
    sent: list[Notice] = []
    channel = delivery.Channel(home, str(room / "state"), "box", taking(sent), print, print, keep=gate.keep)
    assert delivery.deliver(channel, Frame(PI_TURN, "earth:3", False))
    assert [one.urgency for one in sent] == [DONE]


def hook(topic: Ntfy) -> None:
    payload = {"session_id": "s", "hook_event_name": "Stop", "last_assistant_message": "built", "cwd": "/work/a"}
    subprocess.run(
        [COMMAND, "notify", "--harness", "claude-code"],
        input=json.dumps(payload).encode(),
        env={**os.environ, "STEWARD_NTFY_URL": topic.url},
        check=True,
        timeout=DEADLINE_SECS,
    )


def test_hook_when_it_delivers_by_itself_in_quiet_hours_then_held_and_the_next_one_after_them_tells(
    topic: Ntfy,
) -> None:
    settings(f'quiet_hours = "{around_now(quiet_now=True)}"\n')
    hook(topic)
    assert topic.got == []
    log = Path(base(), decision_log.NAME).read_text().splitlines()
    assert json.loads(log[-1])["reason"].endswith("(held back: quiet hours)")
    settings(f'quiet_hours = "{around_now(quiet_now=False)}"\n')
    hook(topic)
    assert [one.body.rpartition(": ")[2] for one in topic.got] == ["built", "built"]
    assert topic.got[1].headers["title"].startswith("1 push held back in quiet hours")


def test_notifyd_when_quiet_then_accepted_and_held_and_the_next_one_sends_one_digest(topic: Ntfy) -> None:
    settings(f'quiet_hours = "{around_now(quiet_now=True)}"\nquiet_blocked = true\n')
    daemon = Notifyd(topic.url)
    try:
        for number in range(3):
            turn = PI_TURN._replace(completion_id=f"c{number}")
            assert daemon.answer(line(fields(turn))) == ACCEPTED
        assert daemon.answer(line(fields(ASKED))) == ACCEPTED
        assert topic.bodies == ["Allow it?"]
    finally:
        assert daemon.end() == 0
    settings("")
    daemon = Notifyd(topic.url)
    try:
        until(lambda: len(topic.got) > 1, "the digest")
        assert daemon.answer(line(fields(STOP))) == ACCEPTED
        assert [one.headers["title"].partition(" · ")[0] for one in topic.got[1:]] == [
            "3 pushes held back in quiet hours",
            "project",
        ]
        reasons = [json.loads(each)["reason"] for each in Path(base(), decision_log.NAME).read_text().splitlines()]
        assert "quiet hours are over" in reasons
        settings(f'quiet_hours = "{around_now(quiet_now=True)}"\n')  # a change counts at once
        assert daemon.answer(line(fields(PI_TURN._replace(completion_id="later")))) == ACCEPTED
        assert len(topic.got) == 3
    finally:
        daemon.end()


class Waits:
    """The end of a daemon, which comes after so many waits."""

    def __init__(self, rounds: int) -> None:
        self.pauses: list[float] = []
        self.rounds = rounds

    def wait(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return len(self.pauses) > self.rounds


def test_digest_when_the_topic_refuses_it_then_a_daemon_asks_ever_more_rarely_until_it_is_taken(room: Path) -> None:
    home, folder, minute = home_here(), str(room / "base"), quiet.minute_of(home_here().clock.now())
    hours = Hours((minute - 60) % 1440, (minute + 60) % 1440, blocked_passes=False)
    answers = [False, False, False, True]
    assert held.Gate(home, folder, hours).keep(TURN)
    over = Waits(6)
    notifyd._release(held.Gate(home, folder, None), "box", lambda _: answers.pop(0), cast("Event", over))
    assert over.pauses == [0.0, 30.0, 60.0, 120.0, *[held.RELEASE_SECS] * 3]
    assert answers == []


def test_home_when_it_has_no_held_file_then_count_is_nothing() -> None:
    assert held.gate_of(home_here(), os.environ, base()).count() == 0
