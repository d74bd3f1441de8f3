"""The line in which a person says which lines of a list to show, and which says how many are.

Hidden until it is asked for. What is typed counts at once; Enter or an arrow gives the keys back to the list, and the
filter stays in sight as long as it counts, so that nobody takes a part of a list for all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from sot_tui.screens import show

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

_TYPED = r"[^\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]*"
"""What may be typed or pasted: nothing that acts on a terminal, or hides."""
_LIMIT = 200


class FilterLine(Horizontal):
    """A filter for one list; `text` is empty while there is none."""

    DEFAULT_CSS = """
    FilterLine { height: 1; display: none; background: $panel; padding: 0 1; }
    FilterLine Words { width: auto; height: 1; color: $foreground 70%; }
    FilterLine Input { width: 1fr; height: 1; border: none; padding: 0; background: transparent; }
    FilterLine Input:focus { border: none; background: $foreground 8%; }
    """

    class Changed(Message):
        """The filter is another one."""

    class Left(Message):
        """The keys go back to the list."""

    def compose(self) -> ComposeResult:
        """Lay out what it is, the words, and how many lines fit them."""
        yield show.Words(Content("filter "))
        yield Input(id="filter-text", restrict=_TYPED, max_length=_LIMIT, compact=True, select_on_focus=False)
        yield show.Words(id="filter-count")

    @property
    def text(self) -> str:
        """Return the words of the filter."""
        return self.query_one(Input).value if self.display else ""

    def open(self) -> None:
        """Show the line, and take the keys."""
        self.display = True
        self.query_one(Input).focus()

    def clear(self) -> None:
        """Forget the words, and hide the line."""
        self.display = False
        self.query_one(Input).value = ""
        self.post_message(self.Changed())
        self.post_message(self.Left())

    def say(self, words: Content) -> None:
        """Say how many lines are shown."""
        self.query_one("#filter-count", show.Words).say(words)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed())

    @on(Input.Submitted)
    def _said(self, event: Input.Submitted) -> None:
        event.stop()
        if self.text.strip():
            self.post_message(self.Left())
        else:
            self.clear()

    def on_key(self, event: events.Key) -> None:
        """Give the keys back to the list when an arrow asks for it."""
        if event.key in {"up", "down"}:
            event.stop()
            self.post_message(self.Left())
