"""One question to a daemon: the bytes that leave, and which of the bytes that come are the answer."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import wire
from sot_tui.comm.clock import SystemClock
from sot_tui.comm.endpoints import Remote
from sot_tui.comm.errors import Misuse
from sot_tui.comm.wire import Answer, Caller, NoAnswer
from tests.peer import EVENT, MISMATCH, TWO_ACCOUNTS, Peer, line
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ME = Caller("atlas", "web-atlas", "cli")
OK = {"ok": True}
WRONG = line("res", "ping", {"ok": False})
SOON_S = 0.15
"""A window that is meant to pass."""


@pytest.fixture
def peer(comm_home: Path) -> Iterator[Peer]:
    with Peer(comm_home.parent / "d.sock", {"ping": OK}) as found:
        yield found


def ask(peer: Peer, op: str = "ping", seconds: float = 10.0) -> Answer | NoAnswer:
    return wire.ask(SystemClock(), peer.endpoint, ME, op, {}, seconds)


def test_ask_when_answered_then_hello_and_request_left_in_one_burst_both_with_id_1(peer: Peer) -> None:
    payload = {"from": "web-desk", "to": "api-atlas", "text": "grün \x7f\n", "broadcast": False}
    peer.answers["comm.file"] = OK
    assert wire.ask(SystemClock(), peer.endpoint, ME, "comm.file", payload, 10.0) == Answer(OK)
    hello = (
        '{"v":1,"id":1,"kind":"req","op":"hello","payload":{"client_id":"sot-comm","last_seen_revision":0,'
        f'"protocol":3,"app_version":"comm","host":"atlas","os_user":"uid:{os.geteuid()}","role":"cli",'
        '"name":"web-atlas"}}\n'
    )
    request = (
        '{"v":1,"id":1,"kind":"req","op":"comm.file","payload":{"from":"web-desk","to":"api-atlas",'
        '"text":"grün \x7f\\n","broadcast":false}}\n'
    )
    assert peer.burst == [(hello + request).encode()]


def test_encode_when_the_text_is_no_text_then_it_is_replaced() -> None:
    encoded = wire.encode(1, "req", "x", {"t": "a\ud800b\udcff"})
    assert json.loads(encoded)["payload"]["t"].strip("ab\ufffd") == ""


@pytest.mark.parametrize(
    "noise",
    [
        line("evt", "workspace.changed", EVENT, number=0),
        line("evt", "ping", OK | {"ok": False}, number=0),
        line("res", "other", OK),
        line("res", "ping", "no object"),
        b"Welcome to atlas!\n",
        b'{"v":1}\n\xff\n\n[]\n7\n',
        line("res", "ping", {"ok": False}).replace(b'"v":1', b'"v":2'),
        line("evt", "screen", {"blob": {"len": len(WRONG) + 2}}, number=0) + b"x\n" + WRONG,
        line("evt", "x", {"pad": "y" * 200_000}, number=0),
    ],
    ids=[
        "event",
        "event-of-the-op",
        "another-answer",
        "no-payload",
        "greeting",
        "no-frames",
        "version",
        "blob",
        "long",
    ],
)
@pytest.mark.parametrize("where", ["first", "between"])
def test_ask_when_other_things_come_too_then_the_answer_is_found(peer: Peer, noise: bytes, where: str) -> None:
    setattr(peer, where, noise)
    assert ask(peer) == Answer(OK)


def test_ask_when_the_answer_comes_in_single_bytes_then_it_is_read_whole(peer: Peer) -> None:
    peer.answers["ping"] = {"ok": True, "text": "é" * 50_000}
    found = ask(peer)
    assert isinstance(found, Answer)
    assert len(found.payload["text"]) == 50_000


def test_ask_when_the_daemon_refuses_then_its_words_and_its_code(peer: Peer) -> None:
    peer.answers["ping"] = {"error": "no box knows that handle: x", "code": "not_here"}
    found = ask(peer)
    assert isinstance(found, Answer)
    assert (found.error, found.code) == ("no box knows that handle: x", "not_here")


@pytest.mark.parametrize(
    ("said", "shown"), [({"a": 1}, '{"a":1}'), ("", '""'), (False, "false"), (None, ""), ("x", "x")]
)
def test_error_when_it_is_of_another_kind_then_it_is_still_one(said: object, shown: str) -> None:
    assert Answer({"error": said, "code": 7}).error == shown
    assert not Answer({"error": said, "code": 7}).code


@pytest.mark.parametrize("closes", [False, True])
def test_ask_when_the_hello_is_refused_then_it_stops_at_once(peer: Peer, closes: bool) -> None:
    peer.hello = TWO_ACCOUNTS
    peer.closes_at_hello = closes
    peer.hold = threading.Event()  # an answer that would come is not waited for
    assert ask(peer) == NoAnswer("hello refused: this host has said hello as two OS accounts")


def test_ask_when_an_older_daemon_refuses_and_serves_then_the_answer_decides(peer: Peer) -> None:
    peer.hello = MISMATCH
    assert ask(peer) == Answer(OK)


@pytest.mark.parametrize("closes", [False, True])
def test_ask_when_the_protocol_is_refused_and_nothing_follows_then_hello_refused(peer: Peer, closes: bool) -> None:
    peer.hello = MISMATCH
    peer.closes_at_hello = closes
    peer.answers["ping"] = None
    assert ask(peer, seconds=10.0 if closes else SOON_S) == NoAnswer(f"hello refused: {MISMATCH['error']}")


def test_ask_when_nothing_comes_then_the_window_ends_it(peer: Peer) -> None:
    peer.answers["ping"] = None
    assert ask(peer, seconds=SOON_S) == NoAnswer(f"the daemon did not answer at {peer.endpoint}")


def test_ask_when_half_an_answer_comes_then_there_is_none(peer: Peer) -> None:
    peer.keeps = 30
    assert ask(peer) == NoAnswer(f"the daemon did not answer at {peer.endpoint}")


def test_ask_when_a_line_has_no_end_within_the_limit_then_nothing_is_read_any_more(peer: Peer) -> None:
    peer.between = b"x" * (wire.FRAME_LIMIT + 1) + b"\n"
    assert ask(peer) == NoAnswer(f"the daemon did not answer at {peer.endpoint}")


def test_ask_when_the_request_is_longer_than_a_frame_then_it_never_leaves(peer: Peer) -> None:
    found = wire.ask(SystemClock(), peer.endpoint, ME, "comm.file", {"text": "x" * wire.FRAME_LIMIT}, 10.0)
    length = wire.FRAME_LIMIT + len('{"v":1,"id":1,"kind":"req","op":"comm.file","payload":{"text":""}}')
    assert found == NoAnswer(f"frame envelope is {length} bytes; cap is 1048576", unsent=True)
    assert not peer.burst


def test_ask_when_the_request_is_as_long_as_a_frame_then_it_is_answered(peer: Peer) -> None:
    room = wire.FRAME_LIMIT - len(wire.encode(1, "req", "ping", {"text": ""})) + 1
    assert wire.ask(SystemClock(), peer.endpoint, ME, "ping", {"text": "x" * room}, 10.0) == Answer(OK)
    assert len(peer.burst[0].splitlines()[1]) == wire.FRAME_LIMIT


def test_ask_when_nobody_listens_then_it_says_where_and_why(comm_home: Path) -> None:
    path = comm_home.parent / "d.sock"
    gone = wire.ask(SystemClock(), f"unix:{path}", ME, "ping", {}, 10.0)
    why = f"the daemon did not answer at unix:{path}: {path}"
    assert gone == NoAnswer(f"{why}: No such file or directory", unsent=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    refused = wire.ask(SystemClock(), f"unix:{path}", ME, "ping", {}, 10.0)
    assert refused == NoAnswer(f"{why}: Connection refused", unsent=True)
    long = wire.ask(SystemClock(), f"unix:/{'x' * 200}", ME, "ping", {}, 10.0)
    assert isinstance(long, NoAnswer)
    assert "too long" in long.why


def test_ask_when_the_queue_is_full_then_it_waits_for_room_and_no_longer_than_the_window(comm_home: Path) -> None:
    class Emptying(SystemClock):
        """A clock by which the queue gets room while one waits for it."""

        waits = 0

        def sleep(self, seconds: float) -> None:
            assert seconds < SOON_S
            self.waits += 1
            if self.waits == 3:
                listener.accept()[0].close()

    path = comm_home.parent / "d.sock"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as other:
        listener.bind(str(path))
        listener.listen(0)
        other.connect(str(path))
        full = wire.ask(SystemClock(), f"unix:{path}", ME, "ping", {}, SOON_S)
        assert isinstance(full, NoAnswer)
        assert full.unsent
        clock = Emptying()
        sent = wire.ask(clock, f"unix:{path}", ME, "ping", {}, SOON_S)
        assert isinstance(sent, NoAnswer)
        assert (sent.unsent, clock.waits) == (False, 3)


def test_ask_when_another_account_listens_then_not_a_byte_is_sent(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test can be two accounts, so the account that this process takes for its own is another one here."""
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    found = ask(peer)
    assert found == NoAnswer(
        f"the daemon did not answer at {peer.endpoint}: {peer.path}: not connecting: another OS account listens on "
        "this socket",
        unsent=True,
    )
    assert not peer.burst


@pytest.mark.parametrize("endpoint", ["tcp:1.2.3.4:9", "pipe:x", "", "unix:relative", "ssh:-oProxyCommand=x"])
def test_ask_when_the_endpoint_cannot_be_dialled_then_nobody_is(endpoint: str) -> None:
    found = wire.ask(SystemClock(), endpoint, ME, "ping", {}, 10.0)
    assert found == NoAnswer(f"the daemon did not answer at {endpoint}: this version cannot dial it", unsent=True)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [({}, 10.0), ({"SEND_TIMEOUT": "3"}, 3.0), ({"SOT_SEND_TIMEOUT": "4", "SEND_TIMEOUT": "3"}, 4.0)],
)
def test_window_when_a_variable_sets_it_then_so(said: dict[str, str], seconds: float) -> None:
    assert wire.window(said) == seconds
    with pytest.raises(Misuse, match="SOT_SEND_TIMEOUT"):
        wire.window({"SOT_SEND_TIMEOUT": "soon"})


@pytest.mark.parametrize(("environ", "role"), [({}, "cli"), ({"SOT_WORKSPACE": "api"}, "agent")])
def test_caller_when_in_a_row_then_an_agent(environ: dict[str, str], role: str) -> None:
    assert wire.caller(environ, "atlas", "h") == Caller("atlas", "h", role)


# -- over ssh ---------------------------------------------------------------------------------------------------------


def test_bridge_command_when_made_then_it_is_the_wire_s_own() -> None:
    command = wire.bridge_command(Remote("hub", ""), shared=())
    options = "ssh -T -o BatchMode=yes -o ServerAliveInterval=15 -o ServerAliveCountMax=3"
    assert " ".join(command[:8]) == options
    assert command[8:10] == ["--", "hub"], "no name of a box is read as an option"
    assert command[10].endswith('$PATH"; sotd stdio-bridge')
    assert wire.bridge_command(Remote("hub", "desk"), shared=("-o", "X"))[8:12] == ["-o", "X", "--", "hub"]
    assert wire.bridge_command(Remote("hub", "desk"), shared=())[10].endswith("; sotd stdio-bridge --host desk")


BRIDGE = f"""#!{sys.executable} -I
import os, select, socket, sys
if "-G" in sys.argv:
    sys.exit(0)
with open(os.environ["SAID"], "w") as file:
    file.write(" ".join(sys.argv[1:]))
print("ssh: a word about nothing", file=sys.stderr, flush=True)
if "PEER" not in os.environ:
    sys.exit(255)
if not os.environ["PEER"]:
    select.select([], [], [], 60)
far = socket.socket(socket.AF_UNIX)
far.connect(os.environ["PEER"])
while True:
    for one in select.select([0, far], [], [])[0]:
        data = os.read(0, 65536) if one == 0 else far.recv(65536)
        if not data:
            sys.exit(0)
        far.sendall(data) if one == 0 else os.write(1, data)
"""


@pytest.fixture
def ssh(comm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program in the place of ssh that carries bytes to a socket here."""
    folder = comm_home.parent / "bin"
    folder.mkdir()
    program = folder / "ssh"
    program.write_text(BRIDGE)
    program.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("SAID", str(folder / "said"))
    return folder / "said"


def test_ask_when_over_ssh_then_the_answer_comes_and_its_stderr_is_not_read(
    peer: Peer, ssh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEER", str(peer.path))
    peer.answers["ping"] = {"ok": True, "text": "x" * 300_000}
    found = wire.ask(SystemClock(), "ssh:hub/desk", ME, "ping", {"text": "y" * 300_000}, 30.0)
    assert isinstance(found, Answer)
    assert ssh.read_text().endswith("sotd stdio-bridge --host desk")
    assert f"ControlPath={os.environ['XDG_RUNTIME_DIR']}/sot-comm-ssh-%C" in ssh.read_text()


def test_ask_when_ssh_brings_nothing_then_its_stderr_lengthens_the_reason(ssh: Path) -> None:
    found = wire.ask(SystemClock(), "ssh:hub", ME, "ping", {}, 30.0)
    assert found == NoAnswer("the daemon did not answer at ssh:hub: ssh: a word about nothing")
    assert ssh.exists()


def test_ask_when_ssh_takes_nothing_then_the_window_ends_it(ssh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEER", "")
    found = wire.ask(SystemClock(), "ssh:hub", ME, "ping", {"text": "y" * 300_000}, 0.5)
    assert isinstance(found, NoAnswer)
    assert found.why.startswith("the daemon did not answer at ssh:hub")
    assert not ssh.exists() or ssh.read_text()


def test_ask_when_there_is_no_ssh_then_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = wire.ask(SystemClock(), "ssh:hub", ME, "ping", {}, 30.0)
    assert found == NoAnswer(
        "the daemon did not answer at ssh:hub: ssh could not be started: No such file or directory", unsent=True
    )


# -- frames, and the ways they go --------------------------------------------------------------------------------------


def test_encode_when_there_is_a_revision_then_it_is_said_and_else_not() -> None:
    assert wire.encode(1, "evt", "x", {}, 0) == b'{"v":1,"id":1,"kind":"evt","op":"x","rev":0,"payload":{}}\n'
    assert wire.encode(1, "evt", "x", {}) == b'{"v":1,"id":1,"kind":"evt","op":"x","payload":{}}\n'


@pytest.mark.parametrize(
    ("number", "read"), [("0", 0), (str(2**64 - 1), 2**64 - 1), (str(2**64), -1), ("-1", -1), ("true", -1), ("1.0", -1)]
)
def test_decode_when_a_request_has_a_number_then_only_one_of_64_bits_counts(number: str, read: int) -> None:
    frame = wire.decode(f'{{"v":1,"id":{number},"kind":"req","op":"x","payload":{{}}}}'.encode())
    assert frame is not None
    assert frame.number == read


@pytest.mark.parametrize(("length", "bytes_"), [(7, 7), (1, 1), (0, 0), (-1, 0), (True, 0), ("7", 0), (None, 0)])
def test_frame_when_a_blob_follows_then_its_length_is_a_whole_number_of_bytes(length: object, bytes_: int) -> None:
    assert wire.Frame("evt", "x", {"blob": {"len": length}}).blob_bytes == bytes_


def test_hello_when_a_comm_home_is_known_then_only_this_box_s_daemon_is_told_of_it(peer: Peer) -> None:
    """Another box's daemon has another comm home, by another path or by the same."""
    me = ME._replace(comm_home="/h/comm")
    assert wire.ask(SystemClock(), peer.endpoint, me, "ping", {}, 10.0) == Answer(OK)
    assert b'"comm_home":"/h/comm"' in peer.burst[0]
    assert b"comm_home" not in wire.hello(ME)
    assert b"comm_home" not in wire._hello(me, "ssh:hub")


class Given:
    """A way on which these bytes come, and then nothing more."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)

    def send(self, data: bytes, seconds: float) -> None:
        raise AssertionError(f"nothing is sent here: {len(data)} bytes in {seconds} s")

    def receive(self, seconds: float) -> bytes:
        assert seconds > 0
        return self.parts.pop(0) if self.parts else b""

    def close(self) -> str:
        return ""


@pytest.mark.parametrize(("longer", "frames"), [(0, 2), (1, 0)])
def test_frames_when_a_line_is_as_long_as_a_frame_may_be_then_it_is_one_and_a_longer_one_ends_them(
    longer: int, frames: int
) -> None:
    """Daemon wire 2: a frame is 1 MiB at most, its newline not counted."""
    bare = len(wire.encode(1, "res", "x", {"t": ""})) - 1
    long = wire.encode(1, "res", "x", {"t": "y" * (wire.FRAME_LIMIT - bare + longer)})
    got = wire._frames(SystemClock(), Given(long, line("res", "ping", OK)), SystemClock().monotonic() + 60)
    assert len(list(got)) == frames


def test_shown_when_a_payload_is_as_long_as_a_quote_then_it_is_whole_and_a_longer_one_cut() -> None:
    assert wire.shown("x" * 198) == '"' + "x" * 198 + '"'
    assert wire.shown("x" * 199) == '"' + "x" * 199 + "…"


def test_socket_when_it_sends_or_receives_then_each_waits_no_longer_than_it_is_given() -> None:
    here, there = socket.socketpair()
    with here, there:
        here.settimeout(60)
        way = wire._Socket(here)
        way.send(b"x", 5.0)
        assert here.gettimeout() == 5.0
        there.sendall(b"y")
        assert way.receive(7.0) == b"y"
        assert here.gettimeout() == 7.0
        with pytest.raises(TimeoutError):
            way.receive(0.01)


def test_connected_when_its_queue_is_full_and_the_window_is_over_then_it_waits_no_more(comm_home: Path) -> None:
    path, clock = comm_home.parent / "d.sock", JumpingClock()
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as other:
        listener.bind(str(path))
        listener.listen(0)
        other.connect(str(path))
        assert isinstance(wire.connected(clock, str(path), clock.monotonic()), str)
        assert clock.slept == []


def test_bridge_when_nothing_comes_then_it_is_waited_for_no_longer_than_is_given(
    ssh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh.parent.joinpath("ssh").write_text("#!/bin/sh\nexec sleep 5\n")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    bridge = wire._Bridge(SystemClock(), Remote("hub", ""))
    try:
        with pytest.raises(TimeoutError):
            bridge.receive(0.01)
    finally:
        bridge.close()
