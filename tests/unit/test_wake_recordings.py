"""Every recording through the wake: prompt and dialog as the index says, typed only where a prompt is free and at rest.

New files are picked up by themselves (docs/adding-a-screen.md). Each recording is looked at after every event and just
before the next one, so that a moment between two events is judged too.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sot_tui import cli
from sot_tui.engine import casts
from sot_tui.wake.policy import Act
from sot_tui.wake.prompt import Verdict
from sot_tui.wake.replay import Moment, Replay

FOLDER = Path(__file__).parent.parent / "data" / "recordings"
INDEX: list[dict[str, Any]] = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))["recordings"]
CLAUDE = [entry for entry in INDEX if entry["agent"] == "claude"]
JUST_BEFORE = 1e-4
"""Seconds before the next event."""

each = pytest.mark.parametrize("entry", INDEX, ids=lambda entry: str(entry["file"]).removesuffix(".cast"))
each_of_claude = pytest.mark.parametrize("entry", CLAUDE, ids=lambda entry: str(entry["file"]).removesuffix(".cast"))


@cache
def _looks(file: str) -> tuple[tuple[bool, Moment], ...]:
    """Return every look at a recording, and whether an event stood at that moment."""
    columns, lines, events = casts.read(str(FOLDER / file))
    replay = Replay(columns, lines)
    found = []
    for event, following in zip(events, [*events[1:], events[-1]], strict=True):
        replay.take(event)
        found.append((True, replay.look(event[0])))
        if following[0] - JUST_BEFORE > event[0]:
            found.append((False, replay.look(following[0] - JUST_BEFORE)))
    return tuple(found)


def _last_before(entry: dict[str, Any], at: float) -> float:
    """Return when the last key, the last end of work, or the last dialog before a moment was."""
    _, _, events = casts.read(str(FOLDER / entry["file"]))
    keys = [moment for moment, kind, _ in events if kind == "i" and moment < at]
    ends = [end for _, end in entry["working"] if end < at]
    dialogs = [look.at for _, look in _looks(entry["file"]) if look.waiting and look.at < at]
    return float(max([0.0, *keys, *ends, *dialogs]))


def _hold(moment: Moment, verdict: str) -> None:
    kind = verdict.partition(":")[2]
    assert (moment.waiting.kind.value if moment.waiting else "") == kind
    if verdict != "working":  # one frame inside a turn may well look free
        expected = {"free": Verdict.FREE, "holds-wake-line": Verdict.HOLDS}.get(verdict, Verdict.REFUSED)
        assert moment.prompt.verdict is expected, moment.prompt.reason


def test_recordings_when_listed_then_every_file_is_in_the_index_and_the_other_way_round() -> None:
    assert {path.name for path in FOLDER.glob("*.cast")} == {entry["file"] for entry in INDEX}


@each
def test_screen_when_a_recording_ends_then_prompt_and_dialog_are_the_index_s(entry: dict[str, Any]) -> None:
    *_, (_, end) = _looks(entry["file"])
    _hold(end, entry["verdict"])


@each
def test_screen_when_at_a_checkpoint_then_prompt_and_dialog_are_the_index_s(entry: dict[str, Any]) -> None:
    columns, lines, events = casts.read(str(FOLDER / entry["file"]))
    for point in entry.get("checkpoints", []):
        _hold(casts.moment_at(columns, lines, events, point["at"]), point["verdict"])


@each
def test_wake_when_a_turn_is_at_work_then_it_never_types_or_sends(entry: dict[str, Any]) -> None:
    """Contract, Waking: "so a working session is not typed into while its screen is still changing"."""
    acted = [look.at for _, look in _looks(entry["file"]) if look.judged.act is not Act.NO]
    assert not [at for at in acted for begin, end in entry["working"] if begin <= at <= end]


@each
def test_wake_when_looked_at_with_each_event_then_it_types_only_where_the_recording_ends_free(
    entry: dict[str, Any],
) -> None:
    """A key ends a stretch: what was free before the person typed is judged at that key, and refused for it."""
    typed = [look.at for at_event, look in _looks(entry["file"]) if at_event and look.judged.act is Act.TYPE]
    if entry["verdict"] != "free" or entry["agent"] != "claude":
        assert not typed
    elif typed:
        assert typed[0] >= _last_before(entry, typed[0]) + 1.5
        assert typed[0] >= _last_before(entry, entry["seconds"])


@each_of_claude
def test_wake_when_a_recording_ends_free_and_still_then_it_types(entry: dict[str, Any]) -> None:
    *_, (_, end) = _looks(entry["file"])
    is_free = entry["verdict"] == "free" and entry["still_at_end"] >= 1.5
    assert (end.judged.act is Act.TYPE) == is_free, end.judged.reason
    assert (end.judged.act is Act.ENTER) == (entry["verdict"] == "holds-wake-line")


@each
def test_wake_when_it_types_then_the_watched_rows_held_still_and_no_dialog_waited(entry: dict[str, Any]) -> None:
    for _, look in _looks(entry["file"]):
        if look.judged.act is not Act.NO:
            assert look.waiting is None
            assert look.prompt.verdict is not Verdict.REFUSED


@each
def test_dialog_when_read_after_every_event_then_only_where_the_recording_has_one(entry: dict[str, Any]) -> None:
    seen = {look.waiting.kind.value for _, look in _looks(entry["file"]) if look.waiting}
    told = [entry["verdict"], *(point["verdict"] for point in entry.get("checkpoints", []))]
    assert seen <= {verdict.partition(":")[2] for verdict in told} | _ANSWERED_BEFORE_THE_END.get(entry["file"], set())


_ANSWERED_BEFORE_THE_END: dict[str, set[str]] = {}
"""Dialogs that a recording shows and its index does not tell of."""


def test_screen_when_run_with_every_then_one_line_for_each_event_and_one_for_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = FOLDER / "claude-2.1.332-free-after-turn-80x24.cast"
    assert cli.main(["screen", str(path), "--every"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    events = path.read_text(encoding="utf-8").splitlines()[1:]
    assert len(told) == len(events) + 1
    assert (told[-1]["prompt"], told[-1]["wake"], told[-1]["dialog"]) == ("free", "type", None)
    assert told[-1].keys() >= {"prompt", "reason", "dialog", "wake", "at", "cursor", "lines", "dim", "alternate_screen"}


def test_screen_when_asked_for_a_moment_then_the_clock_stands_there(capsys: pytest.CaptureFixture[str]) -> None:
    path = FOLDER / "claude-2.1.332-status-all-in-one-120x40.cast"
    assert cli.main(["screen", str(path), "--json", "--at", "21.86"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["at"], told["dialog"], told["dialog_line"], told["wake"]) == (
        21.86,
        "permission",
        "Bash command",
        "no",
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [([], 2), (["a", "b"], 2), (["--at"], 2), (["x.cast", "--at", "1", "--every"], 2), (["/nowhere.cast"], 1)],
)
def test_screen_when_misused_or_without_a_recording_then_a_sentence_and_no_traceback(
    words: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["screen", *words]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_screen_when_the_file_is_no_recording_then_it_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.cast"
    path.write_text('{"width": 80, "height": 24}\n{"no": "event"}\n')
    assert cli.main(["screen", str(path)]) == 1
    assert "is no recording" in capfd.readouterr().err
