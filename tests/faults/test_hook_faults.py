"""Hooks on a disk that fails or dies at any step: the turn goes on, no mail is lost, the registry stays whole."""

from __future__ import annotations

import errno
import json
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import hooks, registry_lock, scratch, turn_end
from tests.faults.disks import Counting, Dying, Failing, dies, steps_of
from tests.joined import KEY, MAIL, JoinedSession, NamedMachine

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.comm.home import Home

    Act = Callable[[Home], object]


@pytest.fixture
def session(comm_home: Path) -> JoinedSession:
    found = JoinedSession(comm_home.parent)
    found.says("SITREP: done")
    return found


class _Next(NamedMachine):
    """The same machine a moment later, when the process before is gone."""

    PID = 70_001

    def start_of(self, pid: int) -> str | None:
        return "78" if pid == self.PID else None


def prepare(session: JoinedSession) -> None:
    """Set the comm home back to a running turn with one line of mail."""
    for path in Path(session.home.scratch).glob("*"):
        path.unlink()
    for path in Path(session.home.path).glob(".registry.lock*"):
        path.unlink()
    Path(session.home.registry + ".tmp").unlink(missing_ok=True)
    session.facts(floor="user", note="n", dialog="d")
    session.mail("peer")
    scratch.write(session.home, "askq-t.marker")


def acts(session: JoinedSession) -> dict[str, Act]:
    here = session.who_am_i()
    turn = turn_end.TurnEnd(KEY, held_before=False, transcript=str(session.transcript), last_message="")

    def stop(home: Home) -> object:
        outcome = turn_end.check(home, here, turn)
        if isinstance(outcome, turn_end.Hold):
            turn_end.told(home, outcome)
        return outcome

    asked = session.event(tool_use_id="t", tool_input={"questions": [{"question": "q?"}]})
    return {
        "stop": stop,
        "prompt": lambda home: hooks.begin_turn(home, here, "go", KEY),
        "ask": lambda home: hooks.ask(home, here, asked),
        "answer": lambda home: hooks.answer(home, here, asked),
        "dialog": lambda home: hooks.show_dialog(home, here, asked),
        "beat": lambda home: hooks.beat(home, here, KEY, resumes=True),
    }


NAMES = ["stop", "prompt", "ask", "answer", "dialog", "beat"]


def on(session: JoinedSession, disk: Counting, act: Act) -> object:
    return act(session.home._replace(disk=disk))


def check_whole(session: JoinedSession) -> dict[str, Any]:
    """Check that the registry holds what it held, in one of its states, and the inbox its line."""
    agents = session.agents()
    assert set(agents) == {"h", "peer"}
    assert agents["peer"] == session.entry()
    assert len(Path(session.home.inbox("h")).read_text().splitlines()) == 1
    found: dict[str, Any] = agents["h"]
    return found


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("name", NAMES)
def test_hook_when_any_step_on_the_disk_fails_then_the_turn_goes_on(
    session: JoinedSession, name: str, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOT_LOCK_WAIT_SECS", "0")
    monkeypatch.setattr(registry_lock.Wait.TOUCH, "_value_", 0.0)
    prepare(session)
    act = acts(session)[name]
    for at in range(1, len(steps_of(lambda disk: on(session, disk, act))) + 1):
        prepare(session)
        disk = Failing(at, error)
        outcome = on(session, disk, act)
        disk.bury()
        check_whole(session)
        if isinstance(outcome, turn_end.Hold):
            assert "run comm-poll.sh" in outcome.reason  # the mail, or that the count failed
        elif name == "stop":
            pytest.fail(f"the turn ended with unread mail: {disk.steps[at - 1]}: {outcome}")


@pytest.mark.parametrize("name", NAMES)
def test_hook_when_its_process_dies_at_any_step_then_the_next_one_does_the_work(
    session: JoinedSession, name: str
) -> None:
    """Killed at any instant: what was told is told again at most, what was not told holds the next turn end."""
    prepare(session)
    act = acts(session)[name]
    for at in count(1):
        prepare(session)
        disk = Dying(at)
        if not dies(lambda disk=disk: on(session, disk, act)):  # type: ignore[misc]
            assert at > 5, "a hook has more steps than that"
            break
        check_whole(session)
        later = session.home._replace(procs=_Next(), disk=Counting(), clock=_Patient())
        outcome = act(later)
        entry = check_whole(session)
        if name == "stop":
            told = (session.scratch(f"mail-{KEY}.tick") or "") == "1"
            assert told
            assert isinstance(outcome, turn_end.Hold) or "floor" not in entry
        elif name == "prompt":
            assert entry["floor"] == "user"
            assert "dialog" not in entry
        elif name == "ask":
            assert entry["question"] == "q?"
        elif name == "answer":
            assert (entry["floor"], session.scratch("askq-t.marker")) == ("user", None)
        elif name == "dialog":
            assert entry["dialog"].startswith("a permission")


class _Patient:
    """A clock that waits out a settle at once."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return 1_767_323_045.0

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


def test_stop_when_the_process_dies_between_telling_and_remembering_then_it_is_told_again(
    session: JoinedSession,
) -> None:
    prepare(session)
    turn = turn_end.TurnEnd(KEY, held_before=False, transcript=str(session.transcript), last_message="")
    assert isinstance(session.check(turn), turn_end.Hold)  # told, and never remembered
    assert session.held(held_before=True) == MAIL
    feedback = session.scratch(f"stop-feedback-{KEY}.jsonl") or ""
    assert [json.loads(line) for line in feedback.splitlines()] == [MAIL, MAIL]
