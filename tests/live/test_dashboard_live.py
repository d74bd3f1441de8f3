"""The _installed agents in rows of the dashboard, in a real terminal, against a stand-in for their API: `make live`.

Everything is done as a person does it: the row is started by the form, what the agent asks is answered from the nav and
in the row's own screen, and what has ended is run again. Nothing here reaches beyond this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.live.stand_in import REPLY, SLOWLY, Call, StandIn
from tests.live.test_agents_live import READY_SECS, _claude_settings, _codex_settings, _installed, _project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.terminal import Terminal
    from tests.rows.supervised import Supervised

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]
COLOURS = {
    "question": "Which colour shall it be?",
    "header": "Colour",
    "multiSelect": False,
    "options": [
        {"label": "Red", "description": "like a rose"},
        {"label": "Blue", "description": "like the sea"},
    ],
}
CLAUDE_CALLS = {
    "make one": Call("Bash", {"command": "touch one", "description": "Make the first file"}),
    "make two": Call("Bash", {"command": "touch two", "description": "Make the second file"}),
    "make three": Call("Bash", {"command": "touch three", "description": "Make the third file"}),
    "ask me": Call("AskUserQuestion", {"questions": [COLOURS]}),
}
ESCALATED = {"sandbox_permissions": "require_escalated", "justification": "to have it"}
CODEX_CALLS = {
    "make one": Call("exec_command", {"cmd": "touch one", **ESCALATED}),
    "make two": Call("exec_command", {"cmd": "touch two", **ESCALATED}),
    "ask me": Call("request_user_input", {"questions": [{"id": "colour", **COLOURS}]}),
}
CODEX_MORE = (
    'approval_policy = "on-request"\nsandbox_mode = "workspace-write"\n'
    "features.default_mode_request_user_input = true\n"
)


@pytest.fixture
def project(supervised: Supervised, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository, on a box whose dashboard leaves no daemon behind."""
    del supervised  # it ends what a test starts
    monkeypatch.setenv("SOT_COMM_TEST_HOST", "box")
    settings = Path(os.environ["XDG_CONFIG_HOME"], "sot")
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "tui.toml").write_text('on_leave = "never"\n')
    return _project(tmp_path / "Api")


@pytest.fixture
def claude_api(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """Return the stand-in of a Claude Code that runs our hooks, and asks before it touches a file."""
    _installed("claude")
    with StandIn(2.0, CLAUDE_CALLS) as api:
        _claude_settings(project, api, monkeypatch, trusted=False)
        hooks("claude")
        path = Path(os.environ["HOME"], ".claude", "settings.json")
        settings = json.loads(path.read_text())
        path.write_text(json.dumps({**settings, "permissions": {"ask": ["Bash(touch:*)"]}}))
        yield api


def hooks(agent: str) -> None:
    command = [str(Path(sys.executable).with_name("sot-tui")), "hooks", "install", "--agent", agent]
    subprocess.run(command, check=True, capture_output=True)


def test_claude_when_it_asks_whether_to_trust_the_folder_then_a_person_does_and_its_first_turn_runs(
    claude_api: StandIn, project: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    terminal = open_dashboard()
    start(terminal, project)
    shown(terminal, "its screen shows a dialog: Accessing workspace:")
    assert not claude_api.asked
    view(terminal)
    shown(terminal, "❯ No, exit")  # it has stood for a while: what is pressed in its first moment is lost to it
    until_taken(terminal, "Down", "❯ Yes, I trust this folder")
    terminal.press("Enter")
    shown(terminal, REPLY)
    shown(terminal, "its turn ended with nothing pending")


def test_claude_when_it_ended_at_the_question_of_trust_then_its_row_can_be_run_again(
    claude_api: StandIn, project: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    """It has no conversation yet, so it is not told to continue one: it would end at once."""
    terminal = open_dashboard()
    start(terminal, project)
    shown(terminal, "its screen shows a dialog: Accessing workspace:")
    view(terminal)
    shown(terminal, "❯ No, exit")
    terminal.press("Enter")
    shown(terminal, "it exited with 1")
    run_again(terminal, "--permission-mode auto /sot-session-start")
    shown(terminal, "ready · 100x")
    shown(terminal, "❯ No, exit")
    assert not claude_api.asked


@pytest.fixture
def at_claude(
    claude_api: StandIn, project: Path, open_dashboard: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch
) -> Terminal:
    """Return a dashboard with the screen of a row open, whose Claude Code has had its first turn."""
    _claude_settings(project, claude_api, monkeypatch, trusted=True)
    terminal = open_dashboard()
    start(terminal, project)
    shown(terminal, "done Api-box")
    view(terminal)
    shown(terminal, REPLY)
    return terminal


def test_claude_when_it_asks_for_a_permission_then_it_is_answered_in_its_row_and_from_the_nav(
    at_claude: Terminal, project: Path
) -> None:
    terminal = at_claude
    say(terminal, "please make one")
    shown(terminal, "Do you want to proceed?")
    shown(terminal, "its agent shows a dialog")
    terminal.press("1")
    terminal.until((project / "one").exists, "it did what it was allowed", READY_SECS)
    shown(terminal, "its turn ended with nothing pending")

    say(terminal, "please make two")
    leave(terminal)
    shown(terminal, "blocked Api-box")
    shown(terminal, "answer 1 2")
    assert terminal.says("touch two")
    terminal.press("1")
    shown(terminal, "typed 1 for you into row 'Api': Bash command")
    terminal.until((project / "two").exists, "it did what it was allowed", READY_SECS)
    shown(terminal, "done Api-box")

    view(terminal)
    say(terminal, "please make three")
    leave(terminal)
    shown(terminal, "blocked Api-box")
    shown(terminal, "answer 1 2")
    terminal.press("2")
    shown(terminal, "typed 2 for you into row 'Api': Bash command")
    terminal.until(lambda: not terminal.says("blocked Api-box"), "it is blocked no more", READY_SECS)
    assert not (project / "three").exists()


def test_claude_when_it_asks_a_question_then_it_is_answered_from_the_nav_and_in_its_row(at_claude: Terminal) -> None:
    terminal = at_claude
    say(terminal, "please ask me")
    leave(terminal)
    shown(terminal, "blocked Api-box Which colour shall it be?")
    shown(terminal, "answer 1 2 3")
    terminal.press("2")
    shown(terminal, "done Api-box")
    view(terminal)
    shown(terminal, "Which colour shall it be? → Blue")

    say(terminal, "please ask me")
    shown(terminal, "❯ 1. Red")
    shown(terminal, "it asked a question")
    until_taken(terminal, "1", "Which colour shall it be? → Red")
    shown(terminal, "its turn ended with nothing pending")


def test_claude_when_interrupted_resized_and_ended_then_it_goes_on_with_what_was_said(
    at_claude: Terminal, claude_api: StandIn
) -> None:
    terminal = at_claude
    say(terminal, "please remember this")
    shown(terminal, "a person started this turn")
    shown(terminal, "its turn ended with nothing pending")
    say(terminal, f"now {SLOWLY}")
    shown(terminal, "esc to interrupt")
    terminal.until(claude_api.streaming.is_set, "its answer comes", READY_SECS)
    terminal.press("Escape")
    terminal.until(lambda: not terminal.says("esc to interrupt"), "it is interrupted", READY_SECS)

    terminal.tmux("resize-window", "-x", "80", "-y", "24")
    shown(terminal, "ready · 80x")
    terminal.until(lambda: box_rules(terminal) == ["─" * 80] * 2, "its box has the new width", READY_SECS)

    end_by_key(terminal, "C-c", "again to exit")
    shown(terminal, "it exited with 0")
    turns = len(claude_api.asked)
    run_again(terminal, "--permission-mode auto --continue /sot-session-start")
    terminal.until(lambda: len(claude_api.asked) > turns, "it has a turn", READY_SECS)
    assert "please remember this" in json.dumps(claude_api.asked[-1]["messages"]), "it goes on with what was said"
    shown(terminal, REPLY)


def test_codex_when_a_person_works_with_it_then_its_hooks_tell_its_state_and_it_is_taken_up_again(
    project: Path, open_dashboard: Callable[[], Terminal]
) -> None:
    """Its hooks run below its capsule, so they can prove whose they are; a person trusts them first."""
    _installed("codex")
    with StandIn(2.0, CODEX_CALLS) as api:
        _codex_settings(project, api, CODEX_MORE)
        hooks("codex")
        terminal = open_dashboard()
        start(terminal, project, "codex")
        view(terminal)
        shown(terminal, "Hooks need review")
        until_taken(terminal, "2", "› 2. Trust all and continue")
        terminal.press("Enter")
        shown(terminal, "Ask Codex to do anything")
        say(terminal, "hello there")
        shown(terminal, f"• {REPLY}")
        shown(terminal, "its turn ended with nothing pending")

        say(terminal, "please make one")
        shown(terminal, "Would you like to run the following command?")
        shown(terminal, "its agent shows a dialog")
        leave(terminal)
        shown(terminal, "blocked Api-box Allow Bash?")
        view(terminal)
        until_taken(terminal, "y", "You approved codex to run touch one")
        terminal.until((project / "one").exists, "it did what it was allowed", READY_SECS)
        shown(terminal, "its turn ended with nothing pending")

        say(terminal, "please make two")
        shown(terminal, "its agent shows a dialog")
        leave(terminal)
        shown(terminal, "answer 1 2 3")
        assert terminal.says("$ touch two")
        terminal.press("1")
        shown(terminal, "typed 1 for you into row 'Api': Would you like to run the following command?")
        terminal.until((project / "two").exists, "it did what it was allowed", READY_SECS)
        shown(terminal, "done Api-box")
        view(terminal)

        say(terminal, "please ask me")
        shown(terminal, "› 1. Red")
        until_taken(terminal, "Enter", "answer: Red")
        shown(terminal, "its turn ended with nothing pending")

        say(terminal, f"now {SLOWLY}")
        terminal.until(api.streaming.is_set, "its answer comes", READY_SECS)
        until_taken(terminal, "Escape", "Conversation interrupted")
        terminal.tmux("resize-window", "-x", "80", "-y", "24")
        shown(terminal, "ready · 80x")
        shown(terminal, "Ask Codex to do anything")
        terminal.press("C-c")
        shown(terminal, "it exited with 0")
        run_again(terminal, "resume --last")
        shown(terminal, "Conversation interrupted")


# -- what a person does ------------------------------------------------------------------------------------------------


def shown(terminal: Terminal, words: str) -> None:
    terminal.until(lambda: terminal.says(words), f"it shows: {words}", READY_SECS)


def start(terminal: Terminal, project: Path, agent: str = "claude") -> None:
    """Start a row by the form."""
    terminal.press("n")
    shown(terminal, "start a row")
    terminal.type(str(project))
    shown(terminal, f"folder {project}")
    if agent == "codex":
        terminal.press("Tab", "Right")
        shown(terminal, "● Codex")
    terminal.press("C-s")
    terminal.until(lambda: not terminal.says("start a row"), "the row is made", READY_SECS)
    shown(terminal, "ready")


def view(terminal: Terminal) -> None:
    terminal.press("Enter")
    shown(terminal, "^] leave")


def until_taken(terminal: Terminal, key: str, words: str) -> None:
    """Press a key until the agent takes it: it drops what comes while its dialog is being opened."""
    for _ in range(5):
        terminal.press(key)
        with suppress(AssertionError):
            terminal.until(lambda: terminal.says(words), f"it shows: {words}", READY_SECS / 5)
            return
    raise AssertionError(terminal.text())


def leave(terminal: Terminal) -> None:
    terminal.press("C-]")
    shown(terminal, "enter view")


def run_again(terminal: Terminal, words: str) -> None:
    """Run the row again whose last screen is shown, by a command that ends with these words, and go into it."""
    terminal.press("a")
    shown(terminal, "Run row 'Api' again?")
    box = " ".join(part[1].strip() for line in terminal.text().split("\n") if len(part := line.split("│")) > 2)
    assert f"{words} in " in f"{' '.join(box.split())} ", box
    terminal.press("Right", "Enter")
    shown(terminal, "enter type")
    view(terminal)


def say(terminal: Terminal, words: str) -> None:
    """Type into the agent's box, and send it once it stands there."""
    terminal.type(words)
    terminal.until(lambda: words in terminal.text(), f"it is typed: {words}", READY_SECS)
    terminal.press("Enter")


def end_by_key(terminal: Terminal, key: str, again: str) -> None:
    """Press the key by which an agent ends, and once more when it says so."""
    terminal.press(key)
    shown(terminal, again)
    terminal.press(key)


def box_rules(terminal: Terminal) -> list[str]:
    """Return the two rules of the agent's box, as wide as they are."""
    return [line for line in terminal.text().split("\n") if line and not line.strip("─")][-2:]
