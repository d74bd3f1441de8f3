"""The end of a daemon, and each loss and each duplicate that the contract itself names, with real processes.

What is not named there must not happen: what was accepted before a daemon is told to stop is brought to its end.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from contextlib import contextmanager
from threading import Event as Flag, Thread
from typing import TYPE_CHECKING

import pytest

from tests.e2e.box import COMMAND
from tests.notify.pieces import PI_TURN, fields, line
from tests.notify.running import ACCEPTED, DEADLINE_SECS, DUPLICATE, REJECTED, Notifyd, heard, say
from tests.notify.test_server import Daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.notify.ntfy import Ntfy

pytestmark = pytest.mark.stress

DELIVERIES = 50


def turn(number: int) -> bytes:
    return line(fields(PI_TURN._replace(completion_id=str(number), assistant=f"said {number}")))


def decisions(room: Path) -> list[dict[str, str]]:
    path = room / "state" / "steward" / "notify" / "notify-decisions.jsonl"
    return [json.loads(each) for each in path.read_text().splitlines()]


@contextmanager
def delivering(daemon: Notifyd, count: int) -> Iterator[list[socket.socket]]:
    """Have so many events accepted, whose ends nobody has heard."""
    peers = []
    try:
        for number in range(count):
            peer = daemon.asked()
            peers.append(peer)
            peer.sendall(turn(number))
            assert heard(peer, b"\n") == ACCEPTED
        yield peers
    finally:
        for peer in peers:
            peer.close()
        daemon.kill()


# -- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("waits_for_the_topic", [True, False])
def test_sigterm_when_fifty_pushes_are_under_way_then_each_is_finished_and_nobody_new_is_taken(
    topic: Ntfy, room: Path, *, waits_for_the_topic: bool
) -> None:
    """Contract, Acknowledgements: "will process it under its bounded graceful-shutdown tracker"."""
    topic.go.clear()
    daemon = Notifyd(topic.url)
    with delivering(daemon, DELIVERIES) as peers:
        while waits_for_the_topic and len(topic.got) < DELIVERIES:
            assert daemon.process.poll() is None
        daemon.process.send_signal(signal.SIGTERM)
        # It serves whom it has, and takes nobody else: a hook that comes now delivers by itself.
        with daemon.asked() as late:
            say(late, turn(DELIVERIES))
            topic.go.set()
            assert daemon.process.wait(DEADLINE_SECS) == 0
            assert [heard(peer) for peer in peers] == [b""] * DELIVERIES
            assert heard(late) in {b"", ACCEPTED}  # accepted only if it was there before the signal was
    said = {f"said {number}" for number in range(DELIVERIES)}
    assert said <= set(topic.bodies)
    assert not [entry for entry in decisions(room) if "send failed" in entry["reason"]]
    assert not os.path.exists(daemon.path)


def test_stop_when_a_line_is_half_said_then_its_other_half_is_heard_and_the_event_is_pushed(room: Path) -> None:
    """Product: a connection that was taken is served to its end, within its read deadline."""
    draining = Flag()
    served = Daemon(room, cancel=draining.set)
    whole = turn(0)
    with served.asked(whole[:100]) as peer, served.asked(b"") as silent:
        # The one after them is answered: by then both were accepted.
        assert served.answer(b"\n") == REJECTED
        served.server.stop()
        assert draining.wait(DEADLINE_SECS)
        peer.sendall(whole[100:])
        assert heard(peer) == ACCEPTED
        silent.shutdown(socket.SHUT_WR)
        assert heard(silent) == REJECTED
        served.end()
    assert [notice.body for notice in served.sent] == ["said 0"]


def test_sigterm_when_hooks_come_all_the_while_then_just_what_was_accepted_is_pushed(topic: Ntfy, room: Path) -> None:
    """Contract, Acknowledgements: "accepted means the daemon admitted the event and will process it"."""
    daemon = Notifyd(topic.url)
    taken: set[str] = set()
    refused: set[str] = set()
    enough, over = Flag(), Flag()

    def come(first: int) -> None:
        number = first
        while not over.is_set():
            number += 8
            said = b""
            try:
                with daemon.asked() as peer:
                    say(peer, turn(number))
                    said = heard(peer, b"\n")
            except (FileNotFoundError, ConnectionRefusedError, TimeoutError):
                over.set()
            (taken if said == ACCEPTED else refused).add(f"said {number}")
            if len(taken) > DELIVERIES:
                enough.set()

    hooks = [Thread(target=come, args=(first,)) for first in range(8)]
    try:
        for hook in hooks:
            hook.start()
        assert enough.wait(DEADLINE_SECS)
        assert daemon.end() == 0
    finally:
        daemon.kill()
        over.set()
        for hook in hooks:
            hook.join()
    assert set(topic.bodies) == taken
    assert refused
    assert not [entry for entry in decisions(room) if "send failed" in entry["reason"]]


def test_sigterm_when_the_topic_never_answers_then_it_ends_all_the_same_and_says_what_failed(
    topic: Ntfy, room: Path
) -> None:
    """Contract, Failure semantics: it "waits only a bounded interval for tracked handlers to finish"."""
    topic.script = [-1] * 2 * DELIVERIES
    daemon = Notifyd(topic.url)
    with delivering(daemon, DELIVERIES):
        assert daemon.end() == 0
    reasons = [entry["reason"] for entry in decisions(room)]
    assert len([reason for reason in reasons if reason.endswith(" (send failed)")]) == DELIVERIES
    assert not daemon.strange


# -- what the contract allows, and each of it alone -------------------------------------------------------------------


def test_loss_when_the_daemon_is_killed_between_answer_and_push_then_that_one_alone_and_a_retry_is_taken(
    topic: Ntfy,
) -> None:
    """Contract, Failure semantics: "If notifyd crashes after accepted was observed but before delivery, the client does
    not fall back and that notification can be lost."."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:  # takes a request, and no one ever reads it
        daemon = Notifyd(f"http://127.0.0.1:{nobody.getsockname()[1]}/topic")
        with delivering(daemon, 1) as (peer,):
            daemon.kill()
            assert heard(peer) == b""
    daemon = Notifyd(topic.url)
    try:
        assert daemon.answer(turn(1)) == ACCEPTED
        assert topic.bodies == ["said 1"]
        assert daemon.answer(turn(0)) == ACCEPTED
    finally:
        daemon.kill()
    assert topic.bodies == ["said 1", "said 0"]


def test_duplicate_when_a_daemon_starts_anew_then_it_takes_what_another_delivered_and_no_further_one(
    topic: Ntfy,
) -> None:
    """Contract, Failure semantics: "After restart, the empty claim store can admit an event delivered before the crash,
    so a later source retry can duplicate an earlier successful send."."""
    for number in (signal.SIGKILL, signal.SIGTERM):
        daemon = Notifyd(topic.url)
        try:
            assert [daemon.answer(turn(0)), daemon.answer(turn(0))] == [ACCEPTED, DUPLICATE]
            daemon.end(number)
        finally:
            daemon.kill()
    assert topic.bodies == ["said 0"] * 2


def test_duplicate_when_the_answer_is_lost_then_hook_and_daemon_both_push(topic: Ntfy, room: Path) -> None:
    """Contract, Failure semantics: "If an accepted acknowledgement is lost, the client falls back while the daemon may
    also finish the accepted work, so duplicate delivery is possible."."""
    daemon = Notifyd(topic.url, XDG_STATE_HOME=str(room / "other"))
    os.rename(daemon.path, f"{daemon.path}.there")
    answers: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as between:
        between.bind(daemon.path)
        between.listen()

        def swallow() -> None:
            hook, _ = between.accept()
            with hook:
                request = heard(hook, b"\n")
                with socket.socket(socket.AF_UNIX) as peer:
                    peer.connect(f"{daemon.path}.there")
                    peer.sendall(request)
                    answers.append(heard(peer))

        thread = Thread(target=swallow)
        thread.start()
        said = {"hook_event_name": "Stop", "session_id": "s", "cwd": "/w/project", "last_assistant_message": "said"}
        environ = {**os.environ, "STEWARD_NTFY_URL": topic.url, "TMUX_PANE": ""}
        try:
            subprocess.run(
                [COMMAND, "notify"], input=json.dumps(said).encode(), env=environ, timeout=DEADLINE_SECS, check=True
            )
            thread.join()
        finally:
            daemon.kill()
    assert answers == [ACCEPTED]
    assert topic.bodies == ["said"] * 2
    assert len(decisions(room)) == 1  # the hook's own; the daemon's lies elsewhere
