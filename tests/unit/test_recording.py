"""Recordings that are made here: scrubbed without moving a column, whole, and never over a file that is there."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from sot_tui import cli
from sot_tui.comm import paths
from sot_tui.comm.home import Home, ensure_home
from sot_tui.engine import casts, recording

if TYPE_CHECKING:
    from pathlib import Path


def test_scrub_when_a_name_is_cut_by_events_then_it_is_replaced_and_every_length_stays() -> None:
    events = [(0.0, "o", "in /srv/wol"), (0.1, "i", "x"), (0.2, "o", "fram/api, WOLFRAM"), (0.3, "m", "wolfram")]
    after = recording.scrubbed(events, ["wolfram", "ab"])
    assert [data for _, _, data in after] == ["in /srv/dem", "x", "osam/api, demosam", "wolfram"]
    assert [len(data) for _, _, data in after] == [len(data) for _, _, data in events]


@pytest.mark.parametrize("secret", ["someone@example.org", "sk-ant-0123456789abcdef", "ghp_0123456789abcdef"])
def test_scrub_when_a_secret_stands_anywhere_then_it_is_replaced(secret: str) -> None:
    ((_, _, after),) = recording.scrubbed([(0.0, "o", f"key {secret} there")], [])
    assert secret not in after
    assert len(after) == len(f"key {secret} there")


def test_record_when_a_program_is_run_then_what_it_wrote_is_a_recording_that_replays(tmp_path: Path) -> None:
    file = tmp_path / "one.cast"
    program = [sys.executable, "-I", "-S", "-c", "print('h\\u00e9llo from acme')"]
    assert cli.main(["record", str(file), "--scrub", "acme", "--", *program]) == 0
    columns, lines, events = casts.read(str(file))
    assert (columns, lines) == (80, 24)
    assert events[-1][1:] == ("m", "end")
    assert "".join(data for _, kind, data in events if kind == "o") == "héllo from demo\r\n"
    assert cli.main(["screen", str(file)]) == 0


def test_record_when_a_row_has_run_then_its_recording_is_taken_scrubbed(
    comm_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_home(Home(str(comm_home)))
    entry = {"host": "box", "workspace_id": "ws-api-1"}
    (comm_home / "registry.json").write_text(json.dumps({"protocol_version": 1, "agents": {"api-box": entry}}))
    run = "01920000-0000-7000-8000-000000000000"
    monkeypatch.setenv("USER", "wolfram")

    row = paths.row_folder(os.environ, "ws-api-1")
    os.makedirs(f"{row}/voyages/{run}")
    with open(f"{row}/drawer.voyage", "w", encoding="utf-8") as pointer:
        pointer.write(run + "\n")
    with open(f"{row}/voyages/{run}/run.cast", "w", encoding="utf-8") as cast:
        cast.write('{"version": 2, "width": 40, "height": 10}\n[0.1, "o", "\\u001b[2J\\u001b[Hhello wolfram"]\n')
    file = tmp_path / "row.cast"
    assert cli.main(["record", "@api-box", str(file)]) == 0
    columns, lines, events = casts.read(str(file))
    assert (columns, lines, events[0]) == (40, 10, (0.1, "o", "\x1b[2J\x1b[Hhello demosam"))
    assert cli.main(["record", "@api-box", str(file)]) == 1


@pytest.mark.usefixtures("comm_home")
@pytest.mark.parametrize(
    ("words", "code"),
    [([], 2), (["@h"], 2), (["x.cast"], 2), (["x.cast", "--what", "--", "true"], 2), (["@nobody", "x.cast"], 1)],
)
def test_record_when_misused_or_nothing_is_there_then_nothing_is_written(
    words: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["record", *words]) == code
    assert not (tmp_path / "x.cast").exists()
