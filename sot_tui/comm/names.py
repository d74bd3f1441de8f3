"""Names: handles, hosts, slugs, and the handle a session derives.

Contract, Naming: names come from the repo, never from the task. A derived handle is `<base>-<host>`, with the case
kept; `<base>` is the project folder's name reduced to `[A-Za-z0-9._-]` and cut to 20 characters; `<host>` is the box's
name cut to 12, with `-<hash6>` of the raw name appended when that changed it.
"""

from __future__ import annotations

import os

from sot_tui.comm.errors import Misuse, Refused
from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.proof import Procs

BASE_LIMIT = 20
"""Characters of a project or parent folder's name in a derived handle (contract, Naming)."""
HOST_LIMIT = 12
"""Characters of the box's name in a derived handle (contract, Naming)."""
HANDLE_LIMIT = 64
"""Bytes of a valid name (daemon-wire 1.6)."""

TIERS = (1, 2, 3)
"""The tiers of a derived handle, in the order in which they are tried (contract, Naming)."""
HASH_DIGITS = 6
"""Hex digits of a SHA-256 that tell two names apart (contract, Naming; the hash is the reference client's)."""

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_SLUG_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")


def is_handle(name: object) -> bool:
    """Tell whether `name` is a valid handle: 1 to 64 bytes of `[A-Za-z0-9._-]`."""
    return isinstance(name, str) and 0 < len(name) <= HANDLE_LIMIT and _LETTERS.issuperset(name)


def is_file_safe(name: str) -> bool:
    """Tell whether a valid handle can also name files: `.` and `..` are folders everywhere."""
    return is_handle(name) and name not in {".", ".."}


def not_a_handle(text: str) -> str:
    """Return the contract's words for what is no handle, with the text in quotes and its odd signs escaped."""
    import json  # noqa: PLC0415  (only a refusal quotes)

    return f"not a handle: {json.dumps(text, ensure_ascii=False)}"


def declared_host(environ: Mapping[str, str], procs: Procs) -> str:
    """Return the box's declared host: `$SOT_SELF_HOST` as written, else the host name's first label in lower case.

    Raises Misuse when the variable cannot be part of a file's name, Refused when the machine has no name.
    """
    said = environ.get("SOT_SELF_HOST", "")
    if said:
        if not _names_files(said):
            raise Misuse(f"SOT_SELF_HOST={said!r} cannot be part of a file's name")
        return said
    name = _first_label(procs).lower()
    if not name:
        raise Refused("this machine has no host name, so no declared host; set SOT_SELF_HOST")
    return name


def raw_host(environ: Mapping[str, str], procs: Procs) -> str:
    """Return the machine's own short name with its case, a component of derived handles and of old slots."""
    return environ.get("SOT_COMM_TEST_HOST", "") or _first_label(procs)


def reduced(name: str, limit: int) -> str:
    """Return `name` in the letters of a handle, cut to `limit`; each run of others is one dash, with none at the ends.

    A name of which nothing is left is `x`.
    """
    letters: list[str] = []
    for char in name:
        letter = char if char in _LETTERS else "-"
        if letter != "-" or (letters and letters[-1] != "-"):
            letters.append(letter)
    return "".join(letters)[:limit].rstrip("-") or "x"


def hash6(text: str) -> str:
    """Return the first six hex digits of the SHA-256 of a name or path, taken of its bytes."""
    import hashlib  # noqa: PLC0415  (only a name that does not fit, or the last tier, needs it)

    return hashlib.sha256(os.fsencode(text)).hexdigest()[:HASH_DIGITS]


def host_piece(raw: str) -> str:
    """Return the machine's part of a derived handle: its reduced name, with a hash of the raw one where they differ."""
    piece = reduced(raw, HOST_LIMIT)
    return piece if piece == raw else f"{piece}-{hash6(raw)}"


def derived(root: str, raw: str, tier: int) -> str:
    """Return the handle a project at `root` derives on the machine `raw`, at tier 1, 2 or 3.

    Contract, Naming: `<base>-<host>`; when another project's root holds that, `<base>-<parentdir>-<host>`; then
    `<base>-<hash6>-<host>`, the hash of the root's whole path.
    """
    base = reduced(os.path.basename(root), BASE_LIMIT)
    if tier == 1:
        return f"{base}-{host_piece(raw)}"
    between = reduced(os.path.basename(os.path.dirname(root)), BASE_LIMIT) if tier == 2 else hash6(root)
    return f"{base}-{between}-{host_piece(raw)}"


def operator_handle(host: str, wanted: str) -> str:
    """Return the handle of the person at the box `host`: the wanted one, else `operator-<host>`.

    Raises Refused when what is wanted is no handle.
    """
    handle = wanted.removeprefix("@") or f"operator-{host_piece(host)}"
    if not is_file_safe(handle):
        raise Refused(f"the configured operator is no handle: {wanted!r}")
    return handle


def slug(label: str) -> str:
    """Return a workspace label as a slug: lower case, `.` as `_`, each run of other letters one dash, none at the ends.

    Of a label of which nothing is left the slug is `default` (daemon-wire 1.6).
    """
    letters: list[str] = []
    skipped = False
    for char in label:
        letter = "_" if char == "." else char.lower() if char.isascii() else ""
        if letter not in _SLUG_LETTERS:
            skipped = True
            continue
        if skipped and letters and letters[-1] != "-":
            letters.append("-")
        skipped = False
        letters.append(letter)
    return "".join(letters).rstrip("-") or "default"


def _first_label(procs: Procs) -> str:
    return procs.host_name().split(".", 1)[0].strip()


def _names_files(text: str) -> bool:
    """Tell whether `text` can be a part of one file's name and of one line."""
    return "/" not in text and text.isprintable() and text not in {".", ".."}
