"""Who this process is to the others: its project, its self file, the row it names, and the handle it may act as.

Contract, Cases: a process acts as a handle only through a self file that names this project, only with at most one
agent above it, and as a row's handle only from inside that row. What cannot be read proves nothing: an unreadable self
file or ancestry refuses, and a handle that the registry gives to another row is nobody's here. Nothing in this module
sends, or takes a handle.
"""

from __future__ import annotations

import os
import stat
from enum import Enum

from sot_tui.comm import ancestry, names, registry
from sot_tui.comm.errors import Misuse, Refused, Unreadable
from sot_tui.comm.home import ensure_home
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.registry import Registry, Unread
from sot_tui.comm.slots import SELF_FILE_LIMIT, claim_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home

NO_ROW = "nopane"
"""The pane of a self file of a process outside any row (contract, Layout)."""


class Project(NamedTuple):
    """The folder a session works for."""

    folder: str
    """Its real path, as the system has it."""
    root: str
    """The same as text; bytes that are no UTF-8 are replaced, as JSON cannot carry them."""
    repo: str
    """The name it goes by."""


class Pin(NamedTuple):
    """A private identity that the program itself states, outside any row: its own self file and project."""

    self_file: str
    project: Project


class SelfFile(NamedTuple):
    """A self file: the slot it is, and what stands in it."""

    path: str
    row: str
    """The row that the identity names by this slot; empty when it names none."""
    shared: bool
    """Whether every process outside a row on this box has this slot."""
    pinned: bool
    """Whether `$SOT_COMM_SELF_FILE` or the program named it."""
    present: bool = False
    handle: str = ""
    repo: str = ""
    root: str = ""
    """The project it was claimed for; empty in the older forms."""
    older: str = ""
    """The slot an older version named by the raw host, when that is where all this stood."""

    def claim(self) -> str:
        """Return what the slot was claimed for, as a refusal says it."""
        return f"root='{self.root}'" if self.root else f"repo='{self.repo}' (legacy slot, no root=)"

    def is_of_another(self, project: Project) -> bool:
        """Tell whether the slot is claimed for a different project; a slot that names none is not."""
        if not self.handle:
            return False
        if self.root:
            return self.root != project.root
        return self.repo not in {"", project.repo}


class Binding(Enum):
    """Which row holds a handle, as the registry says."""

    OWNER = "owner"
    """The row this process runs in."""
    OTHER = "other"
    """Another row, or any row for a process outside them."""
    UNBOUND = "unbound"
    """None: no entry, or an entry with no row."""
    UNREADABLE = "unreadable"


class Context(NamedTuple):
    """What a process knows about itself. With a `refusal` it has no identity and may not read, send or stamp."""

    host: str
    """The declared host."""
    handle_host: str
    """The machine's own name, as derived handles have it."""
    workspace_id: str
    """What `$SOT_WORKSPACE_ID` says."""
    row: str
    """The row the process is proved to run in; empty outside any row."""
    project: Project
    self_file: SelfFile
    refusal: str | None = None
    name: str = ""
    """The handle it may act as; empty when none resolved."""
    held_by: str = ""
    """The row that holds the handle its self file names, when that is not its own."""
    notes: tuple[str, ...] = ()
    """Lines for stderr: why a handle was discarded, or a self file completed."""
    book: Registry | Unread = Unread(missing=False, why="not read")
    """The registry as it was read for this answer; a writer reads it afresh under the lock."""


def who_am_i(
    home: Home, environ: Mapping[str, str], cwd: str, pin: Pin | None = None, *, rebind: bool = False
) -> Context:
    """Return who this process is, making the comm home when that is missing.

    A refused process makes and reads nothing. Raises Unreadable when the comm home cannot be made or the self file not
    be read, Misuse when a variable makes no sense, Refused when the machine has no name. With `rebind` a process in a
    row is told its handle also where another row has it, as a join of this row takes it back.
    """
    host = names.declared_host(environ, home.procs)
    raw = names.raw_host(environ, home.procs)
    project = pin.project if pin else project_of(home, environ, cwd)
    slot = _slot(home, environ, cwd, host, pin)
    here = Context(host, raw, environ.get("SOT_WORKSPACE_ID", ""), slot.row, project, slot)
    judged = ancestry.judge(ancestry.walk_from(home, home.procs.pid()), slot.row)
    if refusal := judged.refusal(slot.row):
        return here._replace(refusal=refusal)
    try:
        ensure_home(home)
    except OSError as error:
        raise Unreadable(f"the comm home {home.path} cannot be used: {_why(error)}") from error
    return _resolve(home, here._replace(self_file=_read_slot(home, slot, raw, project)), rebind=rebind)


def row_binding(book: Registry | Unread, handle: str, row: str) -> tuple[Binding, str]:
    """Return which row holds a handle, seen from a process in `row` (empty: outside any), and that row's id."""
    if isinstance(book, Unread):
        return Binding.UNREADABLE, ""
    bound = _said(book, handle, "workspace_id")
    if not bound:
        return Binding.UNBOUND, ""
    return (Binding.OWNER if bound == row else Binding.OTHER), bound


def root_of(book: Registry, handle: str) -> str:
    """Return the project root an entry was joined from; empty when there is no entry or it does not say."""
    return _said(book, handle, "root")


def _said(book: Registry, handle: str, key: str) -> str:
    value = (book.entry(handle) or {}).get(key)
    return value if isinstance(value, str) else ""


def sender_fault(here: Context) -> str | None:
    """Return why this process may not send, or None; what is sent bears a handle that is verified its own."""
    if here.refusal:
        return here.refusal
    if not here.name:
        return (
            "your sot-comm identity did not resolve — refusing to send with no verifiable from-handle (a reply would "
            "silently misroute). Join first: comm-join.sh --name <canonical-handle> (never a bare comm-join.sh if you "
            "previously held one — see the sot-session-start skill's recovery recipe)."
        )
    if isinstance(here.book, Unread):
        return f"the registry could not be read, so identity @{here.name} is unverified; nothing was sent"
    if here.book.entry(here.name) is None:
        return (
            f"@{here.name} has no registry row, so no reply would find it; nothing was sent; "
            f"reclaim it with comm-join.sh --name {here.name}"
        )
    root = root_of(here.book, here.name)
    if root and root != here.project.root:
        return (
            f"@{here.name} is held by {root}, not by this project ('{here.project.root}'); nothing was sent; "
            "join again under a handle of this project's own: comm-join.sh"
        )
    return None


def write_self_file(home: Home, path: str, handle: str, project: Project) -> None:
    """Put the three lines of an identity in the place of a self file, whole or not at all."""
    draft = f"{path}.tmp.{home.procs.pid()}.{home.procs.serial()}"
    home.disk.replace(draft, path, f"{handle}\nrepo={project.repo}\nroot={project.root}\n".encode())


def remove_self_file(home: Home, path: str) -> None:
    """Remove a self file; one that is gone already is no fault."""
    try:
        home.disk.unlink(path)
    except FileNotFoundError:
        return


# -- the project --------------------------------------------------------------------------------------------------


def project_of(home: Home, environ: Mapping[str, str], cwd: str) -> Project:
    """Return the project of a working folder: the top of its git work tree, else the folder itself.

    The work tree is found by looking for `.git` upwards, on one file system, without starting git. Outside one, the
    folder's name is the one `$PWD` gives it, so a link keeps its own name; root and handle come from the real folder.
    """
    real = os.path.realpath(cwd)
    top = _work_tree(home, real)
    if top is not None:
        return make_project(top)
    said = environ.get("PWD", "")
    return make_project(real, said if said.startswith("/") and _same_folder(home, said, real) else "")


def make_project(folder: str, named: str = "") -> Project:
    """Return the project at a real path, by the name of another path to it when one is given."""
    return Project(folder, _text(folder), _text(os.path.basename(named.rstrip("/")) or os.path.basename(folder) or "/"))


def _work_tree(home: Home, folder: str) -> str | None:
    """Return the nearest folder upwards that holds a git folder, or the file that stands for one."""
    try:
        device = home.disk.target_stat(folder).st_dev
        while home.disk.target_stat(folder).st_dev == device:
            if _is_git(home, f"{folder.rstrip('/')}/.git"):
                return folder
            if folder == "/":
                return None
            folder = os.path.dirname(folder)
    except OSError:
        return None  # a folder above that may not be looked at is not ours
    return None


def _is_git(home: Home, path: str) -> bool:
    """Tell whether a `.git` is what git makes: a folder with a HEAD, or a file that names such a folder."""
    try:
        mode = home.disk.target_stat(path).st_mode
        if stat.S_ISDIR(mode):
            home.disk.stat(f"{path}/HEAD")
            return True
        return stat.S_ISREG(mode) and home.disk.read(path).startswith(b"gitdir:")
    except OSError:
        return False


def _same_folder(home: Home, one: str, other: str) -> bool:
    try:
        first, second = home.disk.target_stat(one), home.disk.target_stat(other)
    except OSError:
        return False
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def _text(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


# -- the self file ------------------------------------------------------------------------------------------------


def _slot(home: Home, environ: Mapping[str, str], cwd: str, host: str, pin: Pin | None) -> SelfFile:
    """Return which self file this process has, and the row its identity names by it."""
    if pin:
        return SelfFile(pin.self_file, row="", shared=False, pinned=True)
    said = environ.get("SOT_COMM_SELF_FILE", "")
    if said:
        return SelfFile(os.path.join(cwd, said), _row_in_name(os.path.basename(said), host), shared=False, pinned=True)
    row = environ.get("SOT_WORKSPACE_ID", "")
    if row and not names.is_file_safe(row):
        raise Misuse(f"SOT_WORKSPACE_ID={row!r} is no row id")
    return SelfFile(f"{home.selves}/{host}__{row or NO_ROW}.txt", row, shared=not row, pinned=False)


def _row_in_name(file: str, host: str) -> str:
    """Return the row a pinned self file's name stands for: `<host>__<id>.txt`, and `<id>` is not `nopane`.

    A name for another host counts as well: whoever names a row must be shown to run in it.
    """
    if not file.endswith(".txt"):
        return ""
    stem = file.removesuffix(".txt")
    row = stem.removeprefix(f"{host}__") if stem.startswith(f"{host}__") else stem.partition("__")[2]
    return "" if row == NO_ROW else row


def _read_slot(home: Home, slot: SelfFile, raw: str, project: Project) -> SelfFile:
    """Return the slot with what stands in it.

    A slot that an older version named by the raw host is read in its place when it names this very project.
    """
    data = _read_self_file(home, slot.path)
    if data is not None:
        return _parsed(slot, data)
    older = f"{home.selves}/{raw}__{slot.row or NO_ROW}.txt"
    if slot.pinned or older == slot.path or "/" in raw:
        return slot
    data = _read_self_file(home, older)
    if data is None or (read := _parsed(slot, data)).root != project.root:
        return slot
    return read._replace(older=older)


def _read_self_file(home: Home, path: str) -> bytes | None:
    """Return a self file's bytes, None when there is no such file."""
    try:
        descriptor = home.disk.open(path, os.O_RDONLY)
        try:
            return home.disk.read_at(descriptor, SELF_FILE_LIMIT, 0)
        finally:
            home.disk.close(descriptor)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Unreadable(
            f"the self file {path} could not be read, so this session's identity is unknown; "
            f"nothing was read, sent or stamped: {_why(error)}"
        ) from error


def handle_in_slot(home: Home, path: str) -> str:
    """Return the handle that a self file names, empty when there is none; raises Unreadable."""
    return claim_in(_read_self_file(home, path) or b"").handle


def _parsed(slot: SelfFile, data: bytes) -> SelfFile:
    claim = claim_in(data)
    return slot._replace(present=True, handle=claim.handle, repo=claim.repo, root=claim.root)


# -- the handle ---------------------------------------------------------------------------------------------------


def _resolve(home: Home, here: Context, *, rebind: bool) -> Context:
    """Return the context with the handle its self file gives it, if that holds against project, registry and row."""
    slot = here.self_file
    if not slot.handle:
        return here
    if not names.is_file_safe(slot.handle):
        return _note(here, f"self-file {slot.path} names no valid handle — discarding")
    here = here._replace(book=registry.read(home))
    why_not = _distrust(slot, here.project, here.book)
    if why_not:
        return _note(here, why_not)
    if not slot.root:
        here = _heal(home, here)
    binding, row = row_binding(here.book, slot.handle, here.row)
    if binding is Binding.OTHER and not (rebind and here.row):
        carried = here.row or "no row id"
        return _note(
            here._replace(held_by=row),
            f"@{slot.handle} belongs to row {row}; this process carries {carried}, so it is not this row's inbox",
        )
    return here._replace(name=slot.handle)


def _distrust(slot: SelfFile, project: Project, book: Registry | Unread) -> str | None:
    """Return why a self file's handle is not this project's, or None when it is.

    A root decides. The older forms have none, so only the registry's root does; where it holds none, a file of the
    session's own is believed on its repo, the shared slot is not, and the form of one line never is.
    """
    whose = f"self-file identity '{slot.handle}'"
    if slot.root:
        if slot.root == project.root:
            return None
        return (
            f"{whose} has root='{slot.root}' which doesn't match this project ('{project.root}') — stale; "
            "discarding (forces fresh derivation)"
        )
    if slot.repo not in {"", project.repo}:
        return (
            f"{whose} was claimed for repo '{slot.repo}' but this is '{project.repo}' — stale (workspace slot reused, "
            "a genuine cd elsewhere, or a shared no-pane self-file read from a different repo/cwd); discarding"
        )
    if isinstance(book, Unread):
        return (
            f"could not read/parse the sot-comm registry while validating {whose} — refusing to trust or heal a "
            "basename match with no verifiable registry evidence; discarding"
        )
    known = root_of(book, slot.handle)
    if known == project.root:
        return None
    if known:
        return (
            f"{whose} has no root= (legacy) and the registry's own root for it ('{known}') doesn't match this project "
            f"('{project.root}') — stale; refusing to self-heal a basename match against contrary registry evidence; "
            "discarding"
        )
    if not slot.repo:
        return (
            f"{whose} is the ancient one-line format (no repo=, no root=) and the registry offers no corroborating "
            "root for it — stale; refusing to self-heal; discarding"
        )
    if slot.shared:
        return (
            f"{whose} is in the SHARED nopane slot and this project's repo='{project.repo}' match alone is not enough "
            "evidence for it (this exact file is shared by every no-pane shell on this host) — stale; refusing to "
            "self-heal without a corroborating registry root; discarding"
        )
    return None


def _heal(home: Home, here: Context) -> Context:
    """Complete a self file of an older form, so that the next read has its root."""
    slot, project = here.self_file, here.project
    if "\n" in project.root:
        return here
    try:
        write_self_file(home, slot.path, slot.handle, project)
    except OSError as error:
        return _note(here, f"the legacy self-file for '{slot.handle}' could not be completed: {_why(error)}")
    here = here._replace(self_file=slot._replace(repo=project.repo, root=project.root))
    return _note(
        here,
        f"self-healed legacy self-file for '{slot.handle}' (pre-#148 format had no root=) — added "
        f"root='{project.root}'; every read after this one is fully validated",
    )


def _note(here: Context, line: str) -> Context:
    return here._replace(notes=(*here.notes, f"comm-context: {line}"))


def _why(error: OSError | ValueError) -> str:
    """Return what the system said, and of which file."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror} ({error.filename})" if error.filename else error.strerror
    return str(error)


def working_folder() -> str:
    """Return the folder this process works in; raises Refused when it is gone."""
    try:
        return os.getcwd()
    except OSError as error:
        raise Refused("the working folder is gone, so there is no project to act for; change into one first") from error
