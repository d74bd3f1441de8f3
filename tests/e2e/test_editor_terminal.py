"""The person's own editor in a real terminal: a private file, no shell, the dashboard's place, and everything back."""

from __future__ import annotations

import json
import os
import stat
import time
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.proof import SystemProcs
from tests.e2e.terminal import DEADLINE_SECS, LOOK_SECS
from tests.screens.mailing import IDLE, ME, mail_to
from tests.screens.real import put

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.e2e

_EDITOR = """\
import os, signal, sys, time
folder, path = sys.argv[1], sys.argv[-1]
signal.signal(signal.SIGTSTP, lambda *_: os.kill(0, signal.SIGSTOP))
open(f"{folder}/pid", "w").write(str(os.getpid()))
open(f"{folder}/seen", "w").write("\\n".join([*sys.argv[1:], oct(os.stat(path).st_mode), open(path).read()]))
print("an editor is here", flush=True)
while not os.path.exists(f"{folder}/go"):
    time.sleep(0.02)
if os.path.exists(f"{folder}/text"):
    open(path, "w").write(open(f"{folder}/text").read())
"""
"""An editor that says what it was given, waits for a file, and writes what another one holds.

At Ctrl+Z it stops its whole process group, as some editors do.
"""


@pytest.fixture
def editor(comm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Name an editor whose command has words with blanks in them, and return its folder."""
    folder = comm_home.parent / "the editor; touch pwned"
    folder.mkdir()
    (folder / "editor.py").write_text(_EDITOR)
    monkeypatch.setenv("VISUAL", f"python3 '{folder}/editor.py' '{folder}' --word \"two words\"")
    return folder


def seen(editor: Path) -> list[str]:
    return (editor / "seen").read_text().split("\n")


def sheets(comm_home: Path) -> list[Path]:
    return list((comm_home.parent / "state").rglob("message.txt"))


def test_editor_when_a_message_is_opened_then_gets_it_whole_and_private_and_its_file_is_gone_afterwards(
    comm_home: Path, editor: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    home = put(comm_home, anna=IDLE)
    mail_to(home, ME, "long " * 30_000 + "\x1b]2;pwned\x07 end")
    terminal = open_dashboard()
    terminal.press("g", "m")
    terminal.until(lambda: terminal.says("mail of operator-box"), "the mail")
    terminal.until(lambda: terminal.says("long long"), "the message")
    terminal.press("o")
    terminal.until(lambda: terminal.says("an editor is here"), "the editor")
    words = seen(editor)
    assert words[:3] == [str(editor), "--word", "two words"], "split into words as a shell does, and run without one"
    (sheet,) = sheets(comm_home)
    assert words[3] == str(sheet)
    assert words[4] == oct(stat.S_IFREG | 0o600)
    assert words[5:8] == ["from:  anna (r)", "to:    operator-box", f"sent:  {words[7][7:]}"]
    assert words[-2] == "long " * 30_000 + "␛]2;pwned␇ end"
    (editor / "go").touch()
    terminal.until(lambda: terminal.says("mail of operator-box"), "the dashboard is back")
    terminal.until(lambda: not sheets(comm_home), "the file is gone")
    assert not (comm_home.parent / "pwned").exists()
    terminal.press("q")
    terminal.until(lambda: terminal.says("ended with 0"), "it still quits")


def test_editor_when_a_draft_is_written_in_it_then_the_draft_comes_back_and_can_be_sent(
    comm_home: Path, editor: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    put(comm_home, anna=IDLE)
    (editor / "text").write_text("written\n\toutside \x1b[2J\n")
    terminal = open_dashboard()
    terminal.press("c")
    terminal.until(lambda: terminal.says("tab takes"), "the receiver's field")
    terminal.press("a", "n", "Tab", "Tab", "b", "e", "g", "u", "n")
    terminal.until(lambda: terminal.says("begun"), "the text")
    terminal.press("C-o")
    terminal.until(lambda: terminal.says("an editor is here"), "the editor")
    assert seen(editor)[-1] == "begun"
    (editor / "go").touch()
    terminal.until(lambda: terminal.says("written"), "the draft")
    assert not sheets(comm_home)
    terminal.press("C-s")
    terminal.until(lambda: terminal.says("filed -> @anna"), "the result")
    (line,) = (comm_home / "inbox" / "anna.jsonl").read_text().splitlines()
    assert json.loads(line)["msg"] == "written\n\toutside ␛[2J"


def test_editor_when_it_is_open_for_long_then_the_engine_goes_on_and_ctrl_z_stops_nothing(
    comm_home: Path, editor: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    """Whatever changes meanwhile waits to be painted; nothing of it may fill a queue that nobody empties."""
    home = put(comm_home, anna=IDLE)
    terminal = open_dashboard()
    terminal.press("c")
    terminal.until(lambda: terminal.says("tab takes"), "the receiver's field")
    terminal.press("C-o")
    terminal.until(lambda: terminal.says("an editor is here"), "the editor")
    dashboard = terminal.dashboard()
    terminal.press("C-z")
    cursor = comm_home / "inbox" / f"{ME}.jsonl"
    for at in range(60):
        put(comm_home, anna={"state": ("idle", "blocked")[at % 2], "summary": f"{at}"}, bob=None if at % 2 else IDLE)
        mail_to(home, ME, f"number {at}")
    assert cursor.exists()
    with open(f"/proc/{dashboard}/stat", encoding="utf-8") as file:
        assert file.read().rsplit(")", 1)[1].split()[0] != "T", "the dashboard was not stopped with its editor"
    assert "an editor is here" in terminal.text()
    assert "number" not in terminal.text(), "nothing is painted over the editor"
    (editor / "go").touch()
    terminal.until(lambda: terminal.says("write"), "the dashboard is back")
    terminal.press("Escape")
    terminal.until(lambda: terminal.says("mail 60"), "it has counted meanwhile, and paints again")
    assert terminal.flag("mouse_any_flag") == "1"


def test_editor_when_the_dashboard_is_told_to_end_then_it_ends_with_it(
    comm_home: Path, editor: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    put(comm_home, anna=IDLE)
    terminal = open_dashboard()
    terminal.press("c")
    terminal.until(lambda: terminal.says("tab takes"), "the receiver's field")
    terminal.press("C-o")
    terminal.until(lambda: terminal.says("an editor is here"), "the editor")
    pid = int((editor / "pid").read_text())
    os.kill(terminal.dashboard(), 15)
    terminal.until(lambda: terminal.says("ended with 0"), "a clean end")
    terminal.press("x")
    terminal.until(lambda: "x" in terminal.text(), "the terminal takes keys")
    terminal.until(lambda: SystemProcs().start_of(pid) is None, "the editor is gone too")


def test_editor_when_the_terminal_is_lost_while_it_is_open_then_the_dashboard_ends(
    comm_home: Path, editor: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    """The signal goes to whom the terminal was lent to."""
    put(comm_home, anna=IDLE)
    terminal = open_dashboard()
    terminal.press("c")
    terminal.until(lambda: terminal.says("tab takes"), "the receiver's field")
    terminal.press("a", "n", "Tab", "Tab", "t", "e", "x", "t", "C-o")
    terminal.until(lambda: terminal.says("an editor is here"), "the editor")
    pids = (terminal.dashboard(), int((editor / "pid").read_text()))
    terminal.close()
    deadline = time.monotonic() + DEADLINE_SECS
    while any(SystemProcs().start_of(pid) is not None for pid in pids):
        assert time.monotonic() < deadline, "it goes on without a terminal"
        time.sleep(LOOK_SECS)
    (draft,) = (comm_home.parent / "state").rglob("drafts/*.json")
    assert json.loads(draft.read_text())["text"] == "text"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/nowhere/to/be/found", "/nowhere/to/be/found could not be started: No such file or directory"),
        ("false", "false ended with 1"),
        ("'open", "the editor's command cannot be split into words"),
    ],
)
def test_editor_when_it_does_not_work_then_says_so_and_the_draft_is_as_it_was(
    comm_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    open_dashboard: Callable[[], Terminal],
    command: str,
    said: str,
) -> None:
    monkeypatch.setenv("VISUAL", command)
    put(comm_home, anna=IDLE)
    terminal = open_dashboard()
    terminal.press("c")
    terminal.until(lambda: terminal.says("tab takes"), "the receiver's field")
    terminal.press("a", "n", "Tab", "Tab", "b", "e", "g", "u", "n")
    terminal.until(lambda: terminal.says("begun"), "the text")
    terminal.press("C-o")
    terminal.until(lambda: terminal.says(said), "what went wrong")
    assert terminal.says("begun")
    assert not sheets(comm_home)


def test_editor_when_a_quit_key_comes_before_it_has_the_terminal_or_after_then_the_dashboard_goes_on(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch, open_dashboard: Callable[[], Terminal]
) -> None:
    """For a moment the terminal makes a signal of it, and the dashboard is who gets that; it died, its terminal raw."""
    monkeypatch.setenv("VISUAL", "sh -c 'kill -QUIT $PPID; exit 3'")
    put(comm_home, anna=IDLE)
    terminal = open_dashboard()
    terminal.press("c")
    terminal.until(lambda: terminal.says("tab takes"), "the receiver's field")
    terminal.press("a", "n", "Tab", "Tab", "b", "e", "g", "u", "n")
    terminal.until(lambda: terminal.says("begun"), "the text")
    terminal.press("C-o")
    terminal.until(lambda: terminal.says("sh ended with 3"), "what went wrong")
    assert terminal.says("begun")
