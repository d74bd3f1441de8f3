"""The rows' files: `<config folder>/workspaces-<declared host>/<slug>.toml`, and the row folders (daemon wire 4.4).

A row's file is written whole: flushed, put in place by a rename, its folder flushed. Tables in it that are not ours
stay as they stand. A file that cannot be read or makes no sense is told and left alone: it is never written over, and
its row does not run. The file is a projection: it is read once, at the start.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sot_tui.comm import config, names, paths
from sot_tui.engine.rows import agents
from sot_tui.engine.rows.row import Row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home

FILE_LIMIT = 1 << 18
"""Bytes of a row's file that are read; a real one has a few hundred."""
_OWN_TABLE = "tui"
"""The table that holds what no other client writes."""


class Store:
    """The rows' files of this box."""

    def __init__(self, home: Home, environ: Mapping[str, str], host: str) -> None:
        self._home = home
        self._environ = environ
        self._folder = f"{paths.config_folder(environ)}/workspaces-{host}"
        self._foreign: dict[str, str] = {}
        """By slug, the tables of its file that are not ours."""

    def load(self) -> tuple[list[Row], list[str]]:
        """Return every row there is a good file of, in the order of their slugs, and what is wrong with the others."""
        try:
            found = sorted(self._home.disk.listdir(self._folder))
        except FileNotFoundError:
            return [], []
        except OSError as error:
            return [], [f"{self._folder} could not be read, so no row is known: {error.strerror}"]
        rows: list[Row] = []
        faults: list[str] = []
        for name in found:
            slug = name.removesuffix(".toml")
            if slug == name or name.startswith("."):
                continue
            try:
                text = self._home.disk.read_up_to(f"{self._folder}/{name}", FILE_LIMIT).decode()
                row = parse(text, slug)
            except (OSError, ValueError) as error:
                faults.append(f"{self._folder}/{name} is not used: {_why(error)}")
                continue
            if any(row.id == other.id for other in rows):
                faults.append(f"{self._folder}/{name} is not used: it names {row.id}, as another file does")
                continue
            self._foreign[slug] = foreign_tables(text)
            rows.append(row)
        return rows, faults

    def save(self, row: Row) -> None:
        """Write a row's file durably; raises OSError, and then what stood there stands."""
        disk = self._home.disk
        paths.make_folder(disk, self._folder)
        path = self._path(row.slug)
        draft = f"{self._folder}/.{row.slug}.{self._home.procs.pid()}.{self._home.procs.serial()}"
        disk.replace(draft, path, text_of(row, self._foreign.get(row.slug, "")).encode())
        disk.flush_folder(self._folder)

    def remove(self, row: Row) -> None:
        """Remove a row's file; one that is gone already is no fault."""
        try:
            self._home.disk.unlink(self._path(row.slug))
        except FileNotFoundError:
            return
        self._foreign.pop(row.slug, None)
        self._home.disk.flush_folder(self._folder)

    def has_file(self, slug: str) -> bool:
        """Tell whether there is a file of this slug, good or not: one that is not understood is in use all the same."""
        try:
            self._home.disk.stat(self._path(slug))
        except FileNotFoundError:
            return False
        return True

    def _path(self, slug: str) -> str:
        return f"{self._folder}/{slug}.toml"


def parse(text: str, slug: str) -> Row:
    """Return the row that a file describes; raises ValueError for one that describes none."""
    said = config.parse_toml(text)
    own = said.get(_OWN_TABLE)
    command = own.get("command", []) if isinstance(own, dict) else []
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        raise ValueError("its command is no list of words")
    row_id = _text(said, "workspace_id")
    if not row_id or not names.is_file_safe(row_id):
        raise ValueError("it has no workspace_id")
    if _text(said, "slug") != slug:
        raise ValueError(f"its slug is not {slug}")
    root = _text(said, "project_root")
    if not root.startswith("/") or "\0" in root:
        raise ValueError("its project_root is no absolute path")
    agent = _text(said, "agent") or ("claude" if said.get("autostart_claude") is True else "none")
    if agent not in agents.KINDS:
        raise ValueError(f"its agent is none of {', '.join(agents.KINDS)}")
    created = said.get("created", 0)
    handle, name = _text(said, "agent_handle"), _text(said, "agent_name")
    return Row(
        id=row_id,
        slug=slug,
        label=_text(said, "label") or slug,
        root=root,
        created=created if isinstance(created, int) else 0,
        agent=agent,
        agent_name=name if names.is_file_safe(name) else "",
        agent_handle=handle if names.is_file_safe(handle) else "",
        task=_text(said, "task"),
        account=_text(said, "account"),
        command=tuple(command),
    )


def text_of(row: Row, foreign: str = "") -> str:
    """Return a row's file, its keys in the wire's order, and the tables that are not ours after them."""
    keys: list[tuple[str, str | bool | int]] = [
        ("workspace_id", row.id),
        ("slug", row.slug),
        ("label", row.label),
        ("project_root", row.root),
        ("session_name", row.session_name),
        ("created", row.created),
        ("autostart_claude", row.agent == "claude"),
        ("agent", row.agent),
        ("agent_name", row.agent_name),
        ("task", row.task),
        ("runtime", "capsule"),
        ("agent_handle", row.agent_handle),
        ("account", row.account),
    ]
    lines = [f"{key} = {_value(value)}" for key, value in keys]
    if row.command:
        lines += ["", f"[{_OWN_TABLE}]", f"command = [{', '.join(_value(word) for word in row.command)}]"]
    return "\n".join([*lines, ""]) + (f"\n{foreign}" if foreign else "")


def foreign_tables(text: str) -> str:
    """Return the tables of a row's file that are not ours, byte for byte."""
    kept: list[str] = []
    keeps = False
    for line in text.splitlines(keepends=True):
        # A line that begins with a bracket is a table's head only outside a text of several lines, which we never
        # write; in a file that another client wrote so, the parser below finds out, and nothing is kept.
        if line.lstrip().startswith("["):
            keeps = line.strip().strip("[]").split(".")[0].strip().strip('"') != _OWN_TABLE
        if keeps:
            kept.append(line)
    tables = "".join(kept)
    try:
        config.parse_toml(tables)
    except ValueError:
        return ""
    return tables


def one_holder(rows: list[Row], bound: Mapping[str, str]) -> list[Row]:
    """Return the rows with each declared handle on one row alone: the one that the registry's entry names.

    `bound` is the row id that the registry binds each handle of this host to. Where it binds none of them, the handle
    stays on none: nobody can tell whose it is.
    """
    declared: dict[str, list[Row]] = {}
    for row in rows:
        if row.agent_handle:
            declared.setdefault(row.agent_handle, []).append(row)
    return [
        replace(row, agent_handle="")
        if len(declared.get(row.agent_handle, ())) > 1 and bound.get(row.agent_handle) != row.id
        else row
        for row in rows
    ]


def _text(said: dict[str, Any], key: str) -> str:
    value = said.get(key, "")
    return value if isinstance(value, str) else ""


def _value(value: str | bool | int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    # A JSON string is a TOML basic string, but for the one control sign that JSON lets stand.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _why(error: OSError | ValueError) -> str:
    return (error.strerror or "it could not be read") if isinstance(error, OSError) else str(error)
