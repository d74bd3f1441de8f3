"""Spawning and despawning: a row for a project, named after it, and its whole end.

Contract, Naming: "names come from the repo, never from the task", a root that has a workspace gets no second one, and a
handle that has a registry row is never reused. Cases: a refused process "may neither spawn nor despawn rows". An
unreadable registry stops either before the daemon is asked for anything that changes something.
"""

from __future__ import annotations

import os

from sot_tui.comm import identity, names, registry, rows
from sot_tui.comm.clock import seconds_said, stamp
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.registry_lock import Wait
from sot_tui.comm.rows import Daemon, NotDone, Row

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context, Project
    from sot_tui.comm.registry import Registry

AGENTS = ("claude", "codex", "none")
"""What may run in a row (daemon wire 3.8)."""
START_WAIT = "SOT_COMM_SPAWN_CAPSULE_WAIT"
"""The variable that bounds the wait for a row to become ready."""
START_SECS = 90.0
"""Seconds of that wait by default (daemon wire 3.1)."""


class Wish(NamedTuple):
    """What a spawn asks for."""

    folder: str
    """Where the project is."""
    label: str = ""
    name: str = ""
    """A handle to give it; empty: the derived one."""
    agent: str = "claude"
    task: str = ""
    account: str = ""
    endpoint: str = ""


class Done(NamedTuple):
    """It is done."""

    sentence: str
    notes: tuple[str, ...] = ()
    """Lines for stderr."""


class Failed(NamedTuple):
    """It is not done, or not wholly; the sentence says what stands."""

    sentence: str
    notes: tuple[str, ...] = ()


def spawn(home: Home, environ: Mapping[str, str], here: Context, wish: Wish) -> Done | Failed:
    """Make a row for the project in a folder, and wait until it is ready.

    Raises Misuse when a variable that bounds a wait makes no sense.
    """
    seconds = seconds_said(environ, START_WAIT, START_SECS)
    project = _project(home, here, wish)
    if isinstance(project, Failed):
        return project
    book = registry.read(home)
    if isinstance(book, registry.Unread):
        return Failed("FAILED: the registry could not be read; nothing was spawned")
    daemon = rows.daemon_of(home, environ, here, wish.endpoint)
    if isinstance(daemon, NotDone):
        return _not_spawned(daemon)
    planned = _planned(daemon, here, book, project, wish)
    if not isinstance(planned, Plan):
        return planned._replace(notes=daemon.notes)
    made = rows.create(daemon, _request(planned, wish))
    if isinstance(made, NotDone):
        return _not_spawned(made, daemon.notes)
    notes = (*daemon.notes, *announce(home, planned, made, wish.agent))
    registry.touch(home, here.name)
    late = rows.until_ready(daemon, made, seconds)
    if late is None:
        return Done(f"Spawned @{planned.handle} (row {made}, '{planned.label}') at {project.root}.", notes)
    stays = f"it is not removed: comm-despawn.sh @{planned.handle} does that"
    return Failed(f"FAILED: row {made} of @{planned.handle} was made, but {late.why}; {stays}", notes)


def despawn(home: Home, environ: Mapping[str, str], here: Context, target: str, endpoint: str = "") -> Done | Failed:
    """End the row that a handle, or a row's id, slug or label names, and remove what the registry says of it."""
    refused = no_identity("comm-despawn.sh", here)
    if refused:
        return Failed(refused)
    if isinstance(registry.read(home), registry.Unread):
        return Failed("FAILED: the registry could not be read; nothing was despawned")
    daemon = rows.daemon_of(home, environ, here, endpoint)
    if isinstance(daemon, NotDone):
        return _not_despawned(daemon)
    present = rows.listed(daemon)
    row = _named(present, target) if isinstance(present, list) else present
    ended = row if isinstance(row, NotDone) else rows.destroy(daemon, row.id)
    if isinstance(row, NotDone) or isinstance(ended, NotDone):
        assert isinstance(ended, NotDone)  # noqa: S101  (for the type checker)
        return _not_despawned(ended, daemon.notes)
    whose = f"@{row.handle} (row {row.id})" if row.handle else f"row {row.id}"
    written = registry.replace(home, lambda book: _forget(book, row), Wait.RULED)
    if isinstance(written, registry.NotWritten):
        return Failed(f"{whose} has ended, but its entry stays. {written.sentence}", daemon.notes)
    return Done(f"Despawned {whose}.", daemon.notes)


def no_identity(script: str, here: Context) -> str:
    """Return why a process without an identity may not act on rows, "" when it has one."""
    if here.refusal:
        return f"{script}: {here.refusal}"
    if here.name:
        return ""
    return f"{script}: your sot-comm identity did not resolve, so no row is touched. Join first: sot-tui join"


def label_fault(label: str, repo: str) -> str:
    """Return why a row of a repository may not bear a label, "" when it may; an empty one stands for the repository's.

    Contract, Naming: a task-named row is not found next to its repo-named siblings, so such a label is refused.
    """
    if not label or names.slug(label) == names.slug(repo):
        return ""
    return f"REFUSING the label '{label}': a row is named after its repository ('{repo}'), never after its task"


def handle_fault(book: Registry, handle: str) -> str:
    """Return why a new row may not be given a handle, "" when it may: one with a registry row is never reused."""
    if book.entry(handle) is None:
        return ""
    return f"REFUSING: @{handle} has a registry row, and its owner may be alive; nothing was spawned"


# -- spawning -----------------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """A row that may be made."""

    project: Project
    host: str
    """The declared host of the daemon's box."""
    label: str
    handle: str


def _project(home: Home, here: Context, wish: Wish) -> Project | Failed:
    """Return the project to make a row for, or what speaks against it before anybody is asked."""
    refused = no_identity("comm-spawn.sh", here)
    if refused:
        return Failed(refused)
    folder = os.path.realpath(wish.folder)
    if not os.path.isdir(folder):
        return Failed(f"comm-spawn.sh: {wish.folder} is not a folder; nothing was spawned")
    project = identity.project_of(home, {}, folder)
    task_named = label_fault(wish.label, project.repo)
    return Failed(f"comm-spawn.sh: {task_named}; say the task with --task") if task_named else project


def _planned(daemon: Daemon, here: Context, book: Registry, project: Project, wish: Wish) -> Plan | Failed:
    """Return the row to make, or what the daemon's rows or the registry have against it."""
    host = rows.host_of(daemon)
    if isinstance(host, NotDone):
        return _not_spawned(host._replace(unknown=False))
    present = rows.listed(daemon)
    if isinstance(present, NotDone):
        return _not_spawned(present._replace(unknown=False))
    taken = next((row for row in present if os.path.realpath(row.root) == project.folder), None)
    if taken:
        return Failed(_second_row(project, taken))
    raw = here.handle_host if host.lower() == here.host.lower() else host
    handle = wish.name or free_handle(book, project, raw)
    if reused := handle_fault(book, handle):
        return Failed(f"comm-spawn.sh: {reused}. If it is an orphan: comm-leave.sh --name {handle}")
    return Plan(project, host, wish.label or project.repo, handle)


def _request(plan: Plan, wish: Wish) -> dict[str, Any]:
    """Return what the daemon is asked to make, its fields in the wire's order."""
    return {
        "label": plan.label,
        "project_root": plan.project.root,
        "autostart_claude": wish.agent == "claude",
        "agent": wish.agent,
        "agent_name": plan.handle,
        "task": wish.task,
        **({"account": wish.account} if wish.account else {}),
        "boot": True,
    }


def free_handle(book: Registry, project: Project, raw: str) -> str:
    """Return the derived handle, past those that another project's root holds."""
    tiers = [names.derived(project.folder, raw, tier) for tier in names.TIERS]
    of_another = (tier for tier in tiers if identity.root_of(book, tier) not in {"", project.root})
    held = set(of_another)
    return next((tier for tier in tiers if tier not in held), tiers[-1])


def _second_row(project: Project, row: Row) -> str:
    whose = f", @{row.handle}" if row.handle else ""
    return (
        f"comm-spawn.sh: REFUSING: {project.root} already has the workspace '{row.label}' (row {row.id}{whose}); a "
        "second session on one repository works in a worktree: comm-worktree-new.sh"
    )


def announce(home: Home, plan: Plan, row: str, agent: str) -> tuple[str, ...]:
    """Write the entry of a row whose agent will join; one that joined already, or came meanwhile, stays.

    No stamp makes it live: it is no live session before it says so itself, or its daemon does.
    """
    if agent == "none":
        return ()

    def add(book: Registry) -> bool:
        if book.entry(plan.handle) is not None:
            return False
        book.agents[plan.handle] = {
            "host": plan.host,
            "workspace_id": row,
            "repo": plan.project.repo,
            "root": plan.project.root,
            "expertise": [],
            "status": "spawning",
            "joined": stamp(home.clock.now()),
            "last_seen": "",
        }
        return True

    written = registry.replace(home, add, Wait.RULED)
    return (written.sentence,) if isinstance(written, registry.NotWritten) else ()


def _not_spawned(why: NotDone, notes: tuple[str, ...] = ()) -> Failed:
    known = "whether a row was spawned is not known" if why.unknown else "nothing was spawned"
    return Failed(f"FAILED: {why.why}; {known}", notes)


# -- despawning ---------------------------------------------------------------------------------------------------


def _named(present: list[Row], target: str) -> Row | NotDone:
    """Return the one row that a word names: a handle, else an id, a slug, a label."""
    handle = target.removeprefix("@")
    found = [row for row in present if row.handle == handle]
    if not target.startswith("@") and not found:
        found = [row for row in present if target in {row.id, row.slug}] or [
            row for row in present if row.label == target
        ]
    if len(found) == 1:
        return found[0]
    if found:
        return NotDone(f"more than one row is meant by '{target}': {', '.join(row.id for row in found)}")
    orphan = f" (comm-leave.sh --name {handle} removes an orphan's entry)" if target.startswith("@") else ""
    return NotDone(f"no row of this daemon is {target}{orphan}")


def _forget(book: Registry, row: Row) -> bool:
    """Remove what the daemon's own pruning may have left of a row that is gone."""
    gone = [
        name
        for name, entry in book.agents.items()
        if isinstance(entry, dict)
        and (entry.get("workspace_id") == row.id or (name == row.handle and not entry.get("workspace_id")))
    ]
    for name in gone:
        del book.agents[name]
    return bool(gone)


def _not_despawned(why: NotDone, notes: tuple[str, ...] = ()) -> Failed:
    known = "whether the row has ended is not known" if why.unknown else "nothing was despawned"
    return Failed(f"FAILED: {why.why}; {known}", notes)
