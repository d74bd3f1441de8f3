"""The demo: real sessions at work, a lock that a person can recover, and nothing left behind, whatever ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import frames, inbox, registry_lock
from sot_tui.comm.home import Home
from tests.e2e.box import COMMAND
from tests.e2e.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

DEMO = str(Path(__file__).resolve().parents[2] / "tools" / "demo.py")
DEADLINE_SECS = 40.0
"""How long a fact is waited for; it comes in a fraction of that."""
NEVER = "100000"
HANDLES = {
    *("Analysis-wt-rot-box", "Backend-box", "Docs-box", "Frontend-box", "Importer-box", "MyRepo-box", "Notes-box"),
    *("Paper-laptop", "Parser-box", "Deploy-box"),
}


def until(fact: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECS
    while not fact():
        assert time.monotonic() < deadline, f"it never came: {what}"
        time.sleep(0.05)


class Run:
    """A demo without the dashboard."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, DEMO, "--headless", NEVER, *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line.startswith("comm home: "), (line, self.process.poll())
        self.comm = Path(line.removeprefix("comm home: "))
        self.folder = self.comm.parent
        self.home = Home(str(self.comm))

    def agents(self) -> dict[str, Any]:
        """Return the entries of the demo's own registry."""
        found: dict[str, Any] = json.loads(self.comm.joinpath("registry.json").read_text(encoding="utf-8"))["agents"]
        return found

    def state(self, handle: str) -> str:
        return str(self.agents().get(handle, {}).get("state", ""))

    def verb(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a verb on the demo's comm home, as the person would from another window."""
        environ = {**os.environ, "SOT_COMM_HOME": str(self.comm), "SOT_SELF_HOST": "box"}
        return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False, env=environ)

    def processes(self) -> list[int]:
        return processes_of(self.folder)

    def close(self) -> None:
        """End it, if the test has not."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=DEADLINE_SECS)


def processes_of(folder: Path) -> list[int]:
    """Return the processes that live in this folder's environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            data = path.read_bytes()
        except OSError:
            continue  # another account's, or gone meanwhile
        if f"SOT_COMM_HOME={folder}/".encode() in data:
            found.append(int(path.parent.name))
    return found


@pytest.fixture
def play() -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def start(*words: str) -> Run:
        runs.append(Run(*words))
        return runs[-1]

    yield start
    for run in runs:
        run.close()


def test_sessions_when_they_play_then_each_state_and_the_mail_is_there_and_the_persons_folders_are_not_touched(
    play: Callable[..., Run],
) -> None:
    run = play("--lock-after", NEVER)
    until(lambda: set(run.agents()) >= HANDLES | {"operator-box", "Old-laptop"}, "all have joined")
    until(lambda: run.state("MyRepo-box") == "blocked", "one asks")
    until(lambda: run.state("Docs-box") == "done", "one is done")
    until(lambda: run.state("Backend-box") == "waiting", "one waits")
    until(lambda: run.state("Notes-box") == "idle", "one is idle")
    until(lambda: run.state("Deploy-box") == "blocked", "one shows a dialog in its row")
    until(lambda: "working" in {run.state(handle) for handle in HANDLES}, "one works")
    mail = run.comm / "inbox" / "operator-box.jsonl"
    assert "Press r to answer" in json.loads(mail.read_text(encoding="utf-8").splitlines()[0])["msg"]
    until(lambda: (run.comm / "inbox" / "Frontend-box.jsonl").stat().st_size, "they mail each other")
    wanted = json.loads(run.verb("list", "--json").stdout)["needs_you"]
    assert {one["handle"] for one in wanted} == {"MyRepo-box", "operator-box", "Docs-box", "Deploy-box"}
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        assert list(Path(os.environ[name]).iterdir()) == []
    assert not Path(os.environ["SOT_COMM_HOME"]).exists()


def test_done_when_a_person_views_it_then_its_session_goes_on(play: Callable[..., Run]) -> None:
    """Viewing is what the dashboard's click does: the same function, from outside the demo."""
    from sot_tui.comm import registry

    run = play("--lock-after", NEVER)
    until(lambda: run.state("Docs-box") == "done", "it is done")
    # Eight others write too, and a view waits for a second only.
    until(lambda: isinstance(registry.clear_done(run.home, "Docs-box", "box"), registry.Written), "it is viewed")
    until(lambda: "you saw it" in run.agents()["Docs-box"].get("summary", ""), "the session has noticed")


def test_question_when_a_person_replies_below_what_is_quoted_then_the_session_says_their_own_words(
    play: Callable[..., Run],
) -> None:
    run = play("--lock-after", NEVER)
    until(lambda: run.state("MyRepo-box") == "blocked", "one asks")
    reply = "@MyRepo-box wrote at 2026-07-01T10:00:00Z:\n> Which branch shall I release, main or next?\n\nnext"
    line = frames.frame("operator-box", "MyRepo-box", "", reply, "2026-07-01T10:00:09Z")
    assert isinstance(inbox.file_line(run.home, "MyRepo-box", line), inbox.Filed)
    until(lambda: run.agents()["MyRepo-box"].get("summary") == "releasing as you said: next", "it repeats the answer")
    mail = run.comm / "inbox" / "operator-box.jsonl"
    until(lambda: "your answer came: next. " in mail.read_text(encoding="utf-8"), "it thanks for the answer")


def test_mail_when_it_comes_to_the_one_that_is_to_die_later_then_it_lives_on(play: Callable[..., Run]) -> None:
    run = play("--lock-after", NEVER)
    until(lambda: "dies with the lock" in run.agents().get("Importer-box", {}).get("summary", ""), "it works")
    line = frames.frame("Backend-box", "", "", "CI is green", "2026-07-01T10:00:09Z")
    assert isinstance(inbox.file_line(run.home, "Importer-box", line), inbox.Filed)
    until(lambda: inbox.cursor_bytes(run.home, "Importer-box"), "it has read it")
    seen = run.agents()["Importer-box"]["last_seen"]
    until(lambda: run.agents()["Importer-box"]["last_seen"] > seen, "it goes on reading")
    assert registry_lock.look(run.home).record is None or not registry_lock.look(run.home).provable


def test_lock_when_its_holder_died_then_the_others_rest_until_it_is_cleared(play: Callable[..., Run]) -> None:
    run = play("--lock-after", "1")
    until(lambda: registry_lock.look(run.home).provable, "one has died with the lock")
    before = run.agents()
    record = registry_lock.look(run.home).record
    assert record is not None
    assert record.name == "box"  # as its handle says, whatever this machine is called
    # Each of the others has come to its next verb by then, and rests: none holds the turn, none has reclaimed.
    until(lambda: registry_lock.look(run.home).age_s > 5, "five seconds with nobody writing")
    assert registry_lock.look(run.home).record == record
    assert run.agents() == before
    cleared = run.verb("lock-clear")
    assert (cleared.returncode, cleared.stderr) == (0, "")
    assert cleared.stdout.startswith("cleared registry lock ")
    until(lambda: "nothing lost" in run.agents()["Importer-box"].get("summary", ""), "it is back")
    until(lambda: run.agents()["MyRepo-box"] != before["MyRepo-box"], "the others write again")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_demo_when_it_is_told_to_end_then_nothing_of_it_is_left(
    number: signal.Signals, play: Callable[..., Run]
) -> None:
    run = play("--lock-after", NEVER)
    until(lambda: set(run.agents()) >= HANDLES, "all have joined")
    assert len(run.processes()) >= 8
    run.process.send_signal(number)
    out, err = run.process.communicate(timeout=DEADLINE_SECS)
    assert (run.process.returncode, out, err) == (128 + number, "the demo is over; everything it made is gone\n", "")
    assert run.processes() == []
    assert not run.folder.exists()


def test_demo_when_it_is_killed_then_its_sessions_end_by_themselves(play: Callable[..., Run]) -> None:
    run = play("--lock-after", NEVER)
    until(lambda: set(run.agents()) >= HANDLES, "all have joined")
    run.process.kill()
    until(lambda: not run.processes(), "every session has ended")
    subprocess.run(["rm", "-r", str(run.folder)], check=True)


def test_demo_when_its_time_is_over_then_it_ends_well() -> None:
    command = [sys.executable, DEMO, "--headless", "0.5"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    home, over = ran.stdout.splitlines()
    assert (ran.returncode, ran.stderr, over) == (0, "", "the demo is over; everything it made is gone")
    folder = Path(home.removeprefix("comm home: ")).parent
    assert not folder.exists()
    assert processes_of(folder) == []


def test_demo_when_there_is_no_terminal_then_it_says_what_else_there_is() -> None:
    ran = subprocess.run([sys.executable, DEMO], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "the demo needs a terminal; --headless SECONDS runs it without one\n"


def test_demo_when_it_has_a_terminal_then_the_dashboard_opens_on_it_and_its_end_ends_all(comm_home: Path) -> None:
    terminal = Terminal(comm_home.parent, program=f"{DEMO} --lock-after {NEVER}")
    try:
        terminal.until(lambda: terminal.says("MyRepo-box"), "the sessions are shown")
        terminal.until(lambda: terminal.says("answer with r"), "the question is shown")
        terminal.until(lambda: terminal.says("1 message for you"), "the mail is shown")
        terminal.until(lambda: terminal.says("no session has joined"), "the row that joins nobody is shown")
        terminal.press("/")
        terminal.type("Deploy")
        terminal.press("Enter")
        terminal.until(lambda: terminal.says("type the number"), "the dialog of a row is shown")
        terminal.press("3")
        terminal.until(lambda: terminal.says("typed 3 for you into row 'Deploy': Bash command"), "it is answered")
        terminal.until(lambda: terminal.says("the branch is left alone, as you said"), "its row goes on")
        terminal.press("Escape")
        terminal.until(lambda: not terminal.says("esc: all"), "every line again")
        environ = Path(f"/proc/{child_of(terminal.dashboard())}/environ").read_bytes().split(b"\0")
        comm = next(value[len("SOT_COMM_HOME=") :].decode() for value in environ if value.startswith(b"SOT_COMM_HOME="))
        folder = Path(comm).parent
        terminal.press("q")
        terminal.until(lambda: terminal.says("the demo is over; everything it made is gone"), "its last word")
        terminal.until(lambda: terminal.says("ended with 0"), "a clean end")
        assert not folder.exists()
        assert processes_of(folder) == []
    finally:
        terminal.close()


def child_of(pid: int) -> int:
    """Return a process that a process has started."""
    return int(subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True).stdout.split()[0])
