"""The contract's sentences and exit codes of the verbs, word for word, as a session sees them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui import cli
from sot_tui.comm import facts, hooks, identity, mounts
from sot_tui.comm.clock import SystemClock, stamp
from sot_tui.comm.home import Home
from sot_tui.comm.hook_input import Input

if TYPE_CHECKING:
    from collections.abc import Callable

UNVERIFIED = "FAILED -> {}: the registry could not be read, so identity @h is unverified; nothing was sent\n"


class Verbs:
    """The verbs of a session that is joined as @h, run in this process."""

    def __init__(self, folder: Path, captured: pytest.CaptureFixture[str]) -> None:
        self.comm = folder / "comm"
        self.captured = captured
        self.project = folder / "alpha"
        self.project.mkdir()
        for name in ("inbox", "read", "self"):
            (self.comm / name).mkdir(mode=0o700, parents=True)
        self.comm.chmod(0o700)
        (self.comm / "self" / "box__nopane.txt").write_text(f"h\nrepo=alpha\nroot={self.project}\n")
        home = Home(str(self.comm))
        manager, machine = mounts.lock_identity(home), home.procs.machine_id()
        (self.comm / "inbox-lock-manager").write_text(f"{manager}\n{machine}\n")
        self.book({"h": self.entry(), "peer": self.entry()})

    def entry(self, *, age: float = 0, **more: object) -> dict[str, Any]:
        seen = stamp(SystemClock().now() - age)
        root = str(self.project)
        return {"host": "box", "workspace_id": "", "repo": "alpha", "root": root, "last_seen": seen, **more}

    def book(self, agents: dict[str, Any]) -> None:
        self.registry(json.dumps({"protocol_version": 1, "agents": agents}))

    def registry(self, text: str) -> None:
        (self.comm / "registry.json").write_text(text)

    def agents(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.comm / "registry.json").read_text())["agents"]
        return found

    def mail(self, *lines: dict[str, str]) -> None:
        (self.comm / "inbox" / "h.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self.captured.readouterr()
        code = cli.main(list(words))
        return (code, *self.captured.readouterr())


@pytest.fixture
def run(comm_home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Verbs:
    verbs = Verbs(comm_home.parent, capfd)
    monkeypatch.setenv("SOT_SELF_HOST", "box")
    monkeypatch.setenv("SOT_COMM_TEST_HOST", "box")
    monkeypatch.chdir(verbs.project)
    return verbs


# -- an unreadable registry -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "not json", '{"agents":[]}', '{"agents":{}}{"agents":{}}', "{}"])
def test_verbs_when_the_registry_is_unreadable_then_each_says_so_in_its_own_words(run: Verbs, text: str) -> None:
    """Contract: "A send on an unreadable registry prints FAILED -> @<to>: ... leave, list, ... print FAILED: the
    registry could not be read; nothing was <removed|listed|...>, status ... end the same line with stamp discarded ...
    Each exits 1."
    """
    run.registry(text)
    run.mail({"from": "peer", "to": "h", "msg": "x"})
    failed = "FAILED: the registry could not be read; "
    assert run("send", "@peer", "x") == (1, "", UNVERIFIED.format("@peer"))
    assert run("send", "--broadcast", "x") == (1, "", UNVERIFIED.format("--broadcast"))
    assert run("relay", "send", "@peer", "x") == (1, "", UNVERIFIED.format("@peer"))
    assert run("leave") == (1, "", f"{failed}nothing was removed\n")
    assert run("leave", "--name", "peer") == (1, "", f"{failed}nothing was removed\n")
    assert run("list") == (1, "", f"{failed}nothing was listed\n")
    assert run("status", "working", "x") == (1, "", f"{failed}stamp discarded\n")
    assert run("status", "prompt") == (1, "", f"{failed}stamp discarded\n")
    assert run("join", "--name", "other") == (
        1,
        "",
        "FAILED: the registry could not be read or updated, so nothing was written\n",
    )
    assert (run.comm / "registry.json").read_text() == text


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["a pipe", "a device", "nested too deep"])
def test_verbs_when_the_registry_is_no_file_or_no_end_then_each_ends_and_says_it_is_unreadable(
    run: Verbs, kind: str
) -> None:
    """Each verb, and with it each hook, once waited for a writer that never came; a device filled the memory; and a
    document that is read but cannot be written again ended a send after its mail was filed."""
    path = run.comm / "registry.json"
    if kind == "a pipe":
        path.unlink()
        os.mkfifo(path)
    elif kind == "a device":
        path.unlink()
        path.symlink_to("/dev/full")
    else:
        run.registry(f'{{"x":{"[" * 900}{"]" * 900},{path.read_text()[1:]}')
    failed = "FAILED: the registry could not be read; "
    assert run("send", "@peer", "x") == (1, "", UNVERIFIED.format("@peer"))
    assert run("poll") == (1, "", f"{failed}nothing was read\n")
    assert run("list") == (1, "", f"{failed}nothing was listed\n")
    assert run("leave") == (1, "", f"{failed}nothing was removed\n")
    assert run("status", "working", "x") == (1, "", f"{failed}stamp discarded\n")
    assert run("join", "--name", "other") == (
        1,
        "",
        "FAILED: the registry could not be read or updated, so nothing was written\n",
    )
    assert not (run.comm / "inbox" / "peer.jsonl").exists()


def test_verbs_when_the_registry_is_a_link_to_a_file_then_it_is_read(run: Verbs) -> None:
    (run.comm / "registry.json").rename(run.comm.parent / "elsewhere.json")
    (run.comm / "registry.json").symlink_to(run.comm.parent / "elsewhere.json")
    assert run("send", "@peer", "x") == (0, "  filed -> @peer\n", "")


def test_verbs_when_the_registry_is_as_deep_as_is_read_then_they_write_it_again(run: Verbs) -> None:
    """What was read can be written: 127 levels, the document and `.agents` among them."""
    deep = "[" * 124 + "]" * 124
    whole = json.dumps({"protocol_version": 1, "agents": {"h": {**run.entry(), "x": 0}, "peer": run.entry()}})
    run.registry(whole.replace('"x": 0', f'"x": {deep}').replace("{", f'{{"top":[[{deep}]],', 1))
    assert run("send", "@peer", "x") == (0, "  filed -> @peer\n", "")
    assert run("status", "working", "y")[0] == 0
    assert run("poll")[0] == 0
    text = (run.comm / "registry.json").read_text()
    assert text.count(deep) == 2
    assert run.agents()["h"]["summary"] == "y"


@pytest.mark.timeout(20)
def test_verbs_when_what_mail_stands_on_is_a_pipe_then_each_ends_and_says_why(run: Verbs) -> None:
    """ "FAILED -> @h: <reason>": what is no file is not an empty inbox, and nobody waits for its other end."""
    os.mkfifo(run.comm / "inbox" / "peer.jsonl")
    os.mkfifo(run.comm / "inbox" / "h.jsonl")
    assert run("send", "@peer", "x") == (1, "", "FAILED -> @peer: the append failed: it is no regular file\n")
    assert run("poll") == (
        1,
        "",
        "FAILED: the inbox for @h could not be read (it is no regular file); nothing was shown\n",
    )
    (run.comm / "inbox" / "h.jsonl").unlink()
    run.mail({"from": "peer", "to": "h", "msg": "x", "ts": "t"})
    os.mkfifo(run.comm / "read" / "h.cursor")
    assert run("poll") == (0, "[t] [peer:] x\n", "")
    assert (run.comm / "read" / "h.cursor").read_bytes().startswith(b"1 ")
    (run.comm / "inbox-lock-manager").unlink()
    os.mkfifo(run.comm / "inbox-lock-manager")
    code, out, err = run("send", "@peer", "x")
    assert (code, out) == (1, "")
    assert err.startswith("FAILED -> @peer: this box cannot take the inbox lock itself")
    (run.comm / "self" / "box__nopane.txt").unlink()
    os.mkfifo(run.comm / "self" / "box__nopane.txt")
    code, out, err = run("poll")
    assert (code, out) == (1, "")
    assert "box__nopane.txt could not be read" in err
    assert "it is no regular file" in err


@pytest.mark.parametrize("depth", [256, 900, 985, 990, 100_000])
def test_poll_when_a_line_is_nested_too_deep_then_it_is_skipped_and_counts_as_read(run: Verbs, depth: int) -> None:
    """Contract, Message frame: "nesting past 127" is not strict. A depth that the decoder took and the encoder did not
    once ended every poll before the cursor moved, for ever."""
    inbox = run.comm / "inbox" / "h.jsonl"
    line = '{"from":"peer","to":"h","msg":%s}'
    inbox.write_text(line % '"before"' + "\n" + line % ("[" * depth + "]" * depth) + "\n" + line % '"after"' + "\n")
    assert run("poll") == (0, "[] [peer:] before\n[] [peer:] after\n", "")
    assert run("poll") == (0, "No new messages.\n", "")


def test_poll_when_the_registry_is_unreadable_then_it_reads_nothing_and_moves_no_cursor(run: Verbs) -> None:
    """Contract: comm-poll.sh "reads nothing, moving no cursor, for another row's handle or an unreadable registry"."""
    run.mail({"from": "peer", "to": "h", "msg": "x"})
    run.registry("broken")
    assert run("poll") == (1, "", "FAILED: the registry could not be read; nothing was read\n")
    assert not list((run.comm / "read").iterdir())
    assert not (run.comm / "inbox" / "h.lock").exists()


def test_poll_when_another_row_holds_the_handle_then_it_reads_nothing_and_moves_no_cursor(run: Verbs) -> None:
    """The same clause: a stray session in the row's folder reads as nobody."""
    run.mail({"from": "peer", "to": "h", "msg": "x"})
    run.book({"h": run.entry(workspace_id="ws-1"), "peer": run.entry()})
    code, out, err = run("poll")
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == (
        "comm-context: @h belongs to row ws-1; this process carries no row id, so it is not this row's inbox"
    )
    assert not list((run.comm / "read").iterdir())


def test_context_when_asked_to_rebind_from_outside_then_the_handle_is_discarded_all_the_same(run: Verbs) -> None:
    """Contract: comm-context.sh --rebind is "honored only with a row id"; else it "emits NAME_HELD_BY=<id>"."""
    run.book({"h": run.entry(workspace_id="ws-2")})
    code, out, err = run("context", "--rebind")
    assert code == 0
    assert {"NAME=", "NAME_HELD_BY=ws-2"} <= set(out.splitlines())
    assert err.startswith("comm-context: @h belongs to row ws-2; ")
    assert json.loads(run("context", "--json", "--rebind")[1])["name_held_by"] == "ws-2"


def test_send_and_status_when_another_row_holds_the_handle_then_they_act_as_nobody(run: Verbs) -> None:
    """Contract: "a stray session in the row's folder, or a process of another row, reads, sends and stamps as
    nobody".
    """
    run.book({"h": run.entry(workspace_id="ws-1"), "peer": run.entry()})
    before = run.agents()
    assert "your sot-comm identity did not resolve" in run("send", "@peer", "x")[2]
    assert run("status", "working", "x")[0] == 1
    assert run("status", "prompt") == (0, "", "")
    assert run.agents() == before
    assert not (run.comm / "inbox" / "peer.jsonl").exists()


# -- the one result ---------------------------------------------------------------------------------------------------


def test_send_when_filed_then_its_one_result_is_indented(run: Verbs) -> None:
    """Contract: "filed -> @h (exit 0; a script's own append prints it indented)"."""
    run.book({"h": run.entry(age=100), "peer": run.entry()})
    assert run("send", "@peer", "hello", "there") == (0, "  filed -> @peer\n", "")
    line = json.loads((run.comm / "inbox" / "peer.jsonl").read_text())
    assert (line["from"], line["to"], line["repo"], line["msg"]) == ("h", "peer", "alpha", "hello there")
    assert run.agents()["h"]["last_seen"] > run.entry(age=50)["last_seen"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("@dead", "no live session holds @dead"),
        ("@a b", 'not a handle: "a b"'),
        ("@nobody", "no sotd daemon found; "),
    ],
)
def test_send_when_it_fails_then_one_line_gives_the_reason_and_nothing_is_stamped(
    run: Verbs, target: str, reason: str
) -> None:
    """Contract: "FAILED -> @h: <reason> (exit 1)"; "with no daemon found at all a wire send prints FAILED -> @h: no
    sotd daemon found; …".
    """
    run.book({"h": run.entry(age=100), "dead": run.entry(age=700)})
    before = run.agents()
    code, out, err = run("send", target, "x")
    assert (code, out) == (1, "")
    assert err.startswith(f"FAILED -> {target}: {reason}")
    assert err.count("\n") == 1
    assert run.agents() == before


def test_send_when_the_own_entry_is_gone_then_it_says_how_to_reclaim_it(run: Verbs) -> None:
    """Contract: after registry.json was moved aside "each session's next send says reclaim it with comm-join.sh --name
    <handle>".
    """
    (run.comm / "registry.json").unlink()
    code, _, err = run("send", "@peer", "x")
    assert code == 1
    assert err.startswith("FAILED -> @peer: @h has no registry row")
    assert err.endswith("reclaim it with comm-join.sh --name h\n")


def test_poll_when_the_inbox_is_being_written_then_it_exits_75_and_leaves_the_cursor(
    run: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract: "comm-poll.sh says the inbox is being written, leaves the cursor and exits 75"."""
    import fcntl

    monkeypatch.setenv("SOT_INBOX_READ_WAIT_SECS", "0")
    run.mail({"from": "peer", "to": "h", "msg": "x"})
    with (run.comm / "inbox" / "h.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, out, err = run("poll")
    assert (code, out, err) == (75, "the inbox for @h is being written; try again\n", "")
    assert not list((run.comm / "read").iterdir())


def test_poll_when_its_cursor_cannot_be_written_then_it_says_that_the_mail_shows_again(run: Verbs) -> None:
    """A cursor that stays is no skip: the batch is shown once more."""
    run.mail({"from": "peer", "to": "h", "repo": "r", "msg": "x", "ts": "t"})
    (run.comm / "read" / "h.cursor").mkdir()
    code, out, err = run("poll")
    assert (code, out) == (1, "[t] [peer:r] x\n")
    assert err.startswith("WARNING: the read cursor for @h could not be written")


# -- join -------------------------------------------------------------------------------------------------------------


def test_join_when_names_are_said_then_the_option_beats_the_variable_and_that_the_self_file(
    run: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract: "An explicit --name or $SOT_COMM_NAME overrides the derivation"; "--name <n> is accepted and overrides
    it".
    """
    said = f"(alpha on box).\n  inbox: {run.comm}/inbox/"
    assert run("join") == (0, f"Joined sot-comm as @h  {said}h.jsonl\nOthers registered: peer\n", "")
    monkeypatch.setenv("SOT_COMM_NAME", "pin")
    assert run("join")[1] == f"Joined sot-comm as @pin  {said}pin.jsonl\nOthers registered: h,peer\n"
    assert run("join", "--name", "said")[1].startswith("Joined sot-comm as @said ")
    assert run("join", "word")[1].startswith("Joined sot-comm as @word ")
    (run.comm / "self" / "box__nopane.txt").unlink()
    monkeypatch.delenv("SOT_COMM_NAME")
    assert run("join")[1].startswith("Joined sot-comm as @alpha-box ")


def test_join_when_expertise_is_said_then_its_items_are_written(run: Verbs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contract: "--expertise "a, b"; writes registry + self file"."""
    monkeypatch.setenv("SOT_COMM_EXPERTISE", "env, only")
    assert run("join")[0] == 0
    assert run.agents()["h"]["expertise"] == ["env", "only"]
    assert run("join", "--expertise", " files, rust backend ,,x")[0] == 0
    assert run.agents()["h"]["expertise"] == ["files", "rust backend", "x"]
    assert (run.comm / "self" / "box__nopane.txt").read_text() == f"h\nrepo=alpha\nroot={run.project}\n"


@pytest.mark.parametrize("words", [["join"], ["send", "@peer", "x"], ["poll"], ["status", "working"]], ids=" ".join)
def test_session_when_it_acts_then_its_last_seen_is_stamped(run: Verbs, words: list[str]) -> None:
    """Contract, Liveness: "The session stamps it (join, send, poll, status, ...)"."""
    run.book({"h": run.entry(age=500), "peer": run.entry()})
    assert run(*words)[0] == 0
    assert run.agents()["h"]["last_seen"] > run.entry(age=50)["last_seen"]


def test_session_when_ten_minutes_idle_then_sends_to_it_fail_until_it_acts(run: Verbs) -> None:
    """Contract: "after ten idle minutes sends to it fail as "no live session""."""
    run.book({"h": run.entry(), "peer": run.entry(age=601)})
    assert run("send", "@peer", "x") == (1, "", "FAILED -> @peer: no live session holds @peer\n")
    run.book({"h": run.entry(), "peer": run.entry(age=580)})
    assert run("send", "@peer", "x")[0] == 0


# -- status -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [verb.value for verb in facts.Verb])
def test_status_when_not_joined_then_an_event_is_silent_and_a_declaration_fails(run: Verbs, verb: str) -> None:
    """Contract: "In a session that is not a joined comm agent, an event is a silent no-op; a declaration fails with rc
    1 and comm-status.sh: no registry row for ... stamp discarded."
    """
    event = facts.Verb(verb) in facts.EVENTS

    def check(who: str) -> None:
        expected = (0, "", "") if event else (1, "", f"comm-status.sh: no registry row for {who}; stamp discarded\n")
        before = run.agents()
        assert run("status", verb, "x") == expected
        assert run.agents() == before

    run.book({"peer": run.entry()})
    check("@h")
    (run.comm / "self" / "box__nopane.txt").unlink()
    check("this session")


@pytest.mark.parametrize("verb", [verb.value for verb in facts.Verb])
def test_status_when_joined_then_facts_and_both_stamps_are_written_silently(run: Verbs, verb: str) -> None:
    """Contract: "comm-status.sh <verb> ["text"] writes the facts, merge-only, and stamps status_at and last_seen"."""
    run.book({"h": run.entry(age=500, extra=[1]), "peer": run.entry(age=500)})
    others = run.agents()["peer"]
    assert run("status", verb, "x") == (0, "", "")
    entry = run.agents()["h"]
    assert entry["status_at"] == entry["last_seen"] > run.entry(age=50)["last_seen"]
    assert (entry["state"], entry["summary"]) == facts.derive(entry)
    assert entry["extra"] == [1]
    assert run.agents()["peer"] == others


def test_status_when_a_row_binds_the_handle_meanwhile_then_the_look_under_the_lock_decides(run: Verbs) -> None:
    """Contract: a row's handle is stamped only from inside that row, whatever stood there before the lock was taken."""
    from sot_tui.verbs import status

    run.book({"h": run.entry(workspace_id="ws-1")})
    before = run.agents()
    run.captured.readouterr()
    assert status._write(Home(str(run.comm)), "h", "", facts.Verb.WORKING, "x") == 1
    assert run.captured.readouterr().err == "comm-status.sh: @h belongs to row ws-1; stamp discarded\n"
    assert run.agents() == before
    assert status._write(Home(str(run.comm)), "h", "ws-1", facts.Verb.WORKING, "x") == 0


def test_status_when_a_question_bears_its_calls_id_then_the_heartbeat_after_the_answer_finds_it(
    run: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the scripts' own hook asks it, and as golden `status-askq-marker` was observed."""
    monkeypatch.setenv("SOT_COMM_ASKQ_ID", "toolu_01/x y")
    assert run("status", "working", "x") == (0, "", "")
    assert not (run.comm / "state").exists()
    assert run("status", "blocked", "which?") == (0, "", "")
    mark = run.comm / "state" / "askq-toolu_01_x_y.marker"
    assert (mark.read_bytes(), mark.stat().st_mode & 0o777) == (b"", 0o600)
    home = Home(str(run.comm))
    here = identity.who_am_i(home, {"SOT_COMM_TEST_HOST": "box", "SOT_SELF_HOST": "box"}, str(run.project))
    assert hooks.answer(home, here, Input({"tool_name": "AskUserQuestion", "tool_use_id": "toolu_01/x y"})) == ""
    assert run.agents()["h"]["floor"] == "user"
    assert not mark.exists()


def test_status_when_a_dialog_shows_then_the_row_is_blocked_until_it_is_gone(run: Verbs) -> None:
    """Contract: dialog and resumed are events of a session's own, as a Codex hook sends them."""
    run("status", "prompt")
    run("status", "dialog", "Allow", "Bash?")
    assert run.agents()["h"]["state"] == "blocked"
    assert run.agents()["h"]["summary"] == "Allow Bash?"
    run("status", "resumed")
    assert run.agents()["h"]["state"] == "working"


@pytest.mark.parametrize("verb", [verb.value for verb in facts.Verb])
def test_status_when_a_row_is_named_from_elsewhere_then_nothing_is_stamped(
    run: Verbs, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Contract: "SOT_COMM_ROW_HANDLE, which takes only these two verbs and only from a process whose parent is
    sotd".
    """
    monkeypatch.setenv("SOT_COMM_ROW_HANDLE", "peer")
    before = run.agents()
    code, out, err = run("status", verb, "x")
    assert (code, out) == (1 if facts.Verb(verb) in facts.ROW_EVENTS else 2, "")
    assert err.startswith("comm-status.sh: SOT_COMM_ROW_HANDLE ")
    assert run.agents() == before


# -- the address book -------------------------------------------------------------------------------------------------


def test_list_when_read_then_all_agents_live_or_stale_and_the_own_mark(run: Verbs) -> None:
    """Contract: "all agents + live/stale + (me) marker"."""
    gone = run.entry(age=7300, status_at=stamp(SystemClock().now() - 7300), done=True)
    run.book({"h": run.entry(expertise=["a", "b"]), "gone": gone, "odd": {"last_seen": "never"}, "none": 3})
    code, out, err = run("list")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert lines[0] == f"sot-comm agents ({run.comm}/registry.json):"
    assert lines[1] == "@h box alpha live [a/b] <- me"
    assert lines[2] == "[idle]"
    assert lines[3].startswith("@gone box alpha stale 730")
    assert lines[4] == "[done] · 2h ago"
    assert lines[5] == "@odd stale []"
    assert lines[7] == "@none stale []"


def test_verbs_when_asked_for_then_every_one_is_listed_and_light_words_only(run: Verbs) -> None:
    """The door's help names each verb that it opens, and nothing else."""
    code, out, _ = run("--help")
    assert code == 0
    verbs = {path.stem.replace("_", "-") for path in Path(cli.__file__).with_name("verbs").glob("[a-z]*.py")}
    assert verbs == set(cli.VERBS) - set(cli.ELSEWHERE)
    for verb in cli.VERBS:
        assert f"\n  {verb}" in out


def test_fault_when_a_verb_lets_one_through_then_it_is_one_sentence(
    run: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook's caller sees a sentence and a code, never a traceback."""

    def fail(error: BaseException) -> Callable[[list[str]], int]:
        def main(_: list[str]) -> int:
            raise error

        return main

    from sot_tui.verbs import list as verb

    monkeypatch.setattr(verb, "main", fail(PermissionError(13, "Permission denied", "/x")))
    assert run("list") == (1, "", "sot-tui: Permission denied: /x\n")
    monkeypatch.setattr(verb, "main", fail(ZeroDivisionError("by zero")))
    code, _, err = run("list")
    assert (code, err.count("\n")) == (1, 1)
    assert "a fault in this program: ZeroDivisionError: by zero" in err
    monkeypatch.setattr(verb, "main", fail(KeyboardInterrupt()))
    assert run("list") == (130, "", "")
