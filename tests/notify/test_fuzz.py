"""Spoiled requests by the thousand: each is the request it says or none, and a daemon answers one of three lines."""

from __future__ import annotations

import random
import socket
from typing import TYPE_CHECKING

import pytest

from sot_tui.notify import frame as frames
from tests.notify.pieces import ASKED, IDLE, PI_TURN, STOP, fields, line
from tests.notify.test_server import Daemon, heard

if TYPE_CHECKING:
    from pathlib import Path

LINES = [line(fields(event)) for event in (PI_TURN, STOP, ASKED, IDLE)] + [line(fields(dry_run=True))]
PIECES = [
    b"\xff", b"\x00", b"\\ud800", b"null", b"{}", b"[", b'"', b"\n", b",", b"1e9", b"true", b'"version":1,',
    b"\xed\xa0\x80", b" ",
]  # fmt: skip
ANSWERS = {frames.encode_ack(word) for word in ("accepted", "duplicate", "rejected")}


def spoiled(chance: random.Random) -> bytes:
    data = bytearray(chance.choice(LINES))
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data))
        data[at : at + chance.choice([0, 1, 9])] = chance.choice([*PIECES, bytes([chance.randrange(256)])])
    return bytes(data)


def rounds(count: int, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(count):
        data = spoiled(chance)
        try:
            got = frames.decode(data)
        except frames.InvalidFrame:
            continue
        assert frames.decode(frames.encode(got)) == got, data


def test_decode_when_twenty_thousand_requests_are_spoiled_then_each_is_one_or_none() -> None:
    rounds(20_000, 8)


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_decode_when_a_million_requests_are_spoiled_then_each_is_one_or_none() -> None:
    rounds(1_000_000, 9)


def test_daemon_when_spoiled_requests_come_in_pieces_then_one_of_three_answers_and_no_byte_in_its_log(
    room: Path,
) -> None:
    served = Daemon(room)
    chance = random.Random(10)
    try:
        for _ in range(1000):
            data = spoiled(chance).replace(b"assistant", b"SECRET-TEXT")
            at = chance.randrange(len(data))
            with served.asked(data[:at]) as peer:
                # A daemon that has its line already may be gone: then the rest is nobody's.
                try:
                    peer.sendall(data[at:])
                    peer.shutdown(socket.SHUT_WR)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                said = heard_or_gone(peer)
            assert said in ANSWERS, data
    finally:
        served.end()
    assert not [each for each in served.logged if "SECRET" in each]


def heard_or_gone(peer: socket.socket) -> bytes:
    """Return what the daemon said; that it left bytes unread is told by a reset, once all it said is read."""
    said = b""
    try:
        while part := peer.recv(4096):
            said += part
    except ConnectionResetError:
        pass
    return said


def test_clients_when_they_go_at_any_byte_then_the_daemon_serves_on(room: Path) -> None:
    served = Daemon(room)
    whole = line(fields(PI_TURN))
    try:
        for at in range(0, len(whole), 7):
            with served.asked(whole[:at]):
                pass
        with served.asked(whole) as peer:
            assert heard(peer) == frames.encode_ack("accepted")
    finally:
        served.end()
    assert len(served.sent) == 1
