"""Spoiled requests by the thousand: each is the request it says or none, and a daemon answers one of three lines."""

from __future__ import annotations

import random
import select
import socket
from collections import Counter
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

from sot_tui.notify import decide, frame as frames, server as servers
from sot_tui.notify.claims import key_of
from tests.notify.pieces import ASKED, IDLE, PI_TURN, STOP, fields, line
from tests.notify.running import ACCEPTED, ANSWERS, DUPLICATE, REJECTED, Notifyd, heard, say
from tests.notify.test_server import Daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sot_tui.notify.claims import Key
    from sot_tui.notify.event import Event
    from tests.notify.ntfy import Ntfy

LINES = [line(fields(event)) for event in (PI_TURN, STOP, ASKED, IDLE)] + [line(fields(dry_run=True))]
PIECES = [
    b"\xff", b"\x00", b"\\ud800", b"null", b"{}", b"[", b'"', b"\n", b",", b"1e9", b"true", b'"version":1,',
    b"\xed\xa0\x80", b" ",
]  # fmt: skip
FLAT_KB = 8 * 1024
"""What a daemon may grow by after its first tenth: ten thousand claims are some megabytes."""


def spoiled(chance: random.Random, whole: bytes = b"") -> bytes:
    data = bytearray(whole or chance.choice(LINES))
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


# -- around the limits ------------------------------------------------------------------------------------------------

LIMITS = {
    "session_id": 256,
    "completion_id": 256,
    "agent_id": 256,
    "agent_type": 256,
    "cwd": 4096,
    "source_event": 128,
    "notification_type": 128,
    "message": 160,
}
"""Bytes (contract, Framing)."""


def around(limit: int, name: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield requests whose field is of every length around its limit, in letters of each size, and their answers."""
    for letter in "xé完😀":
        size = len(letter.encode())
        for length in range(limit - 5, limit + 6):
            value = letter * (length // size) + "x" * (length % size)
            event = {"completion_id": PI_TURN}.get(name, IDLE)
            answer = ACCEPTED if length <= limit else REJECTED
            if name == "workspace":
                yield line(fields(IDLE, value)), answer
            else:
                yield line({**fields(), "event": {**event._asdict(), name: value}}), answer


def test_daemon_when_a_field_is_of_every_length_around_its_limit_then_taken_up_to_it(topic: Ntfy) -> None:
    """Contract, Framing: "Workspace is at most 256 bytes, cwd at most 4096 bytes" and its other limits."""
    daemon = Notifyd(topic.url)
    try:
        for name, limit in {**LIMITS, "workspace": 256}.items():
            for data, wanted in around(limit, name):
                assert daemon.answer(data) == wanted, (name, len(data))
    finally:
        daemon.kill()


def test_daemon_when_the_texts_are_of_every_length_around_their_budget_then_they_share_it(topic: Ntfy) -> None:
    """Contract, Framing: "User and assistant text share an 8192-byte UTF-8 budget"."""
    daemon = Notifyd(topic.url)
    try:
        for user in (0, 1, 4095, 4096, 4097, 8191, 8192):
            for over in range(-3, 4):
                said = "完" * ((8192 - user + over) // 3)
                said += "x" * (8192 - user + over - len(said.encode()))
                if user + len(said.encode()) != 8192 + over:
                    continue  # there is no text of less than no bytes
                event = PI_TURN._replace(user="x" * user, assistant=said, agent_id="silent")
                assert daemon.answer(line(fields(event))) == (ACCEPTED if over <= 0 else REJECTED), (user, over)
    finally:
        daemon.kill()


def test_daemon_when_a_line_is_of_every_length_around_the_limit_then_taken_up_to_it(topic: Ntfy) -> None:
    """Contract, Framing: "The complete line, including the newline, is at most 64 KiB."."""
    daemon = Notifyd(topic.url)
    bare = line(fields(IDLE)).rstrip(b"\n")
    try:
        for length in range(frames.LINE_BYTES - 20, frames.LINE_BYTES + 21):
            padding = b" " * (length - len(bare) - 1)
            wanted = ACCEPTED if length <= frames.LINE_BYTES else REJECTED
            assert daemon.answer(bare + padding + b"\n") == wanted, length
            assert daemon.answer(padding + bare + b"\n") == wanted, length
            # Without a newline it is none, and from the limit on nobody waits for one.
            if length >= frames.LINE_BYTES:
                assert daemon.answer(bare + padding + b" ") == REJECTED, length
    finally:
        daemon.kill()


# -- in pieces, slowly, and by halves ---------------------------------------------------------------------------------


def test_daemon_when_a_line_is_split_at_every_byte_then_it_is_one_request(topic: Ntfy) -> None:
    """Contract, Framing: "The daemon begins decoding when the newline arrives and does not wait for EOF."."""
    daemon = Notifyd(topic.url)
    whole = line(fields(IDLE._replace(cwd="/é/完/😀")))
    try:
        for first in range(1, len(whole), 100):
            with ExitStack() as stack:
                places = range(first, min(first + 100, len(whole)))
                peers = [stack.enter_context(daemon.asked()) for _ in places]
                # All first parts, then all second ones: by then the first have been read.
                for peer, at in zip(peers, places, strict=True):
                    peer.sendall(whole[:at])
                for peer, at in zip(peers, places, strict=True):
                    peer.sendall(whole[at:])
                assert {heard(peer) for peer in peers} == {ACCEPTED}
    finally:
        daemon.kill()


def test_daemon_when_a_client_says_one_byte_at_a_time_then_it_is_one_request(topic: Ntfy) -> None:
    daemon = Notifyd(topic.url)
    whole = line(fields(PI_TURN))
    try:
        with daemon.asked() as peer:
            for at in range(len(whole)):
                peer.sendall(whole[at : at + 1])
            assert heard(peer) == ACCEPTED
        assert daemon.end() == 0
    finally:
        daemon.kill()
    assert topic.bodies == ["assistant"]


def test_daemon_when_clients_half_close_at_any_byte_then_rejected_and_after_the_line_accepted(topic: Ntfy) -> None:
    """Contract, Acknowledgements: "rejected means the request was not admitted.": an unfinished line is none."""
    daemon = Notifyd(topic.url)
    whole = line(fields(PI_TURN))
    try:
        for at in range(len(whole) + 1):
            with daemon.asked() as peer:
                peer.sendall(whole[:at])
                peer.shutdown(socket.SHUT_WR)
                assert heard(peer) == (ACCEPTED if at == len(whole) else REJECTED), at
    finally:
        daemon.kill()
    assert topic.bodies == ["assistant"]


def test_daemon_when_a_client_never_stops_dripping_then_rejected_at_the_read_deadline(room: Path) -> None:
    """Contract, Framing: "A connection that never completes a line expires at the daemon read deadline."."""
    served = Daemon(room, read_secs=0.3)
    dripped = 0
    try:
        with served.asked(b'{"event":') as peer:
            while not select.select([peer], [], [], 0.01)[0]:  # the pace of the drip
                say(peer, b" ")
                dripped += 1
            assert heard(peer) == REJECTED
    finally:
        served.end()
    assert dripped
    assert served.logged == ['msg="notify frame rejected" reason=read_deadline']


def test_daemon_when_more_clients_dawdle_than_it_serves_then_the_others_wait_and_it_holds_no_more(
    topic: Ntfy,
) -> None:
    daemon = Notifyd(topic.url)
    at_rest = daemon.open_files()
    dawdling = []
    try:
        for _ in range(servers.CONNECTIONS):
            peer = daemon.asked()
            peer.sendall(b"{")
            dawdling.append(peer)
        while daemon.open_files() < at_rest + servers.CONNECTIONS:
            assert daemon.process.poll() is None
        with daemon.asked() as late:
            late.sendall(line(fields(PI_TURN)))
            assert not select.select([late], [], [], 0.2)[0]
            assert daemon.open_files() == at_rest + servers.CONNECTIONS
            dawdling.pop().close()
            assert heard(late) == ACCEPTED
    finally:
        for peer in dawdling:
            peer.close()
        daemon.kill()
    assert topic.bodies == ["assistant"]


def test_daemon_when_clients_go_at_any_byte_then_it_serves_on(topic: Ntfy) -> None:
    daemon = Notifyd(topic.url)
    whole = line(fields(PI_TURN))
    try:
        for at in range(len(whole)):
            with daemon.asked() as peer:
                peer.sendall(whole[:at])
        assert daemon.answer(whole) == ACCEPTED
    finally:
        daemon.kill()
    assert topic.bodies == ["assistant"]


# -- a daemon among them ----------------------------------------------------------------------------------------------

SECRET_CWD = "/SECRET-FOLDER" + "/deep" * 8 + "/project"
"""So deep that no few spoiled bytes make its secret part the last one, which a title shows."""


class Fuzz:
    """Clients of every manner at one daemon, and what must come of all that they said."""

    AT_ONCE = 32
    """Clients that have spoken before the first of them listens: a busy machine changes between processes slowly."""

    def __init__(self, daemon: Notifyd, seed: int) -> None:
        self.daemon = daemon
        self.chance = random.Random(seed)
        self.number = 0
        self.claimed: set[Key] = set()
        self.due: Counter[str] = Counter()
        """The bodies that must be pushed, and how often."""
        self.spoken: list[tuple[socket.socket, bytes, bytes]] = []
        """Clients that are owed an answer: what they said, and what it deserves."""
        self.slow: dict[socket.socket, tuple[bytes, int]] = {}
        self.manners: Counter[str] = Counter()
        self.answers: Counter[bytes] = Counter()

    def event(self) -> Event:
        """Return the next event, which says what no log may hold, and a body that is like no other."""
        self.number += 1
        event = self.chance.choice([PI_TURN, PI_TURN, STOP, STOP, ASKED, IDLE])
        event = event._replace(cwd=SECRET_CWD)
        if event.kind == "completion":
            body = f"said {self.number}"
            return event._replace(completion_id=f"c{self.number}", user="SECRET-PROMPT " * 3, assistant=body)
        return event._replace(message=f"asked {self.number}")

    def whole(self) -> bytes:
        return line(fields(self.event(), **({"dry_run": True} if self.chance.random() < 0.1 else {})))

    def run(self, count: int) -> None:
        """Send so many requests, then wait for the end of each event."""
        for _ in range(count):
            self.one()
            self.feed()
            if len(self.spoken) >= self.AT_ONCE:
                self.hear()
        while self.slow:
            self.feed()
        self.hear()

    def one(self) -> None:
        chance = self.chance
        data = self.whole()
        is_valid = chance.random() < 0.02
        if not is_valid:
            data = spoiled(chance, data)
        if chance.random() < 0.002:
            data = data.rstrip(b"\n") + b" " * chance.randint(frames.LINE_BYTES - 400, frames.LINE_BYTES) + b"\n"
        manner = chance.choice(["whole", "whole", "split", "half-closed", "gone"])
        if is_valid and chance.random() < 0.3:
            manner = "slow"
        self.manners[manner] += 1
        peer = self.daemon.asked()
        if manner == "slow":
            self.slow[peer] = (data, 0)
            return
        if manner == "split":
            at = chance.randrange(len(data))
            say(peer, data[:at])
            data_left = data[at:]
        else:
            data_left = data
        say(peer, data_left)
        if manner == "gone":
            peer.close()
            self.deserved(data)
            return
        # A line that never ends is ended by its client; nobody waits for the read deadline here.
        if manner == "half-closed" or not line_of(data):
            with suppress(OSError):  # it may be gone
                peer.shutdown(socket.SHUT_WR)
        wanted = self.deserved(data)
        self.spoken.append((peer, data, wanted))
        if is_valid and wanted == ACCEPTED and chance.random() < 0.3:
            again = self.daemon.asked()
            say(again, data)
            self.spoken.append((again, data, self.deserved(data)))

    def feed(self) -> None:
        """Let each slow client say its next byte, and hear what is said to those that are done."""
        for peer, (data, at) in list(self.slow.items()):
            if at < len(data):
                say(peer, data[at : at + 1])
                self.slow[peer] = (data, at + 1)
                continue
            del self.slow[peer]
            with peer:
                said = heard(peer)
                if said != REJECTED:  # else it took more than five seconds, on a machine at its limit
                    assert said == self.deserved(data), data

    def hear(self) -> None:
        """Hold each answer against what the request deserves, and wait for the end of what was accepted."""
        for peer, data, wanted in self.spoken:
            with peer:
                said = heard(peer)
            assert said in ANSWERS, data
            assert said == wanted, data
            self.answers[said] += 1
        self.spoken.clear()

    def deserved(self, data: bytes) -> bytes:
        """Return the answer that a request deserves now, and note the push that must come of it."""
        try:
            frame = frames.decode(line_of(data))
        except frames.InvalidFrame:
            return REJECTED
        event = frame.event
        if frame.dry_run:
            return ACCEPTED
        if decide.is_claimable(event):
            if key_of(event) in self.claimed:
                return DUPLICATE
            self.claimed.add(key_of(event))
        decision = decide.decide(event)
        if decision.outcome == decide.SEND:
            self.due[decide.notice(event, decision.urgency, frame.workspace, "").body] += 1
        return ACCEPTED


def line_of(data: bytes) -> bytes:
    """Return the line that a daemon takes the bytes for; empty for none."""
    end = data.find(b"\n", 0, frames.LINE_BYTES) + 1
    return data[:end]


def besiege(topic: Ntfy, room: Path, count: int, seed: int) -> None:
    daemon = Notifyd(topic.url)
    try:
        siege = Fuzz(daemon, seed)
        siege.run(count // 10)
        before = daemon.resident_kb()
        siege.run(count - count // 10)
        grown = daemon.resident_kb() - before
        assert daemon.end() == 0
    finally:
        daemon.kill()
    assert Counter(topic.bodies) == siege.due
    assert not daemon.strange
    assert not daemon.secrets
    assert grown < FLAT_KB, grown
    kept = (room / "state" / "steward" / "notify").glob("notify-decisions*")
    assert not [path for path in kept if b"SECRET" in path.read_bytes()]
    assert set(siege.answers) == ANSWERS


@pytest.mark.stress
@pytest.mark.timeout(300)
def test_daemon_when_twenty_thousand_requests_are_spoiled_then_each_has_its_answer_and_each_push_goes_once(
    topic: Ntfy, room: Path
) -> None:
    """Contract, Framing and Acknowledgements: one of three lines, and "the duplicate causes no model or send work"."""
    besiege(topic, room, 20_000, 10)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_daemon_when_a_million_requests_are_spoiled_then_each_has_its_answer_and_each_push_goes_once(
    topic: Ntfy, room: Path
) -> None:
    besiege(topic, room, 1_000_000, 11)
