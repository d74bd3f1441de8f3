"""Reference, section 9.4 and 9.5, behaviours B05, B35 to B42 and B47: the commands as real processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from sot_tui.notify import frame as frames
from tests.e2e.box import COMMAND
from tests.notify.pieces import PI_TURN, fields, line
from tests.notify.test_server import Daemon, answering
from tests.screens.real import put

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.notify.ntfy import Ntfy

pytestmark = pytest.mark.e2e

STOP = {"hook_event_name": "Stop", "session_id": "s1", "cwd": "/w/project", "last_assistant_message": "hook text"}


def notify(*words: str, said: object = STOP, url: str = "", **more: str) -> tuple[int, str, str]:
    env = {**os.environ, "STEWARD_NTFY_URL": url, "TMUX_PANE": "", **more}
    data = said if isinstance(said, bytes) else json.dumps(said).encode()
    ran = subprocess.run([COMMAND, "notify", *words], input=data, capture_output=True, env=env, timeout=50, check=False)
    return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


def transcript(room: Path, said: str) -> Path:
    path = room / "transcript.jsonl"
    content = [{"type": "text", "text": said}]
    path.write_text(json.dumps({"uuid": "u1", "message": {"role": "assistant", "content": content}}))
    return path


def logged(room: Path) -> list[dict[str, str]]:
    path = room / "state" / "steward" / "notify" / "notify-decisions.jsonl"
    return [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]


@contextmanager
def serving(url: str, *words: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the daemon, and wait until its socket answers."""
    env = {**os.environ, "STEWARD_NTFY_URL": url, **more}
    process = subprocess.Popen(
        [COMMAND, "notifyd", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, stdin=subprocess.DEVNULL
    )
    path = f"{os.environ['XDG_RUNTIME_DIR']}/steward/notifyd.sock"
    try:
        while process.poll() is None:
            with socket.socket(socket.AF_UNIX) as peer:
                if peer.connect_ex(path) == 0:
                    peer.sendall(b"\n")
                    assert peer.recv(100) == frames.encode_ack("rejected")
                    break
        yield process
    finally:
        process.kill()
        process.communicate()


# -- the hook's command -----------------------------------------------------------------------------------------------


def test_b41_notify_when_there_is_no_daemon_then_one_push_from_here(room: Path, topic: Ntfy) -> None:
    """Contract, Failure semantics: "If the socket is unavailable, the hook performs one inline fallback."."""
    said = {**STOP, "transcript_path": str(transcript(room, "scanned answer"))}
    helper = composing(room, f'echo x > "{room}/composed"')
    assert notify("--harness", "claude-code", said=said, url=topic.url, STEWARD_HELPER_BIN=helper) == (0, "", "")
    assert not (room / "composed").exists()
    assert topic.bodies == ["scanned answer"]
    assert topic.got[0].headers["title"].startswith("project · ")
    (entry,) = logged(room)
    assert entry["reason"] == "root completion (enrichment disabled: composer unavailable)"
    assert entry["completion_id"] == "u1"
    assert not (room / "state" / "steward" / "notify" / "session-labels").exists()


def test_b35_notify_when_the_daemon_takes_the_event_then_nothing_is_sent_from_here(room: Path, topic: Ntfy) -> None:
    served = Daemon(room)
    try:
        # Twice the same: accepted, then duplicate.
        said = {**STOP, "transcript_path": str(transcript(room, "answer"))}
        for _ in range(2):
            code, out, err = notify(said=said, url=topic.url)
            assert (code, out, err) == (0, "", "")
    finally:
        served.end()
    # A machine that is busy for 250 ms lets the client send by itself, which the contract names; never both silent.
    assert len(served.sent) + len(topic.got) >= 1
    assert len(served.sent) <= 1


def test_b36_b39_notify_when_the_daemon_rejects_after_the_transcript_is_gone_then_the_captured_text(
    room: Path, topic: Ntfy
) -> None:
    """Contract, Framing: "The daemon and inline fallback use the same prepared snapshot and never rescan"."""
    path = transcript(room, "captured")
    (room / "run" / "steward").mkdir(mode=0o700)
    with answering(room / "run" / "steward", frames.encode_ack("rejected"), path.unlink) as listening:
        os.rename(listening, room / "run" / "steward" / "notifyd.sock")
        assert notify(said={**STOP, "transcript_path": str(path)}, url=topic.url) == (0, "", "")
    assert topic.bodies == ["captured"]
    assert not path.exists()


@pytest.mark.parametrize(
    "reply",
    [b"bad\n", frames.encode_ack("accepted")[:-1], b'{"version":1,"status":"done"}\n', b"", None],
    ids=["bad", "truncated", "unknown", "disconnect", "silence"],
)
def test_b36_notify_when_the_daemon_does_not_take_the_event_then_exactly_one_push_from_here(
    room: Path, topic: Ntfy, reply: bytes | None
) -> None:
    """Contract, Acknowledgements: "all cause exactly one model-free inline fallback"."""
    (room / "run" / "steward").mkdir(mode=0o700)
    with answering(room / "run" / "steward", reply) as listening:
        os.rename(listening, room / "run" / "steward" / "notifyd.sock")
        assert notify(url=topic.url) == (0, "", "")
    assert topic.bodies == ["hook text"]


def test_b41_notify_when_it_is_a_rehearsal_then_one_line_and_nothing_sent(room: Path, topic: Ntfy) -> None:
    helper = composing(room, f'echo x > "{room}/composed"')
    code, out, err = notify("--dry-run", url=topic.url, STEWARD_HELPER_BIN=helper)
    assert (code, err) == (0, "")
    assert not (room / "composed").exists()
    assert not (room / "state" / "steward" / "notify" / "session-labels").exists()
    assert out.startswith("DRY RUN: [done] project · ")
    assert out.endswith(" — hook text\n")
    assert not topic.got
    assert logged(room)[0]["composition_error"] == "dry run"


def test_notify_when_it_tells_of_a_permission_then_the_session_s_facts_stay_as_they_are(
    room: Path, topic: Ntfy
) -> None:
    """Contract, Work state: "A Claude Code session sends no event when a dialog shows"."""
    home = put(room / "comm", anna={"state": "working", "floor": True, "summary": "at it"})
    before = home.disk.read_up_to(home.registry, 1 << 20)
    asks = {**STOP, "hook_event_name": "Notification", "notification_type": "permission_prompt", "message": "Allow it?"}
    more = {"SOT_COMM_HOME": home.path, "SOT_COMM_HANDLE": "anna"}
    assert notify("--harness", "claude-code", said=asks, url=topic.url, **more) == (0, "", "")
    assert topic.bodies == ["Allow it?"]
    assert home.disk.read_up_to(home.registry, 1 << 20) == before


def test_b40_notify_when_the_payload_is_an_argument_then_it_says_so_and_ends_well() -> None:
    code, out, err = notify("--dry-run", json.dumps(STOP))
    assert (code, out, err) == (0, "", "steward notify: does not accept positional arguments\n")


def test_b42_notify_when_nobody_is_configured_then_it_says_so_and_reads_nothing() -> None:
    read, write = os.pipe()  # an stdin that never ends
    try:
        ran = subprocess.run([COMMAND, "notify", "x"], stdin=read, capture_output=True, timeout=50, check=False)
    finally:
        os.close(read)
        os.close(write)
    assert (ran.returncode, ran.stderr) == (0, b"steward notify: no ntfy URL configured, skipping\n")


@pytest.mark.parametrize(
    ("words", "said", "sentence"),
    [
        (["--harness", "codex"], STOP, "parsing hook input: unknown harness"),
        (["-harness=pi"], STOP, "parsing hook input: Pi payload must be canonical"),
        ([], b"SECRET", "parsing hook input: not a JSON object"),
        ([], {**STOP, "cwd": "a\nb"}, "invalid event"),
    ],
)
def test_b47_notify_when_the_payload_is_unusable_then_a_fixed_sentence_and_a_good_end(
    words: list[str], said: object, sentence: str
) -> None:
    assert notify("--dry-run", *words, said=said) == (0, "", f"steward notify: {sentence}\n")


@pytest.mark.parametrize("words", [["--nonsense"], ["--harness"], ["--dry-run=maybe"]])
def test_notify_when_the_words_are_not_understood_then_usage(words: list[str]) -> None:
    code, out, err = notify(*words)
    assert (code, out) == (2, "")
    assert "Usage: sot-tui notify" in err


def test_notify_when_the_push_fails_then_a_good_end_and_the_log_says_so(room: Path, topic: Ntfy) -> None:
    topic.script = [403]
    assert notify(url=topic.url) == (0, "", "")
    assert logged(room)[0]["reason"].endswith(" (send failed)")


def test_notify_test_when_asked_for_then_it_says_what_the_server_answered(topic: Ntfy) -> None:
    topic.script = [200, 403]
    assert notify("test", url=topic.url) == (0, "delivered: the server answered 200\n", "")
    assert notify("test", url=topic.url) == (1, "", "sot-tui notify: not delivered: the server answered 403\n")
    assert notify("test")[0] == 1


def test_notify_when_a_daemon_took_the_event_then_what_sends_was_never_loaded(room: Path) -> None:
    """Product: no asyncio and nothing of a third party, and no HTTP where the daemon sends."""
    served = Daemon(room)
    code = (
        "import sys, io, os; from sot_tui.notify import client; client.BUDGET_SECS; "
        "client.hand_over.__defaults__ = (20.0, None); "
        "from sot_tui.cli import main; main(['notify']); print(*sys.modules)"
    )
    env = {**os.environ, "STEWARD_NTFY_URL": "http://127.0.0.1:1/x"}
    try:
        ran = subprocess.run(
            [sys.executable, "-c", code], input=json.dumps(STOP), capture_output=True, text=True, env=env, check=True
        )
    finally:
        served.end()
    assert len(served.sent) == 1
    loaded = set(ran.stdout.split())
    assert not loaded & {"asyncio", "http.client", "textual", "subprocess", "threading", "sot_tui.notify.sender"}


# -- the daemon -------------------------------------------------------------------------------------------------------


def test_notifyd_when_told_to_stop_then_it_ends_well_and_its_socket_is_gone(room: Path, topic: Ntfy) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with serving(topic.url) as process:
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(str(room / "run" / "steward" / "notifyd.sock"))
                peer.sendall(line(fields(PI_TURN)))
                assert peer.recv(100) == frames.encode_ack("accepted")
                process.send_signal(number)
                _, err = process.communicate(timeout=50)
            assert process.returncode == 0
            assert b'msg="notify frame accepted" harness="pi" session_id="session-1"' in err
            assert not (room / "run" / "steward" / "notifyd.sock").exists()
    assert topic.bodies == ["assistant", "assistant"]


def test_notifyd_when_it_is_killed_after_the_answer_then_that_push_is_lost_and_a_retry_is_taken_anew(
    room: Path, topic: Ntfy
) -> None:
    """Contract, Failure semantics: "If notifyd crashes after accepted was observed but before delivery, ... that
    notification can be lost", and "the empty claim store can admit an event delivered before the crash"."""
    for is_killed in (True, False):
        topic.script = [-1] if is_killed else []
        with serving(topic.url) as process, socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(50)
            peer.connect(str(room / "run" / "steward" / "notifyd.sock"))
            peer.sendall(line(fields(PI_TURN)))
            assert peer.recv(100) == frames.encode_ack("accepted")
            if is_killed:
                process.kill()
            assert peer.recv(100) == b""
    assert topic.bodies[-1] == "assistant"


def composing(room: Path, code: str) -> str:
    path = room / "composer"
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)
    return str(path)


def test_notifyd_when_a_program_composes_then_its_body_is_pushed_and_told_to_be_so(room: Path, topic: Ntfy) -> None:
    """Contract, Failure semantics: "It cannot alter eligibility or urgency. Helper failure uses captured assistant
    text"."""
    said = '{"version":1,"ok":true,"body":"It is done.","label":"Fix the parser"}'
    helper = composing(room, f"read line; echo '{said}'")
    for body, reason in (("It is done.", " (enriched)"), ("assistant", " (enrichment failed: helper unavailable)")):
        if body == "assistant":
            os.unlink(helper)
        with serving(topic.url, STEWARD_HELPER_BIN=helper), socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(room / "run" / "steward" / "notifyd.sock"))
            peer.sendall(line(fields(PI_TURN)))
            assert peer.recv(100) == frames.encode_ack("accepted")
            assert peer.recv(100) == b""
        assert (topic.bodies[-1], topic.got[-1].headers["priority"]) == (body, "4")
        assert topic.got[-1].headers["title"] == "Fix the parser · earth:3"
        assert logged(room)[-1]["reason"] == f"root completion{reason}"


def test_notifyd_when_told_to_stop_while_a_program_composes_then_the_captured_text_goes(
    room: Path, topic: Ntfy
) -> None:
    """Contract, Failure semantics: "notifyd shutdown cancels composition"."""
    os.mkfifo(room / "started")
    helper = composing(room, f'echo > "{room}/started"; exec sleep 1000')
    with serving(topic.url, STEWARD_HELPER_BIN=helper) as process, socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(50)
        peer.connect(str(room / "run" / "steward" / "notifyd.sock"))
        peer.sendall(line(fields(PI_TURN)))
        assert peer.recv(100) == frames.encode_ack("accepted")
        assert (room / "started").read_text() == "\n"
        process.terminate()
        assert peer.recv(100) == b""
        process.communicate(timeout=50)
    assert process.returncode == 0
    assert topic.bodies == ["assistant"]
    assert logged(room)[0]["composition_error"] == "helper canceled"


def test_d6_notifyd_when_one_runs_already_then_the_second_refuses(room: Path, topic: Ntfy) -> None:
    with serving(topic.url):
        env = {**os.environ, "STEWARD_NTFY_URL": topic.url}
        second = subprocess.run([COMMAND, "notifyd"], capture_output=True, env=env, timeout=50, check=False)
        assert (second.returncode, second.stderr) == (1, b"steward notifyd: another notifyd is running\n")
        assert (room / "run" / "steward" / "notifyd.sock").exists()


def test_b42_notifyd_when_nobody_is_configured_then_it_does_not_start() -> None:
    ran = subprocess.run([COMMAND, "notifyd"], capture_output=True, timeout=50, check=False)
    assert (ran.returncode, ran.stderr) == (1, b"steward notifyd: no ntfy URL configured\n")
    ran = subprocess.run([COMMAND, "notifyd", "--harness", "pi"], capture_output=True, timeout=50, check=False)
    assert ran.returncode == 2


def test_b05_d7_notifyd_when_a_socket_is_passed_on_then_it_is_served_and_never_removed(room: Path, topic: Ntfy) -> None:
    path = room / "passed.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        start = (
            "import os, sys; os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True); "
            "os.execv(sys.argv[2], [sys.argv[2], 'notifyd'])"
        )
        env = {**os.environ, "STEWARD_NTFY_URL": topic.url, "LISTEN_FDS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-c", start, str(listener.fileno()), COMMAND],
            pass_fds=[listener.fileno()],
            env=env,
            stderr=subprocess.PIPE,
        )
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(50)
            peer.connect(str(path))
            peer.sendall(line(fields(PI_TURN)))
            assert peer.recv(100) == frames.encode_ack("accepted")
            assert peer.recv(100) == b""
        process.terminate()
        process.communicate(timeout=50)
    assert process.returncode == 0
    assert topic.bodies == ["assistant"]
    assert path.exists()
    assert not (room / "run" / "steward").exists()


def test_notifyd_when_it_rehearses_then_it_prints_and_sends_nothing(room: Path, topic: Ntfy) -> None:
    with serving(topic.url, "--dry-run") as process:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(room / "run" / "steward" / "notifyd.sock"))
            peer.sendall(line(fields(PI_TURN)))
            peer.recv(100)
            assert peer.recv(100) == b""
        process.terminate()
        out, _ = process.communicate(timeout=50)
    assert out.decode() == "DRY RUN: [done] project · earth:3 — assistant\n"
    assert not topic.got
