"""A row as a value: one project folder running one agent, and where its run stands (daemon wire 4.3).

The row's file keeps what was declared; the phase is what was last observed. Nothing here touches a disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Phase(Enum):
    """Where the run of a row stands; the value is the wire's word."""

    STOPPED = "stopped"
    """It has never run, or its run was not looked at yet."""
    STARTING = "starting"
    READY = "ready"
    """Its agent runs; only now may it be typed into."""
    ENDING = "ending"
    ENDED = "ended_no_respawn"
    """Its agent has ended, by itself or because it was asked to; it is not started again by itself."""
    TERMINAL = "terminal"
    """Its capsule crashed too often, or could not be started."""
    UNREACHABLE = "unreachable"
    """Its capsule does not answer."""
    FOREIGN = "foreign"
    """Its run belongs to another implementation; it is left alone."""


RUNS = frozenset({Phase.STARTING, Phase.READY})
"""The phases in which the daemon keeps a row's handle live (contract, Liveness)."""
LATCHED = frozenset({Phase.TERMINAL, Phase.ENDED})
"""The phases in which a row holds no handle (daemon wire 3.4)."""
BOOT_AT_ONCE = 4
"""Rows that are adopted or resumed at the same time when the daemon starts (daemon wire 4.4)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row."""

    id: str
    slug: str
    label: str
    root: str
    """The project folder, absolute."""
    created: int
    """When it was made, in seconds since the epoch."""
    agent: str = "none"
    """One of `agents.KINDS`."""
    agent_name: str = ""
    """The handle it was made with; empty when it was given none."""
    agent_handle: str = ""
    """The handle its session declared; empty when it never did."""
    task: str = ""
    account: str = ""
    command: tuple[str, ...] = ()
    """What a row without an agent runs in place of a shell."""
    phase: Phase = Phase.STOPPED
    activation_error: str = ""
    """Why the last start failed."""
    run: str = ""
    """The id of the run the pointer names; empty when it has never run."""
    ended: str = ""
    """How the last run ended, in words; empty while it runs."""

    @property
    def session_name(self) -> str:
        """Return the name that older clients show (daemon wire 3.6)."""
        return f"sot-be-{self.slug}"


def run_id(now: float, random: bytes) -> str:
    """Return a new run's id, a UUID of version 7: its order is that of time (RFC 9562). `random` is ten bytes."""
    number = int.from_bytes(int(now * 1000).to_bytes(6, "big") + random[:10], "big")
    number = (number & ~(0xF << 76)) | (0x7 << 76)
    number = (number & ~(0x3 << 62)) | (0x2 << 62)
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


@dataclass(frozen=True, slots=True)
class Refused:
    """A request about a row was refused before anything changed."""

    code: str
    sentence: str
    extra: tuple[tuple[str, object], ...] = ()
    """Further keys of the answer."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A row that somebody asks for (daemon wire 3.8)."""

    label: str
    root: str
    agent: str = ""
    """Empty: by `autostart_claude`."""
    autostart_claude: bool = False
    agent_name: str = ""
    task: str = ""
    account: str = ""
    runtime: str = ""
    command: tuple[str, ...] = ()
