"""The report marker: how it looks in a message, and how the last one of a turn is found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import notices, report
from sot_tui.comm.facts import Verb
from sot_tui.comm.home import Home
from sot_tui.comm.report import Marker, marker_in
from sot_tui.comm.text import LINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

HELD = "New sot-comm mail for @h — run comm-poll.sh now, act on it, then end the turn."


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("SITREP: all done", Marker(Verb.DONE, "all done")),
        ("SITREP-QUESTION: which?", Marker(Verb.BLOCKED, "which?")),
        ("SITREP-WAITING: for CI", Marker(Verb.WAITING, "for CI")),
        ("prose\n\nSITREP: headline\n\nmore prose", Marker(Verb.DONE, "headline")),
        ("## **SITREP-QUESTION:** Which branch?  \nbecause", Marker(Verb.BLOCKED, "** Which branch?")),
        ("**SITREP-QUESTION: which box?**\n", Marker(Verb.BLOCKED, "which box?")),
        ("SITREP-WAITING:\n\nfor the nightly run", Marker(Verb.WAITING, "for the nightly run")),
        ("**SITREP:**\n\n  the docs\nmore", Marker(Verb.DONE, "the docs")),
        ("SITREP: first\nSITREP-WAITING: last", Marker(Verb.WAITING, "last")),
        ("SITREP: a\r\nb", Marker(Verb.DONE, "a")),
        ("SITREP:", Marker(Verb.DONE, None)),
        ("SITREP-QUESTION:  \n \n", Marker(Verb.BLOCKED, None)),
        ("SITREP: 项目 — done", Marker(Verb.DONE, "项目 — done")),
        ("SITREP: half \ud83d", Marker(Verb.DONE, "half \ufffd")),
        ("SITREP: " + "x" * 3000, Marker(Verb.DONE, "x" * 1999 + "…")),
    ],
)
def test_marker_when_a_message_has_one_then_the_last_with_its_text(text: str, marker: Marker) -> None:
    assert report.marker_in(text) == marker


@pytest.mark.parametrize(
    "text",
    ["", "no marker", "a SITREP: in the line", "> SITREP: quoted", "`SITREP: code`", "SITREP", "SITREP-DONE: x",
     "sitrep: x", "MYSITREP: x"],
)  # fmt: skip
def test_marker_when_a_message_has_none_then_nothing(text: str) -> None:
    assert report.marker_in(text) is None


# -- the turn ---------------------------------------------------------------------------------------------------------


def user(text: object = "go", **more: object) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


def says(text: str, **more: object) -> dict[str, Any]:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
    return {"type": "assistant", "message": {"role": "assistant", "content": content}, **more}


RESULT = user([{"type": "tool_result", "tool_use_id": "t", "content": "SITREP: of a tool"}])
CODEX = "response_item"


def codex(role: str, text: str, **more: object) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"type": CODEX, "payload": message, **more}


def marker(folder: Path, lines: Iterable[dict[str, Any] | str], last: str = "", **more: Any) -> Marker | None:
    path = folder / "transcript.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    home = Home(str(folder / "comm"))
    since, told = more.get("since", ""), more.get("told", ())
    return report.marker_of_turn(home, str(path), last, since, told)


def test_marker_when_anywhere_in_the_turn_then_the_last_one(tmp_path: Path) -> None:
    """Contract, Waking: "its row is stamped only at the turn end that passes, from the last marker anywhere in the
    turn".
    """
    lines = [user(), says("SITREP: early"), RESULT, says("SITREP-QUESTION: late"), RESULT, says("anything else?")]
    assert marker(tmp_path, lines) == Marker(Verb.BLOCKED, "late")


def test_marker_when_it_stands_before_the_turn_then_it_does_not_count(tmp_path: Path) -> None:
    assert marker(tmp_path, [user("a"), says("SITREP: old"), user("b"), says("nothing")]) is None


def test_marker_when_the_agents_last_message_has_one_then_it_wins_over_the_transcript(tmp_path: Path) -> None:
    assert marker(tmp_path, [user(), says("SITREP: early")], "SITREP-WAITING: late") == Marker(Verb.WAITING, "late")
    assert marker(tmp_path, [user(), says("SITREP: early")], "no marker") == Marker(Verb.DONE, "early")


@pytest.mark.parametrize(
    "aside",
    [
        user(f"Stop hook feedback:\n- {HELD}"),
        user("put in by the agent", isMeta=True),
        user(HELD),
        user([{"type": "text", "text": f"[hook] {HELD}"}]),
        user("summary of all before", isCompactSummary=True),
        user("of a subagent", isSidechain=True),
        says("SITREP-WAITING: of a subagent", isSidechain=True),
        codex("user", f"<hook_prompt hook_run_id='x'>{HELD}</hook_prompt>"),
        {"type": "attachment", "role": "user"},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "SITREP-WAITING: x"}},
        "not json SITREP-WAITING: x",
        '["user","SITREP-WAITING: x"]',
    ],
)
def test_turn_when_something_stands_in_it_that_is_no_prompt_then_it_goes_on_before_that(
    tmp_path: Path, aside: dict[str, Any] | str
) -> None:
    """Contract, Waking: "the check's own held-turn notices do not start a new turn"."""
    assert marker(tmp_path, [user(), says("SITREP: kept"), aside], told=[HELD]) == Marker(Verb.DONE, "kept")


@pytest.mark.parametrize("prompt", [user("[sot-comm] you have mail: run comm-poll.sh"), user([{"type": "image"}])])
def test_turn_when_a_prompt_of_any_kind_starts_it_then_what_is_before_does_not_count(
    tmp_path: Path, prompt: dict[str, Any]
) -> None:
    assert marker(tmp_path, [user(), says("SITREP: old"), prompt, says("x")], told=[HELD]) is None


def test_turn_when_it_is_known_when_it_began_then_nothing_older_counts(tmp_path: Path) -> None:
    """So a prompt of a form that no reader knows cannot bring an old marker back."""
    lines = [
        user(timestamp="2026-01-02T03:04:05.000Z"),
        says("SITREP: old", timestamp="2026-01-02T03:04:09.999Z"),
        {"type": "unknown-prompt", "timestamp": "2026-01-02T03:05:00.000Z"},
        says("nothing", timestamp="2026-01-02T03:05:01.000Z"),
    ]
    assert marker(tmp_path, lines, since="2026-01-02T03:05:00Z") is None
    assert marker(tmp_path, lines) == Marker(Verb.DONE, "old")
    assert marker(tmp_path, lines, since="2026-01-02T03:04:09Z") == Marker(Verb.DONE, "old")


def test_turn_when_it_is_codexs_then_its_messages_are_read_too(tmp_path: Path) -> None:
    lines = [
        codex("user", "a"),
        codex("assistant", "SITREP: old"),
        codex("user", "b"),
        codex("assistant", "SITREP: new"),
    ]
    assert marker(tmp_path, lines) == Marker(Verb.DONE, "new")
    assert marker(tmp_path, lines[:3]) is None


@pytest.mark.parametrize("at", [1, 100, report._BLOCK - 60, report._BLOCK, report._BLOCK * 3])
def test_transcript_when_it_is_longer_than_a_look_then_no_line_is_lost(tmp_path: Path, at: int) -> None:
    filler = {"type": "assistant", "message": {"role": "assistant", "content": "x" * at}}
    lines = [user(), says("SITREP: far"), *[filler] * 5]
    assert marker(tmp_path, lines) == Marker(Verb.DONE, "far")
    assert marker(tmp_path, [says("SITREP: first"), *[filler] * 5]) == Marker(Verb.DONE, "first")


def test_transcript_when_it_is_longer_than_the_bound_then_only_its_end_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "TRANSCRIPT_LIMIT", 3000)
    filler = says("x" * 1000)
    assert marker(tmp_path, [user(), says("SITREP: far"), *[filler] * 9]) is None
    assert marker(tmp_path, [user(), *[filler] * 9, says("SITREP: near")]) == Marker(Verb.DONE, "near")


def test_transcript_when_it_cannot_be_read_then_there_is_no_marker(tmp_path: Path) -> None:
    import os

    home = Home(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    for path in ("/nonexistent/x", str(tmp_path), str(tmp_path / "pipe"), "a\0b", "relative"):
        assert report.marker_of_turn(home, path, "", "", ()) is None


def test_notice_when_a_prompt_only_looks_close_then_it_is_a_prompt() -> None:
    assert not notices.is_notice("please read the Stop hook feedback: it says")
    assert not notices.is_notice("New sot-comm mail", [HELD])
    assert notices.is_notice(f"x {HELD} y", [HELD])


def test_marker_when_its_text_is_as_long_as_a_shown_line_then_it_is_whole_and_a_longer_one_cut() -> None:
    for length, said in ((LINE_LIMIT, "x" * LINE_LIMIT), (LINE_LIMIT + 1, "x" * (LINE_LIMIT - 1) + "…")):
        found = marker_in("SITREP: " + "x" * length)
        assert found is not None
        assert found.text == said
