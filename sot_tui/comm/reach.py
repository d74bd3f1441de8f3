"""The named points at which another process could act.

`reach("lock.settled")` does nothing. A test listens, and stops or kills the process at exactly that point: that is how
a race is made to happen each time, with no sleep. Nothing in the product listens, and nothing may depend on a listener.
"""

from __future__ import annotations

from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_listener: Callable[[str], None] | None = None


def reach(point: str) -> None:
    """Say that this process, or this thread, has come to a point."""
    if _listener is not None:
        _listener(point)


def listen(listener: Callable[[str], None] | None) -> None:
    """Let a test hear of every point; None ends it."""
    global _listener  # noqa: PLW0603  (the one place for it)
    _listener = listener
