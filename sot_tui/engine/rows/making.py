"""A row that a person asks for: named after its project, given a handle that nobody has, and announced.

The rules are those of `comm.spawning`, by which a session spawns one (contract, Naming): a task-like label is refused,
and so is a handle with a registry row. A shell, or a command of the person's, is no session before something in it
joins, so it is given no handle and announced to nobody. It reads the disk and the registry, so it runs in a thread.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from sot_tui.comm import identity, names, paths, registry, spawning
from sot_tui.engine.client import FOLDERS_LIMIT, CreateRow, Folders
from sot_tui.engine.rows import agents, wishes
from sot_tui.engine.rows.row import Refused, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sot_tui.comm.fleet import Fleet
    from sot_tui.comm.home import Home

SCANNED = 5000
"""Names of a folder that are looked at for a completion."""
RECENT = 12
"""Recent projects that are brought."""
LIST_SECS = 2.0
"""Seconds that a folder has to be listed in; a file server that hangs must not keep a person from typing on."""
TASK_CHARS = 200
"""Characters of a first task that become the row's own word for it; the whole text is mail."""


def plan(home: Home, environ: Mapping[str, str], asked: CreateRow) -> spawning.Plan | Refused:
    """Return the row to make for what a person asks for, or the first thing against it."""
    folder = expanded(asked.root, environ)
    if refused := wishes.no_folder(folder):
        return refused
    project = identity.project_of(home, {}, folder)
    if fault := spawning.label_fault(asked.label, project.repo):
        return Refused("task_named_label", f"{fault}; say the task as the first task")
    label = asked.label or project.repo
    host = names.declared_host(environ, home.procs)
    if asked.agent == "none" and not asked.agent_name:
        return spawning.Plan(project, host, label, "")
    book = registry.read(home)
    if isinstance(book, registry.Unread):
        return Refused("registry_unread", "FAILED: the registry could not be read; nothing was spawned")
    handle = asked.agent_name or spawning.free_handle(book, project, names.raw_host(environ, home.procs))
    if fault := spawning.handle_fault(book, handle):
        return Refused("handle_in_use", f"{fault}. If it is an orphan: select it and press x")
    return spawning.Plan(project, host, label, handle)


def wanted(planned: spawning.Plan, asked: CreateRow) -> Wanted:
    """Return what the rows are asked to make."""
    return Wanted(
        label=planned.label,
        root=planned.project.root,
        agent=asked.agent,
        agent_name=planned.handle,
        task=asked.task.strip().split("\n", 1)[0][:TASK_CHARS],
        account="" if asked.account == agents.DEFAULT_ACCOUNT else asked.account,
        command=asked.command,
    )


def expanded(path: str, environ: Mapping[str, str]) -> str:
    """Return a path that a person typed, with the `~` at its beginning as their own folder."""
    path = path.strip()
    if path == "~" or path.startswith("~/"):
        return f"{paths.home_folder(environ)}{path[1:]}"
    return path


def folders(environ: Mapping[str, str], fleet: Fleet, prefix: str) -> Folders:
    """Return the folders whose path begins with what was typed, recent projects without a row, and the accounts."""
    typed = expanded(prefix, environ)
    known = Folders((), tuple(_recent(fleet)), tuple(name for name, _ in agents.accounts(environ)))
    if not typed.startswith("/"):
        return replace(known, fault="a folder is named by its whole path: it begins with / or ~" if typed else "")
    parent, _, begun = typed.rpartition("/")
    try:
        found = sorted(_below(parent or "/", begun), key=str.lower)
    except OSError as error:
        return replace(known, fault=f"{parent or '/'}: {error.strerror}")
    return replace(known, names=tuple(f"{parent}/{name}" for name in found[:FOLDERS_LIMIT]))


def _below(parent: str, begun: str) -> Iterable[str]:
    """Yield the folders of a folder that begin with a word; hidden ones only when the word says so."""
    with os.scandir(parent) as entries:
        for number, entry in enumerate(entries):
            if number >= SCANNED:
                return
            name = entry.name
            fits = name.lower().startswith(begun.lower()) and (begun.startswith(".") or not name.startswith("."))
            if fits and name.isprintable() and entry.is_dir():
                yield name


def _recent(fleet: Fleet) -> Iterable[str]:
    taken = {os.path.realpath(row.root) for row in fleet.rows.values()}
    here = (one for one in fleet.agents.values() if one.host.lower() == fleet.host.lower() and one.root.startswith("/"))
    roots = dict.fromkeys(
        one.root
        for one in sorted(here, key=lambda one: one.last_seen, reverse=True)
        if one.handle != fleet.operator and one.root.isprintable()
    )
    there = [root for root in list(roots)[: RECENT * 3] if os.path.realpath(root) not in taken and os.path.isdir(root)]
    return there[:RECENT]
