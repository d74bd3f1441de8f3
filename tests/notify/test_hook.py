"""Reference, sections 3 and 4, behaviours B44 to B55: from a hook's stdin and its transcript to one event."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from sot_tui.comm.home import Home, home_here
from sot_tui.notify import event as events, hook, text, transcript
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from sot_tui.notify.event import Event

PI = {
    "schema_version": 1,
    "harness": "pi",
    "session_id": "s1",
    "hook_event_name": "TurnComplete",
    "completion_id": "c1",
    "cwd": "/w/project",
    "message": "question",
    "last_assistant_message": "answer",
}
STOP = {"hook_event_name": "Stop", "session_id": "s1", "cwd": "/w/project", "last_assistant_message": "hook text"}


def prepared(said: object, harness: str = "") -> Event:
    return hook.prepare(home_here(), hook.parse(json.dumps(said).encode(), harness))


def refusal(data: bytes, harness: str = "") -> str:
    with pytest.raises(hook.Unusable) as caught:
        hook.parse(data, harness)
    return caught.value.sentence


def user(said: object, **more: object) -> dict[str, object]:
    return {"type": "user", "message": {"role": "user", "content": said}, **more}


def assistant(said: str, uuid: object = "u1", name: object = "m1") -> dict[str, object]:
    content = [{"type": "text", "text": said}] if said else [{"type": "tool_use", "name": "Bash"}]
    return {"type": "assistant", "uuid": uuid, "message": {"role": "assistant", "id": name, "content": content}}


def goal(**flags: object) -> dict[str, object]:
    return {"type": "attachment", "attachment": {"type": "goal_status", **flags}}


def written(folder: Path, *records: object, end: str = "\n") -> str:
    path = folder / "transcript.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records) + end, encoding="utf-8")
    return str(path)


def test_b44_native_stop_when_all_fields_then_parsed_and_unknown_ones_ignored() -> None:
    said = {**STOP, "transcript_path": "/t", "agent_id": "a", "agent_type": "b", "x": {"session_id": 7, "y": [1]}}
    got = hook.parse(json.dumps(said).encode(), "claude-code")
    assert (got.harness, got.session_id, got.transcript_path, got.agent_type) == ("claude-code", "s1", "/t", "b")


@pytest.mark.parametrize("session", ["", ".", "abc/", "sess..evil", "sess/../evil", None])
def test_b45_session_id_when_it_could_be_a_path_then_refused(session: object) -> None:
    assert refusal(json.dumps({**STOP, "session_id": session}).encode()) == "invalid session_id"


def test_b46_native_when_neither_event_nor_session_then_unsupported() -> None:
    assert refusal(b'{"type":"future-event","thread-id":"thread-1"}') == "unsupported notification type"


def test_b47_harness_when_unknown_then_refused() -> None:
    with pytest.raises(hook.Unusable, match="unknown harness"):
        hook.known_harness("codex")
    assert refusal(json.dumps({**PI, "harness": "codex"}).encode()) == "unsupported canonical schema"
    assert refusal(json.dumps(PI).encode(), "claude-code") == "harness mismatch"
    assert refusal(json.dumps(STOP).encode(), "pi") == "Pi payload must be canonical"


@pytest.mark.parametrize("rest", [b'{"session_id":"other"}', b"garbage", b"\xff\xfe", b"\n"])
def test_b48_stdin_when_more_follows_then_the_first_value_counts(rest: bytes) -> None:
    assert hook.parse(json.dumps(STOP).encode() + rest).session_id == "s1"


@pytest.mark.parametrize(
    "changed",
    [
        *({"schema_version": value} for value in (0, 2, "1", None, True, 1.0)),
        *({"harness": value} for value in ("", None, "x", 7)),
        {"hook_event_name": "Stop"},
    ],
)
def test_b49_canonical_when_version_harness_or_event_is_wrong_then_refused(changed: dict[str, object]) -> None:
    refusal(json.dumps({**PI, **changed}).encode())


@pytest.mark.parametrize("name", ["schema_version", "harness"])
def test_b49_canonical_when_half_of_its_marks_is_missing_then_refused(name: str) -> None:
    said = json.dumps({key: value for key, value in PI.items() if key != name}).encode()
    assert refusal(said) == "unsupported canonical schema"


def test_b50_canonical_when_aliases_follow_then_the_exact_spelling_counts() -> None:
    said = b'{"schema_version":1,"Schema_Version":2,"harness":"pi","Harness":"codex","Session_ID":"x","session_id":"y",'
    got = hook.parse(said + b'"hook_event_name":"TurnComplete","completion_id":"c"}')
    assert (got.harness, got.session_id) == ("pi", "y")


@pytest.mark.parametrize("name", ["x", "x" * 256, "é" * 128, "opaque/../completion"])
def test_b51_pi_completion_id_when_within_its_limit_then_accepted(name: str) -> None:
    assert prepared({**PI, "completion_id": name}).completion_id == name


@pytest.mark.parametrize("name", ["", None, 42, "a\nb", "x" * 257, "é" * 127 + "€"])
def test_b51_pi_completion_id_when_unfit_then_refused(name: object) -> None:
    refusal(json.dumps({**PI, "completion_id": name}).encode())


@given(st.dictionaries(st.sampled_from([*PI, "agent_id"]), st.one_of(st.text("S" * 3), st.none(), st.integers())))
def test_b52_refusal_when_any_payload_then_it_holds_nothing_of_it(said: dict[str, object]) -> None:
    for data in (json.dumps({**PI, **said, "message": ["SECRET"]}).encode(), b'{"SECRET"', b'"SECRET"', b""):
        sentence = refusal(data)
        assert "SECRET" not in sentence
        assert len(sentence) <= 100


def test_b53_stop_when_the_transcript_names_the_answer_then_that_is_its_id(tmp_path: Path) -> None:
    """Contract, Framing: "a Claude Stop scans its transcript once to capture ... reliable completion identity"."""
    said = {**STOP, "completion_id": "of the hook"}
    path = written(tmp_path, user("question"), assistant("answer", "assistant-uuid", "message-id"))
    got = prepared({**said, "transcript_path": path})
    assert (got.completion_id, got.user, got.assistant) == ("assistant-uuid", "question", "answer")
    path = written(tmp_path, user("question"), assistant("answer", None, "message-id"))
    assert prepared({**said, "transcript_path": path}).completion_id == "message-id"


def test_b54_stop_when_the_transcript_is_not_reliable_then_the_hooks_own_text_and_no_id(tmp_path: Path) -> None:
    """Contract, Framing: "An absent session or reliable completion ID is accepted as degraded input"."""
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "half").write_bytes(b"{")
    (tmp_path / "folder").mkdir()
    (tmp_path / "no-ids").write_text(json.dumps(assistant("x", None, None)))
    (tmp_path / "tail").write_text(json.dumps(assistant("x")) + '\n{"type":')
    (tmp_path / "bytes").write_bytes(json.dumps(assistant("x")).replace("x", "\x01").encode().replace(b"u1", b"\xff"))
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/etc/hostname", tmp_path / "link")
    for name in ("", "absent", "empty", "half", "folder", "no-ids", "tail", "bytes", "pipe", "link", "a\0b"):
        got = prepared({**STOP, "completion_id": "of the hook", "transcript_path": name and f"{tmp_path}/{name}"})
        assert (got.completion_id, got.user, got.assistant) == ("", "", "hook text"), name


def test_b55_stop_when_a_user_record_comes_last_then_degraded_with_the_hooks_text(tmp_path: Path) -> None:
    path = written(tmp_path, user("old"), assistant("old answer"), user("new"))
    got = prepared({**STOP, "transcript_path": path, "last_assistant_message": "new answer"})
    assert (got.completion_id, got.assistant) == ("", "new answer")


def test_d1_assistant_text_when_a_character_stands_at_the_cut_then_it_goes_whole(tmp_path: Path) -> None:
    """Contract, Framing: "truncation keeps rune-safe tails"."""
    for said, kept in (("é" * 1000 + "a", 1999), ("界" * 700, 1998), ("a" + "é" * 1000, 2000)):
        got = prepared({**STOP, "transcript_path": written(tmp_path, assistant(said))})
        assert text.size(got.assistant) == kept
        assert got.completion_id == "u1"


def test_d4_no_completion_when_the_hook_names_one_then_the_event_stands_without_it() -> None:
    said = {"hook_event_name": "Notification", "session_id": "s", "notification_type": "permission_prompt"}
    got = prepared({**said, "completion_id": "x", "message": "**Allow** `it`?"})
    assert (got.kind, got.completion_id, got.message) == ("input", "", "Allow it?")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("SessionEnd", "cleanup"), ("SubagentStop", "ignored"), ("TurnComplete", "ignored"), ("Notification", "ignored")],
)
def test_native_event_when_it_is_no_completion_then_its_kind(name: str, kind: str) -> None:
    got = prepared({"hook_event_name": name, "session_id": "s", "notification_type": "x", "message": "m"})
    assert (got.kind, got.source_event, got.user, got.assistant) == (kind, name, "", "")


@pytest.mark.parametrize("changed", [{"session_id": "s" * 257}, {"cwd": "a\nb"}, {"agent_id": "\x7f"}])
def test_prepare_when_metadata_is_unfit_then_no_event(changed: dict[str, object]) -> None:
    """Contract, Framing: "Metadata rejects control characters."."""
    with pytest.raises(events.InvalidEvent):
        prepared({**STOP, **changed})


def test_pi_when_texts_are_long_then_they_share_the_budget_and_no_transcript_is_read(tmp_path: Path) -> None:
    said = {
        **PI,
        "message": "u" * 9000,
        "last_assistant_message": "\ud800" + "a" * 99,
        "transcript_path": str(tmp_path),
    }
    got = prepared(said, "pi")
    assert (text.size(got.user), got.assistant[0]) == (8090, "\ufffd")
    assert got.kind == "completion"


def test_pi_when_its_line_is_as_the_docs_have_it_then_it_is_a_completion() -> None:
    page = (Path(__file__).parents[2] / "docs" / "notify.md").read_text(encoding="utf-8")
    line = page.partition("```json\n")[2].partition("```")[0]
    got = hook.prepare(home_here(), hook.parse(line.encode(), "pi"))
    assert (got.kind, got.completion_id, got.assistant) == ("completion", "…", "…")


@pytest.mark.parametrize(
    ("flags", "active"),
    [
        ({"sentinel": True}, True),
        ({"sentinel": True, "failed": True}, True),
        ({"sentinel": True, "met": True}, False),
        ({"failed": True}, False),
        ({}, True),
        ({"met": True}, False),
    ],
)
def test_goal_when_its_last_status_is_read_then_active_or_not(
    tmp_path: Path, flags: dict[str, object], active: bool
) -> None:
    path = written(tmp_path, goal(met=active), assistant("x"), goal(**flags))
    got = transcript.scan(home_here(), path)
    assert (got.goal_active, got.completion_id) == (active, "u1")


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "text", "text": "a"}, {"type": "tool_result"}], "first"),
        ([{"type": "image"}], "first"),
        ("<command-name>x", "first"),
        ("<system-reminder>a\nb</system-reminder> word <system-reminder>c</system-reminder>", "word"),
        (" \n ", "first"),
    ],
)
def test_user_text_when_a_record_holds_none_then_the_earlier_stays(tmp_path: Path, content: object, kept: str) -> None:
    path = written(tmp_path, user("first"), user(content), user("meta", isMeta=True), assistant("x"))
    assert transcript.scan(home_here(), path).user == kept


def test_assistant_text_when_the_last_answer_only_calls_a_tool_then_the_earlier_stays(tmp_path: Path) -> None:
    got = transcript.scan(home_here(), written(tmp_path, assistant("words"), assistant("", "u2"), end=""))
    assert (got.assistant, got.completion_id) == ("words", "u2")


def test_scan_when_a_line_is_too_long_then_unreliable_but_the_goal_is_kept(tmp_path: Path) -> None:
    path = written(tmp_path, goal(), assistant("x"))
    with open(path, "a", encoding="utf-8") as file:
        file.write("x" * transcript.LINE_BYTES)
    assert transcript.scan(home_here(), path) == transcript.Scanned(goal_active=True)


def test_scan_when_time_runs_out_then_unreliable(tmp_path: Path) -> None:
    class Slow(JumpingClock):
        def monotonic(self) -> float:
            self.pass_(15)
            return self.mono

    path = written(tmp_path, *[assistant("x")] * 9)
    assert transcript.scan(Home("/nowhere", clock=Slow()), path) == transcript.Scanned()


@pytest.mark.parametrize(
    "line", ["[]", "1", '{"message":[]}', '{"message":{"role":1}}', '{"type":1}', '{"isMeta":"x"}', "[" * 9999]
)
def test_scan_when_the_last_record_is_none_then_unreliable(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, assistant("x"), end=f"\n{line}\n")
    assert not transcript.scan(home_here(), path).is_reliable
    with open(path, "a", encoding="utf-8") as file:
        file.write("null\n\n" + json.dumps({"type": "system"}) + "\r\n" + json.dumps(assistant("y", "u9")) + "\r\n")
    assert transcript.scan(home_here(), path).completion_id == "u9"


@given(st.lists(st.one_of(st.binary(max_size=50), st.sampled_from([json.dumps(assistant("x")).encode(), b"null"]))))
def test_scan_when_any_bytes_then_an_answer(lines: list[bytes]) -> None:
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile() as file:
        file.write(b"\n".join(lines))
        file.flush()
        got = transcript.scan(home_here(), file.name)
    assert text.size(got.assistant) <= transcript.ASSISTANT_BYTES
