"""What speaks against a row that somebody asks for, in the order and the words of daemon wire 3.8.

Everything is found out before anything changes: a refusal leaves no file, no folder and no process. It reads the disk,
so it runs in a thread.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sot_tui.comm import names, paths
from sot_tui.engine.rows import agents, store
from sot_tui.engine.rows.row import Phase, Refused, Row, Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sot_tui.comm.home import Home

_SLUG_IN_ID = 40
"""Characters of a slug that an id holds; the number after them tells the rows apart."""


def check(
    home: Home, environ: Mapping[str, str], here: agents.Place, present: Sequence[Row], wanted: Wanted
) -> Row | Refused:
    """Return the row to make, or the first thing against it."""
    slug = names.slug(wanted.label)
    same = next((row for row in present if row.slug == slug), None)
    refused = (
        no_folder(wanted.root)
        or _folder_taken(wanted.root, slug, present)
        or _label_taken(home, environ, here, slug, same)
        or _unfit(wanted)
    )
    if refused:
        return refused
    row = Row(
        id=same.id if same else _new_id(home, environ, slug, {row.id for row in present}),
        slug=slug,
        label=wanted.label,
        root=wanted.root,
        created=int(home.clock.now()),
        agent=wanted.agent or ("claude" if wanted.autostart_claude else "none"),
        agent_name=wanted.agent_name,
        task=wanted.task,
        account=wanted.account,
        command=wanted.command,
        phase=Phase.STARTING,
    )
    return _cannot_run(environ, here, row) or row


def no_folder(root: str) -> Refused | None:
    """Return why a path is no folder that a row may have, None when it is one."""
    if not root.startswith("/") or not root.isprintable() or not os.path.lexists(root):
        return Refused("no_such_path", f"project_root does not exist: {root}")
    if not os.path.isdir(root):
        return Refused("not_a_directory", f"project_root is not a directory: {root}")
    return None


def _folder_taken(root: str, slug: str, present: Sequence[Row]) -> Refused | None:
    real = os.path.realpath(root)
    for other in present:
        if other.slug != slug and os.path.realpath(other.root) == real:
            words = f"project_root is already registered as workspace '{other.label}' (slug '{other.slug}')"
            return Refused("duplicate_root", words, (("existing", _existing(other)),))
    return None


def _label_taken(
    home: Home, environ: Mapping[str, str], here: agents.Place, slug: str, same: Row | None
) -> Refused | None:
    if same is not None and same.phase is not Phase.STOPPED:
        phase = same.phase.value
        words = (
            f"workspace '{same.label}' (slug '{slug}') is in use (capsule row, phase '{phase}'): attach to it, or "
            "destroy it before creating it again"
        )
        return Refused("label_in_use", words, (("existing", {**_existing(same), "phase": phase}),))
    if same is None and store.Store(home, environ, here.host).has_file(slug):
        return Refused("label_in_use", f"there is a row's file with the slug '{slug}' that is not understood")
    return None


def _unfit(wanted: Wanted) -> Refused | None:
    if wanted.agent_name and not names.is_file_safe(wanted.agent_name):
        words = f'invalid agent_name "{wanted.agent_name}" (want 1-64 chars of [A-Za-z0-9._-])'
        return Refused("bad_agent_name", words)
    if wanted.agent and wanted.agent not in agents.KINDS:
        return Refused("bad_agent", f"unknown agent kind '{wanted.agent}' (want {' | '.join(agents.KINDS)})")
    if wanted.runtime not in {"", "capsule"}:
        return Refused("bad_runtime", f'unknown runtime "{wanted.runtime}" (want "capsule" or "")')
    if wanted.account and not names.is_file_safe(wanted.account):
        return Refused("unknown_account", f"'{wanted.account}' is no account's name")
    return None


def _cannot_run(environ: Mapping[str, str], here: agents.Place, row: Row) -> Refused | None:
    try:
        agents.argv(row, environ, here, resumes=False)
    except agents.NotFound as why:
        return Refused("unsupported_agent_on_this_host", str(why))
    folder = paths.row_folder(environ, row.id)
    if f"{os.path.realpath(folder)}/".startswith(f"{os.path.realpath(row.root).rstrip('/')}/"):
        return Refused("state_root_inside_project", f"the state root lies inside the project: {folder}")
    login = agents.account_folder(environ, row.account)
    if row.account and (row.agent != "claude" or not os.path.isdir(login)):
        return Refused("unknown_account", f"there is no account '{row.account}' for {row.agent}: {login}")
    return None


def _new_id(home: Home, environ: Mapping[str, str], slug: str, taken: set[str]) -> str:
    """Return an id that no row of this box has or had: `ws-<slug>-<hex>` (daemon wire 3.6)."""
    number = home.procs.pid() ^ int(home.clock.now())
    while True:
        row_id = f"ws-{slug[:_SLUG_IN_ID]}-{number:x}"
        if row_id not in taken and not os.path.lexists(paths.row_folder(environ, row_id)):
            return row_id
        number += 1


def _existing(row: Row) -> dict[str, str]:
    return {"workspace_id": row.id, "slug": row.slug, "label": row.label}
