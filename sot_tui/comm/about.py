"""Which version of this program runs: one answer for both doors and for the wire."""

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
