"""Reference, sections 1, 5.2 and 7, behaviours B03 to B11 and B35 to B39: a real socket, real threads, a real topic."""

from __future__ import annotations

import os
import socket
import stat
import time
from contextlib import contextmanager, suppress
from threading import Event as Flag, Thread
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.clock import SystemClock
from sot_tui.comm.home import Home, home_here
from sot_tui.notify import client, frame as frames, server as servers
from sot_tui.notify.delivery import Channel, Words
from sot_tui.notify.frame import Frame
from sot_tui.notify.server import CannotListen, Server
from tests.notify.pieces import ASKED, ENDED, IDLE, PI_TURN, STOP, fields, line
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sot_tui.notify.decide import Notice
    from sot_tui.notify.event import Event

ACCEPTED, DUPLICATE, REJECTED = (frames.encode_ack(word) for word in ("accepted", "duplicate", "rejected"))
DEADLINE_SECS = 10


class Daemon:
    """A server in this process, with everything that it says and sends."""

    def __init__(self, folder: Path, words: Callable[[Event], Words] | None = None, **more: object) -> None:
        self.path = f"{folder}/run/steward/notifyd.sock"
        self.home = home_here()
        self.logged: list[str] = []
        self.sent: list[Notice] = []
        self.delivers = True
        self.while_sending: Callable[[], object] = bool
        self.base = folder / "base"
        self.server = Server(
            Channel(self.home, str(self.base), "earth", self.send, self.logged.append, self.logged.append, words),
            self.logged.append,
            **more,  # type: ignore[arg-type]
        )
        self.listening = servers.listen(self.home, {}, self.path)
        self.fault = "not served"
        self.thread = Thread(target=self.serve, daemon=True)  # a test that fails lets the others run
        self.thread.start()

    def serve(self) -> None:
        self.fault = self.server.serve(self.listening.listener)

    def send(self, notice: Notice) -> bool:
        self.while_sending()
        self.sent.append(notice)
        return self.delivers

    def end(self) -> None:
        self.server.stop()
        self.thread.join(DEADLINE_SECS)
        assert not self.thread.is_alive()
        servers.close(self.home, self.listening)

    @contextmanager
    def asked(self, data: bytes) -> Iterator[socket.socket]:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(DEADLINE_SECS)
            peer.connect(self.path)
            peer.sendall(data)
            yield peer

    def answer(self, data: bytes) -> bytes:
        """Return all that the daemon says until it hangs up, which it does when the event is at its end."""
        with self.asked(data) as peer:
            return heard(peer)

    def tell(self, event: Event, **top: object) -> bytes:
        return self.answer(line(fields(event, **top)))


def heard(peer: socket.socket) -> bytes:
    said = b""
    while part := peer.recv(4096):
        said += part
    return said


@pytest.fixture
def daemon(room: Path) -> Iterator[Daemon]:
    served = Daemon(room)
    yield served
    served.end()


# -- while nothing happens --------------------------------------------------------------------------------------------


def test_server_when_nothing_is_under_way_then_it_waits_without_an_end(daemon: Daemon) -> None:
    """A daemon that nobody asks anything takes nothing of a core: it wakes for a connection, and for nothing else."""
    for event in (PI_TURN, ENDED):
        assert daemon.tell(event) == ACCEPTED
    assert daemon.answer(b"\n") == REJECTED
    end = time.monotonic() + DEADLINE_SECS
    while daemon.server._patience_ms(None) is not None:  # what was served last ends in another thread
        assert time.monotonic() < end
        time.sleep(0.01)
    turns, turn = 0, daemon.server._turn

    def counted(end: float | None = None) -> set[int]:
        nonlocal turns
        turns += 1
        return turn(end)

    daemon.server._turn = counted  # type: ignore[method-assign]
    assert daemon.answer(b"\n") == REJECTED  # this one wakes it once, for itself and for its end
    assert turns <= 4


# -- the socket -------------------------------------------------------------------------------------------------------


def test_b03_listen_when_a_stale_file_lies_there_then_folder_and_socket_are_private(room: Path) -> None:
    """Contract: "communicate over a private Unix socket"."""
    folder = room / "run" / "steward"
    folder.mkdir(mode=0o700)
    (folder / "notifyd.sock").write_text("stale")
    listening = servers.listen(home_here(), {}, f"{folder}/notifyd.sock")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "notifyd.sock").stat().st_mode) == 0o600
    servers.close(home_here(), listening)
    assert not (folder / "notifyd.sock").exists()


@pytest.mark.parametrize("spoil", ["mode", "link"])
def test_b04_listen_when_the_folder_is_not_private_then_refused_and_left_as_it_is(room: Path, spoil: str) -> None:
    folder = room / "run" / "steward"
    if spoil == "mode":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.symlink_to(room / "home")
    with pytest.raises(CannotListen):
        servers.listen(home_here(), {}, f"{folder}/notifyd.sock")
    assert os.listdir(folder) == []


def test_d6_listen_when_a_daemon_runs_then_refused_and_its_socket_stays(daemon: Daemon) -> None:
    with pytest.raises(CannotListen, match="another notifyd is running"):
        servers.listen(home_here(), {}, daemon.path)
    os.unlink(f"{daemon.path}.lock")
    with pytest.raises(CannotListen, match="another notifyd listens there"):
        servers.listen(home_here(), {}, daemon.path)
    assert daemon.tell(IDLE) == ACCEPTED


def test_d6_close_when_another_socket_stands_at_the_path_then_it_stays(room: Path) -> None:
    served = Daemon(room)
    os.unlink(served.path)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(served.path)
        served.end()
        assert os.path.exists(served.path)


def test_b06_line_when_it_never_ends_then_rejected_at_the_read_deadline(room: Path) -> None:
    """Contract, Framing: "A connection that never completes a line expires at the daemon read deadline."."""
    served = Daemon(room, read_secs=0.1)
    assert served.answer(b'{"event":') == REJECTED
    assert served.logged == ['msg="notify frame rejected" reason=read_deadline']
    served.end()


@pytest.mark.parametrize(("ahead", "told"), [(4.9, "frame accepted"), (5.1, "frame rejected")])
def test_b07_read_deadline_when_accepted_then_five_seconds_in_all(room: Path, ahead: float, told: str) -> None:
    class Later(JumpingClock):
        """A clock that stands for the accept, and is `ahead` of that ever after."""

        def monotonic(self) -> float:
            now, self.mono = self.mono, 1000.0 + ahead
            return now

    home = Home(home_here().path, clock=Later())
    logged: list[str] = []
    served = Server(Channel(home, str(room / "base"), "", None, print, print), logged.append)
    listening = servers.listen(home_here(), {}, f"{room}/run/steward/notifyd.sock")
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(DEADLINE_SECS)
        peer.connect(listening.path)
        peer.sendall(line(fields(IDLE)))
        thread = Thread(target=served.serve, args=(listening.listener,))
        thread.start()  # only now, so that the line is there already
        with suppress(ConnectionResetError):  # what is late is not even read
            heard(peer)
        served.stop()
        thread.join(DEADLINE_SECS)
    servers.close(home_here(), listening)
    assert told in logged[0]
    assert len(logged) == 1


def test_b08_line_when_malformed_then_rejected_and_nothing_of_it_is_logged(daemon: Daemon) -> None:
    """Contract, Failure semantics: "never native payloads, prompt bodies, credentials, or raw errors"."""
    assert daemon.answer(b"SECRET-MALFORMED\n") == REJECTED
    assert daemon.answer(line({"event": None, "workspace": ""})) == REJECTED
    assert daemon.answer(b"x" * frames.LINE_BYTES) == REJECTED
    assert daemon.logged == ['msg="notify frame rejected" reason=invalid_frame'] * 3
    assert not daemon.base.exists()


def test_b10_line_when_the_write_side_stays_open_then_answered_at_the_newline(daemon: Daemon) -> None:
    """Contract, Framing: "begins decoding when the newline arrives and does not wait for EOF"."""
    with daemon.asked(line(fields(IDLE)) + b"more that is never looked at") as peer:
        assert heard(peer) == ACCEPTED


@pytest.mark.parametrize("at", [1, 40, 150, 310])
def test_line_when_it_comes_in_pieces_then_it_is_one_request(daemon: Daemon, at: int) -> None:
    whole = line(fields(IDLE))
    with daemon.asked(whole[:at]) as peer:
        peer.sendall(whole[at:])
        assert heard(peer) == ACCEPTED


def test_b11_serve_when_no_more_can_be_accepted_then_it_says_why() -> None:
    listener, other = socket.socketpair()  # takes no connections
    with listener, other:
        other.close()
        served = Server(Channel(home_here(), "/nowhere", "", None, print, print), print)
        assert served.serve(listener).startswith("accept failed: ")
        served.stop()
        assert listener.fileno() >= 0  # whoever opened it closes it, once


# -- one event, one push ----------------------------------------------------------------------------------------------


def test_claim_when_the_same_completion_comes_again_then_duplicate_and_nothing_is_done(daemon: Daemon) -> None:
    """Contract, Acknowledgements: "the duplicate causes no model or send work"."""
    assert daemon.tell(PI_TURN) == ACCEPTED
    assert daemon.tell(PI_TURN._replace(assistant="else")) == DUPLICATE
    assert [notice.body for notice in daemon.sent] == ["assistant"]
    assert len((daemon.base / "notify-decisions.jsonl").read_text().splitlines()) == 1
    told = (
        'harness="pi" session_id="session-1" kind="completion" completion_id="completion-1" source_event="TurnComplete"'
    )
    assert daemon.logged == [f'msg="notify frame accepted" {told}', f'msg="notify frame duplicate" {told}']


def test_ack_when_the_push_takes_long_then_it_comes_before_and_a_retry_is_a_duplicate(daemon: Daemon) -> None:
    """Contract, Acknowledgements: "It writes this acknowledgement before model composition or ntfy delivery."."""
    go = Flag()
    daemon.while_sending = lambda: go.wait(DEADLINE_SECS)
    with daemon.asked(line(fields(PI_TURN))) as peer:
        assert peer.recv(100) == ACCEPTED
        assert daemon.tell(PI_TURN) == DUPLICATE
        assert not daemon.sent
        go.set()
        assert heard(peer) == b""
    assert len(daemon.sent) == 1


def test_claim_when_the_push_fails_then_given_back(daemon: Daemon) -> None:
    """Contract, claims: "so a later source event can retry"."""
    daemon.delivers = False
    assert daemon.tell(PI_TURN) == ACCEPTED
    assert daemon.logged[-1].startswith('msg="notify send failed" harness="pi"')
    daemon.delivers = True
    assert daemon.tell(PI_TURN) == ACCEPTED
    assert daemon.tell(PI_TURN) == DUPLICATE
    assert len(daemon.sent) == 2


def test_claim_when_the_session_ends_then_it_stays(daemon: Daemon) -> None:
    """Contract, claims: "SessionEnd does not clear claims."."""
    assert daemon.tell(STOP) == ACCEPTED
    assert daemon.tell(ENDED) == ACCEPTED
    assert daemon.tell(STOP) == DUPLICATE


def test_claim_when_a_new_daemon_serves_then_it_knows_of_none(room: Path) -> None:
    """Contract, claims: "every daemon restart starts empty"."""
    for _ in range(2):
        served = Daemon(room)
        assert served.tell(PI_TURN) == ACCEPTED
        served.end()
        assert len(served.sent) == 1


def test_completion_when_its_identity_is_incomplete_then_never_a_duplicate(daemon: Daemon) -> None:
    """Contract, Framing: "never shares an empty deduplication key"."""
    for changed in (PI_TURN._replace(session_id=""), PI_TURN._replace(completion_id="")):
        assert daemon.tell(changed) == ACCEPTED
        assert daemon.tell(changed) == ACCEPTED
    assert len(daemon.sent) == 4
    assert daemon.logged[0].startswith('msg="notify frame accepted degraded"')


def test_b60_input_when_it_comes_twice_then_two_pushes(daemon: Daemon) -> None:
    assert [daemon.tell(ASKED), daemon.tell(ASKED)] == [ACCEPTED, ACCEPTED]
    assert [notice.urgency for notice in daemon.sent] == ["blocked", "blocked"]


def test_b63_silent_event_when_it_comes_then_accepted_logged_once_and_not_sent(daemon: Daemon) -> None:
    silent = (ENDED, IDLE, IDLE._replace(notification_type="agent_completed"), STOP._replace(agent_id="a"))
    assert {daemon.tell(event) for event in silent} == {ACCEPTED}
    assert not daemon.sent
    assert len((daemon.base / "notify-decisions.jsonl").read_text().splitlines()) == 4


def test_rehearsal_when_the_frame_says_so_then_nothing_is_claimed_or_sent(daemon: Daemon) -> None:
    """Contract, claims: "Only non-dry, structurally eligible completions"."""
    assert daemon.tell(PI_TURN, dry_run=True) == ACCEPTED
    assert daemon.tell(PI_TURN, dry_run=True) == ACCEPTED
    assert not daemon.sent
    assert daemon.tell(PI_TURN) == ACCEPTED
    assert len(daemon.sent) == 1


def test_b22_frame_when_rejected_then_no_claim_and_no_push(daemon: Daemon) -> None:
    assert daemon.tell(PI_TURN._replace(version=2)) == REJECTED
    assert not daemon.sent
    assert daemon.tell(PI_TURN) == ACCEPTED


def test_stop_when_pushes_are_under_way_then_each_that_was_accepted_is_finished(room: Path) -> None:
    """Contract, Failure semantics: "waits only a bounded interval for tracked handlers to finish"."""
    served = Daemon(room)
    go = Flag()
    served.while_sending = lambda: go.wait(DEADLINE_SECS)
    peers = []
    for number in range(50):
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(DEADLINE_SECS)
        peer.connect(served.path)
        peer.sendall(line(fields(PI_TURN._replace(completion_id=str(number)))))
        assert peer.recv(100) == ACCEPTED
        peers.append(peer)
    served.server.stop()
    go.set()
    served.end()
    for peer in peers:
        peer.close()
    assert len(served.sent) == 50
    assert served.fault == ""


def test_stop_when_a_push_hangs_then_it_ends_within_its_bound(room: Path) -> None:
    served = Daemon(room, drain_secs=0.05)
    go = Flag()
    served.while_sending = lambda: go.wait(DEADLINE_SECS)
    with served.asked(line(fields(PI_TURN))) as peer:
        assert peer.recv(100) == ACCEPTED
        served.end()
        assert not served.sent
        go.set()
        heard(peer)


def test_ack_when_nobody_hears_it_then_the_push_goes_all_the_same(daemon: Daemon) -> None:
    """Contract, Failure semantics: "If an accepted acknowledgement is lost, the client falls back while the daemon may
    also finish the accepted work, so duplicate delivery is possible."."""
    go = Flag()
    daemon.while_sending = lambda: go.set()  # noqa: PLW0108  (whatever it returns is not what a push answers)
    with daemon.asked(line(fields(PI_TURN))):
        pass  # gone before the answer
    assert go.wait(DEADLINE_SECS)
    assert daemon.tell(PI_TURN) == DUPLICATE


def test_claim_when_nobody_could_compose_but_the_push_went_then_it_stays(room: Path) -> None:
    """Contract, claims: "A successful fallback send after helper failure retains the claim."."""
    served = Daemon(room, words=lambda _: Words(error="helper timed out"))
    assert served.tell(PI_TURN) == ACCEPTED
    assert served.tell(PI_TURN) == DUPLICATE
    served.end()
    assert [notice.body for notice in served.sent] == ["assistant"]


def test_clients_when_two_hundred_come_at_once_then_each_is_answered_and_each_push_goes_once(daemon: Daemon) -> None:
    answers: list[bytes] = []

    def come(number: int) -> None:
        answers.append(daemon.tell(PI_TURN._replace(completion_id=str(number % 100))))

    threads = [Thread(target=come, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (answers.count(ACCEPTED), answers.count(DUPLICATE)) == (100, 100)
    assert len(daemon.sent) == 100


# -- the client -------------------------------------------------------------------------------------------------------


@contextmanager
def answering(path: Path, reply: bytes | None, before: Callable[[], object] = bool) -> Iterator[str]:
    """Play a daemon that answers one client so, after doing something else first.

    It never hangs up by itself unless it says nothing; None keeps it mute.
    """
    over = Flag()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path / "n.sock"))
        listener.listen()

        def play() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(1 << 17)
                before()
                if reply is not None:
                    peer.sendall(reply)
                if reply != b"":
                    over.wait(DEADLINE_SECS)

        thread = Thread(target=play)
        thread.start()
        yield str(path / "n.sock")
        over.set()
        thread.join()


@pytest.mark.parametrize("reply", [ACCEPTED, DUPLICATE])
def test_b35_b38_hand_over_when_taken_then_at_once_though_the_daemon_stays(room: Path, reply: bytes) -> None:
    """Contract, Acknowledgements: "Only accepted and duplicate transfer responsibility to the daemon."."""
    with answering(room, reply) as path:
        assert client.hand_over(Frame(PI_TURN, ""), path, SystemClock(), budget=DEADLINE_SECS)


@pytest.mark.parametrize(
    "reply", [REJECTED, b"bad\n", ACCEPTED[:-1], b'{"version":1,"status":"done"}\n', b"", None, b"x" * 257, b" " * 300]
)
def test_b36_hand_over_when_anything_else_comes_then_not_taken(room: Path, reply: bytes | None) -> None:
    """Contract, Acknowledgements: "malformed, truncated, oversized or unknown acknowledgements, disconnects"."""
    with answering(room, reply) as path:
        assert not client.hand_over(Frame(PI_TURN, ""), path, SystemClock(), budget=0.1)


def test_b37_hand_over_when_the_caller_has_less_time_then_its_deadline_counts(room: Path) -> None:
    """Contract, Acknowledgements: "shortened by any earlier caller deadline"."""
    clock = SystemClock()
    with answering(room, None) as path:
        end = clock.monotonic() + 0.02
        assert not client.hand_over(Frame(PI_TURN, ""), path, clock, budget=30, deadline=end)
        assert clock.monotonic() < end + 5
    assert client.BUDGET_SECS == 0.25


def test_hand_over_when_there_is_no_socket_or_no_event_then_not_taken(room: Path, daemon: Daemon) -> None:
    """Contract, Failure semantics: "If the socket is unavailable, the hook performs one inline fallback."."""
    clock = SystemClock()
    assert not client.hand_over(Frame(PI_TURN, ""), f"{room}/absent", clock)
    assert not client.hand_over(Frame(PI_TURN, ""), "/" + "x" * 300, clock)
    assert not client.hand_over(Frame(PI_TURN._replace(version=2), ""), daemon.path, clock)
    assert not daemon.logged
    assert client.hand_over(Frame(PI_TURN, "earth:3"), daemon.path, clock, budget=DEADLINE_SECS)
