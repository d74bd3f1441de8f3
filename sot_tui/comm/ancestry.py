"""Which agents lie above a process, and whether it is shown to run inside a row's capsule.

Contract, Cases: a process acts as a handle only if at most one agent (claude or codex) lies between it and its row's
capsule, or the top of its process tree; one whose identity names a row only if that row's capsule is an ancestor. An
ancestry that cannot be read in full is refused, never trusted. The judge is pure; the readers only read.
"""

from __future__ import annotations

from enum import Enum

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sot_tui.comm.home import Home

WALK_LIMIT = 64
"""Ancestors a walk reads at most; a longer one is refused (contract, Cases)."""
AGENTS = {"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex"}
"""The agents that count, each with its npm package (contract: "agents are named, not launchers")."""

_CAPSULE = "sot-capsule"
_TOP = ("!end",)
"""A whole command line that ends a walk on Linux as the top does (contract, What the check does not see)."""
_ID_DIGITS = 10
"""Digits of a process id, at most."""
_SCRIPT_ENDINGS = (".js", ".cjs", ".mjs")


class Process(NamedTuple):
    """One process of a walk."""

    args: tuple[str, ...]
    """Its whole argument list, argv[0] first; bytes that are no UTF-8 are kept as surrogates."""
    whole: bool = True
    """False when only its name could be read (macOS); such arguments equal nothing."""


class Walk(NamedTuple):
    """A process's ancestors, nearest first, as far as they could be read."""

    chain: tuple[Process, ...]
    complete: bool
    """Whether the walk came to the top; False also past the limit."""


class Verdict(Enum):
    """How a walk ended for the row it was asked about; the value is the golden table's word."""

    OK = "ok"
    UNREAD = "cannot be read in full"
    OTHER_CAPSULE = "another capsule"
    TOP = "top reached, no capsule"


class Judgement(NamedTuple):
    """What a walk shows."""

    agents: tuple[str, ...]
    """The agents below the first capsule, nearest first; a node host and its own native child are one."""
    verdict: Verdict

    def refusal(self, row: str) -> str | None:
        """Return why the process has no comm identity, or None; `row` is the row its identity names, or empty."""
        if self.verdict is Verdict.UNREAD:
            return (
                "this process's ancestors cannot be read in full, so it has no comm identity; "
                "nothing was read, sent or stamped"
            )
        if self.verdict is not Verdict.OK:
            return (
                f"this process names row {row} but is not shown to run inside that row's capsule, so it has no comm "
                "identity; nothing was read, sent or stamped; start it inside the row, or as its own row"
            )
        if len(self.agents) > 1:
            return (
                f"this process runs under {self.agents[0]}, started inside {self.agents[1]}'s session, so it has no "
                "comm identity — nothing was read, sent or stamped; do not retry or join: an agent that needs its own "
                "handle is started as its own row"
            )
        return None


def judge(walk: Walk, row: str) -> Judgement:
    """Judge a walk for a process whose identity names `row`, or no row when that is empty."""
    agents: list[str] = []
    below: Process | None = None
    for process in walk.chain:
        name = _program(process.args[0]) if process.args else ""
        if name == _CAPSULE:
            ours = not row or (process.whole and _is_capsule_of(process.args, row))
            return Judgement(tuple(agents), Verdict.OK if ours else Verdict.OTHER_CAPSULE)
        if name == "node":
            if not process.whole:
                return Judgement(tuple(agents), Verdict.UNREAD)
            agent, rest = _hosted(process.args)
            if agent and not (below is not None and _is_native_child(below, agent, rest)):
                agents.append(agent)
        elif name in AGENTS:
            agents.append(name)
        below = process
    if not walk.complete:
        return Judgement(tuple(agents), Verdict.UNREAD)
    return Judgement(tuple(agents), Verdict.TOP if row else Verdict.OK)


def _program(path: str) -> str:
    """Return a program's name: the base name in lower case, without a login shell's dash and an `.exe`."""
    return path.replace("\\", "/").rpartition("/")[2].lower().removeprefix("-").removesuffix(".exe")


def _hosted(args: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the agent a node process hosts, or an empty name, and the arguments after the one that names it."""
    for place, argument in enumerate(args[1:], 2):
        path = "/" + argument.replace("\\", "/")
        name = path.rpartition("/")[2].lower().removesuffix(".exe")
        for ending in _SCRIPT_ENDINGS:
            name = name.removesuffix(ending)
        for agent, package in AGENTS.items():
            if name == agent or f"/{package}/" in path.lower():
                return agent, args[place:]
    return "", ()


def _is_native_child(below: Process, agent: str, rest: tuple[str, ...]) -> bool:
    """Tell whether the process just below a node host is that host's own native program."""
    return bool(below.whole and below.args and _program(below.args[0]) == agent and below.args[1:] == rest)


def _is_capsule_of(args: Sequence[str], row: str) -> bool:
    """Tell whether a capsule is the row's: an argument before `--` ends in its folder or lies in its voyages."""
    for argument in args[1:]:
        if argument == "--":
            return False
        path = argument.replace("\\", "/")
        if path.endswith(f"/workspaces/{row}") or f"/workspaces/{row}/voyages/" in path:
            return True
    return False


# -- the readers --------------------------------------------------------------------------------------------------


def walk_from(home: Home, pid: int) -> Walk:
    """Read the ancestors of the process `pid`, nearest first."""
    listing = home.procs.listing()
    return _walk_in_proc(home, pid) if listing is None else walk_in_listing(listing, pid)


def lineage(home: Home, pid: int) -> Walk:
    """Read the process `pid` and its ancestors, itself first."""
    above = walk_from(home, pid)
    listing = home.procs.listing()
    own = _command_line(home, pid) if listing is None else _listed(listing, pid)
    return Walk((own, *above.chain), above.complete) if own is not None else Walk(above.chain, complete=False)


def not_a_person(home: Home, pid: int) -> str:
    """Return what keeps the process `pid` from acting for a person; empty when nothing does.

    Contract, Cases: agents are named, and what cannot be read in full is refused, never trusted. A process below an
    agent, or inside a row's capsule, does what its session says, and not what a person asked for.
    """
    walk = lineage(home, pid)
    judged = judge(walk, "")
    if judged.agents:
        return f"it runs below {judged.agents[0]}, an agent"
    # A command line that is empty belongs to a process that is just becoming another program.
    if judged.verdict is Verdict.UNREAD or not all(process.args for process in walk.chain):
        return "its ancestors cannot be read in full"
    inside = any(process.args and _program(process.args[0]) == _CAPSULE for process in walk.chain)
    return "it runs inside a row" if inside else ""


def parent_name(home: Home, pid: int) -> str:
    """Return the program name of a process's parent, or nothing when it cannot be read."""
    chain = walk_from(home, pid).chain
    return _program(chain[0].args[0]) if chain and chain[0].args else ""


def _walk_in_proc(home: Home, pid: int) -> Walk:
    chain: list[Process] = []
    child = _status(home, pid)
    while child is not None:
        parent, started = child
        if parent == 0:
            return Walk(tuple(chain), complete=True)
        if len(chain) == WALK_LIMIT:
            break
        above, seen = None, _status(home, parent)
        # A parent that started after its child is a later process that got the same id.
        if seen is not None and seen[1] <= started:
            above = _command_line(home, parent)
        if above is None:
            # The parent may have just exited, and the child is another's now: only then is there something new to read.
            again = _status(home, pid)
            if again is None or again == child:
                break
            child = again
            continue
        if above.args == _TOP:
            return Walk(tuple(chain), complete=True)
        chain.append(above)
        pid, child = parent, seen
    return Walk(tuple(chain), complete=False)


def _status(home: Home, pid: int) -> tuple[int, int] | None:
    """Return a process's parent and start tick, None when they cannot be read or it has ended."""
    try:
        status = home.disk.read(f"/proc/{pid}/stat")
    except OSError:
        return None
    fields = status[status.rfind(b")") + 1 :].split()
    try:
        return None if fields[0] in {b"Z", b"X"} else (int(fields[1]), int(fields[19]))
    except (IndexError, ValueError):
        return None


def _command_line(home: Home, pid: int) -> Process | None:
    try:
        line = home.disk.read(f"/proc/{pid}/cmdline")
    except OSError:
        return None
    if not line:
        return Process(())
    return Process(tuple(line.removesuffix(b"\0").decode("utf-8", "surrogateescape").split("\0")))


def walk_in_listing(listing: str, pid: int) -> Walk:
    """Return the ancestors of `pid` in what macOS `ps` prints: process, parent and command, one process on a line.

    Its commands are one text, split at blanks. A command in parentheses stands for arguments that `ps` cannot read.
    A process that is listed twice is none: an argument with a line break in it may have forged one of the two.
    """
    listed, doubled = _table(listing)
    chain: list[Process] = []
    while pid in listed and pid not in doubled:
        pid = listed[pid][0]
        if pid == 0:
            return Walk(tuple(chain), complete=True)
        if len(chain) == WALK_LIMIT or pid not in listed:
            break
        chain.append(_of_command(listed[pid][1]))
    return Walk(tuple(chain), complete=False)


def _listed(listing: str, pid: int) -> Process | None:
    listed, doubled = _table(listing)
    return _of_command(listed[pid][1]) if pid in listed and pid not in doubled else None


def _table(listing: str) -> tuple[dict[int, tuple[int, str]], set[int]]:
    """Return each listed process's parent and command, and the processes that are listed twice."""
    listed: dict[int, tuple[int, str]] = {}
    doubled: set[int] = set()
    for line in listing.split("\n"):
        number, _, rest = line.lstrip(" ").partition(" ")
        parent, _, command = rest.lstrip(" ").partition(" ")
        if _is_id(number) and _is_id(parent):
            if int(number) in listed:
                doubled.add(int(number))
            listed[int(number)] = (int(parent), command)
    return listed, doubled


def _of_command(command: str) -> Process:
    text = command.strip(" ")
    known = not (text.startswith("(") and text.endswith(")"))
    return Process(tuple(filter(None, text.split(" "))) if known else (text[1:-1],), known)


def _is_id(word: str) -> bool:
    return word.isdecimal() and len(word) <= _ID_DIGITS
