"""An agent that draws what the recordings of Claude Code show, and obeys its keys; it stands in for a real one.

It is run as `claude` in a row. What it was sent, and what it took that for, it appends to `$AGENT_LOG` as JSON lines.
Orders come as lines through the fifo `$AGENT_ORDERS`: `dialog`, `gone`, `work SECONDS`, `slow SECONDS`, which it then
works before it polls.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import struct
import termios
import time
import tty

WAKE_LINE = "[sot-comm] you have mail: run comm-poll.sh"
GRAY = "\x1b[38;5;246m"
RULE = "\x1b[38;5;244m"
WORK_SECS = 0.4
MENU = ("/add-dir", "/autocompact", "/clear")


class Agent:
    """The agent: a state, a box, and a screen that is drawn anew after each change."""

    def __init__(self) -> None:
        self.box = ""
        self.at = 0
        self.state = "free"
        self.until = 0.0
        self.slow = 0.0
        self.is_asked_to_poll = False
        self.said: list[str] = []
        self.log = os.open(os.environ["AGENT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.frame = 0
        self.pasting = ""
        self.is_pasting = False
        self.resized = True

    def tell(self, **what: object) -> None:
        os.write(self.log, (json.dumps({"at": time.monotonic(), "state": self.state, **what}) + "\n").encode())

    # -- drawing -------------------------------------------------------------------------------------------------

    def draw(self) -> None:
        lines, columns = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))[:2]
        title = "◐" if self.state == "work" else "✳"
        if self.state == "dialog":
            bottom = self.dialog(columns)
            cursor = (next(at for at, row in enumerate(bottom) if "❯" in row), 1)
        else:
            bottom, cursor = self.prompt(columns)
        above = max(0, lines - len(bottom))
        rows = (["", " ▐▛███▛█   Claude Code v2.1.332", *self.said] + [""] * above)[:above]
        if self.state == "work" and above:
            rows[-1] = f"{GRAY}✽ Sprouting… ({self.frame})\x1b[39m"
        out = [f"\x1b]0;{title} Claude Code\x07\x1b[?25l\x1b[H"]
        out += [f"\x1b[{at + 1};1H\x1b[0m\x1b[K{row}" for at, row in enumerate([*rows, *bottom][:lines])]
        out.append(f"\x1b[0m\x1b[{above + cursor[0] + 1};{cursor[1] + 1}H")
        os.write(1, "".join(out).encode())

    def prompt(self, columns: int) -> tuple[list[str], tuple[int, int]]:
        rule = f"{RULE}{'─' * columns}\x1b[39m"
        glyph = f"{GRAY}❯\x1b[39m" if self.state == "work" else "❯"
        texts, cursor = self.wrapped(columns - 4)
        rows = []
        for at, text in enumerate(texts):
            shown = text
            if at == cursor[0]:
                under = text[cursor[1] : cursor[1] + 1] or " "
                shown = f"{text[: cursor[1]]}\x1b[7m{under}\x1b[27m{text[cursor[1] + 1 :]}"
            rows.append((f"{glyph}\u00a0" if at == 0 else "  ") + shown)
        hint = "esc to interrupt" if self.state == "work" else "? for shortcuts"
        menu = [f"  {'❯' if at == 0 else ' '} {name}" for at, name in enumerate(MENU)] if self.box[:1] == "/" else []
        bottom = [*menu, rule, *rows, rule, f"  {GRAY}⏸ manual mode on · {hint}\x1b[39m"]
        return bottom, (len(menu) + 1 + cursor[0], 2 + cursor[1])

    def wrapped(self, width: int) -> tuple[list[str], tuple[int, int]]:
        """Return the box's rows as they wrap at words, and where the cursor is in them."""
        rows: list[str] = []
        cursor, place = (0, 0), 0
        for paragraph in self.box.split("\n"):
            rest = paragraph
            while True:
                cut = len(rest)
                if len(rest) > width:
                    cut = rest.rfind(" ", 0, width + 1)
                    cut = width if cut <= 0 else cut
                if place <= self.at <= place + cut:
                    cursor = (len(rows), self.at - place)
                rows.append(rest[:cut])
                place += cut + 1
                if cut == len(rest):
                    break
                rest = rest[cut + 1 :] if rest[cut] == " " else rest[cut:]
        return rows, cursor

    def dialog(self, columns: int) -> list[str]:
        return [
            f"{RULE}{'─' * columns}\x1b[39m", " Bash command", "", " rm -rf build", "", " Do you want to proceed?",
            " \x1b[38;5;153m❯ 1. Yes\x1b[39m", "   2. No", "", " Esc to cancel · Tab to amend",
        ]  # fmt: skip

    # -- keys ----------------------------------------------------------------------------------------------------

    def take(self, data: bytes) -> None:
        text = data.decode(errors="replace")
        self.tell(got=text)
        for key in re.findall(r"\x1b\[[0-9;?]*[A-Za-z~]|\x1b.|.", text, re.DOTALL):
            self.key(key)

    def key(self, key: str) -> None:
        if key == "\x1b[200~":
            self.is_pasting, self.pasting = True, ""
        elif key == "\x1b[201~":
            self.is_pasting = False
            self.insert(self.pasting.replace("\r", "\n"))
        elif self.is_pasting:
            self.pasting += key
        elif self.state == "dialog":
            if key in {"\r", "1", "2", "\x1b"}:
                self.tell(answered=key)
                self.state = "free"
        elif key == "\r":
            self.enter()
        elif key == "\x15":
            self.box, self.at = "", 0
        elif key == "\x01":
            self.at = 0
        elif key >= " " and len(key) == 1 and key != "\x7f":
            self.insert(key)

    def insert(self, text: str) -> None:
        self.box = self.box[: self.at] + text + self.box[self.at :]
        self.at += len(text)

    def enter(self) -> None:
        if not self.box:
            self.tell(empty_enter=True)
            return
        self.tell(submitted=self.box)
        self.said = [*self.said, f"❯ {self.box}"][-3:]
        self.is_asked_to_poll = self.is_asked_to_poll or self.box == WAKE_LINE
        if self.is_asked_to_poll and not self.slow:
            self.poll()
        self.box, self.at = "", 0
        if self.state == "free":
            self.state, self.until = "work", time.monotonic() + max(WORK_SECS, self.slow)

    def poll(self) -> None:
        """Read the mail, as a session does that runs the poll."""
        self.is_asked_to_poll = False
        with open(os.environ["AGENT_INBOX"], "rb") as file:
            lines = file.read().splitlines()
        self.tell(polled=len(lines))
        draft = os.environ["AGENT_CURSOR"] + ".tmp"
        with open(draft, "w", encoding="utf-8") as file:
            file.write(str(len(lines)))
        os.replace(draft, os.environ["AGENT_CURSOR"])

    # -- its life ------------------------------------------------------------------------------------------------

    def order(self, words: list[str]) -> None:
        match words:
            case ["dialog"]:
                self.state = "dialog"
            case ["gone"] if self.state == "dialog":
                self.state = "free"
            case ["work", seconds]:
                self.state, self.until = "work", time.monotonic() + float(seconds)
            case ["slow", seconds]:
                self.slow = float(seconds)
        self.tell(ordered=words)

    def run(self) -> None:
        tty.setraw(0)
        os.write(1, b"\x1b[?1049h\x1b[2J\x1b[?2004h")
        signal.signal(signal.SIGWINCH, lambda *_: None)
        wake, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken)
        orders = os.open(os.environ["AGENT_ORDERS"], os.O_RDWR)
        self.draw()
        while True:
            wait = 0.1 if self.state == "work" else None
            ready = select.select([0, orders, wake], [], [], wait)[0]
            if wake in ready:
                os.read(wake, 100)
            if orders in ready:
                for line in os.read(orders, 4096).decode().splitlines():
                    self.order(line.split())
            if 0 in ready:
                data = os.read(0, 65536)
                if not data:
                    return
                self.take(data)
            if self.state == "work":
                self.frame += 1
                if time.monotonic() >= self.until:
                    self.state = "free"
                    if self.is_asked_to_poll:
                        self.poll()
            self.draw()


if __name__ == "__main__":
    Agent().run()
