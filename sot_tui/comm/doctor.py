"""Is it set up? One judgement for each thing that mail, work state and the dashboard stand on.

Every judgement is pure: what was found goes in, one finding comes out, with the fact it rests on and the very next step
as a command where something is to be done. Looking is `verbs/doctor.py`'s. Nothing here is true by default: what could
not be read is a finding of its own, and never "ok".
"""

from __future__ import annotations

import errno
import os
import stat
from enum import Enum

from sot_tui.comm import mounts, names, wire
from sot_tui.comm.clock import CLOCK_SLACK_SECS, age_text
from sot_tui.comm.disk import FOLDER_MODE
from sot_tui.comm.endpoints import Remote
from sot_tui.comm.fleet import WEDGED_SECS
from sot_tui.comm.home import PROTOCOL_VERSION
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.mounts import NETWORK_KINDS, NFS_KINDS, NO_MANAGER, Mount
from sot_tui.comm.program import NAME, NAMED_BY
from sot_tui.comm.proof import UNREAD
from sot_tui.comm.registry import LIVE_SECS, Registry, Unread
from sot_tui.comm.registry_lock import LockIs
from sot_tui.comm.scripts import SCRIPTS, Stand, Standing
from sot_tui.comm.services import Stand as Stands
from sot_tui.comm.text import visible
from sot_tui.comm.topology import Topology, Unlisted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sot_tui.comm.home import Home
    from sot_tui.comm.links import Concern, LinkStanding
    from sot_tui.comm.mounts import LockRecord
    from sot_tui.comm.proof import Record
    from sot_tui.comm.registry_lock import LockLook

SMALLEST, SMALL = (50, 16), (80, 24)
"""Columns and lines below which the dashboard has no room, and from which it has all of it (product, The nav)."""

ROOM_BYTES = 1 << 20
"""Free bytes below which a file system is nearly full: the registry of a big fleet, twice, and a day's mail."""

JOIN, DASHBOARD, CLEAR = "sot-tui join", "sot-tui", "sot-tui lock-clear"
PUSH, PUSHES = "sot-tui notify test", "sot-tui info"
_MACHINE_ID = "sudo systemd-machine-id-setup"


class Level(Enum):
    """How much a finding asks for."""

    OK = "ok"
    WARN = "warn"
    """It works, or can, but something is less than it could be."""
    FAULT = "FAULT"
    """Something does not work until a person does something."""


class Finding(NamedTuple):
    """What one look says."""

    level: Level
    what: str
    """What was looked at."""
    fact: str
    """What was found. It may hold foreign text."""
    step: str = ""
    """The next step, a command; empty when there is nothing to be done."""


class Entry(NamedTuple):
    """A file or folder, as a look found it."""

    fault: str = ""
    """Why it could not be looked at; empty when it could, or when there is nothing."""
    mode: int | None = None
    """Kind and permissions; None when there is nothing at the path, or when it could not be looked at."""
    owner: int = -1
    """The user it belongs to."""
    dangling: bool = False
    """A link that leads nowhere."""


class Room(NamedTuple):
    """What is left on a file system for this user."""

    free_bytes: int
    free_files: int | None
    """Inodes; None on one that does not count them."""


class Fault(NamedTuple):
    """Why something at a path could not be read."""

    why: str
    errno: int = 0


class Terminal(NamedTuple):
    """The terminal that the dashboard would draw on, by what the environment says."""

    there: bool
    """Whether one of the three streams is a terminal."""
    term: str = ""
    true_colour: bool = False
    no_colour: bool = False
    utf8: bool = False
    size: tuple[int, int] | None = None
    """Columns and lines; None when it could not be asked."""
    clipboard: str = ""
    """What the tmux around it says of `set-clipboard`; empty without one, or where it says nothing."""


def word(text: str) -> str:
    """Return a text as one word of a shell command that names it exactly and acts on no terminal."""
    import shlex  # noqa: PLC0415  (a command that finds nothing to do needs no quoting)

    if text.isprintable() and visible(text, len(text)) == text:
        return shlex.quote(text)
    signs = (f"\\x{byte:02x}" if byte < 0x20 or byte > 0x7E or byte in b"'\\" else chr(byte) for byte in _bytes(text))
    return "$'" + "".join(signs) + "'"


def _bytes(text: str) -> bytes:
    return os.fsencode(text.encode("utf-8", "surrogateescape"))


# -- the comm home ----------------------------------------------------------------------------------------------------


def of_home(path: str, found: Entry, uid: int) -> Finding:
    """Judge the folder itself; only when it is OK, or WARN for being open, anything in it can be judged."""
    what, quoted = "comm home", word(path)
    if found.dangling:
        return Finding(Level.FAULT, what, f"{path} is a link that leads nowhere", f"rm {quoted}")
    if found.fault:
        return Finding(Level.FAULT, what, f"{path} cannot be looked at: {found.fault}", f"ls -ld {quoted}")
    if found.mode is None:
        return Finding(Level.WARN, what, f"{path} is not there yet; the first join makes it", JOIN)
    if not stat.S_ISDIR(found.mode):
        return Finding(Level.FAULT, what, f"{path} is no folder", f"mv {quoted} {word(path + '.aside')}")
    if found.owner != uid:
        fact = f"{path} belongs to another account (uid {found.owner})"
        return Finding(Level.FAULT, what, fact, "unset SOT_COMM_HOME")
    mode = stat.S_IMODE(found.mode)
    if mode & FOLDER_MODE != FOLDER_MODE:
        return Finding(Level.FAULT, what, f"{path} is {mode:04o}, so you cannot use it", f"chmod 700 {quoted}")
    if mode != FOLDER_MODE:
        return Finding(Level.FAULT, what, f"{path} is {mode:04o}, open to others", f"chmod -R go-rwx {quoted}")
    return Finding(Level.OK, what, f"{path} ({mode:04o}, yours)")


def of_modes(home: Home, open_entries: Sequence[str]) -> Finding:
    """Judge what lies in the comm home: behind a closed folder an open entry harms nobody, but it should not be."""
    if not open_entries:
        return Finding(Level.OK, "modes", "every entry is closed to others")
    tops = sorted({name.partition("/")[0] for name in open_entries})
    more = f" and {len(open_entries) - 1} more" if len(open_entries) > 1 else ""
    are = "are" if more else "is"
    fact = f"{open_entries[0]}{more} {are} open to others, behind the closed comm home"
    paths = " ".join(word(f"{home.path}/{name}") for name in tops)
    return Finding(Level.WARN, "modes", fact, f"chmod -R go-rwx {paths}")


def of_mount(path: str, mount: Mount | None, *, linux: bool) -> Finding:
    """Judge the mount that the comm home lies on."""
    if mount is None:
        if not linux:
            return Finding(Level.OK, "mount", "not told by this system")
        return Finding(Level.WARN, "mount", f"which mount {path} lies on cannot be told", "cat /proc/self/mountinfo")
    told = f"{mount.kind}, {mount.source} mounted on {mount.point}"
    if "ro" in mount.options:
        return Finding(Level.FAULT, "mount", f"{told}, read-only", f"findmnt --target {word(path)}")
    if mount.kind in NFS_KINDS and not mounts.locks_at_server(mount):
        why = next((one for one in mount.options if one.startswith("local_lock=")), "NFS before version 4")
        why = "NFS before version 4" if why == "local_lock=none" else why
        fact = f"{told}: its locks exclude no other box ({why}), so every box but one files through the hub"
        return Finding(Level.WARN, "mount", fact, f"findmnt --target {word(path)} -o OPTIONS")
    return Finding(Level.OK, "mount", told)


def of_room(path: str, room: Room | Fault, what: str = "room") -> Finding:
    """Judge whether there is room for a line of mail: on a full file system nothing is filed and nobody joins."""
    if isinstance(room, Fault):
        return Finding(Level.WARN, what, f"how much is left for {path} cannot be told: {room.why}", f"df {word(path)}")
    if room.free_files == 0:
        return Finding(Level.FAULT, what, f"no file can be made in {path}: no inode is left", f"df -i {word(path)}")
    if room.free_bytes == 0:
        return Finding(Level.FAULT, what, f"the file system of {path} is full", f"df -h {word(path)}")
    if room.free_bytes < ROOM_BYTES:
        fact = f"only {room.free_bytes >> 10} KiB are left for {path}"
        return Finding(Level.WARN, what, fact, f"df -h {word(path)}")
    return Finding(Level.OK, what, f"{room.free_bytes >> 20} MiB are left")


def of_proof(me: Record, mount: Mount | None, *, fresh: bool) -> Finding:
    """Judge whether this box proves deaths in this comm home; where none is proved, a dead holder's lock stays."""
    what = "proof of death"
    if me.proves:
        return Finding(Level.OK, what, "this box proves deaths here, so a dead holder's lock is cleared")
    told = "this box proves no deaths here, so nothing here clears a dead holder's lock"
    if not fresh:
        kind = mount.kind if mount else "its mount"
        on = f"a read on {kind} is not known to be fresh"
        return Finding(Level.WARN, what, f"{told}: {on}", "export SOT_COMM_HOME=/a/folder/on/a/local/disk")
    if me.machine == UNREAD:
        return Finding(Level.WARN, what, f"{told}: this machine has no id", _MACHINE_ID)
    return Finding(Level.WARN, what, f"{told}: /proc does not tell who this process is", "ls -l /proc/self")


# -- the registry -----------------------------------------------------------------------------------------------------


def of_registry(home: Home, found: Registry | Unread, *, dangling: bool = False) -> Finding:
    """Judge whether the registry reads as one; `dangling` says that a link that leads nowhere stands at its path.

    It is moved aside only when it was seen to be no registry: one that merely could not be read may be whole.
    """
    if isinstance(found, Registry):
        handles = len(found.agents)
        return Finding(Level.OK, "registry", f"it is read, and lists {handles} handle{'' if handles == 1 else 's'}")
    if found.missing and dangling:
        fact = f"{home.registry} is a link that leads nowhere"
        return Finding(Level.FAULT, "registry", fact, f"rm {word(home.registry)}")
    if found.missing:
        return Finding(Level.WARN, "registry", "there is none yet; the first join makes it", JOIN)
    fact = f"it could not be read: {found.why}"
    step = _way_to_read(home.registry, Fault(found.why, found.errno))
    if step.startswith("mv "):
        fact += "; moved aside, the next comm command creates an empty one"
    return Finding(Level.FAULT, "registry", fact, step)


_NOT_ITS_KIND = frozenset({0, errno.ENXIO, errno.EISDIR, errno.EFBIG})
"""What says that a thing was seen and is not what it should be; any other error says nothing about it."""


def _way_to_read(path: str, fault: Fault) -> str:
    """Return the next step with something that could not be read."""
    if fault.errno in {errno.EACCES, errno.EPERM}:
        return f"chmod 600 {word(path)}"
    if fault.errno in _NOT_ITS_KIND:
        return f"mv {word(path)} {word(path + '.aside')}"
    return f"ls -l {word(path)}"


def of_version(version: object) -> Finding:
    """Judge the protocol that the registry names."""
    if version == PROTOCOL_VERSION and not isinstance(version, bool):
        return Finding(Level.OK, "protocol", f"v{PROTOCOL_VERSION} here and in the registry")
    said = "names no version" if version is None else f"names v{version}"
    fact = f"the registry {said}, this client speaks v{PROTOCOL_VERSION}: update all machines"
    return Finding(Level.WARN, "protocol", fact, "sot-tui --version")


_LOOK = "ls -ld"
_BY_HAND = {LockIs.OLDER_VERSION: "rmdir", LockIs.UNPARSABLE: "rm"}
"""What is done about a lock that no reclaim can clear, once its holder is known to be dead (contract, FAILED)."""


def of_lock(path: str, look: LockLook, *, here: bool) -> Finding:
    """Judge the registry lock at `path`; `here` says whether its holder is named as of this very machine."""
    what = "registry lock"
    if look.state is LockIs.FREE:
        return Finding(Level.OK, what, "free")
    age = age_text(look.age_s)
    if look.record is None:
        fact = f"{look.state.value} for {age}: {look.verdict}. {look.recovery}"
        return Finding(Level.FAULT, what, fact, f"{_BY_HAND.get(look.state, _LOOK)} {word(path)}")
    who = f"held for {age} by {look.record.name} pid {look.record.pid}"
    if look.provable:
        return Finding(Level.FAULT, what, f"{who}: {look.verdict}", CLEAR)
    if look.age_s < WEDGED_SECS:
        return Finding(Level.OK, what, f"{who}: a write of this moment")
    step = f"ps -o pid,lstart,args -p {look.record.pid}" if here else f"ssh {word(look.record.name)} {CLEAR}"
    return Finding(Level.WARN, what, f"{who}: {look.verdict}. {look.recovery}", step)


def is_of_here(look: LockLook, me: Record) -> bool:
    """Tell whether a lock's holder is named as of this very machine, or might be by its name alone."""
    if look.record is None:
        return False
    if UNREAD in {look.record.machine, me.machine}:
        return look.record.name == me.name
    return look.record.machine == me.machine


# -- mail -------------------------------------------------------------------------------------------------------------


def of_filing(home: Home, own: str, record: LockRecord | str | None, *, hub: bool, linux: bool) -> Finding:
    """Judge whether a session here files mail by itself.

    `record` is what `inbox-lock-manager` says, None without one, or the reason why it could not be read.
    """
    what = "filing mail"
    if own == NO_MANAGER:
        return Finding(Level.FAULT, what, mounts.no_machine_id(home), _MACHINE_ID)
    if isinstance(record, str):
        fact = f"the inbox lock record at {home.lock_manager} could not be read: {record}"
        return Finding(Level.FAULT, what, fact, f"ls -l {word(home.lock_manager)}")
    if record is None and hub:
        return Finding(Level.WARN, what, "no inbox lock record yet; the dashboard writes it when it starts", DASHBOARD)
    if not hub and (record is None or record.manager != own):
        fact = "this box is no hub of the comm folder and shares no lock manager with it, so only a daemon files here"
        return Finding(Level.WARN, what, fact, f"cat {word(home.lock_manager)}")
    if record is not None and record.manager != own:
        if record.writer == home.procs.machine_id():
            fact = f"the inbox lock record names {record.manager}, from before a remount; the dashboard renews it"
            return Finding(Level.WARN, what, fact, DASHBOARD)
        fact = mounts.another_manager(home, record, own)
        return Finding(Level.FAULT, what, fact, f"rm {word(home.lock_manager)}")
    if not linux:
        return Finding(Level.WARN, what, f"{own}; on this system a daemon files, not a session itself", DASHBOARD)
    return Finding(Level.OK, what, f"this box files by itself: {own}")


def of_inboxes(home: Home, unread: Sequence[tuple[str, Fault]]) -> Finding:
    """Judge whether the inbox of each handle that is joined can be read; one that cannot is not empty."""
    what = "inboxes"
    if not unread:
        return Finding(Level.OK, what, "each one that there is can be read")
    handle, fault = unread[0]
    more = f", and {len(unread) - 1} more" if len(unread) > 1 else ""
    fact = f"the inbox of @{handle} could not be read: {fault.why}{more}"
    return Finding(Level.FAULT, what, fact, _way_to_read(home.inbox(handle), fault))


# -- this box ---------------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """The newest stamp there is."""

    of: str
    """Whose it is: `@handle on host`, or a file."""
    at: float


def of_clock(now: float, newest: Sequence[Seen]) -> Finding:
    """Judge this box's clock by the newest stamps of others and the file server's time on the registry.

    A stamp in the future shows that this clock is behind, or another one ahead. One that is ahead of all others cannot
    be told from a quiet comm home.
    """
    what = "clock"
    ahead = max(newest, key=lambda seen: seen.at, default=None)
    if ahead is None or ahead.at - now <= CLOCK_SLACK_SECS:
        return Finding(Level.OK, what, "no stamp lies in the future")
    by = ahead.at - now
    fact = f"the stamp of {ahead.of} lies {age_text(by)} in the future: this clock is behind, or that one ahead"
    if by < LIVE_SECS:
        return Finding(Level.WARN, what, fact, "timedatectl status")
    return Finding(Level.FAULT, what, f"{fact}; live handles may seem stale", "timedatectl status")


def of_host(host: str, fault: str) -> Finding:
    """Judge the name that this box goes by; `fault` says why it has none."""
    if fault:
        return Finding(Level.FAULT, "host", fault, "unset SOT_SELF_HOST" if "SOT_SELF_HOST=" in fault else "hostname")
    return Finding(Level.OK, "host", host)


def of_operator(handle: str, wanted: str, path: str) -> Finding:
    """Judge the person's own handle; an empty one cannot be taken."""
    if handle:
        return Finding(Level.OK, "operator", f"@{handle}")
    fact = f"the settings name {wanted!r}, which is no handle ({names.HANDLE_LIMIT} of A-Z a-z 0-9 . _ - at most)"
    return Finding(Level.FAULT, "operator", fact, f"${{EDITOR:-vi}} {word(path)}")


def of_settings(path: str, warnings: Sequence[str], *, there: bool) -> tuple[Finding, ...]:
    """Judge the settings file: one finding for each warning."""
    if warnings:
        step = f"${{EDITOR:-vi}} {word(path)}"
        return tuple(Finding(Level.WARN, "settings", warning, step) for warning in warnings)
    return (Finding(Level.OK, "settings", path if there else f"{path} is not there, so every default counts"),)


def of_variable(sentence: str, name: str) -> Finding:
    """Judge a variable of the environment that makes no sense; whatever needs it fails."""
    return Finding(Level.FAULT, "environment", sentence, f"unset {name}")


def of_state_root(path: str, mount: Mount | None, found: Entry) -> Finding:
    """Judge the folder of what is kept on this box alone."""
    what = "state root"
    if found.fault:
        return Finding(Level.FAULT, what, f"{path} cannot be looked at: {found.fault}", f"ls -ld {word(path)}")
    if found.mode is not None and not stat.S_ISDIR(found.mode):
        return Finding(Level.FAULT, what, f"{path} is no folder", f"mv {word(path)} {word(path + '.aside')}")
    if mount is not None and mount.kind in NETWORK_KINDS:
        fact = f"{path} lies on {mount.kind}, which other boxes share; it is this box's own"
        return Finding(Level.WARN, what, fact, "export XDG_STATE_HOME=/a/folder/on/a/local/disk")
    return Finding(Level.OK, what, path if found.mode is not None else f"{path} (made when it is needed)")


def of_set_aside(path: str, fault: str) -> tuple[Finding, ...]:
    """Judge what the person set aside; a file that cannot be read hides no need, and only that is worth a line."""
    if not fault:
        return ()
    return (Finding(Level.WARN, "set aside", fault, f"mv {word(path)} {word(path + '.aside')}"),)


def of_command(name: str, found: str, own: str, link: str) -> Finding:
    """Judge what the scripts in `bin/` run here, `found` under the `name`: without it none of them does anything.

    `own` is the path of this very command, `link` what has it found by its name.
    """
    what = "command"
    if not found and name != NAME:
        fact = f"{NAMED_BY} names {name}, which cannot be run, so the scripts in bin/ run nothing"
        return Finding(Level.WARN, what, fact, f"unset {NAMED_BY}")
    if not found:
        fact = f"{name} is not on the search path, so neither a person nor the scripts in bin/ find it"
        return Finding(Level.WARN, what, fact, link)
    if os.path.realpath(found) != os.path.realpath(own):
        fact = f"the scripts in bin/ run {found}, which is another one than this, {own}"
        return Finding(Level.WARN, what, fact, f"export {NAMED_BY}={word(own)}")
    return Finding(Level.OK, what, f"{name} is {found}")


def of_scripts(found: Standing) -> Finding:
    """Judge the scripts in `bin/`: what a session is told to run has to be there."""
    what, install = "scripts", "sot-tui install"
    some = f"{', '.join(found.names[:3])}{', …' if len(found.names) > 3 else ''}"
    said = f"VERSION says {found.version!r}" if found.version else "there is no VERSION"
    match found.stand:
        case Stand.INSTALLED:
            return Finding(Level.OK, what, f"all {len(SCRIPTS)} in {found.folder}, of {found.version}")
        case Stand.MISSING:
            fact = f"none in {found.folder}, so a session that is told to run comm-poll.sh finds none"
            return Finding(Level.WARN, what, fact, install)
        case Stand.INCOMPLETE:
            return Finding(Level.WARN, what, f"not there in {found.folder}: {some}", install)
        case Stand.OTHER_VERSION:
            return Finding(Level.WARN, what, f"another release wrote those in {found.folder}: {said}", install)
        case Stand.FOREIGN:
            fact = f"another install's stand in {found.folder} ({some}); {said}; ours would replace them"
            return Finding(Level.WARN, what, fact, f"{install} --force")
        case Stand.UNREAD:
            return Finding(Level.FAULT, what, f"{found.folder}: {found.fault}", f"ls -la {word(found.folder)}")


def role(host: str, found: Topology | Unlisted | None) -> str:
    """Return what a box is among the others, in words; empty when its topology does not tell."""
    if found is None:
        return "on its own: there is no list of boxes"
    if isinstance(found, Unlisted) or host not in found.boxes:
        return ""
    if host == found.hub:
        return "the hub"
    kind = "a frontend" if found.boxes[host].frontend else "a box"
    return f"{kind} of the hub {found.hub}"


def of_topology(path: str, host: str, found: Topology | Unlisted | None) -> tuple[Finding, ...]:
    """Judge the list of boxes: one that cannot be used names no hub and gives no way to it."""
    what, edit = "topology", f"${{EDITOR:-vi}} {word(path)}"
    if isinstance(found, Unlisted):
        return (Finding(Level.FAULT, what, found.why, edit),)
    told = role(host, found)
    if not told:
        return (Finding(Level.FAULT, what, f"{path} does not list this box, {host}", edit),)
    warnings = () if found is None else found.warnings
    warned = (Finding(Level.WARN, what, f"{path}: {warning}", edit) for warning in warnings)
    return (Finding(Level.OK, what, f"this box is {told}"), *warned)


def of_daemon(socket: str, endpoint: str, notes: Sequence[str]) -> Finding:
    """Judge where this box's daemon is asked; that none runs is well, for mail on this box needs none."""
    if notes:
        return Finding(Level.FAULT, "daemon", notes[0], "unset SOT_SPAWN_ENDPOINT")
    if endpoint:
        return Finding(Level.OK, "daemon", endpoint)
    return Finding(Level.OK, "daemon", f"none listens at {socket or 'any path'}; a dashboard or `sotd run` does")


def of_relay(endpoint: str, notes: Sequence[str], missing: str = "", hub: str = "") -> Finding:
    """Judge how the hub is asked; without a list of boxes it is this box's own daemon.

    `missing` is the path of a socket that should lead to `hub` and is not there.
    """
    if notes:
        return Finding(Level.WARN, "relay", notes[0], "unset SOT_RELAY_ENDPOINT SOT_SPAWN_ENDPOINT")
    if missing:
        fact = f"{endpoint} is not there: nothing carries the socket of {hub} to this box"
        to = f"{word(missing)}:$(ssh -- {word(hub)} sotd session-socket-path sot)"
        return Finding(Level.FAULT, "relay", fact, f"ssh -f -N -L {to} -- {word(hub)}")
    return Finding(Level.OK, "relay", endpoint or "the hub is this box, where no daemon listens")


def of_links(
    concern: Concern, standing: LinkStanding | None, fault: str, log: str, host: tuple[str, int] = ("", 0)
) -> tuple[Finding, ...]:
    """Judge this box's link to its hub, or those of others to it; without one no box reaches the sessions behind it.

    `standing` is what its daemon says, None without one; `fault` why it does not say it; `log` where it writes; `host`
    what has the duties here, a `daemon` or a `dashboard`, and its process.
    """
    what = "link" if concern.hub else "links"
    if fault:
        return (Finding(Level.WARN, what, f"how it stands is not known: {fault}", f"tail {word(log)}"),)
    if standing is None:
        lacks = f"holds its link to {concern.hub}" if concern.hub else "takes the links of the other boxes"
        fact = f"no daemon runs here that {lacks}, so mail passes on to no session behind it"
        return (Finding(Level.WARN, what, fact, "sotd run"),)
    return (_of_own_link(concern.hub, standing, host),) if concern.hub else (_of_others(standing),)


def of_behind_link(path: str, mount: Mount | None) -> Finding:
    """Judge the comm home of a box whose daemon may not append there itself: it refuses whatever the hub offers it."""
    kind = mount.kind if mount is not None else "its mount"
    fact = f"{path} lies on {kind}, not known as this box's own disk, so its daemon is a guest there and files no offer"
    return Finding(Level.FAULT, "link", fact, "export SOT_COMM_HOME=/a/folder/on/a/local/disk")


def _of_own_link(hub: str, standing: LinkStanding, host: tuple[str, int]) -> Finding:
    age = age_text(standing.since_s)
    if standing.hub != hub:
        held = f"one to {standing.hub}" if standing.hub else "none"
        what, pid = host
        anew = "close the dashboard (q) and open it anew" if what == "dashboard" else "restart it"
        holds = f"the {what or 'daemon'} holds {held}, as it was when it started"
        fact = f"the list of boxes has a link to {hub}, and {holds}: {anew}"
        step = "sot-tui" if what == "dashboard" else f"kill {pid} && sot-tui" if pid else "sot-tui service status"
        return Finding(Level.FAULT, "link", fact, step)
    if standing.up:
        return Finding(Level.OK, "link", f"it leads to {hub}, and stands for {age}")
    if not standing.why:
        return Finding(Level.WARN, "link", f"it leads to {hub}, and is just being tried", "sot-tui doctor")
    again = f"next try in {standing.next_try_s} s" if standing.next_try_s else "it is just being tried"
    fact = f"it leads to {hub}, and does not stand for {age}: {standing.why}; {again}"
    if standing.why.startswith("hello refused"):
        return Finding(Level.FAULT, "link", fact, f"ssh -- {word(hub)} sot-tui doctor")
    target, bridge = wire.bridge_command(Remote(hub, ""), shared=())[-2:]
    return Finding(Level.FAULT, "link", fact, f"ssh -o BatchMode=yes -- {word(target)} {word(f'{bridge} </dev/null')}")


def _of_others(standing: LinkStanding) -> Finding:
    linked = f"linked: {', '.join(standing.linked) or 'nobody'}"
    if not standing.missing:
        return Finding(Level.OK, "links", linked)
    fact = f"not linked: {', '.join(standing.missing)}; {linked}"
    return Finding(Level.WARN, "links", fact, f"ssh -- {word(standing.missing[0])} sot-tui doctor")


class Service(NamedTuple):
    """How the service file of the daemon stands."""

    path: str
    stand: Stands
    lacks: tuple[str, ...] = ()
    """What it has to say for the rows, and does not."""
    enabled: bool = False
    lingers: bool | None = None
    """Whether it goes on after the last logout; None where that cannot be told, or means nothing."""
    fault: str = ""
    """Why it says nothing."""
    sender: str = ""
    """Whether its daemon can push, in words."""
    left_out: str = ""
    """What of this environment's secrets it cannot hold, and what to do; empty when that is none."""


_WITHOUT = {
    "KillMode=process": (Level.FAULT, "to stop or restart the daemon ends every row"),
    "AbandonProcessGroup": (Level.FAULT, "to stop or restart the daemon ends every row"),
    "OOMPolicy=continue": (Level.WARN, "a row that takes too much memory ends the daemon, too"),
}
"""What follows when a service file does not say this."""


def of_service(found: Service) -> tuple[Finding, ...]:
    """Judge the service file: that no row ends with the daemon, and that both outlive a logout; none is well."""
    what = "service"
    if found.fault:
        return (Finding(Level.WARN, what, found.fault, f"ls -l {word(found.path)}"),)
    if found.stand is Stands.MISSING:
        fact = "none is installed: a dashboard does the duties, and leaves them to `sotd run` while rows run"
        return (Finding(Level.OK, what, fact),)
    by_hand = found.stand in {Stands.FOREIGN, Stands.CHANGED}
    install = f"sot-tui service install{' --force' if by_hand else ''}"
    findings = [
        Finding(_WITHOUT[one][0], what, f"{found.path} does not say {one}: {_WITHOUT[one][1]}", install)
        for one in found.lacks
    ]
    if found.stand is Stands.OLDER:
        findings.append(Finding(Level.WARN, what, f"{found.path} is {found.stand.value}", install))
    if not findings:
        pushes = f"; its daemon {found.sender}" if found.sender else ""
        findings.append(Finding(Level.OK, what, f"{found.path}{', enabled' if found.enabled else ''}{pushes}"))
    if found.left_out:
        findings.append(Finding(Level.WARN, what, found.left_out, "sot-tui service install"))
    if found.lingers is False:
        fact = "off, so the daemon, and what it started, ends with your last logout"
        findings.append(Finding(Level.WARN, "linger", fact, "loginctl enable-linger"))
    elif found.lingers:
        findings.append(Finding(Level.OK, "linger", "on: the daemon outlives a logout"))
    return tuple(findings)


# -- the notifier -----------------------------------------------------------------------------------------------------


class Unlike(NamedTuple):
    """A process that pushes, or would, and began with another environment than this one."""

    pid: int
    what: str
    """`dashboard`, `daemon` or `notifyd`. Foreign text."""
    managed: bool
    """Whether a service manager started it."""
    sends: bool
    """Whether it has a sender at all."""
    same: bool
    """Whether it is the one of this environment."""
    settings: str
    """The settings file that it reads, where it is another one than is read here. Foreign text."""


def of_unlike(found: Unlike, *, here: bool) -> Finding:
    """Judge a process that began with another environment: that this one alone names no sender is no harm."""
    facts = []
    if not found.same:
        other = "sends to another topic, or with another token, than this environment names"
        only = "has a sender, and this environment names none"
        facts.append((other if here else only) if found.sends else "has no sender, and this environment names one")
    if found.settings:
        facts.append(f"reads its quiet hours in {found.settings}")
    until = ", until you close it (q) and open it anew" if found.what == "dashboard" else ""
    fact = f"the {found.what} of pid {found.pid} {' and '.join(facts)}; it keeps what it was started with{until}"
    if not (here or found.settings):
        return Finding(Level.OK, "pushes", fact)
    return Finding(Level.WARN, "pushes", fact, _anew(found))


def _anew(found: Unlike) -> str:
    """Return the command by which a process begins with this environment; no row ends with any of them."""
    if found.managed:
        return "sot-tui service install && systemctl --user daemon-reload && systemctl --user restart sotd.service"
    if found.what == "dashboard":
        return "sot-tui"
    return f"kill {found.pid} && sot-tui{' notifyd' if found.what == 'notifyd' else ''}"


class Notifier(NamedTuple):
    """How the pushes to a person who is away stand."""

    sender: bool
    """Whether somebody is configured to send to."""
    disabled: bool
    served_by: str
    """Who takes the hooks' events, as `daemon, pid 7`; empty when none of ours does. Foreign text."""
    quiet: str
    """The quiet hours; empty when there are none."""
    quiet_now: bool
    held: int | None
    """Pushes that wait for their end; None when that cannot be read."""
    last: str
    """What came of the last push; empty when there was none. Foreign text."""
    last_failed: bool
    unlike: tuple[Unlike, ...] = ()
    """Who pushes otherwise than this environment says."""
    doubts: tuple[str, ...] = ()
    """What of the environment cannot be used, a sentence each."""


def of_notifier(found: Notifier) -> tuple[Finding, ...]:
    """Judge the pushes: that nobody is configured is well, that the last one was not delivered is not."""
    what = "pushes"
    findings = [Finding(Level.WARN, what, doubt, "env | grep ^STEWARD_NTFY_") for doubt in found.doubts]
    if found.disabled:
        findings.append(Finding(Level.OK, what, "switched off by $STEWARD_NTFY_DISABLED"))
    elif not found.sender:
        nothing = "nothing is pushed and no hook is served"
        if any(one.sends for one in found.unlike):
            nothing = "what is started from here pushes nothing"
        findings.append(Finding(Level.OK, what, f"no sender is configured, so {nothing}"))
    else:
        serves = f"served by the {found.served_by}" if found.served_by else "each hook sends by itself: nothing serves"
        fact = f"a sender is configured; {serves}; last push: {found.last or 'none'}"
        step = PUSH if found.last_failed else ""
        findings.append(Finding(Level.WARN if found.last_failed else Level.OK, what, fact, step))
    if found.held is None:
        findings.append(Finding(Level.WARN, "quiet hours", "what is held back cannot be read", PUSHES))
    elif found.quiet or found.held:
        now = ", now" if found.quiet_now else ""
        findings.append(Finding(Level.OK, "quiet hours", f"{found.quiet or 'none'}{now}; {found.held} held back"))
    findings += [of_unlike(one, here=found.sender) for one in found.unlike]
    return tuple(findings)


# -- the agents -------------------------------------------------------------------------------------------------------


class Hooks(NamedTuple):
    """How an agent's settings stand to the hooks it is to run."""

    agent: str
    path: str
    """Its settings file."""
    here: bool
    """Whether the agent has a folder here at all."""
    missing: int = 0
    """How many of our entries do not stand there as an install would put them."""
    total: int = 0
    fault: str = ""
    """Why the settings say nothing."""


def of_hooks(found: Hooks) -> Finding:
    """Judge whether an agent runs our hooks; a session without them says nothing of its state by itself."""
    what = f"hooks of {found.agent}"
    if not found.here:
        return Finding(Level.OK, what, f"{found.agent} is not here: there is no {os.path.dirname(found.path)}")
    if found.fault:
        return Finding(Level.FAULT, what, found.fault, f"${{EDITOR:-vi}} {word(found.path)}")
    if not found.missing:
        return Finding(Level.OK, what, f"all {found.total} stand in {found.path}")
    none = "none" if found.missing == found.total else f"only {found.total - found.missing}"
    fact = f"{none} of {found.total} stand in {found.path}, so its sessions may show no state"
    return Finding(Level.WARN, what, fact, f"sot-tui hooks install --agent {found.agent}")


# -- the terminal -----------------------------------------------------------------------------------------------------


def of_terminal(seen: Terminal, *, ascii_signs: bool) -> tuple[Finding, ...]:
    """Judge the terminal: that there is one, its colours, its signs, whether tmux lets a copy out, its size."""
    if not seen.there:
        return (Finding(Level.OK, "terminal", "none here, so colours, signs and size were not judged"),)
    if seen.term in {"", "dumb", "unknown"}:
        fact = f"TERM is {seen.term!r}, so nothing can be drawn"
        return (Finding(Level.FAULT, "terminal", fact, "export TERM=xterm-256color"),)
    return (
        Finding(Level.OK, "terminal", seen.term),
        Finding(Level.OK, "colours", _colours(seen)),
        _signs(seen, ascii_signs=ascii_signs),
        *_clipboard(seen),
        _size(seen),
    )


def _colours(seen: Terminal) -> str:
    if seen.no_colour:
        return "none, as NO_COLOR asks: shapes and words say the same"
    if seen.true_colour:
        return "16 million"
    if "256" in seen.term:
        return "256"
    return "16: shapes and words say the same"


def _signs(seen: Terminal, *, ascii_signs: bool) -> Finding:
    if ascii_signs:
        return Finding(Level.OK, "signs", "ASCII, as the settings ask")
    if seen.utf8:
        return Finding(Level.OK, "signs", "UTF-8")
    fact = "the locale is not UTF-8, so shapes and lines may show as other signs"
    return Finding(Level.WARN, "signs", fact, "export LC_ALL=C.UTF-8")


def _clipboard(seen: Terminal) -> tuple[Finding, ...]:
    if seen.clipboard in {"external", "off"}:
        fact = f"tmux has set-clipboard {seen.clipboard}, so it drops what is copied in the dashboard"
        return (Finding(Level.WARN, "clipboard", fact, "tmux set -s set-clipboard on"),)
    return (Finding(Level.OK, "clipboard", "tmux passes on what is copied"),) if seen.clipboard == "on" else ()


def _size(seen: Terminal) -> Finding:
    if seen.size is None:
        return Finding(Level.WARN, "size", "it could not be asked", "stty size")
    told = f"{seen.size[0]}x{seen.size[1]}"
    if seen.size[0] < SMALLEST[0] or seen.size[1] < SMALLEST[1]:
        fact = f"{told} has too little room: the dashboard needs {SMALLEST[0]}x{SMALLEST[1]}"
        return Finding(Level.WARN, "size", fact, "stty size")
    if seen.size[0] < SMALL[0] or seen.size[1] < SMALL[1]:
        return Finding(Level.OK, "size", f"{told}: the narrow layout; from {SMALL[0]}x{SMALL[1]} on there is more")
    return Finding(Level.OK, "size", told)
