"""What the person set aside, kept under the state root: the dashboard's own file, no part of the comm home.

One JSON object: the path of a comm home, below it handles, below each the facts that its need had when it was set
aside (`comm.fleet.Aside`). The file is replaced whole. One that cannot be read sets nothing aside, so that no need
stays hidden, and is never written over: what it holds may be the person's.
"""

from __future__ import annotations

import os
from types import MappingProxyType

from sot_tui.comm import jsonline, paths
from sot_tui.comm.fleet import Aside
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sot_tui.comm.home import Home

FILE_LIMIT = 1 << 22
"""Bytes of the file that are read; a mark has a hundred."""


class Marks(NamedTuple):
    """What is set aside in one comm home."""

    by_handle: Mapping[str, Aside]
    fault: str = ""
    """Why the file could not be read; empty when it was, or is not there."""


def read(home: Home, environ: Mapping[str, str]) -> Marks:
    """Return what the person set aside in this comm home."""
    whole, fault = _read(home, paths.set_aside_file(environ))
    said = whole.get(home.path)
    found = {handle: _mark(mark) for handle, mark in said.items()} if isinstance(said, dict) else {}
    return Marks(MappingProxyType({handle: mark for handle, mark in found.items() if mark is not None}), fault)


def write(home: Home, environ: Mapping[str, str], by_handle: Mapping[str, Aside]) -> str:
    """Keep what is set aside in this comm home, whatever the file holds for another; return what went wrong, or ""."""
    path = paths.set_aside_file(environ)
    whole, fault = _read(home, path)
    if fault:
        return fault
    whole[home.path] = {handle: mark._asdict() for handle, mark in by_handle.items()}
    whole = {of: marks for of, marks in whole.items() if marks}
    try:
        paths.make_own_state(home.disk, environ)
        draft = f"{path}.tmp.{home.procs.pid()}.{home.procs.serial()}"
        home.disk.replace(draft, path, jsonline.encode(whole).encode())
    except OSError as error:
        return f"{path} could not be written: {error.strerror}"
    return ""


def _read(home: Home, path: str) -> tuple[dict[str, Any], str]:
    try:
        descriptor = home.disk.open(path, os.O_RDONLY)
        try:
            data = home.disk.read_at(descriptor, FILE_LIMIT, 0)
        finally:
            home.disk.close(descriptor)
        return jsonline.decode_object(data), ""
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"{path} could not be read: {error.strerror}"
    except jsonline.NotStrict as error:
        return {}, f"{path} could not be read: {error.sentence}"


def _mark(said: object) -> Aside | None:
    if not isinstance(said, dict):
        return None
    mark = Aside(said.get("state", ""), said.get("status_at", ""), said.get("unread", 0), said.get("oldest", ""))
    texts = (mark.state, mark.status_at, mark.oldest)
    return mark if all(isinstance(text, str) for text in texts) and type(mark.unread) is int else None
