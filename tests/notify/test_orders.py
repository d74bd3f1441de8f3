"""Thousands of random orders of what can happen to a completion, against a model of what the contract allows.

Each order is played by real servers on a real socket that push to a real topic; a restart is another server at the same
path. The hook's side is the contract's own rule: what is neither accepted nor a duplicate is delivered inline, once.
"""

from __future__ import annotations

import random
from collections import Counter
from threading import Event as Flag, Thread
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sot_tui.comm.home import home_here
from sot_tui.notify import delivery, frame as frames
from sot_tui.notify.delivery import Channel
from sot_tui.notify.frame import Frame
from sot_tui.notify.sender import Sender
from sot_tui.notify.settings import Target
from tests.notify.pieces import ASKED, ENDED, IDLE, PI_TURN, STOP
from tests.notify.running import ACCEPTED, DUPLICATE
from tests.notify.test_server import DEADLINE_SECS, Daemon
from tests.seams import JumpingClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sot_tui.notify.decide import Notice
    from sot_tui.notify.event import Event
    from tests.notify.ntfy import Ntfy

FAULTS = (500, 503, 0, 403, 404, 429)
"""What a topic answers when it does not take a push; 0 is a connection that breaks."""
REPEATED = {500, 503, 0}
"""After which one further request is made."""


class Pushing(Daemon):
    """A server whose pushes go to a topic; nobody waits for the second before a further attempt."""

    def __init__(self, folder: Path, topic: Ntfy) -> None:
        self.sender = sender(topic)
        super().__init__(folder)

    def send(self, notice: Notice) -> bool:
        self.while_sending()
        return self.sender.send(notice).delivered


def sender(topic: Ntfy) -> Sender:
    return Sender(Target(topic.url, ""), "earth", JumpingClock())


class Asked(NamedTuple):
    """A request that the topic must have been sent, and what it answered."""

    body: str
    status: int


class Model:
    """What the contract says must come of each event."""

    def __init__(self) -> None:
        self.is_up = True
        self.remembered: set[tuple[str, ...]] = set()
        """The completions that the daemon of now has delivered."""
        self.script: list[int] = []
        self.asked: list[Asked] = []
        self.delivered: Counter[tuple[str, ...]] = Counter()
        self.excused: Counter[tuple[str, ...]] = Counter()
        """Pushes of a completion that was told already, each for a reason that the contract names."""

    def push(self, event: Event) -> bool:
        """Note the requests of one push, and tell whether it is delivered."""
        status = self.script.pop(0) if self.script else 200
        self.asked.append(Asked(body(event), status))
        if status in REPEATED:
            status = self.script.pop(0) if self.script else 200
            self.asked.append(Asked(body(event), status))
        return status == 200

    def hook(self, event: Event, *, lost: bool, dry: bool) -> bytes:
        """Return what the daemon answers; empty when there is none."""
        key = key_of(event)
        answer = b""
        if self.is_up:
            answer = ACCEPTED
            if key in self.remembered and not dry:
                answer = DUPLICATE
            elif is_pushed(event) and not dry and self.push(event):
                self.count(key)
                if all(key):
                    self.remembered.add(key)
        if (lost or not self.is_up) and is_pushed(event) and not dry and self.push(event):
            self.count(key)
        return answer

    def count(self, key: tuple[str, ...]) -> None:
        # Whoever gets here a second time was not remembered: the daemon is a new one, there is none, or the answer
        # that said so was lost. A claim that should have held shows in the requests, which are compared.
        if self.delivered[key]:
            self.excused[key] += 1
        self.delivered[key] += 1

    def forget(self, *, is_up: bool) -> None:
        self.remembered.clear()
        self.is_up = is_up


def key_of(event: Event) -> tuple[str, ...]:
    return (event.harness, event.session_id, event.completion_id)


def body(event: Event) -> str:
    return event.assistant or event.message


def is_pushed(event: Event) -> bool:
    return event.kind in {"completion", "input"} and not event.agent_id and not event.agent_type


class Order:
    """One order of things, as it is played and as it must come out."""

    def __init__(self, topic: Ntfy, room: Path, chance: random.Random) -> None:
        self.topic, self.room, self.chance = topic, room, chance
        self.model = Model()
        self.daemon: Pushing | None = Pushing(room, topic)
        self.done: list[str] = []
        self.known: list[Event] = []
        self.number = 0
        topic.got.clear()
        topic.script.clear()

    def play(self) -> None:
        steps: list[Callable[[], None]] = [
            *[self.completion] * 6,
            *[self.again] * 6,
            *[self.fault] * 3,
            self.degraded,
            self.asks,
            self.silent,
            self.rehearsal,
            self.restart,
            self.down,
            self.lost,
            self.in_flight,
            self.race,
        ]
        try:
            for _ in range(self.chance.randint(3, 9)):
                step = self.chance.choice(steps)
                self.done.append(step.__name__)
                step()
            self.settle()
            self.check()
        except AssertionError as error:
            raise AssertionError(f"after {self.done}: {error}") from error
        finally:
            if self.daemon is not None:
                self.daemon.end()

    def settle(self) -> None:
        """Let the topic take everything, and each completion's source say once more what it said."""
        self.model.script.clear()
        self.topic.script.clear()
        if self.daemon is None:
            self.restart()
        for event in self.known:
            self.hook(event)

    def check(self) -> None:
        assert Counter(self.topic.bodies) == Counter(each.body for each in self.model.asked)
        # Every completion was told, once but for what the contract excuses.
        for event in self.known:
            key = key_of(event)
            assert self.model.delivered[key] == 1 + self.model.excused[key]

    # -- the steps --

    def completion(self) -> None:
        self.hook(self.next_completion())

    def again(self) -> None:
        """The source says the same again: the same completion, in whatever words."""
        if self.known:
            event = self.chance.choice(self.known)
            self.hook(event._replace(assistant=f"{event.assistant} again {len(self.done)}"))

    def fault(self) -> None:
        """The topic will fail, once or more often."""
        codes = [self.chance.choice(FAULTS) for _ in range(self.chance.randint(1, 3))]
        self.topic.script += codes
        self.model.script += codes

    def degraded(self) -> None:
        event = self.words(self.chance.choice([PI_TURN, STOP]))
        self.hook(self.chance.choice([event._replace(session_id=""), event._replace(completion_id="")]))

    def asks(self) -> None:
        self.hook(ASKED._replace(message=f"asked {len(self.done)}"))

    def silent(self) -> None:
        event = self.next_completion(known=False)
        self.hook(self.chance.choice([ENDED, IDLE, event._replace(agent_id="a"), event._replace(agent_type="t")]))

    def rehearsal(self) -> None:
        """A rehearsal claims nothing, and a claim is nothing to it."""
        event = self.chance.choice([*self.known, self.next_completion()])
        self.hook(event, dry=True)

    def restart(self) -> None:
        self.end()
        self.daemon = Pushing(self.room, self.topic)
        self.model.forget(is_up=True)

    def down(self) -> None:
        self.end()
        self.model.forget(is_up=False)

    def lost(self) -> None:
        """The answer gets lost on its way, and the hook delivers too."""
        self.hook(self.next_completion(), lost=True)

    def in_flight(self) -> None:
        """The source says the same again while the push is under way."""
        if self.daemon is None:
            return
        event = self.next_completion()
        go = Flag()
        self.daemon.while_sending = lambda: go.wait(DEADLINE_SECS)
        wanted = self.model.hook(event, lost=False, dry=False)
        with self.daemon.asked(frames.encode(Frame(event, ""))) as peer:
            assert peer.recv(100) == wanted == ACCEPTED
            assert self.daemon.answer(frames.encode(Frame(event, ""))) == DUPLICATE
            go.set()
            assert peer.recv(100) == b""
        self.daemon.while_sending = bool

    def race(self) -> None:
        """Four of them say it at once; the topic takes what it gets, for a failed push may be tried by the next."""
        if self.daemon is None:
            return
        self.topic.script.clear()
        self.model.script.clear()
        event = self.next_completion()
        self.model.hook(event, lost=False, dry=False)
        answers: list[bytes] = []
        daemon, data = self.daemon, frames.encode(Frame(event, ""))
        threads = [Thread(target=lambda: answers.append(daemon.answer(data))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == sorted([ACCEPTED, *[DUPLICATE] * 3])

    # -- what they are made of --

    def next_completion(self, *, known: bool = True) -> Event:
        """Return a completion that nobody has told of yet."""
        event = self.words(self.chance.choice([PI_TURN, STOP]))
        event = event._replace(session_id=self.chance.choice("st"), completion_id=f"completion {self.number}")
        if known:
            self.known.append(event)
        return event

    def words(self, event: Event) -> Event:
        self.number += 1
        return event._replace(assistant=f"said {self.number}")

    def hook(self, event: Event, *, lost: bool = False, dry: bool = False) -> None:
        """Do as a hook does: ask the daemon, and deliver what it does not take."""
        frame = Frame(event, "", dry)
        wanted = self.model.hook(event, lost=lost, dry=dry)
        # To the end of the event, so that the next step finds it done.
        said = self.daemon.answer(frames.encode(frame)) if self.daemon else b""
        assert said == wanted, event
        if lost or said not in {ACCEPTED, DUPLICATE}:
            inline, said_here = sender(self.topic), list[str]()
            send = lambda notice: inline.send(notice).delivered  # noqa: E731  (as the command has it)
            delivery.deliver(
                Channel(home_here(), f"{self.room}/base", "earth", send, said_here.append, said_here.append), frame
            )

    def end(self) -> None:
        if self.daemon is not None:
            self.daemon.end()
            self.daemon = None


def orders(topic: Ntfy, room: Path, count: int, seed: int) -> None:
    for number in range(count):
        Order(topic, room, random.Random(f"{seed} {number}")).play()


@pytest.mark.stress
@pytest.mark.timeout(300)
def test_completions_in_two_hundred_orders_of_things_then_each_is_told_once_but_for_what_the_contract_names(
    topic: Ntfy, room: Path
) -> None:
    """Contract, claims and Failure semantics: "In-flight and successful claims deduplicate."."""
    orders(topic, room, 200, 1)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_completions_in_ten_thousand_orders_of_things_then_each_is_told_once_but_for_what_the_contract_names(
    topic: Ntfy, room: Path
) -> None:
    orders(topic, room, 10_000, 2)
