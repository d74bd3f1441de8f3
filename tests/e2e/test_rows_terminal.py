"""Rows in a real terminal: one is started, answered, ended, run again and removed, by keys and by mouse."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.rows.supervised import capsules_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.e2e

WAYS = pytest.mark.parametrize("way", ["keys", "mouse"])
ASKING = r"""#!/bin/sh
sot-tui join >/dev/null
sot-tui status dialog "Allow Bash?"
clear
stty -icanon -echo min 1
printf 'Allow Bash?\n\n  rm -r build\n\n❯ 1. Yes\n  2. No\n'
key=$(dd bs=1 count=1 2>/dev/null)
clear
sot-tui status resumed
sot-tui status working "chosen $key"
read x
"""


@pytest.fixture(autouse=True)
def ended_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have every row ended that a test starts, and none handed to a daemon."""
    monkeypatch.setenv("SOT_COMM_TEST_HOST", "box")
    settings = f"{os.environ['XDG_CONFIG_HOME']}/sot"
    os.makedirs(settings, exist_ok=True)
    with open(f"{settings}/tui.toml", "w", encoding="utf-8") as told:
        told.write('on_leave = "never"\n')
    yield
    for pid in capsules_below(f"{os.environ['XDG_STATE_HOME']}/sot/workspaces/"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@WAYS
def test_row_when_started_answered_ended_run_again_and_removed_then_each_is_seen(
    comm_home: Path, open_dashboard: Callable[[], Terminal], way: str
) -> None:
    folder = comm_home.parent / "src" / "Api"
    folder.mkdir(parents=True)
    program = folder / "asks"
    program.write_text(ASKING)
    program.chmod(0o755)
    terminal = open_dashboard()
    terminal.until(lambda: terminal.says("operator-box"), "the dashboard")
    keys = way == "keys"

    terminal.until(lambda: terminal.says("m mail"), "the keys for the selected line, which move the others")
    terminal.press("n") if keys else terminal.click("n new")
    terminal.until(lambda: terminal.says("start a row"), "the form")
    terminal.type(f"{folder.parent}/A")
    terminal.until(lambda: terminal.says(f"▌ {folder}"), "the folder is listed")
    if keys:
        terminal.press("Tab", "Enter", "Left", "Enter", "Enter")
    else:
        terminal.click(f"▌ {folder}")
        terminal.until(lambda: terminal.says(f"folder {folder}"), "it is taken")
        terminal.click("a\u00a0command")
        terminal.until(lambda: terminal.says("a program and its arguments"), "the field of the command")
        terminal.click("a program and its arguments")
    terminal.until(lambda: terminal.says("a program and its arguments"), "the field of the command")
    terminal.type(str(program))
    terminal.until(lambda: terminal.says(f"command {program}"), "the command")
    terminal.press("C-s") if keys else terminal.click(" Start ")

    terminal.until(lambda: terminal.says("blocked Api-box"), "it has joined, and is blocked")
    terminal.until(lambda: terminal.says("rm -r build"), "the selection went along; its dialog is shown")
    terminal.until(lambda: terminal.says("type the number"), "how it is answered")
    terminal.press("2") if keys else terminal.click(" 2 ", beside="answer")
    terminal.until(lambda: not terminal.says("blocked Api-box"), "it goes on")
    terminal.until(lambda: terminal.says("chosen 2"), "with the answer")

    terminal.press("x") if keys else end_of(terminal)
    terminal.until(lambda: terminal.says("End row 'Api'?"), "the question")
    terminal.press("Right", "Enter") if keys else terminal.click("End, keep it")
    terminal.until(lambda: terminal.says("its run has ended"), "its end")

    terminal.press("a")
    terminal.until(lambda: terminal.says("Run row 'Api' again?"), "the question")
    terminal.until(lambda: terminal.says(str(program)), "the command")
    terminal.press("Right", "Enter") if keys else terminal.click(" Run ", beside="Cancel")
    terminal.until(lambda: terminal.says("blocked Api-box"), "it runs again")

    terminal.press("x")
    terminal.until(lambda: terminal.says("End row 'Api'?"), "the question")
    terminal.press("Left", "Enter") if keys else terminal.click("End, remove")
    terminal.until(lambda: terminal.says("row 'Api' is removed"), "it is removed")
    terminal.until(lambda: not terminal.says("Api-box"), "its entry is gone")
    assert not capsules_below(f"{os.environ['XDG_STATE_HOME']}/sot/workspaces/")


def end_of(terminal: Terminal) -> None:
    """Choose the end by the palette: the key line of a small window has no room for it."""
    terminal.press("C-p")
    terminal.until(lambda: terminal.says("an action, or a handle"), "the palette")
    terminal.type("end (x)")
    terminal.until(lambda: terminal.says("End the selected row"), "the action")
    terminal.press("Enter")
