"""`sot-tui doctor`: is everything set up, and what is the next step where it is not (product, The habits people bring).

It looks and judges: nothing is made, locked, stamped or written. The judgements are `comm.doctor`'s.
"""

from __future__ import annotations

import os
import stat
import sys

from sot_tui.comm import (
    config,
    daemon_lock,
    doctor,
    endpoints,
    hook_entries,
    hook_settings,
    look,
    mounts,
    names,
    paths,
    program,
    registry,
    registry_lock,
    scripts,
    services,
    set_aside,
    topology,
)
from sot_tui.comm.clock import seconds_of
from sot_tui.comm.disk import FOLDER_MODE
from sot_tui.comm.doctor import Finding, Hooks, Level, Seen, Terminal
from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.home import home_here, open_entries
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.proof import own_record
from sot_tui.comm.registry import Registry
from sot_tui.comm.text import speaks_utf8, visible
from sot_tui.notify import settings as notifier
from sot_tui.verbs import _setup
from sot_tui.verbs._session import ask, misused, say, say_json

if TYPE_CHECKING:
    from sot_tui.comm.config import Config
    from sot_tui.comm.home import Home
    from sot_tui.comm.mounts import LockRecord

USAGE = """\
Examples:
  sot-tui doctor                one line for each thing that was looked at, and the next step
  sot-tui doctor --json         the same for a program (docs/json.md)

Usage: sot-tui doctor [--json]

It looks and changes nothing. The exit code is 0 when nothing is a FAULT, else 1.
"""

_TMUX_SECS = 2.0
"""How long a tmux is waited for."""


def main(argv: list[str]) -> int:
    """Print every finding; the exit code is 0, 1 (something is a fault) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    unknown = [word for word in argv if word != "--json"]
    if unknown:
        return misused(USAGE, f"sot-tui doctor: unknown argument {unknown[0]}")
    findings = [one._replace(step=program.as_typed(one.step, os.environ)) for one in _findings(home_here())]
    if argv:
        say_json(
            {
                "ok": not _count(findings, Level.FAULT),
                "counts": {level.value: _count(findings, level) for level in Level},
                "findings": [
                    {"level": one.level.value, "what": one.what, "fact": one.fact, "step": one.step or None}
                    for one in findings
                ],
            }
        )
    else:
        say("".join(_told(one) for one in findings) + _summary(findings))
    return Exit.FAILED if _count(findings, Level.FAULT) else Exit.OK


def _told(one: Finding) -> str:
    line = f"{one.level.value:<6}{visible(f'{one.what}: {one.fact}')}\n"
    return f"{line}      next: {visible(one.step)}\n" if one.step else line


def _summary(findings: list[Finding]) -> str:
    faults, warnings = _count(findings, Level.FAULT), _count(findings, Level.WARN)
    if not faults and not warnings:
        return "all is well\n"
    told = [
        f"{number} {word}{'' if number == 1 else 's'}" for number, word in ((faults, "fault"), (warnings, "warning"))
    ]
    return ", ".join(told) + "\n"


def _count(findings: list[Finding], level: Level) -> int:
    return sum(one.level is level for one in findings)


# -- looking ----------------------------------------------------------------------------------------------------------


def _findings(home: Home) -> list[Finding]:
    settings = config.read(os.environ, home.disk)
    host, fault = _setup.host_of(home)
    found = _setup.entry_at(home, home.path)
    findings = [doctor.of_home(home.path, found, os.geteuid())]
    if found.mode is not None and stat.S_ISDIR(found.mode) and found.mode & FOLDER_MODE == FOLDER_MODE:
        if stat.S_IMODE(found.mode) == FOLDER_MODE:  # an open one is to be closed with all that is in it
            findings.append(_modes(home))
        findings += _in_home(home, host)
    findings.append(doctor.of_host(host, fault))
    if host:
        wanted = settings.of("operator")
        findings.append(doctor.of_operator(look.operator(host, settings), wanted, settings.path))
        findings += _ways(home, host)
    run, link = program.of_the_scripts(os.environ), program.to_link(os.environ)
    findings.append(doctor.of_command(*run, program.own_path(), link))
    findings += _settings(home, settings)
    root = paths.state_root(os.environ)
    findings.append(doctor.of_state_root(root, mounts.mount_under(home, root), _setup.entry_at(home, root)))
    room = doctor.of_room(root, _room(home, root), "state root")
    if os.path.isdir(root) and room.level is not doctor.Level.OK:
        findings.append(room)
    findings += doctor.of_service(_service(home))
    kept = paths.set_aside_file(os.environ)
    findings += doctor.of_set_aside(kept, set_aside.read(home, os.environ).fault)
    findings += [doctor.of_hooks(_hooks(home, agent)) for agent in hook_entries.ENTRIES]
    findings += doctor.of_notifier(_notifier(home, settings))
    findings += doctor.of_terminal(_terminal(), ascii_signs=settings.switch("ascii"))
    return findings


def _in_home(home: Home, host: str) -> list[Finding]:
    """Judge what lies in a comm home that can be used."""
    linux = sys.platform == "linux"
    mount, fresh = mounts.home_mount(home), mounts.proves_fresh_reads(home)
    me = own_record(home.procs, fresh_reads=fresh)
    book, lock = registry.read(home), registry_lock.look(home)
    findings = [
        doctor.of_mount(home.path, mount, linux=linux),
        doctor.of_proof(me, mount, fresh=fresh),
        doctor.of_room(home.path, _room(home, home.path)),
        doctor.of_registry(home, book, dangling=_setup.entry_at(home, home.registry).dangling),
    ]
    if isinstance(book, Registry):
        findings.append(doctor.of_version(book.version))
    findings.append(doctor.of_lock(home.lock, lock, here=doctor.is_of_here(lock, me)))
    hub = topology.names_hub(os.environ, host, home.disk) or mounts.is_on_own_disk(home)
    own, record = mounts.lock_identity(home), _lock_record(home)
    findings.append(doctor.of_filing(home, own, record, hub=hub, linux=linux))
    if isinstance(book, Registry):
        findings.append(doctor.of_inboxes(home, _unread(home, book)))
    findings.append(doctor.of_scripts(scripts.standing(home, _setup.release())))
    findings.append(doctor.of_clock(home.clock.now(), _stamps(home, book)))
    return findings


def _ways(home: Home, host: str) -> list[Finding]:
    """Judge what this box is among the others, where daemons are asked, and how its links stand."""
    boxes = topology.read(os.environ, home.disk)
    findings = list(doctor.of_topology(paths.topology_file(os.environ), host, boxes))
    own = endpoints.of_this_box(home, os.environ)
    findings.append(doctor.of_daemon(endpoints.own_socket(home, os.environ), own.endpoint, own.notes))
    if all(one.level is not Level.FAULT for one in findings):  # else its fault is told already
        way = endpoints.of_the_hub(home, os.environ, host)
        gone, hub = "", boxes.hub if isinstance(boxes, topology.Topology) else ""
        if hub and hub != host and way.endpoint.startswith("unix:"):
            path = way.endpoint.removeprefix("unix:")
            gone = "" if os.path.exists(path) else path
        findings.append(doctor.of_relay(way.endpoint, way.notes, gone, hub))
        found = _setup.links_of(home, host)
        if found is not None:
            log = paths.events_log(os.environ)
            holder = daemon_lock.last_holder(home, os.environ)
            serves = (holder.what, int(holder.pid) if holder.pid.isdecimal() else 0)
            findings += doctor.of_links(found.concern, found.standing, found.fault, log, serves)
            if found.concern.hub and not mounts.is_on_own_disk(home) and mounts.appends_here(home, daemon=True) is None:
                findings.append(doctor.of_behind_link(home.path, mounts.home_mount(home)))
    return findings


def _service(home: Home) -> doctor.Service:
    """Return how the service file of the daemon stands; no manager is asked."""
    path = "the service file"
    try:
        one = services.service(os.environ, services.daemon_command())
        path, found = one.path, services.look(home.disk, one)
        systemd = one.manager is services.Manager.SYSTEMD
        lacks = () if found.stand is services.Stand.MISSING else services.lacks(home.disk, one, found.text)
        lingers = services.lingers(home.disk) if systemd else None
        there = found.stand is not services.Stand.MISSING
        sender = services.sender(home.disk, one, found.text).value if there else ""
        left = services.left_out(os.environ) if there else ()
        said = services.said_of(left) if left else ""
        return doctor.Service(path, found.stand, lacks, found.enabled, lingers, sender=sender, left_out=said)
    except SotError as error:
        return doctor.Service(path, services.Stand.FOREIGN, fault=error.sentence)


def _modes(home: Home) -> Finding:
    try:
        return doctor.of_modes(home, open_entries(home))
    except OSError as error:
        fact = f"the entries of the comm home cannot be looked at: {error.strerror}"
        return Finding(Level.FAULT, "modes", fact, f"ls -la {doctor.word(home.path)}")


def _lock_record(home: Home) -> LockRecord | str | None:
    try:
        return mounts.lock_record(home)
    except OSError as error:
        return error.strerror or str(error)


def _room(home: Home, path: str) -> doctor.Room | doctor.Fault:
    try:
        found = home.disk.space(path)
    except OSError as error:
        return doctor.Fault(error.strerror or str(error), error.errno or 0)
    return doctor.Room(found.f_bavail * found.f_frsize, found.f_favail if found.f_files else None)


def _unread(home: Home, book: Registry) -> list[tuple[str, doctor.Fault]]:
    """Return the joined handles whose inboxes cannot be opened, and why; a handle without any mail has none."""
    found = []
    for handle in book.agents:
        if not names.is_file_safe(handle):
            continue  # nobody files for it
        try:
            home.disk.close(home.disk.open(home.inbox(handle), os.O_RDONLY))
        except FileNotFoundError:
            continue
        except OSError as error:
            found.append((handle, doctor.Fault(error.strerror or str(error), error.errno or 0)))
    return found


def _stamps(home: Home, book: Registry | registry.Unread) -> list[Seen]:
    """Return the newest stamps: each handle's own, and the file server's on the registry."""
    found: list[Seen] = []
    if isinstance(book, Registry):
        for handle in book.agents:
            entry = book.entry(handle) or {}
            at = seconds_of(entry.get("last_seen"))
            if at is not None:
                host = entry.get("host")
                found.append(Seen(f"@{handle} on {host if isinstance(host, str) and host else 'an unknown box'}", at))
    try:
        found.append(Seen("the file server on registry.json", home.disk.stat(home.registry).st_mtime))
    except OSError:
        return found  # the registry's own finding says so
    return found


def _settings(home: Home, settings: Config) -> list[Finding]:
    there = _setup.entry_at(home, settings.path).mode is not None
    findings = list(doctor.of_settings(settings.path, settings.warnings, there=there))
    for variable in _setup.VARIABLES:
        fault = _setup.fault_of(variable)
        if fault:
            findings.append(doctor.of_variable(fault, variable.name))
    return findings


def _hooks(home: Home, agent: str) -> Hooks:
    """Return how an agent's settings stand to our hooks, by the table and the reader that an install goes by."""
    path, total = hook_settings.place(os.environ, agent), len(hook_entries.ENTRIES[agent])
    found = Hooks(agent, path, _setup.entry_at(home, os.path.dirname(path)).mode is not None, total=total)
    if not found.here:
        return found
    notify = notifier.target(home, os.environ) is not None
    try:
        there = hook_settings.read(home, path).settings
        missing = hook_entries.missing(there, agent, program.own_command(os.environ), notify=notify)
        found = found._replace(total=len(hook_entries.wanted(there, agent, notify=notify)))
    except SotError as error:
        return found._replace(fault=error.sentence)
    return found._replace(missing=len(missing))


def _notifier(home: Home, settings: Config) -> doctor.Notifier:
    """Return how the pushes stand; nobody is dialled and nothing is sent."""
    from sot_tui.notify import standing  # noqa: PLC0415  (what serves is heavy, and a usage error needs none)
    from sot_tui.notify.decided import Came  # noqa: PLC0415
    from sot_tui.notify.serving import Sends  # noqa: PLC0415

    found = standing.standing(home, os.environ, settings)
    serves, last = found.server, found.last
    return doctor.Notifier(
        found.sender,
        found.disabled,
        f"{serves.what}, pid {serves.pid}" if serves else "",
        found.quiet_hours,
        found.quiet_now,
        found.held,
        f"{last.result} at {last.at}" if last else "",
        last is not None and last.result == Came.FAILED.value,
        tuple(
            doctor.Unlike(
                one.pid,
                one.what,
                one.managed,
                sends=one.sends is not Sends.NOWHERE,
                same=one.sends is Sends.AS_HERE,
                settings=one.settings,
            )
            for one in found.serving
            if one.sends is not Sends.AS_HERE or one.settings
        ),
        found.doubts,
    )


def _terminal() -> Terminal:
    """Return what the environment and the kernel say of the terminal."""
    open_on = [descriptor for descriptor in (1, 2, 0) if os.isatty(descriptor)]
    term = os.environ.get("TERM", "")
    size: tuple[int, int] | None = None
    if open_on:
        try:
            size = (*os.get_terminal_size(open_on[0]),)
        except OSError:
            size = None
    return Terminal(
        bool(open_on),
        term,
        true_colour=os.environ.get("COLORTERM", "") in {"truecolor", "24bit"} or term.endswith("-direct"),
        no_colour=bool(os.environ.get("NO_COLOR")),
        utf8=speaks_utf8(os.environ),
        size=size,
        clipboard=_tmux_clipboard() if open_on and os.environ.get("TMUX") else "",
    )


def _tmux_clipboard() -> str:
    """Return what the tmux that this runs in says of `set-clipboard`; empty when it says nothing."""
    import subprocess  # noqa: PLC0415  (only in a tmux)

    asked = ["tmux", "show-options", "-sv", "set-clipboard"]
    try:
        ran = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_TMUX_SECS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.decode("ascii", "replace").strip()
