"""Identity slots: what stands in a self file, and the audit of whether each row's slot names its own project.

Contract, audit slots: each workspace-keyed slot's key is compared with the `repo=` it carries; a suffixed or
path-disambiguated name passes. A slot that names a different project sends its row's mail to the wrong reader. Nothing
is written here.
"""

from __future__ import annotations

from enum import Enum

from sot_tui.comm import names
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

SELF_FILE_LIMIT = 1 << 16
"""Bytes of a self file that are read; a real one has three lines."""


class Finding(Enum):
    """What a slot's comparison says."""

    AGREES = "agree"
    SUFFIXED = "suffixed"
    """The key is the project's slug with more behind it, as of a second row on it."""
    BY_PATH = "path-disambiguated"
    """The key is made of more of the project's path than its last folder."""
    DIFFERS = "DIFFERS"
    NO_REPO = "no repo="
    NOT_KEYED = "not workspace-keyed"


class Slot(NamedTuple):
    """One identity slot and what was found."""

    key: str
    """The row id its name carries; empty when it carries none."""
    key_slug: str
    """The row's slug, as the id has it."""
    handle: str
    repo: str
    finding: Finding


class Claim(NamedTuple):
    """What stands in a self file: line one, and the two lines that older forms lack."""

    handle: str
    repo: str
    root: str


def claim_in(data: bytes) -> Claim:
    """Return what a self file's bytes claim; the first line of a kind counts."""
    handle, *lines = data.decode("utf-8", "replace").split("\n")
    said = {key: value for key, sign, value in (line.partition("=") for line in reversed(lines)) if sign}
    return Claim(handle, said.get("repo", ""), said.get("root", ""))


def audit(home: Home) -> list[Slot]:
    """Return every slot of the comm home with its finding, by file name. Raises OSError when one cannot be read."""
    try:
        files = sorted(home.disk.listdir(home.selves))
    except FileNotFoundError:
        return []
    slots = [file for file in files if file.endswith(".txt")]
    return [_judged(file, home.disk.read_up_to(f"{home.selves}/{file}", SELF_FILE_LIMIT)) for file in slots]


def _judged(file: str, data: bytes) -> Slot:
    handle, repo, root = claim_in(data)
    key = file.removesuffix(".txt").partition("__")[2]
    slug, dash, _ = key.removeprefix("ws-").rpartition("-")
    if not key.startswith("ws-") or not dash or not slug:
        return Slot("", "", handle, repo, Finding.NOT_KEYED)
    return Slot(key, slug, handle, repo, _compared(slug, repo, root))


def _compared(slug: str, repo: str, root: str) -> Finding:
    if not repo:
        return Finding.NO_REPO
    project = names.slug(repo)
    if slug == project:
        return Finding.AGREES
    if slug.startswith(f"{project}-"):
        return Finding.SUFFIXED
    folders = root.split("/")
    longer = (names.slug("/".join(folders[start:])) for start in range(len(folders)))
    return Finding.BY_PATH if slug in longer else Finding.DIFFERS
