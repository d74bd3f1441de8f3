"""What a topic's server can do to a push, on real connections: break off, redirect, dawdle, drip, and never end.

Contract, Failure semantics: "Sender retains its existing bounded HTTP retry behavior."
"""

from __future__ import annotations

import socket
import struct
import time
from contextlib import contextmanager
from threading import Event as Flag, Thread
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.clock import SystemClock
from sot_tui.notify import sender as senders
from sot_tui.notify.decide import Notice
from sot_tui.notify.sender import Sender, Sent
from sot_tui.notify.settings import Target
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.notify.ntfy import Ntfy

NOTICE = Notice("project · earth:3", "body", "done")
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
DELIVERED = Sent(delivered=True, status=200)
RESET = struct.pack("ii", 1, 0)
"""A socket that lingers for no time: its close is a reset."""


class Server:
    """Plays one scene for each connection that comes, then no more."""

    def __init__(self, listener: socket.socket) -> None:
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/topic"
        self.requests: list[bytes] = []
        self.over = Flag()

    def request(self, peer: socket.socket) -> None:
        said = b""
        while not said.endswith(NOTICE.body.encode()):
            part = peer.recv(65536)
            if not part:
                return
            said += part
        self.requests.append(said)


@contextmanager
def playing(*scenes: Callable[[Server, socket.socket], None]) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener)
        listener.settimeout(30)

        def play() -> None:
            for scene in scenes:
                peer, _ = listener.accept()
                with peer:
                    peer.settimeout(30)
                    try:
                        scene(server, peer)
                    except (BrokenPipeError, ConnectionResetError):
                        continue  # the sender has heard enough

        thread = Thread(target=play)
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            thread.join()


def takes(server: Server, peer: socket.socket) -> None:
    server.request(peer)
    peer.sendall(GOOD)


def resets_unread(server: Server, peer: socket.socket) -> None:
    del server
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def resets_after_the_request(server: Server, peer: socket.socket) -> None:
    server.request(peer)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def breaks_off_its_answer(server: Server, peer: socket.socket) -> None:
    server.request(peer)
    peer.sendall(b"HTTP/1.1 2")


def says_nonsense(server: Server, peer: socket.socket) -> None:
    server.request(peer)
    peer.sendall(b"\x00\xff not HTTP at all\r\n\r\n")


def says_an_endless_line(server: Server, peer: socket.socket) -> None:
    server.request(peer)
    peer.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000)


TRANSPORT_FAULTS = (
    resets_unread,
    resets_after_the_request,
    breaks_off_its_answer,
    says_nonsense,
    says_an_endless_line,
)


def send(server: Server) -> tuple[Sent, list[float]]:
    """Send one push, and return what came of it and for how long it was waited in between."""
    clock = JumpingClock()
    return Sender(Target(server.url, ""), "", clock).send(NOTICE), clock.slept


@pytest.mark.parametrize("fault", TRANSPORT_FAULTS)
def test_send_when_the_transport_fails_once_then_one_further_attempt_after_a_second(
    fault: Callable[[Server, socket.socket], None],
) -> None:
    with playing(fault, takes) as server:
        assert send(server) == (DELIVERED, [1.0])
        assert len(server.requests) == (1 if fault is resets_unread else 2)


@pytest.mark.parametrize("fault", TRANSPORT_FAULTS)
def test_send_when_the_transport_fails_again_then_no_third_attempt(
    fault: Callable[[Server, socket.socket], None],
) -> None:
    with playing(fault, fault) as server:  # a third connection would be refused, or hang
        assert send(server) == (Sent(delivered=False), [1.0])


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_send_when_the_server_redirects_then_refused_and_the_token_goes_to_no_one_else(topic: Ntfy, code: int) -> None:
    def redirects(server: Server, peer: socket.socket) -> None:
        server.request(peer)
        peer.sendall(f"HTTP/1.1 {code} x\r\nLocation: {topic.url}\r\nContent-Length: 0\r\n\r\n".encode())

    with playing(redirects) as server:
        sent = Sender(Target(server.url, "SECRET"), "", JumpingClock()).send(NOTICE)
        assert sent == Sent(delivered=False, status=code)
        assert len(server.requests) == 1
    assert not topic.got


def test_send_when_the_answers_body_never_ends_then_its_first_line_counts() -> None:
    """Product: what the server says beside its code is not waited for."""
    heard_enough = Flag()

    def never_ends(server: Server, peer: socket.socket) -> None:
        server.request(peer)
        peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while not server.over.wait(0.01):  # the pace of the body
                peer.sendall(b"1\r\nx\r\n")
        except OSError:
            heard_enough.set()

    with playing(never_ends) as server:
        assert send(server) == (DELIVERED, [])
        assert heard_enough.wait(30)


def test_send_when_the_answer_comes_late_or_byte_by_byte_but_in_time_then_delivered() -> None:
    def dawdles(server: Server, peer: socket.socket) -> None:
        server.request(peer)
        for place in range(len(GOOD)):
            server.over.wait(0.01)
            peer.sendall(GOOD[place : place + 1])

    with playing(dawdles) as server:
        assert send(server) == (DELIVERED, [])


@pytest.mark.parametrize("said", ["", "soon", "-5", "1.5", "٣", "Thu, 28 May 2020 20:27:20 GMT", "0"])
def test_send_when_the_patience_asked_for_is_none_then_the_next_push_goes_at_once(said: str) -> None:
    def refuses(server: Server, peer: socket.socket) -> None:
        server.request(peer)
        peer.sendall(f"HTTP/1.1 429 x\r\nRetry-After: {said}\r\nContent-Length: 0\r\n\r\n".encode())

    with playing(refuses, takes) as server:
        clock = JumpingClock()
        sends = Sender(Target(server.url, ""), "", clock)
        assert sends.send(NOTICE) == Sent(delivered=False, status=429)
        assert sends.send(NOTICE) == DELIVERED
        assert clock.slept == []


def test_send_when_a_server_was_patient_then_what_waited_goes_once_and_none_of_the_refused_ones(topic: Ntfy) -> None:
    """Product: 429 fails at once; its Retry-After holds the next, different push."""
    topic.script, topic.headers = [429, 200, 200], {"Retry-After": "5"}
    clock = JumpingClock()
    sends = Sender(Target(topic.url, ""), "", clock)
    assert sends.send(NOTICE._replace(body="refused")) == Sent(delivered=False, status=429)
    assert sends.send(NOTICE._replace(body="held")) == DELIVERED
    assert sends.send(NOTICE._replace(body="after")) == DELIVERED
    assert topic.bodies == ["refused", "held", "after"]
    assert clock.slept == [5.0]


def test_send_when_held_for_most_of_its_time_then_what_is_left_bounds_its_attempts(
    topic: Ntfy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Product: one delivery takes at most its eleven seconds, whatever it waits for."""
    monkeypatch.setattr(senders, "TOTAL_SECS", 0.5)
    topic.go.clear()
    clock = SystemClock()
    began = time.monotonic()
    assert Sender(Target(topic.url, ""), "", clock).send(NOTICE) == Sent(delivered=False)
    # An attempt alone may take five seconds, and there are two of them.
    assert time.monotonic() - began < senders.ATTEMPT_SECS
    assert len(topic.got) == 1
