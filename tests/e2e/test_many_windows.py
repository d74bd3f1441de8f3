"""Many windows on one engine, in real terminals: the host is killed, told to end, closed, and the others go on.

What the duties did meanwhile is counted by others than the product: a script that files without a pause, whose every
line is looked for in the inbox, a look at the registry that sees each stamp, and an agent that tells each key it gets.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from sot_tui.comm import daemon_lock
from sot_tui.comm.home import Home
from sot_tui.comm.proof import SystemProcs
from sot_tui.wake.prompt import WAKE_LINE
from tests.caller import hello, request
from tests.e2e.terminal import Terminal
from tests.rows.supervised import end_below, scripted
from tests.screens.real import entry, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.e2e

SOTD = str(Path(sys.executable).with_name("sotd"))
DEADLINE_S = 20.0
TAKEN_OVER_SECS = 3.0
"""How soon another window has the duties after the end of the one that hosted them (product)."""
STAMP_SECS = 60.0
"""Between two stamps of one handle (contract, Liveness)."""
WAKE_SECS = 9.0
"""Of a wake that nothing stands in the way of, with much to do: the tick, the hold, the look (product: 4)."""
QUIET_SECS = 4.5
"""How long it is watched that no second line comes for a message: a tick, the hold, and once more a second."""
DONE: dict[str, object] = {"state": "done", "done": True, "summary": "built"}


def holder() -> daemon_lock.HeldBy:
    return daemon_lock.last_holder(Home("/"), os.environ)


def until(fact: Callable[[], object], what: str, secs: float = DEADLINE_S) -> None:
    end = time.monotonic() + secs
    while not fact():
        assert time.monotonic() < end, f"it never came within {secs:g} s: {what}"
        time.sleep(0.02)


def asked(path: str, op: str, payload: object) -> dict[str, Any] | None:
    """Ask as a script does; None when there is no answer."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(DEADLINE_S)
        try:
            one.connect(path)
            one.sendall(hello(host="box") + request(op, payload))
            with one.makefile("rb") as lines:
                for line in lines:
                    if f'"op":"{op}"'.encode() in line:
                        found: dict[str, Any] = json.loads(line)["payload"]
                        return found
        except (OSError, ValueError):
            return None
    return None


class Windows:
    """The windows and daemons of one box, and whom the duties are counted by."""

    def __init__(self, comm: Path) -> None:
        self.comm = comm
        self.socket = str(comm.parent / "run" / "sot" / "sessions" / "sot.sock")
        self.terminals: list[Terminal] = []
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.pids: set[int] = set()

    def open(self) -> Terminal:
        """Open a dashboard, and wait until it shows the person as joined."""
        one = Terminal(self.comm.parent, 110, name=f"tmux{len(self.terminals)}")
        self.terminals.append(one)
        one.until(lambda: one.says("operator-box"), "its fleet")
        return one

    def daemon(self, **more: str) -> subprocess.Popen[bytes]:
        environ = {**os.environ, "SOT_SELF_HOST": "box", "SHELL": "/bin/sh", **more}
        one = subprocess.Popen([SOTD, "run"], env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.daemons.append(one)
        return one

    def served_by(self, other_than: int, secs: float = TAKEN_OVER_SECS) -> int:
        """Wait until somebody else has the lock and answers; return who."""
        until(lambda: holder().pid not in {"", str(other_than)}, f"another one than {other_than} hosts", secs)
        until(lambda: asked(self.socket, "ping", {}) == {"ok": True}, "it answers", secs)
        self.pids.add(int(holder().pid))
        return int(holder().pid)

    def window_of(self, pid: int) -> Terminal:
        return next(one for one in self.terminals if one.is_open() and one.dashboard() == pid)

    def close(self) -> None:
        asked(self.socket, "workspace.destroy", {"workspace_id": "web"})
        for terminal in self.terminals:
            terminal.close()
        for one in self.daemons:
            one.kill()
            one.communicate()
        # The one that a window left behind is nobody's child by now.
        said = holder()
        if said.what == "daemon" and SystemProcs().start_of(int(said.pid)) is not None:
            os.kill(int(said.pid), signal.SIGKILL)
        end_below(f"{self.comm.parent}/state/sot/workspaces/")

    def wait_for(self, heir: str, host: int) -> None:
        """Have two windows open; or one `sotd run` that waits for the end of the host, and no window but the host's."""
        if heir == "window":
            while len([one for one in self.terminals if one.is_open()]) < 2:
                self.open()
            return
        for one in self.terminals:
            if one.is_open() and one.dashboard() != host:
                one.press("q")
                until(lambda one=one: not one.is_open(), "it is closed")  # type: ignore[misc]
        waits = self.daemon().pid
        until(lambda: is_at_rest(waits), "it has started, and waits")


def is_at_rest(pid: int) -> bool:
    """Look for a moment whether a process waits: it takes no time of a core."""
    stat = Path(f"/proc/{pid}/stat")

    def used() -> list[str]:
        return stat.read_text().rpartition(")")[2].split()[11:13]

    before = used()
    time.sleep(0.3)  # what is looked at is this moment
    return used() == before


@pytest.fixture
def windows(comm_home: Path) -> Iterator[Windows]:
    put(comm_home, ready=DONE)
    found = Windows(comm_home)
    yield found
    found.close()


class Filer(threading.Thread):
    """A script that files one message after the other, and never one twice."""

    def __init__(self, path: str) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.answers: dict[str, dict[str, Any] | None] = {}
        self.longest_gap = 0.0
        self.stop = threading.Event()

    def run(self) -> None:
        filed_at, number = time.monotonic(), 0
        while not self.stop.wait(0.02):
            number += 1
            text = f"message {number} ends"
            self.answers[text] = asked(self.path, "comm.file", {"from": "script", "to": "ready", "text": text})
            if self.answers[text] == {"ok": True}:
                now = time.monotonic()
                self.longest_gap, filed_at = max(self.longest_gap, now - filed_at), now


class Stamps(threading.Thread):
    """Sees every value that the stamp of a handle has, and when it came."""

    def __init__(self, comm: Path, handle: str) -> None:
        super().__init__(daemon=True)
        self.home, self.handle = Home(str(comm)), handle
        self.seen: list[tuple[float, str]] = []
        """Each value, and when it was seen first; nobody knows how old the first one was by then."""
        self.looked_at = 0.0
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.wait(0.02):
            said = str(entry(self.home, self.handle)["last_seen"])
            self.looked_at = time.monotonic()
            if not self.seen or said != self.seen[-1][1]:
                self.seen.append((self.looked_at, said))

    def age(self) -> float:
        """Return how many seconds ago the last one came."""
        return time.monotonic() - self.seen[-1][0] if self.seen else 0.0

    def longest_gap(self) -> float:
        """Return the longest time between two stamps, or from the last one to the last look."""
        moments = [at for at, _ in self.seen[1:]] + [self.looked_at]
        return max((two - one for one, two in pairwise(moments)), default=0.0)


@pytest.mark.timeout(150)
def test_duties_when_each_host_ends_in_its_own_way_then_the_next_has_them_and_none_is_done_twice(
    windows: Windows, comm_home: Path
) -> None:
    """Product: another window has the duties within three seconds; mail is filed once or not at all."""
    daemon = windows.daemon()
    assert daemon.stderr is not None
    assert select.select([daemon.stderr], [], [], DEADLINE_S)[0]
    first = windows.served_by(0)
    (comm_home.parent / "web").mkdir()
    made = asked(windows.socket, "workspace.create", {"label": "web", "project_root": str(comm_home.parent / "web")})
    assert made is not None
    assert "workspace_id" in made, made
    for _ in range(2):
        windows.open()
    began = time.monotonic()
    filer, stamps = Filer(windows.socket), Stamps(comm_home, "operator-box")
    filer.start()
    stamps.start()

    daemon.kill()
    second = windows.served_by(first)
    windows.open()
    os.kill(second, signal.SIGKILL)
    third = windows.served_by(second)
    windows.open()
    os.kill(third, signal.SIGTERM)
    fourth = windows.served_by(third)
    windows.open()
    windows.window_of(fourth).close()
    fifth = windows.served_by(fourth)
    windows.window_of(fifth).press("q")
    sixth = windows.served_by(fifth)
    assert holder().what == "dashboard"
    last = windows.window_of(sixth)
    last.press("q")
    seventh = windows.served_by(sixth)
    assert holder().what == "daemon"
    last.until(lambda: last.says(f"sot-tui: 1 row runs on; sotd, pid {seventh}, does the duties now"), "it is said")
    last.until(lambda: last.says("ended with 0"), "a clean end")
    back = windows.open()
    back.until(lambda: back.says("web"), "its row is still there")

    until(lambda: list(filer.answers.values())[-5:] == [{"ok": True}] * 5, "it files on")
    for one in (filer, stamps):
        one.stop.set()
        one.join(DEADLINE_S)
    check_mail(comm_home, filer)
    check_stamps(comm_home, stamps, 7, time.monotonic() - began)


class Session:
    """A row whose scripted agent sits at a free prompt, and polls when it is woken."""

    NAME = "web-box"

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        self.folder = windows.comm.parent / "src"
        self.folder.mkdir()
        os.mkfifo(self.folder / "orders")
        wanted = {"label": "web", "project_root": str(self.folder), "agent": "claude", "agent_name": self.NAME}
        made = asked(windows.socket, "workspace.create", wanted)
        assert made is not None
        put(windows.comm, web_box={"state": "idle", "workspace_id": made["workspace_id"]})
        self.row = made["workspace_id"]
        self.filed = 0
        self.filed_at = 0.0
        self.waits: list[float] = []
        """For how long each message waited, from the moment when its filing began."""

    def said(self, word: str) -> list[Any]:
        """Return what the agent said of one thing, in order; half a line is not said yet."""
        log = self.folder / "agent.log"
        lines = log.read_text().split("\n")[:-1] if log.exists() else []
        return [found[word] for line in lines if word in (found := json.loads(line))]

    def order(self, words: str) -> None:
        """Give the agent an order, and wait until it has taken it."""
        before = len(self.said("ordered"))
        (self.folder / "orders").write_text(words + "\n")
        until(lambda: len(self.said("ordered")) > before, f"the agent hears: {words}")

    def mail(self) -> None:
        """File a message through whoever has the duties, asking again while nobody answers or says that it is filed."""
        self.filed += 1
        self.filed_at = time.monotonic()
        text = f"message {self.filed}"
        path = self.windows.comm / "inbox" / f"{self.NAME}.jsonl"
        while not (path.exists() and f'"{text}"'.encode() in path.read_bytes()):
            assert time.monotonic() < self.filed_at + DEADLINE_S, f"never filed: {text}"
            asked(self.windows.socket, "comm.file", {"from": "script", "to": self.NAME, "text": text})

    def is_woken_once(self, secs: float) -> None:
        """See that the last message is polled in so many seconds after its filing, and that one line came for it.

        One is one: each key that the agent has ever got is counted, also a line that nobody sent. The next message is
        filed only after a quiet time, so that its wake is not taken for this one's.
        """
        left = self.filed_at + secs - time.monotonic()
        until(lambda: self.said("polled")[-1:] == [self.filed], f"in all {secs:g} s, the wake for {self.filed}", left)
        self.waits.append(time.monotonic() - self.filed_at)
        end = time.monotonic() + QUIET_SECS
        while time.monotonic() < end:
            assert "".join(self.said("got")) == (WAKE_LINE + "\r") * self.filed, f"not one wake for {self.filed}"
            assert self.said("polled") == list(range(1, self.filed + 1))
            time.sleep(0.1)

    def stamped(self) -> str:
        return str(entry(Home(str(self.windows.comm)), self.NAME)["last_seen"])


class Way(NamedTuple):
    """How one host is ended, and when."""

    how: str
    """`killed`, `told` to end, or `left`: the person leaves the window; a daemon is told."""
    heir: str
    """Who waits to host next: a `window` or a `daemon`."""
    instant: float
    """How many seconds after a message came: before the hold, within it, between line and Enter, after it."""
    slow: float = 0.0
    """How many seconds the agent works before it polls, once it was woken."""
    stamp_age: float = 0.0
    """How many seconds ago, at least, the row was stamped when the host ends; or it has just been stamped again."""


class Told(NamedTuple):
    """What was counted over some hand-overs."""

    session: Session
    stamps: Stamps

    def __str__(self) -> str:
        first, after = max(self.session.waits[1::2]), max(self.session.waits[2::2])
        return (
            f"{self.session.filed} messages, {len(self.session.said('polled'))} wakes, the longest wait {first:.1f} s "
            f"over a hand-over and {after:.1f} s without one; {len(self.stamps.seen)} stamps, the longest gap "
            f"{self.stamps.longest_gap():.1f} s"
        )


@pytest.mark.timeout(300)
def test_wakes_when_each_host_ends_in_its_own_way_then_none_is_missed_and_none_comes_twice(windows: Windows) -> None:
    """Product: the host leaves or dies, and no duty is done twice: here a row's wake, and the stamp of its handle."""
    ways = [
        Way("killed", "window", 0.0),
        Way("left", "window", 2.1),
        Way("killed", "daemon", 1.4),
        Way("told", "daemon", 0.7),
        Way("told", "window", 4.0, slow=4.0),
    ]
    hand_over(windows, ways)


@pytest.mark.torture
@pytest.mark.timeout(2400)
def test_wakes_when_hosts_end_at_any_instant_then_none_is_missed_and_none_comes_twice(windows: Windows) -> None:
    """The same, while a script files for another handle without a pause; each of its lines is filed once too."""
    seed = random.randrange(1 << 32)
    sys.stdout.write(f"seed {seed}: ")
    chance = random.Random(seed)
    ways = [
        Way(
            chance.choice(("killed", "told", "left")),
            chance.choice(("window", "daemon")),
            chance.uniform(0.0, 4.0),
            chance.choice((0.0, 1.5, 4.0)),
        )
        for _ in range(24)
    ]
    filer = Filer(windows.socket)
    told = hand_over(windows, ways, filer)
    lines = Counter(answer == {"ok": True} for answer in filer.answers.values())
    sys.stdout.write(f"{len(ways)} hand-overs, {told}; {lines[True]} lines filed, {lines[False]} not, ")
    sys.stdout.write(f"at most {filer.longest_gap:.1f} s between two\n")


@pytest.mark.torture
@pytest.mark.timeout(2400)
def test_stamps_when_hosts_end_as_one_is_due_then_none_is_late_and_none_comes_twice(windows: Windows) -> None:
    """Each host stamps, and is kept until its next stamp is due or has just come."""
    seed = random.randrange(1 << 32)
    sys.stdout.write(f"seed {seed}: ")
    chance = random.Random(seed)
    hows = ["killed", "told", "left"]
    ways = [
        Way(how, heir, chance.uniform(0.0, 4.0), stamp_age=STAMP_SECS - chance.uniform(-0.1, 1.0))
        for heir in ("daemon", "window")
        for how in chance.sample(hows, len(hows))
    ]
    sys.stdout.write(f"{len(ways)} hand-overs, {hand_over(windows, ways)}\n")


def hand_over(windows: Windows, ways: list[Way], filer: Filer | None = None) -> Told:
    """End one host after the other, and count what became of the mail that came before and after, and of the stamps."""
    windows.daemon(PATH=f"{scripted(windows.comm.parent / 'bin')}:{os.environ['PATH']}")
    host = windows.served_by(0, DEADLINE_S)
    session = Session(windows)
    session.mail()
    session.is_woken_once(DEADLINE_S)
    stamps, ended = Stamps(windows.comm, Session.NAME), list[float]()
    counting: list[Stamps | Filer] = [stamps, filer] if filer else [stamps]
    for thread in counting:
        thread.start()
    try:
        for way in ways:
            session.order(f"slow {way.slow}")
            until(lambda way=way: stamps.age() >= way.stamp_age - 8, "the row's stamp is older", 130.0)  # type: ignore[misc]
            windows.wait_for(way.heir, host)  # a daemon waits ten seconds
            session.mail()  # whoever has the duties next finds it unread, whether a line was typed for it or not
            time.sleep(way.instant)
            until(lambda way=way: not STAMP_SECS / 2 < stamps.age() < way.stamp_age, "the row is to be stamped")  # type: ignore[misc]
            before, has_just_come = session.stamped(), stamps.age() < STAMP_SECS / 2
            ended.append(time.monotonic())
            if way.how == "left" and holder().what == "dashboard":
                windows.window_of(host).press("q")
            else:
                os.kill(host, signal.SIGKILL if way.how == "killed" else signal.SIGTERM)
            host = windows.served_by(host)
            assert holder().what == {"window": "dashboard", "daemon": "daemon"}[way.heir]
            session.is_woken_once(ended[-1] - session.filed_at + TAKEN_OVER_SECS + WAKE_SECS + way.slow)
            session.mail()
            session.is_woken_once(WAKE_SECS + way.slow)
            # A stamp has seconds: the next host's may say the same as one that has just come. The gaps are held below.
            if not has_just_come:
                until(lambda before=before: session.stamped() > before, "the next host stamps the row's handle", 10.0)  # type: ignore[misc]
        assert session.said("submitted") == [WAKE_LINE] * session.filed, "something else was sent"
    finally:
        for thread in counting:
            thread.stop.set()
            thread.join(DEADLINE_S)
    check_row_stamps(stamps, ended)
    if filer is not None:
        check_mail(windows.comm, filer)
    asked(windows.socket, "workspace.destroy", {"workspace_id": session.row})
    return Told(session, stamps)


def check_row_stamps(stamps: Stamps, ended: list[float]) -> None:
    """See that a row was stamped each minute, over a hand-over too, and by one host no more often than that."""
    assert stamps.longest_gap() < STAMP_SECS + TAKEN_OVER_SECS
    for (one, _), (two, said) in pairwise(stamps.seen[1:]):
        is_handed_over = any(one < moment < two for moment in ended)
        assert is_handed_over or two - one > STAMP_SECS - 1, f"{said} came {two - one:.1f} s after the one before"


def check_mail(comm_home: Path, filer: Filer) -> None:
    """See that each message is there once if it was said to be filed, and not at all if it was refused."""
    lines = (comm_home / "inbox" / "ready.jsonl").read_bytes().splitlines()
    filed = Counter(json.loads(line)["msg"] for line in lines)
    assert set(filed.values()) == {1}, "a message was filed twice"
    for text, answer in filer.answers.items():
        if answer == {"ok": True}:
            assert filed[text] == 1, f"{text}: it was said to be filed"
        elif answer is not None:
            assert text not in filed, f"{text}: {answer}"
    assert filer.longest_gap < 2 * TAKEN_OVER_SECS


def check_stamps(comm_home: Path, stamps: Stamps, hosts: int, seconds: float) -> None:
    """See that the person was stamped by one engine at a time: it joins as it takes over, and stamps each minute."""
    assert len(stamps.seen) <= hosts + 1 + seconds / STAMP_SECS
    events = (comm_home.parent / "state" / "sot" / "tui" / "events.log").read_text(encoding="utf-8")
    assert events.count(f"engine it runs here, for {comm_home}") == hosts
    assert events.count("joined as @operator-box") <= hosts + 1


def test_read_only_window_when_a_daemon_runs_a_row_then_it_is_listed_and_goes_when_it_is_removed(
    windows: Windows,
) -> None:
    """A row that no session has joined from has a line in every window, one that only looks included."""
    windows.daemon()
    until(lambda: asked(windows.socket, "ping", {}) == {"ok": True}, "the daemon answers")
    root = windows.comm.parent / "Docs"
    root.mkdir()
    made = asked(windows.socket, "workspace.create", {"label": "Docs", "project_root": str(root), "agent": "none"})
    assert made is not None
    one = Terminal(windows.comm.parent, 110, program="-m sot_tui --readonly", name="tmux-only-looks")
    windows.terminals.append(one)
    one.until(lambda: one.says("no signal Docs"), "the row is listed")
    asked(windows.socket, "workspace.destroy", {"workspace_id": made["workspace_id"]})
    one.until(lambda: not one.says("no signal Docs"), "it is gone")


def test_second_window_when_it_is_open_then_does_what_the_first_does(windows: Windows, comm_home: Path) -> None:
    first, second = windows.open(), windows.open()
    assert int(holder().pid) == first.dashboard()
    assert not second.says("viewer ·")
    second.press("/")
    second.type("ready")
    second.press("Enter", "d")
    home = Home(str(comm_home))
    until(lambda: "done" not in entry(home, "ready"), "it clears a done")
    second.press("Escape")
    second.until(lambda: not second.says("esc: all"), "the whole list")
    second.press("e")
    second.until(lambda: second.says("cleared the done of @ready"), "one log for all")
    second.until(lambda: second.says("joined as @operator-box"), "what was before it came, too")


def test_window_when_another_one_is_of_another_comm_home_then_looks_and_says_how_to_part_them(
    windows: Windows, comm_home: Path
) -> None:
    first = windows.open()
    other = comm_home.parent / "other"
    put(other, bob=DONE)
    second = Terminal(comm_home.parent, 200, name="tmux-other", env=f"SOT_COMM_HOME={other}")
    windows.terminals.append(second)
    pid = first.dashboard()
    second.until(lambda: second.says(f"viewer · the dashboard of pid {pid} hosts {comm_home}"), "who hosts what")
    assert second.says("bob")
