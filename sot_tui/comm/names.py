"""Names: handles, hosts, slugs, and the handle a session derives.

Contract, Naming: names come from the repo, never from the task. A derived handle is `<base>-<host>`, with the case kept;
`<base>` is the project folder's name reduced to `[A-Za-z0-9._-]` and cut to 20 characters; `<host>` is the box's name
cut to 12, with `-<hash6>` of the raw name appended when that changed it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from sot_tui.comm.errors import Refused
from sot_tui.comm.proof import Procs

BASE_LIMIT = 20
"""Characters of a project or parent folder's name in a derived handle (contract, Naming)."""
HOST_LIMIT = 12
"""Characters of the box's name in a derived handle (contract, Naming)."""
HANDLE_LIMIT = 64
"""Bytes of a valid name (daemon-wire 1.6)."""

_HANDLE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NOT_HANDLE = re.compile(r"[^A-Za-z0-9._-]+")
_DASHES = re.compile(r"-{2,}")


def is_handle(name: object) -> bool:
    """Tell whether `name` is a valid handle: 1 to 64 bytes of `[A-Za-z0-9._-]`."""
    return isinstance(name, str) and _HANDLE.fullmatch(name) is not None


def is_file_safe(name: str) -> bool:
    """Tell whether a valid handle can also name files: `.` and `..` are folders everywhere."""
    return is_handle(name) and name not in {".", ".."}


def declared_host(environ: Mapping[str, str], procs: Procs) -> str:
    """Return the box's declared host: `$SOT_SELF_HOST` as written, else the host name's first label in lower case.

    Raises Refused when the machine has no name.
    """
    said = environ.get("SOT_SELF_HOST", "")
    if said:
        return said
    name = procs.host_name().split(".", 1)[0].strip().lower()
    if not name:
        raise Refused("this machine has no host name, so no declared host; set SOT_SELF_HOST")
    return name


def raw_host(environ: Mapping[str, str], procs: Procs) -> str:
    """Return the machine's own short name with its case, a component of derived handles and of old slots."""
    return environ.get("SOT_COMM_TEST_HOST", "") or procs.host_name().split(".", 1)[0].strip()
