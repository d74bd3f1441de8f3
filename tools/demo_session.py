#!/usr/bin/env python3
"""One session of the demo: a process that joins, says what it does, mails the others, and ends with its stdin.

    tools/demo_session.py NAME FOLDER SECONDS

`tools/demo.py` starts it inside the project folder of NAME, below FOLDER, with an environment of its own. What it tells
the others it tells by the real verbs, each a process. Two of the stories are told in rows of the demo's own engine, and
a third there joins nobody: each draws on its row's terminal as an agent does, and ends when the demo has let go of the
file `alive`. SECONDS is when the one named Importer dies holding the registry lock. Every writer of the protocol clears
a dead holder's lock by itself, and then a person would never see one; so the others keep from writing until it is
cleared, or a minute has passed.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import subprocess
import sys
import termios
import time
import tty
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sot_tui.comm import registry, registry_lock
from sot_tui.comm.clock import seconds_of
from sot_tui.comm.home import Home, home_path
from sot_tui.comm.proof import SystemProcs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OPERATOR = "operator-box"
REST_SECS = 60.0
"""How long the others keep from writing at most; then the next writer clears the dead holder's lock."""
ROUND_SECS = 90.0
"""How long a recovered Importer works before it dies again."""
QUIET_SECS = (8.0, 14.0)
"""How old the person's last stamp is when it dies again: those of the rows have followed it by then, and the next ones,
which would clear the lock, are due a minute after them, so the person has most of that."""
LOOK_SECS = 0.5

_MAIL = re.compile(r"\[[^]]*\] \[(?P<sender>[^]:]*):[^]]*\] (?P<text>.*)")
_QUOTE_HEAD = re.compile(r"@\S+ wrote( at .*)?:\n(?=>)")


class EndedError(Exception):
    """The demo is over: nobody holds the other end of stdin any more."""


class BoxProcs(SystemProcs):
    """This machine under the name that it has in the demo, so that a lock's holder is named as its handle is."""

    def host_name(self) -> str:
        """Return the name of this session's box."""
        return os.environ["SOT_SELF_HOST"]


def mail_of(printed: str) -> list[tuple[str, str]]:
    """Return the messages that a poll has printed: who sent each, and what in words of their own."""
    found: list[tuple[str, str]] = []
    for line in printed.splitlines():
        head = _MAIL.match(line)
        if head:
            found.append((head["sender"], head["text"]))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{line}")
    return [(sender, own_words(text)) for sender, text in found]


def own_words(text: str) -> str:
    """Return a reply without what it quotes, as one line."""
    lines = _QUOTE_HEAD.sub("", text).splitlines()
    return " ".join(line.strip() for line in lines if line.strip() and not line.startswith(">"))


class Session:
    """One session, and the verbs it types."""

    def __init__(self, name: str, folder: Path, die_after: float) -> None:
        self.name = name
        self.die_after = die_after
        self.home = Home(home_path(os.environ), procs=BoxProcs())
        self._folder = folder

    # -- time --------------------------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """Let time pass; raises EndedError when the demo is over."""
        if select.select([0], [], [], seconds)[0]:
            raise EndedError

    def poll_for(self, seconds: float, every: float = 4.0) -> list[tuple[str, str]]:
        """Read mail again and again for so long; return what came at once when something did."""
        until = time.monotonic() + seconds
        while True:
            mail = self.poll()
            left = until - time.monotonic()
            if mail or left <= 0:
                return mail
            self.wait(min(every, left))

    def poll_through(self, seconds: float) -> None:
        """Read mail for so long, whatever comes."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.poll_for(left)

    # -- verbs -------------------------------------------------------------------------------------------------------

    def verb(self, *words: str, **environ: str) -> str:
        """Type a verb and return what it prints; rests before it while a dead process's lock is to be seen."""
        while True:
            with open(self._folder / "turn", "rb") as turn:
                fcntl.flock(turn, fcntl.LOCK_SH)
                if not self._lock_is_to_be_seen():
                    command = [sys.executable, "-m", "sot_tui", *words]
                    done = subprocess.run(
                        command,
                        stdin=subprocess.DEVNULL,
                        capture_output=True,
                        text=True,
                        check=False,
                        env=os.environ | environ,
                    )
                    return done.stdout
            self.wait(LOOK_SECS)

    def status(self, verb: str, *text: str) -> None:
        """Say what this session does."""
        self.verb("status", verb, *text)

    def turn_starts(self, origin: str = "user") -> None:
        """Say that a turn starts, and who started it."""
        self.verb("status", "prompt", COMM_STATUS_ORIGIN=origin)

    def send(self, to: str, text: str) -> bool:
        """Send a message; tell whether it was filed."""
        return "filed" in self.verb("send", f"@{to}", text)

    def poll(self) -> list[tuple[str, str]]:
        """Return the new mail: who sent it, and what."""
        return mail_of(self.verb("poll"))

    def is_done(self) -> bool:
        """Tell whether this session still waits to be viewed."""
        book = registry.read(self.home)
        entry = book.entry(f"{self.name}-box") if isinstance(book, registry.Registry) else None
        return entry is None or "done" in entry

    # -- the lock ----------------------------------------------------------------------------------------------------

    def _lock_is_to_be_seen(self) -> bool:
        """Tell whether the dead Importer's lock still stands, and for less than a minute."""
        try:
            fallen = self._folder / "fallen"
            record, since = fallen.read_bytes(), fallen.stat().st_mtime
            return Path(self.home.lock).read_bytes() == record and time.time() - since < REST_SECS
        except OSError:
            return False

    def die_with_the_lock(self) -> NoReturn:
        """Take the registry lock while no other session writes, and die as a crash would."""
        with open(self._folder / "turn", "rb") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            held = registry_lock.take(self.home, registry_lock.Wait.RULED)
            if isinstance(held, registry_lock.Held):
                (self._folder / "fallen").write_bytes(held.record.line.encode())
                os.kill(os.getpid(), signal.SIGKILL)
        raise SystemExit("the registry lock was not to be had")

    def wait_for_a_stamp(self, seconds: float) -> None:
        """Wait until the person's own handle was stamped some moments ago, at most so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            book = registry.read(self.home)
            entry = book.entry(OPERATOR) if isinstance(book, registry.Registry) else None
            seen = seconds_of((entry or {}).get("last_seen"))
            if seen is not None and QUIET_SECS[0] < time.time() - seen < QUIET_SECS[1]:
                return
            self.wait(LOOK_SECS)


class Row(Session):
    """A session in a row: it draws on the row's terminal, and its stdin is what a person types there."""

    SPINNER = "✶✸✹✺✹✷"

    def wait(self, seconds: float) -> None:
        """Let time pass; raises EndedError when the demo is over."""
        until = time.monotonic() + seconds
        while True:
            self.look_alive()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(LOOK_SECS, left))

    def look_alive(self) -> None:
        """Raise EndedError when the demo has let go of its file, or that is gone."""
        try:
            with open(self._folder / "alive", "rb") as alive:
                fcntl.flock(alive, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        except OSError as error:
            raise EndedError from error
        raise EndedError

    def draw(self, *lines: str) -> None:
        """Write lines on the terminal."""
        print(*lines, sep="\n", flush=True)

    def work(self, words: str, seconds: float) -> None:
        """Show for so long that something is at work."""
        until, turn = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            self.look_alive()
            turn += 1
            print(f"\r\x1b[38;5;215m{self.SPINNER[turn % 6]} {words}… ({turn // 4} s)\x1b[0m ", end="", flush=True)
            time.sleep(0.25)
        print("\r\x1b[2K", end="", flush=True)

    def ask(self, title: str, about: str, *options: str) -> str:
        """Show a permission dialog until one of its numbers is pressed, and return that."""
        self.verb("status", "dialog", f"{title}: {about}")
        menu = [f"{'❯' if number == 1 else ' '} {number}. {option}" for number, option in enumerate(options, 1)]
        box = [title, "", f"  {about}", "", "Do you want to proceed?", *menu]
        width = max(map(len, box)) + 2
        self.draw(f"╭{'─' * width}╮", *(f"│ {line:<{width - 1}}│" for line in box), f"╰{'─' * width}╯")
        key = ""
        with _keys_at_once():
            while key not in map(str, range(1, len(options) + 1)):
                self.look_alive()
                if select.select([0], [], [], LOOK_SECS)[0]:
                    key = os.read(0, 1).decode("ascii", "replace")
        # What was asked goes from the screen, as an agent's dialog does.
        print(f"\x1b[{len(box) + 2}A\x1b[J", end="", flush=True)
        self.verb("status", "resumed")
        return key


@contextmanager
def _keys_at_once() -> Iterator[None]:
    """Have every key handed over when it is pressed, and not echoed."""
    was = termios.tcgetattr(0)
    tty.setcbreak(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, was)


# -- the stories ------------------------------------------------------------------------------------------------------


def docs(me: Session) -> None:
    """Finish, wait to be viewed, begin again."""
    page = 0
    while True:
        page += 1
        me.turn_starts()
        me.status("working", f"rebuilding the reference pages · part {page}")
        me.poll_for(6 if page == 1 else 40)
        me.status("working", f"part {page} rebuilt · click, or d")
        me.verb("status", "stop")
        while me.is_done():
            me.poll_for(4)
        me.status("idle", "you saw it; the next part comes")
        me.poll_for(30)


def my_repo(me: Session) -> None:
    """Ask the person a question by mail, and go on with the answer."""
    me.turn_starts()
    me.status("working", "preparing the release")
    me.wait(2)
    question, short = "Which branch shall I release, main or next?", "main or next?"
    while True:
        asked = f"{question} Press r to answer, type a word, and send it. Then look at my line in the list."
        while not me.send(OPERATOR, asked):
            me.wait(1)  # nobody is there to read it until the dashboard is open
        me.status("blocked", f"{short} answer with r")
        me.verb("status", "stop")
        answer = ""
        while not answer:
            answer = next((text for sender, text in me.poll_for(4, 2) if sender == OPERATOR), "")
        me.turn_starts("machine")
        me.status("working", f"releasing as you said: {answer[:40]}")
        me.send(OPERATOR, f"Thank you, your answer came: {answer[:200]}. I am at it.")
        me.poll_for(45)
        question, short = "It is released. Which version comes next?", "which version next?"


def analysis(me: Session) -> None:
    """Work step by step, and tell the notes."""
    while True:
        me.turn_starts("machine")
        for step in range(1, 10):
            me.status("working", f"fitting the rotation model · {step}/9")
            me.poll_for(6)
        me.send("Notes-box", "the plots of the rotation model are in figures/")
        me.verb("status", "stop")
        me.poll_for(12)


def backend(me: Session) -> None:
    """Wait for something that is no person, and tell the frontend."""
    version = 3
    while True:
        me.turn_starts("machine")
        me.status("working", f"migrating the schema to v{version}")
        me.poll_for(9)
        me.send("Frontend-box", f"schema v{version} is on main")
        me.status("waiting", "for CI on the schema branch")
        me.verb("status", "stop")
        me.poll_for(40, 8)
        me.verb("send", "--broadcast", f"CI is green for schema v{version}")
        version += 1


def frontend(me: Session) -> None:
    """Answer whoever writes."""
    me.turn_starts("machine")
    me.status("working", "moving forms to the new schema")
    while True:
        for sender, text in me.poll_for(20):
            if sender == "Backend-box" and text.startswith("schema"):
                me.send(sender, "thanks, I take it from there")
        me.status("working", "moving forms to the new schema")


def notes(me: Session) -> None:
    """Do nothing, and read mail now and then."""
    me.status("idle", "nothing to do")
    while True:
        me.wait(75)
        me.poll()


def paper(me: Session) -> None:
    """Finish on another box."""
    me.turn_starts()
    me.status("working", "redrawing figure 3")
    me.poll_for(10)
    me.status("working", "figure 3 is final")
    me.verb("status", "stop")
    while True:
        me.poll_for(20, 20)


def importer(me: Session) -> None:
    """Die holding the registry lock; come back when it is free."""
    came_back = (me._folder / "fallen").exists()  # noqa: SLF001  (a story of this very class)
    me.turn_starts("machine")
    if came_back:
        me.status("working", "back: the lock is free, nothing lost")
        me.poll_through(ROUND_SECS)
        me.wait_for_a_stamp(REST_SECS)
    else:
        me.status("working", "importing · dies with the lock")
        me.poll_through(me.die_after)
    me.die_with_the_lock()


def parser(me: Row) -> None:
    """Work, and show it."""
    me.draw("\x1b[1m✻ An agent of the demo\x1b[0m", "", "> make the parser faster", "")
    me.turn_starts()
    for turn in range(1, 1000):
        me.status("working", f"making the parser faster · try {turn}")
        me.draw("\x1b[32m●\x1b[0m Read(parser/tokens.py)", "  └ 412 lines")
        me.work("Thinking", 6)
        me.draw("\x1b[32m●\x1b[0m Update(parser/tokens.py)")
        me.draw("    \x1b[41m- for char in text:\x1b[0m", "    \x1b[42m+ for run in RUNS.finditer(text):\x1b[0m")
        me.work("Running the tests", 8)
        me.draw(f"  └ 231 passed, {2.4 / turn:.2f} s", "")
        for sender, text in me.poll():
            me.draw(f"> mail from @{sender}: {text[:60]}", "")


def deploy(me: Row) -> None:
    """Ask for a permission, do as it is told, and ask again."""
    me.draw("\x1b[1m✻ An agent of the demo\x1b[0m", "", "> deploy what is on main", "")
    while True:
        me.turn_starts()
        me.status("working", "preparing the deployment")
        me.draw("\x1b[32m●\x1b[0m Bash(make release)")
        me.work("Building", 3)
        options = ("Yes", "Yes, and don't ask again for git push", "No, tell it what to do instead")
        key = me.ask("Bash command", "git push origin main", *options)
        did = "left alone, as you said" if key == "3" else "pushed, as you said"
        me.draw(f"\x1b[32m●\x1b[0m git push origin main: {did}", "")
        me.status("working", f"the branch is {did}")
        me.work("Looking at what runs", 40)


def builder(me: Row) -> None:
    """Build over and over, and join nobody."""
    for number in range(1, 100_000):
        me.draw(f"[{number % 40 + 1:>2}/40] cc -O2 -c src/unit_{number % 40 + 1:02}.c")
        me.wait(1.5)


ROWS: dict[str, tuple[Callable[[Row], None], bool]] = {
    "Parser": (parser, True),
    "Deploy": (deploy, True),
    "Builder": (builder, False),
}
"""The stories that are told in rows, and whether the session joins."""
STORIES: dict[str, Callable[[Session], None]] = {
    "MyRepo": my_repo,
    "Docs": docs,
    "Analysis-wt-rot": analysis,
    "Backend": backend,
    "Frontend": frontend,
    "Notes": notes,
    "Paper": paper,
    "Importer": importer,
}


def main() -> int:
    """Play one session until the demo is over."""
    name, folder, die_after = sys.argv[1:]
    try:
        if name in ROWS:
            story, joins = ROWS[name]
            row = Row(name, Path(folder), float(die_after))
            if joins:
                row.verb("join")
            story(row)
            return 0
        me = Session(name, Path(folder), float(die_after))
        me.verb("join")
        STORIES[name](me)
    except EndedError:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
