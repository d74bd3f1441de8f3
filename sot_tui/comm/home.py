"""The comm home: where it is, what lies in it, and its private making.

Contract, Layout: every entry except `bin/` and `VERSION` is 0700 (a folder) or 0600 (a file), created so by every
writer; `ensure_home` closes an older folder's entries at the next join. `ensure_home` creates the registry only when
there is no file, by a flushed skeleton and a hard link, so it never replaces, truncates or repairs a registry.
"""

from __future__ import annotations

import os
import stat

from sot_tui.comm.clock import Clock, SystemClock
from sot_tui.comm.disk import FILE_MODE, FOLDER_MODE, Disk
from sot_tui.comm.light import NamedTuple
from sot_tui.comm.proof import Procs, SystemProcs

PROTOCOL_VERSION = 1
"""The version stamped into a new registry and checked on join (contract, Versioning)."""

_FOLDERS = ("inbox", "read", "self")
_CLOSED_FOLDERS = (*_FOLDERS, "state", "probe")
_CLOSED_FILES = frozenset(
    {"registry.json", "registry.json.tmp", ".registry.lock", "inbox-lock-manager", "gh-device-auth.json"}
)
_CLOSED_PREFIXES = (
    "registry.json.new.",
    ".registry.lock.reclaim.",
    ".registry.lock.tmp.",
    ".inbox-lock-manager.",
)


class Home(NamedTuple):
    """One comm home, seen through the seams: every function of this room takes it first."""

    path: str
    """Absolute path of the folder."""
    disk: Disk = Disk()
    """Every step on the disk."""
    clock: Clock = SystemClock()
    """Wall and monotonic time."""
    procs: Procs = SystemProcs()
    """Who this process is, and which processes live."""

    @property
    def registry(self) -> str:
        """Path of the registry."""
        return f"{self.path}/registry.json"

    @property
    def lock(self) -> str:
        """Path of the registry lock."""
        return f"{self.path}/.registry.lock"

    @property
    def lock_manager(self) -> str:
        """Path of the hub's record of the inbox lock's mount."""
        return f"{self.path}/inbox-lock-manager"

    @property
    def inboxes(self) -> str:
        """Folder of the inboxes."""
        return f"{self.path}/inbox"

    @property
    def cursors(self) -> str:
        """Folder of the read cursors."""
        return f"{self.path}/read"

    @property
    def selves(self) -> str:
        """Folder of the identity pins."""
        return f"{self.path}/self"

    @property
    def scratch(self) -> str:
        """Folder of what one hook of a session leaves for its next."""
        return f"{self.path}/state"

    def inbox(self, handle: str) -> str:
        """Return the path of a handle's inbox."""
        return f"{self.path}/inbox/{handle}.jsonl"

    def inbox_lock(self, handle: str) -> str:
        """Return the path of a handle's inbox lock file."""
        return f"{self.path}/inbox/{handle}.lock"

    def cursor(self, handle: str) -> str:
        """Return the path of a handle's read cursor."""
        return f"{self.path}/read/{handle}.cursor"


def home_path(environ: dict[str, str] | os._Environ[str]) -> str:
    """Return the comm home's path: `$SOT_COMM_HOME` (a relative one against the working folder), else `~/.sot-comm`."""
    said = environ.get("SOT_COMM_HOME", "")
    if not said:
        return os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".sot-comm")
    return os.path.normpath(os.path.join(os.getcwd(), said)) if not os.path.isabs(said) else said


def home_here() -> Home:
    """Return the comm home of this process's environment, on the real disk, clock and processes."""
    return Home(home_path(os.environ))


def ensure_home(home: Home) -> None:
    """Make what is missing of the comm home, and close what an older version left open.

    A home folder that is 0700 already is taken as closed: nothing beneath it changes its mode. A registry that exists,
    whatever it holds, is left alone. Raises the OSError of the first step that failed.
    """
    disk = home.disk
    try:
        was = stat.S_IMODE(disk.target_stat(home.path).st_mode)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(home.path) or "/", exist_ok=True)
        _make_folder(home, home.path)
        was = FOLDER_MODE
    if was != FOLDER_MODE:
        # The home itself comes last: closed, it says that everything beneath it was closed too.
        _close_entries(home)
        disk.chmod(home.path, FOLDER_MODE)
    for name in _FOLDERS:
        _make_folder(home, f"{home.path}/{name}")
    _make_registry(home)


def _make_folder(home: Home, path: str) -> None:
    """Make a folder that is 0700 whatever the umask; one that exists is left as it is."""
    try:
        home.disk.mkdir(path)
    except FileExistsError:
        return
    if stat.S_IMODE(home.disk.stat(path).st_mode) != FOLDER_MODE:
        home.disk.chmod(path, FOLDER_MODE)


def _close_entries(home: Home) -> None:
    """Close the entries an older version left open.

    Only what the contract lists; anything else keeps its mode behind the closed folder, and no link is followed.
    """
    for name in home.disk.listdir(home.path):
        path = f"{home.path}/{name}"
        if name in _CLOSED_FOLDERS:
            for below in _names_below(home, path):
                _close(home, f"{path}/{below}")
        if name in _CLOSED_FOLDERS or name in _CLOSED_FILES or name.startswith(_CLOSED_PREFIXES):
            _close(home, path)


def open_entries(home: Home) -> list[str]:
    """Return the entries that the contract wants closed and that are open to others, by their paths in the home.

    A folder stands for itself and each entry below it. Raises the OSError of a look that failed.
    """
    found = []
    for name in sorted(home.disk.listdir(home.path)):
        if name in _CLOSED_FOLDERS or name in _CLOSED_FILES or name.startswith(_CLOSED_PREFIXES):
            below = _names_below(home, f"{home.path}/{name}") if name in _CLOSED_FOLDERS else []
            found += [path for path in (name, *(f"{name}/{each}" for each in sorted(below))) if _is_open(home, path)]
    return found


def _is_open(home: Home, path: str) -> bool:
    try:
        mode = home.disk.stat(f"{home.path}/{path}").st_mode
    except FileNotFoundError:
        return False  # a temp file of another process, gone meanwhile
    return not stat.S_ISLNK(mode) and bool(stat.S_IMODE(mode) & 0o077)


def _names_below(home: Home, path: str) -> list[str]:
    return home.disk.listdir(path) if stat.S_ISDIR(home.disk.stat(path).st_mode) else []


def _close(home: Home, path: str) -> None:
    try:
        mode = home.disk.stat(path).st_mode
        if stat.S_ISDIR(mode):
            home.disk.chmod(path, FOLDER_MODE)
        elif stat.S_ISREG(mode):
            home.disk.chmod(path, FILE_MODE)
    except FileNotFoundError:
        return  # another process removed a temp file of its own meanwhile


def _make_registry(home: Home) -> None:
    """Publish an empty registry when there is no file: a flushed skeleton, linked, so nothing is ever replaced."""
    disk = home.disk
    try:
        disk.stat(home.registry)
    except FileNotFoundError:
        pass
    else:
        return
    skeleton = f"{home.registry}.new.{home.procs.pid()}.{home.procs.serial()}"
    try:
        disk.put(skeleton, b'{"protocol_version":%d,"agents":{}}\n' % PROTOCOL_VERSION)
        try:
            disk.link(skeleton, home.registry)
        except FileExistsError:
            return  # another process was first, and its registry stands
    finally:
        disk.unlink(skeleton)
