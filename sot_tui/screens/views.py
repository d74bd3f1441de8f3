"""The screens of the mail that can be reached from every one of them.

A screen only says which it wants; the app opens it. So no two of them have to know each other.
"""

from __future__ import annotations

from enum import Enum

from textual.message import Message


class View(Enum):
    """A screen of the mail."""

    SEARCH = "search"
    SENT = "sent"
    THREADS = "threads"
    UNSENT = "not sent"


class Wanted(Message):
    """A person wants to see this."""

    def __init__(self, view: View, owner: str = "") -> None:
        super().__init__()
        self.view = view
        self.owner = owner
        """Whose, where that matters."""
