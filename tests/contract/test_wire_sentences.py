"""What a sender is told when a daemon files, refuses, or does not answer: the contract's words, with a scripted peer.

Contract, Delivery, Sending and The one result.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui import cli
from sot_tui.comm import routes
from sot_tui.comm.clock import SystemClock, stamp
from sot_tui.comm.routes import NO_DAEMON, NO_LOCK_HERE, Failed, Filed
from tests.mailbox import NAMELESS, mail_home
from tests.peer import EVENT, MISMATCH, TWO_ACCOUNTS, Peer, line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sot_tui.comm.home import Home

OK = {"ok": True}


class Late(SystemClock):
    """A clock by which all that is waited for comes `at` seconds after the first look."""

    def __init__(self, at: float) -> None:
        self.at = at
        self.looked = False

    def monotonic(self) -> float:
        if self.looked:
            return self.at
        self.looked = True
        return 0.0


@pytest.fixture
def hub(comm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    """Let a hub answer at the relay endpoint."""
    with Peer(comm_home.parent / "hub.sock", {"comm.file": OK}) as found:
        monkeypatch.setenv("SOT_RELAY_ENDPOINT", found.endpoint)
        yield found


@pytest.fixture
def own(comm_home: Path) -> Iterator[Peer]:
    """Let this box's own daemon answer, where daemons listen."""
    del comm_home
    with Peer(Path(os.environ["XDG_RUNTIME_DIR"], "sot", "sessions", "sot.sock"), {"comm.file": OK}) as found:
        yield found


def home_with(path: Path, *, appends: bool = True, **agents: object) -> Home:
    """Return a comm home with these entries, whose lock manager is this box's own if it `appends`."""
    home = mail_home(path, procs=None if appends else NAMELESS)
    (path / "registry.json").write_text(json.dumps({"protocol_version": 1, "agents": agents}))
    return home


def live() -> dict[str, object]:
    return {"host": "box", "last_seen": stamp(SystemClock().now() - 60)}


def send(home: Home, to: str = "h", msg: str = "hi", *, broadcast: bool = False) -> Filed | Failed:
    return routes.send(home, "me", "repo", to, msg, broadcast=broadcast)


def told(peer: Peer, home: Home, answer: object) -> str:
    """Return the one result when the peer answers so."""
    peer.answers["comm.file"] = answer
    return send(home).sentence


# -- the routes -------------------------------------------------------------------------------------------------------


def test_send_when_the_folder_does_not_list_the_handle_then_one_request_to_the_hub_and_one_answer(
    comm_home: Path, hub: Peer, own: Peer
) -> None:
    """A miss "writes ONE comm.file request to the relay endpoint, the hub, and reads ONE answer"."""
    home = home_with(comm_home)
    assert send(home) == Filed("filed -> @h", by_daemon=True)
    assert hub.asked == [("comm.file", {"from": "me", "to": "h", "text": "hi", "broadcast": False})]
    assert not own.asked
    assert not list(Path(home.inboxes).iterdir())


def test_send_when_the_folder_lists_the_handle_and_may_append_then_no_daemon_is_asked(
    comm_home: Path, hub: Peer, own: Peer
) -> None:
    """ "Sending picks one of two routes, by whether the sender's own comm folder lists the receiver"."""
    home = home_with(comm_home, h=live())
    assert send(home) == Filed("filed -> @h")
    assert Path(home.inbox("h")).exists()
    assert not hub.asked + own.asked


def test_send_when_the_lock_manager_is_another_then_the_own_daemon_is_handed_the_line(
    comm_home: Path, hub: Peer, own: Peer
) -> None:
    """ "Anything else ... hands the line to the daemon that owns the comm folder as comm.file: this box's own daemon,
    else the relay endpoint (the hub)"."""
    home = home_with(comm_home, appends=False, h=live())
    assert send(home, broadcast=True) == Filed("filed -> @h", by_daemon=True)
    assert own.asked == [("comm.file", {"from": "me", "to": "h", "text": "hi", "broadcast": True})]
    assert not hub.asked
    assert not Path(home.inbox("h")).exists()


def test_send_when_the_lock_manager_is_another_and_no_own_daemon_runs_then_the_hub(comm_home: Path, hub: Peer) -> None:
    home = home_with(comm_home, appends=False, h=live())
    assert send(home) == Filed("filed -> @h", by_daemon=True)
    assert hub.ops() == ["comm.file"]


@pytest.mark.parametrize("answer", [None, {"error": "unknown op: comm.file"}])
def test_send_when_the_own_daemon_does_not_file_then_no_second_route_is_tried(
    comm_home: Path, hub: Peer, own: Peer, monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    """ "A daemon that does not answer is FAILED and no second route is tried"; "one older than the record answers
    unknown op: comm.file"."""
    monkeypatch.setenv("SOT_INBOX_LOCK_WAIT_SECS", "0")
    home = home_with(comm_home, appends=False, h=live())._replace(clock=SystemClock() if answer else Late(2.9))
    why = "unknown op: comm.file" if answer else f"the daemon did not answer at {own.endpoint}"
    assert told(own, home, answer) == f"FAILED -> @h: {why}"
    assert not hub.asked
    assert not Path(home.inbox("h")).exists()


def test_send_when_the_receiver_is_not_live_then_no_daemon_is_asked_either(
    comm_home: Path, hub: Peer, own: Peer
) -> None:
    """ "Every route checks liveness before it appends"."""
    home = home_with(comm_home, appends=False, h={"host": "box", "last_seen": "2020-01-01T00:00:00Z"})
    assert send(home) == Failed("FAILED -> @h: no live session holds @h")
    assert not hub.asked + own.asked


def test_send_when_nobody_can_be_asked_then_each_route_says_so(comm_home: Path) -> None:
    """ "With no daemon found at all a wire send prints FAILED -> @h: no sotd daemon found; … and exits 1"."""
    home = home_with(comm_home, appends=False, h=live())
    assert send(home) == Failed(f"FAILED -> @h: {NO_LOCK_HERE}")
    assert send(home, "x").sentence.startswith("FAILED -> @x: no sotd daemon found; ")
    assert send(home, "x") == Failed(f"FAILED -> @x: {NO_DAEMON}")


def test_send_when_the_given_endpoint_cannot_be_dialled_then_none_is_in_its_place(
    comm_home: Path, own: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOT_SPAWN_ENDPOINT", "tcp:1:2")
    home = home_with(comm_home, appends=False, h=live())
    note = "comm-lib: discarding an endpoint this version cannot dial: tcp:1:2"
    assert send(home) == Failed(f"FAILED -> @h: {NO_LOCK_HERE}", note)
    assert not own.asked


# -- the one result ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sentence",
    [
        "no box knows that handle: h",
        "no live session holds @h",
        'not a handle: "h"',
        "the append failed: No space left on device",
        "the inbox lock for @h was held for 2s — nothing was appended",
        "unknown op: comm.file",
        "no linked box knows that handle: h; not linked: desk",
        "the daemon on desk did not answer within 3s; @h may still be filed",
        "the hub did not answer at ssh:atlas: Permission denied",
    ],
)
def test_result_when_the_daemon_has_a_sentence_then_that_is_the_reason(
    comm_home: Path, hub: Peer, sentence: str
) -> None:
    """ "FAILED -> @h: <reason> (exit 1), the reason being the daemon's own sentence whenever there is one"."""
    home = home_with(comm_home)
    assert told(hub, home, {"error": sentence, "code": "file_failed"}) == f"FAILED -> @h: {sentence}"
    assert told(hub, home, {"ok": True, "error": sentence}) == f"FAILED -> @h: {sentence}"


def test_result_when_the_daemon_says_neither_then_nothing_is_called_filed(comm_home: Path, hub: Peer) -> None:
    home = home_with(comm_home)
    for answer in ({}, {"ok": False}, {"ok": 1}, {"ok": "true"}):
        said = json.dumps(answer, separators=(",", ":"))
        assert told(hub, home, answer) == f"FAILED -> @h: the daemon answered neither ok nor a refusal: {said}"


def test_result_when_the_hello_is_refused_then_the_daemon_s_own_words(comm_home: Path, hub: Peer) -> None:
    """ "a daemon that refused this client's hello and answered nothing else (hello refused: <the daemon's own words>:
    this host has said hello as two OS accounts, or the two sides speak different protocols"."""
    home = home_with(comm_home)
    hub.closes_at_hello = True
    hub.hello = TWO_ACCOUNTS
    assert send(home) == Failed("FAILED -> @h: hello refused: this host has said hello as two OS accounts")
    hub.hello = MISMATCH
    assert send(home) == Failed(
        "FAILED -> @h: hello refused: protocol mismatch: backend 0.6.1 (protocol 2) vs frontend comm (protocol 3) — "
        "update the older side"
    )


def test_result_when_an_older_daemon_refuses_for_the_protocol_and_answers_then_that_answer_decides(
    comm_home: Path, hub: Peer
) -> None:
    """ "a daemon older than this release refuses only for the protocol and still answers the request, and that answer
    decides"."""
    home = home_with(comm_home)
    hub.hello = MISMATCH
    assert send(home) == Filed("filed -> @h", by_daemon=True)
    assert told(hub, home, {"error": "unknown op: comm.file"}) == "FAILED -> @h: unknown op: comm.file"


def test_result_when_nothing_answers_then_the_endpoint_and_what_the_transport_said(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "no answer at all (the daemon did not answer at <endpoint>, followed by the transport's own stderr when it wrote
    any)"."""
    home = home_with(comm_home)
    path = comm_home.parent / "gone.sock"
    monkeypatch.setenv("SOT_RELAY_ENDPOINT", f"unix:{path}")
    why = f"the daemon did not answer at unix:{path}: {path}: No such file or directory"
    assert send(home) == Failed(f"FAILED -> @h: {why}")


def test_result_when_the_transport_ends_badly_and_the_answer_is_there_then_the_answer_decides(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "The answer decides, whatever the transport's exit status or stderr say"."""
    folder = comm_home.parent / "bin"
    folder.mkdir()
    program = folder / "ssh"
    answer = line("res", "comm.file", OK).decode().strip()
    program.write_text(f"#!/bin/sh\necho 'a fault' >&2\nhead -n 2 >/dev/null\necho '{answer}'\nexit 255\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("SOT_RELAY_ENDPOINT", "ssh:atlas")
    assert send(home_with(comm_home)) == Filed("filed -> @h", by_daemon=True)
    program.write_text("#!/bin/sh\n[ \"$2\" = -o ] && echo 'a fault' >&2\nexit 255\n")
    assert send(home_with(comm_home)) == Failed("FAILED -> @h: the daemon did not answer at ssh:atlas: a fault")


@pytest.mark.parametrize(
    ("said", "after", "filed"),
    [({}, 4.0, True), ({}, 5.0, False), ({"SOT_INBOX_LOCK_WAIT_SECS": "60"}, 33.0, True),
     ({"SOT_INBOX_LOCK_WAIT_SECS": "60"}, 63.0, False), ({"SOT_SEND_TIMEOUT": "60"}, 5.0, False)],
)  # fmt: skip
def test_result_when_the_answer_takes_its_time_then_five_seconds_are_the_bound(
    comm_home: Path, hub: Peer, monkeypatch: pytest.MonkeyPatch, said: dict[str, str], after: float, filed: bool
) -> None:
    """ "No answer within 5 seconds is FAILED ...: the read window is the lock wait plus 3 seconds, 5 at the default 2 s
    wait"."""
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    home = home_with(comm_home)._replace(clock=Late(after))
    failed = Failed(f"FAILED -> @h: the daemon did not answer at {hub.endpoint}")
    assert send(home) == (Filed("filed -> @h", by_daemon=True) if filed else failed)


def test_result_when_events_come_before_the_answer_then_it_is_found(comm_home: Path, hub: Peer) -> None:
    hub.between = line("evt", "workspace.changed", EVENT, number=0) * 50
    assert send(home_with(comm_home)) == Filed("filed -> @h", by_daemon=True)


def test_result_when_half_an_answer_comes_then_it_is_none(comm_home: Path, hub: Peer) -> None:
    hub.keeps = 40
    assert send(home_with(comm_home)) == Failed(f"FAILED -> @h: the daemon did not answer at {hub.endpoint}")


def test_result_when_the_message_is_longer_than_a_frame_then_it_never_leaves(comm_home: Path, hub: Peer) -> None:
    found = send(home_with(comm_home), msg="x" * (1 << 20))
    assert found.sentence.startswith("FAILED -> @h: frame envelope is ")
    assert found.sentence.endswith(" bytes; cap is 1048576")
    assert not hub.burst


# -- the verbs --------------------------------------------------------------------------------------------------------


@pytest.fixture
def session(comm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Join as @me, outside any row; return the project."""
    project = comm_home.parent / "alpha"
    project.mkdir()
    monkeypatch.chdir(project)
    assert cli.main(["join", "--name", "me"]) == 0
    return project


@pytest.mark.parametrize("verb", [["send"], ["relay", "send"]])
@pytest.mark.usefixtures("session")
def test_verb_when_either_is_used_then_both_reach_the_hub_and_say_the_one_result(
    hub: Peer, verb: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """ "Either verb routes ..., so a session never has to know which verb reaches a peer"; "a script's own append
    prints it indented", and a daemon's is not."""
    capfd.readouterr()
    assert cli.main([*verb, "@far", "numbers", "please"]) == 0
    assert capfd.readouterr() == ("filed -> @far\n", "")
    assert hub.asked[-1][1]["text"] == "numbers please"
    hub.answers["comm.file"] = {"error": "no box knows that handle: far", "code": "not_here"}
    assert cli.main([*verb, "@far", "x"]) == 1
    assert capfd.readouterr() == ("", "FAILED -> @far: no box knows that handle: far\n")


def hello_of(peer: Peer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(peer.burst[-1].splitlines()[0])["payload"]
    return found


@pytest.mark.usefixtures("session")
def test_hello_when_a_session_sends_then_it_names_the_handle_and_the_box(
    hub: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOT_SELF_HOST", "Atlas")
    monkeypatch.setenv("SOT_COMM_SELF_FILE", f"{os.environ['HOME']}/self.txt")
    assert cli.main(["join", "--name", "me2"]) == 0
    assert cli.main(["send", "@far", "x"]) == 0
    said = hello_of(hub)
    assert (said["name"], said["host"], said["role"]) == ("me2", "Atlas", "cli")
