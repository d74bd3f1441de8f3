"""Random events on a real comm home, a real engine and the real screens; the nav beside an independent model of it.

Sessions join, write their facts, file and read mail, and go; holders of the registry lock live, die and let go; the
registry cannot be read for a spell, inboxes cannot, clocks step, the window changes its size, and a person presses keys
and clicks. After each event all comes to rest, and then the nav must say what `nav_model` says it must. The clock is
the test's own, so an hour passes in minutes.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import mounts
from sot_tui.comm.disk import Disk
from sot_tui.comm.home import Home
from sot_tui.engine.service import Engine, LocalClient
from sot_tui.screens import letters
from sot_tui.screens.app import SotApp
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.nav import NavScreen
from sot_tui.screens.show import Words
from sot_tui.screens.widgets import lines
from sot_tui.screens.widgets.lines import Lines
from tests.properties import nav_model as model
from tests.properties.nav_model import Lock, World, stamp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from textual.pilot import Pilot

HOST = "box"
BEGAN = 1_780_000_000.0
HOUR_SECS = 3600.0
EVENTS = 90
"""Of each short run; two of them take some ten seconds."""
RICH_SEEDS = (9, 21)
"""Runs in which much happens: a far `done`, one blocked and gone, an old `working`, ages that nobody knows, a clear."""
SIZE = (100, 30)
DEADLINE_SECS = 15.0
"""How long a rest may take before it is a fault; it takes a twentieth of a second."""
MOST_HANDLES = 24
MORE_OBJECTS = 1.4
"""How many times as many objects there may be at the end of the hour as after its first quarter.

Textual's own caches (regions, styles, fractions) are bounded and fill ever slower: 1.15 and 1.18 were seen, and over
two hours 96, 108, 114, 121, 127, 132, 133 and 133 thousand objects after each quarter. With the paint of every closed
screen kept it was 2.05.
"""
MORE_KIB = 12 * 1024
"""How much more memory there may be at the end of the hour than after its first quarter.

For the same caches 7 and 7.4 MiB were seen; with that paint kept, 24.
"""
HANDLES = [
    f"{name}-{host}" for name in ("Docs", "Api", "api", "Paper", "My.Repo-wt-rot", "Z_9") for host in ("box", "mac")
]
HANDLES += [f"Project-{number}" for number in range(16)] + ["A-handle-of-thirty-six-characters-box"]
TEXTS = [
    "Allow Bash?",
    "rebuilding the backend · 4/9",
    "for CI",
    "",
    "a line that is longer than any column has room for it " * 4,
]
TOLD = ("working", "done", "stale", "waiting", "idle", "no signal")
"""The states that the header counts, in its order."""
ROOMY_CELLS = 140
"""From this width on the header has room for all it counts, in words."""


class OurClock:
    """A clock that only the test moves. Who sleeps goes on at once, and has waited by a clock of their own thread.

    So a wait for a held lock ends, and no age that is shown depends on who waited. The thread that looks has no
    deadline.
    """

    def __init__(self) -> None:
        self.at, self.mono = BEGAN, 1000.0
        self._slept = threading.local()

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.mono + getattr(self._slept, "secs", 0.0)

    def sleep(self, seconds: float) -> None:
        if threading.current_thread().name != "sot-look":
            self._slept.secs = getattr(self._slept, "secs", 0.0) + seconds


class LookedAt(Disk):
    """The disk, which counts the looks at the registry lock: one ends each pass of the engine."""

    looks = 0

    def open(self, path: str, flags: int) -> int:
        if path.endswith("/.registry.lock") and threading.current_thread().name == "sot-look":
            self.looks += 1
        return super().open(path, flags)


class Play:
    """One run: the world, the disk that shows it, and a person at the screen."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        self.clock, self.disk = OurClock(), LookedAt()
        self.home = Home(str(folder), self.disk, self.clock)
        self.folder = folder
        self.world = World(BEGAN, self.clock.mono, HOST, f"operator-{HOST}")
        self.told: list[str] = []
        """What happened, for whoever reads a failure."""
        self.holder: subprocess.Popen[bytes] | None = None
        self.serial = 0
        self.elapsed = 0.0
        """Seconds between the events; what a quiet spell adds is not counted."""
        self.rests = 0
        self.size = SIZE

    engine: Engine
    app: SotApp
    pilot: Pilot[None]
    proves: bool

    @property
    def nav(self) -> NavScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, NavScreen)
        return screen

    @property
    def lines(self) -> Lines:
        return self.nav.query_one("#fleet", Lines)

    def says(self, piece: str) -> str:
        """Return what a piece of the nav says; empty when it is not displayed."""
        words = self.nav.query_one(piece, Words)
        return str(words.content) if words.display else ""

    # -- what happens in the comm home -------------------------------------------------------------------------------

    def write_registry(self) -> None:
        """Put the world's entries where the registry is, as a writer does."""
        self.put("registry.json", json.dumps({"protocol_version": 1, "agents": self.world.entries}).encode())
        self.world.readable = True

    def put(self, name: str, data: bytes) -> None:
        temp = self.folder / f"{name}.test"
        temp.write_bytes(data)
        temp.rename(self.folder / name)

    def sessions(self) -> list[str]:
        return [handle for handle in self.world.entries if handle != self.world.operator]

    def some_session(self) -> str | None:
        """Return one of the sessions, the selected one more often than others."""
        there = self.sessions()
        if self.world.selected in there and self.random.random() < 0.2:
            return self.world.selected
        return self.random.choice(there) if there else None

    def joins(self) -> str:
        handle = self.random.choice([name for name in HANDLES if name not in self.world.entries])
        host = "box" if self.random.random() < 0.7 else self.random.choice(["mac", "BOX", "", "far.example.org"])
        now = stamp(self.clock.at)
        entry = {"host": host, "workspace_id": "", "root": f"/src/{handle}", "joined": now, "last_seen": now}
        entry["status"] = self.random.choice(["idle", "spawning"])
        if self.random.random() < 0.7:
            entry |= {"state": "idle", "summary": "", "status_at": now}
        self.world.entries[handle] = entry
        self.write_registry()
        return f"{handle} joins on {host!r}"

    def leaves(self) -> str:
        handle = self.some_session()
        if handle is None:
            return "nobody leaves"
        del self.world.entries[handle]
        self.write_registry()
        return f"{handle} leaves"

    def facts(self) -> str:
        """Have a session write its facts, and the state and summary that follow."""
        handle = self.some_session()
        if handle is None or not isinstance(self.world.entries[handle], dict):
            return "nobody says anything"
        entry = {
            key: value
            for key, value in self.world.entries[handle].items()
            if key not in ("floor", "dialog", "question", "waiting", "done", "note")
        }
        pick = self.random.random
        finished = pick() < 0.2
        if not finished and pick() < 0.4:
            entry["floor"] = self.random.choice(["user", "machine"])
        if pick() < 0.15:
            entry["dialog"] = self.random.choice(TEXTS)
        if pick() < 0.2:
            entry["question"] = self.random.choice(TEXTS)
        if pick() < 0.2:
            entry["waiting"] = self.random.choice(TEXTS)
        if finished or pick() < 0.3:
            entry["done"] = True
        if pick() < 0.7:
            entry["note"] = self.random.choice(TEXTS)
        entry["state"], entry["summary"] = model.by_the_table(entry)
        entry["status_at"] = entry["last_seen"] = stamp(self.clock.at)
        self.world.entries[handle] = entry
        self.write_registry()
        return f"{handle} says {entry['state']} {entry['summary'][:20]!r}"

    def foreign(self) -> str:
        """Have another program write what our sessions would not."""
        handle = self.some_session()
        if handle is None:
            return "no other program writes"
        old = self.world.entries[handle]
        entry: Any = dict(old) if isinstance(old, dict) else {"last_seen": stamp(self.clock.at)}
        what = self.random.choice(
            ["no state", "odd state", "nothing", "no object", "no stamps", "odd stamps", "future", "facts"]
        )
        match what:
            case "no state":
                entry.pop("state", None)
            case "odd state":
                entry["state"] = self.random.choice(["thinking", "", 7, None])
            case "nothing":
                entry = {"last_seen": stamp(self.clock.at)}
            case "no object":
                entry = self.random.choice([[], "busy", None, 3])
            case "no stamps":
                entry.pop("last_seen", None)
                entry.pop("status_at", None)
            case "odd stamps":
                entry["last_seen"] = self.random.choice(["yesterday", 12, "2026-05-29T18:04:00"])
            case "future":
                entry["last_seen"] = entry["status_at"] = stamp(self.clock.at + 500)
            case "facts":
                entry |= {"state": "working", "summary": "as I say", "done": True, "dialog": False, "question": None}
        self.world.entries[handle] = entry
        self.write_registry()
        return f"{handle}: {what}"

    def is_seen(self) -> str:
        """Have some sessions stamp `last_seen`, as a heartbeat does."""
        for handle in self.sessions():
            entry = self.world.entries[handle]
            if isinstance(entry, dict) and self.random.random() < 0.7:
                entry["last_seen"] = stamp(self.clock.at)
        self.write_registry()
        return "heartbeats"

    def anybody(self) -> str:
        return self.random.choice([*self.world.entries, self.world.operator])

    def files(self) -> str:
        """Have somebody file a line; who files next cuts what a dead writer left."""
        handle = self.anybody()
        box = self.world.box(handle)
        if box.broken:
            return f"nothing can be filed for {handle}"
        self.serial += 1
        to: object = handle if self.random.random() < 0.7 else self.random.choice(["", "somebody-else", None, 5])
        frame = {"from": self.random.choice(["Docs-box", handle]), "to": to, "repo": "r", "msg": f"m {self.serial}"}
        frame["ts"] = stamp(self.clock.at)
        line = json.dumps(frame, separators=(",", ":")).encode()
        if self.random.random() < 0.1:
            line = self.random.choice(
                [b"", b"garbage", b"[1]", b'{"to":1}', line[:-4], b'{"to":"' + handle.encode() + b'"}']
            )
        box.lines.append(line)
        box.torn = b""
        self.write_box(handle)
        return f"a line for {handle}: {line[:60]!r}"

    def tears(self) -> str:
        """Have a writer die in the middle of a line."""
        handle = self.anybody()
        box = self.world.box(handle)
        if box.broken or not box.lines:
            return "nobody dies while it files"
        box.torn = b'{"to":"%s","fr' % handle.encode()
        self.write_box(handle)
        return f"a writer dies in {handle}'s inbox"

    def write_box(self, handle: str) -> None:
        box = self.world.box(handle)
        self.put(f"inbox/{handle}.jsonl", b"".join(line + b"\n" for line in box.lines) + box.torn)

    def reads(self) -> str:
        """Have a session poll: its cursor moves, sometimes not to the end, in one of its forms."""
        handle = self.some_session()
        if handle is None:
            return "nobody reads"
        box = self.world.box(handle)
        box.shown = len(box.lines) if self.random.random() < 0.8 else self.random.randint(0, len(box.lines))
        self.put(f"read/{handle}.cursor", box.cursor(self.random.choice(["count", "hash"])))
        return f"{handle} has read {box.shown} of {len(box.lines)}"

    def breaks(self) -> str:
        """Put what cannot be read in the place of an inbox, in one step, or put the inbox back."""
        broken = [name for name, box in self.world.boxes.items() if box.broken]
        handle = broken[0] if broken else self.anybody()
        box = self.world.box(handle)
        if box.broken:
            box.broken = False
            self.write_box(handle)
            return f"{handle}'s inbox is back"
        circle = self.folder / "inbox" / f"{handle}.test"
        circle.symlink_to(f"{handle}.jsonl")
        circle.rename(self.folder / "inbox" / f"{handle}.jsonl")
        box.broken = True
        return f"{handle}'s inbox is none"

    def spell(self) -> str:
        """Have the registry be unreadable, or readable again."""
        if not self.world.readable:
            self.write_registry()
            return "the registry is back"
        good = (self.folder / "registry.json").read_bytes()
        what = self.random.choice([b"", b"not json", good[:-9], b'{"agents":[]}', b"{} {}", None])
        if what is None:
            (self.folder / "registry.json").unlink()
        else:
            self.put("registry.json", what)
        self.world.readable = False
        return f"the registry is {what[:12]!r}" if what is not None else "the registry is gone"

    # -- the registry lock -------------------------------------------------------------------------------------------

    def lock(self) -> str:
        """Have the lock be taken, or its holder die, or let go."""
        held = self.world.lock
        if held is None:
            record = self.start_holder() if self.random.random() < 0.6 else "far:0123:4567:89:4242:77"
            self.hold(record)
            return f"the lock is taken by {record[:20]}"
        if self.holder is not None and self.random.random() < 0.5:
            self.end_holder()
            self.world.lock = held._replace(dead=self.proves)
            return "the holder dies"
        (self.folder / ".registry.lock").unlink()
        self.world.lock = None
        self.end_holder()
        return "the lock is let go"

    def hold(self, record: str) -> None:
        temp = self.folder / ".registry.lock.tmp.test"
        temp.write_text(record + "\n")
        os.utime(temp, (self.clock.at, self.clock.at))
        temp.rename(self.folder / ".registry.lock")
        self.world.lock = Lock(record, self.clock.at, self.clock.mono)

    def start_holder(self) -> str:
        """Start a process, and return its record, read here from the kernel's own files."""
        self.holder = subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL)
        pid = self.holder.pid
        start = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()[19]
        boot = _read("/proc/sys/kernel/random/boot_id").strip()
        name = socket.gethostname().split(".")[0].lower()
        space = re.sub(r"\D", "", os.readlink("/proc/self/ns/pid"))
        return f"{name}:{_read('/etc/machine-id').strip()}:{boot}:{space}:{pid}:{start}"

    def end_holder(self) -> None:
        if self.holder is not None:
            self.holder.kill()
            self.holder.wait()
            self.holder = None

    # -- time, and the window ----------------------------------------------------------------------------------------

    def time(self) -> str:
        """Have time pass; most sessions say that they are alive when it was long."""
        secs = self.random.choice([1.0, 2.0, 5.0, 30.0, 61.0, 200.0, 310.0, 310.0, 650.0])
        self.clock.at += secs
        self.clock.mono += secs
        if secs > 100 and self.world.readable and self.random.random() < 0.6:
            self.is_seen()
        return f"{secs:g} s pass"

    def clock_steps(self) -> str:
        secs = self.random.choice([-3600.0, -90.0, -3.0, 3.0, 90.0, 3600.0])
        self.clock.at += secs
        return f"the clock steps by {secs:g} s"

    async def resize(self) -> str:
        self.size = (self.random.choice([45, 59, 60, 80, 99, 100, 140]), self.random.choice([16, 20, 24, 40]))
        await self.pilot.resize_terminal(*self.size)
        return f"the window is {self.size}"

    # -- what a person does ------------------------------------------------------------------------------------------

    async def settles(self) -> None:
        """Wait for the layout: a banner that has just come or gone moves what is below it, some messages later."""
        for _ in range(3):
            await self.pilot.pause()

    async def moves(self) -> str:
        """Press a key that moves the selection."""
        key = self.random.choice(("j", "down", "k", "up", "home", "end", "pagedown", "pageup"))
        if key.startswith("page"):
            await self.settles()
        order, world = self.world.order(), self.world
        page = max(1, self.lines.size.height - 1)
        steps = {"j": 1, "down": 1, "k": -1, "up": -1, "home": -999, "end": 999, "pagedown": page, "pageup": -page}
        if order and world.selected is not None:
            at = order.index(world.selected) + steps[key]
            world.selected = order[max(0, min(len(order) - 1, at))]
        await self.pilot.press(key)
        return f"{key}: {world.selected} is selected"

    async def jumps(self) -> str:
        """Press the key that goes to the next one who needs the person."""
        needs, at = self.world.needs(), -1
        if self.world.selected in needs:
            at = needs.index(self.world.selected)
        if needs:
            self.world.selected = needs[(at + 1) % len(needs)]
        await self.pilot.press("space")
        return f"space: {self.world.selected} is selected"

    async def clicks(self) -> str:
        """Click a line: it is selected, and its `done` is cleared."""
        await self.settles()
        height = min(self.lines.size.height, self.nav.size.height - self.lines.region.y)
        top = self.lines.scroll_offset.y
        seen = self.lines.keys[top : top + height]
        if not seen:
            return "there is no line to click"
        finished = [handle for handle in seen if self.world.is_done(handle)]
        handle = self.random.choice(finished if finished and self.random.random() < 0.7 else seen)
        self.world.selected = handle
        self.view(handle)
        await self.pilot.click(self.lines, offset=(6, self.lines.keys.index(handle) - top))
        return f"a click on {handle}"

    async def clears(self) -> str:
        await self.jumps()
        if self.world.selected is not None:
            self.view(self.world.selected)
        await self.pilot.press("d")
        return f"d on {self.world.selected}"

    def view(self, handle: str) -> None:
        """A person views a handle: `done` goes from an entry of this box, a state `done` becomes `idle`, no more.

        The registry has to be readable and its lock to be had; a lock whose holder is proved dead is reclaimed.
        """
        world = self.world
        if not (world.is_done(handle) and world.is_here(handle) and world.readable):
            return
        if world.lock is not None:
            if not world.lock.dead:
                return
            world.lock = None
        entry = dict(world.entries[handle])
        del entry["done"]
        if entry.get("state") == "done":
            entry["state"] = "idle"
        world.entries[handle] = entry

    async def opens(self) -> str:
        """Open the mail of the selected handle, and close it: the person's own inbox is read then."""
        handle, world = self.world.selected, self.world
        if handle is None:
            return "there is no mail to open"
        if handle == world.operator and not (self.folder / "registry.json").exists():
            return "whoever reads their own mail makes a registry that is gone: another story"
        box = world.box(handle)
        if handle != world.operator:
            self.view(handle)
        elif world.readable and not box.broken:
            box.list_all(handle)
        shut = box.broken or (handle == world.operator and not world.readable)
        await self.pilot.press("enter")
        await self.until(lambda: isinstance(self.app.screen, MailScreen), "the mail is open")
        index = self.app.screen.query_one("#index", Lines)
        await self.until(lambda: index.keys or not box.lines or shut, "it is listed")
        await self.pilot.pause()
        await self.pilot.press("escape")
        await self.until(lambda: self.app.screen is self.nav, "the nav is back")
        return f"the mail of {handle} is read"

    async def sets_aside(self) -> str:
        if self.random.random() < 0.5:
            await self.jumps()
        handle, world = self.world.selected, self.world
        if handle is not None:
            facts = world.facts_of_need(handle)
            was_aside = world.aside.get(handle) == facts
            if was_aside or world.need_of(handle) is not None:
                # Whatever has changed since needs the person for good, also when it comes to be the same again.
                there = world.entries.keys()
                world.aside = {
                    one: mark for one, mark in world.aside.items() if one in there and world.facts_of_need(one) == mark
                }
                if was_aside:
                    del world.aside[handle]
                else:
                    world.aside[handle] = facts
        await self.pilot.press("z")
        return f"z on {handle}"

    async def goes_home(self) -> None:
        """Have everybody leave and all be well, so that what is held can be compared with what was held before."""
        for handle in [handle for handle, box in self.world.boxes.items() if box.broken]:
            self.world.boxes[handle].broken = False
            self.write_box(handle)
        if self.world.lock is not None:
            (self.folder / ".registry.lock").unlink()
            self.world.lock = None
            self.end_holder()
        for handle in self.sessions():
            del self.world.entries[handle]
        self.write_registry()
        self.size = SIZE
        await self.pilot.resize_terminal(*SIZE)
        self.told.append("everybody goes home")
        await self.rest()

    # -- one event, and the rest after it ----------------------------------------------------------------------------

    async def event(self) -> None:
        """Have one thing happen, a moment after the last."""
        secs = self.random.choice([0.3, 1.0, 1.0, 2.0, 3.7])
        self.clock.at += secs
        self.clock.mono += secs
        self.elapsed += secs
        self.clock.at = max(self.clock.at, BEGAN)  # so that no stamp is older than the first
        kinds: list[tuple[int, Callable[[], Any]]] = [
            (8 if len(self.world.entries) < MOST_HANDLES else 0, self.joins),
            (2 if len(self.world.entries) < MOST_HANDLES else 9, self.leaves),
            (22, self.facts),
            (5, self.foreign),
            (8, self.is_seen),
            (14, self.files),
            (7, self.reads),
            (2, self.tears),
            (8 if any(box.broken for box in self.world.boxes.values()) else 2, self.breaks),
            (3 if self.world.readable else 14, self.spell),
            ((5 if self.world.lock is None else 12) if self.proves else 0, self.lock),
            (8, self.time),
            (2, self.clock_steps),
            (2, self.resize),
            (9, self.moves),
            (3, self.jumps),
            (8, self.clicks),
            (4, self.clears),
            (3, self.opens),
            (6, self.sets_aside),
        ]
        if not self.world.readable:
            written = (self.joins, self.leaves, self.facts, self.foreign, self.is_seen)
            kinds = [(weight, kind) for weight, kind in kinds if kind not in written]
        kind = self.random.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]
        told = kind()
        self.told.append(told if isinstance(told, str) else await told)
        await self.rest()

    async def rest(self) -> None:
        """Wait until the engine has looked at all of it, and hold the nav to the model, now and after another look."""
        self.rests += 1
        await self.looks(3)
        self.world.now, self.world.mono = self.clock.at, self.clock.mono
        self.world.count()
        if self.world.selected not in self.world.entries:
            await self.until(lambda: self.lines.selected in self.world.entries, "another one is selected")
            self.world.selected = self.lines.selected
        await self.until(lambda: not self.wrong(), "the nav says it")
        if self.random.random() < 0.2:
            await self.looks(2)
            self.app._time_passed()
            await self.pilot.pause()
            assert not self.wrong(), self.story(self.wrong())

    async def looks(self, passes: int) -> None:
        """Have the engine look so often, as a hint of the watch would; it looks seldom while the lock is held."""
        for _ in range(passes):
            wanted = self.disk.looks + 1
            self.engine._hint.set()
            await self.until(lambda wanted=wanted: self.disk.looks >= wanted, "the engine looks", screen=False)  # type: ignore[misc]

    async def until(self, fact: Callable[[], object], what: str, *, screen: bool = True) -> None:
        """Wait for a fact; when it is about the screen, a second passes there, too."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DEADLINE_SECS
        while not fact():
            if loop.time() > deadline:
                raise AssertionError(self.story(f"never: {what}\n{self.wrong()}"))
            await asyncio.sleep(0.002)
            if screen:
                self.app._time_passed()
                await self.pilot.pause(0)

    def story(self, wrong: str) -> str:
        last = "\n".join(f"  {told}" for told in self.told[-12:])
        shown = "\n".join(line.text.rstrip() for line in self.app.screen._compositor.render_strips())
        when = f"seed {self.seed}, after {len(self.told)} events, of which the last are"
        return f"{wrong}\n{when}\n{last}\nthe screen:\n{shown}"

    # -- what is wrong with the nav ----------------------------------------------------------------------------------

    def wrong(self) -> str:
        """Return in what the nav differs from the model; empty when in nothing."""
        world = self.world
        order = world.order()
        wrong = [] if self.app.screen is self.nav else [f"{self.app.screen} is open"]
        if list(self.lines.keys) != order:
            wrong.append(f"order {self.lines.keys}\n   want {order}")
        if self.lines.selected != world.selected:
            wrong.append(f"selected {self.lines.selected}, want {world.selected}")
        if not wrong:
            wrong += self.wrong_lines(order)
        wrong += self.wrong_header()
        wrong += self.wrong_banners()
        if world.readable:
            wrong += self.wrong_disk()
        return "\n".join(wrong)

    def wrong_lines(self, order: list[str]) -> list[str]:
        wrong = []
        top, cells = self.lines.scroll_offset.y, self.nav._columns
        for y in range(min(self.lines.size.height, len(order) - top)):
            line = self.world.line(order[top + y])
            text = self.lines.render_line(y).text
            bar, text = text[:2], text[2:]
            shape, text = text[:2], text[2:]
            word, text = text[: cells.state].rstrip(), text[cells.state :]
            handle, text = text[: cells.handle].rstrip(), text[cells.handle :]
            summary = ""
            if cells.state:
                summary, text = text[2 : cells.summary + 2].rstrip(), text[cells.summary + 2 :]
            mail, aged, host = (
                text[: cells.mail].strip(),
                text[cells.mail : cells.mail + 6].strip(),
                text[cells.mail + 6 + (cells.agent + 2 if cells.agent else 0) :].strip(),
            )
            want: list[tuple[str, object, object]] = [
                ("bar", bar[0], "▌" if line.handle == self.world.selected else " "),
                ("aside", bar[1], "z" if self.world.is_aside(line.handle) else " "),
                ("shape", shape, model.SHAPES[line.state] + " "),
                ("handle", handle, model.cut(line.handle, cells.handle)),
                ("mail", mail, line.mail),
                ("age", aged, line.age),
            ]
            if cells.state:
                want.append(("word", word, "aside" if self.world.is_aside(line.handle) else line.word))
                if line.summary is not None and not line.only_begins:
                    want.append(("summary", summary, model.cut(line.summary, cells.summary).rstrip()))
                elif line.summary is not None:
                    begun = summary.removesuffix("…")
                    cut = begun != summary and len(summary) >= cells.summary - 1 and line.summary.startswith(begun)
                    want.append(
                        ("summary", summary, summary if cut or begun.startswith(line.summary) else line.summary)
                    )
            if cells.host:
                want.append(("host", host, model.cut(line.host, cells.host)))
            wrong += [f"{line.handle}: {name} {got!r}, want {wanted!r}" for name, got, wanted in want if got != wanted]
        return wrong

    def wrong_header(self) -> list[str]:
        world, wrong = self.world, []
        told = self.says("#counts").split(" · ")
        needs = world.needs_told()
        first = f"{needs} need{'s' if needs == 1 else ''} you" if needs else "nobody needs you"
        if told[0] != first:
            wrong.append(f"header {told[0]!r}, want {first!r}")
        states = world.by_state()
        doubted = sum(world.line(handle).word == "working?" for handle in world.entries)
        sure = {**states, "working": states["working"] - doubted}
        spelled = [f"{sure[state]} {state}" for state in TOLD if sure[state]]
        if doubted:
            spelled.insert(bool(sure["working"]), f"{doubted} working?")
        if self.size[0] >= ROOMY_CELLS and told[1:] != spelled:
            wrong.append(f"header {told}, want {states}")
        for token in told[1:]:
            for state in TOLD:
                drawn = token.startswith(model.SHAPES[state])
                count = states[state] if drawn else sure[state]
                if (drawn or token.endswith(f" {state}")) and str(count) not in token.split():
                    wrong.append(f"header {token!r}, want {count}")
        unread = world.counted.get(world.operator, (0, ""))[0]
        if self.says("#yours") != f"mail {unread}":
            wrong.append(f"header {self.says('#yours')!r}, want mail {unread}")
        lock = "● free" if world.lock is None else "◐ held"
        if world.is_wedged():
            lock = f"◆ held {model.age(0, world.held_s())}"
        if self.says("#lock").removeprefix("registry ") != lock:
            wrong.append(f"header {self.says('#lock')!r}, want {lock!r}")
        return wrong

    def wrong_banners(self) -> list[str]:
        world, wrong = self.world, []
        banner = self.says("#lock-banner")
        if bool(banner) != world.is_wedged():
            wrong.append(f"lock banner {banner!r}")
        elif world.lock is not None and banner and ("recover it" in banner) != world.lock.dead:
            wrong.append(f"lock banner {banner!r}, dead: {world.lock.dead}")
        if (model.UNLISTED in self.says("#registry-banner")) != (not world.readable):
            wrong.append(f"registry banner {self.says('#registry-banner')!r}")
        empty = self.says("#empty")
        nobody = not self.sessions()
        if bool(empty) != nobody or (nobody and world.readable and not all(words in empty for words in model.COMMANDS)):
            wrong.append(f"empty {empty!r}")
        if (
            world.selected is not None
            and self.size[0] >= 60
            and f"── {world.selected} ─" not in self.says("#detail-title")
        ):
            wrong.append(f"detail of {self.says('#detail-title')!r}")
        return wrong

    def wrong_disk(self) -> list[str]:
        """Return what the registry says otherwise than the world: a look at it may change nothing."""
        agents = json.loads((self.folder / "registry.json").read_bytes())["agents"]
        return [
            f"entry {handle}: {agents.get(handle)}, want {entry}"
            for handle, entry in self.world.entries.items()
            if agents.get(handle) != entry
        ]


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()


def _held() -> tuple[int, int]:
    """Return how many objects there are in this process, and its resident memory in KiB."""
    gc.collect()
    pages = int(_read("/proc/self/statm").split()[1]) if sys.platform == "linux" else 0
    return len(gc.get_objects()), pages * os.sysconf("SC_PAGE_SIZE") // 1024


@asynccontextmanager
async def played(folder: Path, seed: int) -> AsyncIterator[Play]:
    """Open a dashboard on an empty comm home, joined and at rest."""
    play = Play(folder, seed)
    environ = {**os.environ, "SOT_SELF_HOST": HOST}
    try:
        async with Engine(play.home, environ, stamp_s=1e9) as engine:
            play.engine, play.app = engine, SotApp(LocalClient(engine))
            async with play.app.run_test(size=play.size) as pilot:
                play.pilot = pilot
                await play.until(lambda: play.world.operator in engine.fleet.agents, "the person has joined")
                play.proves = sys.platform == "linux" and mounts.proves_fresh_reads(play.home)
                play.world.entries = json.loads((folder / "registry.json").read_bytes())["agents"]
                await pilot.press("home")
                play.world.selected = play.world.operator
                await play.rest()
                yield play
    finally:
        play.end_holder()
        for gone in (str(folder), environ["XDG_STATE_HOME"]):  # the next run is to begin anew
            shutil.rmtree(gone, ignore_errors=True)


@pytest.fixture(autouse=True)
def _nobody_stays_on_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an hour that passes within seconds, whoever closes their mail at once has opened nothing."""
    monkeypatch.setattr(letters, "OPENED_SECS", float("inf"))
    monkeypatch.setattr(lines, "MOVED_SECS", 0.0)  # and a click comes as soon as the lines have moved


@pytest.mark.parametrize("seed", RICH_SEEDS)
@pytest.mark.timeout(120)
async def test_nav_when_anything_happens_then_says_what_the_model_says(comm_home: Path, seed: int) -> None:
    async with played(comm_home, seed) as play:
        for _ in range(EVENTS):
            await play.event()


@pytest.mark.torture
@pytest.mark.timeout(3600)
async def test_nav_when_anything_happens_for_an_hour_then_says_what_the_model_says(comm_home: Path) -> None:
    """An hour of the test's own clock; what the process holds after a quarter of it is what it holds at the end.

    The seed is another one in each session of pytest, and comes again with its `--randomly-seed`; `-rP` shows what was
    held.
    """
    seed = random.randrange(1 << 32)
    held = []
    async with played(comm_home, seed) as play:
        held.append(_held())
        for quarter in range(1, 5):
            while play.elapsed < HOUR_SECS * quarter / 4:
                await play.event()
            await play.goes_home()
            held.append(_held())
        told = f"seed {seed}, {len(play.told)} events, {play.rests} rests; objects and KiB after each quarter: {held}"
    sys.stdout.write(told)
    objects, kib = zip(*held, strict=True)
    assert objects[-1] <= objects[1] * MORE_OBJECTS, told
    assert kib[-1] <= kib[1] + MORE_KIB, told
