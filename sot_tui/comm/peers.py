"""Who is at the other end of a Unix socket, as the kernel has it.

Daemon wire 2.1 and 1.5: a peer of another OS account is dropped before a byte is read, and a client sends nothing to a
listener of another account. The kernel keeps the account from the moment of the connect or the listen, so nothing that
the peer says or does later changes the answer.
"""

from __future__ import annotations

import os
import struct
import sys

from sot_tui.comm.light import Protocol

_MACOS_PEER = (0, 1)
"""macOS: SOL_LOCAL and LOCAL_PEERCRED, which `socket` does not name (sys/un.h)."""
_MACOS_PEER_PID = (0, 2)
"""macOS: SOL_LOCAL and LOCAL_PEERPID, as above."""


class Connection(Protocol):
    """A socket, whatever wraps it."""

    def getsockopt(self, level: int, option: int, length: int, /) -> bytes:
        """Return what the kernel knows of the socket."""


def account_of(connection: Connection) -> int:
    """Return the user id at the other end; raises the OSError of a socket that is gone."""
    if sys.platform == "darwin":
        return int(struct.unpack_from("II", connection.getsockopt(*_MACOS_PEER, 128))[1])
    import _socket  # noqa: PLC0415  (loaded already: there is a socket)

    data = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", data)[1])


def process_of(connection: Connection) -> int:
    """Return the process that connected; raises the OSError of a socket that is gone.

    0 is one of another pid namespace, which this one does not show.
    """
    if sys.platform == "darwin":
        return int(struct.unpack_from("i", connection.getsockopt(*_MACOS_PEER_PID, 4))[0])
    import _socket  # noqa: PLC0415  (as above)

    data = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", data)[0])


def is_own(connection: Connection) -> bool:
    """Tell whether the other end is of this process's own account."""
    return account_of(connection) == os.geteuid()
