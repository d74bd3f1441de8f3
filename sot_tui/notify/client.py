"""A request to the daemon, once: dialled, written and answered within one budget.

Contract, Acknowledgements: "The client gives dial, write, and acknowledgement read one combined 250 ms budget,
shortened by any earlier caller deadline. Only accepted and duplicate transfer responsibility to the daemon." Everything
else is told as not handed over, whereupon the caller delivers by itself, exactly once. There is no second try here.
"""

from __future__ import annotations

import socket

from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.notify import frame as frames

if TYPE_CHECKING:
    from sot_tui.comm.clock import Clock
    from sot_tui.notify.frame import Frame

BUDGET_SECS = 0.25
"""Dial, write and acknowledgement together (contract, Acknowledgements)."""


def hand_over(
    frame: Frame, path: str, clock: Clock, budget: float = BUDGET_SECS, deadline: float | None = None
) -> bool:
    """Tell whether the daemon at `path` took responsibility for the event.

    `deadline` is the caller's own, on the monotonic clock; the earlier of both ends the try.
    """
    end = clock.monotonic() + budget
    if deadline is not None:
        end = min(end, deadline)
    try:
        line = frames.encode(frame)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            _limit(peer, end, clock)
            peer.connect(path)
            _limit(peer, end, clock)
            peer.sendall(line)
            return frames.decode_ack(_answer(peer, end, clock)) in {frames.ACCEPTED, frames.DUPLICATE}
    except (OSError, frames.InvalidFrame, frames.InvalidAck):
        return False


def _answer(peer: socket.socket, end: float, clock: Clock) -> bytes:
    """Return the bytes up to the first newline; what is no line within the limits is returned as it is."""
    data = b""
    while b"\n" not in data and len(data) <= frames.ACK_BYTES:
        _limit(peer, end, clock)
        part = peer.recv(frames.ACK_BYTES + 1)
        if not part:
            return data
        data += part
    return data[: data.find(b"\n") + 1] or data


def _limit(peer: socket.socket, end: float, clock: Clock) -> None:
    """Let the next step take what is left of the budget, not a budget of its own."""
    left = end - clock.monotonic()
    if left <= 0:
        raise TimeoutError
    peer.settimeout(left)
