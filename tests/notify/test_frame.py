"""Reference, section 2, behaviours B12 to B34: what is a request, what is none, and the lines that answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from sot_tui.notify import event as events, frame as frames
from sot_tui.notify.event import Event
from sot_tui.notify.frame import Frame
from tests.notify.pieces import ASKED, ENDED, IDLE, PI_TURN, STOP, fields, line

STRINGS = [name for name in Event._fields if name not in {"version", "goal_active"}]
REFERENCE = (
    b'{"event":{"version":1,"harness":"pi","session_id":"session-1","kind":"completion","source_event":"TurnComplete",'
    b'"cwd":"/home/u/project","completion_id":"completion-1","user":"user","assistant":"assistant",'
    b'"notification_type":"","message":"","agent_id":"","agent_type":"","goal_active":false},"workspace":"earth:3"}\n'
)


def refused(data: bytes) -> None:
    with pytest.raises(frames.InvalidFrame) as caught:
        frames.decode(data)
    assert caught.value.sentence == "notify: invalid frame"


def spoiled(**changed: object) -> bytes:
    said = fields()
    said["event"].update(changed)
    return line(said)


def test_b12_frame_when_written_and_read_then_it_is_the_same_and_holds_nothing_else() -> None:
    """Contract, Framing: "There is intentionally no compatibility with the former hook_input wire shape."."""
    written = frames.encode(Frame(PI_TURN, "earth:3", True))
    assert frames.decode(written) == Frame(PI_TURN, "earth:3", True)
    for word in (b"hook_input", b"transcript_path", b"environ", b"parent_pid"):
        assert word not in written
    refused(line({"hook_input": {"session_id": "s"}, "workspace": ""}))


def test_frame_when_encoded_then_it_is_the_reference_bytes() -> None:
    assert frames.encode(Frame(PI_TURN, "earth:3")) == REFERENCE


@pytest.mark.parametrize("event", [PI_TURN, STOP, STOP._replace(goal_active=True), ASKED, ENDED, IDLE])
@pytest.mark.parametrize("dry_run", [False, True])
def test_frame_when_any_legal_shape_then_it_comes_back(event: Event, dry_run: bool) -> None:
    assert frames.decode(frames.encode(Frame(event, "", dry_run))) == Frame(event, "", dry_run)


def test_b13_frame_when_a_further_key_then_rejected() -> None:
    """Contract, Framing: "dry_run is the only optional key."."""
    refused(line(fields(future=1)))
    assert frames.decode(line(fields(dry_run=False))).dry_run is False


@pytest.mark.parametrize("name", ["event", "workspace", *Event._fields])
def test_keys_when_any_is_missing_then_rejected(name: str) -> None:
    """Contract, Framing: "All event keys and workspace are required, even when their values are empty."."""
    said = fields()
    del (said if name in said else said["event"])[name]
    refused(line(said))


def test_b14_frame_when_workspace_stands_twice_then_rejected() -> None:
    refused(REFERENCE.replace(b'"workspace":"earth:3"', b'"workspace":"earth:3","workspace":"earth:3"'))


def test_b15_frame_when_a_case_alias_stands_beside_then_rejected() -> None:
    refused(line(fields(Workspace="earth:3")))


def test_b16_event_when_a_key_is_foreign_twice_or_an_alias_then_rejected() -> None:
    refused(spoiled(future=1))
    refused(spoiled(Version=1))
    refused(REFERENCE.replace(b'"version":1', b'"version":1,"version":1'))


def test_b17_frame_when_two_objects_on_one_line_then_rejected() -> None:
    """Contract, Framing: "A request is exactly one UTF-8 JSON object"."""
    refused(REFERENCE[:-1] + REFERENCE)
    refused(REFERENCE[:-1] + REFERENCE[:-1] + b"\n")


@pytest.mark.parametrize("data", [b"[]\n", b"null\n", b"1\n", b'""\n', b"\n", b" \n", b"{}\n"])
def test_b18_frame_when_no_object_with_the_keys_then_rejected(data: bytes) -> None:
    refused(data)


@pytest.mark.parametrize("value", [[], None, "x", 1])
def test_b09_b19_event_when_it_is_no_object_then_rejected(value: object) -> None:
    refused(line({"event": value, "workspace": ""}))


@pytest.mark.parametrize("name", [*STRINGS, "workspace"])
@pytest.mark.parametrize("value", [None, 7, True, [], {}])
def test_b20_string_when_of_another_type_then_rejected(name: str, value: object) -> None:
    """Contract, Framing: "Every scalar must have its declared JSON type and be non-null."."""
    refused(line(fields(workspace=value)) if name == "workspace" else spoiled(**{name: value}))


@pytest.mark.parametrize("value", [None, "false", 0, 1])
def test_b21_bool_when_of_another_type_then_rejected(value: object) -> None:
    refused(spoiled(goal_active=value))
    refused(line(fields(dry_run=value)))


@pytest.mark.parametrize("value", [None, "1", 2, 0, 1.0, True, -1, 10**400])
def test_b22_version_when_not_the_integer_one_then_rejected(value: object) -> None:
    """Contract, Framing: "event.version versions the request."."""
    refused(REFERENCE.replace(b'"version":1', b'"version":' + json.dumps(value).encode()[:5000]))


@pytest.mark.parametrize("name", ["session_id", "completion_id", "agent_id", "user", "assistant", "message"])
@pytest.mark.parametrize("half", [r"\ud800", r"\udfff", r"\uD83Dx", r"\ud83dA"])
def test_b23_string_when_half_a_surrogate_pair_then_rejected(name: str, half: str) -> None:
    """Contract, Framing: "an unpaired UTF-16 surrogate escape"."""
    said = fields(ASKED if name == "message" else PI_TURN)
    said["event"][name] = "@@"
    refused(line(said).replace(b"@@", half.encode()))


def test_b24_completion_id_when_a_whole_pair_then_it_is_the_character() -> None:
    got = frames.decode(REFERENCE.replace(b"completion-1", rb"pair-\ud83d\ude80"))
    assert got.event.completion_id == "pair-🚀"


@pytest.mark.parametrize("workspace", ["w" * 257, "a\nb", "a\udc80"])
def test_b25_workspace_when_too_long_or_unfit_then_nothing_is_written(workspace: str) -> None:
    assert frames.decode(frames.encode(Frame(PI_TURN, "w" * 256))).workspace == "w" * 256
    with pytest.raises(frames.InvalidFrame):
        frames.encode(Frame(PI_TURN, workspace))
    refused(line(fields(workspace=workspace)))


@pytest.mark.parametrize(
    ("name", "limit"),
    [("session_id", 256), ("cwd", 4096), ("completion_id", 256), ("agent_id", 256), ("agent_type", 256)],
)
def test_b26_metadata_when_at_its_limit_then_accepted_and_one_more_rejected(name: str, limit: int) -> None:
    """Contract, Framing: "identifiers are at most 256 bytes", "cwd at most 4096 bytes"."""
    for value in ("x" * limit, "é" * (limit // 2)):
        assert frames.decode(spoiled(**{name: value})).event._asdict()[name] == value
        refused(spoiled(**{name: value + "x"}))
    for control in ("\x00", "\x1f", "\x7f", "\x85", "\x9f"):
        refused(spoiled(**{name: f"a{control}b"}))


def test_b26_texts_when_over_the_common_budget_then_rejected() -> None:
    assert frames.decode(spoiled(user="u" * 4096, assistant="a" * 4096))
    assert frames.decode(spoiled(user="\n\x07" * 4096, assistant=""))
    refused(spoiled(user="u" * 4097, assistant="a" * 4096))


def test_b27_ignored_when_at_its_limits_then_accepted_and_a_longer_message_rejected() -> None:
    event = IDLE._replace(source_event="e" * 128, notification_type="n" * 128, message="m" * 160)
    assert frames.decode(line(fields(event))).event == event
    for more in (
        event._replace(message="m" * 161),
        event._replace(source_event="e" * 129),
        event._replace(notification_type="n" * 129),
    ):
        refused(line(fields(more)))


@pytest.mark.parametrize(
    "event",
    [
        PI_TURN._replace(goal_active=True),
        PI_TURN._replace(notification_type="x"),
        STOP._replace(message="x"),
        ASKED._replace(harness="pi"),
        ASKED._replace(completion_id="x"),
        ASKED._replace(user="x"),
        ASKED._replace(notification_type="idle_prompt"),
        ASKED._replace(message="**x**"),
        ASKED._replace(goal_active=True),
        ENDED._replace(message="x"),
        ENDED._replace(notification_type="x"),
        STOP._replace(kind="ignored"),
        IDLE._replace(source_event="Stop", notification_type="", message=""),
        IDLE._replace(source_event=""),
        PI_TURN._replace(harness=""),
        PI_TURN._replace(harness="codex"),
        PI_TURN._replace(kind="other"),
    ],
)
def test_b28_b29_b30_event_when_its_shape_is_none_then_rejected(event: Event) -> None:
    """Contract, Framing: "invalid event shapes"."""
    refused(line(fields(event)))
    with pytest.raises(frames.InvalidFrame):
        frames.encode(Frame(event, ""))


@pytest.mark.parametrize(
    ("harness", "source", "kind"),
    [
        ("pi", "Stop", ""),
        ("pi", "SessionEnd", ""),
        ("pi", "Notification", "permission_prompt"),
        ("claude-code", "TurnComplete", ""),
        ("claude-code", "Notification", "idle_prompt"),
    ],
)
def test_ignored_when_the_triple_is_of_no_other_kind_then_accepted(harness: str, source: str, kind: str) -> None:
    event = IDLE._replace(harness=harness, source_event=source, notification_type=kind)
    assert frames.decode(line(fields(event))).event == event


def test_b31_completion_when_both_ids_are_empty_then_valid() -> None:
    """Contract, Framing: "An absent session or reliable completion ID is accepted as degraded input"."""
    assert frames.decode(spoiled(session_id="", completion_id="")).event.completion_id == ""


def test_b32_event_when_invalid_then_the_sentence_is_fixed() -> None:
    with pytest.raises(events.InvalidEvent) as caught:
        events.check(PI_TURN._replace(session_id="SECRET\n"))
    assert caught.value.sentence == "notify: invalid prepared event"


def test_line_when_its_length_is_around_the_limit_then_one_byte_decides() -> None:
    """Contract, Framing: "The complete line, including the newline, is at most 64 KiB."."""
    assert frames.decode(REFERENCE[:-1].ljust(65535) + b"\n").event == PI_TURN
    refused(REFERENCE[:-1].ljust(65536) + b"\n")
    refused(REFERENCE[:-1])
    assert frames.decode(b" \t\r" + REFERENCE).event == PI_TURN


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf" + REFERENCE, REFERENCE.replace(b"user", b"\xed\xa0\x80"), b"\xff\n"])
def test_line_when_no_utf8_or_a_mark_then_rejected(data: bytes) -> None:
    """Contract, Framing: "invalid UTF-8"."""
    refused(data)


def test_longest_legal_event_when_encoded_then_it_fits_a_line() -> None:
    event = STOP._replace(user="\x01" * 8192, assistant="", cwd="<" * 4096, session_id="s" * 256)
    assert frames.decode(frames.encode(Frame(event, ""))).event == event


@given(st.binary(max_size=60), st.integers(0, len(REFERENCE)))
def test_line_when_mutated_anywhere_then_a_whole_frame_or_a_refusal(put: bytes, at: int) -> None:
    data = REFERENCE[:at] + put + REFERENCE[at + len(put) :]
    try:
        got = frames.decode(data)
    except frames.InvalidFrame:
        return
    assert frames.decode(frames.encode(got)) == got


@pytest.mark.parametrize("status", ["accepted", "duplicate", "rejected"])
def test_b33_ack_when_encoded_then_the_exact_bytes(status: str) -> None:
    """Contract, Acknowledgements: "{"version":1,"status":"accepted"}" and its like, one JSON line."""
    assert frames.encode_ack(status) == b'{"version":1,"status":"%s"}\n' % status.encode()
    assert frames.decode_ack(frames.encode_ack(status)) == status


@pytest.mark.parametrize(
    "data",
    [
        b'{"version":1,"status":"accepted"}',
        b'{"version":1,"status":"done"}\n',
        b'{"version":2,"status":"accepted"}\n',
        b'{"version":1.0,"status":"accepted"}\n',
        b'{"version":true,"status":"accepted"}\n',
        b'{"version":1,"status":"accepted","x":1}\n',
        b'{"version":1,"version":1,"status":"accepted"}\n',
        b'{"version":1,"Version":1,"status":"accepted"}\n',
        b'{"version":1,"status":"accepted"}{"version":1,"status":"accepted"}\n',
        b"[]\n",
        b"null\n",
        b'{"version":"1","status":"accepted"}\n',
        b'{"version":null,"status":"accepted"}\n',
        b'{"version":1,"status":7}\n',
        b'{"version":1,"status":null}\n',
        b'{"version":1,"status":[]}\n',
        b'{"version":1,"status":"\\ud800"}\n',
        b'{"version":1,"status":"accepted"}'.ljust(256) + b"\n",
        b"",
    ],
)
def test_b34_ack_when_anything_else_then_refused(data: bytes) -> None:
    with pytest.raises(frames.InvalidAck) as caught:
        frames.decode_ack(data)
    assert caught.value.sentence == "notify: invalid ack"


def test_ack_when_padded_to_its_limit_then_read() -> None:
    """Contract, Acknowledgements: "at most 256 bytes including its newline"."""
    assert frames.decode_ack(b'{"version":1,"status":"duplicate"}'.ljust(255) + b"\n") == "duplicate"
