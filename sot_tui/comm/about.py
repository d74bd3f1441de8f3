"""Which version of this program runs, and what a window of it is called: one answer for both doors and for the wire."""

from __future__ import annotations

UNKNOWN = "(not installed)"
"""The version of a program that runs without being installed."""


def version() -> str:
    """Return the version of this program, as it is installed."""
    from importlib.metadata import PackageNotFoundError, version as installed  # noqa: PLC0415  (few ask, and it is dear)

    try:
        return installed("sot-tui")
    except PackageNotFoundError:
        return UNKNOWN


def window_name(pid: int) -> str:
    """Return how a window is called where the connections of a daemon are named: it has no handle of its own."""
    return f"dashboard-{pid}"
