"""What those who push on this box began with, told by themselves, so that a person sees when it is no longer so.

An engine that was left behind, or a `notifyd`, keeps the topic of the environment it was started in, whatever the
person's says by now. Each writes down, for its account alone, a mark of the topic it sends to and the settings file it
reads. The mark is a digest that only whoever knows the topic can compare: neither address nor token stands anywhere.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum

from sot_tui.comm import jsonline, paths
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.notify import settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home
    from sot_tui.notify.settings import Target

NOTIFYD = "notifyd"
_ENGINE_FILE, _NOTIFYD_FILE = "notifier.json", "notifyd.json"
_RECORD_BYTES = 1 << 16


class Sends(Enum):
    """To whom a process sends, compared with what this environment names; the value is what `info` says."""

    AS_HERE = "as here"
    NOWHERE = "nowhere"
    ELSEWHERE = "elsewhere"
    SOMEWHERE = "somewhere"
    """It has a topic, and this environment names none."""


class Serves(NamedTuple):
    """One process that pushes, or would."""

    pid: int
    what: str
    """`notifyd`, or what the engine runs in: `dashboard`, `daemon`. Foreign text."""
    sends: Sends
    settings: str
    """The settings file that it reads; empty when it is the one that is read here. Foreign text."""
    managed: bool
    """Whether a service manager started it."""


def engines_target(home: Home, environ: Mapping[str, str], what: str) -> Target | None:
    """Return who gets an engine's pushes, and write it down if it is another one than before."""
    found = settings.target(home, environ)
    with suppress(OSError):  # it is for whoever asks; what pushes goes on
        paths.make_own_state(home.disk, environ)
        _write(home, f"{paths.own_state(environ)}/{_ENGINE_FILE}", environ, what, found)
    return found


def note_notifyd(home: Home, environ: Mapping[str, str], base: str, target: Target | None) -> None:
    """Write down who gets a `notifyd`'s pushes."""
    with suppress(OSError):  # as above
        paths.make_folder(home.disk, base)
        _write(home, f"{base}/{_NOTIFYD_FILE}", environ, NOTIFYD, target)


def all_here(home: Home, environ: Mapping[str, str]) -> tuple[Serves, ...]:
    """Return those that live, compared with what this environment names."""
    files = (f"{paths.own_state(environ)}/{_ENGINE_FILE}", f"{settings.state_base(environ)}/{_NOTIFYD_FILE}")
    here = settings.target(home, environ)
    found = (_read(home, path, environ, here) for path in files)
    return tuple(one for one in found if one is not None)


def _write(home: Home, path: str, environ: Mapping[str, str], what: str, target: Target | None) -> None:
    pid = home.procs.pid()
    start = home.procs.start_of(pid) or ""
    said = {
        "pid": pid,
        "start": start,
        "what": what,
        "mark": _mark(target, pid, start),
        "settings": paths.settings_file(environ),
        # systemd.exec(5) names the process it started, so that nothing below it takes itself for that.
        "managed": environ.get("SYSTEMD_EXEC_PID") == str(pid),
    }
    data = jsonline.encode(said).encode()
    with suppress(OSError):
        if home.disk.read_up_to(path, _RECORD_BYTES) == data:
            return
    home.disk.replace(f"{path}.tmp.{pid}.{home.procs.serial()}", path, data)


def _read(home: Home, path: str, environ: Mapping[str, str], here: Target | None) -> Serves | None:
    """Return what a process wrote down, while it lives; what another hand wrote says nothing."""
    try:
        said = jsonline.decode_object(home.disk.read_up_to(path, _RECORD_BYTES))
    except (OSError, jsonline.NotStrict):
        return None
    pid, texts = said.get("pid"), [said.get(name) for name in ("start", "what", "mark", "settings")]
    if type(pid) is not int or pid <= 0 or not all(isinstance(text, str) for text in texts):
        return None
    start, what, mark, reads = map(str, texts)
    if home.procs.start_of(pid) != start:
        return None
    reads = "" if reads == paths.settings_file(environ) else reads
    return Serves(pid, what, _sends(mark, _mark(here, pid, start)), reads, managed=said.get("managed") is True)


def _sends(theirs: str, here: str) -> Sends:
    if theirs == here:
        return Sends.AS_HERE
    if not theirs:
        return Sends.NOWHERE
    return Sends.ELSEWHERE if here else Sends.SOMEWHERE


def _mark(target: Target | None, pid: int, start: str) -> str:
    """Return what tells one topic and token from another, in one process's record; empty for none."""
    if target is None:
        return ""
    from hashlib import sha256  # noqa: PLC0415  (only where somebody is configured)

    return sha256("\0".join((str(pid), start, *target)).encode("utf-8", "surrogateescape")).hexdigest()
