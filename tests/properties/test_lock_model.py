"""A model of the registry lock: processes of two machines take, die, are rebooted and lied to, at any point of a try.

Every process runs the real code on one real folder. At the named points of a try (`reach`) something else happens: the
process dies, another one makes a whole try of its own, a machine restarts, a pid is given anew. Invariants: at most one
living process is inside; the lock of whoever is inside stays; whoever is alive is never reclaimed.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from _thread import allocate_lock
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sot_tui.comm import registry_lock
from sot_tui.comm.home import Home
from sot_tui.comm.proof import Record, parse_record
from sot_tui.comm.reach import listen
from sot_tui.comm.registry_lock import Held, NotTaken, Wait, clear, release, take
from tests.faults.disks import Counting, Crash, Step
from tests.seams import JumpingClock, Machine, Process

if TYPE_CHECKING:
    from collections.abc import Callable

CALM = {"lock.recorded": 9, "lock.failed": 9, "lock.released": 9}
"""Of so many points of a kind, about one in that many has something happen at it; of the others, every second one."""

LAST_POINTS = (
    "lock.taken",
    "lock.judged",
    "lock.marked",
    "lock.settled",
    "lock.reread",
    "lock.removed",
    "lock.recorded",
)
"""Where a process can be made to die in the midst of a try."""


class Mortal(Counting):
    """A disk that does nothing once its process is dead, and may lie about its next links."""

    dead = False
    lies: tuple[int, ...] = ()
    keeps_names = 0
    """So many removals fail."""

    def step(self, step: Step, act: Callable[[], Any]) -> Any:
        if self.dead:
            raise Crash
        if self.keeps_names and step.name == "unlink":
            self.keeps_names -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        found = super().step(step, act)
        if self.lies and step.name == "link":
            error, *rest = self.lies
            self.lies = tuple(rest)
            raise OSError(error, os.strerror(error))
        return found


class Taker:
    """One process: its view of the home, its turn, and whether it is inside."""

    def __init__(self, path: str, clock: JumpingClock, machine: Machine, pid: int | None = None) -> None:
        self.disk = Mortal()
        self.machine = machine
        self.procs: Process = machine.start(pid)
        self.home = Home(path, self.disk, clock, self.procs)
        self.turn = allocate_lock()
        self.held: Held | None = None
        self.record = self.procs.record()

    @property
    def alive(self) -> bool:
        return not self.disk.dead

    def does(self, act: Callable[[], Any]) -> Any:
        """Run something as this process, with its own turn; a death in it ends it."""
        mine, registry_lock._turn = registry_lock._turn, self.turn
        try:
            return act()
        except Crash:
            return None
        finally:
            registry_lock._turn = mine

    def die(self) -> None:
        self.disk.dead = True
        self.held = None
        self.disk.bury()
        self.machine.end(self.procs.pid())


class Fleet(RuleBasedStateMachine):
    """Two machines that share one comm home."""

    def __init__(self) -> None:
        super().__init__()
        self.path = tempfile.mkdtemp(prefix="sot-model-")
        self.lock = f"{self.path}/.registry.lock"
        self.clock = JumpingClock()
        self.machines = [Machine("box", "m1", "b1"), Machine("desk", "m2", "c1")]
        self.takers: list[Taker] = []
        self.data: st.DataObject | None = None
        self.deep = 0
        for machine in (0, 0, 1):
            self.start(machine)

    def teardown(self) -> None:
        listen(None)
        try:
            self.everybody_gone_then_a_newcomer_gets_through()
        finally:
            shutil.rmtree(self.path)

    # -- what can happen ----------------------------------------------------------------------------------------------

    def start(self, machine: int, pid: int | None = None) -> Taker:
        taker = Taker(self.path, self.clock, self.machines[machine], pid)
        self.takers.append(taker)
        return taker

    def living(self) -> list[Taker]:
        return [taker for taker in self.takers if taker.alive]

    def holder(self) -> str:
        try:
            with open(self.lock, encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def tries(self, taker: Taker, wait: Wait) -> None:
        if taker.held is None and not taker.turn.locked():
            outcome = taker.does(lambda: take(taker.home, wait))
            if taker.alive and isinstance(outcome, Held):
                taker.held = outcome
                self.check()

    def lets_go(self, taker: Taker) -> None:
        held, taker.held = taker.held, None
        if held is not None:
            taker.does(lambda: release(taker.home, held))

    def at_a_point(self, point: str) -> None:
        """Something may happen at this point of somebody's try."""
        assert self.data is not None
        assert self.acting is not None
        if point == self.last_point:
            self.last_point = ""
            self.acting.die()
            raise Crash
        if point == self.rival_at:
            self.rival_at = ""
            self.deep += 1
            self.a_rival_tries()
            self.deep -= 1
            self.check()
            return
        if self.deep > 1 or self.data.draw(st.integers(1, CALM.get(point, 2))) != 1:
            return
        self.deep += 1
        try:
            if self.deep == 1 and point in {"lock.judged", "lock.marked"} and self.data.draw(st.booleans()):
                self.a_late_release_lands()
            else:
                self.something()
        finally:
            self.deep -= 1
        self.check()
        raise_if_dead(self.acting)

    def a_rival_tries(self) -> None:
        """Another process of the same machine makes a whole try of up to a second."""
        mine = self.acting
        assert mine is not None
        for rival in self.living():
            if rival is not mine and rival.machine is mine.machine and not rival.turn.locked():
                self.acting = rival
                self.tries(rival, Wait.TOUCH)
                self.acting = mine
                return

    def a_late_release_lands(self) -> None:
        """The removal that a dead holder still had under way is made, before the settle is over."""
        if self.holder() in {taker.record.line for taker in self.takers if not taker.alive}:
            os.unlink(self.lock)

    def something(self) -> None:
        assert self.data is not None
        others = [taker for taker in self.living() if taker is not self.acting]
        taker = self.data.draw(st.sampled_from(others or self.takers))
        what = self.data.draw(st.sampled_from(["try", "try", "try", "release", "die", "reboot", "reuse", "clear"]))
        before = self.acting
        if what == "reboot":
            self.restart(self.data.draw(st.integers(0, 1)))
        elif what == "reuse":
            gone = [one for one in self.takers if one.procs.pid() not in one.machine.running]
            if gone:
                one = self.data.draw(st.sampled_from(gone))
                self.start(self.machines.index(one.machine), one.procs.pid())
        elif taker.alive and taker is not self.acting:
            self.acting = taker
            if what == "try":
                self.tries(taker, self.data.draw(st.sampled_from([Wait.HEARTBEAT, Wait.TOUCH])))
            elif what == "clear" and not taker.turn.locked():
                taker.does(lambda: clear(taker.home))
            elif what == "release":
                self.lets_go(taker)
            elif what == "die":
                taker.die()
        elif what == "die" and taker.alive:
            taker.die()
        self.acting = before

    acting: Taker | None = None
    rival_at = ""
    """The point at which another process comes to try."""
    last_point = ""
    """The point at which whoever comes to it next dies."""

    def restart(self, machine: int) -> None:
        for taker in self.living():
            if taker.machine is self.machines[machine]:
                taker.die()
        self.machines[machine].reboot()

    # -- rules --------------------------------------------------------------------------------------------------------

    @rule(data=st.data(), index=st.integers(0, 20), wait=st.sampled_from([Wait.HEARTBEAT, Wait.TOUCH]))
    @precondition(lambda self: self.living())
    def try_to_take(self, data: st.DataObject, index: int, wait: Wait) -> None:
        self.act(data, index, lambda taker: self.tries(taker, wait))

    @rule(data=st.data(), index=st.integers(0, 20))
    @precondition(lambda self: self.living())
    def clear_it(self, data: st.DataObject, index: int) -> None:
        self.act(data, index, lambda taker: None if taker.held else taker.does(lambda: clear(taker.home)))

    @rule(data=st.data(), machine=st.sampled_from([0, 0, 0, 1]), point=st.sampled_from(LAST_POINTS))
    def somebody_dies_in_the_midst_of_a_try(self, data: st.DataObject, machine: int, point: str) -> None:
        self.last_point = point
        victim = self.start(machine)
        self.act(data, 0, lambda taker: self.tries(taker, Wait.TOUCH), [victim])
        self.last_point = ""
        if victim.alive:
            victim.die()

    @rule(data=st.data(), point=st.sampled_from(LAST_POINTS))
    @precondition(lambda self: not any(taker.held for taker in self.takers))
    def two_reclaim_one_after_the_other(self, data: st.DataObject, point: str) -> None:
        """A holder dies, one process reclaims it, and at some point of that another one comes."""
        self.somebody_dies_in_the_midst_of_a_try(data, 0, "lock.taken")
        one = self.start(0)
        self.start(0)
        self.rival_at = point
        self.act(data, 0, lambda taker: self.tries(taker, Wait.TOUCH), [one])
        self.rival_at = ""

    @rule(index=st.integers(0, 20), count=st.integers(1, 2))
    @precondition(lambda self: self.living())
    def names_will_stay(self, index: int, count: int) -> None:
        living = self.living()
        living[index % len(living)].disk.keeps_names = count

    @rule(data=st.data())
    @precondition(lambda self: any(taker.held for taker in self.takers))
    def let_go(self, data: st.DataObject) -> None:
        self.act(data, 0, self.lets_go, [taker for taker in self.takers if taker.held])

    @rule(index=st.integers(0, 20), errors=st.lists(st.sampled_from([errno.EEXIST, errno.EIO]), min_size=1, max_size=3))
    @precondition(lambda self: self.living())
    def links_will_lie(self, index: int, errors: list[int]) -> None:
        living = self.living()
        living[index % len(living)].disk.lies = tuple(errors)

    @rule(index=st.integers(0, 20))
    @precondition(lambda self: self.living())
    def die(self, index: int) -> None:
        living = self.living()
        living[index % len(living)].die()

    @rule(index=st.integers(0, 20))
    @precondition(lambda self: any(taker.held for taker in self.takers))
    def forget_the_lock(self, index: int) -> None:
        """A thread ends without its release: the lock stays and names a process that lives."""
        held = [taker for taker in self.takers if taker.held]
        taker = held[index % len(held)]
        taker.held = None
        taker.turn.release()

    @rule(machine=st.integers(0, 1))
    def reboot(self, machine: int) -> None:
        self.restart(machine)

    @rule(machine=st.integers(0, 1))
    @precondition(lambda self: len(self.living()) < 5)
    def somebody_starts(self, machine: int) -> None:
        self.start(machine)

    def act(
        self,
        data: st.DataObject,
        index: int,
        what: Callable[[Taker], object],
        among: list[Taker] | None = None,
    ) -> None:
        among = among or self.living()
        self.data, self.acting = data, among[index % len(among)]
        listen(self.at_a_point)
        try:
            what(self.acting)
        finally:
            listen(None)
            self.data = self.acting = None

    # -- what must hold -----------------------------------------------------------------------------------------------

    @invariant()
    def check(self) -> None:
        inside = [taker for taker in self.takers if taker.held and taker.alive]
        assert len(inside) <= 1, "two holders"
        if inside:
            assert self.holder() == inside[0].record.line, "somebody removed the lock of a living holder"

    def everybody_gone_then_a_newcomer_gets_through(self) -> None:
        """When all have died, the next process on the holder's machine clears it, or names the contract's residual."""
        named = parse_record(self.holder().encode())
        for taker in self.living():
            taker.die()
        newcomer = self.start(1 if named and named.machine == "m2" else 0)
        outcome = newcomer.does(lambda: take(newcomer.home, Wait.RULED))
        if isinstance(outcome, NotTaken):
            assert "so no reclaim can pass it" in outcome.sentence, outcome.sentence
            assert self.some_marker_closes_a_circle(), outcome.sentence
        else:
            assert isinstance(outcome, Held)
            assert self.holder() == newcomer.record.line

    def some_marker_closes_a_circle(self) -> bool:
        """Tell whether the markers from the lock on lead back to a record on the way (contract, Residual)."""
        record, passed = parse_record(self.holder().encode()), list[Record]()
        while record is not None and record not in passed:
            passed.append(record)
            marker = b""
            with suppress(FileNotFoundError), open(f"{self.lock}.reclaim.{record.id}", "rb") as file:
                marker = file.read()
            record = parse_record(marker)
        return record is not None


def raise_if_dead(taker: Taker | None) -> None:
    if taker is not None and not taker.alive:
        raise Crash


TestFleet = Fleet.TestCase
TestFleet.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
