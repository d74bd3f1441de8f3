"""A list and what is selected in it: side by side where there is room for both, else one above the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Container

if TYPE_CHECKING:
    from textual import events

SPLIT_FROM = 100
"""Columns of its own from which the two stand side by side: each has fifty then."""


class Split(Container):
    """The two; its style sheet lays them out by the class `split`."""

    def on_resize(self, event: events.Resize) -> None:
        """Lay them out for the room there is."""
        self.set_class(event.size.width >= SPLIT_FROM, "split")
