"""Reference, section 9, behaviours B42, B43, B65 to B70: a real server, real requests, and the log of decisions."""

from __future__ import annotations

import json
import os
import socket
import threading
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.home import home_here
from sot_tui.notify import decision_log, delivery, hook, sender as senders, settings
from sot_tui.notify.decide import Notice
from sot_tui.notify.decision_log import Entry
from sot_tui.notify.delivery import Channel, Words
from sot_tui.notify.frame import Frame
from sot_tui.notify.sender import Sender, Sent
from sot_tui.notify.settings import Target
from tests.notify.pieces import ASKED, ENDED, PI_TURN, STOP
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.notify.event import Event
    from tests.notify.ntfy import Ntfy

NOTICE = Notice("project · earth:3", "Fertig – 完", "done")


def sender(topic: Ntfy, clock: JumpingClock | None = None, token: str = "") -> Sender:
    return Sender(Target(topic.url, token), "earth", clock or JumpingClock())


def channel(base: Path, **more: object) -> Channel:
    said: dict[str, object] = {
        "home": home_here(),
        "base": str(base),
        "host": "earth",
        "send": bool,
        "say": str,
        "warn": str,
    }
    return Channel(**{**said, **more})  # type: ignore[arg-type]


def logged(base: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (base / decision_log.NAME).read_text(encoding="utf-8").splitlines()]


def test_send_when_delivered_then_the_words_stand_in_body_and_headers(topic: Ntfy) -> None:
    assert sender(topic).send(NOTICE) == Sent(delivered=True, status=200)
    (got,) = topic.got
    assert (got.path, got.body) == ("/topic", "Fertig – 完")
    assert got.headers["title"] == "project · earth:3"
    assert (got.headers["priority"], got.headers["tags"]) == ("4", "white_check_mark,earth")
    sender(topic).send(NOTICE._replace(urgency="blocked"))
    assert (topic.got[1].headers["priority"], topic.got[1].headers["tags"]) == ("5", "question,earth")


@pytest.mark.parametrize(
    ("event", "title", "body", "priority", "tags"),
    [
        (PI_TURN, "project · earth:3", "assistant", "4", "white_check_mark,earth"),
        (ASKED._replace(message=""), "project · earth:3", "needs permission", "5", "question,earth"),
        (
            ASKED._replace(message="", notification_type="agent_needs_input"),
            "project · earth",
            "needs input",
            "5",
            "question,earth",
        ),
    ],
)
def test_b59_b61_push_when_an_event_is_sent_then_its_words_and_urgency_reach_the_topic(
    topic: Ntfy, tmp_path: Path, event: Event, title: str, body: str, priority: str, tags: str
) -> None:
    sends = sender(topic)
    over = channel(tmp_path, send=lambda notice: sends.send(notice).delivered)
    assert delivery.deliver(over, Frame(event._replace(cwd="/home/user/project"), "earth:3"))
    (got,) = topic.got
    assert (got.headers["title"], got.body) == (title, body)
    assert (got.headers["priority"], got.headers["tags"]) == (priority, tags)


def test_b64_push_when_a_composed_body_is_long_then_it_fits_and_ends_in_an_ellipsis(
    topic: Ntfy, tmp_path: Path
) -> None:
    sends = sender(topic)
    over = channel(tmp_path, send=lambda notice: sends.send(notice).delivered, words=lambda _: Words(body="完" * 100))
    assert delivery.deliver(over, Frame(PI_TURN, ""))
    assert topic.bodies == ["完" * 65 + "…"]
    assert len(topic.bodies[0].encode()) <= 200


def test_b65_send_when_the_connection_breaks_twice_then_two_attempts_and_no_secret_in_the_log(
    topic: Ntfy, tmp_path: Path
) -> None:
    """Contract, Failure semantics: "never native payloads, prompt bodies, credentials, or raw errors"."""
    topic.script = [0, 0]
    url = topic.url.replace("//", "//SECRETUSER:SECRETWORD@").replace("/topic", "/SECRETTOPIC")
    sends = Sender(Target(url, "SECRETTOKEN"), "earth", JumpingClock())
    delivered = delivery.deliver(
        channel(tmp_path, send=lambda notice: sends.send(notice).delivered), Frame(PI_TURN, "")
    )
    assert not delivered
    assert len(topic.got) == 2
    (line,) = logged(tmp_path)
    assert line["outcome"] == "send"
    assert line["reason"].endswith(" (send failed)")
    assert "SECRET" not in (tmp_path / decision_log.NAME).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("script", "status", "requests"),
    [
        ([500, 200], 200, 2),
        ([0, 200], 200, 2),
        ([503, 500], 500, 2),
        ([403], 403, 1),
        ([400], 400, 1),
        ([404], 404, 1),
        ([204], 204, 1),
        ([302], 302, 1),
        ([429], 429, 1),
    ],
)
def test_b66_send_when_the_server_answers_then_only_its_own_faults_are_tried_once_more(
    topic: Ntfy, script: list[int], status: int, requests: int
) -> None:
    """Contract, Failure semantics: "Sender retains its existing bounded HTTP retry behavior."."""
    topic.script, topic.headers = list(script), {"Location": topic.url + "/else"}
    clock = JumpingClock()
    assert sender(topic, clock).send(NOTICE) == Sent(delivered=status < 300, status=status)
    assert len(topic.got) == requests
    assert clock.slept == [1.0] * (requests - 1)
    assert {got.path for got in topic.got} == {"/topic"}


def test_b67_send_when_a_token_is_set_then_it_is_the_bearer_else_there_is_none(topic: Ntfy) -> None:
    sender(topic, token="tk_1").send(NOTICE)
    sender(topic).send(NOTICE)
    Sender(Target(topic.url.replace("//", "//us%40er:pw@"), ""), "", JumpingClock()).send(NOTICE)
    assert [got.headers.get("authorization") for got in topic.got] == ["Bearer tk_1", None, "Basic dXNAZXI6cHc="]
    assert topic.got[2].headers["tags"] == "white_check_mark"


def test_send_when_the_server_asks_for_patience_then_the_next_push_waits_and_none_is_repeated(topic: Ntfy) -> None:
    topic.script, topic.headers = [429], {"Retry-After": "7"}
    clock = JumpingClock()
    sends = sender(topic, clock)
    assert sends.send(NOTICE) == Sent(delivered=False, status=429)
    assert sends.send(NOTICE._replace(body="next")).delivered
    assert clock.slept == [7.0]
    assert topic.bodies == [NOTICE.body, "next"]


@pytest.mark.parametrize("said", ["30", "Thu, 28 May 2026 20:27:20 GMT", "999999999999"])
def test_send_when_the_patience_asked_for_is_longer_than_a_delivery_then_nothing_is_tried(
    topic: Ntfy, said: str
) -> None:
    topic.script, topic.headers = [429], {"Retry-After": said}
    clock = JumpingClock()
    sends = sender(topic, clock)
    sends.send(NOTICE)
    assert sends.send(NOTICE) == Sent(delivered=False, status=429, held=True)
    assert len(topic.got) == 1
    clock.pass_(3601)
    assert sends.send(NOTICE).delivered


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/x", "ftp://h/x", "nonsense", "http://", "http://h:x/", "http://a b/"]
)
def test_send_when_the_address_leads_nowhere_then_not_delivered(url: str) -> None:
    assert Sender(Target(url, ""), "", JumpingClock()).send(NOTICE) == Sent(delivered=False)


def test_send_when_the_server_stays_mute_then_each_attempt_ends_in_its_time(
    topic: Ntfy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(senders, "ATTEMPT_SECS", 0.1)
    topic.script = [-1, 200]
    assert sender(topic).send(NOTICE) == Sent(delivered=True, status=200)
    assert len(topic.got) == 2


def test_send_when_the_server_drips_its_answer_then_the_attempt_ends_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(senders, "ATTEMPT_SECS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def drip() -> None:
            for _ in range(2):
                peer, _ = listener.accept()
                with peer:
                    try:
                        while not over.wait(0.01):  # the pace of the drip
                            peer.sendall(b"H")
                    except OSError:
                        continue

        thread = Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        assert Sender(Target(url, ""), "", JumpingClock()).send(NOTICE) == Sent(delivered=False)
        thread.join(10)
        assert not thread.is_alive()


def test_b68_target_when_a_file_holds_the_address_then_it_is_trimmed_and_disabled_wins(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(" https://h/t\n")
    (tmp_path / "token").write_text("tk\n")
    files = {"STEWARD_NTFY_URL_FILE": f"{tmp_path}/url", "STEWARD_NTFY_TOKEN_FILE": f"{tmp_path}/token"}
    home = home_here()
    assert settings.target(home, files) == Target("https://h/t", "tk")
    assert settings.target(home, {**files, "STEWARD_NTFY_URL": " direct "}) == Target(" direct ", "tk")
    assert settings.target(home, {"STEWARD_NTFY_URL_FILE": f"{tmp_path}/absent"}) is None
    assert settings.target(home, {**files, "STEWARD_NTFY_DISABLED": "true"}) is None
    assert settings.target(home, {**files, "STEWARD_NTFY_DISABLED": "1"}) is not None
    assert settings.target(home, {"CC_TOOLS_NTFY_URL": "x", "STEWARD_NTFY_URL": ""}) is None


def test_b43_state_base_when_the_state_home_is_set_then_below_it() -> None:
    assert settings.state_base({"XDG_STATE_HOME": "/state", "HOME": "/h"}) == "/state/steward/notify"
    assert settings.state_base({"HOME": "/h"}) == "/h/.local/state/steward/notify"
    assert settings.state_base({}).endswith("/steward/notify")


def test_b01_b02_socket_path_when_the_runtime_folder_is_set_or_not_then_the_shared_rule() -> None:
    assert settings.socket_path({"XDG_RUNTIME_DIR": "/run/user/1000"}) == "/run/user/1000/steward/notifyd.sock"
    for environ in ({"XDG_RUNTIME_DIR": ""}, {}):
        assert settings.socket_path(environ) == f"/tmp/steward-{os.getuid()}/notifyd.sock"


def test_workspace_when_the_multiplexer_answers_or_not_then_its_words_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.workspace({}) == ""
    tmux = tmp_path / "tmux"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert settings.workspace({"TMUX_PANE": "%1", "PATH": str(tmp_path)}) == ""
    tmux.write_text(
        "#!/bin/sh\n[ \"$*\" = 'display-message -pt %1 #{session_name}:#{window_index}' ] && echo earth:3\n"
    )
    tmux.chmod(0o755)
    assert settings.workspace({"TMUX_PANE": "%1", "PATH": str(tmp_path)}) == "earth:3"


def test_b69_log_when_there_is_no_completion_then_its_keys_are_absent(tmp_path: Path) -> None:
    delivery.deliver(channel(tmp_path), Frame(ASKED, ""))
    delivery.deliver(channel(tmp_path), Frame(ENDED, ""))
    asked, ended = logged(tmp_path)
    assert list(asked) == ["time", "session_id", "event", "harness", "outcome", "reason", "urgency", "title", "body"]
    assert list(ended) == ["time", "session_id", "event", "harness", "outcome", "reason"]
    assert (asked["reason"], ended["reason"], ended["outcome"]) == ("permission prompt", "session end", "silent")


@pytest.mark.parametrize(
    ("event", "words", "reason", "outcome", "error"),
    [
        (PI_TURN, None, " (enrichment disabled: composer unavailable)", "fallback", "composer unavailable"),
        (PI_TURN, Words(body="x"), " (enriched)", "composed", None),
        (PI_TURN, Words("l", "x", "", True), " (labels unavailable) (enriched)", "composed", "labels unavailable"),
        (
            PI_TURN,
            Words(error="helper timed out"),
            " (enrichment failed: helper timed out)",
            "fallback",
            "helper timed out",
        ),
        (
            PI_TURN._replace(completion_id=""),
            Words(body="never"),
            " (enrichment skipped: completion identity unavailable)",
            "fallback",
            "completion identity unavailable",
        ),
    ],
)
def test_log_when_a_completion_is_sent_then_its_composition_is_told(
    tmp_path: Path, event: Event, words: Words | None, reason: str, outcome: str, error: str | None
) -> None:
    delivery.deliver(channel(tmp_path, words=words and (lambda _: words)), Frame(event, ""))
    (line,) = logged(tmp_path)
    assert line["reason"] == f"root completion{reason}"
    assert (line["composition_outcome"], line.get("composition_error")) == (outcome, error)


def test_b62_log_when_a_goal_is_active_then_silent_without_an_id(tmp_path: Path) -> None:
    sent: list[Notice] = []
    event = STOP._replace(goal_active=True, completion_id="")
    assert delivery.deliver(channel(tmp_path, send=sent.append), Frame(event, ""))
    (line,) = logged(tmp_path)
    assert "goal active" in line["reason"]
    assert "completion_id" not in line
    assert not sent


def test_b62_stop_when_a_goal_is_active_and_the_hook_has_a_stale_id_then_silent_without_one(tmp_path: Path) -> None:
    goal = {"type": "attachment", "attachment": {"type": "goal_status", "sentinel": True}}
    (tmp_path / "transcript").write_text(json.dumps(goal) + "\n{")
    said = {"hook_event_name": "Stop", "session_id": "s", "completion_id": "stale", "last_assistant_message": "x"}
    payload = hook.parse(json.dumps({**said, "transcript_path": str(tmp_path / "transcript")}).encode())
    sent: list[Notice] = []
    assert delivery.deliver(channel(tmp_path, send=sent.append), Frame(hook.prepare(home_here(), payload), ""))
    (line,) = logged(tmp_path)
    assert (line["outcome"], line["reason"]) == ("silent", "goal active: deferring to built-in /goal")
    assert "completion_id" not in line
    assert not sent


def test_dry_run_when_the_frame_or_the_process_says_so_then_one_line_and_no_push(tmp_path: Path) -> None:
    for changed, frame in (({"send": None}, Frame(PI_TURN, "earth:3")), ({}, Frame(PI_TURN, "earth:3", True))):
        sent: list[Notice] = []
        said: list[str] = []
        over = channel(tmp_path, **{"send": sent.append, "say": said.append, "words": lambda _: 1 / 0, **changed})
        assert delivery.deliver(over, frame)
        assert said == ["DRY RUN: [done] project · earth:3 — assistant\n"]
        assert not sent
    assert logged(tmp_path)[1]["composition_error"] == "dry run"


def test_log_when_it_cannot_be_written_then_one_line_of_narration_and_the_push_goes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    warned: list[str] = []
    assert delivery.deliver(channel(tmp_path / "file" / "base", warn=warned.append), Frame(PI_TURN, ""))
    assert warned == ["steward: decision log append failed"]


def test_b70_log_when_it_grows_then_rotated_once_and_no_line_of_many_writers_is_torn(tmp_path: Path) -> None:
    home = home_here()
    for _ in range(5):
        assert decision_log.append(home, str(tmp_path), PI_TURN, Entry("send", "r", body="b" * 1_500_000))
    path = tmp_path / decision_log.NAME
    assert (tmp_path / f"{decision_log.NAME}.1").stat().st_size > path.stat().st_size
    base = tmp_path / "many"

    def write() -> None:
        for _ in range(20):
            decision_log.append(home, str(base), PI_TURN, Entry("send", "r"))

    threads = [Thread(target=write) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(logged(base)) == 200
    assert path.stat().st_mode & 0o777 == 0o600
