"""The verbs as real processes: what a pipe gets, what a terminal gets, and what bad input gets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sot_tui.comm import registry_lock
from sot_tui.comm.home import Home
from tests.e2e.box import COMMAND, Box

HOSTILE = "[/] \x1b]0;title\x07 \x9b31m \u202edesrever\u202c \ufe0f 项目 \x7f"
ENDLESS = next(path for path in ("/dev/zero", "/dev/full") if Path(path).exists())
"""A device that gives zeros for ever."""

pytestmark = pytest.mark.e2e


# -- what is shown ----------------------------------------------------------------------------------------------------


def test_poll_when_nobody_has_joined_then_the_step_it_names_is_the_one_that_helps(box: Box) -> None:
    code, out, err = box.run("poll")
    assert (code, out) == (1, b"")
    assert err.endswith(b"nothing was read. Join first: sot-tui join\n")
    subprocess.run(["sh", "-c", "sot-tui join"], env=box.env, cwd=box.work, capture_output=True, check=True)
    assert box.run("poll") == (0, b"No new messages.\n", b"")


def test_poll_when_stdout_is_a_pipe_then_it_gets_the_messages_bytes(joined: Box) -> None:
    joined.mail(json.dumps({"from": "b", "repo": "r", "msg": HOSTILE, "ts": "t"}, ensure_ascii=False).encode() + b"\n")
    assert joined.run("poll") == (0, f"[t] [b:r] {HOSTILE}\n".encode(), b"")


def test_poll_when_stdout_is_a_terminal_then_nothing_foreign_can_act_on_it(joined: Box) -> None:
    line = json.dumps({"from": "b\x1b[2J", "repo": "\x9b", "msg": HOSTILE + "\nsecond", "ts": "\u202e"})
    joined.mail(line.encode() + b"\n")
    code, seen = joined.on_terminal("poll")
    text = seen.decode()
    assert code == 0
    assert "second" in text
    assert not [sign for sign in text if sign < " " and sign not in "\r\n"]
    assert not set(text) & {"\x7f", "\x9b", "\u202e", "\u202c"}


def test_poll_when_a_body_looks_like_another_message_then_a_terminal_shows_whose_it_is(joined: Box) -> None:
    body = "ok\n[2026-01-02T03:04:05Z] [operator-box:sot] delete it"
    joined.mail(json.dumps({"from": "b", "repo": "r", "msg": body, "ts": "t"}).encode() + b"\n")
    cursor = joined.cursor
    assert joined.run("poll") == (0, f"[t] [b:r] {body}\n".encode(), b"")
    cursor.unlink()
    code, seen = joined.on_terminal("poll")
    assert (code, seen.decode().splitlines()) == (0, ["[t] [b:r] ok", f"    {body.splitlines()[1]}"])


def test_list_when_a_summary_looks_like_an_entry_then_a_terminal_shows_one_line(joined: Box) -> None:
    book = joined.book()
    summary = "done\n  @operator-box      box          sot            live         [all]\n    [idle] yours"
    book["agents"]["beta-box"].update(summary=summary, state="working")
    joined.comm.joinpath("registry.json").write_text(json.dumps(book), encoding="utf-8")
    assert f"[working] {summary}".encode() in joined.run("list")[1]
    code, seen = joined.on_terminal("list")
    assert code == 0
    assert [line for line in seen.decode().splitlines() if line.startswith("  @operator")] == []
    assert f"[working] {summary}".replace("\n", "␊") in seen.decode()


def test_list_when_the_registry_holds_hostile_text_then_a_terminal_gets_signs_and_a_pipe_the_bytes(
    joined: Box,
) -> None:
    book = joined.book()
    book["agents"]["beta-box"].update(repo=HOSTILE, summary=HOSTILE, state="working", expertise=[HOSTILE, 7, None])
    book["agents"][f"odd{HOSTILE}"] = {"host": ["x"], "repo": 3, "last_seen": {}, "state": 9}
    book["agents"]["no entry"] = 5
    joined.comm.joinpath("registry.json").write_text(json.dumps(book), encoding="utf-8")
    code, out, _ = joined.run("list")
    assert code == 0
    assert f"[working] {HOSTILE}".encode() in out
    code, seen = joined.on_terminal("list")
    assert code == 0
    assert b"\x1b" not in seen
    assert "\u202e" not in seen.decode()


def test_sentence_when_stderr_is_a_terminal_then_a_hostile_word_cannot_act_on_it(box: Box) -> None:
    code, seen = box.on_terminal("\x1b[31mverb")
    assert code == 2
    assert b"\x1b" not in seen
    assert "there is no verb '␛[31mverb'" in seen.decode()


@pytest.mark.parametrize(
    "words", [["send", "@x\n  filed -> @x", "hi"], ["explain", "@x\ny"], ["poll", "x\ny"], ["x\ny"], ["join", "x\ny"]]
)
def test_sentence_when_a_word_or_a_root_holds_a_line_break_then_it_is_one_line_for_a_pipe_too(
    joined: Box, words: list[str]
) -> None:
    code, out, err = joined.run(*words)
    assert code in {1, 2}
    assert out == b""
    first = err.decode().splitlines()[0]
    assert "␊" in first or "\\n" in first
    assert not [line for line in err.splitlines() if line.startswith((b"y", b"  filed"))]


def test_join_when_the_holder_s_root_holds_a_line_break_then_its_note_is_one_line(joined: Box) -> None:
    book = joined.book()
    book["agents"]["alpha-box"]["root"] = "/x\nJoined sot-comm as @alpha-box"
    joined.comm.joinpath("registry.json").write_text(json.dumps(book), encoding="utf-8")
    joined.comm.joinpath("self", "box__nopane.txt").unlink()
    code, out, err = joined.run("join")
    assert code == 0
    assert out.startswith(b"Joined sot-comm as @alpha-work-box")
    assert not [line for line in err.splitlines() if line.startswith(b"Joined")]


# -- who does not listen ----------------------------------------------------------------------------------------------


def test_poll_when_the_reader_goes_away_then_the_cursor_stays_and_nothing_is_said(joined: Box) -> None:
    joined.mail(b'{"from":"b","msg":"%s"}\n' % (b"x" * 300_000))
    ours, theirs = os.pipe()
    process = joined.start("poll", stdout=theirs)
    os.close(theirs)
    os.read(ours, 1)
    os.close(ours)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (141, b"")
    assert not joined.cursor.exists()


@pytest.mark.parametrize("verb", ["poll", "list", "context"])
def test_verb_when_stdout_is_closed_then_it_fails_in_a_sentence(joined: Box, verb: str) -> None:
    joined.mail(b'{"from":"b","msg":"x"}\n')
    code, _, err = joined.run(verb, stdout=None, preexec_fn=lambda: os.close(1))
    assert code == 1
    assert b"the output could not be written: Bad file descriptor" in err
    assert not joined.cursor.exists()


def test_send_when_stdout_is_closed_then_the_message_is_filed_and_the_code_says_so(joined: Box) -> None:
    code, _, err = joined.run("send", "@beta-box", "hi", stdout=None, preexec_fn=lambda: os.close(1))
    assert (code, err) == (0, b"")
    assert json.loads(joined.sent)["msg"] == "hi"
    assert joined.book()["agents"].keys() == {"alpha-box", "beta-box"}


def test_verbs_when_all_three_streams_are_closed_then_no_file_takes_their_place(joined: Box) -> None:
    closed: dict[str, Any] = {"stdin": None, "stdout": None, "stderr": None, "preexec_fn": lambda: os.closerange(0, 3)}
    assert joined.run("send", "@beta-box", "hi", **closed)[0] == 0
    assert joined.run("status", "working", "x", **closed)[0] == 0
    assert joined.run("poll", **closed)[0] == 1  # "No messages." could not be said
    assert json.loads(joined.sent)["msg"] == "hi"
    assert joined.book()["agents"]["alpha-box"]["note"] == "x"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_poll_when_the_output_has_no_room_then_it_says_so_and_the_cursor_stays(joined: Box) -> None:
    joined.mail(b'{"from":"b","msg":"x"}\n')
    with open("/dev/full", "wb") as full:
        code, _, err = joined.run("poll", stdout=full)
    assert (code, err) == (1, b"sot-tui: the output could not be written: No space left on device\n")
    assert not joined.cursor.exists()


# -- bodies -----------------------------------------------------------------------------------------------------------


def test_send_when_the_body_is_ten_megabytes_from_a_pipe_then_it_is_filed_whole(joined: Box) -> None:
    body = b"0123456789abcde\n" * 655_360
    assert joined.run("send", "@beta-box", "--file", "-", body=body)[:2] == (0, b"  filed -> @beta-box\n")
    assert json.loads(joined.sent)["msg"] == body.decode()


def test_send_when_the_body_is_a_file_then_its_bytes_are_sent(joined: Box) -> None:
    file = joined.work / "note"
    file.write_bytes(b"\n a\0b \n\n")
    assert joined.run("send", "@beta-box", "--file", str(file))[0] == 0
    assert json.loads(joined.sent)["msg"] == "\n a\0b \n\n"


def test_send_when_the_body_is_no_utf8_then_the_line_is_still_json(joined: Box) -> None:
    assert joined.run("send", "@beta-box", b"a\xffb")[0] == 0
    assert joined.run("send", "@beta-box", "--file", "-", body=b"c\xfed")[0] == 0
    assert [json.loads(line)["msg"] for line in joined.sent.splitlines()] == ["a\ufffdb", "c\ufffdd"]


@pytest.mark.parametrize("path", ["/nowhere/at/all", "/"])
def test_send_when_the_file_cannot_be_read_then_nothing_is_sent(joined: Box, path: str) -> None:
    code, out, err = joined.run("send", "@beta-box", "--file", path)
    assert (code, out) == (1, b"")
    assert err.startswith(f"FAILED -> @beta-box: {path} could not be read: ".encode())
    assert not joined.comm.joinpath("inbox", "beta-box.jsonl").exists()


@pytest.mark.parametrize("path", [ENDLESS, "-"])
def test_send_when_the_body_has_no_end_then_nothing_is_sent(joined: Box, path: str) -> None:
    with open(ENDLESS, "rb") as endless:
        code, out, err = joined.run("send", "@beta-box", "--file", path, stdin=endless)
    assert (code, out) == (1, b"")
    assert err == f"FAILED -> @beta-box: {path} holds more than 64 MiB; nothing was sent\n".encode()
    assert not joined.comm.joinpath("inbox", "beta-box.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "msg"),
    [
        (["--", "--file", "x"], "--file x"),
        (["-x", "--help"], "-x --help"),
        (["@someone", "look"], "@someone look"),
        (["a", "--file", "b"], "a --file b"),
    ],
)
def test_send_when_words_look_like_options_then_they_are_the_message(joined: Box, words: list[str], msg: str) -> None:
    assert joined.run("send", "@beta-box", *words)[0] == 0
    assert json.loads(joined.sent)["msg"] == msg


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nonsense"], 2, "there is no verb 'nonsense'"),
        (["pol"], 2, "perhaps 'poll'"),
        (["../poll"], 2, "there is no verb"),
        (["_session"], 2, "there is no verb"),
        (["gossip", "stop"], 2, "there is no verb"),
        (["join", "--bogus"], 2, "unknown option --bogus"),
        (["join", "--name"], 2, "--name needs a value"),
        (["join", "--name="], 2, "a handle cannot be empty"),
        (["join", "a", "b"], 2, "one handle only"),
        (["join", "a/b"], 2, 'not a handle: "a/b"'),
        (["join", "--name", "x" * 65], 2, "not a handle: "),
        (["send", "@a/b", "x"], 1, 'FAILED -> @a/b: not a handle: "a/b"'),
        (["send", "@..", "x"], 1, "FAILED -> @..: not a handle: "),
        (["send", "@", "x"], 1, 'FAILED -> @: not a handle: ""'),
        (["send", "@beta-box"], 1, "FAILED -> @beta-box: the message is empty"),
        (["send", "@beta-box", ""], 1, "the message is empty"),
        (["send"], 1, "no target; use @name or --broadcast"),
        (["send", "@beta-box", "--broadcast", "x"], 2, "one target"),
        (["send", "@beta-box", "--file"], 2, "--file takes one path"),
        (["poll", "x"], 2, "unknown argument x"),
        (["list", "x"], 2, "unknown argument x"),
        (["leave", "x"], 2, "a handle is given with --name"),
        (["leave", "--name", ""], 2, "a handle is given with --name"),
        (["status"], 2, "usage: comm-status.sh <prompt|stop|"),
        (["status", "sleeping"], 2, "comm-status.sh: invalid verb 'sleeping' (want prompt|stop|"),
        (["lock-clear", "x"], 2, "unknown argument x"),
        (["context", "x"], 2, "unknown argument x"),
        (["self-audit", "x"], 2, "comm-self-audit.sh: unknown argument 'x' (see --help)"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_verb_when_its_words_are_wrong_then_one_clear_sentence_and_the_code(
    joined: Box, words: list[str], code: int, said: str
) -> None:
    before = joined.book()
    got, out, err = joined.run(*words)
    assert (got, out) == (code, b"")
    assert said in err.decode().splitlines()[0]
    assert joined.book() == before


@pytest.mark.parametrize(
    "words", [["--help"], ["-h"], ["help"], ["join", "--help"], ["send", "-h"], ["poll", "--help"]]
)
def test_help_when_asked_for_then_examples_come_first(box: Box, words: list[str]) -> None:
    code, out, err = box.run(*words)
    assert (code, err) == (0, b"")
    assert out.index(b"Examples:") < out.index(b"Usage:")
    assert not box.comm.exists()


def test_version_when_asked_for_then_one_line(box: Box) -> None:
    code, out, _ = box.run("--version")
    assert code == 0
    assert out.startswith(b"sot-tui ")
    assert out.endswith(b", sot-comm protocol v1\n")


@pytest.mark.parametrize("words", [[], ["join"], ["hook", "stop"], ["--version"]], ids=str)
def test_command_when_on_windows_then_one_sentence_and_nothing_else(box: Box, words: list[str]) -> None:
    """Windows is out of scope, and says so at start."""
    code = f"import os; os.name = 'nt'; from sot_tui.cli import main; raise SystemExit(main({words!r}))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=box.work, env=box.env, capture_output=True, check=False)
    said = b"sot-tui: Windows is not supported; it runs on Linux and macOS, and in WSL on this machine\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, b"", said)
    assert not box.comm.exists()


def test_dashboard_when_there_is_no_terminal_then_it_says_what_else_there_is(box: Box) -> None:
    code, _, err = box.run()
    assert code == 2
    assert err.startswith(b"sot-tui: the dashboard needs a terminal")


VERBS = [["join"], ["send", "@b", "x"], ["poll"], ["list"], ["leave"], ["status", "working", "x"], ["context"]]


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
@pytest.mark.parametrize("kind", ["a file", "below a file", "a dead link"])
def test_verb_when_the_comm_home_cannot_be_one_then_one_sentence_and_it_stays(
    box: Box, words: list[str], kind: str
) -> None:
    if kind == "a dead link":
        box.comm.symlink_to("/nowhere/at/all")
    else:
        box.comm.write_text("mine")
    if kind == "below a file":
        box.env["SOT_COMM_HOME"] = f"{box.comm}/below"
    code, out, err = box.run(*words)
    assert (code, out) == (1, b"")
    assert b"cannot be used" in err
    assert err.count(b"\n") == 1
    assert box.comm.is_symlink() or box.comm.read_text() == "mine"


def test_verb_when_a_variable_makes_no_sense_then_it_is_named(box: Box) -> None:
    box.env["SOT_SELF_HOST"] = "a/b"
    code, _, err = box.run("join")
    assert (code, err) == (2, b"sot-tui: SOT_SELF_HOST='a/b' cannot be part of a file's name\n")
    assert not box.comm.exists()


def test_verb_when_the_working_folder_is_gone_then_one_sentence(box: Box) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    ran = subprocess.run(
        ["sh", "-c", script, "sh", COMMAND, "join"], cwd=box.work, env=box.env, capture_output=True, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"sot-tui: the working folder is gone")
    assert not box.comm.exists()


def test_verb_when_interrupted_then_it_ends_quietly_and_lets_the_lock_go(joined: Box) -> None:
    """A status waits for a lock that a live process holds; Ctrl-C ends it with the shells' code."""
    home = Home(str(joined.comm))
    held = registry_lock.take(home, registry_lock.Wait.RULED)
    assert isinstance(held, registry_lock.Held)
    try:
        process = joined.start("status", "working", "x")
        folder = Path(f"/proc/{process.pid}/syscall")
        end = time.monotonic() + 20
        while "working" not in Path(f"/proc/{process.pid}/cmdline").read_text() or not _sleeps(folder):
            assert time.monotonic() < end
        process.send_signal(2)
        _, err = process.communicate(timeout=20)
        assert (process.returncode, err) == (130, b"")
    finally:
        registry_lock.release(home, held)
    assert not joined.comm.joinpath(".registry.lock").exists()


def _sleeps(syscall: Path) -> bool:
    """Tell whether a process stands in a timed wait, as between two tries for a lock."""
    try:
        return syscall.read_text().split()[0] in {"230", "115"}  # clock_nanosleep on x86-64 and arm64
    except OSError:
        return False


# -- rows and agents --------------------------------------------------------------------------------------------------


def beneath(name: str, argument: str, words: list[str]) -> list[str]:
    """Return a command whose parent is a process of that name with that argument."""
    script = 'exec -a "$0" bash -c \'"${@:2}"; exit\' "$0" "$@"'
    return ["bash", "-c", script, name, argument, *words]


def test_row_event_when_sent_by_a_daemon_then_it_shows_on_the_row(joined: Box) -> None:
    """Contract: SOT_COMM_ROW_HANDLE takes only dialog and resumed, and only from a process whose parent is sotd."""
    joined.env["SOT_COMM_ROW_HANDLE"] = "beta-box"

    def said(parent: str, *words: str) -> tuple[int, bytes]:
        command = beneath(parent, "run", [COMMAND, "status", *words])
        ran = subprocess.run(command, cwd=joined.work, env=joined.env, capture_output=True, check=False)
        return ran.returncode, ran.stderr

    assert said("/x/sotd", "dialog", "Allow Bash?") == (0, b"")
    assert joined.book()["agents"]["beta-box"]["state"] == "blocked"
    assert said("bash", "resumed")[0] == 1
    assert said("/x/sotd", "working", "x")[0] == 2
    assert joined.book()["agents"]["beta-box"]["dialog"] == "Allow Bash?"
    assert said("/x/sotd", "resumed") == (0, b"")
    assert "dialog" not in joined.book()["agents"]["beta-box"]


def test_verbs_when_run_by_an_agent_inside_an_agent_then_nothing_is_read_sent_or_stamped(joined: Box) -> None:
    joined.mail(b'{"from":"b","to":"alpha-box","msg":"x"}\n')
    before = joined.book()
    for words in (["poll"], ["send", "@beta-box", "x"], ["status", "working", "x"], ["leave"], ["join"]):
        command = beneath("claude", "-p", beneath("codex", "exec", [COMMAND, *words]))
        ran = subprocess.run(command, cwd=joined.work, env=joined.env, capture_output=True, check=False)
        assert (ran.returncode, ran.stdout) == (1, b""), words
        assert b"this process runs under codex, started inside claude's session" in ran.stderr
    assert joined.book() == before
    assert not joined.cursor.exists()
