"""The hooks as real processes, as an agent runs them: any input, any state of the comm home, many at once, killed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sot_tui.comm import hook_entries, proof
from tests.e2e.box import COMMAND, Box
from tests.e2e.test_verbs_process import beneath
from tests.notify import ntfy

pytestmark = pytest.mark.e2e

EVENTS = ("session-start", "prompt", "blocked", "subagent", "permission", "heartbeat", "stop")
OLD = "2026-01-02T03:04:05Z"
MAIL = b'{"from":"beta-box","to":"alpha-box","msg":"x"}\n'
HELD = "New sot-comm mail for @alpha-box — run comm-poll.sh now, act on it, then end the turn."
GOOD: dict[str, dict[str, Any]] = {
    "session-start": {"hook_event_name": "SessionStart", "source": "startup"},
    "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "go"},
    "blocked": {"tool_name": "AskUserQuestion", "tool_use_id": "t", "tool_input": {"questions": [{"question": "q?"}]}},
    "subagent": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
    "permission": {"hook_event_name": "PermissionRequest", "tool_name": "Bash"},
    "heartbeat": {"hook_event_name": "PostToolUse", "tool_name": "Bash"},
    "stop": {"hook_event_name": "Stop", "stop_hook_active": False},
}


def run(box: Box, event: str, given: object = None, *words: str, **more: Any) -> tuple[int, bytes, bytes]:
    """Run a hook with its usual input, or another one."""
    body = given if isinstance(given, bytes) else json.dumps(GOOD[event] if given is None else given).encode()
    return box.run("hook", event, *words, body=body, **more)


def listing(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file below a folder with its mode and what is in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        found[str(path.relative_to(folder))] = (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
    return found


@pytest.fixture
def hooked(joined: Box) -> Box:
    """Return the box with a turn running in alpha's session."""
    joined.env["CLAUDE_CODE_SESSION_ID"] = "sess-1"
    assert run(joined, "prompt") == (0, b"", b"")
    return joined


def age(box: Box) -> dict[str, Any]:
    """Let alpha's turn be a machine's of an hour ago, so that any stamp shows; return its entry."""
    book = box.book()
    book["agents"]["alpha-box"].update(floor="machine", status_at=OLD, last_seen=OLD)
    box.comm.joinpath("registry.json").write_text(json.dumps(book))
    return entry(box)


def entry(box: Box) -> dict[str, Any]:
    found: dict[str, Any] = box.book()["agents"]["alpha-box"]
    return found


# -- what an agent sees -----------------------------------------------------------------------------------------------


def test_turn_when_it_runs_its_course_then_each_hook_stamps_and_only_a_hold_speaks(hooked: Box) -> None:
    assert entry(hooked)["state"] == "working"
    assert run(hooked, "heartbeat") == (0, b"", b"")
    assert run(hooked, "blocked") == (0, b"", b"")
    assert (entry(hooked)["state"], entry(hooked)["summary"]) == ("blocked", "q?")
    answered = {"tool_name": "AskUserQuestion", "tool_use_id": "t"}
    assert run(hooked, "heartbeat", answered) == (0, b"", b"")
    assert entry(hooked)["state"] == "working"
    hooked.mail(MAIL)
    code, out, err = run(hooked, "stop")
    assert (code, json.loads(out), err) == (0, {"decision": "block", "reason": HELD}, b"")
    assert out.count(b"\n") == 1
    assert run(hooked, "stop", {"stop_hook_active": True}) == (0, b"", b"")  # the same batch holds no second turn end
    assert run(hooked, "prompt") == (0, b"", b"")
    assert hooked.run("poll")[0] == 0
    last = {"stop_hook_active": True, "last_assistant_message": "SITREP: all is built"}
    assert run(hooked, "stop", last) == (0, b"", b"")
    assert (entry(hooked)["state"], entry(hooked)["summary"]) == ("done", "all is built")


def test_codex_when_it_asks_for_a_permission_then_the_next_tool_closes_it_at_once(hooked: Box) -> None:
    codex = ("--agent", "codex")
    assert run(hooked, "heartbeat", None, *codex) == (0, b"", b"")
    assert run(hooked, "permission", None, *codex) == (0, b"", b"")
    assert (entry(hooked)["state"], entry(hooked)["summary"]) == ("blocked", "Allow Bash?")
    assert run(hooked, "heartbeat", None, *codex) == (0, b"", b"")
    assert entry(hooked)["state"] == "working"


def test_claude_when_a_tool_ran_then_a_dialog_that_the_daemon_saw_stays(hooked: Box) -> None:
    """Contract, registry.json: of a Claude row the daemon "reads the screen ... and sends both"."""
    assert hooked.run("status", "dialog", "Allow Edit?")[0] == 0
    assert run(hooked, "heartbeat") == (0, b"", b"")
    assert entry(hooked)["dialog"] == "Allow Edit?"


def test_subagent_when_it_uses_mail_then_the_agent_is_told_to_deny_it(box: Box) -> None:
    given = {"tool_name": "Bash", "agent_id": "a1", "tool_input": {"command": "comm-poll.sh"}}
    code, out, err = run(box, "subagent", given)
    assert (code, err) == (0, b"")
    decision = json.loads(out)["hookSpecificOutput"]
    assert (decision["hookEventName"], decision["permissionDecision"]) == ("PreToolUse", "deny")
    assert "`comm-poll.sh`" in decision["permissionDecisionReason"]
    assert run(box, "subagent") == (0, b"", b"")
    assert not box.comm.exists()


def test_start_when_joined_then_the_agent_is_told_who_it_is(hooked: Box) -> None:
    code, out, err = run(hooked, "session-start")
    assert (code, err) == (0, b"")
    assert out.startswith(b"You are @alpha-box on sot-comm")


# -- what is wrong ----------------------------------------------------------------------------------------------------

WRONG = {
    "nothing": b"",
    "text": b"not json",
    "nul": b"\0" * 5000,
    "list": b"[1]",
    "half": b'{"prompt":',
    "twice": b'{"prompt":"a","prompt":"b"}',
    "latin": b'{"prompt":"\xe9"}',
    "deep": b'{"prompt":' + b"[" * 100_000,
    "kinds": b'{"prompt":7,"tool_name":[],"tool_input":"x","stop_hook_active":"no","session_id":{},"agent_id":[1]}',
    "another event": b'{"hook_event_name":"SubagentStop","prompt":"x"}',
    "ten megabytes": b'{"prompt":"' + b"x" * 10_000_000,
    "thirty megabytes": b'{"prompt":"' + b"x" * 30_000_000 + b'"}',
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG.keys())
def test_hooks_when_the_input_is_wrong_then_the_turn_goes_on_and_stdout_is_empty(hooked: Box, given: bytes) -> None:
    for event in EVENTS:
        if event == "stop" and given.startswith(b'{"prompt":7'):
            continue  # fields of another kind count as missing, and a stop needs none
        before = age(hooked)
        code, out, err = run(hooked, event, given)
        assert (code, out) == (0, b"") or (event == "session-start" and code == 0), event
        assert err.count(b"\n") <= 1, event
        if event in {"prompt", "stop"}:
            assert entry(hooked) == before, event


def test_hook_when_its_input_is_ten_megabytes_then_it_is_read(hooked: Box) -> None:
    given = {"prompt": "go", "tool_response": "x" * 10_000_000}
    assert run(hooked, "prompt", given) == (0, b"", b"")
    assert run(hooked, "heartbeat", given) == (0, b"", b"")
    assert entry(hooked)["floor"] == "user"


@pytest.mark.parametrize("text", ["", "broken", '{"agents":[]}', "{}{}"])
def test_hooks_when_the_registry_is_unreadable_then_the_turn_goes_on_and_it_is_not_touched(
    hooked: Box, text: str
) -> None:
    registry = hooked.comm / "registry.json"
    registry.write_text(text)
    hooked.mail(MAIL)
    for event in EVENTS:
        code, out, err = run(hooked, event)
        assert (code, out) == (0, b""), event
        assert err.count(b"\n") <= 1
        if event in {"prompt", "stop"}:
            assert b"the registry could not be read" in err
    assert registry.read_text() == text


def test_hooks_when_a_variable_makes_no_sense_then_they_say_so_and_the_turn_goes_on(hooked: Box) -> None:
    hooked.env["SOT_LOCK_WAIT_SECS"] = "soon"
    for event in ("prompt", "blocked", "permission", "stop"):
        code, out, err = run(hooked, event)
        assert (code, out) == (0, b""), event
        assert err.startswith(f"sot-tui hook {event}: SOT_LOCK_WAIT_SECS is not a number".encode()), err


@pytest.mark.parametrize("dead", [False, True])
def test_hooks_when_the_registry_is_locked_then_the_turn_goes_on_and_mail_still_holds_it(
    hooked: Box, dead: bool
) -> None:
    hooked.env["SOT_LOCK_WAIT_SECS"] = "0"
    record = proof.own_record(proof.SystemProcs(), fresh_reads=True)
    record = record._replace(pid="4194304") if dead else record
    hooked.comm.joinpath(".registry.lock").write_text(record.line)
    for event in ("prompt", "blocked", "heartbeat", "permission"):
        code, out, _ = run(hooked, event)
        assert (code, out) == (0, b""), event
    hooked.mail(MAIL)
    assert json.loads(run(hooked, "stop")[1])["reason"] == HELD
    assert run(hooked, "stop", {"stop_hook_active": True})[0] == 0


def test_hooks_when_the_comm_home_cannot_be_written_then_the_turn_goes_on(hooked: Box) -> None:
    """Not even root writes where a file stands in the folder's place."""
    for name in ("state", ".registry.lock.tmp"):
        path = hooked.comm / name
        if path.is_dir():
            for below in path.iterdir():
                below.unlink()
            path.rmdir()
        path.write_text("in the way")
    hooked.mail(MAIL)
    for event in EVENTS:
        assert run(hooked, event)[0] == 0, event


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "> /dev/full"])
def test_hooks_when_a_stream_is_closed_or_full_then_they_end_well(hooked: Box, closed: str) -> None:
    hooked.mail(MAIL)
    for event in EVENTS:
        command = ["sh", "-c", f'"$0" hook {event} {closed}', COMMAND]
        ran = subprocess.run(
            command, input=json.dumps(GOOD[event]).encode(), cwd=hooked.work, env=hooked.env, capture_output=True,
            check=False,
        )  # fmt: skip
        assert ran.returncode == 0, (event, ran.stderr)
        assert b"Traceback" not in ran.stderr


def test_hold_when_nobody_could_hear_it_then_the_next_turn_end_is_held(hooked: Box) -> None:
    hooked.mail(MAIL)
    command = ["sh", "-c", '"$0" hook stop >&-', COMMAND]
    subprocess.run(command, input=json.dumps(GOOD["stop"]).encode(), cwd=hooked.work, env=hooked.env, check=True)
    assert json.loads(run(hooked, "stop")[1])["reason"] == HELD


@pytest.mark.parametrize("words", [[], ["x"], ["stop", "more"], ["stop", "--agent", "vim"], ["--agent"]])
def test_hook_when_its_words_are_wrong_then_its_code_is_not_the_one_that_holds_an_agent_up(
    box: Box, words: list[str]
) -> None:
    code, out, err = box.run("hook", *words, body=b"{}")
    assert (code, out, err.count(b"\n")) == (1, b"", 1)


def test_hooks_when_turned_off_then_they_read_and_write_nothing(hooked: Box) -> None:
    hooked.mail(MAIL)
    hooked.env["SOT_COMM_HOOKS"] = "off"
    before = listing(hooked.comm)
    for event in EVENTS:
        assert run(hooked, event) == (0, b"", b"")
    assert listing(hooked.comm) == before


# -- who may not ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ["", "ws-stray-1"])
def test_hooks_of_a_refused_process_then_nothing_is_written_under_the_comm_home(hooked: Box, row: str) -> None:
    """Contract, Cases: "no hook of it writes anything under the comm home"; two agents above, or a row that is not
    shown.
    """
    hooked.mail(MAIL)
    hooked.comm.joinpath("state", "askq-t.marker").touch()
    before = listing(hooked.comm)
    env = {**hooked.env, "SOT_WORKSPACE_ID": row}
    for event in EVENTS:
        given = GOOD[event] if event != "heartbeat" else {"tool_name": "AskUserQuestion", "tool_use_id": "t"}
        command = [COMMAND, "hook", event]
        if not row:
            command = beneath("claude", "-p", beneath("codex", "exec", command))
        ran = subprocess.run(
            command, input=json.dumps(given).encode(), cwd=hooked.work, env=env, capture_output=True, check=False
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b""), event
    assert listing(hooked.comm) == before


def test_hooks_when_nobody_has_joined_on_the_box_then_no_comm_home_is_made(box: Box) -> None:
    for event in EVENTS:
        assert run(box, event) == (0, b"", b"")
    assert not box.comm.exists()


def test_hook_when_the_session_left_its_project_then_it_still_speaks_for_it(hooked: Box) -> None:
    elsewhere = hooked.work.parent / "elsewhere"
    elsewhere.mkdir()
    hooked.mail(MAIL)
    env = {**hooked.env, "CLAUDE_PROJECT_DIR": str(hooked.work)}
    _, out, _ = run(hooked, "stop", None, cwd=elsewhere, env=env)
    assert json.loads(out)["reason"] == HELD


# -- many at once, and killed -----------------------------------------------------------------------------------------


def test_hooks_when_sixteen_run_at_once_then_each_ends_well_and_the_registry_is_whole(hooked: Box) -> None:
    hooked.mail(MAIL)
    events = [event for event in EVENTS if event != "session-start"] * 3
    running = [hooked.start("hook", event, stdin=subprocess.PIPE) for event in events[:16]]
    for process, event in zip(running, events, strict=False):
        assert process.stdin is not None
        process.stdin.write(json.dumps(GOOD[event]).encode())
        process.stdin.close()
    ended = [(process.wait(timeout=50), process.stdout.read() if process.stdout else b"") for process in running]
    assert {code for code, _ in ended} == {0}
    assert sum(HELD.encode() in out for _, out in ended) >= 1
    assert set(hooked.book()["agents"]) == {"alpha-box", "beta-box"}
    for path in hooked.comm.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    for process in running:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.mark.stress
def test_hooks_when_killed_at_any_instant_then_no_mail_is_lost_and_the_registry_is_whole(hooked: Box) -> None:
    hooked.mail(MAIL)
    for number in range(60):
        event = EVENTS[1 + number % 6]
        process = hooked.start("hook", event, stdin=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write(json.dumps(GOOD[event]).encode())
        process.stdin.close()
        try:
            process.wait(timeout=number / 1000)
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait(timeout=50)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        assert set(hooked.book()["agents"]) == {"alpha-box", "beta-box"}
    for path in hooked.comm.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    for path in hooked.comm.joinpath("state").iterdir():
        path.unlink()  # what an earlier hold told is not what is asked here
    assert json.loads(run(hooked, "stop")[1])["reason"] == HELD
    assert hooked.run("poll")[1].count(b"\n") == 1


# -- the agents' settings ---------------------------------------------------------------------------------------------


@pytest.fixture
def agents(box: Box) -> Box:
    """Return a box on which a person uses both agents."""
    home = Path(box.env["HOME"])
    (home / ".claude").mkdir()
    (home / ".codex").mkdir()
    settings = {"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
    return box


def test_settings_when_installed_and_taken_out_then_they_are_as_they_were_byte_for_byte(agents: Box) -> None:
    home = Path(agents.env["HOME"])
    settings, codex = home / ".claude" / "settings.json", home / ".codex" / "hooks.json"
    before = settings.read_bytes()
    assert agents.run("hooks", "status")[0] == 1
    assert agents.run("hooks", "diff")[0] == 1
    assert settings.read_bytes() == before
    code, out, err = agents.run("hooks", "install")
    assert (code, err) == (0, b"")
    assert f"claude: 6 hooks stand in {settings}; as it was: {settings}.".encode() in out
    assert f"codex: 4 hooks stand in {codex}\n".encode() in out
    there = settings.read_bytes()
    code, out, err = agents.run("hooks", "install")
    assert (code, out.count(b"already"), err) == (0, 2, b"")
    assert settings.read_bytes() == there
    assert agents.run("hooks", "status")[0] == 0
    assert agents.run("hooks", "diff") == (0, b"", b"")
    shown = json.loads(agents.run("hooks", "status", "--json")[1])["agents"]
    assert [(one["agent"], one["hooks"], one["missing"]) for one in shown] == [("claude", 6, []), ("codex", 4, [])]
    assert [one["skills"] for one in shown] == [{"sot-comm": "ours", "sot-session-start": "ours"}] * 2
    assert (home / ".codex/skills/sot-comm/SKILL.md").is_file()
    assert agents.run("hooks", "uninstall")[0] == 0
    assert settings.read_bytes() == before
    assert json.loads(codex.read_text()) == {}
    assert list(home.rglob("SKILL.md")) == []


def test_notifiers_hooks_when_asked_for_or_a_topic_is_configured_then_they_stand_until_taken_out(agents: Box) -> None:
    settings = Path(agents.env["HOME"]) / ".claude" / "settings.json"
    before = settings.read_bytes()
    bare = agents.run("hooks", "install")[1]
    assert (b"claude: 6 hooks stand" in bare, b"push" in bare) == (True, False)
    six = settings.read_bytes()
    assert agents.run("hooks", "status", "--notify")[1].count(b"  missing: ") == 3
    code, out, err = agents.run("hooks", "install", "--notify")
    assert (code, err) == (0, b"")
    assert f"claude: 8 hooks stand in {settings}".encode() in out
    assert b"they push nothing before STEWARD_NTFY_URL, or STEWARD_NTFY_URL_FILE, is set" in out
    assert b"none of them pushes: the notifier knows no codex" in out
    eight = settings.read_bytes()
    for words in (["status"], ["diff"], ["install"]):  # once there, they are looked after
        assert agents.run("hooks", *words)[0] == 0
    assert settings.read_bytes() == eight
    assert agents.run("hooks", "uninstall", "--notify")[0] == 0
    assert settings.read_bytes() == six
    assert (Path(agents.env["HOME"]) / ".claude/skills/sot-comm/SKILL.md").is_file()
    agents.env["STEWARD_NTFY_URL"] = "http://127.0.0.1:1/x"
    assert agents.run("hooks", "status")[0] == 1
    shown = json.loads(agents.run("hooks", "status", "--json")[1])["agents"][0]
    assert (shown["hooks"], [(one["event"], one["verb"]) for one in shown["missing"]]) == (
        8,
        [("Stop", "hook"), ("Notification", "notify"), ("SessionEnd", "notify")],
    )
    assert b"only 5 of 8 stand in" in agents.run("doctor")[1]
    code, out, _ = agents.run("hooks", "install")
    assert (code, b"push nothing" in out, settings.read_bytes()) == (0, False, eight)
    assert agents.run("hooks", "uninstall")[0] == 0
    assert settings.read_bytes() == before


def test_notifiers_hooks_when_steward_is_run_already_then_ours_stay_away(agents: Box) -> None:
    settings = Path(agents.env["HOME"]) / ".claude" / "settings.json"
    theirs = {"hooks": [{"type": "command", "command": "steward notify --harness claude-code", "timeout": 90}]}
    table = {"hooks": {event: [theirs] for event in ("Stop", "Notification", "SessionEnd")}}
    settings.write_text(json.dumps(table))
    code, out, _ = agents.run("hooks", "install", "--notify", "--agent", "claude")
    assert (code, b"another entry pushes there already" in out) == (0, True)
    assert settings.read_text().count(" notify ") == 3
    assert agents.run("hooks", "status", "--notify")[0] == 1  # codex has none of its hooks
    assert agents.run("hooks", "status", "--notify", "--agent", "claude")[0] == 0
    assert agents.run("hooks", "uninstall")[0] == 0
    assert json.loads(settings.read_text()) == table


def test_claude_when_it_runs_the_notifiers_hooks_as_installed_then_one_push_for_a_turn_and_none_for_a_subagent(
    agents: Box,
) -> None:
    """Product: exactly one push for each finished turn or need, never one per sub-agent."""
    assert agents.run("hooks", "install", "--notify", "--agent", "claude")[0] == 0
    events = json.loads((Path(agents.env["HOME"]) / ".claude" / "settings.json").read_text())["hooks"]
    said = {"session_id": "s", "cwd": str(agents.work), "last_assistant_message": "built", "message": "Allow it?"}
    need = {"notification_type": "permission_prompt"}
    with ntfy.serving() as topic:
        agents.env["STEWARD_NTFY_URL"] = topic.url
        happened: list[tuple[str, dict[str, str]]] = [
            ("Stop", {}),
            ("Notification", need),
            ("Notification", {"notification_type": "idle_prompt"}),
            ("SessionEnd", {}),
            ("SubagentStop", {}),
            ("Stop", {"agent_id": "a1"}),
            ("Notification", {**need, "agent_type": "reviewer"}),
        ]
        for event, more in happened:
            body = json.dumps({**said, "hook_event_name": event, **more}).encode()
            kind = more.get("notification_type", "")
            groups = [one for one in events.get(event, []) if re.fullmatch(one.get("matcher") or ".*", kind)]
            for command in [one["command"] for group in groups for one in group["hooks"] if one["command"] != "mine"]:
                ran = subprocess.run(
                    ["sh", "-c", command], input=body, cwd=agents.work, env=agents.env, capture_output=True, check=False
                )
                assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b""), command
    assert topic.bodies == ["built", "Allow it?"]
    assert [got.headers["priority"] for got in topic.got] == ["4", "5"]


def test_newcomer_when_the_readmes_three_commands_are_typed_then_a_push_comes_and_the_hooks_stand(agents: Box) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    lines = readme.partition("## Away from the screen")[2].partition("\n## ")[0].splitlines()
    typed = [line for line in lines if line.startswith("    ")]
    assert len(typed) == 3
    with ntfy.serving() as topic:
        script = "\n".join(typed).replace("https://ntfy.sh/a-name-that-nobody-guesses", topic.url)
        assert topic.url in script
        env = {**agents.env, "PATH": f"{Path(COMMAND).parent}:{os.defpath}"}
        ran = subprocess.run(["sh", "-ec", script], env=env, cwd=agents.work, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.startswith(b"delivered: the server answered 200\nclaude: 8 hooks stand in ")
    assert len(topic.got) == 1


def test_turn_when_it_is_held_for_new_mail_then_its_end_alone_is_pushed(hooked: Box) -> None:
    """Product: exactly one push for each finished turn; one that is held goes on."""
    end = {"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": "first"}
    with ntfy.serving() as topic:
        hooked.env["STEWARD_NTFY_URL"] = topic.url
        hooked.mail(MAIL)
        code, out, err = run(hooked, "stop", end, "--notify")
        assert (code, json.loads(out)["decision"], err) == (0, "block", b"")
        assert not topic.got
        assert hooked.run("poll")[0] == 0
        last = {**end, "stop_hook_active": True, "last_assistant_message": "SITREP: all is built"}
        assert run(hooked, "stop", last, "--notify") == (0, b"", b"")
        assert topic.bodies == ["SITREP: all is built"]
        assert entry(hooked)["state"] == "done"
        hooked.env["SOT_COMM_HOOKS"] = "off"
        hooked.mail(MAIL * 2)  # which would hold it
        assert run(hooked, "stop", {**end, "last_assistant_message": "off"}, "--notify") == (0, b"", b"")
        assert topic.bodies[1:] == ["off"]
        del hooked.env["SOT_COMM_HOOKS"]
        (hooked.comm / "registry.json").write_text("not a registry")
        code, out, err = run(hooked, "stop", {**end, "last_assistant_message": "still"}, "--notify")
        assert (code, out) == (0, b"")
        assert topic.bodies[2:] == ["still"]


def test_stop_when_nobody_is_pushed_to_then_it_says_so_and_stamps_all_the_same(hooked: Box) -> None:
    said = b"steward notify: no ntfy URL configured, skipping\n"
    assert run(hooked, "stop", None, "--notify") == (0, b"", said)
    assert entry(hooked).get("floor") is None
    for words in (("prompt", "--notify"), ("stop", "--notify", "--agent", "codex")):
        code, out, err = hooked.run("hook", *words, body=b"{}")
        assert (code, out, err.count(b"\n")) == (1, b"", 1)


def test_commands_when_the_agents_run_them_as_installed_then_the_hooks_act(agents: Box) -> None:
    agents.join()
    assert agents.run("hooks", "install")[0] == 0
    home = Path(agents.env["HOME"])
    for file, agent in ((home / ".claude" / "settings.json", "claude"), (home / ".codex" / "hooks.json", "codex")):
        events = json.loads(file.read_text())["hooks"]
        for wanted in hook_entries.ENTRIES[agent]:
            (command,) = [
                one["command"]
                for group in events[wanted.event]
                if group.get("matcher", "") == wanted.matcher
                for one in group["hooks"]
                if one["command"] != "mine"
            ]
            given = {**GOOD[wanted.words.split()[0]], "session_id": "s", "hook_event_name": wanted.event}
            ran = subprocess.run(
                ["sh", "-c", command], input=json.dumps(given).encode(), cwd=agents.work, env=agents.env,
                capture_output=True, check=False,
            )  # fmt: skip
            assert (ran.returncode, ran.stderr) == (0, b""), command
    assert entry(agents)["state"] == "done"


def test_install_when_settings_are_no_json_then_they_are_left_alone_and_the_other_agent_is_served(agents: Box) -> None:
    settings = Path(agents.env["HOME"]) / ".claude" / "settings.json"
    settings.write_text("{ // mine\n}")
    code, out, err = agents.run("hooks", "install")
    assert code == 1
    assert err.startswith(f"claude: {settings} is left alone: not JSON".encode())
    assert b"codex: 4 hooks stand" in out
    assert settings.read_text() == "{ // mine\n}"
    assert agents.run("hooks", "status", "--json")[0] == 1


def test_install_when_no_agent_is_here_then_nothing_is_made_unless_it_is_named(box: Box) -> None:
    code, out, err = box.run("hooks", "install")
    assert (code, out, err.count(b"\n")) == (1, b"", 1)
    home = Path(box.env["HOME"])
    assert not list(home.iterdir())
    assert box.run("hooks", "install", "--agent", "claude")[0] == 0
    assert (home / ".claude" / "settings.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("words", [[], ["x"], ["install", "x"], ["install", "--agent", "vi"], ["diff", "--json"]])
def test_hooks_verb_when_its_words_are_wrong_then_it_says_which_would_do(box: Box, words: list[str]) -> None:
    code, out, err = box.run("hooks", *words)
    assert (code, out) == (2, b"")
    assert b"Usage: sot-tui hooks" in err


def test_program_when_it_is_on_the_search_path_then_its_name_is_installed_else_its_path(agents: Box) -> None:
    settings = Path(agents.env["HOME"]) / ".claude" / "settings.json"

    def installed(path: str) -> str:
        agents.env["PATH"] = path
        assert agents.run("hooks", "install", "--agent", "claude")[0] == 0
        found: str = json.loads(settings.read_text())["hooks"]["Stop"][-1]["hooks"][0]["command"]
        assert len(json.loads(settings.read_text())["hooks"]["Stop"]) == 2
        return found

    assert installed(os.defpath) == f"{COMMAND} hook stop"
    own, other = str(Path(COMMAND).parent), agents.work / "bin"
    assert installed(f"{own}:{os.defpath}") == "sot-tui hook stop"
    other.mkdir()
    (other / "sot-tui").write_text("#!/bin/sh\n")
    (other / "sot-tui").chmod(0o755)
    assert installed(f"{other}:{own}:{os.defpath}") == f"{COMMAND} hook stop"
