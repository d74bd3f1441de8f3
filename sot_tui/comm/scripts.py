"""The script names of the comm home: which verb stands behind each, and how they are put into `bin/`.

Contract, Layout: `bin/` and `VERSION` are the installer's. Upgrading: "An install removes the comm scripts a release no
longer ships, by exact name: those it recorded in bin/.sot-comm-installed". Each script is a stub that runs whatever
`sot-tui` the box has, as one home serves many boxes. Nothing that we did not write is written over unless that was
asked for, and nothing that we did not write is ever removed. The notifier's name is put there on request alone, and
never in the place of another's program.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from enum import Enum

from sot_tui.comm.disk import FOLDER_MODE
from sot_tui.comm.errors import Refused, Unreadable
from sot_tui.comm.home import ensure_home
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

SCRIPTS = {
    "comm-context.sh": "context",
    "comm-despawn.sh": "despawn",
    "comm-join.sh": "join",
    "comm-leave.sh": "leave",
    "comm-list.sh": "list",
    "comm-poll.sh": "poll",
    "comm-probe.sh": "probe",
    "comm-registry-lock-clear.sh": "lock-clear",
    "comm-relay.sh": "relay",
    "comm-self-audit.sh": "self-audit",
    "comm-send.sh": "send",
    "comm-session-start.sh": "session-start",
    "comm-spawn.sh": "spawn",
    "comm-status.sh": "status",
    "comm-worktree-clean.sh": "worktree-clean",
    "comm-worktree-new.sh": "worktree-new",
    "comm-worktree-status.sh": "worktree-status",
    "comm-worktree-sync.sh": "worktree-sync",
}
"""The reference client's scripts (contract, Mail and address-book verbs), and the verb that each one is here."""

STEWARD = "steward"
"""The notifier's name in hooks and units that are deployed already; its script is written on request alone."""
STEWARD_VERBS = ("notify", "notifyd", "session-metadata")
"""What that name is asked for; another word of it is another program's."""

RECORD = ".sot-comm-installed"
"""In `bin/`: the names an install has put there, one on a line (contract, Upgrading)."""
SCRIPT_MODE = 0o755
"""Mode of a script and of `bin/`: both may be read by whoever gets past the closed home (contract, Layout)."""
STAMP = "sot-tui "
"""How our VERSION begins; the rest is the release."""

_HEAD = b"#!/bin/sh\n# Written by `sot-tui install`"
"""How each script of ours begins, in every release: what begins otherwise is not ours."""
_STUB = """\
. It runs the sot-tui of this box, or what SOT_TUI_BIN names.
tui=${{SOT_TUI_BIN:-sot-tui}}
command -v "$tui" >/dev/null 2>&1 || {{
  echo "{name}: $tui was not found on this box; install sot-tui here, or let SOT_TUI_BIN name it" >&2
  exit 1
}}
"""
_RUN = """\
exec "$tui" {verb} "$@"
"""
_CHOOSE = f"""\
case ${{1-}} in
  {" | ".join(STEWARD_VERBS)}) exec "$tui" "$@" ;;
esac
echo "{STEWARD}: this one knows {", ".join(STEWARD_VERBS[:-1])} and {STEWARD_VERBS[-1]}, and nothing else" >&2
exit 2
"""
_READ_LIMIT = 1 << 16
"""Bytes of a script, record or stamp that are read; a real one has some lines."""


class Installed(NamedTuple):
    """The scripts stand."""

    folder: str
    written: tuple[str, ...]
    """Names that were written, sorted; empty when all stood already."""
    removed: tuple[str, ...]
    """Names of ours that this release no longer has, or that are no longer wanted."""
    total: int
    """How many stand there now."""


class Stand(Enum):
    """How the scripts stand in a comm home; the value says it to a person, and to a program."""

    INSTALLED = "installed"
    """All of them, as this release writes them."""
    OTHER_VERSION = "another version"
    """All of them are ours, and another release wrote some."""
    INCOMPLETE = "incomplete"
    MISSING = "missing"
    FOREIGN = "foreign"
    """Another install's stand there; ours are not put over them unless that is asked for."""
    UNREAD = "unreadable"


class Standing(NamedTuple):
    """What a look at `bin/` found."""

    stand: Stand
    folder: str
    version: str = ""
    """The first line of VERSION, ours or another install's; empty when there is none. Foreign text."""
    names: tuple[str, ...] = ()
    """The scripts that are missing, foreign or of another version, sorted."""
    fault: str = ""
    """Why it could not be looked at."""


def verb_of(program: str) -> str:
    """Return the verb that a program's name stands for, empty when it is no script's."""
    return SCRIPTS.get(os.path.basename(program), "")


def stub(name: str) -> bytes:
    """Return the text of a script."""
    end = _CHOOSE if name == STEWARD else _RUN.format(verb=SCRIPTS[name])
    return _HEAD + (_STUB.format(name=name) + end).encode()


def standing(home: Home, release: str) -> Standing:
    """Look at the scripts, by the rules that an install goes by; nothing is written."""
    folder = f"{home.path}/bin"
    try:
        stands = {name: _text_of(home, f"{folder}/{name}") for name in sorted(SCRIPTS)}
        asked_for = _text_of(home, f"{folder}/{STEWARD}")
        stamp = _text_of(home, f"{home.path}/VERSION")
    except OSError as error:
        return Standing(Stand.UNREAD, folder, fault=error.strerror or str(error))
    version = (stamp or b"").partition(b"\n")[0].decode("utf-8", "replace")
    if _is_ours(asked_for):
        stands[STEWARD] = asked_for
    foreign = [name for name, text in stands.items() if _is_foreign(text)]
    if stamp is not None and not stamp.startswith(STAMP.encode()):
        foreign.append("../VERSION")
    missing = [name for name, text in stands.items() if text is None]
    older = [name for name, text in stands.items() if text is not None and text != stub(name)]
    if foreign:
        return Standing(Stand.FOREIGN, folder, version, tuple(foreign))
    if missing:
        stand = Stand.MISSING if len(missing) == len(SCRIPTS) else Stand.INCOMPLETE
        return Standing(stand, folder, version, tuple(missing))
    if older or version != f"{STAMP}{release}":
        return Standing(Stand.OTHER_VERSION, folder, version, tuple(older))
    return Standing(Stand.INSTALLED, folder, version)


def install(home: Home, release: str, *, force: bool = False, steward: bool | None = None) -> Installed:
    """Put the scripts into `bin/` and the stamp beside it; what stands already as it should be is not touched.

    `steward` says whether the notifier's name is to be one of them; None leaves that as it is.

    The record is widened before the first script and cut after the last, so that a death on the way leaves no script
    unrecorded. Raises Refused, with nothing written, when another install stands there and `force` is not given;
    Unreadable when a step on the disk failed.
    """
    try:
        ensure_home(home)
        return _install(home, release, force=force, steward=steward)
    except OSError as error:
        named = f" ({error.filename})" if error.filename else ""
        raise Unreadable(f"the scripts could not all be installed: {error.strerror}{named}; run it again") from error


def _install(home: Home, release: str, *, force: bool, steward: bool | None) -> Installed:
    folder = f"{home.path}/bin"
    _make_bin(home, folder)
    recorded = _recorded(home, f"{folder}/{RECORD}")
    stands = {name: _text_of(home, f"{folder}/{name}") for name in {*SCRIPTS, STEWARD, *recorded}}
    names = set(SCRIPTS)
    if steward or (steward is None and STEWARD in recorded and _is_ours(stands[STEWARD])):
        names.add(STEWARD)
    if STEWARD in names and _is_foreign(stands[STEWARD]):
        raise Refused(f"another {STEWARD} stands in {folder}, and nothing was written; it is never written over")
    stamp = _text_of(home, f"{home.path}/VERSION")
    if not force:
        foreign = sorted(name for name in SCRIPTS if _is_foreign(stands[name]))
        if stamp is not None and not stamp.startswith(STAMP.encode()):
            foreign.append("../VERSION")
        if foreign:
            raise Refused(
                f"another install stands in {folder} ({', '.join(foreign[:3])}{', ...' if len(foreign) > 3 else ''}), "
                "and nothing was written; --force writes over it"
            )
    retired = [name for name in recorded if name not in names and _is_ours(stands[name])]
    # What another install recorded and we do not ship stays recorded: its files stay too.
    kept = [name for name in recorded if name not in retired]
    _put(home, f"{folder}/{RECORD}", _record({*recorded, *names}), 0o644)
    written = [name for name in sorted(names) if _put(home, f"{folder}/{name}", stub(name), SCRIPT_MODE)]
    for name in retired:
        with suppress(FileNotFoundError):  # another install removed it
            home.disk.unlink(f"{folder}/{name}")
    _put(home, f"{folder}/{RECORD}", _record({*kept, *names}), 0o644)
    _put(home, f"{home.path}/VERSION", f"{STAMP}{release}\n".encode(), 0o644)
    return Installed(folder, tuple(written), tuple(sorted(retired)), len(names))


def _make_bin(home: Home, folder: str) -> None:
    try:
        home.disk.mkdir(folder)
    except FileExistsError:
        mode = home.disk.stat(folder).st_mode
        if not stat.S_ISDIR(mode):
            raise Refused(f"{folder} is no folder of its own, and nothing was written; move it away first") from None
        if stat.S_IMODE(mode) != FOLDER_MODE:
            return
        # An install that died left it as it was made.
    home.disk.chmod(folder, SCRIPT_MODE)


def _recorded(home: Home, path: str) -> list[str]:
    """Return the recorded names; a word that could lead out of `bin/` is none."""
    text = (_text_of(home, path) or b"").decode("utf-8", "replace")
    names = [line.strip() for line in text.splitlines()]
    return [name for name in names if name and "/" not in name and name not in {".", "..", RECORD} and "\0" not in name]


def _record(names: set[str]) -> bytes:
    return "".join(f"{name}\n" for name in sorted(names)).encode()


def _text_of(home: Home, path: str) -> bytes | None:
    """Return how a file begins, None when nothing is there; what is no plain file begins with nothing."""
    try:
        if not stat.S_ISREG(home.disk.stat(path).st_mode):
            return b""
        descriptor = home.disk.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return home.disk.read_at(descriptor, _READ_LIMIT, 0)
    finally:
        home.disk.close(descriptor)


def _is_ours(text: bytes | None) -> bool:
    return text is not None and text.startswith(_HEAD)


def _is_foreign(text: bytes | None) -> bool:
    return text is not None and not text.startswith(_HEAD)


def _put(home: Home, path: str, data: bytes, mode: int) -> bool:
    """Let the file hold `data` with that mode, whole or not at all; tell whether it had to be written."""
    disk = home.disk
    if _text_of(home, path) == data:
        if stat.S_IMODE(disk.stat(path).st_mode) != mode:
            disk.chmod(path, mode)
        return False
    folder, name = os.path.split(path)
    draft = f"{folder}/.{name}.{home.procs.pid()}.{home.procs.serial()}.tmp"
    disk.replace(draft, path, data, mode)
    return True
