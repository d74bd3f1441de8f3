"""The bridge between standard input and output and a daemon on this box (daemon wire 1.5).

A script, or another box over ssh, speaks to a daemon by way of it. Output carries the daemon's bytes and nothing else,
each as it comes; the end of the input closes the side of the daemon at once, and so does its own end. Not a byte is
sent before it is known that our own account listens. Nothing here waits for one side with bytes of the other in hand.
"""

from __future__ import annotations

import os
import select

from sot_tui.comm import wire
from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from _socket import socket

    from sot_tui.comm.home import Home

CONNECT_SECS = 5.0
"""Seconds for which a daemon's full queue is waited for."""
_CHUNK = 1 << 16
_SURE = 4096
"""Bytes that a pipe which can be written to takes without waiting (POSIX, PIPE_BUF)."""


def run(home: Home, path: str, source: int = 0, target: int = 1) -> str:
    """Bridge two descriptors to the daemon at `path` until either side ends; return what went wrong, if anything."""
    connection = wire.connected(home.clock, path, home.clock.monotonic() + CONNECT_SECS)
    if isinstance(connection, str):
        return connection or f"{path}: nobody answers there"
    try:
        connection.setblocking(False)
        return _carried(connection, source, target)
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    finally:
        connection.close()


def _carried(connection: socket, source: int, target: int) -> str:
    daemon = connection.fileno()
    to_daemon, to_target = b"", b""
    ended = False
    while True:
        if ended and not to_target:
            return ""
        # Input is read when what was read before is on its way, so that at its end nothing is left to be sent.
        reading = ([source] if not to_daemon else []) + ([daemon] if not to_target and not ended else [])
        writing = ([daemon] if to_daemon else []) + ([target] if to_target else [])
        readable, writable, _ = select.select(reading, writing, [])
        if target in writable:
            to_target = to_target[os.write(target, to_target[:_SURE]) :]
        if daemon in writable:
            to_daemon = to_daemon[connection.send(to_daemon) :]
        if source in readable:
            to_daemon = os.read(source, _CHUNK)
            if not to_daemon:
                return ""
        if daemon in readable:
            to_target = connection.recv(_CHUNK)
            ended = not to_target
