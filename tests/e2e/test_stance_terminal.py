"""Dashboards that only look, in real terminals: read-only, the second one, one below an agent; and how each ends."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import daemon_lock
from sot_tui.comm.home import Home
from tests.e2e.terminal import Terminal
from tests.screens.real import entry, put
from tests.unit.test_hosting import everything

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e

DONE: dict[str, object] = {"state": "done", "done": True, "summary": "built"}
TAKEN_OVER_SECS = 3.0
"""How soon a viewer has the duties after the end of the one that hosted them (product)."""


@pytest.fixture
def terminals(comm_home: Path) -> Iterator[Callable[..., Terminal]]:
    """Return what opens a terminal with a dashboard in it, of any kind."""
    opened: list[Terminal] = []

    def start(program: str = "-m sot_tui", env: str = "") -> Terminal:
        terminal = Terminal(comm_home.parent, 110, program=program, name=f"tmux{len(opened)}", env=env)
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


def test_read_only_when_there_is_a_comm_home_then_shows_it_and_changes_no_byte(
    comm_home: Path, terminals: Callable[..., Terminal]
) -> None:
    """Product: `sot-tui --readonly` hosts nothing, joins nobody, writes nothing."""
    put(comm_home, ready=DONE)
    folders = (comm_home, comm_home.parent / "state", comm_home.parent / "config", comm_home.parent / "home")
    before = everything(*folders)
    terminal = terminals("-m sot_tui --readonly")
    terminal.until(lambda: terminal.says("read-only · this dashboard was opened read-only (--readonly)"), "it says so")
    terminal.until(lambda: terminal.says("✓ done ready"), "the fleet")
    terminal.press("d", "z", "Enter")
    terminal.until(lambda: terminal.says("mail of ready"), "its mail")
    terminal.press("Escape")
    terminal.until(lambda: terminal.says("✓ done ready"), "back in the nav")
    terminal.press("l")
    terminal.until(lambda: terminal.says("registry lock nobody"), "the locks")
    terminal.press("Escape")
    terminal.until(lambda: terminal.says("✓ done ready"), "back in the nav")
    terminal.press("e")
    terminal.until(lambda: terminal.says("this dashboard writes nothing"), "the events")
    terminal.press("Escape")
    terminal.until(lambda: terminal.says("✓ done ready"), "back in the nav")
    terminal.press("q")
    terminal.until(lambda: terminal.says("ended with 0"), "a clean end")
    assert everything(*folders) == before


def test_read_only_when_there_is_no_comm_home_then_says_so_and_makes_none(
    comm_home: Path, terminals: Callable[..., Terminal]
) -> None:
    terminal = terminals("-m sot_tui --readonly")
    terminal.until(lambda: terminal.says(f"there is no comm home at {comm_home}"), "it says so")
    terminal.press("q")
    terminal.until(lambda: terminal.says("ended with 0"), "a clean end")
    assert not comm_home.exists()
    assert list((comm_home.parent / "state").iterdir()) == []


def test_words_when_they_are_none_of_ours_then_the_usage_is_said(terminals: Callable[..., Terminal]) -> None:
    terminal = terminals("-m sot_tui --readonly now")
    terminal.until(lambda: terminal.says("ended with 2"), "refused")
    assert terminal.says("sot-tui: --readonly opens the dashboard, and stands alone")


@pytest.mark.parametrize("end", ["q", "SIGKILL"])
def test_second_dashboard_when_the_first_ends_then_takes_its_duties_over(
    comm_home: Path, terminals: Callable[..., Terminal], end: str
) -> None:
    home = put(comm_home, ready=DONE)
    first = terminals()
    first.until(lambda: first.says("operator-box"), "the first one joined")
    second = terminals()
    pid = first.dashboard()
    second.until(lambda: second.says("operator-box"), "the second one is its client")
    assert not second.says("viewer ·")
    second.press("/")
    second.press("-l", "ready")
    second.press("Enter")
    if end == "q":
        first.press("q")
    else:
        os.kill(pid, signal.SIGKILL)
    hosts = Home(str(comm_home))
    second.until(
        lambda: daemon_lock.last_holder(hosts, os.environ).pid == str(second.dashboard()), "it hosts", TAKEN_OVER_SECS
    )
    second.until(lambda: not second.says("viewer ·"), "it says so", TAKEN_OVER_SECS)
    second.press("d")
    second.until(lambda: "done" not in entry(home, "ready"), "and writes")
    second.press("q")
    second.until(lambda: second.says("ended with 0"), "a clean end")


def test_dashboard_when_it_is_started_below_an_agent_then_only_looks_and_says_so(
    comm_home: Path, terminals: Callable[..., Terminal]
) -> None:
    """Contract, Cases: the walk; what an agent would do here as the operator, nobody asked for."""
    put(comm_home, ready=DONE)
    agent = comm_home.parent / "claude"
    agent.symlink_to(sys.executable)
    start = comm_home.parent / "start.py"
    start.write_text(f"import subprocess; subprocess.run([{sys.executable!r}, '-m', 'sot_tui'])\n")
    run = comm_home.parent / "run.py"
    run.write_text(f"import subprocess; subprocess.run([{str(agent)!r}, {str(start)!r}])\n")
    terminal = terminals(str(run))
    terminal.until(lambda: terminal.says("read-only · this dashboard was started below claude, an agent"), "it says so")
    terminal.until(lambda: terminal.says("ready"), "the fleet")
    assert not terminal.says("operator-box")


# -- how it ends ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [["?"], ["c"], ["C-p"], ["/", "a"]], ids=["help", "compose", "palette", "filter"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["TERM", "HUP"])
def test_dashboard_when_told_to_end_while_something_is_open_then_gives_the_terminal_back(
    comm_home: Path, open_dashboard: Callable[[], Terminal], number: signal.Signals, keys: list[str]
) -> None:
    terminal = open_dashboard()
    before = terminal.text()
    terminal.press(*keys)
    terminal.until(lambda: terminal.text() != before, "it is open")
    os.kill(terminal.dashboard(), number)
    terminal.until(lambda: terminal.says("ended with 0"), "a clean end")
    assert (terminal.flag("alternate_on"), terminal.flag("mouse_any_flag"), terminal.flag("cursor_flag")) == (
        "0",
        "0",
        "1",
    )
    held = daemon_lock.take(Home(str(comm_home)), os.environ)
    assert isinstance(held, daemon_lock.Held)
    daemon_lock.release(Home(str(comm_home)), held)


@pytest.mark.parametrize("keys", [[], ["?"], ["j", "j", "k", "l"]], ids=["still", "help", "busy"])
def test_dashboard_when_its_window_is_closed_then_ends_and_leaves_no_lock(
    comm_home: Path, open_dashboard: Callable[[], Terminal], keys: list[str]
) -> None:
    terminal = open_dashboard()
    pid = terminal.dashboard()
    for key in keys:
        terminal.press(key)
    terminal.close()
    terminal.until_gone(pid)
    held = daemon_lock.take(Home(str(comm_home)), os.environ)
    assert isinstance(held, daemon_lock.Held)
    daemon_lock.release(Home(str(comm_home)), held)
    events = comm_home.parent / "state" / "sot" / "tui" / "events.log"
    assert events.read_text(encoding="utf-8").splitlines()[-1].endswith("engine it ends here")
