"""What `info` and `doctor` say of the notifier: real commands beside a real daemon and a real topic."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import doctor
from sot_tui.comm.doctor import Level, Notifier
from sot_tui.comm.home import home_here
from sot_tui.notify import decided, decision_log, frame as frames, own, server, settings as configured, standing
from sot_tui.notify.decided import Came, Decided
from sot_tui.notify.decision_log import Entry
from tests.e2e.box import COMMAND
from tests.notify.pieces import PI_TURN, fields, line
from tests.notify.running import ACCEPTED, Notifyd
from tests.notify.test_quiet import around_now, base, settings, until

if TYPE_CHECKING:
    from tests.notify.ntfy import Ntfy

NOBODY = Notifier(
    sender=False, disabled=False, served_by="", quiet="", quiet_now=False, held=0, last="", last_failed=False
)
SOMEBODY = NOBODY._replace(sender=True)


def ran(*words: str, **more: str) -> str:
    return subprocess.run(
        [COMMAND, *words], env={**os.environ, **more}, capture_output=True, text=True, check=False, timeout=50
    ).stdout


def info(**more: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran("info", "--json", **more))["notifier"]
    return found


def findings(**more: str) -> dict[str, tuple[str, str]]:
    found = json.loads(ran("doctor", "--json", **more))["findings"]
    return {one["what"]: (one["level"], one["fact"]) for one in found if one["what"] in {"pushes", "quiet hours"}}


def test_notifier_when_nothing_is_configured_then_said_so_and_well() -> None:
    found = info()
    assert found == {
        "sender": False,
        "disabled": False,
        "socket": f"{os.environ['XDG_RUNTIME_DIR']}/steward/notifyd.sock",
        "served_by": None,
        "quiet_hours": None,
        "quiet_now": False,
        "held": 0,
        "last": None,
        "serving": [],
    }
    assert "push sender               none is configured\n" in ran("info")
    assert "push sender               switched off ($STEWARD_NTFY_DISABLED)\n" in ran(
        "info", STEWARD_NTFY_DISABLED="true"
    )
    assert findings() == {"pushes": ("ok", "no sender is configured, so nothing is pushed and no hook is served")}


def test_notifier_when_a_daemon_serves_in_quiet_hours_then_who_what_and_how_many(topic: Ntfy) -> None:
    hours = around_now(quiet_now=True)
    settings(f'quiet_hours = "{hours}"\n')
    daemon = Notifyd(topic.url)
    try:
        assert daemon.answer(line(fields(PI_TURN))) == ACCEPTED
        found = info(STEWARD_NTFY_URL=topic.url)
        assert found["served_by"] == {"pid": daemon.process.pid, "what": "notifyd"}
        assert (found["quiet_hours"], found["quiet_now"], found["held"]) == (hours, True, 1)
        assert found["last"]["result"] == "held back"
        words = ran("info", STEWARD_NTFY_URL=topic.url)
        assert f"served by                 the notifyd of pid {daemon.process.pid}\n" in words
        assert f"quiet hours               {hours}, now; 1 held back\n" in words
        assert topic.url not in words
        told = findings(STEWARD_NTFY_URL=topic.url)
        assert told["quiet hours"] == ("ok", f"{hours}, now; 1 held back")
        start = f"a sender is configured; served by the notifyd, pid {daemon.process.pid}; last push: held back at "
        assert told["pushes"][1].startswith(start)
    finally:
        daemon.kill()
    assert info(STEWARD_NTFY_URL=topic.url)["served_by"] is None  # its record stands, and it does not live


def test_last_push_when_the_log_ends_in_others_then_the_last_one_that_was_decided_to_be_sent() -> None:
    home = home_here()

    def log(outcome: str, reason: str, error: str = "", *, dry_run: bool = False) -> None:
        entry = Entry(outcome, reason, composition_error=error, dry_run=dry_run)
        assert decision_log.append(home, base(), own.as_event(own.MAIL, "k"), entry)

    def last() -> tuple[str, str] | None:
        found = standing._last(home, f"{base()}/{decision_log.NAME}")
        return None if found is None else (found.result, found.reason)

    assert last() is None
    log("silent", "agent context")
    assert last() is None
    log("send", "root completion (enrichment disabled: composer unavailable)")
    assert last() == ("sent", "root completion (enrichment disabled: composer unavailable)")
    log("send", "permission prompt (send failed)")
    log("silent", "session end")
    log("send", "root completion (enrichment skipped: dry run)", "dry run")
    log("send", "permission prompt", dry_run=True)
    with open(f"{base()}/{decision_log.NAME}", "ab") as file:
        file.write(b'{"outcome":"send","reason":"tor')
    assert last() == ("not delivered", "permission prompt")


PERMISSION = {
    "hook_event_name": "Notification",
    "notification_type": "permission_prompt",
    "session_id": "s",
    "message": "Allow it?",
    "cwd": "/work/project",
}
TURN = {"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": "built", "cwd": "/work/project"}
WITHIN = {**TURN, "agent_id": "a"}


def hooked(payload: dict[str, str], *words: str, **more: str) -> None:
    subprocess.run(
        [COMMAND, "notify", "--harness", "claude-code", *words],
        input=json.dumps(payload).encode(),
        env={**os.environ, **more},
        check=True,
        timeout=50,
    )


def decisions() -> list[Decided]:
    lines = Path(base(), decision_log.NAME).read_bytes().splitlines()
    return [one for line in lines if (one := decided.of_line(line))]


@pytest.mark.parametrize("payload", [PERMISSION, TURN, WITHIN], ids=["need", "turn", "agent"])
@pytest.mark.parametrize("by", ["hook", "daemon"])
def test_rehearsal_when_it_is_of_anything_then_is_never_told_as_a_push(
    payload: dict[str, str], by: str, topic: Ntfy
) -> None:
    if by == "hook":
        hooked(payload, "--dry-run", STEWARD_NTFY_URL=topic.url)
    else:
        daemon = Notifyd(topic.url, words=("--dry-run",))
        try:
            hooked(payload, STEWARD_NTFY_URL=topic.url)
            until(lambda: os.path.exists(f"{base()}/{decision_log.NAME}"), "the decision")
        finally:
            daemon.end()
    assert [one.came for one in decisions()] == [Came.REHEARSED]
    assert topic.got == []
    assert info(STEWARD_NTFY_URL=topic.url)["last"] is None
    assert findings(STEWARD_NTFY_URL=topic.url)["pushes"][1].endswith("last push: none")


def test_rehearsal_when_a_frame_asks_for_it_then_is_told_as_one(topic: Ntfy) -> None:
    """Contract, Framing: "dry_run is the only optional key"."""
    daemon = Notifyd(topic.url)
    try:
        assert daemon.answer(frames.encode(frames.Frame(PI_TURN, "", dry_run=True))) == ACCEPTED
    finally:
        daemon.end()
    assert [one.came for one in decisions()] == [Came.REHEARSED]


def test_test_when_it_went_out_then_it_is_the_last_push(topic: Ntfy) -> None:
    assert ran("notify", "test", STEWARD_NTFY_URL=topic.url) == "delivered: the server answered 200\n"
    last = info()["last"]
    assert (last["result"], last["reason"]) == ("sent", "asked for as a test")
    topic.script = [403]
    ran("notify", "test", STEWARD_NTFY_URL=topic.url)
    assert info()["last"]["result"] == "not delivered"
    assert "not delivered" in findings(STEWARD_NTFY_URL=topic.url)["pushes"][1]


@pytest.mark.parametrize("words", ["", "12 99", "x 99 notifyd", "1 99 notifyd more", "12 99 notifyd"])
def test_record_when_it_names_no_process_that_lives_then_nobody_serves(words: str, room: Path) -> None:
    (room / "s.lock").write_text(words)
    assert server.holder(home_here(), str(room / "s")) is None


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (NOBODY._replace(disabled=True), [(Level.OK, "pushes", "")]),
        (SOMEBODY, [(Level.OK, "pushes", "")]),
        (
            SOMEBODY._replace(last="not delivered at t", last_failed=True),
            [(Level.WARN, "pushes", "sot-tui notify test")],
        ),
        (NOBODY._replace(held=None), [(Level.OK, "pushes", ""), (Level.WARN, "quiet hours", "sot-tui info")]),
        (SOMEBODY._replace(held=3), [(Level.OK, "pushes", ""), (Level.OK, "quiet hours", "")]),
    ],
)
def test_pushes_when_they_stand_so_then_this(found: Notifier, expected: list[tuple[Level, str, str]]) -> None:
    assert [(one.level, one.what, one.step) for one in doctor.of_notifier(found)] == expected


def test_frame_when_it_claims_to_be_the_engines_own_then_it_is_none() -> None:
    """The engine's own events are no frames, so a frame cannot be one of them."""
    own_event = own.as_event(own.MAIL, "k")
    with pytest.raises(frames.InvalidFrame):
        frames.decode(line(fields(own_event)))


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"STEWARD_NTFY_URL": "https://ntfy.example/t"}, ()),
        ({"STEWARD_NTFY_URL": "x"}, ("STEWARD_NTFY_URL is no http or https address, so nothing can be sent",)),
        ({"STEWARD_NTFY_URL": "https://"}, ("STEWARD_NTFY_URL is no http or https address, so nothing can be sent",)),
        (
            {"STEWARD_NTFY_URL": "http://h/t", "STEWARD_NTFY_TOKEN_FILE": "/"},
            ("STEWARD_NTFY_TOKEN_FILE names a file that cannot be read or is empty, so it counts as none",),
        ),
        (
            {"STEWARD_NTFY_URL_FILE": "/nowhere/at/all"},
            ("STEWARD_NTFY_URL_FILE names a file that cannot be read or is empty, so it counts as none",),
        ),
        ({"STEWARD_NTFY_URL": "http://h/t", "STEWARD_NTFY_TOKEN": "t", "STEWARD_NTFY_TOKEN_FILE": "/"}, ()),
        ({}, ()),
    ],
)
def test_doubts_when_a_variable_cannot_be_used_then_says_which_and_no_secret(
    variables: dict[str, str], told: tuple[str, ...]
) -> None:
    assert configured.doubts(home_here(), variables) == told
