"""The control socket's place in the file system: who may listen there, and what is done with what lies there.

Daemon wire 1.2: the folders are this account's own and closed to every other, or nothing starts. A socket that takes a
connection belongs to a live daemon and is never taken from it; only one that refuses is stale, and it is removed only
by whoever holds the lock of the state root. The socket is 0600 from its first moment. Every function here blocks.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import endpoints
from sot_tui.comm.disk import FILE_MODE
from sot_tui.comm.errors import Refused

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

BACKLOG = 1024
"""Connections that may wait to be accepted; past it, many a client takes its connection for open that is not."""


class Found(Enum):
    """What a look at the path came to."""

    NOTHING = "nothing"
    STALE = "a socket that nobody listens on"
    LIVE = "a daemon"


class Listener(NamedTuple):
    """An open listener, and which file it is."""

    socket: socket.socket
    path: str
    file: tuple[int, int]


def look(home: Home, path: str) -> Found:
    """Return what listens at a path; raises Refused for what is no socket, or cannot be told."""
    try:
        is_socket = stat.S_ISSOCK(home.disk.stat(path).st_mode)
    except FileNotFoundError:
        return Found.NOTHING
    except OSError as error:
        raise Refused(f"{path} could not be looked at: {error.strerror}") from error
    if not is_socket:
        raise Refused(f"there is something at {path} that is no socket; refusing to start on it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except BlockingIOError:
            return Found.LIVE  # its queue is full
        except ConnectionRefusedError:
            return Found.STALE
        except FileNotFoundError:
            return Found.NOTHING
        except OSError as error:
            raise Refused(f"{path} could not be looked at: {error.strerror}") from error
    return Found.LIVE


def listen(home: Home, path: str) -> Listener:
    """Listen at a path, for a caller that holds the lock of the state root; raises Refused with the reason."""
    folder = os.path.dirname(path)
    for each in (os.path.dirname(folder), folder) if _is_usual(path) else (folder,):
        _make_private(home, each)
    found = look(home, path)
    if found is Found.LIVE:
        raise Refused(taken(path))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if found is Found.STALE:
            home.disk.unlink(path)
        # Not by the umask: it is of the whole process, and other threads make folders meanwhile.
        if sys.platform == "linux":
            os.fchmod(listener.fileno(), FILE_MODE)
        listener.bind(path)
        home.disk.chmod(path, FILE_MODE)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        made = home.disk.stat(path)
    except OSError as error:
        listener.close()
        raise Refused(f"{path}: could not listen there: {error.strerror or error}") from error
    return Listener(listener, path, (made.st_dev, made.st_ino))


def taken(path: str) -> str:
    """Return why nobody else may listen where a daemon does (daemon wire 1.2)."""
    return (
        f"another daemon is already listening on {path}; refusing to start on its socket (stop that daemon first, or "
        "pass a different --socket)"
    )


def is_there(home: Home, listener: Listener) -> bool:
    """Tell whether the path still is this listener's socket."""
    try:
        found = home.disk.stat(listener.path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == listener.file


def close(home: Home, listener: Listener) -> None:
    """Listen no more; the socket file goes if it is still this listener's."""
    listener.socket.close()
    if is_there(home, listener):
        with suppress(OSError):  # whoever starts next finds that nobody listens there
            home.disk.unlink(listener.path)


def _is_usual(path: str) -> bool:
    """Tell whether a path lies where sessions' sockets do: then the folder above is ours to make, too."""
    return os.path.basename(os.path.dirname(path)) == "sessions"


def _make_private(home: Home, folder: str) -> None:
    try:
        home.disk.mkdir(folder)
    except FileExistsError:
        pass
    except OSError as error:
        words = "there is no such folder" if error.errno == errno.ENOENT else error.strerror
        raise Refused(f"{folder} could not be made: {words}") from error
    if not endpoints.is_private(home, folder):
        raise Refused(f"{folder} is not a folder that only this account can open; refusing to listen there")
