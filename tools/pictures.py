#!/usr/bin/env python3
"""Take the pictures of the product that README shows: `make pictures`.

    python -m tools.pictures                write every picture into docs/pictures/
    python -m tools.pictures nav mail       write these
    python -m tools.pictures --into DIR     write them into another folder
    python -m tools.pictures --text         print what they show as text, and write nothing

Each is the real app on a real comm home with a real engine, driven by its keys. The home is made for it below a folder
of its own that is gone afterwards, on a clock that stands still and a box that is a table, so the bytes are the same on
every machine. A picture names no host: a page that shows it fetches nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import frames, inbox, registry, registry_lock
from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.proof import SystemProcs
from sot_tui.engine.client import Kind
from sot_tui.engine.service import Engine, LocalClient
from sot_tui.screens.app import SotApp
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.recover import RecoverDialog
from sot_tui.screens.widgets.lines import Lines
from tests.seams import JumpingClock, MountedDisk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from textual.pilot import Pilot
    from textual.widget import Widget

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
BOX = "box"
ME = "operator-box"
SIZE = (100, 26)
"""Columns and lines: the widest layout, at the width of a page of text still to be read."""
TALL = (100, 31)
"""The same, with room for a whole message below its list."""
NEVER_SECS = 1e6
"""Seconds between two looks and two stamps: nothing but what a picture asks for happens while it is taken."""
DEADLINE_SECS = 30.0
"""How long a fact is waited for; it comes in a fraction of that."""
FONTS = 'ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", Consolas, "Liberation Mono", monospace'
"""What a picture is set in, wherever it is looked at."""
LETTERS = (
    ("font-family: Fira Code, monospace", f"font-family: {FONTS}"),
    ("font-family: arial", "font-family: system-ui, sans-serif"),
    ("font-size: 20px", "font-size: 21px"),  # so that the strokes of a frame meet from line to line
)
LIGHT_FRAME = (
    ('<rect fill="#292929" stroke="rgba(255,255,255,0.35)"', '<rect fill="#dfe2e6" stroke="rgba(0,0,0,0.25)"'),
    ('terminal-title" fill="#c5c8c6"', 'terminal-title" fill="#3b4252"'),
)
"""The window's frame around a light screen."""

_FONT_FACE = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_NUMBER = re.compile(r"terminal-\d+")
_MADE_BY = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_SAID_BY_OTHERS = ("SOT_", "COMM_", "CLAUDE", "CODEX", "XDG_", "TEXTUAL")
"""What would make a picture that of the person's own sessions, folders or tastes."""


class Session(NamedTuple):
    """One entry of the registry, with ages in seconds."""

    handle: str
    since: float
    seen: float = 8
    host: str = BOX
    facts: Mapping[str, object] = {}


SESSIONS = (
    Session("MyRepo-box", 372, facts={"state": "blocked", "summary": "Allow Bash?", "dialog": "Allow Bash?"}),
    Session(
        "Docs-box",
        190,
        facts={"state": "done", "done": True, "summary": "rebuilt the reference pages", "note": "as asked"},
    ),
    Session(
        "Analysis-wt-rot-box",
        8,
        facts={"state": "working", "summary": "fitting the rotation model · 4/9", "floor": "user"},
    ),
    Session(
        "Frontend-box", 47, facts={"state": "working", "summary": "moving forms to the new schema", "floor": "machine"}
    ),
    Session(
        "Importer-box", 840, facts={"state": "working", "summary": "importing the night's data", "floor": "machine"}
    ),
    Session("Backend-box", 1270, facts={"state": "waiting", "summary": "for CI", "waiting": "for CI"}),
    Session("Paper-laptop", 410, host="laptop", facts={"state": "done", "done": True, "summary": "figure 3 is final"}),
    Session("Notes-box", 4000, facts={"state": "idle", "summary": ""}),
    Session("Old-laptop", 7300, seen=7300, host="laptop", facts={"state": "idle", "summary": ""}),
)


class Message(NamedTuple):
    """One message, with its age in seconds."""

    sender: str
    to: str
    text: str
    age: float
    kind: Kind = Kind.DIRECTED


SCHEMA = (
    "Schema v3 is on main.\n\nPlease look at the migration before noon: it drops the column "
    "`legacy_id`, and two readers still use it.\n\n> which readers?\n\n- Analysis, in `fit/load.py`\n- Paper, "
    "in the figures\n\nI can keep the column for one more release if you say so."
)
READ = (
    Message("Docs-box", ME, "Which version do the reference pages describe, 2 or 3?", 86_000),
    Message("Analysis-wt-rot-box", ME, "The rotation fit converges, chi² = 1.03", 8_000),
    Message("Frontend-box", "", "Going down for CI, back in ten minutes", 1_500, Kind.BROADCAST),
)
UNREAD = (
    Message("Backend-box", ME, SCHEMA, 240),
    Message("MyRepo-box", ME, "Which branch shall I release, main or next?", 130),
    Message("Docs-box", "MyRepo-box", "numbers please", 540),
    Message("Backend-box", "MyRepo-box", "schema v3 is on main", 250),
    Message("MyRepo-box", "Analysis-wt-rot-box", "the plots of the rotation model are in figures/", 95),
)


class Box(SystemProcs):
    """The box of the pictures: this process is its own, everything else about it is made up."""

    def host_name(self) -> str:
        """Return the one name."""
        return BOX

    def machine_id(self) -> str:
        """Return an id of the usual length."""
        return "2f1c9d0e4b7a4c0f8d1b6a3c5e7f9012"

    def boot_id(self) -> str:
        """Return an id of the usual length."""
        return "5b1c7a52-9a51-4d0e-8a43-7d5a7c7f0a11"

    def pid_namespace(self) -> str:
        """Return the first one of every Linux."""
        return "4026531836"

    def start_of(self, pid: int) -> str | None:
        """Return a process's start; the one that died with the lock is gone."""
        return None if pid == Mortal.PID else super().start_of(pid)


class Mortal(Box):
    """The process that dies with the lock, while it lives."""

    PID = 4121

    def pid(self) -> int:
        """Return its number."""
        return self.PID

    def start_of(self, pid: int) -> str | None:
        """Return its start."""
        return "88231" if pid == self.PID else super().start_of(pid)


class Stage:
    """One comm home, and the box it lies on."""

    def __init__(self, folder: Path) -> None:
        self.clock = JumpingClock()
        self.home = Home(f"{folder}/comm", MountedDisk(), self.clock, Box())
        ensure_home(self.home)
        registry.replace(self.home, self._fill, registry.Wait.RULED)
        for message in READ:
            self._file(message)
        batch = inbox.read_batch(self.home, ME)
        if isinstance(batch, inbox.Batch):
            inbox.write_cursor(self.home, ME, batch)
        for message in UNREAD:
            self._file(message)

    def _fill(self, book: registry.Registry) -> bool:
        now = self.clock.now()
        for one in SESSIONS:
            repo = one.handle.rpartition("-")[0]
            entry: dict[str, object] = {"host": one.host, "workspace_id": "", "repo": repo, "status": "idle"}
            entry |= {"root": f"/home/you/src/{repo}", "joined": stamp(now - 90_000)}
            entry |= {"last_seen": stamp(now - one.seen), "status_at": stamp(now - one.since)}
            book.agents[one.handle] = entry | dict(one.facts)
        return True

    def _file(self, message: Message) -> None:
        repo = message.sender.rpartition("-")[0]
        to = message.to if message.kind is Kind.DIRECTED else ""
        line = frames.frame(message.sender, to, repo, message.text, stamp(self.clock.now() - message.age))
        inbox.file_line(self.home, message.to or ME, line)

    def die_with_the_lock(self, age: float) -> None:
        """Have a process of this box take the registry lock and die, so many seconds ago."""
        registry_lock.take(self.home._replace(procs=Mortal()), registry_lock.Wait.RULED)
        os.utime(self.home.lock, (self.clock.now() - age, self.clock.now() - age))


class Shot:
    """A dashboard that is open, and facts to wait for."""

    def __init__(self, stage: Stage, engine: Engine, pilot: Pilot[None]) -> None:
        self.stage, self.engine, self.pilot = stage, engine, pilot

    @property
    def text(self) -> str:
        """The whole screen as text."""
        strips = self.pilot.app.screen._compositor.render_strips()  # noqa: SLF001  (Textual has no other way)
        return "\n".join(strip.text.rstrip() for strip in strips) + "\n"

    def piece(self, selector: str) -> Widget:
        """Return a piece of the open screen."""
        return self.pilot.app.screen.query_one(selector)

    async def until(self, fact: Callable[[], object], what: str) -> None:
        """Wait until a fact holds, and until it is painted."""
        until = time.monotonic() + DEADLINE_SECS
        while not fact():
            if time.monotonic() > until:
                raise SystemExit(f"it never came: {what}\n{self.text}")
            await self.pilot.pause(0.02)
        await self.pilot.pause()

    async def select(self, handle: str) -> None:
        """Select a handle as a person does, by keys."""
        lines = self.pilot.app.screen.query_one("#fleet", Lines)
        for _ in lines.keys:
            if lines.selected == handle:
                return
            await self.pilot.press("j")
        raise SystemExit(f"{handle} is not listed\n{self.text}")


@asynccontextmanager
async def dashboard(size: tuple[int, int], theme: str) -> AsyncIterator[Shot]:
    """Open the dashboard on a stage of its own."""
    folder = Path(tempfile.mkdtemp(prefix="sot-pictures-"))
    try:
        _live_in(folder)
        stage = Stage(folder)
        async with Engine(stage.home, os.environ, tick_s=NEVER_SECS, stamp_s=NEVER_SECS) as engine:
            app = SotApp(LocalClient(engine), theme=theme)
            app.animation_level = "none"
            async with app.run_test(size=size) as pilot:
                shot = Shot(stage, engine, pilot)
                await shot.until(lambda: ME in engine.fleet.agents, "the join")
                await shot.until(lambda: engine.fleet.mail.keys() == engine.fleet.agents.keys(), "the counts of mail")
                yield shot
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _live_in(folder: Path) -> None:
    """Turn the environment away from the person's own folders and words."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_SAID_BY_OTHERS)}
    kept.pop("NO_COLOR", None)
    os.environ.clear()
    os.environ.update(kept, SOT_COMM_HOME=f"{folder}/comm", SOT_SELF_HOST=BOX, TZ="UTC")
    time.tzset()
    for name, below in (
        ("HOME", "home"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_RUNTIME_DIR", "run"),
    ):
        (folder / below).mkdir(mode=0o700)
        os.environ[name] = str(folder / below)


# -- the pictures -----------------------------------------------------------------------------------------------------


async def nav(shot: Shot) -> None:
    """Who needs me, who works, who is done: the one that is blocked is selected, and why is told."""
    await shot.until(lambda: "numbers please" in shot.text, "the last messages of the selected one")


def _shows(shot: Shot, words: str) -> bool:
    """Tell whether the open message has these words."""
    return words in shot.text.partition("known")[2]


async def mail(shot: Shot) -> None:
    """The person's own mail, a new message open: what lies above it was opened before."""
    await shot.select(ME)
    await shot.pilot.press("m")
    await shot.until(lambda: isinstance(shot.pilot.app.screen, MailScreen), "the mail")
    index, letter = shot.piece("#index"), shot.piece("#letter-text")
    for words in ("reference pages describe", "chi²", "ten minutes"):
        await shot.until(partial(_shows, shot, words), words)
        await shot.pilot.press("enter")
        await shot.until(lambda: letter.has_focus, "the letter")
        await shot.pilot.press("escape")
        await shot.until(lambda: index.has_focus, "the index")
        await shot.pilot.press("j")
    await shot.until(lambda: "if you say so" in shot.text, "the message")


async def recover(shot: Shot) -> None:
    """A dead process holds the registry lock: what proves it, and what will happen."""
    await nav(shot)
    shot.stage.die_with_the_lock(12)
    await shot.until(lambda: shot.engine.fleet.lock.wedged, "the banner")
    await shot.pilot.press("ctrl+r")
    await shot.until(lambda: isinstance(shot.pilot.app.screen, RecoverDialog), "the dialog")


TAKEN = {
    "nav": (nav, SIZE, "sot-dark"),
    "nav-light": (nav, SIZE, "sot-light"),
    "mail": (mail, TALL, "sot-dark"),
    "recover": (recover, SIZE, "sot-dark"),
}


def _inert(picture: str, *, dark: bool) -> str:
    """Return a picture that names no host: fonts of the machine it is looked at on, and nothing to fetch."""
    alone = _NUMBER.sub("terminal", _MADE_BY.sub("", _FONT_FACE.sub("", picture)))
    for was, now in (*LETTERS, *(() if dark else LIGHT_FRAME)):
        alone = alone.replace(was, now)
    return alone


async def take(name: str) -> tuple[str, str]:
    """Take one picture; return it as SVG and as text."""
    lead, size, theme = TAKEN[name]
    async with dashboard(size, theme) as shot:
        await lead(shot)
        app = shot.pilot.app
        return _inert(app.export_screenshot(simplify=True), dark=app.current_theme.dark), shot.text


def main() -> int:
    """Take every picture, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m tools.pictures", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones, all by default: {' '.join(TAKEN)}")
    parser.add_argument("--into", type=Path, default=PICTURES, metavar="DIR", help="where to, docs/pictures by default")
    parser.add_argument("--text", action="store_true", help="print them as text, and write nothing")
    options = parser.parse_args()
    unknown = set(options.names) - TAKEN.keys()
    if unknown:
        parser.error(f"there is no picture {' '.join(sorted(unknown))}")
    for name in options.names or TAKEN:
        picture, text = asyncio.run(take(name))
        if options.text:
            print(text)
            continue
        options.into.mkdir(parents=True, exist_ok=True)
        (options.into / f"{name}.svg").write_text(picture, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
